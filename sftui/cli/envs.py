"""`sftui envs`, and the environment that `--transformers` asks for."""

from __future__ import annotations

import time
from pathlib import Path

import click

from sftui.cli.terminal import narrate
from sftui.errors import SftuiError
from sftui.text import visible
from sftui.tokens.loading import made


def make_for(version: str) -> None:
    """Make an environment with this version, after saying what it takes."""
    narrate(
        f"making an environment with transformers {version} in {made.root()}: about {made.MEGABYTES} MB and up"
        f" to {made.MINUTES} minutes, once (`sftui envs remove {version}` removes it)"
    )
    if made.busy(version):
        narrate("another process is making it: waiting for it to finish; Ctrl-C stops")
    made.make(version)


def envs() -> int:
    """The environments that were made, one a line on stdout, where no command of theirs is named."""
    if click.get_current_context().invoked_subcommand is not None:
        return 0
    found = made.all_made()
    if not found:
        narrate(f"no environments in {made.root()}; --transformers VERSION makes one")
    for version, folder in found.items():
        day = time.strftime("%Y-%m-%d", time.localtime(made.last_used(folder)))
        click.echo(f"{version:<8}  {made.size_of(folder) / 2**20:>4.0f} MB  used {day}  {visible(str(folder))}")
    return 0


def remove_environments(versions: tuple[str, ...], everything: bool) -> int:
    """Remove environments; 2 where a version has none."""
    if everything == bool(versions):
        raise SftuiError("no environment to remove was named", fix="name versions, or use --all")
    for version in made.all_made() if everything else versions:
        if not made.remove(version):
            known = ", ".join(made.all_made()) or "none"
            raise SftuiError(f"there is no environment for transformers {version}", fix=f"available: {known}")
        narrate(f"removed {Path(made.folder_of(version))}")
    return 0
