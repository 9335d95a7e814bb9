"""The one table of commands, counts and prefixes, and a user's keymap (trap T9)."""

from __future__ import annotations

import pytest

from sftui.tui.commands.command import show_key
from sftui.tui.commands.table import COMMANDS
from sftui.tui.contexts import ANY, CONTEXTS, DIALOG, LIST
from sftui.tui.help_text import help_lines
from sftui.tui.keys import EATEN, KeymapError, KeyReader, build_keymap, keymap_problems
from sftui.views.cells import plain


def test_ids_are_unique_and_contexts_known() -> None:
    assert len({c.id for c in COMMANDS}) == len(COMMANDS)
    assert {c.context for c in COMMANDS} <= set(CONTEXTS)


def test_no_key_means_two_things_in_one_place() -> None:
    seen: dict[tuple[str, str], str] = {}
    for command in COMMANDS:
        for key in command.keys:
            assert seen.setdefault((command.context, key), command.id) == command.id
    prefixes = {(context, key.split(" ")[0]) for context, key in seen if " " in key}
    for context, prefix in prefixes:
        for other in CONTEXTS if context == ANY else (context, ANY):
            assert other == DIALOG or (other, prefix) not in seen, f"{prefix} is a prefix and a command"


def test_no_key_is_eaten_by_tmux_screen_or_the_terminal() -> None:
    for command in COMMANDS:
        for key in command.keys:
            assert not set(key.split(" ")) & EATEN
            assert not any(step.isdecimal() for step in key.split(" ")), "digits are counts"
            assert "shift+enter" not in key and "ctrl+enter" not in key


def test_every_context_can_move_and_ask_for_help() -> None:
    for context in CONTEXTS:
        if context not in (ANY, DIALOG):
            reader = KeyReader(build_keymap(COMMANDS))
            assert reader.feed("j", context).command is not None
            assert reader.feed("?", context).command is not None
            assert reader.feed("q", context).command is not None


def test_counts_and_prefixes() -> None:
    reader = KeyReader(build_keymap(COMMANDS))
    assert reader.feed("1", "tokens").pending == "1"
    assert reader.feed("0", "tokens").pending == "10"
    stroke = reader.feed("j", "tokens")
    assert stroke.command is not None and (stroke.command.id, stroke.count) == ("tokens.down", 10)
    assert reader.feed("y", "tokens").pending == "y"
    stroke = reader.feed("i", "tokens")
    assert stroke.command is not None and stroke.command.id == "copy.ids"
    reader.feed("y", "tokens")
    assert reader.feed("z", "tokens").unknown == "yz"
    reader.feed("9", "tokens")
    assert reader.feed("escape", "tokens").command is None and reader.pending == ""
    assert reader.feed("0", "tokens").unknown == "0"


def test_a_count_cannot_grow_without_end() -> None:
    reader = KeyReader(build_keymap(COMMANDS))
    for _ in range(50):
        reader.feed("9", "tokens")
    stroke = reader.feed("j", "tokens")
    assert stroke.count is not None and stroke.count <= 1_000_000_000


def test_T9_keymap_mistakes_are_all_told() -> None:
    problems = keymap_problems(
        COMMANDS,
        {
            "row.nxt": ("J",),
            "zoom": ("s",),
            "search": ("ctrl+b",),
            "export": ("5",),
            "help": ("nonsense",),
            "quit": (),
            "undo": ("a b c",),
        },
    )
    text = "\n".join(problems)
    assert "row.nxt" in text and "row.next" in text
    assert "`zoom`" in text and "`shift`" in text
    assert "ctrl+b" in text and "tmux" in text
    assert "digits" in text
    assert "nonsense" in text
    assert "`quit`" in text
    assert "longer than two" in text
    with pytest.raises(KeymapError):
        build_keymap(COMMANDS, {"zoom": ("s",)})


def test_T9_a_good_keymap_replaces_only_its_own_keys() -> None:
    keymap = build_keymap(COMMANDS, {"row.next": ("J",), "copy.row": ("Y",)})
    assert keymap.keys_of("row.next") == ("J",)
    found = keymap.find("tokens", "J")
    assert found is not None and found.id == "row.next"
    assert keymap.find("tokens", "]") is None
    assert keymap.keys_of("row.previous") == ("[",)


def test_help_holds_every_command_and_its_keys() -> None:
    text = plain(help_lines("tokens", build_keymap(COMMANDS), 120))
    for command in COMMANDS:
        assert command.help.split(";")[0][:40] in text
        for key in " ".join(map(show_key, command.keys)).split(" "):
            assert key in text


def test_help_puts_this_pane_first() -> None:
    text = plain(help_lines("recipe", build_keymap(COMMANDS), 100))
    heads = ("IN THE RECIPE", "Anywhere", "Signs", "Concepts", "Moving in the recipe", "In the tokens")
    assert [text.index(head) for head in heads] == sorted(text.index(head) for head in heads)


def test_help_holds_what_was_typed_alone() -> None:
    keymap = build_keymap(COMMANDS)
    text = plain(help_lines("tokens", keymap, 100, "mask"))
    assert "Show why the token under the cursor is trained or masked" in text and "a label of -100: masked" in text
    assert "Label and mask" in text and "Quit;" not in text and "Shift\n" not in text
    assert plain(help_lines("tokens", keymap, 100, "MASK  token")) != text, "every word, whatever its case"
    assert plain(help_lines("tokens", keymap, 100, "nowhere at all")).startswith("no help for")


@pytest.mark.parametrize("width", [58, 78, 98])
def test_a_concept_is_ten_lines_at_most(width: int) -> None:
    from sftui.tui.help_pages import laid_out
    from sftui.tui.help_text import concepts

    for text in concepts():
        lines = [cells for cells in laid_out(text, 78) if cells]
        assert len(lines) <= 11, "its heading, and ten"
        assert all(sum(run.width for run in cells) <= width for cells in laid_out(text, width))


def test_the_footer_fits_and_says_what_matters() -> None:
    from sftui.tui.bars import footer_cells

    keymap = build_keymap(COMMANDS)
    for context in CONTEXTS:
        for width in (40, 60, 80, 120, 200):
            text = "".join(run.text for run in footer_cells(context, width, keymap))
            assert len(text) <= width and text.endswith("? help"), "help is never left out"
        assert context != ANY or all(word in footer_cells_text(80) for word in ("findings", "audit", "export"))


def test_tokens_and_list_have_one_footer_in_80_columns() -> None:
    """So that nothing of it is written when Tab goes from one to the other."""
    from sftui.tui.bars import footer_cells

    keymap = build_keymap(COMMANDS)
    idle = frozenset({"side"})  # of a row that has none
    here, there = ("".join(run.text for run in footer_cells(context, 80, keymap, idle)) for context in (ANY, LIST))
    assert here == there and "Enter open" in here


def footer_cells_text(width: int) -> str:
    from sftui.tui.bars import footer_cells

    return "".join(run.text for run in footer_cells(ANY, width, build_keymap(COMMANDS)))


def test_the_table_is_the_only_source_of_bindings() -> None:
    """Textual's own bindings (ctrl+q among them) are off; keys arrive through the table alone."""
    from sftui.tui.app import SftuiApp
    from sftui.tui.dialogs import Dialog, DialogLines
    from sftui.tui.line_view import LineView
    from sftui.tui.main_screen import MainScreen

    for kind in (SftuiApp, MainScreen, Dialog, DialogLines, LineView):
        assert not kind._merged_bindings.key_to_bindings if kind._merged_bindings else True
