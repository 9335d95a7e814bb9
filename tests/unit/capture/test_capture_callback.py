"""`CaptureCallback`: the batches of a training that goes on."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow.parquet as pq
import pytest
from capture_runs import LOOP, STUB

from sftui.errors import ExportError
from sftui.hf import CaptureCallback

ZERO = SimpleNamespace(is_world_process_zero=True)


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[dict[str, Any]]:
    """What LOOP defines, over the stand-in for torch, in this process."""
    names: dict[str, Any] = {}
    monkeypatch.setattr(sys, "argv", ["train.py", str(tmp_path / "marker")])
    monkeypatch.syspath_prepend(STUB)
    exec(LOOP, names)
    yield names
    for name in [name for name in sys.modules if name.partition(".")[0] == "torch"]:
        del sys.modules[name]


def train(loop: dict[str, Any], callback: CaptureCallback, state: Any = ZERO) -> None:
    callback.on_train_begin(None, state, None)
    for batch in loop["loader"]:
        loop["model"](**batch).backward()
        loop["optimizer"].step()
    callback.on_train_end(None, state, None)


def test_each_batch_is_the_models_and_the_training_goes_on(loop: dict[str, Any], tmp_path: Path) -> None:
    before = loop["torch"].nn.Module.__call__
    train(loop, CaptureCallback(tmp_path / "b.parquet", 4))
    table = pq.read_table(tmp_path / "b.parquet")
    assert table["captured_from"].to_pylist() == ["model"] * 8
    assert [row[0] for row in table["input_ids"].to_pylist()] == [10, 20, 30, 40, 50, 60, 70, 80]
    assert (tmp_path / "b.parquet").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "marker").read_text() == "step\n" * 6
    assert loop["torch"].nn.Module.__call__ is before


def test_fewer_batches_than_asked_for_are_written_at_the_end(loop: dict[str, Any], tmp_path: Path) -> None:
    train(loop, CaptureCallback(tmp_path / "b.parquet", 50, clip=3))
    table = pq.read_table(tmp_path / "b.parquet")
    assert len(table) == 12 and table["length"].to_pylist() == [4] * 12
    assert (tmp_path / "marker").read_text() == "step\n" * 6


def test_other_ranks_write_nothing(loop: dict[str, Any], tmp_path: Path) -> None:
    train(loop, CaptureCallback(tmp_path / "b.parquet"), SimpleNamespace(is_world_process_zero=False))
    assert not (tmp_path / "b.parquet").exists()


def test_a_recorder_that_fails_leaves_the_training_alone(loop: dict[str, Any], tmp_path: Path) -> None:
    loop["torch"].Tensor.detach = None
    with pytest.warns(UserWarning, match="sftui: no batch was captured"):
        train(loop, CaptureCallback(tmp_path / "b.parquet", 2))
    assert (tmp_path / "marker").read_text() == "step\n" * 6


def test_what_cannot_be_written_is_told_before_anything_is_trained(tmp_path: Path) -> None:
    (tmp_path / "b.parquet").write_text("mine")
    with pytest.raises(ExportError, match=r"already exists; pass overwrite=True"):
        CaptureCallback(tmp_path / "b.parquet")
    with pytest.raises(ExportError, match=r"name it OUT\.parquet"):
        CaptureCallback(tmp_path / "b.jsonl")
    with pytest.raises(ExportError, match="must be 1 or more"):
        CaptureCallback(tmp_path / "c.parquet", 0)
    assert CaptureCallback(tmp_path / "b.parquet", overwrite=True).batches == 8
