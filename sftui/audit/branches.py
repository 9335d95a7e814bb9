"""Which way a row takes through its chat template."""

from __future__ import annotations

from sftui.model import Part, Rendered
from sftui.text import visible

LONGEST = 200
UNKNOWN = "not known who wrote what"
_OWN = (Part.BOS, Part.HEADER, Part.TERMINATOR, Part.SEPARATOR, Part.INJECTED)


def branch_of(rendered: Rendered) -> str:
    """The texts that the template itself wrote, each once in the order it first came, clipped and safe to draw.

    Rows that differ only in content and in the number of turns share a branch; a default system prompt, tools or
    an added think block make another one.
    """
    if not rendered.exact or not rendered.spans:
        return UNKNOWN
    texts = dict.fromkeys(rendered.text[span.start : span.end] for span in rendered.spans if span.part in _OWN)
    texts.pop("", None)
    whole = "".join(texts)
    if whole.isascii():  # each character is shown by itself
        whole = whole[:LONGEST]
    return visible(whole)[:LONGEST] if texts else "content alone"
