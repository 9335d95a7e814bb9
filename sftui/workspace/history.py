"""What was chosen in this session in order, with undo and redo: pure data, no worker."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from sftui.recipe import Recipe

LIMIT = 500


class Chosen(NamedTuple):
    """The recipe, and the data repairs by their names as in `repairs.plan_of`: nothing of them is in the file yet."""

    recipe: Recipe
    repairs: tuple[str, ...] = ()


@dataclass(slots=True)
class History:
    """`now` is what is in force; `past` and `future` are what undo and redo return to."""

    now: Chosen
    past: list[Chosen] = field(default_factory=list)
    future: list[Chosen] = field(default_factory=list)

    def put(self, chosen: Chosen) -> bool:
        """Put `chosen` in force; False where nothing changes."""
        if chosen == self.now:
            return False
        self.past.append(self.now)
        del self.past[:-LIMIT]
        self.future.clear()
        self.now = chosen
        return True

    def undo(self) -> bool:
        if not self.past:
            return False
        self.future.append(self.now)
        self.now = self.past.pop()
        return True

    def redo(self) -> bool:
        if not self.future:
            return False
        self.past.append(self.now)
        self.now = self.future.pop()
        return True
