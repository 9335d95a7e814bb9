"""The catalogue of findings: every code with its grade, what it means and how each trainer repairs it.

Texts follow the project's catalogue of failure modes (its sources are issues and code of the trainers).
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

from sftui.errors import RecipeError
from sftui.findings.catalogue import content, dataset, labels, length, masks, rendering, stops
from sftui.findings.model import TRAINERS, Code

CODES: Mapping[str, Code] = {
    one.code: one
    for module in (content, rendering, masks, stops, labels, length, dataset)
    for one in module.ENTRIES
}
ALIASES: Mapping[str, str] = {"THK002": "GEN011", "EOS005": "TRU002", "GEN010": "TRU002"}
"""Codes of the project's reference that are told under another one."""
REPAIR_OF: Mapping[str, str] = {
    **dict.fromkeys(("ROW001", "ROW002", "ROL003", "CON003", "LAB001", "LAB012", "TRU001", "TOO006", "THK005", "TRU006"), "drop"),
    **dict.fromkeys(("TPL002", "TPL003", "ROL004"), "fold_system"),
    **dict.fromkeys(("ROL001", "ROL002", "TPL010"), "map_roles"),
    **dict.fromkeys(("CON007", "TOO001"), "parse_json"),
    **dict.fromkeys(("INJ001", "INJ002", "EOS012", "CON008"), "strip_controls"),
    "TPL006": "merge_neighbours", "DUP001": "deduplicate",
}
"""The repair of the data that makes findings of a code go away."""
_SCOPES = {"row": "each row on its own", "setup": "once, for recipe, template and tokenizer together", "dataset": "the whole dataset"}


def explain(code: str) -> str:
    """The page of one code for `sftui explain`; RecipeError with the nearest code for an unknown one."""
    wanted = code.strip().upper()
    wanted = ALIASES.get(wanted, wanted)
    if wanted not in CODES:
        near = get_close_matches(wanted, CODES, n=3, cutoff=0.5)
        raise RecipeError(f"there is no code `{code}`", fix=f"did you mean {' or '.join(near)}?" if near else "see the list in the docs")
    one = CODES[wanted]
    lines = [
        f"{one.code} {one.name}: {one.title}", "", one.explanation, "",
        f"Severity: {one.severity.value} ({one.grade.name.lower()}: {one.grade.reason}).",
        f"Scope: {_SCOPES[one.scope]}.",
    ]
    if len(set(one.fixes.values())) == 1 and len(one.fixes) == len(TRAINERS):
        lines += ["", "What repairs it:", f"  {one.fixes[TRAINERS[0]]}"]
    elif one.fixes:
        width = max(len(name) for name in one.fixes)
        lines += ["", "What repairs it:", *(f"  {name:<{width}}  {one.fixes[name]}" for name in TRAINERS if name in one.fixes)]
    return "\n".join(lines) + "\n"
