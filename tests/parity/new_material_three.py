"""A third round: datasets of 560 to 700 rows of few shapes and wild texts, on real tokenizers.

So many rows of a shape go through what whole datasets go through: rows in chunks, gigatoken after the first,
texts put into skeletons instead of rendered. Texts are cut out of the datasets of ../shared and made of code points
from anywhere, special tokens spelt in text (whole, cut and joined), template syntax, and white space at their ends.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from functools import cache
from itertools import islice
from typing import Any

import new_material_two as second
import shared_rows

Rows = list[dict[str, Any]]

SPELT = (
    "<|im_start|>", "<|im_end|>", "<|im_end|>\n", "<|im_start|>assistant\n", "<|im_start|>user\n", "<|endoftext|>",
    "<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>", "<|start_header_id|>assistant<|end_header_id|>\n\n",
    "<|start_header_id|>", "<|reserved_special_token_3|>", "<s>", "</s>", "<unk>", "<|end|>", "<|user|>",
    "<|assistant|>\n", "<|system|>", "<tool_call>", "</tool_call>", "<tool_response>", "<think>", "</think>",
    "<think>\n\n</think>\n\n", "<|fim_prefix|>", "<|vision_start|>", "<|object_ref_end|>", "[INST]", "[/INST]",
    "<<SYS>>", "<start_of_turn>model\n", "<|im_end", "im_end|>", "<|", "|>", "<|im_<|im_end|>end|>", "＜|im_end|＞",
    "<|IM_END|>",
)  # fmt: skip
SYNTAX = (
    "{{ x }}",
    "{% endfor %}",
    "{%- if",
    "{# no #}",
    "{{content}}",
    "${a}",
    "%s %d {0}",
    "\\n\\t\\u0041",
    "0Zq1x2y",
)
SPACE = (" ", "  ", "\n", "\n\n", "\t", "\u3000", "\xa0", "\u2009", "\r\n", " \n", "\u200b", "\x85", "\u2028", "\x1f")
BLOCKS = (
    (0x20, 0x7E), (0xA1, 0x24F), (0x300, 0x36F), (0x370, 0x52F), (0x590, 0x6FF), (0x900, 0xDFF), (0xE00, 0xEFF),
    (0x1100, 0x11FF), (0x1E00, 0x1FFF), (0x2000, 0x206F), (0x2070, 0x2BFF), (0x3040, 0x30FF), (0x4E00, 0x9FFF),
    (0xAC00, 0xD7A3), (0xE000, 0xE0FF), (0xFB00, 0xFDFF), (0xFE00, 0xFE0F), (0xFF00, 0xFFEF), (0xFFF9, 0xFFFD),
    (0x1D400, 0x1D7FF), (0x1F1E6, 0x1F1FF), (0x1F300, 0x1FAFF), (0x20000, 0x2A6DF), (0xE0020, 0xE007F),
    (0x100000, 0x1000FF), (0x01, 0x1F), (0x7F, 0x9F),
)  # fmt: skip


@cache
def _real() -> tuple[str, ...]:
    """What people wrote in the datasets of ../shared."""
    from case import shared_folder  # which imports this module

    found: list[str] = []
    folder = shared_folder() / "testdata" / "datasets"
    for name in ("turkish_daily_train.parquet", "alpaca_zh_demo.json", "gsm8k_test.jsonl", "v1_sft_demo.jsonl"):
        for row in islice(shared_rows.rows(folder / name), 200):
            found += [m["content"] for m in row["messages"] if isinstance(m["content"], str) and m["content"]]
    return tuple(found)


def anything(r: random.Random, count: int) -> str:
    """Code points of one or two blocks of Unicode, or of all."""
    blocks = r.choices(BLOCKS, k=r.choice((1, 1, 2, 30)))
    return "".join(chr(r.randint(*r.choice(blocks))) for _ in range(count))


def cut(r: random.Random, most: int = 300) -> str:
    """A piece of a real text, from anywhere in it."""
    whole = r.choice(_real())
    start = r.randint(0, max(0, len(whole) - 10)) if r.random() < 0.3 else 0
    return whole[start : start + r.randint(5, most)]


def text(r: random.Random, most: int = 300) -> str:
    """One to four pieces of any kind, seldom with white space at the ends, never blank."""
    made = ""
    for _ in range(r.choice((1, 1, 1, 2, 3, 4))):
        kind = r.random()
        made += (
            cut(r, most)
            if kind < 0.5
            else second.text(r, r.randint(1, 20))
            if kind < 0.65
            else anything(r, r.randint(1, 25))
            if kind < 0.8
            else "".join(r.choices(SPELT, k=r.choice((1, 1, 2))))
            if kind < 0.92
            else r.choice(SYNTAX)
        )
        made += r.choice(("", " ", "", r.choice(SPACE)))
    made = made.strip() or "?"
    if r.random() < 0.15:
        made = r.choice(("", r.choice(SPACE))) + made + r.choice(("", r.choice(SPACE)))
    return made


def mostly(r: random.Random, blank: float, most: int = 300) -> str:
    return r.choice(("", "", " ", "\n", "\u3000")) if r.random() < blank else text(r, most)


def turns(r: random.Random, *, blank: float = 0.0, system: float = 0.3) -> list[dict[str, Any]]:
    made = [{"role": "system", "content": mostly(r, blank, 80)}] if r.random() < system else []
    for _ in range(r.choice((1, 1, 1, 1, 2, 2, 3, 6))):
        made += [{"role": role, "content": mostly(r, blank)} for role in ("user", "assistant")]
    return made


def chat(r: random.Random) -> Rows:
    return [{"messages": turns(r)} for _ in range(700)]


def blanks(r: random.Random) -> Rows:
    """Empty and blank contents, of every role."""
    return [{"messages": turns(r, blank=0.25, system=0.5)} for _ in range(600)]


def systems(r: random.Random) -> Rows:
    """Several systems, side by side and between the turns."""
    found = []
    for _ in range(560):
        made = turns(r, system=0.6)
        for _ in range(r.choice((0, 1, 1, 2))):
            made.insert(r.choice((0, 1, len(made) // 2, len(made) - 1)), {"role": "system", "content": text(r, 60)})
        found.append({"messages": made})
    return found


def _call(r: random.Random) -> dict[str, Any]:
    arguments = {"city": text(r, 20), "days": r.randint(-3, 10**9)}
    return {"type": "function", "function": {"name": r.choice(("weather", "trains")), "arguments": arguments}}


def calls(r: random.Random) -> Rows:
    """Tools, calls one or several at once, results, calls after calls."""
    found = []
    for _ in range(560):
        made = [{**one, "tool_calls": None} for one in turns(r)[:-1]]
        for _ in range(r.choice((1, 1, 1, 2))):
            several = [_call(r) for _ in range(r.choice((1, 1, 1, 2, 3)))]
            said = r.choice(("", "", text(r, 40)))
            made.append({"role": "assistant", "content": said, "tool_calls": several})
            made += [
                {"role": "tool", "content": r.choice((json.dumps({"ok": r.random()}), text(r, 60))), "tool_calls": None}
                for _ in several
            ]
        made.append({"role": "assistant", "content": text(r), "tool_calls": None})
        found.append({"messages": made, "tools": second.TOOLS[: r.choice((1, 2, 2, 2))]})
    return found


def reasoning(r: random.Random) -> Rows:
    """Thoughts in a key of their own, in the text, and none."""
    found = []
    for _ in range(600):
        made: list[dict[str, Any]] = [{**one, "reasoning_content": None} for one in turns(r)]
        for one in made:
            kind = r.random()
            if one["role"] != "assistant" or kind < 0.3:
                continue
            if kind < 0.7:
                one["reasoning_content"] = text(r, 120)
            else:
                one["content"] = f"<think>\n{text(r, 120)}\n</think>\n\n{one['content']}"
        found.append({"messages": made})
    return found


def pairs(r: random.Random) -> Rows:
    """A prompt of messages and a completion of one."""
    return [{"prompt": made[:-1], "completion": made[-1:]} for made in (turns(r) for _ in range(600))]


def strings(r: random.Random) -> Rows:
    """Prompt and completion whose border lies anywhere: in a word, in white space, in a special token, in a letter."""
    found = []
    for _ in range(700):
        whole = text(r) + r.choice(("", " ", "\n", r.choice(SPELT))) + text(r)
        at = r.randint(1, len(whole) - 1)
        found.append({"prompt": whole[:at], "completion": whole[at:]})
    return found


def alpaca(r: random.Random) -> Rows:
    return [
        {"instruction": text(r, 120), "input": r.choice(("", "", text(r, 60))), "output": mostly(r, 0.03)}
        for _ in range(700)
    ]


def texts(r: random.Random) -> Rows:
    return [{"text": "".join(text(r) for _ in range(r.choice((1, 1, 2, 8))))} for _ in range(700)]


def sharegpt(r: random.Random) -> Rows:
    """Human and gpt, a system in front of some."""
    names = {"user": "human", "assistant": "gpt", "system": "system"}
    return [
        {"conversations": [{"from": names[m["role"]], "value": m["content"]} for m in turns(r)]} for _ in range(600)
    ]


def functions(r: random.Random) -> Rows:
    """ShareGPT's function_call and observation, with tools as JSON text."""
    found = []
    for _ in range(560):
        made = [{"from": "human", "value": text(r, 80)}]
        for _ in range(r.choice((1, 1, 2))):
            asked = [_call(r)["function"] for _ in range(r.choice((1, 1, 2)))]
            asked_text = json.dumps(asked[0] if len(asked) == 1 else asked, ensure_ascii=r.random() < 0.5)
            made += [
                {"from": "function_call", "value": asked_text},
                {"from": "observation", "value": r.choice((json.dumps({"ok": r.random()}), text(r, 60)))},
                {"from": "gpt", "value": text(r)},
                {"from": "human", "value": text(r, 80)},
            ]
        made[-1:] = [] if r.random() < 0.5 else [made[-1], {"from": "gpt", "value": text(r)}]
        tools = [tool["function"] for tool in second.TOOLS[: r.choice((1, 2))]]
        found.append({"conversations": made, "tools": json.dumps(tools, ensure_ascii=False)})
    return found


DATASETS: Mapping[str, Callable[[random.Random], Rows]] = {
    "chat": chat,
    "blanks": blanks,
    "systems": systems,
    "calls": calls,
    "reasoning": reasoning,
    "pairs": pairs,
    "strings": strings,
    "alpaca": alpaca,
    "texts": texts,
    "sharegpt": sharegpt,
    "functions": functions,
}


def rows(name: str) -> Rows:
    """The rows of a dataset, the same each time."""
    return DATASETS[name](random.Random(f"sftui three {name}"))
