"""Rows for Axolotl at the edges of its rules: how far a turn's terminator may be, where a training detail begins."""

from __future__ import annotations

from typing import Any

Rows = list[dict[str, Any]]


def user(text: Any = "What is two and two?", **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": text, **more}


def said(text: Any = "The answer is four, and more.", **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text, **more}


def ranges(*found: tuple[float, float, bool]) -> list[dict[str, Any]]:
    return [{"begin_offset": begin, "end_offset": end, "train": train} for begin, end, train in found]


def edges() -> Rows:
    """Answers with reasoning or without, trained by flags and by ranges of characters that tokens do not keep to."""
    answers: Rows = [
        said(),
        said(reasoning_content="Count them."),
        said("", reasoning_content="Count them."),
        said(training=False),
        said(training=False, detail=ranges((0, 28, True))),
        said(training=True, reasoning_content="Count them."),
        said(reasoning_content="Count them.", detail=ranges((4, 9, True))),
        said(reasoning_content=[{"type": "text", "text": "Count "}, {"type": "text", "text": "them.", "train": False}]),
        said(
            reasoning_content=[{"type": "text", "text": "Count ", "train": False}, {"type": "text", "text": "them."}],
            detail=ranges((4, 9, True)),
        ),
        said([{"type": "text", "text": "The answer", "weight": 0}, {"type": "text", "text": " is four."}]),
        said(detail=[]),
        *(
            said(detail=ranges(range_))
            for range_ in (
                (3, 9, True),  # the token ` answer` as it is
                (4, 9, True),
                (5, 8, True),  # inside of it
                (3, 10, True),
                (3, 11, True),
                (2, 12, True),
                (0, 0, True),
                (0, 2, True),
                (0, 3, True),
                (28, 28, True),
                (27, 40, True),
                (29, 40, True),
                (-3, 2, True),
                (9, 3, True),
                (1, 9, True),  # inside of the first token
                (4.5, 9.5, True),
                (3, 9, False),
            )
        ),
        said("It is five", detail=ranges((0, 7, True))),  # inside of the last one
        said(detail=ranges((0, 10, True), (3, 9, False))),
        said(detail=ranges((0, 2, True), (10, 17, True))),
    ]
    other = said("It is five.", detail=ranges((0, 4, True)))
    return [{"messages": [user(), answer]} for answer in answers] + [
        {"messages": [user(), said(), user("And?"), said("Five.")]},
        {"messages": [user(training=True), said(), user("And?", detail=ranges((0, 2, True))), other]},
        {"messages": [user(), said(), user("And?")]},
    ]


def thoughts() -> Rows:
    """Answers that hold their thoughts, between every pair of tags that split_thinking knows, and half of one."""
    solution = "<|begin_of_solution|> Four. <|end_of_solution|>"
    answers = (
        "<think>\nCount.\n</think>\n\nFour.",
        "Well, <think>count</think> four.",
        "<reasoning>Count.</reasoning>Four.",
        f"<|begin_of_thought|>Count.<|end_of_thought|>\n\n{solution}",
        f"<think>Count.</think> So {solution} it is.",
        f"<think>Count.</think> So {solution[:-10]}",
        "<think>Count. Four.",
        "Count.</think>Four.",
        "Four.",
    )
    return [{"messages": [user("<think>q</think>?"), said(answer), user("And?"), said("Five.")]} for answer in answers]


def ended() -> Rows:
    """Instructions whose answers bring their end along, none, or nothing else."""
    answers = ("Four.", "Four.<|im_end|>", "Four.<|im_end|><|im_end|>", "<|im_end|>", "", "<|im_end|> Four.")
    return [{"instruction": "What is two and two?", "input": "", "output": answer} for answer in answers]


SETS = {"axolotl_edges": edges, "axolotl_thoughts": thoughts, "axolotl_ended": ended}


def _turns(found: Rows) -> Rows:
    """Conversations of whole rounds for `chat_template.argilla`, some with a system prompt or a thought."""
    made = [row for row in found if len(row["chosen"]) % 2 == 0 and all(one["content"] for one in row["chosen"])]
    for at, row in enumerate(made):
        row["system"] = (None, None, "Be brief.")[at % 3]
        row["chosen"][-1]["reasoning_content"] = (None, "Hm, {x}.")[at % 2]
    return made


def _alone(found: Rows) -> Rows:
    """Labelled answers behind their prompt, in one list."""
    return [{"completion": row["prompt"] + row["completion"], "label": row["label"]} for row in found]


def _systems(found: Rows) -> Rows:
    """Pairs of texts for `bradley_terry.chat_template`, half of them with a system prompt, some with a thought."""
    made = []
    for at, row in enumerate(found):
        sides = {name: row[name].strip() for name in ("chosen", "rejected")}
        sides["chosen"] = "<think>\nHm.\n</think>\n\n" * (at % 5 == 0) + sides["chosen"]
        made.append({"system": ("", "Be brief.")[at % 2], "input": row["prompt"], **sides})
    return made


STEPS = {"turns": _turns, "alone": _alone, "systems": _systems}
