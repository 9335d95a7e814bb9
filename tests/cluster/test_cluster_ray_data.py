"""`sftui.ray` in Ray Data: batches in whatever order come to what the local engine says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import cluster_data as data
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sftui.audit.figures import Figures
from sftui.engines.cluster import Cluster
from sftui.errors import SftuiError

pytestmark = pytest.mark.cluster
OPENING: dict[str, Any] = {"tokenizer": "builtin:chatml", "trainer": "trl"}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Rows in Parquet, in several groups."""
    session = data.opened(data.write(tmp_path / "t.jsonl", 700))
    read = [row.data["messages"] for row in session.rows() if row.data is not None]
    pq.write_table(pa.table({"messages": read}), tmp_path / "t.parquet", row_group_size=100)
    return tmp_path / "t.parquet"


def _without_files(figures: Figures) -> Figures:
    """Batches do not know which file their rows come from."""
    assert figures.loss is not None
    shares = tuple(one for one in figures.loss.shares if one.kind != "file")
    assert len(figures.loss.shares) == len(shares) + 1
    return replace(figures, sources=(), loss=replace(figures.loss, shares=shares))


def test_check_and_encode(ray: Cluster, table: Path) -> None:
    import sftui.ray

    whole = pq.read_table(table)
    numbered = whole.append_column("id", pa.array(range(whole.num_rows)))
    ds = ray.ray.data.from_arrow(numbered).repartition(8)
    setup = sftui.ray.setup(whole.slice(0, 32).to_pylist(), **OPENING)
    more = {"batch_format": "pyarrow", "compute": ray.ray.data.ActorPoolStrategy(size=1), "batch_size": 90}
    checked = ds.map_batches(sftui.ray.Check, fn_constructor_args=(setup, "id"), **more).materialize()
    rows = checked.take_all()
    assert sum(row["rows"] for row in rows) == whole.num_rows and len(rows) > 4
    with sftui.open(str(table), **OPENING) as opened:
        local, encoded = opened.check(), opened.encode().to_arrow()
    for found in (sftui.ray.report(checked, setup), sftui.ray.report([*rows[3:], *rows], setup)):
        assert _without_files(found.figures) == _without_files(local.figures)
        assert found.findings == local.findings
    made = ds.map_batches(sftui.ray.Encode, fn_constructor_args=(setup, "id"), **more)
    assert pa.Table.from_pylist(made.sort("row").take_all(), encoded.schema).equals(encoded)


def test_rows_without_numbers(table: Path) -> None:
    import sftui.ray

    whole = pq.read_table(table)
    setup = sftui.ray.setup(whole.slice(0, 32).to_pylist(), **OPENING)
    check = sftui.ray.Check(setup)
    (row,) = check(whole.slice(0, 50)).to_pylist()
    assert row["rows"] == 50
    with pytest.raises(SftuiError, match="the rows have no numbers"):
        sftui.ray.report([row], setup)
    with pytest.raises(SftuiError, match="there is no column id; there are messages"):
        sftui.ray.Check(setup, "id")(whole)
