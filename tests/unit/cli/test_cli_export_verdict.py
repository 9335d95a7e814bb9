"""`sftui export` of data of which no answer reaches the model says so first, and writes nothing without --force."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sftui.trainers import TRAINERS

KNOWN = """\
Be helpful.
{% for m in messages %}{% if m.role in ("user", "assistant") %}<|im_start|>{{ m.role }}
{{ m.content }}<|im_end|>
{% endif %}{% endfor %}"""
"""A template that leaves out what other roles say."""
ALIASES = {"messages": [{"role": "human", "content": "Why?"}, {"role": "gpt", "content": "Because it is so."}]}
GOOD = {"messages": [{"role": "user", "content": "Why?"}, {"role": "assistant", "content": "Because it is so."}]}
PAIR = {"prompt": "What is two and two?", "completion": " It is four."}
TEXT = {"text": "Once upon a time."}


def written(folder: Path, *rows: dict[str, Any]) -> Path:
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "known.jinja").write_text(KNOWN)
    return path


LOST: tuple[tuple[str, str, list[dict[str, Any]], tuple[str, ...], str], ...] = (
    ("trl", "recipe", [ALIASES] * 3, ("--template", "known.jinja"), "no answer reaches the model in all 3 rows"),
    ("trl", "trl", [ALIASES] * 3, ("--template", "known.jinja"), "no answer reaches the model in all 3 rows"),
    ("trl", "unsloth", [ALIASES] * 3, ("--template", "known.jinja"), "no answer reaches the model in all 3 rows"),
    ("trl", "recipe", [PAIR] * 2, ("--max-length", "3"), "no answer is trained in all 2 rows"),
    ("trl", "trl", [PAIR] * 2, ("--max-length", "3"), "no answer is trained in all 2 rows"),
    ("hf-trainer", "preprocess", [GOOD] * 2, ("--max-length", "3"), "no answer is trained in all 2 rows"),
    ("axolotl", "axolotl", [GOOD] * 2, ("--max-length", "3"), "the trainer drops all 2 rows"),
)


@pytest.mark.parametrize(("trainer", "to", "rows", "options", "told"), LOST, ids=lambda one: str(one)[:20])
def test_nothing_is_written_of_data_without_an_answer(
    sftui: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    trainer: str,
    to: str,
    rows: list[dict[str, Any]],
    options: tuple[str, ...],
    told: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    command = ("export", written(tmp_path, *rows), "-t", "builtin:chatml", "--trainer", trainer, *options, "--to", to)
    done = sftui(*command, "-o", "out")
    assert done.code == 1 and done.out == "" and not (tmp_path / "out").exists(), done.err
    assert f"sftui: {told}" in done.err
    asked = f"sftui check --trainer {to}" if to in TRAINERS and to != trainer else "sftui check"
    assert f"nothing was written: `{asked}` says why" in done.err and "; --force writes it anyway" in done.err
    forced = sftui(*command, "-o", "out", "--force")
    assert forced.code == 0 and list((tmp_path / "out").iterdir()), forced.err
    assert f"sftui: {told}" in forced.err and "nothing was written" not in forced.err
    assert forced.err.index(told) < forced.err.index("the starting recipe"), "the verdict comes first"


@pytest.mark.parametrize(
    ("to", "rows"),
    [
        *((to, rows) for to in ("recipe", "trl", "axolotl") for rows in ([GOOD] * 2, [ALIASES, ALIASES, GOOD])),
        *((to, rows) for to in ("recipe", "trl") for rows in ([PAIR], [TEXT] * 2)),
    ],
    ids=lambda one: str(one)[:20],
)
def test_data_of_which_an_answer_is_trained_is_exported_without_a_word(
    sftui: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: list[dict[str, Any]], to: str
) -> None:
    monkeypatch.chdir(tmp_path)
    path = written(tmp_path, *rows)
    kind = () if "messages" not in rows[0] else ("--template", "known.jinja")
    done = sftui("export", path, "-t", "builtin:chatml", "--trainer", "trl", *kind, "--to", to, "-o", "out")
    assert done.code == 0, done.err
    assert "no answer" not in done.err and "nothing was written" not in done.err


def test_the_first_rows_alone_are_looked_at_on_request(
    sftui: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = written(tmp_path, ALIASES, ALIASES, GOOD)
    command = ("export", path, "-t", "builtin:chatml", "--trainer", "trl", "--template", "known.jinja", "--to", "trl")
    assert sftui(*command, "-o", "out").code == 0
    done = sftui(*command, "-o", "two", "--max-rows", "2")
    assert done.code == 1 and "in all 2 rows" in done.err and "(in the first 2 rows)" in done.err


@pytest.mark.parametrize(("role", "maps"), [("human", True), ("poet", False)])
def test_roles_that_another_trainer_leaves_are_told_with_what_was_tried(
    sftui: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, role: str, maps: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    turns = [{"role": role, "content": "Why?"}, {"role": "assistant", "content": "Because it is so."}]
    words = ("export", written(tmp_path, {"messages": turns}), "-t", "builtin:chatml", "--trainer", "hf-trainer")
    done = sftui(*words, "--set", "data.role_map={human: user, poet: user}", "--to", "mlx-lm", "-o", "out", "--force")
    assert f"mlx-lm keeps the roles {role} as they are in the data" in done.err, done.err
    assert ("--apply map-roles` maps them (tried on row 0)" in done.err) == maps


def test_a_refused_export_says_what_was_tried_and_what_was_not(
    sftui: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = written(tmp_path, {"dialog": GOOD["messages"]})
    words = ("export", rows, "-t", "builtin:chatml", "--trainer", "axolotl", "--set", "data.format=messages")
    done = sftui(*words, "--to", "axolotl", "-o", "out")
    assert done.code == 2 and "set field_messages: dialog (tried on the first rows)" in done.err, done.err
    done = sftui("export", written(tmp_path, ALIASES), "-t", "builtin:chatml", "--to", "nemo-automodel", "-o", "out")
    assert done.code == 2 and "rename the role" in done.err and "(not tried)" in done.err, done.err
