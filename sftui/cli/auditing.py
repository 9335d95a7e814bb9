"""An audit from beginning to end with a line of progress, for the commands that need the whole dataset."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

from sftui.audit.found import Filter
from sftui.audit.processes import AuditProgress
from sftui.audit.state import drop_state, load_state, save_state, state_key
from sftui.cli.engines import LOCAL, on_ray
from sftui.cli.loading import DataNotes, loaded_session, print_matches
from sftui.cli.terminal import narrate
from sftui.cli.writing import Progress, print_over_progress
from sftui.exports.report_model import AuditReport
from sftui.session.checking import AuditSession, held_out
from sftui.session.inputs import data_files, labels_of
from sftui.session.opened import settle_split, source_spec
from sftui.session.options import OpenOptions, is_spooled
from sftui.session.ready import Ready
from sftui.signals import handled_by
from sftui.tokens.loading.cache import cache_root

SAVE_EVERY = 20.0
"""Seconds between two savings of an audit that can be resumed."""


def audited(options: OpenOptions, wanted: Filter, **work: Any) -> AuditReport:
    """The audit of the options' data under their recipe; see `auditing`."""
    with auditing(options, wanted, **work) as (_, found):
        return found


@contextlib.contextmanager
def auditing(
    options: OpenOptions,
    wanted: Filter,
    *,
    evaluation: str | None = None,
    jobs: int | None = None,
    engine: str = LOCAL,
    address: str | None = None,
    looks: int = 0,
    opening: tuple[str, ...] = (),
    near: float | None = None,
    **rows: int | None,
) -> Iterator[tuple[Ready, AuditReport]]:
    """The options' data open under their recipe, and its audit; `looks`: so many rows of each code are inspected again,
    for drawing; `opening` are the words of a command that open the same. `near`: rows that share such a part of
    their runs of words are looked for. `rows` are `max_rows` and `sample`, as in `AuditSession`."""
    cluster = on_ray(engine, address, given={"where": options.where, "apply": options.repairs})
    with contextlib.ExitStack() as opened:
        session = opened.enter_context(contextlib.closing(loaded_session(options, unread=True)))
        prompts, search = held_out(session, evaluation, near, opened, narrate)
        begin: Callable[..., AuditSession] = AuditSession
        if cluster:
            from sftui.engines.checking import RayChecking

            begin = partial(RayChecking, address=address, notify=print_over_progress)
        elif jobs is None:
            jobs = max(1, (os.cpu_count() or 1) - 1)
        checking = begin(session, wanted, prompts, jobs=jobs, near=search, **rows)
        note = settle_split(session).note
        if note:
            narrate(f"{note}; figures cover all rows")
        files = data_files(options.paths, options.split)
        notes = DataNotes(session, findings=True)
        notes.print()
        _run(checking, files or session.source.cached)
        notes.print()
        print_matches(session)
        there = [path for path in (*files, *options.paths) if os.path.exists(path) and _named(path) == path]
        found = checking.checked(
            tuple(map(_named, options.paths)),
            looks=looks,
            files={label: file if _named(file) == file else label for label, file in labels_of(files).items()},
            tracked=repository_names(there),
            opening=opening,
        )
        yield session, found


def work_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """What the options of a command say of how `audited` is to work, and on which rows."""
    return {name: given[name] for name in ("max_rows", "sample", "evaluation", "near", "jobs", "engine", "address")}


def _run(checking: AuditSession, files: tuple[str, ...]) -> None:
    """Take in every row; an audit that was interrupted before is resumed where all rows are wanted.

    `files` hold the data; without any it is not known whether the data is the same, and nothing is kept.
    """
    folder = cache_root().parent / "audits"
    resumable = checking.resumable and bool(files)
    key, kept = "", False

    def of_now() -> str:
        prompts = checking.prompts.digest() if checking.prompts is not None else ""
        return state_key(checking.context, files, source_spec(checking.session.options), checking.wanted, prompts)

    if resumable and any(folder.glob("*.audit")):
        key = of_now()
        audit = load_state(key, folder)
        if audit is not None:
            checking.audit, kept = audit, True
            narrate(f"continuing at row {audit.rows:,}, where it was interrupted")
    progress, begun = Progress(checking.total), time.monotonic()
    saved, received = begun, list[int]()
    before = {int(number): signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def collect(number: int, frame: FrameType | None) -> None:
        received.append(number)
        signal.signal(number, before[number])

    with handled_by(collect, *before):  # so that no row is left half counted; the second signal stops at once
        for now in checking.steps():
            progress.at(now.rows, _speed(now))
            lasts = time.monotonic() - begun > SAVE_EVERY / 10
            due = time.monotonic() - saved > SAVE_EVERY or (received and (kept or lasts))
            if resumable and lasts and not key:  # 25 ms, and of no use before
                key = of_now()
            if resumable and due and not now.done:
                save_state(checking.audit, key, folder)
                saved, kept = time.monotonic(), True
            if received:
                progress.end()
                if kept:
                    narrate(f"stopped at row {checking.audit.rows:,}; run the same command again to continue there")
                raise KeyboardInterrupt if received[0] == signal.SIGINT else SystemExit(128 + received[0])
    if kept:
        drop_state(key, folder)
    progress.end()
    note = now.note or checking.session.engine_note
    if note is not None:
        narrate(note)


def _named(path: str) -> str:
    """A path as the user gave it: stdin was spooled into a folder with a random name."""
    return "-" if is_spooled(path) else path


def _speed(now: AuditProgress) -> str:
    """Rows a second and the time left, as far as they are known."""
    seconds, unit = (1, "s") if now.left is None or now.left < 100 else (60, "min")
    left = "" if now.left is None else f", {now.left / seconds:,.0f} {unit} left"
    return f", {now.rate:,.0f}/s{left} " if now.rate else ""


def repository_names(files: Iterable[str]) -> dict[str, str]:
    """Each file as a review names it: from the root of the repository that the run is in (else from here), with forward
    slashes.

    Files outside of it keep their name.
    """
    here = Path.cwd()
    root = next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)
    names = {}
    for file in files:
        places = (os.path.abspath(file), os.path.realpath(file))
        inside = next(
            (Path(os.path.relpath(place, root)) for place in places if Path(place).is_relative_to(root)), None
        )
        names[file] = file if inside is None else inside.as_posix()
    return names
