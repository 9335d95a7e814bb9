"""The figures of an audit: frozen, plain, the same whoever gathered it in whatever order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

from sftui.audit.bars import short
from sftui.text import many, share

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
class LossShare:
    """Trained tokens of one `kind` (role, file, length, or a column that says the source) and `name`: how many they
    are, or what their weights add up to, and their part of the loss where it is averaged over the tokens of a step, of
    a batch on one device, and of each row."""

    kind: str
    name: str
    tokens: float
    step: float
    batch: float
    sample: float


@dataclass(frozen=True, slots=True)
class LossFigures:
    """Whose loss it is, in the mean over all orders of the rows; the first token of a row is never learnt.

    `over` is what the trainer averages over: `step`, `batch`, or empty where that is not known. `batch` and `step` are
    their rows, or packs, on one device; with None steps are so large that each token weighs the same. `in_pack` are the
    rows of a pack in the mean (1: none are packed), which are taken to meet there by chance. Of `rows` that reach the
    trainer `unlabelled` have nothing to learn, and `without_label` is how likely all of a batch have not.
    `of_row` maps how many tokens of a row are trained to its part of the loss, each weight 1; `heaviest` is that of the
    1 % of rows that have most. Both, as `LossShare`, by step, batch and sample.
    """

    over: str
    batch: int
    step: int | None
    in_pack: float
    rows: int
    unlabelled: int
    without_label: float
    of_row: Mapping[int, tuple[float, ...]]
    heaviest: tuple[float, ...]
    shares: tuple[LossShare, ...]

    @property
    def sentences(self) -> tuple[str, ...]:
        """What the trainer averages over, what is assumed, and how often a batch has nothing to learn."""
        unit = "row" if self.in_pack == 1 else "pack"
        step = "so large that all tokens weigh the same" if self.step is None else many(self.step, unit)
        batch, own = many(self.batch, unit), "* is the trainer's" if self.over else "the trainer's is unknown"
        said = [
            f"shares of the loss averaged over the trained tokens of a step ({step}), a batch ({batch}) or a row; {own}"
        ]
        if self.in_pack != 1:
            said.append(f"about {self.in_pack:.1f} rows per pack, assuming that rows are packed at random")
        percent = f"{100 * self.without_label:.3g}" if self.without_label >= 1e-5 else "<0.001"
        chance = f"{percent} % of the batches are" if self.without_label else "no batch is"
        effect = ", and their loss is NaN" if self.without_label and self.over == "batch" else ""
        rows = f"{self.unlabelled:,} of {many(self.rows, 'row')} have no trained token; {chance} without one{effect}"
        return (*said, rows if self.unlabelled else "every row has a trained token")

    def compared(self, most: int) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
        """Name, tokens and parts, as text, of the first so many groups of each kind that share the loss with another of
        it, then of the rows that have most of it."""
        kinds = [[*alike] for _, alike in groupby(self.shares, key=attrgetter("kind"))]
        groups: list[tuple[str, str, tuple[float, ...]]] = [
            (f"{one.kind} {one.name or 'no message'}", short(round(one.tokens)), (one.step, one.batch, one.sample))
            for alike in kinds
            for one in alike[:most]
            if len(alike) > 1
        ]
        groups.append(("1 % of rows with most", "", self.heaviest))
        return tuple(
            (name, tokens, tuple(share(round(1e6 * part), 1_000_000, 1) for part in parts))
            for name, tokens, parts in groups
        )


@dataclass(frozen=True, slots=True)
class Figures:
    """Everything counted. Token figures are before anything is cut, but those named `received`.

    Rows that evaluate stand apart, in `evaluation_rows` and `evaluation_tokens` (as the trainer receives them), in what
    stops and in the sets of findings: all else is of the rows that train.

    `lengths` maps a length in tokens to how many rows have it; `shares` maps a whole per cent (rounded down) to
    how many rows have that part of their tokens trained. Of `paired` rows each side counts in `tokenized`, `lengths`,
    `shares` and `limits`. The loss budgets count trained tokens that reach the
    trainer: by role (`""`: no message), by message index (-1: none), by special token, by part. `weights` are None
    where the trainer's loss has none, `loss` where nothing is trained or not everything is counted yet.
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
    loss: LossFigures | None = None
    paired: int = 0

    @property
    def unit(self) -> str:
        """What `tokenized`, `lengths`, `shares` and `limits` count."""
        return "sides" if self.paired else "rows"
