"""One row as the checks see it: what several of them need is worked out once."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from sftui import trainers
from sftui.findings.calls import Call, Tools, calls_of, declared
from sftui.findings.context import Context
from sftui.findings.manners import Manner, Read, read
from sftui.findings.model import GENERATION_TAGS, Finding, Fix, Severity
from sftui.findings.rule import Rule
from sftui.findings.samples import said_once, tokens_once
from sftui.findings.shapes import ALL, NONE, SOME, Order, Shape, extent_of, order_of
from sftui.findings.signatures import clipped, signature_of
from sftui.findings.words import marks_of, texts
from sftui.model import (
    IGNORE_INDEX,
    NOWHERE,
    Conversation,
    Cut,
    Inspection,
    Kind,
    Labels,
    Message,
    Part,
    RecipeChange,
    Rendered,
    Tokens,
    TokenText,
    Trained,
)
from sftui.pipeline import late_in
from sftui.recipe import changed, diff, get
from sftui.runs import Stretch, places_of, stretches_of, together
from sftui.text import visible, visible_token
from sftui.tokens import Encoded, prompt_text, surface, surfaces, token_text
from sftui.trainers import trainer_named
from sftui.values import lazy

if TYPE_CHECKING:
    from sftui.trainers.reading import Late

T = TypeVar("T")
SHOWN_TOKENS = 24
SHOWN_TEXT = 80
FEW, MANY = 8, 64
"""Tokens that are sooner asked one by one than together, and those of which it pays to read first what they say."""


class Turn(NamedTuple):
    """One message in tokens: half-open ranges of its parts, empty where it has none."""

    message: int
    role: str
    header: tuple[int, int]
    content: tuple[int, int]
    terminator: tuple[int, int]
    separator: tuple[int, int]

    @property
    def end(self) -> int:
        """Behind the last token of content and terminator."""
        return max(self.content[1], self.terminator[1])


def _made(found: T | None, what: str) -> T:
    """What a stage made of the row; ValueError for a check that asks for what its row did not reach."""
    if found is None:
        raise ValueError(f"the row stopped before it had a {what}")
    return found


def stretches(tokens: Tokens) -> Sequence[Stretch]:
    """The tokens that follow each other and are of one message and one part, in order."""
    if not tokens.placed:
        return ()
    known = stretches_of(tokens.messages, tokens.parts)
    return tuple(together(tokens.messages, tokens.parts)) if known is None else known


def trained_in(stretches: Sequence[Stretch], labels: Sequence[int], trained: int) -> Mapping[int, int]:
    """Of which stretches tokens have a label, by their numbers in order, and of how many tokens each; `trained` have
    one in all."""
    found: dict[int, int] = {}
    if type(labels) is Trained and stretches:
        last = stretches[-1][1]
        for start, end in labels.ranges:
            at = bisect_left(stretches, (start + 1,)) - 1
            while start < end and start < last:
                until = stretches[at][1]
                if end < until:
                    until = end
                found[at] = found.get(at, 0) + until - start
                start, at = until, at + 1
        return found
    for at, (start, end, _, _) in enumerate(stretches):
        if not trained:
            break
        count = end - start - labels[start:end].count(IGNORE_INDEX)
        if count:
            found[at] = count
            trained -= count
    return found


class Measured(NamedTuple):
    """What the mask trains of a row, before anything is cut: `carried` are its labels, masked also where a weight of 0
    takes a token out of the loss, `trained` how many of them train, `trained_in` how many in which of `stretches`."""

    carried: tuple[int, ...]
    trained: int
    stretches: Sequence[Stretch]
    trained_in: Mapping[int, int]


class Look:
    """An inspection with what checks ask of it; every property is computed at most once."""

    def __init__(self, inspection: Inspection, context: Context) -> None:
        self.inspection = inspection
        self.context = context
        self.recipe = context.recipe
        self.facts = context.facts

    @lazy
    def conversation(self) -> Conversation:
        return _made(self.inspection.conversation, "conversation")

    @lazy
    def messages(self) -> tuple[Message, ...]:
        found = self.inspection.conversation
        return found.messages if found is not None else ()

    @lazy
    def read(self) -> Read:
        """What one go through the messages tells."""
        return read(self.messages)

    @property
    def roles(self) -> tuple[str, ...]:
        return self.read.roles

    @lazy
    def order(self) -> Order:
        """What the roles in their order tell, worked out once for all rows that have the same."""
        return order_of(self.roles)

    @lazy
    def shape(self) -> Shape:
        """What the row has in common with others that have the same order of roles and the same mask."""
        inspection = self.inspection
        conversation, stopped = inspection.conversation, inspection.stopped_at is not None
        if conversation is None:
            return Shape(None, stopped)
        roles, _, manner = self.read
        early = (conversation.kind, stopped, roles, manner, bool(conversation.tools), bool(conversation.extra))
        labels, rendered, boundary = inspection.labels, inspection.rendered, inspection.boundary
        if labels is None or rendered is None or inspection.tokens is None:
            return Shape(*early)
        _, _, stretches, drawn = self.measured
        _, _, messages, parts = tuple(zip(*stretches)) or ((), (), (), ())
        extents = [NONE] * len(stretches)
        for at, count in drawn.items():
            start, end, _, _ = stretches[at]
            extents[at] = ALL if count == end - start else SOME
        return Shape(
            *early,
            True,
            self.known,
            self.whole,
            labels.dropped is not None,
            rendered.pieces is not None,
            boundary is not None and not boundary.clean,
            self.extent,
            messages,
            parts,
            tuple(extents),
        )

    @lazy
    def texts(self) -> Sequence[tuple[int | None, str, bool]]:
        """Every text of the conversation (see `words.texts`)."""
        return texts(self.conversation)

    @lazy
    def spoken(self) -> str:
        """All of them, one under the other: what is not in it stands in none of them."""
        found = self.conversation
        return "\n".join(
            [*self.read.said, *[one for one in (found.prompt, found.completion, found.text) if one is not None]]
        )

    @lazy
    def calls(self) -> Mapping[int, Sequence[Call]]:
        """The tool calls of the messages that make some."""
        found = self.messages if self.manner.called else ()
        return {number: calls for number, message in enumerate(found) if (calls := calls_of(message))}

    @lazy
    def made(self) -> Sequence[tuple[int, Call]]:
        """Each tool call of the row, with the number of its message."""
        return [(number, call) for number, calls in self.calls.items() for call in calls]

    @lazy
    def tools(self) -> Tools:
        """What several checks ask of the row's list of tools, once for all rows that have the same."""
        return declared(self.conversation.tools)

    @property
    def manner(self) -> Manner:
        """What the messages are made of, besides what they say."""
        return self.read.manner

    @lazy
    def whole(self) -> bool:
        """Whether the trainer receives all of the row's tokens."""
        kept, count = self.labels.kept, len(self.tokens)
        return kept == ((0, count),) or (len(kept) > 1 and sum([end - start for start, end in kept]) == count)

    @lazy
    def cut_out(self) -> bool:
        """Whether the tokens are known to be the rendered text, cut, whatever was put around it (see `model.Cut`)."""
        ends = self.tokens.ends
        return type(ends) is Cut and (ends[-1] if ends and ends[-1] != NOWHERE else max(ends, default=0)) == len(
            self.rendered.text
        )

    @lazy
    def special_here(self) -> frozenset[int]:
        """The added tokens marked special that the row has."""
        return self.context.tools.tokenizer.special_ids.intersection(self.tokens.input_ids)

    @lazy
    def signature(self) -> str:
        """The roles in order for display, clipped for very long rows (`signatures.clipped`)."""
        return clipped(self.whole_signature)

    @lazy
    def whole_signature(self) -> str:
        """The roles in order, as waivers are held against."""
        return _signature_of(self.roles)

    @lazy
    def placed(self) -> frozenset[int]:
        """The messages whose content has a place in the rendering; NOWHERE for content of no message."""
        content = Part.CONTENT
        return frozenset([span.message for span in self.rendered.spans if span.part is content])

    @lazy
    def raw_messages(self) -> Sequence[Any] | None:
        """The list of messages as the row holds it, or None."""
        data, detected = self.inspection.row.data, self.context.detected
        if data is None or detected.format not in ("messages", "sharegpt"):
            return None
        value = data.get(detected.fields.get("messages", "messages"))
        if isinstance(value, str):
            try:
                value = json.loads(value)
            except (ValueError, RecursionError):
                return None
        return value if isinstance(value, (list, tuple)) else None

    @lazy
    def late(self) -> Late | None:
        """What the row does to the reading of the whole file (see `late_in`)."""
        return late_in(self.inspection.row, self.context.detected, self.recipe)

    @property
    def chat(self) -> bool:
        found = self.inspection.conversation
        return found is not None and found.kind is Kind.CHAT

    @property
    def stored(self) -> bool:
        found = self.inspection.conversation
        return found is not None and found.kind is Kind.TOKENS

    @lazy
    def rendered(self) -> Rendered:
        return said_once(_made(self.inspection.rendered, "rendered text"))

    @lazy
    def tokens(self) -> Tokens:
        return tokens_once(_made(self.inspection.tokens, "tokenization"))

    @lazy
    def encoded_again(self) -> Encoded:
        """What the tokenizer makes of the row's text by itself, beside the ids that the row holds."""
        return self.context.tools.tokenizer.encode(self.rendered.text)

    @lazy
    def text(self) -> TokenText:
        """How the tokens are written; all of the row's, so ask for one by `piece` or `is_special`."""
        return token_text(self.tokens, self.rendered, self.context.tools.tokenizer)

    @lazy
    def prompt_text(self) -> TokenText:
        """The same of the prompt tokenized alone."""
        return prompt_text(self.tokens, self.rendered, self.context.tools.tokenizer, self.recipe.tokenize)

    def piece(self, i: int) -> str:
        """The vocabulary string of one token."""
        return self.context.tools.tokenizer.piece(self.tokens.input_ids[i])

    def is_special(self, i: int) -> bool:
        """Whether one token is an added token marked special."""
        return self.context.tools.tokenizer.is_special(self.tokens.input_ids[i])

    @lazy
    def special(self) -> tuple[int, ...]:
        """The places of all those, in order."""
        ids, special = self.tokens.input_ids, self.context.tools.tokenizer.special_ids
        if special.isdisjoint(ids):
            return ()
        return tuple([i for i, token in enumerate(ids) if token in special])

    @lazy
    def special_trained(self) -> Sequence[int]:
        """Those of them that the mask trains."""
        carried, _, runs, drawn = self.measured
        if not runs:
            return [at for start, end in self.runs for at in self._special_in(start, end)]
        found: list[int] = []
        for at, trained in drawn.items():
            start, end, _, part = runs[at]
            if part is Part.CONTENT and end - start > MANY and not self._may_hold_special(start, end):
                continue
            places = self._special_in(start, end) if end - start > FEW else self._special_of(start, end)
            found += places if trained == end - start else [i for i in places if carried[i] != IGNORE_INDEX]
        return found

    def _special_in(self, start: int, end: int) -> list[int]:
        """The places of those among some tokens."""
        here, special = self.tokens.input_ids[start:end], self.context.tools.tokenizer.special_ids
        if special.isdisjoint(here):
            return []
        return [start + at for at in places_of(here, special.intersection(here))]

    def _special_of(self, start: int, end: int) -> list[int]:
        """The same of a few, each asked by itself."""
        ids, special = self.tokens.input_ids, self.context.tools.tokenizer.special_ids
        return [at for at in range(start, end) if ids[at] in special]

    def _may_hold_special(self, start: int, end: int) -> bool:
        """Whether there may be a special token among some: where tokens are the text, cut, it stands there in writing,
        and one look for what all of them hold takes a tenth of the time of looking at every id."""
        begun = self.tokens.starts[start] if self.cut_out else NOWHERE
        if begun == NOWHERE:
            return True
        said = self.rendered.text[begun : self.tokens.ends[end - 1]]
        marks = self.context.once(
            "special marks", lambda: marks_of(self.context.tools.tokenizer.special_pieces.values())
        )
        return any([sign in said and mark in said for sign, mark in marks])

    @lazy
    def labels(self) -> Labels:
        return _made(self.inspection.labels, "labelling")

    @property
    def known(self) -> bool:
        """Whether it is proven who wrote which character; checks by message abstain where not."""
        rendered = self.inspection.rendered
        return rendered is not None and rendered.exact and bool(rendered.spans)

    @lazy
    def drawn(self) -> tuple[bool, ...]:
        """Which tokens the mask trains, before anything is cut."""
        return tuple([label != IGNORE_INDEX for label in self.carried])

    @lazy
    def measured(self) -> Measured:
        """What the mask trains, all at once: every row with labels is asked for the whole of it."""
        carried = self.labels.counted
        if type(carried) is Trained:
            trained = sum([end - start for start, end in carried.ranges])
        else:
            trained = len(carried) - carried.count(IGNORE_INDEX)
        runs = self.stretches
        return Measured(carried, trained, runs, trained_in(runs, carried, trained))

    @property
    def carried(self) -> tuple[int, ...]:
        """The labels, masked also where a weight of 0 takes the token out of the loss."""
        return self.measured.carried

    @lazy
    def count(self) -> int:
        """How many leading tokens reach the trainer, where only the end is cut; else all."""
        kept = self.labels.kept
        return kept[0][1] if len(kept) == 1 and kept[0][0] == 0 else len(self.tokens)

    @lazy
    def cut(self) -> bool:
        """Whether the trainer receives fewer tokens than there are."""
        return self.labels.dropped is None and sum(end - start for start, end in self.labels.kept) < len(self.tokens)

    @lazy
    def padding(self) -> int:
        """Where the padding that a stored row brings at its end begins: attention 0, or pad tokens; else behind the
        last token."""
        ids = self.tokens.input_ids
        n = len(ids)
        if not self.stored:
            return n
        attention, pad = self.conversation.attention_mask, self.facts.pad_id
        if attention is not None and len(attention) == n:
            while n and not attention[n - 1]:
                n -= 1
        end = n
        while end and ids[end - 1] == pad:
            end -= 1
        # Where the pad token is a stop as well, the first of the run ends the row; two may be one stop too many
        # (EOS007).
        if pad in self.context.stops:
            return end + 1 if n - end > 2 else n
        return end

    @property
    def any_drawn(self) -> bool:
        return self.extent is not NONE

    @lazy
    def extent(self) -> int:
        """How much of the row the mask trains, before anything is cut."""
        n = len(self.labels.labels)
        return extent_of(n - self.trained, n)

    @property
    def trained(self) -> int:
        """How many tokens the mask trains, before anything is cut."""
        return self.measured.trained

    @property
    def trained_in(self) -> Mapping[int, int]:
        """How many tokens the mask trains of those of the `stretches` of which it trains some."""
        return self.measured.trained_in

    @lazy
    def runs(self) -> tuple[tuple[int, int], ...]:
        """The half-open ranges of tokens that the mask trains, before anything is cut."""
        labels = self.carried
        if type(labels) is Trained:
            return labels.ranges
        found: list[tuple[int, int]] = []
        drawn, at, n = self.drawn, 0, len(self.drawn)
        while at < n:
            try:
                start = drawn.index(True, at)
            except ValueError:
                break
            try:
                at = drawn.index(False, start)
            except ValueError:
                at = n
            found.append((start, at))
        return tuple(found)

    @lazy
    def turns(self) -> tuple[Turn, ...]:
        """The messages that stand in the text, in order; empty where who wrote what is not known."""
        if not self.known or not self.chat:
            return ()
        places: dict[tuple[int, Part], tuple[int, int]] = {}
        for start, end, message, part in self.stretches:
            if message != NOWHERE:
                place = places.get((message, part))
                places[message, part] = (start, end) if place is None else (place[0], end)
        found, nowhere = [], (0, 0)
        for number, role in enumerate(self.roles):
            header = places.get((number, Part.HEADER), nowhere)
            content = places.get((number, Part.CONTENT), nowhere)
            terminator = places.get((number, Part.TERMINATOR), nowhere)
            separator = places.get((number, Part.SEPARATOR), nowhere)
            if header[1] or content[1] or terminator[1] or separator[1]:
                found.append(Turn(number, role, header, content, terminator, separator))
        return tuple(found)

    @lazy
    def stretches(self) -> Sequence[Stretch]:
        """The tokens that follow each other and are of one message and one part."""
        return stretches(self.tokens)

    @lazy
    def turn_of(self) -> Mapping[int, Turn]:
        """The turns by the number of their message."""
        return {turn.message: turn for turn in self.turns}

    @lazy
    def answers(self) -> tuple[Turn, ...]:
        """The assistant's turns."""
        return tuple(turn for turn in self.turns if turn.role == "assistant")

    @lazy
    def row_stops(self) -> frozenset[int]:
        """The stop set, with the special tokens that end the assistant's turns in this row; one that begins the next
        turn is none."""
        ids, special = self.tokens.input_ids, self.context.tools.tokenizer.special_ids
        own = set().union(*[ids[turn.terminator[0] : turn.terminator[1]] for turn in self.answers])
        return self.context.stops | (own & special - self.context.opening)

    def text_of(self, message: Message) -> str:
        """The content of a message where it is text, else nothing."""
        content = message.content
        return content if isinstance(content, str) else ""

    def surface(self, i: int) -> bytes:
        """The bytes one token stands for; empty where unknown."""
        return surface(self.tokens, i, self.rendered.text, self.context.tools.tokenizer)

    @lazy
    def surfaces(self) -> tuple[bytes, ...]:
        """The same of all of them."""
        return surfaces(self.tokens, self.rendered.text, self.context.tools.tokenizer)

    def blank(self, i: int) -> bool:
        """Whether a token stands for white space only."""
        surface = self.surface(i)
        return bool(surface) and not self.is_special(i) and not surface.strip()

    def last_solid(self, end: int) -> int:
        """The last token before `end` that is not white space, or -1."""
        for i in range(end - 1, -1, -1):
            if not self.blank(i):
                return i
        return -1

    def token(self, i: int) -> str:
        """One token as a cell shows it."""
        return visible_token(self.surface(i), self.piece(i))

    def quote(self, start: int, end: int) -> str:
        """A range of tokens, each in its own brackets, long ones cut in the middle."""
        where = list(range(max(0, start), min(end, len(self.tokens))))
        if len(where) > SHOWN_TOKENS:
            half = SHOWN_TOKENS // 2
            return self.quote(where[0], where[half]) + " … " + self.quote(where[-half], where[-1] + 1)
        return "".join(f"[{self.token(i)}]" for i in where)

    def finding(
        self,
        rule: Rule,
        sentence: str,
        *,
        message: int | None = None,
        tokens: tuple[int, int] | None = None,
        span: tuple[int, int] | None = None,
        evidence: str | None = None,
        severity: Severity | None = None,
        change: tuple[str, Any] | None = None,
        changes: Sequence[tuple[str, Any]] = (),
        fix: Fix | None = None,
        title: str = "",
    ) -> Finding:
        """A finding of this row; `change` is a knob and the value that repairs it, `changes` several of them."""
        if tokens is not None and span is None and self.inspection.tokens is not None:
            span = self._span(*tokens)
        if evidence is None:
            evidence = (
                self.quote(*tokens)
                if tokens is not None
                else shown(self.rendered.text[span[0] : span[1]])
                if span
                else ""
            )
        if fix is None:
            fix = fix_of(self.context, rule, changes if change is None else [change], title)
        return Finding(
            rule.code,
            severity or rule.severity,
            visible(sentence),
            self.inspection.row.index,
            message,
            tokens,
            span,
            evidence,
            fix,
            signature=self.whole_signature,
        )

    def tight_tags(self, rule: Rule) -> Fix | None:
        """Generation tags put anew, where the mask is drawn from those of the template and they are the fault."""
        if self.recipe.mask.rule != "generation_tag" or not self.rendered.has_generation_tag:
            return None
        return fix_of(
            self.context,
            rule,
            (),
            "put the generation tags anew, tight around the answers and what ends them",
            GENERATION_TAGS,
        )

    def _span(self, start: int, end: int) -> tuple[int, int] | None:
        starts = [one for one in self.tokens.starts[start:end] if one != NOWHERE]
        ends = [one for one in self.tokens.ends[start:end] if one != NOWHERE]
        return (min(starts), max(ends)) if starts else None


_signature_of = lru_cache(maxsize=1000)(signature_of)


def fix_of(
    context: Context, rule: Rule, changes: Iterable[tuple[str, Any]], title: str = "", template: str | None = None
) -> Fix | None:
    """The fix of a finding: recipe changes from (knob, value) pairs, and the keys of each trainer.

    Knobs are offered where the trainer's own config can say them all, and where they change something.
    """
    pairs = list(changes)
    if not (pairs or title or template):  # the same for every row
        return context.once(("fix", rule.code), lambda: _fix(rule, (), rule.fix_text(context.trainer), None))
    wanted = tuple(
        RecipeChange(path, before, value) for path, value in pairs if (before := get(context.recipe, path)) != value
    )
    made = wanted if context.once(("sayable", str(wanted)), lambda: _sayable(context, wanted)) else ()
    if pairs and not made:
        title, template = "", None
    if not title:
        title = ", ".join(map(_change_text, made)) or rule.fix_text(context.trainer)
    return _fix(rule, made, title, template)


def _fix(rule: Rule, changes: tuple[RecipeChange, ...], title: str, template: str | None) -> Fix | None:
    if not title and not template:
        return None
    return Fix(visible(title), changes, template, next(iter(rule.repair), None), rule.fixes)


def _sayable(context: Context, changes: tuple[RecipeChange, ...]) -> bool:
    """Whether the changed recipe goes into the trainer's config without a loss that it did not have."""
    recipe = context.recipe
    for change in changes:
        recipe = changed(recipe, change.path, change.after)
    return set(trainer_named(recipe.preset).losses(recipe)) <= set(
        trainer_named(context.recipe.preset).losses(context.recipe)
    )


def newer(context: Context) -> list[tuple[str, Any]]:
    """What moves a recipe to the newest version of its trainer: the preset, and each default of the old one that the
    new one has not."""
    preset = f"{context.trainer}@{context.traits.versions[0]}"
    old, new = trainers.preset(context.recipe.preset), trainers.preset(preset)
    moved = [
        (one.path, one.after)
        for one in diff(old, new)
        if one.path != "preset" and get(context.recipe, one.path) == one.before
    ]
    return [("preset", preset), *moved]


def shown(text: str, width: int = SHOWN_TEXT) -> str:
    """Text of the data, safe and of bearable length."""
    return visible(text if len(text) <= width else text[: width - 1] + "…")


def _change_text(change: RecipeChange) -> str:
    """A change in words; of a mapping only the entries that are new."""
    if isinstance(change.after, Mapping) and isinstance(change.before, Mapping):
        new = [f"{key}: {_value(value)}" for key, value in change.after.items() if change.before.get(key) != value]
        return f"add {', '.join(new)} to {change.path}"
    return f"set {change.path} to {_value(change.after)}"


def _value(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return f"[{', '.join(map(str, value))}]" if isinstance(value, (list, tuple)) else str(value)
