"""Where a turn's content stands among the tokens, found as Axolotl finds it: by rendering a dummy in its place.

Source: axolotl 0.19.0, prompt_strategies/chat_template.py (find_turn, _find_turn_from_text,
_find_turn_from_tokens) and the same method of 0.18.0. 0.19 renders the whole conversation with two
dummies and compares characters; 0.18, and 0.19 for slow tokenizers, renders the messages so far
with one dummy and compares tokens, so that content which begins or ends like the dummy loses tokens.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sftui.bound import OverBound
from sftui.model import Tokens
from sftui.recipe import Render
from sftui.templates import ChatTemplate
from sftui.templates.rendering.render import render_text
from sftui.templates.rendering.template import Spans, prepare_messages
from sftui.templates.shortcuts.skeletons import RenderRequest
from sftui.tokens import LoadedTokenizer

DUMMIES = ("[[dummy_message]]", "zzdummymessagezz")
DUMMY_REASONING = "[[dummy_reasoning]]"
NOT_FOUND = (-1, -1)

WORK = 2_500_000
"""Steps of the template, messages, characters by the hundred (and those that are encoded again), that all renders for
the turns of one row may take together: each turn renders the whole row twice, so they grow with its square."""

Turn = Mapping[str, Any]
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Locator:
    """One rendered and tokenized conversation in which turns are looked for."""

    turns: tuple[Turn, ...]
    tools: Any
    template: ChatTemplate
    special_tokens: Mapping[str, str | list[str]]
    options: Render
    """The recipe's, without a system message, which Axolotl never adds."""
    tokenizer: LoadedTokenizer
    text: str
    tokens: Tokens
    thinking_key: str
    by_text: bool
    now: datetime
    ready: list[dict[Any, Any]] = field(default_factory=list)
    spent: list[int] = field(default_factory=lambda: [0])

    def find(self, index: int, *, content_only: bool = False, reasoning_only: bool = False) -> Span:
        """The half-open token range of one turn, or `NOT_FOUND` where Axolotl finds none."""
        if index == 0 and self.turns[0].get("role") == "system" and "mistral" in self.tokenizer.facts.name.lower():
            return NOT_FOUND
        span = None
        if self.by_text and self.tokenizer.facts.is_fast and self.text:
            span = self._from_text(index, content_only, reasoning_only)
        if span is None:
            span = self._from_tokens(index, content_only, reasoning_only)
        start, end = span
        return NOT_FOUND if start == -1 or end == -1 or end <= start else span

    def render(self, before: int, turn: Turn, after: int | None = None, **more: Any) -> str:
        """The text with another turn in place of one: `before` turns, it, and those from `after` on (None: no more).

        OverBound where all renders together take more than `WORK`.
        """
        rendering = self.template.rendering
        if not self.ready:
            self.ready.extend(prepare_messages(self.turns, rendering))
        rest = self.ready[after:] if after is not None else []
        if self.spent[0] > WORK:
            raise OverBound(
                f"Axolotl renders a row anew for each of its turns, and {len(self.turns):,} of them take too much work",
                fix="the row's tokens are known, its labels are not; Axolotl itself may well take the time",
            )
        count = before + 1 + len(rest)

        def plainly() -> tuple[str, Spans]:
            turns = [*self.ready[:before], *prepare_messages([turn], rendering), *rest]
            variables = {**self._variables(), **more}
            return self.template.text(turns, tools=self.tools, variables=variables, now=self.now, prepared=True)

        if more or after is None:
            text, steps = plainly()[0], self.template.steps
        else:  # asked for as the text of the row is
            turns, how = [*self.turns[:before], turn, *self.turns[after:]], (self.special_tokens, self.options)
            asked = RenderRequest(turns, self.tools, self._variables(), {}, *how, None, False, False, (), self.now)
            text, steps = render_text(asked, self.template, plainly)
        self.spent[0] += steps + count + len(text) // 100
        return text

    def _variables(self) -> Mapping[str, Any]:
        return {**self.special_tokens, **self.options.kwargs}

    def _from_text(self, index: int, content_only: bool, reasoning_only: bool) -> Span | None:
        places = []
        for dummy in DUMMIES:
            other = self.render(index, self._twin(index, content_only, reasoning_only, dummy), index + 1)
            if not other:
                return None
            places.append(differing(self.text, other))
        start, end = min(start for start, _ in places), max(end for _, end in places)
        if end <= start:
            return NOT_FOUND
        first = bisect_right(self.tokens.ends, start)
        after = bisect_left(self.tokens.starts, end)
        return None if first >= len(self.tokens) else (first, after)

    def _from_tokens(self, index: int, content_only: bool, reasoning_only: bool) -> Span:
        dummy = DUMMY_REASONING if reasoning_only and not self.by_text else DUMMIES[0]
        twin = self._twin(index, content_only, reasoning_only, dummy)
        more = {"real_last_index": len(self.turns) - 1} if len(self.turns) > 1 else {}
        other, full = (self._encoded(self.render(index, last, **more)) for last in (twin, self.turns[index]))
        limit = min(len(other), len(full))
        start = next((i for i in range(limit) if other[i] != full[i]), None)
        back = next((i for i in range(limit) if other[-1 - i] != full[-1 - i]), None)
        return NOT_FOUND if start is None or back is None else (start, len(full) - back)

    def _encoded(self, text: str) -> Sequence[int]:
        self.spent[0] += len(text)  # a character costs the tokenizer what a step costs a template
        return self.tokenizer.encode(text).ids

    def _twin(self, index: int, content_only: bool, reasoning_only: bool, dummy: str) -> dict[str, Any]:
        """The turn with the dummy in place of its content (or reasoning); its other keys are gone."""
        turn, key = self.turns[index], self.thinking_key
        content, thought = (turn.get("content", ""), dummy) if reasoning_only else (dummy, turn.get(key))
        twin = {"role": turn.get("role"), "content": content}
        return {**twin, key: thought} if key in turn and (content_only or reasoning_only) else twin


def differing(text: str, other: str) -> Span:
    """The stretch of `text` outside its longest common start and, after that, end with `other`."""
    limit = min(len(text), len(other))
    start = _shared(limit, lambda a, b: text[a:b] == other[a:b])
    ends = len(text), len(other)
    back = _shared(limit - start, lambda a, b: text[ends[0] - b : ends[0] - a] == other[ends[1] - b : ends[1] - a])
    return start, len(text) - back


def _shared(limit: int, alike: Callable[[int, int], bool]) -> int:
    """How many characters two texts share from one side, up to `limit`; `alike` compares those in a range.

    What is not known yet is halved again and again, so that long texts stay fast.
    """
    same, unknown = 0, limit
    while unknown:
        size = (unknown + 1) // 2
        if alike(same, same + size):
            same, unknown = same + size, unknown - size
        else:
            unknown = size - 1
    return same
