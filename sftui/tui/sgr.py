"""The sequences that set colours and attributes (SGR), written as changes: what stays from one text to the next is not
said again.

Textual says each text's whole style and takes it back after it (`strip.render_style`): more than half of what a key
costs over SSH. What is written here draws the same cells in fewer bytes. Attributes are turned off as ECMA-48 (8.3.117)
has it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from rich.cells import cell_len

from sftui.text import cell_width, has_clusters, split_at

_OFF = {1: 22, 2: 22, 3: 23, 4: 24, 5: 25, 6: 25, 7: 27, 8: 28, 9: 29, 21: 24, 53: 55}
"""What turns each attribute off; bold and dim share one."""
_ON_BLANKS = frozenset((4, 5, 6, 7, 9, 21, 53))
"""Attributes that are seen on a blank."""


class Sgr(NamedTuple):
    """Attributes that are on, and the parameters of both colours, empty for the terminal's own."""

    on: frozenset[int] = frozenset()
    text: str = ""
    ground: str = ""


PLAIN = Sgr()


def on_blanks(now: Sgr, wanted: Sgr) -> Sgr:
    """What blanks need of a style: their ground, and attributes that are drawn on them."""
    if (now.on | wanted.on) & _ON_BLANKS:
        return wanted
    return now._replace(ground=wanted.ground)


@lru_cache(4096)
def seen_on_blanks(style: Sgr) -> Sgr:
    """What of a style is seen where nothing but blanks is drawn in it."""
    return style if style.on & _ON_BLANKS else Sgr(ground=style.ground)


@lru_cache(4096)
def followed_by(style: Sgr, parameters: str) -> Sgr:
    """The style that a sequence makes of another."""
    on, text, ground = set(style.on), style.text, style.ground
    codes = iter(parameters.split(";"))
    for code in codes:
        number = int(code or 0)
        if number == 0:
            on, text, ground = set(), "", ""
        elif number in _OFF:
            on.add(number)
        elif number in _OFF.values():
            on = {attribute for attribute in on if _OFF[attribute] != number}
        elif number in (38, 48):
            kind = next(codes, "")
            colour = ";".join((code, kind, *(next(codes, "") for _ in range(3 if kind == "2" else 1))))
            text, ground = (colour, ground) if number == 38 else (text, colour)
        elif number in (39, 49):
            text, ground = ("", ground) if number == 39 else (text, "")
        elif 30 <= number <= 37 or 90 <= number <= 97:
            text = code
        elif 40 <= number <= 47 or 100 <= number <= 107:
            ground = code
    return Sgr(frozenset(on), text, ground)


@lru_cache(4096)
def change(now: Sgr, wanted: Sgr) -> str:
    """The shorter of two ways: from `now`, or from nothing."""
    off = {_OFF[attribute] for attribute in now.on - wanted.on}
    kept = {attribute for attribute in now.on & wanted.on if _OFF[attribute] not in off}
    codes = [*map(str, sorted(off)), *map(str, sorted(wanted.on - kept))]
    if wanted.text != now.text:
        codes.append(wanted.text or "39")
    if wanted.ground != now.ground:
        codes.append(wanted.ground or "49")
    anew = ["" if wanted == PLAIN else "0", *map(str, sorted(wanted.on)), wanted.text, wanted.ground]
    whole = ";".join(part for part in anew if part)
    return f"\x1b[{min(';'.join(codes), whole, key=len)}m"


# — columns that hold next to words whose cells terminals count differently (`text.prose`) —
#
# Of an Indic letter with its vowel sign Rich makes one cell, wcwidth two, and terminals either. So a run with such
# words is given as many cells as the widest takes: `padded` makes Rich count that, and `in_place` blanks these cells,
# draws the words into them and then goes to where they end, wherever the words themselves have left the cursor.


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
