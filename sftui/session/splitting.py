"""Which rows of the open data train and which only evaluate, as the trainer splits them."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from itertools import accumulate

from sftui.errors import SftuiError
from sftui.recipe import Recipe
from sftui.session.opened import OpenData, Split
from sftui.trainers import trainer_of
from sftui.trainers.held_out import HeldOut, evaluation_rows

PREPARED = 1 << 18
"""Bytes of rows that are prepared to tell which of them evaluate, where not all rows are wanted anyway."""


def held_out_by(recipe: Recipe) -> HeldOut | None:
    """What the recipe's trainer sets aside for evaluation; None where it is nothing."""
    return trainer_of(recipe).held_out(recipe)


def split_of(session: OpenData, most: int | None = None) -> Iterator[Split | None]:
    """The split of an open session's rows last; before it None, so that others may work meanwhile.

    Where it depends on which rows the trainer drops, every row is prepared for that alone; where on their number, and
    that is not known, every row is read. With `most` only where their number is known and they are no more than so many
    bytes; else it is not known.
    """
    held = held_out_by(session.recipe)
    if held is None:
        yield Split()
        return
    unsure, config = held.doubt, session.options.config
    if config is not None and len(config.datasets) > 1:
        unsure = "the rows of the config's other datasets count too"
    repaired = session.overlay is not None or session.only is not None  # rows may be left out, and the others move up
    total = session.count_now()
    if not unsure and not held.drawn and not _tokenizes(session):
        unsure = "it depends on which rows the trainer drops, and there is no tokenizer"
    if unsure:
        yield Split(held.key, unsure=unsure, unmarked=held.unmarked)
        return
    known = total if held.drawn and not repaired and not held.sifted else None
    if most is not None and known is None and (total is None or not _no_more_than(most, session)):
        how = "counted" if held.drawn else "prepared"
        told = f"every row must be {how} to know which"
        yield Split(held.key, unsure=told, later=True, unmarked=held.unmarked)
        return
    numbers, kept = array("q"), bytearray()
    if known is not None:
        numbers, kept = array("q", range(known)), bytearray(b"\1") * known
    else:
        for row in session.rows():
            if row.left_out is not None:
                continue
            if held.sifted and held.unreadable(session.early(row)):
                continue
            numbers.append(row.index)
            if held.drawn:
                kept.append(1)
            else:
                found = session.inspect_row(row, spans=False)
                kept.append(found.dropped is None)
                if found.more:
                    yield Split(held.key, unsure="the trainer makes several rows from one", unmarked=held.unmarked)
                    return
            yield None
    if not held.drawn:
        yield Split(held.key, frozenset(numbers[place] for place in evaluation_rows(held, kept)), packs=held.packs)
        return
    training, evaluating = (array("q", (numbers[place] for place in part)) for part in held.order(len(kept)))
    unread = frozenset(numbers).difference(training, evaluating)
    yield Split(held.key, frozenset(evaluating), training, evaluating, held.packs, unread=unread)


def _tokenizes(session: OpenData) -> bool:
    """Whether rows can be prepared."""
    try:
        session.ready()
    except SftuiError:
        return False
    return True


def _no_more_than(most: int, session: OpenData) -> bool:
    """Whether all rows are no more than so many bytes; reads hardly more than that."""
    return all(size <= most for size in accumulate(row.size for row in session.rows()))


def settle_split(session: OpenData, most: int | None = None) -> Split:
    """Find out which rows evaluate, where it is not known yet; with some trainers every row is prepared for it, which
    with `most` is done for no more than so many bytes of rows."""
    found = session.split
    for step in split_of(session, most) if found.later else ():
        found = step or found
    if not found.later:
        session.known.split = found
    return found


def settling(session: OpenData) -> Iterator[None]:
    """The same for a session that others use meanwhile, where it is not known yet."""
    if not session.split.later:
        return
    for step in split_of(session):
        if step is not None:
            session.known.split = step
        yield None


def unsure_of(splits: Iterable[Split]) -> tuple[int, ...]:
    """The sides of which it is not known which rows evaluate, by number."""
    return tuple(number for number, split in enumerate(splits) if split.note)
