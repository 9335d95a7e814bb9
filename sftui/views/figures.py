"""The figures of the whole dataset as lines: plots and tables that need neither colour nor a wide screen.

The upright bars are drawn by plotext, as text without styles; every number also stands beside its bar or in a table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from sftui.audit.bars import length_bars, share_bars, short
from sftui.text import cell_width, clip, fit, many, share, visible
from sftui.views.cells import Line, Role, crop, line, wrap

if TYPE_CHECKING:
    from sftui.audit.figures import Figures, GroupFigure, WeightFigures

SHOWN = 8
"""Names of a list; more are counted together."""
SHORTEST_CUT, LONGEST_NAME = 12, 60
"""Cells that names must share before these are left out, and cells that a name has at most."""
NARROW_TABLE = 73
"""Cells below which what a limit takes is told in parts of the whole alone."""
PLOT_HEIGHT = 9
WIDEST_PLOT = 100
BAR, HALF = "█", "▌"


def figure_lines(figures: Figures, width: int) -> tuple[Line, ...]:
    """Every figure, one block below the other, at most `width` cells wide."""
    return tuple(crop(cells, width) for cells in _blocks(figures, max(width, 20)))


def _blocks(figures: Figures, width: int) -> Iterator[Line]:
    part = f" ({share(figures.trained, figures.tokens, 1)})" if figures.tokens else ""
    yield from wrap(
        line(
            (many(figures.rows, "row"), Role.TITLE),
            f" · {figures.tokens:,} tokens · {figures.trained:,} trained{part}",
        ),
        width,
    )
    yield from wrap(line((_received(figures), Role.DIM)), width)
    if figures.weights is not None:
        yield from wrap(line((weight_words(figures.weights), Role.DIM)), width)
    if figures.evaluation_rows:
        rows = many(figures.evaluation_rows, "evaluation row")
        yield from wrap(
            line((f"{rows}, {figures.evaluation_tokens:,} tokens, counted apart", Role.DIM)),
            width,
        )
    if figures.tokenized:
        yield from _titled("Rows by length in tokens", column_lines(length_bars(figures.lengths), width))
        yield from wrap(line((_quantiles(figures.quantiles), Role.DIM)), width)
        yield from _titled("Rows by per cent of tokens trained", column_lines(share_bars(figures.shares), width))
        yield from _titled("Effect of a length limit", _limits(figures, width))
    if figures.by_role:
        roles = {name or "no message": count for name, count in figures.by_role.items()}
        messages = {
            f"message {index}" if index >= 0 else "no message": count for index, count in figures.by_message.items()
        }
        for title, counts in (
            ("Trained tokens by role", roles),
            ("Trained tokens by part", figures.by_part),
            ("Trained tokens by message", messages),
            ("Trained special tokens", figures.by_special),
        ):
            if counts:
                yield from _titled(title, bar_lines(counts, width))
    if figures.weights is not None and figures.weights.tokens:
        weights = {f"weight {name}": count for name, count in figures.weights.by_weight.items()}
        yield from _titled("Trained tokens by weight in the loss", bar_lines(weights, width))
    repeats = (figures.repeated, figures.answered_again, figures.leaked)
    yield from _titled("Duplicates and overlap", _groups(repeats, width))
    for title, groups in (
        ("Dropped by the trainer", figures.drops),
        ("Stopped at", figures.stops),
        ("Roles in order", figures.signatures),
        ("Template branches", figures.branches),
        ("Findings together", figures.finding_sets),
    ):
        if groups:
            yield from _titled(title, _groups(groups, width))
    if len(figures.sources) > 1:
        yield from _titled("Sources", _sources(figures, width))


def column_lines(bars: Sequence[tuple[str, int]], width: int, height: int = PLOT_HEIGHT) -> tuple[Line, ...]:
    """Upright bars with their labels below and their counts above; lying ones where there is no room."""
    room = min(width, WIDEST_PLOT) - 1
    step = room // max(1, len(bars))
    if not bars or step < 5:
        return bar_lines(dict(bars), width, shown=len(bars))
    import plotext

    plotext.clear_figure()
    plotext.theme("clear")
    plotext.frame(False)
    plotext.plotsize(step * len(bars), height)
    plotext.bar([str(i) for i in range(len(bars))], [count for _, count in bars], width=0.5, marker=BAR)
    plotext.yticks([])
    plotext.xticks([])
    drawn = plotext.uncolorize(plotext.build()).splitlines()
    plotext.clear_figure()
    counts = "".join((short(count) if count else "·").center(step) for _, count in bars)
    labels = "".join(visible(label).center(step) for label, _ in bars)
    return (
        line((counts, Role.NUMBER)),
        *(line((text.rstrip(), Role.TRAINED)) for text in drawn if text.strip()),
        line((labels, Role.LABEL)),
    )


def bar_lines(counts: Mapping[str, int], width: int, shown: int = SHOWN) -> tuple[Line, ...]:
    """Lying bars: the name, the count, its part of the whole, and a bar as long as that part."""
    total, most = sum(counts.values()) or 1, max(counts.values(), default=0) or 1
    items = list(counts.items())
    rest = sum(count for _, count in items[shown:])
    items = items[:shown] + ([("all others", rest)] if rest else [])
    names = max((cell_width(visible(name)) for name, _ in items), default=0)
    names = min(names, max(8, width // 3))
    room = max(4, min(40, width - names - 22))
    return tuple(
        line(
            (fit(visible(name), names), Role.KEY),
            (f" {count:>11,} {share(count, total, 1):>7} ", Role.NUMBER),
            (_bar(count, most, room), Role.TRAINED),
        )
        for name, count in items
    )


def _bar(count: int, most: int, room: int) -> str:
    halves = round(2 * room * count / most)
    return BAR * (halves // 2) + (HALF if halves % 2 or (count and not halves) else "")


def _received(figures: Figures) -> str:
    """What of all that reaches the trainer; the numbers are not said again where it is everything."""
    got = (figures.received_rows, figures.received_tokens, figures.received_trained)
    if got == (figures.rows, figures.tokens, figures.trained):
        return "every row reaches the trainer"
    rows = many(got[0], "row")
    return f"{rows}, {got[1]:,} tokens reach{'es' * (got[0] == 1)} the trainer, {got[2]:,} with a label"


def weight_words(weights: WeightFigures) -> str:
    """What the weights of the trained tokens add up to."""
    if not weights.tokens:
        return "each trained token weighs 1 in the loss"
    total = "not all of them numbers" if weights.total is None else f"{weights.total:,.6g} altogether"
    return f"weights in the loss: {total}; {many(weights.tokens, 'trained token')} with another one than 1"


def _titled(title: str, lines: Iterator[Line] | tuple[Line, ...]) -> Iterator[Line]:
    yield ()
    yield line((title, Role.TITLE))
    yield from lines


def _quantiles(quantiles: Mapping[float, int]) -> str:
    names = {0.0: "shortest", 0.5: "median", 1.0: "longest"}
    return " · ".join(
        f"{names.get(part, f'{100 * part:.0f} %')} {'≤ ' if 0 < part < 1 else ''}{length:,}"
        for part, length in quantiles.items()
    )


def _sources(figures: Figures, width: int) -> Iterator[Line]:
    """Each source with its figures; its name in a line of its own where there is no room beside them."""
    made = [
        line(
            f"{one.rows:>9,} rows {one.tokens:>12,} tokens {one.trained:>12,} trained  ",
            (visible(one.name), Role.VALUE),
        )
        for one in figures.sources
    ]
    if all(sum(run.width for run in cells) <= width for cells in made):
        yield from made
        return
    for one in figures.sources:
        yield from wrap(line((visible(one.name), Role.VALUE)), width)
        yield from wrap(
            line(f"  {many(one.rows, 'row')} · {one.tokens:,} tokens · {one.trained:,} trained"), width, "  "
        )


def _limits(figures: Figures, width: int) -> Iterator[Line]:
    if width < NARROW_TABLE:
        yield from wrap(
            line(
                (
                    (
                        "rows over it, trained tokens lost where those are cut, rows then without a label, trained"
                        " tokens lost where those are dropped"
                    ),
                    Role.DIM,
                )
            ),
            width,
        )
        yield line(("  limit     over     cut  no label  dropped   packs", Role.LABEL))
        for one in figures.limits:
            cut, dropped = (share(lost, figures.trained or 1, 1) for lost in (one.trained_cut, one.trained_dropped))
            packs = "…" if one.packs is None else format(one.packs, ",")
            yield line(
                (f"{one.limit:>7,}", Role.KEY), f" {one.over:>8,} {cut:>7} {one.unlabelled:>9,} {dropped:>8} {packs:>7}"
            )
        return
    yield line(("  limit  rows over   cut: trained lost  no label  dropped: lost     packs", Role.LABEL))
    trained = figures.trained or 1
    for one in figures.limits:
        yield line(
            (f"{one.limit:>7,}", Role.KEY),
            f" {one.over:>10,}",
            f" {short(one.trained_cut):>10} {share(one.trained_cut, trained, 1):>7}",
            f" {one.unlabelled:>9,}",
            f" {share(one.trained_dropped, trained, 1):>13}",
            f" {'…' if one.packs is None else format(one.packs, ','):>9}",
        )


def apart(names: Sequence[str], room: int) -> list[str]:
    """The names, without what they all begin with where that leaves no room for what tells them apart.

    Those that still look the same in that room are told apart among themselves.
    """
    told = [visible(name) for name in names]
    if len(told) < 2 or max(map(cell_width, told)) <= room:
        return told
    told = _without_beginning(told)
    seen = [clip(name, room) for name in told]
    for text, count in Counter(seen).items():
        alike = [number for number, other in enumerate(seen) if other == text]
        if 1 < count < len(told):
            for number, name in zip(alike, apart([told[number] for number in alike], room)):
                told[number] = name
    return told


def _without_beginning(told: list[str]) -> list[str]:
    first, last = min(told), max(told)
    shared = next((at for at, (one, other) in enumerate(zip(first, last)) if one != other), len(first))
    cut = max(first.rfind("<", 0, shared), first.rfind(" ", 0, shared) + 1)
    return [f"…{name[cut:]}" for name in told] if cut > SHORTEST_CUT else told


def _groups(groups: Sequence[GroupFigure], width: int) -> Iterator[Line]:
    rows = [
        f"  rows {', '.join(map(str, one.rows[:4]))}{', …' if one.count > 4 else ''}" if one.rows else ""
        for one in groups[:SHOWN]
    ]
    names = apart([one.name for one in groups[:SHOWN]], min(LONGEST_NAME, width - 10))
    for one, name, listed in zip(groups, names, rows):
        yield line((f"{one.count:>9,} ", Role.NUMBER), (clip(name, LONGEST_NAME), Role.VALUE), (listed, Role.DIM))
    left = groups[SHOWN:]
    if left:
        yield line((f"{sum(one.count for one in left):>9,} ", Role.NUMBER), (f"in {len(left):,} more groups", Role.DIM))
