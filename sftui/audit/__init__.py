"""The whole dataset: what every row adds up to, gathered row by row in bounded memory.

    audit = Audit(context)                      # context: the checks' Context, see `audit_context`
    for progress in run_audit(audit, rows, inspect, context, head=first): …    # in slices; stop by not going on
    audit.figures()                             # frozen, for views and reports
    audit.found.ordered()                       # what was found, grouped by code

Audits of disjoint rows under one recipe merge and pickle, so worker processes can share the work.
Only the figures are loaded at once: the process of the screen receives them and needs nothing else.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sftui.audit.figures import Figures, GroupFigure, LimitFigure, SourceFigure

if TYPE_CHECKING:
    from sftui.audit.audit import Audit
    from sftui.audit.context import audit_context
    from sftui.audit.found import Filter, Found, FoundCode, FoundFinding
    from sftui.audit.run import AuditProgress, check_head, run_audit
    from sftui.audit.state import drop_state, load_state, save_state, state_key
    from sftui.audit.verdict import Verdict

_WHERE = {
    "Audit": "audit",
    "audit_context": "context",
    "Filter": "found",
    "Found": "found",
    "FoundCode": "found",
    "FoundFinding": "found",
    "AuditProgress": "run",
    "check_head": "run",
    "run_audit": "run",
    "drop_state": "state",
    "load_state": "state",
    "save_state": "state",
    "state_key": "state",
    "Verdict": "verdict",
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)


__all__ = [
    "Audit",
    "AuditProgress",
    "Figures",
    "Filter",
    "Found",
    "FoundCode",
    "FoundFinding",
    "GroupFigure",
    "LimitFigure",
    "SourceFigure",
    "Verdict",
    "audit_context",
    "check_head",
    "drop_state",
    "load_state",
    "run_audit",
    "save_state",
    "state_key",
]
