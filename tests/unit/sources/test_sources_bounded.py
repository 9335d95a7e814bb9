"""Files that unfold into far more than they hold: a row is read within the bound, or says why it is not."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from sftui import bound
from sftui.sources import SourceSpec, open_source


def in_a_bounded_child(work: Callable[[], str]) -> tuple[str, int]:
    """What the work says, and the most bytes its process ever held."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        said = "nothing"
        try:
            bound.enter(bound.anonymous_page())
            said = work()
        except BaseException as error:
            said = f"raised {error!r}"
        finally:
            os.write(write, said.encode()[:60_000])
            os._exit(0)
    os.close(write)
    with os.fdopen(read, encoding="utf-8") as pipe:
        told = pipe.read()
    return told, os.wait4(child, 0)[2].ru_maxrss * 1024


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

    def work() -> str:
        source = open_source(SourceSpec((str(path),)))
        return str([len((source.row(n).data or {}).get("text", "")) for n in (1, 0, 700, 2)])

    said, most = in_a_bounded_child(work)
    assert said == str([1_000_000] * 4)
    assert most < 800 << 20


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="memory is limited on Linux alone")
def test_a_single_row_beyond_the_bound_says_so(
    bomb: Callable[[int, int], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = bomb(3, 5_000_000)
    monkeypatch.setattr(bound, "MEMORY", 1 << 20)

    def work() -> str:
        row = open_source(SourceSpec((str(path),))).row(1)
        return f"{row.data is None} {row.problem}"

    said, _ = in_a_bounded_child(work)
    assert said == "True bomb.parquet row 1 needs more than 1 MB of memory"
