"""Two renderings of one conversation side by side: where they part, and whether they are of two families.

What a template writes by itself stands in the gaps: before the first content, between two, behind the last. Contents
may be rewritten by either; gaps tell the family. A gap is compared without white space, without the tokens that begin
and end a text, and without an empty thought, since one family writes all of these in several ways. What is written
before the first turn (a default system text, a date, a list of tools) is the template's own affair: only how the
turn begins is compared.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from sftui.model import NOWHERE, Part, RenderedText, common_prefix

_THOUGHT = re.compile(r"</?think>|\[/?THINK\]|</?seed:think>|◁/?think▷")
_EMPTY = re.compile(
    r"\s*(?:<think>\s*</think>|\[THINK\]\s*\[/THINK\]|<seed:think>\s*</seed:think>|◁think▷\s*◁/think▷)\s*"
)
_TURNS = frozenset({"user", "assistant"})


class Distance(IntEnum):
    """How far two renderings are apart, the further the greater."""

    IDS = 0
    """The text is the same, and was encoded otherwise."""
    CONTENT = 1
    """What messages say is written in two ways: trimmed, or moved."""
    OPENING = 2
    """One writes more before the first turn, or behind the last: a default system text, a date, an end of text."""
    THOUGHT = 3
    """One writes an empty thought where the other writes none."""
    FRAME = 4
    """What stands around turns of one family differs: white space, an end of a turn, tools and calls."""
    FAMILY = 5
    """Turns begin or end with other words."""


@dataclass(frozen=True, slots=True)
class RenderDifference:
    """The first place where two renderings are as far apart as anywhere.

    `before` and `after` are the messages around it (NOWHERE: none), `ours` and `theirs` what each writes there.
    """

    apart: Distance
    before: int
    after: int
    ours: str
    theirs: str


@dataclass(frozen=True, slots=True)
class _Gap:
    before: int
    after: int
    start: int
    end: int


def parted(
    ours: RenderedText,
    theirs: RenderedText,
    roles: Sequence[str],
    *,
    unsaid: Sequence[str] = (),
    thought: str = "",
    calls: frozenset[int] = frozenset(),
    tools: bool = False,
) -> RenderDifference | None:
    """Where two renderings of messages with these roles part; None where they do not, or where it is not known whose
    text either of them is.

    `unsaid` are texts that tell no family: the tokens that begin and end texts. `thought` is an empty one as ours has
    it, `calls` are the messages with tool calls; `tools`: there is a list of them.
    """
    if not (ours.spans and theirs.spans and theirs.exact):
        return None
    one, other = _gaps(ours), {(gap.before, gap.after): gap for gap in _gaps(theirs)}
    found: list[RenderDifference] = []
    for gap in one:
        same = other.get((gap.before, gap.after))
        text = ours.text[gap.start : gap.end]
        if same is None:
            continue
        their = theirs.text[same.start : same.end]
        if text == their:
            continue
        apart = _how_far(gap, _Pair(text, their, unsaid, thought), roles, calls, tools)
        found.append(RenderDifference(apart, gap.before, gap.after, text, their))
    if found:
        worst = max(difference.apart for difference in found)
        return next(render_difference for render_difference in found if render_difference.apart is worst)
    if ours.text == theirs.text:
        return None
    at = common_prefix(ours.text, theirs.text)
    moved = {(gap.before, gap.after) for gap in one} != set(other)
    return RenderDifference(
        Distance.FRAME if moved else Distance.CONTENT,
        NOWHERE,
        NOWHERE,
        ours.text[at : at + 40],
        theirs.text[at : at + 40],
    )


def _gaps(rendered: RenderedText) -> list[_Gap]:
    """What stands before, between and behind the contents, in order. An empty thought is no content, whoever wrote it:
    that of the data is the template's in one rendering and the message's in the other."""
    places: dict[int, tuple[int, int]] = {}
    for span in rendered.spans:
        if span.part is Part.CONTENT and span.message != NOWHERE:
            thought = None if span.message in places else _EMPTY.match(rendered.text, span.start, span.end)
            start, _ = places.get(span.message, (thought.end() if thought else span.start, 0))
            places[span.message] = start, span.end
    order = sorted(places, key=lambda message: places[message])
    starts = [0, *(places[message][1] for message in order)]
    ends = [*(places[message][0] for message in order), len(rendered.text)]
    around = zip([NOWHERE, *order], [*order, NOWHERE], starts, ends)
    return [_Gap(before, after, start, max(start, end)) for before, after, start, end in around]


class _Pair:
    """What both write in one gap: as it is, and without what tells no family."""

    def __init__(self, ours: str, theirs: str, unsaid: Sequence[str], thought: str) -> None:
        texts = [ours, theirs]
        if thought and ours.endswith(thought):
            begun = ours[: -len(thought)]
            # Where an answer begins in words of its own, a thought ends with them (gpt-oss: its final channel).
            ended = theirs.startswith(begun) and thought.endswith(theirs[len(begun) :])
            texts = [begun, begun if ended else theirs]
        bare = ["".join(_THOUGHT.sub("", text).split()) for text in texts]
        self.thinks = texts[0] != ours or any(_THOUGHT.search(text) for text in texts)
        for one in unsaid:
            bare = [text.replace(one, "") for text in bare]
        self.ours, self.theirs = bare
        self.ended = bool(ours.strip() and theirs.strip())


def _how_far(gap: _Gap, pair: _Pair, roles: Sequence[str], calls: frozenset[int], tools: bool) -> Distance:
    one, other = pair.ours, pair.theirs
    first, last = gap.before == NOWHERE, gap.after == NOWHERE
    around = [number for number in (gap.before, gap.after) if number != NOWHERE]
    if one == other:
        return Distance.OPENING if first or last else Distance.THOUGHT if pair.thinks else Distance.FRAME
    if first:  # a text of the template's own may stand there; words between turns tell the family
        return Distance.OPENING if not tools and (_begins(one, other) or _ends_alike(one, other)) else Distance.FRAME
    if any(roles[number] not in _TURNS or number in calls for number in around):
        return Distance.FRAME
    if last:
        return Distance.FAMILY if not _begins(one, other) else Distance.OPENING if pair.ended else Distance.FRAME
    # An end of turn that one leaves out, as LLaMA-Factory's efficient_eos does, is still followed by the same words.
    shorter, longer = sorted((one, other), key=len)
    answered = roles[gap.before] == "assistant" and _sign(shorter) and longer.endswith(shorter)
    return Distance.FRAME if answered else Distance.FAMILY


def _begins(one: str, other: str) -> bool:
    """Whether one text begins with the other."""
    return one.startswith(other) or other.startswith(one)


def _ends_alike(one: str, other: str) -> bool:
    """Whether two texts end with the same words and signs, or one with the other."""
    shared = common_prefix(one[::-1], other[::-1])
    return shared in (len(one), len(other)) or _sign(one[len(one) - shared :])


def _sign(text: str) -> bool:
    """Whether a text is more than the end of a word: it holds what marks a turn."""
    return any(not letter.isalnum() for letter in text) and any(letter.isalnum() for letter in text)


__all__ = ["Distance", "RenderDifference", "parted"]
