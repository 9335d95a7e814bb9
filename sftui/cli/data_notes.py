"""What is to be known of the data that a command reads: reported once on stderr, or a reason to write nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sftui.session.inputs import data_files, size_of
from sftui.text import visible

if TYPE_CHECKING:
    from sftui.session.opened import OpenData

LOOK_BYTES = 4 << 20
"""Size of the files that are read through to find out whether they are whole, where not all is read anyway: counted in
bytes, so that it is always said or never."""
LOOK = 2.0
"""Seconds after which even these are left, should they unpack to very much more."""


class DataNotes:
    """How rows are read, and what of the data cannot be: each sentence once, however often `print` is called.

    `others` are the same data under other recipes. `findings=True` leaves out what is a finding, too: damage, and roles
    that no row has.
    """

    def __init__(self, session: OpenData, *others: OpenData, findings: bool = False) -> None:
        self._session = session
        self._sessions = (session, *others)
        self._findings = findings
        self._said: set[str] = set()

    def print(self) -> None:
        """What is known by now; call it again at the end, when more was read."""
        source, detected = self._session.source, self._session.detected
        lost = tuple(one.sentence() for one in source.damage) if not self._findings else ()
        of_recipe = () if self._findings else tuple(note for one in self._sessions for note in one.notes)
        for note in (*source.notes, *detected.notes, *of_recipe, *lost):
            if note not in self._said:
                self._said.add(note)
                click.echo(f"sftui: {visible(note)}", err=True)

    def look(self) -> None:
        """The same after a look for damage in files that are not large."""
        options = self._session.options
        files = data_files(options.paths, options.split) or self._session.source.cached
        if not self._findings and size_of(files) <= LOOK_BYTES:
            self._session.source.index_more(LOOK)
        self.print()
