"""The recipe pane: every knob with its value, what differs from the recipe as opened marked."""

from __future__ import annotations

from typing import Any

from sftui.recipe import KnobInfo, get, knobs_of, value_of
from sftui.tui.line_view import LineView
from sftui.views.cells import Line, LineBuilder, Role, crop
from sftui.views.knobs import knob_paths, recipe_lines, value_text
from sftui.workspace import Workspace

PRESET = KnobInfo("preset", "str", "the trainer whose defaults apply", (), None, "")

ROOM_FOR_NAMES = 88
"""Laid out for this width and cropped, names and values are whole; the meaning stands in the line below."""

NO_TITLE: tuple[tuple[int, str], ...] = ()
WITH_MEANING = 72
"""From this width on the meaning stands next to the value as well."""


class RecipePane(LineView):
    """Holds which knob is marked; the values are those of the workspace."""

    name_of_pane = "recipe"
    pages_move = True

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self.workspace = workspace
        self._path = PRESET.path

    @property
    def infos(self) -> tuple[KnobInfo, ...]:
        """Every knob of the recipe that is listed, the preset first."""
        return self.filtered((PRESET, *knobs_of(self.workspace.recipe)), self.searched_text)

    @property
    def marked(self) -> int:
        """The number of the knob that is marked; the preset where another trainer has no such knob."""
        return next((number for number, info in enumerate(self.infos) if info.path == self._path), 0)

    @property
    def paths(self) -> tuple[str, ...]:
        """The knob of each line; empty for the title of a section."""
        return tuple(path for _, path in self._listed)

    @property
    def _listed(self) -> tuple[tuple[int, str], ...]:
        """Of all lines of the recipe those that are listed, each with its knob; titles of sections where one is."""
        kept, title, listed = {info.path for info in self.infos}, NO_TITLE, list[tuple[int, str]]()
        for number, path in enumerate(knob_paths(self.workspace.recipe)):
            if not path:
                title = ((number, ""),)
            elif path in kept:
                listed += [*title, (number, path)]
                title = NO_TITLE
        return tuple(listed)

    @property
    def knob(self) -> KnobInfo:
        """The marked one; no knob is, where none has the words of the filter."""
        return (self.infos or (PRESET,))[self.marked]

    def value(self, info: KnobInfo) -> Any:
        return get(self.workspace.recipe, info.path)

    def base_value(self, info: KnobInfo) -> Any:
        recipe = self.workspace.base_recipe
        return recipe.preset if info is PRESET else value_of(recipe, info)

    def searched_text(self, info: KnobInfo) -> str:
        """All that is said of a knob, for a search."""
        from sftui.trainers.own_config import key_of

        choices = " ".join(f"{choice} {info.meaning(choice)}" for choice in info.choices)
        key = key_of(self.workspace.recipe.preset, info.path)
        return f"{info.path} {key} {info.doc} {value_text(self.value(info))} {choices}"

    def set_filter(self, text: str) -> None:
        super().set_filter(text)
        self.move(0)

    def move(self, steps: int) -> None:
        infos = self.infos
        if infos:
            self._path = infos[max(0, min(self.marked + steps, len(infos) - 1))].path
        self.rebuild()

    def resized(self) -> None:
        if not self.display or not self.paths:
            return
        at = self.paths.index(self.knob.path)
        self.keep_in_view(at - 1 if at and not self.paths[at - 1] else at)
        self.keep_in_view(at)

    def set_active(self, active: bool) -> None:
        self.active = active
        self.repaint()

    def pick(self, number: int) -> None:
        """The knob on a clicked line."""
        if 0 <= number < len(self.paths) and self.paths[number]:
            self.move([info.path for info in self.infos].index(self.paths[number]) - self.marked)

    def line_count(self) -> int:
        return len(self.paths) if self.display else 0

    def visible_lines(self) -> list[Line]:
        cursor = self.knob.path if self.active else ""
        width = max(self.size.width, ROOM_FOR_NAMES)
        now, base, meaning = self.workspace.recipe, self.workspace.base_recipe, self.size.width >= WITH_MEANING
        lines = recipe_lines(now, base, width, cursor=cursor, meaning=meaning)
        seen = self._listed[self.top : self.top + self.size.height]
        return [crop(lines[number], self.size.width) for number, _ in seen]

    def sentence(self) -> Line:
        """The marked knob in one line: what it means, what it was, what it may be."""
        from sftui.trainers import traits_of
        from sftui.trainers.own_config import choices_of, key_of

        if not self.infos:
            return ()
        info, recipe = self.knob, self.workspace.recipe
        cells = LineBuilder().add(f" {info.path} ", Role.TITLE).add(info.doc, Role.PLAIN)
        if self.value(info) != self.base_value(info):
            cells.add(f" · was {value_text(self.base_value(info))}", Role.CHANGED)
        if info.choices:
            cells.add(" · " + " ".join(map(value_text, choices_of(recipe, info))), Role.DIM)
            if means := info.meaning(self.value(info)):
                cells.add(f" · {value_text(self.value(info))}: {means}", Role.PLAIN)
        if key := key_of(recipe.preset, info.path):
            cells.add(f" · {traits_of(recipe.preset).title}: {key}", Role.DIM)
        return cells.line()
