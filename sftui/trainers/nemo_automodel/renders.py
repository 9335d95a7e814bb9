"""The texts that NeMo Automodel renders of a chat: the whole, and what its masks are found by.

Source: nemo-automodel 0.7.0, components/datasets/llm/formatting_utils.py (format_chat_template and the masks it
builds), agent_chat.py (_truncate_messages_to_fit), _transformers/tokenization/nemo_auto_tokenizer.py
(apply_chat_template, _remap_system_role).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace

from sftui.errors import RecipeError, TemplateError
from sftui.model import NOWHERE, Conversation, Kind, Message, Part, RenderedText
from sftui.recipe import Recipe, Render
from sftui.templates import ChatTemplate
from sftui.trainers.base import Toolbox, pick_template, to_render
from sftui.trainers.nemo_automodel import NemoOptions
from sftui.trainers.nemo_automodel.formats import PLAIN
from sftui.trainers.pieces import spanned
from sftui.values import value_class

TAG = re.compile(r"\{%-?\s+generation\s+-?%\}")
"""GENERATION_REGEX: a tag without spaces around its name is none to NeMo Automodel."""
NO_SYSTEM = "System role not supported"
THINKS = "enable_thinking"


@value_class
class Renders(RenderedText):
    """The whole chat, with the texts beside it whose ids are compared with its own.

    `prefixes` are (k, the first k messages); `opened` (k, those with the generation prompt, in each mode of thinking);
    `quiet` (k, the whole with the reasoning of message k cleared). `answers` are the numbers of the assistant's
    messages. All numbers count `sent`: of which message of the conversation each message is that the template got.
    `tagged`: the mask is that of the generation tags.
    """

    prefixes: tuple[tuple[int, str], ...] = ()
    opened: tuple[tuple[int, tuple[str, ...]], ...] = ()
    quiet: tuple[tuple[int, str], ...] = ()
    answers: tuple[int, ...] = ()
    sent: tuple[int, ...] = ()
    tagged: bool = False

    @property
    def beside(self) -> Iterator[str]:
        """Every text beside the whole."""
        for _, text in (*self.prefixes, *self.quiet):
            yield text
        for _, texts in self.opened:
            yield from texts


@dataclass(frozen=True, slots=True)
class _RenderJob:
    """One conversation under one template: how a part of its messages is rendered."""

    conversation: Conversation
    template: ChatTemplate
    options: Render
    tools: Toolbox
    wrapped: bool

    def of(
        self,
        messages: Sequence[Message],
        *,
        prompt: bool = False,
        spans: bool = False,
        kwargs: Mapping[str, object] | None = None,
    ) -> RenderedText:
        """Messages as apply_chat_template renders them; with `prompt` the generation prompt behind them (`prompt`)."""
        if not messages:
            raise TemplateError(
                "NeMo Automodel renders what comes before the first answer, but nothing does",
                why="transformers does not render an empty conversation",
                fix="begin with a user message, or use a template with {% generation %} tags",
            )
        system = [i for i, message in enumerate(messages) if message.data.get("role") == "system"]
        if not self.wrapped or not system:
            return self._text(messages, prompt, spans, kwargs)
        if len(system) > 1:
            raise TemplateError(
                "NeMo Automodel stops at this row: it has several system messages",
                why="its tokenizer class accepts only one (ValueError: System role appeared in multiple messages)",
                fix="join them, or load the tokenizer with plain transformers (set own.tokenizer_backend)",
            )
        try:
            return self._text(messages, prompt, spans, kwargs)
        except TemplateError as error:
            if NO_SYSTEM not in error.what:
                raise
        places, remapped = _without_system(messages, system[0])
        return _renumbered(self._text(remapped, prompt, spans, kwargs), places)

    def _text(
        self, messages: Sequence[Message], prompt: bool, spans: bool, kwargs: Mapping[str, object] | None
    ) -> RenderedText:
        options = self.options if kwargs is None else replace(self.options, kwargs={**self.options.kwargs, **kwargs})
        return to_render()(
            replace(self.conversation, messages=tuple(messages)),
            self.template,
            special_tokens=self.tools.special_tokens,
            options=options,
            prompt_messages=len(messages) if prompt else None,
            spans=spans,
        )


def _renumbered(rendered: RenderedText, places: Sequence[int]) -> RenderedText:
    """The same where its messages are some of a row's, each at its place there."""
    moved = (
        span if span.message == NOWHERE else span._replace(message=places[span.message]) for span in rendered.spans
    )
    return replace(rendered, spans=tuple(moved))


def _without_system(messages: Sequence[Message], at: int) -> tuple[list[int], list[Message]]:
    """The messages with the system's text at the head of the first question, and which message each of them is."""
    text, found, places = messages[at].data.get("content", ""), list[Message](), list[int]()
    merged = False
    for i, message in enumerate(messages):
        if i == at:
            continue
        if not merged and message.data.get("role") == "user":
            joined = {**message.data, "content": f"{text}\n{message.data['content']}"}
            message, merged = replace(message, data=joined), True
        found.append(message)
        places.append(i)
    if not merged:
        found.insert(0, Message({"role": "user", "content": text}, messages[at].origin))
        places.insert(0, at)
    return places, found


def wrapped(recipe: Recipe) -> bool:
    """Whether the tokenizer is of NeMo's wrapper class."""
    return NemoOptions.of(recipe).tokenizer_backend != "transformers_auto"


def plainly(conversation: Conversation, tools: Toolbox) -> bool:
    """Whether a row is a prompt and an answer without a template."""
    return conversation.kind is Kind.STRINGS or (not tools.templates and PLAIN in conversation.extra)


def plain(conversation: Conversation) -> RenderedText:
    """Prompt and answer, one behind the other."""
    if conversation.kind is Kind.STRINGS:
        prompt, answer = conversation.prompt or "", conversation.completion or ""
        owners = (0, 1)
    else:
        prompt, answer = conversation.extra[PLAIN]
        owners = (max(len(conversation.messages) - 2, 0), len(conversation.messages) - 1)
    runs = ((text, owner, Part.CONTENT) for text, owner in zip((prompt, answer), owners))
    return replace(spanned(runs), prompt=prompt)


def chat(conversation: Conversation, recipe: Recipe, tools: Toolbox, options: Render, *, spans: bool) -> Renders:
    """A chat with all that its masks ask for; TemplateError where one of these texts cannot be rendered."""
    own = NemoOptions.of(recipe)
    draw = _RenderJob(conversation, pick_template(conversation, tools), options, tools, wrapped(recipe))
    sent = [*range(len(conversation.messages))]
    messages = list(conversation.messages)
    most = recipe.length.max or own.seq_length
    if own.dataset == "agent" and own.truncate_history and most is not None:
        sent = _fitting(draw, messages, most, tools)
        messages = [conversation.messages[i] for i in sent]
    whole = draw.of(messages, spans=spans)
    if len(sent) < len(conversation.messages):
        note = f"truncate_history drops {len(conversation.messages) - len(sent)} messages"
        whole = replace(_renumbered(whole, sent), notes=(*whole.notes, note))
    answers = tuple(i for i, message in enumerate(messages) if message.data.get("role") == "assistant")
    # tags are looked for in the default template of several, whichever a row is rendered by
    default = tools.default_template
    tagged = default is not None and TAG.search(default.source) is not None
    prefixes: dict[int, str] = {}
    if not tagged and recipe.mask.rule != "all":
        if not answers:
            raise RecipeError(
                "NeMo Automodel stops at this row: it has no answer",
                why="AssertionError: At least one assistant message is required when answer_only_loss_mask=True",
                fix="drop the row, or end it with an answer",
            )
        for k in sorted({k for number in answers for k in (number, number + 1) if k < len(messages)}):
            prefixes[k] = draw.of(messages[:k]).text
    opened: dict[int, tuple[str, ...]] = {}
    if own.mask_generation_prompt and own.dataset in ("chat", "agent"):
        for number in answers:
            try:
                if number not in prefixes:
                    prefixes[number] = draw.of(messages[:number]).text
                opened[number] = tuple(_prompts(draw, messages[:number], tools))
            except TemplateError:
                if number:
                    raise
    quiet: list[tuple[int, str]] = []
    if own.mask_reasoning_content and own.dataset in ("chat", "agent"):
        for number in answers:
            if messages[number].data.get("reasoning_content"):
                silent = replace(messages[number], data={**messages[number].data, "reasoning_content": ""})
                quiet.append((number, draw.of([*messages[:number], silent, *messages[number + 1 :]]).text))
    return Renders(
        **{part.name: getattr(whole, part.name) for part in fields(whole)},
        prefixes=tuple(sorted(prefixes.items())),
        opened=tuple(opened.items()),
        quiet=tuple(quiet),
        answers=answers,
        sent=tuple(sent),
        tagged=tagged,
    )


def _prompts(draw: _RenderJob, messages: Sequence[Message], tools: Toolbox) -> Iterator[str]:
    """The generation prompt behind messages, in both modes of thinking where a template reads of them."""
    thinks = any(THINKS in template.source for template in tools.templates.values())
    for kwargs in ({THINKS: True}, {THINKS: False}) if thinks else (None,):
        yield draw.of(messages, prompt=True, kwargs=kwargs).prompt or ""


def _fitting(draw: _RenderJob, messages: Sequence[Message], most: int, tools: Toolbox) -> list[int]:
    """The messages that are left where the oldest exchanges go until a row fits (_truncate_messages_to_fit)."""

    def fits(some: Sequence[int]) -> bool:
        return len(tools.tokenizer.ids(draw.of([messages[i] for i in some]).text)) <= most

    every = [*range(len(messages))]
    if fits(every):
        return every
    first = next((i for i, message in enumerate(messages) if message.role != "system"), len(messages))
    system, bounds = every[:first], [i for i in every[first:] if messages[i].role == "user"]
    for bound in bounds:
        if fits([*system, *every[bound:]]):
            return [*system, *every[bound:]]
    return [*system, *every[bounds[-1] :]] if bounds else every
