"""Row → repaired row: pure edits of the data, each with what it changed, and which fixes a finding has."""

from sftui.repairs.catalogue import DEDUPLICATE, DROP, REPAIRS, TITLES, Fixes, fixes_for
from sftui.repairs.model import Change, Layout, Repair
from sftui.repairs.rows import DROP_REASONS
from sftui.repairs.run import Counts, Plan, Repaired, layout_of, make_plan, repair_row, repaired
from sftui.repairs.texts import WANTED, strip_tokens

__all__ = [
    "DEDUPLICATE", "DROP", "DROP_REASONS", "REPAIRS", "TITLES", "WANTED", "Change", "Counts", "Fixes", "Layout", "Plan", "Repair", "Repaired",
    "fixes_for", "layout_of", "make_plan", "repair_row", "repaired", "strip_tokens",
]
