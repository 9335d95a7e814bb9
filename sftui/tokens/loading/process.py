"""`autotokenizer` over a pipe: the process that loads a tokenizer under some Python, and the engine that it can be."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, Protocol, cast

from sftui.errors import TokenizerError
from sftui.model import NOWHERE
from sftui.runs import Flat, flat
from sftui.side_files import reason
from sftui.tokens.loaded import Engine, RefusedText, TextEncoding, placed
from sftui.tokens.loading.autotokenizer import LIFELINE
from sftui.tokens.loading.environments import Environment
from sftui.tokens.loading.locate import Location
from sftui.tokens.loading.reference import load_request
from sftui.tokens.loading.refusal import explain_faults, took_too_long
from sftui.tokens.surface import Decoding, decoding_of, spell, surfacer

SCRIPT = Path(__file__).with_name("autotokenizer.py")
LOADING = 300.0
"""Seconds after which loading is given up; the largest vocabularies take ten."""
ANSWERING = 120.0
"""Seconds after which a request to a loaded tokenizer is given up: a pattern or a chain of replacements in its files
may never come to an end."""
_SECRET = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")
_FOREIGN = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "CONDA_PREFIX")


def start_bound(
    command: Sequence[str], variables: Mapping[str, str], **options: Any
) -> tuple[subprocess.Popen[Any], ExitStack]:
    """A process in a session of its own, and what ends it with all that it started where that is closed: both hold an
    end of a pipe, so that it lives no longer than this process."""
    theirs, ours = os.pipe()
    lifeline = ExitStack()
    lifeline.callback(os.close, ours)
    variables = {**variables, LIFELINE: str(theirs)}
    try:
        return subprocess.Popen(command, env=variables, start_new_session=True, pass_fds=(theirs,), **options), lifeline
    except OSError:
        lifeline.close()
        raise
    finally:
        os.close(theirs)


class RemoteTokenizer(Protocol):
    """A tokenizer of transformers that answers requests, see `autotokenizer`."""

    def load(self) -> dict[str, Any]:
        """What `autotokenizer.facts` gives; TokenizerError with the reason there."""

    def ask(self, request: Mapping[str, Any], limit: float | None = None) -> dict[str, Any]:
        """The answer to one request; TokenizerError where there is none within so many seconds."""

    def encode(self, texts: Sequence[str], special: bool, limit: float | None = None) -> list[list[Any]]:
        """Texts as `[ids, offsets or None, mask or None]`."""
        found: list[list[Any]] = self.ask({"encode": list(texts), "special": special}, limit)["rows"]
        return found


class TokenizerProcess(RemoteTokenizer):
    """A Python that has loaded one tokenizer, and is started again if it ends; one request at a time."""

    endless = "check the normalizer and the patterns in its tokenizer.json: one may loop forever"
    """What to do where it takes too long."""
    script = SCRIPT
    """What is run."""

    def __init__(self, environment: Environment, place: Location) -> None:
        self.environment = environment
        self.place = place
        self._process: subprocess.Popen[str] | None = None
        self._lifeline = ExitStack()
        self._asking = threading.RLock()

    def load(self) -> dict[str, Any]:
        with self._asking:
            return self._load()[1]

    def _load(self) -> tuple[subprocess.Popen[str], dict[str, Any]]:
        self.close()
        process = self._start()
        return process, self._exchange(process, {"load": self._wanted()}, LOADING)

    def _wanted(self) -> dict[str, Any]:
        """What the script is asked to load."""
        return load_request(self.place)

    def _refused(self, answer: Mapping[str, Any]) -> TokenizerError:
        """Why it did not load."""
        return explain_faults(answer["error"], self.place, answer["missing"])

    def load_by(self, kind: str) -> dict[str, Any]:
        """The same by a class of that name, in place of what is loaded; TokenizerError."""
        with self._asking:
            process = self._start() if self._process is None else self._process
            return self._exchange(process, {"load": {**load_request(self.place), "class": kind}}, LOADING)

    def ask(self, request: Mapping[str, Any], limit: float | None = None) -> dict[str, Any]:
        """The answer to one request, after loading where nothing is loaded; TokenizerError."""
        with self._asking:
            process = self._process
            if process is None or process.poll() is not None:
                process, _ = self._load()
            return self._exchange(process, request, ANSWERING if limit is None else limit)

    def close(self) -> None:
        """End the process, whatever it is at."""
        process, self._process = self._process, None
        with contextlib.suppress(OSError):
            self._lifeline.close()  # the watcher then kills what works
        if process is None:
            return
        with contextlib.suppress(OSError):
            if process.stdin:
                process.stdin.close()
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout:
            process.stdout.close()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()

    def _start(self) -> subprocess.Popen[str]:
        try:
            self._process, self._lifeline = start_bound(
                [str(self.environment.python), str(self.script)],
                self._variables(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                encoding="utf-8",
            )
        except OSError as error:
            raise TokenizerError(f"{self.environment.python} cannot be run", why=reason(error)) from error
        return self._process

    def _variables(self) -> dict[str, str]:
        hub = self.place.kind == "hub"
        left_out = (*(() if hub else _SECRET), *(() if self.environment.own else _FOREIGN))
        found = {name: value for name, value in os.environ.items() if name not in left_out}
        found.update(TRANSFORMERS_NO_ADVISORY_WARNINGS="1", TOKENIZERS_PARALLELISM="false", PYTHONIOENCODING="utf-8")
        if not hub:
            found["HF_HUB_OFFLINE"] = "1"
        return found

    def _exchange(self, process: subprocess.Popen[str], request: Mapping[str, Any], limit: float) -> dict[str, Any]:
        requests, answers = cast("tuple[IO[str], IO[str]]", (process.stdin, process.stdout))
        late: list[bool] = []

        def give_up() -> None:
            late.append(True)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # it is the first of its own session

        timer = threading.Timer(limit, give_up)
        timer.daemon = True
        timer.start()
        try:
            requests.write(json.dumps(request) + "\n")
            requests.flush()
            line = answers.readline()
        except (BrokenPipeError, ValueError, OSError):
            line = ""
        finally:
            timer.cancel()
        if not line:
            raise self._ended(process, bool(late), limit, "load" in request)
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            if "load" in request:
                raise self._refused(answer)
            raise refused_text(answer["error"])
        return answer

    def _ended(self, process: subprocess.Popen[str], late: bool, limit: float, loading: bool) -> TokenizerError:
        self.close()
        if late:
            doing = "loading it" if loading else "tokenizing with it"
            return took_too_long(self.place.name, doing, limit, self.endless)
        what, does = ("cannot be loaded", "loads it") if loading else ("crashes on the text", "tokenizes with it")
        return TokenizerError(
            f"the tokenizer {what}",
            where=self.place.name,
            why=f"the process of {self.environment.python} that {does} ended with {process.returncode}",
        )


class AskedEngine(Engine):
    """An engine elsewhere, which is asked for what is not known yet of its vocabulary."""

    def __init__(self, process: RemoteTokenizer, pieces: Mapping[int, str | None]) -> None:
        self.process = process
        self._pieces = dict(pieces)

    def piece(self, token: int) -> str | None:
        self.fetch({token})
        return self._pieces[token]

    def token_id(self, piece: str) -> int | None:
        found = self.process.ask({"ids": [piece]})["ids"][0]
        return None if found is None else int(found)

    def fetch(self, tokens: set[int]) -> None:
        """Ask for the pieces of these that are not known, at once."""
        unknown = sorted(tokens.difference(self._pieces))
        if unknown:
            self._pieces.update(zip(unknown, self.process.ask({"pieces": unknown})["pieces"]))


class PipedEngine(AskedEngine):
    """AutoTokenizer itself as the engine, asked elsewhere; a slow one gets offsets from the pieces' spelling."""

    def __init__(self, process: RemoteTokenizer, reported: Mapping[str, Any] | None = None) -> None:
        reported = process.load() if reported is None else reported
        super().__init__(process, {})
        self._fast = bool(reported["is_fast"])
        self._around = (reported["front"], reported["back"]) if reported["random"] else None
        self.decoding = _decoding(reported)
        # Slow classes do not mark their named special tokens as special in the added tokens.
        special = set(reported["special_ids"])
        self._added = {i: (content, marked or i in special) for i, content, marked, *_ in reported["added"]}
        self._surface = surfacer(self.decoding, self.piece, lambda token: self._added.get(token, (None,))[0])

    def encode_batch(self, texts: Sequence[str], add_special_tokens: bool) -> list[TextEncoding]:
        for text in texts:
            text.encode("utf-8")  # lone surrogates are refused, as by the other engine
        rows = self.process.encode(texts, add_special_tokens) if texts else []
        if self._fast:
            return [placed(*row) for row in rows]
        inner = self.process.encode(texts, False) if add_special_tokens and texts else rows
        if add_special_tokens and self._around is not None:  # what was drawn twice is not the same
            front, back = self._around
            rows = [[[*front, *row[0], *back]] for row in inner]
        self.fetch({token for row in inner for token in row[0]})
        return [self._spelled(text, row[0], bare[0]) for text, row, bare in zip(texts, rows, inner)]

    def ids_batch(self, texts: Sequence[str], add_special_tokens: bool) -> list[Flat]:
        for text in texts:
            text.encode("utf-8")
        return [flat(row[0]) for row in self.process.encode(texts, add_special_tokens)] if texts else []

    def added(self) -> Mapping[int, tuple[str, bool]]:
        return self._added

    def _spelled(self, text: str, ids: list[int], inner: list[int]) -> TextEncoding:
        before = next((i for i in range(len(ids) - len(inner) + 1) if ids[i : i + len(inner)] == inner), 0)
        starts, ends = spell(text, [self._surface(token) for token in inner])
        after = len(ids) - len(inner) - before
        around = (NOWHERE,)
        return TextEncoding(
            flat(ids), around * before + starts + around * after, around * before + ends + around * after
        )


def _decoding(reported: Mapping[str, Any]) -> Decoding:
    """Fast: what the backend says; slow sentencepiece classes spell spaces `▁` and bytes `<0xE2>`, ByT5 one byte a
    piece."""
    if reported["backend"] is not None:
        parts = json.loads(reported["backend"])
        return decoding_of(parts.get("decoder") or {}, parts.get("pre_tokenizer") or {}, bool(parts.get("normalizer")))
    if "byt5" in reported["class_name"].lower():
        return Decoding(one_byte=True)
    pieces = bool(reported["sentencepiece"])
    return Decoding(space="▁" * pieces, byte_fallback=pieces, dummy_prefix=pieces, normalizes=True)


def refused_text(chain: Sequence[Mapping[str, Any]]) -> RefusedText:
    """The error for a text that a tokenizer does not encode, from the `autotokenizer.faults` of what it raised."""
    lines = str(chain[0]["text"]).splitlines() or [str(chain[0]["names"][0])]
    return RefusedText("the text cannot be tokenized", why=lines[0][:300])
