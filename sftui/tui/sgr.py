"""The sequences that set colours and attributes (SGR), written as changes: what stays from one text to the next is not
said again.

Textual says each text's whole style and takes it back after it (`strip.render_style`): more than half of what a key
costs over SSH. What is written here draws the same cells in fewer bytes. Attributes are turned off as ECMA-48 (8.3.117)
has it.
"""

from __future__ import annotations

import re
import sys
from functools import lru_cache
from typing import NamedTuple

from textual.driver import Driver

from sftui.tui.clusters import in_place

_OFF = {1: 22, 2: 22, 3: 23, 4: 24, 5: 25, 6: 25, 7: 27, 8: 28, 9: 29, 21: 24, 53: 55}
"""What turns each attribute off; bold and dim share one."""
_ON_BLANKS = frozenset((4, 5, 6, 7, 9, 21, 53))
"""Attributes that are seen on a blank."""
_PART = re.compile(r"\x1b\[([\d;]*)m|(\n(?=\x1b)|\x1b\[[\d;]*H)|([^\x1b]+|\x1b)")
"""A style, a move of the cursor, or text; of any other sequence what begins it and the text after that."""


class Sgr(NamedTuple):
    """Attributes that are on, and the parameters of both colours, empty for the terminal's own."""

    on: frozenset[int] = frozenset()
    text: str = ""
    ground: str = ""


PLAIN = Sgr()


def changes_only(written: str, before: Sgr = PLAIN) -> tuple[str, Sgr]:
    """The same drawing in fewer bytes, where `before` is what holds ahead of it; and what holds after it."""
    now = wanted = before
    parts: list[str] = []
    for style, move, text in _PART.findall(written):
        if move:
            parts.append(move)
        elif text:
            there = _on_blanks(now, wanted) if text.isspace() else wanted
            if there != now:
                parts.append(_change(now, there))
                now = there
            parts.append(in_place(text))
        else:
            wanted = _after(wanted, style)
    if wanted != now:
        parts.append(_change(now, wanted))
    return "".join(parts), wanted


def writing_changes(driver: type[Driver]) -> type[Driver]:
    """The driver, writing styles as changes."""
    if sys.platform == "win32":
        return driver  # there Textual writes in chunks that may end within a sequence

    class ChangesDriver(driver):  # type: ignore[valid-type, misc]
        style = PLAIN

        def write(self, data: str) -> None:
            shorter, self.style = changes_only(data, self.style)
            super().write(shorter)

    return ChangesDriver


def _on_blanks(now: Sgr, wanted: Sgr) -> Sgr:
    """What blanks need of a style: their ground, and attributes that are drawn on them."""
    if (now.on | wanted.on) & _ON_BLANKS:
        return wanted
    return now._replace(ground=wanted.ground)


@lru_cache(4096)
def _after(style: Sgr, parameters: str) -> Sgr:
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
def _change(now: Sgr, wanted: Sgr) -> str:
    """The shorter of two ways: from `now`, or from nothing."""
    off = {_OFF[attribute] for attribute in now.on - wanted.on}
    kept = {attribute for attribute in now.on & wanted.on if _OFF[attribute] not in off}
    change = [*map(str, sorted(off)), *map(str, sorted(wanted.on - kept))]
    if wanted.text != now.text:
        change.append(wanted.text or "39")
    if wanted.ground != now.ground:
        change.append(wanted.ground or "49")
    anew = ["" if wanted == PLAIN else "0", *map(str, sorted(wanted.on)), wanted.text, wanted.ground]
    whole = ";".join(part for part in anew if part)
    return f"\x1b[{min(';'.join(change), whole, key=len)}m"
