"""Ids that a row brings, beside those that the tokenizer makes of their own text: a model that samples cuts words at
other places than the tokenizer does, and whoever encodes the text again trains on other ids."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeGuard

from sftui.findings.checks import Fault, RowCondition, row_check
from sftui.findings.examples import case, stored_case
from sftui.findings.look import RowLook
from sftui.findings.model import Severity
from sftui.findings.rule import GOOD, major
from sftui.model import Kind
from sftui.text import visible_token
from sftui.tokens import LoadedTokenizer

SHOWN = 12
ENOUGH, MOST = 24, 0.2
"""Of so many ids no more than this share may change, else another tokenizer made them (TOK004)."""
_WORDS = [452, 1910, 978, 274, 1202, 77, 277, 78, 87, 11, 298, 1088, 273, 259, 1449, 343, 1089, 13]
"""Plain words, as the bundled ChatML tokenizer writes them; its first token is `The`."""
_SAMPLED = [
    *(3001, 1500, 198, 361, 273, 259, 1449, 343, 1089, 30, 3002, 198, 3001, 1492, 198),
    *(47, 64, 81, 72, 82, 273, 259, 1449, 343, 1089, 13, 3002, 198),
]
"""GOOD in the same template, whose answer begins with `P`, `a`, `r`, `i`, `s` instead of `Paris`."""


class DriftPlace(NamedTuple):
    """A stretch of the same bytes in other ids: half-open ranges of the ids that are held and of those made anew."""

    held: tuple[int, int]
    anew: tuple[int, int]


def places(held: Sequence[int], anew: Sequence[int], tokenizer: LoadedTokenizer) -> list[DriftPlace] | None:
    """Where two ways to write a text in ids part, between the borders that both have, up to the end of the shorter one;
    None where they do not write the same bytes."""
    mine, theirs = (tokenizer.describe(ids)[1] for ids in (held, anew))
    shorter, longer = sorted((b"".join(mine), b"".join(theirs)), key=len)
    if not longer.startswith(shorter):
        return None
    found: list[DriftPlace] = []
    i = j = from_i = from_j = here = there = 0
    while (i < len(held) and here <= there) or (j < len(anew) and there < here):
        if here <= there:
            here, i = here + len(mine[i]), i + 1
        else:
            there, j = there + len(theirs[j]), j + 1
        if here == there:
            if tuple(held[from_i:i]) != tuple(anew[from_j:j]):
                found.append(DriftPlace((from_i, i), (from_j, j)))
            from_i, from_j = i, j
    return found


TOK006 = major(
    "TOK006",
    "retokenization-drift",
    "stored ids change when their text is encoded again",
    "A model samples ids that the tokenizer would not make of the same text. Whoever encodes the text again (a trainer"
    " that reads the messages, an environment that sends text back) trains on other ids than were sampled.",
    data="train on the stored ids, and take the text beside them out of the rows",
    bad=stored_case({"input_ids": [51, 71, 68, *_WORDS[1:]], "labels": [51, 71, 68, *_WORDS[1:]]}),
    good=stored_case({"input_ids": _WORDS, "labels": _WORDS}),
    more=(case({**GOOD, "input_ids": _SAMPLED}, preset="axolotl@0.19"),),
)


@row_check(RowCondition.SLOW, TOK006, kinds=(Kind.TOKENS,))
def drifted(look: RowLook) -> Iterator[Fault]:
    """TOK006 of ids that are trained as they are stored: worth knowing, since nobody encodes them again here.

    A border between what is trained and what is not may lie where the tokenizer has none: a model that answers a prompt
    begins there, too. A text that is cut anew everywhere is of another tokenizer (TOK004).
    """
    held, tokenizer = look.conversation.input_ids, look.context.tools.tokenizer
    if not look.stored:
        return
    anew = tuple(look.encoded_again.ids)
    if anew == held:
        return
    drawn = look.mask.drawn
    found = [one for one in places(held, anew, tokenizer) or () if len(set(drawn[slice(*one.held)])) == 1]
    if not found or (len(held) >= ENOUGH and sum(end - start for (start, end), _ in found) > MOST * len(held)):
        return
    trained = sum(drawn[one.held[0]] for one in found)
    where = f"{trained} of them trained" if len(found) > 1 else f"which is {'trained' if trained else 'masked'}"
    yield Fault(
        f"encoded again its text gets other ids {times(len(found))}, {where}",
        tokens=found[0].held,
        evidence=f"{look.spelling.quote(*found[0].held)} → {quoted(anew[slice(*found[0].anew)], tokenizer)}",
        severity=Severity.INFO,
    )


@row_check(
    RowCondition.SLOW, TOK006, row=lambda look: "input_ids" in (look.inspection.row.data or ()), kinds=(Kind.CHAT,)
)
def encoded_again(look: RowLook) -> Iterator[Fault]:
    """TOK006 of a row whose messages are encoded though it brings ids: others are trained than those it holds."""
    held = (look.inspection.row.data or {}).get("input_ids")
    if not known_ids(held, look.facts.vocab_size):
        return
    tokenizer, anew = look.context.tools.tokenizer, look.tokens.input_ids
    found = places(held, anew, tokenizer)
    if not found:
        return
    (start, end), own = found[0]
    yield Fault(
        f"the row brings ids, and its messages encoded again get others {times(len(found))}",
        tokens=own,
        evidence=f"{quoted(held[start:end], tokenizer)} → {look.spelling.quote(*own)}",
    )


def known_ids(value: Any, size: int) -> TypeGuard[Sequence[int]]:
    """Whether a value is a list of ids of a vocabulary of this size."""
    listed = isinstance(value, (list, tuple)) and bool(value)
    return listed and all([type(one) is int and 0 <= one < size for one in value])


def times(count: int) -> str:
    """`at one place`, `at 3 places`."""
    return "at one place" if count == 1 else f"at {count} places"


def quoted(ids: Sequence[int], tokenizer: LoadedTokenizer) -> str:
    """The first of some ids, each in its own brackets."""
    return "".join([f"[{visible_token(tokenizer.surface(one), tokenizer.piece(one))}]" for one in ids[:SHOWN]])
