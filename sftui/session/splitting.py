"""Which rows of the open data train and which only evaluate, as the trainer splits them."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sftui.recipe import Recipe
    from sftui.session.opened import Opened
    from sftui.trainers.held_out import HeldOut


PREPARED = 1 << 18
"""Bytes of rows that are prepared to tell which of them evaluate, where not all rows are wanted anyway."""


@dataclass(frozen=True, slots=True)
class Split:
    """The numbers of the rows that evaluate; `key` is what of the config asks for it, empty where nothing does.

    `training` and `evaluating` are all rows in the trainer's own order, where that is another than the dataset's.
    `packs`: rows that evaluate are packed where the recipe packs. `unsure` is why it is not known which rows, where it
    is not, and `later`: it could be known, by going through all of them.
    """

    key: str = ""
    evaluation: frozenset[int] = frozenset()
    training: array[int] | None = None
    evaluating: array[int] | None = None
    packs: bool = True
    unsure: str = ""
    later: bool = False

    @property
    def note(self) -> str:
        """A line on rows that are not told apart; empty where they are."""
        return f"rows set aside for evaluation ({self.key}) are not marked: {self.unsure}" if self.unsure else ""


UNSETTLED = Split(unsure="nobody asked yet", later=True)
"""Before anybody asked."""


def held_out_by(recipe: Recipe) -> HeldOut | None:
    """What the recipe's trainer sets aside for evaluation; None where it is nothing."""
    from sftui.trainers import trainer_named

    return trainer_named(recipe.preset).held_out(recipe)


def split_of(session: Opened, most: int | None = None) -> Iterator[Split | None]:
    """The split of an open session's rows last; before it None, so that others may work meanwhile.

    Where it depends on which rows the trainer drops, every row is prepared for that alone; where on their number, and
    that is not known, every row is read. With `most` only where their number is known and they are no more than so many
    bytes; else it is not known.
    """
    from sftui.session.ready import Ready
    from sftui.trainers.held_out import drawn_order, evaluation_rows

    held = held_out_by(session.recipe)
    if held is None:
        yield Split()
        return
    unsure, config = held.unsure, session.options.config
    if config is not None and len(config.datasets) > 1:
        unsure = "the rows of the config's other datasets count, too"
    repaired = session.overlay is not None  # then rows may be left out, and the others move up
    total = session.count_now()
    if not unsure and not held.drawn and not isinstance(session, Ready):
        unsure = "there is no tokenizer, and rows that are dropped decide it"
    if unsure:
        yield Split(held.key, unsure=unsure)
        return
    known = total if held.drawn and not repaired else None
    if most is not None and known is None and (total is None or not _no_more_than(most, session)):
        how = "counted" if held.drawn else "prepared"
        yield Split(held.key, unsure=f"every row has to be {how} to know which", later=True)
        return
    numbers, kept = array("q"), bytearray()
    if known is not None:
        numbers, kept = array("q", range(known)), bytearray(b"\1") * known
    else:
        for row in session.source.rows():
            if row.left_out is not None:
                continue
            numbers.append(row.index)
            if held.drawn:
                kept.append(1)
            else:
                found = session.inspect_row(row, spans=False)
                kept.append(found.dropped is None)
                if found.more:
                    yield Split(held.key, unsure="the trainer makes several rows of one")
                    return
            yield None
    order = drawn_order(held, len(kept))
    places = evaluation_rows(held, kept) if order is None else order[1]
    aside = frozenset(numbers[place] for place in places)
    if order is None:
        yield Split(held.key, aside, packs=held.packs)
        return
    training, evaluating = (array("q", (numbers[place] for place in part)) for part in order)
    yield Split(held.key, aside, training, evaluating, held.packs)


def _no_more_than(most: int, session: Opened) -> bool:
    """Whether all rows are no more than so many bytes; reads hardly more than that."""
    size = 0
    for row in session.source.rows():
        size += row.size
        if size > most:
            return False
    return True


def split_now(session: Opened, most: int | None = None) -> Split:
    """`split_of` here and now; what is known already stands."""
    if not session.split.later:
        return session.split
    found = Split()
    for step in split_of(session, most):
        found = step or found
    return found


def settling(session: Opened) -> Iterator[None]:
    """The same for a session that others use meanwhile, where it is not known yet."""
    if not session.split.later:
        return
    for step in split_of(session):
        if step is not None:
            session.known.split = step
        yield None


def unsure_of(splits: Iterable[Split]) -> tuple[int, ...]:
    """The sides of which it is not known which rows evaluate, by number."""
    return tuple(number for number, split in enumerate(splits) if split.unsure)
