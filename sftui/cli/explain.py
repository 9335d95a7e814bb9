"""`sftui explain`: what a code means and what repairs it."""

from __future__ import annotations

import click


def explain_code(code: str | None) -> int:
    """The page of one code, or the list of all with their severity and title."""
    from sftui.findings import CODES, SCOPE_OF, explain

    if code is not None:
        click.echo(explain(code), nl=False)
        return 0
    for one in CODES.values():
        click.echo(f"{one.code}  {one.severity.value:<7}  {SCOPE_OF[one.code]:<7}  {one.title}")
    return 0
