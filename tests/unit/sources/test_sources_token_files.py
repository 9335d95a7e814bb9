"""Ids end to end with an index beside them: Megatron's .bin/.idx, datatrove's .ds."""

from __future__ import annotations

import struct
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from array_rows import rows

from sftui.errors import SourceError
from sftui.sources import SourceSpec, open_source

RECORDED = Path(__file__).parents[2] / "golden" / "sources"
DOCUMENTS = [[5, 6, 7], [8], [], [9, 65000, 11, 12]]


def megatron(stem: Path, documents: list[list[int]], dtype: str = "<u2", code: int = 8) -> Path:
    """As Megatron-Core's IndexedDatasetBuilder writes it, a document a sequence."""
    ids = [np.array(one, dtype) for one in documents]
    stem.with_suffix(".bin").write_bytes(b"".join(one.tobytes() for one in ids))
    lengths = [len(one) for one in documents]
    places = [0, *accumulate(one.nbytes for one in ids)][:-1]
    head = b"MMIDIDX\x00\x00" + struct.pack("<QBQQ", 1, code, len(ids), len(ids) + 1)
    index = np.array(lengths, "<i4").tobytes() + np.array(places, "<i8").tobytes()
    stem.with_suffix(".idx").write_bytes(head + index + np.arange(len(ids) + 1, dtype="<i8").tobytes())
    return stem.with_suffix(".bin")


def datatrove(path: Path, documents: list[list[int]], size: str = "H", masks: list[list[int]] | None = None) -> Path:
    """As datatrove's TokenizedFile writes it."""
    path.write_bytes(b"".join(struct.pack(f"<{len(one)}{size}", *one) for one in documents))
    ends = [*accumulate(map(len, documents))]
    Path(f"{path}.index").write_bytes(struct.pack(f"<{len(ends)}Q", *ends))
    if masks is not None:
        Path(f"{path}.loss").write_bytes(b"".join(struct.pack(f"<{len(one)}?", *one) for one in masks))
    return path


@pytest.mark.parametrize(("dtype", "code"), [("<u2", 8), ("<i4", 4), ("<i8", 5)])
@pytest.mark.parametrize("ending", [".bin", ".idx"])
def test_megatron(tmp_path: Path, dtype: str, code: int, ending: str) -> None:
    path = megatron(tmp_path / "text_document", DOCUMENTS, dtype, code)
    assert rows(path.with_suffix(ending)) == [{"input_ids": one} for one in DOCUMENTS]


@pytest.mark.parametrize("name", ["uint16", "int32", "int64", "modes"])
def test_what_megatron_wrote(name: str) -> None:
    """Files of Megatron-Core 0.16.1 (tests/parity/record_megatron_files.py): a sequence is a row, as GPTDataset takes
    them, whatever documents they are of."""
    made = rows(RECORDED / f"megatron_{name}.bin")
    assert made == [{"input_ids": one} for one in ([5, 6, 7], [8], [9, 32000, 11, 12], [13, 14], [15], [16, 17, 18])]


@pytest.mark.parametrize("size", ["H", "I"])
def test_datatrove(tmp_path: Path, size: str) -> None:
    assert rows(datatrove(tmp_path / "0.ds", DOCUMENTS, size)) == [{"input_ids": one} for one in DOCUMENTS]


def test_the_loss_mask_of_datatrove(tmp_path: Path) -> None:
    masks = [[0, 1, 1], [1], [], [0, 0, 1, 1]]
    made = rows(datatrove(tmp_path / "0.ds", DOCUMENTS, masks=masks))
    assert made == [{"input_ids": ids, "loss_mask": mask} for ids, mask in zip(DOCUMENTS, masks)]


def test_a_row_alone_is_read(tmp_path: Path) -> None:
    source = open_source(SourceSpec((str(megatron(tmp_path / "d", DOCUMENTS)),)))
    row = source.row(3)
    assert row.data == {"input_ids": DOCUMENTS[3]} and row.where == "d.bin row 3" and row.size == 8
    source.close()


@pytest.mark.parametrize(
    ("made", "bend", "told"),
    [
        (
            megatron,
            lambda path: path.with_suffix(".idx").write_bytes(b"other"),
            "does not begin with Megatron's header",
        ),
        (megatron, lambda path: path.unlink(), "has no tokens"),
        (datatrove, lambda path: Path(f"{path}.index").unlink(), "0.index is missing next to it"),
        (datatrove, lambda path: Path(f"{path}.index").write_bytes(b"123"), "no 64-bit document ends"),
        (datatrove, lambda path: path.write_bytes(b"\x00" * 9), "it has 9 bytes, but its documents end at token 8"),
    ],
)
def test_what_does_not_fit_is_told(tmp_path: Path, made: Any, bend: Any, told: str) -> None:
    path = made(tmp_path / ("0.ds" if made is datatrove else "0"), DOCUMENTS)
    bend(path)
    opened = path if path.exists() else path.with_suffix(".idx")
    with pytest.raises(SourceError) as refused:
        rows(opened)
    assert told.replace("0.index", "0.ds.index") in str(refused.value)


def test_places_behind_the_end_are_problems_of_their_rows(tmp_path: Path) -> None:
    path = megatron(tmp_path / "d", DOCUMENTS)
    path.write_bytes(path.read_bytes()[:-2])
    *whole, last = rows(path)
    assert whole == [{"input_ids": one} for one in DOCUMENTS[:3]] and "points past the end" in last


def test_a_row_over_the_limit_is_told(tmp_path: Path) -> None:
    assert "over the limit of 4 per row" in rows(datatrove(tmp_path / "0.ds", DOCUMENTS), row_limit=4)[3]


def test_another_bin_file_is_none_of_them(tmp_path: Path) -> None:
    (tmp_path / "rows.bin").write_text('{"text": "a"}\n{"text": "b"}\n')
    source = open_source(SourceSpec((str(tmp_path / "rows.bin"),)))
    assert source.kind == "jsonl" and source.row(1).data == {"text": "b"}
    source.close()
