"""Findings: to their tokens, why they matter, what a fix changes, and applying it.

The pane follows the row on screen; the worker checks only while it is open.
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from sftui.model import SIDES
from sftui.recipe import changed, with_changes
from sftui.text import visible
from sftui.tui.commands import compare, repairs, rows, search
from sftui.tui.commands.command import Command, both_ways, moves
from sftui.tui.commands.copying import write
from sftui.tui.contexts import FINDINGS, TOKENS
from sftui.tui.dialogs import DialogAnswer
from sftui.tui.inspector import Inspector
from sftui.tui.state import StatusMessage
from sftui.views.cells import Line, Role, line, text_lines
from sftui.views.grid import Action
from sftui.views.knobs import diff_text_lines, new_values
from sftui.workspace import SearchQuery
from sftui.workspace import events as ev
from sftui.workspace import requests as rq
from sftui.workspace.workspace import RecipeChoice

if TYPE_CHECKING:
    from sftui.findings import Finding, Fix

UNTRIED = "still trying fixes on some rows; try again in a moment"


# — what is shown —


def show(here: Inspector, name: str, keep: bool) -> None:
    """Ask for the row on screen, unless its findings are there."""
    pane, row = here.panes.findings, here.state.row
    held = pane.answer if keep and pane.answer is not None and pane.answer.index == row else None
    pane.show(row, held, here.workspace.recipe.trainer)
    here.workspace.ask(rq.FindingsRequest, row)


def on_findings(here: Inspector, event: ev.FindingsReady) -> None:
    if here.on_screen(FINDINGS) and event.index == here.state.row:
        here.panes.findings.show(event.index, event, here.workspace.recipe.trainer)


MOVES = moves(FINDINGS, "finding")


def _none(here: Inspector) -> StatusMessage | None:
    """Why no finding is marked."""
    answer = here.panes.findings.answer
    if here.panes.findings.finding is not None:
        return None
    checking = answer is None or (answer.problem is None and answer.setup is None)
    return StatusMessage("still checking; try again in a moment" if checking else "no finding here", Role.DIM)


def _no_cure(here: Inspector) -> StatusMessage | None:
    """Why nothing that sftui can do cures the marked finding."""
    finding, answer = here.panes.findings.finding, here.panes.findings.answer
    if finding is None:
        return _none(here)
    own = finding.fix
    if repairs.cures(here, finding) or (own is not None and not own.in_words):
        return None
    if answer is not None and not answer.tried:
        return StatusMessage(UNTRIED, Role.DIM)
    chosen = [name for name, _ in repairs.cures(here, finding, in_force=True)]
    if chosen:
        verb = "are" if len(chosen) > 1 else "is"
        words = f"{' and '.join(chosen)} {verb} already applied and cannot fix {finding.code} here"
        return StatusMessage(words, Role.WARNING)
    key = "" if own is None else f": {own.trainer_keys.get(here.workspace.recipe.trainer) or own.title}"
    return StatusMessage(f"no recipe knob fixes {finding.code}{key}", Role.WARNING)


def _marked(here: Inspector) -> Finding | None:
    """The marked finding, with which something is done now."""
    here.panes.findings.choose()
    return here.panes.findings.finding


def sentence(here: Inspector) -> Line:
    """What `a` does with the marked finding; which keys there are is the footer's."""
    finding, answer = here.panes.findings.finding, here.panes.findings.answer
    if finding is None:
        return line((" no findings here; > goes to the next row with findings", Role.DIM))
    if answer is not None and not answer.tried:
        return line((f" {finding.code}: trying fixes …", Role.DIM))
    own = finding.fix
    ways = [name for name, _ in repairs.cures(here, finding)]
    if own is not None and (own.changes or own.repairs):
        ways.insert(0, _new(own))
    elif own is not None and own.template:
        ways.insert(0, "generation tags in the chat template")
    if not ways:
        words = f" {finding.code}: no automatic fix; press"
        return line((words, Role.DIM), (" W", Role.KEY), (" for advice", Role.DIM))
    return line((" a", Role.KEY), (" applies ", Role.DIM), (" or ".join(ways), Role.PLAIN))


# — to the tokens —


@Command("findings.tokens", ("enter",), "to its tokens", "Findings", FINDINGS, when=_none, means="enter")
def to_tokens(here: Inspector, count: int | None) -> None:
    """Go to the tokens of the finding."""
    finding = _marked(here)
    if finding is None:
        return
    if finding.row is None and finding.rows and here.state.row not in finding.rows:
        here.put(here.state.reading._replace(waiting=finding))
        rows.go(here, finding.rows[0])
        here.say(f"{finding.code}: row {finding.rows[0]:,} shows it")
    else:
        _mark(here, finding)
    if not here.panes.tokens.display:
        here.close_view()
    here.hold_keys(TOKENS)


def on_row(here: Inspector) -> None:
    """The row that a finding of the set-up led to is here."""
    finding = here.state.reading.waiting
    if finding is not None:
        here.put(here.state.reading._replace(waiting=None))
        _mark(here, finding)


def to_side(here: Inspector, finding: Finding) -> None:
    """The side of a preference that a finding is of has the cursor."""
    if finding.side and here.state.open.sides > 1:
        here.take_side(SIDES.index(finding.side))


def _mark(here: Inspector, finding: Finding) -> None:
    to_side(here, finding)
    tokens = here.panes.tokens
    inspection, table = tokens.inspection, tokens.table
    if inspection is None or table is None:
        here.say(f"{finding.code}: this row has no tokens to show", Role.DIM)
        return
    start, end = finding.tokens or (0, 0)
    if start == end and finding.message is not None and inspection.tokens is not None:
        owners = inspection.tokens.messages
        start = owners.index(finding.message) if finding.message in owners else 0
    if finding.tokens is None and finding.message is None:
        here.say(f"{finding.code} is about the whole row, not single tokens", Role.DIM)
        return
    tokens.mark(tuple(range(start, end)))
    tokens.act(Action.GOTO, start)


# — why —


@Command("findings.explain", ("W",), "why it matters", "Findings", FINDINGS, when=_none, means="why")
def explain(here: Inspector, count: int | None) -> None:
    """Explain the finding and its fix in every trainer; Enter opens the page on your trainer."""
    finding = _marked(here)
    if finding is not None:
        explain_code(here, finding.code)


def explain_code(here: Inspector, code: str) -> None:
    """The page of a code, with what repairs it in every trainer; Enter opens the page on the trainer."""
    from sftui.findings import explain as page_of
    from sftui.trainers import traits_of

    title, _, rest = page_of(code).partition("\n")
    trainer = here.workspace.recipe.trainer
    name = traits_of(trainer).title

    def then(answer: DialogAnswer) -> None:
        if answer == "accept":
            from sftui.docs import trainer_text
            from sftui.tui.help_pages import laid_out

            page = partial(laid_out, trainer_text(trainer, name))
            here.read(f"help: {name}", page, lambda _: explain_code(here, code), leave="goes back")

    offers = {"accept": f"Enter reads about {name}"}
    here.read(title, lambda width: text_lines(rest.strip("\n"), width, indent="    "), then, offers)


# — fixes —


def _new(fix: Fix) -> str:
    """What a fix puts in force."""
    return ", ".join(filter(None, (new_values(fix.changes), *fix.repairs)))


def _tried(here: Inspector) -> bool:
    """Whether the cures of the findings on screen were tried; says so aloud where they were not yet."""
    answer = here.panes.findings.answer
    if answer is None or answer.tried:
        return True
    here.say(UNTRIED, Role.DIM)
    return False


@Command("findings.preview", ("d",), "what the fix changes", "Findings", FINDINGS, when=_no_cure)
def preview(here: Inspector, count: int | None) -> None:
    """Show the row and its labels before and after the fix or repair, and count the rows that change."""
    finding = _marked(here)
    if finding is not None and _tried(here):
        fix, repair = partial(_preview_fix, here, finding.code), partial(repairs.preview, here)
        repairs.cure(here, finding, "what it changes", fix, repair)


@Command("findings.apply", ("a",), "apply the fix", "Findings", FINDINGS, when=_no_cure, means="apply")
def apply(here: Inspector, count: int | None) -> None:
    """Apply the fix to the recipe, or the repair to the data; u undoes it, x exports it."""
    finding = _marked(here)
    if finding is not None and _tried(here):
        repairs.cure(here, finding, "apply", partial(_apply_fix, here), partial(repairs.apply, here))


def _preview_fix(here: Inspector, code: str, fix: Fix) -> None:
    """The row as it is and with the fix, aligned, and what changes over the dataset; of a template, its difference,
    since no row can be prepared by one that is not written yet."""
    if fix.template is not None:
        _tag(here, fix)
        return
    name, words = f"{code}'s fix", f"the fix for {code} ({_new(fix)})"
    repairs = (*here.workspace.repairs, *fix.repairs) if fix.repairs else None
    recipe = with_changes(here.workspace.recipe, fix.changes)
    compare.start(here, recipe, name, repairs, words, of_finding=True)
    here.say(f"{code}: a applies this, Esc closes")


def _apply_fix(here: Inspector, fix: Fix) -> None:
    """Put the fix into the recipe; a template that needs generation tags is made first, and written where the user
    says."""
    recipe, repairs = with_changes(here.workspace.recipe, fix.changes), (*here.workspace.repairs, *fix.repairs)
    if fix.template is not None:
        _tag(here, fix)
    elif here.workspace.choose(RecipeChoice(recipe, repairs)):
        here.say(f"applied: {_new(fix)} · u undoes it, x exports")
    else:
        here.say("the recipe already has this setting", Role.DIM)


def _tag(here: Inspector, fix: Fix) -> None:
    """Ask for the template with its tags; nothing is written before it was shown."""
    here.put(here.state.reading._replace(tagging=fix))
    here.workspace.ask(rq.TagsRequest)
    here.say("putting generation tags into the chat template …", Role.DIM)


def on_tags(here: Inspector, event: ev.TagsReady) -> None:
    """The tagged template is here: what changes in it is shown before it is written."""
    fix = here.state.reading.tagging
    here.put(here.state.reading._replace(tagging=None))
    if fix is None:
        return
    if event.problem is not None:
        here.say(event.problem.sentence(), Role.ERROR)
        return
    proof = f"same text and correct mask in {event.proven:,} conversations; `sftui template` checks every row"

    more = new_values(fix.changes)

    def page(width: int) -> list[Line]:
        knobs = text_lines(f"with it {more}", width) if more else ()
        return [*text_lines(proof, width, Role.GOOD), *knobs, (), *diff_text_lines(event.diff.rstrip("\n"), width)]

    def ask() -> None:
        done = partial(_write, here, fix, event.source)
        here.ask("file for the chat template", done, value="chat_template.jinja")

    here.offer_writing(f"{visible(event.name)} with generation tags", page, ask)


def _write(here: Inspector, fix: Fix, source: str, name: str) -> None:
    """Write the template, and put it and the rest of the fix into the recipe."""
    from pathlib import Path

    written = write(here, source, name)
    path = Path(os.path.expanduser(name.removesuffix("!")))
    tagged = changed(here.workspace.recipe, "render.template", f"file:{path}")
    here.workspace.set_recipe(with_changes(tagged, fix.changes))
    here.say(f"{written}; the recipe now uses it · u undoes that, x exports")


@Command("findings.waive", ("I",), "ignore with a reason", "Findings", FINDINGS, when=_none)
def waive(here: Inspector, count: int | None) -> None:
    """Ignore the finding, with a reason saved in the recipe; u undoes it."""
    finding = _marked(here)
    if finding is not None:
        where = f" in row {finding.row:,}" if finding.row is not None else ""
        label = f"reason for ignoring {finding.code}{where} (Esc cancels)"
        here.ask(label, lambda text: _waive(here, finding, text.strip()), raw=True)


def _waive(here: Inspector, finding: Finding, reason: str) -> None:
    if not reason:
        here.say(f"{finding.code} is not ignored: a reason is required", Role.DIM)
        return
    recipe = here.workspace.recipe
    waiver = {"code": finding.code, "reason": reason, **({"rows": finding.row} if finding.row is not None else {})}
    here.workspace.set_recipe(changed(recipe, "waivers", (*recipe.waivers, waiver)))
    here.say(f"{finding.code} is ignored: {reason} · u undoes it, x exports the recipe")


# — other rows —

ANY_FINDING = SearchQuery("finding", "any")


def _other_row(name: str, key: str) -> Command:
    title, words = f"{name} row with findings", f"Go to the {name} row with an error or a warning."
    return Command(f"findings.{name}", (key,), title, "Findings", help=words)


OTHER_ROWS = both_ways(
    lambda here, step: search.start(here, ANY_FINDING, step > 0), _other_row("next", ">"), _other_row("previous", "<")
)


@Command("findings", ("f",), "findings", "Look")
def open_view(here: Inspector, count: int | None) -> None:
    """Show what is wrong with this row and the setup."""
    here.open_view(FINDINGS)
