"""Character offsets of the tokens of a text from the bytes that each id stands for, where a tokenizer allows it.

`tokenizers` keeps track of offsets through every step, which takes longer than the ids. Over a byte-level vocabulary
the tokens of a text are its bytes, cut: where a token lies follows from how many characters begin in those before it.
They must come to the whole text, or it is encoded with real offsets (an added token that takes white space along, say).
Once it is proven that no two pieces share an id, such tokens are the text, cut (`model.Cut`), and need no spelling.

Where `▁` stands for a space, so it is but for a `▁` that is put before the text, or before each stretch of it between
two added tokens, and for the white space that these take along (`SpaceOffsets`). A text that has a `▁` of its own is
not told from one with a space there.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import accumulate
from operator import add, itemgetter, sub
from typing import Any

from sftui.model import NOWHERE, Cut
from sftui.tokens.loading.probes import probe_strings
from sftui.tokens.surface import BYTE_OF, BYTE_PIECE, METASPACE, Decoding, read_decoding, steps_around, surfacer

_KEEPING = frozenset({"ByteLevel", "Split", "Digits", "Punctuation"})
"""Pre-tokenizers that cut a text and leave its characters as they are."""
_AROUND = frozenset({"ByteLevel", "TemplateProcessing"})
_INSIDE = frozenset(char for char, byte in BYTE_OF.items() if 0x80 <= byte < 0xC0)
"""What stands in a piece for a byte that is not the first one of a character in UTF-8."""
_UNKNOWN = 0xFFFF
"""Characters of an id that was not requested before, or whose bytes are not known: more than the longest piece has."""
_ADDED = _UNKNOWN - 1
"""Stands for the characters of an added token, which takes white space along."""
_SPACE = "Ġ"
_REPLACE = {"type": "Replace", "pattern": {"String": " "}, "content": METASPACE}
_PREPEND = {"type": "Prepend", "prepend": METASPACE}
_NOTHING = {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False}
"""Splits at spaces of which the normalizer has left none."""
_BEGUN = (" ", METASPACE)
_WHITE = re.compile(r"[^\S\x1c-\x1f]*")
"""White space as Rust has it."""

Offsets = tuple[tuple[int, ...], tuple[int, ...]]


class ByteOffsets:
    """The offsets of texts under one byte-level tokenizer; make it with `byte_offsets`."""

    _bytes: Collection[str] = BYTE_OF
    """The piece of each byte."""

    def __init__(self, backend: Any, *, trims: bool, prefix_space: bool) -> None:
        self._backend = backend
        self._added = {i: token.content for i, token in backend.get_added_tokens_decoder().items()}
        size = max(backend.get_vocab_size(with_added_tokens=True), max(self._added, default=0) + 1)
        self._characters = array("H", [_UNKNOWN]) * size
        self._inside, self._spaced = set[int](), set[int]()  # begins inside a character; ends with a space
        self._learnt: set[int] = set()
        self._before, self._behind = (array("H", bytes(2 * size if trims else 0)) for _ in range(2))
        self._trims, self._prefix_space = trims, prefix_space
        self._due = self._cuts = False
        self._surface = surfacer(Decoding(byte_level=True), backend.id_to_token, self._added.get)
        mask = backend.encode("x", add_special_tokens=True).special_tokens_mask
        self._front = next((i for i, put in enumerate(mask) if not put), 0)
        self._back = next((i for i, put in enumerate(reversed(mask)) if not put), 0)

    def prove(self) -> None:
        """Look once, when the next places are requested, whether tokens whose bytes are as many as the text's are
        always the text, cut: it takes 0.1 s, which pays where many are requested."""
        self._due = True

    def _proven(self) -> bool:
        """Whether they are.

        They are where every byte has a piece, each id one piece, and an added token no other one: byte-pair encoding
        then only joins the bytes of the text. Offsets that leave out white space tell something else.
        """
        model, decoding = self._backend.model, read_decoding(self._backend)
        # A normalizer that `byte_offsets` admits leaves the texts whose places are told as they are.
        if self._trims or not self._writes_text(replace(decoding, normalizes=False)):
            return False
        if any(model.token_to_id(piece) is None for piece in self._bytes):
            return False
        for token, content in self._added.items():
            piece = model.id_to_token(token)
            if piece is not None and (piece != content or not self._stands_alone(piece)):
                return False
        pieces = sum(piece is not None for piece in map(model.id_to_token, range(len(self._characters))))
        return bool(pieces == self._backend.get_vocab_size(with_added_tokens=False))

    def _writes_text(self, decoding: Decoding) -> bool:
        """Whether pieces stand for the bytes of a text and nothing else."""
        return decoding == Decoding(byte_level=True)

    def _stands_alone(self, added: str) -> bool:
        """Whether an added token that is a piece, too, stands for one text."""
        return all(BYTE_OF.get(char) == ord(char) for char in added)

    def _tells(self, text: str) -> bool:
        """Whether tokens tell such a text from every other one."""
        return True

    def spells(self, ids: Sequence[int], text: str, special: bool) -> bool:
        """Whether the bytes of the tokens are the text: what is claimed of all that are cut, looked up for some."""
        front, back = (self._front, self._back) if special else (0, 0)
        return self._spelt(ids[front : len(ids) - back], text) == text.encode("utf-8", "surrogatepass")

    def _spelt(self, ids: Sequence[int], text: str) -> bytes | None:
        """The bytes of the tokens of a text with nothing around it; None where these have no places in it."""
        return b"".join(map(self._surface, ids))

    def of(self, ids: Sequence[int], text: str, special: bool) -> Offsets | None:
        """Where each token starts and ends, NOWHERE for those that were put around the text; None where the bytes of
        the tokens are not the text's. `special`: it was encoded with special tokens."""
        front, back = (self._front, self._back) if special else (0, 0)
        own = ids[front : len(ids) - back] if front or back else ids
        placed = self._places(own, text)
        if placed is None:
            return None
        starts, ends = placed
        if front or back:
            before, behind = (NOWHERE,) * front, (NOWHERE,) * back
            starts, ends = (*before, *starts, *behind), (*before, *ends, *behind)
        if self._due:
            self._due, self._cuts = False, self._proven()
        return starts, Cut(ends) if self._cuts and self._tells(text) else ends

    def _places(self, ids: Sequence[int], text: str) -> Offsets | None:
        """The same of a text with nothing around it."""
        if not text.isascii() and not unicodedata.is_normalized("NFC", text):
            return None
        ends = self._ends(ids, len(text))
        if ends is None:
            return None
        starts = self._starts(ids, ends)
        return self._trimmed(ids, starts, ends) if self._trims else (starts, ends)

    def _starts(self, ids: Sequence[int], ends: tuple[int, ...]) -> tuple[int, ...]:
        """Each token starts where the one before ends, or, if inside a character, with that."""
        starts = (0, *ends[:-1]) if ends else ()
        return starts if self._inside.isdisjoint(ids) else tuple(map(sub, starts, map(self._inside.__contains__, ids)))

    def _ends(self, ids: Sequence[int], size: int) -> tuple[int, ...] | None:
        """Behind which character each token ends; None where the bytes of one are not known, or the characters are not
        `size`."""
        for learnt in (False, True):
            known = self._characters
            try:
                sizes = itemgetter(*ids)(known) if len(ids) > 1 else tuple([known[one] for one in ids])
            except IndexError:
                return None
            ends = tuple(accumulate(sizes))
            if (size < _UNKNOWN or _UNKNOWN not in sizes) and (ends[-1] if ends else 0) == size:
                return ends
            if learnt or not self._learn(ids):
                return None
        return None

    def _learn(self, ids: Sequence[int]) -> bool:
        """Look up the bytes of ids that were not requested before; whether there are some."""
        new = [token for token in set(ids).difference(self._learnt) if self._characters[token] == _UNKNOWN]
        for token in new:
            content = self._added.get(token)
            piece = self._backend.id_to_token(token) or "" if content is None else content
            size = _UNKNOWN
            if piece and content is not None:
                size = len(content)
            elif piece:
                size, inside = self._measured(piece)
                if inside:
                    self._inside.add(token)
            self._characters[token] = min(size, _UNKNOWN)
            if self._trims and piece:
                self._before[token] = min(_spaces(piece), _UNKNOWN)
                self._behind[token] = behind = min(_spaces(piece[::-1]), _UNKNOWN)
                if behind:
                    self._spaced.add(token)
        self._learnt.update([token for token in new if self._characters[token] == _UNKNOWN])
        return bool(new)

    def _measured(self, piece: str) -> tuple[int, bool]:
        """How many characters begin in a piece, and whether it begins inside of one."""
        if not all(char in BYTE_OF for char in piece):
            return _UNKNOWN, False
        return sum([char not in _INSIDE for char in piece]), piece[0] in _INSIDE

    def _trimmed(self, ids: Sequence[int], starts: Sequence[int], ends: Sequence[int]) -> Offsets:
        """Offsets without the white space at the ends of each token (tokenizers 0.23, pre_tokenizers/byte_level.rs,
        process_offsets)."""
        before = list(map(self._before.__getitem__, ids))
        if self._prefix_space:
            for i, start in enumerate(starts):
                if start > 0:
                    break
                if before[i] == 1:  # of several spaces none was added
                    before[i] = 0
        starts = tuple(map(min, map(add, starts, before), ends))
        if self._spaced.isdisjoint(ids):
            return starts, tuple(ends)
        behind = map(self._behind.__getitem__, ids)
        return starts, tuple(
            [max(cut, start) if cut >= 0 else end for cut, start, end in zip(map(sub, ends, behind), starts, ends)]
        )


class SpaceOffsets(ByteOffsets):
    """The offsets under one tokenizer whose pieces have `▁` for a space; make it with `byte_offsets`.

    `put` is where a `▁` stands before a text that it does not have: `always` before each stretch between two added
    tokens, `first` before one that begins the text, `never`; `doubled`: also where that begins with a space.
    """

    _bytes = [f"<0x{byte:02X}>" for byte in range(256)]

    def __init__(self, backend: Any, put: str, doubled: bool) -> None:
        super().__init__(backend, trims=False, prefix_space=False)
        self._put, self._doubled, self._wrong = put, doubled, False
        self._surface = surfacer(read_decoding(backend), backend.id_to_token, self._added.get)
        tokens = backend.get_added_tokens_decoder()
        self._taking = {i: (token.content, token.lstrip, token.rstrip) for i, token in tokens.items()}
        for token in tokens:
            self._characters[token] = _ADDED

    def prove(self) -> None:
        """The same, and whether they are right for the probe strings; else there are none."""
        super().prove()
        for text in probe_strings(content for content, *_ in self._taking.values()):
            right = self._backend.encode(text, add_special_tokens=False)
            placed = self._places(right.ids, text)
            if placed is not None and [*zip(*placed)] != right.offsets:
                self._wrong = True

    def _writes_text(self, decoding: Decoding) -> bool:
        falls_back = bool(self._backend.model.byte_fallback)
        return falls_back and replace(decoding, dummy_prefix=False) == Decoding(byte_fallback=True, space=METASPACE)

    def _stands_alone(self, added: str) -> bool:
        return True  # where it is not meant, `_places` does not find it in the text

    def _tells(self, text: str) -> bool:
        return METASPACE not in text

    def _spelt(self, ids: Sequence[int], text: str) -> bytes | None:
        placed = self._places(ids, text)
        if placed is None:
            return None
        said = bytearray()
        for token, start, end in zip(ids, placed[0], (*placed[0][1:], len(text))):
            here, surface = text[start:end].encode("utf-8", "surrogatepass"), self._surface(token)
            if token in self._taking:
                before, found, behind = text[start:end].partition(self._taking[token][0])
                surface = here if found and _WHITE.fullmatch(before + behind) else b"?"
            elif surface[:1] == b" " and surface[1:] == here:  # a `▁` that was put there
                surface = here
            said += surface
        return bytes(said)

    def _places(self, ids: Sequence[int], text: str) -> Offsets | None:
        if len(ids) < 2 or self._wrong:
            return None
        try:
            sizes = list(itemgetter(*ids)(self._characters))
        except IndexError:
            return None
        if _UNKNOWN in sizes:
            self._learn(ids)
            sizes = list(itemgetter(*ids)(self._characters))
        put, place, begin, at = self._put, 0, 0, -1
        alone = []
        sizes.append(_ADDED)
        while at < len(ids):
            at = sizes.index(_ADDED, begin)
            if begin < at:  # a stretch
                if (
                    put != "never"
                    and (put == "always" or not place)
                    and (self._doubled or text[place : place + 1] not in _BEGUN)
                ):
                    if sizes[begin] == 1:
                        alone.append(begin)
                    sizes[begin] -= 1
                place += sum(sizes[begin:at])
            if at < len(ids):
                content, before, behind = self._taking[ids[at]]
                start = text.find(content, place) if before else place
                if not text.startswith(content, start) or (start > place and not text[place:start].isspace()):
                    return None
                end = start + len(content)
                if behind and (found := _WHITE.match(text, end)) is not None:
                    end = found.end()
                sizes[at], place = end - place, end
            begin = at + 1
        if place != len(text):
            return None
        ends = tuple(accumulate(sizes[:-1]))
        starts = self._starts(ids, ends)
        if alone:  # a `▁` of its own lies on the character before which it is put
            ends = tuple([end + (i in alone) for i, end in enumerate(ends)])
        return starts, ends

    def _measured(self, piece: str) -> tuple[int, bool]:
        byte = BYTE_PIECE.match(piece)
        inside = byte is not None and 0x80 <= int(byte[1], 16) < 0xC0
        return (int(not inside) if byte is not None else len(piece)), inside


def byte_offsets(backend: Any) -> ByteOffsets | None:
    """The offsets of a `tokenizers.Tokenizer` by bytes; None where it changes texts before it cuts them, or its
    vocabulary is not one of bytes."""
    model = backend.model
    if type(model).__name__ != "BPE" or model.continuing_subword_prefix or model.end_of_word_suffix or model.dropout:
        return None
    steps = steps_around(backend)
    if steps is None:
        return None
    normal, before, after = steps
    if any(step.get("type") not in _AROUND for step in after):
        return None
    levels = [step for step in before if step.get("type") == "ByteLevel"]
    if not levels:
        return _space_offsets(backend, normal, before) if len(after) < 2 else None
    if any(step.get("type") != "NFC" for step in normal) or any(step.get("add_prefix_space") for step in levels):
        return None
    if any(step.get("type") not in _KEEPING or step.get("behavior") == "Removed" for step in before):
        return None
    trimming = [step for step in after if step.get("type") == "ByteLevel" and step.get("trim_offsets")]
    if len(trimming) > 1:
        return None
    return ByteOffsets(
        backend, trims=bool(trimming), prefix_space=any(step.get("add_prefix_space") for step in trimming)
    )


def _space_offsets(backend: Any, normal: list[dict[str, Any]], before: list[dict[str, Any]]) -> SpaceOffsets | None:
    """Those where a pre-tokenizer or a normalizer writes `▁` for a space."""
    added = backend.get_added_tokens_decoder().values()
    if any(token.normalized for token in added):  # found among what is put before
        return None
    if not normal and [step.get("type") for step in before] == ["Metaspace"]:
        if before[0].get("replacement") != METASPACE:
            return None
        return SpaceOffsets(backend, before[0].get("prepend_scheme", "always"), doubled=False)
    if normal in ([_REPLACE], [_PREPEND, _REPLACE]) and before in ([], [_NOTHING]):
        return SpaceOffsets(backend, "always" if len(normal) > 1 else "never", doubled=True)
    return None


def _spaces(piece: str) -> int:
    """How many characters of white space a token begins with."""
    return next((i for i, char in enumerate(piece) if char != _SPACE and not char.isspace()), len(piece))
