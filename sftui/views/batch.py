"""The batch as a padded rectangle, and a pack with its documents: shapes, waste, what is trained."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, repeat
from typing import TYPE_CHECKING

from sftui.model import IGNORE_INDEX, Batch, Pack
from sftui.text import many, share, visible
from sftui.views.cells import Line, LineBuilder, Role, crop, line, text_lines, wrap
from sftui.views.table import BORDER, LEARNT, LOSS_ROLES, MASKED, MIXED, PAD, TRAINED, WEIGHTED, loss_glyphs, weighed

if TYPE_CHECKING:
    from sftui.runs import Runs


def batch_lines(batch: Batch, width: int, *, ignore_index: int = IGNORE_INDEX) -> tuple[Line, ...]:
    """Shapes, waste and warnings of a batch, then one strip of loss glyphs per row."""
    weights = batch.weights or repeat(None)
    glyphs = [_carried(labels, some, ignore_index) for labels, some in zip(batch.labels, weights)]
    strips = _strips(batch, glyphs)
    lines = [row for words in _batch_words(batch, glyphs, strips) for row in wrap(line(words), width)]
    row_digits, size_digits = _digits(batch.rows), _digits(batch.lengths)
    room = max(width - row_digits - size_digits - 6, 1)
    length = max(map(len, strips), default=0)
    step = max(-(-length // room), 1)
    if length:
        lines.append(())
        lines += wrap(_legend(step, width, batch.weights is not None), width)
    for row, size, strip in zip(batch.rows, batch.lengths, strips):
        builder = LineBuilder().add(f"row {row:>{row_digits}} ", Role.LABEL).add(f"{size:>{size_digits}} ", Role.NUMBER)
        lines.append(crop(_strip(builder, scaled(strip, step)), width))
    if batch.partners is not None:
        title = "KL partners: each prompt with the answer of another row, which is named here"
        lines += [(), *wrap(line((title, Role.TITLE)), width)]
        lines += batch_lines(batch.partners, width, ignore_index=ignore_index)
    return tuple(lines)


def _batch_words(batch: Batch, glyphs: Sequence[str], strips: Sequence[str]) -> Iterator[tuple[str, Role]]:
    rows = len(batch.input_ids)
    length = len(batch.input_ids[0]) if rows else 0
    cells, real = rows * length, sum(batch.lengths)
    trained = sum(map(_learnt, glyphs))
    shape = f"{rows} × {length:,}"
    more = {"attention_mask": batch.attention_mask, "position_ids": batch.position_ids, "loss_weights": batch.weights}
    names = ["input_ids", "labels", *(name for name, values in more.items() if values is not None)]
    yield f"{', '.join(names)}: each {shape}", Role.TITLE
    if batch.documents is not None:
        alone = any(0 in document for document in batch.documents)
        sees = f"padding {'sees nothing' if alone else 'sees only padding'}"
        mask = f"attention mask, {length:,} × {length:,} per row"
        yield f"{mask}: each token sees its own document up to itself; {sees}", Role.PLAIN
    if not cells:
        yield "no rows in this batch", Role.DIM
        return
    waste = cells - real
    padding = f"{waste:,} padding ({share(waste, cells)} waste, on the {batch.pad_side})"
    carried = f"{trained:,} trained ({share(trained, cells)})"
    yield f"{cells:,} positions: {real:,} tokens, {padding}, {carried}", Role.PLAIN
    if batch.attention_mask is None and batch.documents is None and waste:
        yield "no attention mask: nothing hides padding from the model", Role.WARNING
    yield from ((visible(note), Role.WARNING) for note in batch.notes)
    hidden, odd = _hidden(batch), trained - sum(map(_learnt, strips))
    if hidden:
        yield f"the attention mask hides {hidden:,} real tokens", Role.WARNING
    if odd:
        yield f"{odd:,} padding positions are trained", Role.WARNING


def _digits(values: tuple[int, ...]) -> int:
    return max((len(str(value)) for value in values), default=1)


def _hidden(batch: Batch) -> int:
    """How many real tokens the attention mask hides."""
    if batch.attention_mask is None or _flat(batch):
        return 0
    masks = zip(batch.lengths, batch.attention_mask)
    return sum(mask[slice(*_real(size, len(mask), batch.pad_side))].count(0) for size, mask in masks)


def _flat(batch: Batch) -> bool:
    """Whether several rows were laid end to end into one, without padding between them."""
    return len(batch.labels) == 1 < len(batch.rows)


def _strips(batch: Batch, glyphs: Sequence[str]) -> list[str]:
    """A loss glyph for each position of each row, padding told apart."""
    if _flat(batch):
        return [glyphs[0][end - size : end] for size, end in zip(batch.lengths, accumulate(batch.lengths))]
    return [_padded(carried, size, batch.pad_side) for carried, size in zip(glyphs, batch.lengths)]


def _carried(labels: tuple[int, ...], weights: Runs[float] | None, ignore_index: int) -> str:
    glyphs = loss_glyphs(labels, ignore_index)
    return glyphs if weights is None else weighed(glyphs, weights)


def _learnt(glyphs: str) -> int:
    """How many positions carry loss."""
    return sum(map(glyphs.count, LEARNT))


def _padded(glyphs: str, size: int, side: str) -> str:
    start, end = _real(size, len(glyphs), side)
    return PAD * start + glyphs[start:end] + PAD * (len(glyphs) - end)


def _real(size: int, length: int, side: str) -> tuple[int, int]:
    return (length - size, length) if side == "left" else (0, size)


def scaled(glyphs: str, step: int) -> str:
    """One glyph for every `step` positions: ▒ where trained and other positions share a cell, ▓ where all are trained
    and not alike."""
    if step <= 1:
        return glyphs
    out = []
    for at in range(0, len(glyphs), step):
        kinds = {*glyphs[at : at + step]}
        learnt = kinds & {*LEARNT}
        out.append(min(kinds) if len(kinds) == 1 else WEIGHTED if kinds == learnt else MIXED if learnt else MASKED)
    return "".join(out)


def _strip(builder: LineBuilder, glyphs: str) -> Line:
    for glyph in glyphs:
        builder.add(glyph, LOSS_ROLES[glyph])
    return builder.line()


def _legend(step: int, width: int, weights: bool) -> Line:
    """What the glyphs mean, and how many positions a cell stands for; in fewer words where there is no room."""
    scale = f"{step} positions per cell" if step > 1 else "1 position per cell"
    names = {TRAINED: "trained ", WEIGHTED: "with a weight ", MASKED: "masked ", MIXED: "both ", PAD: "padding ·"}
    shown = [glyph for glyph in names if (weights or glyph != WEIGHTED) and (step > 1 or glyph != MIXED)]
    glyphs = line(*(part for glyph in shown for part in ((glyph, LOSS_ROLES[glyph]), f" {names[glyph]} ")))
    if sum(run.width for run in glyphs) + len(scale) > width:
        scale = f"{step} a cell"
    return (*glyphs, *line((scale, Role.DIM)))


def pack_lines(pack: Pack, width: int, *, ignore_index: int = IGNORE_INDEX) -> tuple[Line, ...]:
    """One packed sequence: its documents, their borders, position ids, and what it hides."""
    length = len(pack.input_ids)
    used = sum(end - start for _, start, end in pack.documents)
    glyphs = _carried(pack.labels, pack.weights, ignore_index)
    trained = _learnt(glyphs)
    padding = f"{length - used:,} padding ({share(length - used, length)} waste)"
    head = f"{many(len(pack.documents), 'document')} in {length:,} positions · {padding}"
    lines = [*text_lines(f"{head} · {trained:,} trained ({share(trained, length)})", width, Role.TITLE)]
    for sentence, role in _pack_words(pack):
        lines += wrap(line((sentence, role)), width)
    lines.append(())
    digits = len(f"{length:,}")
    for (index, _, _), (start, end) in zip(pack.documents, pack.places):
        count = _learnt(glyphs[start:end])
        text = (
            f"document {index:<4} {start:>{digits},}…{end - 1:<{digits},} {end - start:>{digits},} tokens "
            f"{count:>{digits},} trained"
            f"  first {glyphs[start]}{_positions(pack, start, end)}"
        )
        lines.append(crop(line((text, Role.PLAIN)), width))
    lines.append(())
    lines += _pack_strip(pack, width, glyphs)
    return tuple(lines)


def _pack_words(pack: Pack) -> Iterator[tuple[str, Role]]:
    if pack.position_ids is None:
        yield "no position ids: positions continue across documents", Role.WARNING
    else:
        restarts = sum(1 for start, _ in pack.places if pack.position_ids[start : start + 1] == (0,))
        if restarts == len(pack.documents):
            yield "position ids restart at every document", Role.PLAIN
        else:
            yield f"position ids restart at {restarts:,} of {len(pack.documents):,} documents", Role.WARNING
    if pack.attention_mask is None:
        yield "no attention mask: only position ids separate documents, if the model honours them", Role.DIM
    elif len({value for value in pack.attention_mask if value}) > 1:
        yield "the attention mask numbers the documents", Role.PLAIN
    else:
        yield "the attention mask is all ones: by itself it lets documents see each other", Role.DIM


def _positions(pack: Pack, start: int, end: int) -> str:
    if pack.position_ids is None or start >= end:
        return ""
    return f"  positions {pack.position_ids[start]:,}…{pack.position_ids[end - 1]:,}"


def _pack_strip(pack: Pack, width: int, carried: str) -> Iterator[Line]:
    """The pack as loss glyphs, documents kept apart by a border, wrapped."""
    budget = max(width * 8 - len(pack.documents), 1)
    step = max(-(-len(pack.labels) // budget), 1)
    glyphs: list[str] = []
    at = 0
    for start, end in pack.places:
        if start > at:
            glyphs.append(scaled(PAD * (start - at), step))
        glyphs.append(scaled(carried[start:end], step) + BORDER)
        at = end
    glyphs.append(scaled(PAD * (len(pack.labels) - at), step))
    yield from wrap(_legend(step, width, pack.weights is not None), width)
    joined = "".join(glyphs)
    for k in range(0, len(joined), max(width, 1)):
        yield _strip(LineBuilder(), joined[k : k + max(width, 1)])
