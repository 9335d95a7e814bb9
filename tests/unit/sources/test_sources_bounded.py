"""Files that hold more than is to be in memory at once: a row is read within the bound, or says why it is not."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="memory is limited on Linux alone")

LENGTHS = """
import sys
from sftui import bound
from sftui.sources import SourceSpec, open_source
bound.MEMORY //= 40
bound.enter(bound.anonymous_page())
source = open_source(SourceSpec((sys.argv[1],)))
print([len((source.row(n).data or {}).get("text", "")) for n in (1, 0, 250, 2)], source._batch_rows)
"""
SMALL = """
import sys
from sftui import bound
from sftui.sources import SourceSpec, open_source
bound.MEMORY //= 400
bound.enter(bound.anonymous_page())
row = open_source(SourceSpec((sys.argv[1],))).row(1)
print(row.data is None, row.problem)
"""


def in_a_process_of_its_own(script: str, path: Path) -> str:
    """What the script says; a fork would hold what the tests do, too."""
    told = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, timeout=300)
    assert told.returncode == 0, told.stderr
    return told.stdout.strip()


@pytest.fixture
def repeated(tmp_path: Path) -> Callable[[int, int], Path]:
    """A Parquet file of so many rows of one text of so many characters, which stands in it once."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    def made(rows: int, characters: int) -> Path:
        texts = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array(["x" * characters]))
        path = tmp_path / "repeated.parquet"
        pq.write_table(pa.table({"text": texts}), path, compression="zstd", store_schema=False, use_dictionary=True)
        return path

    return made


def test_rows_that_a_dictionary_repeats_are_read_a_few_at_a_time(repeated: Callable[[int, int], Path]) -> None:
    """300 rows of 100 kB, which were decoded together, where a piece of work may take 10 MB."""
    lengths, _, together = in_a_process_of_its_own(LENGTHS, repeated(300, 100_000)).rpartition(" ")
    assert lengths == str([100_000] * 4)
    assert int(together) < 100


def test_a_single_row_beyond_the_bound_says_so(repeated: Callable[[int, int], Path]) -> None:
    said = in_a_process_of_its_own(SMALL, repeated(3, 5_000_000))
    assert said == "True repeated.parquet row 1 needs more than 1 MB of memory"
