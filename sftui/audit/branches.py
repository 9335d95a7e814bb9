"""Which way a row takes through its chat template."""

from __future__ import annotations

from functools import lru_cache

from sftui.model import Part, Rendered
from sftui.text import visible

LONGEST = 200
UNKNOWN = "not known who wrote what"
_SHORT = 2_000


def branch_of(rendered: Rendered) -> str:
    """The texts that the template itself wrote, each once in the order it first came, clipped and safe to draw.

    Rows that differ only in content and in the number of turns share a branch; a default system prompt, tools or
    an added think block make another one.
    """
    if not rendered.exact or not rendered.spans:
        return UNKNOWN
    text = rendered.text
    content, pad = Part.CONTENT, Part.PAD
    own = dict.fromkeys(
        [text[start:end] for start, end, _, part in rendered.spans if part is not content and part is not pad]
    )
    own.pop("", None)
    whole = "".join(own)
    if not own:
        return "content alone"
    return _short_branch(whole) if len(whole) < _SHORT else _branch(whole)


def _branch(whole: str) -> str:
    if whole.isascii():  # each character is shown by itself
        whole = whole[:LONGEST]
    return visible(whole)[:LONGEST]


_short_branch = lru_cache(maxsize=1000)(_branch)
