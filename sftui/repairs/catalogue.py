"""Every repair by name, and which fixes there are for a finding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sftui.repairs.model import Repair
from sftui.repairs.texts import fill_content, looks_like_control, parse_json, strip_tokens, trim
from sftui.repairs.turns import fold_system, map_roles, merge_neighbours

DEDUPLICATE = "deduplicate"
DROP = "drop"

REPAIRS: Mapping[str, Repair] = {
    one.name: one
    for one in (
        # In the order in which they are applied, whatever order they are named in: each works on what the earlier left.
        Repair("parse-json", "parse messages, tools and arguments that are stored as JSON text", parse_json, ("CON007", "TOO001")),
        Repair("map-roles", "rename aliases and misspelt roles", map_roles, ("ROL001", "ROL002", "TPL010")),
        Repair("fill-content", "put text where content is null, missing or a number", fill_content, ("CON001", "CON005", "CON010")),
        strip_tokens(looks_like_control),
        Repair("trim", "cut white space at the edges of messages", trim, ("CON004", "TPL009", "GEN004", "GEN005")),
        Repair("fold-system", "move system messages into the next user message", fold_system, ("TPL002", "TPL003", "ROL004")),
        Repair("merge-neighbours", "join neighbouring messages of one role", merge_neighbours, ("TPL006",)),
    )
}

TITLES: Mapping[str, str] = {
    **{name: one.title for name, one in REPAIRS.items()},
    DEDUPLICATE: "leave out rows whose conversation stood in an earlier one",
    DROP: "leave out the rows that have the finding",
}

_KNOBS: Mapping[str, tuple[str, ...]] = {
    "ROL001": ("data.role_map",), "ROL002": ("data.role_map",), "GEN009": ("mask.rule",), "GEN011": ("render.empty_think",),
}
_TAGS = ("GEN001", "GEN002", "GEN003", "GEN006", "GEN011", "EOS008", "TPL007", "TPL008", "EOS004", "GEN000", "BND004")
# Rows that no edit saves, or that another edit saves only in part.
_DROPPED = (
    "ROW001", "ROW002", "ROW003", "ROW004", "ROL003", "TPL006", "CON001", "CON002", "CON003", "CON004", "CON005", "CON008", "LAB001", "LAB012",
    "TOO005", "TOO006", "THK005", "TRU001", "TRU002", "TRU003", "TRU009", "LAB013", "INJ001", "INJ002", "TOK004", "TOK003",
)


@dataclass(frozen=True, slots=True)
class Fixes:
    """What can be done about a code here: knobs of the recipe, generation tags for the template, repairs of the data.

    A finding's own `Fix` holds the values of its knobs; `knobs` names those that are always the same ones.
    `repairs` are names of `TITLES`, the gentlest first.
    """

    knobs: tuple[str, ...] = ()
    generation_tags: bool = False
    repairs: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.knobs or self.generation_tags or self.repairs)


def fixes_for(code: str) -> Fixes:
    """The fixes for a finding's code; empty (and false) where there is none."""
    repairs = [name for name, one in REPAIRS.items() if code in one.codes]
    if code == "DUP001":
        repairs.append(DEDUPLICATE)
    if code in _DROPPED:
        repairs.append(DROP)
    return Fixes(_KNOBS.get(code, ()), code in _TAGS, tuple(repairs))
