"""The metadata of a .gguf file, read without torch.

transformers 5.23 reads .gguf with numpy alone but imports torch next to it (integrations/gguf/reader.py).
Where torch is not installed, this reader takes that module's place, in the process that loads the
reference; everything that decides how the tokenizer behaves stays transformers' own.
"""

from __future__ import annotations

import mmap
import struct
import sys
from collections.abc import Container
from importlib import util
from pathlib import Path
from types import ModuleType
from typing import Any

NUMBERS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
STRING, ARRAY = 8, 9
VERSIONS = (2, 3)
READER = "transformers.integrations.gguf.reader"


def read_gguf_metadata(gguf_path: str, string_arrays: Container[str] = ()) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The metadata and the tensor names, as transformers' reader of this name gives them.

    Arrays of strings not named in `string_arrays` come as their length. ValueError for a file that
    is no GGUF of version 2 or 3, or that ends too early.
    """
    if Path(gguf_path).stat().st_size < 24:
        raise ValueError(f"{Path(gguf_path).name} is not a GGUF file: it is too short")
    with Path(gguf_path).open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        try:
            return _read(data, string_arrays)
        except (struct.error, UnicodeDecodeError) as error:
            raise ValueError(f"{Path(gguf_path).name} is a damaged GGUF file ({error})") from error


def unknown_split(gguf_path: str) -> str | None:
    """What a file says of how its vocabulary splits text, where transformers has no rule for that; a clause, None where
    it has.

    Source: transformers 5.23, integrations/gguf/gguf_tokenizer_mapping.py `set_split_regex`.
    """
    stand_in()
    try:
        from transformers.integrations.gguf.gguf_tokenizer_mapping import GGUF_PRE_TOKENIZER_SPLITS as known
    except ImportError:  # other versions keep it elsewhere
        return None
    metadata, _ = read_gguf_metadata(gguf_path)
    name = metadata.get("tokenizer.ggml.pre")
    if metadata.get("tokenizer.ggml.model") != "gpt2" or name in known or name == "gpt-2":
        return None
    return f"names the pre-tokenizer {name!r}, which transformers does not know" if name else "names no pre-tokenizer"


def stand_in() -> None:
    """Let transformers read .gguf metadata where torch is not installed."""
    if READER in sys.modules or util.find_spec("torch") is not None:
        return
    module = ModuleType(READER)
    module.read_gguf_metadata = read_gguf_metadata  # type: ignore[attr-defined]
    sys.modules[READER] = module


def _read(data: mmap.mmap, string_arrays: Container[str]) -> tuple[dict[str, Any], tuple[str, ...]]:
    if data[:4] != b"GGUF":
        raise ValueError("it is not a GGUF file")
    version, tensors, count = struct.unpack_from("<IQQ", data, 4)
    if version not in VERSIONS:
        raise ValueError(f"it is GGUF version {version}, and only {VERSIONS} can be read")
    place = 24
    metadata: dict[str, Any] = {}
    for _ in range(count):
        key, place = _string(data, place)
        (kind,) = struct.unpack_from("<I", data, place)
        metadata[key], place = _value(data, place + 4, kind, key in string_arrays)
    if "general.architecture" not in metadata:
        raise ValueError("it is a GGUF file without general.architecture")
    names = []
    for _ in range(tensors):
        name, place = _string(data, place)
        (dimensions,) = struct.unpack_from("<I", data, place)
        place += 4 + 8 * dimensions + 4 + 8
        names.append(name)
    return metadata, tuple(names)


def _value(data: mmap.mmap, place: int, kind: int, keep: bool) -> tuple[Any, int]:
    if kind in NUMBERS:
        return struct.unpack_from(NUMBERS[kind], data, place)[0], place + struct.calcsize(NUMBERS[kind])
    if kind == STRING:
        return _string(data, place)
    if kind != ARRAY:
        raise ValueError(f"its metadata holds a value of the unknown type {kind}")
    inner, count = struct.unpack_from("<IQ", data, place)
    place += 12
    if inner in NUMBERS:
        # A plain multiplication would let a damaged count ask for more memory than the file has bytes.
        width = struct.calcsize(NUMBERS[inner])
        if place + count * width > len(data):
            raise struct.error("an array runs past the end")
        return list(struct.unpack_from(f"<{count}{NUMBERS[inner][1]}", data, place)), place + count * width
    if inner != STRING:
        raise ValueError(f"its metadata holds an array of the unknown type {inner}")
    values = []
    for _ in range(count):
        value, place = _string(data, place) if keep else ("", _skip(data, place))
        if keep:
            values.append(value)
    return (values if keep else count), place


def _string(data: mmap.mmap, place: int) -> tuple[str, int]:
    end = _skip(data, place)
    return data[place + 8 : end].decode("utf-8"), end


def _skip(data: mmap.mmap, place: int) -> int:
    (length,) = struct.unpack_from("<Q", data, place)
    end = int(place + 8 + length)
    if end > len(data):
        raise struct.error("a string runs past the end")
    return end
