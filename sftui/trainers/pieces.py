"""Whose the tokens of a row are that a trainer encodes piece by piece."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from sftui.flat import Ranges, merged
from sftui.model import NOWHERE, Part, Piece, RenderedText, Span, Tokens
from sftui.runs import Runs, as_runs, joined

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
    return replace(lines, notes=(f"{trainer} never renders this row: its contents are shown",))
