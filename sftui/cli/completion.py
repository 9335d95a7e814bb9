"""What a shell completes: commands, options, and trainers, knobs, codes, repairs and bundled names where one is due.

`sftui completion SHELL` prints the script of click, which calls sftui with `_SFTUI_COMPLETE` set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import click
from click.shell_completion import BashComplete, CompletionItem, FishComplete, ShellComplete, ZshComplete

VARIABLE = "_SFTUI_COMPLETE"
SHELLS: Mapping[str, type[ShellComplete]] = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}


class Completed(click.Group):
    """All commands as a shell sees them; a line that begins with none of them is the inspector's."""

    def __init__(self, commands: Mapping[str, click.Command], inspect: click.Command) -> None:
        settings = {**inspect.context_settings, "ignore_unknown_options": True, "allow_extra_args": True}
        super().__init__("sftui", commands={**commands}, context_settings=settings, add_help_option=False)
        self.inspect = inspect

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command, list[str]]:
        known = self.commands.get(args[0])
        return (args[0], known, args[1:]) if known is not None else ("sftui", self.inspect, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        own = self.inspect.shell_complete(ctx, incomplete) if incomplete.startswith("-") else _files(incomplete)
        return [*super().shell_complete(ctx, incomplete), *own]


def completion(shell: str) -> int:
    """Print the script that makes a shell complete `sftui`."""
    click.echo(SHELLS[shell](click.Group("sftui"), {}, "sftui", VARIABLE).source())
    return 0


def complete(instruction: str, commands: Mapping[str, click.Command], inspect: click.Command) -> int:
    """Answer a shell that asks for words; exit code 2 for another shell."""
    kind = SHELLS.get(instruction.removesuffix("_complete"))
    if kind is None:
        return 2
    click.echo(kind(Completed(commands, inspect), {}, "sftui", VARIABLE).complete())
    return 0


def values(name: str, incomplete: str) -> list[CompletionItem]:
    """What the option or argument of this name takes, of which `incomplete` is the beginning."""
    if name not in _VALUES:
        return _files(incomplete)
    before, comma, begun = incomplete.rpartition(",") if name in _LISTED else ("", "", incomplete)
    found = [(f"{before}{comma}{word}", words) for word, words in _VALUES[name]() if word.startswith(begun)]
    return [CompletionItem(word, help=words) for word, words in found] + _files(incomplete) * (name in _FILES_TOO)


def _files(incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(incomplete, type="file")]


Words = Iterator[tuple[str, str]]


def _trainers() -> Words:
    from sftui.trainers import trainer_names, traits_of

    for name in trainer_names():
        traits = traits_of(name)
        yield name, traits.title
        yield from ((f"{name}@{version}", traits.title) for version in traits.versions)


def _knobs() -> Words:
    from sftui.recipe import knobs

    yield from ((f"{knob.path}=", knob.doc) for knob in knobs())


def _knob_names() -> Words:
    yield from ((path.removesuffix("="), words) for path, words in _knobs())


def _codes() -> Words:
    from sftui.findings import CODES

    yield from ((code, rule.title) for code, rule in CODES.items())


def _repairs() -> Words:
    from sftui.repairs.run import TITLES

    yield from TITLES.items()


def _reasons() -> Words:
    from sftui.repairs.rows import DROP_REASONS

    yield from DROP_REASONS.items()
    yield from _codes()


def _tokenizers() -> Words:
    from sftui.tokens import builtin

    yield from ((builtin.PREFIX + name, "bundled tokenizer") for name in builtin.NAMES)


def _templates() -> Words:
    from sftui.templates import builtin_names

    yield from ((name, "bundled chat template") for name in builtin_names())


def _topics() -> Words:
    from sftui.docs import topics

    yield from ((topic.name, topic.title) for topic in topics())


_VALUES: Mapping[str, Callable[[], Words]] = {
    **{"trainer": _trainers, "knobs": _knobs, "name": _knob_names, "code": _codes, "topic": _topics},
    **{"select": _codes, "ignore": _codes, "drop": _reasons, "apply": _repairs},
    **{"tokenizer": _tokenizers, "template": _templates},
}
"""By the name of the parameter."""
_LISTED = ("select", "ignore", "drop", "apply")
"""Those that take several, with commas between."""
_FILES_TOO = ("tokenizer", "template")
