"""The formats of a finished audit, by the names that `sftui check --format` takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sftui.exports.report_model import AuditReport


def writer_of(form: str) -> Callable[[AuditReport], str]:
    """What writes `text`, `json`, `sarif`, `junit`, `github` or `markdown`; loads that one alone."""
    if form == "json":
        from sftui.exports.formats_json import as_json_text

        return as_json_text
    if form == "sarif":
        from sftui.exports.formats_sarif import as_sarif

        return as_sarif
    if form == "junit":
        from sftui.exports.formats_junit import as_junit

        return as_junit
    if form == "github":
        from sftui.exports.formats_github import as_github

        return as_github
    if form == "markdown":
        from sftui.exports.formats_markdown import as_markdown

        return as_markdown
    from sftui.exports.formats_text import as_text

    return as_text
