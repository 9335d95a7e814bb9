"""The figures of the whole dataset as lines: bars and tables that need neither colour nor a wide screen.

Every number stands next to its bar or in a table, and a line says which rows are behind it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sftui.audit.bars import length_bars, share_bars, short
from sftui.audit.tallies import OTHERS, listed_by
from sftui.model import common_prefix
from sftui.text import cell_width, clip, fit, many, share, visible
from sftui.views.cells import Line, Role, crop, line, wrap

if TYPE_CHECKING:
    from sftui.audit.figures import Figures, GroupFigure, LossFigures, WeightFigures

SHOWN = 8
"""Names of a list; more are counted together."""
SHORTEST_CUT, LONGEST_NAME = 12, 60
"""Cells that names must share before these are left out, and cells that a name has at most."""
NARROW_TABLE = 73
"""Cells below which what a limit takes is given in parts of the whole alone."""
BAR, HALF = "█", "▌"


Behind = tuple[Line, str]
"""A line, and what asks for the rows behind its number (`listed_by`, or an order of rows); "" where it is of none."""


def figure_lines(figures: Figures, width: int) -> tuple[Behind, ...]:
    """Every figure, one block below the other, at most `width` cells wide."""
    return tuple((crop(cells, width), by) for cells, by in _blocks(figures, max(width, 20)))


def _blocks(figures: Figures, width: int) -> Iterator[Behind]:
    part = f" ({share(figures.trained, figures.tokens, 1)})" if figures.tokens else ""
    cuts = ", before cuts" * (figures.received_tokens < figures.tokens)
    words = f" · {figures.tokens:,} tokens · {figures.trained:,} trained{part}{cuts}"
    yield from _behind("", wrap(line((many(figures.rows, "row"), Role.TITLE), words), width))
    all_reach = figures.received_rows == figures.rows
    yield from _behind("" if all_reach else "dropped", wrap(line((_received(figures), Role.DIM)), width))
    if figures.weights is not None:
        yield from _behind("", wrap(line((weight_words(figures.weights), Role.DIM)), width))
    if figures.evaluation_rows:
        rows = many(figures.evaluation_rows, "evaluation row")
        words = f"{rows}, {figures.evaluation_tokens:,} tokens, counted separately"
        yield from _behind(listed_by("evaluation", "rows"), wrap(line((words, Role.DIM)), width))
    if figures.tokenized:
        counted = figures.unit.capitalize()
        lengths, shares = dict(length_bars(figures.lengths)), dict(share_bars(figures.shares))
        yield from _titled(f"{counted} by length in tokens", _bars("length", lengths, width, len(lengths)))
        yield from _behind("longest", wrap(line((_quantiles(figures.quantiles), Role.DIM)), width))
        bars = _bars("trained share", shares, width, len(shares))
        yield from _titled(f"{counted} by percentage of trained tokens", bars)
        yield from _titled("Effect of a length limit", _limits(figures, width))
        unlabelled = {f"{limit.limit:,}": limit.unlabelled for limit in figures.limits if limit.unlabelled}
        if unlabelled:
            bars = _bars("no label under", unlabelled, width, len(unlabelled), of=figures.rows + figures.paired)
            yield from _titled(f"{counted} that a length limit leaves without a label", bars)
    by_weight = figures.weights.by_weight if figures.weights is not None and figures.weights.tokens else {}
    for title, kind, counts, named in (
        ("Trained tokens by role", "role", figures.by_role, lambda name: name or "no message"),
        ("Trained tokens by part", "part", figures.by_part, str),
        ("Trained tokens by message", "message", figures.by_message, _message),
        ("Trained special tokens", "special", figures.by_special, str),
        ("Trained tokens by weight in the loss", "weight", by_weight, "weight {}".format),
    ):
        if counts:
            yield from _titled(title, _bars(kind, counts, width, SHOWN, named))
    if figures.loss is not None:
        yield from _titled("Share of the loss", _loss(figures.loss, width))
    repeats = (figures.repeated, figures.answered_again, figures.leaked)
    for title, kind, groups in (
        ("Duplicates and overlap", "repeats", repeats),
        ("Dropped by the trainer", "dropped for", figures.drops),
        ("Stopped at", "stopped at", figures.stops),
        ("Roles in order", "roles", figures.signatures),
        ("Template branches", "template", figures.branches),
        ("Findings together", "findings", figures.finding_sets),
    ):
        if groups:
            yield from _titled(title, _groups(kind, groups, width))
    if len(figures.sources) > 1:
        yield from _titled("Sources", _sources(figures, width))


def _behind(by: str, lines: Iterable[Line]) -> Iterator[Behind]:
    return ((cells, by) for cells in lines)


def _message(index: int | str) -> str:
    return f"message {index}" if isinstance(index, str) or index >= 0 else "no message"


def _bars(
    kind: str, counts: Mapping[Any, int], width: int, shown: int, named: Callable[[Any], str] = str, of: int = 0
) -> Iterator[Behind]:
    """Lying bars: the name, the count, its part of `of` (else of them all), and a bar as long as the count; behind each
    the rows that are listed under its name."""
    total, most = of or sum(counts.values()) or 1, max(counts.values(), default=0) or 1
    owned = [(named(key), count, listed_by(kind, str(key))) for key, count in counts.items()]
    items = [(name, count, by if count and name != OTHERS else "") for name, count, by in owned[:shown]]
    if rest := sum(count for _, count, _ in owned[shown:]):
        items.append(("all others", rest, ""))
    names = max((cell_width(visible(name)) for name, _, _ in items), default=0)
    names = min(names, max(8, width // 3))
    room = max(4, min(40, width - names - 22))
    for name, count, by in items:
        figure = f" {count:>11,} {share(count, total, 1):>7} "
        drawn = (bar(count, most, room), Role.TRAINED)
        yield line((fit(visible(name), names), Role.KEY), (figure, Role.NUMBER), drawn), by


def bar(count: int, most: int, room: int) -> str:
    halves = round(2 * room * count / most)
    return BAR * (halves // 2) + (HALF if halves % 2 or (count and not halves) else "")


def _received(figures: Figures) -> str:
    """What of all that reaches the trainer; the numbers are not said again where it is everything."""
    got = (figures.received_rows, figures.received_tokens, figures.received_trained)
    if got == (figures.rows, figures.tokens, figures.trained):
        return "every row reaches the trainer"
    rows = many(got[0], "row")
    return f"{rows}, {got[1]:,} tokens reach{'es' * (got[0] == 1)} the trainer, {got[2]:,} trained"


def weight_words(weights: WeightFigures) -> str:
    """What the weights of the trained tokens add up to."""
    if not weights.tokens:
        return "each trained token weighs 1 in the loss"
    total = "not all of them are numbers" if weights.total is None else f"{weights.total:,.6g} altogether"
    return f"weights in the loss: {total}; {many(weights.tokens, 'trained token')} with a weight other than 1"


def _titled(title: str, lines: Iterable[Behind]) -> Iterator[Behind]:
    yield (), ""
    yield line((title, Role.TITLE)), ""
    yield from lines


def _loss(loss: LossFigures, width: int) -> Iterator[Behind]:
    for words in loss.sentences:
        yield from _behind("", wrap(line((words, Role.DIM)), width))
    counted = width >= NARROW_TABLE  # else there is no room for how many tokens they are
    names = max(6, min(40, width - (34 if counted else 25)))
    heads = [f"{name}*" if name == loss.over else name for name in ("step", "batch", "row")]
    yield line((" " * names + "  tokens " * counted + " " + " ".join(f"{head:>7}" for head in heads), Role.LABEL)), ""
    for name, tokens, parts in loss.compared(SHOWN):
        named = (fit(visible(name), names), Role.KEY)
        figures = f" {tokens:>7} " * counted + " " + " ".join(f"{part:>7}" for part in parts)
        yield line(named, (figures, Role.NUMBER)), ""


def _quantiles(quantiles: Mapping[float, int]) -> str:
    names = {0.0: "shortest", 0.5: "median", 1.0: "longest"}
    return " · ".join(
        f"{names.get(part, f'{100 * part:.0f} %')} {'≤ ' if 0 < part < 1 else ''}{length:,}"
        for part, length in quantiles.items()
    )


def _sources(figures: Figures, width: int) -> Iterator[Behind]:
    """Each source with its figures; its name in a line of its own where there is no room next to them."""
    lines, blocks = [], []
    for source in figures.sources:
        name = (visible(source.name), Role.VALUE)
        counts = f"{source.rows:>9,} rows {source.tokens:>12,} tokens {source.trained:>12,} trained  "
        words = f"  {many(source.rows, 'row')} · {source.tokens:,} tokens · {source.trained:,} trained"
        lines.append((line(counts, name),))
        blocks.append((*wrap(line(name), width), *wrap(line(words), width, "  ")))
    fits = all(sum(run.width for run in cells) <= width for (cells,) in lines)
    for source, block in zip(figures.sources, lines if fits else blocks):
        yield from _behind(listed_by("source", source.name), block)


def _limits(figures: Figures, width: int) -> Iterator[Behind]:
    if width < NARROW_TABLE:
        words = "over the limit, trained tokens lost if they are cut, trained tokens lost if they are dropped"
        yield from _behind("", wrap(line((f"{figures.unit} {words}", Role.DIM)), width))
        heading = "  limit     over     cut  dropped   packs"
    else:
        heading = f"  limit {f'{figures.unit} over':>10}   cut: trained lost  dropped: lost     packs"
    yield line((heading, Role.LABEL)), ""
    for limit in figures.limits:
        lost = (limit.trained_cut, limit.trained_dropped)
        cut, dropped = (share(tokens, figures.trained or 1, 1) for tokens in lost)
        packs = "…" if limit.packs is None else format(limit.packs, ",")
        if width < NARROW_TABLE:
            words = f" {limit.over:>8,} {cut:>7} {dropped:>8} {packs:>7}"
        else:
            words = f" {limit.over:>10,} {short(limit.trained_cut):>10} {cut:>7} {dropped:>14} {packs:>9}"
        by = listed_by("over", f"{limit.limit:,}") if limit.over else ""
        yield line((f"{limit.limit:>7,}", Role.KEY), words), by


def apart(names: Sequence[str], room: int) -> list[str]:
    """The names, without what they all begin with where that leaves no room for what tells them apart.

    Those that still look the same in that room are distinguished among themselves.
    """
    shown = [visible(name) for name in names]
    if len(shown) < 2 or max(map(cell_width, shown)) <= room:
        return shown
    shown = _without_beginning(shown)
    seen = [clip(name, room) for name in shown]
    for text, count in Counter(seen).items():
        alike = [number for number, other in enumerate(seen) if other == text]
        if 1 < count < len(shown):
            for number, name in zip(alike, apart([shown[number] for number in alike], room)):
                shown[number] = name
    return shown


def _without_beginning(names: list[str]) -> list[str]:
    shared = names[0][: common_prefix(min(names), max(names))]
    cut = max(shared.rfind("<"), shared.rfind(" ") + 1)
    return [f"…{name[cut:]}" for name in names] if cut > SHORTEST_CUT else names


def group_names(kind: str, groups: Sequence[GroupFigure], room: int) -> list[str]:
    """The names of groups in so much room; turns that repeat are counted: `(user assistant) ×6`."""
    names = [group.name for group in groups]
    if kind == "roles":
        names = [_TURNS.sub(lambda seen: f"({seen[1]}) ×{seen[0].count(seen[1])}", name) for name in names]
    return apart(names, room)


_TURNS = re.compile(r"\b(\S+ \S+)(?: \1\b)+")


def _groups(kind: str, groups: Sequence[GroupFigure], width: int) -> Iterator[Behind]:
    names = group_names(kind, groups[:SHOWN], min(LONGEST_NAME, width - 10))
    for group, name in zip(groups, names):
        more = ", …" if group.count > 4 else ""
        rows = f"  rows {', '.join(map(str, group.rows[:4]))}{more}" if group.rows else ""
        count, by = f"{group.count:>9,} ", listed_by(kind, group.name) if group.count and group.name != OTHERS else ""
        yield line((count, Role.NUMBER), (clip(name, LONGEST_NAME), Role.VALUE), (rows, Role.DIM)), by
    left = groups[SHOWN:]
    if left:
        words = (f"in {len(left):,} more groups", Role.DIM)
        yield line((f"{sum(group.count for group in left):>9,} ", Role.NUMBER), words), ""
