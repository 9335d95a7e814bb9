"""Data for a cluster of two workers, and what the local engine makes of it."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

from sftui.audit.found import Filter
from sftui.recipe import changed
from sftui.session.checking import AuditSession
from sftui.session.options import OpenOptions
from sftui.session.ready import Ready, open_data, tokenized
from sftui.trainers import preset

WORDS = ["alpha", "beta", "gamma", "delta", "the", "of", "in", "a", "is", "was", "new", "house", "tree", "river"]


def rows(count: int, seed: int = 0) -> list[str]:
    """Chats of which some repeat an earlier one, ask what an earlier one asks, have no answer, or are broken."""
    random = Random(seed)
    made: list[str] = []
    for number in range(count):
        question = f"{number} " + " ".join(random.choices(WORDS, k=random.randrange(3, 30)))
        answer = " ".join(random.choices(WORDS, k=random.randrange(1, 80)))
        turns = [("user", question), ("assistant", answer)]
        kind = random.random()
        if kind < 0.05:
            turns[0] = ("user", f"again {random.randrange(30)}")
            turns[1] = ("assistant", f"answer {random.randrange(3)}")
        elif kind < 0.08:
            turns = turns[:1]
        elif kind < 0.1:
            turns = [("system", "Be brief."), *turns, ("user", "And?"), ("assistant", "")]
        line = json.dumps({"messages": [{"role": role, "content": text} for role, text in turns]})
        made.append(line[:-9] if 0.1 < kind < 0.11 else line)
        if 0.11 < kind < 0.13:
            made.append("")
    return made


def write(path: Path, count: int, seed: int = 0) -> Path:
    """So many rows as JSON Lines."""
    path.write_text("\n".join(rows(count, seed)) + "\n")
    return path


def opened(*paths: Path | str, trainer: str = "trl", tokenizer: str = "builtin:chatml", **knobs: Any) -> Ready:
    """Data under a trainer's preset."""
    recipe = changed(preset(trainer), "tokenizer.name", tokenizer)
    for path, value in knobs.items():
        recipe = changed(recipe, path.replace("__", "."), value)
    return tokenized(open_data(OpenOptions(tuple(map(str, paths)), recipe=recipe))).ready()


def said(checking: AuditSession) -> dict[str, Any]:
    """Everything that an audit came to, as what must be equal between engines."""
    from sftui.exports.formats_json import as_json_text
    from sftui.exports.report import report_html

    checked = checking.checked(("data",), looks=1)
    return {
        "figures": checking.audit.figures(),
        "found": [(one.code, one.count, list(one.rows), one.kept) for one in checking.audit.found.ordered()],
        "waived": (checking.audit.found.waived, checking.audit.found.known),
        "marks": checking.audit.found.fingerprints,
        "json": json.loads(as_json_text(checked)),
        "report": report_html(checked),
        "damage": checking.session.source.damage,
    }


def locally(session: Ready, wanted: Filter | None = None, **more: Any) -> dict[str, Any]:
    """The same by the local engine in this process."""
    checking = AuditSession(session, wanted or Filter(), **more)
    for _ in checking.steps():
        pass
    return said(checking)
