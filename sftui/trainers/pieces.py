"""Whose the tokens of a row are that a trainer encodes piece by piece: texts that know who wrote which part of them,
and ids that are put between texts."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from sftui.model import NOWHERE, Part, Piece, RenderedText, Span, Tokens
from sftui.runs import Ranges, Runs, as_runs, joined, merged

if TYPE_CHECKING:
    from sftui.tokens import LoadedTokenizer


class Run(NamedTuple):
    """A stretch of a text that belongs to one message (or to none) and is one part."""

    text: str
    message: int
    part: Part


def said(text: Sequence[Run]) -> str:
    """What a text says."""
    return text[0].text if len(text) == 1 else "".join([run.text for run in text])


Text = tuple[Run, ...]
"""A text that knows who wrote which part of it."""


def after_content(text: str, stop: str, owner: int, after: int, part: Part) -> tuple[Run, ...]:
    """What a template writes behind a content of message `owner`: the rest of the turn, which is `part`, its end
    `stop`, white space, and what belongs to the next message, `after`."""
    at = text.find(stop) if stop else -1
    runs = [Run(text[:at], owner, part), Run(stop, owner, Part.TERMINATOR)] if at >= 0 else []
    text = text[at + len(stop) :] if at >= 0 else text
    rest = text.lstrip()
    runs += [Run(text[: len(text) - len(rest)], owner, Part.SEPARATOR), Run(rest, after, part)]
    return tuple([run for run in runs if run.text])


def spanned(runs: Iterable[tuple[str, int, Part]]) -> RenderedText:
    """Texts one behind the other, each of a message and a part."""
    text, spans = "", list[Span]()
    for run, message, part in runs:
        if run:
            spans.append(Span(len(text), len(text) + len(run), message, part))
            text += run
    return RenderedText(text, tuple(spans))


def numbered(rendered: RenderedText) -> RenderedText:
    """The same with the number of each piece in place of its message."""
    pieces = tuple(
        Piece(piece.text, number, piece.part, piece.trained, piece.add_special_tokens, piece.ids)
        for number, piece in enumerate(rendered.pieces or ())
    )
    return replace(rendered, pieces=pieces)


def text_of(pieces: tuple[Piece, ...], *, spans: bool = True) -> RenderedText:
    """The text of pieces end to end, with the place of each."""
    begins = accumulate((len(piece.text) for piece in pieces), initial=0)
    places = (Span(at, at + len(p.text), p.message, p.part) for at, p in zip(begins, pieces) if p.text) if spans else ()
    return RenderedText("".join([piece.text for piece in pieces]), tuple(places), pieces=pieces)


def owned(tokens: Tokens, rendered: RenderedText) -> tuple[Runs[int], Runs[Part]]:
    """Whose each token is, and which part; `tokens` are those of `numbered`."""
    found = tuple(_owners(tokens, rendered.pieces or (), rendered.spans))
    return joined((length, message) for length, message, _ in found), joined(
        (length, part) for length, _, part in found
    )


def _owners(tokens: Tokens, pieces: Sequence[Piece], spans: Sequence[Span]) -> Iterator[tuple[int, int, Part]]:
    """So many tokens each, their message and part, by the first character inside the piece that a token comes from."""
    begins, at = [*accumulate((len(piece.text) for piece in pieces), initial=0)], 0
    for first, behind, number in as_runs(tokens.messages).runs():
        starts = tokens.starts[first:behind]
        while number != NOWHERE and begins[number] >= spans[at].end:
            at += 1
        if NOWHERE not in starts:
            if begins[number + 1] <= spans[at].end:
                yield behind - first, spans[at].message, spans[at].part
                continue
            if list(starts) == sorted(starts):
                done = 0
                while done < len(starts):  # what stands before the piece is its first span's, what behind it its last's
                    end = spans[at].end
                    upto = len(starts) if end >= begins[number + 1] else bisect_left(starts, end, done)
                    yield upto - done, spans[at].message, spans[at].part
                    done, at = upto, at + (upto < len(starts))
                continue
        for start in starts:
            if start == NOWHERE:
                yield (1, NOWHERE, Part.INJECTED) if number == NOWHERE else (1, spans[at].message, spans[at].part)
                continue
            place = min(max(start, begins[number]), begins[number + 1] - 1)
            while place >= spans[at].end:
                at += 1
            while place < spans[at].start:
                at -= 1
            yield 1, spans[at].message, spans[at].part


def cut_by_tokenizer(count: int, tokenizer: LoadedTokenizer, limit: int | None, special: bool = True) -> Ranges:
    """What truncation keeps of so many tokens: those put around the text stay, where `special` ones are, and the text
    is cut on the tokenizer's side."""
    if limit is None or count <= limit:
        return ((0, count),)
    front, back = (len(ids) if special else 0 for ids in (tokenizer.facts.front, tokenizer.facts.back))
    room = max(limit - front - back, 0)
    if tokenizer.facts.truncation_side == "left":
        return merged([(0, front), (count - back - room, count)])
    return merged([(0, front + room), (count - back, count)])


class PieceTokens(Runs[int]):
    """The messages of tokens, which also say of which piece each of them is (`pieces`, by number)."""

    __slots__ = ("pieces",)
    pieces: Runs[int]

    @classmethod
    def of(cls, messages: Runs[int], pieces: Runs[int]) -> PieceTokens:
        made = cls(messages.ends, messages.values)
        made.pieces = pieces
        return made

    def __reduce__(self) -> tuple[type[Runs[int]], tuple[tuple[int, ...], tuple[int, ...]]]:
        return Runs, (self.ends, self.values)


def unrendered(contents: Iterable[str], trainer: str) -> RenderedText:
    """The contents of a row that the trainer drops and never renders, one a line."""
    lines = spanned((f"{content}\n", number, Part.CONTENT) for number, content in enumerate(contents))
    return replace(lines, notes=(f"{trainer} never renders this row: its content is shown",))


class InsertedIds(NamedTuple):
    """Ids that stand between texts, and what they are shown as."""

    ids: tuple[int, ...]
    text: str
    message: int
    part: Part


Context = Text | InsertedIds
"""What is encoded, or put in, as one."""


def written(text: str, message: int = NOWHERE, part: Part = Part.CONTENT) -> Text:
    """A text of one message and one part."""
    return (Run(text, message, part),)


def cut(text: Text, start: int, end: int) -> Text:
    """The characters from `start` to `end`."""
    found: list[Run] = []
    at = 0
    for run in text:
        behind = at + len(run.text)
        if behind > start and at < end:
            found.append(Run(run.text[max(start - at, 0) : end - at], run.message, run.part))
        at = behind
    return tuple(found)


def parted(text: Text, parts: Sequence[str]) -> Iterator[Text]:
    """The text in the parts that it falls into."""
    at = 0
    for part in parts:
        yield cut(text, at, at + len(part)) or ((text[0]._replace(text=""),) if text else ())
        at += len(part)


def stripped(text: Text, characters: str | None = None) -> Text:
    """The text without white space (or some characters) around it."""
    whole = said(text)
    start = len(whole) - len(whole.lstrip(characters))
    return cut(text, start, max(start, len(whole.rstrip(characters))))


def filled(text: Text, place: str, value: Text | None) -> Text:
    """The text with every `place` replaced; None replaces nothing."""
    if value is None:
        return text
    if not any(place in run.text for run in text):
        if len(text) < 2 or place not in said(text):
            return text
        message, part = text[0].message, text[0].part  # it stands across a border: who wrote what is lost
        return (Run(said(text).replace(place, said(value)), message, part),)
    found: list[Run] = []
    for run in text:
        first, *others = run.text.split(place)
        found.append(run._replace(text=first))
        for other in others:
            found += value
            found.append(run._replace(text=other))
    return tuple([run for run in found if run.text])
