"""What releases do to preferences without a word: a row each that shows it. The docs draw it (`tests/docs/tables.py`),
and `tests/parity/test_parity_pair_faults.py` asks the real trainer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sftui
from sftui.api.dataset import OpenDataset


@dataclass(frozen=True)
class Fault:
    """Rows of which the last one shows it, under a release, an objective and a bundled tokenizer."""

    says: str
    rows: Sequence[Mapping[str, Any]]
    trainer: str = "trl@1.16"
    objective: str = "dpo"
    tokenizer: str = "chatml"
    knobs: Mapping[str, Any] = field(default_factory=dict)


def opened(fault: Fault) -> OpenDataset:
    """Its rows under its release."""
    knobs = {"loss.objective": fault.objective, **fault.knobs}
    return sftui.open(list(fault.rows), tokenizer=f"builtin:{fault.tokenizer}", trainer=fault.trainer, set=knobs)


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def answer(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def pair(chosen: Any, rejected: Any, *prompt: dict[str, Any], **more: Any) -> dict[str, Any]:
    sides = {"chosen": chosen, "rejected": rejected}
    sides = {name: [answer(side)] if isinstance(side, str) else side for name, side in sides.items()}
    return {"prompt": [*prompt] or [user("Hi")], **sides, **more}


def strings(prompt: str, chosen: str, rejected: str) -> dict[str, Any]:
    return {"prompt": prompt, "chosen": chosen, "rejected": rejected}


def turn(role: str, text: Any) -> dict[str, Any]:
    return {"from": role, "value": text}


CALL = {"type": "function", "function": {"name": "weather", "arguments": {"city": "Rome"}}}
AXOLOTL = "axolotl@0.21"
LONG = "one two three four five six seven eight"
LLAMAFACTORY = {"trainer": "llamafactory@0.9"}
CHATML = {"render.template": "llamafactory/chatml"}
FAULTS = (
    Fault(
        "A side that repeats the prompt: the question is trained, in both sides.",
        [pair([user("Hi"), answer("good")], [user("Hi"), answer("bad")])],
    ),
    Fault(
        "Equal answers are kept: they cost a step and teach nothing.",
        [pair("same", "same")],
    ),
    Fault(
        "A side of several messages: the user's turn is trained.",
        [pair([answer("b"), user("c"), answer("d")], "x", user("a"))],
    ),
    Fault(
        "A text that ends with EOS and a line break gets a second EOS; the other side does not.",
        [strings("Q: x\nA:", " good<|im_end|>\n", " bad<|im_end|>")],
    ),
    Fault(
        "Texts that a template with BOS rendered get a second BOS.",
        [strings("<|begin_of_text|>Hi\n", "good<|eot_id|>", "bad<|eot_id|>")],
        tokenizer="llama3",
    ),
    Fault(
        "A prompt of max_length tokens: the row is dropped, and no log counts it.",
        [pair("good", "bad", user(LONG))],
        knobs={"length.max": 12},
    ),
    Fault(
        "A string prompt that ends with a space: both answers are gone, each side is EOS alone.",
        [strings("2+2 = ", "four", "five")],
        trainer="trl@1.14",
    ),
    Fault(
        "Two terminators on each side, if the template writes a line break after the first.",
        [pair("good", "bad")],
        objective="orpo",
    ),
    Fault(
        "The last row of 2n+1 rows is its own KL partner under per_device_train_batch_size 2.",
        [{"prompt": "Q:", "completion": " good", "label": True}],
        objective="kto",
        knobs={"batch.size": 2},
    ),
    Fault(
        "If the tokenizer's EOS pads, the score is read at the token before it.",
        [strings("Q: x\nA:", " good", " bad")],
        objective="reward",
        knobs={"tokenizer.pad_token": "<|im_end|>"},
    ),
    Fault(
        "A template with BOS gives two: Axolotl renders texts, and TRL adds special tokens to texts.",
        [{"messages": [user("Hi")], "chosen": answer("yes"), "rejected": answer("no")}],
        trainer=AXOLOTL,
        tokenizer="gemma",
    ),
    Fault(
        "Tool calls are not copied: an answer that calls a tool becomes the empty answer.",
        [{"messages": [user("Hi")], "chosen": {**answer(""), "tool_calls": [CALL]}, "rejected": answer("bad")}],
        trainer=AXOLOTL,
    ),
    Fault(
        "`chat_template.argilla_chat` reads the question of `chosen` alone, whatever `rejected` answers.",
        [{"chosen": [user("Hi"), answer("good")], "rejected": [user("Who?"), answer("bad")]}],
        knobs={"own.type": "chat_template.argilla_chat"},
        trainer=AXOLOTL,
    ),
    Fault(
        "`llama3.argilla_chat` and `chatml.argilla_chat` read two messages: with two turns both sides are equal.",
        [
            {
                "chosen": [user("a"), answer("b"), user("c"), answer("good")],
                "rejected": [user("a"), answer("b"), user("c"), answer("bad")],
            }
        ],
        knobs={"own.type": "chatml.argilla_chat"},
        trainer=AXOLOTL,
    ),
    Fault(
        "A prompt_format that ends with a space: both answers are gone, each side is EOS alone.",
        [strings("2+2", "four", "five")],
        knobs={"own.type": {"prompt_format": "{prompt} = "}},
        trainer=AXOLOTL,
    ),
    Fault(
        "ORPO's EOS is one token too many for sequence_len: both answers are cut to what the longer one leaves.",
        [
            {
                "chosen": [user("Hi"), answer("one two three four five six seven eight nine ten")],
                "rejected": [user("Hi"), answer("one two three four five six seven")],
            }
        ],
        objective="orpo",
        knobs={"own.type": "chat_template.argilla", "length.max": 22},
        trainer=AXOLOTL,
    ),
    Fault(
        "`formatting: openai` writes “detailed thinking off” into the system prompt of every row.",
        [
            {
                "messages": [user("Hi")],
                "chosen": answer("good"),
                "rejected": answer("bad"),
            }
        ],
        knobs={
            **CHATML,
            "data.fields": {"messages": "messages", "chosen": "chosen", "rejected": "rejected"},
            "own.formatting": "openai",
        },
        **LLAMAFACTORY,
    ),
    Fault(
        "cutoff_len takes the prompt's end, the assistant's header first, and keeps the answers whole.",
        [{"instruction": LONG, "input": "", "chosen": "good", "rejected": "bad"}],
        knobs={**CHATML, "length.max": 12},
        **LLAMAFACTORY,
    ),
    Fault(
        "A side from `human`: a warning once, and the row trains a user's turn.",
        [{"conversations": [turn("human", "Hi")], "chosen": turn("human", "good"), "rejected": turn("gpt", "bad")}],
        knobs=CHATML,
        **LLAMAFACTORY,
    ),
    Fault(
        "`enable_thinking: null` and a thought in the rejected side alone: it learns to think after an empty thought.",
        [{"instruction": "Hi", "input": "", "chosen": "good", "rejected": "<think>\nx\n</think>\n\nbad"}],
        knobs={"render.template": "llamafactory/qwen3", "render.kwargs": {"enable_thinking": None}},
        **LLAMAFACTORY,
    ),
    Fault(
        "An empty desired answer is read as undesired.",
        [{"instruction": "Hi", "input": "", "output": "", "label": True}],
        objective="kto",
        knobs={
            **CHATML,
            "data.format": "alpaca",
            "data.fields": {"instruction": "instruction", "input": "input", "output": "output", "label": "label"},
        },
        **LLAMAFACTORY,
    ),
)
