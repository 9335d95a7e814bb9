"""Finding tokens of one row: by text across token borders, by pattern, by token, by id.

A pattern can be made to take forever ((a+)+b), and Python's `re` cannot be stopped. So patterns
are short, repetition inside repetition is refused, and only the first `TEXT_LIMIT` characters
are searched; the search itself runs in the worker process, never in the interface. Alternations
that overlap, like (a|a)*b, are not recognised.
"""

from __future__ import annotations

import re

from sftui.errors import SftuiError
from sftui.model import NOWHERE, Inspection, Tokens, TokenText
from sftui.text import visible, visible_token

KINDS = ("text", "regex", "token", "id")
PATTERN_LIMIT = 500
TEXT_LIMIT = 1_000_000
_NESTED = re.compile(r"\((?:[^()\\]|\\.)*(?:[*+]|\{\d+,\d*\})(?:[^()\\]|\\.)*\)(?:[*+]|\{\d+,\d*\})")


def check_query(kind: str, query: str) -> None:
    """SftuiError where the query cannot be searched for; cheap enough for every keystroke."""
    if kind not in KINDS:
        raise SftuiError(f"unknown kind of search {kind!r}", fix=f"use one of {', '.join(KINDS)}")
    if not query:
        raise SftuiError("nothing to search for", fix="type what to look for")
    if kind == "regex":
        _pattern(query)
    if kind == "id":
        _ids(query)


def find(inspection: Inspection, kind: str, query: str) -> tuple[int, ...]:
    """The tokens that matches touch, in order; empty where there is none or no tokens yet.

    kind `text`: a stretch of the rendered text, upper and lower case apart only where the query
    has an upper-case letter. `regex`: a Python pattern on the rendered text. `token`: a token
    exactly as shown (␣what), as in the vocabulary, or as its own text. `id`: one id, or several
    in a row.
    """
    check_query(kind, query)
    tokens = inspection.tokens
    if tokens is None:
        return ()
    if kind == "id":
        return _find_ids(tokens.input_ids, _ids(query))
    if kind == "token":
        return _find_token(inspection.token_text, query)
    if inspection.rendered is None:
        return ()
    return _tokens_at(tokens, find_text(inspection.rendered.text, kind, query))


def find_text(text: str, kind: str, query: str) -> tuple[tuple[int, int], ...]:
    """The spans in `text` of a `text` or `regex` query; empty matches are left out."""
    check_query(kind, query)
    if kind == "regex":
        pattern = _pattern(query)
    else:
        flags = re.IGNORECASE if query == query.lower() else 0
        pattern = re.compile(re.escape(query), flags)
    return tuple(m.span() for m in pattern.finditer(text[:TEXT_LIMIT]) if m.end() > m.start())


def _pattern(query: str) -> re.Pattern[str]:
    if len(query) > PATTERN_LIMIT:
        raise SftuiError(f"the pattern is longer than {PATTERN_LIMIT} characters", fix="search for less")
    if _NESTED.search(query):
        raise SftuiError(
            "the pattern repeats a repetition", why="such a pattern can take forever", fix="write it without (…+)+"
        )
    try:
        return re.compile(query)
    except (re.error, RecursionError, OverflowError) as error:
        raise SftuiError(
            "the pattern cannot be read", why=visible(str(error)), fix="search for text instead, or escape it"
        ) from None


def _ids(query: str) -> tuple[int, ...]:
    words = query.replace(",", " ").split()
    if not words or not all(word.isdecimal() and len(word) < 10 for word in words):
        raise SftuiError(f"{visible(query)!r} is no token id", fix="type a number, or several with spaces between")
    return tuple(map(int, words))


def _find_ids(ids: tuple[int, ...], wanted: tuple[int, ...]) -> tuple[int, ...]:
    size = len(wanted)
    starts = (i for i, value in enumerate(ids) if value == wanted[0] and ids[i : i + size] == wanted)
    return tuple(sorted({i for start in starts for i in range(start, start + size)}))


def _find_token(text: TokenText, query: str) -> tuple[int, ...]:
    literal = query.encode("utf-8", "surrogatepass")
    answers: dict[tuple[bytes, str], bool] = {}
    found = []
    for i, key in enumerate(zip(text.surfaces, text.pieces)):
        hit = answers.get(key)
        if hit is None:
            surface, piece = key
            hit = answers[key] = query == piece or surface == literal or visible_token(surface, piece) == query
        if hit:
            found.append(i)
    return tuple(found)


def _tokens_at(tokens: Tokens, spans: tuple[tuple[int, int], ...]) -> tuple[int, ...]:
    """The tokens that stand for any character of the spans (sorted, apart from each other)."""
    found: list[int] = []
    at = 0
    for i, (start, end) in enumerate(zip(tokens.starts, tokens.ends)):
        if start == NOWHERE or end <= start:
            continue
        while at < len(spans) and spans[at][1] <= start:
            at += 1
        if at == len(spans):
            break
        if spans[at][0] < end:
            found.append(i)
    return tuple(found)
