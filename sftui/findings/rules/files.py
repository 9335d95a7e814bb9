"""Files of the data that cannot be read whole: what no row can tell."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from sftui.findings.examples import FINE, GOOD, case
from sftui.findings.model import Finding, Fix
from sftui.findings.rule import NAMED, rule
from sftui.text import visible

if TYPE_CHECKING:
    from sftui.sources import Damage


ROW006 = rule(
    "ROW006",
    "file-damaged",
    "LOUD",
    "dataset",
    "a file of the data cannot be read whole",
    "It is cut off, its compressed data or a part of it is broken, or it cannot be opened. Rows are missing that"
    " nobody counts: what is read looks like a smaller dataset. `datasets` raises at such a file; other readers may"
    " stop there without a word.",
    data="copy or write the file again; `gzip -t FILE` and `zstd -t FILE` say whether it is whole",
    bad=case(GOOD, damage=(("t.jsonl.gz", 1, "its compressed data is damaged: it ends before its time"),)),
    good=FINE,
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
