"""Compare: the row on screen under the recipe in force (A) and a second one (B), and the count over the dataset."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from sftui.errors import SftuiError
from sftui.recipe import Recipe, changed
from sftui.text import visible
from sftui.tui.dialogs import Dialog, Options
from sftui.tui.presets import preset_like
from sftui.views import Line, Role, line, wrap
from sftui.workspace import events as ev
from sftui.workspace import requests as rq
from sftui.workspace.history import Chosen

if TYPE_CHECKING:
    from sftui.tui.main_screen import MainScreen

VIEW = "compare"
HINT = "a A/B · - differing · = other · + takes B"
REPAIR_HINT = "a A/B · - differing · + applies it"
REPAIR_NAMES = ("as it stands", "repaired")


class CompareCommands:
    """The second recipe stays chosen until another is; A and B can also be looked at in turn in the token pane."""

    def __init__(self, screen: MainScreen) -> None:
        self.screen = screen
        self.other: Recipe | None = None
        self.name = ""
        self.told = ""
        self.file: str | None = None
        self.repairs: tuple[str, ...] | None = None
        self.answer: ev.ComparisonReady | None = None
        self.count: ev.CountReady | None = None
        self.differing = False
        self.on_b = False
        self._counting: int | None = None
        self._drawn: tuple[tuple[object, ...], tuple[Line, ...]] = ((), ())

    def handlers(self) -> dict[str, Callable[[int | None], None]]:
        return {
            "compare": lambda n: self.open(),
            "compare.pick": lambda n: self.pick(),
            "compare.toggle": lambda n: self.toggle(),
            "compare.take": lambda n: self.take(),
            "compare.differing": lambda n: self.hide_equal(),
        }

    # — choosing —

    def open(self) -> None:
        """Opens the comparison, or closes it; asks with what where nothing is chosen yet."""
        look = self.screen.look_commands
        if look.open_view == VIEW:
            look.close_view()
        elif self.other is None:
            self.pick()
        else:
            self.start(self.other, self.name, self.repairs)
            self.screen.say(f"B: {self.told or self.name} · {HINT if self.repairs is None else REPAIR_HINT}")

    def pick(self) -> None:
        """A preset, the recipe as opened, a chat template, or a recipe file."""
        from sftui.templates import builtin_names
        from sftui.trainers import preset_names

        workspace = self.screen.workspace
        now = workspace.recipe
        entries: list[tuple[str, str]] = []
        if workspace.base_recipe != now:
            entries.append(("as opened", "the recipe before your changes"))
        entries += [
            (name, "with its defaults; data, tokenizer and template as here")
            for name in preset_names()
            if name != now.preset
        ]
        if now.preset in preset_names() and preset_like(now, now.preset) != now:
            entries.append((now.preset, "this trainer with its defaults"))
        entries += [(f"template builtin:{name}", "this recipe with another chat template") for name in builtin_names()]
        entries.append(("file:", "a recipe file you name"))
        screen = self.screen
        dialog = Dialog("compare with", Options(entries), screen.keymap, screen.look, picking=True)
        screen.app.push_screen(dialog, lambda number: None if number is None else self._picked(entries[number][0]))

    def _picked(self, name: str) -> None:
        workspace = self.screen.workspace
        try:
            if name == "file:":
                self.screen.prompt.ask("recipe file to compare with", self._file)
            elif name == "as opened":
                self.start(workspace.base_recipe, name)
            elif name.startswith("template "):
                template = name.removeprefix("template ")
                self.start(changed(workspace.recipe, "render.template", template), template)
            else:
                self.start(preset_like(workspace.recipe, name), name)
        except SftuiError as error:
            self.screen.say(str(error), Role.ERROR)

    def _file(self, text: str) -> str | None:
        from pathlib import Path

        from sftui.errors import RecipeError
        from sftui.side_files import read_side_file
        from sftui.trainers import load_recipe

        path = Path(text.strip()).expanduser()
        if not text.strip():
            return None
        try:
            other = load_recipe(read_side_file(path, "the recipe", RecipeError), str(path))
        except SftuiError as error:
            return str(error)
        self.file = str(path)
        if other.tokenizer.name is None:
            other = replace(other, tokenizer=self.screen.workspace.recipe.tokenizer)
        self.start(other, path.name)
        return None

    # — the comparison —

    def start(self, other: Recipe, name: str, repairs: tuple[str, ...] | None = None, told: str = "") -> None:
        """Compare with `other` (with other repairs of the data) from here on, and count over the dataset in the
        background.

        `told` says what it is where the name is too short to.
        """
        self.screen.findings_commands.previewed()
        if self.on_b:
            self.back_to_a()
        self.told = told if (other, name) != (self.other, self.name) else told or self.told
        self.other, self.name, self.repairs = other, name, repairs
        self.answer = self.count = None
        look = self.screen.look_commands
        if look.open_view == VIEW:
            self.closed()
            look.show_view()
        else:
            look.open(VIEW)
        self._counting = self.screen.workspace.ask(rq.CountRequest, other, repairs)

    def show(self, keep: bool) -> None:
        if self.other is None:
            return
        row = self.screen.status.row
        if self.answer is not None and (self.answer.comparison is None or self.answer.comparison.row != row):
            self.answer = None
        self._ask(row, self.other)
        self._paint(keep)

    def _ask(self, row: int, other: Recipe) -> None:
        self.screen.workspace.ask(rq.CompareRequest, row, other, self.repairs)

    def _paint(self, keep: bool = True) -> None:
        if self.screen.look_commands.open_view == VIEW:
            self.screen.document.show(VIEW, self.lines, keep=keep, hint=HINT if self.repairs is None else REPAIR_HINT)

    def _names(self) -> tuple[str, str]:
        return (self.screen.workspace.recipe.preset, self.name) if self.repairs is None else REPAIR_NAMES

    def lines(self, width: int) -> tuple[Line, ...]:
        """The row under both, then the count."""
        from sftui.views import count_lines, unmarked_words

        names = self._names()
        answer = self.answer
        if answer is None:
            return (line(("comparing …", Role.DIM)),)
        if answer.problem is not None:
            return wrap(line((f"✗ {answer.problem.sentence()}", Role.ERROR)), width)
        return (
            *self._counted(width, names, count_lines),
            *(row for told in unmarked_words(answer.unmarked, names) for row in _warned(told, width)),
            (),
            *self._repaired(answer, width),
            *self._row(answer, names, width),
        )

    def _repaired(self, answer: ev.ComparisonReady, width: int) -> tuple[Line, ...]:
        """What the repairs that are compared with change in the row."""
        from sftui.views.repairs import repaired_row_lines

        if self.repairs is None or answer.other is None:
            return ()
        return (*repaired_row_lines(answer.other.row, answer.diff, width), ())

    def _row(self, answer: ev.ComparisonReady, names: tuple[str, str], width: int) -> tuple[Line, ...]:
        """The row's own lines, kept while the count below it grows."""
        from sftui.views import compare_lines

        key = (id(answer), answer.ticket, answer.version, names, width, self.differing)
        if self._drawn[0] != key and answer.comparison is not None:
            lines = compare_lines(answer.comparison, names, width, differing=self.differing)
            if answer.left_out:
                told = (
                    f"a long row: {len(answer.comparison.columns):,} tokens from the first difference on are shown, "
                    f"{answer.left_out:,} are not; {answer.differing:,} differ in all"
                )
                lines = (*wrap(line((told, Role.WARNING)), width), *lines)
            self._drawn = (key, lines)
        return self._drawn[1]

    def _counted(self, width: int, names: tuple[str, str], count_lines: Callable[..., tuple[Line, ...]]) -> list[Line]:
        count = self.count
        if count is None or count.count is None:
            told = (
                "over the dataset: counting …"
                if count is None or count.problem is None
                else f"✗ {count.problem.sentence()}"
            )
            return list(wrap(line((told, Role.DIM)), width))
        found = list(count_lines(count.count, names, width))
        if count.repaired is not None and self.repairs is not None:
            from sftui.views.repairs import repair_count_lines

            found = [*repair_count_lines(count.repaired, count.total, count.done, width), *found]
        if not count.done:
            of = f" of {count.total:,}" if count.total is not None else ""
            found.append(line((f"so far: {count.count.rows:,}{of} rows, Esc stops", Role.DIM)))
        return found

    def on_compared(self, event: ev.ComparisonReady) -> None:
        if event.recipe != self.other or event.repairs != self.repairs:
            return
        self.answer = event
        self._paint()
        if self.on_b:
            self._show_b()

    def on_count(self, event: ev.CountReady) -> None:
        self.count = event
        if self.other is not None and event.done and "deduplicate" in (self.repairs or ()):
            self._ask(self.screen.status.row, self.other)  # only now it is known whether the row stood before
        self._paint()

    def closed(self) -> None:
        """The view was closed: nothing is counted any more."""
        if self._counting is not None:
            self.screen.workspace.cancel(self._counting)
            self._counting = None

    def hide_equal(self) -> None:
        """Only the bands in which something differs, or all again."""
        if self.screen.look_commands.open_view != VIEW:
            self.screen.say("no comparison; press C to open one", Role.DIM)
            return
        self.differing = not self.differing
        self._paint()
        self.screen.say("only bands that differ" if self.differing else "every band", Role.DIM)

    # — A/B —

    def toggle(self) -> None:
        """The tokens under the second recipe, and back; the cursor stays where it is."""
        screen = self.screen
        if self.other is None:
            screen.say("nothing to compare with; press C to pick a second recipe", Role.DIM)
            return
        if not screen.tokens.display:
            screen.findings_commands.previewed()
            screen.look_commands.close_view()
        self.on_b = not self.on_b
        if self.on_b:
            if self.answer is None or self.answer.comparison is None or self.answer.comparison.row != screen.status.row:
                self._ask(screen.status.row, self.other)
                screen.say(f"B: {self.name} …", Role.DIM)
            else:
                self._show_b()
        else:
            self.back_to_a()

    def _show_b(self) -> None:
        screen, answer = self.screen, self.answer
        if answer is None or self.other is None:
            return
        if answer.other is None:
            self.on_b = False
            screen.say(
                answer.problem.sentence() if answer.problem is not None else "B could not be prepared", Role.ERROR
            )
            return
        if answer.other.row.index == screen.status.row:
            screen.tokens.show(answer.other, self.other)
            screen.row_commands.update_status(answer.other, self.other, side="B")
            screen.rows.show_beside(answer.other)
            screen.say(f"B: {self.name} · a goes back to A: {screen.workspace.recipe.preset}")

    def left_b(self) -> None:
        """The tokens of the recipe in force are shown."""
        self.on_b = False
        self.screen.rows.show_beside(None)

    def back_to_a(self) -> None:
        self.left_b()
        screen = self.screen
        screen.workspace.request_row(screen.status.row)
        screen.say(f"A: {screen.workspace.recipe.preset}")

    def take(self) -> None:
        """Put the second recipe in force; undo takes it back."""
        screen = self.screen
        if self.other is None:
            screen.say("no comparison; press C to pick a second recipe", Role.DIM)
            return
        repairs = screen.workspace.repairs if self.repairs is None else self.repairs
        if screen.workspace.choose(Chosen(self.other, repairs)):
            if self.repairs is None:
                screen.say(f"{self.name} is the current recipe; u undoes it")
                return
            if screen.look_commands.open_view == VIEW:
                screen.look_commands.close_view()
            self.other = self.repairs = None  # there is nothing left to compare with
            screen.repair_commands.tell(self.name)
        else:
            screen.say("that is already the current recipe", Role.DIM)


def _warned(told: str, width: int) -> tuple[Line, ...]:
    return wrap(line((visible(told), Role.WARNING)), width)
