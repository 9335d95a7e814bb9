"""Row → repaired row: pure edits of the data, each with what it changed, and which fixes a finding has."""

from sftui.findings.rule import TO_MESSAGES
from sftui.repairs.catalogue import DEDUPLICATE, DROP, REPAIRS, TITLES, Fixes, fixes_for
from sftui.repairs.lines import Repaired, line_of, row_of
from sftui.repairs.model import Change, Layout, Repair
from sftui.repairs.rows import DROP_REASONS
from sftui.repairs.run import (
    DROPPING,
    Counts,
    Plan,
    apply_plan,
    double_of,
    layout_after,
    layout_of,
    make_plan,
    plan_of,
    repair_row,
    repaired,
)
from sftui.repairs.texts import strip_tokens
from sftui.repairs.to_messages import (
    CONVERTED,
    Target,
    Way,
    has_calls,
    lost_calls,
    target_of,
    to_messages,
    way_of,
)
from sftui.repairs.turns import own_names

__all__ = [
    "CONVERTED",
    "DEDUPLICATE",
    "DROP",
    "DROPPING",
    "DROP_REASONS",
    "REPAIRS",
    "TITLES",
    "TO_MESSAGES",
    "Change",
    "Counts",
    "Fixes",
    "Layout",
    "Plan",
    "Repair",
    "Repaired",
    "Target",
    "Way",
    "apply_plan",
    "double_of",
    "fixes_for",
    "has_calls",
    "layout_after",
    "layout_of",
    "line_of",
    "lost_calls",
    "make_plan",
    "own_names",
    "plan_of",
    "repair_row",
    "repaired",
    "row_of",
    "strip_tokens",
    "target_of",
    "to_messages",
    "way_of",
]
