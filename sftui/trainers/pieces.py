"""Whose the tokens of a row are that a trainer encodes piece by piece."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate

from sftui.model import NOWHERE, Part, Piece, RenderedText, Span, Tokens
from sftui.runs import Runs, as_runs


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


def owners(tokens: Tokens, pieces: Sequence[Piece], spans: Sequence[Span]) -> Iterator[tuple[int, int, Part]]:
    """So many tokens each, their message and part, by the first character inside the piece that a token comes from.

    `tokens` are those of `numbered`.
    """
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
    pieces = tuple(Piece(content + "\n", number, Part.CONTENT) for number, content in enumerate(contents))
    note = f"{trainer} never renders this row: its contents are shown"
    return replace(text_of(pieces), pieces=None, notes=(note,))
