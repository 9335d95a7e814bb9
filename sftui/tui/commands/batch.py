"""The batch as the collator pads it, and the packs that the trainer makes of the rows from here on.

Both views begin with the row on screen and are requested anew when it changes.
"""

from __future__ import annotations

from functools import partial
from itertools import takewhile

from sftui.text import many
from sftui.tui.commands.command import Command
from sftui.tui.contexts import BATCH, PACKS
from sftui.tui.inspector import Inspector
from sftui.views.cells import Line, Role, line, text_lines, wrap
from sftui.views.status import problem_lines
from sftui.workspace import events as ev
from sftui.workspace import requests as rq

MOST_ROWS = 1024
MOST_PACKS = 8
"""Packs that are drawn; what is left out is said."""
BATCH_HINT = "8B eight rows · ] [ others · Esc closes"
PACKS_HINT = "] [ other rows · B batch · Esc closes"


@Command("batch", ("B",), "batch", "Look", counted=True)
def open_batch(here: Inspector, count: int | None) -> None:
    """Show the next rows as the collator pads them; 8B shows eight."""
    if here.state.open.view == BATCH and count is None:
        here.close_view()
        return
    rows = min(count or here.workspace.recipe.batch.size, MOST_ROWS)
    here.put(here.state.batched._replace(rows=rows, batch=None))
    if here.state.open.view != BATCH:
        here.open_view(BATCH)
    else:
        here.show_view()


@Command("packs", ("P",), "packs", "Look")
def open_packs(here: Inspector, count: int | None) -> None:
    """Show the rows from this one on as the trainer packs them: documents, boundaries, waste."""
    here.open_view(PACKS)


def show(here: Inspector, name: str, keep: bool) -> None:
    """The view for the row on screen."""
    row = here.state.row
    if not here.state.batched.begins_with(name, row):
        here.put(here.state.batched.requested(name, row))
        if name == BATCH:
            here.workspace.ask(rq.BatchRequest, row, here.state.batched.rows)
        else:
            here.workspace.ask(rq.PacksRequest, row)
    paint(here, name, keep)


def paint(here: Inspector, name: str, keep: bool = True) -> None:
    make, hint = (batch_lines, BATCH_HINT) if name == BATCH else (pack_lines, PACKS_HINT)
    here.panes.document.show(name, partial(make, here), keep=keep, hint=hint)


def on_answer(here: Inspector, event: ev.BatchReady | ev.PacksReady) -> None:
    here.put(here.state.batched.answered(event))
    here.paint_view(BATCH if isinstance(event, ev.BatchReady) else PACKS)


def batch_lines(here: Inspector, width: int) -> tuple[Line, ...]:
    from sftui.views.batch import batch_lines

    answer = here.state.batched.batch
    if answer is not None and answer.problem is not None:
        return problem_lines(answer.problem, width)
    if answer is None or answer.batch is None:
        return (line(("collating …", Role.DIM)),)
    recipe, batched = here.workspace.recipe, here.state.batched
    lines = batch_lines(answer.batch, width, ignore_index=recipe.mask.ignore_index)
    if recipe.pack.strategy == "none":
        return lines
    title = f"{many(batched.rows, 'pack')} of the rows from row {batched.first.get(BATCH, 0):,} on"
    return (*text_lines(title, width, Role.TITLE), *lines)


def pack_lines(here: Inspector, width: int) -> tuple[Line, ...]:
    """What was packed and how, the rectangle, then the packs one by one."""
    from sftui.views.batch import batch_lines, pack_lines

    answer, recipe, first = here.state.batched.packs, here.workspace.recipe, here.state.batched.first.get(PACKS, 0)
    if answer is not None and answer.problem is not None:
        hint = line(("c", Role.KEY), (" opens the recipe: see pack.strategy, length.max", Role.DIM))
        return (*problem_lines(answer.problem, width), (), *wrap(hint, width))
    if answer is None or answer.batch is None:
        return (line(("packing …", Role.DIM)),)
    ignore = recipe.mask.ignore_index
    group = f"the trainer packs {many(recipe.pack.group, 'row') if recipe.pack.group else 'all rows'} together"
    stored = recipe.pack.strategy == "none"
    rows = f"{many(answer.rows, 'row')} from row {first:,} on"
    packed = f"{recipe.pack.strategy}: {rows} in {many(len(answer.packs), 'pack')}"
    lines = [*text_lines(f"as stored: {rows}, one pack each" if stored else packed, width, Role.TITLE)]
    if not stored:
        flat = "; each batch is flattened into one row" if recipe.batch.flatten else ""
        lines += text_lines(f"{group}; other rows in the group may share these packs{flat}", width, Role.DIM)
        step = f"all packs together here; a batch has {many(recipe.batch.size, 'pack')} (B)"
        lines += text_lines(step, width, Role.DIM)
    # its strips are drawn a pack each below
    lines += takewhile(bool, batch_lines(answer.batch, width, ignore_index=ignore))
    for number, pack in enumerate(answer.packs[:MOST_PACKS]):
        lines += [(), line((f"pack {number}", Role.KEY)), *pack_lines(pack, width, ignore_index=ignore)]
    left = len(answer.packs) - MOST_PACKS
    if left > 0:
        lines += [(), line((f"… and {many(left, 'more pack')}", Role.DIM))]
    return tuple(lines)
