"""Checking a dataset as steps of datatrove: `pip install 'sftui[datatrove]'`.

    plan = LocalPipelineExecutor([Plan("train/*.jsonl", "parts", tokenizer="Qwen/Qwen3-0.6B", trainer="trl")], tasks=1)
    check = LocalPipelineExecutor([Check("parts")], tasks=64, workers=8, depends=plan)
    LocalPipelineExecutor([Merge("parts", "report.json", "report.html")], tasks=1, depends=check).run()

The rows are read as sftui reads them, not as documents; what comes out equals `sftui check` of the same data. Any
executor will do. `sftui help clusters` has the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from datatrove.pipeline.base import PipelineStep

from sftui.errors import ExportError, SftuiError

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Unpack

    from sftui.exports.report_model import AuditReport
    from sftui.session.declared import Opening

TYPE = "🔎 - SFTUI"
FORMATS = {".json": "json", ".sarif": "sarif", ".xml": "junit", ".md": "markdown", ".txt": "text"}
"""What the end of a file's name says."""
TASKS = 64
"""Tasks for which the data is divided where nothing is said."""


class Plan(PipelineStep):  # type: ignore[misc]
    """Opens the data, checks the set-up and divides the rows; for a pipeline of one task.

    `data` and the other arguments are those of `sftui.check`; `folder` takes the parts: a path or a URL that every task
    sees. `tasks`: for how many tasks it is divided, so that each has several pieces.
    """

    name = "plan the check"
    type = TYPE

    def __init__(
        self,
        data: Any,
        folder: str,
        *,
        select: Sequence[str] = (),
        ignore: Sequence[str] = (),
        tasks: int = TASKS,
        **opening: Unpack[Opening],
    ) -> None:
        super().__init__()
        self.data, self.folder, self.tasks = data, folder, tasks
        self.select, self.ignore, self.opening = tuple(select), tuple(ignore), opening

    def run(self, data: Any = None, rank: int = 0, world_size: int = 1) -> Iterator[Any]:
        from sftui.api.opening import prepared
        from sftui.audit.found import Filter
        from sftui.engines.checking import JoinedChecking, piece_size
        from sftui.engines.parts import Folder, plan
        from sftui.session.facets import refuse_where
        from sftui.session.opened import settle_split

        yield from data or ()
        if rank:
            return
        with self.track_time("plan"):
            refuse_where(self.opening, "each task processes whole file chunks")
            session, _, given = prepared(self.data, self.opening)
            try:
                if given is not None:
                    raise SftuiError("a loaded tokenizer cannot be sent to other tasks", fix="name it, or its folder")
                settle_split(session)
                checking = JoinedChecking(session, Filter(self.select, self.ignore))
                pieces = session.source.pieces(piece_size(session, self.tasks))
                self.stat_update("pieces", value=plan(Folder(self.folder), checking, pieces))
            finally:
                session.close()


class Check(PipelineStep):  # type: ignore[misc]
    """Checks its share of the rows, and leaves out parts that are there: a task that was lost is run again."""

    name = "check rows"
    type = TYPE

    def __init__(self, folder: str) -> None:
        super().__init__()
        self.folder = folder

    def run(self, data: Any = None, rank: int = 0, world_size: int = 1) -> Iterator[Any]:
        from sftui.engines.parts import Folder, make

        yield from data or ()
        with self.track_time("task"):
            for _ in make(Folder(self.folder), rank, world_size):
                self.stat_update("parts")


class Merge(PipelineStep):  # type: ignore[misc]
    """Joins the parts and writes what was found: to each of `outputs`, as its name says (.json, .sarif, .xml for JUnit,
    .md, .txt, .html); for a pipeline of one task."""

    name = "merge the check"
    type = TYPE

    def __init__(self, folder: str, *outputs: str) -> None:
        super().__init__()
        for output in outputs:
            _writer(output)
        self.folder, self.outputs = folder, outputs

    def run(self, data: Any = None, rank: int = 0, world_size: int = 1) -> Iterator[Any]:
        from sftui.exports.files import write_atomically

        yield from data or ()
        if rank:
            return
        with self.track_time("merge"):
            checked = merged(self.folder)
            self.stat_update("rows", value=checked.audit.rows)
            for output in self.outputs:
                write_atomically(Path(output), _writer(output)(checked).encode("utf-8", "replace"))


def merged(folder: str) -> AuditReport:
    """What the parts in a folder come to; SftuiError where some are missing."""
    from sftui.engines.parts import Folder, PartsChecking, read_plan
    from sftui.session.ready import open_data, tokenized

    place = Folder(folder)
    found = read_plan(place)
    sent = found.task.session
    session = tokenized(open_data(sent.options, sent.recipe)).ready()
    try:
        session.known.split = sent.split
        checking = PartsChecking(place, found, session)
        for _ in checking.steps():
            pass
        return checking.checked()
    finally:
        session.close()


def _writer(output: str) -> Callable[[AuditReport], str]:
    """What writes a report as the name of its file says; ExportError."""
    suffix = Path(output).suffix.lower()
    if suffix == ".html":
        from sftui.exports.report import report_html

        return report_html
    if suffix not in FORMATS:
        fix = f"end it in {', '.join((*FORMATS, '.html'))}"
        raise ExportError(f"{output} does not name a format that sftui can write", fix=fix)
    from sftui.exports.formats import writer_of

    return writer_of(FORMATS[suffix])
