"""Rows that say nearly the same: MinHash (`rensa`) tells which two may, the runs of words that both have tell whether.

rows = NearRows(0.8)
rows.add(number, runs_of(look))                     # each row once, in any order; 92 bytes a row
near_copies(rows.pairs(), 0.8, read, evaluating)    # reads the rows again that may be alike
"""

from __future__ import annotations

import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from struct import pack
from sys import byteorder
from typing import TYPE_CHECKING, Any
from zlib import crc32

from sftui.conversations.identity import identity
from sftui.conversations.refusals import MEDIA_COLUMNS
from sftui.errors import SftuiError
from sftui.findings.look import RowLook
from sftui.findings.words import content_texts
from sftui.model import Message

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RUN, LEAST = 3, 8
"""Words of a run, and different runs that a row has at least to be compared: fewer are alike by chance."""
LONGEST = 1 << 20
"""Characters of a row that are compared."""
HASHES, SURE = 126, 0.99
"""Hashes of a row, and how likely two rows that are just as alike as asked for are found by them."""
COMMON, FEW, LEARNT = 0.05, 3, 512
"""Runs in the prompts of more than this part of so many rows, and of as many as `FEW`, say nothing about a row."""
KEPT = 4_096
"""Rows whose runs are remembered while others are compared with them."""
_WORD = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|\w+|[^\w\s]")
"""A word, a letter of a script that writes none apart, or a sign."""


@dataclass(frozen=True, slots=True)
class NearCopy:
    """A row that says nearly what `other` says: `share` is the part of the runs of both that both have; `alike` are the
    rows of its group, in order. Where `evaluates`, the other is a row of the evaluation set and there is no group."""

    row: int
    other: int
    share: float
    alike: tuple[int, ...] = ()
    evaluates: bool = False


def runs_of(look: RowLook, common: Collection[str] = ()) -> frozenset[str]:
    """The runs of three words of a row's messages, of its prompt but for the `common` ones; rows with other media share
    none."""
    asked, said = _asked_and_said(look)
    mark = _media(look)
    said.update(asked.difference(common))
    return frozenset([f"{mark}{run}" for run in said] if mark else said)


def common_runs(looks: Iterable[RowLook]) -> frozenset[str]:
    """The runs that many prompts of some rows have, such as those of a system prompt or of an instruction."""
    rows, counts = 0, Counter[str]()
    for look in looks:
        rows += 1
        counts.update(_asked_and_said(look)[0])
    return frozenset(run for run, count in counts.items() if count >= FEW and count > COMMON * rows)


def _asked_and_said(look: RowLook) -> tuple[set[str], set[str]]:
    """The runs of what the row asks, or of its text, and of its answers."""
    asked, said, left = set[str](), set[str](), LONGEST
    answering = look.context.traits.answering
    for conversation in look.conversation.sides:
        asked.update(_runs((conversation.text or conversation.prompt or "")[:LONGEST]))
        said.update(_runs((conversation.completion or "")[:LONGEST]))
        for message in conversation.messages:
            text = _text(message)[:left]
            left -= len(text)
            (said if message.role in answering else asked).update(_runs(text))
    return asked, said


def _runs(text: str) -> Iterator[str]:
    words = _WORD.findall(text.casefold())
    return map(" ".join, zip(words, words[1:], words[2:]) if len(words) >= RUN else [words] if words else [])


def _text(message: Message) -> str:
    """What a message says: its content, its reasoning and its calls."""
    calls, thought = message.data.get("tool_calls"), message.data.get("reasoning_content")
    said = (thought, *content_texts(message), calls and str(calls))
    return " ".join([one for one in said if isinstance(one, str)])


def _media(look: RowLook) -> str:
    """What tells the media of a row from those of others; empty where there are none."""
    data = look.inspection.row.data or {}
    columns = {name: data[name] for name in MEDIA_COLUMNS if data.get(name)}
    parts = [
        part
        for message in look.conversation.messages
        for content in [message.data.get("content")]
        for part in (content if isinstance(content, list) else [content])
        if isinstance(part, Mapping) and "text" not in part
    ]
    return identity({**columns, "": parts}, ()).hex() if columns or parts else ""


class NearRows:
    """Hashes of rows by which those that are alike in `least` of their runs (a share of 0.5 or more) meet.

    SftuiError where rensa is not installed.
    """

    def __init__(self, least: float) -> None:
        try:
            import rensa
        except ImportError as error:
            raise SftuiError(
                "finding near duplicates needs rensa, which is not installed", fix="pip install 'sftui[near]'"
            ) from error
        self._sketch: Any = rensa.RMinHash
        self.least = least
        self.wide = next(w for w in range(HASHES, 0, -1) if 1 - (1 - least**w) ** (HASHES // w) >= SURE)
        self.numbers, self._bands = array("q"), bytearray()
        self.short = 0

    def add(self, number: int, runs: frozenset[str]) -> None:
        """One more row; one of too few runs is counted as `short` and not compared."""
        if len(runs) < LEAST:
            self.short += 1
            return
        sketch = self._sketch(HASHES, 1)
        sketch.update([run.encode("utf-8", "surrogatepass") for run in runs])
        drawn = pack(f"<{HASHES}I", *sketch.digest())
        self.numbers.append(number)
        for band in range(HASHES // self.wide):
            self._bands += crc32(drawn[4 * self.wide * band : 4 * self.wide * (band + 1)]).to_bytes(4, byteorder)

    def pairs(self) -> Iterator[tuple[int, int]]:
        """The numbers of two rows that may be alike, in an order that only the rows decide: rows that meet in a band
        stand in order of the next one, so that the most alike of many are neighbours."""
        import numpy as np

        bands = np.frombuffer(self._bands, np.uint32).reshape(-1, HASHES // self.wide)
        found: NDArray[np.uint64] = np.empty(0, np.uint64)
        for band in range(bands.shape[1]):
            order = np.lexsort((bands[:, (band + 1) % bands.shape[1]], bands[:, band])).astype(np.uint64)
            drawn = bands[order, band]
            for apart in (1, 2):
                met = drawn[apart:] == drawn[:-apart]
                one, other = order[apart:][met], order[:-apart][met]
                found = np.union1d(found, np.maximum(one, other) << np.uint64(32) | np.minimum(one, other))
        for pair in found.tolist():
            yield self.numbers[pair & 0xFFFFFFFF], self.numbers[pair >> 32]


def near_copies(
    pairs: Iterable[tuple[int, int]],
    least: float,
    read: Callable[[int], tuple[frozenset[str], bytes]],
    evaluates: Callable[[int], bool],
) -> list[NearCopy]:
    """The rows that share `least` of their runs with another one, in order; `pairs` are the numbers of those that may.

    Rows that are the very same count as one.
    `read` gives the runs of a row again, by its number, and what tells it from all that is not the very same row: of
    these one is enough. `evaluates` says whether it is of the evaluation set: rows that train are compared with these
    and with one another. Of a group of rows the first is no copy.
    """
    row_of = lru_cache(maxsize=KEPT)(read)
    leader: dict[int, int] = {}
    near: dict[int, tuple[int, float]] = {}
    leaked: dict[int, tuple[int, float]] = {}

    def first_of(row: int) -> int:
        while row in leader:
            row = leader[row]
        return row

    for one, two in map(sorted, pairs):
        kinds = evaluates(one), evaluates(two)
        train, held = (two, one) if kinds[0] else (one, two)
        if all(kinds) or (any(kinds) and train in leaked) or (not any(kinds) and first_of(one) == first_of(two)):
            continue
        (runs, whole), (others, other_whole) = row_of(one), row_of(two)
        both = len(runs & others)
        share = both / (len(runs) + len(others) - both)
        if share < least:
            continue
        if any(kinds):
            leaked[train] = held, share
            continue
        low, high = sorted((first_of(one), first_of(two)))
        leader[high] = low
        for row, other in ((two, one), (one, two)) if whole != other_whole else ():
            near.setdefault(row, (other, share))
    groups = defaultdict[int, list[int]](list)
    for row in sorted(near):
        groups[first_of(row)].append(row)
    copies = [
        NearCopy(row, *near[row], alike=tuple(alike))
        for first, alike in groups.items()
        for row in alike
        if row != first
    ]
    copies += [NearCopy(row, *found, evaluates=True) for row, found in leaked.items()]
    return sorted(copies, key=lambda one: (one.row, one.evaluates))
