"""The functions that every row goes through, imported for the first one.

They are not imported before, since a first row is to be shown early; and to say `import` again for each row takes 1 to
2 µs, a tenth of what encoding it costs in all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sftui.model import Conversation, Example, Labels, RenderedText, Tokens
    from sftui.tokens import ToEncode


@cache
def to_convert() -> Callable[..., Conversation]:
    from sftui.conversations.convert import convert

    return convert


@cache
def to_chat() -> Callable[[Conversation], Conversation]:
    from sftui.conversations.convert import as_chat

    return as_chat


@cache
def to_render() -> Callable[..., RenderedText]:
    from sftui.templates.rendering.render import render

    return render


@cache
def to_strip_bos() -> Callable[[RenderedText, str], RenderedText]:
    from sftui.templates.rendering.render import without_bos

    return without_bos


@cache
def to_encode() -> Callable[..., Iterator[ToEncode]]:
    from sftui.tokens.encode import texts_of

    return texts_of


@cache
def to_tokenize() -> Callable[..., Tokens]:
    from sftui.tokens.encode import tokenize

    return tokenize


@cache
def to_label() -> Callable[..., Labels]:
    from sftui.labels import label

    return label


@cache
def to_example() -> Callable[..., Example | None]:
    from sftui.labels import example

    return example
