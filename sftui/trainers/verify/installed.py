"""Which version of a trainer a python has installed, asked without importing the trainer."""

from __future__ import annotations

import subprocess
from pathlib import Path

from sftui.errors import SftuiError
from sftui.side_files import reason
from sftui.trainers import trainer_names, traits_of
from sftui.trainers.verify.session import process_environment, runner_of

# Without the current folder, where somebody's dataset may lie beside a json.py.
_ASK = (
    "import sys; sys.path[:] = filter(None, sys.path); from importlib.metadata import version\ntry:"
    " print(version(sys.argv[1]))\nexcept Exception: sys.exit(3)"
)
_MISSING = 3


def verified() -> tuple[str, ...]:
    """The trainers that can be run beside sftui: those with a runner."""
    return tuple(name for name in trainer_names() if runner_of(name).exists())


def installed_version(python: Path, trainer: str) -> str:
    """The version there; SftuiError where there is no such python, trainer, or nothing to run it by."""
    if not runner_of(trainer).exists():
        raise SftuiError(
            f"{trainer} cannot be verified",
            why="no installed trainer prepares rows that way",
            fix=f"name one of {', '.join(verified())} with --trainer",
        )
    package = traits_of(trainer).package or trainer
    try:
        done = subprocess.run(
            [str(python), "-c", _ASK, package], capture_output=True, text=True, timeout=60, env=process_environment()
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SftuiError(
            f"{python} cannot be run",
            why=reason(error) if isinstance(error, OSError) else "it does not answer within a minute",
            fix="give the python of the trainer's environment, e.g. --python venv/bin/python",
        ) from error
    if done.returncode == _MISSING:
        raise SftuiError(
            f"{package} is not installed for {python}",
            fix=(
                f"give the python of an environment that has it, or install it there: {python} -m pip install {package}"
            ),
        )
    if done.returncode:
        last = done.stderr.strip().splitlines()
        raise SftuiError(
            f"{python} is no python that can be used", why=last[-1] if last else f"it ended with code {done.returncode}"
        )
    return done.stdout.strip()
