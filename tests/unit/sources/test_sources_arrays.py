"""Arrays of numbers as rows: .npy, .npz and .safetensors, and what is wrong with those that do not open."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
from array_rows import rows

from sftui import bound
from sftui.errors import SourceError
from sftui.sources import Source, SourceSpec, open_source
from sftui.sources.formats import arrays

IDS = np.arange(24, dtype=np.int64).reshape(4, 6)
MASK = (IDS % 3 > 0).astype(np.int8)
WEIGHTS = (IDS / 8).astype(np.float32)


def safetensors(path: Path, tensors: dict[str, tuple[str, tuple[int, ...], bytes]], **more: Any) -> Path:
    header: dict[str, Any] = {"__metadata__": {"made": "by hand"}}
    data = b""
    for name, (kind, shape, content) in tensors.items():
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps({**header, **more}).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path


def expected(columns: dict[str, Any]) -> list[dict[str, Any]]:
    return [{name: values[i].tolist() for name, values in columns.items()} for i in range(4)]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", ["<i8", "<i4", "<u2", ">i4"])
def test_npy(tmp_path: Path, kind: str, order: Any) -> None:
    np.save(tmp_path / "ids.npy", np.asarray(IDS, dtype=kind, order=order))
    assert rows(tmp_path / "ids.npy") == expected({"input_ids": IDS})


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz(tmp_path: Path, save: Any) -> None:
    save(tmp_path / "batch.npz", input_ids=IDS, loss_mask=MASK, weights=WEIGHTS, rank=np.int64(3))
    assert rows(tmp_path / "batch.npz") == expected({"input_ids": IDS, "loss_mask": MASK, "weights": WEIGHTS})


def test_safetensors(tmp_path: Path) -> None:
    upper = (WEIGHTS.view("<u4") >> 16).astype("<u2")
    path = safetensors(
        tmp_path / "batch.safetensors",
        {
            "input_ids": ("I64", (4, 6), IDS.tobytes()),
            "loss_mask": ("BOOL", (4, 6), (MASK > 0).tobytes()),
            "weights": ("BF16", (4, 6), upper.tobytes()),
            "lengths": ("I32", (4,), np.arange(4, dtype="<i4").tobytes()),
        },
    )
    made = rows(path)
    assert made == expected({"input_ids": IDS, "loss_mask": MASK > 0, "weights": WEIGHTS, "lengths": np.arange(4)})


def test_arrays_of_one_axis_are_one_row(tmp_path: Path) -> None:
    np.savez(tmp_path / "one.npz", input_ids=IDS[0], loss_mask=MASK[0])
    assert rows(tmp_path / "one.npz") == [{"input_ids": IDS[0].tolist(), "loss_mask": MASK[0].tolist()}]


def test_packed_with_gzip(tmp_path: Path) -> None:
    import gzip

    np.save(tmp_path / "ids.npy", IDS)
    (tmp_path / "ids.npy.gz").write_bytes(gzip.compress((tmp_path / "ids.npy").read_bytes()))
    assert rows(tmp_path / "ids.npy.gz") == expected({"input_ids": IDS})


def test_a_row_over_the_limit_is_told(tmp_path: Path) -> None:
    np.save(tmp_path / "ids.npy", IDS)
    assert rows(tmp_path / "ids.npy", row_limit=40)[0] == (
        "ids.npy row 0 is 48 bytes, over the limit of 40 per row; --row-limit MB raises it"
    )


class Thing:
    """Of this test alone: it would be told where one was unpickled."""

    unpickled: list[object] = []

    def __setstate__(self, state: object) -> None:
        self.unpickled.append(state)


@pytest.mark.parametrize("name", ["ids.npy", "ids.npz"])
def test_nothing_is_unpickled(tmp_path: Path, name: str) -> None:
    thing = Thing()
    thing.a = 1  # type: ignore[attr-defined]
    objects = np.array([thing, thing], dtype=object)
    if name.endswith(".npy"):
        np.save(tmp_path / name, objects)
    else:
        np.savez(tmp_path / name, input_ids=objects)
    with pytest.raises(SourceError, match="it contains Python objects, and reading them could run code"):
        rows(tmp_path / name)
    assert Thing.unpickled == []


def test_arrays_that_unpack_to_more_than_is_held_are_not_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrays, "MOST_HELD", arrays.MOST_HELD >> 21)
    np.savez_compressed(tmp_path / "b.npz", input_ids=np.arange(500))
    with pytest.raises(
        SourceError, match=r"its arrays have 4,\d\d\d bytes, and a compressed file cannot be read in parts"
    ):
        rows(tmp_path / "b.npz")


def test_a_header_of_more_than_a_header_has_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "MOST_HEADER", arrays.MOST_HEADER >> 14)
    entry = {"dtype": "I64", "shape": [4], "data_offsets": [0, 32]}
    path = safetensors(tmp_path / "b.safetensors", {}, __metadata__={"a": "x" * 1_500}, x=entry)
    path.write_bytes(path.read_bytes() + bytes(32))
    with pytest.raises(SourceError, match="its header is longer than"):
        rows(path)


def test_arrays_that_do_not_fit_together(tmp_path: Path) -> None:
    np.savez(tmp_path / "b.npz", input_ids=IDS, labels=IDS[:3])
    with pytest.raises(SourceError, match="they have input_ids 4, labels 3 rows"):
        rows(tmp_path / "b.npz")


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ({"x": {"dtype": "I64", "shape": [4, 6], "data_offsets": [0, 8]}}, "x is not where the header says"),
        ({"x": {"dtype": "I64", "shape": [1], "data_offsets": [900, 908]}}, "x is not where the header says"),
        ({"x": {"dtype": "I64", "shape": [-1], "data_offsets": [0, 8]}}, "are not whole numbers"),
        ({"x": {"dtype": "F4", "shape": [1], "data_offsets": [0, 8]}}, "has the type F4"),
        ({"x": 3}, "not a readable file of arrays"),
    ],
)
def test_headers_that_lie(tmp_path: Path, told: dict[str, Any], why: str) -> None:
    with pytest.raises(SourceError, match=why):
        rows(safetensors(tmp_path / "b.safetensors", {}, **told))


@pytest.mark.parametrize("cut", [0, 5, 40, 130, 200])
@pytest.mark.parametrize("name", ["b.npy", "b.npz", "b.safetensors"])
def test_a_file_that_ends_early_is_one_sentence(tmp_path: Path, name: str, cut: int) -> None:
    path = tmp_path / name
    if name == "b.npy":
        np.save(path, IDS)
    elif name == "b.npz":
        np.savez(path, input_ids=IDS)
    else:
        safetensors(path, {"input_ids": ("I64", (4, 6), IDS.tobytes())})
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(SourceError):
        rows(path)


def test_damage_anywhere_is_one_sentence(tmp_path: Path) -> None:
    """Each byte of the small files changed, once to each of three values: they open, or say why not."""
    np.save(tmp_path / "a.npy", IDS[:2, :2])
    np.savez_compressed(tmp_path / "b.npz", input_ids=IDS)
    whole = {path: path.read_bytes() for path in (tmp_path / "a.npy", tmp_path / "b.npz")}
    opened = refused = 0
    for path, content in whole.items():
        for at in range(0, len(content), 1 if path.suffix == ".npy" else 2):
            for value in (0, 40, 255):
                path.write_bytes(content[:at] + bytes([value]) + content[at + 1 :])
                try:
                    open_source(SourceSpec((str(path),))).close()
                    opened += 1
                except SourceError:
                    refused += 1
    assert opened > 100 and refused > 100


def test_a_name_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="does not exist"):
        open_source(SourceSpec(("nowhere.safetensors",)))


def opened_at(path: Path) -> Source:
    return open_source(SourceSpec((str(path),)))


OTHER = {
    "text": np.array([["ab", "c"]]),
    "bytes": np.array([b"ab", b"c"]),
    "a text of no width": np.zeros(2, "U0"),
    "a record": np.zeros(3, [("a", "i4"), ("b", "f4")]),
    "void": np.zeros(3, "V4"),
    "void of no width": np.zeros(2, "V0"),
    "complex": np.ones((2, 3), complex),
    "more than 64 bits": np.ones((2, 3), np.longdouble),
    "dates": np.array(["2024-05-02"], "M8[D]"),
    "times": np.array([1, 2], "m8[s]"),
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("kind", OTHER)
def test_what_is_no_plain_number_is_one_sentence(tmp_path: Path, kind: str, packed: bool) -> None:
    path = tmp_path / ("t.npz" if packed else "t.npy")
    (np.savez if packed else np.save)(path, OTHER[kind])
    with pytest.raises(SourceError, match="is not a plain number type; store plain numbers") as told:
        opened_at(path)
    assert str(OTHER[kind].dtype) in told.value.why


def test_other_entries_of_an_archive_are_passed_over(tmp_path: Path) -> None:
    np.save(tmp_path / "ids.npy", np.arange(6).reshape(2, 3))
    for name, entries in {"both": ["README.txt", "a/", "input_ids.npy"], "none": ["README.txt"]}.items():
        with zipfile.ZipFile(tmp_path / f"{name}.npz", "w") as archive:
            for entry in entries:
                archive.writestr(entry, (tmp_path / "ids.npy").read_bytes() if entry.endswith(".npy") else b"")
    assert opened_at(tmp_path / "both.npz").row(1).data == {"input_ids": [3, 4, 5]}
    with pytest.raises(SourceError, match="contains no arrays"):
        opened_at(tmp_path / "none.npz")


@pytest.mark.parametrize("stop", [bound.OverBound("the row needs more than 2 seconds"), MemoryError()])
def test_unpacking_is_bounded_as_the_work_of_a_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: Exception
) -> None:
    def over(file: object) -> NoReturn:
        raise stop

    np.savez(tmp_path / "t.npz", np.arange(6))
    monkeypatch.setattr(arrays, "_npz", over)
    with pytest.raises(SourceError, match=r"t.npz: cannot be read, because .+; store .npy or .safetensors"):
        opened_at(tmp_path / "t.npz")
