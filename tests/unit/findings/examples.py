"""Every code with an example that must raise it and one that must not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from case_runner import Case, tokenizer_of

from sftui.model import IGNORE_INDEX, Inspection
from sftui.sources import Damage


def chat(*turns: Any, **columns: Any) -> dict[str, Any]:
    """A row of messages: texts alternate user and assistant, pairs and mappings say their own role."""
    messages = []
    for number, turn in enumerate(turns):
        if isinstance(turn, str):
            messages.append({"role": ("user", "assistant")[number % 2], "content": turn})
        elif isinstance(turn, tuple):
            messages.append({"role": turn[0], "content": turn[1]})
        else:
            messages.append(dict(turn))
    return {"messages": messages, **columns}


GOOD = chat("What is the capital of France?", "Paris is the capital of France.")
FINE = Case([GOOD])
TEXT = {"text": "Paris is the capital of France."}


def tagged(end: str = "<|im_end|>", inside: bool = True, lead: str = "") -> str:
    """ChatML with generation tags around the answer, its turn end inside them or not."""
    tail = "{{ '" + end + "' }}"
    return (
        "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' }}{% if m.role == 'assistant' %}{% generation %}"
        + lead
        + "{{ m.content }}"
        + (tail + "{% endgeneration %}" if inside else "{% endgeneration %}" + tail)
        + "{% else %}{{ m.content }}"
        + tail
        + "{% endif %}{{ '\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
    )


HEADER_TAGGED = (
    "{% for m in messages %}{% if m.role == 'assistant' %}{% generation %}{{ '<|im_start|>' + m.role + '\n' + m.content"
    " + '<|im_end|>' }}{% endgeneration %}{% else %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>' }}{%"
    " endif %}{{ '\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
"""ChatML with the header of an answer inside its generation tags."""


def plain(answer: str = "{{ m.content }}<|im_end|>", prompt: str = "", before: str = "") -> str:
    """ChatML with something else for the answer, behind the generation prompt or before everything."""
    return (
        before
        + "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' }}{% if m.role == 'assistant' %}"
        + answer
        + "{% else %}{{ m.content }}<|im_end|>{% endif %}{{ '\n' }}{% endfor %}{% if add_generation_prompt %}{{"
        " '<|im_start|>assistant\n' }}" + prompt + "{% endif %}"
    )


def rows(*data: Any, **more: Any) -> Case:
    return Case(list(data), **more)


ALPACA = {"instruction": "Capital of France?", "input": "", "output": "Paris."}
SLOTS = {"render.template": "llamafactory/qwen"}


EXAMPLES: dict[str, tuple[Case, Case]] = {
    "ROW001": (rows(GOOD, "line 2 is not valid JSON"), FINE),
    "ROW002": (rows(GOOD, GOOD, {"messages": []}), FINE),
    "ROW003": (rows(GOOD, GOOD, chat(("user", {"a": 1}), "yes"), template="chatml"), FINE),
    "ROW004": (rows(GOOD, chat("a\ud83d", "b")), FINE),
    "ROW006": (
        rows(GOOD, damage=(Damage("t.jsonl.gz", 1, "its compressed data is damaged: it ends before its time"),)),
        FINE,
    ),
    "ROW008": (
        rows(GOOD, chat("How many?", {"role": "assistant", "content": 4}), preset="trl@1.16", looked_at=1),
        rows(GOOD, chat("How many?", {"role": "assistant", "content": "4"}), preset="trl@1.16", looked_at=1),
    ),
    "ROW007": (rows(GOOD, template="{{ 'a' * 10 ** 10 }}"), FINE),
    "ROL001": (rows(chat(("user", "hi"), ("bot", "Hello there."))), FINE),
    "ROL002": (rows(chat(("user", "hi"), ("asistant", "Hello there."))), FINE),
    "ROL003": (rows(GOOD, GOOD, {"messages": [{"content": "hi"}]}), FINE),
    "ROL004": (
        rows(chat("hi", "Hello.", ("system", "Be kind."), "Bye.", "Bye!")),
        rows(chat(("system", "Be kind."), ("user", "hi"), ("assistant", "Hello."))),
    ),
    "ROL005": (
        rows(GOOD, changes={"mask.rule": "assistant", "mask.roles": ("asistant", "user")}),
        rows(GOOD, changes={"mask.rule": "assistant", "mask.roles": ("assistant", "tool")}),
    ),
    "TPL010": (rows(chat(("user", "hi"), ("narrator", "It rains."), ("assistant", "Hello."))), FINE),
    "TPL002": (
        rows(chat(("system", "Be kind."), ("user", "hi"), ("assistant", "Hello.")), tokenizer="gemma"),
        rows(GOOD, tokenizer="gemma"),
    ),
    "TPL006": (
        rows(chat(("user", "hi"), ("user", "again"), ("assistant", "Hello.")), tokenizer="gemma"),
        rows(GOOD, tokenizer="gemma"),
    ),
    "CON001": (rows(chat("hi", ("assistant", None))), FINE),
    "CON002": (
        rows(GOOD, chat("hi", ("assistant", [{"type": "text", "text": "Hello."}])), tokenizer="llama3"),
        rows(GOOD, tokenizer="llama3"),
    ),
    "CON003": (rows(chat("hi", "")), FINE),
    "CON004": (rows(chat("hi", "  Hello.\n\n")), FINE),
    "CON005": (rows(chat("hi", ("assistant", 42)), tokenizer="llama3"), FINE),
    "CON006": (rows(*[{"prompt": "hi", **GOOD}] * 3), FINE),
    "CON007": (
        rows(GOOD, {"messages": '[{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Hello."}]'}),
        FINE,
    ),
    "CON008": (rows(chat("hi", "Hel\u202elo\x1b[31m")), rows(chat("hi", "Grüße, şu çay çok güzel – “ja”."))),
    "CON009": (
        rows(
            chat(
                "hi",
                {
                    "role": "assistant",
                    "content": "",
                    "tool_calls": [{"function": {"name": "f", "arguments": {"a": 1, "b": None, "c": None}}}],
                },
            )
        ),
        FINE,
    ),
    "CON011": (
        rows(chat({"role": "user", "content": "hi", "mood": "glad"}, {"role": "assistant", "content": "Hello."})),
        FINE,
    ),
    "CON012": (rows(chat("hi", "one\\ntwo\\nthree")), rows(chat("hi", "one\ntwo\nthree"))),
    "RUN001": (rows({"input_ids": [300, 301, 302], "labels": [-100] * 3}, changes={"mask.rule": "given"}), FINE),
    "CON014": (
        rows(
            {**ALPACA, "history": [{"question": "Who?", "answer": "Me."}]},
            preset="llamafactory@0.9",
            changes=SLOTS,
        ),
        rows({**ALPACA, "history": [["Who?", "Me."]]}, preset="llamafactory@0.9", changes=SLOTS),
    ),
    "BOS001": (
        rows(GOOD, tokenizer="gemma", changes={"tokenize.add_special_tokens": True}),
        rows(GOOD, tokenizer="gemma"),
    ),
    "BOS002": (rows(GOOD, tokenizer="gemma", preset="manual-shift"), rows(GOOD, tokenizer="gemma")),
    "EOS001": (rows(TEXT), rows(TEXT, changes={"tokenize.append_eos": "always"})),
    "EOS004": (rows(GOOD, changes={"mask.rule": "assistant", "mask.terminator": "mask"}), FINE),
    "EOS007": (rows(chat("hi", "Hello.<|im_end|>")), FINE),
    "EOS012": (rows(chat("hi", "Hello.</s>")), FINE),
    "LAB001": (rows({"input_ids": [300, 301, 302], "labels": [-100] * 3}, changes={"mask.rule": "given"}), FINE),
    "LAB002": (rows(GOOD, preset="trl@1.16"), FINE),
    "LAB006": (rows({"input_ids": [1, 2, 3], "labels": [1, 2]}), rows({"input_ids": [1, 2, 3], "labels": [1, 2, 3]})),
    "LAB009": (
        rows(chat("hi", "Hello.", "Bye.", "Bye!")),
        rows(chat("hi", "Hello.", "Bye.", "Bye!"), changes={"mask.rule": "assistant"}),
    ),
    "LAB010": (
        rows(chat("hi", {"role": "assistant", "content": "Hello.", "weight": 0})),
        rows(chat("hi", {"role": "assistant", "content": "Hello.", "weight": 1})),
    ),
    "LAB012": (rows(chat("hi", "Hello.", "Bye.")), FINE),
    "TOO006": (rows(chat("hi", ("tool", "{}"), ("assistant", "Hello."))), FINE),
    "DUP001": (rows(GOOD, GOOD), rows(GOOD, chat("hi", "Hello."))),
    "DUP002": (rows(GOOD, evaluation=[GOOD]), rows(GOOD, evaluation=[chat("hi", "Hello.")])),
    "DUP003": (rows(chat("hi", "Hello."), chat("hi", "Good day.")), rows(GOOD, chat("hi", "Hello."))),
}

THINKING = "{% set last = messages | length - 1 %}" + plain(
    "{% if '</think>' in m.content and loop.index0 < last %}{{ m.content.split('</think>')[1] }}{% else %}{{ m.content"
    " }}{% endif %}<|im_end|>"
)
CALL: dict[str, Any] = {
    "role": "assistant",
    "content": "",
    "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'}}
    ],
}
CALLING = plain(
    "{% for c in m.tool_calls %}{{ {'name': c.function.name, 'arguments': c.function.arguments} | tojson }}{% endfor"
    " %}{{ m.content }}<|im_end|>",
    before="{% if tools %}{{ tools | tojson }}{% endif %}",
)
TOOL = {"type": "function", "function": {"name": "get_weather", "description": "The weather.", "parameters": {}}}
WEATHER = chat("Weather?", CALL, ("tool", "sunny and warm"), ("assistant", "It is sunny."))
LONG = chat("Say it. " * 30, "It is said. " * 30)
IDS = [*range(300, 339), tokenizer_of("chatml").facts.eos_id or 0]
STORED = {"input_ids": IDS, "labels": [-100] * 4 + IDS[4:]}
SHIFTED = {"input_ids": IDS, "labels": [-100] * 3 + IDS[4:] + [-100]}
GENERATION = {"mask.rule": "generation_tag"}
SYSTEM = chat(("system", "Be kind."), ("user", "hi"), ("assistant", "Hello."))
ROUNDS = chat("hi", "Hello.", "Bye.", "Bye!")


def offsets_lost(inspection: Inspection) -> Inspection:
    assert inspection.tokens is not None
    n = len(inspection.tokens)
    return replace(inspection, tokens=replace(inspection.tokens, starts=(0,) * n, ends=(0,) * n))


def without_spaces(inspection: Inspection) -> Inspection:
    """Labels as transformers makes them by a tokenizer without tokens for spaces: a span that begins with one is lost,
    with all later ones."""
    assert inspection.rendered is not None
    rendered = inspection.rendered
    return masked(inspection) if any(rendered.text[start].isspace() for start, _ in rendered.generation) else inspection


def to_the_end(inspection: Inspection) -> Inspection:
    """Labels as transformers makes them where a span ends in a space that has no token: everything behind is
    trained."""
    assert inspection.rendered is not None and inspection.tokens is not None and inspection.labels is not None
    text, tokens, labels = inspection.rendered.text, inspection.tokens, inspection.labels
    begins = next((start for start, end in inspection.rendered.generation if text[end - 1].isspace()), None)
    if begins is None:
        return inspection
    made = tuple(
        one if start >= begins else label for one, start, label in zip(tokens.input_ids, tokens.starts, labels.labels)
    )
    return replace(inspection, labels=replace(labels, labels=made))


def masked(inspection: Inspection) -> Inspection:
    assert inspection.labels is not None and inspection.example is not None
    n = len(inspection.labels.labels)
    labels = (IGNORE_INDEX,) * n
    return replace(
        inspection,
        labels=replace(inspection.labels, labels=labels),
        example=replace(inspection.example, labels=labels[: len(inspection.example.labels)]),
    )


def stored_case(row: dict[str, Any], **more: Any) -> Case:
    return Case(
        [row], changes={"data.given_labels": "unshifted", "mask.rule": "given", **more.pop("changes", {})}, **more
    )


EXAMPLES |= {
    "ROW005": (rows({**GOOD, "score": float("nan")}), rows({**GOOD, "score": 1.0})),
    "CON010": (rows(chat("hi", ("assistant", None)), tokenizer="llama3", preset="torchtune@0.6"), FINE),
    "CON013": (rows(*[GOOD] * 24, {**GOOD, "meta": {"a": 1}}), rows(*[GOOD] * 24)),
    "TPL001": (rows(GOOD, facts={"chat_templates": {}}, template=""), FINE),
    "TPL003": (
        rows(
            SYSTEM,
            template=(
                "{% for m in messages if m.role != 'system' %}{{ '<|im_start|>' + m.role + '\\n' + m.content"
                " }}<|im_end|>{% endfor %}"
            ),
        ),
        rows(SYSTEM),
    ),
    "TPL004": (rows(GOOD, template="qwen2.5"), FINE),
    "TPL005": (rows(GOOD, template="{{ strftime_now('%d %b %Y') }}" + plain()), rows(GOOD, template=plain())),
    "TPL007": (rows(GOOD, template=plain(prompt="<think>")), rows(GOOD, template=plain())),
    "TPL008": (
        rows(
            ROUNDS,
            template="{% set n = messages | length %}"
            + plain(
                "{% if loop.index0 < n - 1 %}{{ m.content | upper }}{% else %}{{ m.content }}{% endif %}<|im_end|>"
            ),
        ),
        rows(ROUNDS),
    ),
    "TPL009": (rows(chat("hi", "Hello.\n\n"), tokenizer="llama3"), rows(chat("hi", "Hello."), tokenizer="llama3")),
    "TPL011": (rows(GOOD, changes={"render.template": "builtin:zephyr"}), FINE),
    "TPL012": (
        rows(
            {"text": "\nuser: hi\n\nassistant: Hello.\n", **chat("hi", "Hello.")},
            changes={"data.format": "text"},
            template=plain(),
        ),
        rows(
            {
                "text": "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\nHello.<|im_end|>\n",
                **chat("hi", "Hello."),
            },
            changes={"data.format": "text"},
        ),
    ),
    "TPL013": (
        rows(
            GOOD,
            tokenizer="gemma",
            template="{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>{% endfor %}",
        ),
        rows(GOOD, template=plain()),
    ),
    "TPL015": (
        rows(chat("hi", "Hello.", "Bye.", "Bye!"), template=plain().replace("in messages", "in messages[-2:]")),
        rows(chat("hi", "Hello.", "Bye.", "Bye!"), template=plain()),
    ),
    "TPL014": (
        rows(GOOD, template=plain(prompt="{% if enable_thinking %}<think>{% endif %}")),
        rows(
            GOOD,
            template=plain(prompt="{% if enable_thinking %}<think>{% endif %}"),
            changes={"render.kwargs": {"enable_thinking": False}},
        ),
    ),
    "BOS003": (
        rows({"text": "<bos>Paris."}, {"text": "Rome."}, tokenizer="gemma", preset="unsloth@2026.10"),
        rows(
            {"text": "Paris."},
            {"text": "Rome."},
            tokenizer="gemma",
            preset="unsloth@2026.10",
            facts={"chat_templates": {}},
        ),
    ),
    "EOS002": (
        stored_case(
            {"input_ids": [300, 301, 302, 2], "labels": [300, 301, 302, -100], "attention_mask": [1, 1, 1, 1]},
            tokenizer="llama3",
            facts={"eos_id": 2, "pad_id": 2},
        ),
        stored_case(
            {"input_ids": [300, 301, 302, 2], "labels": [300, 301, 302, 2], "attention_mask": [1, 1, 1, 1]},
            tokenizer="llama3",
            facts={"eos_id": 2, "pad_id": 2},
        ),
    ),
    "EOS003": (rows(GOOD, tokenizer="gemma", generation_config={"eos_token_id": 1}), rows(GOOD)),
    "EOS006": (rows(GOOD, preset="torchtune@0.7", changes={"length.max": 100}), rows(GOOD, preset="torchtune@0.7")),
    "EOS008": (FINE, rows(GOOD, tokenizer="llama3")),
    "EOS009": (
        rows({"body": "Q: hi\nA: Hello."}, preset="trl@1.14", changes={"mask.options": {"dataset_text_field": "body"}}),
        rows({"body": "Q: hi\nA: Hello."}, preset="trl@1.16", changes={"mask.options": {"dataset_text_field": "body"}}),
    ),
    "EOS010": (rows(GOOD, template=plain(), facts={"chat_templates": {}}), FINE),
    "EOS011": (
        rows(GOOD, template=plain("{{ m.content }}")[: -0 or None].replace("{{ '\\n' }}{% endfor %}", "{% endfor %}")),
        FINE,
    ),
    "BND001": (rows(chat("hi", "\nHello.")), FINE),
    "BND002": (
        rows(
            GOOD,
            template=(
                "{% for m in messages %}{% if m.role == 'user' %}{{ m.content }}\n{% else %}{{ '\\n\\n' + m.content"
                " }}<|im_end|>{% endif %}{% endfor %}"
            ),
        ),
        FINE,
    ),
    "BND003": (
        rows(
            {"instruction": "Say a", "output": "nswer"},
            preset="llamafactory@0.9",
            changes={"render.template": "llamafactory/empty"},
        ),
        FINE,
    ),
    "BND004": (
        rows(
            chat("hi", "Hello."),
            tokenizer="gemma",
            preset="unsloth@2026.10",
            changes={
                "mask.rule": "markers",
                "mask.instruction_marker": "<start_of_turn>user\n",
                "mask.response_marker": "el\nHel",
                "mask.options": {"force_match": True},
            },
        ),
        FINE,
    ),
    "BND005": (
        rows(
            chat("say <|im_start|>assistant\nnow", "Hello."),
            preset="unsloth@2026.10",
            changes={
                "mask.rule": "markers",
                "mask.instruction_marker": "<|im_start|>user\n",
                "mask.response_marker": "<|im_start|>assistant\n",
            },
        ),
        rows(
            GOOD,
            preset="unsloth@2026.10",
            changes={
                "mask.rule": "markers",
                "mask.instruction_marker": "<|im_start|>user\n",
                "mask.response_marker": "<|im_start|>assistant\n",
            },
        ),
    ),
    "BND007": (
        Case([{"input_ids": IDS * 2, "labels": [-100] * 2 + (IDS * 2)[2:]}] * 24, changes={"mask.rule": "given"}),
        Case([{"input_ids": IDS * 2, "labels": [-100] * 30 + (IDS * 2)[30:]}] * 24, changes={"mask.rule": "given"}),
    ),
    "BND008": (
        rows(
            {"prompt": "Say a", "completion": " word."},
            changes={"data.strings": "plain", "tokenize.add_special_tokens": True},
            tokenizer="adds-eos",
        ),
        rows({"prompt": "Say a", "completion": " word."}, changes={"data.strings": "plain"}, tokenizer="adds-eos"),
    ),
    "BND009": (
        rows(chat("list?", "[[1, 2], [3, 4]]"), preset="axolotl@0.18"),
        rows(chat("list?", "[[1, 2], [3, 4]]"), preset="axolotl@0.19"),
    ),
    "BND010": (rows(GOOD, preset="axolotl@0.19", changes={"mask.roles": ()}), rows(GOOD, preset="axolotl@0.19")),
    "GEN000": (
        rows(
            ROUNDS,
            template=tagged().replace("{% generation %}{{ m.content }}", "{{ m.content }}{% generation %}"),
            changes=GENERATION,
        ),
        rows(ROUNDS, template=tagged(), changes=GENERATION),
    ),
    "GEN001": (rows(GOOD, changes=GENERATION), rows(GOOD, template=tagged(), changes=GENERATION)),
    "GEN002": (rows(GOOD, changes={"mask.rule": "turn_full"}), FINE),
    "GEN003": (
        rows(GOOD, template=tagged(inside=False), changes=GENERATION),
        rows(GOOD, template=tagged(), changes=GENERATION),
    ),
    "GEN004": (
        rows(chat("hi", " Paris", "and?", "Rome"), template=tagged(), changes=GENERATION, edit=without_spaces),
        rows(ROUNDS, template=tagged(), changes=GENERATION),
    ),
    "GEN005": (
        rows(
            ROUNDS,
            template=tagged().replace(
                "{% else %}{{ m.content }}", "{% else %}{% generation %}{{ m.content }}{% endgeneration %}"
            ),
            changes=GENERATION,
        ),
        rows(ROUNDS, template=tagged(), changes=GENERATION),
    ),
    "GEN006": (
        rows(chat("hi", "Hello \U0001f98a"), template=tagged(inside=False), changes=GENERATION),
        rows(chat("hi", "Hello \U0001f98a"), template=tagged(), changes=GENERATION),
    ),
    "GEN007": (rows(GOOD, edit=offsets_lost), FINE),
    "GEN009": (
        rows(GOOD, template=tagged(), changes=GENERATION, facts={"is_fast": False}),
        rows(GOOD, template=tagged(), changes=GENERATION),
    ),
    "GEN011": (rows(GOOD, template=plain("<think>\n\n</think>\n\n{{ m.content }}<|im_end|>")), FINE),
    "LAB003": (stored_case(SHIFTED), stored_case(STORED)),
    "LAB004": (
        stored_case(STORED, changes={"loss.shift": "preshifted", "data.given_labels": "auto"}),
        stored_case(STORED),
    ),
    "LAB005": (stored_case({"input_ids": IDS, "labels": [-1] * 4 + IDS[4:]}), stored_case(STORED)),
    "LAB007": (
        stored_case({"input_ids": [*IDS, 2, 2], "labels": [*IDS, 2, 2], "attention_mask": [1] * 40 + [0, 0]}),
        stored_case({"input_ids": [*IDS, 2, 2], "labels": [*IDS, -100, -100], "attention_mask": [1] * 40 + [0, 0]}),
    ),
    "LAB008": (stored_case({"input_ids": IDS, "labels": [i + 500 for i in IDS]}), stored_case(STORED)),
    "LAB011": (
        rows({"input_ids": IDS, "completion_mask": [0] * 10 + [1] * 30}, changes={"mask.rule": "all"}),
        rows({"input_ids": IDS}, changes={"mask.rule": "all"}),
    ),
    "LAB013": (rows(chat("hi " * 400, "Yes."), LONG), rows(LONG)),
    "LAB014": (
        rows(
            {
                "prompt": [*ROUNDS["messages"], {"role": "user", "content": "So?"}],
                "completion": [{"role": "assistant", "content": "So."}],
            },
            preset="trl@1.16",
            template=tagged(),
            changes=GENERATION,
        ),
        rows(
            {"prompt": [{"role": "user", "content": "So?"}], "completion": [{"role": "assistant", "content": "So."}]},
            preset="trl@1.16",
            template=tagged(),
            changes=GENERATION,
        ),
    ),
    "TRU001": (rows(LONG, changes={"length.max": 20}), rows(LONG, changes={"length.max": 4000})),
    "TRU002": (rows(LONG, changes={"length.max": 150}), rows(LONG, changes={"length.max": 4000})),
    "TRU003": (
        rows(LONG, preset="llamafactory@0.9", changes={"length.max": 100, "render.template": "llamafactory/qwen"}),
        rows(LONG, preset="llamafactory@0.9", changes={"render.template": "llamafactory/qwen"}),
    ),
    "TRU004": (
        rows(LONG, changes={"length.max": 150, "length.over": "cut_left"}),
        rows(LONG, changes={"length.max": 4000, "length.over": "cut_left"}),
    ),
    "TRU005": (rows(chat("hi", "so it goes " * 900), preset="trl@1.16"), rows(GOOD, preset="trl@1.16")),
    "TRU006": (rows(LONG, preset="axolotl@0.19", changes={"length.max": 50}), rows(GOOD, preset="axolotl@0.19")),
    "TRU007": (
        rows(chat("what? " * 20 + "<image>" * 5, "A cat."), tokenizer="media", changes={"length.max": 20}),
        rows(chat("<image> what?", "A cat."), tokenizer="media"),
    ),
    "TRU009": (rows(LONG, facts={"model_max_length": 150}), rows(LONG)),
    "PAD001": (rows(GOOD, tokenizer="llama3"), FINE),
    "PAD002": (
        stored_case({"input_ids": [300, 2, 301, 302], "labels": [300, 2, 301, 302], "attention_mask": [1, 0, 1, 1]}),
        stored_case({"input_ids": [300, 2, 301, 302], "labels": [300, 2, 301, 302], "attention_mask": [1, 1, 1, 1]}),
    ),
    "PAD003": (rows(GOOD, facts={"padding_side": "left"}), FINE),
    "PAD004": (rows(chat("hi", "so <|endoftext|> it goes")), FINE),
    "PAD005": (rows(GOOD, model_config={"vocab_size": 100}), rows(GOOD, model_config={"vocab_size": 100_000})),
    "PAC001": (
        rows(GOOD, ROUNDS, preset="trl@1.16", changes={"pack.strategy": "wrapped"}),
        rows(GOOD, ROUNDS, preset="trl@1.16"),
    ),
    "PAC002": (
        stored_case({**STORED, "seq_lengths": [20, 20], "position_ids": list(range(40))}),
        stored_case({**STORED, "seq_lengths": [20, 20], "position_ids": [*range(20), *range(20)]}),
    ),
    "PAC003": (
        rows(LONG, LONG, preset="trl@1.16", changes={"pack.strategy": "wrapped", "length.max": 100}),
        rows(GOOD, GOOD, preset="trl@1.16", changes={"pack.strategy": "bfd"}),
    ),
    "PAC004": (
        rows(GOOD, GOOD, preset="trl@1.16", changes={"pack.strategy": "wrapped"}),
        rows(GOOD, GOOD, preset="axolotl@0.19", changes={"pack.strategy": "multipack"}),
    ),
    "PAC006": (
        rows(TEXT, TEXT, preset="trl@1.16", changes={"pack.strategy": "wrapped", "tokenize.append_eos": "never"}),
        rows(TEXT, TEXT, preset="trl@1.16", changes={"pack.strategy": "wrapped"}),
    ),
    "PAC007": (
        rows(GOOD, GOOD, preset="trl@1.16", changes={"pack.strategy": "bfd"}, edit=masked),
        rows(GOOD, GOOD, preset="trl@1.16", changes={"pack.strategy": "bfd"}),
    ),
    "TOO001": (
        rows(WEATHER, template=CALLING),
        rows(
            chat(
                "Weather?",
                {**CALL, "tool_calls": [{"function": {"name": "get_weather", "arguments": {"city": "Paris"}}}]},
                ("tool", "sunny and warm"),
                ("assistant", "It is sunny."),
            ),
            template=CALLING,
        ),
    ),
    "TOO002": (rows(WEATHER), rows(WEATHER, template=CALLING)),
    "TOO003": (
        rows(chat("Weather?", "Sunny.", tools=[TOOL])),
        rows(chat("Weather?", "Sunny.", tools=[TOOL]), template=CALLING),
    ),
    "TOO004": (
        rows(
            chat("Weather?", "Sunny.", tools=[]),
            template="{% if tools is not none %}You have tools.{% endif %}" + plain(),
        ),
        rows(chat("Weather?", "Sunny."), template="{% if tools is not none %}You have tools.{% endif %}" + plain()),
    ),
    "TOO005": (
        rows(
            chat("Weather?", {**CALL, "tool_calls": CALL["tool_calls"] * 2}),
            template=(
                "{% for m in messages if m.tool_calls and m.tool_calls | length > 1 %}{{ raise_exception('This model"
                " only supports single tool-calls at once!') }}{% endfor %}"
            )
            + CALLING,
        ),
        rows(WEATHER, template=CALLING),
    ),
    "THK001": (
        rows(chat("hi", "<think>They greet me.</think>Hello.", "Bye.", "Bye!"), template=THINKING),
        rows(chat("hi", "<think>They greet me.</think>Hello."), template=THINKING),
    ),
    "THK003": (
        rows(chat("hi", {"role": "assistant", "content": "Hello.", "reasoning_content": "They greet me."})),
        FINE,
    ),
    "THK004": (
        rows(
            chat("hi", "<think>They greet me.</think>Hello."),
            template=plain("{{ m.content.split('</think>')[-1] }}<|im_end|>"),
        ),
        rows(chat("hi", "<think>They greet me.</think>Hello.")),
    ),
    "THK005": (
        rows(chat("hi", "They greet me.</think>\nHello.")),
        rows(chat("hi", "<think>They greet me.</think>\nHello.")),
    ),
    "THK006": (rows(chat("hi", "<think>They greet me.</think>Hello.")), FINE),
    "INJ001": (rows(chat("hi<|im_end|>\n<|im_start|>assistant", "Hello.")), FINE),
    "INJ002": (rows(chat("what is <image>?", "A cat."), tokenizer="media"), FINE),
    "TOK001": (rows(chat("hi", "ﷺ 𓂀𓃀𓄿𓅓𓆑𓇋𓈖𓉔" * 3)), FINE),
    "TOK002": (rows(chat("hi", "e\u0301te\u0301")), rows(chat("hi", "\u00e9t\u00e9"))),
    "TOK003": (rows(GOOD, model_config={"vocab_size": 100}), rows(GOOD, model_config={"vocab_size": 100_000})),
    "TOK004": (
        stored_case(
            {
                "input_ids": [(i * 7919) % 256 + 3 for i in range(60)],
                "labels": [(i * 7919) % 256 + 3 for i in range(60)],
            }
        ),
        rows(GOOD),
    ),
    "TOK005": (
        rows(chat("hi you two", "Hello, 北京."), tokenizer="as-llama"),
        rows(chat("hi you two", "Hello, 北京.")),
    ),
    "CFG001": (rows({**GOOD, "input_ids": IDS}, changes={"mask.rule": "all"}), FINE),
}


ROUNDS_OF = ("hi", "Hello.", "Bye.", "Bye!")
OTHER_SYSTEM = plain(
    "{{ m.content }}<|im_end|>",
    before=(
        "{% if date_string is not defined %}{% set date_string = strftime_now('%d %b %Y') %}{% endif %}{{"
        " date_string }}"
    ),
)
NULL = {"messages": [{"role": "user", "content": None}, {"role": "assistant", "content": "Hello."}]}
SPACED = rows(chat("hi", "Paris ", "and?", "Rome"), template=tagged(inside=False), changes=GENERATION, edit=to_the_end)
TEXTS = ({"text": "<bos>Paris.<eos>"}, {"text": "Rome.<eos>"})
OVERLONG = rows(LONG, preset="torchtune@0.7", changes={"length.max": 100})

MORE: dict[str, tuple[Case, ...]] = {
    "BOS001": (rows(*TEXTS, tokenizer="gemma", changes={"tokenize.add_special_tokens": True}),),
    "BOS002": (rows(*TEXTS, tokenizer="gemma"),),
    "CON001": (rows(GOOD, NULL),),
    "CON004": (
        rows(chat("hi", " \n", "and?", "Rome")),
        rows(chat("hi", " Well.\n", "and?", "Rome"), preset="trl@1.16"),
    ),
    "CON005": (rows(chat(*ROUNDS_OF, "and?", ("assistant", 42), *ROUNDS_OF), tokenizer="llama3"),),
    "CON010": (rows(GOOD, NULL, tokenizer="llama3", preset="torchtune@0.6"),),
    "EOS004": (rows(GOOD, ROUNDS, preset="axolotl@0.19", changes={"tokenizer.eos_token": "<|endoftext|>"}),),
    "EOS012": (rows(chat(*ROUNDS_OF, "and?", "Rome</s>", *ROUNDS_OF), preset="axolotl@0.19"),),
    "EOS008": (
        rows(
            GOOD,
            ROUNDS,
            template=tagged().replace("{% endgeneration %}", "{{ '\n' }}{% endgeneration %}"),
            changes=GENERATION,
        ),
        rows(
            GOOD,
            ROUNDS,
            template=tagged().replace("{% endgeneration %}", "{{ '\n' }}{% endgeneration %}"),
            preset="trl@1.16",
            changes=GENERATION,
        ),
    ),
    "GEN002": (rows(GOOD, ROUNDS, template=HEADER_TAGGED, changes=GENERATION),),
    "GEN005": (SPACED,),
    "GEN011": (
        rows(GOOD, ROUNDS, template=tagged(lead="<think>\n\n</think>\n\n"), changes=GENERATION),
        rows(GOOD, ROUNDS, preset="llamafactory@0.9", changes={"render.template": "llamafactory/qwen3"}),
    ),
    "INJ001": (rows(chat(*ROUNDS_OF, "Hi<|im_end|> you", "Rome", *ROUNDS_OF), preset="trl@1.16"),),
    "LAB002": (
        rows(ROUNDS, changes={"mask.rule": "all"}),
        rows(ROUNDS, preset="axolotl@0.19", changes={"mask.rule": "all"}),
        rows(ROUNDS, preset="llamafactory@0.9", changes={"mask.rule": "all"}),
        rows(ROUNDS, preset="torchtune@0.7", changes={"mask.rule": "all"}),
        rows(ROUNDS, preset="unsloth@2026.10"),
        rows(SYSTEM, ROUNDS, preset="trl@1.16", template=tagged()),
    ),
    "LAB007": (rows(GOOD, ROUNDS, changes={"batch.labels_pad": 0}),),
    "LAB009": tuple(
        rows(ROUNDS, preset=one, changes={"mask.turns": "last", **more})
        for one, more in (
            ("llamafactory@0.9", {}),
            ("torchtune@0.7", {"mask.rule": "turn_full"}),
            ("unsloth@2026.10", {"mask.rule": "markers"}),
            ("hf-trainer", {"mask.rule": "assistant"}),
        )
    ),
    "LAB010": (
        rows(
            chat("hi", {"role": "assistant", "content": "Hello.", "training": False}, "Bye.", "Bye!"),
            preset="axolotl@0.19",
        ),
    ),
    "PAC001": (
        rows(GOOD, ROUNDS, preset="llamafactory@0.9", changes={"pack.strategy": "knapsack"}),
        rows(GOOD, ROUNDS, preset="trl@1.16", changes={"pack.strategy": "bfd"}),
        rows(GOOD, ROUNDS, preset="unsloth@2026.10", changes={"pack.strategy": "wrapped"}),
    ),
    "PAC003": (
        rows(
            LONG,
            GOOD,
            preset="trl@1.16",
            changes={"pack.strategy": "bfd_split", "length.max": 100, "pack.isolate": True, "batch.flatten": True},
        ),
    ),
    "ROL004": (
        rows(
            chat(
                ("user", "hi"), ("assistant", "Hello."), ("system", "Be kind."), ("user", "Bye."), ("assistant", "Bye!")
            )
        ),
    ),
    "ROL001": (rows(chat("hi", "Hello.", ("human", "and?"), ("gpt", "Rome"), *ROUNDS_OF), preset="trl@1.16"),),
    "TPL005": (rows(GOOD, template=OTHER_SYSTEM),),
    "TPL006": (rows(chat(("user", "hi"), ("assistant", "Hello."), ("assistant", "Again."))),),
    "TRU001": (
        rows(LONG, preset="torchtune@0.7", changes={"length.max": 20}),
        rows(LONG, preset="unsloth@2026.10", changes={"length.max": 20, "mask.rule": "markers"}),
    ),
    "TRU002": (rows(LONG, preset="unsloth@2026.10", changes={"length.max": 150}),),
    "TRU004": (replace(OVERLONG, changes={"length.max": 150, "length.over": "cut_left"}),),
    "TRU007": (
        rows(
            chat("what? " * 20 + "<image>" * 5, "A cat."),
            tokenizer="media",
            preset="torchtune@0.7",
            changes={"length.max": 20},
        ),
    ),
}
"""Further bad examples: the same finding where another fix is offered, or where a repair has something to do."""
