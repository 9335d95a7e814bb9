"""Copy, write, print on exit, open in the editor: the row, its ids, labels, text, template."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from sftui.errors import SftuiError
from sftui.tui.copying import copy_out, editor, read_only_copy, write_out
from sftui.views import Role

if TYPE_CHECKING:
    from sftui.session.inputs import Inputs
    from sftui.tui.main_screen import MainScreen

WHAT = ("row", "ids", "labels", "text")
ENDINGS = {"row": "json", "ids": "json", "labels": "json", "text": "txt", "template": "jinja"}


class CopyCommands:
    """One text per subject; four ways out."""

    def __init__(self, screen: MainScreen) -> None:
        self.screen = screen
        self.to_print: list[str] = []

    def handlers(self) -> dict[str, Callable[[int | None], None]]:
        ways = {"copy": self.copy, "write": self.write, "print": self.print_on_exit}
        found: dict[str, Callable[[int | None], None]] = {
            f"{way}.{what}": lambda n, do=do, what=what: do(what)  # type: ignore[misc]
            for way, do in ways.items()
            for what in WHAT
        }
        for what in ("row", "text", "template"):
            found[f"edit.{what}"] = lambda n, what=what: self.edit(what)  # type: ignore[misc]
        return found

    def text_of(self, what: str) -> str | None:
        """The subject as text; None where the row has none, which is then said."""
        inspection, row_shown = self.screen.tokens.inspection, self.screen.status.row
        here = (
            inspection.row.index == row_shown if inspection is not None else self.screen.tokens.waiting_for != row_shown
        )
        text: str | None = None
        if what != "template" and not here:
            self.screen.say(f"row {row_shown:,} is still loading; try again in a moment", Role.WARNING)
            return None
        if inspection is not None:
            if what == "row":
                row = inspection.row
                text = row.raw if row.data is None else json.dumps(row.data, ensure_ascii=False, indent=2, default=str)
            elif what == "text" and inspection.rendered is not None:
                text = inspection.rendered.text
            elif what in ("ids", "labels") and inspection.example is not None:
                example = inspection.example
                text = json.dumps(list(example.input_ids if what == "ids" else example.labels))
            elif what == "template":
                text = self._template()
        if text is None:
            self.screen.say(f"this row has no {what}: there is nothing to take", Role.WARNING)
        return text

    def inputs(self, recipes: bool = True) -> Inputs:
        """What is read here and never written over: by whoever opened it, the recipe in force, or a comparison.

        `recipes=False` leaves out the recipe and the config that were opened, which an export writes back.
        """
        from sftui.session.inputs import inputs_of

        workspace, compare = self.screen.workspace, self.screen.compare_commands
        used = [workspace.base_recipe, workspace.recipe, *([compare.other] if compare.other is not None else [])]
        return inputs_of(workspace.options, compare.file, recipes=recipes, used=used)

    def _caveat(self, what: str) -> str:
        """Said with whatever leaves the program otherwise than the file has it."""
        inspection = self.screen.tokens.inspection
        repaired = (
            inspection is not None and inspection.row.repairs and inspection.row.left_out is None and what != "template"
        )
        return " · as repaired, not as the file has it" if repaired else ""

    def _template(self) -> str | None:
        workspace = self.screen.workspace
        kind, _, name = workspace.recipe.render.template.partition(":")
        try:
            if kind == "builtin":
                from sftui.templates import builtin_template

                return builtin_template(name).source
            if kind == "file":
                from sftui.errors import TemplateError
                from sftui.side_files import read_side_file

                return read_side_file(os.path.expanduser(name), "the chat template", TemplateError)
        except SftuiError:
            return None
        templates = getattr(workspace.tokenizer.facts if workspace.tokenizer else None, "chat_templates", None) or {}
        return templates.get("default") or next(iter(templates.values()), None)

    def copy(self, what: str) -> None:
        text = self.text_of(what)
        if text is not None:
            self.screen.say(
                copy_out(text, self.screen.own_commands.app.write_to_terminal, os.environ) + self._caveat(what)
            )

    def write(self, what: str) -> None:
        text = self.text_of(what)
        if text is None:
            return
        row = self.screen.status.row

        def done(path: str) -> str | None:
            name = path.strip()
            if not name:
                return None
            try:
                said = write_out(text, name, self.inputs())
            except (SftuiError, OSError) as error:
                return str(error)
            self.screen.say(said + self._caveat(what))
            return None

        self.screen.prompt.ask(
            f"file for the {what}{self._caveat(what)}", done, value=f"row{row}-{what}.{ENDINGS[what]}"
        )

    def print_on_exit(self, what: str) -> None:
        text = self.text_of(what)
        if text is not None:
            self.to_print.append(text)
            self.screen.say(
                f"the {what} of row {self.screen.status.row:,} will be printed once sftui has quit{self._caveat(what)}"
            )

    def edit(self, what: str) -> None:
        """A read-only copy in the editor; sftui waits and comes back as it was."""
        from textual.app import SuspendNotSupported

        text = self.text_of(what)
        if text is None:
            return
        import subprocess

        try:
            words = editor(os.environ)
            with (
                read_only_copy(text, f"row{self.screen.status.row}-{what}.{ENDINGS[what]}") as path,
                self.screen.app.suspend(),
            ):
                code = subprocess.run([*words, str(path)], check=False).returncode
        except SuspendNotSupported:
            self.screen.say("no editor can run in this terminal; press w to write a file", Role.WARNING)
        except (SftuiError, OSError) as error:
            self.screen.say(str(error), Role.ERROR)
        else:
            said = "back from the editor (read-only copy, nothing changed here)"
            self.screen.say(said if code == 0 else f"the editor ended with code {code}", Role.DIM)
        self.screen.refresh(layout=False)
