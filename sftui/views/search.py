"""What may be searched for: text, a pattern, a token, an id.

A pattern can be made to take forever, and Python's `re` cannot be stopped. So patterns are short, repetition inside
repetition is refused, and the worker searches (`workspace.search`), never the interface. Alternations that overlap are
not recognised.
"""

from __future__ import annotations

import re

from sftui.errors import SftuiError
from sftui.text import visible

KINDS = ("text", "regex", "token", "id")
PATTERN_LIMIT = 500
_NESTED = re.compile(r"\((?:[^()\\]|\\.)*(?:[*+]|\{\d+,\d*\})(?:[^()\\]|\\.)*\)(?:[*+]|\{\d+,\d*\})")


def check_query(kind: str, query: str) -> None:
    """SftuiError where the query cannot be searched for; cheap enough for every keystroke."""
    if kind not in KINDS:
        raise SftuiError(f"unknown kind of search {kind!r}", fix=f"use one of {', '.join(KINDS)}")
    if not query:
        raise SftuiError("nothing to search for", fix="type what to look for")
    words = query.replace(",", " ").split()
    if kind == "id" and not (words and all(word.isdecimal() and len(word) < 10 for word in words)):
        raise SftuiError(f"{visible(query)!r} is not a token id", fix="type a number, or several separated by spaces")
    if kind != "regex":
        return
    if len(query) > PATTERN_LIMIT:
        raise SftuiError(f"the pattern is longer than {PATTERN_LIMIT} characters", fix="search for something shorter")
    if _NESTED.search(query):
        raise SftuiError(
            "the pattern repeats a repetition", why="such a pattern can run forever", fix="write it without (…+)+"
        )
    try:
        re.compile(query)
    except (re.error, RecursionError, OverflowError) as error:
        raise SftuiError(
            "the pattern is not a valid regular expression",
            why=visible(str(error)),
            fix="search for text instead, or escape it",
        ) from None
