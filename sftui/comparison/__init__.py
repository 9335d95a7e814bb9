"""The same row under two or more trainers, versions, templates or tokenizers, and the count over a dataset."""

from sftui.comparison.causes import Cause, Causes, Setting
from sftui.comparison.rows import Column, ComparisonCount, RowComparison, RowSide, compare_prepared, compare_row, evenly

__all__ = [
    "Cause",
    "Causes",
    "Column",
    "ComparisonCount",
    "RowComparison",
    "RowSide",
    "Setting",
    "compare_prepared",
    "compare_row",
    "evenly",
]
