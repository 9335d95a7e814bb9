"""Repairs of the data: previewed, put over the rows on screen, taken back, counted; the file stays until they are
exported.

They stand in the workspace's history, with the recipe: `u` takes back either.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from sftui.text import many, visible
from sftui.tui.commands import rows, writing
from sftui.tui.commands.command import Command
from sftui.tui.commands.compare import applied, start
from sftui.tui.contexts import FIGURES
from sftui.tui.inspector import Inspector
from sftui.tui.panes.token_pane import CONVERT
from sftui.views.cells import Line, Role, line
from sftui.views.repairs import repair_words, skipped_words
from sftui.workspace import events as ev
from sftui.workspace import requests as rq

if TYPE_CHECKING:
    from sftui.findings import Finding, Fix
    from sftui.model import Problem

HINT = "a applies it, Esc goes back"


# — of a finding —


def cures(here: Inspector, finding: Finding, in_force: bool = False) -> list[tuple[str, str]]:
    """The repairs that cure a finding and are not in force (or are), each with what it does."""
    from sftui.findings.catalogue import REPAIR_OF
    from sftui.findings.rule import DROP
    from sftui.repairs.run import DROPPING, TITLES

    code = finding.code
    named = [
        (f"{DROPPING}{code}", f"drop the rows with {code}") if name == DROP else (name, TITLES[name])
        for name in (REPAIR_OF.get(code, ()) if finding.repairs is None else finding.repairs)
    ]
    return [(name, title) for name, title in named if (name in here.workspace.repairs) == in_force]


def cure(
    here: Inspector, finding: Finding, verb: str, fix: Callable[[Fix], None], repair: Callable[[str], None]
) -> None:
    """The one cure that a finding has, or the one picked of several: the fix of its recipe or template, or a repair."""
    own, ways = finding.fix, list[tuple[tuple[str, str], Callable[[], None]]]()
    if own is not None and not own.in_words:
        ways = [(("template" if own.template and not own.changes else "recipe", own.title), partial(fix, own))]
    ways += [(entry, partial(repair, entry[0])) for entry in cures(here, finding)]
    if len(ways) == 1:
        ways[0][1]()
    else:
        here.pick(f"{finding.code}: {verb}", [entry for entry, _ in ways], lambda number: ways[number][1]())


def preview(here: Inspector, name: str, of_finding: bool = True) -> None:
    """The row as it stands and as repaired, and the count over the dataset; `a` applies it, Esc goes back."""
    start(here, here.workspace.recipe, name, (*here.workspace.repairs, name), of_finding=of_finding)
    here.say(f"{name}: {HINT}; nothing is written")


def apply(here: Inspector, name: str) -> None:
    """Lay the repair over the rows."""
    if here.workspace.set_repairs((*here.workspace.repairs, name)):
        applied(here, name)


# — all of them —


@Command("repairs", ("R",), "data repairs", "Recipe")
def pick(here: Inspector, count: int | None) -> None:
    """Choose repairs to apply to the rows; the file stays as it is, x exports a new one."""
    from sftui.findings.catalogue import REPAIR_OF
    from sftui.findings.rule import DROP
    from sftui.repairs.edits import is_edit, repair_title
    from sftui.repairs.rows import DROP_REASONS
    from sftui.repairs.run import DROPPING, TITLES

    now = here.workspace.repairs
    known = {name: title for name, title in TITLES.items() if name != DROP}
    known |= {name: "this row as you edited it" for name in now if is_edit(name)}
    known |= {f"{DROPPING}{name}": f"drop: {title}" for name, title in DROP_REASONS.items()}
    audited = here.state.audited.answer
    for code in audited.codes if audited is not None else ():
        if DROP in REPAIR_OF.get(code.code, ()):
            known[f"{DROPPING}{code.code}"] = f"drop {code.count:,} × {code.sentence}"
    names = [*known, *(name for name in now if name not in known)]
    entries = [
        (f"{'[x]' if name in now else '[ ]'} {repair_title(name)}", known.get(name, "drop the rows with this finding"))
        for name in names
    ]
    counted = here.state.repairing.counted
    text = f" · {_words(counted)}" if counted is not None and now else ""
    here.pick(f"data repairs{text}", entries, lambda number: _toggle(here, names[number]))


def _toggle(here: Inspector, name: str) -> None:
    """Put a repair in force, or take it out."""
    from sftui.repairs.edits import repair_title

    now = here.workspace.repairs
    if name not in now:
        apply(here, name)
    elif here.workspace.set_repairs(tuple(one for one in now if one != name)):
        here.say(f"{repair_title(name)} is no longer applied · u undoes that")


# — what is in force —


def on_recipe(here: Inspector) -> None:
    """Another choice is in force: the list shows what is repaired, and the count begins anew by itself."""
    chosen, now = here.workspace.repairs, here.state.repairing._replace(counted=None)
    here.put(now)
    if chosen == now.seen:
        return
    if not chosen:
        here.workspace.cancel(now.ticket)
    here.put(now._replace(seen=chosen, ticket=here.workspace.ask(rq.RepairsRequest) if chosen else None))
    here.set_signs()
    inspection = here.panes.tokens.inspection
    if inspection is not None:
        rows.show_figures(here, inspection)


def on_counted(here: Inspector, event: ev.RepairsCounted) -> None:
    now = here.state.repairing._replace(counted=event)
    here.put(now)
    here.paint_view(FIGURES)
    if not (event.done and now.reporting and now.seen):
        return
    here.put(now._replace(reporting=""))
    if event.problem is not None:
        here.say(event.problem.sentence(), Role.WARNING)
        return
    if now.reporting in now.seen and not dict(event.counted.by_repair).get(now.reporting):
        _without_effect(here, now.reporting, event.counted)
        return
    from sftui.findings.rule import TO_MESSAGES

    writes = "M writes it" if now.seen[-1:] == (TO_MESSAGES,) else "x exports it"
    role = Role.WARNING if event.counted.skipped else Role.PLAIN
    here.say(f"{_words(event)}; {_where(here)} · u undoes it, {writes}", role)


def _without_effect(here: Inspector, name: str, counted: ev.RepairCount) -> None:
    """Take a repair out of force that did nothing to any row: what is in force is what was repaired."""
    here.workspace.withdraw(name)
    text = f"{name} changes nothing in {many(counted.rows, 'row')}, so it is not applied"
    why = f"; {visible(skipped_words(counted.skipped, counted.named)[0])}" if counted.skipped else ""
    here.say(text + why, Role.WARNING)


def _where(here: Inspector) -> str:
    """Where the repairs in force are: over the rows on screen alone, or in a file that was written."""
    target = here.workspace.written_to
    return f"in {visible(target)}" if target is not None else "not saved yet"


def _words(event: ev.RepairsCounted) -> str:
    """The count in one clause."""
    return repair_words(event.counted) + ("" if event.done else " so far")


def orders(here: Inspector) -> list[tuple[str, str]]:
    """What the row list may be filtered by because of repairs."""
    known = here.state.repairing.counted
    counted = known.counted if known is not None else ev.RepairCount()
    listed = (
        ("repaired", counted.changed, "rows changed by a repair"),
        ("dropped", counted.dropped, "rows dropped by a repair"),
    )
    return [(by, f"{count:,} × {meaning}") for by, count, meaning in listed if count]


def lines(here: Inspector, width: int) -> tuple[Line, ...]:
    """What the repairs in force do, for the figures; none where there are none."""
    if not here.workspace.repairs:
        return ()
    head = line((f"Repairs, {_where(here)}", Role.TITLE), ("  R chooses repairs, x exports", Role.DIM))
    return (head, *writing.counted_lines(here, width), ())


# — rows of another shape as messages —


@Command("convert", ("M",), "convert to messages", "Recipe")
def convert(here: Inspector, count: int | None) -> None:
    """Preview the rows as messages with tool_calls and tools; once applied, write them to a new file."""
    from sftui.conversations.refusals import OBJECTIVES
    from sftui.findings.rule import TO_MESSAGES

    # A repair of the data like others, so that `u` takes it back and `x` writes the config that reads the new file.
    shown = here.panes.tokens.inspection
    if TO_MESSAGES in here.workspace.repairs:
        writing.ask(here, "messages")
    elif shown is not None and shown.problem is not None and shown.problem.what in OBJECTIVES:
        here.say(shown.problem.sentence(), Role.WARNING)
    else:
        preview(here, TO_MESSAGES, of_finding=False)


def refusal(problem: Problem) -> str:
    """Why the trainer does not read the rows, behind the key that helps where one does."""
    sentence = problem.sentence()
    return f"M converts the rows to messages · {sentence}" if CONVERT in problem.fix else sentence
