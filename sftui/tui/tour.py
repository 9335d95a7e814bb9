"""The tour: six things to do, each explained until what is on screen shows that it was done. Pure, no Textual."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from sftui.tui.contexts import FIGURES, FINDINGS
from sftui.tui.state import Tour, TourState
from sftui.views.cells import Line, LineBuilder, Role, wrap


class Step(NamedTuple):
    """What to press and what it shows; `{ids}` of commands stand for their keys. `done` compares what is seen now with
    what was seen when the step began."""

    text: str
    done: Callable[[TourState, TourState], bool]


STEPS = (
    Step(
        "One row of chat data. The row `loss` marks with █ what is trained, with ░ what is not. Press {tokens.right} or"
        " {tokens.left}: the line at the bottom says why each token is.",
        lambda was, now: now.shown is was.shown and now.cursor != was.cursor,
    ),
    Step(
        "The list holds every row, with the share that is trained; ! and ✗ count what is wrong. Press {row.next} for"
        " the next row, {row.previous} for the one before.",
        lambda was, now: now.shown.row.index != was.shown.row.index,
    ),
    Step(
        "Each of these rows has a defect. Press {findings}: what is wrong with this row and the set-up, with its"
        " evidence and a fix.",
        lambda was, now: now.view == FINDINGS,
    ),
    Step(
        "Settings decide what is trained. Press {recipe}, find mask.terminator with {recipe.find}, and change it with"
        " {recipe.next}: tokens, labels and findings follow at once.",
        lambda was, now: now.recipe != was.recipe,
    ),
    Step(
        "Nothing is lost, and no file was touched. Press {undo}: the change is undone.",
        lambda was, now: now.recipe != was.recipe,
    ),
    Step(
        "Press {figures}: all rows are checked in the background, with figures, plots and findings, the worst first.",
        lambda was, now: now.view == FIGURES,
    ),
)
ENDED = (
    "That was the tour. {help} lists the keys and {help.pages} the pages of help, {export} writes what you changed,"
    " {quit} quits; `sftui` alone asks for data of your own."
)


def commands_named() -> tuple[str, ...]:
    """The commands whose keys the texts name."""
    from string import Formatter

    texts = [*(step.text for step in STEPS), ENDED]
    return tuple(name for text in texts for _, name, _, _ in Formatter().parse(text) if name)


def after(tour: Tour, now: TourState | None) -> Tour:
    """The tour once this is seen (None: no row yet): the next step where the one that is shown was done."""
    if tour.at is None or now is None or tour.at >= len(STEPS):
        return tour
    if tour.since is not None and STEPS[tour.at].done(tour.since, now):
        return Tour(tour.at + 1, now)
    # Other tokens bring another cursor, which is not what was requested: what follows counts from there.
    return tour if tour.since is not None and tour.since.shown is now.shown else tour._replace(since=now)


def toggled(tour: Tour) -> Tour:
    """The tour from its beginning, or left."""
    return Tour(0) if tour.at is None else Tour()


def lines(tour: Tour, keys: Mapping[str, str], leave: str, width: int) -> tuple[Line, ...]:
    """The step that is shown; nothing without a tour. `keys` are those of each command as the user has them."""
    if tour.at is None:
        return ()
    ended = tour.at >= len(STEPS)
    text = (ENDED if ended else STEPS[tour.at].text).replace("{", "\0").replace("}", "\0")
    builder = LineBuilder().add(" Tour " if ended else f" Tour {tour.at + 1} of {len(STEPS)} ", Role.TITLE)
    for number, part in enumerate(text.split("\0")):
        builder.add(keys[part] if number % 2 else part, Role.KEY if number % 2 else Role.PLAIN)
    builder.add(f" ({leave} leaves)", Role.DIM)
    return wrap(builder.line(), width, " ")
