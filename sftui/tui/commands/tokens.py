"""The token under the cursor: moving to others, and its card, which says why it is trained or masked, with the one key
that turns that over.

The card follows the cursor. What would turn the label over is tried by the worker; what that changes is counted behind
it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from sftui.recipe import Recipe, with_changes
from sftui.tui.commands.command import Command, moves
from sftui.tui.contexts import TOKENS, WHY
from sftui.tui.inspector import Inspector
from sftui.tui.state import StatusMessage, WhyState, unless
from sftui.views.cells import Line, Role, line, text_lines
from sftui.views.grid import Action
from sftui.views.knobs import new_values
from sftui.views.table import LEARNT
from sftui.workspace import events as ev
from sftui.workspace import requests as rq

if TYPE_CHECKING:
    from sftui.views.why import Offer

# — moving —

STILL = {
    Action.NEXT_CHANGE: "the mask does not change after this token",
    Action.PREVIOUS_CHANGE: "the mask does not change before this token",
    Action.NEXT_MESSAGE: "no message begins after this token",
    Action.PREVIOUS_MESSAGE: "no message begins before this token",
}
"""What is said where a jump finds nothing, since nothing moves."""


def act(here: Inspector, action: Action, count: int) -> None:
    """One action of the views."""
    if not here.panes.tokens.act(action, count) and action in STILL:
        here.say(STILL[action], Role.DIM)
    follow(here)


def _act(name: str, here: Inspector, count: int | None) -> None:
    act(here, Action(name), count or 1)


def _mover(name: str, keys: tuple[str, ...], title: str, words: str, *, counted: bool = True) -> Command:
    means = name if name in ("left", "right") else ""
    return Command(f"tokens.{name}", keys, title, "Move", TOKENS, words, counted, partial(_act, name), means=means)


ALONG = (
    _mover("right", ("l", "right"), "next token", "Move to the next token."),
    _mover("left", ("h", "left"), "previous token", "Move to the previous token."),
)
BY_LINES = moves(TOKENS, "line", lambda here, kind, count: act(here, Action(kind), count))
FURTHER = (
    _mover("half_down", ("ctrl+d",), "half a page down", "Move half a page down."),
    _mover("half_up", ("ctrl+u",), "half a page up", "Move half a page up."),
    _mover("line_home", ("^",), "start of the line", "Go to the first token of the line.", counted=False),
    _mover("line_end", ("$",), "end of the line", "Go to the last token of the line.", counted=False),
    _mover("next_change", ("}",), "next change of mask", "Go to the next place where training starts or stops."),
    _mover(
        "previous_change", ("{",), "previous change of mask", "Go to the previous place where training starts or stops."
    ),
    _mover("next_message", (")",), "next message", "Go to the start of the next message."),
    _mover("previous_message", ("(",), "previous message", "Go to the start of this message or the previous one."),
)


# — the card —

HINT = "t toggles training · h l other tokens · Esc closes"


def _under_b(here: Inspector) -> StatusMessage | None:
    """The card is of the recipe in force: tokens under the second one are not explained by it."""
    words = "these are the tokens under B; v goes back to A, a makes B the current recipe"
    return unless(not here.state.compared.on_b, words)


@Command("tokens.explain", ("enter",), "why", "Look", TOKENS, when=_under_b, means="enter")
def explain(here: Inspector, count: int | None) -> None:
    """Show why the token under the cursor is trained or masked, and what would change that."""
    if here.panes.tokens.table is not None or here.state.open.view == WHY:
        here.open_view(WHY)


def show(here: Inspector, name: str, keep: bool) -> None:
    follow(here)
    paint(here, name, keep)


def paint(here: Inspector, name: str, keep: bool = True) -> None:
    here.panes.document.show(name, partial(lines, here), keep=keep, hint=HINT)


def follow(here: Inspector) -> None:
    """Ask about the token under the cursor, where the card is open and about another one."""
    tokens, now = here.panes.tokens, here.state.why
    row, cursor = here.state.row, tokens.before + tokens.state.cursor
    if here.state.open.view != WHY or here.state.compared.on_b or (now.row, now.token) == (row, cursor):
        return
    if tokens.table is None or tokens.inspection is None or tokens.inspection.row.index != row:
        return
    ticket = here.workspace.ask(rq.WhyRequest, row, cursor)
    here.put(now._replace(row=row, token=cursor, ticket=ticket, answer=None))  # what is counted may be the same again
    paint(here, WHY)


def lines(here: Inspector, width: int) -> tuple[Line, ...]:
    from sftui.trainers import traits_of
    from sftui.trainers.own_config import key_of
    from sftui.views.why import why_lines

    tokens, recipe, elsewhere = here.panes.tokens, here.workspace.recipe, _under_b(here)
    if elsewhere is not None:
        return text_lines(elsewhere.text, width, elsewhere.role)
    if tokens.table is None or tokens.inspection is None:
        return (line((f"loading row {here.state.row:,} …", Role.DIM)),)
    token = (tokens.table, tokens.state.cursor, tokens.inspection, recipe)
    trainer, keys = traits_of(recipe.preset).title, key_of(recipe.preset, "mask.rule")
    return why_lines(*token, trainer, keys, _offer(here), width)


def _offer(here: Inspector) -> Offer:
    from sftui.views.why import Offer

    now = here.state.why
    if now.answer is None:
        return Offer()
    if now.answer.problem is not None:
        return Offer(problem=now.answer.problem.sentence())
    counted = now.counted if now.recipe == _first(here) else None
    effect, done = (counted.count, counted.done) if counted is not None else (None, False)
    return Offer(now.answer.ways, now.answer.failing, effect=effect, done=done)


def on_why(here: Inspector, event: ev.WhyReady) -> None:
    """What would turn the label over: what the first way changes is counted."""
    now = here.state.why
    if here.state.open.view != WHY or (event.index, event.token) != (now.row, now.token):
        return
    here.put(now._replace(answer=event))
    first = _first(here)
    if first is not None and first != now.recipe:
        ticket = here.workspace.ask(rq.CountRequest, first)
        here.put(here.state.why._replace(recipe=first, counting=ticket, counted=None))
    here.paint_view(WHY)


def _first(here: Inspector) -> Recipe | None:
    answer = here.state.why.answer
    return answer.ways[0].recipe if answer is not None and answer.ways else None


def on_count(here: Inspector, event: ev.CountReady) -> bool:
    """Whether this is the count of the card's change."""
    now = here.state.why
    if event.ticket != now.counting:
        return False
    here.put(now._replace(counted=event))
    here.paint_view(WHY)
    return True


def on_recipe(here: Inspector) -> None:
    """Another recipe: what was tried and counted is no longer true; the worker answers again by itself."""
    now = here.state.why
    if here.state.open.view == WHY:
        here.workspace.cancel(now.counting)
        here.put(now._replace(answer=None, recipe=None, counted=None, counting=None))
        here.paint_view(WHY)


def closed(here: Inspector) -> str | None:
    """Nothing is tried and counted any more."""
    here.workspace.cancel(here.state.why.ticket)
    here.workspace.cancel(here.state.why.counting)
    here.put(WhyState())
    return None


def _no_way(here: Inspector) -> StatusMessage | None:
    """Why there is nothing that turns the label over."""
    now = here.state.why
    return (
        unless(here.state.open.view == WHY, "no token is open: press Enter on one to see its reason")
        or _under_b(here)
        or unless(now.answer, "still trying what would change this token; try again in a moment")
        or unless(now.answer and now.answer.ways, "no setting changes this token alone", Role.WARNING)
    )


@Command("why.turn", ("t",), "toggle training", "Look", when=_no_way)
def turn(here: Inspector, count: int | None) -> None:
    """Train or mask this token, using the setting shown; u undoes it."""
    now, table = here.state.why, here.panes.tokens.table
    if now.answer is None or not now.answer.ways or table is None:
        return
    recipe = with_changes(here.workspace.recipe, now.answer.ways[0].changes)
    token = now.token - here.panes.tokens.before
    done = "masked" if table.loss[token] in LEARNT else "trained"
    if here.workspace.set_recipe(recipe):
        values = new_values(now.answer.ways[0].changes)
        here.say(f"token {token:,} is {done}: {values} · u undoes it, x exports")
