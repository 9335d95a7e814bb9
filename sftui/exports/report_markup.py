"""Text and tables as HTML; the one place where something of the data becomes markup."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from sftui.text import visible


def safe(text: str) -> str:
    """Text for an element or a quoted attribute: visible, then escaped."""
    return escape(visible(text), quote=True)


def table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]], *, plain: int = 1) -> str:
    """A table whose first cell of a row is its header; the first `plain` columns are words, the others figures."""
    head = "".join(f'<th scope="col"{_kind(i, plain)}>{safe(one)}</th>' for i, one in enumerate(heads))
    body = "".join(
        "<tr>"
        + "".join(
            f'<th scope="row">{safe(cell)}</th>' if i == 0 else f"<td{_kind(i, plain)}>{safe(cell)}</td>"
            for i, cell in enumerate(row)
        )
        + "</tr>\n"
        for row in rows
    )
    top = f"<table>\n<caption>{safe(caption)}</caption>\n<thead><tr>{head}</tr></thead>"
    return f"{top}\n<tbody>\n{body}</tbody>\n</table>\n"


def _kind(column: int, plain: int) -> str:
    return "" if column < plain else ' class="n"'
