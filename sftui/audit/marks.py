"""What recognises a finding in another run, where rows were added, moved or taken away meanwhile."""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import blake2b
from typing import TYPE_CHECKING

from sftui.findings.catalogue import PARTS

if TYPE_CHECKING:
    from sftui.findings import DatasetChecks, Finding
    from sftui.model import Row

_COUNTS = re.compile(
    r"(?<![\w.])\d[\d,]*"
    r"(?: of \d[\d,]*(?![\w.])| (?:[a-z]+ )?(?:row|document|conversation|message|answer|turn|prompt)s?\b(?:"
    r" (?:is|are|has|have|says?)\b)?)"
)
"""`7 of 1,200`, and `7 rows are` or `1 packed document is`: how often, which moves with the rows."""
_EXAMPLE = re.compile(r"(?<!\S)\S+ or the like")
_QUOTED = re.compile(r"(`[^`]*`)")


def mark(*parts: object) -> str:
    """The fingerprint of what the parts say together: 16 hexadecimal digits."""
    return blake2b("\0".join(map(str, parts)).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def row_mark(finding: Finding, row: Row) -> str:
    """A finding of a row: its code, the text of the row and the message."""
    return mark(finding.code, row.raw, finding.message)


def setup_mark(finding: Finding) -> str:
    """A finding of the set-up: what it says but for how often, so that its keys, knobs and tokens still tell it
    apart."""
    parts = _QUOTED.split(finding.sentence)
    parts[::2] = [_EXAMPLE.sub("…", _COUNTS.sub("#", part)) for part in parts[::2]]
    return mark(finding.code, "".join(parts))


def dataset_marks(finding: Finding, checks: DatasetChecks, repeated: Iterable[bytes]) -> frozenset[str]:
    """What a finding of the whole dataset consists of, one mark for each part; it is known only when all of them are.

    Where its check names no parts, as for one about the recipe or a share of the rows, what it names.
    """
    parts = PARTS.get(finding.code)
    made = () if parts is None else parts(checks, repeated)
    return frozenset(mark(finding.code, one) for one in made) or frozenset({setup_mark(finding)})
