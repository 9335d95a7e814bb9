"""The figures of an audit: frozen, plain, the same whoever gathered it in whatever order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0)


@dataclass(frozen=True, slots=True)
class LimitFigure:
    """One length limit: what rows longer than it lose when cut on the right, or when dropped whole.

    `unlabelled` rows have trained tokens, but none before the limit. `packs` are the sequences of `limit` tokens
    that best-fit-decreasing packing of the cut rows needs, `waste` the padding in them; None where not worked out.
    """

    limit: int
    over: int
    tokens_cut: int
    trained_cut: int
    unlabelled: int
    tokens_dropped: int
    trained_dropped: int
    packs: int | None
    waste: int | None


@dataclass(frozen=True, slots=True)
class GroupFigure:
    """Rows that have something in common: how many, and the first of them."""

    name: str
    count: int
    rows: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SourceFigure:
    """One file of several."""

    name: str
    rows: int
    tokens: int
    trained: int
    dropped: int


@dataclass(frozen=True, slots=True)
class WeightFigures:
    """The weights in the loss of the trained tokens that reach the trainer.

    `tokens` are those with another weight than 1, `total` what all weights add up to (None: some are no finite number),
    `by_weight` how many tokens have which, known by its first three digits.
    """

    tokens: int
    total: float | None
    by_weight: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Figures:
    """Everything counted. Token figures are before anything is cut, but those named `received`.

    Rows that evaluate stand apart, in `evaluation_rows` and `evaluation_tokens` (as the trainer receives them), in what
    stops and in the sets of findings: all else is of the rows that train.

    `lengths` maps a length in tokens to how many rows have it; `shares` maps a whole per cent (rounded down) to
    how many rows have that part of their tokens trained. The loss budgets count trained tokens that reach the
    trainer: by role (`""`: no message), by message index (-1: none), by special token, by part. `weights` are None
    where the trainer's loss has none.
    """

    rows: int
    tokenized: int
    tokens: int
    trained: int
    received_rows: int
    received_tokens: int
    received_trained: int
    lengths: Mapping[int, int]
    quantiles: Mapping[float, int]
    shares: Mapping[int, int]
    limits: tuple[LimitFigure, ...]
    by_role: Mapping[str, int]
    by_message: Mapping[int, int]
    by_special: Mapping[str, int]
    by_part: Mapping[str, int]
    drops: tuple[GroupFigure, ...]
    stops: tuple[GroupFigure, ...]
    repeated: GroupFigure
    answered_again: GroupFigure
    leaked: GroupFigure
    sources: tuple[SourceFigure, ...]
    signatures: tuple[GroupFigure, ...]
    branches: tuple[GroupFigure, ...]
    finding_sets: tuple[GroupFigure, ...]
    evaluation_rows: int = 0
    evaluation_tokens: int = 0
    weights: WeightFigures | None = None
