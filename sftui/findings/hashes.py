"""Hashes of rows, kept in the bytes that they have: a dict takes ten times as many."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from hashlib import blake2b

HASH = 8
"""Bytes of a hash: of a million conversations the chance that any two differ and share one is 1 in 37 million."""
_SHIFT = 4
"""Of the first 16 bits of a hash all but these say in which bucket it stands: 4,096 buckets, of 250 at a million."""


class Hashes:
    """Hashes of 8 bytes, each with `width` bytes that belong to it; pickles as these bytes alone.

    A hash is looked for in the bytes of its bucket by `find`: one step of C, where a table of Python's would take many.
    """

    __slots__ = ("_keys", "_length", "_values", "width")

    def __init__(self, width: int = 0) -> None:
        self.width = width
        self._keys: defaultdict[int, bytearray] = defaultdict(bytearray)
        self._values: defaultdict[int, bytearray] = defaultdict(bytearray)
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def __contains__(self, key: bytes) -> bool:
        return self._find(key)[1] >= 0

    def __iter__(self) -> Iterator[bytes]:
        """Every hash, in the order of the buckets' first ones."""
        for keys in self._keys.values():
            for at in range(0, len(keys), HASH):
                yield bytes(keys[at : at + HASH])

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        """Every hash with what belongs to it; nothing may be put in meanwhile."""
        return zip(self, self.values())

    def values(self) -> Iterator[bytes]:
        for bucket, keys in self._keys.items():
            for place in range(len(keys) // HASH):
                yield self._value(bucket, place)

    def get(self, key: bytes) -> bytes | None:
        """What belongs to a hash, or None where it is not there."""
        bucket, place = self._find(key)
        return None if place < 0 else self._value(bucket, place)

    def add(self, key: bytes, value: bytes = b"") -> bytes | None:
        """Put in a hash that is not there; of one that is, what belongs to it already."""
        bucket, place = self._find(key)
        if place >= 0:
            return self._value(bucket, place)
        self._keys[bucket] += key
        self._values[bucket] += value
        self._length += 1
        return None

    def change(self, key: bytes, value: bytes) -> None:
        """What belongs from now on to a hash that is there."""
        bucket, place = self._find(key)
        self._values[bucket][place * self.width : (place + 1) * self.width] = value

    def discard(self, key: bytes) -> None:
        """Take a hash out, where it is there."""
        bucket, place = self._find(key)
        if place >= 0:
            del self._keys[bucket][place * HASH : (place + 1) * HASH]
            del self._values[bucket][place * self.width : (place + 1) * self.width]
            self._length -= 1

    def _find(self, key: bytes) -> tuple[int, int]:
        """In which bucket a hash stands, and which of its hashes it is, or -1; the bytes may also stand across two
        others."""
        bucket = (key[0] << 8 | key[1]) >> _SHIFT
        keys = self._keys.get(bucket, b"")
        at = keys.find(key)
        while at > 0 and at % HASH:
            at = keys.find(key, at + 1)
        return bucket, at // HASH

    def _value(self, bucket: int, place: int) -> bytes:
        return bytes(self._values[bucket][place * self.width : (place + 1) * self.width])

    def alone(self) -> Hashes:
        """The hashes without what belongs to them."""
        made = Hashes()
        for bucket, keys in self._keys.items():
            made._keys[bucket] += keys
        made._length = self._length
        return made

    def digest(self) -> str:
        """The same for the same hashes, in whatever order they came, without what belongs to them."""
        whole = blake2b(digest_size=16)
        for bucket in sorted(self._keys):
            keys = bytes(self._keys[bucket])
            whole.update(b"".join(sorted(keys[at : at + HASH] for at in range(0, len(keys), HASH))))
        return whole.hexdigest()

    def __getstate__(self) -> tuple[int, bytes, bytes]:
        return self.width, b"".join(self._keys.values()), b"".join(self._values.values())

    def __setstate__(self, state: tuple[int, bytes, bytes]) -> None:
        self.__init__(state[0])  # type: ignore[misc]
        width, keys, values = state
        for place in range(len(keys) // HASH):
            self.add(keys[place * HASH : (place + 1) * HASH], values[place * width : (place + 1) * width])


def hash_of(data: bytes) -> bytes:
    return blake2b(data, digest_size=HASH).digest()


def hashes_of(first: bytes, rest: bytes) -> tuple[bytes, bytes]:
    """The hash of the first part, and of both together."""
    made = blake2b(first, digest_size=HASH)
    alone = made.digest()
    made.update(rest)
    return alone, made.digest()
