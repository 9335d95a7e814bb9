"""`sftui compare`: why sides differ, cause by cause."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sftui.comparison.causes import TOKENIZER

TOK = ("-t", "builtin:chatml")


@pytest.fixture
def chats(tmp_path: Path) -> Path:
    """Two short rows of one turn, two of two turns, and a long one."""
    path = tmp_path / "chats.jsonl"
    turns = [("user", "Hello?"), ("assistant", "Hi."), ("user", "And?"), ("assistant", "Well.")]
    rows = [{"messages": [{"role": role, "content": text} for role, text in turns[:n]]} for n in (2, 2, 4, 4)]
    rows.append({"messages": [{"role": "user", "content": "x " * 80}, {"role": "assistant", "content": "Yes."}]})
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    return path


def causes_of(sftui: Callable[..., Any], chats: Path, *more: str) -> list[tuple[int, list[str]]]:
    [made] = sftui("compare", chats, *TOK, *more, "--format", "json", "--show", "0").records()
    return [(one["rows"], [setting["name"] for setting in one["settings"]]) for one in made["causes"]]


def test_rows_are_grouped_by_what_makes_them_differ(sftui: Callable[..., Any], chats: Path) -> None:
    assert causes_of(sftui, chats, "--with", "mask.rule=assistant length.max=40 mask.boundary=common_prefix") == [
        (2, ["mask.rule"]),
        (1, ["length.max"]),
    ]


def test_a_setting_that_changes_nothing_is_no_cause(sftui: Callable[..., Any], chats: Path) -> None:
    assert causes_of(sftui, chats, "--with", "tokenizer=builtin:llama3 length.max=4000") == [(5, [TOKENIZER])]
    assert causes_of(sftui, chats, "--with", "length.max=4000") == []


def test_each_side_is_explained_beside_the_first(sftui: Callable[..., Any], chats: Path) -> None:
    done = sftui("compare", chats, *TOK, "--with", "mask.rule=all", "--with", "trl", "--width", "80", "--show", "0")
    assert "why B differs from A (5 of 5 differing rows)" in done.out
    assert "5 rows: A trains" in done.out and "why C differs from A" in done.out
    assert "trainer  A hf-trainer · C trl@1.16" in done.out and "(follows from it; trl" in done.out
    assert max(len(text) for text in done.out.splitlines()) <= 80


def test_only_as_many_rows_are_looked_at_as_asked(sftui: Callable[..., Any], chats: Path) -> None:
    told = sftui("compare", chats, *TOK, "--with", "mask.rule=all", "--causes", "2", "--show", "0").out
    assert "(2 of 5 differing rows)" in told
    assert "why" not in sftui("compare", chats, *TOK, "--with", "mask.rule=all", "--causes", "0", "--show", "0").out


def test_the_keys_of_either_trainer_stand_beside_the_values(sftui: Callable[..., Any], chats: Path) -> None:
    told = sftui("compare", chats, *TOK, "--trainer", "trl", "--with", "trl length.max=40", "--show", "0").out
    assert "length.max  A 1024 · B 40  (trl: max_length)" in told


ONLY_LAST = "only the last answer with its end and what follows it"


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        ("hf-trainer", "trl", f"A trains {ONLY_LAST}; C every token"),
        ("trl", "hf-trainer", f"A trains every token; C {ONLY_LAST}"),
        ("hf-trainer", "axolotl", f"A trains {ONLY_LAST}; C only the answers with their ends"),
        (
            "hf-trainer",
            "llamafactory",
            f"A trains {ONLY_LAST}; C only the answers with their ends and what follows them",
        ),
        ("trl", "verl", "A trains every token; C only the answers with their ends and what follows them"),
        (
            "axolotl",
            "nemo-automodel",
            "A trains only the answers with their ends; C only the answers with their headers, their ends and what"
            " follows them",
        ),
    ],
)
def test_what_each_trainer_does_is_said_in_words(
    sftui: Callable[..., Any], chats: Path, one: str, other: str, told: str
) -> None:
    chats.write_text("\n".join(chats.read_text().splitlines()[2:4]) + "\n")
    words = (*TOK, "--trainer", one, "--with", "mask.ignore_index=-100", "--with", other, "--show", "0")
    assert f"    {told}\n" in sftui("compare", chats, *words, "--width", "240").out
    [made] = sftui("compare", chats, *words, "--format", "json").records()
    a, b = told.removeprefix("A trains ").split("; C ")
    assert ["trains " + a, "trains " + b] in [cause["does"] for cause in made["causes"]]
