"""Files that the real torch.save wrote, read without torch, and those that would run something.

`tests/parity/record_torch_files.py` writes them.
"""

from __future__ import annotations

import contextlib
import io
import pickle
import resource
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from array_rows import rows
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sftui.errors import SourceError

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
        ("parameter", "it holds Python objects, whose reading could run code"),
        ("object", "it holds Python objects, whose reading could run code"),
        ("expanded", "a tensor in it repeats its storage"),
    ],
)
def test_what_is_no_plain_tensor_is_refused(name: str, why: str) -> None:
    with pytest.raises(SourceError, match=why):
        rows(FILES / f"{name}.pt")


class Trap:
    def __reduce__(self) -> tuple[Any, ...]:
        return (print, ("unpickled",))


def test_nothing_of_the_file_is_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with zipfile.ZipFile(tmp_path / "trap.pt", "w") as packed:
        packed.writestr("trap/data.pkl", pickle.dumps({"input_ids": Trap()}))
    with pytest.raises(SourceError, match="it holds Python objects, whose reading could run code"):
        rows(tmp_path / "trap.pt")
    assert capsys.readouterr().out == ""


def test_a_tensor_behind_its_storage_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(FILES / "tensor.pt") as whole, zipfile.ZipFile(tmp_path / "short.pt", "w") as packed:
        for one in whole.infolist():
            data = whole.read(one)
            packed.writestr(one.filename, data[:100] if one.filename.endswith("data/0") else data)
    with pytest.raises(SourceError, match="looks behind the end of its storage"):
        rows(tmp_path / "short.pt")


@pytest.mark.parametrize("put", [b"r\xff\xff\xff\x7f", b"p2147483647\n", b"r\x00\x00\x10\x00"])
def test_a_pickle_gets_no_more_room_than_it_has_values(tmp_path: Path, put: bytes) -> None:
    """Five bytes made Python take 16 bytes for each place up to the one that they name."""
    path = tmp_path / "far.pt"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("archive/data.pkl", b"\x80\x02]" + put + b".")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(SourceError, match="a place that it has not come to"):
        rows(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 16 << 10


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
