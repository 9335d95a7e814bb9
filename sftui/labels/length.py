"""Truncation: which tokens survive, and which rows do not."""

from __future__ import annotations

from collections.abc import Sequence

from sftui.errors import RecipeError
from sftui.flat import Ranges
from sftui.model import IGNORE_INDEX, Trained
from sftui.recipe import Length

Kept = Ranges


def keep(count: int, options: Length) -> tuple[Kept, str | None]:
    """The token ranges that survive and, where the whole row goes, why.

    `cut_right` keeps the first `max` tokens, `cut_left` the last. RecipeError for a policy that
    only a trainer's own preset knows.
    """
    everything: Kept = ((0, count),)
    if count < options.min_tokens:
        return everything, f"{count} tokens, fewer than length.min_tokens {options.min_tokens}"
    if options.max is None or count <= options.max:
        return everything, None
    if options.over == "cut_right":
        return ((0, options.max),), None
    if options.over == "cut_left":
        return ((count - options.max, count),), None
    if options.over == "drop":
        return everything, f"{count} tokens, more than length.max {options.max}"
    if options.over == "error":
        raise RecipeError(
            f"the row has {count} tokens and the trainer stops at rows over length.max {options.max}",
            fix="raise length.max or remove the row",
        )
    raise RecipeError(
        f"length.over {options.over} belongs to a trainer's own preset", fix="choose that trainer's preset"
    )


def unlabelled(labels: Sequence[int]) -> bool:
    """Whether nothing of it is trained."""
    if type(labels) is Trained:
        return not labels.ranges
    return labels.count(IGNORE_INDEX) == len(labels)


def within(kept: Kept, values: Sequence[int]) -> tuple[int, ...]:
    """The values inside the kept ranges, in order."""
    if kept == ((0, len(values)),) and isinstance(values, tuple):
        return values
    if len(kept) == 1:
        return tuple(values[kept[0][0] : kept[0][1]])
    return tuple(value for start, end in kept for value in values[start:end])
