"""torchtune's gsm8k_sft: questions with worked answers as one prompt and one text that is trained.

Source: torchtune 0.7.0, torchtune/dev/grpo/gsm8k.py (sft_gsm_transform, gsm8k_sft). The recipe says so in own:
`builder` gsm8k_sft, and `partition` as in its config. Rows outside of the partition are left out before anything is
read of them; nothing is cut, and there is no packing. 0.6.1 has no such dataset.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from sftui.conversations import Detection
from sftui.conversations.detected import refusal
from sftui.errors import ConversationError, RecipeError
from sftui.model import Conversation, Kind, Row
from sftui.recipe import Recipe
from sftui.trainers.torchtune import TorchtuneOptions

NAME, COMPONENT, SOURCE = "gsm8k_sft", "torchtune.dev.grpo.gsm8k.gsm8k_sft", "openai/gsm8k"
SUBSET = "main"
FIELDS = {"input": "question", "output": "answer"}
DROPPED = "torchtune_dropped"
"""The key of `Conversation.extra` that says why the row is left out."""
PREAMBLE = (
    "A conversation between User and Assistant. The user asks a question, and the Assistant solves it. The assistant"
    " first thinks about the reasoning process in the mind and then provides the user with the answer. The reasoning"
    " process and answer are enclosed within <think></think> and <answer></answer> tags, respectively, i.e.,"
    " <think>reasoning process here</think> <answer>answer here</answer>. User: {question} Assistant: "
)
TRAINED = "<think>{cot}</think> <answer>{answer}</answer>"
BEFORE_ANSWER = "#### "
_PARTITION = re.compile(r"^(\d+)-(\d+)/(\d+)$")


def chosen(recipe: Recipe) -> bool:
    """Whether the recipe's rows are read by gsm8k_sft."""
    return TorchtuneOptions.of(recipe).builder == NAME


def wrong_partition(partition: Any) -> str | None:
    """What torchtune raises for a `partition`; None where it takes it."""
    if partition is None:
        return None
    if not isinstance(partition, str):
        return "TypeError: expected string or bytes-like object"
    found = _PARTITION.match(partition)
    if found is None:
        return f"ValueError: Invalid partition format: {partition}. Expected format: start-end/total"
    return "ZeroDivisionError: integer modulo by zero" if not int(found[3]) else None


def _holds(partition: Any, index: int) -> bool:
    """Whether a row, by its place in the split, is in the partition; both ends are."""
    wrong = wrong_partition(partition)
    if wrong is not None:
        raise RecipeError(f"torchtune stops: {wrong}", fix="write partition as start-end/total, e.g. 0-0/10")
    start, end, total = map(int, re.findall(r"\d+", partition or "0-0/1"))
    return start <= index % total <= end


def detect(rows: Sequence[Row]) -> Detection:
    """Its two columns, or why there are none."""
    columns = {key for row in rows if isinstance(row.data, Mapping) for key in row.data}
    for column in FIELDS.values() if columns else ():
        if column not in columns:
            what, fix = f"there is no column `{column}`", "rename the column, or name another dataset builder"
            return refusal(f"torchtune's {NAME} stops: {what}", f"torchtune raises KeyError '{column}'", fix)
    return Detection("columns", dict(FIELDS), reason=f"torchtune: {NAME}; set in torchtune's config")


def convert(row: Row, detected: Detection, partition: Any) -> Conversation:
    """One row as the prompt and the text that is trained.

    ConversationError where the transform would raise, RecipeError where the partition is none.
    """
    where, data = row.where or f"row {row.index}", row.data
    if not isinstance(data, Mapping):
        raise ConversationError(row.problem or "the row is not a JSON object", where=where)
    question, solution = (data.get(column) for column in FIELDS.values())
    prompt = PREAMBLE.format(question=question)
    if not _holds(partition, row.index):
        why = f"it is outside the partition {partition}"
        return Conversation(Kind.STRINGS, "columns", prompt=prompt, completion=str(solution), extra={DROPPED: why})
    if not isinstance(solution, str) or solution.count(BEFORE_ANSWER) != 1:
        raise ConversationError(
            f"`answer` does not contain `{BEFORE_ANSWER}` exactly once",
            where=where,
            why="torchtune stops: it reads what comes before it as the reasoning and what comes after it as the answer",
            fix="fix or remove the row",
        )
    cot, answer = solution.split(BEFORE_ANSWER)
    return Conversation(Kind.STRINGS, "columns", prompt=prompt, completion=TRAINED.format(cot=cot, answer=answer))
