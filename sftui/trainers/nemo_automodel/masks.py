"""Which tokens NeMo Automodel trains, found by ids alone: those of the whole chat beside those of its beginnings.

Source: nemo-automodel 0.7.0, components/datasets/llm/formatting_utils.py (_build_multiturn_assistant_mask,
_build_generation_prompt_mask, _build_reasoning_mask, _mask_labels_to_last_turn), chat_dataset.py
(_keep_last_supervised_run).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sftui.errors import RecipeError
from sftui.labels import Drawn, Verdict, drawn
from sftui.model import Reason, common_prefix
from sftui.runs import Ranges, RunWriter, clipped

Ids = tuple[int, ...]
Marks = RunWriter[tuple[bool, Reason]]
"""Whether each token that is left is trained, and why."""


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
) -> Marks:
    """The turns of the assistant, each from behind the messages before it to behind itself, in what is left.

    RecipeError where the first messages by themselves do not begin as the whole does; a last id that is `end` (the
    EOS) may differ.
    """
    kept = window.of(whole)
    marks = Marks(len(kept), (False, Reason.ROLE))
    lengths = {count: len(kept)}

    def length(k: int) -> int:
        if k not in lengths:
            ids = window.of(prefix(k))
            if not _begins(ids, kept, end):
                raise RecipeError(
                    f"NeMo Automodel stops at this row: its first {k} message{'s'[: k > 1]}, rendered alone, do not"
                    " match the start of the whole row",
                    why="the chat template renders earlier messages differently once later ones follow, so answers"
                    " cannot be found by length (ValueError: Cannot build an answer-only loss mask)",
                    fix="use a chat template with {% generation %} tags, or one that leaves earlier messages as they"
                    " are",
                )
            lengths[k] = len(ids)
        return lengths[k]

    for number in answers:
        marks.put(length(number), length(number + 1), (True, Reason.ASSISTANT))
    return marks


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


def change(marks: Marks, start: int, end: int, was: Reason | None, verdict: tuple[bool, Reason]) -> None:
    """Give what is trained for a reason, or for any, in a range another verdict."""
    for place in range(max(start, 0), min(end, len(marks))):
        on, reason = marks.at(place)
        if on and was in (None, reason):
            marks.put(place, place + 1, verdict)


def remove(marks: Marks, span: tuple[int, int] | None, at: int, reason: Reason) -> None:
    """Mask a stretch of the whole in what is left of it, which begins `at`."""
    if span is not None:
        change(marks, span[0] - at, span[1] - at, None, (False, reason))


def keep_last(marks: Marks) -> None:
    """Mask every trained stretch but the last one."""
    trained = [(start, end) for start, end, (on, _) in marks.runs().runs() if on]
    for start, end in trained[:-1]:
        marks.put(start, end, (False, Reason.EARLIER))


def mask_of(marks: Marks, kept: Ranges, count: int) -> Drawn:
    """The mask of a row of so many tokens, of which these ranges are left: `marks` are along them."""
    found: list[Verdict] = []
    verdicts, at, place = marks.runs(), 0, 0
    for start, end in kept:
        found.append((start - at, (False, Reason.TRUNCATED)))
        found += ((b - a, verdict) for a, b, verdict in clipped(verdicts, place, place + end - start))
        at, place = end, place + end - start
    return drawn([*found, (count - at, (False, Reason.TRUNCATED))])
