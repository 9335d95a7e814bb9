"""Small environments that sftui makes when it is asked to: one version of transformers and what reads vocabularies.

    <cache folder>/environments/transformers-5.6.0/    a virtual environment, and `made.json` next to its pyvenv.cfg

Without torch: tokenizers do not need it. One is built next to its place and renamed when it is whole, under a lock, so
that a build that was killed leaves nothing that would be used; what it left is swept by the next.
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from sftui.errors import SftuiError
from sftui.tokens.loading.environments import Environment, versions_under

PREFIX = "transformers-"
MEGABYTES, MINUTES = 240, 2
"""What one takes, measured: 235 MB on disk for 5.6.0, 125 s during other work."""
WANTED = ("sentencepiece", "protobuf", "tiktoken", "jinja2")
"""What transformers reads vocabularies and renders templates with, and does not ask for by itself."""
PATIENCE = 1800.0
_ENDS_WITH_CALLER = (
    "import os, signal, sys\n"
    "if sys.platform == 'linux':\n"
    "    import ctypes\n"
    "    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG, kept through exec\n"
    "os.execv(sys.argv[1], sys.argv[1:])"
)
"""Runs a command that does not outlive a killed sftui: pip would go on filling a folder that nobody wants."""
_MISTRAL = re.compile(r"mistral[-_]common(?:\[[^\]]*\])?\s*(?P<asked>[^;]*);.*extra\s*==\s*['\"]mistral-common['\"]")


def root() -> Path:
    """Where the environments are kept: $SFTUI_CACHE or the user's cache folder."""
    from sftui.tokens.loading.cache import cache_root

    return cache_root().parent / "environments"


def folder_of(version: str) -> Path:
    """The folder of the environment for a version, whether it stands or not; SftuiError for what is no version."""
    if not re.fullmatch(r"\d+(\.\d+)*([a-z]+\d*)?", version):
        raise SftuiError(f"`{version}` is not a version of transformers", fix="for example 5.6.0")
    return root() / f"{PREFIX}{version}"


def made_environment(version: str) -> Environment | None:
    """The environment that was made for a version, and is whole; None where there is none."""
    folder = folder_of(version)
    python = folder / "bin" / "python"
    if not (folder / "made.json").is_file() or not python.exists():
        return None
    versions = versions_under(folder)
    if versions.get("transformers") != version:
        return None
    with contextlib.suppress(OSError):
        os.utime(folder / "made.json")  # when it was last used
    return Environment(python, versions, f"--transformers {version}")


def all_made() -> dict[str, Path]:
    """The folders of the environments that stand, by version."""
    folders = sorted(root().glob(f"{PREFIX}*"))
    return {folder.name.removeprefix(PREFIX): folder for folder in folders if (folder / "made.json").is_file()}


def last_used(folder: Path) -> float:
    """When an environment was last used, in seconds since 1970; OSError."""
    return (folder / "made.json").stat().st_mtime


def remove(version: str) -> bool:
    """Remove the environment of a version; False where there is none."""
    folder = folder_of(version)
    if not folder.is_dir():
        return False
    with _locked(version):
        gone = Path(tempfile.mkdtemp(prefix=f".part-{version}-", dir=root()))
        folder.rename(gone / "removed")  # from here on nobody finds it
        shutil.rmtree(gone, ignore_errors=True)
    return True


def make(version: str) -> Environment:
    """Build the environment for a version, or wait for whoever builds it; SftuiError where it cannot be built."""
    folder = folder_of(version)
    try:
        root().mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _not_made(version, f"{root()} cannot be written ({(error.strerror or str(error)).lower()})") from error
    with _locked(version):
        standing = made_environment(version)
        if standing is not None:
            return standing
        for left in root().glob(f".part-{version}-*"):
            shutil.rmtree(left, ignore_errors=True)
        began = time.monotonic()
        part = Path(tempfile.mkdtemp(prefix=f".part-{version}-", dir=root()))
        try:
            _build(part, version)
            stamp = {
                "transformers": version,
                "seconds": round(time.monotonic() - began),
                "versions": versions_under(part),
            }
            (part / "made.json").write_text(json.dumps(stamp, indent=1) + "\n", encoding="utf-8")
            shutil.rmtree(folder, ignore_errors=True)
            part.rename(folder)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    found = made_environment(version)
    if found is None:
        raise _not_made(version, "what was installed is not that version")
    return found


def _build(part: Path, version: str) -> None:
    _run(version, [sys.executable, "-I", "-m", "venv", str(part)])
    python = str(part / "bin" / "python")
    pip = [python, "-I", "-m", "pip", "--disable-pip-version-check", "--quiet", "--no-input"]
    _run(version, [*pip, "install", "--no-compile", f"transformers=={version}", *WANTED])
    required = _mistral_common(part)
    if required is not None:
        _run(version, [*pip, "install", "--no-compile", f"mistral-common{required}"])
    _run(version, [*pip, "uninstall", "--yes", "setuptools", "pip"])


def _mistral_common(part: Path) -> str | None:
    """What the release asks of mistral-common, without the extras that only pictures need; None where it does not."""
    for found in importlib.metadata.distributions(path=[str(one) for one in part.glob("lib/python3*/site-packages")]):
        if found.metadata["Name"] == "transformers":
            for requirement in found.requires or ():
                match = _MISTRAL.match(requirement)
                if match:
                    return match["asked"].strip()
    return None


def _run(version: str, command: list[str]) -> None:
    variables = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-c", _ENDS_WITH_CALLER, *command],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=PATIENCE,
            env=variables,
            cwd=root(),
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        late = "it took more than half an hour"
        reason = (error.strerror or str(error)).lower() if isinstance(error, OSError) else late
        raise _not_made(version, reason) from error
    if done.returncode:
        raise _not_made(version, _why(done.stderr, version))


def _why(errors: str, version: str) -> str:
    """One clause of what pip or venv said."""
    offline = (
        *("NewConnectionError", "ConnectTimeout", "ProxyError", "Max retries exceeded", "Network is unreachable"),
        *("Name or service not known", "Temporary failure in name"),
    )
    if any(word in errors for word in offline):
        return "the package registry cannot be reached"
    if "No matching distribution found for transformers" in errors:
        return f"the package registry has no transformers {version}, or cannot be reached"
    if "ensurepip" in errors:
        return "this Python has no ensurepip (on Debian: apt install python3-venv)"
    lines = errors.strip().splitlines()
    shown = [line for line in lines if line.lower().startswith("error")] or lines
    return shown[-1].removeprefix("ERROR: ")[:300] if shown else "the installation failed"


def _not_made(version: str, why: str) -> SftuiError:
    return SftuiError(
        f"the environment for transformers {version} cannot be made",
        why=why,
        fix="or name an environment that has it with --env PATH",
    )


def size_of(folder: Path) -> int:
    """The bytes of an environment on disk."""
    total = 0
    for home, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(home, name)).st_size
    return total


def busy(version: str) -> bool:
    """Whether another process makes or removes the environment of a version."""
    with contextlib.suppress(OSError), (root() / f".lock-{version}").open("r") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


@contextlib.contextmanager
def _locked(version: str) -> Iterator[None]:
    """Hold the lock of a version; the system lets go of it when the process ends, however it ends."""
    with (root() / f".lock-{version}").open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
