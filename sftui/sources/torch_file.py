"""What `torch.save` wrote of plain tensors, read without torch, and without running anything that the file names.

A file of torch.save is a ZIP archive: `data.pkl` says which tensors there are, and `data/KEY` holds the bytes of each
storage. Of the pickle only the names below are known, each a stand-in of ours that holds numbers; any other name is
refused.

Source: torch 2.13, serialization.py (_save: persistent ids `("storage", type, key, device, numel)`) and _utils.py
(_rebuild_tensor_v2).
"""

from __future__ import annotations

import io
import math
import pickle
import pickletools
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from sftui.sources.numbers import BF16, HoldsObjects, numbers

if TYPE_CHECKING:
    import numpy as np

MOST_PICKLED = 64 << 20
STORAGES = {
    "LongStorage": "<i8", "IntStorage": "<i4", "ShortStorage": "<i2", "CharStorage": "i1", "ByteStorage": "u1",
    "BoolStorage": "?", "DoubleStorage": "<f8", "FloatStorage": "<f4", "HalfStorage": "<f2", "BFloat16Storage": BF16,
}  # fmt: skip
"""The types of storages that hold numbers."""
PUTS = frozenset({"PUT", "BINPUT", "LONG_BINPUT"})
"""The opcodes of a pickle that name the place of its memo to put a value into."""


class Storage(NamedTuple):
    """Bytes of the archive: the type of a number, and the file's name."""

    dtype: str
    key: str


class Tensor(NamedTuple):
    """A view of a storage, in numbers."""

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]


def _tensor(storage: Any, offset: Any, shape: Any, stride: Any, *_more: Any) -> Tensor:
    """In place of torch._utils._rebuild_tensor_v2."""
    numbers = (offset, *shape, *stride)
    sound = isinstance(storage, Storage) and len(shape) == len(stride)
    if not sound or not all(type(number) is int and number >= 0 for number in numbers):
        raise ValueError("it describes a tensor in a way that torch does not")
    return Tensor(storage, offset, tuple(shape), tuple(stride))


KNOWN: Mapping[tuple[str, str], Any] = {
    ("torch._utils", "_rebuild_tensor_v2"): _tensor,
    ("collections", "OrderedDict"): OrderedDict,
    **{("torch", name): dtype for name, dtype in STORAGES.items()},
}


class _Tensors(pickle.Unpickler):
    """Makes tensors of a pickle, and nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in KNOWN:
            raise HoldsObjects(f"{module}.{name}")
        return KNOWN[module, name]

    def persistent_load(self, pid: Any) -> Storage:
        if isinstance(pid, tuple) and len(pid) == 5 and pid[0] == "storage":
            dtype, key = pid[1], pid[2]
            if isinstance(dtype, str) and isinstance(key, str):
                return Storage(dtype, key)
        raise ValueError("it describes a storage in a way that torch does not")


def _refuse_far_places(pickled: bytes) -> None:
    """ValueError where a pickle puts a value into a place of its memo that no pickler would.

    Picklers number the places from 0 on. Python makes room for all up to the one that is named (CPython 3.11,
    Modules/_pickle.c `_Unpickler_MemoPut`).
    """
    for number, (opcode, place, _) in enumerate(pickletools.genops(pickled)):
        if opcode.name in PUTS and isinstance(place, int) and place > number:
            raise ValueError("it is damaged: its pickle refers to an object that it has not defined yet")


def tensors_of(stream: IO[bytes], most: int) -> dict[str, list[np.ndarray[Any, Any]] | np.ndarray[Any, Any]]:
    """The tensors of a file by name: one alone is `input_ids`; of a list of examples, a list for each of their names.

    ValueError where it is none of plain tensors, or its tensors have more than `most` bytes.
    """
    with zipfile.ZipFile(stream) as packed:
        names = {info.filename: info.file_size for info in packed.infolist()}
        (described,) = [name for name in names if name.endswith("/data.pkl")] or [""]
        if not described:
            raise ValueError("it has no data.pkl, which torch.save writes")
        folder = described.removesuffix("data.pkl")
        if names[described] > MOST_PICKLED or sum(names.values()) > most:
            raise ValueError(f"its tensors have {sum(names.values()):,} bytes: store .npy or .safetensors")
        if f"{folder}byteorder" in names and packed.read(f"{folder}byteorder") != b"little":
            raise ValueError("its numbers are not little-endian")
        pickled = packed.read(described)
        _refuse_far_places(pickled)
        held = _Tensors(io.BytesIO(pickled)).load()
        read: dict[str, bytes] = {}

        def values(one: Tensor) -> np.ndarray[Any, Any]:
            key = one.storage.key
            if key not in read:
                read[key] = packed.read(f"{folder}data/{key}")
            return _view(one, read[key])

        return _named(held, values)


def _named(held: Any, values: Callable[[Tensor], np.ndarray[Any, Any]]) -> dict[str, Any]:
    if isinstance(held, Tensor):
        return {"input_ids": values(held)}
    if isinstance(held, Mapping):
        return {str(name): values(one) for name, one in held.items() if isinstance(one, Tensor)}
    if isinstance(held, (list, tuple)) and held and all(isinstance(one, Tensor) for one in held):
        return {"input_ids": _rows([values(one) for one in held])}
    if isinstance(held, (list, tuple)) and held and all(isinstance(one, Mapping) for one in held):
        shared = [name for name in held[0] if all(isinstance(one.get(name), Tensor) for one in held)]
        return {str(name): _rows([values(one[name]) for one in held]) for name in shared}
    raise ValueError("it contains neither named tensors nor a list of examples")


def _rows(examples: list[np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
    """A row for each example; of batches one for each entry along their first axis."""
    if all(example.ndim > 1 for example in examples):
        return [row for one in examples for row in one]
    return examples


def _view(one: Tensor, data: bytes) -> np.ndarray[Any, Any]:
    """The numbers of a tensor; ValueError where it looks behind the end of its storage."""
    import numpy as np

    stored = numbers(data, one.storage.dtype)
    last = one.offset + sum((size - 1) * step for size, step in zip(one.shape, one.stride))
    if math.prod(one.shape) and last >= len(stored):
        raise ValueError("a tensor in it reaches past the end of its storage")
    if math.prod(one.shape) > len(stored):
        raise ValueError("a tensor in it repeats elements of its storage")
    strides = tuple(step * stored.itemsize for step in one.stride)
    return np.array(np.lib.stride_tricks.as_strided(stored[one.offset :], one.shape, strides, writeable=False))
