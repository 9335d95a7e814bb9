"""text.py: whatever the data holds, what comes out can be drawn, and its width is known."""

from __future__ import annotations

import re
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from wcwidth import wcswidth

from sftui.text import cell_width, clip, fit, many, prose, split_at, visible, visible_token

HOSTILE = [
    ("\x1b[0mowned\x07", "␛[0mowned␇"),
    ("\x1b[2J", "␛[2J"),
    ("\x9b31m", "‹009B›31m"),
    ("a\u202eb", "a‹202E›b"),
    ("\u2066x\u2069", "‹2066›x‹2069›"),
    ("a\u200bb\u200d", "a‹200B›b‹200D›"),
    ("\ud800", "‹D800›"),
    ("\x00", "␀"),
    ("\ufffe\U0001ffff", "‹FFFE›‹1FFFF›"),
    ("\U000e0041", "‹E0041›"),
    ("❤\ufe0f", "❤‹FE0F›"),
    ("\u00a0\u3000", "‹00A0›‹3000›"),
    ("\r\n\t", "␍⏎⇥"),
    ("\x7f", "␡"),
    ("\ufeff", "‹FEFF›"),
    ("\u2028", "‹2028›"),
    ("[/INST] [@click=app.quit]", "[/INST] [@click=app.quit]"),
    ("\ue000", "‹E000›"),
]


@pytest.mark.parametrize(("text", "shown"), HOSTILE)
def test_t2_hostile_characters_are_stood_in_for(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_t11_clusters_of_disputed_width_are_taken_apart() -> None:
    assert visible("👨\u200d👩") == "👨‹200D›👩"
    assert visible("क्षि") == "क‹094D›ष‹093F›"
    assert visible("🇹🇷") == "‹1F1F9›‹1F1F7›"
    assert visible("👍🏽") == "👍‹1F3FD›"
    assert visible("e\u0301") == "e\u0301"
    assert visible("\u0301e") == "‹0301›e"
    assert visible("a" + "\u0301" * 4) == "a\u0301\u0301‹0301›‹0301›"


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("मुझे भारत की राजधानी बताओ", 23),
        ("हिन्दी क्\u200dष", 8),
        ("தமிழ் மொழி", 9),
        ("বাংলা", 5),
        ("ភាសាខ្មែរ", 8),
        ("မြန်မာ", 5),
        ("ภาษาไทย น้ำ", 10),
        ("السَّلامُ عليكم", 12),
        ("می\u200cخواهم", 7),
        (unicodedata.normalize("NFD", "한글 말"), 7),
        ("한글 말", 7),
        ("👨\u200d👩\u200d👧 ok", 9),
        ("👩\u200d❤\ufe0f\u200d👨", 6),
        ("🇹🇷👍🏽❤\ufe0f1\ufe0f\u20e3", 12),
        (unicodedata.normalize("NFD", "Tiếng Việt"), 10),
    ],
)
def test_words_of_any_script_are_read_as_they_stand(text: str, cells: int) -> None:
    assert prose(text) == text
    assert cell_width(text) == cells >= max(cell_len(text), wcswidth(text))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\u093fक", "‹093F›क"),
        ("क" + "\u094d" * 6, "क" + "\u094d" * 4 + "‹094D›‹094D›"),
        ("a\u200db\u200d", "a‹200D›b‹200D›"),
        ("a\u200cb x\ufe0f", "a‹200C›b x‹FE0F›"),
        ("👍\u200d\u200d👍", "👍‹200D›‹200D›👍"),
        ("🏽 🇹", "‹1F3FD› ‹1F1F9›"),
        ("कि\x1b[31m\u202e", "कि␛[31m‹202E›"),
        ("\u1161\u11a8", "‹1161›‹11A8›"),
    ],
)
def test_what_hides_or_stands_alone_shows_in_words_too(text: str, shown: str) -> None:
    assert prose(text) == shown


CLUSTERED = (
    st.characters(min_codepoint=0x0900, max_codepoint=0x1CFF)
    | st.sampled_from("किन्दीก้ำ\u1112\u1161\u11ab👨❤🇹🏽1\u200c\u200d\ufe0f\u20e3م")
    | st.characters(exclude_categories=())
)


@given(st.text(CLUSTERED, max_size=40))
def test_words_are_safe_for_any_text(text: str) -> None:
    shown = prose(text)
    shown.encode()
    assert not any(
        unicodedata.category(c) in ("Cc", "Cf", "Cs", "Cn", "Co", "Zl", "Zp") for c in shown if c not in "\u200c\u200d"
    )
    assert cell_width(shown) >= cell_len(shown), "blanks make them equal"
    assert len(visible(text)) >= len(shown)
    if shown == visible(text):
        assert cell_width(shown) == cell_len(shown) == wcswidth(shown)


def test_newlines_stay_lines_where_asked() -> None:
    assert visible("a\nb\x1b", newline="\n") == "a\nb␛"
    assert visible("a\nb", newline="⏎\n") == "a⏎\nb"


@given(st.text(st.characters(exclude_categories=()), max_size=60))
def test_visible_is_safe_for_any_text(text: str) -> None:
    shown = visible(text)
    shown.encode()
    assert not any(unicodedata.category(c) in ("Cc", "Cf", "Cs", "Cn", "Co", "Zl", "Zp") for c in shown)
    assert visible(shown) == shown
    assert cell_width(shown) == cell_len(shown) == wcswidth(shown)


@pytest.mark.one_of(8)
@pytest.mark.parametrize("part", range(8))
def test_every_character_has_one_width(part: int) -> None:
    for code in range(part, sys.maxunicode + 1, 8):
        shown = visible(chr(code))
        if shown.isascii():
            continue
        assert cell_width(shown) == cell_len(shown) == wcswidth(shown), hex(code)


@given(st.binary(max_size=12))
def test_token_cells_are_safe_for_any_bytes(surface: bytes) -> None:
    shown = visible_token(surface, "piece")
    shown.encode()
    assert not re.search(r"[\x00-\x1f\x7f-\x9f]", shown)
    assert cell_width(shown) == cell_len(shown)


@pytest.mark.parametrize(
    ("surface", "piece", "shown"),
    [
        (b" what", "Ġwhat", "␣what"),
        (b"\n\n", "ĊĊ", "⏎⏎"),
        (b"\t", "ĉ", "⇥"),
        (b"\xe2\x9c", "âľ", "‹E2 9C›"),
        (b" \xe2\x9c", "Ġâľ", "␣‹E2 9C›"),
        ("␣".encode(), "x", "‹2423›"),
        (b"", "<unk>", "<unk>"),
        (b"", "", "‹›"),
        (b"\x1b[31m", "x", "␛[31m"),
        ("中".encode(), "x", "中"),
    ],
)
def test_token_cells(surface: bytes, piece: str, shown: str) -> None:
    assert visible_token(surface, piece) == shown


@given(st.text(max_size=30), st.integers(min_value=-1, max_value=20))
def test_clip_and_fit_never_exceed(text: str, width: int) -> None:
    shown = visible(text)
    assert cell_width(clip(shown, width)) <= max(width, 0)
    assert cell_width(fit(shown, width)) == max(width, 0)
    head, rest = split_at(shown, max(width, 0))
    assert head + rest == shown


def test_clip_marks_what_is_cut() -> None:
    assert clip("abcdef", 4) == "abc…"
    assert clip("中中中", 4) == "中…"
    assert clip("abc", 0) == ""
    assert fit("ab", 4, right=True) == "  ab"


@pytest.mark.parametrize(("number", "told"), [(0, "0 rows"), (1, "1 row"), (2, "2 rows"), (12_345, "12,345 rows")])
def test_so_many_of_something(number: int, told: str) -> None:
    assert many(number, "row") == told
