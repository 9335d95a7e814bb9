"""Which tokens Unsloth trains: the masks drawn before train_on_responses_only, and its own.

Source: unsloth_zoo 2026.10.7 and 2026.8.13, unsloth_zoo/dataset_utils.py `sft_prepare_dataset` (completion_mask,
assistant_masks), `train_on_responses_only`. The collator that sft_prepare_dataset sets for ready ids (which would never
train the pad id) is none that a run sees: TRL's constructor puts its own in place afterwards.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import reduce
from itertools import chain

from sftui import labels as label_rules
from sftui.errors import TemplateError
from sftui.model import IGNORE_INDEX, Kind, Pack, Part, Reason, Tokens
from sftui.recipe import Recipe
from sftui.runs import Ranges, RunWriter, as_runs, clipped, places_of
from sftui.trainers.base import Toolbox
from sftui.trainers.remembering import last_asked
from sftui.trainers.trl import trainer as trl
from sftui.trainers.unsloth import UnslothOptions
from sftui.trainers.unsloth.markers import Markers, hidden_places, spans_of

MASKS_READ = (1, 7)
"""Since this TRL the collator no longer reads mask columns, and Unsloth before 2026.10 makes no labels of them."""


def falls_back(recipe: Recipe, source: str) -> bool:
    """Whether assistant_only_loss searches for markers: no {% generation %} tag and no training copy of TRL's."""
    return trl.assistant_only(recipe) and not trl.finds_answers(source)


@last_asked
def training_tools(tools: Toolbox) -> Toolbox:
    """The toolbox with TRL's training template where it has one; as it is where Unsloth falls back to markers."""
    try:
        return trl.training_toolbox(tools)
    except TemplateError:
        return tools


def before_markers(
    subject: label_rules.Subject, kept: Ranges, recipe: Recipe, markers: Markers | None, newest: bool
) -> label_rules.Drawn:
    """The mask that a row brings along when train_on_responses_only sees it."""
    tokens, conversation = subject.tokens, subject.conversation
    drawn: list[label_rules.Drawn] = []
    if conversation.kind is Kind.TOKENS:
        if conversation.labels is not None:
            return label_rules.draw(subject, replace(recipe.mask, rule="given"))
        drawn = trl.stored_masks(conversation, len(tokens), recipe) if newest else []
    else:
        if tokens.prompt_ids is not None and trl.completion_only(recipe) is not False and _masks_hold(recipe, newest):
            drawn.append(label_rules.completion(subject, recipe.mask))
        if trl.assistant_only(recipe):
            if markers is None:
                drawn.append(label_rules.generation_tag(subject))
            else:
                whole: Ranges = ((0, len(tokens)),)
                drawn.append(with_markers(tokens, label_rules.whole(subject), whole, markers, last_only=False))
    return label_rules.outside(reduce(label_rules.both, drawn or [label_rules.whole(subject)]), kept)


def _masks_hold(recipe: Recipe, newest: bool) -> bool:
    """Whether completion_mask still stands when the labels are made.

    Since 2026.10, and with a TRL since 1.7, Unsloth makes labels of it. Else the collator of TRL
    reads it, unless it is newer or responses only has put another collator in its place.
    """
    stated = str(UnslothOptions.of(recipe).trl_version or ("1.15" if newest else "0.24"))
    numbers = tuple(int(part) for part in stated.split(".")[:2] if part.isdecimal() and len(part) < 10)
    collator_reads = numbers < MASKS_READ
    return (newest and not collator_reads) or (collator_reads and recipe.mask.rule != "markers")


def with_markers(
    tokens: Tokens, before: label_rules.Drawn, kept: Ranges, markers: Markers, *, last_only: bool
) -> label_rules.Drawn:
    """The mask after train_on_responses_only: inside a span and trained before."""
    n, ids = len(tokens), tokens.input_ids
    whole = kept == ((0, n),)
    marks = RunWriter(n, (False, Reason.NOT_MARKER if whole else Reason.TRUNCATED))
    if not whole:
        for start, end in kept:
            marks.put(start, end, (False, Reason.NOT_MARKER))
        ids = tuple(chain.from_iterable(ids[start:end] for start, end in kept))
    parts, (trained, why) = as_runs(tokens.parts), before
    masked, closed, spaced = False in trained, Part.TERMINATOR in parts, Part.SEPARATOR in parts
    spans = spans_of(ids, markers)
    hidden = sorted(hidden_places(ids, markers)) if markers.hidden else []
    ends = places_of(tokens.input_ids, () if markers.eos is None else (markers.eos,))
    for number, (start, end) in enumerate(spans):
        passed_over = last_only and number < len(spans) - 1
        for first, behind in _in_row(kept, start, end):
            if passed_over:
                marks.put(first, behind, (False, Reason.EARLIER))
                continue
            marks.put(first, behind, (True, Reason.MARKER))
            for a, b, part in clipped(parts, first, behind) if closed else ():
                if part is Part.TERMINATOR:
                    marks.put(a, b, (True, Reason.TERMINATOR))
            for at in ends[bisect_left(ends, first) : bisect_left(ends, behind)]:
                marks.put(at, at + 1, (True, Reason.TERMINATOR))
            for a, b, on in clipped(trained, first, behind) if masked else ():
                for c, d, reason in clipped(why, a, b) if not on else ():
                    marks.put(c, d, (False, reason))
        if hidden and not passed_over:
            for at in hidden[bisect_left(hidden, start) : bisect_left(hidden, end)]:
                for first, behind in _in_row(kept, at, at + 1):
                    marks.put(first, behind, (False, Reason.FORCED))
        for first, behind in _in_row(kept, end, end + 1) if spaced else ():
            if parts[first] is Part.SEPARATOR:
                marks.put(first, behind, (marks.at(first)[0], Reason.TRAILING))
    return label_rules.drawn((end - start, mark) for start, end, mark in marks.runs().runs())


def _in_row(kept: Ranges, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Where a range of the kept tokens stands in the row."""
    at = 0
    for first, behind in kept:
        size = max(behind - first, 0)
        a, b = max(start - at, 0), min(end - at, size)
        if a < b:
            yield first + a, first + b
        at += size


def relabelled(packs: Iterable[Pack], markers: Markers, *, last_only: bool) -> Iterator[Pack]:
    """Packs of unlabelled rows as train_on_responses_only labels them, but for those of which it trains nothing: spans
    are searched in the whole pack."""
    for pack in packs:
        spans, hidden = spans_of(pack.input_ids, markers), hidden_places(pack.input_ids, markers)
        trained = {at for start, end in (spans[-1:] if last_only else spans) for at in range(start, end)} - hidden
        labels = (token if at in trained else IGNORE_INDEX for at, token in enumerate(pack.input_ids))
        if trained:
            yield replace(pack, labels=tuple(labels))
