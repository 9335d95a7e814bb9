"""Whose text is it: every character of a rendered text, its message and its part.

Nothing is read out of the template. The conversation is rendered again with marks in place of what its messages say,
and where text and marked text agree around a mark, what stands there is proven to come from that message: one render
with every message marked settles most conversations; messages it cannot settle are marked one at a time, and only two
different marks that both leave no trace prove that a message is left out. Where one message ends and the next begins
comes from rendering the leading messages alone. `terminator` is the text right after the content to the end of the
first special token, `separator` the white space after it.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sftui.model import NOWHERE, Part, Span
from sftui.templates.rendering.gaps import GapComparison, GapReader
from sftui.templates.rendering.marks import Slots, make_mark, read_marked, slots_of, with_marks
from sftui.text import readable

MANY_MESSAGES = 64
"""Above so many messages only this many are marked one at a time."""
FEW_PROBES = 8
LEAVES_OUT, ABSENT = "leaves out some of its text", "is missing from the rendered text"
"""How the notes of messages end that the text has in part, or not at all."""

Message = Mapping[str, Any]
Draw = Callable[[Sequence[Message]], "str | None"]


@dataclass(frozen=True, slots=True)
class Region:
    """Where one message's content stands; empty where the message says nothing but is rendered."""

    start: int
    end: int
    message: int


@dataclass(frozen=True, slots=True)
class Attribution:
    """The spans, in order and without gaps; `exact` False where a stretch could not be proven.

    `partly` are the messages (their place in what was rendered) of which the text leaves out something, with all that
    it has of them: half-open ranges.
    """

    spans: tuple[Span, ...]
    exact: bool
    notes: tuple[str, ...]
    partly: tuple[tuple[int, tuple[tuple[int, int], ...]], ...] = ()


def attribute(
    text: str,
    messages: Sequence[Message],
    draw: Draw,
    *,
    literals: Sequence[str],
    bos: str,
    injected: bool = False,
    comparing: GapComparison | None = None,
) -> Attribution:
    """Spans of a text that `draw(messages)` gave.

    `draw` renders other messages with the same template, None where it refuses them. `literals` are
    special tokens, which may end a turn. With `injected`, message 0 is not the row's own: its text gets
    message -1, and the others count from 0.
    """
    shift = 1 if injected else 0
    comparing = comparing or GapComparison()
    regions, unproven, notes, partly = _locate(text, messages, draw, shift, comparing)
    probes = FEW_PROBES if len(messages) > MANY_MESSAGES else 3 * len(messages)
    reader = GapReader(text, messages, draw, literals, bos, probes, comparing)
    ends = [*regions, None]
    starts = [None, *regions]
    spans = [Span(region.start, region.end, region.message, Part.CONTENT) for region in regions]
    # The first gap comes last: what ends a turn elsewhere tells a system text of the template's own from a header.
    for before, after in reversed(list(zip(starts, ends))):
        spans += reader.between(
            before.end if before else 0,
            after.start if after else len(text),
            before.message if before else None,
            after.message if after else None,
        )
    spans.sort(key=lambda span: (span.start, span.end))
    where = ((index, tuple((one.start, one.end) for one in regions if one.message == index)) for index in partly)
    return Attribution(_tidy(spans, shift), not unproven, tuple(notes), tuple(where))


def _locate(
    text: str, messages: Sequence[Message], draw: Draw, shift: int, comparing: GapComparison
) -> tuple[list[Region], set[int], list[str], list[int]]:
    """Content regions in the order of the text, messages that could not be proven, what to tell, and messages that are
    there in part."""
    slots = [slots_of(message) for message in messages]
    mark = make_mark(text, "a")
    regions: list[Region] = []
    whole = _all_marked(text, messages, slots, draw, mark)
    todo = list(range(len(messages)))
    if whole is not None:
        regions = whole
        done = {region.message for region in regions}
        todo = [i for i in todo if i not in done or slots[i].compound]
    notes: list[str] = []
    unproven: set[int] = set()
    allowed = len(messages) if len(messages) <= MANY_MESSAGES else FEW_PROBES
    located = {region.message for region in regions}
    taken = sorted((region.start, region.end) for region in regions)
    left = readable(text)
    for index in todo:
        name = _name(messages[index], index, shift)
        if allowed <= 0:
            verdict: Region | str = "unproven"
        else:
            allowed -= 1
            verdict = _one_marked(text, messages, index, slots[index], draw, mark, comparing)
        if isinstance(verdict, Region):
            kept = [r for r in regions if r.message != index]
            old = [r for r in regions if r.message == index] if index in located else []
            start = min([verdict.start, *(r.start for r in old)])
            end = max([verdict.end, *(r.end for r in old)])
            if any(r.start < end and start < r.end for r in kept):
                if not old:
                    unproven.add(index)
                    notes.append(f"{name}: its text could not be distinguished from its neighbours' text")
                continue
            regions = [*kept, Region(start, end, index)]
            taken = sorted((region.start, region.end) for region in regions)
            located.add(index)
            if not slots[index].shown_in(text[start:end]):
                unproven.add(index)
                notes.append(f"{name}: the template rewrites its content")
        elif index in located:
            continue
        elif verdict == "absent":
            if slots[index].says_something:
                notes.append(f"{name} {ABSENT}")
        else:
            unproven.add(index)
            content = slots[index].longest.strip()
            # Each look for a text reads all of the rendering; those left when no more may be read stay unproven.
            left -= len(text)
            guess = _search(text, content, taken) if left >= 0 else None
            if guess is not None:
                regions.append(Region(*guess, index))
                insort(taken, guess)
                located.add(index)
                notes.append(f"{name}: located only by its text, not proven")
            else:
                notes.append(f"{name}: the position of its text could not be proven")
    regions.sort(key=lambda r: (r.start, r.end, r.message))
    regions = _joined(regions)
    said: dict[int, str] = {}
    for r in regions:
        said[r.message] = said.get(r.message, "") + text[r.start : r.end]
    partly = [i for i, slot in enumerate(slots) if i not in unproven and i in said and slot.missing_from(said[i])]
    notes += [f"{_name(messages[i], i, shift)}: the template {LEAVES_OUT}" for i in partly]
    return regions, unproven, notes, partly


def _all_marked(
    text: str, messages: Sequence[Message], slots: Sequence[Slots], draw: Draw, mark: str
) -> list[Region] | None:
    marked = [with_marks(message, slot, mark, index) for index, (message, slot) in enumerate(zip(messages, slots))]
    skeleton = draw(marked)
    if skeleton is None:
        return None
    found = read_marked(text, skeleton, mark, slots)
    return None if found is None else _joined([Region(*place) for place in found])


def _one_marked(
    text: str, messages: Sequence[Message], index: int, slot: Slots, draw: Draw, mark: str, comparing: GapComparison
) -> Region | str:
    """The region of one message, "absent" where it is proven to leave no trace, or "unproven"."""
    trace = False
    for letter in ("", "b"):
        plain = mark + letter if letter else mark
        twin: dict[str, Any] = {key: value for key, value in messages[index].items() if key not in slot.keys}
        other = draw([*messages[:index], {**twin, "content": plain}, *messages[index + 1 :]])
        if (other is None or plain not in other) and isinstance(messages[index].get("content"), (list, tuple)):
            # A template that wants a list of parts may write nothing for a text (Idefics).
            other = draw(
                [*messages[:index], {**twin, "content": [{"type": "text", "text": plain}]}, *messages[index + 1 :]]
            )
        if other is None:
            return "unproven"
        if plain not in other:
            trace = trace or other != text
            continue
        before, _, after = other.partition(plain)
        if plain in after:
            return "unproven"
        end = len(text) - len(after)
        # Some templates write a line break only before content that is there.
        before = before if slot.says_something else comparing.trimmed(before)
        if not comparing.starts(text, before) or not comparing.ends(text, after):
            return "unproven"
        if not slot.says_something:
            if not text[len(before) : end].strip():
                return Region(max(end, len(before)), max(end, len(before)), index)
        elif len(before) <= end:
            return Region(len(before), end, index)
        return "unproven"
    return "unproven" if trace else "absent"


def _search(text: str, content: str, taken: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    """The only place outside those taken (in order, half open) where the content stands, or None."""
    if not content or text.count(content) != 1:
        return None
    start = text.index(content)
    end = start + len(content)
    after = bisect_left(taken, (end, 0))
    return None if any(start < e and s < end for s, e in taken[max(0, after - 2) : after]) else (start, end)


def _joined(regions: Sequence[Region]) -> list[Region]:
    """Neighbouring regions of one message as one: what a template writes between them is its content too."""
    out: list[Region] = []
    for region in regions:
        if out and out[-1].message == region.message:
            out[-1] = Region(out[-1].start, max(out[-1].end, region.end), region.message)
        else:
            out.append(region)
    return out


def _name(message: Message, index: int, shift: int) -> str:
    role = str(message.get("role", "no role"))[:40]
    return "the injected system message" if index < shift else f"message {index - shift} ({role})"


def _tidy(spans: Sequence[Span], shift: int) -> tuple[Span, ...]:
    out: list[Span] = []
    for span in spans:
        if span.start >= span.end:
            continue
        message, part = span.message, span.part
        if message != NOWHERE:
            message -= shift
            if message < 0:
                message, part = NOWHERE, Part.INJECTED
        if out and (out[-1].message, out[-1].part, out[-1].end) == (message, part, span.start):
            out[-1] = Span(out[-1].start, span.end, message, part)
        else:
            out.append(Span(span.start, span.end, message, part))
    return tuple(out)
