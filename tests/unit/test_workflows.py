"""The workflows: actions pinned, no more rights than needed, and what they run is there."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

REPO = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((REPO / ".github" / "workflows").glob("*.yml"))
ACTIONS = sorted((REPO / ".github" / "actions").glob("*/action.yml"))
BOTH = [*WORKFLOWS, *ACTIONS]
PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}")


def read(file: Path) -> Any:
    return YAML(typ="safe").load(file.read_text(encoding="utf-8"))


def steps(file: Path) -> Iterator[dict[str, Any]]:
    """Every step and every job that calls a workflow."""
    content = read(file)
    for job in content["jobs"].values() if "jobs" in content else [content["runs"]]:
        yield from job.get("steps", [job])


def name(file: Path) -> str:
    return str(file.relative_to(REPO / ".github"))


def test_there_are_workflows() -> None:
    assert {file.name for file in WORKFLOWS} >= {"checks.yml", "nightly.yml", "release.yml", "site.yml"}


@pytest.mark.parametrize("file", BOTH, ids=name)
def test_every_action_is_pinned_to_a_commit_with_its_version_beside_it(file: Path) -> None:
    for line in file.read_text(encoding="utf-8").splitlines():
        if re.match(r"\s*(- )?uses:", line) and "uses: ./" not in line:
            assert re.search(r"uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$", line), line
    for step in steps(file):
        used = step.get("uses")
        if used is not None and used.startswith("./"):
            assert (REPO / used).exists(), used
        elif used is not None:
            assert PINNED.fullmatch(used), used


def test_one_action_is_pinned_to_one_commit() -> None:
    used = {step["uses"] for file in BOTH for step in steps(file) if "@" in step.get("uses", "")}
    assert len(used) == len({one.partition("@")[0] for one in used}), used


@pytest.mark.parametrize("file", BOTH, ids=name)
def test_a_script_takes_nothing_from_an_expression(file: Path) -> None:
    """`${{ … }}` in a script is put into it before a shell reads it: a branch's name could be a command."""
    for step in steps(file):
        assert "${{" not in step.get("run", ""), step["run"]


@pytest.mark.parametrize("file", WORKFLOWS, ids=name)
def test_rights_are_named_job_by_job(file: Path) -> None:
    workflow = read(file)
    assert workflow["permissions"] == {}
    assert workflow["concurrency"]
    for label, job in workflow["jobs"].items():
        assert "permissions" in job, label
        assert "uses" in job or job["timeout-minutes"] > 0, label
        for step in job.get("steps", []):
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False, label


def test_the_lanes_that_workflows_run_are_those_of_ci() -> None:
    runner = (REPO / ".ci" / "run").read_text(encoding="utf-8")
    (known,) = (tuple(found.split()) for found in re.findall(r'^known="([a-z ]+)"$', runner, re.MULTILINE))
    named = {
        word
        for file in WORKFLOWS
        for step in steps(file)
        for found in re.findall(r"\.ci/run ([a-z ]+)$", step.get("run", ""), re.MULTILINE)
        for word in found.split()
    }
    by_matrix = read(REPO / ".github" / "workflows" / "nightly.yml")["jobs"]["lane"]["strategy"]["matrix"]["lane"]
    assert named | set(by_matrix) == set(known)


def test_a_lane_that_there_is_not_is_refused() -> None:
    done = subprocess.run([REPO / ".ci" / "run", "everything"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, "no such lane: everything\n")


def test_the_pythons_tested_are_those_that_the_package_names() -> None:
    least = re.search(r'requires-python = ">=3\.(\d+)"', (REPO / "pyproject.toml").read_text(encoding="utf-8"))
    assert least is not None
    jobs = read(REPO / ".github" / "workflows" / "checks.yml")["jobs"]
    for job in ("test", "packages"):
        assert jobs[job]["strategy"]["matrix"]["python"] == [f"3.{minor}" for minor in range(int(least[1]), 14)], job


@pytest.mark.parametrize("file", BOTH, ids=name)
def test_files_that_a_script_runs_are_there(file: Path) -> None:
    for step in steps(file):
        for word in re.findall(r"(?<![\w/])(?:\.github|\.ci|tests|sample_data)/[\w./-]+", step.get("run", "")):
            assert (REPO / word).exists(), word


def test_hooks_for_ourselves_run_what_the_checks_run() -> None:
    runner = (REPO / ".ci" / "run").read_text(encoding="utf-8")
    checks = runner.partition("checks() {")[2].partition("}")[0]
    (local,) = read(REPO / ".pre-commit-config.yaml")["repos"]
    tools = {hook["entry"].split()[0] for hook in local["hooks"]}
    assert tools == set(re.findall(r"^ +(\.venv/bin/[\w-]+)", checks, re.MULTILINE))
