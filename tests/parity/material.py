"""The rows of the parity cases: real datasets of ../shared/testdata, and what is derived from them.

Every set of rows has a name and is written once as JSON lines, so that a trainer, sftui and a
reader of a mismatch all see the same bytes. Derivations are deterministic.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import late_rows
from places import made_once
from trainers import having, module_of

Rows = list[dict[str, Any]]

FILES = {
    "turkish": "turkish_daily_test.jsonl",
    "alpaca": "alpaca_en_demo.json",
    "alpaca_zh": "alpaca_zh_demo.json",
    "fastchat": "fastchat_dummy_conversation.json",
    "glaive": "glaive_toolcall_en_demo.json",
    "gsm8k": "gsm8k_test.jsonl",
    "identity": "identity_placeholders.json",
    "wikisql": "mlx_wikisql_text.jsonl",
    "wwdc": "mlx_wwdc25_prompt_completion.jsonl",
    "reason": "reason_tool_use_demo_50.jsonl",
    "toolset": "toolset_tool_text_pairs.jsonl",
    "weights": "v1_sft_demo.jsonl",
    "c4": "c4_demo.jsonl",
    "openai_toy": "openai_toy_chat_fine_tuning.jsonl",
    "missing_turns": "axolotl_conversation_missingturns.json",
}

SAMPLES = Path(__file__).resolve().parents[2] / "sample_data"
OWN_FILES = {
    "sample_chat": "chat_messages.jsonl",
    "sample_sharegpt": "sharegpt.json",
    "sample_alpaca": "alpaca.json",
    "sample_strings": "prompt_completion.jsonl",
    "sample_completion": "prompt_completion_chat.jsonl",
    "sample_text": "text.jsonl",
    "sample_questions": "gsm8k_like.jsonl",
}


def write(name: str, folder: Path, datasets: Path, source: str, limit: int | None) -> Path:
    """The rows called `source` as folder/name.jsonl, made if absent."""

    def put(path: Path) -> None:
        lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows(source, datasets)[:limit]]
        path.write_text("".join(lines), encoding="utf-8")

    return made_once(folder / f"{name}.jsonl", put)


def rows(name: str, datasets: Path) -> Rows:
    """A set of rows by name: `file`, or `file.step.step…`, each step a function of this module."""
    source, *steps = name.split(".")
    if source in HAND_WRITTEN:
        found = HAND_WRITTEN[source]()
    elif source in OWN_FILES:
        found = _read(SAMPLES / OWN_FILES[source])
        if source == "sample_chat":  # of which one row has variables for the template, and the others have none
            found[41]["chat_template_kwargs"] = {"enable_thinking": False}
    else:
        found = _read(datasets / FILES[source])
    for step in steps:
        found = STEPS[step](found)
    return found


def _read(path: Path) -> Rows:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in text.split("\n") if line.strip()]
    value = json.loads(text)
    return value if isinstance(value, list) else [value]


def _messages(found: Rows) -> Rows:
    """Only the messages, under that name, roles and contents as they are."""
    return [{"messages": row.get("messages") or row["conversations"]} for row in found]


def _one_line(found: Rows) -> Rows:
    """The rows without a character that str.splitlines takes for the end of a line."""
    return [row for row in found if len(json.dumps(row, ensure_ascii=False).splitlines()) == 1]


def _parts(found: Rows) -> Rows:
    """The assistant's text as parts, some trained and some not (by `train`, or by `weight` in every other row)."""
    out = []
    for number, row in enumerate(found):
        messages = []
        for message in row["messages"]:
            words = message["content"].split(" ")
            half = len(words) // 2
            first, second = " ".join(words[:half]), " ".join(words[half:])
            if message["role"] != "assistant" or not first or not second:
                messages.append(
                    {
                        "role": message["role"],
                        "content": [{"type": "text", "text": message["content"], "train": None, "weight": None}],
                    }
                )
                continue
            on = {"train": None, "weight": 1} if number % 2 else {"train": True, "weight": None}
            off = {"train": None, "weight": 0} if number % 2 else {"train": False, "weight": None}
            messages.append(
                {
                    "role": message["role"],
                    "content": [
                        {"type": "text", "text": first, **off},
                        {"type": "text", "text": " " + second, **on},
                    ],
                }
            )
        out.append({"messages": messages})
    return out


def _system_column(found: Rows) -> Rows:
    """A column `system` beside the messages, in every third row also a system message."""
    out = []
    for i, row in enumerate(found):
        opened = [{"role": "system", "content": "Of the messages."}] if i % 3 == 0 else []
        out.append({"system": f"Row {i} 🙂.", "messages": [*opened, *row["messages"]]})
    return out


def _thought_parts(found: Rows) -> Rows:
    """Reasoning in parts of which only the second is trained, beside content with a character range."""
    out = []
    for row in _plain_reasoned(found):
        messages = []
        for message in row["messages"]:
            thought, size = message.pop("reasoning_content", None), len(message["content"])
            detail = None
            if thought:
                half = len(thought) // 2
                thought = [
                    {"type": "text", "text": thought[:half], "train": False},
                    {"type": "text", "text": thought[half:], "train": True},
                ]
                detail = (
                    [{"begin_offset": size // 3, "end_offset": max(size - 1, 0), "train": True}] if size > 12 else None
                )
            messages.append(
                {"role": message["role"], "content": message["content"], "reasoning_content": thought, "detail": detail}
            )
        out.append({"messages": messages})
    return out


def _renamed(found: Rows) -> Rows:
    """Messages under other keys: speaker, body, thought."""
    out = []
    for row in found:
        turns = [
            {"speaker": m["role"], "body": m["content"], "thought": m.get("reasoning_content")} for m in row["messages"]
        ]
        out.append({"turns": turns})
    return out


def _instruct_columns(found: Rows) -> Rows:
    """Alpaca rows under the columns of every instruction type of Axolotl."""
    out = []
    for i, row in enumerate(found):
        ask, given, answer = row["instruction"], row["input"], row["output"]
        out.append(
            {
                "instruction": ask,
                "input": given,
                "output": answer,
                "response": answer,
                "INSTRUCTION": ask,
                "RESPONSE": answer,
                "question": ask,
                "category": given or "none",
                "answer": answer,
                "article": f"{ask} {given}",
                "summary": answer,
                "unanswerable_question": ask,
                "message_1": ask,
                "message_2": answer,
                "prompt": ask,
                "generation": answer,
                "system": "Be brief." if i % 2 else "",
                "system_prompt": "" if i % 3 else "Say it in one line.",
                "choices": [given, answer[:20]],
                "solution": answer,
            }
        )
    return out


def _openai(found: Rows) -> Rows:
    """from/value messages as role/content, with human and gpt mapped."""
    roles = {"human": "user", "gpt": "assistant", "function_call": "assistant", "observation": "tool"}
    out = []
    for row in found:
        messages = [{"role": roles.get(m["from"], m["from"]), "content": m["value"]} for m in row["conversations"]]
        tools = {"tools": row["tools"]} if "tools" in row else {}
        out.append({"messages": messages, **tools})
    return out


def _sharegpt(found: Rows) -> Rows:
    """role/content messages as from/value."""
    names = {"user": "human", "assistant": "gpt", "system": "system"}
    return [
        {"conversations": [{"from": names[m["role"]], "value": m["content"]} for m in row["messages"]]} for row in found
    ]


def _split_last(found: Rows) -> Rows:
    """messages cut into a prompt and a completion of one message, both conversational."""
    return [
        {
            "prompt": row["messages"][:-1],
            "completion": row["messages"][-1:],
            **{k: v for k, v in row.items() if k in ("tools", "chat_template_kwargs")},
        }
        for row in found
        if len(row["messages"]) > 1
    ]


def _split_first(found: Rows) -> Rows:
    """messages cut after the first user turn: the completion has several turns."""
    return [
        {"prompt": row["messages"][:1], "completion": row["messages"][1:]} for row in found if len(row["messages"]) > 1
    ]


def _strings(found: Rows) -> Rows:
    """question/answer, instruction/output as a prompt and a completion."""
    out = []
    for row in found:
        prompt = row.get("question") or "\n".join(filter(None, (row.get("instruction"), row.get("input"))))
        out.append({"prompt": prompt, "completion": row.get("answer") or row["output"]})
    return out


def _spaced(found: Rows) -> Rows:
    """Prompts that end with the space which belongs to the completion's first token."""
    return [{**row, "prompt": row["prompt"] + " "} for row in found]


def _inside_word(found: Rows) -> Rows:
    """Prompt and completion cut inside a word, so that tokens merge across the boundary."""
    out = []
    for row in found:
        text = row["prompt"] + " " + row["completion"]
        cut = min(len(text) - 1, len(row["prompt"]) + 3)
        out.append({"prompt": text[:cut], "completion": text[cut:]})
    return out


def _chat(found: Rows) -> Rows:
    """A prompt and a completion as a conversation of two messages."""
    return [
        {"messages": [{"role": "user", "content": row["prompt"]}, {"role": "assistant", "content": row["completion"]}]}
        for row in found
    ]


def _body(found: Rows) -> Rows:
    return [{"body": row["text"]} for row in found]


def _system(found: Rows) -> Rows:
    """A system message before every conversation, a different one in every third row."""
    texts = ("You are a helpful assistant.", "Kısa ve nazik cevap ver. 🙂", "Answer in one sentence.")
    return [
        {**row, "messages": [{"role": "system", "content": texts[i % 3]}, *row["messages"]]}
        for i, row in enumerate(found)
    ]


def _flagged(found: Rows) -> Rows:
    """Every message says whether it is trained: the assistant's odd turns are, its even ones are not, some say
    nothing."""
    out = []
    for number, row in enumerate(found):
        messages = []
        for index, message in enumerate(row["messages"]):
            flag = (number + index // 2) % 3
            train = {0: True, 1: False, 2: None}[flag]
            messages.append({**message, "training": train})
        out.append({"messages": messages})
    return out


def _detailed(found: Rows) -> Rows:
    """Character ranges of the assistant's text that are trained or not (both ends inclusive)."""
    out = []
    for row in found:
        messages = []
        for message in row["messages"]:
            size = len(message["content"])
            detail = None
            if message["role"] == "assistant" and size > 8:
                half = size // 2
                detail = [
                    {"begin_offset": 0, "end_offset": half - 1, "train": False},
                    {"begin_offset": half, "end_offset": size - 1, "train": True},
                ]
            messages.append({**message, "detail": detail})
        out.append({"messages": messages})
    return out


def _weighted_text(found: Rows) -> Rows:
    """Content parts joined to strings, other keys kept."""
    return [
        {"messages": [{**m, "content": "".join(p["value"] for p in m["content"])} for m in row["messages"]]}
        for row in found
    ]


def _reasoned(found: Rows) -> Rows:
    """Typed parts as OpenAI-like messages: content, reasoning_content and tool_calls; tools as JSON text."""
    out = []
    for row in found:
        messages = []
        for message in row["messages"]:
            new: dict[str, Any] = {
                "role": message["role"],
                "content": "",
                "reasoning_content": None,
                "tool_calls": None,
            }
            for part in message["content"]:
                if part["type"] == "text":
                    new["content"] += part["value"]
                elif part["type"] == "reasoning":
                    new["reasoning_content"] = part["value"]
                elif part["type"] == "tool_call":
                    call = json.loads(part["value"]) if isinstance(part["value"], str) else part["value"]
                    arguments = call.get("arguments", {})
                    arguments = arguments if isinstance(arguments, str) else json.dumps(arguments)
                    function = {"name": call["name"], "arguments": arguments}
                    new["tool_calls"] = [*(new["tool_calls"] or []), {"type": "function", "function": function}]
            messages.append(new)
        tools = row["tools"] if isinstance(row["tools"], str) else json.dumps(row["tools"])
        out.append({"messages": messages, "tools": tools})
    return out


def _plain_reasoned(found: Rows) -> Rows:
    """The same without tool calls and tools: only turns of text with their reasoning."""
    out = []
    for row in _reasoned(found):
        messages = [
            {k: v for k, v in m.items() if k != "tool_calls"}
            for m in row["messages"]
            if m["role"] in ("system", "user") or (m["role"] == "assistant" and not m["tool_calls"])
        ]
        out.append({"messages": messages})
    return out


def _think_text(found: Rows) -> Rows:
    """The answer with its reasoning inside the content, between <think> tags."""
    out = []
    for row in _plain_reasoned(found):
        messages = []
        for m in row["messages"]:
            reasoning = m.pop("reasoning_content", None)
            content = f"<think>\n{reasoning}\n</think>\n\n{m['content']}" if reasoning else m["content"]
            messages.append({"role": m["role"], "content": content})
        out.append({"messages": messages})
    return out


def _no_think(found: Rows) -> Rows:
    """Template kwargs a row, alternating."""
    return [{**row, "chat_template_kwargs": {"enable_thinking": i % 2 == 0}} for i, row in enumerate(found)]


def _segments(found: Rows) -> Rows:
    """Messages as input_output segments: a header and text, labelled where the assistant speaks."""
    out = []
    for row in found:
        segments = []
        for m in row["messages"]:
            segments.append({"label": False, "text": f"<|im_start|>{m['role']}\n"})
            segments.append({"label": m["role"] == "assistant", "text": m["content"] + "<|im_end|>\n"})
        out.append({"segments": segments})
    return out


def _ids(found: Rows) -> Rows:
    """Ready ids, made up but spread over the vocabulary, 5 to 44 of them."""
    return [{"input_ids": [(i * 37 + j * 11) % 400 + 20 for j in range(5 + i % 40)]} for i, _ in enumerate(found)]


def _ids_completion(found: Rows) -> Rows:
    return [
        {**r, "completion_mask": [int(j >= len(r["input_ids"]) // 2) for j in range(len(r["input_ids"]))]}
        for r in _ids(found)
    ]


def _ids_assistant(found: Rows) -> Rows:
    return [{**r, "assistant_masks": [int(j % 3 == 0) for j in range(len(r["input_ids"]))]} for r in _ids(found)]


def _ids_labels(found: Rows) -> Rows:
    return [{**r, "labels": [x if j % 4 else -100 for j, x in enumerate(r["input_ids"])]} for r in _ids(found)]


def _ids_attention(found: Rows) -> Rows:
    return [{**r, "attention_mask": [1] * len(r["input_ids"])} for r in _ids_labels(found)]


def _ids_empty(found: Rows) -> Rows:
    """The same, every fourth row without any."""
    none: dict[str, Any] = {"input_ids": [], "labels": [], "attention_mask": []}
    return [none if i % 4 == 1 else r for i, r in enumerate(_ids_attention(found))]


def _history(found: Rows) -> Rows:
    """Messages as alpaca columns with a history, the last pair as instruction and output."""
    out = []
    for row in found:
        texts = [m["content"] for m in row["messages"]]
        pairs = [[a, b] for a, b in zip(texts[:-2:2], texts[1:-2:2])]
        out.append({"instruction": texts[-2], "input": "", "output": texts[-1], "system": "", "history": pairs})
    return out


def _broken_turns(found: Rows) -> Rows:
    """Conversations of which some end with a user, begin with an assistant, or repeat a role."""
    out = []
    for i, row in enumerate(found):
        m = row["messages"]
        m = {0: m, 1: m[:-1], 2: m[1:], 3: [m[0], *m]}[i % 4]
        out.append({"messages": m})
    return [row for row in out if row["messages"]]


def _input_output(found: Rows) -> Rows:
    return [{"input": row["prompt"], "output": row["completion"]} for row in found]


def _instruct_text(found: Rows) -> Rows:
    """Alpaca columns as one text with the markers of the notebooks."""
    out = []
    for row in found:
        given = f"\n\n### Input:\n{row['input']}" if row["input"] else ""
        out.append({"text": f"### Instruction:\n{row['instruction']}{given}\n\n### Response:\n{row['output']}"})
    return out


def _with_bos(found: Rows) -> Rows:
    """Text that already begins with the BOS, and every second one ends with EOS and a newline."""
    ends = ("", "<|eot_id|>", "<|eot_id|>\n")
    return [{"text": "<|begin_of_text|>" + row["text"] + ends[i % 3]} for i, row in enumerate(found)]


def _tricky() -> Rows:
    """Our own rows for what real data seldom has: empty turns, white space, brackets, emoji, markers in the text."""
    answers = (
        "The answer is 4.",
        "",
        " leading",
        "trailing ",
        "\n\nboth\n",
        "[[1, 2], [3, 4]]",
        "[[dummy_message]]",
        "fine 😀",
        "👩‍👩‍👧‍👦",
        "e\u0301te\u0301",
        "İstanbul'da çay içtik.",
        "你好，世界",
        "a  b\t\tc\r\nd",
        "<think>\nhm\n</think>\n\nyes",
        "say <|im_end|> now",
        "<|im_start|>assistant\nno",
        '{"a": [1, 2]}',
        "{{ name }} {% raw %}",
        "zzdummymessagezz",
        "user\nassistant\n",
        "\u200bzero\u200b",
        "a\u2028b",
        "  ",
        "\n",
        "ok</s>",
        "<s>ok",
        "1",
        "…",
        "𝔘𝔫𝔦𝔠𝔬𝔡𝔢",
        "x" * 400,
    )
    questions = ("What is 2+2?", "Hello", "Say something. ", "matrix\n", "😀?", "say <|im_start|>assistant\n ok", "")
    out = []
    for i, answer in enumerate(answers):
        first = [{"role": "user", "content": questions[i % len(questions)]}, {"role": "assistant", "content": answer}]
        second = [{"role": "user", "content": "Add 3"}, {"role": "assistant", "content": answers[-1 - i][:60]}]
        out.append({"messages": first})
        out.append({"messages": first + second})
        out.append({"messages": [{"role": "system", "content": "You are helpful."}, *first, *second]})
    return out


def _messages_of(found: Rows) -> Rows:
    """A conversational prompt and completion as one conversation; without system messages."""
    out = []
    for row in found:
        out.append({"messages": [m for m in (*row["prompt"], *row["completion"]) if m["role"] != "system"]})
    return out


def _plain(found: Rows) -> Rows:
    """Only conversations of user, assistant and system, with role and content."""
    out = []
    for row in found:
        messages = row["messages"]
        if all(m["role"] in ("system", "user", "assistant") and not m.get("tool_calls") for m in messages):
            out.append({"messages": [{"role": m["role"], "content": m["content"]} for m in messages]})
    return out


def _calls(found: Rows) -> Rows:
    """ShareGPT rows whose function calls are JSON."""

    def readable(value: str) -> bool:
        try:
            return isinstance(json.loads(value), (dict, list))
        except ValueError:
            return False

    return [
        row for row in found if all(t["from"] != "function_call" or readable(t["value"]) for t in row["conversations"])
    ]


def _no_kwargs(found: Rows) -> Rows:
    """Without template variables: a column that some rows lack is None there, which TRL cannot spread."""
    return [{k: v for k, v in row.items() if k != "chat_template_kwargs"} for row in found]


def _bare(found: Rows) -> Rows:
    """ShareGPT rows of human, gpt and system, without other columns."""
    kept = [row["conversations"] for row in found]
    return [{"conversations": turns} for turns in kept if all(t["from"] in ("human", "gpt", "system") for t in turns)]


def _one_of_three(found: Rows) -> Rows:
    """Every answer of the tricky rows once, in turn alone, with a second turn, with a system message."""
    return [found[i + (i // 3) % 3] for i in range(0, len(found) - 2, 3)]


def _special_texts() -> Rows:
    """Conversations with the texts of special tokens inside, of several families, whole, doubled and broken."""
    names = (
        "<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>", "<|im_start|>", "<|im_end|>",
        "<|endoftext|>", "<|fim_prefix|>", "<|object_ref_start|>", "<|eot_id|>", "<|begin_of_text|>", "<|image|>",
        "<|reserved_special_token_0|>", "<|reserved_special_token_5|>", "<|finetune_right_pad_id|>", "<s>", "</s>",
    )  # fmt: skip
    around = ("", " ", "\n", "word", "\u00e9", "e\u0301", "<", "|>", "\u3000", "12")
    chance = random.Random(10)
    found: Rows = []
    for number in range(300):
        turns = []
        for turn in range(2 * chance.randint(1, 3)):
            pieces = [
                chance.choice((*names, *around, "Why is that?", "It is so.")) for _ in range(chance.randint(1, 9))
            ]
            turns.append({"role": ("user", "assistant")[turn % 2], "content": "".join(pieces) + f" {number}"})
        found.append({"messages": turns})
    return found


def _history_of_objects() -> Rows:
    """Alpaca rows whose history is objects of two keys, which LLaMA-Factory unpacks."""
    return [
        {"instruction": f"Question {number}?", "input": "", "output": f"Answer {number}.", "system": "Be brief.",
         "history": [{"question": f"Earlier {at}?", "answer": "Yes."} for at in range(number % 3)]}
        for number in range(1, 13)
    ]  # fmt: skip


def _history_of_texts() -> Rows:
    """The same of texts of two characters."""
    return [
        {**row, "history": ["ab", "\u00e9\U0001f98a", "c "][: 1 + at % 3]}
        for at, row in enumerate(_history_of_objects())
    ]


def _joined(found: Rows) -> Rows:
    return [{"text": "\n".join(turn["content"] for turn in row["messages"])} for row in found]


BY_TRAINER = tuple(module_of(trainer, "rows") for trainer in having("rows"))
"""Rows of one trainer's shapes, and such as stop it: `SETS` by name, and `STEPS` that make them of others."""
HAND_WRITTEN: dict[str, Callable[[], Rows]] = {
    "tricky": _tricky,
    "special_texts": _special_texts,
    "history_of_objects": _history_of_objects,
    "history_of_texts": _history_of_texts,
    **late_rows.SETS,
    **{name: made for rows in BY_TRAINER for name, made in rows.SETS.items()},
}
STEPS: dict[str, Callable[[Rows], Rows]] = {
    "one_line": _one_line,
    "parts": _parts,
    "system_column": _system_column,
    "thought_parts": _thought_parts,
    "renamed": _renamed,
    "instruct_columns": _instruct_columns,
    "messages": _messages,
    "openai": _openai,
    "sharegpt": _sharegpt,
    "split_last": _split_last,
    "split_first": _split_first,
    "strings": _strings,
    "spaced": _spaced,
    "inside_word": _inside_word,
    "chat": _chat,
    "body": _body,
    "system": _system,
    "flagged": _flagged,
    "detailed": _detailed,
    "text": _weighted_text,
    "reasoned": _reasoned,
    "plain_reasoned": _plain_reasoned,
    "think_text": _think_text,
    "no_think": _no_think,
    "segments": _segments,
    "ids": _ids,
    "ids_empty": _ids_empty,
    "ids_completion": _ids_completion,
    "ids_assistant": _ids_assistant,
    "ids_labels": _ids_labels,
    "ids_attention": _ids_attention,
    "history": _history,
    "broken": _broken_turns,
    "input_output": _input_output,
    "instruct_text": _instruct_text,
    "with_bos": _with_bos,
    "one_of_three": _one_of_three,
    "messages_of": _messages_of,
    "plain": _plain,
    "bare": _bare,
    "no_kwargs": _no_kwargs,
    "calls": _calls,
    "joined": _joined,
    **{name: step for rows in BY_TRAINER for name, step in getattr(rows, "STEPS", {}).items()},
}
