"""Which rows evaluate, as far as that is known."""

from __future__ import annotations

from array import array
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Split:
    """The numbers of the rows that evaluate; `key` is what of the config asks for it, empty where nothing does.

    `training` and `evaluating` are all rows in the trainer's own order, where that is another than the dataset's.
    `packs`: rows that evaluate are packed where the recipe packs. `unsure` is why it is not known which rows, where it
    is not, and `later`: it could be known, by going through all of them. `unread` are the numbers of the rows that the
    trainer does not draw, and `unmarked` says what is not told apart where it is not known.
    """

    key: str = ""
    evaluation: frozenset[int] = frozenset()
    training: array[int] | None = None
    evaluating: array[int] | None = None
    packs: bool = True
    unsure: str = ""
    later: bool = False
    unread: frozenset[int] = frozenset()
    unmarked: str = ""

    @property
    def note(self) -> str:
        """A line on rows that are not distinguished; empty where they are."""
        return f"{self.unmarked}: {self.unsure}" if self.unsure and self.unmarked else ""


UNSETTLED = Split(unsure="nobody asked yet", later=True)
"""Before anybody asked."""


class RowSplit:
    """What is found out of open data by going through it, once: which rows evaluate."""

    def __init__(self) -> None:
        self.split = UNSETTLED
