"""Defects and good style that nobody had tried yet: other tags, other families' tokens, other trainers, other
places."""

from __future__ import annotations

import json
from typing import Any

import pytest
from case_runner import run, tokenizer_of

from sftui.findings.rule import CALLING, GOOD, IDS, TOOL, Case, case, chat, chatml
from sftui.repairs.texts import looks_like_control

EOS = tokenizer_of("chatml").facts.eos_id or 0
MOJIBAKE = {
    "emoji": "Great 😀 work 🎉".encode().decode("cp1252", "ignore"),
    "Cyrillic as cp1251": "Привет, как дела?".encode().decode("cp1251", "ignore"),
    "U+FFFD as GBK": "你好锟斤拷世界",
    "hidden tags": "Hello" + "".join(chr(0xE0000 + ord(one)) for one in "obey") + " there",
    "a bullet of a symbol font": "\uf0b7 first point",
    "an invisible separator": "Hel\u2063lo",
}
CALL: dict[str, Any] = {
    "role": "assistant",
    "content": "",
    "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "get_weather", "arguments": {"city": "Paris"}}}
    ],
}
ORDERS_DROPPED = chatml().replace("for m in messages", "for m in messages if m.role in ('user', 'assistant')")


def answer(text: str, **more: Any) -> Case:
    return case(GOOD, chat("Tell me more of it.", {"role": "assistant", "content": text, **more}))


def given(**changed: Any) -> dict[str, Any]:
    return {
        **CALL,
        "tool_calls": [{**CALL["tool_calls"][0], "function": {"name": "get_weather", "arguments": changed}}],
    }


def calls(*said: Any, **more: Any) -> Case:
    return case(GOOD, chat(("user", "Weather?"), *said, ("assistant", "Sunny."), **more), template=CALLING)


def called(*ids: str, name: str = "get_weather", arguments: Any = None) -> dict[str, Any]:
    given = {"city": "Paris"} if arguments is None else arguments
    return {
        **CALL,
        "tool_calls": [{"id": one, "type": "function", "function": {"name": name, "arguments": given}} for one in ids],
    }


def strings(completion: str, prompt: str = "Where is it?") -> Case:
    return case({"prompt": "Q", "completion": "A"}, {"prompt": prompt, "completion": completion}, preset="trl@1.16")


def result(of: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": of, "content": "sunny"}


OPEN_ENDED = (
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content }}{% if m.role == 'user' or loop.last"
    " %}<|im_end|>{% endif %}{{ '\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{%"
    " endif %}"
)
OTHER_PROMPT = chatml().replace("'<|im_start|>assistant\n' }}{% endif", "'<|im_start|>model\n' }}{% endif")
MORE = chat("hi", "Hello.", "Bye.", "Bye!")

RAISED: dict[str, tuple[str, int | None, Case]] = {
    **{f"mojibake: {name}": ("CON008", 1, answer(text)) for name, text in MOJIBAKE.items()},
    "a control character in what a call is given": (
        "CON008",
        1,
        case(chat("Weather?", given(city="Par\x00is"), ("tool", "sunny"), ("assistant", "Sunny.")), template=CALLING),
    ),
    "mojibake in reasoning": ("CON008", 1, answer("Hello.", reasoning_content="CafÃ© dÃ©jÃ\xa0 vu")),
    "a part whose text is a value": (
        "CON008",
        0,
        case(chat(("user", [{"type": "text", "value": "a\x1bb"}]), ("assistant", "Hello."))),
    ),
    **{
        f"the stop of another family: {one}": ("EOS012", 1, answer(f"Hello.{one}"))
        for one in (
            "<|eom_id|>",
            "<|END_OF_TURN_TOKEN|>",
            "<|return|>",
            "<turn|>",
            "<|end_of_turn|>",
            "<end_of_utterance>",
            "[EOS]",
            "<EOS>",
        )
    },
    "a foreign turn begun in an answer": ("EOS012", 1, case(chat("hi", "Hello.\n<start_of_turn>user\nhi again"))),
    "a foreign stop in what a call is given": (
        "EOS012",
        1,
        case(
            chat("Weather?", given(city="Paris<|eot_id|>"), ("tool", "sunny"), ("assistant", "Sunny.")),
            template=CALLING,
        ),
    ),
    "a stop behind one that is shown as code": ("EOS012", 1, answer("Llama 2 ends with `</s>`.</s>")),
    **{
        f"a thought in {one} that never ends": ("THK005", 1, answer(f"{one}\nThey ask for more.\n\nHere it is."))
        for one in ("<thinking>", "<reasoning>", "[THINK]", "<seed:think>")
    },
    "an orphan of another kind": ("THK005", 1, answer("They ask for more.\n</thinking>\n\nHere it is.")),
    "tags the wrong way round": ("THK005", 1, answer("</think>\nThey ask for more.\n<think>\n\nHere it is.")),
    "a developer message that is dropped": (
        "TPL003",
        0,
        case(chat(("developer", "Be kind."), ("user", "hi"), ("assistant", "Hello.")), template=ORDERS_DROPPED),
    ),
    "a later system message that is dropped": (
        "TPL003",
        2,
        case(
            chat("hi", "Hello.", ("system", "Be rude."), ("user", "Bye."), ("assistant", "Bye!")),
            template=ORDERS_DROPPED,
        ),
    ),
    "a remark beside a call": (
        "TPL015",
        1,
        case(
            chat("Weather?", {**CALL, "content": "Let me look that up."}, ("tool", "sunny"), ("assistant", "Sunny.")),
            template=chatml(
                "{% if m.tool_calls %}{{ m.tool_calls[0].function | tojson }}{% else %}{{ m.content }}{% endif"
                " %}<|im_end|>"
            ),
        ),
    ),
    "a result that comes twice": ("TOO006", 3, calls(called("a"), result("a"), result("a"))),
    "a result of a call that one without an id has answered": (
        "TOO006",
        3,
        calls(called("a", "b"), ("tool", "sunny"), result("a")),
    ),
    "another format than the tokenizer's own, which has no system message": (
        "TPL016",
        2,
        case(
            chat(("system", "Be kind."), ("user", "hi"), ("assistant", "Hello.")),
            tokenizer="gemma",
            preset="llamafactory@0.9",
            changes={"render.template": "llamafactory/qwen"},
        ),
    ),
    "a pad in a question": ("PAD004", 0, case(chat("so <|endoftext|> it goes", "Hello."))),
    "two calls of one id": ("TOO006", 1, calls(called("a", "a"), result("a"), result("a"))),
    "a call of a tool that the row does not have": (
        "TOO006",
        1,
        calls(called("a", name="get_wether"), result("a"), tools=[TOOL]),
    ),
    "arguments in a list": ("TOO006", 1, calls(called("a", arguments='["Paris"]'), result("a"))),
    "arguments as JSON text in JSON text": (
        "TOO006",
        1,
        calls(called("a", arguments='"{\\"city\\": \\"Paris\\"}"'), result("a")),
    ),
    "a call without a name": (
        "TOO006",
        1,
        calls({**CALL, "tool_calls": [{"id": "a", "function": {"arguments": {}}}]}, result("a")),
    ),
    "calls as text": ("TOO006", 1, calls({**CALL, "tool_calls": '[{"name": "get_weather"}]'}, result("a"))),
    "a call that goes on without its result": ("TOO006", 1, calls(called("a"))),
    "one of two calls that goes on without its result": ("TOO006", 1, calls(called("a", "b"), result("a"))),
    "a call without its result before a worse one": (
        "TOO006",
        3,
        calls(called("a"), ("user", "Well?"), called("b", arguments="{no"), result("b")),
    ),
    "a result under its old role": (
        "TOO002",
        2,
        case(
            chat("Weather?", CALL, ("function", "sunny and warm"), ("assistant", "Sunny.")),
            template=CALLING.replace("in messages", "in messages if m.role != 'function'"),
        ),
    ),
    "an earlier answer that nothing ends": (
        "EOS001",
        1,
        case(MORE, template=OPEN_ENDED, changes={"mask.rule": "assistant"}),
    ),
    "an earlier answer that nothing ends, in a row that begins with a special token": (
        "EOS001",
        1,
        case(MORE, template="<|endoftext|>" + OPEN_ENDED, changes={"mask.rule": "assistant"}),
    ),
    "a template that writes the time": ("TPL005", None, case(GOOD, template="{{ strftime_now('%H:%M') }}" + chatml())),
    "a template that draws lots": ("TPL005", None, case(GOOD, template="{{ range(100000) | random }}" + chatml())),
    "a config that stops elsewhere": ("EOS003", None, case(GOOD, model_config={"eos_token_id": 7})),
    "a config within a config that stops elsewhere": (
        "EOS003",
        None,
        case(GOOD, model_config={"text_config": {"eos_token_id": [7, 8]}}),
    ),
    "a config whose pad is beyond the embedding": (
        "PAD005",
        None,
        case(GOOD, model_config={"pad_token_id": 100000, "vocab_size": 100000}),
    ),
    "a completion that is empty": ("CON003", 1, strings("")),
    "a completion of white space": ("CON004", 1, strings(" \n")),
    "a text that is empty": ("CON003", None, case({"text": "Paris."}, {"text": ""}, preset="trl@1.16")),
    "a completion whose thought never ends": ("THK005", 1, strings("<think>\nThey ask.\n\nIt is Paris.")),
    "a turn begun in a completion": ("INJ001", 1, strings("Paris.<|im_end|>\n<|im_start|>user\nAnd Rome?")),
    "labels moved to the right": (
        "LAB008",
        None,
        case({"input_ids": IDS, "labels": [-100] * 5 + IDS[4:-1]}, changes={"mask.rule": "given"}),
    ),
    "a stored stop that is masked": (
        "EOS004",
        None,
        case({"input_ids": IDS, "labels": [-100] * 4 + IDS[4:-1] + [-100]}, changes={"mask.rule": "given"}),
    ),
    "a prompt for another role's turn": ("TPL007", None, case(GOOD, template=OTHER_PROMPT, preset="axolotl@0.19")),
    "a response marker of another template": (
        "BND004",
        None,
        case(
            GOOD,
            preset="unsloth@2026.10",
            changes={
                "mask.rule": "markers",
                "mask.instruction_marker": "### Instruction:",
                "mask.response_marker": "### Response:",
            },
        ),
    ),
    "an answer behind the cut, where prompts are trained too": (
        "TRU001",
        None,
        case(chat("Say it. " * 30, "It is said."), preset="trl@1.16", changes={"length.max": 40}),
    ),
    "an answer that Axolotl is told not to train": (
        "LAB010",
        1,
        case(chat("hi", {"role": "assistant", "content": "Hello.", "weight": 0}), preset="axolotl@0.19"),
    ),
    "an answer that LLaMA-Factory is told not to train": (
        "LAB010",
        1,
        case(chat("hi", {"role": "assistant", "content": "Hello.", "train": False}), preset="llamafactory@0.9"),
    ),
    "reasoning under a key whose name is only part of another": (
        "THK003",
        1,
        case(
            chat("hi", {"role": "assistant", "content": "Hello.", "thinking": "They greet me."}),
            template=chatml("{% if enable_thinking %}<think>{% endif %}{{ m.content }}<|im_end|>"),
            preset="axolotl@0.19",
        ),
    ),
    "a call that LLaMA-Factory leaves behind": (
        "TOO002",
        1,
        case(chat("Weather?", CALL, "And now?", "Sunny."), preset="llamafactory@0.9"),
    ),
    "reasoning that LLaMA-Factory leaves behind": (
        "THK003",
        1,
        case(
            chat("hi", {"role": "assistant", "content": "Hello.", "reasoning_content": "They greet me."}),
            preset="llamafactory@0.9",
        ),
    ),
}

PASSED: dict[str, tuple[str, Case]] = {
    "the flag of England": (
        "CON008",
        answer("From \U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f with love"),
    ),
    "Cyrillic": ("CON008", answer("Россия, Рим, Рязань: СССР и США")),
    "a word of Latin letters with accents": ("CON008", answer("ÉTÉ À LA PLAGE – ŒUVRE ÂGÉE, Ângela ð")),
    "commands of LaTeX": ("CON012", answer(r"The gradient $\nabla f$ and $\nu \neq \nabla \cdot n$, so $\neg p$.")),
    "JSON text of a call": (
        "CON012",
        case(
            chat(
                "Weather?",
                {
                    **CALL,
                    "tool_calls": [{"function": {"name": "get_weather", "arguments": '{"city": "a\\\\nb\\\\nc"}'}}],
                },
                ("tool", "sunny"),
                ("assistant", "Sunny."),
            ),
            template=CALLING,
        ),
    ),
    "a stop in a sentence": ("EOS012", answer("In HTML </s> ends a text that is struck through.")),
    "stops in a list of names": ("EOS012", answer("GPT-2 ends with <|endoftext|>, Gemma 4 ends turns with <turn|>.")),
    "a stop as code": ("EOS012", answer("Append `</s>` to it:\n```diff\n- </s>\n+ <eos>\n```")),
    "a tag behind an open fence in a thought": (
        "THK005",
        answer("<think>Use ``` there.</think>\n```python\nx = 1\n```"),
    ),
    "code that strips thoughts": (
        "THK005",
        answer('```python\nre.sub(r"<think>.*?</think>\\n", "", text)\n# </think>\n```'),
    ),
    "a system message that is folded": (
        "TPL003",
        case(
            chat(("system", "Be kind."), ("user", "hi"), ("assistant", "Hello.")),
            template=(
                "{% for m in messages %}{% if m.role == 'system' %}{{ m.content }}\n{% else %}{{ '<|im_start|>' +"
                " m.role + '\n' + m.content }}<|im_end|>\n{% endif %}{% endfor %}"
            ),
        ),
    ),
    "a remark that is printed": (
        "TPL015",
        case(
            chat(
                "Weather?",
                {**CALL, "content": "Let me look that up."},
                ("tool", "sunny"),
                ("assistant", "Sunny."),
                tools=[TOOL],
            ),
            template=CALLING,
        ),
    ),
    "a thought that the template takes out": (
        "TPL015",
        case(
            chat("hi", "<think>They greet.</think>", "Bye.", "Bye!"),
            template=chatml("{{ m.content.split('</think>')[-1] }}<|im_end|>"),
        ),
    ),
    "a result by its order": ("TOO006", calls(called("a", "b"), ("tool", "sunny"), ("tool", "warm"))),
    "calls with ids that are used anew": ("TOO006", calls(called("a"), result("a"), called("a"), result("a"))),
    "a call that is given nothing": ("TOO006", calls(called("a", arguments="{}"), result("a"), tools=[TOOL])),
    "a row that ends with its call": ("TOO006", case(chat("Weather?", CALL, tools=[TOOL]), template=CALLING)),
    "answers that all have an end": ("EOS001", case(MORE, changes={"mask.rule": "assistant"})),
    "answers that the next role's mark ends": (
        "EOS001",
        case(MORE, tokenizer="gemma", changes={"mask.rule": "assistant"}),
    ),
    "no mark of the next turn for an end": ("EOS007", case(MORE, template=OPEN_ENDED, changes={"mask.rule": "all"})),
    "a config beside a generation config": (
        "EOS003",
        case(GOOD, model_config={"eos_token_id": 7}, generation_config={"eos_token_id": [EOS]}),
    ),
    "a config that stops where answers end": ("EOS003", case(GOOD, model_config={"eos_token_id": [7, EOS]})),
    "a config with a pad of its own": ("PAD005", case(GOOD, model_config={"pad_token_id": -1, "vocab_size": 100000})),
    "a completion that ends with its stop": ("INJ001", strings("Paris.<|im_end|>\n")),
    "a prompt that was rendered beforehand": (
        "INJ001",
        strings("Paris.<|im_end|>\n<|im_start|>user\nAnd Rome?", "<|im_start|>user\nhi<|im_end|>\n"),
    ),
    "a completion that begins with a blank": ("CON004", strings(" Paris.")),
    "stored stops of which some are trained": (
        "EOS004",
        case({"input_ids": [*IDS, *IDS], "labels": [*IDS[:-1], -100, *IDS]}, changes={"mask.rule": "given"}),
    ),
    "a prompt for the same turn": ("TPL007", case(GOOD, template=chatml(), preset="axolotl@0.19")),
    "an answer whose call LLaMA-Factory leaves behind": (
        "CON003",
        case(chat("Weather?", CALL, "And now?", "Sunny."), preset="llamafactory@0.9"),
    ),
    "a first answer before the cut": (
        "TRU001",
        case(chat("hi", "Hello.", "Say it. " * 30, "It is said."), preset="trl@1.16", changes={"length.max": 40}),
    ),
    "a flag that says yes": (
        "LAB010",
        case(chat("hi", {"role": "assistant", "content": "Hello.", "weight": 1}), preset="axolotl@0.19"),
    ),
    "a flag on a question": (
        "LAB010",
        case(
            chat({"role": "user", "content": "hi", "weight": 0}, {"role": "assistant", "content": "Hello."}),
            preset="axolotl@0.19",
        ),
    ),
}


@pytest.mark.parametrize("name", RAISED)
def test_told_at_its_message(name: str) -> None:
    code, message, case = RAISED[name]
    found = run(case)
    assert message in [one.message for one in found.of(code)], [
        (one.code, one.message, one.sentence) for one in found.findings
    ]


@pytest.mark.parametrize("name", PASSED)
def test_not_told(name: str) -> None:
    code, case = PASSED[name]
    found = run(case)
    assert code not in found.codes, found.of(code)[0].sentence


def test_the_repair_takes_out_what_is_told_and_leaves_what_is_shown() -> None:
    for stop in ("<|eom_id|>", "<turn|>", "<end_of_utterance>", "[EOS]", "<EOS>", "</s>"):
        assert looks_like_control(f"Hello.{stop}") == [stop]
    assert looks_like_control("<s>[INST] hi [/INST] Hello.</s><s>[INST] Bye") == [
        "<s>",
        "[INST]",
        "[/INST]",
        "</s>",
        "<s>",
        "[INST]",
    ]
    for text in ("Append `</s>` to it.", "```diff\n- </s>\n```", "It costs <s>12</s> 10 euros."):
        assert looks_like_control(text) == []


def test_an_answer_behind_the_system_message_is_not_said_to_follow_an_answer() -> None:
    found = run(case(chat(("system", "Be kind."), ("assistant", "Hello."), ("user", "hi"), ("assistant", "Yes?"))))
    assert "follows the system" in found.of("TPL006")[0].sentence


@pytest.mark.parametrize("preset", ["trl@1.16", "unsloth@2026.10", "llamafactory@0.9"])
def test_a_rule_that_the_trainer_does_not_have_is_no_rows_fault(preset: str) -> None:
    found = run(case(GOOD, preset=preset, changes={"mask.rule": "assistant"})).of("ROW004")
    assert found and all("has no mask.rule `assistant`" in one.sentence for one in found)
    for one in found:
        assert one.fix is not None and not one.fix.repairs
        assert [(change.path, change.before) for change in one.fix.changes] == [("mask.rule", "assistant")]


def test_what_a_template_differs_in_does_not_hang_on_the_first_row() -> None:
    """Tools are JSON text there, and an empty list of them is none."""
    turns = [("human", "hi"), ("gpt", "Hello.")]
    chats = {"conversations": [{"from": role, "value": text} for role, text in turns]}
    tool = {"name": "weather", "description": "", "parameters": {"type": "object", "properties": {}}}
    rows = [{**chats, "tools": json.dumps(tools)} for tools in ([], [tool])]
    told = []
    for order in (rows, rows[::-1]):
        found = run(case(*order, preset="llamafactory@0.9", changes={"render.template": "llamafactory/chatml"}))
        told.append({(rows.index(order[one.row or 0]), one.sentence) for one in found.of("TPL016")})
    assert told[0] == told[1] and told[0], told
