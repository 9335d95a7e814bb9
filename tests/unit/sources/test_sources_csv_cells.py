"""What a CSV cell holds and pandas reads as something else, cell by cell."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from sftui.cli import main
from sftui.errors import SourceError
from sftui.sources.formats import csv_file
from sftui.sources.opening import open_source
from sftui.sources.source import SourceSpec

WORDS = ("None", "NA", "N/A", "null", "NULL", "nan", "NaN", "n/a", "#N/A", "<NA>", "#NA", "-nan", "1.#QNAN")


def cells(path: Path, text: str) -> list[dict[str, str]]:
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    source = open_source(SourceSpec((str(path),)))
    try:
        return [dict(row.cells) for row in source.rows()]
    finally:
        source.close()


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("quote", ["", '"'])
def test_a_word_that_pandas_takes_for_nothing_is_kept(word: str, quote: str, tmp_path: Path) -> None:
    found = cells(tmp_path / "d.csv", f"prompt,completion\nhi,{quote}{word}{quote}\nx,\ny,none\nz,fine\n")
    assert found == [{"completion": word}, {}, {}, {}]


@pytest.mark.parametrize(
    ("column", "found"),
    [
        (["007", "", "12"], ["007", None, "12"]),  # floats, because of the empty one
        (["007", "12", "3"], ["007", None, None]),
        (["1e5", "2.50", "0.5"], ["1e5", "2.50", None]),
        (["True", "false", "TRUE"], [None, "false", "TRUE"]),
        (["true", "a", "None"], [None, None, "None"]),
        (["12345678901234567890", "1", "2"], [None, None, None]),
        (["+5", "1_0", "x"], [None, None, None]),
        (["-0", "NA", "7.0"], ["-0", "NA", None]),
    ],
)
def test_numbers_and_booleans_are_kept_as_they_stand(
    column: list[str], found: list[str | None], tmp_path: Path
) -> None:
    text = "prompt,completion\n" + "".join(f"p,{one}\n" for one in column)
    assert [one.get("completion") for one in cells(tmp_path / "d.csv", text)] == found
    read = pd.read_csv(tmp_path / "d.csv")["completion"]
    for value, one, told in zip(read, column, found):
        same = one == "" if pd.isna(value) else str(value) == one
        assert same is (told is None), "what pandas reads, it says"


def test_each_chunk_and_each_file_has_its_own(tmp_path: Path) -> None:
    rows = ["fine"] * 10_000 + ["NA"] + ["fine"] * 5
    found = cells(tmp_path / "d.csv", "id,text\n" + "".join(f"{i},{one}\n" for i, one in enumerate(rows)))
    assert [i for i, one in enumerate(found) if one] == [10_000]
    assert cells(tmp_path / "d.csv.gz", 'text\n"NA"\nx\n')[0] == {"text": "NA"}
    assert cells(tmp_path / "d.tsv", "text\tid\nnull\t01\n\n x \t2\n") == [{"text": "null", "id": "01"}, {}]


def run(*words: str, capsys: Any) -> tuple[int, str]:
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    return int(ended.value.code or 0), " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("trainer", ["trl", "axolotl", "llamafactory", "hf-trainer"])
def test_check_quotes_the_word_and_its_cell(trainer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    alpaca = trainer not in ("trl", "hf-trainer")
    names = "instruction,output" if alpaca else "prompt,completion"
    path = tmp_path / "d.csv"
    path.write_text(f"id,note,{names}\n007,NA,hi,fine\n8,x,ho,None\n")
    code, out = run("check", str(path), "-t", "builtin:chatml", "--trainer", trainer, capsys=capsys)
    column = names.partition(",")[2]
    assert code == 1 and "ROW018" in out
    assert f"`{column}` contains `None` in the file, which pandas reads as an empty cell (null)" in out
    assert "`007`" not in out and "`NA`" not in out, "other columns are none of the trainer's"


def test_a_file_of_plain_texts_has_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "d.csv"
    path.write_text('prompt,completion\nhi,fine\n"a,b","c ""d"""\nho, none\n')
    _, out = run("check", str(path), "-t", "builtin:chatml", "--trainer", "trl", capsys=capsys)
    assert "ROW018" not in out


def test_a_file_of_too_many_columns_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_file, "COLUMNS", csv_file.COLUMNS // 2_500)
    assert cells(tmp_path / "d.csv", "a,b,c,d\n1,2,3,4\n") == [{}]
    with pytest.raises(SourceError, match="header has more than 4 columns"):
        cells(tmp_path / "e.csv", "a,b,c,d,e\n1,2,3,4,5\n")
