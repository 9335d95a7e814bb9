"""Help in groups: an option says in which group it stands, a command in which it is listed and which examples end it.

click lays out, wraps and parses. That it lacks groups is made up for here and not by cloup, whose import doubles what
`import click` takes (110 against 55 ms CPU), nor by rich-click, whose help is drawn by rich (60 ms more).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sftui.errors import RecipeError
from sftui.nearest import did_you_mean
from sftui.session.declared import DATA, FINDINGS, OTHER, RECIPE, TOKENIZER, USUAL

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

F = TypeVar("F", bound=Callable[..., Any])

ROWS = "Which rows"
WRITTEN = "Output"
WORK = "Where to run"
GROUPS = (USUAL, ROWS, FINDINGS, WRITTEN, DATA, TOKENIZER, RECIPE, WORK, OTHER)
"""The groups of options in the order of the help."""

LOOK = "Look at rows"
CHECK = "Find what is wrong"
WRITE = "Write files"
LEARN = "Learn more"
LISTED = (LOOK, CHECK, WRITE, LEARN)
"""The groups of commands in the order of the help."""

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

Examples = tuple[tuple[str, str], ...]
"""Command lines, and what each does in a few words."""


def with_parameters(command: F, *parameters: click.Parameter) -> F:
    """A function with parameters, as click's decorators leave them there; others may have the same ones as well: click
    keeps nothing of a call in them."""
    command.__dict__.setdefault("__click_params__", []).extend(reversed(parameters))
    return command


def completes(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """What a shell may complete for a parameter."""
    if isinstance(param.type, (click.Choice, click.IntRange, click.FloatRange)):
        return param.type.shell_complete(ctx, param, incomplete)
    from sftui.cli.completion import values

    return values(param.name or "", incomplete)


class Option(click.Option):
    """An option in one of the GROUPS, with what the help says of it; it decorates each command that has it."""

    def __init__(self, group: str, metavar: str | None, text: str, *names: str, **attributes: Any) -> None:
        super().__init__(names, metavar=metavar, help=text, shell_complete=completes, **attributes)
        self.group = group

    def __call__(self, command: F) -> F:
        return with_parameters(command, self)


def flag(group: str, text: str, *names: str) -> Option:
    """An option that is given or not."""
    return Option(group, None, text, *names, is_flag=True)


def choice_option(group: str, choices: Sequence[str], text: str, *names: str, **attributes: Any) -> Option:
    """An option that takes one of some words."""
    return Option(group, None, text, *names, type=click.Choice(choices), **attributes)


def number_option(group: str, text: str, *names: str, least: int = 1, **attributes: Any) -> Option:
    """An option that takes a whole number from `least` on."""
    return Option(group, "N", text, *names, type=click.IntRange(min=least), **attributes)


class HelpCommand(click.Command):
    """A command whose help is in groups and ends with examples; `listed` is its group among the commands."""

    def __init__(self, *given: Any, examples: Examples = (), listed: str = LEARN, **attributes: Any) -> None:
        super().__init__(*given, **{"context_settings": CONTEXT, **attributes})
        self.examples = examples
        self.listed = listed

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        words = list(args)
        try:
            return super().parse_args(ctx, args)
        except (click.NoSuchOption, click.BadParameter) as error:
            if meant := _about_format(words, error):
                raise RecipeError(meant) from error
            raise

    def grouped_options(self, ctx: click.Context) -> dict[str, list[tuple[str, str]]]:
        """The options by group with what each says, those that every command has anyway at the end."""
        lines: dict[str, list[tuple[str, str]]] = {title: [] for title in GROUPS}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record is not None:
                lines[getattr(param, "group", OTHER)].append(record)
        return {title: records for title, records in lines.items() if records}

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, records in self.grouped_options(ctx).items():
            with formatter.section(title):
                formatter.write_dl(records)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Examples with what they do next to them, below each other where that is too wide: a command is never
        broken."""
        super().format_epilog(ctx, formatter)
        if not self.examples:
            return
        widest = max(len(command) for command, _ in self.examples)
        beside = all(widest + len(what) + 5 <= formatter.width for _, what in self.examples)
        with formatter.section("Examples"):
            for command, what in self.examples:
                formatter.write(f"  {command:<{widest}}   {what}\n" if beside else f"  # {what}\n  {command}\n")


class CommandGroup(HelpCommand, click.Group):
    """A command that has commands of its own."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_options(ctx, formatter)
        self.format_commands(ctx, formatter)


class Front(HelpCommand):
    """What stands before all commands: its help lists them. `commands` is called when they are all there."""

    commands: Mapping[str, HelpCommand] = {}

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title in LISTED:
            lines = [(name, one.get_short_help_str(200)) for name, one in self.commands.items() if one.listed == title]
            if lines:
                with formatter.section(title):
                    formatter.write_dl(lines, col_spacing=3)
        super().format_options(ctx, formatter)


def usage_sentence(error: click.ClickException) -> str:
    """What click finds wrong with the words of a command, as every other error is told."""
    words, context = error.format_message(), getattr(error, "ctx", None)
    fix = f"`{context.command_path} --help` lists the options" if context is not None else ""
    if isinstance(error, click.NoSuchOption):
        words = f"no such option {error.option_name}"
        fix = did_you_mean(error.option_name, error.possibilities or (), fix)
    return "; ".join(filter(None, (words[:1].lower() + words[1:].rstrip("."), fix)))


def _about_format(words: list[str], error: click.UsageError) -> str:
    """What is meant where `--format` was given how rows are read, as it once was of some commands; else empty."""
    named = error.option_name if isinstance(error, click.NoSuchOption) else getattr(error, "param", None)
    if named != "--format" and "--format" not in getattr(named, "opts", ()):
        return ""
    from sftui.recipe import FORMATS

    given = next((two for one, two in pairwise(words) if one == "--format"), "")
    given = next((word.partition("=")[2] for word in words if word.startswith("--format=")), given)
    if given in FORMATS:
        return f"--format sets the output format; use --data-format {given} to say how rows are read"
    if isinstance(error, click.NoSuchOption):
        return "no such option: --format sets the output format; use --data-format to say how rows are read"
    return ""
