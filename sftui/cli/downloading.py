"""What comes from the Hub, printed while it comes: a line that is redrawn on a terminal, one line in a pipe."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

import click

from sftui.cli.terminal import redraw
from sftui.text import clip, visible

EVERY = 0.5
"""Seconds between two looks at what has come."""
WIDTH = 79


@contextlib.contextmanager
def download_progress(repo: str | None, kind: str) -> Iterator[None]:
    """Print on stderr how long a repository (kind `models` or `datasets`) of the Hub has been loading and how many
    bytes came; in a pipe once that it is being downloaded, unless it was said that it is looked up. None: nothing."""
    if repo is None:
        yield
        return
    from sftui.waiting import NAMES, loading_words, watched

    live, name, drawn = sys.stderr.isatty(), visible(repo), [False]

    def notify(seconds: float, came: int) -> None:
        if live and seconds >= 1:
            redraw(clip(loading_words(name, kind, seconds, came), WIDTH).ljust(WIDTH))
            drawn[0] = True
        elif not live and came and kind == "models" and not drawn[0]:
            click.echo(f"sftui: downloading {NAMES[kind]} {name} from the Hub …", err=True)
            drawn[0] = True

    try:
        with watched(repo, kind, notify, EVERY):
            yield
    finally:
        if live and drawn[0]:
            redraw(" " * WIDTH)
            redraw("")


def hub_tokenizer(name: str) -> str | None:
    """The Hub repository that a tokenizer is loaded from; None for what is on disk, or cannot be."""
    from sftui.errors import TokenizerError
    from sftui.tokens.loading.locate import locate

    with contextlib.suppress(TokenizerError):
        return name if locate(name).kind == "hub" else None
    return None
