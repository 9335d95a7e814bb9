"""Export: what to, where to, the difference, and only then the write."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sftui.errors import SftuiError
from sftui.recipe import Preset
from sftui.text import visible
from sftui.tui.dialogs import Dialog, Options
from sftui.views import Line, Role, diff_text_lines, line, wrap

if TYPE_CHECKING:
    from sftui.exports.plan import ExportPlan
    from sftui.tui.main_screen import MainScreen

RECIPE = ("recipe", "recipe.yaml: only the settings that differ from the preset")
SCRIPT = ("preprocess", "preprocess.py: makes these ids and labels with transformers and datasets alone")


def targets(preset: str) -> tuple[tuple[str, str], ...]:
    """What may be written: the recipe, a script or the trainer's own config, and the configs of the others."""
    from sftui.trainers import preset_names, traits_of

    name = Preset.of(preset).trainer
    own = () if traits_of(preset).by_hand else ((preset, f"the config of {name}, corrected"),)
    newest = {Preset.of(other).trainer: other for other in reversed(preset_names())}
    others = (
        (newest[other], f"converted to {other}'s config; says what it cannot express")
        for other in dict.fromkeys(Preset.of(one).trainer for one in preset_names())
        if other != name and not traits_of(other).by_hand
    )
    script = SCRIPT if not own else (SCRIPT[0], f"preprocess.py: not for {name}, which prepares the rows itself")
    return (RECIPE, *own, *others, script) if own else (RECIPE, script, *others)


class ExportDialog:
    """Three steps; Esc at any of them writes nothing."""

    def __init__(self, screen: MainScreen) -> None:
        self.screen = screen

    def open(self) -> None:
        screen = self.screen
        found = (*self._own(), *targets(screen.workspace.recipe.preset))
        dialog = Dialog("export", Options(found), screen.keymap, screen.look, picking=True)
        screen.app.push_screen(dialog, lambda number: None if number is None else self._where(found[number][0]))

    def _own(self) -> list[tuple[str, str]]:
        """What only this session has: the data as repaired, and the review marks."""
        repairs, marks = self.screen.workspace.repairs, self.screen.mark_commands.marks
        dropped = len(marks.rows_with("drop"))
        told = [*repairs, *([f"without {dropped:,} marked drop"] if dropped else [])]
        data = [("data", f"a new file with the rows as repaired ({', '.join(told)}), and a log")] if told else []
        return [*data, *([("marks", f"the review marks as lines of JSON: {marks.words()}")] if marks else [])]

    def _where(self, target: str) -> None:
        if target == "data":
            self.screen.data_export.open()
            return
        if target == "marks":
            self.screen.mark_commands.export()
            return
        what = {"recipe": "recipe.yaml", "preprocess": "preprocess.py"}.get(target, f"the config of {target}")
        self.screen.prompt.ask(
            f"folder for {what}", lambda text: self._plan(target, text.strip() or "."), value="sftui-export"
        )

    def _plan(self, target: str, folder: str) -> str | None:
        try:
            plan = self.screen.workspace.plan_export(target, folder)
            inputs = self.screen.copy_commands.inputs(recipes=False)
            for file in plan.files:
                if file.diff or not file.exists:
                    inputs.refuse(file.path)
        except (SftuiError, OSError) as error:
            self.screen.prompt.close()
            self.screen.say(str(error), Role.ERROR)
            return None
        screen = self.screen
        verb = "y overwrites" if plan.overwrites else "y writes it"
        dialog = Dialog(
            f"export to {folder}: nothing is written yet",
            lambda width: plan_lines(plan, width),
            screen.keymap,
            screen.look,
            offer=f"{verb} · ",
        )
        screen.app.push_screen(dialog, lambda answer: self._answered(plan, target, answer is not None))
        return None

    def _answered(self, plan: ExportPlan, target: str, wanted: bool) -> None:
        screen = self.screen
        if wanted:
            self._write(plan)
        else:
            screen.say("nothing was written", Role.DIM)
        if plan.converted is not None:
            screen.compare_commands.other, screen.compare_commands.name, screen.compare_commands.repairs = (
                plan.converted,
                f"as {target}",
                None,
            )
            screen.say(f"{screen.said} · C compares the labels here with those of {target}", screen.said_role)

    def _write(self, plan: ExportPlan) -> None:
        try:
            written = plan.write(overwrite=True)
        except (SftuiError, OSError) as error:
            self.screen.say(str(error), Role.ERROR)
            return
        if plan.converted is None:  # another trainer's files do not say all of it
            self.screen.own_commands.kept = self.screen.workspace.recipe
        names = ", ".join(str(path) for path in written)
        self.screen.say(f"wrote {names}" if names else "nothing to write: the files are up to date")


def plan_lines(plan: ExportPlan, width: int) -> Sequence[Line]:
    """What an export would write: the correction it states, then each file's difference."""
    lines = [*wrap(line((visible(plan.first_line), Role.TITLE)), width)]
    for note in plan.notes:
        lines += wrap(line((f"! {visible(note)}", Role.WARNING)), width)
    for file in plan.files:
        state = "unchanged" if not file.diff and file.exists else "changes" if file.exists else "new"
        lines += [(), line((f"{visible(str(file.path))} ", Role.KEY), (state, Role.DIM))]
        if file.diff:
            lines += diff_text_lines(file.diff.rstrip("\n"), width)
        elif not file.exists:
            lines += diff_text_lines("\n".join(f"+{text}" for text in file.content.rstrip("\n").split("\n")), width)
    return lines
