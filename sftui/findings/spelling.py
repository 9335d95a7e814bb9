"""How the tokens of a row are written: in the vocabulary, in bytes, and in a finding."""

from __future__ import annotations

from collections.abc import Sequence

from sftui.findings.context import Context
from sftui.findings.shapes import Mask
from sftui.findings.words import marks_of
from sftui.model import NOWHERE, Cut, Part, RenderedText, Tokens
from sftui.runs import places_of
from sftui.text import visible_token
from sftui.tokens import surface, surfaces
from sftui.values import lazy

SHOWN_TOKENS = 24
FEW, MANY = 8, 64
"""Tokens that are sooner asked one by one than together, and those of which it pays to read first what they say."""


class Spelling:
    """The tokens of a row with what is asked of how each is written."""

    def __init__(self, tokens: Tokens, rendered: RenderedText, context: Context) -> None:
        self._tokens, self._text, self._context = tokens, rendered.text, context
        self._tokenizer = context.tools.tokenizer

    def piece(self, i: int) -> str:
        """The vocabulary string of one token."""
        return self._tokenizer.piece(self._tokens.ids[i])

    def surface(self, i: int) -> bytes:
        """The bytes one token stands for; empty where unknown."""
        return surface(self._tokens, i, self._text, self._tokenizer)

    @lazy
    def surfaces(self) -> tuple[bytes, ...]:
        """The same of all of them."""
        return surfaces(self._tokens, self._text, self._tokenizer)

    def token(self, i: int) -> str:
        """One token as a cell shows it."""
        return visible_token(self.surface(i), self.piece(i))

    def quote(self, start: int, end: int) -> str:
        """A range of tokens, each in its own brackets, long ones cut in the middle."""
        where = list(range(max(0, start), min(end, len(self._tokens))))
        if len(where) > SHOWN_TOKENS:
            half = SHOWN_TOKENS // 2
            return self.quote(where[0], where[half]) + " … " + self.quote(where[-half], where[-1] + 1)
        return "".join(f"[{self.token(i)}]" for i in where)

    def blank(self, i: int) -> bool:
        """Whether a token stands for white space only."""
        surface = self.surface(i)
        return bool(surface) and not self.is_special(i) and not surface.strip()

    @lazy
    def cut_out(self) -> bool:
        """Whether the tokens are known to be the rendered text, cut, whatever was put around it (see `model.Cut`)."""
        ends = self._tokens.ends
        return type(ends) is Cut and (ends[-1] if ends and ends[-1] != NOWHERE else max(ends, default=0)) == len(
            self._text
        )

    # --- added tokens that are marked special -----------------------------------------------------

    def is_special(self, i: int) -> bool:
        """Whether one token is one."""
        return self._tokenizer.is_special(self._tokens.ids[i])

    @lazy
    def special_ids(self) -> frozenset[int]:
        """Those that the row has."""
        return self._tokenizer.special_ids.intersection(self._tokens.ids)

    @lazy
    def special(self) -> tuple[int, ...]:
        """Their places, in order."""
        ids, special = self._tokens.ids, self._tokenizer.special_ids
        if special.isdisjoint(ids):
            return ()
        return tuple([i for i, token in enumerate(ids) if token in special])

    def special_trained(self, mask: Mask) -> Sequence[int]:
        """The places of those that a mask trains."""
        if not mask.stretches:
            return [at for start, end in mask.runs for at in self._special_in(start, end)]
        drawn, found = mask.drawn, list[int]()
        for at, trained in mask.trained_in.items():
            start, end, _, part = mask.stretches[at]
            if part is Part.CONTENT and end - start > MANY and not self._may_hold_special(start, end):
                continue
            places = self._special_in(start, end)
            found += places if trained == end - start else [i for i in places if drawn[i]]
        return found

    def _special_in(self, start: int, end: int) -> list[int]:
        """The places of those among some tokens."""
        special = self._tokenizer.special_ids
        if end - start <= FEW:
            ids = self._tokens.ids
            return [at for at in range(start, end) if ids[at] in special]
        here = self._tokens.ids[start:end]
        if special.isdisjoint(here):
            return []
        return [start + at for at in places_of(here, special.intersection(here))]

    def _may_hold_special(self, start: int, end: int) -> bool:
        """Whether there may be one among some: where tokens are the text, cut, it stands there in writing, and one look
        for what all of them hold takes a tenth of the time of looking at every id."""
        begun = self._tokens.starts[start] if self.cut_out else NOWHERE
        if begun == NOWHERE:
            return True
        said = self._text[begun : self._tokens.ends[end - 1]]
        marks = self._context.once("special marks", lambda: marks_of(self._tokenizer.special_pieces.values()))
        return any([sign in said and mark in said for sign, mark in marks])
