"""What the command line understands, and what it says where it does not."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sftui.trainers import TRAINERS

TOK = ("-t", "builtin:chatml")


def test_sftui_alone_says_what_to_try(sftui: Callable[..., Any]) -> None:
    done = sftui()
    assert done.code == 0 and "sftui demo" in done.out and "sftui data.jsonl -t" in done.out


@pytest.mark.parametrize("command", [(), ("demo",), ("show",), ("encode",), ("export",)])
def test_every_command_has_help(sftui: Callable[..., Any], command: tuple[str, ...]) -> None:
    done = sftui(*command, "--help")
    assert done.code == 0 and done.out.startswith("Usage: sftui")


@pytest.mark.parametrize("command", [(), ("check",)])
def test_help_names_every_trainer(sftui: Callable[..., Any], command: tuple[str, ...]) -> None:
    told = re.sub(r"\s+", " ", sftui(*command, "--help").out).replace("- ", "-")  # names are broken at their hyphens
    assert [name for name in TRAINERS if not re.search(rf"[ (]{name}[ ,;)]", told)] == []


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--trainer", "hf-trianer"), "did you mean `hf-trainer`?"),
        (("--set", "length.mx=3"), "length.max"),
        (("--set", "length.max"), "is not KNOB=VALUE"),
        (("--set", "length.max=many"), "an integer"),
        (("--set", "mask.rule=complettion"), "did you mean `completion`?"),
        (("--data-format", "mesages"), "did you mean `messages`?"),
        (("--field", "messages"), "is not FIELD=COLUMN"),
        (("--field", "messages=mesages"), "did you mean `messages`"),
        (("--template", "chatlm"), "did you mean `chatml`?"),
        (("--template", "none.jinja"), "none.jinja"),
        (("--recipe", "none.yaml"), "none.yaml: the recipe cannot be read, because no such file"),
        (("--recipe", "none.yaml", "--trainer", "hf-trainer"), "use one of them"),
        (("-t", "builtin:chatlm"), "builtin:chatml"),
        (("--max-length", "0"), "max-length"),
        (("--rwo", "3"), "--row"),
    ],
)
def test_mistakes_are_told_in_one_sentence_with_the_nearest(
    sftui: Callable[..., Any], data: Path, words: tuple[str, ...], told: str
) -> None:
    given = words if "-t" in words else (*TOK, *words)
    done = sftui("show", data, *given)
    assert (done.code, done.out) == (2, "") and told in done.err and "Traceback" not in done.err


def test_data_that_is_not_there_is_told(sftui: Callable[..., Any], tmp_path: Path) -> None:
    done = sftui("show", tmp_path / "none.jsonl", *TOK)
    assert done.code == 2 and "none.jsonl" in done.err


def test_no_tokenizer_says_how_to_give_one(sftui: Callable[..., Any], data: Path) -> None:
    done = sftui("show", data)
    assert done.code == 2 and "-t NAME" in done.err


def test_hostile_names_do_not_reach_the_terminal(sftui: Callable[..., Any]) -> None:
    done = sftui("show", "\x1b[31mred\x07.jsonl", *TOK)
    assert done.code == 2 and "\x1b" not in done.err and "\x07" not in done.err


def test_debug_shows_the_trace(sftui: Callable[..., Any], tmp_path: Path) -> None:
    done = sftui("show", tmp_path / "\x1b[31mnone.jsonl", *TOK, "--debug")
    assert done.code == 2 and "Traceback" in done.err and "SourceError" in done.err
    assert "\x1b" not in done.err


def test_a_file_named_like_a_command_opens_with_its_path(data: Path, tmp_path: Path) -> None:
    (tmp_path / "show").write_bytes(data.read_bytes())
    command = [sys.executable, "-m", "sftui", "show", "./show", *TOK]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0 and "trained" in done.stdout
    assert "`show` is a command; to open the file, use ./show" in done.stderr


def test_the_inspector_needs_a_terminal(sftui: Callable[..., Any], data: Path) -> None:
    done = sftui(data, *TOK)
    assert done.code == 2 and "needs a terminal" in done.err


def test_a_recipe_is_where_a_command_starts(sftui: Callable[..., Any], data: Path, tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text("preset: manual-shift\ntokenizer: {name: 'builtin:llama3'}\nlength: {max: 5}\n")
    done = sftui("encode", data, "--recipe", recipe, "-o", "-")
    assert len(done.records()[0]["input_ids"]) == 4
    done = sftui("encode", data, "--recipe", recipe, "-o", "-", "--max-length", 7)
    assert len(done.records()[0]["input_ids"]) == 6


def test_stored_choices_of_the_opening_options(data: Path, tmp_path: Path) -> None:
    from sftui.session.arguments import template_of

    (tmp_path / "t.jinja").write_text("x")
    assert template_of("chatml") == "builtin:chatml"
    assert template_of(str(tmp_path / "t.jinja")) == f"file:{tmp_path / 't.jinja'}"
    assert template_of("builtin:gemma") == "builtin:gemma" and template_of("tokenizer") == "tokenizer"


def test_every_sample_opens(sftui: Callable[..., Any]) -> None:
    from sftui.cli.inspector import demo_options, samples
    from sftui.cli.loading import loaded_session

    assert len(samples()) >= 5
    for name in samples():
        session = loaded_session(demo_options(name, None))
        assert session.inspect(0).row.index == 0
        session.close()
    done = sftui("demo", "chat_mesages")
    assert done.code == 2 and "did you mean `chat_messages`?" in done.err


def test_a_slip_is_refused_before_the_screen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sftui.cli.app import COMMANDS
    from sftui.cli.inspector import refuse_slips
    from sftui.errors import SourceError

    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.jsonl").write_text("{}\n")
    for words, told in ((("shwo", "data.jsonl"), "did you mean `sftui show`?"), (("data.jsnl",), "mean `data.jsonl`?")):
        with pytest.raises(SourceError) as refused:
            refuse_slips(words, COMMANDS)
        assert told in str(refused.value) and words[0] in str(refused.value)
    refuse_slips(("data.jsonl",), COMMANDS)
    refuse_slips(("someone/their-set",), COMMANDS)


def test_a_slip_is_named_in_a_script_too(
    sftui: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a terminal it was said that the inspector needs one, which was not what went wrong."""
    (tmp_path / "data.jsonl").write_text('{"text": "a"}\n')
    monkeypatch.chdir(tmp_path)
    for words, told in ((("shwo", "data.jsonl"), "did you mean `sftui show`?"), (("data.jsnl",), "mean `data.jsonl`?")):
        done = sftui(*words)
        assert done.code == 2 and told in done.err and "looking up" not in done.err, words
    done = sftui("--trainer", "trl", "check", "data.jsonl")
    assert done.code == 2 and "put the command first: sftui check …" in done.err
    assert "needs a terminal" in sftui("data.jsonl").err


@pytest.mark.parametrize(
    "command", [("show",), ("check",), ("encode", "-o", "-"), ("export", "--to", "trl", "-o", "out")]
)
def test_a_file_that_is_not_there_is_told_with_the_nearest_before_the_hub_is_asked(
    sftui: Callable[..., Any], data: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.chdir(data.parent)
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    done = sftui(command[0], "rows.jsnl", *TOK, *command[1:])
    assert (done.code, done.out) == (2, "")
    assert done.err == "sftui: rows.jsnl: does not exist; did you mean `rows.jsonl`?\n"
