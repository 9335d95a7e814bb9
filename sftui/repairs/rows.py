"""Leaving out rows: what nothing can be learnt from, what findings condemn, and what is there already."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from sftui.conversations.identity import identity
from sftui.findings.words import REASONING, words
from sftui.repairs.model import Data, RepairLayout
from sftui.repairs.splice import HALF

DROP_REASONS: Mapping[str, str] = {
    "unreadable": "the row cannot be read, or contains half a character (a lone surrogate)",
    "empty": "the row has no messages and no text",
    "no-answer": "the row has no answer, or an empty one",
}

MARKED, OTHERS = "marked", "others"
BY_MARK: Mapping[str, str] = {MARKED: "it is marked drop", OTHERS: "it does not have the chosen mark"}
"""Why a row is left out because of marks."""


def drop_reason(data: Data | None, layout: RepairLayout, wanted: Collection[str], skipped: bool = False) -> str | None:
    """The first of the `wanted` reasons that holds for a row, by its name in `DROP_REASONS`; None where none does.

    `skipped`: a repair could not be made on it, which counts as unreadable.
    """
    if "unreadable" in wanted and (data is None or skipped or _half_a_character(data)):
        return "unreadable"
    if data is None:
        return None
    lists = [value for column in layout.columns if isinstance(value := data.get(column), (list, tuple))]
    if "empty" in wanted and not any(
        _says(data.get(column)) for column in (*layout.columns, *layout.texts, *layout.body)
    ):
        return "empty"
    if "no-answer" in wanted and (any(lists) or layout.answer is not None):
        text = data.get(layout.answer) if layout.answer is not None else None
        if not (isinstance(text, str) and text.strip()) and not any(
            _answers(item, layout) for items in lists for item in items
        ):
            return "no-answer"
    return None


def _half_a_character(data: Data) -> bool:
    """Whether a lone surrogate stands in any text or name of the row; it has no UTF-8, so no tokenizer takes it."""
    return any(not text.isascii() and HALF.search(text) for text in words(data))


def _says(value: Any) -> bool:
    return bool(value.strip()) if isinstance(value, str) else isinstance(value, (list, tuple)) and bool(value)


def _answers(item: Any, layout: RepairLayout) -> bool:
    if layout.role_of(item) != "assistant":
        return False
    content = item.get(layout.content)
    parts = content if isinstance(content, (list, tuple)) else () if content is None else (content,)
    said = (
        part.get("text", part) if isinstance(part, Mapping) and part.get("type", "text") == "text" else part
        for part in parts
    )
    return any(bool(one.strip()) if isinstance(one, str) else one is not None for one in said) or any(
        item.get(key) for key in ("tool_calls", *REASONING)
    )


def fingerprint(data: Data, layout: RepairLayout) -> bytes:
    """Equal for two rows that differ in nothing that a trainer reads of them, see `identity`."""
    return identity(data, (*layout.columns, *layout.texts) if layout.decisive is None else layout.decisive)
