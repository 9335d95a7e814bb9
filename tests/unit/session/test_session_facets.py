"""Facets: how many rows have each value, and the filter that lists just these."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from sftui.recipe import changed
from sftui.session import facets
from sftui.session.facets import Facets, MatchingRows, filter_of
from sftui.session.options import OpenOptions
from sftui.session.ready import Ready, open_data, tokenized
from sftui.trainers import preset

ODD: list[Any] = [
    *(
        "web",
        "web",
        "book",
        "",
        "None",
        "0",
        "a\x1b[31mred\n",
        "quote ' and \"",
        "\ud800",
        "ünï→",
        "x" * 400,
        "x" * 401,
    ),
    *(None, True, False, 0, 1, 1.0, -3, 2.5, 1e300, [], ["a", "b"], ["a", ["b", None]], {"k": 1}, [{"k": 1}], 10**40),
]


@contextmanager
def opened(folder: Path, values: list[Any]) -> Iterator[Ready]:
    path = folder / "rows.jsonl"
    chat = [{"role": "user", "content": "Hello?"}, {"role": "assistant", "content": "Hi."}]
    rows = [{"messages": chat[: 2 - (n % 5 == 4)], "v": value} for n, value in enumerate(values)]
    path.write_text("".join(json.dumps(row) + "\n" for row in [*rows, {"messages": chat}]))
    recipe = changed(preset("hf-trainer"), "tokenizer.name", "builtin:chatml")
    with closing(tokenized(open_data(OpenOptions((str(path),), recipe))).ready()) as session:
        yield session


def count(session: Ready, text: str) -> Facets:
    counted = Facets(session, text, {0: "keep", 3: "drop"})
    for row in session.rows():
        counted.add(row)
    return counted


def rows_of(session: Ready, where: str) -> int:
    wanted = MatchingRows(session, filter_of(session, where), {0: "keep", 3: "drop"})
    return sum(map(wanted.add, session.rows()))


@pytest.mark.parametrize(
    "text", ["v", 'data["v"]', "roles", "codes", "outcome", "marked", "turns > 1", "len(messages)"]
)
def test_the_filter_of_a_value_lists_the_rows_that_were_counted(tmp_path: Path, text: str) -> None:
    with opened(tmp_path, ODD) as session:
        counted = count(session, text)
        found = counted.most(99)
        assert [one.rows for one in found] == [rows_of(session, one.where) if one.where else one.rows for one in found]
        assert all(one.where for one in found) or text in ("v", 'data["v"]')
        assert all(one.shown.isprintable() and len(one.shown) <= facets.LONGEST_SHOWN for one in found)
        if text != "codes":
            assert sum(one.rows for one in found) + sum(counted.unknown.values()) == counted.rows == len(ODD) + 1


def test_values_that_no_filter_can_name_are_counted_apart(tmp_path: Path) -> None:
    with opened(tmp_path, ODD) as session:
        counted = count(session, "v")
        unnamed = sorted(one.shown[:3] for one in counted.most(99) if not one.where)
        assert unnamed == sorted(["xxx", "xxx", '{"k', '[{"'])
        assert counted.unknown == {"no key `v`": 1}
        by = {one.shown: one.rows for one in counted.most(99)}
        assert by["web"] == 2 and by["1"] == 2 and by["True"] == 1 and by["a → b"] == 1 and by['""'] == 1


def test_many_values_are_bounded_and_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facets, "MOST_VALUES", 3)
    with opened(tmp_path, ["a", "b", "c", "d", "a", "e"]) as session:
        counted = count(session, "v")
        assert counted.different == 3 and counted.others == 2 and counted.most(1)[0].shown == "a"
        assert next(iter(counted.sentences())) == "at least 3 values of v in 7 rows"
        assert "2 rows with values that first appear after 3 others" in list(counted.sentences())[-1]
