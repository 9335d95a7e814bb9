"""The forms for issues: as GitHub reads them, and that they ask for `sftui bug-report`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from sftui.cli.app import COMMANDS

FOLDER = Path(__file__).resolve().parents[2] / ".github" / "ISSUE_TEMPLATE"
FORMS = sorted(file for file in FOLDER.glob("*.yml") if file.name != "config.yml")
ALLOWED = {
    "textarea": {"label", "description", "placeholder", "value", "render"},
    "input": {"label", "description", "placeholder", "value"},
    "dropdown": {"label", "description", "options", "multiple", "default"},
}
"""What a form may say of each kind of question (docs.github.com, "Syntax for GitHub's form schema")."""


@pytest.mark.parametrize("file", FORMS, ids=lambda file: file.stem)
def test_a_form_is_one_that_github_reads(file: Path) -> None:
    form: dict[str, Any] = YAML(typ="safe").load(file)
    assert set(form) == {"name", "description", "labels", "body"}
    assert all(isinstance(form[key], str) and len(form[key]) > 3 for key in ("name", "description"))
    names = [asked["id"] for asked in form["body"]]
    assert len(names) == len(set(names))
    for asked in form["body"]:
        assert set(asked) <= {"type", "id", "attributes", "validations"}
        assert set(asked["attributes"]) <= ALLOWED[asked["type"]] and asked["attributes"]["label"]
        assert set(asked.get("validations", {})) <= {"required"}
    options = [one for asked in form["body"] for one in asked["attributes"].get("options", [])]
    assert len(options) == len(set(options)) and all(isinstance(one, str) for one in options)


@pytest.mark.parametrize("file", FORMS, ids=lambda file: file.stem)
def test_every_form_asks_for_the_bug_report(file: Path) -> None:
    (asked,) = [one for one in YAML(typ="safe").load(file)["body"] if one["id"] == "report"]
    assert asked["validations"]["required"] and "`sftui bug-report" in asked["attributes"]["description"]
    assert "bug-report" in COMMANDS
    assert asked["attributes"].get("render") is None, "it is Markdown"


def test_there_is_a_form_for_each_kind_of_issue() -> None:
    assert [file.stem for file in FORMS] == ["bug", "finding", "labels"]
    (trainers,) = [one for one in YAML(typ="safe").load(FOLDER / "labels.yml")["body"] if one["type"] == "dropdown"]
    assert {one.lower() for one in trainers["attributes"]["options"]} >= {
        "trl",
        "axolotl",
        "llama-factory",
        "unsloth",
        "torchtune",
    }
