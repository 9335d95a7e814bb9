"""Values with how many rows have each, as bars."""

from __future__ import annotations

from sftui.text import share
from sftui.views.figures import bar

BAR = 12
"""Cells of the longest bar."""


def facet_bar(count: int, most: int, rows: int) -> str:
    """Rows with a value: their number, their share of all rows, and a bar beside that of the most frequent one."""
    return f"{count:>9,} {share(count, rows):>5} {bar(count, most, BAR):<{BAR}}"
