"""What a trainer's own datasets does with a JSON file: refused where Arrow would, silent elsewhere."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sftui import pipeline
from sftui.conversations.reading import parsed, stored
from sftui.model import Row
from sftui.recipe import changed
from sftui.sources import DataFile, SourceSpec, open_source
from sftui.trainers import preset
from sftui.trainers.loading import load
from sftui.trainers.own_config import choices_of, notes_of
from sftui.trainers.reading import brought, dated, mixed, notes_on, reading_of

SAMPLES = Path(__file__).resolve().parents[3] / "sample_data"
OLD, NEW = "llamafactory@0.9", ("trl@1.16", "axolotl@0.19", "unsloth@2026.10", "hf-trainer")


def rows_of(*values: Any) -> list[Row]:
    return [Row(i, value, "", f"data.jsonl line {i + 1}") for i, value in enumerate(values)]


def loads(name: str, *values: Any, listed: bool = False) -> str | None:
    """Why the loader of a trainer refuses a file of these rows; None where it does not."""
    reader = brought(name)
    held = json.dumps(values) if listed else "".join(json.dumps(value) + "\n" for value in values)
    file = DataFile("data.json", "json", lambda: io.BytesIO(held.encode()), len(held))
    problem = None if reader is None else load(lambda: iter([file]), reader, name).problem
    return None if problem is None else problem.sentence()


def chat(content: Any, **more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": content}], **more}


MIXED: dict[str, tuple[list[Any], str, str, str]] = {
    "text and number": ([chat("a", x="1"), chat("b", x=1)], "/x", "string", "number"),
    "truth and number": ([chat("a", x=1), chat("b", x=True)], "/x", "number", "boolean"),
    "text and parts": ([chat("a"), chat([{"type": "text"}])], "/messages/[]/content", "string", "array"),
    "object and text": ([chat("a", tools={}), chat("b", tools="[]")], "/tools", "object", "string"),
    "inside one list": ([chat("a", x=[1, "b"])], "/x/[]", "number", "string"),
}
ALIKE: list[list[Any]] = [
    [chat("a", x=1), chat("b", x=2.5), chat("c", x=2**63)],
    [chat("a", x=None), chat(None, x="1")],
    [chat("a", x=[]), chat("b", x=[1]), chat("c")],
    [chat("a", x={}), chat("b", x={"y": 1}), chat("c", x={"z": "1"})],
    [chat("a", x="2024-01-01"), chat("b", x="soon")],
]


@pytest.mark.parametrize("name", MIXED)
def test_a_column_of_two_kinds_ends_the_run_where_datasets_is_older_than_4_7(name: str) -> None:
    values, path, before, kind = MIXED[name]
    found = mixed(rows_of(*values))
    assert found is not None and found[:3] == (path, before, kind)
    refused = loads(OLD, *values)
    assert refused is not None and f"`{path.split('/')[1]}" in refused and "datasets (4.0.0)" in refused
    assert f"line {found[3].index + 1}" in refused or len(values) == 1  # pandas reads one line by itself
    assert all(loads(other, *values) is None for other in NEW)


@pytest.mark.parametrize("values", ALIKE)
def test_values_that_arrow_has_one_type_for_are_no_finding(values: list[Any]) -> None:
    assert mixed(rows_of(*values)) is None


def test_right_files_are_not_refused() -> None:
    """0 of the bundled ones but the one made of defects, at which LLaMA-Factory's datasets stops as well."""
    refused = []
    for path in sorted(SAMPLES.glob("*.json*")):
        source = open_source(SourceSpec((str(path),)))
        if mixed([row for row in source.rows() if row.data is not None]) is not None:
            refused.append(path.name)
        source.close()
    assert refused == ["defects.jsonl"]


@pytest.mark.parametrize(
    ("name", "where", "told"),
    [
        (OLD, "data.jsonl line {}", True),
        (OLD, "data.json record {}", False),  # pandas reads one list, and leaves dates as text
        ("trl@1.16", "data.json record {}", True),
        ("trl@1.16", "data.parquet row {}", False),
    ],
)
def test_texts_that_are_all_dates_are_told(name: str, where: str, told: bool) -> None:
    rows = [
        Row(
            i,
            {"instruction": "When?", "input": "", "output": f"2024-01-0{i + 1}", "text": "2024-01-01"},
            "",
            where.format(i),
        )
        for i in range(3)
    ]
    schema = pa.schema([("output", pa.timestamp("s")), ("text", pa.timestamp("s"))])  # as the loader has it
    looks = dated(rows, name)
    detected = pipeline.detect(rows, preset(name), schema if looks else None)
    assert looks == told == any("timestamps" in note for note in detected.notes)
    assert told == (
        detected.reading is not None and type(detected.reading.row(rows[0].data or {})["output"]) is datetime
    )
    plain = [Row(0, {"instruction": "q", "input": "", "output": "on 2024-01-01", "text": "a"}, "", where.format(0))]
    assert not any("timestamps" in note for note in pipeline.detect([*rows, *plain], preset(name)).notes)


def test_files_that_datasets_cannot_read_are_refused() -> None:
    """Measured with datasets 5.2.0: half of a surrogate pair, and numbers beyond 64 bits in a file read twice."""
    refused = loads("trl@1.16", {"text": "a"}, {"text": "\ud800"})
    assert refused is not None and "line 2" in refused
    assert loads("trl@1.16", {"text": "\U0001f642"}) is None
    for other, listed, stops in ((1, False, False), ({"a": 1}, False, True), ([], False, True), (1, True, True)):
        found = loads("trl@1.16", {"text": "a", "x": 2**70}, {"text": "b", "x": other}, listed=listed)
        assert (found is not None) == stops, (other, listed)
    assert loads("trl@1.16", {"text": "9" * 30, "x": 1e30}, listed=True) is None


def test_an_unsloth_that_brings_trl_before_1_0_has_no_bfd_split() -> None:
    """TRL 0.24 knows bfd and wrapped."""
    from sftui.recipe import knobs

    (strategy,) = (one for one in knobs() if one.path == "pack.strategy")
    offered = {name: choices_of(preset(name), strategy) for name in ("unsloth@2026.10", "unsloth@2026.8")}
    assert set(offered["unsloth@2026.10"]) - set(offered["unsloth@2026.8"]) == {"bfd_split"}
    assert {"bfd", "wrapped"} <= set(offered["unsloth@2026.8"])


def test_the_older_wrapped_is_told_where_it_is_meant() -> None:
    from sftui.recipe import changed

    told = {
        (name, strategy): any(
            "from_list" in note for note in notes_of(changed(preset(name), "pack.strategy", strategy))
        )
        for name in ("trl@1.8", "trl@1.14", "trl@1.16")
        for strategy in ("none", "bfd", "wrapped")
    }
    assert {key for key, value in told.items() if value} == {("trl@1.8", "wrapped")}


PARTS = [{"type": "text", "text": "x"}]
GIVEN: dict[str, tuple[list[Any], list[Any]]] = {
    "text beside a list": (
        [PARTS, "null", "1", " 2.50 ", "[]", "a", "", "True"],
        [PARTS, None, 1, 2.5, [], "a", "", "True"],
    ),
    "text beside a number": ([1, "x", "007", '{"a": "1"}', '"x"'], [1, "x", 7, {"a": "1"}, "x"]),
    "whole numbers beside others": ([1, 2.5, 2**62], [1.0, 2.5, float(2**62)]),
    "whole numbers": ([1, -(2**63)], [1, -(2**63)]),
    "one beyond 64 bits": ([1, 2**63], [1.0, float(2**63)]),
    "numbers in lists": ([[1], [2, 0.5]], [[1.0], [2.0, 0.5]]),
    "objects of other keys": ([{"a": "null"}, {"b": 1}], [{"a": "null"}, {"b": 1}]),
    "objects of the same keys": ([{"a": "null", "b": 1}, {"b": 1, "a": 2}], [{"a": None, "b": 1}, {"a": 2, "b": 1}]),
    "texts": (["null", "1", None], ["null", "1", None]),
}


@pytest.mark.parametrize("name", GIVEN)
def test_rows_come_as_the_trainers_datasets_gives_them(name: str) -> None:
    """Values measured with datasets 5.2.0, as TRL 1.16 brings it."""
    stored, expected = GIVEN[name]
    rows = rows_of(*({"x": value} for value in stored))
    reading = reading_of(rows, "trl@1.16")
    given = [row.data["x"] if reading is None else reading.row(row.data)["x"] for row in rows if row.data is not None]
    assert repr(given) == repr(expected)
    assert [list(value) for value in given if isinstance(value, dict)] == [
        list(v) for v in expected if isinstance(v, dict)
    ]


def test_a_text_that_says_null_is_nothing_beside_parts_and_itself_beside_texts() -> None:
    for other, expected in ((PARTS, None), ("a", "null")):
        rows = rows_of(chat("null"), chat(other))
        detected = pipeline.detect(rows, preset("axolotl@0.19"))
        conversation = pipeline.inspect_early(rows[0], detected, preset("axolotl@0.19")).conversation
        assert conversation is not None and conversation.messages[1].data.get("content") == expected
        notes = [note for note in detected.notes if "data.jsonl line 1" in note]
        assert len(notes) == (expected is None) and all('as null, not "null"' in note for note in notes)


def test_rows_that_are_no_json_come_as_they_stand() -> None:
    """Parquet and CSV bring their types; what is known of no datasets is not guessed."""
    rows = [Row(i, {"x": value}, "", f"data.parquet row {i}") for i, value in enumerate((1, 2.5, "null"))]
    assert reading_of(rows, "trl@1.16") is None
    assert reading_of(rows_of({"x": 1}, {"x": 2.5}), "hf-trainer") is None
    assert reading_of(rows_of({"x": 1}, {"x": "1"}), OLD) is None, "such a file is refused"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("NaN", None),
        ("-", 0),
        ("1.", 1.0),
        ("1e", 1.0),
        ("0.30000000000000004", 0.30000000000000004),
        ("1e400", float("inf")),
        ("18446744073709551615", 2**64 - 1),
        ("18446744073709551616", "18446744073709551616"),
        (".5", ".5"),
        ("1 2", "1 2"),
        ("[[dummy]]", "[[dummy]]"),
        ("[1", "[1"),
        ("[NaN]", [None]),
        ("\u00a01", "\u00a01"),
        ("\uff15", "\uff15"),
    ],
)
def test_texts_are_parsed_as_pandas_parses_them(text: str, value: Any) -> None:
    """Measured with pandas 2.3.3 and 3.1.1."""
    assert repr(parsed(text)) == repr(value)


@pytest.mark.parametrize(
    ("value", "back"),
    [
        (-0.0, 0.0),
        (1e-07, 1e-07),
        (1e22, 1e22),
        (52.5200065999997, 52.5200066),
        (1 / 3, 0.33333333330000003),
        (0.99999999999, 1.0),
        (-1e-12, -0.0),
        (123456789.123456789, 123456789.12345679),
        (12345678901234567.0, 1.2345678900000002e16),
        (1e-16, 1e-16),
        (0.5e-10, 1e-10),
        (1.5e-10, 2e-10),
        (2.5e-10, 2e-10),
        (float("nan"), None),
        (7, 7),
        (True, True),
        ("1e5", "1e5"),
        ([0.12345678901, {"a": -0.5}], [0.12345678900000001, {"a": -0.5}]),
    ],
)
def test_values_kept_as_json_come_back_as_pandas_writes_them(value: Any, back: Any) -> None:
    """Measured with pandas 3.1.1: ujson_loads(ujson_dumps(value))."""
    assert repr(stored(value)) == repr(back)


@pytest.mark.parametrize(
    ("other", "where", "back"),
    [
        ({"b": 2}, "data.jsonl line {}", (52.5200066, 0.3333333333, 7.0)),
        ({"a": 2}, "data.jsonl line {}", (52.5200065999997, 1 / 3, 7.0)),
        ({"a": 2}, "data.json record {}", (52.5200066, 0.3333333333, 7.0)),
    ],
)
def test_fractions_of_a_file_that_is_written_anew_have_ten_decimals(
    other: Mapping[str, Any], where: str, back: tuple[float, ...]
) -> None:
    """Measured with datasets 5.2.0, load_dataset("json"): objects of other keys in one place, or one JSON list."""
    data: list[dict[str, Any]] = [
        {"a": {"a": 1}, "x": 52.5200065999997, "y": [{"z": 1 / 3}], "n": 7.0},
        {"a": other, "x": 0.5, "y": [], "n": 0.5},
    ]
    rows = [Row(i, one, json.dumps(one), where.format(i + 1)) for i, one in enumerate(data)]
    reading = reading_of(rows, "trl@1.16")
    made = data[0] if reading is None else reading.row(data[0])
    assert (made["x"], made["y"][0]["z"], made["n"]) == back
    notes = () if reading is None else notes_on(rows, reading, "trl@1.16", "TRL")
    assert len(notes) == (back[0] == 52.5200066)
    assert all("reaches TRL as" in note and note.endswith("with ten decimal places") for note in notes)


@pytest.mark.parametrize(
    ("values", "path"),
    [
        ([chat("a", x={})], "/x"),
        ([chat("a", x=None), chat("b", x=[{"y": {}}])], "/x/[]/y"),
        ([chat("a", x={}), chat("b", x={"y": 1})], None),
        ([chat("a", x={"y": None}), chat("b", x=[])], None),
    ],
)
def test_a_place_of_objects_without_keys_is_told_where_rows_are_stored_as_parquet(
    values: list[Any], path: str | None
) -> None:
    """Measured with pandas 3.1.1 and pyarrow: DataFrame.to_parquet raises ArrowNotImplementedError."""
    told = [note for note in pipeline.detect(rows_of(*values), preset("verl")).notes if "no keys" in note]
    assert bool(told) is (path is not None) and all(f" at {path} in" in note for note in told)
    assert not any("no keys" in note for note in pipeline.detect(rows_of(*values), preset("trl")).notes)


LATE: dict[str, tuple[list[Any], Any, str, str]] = {
    "text, then a number": ([chat("a")], chat(1), "/messages/[]/content", "a number"),
    "text, then parts": ([chat("a")], chat([{"type": "text", "text": "x"}]), "/messages/[]/content", "a list"),
    "parts, then text": ([{"messages": chat([{"type": "text"}])["messages"][1:]}], chat("a"), "content", "a string"),
    "a message that is text": ([chat("a")], {"messages": [chat("a")["messages"][0], "b"]}, "/messages/[]", "a string"),
}
SAME: list[tuple[list[Any], Any]] = [
    ([chat("a")], chat(None)),
    ([chat(None, tools=None)], chat("a", tools=[])),
    ([chat("a")], chat("b", x=1)),
    ([chat("a", x={"y": 1})], chat("b", x={"z": "1"})),
    ([chat("a"), chat(1)], chat(2)),  # known from the first rows, which say how it is read
    ([chat("a", x=[])], chat("b", x=[1])),
    ([chat("a", x=1)], chat("b", x=2.5)),
]


@pytest.mark.parametrize("name", LATE)
def test_a_later_row_of_another_kind_is_told_as_the_trainer_takes_it(name: str) -> None:
    """datasets 4.7 and later keep the place as JSON: the rows are shown, with a finding (ROW008). The loader of 4.0
    stops at the file."""
    first, other, path, kind = LATE[name]
    *rows, late = rows_of(*first, other)
    for trainer in ("trl@1.16", "axolotl@0.19"):
        recipe = preset(trainer)
        found = pipeline.late_in(late, pipeline.detect(rows, recipe), recipe)
        assert found is not None and not found.stops
        assert path in found.problem.what and kind in found.problem.what and late.where in found.problem.what
        assert pipeline.inspect_early(late, pipeline.detect(rows, recipe), recipe).problem != found.problem
    refused = loads(OLD, *first, other)
    assert refused is not None and path.strip("/") in refused
    plain = preset("hf-trainer")
    assert pipeline.late_in(late, pipeline.detect(rows, plain), plain) is None


@pytest.mark.parametrize(("first", "other"), SAME)
def test_a_later_row_that_changes_no_type_is_not_told(first: list[Any], other: Any) -> None:
    *rows, late = rows_of(*first, other)
    for trainer in (OLD, *NEW):
        recipe = preset(trainer)
        assert pipeline.late_in(late, pipeline.detect(rows, recipe), recipe) is None, trainer


def test_a_late_fraction_among_whole_numbers_is_told() -> None:
    """4 comes as 4.0 in every row then, and is written so into the text (datasets 4.0, 4.8 and 5.2)."""
    *rows, late = rows_of(
        {"messages": [{"role": "user", "content": 4}]}, {"messages": [{"role": "user", "content": 2.5}]}
    )
    for trainer, told in (("trl@1.16", True), (OLD, True), ("hf-trainer", False)):
        recipe = changed(preset(trainer), "data.format", "messages")
        found = pipeline.late_in(late, pipeline.detect(rows, recipe), recipe)
        assert (found is not None and not found.stops and "1.0" in found.problem.why) is told


@pytest.mark.parametrize(
    ("histories", "pairs"),
    [
        ([[{"a": 1}, {"a": 2}], [{"a": 1, "b": 2}]], [("a", "b", "a", "b"), ("a", "b")]),
        ([[{"b": 1, "a": 2}], [{"a": 1}], [None]], [("b", "a"), ("b", "a"), None]),
        ([[{"a": 1}], [{"b": 1}], [{"c": 1}]], [None, None, None]),
        ([[{"a": 1}], [{"a": 1}]], [None, None]),
    ],
)
def test_an_old_datasets_gives_the_objects_of_a_place_the_keys_of_all(histories: list[Any], pairs: list[Any]) -> None:
    """LLaMA-Factory trains on the names of the keys of a history's objects, where they are two (datasets 4.0)."""
    rows = rows_of(*({"instruction": "a", "input": "", "output": "b", "history": one} for one in histories))
    recipe = preset(OLD)
    detected = pipeline.detect(rows, recipe)
    for row, names in zip(rows, pairs, strict=True):
        shown = pipeline.inspect_early(row, detected, recipe)
        if names is None:
            assert shown.problem is not None and "not a [question, answer] pair" in shown.problem.what
        else:
            assert shown.conversation is not None
            assert tuple(one.content for one in shown.conversation.messages[: len(names)]) == names


def test_an_old_datasets_writes_null_into_tools_and_says_that_later_rows_may_add_to_it() -> None:
    from sftui.trainers.llamafactory.formats import UNEVEN

    tools = [[{"name": "f", "parameters": {"x": 1}}], [{"name": "g", "strict": True}]]
    rows = rows_of(*(chat("a", tools=one) for one in tools))
    recipe = changed(preset(OLD), "data.format", "messages")
    recipe = changed(recipe, "data.fields", {"messages": "messages", "tools": "tools"})
    recipe = changed(recipe, "data.message_keys", {"role": "role", "content": "content"})
    recipe = changed(recipe, "data.role_map", {"user": "user", "assistant": "assistant"})
    recipe = changed(recipe, "own.formatting", "openai")
    detected = pipeline.detect(rows, recipe)
    shown = [pipeline.inspect_early(row, detected, recipe).conversation for row in rows]
    first = [{"name": "f", "parameters": {"x": 1}, "strict": None}]
    assert [one and json.loads(one.tools) for one in shown] == [
        first,
        [{"name": "g", "parameters": None, "strict": True}],
    ]
    assert UNEVEN in detected.notes


def test_a_column_that_nobody_reads_stops_an_older_datasets_alone() -> None:
    told = [name for name in (OLD, *NEW) if loads(name, chat("a", id=1), chat("b", id="1")) is not None]
    assert told == [OLD]


def told_late(folder: Path) -> list[str]:
    """The files in which a row after the first 32 is told, by an old datasets or a new one."""
    told = []
    for path in sorted(folder.glob("*.json*")):
        source = open_source(SourceSpec((str(path),)))
        rows = [row for row in source.rows() if row.data is not None]
        for name in (OLD, "trl@1.16"):
            recipe = preset(name)
            found = pipeline.detect(rows[:32], recipe)
            if any(pipeline.late_in(row, found, recipe) is not None for row in rows):
                told.append(f"{path.name} {name}")
        source.close()
    return told


def test_no_later_row_of_a_right_file_is_told() -> None:
    assert told_late(SAMPLES) == []


@pytest.mark.shared
def test_no_later_row_of_a_real_dataset_is_told(shared: Path) -> None:
    assert told_late(shared / "testdata" / "datasets") == []
