"""Folders and files by which a loader is tried: shards of other columns, keys and types, late ones, dates, nulls, maps,
keys that stand twice. `write(folder)` gives a folder for each, whose files are read in the order of their names."""

from __future__ import annotations

import datetime
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Row = dict[str, Any]
BIG = 10_500_000
"""More than the bytes whose columns, keys and types hold for the rest of a JSON file."""


def chat(*contents: Any, **more: Any) -> Row:
    return {
        "messages": [{"role": ("user", "assistant")[i % 2], "content": one} for i, one in enumerate(contents)],
        **more,
    }


def with_keys(row: Row, **keys: Any) -> Row:
    return {**row, "messages": [{**one, **keys} for one in row["messages"]]}


def lines(rows: Iterable[Row]) -> bytes:
    return b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)


def listed(rows: Iterable[Row]) -> bytes:
    return json.dumps(list(rows), ensure_ascii=False, indent=1).encode()


def parquet(rows: Sequence[Row], schema: pa.Schema | None = None) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(list(rows), schema=schema), out)
    return out.getvalue()


def table(rows: Sequence[Row]) -> bytes:
    names = list(dict.fromkeys(name for row in rows for name in row))
    made = [",".join(names), *(",".join(str(row.get(name, "")) for name in names) for row in rows)]
    return "\n".join(made).encode() + b"\n"


PLAIN = [chat("q", "a"), chat("q", "b")]
CALLS = [{"type": "function", "function": {"name": "go", "arguments": {"x": 1}}}]
OTHER_CALLS = [{"type": "function", "function": {"name": "go", "arguments": {"y": "z"}}}]
CALLED: Row = {
    "messages": [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": "", "tool_calls": CALLS},
    ]
}
MORE: dict[str, list[Row]] = {
    "column": [{**one, "tools": "[]"} for one in PLAIN],
    "column_null": [{**one, "tools": None} for one in PLAIN],
    "key": [with_keys(one, name="n") for one in PLAIN],
    "calls": [CALLED, CALLED],
    "parts": [chat("q", [{"type": "text", "text": "a"}]), chat("q", [{"type": "text", "text": "b"}])],
    "id_whole": [{**one, "id": i} for i, one in enumerate(PLAIN)],
    "id_fraction": [{**one, "id": i + 0.5} for i, one in enumerate(PLAIN)],
    "id_even": [{**one, "id": float(i)} for i, one in enumerate(PLAIN)],
    "id_text": [{**one, "id": f"x{i}"} for i, one in enumerate(PLAIN)],
    "id_digits": [{**one, "id": f"{i}"} for i, one in enumerate(PLAIN)],
    "id_null": [{**one, "id": None} for one in PLAIN],
    "id_true": [{**one, "id": True} for one in PLAIN],
    "id_object": [{**one, "id": {"a": i}} for i, one in enumerate(PLAIN)],
    "id_list": [{**one, "id": [f"{i}"]} for i, one in enumerate(PLAIN)],
    "id_empty": [{**one, "id": []} for one in PLAIN],
    "id_date": [{**one, "id": "2024-05-02"} for one in PLAIN],
    "id_object_more": [{**one, "id": {"a": i, "b": "x"}} for i, one in enumerate(PLAIN)],
    "null_answer": [chat("q", None), chat("q", None)],
    "plain": PLAIN,
}
PAIRS = (
    ("plain", "column"), ("plain", "column_null"), ("column_null", "column"), ("plain", "key"), ("plain", "calls"),
    ("plain", "parts"), ("null_answer", "plain"), ("id_whole", "id_fraction"), ("id_whole", "id_even"),
    ("id_whole", "id_text"), ("id_whole", "id_digits"), ("id_text", "id_null"), ("id_null", "id_whole"),
    ("id_text", "id_true"), ("id_text", "id_object"), ("id_text", "id_list"), ("id_empty", "id_list"),
    ("id_text", "id_date"), ("id_object", "id_object_more"), ("id_object", "id_text"), ("id_whole", "plain"),
)  # fmt: skip
"""Two files, each pair in both orders."""
DATES = (
    "2024-05-02", "2024-05-02 10:00:00", "2024-05-02T10:00:00", "2024-05-02T10:00:00Z", "2024-05-02T10:00:00+02:00",
    "2024-05-02T10:00:00+0200", "2024-05-02T10:00:00+02", "2024-05-02T10:00", "2024-05-02T10", "2024-05-02 10:00:00.5",
    "2024-02-30", "2024-5-2", "02.05.2024", "10:00:00", "2024-05", "20240502", "2024-05-02T10:00:00-02:30",
    "2024-05-02T24:00:00", "1969-12-31", "0001-01-01", "2024-05-02T10:00Z", "2024-05-02T10Z", "2024-05-02T100000",
    "2024-05-02T10:00:60", "2024-05-02t10:00:00", "2024-05-02T10:00:00+25:00", "2024-05-02T10:00:00.000000",
    "9999-12-31", "2024-05-02+02:00", "2024-05-02Z", "2024-05-02T10:00+02:00", "2024-05-02T10:00:00 +02:00",
    " 2024-05-02",
)  # fmt: skip
TWICE = (
    b'{"messages": [{"role": "user", "role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]}\n',
    b'{"messages": [{"role": "user", "content": "q"}], "messages": []}\n',
)


def _pairs() -> Iterable[tuple[str, dict[str, bytes]]]:
    for one, other in PAIRS:
        for first, second in ((one, other), (other, one)):
            yield f"jsonl-{first}-{second}", {"0.jsonl": lines(MORE[first]), "1.jsonl": lines(MORE[second])}
            yield f"one-{first}-{second}", {"0.jsonl": lines([*MORE[first], *MORE[second]])}
    for one, other in PAIRS[:14]:
        for first, second in ((one, other), (other, one)):
            yield f"json-{first}-{second}", {"0.json": listed(MORE[first]), "1.json": listed(MORE[second])}
            yield f"single-{first}-{second}", {"0.jsonl": lines(MORE[first][:1]), "1.jsonl": lines(MORE[second][:1])}
    for one, other in (pair for pair in PAIRS if "parts" not in pair):  # which Parquet has no type for
        for first, second in ((one, other), (other, one)):
            yield f"parquet-{first}-{second}", {"0.parquet": parquet(MORE[first]), "1.parquet": parquet(MORE[second])}


def _late() -> Iterable[tuple[str, dict[str, bytes]]]:
    filler = chat("q", "a" * 20_000)
    for first, last in (*PAIRS, *(pair[::-1] for pair in PAIRS)):
        head = [{**filler, **{key: value for key, value in MORE[first][0].items() if key != "messages"}}]
        if first in ("key", "calls", "parts", "null_answer"):
            head = [MORE[first][0], {"messages": MORE[first][0]["messages"] * 3}]
            many = lines([{"messages": MORE[first][0]["messages"] * 200}])
        else:
            many = lines(head)
        yield f"late-{first}-{last}", {"0.jsonl": lines(head) + many * (BIG // len(many)) + lines(MORE[last])}


def _dates() -> Iterable[tuple[str, dict[str, bytes]]]:
    for number, one in enumerate(DATES):
        yield f"dates-pc-{number:02}", {"0.jsonl": lines([{"prompt": "q", "completion": one}] * 3)}
    for number, one in enumerate(DATES[:8]):
        yield f"dates-chat-{number:02}", {"0.jsonl": lines([chat(one, one)] * 2)}
        yield f"dates-list-{number:02}", {"0.json": listed([{"prompt": "q", "completion": one}] * 3)}
        yield f"dates-csv-{number:02}", {"0.csv": table([{"prompt": "q", "completion": one}] * 3)}
        yield f"dates-some-{number:02}", {"0.jsonl": lines([{"prompt": "q", "completion": x} for x in (one, "x", one)])}
        yield (
            f"dates-null-{number:02}",
            {"0.jsonl": lines([{"prompt": "q", "completion": x} for x in (None, one, one)])},
        )
        yield f"dates-then-{number:02}", {
            "0.jsonl": lines([{"text": one}] * 2), "1.jsonl": lines([{"text": x} for x in ("x", "y")]),
        }  # fmt: skip
        yield f"dates-after-{number:02}", {
            "0.jsonl": lines([{"text": x} for x in ("x", "y")]), "1.jsonl": lines([{"text": one}] * 2),
        }  # fmt: skip
    yield "dates-parquet", {"0.parquet": parquet([{"text": datetime.datetime(2024, 5, 2)}] * 2)}


def _odd() -> Iterable[tuple[str, dict[str, bytes]]]:
    kinds = {"map": pa.map_(pa.string(), pa.int64()), "deep": pa.list_(pa.map_(pa.string(), pa.string()))}
    for name, kind in kinds.items():
        schema = pa.schema([("text", pa.string()), ("x", kind)])
        yield f"maps-{name}", {"0.parquet": parquet([{"text": "a", "x": None}] * 2, schema)}
        plain = parquet([{"text": "a"}] * 2)
        yield f"maps-second-{name}", {"0.parquet": plain, "1.parquet": parquet([{"text": "a", "x": None}], schema)}
    held = pa.schema([("messages", pa.list_(pa.struct([("role", pa.string()), ("x", kinds["map"])])))])
    yield "maps-inside", {"0.parquet": parquet([{"messages": [{"role": "user", "x": None}]}], held)}
    for name, kind in (
        ("large", pa.large_string()), ("view", pa.string_view()), ("dictionary", pa.dictionary(pa.int8(), pa.string())),
        ("binary", pa.binary()),
    ):  # fmt: skip
        typed = parquet([{"text": "a"}] * 2, pa.schema([("text", kind)]))
        yield f"typed-{name}", {"0.parquet": typed}
        yield f"typed-{name}-second", {"0.parquet": parquet([{"text": "a"}] * 2), "1.parquet": typed}
    for name, kind in (
        ("int32", pa.int32()), ("decimal", pa.decimal128(5, 1)), ("date", pa.date32()), ("time", pa.time64("us")),
        ("duration", pa.duration("s")),
    ):  # fmt: skip
        yield (
            f"typed-{name}",
            {"0.parquet": parquet([{"text": "a", "x": None}] * 2, pa.schema([("text", pa.string()), ("x", kind)]))},
        )
    small = pa.schema([("text", pa.string()), ("x", pa.int8())])
    for name, values in (("fits", (1, 2)), ("over", (1, 300))):
        yield (
            f"narrow-{name}",
            {
                "0.parquet": parquet([{"text": "a", "x": 1}], small),
                "1.parquet": parquet([{"text": "a", "x": x} for x in values]),
            },
        )
    for number, twice in enumerate(TWICE):
        yield f"twice-first-{number}", {"0.jsonl": twice * 2}
        yield f"twice-single-{number}", {"0.jsonl": twice}
        yield f"twice-later-{number}", {"0.jsonl": lines(PLAIN * 4) + twice + lines(PLAIN)}
        yield f"twice-mixed-{number}", {"0.jsonl": lines([*PLAIN, *MORE["key"]]) + twice}
        yield f"twice-second-{number}", {"0.jsonl": lines(PLAIN), "1.jsonl": lines(PLAIN) + twice}
        yield f"twice-list-{number}", {"0.json": b"[" + twice.strip() + b"," + twice.strip() + b"]"}
    yield "blank", {"0.jsonl": lines(PLAIN) + b"\n" + lines(MORE["key"])}
    yield "no_number", {"0.jsonl": lines([{"text": "a", "x": float("nan")}, {"text": "b", "x": 1.0}])}
    yield "mark", {"0.jsonl": b"\xef\xbb\xbf" + lines([*PLAIN, *MORE["key"]])}
    yield (
        "other_calls",
        {"0.jsonl": lines([CALLED, {"messages": [{**CALLED["messages"][1], "tool_calls": OTHER_CALLS}]}])},
    )
    yield (
        "calls_differ",
        {
            "0.jsonl": lines([CALLED] * 2),
            "1.jsonl": lines([{"messages": [{**CALLED["messages"][1], "tool_calls": OTHER_CALLS}]}] * 2),
        },
    )
    yield "orders", {"0.jsonl": lines([{"a": 1, "b": "x"}] * 2), "1.jsonl": lines([{"b": "x", "a": 1}] * 2)}
    yield "orders_single", {"0.jsonl": lines([{"a": 1, "b": "x"}]), "1.jsonl": lines([{"b": "x", "a": 1}])}
    yield "mixed_shapes", {"0.jsonl": lines(PLAIN), "1.json": listed(MORE["column"])}
    yield "list_first", {"0.json": listed(PLAIN), "1.jsonl": lines(MORE["column"])}
    yield "list_then_less", {"0.json": listed(MORE["column"]), "1.jsonl": lines(PLAIN)}


def _tables() -> Iterable[tuple[str, dict[str, bytes]]]:
    plain = [{"prompt": "q", "completion": one} for one in ("a", "b")]
    others: dict[str, list[Row]] = {
        "column": [{**one, "x": 1} for one in plain],
        "less": [{"prompt": "q"}] * 2,
        "number": [{"prompt": "q", "completion": 7}] * 2,
        "fraction": [{"prompt": "q", "completion": 1.5}] * 2,
        "empty": [{"prompt": "q", "completion": ""}] * 2,
        "some": [{"prompt": "q", "completion": one} for one in (7, "")],
        "true": [{"prompt": "q", "completion": True}] * 2,
        "plain": plain,
    }
    for one, other in (
        ("plain", "column"), ("plain", "less"), ("plain", "number"), ("plain", "empty"), ("number", "fraction"),
        ("number", "some"), ("plain", "true"), ("number", "empty"), ("column", "less"),
    ):  # fmt: skip
        for first, second in ((one, other), (other, one)):
            yield f"csv-{first}-{second}", {"0.csv": table(others[first]), "1.csv": table(others[second])}
            yield f"csvs-{first}-{second}", {"0.csv": table(others[first][:1]), "1.csv": table(others[second][:1])}
            if others[first][0].keys() == others[second][0].keys():
                yield f"csvlate-{first}-{second}", {"0.csv": table(others[first] * 5_000 + others[second])}
    yield "csv_uneven", {"0.csv": b"prompt,completion\nq,a\nq,b,c\n"}
    yield "csv_beyond", {"0.csv": b"prompt,completion,x\nq,a,1\nq,b,99999999999999999999999\n"}


MAKERS: tuple[Callable[[], Iterable[tuple[str, Mapping[str, bytes]]]], ...] = (_pairs, _late, _dates, _odd, _tables)
SAMPLE = ("late-plain-column", "late-id_whole-id_text", "late-id_text-id_null", "late-plain-key")
"""The long ones that are tried each time; the others cost minutes."""


def write(folder: Path, *, every: bool = True) -> list[Path]:
    """A folder for each set; the same each time."""
    made = []
    for name, held in (one for maker in MAKERS for one in maker()):
        if not every and name.startswith("late") and name not in SAMPLE:
            continue
        (folder / name).mkdir(parents=True, exist_ok=True)
        for file, data in held.items():
            if not (folder / name / file).exists():
                (folder / name / file).write_bytes(data)
        made.append(folder / name)
    return made
