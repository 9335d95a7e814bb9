"""A preference in figures and words: how long its sides are, what each trains, and where they part."""

from __future__ import annotations

from collections.abc import Mapping

from sftui.model import SIDES, Inspection, PairFigures, Reason, common_prefix
from sftui.text import many
from sftui.views.table import LEARNT, TokenTable


def pair_figures(inspection: Inspection) -> PairFigures | None:
    """None of a row that is no preference, or has no tokens."""
    chosen, *others = inspection.alone
    if not others or chosen.tokens is None or others[0].tokens is None:
        return None
    other = others[0]
    margin = inspection.row.data.get("margin") if isinstance(inspection.row.data, Mapping) else None
    shown = f"{margin:g}" if isinstance(margin, int | float) else ""
    ids, trained = (_ids(chosen), _ids(other)), (chosen.trained, other.trained)
    return PairFigures((len(ids[0]), len(ids[1])), trained, common_prefix(*ids), shown, _scored(chosen))


def _scored(side: Inspection) -> bool:
    return side.labels is not None and Reason.SCORED in side.labels.reasons


def _ids(side: Inspection) -> tuple[int, ...]:
    """What the trainer receives of a side, or what there is of one that it never gets."""
    return side.example.input_ids if side.example is not None else side.tokens.input_ids if side.tokens else ()


def side_words(side: Inspection) -> str:
    """The length of a side, where its loss begins and ends, and what is cut."""
    if side.tokens is None:
        return "no tokens"
    words, labels = many(len(_ids(side)), "token"), side.labels
    if labels is not None:
        loss = [(max(a, c), min(b, d)) for a, b in labels.carrying for c, d in labels.kept if max(a, c) < min(b, d)]
        first, last = (loss[0][0], loss[-1][1] - 1) if loss else (0, 0)
        what = "score" if _scored(side) else f"{side.trained:,} trained"
        words += f", {what} at {first:,}{f'–{last:,}' if last > first else ''}" if loss else ", none trained"
    return words + (f", {side.cut:,} cut" if side.cut else "")


def pair_words(pair: PairFigures) -> str:
    """What both sides share, and which one is longer."""
    chosen, rejected = pair.lengths
    longer = (
        f"{SIDES[rejected > chosen]} is {abs(chosen - rejected):,} longer" if chosen != rejected else "equal lengths"
    )
    shared = "both sides are the same" if pair.shared == chosen == rejected else f"{pair.shared:,} shared, {longer}"
    return shared + (f", margin {pair.margin}" if pair.margin else "")


def parting(one: TokenTable, other: TokenTable) -> int:
    """The token of `other` before which both sides are alike, and nothing of it is trained."""
    trained = next((at for at, glyph in enumerate(other.loss) if glyph in LEARNT), len(other))
    return min(common_prefix(one.ids, other.ids), common_prefix(one.loss, other.loss), trained)
