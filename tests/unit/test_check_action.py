"""The action for users' CI: its scripts, run by a shell as a runner runs them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

REPO = Path(__file__).resolve().parents[2]
ACTION: dict[str, Any] = YAML(typ="safe").load(REPO / ".github" / "actions" / "check" / "action.yml")
INSTALL, CHECK = ACTION["runs"]["steps"]
ROWS = [
    {"messages": [{"role": "user", "content": "Hello?"}, {"role": "assistant", "content": "Hi."}]},
    {"messages": [{"role": "user", "content": "And?"}, {"role": "assistant", "content": None}]},
]


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str
    summary: str
    outputs: dict[str, str]

    def commands(self) -> list[str]:
        """The lines that the runner takes as commands: not those that are printed while commands are stopped."""
        found, token = [], None
        for line in self.out.splitlines():
            if token is not None:
                token = None if line == f"::{token}::" else token
            elif line.startswith("::stop-commands::"):
                token = line.removeprefix("::stop-commands::")
                assert len(token) == 32
            elif line.startswith("::"):
                found.append(line)
        assert token is None, "commands stay stopped"
        return found


def run_step(step: dict[str, Any], folder: Path, **given: str) -> Ran:
    """One step with the inputs `given`, in `folder`, by the shell that GitHub names for `shell: bash`."""
    inputs: dict[str, str] = {name: one["default"] for name, one in ACTION["inputs"].items()}
    assert set(given) <= {name.replace("-", "_") for name in inputs}
    inputs |= {name.replace("_", "-"): value for name, value in given.items()}

    def said(value: str) -> str:
        (name,) = re.findall(r"^\$\{\{ inputs\.([\w-]+) }}$", value)
        return inputs[name]

    temp, made = folder / "temp", {name: folder / name for name in ("summary", "output")}
    for file in made.values():
        file.touch()
    script = folder / "step.sh"
    script.write_text(step["run"])
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", script],
        cwd=folder / "repository" / said(step.get("working-directory", "${{ inputs.working-directory }}")),
        env={
            **os.environ,
            "RUNNER_TEMP": str(temp),
            "GITHUB_STEP_SUMMARY": str(made["summary"]),
            "GITHUB_OUTPUT": str(made["output"]),
            **{name: said(value) for name, value in step["env"].items()},
        },
        capture_output=True,
        text=True,
    )
    outputs = dict(line.split("=", 1) for line in made["output"].read_text().splitlines())
    return Ran(done.returncode, done.stdout, done.stderr, made["summary"].read_text(), outputs)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A runner's folders: a repository with two rows, one of them without an answer, and sftui installed."""
    (tmp_path / "repository").mkdir()
    (tmp_path / "repository" / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    # Whatever lies in the repository is not run.
    for name in ("json.py", "venv.py", "pip.py", "sitecustomize.py"):
        (tmp_path / "repository" / name).write_text("raise SystemExit('a module of the repository was imported')\n")
    made = tmp_path / "temp" / "sftui" / "bin"
    made.mkdir(parents=True)
    (made / "python").symlink_to(sys.executable)
    (made / "sftui").write_text(f"#!{sys.executable}\nfrom sftui.cli import main\nmain()\n")
    (made / "sftui").chmod(0o755)
    return tmp_path


def test_findings_become_annotations_a_summary_and_counts(folder: Path) -> None:
    ran = run_step(CHECK, folder, data="train.jsonl\n", tokenizer="builtin:chatml", select="CON", sarif="out.sarif")
    assert ran.code == 1, ran.err
    assert [line.partition(" ")[0] for line in ran.commands()] == ["::error"]
    assert "file=train.jsonl,line=2,title=CON001 " in ran.commands()[0]
    assert ran.summary.startswith("### sftui check: train")
    assert {name: ran.outputs[name] for name in ("errors", "warnings", "infos", "rows")} == {
        "errors": "1",
        "warnings": "0",
        "infos": "0",
        "rows": "2",
    }
    assert set(ran.outputs) == set(ACTION["outputs"])
    assert json.loads(Path(ran.outputs["report"]).read_text())["codes"][0]["code"] == "CON001"
    assert json.loads((folder / "repository" / "out.sarif").read_text())["version"] == "2.1.0"


def test_options_reach_the_command_as_words_and_are_no_shell(folder: Path) -> None:
    ran = run_step(
        CHECK,
        folder,
        data="train.jsonl",
        tokenizer="builtin:chatml",
        ignore="CON001,$(touch stolen),`touch stolen`",
    )
    assert ran.code == 2 and not (folder / "repository" / "stolen").exists()
    assert "there is no code" in ran.err
    assert ran.commands() == ["::error title=sftui check::the data could not be checked, the log says why"]
    assert not ran.summary and not ran.outputs
    never = run_step(
        CHECK, folder, data="train.jsonl", tokenizer="builtin:chatml", fail_on="never", arguments="--max-rows\n1\n"
    )
    assert (never.code, never.outputs["rows"], never.outputs["errors"]) == (0, "1", "0")


def test_what_the_data_says_is_no_command_of_the_workflow(folder: Path) -> None:
    asks = {"role": "::add-mask::x\n::warning::y", "content": "##[error]x"}
    hostile = {"messages": [asks, {"role": "assistant", "content": "Hi."}]}
    (folder / "repository" / "train.jsonl").write_text(json.dumps(hostile) + "\n")
    ran = run_step(CHECK, folder, data="train.jsonl", tokenizer="builtin:chatml")
    assert ran.outputs, ran.err
    assert all(re.match("::(error|warning|notice) (file=train|title=)", line) for line in ran.commands())


def test_every_input_is_used_and_every_output_is_made() -> None:
    used = {name for step in (INSTALL, CHECK) for name in re.findall(r"inputs\.([\w-]+)", json.dumps(step))}
    assert used == set(ACTION["inputs"])
    for step in (INSTALL, CHECK):
        for name in step["env"]:
            assert f"${name}" in step["run"] or f"${{{name}" in step["run"], name


def test_sftui_is_installed_in_the_version_that_is_asked_for(folder: Path) -> None:
    """With a pip that tells its words: what is installed from PyPI is for tests/packaging."""
    said = folder / "said"
    python = folder / "python"
    python.write_text(f'#!/bin/sh\necho "$@" >> {said}\n')
    python.chmod(0o755)
    (folder / "temp" / "sftui" / "bin" / "python").unlink()
    (folder / "temp" / "sftui" / "bin" / "python").symlink_to(python)
    for version in ("", "0.2.0"):
        assert run_step(INSTALL, folder, python=str(python), version=version).code == 0
    venv = f"-I -m venv {folder / 'temp' / 'sftui'}"
    pip = "-I -m pip install --quiet sftui"
    assert said.read_text().splitlines() == [venv, pip, venv, f"{pip}==0.2.0"]
