"""`sftui man`: the manual page in the language of man, made of the commands and the pages of help."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import click

from sftui.cli.app import COMMANDS, inspect
from sftui.cli.grouped import Examples, HelpCommand
from sftui.docs import markdown, topics

ABOUT = "see what a fine-tuning trainer makes of your data: tokens, labels and loss mask"
_EXITS = re.compile(r"^\| (\d) \| (.+) \|$", re.MULTILINE)
_ASCII = {"…": "...", "→": "->", "·": "-", "≥": ">=", "–": "-", "×": "x", "“": '"', "”": '"', "’": "'"}
"""What stands for signs that not every terminal's font has."""


def man() -> int:
    """Print the page."""
    click.echo(man_page(inspect, COMMANDS), nl=False)
    return 0


def man_page(front: HelpCommand, commands: Mapping[str, HelpCommand]) -> str:
    """The whole page: every command with its options and examples, exit codes, and the pages of help."""
    return "\n".join(_lines(front, commands)) + "\n"


def _lines(front: HelpCommand, commands: Mapping[str, HelpCommand]) -> Iterator[str]:
    yield '.\\" made by `sftui man` of the commands and the pages of help'
    yield '.TH SFTUI 1 "" sftui "User Commands"'
    yield from (".SH NAME", f"sftui \\- {_text(ABOUT)}", ".SH SYNOPSIS")
    for command in (front, *commands.values()):
        yield from (".br", _text(_usage(command)))
    yield from (".SH DESCRIPTION", *_described(front))
    for command in commands.values():
        yield from (f".SH {_quoted(str(command.name).upper())}", *_described(command, front))
    yield ".SH EXIT STATUS"
    for code, meaning in _EXITS.findall(markdown("commands")):
        yield from _item(code, meaning)
    yield ".SH HELP PAGES"
    for topic in topics():
        yield from _item(f"sftui help {topic.name}", topic.line)


def _usage(command: HelpCommand) -> str:
    with command.make_context(command.name, [], resilient_parsing=True) as context:
        return " ".join((context.command_path, *command.collect_usage_pieces(context)))


def _options(command: HelpCommand) -> dict[str, list[tuple[str, str]]]:
    with command.make_context(command.name, [], resilient_parsing=True) as context:
        return command.grouped_options(context)


def _described(command: HelpCommand, front: HelpCommand | None = None) -> Iterator[str]:
    """What a command does, its options by group, the commands of its own, and examples; of options that `front` has as
    well only the names."""
    known = {record for records in _options(front).values() for record in records} if front is not None else set()
    yield _text(command.help or "")
    shared = list[str]()
    for title, records in _options(command).items():
        shared += [names.split()[0].rstrip(",") for names, _ in filter(known.__contains__, records)]
        if own := [record for record in records if record not in known]:
            yield f".SS {_quoted(title)}"
            for names, words in own:
                yield from _item(names, words)
    if shared:
        yield from (".SS Options described above", _text(", ".join(shared)))
    if isinstance(command, click.Group):
        yield ".SS Commands"
        for name, inner in command.commands.items():
            yield from _item(name, inner.get_short_help_str(200))
    examples: Examples = command.examples
    if examples:
        yield ".SS Examples"
        for typed, does in examples:
            yield from _item(typed, does)


def _item(head: str, words: str) -> tuple[str, ...]:
    return ".TP", f"\\fB{_text(head)}\\fR", _text(words)


def _quoted(text: str) -> str:
    return '"' + _text(text).replace('"', "") + '"'


def _text(text: str) -> str:
    """Words as man takes them: in one line that is no request, and of ASCII."""
    for sign, plain in _ASCII.items():
        text = text.replace(sign, plain)
    text = " ".join(text.replace("`", "").split()).replace("\\", "\\e").replace("-", "\\-")
    text = "".join(one if one.isascii() else f"\\[u{ord(one):04X}]" for one in text)
    return f"\\&{text}" if text[:1] in (".", "'") else text
