"""Token ids end to end in one file, and next to it where each document stands: Megatron's .bin/.idx, datatrove's .ds.

Nothing is loaded but the row that is requested: both indexes are arrays of numbers of one size.

Sources: Megatron-Core 0.14, datasets/indexed_dataset.py (_IndexWriter: the header, a code of the type, the number of
sequences and of documents, then 32-bit lengths and 64-bit places of all sequences); datatrove 0.6,
pipeline/tokens/tokenizer.py (TokenizedFile: 16 or 32 bits a token, 64-bit ends of documents in tokens, a byte of the
loss mask for each token).
"""

from __future__ import annotations

import json
import os
from abc import abstractmethod
from contextlib import ExitStack

from sftui.errors import SourceError
from sftui.model import RAW_LIMIT, Row
from sftui.sources.byte_file import ByteFile
from sftui.sources.formats import Format
from sftui.sources.numbers import bytes_of, numbers
from sftui.sources.records import oversized
from sftui.sources.source import COPY_AGAIN, CountedSource, DataChange, Loading, Source, SourceSpec

MEGATRON = b"MMIDIDX\x00\x00"
HEAD = len(MEGATRON) + 8 + 1 + 8 + 8
TYPES = {1: "u1", 2: "i1", 3: "<i2", 4: "<i4", 5: "<i8", 8: "<u2"}
"""The codes of Megatron's whole numbers; 6 and 7 are fractions."""
SIZES = {2: "<u2", 4: "<u4"}
"""Bytes of a token of datatrove's."""


class TokenFileSource(CountedSource):
    """Rows of ids that stand end to end in `tokens`, as `index` tells."""

    loading = Loading("arrays")

    def __init__(self, path: str, label: str, index: str, row_limit: int) -> None:
        if not os.path.exists(index):
            raise SourceError(
                "has no index",
                where=label,
                why=f"{os.path.basename(index)} is missing next to it, and only it says where documents begin",
                fix="copy it there",
            )
        self.title = label
        self._row_limit = row_limit
        with ExitStack() as opened:
            self.tokens = ByteFile(path, label)
            opened.callback(self.tokens.close)
            self.index = ByteFile(index, os.path.basename(index))
            opened.callback(self.index.close)
            self._sizes = self.tokens.size(), self.index.size()
            self.dtype, self._count = self.look()
            self._opened = opened.pop_all()

    @abstractmethod
    def look(self) -> tuple[str, int]:
        """The type of a token, and how many rows there are; SourceError where the files do not fit together."""

    @abstractmethod
    def place(self, index: int) -> tuple[int, int]:
        """Where a row begins, in bytes, and how many tokens it has."""

    def stored_columns(self, index: int) -> dict[str, list[int]]:
        """What else is stored of a row."""
        return {}

    def columns(self) -> tuple[str, ...]:
        return ("input_ids",)

    def _read(self, index: int, where: str) -> Row:
        begin, count = self.place(index)
        size = count * bytes_of(self.dtype)
        if count < 0 or begin < 0 or begin + size > self._sizes[0]:
            problem = f"{where} is not in {self.title}: its index points past the end; write both files again"
            return Row(index, None, "", where, 0, problem)
        if size > self._row_limit:
            return oversized(b"", size, self._row_limit, index, where)
        ids = numbers(self.tokens.pread(begin, size), self.dtype)
        if len(ids) < count:  # it has shrunk meanwhile
            return Row(index, None, "", where, size, f"{where} ends before its last token")
        data = {"input_ids": ids.tolist(), **self.stored_columns(index)}
        return Row(index, data, json.dumps(data)[:RAW_LIMIT], where, size)

    def change(self) -> DataChange | None:
        return self.tokens.changed(self._sizes[0]) or self.index.changed(self._sizes[1])

    def close(self) -> None:
        super().close()
        self._opened.close()

    def _numbers(self, offset: int, dtype: str, count: int) -> list[int]:
        """Numbers of the index, fewer where it ends before."""
        return list(numbers(self.index.pread(offset, count * bytes_of(dtype)), dtype).tolist())

    def _misfit(self, why: str) -> SourceError:
        return SourceError("does not match its index", where=self.title, why=why, fix=COPY_AGAIN)


class MegatronSource(TokenFileSource):
    """The sequences of a .bin file, a row each, as IndexedDataset gives them."""

    def __init__(self, path: str, label: str, row_limit: int) -> None:
        stem = os.path.splitext(path)[0]
        if path.endswith(".idx") and not os.path.exists(f"{stem}.bin"):
            raise SourceError(
                "has no tokens", where=label, why="the .bin file is missing next to it", fix="copy it there"
            )
        super().__init__(f"{stem}.bin", os.path.splitext(label)[0] + ".bin", f"{stem}.idx", row_limit)

    def look(self) -> tuple[str, int]:
        head = self.index.pread(0, HEAD)
        if not head.startswith(MEGATRON) or len(head) < HEAD:
            raise self._misfit("the .idx file does not begin with Megatron's header")
        version, code = int.from_bytes(head[9:17], "little"), head[17]
        if version != 1:
            raise self._misfit(f"the .idx file has version {version}; only version 1 is supported")
        if code not in TYPES:
            raise self._misfit(f"its tokens have the type {code}, which is not an integer type")
        count = int.from_bytes(head[18:26], "little")
        if HEAD + 12 * count > self.index.size():
            raise self._misfit(f"the .idx file ends before the offsets of its {count:,} sequences")
        return TYPES[code], count

    def place(self, index: int) -> tuple[int, int]:
        (length,) = self._numbers(HEAD + 4 * index, "<i4", 1) or [-1]
        (begin,) = self._numbers(HEAD + 4 * self._count + 8 * index, "<i8", 1) or [-1]
        return begin, length


class DatatroveSource(TokenFileSource):
    """The documents of a .ds file, a row each, with the loss mask where one was written."""

    def __init__(self, path: str, label: str, row_limit: int) -> None:
        self._mask: ByteFile | None = None
        super().__init__(path, label, f"{path}.index", row_limit)
        if os.path.exists(f"{path}.loss"):
            self._mask = ByteFile(f"{path}.loss", f"{label}.loss")
            self._opened.callback(self._mask.close)

    def look(self) -> tuple[str, int]:
        size, listed = self.tokens.size(), self.index.size()
        count = listed // 8
        if listed % 8 or not count:
            raise self._misfit("the .index file has no 64-bit document ends")
        (last,) = self._numbers(8 * (count - 1), "<u8", 1)
        fitting = [each for each in SIZES if last * each == size]
        if not fitting:
            raise self._misfit(f"it has {size:,} bytes, but its documents end at token {last:,}, of 2 or 4 bytes each")
        return SIZES[fitting[0]], count

    def place(self, index: int) -> tuple[int, int]:
        begin, end = self._ends(index)
        return begin * bytes_of(self.dtype), end - begin

    def stored_columns(self, index: int) -> dict[str, list[int]]:
        if self._mask is None:
            return {}
        begin, end = self._ends(index)
        return {"loss_mask": list(self._mask.pread(begin, end - begin))}

    def columns(self) -> tuple[str, ...]:
        return ("input_ids", "loss_mask") if self._mask is not None else ("input_ids",)

    def _ends(self, index: int) -> tuple[int, int]:
        if index == 0:
            return 0, (self._numbers(0, "<u8", 1) or [-1])[0]
        found = self._numbers(8 * (index - 1), "<u8", 2)
        return (found[0], found[1]) if len(found) == 2 else (0, -1)


def _open_path(path: str, label: str, spec: SourceSpec) -> Source | None:
    """The documents of a pair of files, of which `path` is one, by its name and by what stands next to it; SourceError
    where the other is missing or they do not fit together."""
    stem, ending = os.path.splitext(path)
    if path.endswith(".ds"):
        return DatatroveSource(path, label, spec.row_limit)
    pair = ending in (".bin", ".idx") and os.path.exists(f"{stem}.idx")
    return MegatronSource(path, label, spec.row_limit) if pair else None


FORMATS = (Format("arrays", open_path=_open_path, endings_alone=(".bin", ".idx", ".ds")),)
