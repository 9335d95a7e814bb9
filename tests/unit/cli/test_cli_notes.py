"""What a trainer says of the recipe as a whole stands once on stderr, and in what `check` and `report` write."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

NEWER = "TRL 1.30 is newer than the rules that sftui has"
TOK = ("-t", "builtin:chatml", "--trainer", "trl@1.30")


@pytest.fixture
def chats(tmp_path: Path) -> Path:
    path = tmp_path / "chats.jsonl"
    row = {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Hello there."}]}
    path.write_text("".join(json.dumps(row) + "\n" for _ in range(3)), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "words",
    [
        ("show",),
        ("show", "--format", "json"),
        ("encode", "-o", "-"),
        ("check",),
        ("check", "--format", "json"),
        ("check", "--format", "sarif"),
        ("compare", "--with", "length.max=8"),
        ("compare", "--with", "trl@1.30 length.max=8"),
        ("export", "--to", "trl", "-o", "OUT", "--force"),
        ("export", "--to", "recipe", "-o", "OUT", "--force"),
        ("report", "-o", "OUT.html"),
    ],
)
def test_it_is_told_once_beside_the_data(
    sftui: Callable[..., Any], chats: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    command, *rest = (word.replace("OUT", str(tmp_path / "out")) for word in words)
    done = sftui(command, chats, *TOK, *rest)
    assert done.code in (0, 1) and done.err.count(NEWER) == 1
    assert (NEWER in done.out) == (words == ("check", "--format", "json"))


def test_explain_tells_it_with_the_row(sftui: Callable[..., Any], chats: Path) -> None:
    done = sftui("show", chats, *TOK, "--explain", "--width", "200")
    assert done.out.count(NEWER) == 1 and NEWER not in done.err


def test_both_sides_tell_theirs(sftui: Callable[..., Any], chats: Path) -> None:
    done = sftui("compare", chats, *TOK, "--with", "axolotl@0.25")
    assert NEWER in done.err and "Axolotl 0.25 is newer" in done.err


def test_the_machine_reads_it_too(sftui: Callable[..., Any], chats: Path, tmp_path: Path) -> None:
    [note] = [one for one in json.loads(sftui("check", chats, *TOK, "--format", "json").out)["notes"] if NEWER in one]
    sftui("report", chats, *TOK, "-o", str(tmp_path / "page.html"))
    assert (tmp_path / "page.html").read_text(encoding="utf-8").count(f"<li>{note}</li>") == 1


def test_a_known_version_says_nothing(sftui: Callable[..., Any], chats: Path) -> None:
    done = sftui("show", chats, "-t", "builtin:chatml", "--trainer", "trl@1.16")
    assert done.err == ""


ROLES = ("-t", "builtin:chatml", "--set", "mask.rule=assistant")


@pytest.mark.parametrize(
    "words",
    [
        ("show",),
        ("encode", "-o", "-"),
        ("export", "--to", "recipe", "-o", "OUT", "--force"),
        ("compare", "--with", "length.max=8"),
    ],
)
def test_a_role_that_no_row_has_is_told_with_the_nearest(
    sftui: Callable[..., Any], chats: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    command, *rest = (word.replace("OUT", str(tmp_path / "out.py")) for word in words)
    said = (
        "mask.roles names the role `asistant`, which none of the 3 rows has; the roles are `user`, `assistant`: did you"
    )
    done = sftui(command, chats, *ROLES, "--set", 'mask.roles=["asistant"]', *rest)
    assert done.err.count(said) == 1
    done = sftui(command, chats, *ROLES, "--set", 'mask.roles=["assistant","user"]', *rest)
    assert "mask.roles names" not in done.err and done.code in (0, 1)


def test_the_other_side_tells_its_role_too(sftui: Callable[..., Any], chats: Path) -> None:
    done = sftui("compare", chats, *ROLES, "--with", "mask.roles=asistant")
    assert done.err.count("mask.roles names the role `asistant`") == 1


def test_the_roles_that_are_told_are_a_finding_of_check(sftui: Callable[..., Any], chats: Path) -> None:
    done = sftui("check", chats, *ROLES, "--set", "mask.roles=asistant")
    assert done.code == 1 and "ROL005" in done.out and "mask.roles names" not in done.err
