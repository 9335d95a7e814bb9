"""The catalogue of findings: every code with its grade, what it means and how each trainer repairs it.

Texts follow the project's catalogue of failure modes (its sources are issues and code of the trainers).
"""

from __future__ import annotations

from collections.abc import Mapping

from sftui.errors import RecipeError
from sftui.findings.catalogue import content, dataset, labels, length, masks, rendering, stops
from sftui.findings.model import TRAINERS, Code
from sftui.nearest import did_you_mean

CODES: Mapping[str, Code] = {
    one.code: one for module in (content, rendering, masks, stops, labels, length, dataset) for one in module.ENTRIES
}
ALIASES: Mapping[str, str] = {"THK002": "GEN011", "EOS005": "TRU002", "GEN010": "TRU002"}
"""Codes of the project's reference that are told under another one."""
DROP = "drop"
REPAIR_OF: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(
        (
            "ROW001",
            "ROW002",
            "ROW003",
            "ROW004",
            "ROW007",
            "ROL003",
            "CON002",
            "CON003",
            "CON008",
            "TPL010",
            "TPL015",
            "LAB001",
            "LAB012",
            "TRU001",
            "TRU002",
            "TRU003",
            "TRU006",
            "TRU009",
            "TOO005",
            "TOO006",
            "THK005",
            "TOK003",
            "TOK004",
        ),
        (DROP,),
    ),
    **dict.fromkeys(("TPL002", "TPL003", "ROL004"), ("fold-system", DROP)),
    **dict.fromkeys(("ROL001", "ROL002"), ("map-roles", DROP)),
    **dict.fromkeys(("CON001", "CON005", "CON010"), ("fill-content", DROP)),
    **dict.fromkeys(("CON007", "TOO001"), ("parse-json", DROP)),
    **dict.fromkeys(("INJ001", "INJ002", "EOS012"), ("strip-tokens", DROP)),
    **dict.fromkeys(("CON004", "TPL009", "GEN004", "GEN005"), ("trim", DROP)),
    "TPL006": ("merge-neighbours", DROP),
    "DUP001": ("deduplicate",),
}
"""What `sftui repair` can do to the data against a code, by the names that it takes, the gentlest first; `drop` is
`--drop CODE`.

A gentler one may have nothing to do in a row, e.g. no text can be put in place of an answer that is null.
"""
_SCOPES = {
    "row": "each row on its own",
    "setup": "once, for recipe, template and tokenizer together",
    "dataset": "the whole dataset",
}


def fix_text(code: str, trainer: str) -> str:
    """What to do against a code under a trainer; a hand-written loop does as `hf-trainer` does. "" where the catalogue
    knows nothing that this trainer could be told: what another one reads would lead nowhere."""
    return CODES[code].fixes.get(trainer if trainer in TRAINERS else "hf-trainer", "")


def repair_commands(code: str) -> tuple[str, ...]:
    """What to type against a code, the gentlest first."""
    return tuple(
        f"sftui repair --drop {code}" if name == DROP else f"sftui repair --apply {name}"
        for name in REPAIR_OF.get(code, ())
    )


def explain(code: str) -> str:
    """The page of one code for `sftui explain`; RecipeError with the nearest code for an unknown one."""
    wanted = code.strip().upper()
    wanted = ALIASES.get(wanted, wanted)
    if wanted not in CODES:
        raise RecipeError(f"there is no code `{code}`", fix=did_you_mean(wanted, CODES, "`sftui explain` lists them"))
    one = CODES[wanted]
    lines = [
        f"{one.code} {one.name}: {one.title}",
        "",
        one.explanation,
        "",
        f"Severity: {one.severity.value} ({one.grade.name.lower()}: {one.grade.reason}).",
        f"Scope: {_SCOPES[one.scope]}.",
    ]
    if len(set(one.fixes.values())) == 1 and len(one.fixes) == len(TRAINERS):
        lines += ["", "What repairs it:", f"  {one.fixes[TRAINERS[0]]}"]
    elif one.fixes:
        width = max(len(name) for name in one.fixes)
        lines += [
            "",
            "What repairs it:",
            *(f"  {name:<{width}}  {one.fixes[name]}" for name in TRAINERS if name in one.fixes),
        ]
    if wanted in REPAIR_OF:
        lines += ["", "In the data, into a new file:", *(f"  {command}" for command in repair_commands(wanted))]
    return "\n".join(lines) + "\n"
