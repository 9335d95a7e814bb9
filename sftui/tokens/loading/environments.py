"""Pythons that may load a tokenizer: the one that runs sftui, and environments with another transformers.

An environment is looked at from outside, by the names of its .dist-info folders; its Python is run only to load a
tokenizer, or where its folders do not tell. Running an environment runs what stands in it: it comes from the command
line, the user's shell or settings, never from a folder of data.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path

from sftui.errors import SftuiError
from sftui.tokens.loading.autotokenizer import LIBRARIES
from sftui.values import value_class

_ASK = (
    "import sys, json; sys.path[:] = filter(None, sys.path)\nfrom importlib import metadata\nfound = {}\n"
    "for name in sys.argv[1:]:\n    try: found[name] = metadata.version(name)\n    except Exception: pass\n"
    "print(json.dumps(found))"
)


@value_class
class Environment:
    """A Python and the versions of the libraries in it that take part in loading; `origin` is who named it."""

    python: Path
    versions: Mapping[str, str] = field(default_factory=dict)
    origin: str = ""
    own: bool = False

    @property
    def transformers(self) -> str:
        return self.versions.get("transformers", "")


def versions() -> dict[str, str]:
    """The versions of the libraries that take part in loading; an absent one is left out.

    Read from the names of the .dist-info folders, because asking importlib.metadata costs 70 ms of
    a start that takes 500; it is consulted where the required ones are not found that way.
    """
    found = versions_in(folder or "." for folder in sys.path)
    if not found.keys() >= set(LIBRARIES[:2]):
        from importlib import metadata

        found.update({library: metadata.version(library) for library in LIBRARIES[:2]})
    return found


def own_environment() -> Environment:
    """The Python that runs sftui."""
    return Environment(Path(sys.executable), versions(), "sftui", True)


def environment_at(path: str | Path, origin: str) -> Environment:
    """The environment of a virtual environment's folder, a conda prefix or a python; SftuiError in one sentence."""
    given = Path(os.path.expanduser(path))
    python = _python_of(given)
    if python is None:
        missing = not given.exists()
        raise SftuiError(
            f"{origin} {given} is not a Python environment",
            why="there is no such folder or file" if missing else "it contains no python",
            fix="give the folder of a virtual environment, a conda prefix, or a python",
        )
    prefix = given if given.is_dir() else python.parent.parent
    if _same(prefix, Path(sys.prefix)) and (given.is_dir() or (prefix / "pyvenv.cfg").is_file()):
        return own_environment()
    found = versions_under(prefix)
    if "transformers" not in found or "tokenizers" not in found:
        found = _queried(python, origin)
    if "transformers" not in found:
        raise SftuiError(
            f"there is no transformers in {given}",
            why=f"{origin} names it to load the tokenizer",
            fix=f"give the environment you train in, or install it there: {python} -m pip install transformers",
        )
    return Environment(python, found, origin)


def versions_under(prefix: Path) -> dict[str, str]:
    """The versions that the .dist-info folders of an environment name, without running anything of it."""
    return versions_in(prefix.glob("lib/python3*/site-packages"))


def versions_in(folders: Iterable[Path | str]) -> dict[str, str]:
    """The versions of the libraries that take part in loading, by the names of the .dist-info folders in these."""
    found: dict[str, str] = {}
    for folder in folders:
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        for name in names:
            library, _, version = name.removesuffix(".dist-info").partition("-")
            library = library.lower().replace("_", "-")
            if name.endswith(".dist-info") and library in LIBRARIES:
                found.setdefault(library, version)
    return found


def inside_any(path: Path, folders: Iterable[Path]) -> bool:
    """Whether a path lies in one of the folders, symbolic links followed."""
    try:
        here = path.expanduser().resolve()
        return any(here.is_relative_to(folder.expanduser().resolve()) for folder in folders)
    except (OSError, RuntimeError):  # a user that is not there, links in a circle
        return True


def _python_of(path: Path) -> Path | None:
    if path.is_file() and os.access(path, os.X_OK):
        return path
    for inner in ("bin/python", "bin/python3"):
        if (path / inner).is_file():
            return path / inner
    return None


def _queried(python: Path, origin: str) -> dict[str, str]:
    """The versions that a python itself tells, for one that has no folder of its own."""
    import subprocess

    variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    try:
        done = subprocess.run(
            [str(python), "-c", _ASK, *LIBRARIES],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=60,
            env=variables,
        )
        found = json.loads(done.stdout)
    except (OSError, subprocess.TimeoutExpired, ValueError) as error:
        reason = (error.strerror or str(error)).lower() if isinstance(error, OSError) else "it does not answer"
        raise SftuiError(f"{origin} {python} cannot be run", why=reason, fix="give a python that runs") from error
    return {str(name): str(version) for name, version in found.items()} if isinstance(found, dict) else {}


def _same(a: Path, b: Path) -> bool:
    try:
        return a.resolve() == b.resolve()
    except OSError:
        return False
