"""Compare: the row on screen under the recipe in force (A) and a second one (B), and the count over the dataset.

The second recipe stays chosen until another is; A and B can also be looked at in turn in the token pane.
"""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from pathlib import Path

from sftui.errors import RecipeError
from sftui.recipe import Recipe, changed
from sftui.side_files import read_side_file
from sftui.trainers import load_recipe, preset_names, trainer_named
from sftui.tui.commands import rows
from sftui.tui.commands.command import Command
from sftui.tui.commands.recipe import preset_like
from sftui.tui.contexts import COMPARE, WHY
from sftui.tui.inspector import Inspector
from sftui.tui.state import StatusMessage, unless
from sftui.views.cells import Line, Role, line, text_lines, warned
from sftui.views.repairs import repair_count_lines, repaired_row_lines
from sftui.views.status import problem_lines
from sftui.workspace import events as ev
from sftui.workspace import requests as rq
from sftui.workspace.workspace import RecipeChoice

Repairs = tuple[str, ...] | None
"""Other repairs of the data than those in force; None: the same."""
HINT = "v A/B · - differing · = other · a takes B"
REPAIR_HINT = "v A/B · - differing · a applies it"
REPAIR_NAMES = ("as opened", "repaired")


def _hint(here: Inspector) -> str:
    return HINT if here.state.compared.repairs is None else REPAIR_HINT


# — choosing —


@Command("compare", ("C",), "compare", "Look")
def open_or_close(here: Inspector, count: int | None) -> None:
    """Compare the row under a second recipe, preset or template, and count differences over the dataset."""
    now = here.state.compared
    if here.state.open.view == COMPARE:
        here.close_view()
    elif now.other is None:
        pick.run(here, None)
    else:
        start(here, now.other, now.name, now.repairs)
        here.say(f"B: {here.state.compared.description or now.name} · {_hint(here)}")


@Command("compare.pick", ("=",), "compare with another", "Look")
def pick(here: Inspector, count: int | None) -> None:
    """Choose another recipe to compare with."""
    # A preset, the recipe as opened, a chat template, or a recipe file.
    from sftui.templates import builtin_names

    now = here.workspace.recipe
    entries: list[tuple[str, str]] = []
    if here.workspace.base_recipe != now:
        entries.append(("as opened", "the recipe before your changes"))
    words = "its defaults with the current data, tokenizer and template"
    aims = now.loss.objective
    others = (name for name in preset_names() if aims in ("sft", *trainer_named(name).objectives))
    entries += [(name, words) for name in others if name != now.preset]
    if now.preset in preset_names() and preset_like(now, now.preset) != now:
        entries.append((now.preset, "this trainer with its defaults"))
    entries += [(f"template builtin:{name}", "this recipe with a different chat template") for name in builtin_names()]
    entries.append(("file:", "choose a recipe file"))
    here.pick("compare with", entries, lambda number: _picked(here, entries[number][0]))


def _picked(here: Inspector, name: str) -> None:
    workspace = here.workspace
    if name == "file:":
        here.ask("recipe file to compare with", partial(_file, here))
    elif name == "as opened":
        start(here, workspace.base_recipe, name)
    elif name.startswith("template "):
        template = name.removeprefix("template ")
        start(here, changed(workspace.recipe, "render.template", template), template)
    else:
        start(here, preset_like(workspace.recipe, name), name)


def _file(here: Inspector, text: str) -> None:
    path = Path(os.path.expanduser(text))
    other = load_recipe(read_side_file(path, "the recipe", RecipeError), str(path))
    here.put(here.state.compared._replace(file=str(path)))
    if other.tokenizer.name is None:
        other = replace(other, tokenizer=here.workspace.recipe.tokenizer)
    start(here, other, path.name)


# — the comparison —


def start(
    here: Inspector, other: Recipe, name: str, repairs: Repairs = None, description: str = "", of_finding: bool = False
) -> None:
    """Compare with `other` (with other repairs of the data) from here on, and count over the dataset in the background.

    `description` says what it is where the name is too short to; `of_finding`: it previews what a finding offers, which
    is shown again afterwards.
    """
    if here.state.compared.on_b:
        _back_to_a(here)
    here.put(here.state.compared.chosen(other, name, repairs, description, of_finding))
    if here.state.open.view == COMPARE:
        stop_counting(here)
        here.show_view()
    else:
        here.open_view(COMPARE)
    here.put(here.state.compared._replace(counting=here.workspace.ask(rq.CountRequest, other, repairs, True)))


def show(here: Inspector, name: str, keep: bool) -> None:
    row, now = here.state.row, here.state.compared
    if now.other is not None:
        here.put(now.at(row))
        _ask(here, row, now.other)
        paint(here, name, keep)


def _ask(here: Inspector, row: int, other: Recipe) -> None:
    here.workspace.ask(rq.CompareRequest, row, other, here.state.compared.repairs)


def paint(here: Inspector, name: str, keep: bool = True) -> None:
    here.panes.document.show(name, partial(lines, here), keep=keep, hint=_hint(here))


def lines(here: Inspector, width: int) -> tuple[Line, ...]:
    """The row under both, then the count."""
    from sftui.views.compare import unmarked_words

    now = here.state.compared
    names = (here.workspace.recipe.preset, now.name) if now.repairs is None else REPAIR_NAMES
    answer = now.answer
    if answer is None:
        return (line(("comparing …", Role.DIM)),)
    if answer.problem is not None:
        return problem_lines(answer.problem, width)
    row = answer.other.row if answer.other is not None and now.repairs is not None else None
    repaired = (*repaired_row_lines(row, answer.diff, width), ()) if row is not None else ()
    return (
        *_counted(here, width, names),
        *(cells for text in unmarked_words(answer.unmarked, names) for cells in warned(text, width)),
        (),
        *repaired,
        *_row(here, answer, names, width),
    )


def _row(here: Inspector, answer: ev.ComparisonReady, names: tuple[str, str], width: int) -> tuple[Line, ...]:
    """The row's own lines, kept while the count below it grows."""
    from sftui.views.compare import compare_lines

    now, compared = here.state.compared, answer.comparison
    if compared is None:
        return ()

    def make() -> tuple[Line, ...]:
        text = (
            f"long row: {len(compared.columns):,} tokens from the first difference on, {answer.left_out:,} hidden;"
            f" {answer.differing:,} differ in total"
        )
        head = warned(text, width) if answer.left_out else ()
        return (*head, *compare_lines(compared, names, width, differing=now.differing))

    return now.drawn.of((id(answer), answer.ticket, answer.version, names, width, now.differing), make)


def _counted(here: Inspector, width: int, names: tuple[str, str]) -> list[Line]:
    from sftui.views.compare import count_lines

    now = here.state.compared
    count = now.counted
    if count is None or count.count is None:
        problem = count.problem if count is not None else None
        text = "counting over the dataset …" if problem is None else f"✗ {problem.sentence()}"
        return list(text_lines(text, width, Role.DIM))
    found = list(count_lines(count.count, names, width))
    if count.causes is not None and now.other is not None:
        from sftui.views.compare import cause_lines

        found += [(), *cause_lines(count.causes, here.workspace.recipe, now.other, width, (0, 1))]
    if count.repaired is not None and now.repairs is not None:
        found = [*repair_count_lines(count.repaired, count.total, count.done, width), *found]
    if not count.done:
        of = f" of {count.total:,}" if count.total is not None else ""
        found.append(line((f"so far: {count.count.rows:,}{of} rows, Esc stops", Role.DIM)))
    return found


def on_compared(here: Inspector, event: ev.ComparisonReady) -> None:
    now = here.state.compared
    if event.recipe != now.other or event.repairs != now.repairs:
        return
    here.put(now._replace(answer=event))
    here.paint_view(COMPARE)
    if now.on_b:
        _show_b(here, event, event.recipe)


def on_count(here: Inspector, event: ev.CountReady) -> None:
    now = here.state.compared._replace(counted=event)
    here.put(now)
    if now.other is not None and event.done and "deduplicate" in (now.repairs or ()):
        _ask(here, here.state.row, now.other)  # only now it is known whether the row stood before
    here.paint_view(COMPARE)


def stop_counting(here: Inspector) -> None:
    """The view was closed: nothing is counted any more."""
    here.workspace.cancel(here.state.compared.counting)
    here.put(here.state.compared._replace(counting=None))


@Command("compare.toggle", ("v",), "A/B", "Look", when=lambda here: _no_b(here, "nothing to compare with"))
def toggle(here: Inspector, count: int | None) -> None:
    """Switch between the tokens under A and under B."""
    now = here.state.compared
    if now.other is None:
        return
    if not here.panes.tokens.display:
        here.put(now._replace(peeking=True))
        here.close_view()
        here.put(here.state.compared._replace(peeking=False))
    if now.on_b:
        _back_to_a(here)
        return
    here.put(here.state.compared._replace(on_b=True))
    if now.answer is not None and now.answers(here.state.row):
        _show_b(here, now.answer, now.other)
    else:
        _ask(here, here.state.row, now.other)
        here.say(f"B: {now.name} …", Role.DIM)


def _closed(here: Inspector) -> StatusMessage | None:
    return unless(here.state.open.view == COMPARE, "no comparison; press C to start one")


@Command("compare.differing", ("-",), "only differences", "Look", when=_closed)
def hide_equal(here: Inspector, count: int | None) -> None:
    """Show or hide equal parts of the comparison."""
    now = here.state.compared
    here.put(now._replace(differing=not now.differing))
    here.paint_view(COMPARE)
    here.say("every band" if now.differing else "only bands that differ", Role.DIM)


# — A/B —


def _no_b(here: Inspector, missing: str = "no comparison") -> StatusMessage | None:
    return unless(here.state.compared.other is not None, f"{missing}; press C to choose a second recipe")


def _show_b(here: Inspector, answer: ev.ComparisonReady, other: Recipe) -> None:
    now = here.state.compared
    if answer.other is None:
        here.put(now._replace(on_b=False))
        here.say(answer.problem.sentence() if answer.problem is not None else "B could not be prepared", Role.ERROR)
        return
    if answer.other.row.index == here.state.row:
        here.show_row(answer.other, other)
        rows.show_figures(here, answer.other, other, side="B")
        here.panes.rows.show_other_side(answer.other)
        here.paint_view(WHY)
        here.say(f"B: {now.name} · v goes back to A: {here.workspace.recipe.preset}")


def drop_preview(here: Inspector) -> bool:
    """A preview that was cancelled is gone: the tokens are those of the recipe in force, and B is what it was before.
    False where none is open."""
    now = here.state.compared
    if not now.of_finding:
        return False
    if now.on_b:
        _back_to_a(here)
    here.put(here.state.compared.restored())
    return True


def left_b(here: Inspector) -> None:
    """The tokens of the recipe in force are shown."""
    here.put(here.state.compared._replace(on_b=False))
    here.panes.rows.show_other_side(None)


def _back_to_a(here: Inspector) -> None:
    left_b(here)
    here.workspace.request_row(here.state.row)
    here.say(f"A: {here.workspace.recipe.preset}")


def _b_hidden(here: Inspector) -> StatusMessage | None:
    """Why there is no B on screen to be put in force."""
    shown = here.state.open.view == COMPARE or here.state.compared.on_b
    return unless(shown, "nothing to apply here: f lists findings and their fixes, C compares") or _no_b(here)


@Command("compare.take", ("a",), "use recipe B", "Recipe", when=_b_hidden, means="apply")
def take(here: Inspector, count: int | None) -> None:
    """Make recipe B the current one while it is compared or shown; u undoes it."""
    now = here.state.compared
    if now.other is None:
        return
    repairs = here.workspace.repairs if now.repairs is None else now.repairs
    if not here.workspace.choose(RecipeChoice(now.other, repairs)):
        here.say("that is already the current recipe", Role.DIM)
    elif now.repairs is None:
        here.say(f"{now.name} is the current recipe; u undoes it")
    else:
        if here.state.open.view == COMPARE:
            here.close_view()
        if here.state.compared.repairs == now.repairs:
            here.put(here.state.compared._replace(other=None, repairs=None))  # there is nothing left to compare with
        applied(here, now.name)


def applied(here: Inspector, repair: str) -> None:
    """Say what was put in force, and its count as soon as that is known."""
    here.put(here.state.repairing._replace(reporting=repair))
    here.say(f"applied: {repair} · counting … · u undoes it, x exports it")
