"""When the first screen asks, and what it opens; without a terminal nothing is asked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sftui.cli.app import WELCOME
from sftui.session.options import OpenOptions

Sftui = Callable[..., Any]


class Seen:
    """What was asked, and what was opened."""

    def __init__(self) -> None:
        self.asks: list[tuple[str, ...]] = []
        self.given: dict[str, str] = {}
        self.answer: dict[str, str] | None = {}
        self.opened: list[OpenOptions] = []


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    found = Seen()

    def pick(asks: list[str], given: dict[str, str], settings: object) -> dict[str, str] | None:
        found.asks.append(tuple(asks))
        found.given = given
        return {**given, **found.answer} if found.answer is not None else None

    def opens(options: OpenOptions, *rest: object, tour: bool = False, where: str | None = None) -> int:
        found.opened.append(options)
        return 0

    monkeypatch.setattr("sftui.tui.app.pick", pick)
    monkeypatch.setattr("sftui.cli.inspector.can_pick", lambda: True)
    monkeypatch.setattr("sftui.cli.inspector.run", opens)
    monkeypatch.setattr("sftui.cli.inspector.on_terminal", lambda: True)
    return found


def test_sftui_alone_without_a_terminal_says_what_to_try(sftui: Sftui) -> None:
    assert (sftui().code, sftui().out) == (0, WELCOME)


def test_sftui_alone_asks_for_all(sftui: Sftui, seen: Seen, data: Path) -> None:
    seen.answer = {"data": str(data), "tokenizer": "builtin:gemma", "trainer": "trl@1.14"}
    assert sftui().code == 0 and seen.asks == [("data", "tokenizer", "trainer")]
    [opened] = seen.opened
    assert opened.paths == (str(data),)
    assert (opened.recipe.tokenizer.name, opened.recipe.preset) == ("builtin:gemma", "trl@1.14")


@pytest.mark.parametrize(
    ("words", "asks"),
    [
        ((), [("tokenizer", "trainer")]),
        (("--trainer", "trl"), [("tokenizer",)]),
        (("-t", "builtin:chatml"), []),
        (("-t", "builtin:chatml", "--trainer", "trl"), []),
    ],
)
def test_only_what_no_option_says_is_asked(
    words: tuple[str, ...], asks: list[tuple[str, ...]], sftui: Sftui, seen: Seen, data: Path
) -> None:
    seen.answer = {"tokenizer": "builtin:llama3", "trainer": "axolotl@0.19"}
    assert sftui(data, "--max-length", 99, *words).code == 0 and seen.asks == asks
    [opened] = seen.opened
    said = "builtin:llama3" if asks else "builtin:chatml"
    assert opened.recipe.tokenizer.name == said and opened.recipe.length.max == 99
    assert opened.recipe.trainer == ("trl" if "trl" in words else "axolotl" if asks else "hf-trainer")
    assert not asks or seen.given == {"data": str(data)}


def test_a_recipe_or_a_config_says_the_tokenizer(sftui: Sftui, seen: Seen, data: Path, tmp_path: Path) -> None:
    (tmp_path / "recipe.yaml").write_text("preset: trl@1.16\ntokenizer: {name: 'builtin:gemma'}\n")
    assert sftui(data, "--recipe", tmp_path / "recipe.yaml").code == 0
    config = tmp_path / "axolotl.yml"
    config.write_text(f"base_model: builtin:llama3\ndatasets:\n  - path: {data}\n    type: chat_template\n")
    assert (
        sftui(config, "--trainer", "axolotl").code == 0 and sftui("--config", config, "--trainer", "axolotl").code == 0
    )
    assert seen.asks == []
    assert [one.recipe.tokenizer.name for one in seen.opened] == ["builtin:gemma", "builtin:llama3", "builtin:llama3"]


def test_the_demo_can_be_picked(sftui: Sftui, seen: Seen) -> None:
    seen.answer = {"data": "sftui demo"}
    assert sftui().code == 0 and Path(seen.opened[0].paths[0]).parent.name.endswith("sample_data")


def test_who_leaves_has_opened_nothing(sftui: Sftui, seen: Seen, data: Path) -> None:
    seen.answer = None
    assert (sftui().code, sftui(data).code, seen.opened) == (0, 0, [])


def test_none_is_no_tokenizer(sftui: Sftui, seen: Seen, data: Path) -> None:
    seen.answer = {"tokenizer": "", "trainer": "hf-trainer"}
    assert sftui(data).code == 0 and seen.opened[0].recipe.tokenizer.name is None


def test_what_is_picked_is_checked_as_what_is_typed(sftui: Sftui, seen: Seen, tmp_path: Path) -> None:
    seen.answer = {"data": str(tmp_path / "none.jsonl"), "tokenizer": "builtin:chatml", "trainer": "trlx"}
    done = sftui()
    assert (done.code, seen.opened) == (2, []) and "did you mean `trl`?" in done.err


SESSION = """\
sftui_session: 1
data: [rows.jsonl]
tokenizer: builtin:gemma
trainer: trl@1.14
apply: [trim]
where: row > 1
row: 2
"""


def test_a_session_opens_with_its_row_filter_and_repairs(sftui: Sftui, seen: Seen, data: Path) -> None:
    file = data.parent / "s.yml"
    file.write_text(SESSION)
    assert sftui(file).code == 0 and seen.asks == []
    assert sftui(file, "--row", 1, "-t", "builtin:chatml").code == 0
    opened, other = seen.opened
    assert (opened.paths, opened.repairs, opened.row) == ((str(data),), ("trim",), 2)
    assert (opened.recipe.tokenizer.name, opened.recipe.preset) == ("builtin:gemma", "trl@1.14")
    assert (other.recipe.tokenizer.name, other.row) == ("builtin:chatml", 1)


def test_commands_open_a_session_too(sftui: Sftui, data: Path) -> None:
    file = data.parent / "s.yml"
    file.write_text(SESSION)
    done = sftui("encode", file, "-o", "-")
    assert [one["row"] for one in done.records()] == [2, 3] and "read with trim" in done.err
    assert [one["row"] for one in sftui("encode", file, "-o", "-", "--where", "row < 2").records()] == [0, 1]
    shown = sftui("template", file)
    assert shown.code == 2 and "rows cannot be repaired here, because the session" in shown.err
    file.write_text(SESSION.replace("apply: [trim]\n", ""))
    assert "the session's filter is not used here: row > 1" in sftui("template", file).err
    file.write_text(SESSION + "set: {length.max: many}\n")
    refused = sftui("check", file)
    assert refused.code == 2 and "s.yml line 8: `length.max` cannot be 'many'" in refused.err


def test_only_a_file_of_lines_is_followed_from_its_first_line_on(
    sftui: Sftui, seen: Seen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for words in (("rows.csv",), ("a.jsonl", "b.jsonl")):
        for name in words:
            (tmp_path / name).write_text("{}\n")
        done = sftui(*(tmp_path / name for name in words), "-t", "builtin:chatml", "-f")
        assert done.code == 2 and "-f follows one JSON Lines file; name a .jsonl file, or omit -f" in done.err
    path = tmp_path / "rows.jsonl"
    path.write_text('{"messages"')
    monkeypatch.setattr("time.sleep", lambda seconds: path.write_text('{"messages": []}\n'))
    done = sftui(path, "-t", "builtin:chatml", "--follow")
    assert done.code == 0 and done.err.count("waiting for the first row of") == 1
    assert [one.paths for one in seen.opened] == [(str(path),)]
