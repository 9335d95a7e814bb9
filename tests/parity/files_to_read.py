"""Small JSON and CSV files on which readers disagree, made from seeds: `write(folder)` gives their paths."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

Rows = list[dict[str, Any]]
BIG = 10_500_000
"""More bytes than a block of datasets' JSON reader (10 << 20): what comes after is typed on its own."""


def chat(*contents: Any, **more: Any) -> dict[str, Any]:
    roles = ("user", "assistant")
    return {"messages": [{"role": roles[i % 2], "content": one} for i, one in enumerate(contents)], **more}


def plain(r: random.Random) -> Rows:
    return [chat(word(r), word(r), id=i) for i in range(r.randint(1, 6))]


def word(r: random.Random) -> str:
    return r.choice(
        ("yes", "", " ", "No.", "günü", "今天", "🙂", "null", "None", "nan", "NA", "0", "1.0", "true", "a\nb")
    )


def dates(r: random.Random) -> Rows:
    shapes = (
        "2024-01-0{}",
        "2024-01-0{}T10:00:00",
        "2024-01-0{} 10:00:00",
        "2024-01-0{}T10:00:00Z",
        "0{}:00:00",
        "1{}-2",
    )
    chosen = r.choice(shapes)
    values = [chosen.format(r.randint(1, 9)) for _ in range(r.randint(1, 5))]
    if r.random() < 0.3:
        values.append("no date")
    return (
        [chat(one, r.choice((one, "x"))) for one in values]
        if r.random() < 0.5
        else [{"instruction": "When?", "input": "", "output": one} for one in values]
    )


def missing(r: random.Random) -> Rows:
    """Keys that only some rows or messages have."""
    rows = [chat(word(r), word(r)) for _ in range(r.randint(2, 6))]
    for row in rows:
        if r.random() < 0.5:
            row[r.choice(("system", "tools", "id"))] = r.choice(("x", "[]"))
        for message in row["messages"]:
            if r.random() < 0.4:
                message[r.choice(("name", "weight", "reasoning_content"))] = r.choice(("n", "m"))
    return rows


def tools(r: random.Random) -> Rows:
    """Calls and schemas whose objects have different keys: Arrow makes them one."""

    def call(i: int) -> dict[str, Any]:
        arguments = r.choice(({"city": "A"}, {"q": "x", "n": 3}, {}, {"city": None}, {"deep": {"a": [1]}}))
        return {"type": "function", "function": {"name": f"f{i}", "arguments": arguments}}

    rows = []
    for i in range(r.randint(2, 5)):
        messages = [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": None, "tool_calls": [call(i) for _ in range(r.randint(0, 2))]},
            {"role": "assistant", "content": "done"},
        ]
        rows.append({"messages": messages})
    return rows


MIXED: tuple[Any, ...] = (
    1,
    2.5,
    "x",
    "1",
    True,
    None,
    [],
    [1],
    ["a"],
    {},
    {"a": 1},
    {"b": "x"},
    2**63,
    -(2**63),
    2**70,
    1e300,
    "2024-01-01",
)


def mixed(r: random.Random) -> Rows:
    """A column, or a content, of two types."""
    pair = r.sample(MIXED, 2)
    values = [r.choice(pair) for _ in range(r.randint(2, 5))]
    return [chat("q", "a", extra=one) for one in values] if r.random() < 0.5 else [chat("q", one) for one in values]


def typed(r: random.Random) -> Rows:
    """Content as text in some rows and as parts in others, or with parts of different keys."""
    parts: tuple[Any, ...] = (
        [{"type": "text", "text": "x"}],
        [{"type": "text", "text": "x", "train": False}],
        "x",
        [],
        None,
    )
    return [chat("q", r.choice(parts)) for _ in range(r.randint(2, 5))]


def numbers(r: random.Random) -> Rows:
    pool = (0, 1, -1, 0.1, 1.0, 1e22, 123456789012345678, 2**62, 2**53 + 1, 1e-7)
    return [
        {"prompt": "p", "completion": "c", "x": r.choice(pool), "y": [r.choice(pool)]} for _ in range(r.randint(1, 5))
    ]


def fraction(r: random.Random) -> float:
    sizes = (1.0, 100.0, 1e6, 1e16, 1e-9, 1e-16, 1e20)
    return r.choice((0.5, -0.0, round(r.uniform(-180, 180), r.randint(0, 15)), r.uniform(-1, 1) * r.choice(sizes)))


def fractions(r: random.Random) -> Rows:
    """Numbers of many digits in calls and columns, in files with and without a place of several kinds."""
    keys = ("lat", "lon") if r.random() < 0.7 else ("lat",)
    rows: Rows = []
    for i in range(r.randint(2, 6)):
        arguments = {key: fraction(r) for key in (keys if r.random() < 0.5 else keys[:1])}
        call = {"type": "function", "function": {"name": "go", "arguments": arguments}}
        messages = [
            {"role": "user", "content": "where?", "tool_calls": None},
            {"role": "assistant", "content": "", "tool_calls": [call]},
        ]
        score = r.choice((1, "x")) if r.random() < 0.1 else fraction(r)
        rows.append({"messages": messages, "score": score, "all": [fraction(r), i], "deep": {"x": {"y": fraction(r)}}})
    return rows


def nulls(r: random.Random) -> Rows:
    pool: tuple[Any, ...] = (None, None, "", "x", [], [None])
    pick = r.sample(pool, 3)
    return [{"prompt": r.choice(pick), "completion": r.choice(pick), "messages": None} for _ in range(r.randint(1, 5))]


def lines(rows: Rows) -> bytes:
    return b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)


def raw(r: random.Random) -> bytes:
    """Text that is JSON to some parsers only."""
    return r.choice(
        (
            b'{"a": 1, "a": 2}\n{"a": 3}\n',
            b'{"messages": [], "messages": [{"role": "user", "content": "x"}]}\n',
            b'{"a": NaN}\n{"a": 1}\n',
            b'{"a": Infinity}\n',
            b'{"a": "\\ud800"}\n',
            b'{"a": "\\u0000x"}\n',
            b'{"a": "\\ud83d\\ude42"}\n',
            b'{"a": 1}{"a": 2}\n',
            b'{"a": 1},\n{"a": 2}\n',
            b'{"a": 01}\n',
            b'{"a": 1.}\n',
            b'{"a": 1,}\n',
            b"{'a': 1}\n",
            b'{"a": "x\ty"}\n',
            b'{"a": "\xff"}\n',
            b'\xef\xbb\xbf{"a": 1}\n',
            b'{"a": 1}\n\n\n{"a": 2}\n',
            b'{"a": 1}\r\n{"a": 2}\r\n',
            b"",
            b"\n",
            b"null\n",
            b'[{"a": 1}, {"b": "x"}]',
            b'[{"a": 1}, {"a": "x"}]',
            b'[{"a": "2024-01-01"}, {"a": "2024-01-02"}]',
            b'[{"a": {"x": 1}}, {"a": {"y": 2}}]',
            b'[{"a": []}, {"a": [{"b": 1}]}]',
            b'{"a": [{"x": 1}, {"x": 2}]}',
            b'{"data": [{"a": 1}, {"a": 2}], "version": "1"}',
            b'{"a": {"b": {}}}\n{"a": {"b": {"c": 1}}}\n',
            b'{"1": "x", "": "y", " ": "z"}\n',
            b'{"a.b": 1, "a": {"b": 2}}\n',
        )
    )


def blocks(r: random.Random) -> bytes:
    """A first block of plain rows, then one row that would type a column otherwise."""
    filler = lines([chat("q", "a" * 20_000, extra="x")])
    last = r.choice(
        (
            chat("q", "a", extra=1),
            chat("q", "a", extra=None),
            chat("q", "a"),
            chat("q", "a", extra="x", new="y"),
            chat("q", None, extra="x"),
            chat("q", [{"type": "text", "text": "x"}], extra="x"),
            {"messages": [{"role": "user", "content": "q", "name": "n"}], "extra": "x"},
            chat("q", "a", extra="2024-01-01"),
            chat("q", "a", extra={"a": 1}),
        )
    )
    first = lines([chat("q", "a", extra=r.choice(("x", None, "2024-01-01")))])
    return first + filler * (BIG // len(filler)) + lines([last])


JSON_TEXTS = (
    "null", "1", "-0", "1.0", "2.50", "1e5", "true", "True", "NaN", "nan", "Infinity", "[]", "{}", '"x"', "01", "1.",
    "-", ".5", "1 2", " 7 ", '{"a": 1}', '[{"type": "text", "text": "y"}]', "[1, null]", "0.1234567890123456789",
    "x", "",
    "12345678901234567890", "99999999999999999999", "3.14159", "1_000", "[[dummy]]", "{{x}}", "\u00a01", "0x10",
)  # fmt: skip


def beside(r: random.Random) -> Rows:
    """Texts that are JSON themselves, in places where other rows have another kind, or only texts."""
    others: tuple[Any, ...] = ([{"type": "text", "text": "x"}], 1, 2.5, True, {"a": 1}, {}, [], None, "plain")
    other, where = r.choice(others), r.choice(("content", "column", "inside", "message"))
    values = [r.choice(JSON_TEXTS) for _ in range(r.randint(2, 6))]
    values.insert(r.randint(0, len(values)), other)
    if where == "content":
        return [chat("q", one) for one in values]
    if where == "column":
        return [chat("q", "a", tools=one) for one in values]
    if where == "inside":
        return [chat("q", "a", extra={"deep": [one], "n": i}) for i, one in enumerate(values)]
    return [{"messages": [*chat("q", "a")["messages"], *([one] if one != "plain" else [])]} for one in values]


def late(r: random.Random) -> Rows:
    """Rows of one kind, and another after the first thirty, still in the first block."""
    rows = [chat("q", r.choice(JSON_TEXTS), extra=i) for i in range(r.randint(33, 60))]
    rows.append(r.choice((chat("q", 1, extra=0), chat("q", "a", extra="x"), chat("q", "a", extra=0.5), chat("q", "a"))))
    return [*rows, chat("q", "1", extra=7)]


def orders(r: random.Random) -> Rows:
    """Objects whose keys stand in other orders, or of which some rows lack one, at several depths."""
    rows = []
    for i in range(r.randint(2, 6)):
        keys = r.sample(("a", "b", "c"), 3)[: 3 if r.random() < 0.7 else 2]
        inner = {key: r.choice((1, 2)) for key in keys}
        rows.append(chat("q", "a", extra=r.choice((inner, {"x": inner, "y": [inner]})) if i % 2 else inner))
    return rows


FIELDS = (
    "x", "", '""', "NA", "null", "None", "nan", "NULL", "n/a", "#N/A", "0", "007", "1", "1.0", "2.50", "1e5", "True",
    "false", "2024-01-01", "2024-01-01 10:00", '"a,b"', '"a""b"', '"a\nb"', " x", "x ", '" x "', "9223372036854775807",
    "9223372036854775808", "12345678901234567890123", "1,000", "-", "inf", "-inf", "é", '"[{""role"": ""user""}]"',
    "'q'", "0x10", "1_000", "+5", "$5", "５",
)  # fmt: skip


def table(r: random.Random) -> bytes:
    """A CSV whose columns hold one kind of odd field, or several."""
    pools = [r.sample(FIELDS, r.randint(1, 3)) for _ in range(r.randint(1, 3))]
    names = ["prompt", "completion", "extra"][: len(pools)]
    made = [",".join(names)]
    for _ in range(r.randint(1, 6)):
        made.append(",".join(r.choice([one for one in pool if one != "1,000"] or ["x"]) for pool in pools))
    return ("\r\n" if r.random() < 0.2 else "\n").join(made).encode() + (b"\n" if r.random() < 0.8 else b"")


def odd_table(r: random.Random) -> bytes:
    return r.choice(
        (
            b"a,a\n1,2\n",
            b"a,b\n1\n2,3\n",
            b"a,b\n1,2,3\n4,5\n",
            b"a\n\n1\n",
            b"a,b\n,\n,\n",
            b"a,b\n,x\n1,y\n",
            b"\xef\xbb\xbfa,b\n1,2\n",
            b"a,b\n1,\xff\n",
            b"a,b\n",
            b"",
            b",a\n0,x\n1,y\n",
            b"a;b\n1;2\n",
            b'a,b\n"x,y\n1,2\n',
            b"a,b\n# c,d\n",
            b'"a ", b\n1,2\n',
            b"a,b\ntrue,1\nfalse,\n",
            b"a,b\nTrue,1\nx,2\n",
        )
    )


FAMILIES: dict[str, tuple[str, int, Callable[[random.Random], Rows | bytes]]] = {
    "plain": ("jsonl", 10, plain),
    "dates": ("jsonl", 24, dates),
    "missing": ("jsonl", 16, missing),
    "tools": ("jsonl", 16, tools),
    "mixed": ("jsonl", 48, mixed),
    "typed": ("jsonl", 16, typed),
    "numbers": ("jsonl", 12, numbers),
    "nulls": ("jsonl", 12, nulls),
    "array": ("json", 16, mixed),
    "array_dates": ("json", 8, dates),
    "raw": ("json", 48, raw),
    "blocks": ("jsonl", 9, blocks),
    "table": ("csv", 72, table),
    "odd_table": ("csv", 24, odd_table),
    "beside": ("jsonl", 120, beside),
    "beside_array": ("json", 40, beside),
    "late": ("jsonl", 40, late),
    "orders": ("jsonl", 40, orders),
    "tools_two": ("jsonl", 30, tools),
    "mixed_two": ("jsonl", 60, mixed),
    "fractions": ("jsonl", 120, fractions),
    "fractions_array": ("json", 24, fractions),
}


def write(folder: Path) -> list[Path]:
    """Every file; the same each time."""
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for family, (ending, count, make) in FAMILIES.items():
        for number in range(count):
            found = make(random.Random(f"sftui {family} {number}"))
            if not isinstance(found, bytes):
                found = json.dumps(found, ensure_ascii=False).encode() if ending == "json" else lines(found)
            path = folder / f"{family}-{number:02}.{ending}"
            path.write_bytes(found)
            made.append(path)
    return made
