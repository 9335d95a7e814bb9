"""Labels of a row of type chat_template, turn by turn, and the terminators after each turn.

Source: axolotl 0.19.0, prompt_strategies/chat_template.py (_tokenize_single_prompt,
_validate_eot_and_eos_tokens, find_first_eos_token, find_first_eot_token, and get_offsets_for_train_detail and
adjust_train_details for ranges of a content, message_field_training_detail). Such a content is tokenized alone and laid
over the turn's tokens from its first one on, so one whose first token merges with the header is off by as much.

Where a turn's content stands is found by rendering a dummy in its place (find_turn, _find_turn_from_text,
_find_turn_from_tokens, and the same method of 0.18.0). 0.19 renders the whole conversation with two dummies and
compares characters; 0.18, and 0.19 for slow tokenizers, renders the messages so far with one dummy and compares tokens,
so that content which begins or ends like the dummy loses tokens.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sftui.bound import OverBound
from sftui.errors import RecipeError
from sftui.model import NOWHERE, Part, Reason, Tokens, common_prefix
from sftui.recipe import Render
from sftui.runs import Runs, RunWriter, clipped, joined, places_of, together
from sftui.templates import ChatTemplate
from sftui.templates.rendering.render import render_text
from sftui.templates.rendering.template import Spans, prepare_messages
from sftui.templates.shortcuts.skeletons import RenderRequest
from sftui.tokens import LoadedTokenizer
from sftui.trainers.axolotl.settings import DatasetSettings
from sftui.trainers.axolotl.turns import STOPS
from sftui.trainers.remembering import last_asked

NEAR = 3
"""A terminator counts as a turn's own when it is at most so many tokens behind its content."""
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
    settings: DatasetSettings
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
                f"Axolotl renders a row again for each of its turns, and {len(self.turns):,} turns would take too long",
                fix="the row's tokens are known, but its labels are not; Axolotl itself may still do it",
            )
        count = before + 1 + len(rest)

        def plainly() -> tuple[str, Spans]:
            turns = [*self.ready[:before], *prepare_messages([turn], rendering), *rest]
            variables = {**self.special_tokens, **self.options.kwargs, **more}
            return self.template.text(turns, tools=self.tools, variables=variables, now=self.now, prepared=True)

        if more or after is None:
            text, steps = plainly()[0], self.template.steps
        else:  # asked for as the text of the row is
            turns, how = [*self.turns[:before], turn, *self.turns[after:]], (self.special_tokens, self.options)
            asked = RenderRequest(turns, self.tools, {}, *how, None, False, False, self.now)
            text, steps = render_text(asked, self.template, plainly)
        self.spent[0] += steps + count + len(text) // 100
        return text

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
        start, back = common_prefix(other, full), common_prefix(other[::-1], full[::-1])
        return NOT_FOUND if min(len(other), len(full)) in (start, back) else (start, len(full) - back)

    def _encoded(self, text: str) -> Sequence[int]:
        self.spent[0] += len(text)  # a character costs the tokenizer what a step costs a template
        return self.tokenizer.encode(text).ids

    def _twin(self, index: int, content_only: bool, reasoning_only: bool, dummy: str) -> dict[str, Any]:
        """The turn with the dummy in place of its content (or reasoning); its other keys are gone."""
        turn, key = self.turns[index], self.settings.thinking_key
        content, thought = (turn.get("content", ""), dummy) if reasoning_only else (dummy, turn.get(key))
        twin = {"role": turn.get("role"), "content": content}
        return {**twin, key: thought} if key in turn and (content_only or reasoning_only) else twin


def differing(text: str, other: str) -> Span:
    """The stretch of `text` outside its longest common start and, after that, end with `other`."""
    start = common_prefix(text, other)
    return start, len(text) - common_prefix(text[start:][::-1], other[start:][::-1])


class _Mask(RunWriter[tuple[bool, Reason | None]]):
    """Whether each token of a row is trained, and why, while it is drawn; a reason of None: nothing was said of it."""

    def train(self, start: int, end: int, reason: Reason) -> None:
        """Train the tokens of a range, as far as it lies in the row."""
        self.put(start, end, (True, reason))

    def mark(self, index: int, on: bool, reason: Reason, off: Reason) -> None:
        """Train a token, or say why it is not trained where nothing was said of it."""
        if on or self.at(index) == (False, None):
            self.put(index, index + 1, (True, reason) if on else (False, off))


def draw(locator: Locator) -> tuple[Runs[bool], Runs[Reason], tuple[str, ...]]:
    """A flag and a reason per token, and what Axolotl would warn of; RecipeError where it refuses."""
    ids, settings = locator.tokens.input_ids, locator.settings
    mask = _Mask(len(ids), (False, None))
    eot_ids, warned = eot_token_ids(locator.tokenizer, settings, locator.template.source)
    notes = [*warned]
    eos_id = locator.tokenizer.facts.eos_id
    kinds: Sequence[tuple[Collection[int], str]] = (
        (eot_ids, settings.train_on_eot),
        (() if eos_id is None else (eos_id,), settings.train_on_eos),
    )
    places = [places_of(ids, tokens) for tokens, _ in kinds]
    last = [-1, -1]
    by_flag: dict[int, bool] = {}
    for index, turn in enumerate(locator.turns):
        wanted, flagged = _wanted(turn, settings)
        if flagged:
            by_flag[index] = wanted
        if not wanted and "all" not in (settings.train_on_eos, settings.train_on_eot):
            if index == len(locator.turns) - 1:
                notes.append("the last turn is not trained, and Axolotl warns about it")
            continue
        end = _train_turn(locator, index, wanted, flagged, mask, notes)
        for kind, (_, option) in enumerate(kinds):
            found = _first(places[kind], end, len(ids))
            if found == -1 or abs(found - end) > NEAR:
                continue
            last[kind] = found
            on = option == "all" or (option == "turn" and wanted)
            mask.mark(found, on, Reason.TERMINATOR, Reason.TERMINATOR_OFF)
    for place, (_, option) in zip(last, kinds):
        if option == "last" and place != -1:
            mask.train(place, place + 1, Reason.TERMINATOR)
    return (*_filled(mask.runs(), locator, by_flag), tuple(notes))


def _wanted(turn: object, settings: DatasetSettings) -> tuple[bool, bool]:
    """Whether a turn is trained, and whether its own flag or detail says so rather than its role."""
    assert hasattr(turn, "get")
    stated = turn.get("training")
    if stated is not None:
        return bool(stated), True
    details = turn.get("training_detail"), turn.get("reasoning_training_detail")
    if any(detail is not None for detail in details):
        return any(map(bool, details)), True
    return settings.train_on_inputs or turn.get("role") in settings.roles_to_train, False


def _train_turn(locator: Locator, index: int, wanted: bool, flagged: bool, mask: _Mask, notes: list[str]) -> int:
    """Train a turn's content, and say where it ends; -1 where Axolotl does not find it."""
    turn = locator.turns[index]
    detail, reasoning_detail = turn.get("training_detail"), turn.get("reasoning_training_detail")
    key = locator.settings.thinking_key
    reasons = turn.get(key) is not None
    start, end = locator.find(index, content_only=bool((detail or reasoning_detail) and reasons))
    if wanted and (start, end) == NOT_FOUND:
        notes.append(f"Axolotl finds no content in message {index} and trains none of it")
    if wanted and start != -1:
        if detail:
            _train_parts(mask, turn.get("content"), "content", detail, start, locator)
        elif not reasoning_detail:
            mask.train(start, end, Reason.FLAG if flagged else Reason.ASSISTANT)
    if wanted and reasoning_detail and reasons:
        first, _ = locator.find(index, reasoning_only=True)
        if first != -1:
            _train_parts(mask, turn[key], key, reasoning_detail, first, locator)
    return end


def _train_parts(mask: _Mask, text: object, name: str, detail: object, start: int, locator: Locator) -> None:
    if not isinstance(text, str):
        raise RecipeError(STOPS, why=f"a training detail needs `{name}` to be text")
    for offset, on in enumerate(trained_tokens(text, detail, locator.tokenizer)):
        if start + offset >= len(mask):
            break
        mask.mark(start + offset, on, Reason.FLAG, Reason.FLAG_OFF)


@last_asked
def eot_token_ids(
    tokenizer: LoadedTokenizer, settings: DatasetSettings, template: str
) -> tuple[frozenset[int], tuple[str, ...]]:
    """The ids that end a turn, and what Axolotl warns of; RecipeError for eot_tokens that it refuses at the start."""
    notes: list[str] = []
    eos = tokenizer.facts.eos_token
    tokens = settings.own.eot_tokens if settings.own.eot_tokens is not None else () if eos is None else (eos,)
    if eos is not None and tokens == (eos,):
        if eos not in template and "eos_token" not in template:
            why = "the turn's terminator is not trained (set eot_tokens)"
            notes.append(f"EOS {eos} is not in the chat template: {why}")
    else:
        notes += [f"EOT {token} is not in the chat template" for token in tokens if token not in template]
        tokens = tuple(token for token in tokens if token in template)
        for token in tokens:
            if len(tokenizer.encode(token)) != 1:
                raise RecipeError(
                    f"Axolotl rejects the EOT token `{token}`",
                    why="the tokenizer splits it into several tokens",
                    fix="add it under tokens, or choose another",
                )
        if eos in tokens and settings.train_on_eos != settings.train_on_eot:
            raise RecipeError(
                "Axolotl refuses to train: train_on_eos and train_on_eot differ",
                why="eos_token is one of eot_tokens",
                fix="set both to the same value",
            )
    encoded = (tokenizer.encode(token).ids for token in tokens)
    return frozenset(ids[0] for ids in encoded if len(ids) == 1), tuple(notes)


def _first(places: Sequence[int], start: int, size: int) -> int:
    """The first of the places, in order, at or after `start`; from -1 on, Python's last position is looked at first."""
    if start == -1 and places and places[-1] == size - 1:
        return -1
    at = bisect_left(places, start)
    return places[at] if at < len(places) else -1


def _filled(
    marks: Runs[tuple[bool, Reason | None]], locator: Locator, by_flag: dict[int, bool]
) -> tuple[Runs[bool], Runs[Reason]]:
    """The flags, and the reasons with one for what nothing was said of."""
    flags = joined((end - start, on) for start, end, (on, _) in marks.runs())
    reasons: list[tuple[int, Reason]] = []
    for start, end, owner, part in together(locator.tokens.messages, locator.tokens.parts):
        masked = None
        for begun, until, (_, reason) in clipped(marks, start, end):
            if reason is None:
                reason = masked = masked or _masked_because(owner, part, locator, by_flag)
            reasons.append((until - begun, reason))
    return flags, joined(reasons)


def _masked_because(owner: int, part: Part, locator: Locator, by_flag: dict[int, bool]) -> Reason:
    if part is Part.HEADER:
        return Reason.HEADER
    if owner == NOWHERE or owner >= len(locator.turns):
        return Reason.PROMPT
    trained = by_flag.get(owner)
    if trained is False:
        return Reason.FLAG_OFF
    if trained is None and not _wanted(locator.turns[owner], locator.settings)[0]:
        return Reason.ROLE
    return {Part.TERMINATOR: Reason.TERMINATOR_OFF, Part.SEPARATOR: Reason.TRAILING}.get(part, Reason.BOUNDARY)


Range = tuple[float, float, bool]


def trained_tokens(text: str, details: Any, tokenizer: LoadedTokenizer) -> list[bool]:
    """One flag per token of `text` tokenized alone; ends of ranges are inclusive."""
    ranges = _ranges(details)
    starts = tokenizer.encode(text).starts
    if not starts:
        raise RecipeError(STOPS, why="the text with a training detail has no tokens")
    # A token reaches to the character before the next one begins, whatever its own offsets say.
    places = [(start, after - 1) for start, after in zip(starts, [*starts[1:], len(text)])]
    adjusted = [one for one in (_adjusted(item, places) for item in ranges) if one is not None]
    return [any(train and begin <= start and end <= last for begin, last, train in adjusted) for start, end in places]


def _ranges(details: Any) -> list[Range]:
    if not isinstance(details, Sequence) or isinstance(details, str):
        raise _broken("it is not a list")
    found: list[Range] = []
    for item in details:
        if not isinstance(item, Mapping) or not {"begin_offset", "end_offset", "train"} <= set(item):
            raise _broken("an entry lacks begin_offset, end_offset or train")
        begin, end = item["begin_offset"], item["end_offset"]
        if not isinstance(begin, (int, float)) or not isinstance(end, (int, float)):
            raise _broken("an offset is not a number")
        found.append((begin, end, bool(item["train"])))
    return found


def _adjusted(item: Range, places: Sequence[tuple[int, int]]) -> Range | None:
    """The range widened to whole tokens; None where no token is left."""
    begin, end, train = item
    first = next((i for i, (start, _) in enumerate(places) if start >= begin), len(places))
    if first > 0 and places[first - 1][1] > begin:
        first -= 1
    last = next((i for i in range(len(places) - 1, -1, -1) if places[i][1] <= end), -1)
    if last < len(places) - 1 and places[last + 1][0] < end:
        last += 1
    return (places[first][0], places[last][1], train) if first <= last else None


def _broken(why: str) -> RecipeError:
    fix = "store a list of mappings with begin_offset, end_offset and train"
    return RecipeError(STOPS, why=f"its training detail cannot be read: {why}", fix=fix)
