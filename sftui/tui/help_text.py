"""The help: the keys from the table of commands, the signs, and the concepts of the docs, filtered by what is typed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from typing import NamedTuple

from sftui.docs import markdown
from sftui.text import cell_width, has_words
from sftui.tui.commands.command import Command, show_key
from sftui.tui.commands.table import available
from sftui.tui.contexts import ANY, CONTEXTS, DIALOG
from sftui.tui.keys import Keymap
from sftui.views.cells import Line, Role, line, wrap
from sftui.views.legend import SIGNS

KEYS_WIDTH = 14
PALETTE_ONLY = ":"
"""Stands for the keys of a command that has none."""
MOVE = "Move"


class HelpEntry(NamedTuple):
    """What a search looks in, and its lines for a width."""

    text: str
    make: Callable[[int], Sequence[Line]]


class Section(NamedTuple):
    title: str
    entries: tuple[HelpEntry, ...]


def help_lines(context: str, keymap: Keymap, width: int, wanted: str = "") -> tuple[Line, ...]:
    """The keys of this pane, those that work anywhere, the signs, the concepts, the keys of other panes: of each
    section what has every word of `wanted`, letter case aside."""
    lines: list[Line] = [] if wanted.strip() else [*_count(width)]
    for section in help_sections(context, keymap):
        found = [entry for entry in section.entries if has_words(entry.text, wanted)]
        if found:
            lines += [*([()] if lines else []), *wrap(line((section.title, Role.TITLE)), width)]
            lines += [cells for help_entry in found for cells in help_entry.make(width)]
    return tuple(lines) or wrap(line((f"no help for “{wanted}”: Enter lists the help pages", Role.DIM)), width)


def help_sections(context: str, keymap: Keymap) -> Iterator[Section]:
    """Every section: what one does in the pane that holds the keys first, how one moves there behind the concepts."""
    here = (context,) if context != ANY else ()
    for name in (*here, ANY):
        yield _keys(name, context, keymap, lambda one: one.group != MOVE)
    yield Section(
        "Signs", tuple(HelpEntry(f"sign {sign} {meaning}", partial(_sign, sign, meaning)) for sign, meaning in SIGNS)
    )
    yield Section("Concepts", tuple(HelpEntry(f"concept {text}", partial(_concept, text)) for text in concepts()))
    for name in (*here, ANY):
        section = _keys(name, context, keymap, lambda one: one.group == MOVE)
        yield section._replace(title=f"Moving {section.title.lower()}")
    for name in CONTEXTS:
        if name not in (context, ANY):
            yield _keys(name, context, keymap, lambda one: True)


@lru_cache(1)
def concepts() -> tuple[str, ...]:
    """The sections of the page of concepts, as Markdown."""
    return tuple(f"### {text.strip()}\n" for text in markdown("concepts").split("\n## ")[1:])


def _keys(name: str, context: str, keymap: Keymap, listed: Callable[[Command], bool]) -> Section:
    """The commands of a pane that are to be listed, by group."""
    where = {ANY: "anywhere", DIALOG: "in a dialog"}.get(name, f"in the {name}")
    commands = [command for command in available(name) if command.context == name and listed(command)]
    order = list(dict.fromkeys(command.group for command in commands))
    commands.sort(key=lambda command: order.index(command.group))
    entries = [HelpEntry(_text(command, keymap), partial(_command, command, keymap)) for command in commands]
    return Section(where.upper() if name == context else where.capitalize(), tuple(entries))


def _shown(command: Command, keymap: Keymap) -> str:
    return " ".join(show_key(key) for key in keymap.keys_of(command.id)) or PALETTE_ONLY


def _text(command: Command, keymap: Keymap) -> str:
    return f"{_shown(command, keymap)} {command.title} {command.help} {command.id} {command.group}"


def _command(command: Command, keymap: Keymap, width: int) -> Sequence[Line]:
    keys = _shown(command, keymap)
    head = f"  {keys:<{KEYS_WIDTH}}" if len(keys) <= KEYS_WIDTH else f"  {keys} "
    text = command.help if keys != PALETTE_ONLY else f"{command.help} (in the palette: {command.title})"
    return wrap(line((head, Role.KEY), (text, Role.PLAIN)), width, " " * (KEYS_WIDTH + 2))


def _sign(sign: str, meaning: str, width: int) -> Sequence[Line]:
    head = f"  {sign:<{KEYS_WIDTH}}" if cell_width(sign) < KEYS_WIDTH else f"  {sign} "
    return wrap(line((head, Role.KEY), (meaning, Role.PLAIN)), width, " " * (KEYS_WIDTH + 2))


@lru_cache(64)
def _concept(text: str, width: int) -> Sequence[Line]:
    from sftui.tui.help_pages import laid_out

    return (*laid_out(text, width), ())


def _count(width: int) -> Sequence[Line]:
    twelve, there = ("12j", Role.KEY), ("12G", Role.KEY)
    parts = (("A count may come before a key: ", Role.DIM), twelve, (" moves twelve, ", Role.DIM), there)
    return wrap(line(*parts, (" goes to row 12.", Role.DIM)), width)
