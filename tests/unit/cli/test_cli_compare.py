"""`sftui compare`: what --with means, what is printed, and the exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TOK = ("-t", "builtin:chatml")


@pytest.fixture
def chats(tmp_path: Path) -> Path:
    """Three rows of one or two turns; the last one ends with the user."""
    path = tmp_path / "chats.jsonl"
    turns = [("user", "Hello?"), ("assistant", "Hi."), ("user", "And?"), ("assistant", "Well.")]
    rows = [{"messages": [{"role": role, "content": text} for role, text in turns[:n]]} for n in (2, 4, 3)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_recipe_equals_itself(sftui: Callable[..., Any], chats: Path) -> None:
    done = sftui("compare", chats, *TOK, "--with", "hf-trainer")
    assert done.code == 0 and "nothing differs in 3 rows" in done.out


def test_differing_labels_are_counted_and_shown(sftui: Callable[..., Any], chats: Path) -> None:
    done = sftui("compare", chats, *TOK, "--with", "mask.terminator=mask", "--width", "80")
    assert done.code == 1
    assert "2 of 3 rows differ, in 2 tokens (2 by label, 0 by id)" in done.out
    assert (
        "row 0\n" in done.out
        and "≠" in done.out
        and "A hf-trainer" in done.out
        and "B mask.terminator=mask" in done.out
    )
    assert max(len(line) for line in done.out.splitlines()) <= 80


def test_json_names_sides_rows_and_columns(sftui: Callable[..., Any], chats: Path) -> None:
    done = sftui("compare", chats, *TOK, "--with", "mask.terminator=mask", "--format", "json", "--show", "1")
    [made] = done.records()
    assert (made["rows"], made["differing_rows"], made["differing_tokens"], made["labels_differing"]) == (3, 2, 2, 2)
    assert [side["name"] for side in made["sides"]] == ["hf-trainer", "mask.terminator=mask"]
    assert made["sides"][0]["trained"] == made["sides"][1]["trained"] + 2 and made["sides"][0]["dropped"] == 1
    [[one, other]] = made["first"][0]["columns"]
    assert one["ids"] == one["labels"] == other["ids"] and other["labels"] == [-100]


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ("trl@1.16", "B trl@1.16 "),
        ("trl@1.16 mask.rule=all", "B trl@1.16 mask.rule=all"),
        ("axolotl", "B axolotl@0.21 "),
        ("unsloth length.max=64", "B unsloth@2026.10 length.max=64"),
        ("tokenizer=builtin:llama3", "by id)"),
        ("template=llama3", "can be prepared on only some sides"),
        ("axolotl own.train_on_eos=last", "B axolotl@0.21 own.train_on_eos=last"),
    ],
)
def test_what_with_may_be(sftui: Callable[..., Any], chats: Path, other: str, told: str) -> None:
    done = sftui("compare", chats, *TOK, "--with", other)
    assert done.code in (0, 1) and told in done.out


def test_with_may_be_a_recipe_or_a_trainers_config(sftui: Callable[..., Any], chats: Path, tmp_path: Path) -> None:
    recipe, config = tmp_path / "mine.yaml", tmp_path / "axolotl.yml"
    recipe.write_text("preset: hf-trainer\nmask: {terminator: mask}\n")
    config.write_text(
        f"base_model: builtin:chatml\nsequence_len: 512\ndatasets:\n- {{path: {chats}, type: chat_template}}\n"
    )
    done = sftui("compare", chats, *TOK, "--with", recipe, "--with", config)
    assert done.code == 1 and "B mine.yaml" in done.out and "C axolotl.yml" in done.out


def test_only_some_rows_are_compared_on_request(sftui: Callable[..., Any], chats: Path) -> None:
    def rows(*words: str) -> int:
        return int(
            sftui("compare", chats, *TOK, "--with", "mask.terminator=mask", "--format", "json", *words).records()[0][
                "rows"
            ]
        )

    assert (
        rows("--max-rows", "1"),
        rows("--sample", "2"),
        rows("--sample", "9"),
        rows("--max-rows", "2", "--sample", "9"),
    ) == (1, 2, 3, 2)


def test_a_row_that_one_side_drops_is_counted_apart(sftui: Callable[..., Any], chats: Path) -> None:
    done = sftui("compare", chats, *TOK, "--with", "axolotl@0.19", "--format", "json", "--show", "9")
    [made] = done.records()
    assert made["one_sided_rows"] == 1
    assert [row["row"] for row in made["first"] if not row["columns"] or row["sides"][0]["gone"]] == [2]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "--with"),
        (("--with", "tlr@1.16"), "did you mean `trl`?"),
        (("--with", "mask.rul=all"), "mask.rule"),
        (("--with", "none.yaml"), "cannot be read"),
        (("--with", "trl@1.16 axolotl"), "more than one starting point"),
        (("--with", "'open"), "is not valid"),
        (("--with", "tokenizer=builtin:chatlm"), "builtin:chatml"),
    ],
)
def test_mistakes_are_told(sftui: Callable[..., Any], chats: Path, words: tuple[str, ...], told: str) -> None:
    done = sftui("compare", chats, *TOK, *words)
    assert (done.code, done.out) == (2, "") and told in done.err and "bug" not in done.err


def test_hostile_rows_do_not_reach_the_terminal(sftui: Callable[..., Any], data: Path) -> None:
    done = sftui("compare", data, *TOK, "--with", "mask.terminator=mask", "--show", "9")
    assert done.code == 1 and not set(done.out) & set("\x1b\x07\x9b\u202e")


PARTS = {
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "Why?"}]},
        {"role": "assistant", "content": "So."},
    ]
}
"""The chat template cannot render it, whatever the mask."""


@pytest.mark.parametrize("failing", [1, 3])
def test_rows_that_fail_on_every_side_are_counted_apart(sftui: Callable[..., Any], chats: Path, failing: int) -> None:
    chats.write_text(json.dumps(PARTS) + "\n" + chats.read_text() + (json.dumps(PARTS) + "\n") * (failing - 1))
    done = sftui("compare", chats, *TOK, "--with", "mask.terminator=train", "--width", "200")
    assert done.code == 0
    fails = "1 row fails" if failing == 1 else "3 rows fail"
    assert f"nothing differs in 3 rows; besides, {fails} on every side\n" in done.out
    assert "row 0 cannot be compared: " in done.out and 'can only concatenate str (not "list")' in done.out
    [made] = sftui("compare", chats, *TOK, "--with", "mask.terminator=train", "--format", "json").records()
    assert (made["rows"], made["failing_rows"], made["first_failing"]["row"]) == (3 + failing, failing, 0)


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("sides", [("trl",), ("trl", "mask.rule=all")])
def test_a_comparison_in_which_no_row_could_be_prepared_is_none(
    sftui: Callable[..., Any], tmp_path: Path, sides: tuple[str, ...], form: str
) -> None:
    path = tmp_path / "parts.jsonl"
    path.write_text((json.dumps(PARTS) + "\n") * 3)
    done = sftui("compare", path, *TOK, *(word for one in sides for word in ("--with", one)), "--format", form)
    assert done.code == 2
    assert ("nothing could be compared: 3 rows fail on every side" in done.out) == (form == "text")


def test_rows_that_every_side_drops_are_not_compared_either(sftui: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    messages = [{"role": "user", "content": "x " * 80}, {"role": "assistant", "content": "Yes."}]
    path.write_text(json.dumps({"messages": messages}) + "\n")
    drops = ("--set", "length.max=20", "--set", "length.over=drop")
    done = sftui("compare", path, *TOK, *drops, "--with", "mask.rule=all", "--width", "200")
    assert done.code == 2 and "nothing could be compared: 1 row is dropped on every side" in done.out


def test_data_without_rows_cannot_be_compared(sftui: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "none.json"
    path.write_text("[]")
    assert sftui("compare", path, *TOK, "--with", "trl").code == 2
