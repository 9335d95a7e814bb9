"""A second round of tokenizers and datasets of our own making, with other seeds and other shapes than new_material.

Tokenizers differ in what stands at both ends: who adds BOS and EOS, whether they are one token, whether there is a pad
token, which side is padded, and added tokens that take the spaces beside them. Rows have tools, parallel calls,
reasoning, parts, roles that few templates know, very long and empty answers, and characters that normalizers change.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import new_material as first

Rows = list[dict[str, Any]]

HEAD = (
    "{{ bos_token or '' }}{% if tools %}<|tools|>{% for t in tools %}{{ t | tojson }}{% endfor %}<|end|>{% endif %}"
    "{% for m in messages %}"
)
BODY = (
    "{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}"
    "{% if m.content is string %}{{ m.content }}{% elif m.content %}"
    "{% for p in m.content %}{{ p.text or p.value or '' }}{% endfor %}{% endif %}"
    "{% for c in m.tool_calls or [] %}<call>{{ c.function.name }}:{{ c.function.arguments | tojson }}</call>"
    "{% endfor %}<|end|>"
)
TAIL = "{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
RICH = HEAD + "<|{{ m.role }}|>" + BODY + TAIL
RICH_GENERATION = (
    f"{HEAD}<|{{{{ m.role }}}}|>{{% if m.role == 'assistant' %}}{{% generation %}}{BODY}{{% endgeneration %}}"
    f"{{% else %}}{BODY}{{% endif %}}{TAIL}"
)
PLAIN_ENDS = (
    "{% for m in messages %}{{ m.role }}: {{ m.content }}{{ eos_token if m.role == 'assistant' else '' }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)
ODD = (
    "\u202eabc\u202c", "\u2066x\u2069", "a\u0300\u0301\u0302", "\ufeffx", "x\u2028y\u2029z", "\U000e0041\U000e0042",
    "👨‍👩‍👧‍👦", "🏴\U000e0067\U000e0062\U000e007f", "\u1100\u1161\u11a8", "각", "ﷺ", "Ǆ", "ß", "İı", "\u00ad-\u00ad",
    "𝒳𝓎", "①⑳", "\u3000\u2003\u200a", "\u0085", "\x0b\x0c", "\x7f\x1b[0m", "ﬀ", "ẛ̣", "\u0f73", "ก็็็", "ǅ", "⑴",
)  # fmt: skip


def text(r: random.Random, words: int) -> str:
    """Words as in the first round, with odd characters here and there."""
    made = first.text(r, words)
    for _ in range(r.randint(0, 2)):
        at = r.randint(0, len(made))
        made = made[:at] + r.choice(ODD) + made[at:]
    return made


def answer(r: random.Random, middle: float = 14, most: int = 200) -> str:
    return r.choice(("", " ", "\n")) if r.random() < 0.04 else text(r, first.wild(r, middle, most))


def turns(r: random.Random, pairs: int) -> list[dict[str, Any]]:
    return [{"role": role, "content": answer(r)} for _ in range(pairs) for role in ("user", "assistant")]


def long(r: random.Random) -> Rows:
    """Rows far beyond every limit, in one answer or in many turns."""
    found: Rows = [{"messages": turns(r, r.randint(20, 60))} for _ in range(12)]
    for _ in range(12):
        found.append(
            {"messages": [{"role": "user", "content": answer(r)}, {"role": "assistant", "content": text(r, 2500)}]}
        )
    return found + [{"messages": turns(r, 1)} for _ in range(30)]


def empty(r: random.Random) -> Rows:
    return [
        {"messages": [{"role": "user", "content": r.choice(("", " ", "?"))},
                      {"role": "assistant", "content": r.choice(("", " ", "\n\n", "x", answer(r)))}]}
        for _ in range(120)
    ]  # fmt: skip


def oddities(r: random.Random) -> Rows:
    return [
        {"messages": [{"role": "user", "content": "".join(r.choices(ODD, k=r.randint(1, 6)))},
                      {"role": "assistant", "content": " ".join(r.choices(ODD, k=r.randint(1, 9)))}]}
        for _ in range(160)
    ]  # fmt: skip


def roles(r: random.Random) -> Rows:
    """Roles that few templates know; the RICH one writes any."""
    found = []
    for _ in range(120):
        opened = [{"role": r.choice(("developer", "system")), "content": answer(r, 5)}] if r.random() < 0.4 else []
        middle: list[dict[str, Any]] = []
        for _ in range(r.randint(0, 2)):
            middle += [{"role": r.choice(("function", "ipython", "tool", "observation")), "content": answer(r, 6)},
                       {"role": "assistant", "content": answer(r)}]  # fmt: skip
        found.append({"messages": [*opened, *turns(r, 1), *middle]})
    return found


ASKED = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"],
}
TOOLS = [
    {"type": "function", "function": {"name": name, "description": told, "parameters": ASKED}}
    for name, told in (("weather", "Das Wetter in 东京"), ("trains", "Züge <&> 'heute'"))
]


def calls(r: random.Random) -> Rows:
    """One call or several at once, their results, and tools in every row."""
    found = []
    for _ in range(100):
        several = [
            {"type": "function", "function": {"name": r.choice(("weather", "trains")),
             "arguments": {"city": r.choice(("Köln", "東京", "São Paulo")), "days": r.randint(1, 9)}}}
            for _ in range(r.choice((1, 1, 2, 3)))
        ]  # fmt: skip
        made: list[dict[str, Any]] = [
            {"role": "user", "content": answer(r, 8), "tool_calls": None},
            {"role": "assistant", "content": "", "tool_calls": several},
            *({"role": "tool", "content": json.dumps({"ok": r.random() < 0.5}), "tool_calls": None} for _ in several),
            {"role": "assistant", "content": answer(r), "tool_calls": None},
        ]
        found.append({"messages": made, "tools": TOOLS[: r.randint(1, 2)]})
    return found


def reasoning(r: random.Random) -> Rows:
    found = []
    for i in range(120):
        made = []
        for _ in range(r.randint(1, 3)):
            thought = answer(r, 20) if r.random() < 0.7 else None
            made += [{"role": "user", "content": answer(r), "reasoning_content": None},
                     {"role": "assistant", "content": answer(r), "reasoning_content": thought}]  # fmt: skip
        if i % 4 == 0:
            made[-1]["content"] = f"<think>\n{answer(r)}\n</think>\n\n{made[-1]['content']}"
            made[-1]["reasoning_content"] = None
        found.append({"messages": made})
    return found


def parts(r: random.Random) -> Rows:
    """Content of one to four parts, sometimes of none."""

    def split() -> list[dict[str, str]]:
        return [{"type": "text", "text": text(r, r.randint(0, 6))} for _ in range(r.choice((0, 1, 1, 2, 4)))]

    return [
        {
            "messages": [
                {"role": role, "content": split()} for _ in range(r.randint(1, 2)) for role in ("user", "assistant")
            ]
        }
        for _ in range(120)
    ]


def alpaca(r: random.Random) -> Rows:
    return [
        {"instruction": text(r, r.randint(1, 12)), "input": r.choice(("", text(r, 4))), "output": answer(r, 20, 900)}
        for _ in range(150)
    ]


def strings(r: random.Random) -> Rows:
    ends = ("", " ", "\n", "\u3000", "▁", "\u200d")
    return [
        {"prompt": text(r, r.randint(1, 30)) + r.choice(ends), "completion": r.choice(ends) + answer(r, 12, 600)}
        for _ in range(200)
    ]


def texts(r: random.Random) -> Rows:
    return [{"text": text(r, first.wild(r, 40, 2500))} for _ in range(150)]


def sharegpt(r: random.Random) -> Rows:
    names = {"user": "human", "assistant": "gpt"}
    return [
        {"conversations": [{"from": names[m["role"]], "value": m["content"]} for m in turns(r, r.randint(1, 4))]}
        for _ in range(120)
    ]


DATASETS: dict[str, Callable[[random.Random], Rows]] = {
    "long": long,
    "empty": empty,
    "oddities": oddities,
    "roles": roles,
    "calls": calls,
    "reasoning": reasoning,
    "parts": parts,
    "alpaca": alpaca,
    "strings": strings,
    "texts": texts,
    "sharegpt": sharegpt,
}


def rows(name: str) -> Rows:
    """The rows of a dataset, the same each time."""
    return DATASETS[name](random.Random(f"sftui two {name}"))


IM = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
ROLES = ("<|user|>", "<|assistant|>", "<|system|>", "<|tool|>", "<|end|>", "<|tools|>", "<think>", "</think>")


def _made(name: str) -> tuple[Any, dict[str, Any]]:
    """The backend of a tokenizer, and its tokenizer_config.json."""
    from tokenizers import AddedToken, normalizers

    if name == "one_end":  # BOS, EOS and pad are one token, as GPT-2 has it
        backend = first._special(first._bytes(900), "<|endoftext|>", *ROLES)
        one = "<|endoftext|>"
        return backend, {"bos_token": one, "eos_token": one, "pad_token": one, "chat_template": PLAIN_ENDS}
    if name == "both_ends":  # the post-processor adds BOS and EOS
        backend = first._special(first._bytes(1100, split=first.QWEN), "<s>", "</s>", "<pad>", *ROLES)
        first._around(backend, "<s>", "</s>")
        return backend, {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "chat_template": RICH}
    if name == "only_end":  # no BOS; EOS is the end of a turn and also pad
        backend = first._special(first._bytes(800, digits=True), "<|end|>", *(x for x in ROLES if x != "<|end|>"))
        return backend, {"eos_token": "<|end|>", "pad_token": "<|end|>", "chat_template": RICH_GENERATION}
    if name == "left":  # padded and cut on the left, unk as pad
        backend = first._special(first._bytes(700, prefix=True), "<unk>", "<s>", "</s>", *ROLES)
        config = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<unk>", "unk_token": "<unk>"}
        return backend, {**config, "padding_side": "left", "truncation_side": "left", "chat_template": RICH}
    if name == "greedy":  # added tokens that take the spaces beside them, and one inside words
        backend = first._bytes(1000, normalizer=normalizers.NFKC())
        backend.add_special_tokens(
            [AddedToken(one, special=True, lstrip=True, rstrip=i % 2 == 0) for i, one in enumerate((*IM, *ROLES))]
        )
        backend.add_tokens([AddedToken("time", single_word=True), AddedToken("günü", normalized=True)])
        return backend, {"eos_token": "<|end|>", "pad_token": "<|endoftext|>", "chat_template": RICH}
    if name == "bytes_two":
        return first._special(first._bytes(1500, split=first.QWEN), *IM), {**first.IM_CONFIG}
    assert name == "bos_twice", name  # the template writes a BOS and so does the post-processor
    own = ("<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>")
    backend = first._special(first._bytes(1300, split=first.QWEN.replace(r"\p{N}|", r"\p{N}{1,3}|", 1)), *own)
    first._around(backend, own[0], None)
    config = {"bos_token": own[0], "eos_token": own[1], "pad_token": own[4], "chat_template": first.HEADERS}
    return backend, config


TOKENIZERS = ("one_end", "both_ends", "only_end", "left", "greedy", "bytes_two", "bos_twice")
RICH_ONES = ("both_ends", "only_end", "left", "greedy")
"""Those whose template writes tools, calls, reasoning, parts and any role."""
BYTE_LEVEL = ("bytes_two", "bos_twice")
"""Those that torchtune's own tokenizers can be given."""


def tokenizer(name: str, folder: Path) -> None:
    """Train a tokenizer and write its files."""
    backend, config = _made(name)
    folder.mkdir(parents=True, exist_ok=True)
    backend.save(str(folder / "tokenizer.json"))
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 8192, **config}
    (folder / "tokenizer_config.json").write_text(json.dumps(config, ensure_ascii=False, indent=1), encoding="utf-8")
    if name not in BYTE_LEVEL:
        return
    model = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))["model"]
    (folder / "vocab.json").write_text(json.dumps(model["vocab"], ensure_ascii=False), encoding="utf-8")
    pairs = "\n".join(" ".join(pair) for pair in model["merges"])
    (folder / "merges.txt").write_text(f"#version: 0.2\n{pairs}\n", encoding="utf-8")
