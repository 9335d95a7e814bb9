"""One grammar of keys: a key means one thing wherever it works, and one that moved says where it went."""

from __future__ import annotations

from itertools import product

import pytest
from tui_driver import check_golden, running

from sftui.tui.commands.command import MEANS, show_key
from sftui.tui.commands.table import COMMANDS
from sftui.tui.contexts import ANY, CONTEXTS, DIALOG, DOCUMENT, FIGURES, FINDINGS, LIST, RECIPE, TOKENS
from sftui.tui.keys import build_keymap, keymap_problems


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


MOVED = {
    (ANY, "t"): "theme", (ANY, "m"): "mouse", (ANY, "b"): "boundary", (ANY, "H"): "help.pages", (ANY, "V"): "zoom.back",
    (ANY, "v"): "zoom", (ANY, "+"): "compare.take", (ANY, "a"): "compare.toggle", (ANY, "p"): "print.row",
    (FINDINGS, "?"): "findings.explain", (FINDINGS, "i"): "findings.waive", (FINDINGS, "n"): "findings.next",
    (FINDINGS, "N"): "findings.previous", (FINDINGS, "l"): "findings.tokens", (FINDINGS, "right"): "findings.tokens",
    (FIGURES, "?"): "figures.explain", (FIGURES, "l"): "figures.rows", (FIGURES, "right"): "figures.rows",
    (RECIPE, "d"): "recipe.reset", (DIALOG, "y"): "dialog.yes",
}  # fmt: skip


def test_every_key_that_moved_is_known() -> None:
    keymap = build_keymap(COMMANDS)
    moved = {place: command.id for place, command in keymap.moved.items() if keymap.went(*place, keymap.find(*place))}
    assert moved == MOVED


@pytest.mark.one_of(4)
@pytest.mark.parametrize(("place", "ident"), MOVED.items(), ids=str)
async def test_a_key_that_moved_says_where_it_went(place: tuple[str, str], ident: str) -> None:
    context, key = place
    command = next(one for one in COMMANDS if one.id == ident)
    async with running((140, 45)) as driven:
        opening = {FINDINGS: ("f",), FIGURES: ("A",), RECIPE: ("c",), DIALOG: ("x",)}.get(context, ())
        await driven.press(*opening, key)
        if driven.app.screen is not driven.main and context != DIALOG:
            await driven.press("escape")
        told = driven.text
        assert f"was {command.title}" in told, told
        where = " ".join(map(show_key, command.keys)) if command.keys else f": {command.title}"
        assert where.split(" ")[0] in told


async def test_where_it_went_is_said_once_where_the_key_does_something_now() -> None:
    async with running((140, 45)) as driven:
        await driven.press("f", "i", "escape")
        assert "was waive it" in driven.said
        await driven.press("i", "escape")
        assert "was" not in driven.said


OLD_KEYMAPS = (
    {"theme": ("t",), "mouse": ("m",)},
    {"compare.toggle": ("a",), "compare.take": ("+",)},
    {"findings.next": ("n",), "findings.waive": ("i",), "findings.explain": ("?",)},
    {"row.next": ("i",), "row.previous": ("I",)},
    {"zoom": ("v",), "zoom.back": ("V",)},
    {"row.next": (">",), "row.previous": ("<",)},
    {"dialog.yes": ("y",), "dialog.close": ("q", "escape")},
    {"print.row": ("p p",), "boundary": ("b",), "recipe.reset": ("d",)},
    {"export": ("W",), "help.pages": ("H",)},
)


@pytest.mark.parametrize("chosen", OLD_KEYMAPS, ids=str)
def test_keymaps_of_the_last_release_still_work(chosen: dict[str, tuple[str, ...]]) -> None:
    """What was good before the keys moved is, and does what it says."""
    assert keymap_problems(COMMANDS, chosen) == ()
    keymap = build_keymap(COMMANDS, chosen)
    for name, keys in chosen.items():
        command = next(one for one in COMMANDS if one.id == name)
        for key in keys:
            found = keymap.find(command.context, key)
            assert found is command, f"{key} is {found}"


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
