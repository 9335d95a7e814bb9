"""Which tokens NeMo Automodel trains, found by ids alone: those of the whole chat beside those of its beginnings.

Source: nemo-automodel 0.7.0, components/datasets/llm/formatting_utils.py (_build_multiturn_assistant_mask,
_build_generation_prompt_mask, _build_reasoning_mask, _mask_labels_to_last_turn), chat_dataset.py
(_keep_last_supervised_run).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

from sftui.errors import RecipeError
from sftui.labels import Drawn, drawn
from sftui.model import Reason, common_prefix

Ids = tuple[int, ...]
VERDICTS: tuple[tuple[bool, Reason], ...] = (
    (False, Reason.ROLE),
    (True, Reason.ASSISTANT),
    (False, Reason.EARLIER),
    (False, Reason.HEADER),
    (False, Reason.BOTH_MASKS),
    (False, Reason.TRUNCATED),
    (False, Reason.NOT_GENERATION),
    (True, Reason.GENERATION),
    (True, Reason.TERMINATOR),
    (False, Reason.PROMPT),
    (True, Reason.COMPLETION),
    (True, Reason.WHOLE),
)
"""What a mask says of a token, by its code."""
CODES = {verdict: code for code, verdict in enumerate(VERDICTS)}
ROLE, ANSWER, EARLIER, OPENED, THOUGHT, CUT, OUTSIDE, INSIDE, END, PROMPT, COMPLETION, WHOLE = range(len(VERDICTS))
TRAINED = frozenset(code for code, (on, _) in enumerate(VERDICTS) if on)


@dataclass(frozen=True, slots=True)
class Window:
    """What truncation leaves of ids: so many, at the beginning or at the end."""

    most: int | None
    left: bool

    def of(self, ids: Ids) -> Ids:
        if self.most is None or len(ids) <= self.most:
            return ids
        return ids[len(ids) - self.most :] if self.left else ids[: self.most]

    def start(self, count: int) -> int:
        """Where what is left of so many ids begins."""
        return count - self.most if self.left and self.most is not None and count > self.most else 0


def by_prefixes(
    whole: Ids, window: Window, count: int, answers: Sequence[int], prefix: Callable[[int], Ids], end: int | None
) -> bytearray:
    """The turns of the assistant, each from behind the messages before it to behind itself: codes of what is left.

    RecipeError where the first messages by themselves do not begin as the whole does; a last id that is `end` (the
    EOS) may differ.
    """
    kept = window.of(whole)
    codes = bytearray(len(kept))
    lengths = {count: len(kept)}

    def length(k: int) -> int:
        if k not in lengths:
            ids = window.of(prefix(k))
            if not _begins(ids, kept, end):
                raise RecipeError(
                    f"NeMo Automodel stops at this row: its first {k} message{'s'[: k > 1]} by themselves are no"
                    " beginning of the whole",
                    why="the chat template writes earlier messages otherwise once later ones follow, so that answers"
                    " cannot be found by lengths (ValueError: Cannot build an answer-only loss mask)",
                    fix="use a chat template with {% generation %} tags, or one that leaves earlier messages as they"
                    " are",
                )
            lengths[k] = len(ids)
        return lengths[k]

    for number in answers:
        start, stop = length(number), length(number + 1)
        start, stop = min(start, len(codes)), min(stop, len(codes))
        codes[start:stop] = bytes((ANSWER,)) * (stop - start)
    return codes


def _begins(ids: Ids, whole: Ids, end: int | None) -> bool:
    """_is_consistent_render_prefix."""
    count = len(ids)
    if count > len(whole):
        return False
    if ids == whole[:count]:
        return True
    return count > 1 and end is not None and ids[-1] == end and ids[:-1] == whole[: count - 1]


def opened(whole: Ids, base: Ids, prompts: Sequence[Ids]) -> tuple[int, int] | None:
    """The tokens of the whole that a generation prompt supplies behind messages whose ids are `base`."""
    first = len(base)
    if base != whole[:first]:
        return None
    matched = 0
    for ids in prompts:
        block = ids[first:]
        if ids[:first] == base and block and whole[first : first + len(block)] == block:
            matched = max(matched, len(block))
    return (first, first + matched) if matched else None


def reasoning(whole: Ids, without: Ids) -> tuple[int, int] | None:
    """The tokens by which the whole differs from the same without a message's reasoning (_find_reasoning_span)."""
    before = common_prefix(whole, without)
    most = min(len(whole), len(without)) - before
    after = common_prefix(whole[::-1][:most], without[::-1][:most])
    end = len(whole) - after
    return (before, end) if end > before else None


def remove(codes: bytearray, span: tuple[int, int] | None, at: int, code: int) -> None:
    """Mask a stretch of the whole in what is left of it, which begins `at`."""
    if span is None:
        return
    for place in range(max(span[0] - at, 0), min(span[1] - at, len(codes))):
        if codes[place] in TRAINED:
            codes[place] = code


def keep_last(codes: bytearray, first: int = 0) -> None:
    """Mask every trained stretch from `first` on but the last one."""
    last = next((i for i in range(len(codes) - 1, first - 1, -1) if codes[i] in TRAINED), None)
    if last is None:
        return
    start = last
    while start > first and codes[start - 1] in TRAINED:
        start -= 1
    for i in range(start):
        if codes[i] in TRAINED and (i >= first or start > first):
            codes[i] = EARLIER


def mask_of(codes: bytearray, kept: Sequence[tuple[int, int]], count: int) -> Drawn:
    """The mask of a row of so many tokens, of which these ranges are left: `codes` are along them."""
    found: list[tuple[int, tuple[bool, Reason]]] = []
    at = place = 0
    for start, end in kept:
        found.append((start - at, VERDICTS[CUT]))
        for code, same in groupby(codes[place : place + end - start]):
            found.append((sum(1 for _ in same), VERDICTS[code]))
        at, place = end, place + end - start
    return drawn([*found, (count - at, VERDICTS[CUT])])
