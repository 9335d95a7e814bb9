"""Record how TRL turns each template it knows into its training twin, as edits and not as text.

    python tests/parity/record_trl_templates.py PATH_TO_TRL_PACKAGE

Reads trl/chat_templates and writes sftui/trainers/trl/training_edits.json: for each stored
template the hash of the original, the character edits, and the hash of the result. Nothing of the
templates themselves is kept but the few characters that TRL inserts.
"""

from __future__ import annotations

import hashlib
import json
import sys
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

TARGET = Path(__file__).resolve().parents[2] / "sftui" / "trainers" / "trl" / "training_edits.json"


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def tokens(text: str) -> list[str]:
    """Words, blanks and signs, so that edits fall between them."""
    import re

    return re.findall(r"\w+|\s|[^\w\s]", text)


def edits(before: str, after: str) -> list[tuple[int, int, str]]:
    """(start, end, replacement) in characters of `before`, in order."""
    a, b = tokens(before), tokens(after)
    at = [0]
    for token in a:
        at.append(at[-1] + len(token))
    found = []
    for kind, i1, i2, j1, j2 in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if kind != "equal":
            found.append((at[i1], at[i2], "".join(b[j1:j2])))
    return found


def main(package: str) -> None:
    folder = Path(package) / "chat_templates"
    version = next(Path(package).parent.glob("trl-*.dist-info")).name.split("-")[1].removesuffix(".dist")
    table: dict[str, Any] = {}
    for training in sorted(folder.glob("*_training.jinja")):
        name = training.stem.removesuffix("_training")
        before, after = (folder / f"{name}.jinja").read_text(), training.read_text()
        made = edits(before, after)
        table[digest(before)] = {"name": name, "edits": made, "result": digest(after)}
    kept = sum(len(text) for entry in table.values() for _, _, text in entry["edits"])
    TARGET.write_text(json.dumps({"trl": version, "templates": table}, indent=0, sort_keys=True) + "\n")
    print(f"{len(table)} templates of trl {version}, {kept} inserted characters, {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main(sys.argv[1])
