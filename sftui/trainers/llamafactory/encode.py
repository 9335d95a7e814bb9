"""Messages → pieces, as LLaMA-Factory's templates put them together: one list a turn.

Source: llamafactory 0.9.5, data/template.py (`_encode` of Template and Llama2Template,
ReasoningTemplate.encode_multiturn) and data/formatter.py. Even turns are sources (system, question
and the header of the answer), odd turns are targets (the answer and its end).

Who wrote what stands in spans: a HEADER of an assistant's message is the end of the source before
it; whatever else belongs to an assistant's message is target (see `stretches`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from typing import NamedTuple

from sftui.errors import TemplateError
from sftui.model import NOWHERE, Message, Part, Piece, RenderedText, Span, Tokens
from sftui.recipe import Recipe, Tokenize
from sftui.runs import Stretch, as_runs, together
from sftui.trainers.llamafactory import tools as tool_formats
from sftui.trainers.llamafactory.registry import BOS, PLACEHOLDER, Slots, SlotTemplate, TemplateKind, TokenSlot, stop
from sftui.trainers.pieces import Run, after_content, said

MEDIA = ("<image>", "<video>", "<audio>")
"""What stands for media in a text."""


@dataclass(frozen=True, slots=True)
class Specials:
    """The tokenizer's own tokens: text and id of each, None where it has none; `named` has the
    ids of those that the template inserts by their name."""

    bos: tuple[str, int] | None
    eos: tuple[str, int] | None
    named: Mapping[str, int]


class _Slot(NamedTuple):
    """A piece of a turn: what stands before and behind the content, of which a slot without one has only `before`. The
    messages of runs count from the turn's own."""

    before: str
    behind: str
    filled: bool
    part: Part
    ids: tuple[int, ...] | None
    before_runs: tuple[Run, ...]
    behind_runs: tuple[Run, ...] = ()


class _TextDraft:
    """The rendered text while it is written; `spans` None: nobody asks who wrote what."""

    def __init__(self, spans: bool) -> None:
        self.pieces: list[Piece] = []
        self.spans: list[Span] | None = [] if spans else None
        self._length = 0

    def add(self, slot: _Slot, content: Sequence[Run], owner: int, trained: bool) -> None:
        """One piece of the turn of message `owner`."""
        if slot.filled:
            text = f"{slot.before}{said(content)}{slot.behind}"
        else:
            text, content = slot.before, ()
        if not text:
            return
        self.pieces.append(Piece(text, owner, slot.part, trained, False, slot.ids))
        if self.spans is not None:
            for runs, first in ((slot.before_runs, owner), (content, 0), (slot.behind_runs, owner)):
                for run in runs:
                    if run.text:
                        end = self._length + len(run.text)
                        self.spans.append(Span(self._length, end, first + run.message, run.part))
                        self._length = end


class Writer:
    """Puts rows into the slots of one template; what stands around contents is worked out once for a kind of turn."""

    def __init__(self, template: SlotTemplate, special: Specials, recipe: Recipe) -> None:
        self.template, self._special = template, special
        append = "always" if template.efficient_eos else recipe.tokenize.append_eos
        self._by_piece = replace(recipe.tokenize, mode="per_part", append_eos=append)
        self._whole = replace(recipe.tokenize, mode="whole")
        kwargs = recipe.render.kwargs
        self._thinks = kwargs.get("enable_thinking", True)
        self._once = recipe.loss.objective != "sft"  # encode_oneturn: the last answer alone is one
        self._discards = (self._once or recipe.mask.turns == "last") and not kwargs.get("preserve_thinking")
        self._known: dict[tuple[str, bool, bool], tuple[_Slot, ...]] = {}
        self._terminator = template.terminator
        default = recipe.render.inject_system
        self._default = template.default_system if default is None else default
        thought = template.empty_thought
        self._trained_thought = _Slot(thought, "", False, Part.INJECTED, None, (Run(thought, 0, Part.INJECTED),))
        self._thought = _Slot(thought, "", False, Part.HEADER, None, (Run(thought, 1, Part.HEADER),))

    def options(self, rendered: RenderedText) -> Tokenize:
        """How a row is encoded."""
        return self._whole if rendered.pieces is None else self._by_piece

    def render(
        self,
        messages: Sequence[Message],
        tools: str | None,
        today: Callable[[], date],
        *,
        spans: bool = True,
        prompted: str | None = None,
    ) -> RenderedText:
        """The text and pieces of alternating messages, of which the first may be the system's.

        The message of a piece is the one in whose turn it stands. `spans=False` leaves out who wrote what. `prompted`:
        the answer by which the prompt is written, where that is another than its own (`ReasoningTemplate`).
        TemplateError for what stops LLaMA-Factory's run: content that is no text, tools that are no JSON.
        """
        template = self.template
        system = messages[0] if messages and messages[0].role == "system" else None
        first = 1 if system is not None else 0
        turns = messages[first:]
        contents = [_text_of(message) for message in turns]
        if template.media:
            _refuse_media(contents, template)
        thoughts: dict[int, bool] = {}
        if template.reasons:
            contents, thoughts = self._thinking(contents, prompted)
        plain = template.kind is not TemplateKind.LLAMA2
        paper, last = _TextDraft(spans), len(messages) - 1
        for number, message in enumerate(turns):
            index, trained, role = first + number, number % 2 == 1, message.role
            content = _worded(contents[number], role, template)
            if plain and role == "user":
                # the number of the round is also filled in, wherever the first {{idx}} stands
                content = content.replace("{{idx}}", str(number // 2), 1)
            runs = [Run(content, index, Part.CONTENT)]
            lead: list[Run] = []
            if number == 0:
                for slot in self._prefix:
                    paper.add(slot, (), NOWHERE, False)
                lead = self._lead(system, tools, today)
            if lead and plain:
                owner = lead[0].message
                for slot in self._frame("system", False, 0 <= owner < last):
                    paper.add(slot, lead, owner, False)
            elif lead and role == "user":
                runs = [*self._inline(lead), *runs]
            if thoughts.get(number):
                paper.add(self._trained_thought, (), index, True)
            for slot in self._frame(role, trained, index < last):
                paper.add(slot, runs, index, trained)
            if thoughts.get(number + 1) is False:
                paper.add(self._thought, (), index, False)
        text = "".join([piece.text for piece in paper.pieces])
        return RenderedText(text=text, spans=tuple(paper.spans or ()), pieces=tuple(paper.pieces))

    @cached_property
    def _prefix(self) -> tuple[_Slot, ...]:
        """What begins every row; TemplateError, which refuses the row, where a token of it is missing."""
        return self._of(self.template.prefix, Part.BOS)

    def _lead(self, system: Message | None, tools: str | None, today: Callable[[], date]) -> list[Run]:
        """The system text, the row's own or the default, and the list of tools."""
        lead: list[Run] = []
        if system is not None:
            lead = [Run(_text_of(system), 0, Part.CONTENT)]
        elif self._default:
            lead = [Run(self._default, NOWHERE, Part.INJECTED)]
        if tools:
            listing = tool_formats.listed(tools, self.template, today())
            lead.append(Run(listing, 0 if system is not None else NOWHERE, Part.INJECTED))
        return lead

    def _frame(self, role: str, trained: bool, answered: bool) -> tuple[_Slot, ...]:
        """The slots of a turn; `answered`: a message stands behind it."""
        key = (role, trained, answered)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._around(getattr(self.template, role), trained, answered and not trained)
        return found

    def _around(self, slots: Slots, trained: bool, answered: bool) -> tuple[_Slot, ...]:
        found: list[_Slot] = []
        seen = False
        for slot in slots:
            if isinstance(slot, TokenSlot):
                found.append(self._inserted(slot, trained, answered and seen))
            elif not isinstance(slot, str):
                begins = slot is BOS
                found += self._of((slot,), Part.BOS if begins else Part.TERMINATOR)
                seen = seen or not begins
            elif PLACEHOLDER in slot:
                before, _, behind = slot.partition(PLACEHOLDER)
                part = Part.INJECTED if trained else Part.HEADER
                tail = self._tail(behind, trained, answered, ended=False)
                found.append(_Slot(before, behind, True, part, None, (Run(before, 0, part),), tail))
            elif slot:
                tail = self._tail(slot, trained, answered, ended=seen)
                found.append(_Slot(slot, "", False, tail[0].part, None, tail))
        return tuple(found)

    def _inserted(self, slot: TokenSlot, trained: bool, answers: bool) -> _Slot:
        """A token that is inserted by its name; `answers`: it opens the answer of the next message."""
        text = slot.token
        token = self._special.named.get(text)
        if token is None:
            raise TemplateError(
                f"the template {self.template.name} inserts the token {text}, which the tokenizer does not have",
                why="LLaMA-Factory puts None among the ids, and stops when it batches them",
                fix=f"use another template, or set add_special_tokens: {text}",
            )
        part = Part.SEPARATOR if trained else Part.HEADER
        return _Slot(text, "", False, part, (token,), (Run(text, int(answers), part),))

    def _of(self, slots: Slots, part: Part) -> tuple[_Slot, ...]:
        """Slots without content that are of one part."""
        found: list[_Slot] = []
        for slot in slots:
            if isinstance(slot, TokenSlot):
                found.append(self._inserted(slot, False, False))
                continue
            text, token = slot if isinstance(slot, str) else "", None
            if not isinstance(slot, str):
                text, token = (self._special.bos if slot is BOS else self._special.eos) or ("", None)
            ids = None if token is None else (token,)
            found.append(_Slot(text, "", False, part, ids, (Run(text, 0, part),)))
        return tuple(found)

    def _inline(self, content: Sequence[Run]) -> list[Run]:
        """The system's first slot as part of the question; any others are left out."""
        slot = self.template.system[0]
        if not isinstance(slot, str):
            return []
        head, _, tail = slot.partition(PLACEHOLDER)
        owner = content[0].message
        return [run for run in (Run(head, owner, Part.HEADER), *content, Run(tail, owner, Part.SEPARATOR)) if run.text]

    def _thinking(self, contents: list[str], prompted: str | None) -> tuple[list[str], dict[int, bool]]:
        """Contents without the thoughts that go, and for each answer whether an empty thought is trained.

        An answer that is not in the result gets none. `enable_thinking` None adds to the prompt but removes nothing.
        """
        found, last = list(contents), len(contents) - 1
        for i in range(1, len(found), 2):
            for goes in (self._thinks is False and (i == last or not self._once), self._discards and i < last - 1):
                found[i] = _without_thought(found[i], self.template) if goes else found[i]
        opening, closing = (word.strip() for word in self.template.thought)
        asked = {i: found[i] for i in ([last] if self._discards or self._once else range(1, len(found), 2))}
        if prompted is not None and not self._thinks:
            asked[last] = prompted if self._thinks is None else _without_thought(prompted, self.template)
        return found, {i: bool(self._thinks) for i, text in asked.items() if not (opening in text or closing in text)}

    def _tail(self, text: str, trained: bool, answered: bool, *, ended: bool) -> tuple[Run, ...]:
        """What follows the content: rest, terminator, white space, and the header of the answer."""
        part = Part.SEPARATOR if trained else Part.HEADER
        return after_content(text, "" if ended else self._terminator, 0, int(answered), part)


def turn_count(messages: Sequence[Message]) -> int:
    """How many turns there are: every message but the system's."""
    return len(messages) - (1 if messages and messages[0].role == "system" else 0)


def stretches(tokens: Tokens, messages: Sequence[Message]) -> list[Stretch]:
    """The tokens by turn (in place of message; even ones are sources, odd ones targets) and, where placed, by part."""
    first = 1 if messages and messages[0].role == "system" else 0
    if not tokens.placed:
        by_piece = as_runs(tokens.messages).runs()
        return [(start, end, max(owner - first, 0), Part.CONTENT) for start, end, owner in by_piece]

    def turn(owner: int, part: Part) -> int:
        number = max(owner - first, 0)
        return number - 1 if part is Part.HEADER and number % 2 else number

    return [
        (start, end, turn(owner, part), part) for start, end, owner, part in together(tokens.messages, tokens.parts)
    ]


def _text_of(message: Message) -> str:
    content = message.content
    if not isinstance(content, str):
        what = f"the content of {message.origin or 'a message'} is not text"
        raise stop(TemplateError, what, f": Expected a string, got {str(content)[:40]}")
    return content


def _refuse_media(contents: Sequence[str], template: SlotTemplate) -> None:
    """TemplateError where a text holds what stands for media, under a template that puts them there; sftui reads none
    (data/mm_plugin.py, `_validate_messages`)."""
    for place in MEDIA:
        if any(place in content for content in contents):
            raise TemplateError(
                f"the row contains {place} placeholders but lists no matching file",
                why=f"with the template {template.name} LLaMA-Factory counts both, and stops if they differ",
                fix=f"write {place} differently, or use a text-only model's template",
            )


def _worded(content: str, role: str, template: SlotTemplate) -> str:
    if role != "function":
        return content
    plain = template.kind is TemplateKind.LLAMA2  # it does not look for thoughts around the call
    return tool_formats.call_text(
        content, template.function_format, None if plain else template.thought, None if plain else template.tool_call
    )


def _without_thought(text: str, template: SlotTemplate) -> str:
    opening, closing = map(re.escape, template.thought)
    return re.sub(f"{opening}(.*?){closing}", "", text, flags=re.DOTALL).lstrip("\n")
