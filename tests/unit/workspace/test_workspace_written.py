"""What `write_repaired` writes, whatever the rows are kept in."""

from __future__ import annotations

import csv
import datetime
import gzip
import json
from collections.abc import Callable
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sftui.errors import ExportError, RecipeError
from sftui.recipe import changed
from sftui.repairs.edits import edit_name
from sftui.session.opened import OpenData
from sftui.session.ready import open_data, tokenized, tokenizer_of
from sftui.session.repairing import WriteProgress, session_plan, write_repaired
from sftui.trainers import preset
from sftui.workspace import OpenOptions

FINE = (
    '{"id": 123456789012345678901234567890,  "x": 1.10, "k":1,"k":2, "messages": [{"role": "user", "content":'
    ' "q\\u00e9"}, {"role": "assistant", "content": "%s"}]}'
)
DIRTY = FINE.replace('"q', '" q')
NEXT = '{"id": 1e400, "messages": [{"role": "user", "content": "r"}, {"role": "assistant", "content": "é"}]}'
TOKENIZED = changed(preset(), "tokenizer.name", "builtin:chatml")
BROKEN = b'{"messages": ["\xff'


def written(
    paths: list[Path], out: Path, chosen: tuple[str, ...] = ("trim",), log: Path | None = None, **more: Any
) -> WriteProgress:
    session = open_data(OpenOptions(tuple(map(str, paths)), **more))
    if session.recipe.tokenizer.name:
        session = tokenized(session, "provisional")
    try:
        *_, last = write_repaired(session, session_plan(tokenizer_of(session), chosen), out, log)
    finally:
        session.close()
    return last


def plain(folder: Path, lines: bytes) -> list[Path]:
    (folder / "d.jsonl").write_bytes(lines)
    return [folder / "d.jsonl"]


def packed(folder: Path, lines: bytes) -> list[Path]:
    (folder / "d.jsonl.gz").write_bytes(gzip.compress(lines))
    return [folder / "d.jsonl.gz"]


def zstd(folder: Path, lines: bytes) -> list[Path]:
    import pyarrow as pa

    (folder / "d.jsonl.zst").write_bytes(pa.compress(lines, codec="zstd", asbytes=True))
    return [folder / "d.jsonl.zst"]


def several(folder: Path, lines: bytes) -> list[Path]:
    rows = lines.splitlines(keepends=True)
    (folder / "a.jsonl").write_bytes(b"".join(rows[:1]))
    (folder / "b.jsonl.gz").write_bytes(gzip.compress(b"".join(rows[1:])))
    return [folder / "a.jsonl", folder / "b.jsonl.gz"]


def directory(folder: Path, lines: bytes) -> list[Path]:
    inner = folder / "data"
    inner.mkdir(exist_ok=True)
    several(inner, lines)
    return [inner]


CONTAINERS = [plain, packed, zstd, several, directory]


@pytest.mark.parametrize("container", CONTAINERS)
def test_untouched_rows_keep_every_byte_whatever_they_are_kept_in(
    container: Callable[..., list[Path]], tmp_path: Path
) -> None:
    large = FINE % ("x" * 1_200_000)
    lines = [
        (FINE % "a").encode() + b"\r\n",
        large.encode() + b"\n",
        BROKEN + b"\n",
        (DIRTY % "b").encode() + b"\n",
        NEXT.encode() + b"\n",
    ]
    last = written(container(tmp_path, b"".join(lines)), tmp_path / "out.jsonl")
    assert (tmp_path / "out.jsonl").read_bytes() == b"".join(lines).replace(b'" q', b'"q')
    assert last.counts.changed == 1 and last.lost == 0


def test_rows_of_a_list_keep_all_but_their_line_breaks(tmp_path: Path) -> None:
    rows = [FINE % "a", DIRTY % "b", NEXT]
    (tmp_path / "d.json").write_text(
        "[\n  " + ",\n  ".join(row.replace(', "messages"', ',\n    "messages"') for row in rows) + "\n]\n"
    )
    written([tmp_path / "d.json"], tmp_path / "out.jsonl")
    assert (tmp_path / "out.jsonl").read_text().splitlines() == [row.replace('" q', '"q') for row in rows]


def test_a_list_of_texts_and_a_list_inside_an_object(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text('[ "a \\u00e9",\n"</s>b" ]')
    written([tmp_path / "t.json"], tmp_path / "out.jsonl", ("strip-tokens",))
    assert (tmp_path / "out.jsonl").read_text() == '{"text": "a \\u00e9"}\n{"text": "b"}\n'
    (tmp_path / "d.json").write_text('{\n"version": 1, "data": [\n' + FINE % "a" + ",\n" + DIRTY % "b" + "]}")
    written([tmp_path / "d.json"], tmp_path / "out.jsonl", rows_in="data")
    assert (tmp_path / "out.jsonl").read_text().splitlines() == [FINE % "a", FINE % "b"]


CELL = st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=4), st.none())


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(
        st.tuples(CELL, st.sampled_from(["a", " a", "é"]), st.booleans(), st.sampled_from(["\n", "\r\n", "\n\n"])),
        min_size=2,
        max_size=5,
    )
)
@pytest.mark.parametrize("container", CONTAINERS)
def test_any_untouched_row_keeps_every_byte(
    container: Callable[..., list[Path]], tmp_path: Path, rows: list[Any]
) -> None:
    lines = []
    for cell, content, spaced, end in rows:
        data = {"x": cell, "messages": [{"role": "user", "content": content}]}
        lines.append((json.dumps(data, ensure_ascii=content == "a", separators=None if spaced else (",", ":")), end))
    out = tmp_path / "out.jsonl"
    written(container(tmp_path, "".join(map("".join, lines)).encode("utf-8", "surrogatepass")), out)
    made = out.read_bytes().split(b"\n")[:-1]
    assert len(made) == len(lines)
    for (line, end), (_, content, *_), new in zip(lines, rows, made):
        assert content == " a" or new + b"\n" == (line + end.replace("\n\n", "\n")).encode()
        assert content != " a" or new == line.replace('" a"', '"a"').encode()
    again = out.with_name("again.jsonl")
    assert written([out], again).counts.changed == 0 and again.read_bytes() == out.read_bytes()


def parquet(path: Path, **columns: Any) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    size = len(next(iter(columns.values())))
    messages = [
        [{"role": "user", "content": "q"}, {"role": "assistant", "content": f"a{number}"}] for number in range(size)
    ]
    pq.write_table(pa.table({"messages": messages, **columns}), path)
    return path


@pytest.mark.parametrize(
    ("column", "place"),
    [
        ([{"bytes": b"\x89PNG", "path": None}], "image.bytes"),
        ([b"\x00"], "image"),
        ([[{"bytes": b"a"}]], "image[0].bytes"),
    ],
)
def test_binary_data_is_refused(tmp_path: Path, column: Any, place: str) -> None:
    path = parquet(tmp_path / "d.parquet", image=column)
    with pytest.raises(ExportError) as caught:
        written([path], tmp_path / "out.jsonl", log=tmp_path / "log.jsonl")
    assert f"`{place}` is binary data" in str(caught.value) and "d.parquet row 0" in str(caught.value)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["d.parquet"]


def test_values_that_json_has_not(tmp_path: Path) -> None:
    path = parquet(
        tmp_path / "d.parquet",
        score=[0.5, float("nan"), float("-inf")],
        day=[datetime.date(2026, 1, 2)] * 3,
        price=[Decimal("1.10")] * 3,
        at=[datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc)] * 3,
        image=[None] * 3,
    )
    last = written([path], tmp_path / "out.jsonl", log=tmp_path / "log.jsonl")
    rows = [json.loads(line, parse_constant=pytest.fail) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [row["score"] for row in rows] == [0.5, None, None]
    assert (rows[0]["day"], rows[0]["price"], rows[0]["at"], rows[0]["image"]) == (
        "2026-01-02",
        "1.10",
        "2026-01-02T03:04:05+00:00",
        None,
    )
    assert last.counts.by_repair == {"nan-to-null": 2} and last.counts.changed == 2
    told = [json.loads(line)["changes"] for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [(one["place"], one["what"]) for some in told for one in some] == [
        ("score", "nan, which JSON cannot represent, became null"),
        ("score", "-inf, which JSON cannot represent, became null"),
    ]


def test_rows_that_could_not_be_looked_at_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text(
        "".join(line + "\n" for line in (NEXT, NEXT.replace('"user"', '"User"'), '{"messages": 3}', '{"messages": ['))
    )
    last = written(
        [path],
        tmp_path / "out.jsonl",
        ("drop ROL002",),
        tmp_path / "log.jsonl",
        recipe=TOKENIZED,
    )
    assert (
        dict(last.counts.by_repair) == {"drop ROL002": 1, "not looked at": 2}
        and last.counts.dropped == 1
        and last.counts.changed == 0
    )
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 3
    told = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert (
        [one["row"] for one in told] == [1, 2, 3]
        and all(one["unchecked"] for one in told[1:])
        and "unchecked" not in told[0]
    )
    last = written([path], tmp_path / "out.jsonl", ("drop ROW",), recipe=TOKENIZED)
    assert last.counts.dropped >= 1


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("DUP001", "--apply deduplicate"),
        ("EOS008", "setup"),
        ("LAB009", "whole dataset"),
        ("DUP", "--apply deduplicate"),
        ("dup004", "whole dataset"),
        ("gen009", "setup"),
    ],
)
def test_a_code_that_no_row_has_cannot_drop_one(tmp_path: Path, code: str, told: str) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text(NEXT + "\n")
    with pytest.raises(RecipeError) as caught:
        written([path], tmp_path / "out.jsonl", (f"drop {code}",))
    assert told in str(caught.value) and f"`{code.upper()}`" in str(caught.value)


SHAPES: dict[str, Callable[[str, str], dict[str, Any]]] = {
    "messages": lambda asked, said: {
        "messages": [{"role": "user", "content": asked}, {"role": "assistant", "content": said}]
    },
    "sharegpt": lambda asked, said: {
        "conversations": [{"from": "human", "value": asked}, {"from": "gpt", "value": said}]
    },
    "completion": lambda asked, said: {"prompt": asked, "completion": said},
    "alpaca": lambda asked, said: {"instruction": asked, "input": "Say it.", "output": said},
}


def ids_of(session: OpenData) -> list[Any]:
    made = (session.inspect(at).example for at in range(50))
    return [example.input_ids for example in made if example is not None]


@pytest.mark.parametrize(
    ("shape", "store"),
    [*product(SHAPES, ("jsonl", "json", "parquet")), ("completion", "csv"), ("alpaca", "csv")],
)
def test_edited_rows_are_written_as_they_are_shown(tmp_path: Path, shape: str, store: str) -> None:
    """Fifty rows of each shape: the file stays, the copy has the edits, and gives the ids that were shown."""
    make = SHAPES[shape]
    rows = [make(f"What is {at}?", f"It is {at}, teh end.") for at in range(50)]
    path, out = tmp_path / f"d.{store}", tmp_path / "out.jsonl"
    if store == "parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.Table.from_pylist(rows), path)
    elif store == "csv":
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    else:
        path.write_text(json.dumps(rows) if store == "json" else "".join(json.dumps(row) + "\n" for row in rows))
    before = path.read_bytes()
    stored = open_data(OpenOptions((str(path),)))
    edited = {at: make(f"What is {at}?", f"It is {at}, the end.") for at in range(0, 50, 2)}
    names = tuple(edit_name(stored.row(at), record) for at, record in edited.items())
    stored.close()
    options = OpenOptions((str(path),), recipe=TOKENIZED)
    shown = tokenized(open_data(options, repairs=names), "provisional")
    ids = ids_of(shown)
    assert [bool(shown.row(at).repairs) for at in range(50)] == [at in edited for at in range(50)]
    shown.close()
    assert written([path], out, names).counts.changed == 25
    assert [json.loads(line) for line in out.read_text().splitlines()] == [edited.get(at, rows[at]) for at in range(50)]
    copy = tokenized(open_data(OpenOptions((str(out),), recipe=TOKENIZED)), "provisional")
    assert ids_of(copy) == ids and len(ids) == 50
    copy.close()
    assert path.read_bytes() == before
