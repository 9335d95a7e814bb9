"""`sftui repair`: the dataset with its repairs in a new file, and a log of every change."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from sftui.cli.loading import loaded_session
from sftui.cli.opening import open_options
from sftui.cli.writing import Progress, may_write
from sftui.errors import ConversationError, ExportError, RecipeError
from sftui.exports.files import atomic_file

if TYPE_CHECKING:
    from sftui.model import Row
    from sftui.repairs import Counts, Plan, Repair
    from sftui.sources import Source
    from sftui.tokens import LoadedTokenizer
    from sftui.workspace.session import Session

_PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")
_BLANK = b" \t\r\n"
_BOM = b"\xef\xbb\xbf"


def repair_data(
    given: Mapping[str, Any], apply: tuple[str, ...], drop: tuple[str, ...], out: str | None, log: str | None, dry_run: bool, force: bool
) -> int:
    """Write the repaired rows to a new file; with `dry_run` only count. Counts go to stderr."""
    from sftui.findings import CODES
    from sftui.repairs import DROP_REASONS, layout_of, make_plan, repaired
    from sftui.repairs.lines import line_of
    from sftui.repairs.run import Counts

    names, reasons = _named(apply), _named(drop)
    if not names and not reasons:
        raise RecipeError("no repair was named", fix="name some with --apply, or rows to leave out with --drop; `sftui repair --list` tells all")
    plan = make_plan(names, reasons, codes=tuple(CODES))
    options = open_options(given)
    target, journal = _targets(options.paths, out, log, dry_run, force)
    session = _session(options, bool(plan.codes))
    try:
        plan = make_plan(names, reasons, codes=tuple(CODES), instead=_exact(session))
        assert session.detected is not None and session.source is not None
        counts, lost = Counts(), 0
        progress = Progress(session.count_now())
        originals = _originals(session.source, options.paths)
        with contextlib.ExitStack() as files:
            rows = files.enter_context(atomic_file(target, folders=False)) if target is not None else None
            told = files.enter_context(atomic_file(journal, folders=False)) if journal is not None else None
            for done in repaired(session.source.rows(), plan, layout_of(session.detected), _codes(session, plan)):
                counts.add(done)
                line = line_of(done, next(originals, None))
                if line is None and done.dropped is None:
                    lost += 1
                elif line is not None and rows is not None:
                    rows.write(line)
                if told is not None and done.changes:
                    _tell(told, done.row, done.changes, done.dropped)
                progress.at(counts.rows)
        progress.end()
    finally:
        session.close()
    click.echo(_summary(counts, lost, target, DROP_REASONS), err=True)
    return 2 if lost else 0


def list_repairs() -> int:
    """Print every repair and every reason to drop a row."""
    from sftui.repairs import DROP_REASONS, TITLES

    names = {name: title for name, title in TITLES.items() if name != "drop"}
    width = max(map(len, [*names, *DROP_REASONS]))
    lines = ["--apply", *(f"  {name:<{width}}  {title}" for name, title in names.items())]
    lines += ["--drop", *(f"  {name:<{width}}  {title}" for name, title in DROP_REASONS.items()), f"  {'CODE':<{width}}  rows with this finding, e.g. TOO006"]
    click.echo("\n".join(lines))
    return 0


def _named(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name.strip() for word in words for name in word.split(",") if name.strip())


def _targets(paths: tuple[str, ...], out: str | None, log: str | None, dry_run: bool, force: bool) -> tuple[Path | None, Path | None]:
    """The files to write: never the data itself; ExportError."""
    if dry_run:
        return None, Path(log) if log is not None else None
    if out is None:
        raise ExportError("no file was named for the repaired data", fix="name it with -o OUT.jsonl, or count only with --dry-run")
    if not out.lower().endswith((".jsonl", ".ndjson")):
        raise ExportError(f"{out} says no format that can be written", fix="name it OUT.jsonl")
    targets = [Path(out), *([Path(log)] if log is not None else [])]
    own = {os.path.realpath(path) for path in paths}
    for target in targets:
        if os.path.realpath(target) in own:
            raise ExportError(f"{target} is the data itself", why="repairs go to a new file, never in place", fix="name another file")
    if len({os.path.realpath(target) for target in targets}) < len(targets):
        raise ExportError(f"{out} cannot be the data and the log")
    may_write(tuple(target for target in targets if target.exists()), force)
    return targets[0], targets[1] if log is not None else None


def _session(options: Any, codes: bool) -> Session:
    """The data open, and the tokenizer where one is named or findings decide."""
    from sftui.workspace.session import Session

    recipe = options.full_recipe()
    if codes or recipe.tokenizer.name is not None:
        return loaded_session(options)
    session = Session(options, recipe)
    session.open()
    if session.refused is not None:
        problem = session.refused
        raise ConversationError(problem.what, why=problem.why, fix=problem.fix)
    return session


def _exact(session: Session) -> dict[str, Repair]:
    """With a tokenizer, `strip-tokens` takes out what this tokenizer reads as control tokens too."""
    from sftui.repairs import strip_tokens

    return {} if session.tokenizer is None else {"strip-tokens": strip_tokens(_controls(session.tokenizer))}


def _controls(tokenizer: LoadedTokenizer) -> Callable[[str], list[str]]:
    from sftui.repairs import WANTED
    from sftui.repairs.texts import looks_like_control

    def controls(text: str) -> list[str]:
        pieces = [tokenizer.piece(one) for one in tokenizer.encode(text).ids if tokenizer.is_special(one)]
        return [*looks_like_control(text), *(piece for piece in pieces if not any(word in piece.lower() for word in WANTED))]

    return controls


def _codes(session: Session, plan: Plan) -> Callable[[Row], Collection[str]] | None:
    if not plan.codes:
        return None
    from sftui.findings import check_row

    context = session.checks()

    def codes(row: Row) -> set[str]:
        return {finding.code for finding in check_row(session.inspect_row(row), context)}

    return codes


def _originals(source: Source, paths: tuple[str, ...]) -> Iterator[bytes | None]:
    """The line of every row, byte for byte, where the data is lines of JSON; None for each row otherwise."""
    if source.kind != "jsonl":
        return
    if len(paths) == 1 and os.path.isfile(paths[0]):
        with open(paths[0], "rb") as file:
            if not file.peek(4).startswith(_PACKED):
                for number, line in enumerate(file):
                    if number == 0:
                        line = line.removeprefix(_BOM)
                    if line.strip(_BLANK):
                        yield line
                return
    for row in source.rows():
        # A row that was decoded and not cut comes back as the very bytes it was.
        line = row.raw.encode("utf-8", "surrogatepass")
        yield line if row.data is not None and len(line) == row.size else None


def _tell(file: IO[bytes], row: Row, changes: tuple[Any, ...], dropped: str | None) -> None:
    entry = {"row": row.index, "where": row.where, "dropped": dropped, "changes": [change.to_json() for change in changes]}
    file.write(json.dumps(entry).encode() + b"\n")


def _summary(counts: Counts, lost: int, target: Path | None, reasons: Mapping[str, str]) -> str:
    kept = counts.rows - counts.dropped - lost
    where = "would be written" if target is None else f"written to {target}"
    lines = [f"sftui: {kept:,} of {counts.rows:,} rows {where}, {counts.changed:,} of them changed, {counts.dropped:,} left out"]
    for name, count in counts.by_repair.most_common():
        told = f" ({reasons[name[5:]]})" if name.startswith("drop ") and name[5:] in reasons else ""
        lines.append(f"  {name:<20} {count:>9,} rows{told}")
    if lost:
        lines.append(f"  {lost:,} unreadable rows could not be carried over; leave them out with --drop unreadable")
    return "\n".join(lines)
