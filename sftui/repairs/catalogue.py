"""Every repair by name."""

from __future__ import annotations

from collections.abc import Mapping

from sftui.findings.rule import DROP, TO_MESSAGES
from sftui.repairs.model import Repair
from sftui.repairs.sides import join_prompt, split_prompt
from sftui.repairs.texts import fill_content, join_parts, looks_like_control, parse_json, strip_tokens, trim, wrap_calls
from sftui.repairs.to_messages import TITLE, each_alone
from sftui.repairs.turns import fold_system, map_roles, merge_neighbours

DEDUPLICATE = "deduplicate"
__all__ = ["CONVERSION", "DEDUPLICATE", "DROP", "REPAIRS", "TITLES"]
REPAIRS: Mapping[str, Repair] = {
    repair.name: repair
    for repair in (
        # In the order in which they are applied, whatever order they are named in: each works on what the earlier left.
        Repair("parse-json", "parse messages, tools and arguments stored as JSON text", parse_json),
        Repair("map-roles", "map role aliases and fix misspelt roles", map_roles),
        Repair("join-parts", "join text parts into one string", join_parts),
        Repair("fill-content", "turn null, missing or numeric content into text", fill_content),
        strip_tokens(looks_like_control),
        Repair("split-prompt", "move what both sides begin with into `prompt`", split_prompt),
        Repair("join-prompt", "move `prompt` to the front of both sides", join_prompt),
        Repair("trim", "trim leading and trailing whitespace", trim),
        Repair("fold-system", "move system messages into the next user message", fold_system),
        Repair("merge-neighbours", "join consecutive messages with the same role", merge_neighbours),
        Repair("wrap-calls", "put name and arguments of tool calls under `function`", wrap_calls),
    )
}

CONVERSION = Repair(TO_MESSAGES, TITLE, each_alone)
"""Goes before all others, which find messages where it puts them (see `run.layout_after`)."""

TITLES: Mapping[str, str] = {
    **{name: one.title for name, one in REPAIRS.items()},
    TO_MESSAGES: TITLE,
    DEDUPLICATE: "drop rows whose conversation appeared in an earlier one",
    DROP: "drop the rows with this finding",
}
