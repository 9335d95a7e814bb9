"""The lines around the grid: the header, the shift banner, the token under the cursor, the row list."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from sftui.model import Inspection, Problem, RowSummary
from sftui.text import cell_width, clip, fit, many, prose, share, visible
from sftui.views.cells import Line, LineBuilder, Role, barred, crop, line, wrap
from sftui.views.frame import RULE
from sftui.views.pairs import pair_words
from sftui.views.strip import SMALL
from sftui.views.table import LEARNT, MASKED, MASKED_LABEL, WEIGHTED, TokenTable
from sftui.views.words import EVALUATES, convention, evaluation_words, explain, shift_warning, why_stopped

_NUMBER = re.compile(r"\d+")
_BECAUSE = re.compile(", because (?:it is |it )?")
LEAST_PREVIEW = 20
"""Cells of a preview that a strip leaves in the list."""
LEAST_TOKEN = 8
"""Cells that the text of the token under the cursor keeps where its reason is long."""


def stop_lines(inspection: Inspection, width: int) -> tuple[Line, ...]:
    """Why the row stopped, or why the trainer drops it; empty where neither."""
    why = why_stopped(inspection)
    return wrap(line((f"✗ {visible(why)}", Role.ERROR)), width) if why else ()


def problem_lines(problem: Problem, width: int) -> tuple[Line, ...]:
    """Why there is nothing to show."""
    return wrap(line((f"✗ {visible(problem.sentence())}", Role.ERROR)), width)


def row_notes(inspection: Inspection) -> tuple[tuple[str, Role], ...]:
    """What there is to know of the row besides its tokens: what becomes of it, its repairs, and the notes of every
    stage, each once and visible."""
    found: dict[str, Role] = {}
    aside = evaluation_words(inspection)
    if aside:
        found[aside] = Role.WARNING
    row = inspection.row
    if row.repairs and row.left_out is None:
        found[f"repaired; the file still has the original: {visible('; '.join(row.repairs))}"] = Role.CHANGED
    if row.skipped is not None and row.left_out is None:
        found[f"not repaired: {visible(row.skipped)}"] = Role.WARNING
    stages = (inspection, inspection.rendered, inspection.tokens, inspection.labels)
    for note in gathered([note for stage in stages if stage is not None for note in stage.notes]):
        found.setdefault(visible(note), Role.PLAIN)
    return tuple(found.items())


def gathered(notes: Sequence[str]) -> tuple[str, ...]:
    """Each note once; of those that are the same but for their first number the first one, and the other numbers."""
    alike: dict[str, dict[str, str]] = {}
    for note in notes:
        number = _NUMBER.search(note)
        shape = note if number is None else f"{note[: number.start()]}#{note[number.end() :]}"
        alike.setdefault(shape, {}).setdefault("" if number is None else number[0], note)
    return tuple(
        next(iter(of.values())) + (f" (also {', '.join([*of][1:])})" if len(of) > 1 else "") for of in alike.values()
    )


def note_lines(blocks: Sequence[tuple[str, Sequence[tuple[str, Role]]]], width: int) -> tuple[Line, ...]:
    """Notes under their headings, all of them, each wrapped."""
    lines: list[Line] = []
    for heading, notes in blocks:
        if notes:
            lines += [*([()] if lines else []), *wrap(line((heading, Role.TITLE)), width)]
            for text, role in notes:
                lines += wrap(line(("• ", Role.DIM), (text, role)), width, "  ")
    return tuple(lines) or wrap(line(("no notes", Role.DIM)), width)


def shift_lines(shift: str, width: int) -> tuple[Line, ...]:
    """Which shift convention the trainer uses, and the warning that goes with it."""
    warning = shift_warning(shift)
    lines = wrap(line((convention(shift), Role.DIM)), width)
    return (*lines, *wrap(line((f"! {warning}", Role.WARNING)), width)) if warning else lines


def token_line(table: TokenTable, i: int, width: int, *, shift: bool = False, fact: str = "") -> Line:
    """The token under the cursor: position, text, id, part, and above all what happens there and why; `fact` is what
    the card says of it."""
    if not 0 <= i < len(table):
        return ()
    position, number, explained = f"{i:,} ", f" {table.ids[i]} ", explain(table, i, shift=shift)
    glyph = (table.loss_shifted if shift else table.loss)[i]
    role = Role.WEIGHTED if glyph == WEIGHTED else Role.TRAINED if glyph in LEARNT else Role.MASKED
    short, named = _BECAUSE.sub(": ", explained, count=1), f"{table.parts[i]} · "
    left = width - len(position) - len(number)
    # The reason is what the line is for: before it is cut the token, then its words, then the part give way.
    full = explain(table, i, shift=shift, fact=fact)
    ways = ((full, named), (full, ""), (explained, named), (short, named), (explained, ""), (short, ""))
    for reason, part in ways:
        room = left - cell_width(part) - cell_width(reason)
        if room >= min(cell_width(table.cells[i]), LEAST_TOKEN):
            break
    builder = LineBuilder().add(position, Role.POSITION)
    builder.add(clip(table.cells[i], max(min(room, width // 3), LEAST_TOKEN)), table.roles[i])
    builder.add(number, Role.NUMBER).add(part, Role.HEADER)
    return crop(builder.add(reason, role).line(), width)


def token_facts(table: TokenTable, i: int) -> tuple[tuple[str, str], ...]:
    """What is known of a token itself: names and values, unclipped."""
    label, piece = table.label_cell(i), visible(table.pieces[i])
    label += f" ({table.ignore_index})" if label == MASKED_LABEL else ""
    weight = f" · weight {table.weights[i]!r}" if table.weights is not None else ""
    return (
        ("label", f"{label} · id {table.ids[i]}{weight}"),
        ("token", table.cells[i] + (f" · {piece} in the vocabulary" if piece != table.cells[i] else "")),
        ("part", table.parts[i]),
    )


QUIET = {Role.TRAINED: Role.GOOD}
"""A list of bold shares would shout down the tokens next to it."""
FLAGS, FEW_FLAGS = 5, 2
"""Cells of what is wrong with a row, in the list, and in a slim one."""
WIDE_LIST = 36
"""From this width on a list has columns for the tokens and for all that is wrong."""
LENGTHS, MARGIN = 8, 5
"""Cells of the lengths of both sides of a preference, and of its margin."""
NAMED_LIST = 60
"""From this width on its title names the columns."""


@lru_cache(1024)
def row_line(
    summary: RowSummary,
    width: int,
    current: bool,
    active: bool,
    digits: int,
    gutter: str,
    sign: str,
    headed: bool,
    pairs: bool = False,
    margins: bool = False,
) -> Line:
    """One line of the row list: `▸    17   412  29 %  ✂1  what it begins with`; without the tokens where it is slim.

    `gutter` stands before the number: the letter of a review mark, and a star where the row is repaired; `sign` before
    that where the row is the current one, a bar that has the cursor while the list is `active`. `headed`: under
    `row_heading`, with the row's strip where there is room. `pairs`: the rows are preferences, whose lengths, their
    difference and margin stand in place of tokens and share: `▸    17   46/37    +9  ✂1   1.5  what it begins with`.
    """
    wide = width >= WIDE_LIST
    builder = LineBuilder().add(sign if current else " ").add(gutter, Role.CHANGED)
    builder.add(f"{summary.index:>{digits}}", Role.POSITION)
    role, pair = QUIET.get(role := _share_role(summary), role), summary.pair
    if pairs:
        lengths, apart = ("{}/{}".format(*pair.lengths), pair.lengths[0] - pair.lengths[1]) if pair else ("", None)
        builder.add(f" {lengths:>{LENGTHS}}", role)
        builder.add(f" {'' if apart is None else f'{apart:+}':>4}", Role.NUMBER)
    else:
        if wide:
            tokens = f"{summary.tokens:,}" if summary.tokens is not None else ""
            builder.add(f" {tokens:>6}", Role.NUMBER)
        percent = ""
        if summary.tokens is not None and summary.trained is not None:
            percent = share(summary.trained, summary.tokens)
        builder.add(f" {'eval' if summary.evaluates else percent:>5}", role)
    cells = FLAGS if wide else FEW_FLAGS
    flag, role = _flag(summary, cells)
    builder.add(" " + fit(flag, cells), role)
    if pairs and margins:
        builder.add(f" {clip(pair.margin if pair else '', MARGIN):>{MARGIN}}", Role.NUMBER)
    room = width - builder.width - 1
    if headed and room >= SMALL + 1 + LEAST_PREVIEW:
        builder.add(" ")
        for glyph in summary.strip.ljust(SMALL):
            builder.add(glyph, Role.MASKED if glyph == MASKED else Role.GOOD)
        room -= SMALL + 1
    if room > 3:
        builder.add(" " + clip(prose(summary.preview), room))
    made = crop(builder.line(), width)
    return barred(made, width, active) if current else made


def row_heading(
    named: Line, sparks: Sequence[tuple[str, str]], width: int, at: int, pairs: bool, margins: bool
) -> Line:
    """The title of the row list: its name, the names of the columns that it leaves room for, from cell `at` on, and the
    plots of the rows that are known, each with what it is of."""
    builder = LineBuilder()
    for run in named:
        builder.add(*run)
    if width >= NAMED_LIST:
        at += 0 if pairs else 7
        figures = [("lengths", -LENGTHS - 1), ("diff", -5)] if pairs else [("train", -6)]
        figures += [("flags", FLAGS + 1), *[("margin", -MARGIN - 1)] * margins, ("mask", SMALL + 1)]
        for name, cells in figures:
            before = at + (-cells - len(name) if cells < 0 else 1)
            at += abs(cells)
            if builder.width <= before and (name != "mask" or width - at >= LEAST_PREVIEW):
                builder.add(RULE * (before - builder.width), Role.BORDER).add(name, Role.DIM)
        builder.add(RULE, Role.BORDER)
    for name, glyphs in sparks:
        told = f" {name} " if width >= WIDE_LIST else ""
        if glyphs and builder.width + cell_width(told + glyphs) < width:
            builder.add(told, Role.DIM).add(glyphs, Role.GOOD)
    return builder.add(" " if sparks else "").line()


def row_sentence(summary: RowSummary) -> Line:
    """A line of the row list in words, and what the row begins with, for where the list has no room for it."""
    parts: list[tuple[str, Role]] = []
    if summary.tokens is not None:
        parts.append((many(summary.tokens, "token"), Role.PLAIN))
        if summary.evaluates:
            parts.append((EVALUATES, Role.PLAIN))
        elif summary.trained is not None and not (summary.pair is not None and summary.pair.scored):
            parts.append((f"{share(summary.trained, summary.tokens)} trained", _share_role(summary)))
        parts.append((pair_words(summary.pair) if summary.pair is not None else "", Role.PLAIN))
    stopped = "dropped" if summary.dropped is not None else "could not be prepared" if summary.problem else ""
    parts += [
        (f"{summary.cut:,} cut" if summary.cut else "", Role.CUT),
        (stopped, Role.ERROR),
        (many(summary.errors, "error") if summary.errors else "", Role.ERROR),
        (many(summary.warnings, "warning") if summary.warnings else "", Role.WARNING),
        (prose(summary.preview), Role.PLAIN),
    ]
    builder = LineBuilder().add(f" row {summary.index:,}", Role.TITLE)
    for number, (text, role) in enumerate(part for part in parts if part[0]):
        builder.add(" · " if number else ": ", Role.DIM).add(text, role)
    return builder.line()


def _share_role(summary: RowSummary) -> Role:
    """A share of trained tokens looks good only where what is trained is."""
    if summary.verdict is not None and not summary.evaluates:
        return Role.ERROR if summary.verdict[0] == "error" else Role.WARNING
    return Role.TRAINED if summary.trained and not summary.evaluates else Role.MASKED


def _flag(summary: RowSummary, cells: int) -> tuple[str, Role]:
    if summary.problem is not None or summary.dropped is not None:
        return f"✗{summary.errors or ''}", Role.ERROR
    grave = [f"{sign}{count}" for sign, count in (("✗", summary.errors), ("!", summary.warnings)) if count]
    role = Role.ERROR if summary.errors else Role.WARNING if grave else Role.CUT
    if summary.cut:
        cut = f"✂{summary.cut}" if summary.cut < 10_000 else f"✂{summary.cut // 1000}k"
        told = [gap.join([*grave, sign]) for sign in (cut, "✂") for gap in (" ", "")]
        least = "".join([*grave[:1], "✂" if cells > FEW_FLAGS else ""])
        return next((one for one in told if cell_width(one) <= cells), least), role
    if grave:
        return " ".join(grave if cells > FEW_FLAGS else grave[:1]), role
    if summary.trained == 0:
        return "░", Role.WARNING
    return "", Role.DIM
