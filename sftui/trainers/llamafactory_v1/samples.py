"""A row of the v1 engine as its samples: one for each answer that is trained, up to it.

Source: llamafactory 0.9.6.dev0 (ff6d4d1), v1/core/rendering/ (escape.py, format.py, rendering.py). Special tokens that
stand in the texts of a row are broken up with U+200B, message by message and part by part; `enable_thinking` says
whether the sample's own answer has a thought, and nothing else is handed to the template.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sftui.conversations.detected import type_word
from sftui.errors import TemplateError
from sftui.model import Conversation, Kind, Message, RenderedText, Span
from sftui.recipe import Recipe
from sftui.templates import ChatTemplate
from sftui.templates import render as render_one
from sftui.text import clip, visible
from sftui.trainers.llamafactory_v1.formats import SAMPLE, STOPS, V1Sample, called

if TYPE_CHECKING:
    from sftui.tokens import LoadedTokenizer
    from sftui.trainers.base import Toolbox

BREAK = "\u200b"
ESCAPED = "special tokens in the text are broken up with U+200B, so they are encoded as ordinary text"
MEDIA = "images, videos and audio are left out: without a processor, templates do not receive them"
_TEXTS, _MEDIA = ("text", "reasoning"), ("image_url", "video_url", "audio_url")


def sample_of(conversation: Conversation) -> V1Sample:
    """The row as the engine has it."""
    sample: V1Sample = conversation.extra[SAMPLE]
    return sample


def rendered(
    conversation: Conversation, template: ChatTemplate, recipe: Recipe, tools: Toolbox, *, spans: bool
) -> RenderedText:
    """The texts of all samples of a row; TemplateError where the engine stops at one."""
    sample = sample_of(conversation)
    writer = _SampleWriter(tools.tokenizer)
    given = writer.tools(sample.tools)
    made: list[RenderedText] = []
    ready: list[dict[str, Any]] = []
    options = recipe.render if recipe.render.inject_system is None else replace(recipe.render, inject_system=None)
    for length in sample.lengths:
        ready += [writer.message(one, len(ready) + i) for i, one in enumerate(sample.messages[len(ready) : length])]
        if not ready or ready[-1]["role"] != "assistant":
            why = "no answer in the row is trained; otherwise the row would end at the last trained answer"
            raise stop("the last message is not from the assistant", why)
        kwargs, messages = {"enable_thinking": bool(ready[-1].get("reasoning_content"))}, tuple(map(Message, ready))
        one = Conversation(Kind.CHAT, conversation.format, messages, tools=given, template_kwargs=kwargs)
        special = tools.special_tokens
        made.append(
            render_one(one, template, special_tokens=special, options=options, prompt_messages=length - 1, spans=spans)
        )
    return _joined(made, tuple(dict.fromkeys(writer.notes)))


def stop(what: str, why: str = "", fix: str = "fix or remove the row") -> TemplateError:
    """The error for a row at which the engine stops."""
    return TemplateError(what, why=f"{why}: {STOPS}" if why else STOPS, fix=fix)


def _joined(made: Sequence[RenderedText], notes: tuple[str, ...]) -> RenderedText:
    if len(made) == 1:
        return replace(made[0], notes=(*made[0].notes, *notes))
    spans: list[Span] = []
    at = 0
    for text in made:
        spans += [span._replace(start=span.start + at, end=span.end + at) for span in text.spans]
        at += len(text.text)
    return RenderedText(
        text="".join(rendered_text.text for rendered_text in made),
        spans=tuple(spans),
        exact=all(one.exact for one in made),
        notes=tuple(dict.fromkeys((*(note for one in made for note in one.notes), *notes))),
        samples=tuple(made),
    )


class _SampleWriter:
    """The messages of a row as templates get them, what stands in them of special tokens broken up."""

    def __init__(self, tokenizer: LoadedTokenizer) -> None:
        self._tokenizer = tokenizer
        self._special = _special_texts(tokenizer)
        self.notes: list[str] = []

    def tools(self, text: Any) -> list[Any] | None:
        """The tools of a row, of their JSON text."""
        if not text:
            return None
        if not isinstance(text, str):
            raise stop(f"the tools are {type_word(text)}, not JSON text")
        try:
            read = json.loads(self._broken_up(text))
        except (ValueError, RecursionError):
            raise stop("the tools are not JSON") from None
        return read if isinstance(read, list) else [read]

    def message(self, message: Mapping[str, Any], number: int) -> dict[str, Any]:
        """One message: its texts joined, its thoughts joined, its calls listed."""
        where, content = f"messages[{number}]", message.get("content")
        if "content" not in message or content is None:
            raise stop(f"{where} has no content")
        if not isinstance(content, (list, tuple)) and content not in ("", {}):
            what = f"the content of {where} is {type_word(content)}, not a list of parts"
            raise stop(what, fix='write [{"type": "text", "value": …}], or use a converter')
        said = {"text": "", "reasoning": ""}
        calls: list[dict[str, Any]] = []
        for part in content:
            if not isinstance(part, Mapping) or "type" not in part:
                raise stop(f"a part in {where} has no type")
            kind = part["type"]
            if kind in (*_TEXTS, "tool_call") and "value" not in part:
                raise stop(f"a part in {where} has no value")
            if kind in _TEXTS:
                value = part["value"]
                if not isinstance(value, str):
                    raise stop(f"the {kind} in {where} is {type_word(value)}, not text")
                said[kind] += self._broken_up(value)
            elif kind == "tool_call":
                calls.append(self._call(part["value"], where))
            elif kind in _MEDIA:
                self.notes.append(MEDIA)
        made: dict[str, Any] = {"role": message["role"], "content": said["text"]}
        if calls:
            made["tool_calls"] = calls
        if said["reasoning"]:
            made["reasoning_content"] = said["reasoning"]
        return made

    def _call(self, value: Any, where: str) -> dict[str, Any]:
        try:
            call = json.loads(value)
        except (ValueError, TypeError, RecursionError):
            shown = visible(clip(str(value), 40))
            raise stop(f"a tool call in {where} is not JSON: {shown}") from None
        if not isinstance(call, dict) or not {"name", "arguments"} <= call.keys():
            raise stop(f"a tool call in {where} is not an object with `name` and `arguments`")
        arguments = call["arguments"]
        if isinstance(arguments, dict):
            arguments = {key: self._broken_up(one) if isinstance(one, str) else one for key, one in arguments.items()}
        return called({**call, "arguments": arguments})

    def _broken_up(self, text: str) -> str:
        """A text in which no special token stands; TemplateError where the tokenizer reads one all the same."""
        if not any(special in text for special in self._special):
            return text
        broken = text
        for special in self._special:
            if special in broken:
                broken = broken.replace(special, special[0] + BREAK + special[1:])
        if not self._tokenizer.special_ids.isdisjoint(self._tokenizer.ids(broken)):
            raise stop("a special token in the text cannot be broken up", "the tokenizer still recognises one")
        self.notes.append(ESCAPED)
        return broken


@lru_cache(maxsize=4)
def _special_texts(tokenizer: LoadedTokenizer) -> tuple[str, ...]:
    """The special tokens of more than one character, the longest first."""
    held = (piece for _, piece in sorted(tokenizer.special_pieces.items()))
    return tuple(sorted((piece for piece in held if len(piece) >= 2), key=len, reverse=True))
