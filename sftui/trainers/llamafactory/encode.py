"""Messages → pieces, as LLaMA-Factory's templates put them together: one list a turn.

Source: llamafactory 0.9.5, data/template.py (`_encode` of Template and Llama2Template,
ReasoningTemplate.encode_multiturn) and data/formatter.py. Even turns are sources (system, question
and the header of the answer), odd turns are targets (the answer and its end).

Who wrote what stands in spans: a HEADER of an assistant's message is the end of the source before
it; whatever else belongs to an assistant's message is target (see `turns`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date

from sftui.errors import TemplateError
from sftui.model import NOWHERE, Message, Part, Piece, Rendered, Span
from sftui.runs import Runs, joined, together
from sftui.trainers.llamafactory import tools as tool_formats
from sftui.trainers.llamafactory.registry import BOS, PLACEHOLDER, Kind, Slots, SlotTemplate


@dataclass(frozen=True, slots=True)
class Options:
    """What the config says about rendering: `default_system` None leaves the template's own."""

    default_system: str | None = None
    enable_thinking: bool | None = True
    preserve_thinking: bool = False
    mask_history: bool = False
    today: date = date.min


@dataclass(frozen=True, slots=True)
class Specials:
    """The tokenizer's own tokens: text and id of each, None where it has none."""

    bos: tuple[str, int] | None
    eos: tuple[str, int] | None


@dataclass(frozen=True, slots=True)
class _Run:
    """A stretch of one kind inside a piece."""

    text: str
    message: int
    part: Part


@dataclass(slots=True)
class _Paper:
    """The rendered text while it is written."""

    pieces: list[Piece] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    length: int = 0

    def add(self, runs: Sequence[_Run], trained: bool, ids: tuple[int, ...] | None = None) -> None:
        """One piece made of runs; neighbours of one kind share a span."""
        text = "".join(run.text for run in runs)
        if not text:
            return
        for run in runs:
            end = self.length + len(run.text)
            if run.text:
                self.spans.append(Span(self.length, end, run.message, run.part))
            self.length = end
        self.pieces.append(Piece(text, runs[0].message, runs[0].part, trained, ids=ids))


def render(
    messages: Sequence[Message], tools: str | None, template: SlotTemplate, options: Options, special: Specials
) -> Rendered:
    """The text and pieces of alternating messages, of which the first may be the system's.

    TemplateError for what stops LLaMA-Factory's run: content that is no text, tools that are no JSON.
    """
    system = messages[0] if messages and messages[0].role == "system" else None
    first = 1 if system is not None else 0
    turns = messages[first:]
    contents = [_text_of(message) for message in turns]
    thoughts: dict[int, bool] = {}
    if template.kind is Kind.REASONING:
        contents, thoughts = _thinking(contents, template, options)
    default = template.default_system if options.default_system is None else options.default_system
    writer = _Writer(template, special, len(messages))
    paper = _Paper()
    for number, message in enumerate(turns):
        index, trained = first + number, number % 2 == 1
        runs = [_Run(_worded(contents[number], message.role, template), index, Part.CONTENT)]
        lead: list[_Run] = []
        if number == 0:
            writer.prefix(paper)
            if system is not None:
                lead = [_Run(_text_of(system), 0, Part.CONTENT)]
            elif default:
                lead = [_Run(default, NOWHERE, Part.INJECTED)]
            if tools:
                listing = tool_formats.describe(tools, template.tools_format, options.today)
                lead.append(_Run(listing, 0 if system is not None else NOWHERE, Part.INJECTED))
        if lead and template.kind is not Kind.LLAMA2:
            writer.fill(paper, template.system, lead, lead[0].message, trained=False)
        elif lead and message.role == "user":
            runs = [*writer.inline(template.system, lead), *runs]
        if thoughts.get(number):
            paper.add([_Run("".join(template.thought), index, Part.INJECTED)], True)
        slots = {
            "user": template.user,
            "assistant": template.assistant,
            "observation": template.observation,
            "function": template.function,
        }[message.role]
        if message.role == "user" and template.kind is not Kind.LLAMA2:
            # the number of the round is also filled in, wherever the first {{idx}} stands
            runs = [_Run(run.text.replace("{{idx}}", str(number // 2), 1), run.message, run.part) for run in runs]
        writer.fill(paper, slots, runs, index, trained=trained)
        if thoughts.get(number + 1) is False:
            paper.add([_Run("".join(template.thought), index + 1, Part.HEADER)], False)
    text = "".join(piece.text for piece in paper.pieces)
    return Rendered(text=text, spans=tuple(paper.spans), pieces=tuple(paper.pieces))


class _Writer:
    """Fills the slots of one template."""

    def __init__(self, template: SlotTemplate, special: Specials, count: int) -> None:
        self.template = template
        self.special = special
        self.count = count

    def prefix(self, paper: _Paper) -> None:
        for slot in self.template.prefix:
            if isinstance(slot, str):
                paper.add([_Run(slot, NOWHERE, Part.BOS)], False)
            elif (token := self._token(slot)) is not None:
                paper.add([_Run(token[0], NOWHERE, Part.BOS)], False, (token[1],))

    def fill(self, paper: _Paper, slots: Slots, content: Sequence[_Run], owner: int, *, trained: bool) -> None:
        """The slots around the content; every slot is a piece of its own."""
        seen = False
        for slot in slots:
            if not isinstance(slot, str):
                token = self._token(slot)
                begins = slot is BOS
                if token is not None:
                    paper.add([_Run(token[0], owner, Part.BOS if begins else Part.TERMINATOR)], trained, (token[1],))
                seen = seen or not begins
            elif PLACEHOLDER in slot:
                head, _, tail = slot.partition(PLACEHOLDER)
                lead = Part.INJECTED if trained else Part.HEADER
                paper.add([_Run(head, owner, lead), *content, *self._tail(tail, owner, trained, ended=False)], trained)
            else:
                paper.add(self._tail(slot, owner, trained, ended=seen), trained)

    def inline(self, slots: Slots, content: Sequence[_Run]) -> list[_Run]:
        """The system's first slot as part of the question; any others are left out."""
        slot = slots[0]
        if not isinstance(slot, str):
            return []
        head, _, tail = slot.partition(PLACEHOLDER)
        owner = content[0].message
        return [
            run for run in (_Run(head, owner, Part.HEADER), *content, _Run(tail, owner, Part.SEPARATOR)) if run.text
        ]

    def _tail(self, text: str, owner: int, trained: bool, *, ended: bool) -> list[_Run]:
        """What follows the content: rest, terminator, white space, and the header of the answer."""
        runs: list[_Run] = []
        stop = self.template.terminator
        at = text.find(stop) if stop and not ended else -1
        if at >= 0:
            runs += [
                _Run(text[:at], owner, Part.SEPARATOR if trained else Part.HEADER),
                _Run(stop, owner, Part.TERMINATOR),
            ]
            text = text[at + len(stop) :]
        rest = text.lstrip()
        runs.append(_Run(text[: len(text) - len(rest)], owner, Part.SEPARATOR))
        answer = owner + 1 if not trained and owner >= 0 and owner + 1 < self.count else owner
        runs.append(_Run(rest, answer, Part.SEPARATOR if trained else Part.HEADER))
        return [run for run in runs if run.text]

    def _token(self, slot: object) -> tuple[str, int] | None:
        return self.special.bos if slot is BOS else self.special.eos


def turn_count(messages: Sequence[Message]) -> int:
    """How many turns there are: every message but the system's."""
    return len(messages) - (1 if messages and messages[0].role == "system" else 0)


def turns(owners: Sequence[int], parts: Sequence[Part], messages: Sequence[Message]) -> Runs[int]:
    """The turn of every token: even ones are sources, odd ones targets."""
    first = 1 if messages and messages[0].role == "system" else 0

    def turn(owner: int, part: Part) -> int:
        number = max(owner - first, 0)
        return number - 1 if part is Part.HEADER and number % 2 else number

    return joined((end - start, turn(owner, part)) for start, end, owner, part in together(owners, parts))


def _text_of(message: Message) -> str:
    content = message.content
    if not isinstance(content, str):
        raise TemplateError(
            f"the content of {message.origin or 'a message'} is no text",
            why=f"LLaMA-Factory stops the whole run: Expected a string, got {str(content)[:40]}",
            fix="mend or remove the row",
        )
    return content


def _worded(content: str, role: str, template: SlotTemplate) -> str:
    if role != "function":
        return content
    plain = template.kind is Kind.LLAMA2  # it does not look for thoughts around the call
    return tool_formats.call_text(
        content, template.function_format, None if plain else template.thought, None if plain else template.tool_call
    )


def _thinking(contents: list[str], template: SlotTemplate, options: Options) -> tuple[list[str], dict[int, bool]]:
    """Contents without the thoughts that go, and for each answer whether an empty thought is trained.

    An answer that is not in the result gets none. `enable_thinking` None adds to the prompt but
    removes nothing.
    """
    found = list(contents)
    discard = options.mask_history and not options.preserve_thinking
    if options.enable_thinking is False:
        found[1::2] = [_without_thought(text, template) for text in found[1::2]]
    if discard:
        for i in range(1, len(found) - 2, 2):
            found[i] = _without_thought(found[i], template)
    opening, closing = (word.strip() for word in template.thought)
    answers = [len(found) - 1] if discard else range(1, len(found), 2)
    return found, {
        i: bool(options.enable_thinking) for i in answers if opening not in found[i] and closing not in found[i]
    }


def _without_thought(text: str, template: SlotTemplate) -> str:
    opening, closing = map(re.escape, template.thought)
    return re.sub(f"{opening}(.*?){closing}", "", text, flags=re.DOTALL).lstrip("\n")


__all__ = ["Options", "Specials", "render", "turn_count", "turns"]
