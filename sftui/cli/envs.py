"""`sftui envs`, and the environment that `--transformers` asks for."""

from __future__ import annotations

import time
from pathlib import Path

import click

from sftui.errors import SftuiError
from sftui.text import visible


def make_for(version: str) -> None:
    """Make an environment with this version, after saying what it takes."""
    from sftui.tokens.loading import made

    click.echo(
        f"sftui: making an environment with transformers {visible(version)} in {made.root()}: about {made.MEGABYTES} MB"
        f" and up to {made.MINUTES} minutes, once (`sftui envs remove {visible(version)}` takes it away)",
        err=True,
    )
    if made.busy(version):
        click.echo("sftui: another process makes it: sftui waits until it is done; Ctrl-C stops", err=True)
    made.make(version)


def list_environments() -> int:
    """The environments that were made, one a line on stdout."""
    from sftui.tokens.loading import made

    found = made.all_made()
    if not found:
        click.echo(f"sftui: no environments in {made.root()}; --transformers VERSION makes one", err=True)
    for one in found:
        day = time.strftime("%Y-%m-%d", time.localtime(one.used))
        click.echo(f"{one.version:<8}  {one.size / 2**20:>4.0f} MB  used {day}  {visible(str(one.folder))}")
    return 0


def remove_environments(versions: tuple[str, ...], everything: bool) -> int:
    """Remove environments; 2 where a version has none."""
    from sftui.tokens.loading import made

    if everything == bool(versions):
        raise SftuiError("say what to remove", fix="name versions, or --all")
    wanted = tuple(one.version for one in made.all_made()) if everything else versions
    for version in wanted:
        if not made.remove(version):
            known = ", ".join(one.version for one in made.all_made()) or "none"
            raise SftuiError(f"there is no environment for transformers {version}", fix=f"there are: {known}")
        click.echo(f"sftui: removed {Path(made.folder_of(version))}", err=True)
    return 0
