"""Examples of one packing group, kept outside memory once they are many.

A trainer packs by the lengths of a whole group, which may be 100,000 rows (Axolotl), and then reads each row once.
"""

from __future__ import annotations

import pickle
import tempfile
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from typing import TypeVar, overload

from sftui.errors import SftuiError
from sftui.model import Pack

T = TypeVar("T")
IN_MEMORY = 64 << 20
"""Bytes that are held before the rest goes to an unnamed temporary file."""


class PickledStore(Sequence[T]):
    """Examples or packs in order; each is read back when it is asked for. SftuiError where the disk is full."""

    def __init__(self, in_memory: int = IN_MEMORY) -> None:
        self._in_memory = in_memory
        self._file = tempfile.SpooledTemporaryFile(in_memory, prefix="sftui-")  # noqa: SIM115
        self._places = array("q")

    def append(self, value: T) -> None:
        """Keep one more."""
        try:
            place = self._file.seek(0, 2)
            pickle.dump(value, self._file, pickle.HIGHEST_PROTOCOL)
        except OSError as error:
            raise SftuiError(
                "the rows of a packing group cannot be stored",
                where=tempfile.gettempdir(),
                why=(error.strerror or str(error)).lower(),
                fix="free some space there, or set TMPDIR",
            ) from error
        self._places.append(place)

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        self._file.seek(self._places[index])
        value: T = pickle.load(self._file)
        return value

    def emptied(self) -> PickledStore[T]:
        """Another one, in the place of this one."""
        self.close()
        return PickledStore(self._in_memory)

    def close(self) -> None:
        self._file.close()


def reordered(packs: Iterable[Pack], order: Callable[[int], Sequence[int]]) -> Iterator[Pack]:
    """Packs in another order, which hangs on how many there are."""
    with closing(PickledStore[Pack]()) as store:
        for pack in packs:
            store.append(pack)
        yield from map(store.__getitem__, order(len(store)))
