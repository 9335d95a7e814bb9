"""The commands that the inspector copies, run by a shell, give what it has: 40 states drawn at random."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from rows_worker import RowsWorker

from sftui.cli import main
from sftui.cli.inspector import samples
from sftui.exports.records import record, records
from sftui.model import Inspection
from sftui.recipe import Recipe, changed, knobs_of
from sftui.recipe_io import Misfit, check
from sftui.repairs.edits import edit_name
from sftui.repairs.run import REPAIRS
from sftui.session.arguments import Arguments
from sftui.session.command_line import InForce, ShellCommand, commands_of
from sftui.session.marks import Mark
from sftui.session.session_file import as_yaml, read_session, session_tree
from sftui.text import visible
from sftui.tokens import builtin
from sftui.trainers import preset_names
from sftui.trainers.own_config import choices_of
from sftui.workspace import Workspace
from sftui.workspace import events as ev
from sftui.workspace import requests as rq
from sftui.workspace.marks import MarksFile

STATES = 40
FILTERS = ("len(messages) > 2", 'row % 3 != 1 and "e" in text', "trained_tokens > 9 or dropped", 'not finding("CON")')
DROPS = ("drop unreadable", "drop empty", "drop no-answer")
CONFIGS = {
    "axolotl.yml": "base_model: tok\ntokenizer_config: tok\nsequence_len: 300\nchat_template: chatml\n"
    "train_on_inputs: false\n"
    "datasets:\n  - {path: data.jsonl, type: chat_template}\n  - {path: second.jsonl, type: chat_template}\n",
    "recipe.yaml": "preset: trl\ntokenizer: {name: tok}\nrender: {template: 'builtin:chatml'}\n"
    "mask: {rule: assistant}\n",
}


@dataclass
class Seen:
    """A workspace without a screen, and the last event of each kind."""

    workspace: Workspace
    last: dict[type, Any]
    matched: list[int] = field(default_factory=list)

    def hear(self, event: ev.Event) -> None:
        self.last[type(event)] = event
        if isinstance(event, ev.RowsMatched):
            self.matched = [*(self.matched if event.first else ()), *event.rows]

    def ask(self, question: Callable[..., rq.Question], kind: type, *given: Any) -> Any:
        self.last.pop(kind, None)
        self.workspace.ask(question, *given)
        self.workspace._events.join()
        return self.last[kind]

    def row(self, index: int) -> Inspection:
        self.workspace.request_row(index)
        self.workspace._events.join()
        found: Inspection = self.last[ev.RowReady].inspection
        return found


def drawn_value(draw: random.Random, recipe: Recipe) -> tuple[str, object] | None:
    """A knob that is not the tokenizer's, and a value that it may have."""
    info = draw.choice([one for one in knobs_of(recipe) if not one.path.startswith(("tokenizer.", "data.", "batch."))])
    kind = info.type.removesuffix("?")
    values: dict[str, Sequence[object]] = {
        "bool": (True, False),
        "int": (7, 64, 400),
        "str": (" odd 'text'\n", "plain", "null", "$HOME `x` \\"),
        "mapping": ({"enable_thinking": False, "names": ["a b", "c"]},),
        "list": (("assistant", "user"),),
    }
    value = draw.choice([*(choices_of(recipe, info) if info.choices else values.get(kind, ())), None])
    return None if value is None or isinstance(check(info, value), Misfit) else (info.path, check(info, value))


def opened(draw: random.Random, folder: Path) -> Arguments:
    """What a user names: data, a tokenizer and a trainer, a recipe, or a config."""
    shutil.copytree(builtin.folder("chatml"), folder / "tok")
    for name in ("data.jsonl", "second.jsonl"):
        shutil.copy(samples()["chat_messages"], folder / name)
    for name, text in CONFIGS.items():
        (folder / name).write_text(text)
    how = draw.choice(["data", "data", "data", "recipe", "config"])
    if how == "config":
        return Arguments(data=("axolotl.yml",), dataset=draw.choice([None, "1"]))
    if how == "recipe":
        return Arguments(data=("data.jsonl",), recipe_file="recipe.yaml", max_length=draw.choice([None, 128]))
    source = samples()[draw.choice(["chat_messages", "defects", "sharegpt", "alpaca", "prompt_completion_chat"])]
    named = folder / f"it's {source.name}"
    shutil.copy(source, named)
    return Arguments(
        data=(named.name,),
        tokenizer=draw.choice([f"builtin:{name}" for name in builtin.NAMES]),
        trainer=draw.choice(preset_names()),
    )


def drawn_state(draw: random.Random, folder: Path) -> tuple[Seen, InForce]:
    """The workspace with all that a user put in force, and what a command is made from."""
    options = opened(draw, folder).options(row=0)[0]
    workspace = Workspace(options, connect=RowsWorker().connect)
    seen = Seen(workspace, {})
    workspace.listen(seen.hear)
    workspace.start()
    workspace._events.join()
    recipe = options.recipe
    for found in (drawn_value(draw, recipe) for _ in range(draw.randrange(4))):
        recipe = recipe if found is None else changed(recipe, *found)
    workspace.set_recipe(recipe)
    repairs = draw.sample([*REPAIRS, "deduplicate", *DROPS], draw.choice([0, 0, 1, 2]))
    workspace.set_repairs(tuple(repairs))
    marks, edited = MarksFile(options), draw.randrange(5)
    marks.keep(3, Mark("drop", "too 'short'"))
    shown = seen.row(edited)
    stored = shown.row.stored or shown.row
    if draw.random() < 0.4 and stored.data is not None:
        name = edit_name(stored, {**stored.data, "edited": "it's é"})
        marks.keep(edited, Mark(edit=name))
        workspace.set_repairs((*repairs, name))
    where = draw.choice(["", "", *FILTERS])
    if repairs:
        seen.ask(rq.RepairsRequest, ev.RepairsCounted)  # as the screen does: which rows are doubles is known then
    row = draw.randrange(8)
    counts = marks.load().counts
    return seen, InForce(options, workspace.recipe, workspace.repairs, row, where, str(marks.path), counts)


def in_shell(command: ShellCommand, *more: str) -> list[str]:
    """The words as a shell hands them over."""
    done = subprocess.run(
        ["sh", "-c", 'sftui() { printf "%s\\0" "$@"; }; ' + command.text], capture_output=True, text=True, check=True
    )
    return [*done.stdout.split("\0")[:-1], *more]


@pytest.mark.one_of(20)
@pytest.mark.parametrize("seed", range(STATES))
def test_a_copied_command_gives_what_the_inspector_has(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    seen, now = drawn_state(random.Random(seed), tmp_path)

    def run(command: ShellCommand, *more: str) -> tuple[int, str, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(in_shell(command, *more))
        return int(ended.value.code or 0), *capsys.readouterr()

    try:
        commands = {one.name: one for one in commands_of(now)}
        assert all(one.gaps == () for name, one in commands.items() if name != "sftui"), commands["show"].gaps
        Path("s.yml").write_text(as_yaml(session_tree(now, tmp_path), "s.yml"))
        saved = read_session("s.yml")
        again = saved.arguments.options()[0]
        assert (again.recipe, again.where or "", again.paths) == (now.recipe, now.where, now.options.paths)
        assert (saved.row, set(again.repairs)) == (now.row, set(now.repairs))
        shown = seen.row(now.row)
        code, out, err = run(commands["show"], "--format", "json", "--explain")
        source = seen.workspace.source
        assert source is not None
        if not out:
            problems = [one.problem for one in map(seen.row, range(4)) if one.problem is not None]
            assert shown.problem is not None and code == 2
            assert any(visible(one.what) in err for one in problems), (commands["show"].text, err)
            return
        assert json.loads(out) == json.loads(json.dumps(record(shown, explain=True))), commands["show"].text
        matched = seen.ask(rq.FilterRequest, ev.RowsMatched, now.where or "row >= 0")
        code, out, err = run(commands["encode"], "--unpacked", "--force")
        if not Path(commands["encode"].words[-1]).exists():
            assert code == 2 and (source.refused is not None or matched.problem is not None), err
            return
        wanted = seen.matched
        written = [json.loads(line) for line in Path(commands["encode"].words[-1]).read_text().splitlines()]
        assert list(dict.fromkeys(one["row"] for one in written)) == wanted, commands["encode"].text
        for row in wanted[:: max(1, len(wanted) // 6)]:
            mine = json.loads(json.dumps(records(seen.row(row))))
            assert [one for one in written if one["row"] == row] == mine, row
        code, out, err = run(commands["check"], "--format", "json")
        found = json.loads(out)
        assert found["rows"] == len(wanted)
        if len(wanted) == found["rows"] and not now.where:
            audit = seen.ask(rq.AuditRequest, ev.AuditReady)
            assert {one["code"] for one in found["codes"]} == {one.code for one in audit.codes}
            rows = {one["code"]: one["count"] for one in found["codes"]}
            assert {one.code: one.count for one in audit.codes if not one.examples}.items() <= rows.items()
    finally:
        seen.workspace.close()
