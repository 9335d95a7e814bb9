"""`sftui report`: the audit as one HTML page."""

from __future__ import annotations

from typing import Any

from sftui.cli.auditing import audited, work_of
from sftui.cli.opening import open_options
from sftui.cli.writing import outputs
from sftui.session.checking import codes_of
from sftui.session.inputs import inputs_of
from sftui.text import many

LOOKS = 3


def write_report(out: str, select: tuple[str, ...], ignore: tuple[str, ...], force: bool, **given: Any) -> int:
    """Write the page; what it shows does not change the exit code, `sftui check` is for that."""
    from sftui.audit.found import Filter
    from sftui.exports.report import report_html

    wanted = Filter(codes_of(select, "--select"), codes_of(ignore, "--ignore"))
    options = open_options(given)
    target, _ = outputs(inputs_of(options, given["evaluation"]), force, out)
    checked = audited(options, wanted, **work_of(given), looks=LOOKS)
    target.write(report_html(checked), f"{many(checked.audit.rows, 'row')} ")
    return 0
