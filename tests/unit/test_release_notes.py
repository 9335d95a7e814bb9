"""The changelog, and what a release takes from it."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

REPO = Path(__file__).resolve().parents[2]
SCRIPT = REPO / ".github" / "release_notes.py"
CHANGELOG = """# Changelog

## [Unreleased]

### Added

- Later.

## [1.10.0] - 2026-11-23

### Fixed

- What was wrong.

## [1.1.0] - 2026-10-01

- The first.
"""


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("release_notes", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("version", "notes"),
    [("1.10.0", "### Fixed\n\n- What was wrong.\n"), ("1.1.0", "- The first.\n")],
)
def test_the_notes_of_a_version_end_at_the_next(script: ModuleType, version: str, notes: str) -> None:
    assert script.notes_of(version, CHANGELOG) == notes


@pytest.mark.parametrize(
    ("changelog", "why"),
    [
        (CHANGELOG.replace(" - 2026-11-23", ""), "has no line `## [1.10.0] - YYYY-MM-DD`"),
        (CHANGELOG.replace("1.10.0", "1x10.0"), "has no line"),
        (CHANGELOG.replace("- What was wrong.\n", ""), "says nothing of 1.10.0"),
    ],
)
def test_a_version_without_entries_or_date_is_not_released(script: ModuleType, changelog: str, why: str) -> None:
    with pytest.raises(SystemExit, match=re.escape(why)):
        script.notes_of("1.10.0", changelog)


def test_the_version_is_that_of_the_project_alone(script: ModuleType) -> None:
    text = '[project]\nname = "sftui"\nversion = "1.2.3"\n\n[tool.other]\nversion = "9"\n'
    assert script.package_version(text) == "1.2.3"
    with pytest.raises(SystemExit):
        script.package_version('[project]\nname = "sftui"\n\n[tool.other]\nversion = "9"\n')


def test_the_version_of_the_package_has_its_notes_and_no_other_tag_does(script: ModuleType) -> None:
    version = script.package_version((REPO / "pyproject.toml").read_text(encoding="utf-8"))
    told = [
        subprocess.run([sys.executable, SCRIPT, tag], capture_output=True, text=True)
        for tag in (f"v{version}", version, f"v{version}.1")
    ]
    assert [done.returncode for done in told] == [0, 1, 1]
    assert told[0].stdout.count("\n- ") > 0
    assert "pyproject.toml says version" in told[1].stderr and not told[1].stdout


def test_the_changelog_goes_from_the_newest_version_to_the_oldest() -> None:
    text = (REPO / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert headings[0] == "[Unreleased]"
    found = [re.fullmatch(r"\[(\d+)\.(\d+)\.(\d+)\] - (\d{4}-\d{2}-\d{2})", one) for one in headings[1:]]
    versions = [(tuple(map(int, one.groups()[:3])), one[4]) for one in found if one is not None]
    assert len(versions) == len(found) > 0
    assert versions == sorted(versions, reverse=True)
    kinds = set(re.findall(r"^### (.*)$", text, re.MULTILINE))
    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert not re.findall(r"^[ \t]+- .*$", text, re.MULTILINE), "an entry below an entry: one line each"
    entries = re.findall(r"^- .*$", text, re.MULTILINE)
    assert len(entries) == len(set(entries)), "an entry stands twice"
    for part in re.split(r"^## ", text, flags=re.MULTILINE):
        titles = re.findall(r"^### (.*)$", part, re.MULTILINE)
        assert len(titles) == len(set(titles)), "the entries of a kind stand together"
