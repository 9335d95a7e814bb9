"""The one choke point through which data becomes something a terminal may show.

Dataset text is hostile: it may hold escape sequences, bidi overrides, zero-width and other
invisible characters, lone surrogates, and glyphs whose width terminals disagree on. `visible`
turns all of them into stand-ins, so that what it returns can be drawn as it is:

- control characters become their pictures (ESC → ␛, NUL → ␀), tab ⇥, newline ⏎;
- everything invisible, unassigned or of disputed width becomes its code point, `‹200B›`;
- bytes that are no whole character become `‹E2 9C›`.

The width of the result is the number of cells that Rich, wcwidth and common terminals agree on. `prose` keeps the
clusters of scripts and emoji whose cells they count differently; `cell_width` is then what the widest of them counts.
East Asian "ambiguous" characters count one cell, as terminals do outside legacy CJK locales.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

NEWLINE = "⏎"
SPACE = "␣"
TAB = "⇥"
ELLIPSIS = "…"
EMPTY = "‹›"
"""A token that stands for nothing at all."""

MAX_MARKS = 2
"""Combining marks shown on one character; more would climb over the lines above."""

# Nonspacing marks that take no cell anywhere. Spacing marks (Mc) and viramas are left out:
# Rich and terminals count Indic clusters differently (style-anchors T11).
_MARK_RANGES = (
    (0x0300, 0x034E),
    (0x0350, 0x036F),
    (0x0483, 0x0487),
    (0x0591, 0x05C7),
    (0x0610, 0x061A),
    (0x064B, 0x065F),
    (0x0670, 0x0670),
    (0x06D6, 0x06ED),
    (0x0900, 0x0DFF),
    (0x0E31, 0x0E4E),
)
# Characters that join with a neighbour or show nothing (jamo, fillers, regional indicators, skin
# tones, blank braille), and those that one Unicode version or library counts as one cell and
# another as two (kana voicing marks, hexagrams, counting rods).
_JOINING_RANGES = (
    (0x0E33, 0x0E33),
    (0x0EB3, 0x0EB3),
    (0x115F, 0x11FF),
    (0x2630, 0x2637),
    (0x268A, 0x268F),
    (0x2800, 0x2800),
    (0x3164, 0x3164),
    (0x4DC0, 0x4DFF),
    (0xA960, 0xA97F),
    (0xD7B0, 0xD7FF),
    (0xFFA0, 0xFFA0),
    (0x1D300, 0x1D37F),
    (0x1F1E6, 0x1F1FF),
    (0x1F3FB, 0x1F3FF),
)
# Scripts whose letters carry marks of disputed width: Indic, Thai, Lao, Tibetan, Myanmar, Khmer and their neighbours.
_CLUSTERED_SCRIPTS = (
    (0x0900, 0x109F),
    (0x1700, 0x17D3),
    (0x1900, 0x1AAF),
    (0x1B00, 0x1BFF),
    (0x1C00, 0x1C4F),
    (0xA800, 0xA8FF),
    (0xA930, 0xA95F),
    (0xA980, 0xABFF),
)
_SYLLABLE_MARKS = 4
"""Marks on one letter of these that are shown; more would climb over the lines above."""
_EMOJI = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u21aa\u231a-\u23ff\u25aa-\u262f\u2638-\u2689\u2690-\u27bf\u2934-\u2b55"
    "\u3030\u303d\u3297\u3299\U0001f000-\U0001f1e5\U0001f200-\U0001f3fa\U0001f400-\U0001faff"
)
_AM = "\u0e33\u0eb3"
_TONES = "\U0001f3fb-\U0001f3ff"
_FLAGS = "\U0001f1e6-\U0001f1ff"
_MAYBE_MARKED = re.compile(f"[{chr(_MARK_RANGES[0][0])}-{chr(_MARK_RANGES[-1][1])}]")
_MAYBE_CLUSTERED = re.compile(f"[\u0900-\u1cff\u200c\u200d\ufe0f\ua800-\uabff{_TONES}{_FLAGS}]")
# What takes more or less than its own kind in some terminal: joiners and the later jamo of a syllable nothing, a
# selector makes its character wide, and half a flag may be as wide as one.
_WIDEST = {
    "\u200c": 0,
    "\u200d": 0,
    "\ufe0f": 1,
    **dict.fromkeys(map(chr, range(0x1160, 0x1200)), 0),
    **dict.fromkeys(map(chr, range(0x1F1E6, 0x1F200)), 2),
}
_SHOWN = frozenset(
    ["Lu", "Ll", "Lt", "Lm", "Lo", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So"]
)
_VIRAMA = 9


def visible(text: str, *, newline: str = NEWLINE) -> str:
    """`text` with everything a terminal would act on, hide or misplace made visible.

    Spaces stay spaces. `newline` stands for each line feed; pass "\\n" to keep the lines. The
    result holds no control character (but those of `newline`), encodes to UTF-8, and comes out
    of a second `visible` unchanged.
    """
    if newline != NEWLINE and "\n" in text:
        return newline.join(visible(line) for line in text.split("\n"))
    if text.isascii() and text.isprintable():
        return text
    shown = text.translate(_STAND_INS)
    return _marked().sub(_steady_marks, shown) if _MAYBE_MARKED.search(shown) else shown


def prose(text: str, *, newline: str = NEWLINE) -> str:
    """`visible` for words that are read and not taken apart: letters with their vowel signs, viramas and joiners, jamo
    and emoji of several characters stay as they are.

    Terminals count the cells of such clusters differently. Only where columns are held in place whatever they count
    (`sftui.tui.sgr`), or where nothing stands behind it, may it be drawn; `cell_width` of it is the most cells
    that any takes.
    """
    if not has_clusters(text):
        return visible(text, newline=newline)
    parts = enumerate(_clusters().split(text))
    return "".join(part if odd % 2 else visible(part, newline=newline) for odd, part in parts)


def has_clusters(text: str) -> bool:
    """Whether a text holds characters, never those of `visible`, that terminals give different cells."""
    return bool(not text.isascii() and _MAYBE_CLUSTERED.search(text) and _clustered().search(text))


def visible_token(surface: bytes, piece: str) -> str:
    """What a token cell shows: the bytes the token stands for, every space and newline visible.

    ␣ space, ⏎ newline, ⇥ tab, `‹E2 9C›` bytes of half characters. An empty `surface` (unknown)
    shows the vocabulary's `piece`, and nothing at all `‹›`. Literal ␣ ⏎ ⇥ in the data show as code points, so that a
    cell never says two things.
    """
    if not surface:
        return visible(piece).replace(" ", SPACE) or EMPTY
    try:
        return _token_text(surface.decode())
    except UnicodeDecodeError:
        parts = _HALVES.split(surface.decode("utf-8", "surrogateescape"))
        return "".join(_half_text(p) if odd % 2 else _token_text(p) for odd, p in enumerate(parts))


def cell_width(text: str) -> int:
    """How many terminal cells `text` takes; `text` is what `visible` returned."""
    if text.isascii():
        return len(text)
    return sum(map(_WIDTHS.__getitem__, text))


def clip(text: str, width: int) -> str:
    """`text` (already visible) cut to at most `width` cells, ending in … where something is cut."""
    if width <= 0:
        return ""
    if cell_width(text) <= width:
        return text
    head, _ = split_at(text, width - 1)
    return head.rstrip("\u200c\u200d") + ELLIPSIS


def fit(text: str, width: int, *, right: bool = False) -> str:
    """`text` (already visible) clipped or padded with spaces to exactly `width` cells."""
    text = clip(text, width)
    gap = " " * (width - cell_width(text))
    return gap + text if right else text + gap


def visible_blanks(text: str) -> str:
    """`prose` for text in lines: a line's own end is a ⏎, blanks at its ends and several in a row are ␣."""
    return _BLANKS.sub(lambda found: SPACE * len(found[0]), prose(text, newline=f"{NEWLINE}\n"))


def readable(text: str) -> int:
    """Characters that repeated searches in a text may read together, below a second of work: the work of a row stays
    linear in its length."""
    return max(200_000_000, 4 * len(text))


def share(part: int, whole: int, decimals: int = 0) -> str:
    """A percentage that never rounds something to nothing, or a part to all: `<1 %`, `23 %`, `>99 %`."""
    if not whole:
        return f"{0:.{decimals}f} %"
    percent, least = round(100 * part / whole, decimals), 10**-decimals
    if part and not percent:
        return f"<{least:.{decimals}f} %"
    return f">{100 - least:.{decimals}f} %" if part < whole and percent >= 100 else f"{percent:.{decimals}f} %"


def many(number: int, noun: str) -> str:
    """So many of something: `1 row`, `1,234 rows`."""
    return f"{number:,} {noun}{'s' if number != 1 else ''}"


def has_words(text: str, wanted: str) -> bool:
    """Whether a text has every word of what is looked for, letter case aside."""
    text = text.casefold()
    return all(word in text for word in wanted.casefold().split())


def split_at(text: str, width: int) -> tuple[str, str]:
    """`text` (already visible) in two: the longest head of at most `width` cells, and the rest."""
    if text.isascii():
        return text[:width], text[width:]
    used = 0
    for i, char in enumerate(text):
        used += _WIDTHS[char]
        if used > width:
            while i and (text[i - 1] == "\u200d" or has_clusters(text[i])):
                i -= 1  # a cluster is not torn
            return text[:i], text[i:]
    return text, ""


def _token_text(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text.replace(" ", SPACE)
    parts = enumerate(_LITERAL.split(text))
    return "".join(_code_point(part) if odd % 2 else visible(part).replace(" ", SPACE) for odd, part in parts)


def _half_text(escaped: str) -> str:
    return "‹" + " ".join(f"{ord(c) - 0xDC00:02X}" for c in escaped) + "›"


def _code_point(char: str) -> str:
    return f"‹{ord(char):04X}›"


def _within(code: int, ranges: tuple[tuple[int, int], ...]) -> bool:
    return any(low <= code <= high for low, high in ranges)


def _is_mark(code: int) -> bool:
    char = chr(code)
    return unicodedata.category(char) == "Mn" and unicodedata.combining(char) != _VIRAMA


def _stand_in(code: int) -> str:
    """What stands for one character: itself, its control picture, or its code point."""
    char = chr(code)
    if code < 0x20:
        return chr(0x2400 + code)
    if _within(code, _MARK_RANGES) and _is_mark(code):
        return char
    if unicodedata.category(char) in _SHOWN and not _within(code, _JOINING_RANGES):
        return char
    return _code_point(char)


def _steady_marks(match: re.Match[str]) -> str:
    base, marks = match.group(1), match.group(2)
    keep = MAX_MARKS if base.isalpha() else 0
    return base + marks[:keep] + "".join(map(_code_point, marks[keep:]))


@cache
def _marked() -> re.Pattern[str]:
    """Any run of marks with the character before it; built when first needed (5 ms)."""
    marks = "".join(re.escape(chr(c)) for low, high in _MARK_RANGES for c in range(low, high + 1) if _is_mark(c))
    return re.compile(f"([^{marks}]?)([{marks}]+)")


@cache
def _script_characters(*categories: str) -> str:
    scripts = (chr(code) for low, high in _CLUSTERED_SCRIPTS for code in range(low, high + 1))
    return "".join(char for char in scripts if unicodedata.category(char) in categories and char not in _AM)


@cache
def _clusters() -> re.Pattern[str]:
    """What `prose` keeps, in one group; built when first needed (7 ms)."""
    letters, marks = _script_characters("Lo"), _script_characters("Mn", "Mc") + _AM
    syllable = f"[{letters}][{marks}]{{1,{_SYLLABLE_MARKS}}}(?:[\u200c\u200d](?=[{letters}]))?"
    arabic = "[\u0620-\u064a\u066e-\u06d3\u0750-\u077f]"
    jamo = "[\u1100-\u115e]+[\u1161-\u11a7]+[\u11a8-\u11ff]*"
    emoji = f"[{_EMOJI}](?:\ufe0f|[{_TONES}])?"
    joined = f"{emoji}(?:\u200d{emoji})+|[{_EMOJI}](?:\ufe0f|[{_TONES}])|[0-9#*]\ufe0f\u20e3"
    return re.compile(f"({syllable}|{arabic}\u200c(?={arabic})|{jamo}|{joined}|(?:[{_FLAGS}]{{2}})+)")


@cache
def _clustered() -> re.Pattern[str]:
    marks = "".join(char for char in _script_characters("Mn", "Mc") if _stand_in(ord(char)) != char)
    return re.compile(f"[{marks}{_AM}\u1160-\u11ff\u200c\u200d\ufe0f{_TONES}{_FLAGS}]")


class _StandIns(dict[int, str]):
    """Filled as characters are met, so that only the first of each is looked up in Unicode."""

    def __missing__(self, code: int) -> str:
        shown = self[code] = _stand_in(code)
        return shown


class _Widths(dict[str, int]):
    def __missing__(self, char: str) -> int:
        flat = unicodedata.category(char) in ("Mn", "Me")
        width = self[char] = 0 if flat else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        return width


_STAND_INS = _StandIns({0x20: " ", 0x0A: NEWLINE, 0x09: TAB, 0x7F: "␡"})
_WIDTHS = _Widths(_WIDEST)
_HALVES = re.compile("([\udc80-\udcff]+)")
_BLANKS = re.compile(f"^ +| +(?={NEWLINE}?$)|  +", re.MULTILINE)
_LITERAL = re.compile(f"([{SPACE}{NEWLINE}{TAB}])")
