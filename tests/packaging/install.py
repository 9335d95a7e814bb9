"""Build the sdist and the wheel, install them on each Python with the lowest and the highest dependencies, try them.

    python tests/packaging/install.py         # each Python that is here (or of $SFTUI_PYTHONS), both ends
    python tests/packaging/install.py --python 3.10 --dependencies lowest

What is tried has no network: `sftui --version`, `sftui demo` up to its first tokens on a pty, and a check of the
bundled sample, which must find the same everywhere. `build` and `uv` (which knows both ends, as `--resolution`) are of
the extra `dev`.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import pty
import re
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
PYTHONS = ("3.10", "3.11", "3.12", "3.13")
RESOLUTIONS = {"lowest": "lowest-direct", "highest": "highest"}
PATIENCE = 120.0
"""Seconds until the first screen must be there, on a machine that does much else."""
BEHIND_ESCAPES = re.compile(
    rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[PX^_].*?\x1b\\|[@-Z\\-_=>])", re.DOTALL
)


def run(words: Sequence[str | Path], folder: Path, **environment: str) -> str:
    """What a command prints; ends the run where it fails."""
    command = [str(word) for word in words]
    kept = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH")}
    done = subprocess.run(
        command, cwd=folder, env=kept | environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if done.returncode:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout[-6000:]}")
    return done.stdout


def build(folder: Path) -> tuple[Path, Path]:
    """The wheel, which is built from the sdist, and the sdist; ends the run where the wheel lacks a file of sftui."""
    run([sys.executable, "-m", "build", "--installer", "uv", "--outdir", folder, REPO], folder)
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    tracked = run(["git", "-C", REPO, "ls-files", "sftui", "sample_data", "share"], folder).splitlines()
    data = f"{'-'.join(wheel.name.split('-')[:2])}.data/data/share/"
    wanted = {re.sub("^share/", data, re.sub("^sample_data/", "sftui/_sample_data/", file)) for file in tracked}
    missing = sorted(wanted - set(zipfile.ZipFile(wheel).namelist()))
    if missing:
        sys.exit(f"not in the wheel: {', '.join(missing)}")
    return wheel, sdist


def interpreter(python: str) -> str | None:
    """The newest Python of a minor version that is on the path or below pyenv's folder; None where there is none."""
    below = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = sorted(below.glob(f"{python}.*/bin/python{python}"), key=lambda one: one.parts[-3].split("."))
    if found:
        return str(found[-1])
    on_path = shutil.which(f"python{python}")
    return (
        on_path
        if on_path is not None and subprocess.run([on_path, "-V"], capture_output=True).returncode == 0
        else None
    )


def offline() -> list[str]:
    """The words before a command that take the network from it, where the system lets us."""
    words = ["unshare", "--net", "--map-root-user"]
    there = shutil.which(words[0]) and subprocess.run([*words, "true"], capture_output=True).returncode == 0
    return words if there else []


def first_screen(words: Sequence[str], folder: Path, environment: dict[str, str]) -> float:
    """Seconds until a command shows tokens of a row on a pty of 120x36; it is ended with `q` and must end well."""
    begun, seen = time.monotonic(), b""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execvpe(words[0], list(words), environment)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 36, 120, 0, 0))
    shown = 0.0
    while time.monotonic() - begun < PATIENCE:
        try:
            seen += os.read(terminal, 1 << 16) if select.select([terminal], [], [], 0.2)[0] else b""
        except OSError:
            break  # it ended
        if not shown and b"<|im_start|>" in BEHIND_ESCAPES.sub(b"", seen):
            shown = time.monotonic() - begun
            os.write(terminal, b"q")
    if time.monotonic() - begun >= PATIENCE:
        os.kill(pid, 9)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.close(terminal)
    if not shown or code != 0:
        text = BEHIND_ESCAPES.sub(b" ", seen).decode("utf-8", "replace")
        sys.exit(
            f"{' '.join(words)} ended with {code} and showed {'tokens' if shown else 'no tokens'}:\n{text[-4000:]}"
        )
    return shown


def try_out(python: str, dependencies: str, package: Path, folder: Path) -> tuple[object, str]:
    """Install and try it in an environment of its own; what the check finds, and a line that tells."""
    venv = folder / f"{python}-{dependencies}-{'sdist' if package.suffix == '.gz' else 'wheel'}"
    uv = [sys.executable, "-m", "uv", "--quiet"]
    run([*uv, "venv", "--python", interpreter(python) or python, venv], folder)
    begun = time.monotonic()
    inside = ("--python", venv / "bin" / "python")
    # A wheel's own dependencies are no direct ones to uv, which would take the newest of them.
    ends = ("--resolution", RESOLUTIONS[dependencies], "--requirements", REPO / "pyproject.toml")
    run([*uv, "pip", "install", *inside, *ends], folder)
    run([*uv, "pip", "install", *inside, "--no-deps", package], folder)
    run([*uv, "pip", "check", *inside], folder)
    installed = time.monotonic() - begun
    home = folder / "home"
    home.mkdir(exist_ok=True)
    apart = {
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / venv.name),
        "TERM": "xterm-256color",
        "HF_HUB_OFFLINE": "0",
    }
    sftui = [*offline(), str(venv / "bin" / "sftui")]
    version = run([*sftui, "--version"], folder, **apart).strip()
    wanted = re.search(r'^version = "(.+)"$', (REPO / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    if wanted is None or version != f"sftui {wanted[1]}":
        sys.exit(f"{venv.name}: the package says {version}, pyproject.toml {wanted and wanted[1]}")
    screen = first_screen([*sftui, "demo"], folder, {**os.environ, **apart})
    sample = next(venv.glob("lib/python*/site-packages/sftui/_sample_data/defects.jsonl"))
    found = folder / "found.json"
    run(
        [
            *sftui,
            "check",
            sample,
            "-t",
            "builtin:chatml",
            "--format",
            "json",
            "--fail-on",
            "never",
            "-o",
            found,
            "--force",
        ],
        folder,
        **apart,
    )
    told = json.loads(found.read_text(encoding="ascii"))
    versions = run([*uv, "pip", "freeze", *inside], folder)
    named = ", ".join(
        one for one in versions.split() if re.match("(?:textual|transformers|datasets|tokenizers|pyarrow|numpy)=", one)
    )
    shutil.rmtree(venv)
    figures = {code["code"]: (code["count"], code["rows"]) for code in told["codes"]}
    return figures, f"{venv.name}: installed in {installed:.0f} s, tokens after {screen:.1f} s ({named})"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", action="append", choices=PYTHONS)
    parser.add_argument("--dependencies", action="append", choices=tuple(RESOLUTIONS))
    given = parser.parse_args()
    wanted = given.python or os.environ.get("SFTUI_PYTHONS", " ".join(PYTHONS)).split()
    pythons = [one for one in wanted if interpreter(one) is not None]
    if not pythons:
        sys.exit(f"no Python of {', '.join(wanted)} is here")
    print(f"without a network: {'by a namespace' if offline() else 'not possible here'}", flush=True)
    with tempfile.TemporaryDirectory(prefix="sftui-packaging-") as made:
        folder = Path(made)
        wheel, sdist = build(folder)
        ways = [(python, end, wheel) for python in pythons for end in given.dependencies or RESOLUTIONS]
        ways.append((pythons[0], "highest", sdist))
        found = {}
        for python, end, package in ways:
            found[python, end, package.name], told = try_out(python, end, package, folder)
            print(told, flush=True)
    if not all(found.values()) or len({json.dumps(one) for one in found.values()}) != 1:
        sys.exit(f"the same check finds other things: {found}")
    print(f"{len(found)} installed, each finds the same")
    return 0


if __name__ == "__main__":
    sys.exit(main())
