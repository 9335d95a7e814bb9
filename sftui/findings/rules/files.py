"""Files of the data that cannot be read whole, or that the trainer's loader refuses: what no row can tell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from sftui.findings.checks import Fault, setup_check
from sftui.findings.context import Context
from sftui.findings.model import Consequence, Finding, Fix
from sftui.findings.rule import GOOD, NAMED, case, loud
from sftui.text import visible

if TYPE_CHECKING:
    from sftui.model import Inspection, Problem
    from sftui.sources import Damage


ROW006 = loud(
    "file-damaged",
    "a data file cannot be read completely",
    "The file is truncated or corrupted (or its compressed data is), or it cannot be opened. Rows go missing silently:"
    " what is left looks like a smaller dataset. `datasets` raises an error on such a file; other"
    " readers may silently stop there.",
    scope="dataset",
    data="copy or write the file again; `gzip -t FILE` and `zstd -t FILE` check whether it is intact",
    leads_to=None,
    bad=case(GOOD, damage=(("t.jsonl.gz", 1, "its compressed data is damaged: it ends too early"),)),
)


def damaged_files(damage: Iterable[Damage]) -> tuple[Finding, ...]:
    """ROW006, once a file; the rows that were read of it are checked as any others."""
    return tuple(
        Finding(
            ROW006.code,
            ROW006.severity,
            visible(one.missing()),
            fix=Fix(one.fix, trainer_keys=dict.fromkeys(NAMED, one.fix)),
        )
        for one in damage
    )


MORE_FIRST = (
    "put the file with more keys first, or add the key there too; `sftui convert` to Parquet gives all rows the"
    " same keys"
)
ROW010 = loud(
    "files-refused-by-loader",
    "the trainer's loader fails on the files",
    "`datasets` takes columns, keys and types from what it reads first: the first 10 MB of a JSON file, 10,000"
    " rows of a CSV, the schema of the first Parquet file. Later data may lack some of them, but must not add"
    " any or change a type. It has no type for maps, and its JSON reader rejects duplicate keys. The run never"
    " starts.",
    scope="setup",
    data=MORE_FIRST,
    bad=case(GOOD, preset="trl@1.16", second=({**GOOD, "tools": "[]"},)),
    good=case({**GOOD, "tools": "[]"}, preset="trl@1.16", second=(GOOD,)),
)


def refused_files(problem: Problem | None) -> tuple[Finding, ...]:
    """ROW010: why the trainer's loader stops, if it does."""
    if problem is None:
        return ()
    fix = Fix(problem.fix, trainer_keys={name: problem.fix or text for name, text in ROW010.fixes.items()})
    return (Finding(ROW010.code, ROW010.severity, f"{problem.what}; {problem.why}", fix=fix),)


ROW011 = loud(
    "dates-become-times",
    "fields that contain only dates reach the trainer as timestamps",
    "`datasets` turns strings in a JSON file into timestamps if all values of a field are dates or times, such as"
    " 2024-05-02 or 2024-05-02T10:00:00Z. Timestamps are not text: TRL fails on a completion"
    " ('datetime.datetime' object has no attribute 'endswith'), templates fail on message content, or write"
    " `<datetime>` or something else instead. Values with fractions of a second and dates that do not exist stay text.",
    data="store the data as Parquet, where text stays text (`sftui convert` writes it)",
    leads_to=Consequence.GARBLED,
    bad=case({"prompt": "When?", "completion": "2024-05-02"}, preset="trl@1.16", looked_at=1),
    good=case({"prompt": "When?", "completion": "on 2024-05-02"}, preset="trl@1.16", looked_at=1),
)


@setup_check(ROW011)
def times(context: Context, sample: Sequence[Inspection]) -> Iterator[Fault]:
    """ROW011: each place that the conversation is read from."""
    reading, columns = context.detected.reading, tuple(dict.fromkeys(context.detected.fields.values()))
    for path in reading.times(columns) if reading is not None else ():
        yield Fault(f"every `{visible(path)}` is a date, which datasets reads as a timestamp instead of text")
