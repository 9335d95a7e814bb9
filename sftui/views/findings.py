"""Findings as lines: a glyph for how bad it is, the code, the sentence, evidence, and what repairs it.

Meaning never hangs on colour: ✗ an error, ! a warning, i worth knowing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sftui.text import clip, visible
from sftui.trainers import traits_of
from sftui.views.cells import Line, LineBuilder, Role, barred, crop, line, wrap

if TYPE_CHECKING:
    from sftui.findings import Finding

GLYPHS = {"error": "✗", "warning": "!", "info": "i"}
ROLES = {"error": Role.ERROR, "warning": Role.WARNING, "info": Role.DIM}
INDENT = "    "

Block = tuple[Line, ...]


def finding_block(
    finding: Finding, width: int, *, marked: bool = False, active: bool = True, trainer: str = ""
) -> Block:
    """One finding; the marked one shows its evidence whole, and the fix in `trainer`'s own keys."""
    severity = finding.severity.value
    head = LineBuilder().add("▸" if marked else " ").add(GLYPHS[severity] + " ", ROLES[severity])
    head.add(finding.code, Role.TITLE if severity != "info" else Role.DIM)
    lines = list(wrap((*head.line(), *line((f"  {visible(finding.sentence)}", Role.PLAIN))), width, INDENT))
    if marked:
        lines[0] = barred(lines[0], width, active)
    place = _place(finding)
    if finding.evidence:
        evidence = line(INDENT, (visible(finding.evidence), Role.SPECIAL))
        lines += wrap(evidence, width, INDENT) if marked else (crop(evidence, width),)
    if marked:
        if place:
            lines += wrap(line((f"{INDENT}{place}", Role.DIM)), width, INDENT)
        lines += _fix(finding, width, trainer)
        lines += _repairs(finding, width)
        for text in finding.declined:
            lines += wrap(line((f"{INDENT}{visible(text)}", Role.DIM)), width, INDENT + "  ")
    return tuple(lines)


def _repairs(finding: Finding, width: int) -> list[Line]:
    """What can be done to the data instead."""
    from sftui.findings.catalogue import REPAIR_OF
    from sftui.findings.rule import DROP
    from sftui.repairs.run import TITLES

    lines: list[Line] = []
    named = REPAIR_OF.get(finding.code, ()) if finding.repairs is None else finding.repairs
    for number, name in enumerate(named):
        text = TITLES[name] if name == DROP else f"{name}: {TITLES[name]}"
        head = (f"{INDENT}{'     ' if number else 'data '}", Role.KEY)
        lines += wrap(line(head, text), width, INDENT + "     ")
    return lines


def _fix(finding: Finding, width: int, trainer: str) -> list[Line]:
    fix = finding.fix
    if fix is None:
        return []
    head = f"{INDENT}{'not tried' if fix.in_words else 'fix'}  "
    own = "" if fix.in_words else fix.trainer_keys.get(trainer, "")
    says = own if own and not traits_of(trainer).by_hand else fix.title  # what its user has in hand: a config, or code
    lines = list(wrap(line((head, Role.KEY), (visible(says), Role.PLAIN)), width, INDENT + "     "))
    for change in fix.changes:
        text = f"{change.path}: {visible(str(change.before))} → {visible(str(change.after))}"
        shown = clip(text, 3 * width)  # the value may be a whole template
        lines += wrap(line((f"{INDENT}     ", Role.PLAIN), (shown, Role.CHANGED)), width, INDENT + "     ")
    if own and own != says:
        lines += wrap(line((f"{INDENT}{trainer}  ", Role.KEY), (visible(own), Role.PLAIN)), width, INDENT + "     ")
    return lines


def _place(finding: Finding) -> str:
    """Where it stands, in words."""
    parts = [finding.side] if finding.side else []
    if finding.message is not None:
        parts.append(f"message {finding.message:,}")
    if finding.tokens is not None and finding.tokens[0] < finding.tokens[1]:
        first, last = finding.tokens[0], finding.tokens[1] - 1
        parts.append(f"token {first:,}" if first == last else f"tokens {first:,}…{last:,}")
    if finding.row is None and finding.rows:
        shown = ", ".join(f"{row:,}" for row in finding.rows[:5])
        parts.append(f"rows {shown}" + (" …" if finding.count > 5 else ""))
    return " · ".join(parts)


def finding_counts(findings: Sequence[Finding], waived: int = 0) -> str:
    """`✗2 !1 i3 · 1 waived`; empty where nothing was found."""
    counts = [(glyph, sum(finding.severity.value == name for finding in findings)) for name, glyph in GLYPHS.items()]
    text = " ".join(f"{glyph}{count}" for glyph, count in counts if count)
    return " · ".join(part for part in (text, f"{waived:,} waived" if waived else "") if part)
