"""`--where`: the same rows from every command and from Python, under their own numbers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from row_files import chat

import sftui as api
from sftui.audit.found import Filter as AuditFilter
from sftui.errors import ExportError, RecipeError
from sftui.session.checking import AuditSession
from sftui.session.marks import Mark, RowMarks
from sftui.session.options import OpenOptions
from sftui.workspace.marks import MarksFile

TOK = ("-t", "builtin:chatml")
EXPRESSIONS = [
    ("len(messages) > 2", [1, 4, 5]),
    ('roles[-1] == "user" or "Long" in text', [1, 4]),
    ("trained_tokens > 0 and turns > 2", [4, 5]),
    ("dropped", [1]),
    ('"score" in data and score > 1', [5]),
    ('finding("ROW")', [2]),
    ("row % 2 == 1", [1, 3, 5]),
    ('marked == "keep" or marked == "drop"', [0, 3]),
    ('marked == "none" and turns > 0', [1, 5]),
]


MARKS = {0: Mark("keep"), 2: Mark(note="unreadable"), 3: Mark("drop", "dull"), 4: Mark("flag")}


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Fine; dropped; unreadable; fine; long; with a score. Some are marked in the inspector."""
    asked, answered = ("user", "Hello?"), ("assistant", "Hi.")
    made = [
        json.dumps(chat(asked, answered)),
        json.dumps(chat(asked, answered, ("user", "And?"))),
        '{"messages": [',
        json.dumps(chat(asked, answered)),
        json.dumps(chat(asked, answered, ("user", "Long?"), ("assistant", "Long. " * 9))),
        json.dumps({**chat(asked, answered, asked, ("assistant", "Bye.")), "score": 2}),
    ]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(line + "\n" for line in made))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    saved = MarksFile(OpenOptions((str(path),)))
    for row, mark in MARKS.items():
        saved.keep(row, mark)
    return path


@pytest.mark.parametrize(("text", "wanted"), EXPRESSIONS)
def test_every_command_takes_the_same_rows(
    sftui: Callable[..., Any], rows: Path, tmp_path: Path, text: str, wanted: list[int]
) -> None:
    said = f"{len(wanted)} of 6 rows match"
    encoded = sftui("encode", rows, *TOK, "-o", "-", "--where", text)
    assert [record["row"] for record in encoded.records()] == wanted
    checked = sftui("check", rows, *TOK, "--where", text, "--format", "json")
    found = json.loads(checked.out)
    assert found["rows"] == len(wanted) and found["complete"] is False and said in " ".join(found["notes"])
    assert {one["row"] for one in found["findings"] if one["row"] is not None} <= set(wanted)
    repaired = sftui("repair", rows, *TOK, "-o", tmp_path / "some.jsonl", "--where", text)
    lines = rows.read_bytes().splitlines(keepends=True)
    assert (tmp_path / "some.jsonl").read_bytes() == b"".join(lines[row] for row in wanted)
    compared = sftui("compare", rows, *TOK, "--where", text, "--with", "mask.rule=all", "--show", 9, "--format", "json")
    one = json.loads(compared.out)
    assert one["rows"] == len(wanted) and {found["row"] for found in one["first"]} <= set(wanted)
    assert [done.err.count(said) for done in (encoded, checked, repaired, compared)] == [1, 1, 1, 1]
    shown, start = [], 0
    while (done := sftui("show", rows, *TOK, "--row", start, "--where", text, "--format", "json")).out:
        shown.append(json.loads(done.out)["row"])
        start = shown[-1] + 1
    assert shown == wanted and f"no row matches from row {start} on" in done.err and done.code == 2
    with api.open(str(rows), tokenizer="builtin:chatml", where=text) as data:
        assert [row.index for row in data] == wanted == [data[at].index for at in range(len(data))]
        assert data[-1].index == wanted[-1] and any(said in note for note in data.notes)
        assert [record["row"] for record in data.encode().records()] == wanted
        with pytest.raises(IndexError):
            data[len(wanted)]
        assert data.check().figures.rows == len(wanted)


def test_what_is_written_is_encoded_and_checked_as_the_rows_were(
    sftui: Callable[..., Any], rows: Path, tmp_path: Path
) -> None:
    """Rows that are left out are as if they were not there: also for packs and what evaluates."""
    where, some = ("--where", "turns == 2 or turns == 4"), tmp_path / "some.jsonl"
    sftui("repair", rows, *TOK, "-o", some, *where)
    packed = (*TOK, "--trainer", "trl", "--set", "pack.strategy=bfd", "--max-length", "64", "-o", "-")
    for form in ((*TOK, "-o", "-"), packed):
        chosen, alone = (sftui("encode", data, *form, *more).records() for data, more in ((rows, where), (some, ())))
        assert [one["input_ids"] for one in chosen] == [one["input_ids"] for one in alone] and len(alone) > 1


def test_convert_writes_the_rows_that_match(sftui: Callable[..., Any], tmp_path: Path) -> None:
    turns = [{"from": "human", "value": "Hello?"}, {"from": "gpt", "value": "Hi."}]
    data, out = tmp_path / "turns.jsonl", tmp_path / "out.jsonl"
    data.write_text("".join(json.dumps({"conversations": turns * n, "n": n}) + "\n" for n in (1, 2, 1)))
    done = sftui("convert", data, *TOK, "--for", "trl", "-o", out, "--where", '"gpt" in roles and turns == 2')
    assert "2 of 3 rows match" in done.err and done.code == 0
    assert [json.loads(line)["n"] for line in out.read_text().splitlines()] == [1, 1]


def test_export_judges_the_rows_that_match_and_says_that_files_read_all(
    sftui: Callable[..., Any], rows: Path, tmp_path: Path
) -> None:
    words = ("export", rows, *TOK, "--trainer", "trl", "--to", "trl", "-o", tmp_path / "config", "--where")
    none = sftui(*words, "row == 2")
    assert none.code == 1 and "nothing was written" in none.err and not (tmp_path / "config").exists()
    some = sftui(*words, "turns == 2")
    assert some.code == 0 and "the exported files use all rows" in some.err and (tmp_path / "config").exists()
    other = sftui("export", rows, *TOK, "--to", "axolotl", "-o", tmp_path / "other", "--where", "turns == 2")
    assert "2 of 6 rows match" in other.err


def test_marks_are_those_of_a_file_and_data_that_changed_since_says_so(
    sftui: Callable[..., Any], rows: Path, tmp_path: Path
) -> None:
    where = ("-o", "-", "--where", 'marked == "keep"')
    own = tmp_path / "own.jsonl"
    own.write_text(RowMarks({5: Mark("keep"), 1: Mark("keep")}).to_text())
    assert [one["row"] for one in sftui("encode", rows, *TOK, "--edits", own, *where).records()] == [1, 5]
    assert "changed" not in sftui("encode", rows, *TOK, *where).err
    with rows.open("a") as file:
        file.write(json.dumps(chat(("user", "More?"), ("assistant", "No."))) + "\n")
    done = sftui("encode", rows, *TOK, *where)
    assert [one["row"] for one in done.records()] == [0]
    assert "the data changed after its rows were marked" in done.err
    with pytest.raises(ExportError, match="data without a name"):
        api.open([chat(("user", "Hi?"), ("assistant", "Hi."))], tokenizer="builtin:chatml", where='marked == "keep"')


def test_a_sample_is_taken_before_rows_are_left_out(sftui: Callable[..., Any], rows: Path) -> None:
    found = sftui("check", rows, *TOK, "--max-rows", "2", "--where", "turns > 2", "--format", "json")
    assert json.loads(found.out)["rows"] == 1 and "1 of 2 rows match" in found.err


def test_rows_without_the_key_are_counted_once(sftui: Callable[..., Any], rows: Path) -> None:
    done = sftui("check", rows, *TOK, "--where", "score > 1")
    assert done.err.count("1 of 6 rows match; no match in 4 rows: no key `score`; no match in 1 row: the row") == 1


def test_what_is_no_expression_for_this_data_is_one_sentence(sftui: Callable[..., Any], rows: Path) -> None:
    for text, why in (("len(mesages) > 2", "did you mean `messages`?"), ("9**9", "may not contain `**`")):
        done = sftui("encode", rows, *TOK, "-o", "-", "--where", text)
        assert done.code == 2 and done.out == "" and why in done.err and len(done.err.splitlines()) == 1
    opened = sftui(rows, *TOK, "--where", "9**9")
    assert opened.code == 2 and "may not contain `**`" in opened.err
    with pytest.raises(RecipeError, match="did you mean `messages`"):
        api.open(str(rows), tokenizer="builtin:chatml", where="len(mesages) > 2")


def test_keys_need_no_tokenizer_and_tokens_do(sftui: Callable[..., Any], rows: Path) -> None:
    done = sftui("repair", rows, "--dry-run", "--where", "len(messages) > 2")
    assert done.code == 0 and "3 of 3 rows would be written" in done.err
    done = sftui("repair", rows, "--dry-run", "--where", "tokens > 2")
    assert done.code == 2 and "tokenizer" in done.err


def test_what_cannot_be_filtered_says_so(sftui: Callable[..., Any], rows: Path) -> None:
    done = sftui("compare", rows, *TOK, "--against", rows, "--where", "row > 1")
    assert done.code == 2 and "rows cannot be filtered here, because --against looks up every sequence" in done.err
    done = sftui("check", rows, *TOK, "--fix", "--where", "row > 1")
    assert done.code == 2 and "rows cannot be filtered here, because --fix changes the whole dataset" in done.err


def test_several_processes_check_the_same_rows(sftui: Callable[..., Any], tmp_path: Path) -> None:
    data = tmp_path / "many.jsonl"
    made = (chat(("user", f"{n}?"), ("assistant", "" if n % 5 else f"{n}.")) for n in range(1_200))
    data.write_text("".join(json.dumps(row) + "\n" for row in made))
    words = ("check", data, *TOK, "--where", "row % 3 == 0 and trained_tokens > 2", "--format", "json", "--jobs")
    one, two = (json.loads(sftui(*words, jobs).out) for jobs in (1, 2))
    assert one == two and one["rows"] == 80


def test_an_audit_of_some_rows_is_not_saved_to_be_resumed_by_one_of_others(rows: Path) -> None:
    for where, resumable in ((None, True), ("row > 2", False)):
        with api.open(str(rows), tokenizer="builtin:chatml", where=where) as data, data._using() as ready:
            assert AuditSession(ready, AuditFilter()).resumable is resumable


def test_facets_count_values_and_say_the_filter_that_lists_their_rows(sftui: Callable[..., Any], rows: Path) -> None:
    done = sftui("facets", rows, *TOK, "--of", "outcome", "--format", "json")
    found = json.loads(done.out)
    assert {one["value"]: one["rows"] for one in found["values"]} == {"trained": 4, "dropped": 1, "failed": 1}
    for one in found["values"]:
        assert f"{one['rows']} of 6 rows match" in sftui("encode", rows, *TOK, "-o", "-", "--where", one["where"]).err
    told = sftui("facets", rows, "--of", "turns", "--where", "row < 5", "--top", "1")
    assert told.out.splitlines() == ["        2  40 % ████████████ 2", "… and 2 more values (--top N prints more)"]
    assert "no value in 1 row: the row cannot be read" in told.err and told.code == 0
    assert sftui("facets", rows, "--of", "outcome").code == 2, "tokens need a tokenizer"
