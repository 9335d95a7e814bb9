"""One grammar of keys: a key means one thing wherever it works."""

from __future__ import annotations

from itertools import product

import pytest
from tui_driver import check_golden, running

from sftui.tui.commands.command import MEANS
from sftui.tui.commands.table import COMMANDS
from sftui.tui.contexts import ANY, CONTEXTS, DIALOG, DOCUMENT, LIST, TOKENS
from sftui.tui.keys import build_keymap


def keys_by_meaning() -> dict[str, dict[str, list[tuple[str, str]]]]:
    """Of each key what it means: contexts and titles of the commands that say so."""
    found: dict[str, dict[str, list[tuple[str, str]]]] = {}
    for command in COMMANDS:
        for key in command.keys:
            found.setdefault(key, {}).setdefault(MEANS.get(command.means, command.title), []).append(
                (command.context, command.title)
            )
    return found


def test_a_key_means_one_thing() -> None:
    for key, meanings in keys_by_meaning().items():
        assert len(meanings) == 1, (
            f"{key} means {' and '.join(f'{name!r} {where}' for name, where in meanings.items())}"
        )


def test_a_first_key_is_no_command_anywhere() -> None:
    """A prefix means what its keys together mean."""
    single = {key for command in COMMANDS for key in command.keys if " " not in key}
    assert not {key.split(" ")[0] for command in COMMANDS for key in command.keys if " " in key} & single


def test_shared_meanings_are_few_and_each_is_shared() -> None:
    """A meaning is no way to give a key two: it is the same word in several panes."""
    for name in MEANS:
        sharing = {command.context for command in COMMANDS if command.means == name}
        assert len(sharing) > 1, f"{name} is said in one pane alone: its title will do"
    assert {command.means for command in COMMANDS} <= {"", *MEANS}


def test_the_table_of_keys() -> None:
    """Letter × pane → what it does there, read by a person: each line must be one thing."""
    table = sorted(keys_by_meaning().items(), key=lambda item: (len(item[0]) > 1, item[0].lower(), item[0]))
    lines = [
        f"{key:<10}{meaning:<32}{' · '.join(f'{where}: {title}' for where, title in places)}"
        for key, meanings in table
        for meaning, places in meanings.items()
    ]
    check_golden("grammar", "\n".join(lines) + "\n")


def test_what_is_in_the_palette_alone_has_no_key() -> None:
    keyless = {command.id for command in COMMANDS if not command.keys}
    assert keyless == {"theme", "mouse", "help.pages", "print.row", "print.ids", "print.labels", "print.text"}


UNSEEN = (
    (("f",), ("z", "Z", "s")),
    (("o",), ("z", "s", "t", "X", "-")),
    ((), ("t", "X", "-", "a")),
)


@pytest.mark.parametrize(("opened", "keys"), UNSEEN, ids=str)
async def test_no_letter_acts_on_what_is_not_on_screen(opened: tuple[str, ...], keys: tuple[str, ...]) -> None:
    async with running((80, 24)) as driven:
        await driven.press(*opened)
        here = driven.main
        before = (here.state.kept, here.state.compared, here.state.audited, here.panes.tokens.state)
        recipe, asked = driven.workspace.recipe, list(driven.worker.sent)
        for key in keys:
            await driven.press(key)
            assert driven.said, f"{key} says why it does nothing"
            now = (here.state.kept, here.state.compared, here.state.audited, here.panes.tokens.state)
            assert now == before and driven.workspace.recipe == recipe and driven.worker.sent == asked, key


def test_every_context_knows_the_keys_of_all() -> None:
    """What one learns in one pane holds in the next: help, quit, close, palette, export."""
    keymap = build_keymap(COMMANDS)
    for context, key in product(CONTEXTS, ("?", "q", "escape", ":", "x", "u", "f", "A", "c")):
        if context not in (ANY, DIALOG):
            found = keymap.find(context, key)
            assert found is not None and found.context == ANY, (context, key)
    assert {TOKENS, LIST, DOCUMENT} < set(CONTEXTS)
