"""What each trainer reads of a config: the names of its keys, written to sftui/trainers/TRAINER/known_keys.json.

`python tests/parity/record_keys.py TRAINER[@VERSION]…` asks the packages of the trainer's own environment (see
environments.py) by `keys.py` of its folder: pydantic models, dataclasses, signatures. `--files FOLDER` reads another
release of the trainer, unpacked from its wheel, with the dependencies of the default environment. Names only; what a
key decides is told in the trainer's own `keys` or `config` beside the record, and everything that is recorded and not
named there decides neither rows nor ids nor labels. So read what is new in a record before it is checked in
(`git diff`).
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

from trainers import having, module_of

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parent.parent / "sftui" / "trainers"
WIDTH = 116

STUB = r'''
import ast

def asked_of(holder, node, kind=ast.Constant):
    """Whether a node is `holder.get("name", …)` or `holder.pop("name", …)`."""
    called = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("get", "pop")
    return called and ast.unparse(node.func.value) == holder and node.args and isinstance(node.args[0], kind)

def stub(*names):
    """Packages that are not installed and that no key depends on."""
    import sys
    from importlib.machinery import ModuleSpec
    from unittest.mock import MagicMock
    for name in names:
        sys.modules[name] = MagicMock(__spec__=ModuleSpec(name, None), __path__=[])
'''


DATACLASSES = r"""
import dataclasses
def names(*classes):
    return {one.name for cls in classes for one in dataclasses.fields(cls) if one.init}
"""


TAIL = r"""
import json
def plain(value):
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    return {key: plain(one) for key, one in sorted(value.items())}
print("RECORDED " + json.dumps(plain(known)))
"""


def ask(trainer: str, version: str, files: str | None) -> dict[str, object]:
    """The names that the trainer's environment gives; `files`: those of this folder, in the default environment."""
    from case import home
    from environments import split

    python = home() / f"{trainer}-{split(trainer)[1] if files else version}" / "bin" / "python"
    done = subprocess.run(
        [str(python), "-c", STUB + module_of(trainer, "keys").SCRIPT + TAIL],
        capture_output=True,
        text=True,
        cwd=home(),
        check=False,
        env={**os.environ, **({"PYTHONPATH": files} if files else {})},
    )
    for line in done.stdout.splitlines():
        if line.startswith("RECORDED "):
            return dict(json.loads(line.removeprefix("RECORDED ")))
    sys.exit(f"{trainer}@{version}: {done.stderr[-3000:]}")


def record_arguments(wheels: list[str]) -> None:
    """TrainingArguments of the transformers releases in these wheels, read as text: only the fields' names count."""
    recorded = {}
    for wheel in sorted(wheels):
        with zipfile.ZipFile(wheel) as archive:
            tree = ast.parse(archive.read("transformers/training_args.py"))
        cls = next(one for one in tree.body if isinstance(one, ast.ClassDef) and one.name == "TrainingArguments")
        fields = [
            one.target.id for one in cls.body if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
        ]
        recorded[Path(wheel).name.split("-")[1]] = compact(sorted(name for name in fields if not name.startswith("_")))
    (PACKAGE / "known_keys.json").write_text(
        json.dumps({"TrainingArguments": recorded}, indent=1) + "\n", encoding="utf-8"
    )


def compact(value: object) -> object:
    """Lists of names as lines of names, so that a record is short and its differences can be read."""
    if isinstance(value, dict):
        return {key: compact(one) for key, one in value.items()}
    assert isinstance(value, list)
    return textwrap.wrap(" ".join(value), WIDTH, break_long_words=False, break_on_hyphens=False)


def record(trainer: str, version: str, files: str | None) -> None:
    """Put one version into the trainer's record, newest first."""
    file = PACKAGE / trainer.replace("-", "_") / "known_keys.json"
    known = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    known[version] = compact(ask(trainer, version, files))
    newest_first = sorted(known, key=lambda name: [int(part) for part in name.split(".")], reverse=True)
    file.write_text(json.dumps({name: known[name] for name in newest_first}, indent=1) + "\n", encoding="utf-8")
    print(f"{trainer}@{version}: written to {file}")


def main() -> int:
    from environments import split

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="trainer, or trainer@version")
    parser.add_argument("--files", help="folder of an unpacked release (a wheel) that has no environment of its own")
    parser.add_argument("--transformers", nargs="+", default=[], help="wheels of transformers, for TrainingArguments")
    given = parser.parse_args()
    if given.transformers:
        record_arguments(given.transformers)
        return 0
    for name in given.names or having("keys"):
        trainer, version = name.split("@") if given.files else split(name)
        record(trainer, version, given.files)
    return 0


if __name__ == "__main__":
    sys.exit(main())
