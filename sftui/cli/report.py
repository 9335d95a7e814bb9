"""`sftui report`: the audit as one HTML page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from sftui.cli.auditing import audited
from sftui.cli.check import codes_of
from sftui.cli.opening import open_options
from sftui.cli.writing import may_write

LOOKS = 3


def write_report(
    given: Mapping[str, Any], out: str, select: tuple[str, ...], ignore: tuple[str, ...], max_rows: int | None, sample: int | None,
    evaluation: str | None, force: bool, jobs: int | None,
) -> int:
    """Write the page; what it tells does not change the exit code, `sftui check` is for that."""
    from sftui.audit import Filter
    from sftui.exports.files import write_atomically
    from sftui.exports.report import report_html

    path = Path(out)
    may_write((path,) if path.exists() else (), force)
    checked = audited(open_options(given), Filter(codes_of(select, "--select"), codes_of(ignore, "--ignore")),
                      max_rows=max_rows, sample=sample, evaluation=evaluation, jobs=jobs, looks=LOOKS)
    write_atomically(path, report_html(checked).encode("utf-8"))
    click.echo(f"sftui: {checked.audit.rows:,} rows, written to {out}", err=True)
    return 0
