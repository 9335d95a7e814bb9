"""Rows of ids, and texts rendered before: their turns, by the control tokens with which the template begins them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from sftui.errors import SftuiError
from sftui.findings.checks import LABELLED, TOKENIZED, Fault, row_check
from sftui.findings.context import FIRST_ANSWER, FIRST_USER, Context
from sftui.findings.look import RowLook
from sftui.findings.model import Severity
from sftui.findings.rules.eos import EOS004, stop_as_pad
from sftui.findings.rules.labels import LAB002
from sftui.findings.rules.stored import shifted
from sftui.model import Kind
from sftui.text import many

_SYSTEM, _AGAIN = "sftuiSystem7", "sftuiQuestion8"
_TRIED = (("system", _SYSTEM), ("user", FIRST_USER), ("assistant", FIRST_ANSWER), ("user", _AGAIN))


class Turn(NamedTuple):
    """A turn in stored ids: whose it is, where what it says begins and ends, and the place of the token that ends it,
    or None where it is cut."""

    role: str
    start: int
    end: int
    stop: int | None


@row_check(LABELLED, LAB002, EOS004, kinds=(*TOKENIZED, Kind.TEXT), several=True)
def stored_turns(look: RowLook) -> Iterator[Fault]:
    """LAB002 and EOS004 of ids alone, LAB002 of texts rendered before: what is asked is trained, or the end of
    each trained answer is not."""
    stored = look.conversation.kind is Kind.TOKENS
    turns = _turns(look) if look.mask.trained and not (stored and shifted.holds(look)) else ()
    answers = [turn for turn in turns if turn.role == "assistant" and turn.end > turn.start]
    if not answers:
        return
    drawn = _as_stored(look)
    asked = [turn for turn in turns if turn.role != "assistant" and _inside(drawn[turn.start : turn.end])]
    heard = [turn for turn in answers if any(drawn[turn.start : turn.end])]
    if asked:
        some = sum(sum(drawn[turn.start : turn.end]) for turn in asked)
        roles = ", ".join(dict.fromkeys(turn.role for turn in asked))
        what = f"{some} of {look.mask.trained} trained tokens are {roles} text"
        # Who trains the user's side on purpose trains all that it says; a piece of it is a search gone astray.
        piece = not heard and not any(all(drawn[turn.start : turn.end]) for turn in asked)
        yield Fault(
            what if heard else f"{what}, and no answer is trained",
            tokens=asked[0][1:3],
            severity=Severity.ERROR if piece else None,
            title="store -100 as the label everywhere outside the answers" if stored else "",
        )
    elif stored and not heard and sum(drawn) == look.mask.trained:
        yield Fault(
            f"no token of the {many(len(answers), 'answer')} is trained, only the text around them",
            tokens=answers[0][1:3],
            title="store the ids of the answers as their labels",
        )
    ended = [turn for turn in heard if drawn[turn.end - 1]]
    stops = [turn.stop for turn in ended if turn.stop is not None]
    masked = 0 < len(stops) == len(ended) and not any(look.mask.drawn[at] for at in stops)
    if stored and masked and not stop_as_pad.holds(look):
        yield Fault(
            f"the answer is trained but its {look.spelling.token(stops[0])} is not, in {many(len(stops), 'answer')}",
            tokens=(max(ended[0].start, stops[0] - 4), stops[0] + 1),
            rule=EOS004,
            title="store the id of the end-of-turn token as its label too",
        )


def _as_stored(look: RowLook) -> Sequence[bool]:
    """What is trained, but for labels that are not the id at their place: those may be shifted, and tell nothing."""
    labels, ids = look.conversation.labels, look.tokens.input_ids
    if labels is None:
        return look.mask.drawn
    return [drawn and label == token for drawn, label, token in zip(look.mask.drawn, labels, ids)]


def _inside(drawn: Sequence[bool]) -> bool:
    """Whether more is trained than a token at an edge, which may have merged with what stands there."""
    return any(drawn[1:-1]) or sum(drawn) > 1


def _turns(look: RowLook) -> Sequence[Turn]:
    """The turns of a row, in order."""
    openings = look.context.once("openings", lambda: openings_of(look.context))
    ids, special, found = look.tokens.input_ids, look.spelling.special, list[tuple[str, int, int]]()
    for at in special if openings else ():
        role, length = next(((role, len(w)) for w, role in openings.items() if ids[at : at + len(w)] == w), ("", 0))
        if role:
            found.append((role, at, at + length))
    turns: list[Turn] = []
    for (role, _, start), until in zip(found, [*[at for _, at, _ in found[1:]], look.padding]):
        while start < until and (look.spelling.is_special(start) or look.spelling.blank(start)):
            if ids[start] in look.context.stops:
                break
            start += 1
        ends = [at for at in special if start <= at < until]
        stop = next((at for at in ends if ids[at] in look.context.stops), None)
        # A question may end with a token of its own; what an answer holds of them is its calls and thoughts.
        end = stop if role == "assistant" else next(iter(ends), None)
        turns.append(Turn(role, start, until if end is None else end, stop))
    return turns


def openings_of(context: Context) -> Mapping[tuple[int, ...], str]:
    """The fewest ids, a control token first, that begin the turn of a role and of no other, in the tokenizer's
    template; empty where it does not tell question and answer apart by control tokens."""
    joints = _joints(context, _TRIED) or _joints(context, _TRIED[1:])
    found: dict[tuple[int, ...], str] = {}
    for role, own in joints.items():
        others = [joint for other, joint in joints.items() if other != role]
        starts = [
            at for at, one in enumerate(own) if context.tools.tokenizer.is_special(one) and one not in context.stops
        ]
        pieces = [own[at : at + length] for length in range(1, len(own) + 1) for at in reversed(starts)]
        opening = next((one for one in pieces if not any(_holds(other, one) for other in others)), None)
        if opening is not None:
            found[opening] = role
    return found if {"user", "assistant"} <= set(found.values()) else {}


def _joints(context: Context, turns: Sequence[tuple[str, str]]) -> Mapping[str, tuple[int, ...]]:
    """The ids that the template writes before what each role says; empty where it refuses, or leaves something out."""
    messages = [{"role": role, "content": said} for role, said in turns]
    try:
        text = context.template.text(messages, variables=context.variables)[0] if context.template is not None else ""
    except SftuiError:
        return {}
    joints: dict[str, tuple[int, ...]] = {}
    for role, said in turns:
        before, found, text = text.partition(said)
        if not found:
            return {}
        joints[role] = tuple(context.tools.tokenizer.encode(before).ids)
    return joints


def _holds(ids: tuple[int, ...], piece: tuple[int, ...]) -> bool:
    return any(ids[at : at + len(piece)] == piece for at in range(len(ids)))
