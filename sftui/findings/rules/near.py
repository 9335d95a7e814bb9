"""Rows that say nearly what others say; looked for where it is asked for alone (`check --near-duplicates`)."""

from __future__ import annotations

from sftui.findings.context import Context
from sftui.findings.fixes import rule_fix
from sftui.findings.model import Finding
from sftui.findings.near import NearCopy
from sftui.findings.rule import GOOD, case, chat, major, minor
from sftui.text import many

_NAMED = 5
_SAID = "The town lies on a river, has an old bridge of nine arches and a market on two days of the week"

DUP004 = minor(
    "near-duplicates",
    "rows are nearly the same",
    "They share most of their three-word sequences, not counting those of a prompt that many rows have: copies with a"
    " changed word, a different beginning or different punctuation. Checked only with --near-duplicates.",
    scope="row",
    data="keep one row per group, or find out why there are several",
    share=True,
    inherent=True,
    bad=case(chat("What of it?", f"{_SAID}."), chat("What of it?", f"{_SAID}!"), near=0.8),
    good=case(GOOD, chat("What of it?", f"{_SAID}."), near=0.8),
)
DUP005 = major(
    "near-evaluation",
    "rows are nearly the same as rows in the evaluation set",
    "The evaluation then measures memorisation. Checked only with --near-duplicates.",
    scope="row",
    data="split by prompt or document, not by row",
    share=True,
    inherent=True,
    bad=case(chat("What of it?", f"{_SAID}."), near=0.8, evaluation=[chat("What of it?", f"{_SAID}!")]),
    good=case(chat("What of it?", f"{_SAID}."), near=0.8, evaluation=[GOOD]),
)


def near_finding(copy: NearCopy, context: Context, where: str) -> Finding:
    """DUP004 or DUP005 of a row; `where` the other one stands, if it is no row of the same data."""
    rule = DUP005 if copy.evaluates else DUP004
    other = where or f"row {copy.other}"
    part = "all" if copy.share == 1 else f"{int(100 * copy.share)} %"
    sentence = f"it and {other} have {part} of their three-word sequences in common"
    if len(copy.alike) > 2:
        some = ", ".join(map(str, copy.alike[:_NAMED])) + (", …" if len(copy.alike) > _NAMED else "")
        sentence += f"; {many(len(copy.alike), 'row')} are alike: {some}"
    fix = rule_fix(rule, (), rule.fix_text(context.trainer))
    return Finding(rule.code, rule.severity, sentence, copy.row, fix=fix)
