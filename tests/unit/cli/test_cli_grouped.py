"""Help in groups with examples, and the one meaning of `--format`."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from itertools import takewhile
from pathlib import Path
from typing import Any

import click
import pytest

from sftui.cli.app import COMMANDS, inspect
from sftui.cli.grouped import GROUPS, LISTED, Option
from sftui.session.declared import OTHER, USUAL

Sftui = Callable[..., Any]
TOK = ("-t", "builtin:chatml")
EVERYWHERE = {"--help", "--version", "--debug", "--theme", "--no-mouse", "--list"}
"""What says nothing of data or results, and stands last."""


def test_help_lists_every_command_in_its_group(sftui: Sftui, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = sftui("--help").out.splitlines()
    at = {title: lines.index(f"{title}:") for title in LISTED}
    assert list(at.values()) == sorted(at.values())
    for name, command in COMMANDS.items():
        told = next(number for number, line in enumerate(lines) if line.startswith(f"  {name} "))
        assert max((one for one in LISTED if at[one] < told), key=at.__getitem__) == command.listed, name
        assert command.short_help and lines[told].endswith(command.short_help), "one line at 80 columns"


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_each_option_stands_in_a_group_the_usual_first(name: str, sftui: Sftui) -> None:
    command = COMMANDS[name] if name else inspect
    options = [one for one in command.params if isinstance(one, click.Option)]
    loose = {max(one.opts, key=len) for one in options if not isinstance(one, Option) or one.group == OTHER}
    assert loose <= EVERYWHERE
    titles = [line[:-1] for line in sftui(*name.split(), "--help").out.splitlines() if line[:-1] in GROUPS]
    assert titles == [one for one in GROUPS if one in titles]
    assert "--tokenizer" not in str(options) or titles[0] == USUAL


@pytest.mark.parametrize("columns", [60, 80, 120])
@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_examples_end_the_help_whole(name: str, columns: int, sftui: Sftui, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    command = COMMANDS[name] if name else inspect
    told = sftui(*name.split(), "--help").out
    assert command.examples
    examples = told[told.index("\nExamples:\n") :].splitlines()[2:]
    for line, said in command.examples:
        assert sum(f"{one}   ".startswith(f"  {line}   ") for one in examples) == 1
        assert sum(said in one for one in examples) == 1


@pytest.mark.parametrize(
    "line", [line for command in (inspect, *COMMANDS.values()) for line, _ in command.examples], ids=str
)
def test_each_example_is_understood(line: str) -> None:
    first, *words = takewhile(lambda word: word not in ("|", ">"), shlex.split(line))
    assert first == "sftui"
    command = COMMANDS[words.pop(0)] if words and words[0] in COMMANDS else inspect
    with command.make_context(command.name, words):
        pass


WITHOUT: dict[str, tuple[str, ...]] = {
    "": (),
    "encode": ("-o", "-"),
    "export": ("--to", "recipe", "-o", "out"),
    "report": ("-o", "report.html"),
    "repair": ("--apply", "trim", "-o", "out.jsonl"),
    "verify": ("--python", "python"),
    "bug-report": (),
}
"""The commands whose output has no formats to choose from."""


@pytest.mark.parametrize("command", WITHOUT)
@pytest.mark.parametrize("said", [("--format", "alpaca"), ("--format=alpaca",)], ids=str)
def test_format_for_the_data_leads_to_data_format(
    command: str, said: tuple[str, ...], sftui: Sftui, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = set(tmp_path.iterdir())
    done = sftui(*command.split(), data, *TOK, *WITHOUT[command], *said)
    assert (done.code, done.out) == (2, "") and set(tmp_path.iterdir()) == before
    assert done.err == "sftui: --format sets the output format; use --data-format alpaca to say how rows are read\n"


def test_an_option_that_is_none_is_one_sentence(sftui: Sftui, data: Path) -> None:
    done = sftui("check", data, "--zzz")
    assert (done.code, done.err) == (2, "sftui: no such option --zzz; `sftui check --help` lists the options\n")


@pytest.mark.parametrize("command", ["show", "check", "compare", "template"])
def test_a_shape_of_rows_as_output_format_leads_to_data_format(command: str, sftui: Sftui, data: Path) -> None:
    done = sftui(command, data, *TOK, "--format", "sharegpt")
    assert (done.code, done.out) == (2, "") and done.err.rstrip().endswith(
        "use --data-format sharegpt to say how rows are read"
    )
    done = sftui(command, data, *TOK, "--format", "txet")
    assert done.code == 2 and "--data-format" not in done.err and "'txet'" in done.err


def test_every_format_is_one_of_outputs() -> None:
    assert {name for name in COMMANDS if "--format" in str([one.opts for one in COMMANDS[name].params])} == {
        "show",
        "check",
        "compare",
        "waste",
        "facets",
        "template",
        "trainers",
        "knobs",
    }


def test_another_option_that_is_none_is_told_as_before(sftui: Sftui, data: Path) -> None:
    done = sftui("encode", data, *TOK, "-o", "-", "--formt", "alpaca")
    assert done.code == 2 and "--formt" in done.err and "say --data-format" not in done.err
    done = sftui("encode", data, *TOK, "-o", "-", "--format", "parquet")
    assert done.code == 2 and done.err.rstrip().endswith("use --data-format to say how rows are read")
