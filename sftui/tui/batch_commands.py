"""The batch as the collator pads it, and the packs that the trainer makes of the rows from here on."""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile
from typing import TYPE_CHECKING

from sftui.text import many
from sftui.views import Line, Role, line, wrap
from sftui.workspace import events as ev
from sftui.workspace import requests as rq

if TYPE_CHECKING:
    from sftui.tui.main_screen import MainScreen

BATCH, PACKS = "batch", "packs"
MOST_ROWS = 1024
MOST_PACKS = 8
"""Packs that are drawn; what is left out is said."""
BATCH_HINT = "8B eight rows · ] [ move on · Esc closes"
PACKS_HINT = "] [ other rows · B batch · Esc closes"


class BatchCommands:
    """Both views begin with the row on screen and are asked for anew when it changes."""

    def __init__(self, screen: MainScreen) -> None:
        self.screen = screen
        self.rows = 0
        self.batch: ev.BatchReady | None = None
        self.packs: ev.PacksReady | None = None
        self._first: dict[str, int] = {}

    def handlers(self) -> dict[str, Callable[[int | None], None]]:
        return {"batch": lambda n: self.open_batch(n), "packs": lambda n: self.screen.look_commands.open(PACKS)}

    def open_batch(self, rows: int | None) -> None:
        """The next rows as one padded rectangle; a count says how many."""
        look = self.screen.look_commands
        if look.open_view == BATCH and rows is None:
            look.close_view()
            return
        self.rows = min(rows or self.screen.workspace.recipe.batch.size, MOST_ROWS)
        self.batch = None
        if look.open_view != BATCH:
            look.open(BATCH)
        else:
            look.show_view()

    def show(self, name: str, keep: bool) -> None:
        """The view for the row on screen."""
        row, held = self.screen.status.row, self.batch if name == BATCH else self.packs
        if held is None or self._first.get(name) != row:
            self._ask(name, row)
        self._paint(name, keep)

    def _ask(self, name: str, row: int) -> None:
        self._first[name] = row
        if name == BATCH:
            self.batch = None
            self.screen.workspace.ask(rq.BatchRequest, row, self.rows)
        else:
            self.packs = None
            self.screen.workspace.ask(rq.PacksRequest, row)

    def _paint(self, name: str, keep: bool) -> None:
        make, hint = (self.batch_lines, BATCH_HINT) if name == BATCH else (self.pack_lines, PACKS_HINT)
        self.screen.document.show(name, make, keep=keep, hint=hint)

    def on_answer(self, event: ev.BatchReady | ev.PacksReady) -> None:
        name = BATCH
        if isinstance(event, ev.BatchReady):
            self.batch = event
        else:
            self.packs, name = event, PACKS
        if self.screen.look_commands.open_view == name:
            self._paint(name, keep=True)

    def on_recipe(self) -> None:
        """What was made with another recipe is no longer true; what is on screen answers again by itself."""
        if self.screen.look_commands.open_view != BATCH:
            self.batch = None
        if self.screen.look_commands.open_view != PACKS:
            self.packs = None

    def batch_lines(self, width: int) -> tuple[Line, ...]:
        from sftui.views import batch_lines

        answer = self.batch
        if answer is None:
            return (line((f"collating {many(self.rows, 'row')} …", Role.DIM)),)
        if answer.batch is None:
            return _problem(answer, width)
        return batch_lines(answer.batch, width, ignore_index=self.screen.workspace.recipe.mask.ignore_index)

    def pack_lines(self, width: int) -> tuple[Line, ...]:
        """What was packed and how, the rectangle, then the packs one by one."""
        from sftui.views import batch_lines, pack_lines

        answer, recipe = self.packs, self.screen.workspace.recipe
        if answer is None:
            return (line(("packing …", Role.DIM)),)
        if answer.problem is not None or answer.batch is None:
            return (
                *_problem(answer, width),
                (),
                line(("c", Role.KEY), (" opens the recipe: pack.strategy, length.max", Role.DIM)),
            )
        ignore = recipe.mask.ignore_index
        group = (
            f"the trainer packs {many(recipe.pack.group, 'row')} together"
            if recipe.pack.group
            else "the trainer packs all rows together"
        )
        told = (
            (
                (
                    f"{recipe.pack.strategy}: {many(answer.rows, 'row')} from row {self._first.get(PACKS, 0):,} on in"
                    f" {many(len(answer.packs), 'pack')}"
                ),
                Role.TITLE,
            ),
            (f"{group}; other rows of its group may share these packs", Role.DIM),
            (
                f"attention: {recipe.batch.attention}{', flattened into one row' if recipe.batch.flatten else ''}",
                Role.PLAIN,
            ),
        )
        lines: list[Line] = [cells for part in told for cells in wrap(line(part), width)]
        lines += takewhile(
            bool, batch_lines(answer.batch, width, ignore_index=ignore)
        )  # its strips are drawn a pack each below
        for number, pack in enumerate(answer.packs[:MOST_PACKS]):
            lines += [(), line((f"pack {number}", Role.KEY)), *pack_lines(pack, width, ignore_index=ignore)]
        left = len(answer.packs) - MOST_PACKS
        if left > 0:
            lines += [(), line((f"… and {many(left, 'more pack')}", Role.DIM))]
        return tuple(lines)


def _problem(answer: ev.BatchReady | ev.PacksReady, width: int) -> tuple[Line, ...]:
    told = answer.problem.sentence() if answer.problem is not None else "there is nothing to show"
    return wrap(line((f"✗ {told}", Role.ERROR)), width)
