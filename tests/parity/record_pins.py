"""Record what each preset's trainer asks of the libraries that decide ids, text and rows: `python record_pins.py`, or
`record_pins.py TRAINER…` for some.

Writes pins.json into each trainer's folder. pip is asked to resolve the trainer as if into an empty environment of
Python 3.11 on this day, or 3.12 where the release wants that (`pip install --dry-run --report`), which tells what the
package and all that it brings ask, and the newest versions that they admit together. Only metadata is read; nothing is
installed. A trainer that no registry has keeps no entry. The version of a trainer is the one that its environment in
`environments.PACKAGES` has.
"""

from __future__ import annotations

import datetime
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from environments import PACKAGES

from sftui.trainers.declared import folder_of, traits_of
from sftui.trainers.verify.session import verified

LIBRARIES = ("transformers", "tokenizers", "datasets", "pandas", "trl")
_NAME = re.compile(r"[A-Za-z0-9._-]+")


def resolved(requirement: str) -> list[dict[str, Any]] | None:
    """The metadata of all that pip would install; None where it finds no such release, for any Python."""
    found = (_resolved(requirement, python) for python in _pythons())
    return next((one for one in found if one is not None), None)


def _pythons() -> list[str]:
    """Python 3.11, and 3.12 for releases that want it: the one on the path or pyenv's."""
    newer = (shutil.which("python3.12"), *map(str, Path.home().glob(".pyenv/versions/3.12.*/bin/python")))
    return [shutil.which("python3.11") or sys.executable, *(python for python in newer if python)]


def _resolved(requirement: str, python: str) -> list[dict[str, Any]] | None:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        command = [
            python,
            "-m",
            "pip",
            "install",
            "--dry-run",
            "--ignore-installed",
            "--quiet",
            "--report",
            str(report),
            requirement,
        ]
        # A machine's own constraints are none of the trainer's.
        environment = {**os.environ, "PIP_CONSTRAINT": os.devnull}
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        if done.returncode:
            print(f"{requirement}: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
            return None
        return [one["metadata"] for one in json.loads(report.read_text())["install"]]


def pins_of(package: str, version: str) -> dict[str, Any] | None:
    """What one release asks of each library, who asks it, and the newest version admitted."""
    found = resolved(f"{package}=={version}")
    if found is None:
        return None
    versions = {_plain(one["name"]): one["version"] for one in found}
    asked: dict[str, dict[str, str]] = {}
    for one in found:
        for text in one.get("requires_dist", ()):
            requirement, _, condition = text.partition(";")
            match = _NAME.match(requirement)
            name = _plain(match[0]) if match else ""
            if match is None or name not in LIBRARIES or "extra" in condition:
                continue
            wanted = ",".join(sorted(re.sub(r"\[.*?\]", "", requirement[len(match[0]) :]).strip(" ()").split(",")))
            asked.setdefault(name, {}).setdefault(one["name"], wanted)
    return {
        "package": package,
        "version": version,
        "newest": {name: versions[name] for name in LIBRARIES if name in versions},
        "asks": {name: dict(sorted(asked[name].items())) for name in LIBRARIES if name in asked},
    }


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def main() -> int:
    read: dict[str, dict[str, Any]] = {}
    for name in PACKAGES:
        trainer, _, version = name.partition("@")
        if trainer not in (sys.argv[1:] or verified()):
            continue
        found = pins_of(traits_of(trainer).package or trainer, version)
        if found is not None:
            read.setdefault(trainer, {})[version] = found
            print(f"{name}: {found['newest']}", flush=True)
    for trainer, releases in read.items():
        record = {"recorded": datetime.date.today().isoformat(), "releases": dict(sorted(releases.items()))}
        (folder_of(trainer) / "pins.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
