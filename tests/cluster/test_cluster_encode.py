"""`encode` on Ray writes what it writes here."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import cluster_data as data
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from test_cluster_check import workers

from sftui.engines.checking import elsewhere, write_rows
from sftui.engines.cluster import Cluster
from sftui.errors import ExportError
from sftui.exports.parquet import joined, part_of
from sftui.session.encoding import EncodeProgress, columns_of, encoded
from sftui.session.ready import Ready

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("small_pieces")]


def here(session: Ready, form: str, **more: Any) -> tuple[bytes, EncodeProgress]:
    """The file that the local engine writes, and what it counts."""
    file, written = BytesIO(), EncodeProgress()
    columns = columns_of(session, more.get("explain", False), unpacked=True)
    with joined(form, file, columns) as add:
        add(part_of(form, encoded(session, written, **more), columns))
    return file.getvalue(), written


def table(made: bytes) -> pa.Table:
    return pq.read_table(BytesIO(made))


def test_lines_to_the_byte_and_tables_to_the_value_also_where_workers_are_killed(ray: Cluster, tmp_path: Path) -> None:
    rows = data.write(tmp_path / "t.jsonl", 2000)
    session = data.opened(rows, trainer="hf-trainer", length__max=60, length__over="drop")
    for form, explain in (("jsonl", False), ("parquet", True)):
        file, written = BytesIO(), EncodeProgress()
        killed: list[psutil.Process] = []

        def kill_one(written: EncodeProgress = written, killed: list[psutil.Process] = killed) -> None:
            if written.rows > 300 and not killed:
                killed.extend(workers()[:1])
                killed[0].kill()

        write_rows(session, file, form, written, explain=explain, passed=kill_one)
        whole, counted = here(session, form, explain=explain)
        assert killed and written == counted and counted.dropped and counted.failed
        if form == "jsonl":
            assert file.getvalue() == whole
        else:
            assert table(file.getvalue()).equals(table(whole), check_metadata=True)


@pytest.mark.parametrize("trainer", ["trl", "axolotl"])
def test_packs(ray: Cluster, tmp_path: Path, trainer: str) -> None:
    strategy = {"trl": "bfd", "axolotl": "multipack"}[trainer]
    rows = data.write(tmp_path / "t.jsonl", 600)
    session = data.opened(rows, trainer=trainer, pack__strategy=strategy, length__max=128)
    here_made, there_made = EncodeProgress(), EncodeProgress()
    local = [json.dumps(one) for one in encoded(session, here_made, explain=True)]
    with elsewhere(session) as working:
        assert [json.dumps(one) for one in encoded(working, there_made, explain=True)] == local
    assert here_made == there_made and here_made.packs > 10


def test_where_no_row_can_be_prepared_nothing_is_written(ray: Cluster, tmp_path: Path) -> None:
    template = tmp_path / "t.jinja"
    template.write_text("{{ spin() }}")
    (tmp_path / "t.jsonl").write_text("\n".join(data.rows(4)))
    session = data.opened(tmp_path / "t.jsonl", trainer="hf-trainer", render__template=f"file:{template}")
    with pytest.raises(ExportError, match="none of the rows could be prepared, because sftui stopped at row 0"):
        write_rows(session, BytesIO(), "jsonl", EncodeProgress())
