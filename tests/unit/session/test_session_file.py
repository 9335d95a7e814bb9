"""Session files: what is written opens the same again, what cannot be read is said with its line."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from sftui.errors import RecipeError
from sftui.recipe import changed, get
from sftui.session.arguments import Arguments
from sftui.session.command_line import InForce
from sftui.session.options import OpenOptions, state_folder
from sftui.session.session_file import (
    as_yaml,
    is_session,
    last_sessions,
    leave,
    over,
    read_session,
    session_named,
    session_tree,
)

CHAT = '{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}]}\n'


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OpenOptions:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    Path("rows.jsonl").write_text(CHAT)
    Path("t.jinja").write_text("{{ messages[0].content }}")
    named = Arguments(data=("rows.jsonl",), tokenizer="builtin:chatml", trainer="trl@1.16", template="t.jinja")
    return named.options()[0]


def state(options: OpenOptions) -> InForce:
    recipe = changed(changed(options.recipe, "length.max", 99), "mask.roles", ("assistant", "user"))
    recipe = changed(recipe, "waivers", ({"code": "TRU001", "reason": "known: 1"},))
    return InForce(options, recipe, ("trim", "drop empty"), 0, 'text != "x: y"', None, {}, "findings")


def test_a_session_says_the_options_by_their_names(options: OpenOptions, tmp_path: Path) -> None:
    assert as_yaml(session_tree(state(options), tmp_path), "s.yml").splitlines() == [
        "# `sftui s.yml` opens this again; review marks stay with the data",
        "sftui_session: 1",
        "data: [rows.jsonl]",
        "tokenizer: builtin:chatml",
        "trainer: trl@1.16",
        "max_length: 99",
        "set:",
        "  mask.roles: [assistant, user]",
        "where: 'text != \"x: y\"'",
        "apply: [trim, drop empty]",
        "template: file:t.jinja",
        "waivers:",
        "- {code: TRU001, reason: 'known: 1'}",
        "view: findings",
        "row: 0",
    ]


def test_it_opens_the_same_from_another_folder(
    options: OpenOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = state(options)
    (tmp_path / "s.yml").write_text(as_yaml(session_tree(now, tmp_path), "s.yml"))
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "s.yml").write_text(as_yaml(session_tree(now, tmp_path / "below"), "s.yml"))
    monkeypatch.chdir(tmp_path / "below")
    for name in ("../s.yml", "s.yml"):
        saved = session_named((name,))
        assert saved is not None and (saved.arguments.where, saved.view) == (now.where, "findings")
        again = saved.arguments.options()[0]
        assert Path(again.paths[0]).resolve() == tmp_path / "rows.jsonl"
        assert Path(again.recipe.render.template.removeprefix("file:")).resolve() == tmp_path / "t.jinja"
        assert changed(again.recipe, "render.template", "x") == changed(now.recipe, "render.template", "x")
        assert again.repairs == now.repairs


def test_options_of_the_command_line_come_on_top(options: OpenOptions, tmp_path: Path) -> None:
    Path("s.yml").write_text(as_yaml(session_tree(state(options), tmp_path), "s.yml"))
    said = Arguments(data=("s.yml",), max_length=7, knobs=(("mask.roles", "assistant"),))
    found = over(read_session("s.yml"), said).options()[0]
    assert (found.paths, found.recipe.length.max, get(found.recipe, "mask.roles")) == (
        ("rows.jsonl",),
        7,
        ("assistant",),
    )


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("sftui_session: 1\ndata: [a\n", 3, "is not valid YAML"),
        ("sftui_session: 2\n", 1, "a newer sftui wrote it"),
        ("sftui_session: yes please\n", 1, "give a whole number"),
        ("sftui_session: 1\ndata: [a.jsonl]\ntokeniser: x\n", 3, "no `tokeniser`, did you mean `tokenizer`?"),
        ("sftui_session: 1\ndata: a.jsonl\n", 2, "give a list of texts"),
        ("sftui_session: 1\nrow: -1\n", 2, "`row` cannot be -1"),
        ("sftui_session: 1\nrow: true\n", 2, "`row` cannot be True"),
        ("sftui_session: 1\nset: [a]\n", 2, "give a mapping"),
        ("sftui_session: 1\nfields: {prompt: 1}\n", 2, "give a mapping"),
        ("sftui_session: 1\nwaivers: [a]\n", 2, "give a list of mappings"),
        ("sftui_session: 1\ndebug: true\n", 2, "a session has no `debug`"),
        ("sftui_session: 1\nenv: ./venv\n", 2, "cannot set `env`, because it would run code; give --env on the"),
        ("sftui_session: 1\ntransformers: 4.55.0\n", 2, "cannot set `transformers`"),
        ("sftui_session: 1\ndata: !!python/object:os.system [x]\n", 2, "python/object"),
    ],
)
def test_a_bad_file_gets_a_sentence_with_the_line(options: OpenOptions, text: str, line: int, words: str) -> None:
    Path("s.yml").write_text(text)
    with pytest.raises(RecipeError) as refused:
        session_named(("s.yml",))
    assert words in str(refused.value) and f"s.yml line {line}" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_knob_that_is_none_is_said_with_its_line(options: OpenOptions) -> None:
    Path("s.yml").write_text("sftui_session: 1\ndata: [rows.jsonl]\nset:\n  mask.rule: assistant\n  length.max: many\n")
    saved = read_session("s.yml")
    with pytest.raises(RecipeError) as refused:
        saved.arguments.options()
    assert str(saved.placed(refused.value)).startswith("s.yml line 5: `length.max`")


def test_other_yaml_is_no_session(options: OpenOptions) -> None:
    Path("axolotl.yml").write_text("base_model: x\nnote: sftui_session\n")
    assert not is_session("axolotl.yml") and session_named(("axolotl.yml",)) is None
    assert not is_session("missing.yml") and not is_session(".")
    Path("rows.txt").write_text("sftui_session: 1\n")
    assert session_named(("rows.txt",)) is None, "a name that ends otherwise is data"


def test_piped_rows_cannot_be_opened_again(options: OpenOptions) -> None:
    spooled = Path("sftui-stdin-x")
    spooled.mkdir()
    (spooled / "stdin.jsonl").write_text(CHAT)
    piped = OpenOptions((str(spooled / "stdin.jsonl"),), options.recipe)
    with pytest.raises(RecipeError, match="through a pipe"):
        session_tree(InForce(piped, options.recipe), Path())


def test_where_one_left_is_kept_newest_first_and_only_of_data_that_is_there(
    options: OpenOptions, tmp_path: Path
) -> None:
    for number, name in enumerate(("rows.jsonl", "gone.jsonl", "other.jsonl")):
        Path(name).write_text(CHAT)
        file = state_folder() / "sessions" / f"{number}.yml"
        leave(InForce(Arguments(data=(name,)).options()[0], options.recipe, row=number), file, ["1:2"])
        os.utime(file, (number, number))
    Path("gone.jsonl").unlink()
    (state_folder() / "sessions" / "bad.yml").write_text("{")
    found = last_sessions(5)
    assert [(Path(saved.arguments.data[0]).name, saved.row) for saved in found] == [
        ("other.jsonl", 2),
        ("rows.jsonl", 0),
    ]
    assert found[0].seen == ("1:2",) and last_sessions(1) == found[:1]
    assert json.loads(Path(found[0].path).read_text())["sftui_session"] == 1


def test_neither_a_password_nor_what_would_run_is_written(options: OpenOptions, tmp_path: Path) -> None:
    recipe = changed(options.recipe, "tokenizer.transformers", "4.55.0")
    named = replace(options, paths=("https://me:secret@example.org/rows.jsonl",), env="/home/me/venv")
    tree = session_tree(InForce(named, recipe), tmp_path)
    assert "secret" not in str(tree) and "venv" not in str(tree)
    assert tree["set"] == {"tokenizer.transformers": "4.55.0"}, "which ids are meant is no code"
