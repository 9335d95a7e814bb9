"""Inspection → Finding: what is wrong in a row, in the set-up and in the whole dataset, and which key repairs it."""

from sftui.findings.catalogue import CODES, SCOPE_OF, explain, fix_text
from sftui.findings.context import Context
from sftui.findings.dataset import DatasetChecks
from sftui.findings.model import Finding, Fix, Severity
from sftui.findings.rules.files import damaged_files, refused_files
from sftui.findings.rules.roles import absent_role
from sftui.findings.run import check_dataset, check_row, check_setup
from sftui.findings.waivers import Waiver, apply_waivers, read_waivers

__all__ = [
    "CODES",
    "SCOPE_OF",
    "Context",
    "DatasetChecks",
    "Finding",
    "Fix",
    "Severity",
    "Waiver",
    "absent_role",
    "apply_waivers",
    "check_dataset",
    "check_row",
    "check_setup",
    "damaged_files",
    "explain",
    "fix_text",
    "read_waivers",
    "refused_files",
]
