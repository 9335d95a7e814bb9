"""What was chosen in this session in order, with undo and redo: pure data, no worker."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sftui.model import RecipeChange
from sftui.recipe import Recipe, diff

LIMIT = 500


class RecipeChoice(NamedTuple):
    """The recipe, and the data repairs by their names as in `repairs.plan_of`: nothing of them is in the file yet."""

    recipe: Recipe
    repairs: tuple[str, ...] = ()


@dataclass(slots=True)
class History:
    """`now` is what is in force; `past` and `future` are what undo and redo return to."""

    now: RecipeChoice
    past: list[RecipeChoice] = field(default_factory=list)
    future: list[RecipeChoice] = field(default_factory=list)

    def put(self, chosen: RecipeChoice) -> bool:
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


@dataclass(frozen=True, slots=True)
class UnsavedWork:
    """What quitting would lose; false where that is nothing."""

    changes: tuple[RecipeChange, ...] = ()
    repairs: tuple[str, ...] = ()
    waivers: tuple[dict[str, Any], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.changes or self.repairs or self.waivers)

    def words(self) -> str:
        """`2 unsaved recipe changes, 1 repair`; empty where there is nothing."""
        counted = ((len(self.changes), "recipe change"), (len(self.repairs), "repair"), (len(self.waivers), "waiver"))
        parts = [f"{count:,} {word}{'s' if count > 1 else ''}" for count, word in counted if count]
        return ", ".join(parts).replace(" ", " unsaved ", 1)


def unexported(now: RecipeChoice, kept: RecipeChoice) -> UnsavedWork:
    """What is in force and not in the recipe opened or exported last, nor in the data written last: those are
    `kept`."""
    had = [dict(one) for one in kept.recipe.waivers]
    return UnsavedWork(
        diff(kept.recipe, now.recipe),
        tuple(one for one in now.repairs if one not in kept.repairs),
        tuple(dict(one) for one in now.recipe.waivers if dict(one) not in had),
    )
