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
UINT32, STRING, ARRAY, UINT64 = 4, 8, 9, 10
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


class GgufHead:
    """The metadata at the head of a file, passed over value by value; ValueError, struct.error and UnicodeDecodeError
    for what is damaged."""

    noun, versions = "a string", str(VERSIONS)

    def __init__(self, data: mmap.mmap) -> None:
        self.data, self.place = data, 24
        if data[:4] != b"GGUF":
            raise ValueError("it is not a GGUF file")
        version, self.tensors, self.count = struct.unpack_from("<IQQ", data, 4)
        if version not in VERSIONS:
            raise ValueError(f"it is GGUF version {version}, but only {self.versions} can be read")

    def number(self, kind: int) -> Any:
        """The number that stands here."""
        (value,) = struct.unpack_from(NUMBERS[kind], self.data, self.place)
        self.place += struct.calcsize(NUMBERS[kind])
        return value

    def pass_numbers(self, kind: int, count: int) -> int:
        """Where so many numbers begin."""
        # A plain multiplication would let a damaged count ask for more memory than the file has bytes.
        return self._pass(int(count * struct.calcsize(NUMBERS[kind])), "an array")

    def pass_text(self) -> int:
        """Where the text that stands here begins, with its length before it."""
        (length,) = struct.unpack_from("<Q", self.data, self.place)
        return self._pass(int(8 + length), self.noun)

    def text(self) -> str:
        """The text that stands here."""
        begin = self.pass_text()
        return self.data[begin + 8 : self.place].decode("utf-8")

    def _pass(self, size: int, what: str) -> int:
        begin = self.place
        if begin + size > len(self.data):
            raise struct.error(f"{what} runs past the end")
        self.place = begin + size
        return begin


def _read(data: mmap.mmap, string_arrays: Container[str]) -> tuple[dict[str, Any], tuple[str, ...]]:
    head = GgufHead(data)
    metadata: dict[str, Any] = {}
    for _ in range(head.count):
        key = head.text()
        metadata[key] = _value(head, head.number(UINT32), key in string_arrays)
    if "general.architecture" not in metadata:
        raise ValueError("it is a GGUF file without general.architecture")
    names = []
    for _ in range(head.tensors):
        names.append(head.text())
        head.place += 8 * head.number(UINT32) + 4 + 8
    return metadata, tuple(names)


def _value(head: GgufHead, kind: int, keep: bool) -> Any:
    if kind in NUMBERS:
        return head.number(kind)
    if kind == STRING:
        return head.text()
    if kind != ARRAY:
        raise ValueError(f"its metadata holds a value of unknown type {kind}")
    inner, count = head.number(UINT32), head.number(UINT64)
    if inner in NUMBERS:
        begin = head.pass_numbers(inner, count)
        return list(struct.unpack_from(f"<{count}{NUMBERS[inner][1]}", head.data, begin))
    if inner != STRING:
        raise ValueError(f"its metadata holds an array of unknown type {inner}")
    if keep:
        return [head.text() for _ in range(count)]
    for _ in range(count):
        head.pass_text()
    return count
