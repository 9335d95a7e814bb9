"""Whether the Hugging Face Hub answers for a repository: asked once and shortly, since its client tries for long."""

from __future__ import annotations

import errno
import os
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPMessage
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener, getproxies

PATIENCE = 3.0
"""Seconds the Hub has to answer; HF_HUB_ETAG_TIMEOUT says otherwise, as it does to the Hub's own client."""
PROBED = {"models": "tokenizer_config.json", "datasets": "README.md"}
"""A file whose headers tell what the Hub thinks of a repository, whether it is there or not."""
LOGIN = "log in with `hf auth login` or set HF_TOKEN"


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why the Hub gives nothing of a repository, and what to do; `silent`: it may have it, but does not answer."""

    kind: str
    why: str
    fix: str
    silent: bool


def trouble(repo: str, revision: str | None = None, kind: str = "models") -> Trouble | None:
    """What keeps the Hub from giving a repository (kind `models` or `datasets`), told within seconds; None where
    nothing does."""
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        of = " --repo-type dataset" if kind == "datasets" else ""
        fix = f"unset it, or run `hf download {repo}{of}` on a machine with network access"
        return Trouble("offline", "HF_HUB_OFFLINE is set and its files are not in the local Hub cache", fix, True)
    patience = _patience()
    answer: list[Trouble | None] = []
    asking = threading.Thread(
        target=lambda: answer.append(_ask(constants.ENDPOINT, repo, revision, kind, patience)), daemon=True
    )
    asking.start()
    asking.join(patience + 0.5)  # the name server and each of several addresses have timeouts of their own
    return answer[0] if answer else _silent("timeout", f"{_host()} did not answer within {patience:g} s", kind)


@contextmanager
def without_hub() -> Iterator[None]:
    """Processes started meanwhile take what is in the local cache, and do not ask the Hub."""
    before = os.environ.get("HF_HUB_OFFLINE")
    os.environ["HF_HUB_OFFLINE"] = "1"
    try:
        yield
    finally:
        if before is None:
            os.environ.pop("HF_HUB_OFFLINE", None)
        else:
            os.environ["HF_HUB_OFFLINE"] = before


def _patience() -> float:
    try:
        return max(1.0, float(os.environ["HF_HUB_ETAG_TIMEOUT"]))
    except (KeyError, ValueError):
        return PATIENCE


def _ask(endpoint: str, repo: str, revision: str | None, kind: str, patience: float) -> Trouble | None:
    folder = f"{'datasets/' if kind == 'datasets' else ''}{repo}"
    url = f"{endpoint}/{folder}/resolve/{quote(revision or 'main', safe='')}/{PROBED[kind]}"
    try:
        build_opener(_Stay).open(Request(url, headers=_headers(), method="HEAD"), timeout=patience).close()
    except HTTPError as error:
        error.close()
        return _answered(error.code, error.headers.get("X-Error-Code") or "", repo, revision, kind)
    except Exception as error:
        return _unreached(error, patience, kind)
    return None


class _Stay(HTTPRedirectHandler):
    """A file that lies elsewhere is there: nothing is fetched of it."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        return None


def _headers() -> dict[str, str]:
    from huggingface_hub import get_token

    token = get_token()
    return {"User-Agent": "sftui", **({"Authorization": f"Bearer {token}"} if token else {})}


def _answered(status: int, code: str, repo: str, revision: str | None, kind: str) -> Trouble | None:
    page = f"https://huggingface.co/{'datasets/' if kind == 'datasets' else ''}{repo}"
    if status < 400 or code == "EntryNotFound":
        return None
    if code == "GatedRepo":
        known = status == 403
        why = "it is gated and your account has no access to it yet" if known else "it is gated"
        return Trouble("gated", why, f"ask for access at {page}{'' if known else f', then {LOGIN}'}", False)
    if code == "RevisionNotFound":
        return Trouble("revision", f"it has no revision {revision or 'main'!r}", f"see {page}/refs", False)
    if code == "RepoNotFound" or (status == 404 and not code):
        missing = "the Hub has no such repository, or it is private"
        return Trouble("missing", missing, f"check the name; for a private one {LOGIN}", False)
    if status in (401, 403):
        return Trouble("forbidden", f"{_host()} refused access ({status})", LOGIN, False)
    reasons = {
        407: ("proxy", "the proxy requires a name and a password"),
        429: ("limited", f"{_host()} received too many requests"),
    }
    name, why = reasons.get(status, ("error", f"{_host()} answered with an error"))
    return _silent(name, f"{why} ({status})", kind)


def _unreached(error: Exception, patience: float, kind: str) -> Trouble:
    cause: Any = error.reason if isinstance(error, URLError) and isinstance(error.reason, Exception) else error
    if isinstance(cause, socket.gaierror):
        return _silent("dns", f"the name {_host()} cannot be resolved (offline, or no name server)", kind)
    if isinstance(cause, ConnectionRefusedError):
        return _silent("refused", f"{_host()} refuses the connection", kind)
    if isinstance(cause, (TimeoutError, socket.timeout)):
        return _silent("timeout", f"{_host()} did not answer within {patience:g} s", kind)
    if isinstance(cause, ssl.SSLError):
        return _silent("certificate", f"a secure connection to {_host()} cannot be made ({cause.reason})", kind)
    if isinstance(cause, OSError) and cause.errno in (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN):
        return _silent("offline", f"no network connection reaches {_host()}", kind)
    return _silent("broken", f"{_host()} cannot be reached ({type(cause).__name__}: {str(cause)[:200]})", kind)


def _silent(kind: str, why: str, of: str) -> Trouble:
    """The choices are the same whatever keeps the Hub from answering."""
    waits = "; HF_HUB_ETAG_TIMEOUT=30 sets a longer timeout" if kind == "timeout" else ""
    local = "a local file or folder" if of == "datasets" else "a local folder or builtin:chatml (-t)"
    fix = (
        f"try again, or name {local}; for a mirror set HF_ENDPOINT, for a proxy HTTPS_PROXY; HF_HUB_OFFLINE=1 uses"
        f" only the local cache{waits}"
    )
    return Trouble(kind, f"{why} and the files are not in the local cache", fix, True)


def _host() -> str:
    """What is queried: the Hub's host, and through which proxy."""
    from huggingface_hub import constants

    parts = urlsplit(constants.ENDPOINT)
    proxy = getproxies().get(parts.scheme) or getproxies().get("all")
    through = f" (through the proxy {urlsplit(proxy).netloc.rpartition('@')[2] or proxy})" if proxy else ""
    return f"{parts.netloc or constants.ENDPOINT}{through}"
