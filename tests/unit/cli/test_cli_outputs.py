"""Whatever an option names to be written: never an input, under no name, and nothing that is there unasked."""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

import sftui.cli
from sftui.cli.app import COMMANDS, Output, inspect

Sftui = Callable[..., Any]
ROW = json.dumps({"messages": [{"role": "user", "content": "Hello?"}, {"role": "assistant", "content": "Hi."}]}) + "\n"
OTHER = ROW.replace("Hello", "Who are you")
BASELINE = '{"version": 1, "findings": {}}\n'
TEMPLATE = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"

READS = {
    *(
        "--tokenizer",
        "--recipe",
        "--config",
        "--template",
        "--eval",
        "--edits",
        "--marks",
        "--python",
        "--serve",
        "--with",
        "--against",
    ),
}
"""Options that name files which are only read."""
PLAIN = {
    "--address",
    "--host",
    "--env",
    "--transformers",
    "--trainer",
    "--trainers-from",
    "--dataset",
    "--split",
    "--subset",
    "--data-revision",
    "--tokenizer-revision",
    "--rows-in",
    "--field",
    "--set",
    "--where",
    "--format",
    "--data-format",
    "--to",
    "--select",
    "--ignore",
    "--apply",
    "--drop",
    "--probe-show",
    "--for",
    "--without",
    "--max-rate",
    "--lengths",
    "--strategy",
    "--of",
}
"""Options that take words and name no file."""
WORDS: dict[str, tuple[str, ...]] = {
    "encode": ("-t", "builtin:chatml"),
    "check": ("-t", "builtin:chatml"),
    "report": ("-t", "builtin:chatml"),
    "template": ("-t", "builtin:chatml"),
    "repair": ("--apply", "trim", "-t", "builtin:chatml"),
    "convert": ("-t", "builtin:chatml"),
    "export": ("--to", "recipe", "-t", "builtin:chatml"),
}
FOLDERS = ("--config-dir", "--fix")
"""Options that name a folder to write into."""
BESIDE: dict[tuple[str, str], tuple[str, ...]] = {
    ("check", "--baseline"): ("--write-baseline",),
    ("repair", "--log"): ("--dry-run",),
    ("convert", "--log"): ("--dry-run",),
}
"""What else makes the option write, where the option alone does not."""
BEFORE: dict[str, tuple[str, ...]] = {"--also": ("json",)}
"""What the option asks for before the file."""


def parts(option: click.Option) -> list[click.ParamType[Any]]:
    """The types of an option's words."""
    return list(option.type.types) if isinstance(option.type, click.Tuple) else [option.type]


NO_DATA = {"capture"}
"""Commands that write and open no data: tests/unit/capture/test_capture_command.py."""
OPTIONS = [
    (command, option)
    for command, declared in COMMANDS.items()
    for option in declared.params
    if isinstance(option, click.Option) and isinstance(parts(option)[-1], Output) and command not in NO_DATA
]
NAMES = [f"{command} {option.opts[-1]}" for command, option in OPTIONS]


def test_every_option_is_known_to_read_to_write_or_to_name_no_file() -> None:
    """A new option that takes words fails here until it says which it is: `type=OUTPUT` for what is written."""
    for declared in (inspect, *COMMANDS.values()):
        for option in declared.params:
            if (
                isinstance(option, click.Option)
                and any(isinstance(one, click.types.StringParamType) for one in parts(option))
                and not any(isinstance(one, Output) for one in parts(option))
            ):
                assert option.opts[-1] in READS | PLAIN, f"{declared.name} {option.opts[-1]}"
    assert {command for command, _ in OPTIONS} == set(WORDS)


def test_nothing_in_the_commands_writes_but_the_one_way() -> None:
    """Only writing.py opens a file for writing; stdin is spooled into a folder of our own."""
    folder = Path(sftui.cli.__file__).parent
    for file in folder.glob("*.py"):
        tree = ast.parse(file.read_text())
        for node in ast.walk(tree):
            named = [one.name for one in node.names] if isinstance(node, ast.ImportFrom) else []
            assert file.name == "writing.py" or not {"atomic_file", "write_atomically"} & set(named), file.name
            if isinstance(node, ast.Call):
                name = getattr(node.func, "attr", getattr(node.func, "id", ""))
                drawn = isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) == "formatter"
                assert drawn or name not in ("write_text", "write_bytes"), file.name
                modes = [
                    one.value
                    for one in (*node.args, *(key.value for key in node.keywords))
                    if isinstance(one, ast.Constant)
                ]
                if name == "open" and any(
                    isinstance(mode, str) and set(mode) & set("wax+") and len(mode) < 4 for mode in modes
                ):
                    assert file.name == "opening.py", file.name


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with data in several shapes, an evaluation set, a template, a tokenizer and a recipe."""
    from sftui.tokens import builtin

    here = tmp_path / "here"
    (here / "shards").mkdir(parents=True)
    monkeypatch.chdir(here)
    for name in ("rows.jsonl", "shards/a.jsonl", "shards/b.jsonl"):
        (here / name).write_text(ROW + OTHER)
    (here / "eval.jsonl").write_text(ROW)
    (here / "t.jinja").write_text(TEMPLATE)
    (here / "r.yaml").write_text("preset: hf-trainer\ntokenizer: {name: tok}\n")
    (here / "marks.jsonl").write_text('{"row": 0, "mark": "drop", "note": ""}\n')
    (here / "tok").mkdir()
    for file in builtin.folder("chatml").iterdir():
        (here / "tok" / file.name).write_bytes(file.read_bytes())
    return here


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def run(sftui: Sftui, command: str, option: click.Option, target: object, *words: object) -> Any:
    rest = WORDS[command]
    if "-t" in words or "--recipe" in words:
        rest = tuple(word for word in rest if word not in ("-t", "builtin:chatml"))
    needs_out = command == "repair" and option.opts[-1] == "--log" and not BESIDE.get((command, "--log"))
    return sftui(
        command,
        *words,
        *rest,
        *BESIDE.get((command, option.opts[-1]), ()),
        option.opts[-1],
        *BEFORE.get(option.opts[-1], ()),
        target,
        "--force",
        *(("-o", "fresh.jsonl") if needs_out else ()),
    )


def endings(option: click.Option) -> str:
    return ".jsonl" if option.opts[-1] in ("--out", "--log") else ".json"


INPUTS = [
    (("rows.jsonl",), "rows.jsonl"),
    (("shards",), "shards/a.jsonl"),
    (("shards/*.jsonl",), "shards/b.jsonl"),
    (("rows.jsonl", "shards/a.jsonl"), "shards/a.jsonl"),
    (("rows.jsonl", "--template", "t.jinja"), "t.jinja"),
    (("rows.jsonl", "-t", "tok"), "tok/tokenizer_config.json"),
    (("rows.jsonl", "--recipe", "r.yaml"), "r.yaml"),
    (("rows.jsonl", "--recipe", "r.yaml"), "tok/tokenizer.json"),
]


@pytest.mark.parametrize("link", ["itself", "symlink", "hardlink"])
@pytest.mark.parametrize(("command", "option"), OPTIONS, ids=NAMES)
def test_no_output_is_an_input(sftui: Sftui, folder: Path, command: str, option: click.Option, link: str) -> None:
    extra: list[tuple[tuple[str, ...], str]] = []
    if "--eval" in [one for param in COMMANDS[command].params for one in param.opts]:
        extra.append((("rows.jsonl", "--eval", "eval.jsonl"), "eval.jsonl"))
    if "--serve" in [one for param in COMMANDS[command].params for one in param.opts]:
        extra.append((("rows.jsonl", "-t", "builtin:chatml", "--serve", "t.jinja"), "t.jinja"))
    if "--edits" in [one for param in COMMANDS[command].params for one in param.opts]:
        extra.append((("rows.jsonl", "--edits", "marks.jsonl"), "marks.jsonl"))
    if command == "repair":
        extra.append((("rows.jsonl", "--marks", "marks.jsonl"), "marks.jsonl"))
    for number, (words, victim) in enumerate((*INPUTS, *extra)):
        target = victim
        if link != "itself":
            target = f"link{number}{endings(option)}"
            (os.symlink if link == "symlink" else os.link)(folder / victim, folder / target)
        before = contents(folder)
        done = run(sftui, command, option, target, *words)
        assert contents(folder) == before, (words, victim)
        assert done.code == 2 and done.err.startswith("sftui: ") and "Error: bug" not in done.err, (words, done.err)


@pytest.mark.parametrize(
    ("command", "option"),
    [pair for pair in OPTIONS if pair[1].opts[-1] not in ("--baseline", *FOLDERS) and pair[0] != "export"],
    ids=[name for name in NAMES if not name.startswith("export") and not name.endswith(("--baseline", *FOLDERS))],
)
def test_a_file_that_is_there_is_not_overwritten_unasked(
    sftui: Sftui, folder: Path, command: str, option: click.Option
) -> None:
    target = folder / f"there{endings(option)}"
    target.write_text("mine\n")
    named = (option.opts[-1], *BEFORE.get(option.opts[-1], ()), target)
    words = ("rows.jsonl", *WORDS[command], *BESIDE.get((command, option.opts[-1]), ()), *named)
    done = sftui(command, *words)
    assert done.code == 2 and "--force" in done.err and target.read_text() == "mine\n"
    assert sftui(command, *words, "--force").code == 0 and target.read_text() != "mine\n"


def test_a_new_file_does_not_become_data(sftui: Sftui, folder: Path) -> None:
    for data, target in (
        ("shards", "shards/found.json"),
        ("shards/*.jsonl", "shards/c.jsonl"),
        ("s*/*.json*", "shards/found.json"),
    ):
        done = sftui("check", data, "-t", "builtin:chatml", "--format", "json", "-o", target)
        assert done.code == 2 and "read as data next time" in done.err and not (folder / target).exists()
    assert sftui("check", "shards", "-t", "builtin:chatml", "-o", "shards/found.txt").code == 0
    assert (
        sftui("check", "*.jsonl", "-t", "builtin:chatml", "--select", "INJ", "-o", "shards/found.txt", "--force").code
        == 0
    )


def test_an_export_writes_over_its_recipe_but_over_no_data(sftui: Sftui, folder: Path) -> None:
    os.rename("r.yaml", "recipe.yaml")
    done = sftui(
        "export", "rows.jsonl", "--recipe", "recipe.yaml", "--max-length", "99", "--to", "recipe", "-o", ".", "--force"
    )
    assert done.code == 0 and "+length" in done.err.replace(" ", "") and "99" in (folder / "recipe.yaml").read_text()
    os.makedirs("out")
    os.link("rows.jsonl", "out/recipe.yaml")
    done = sftui("export", "rows.jsonl", "-t", "builtin:chatml", "--to", "recipe", "-o", "out", "--force")
    assert done.code == 2 and (folder / "rows.jsonl").read_text() == ROW + OTHER


def test_files_that_are_no_data_may_lie_beside_the_data(sftui: Sftui, folder: Path) -> None:
    done = sftui("export", "shards", "-t", "builtin:chatml", "--to", "llamafactory", "-o", "shards")
    assert (
        done.code == 0
        and (folder / "shards" / "dataset_info.json").exists()
        and (folder / "shards" / "recipe.yaml").exists()
    )
    assert len(sftui("encode", "shards", "-t", "builtin:chatml", "-o", "-").records()) == 4


def test_one_file_is_not_named_twice(sftui: Sftui, folder: Path) -> None:
    done = sftui(
        "check", "rows.jsonl", "-t", "builtin:chatml", "--baseline", "x.json", "--write-baseline", "-o", "./x.json"
    )
    assert done.code == 2 and "two outputs are named" in done.err and not (folder / "x.json").exists()
    done = sftui("check", "rows.jsonl", "-t", "builtin:chatml", "--baseline", "-", "--write-baseline")
    assert done.code == 2 and "two outputs are named" in done.err


def test_a_baseline_is_written_over_a_baseline_only(sftui: Sftui, folder: Path) -> None:
    words = ("check", "rows.jsonl", "-t", "builtin:chatml", "--write-baseline", "--baseline")
    for text in (ROW, "{}", "", "[]", '{"version": 1}'):
        (folder / "mine.json").write_text(text)
        for more in ((), ("--force",)):
            done = sftui(*words, "mine.json", *more)
            assert done.code == 2 and "not an sftui baseline" in done.err and (folder / "mine.json").read_text() == text
    (folder / "known.json").write_text(BASELINE)
    assert sftui(*words, "known.json").code == 0 and (folder / "known.json").read_text() != BASELINE
    done = sftui(
        "check", "rows.jsonl", "-t", "builtin:chatml", "--baseline", "known.json", "-o", "known.json", "--force"
    )
    assert done.code == 2 and "one of the input files" in done.err


def test_a_trainers_config_and_what_it_names_are_inputs(sftui: Sftui, folder: Path) -> None:
    (folder / "axo.yml").write_text(
        "base_model: tok\ndatasets:\n- {path: rows.jsonl, type: chat_template, ds_type: json}\nchat_template:"
        " jinja\nchat_template_jinja: t.jinja\n"
    )
    before = contents(folder)
    for victim in ("axo.yml", "rows.jsonl", "t.jinja", "tok/tokenizer.json"):
        done = sftui("check", "axo.yml", "-o", victim, "--force")
        assert done.code == 2 and contents(folder) == before, (victim, done.err)


def test_folders_and_devices_are_not_written_over(sftui: Sftui, folder: Path) -> None:
    for target in ("tok", "/dev/null"):
        done = sftui("check", "rows.jsonl", "-t", "builtin:chatml", "-o", target, "--force")
        assert done.code == 2 and "not a file" in done.err


STDOUT = [
    ("encode", "input_ids"),
    ("check", "findings"),
    ("report", "<!DOCTYPE html>"),
    ("template", "<|im_start|>"),
    ("repair", '{"messages"'),
    ("convert", '{"messages"'),
]


@pytest.mark.parametrize(("command", "told"), STDOUT, ids=[name for name, _ in STDOUT])
def test_a_dash_is_stdout(sftui: Sftui, folder: Path, command: str, told: str) -> None:
    before = contents(folder)
    form = ("--format", "json") if command == "check" else ()
    done = sftui(command, "rows.jsonl", *WORDS[command], *form, "-o", "-")
    assert done.code == 0 and told in done.out and contents(folder) == before
    assert {name for name, option in OPTIONS if option.opts[0] == "-o"} == {*(name for name, _ in STDOUT), "export"}


def test_stdout_holds_the_data_alone(sftui: Sftui, folder: Path) -> None:
    done = sftui("template", "rows.jsonl", "-t", "builtin:chatml", "--add-generation-tags", "-o", "-")
    assert done.code == 0 and not done.out.startswith("---") and "{% generation %}" in done.out and "---" in done.err
    done = sftui("repair", "rows.jsonl", "--apply", "trim", "-o", "-", "--log", "log.jsonl")
    assert done.out == ROW + OTHER and "written to stdout" in done.err and (folder / "log.jsonl").exists()
    done = sftui(
        "repair",
        "rows.jsonl",
        "--apply",
        "trim",
        "--drop",
        "no-answer",
        "--marks",
        "marks.jsonl",
        "--dry-run",
        "--log",
        "-",
    )
    assert [json.loads(line)["row"] for line in done.out.splitlines()] == [0]
    done = sftui("repair", "rows.jsonl", "--apply", "trim", "-o", "-", "--log", "-")
    assert done.code == 2 and "two outputs are named" in done.err
    done = sftui("export", "rows.jsonl", "-t", "builtin:chatml", "--to", "recipe", "-o", "-")
    assert done.code == 2 and "several files" in done.err
