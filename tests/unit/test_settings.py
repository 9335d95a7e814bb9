"""The user's settings: problems are told, whatever is fine is used; trap T9, keymap clashes."""

from __future__ import annotations

from pathlib import Path

import pytest

from sftui.settings import UserSettings, load_settings, read_settings
from sftui.tui.commands.command import Command
from sftui.tui.keys import keymap_problems

TABLE = (
    Command("app.quit", ("q",), "", ""),
    Command("tokens.down", ("j", "down"), "", "", "tokens"),
    Command("tokens.up", ("k", "up"), "", "", "tokens"),
    Command("list.down", ("j",), "", "", "list"),
    Command("copy.ids", ("y i",), "", ""),
)


def test_a_file_that_is_not_there_is_fine(tmp_path: Path) -> None:
    assert load_settings(tmp_path / "none.yaml").problems == ()
    assert load_settings().file.endswith("settings.yaml")


def test_everything_can_be_set() -> None:
    settings = read_settings(
        'theme: ansi\nmouse: false\nkeymap: {app.quit: "Q,ctrl+q", tokens.down: [n, " y  j "]}', "f"
    )
    assert settings == UserSettings("ansi", False, {"app.quit": ("Q", "ctrl+q"), "tokens.down": ("n", "y j")}, (), "f")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("teme: ansi", "did you mean `theme`?"),
        ("theme: lihgt", "did you mean `light`?"),
        ("theme: [1]", "choose one of dark, light, contrast, ansi, mono"),
        ("mouse: 3", "use true or false"),
        ("keymap: 3", "must be a mapping"),
        ("- a", "must be a mapping"),
        ("a: [", "line 1"),
        ("theme: \x1b[31m", "f:"),
    ],
)
def test_problems_are_told_and_do_not_raise(text: str, told: str) -> None:
    settings = read_settings(text, "f")
    assert len(settings.problems) == 1 and told in settings.problems[0]
    assert (settings.theme, settings.mouse) == (None, True)


def test_bytes_that_are_no_text_are_told(tmp_path: Path) -> None:
    path = tmp_path / "settings.yaml"
    path.write_bytes(b"\xff\xfe")
    assert "not UTF-8" in load_settings(path).problems[0]


def test_what_is_fine_is_used_beside_what_is_not() -> None:
    settings = read_settings("theme: mono\nmose: true", "f")
    assert settings.theme == "mono" and "did you mean `mouse`?" in settings.problems[0]


@pytest.mark.parametrize(
    ("keymap", "told"),
    [
        ({"app.quti": ["x"]}, "did you mean `app.quit`?"),
        ({"app.quit": ["nonsense"]}, "`nonsense` is not a key"),
        ({"app.quit": ["ctrl+"]}, "`ctrl+` is not a key"),
        ({"app.quit": []}, "has no key"),
        ({"tokens.up": ["j"]}, "`j` is the key of both `tokens.down` and `tokens.up`"),
        ({"app.quit": ["j"]}, "`app.quit` and `tokens.down`"),
        ({"app.quit": ["y"]}, "begin with the same key"),
    ],
)
def test_t9_a_keymap_that_would_take_keys_away_is_told(keymap: dict[str, list[str]], told: str) -> None:
    """Trap T9: Textual ignores unknown ids and lets a clash delete the other binding silently."""
    assert any(told in problem for problem in keymap_problems(TABLE, keymap))


@pytest.mark.parametrize(
    "keymap",
    [
        {},
        {"app.quit": ["Q", "ctrl+g", "f10"]},
        {"tokens.down": ["n"]},
        {"tokens.up": ["k", "ctrl+p"]},
        {"copy.ids": ["y y"]},
        {"tokens.down": ["k"], "tokens.up": ["j"]},
    ],
)
def test_t9_a_keymap_without_a_clash_is_fine(keymap: dict[str, list[str]]) -> None:
    assert keymap_problems(TABLE, keymap) == ()
