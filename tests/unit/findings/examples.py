"""Every code with an example that must raise it and one that must not."""

from __future__ import annotations

from dataclasses import replace

from sftui.findings.examples import (
    ALPACA,
    CALL,
    CALLING,
    FINE,
    GENERATION,
    GOOD,
    HEADER_TAGGED,
    IDS,
    LONG,
    NULL,
    OTHER_SYSTEM,
    OVERLONG,
    ROUNDS,
    ROUNDS_OF,
    SHIFTED,
    SLOTS,
    SPACED,
    STORED,
    SYSTEM,
    TEXT,
    TEXTS,
    THINKING,
    TOOL,
    WEATHER,
    case,
    chat,
    chatml,
    stored_case,
    tagged,
)
from sftui.findings.rule import Case

EXAMPLES: dict[str, tuple[Case, Case]] = {
    "ROW001": (case(GOOD, "line 2 is not valid JSON"), FINE),
    "ROW002": (case(GOOD, GOOD, {"messages": []}), FINE),
    "ROW003": (case(GOOD, GOOD, chat(("user", {"a": 1}), "yes"), template="chatml"), FINE),
    "ROW004": (case(GOOD, chat("a\ud83d", "b")), FINE),
    "ROW006": (
        case(GOOD, damage=(("t.jsonl.gz", 1, "its compressed data is damaged: it ends before its time"),)),
        FINE,
    ),
    "ROW008": (
        case(GOOD, chat("How many?", {"role": "assistant", "content": 4}), preset="trl@1.16", looked_at=1),
        case(GOOD, chat("How many?", {"role": "assistant", "content": "4"}), preset="trl@1.16", looked_at=1),
    ),
    "ROW007": (case(GOOD, template="{{ 'a' * 10 ** 10 }}"), FINE),
    "ROL001": (case(chat(("user", "hi"), ("bot", "Hello there."))), FINE),
    "ROL002": (case(chat(("user", "hi"), ("asistant", "Hello there."))), FINE),
    "ROL003": (case(GOOD, GOOD, {"messages": [{"content": "hi"}]}), FINE),
    "ROL004": (
        case(chat("hi", "Hello.", ("system", "Be kind."), "Bye.", "Bye!")),
        case(chat(("system", "Be kind."), ("user", "hi"), ("assistant", "Hello."))),
    ),
    "ROL005": (
        case(GOOD, changes={"mask.rule": "assistant", "mask.roles": ("asistant", "user")}),
        case(GOOD, changes={"mask.rule": "assistant", "mask.roles": ("assistant", "tool")}),
    ),
    "TPL010": (case(chat(("user", "hi"), ("narrator", "It rains."), ("assistant", "Hello."))), FINE),
    "TPL002": (
        case(chat(("system", "Be kind."), ("user", "hi"), ("assistant", "Hello.")), tokenizer="gemma"),
        case(GOOD, tokenizer="gemma"),
    ),
    "TPL006": (
        case(chat(("user", "hi"), ("user", "again"), ("assistant", "Hello.")), tokenizer="gemma"),
        case(GOOD, tokenizer="gemma"),
    ),
    "CON001": (case(chat("hi", ("assistant", None))), FINE),
    "CON002": (
        case(GOOD, chat("hi", ("assistant", [{"type": "text", "text": "Hello."}])), tokenizer="llama3"),
        case(GOOD, tokenizer="llama3"),
    ),
    "CON003": (case(chat("hi", "")), FINE),
    "CON004": (case(chat("hi", "  Hello.\n\n")), FINE),
    "CON005": (case(chat("hi", ("assistant", 42)), tokenizer="llama3"), FINE),
    "CON006": (case(*[{"prompt": "hi", **GOOD}] * 3), FINE),
    "CON007": (
        case(GOOD, {"messages": '[{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Hello."}]'}),
        FINE,
    ),
    "CON008": (case(chat("hi", "Hel\u202elo\x1b[31m")), case(chat("hi", "Grüße, şu çay çok güzel – “ja”."))),
    "CON009": (
        case(
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
        case(chat({"role": "user", "content": "hi", "mood": "glad"}, {"role": "assistant", "content": "Hello."})),
        FINE,
    ),
    "CON012": (case(chat("hi", "one\\ntwo\\nthree")), case(chat("hi", "one\ntwo\nthree"))),
    "RUN001": (case({"input_ids": [300, 301, 302], "labels": [-100] * 3}, changes={"mask.rule": "given"}), FINE),
    "CON014": (
        case(
            {**ALPACA, "history": [{"question": "Who?", "answer": "Me."}]},
            preset="llamafactory@0.9",
            changes=SLOTS,
        ),
        case({**ALPACA, "history": [["Who?", "Me."]]}, preset="llamafactory@0.9", changes=SLOTS),
    ),
    "BOS001": (
        case(GOOD, tokenizer="gemma", changes={"tokenize.add_special_tokens": True}),
        case(GOOD, tokenizer="gemma"),
    ),
    "BOS002": (case(GOOD, tokenizer="gemma", preset="manual-shift"), case(GOOD, tokenizer="gemma")),
    "EOS001": (case(TEXT), case(TEXT, changes={"tokenize.append_eos": "always"})),
    "EOS004": (case(GOOD, changes={"mask.rule": "assistant", "mask.terminator": "mask"}), FINE),
    "EOS007": (case(chat("hi", "Hello.<|im_end|>")), FINE),
    "EOS012": (case(chat("hi", "Hello.</s>")), FINE),
    "LAB001": (case({"input_ids": [300, 301, 302], "labels": [-100] * 3}, changes={"mask.rule": "given"}), FINE),
    "LAB002": (case(GOOD, preset="trl@1.16"), FINE),
    "LAB006": (case({"input_ids": [1, 2, 3], "labels": [1, 2]}), case({"input_ids": [1, 2, 3], "labels": [1, 2, 3]})),
    "LAB009": (
        case(chat("hi", "Hello.", "Bye.", "Bye!")),
        case(chat("hi", "Hello.", "Bye.", "Bye!"), changes={"mask.rule": "assistant"}),
    ),
    "LAB010": (
        case(chat("hi", {"role": "assistant", "content": "Hello.", "weight": 0})),
        case(chat("hi", {"role": "assistant", "content": "Hello.", "weight": 1})),
    ),
    "LAB012": (case(chat("hi", "Hello.", "Bye.")), FINE),
    "TOO006": (case(chat("hi", ("tool", "{}"), ("assistant", "Hello."))), FINE),
    "DUP001": (case(GOOD, GOOD), case(GOOD, chat("hi", "Hello."))),
    "DUP002": (case(GOOD, evaluation=[GOOD]), case(GOOD, evaluation=[chat("hi", "Hello.")])),
    "DUP003": (case(chat("hi", "Hello."), chat("hi", "Good day.")), case(GOOD, chat("hi", "Hello."))),
}

EXAMPLES |= {
    "ROW005": (case({**GOOD, "score": float("nan")}), case({**GOOD, "score": 1.0})),
    "CON010": (case(chat("hi", ("assistant", None)), tokenizer="llama3", preset="torchtune@0.6"), FINE),
    "CON013": (case(*[GOOD] * 24, {**GOOD, "meta": {"a": 1}}), case(*[GOOD] * 24)),
    "TPL001": (case(GOOD, facts={"chat_templates": {}}, template=""), FINE),
    "TPL003": (
        case(
            SYSTEM,
            template=(
                "{% for m in messages if m.role != 'system' %}{{ '<|im_start|>' + m.role + '\\n' + m.content"
                " }}<|im_end|>{% endfor %}"
            ),
        ),
        case(SYSTEM),
    ),
    "TPL004": (case(GOOD, template="qwen2.5"), FINE),
    "TPL005": (case(GOOD, template="{{ strftime_now('%d %b %Y') }}" + chatml()), case(GOOD, template=chatml())),
    "TPL007": (case(GOOD, template=chatml(prompt="<think>")), case(GOOD, template=chatml())),
    "TPL008": (
        case(
            ROUNDS,
            template="{% set n = messages | length %}"
            + chatml(
                "{% if loop.index0 < n - 1 %}{{ m.content | upper }}{% else %}{{ m.content }}{% endif %}<|im_end|>"
            ),
        ),
        case(ROUNDS),
    ),
    "TPL009": (case(chat("hi", "Hello.\n\n"), tokenizer="llama3"), case(chat("hi", "Hello."), tokenizer="llama3")),
    "TPL011": (case(GOOD, changes={"render.template": "builtin:zephyr"}), FINE),
    "TPL012": (
        case(
            {"text": "\nuser: hi\n\nassistant: Hello.\n", **chat("hi", "Hello.")},
            changes={"data.format": "text"},
            template=chatml(),
        ),
        case(
            {
                "text": "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\nHello.<|im_end|>\n",
                **chat("hi", "Hello."),
            },
            changes={"data.format": "text"},
        ),
    ),
    "TPL013": (
        case(
            GOOD,
            tokenizer="gemma",
            template="{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>{% endfor %}",
        ),
        case(GOOD, template=chatml()),
    ),
    "TPL015": (
        case(chat("hi", "Hello.", "Bye.", "Bye!"), template=chatml().replace("in messages", "in messages[-2:]")),
        case(chat("hi", "Hello.", "Bye.", "Bye!"), template=chatml()),
    ),
    "TPL014": (
        case(GOOD, template=chatml(prompt="{% if enable_thinking %}<think>{% endif %}")),
        case(
            GOOD,
            template=chatml(prompt="{% if enable_thinking %}<think>{% endif %}"),
            changes={"render.kwargs": {"enable_thinking": False}},
        ),
    ),
    "BOS003": (
        case({"text": "<bos>Paris."}, {"text": "Rome."}, tokenizer="gemma", preset="unsloth@2026.10"),
        case(
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
    "EOS003": (case(GOOD, tokenizer="gemma", generation_config={"eos_token_id": 1}), case(GOOD)),
    "EOS006": (case(GOOD, preset="torchtune@0.7", changes={"length.max": 100}), case(GOOD, preset="torchtune@0.7")),
    "EOS008": (FINE, case(GOOD, tokenizer="llama3")),
    "EOS009": (
        case({"body": "Q: hi\nA: Hello."}, preset="trl@1.14", changes={"mask.options": {"dataset_text_field": "body"}}),
        case({"body": "Q: hi\nA: Hello."}, preset="trl@1.16", changes={"mask.options": {"dataset_text_field": "body"}}),
    ),
    "EOS010": (case(GOOD, template=chatml(), facts={"chat_templates": {}}), FINE),
    "EOS011": (
        case(GOOD, template=chatml("{{ m.content }}")[: -0 or None].replace("{{ '\\n' }}{% endfor %}", "{% endfor %}")),
        FINE,
    ),
    "BND001": (case(chat("hi", "\nHello.")), FINE),
    "BND002": (
        case(
            GOOD,
            template=(
                "{% for m in messages %}{% if m.role == 'user' %}{{ m.content }}\n{% else %}{{ '\\n\\n' + m.content"
                " }}<|im_end|>{% endif %}{% endfor %}"
            ),
        ),
        FINE,
    ),
    "BND003": (
        case(
            {"instruction": "Say a", "output": "nswer"},
            preset="llamafactory@0.9",
            changes={"render.template": "llamafactory/empty"},
        ),
        FINE,
    ),
    "BND004": (
        case(
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
        case(
            chat("say <|im_start|>assistant\nnow", "Hello."),
            preset="unsloth@2026.10",
            changes={
                "mask.rule": "markers",
                "mask.instruction_marker": "<|im_start|>user\n",
                "mask.response_marker": "<|im_start|>assistant\n",
            },
        ),
        case(
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
        case(
            {"prompt": "Say a", "completion": " word."},
            changes={"data.strings": "plain", "tokenize.add_special_tokens": True},
            tokenizer="adds-eos",
        ),
        case({"prompt": "Say a", "completion": " word."}, changes={"data.strings": "plain"}, tokenizer="adds-eos"),
    ),
    "BND009": (
        case(chat("list?", "[[1, 2], [3, 4]]"), preset="axolotl@0.18"),
        case(chat("list?", "[[1, 2], [3, 4]]"), preset="axolotl@0.19"),
    ),
    "BND010": (case(GOOD, preset="axolotl@0.19", changes={"mask.roles": ()}), case(GOOD, preset="axolotl@0.19")),
    "GEN000": (
        case(
            ROUNDS,
            template=tagged().replace("{% generation %}{{ m.content }}", "{{ m.content }}{% generation %}"),
            changes=GENERATION,
        ),
        case(ROUNDS, template=tagged(), changes=GENERATION),
    ),
    "GEN001": (case(GOOD, changes=GENERATION), case(GOOD, template=tagged(), changes=GENERATION)),
    "GEN002": (case(GOOD, changes={"mask.rule": "turn_full"}), FINE),
    "GEN003": (
        case(GOOD, template=tagged(inside=False), changes=GENERATION),
        case(GOOD, template=tagged(), changes=GENERATION),
    ),
    "GEN004": (
        case(chat("hi", " Paris", "and?", "Rome"), template=tagged(), changes=GENERATION, edit="without_spaces"),
        case(ROUNDS, template=tagged(), changes=GENERATION),
    ),
    "GEN005": (
        case(
            ROUNDS,
            template=tagged().replace(
                "{% else %}{{ m.content }}", "{% else %}{% generation %}{{ m.content }}{% endgeneration %}"
            ),
            changes=GENERATION,
        ),
        case(ROUNDS, template=tagged(), changes=GENERATION),
    ),
    "GEN006": (
        case(chat("hi", "Hello \U0001f98a"), template=tagged(inside=False), changes=GENERATION),
        case(chat("hi", "Hello \U0001f98a"), template=tagged(), changes=GENERATION),
    ),
    "GEN007": (case(GOOD, edit="offsets_lost"), FINE),
    "GEN009": (
        case(GOOD, template=tagged(), changes=GENERATION, facts={"is_fast": False}),
        case(GOOD, template=tagged(), changes=GENERATION),
    ),
    "GEN011": (case(GOOD, template=chatml("<think>\n\n</think>\n\n{{ m.content }}<|im_end|>")), FINE),
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
        case({"input_ids": IDS, "completion_mask": [0] * 10 + [1] * 30}, changes={"mask.rule": "all"}),
        case({"input_ids": IDS}, changes={"mask.rule": "all"}),
    ),
    "LAB013": (case(chat("hi " * 400, "Yes."), LONG), case(LONG)),
    "LAB014": (
        case(
            {
                "prompt": [*ROUNDS["messages"], {"role": "user", "content": "So?"}],
                "completion": [{"role": "assistant", "content": "So."}],
            },
            preset="trl@1.16",
            template=tagged(),
            changes=GENERATION,
        ),
        case(
            {"prompt": [{"role": "user", "content": "So?"}], "completion": [{"role": "assistant", "content": "So."}]},
            preset="trl@1.16",
            template=tagged(),
            changes=GENERATION,
        ),
    ),
    "TRU001": (case(LONG, changes={"length.max": 20}), case(LONG, changes={"length.max": 4000})),
    "TRU002": (case(LONG, changes={"length.max": 150}), case(LONG, changes={"length.max": 4000})),
    "TRU003": (
        case(LONG, preset="llamafactory@0.9", changes={"length.max": 100, "render.template": "llamafactory/qwen"}),
        case(LONG, preset="llamafactory@0.9", changes={"render.template": "llamafactory/qwen"}),
    ),
    "TRU004": (
        case(LONG, changes={"length.max": 150, "length.over": "cut_left"}),
        case(LONG, changes={"length.max": 4000, "length.over": "cut_left"}),
    ),
    "TRU005": (case(chat("hi", "so it goes " * 900), preset="trl@1.16"), case(GOOD, preset="trl@1.16")),
    "TRU006": (case(LONG, preset="axolotl@0.19", changes={"length.max": 50}), case(GOOD, preset="axolotl@0.19")),
    "TRU007": (
        case(chat("what? " * 20 + "<image>" * 5, "A cat."), tokenizer="media", changes={"length.max": 20}),
        case(chat("<image> what?", "A cat."), tokenizer="media"),
    ),
    "TRU009": (case(LONG, facts={"model_max_length": 150}), case(LONG)),
    "PAD001": (case(GOOD, tokenizer="llama3"), FINE),
    "PAD002": (
        stored_case({"input_ids": [300, 2, 301, 302], "labels": [300, 2, 301, 302], "attention_mask": [1, 0, 1, 1]}),
        stored_case({"input_ids": [300, 2, 301, 302], "labels": [300, 2, 301, 302], "attention_mask": [1, 1, 1, 1]}),
    ),
    "PAD003": (case(GOOD, facts={"padding_side": "left"}), FINE),
    "PAD004": (case(chat("hi", "so <|endoftext|> it goes")), FINE),
    "PAD005": (case(GOOD, model_config={"vocab_size": 100}), case(GOOD, model_config={"vocab_size": 100_000})),
    "PAC001": (
        case(GOOD, ROUNDS, preset="trl@1.16", changes={"pack.strategy": "wrapped"}),
        case(GOOD, ROUNDS, preset="trl@1.16"),
    ),
    "PAC002": (
        stored_case({**STORED, "seq_lengths": [20, 20], "position_ids": list(range(40))}),
        stored_case({**STORED, "seq_lengths": [20, 20], "position_ids": [*range(20), *range(20)]}),
    ),
    "PAC003": (
        case(LONG, LONG, preset="trl@1.16", changes={"pack.strategy": "wrapped", "length.max": 100}),
        case(GOOD, GOOD, preset="trl@1.16", changes={"pack.strategy": "bfd"}),
    ),
    "PAC004": (
        case(GOOD, GOOD, preset="trl@1.16", changes={"pack.strategy": "wrapped"}),
        case(GOOD, GOOD, preset="axolotl@0.19", changes={"pack.strategy": "multipack"}),
    ),
    "PAC006": (
        case(TEXT, TEXT, preset="trl@1.16", changes={"pack.strategy": "wrapped", "tokenize.append_eos": "never"}),
        case(TEXT, TEXT, preset="trl@1.16", changes={"pack.strategy": "wrapped"}),
    ),
    "PAC007": (
        case(GOOD, GOOD, preset="trl@1.16", changes={"pack.strategy": "bfd"}, edit="masked"),
        case(GOOD, GOOD, preset="trl@1.16", changes={"pack.strategy": "bfd"}),
    ),
    "TOO001": (
        case(WEATHER, template=CALLING),
        case(
            chat(
                "Weather?",
                {**CALL, "tool_calls": [{"function": {"name": "get_weather", "arguments": {"city": "Paris"}}}]},
                ("tool", "sunny and warm"),
                ("assistant", "It is sunny."),
            ),
            template=CALLING,
        ),
    ),
    "TOO002": (case(WEATHER), case(WEATHER, template=CALLING)),
    "TOO003": (
        case(chat("Weather?", "Sunny.", tools=[TOOL])),
        case(chat("Weather?", "Sunny.", tools=[TOOL]), template=CALLING),
    ),
    "TOO004": (
        case(
            chat("Weather?", "Sunny.", tools=[]),
            template="{% if tools is not none %}You have tools.{% endif %}" + chatml(),
        ),
        case(chat("Weather?", "Sunny."), template="{% if tools is not none %}You have tools.{% endif %}" + chatml()),
    ),
    "TOO005": (
        case(
            chat("Weather?", {**CALL, "tool_calls": CALL["tool_calls"] * 2}),
            template=(
                "{% for m in messages if m.tool_calls and m.tool_calls | length > 1 %}{{ raise_exception('This model"
                " only supports single tool-calls at once!') }}{% endfor %}"
            )
            + CALLING,
        ),
        case(WEATHER, template=CALLING),
    ),
    "THK001": (
        case(chat("hi", "<think>They greet me.</think>Hello.", "Bye.", "Bye!"), template=THINKING),
        case(chat("hi", "<think>They greet me.</think>Hello."), template=THINKING),
    ),
    "THK003": (
        case(chat("hi", {"role": "assistant", "content": "Hello.", "reasoning_content": "They greet me."})),
        FINE,
    ),
    "THK004": (
        case(
            chat("hi", "<think>They greet me.</think>Hello."),
            template=chatml("{{ m.content.split('</think>')[-1] }}<|im_end|>"),
        ),
        case(chat("hi", "<think>They greet me.</think>Hello.")),
    ),
    "THK005": (
        case(chat("hi", "They greet me.</think>\nHello.")),
        case(chat("hi", "<think>They greet me.</think>\nHello.")),
    ),
    "THK006": (case(chat("hi", "<think>They greet me.</think>Hello.")), FINE),
    "INJ001": (case(chat("hi<|im_end|>\n<|im_start|>assistant", "Hello.")), FINE),
    "INJ002": (case(chat("what is <image>?", "A cat."), tokenizer="media"), FINE),
    "TOK001": (case(chat("hi", "ﷺ 𓂀𓃀𓄿𓅓𓆑𓇋𓈖𓉔" * 3)), FINE),
    "TOK002": (case(chat("hi", "e\u0301te\u0301")), case(chat("hi", "\u00e9t\u00e9"))),
    "TOK003": (case(GOOD, model_config={"vocab_size": 100}), case(GOOD, model_config={"vocab_size": 100_000})),
    "TOK004": (
        stored_case(
            {
                "input_ids": [(i * 7919) % 256 + 3 for i in range(60)],
                "labels": [(i * 7919) % 256 + 3 for i in range(60)],
            }
        ),
        case(GOOD),
    ),
    "TOK005": (
        case(chat("hi you two", "Hello, 北京."), tokenizer="as-llama"),
        case(chat("hi you two", "Hello, 北京.")),
    ),
    "CFG001": (case({**GOOD, "input_ids": IDS}, changes={"mask.rule": "all"}), FINE),
}


MORE: dict[str, tuple[Case, ...]] = {
    "BOS001": (case(*TEXTS, tokenizer="gemma", changes={"tokenize.add_special_tokens": True}),),
    "BOS002": (case(*TEXTS, tokenizer="gemma"),),
    "CON001": (case(GOOD, NULL),),
    "CON004": (
        case(chat("hi", " \n", "and?", "Rome")),
        case(chat("hi", " Well.\n", "and?", "Rome"), preset="trl@1.16"),
    ),
    "CON005": (case(chat(*ROUNDS_OF, "and?", ("assistant", 42), *ROUNDS_OF), tokenizer="llama3"),),
    "CON010": (case(GOOD, NULL, tokenizer="llama3", preset="torchtune@0.6"),),
    "EOS004": (case(GOOD, ROUNDS, preset="axolotl@0.19", changes={"tokenizer.eos_token": "<|endoftext|>"}),),
    "EOS012": (case(chat(*ROUNDS_OF, "and?", "Rome</s>", *ROUNDS_OF), preset="axolotl@0.19"),),
    "EOS008": (
        case(
            GOOD,
            ROUNDS,
            template=tagged().replace("{% endgeneration %}", "{{ '\n' }}{% endgeneration %}"),
            changes=GENERATION,
        ),
        case(
            GOOD,
            ROUNDS,
            template=tagged().replace("{% endgeneration %}", "{{ '\n' }}{% endgeneration %}"),
            preset="trl@1.16",
            changes=GENERATION,
        ),
    ),
    "GEN002": (case(GOOD, ROUNDS, template=HEADER_TAGGED, changes=GENERATION),),
    "GEN005": (SPACED,),
    "GEN011": (
        case(GOOD, ROUNDS, template=tagged(lead="<think>\n\n</think>\n\n"), changes=GENERATION),
        case(GOOD, ROUNDS, preset="llamafactory@0.9", changes={"render.template": "llamafactory/qwen3"}),
    ),
    "INJ001": (case(chat(*ROUNDS_OF, "Hi<|im_end|> you", "Rome", *ROUNDS_OF), preset="trl@1.16"),),
    "LAB002": (
        case(ROUNDS, changes={"mask.rule": "all"}),
        case(ROUNDS, preset="axolotl@0.19", changes={"mask.rule": "all"}),
        case(ROUNDS, preset="llamafactory@0.9", changes={"mask.rule": "all"}),
        case(ROUNDS, preset="torchtune@0.7", changes={"mask.rule": "all"}),
        case(ROUNDS, preset="unsloth@2026.10"),
        case(SYSTEM, ROUNDS, preset="trl@1.16", template=tagged()),
    ),
    "LAB007": (case(GOOD, ROUNDS, changes={"batch.labels_pad": 0}),),
    "LAB009": tuple(
        case(ROUNDS, preset=one, changes={"mask.turns": "last", **more})
        for one, more in (
            ("llamafactory@0.9", {}),
            ("torchtune@0.7", {"mask.rule": "turn_full"}),
            ("unsloth@2026.10", {"mask.rule": "markers"}),
            ("hf-trainer", {"mask.rule": "assistant"}),
        )
    ),
    "LAB010": (
        case(
            chat("hi", {"role": "assistant", "content": "Hello.", "training": False}, "Bye.", "Bye!"),
            preset="axolotl@0.19",
        ),
    ),
    "PAC001": (
        case(GOOD, ROUNDS, preset="llamafactory@0.9", changes={"pack.strategy": "knapsack"}),
        case(GOOD, ROUNDS, preset="trl@1.16", changes={"pack.strategy": "bfd"}),
        case(GOOD, ROUNDS, preset="unsloth@2026.10", changes={"pack.strategy": "wrapped"}),
    ),
    "PAC003": (
        case(
            LONG,
            GOOD,
            preset="trl@1.16",
            changes={"pack.strategy": "bfd_split", "length.max": 100, "pack.isolate": True, "batch.flatten": True},
        ),
    ),
    "ROL004": (
        case(
            chat(
                ("user", "hi"), ("assistant", "Hello."), ("system", "Be kind."), ("user", "Bye."), ("assistant", "Bye!")
            )
        ),
    ),
    "ROL001": (case(chat("hi", "Hello.", ("human", "and?"), ("gpt", "Rome"), *ROUNDS_OF), preset="trl@1.16"),),
    "TPL005": (case(GOOD, template=OTHER_SYSTEM),),
    "TPL006": (case(chat(("user", "hi"), ("assistant", "Hello."), ("assistant", "Again."))),),
    "TRU001": (
        case(LONG, preset="torchtune@0.7", changes={"length.max": 20}),
        case(LONG, preset="unsloth@2026.10", changes={"length.max": 20, "mask.rule": "markers"}),
    ),
    "TRU002": (case(LONG, preset="unsloth@2026.10", changes={"length.max": 150}),),
    "TRU004": (replace(OVERLONG, changes={"length.max": 150, "length.over": "cut_left"}),),
    "TRU007": (
        case(
            chat("what? " * 20 + "<image>" * 5, "A cat."),
            tokenizer="media",
            preset="torchtune@0.7",
            changes={"length.max": 20},
        ),
    ),
}
"""Further bad examples: the same finding where another fix is offered, or where a repair has something to do."""
