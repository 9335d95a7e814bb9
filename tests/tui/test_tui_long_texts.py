"""What is longer than the line it stands in is told whole all the same."""

from __future__ import annotations

from tui_driver import running

from sftui.errors import SftuiError
from sftui.repairs.run import DEDUPLICATE, TITLES
from sftui.tui.bars import message_lines
from sftui.views.cells import Role, plain
from sftui.views.frame import title_cells

LONG = "the file could not be written, because the folder that it is to stand in is not there; name another folder"


def test_a_message_goes_on_where_its_line_ends() -> None:
    for width in (60, 80, 140):
        first, left = message_lines(LONG, Role.ERROR, width)
        told = [text.strip() for text in plain((first, left)).splitlines()]
        assert " ".join(told).strip() == LONG and all(len(text) < width for text in told)
        assert bool(left) == (width < 120)


async def test_a_long_answer_takes_the_line_of_the_keys_until_the_next_key() -> None:
    async with running((80, 24)) as driven:
        driven.main.say(LONG)
        driven.main.draw()
        await driven.settle()
        detail, foot = driven.lines[-2:]
        assert f"{detail} {foot.strip()}".strip() == LONG
        assert "? help" in (await driven.press("j")).splitlines()[-1]


async def test_a_long_complaint_stands_above_the_prompt() -> None:
    async with running((60, 20)) as driven:

        def refuse(text: str) -> None:
            raise SftuiError(LONG)

        driven.main.prompt.ask("file", refuse, value="x")
        await driven.press("enter")
        told, left, prompt = driven.lines[-3:]
        assert f"{told.strip()} {left.strip()}".startswith(LONG[:100]) and prompt.strip() == "x"
        await driven.press("escape")
        assert "? help" in driven.lines[-1] and "file" not in driven.lines[-2]


async def test_the_palette_says_its_own_keys() -> None:
    async with running((80, 24)) as driven:
        text = await driven.press(":")
        assert "a command, or a row number" in text and "↑ ↓ move · Enter runs it" in text and "j k move" not in text


async def test_the_marked_choice_is_told_whole() -> None:
    async with running((60, 20)) as driven:
        assert "appeared in an earlier one" not in await driven.press("R")
        text = await driven.press(*str(list(TITLES).index(DEDUPLICATE)), "j")
        assert "earlier one" in text
        assert text.count("\n") == 20 and "Esc closes" in text


def test_what_keys_do_is_told_whole_or_not_beside_a_title() -> None:
    hint = "a A/B · - differing · = other · + takes B"
    told = [plain((title_cells("compare", hint, width, False, rule=False),)).strip() for width in range(10, 60)]
    assert {one.removeprefix("compare").strip() for one in told} == {
        "",
        "a A/B",
        "a A/B · - differing",
        "a A/B · - differing · = other",
        hint,
    }
    assert all(
        len(plain((title_cells("compare", hint, width, False, rule=False),)).rstrip("\n")) <= width
        for width in range(10, 60)
    )
