"""`sftui help`, `explain` and `skill`: what sftui can be read about, in the terminal and offline."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import click

import sftui
from sftui.cli.app import COMMANDS
from sftui.cli.terminal import narrate, page_width, write_own
from sftui.docs import markdown, topic_for, topics, topics_linked, topics_that_name
from sftui.errors import SftuiError

SKILL = Path(sftui.__file__).parent / "skill" / "SKILL.md"
_CODE = re.compile(r"[A-Za-z]{3}\d{3}")


def help_(topic: tuple[str, ...]) -> int:
    """The page that the words name, the options of a command or what a code means; without words the list."""
    if not topic:
        return _list()
    wanted = " ".join(topic)
    if _CODE.fullmatch(wanted):
        return explain(wanted.upper())
    found = topic_for(wanted)
    if wanted in COMMANDS and (found is None or found[0].name != wanted):
        command = COMMANDS[wanted]
        with command.make_context(command.name, [], resilient_parsing=True) as context:
            click.echo(command.get_help(context))
        if found is not None:
            click.echo(f"\n`sftui help {found[0].name}` has more: {found[0].line}")
        return 0
    if found is None:
        naming = [one.name for one in topics_that_name(wanted)]
        there = ", ".join(naming or [one.name for one in topics()])
        fix = f"it is named in {there}" if naming else f"{there} are available; `sftui help` says what each is for"
        raise SftuiError(f"there is no help page `{wanted}`", fix=fix)
    page, named = found
    if not named:
        narrate(f"there is no help page `{wanted}`; this is `{page.name}`")
    links = [f"`sftui help {linked.name}`" for linked in topics_linked(page.name)]
    more = " · ".join([f"`sftui {page.name} --help`", *links] if page.name in COMMANDS else links)
    _show(markdown(page.name) + (f"\nSee also: {more}\n" if more else ""))
    return 0


def _list() -> int:
    widest = max(len(one.name) for one in topics())
    click.echo("sftui help TOPIC shows one of these pages:\n")
    for topic in topics():
        click.echo(f"  {topic.name:<{widest}}  {topic.line}")
    click.echo(
        "\n`sftui help COMMAND` shows the options of a command, `sftui help CODE` explains a finding.\n`sftui"
        " --help` lists the commands."
    )
    return 0


def _show(text: str) -> None:
    from rich.color import ColorSystem
    from rich.style import Style

    from sftui.docs.rendering import page_lines

    coloured = sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    for runs in page_lines(text, page_width()):
        if not coloured:
            click.echo("".join(run.text for run in runs).rstrip())
            continue
        styled = [(run.style or Style()).render(run.text, color_system=ColorSystem.STANDARD) for run in runs]
        write_own("".join(styled) + "\n")


def explain(code: str | None) -> int:
    """The page of one code, or the list of all with their severity and title."""
    from sftui.findings import CODES, SCOPE_OF
    from sftui.findings import explain as explanation

    if code is not None:
        click.echo(explanation(code), nl=False)
        return 0
    for value in CODES.values():
        click.echo(f"{value.code}  {value.severity.value:<7}  {SCOPE_OF[value.code]:<7}  {value.title}")
    return 0


def skill() -> int:
    """The skill, as agents read it from a file of that name."""
    write_own(SKILL.read_text(encoding="utf-8"))
    return 0
