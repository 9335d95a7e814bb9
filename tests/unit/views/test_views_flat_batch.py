"""A batch without padding: rows laid end to end are no padding, and nothing is said to be hidden or trained by
mistake."""

from __future__ import annotations

from sftui.model import Batch
from sftui.views.batch import batch_lines
from sftui.views.cells import plain


def flat(tail: tuple[int, ...] = ()) -> Batch:
    labels = (-100, 5, 6, -100, 8, *tail)
    return Batch((3, 4), (3, 2), ((4, 5, 6, 7, 8, *(0 for _ in tail)),), (labels,), None, ((0, 1, 2, 0, 1, *tail),))


def test_rows_laid_end_to_end_are_drawn_one_by_one() -> None:
    text = plain(batch_lines(flat(), 60))
    assert "0 padding" in text and "padding positions are trained" not in text and "nothing hides padding" not in text
    assert "row 3 3 ░██" in text and "row 4 2 ░█" in text


def test_padding_behind_them_is_padding() -> None:
    text = plain(batch_lines(flat((9,)), 60))
    assert "1 padding" in text and "1 padding positions are trained" in text and "nothing hides padding" in text
