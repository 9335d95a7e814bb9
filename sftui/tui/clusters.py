"""Columns that hold next to words whose cells terminals count differently (`text.prose`).

Of an Indic letter with its vowel sign Rich makes one cell, wcwidth two, and terminals either. So a run with such words
is given as many cells as the widest takes: `padded` makes Rich count that, and `in_place` blanks these cells, draws the
words into them and then goes to where they end, wherever the words themselves have left the cursor.
"""

from __future__ import annotations

from rich.cells import cell_len

from sftui.text import cell_width, has_clusters, split_at


def padded(text: str) -> str:
    """A run of cells, with blanks after it until Rich counts what `cell_width` does."""
    return text + " " * (cell_width(text) - cell_len(text)) if has_clusters(text) else text


def in_place(text: str) -> str:
    """What is written of a text so that the cursor stands behind as many cells as Rich counts (DECSC, DECRC, CUF).

    Where a dialog over the words has cut them by Rich's count, only what surely fits is drawn.
    """
    cells = cell_len(text) if has_clusters(text) else 0
    if not cells:
        return text
    # Some terminals forget the place once they have gone back to it, so it is kept twice.
    return f"\x1b7{' ' * cells}\x1b8\x1b7{split_at(text.rstrip(' '), cells)[0]}\x1b8\x1b[{cells}C"
