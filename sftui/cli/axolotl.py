"""`axolotl inspect CONFIG`: the inspector as a command of Axolotl's own.

Axolotl 0.19 to 0.21 (axolotl/cli/plugins.py) shows what packages name under the entry point `axolotl.cli_commands`, and
imports it only when it is used.
"""

from __future__ import annotations

import click

from sftui.cli import main


@click.command(
    "inspect",
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []},
    short_help="see which tokens a config trains, before training (sftui)",
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def inspect(words: tuple[str, ...]) -> None:
    """See which tokens CONFIG trains, in sftui: `axolotl inspect CONFIG [OPTIONS of sftui]`."""
    main(list(words))
