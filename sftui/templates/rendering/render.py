"""Conversation → Rendered: the text a trainer tokenizes, and whose text each character is."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from sftui.errors import TemplateError
from sftui.model import NOWHERE, Conversation, Kind, Part, RenderedText, Span
from sftui.recipe import Render
from sftui.templates.rendering import limits
from sftui.templates.rendering.spans import attribute
from sftui.templates.rendering.template import ChatTemplate
from sftui.templates.shortcuts.skeletons import RenderRequest, Sighting
from sftui.values import with_fields

Steps = TypeVar("Steps", int, "int | None")


def render(
    conversation: Conversation,
    template: ChatTemplate | None,
    *,
    special_tokens: Mapping[str, str | list[str]],
    options: Render,
    prompt_messages: int | None,
    spans: bool = True,
    now: datetime | None = None,
) -> RenderedText:
    """The rendered text of a conversation, with spans and, where requested, the prompt alone.

    `special_tokens` is what transformers passes to templates (`bos_token`, `eos_token`, …); `prompt_messages` how many
    leading messages make the prompt, None where none is wanted. `spans=False` leaves `spans` empty, for bulk encoding:
    one render instead of about one per message.
    TemplateError for whatever the template refuses, for a chat without a template and for rows that are ids already.
    """
    if conversation.kind is Kind.TEXT:
        text = conversation.text or ""
        return RenderedText(text=text, spans=_whole(text, NOWHERE))
    if conversation.kind is Kind.STRINGS:
        return _strings(conversation, prompt_messages)
    if conversation.kind is Kind.TOKENS:
        raise TemplateError("a row of token ids cannot be rendered", why="it contains no text")
    if template is None:
        raise TemplateError(
            "the conversation needs a chat template, but there is none",
            fix="choose one with --template NAME or --template FILE",
        )
    messages: list[Mapping[str, Any]] = [message.data for message in conversation.messages]
    injected = options.inject_system is not None and not any(message.get("role") == "system" for message in messages)
    if injected:
        messages.insert(0, {"role": "system", "content": options.inject_system})
    request = RenderRequest(
        messages,
        conversation.tools,
        conversation.template_kwargs,
        special_tokens,
        options,
        None if prompt_messages is None else prompt_messages + injected,
        spans,
        injected,
        now or template.now(),
    )
    sighting = template.skeletons.see(request)
    known = sighting.rendered if sighting is not None and not sighting.due else None
    if known is not None and sighting is not None and sighting.complete:
        return known

    def plainly() -> tuple[RenderedText, int | None]:
        if known is not None:
            return _attributed(known, request, template), None
        alone = not request.spans and request.prompt is None
        return _in_full(request, template), template.steps if alone else None

    rendered, _, mismatch = _learning(template, sighting, plainly)
    return rendered if mismatch is None else with_fields(rendered, notes=(*rendered.notes, mismatch))


def without_bos(rendered: RenderedText, bos: str) -> RenderedText:
    """The same without a leading BOS text, as `text.removeprefix(bos_token)` of the tutorials leaves it.

    Text and prompt lose it each on its own; spans and generation spans move along.
    """
    prompt = rendered.prompt.removeprefix(bos) if rendered.prompt is not None else None
    if not bos or not rendered.text.startswith(bos):
        return with_fields(rendered, prompt=prompt)
    cut = len(bos)
    moved = tuple(
        Span(max(span.start - cut, 0), span.end - cut, span.message, span.part)
        for span in rendered.spans
        if span.end > cut
    )
    generation = tuple((max(start - cut, 0), end - cut) for start, end in rendered.generation if end > cut)
    return with_fields(rendered, text=rendered.text[cut:], spans=moved, prompt=prompt, generation=generation)


def render_text(
    request: RenderRequest, template: ChatTemplate, plainly: Callable[[], tuple[str, tuple[tuple[int, int], ...]]]
) -> tuple[str, int]:
    """The text of a chat of which nothing else is needed, and the steps that the template takes for it.

    Put together where the shape of the row is known, else rendered by `plainly`: the same text and steps either way.
    """
    sighting = template.skeletons.see(request)
    if sighting is not None and sighting.rendered is not None and not sighting.due and sighting.steps is not None:
        return sighting.rendered.text, sighting.steps
    rendered, steps, _ = _learning(template, sighting, lambda: (_rendered(template, *plainly()), template.steps))
    return rendered.text, steps


def _learning(
    template: ChatTemplate, sighting: Sighting | None, plainly: Callable[[], tuple[RenderedText, Steps]]
) -> tuple[RenderedText, Steps, str | None]:
    """What a render gives and its steps, of which the shape of the row learns; a sentence where it is not as the row
    was put together."""
    begun = time.process_time()
    try:
        rendered, steps = plainly()
    except TemplateError:
        if sighting is not None:
            template.skeletons.settle(sighting, template, None, 0.0)
        raise
    if sighting is None:
        return rendered, steps, None
    seconds = time.process_time() - begun
    return rendered, steps, template.skeletons.settle(sighting, template, rendered, seconds, steps)


def _text_of(
    some: Sequence[Mapping[str, Any]], request: RenderRequest, template: ChatTemplate, prompt: bool = False
) -> tuple[str, tuple[tuple[int, int], ...]]:
    return template.text(
        some, tools=request.tools, add_generation_prompt=prompt, variables=request.variables, now=request.now
    )


def _rendered(
    template: ChatTemplate, text: str, generation: tuple[tuple[int, int], ...], prompt: str | None = None
) -> RenderedText:
    return RenderedText(
        text=text,
        prompt=prompt,
        generation=generation,
        has_generation_tag=template.has_generation_tag,
        overlapping=template.rendering.masks_overlaps,
    )


def _in_full(request: RenderRequest, template: ChatTemplate) -> RenderedText:
    """What the template itself gives."""
    text, generation = _text_of(request.messages, request, template)
    prompt = None
    if request.prompt is not None:
        prompt = _text_of(request.messages[: request.prompt], request, template, prompt=True)[0]
    rendered = _rendered(template, text, generation, prompt)
    return _attributed(rendered, request, template) if request.spans else rendered


def _attributed(rendered: RenderedText, request: RenderRequest, template: ChatTemplate) -> RenderedText:
    """The same with whose text each character is."""
    worked = 0

    def draw(some: Sequence[Mapping[str, Any]]) -> str | None:
        # Counted in work, not in seconds, so that two runs agree: a template that takes too much gets no proof.
        nonlocal worked
        if worked > limits.SPAN_WORK:
            return None
        try:
            drawn = _text_of(some, request, template)[0]
        except TemplateError:
            drawn = None
        worked += template.steps + len(some) + len(drawn or "") // 100
        return drawn

    found = attribute(
        rendered.text, request.messages, draw, literals=request.literals, bos=request.bos, injected=request.injected
    )
    return with_fields(rendered, spans=found.spans, exact=found.exact, notes=found.notes)


def _strings(conversation: Conversation, prompt_messages: int | None) -> RenderedText:
    prompt, completion = conversation.prompt or "", conversation.completion or ""
    spans = _whole(prompt, 0) + tuple(
        span._replace(start=span.start + len(prompt), end=span.end + len(prompt)) for span in _whole(completion, 1)
    )
    return RenderedText(text=prompt + completion, spans=spans, prompt=prompt if prompt_messages is not None else None)


def _whole(text: str, message: int) -> tuple[Span, ...]:
    return (Span(0, len(text), message, Part.CONTENT),) if text else ()
