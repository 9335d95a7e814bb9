"""Which tokens Unsloth trains: the masks drawn before train_on_responses_only, and its own.

Source: unsloth_zoo 2026.10.7 and 2026.8.13, unsloth_zoo/dataset_utils.py `sft_prepare_dataset`
(completion_mask, assistant_masks), `train_on_responses_only`. The collator that sft_prepare_dataset
sets for ready ids (which would never train the pad id) is none that a run sees: TRL's constructor
puts its own in place afterwards.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import reduce

from sftui import labels as label_rules
from sftui.errors import TemplateError
from sftui.model import IGNORE_INDEX, Conversation, Kind, Pack, Part, Reason, Rendered, Tokens
from sftui.recipe import Recipe
from sftui.runs import as_runs
from sftui.trainers.base import Toolbox
from sftui.trainers.trl.trainer import completion_only, stored_masks
from sftui.trainers.trl.training_templates import training_toolbox, training_twin
from sftui.trainers.unsloth.markers import Markers, hidden_places, spans_of
from sftui.trainers.unsloth.own import UnslothOptions

Kept = tuple[tuple[int, int], ...]

_TAG = re.compile(r"\{%-?\s*generation\s*-?%\}")
MASKS_READ = (1, 7)
"""Since this TRL the collator no longer reads mask columns, and Unsloth before 2026.10 makes no labels of them."""


def assistant_only(recipe: Recipe) -> bool:
    """assistant_only_loss."""
    return recipe.mask.rule == "generation_tag"


def falls_back(recipe: Recipe, source: str) -> bool:
    """Whether assistant_only_loss searches for markers: no {% generation %} tag and no training copy of TRL's."""
    return assistant_only(recipe) and _TAG.search(source) is None and training_twin(source) is None


def training_tools(tools: Toolbox) -> Toolbox:
    """The toolbox with TRL's training template where it has one; as it is where Unsloth falls back to markers."""
    try:
        return training_toolbox(tools)
    except TemplateError:
        return tools


def before_markers(
    tokens: Tokens,
    rendered: Rendered,
    conversation: Conversation,
    kept: Kept,
    recipe: Recipe,
    markers: Markers | None,
    newest: bool,
) -> label_rules.Drawn:
    """The mask that a row brings along when train_on_responses_only sees it."""
    subject = label_rules.Subject(tokens, rendered, conversation)
    drawn: list[label_rules.Drawn] = []
    if conversation.kind is Kind.TOKENS:
        if conversation.labels is not None:
            return label_rules.draw(subject, replace(recipe.mask, rule="given"))
        if newest:
            drawn = stored_masks(conversation, len(tokens), recipe)
    else:
        if tokens.prompt_ids is not None and completion_only(recipe) is not False and _masks_hold(recipe, newest):
            drawn.append(label_rules.completion(subject, recipe.mask))
        if assistant_only(recipe):
            if markers is None:
                drawn.append(label_rules.generation_tag(subject))
            else:
                whole: Kept = ((0, len(tokens)),)
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
    tokens: Tokens, before: label_rules.Drawn, kept: Kept, markers: Markers, *, last_only: bool
) -> label_rules.Drawn:
    """The mask after train_on_responses_only: inside a span and trained before."""
    places = [i for start, end in kept for i in range(start, end)]
    parts, trained, why = tuple(tokens.parts), tuple(before[0]), tuple(before[1])
    ids = [tokens.input_ids[i] for i in places]
    spans = spans_of(ids, markers)
    hidden = hidden_places(ids, markers)
    flags, reasons = [False] * len(tokens), [Reason.NOT_MARKER] * len(tokens)
    for i in set(range(len(tokens))).difference(places):
        reasons[i] = Reason.TRUNCATED
    for number, (start, end) in enumerate(spans):
        for at in range(start, end):
            i = places[at]
            if last_only and number < len(spans) - 1:
                reasons[i] = Reason.EARLIER
            elif at in hidden:
                reasons[i] = Reason.FORCED
            elif not trained[i]:
                reasons[i] = why[i]
            else:
                flags[i] = True
                reasons[i] = (
                    Reason.TERMINATOR
                    if tokens.input_ids[i] == markers.eos or parts[i] is Part.TERMINATOR
                    else Reason.MARKER
                )
        if end < len(places) and parts[places[end]] is Part.SEPARATOR:
            reasons[places[end]] = Reason.TRAILING
    return as_runs(flags), as_runs(reasons)


def relabelled(pack: Pack, markers: Markers, *, last_only: bool) -> Pack:
    """A pack of unlabelled rows as train_on_responses_only labels it: spans are searched in the whole pack."""
    spans, hidden = spans_of(pack.input_ids, markers), hidden_places(pack.input_ids, markers)
    labels = [IGNORE_INDEX] * len(pack.labels)
    for start, end in spans[-1:] if last_only else spans:
        for at in range(start, end):
            if at not in hidden:
                labels[at] = pack.input_ids[at]
    return replace(pack, labels=tuple(labels))


def first_masked(pack: Pack) -> Pack:
    """A pack as the collator labels it: the first token of each document carries no loss."""
    if pack.position_ids is None:
        return pack
    return replace(
        pack,
        labels=tuple(IGNORE_INDEX if place == 0 else label for place, label in zip(pack.position_ids, pack.labels)),
    )
