"""Build the trainers' environments: `python environments.py TRAINER[@VERSION]…` (every trainer's, if none is named).

`transformers@VERSION` is a small one without torch, that only loads tokenizers and renders templates, and
`transformers` alone is all of those; they are built only where they are named. A release of a trainer that the rules do
not know yet is named the same: `trl@1.17.0` is installed as it comes.

`--newest` says what of each trainer and of transformers is on the package index, beside what the rules know; with
`--build` it builds what is newer. It ends with 1 where something is, with 2 where the index cannot be asked.
`SFTUI_PARITY_ALSO=trl@1.17.0` lets the parity tests try that one, too (see "Following a release" in README.md).

One virtual environment each under `$SFTUI_PARITY_HOME` (default ~/.cache/sftui-parity), made once:
a finished one carries a stamp of its package list and is left alone. Only the standard library is
needed here. torch is installed first and pinned, so that no trainer pulls a CUDA build; by pip, which knows the wheels
on the CI machine. The rest comes by uv where that is here: a tenth of the time.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

TORCH = "torch==2.13.0"

TRAINERS = Path(__file__).parents[2] / "sftui" / "trainers"
PACKAGES: dict[str, tuple[str, ...]] = {
    f"{file.parent.name.replace('_', '-')}@{version}": tuple(packages)
    for file in sorted(TRAINERS.glob("*/environments.json"))
    for version, packages in json.loads(file.read_text(encoding="utf-8")).items()
}
"""Every environment, by the environments.json of its trainer's folder; the first of a trainer is its default version.
What follows --no-deps is installed afterwards without what it asks for: an older release on the newer one's
dependencies and on our torch. `source:NAME` is a checkout of what no index has, in the folder `sources/NAME` of the
home; without one the environment is left out."""
SOURCE = "source:"

TRANSFORMERS = ("4.57.6", "5.5.0", "5.6.0", "5.16.1", "5.17.0", "5.20.1", "5.23.0", "5.24.0")
"""The versions of transformers that trainers bring, and the newest; one small environment each, without torch."""
_TOKENIZER_LIBRARIES = ("sentencepiece==0.2.3", "protobuf", "tiktoken==0.14.0", "mistral-common", "jinja2==3.1.6")
SMALL: dict[str, tuple[str, ...]] = {
    f"transformers@{version}": (f"transformers=={version}", *_TOKENIZER_LIBRARIES) for version in TRANSFORMERS
}

ALSO = tuple(os.environ.get("SFTUI_PARITY_ALSO", "").split())
"""Releases that the parity tests try beside those whose rules are known."""

REMOVED = dict.fromkeys(("llamafactory", "llamafactory-v1"), ("torchaudio", "torchvision"))
"""Packages that are built for another torch; the runner stubs what the trainer imports of them."""


def split(name: str) -> tuple[str, str]:
    """`trl` or `trl@1.14.0` as trainer and version; the default version where none is named."""
    trainer, _, version = name.partition("@")
    if (
        name in PACKAGES
        or name in SMALL
        or (version and f"{trainer}@" in {one.split("@")[0] + "@" for one in PACKAGES})
    ):
        return trainer, version
    for known in PACKAGES:
        trainer, _, version = known.partition("@")
        if trainer == name:
            return trainer, version
    sys.exit(f"no such environment: {name}; known are {', '.join((*PACKAGES, *SMALL))}")


def version_of(preset: str) -> str:
    """The version that stands for a preset, `1.16.0` for `trl@1.16`: the first of its environments."""
    return next(name.partition("@")[2] for name in PACKAGES if f"{name}.".startswith(f"{preset}."))


def distribution(trainer: str) -> str:
    """What the index calls the package of a trainer: the one whose version is the trainer's."""
    version = split(trainer)[1]
    packages = PACKAGES[f"{trainer}@{version}"]
    named = [one.removesuffix(f"=={version}") for one in packages if one.endswith(f"=={version}")]
    return (named or [one.removeprefix(SOURCE) for one in packages if one.startswith(SOURCE)])[0]


def packages_of(trainer: str, version: str) -> tuple[str, ...]:
    """What is installed for a version; for one that is not known the release alone, with what it asks for."""
    return PACKAGES.get(f"{trainer}@{version}") or (f"{distribution(trainer)}=={version}",)


def released(package: str) -> str | None:
    """The newest release on the package index, whatever Python it asks for; None where that cannot be told."""
    asked = [
        sys.executable,
        "-m",
        "pip",
        "--disable-pip-version-check",
        "index",
        "versions",
        "--ignore-requires-python",
    ]
    done = subprocess.run([*asked, package], capture_output=True, text=True)
    found = re.search(r"^Available versions: ([^,\s]+)", done.stdout, re.MULTILINE)
    return found[1] if found is not None else None


def numbers(version: str) -> tuple[int, ...]:
    """`2026.10.7` as (2026, 10, 7)."""
    return tuple(int(part) for part in re.findall(r"\d+", version))


def indexed() -> tuple[str, ...]:
    """The environments of releases that an index has; what comes of a checkout alone is not asked for there."""
    return tuple(name for name, packages in PACKAGES.items() if not any(one.startswith(SOURCE) for one in packages))


def newer(asked: Callable[[str], str | None] = released) -> tuple[list[str], list[str], list[str]]:
    """Lines to print, the names of what is newer than the rules, and what the index did not tell."""
    known: dict[str, str] = {}
    for trainer, version in map(split, indexed()):
        known[trainer] = max(known.get(trainer, version), version, key=numbers)
    known["transformers"] = max(TRANSFORMERS, key=numbers)
    lines, found, silent = [], [], []
    for name, version in known.items():
        latest = asked("transformers" if name == "transformers" else distribution(name))
        if latest is None:
            silent.append(name)
            lines.append(f"{name:13} {version:12} the index does not say what is newest")
        elif numbers(latest) > numbers(version):
            found.append(f"{name}@{latest}")
            lines.append(f"{name:13} {version:12} {latest} is out: python tests/parity/environments.py {name}@{latest}")
        else:
            lines.append(f"{name:13} {version:12} is the newest")
    return lines, found, silent


def build(trainer: str, version: str, home: Path) -> float:
    """Make one environment unless it stands; seconds it took."""
    name = f"{trainer}@{version}"
    packages = SMALL.get(name) or (TORCH, *packages_of(trainer, version))
    folder = home / f"{trainer}-{version}"
    stamp, wanted = folder / "sftui-packages.txt", "\n".join(packages) + "\n"
    if stamp.exists() and stamp.read_text() == wanted:
        return 0.0
    checkouts = {one: home / "sources" / one.removeprefix(SOURCE) for one in packages if one.startswith(SOURCE)}
    missing = [str(checkout) for checkout in checkouts.values() if not checkout.is_dir()]
    if missing:
        print(f"{name}: left out, since there is no checkout at {', '.join(missing)}", flush=True)
        return 0.0
    packages = tuple(str(checkouts.get(one, one)) for one in packages)
    started = time.monotonic()
    shutil.rmtree(folder, ignore_errors=True)
    home.mkdir(parents=True, exist_ok=True)
    python = str(folder / "bin" / "python")
    pip = [python, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    install = [*pip, "install", "--no-compile"]
    _call([_python(), "-m", "venv", str(folder)])
    constraints = folder / "constraints.txt"
    constraints.write_text("")
    if TORCH in packages:
        _call([*install, TORCH])
        constraints.write_text(TORCH + "\n")
    together, bare = (
        (packages[: packages.index("--no-deps")], packages[packages.index("--no-deps") :])
        if "--no-deps" in packages
        else (packages, ())
    )
    asked = ["--constraint", str(constraints), *together]
    quick = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", python, *asked]
    patient = {**os.environ, "UV_HTTP_TIMEOUT": "180"}
    if not find_spec("uv") or subprocess.run(quick, env=patient, capture_output=True).returncode:
        _call([*install, *asked])
    if bare:
        _call([*install, *bare])
    if trainer in REMOVED:
        _call([*pip, "uninstall", "--yes", *REMOVED[trainer]])
    stamp.write_text(wanted)
    return time.monotonic() - started


def _python() -> str:
    """Python 3.11, for which the CPU build of torch is on the CI machine; else the running one."""
    return shutil.which("python3.11") or sys.executable


def _call(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")


def main(arguments: Sequence[str] | None = None) -> int:
    from case import home

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="trainer, trainer@version, transformers@version, transformers")
    parser.add_argument("--newest", action="store_true", help="say which releases are newer than the rules")
    parser.add_argument("--build", action="store_true", help="with --newest: build those of trainers")
    given = parser.parse_args(arguments)
    if given.newest:
        lines, found, silent = newer()
        print("\n".join(lines), flush=True)
        for trainer, version in (split(one) for one in found if given.build and not one.startswith("transformers@")):
            print(f"{trainer}@{version}: built in {build(trainer, version, home()):.0f} s", flush=True)
        return 2 if silent else 1 if found else 0
    names = given.names or PACKAGES
    for name in (one for named in names for one in (SMALL if named == "transformers" else (named,))):
        trainer, version = split(name)
        seconds = build(trainer, version, home())
        if not (home() / f"{trainer}-{version}").is_dir():
            continue
        print(f"{trainer}@{version}: {f'built in {seconds:.0f} s' if seconds else 'ready'}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
