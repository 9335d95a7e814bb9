"""Two or more recipes side by side for one row: tokens aligned in columns, one mask line a side; and why they differ,
cause by cause.

Nothing is shown by colour alone: █ trained, ▓ with another weight than 1, ░ masked, ✂ cut, a blank where a side has no
such token; the last line of a band marks what differs: ≠ the label, ~ the token, × the weight.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from operator import attrgetter

from sftui.comparison import Cause, Causes, Column, ComparisonCount, RowComparison, RowSide, Setting
from sftui.comparison.causes import DRAWN, EARLIER, LAST, REST, TEXT, TRAINER, Doing
from sftui.model import IGNORE_INDEX, SIDES
from sftui.recipe import Recipe
from sftui.text import cell_width, clip, fit, many, share, visible, visible_token
from sftui.views.cells import Line, LineBuilder, Role, bands, crop, line, wrap
from sftui.views.knobs import value_text
from sftui.views.table import CUT, LOSS_ROLES, MASKED, TRAINED, WEIGHTED
from sftui.views.words import EVALUATES

LABEL_DIFFERS = "≠"
TOKEN_DIFFERS = "~"
WEIGHT_DIFFERS = "×"
WIDEST = 14
"""Cells that one column takes at most; a longer token is clipped."""


def compare_lines(
    comparison: RowComparison, names: Sequence[str], width: int, *, differing: bool = False
) -> tuple[Line, ...]:
    """Every line of the comparison at `width` cells; `differing` leaves out bands in which nothing differs.

    `names` are the sides' names, e.g. `trl@1.16`; letters A, B, … stand for them where there is no
    room. Sides that give the same ids and labels share one line.
    """
    groups = _groups(comparison.sides)
    lines = [head for cells in _heads(comparison, names, groups) for head in wrap(cells, width, "  ")]
    gutter = _gutter(names, width)
    drawn = [group[0] for group in groups if comparison.sides[group[0]].tokens is not None]
    labels = {k: f"{_letter(k)} {visible(names[k])}" if gutter > 2 else _letter(k) for k in drawn}
    widths = [
        max(1, *(cell_width(_token_text(side, cell)) for side, cell in zip(comparison.sides, column.cells)))
        for column in comparison.columns
    ]
    apart = len(widths) if comparison.rejected is None else comparison.rejected
    for name, first, last in ((SIDES[0], 0, apart), (SIDES[1], apart, len(widths))):
        drawn_bands: list[Line] = []
        for start, end in pairwise((*bands(widths[first:last], width - gutter), last - first)):
            band, cells = comparison.columns[first + start : first + end], widths[first + start : first + end]
            if not differing or any(column.differs for column in band):
                drawn_bands += [(), *(crop(one, width) for one in _band(comparison.sides, labels, band, cells, gutter))]
        if drawn_bands and comparison.rejected is not None:
            lines += [(), line((name, Role.TITLE))]
        lines += drawn_bands
    return tuple(lines)


def difference_words(comparison: RowComparison) -> str:
    """What differs in a row, in words."""
    if comparison.nowhere:
        return f"nothing to compare: this row {'fails' if comparison.fails else 'is dropped'} on every side"
    parts = ["held out for evaluation on only some sides"] if comparison.evaluation_differs else []
    if comparison.one_sided:
        return ", ".join(["only some sides get this row", *parts])
    counts = (comparison.labels_differing, comparison.weights_differing, comparison.ids_differing)
    differ = {noun: count for noun, count in zip(("label", "weight", "token"), counts) if count}
    parts += [f"{many(count, noun)} differ{'s' * (count == 1)}" for noun, count in differ.items()]
    if comparison.split_differs:
        parts.append(f"cut into {' or '.join(str(side.pieces) for side in comparison.sides)} examples")
    return ", ".join(parts) or "nothing differs"


def count_lines(count: ComparisonCount, names: Sequence[str], width: int) -> tuple[Line, ...]:
    """The count over a dataset: how many rows and tokens differ, and each side's totals."""
    lines = [line((count_words(count), Role.TITLE))]
    longest = max((cell_width(visible(name)) for name in names), default=0)
    for number, name in enumerate(names):
        trained, received = (figure[number] if figure else 0 for figure in (count.trained, count.received))
        part = f" ({share(trained, received, 1)})" if received else ""
        text = f"{trained:,} of {received:,} tokens trained{part}"
        words_of = {"dropped": count.dropped, "failed": count.stopped, "for evaluation": count.evaluation_rows}
        for words, figure in words_of.items():
            if figure and figure[number]:
                text += f", {many(figure[number], 'row')} {words}"
        lines.append(line((f"{_letter(number)} ", Role.LABEL), (fit(visible(name), longest), Role.KEY), f"  {text}"))
    if count.gone is not None and (count.failing or count.nowhere == count.rows):
        first = f"row {count.gone.row} cannot be compared: {nowhere_words(count.gone)}"
        lines.append(line((first, Role.WARNING)))
    return tuple(row for cells in lines for row in wrap(cells, width, "  "))


def nowhere_words(comparison: RowComparison) -> str:
    """Why no side gets a row: a reason, or that of each side where they differ."""
    reasons = [visible(side.gone or "") for side in comparison.sides]
    if len({*reasons}) == 1:
        return reasons[0]
    return " · ".join(f"{_letter(number)} {reason}" for number, reason in enumerate(reasons))


def count_words(count: ComparisonCount) -> str:
    """The count in one sentence, apart from it the rows that fail on every side."""
    apart = f"{many(count.failing, 'row')} fail{'s' * (count.failing == 1)} on every side"
    dropped, compared = count.nowhere - count.failing, count.rows - count.failing
    if count.nowhere == count.rows > 0:
        also = f"{many(dropped, 'row')} {'is' if dropped == 1 else 'are'} dropped on every side"
        return f"nothing could be compared: {', '.join([apart] * bool(count.failing) + [also] * bool(dropped))}"
    apart = f"; besides, {apart}" * bool(count.failing)
    if not count.differing_rows:
        return f"nothing differs in {many(compared, 'row')}{apart}"
    parts = f"{count.differing_rows:,} of {compared:,} row{'s differ' if compared != 1 else ' differs'}"
    if count.differing_tokens:
        parts += (
            f", in {count.differing_tokens:,} tokens ({count.labels_differing:,} by label, {count.ids_differing:,}"
            f" by id{f', {count.weights_differing:,} by weight' if count.weights_differing else ''})"
        )
    if count.one_sided:
        parts += f"; {count.one_sided:,} of them can be prepared on only some sides"
    if count.evaluation_differing:
        parts += f"; {count.evaluation_differing:,} of them are held out for evaluation on only some sides"
    return parts + apart


_received = attrgetter("gone", "evaluates", "ids", "labels", "weights", "pieces")
"""What a side makes of a row."""


def unmarked_words(notes: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """Of which sides it is not known which rows evaluate, a sentence each; `notes` say of each side why (empty: it is
    known)."""
    return tuple(
        f"{_letter(number)} {name}: {note}; its figures cover all rows"
        for number, (note, name) in enumerate(zip(notes, names))
        if note
    )


def _groups(sides: Sequence[RowSide]) -> list[list[int]]:
    """Sides that give the same, together, in the order of their first one."""
    groups: list[list[int]] = []
    for number, side in enumerate(sides):
        alike = next((group for group in groups if _received(sides[group[0]]) == _received(side)), None)
        if alike is None:
            groups.append(alike := [])
        alike.append(number)
    return groups


def _heads(comparison: RowComparison, names: Sequence[str], groups: Sequence[Sequence[int]]) -> Iterator[Line]:
    named = [" = ".join(f"{_letter(k)} {visible(names[k])}" for k in group) for group in groups]
    longest = max(map(cell_width, named))
    for group, name in zip(groups, named):
        side = comparison.sides[group[0]]
        text = f"{side.trained:,} of {side.received:,} trained"
        if side.evaluates:
            text = f"{EVALUATES}, {side.with_loss:,} of {side.received:,} carry loss"
        if side.gone is not None:
            text = f"{'stops' if side.stopped else 'dropped'}: {visible(side.gone)}"
        yield line((fit(name, longest), Role.KEY), f"  {text}")
    marks = f"{LABEL_DIFFERS} label  {TOKEN_DIFFERS} token  "
    if any(side.weights for side in comparison.sides):
        marks += f"{WEIGHT_DIFFERS} weight  "
    yield line((marks, Role.DIM), (difference_words(comparison), Role.TITLE))


def _letter(number: int) -> str:
    return chr(ord("A") + number) if number < 26 else str(number + 1)


def _gutter(names: Sequence[str], width: int) -> int:
    """The room before the columns: the whole name where a tenth of the width holds it, else its letter."""
    longest = max(cell_width(visible(name)) for name in names) + 3
    return longest if longest <= width // 8 else 2


def _band(
    sides: Sequence[RowSide], labels: Mapping[int, str], band: Sequence[Column], widths: Sequence[int], gutter: int
) -> Iterator[Line]:
    """The lines of a band; `labels` are those of the sides that are drawn, by their number."""
    texts = {k: [_token_text(sides[k], column.cells[k]) for column in band] for k in labels}
    each = [{words for words in column if words} for column in zip(*texts.values())]
    alike = all(len(words) <= 1 for words in each)  # who lacks a token shows below it
    if alike and labels:
        yield _tokens_line("", ["".join(words) for words in each], widths, gutter)
    for k, label in labels.items():
        if not alike:
            yield _tokens_line(label, texts[k], widths, gutter)
            label = ""
        yield _loss_line(label, sides[k], [column.cells[k] for column in band], widths, gutter)
    if any(column.differs for column in band):
        builder = LineBuilder().add(" " * gutter)
        for column, width in zip(band, widths):
            mark = _mark(column)
            builder.add(mark * width, Role.CHANGED if mark != " " else Role.PLAIN).add(" ")
        yield builder.line()


def _mark(column: Column) -> str:
    if column.labels_differ:
        return LABEL_DIFFERS
    return TOKEN_DIFFERS if column.ids_differ else WEIGHT_DIFFERS if column.weights_differ else " "


def _tokens_line(label: str, texts: Sequence[str], widths: Sequence[int], gutter: int) -> Line:
    builder = LineBuilder().add(fit(label, gutter), Role.LABEL)
    for text, width in zip(texts, widths):
        builder.add(fit(text, width)).add(" ")
    return builder.line()


def _loss_line(label: str, side: RowSide, cells: Sequence[tuple[int, int]], widths: Sequence[int], gutter: int) -> Line:
    builder = LineBuilder().add(fit(label, gutter), Role.LABEL)
    for (start, end), width in zip(cells, widths):
        glyphs = [_glyph(side, i) for i in range(start, end)] or [" "]
        each = [width // len(glyphs)] * len(glyphs)
        each[-1] += width - sum(each)
        for glyph, room in zip(glyphs, each):
            builder.add(glyph * room, LOSS_ROLES[glyph])
        builder.add(" ")
    return builder.line()


def _glyph(side: RowSide, token: int) -> str:
    label = side.labels[token]
    if label is None or side.gone is not None:
        return CUT
    if label == IGNORE_INDEX:
        return MASKED
    return TRAINED if side.weight(token) == 1 else WEIGHTED


def _token_text(side: RowSide, cell: tuple[int, int]) -> str:
    if side.tokens is None:
        return ""
    return clip("|".join(visible_token(side.text.surfaces[i], side.text.pieces[i]) for i in range(*cell)), WIDEST)


NAMES = {TRAINER: "trainer", DRAWN: "the tokenizer splits the same text differently each time"}
"""What settings are called that are no keys."""


def cause_lines(causes: Causes, one: Recipe, other: Recipe, width: int, sides: tuple[int, int]) -> tuple[Line, ...]:
    """Every line of the causes at `width` cells; `sides` are the numbers of the two sides, 0 for A."""
    a, b = (chr(ord("A") + number) for number in sides)
    text = f" ({causes.looked_at:,} of {many(causes.of, 'differing row')})"
    lines = [line((f"why {b} differs from {a}", Role.TITLE), (text, Role.LABEL))]
    for cause in causes.found:
        lines += _cause(cause, (one, other), (a, b))
    return tuple(row for cells in lines for row in wrap(cells, width, "      "))


def _cause(cause: Cause, recipes: tuple[Recipe, Recipe], sides: tuple[str, str]) -> Iterator[Line]:
    of_each = [_trained(*figures) for figures in zip(cause.trained, cause.received)]
    text = f"  {many(cause.rows, 'row')}: {sides[0]} trains {of_each[0]} tokens, {sides[1]} {of_each[1]}"
    if cause.one_sided:
        only = "all of them" if cause.one_sided == cause.rows else f"{cause.one_sided:,} of them"
        text += f"; {only} on one side only"
    rows = ", ".join(map(str, cause.first)) + (", …" if cause.rows > len(cause.first) else "")
    yield line((text, Role.PLAIN), (f"  (row {rows})", Role.LABEL))
    if not cause.settings:
        yield line(("    none of their settings explains it", Role.PLAIN))
    if not cause.settings or TRAINER in [setting.name for setting in cause.settings]:
        yield line((f"    {visible(does_words(cause, sides))}", Role.TITLE))
    for setting in (*cause.settings, *cause.bound):
        values = " · ".join(f"{side} {value_text(value)}" for side, value in zip(sides, setting.values))
        also = ["follows from it"] if setting in cause.bound else []
        also += [f"{recipe.trainer}: {keys}" for recipe in recipes if (keys := keys_of_setting(setting, recipe))]
        behind = f"  ({'; '.join(dict.fromkeys(also))})" if also else ""
        name = visible(NAMES.get(setting.name, setting.name))
        yield line((f"    {name}", Role.KEY), f"  {values}", (visible(behind), Role.LABEL))


def _trained(trained: int, received: int) -> str:
    return f"all {received:,}" if trained == received > 0 else f"{trained:,} of {received:,}"


def does_words(cause: Cause, sides: tuple[str, str]) -> str:
    """What either side does with the rows of a cause, in one sentence; all of it is counted in them."""
    one, other = (does(made, gone) for made, gone in zip(cause.does, cause.gone))
    if one == other:
        return f"both {one.replace('trains', 'train', 1)}" + f", but {many(cause.ids, 'token')} differ" * bool(
            cause.ids
        )
    return f"{sides[0]} {one}; {sides[1]} {other.removeprefix('trains ') if one.startswith('trains ') else other}"


def does(made: Doing, gone: str) -> str:
    """What a side does with some rows: `made` is what it trains of them, `gone` why it does not get the first that it
    does not get."""
    tokens = {key: count for key, count in made.items() if key[1]}
    beside = {
        name: many(count, "token" if name == "cut" else "row")
        for (name, what, _), count in made.items()
        if not what and count
    }
    masked = sum(count for (_, _, trained), count in tokens.items() if not trained)
    whole = masked == 0 or (masked == made["first", "", True] and masked < sum(tokens.values()))
    every = "every token" + " but the first of each row" * bool(masked)
    words = [f"trains {every if whole else _and(_whose(tokens))}"] if tokens else []
    for name, text in (
        ("cut", "cuts {}"),
        ("others", "has labels that differ from the ids at their positions in {}"),
        ("aside", "sets {} aside for evaluation"),
        ("gone", f"does not get {'{}' if tokens else 'them'}: {gone}"),
    ):
        words += [text.replace("{}", beside[name])] if name in beside else []
    return _and(words)


def _whose(tokens: Mapping[tuple[str, str, bool], int]) -> list[str]:
    """Whose tokens are trained, in a few words each; some are masked."""
    left = {key[:2]: count for key, count in tokens.items() if key[2]}

    def taken(what: str, *whose: str) -> str:
        """Whether all, some or none of these are trained; empty where there are none."""
        masked = any(tokens.get((who, what, False)) for who in whose)
        trained = any([left.pop((who, what), 0) for who in whose])
        return ("some" if masked else "all") if trained else ("none" if masked else "")

    found = []
    contents = [one for one in (LAST, EARLIER) if left.get((one, "content"))]
    others = [one for one in (LAST, EARLIER) if one not in contents and tokens.get((one, "content", False))]
    if contents:
        whose = contents if others else [LAST, EARLIER]
        name = ("the answers before the last" if LAST in others else "the last answer") if others else "the answers"
        own, s = ("its", "") if whose == [LAST] else ("their", "s")
        behind = f"what follows {'them' if s else 'it'}"
        part = "part of " * (taken("content", *whose) == "some")
        nouns = {"header": f"{own} header{s}", "end": f"{own} end{s}", "behind": behind}
        told = {what: taken(what, *whose) for what in nouns}
        also = ["some of " * (how == "some") + nouns[what] for what, how in told.items() if how in ("all", "some")]
        lacks = f" without {nouns['end']}" * (told["end"] == "none")
        found.append(part + name + f" with {_and(also)}" * bool(also) + lacks)
    for who in sorted({who for who, _ in left} - {LAST, EARLIER, REST}):
        name = {TEXT: "the text", "prompt": "the prompts"}.get(who, f"the {who} messages")
        found.append("part of " * (taken("content", who) == "some") + name)
    if len(found) == 1 and not left:
        return [f"only {found[0]}"]
    if not tokens.get((REST, "content", False)) and left.pop((REST, "content"), 0):
        found.append("the rest of the template")
    return [*found, many(sum(left.values()), "other token" if found else "token")] if left else found or ["nothing"]


def _and(words: Sequence[str]) -> str:
    return " and ".join(([", ".join(words[:-1])] if words[1:] else []) + [*words[-1:]])


def keys_of_setting(setting: Setting, recipe: Recipe) -> str:
    """The keys of the trainer's config that say a setting; empty where it has none."""
    from sftui.trainers.own_config import key_of

    return key_of(recipe.preset, setting.name) if "." in setting.name else ""
