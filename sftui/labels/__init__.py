"""Tokens → Labels: the mask rules, truncation, shift and batch."""

from __future__ import annotations

from dataclasses import replace

from sftui.flat import Ranges, cut, moved
from sftui.labels.batch import collate, padded_width, refuse_too_large
from sftui.labels.length import keep, unlabelled, within
from sftui.labels.masks import (
    Drawn,
    Subject,
    applied,
    applied_to_ids,
    both,
    by_flags,
    char_index,
    completion,
    draw,
    drawn,
    generation_tag,
    outside,
    trained,
    whole,
)
from sftui.labels.weights import by_message, weights_joined, weights_padded, weights_within
from sftui.model import (
    IGNORE_INDEX,
    Conversation,
    Example,
    Kind,
    Labels,
    Reason,
    Rendered,
    Tokens,
    counted,
    flat_example,
    flat_labels,
)
from sftui.recipe import Recipe
from sftui.runs import Runs, as_runs, joined, together

__all__ = [
    "Drawn",
    "Subject",
    "applied",
    "applied_to_ids",
    "both",
    "by_flags",
    "char_index",
    "collate",
    "completion",
    "draw",
    "drawn",
    "example",
    "generation_tag",
    "keep",
    "label",
    "on_ids",
    "outside",
    "padded_width",
    "refuse_too_large",
    "trained",
    "unlabelled",
    "weights_joined",
    "weights_padded",
    "weights_within",
    "whole",
    "within",
]

UNLABELLED = "no trained token is left"


def label(tokens: Tokens, rendered: Rendered, conversation: Conversation, recipe: Recipe) -> Labels:
    """One label and one reason per token, what survives truncation, and why a row is dropped.

    Labels are un-shifted. With loss.weights `float` each token has its message's weight; one that weighs 0 is given
    as masked by it. RecipeError where the recipe's rule cannot apply to the row.
    """
    subject = Subject(tokens, rendered, conversation)
    mask, reasons = draw(subject, recipe.mask)
    kept, dropped = keep(len(tokens), recipe.length)
    may_drop = dropped is None and recipe.length.drop_unlabelled
    notes = () if rendered.exact else ("who wrote which token is a best effort here",)
    if tokens.flat is not None and recipe.loss.weights != "float":
        ranges = trained(mask)
        if may_drop and not moved(ranges, kept):
            dropped = UNLABELLED
        return flat_labels(tokens.flat, ranges, reasons, kept, dropped, notes)
    if conversation.kind is Kind.TOKENS:
        labels = applied(mask, tokens.input_ids if conversation.labels is None else conversation.labels)
    else:
        labels = applied_to_ids(mask, tokens.input_ids)
    weights: Runs[float] | None = None
    if recipe.loss.weights == "float":
        stored = conversation.extra.get("loss_weights") if conversation.kind is Kind.TOKENS else None
        weights = as_runs(stored) if stored else by_message(mask, tokens.messages, conversation.messages)
        reasons = weightless(reasons, mask, weights)
    if may_drop and unlabelled(within(kept, counted(labels, weights, IGNORE_INDEX))):
        dropped = UNLABELLED
    return Labels(labels, reasons, kept, dropped, notes, weights)


def on_ids(
    tokens: Tokens, mask: Drawn, kept: Ranges, dropped: str | None = None, notes: tuple[str, ...] = ()
) -> Labels:
    """Labels that are the row's own ids where a mask trains them, as arrays where the ids came so."""
    if tokens.flat is not None:
        return flat_labels(tokens.flat, trained(mask[0]), mask[1], kept, dropped, notes)
    return Labels(applied_to_ids(mask[0], tokens.input_ids), mask[1], kept, dropped, notes)


def weightless(reasons: Runs[Reason], mask: Runs[bool], weights: Runs[float]) -> Runs[Reason]:
    """The reasons, with what a mask trains and a weight of 0 takes out of the loss given as such."""
    off = joined((end - start, on and weight == 0) for start, end, on, weight in together(mask, weights))
    return joined((end - start, Reason.WEIGHT if none else why) for start, end, why, none in together(reasons, off))


def unshifted(tokens: Tokens, labels: Labels) -> Example:
    """What is left of a row whose labels are not shifted and carry no weights, as arrays where they came so."""
    if labels.flat is not None:
        return flat_example(cut(labels.kept, labels.flat), moved(labels.ranges, labels.kept))
    ids = within(labels.kept, tokens.input_ids)
    return Example(ids, within(labels.kept, labels.labels), (1,) * len(ids))


def example(tokens: Tokens, labels: Labels, recipe: Recipe, attention: tuple[int, ...] | None = None) -> Example | None:
    """What the trainer receives for the row; None where it is dropped.

    Cut first, then shifted: `preshifted` drops the last input and the first label, so that
    `labels[i]` is what must be predicted from `input_ids[i]`. Weights go with the labels.
    """
    if labels.dropped is not None:
        return None
    ignore = recipe.mask.ignore_index
    if labels.flat is not None and attention is None and ignore == IGNORE_INDEX and recipe.loss.shift == "internal":
        return unshifted(tokens, labels)
    ids = within(labels.kept, tokens.input_ids)
    values = within(labels.kept, labels.labels)
    if ignore != IGNORE_INDEX:
        values = tuple(ignore if v == IGNORE_INDEX else v for v in values)
    mask = within(labels.kept, attention) if attention is not None else (1,) * len(ids)
    weights = weights_within(labels.kept, labels.weights)
    whole = Example(ids, values, mask, ignore_index=ignore, weights=weights)
    if recipe.loss.shift == "internal":
        return whole
    later = weights[1:] if weights is not None else None
    return replace(whole, input_ids=ids[:-1], labels=values[1:], attention_mask=mask[:-1], shifted=True, weights=later)
