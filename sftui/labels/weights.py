"""Loss weights along the tokens: what messages say of them, and what becomes of them on the way to the model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sftui.labels.length import Kept
from sftui.model import Example, Message
from sftui.runs import Runs, clipped, joined, together

USUAL = 1.0
"""The weight of a message that says none."""
NO_LOSS = 0.0
"""The weight of what is masked, and of padding."""


def by_message(flags: Runs[bool], messages: Sequence[int], given: Sequence[Message]) -> Runs[float]:
    """Each trained token's weight is that of its message, 1 where the message says none; what is masked weighs 0.

    `flags` and `messages` run along the tokens; a token of no message (an appended EOS) weighs 1.
    """
    said = [USUAL if message.weight is None else message.weight for message in given]
    return joined(
        (end - start, (said[owner] if 0 <= owner < len(said) else USUAL) if on else NO_LOSS)
        for start, end, on, owner in together(flags, messages)
    )


def weights_within(kept: Kept, weights: Runs[float] | None) -> Runs[float] | None:
    """The weights inside the kept ranges, in order; None where there are none."""
    if weights is None or kept == ((0, len(weights)),):
        return weights
    return joined((b - a, weight) for start, end in kept for a, b, weight in clipped(weights, start, end))


def weights_joined(stretches: Iterable[tuple[Example, int, int]], padding: int = 0) -> Runs[float] | None:
    """The weights of stretches of examples end to end, and of so much padding behind them; None where none has any.

    A stretch of an example without weights counts as it does elsewhere: 1 for each token.
    """
    held = list(stretches)
    if all(example.weights is None for example, _, _ in held):
        return None
    parts: list[tuple[int, float]] = []
    for example, start, end in held:
        if example.weights is None:
            parts.append((end - start, USUAL))
        else:
            parts += [(b - a, weight) for a, b, weight in clipped(example.weights, start, end)]
    return joined([*parts, (padding, NO_LOSS)])


def weights_padded(
    rows: Sequence[Runs[float] | None], width: int, side: str = "right"
) -> tuple[Runs[float], ...] | None:
    """The weights of the rows of a rectangle, 0 at padding; None where not every row has some."""
    made: list[Runs[float]] = []
    for one in rows:
        if one is None:
            return None
        gap = (width - len(one), NO_LOSS)
        parts = [(end - start, weight) for start, end, weight in one.runs()]
        made.append(joined([gap, *parts] if side == "left" else [*parts, gap]))
    return tuple(made)
