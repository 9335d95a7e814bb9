"""Ask a real trainer, in its own environment, what it makes of rows.

The runner is a script of the trainer's folder, started with the python of that environment; `exchange`
says what requests and results hold. Which version is installed there is asked without importing the trainer.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from sftui.errors import SftuiError
from sftui.side_files import object_of, reason
from sftui.trainer_names import TRAINERS
from sftui.trainers.declared import folder_of, trainer_names, traits_of

HERE = Path(__file__).parent
DIED = "RunnerDied"
"""The `type` of an answer's error where the process ended instead of answering."""

_PASSED_ON = frozenset(object_of(HERE / "passed_on.json")["names"].split())
"""What a trainer needs to find its files and its devices. Tokens and keys have any name (WANDB_API_KEY, AWS_…), so that
only what is known to be none is handed over; caches that were logged in to hold their own."""
_PASSED_ON_BEGINNINGS = ("LC_", "PYTORCH_", "UNSLOTH_")
_RUN = (
    "import sys; sys.path[:1] = sys.argv[2:]; del sys.argv[2:]; import runpy;"
    " runpy.run_path(sys.argv.pop(), run_name='__main__')"
)
_ASK = (
    "import sys; sys.path[:] = filter(None, sys.path); from importlib.metadata import version\ntry:"
    " print(version(sys.argv[1]))\nexcept Exception: sys.exit(3)"
)
"""Without the current folder, where somebody's dataset may lie beside a json.py."""
_MISSING = 3
_SECRET = ("TOKEN", "KEY", "SECRET", "PASSW", "CREDENTIAL")


def runner_of(trainer: str) -> Path:
    """The script that runs a trainer, beside its code; it need not exist."""
    return folder_of(trainer) / f"run_{trainer.replace('-', '_')}.py"


def command(python: Path, script: Path, *folders: Path) -> list[str]:
    """What runs a script with these folders on its path in place of its own: the files beside a runner
    may have names of packages."""
    return [str(python), "-c", _RUN, *map(str, (script, *folders))]


def process_environment() -> dict[str, str]:
    """The variables a trainer's process gets: of the caller's only those that are known to be needed, and no secret."""
    return {
        name: value
        for name, value in os.environ.items()
        if name.upper() in _PASSED_ON
        or (name.startswith(_PASSED_ON_BEGINNINGS) and not any(word in name.upper() for word in _SECRET))
    }


def ask(python: Path, trainer: str, requests: Iterable[Mapping[str, Any]], errors: IO[str]) -> Iterator[dict[str, Any]]:
    """One answer a request, in order: {rows_in, kept, error, seconds}; the result is in the request's `output`.

    A request is taken when the answer before it was read. One process answers them all, because importing a trainer
    takes longer than preparing rows. One that dies answers with an error of type DIED and is started again for the next
    request. What the trainer prints goes to `errors`. FileNotFoundError where there is no such python.
    """
    process: subprocess.Popen[str] | None = None
    try:
        for request in requests:
            process = process or _start(python, trainer, errors)
            line = _exchange(process, request)
            if line:
                yield json.loads(line)
                continue
            message = f"the runner of {trainer} ended with code {process.wait()}"
            process = None
            yield {"rows_in": None, "kept": None, "seconds": 0.0, "error": {"type": DIED, "message": message}}
    finally:
        if process is not None:
            _stop(process)


def _start(python: Path, trainer: str, errors: IO[str]) -> subprocess.Popen[str]:
    runner = runner_of(trainer)
    folders = (HERE,) if trainer in TRAINERS else (runner.parent, HERE)
    return subprocess.Popen(
        command(python, runner, *folders),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
        encoding="utf-8",
        env=process_environment(),
    )


def _exchange(process: subprocess.Popen[str], request: Mapping[str, Any]) -> str:
    """The runner's line for a request; empty where it has ended."""
    assert process.stdin and process.stdout
    try:
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
    except BrokenPipeError:
        return ""
    return process.stdout.readline()


def _stop(process: subprocess.Popen[str]) -> None:
    """Let the runner end by itself, which it does when its input ends; a busy one is ended."""
    assert process.stdin
    try:
        process.stdin.close()
        process.wait(timeout=20)
    except (BrokenPipeError, subprocess.TimeoutExpired):
        process.kill()
        process.wait()


def read_result(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The head and the records (rows, packs, batches) of one result file."""
    with path.open(encoding="utf-8") as file:
        head, *records = (json.loads(line) for line in file)
    return head, records


def verified() -> tuple[str, ...]:
    """The trainers that can be run beside sftui: those with a runner."""
    return tuple(name for name in trainer_names() if runner_of(name).exists())


def installed_version(python: Path, trainer: str) -> str:
    """The version there; SftuiError where there is no such python, trainer, or nothing to run it by."""
    if not runner_of(trainer).exists():
        raise SftuiError(
            f"{trainer} cannot be verified",
            why="no installed trainer prepares rows this way",
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
            why=reason(error) if isinstance(error, OSError) else "it did not respond within a minute",
            fix="give the Python of the trainer's environment, e.g. --python venv/bin/python",
        ) from error
    if done.returncode == _MISSING:
        raise SftuiError(
            f"{package} is not installed for {python}",
            fix=(
                f"give the Python of an environment that has it, or install it there: {python} -m pip install {package}"
            ),
        )
    if done.returncode:
        last = done.stderr.strip().splitlines()
        raise SftuiError(
            f"{python} is not a usable python", why=last[-1] if last else f"it ended with code {done.returncode}"
        )
    return done.stdout.strip()
