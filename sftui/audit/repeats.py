"""Rows that are repeated, found over what the audits of parts tell: share by share, each in bounded memory.

    taken = [take_repeats(audit.checks) for audit in audits]              # before they are merged; 35 bytes a row
    add_repeated(audit.checks, repeated([one.share(number, of) for one in taken], None))   # for each number below `of`

What comes out is what `DatasetChecks.merge` finds, but for its bound on how many rows are remembered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sftui.findings.dataset import EXAMPLES, REMEMBERED, ROW, DatasetChecks, Tally
from sftui.findings.hashes import HASH, Hashes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Repeats:
    """What tells repeated rows of some rows (see `DatasetChecks`): the bytes of hashes, and of what belongs to them.
    To put them into tables again, for each share, would take a hundred times as long as to read them."""

    seen: tuple[bytes, bytes]
    by_prompt: tuple[bytes, bytes]
    others: tuple[bytes, bytes]

    def share(self, number: int, of: int) -> Share:
        """Share `number` of `of`: rows that are the same, or ask the same, are in one share, whoever has them."""
        import numpy as np

        whole, row = _columns(self.seen, ROW)
        prompt, first, answer = _columns(self.by_prompt, ROW, HASH)
        other, later, prompt_of_other = _columns(self.others, ROW, HASH)
        same, one, two = (keys % np.uint64(of) == number for keys in (whole, prompt, prompt_of_other))
        return Share(
            whole[same],
            row[same],
            np.concatenate((prompt[one], prompt_of_other[two])),
            np.concatenate((first[one], later[two])),
            np.concatenate((answer[one], other[two])),
        )


@dataclass(frozen=True, slots=True)
class Share:
    """Hashes of rows with their numbers; of prompts, with the numbers of rows that ask them and their answers."""

    whole: Numbers
    row: Numbers
    prompt: Numbers
    asking: Numbers
    answer: Numbers


@dataclass(frozen=True, slots=True)
class RepeatedRows:
    """What is repeated in one share of all rows: the rows that are the `same` as an earlier one of another part; the
    prompts of the evaluation set that rows ask; and how often a prompt is answered `again`, differently: the hashes
    of the first of these `answers`, and the first row of each, in the order of the rows."""

    same: Tally
    leaked: list[bytes]
    again: int
    answers: list[bytes]
    rows: list[int]


def take_repeats(checks: DatasetChecks) -> Repeats:
    """What tells repeated rows, taken out of the checks: they then merge without looking for them."""
    seen, by_prompt, others = (hashes.__getstate__()[1:] for hashes in (checks.seen, checks.by_prompt, checks.others))
    taken = Repeats(seen, by_prompt, others)
    checks.seen, checks.by_prompt, checks.others = Hashes(ROW), Hashes(ROW + HASH), Hashes(ROW + HASH)
    return taken


def add_repeated(checks: DatasetChecks, found: RepeatedRows) -> None:
    """Add what is repeated to the checks that all parts are merged into."""
    checks.same.merge(found.same)
    for prompt in found.leaked:
        checks.by_prompt.add(prompt, bytes(ROW + HASH))
    kept = 0
    for answer, row in zip(found.answers, found.rows):
        if len(checks.others) >= checks.remembered:
            break
        kept += 1
        checks.others.add(answer, row.to_bytes(ROW, "big") + bytes(HASH))
    checks.elsewhere.merge(Tally(found.again - kept, found.rows[kept : kept + EXAMPLES]))


def repeated(shares: Sequence[Share], evaluation: Hashes | None, most: int = REMEMBERED) -> RepeatedRows:
    """What is repeated in one share of every part; of other answers no more than `most` are named."""
    import numpy as np

    def joined(name: str) -> Any:
        return np.concatenate([getattr(share, name) for share in shares])

    whole, row = joined("whole"), joined("row")
    order = np.lexsort((row, whole))
    whole, row = whole[order], row[order]
    same = row[1:][whole[1:] == whole[:-1]]
    few = np.partition(same, EXAMPLES)[:EXAMPLES] if len(same) > EXAMPLES else same
    prompt, asking, answer = joined("prompt"), joined("asking"), joined("answer")
    order = np.lexsort((asking, prompt))
    prompt, asking, answer = prompt[order], asking[order], answer[order]
    begins = _begins(prompt)
    first = np.repeat(answer[begins], np.diff(np.append(begins, len(prompt))))
    other = answer != first
    answer, asking = answer[other], asking[other]
    order = np.lexsort((asking, answer))  # an answer's hash is of its prompt, too
    answer, asking = answer[order], asking[order]
    begins = _begins(answer)
    answer, asking = answer[begins], asking[begins]
    order = np.argsort(asking)[:most]
    leaked = [] if evaluation is None else [one for one in _bytes(np.unique(prompt)) if one in evaluation]
    return RepeatedRows(
        Tally(len(same), sorted(map(int, few))), leaked, len(answer), _bytes(answer[order]), asking[order].tolist()
    )


def _begins(keys: Numbers) -> Any:
    """Where in sorted keys another one begins."""
    import numpy as np

    return np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1]))[: len(keys)])


def _bytes(keys: Numbers) -> list[bytes]:
    whole = keys.astype(">u8").tobytes()
    return [whole[at : at + HASH] for at in range(0, len(whole), HASH)]


def _columns(hashes: tuple[bytes, bytes], *widths: int) -> tuple[Numbers, ...]:
    """Hashes and what belongs to them as numbers, whose bytes stand with the highest first."""
    import numpy as np

    keys, values = hashes
    table = np.frombuffer(values, np.uint8).reshape(len(keys) // HASH, sum(widths))
    columns = [np.frombuffer(keys, ">u8").astype(np.uint64)]
    at = 0
    for width in widths:
        wide = np.zeros((len(table), 8), np.uint8)
        wide[:, 8 - width :] = table[:, at : at + width]
        columns.append(wide.view(">u8")[:, 0].astype(np.uint64))
        at += width
    return tuple(columns)
