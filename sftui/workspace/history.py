"""The recipes of this session in order, with undo and redo: pure data, no worker."""

from __future__ import annotations

from dataclasses import dataclass, field

from sftui.recipe import Recipe

LIMIT = 500


@dataclass(slots=True)
class RecipeHistory:
    """`now` is the recipe in force; `past` and `future` are what undo and redo return to."""

    now: Recipe
    past: list[Recipe] = field(default_factory=list)
    future: list[Recipe] = field(default_factory=list)

    def put(self, recipe: Recipe) -> bool:
        """Make `recipe` the one in force; False where nothing changes."""
        if recipe == self.now:
            return False
        self.past.append(self.now)
        del self.past[:-LIMIT]
        self.future.clear()
        self.now = recipe
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
