"""Files of the data that cannot be read whole: what no row can tell."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from sftui.findings.catalogue import CODES
from sftui.findings.model import TRAINERS, Finding, Fix
from sftui.text import visible

if TYPE_CHECKING:
    from sftui.sources import Damage


def damaged_files(damage: Iterable[Damage]) -> tuple[Finding, ...]:
    """ROW006, once a file; the rows that were read of it are checked as any others."""
    return tuple(
        Finding(
            "ROW006",
            CODES["ROW006"].severity,
            visible(one.missing()),
            fix=Fix(one.fix, trainer_keys=dict.fromkeys(TRAINERS, one.fix)),
        )
        for one in damage
    )
