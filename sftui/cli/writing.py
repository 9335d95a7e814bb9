"""Asking before something that is there is overwritten, and telling how far a long write is."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click

from sftui.errors import ExportError


def may_write(paths: tuple[Path, ...], force: bool) -> None:
    """Ask once for all files that would be overwritten; ExportError where nobody can answer."""
    if force or not paths:
        return
    names = ", ".join(str(path) for path in paths)
    if sys.stdin is None or not sys.stdin.isatty():
        raise ExportError(f"{names} is there already", fix="overwrite it with --force, or name another")
    click.confirm(f"{names} is there already; overwrite?", abort=True, err=True)


class Progress:
    """One line on stderr that says how many rows are done; silent where stderr is no terminal."""

    def __init__(self, total: int | None) -> None:
        self._total = total
        self._told = time.monotonic()
        self._live = sys.stderr.isatty()

    def at(self, done: int, more: str = "") -> None:
        """Tell, at most four times a second; `more` stands behind the count."""
        if not self._live or time.monotonic() - self._told < 0.25:
            return
        self._told = time.monotonic()
        share = f" of {self._total:,} ({done * 100 // self._total} %)" if self._total else ""
        click.echo(f"\r{done:,} rows{share}{more} ", err=True, nl=False)

    def end(self) -> None:
        """Take the line away."""
        if self._live:
            click.echo("\r" + " " * 79 + "\r", err=True, nl=False)
