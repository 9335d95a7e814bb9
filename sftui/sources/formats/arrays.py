"""Arrays of numbers as rows: .npy, .npz, .safetensors and .pt, a row for each entry along their first axis.

Nothing is unpickled but where plain tensors stand (`torch_file`): arrays of objects are refused. A .npy or
.safetensors file is read row by row where it lies; the arrays of a .npz and .pt are packed, and are held.

Sources: numpy 2.3, lib/format.py (the header of a .npy file); safetensors 0.6, README "Format" (eight bytes with the
length of a JSON header, then the tensors, whose places it tells).
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from sftui import bound
from sftui.errors import SourceError
from sftui.model import RAW_LIMIT, Row
from sftui.sources.byte_file import ByteFile
from sftui.sources.formats import Format
from sftui.sources.formats.parquet import BEGINS as PARQUET
from sftui.sources.numbers import BF16, HoldsObjects, bytes_of, is_whole, numbers
from sftui.sources.records import oversized
from sftui.sources.source import COPY_AGAIN, CountedSource, DataChange, Loading, SourceSpec
from sftui.values import value_class

if TYPE_CHECKING:
    import numpy as np

TORCH = (".pt", ".pth")
NPY, ZIP = b"\x93NUMPY", b"PK\x03\x04"
MOST_HELD = 2 << 30
"""Bytes that the arrays of a .npz may have together when they are unpacked."""
MOST_HEADER = 16 << 20
NAMES = {"I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1", "U8": "u1", "U16": "<u2", "U32": "<u4", "U64": "<u8"}
FLOATS = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BOOL": "?"}
"""The types of safetensors that numpy has; BF16 is the upper half of a F32."""


class OtherType(ValueError):
    """An array of something else than plain numbers."""


@value_class
class Array:
    """An array, or arrays of lengths of their own, one for each row: the lengths along its axes, the entry at a place
    along the first one as plain numbers, the bytes of the longest entry, and whether its numbers are whole."""

    shape: tuple[int, ...]
    row: Callable[[int], Any]
    row_bytes: int
    whole: bool


def _in_file(file: ByteFile, offset: int, dtype: str, shape: tuple[int, ...]) -> Array:
    """One that lies in a file: its bytes from `offset` on, C order."""
    size = math.prod(shape[1:]) * bytes_of(dtype)

    def row(index: int) -> Any:
        return numbers(file.pread(offset + index * size, size), dtype).reshape(shape[1:]).tolist()

    return Array(shape, row, size, is_whole(dtype))


def _in_memory(values: np.ndarray[Any, Any] | list[np.ndarray[Any, Any]]) -> Array:
    if isinstance(values, list):
        shape: tuple[int, ...] = (len(values), max((row.size for row in values), default=0))
        size = max((row.nbytes for row in values), default=0)
        return Array(shape, lambda index: values[index].tolist(), size, False)
    size = values.nbytes // max(1, len(values)) if values.shape else 0
    return Array(tuple(values.shape), lambda index: values[index].tolist(), size, is_whole(values.dtype.str))


class ArraysSource(CountedSource):
    """Rows of the arrays of one file: each has as many entries along its first axis. Arrays of one axis alone are one
    row together. SourceError where they do not fit together, or are none of plain numbers."""

    loading = Loading("arrays")

    def __init__(self, file: ByteFile, head: bytes, spec: SourceSpec) -> None:
        self.title = file.label
        self._file = file
        self._size = file.size()
        self._row_limit = spec.row_limit
        try:
            with warnings.catch_warnings(), bound.Work(bound.item_key(file.label, 0), self._size, stage="row"):
                warnings.simplefilter("ignore")  # of headers that Python 2 wrote
                found = _arrays(file, head)
        except (bound.OverBound, MemoryError) as error:
            why = error.what if isinstance(error, bound.OverBound) else f"unpacking it {bound.out_of_memory()}"
            fix = "store .npy or .safetensors, which are read in parts"
            raise SourceError("cannot be read", where=self.title, why=why, fix=fix) from error
        except Exception as error:  # zipfile, zlib, ast and tokenize each raise their own at damage
            pickled = isinstance(error, HoldsObjects) or "allow_pickle" in str(error)  # as numpy says it
            other = pickled or isinstance(error, OtherType)
            raise SourceError(
                "cannot be read" if other else "is not a readable file of arrays",
                where=self.title,
                why="it contains Python objects, and reading them could run code"
                if pickled
                else str(error).rstrip("."),
                fix="store plain numbers, padded to one length, or JSON Lines" if other else COPY_AGAIN,
            ) from error
        self._columns = {name: one for name, one in found.items() if one.shape}
        if not self._columns:
            raise SourceError("contains no arrays", where=self.title)
        self._whole = all(len(column.shape) == 1 for column in self._columns.values())
        counts = {name: one.shape[0] for name, one in self._columns.items() if len(one.shape) > 1}
        if len(set(counts.values())) > 1:
            listed = ", ".join(f"{name} {count:,}" for name, count in counts.items())
            raise SourceError("has arrays of different lengths", where=self.title, why=f"they have {listed} rows")
        self._count = 1 if self._whole else next(iter(counts.values()))

    def columns(self) -> tuple[str, ...]:
        return tuple(self._columns)

    def _read(self, index: int, where: str) -> Row:
        columns = {name: one for name, one in self._columns.items() if self._whole or one.shape[0] == self._count}
        size = sum(column.row_bytes * (column.shape[0] if self._whole else 1) for column in columns.values())
        if size > self._row_limit:
            return oversized(b"", size, self._row_limit, index, where)
        try:
            data = {name: self._entry(one, index) for name, one in columns.items()}
        except ValueError as error:  # it has shrunk meanwhile
            return Row(index, None, "", where, size, f"{where} cannot be decoded: {error}")
        return Row(index, data, json.dumps(data)[:RAW_LIMIT], where, size)

    def _entry(self, one: Array, index: int) -> Any:
        return [one.row(i) for i in range(one.shape[0])] if self._whole else one.row(index)

    def change(self) -> DataChange | None:
        return self._file.changed(self._size)

    def close(self) -> None:
        super().close()
        self._columns = {}
        self._file.close()


def _is_arrays(head: bytes, name: str) -> bool:
    """Whether a file holds arrays, by its first bytes where these tell, else by its name."""
    packed = head.startswith(ZIP) and name.endswith((".npz", *TORCH))
    return head.startswith(NPY) or packed or (name.endswith(".safetensors") and not head.startswith(PARQUET))


FORMATS = (Format("arrays", ArraysSource, fits=_is_arrays, endings_alone=(".npy", ".npz", ".safetensors", *TORCH)),)


def _arrays(file: ByteFile, head: bytes) -> dict[str, Array]:
    """The arrays by name; the only one without a name is `input_ids` where it holds whole numbers."""
    if head.startswith(NPY):
        one = _npy(file)
        return {_named("arr_0", one): one}
    if head.startswith(ZIP) and file.label.lower().endswith(TORCH):
        return _torch(file)
    if head.startswith(ZIP):
        return _npz(file)
    return _safetensors(file)


def _torch(file: ByteFile) -> dict[str, Array]:
    from sftui.sources.torch_file import tensors_of

    with file.open() as stream:
        found = tensors_of(stream, MOST_HELD)
    return {name: _in_memory(values) for name, values in found.items()}


def _npy(file: ByteFile) -> Array:
    import numpy as np
    from numpy.lib import format as npy

    with file.open() as stream:
        version = npy.read_magic(stream)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, fortran, kind = read(stream)
        _refuse_other("it", kind)
        if not fortran and shape:
            if file.size() - stream.tell() < math.prod(shape) * kind.itemsize:
                raise ValueError("it ends before its last row")
            return _in_file(file, stream.tell(), kind.str, shape)
        stream.seek(0)
        return _in_memory(np.load(stream, allow_pickle=False))


def _npz(file: ByteFile) -> dict[str, Array]:
    import zipfile

    import numpy as np

    with file.open() as stream, zipfile.ZipFile(stream) as packed:
        size = sum(info.file_size for info in packed.infolist())
        if size > MOST_HELD:
            raise ValueError(
                f"its arrays have {size:,} bytes, and a compressed file cannot be read in parts: store .npy"
            )
        stream.seek(0)
        with np.load(stream, allow_pickle=False) as loaded:
            found: dict[str, Array] = {}
            for entry in packed.namelist():
                if not entry.endswith(".npy"):  # of any other numpy gives the bytes
                    continue
                values = loaded[entry]
                _refuse_other(entry, values.dtype)
                found[entry.removesuffix(".npy")] = _in_memory(values)
    return {_named(name, one) if len(found) == 1 else name: one for name, one in found.items()}


def _refuse_other(name: str, kind: np.dtype[Any]) -> None:
    """OtherType for what is no plain number: text, records, dates, complex numbers, those of more than 64 bits."""
    if kind.hasobject:
        raise HoldsObjects
    if kind.kind not in "iufb" or kind.itemsize > 8:
        raise OtherType(f"{name} has the type {kind}, which is not a plain number type")


def _named(name: str, array: Array) -> str:
    return "input_ids" if name == "arr_0" and array.whole else name


def _safetensors(file: ByteFile) -> dict[str, Array]:
    length = int.from_bytes(file.pread(0, 8), "little")
    begin, end = 8 + length, file.size()
    if length > min(MOST_HEADER, end):
        raise ValueError("its header is longer than the file")
    header = json.loads(file.pread(8, length))
    if not isinstance(header, Mapping):
        raise ValueError("its header is not a JSON object")
    found = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        kind, shape = str(entry["dtype"]), tuple(entry["shape"])
        start, stop = entry["data_offsets"]
        dtype = kind if kind == BF16 else {**NAMES, **FLOATS}.get(kind)
        if dtype is None:
            raise OtherType(f"{name} has the type {kind}, which is not a plain number type")
        if not all(type(one) is int and one >= 0 for one in (*shape, start, stop)):
            raise ValueError(f"the offsets of {name} are not whole numbers")
        found[name] = _in_file(file, begin + start, dtype, shape)
        if begin + stop > end or stop - start != found[name].row_bytes * (shape[0] if shape else 1):
            raise ValueError(f"{name} is not where the header says")
    return found
