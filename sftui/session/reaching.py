"""Whether any answer of the data reaches the model, before its config is written."""

from __future__ import annotations

from itertools import islice

from sftui.audit.verdict import Verdicts, of_row
from sftui.findings.model import Consequence
from sftui.session.ready import Ready
from sftui.text import many


def unreached(session: Ready, most: int | None = None) -> str | None:
    """What becomes of data, or of its first `most` rows, of which no answer reaches the model, in a sentence; None for
    any other, which the first row tells that is trained."""
    verdicts, count, why = Verdicts(), 0, ""
    for made in session.inspect_many(islice(session.source.rows(), most)):
        if made.evaluates or made.row.left_out is not None:
            continue
        found = session.found(made)
        comes_to = of_row(found)
        if made.trained and (comes_to is None or not comes_to[1].lost):
            return None
        count += 1
        verdicts.add(found, made.row.index)
        why = why or (made.problem.sentence() if made.problem is not None else made.dropped or "")
    if not count:
        return None
    told = next((one for one in verdicts.verdicts(count, why) if Consequence[one.consequence.upper()].lost), None)
    words = told.sentence if told is not None else f"nothing is trained in {many(count, 'row')}{why and ': '}{why}"
    return f"{words}{'' if most is None else f' (of the first {most:,} rows)'}"
