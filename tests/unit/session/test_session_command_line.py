"""What the inspector has in the words of a command line, and what no option says of it."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from sftui.recipe import changed
from sftui.session.arguments import Arguments
from sftui.session.command_line import InForce, commands_of
from sftui.session.options import OpenOptions

CHAT = '{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}]}\n'


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OpenOptions:
    monkeypatch.chdir(tmp_path)
    Path("-rows 1.jsonl").write_text(CHAT)
    return Arguments(data=("-rows 1.jsonl",), tokenizer="builtin:chatml", trainer="trl@1.16").options()[0]


def said(now: InForce) -> dict[str, str]:
    return {one.name: one.text for one in commands_of(now)}


def gaps(now: InForce) -> dict[str, tuple[str, ...]]:
    return {one.name: one.gaps for one in commands_of(now)}


def test_a_command_names_the_data_tokenizer_and_release(options: OpenOptions) -> None:
    start = "'./-rows 1.jsonl' -t builtin:chatml --trainer trl@1.16"
    assert said(InForce(options, options.recipe, row=7)) == {
        "show": f"sftui show {start} --row 7",
        "check": f"sftui check {start}",
        "encode": f"sftui encode {start} -o rows1-encoded.jsonl",
        "sftui": f"sftui {start} --row 7",
    }


def test_knobs_repairs_filters_and_marks_are_options(options: OpenOptions) -> None:
    recipe = changed(changed(options.recipe, "length.max", 99), "mask.roles", ("assistant", "user"))
    repairs = ("trim", "drop empty")
    now = InForce(options, recipe, repairs, 0, 'text == "it\'s"', "/m.jsonl", {"drop": 1})
    found = said(now)
    assert next(iter(found)) == "repair", "what was repaired comes first"
    words = shlex.split(found["repair"])
    for option, value in (("--max-length", "99"), ("--apply", "trim"), ("--drop", "empty"), ("--marks", "/m.jsonl")):
        assert words[words.index(option) + 1] == value
    assert words[words.index("--where") + 1] == 'text == "it\'s"'
    assert "--apply 'trim,drop empty'" in found["check"] and "--marks" not in found["check"]


def test_what_is_open_comes_first(options: OpenOptions) -> None:
    for view, name in (("", "show"), ("findings", "check"), ("packs", "encode"), ("waste", "waste")):
        assert next(iter(said(InForce(options, options.recipe, view=view)))) == name
    assert next(iter(said(InForce(options, options.recipe, where="row > 1")))) == "check"


def test_what_no_option_says_is_said(options: OpenOptions) -> None:
    waived = changed(options.recipe, "waivers", ({"code": "TRU001", "reason": "known"},))
    edit = 'edit 0 0123456789ab {"messages": []}'
    found = gaps(InForce(options, waived, (edit,), where="row > 1", view="batch", gaps=("the order (longest)",)))
    assert found["check"] == (
        "the order (longest)",
        "1 edit: edits of piped rows are not saved in a file",
        "1 waiver: no option sets one; x writes them to a recipe",
    )
    assert found["sftui"][-1] == "the open view (batch)"


def test_rows_of_a_pipe_have_to_be_piped_in_again(options: OpenOptions) -> None:
    spooled = Path("sftui-stdin-x")
    spooled.mkdir()
    (spooled / "stdin.jsonl").write_text(CHAT)
    piped = OpenOptions((str(spooled / "stdin.jsonl"),), options.recipe)
    found = commands_of(InForce(piped, options.recipe))[0]
    assert found.words[:2] == ("show", "-") and "the piped rows: pipe them in again" in found.gaps


def test_another_trainer_than_that_of_the_config_leaves_the_config_out(options: OpenOptions) -> None:
    Path("r.yaml").write_text("preset: axolotl\ntokenizer: {name: 'builtin:chatml'}\n")
    opened = Arguments(data=("-rows 1.jsonl",), recipe_file="r.yaml").options()[0]
    assert "--recipe r.yaml" in said(InForce(opened, opened.recipe))["show"]
    other = InForce(opened, options.recipe)
    assert "--trainer trl@1.16" in said(other)["show"] and "r.yaml" not in said(other)["show"]
    assert gaps(other)["show"] == ("the config r.yaml, which cannot be combined with trl@1.16",)


def test_a_password_in_an_address_is_not_copied(options: OpenOptions) -> None:
    secret = OpenOptions(("https://me:secret@example.org/rows.jsonl",), options.recipe)
    found = commands_of(InForce(secret, options.recipe))[0]
    assert "secret" not in found.text and "the password in a URL: fill it in" in found.gaps


def test_the_package_of_an_enabled_trainer_is_named(options: OpenOptions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFTUI_TRAINERS_FROM", "acme-sftui")
    assert "--trainers-from acme-sftui" in said(InForce(options, options.recipe))["check"]


@pytest.mark.parametrize("view", ["", "waste"])
def test_every_command_is_one_that_the_command_line_takes(options: OpenOptions, view: str) -> None:
    from sftui.cli.app import COMMANDS, inspect

    repairs, marks = ("trim", "edit 0 0123456789ab {}"), "/m.jsonl"
    now = InForce(options, options.recipe, repairs, 3, "row > 1", marks, {"drop": 1}, view)
    for found in commands_of(now):
        command = COMMANDS.get(found.words[0], inspect)
        words = list(found.words[command is not inspect :])
        given = command.make_context(found.name, words).params
        assert given["where"] == "row > 1" or found.name == "show", found.text
