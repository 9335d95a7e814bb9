"""Memory stays flat whatever the size: measured in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

MEASURE = """
import sys, psutil
from sftui.sources import SourceSpec, open_source
import sftui.sources.json_array, sftui.sources.jsonl
if sys.argv[1].endswith("parquet"):
    import pyarrow.parquet
process = psutil.Process()
before = process.memory_info().rss
source = open_source(SourceSpec((sys.argv[1],)))
peak = 0
while True:
    done = source.index_more(0.02)
    peak = max(peak, process.memory_info().rss)
    if done:
        break
last = source.row(source.count().rows - 1)
assert last.problem is None, last.problem
peak = max(peak, process.memory_info().rss)
print(source.count().rows, (peak - before) >> 20)
"""


def measure(path: Path) -> tuple[int, int]:
    """Rows, and how many MB the process grew at most."""
    result = subprocess.run([sys.executable, "-c", MEASURE, str(path)], capture_output=True, text=True, check=True)
    rows, grown = result.stdout.split()
    return int(rows), int(grown)


def test_many_lines(tmp_path: Path) -> None:
    with (tmp_path / "t.jsonl").open("wb") as file:
        for _ in range(100):
            file.write(b'{"text": "%s"}\n' % (b"x" * 100) * 5_000)
    rows, grown = measure(tmp_path / "t.jsonl")
    assert rows == 500_000
    assert grown < 16  # 4 MB of offsets


@pytest.mark.parametrize("name", ["t.jsonl", "t.json"])
def test_a_100_mb_line(tmp_path: Path, name: str) -> None:
    array = name == "t.json"
    with (tmp_path / name).open("wb") as file:
        file.write(b"[{}," if array else b"{}\n")
        file.write(b'{"a": "')
        for _ in range(100):
            file.write(b'some \\"text\\"\\n and more of it, ' * 30_000)
        file.write(b'"},{}]' if array else b'"}\n{}\n')
    rows, grown = measure(tmp_path / name)
    assert rows == 3
    assert grown < 24


def test_a_large_parquet_row_group(tmp_path: Path) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    random = np.random.default_rng(0)
    texts = [random.bytes(250).hex() for _ in range(20_000)]
    table = pa.table({"n": pa.array(range(200_000)), "text": pa.array(texts * 10)})
    pq.write_table(table, tmp_path / "t.parquet", use_dictionary=False, compression="none")
    assert pq.ParquetFile(tmp_path / "t.parquet").num_row_groups == 1
    rows, grown = measure(tmp_path / "t.parquet")
    assert rows == 200_000
    assert grown < 60
