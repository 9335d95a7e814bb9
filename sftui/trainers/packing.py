"""How rows are put into packs, by the rules that several trainers have, and the examples of one
packing group, kept outside memory once they are many."""

from __future__ import annotations

import heapq
import pickle
import tempfile
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from functools import lru_cache
from typing import Any, TypeVar, overload

from sftui.errors import SftuiError
from sftui.labels import columns_of
from sftui.model import Example, Pack

NumberedRow = tuple[int, Example]
"""The place of an example among all, and itself."""
Documents = list[tuple[int, int, int]]
"""Ranges of tokens of examples: index, start and end of each."""


@lru_cache(maxsize=10_000)
def blank(length: int) -> Example:
    """An example of which nothing but the length is known."""
    ids: Any = range(length)
    return Example(ids, ids, ids)


def documents_of(rows: Iterable[NumberedRow]) -> Documents:
    """Whole rows, each with its number."""
    return [(index, 0, len(example.input_ids)) for index, example in rows]


def next_fit(rows: Iterable[NumberedRow], size: int, multiple: int = 1) -> Iterator[list[NumberedRow]]:
    """Whole rows in their order, each as long as the next `multiple`: one that does not fit opens the next pack."""
    held: list[NumberedRow] = []
    room = size
    for row in rows:
        length = len(row[1].input_ids)
        length += -length % multiple
        if held and length > room:
            yield held
            held, room = [], size
        held.append(row)
        room -= length
    if held:
        yield held


def emptiest_fit(rows: Iterable[NumberedRow], size: int) -> list[list[NumberedRow]]:
    """Whole rows, the longest first, each into the pack that holds least, the first of equal ones; into a new one where
    it has no room there."""
    packs: list[list[NumberedRow]] = []
    heap: list[tuple[int, int]] = []
    for row in sorted(rows, key=lambda row: -len(row[1].input_ids)):
        length = len(row[1].input_ids)
        if heap and heap[0][0] + length <= size:
            filled, number = heapq.heappop(heap)
        else:
            filled, number = 0, len(packs)
            packs.append([])
        packs[number].append(row)
        heapq.heappush(heap, (filled + length, number))
    return packs


def wrapped(examples: Sequence[Example], size: int) -> Iterator[Documents]:
    """All examples end to end, cut every `size` tokens, borders ignored; the last pack may hold less."""
    documents: Documents = []
    room = size
    for index, example in enumerate(examples):
        start, n = 0, len(example.input_ids)
        while start < n:
            taken = min(room, n - start)
            documents.append((index, start, start + taken))
            start, room = start + taken, room - taken
            if not room:
                yield documents
                documents, room = [], size
    if documents:
        yield documents


def pack_wrapped(examples: Sequence[Example], size: int) -> Iterator[Pack]:
    """The packs of `wrapped`, in which nothing tells documents apart."""
    for documents in wrapped(examples, size):
        ids, labels, _ = columns_of([(examples[index], start, end) for index, start, end in documents])
        yield Pack(tuple(documents), ids, labels, attention_mask=(1,) * len(ids))


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
