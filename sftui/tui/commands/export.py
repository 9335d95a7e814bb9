"""Export: what to, where to, the difference, and only then the write; Esc at any of the three writes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from sftui.recipe import Preset
from sftui.session.marks import KINDS
from sftui.text import many, visible
from sftui.tui.commands import marks, writing
from sftui.tui.commands.command import Command
from sftui.tui.commands.copying import inputs
from sftui.tui.inspector import Inspector
from sftui.views.cells import Line, Role, line, text_lines, warned
from sftui.views.knobs import diff_text_lines

if TYPE_CHECKING:
    from sftui.exports.plan import ExportPlan

RECIPE = ("recipe", "recipe.yaml: only the settings that differ from the preset")
SCRIPT = ("preprocess", "preprocess.py: makes the same ids and labels with only transformers and datasets")


def targets(preset: str) -> tuple[tuple[str, str], ...]:
    """What may be written: the recipe, a script or the trainer's own config, and the configs of the others."""
    from sftui.trainers import preset_names, traits_of

    name = Preset.of(preset).trainer
    own = () if traits_of(preset).by_hand else ((preset, f"the config of {name}, corrected"),)
    newest = {Preset.of(other).trainer: other for other in reversed(preset_names())}
    others = (
        (newest[other], f"converted to {other}'s config; lists what it cannot express")
        for other in dict.fromkeys(Preset.of(one).trainer for one in preset_names())
        if other != name and not traits_of(other).by_hand
    )
    script = SCRIPT if not own else (SCRIPT[0], f"preprocess.py: not for {name}, which prepares the rows itself")
    return (RECIPE, *own, *others, script) if own else (RECIPE, script, *others)


@Command("export", ("x",), "export", "Recipe", means="export")
def export(here: Inspector, count: int | None) -> None:
    """Write the recipe, a config, or the repaired data; you see the diff first."""
    ask(here)


def ask(here: Inspector) -> None:
    """Ask what to."""
    found = (*_own(here), *targets(here.workspace.recipe.preset))
    here.pick("export", found, lambda number: _where(here, found[number][0]))


def _own(here: Inspector) -> list[tuple[str, str]]:
    """What only this session has: the data as repaired, the rows of a mark, and the review marks."""
    from sftui.repairs.edits import repair_titles

    kept = here.state.kept.marks
    dropped = len(kept.rows_with("drop"))
    changes = [*repair_titles(here.workspace.repairs), *([f"without {dropped:,} marked drop"] if dropped else [])]
    data = [("data", f"a new file with the repaired rows ({', '.join(changes)}), and a log")] if changes else []
    counts = kept.counts
    some = [
        (f"{kind} rows", f"a new file with only the {many(counts[kind], 'row')} marked {kind}, and a log")
        for kind in KINDS
        if kind in counts
    ]
    return [*data, *([("marks", f"the review marks as JSON lines: {kept.words()}")] if kept else []), *some]


def _where(here: Inspector, target: str) -> None:
    if target == "data" or target.endswith(" rows"):
        writing.ask(here, only=target.removesuffix(" rows") if target != "data" else "")
        return
    if target == "marks":
        marks.export(here)
        return
    what = {"recipe": "recipe.yaml", "preprocess": "preprocess.py"}.get(target, f"the config of {target}")
    plan = partial(_plan, here, target)
    here.ask(f"folder for {what}", lambda text: here.attempt(partial(plan, text)), value="sftui-export", raw=True)


def _plan(here: Inspector, target: str, text: str) -> None:
    folder = text.strip() or "."
    plan = here.workspace.plan_export(target, folder)
    read = inputs(here, recipes=False)
    for file in plan.files:
        if file.diff or not file.exists:
            read.refuse(file.path)
    known, words = here.panes.rows.lost() or (0, "")
    verdict = f"✗ {words} in all {many(known, 'row')} checked: f shows why" if known else ""

    def page(width: int) -> Sequence[Line]:
        return (*((*text_lines(verdict, width, Role.ERROR), ()) if verdict else ()), *plan_lines(plan, width))

    title, then = f"export to {folder}: nothing written yet", partial(_offer_comparison, here, plan, target)
    here.offer_writing(title, page, partial(_write, here, plan), over=bool(plan.overwrites), then=then)


def _offer_comparison(here: Inspector, plan: ExportPlan, target: str) -> None:
    if plan.converted is not None:
        here.put(here.state.compared._replace(other=plan.converted, name=f"as {target}", repairs=None))
        said = here.state.said
        here.say(f"{said.text} · C compares these labels with those of {target}", said.role)


def _write(here: Inspector, plan: ExportPlan) -> None:
    written = plan.write(overwrite=True)
    if plan.converted is None:  # another trainer's files do not say all of it
        here.put(here.state.kept._replace(recipe=here.workspace.recipe))
    names = ", ".join(str(path) for path in written)
    here.say(f"wrote {names}" if names else "nothing to write: the files are up to date")


def plan_lines(plan: ExportPlan, width: int) -> Sequence[Line]:
    """What an export would write: the correction it states, then each file's difference."""
    lines = [*text_lines(visible(plan.first_line), width, Role.TITLE)]
    for note in plan.notes:
        lines += warned(f"! {note}", width)
    for file in plan.files:
        state = "unchanged" if not file.diff and file.exists else "changes" if file.exists else "new"
        lines += [(), line((f"{visible(str(file.path))} ", Role.KEY), (state, Role.DIM))]
        if file.diff:
            lines += diff_text_lines(file.diff.rstrip("\n"), width)
        elif not file.exists:
            lines += diff_text_lines("\n".join(f"+{text}" for text in file.content.rstrip("\n").split("\n")), width)
    return lines
