"""`sftui skill`: what a coding agent needs to know of sftui."""

from __future__ import annotations

from pathlib import Path

import sftui
from sftui.cli.terminal import write_own

SKILL = Path(sftui.__file__).parent / "skill" / "SKILL.md"


def print_skill() -> int:
    """The skill, as agents read it from a file of that name."""
    write_own(SKILL.read_text(encoding="utf-8"))
    return 0
