"""Terminals without the glyphs: every line is written in ASCII instead, at the one place where it leaves for them."""

from __future__ import annotations

from collections.abc import Mapping

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from sftui.text import cell_width

STAND_INS = {
    "█": "#", "▓": "%", "▒": "+", "░": ":", "·": ".", "✂": "x", "┊": "|", "⟦": "[", "⟧": "]", "×": "x",
    "✗": "X", "✓": "v", "≈": "~", "▸": ">", "●": "o", "•": "*", "…": "~", "‹": "<", "›": ">",
    "␣": "_", "⏎": "$", "⇥": ">", "␡": "^", "▌": "#", "─": "-", "━": "=", "│": "|", "┃": "|", "╌": "-",
    "▁": "_", "▂": ".", "▃": "-", "▄": "=", "▅": "+", "▆": "*", "▇": "%", "⟨": "<", "⟩": ">",
    "→": ">", "←": "<", "↑": "^", "↓": "v", "↔": "-", "⇧": "^", "⌫": "<", "−": "-", "≠": "!", "≤": "<", "≥": ">",
    "–": "-", "—": "-", "‘": "'", "’": "'", "“": '"', "”": '"', "«": "<", "»": ">", "µ": "u", "|": "|",
    **dict.fromkeys("╭╮╰╯┌┐└┘├┤┬┴┼┏┓┗┛┣┫┳┻╋", "+"),
    **{chr(0x2400 + code): "^" for code in range(0x20)},
}  # fmt: skip
"""What stands for each glyph that sftui draws, in one cell as they."""
UNSHOWN = "?"
"""Stands in each cell of a character that ASCII does not have."""


class _AsciiTable(dict[int, str]):
    """Filled as characters are met."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        shown = char if char.isascii() else STAND_INS.get(char, UNSHOWN * cell_width(char))
        self[code] = shown
        return shown


class Ascii(LineFilter):
    """Writes lines in ASCII; no cell moves."""

    def __init__(self) -> None:
        super().__init__()
        self._table = _AsciiTable()

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [
            segment
            if segment.text.isascii()
            else segment._replace(text=segment.text.translate(self._table)[: segment.cell_length])
            for segment in segments
        ]


BARE_TERMINALS = ("linux", "dumb")
"""Values of TERM whose fonts have none of the glyphs."""
COERCED = ("C.UTF-8", "C.utf8", "UTF-8")
"""What Python sets LC_CTYPE to where the locale is C, or none that is installed (PEP 538)."""


def ascii_only(chosen: str | None, environment: Mapping[str, str]) -> bool:
    """Whether lines are to be written in ASCII: as `chosen` (`ascii`, `unicode`), else where the locale names another
    charset than UTF-8 (`C`, `POSIX`, `de_DE.ISO-8859-1`) or the terminal has no such font. A locale that is not set
    says nothing: containers have none, and terminals that can."""
    if chosen is not None:
        return chosen == "ascii"
    if environment.get("TERM") in BARE_TERMINALS:
        return True
    language, kind = environment.get("LANG", ""), environment.get("LC_CTYPE", "")
    if kind in COERCED and language:
        kind = ""  # Python's own, where the system does not know the language or it is C
    named = environment.get("LC_ALL") or kind or language
    return bool(named) and "utf8" not in named.lower().replace("-", "")
