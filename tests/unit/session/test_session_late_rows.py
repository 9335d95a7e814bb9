"""What decides how a set is read may stand in any of its rows."""

from __future__ import annotations

import contextlib
import gzip
import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import sftui
from sftui.cli import main
from sftui.model import Inspection
from sftui.session.arguments import Arguments
from sftui.session.opened import AT_LEAST, MOST_LATE, late_rows
from sftui.session.ready import Ready, open_data, tokenized
from sftui.sources import SourceSpec, open_source
from sftui.sources.memory import source_in_memory

TOOL = {"type": "function", "function": {"name": "find", "parameters": {"type": "object", "properties": {}}}}
Rows = list[dict[str, Any]]


def chat(number: int) -> dict[str, Any]:
    return {
        "messages": [{"role": "user", "content": f"Ask {number}?"}, {"role": "assistant", "content": f"Say {number}."}]
    }


def alpaca(number: int) -> dict[str, Any]:
    return {"instruction": f"Ask {number}.", "output": f"Say {number}."}


def query(number: int) -> dict[str, Any]:
    return {"query": f"Ask {number}?", "response": f"Say {number}."}


def rows(make: Callable[[int], dict[str, Any]], late: Mapping[str, Any], before: int) -> Rows:
    return [*map(make, range(before)), {**make(before), **late}]


def write(path: Path, found: Sequence[Mapping[str, Any]]) -> Path:
    text = "".join(json.dumps(row) + "\n" for row in found)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@contextlib.contextmanager
def opened(path: Path, **asked: Any) -> Iterator[Ready]:
    options, _ = Arguments(data=(str(path),), tokenizer="builtin:chatml", **asked).options()
    with contextlib.closing(open_data(options)) as data:
        yield tokenized(data).ready()


def ids(found: Inspection) -> tuple[int, ...]:
    assert found.tokens is not None, found.problem
    return tuple(found.tokens.input_ids)


SWIFT = {"trainer": "ms-swift", "knobs": (("render.template", "ms-swift/qwen2_5"),)}
KINDS = [
    (SWIFT, chat, {"tools": [TOOL]}),
    (SWIFT, chat, {"system": "Be brief."}),
    (SWIFT, query, {"history": [["Before?", "Said."]]}),
    (SWIFT, alpaca, {"input": "More."}),
    ({"trainer": "trl"}, chat, {"tools": [TOOL]}),
    ({"trainer": "unsloth"}, chat, {"tools": [TOOL]}),
    ({"trainer": "llamafactory", "knobs": (("render.template", "llamafactory/qwen"),)}, alpaca, {"input": "More."}),
    ({"trainer": "hf-trainer"}, chat, {"tools": [TOOL]}),
]


@pytest.mark.parametrize("before", [31, 32, 33, 1000])
@pytest.mark.parametrize("asked, make, late", KINDS)
def test_a_late_column_is_read_as_an_early_one(
    asked: dict[str, Any], make: Callable[[int], dict[str, Any]], late: Mapping[str, Any], before: int, tmp_path: Path
) -> None:
    found = rows(make, late, before)
    early = write(tmp_path / "early.jsonl", [found[-1], *found[:-1]])
    with opened(write(tmp_path / "late.jsonl", found), **asked) as session, opened(early, **asked) as first:
        assert session.detected.fields == first.detected.fields
        assert ids(session.inspect(before)) == ids(first.inspect(0)) != ids(first.inspect(before))


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.jsonl.gz", "rows.json", "a folder", "a list", "a slice"])
def test_a_late_column_is_seen_in_every_kind_of_data(name: str, tmp_path: Path) -> None:
    found, path, asked = rows(chat, {"tools": [TOOL]}, 100), tmp_path / name, dict[str, Any](SWIFT)
    if name == "a folder":
        path.mkdir()
        write(path / "a.jsonl", found[:60])
        write(path / "b.jsonl", found[60:])
    elif name == "rows.json":
        path.write_text(json.dumps(found))
    elif name == "a slice":  # the loader takes columns from the whole split before it slices
        path = write(tmp_path / "rows.jsonl", found)
        asked |= {"split": "train[:50]"}
    elif name != "a list":
        write(path, found)
    if name == "a list":
        with sftui.open(found, tokenizer="builtin:chatml", trainer="ms-swift", set=dict(asked["knobs"])) as data:
            assert len(data[100].input_ids) > len(data[99].input_ids) + 20
        return
    with opened(path, **asked) as session:
        assert session.detected.fields["tools"] == "tools"


def test_a_late_column_of_a_later_parquet_file_is_seen(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    for name, some in (("a", [chat(0)] * 40), ("b", [{**chat(1), "enable_thinking": True}])):
        parquet.write_table(arrow.Table.from_pylist(some), tmp_path / f"{name}.parquet")
    with opened(tmp_path, trainer="verl") as session:
        assert session.detected.fields["enable_thinking"] == "enable_thinking"


def test_a_column_is_found_behind_what_types_are_taken_from(tmp_path: Path) -> None:
    """Behind 10 MB keys are found by their bytes, though a nested one had the name, and pads stand around it."""
    number = 110_000
    found = [{**chat(one), "meta": {"tools": [one], "system": "none"}} for one in range(number)]
    path = write(tmp_path / "rows.jsonl", found)
    with path.open("a") as file:
        file.write(json.dumps(chat(0)) + "\n")
        file.write('{"messages": [{"role": "user", "content": "a \\"tools\\": b"}], "meta": {}, "tools" \t: []}\n')
    assert path.stat().st_size > 12 << 20
    with opened(path, **SWIFT) as session:
        late = [row.index for row in session.sample if row.index >= 32]
        assert late == [number + 1]
        assert session.detected.fields["tools"] == "tools"


@pytest.mark.parametrize("separators", [(", ", ": "), (",", ":"), (" , ", " : ")])
def test_a_column_is_found_whatever_was_nested_before(separators: tuple[str, str]) -> None:
    """Rows of keys at random depths, and one in which a key that was only inside before stands outside."""
    from sftui.sources.keys import KeyScanner

    chance = random.Random(str(separators))
    names = ["a", "b", "tools", "content", "a_long_name_of_a_column", "a_long_nime_of_a_column", "ü"]

    def value(deep: int, some: Sequence[str]) -> Any:
        kind = chance.choice(["text", "number", "list", "dict", "dict"]) if deep < 4 else "text"
        if kind == "dict":
            return {name: value(deep + 1, some) for name in chance.sample(some, chance.randint(0, 2))}
        if kind == "list":
            return [value(deep + 1, some) for _ in range(chance.randint(0, 2))]
        return chance.choice(['"tools": 1', "}], ", "\\", ":", '"', ""]) if kind == "text" else chance.randint(0, 99)

    def line(row: Mapping[str, Any]) -> bytes:
        return json.dumps(row, separators=separators, ensure_ascii=False).encode() + b"\n"

    for _ in range(400):
        late, *columns = chance.sample(names, 4)
        rows = [{name: value(1, names) for name in chance.sample(columns, 2)} for _ in range(chance.randint(1, 60))]
        column = chance.choice(columns)
        last = {**{column: value(1, [one for one in names if one != late])}, late: value(1, names)}
        before, whole = b"".join(map(line, rows)), b"".join(map(line, [*rows, last]))
        scanner, at, found = KeyScanner(), 0, list[int]()
        scanner.watch({late})
        while at < len(whole):
            block = whole[at : at + chance.randint(300, 5000)]
            found += [at + place for place in scanner.feed(block)]
            at += len(block)
        assert any(place >= len(before) for place in found), (rows, last)


def test_only_rows_that_bring_something_are_kept(tmp_path: Path) -> None:
    same = write(tmp_path / "same.jsonl", [chat(number) for number in range(500)])
    with opened(same) as session:
        assert len(session.sample) == 32 and session.stored.whole
    ever = write(tmp_path / "ever.jsonl", [{"text": "a", f"c{number}": 1} for number in range(1000)])
    with opened(ever) as session:
        assert len(session.sample) == 32 + MOST_LATE


def test_rows_in_memory_behind_the_first_bytes_are_told_by_their_keys() -> None:
    found = rows(chat, {"tools": []}, 5000)
    source = source_in_memory(found, SourceSpec(()))
    assert [row.index for row in source.unlike(32, 0) if row is not None] == [32, 5000]


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[str, str]:
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    out, err = capsys.readouterr()
    assert not ended.value.code, err
    return out, err


def test_commands_decide_before_the_first_row_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "rows.jsonl", rows(chat, {"tools": [TOOL]}, 40))
    out, asked = tmp_path / "out.jsonl", ["-t", "builtin:chatml", "--trainer", "ms-swift"]
    asked += ["--set", "render.template=ms-swift/qwen2_5"]
    run(capsys, "encode", path, *asked, "-o", out)
    made = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(made[40]["input_ids"]) > len(made[39]["input_ids"]) + 20
    checked = [run(capsys, "check", path, *asked, "--format", "json", "--jobs", jobs)[0] for jobs in (1, 2)]
    assert checked[0] == checked[1] and json.loads(checked[0])["rows"] == 41
    shown, _ = run(capsys, "show", path, "--row", 40, "--format", "json", *asked)
    assert json.loads(shown)["input_ids"] == made[40]["input_ids"]


def test_data_that_is_too_long_to_look_through_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import sftui.cli.show

    monkeypatch.setattr(sftui.cli.show, "PATIENCE", 0.0)
    path = write(tmp_path / "rows.jsonl", rows(chat, {"tools": [TOOL]}, 2 * AT_LEAST))
    _, said = run(capsys, "show", path, "-t", "builtin:chatml")
    assert "does not know a column that only appears later" in said
    few = write(tmp_path / "few.jsonl", rows(chat, {"tools": [TOOL]}, 40))
    assert "not known" not in run(capsys, "show", few, "-t", "builtin:chatml")[1], "few rows are looked at in any case"


def test_late_rows_of_a_file_that_grows_begin_where_it_ended(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.jsonl", [chat(number) for number in range(50)])
    with opened(path) as session:
        with path.open("a") as file:
            file.write(json.dumps({**chat(50), "tools": []}) + "\n")
        assert session.source.refresh()
        assert [row.index for row in late_rows(session.stored, 50) if row is not None] == [50]


def test_a_rejected_answer_of_ms_swift(tmp_path: Path) -> None:
    rejected = ["No.", None, "Say 2.", ["No."], [{"role": "assistant", "content": "Say 4."}], 7]
    found = [{**query(number), "rejected_response": one} for number, one in enumerate(rejected)]
    with opened(write(tmp_path / "rows.jsonl", found), **SWIFT) as session:
        kept = [session.inspect(number).example is not None for number in range(len(found))]
        assert kept == [True, False, False, False, False, False]
    plain = [query(0), {**query(1), "rejected_response": "No."}]
    with opened(write(tmp_path / "plain.jsonl", plain), **SWIFT) as session:
        assert [session.inspect(number).example is not None for number in (0, 1)] == [False, True]


def test_open_source_gives_nothing_of_declared_columns(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("prompt,completion\n" + "a,b\n" * 100)
    assert not [*open_source(SourceSpec((str(path),))).unlike(32)]
