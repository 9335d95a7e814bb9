"""What coding agents and other tools are told of sftui is true: the commands are there and take what is said."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from sftui.cli.app import COMMANDS
from sftui.cli.help import SKILL
from sftui.docs import markdown

REPO = Path(__file__).parents[3]
NAMED = re.compile(r"`sftui ([a-z-]+)([^`]*)`")
"""Commands as texts name them; data in capitals is none."""


def test_the_skill_is_printed_as_it_stands(sftui: Callable[..., Any]) -> None:
    done = sftui("skill")
    assert done.code == 0 and done.out == SKILL.read_text(encoding="utf-8")
    head = done.out.split("---\n")[1]
    assert re.search(r"^name: sftui$", head, re.MULTILINE)
    (description,) = re.findall(r"^description: (.+)$", head, re.MULTILINE)
    assert len(description) < 1024, "what agents read of a skill before they load it"


@pytest.mark.parametrize("text", [SKILL.read_text(encoding="utf-8"), markdown("agents")], ids=["skill", "agents"])
def test_every_command_and_option_that_it_names_is_there(text: str) -> None:
    named = NAMED.findall(text)
    assert {name for name, _ in named} >= {"repair", "convert", "export", "compare"}
    for name, rest in named:
        command = COMMANDS[name]
        taken = {option for one in command.params for option in (*one.opts, *one.secondary_opts)}
        assert set(re.findall(r"(?<!\S)--?[a-z][a-z-]*", rest)) <= taken, (name, rest)


def test_axolotl_finds_its_command() -> None:
    (point,) = [one for one in entry_points(group="axolotl.cli_commands") if one.value.startswith("sftui.")]
    assert point.name == "inspect"
    done = CliRunner().invoke(point.load(), ["--version"])
    assert done.exit_code == 0 and done.output.startswith("sftui ")
    done = CliRunner().invoke(point.load(), ["no-such.yml", "--row", "3"])
    assert done.exit_code == 2


def test_the_extension_of_hf_has_the_script_that_hf_looks_for() -> None:
    """huggingface_hub 2.4, cli/extensions.py: a repository hf-NAME that pip installs, with a script hf-NAME."""
    text = (REPO / ".github" / "hf-sftui" / "pyproject.toml").read_text(encoding="utf-8")
    (script,) = re.findall(r'^hf-sftui = "(.+)"$', text, re.MULTILINE)
    own = (REPO / "pyproject.toml").read_text(encoding="utf-8")
    assert f'sftui = "{script}"' in own
