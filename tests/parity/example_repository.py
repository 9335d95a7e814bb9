"""Where the example configs of a trainer are: `REPOSITORY` in `examples.py` of its folder."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Repository:
    """Where a trainer's examples are: the folder under the mirror, the commit, and which files are configs."""

    folder: str
    commit: str
    configs: str
