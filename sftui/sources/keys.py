"""Where JSON holds a key that it did not hold before, as fast as numpy compares bytes: nothing is parsed."""

from __future__ import annotations

from collections.abc import Set
from typing import TypeAlias

import numpy as np
import numpy.typing

Words: TypeAlias = np.typing.NDArray[np.uint64]

QUOTE, COLON, BACKSLASH, SPACE = 0x22, 0x3A, 0x5C, 0x20
BEFORE = 1 << 8
"""Bytes that are kept of the block before: a longer key at its end is not found."""
MOST = 1 << 20
"""So many keys are remembered."""
WATCHED = frozenset(
    (
        *("messages", "conversations", "tools", "system", "system_prompt", "history", "images", "image", "videos"),
        *("instruction", "input", "output", "prompt", "completion", "query", "response", "chosen", "rejected"),
        *("rejected_response", "chat_template_kwargs", "enable_thinking", "input_ids", "labels", "attention_mask"),
        *("completion_mask", "assistant_masks", "audios"),
    )
)
"""Columns that trainers read: as long as none is called so, each row that holds such a key is one to look at."""
_SLOTS = 12
_BITS, _LOW = np.uint64(0x8080808080808080), np.uint64(0x7F7F7F7F7F7F7F7F)
_OPENS, _CLOSES, _CASE = (np.uint64(byte * 0x0101010101010101) for byte in (0x5B, 0x5D, 0xDF))
_MIX = [np.uint64(n) for n in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93)]
_WITHIN = np.array([(1 << 8 * n) - 1 for n in range(9)], np.uint64)


class KeyScanner:
    """Goes over the bytes of JSON block by block.

    A key is known by its bytes, by the key before it, and by the brackets in the eight bytes before it, so that one
    that stands further in or out is another one, but where the same keys stand around both. Two keys of over 16 bytes
    are one where they have the same length and the same eight bytes at either end.
    """

    def __init__(self) -> None:
        self._left = b""
        self._known: set[int] = set()
        self._table = np.zeros(1 << _SLOTS, np.uint64)
        self._names: Set[str] = frozenset()
        self._watched = np.zeros(1 << _SLOTS, np.uint64)

    def watch(self, names: Set[str]) -> None:
        """Keys that count as new wherever they stand."""
        if names == self._names:
            return
        self._names = names
        self._watched[:] = 0
        for name in map(str.encode, names):
            head, tail = (int.from_bytes(part, "little") for part in (name[:8], name[-8:]))
            found = _hash(np.array([head], np.uint64), np.array([tail], np.uint64), np.array([len(name)]))
            self._watched[_slots(found)] = found

    def feed(self, block: bytes) -> list[int]:
        """The places in a block where a key ends that is new, in order; negative where it begins before the block."""
        kept = len(self._left)
        data = bytes(8) + self._left + block + bytes(8)
        self._left = (self._left + block)[-BEFORE:]
        there = np.frombuffer(data, np.uint8)
        eight = np.ndarray((len(data) - 7,), "<u8", data, 0, (1,))
        quotes = np.flatnonzero(there == QUOTE)
        if len(quotes) < 2:
            return []
        after = there[1:].take(quotes)
        spaced = np.flatnonzero((after <= SPACE) & (after > 0))
        at = quotes[spaced] + 1
        while len(at):
            after[spaced] = there[at]
            more = (after[spaced] <= SPACE) & (after[spaced] > 0)
            spaced, at = spaced[more], at[more] + 1
        ends = np.flatnonzero(after[1:] == COLON) + 1
        ends = ends[there[quotes[ends] - 1] != BACKSLASH]
        stop, start = quotes[ends], quotes[ends - 1]
        size = stop - start - 1
        some = np.minimum(size, 8)
        within = _WITHIN.take(some)
        head = eight[start + 1] & within
        tail = eight[stop - some] & within
        between = eight[start - 8]
        brackets = (_there(between, _OPENS) >> np.uint64(1)) | _there(between, _CLOSES)
        key = _hash(head, tail, size)
        found = (key + brackets) * _MIX[3]
        found[1:] ^= key[:-1]
        slots = _slots(found)
        unknown = np.flatnonzero(self._table.take(slots) != found)
        new: list[int] = []
        for value, place in zip(found[unknown].tolist(), unknown.tolist()):
            if value not in self._known:
                self._known.add(value)
                new.append(int(stop[place]) - 8 - kept)
        self._table[slots[unknown]] = found[unknown]
        if len(self._known) > MOST:
            self._known.clear()
        watched = stop[self._watched.take(_slots(key)) == key] - 8 - kept
        return sorted({*new, *watched.tolist()}) if len(watched) else new


def _hash(head: Words, tail: Words, size: np.typing.NDArray[np.int64]) -> Words:
    """A key by its first and its last eight bytes and its length."""
    found: Words = ((head * _MIX[0]) ^ (tail * _MIX[1]) ^ (size.astype(np.uint64) * _MIX[2])) * _MIX[0]
    return found


def _slots(hashes: Words) -> np.typing.NDArray[np.intp]:
    found: np.typing.NDArray[np.intp] = (hashes >> np.uint64(64 - _SLOTS)).astype(np.intp)
    return found


def _there(words: Words, bracket: np.uint64) -> Words:
    """The highest bit of each byte that is a bracket, square or curly."""
    other = (words ^ bracket) & _CASE
    found: Words = ~(((other & _LOW) + _LOW) | other | _LOW) & _BITS
    return found
