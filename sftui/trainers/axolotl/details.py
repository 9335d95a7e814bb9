"""Character ranges of a message that are trained or not (message_field_training_detail), as tokens.

Source: axolotl 0.19.0, prompt_strategies/chat_template.py (get_offsets_for_train_detail,
adjust_train_details). The content is tokenized alone and laid over the turn's tokens from its
first one on, so a content whose first token merges with the header is off by as much.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sftui.errors import RecipeError
from sftui.tokens import LoadedTokenizer

Range = tuple[float, float, bool]


def trained_tokens(text: str, details: Any, tokenizer: LoadedTokenizer) -> list[bool]:
    """One flag per token of `text` tokenized alone; ends of ranges are inclusive."""
    ranges = _ranges(details)
    starts = tokenizer.encode(text).starts
    if not starts:
        raise RecipeError(
            "Axolotl stops the whole run at this row", why="the text with a training detail has no tokens"
        )
    # A token reaches to the character before the next one begins, whatever its own offsets say.
    places = [(start, after - 1) for start, after in zip(starts, [*starts[1:], len(text)])]
    adjusted = [one for one in (_adjusted(item, places) for item in ranges) if one is not None]
    return [any(train and begin <= start and end <= last for begin, last, train in adjusted) for start, end in places]


def _ranges(details: Any) -> list[Range]:
    if not isinstance(details, Sequence) or isinstance(details, str):
        raise _broken("it is not a list")
    found: list[Range] = []
    for item in details:
        if not isinstance(item, Mapping) or not {"begin_offset", "end_offset", "train"} <= set(item):
            raise _broken("an entry lacks begin_offset, end_offset or train")
        begin, end = item["begin_offset"], item["end_offset"]
        if not isinstance(begin, (int, float)) or not isinstance(end, (int, float)):
            raise _broken("an offset is not a number")
        found.append((begin, end, bool(item["train"])))
    return found


def _adjusted(item: Range, places: Sequence[tuple[int, int]]) -> Range | None:
    """The range widened to whole tokens; None where no token is left."""
    begin, end, train = item
    first = next((i for i, (start, _) in enumerate(places) if start >= begin), len(places))
    if first > 0 and places[first - 1][1] > begin:
        first -= 1
    last = next((i for i in range(len(places) - 1, -1, -1) if places[i][1] <= end), -1)
    if last < len(places) - 1 and places[last + 1][0] < end:
        last += 1
    return (places[first][0], places[last][1], train) if first <= last else None


def _broken(why: str) -> RecipeError:
    return RecipeError(
        "Axolotl stops the whole run at this row",
        why=f"its training detail cannot be read: {why}",
        fix="store a list of begin_offset, end_offset and train",
    )
