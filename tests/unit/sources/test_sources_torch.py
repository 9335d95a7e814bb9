"""Files that the real torch.save wrote, read without torch, and those that would run something.

`tests/parity/record_torch_files.py` writes them.
"""

from __future__ import annotations

import contextlib
import io
import sys
import types
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from array_rows import rows
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sftui.errors import SourceError
from sftui.sources import torch_file
from sftui.sources.formats import arrays

FILES = Path(__file__).parents[2] / "golden" / "sources"
IDS = np.arange(24).reshape(4, 6)


def columns(**arrays: Any) -> list[dict[str, Any]]:
    return [{name: values[i].tolist() for name, values in arrays.items()} for i in range(4)]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("tensor", columns(input_ids=IDS)),
        ("batch", columns(input_ids=IDS, labels=IDS, loss_mask=IDS % 3 > 0, weights=IDS / 8)),
        ("views", columns(input_ids=IDS[:, 1:], labels=IDS[:, :-1])),
        ("examples", [{"input_ids": [*range(n)], "labels": [*range(-1, n - 1)]} for n in (3, 5, 2)]),
        ("batches", [{"input_ids": row.tolist()} for row in (*IDS[:2], *IDS[2:, :4])]),
        ("texts", [{"input_ids": [*range(n)]} for n in (4, 7)]),
    ],
)
def test_tensors_are_rows(name: str, expected: list[Any]) -> None:
    assert rows(FILES / f"{name}.pt") == expected


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("parameter", "it contains Python objects, and reading them could run code"),
        ("object", "it contains Python objects, and reading them could run code"),
        ("expanded", "a tensor in it repeats elements of its storage"),
    ],
)
def test_what_is_no_plain_tensor_is_refused(name: str, why: str) -> None:
    with pytest.raises(SourceError, match=why):
        rows(FILES / f"{name}.pt")


@pytest.mark.parametrize(
    "pickled",
    [
        b"cmade_up\nThing\n.",
        b"cmade_up\nthing\n(tR.",
        b"\x80\x04\x8c\x07made_up\x8c\x05Thing\x93.",
        b"(imade_up\nThing\n.",
    ],
)
def test_a_name_that_is_not_known_is_refused_and_not_looked_up(
    pickled: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a module that is made up, and here for this test alone."""
    asked: list[str] = []
    module = types.ModuleType("made_up")
    module.__getattr__ = asked.append  # type: ignore[method-assign]
    monkeypatch.setitem(sys.modules, "made_up", module)
    with zipfile.ZipFile(tmp_path / "made_up.pt", "w") as packed:
        packed.writestr("made_up/data.pkl", pickled)
    with pytest.raises(SourceError, match="it contains Python objects, and reading them could run code"):
        rows(tmp_path / "made_up.pt")
    assert asked == []


def test_the_names_that_are_known_make_nothing_but_what_a_tensor_is_made_of() -> None:
    assert set(torch_file.KNOWN) == {
        ("torch._utils", "_rebuild_tensor_v2"),
        ("collections", "OrderedDict"),
        *(("torch", name) for name in torch_file.STORAGES),
    }
    assert torch_file.KNOWN["collections", "OrderedDict"] is OrderedDict
    assert all(isinstance(torch_file.KNOWN["torch", name], str) for name in torch_file.STORAGES)


def test_a_tensor_behind_its_storage_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(FILES / "tensor.pt") as whole, zipfile.ZipFile(tmp_path / "short.pt", "w") as packed:
        for one in whole.infolist():
            data = whole.read(one)
            packed.writestr(one.filename, data[:100] if one.filename.endswith("data/0") else data)
    with pytest.raises(SourceError, match="reaches past the end of its storage"):
        rows(tmp_path / "short.pt")


@pytest.mark.parametrize("put", [b"r\x09\x00\x00\x00", b"p9\n", b"q\x09", b"r\x03\x00\x00\x00"])
def test_a_pickle_gets_no_more_room_than_it_has_values(tmp_path: Path, put: bytes) -> None:
    """Python takes room for each place up to the one that is named: here it has come to the second."""
    path = tmp_path / "far.pt"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("archive/data.pkl", b"\x80\x02]" + put + b".")
    with pytest.raises(SourceError, match="refers to an object that it has not defined yet"):
        rows(path)


def test_a_file_that_unpacks_to_more_than_is_held_is_not_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, name, by in ((torch_file, "MOST_PICKLED", 1 << 16), (arrays, "MOST_HELD", 1 << 20)):
        monkeypatch.setattr(module, name, getattr(module, name) // by)
    for name, size in (("data.pkl", 1_500), ("data/0", 2_500)):
        with zipfile.ZipFile(FILES / "tensor.pt") as whole, zipfile.ZipFile(tmp_path / "long.pt", "w") as packed:
            for one in whole.infolist():
                packed.writestr(one.filename, whole.read(one).ljust(size if one.filename.endswith(name) else 0))
        with pytest.raises(SourceError, match=r"its tensors have [\d,]+ bytes: store \.npy or \.safetensors"):
            rows(tmp_path / "long.pt")


@given(st.binary(max_size=60), st.integers(0, 400), st.booleans())
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_damage_is_told_and_nothing_else_raised(tmp_path: Path, junk: bytes, at: int, whole: bool) -> None:
    """Bytes put over the pickle alone, or over the file."""
    path = tmp_path / "bent.pt"
    if whole:
        data = bytearray((FILES / "batch.pt").read_bytes())
        data[at : at + len(junk)] = junk
        path.write_bytes(bytes(data))
    else:
        made = io.BytesIO()
        with zipfile.ZipFile(FILES / "batch.pt") as read, zipfile.ZipFile(made, "w") as packed:
            for one in read.infolist():
                data = bytearray(read.read(one))
                if one.filename.endswith("data.pkl"):
                    data[at : at + len(junk)] = junk
                packed.writestr(one.filename, bytes(data))
        path.write_bytes(made.getvalue())
    with contextlib.suppress(SourceError):
        assert isinstance(rows(path), list)
