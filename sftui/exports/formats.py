"""The formats of a finished audit, by the names that `sftui check --format` takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sftui.exports.report_model import AuditReport


def writer_of(form: str) -> Callable[[AuditReport], str]:
    """What writes `text`, `json`, `sarif`, `junit`, `github` or `markdown`."""
    if form == "json":
        from sftui.exports.formats_json import as_json_text

        return as_json_text
    if form in ("sarif", "junit", "github"):
        from sftui.exports.formats_ci import as_github, as_junit, as_sarif

        return {"sarif": as_sarif, "junit": as_junit, "github": as_github}[form]
    if form == "markdown":
        from sftui.exports.formats_markdown import as_markdown

        return as_markdown
    from sftui.exports.formats_text import as_text

    return as_text
