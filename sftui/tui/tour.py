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
        "One row of chat data: ⟦ ⟧ marks what is trained. In the lens below it, █ marks trained tokens, ░ masked ones."
        " Press {tokens.right} or {tokens.left} to move along the tokens.",
        lambda was, now: now.shown is was.shown and now.cursor != was.cursor,
    ),
    Step(
        "The line at the bottom says why this token is trained or masked. The list shows every row with its share of"
        " trained tokens; ! and ✗ count what is wrong. Press {row.next} for the next row, {row.previous} for the"
        " previous one.",
        lambda was, now: now.shown.row.index != was.shown.row.index,
    ),
    Step(
        "Each of these rows has a defect; the first line says what it does to the model. Press {findings} to see"
        " what is wrong with this row and the setup.",
        lambda was, now: now.view == FINDINGS,
    ),
    Step(
        "Each finding shows its evidence and, where there is one, the fix. Settings decide what is trained: press"
        " {recipe}, find mask.terminator with {recipe.find}, and change it with {recipe.next}.",
        lambda was, now: now.recipe != was.recipe,
    ),
    Step(
        "Look at the tokens: labels and findings now follow the new setting. No file was touched. Press {undo} to undo"
        " the change.",
        lambda was, now: now.recipe != was.recipe,
    ),
    Step(
        "The labels are back as they were. Press {figures} to check all rows in the background: figures, plots and"
        " findings,"
        " worst first.",
        lambda was, now: now.view == FIGURES,
    ),
)
ENDED = (
    "That was the tour. The figures fill in as the audit runs. Now open your own data: {quit} quits, then run `sftui`"
    " in its folder, or `sftui data.jsonl -t TOKENIZER`. {help} lists the keys, {help.pages} the help pages, {export}"
    " writes your changes."
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
