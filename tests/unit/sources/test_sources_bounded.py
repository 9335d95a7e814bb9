"""Files that unfold into far more than they hold: a row is read within the bound, or says why it is not."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

LENGTHS = """
from sftui import bound
from sftui.sources import SourceSpec, open_source
bound.enter(bound.anonymous_page())
source = open_source(SourceSpec((sys.argv[1],)))
print([len((source.row(n).data or {}).get("text", "")) for n in (1, 0, 700, 2)])
"""
SMALL = """
from sftui import bound
from sftui.sources import SourceSpec, open_source
bound.MEMORY = 1 << 20
bound.enter(bound.anonymous_page())
row = open_source(SourceSpec((sys.argv[1],))).row(1)
print(row.data is None, row.problem)
"""
HELD = "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"


def in_a_process_of_its_own(script: str, path: Path) -> tuple[str, int]:
    """What the script says, and the most bytes its process ever held; a fork would hold what the tests do, too."""
    whole = f"import sys\n{script}\n{HELD}"
    told = subprocess.run([sys.executable, "-c", whole, str(path)], capture_output=True, text=True, timeout=300)
    assert told.returncode == 0, told.stderr
    *said, held = told.stdout.splitlines()
    return "\n".join(said), int(held) * 1024


@pytest.fixture
def bomb(tmp_path: Path) -> Callable[[int, int], Path]:
    """A Parquet file of a few hundred bytes: so many rows of one text of so many characters."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    def made(rows: int, characters: int) -> Path:
        texts = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array(["x" * characters]))
        path = tmp_path / "bomb.parquet"
        pq.write_table(pa.table({"text": texts}), path, compression="zstd", store_schema=False, use_dictionary=True)
        assert path.stat().st_size < 100_000
        return path

    return made


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="memory is limited on Linux alone")
def test_rows_of_a_dictionary_bomb_are_read_a_few_at_a_time(bomb: Callable[[int, int], Path]) -> None:
    path = bomb(20_000, 1_000_000)  # 20 GB of rows; 1,024 of them were decoded at once

    said, most = in_a_process_of_its_own(LENGTHS, path)
    assert said == str([1_000_000] * 4)
    assert most < 800 << 20


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="memory is limited on Linux alone")
def test_a_single_row_beyond_the_bound_says_so(bomb: Callable[[int, int], Path]) -> None:
    said, _ = in_a_process_of_its_own(SMALL, bomb(3, 5_000_000))
    assert said == "True bomb.parquet row 1 needs more than 1 MB of memory"
