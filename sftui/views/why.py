"""The card of one token: the rule in force, the fact that decided, the message and its place in the file, and what
would turn its label over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sftui.comparison import ComparisonCount
from sftui.model import GONE, Inspection
from sftui.recipe import Recipe, knob_named
from sftui.text import cell_width, clip, many, visible
from sftui.views.cells import Line, LineBuilder, Over, Role, crop, line, wrap
from sftui.views.knobs import LabelFlip, change_text, value_text
from sftui.views.status import token_facts
from sftui.views.table import LEARNT, TokenTable
from sftui.views.words import NO_DATA, NO_MESSAGE, RULE_OF, fact, message_of, verdict_word, what_is_trained, who

NAMES = 8
"""Cells of the names of the card's lines."""
AROUND = 6
"""Tokens that are shown on either side."""
MOST_FAILING = 3


@dataclass(frozen=True, slots=True)
class Offer:
    """What is known of the ways to turn the label over: None while they are looked for. `failing` are the mask rules
    under which the row cannot be prepared, with why; `problem` is why none can be looked for. `effect` is what the
    first way changes over the dataset, as far as it was counted, or `done`; None: nothing is known yet."""

    ways: Sequence[LabelFlip] | None = None
    failing: Sequence[tuple[str, str]] = ()
    problem: str = ""
    effect: ComparisonCount | None = None
    done: bool = False

    @property
    def broken(self) -> int:
        """How many rows more cannot be prepared then."""
        before, after = (self.effect and self.effect.stopped) or (0, 0)
        return max(0, after - before)


def rule_in_force(table: TokenTable, i: int, recipe: Recipe) -> str:
    """The mask rule by which the token was judged: the recipe's, or what the trainer makes of it in this row."""
    reasons = table.reasons or ()
    own = RULE_OF.get(reasons[i]) if i < len(reasons) else None
    if own is not None:
        return own
    return next((RULE_OF[reason] for reason in reasons if reason in RULE_OF), recipe.mask.rule)


def why_lines(
    table: TokenTable, i: int, inspection: Inspection, recipe: Recipe, trainer: str, keys: str, offer: Offer, width: int
) -> tuple[Line, ...]:
    """The card of token `i`. `trainer` is the title of the recipe's trainer, `keys` are those of its config that say
    the mask rule (empty: none)."""
    if not 0 <= i < len(table):
        return ()
    text, role = verdict_word(table, i)
    head = line((f"token {i:,} of {len(table):,} is ", Role.DIM), (text, role))
    lines = [_around(table, i, width), *wrap(head, width)]
    rule = rule_in_force(table, i, recipe)
    stated = recipe.mask.rule
    spoken = rule if rule == stated else f"{stated}, here {rule}"
    knob = knob_named(recipe, "mask.rule")
    lines += _line("rule", f"mask.rule {spoken}: {knob.meaning(rule) if knob is not None else ''}", width)
    if keys:
        lines += _line("", f"{trainer}: {keys}", width, Role.DIM)
    lines += _line("why", fact(table, i, inspection, recipe, trainer), width, Role.TITLE)
    lines += _line("where", place(inspection, i), width)
    lines.append(())
    lines += offer_lines(table, i, trainer, offer, width)
    lines.append(())
    lines += _line("learns", what_is_trained(table, i), width)
    for name, value in token_facts(table, i):
        lines += _line(name, value, width)
    return tuple(lines)


def place(inspection: Inspection, i: int) -> str:
    """Where the token comes from: a message or a column of the row, and the row in the file."""
    where = visible(inspection.row.where)
    found = message_of(inspection, i)
    if found is not None:
        return f"{who(inspection, i)}{f' · {visible(found.origin)}' if found.origin else ''} · {where}"
    if (whose := who(inspection, i)) == NO_MESSAGE:
        return f"{whose}: written by the chat template or the trainer · {where}"
    return f"{whose}{': the tokenizer or the trainer added it' if whose == NO_DATA else ''} · {where}"


def offer_lines(table: TokenTable, i: int, trainer: str, offer: Offer, width: int) -> list[Line]:
    """The knob, the trainer's own key, and the key that takes it, with what that changes; or that there is none."""
    if offer.problem:
        return list(wrap(line((visible(offer.problem), Role.DIM)), width))
    if offer.ways is None:
        return list(wrap(line(("trying what would change this …", Role.DIM)), width))
    turn = "mask" if table.loss[i] in LEARNT and not table.dropped else "train"
    if not offer.ways:
        lines = list(wrap(line((f"No setting of {trainer} {turn}s this token.", Role.PLAIN)), width))
        for rule, why in offer.failing[:MOST_FAILING]:
            lines += wrap(line((f"mask.rule {rule}: ", Role.KEY), (visible(why), Role.DIM)), width, "  ")
        return lines
    first = offer.ways[0]
    lines = _line("knob", _changes(first), width, Role.CHANGED)
    if first.keys:
        lines += _line("", f"{trainer}: {_keys(first)}", width, Role.DIM)
    others = f" and {many(first.tokens - 1, 'other')} in this row" if first.tokens > 1 else " only, in this row"
    lines += _line("t", f"{turn}s this token{others}", width, Role.TITLE)
    lines += _line("", _effect(offer), width, Role.WARNING if offer.broken else Role.PLAIN)
    for other in offer.ways[1:3]:
        keys = f" · {trainer}: {_keys(other)}" if other.keys else ""
        lines += _line("or", f"{_changes(other)}{keys} ({many(other.tokens, 'token')} in this row)", width, Role.DIM)
    return lines


def _effect(offer: Offer) -> str:
    effect = offer.effect
    if effect is None:
        return "counting over the dataset …"
    text = f"over the dataset: {many(effect.turned_rows, 'row')}, {many(effect.turned, 'token')} change"
    so_far = "" if offer.done else f" in {effect.rows:,} so far"
    broken = f"; {many(offer.broken, 'more row')} cannot be prepared then" if offer.broken else ""
    return f"{text}{so_far}{broken}"


def _changes(way: LabelFlip) -> str:
    return ", ".join(map(change_text, way.changes))


def _keys(way: LabelFlip) -> str:
    text = [(visible(key), value) for key, value in way.keys]
    return ", ".join(f"no {key}" if value is GONE else f"{key}: {value_text(value)}" for key, value in text)


def _around(table: TokenTable, i: int, width: int) -> Line:
    """The token among its neighbours, as many as fit."""
    cells = [clip(cell, max(8, width // 3)) for cell in table.cells[max(0, i - AROUND) : i + AROUND + 1]]
    at = min(i, AROUND)
    first = last = at
    room = width - cell_width(cells[at]) - 5
    while True:
        left = cells[first - 1] if first > 0 else None
        right = cells[last + 1] if last + 1 < len(cells) else None
        if left is not None and (at - first <= last - at or right is None) and cell_width(left) + 1 <= room:
            first, room = first - 1, room - cell_width(left) - 1
        elif right is not None and cell_width(right) + 1 <= room:
            last, room = last + 1, room - cell_width(right) - 1
        else:
            break
    builder = LineBuilder().add("… " if i - at + first > 0 else "", Role.DIM)
    for k in range(first, last + 1):
        token = i - at + k
        builder.add(cells[k], table.roles[token], Over.CURSOR if k == at else Over.NONE).add(" ")
    return crop(builder.add("…" if i - at + last + 1 < len(table) else "", Role.DIM).line(), width)


def _line(name: str, value: str, width: int, role: Role = Role.VALUE) -> list[Line]:
    return list(wrap(line((f"{name:<{NAMES}}", Role.KEY), (value, role)), width, " " * min(NAMES, max(width - 4, 0))))
