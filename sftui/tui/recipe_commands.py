"""The recipe: editing knobs live, undo and redo, picking a template."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sftui.errors import SftuiError
from sftui.recipe import changed
from sftui.text import visible
from sftui.tui.commands import RECIPE
from sftui.tui.dialogs import Dialog, Options
from sftui.tui.presets import preset_like
from sftui.tui.recipe_pane import PRESET
from sftui.views import Role, value_text
from sftui.workspace import events as ev

if TYPE_CHECKING:
    from sftui.tui.main_screen import MainScreen


class RecipeCommands:
    """Every change goes through the workspace, which answers the row again by itself."""

    def __init__(self, screen: MainScreen) -> None:
        self.screen = screen
        self._looked_for = ""

    def handlers(self) -> dict[str, Callable[[int | None], None]]:
        pane = self.screen.recipe
        return {
            "recipe.down": lambda n: self.move(n or 1),
            "recipe.up": lambda n: self.move(-(n or 1)),
            "recipe.page_down": lambda n: self.move((n or 1) * pane.page),
            "recipe.page_up": lambda n: self.move(-(n or 1) * pane.page),
            "recipe.home": lambda n: self.move(-len(pane.infos)),
            "recipe.end": lambda n: self.move(len(pane.infos)),
            "recipe.next": lambda n: self.cycle(1),
            "recipe.previous": lambda n: self.cycle(-1),
            "recipe.edit": lambda n: self.edit(),
            "recipe.reset": lambda n: self.reset(),
            "recipe.find": lambda n: self.find(),
            "recipe.find_next": lambda n: self.find_next(1),
            "recipe.find_previous": lambda n: self.find_next(-1),
            "undo": lambda n: self.undo(n or 1),
            "redo": lambda n: self.redo(n or 1),
            "template": lambda n: self.pick_template(),
            "tokenizer": lambda n: self.type_tokenizer(),
        }

    def move(self, steps: int) -> None:
        self.screen.recipe.move(steps)
        self.screen.update_detail()

    # — finding a knob —

    def find(self) -> None:
        def answer(text: str) -> None:
            if text.strip():
                self._looked_for = text.strip()
                self.find_next(1)

        self.screen.prompt.ask("find a knob by name, meaning or value", answer)

    def find_next(self, step: int) -> None:
        """The next knob that holds the text, round the ends."""
        pane, asked = self.screen.recipe, self._looked_for.casefold()
        if not asked:
            self.screen.say("No search yet; press /", Role.DIM)
            return
        found = [number for number, info in enumerate(pane.infos) if asked in pane.told(info).casefold()]
        if not found:
            self.screen.say(f"no knob matches {visible(self._looked_for)}", Role.WARNING)
            return
        later = [number for number in found if (number - pane.marked) * step > 0]
        number = (min if step > 0 else max)(later or found)
        self.move(number - pane.marked)
        self.screen.say(f"{pane.knob.path}: {found.index(number) + 1} of {len(found)} knobs · n N · Enter edits")

    # — changing —

    def cycle(self, step: int) -> None:
        """The next choice of a knob that has choices; others are typed."""
        info = self.screen.recipe.knob
        value = self.screen.recipe.value(info)
        choices: tuple[Any, ...] = self._choices()
        if not choices:
            self.screen.say(f"{info.path}: Enter types a value", Role.DIM)
            return
        if choices == (value,):
            self.screen.say(f"{info.path}: {self.screen.workspace.recipe.preset} has no other value", Role.DIM)
            return
        at = choices.index(value) if value in choices else 0
        self.put(info.path, choices[(at + step) % len(choices)])

    def edit(self) -> None:
        """Picks from the choices, or types a value; what was typed is checked before it is taken."""
        from sftui.views.choices import meaning

        info = self.screen.recipe.knob
        value = self.screen.recipe.value(info)
        choices = self._choices()
        if choices:
            self._pick(
                f"{info.path}: {info.doc}{self._only(choices)}",
                [(value_text(c), meaning(info.path, c)) for c in choices],
                lambda number: self.put(info.path, choices[number]),
                choices.index(value) if value in choices else 0,
            )
            return
        text = "" if value is None else value if isinstance(value, str) else value_text(value)
        self.screen.prompt.ask(f"{info.path}: {info.doc}", lambda typed: self._typed(info.path, typed), value=text)

    def _only(self, choices: tuple[Any, ...]) -> str:
        """Why there is one choice alone: the trainer has no other."""
        return f" ({self.screen.workspace.recipe.preset} has no other)" if len(choices) == 1 else ""

    def _choices(self) -> tuple[Any, ...]:
        info = self.screen.recipe.knob
        if info is PRESET:
            from sftui.trainers import preset_names

            return tuple(preset_names())
        from sftui.trainers import trainer_named

        recipe = self.screen.workspace.recipe
        return trainer_named(recipe.preset).choices(recipe, info)

    def _typed(self, path: str, text: str) -> str | None:
        from sftui.recipe_io import parse_value

        try:
            value = parse_value(path, text, self.screen.workspace.recipe)
        except SftuiError as error:
            return str(error)
        self.put(path, value)
        return None

    def put(self, path: str, value: Any) -> None:
        workspace = self.screen.workspace
        try:
            done = self._preset(value) if path == PRESET.path else workspace.change(path, value)
        except SftuiError as error:
            self.screen.say(str(error), Role.ERROR)
            return
        if not done:
            self.screen.say(f"{path} is {value_text(value)} already", Role.DIM)

    def _preset(self, name: str) -> bool:
        """Another preset fills every knob but what says which data and tokenizer are read."""
        return self.screen.workspace.set_recipe(preset_like(self.screen.workspace.recipe, name))

    def reset(self) -> None:
        info = self.screen.recipe.knob
        self.put(info.path, self.screen.recipe.base_value(info))

    def undo(self, times: int) -> None:
        self._replay(self.screen.workspace.undo, times, "undo")

    def redo(self, times: int) -> None:
        self._replay(self.screen.workspace.redo, times, "redo")

    def _replay(self, step: Callable[[], bool], times: int, word: str) -> None:
        before, repairs = self.screen.workspace.recipe, self.screen.workspace.repairs
        done = 0
        while done < min(times, 1000) and step():
            done += 1
        if not done:
            self.screen.say(f"nothing to {word}", Role.DIM)
            return
        from sftui.recipe import diff

        now = self.screen.workspace.recipe
        told = [f"{c.path} {value_text(c.before)} → {value_text(c.after)}" for c in diff(before, now)]
        if before.waivers != now.waivers:
            told.append(f"waivers {len(before.waivers)} → {len(now.waivers)}")
        after = self.screen.workspace.repairs
        told += [f"{one} is no longer applied" for one in repairs if one not in after] + [
            f"{one} is applied" for one in after if one not in repairs
        ]
        self.screen.say(f"{word}: {', '.join(told)}")

    def on_changed(self) -> None:
        """Another recipe is in force: the knobs show it; the row and the list answer by themselves."""
        screen = self.screen
        recipe = screen.workspace.recipe
        screen.recipe.repaint()
        screen.rows.forget()
        screen.set_status(rule=f"{recipe.preset} {recipe.mask.rule}")
        screen.batch_commands.on_recipe()
        screen.figures_commands.on_recipe()
        screen.search_commands.on_recipe()
        screen.repair_commands.on_changed()
        if screen.context == RECIPE:
            screen.update_detail()

    # — templates —

    def template_missing(self, event: ev.TokenizerChanged) -> bool:
        templates = getattr(event.facts, "chat_templates", None)
        return self.screen.workspace.recipe.render.template == "tokenizer" and not templates

    def type_tokenizer(self) -> None:
        """Ask for another tokenizer; the same one is loaded again."""
        workspace = self.screen.workspace
        now = workspace.recipe.tokenizer.name or ""

        def answer(text: str) -> str | None:
            name = text.strip()
            if not name:
                return None
            if name == now:
                workspace.reopen()
                self.screen.say(f"loading {visible(name)} again", Role.DIM)
                return None
            try:
                recipe = changed(changed(workspace.recipe, "tokenizer.name", name), "tokenizer.revision", None)
            except SftuiError as error:
                return str(error)
            workspace.set_recipe(recipe)
            self.screen.say(f"tokenizer {visible(name)} · u undoes it")
            return None

        self.screen.prompt.ask("tokenizer: a Hub name, folder, tokenizer.json or builtin:NAME", answer, value=now)

    def pick_template(self) -> None:
        """The family's templates first, then every built-in one, the tokenizer's own, and a file."""
        from sftui.templates import builtin_names

        workspace = self.screen.workspace
        event = workspace.tokenizer
        family = tuple(event.templates) if event is not None else ()
        own = bool(getattr(event.facts, "chat_templates", None)) if event is not None else False
        entries = [(f"builtin:{name.removeprefix('builtin:')}", "for this tokenizer's family") for name in family]
        if own or not entries:
            entries.append(("tokenizer", "the tokenizer's own" if own else "the tokenizer's own (it has none)"))
        entries += [(f"builtin:{name}", "built in") for name in builtin_names() if name not in family]
        entries.append(("file:", "a Jinja file you name"))
        names = [name for name, _ in entries]
        now = workspace.recipe.render.template
        self._pick(
            "chat template",
            entries,
            lambda number: self._template(names[number]),
            names.index(now) if now in names else 0,
        )

    def _template(self, name: str) -> None:
        if name == "file:":
            self.screen.prompt.ask("file with a chat template", lambda text: self._template_file(text.strip()))
        else:
            self.put("render.template", name)

    def _template_file(self, path: str) -> str | None:
        from pathlib import Path

        if not path:
            return None
        if not Path(path).expanduser().is_file():
            return f"there is no file {path}"
        self.put("render.template", f"file:{Path(path).expanduser()}")
        return None

    def _pick(self, title: str, entries: list[tuple[str, str]], done: Callable[[int], None], marked: int = 0) -> None:
        screen = self.screen
        dialog = Dialog(title, Options(entries), screen.keymap, screen.look, picking=True, marked=marked)
        screen.app.push_screen(dialog, lambda number: None if number is None else done(number))
