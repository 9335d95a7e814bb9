"""The first screen: data, tokenizer and trainer picked from lists, at each size."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot

from sftui.session.arguments import Arguments
from sftui.session.command_line import InForce
from sftui.session.session_file import leave
from sftui.settings import UserSettings
from sftui.tui.commands.table import COMMANDS
from sftui.tui.first import DATA, DEMO, TOKENIZER, TRAINER, FirstApp, Pick, Picking
from sftui.tui.keys import build_keymap

SIZES = ((60, 20), (80, 24), (120, 36))
ALL = (DATA, TOKENIZER, TRAINER)
AXOLOTL = "base_model: x\ndatasets:\n  - path: a.jsonl\n    type: chat_template\nsample_packing: true\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    (tmp_path / "chats.jsonl").write_text("{}\n")
    (tmp_path / "other\x1b[31m.jsonl").write_text("{}\n")
    (tmp_path / "axolotl.yml").write_text(AXOLOTL)
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "tokenizer.json").write_text("{}")
    return tmp_path


class Shown:
    def __init__(self, app: FirstApp, pilot: Pilot[dict[str, str] | None]) -> None:
        self.app, self.pilot = app, pilot

    async def press(self, *keys: str) -> str:
        await self.pilot.press(*keys)
        await self.pilot.pause()
        return self.text

    @property
    def text(self) -> str:
        strips = self.app.screen._compositor.render_strips()
        return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips)


@asynccontextmanager
async def first(
    asks: tuple[str, ...] = ALL, size: tuple[int, int] = (80, 24), given: dict[str, str] | None = None
) -> AsyncIterator[Shown]:
    app = FirstApp(Picking(asks, given or {}), UserSettings(theme="dark", glyphs="unicode"))
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        yield Shown(app, pilot)


@pytest.mark.parametrize("size", SIZES)
async def test_three_questions_make_what_a_command_line_would_say(size: tuple[int, int]) -> None:
    async with first(size=size) as shown:
        text = shown.text
        assert "What do you want to look at? (1 of 3)" in text and "chats.jsonl" in text and "Esc leaves" in text
        assert "config of Axolotl" in text and DEMO in text and "\x1b" not in text
        text = await shown.press(*"chats", "enter")
        assert "Which tokenizer? (2 of 3)" in text and "model" in text and "builtin:chatml" in text
        text = await shown.press(*"chatml", "enter")
        assert "Which trainer should it follow? (3 of 3)" in text and "llamafactory@0.9" in text
        await shown.press(*"trl@1.14", "enter")
    assert shown.app.return_value == {"data": "chats.jsonl", "tokenizer": "builtin:chatml", "trainer": "trl@1.14"}


@pytest.mark.parametrize(("typed", "value"), [("axol", "axolotl.yml"), ("demo", DEMO)])
async def test_a_config_and_the_demo_bring_the_rest(typed: str, value: str) -> None:
    async with first() as shown:
        await shown.press(*typed, "enter")
    assert shown.app.return_value == {"data": value}


async def test_what_is_typed_is_taken_where_nothing_matches() -> None:
    async with first() as shown:
        text = await shown.press(*"org/set")
        assert "open `org/set` as typed" in text
        await shown.press("enter", *"Qwen/Qwen3-0.6B", "enter", "enter")
    assert shown.app.return_value == {"data": "org/set", "tokenizer": "Qwen/Qwen3-0.6B", "trainer": "hf-trainer"}


async def test_a_trainer_that_is_none_is_told_and_asked_again() -> None:
    async with first((TRAINER,), given={DATA: "chats.jsonl"}) as shown:
        assert "no trainer `trlx`; did you mean `trl`?" in await shown.press(*"trlx", "enter")
        await shown.press("backspace", "enter")
    assert shown.app.return_value == {"data": "chats.jsonl", "trainer": "trl@1.16"}


async def test_escape_goes_back_and_at_the_first_question_leaves() -> None:
    async with first() as shown:
        await shown.press("enter")  # axolotl.yml comes first
    assert shown.app.return_value == {"data": "axolotl.yml"}
    async with first() as shown:
        assert "(2 of 3)" in await shown.press(*"chats", "enter")
        assert "(1 of 3)" in await shown.press("escape")
        await shown.press("escape")
    assert shown.app.return_value is None


async def test_the_keys_move_and_the_list_scrolls(here: Path) -> None:
    for number in range(60):
        (here / f"part-{number:02}.jsonl").write_text("{}\n")
    async with first((DATA,), size=(60, 20)) as shown:
        assert "part-59" in await shown.press("down", *["pagedown"] * 9, "up", "up")
        await shown.press(*"part-3", "down", "enter")
    assert shown.app.return_value == {"data": "part-31.jsonl"}


async def test_no_tokenizer_is_a_choice() -> None:
    async with first((TOKENIZER, TRAINER), given={DATA: "chats.jsonl"}) as shown:
        await shown.press(*"none", "enter", "enter")
    assert shown.app.return_value == {"data": "chats.jsonl", "tokenizer": "", "trainer": "hf-trainer"}


def test_words_match_in_any_order_names_and_meanings_alike() -> None:
    pick = Pick(Picking((DATA,), {}), build_keymap(COMMANDS))
    assert [one.value for one in pick.matching("config axo")] == ["axolotl.yml"]
    assert pick.matching("") == pick.choices and pick.matching("nothing at all") == ()


async def test_data_that_was_open_goes_on_where_it_was(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(here / "state"))
    folder = here / "state" / "sftui" / "sessions"
    options = Arguments(data=("chats.jsonl",), tokenizer="builtin:gemma", trainer="trl@1.16").options()[0]
    leave(InForce(options, options.recipe, ("trim",), row=41), folder / "a.yml", [])
    async with first(size=(120, 36)) as shown:
        assert "chats.jsonl" in shown.text and "go on at row 41 · trl@1.16 · builtin:gemma · trim" in shown.text
        await shown.press(*"go on", "enter")
    assert shown.app.return_value == {"data": str(folder / "a.yml")}
    (here / "chats.jsonl").unlink()
    async with first() as shown:
        assert "go on at row" not in shown.text, "it is gone"


async def test_a_session_file_of_the_folder_is_offered(here: Path) -> None:
    (here / "mine.yml").write_text("sftui_session: 1\ndata: [chats.jsonl]\n")
    async with first() as shown:
        assert "session: its data, recipe and row" in shown.text
        await shown.press(*"mine", "enter")
    assert shown.app.return_value == {"data": "mine.yml"}
