"""What answers, calls and questions are wrong in themselves: by hand, and put into rows of real sets."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest
from case_runner import run

from sftui.findings.model import Severity
from sftui.findings.rule import CALL, CALLING, Case, chat, chatml
from sftui.findings.rules.answers import CON019, CON020, CON021
from sftui.findings.rules.call_schema import TOO008
from sftui.findings.rules.call_text import TOO009, TOO010, TPL024
from sftui.findings.rules.cut import CON017, CON018, CON022, _piled
from sftui.findings.rules.headers import INJ003
from sftui.findings.rules.missing import CON023, THK008
from sftui.findings.rules.reasoning import THK007
from sftui.findings.words import ends_whole
from sftui.tokens import load_tokenizer

Row = dict[str, Any]
OWN = TOO009.bad.template or ""
STRINGS = "trl@1.16"
"""It takes a prompt and a completion as they are."""
JSON_ONLY = "Who? Respond only with valid JSON."


def codes(*rows: Row, **more: Any) -> set[str]:
    return run(Case(list(rows), **more)).codes


@pytest.mark.parametrize(
    "answer",
    [
        "Run:\n```sh\nls\n```\nand\n```python\nfor one in",
        "1. Run:\n   ```sh\n   ls -",
        '{"a": [1, {"b": "c"',
        '[["a", "b"], ["c',
        "It is cold (and we",
        "It is (as far as we know,",
    ],
)
def test_answers_that_are_cut(answer: str) -> None:
    assert CON017.code in codes(chat("hi", answer))
    assert CON017.code in codes({"prompt": "hi", "completion": answer})


@pytest.mark.parametrize(
    "answer",
    [
        "Run:\n```sh\nls\n```",
        "````md\n```python\nx\n```\n````\nDone.",
        "```md\n```python\nx\n```\n```\nDone.",
        "Write ``` before and ``` behind it.",
        "It ends with ```",
        "Run ```ls` or\n```",
        '{"a": [1, {"b": "\\"["}]}',
        '{"a": 5"}',
        '[["a"]] and more {',
        "[link](so) it is",
        "It is cold (so) and",
        "It is in [0, 1) and",
        "a) one\nb) two",
        "So sad :(",
        "Let `f(x` be",
    ],
)
def test_answers_that_are_whole(answer: str) -> None:
    assert CON017.code not in codes(chat("hi", answer))


@pytest.mark.parametrize(
    ("more", "cut"),
    [
        ({"finish_reason": "length"}, True),
        ({"meta": {"stop_reason": "MAX_TOKENS"}}, True),
        ({"finish_reason": ["stop", "length"]}, True),
        ({"finish_reason": "stop"}, False),
        ({"finish_reason": None, "length": "length"}, False),
        ({"meta": {"stop_reason": 3}}, False),
    ],
)
def test_what_rows_say_of_their_end(more: Row, cut: bool) -> None:
    assert (CON017.code in codes({**chat("hi", "Hello."), **more})) is cut
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Hello.", **more}]
    assert (CON017.code in codes({"messages": messages})) is (cut and "meta" not in more)


@pytest.mark.parametrize(
    "lengths",
    [
        [*range(30, 110), *[90] * 5],
        [90] * 100,
        [*range(30, 70), *[8] * 60],
        [*range(30, 90), *[60] * 40],
        [*[30, 40, 50] * 20, *[90] * 30],
        [*[*range(30, 70)] * 6, *[69] * 18],
    ],
    ids=["few", "all alike", "short ones", "in the middle", "few lengths", "repeated"],
)
def test_lengths_that_pile_up_for_no_limit(lengths: list[int]) -> None:
    assert CON018.code not in codes(*[chat(f"Tell {n}.", "so it goes " * n) for n in lengths])


@pytest.mark.parametrize(
    ("answer", "loops"),
    [
        ("Well. " + "the the " * 60, True),
        ("x" + "ха" * 200, True),
        ("So. " + "I do not know. " * 30 + "Now that was all that there is.", True),
        ("Hm. " + "- | - | " * 60, False),
        ("Say:\n```\n" + "none, " * 60 + "\n```", False),
        ("It goes on. " * 20, False),
        ("".join(f"The name of number {i} is not known to anyone. " for i in range(30)), False),
    ],
)
def test_answers_in_a_loop(answer: str, loops: bool) -> None:
    assert (CON019.code in codes(chat("hi", answer))) is loops


@pytest.mark.parametrize("said", ["", " \n", [], [{"type": "text", "text": " "}], [""]])
def test_questions_that_say_nothing(said: Any) -> None:
    assert CON020.code in codes(chat("hi", "Hello.", ("user", said), "Good."))


def test_questions_that_say_nothing_in_another_format() -> None:
    turns = [{"from": "human", "value": " "}, {"from": "gpt", "value": "Hello."}]
    assert CON020.code in codes({"conversations": turns}, preset="llamafactory@0.9")


def test_a_question_that_the_trainer_reads_nothing_of_is_none() -> None:
    parts = [{"type": "text", "value": "Who?"}]
    assert CON020.code not in codes(chat(("user", parts), "Me."), preset="nemo-automodel@0.7")


@pytest.mark.parametrize("said", ["?", None, [{"type": "image"}], [{"type": "text", "text": "So?"}]])
def test_questions_that_say_something(said: Any) -> None:
    assert CON020.code not in codes(chat("hi", "Hello.", ("user", said), "Good."))


@pytest.mark.parametrize(
    ("row", "wrong"),
    [
        (chat(JSON_ONLY, "It is Ann."), True),
        (chat(JSON_ONLY, '{"name": "Ann",}'), True),
        (chat(JSON_ONLY, '{"name": "An'), True),
        (chat(JSON_ONLY, '{"name": "Ann"} That is all.'), True),
        (chat(("system", "You help. Always answer in JSON only, please."), ("user", "hi"), ("assistant", "Ann")), True),
        (chat(JSON_ONLY, "<think>Well: who?</think>\n[1]"), False),
        (chat(JSON_ONLY, '{"name": "Ann"}\n{"name": "Bo"}'), False),
        (chat("Who? Answer with a JSON object and nothing else.", "It is Ann."), True),
        (chat("Who? Answer in JSON or as a text, not only JSON.", "It is Ann."), False),
        (chat("What is valid JSON?", "A text."), False),
        (chat(JSON_ONLY, "```\n[1]\n```\n"), False),
        (chat(JSON_ONLY, "```JSON\n" + " \n" * 20_000 + "[1]```"), False),
        (chat(JSON_ONLY, "```json\n[1"), True),
        (chat(JSON_ONLY, "```json\n[1,]\n```"), True),
        (chat("If you call a function, return only JSON. Who?", "It is Ann."), False),
        (chat(JSON_ONLY, '{"name": "Ann"}', "Thanks!", "You are welcome."), False),
    ],
)
def test_answers_that_must_be_json(row: Row, wrong: bool) -> None:
    assert (CON021.code in codes(row)) is wrong


SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "days": {"type": "int"},
        "unit": {"type": ["string", "null"], "enum": ["C", "F"]},
        "at": {"type": "object", "properties": {"hour": {"type": "number"}}, "required": ["hour"]},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["city"],
}
"""Types as JSON Schema names them, and one as Python does."""


def calling(arguments: Any, schema: Any = SCHEMA, name: str = "look") -> Row:
    call = {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": name, "arguments": arguments}}]}
    return chat("Weather?", call, tools=[{"type": "function", "function": {"name": "look", "parameters": schema}}])


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ({}, "lacks the required argument `city`"),
        ('{"days": 1}', "lacks the required argument `city`"),
        ({"city": 3}, "passes `city` as a number; the tool declares string"),
        ({"city": "Rome", "days": "3"}, "passes `days` as text; the tool declares int"),
        ({"city": "Rome", "days": True}, "passes `days` as true/false; the tool declares int"),
        ({"city": "Rome", "days": 1.5}, "passes `days` as a number; the tool declares int"),
        ({"city": "Rome", "unit": "K"}, "passes `unit` as K, which is not one of its 2 choices"),
        ({"city": "Rome", "at": {}}, "lacks the required argument `hour` in `at`"),
        ({"city": "Rome", "at": {"hour": "3"}}, "passes `hour` in `at` as text; the tool declares number"),
        ({"city": "Rome", "tags": ["a", 1]}, "passes an entry of `tags` as a number; the tool declares string"),
        ({"city": "Rome", "town": "Rome"}, "passes `town`, which the tool does not declare"),
    ],
)
def test_calls_against_their_schema(arguments: Any, what: str) -> None:
    [found] = run(Case([calling(arguments)], template=CALLING)).of(TOO008.code)
    assert found.sentence == f"the call to look in message 1 {what}"
    assert (found.severity is Severity.INFO) == ("does not declare" in what)


@pytest.mark.parametrize(
    "row",
    [
        calling({"city": "Rome", "days": 3.0, "unit": None, "at": {"hour": 1}, "tags": []}),
        calling({"city": 3}, {"type": "object", "properties": {"city": {"type": "colour"}}}),
        calling({"town": 3}, {"type": "object", "properties": {}}),
        calling({"town": 3}, {"type": "object", "properties": {"city": {}}, "patternProperties": {"t.*": {}}}),
        calling({}, name="other"),
        calling("no JSON"),
    ],
)
def test_calls_that_fit_or_are_not_declared(row: Row) -> None:
    assert TOO008.code not in codes(row, template=CALLING)


def test_an_argument_that_the_schema_excludes_is_a_warning() -> None:
    row = calling({"city": "Rome", "x": 1}, {**SCHEMA, "additionalProperties": False})
    assert [one.severity for one in run(Case([row], template=CALLING)).of(TOO008.code)] == [Severity.WARNING]


@pytest.mark.parametrize(
    ("said", "template", "foreign"),
    [
        ('<function=look>{"a": 1}</function>', OWN, True),
        ("I call.\n<|python_tag|>look()", OWN, True),
        ('[TOOL_CALLS]{"name": "look"}', OWN, False),
        ("Qwen writes <tool_call> before it.", OWN, False),
        ("```\n<tool_call>\n```", OWN, False),
        ('<function=look>{"a": 1}</function>', chatml(), False),
    ],
)
def test_calls_in_the_text(said: str, template: str, foreign: bool) -> None:
    assert (TOO009.code in codes(chat("hi", said), template=template)) is foreign
    asked = chat(("system", "Call with <function=NAME> or <|python_tag|>."), ("user", "hi"), ("assistant", said))
    assert TOO009.code not in codes(asked, template=template)


@pytest.mark.parametrize(
    ("arguments", "call", "python"),
    [
        ({"a": "b"}, "{{ c.function.arguments }}", True),
        ({"a": "b"}, "{{ c.function.arguments | tojson }}", False),
        ('{"a": "b"}', "{{ c.function.arguments }}", False),
        ({"a": True}, '{"a": {{ c.function.arguments.a }}}', True),
        ({"a": None}, '{"a": {{ c.function.arguments.a }}}', True),
        ({"a": True}, "look(a={{ c.function.arguments.a }})", False),
        ({"a": "None"}, '{"a": "{{ c.function.arguments.a }}"}', False),
    ],
)
def test_calls_as_python_prints_them(arguments: Any, call: str, python: bool) -> None:
    template = chatml("{% for c in m.tool_calls %}{{ c.function.name }}" + call + "{% endfor %}<|im_end|>")
    assert (TOO010.code in codes(calling(arguments), template=template)) is python


@pytest.mark.parametrize(
    ("question", "answer", "template", "doubled"),
    [
        ("Why?", "<think>\nSo.\n</think>\nYes.", chatml("<think>{{ m.content }}<|im_end|>"), True),
        ("Why?", "Yes.\n<end>", chatml("{{ m.content }}\n<end><|im_end|>"), True),
        ("Why?", "<p><p>Yes.</p>", chatml("{{ m.content }}<|im_end|>"), False),
        ("<b>Why</b>?", "<p>Yes.</p>", chatml("<think></think>{{ m.content }}<|im_end|>"), False),
        ("Why?", "Yes.<|im_end|>", chatml("{{ m.content }}<|im_end|>"), False),
    ],
)
def test_marks_that_data_and_template_bring(question: str, answer: str, template: str, doubled: bool) -> None:
    assert (TPL024.code in codes(chat(question, answer), template=template)) is doubled


THOUGHT = "<think>They ask who I am.</think>Me."


def mixed(thinking: Row, plain: Row, count: int = 10, **more: Any) -> set[str]:
    return codes(*[thinking] * count, *[plain] * count, **more)


@pytest.mark.parametrize(
    ("thinking", "plain"),
    [
        (chat("Who?", THOUGHT), chat("Who?", "Me.")),
        (chat("Who?", "Me.", "Who?", THOUGHT), chat("What?", "Me.")),
        (
            chat("Who?", {"role": "assistant", "content": "Me.", "reasoning_content": "So."}),
            chat(("system", "Be kind."), ("user", "Who?"), ("assistant", "Me.")),
        ),
    ],
)
def test_answers_that_think_or_not_by_chance(thinking: Row, plain: Row) -> None:
    template = chatml("{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}{{ m.content }}")
    found = run(Case([thinking, plain] * 10 + [thinking] * 2, template=template)).of(THK007.code)
    told = "system" in str(plain)
    assert [one.severity for one in found] == ([] if told else [Severity.WARNING])


@pytest.mark.parametrize(
    ("thinking", "plain"),
    [
        (chat("Who? /think", THOUGHT), chat("Who? /no_think", "Me.")),
        (chat("Who?", THOUGHT), chat("Who?", "Me.", enable_thinking=False)),
        (chat("Think step by step. Who?", THOUGHT), chat("Who?", "Me.")),
        (chat("Who?", "Me."), chat("Who?", "Me.")),
        (chat("Who?", THOUGHT), chat("Who?", THOUGHT)),
    ],
)
def test_answers_that_are_told_whether_to_think(thinking: Row, plain: Row) -> None:
    assert THK007.code not in mixed(thinking, plain)


def test_a_few_rows_without_a_thought_are_no_mixture() -> None:
    rows = [chat("Who?", THOUGHT)] * 60
    assert THK007.code not in codes(*rows, chat("Who?", "Me."), chat("Who?", "Me."))


def test_an_empty_thought_is_an_information() -> None:
    template = chatml("{% if '<think>' not in m.content %}<think>\n\n</think>{% endif %}{{ m.content }}<|im_end|>")
    found = run(Case([chat("Who?", THOUGHT), chat("Who?", "Me.")] * 5, template=template)).of(THK007.code)
    assert [one.severity for one in found] == [Severity.INFO]


def test_thoughts_that_the_template_strips_make_no_mixture() -> None:
    template = chatml("{{ m.content.split('</think>')[-1] }}<|im_end|>")
    assert THK007.code not in mixed(chat("Who?", THOUGHT), chat("Who?", "Me."), template=template)


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ("Me.\n### Instruction:\nSay more.", True),
        ("Me.\n<|user|>\nSay more.", True),
        ("Me.\n[INST] Say more.", True),
        ("Me.\n<start_of_turn>user\nSay more.", True),
        ("Me.\nHuman: Say more.", True),
        ("### Response: Me.", False),
        ("Me.\n### Instructions\nSay more.", False),
        ("Me. The word [INST] begins a turn.", False),
        ("Me.\n```\n<|user|>\n```", False),
        ("A play:\nHuman: Who?\nRobot: Me.", False),
        ("Me.\nUser: Say more.", False),
    ],
)
def test_answers_that_go_on_with_a_turn(answer: str, found: bool) -> None:
    assert (INJ003.code in codes(chat("Who?", answer))) is found
    assert (INJ003.code in codes({"prompt": "Who?", "completion": answer})) is found


def test_a_header_that_is_a_control_token_is_typed_in() -> None:
    found = codes(chat("Who?", "Me.\n<|im_start|>user\nAnd?"))
    assert INJ003.code not in found and "INJ001" in found


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ("<think>They ask who.</think>", "message 1 is only a thought"),
        ("\n<think>\nThey ask who.\n</think>\n\n", "message 1 is only a thought"),
        ("<think>\n\n</think>", "message 1 is only an empty thought"),
        ("[THINK]They ask.[/THINK]", "message 1 is only a thought"),
        ("<seed:think>They ask.</seed:think>", "message 1 is only a thought"),
        ("<think>They ask who.</think>Me.", ""),
        ("Me.<think>They ask who.</think>", ""),
        ("<think>They ask who.</think>Me.<think>Was it?</think>", ""),
        ("<think>They ask who.", ""),
        ("They ask who.</think>", ""),
        ("The tag is `</think>`", ""),
    ],
)
def test_an_answer_that_is_a_thought_alone(answer: str, found: str) -> None:
    assert [one.sentence for one in run(Case([chat("Who?", answer)])).of(THK008.code)] == [found] * bool(found)
    stored = run(Case([{"prompt": "Who?", "completion": answer}], preset=STRINGS)).of(THK008.code)
    assert [one.sentence for one in stored] == [found.replace("message 1", "the completion")] * bool(found)


def test_a_thought_that_its_prompt_opens_is_one() -> None:
    assert THK008.code in codes({"prompt": "Who?\n<think>\n", "completion": "They ask who.\n</think>"}, preset=STRINGS)
    assert THK008.code not in codes(
        {"prompt": "Who?\n<think>\n", "completion": "They ask who.\n</think>\nMe."}, preset=STRINGS
    )


def test_thoughts_before_a_call_or_another_message_are_right() -> None:
    thought = {"role": "assistant", "content": "<think>They ask who.</think>"}
    assert THK008.code not in codes(chat("Who?", {**CALL, "content": thought["content"]}), template=CALLING)
    assert THK008.code not in codes(chat("Who?", thought, ("assistant", "Me.")))
    assert THK008.code in codes(
        chat("Who?", thought, ("user", "And?"), ("assistant", "Me.")), changes={"mask.rule": "assistant"}
    )


def test_a_thought_that_is_not_trained_or_not_rendered_is_another_matter() -> None:
    rows = chat("Who?", "<think>They ask who.</think>", "And?", "Me.")
    assert THK008.code not in codes(rows, changes={"mask.rule": "completion"})
    beside = {"role": "assistant", "content": "", "reasoning_content": "They ask who."}
    shown = chatml("<think>{{ m.reasoning_content }}</think>{{ m.content }}<|im_end|>")
    assert THK008.code in codes(chat("Who?", beside), template=shown)
    assert THK008.code in codes(chat("Who?", {**beside, "content": None}), template=shown.replace("m.content", "''", 1))
    assert THK008.code not in codes(chat("Who?", {**beside, "content": "Me."}), template=shown)
    assert THK008.code not in codes(chat("Who?", beside))
    assert THK008.code not in codes(chat("Who?", {**beside, "reasoning_content": " "}), template=shown)


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        *[(word, Severity.WARNING) for word in ("nan", "NaN\n", " NaT", "<NA>", "#N/A")],
        *[(word, Severity.INFO) for word in ("None", "null", "NULL", "N/A", "undefined")],
        *[(word, None) for word in ("Nan", "none", "NONE", "None.", "nan nan", "0", "")],
    ],
)
def test_missing_values_as_text(text: str, severity: Severity | None) -> None:
    rows = [
        chat("Who?", text),
        chat(text, "Me."),
        {"prompt": "Who?", "completion": text},
        {"prompt": text, "completion": "Me."},
    ]
    for row, place in zip(rows, ("message 1", "message 0", "the completion", "the prompt")):
        found = run(Case([row], preset=STRINGS)).of(CON023.code)
        assert [one.severity for one in found] == [severity] * bool(severity)
        assert [one.sentence for one in found] == [f"{place} is `{text.strip()}`"] * bool(severity)


def _fence(question: str, answer: str, random: Random) -> Row:
    at = random.randrange(len(answer) // 2)
    return chat(question, f"{answer[:at]}\n```text\n{answer[at : random.randrange(at + 1, len(answer)) + 1]}")


def _json(question: str, answer: str, random: Random) -> Row:
    whole = json.dumps({"question": question, "parts": answer.split(), "answer": answer}, ensure_ascii=False)
    return chat(question, whole[: random.randrange(3, len(whole) - 1)])


def _bracket(question: str, answer: str, random: Random) -> Row:
    words = answer.splitlines()[0].split()
    at = random.randrange(len(words))
    return chat(question, " ".join([*words[:at], "(" + words[at].strip(".,:;)("), "and", "so"]))


def _loop(question: str, answer: str, random: Random) -> Row:
    at = random.randrange(len(answer) - 20)
    unit = answer[at : at + random.randrange(12, 80)]
    return chat(question, answer[:at] + unit * (300 // len(unit) + 7) + unit[: random.randrange(len(unit))])


def _next_turn(question: str, answer: str, random: Random) -> Row:
    header = random.choice(
        ["### Human:", "\n### Instruction:\n", "<|user|>\n", "[INST]", "Human:", "<\uff5cUser\uff5c>"]
    )
    return chat(question, f"{answer}\n{header} {question}")


def _no_question(question: str, answer: str, random: Random) -> Row:
    return chat(random.choice(["", " ", "\n\n"]), answer)


def _not_json(question: str, answer: str, random: Random) -> Row:
    asked = random.choice(["Reply only with JSON.", "Output a valid JSON object.", "Return JSON only."])
    held = {"answer": answer, "sure": random.choice([True, None])}
    return chat(f"{question}\n{asked}", random.choice([answer, str(held), json.dumps(held)[:-5], f"Sure! {held}"]))


def _thought(question: str, answer: str, random: Random) -> Row:
    opening, closing = random.choice([("<think>", "</think>"), ("[THINK]", "[/THINK]"), ("<thinking>", "</thinking>")])
    edge = random.choice(["", "\n", "\n\n"])
    return chat(question, f"{edge}{opening}{edge}{answer}{edge}{closing}{edge}")


def _nothing(question: str, answer: str, random: Random) -> Row:
    word = random.choice(["nan", "NaN", "NaT", "<NA>", "#N/A", "None", "null", "NULL", "N/A", "n/a", "undefined"])
    return random.choice([chat(question, word), {"prompt": question, "completion": f"{word}\n"}, chat(word, answer)])


PUT: Mapping[str, Callable[[str, str, Random], Row]] = {
    "CON017 fence": _fence,
    "CON017 json": _json,
    "CON017 bracket": _bracket,
    "INJ003": _next_turn,
    "CON019": _loop,
    "CON020": _no_question,
    "CON021": _not_json,
    "CON023": _nothing,
    "THK008": _thought,
}
"""What is put into a question with its answer, by the code that finds it."""


@pytest.mark.long
@pytest.mark.shared
@pytest.mark.parametrize("defect", sorted(PUT))
def test_defects_in_real_rows_are_found(defect: str, shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    random = Random(defect)
    rows = json.loads((shared / "testdata" / "datasets" / "alpaca_en_demo.json").read_text(encoding="utf-8"))
    plain = (row for row in rows if not row["input"] and 80 < len(row["output"]) < 800 and "```" not in row["output"])
    some = random.sample(list(plain), 50)
    right = [chat(row["instruction"], row["output"]) for row in some]
    wrong = [PUT[defect](row["instruction"], row["output"], random) for row in some]
    code = defect.partition(" ")[0]
    before, after = (
        {number for number, row in enumerate(rows) for _ in run(Case([row])).of(code)} for rows in (right, wrong)
    )
    with capsys.disabled():
        print(f"\n{defect}: {len(after)} of {len(wrong)}, {len(before)} before")
    assert not before
    assert len(after) >= 48, [row["messages"][1] for number, row in enumerate(wrong) if number not in after]


def _calls(shared: Path) -> list[Row]:
    """Rows of a question, a call and the tool it calls, of those that require something."""
    rows = json.loads((shared / "testdata" / "datasets" / "glaive_toolcall_en_demo.json").read_text(encoding="utf-8"))
    found = []
    for row in rows:
        turns = row["conversations"]
        call = next((json.loads(one["value"]) for one in turns if one["from"] == "function_call"), None)
        tools = json.loads(row["tools"] or "[]")
        tool = next((one for one in tools if call and one["name"] == call["name"]), None)
        if call and tool and tool["parameters"].get("required") and call["arguments"]:
            asked = {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": call}]}
            found.append(chat(turns[0]["value"], asked, tools=[{"type": "function", "function": tool}]))
    return found


def _misfit(row: Row, random: Random) -> Row:
    tool, call = row["tools"][0]["function"]["parameters"], row["messages"][1]["tool_calls"][0]["function"]
    given, key = dict(call["arguments"]), random.choice(tool["required"])
    if random.random() < 0.4:
        del given[key]
    else:
        given[key] = {"deep": [1]} if tool["properties"][key]["type"] != "object" else "text"
    return calling_again(row, given)


def calling_again(row: Row, given: Any) -> Row:
    function = row["messages"][1]["tool_calls"][0]["function"]
    call = {**row["messages"][1], "tool_calls": [{"function": {**function, "arguments": given}}]}
    return {**row, "messages": [row["messages"][0], call]}


def _as_text(row: Row, random: Random) -> Row:
    call = row["messages"][1]["tool_calls"][0]["function"]
    forms = (
        f"<tool_call>\n{json.dumps(call)}\n</tool_call>",
        f"<function={call['name']}>{json.dumps(call['arguments'])}</function>",
        f"I shall look.\n<|python_tag|>{json.dumps(call)}",
        f"<functioncall> {json.dumps(call)}",
    )
    return {**row, "messages": [row["messages"][0], {"role": "assistant", "content": random.choice(forms)}]}


def _same(row: Row, random: Random) -> Row:
    return row


OF_CALLS: Mapping[str, tuple[Callable[[Row, Random], Row], str, str]] = {
    "TOO008": (_misfit, CALLING, CALLING),
    "TOO009": (_as_text, OWN, OWN),
    "TOO010": (_same, CALLING, TOO010.bad.template or ""),
    "TPL024": (_same, chatml("{{ m.content }}<|im_end|>"), chatml("<think>\n{{ m.content }}<|im_end|>")),
}
"""What is put into a row that calls a tool, and the template before and after."""


@pytest.mark.long
@pytest.mark.shared
@pytest.mark.parametrize("code", sorted(OF_CALLS))
def test_defects_in_calls_are_found(code: str, shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    random = Random(code)
    defect, template, other = OF_CALLS[code]
    rows = random.sample(_calls(shared), 50)
    if code == "TPL024":
        rows = [chat(row["messages"][0]["content"], f"<think>\n{row['tools']}\n</think>\nSo.") for row in rows]
    before = run(Case(rows, template=template)).of(code)
    wrong = [defect(row, random) for row in rows]
    after = {one.row for one in run(Case(wrong, template=other)).of(code)}
    with capsys.disabled():
        print(f"\n{code}: {len(after)} of {len(wrong)}, {len(before)} before")
    assert len(before) == (code == "TOO008")  # a list of calories for a number, in the data as it comes
    assert len(after) >= 48, [row for number, row in enumerate(wrong) if number not in after]


@pytest.mark.long
@pytest.mark.shared
def test_mixed_sets_of_real_rows_are_found(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    random, rows, found = Random(7), json.loads((shared / "testdata/datasets/alpaca_en_demo.json").read_text()), 0
    for _ in range(50):
        some, share = random.sample(rows, 40), random.uniform(0.15, 0.85)
        thoughts = (f"<think>{one['input'] or 'They ask.'}</think>" if random.random() < share else "" for one in some)
        found += THK007.code in codes(*[chat(a["instruction"], b + a["output"]) for a, b in zip(some, thoughts)])
    with capsys.disabled():
        print(f"\nTHK007: {found} of 50")
    assert found >= 48 and THK007.code not in codes(*[chat(one["instruction"], one["output"]) for one in rows[:40]])


@pytest.mark.long
@pytest.mark.shared
@pytest.mark.parametrize("file", ["alpaca_en_demo.json", "alpaca_zh_demo.json"])
def test_limits_of_real_answers_are_found(file: str, shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of answers that are cut at a limit which a twentieth to a fifth of them reach, and never of whole ones."""
    rows = json.loads((shared / "testdata" / "datasets" / file).read_text(encoding="utf-8"))
    tokenizer, random, found = load_tokenizer("builtin:chatml"), Random(file), 0
    lengths = [len(tokenizer.encode(row["output"]).ids) for row in rows]
    for _ in range(50):
        some = sorted(random.sample(lengths, 500))
        limit = some[-random.randrange(25, 100)]
        assert not list(_piled(Counter(some)))
        found += [size for size, _ in _piled(Counter(min(limit, size) for size in some))] == [limit]
    with capsys.disabled():
        print(f"\nCON018: {found} of 50 in {file}")
    assert found >= 48


SENTENCE = "It rained for a week, and nobody left the house. "


@pytest.mark.parametrize(
    ("end", "whole"),
    [
        ("Then the people of the town came out and", False),
        ("Then the people of the town came out,", False),
        ("Then the people of the town came out.", True),
        ("Then the people came out:\n```\nx\n```", True),
        ("Then the number of the people was 4", None),
        ("Then\n- the people of the town came out and", None),
        ("Then the people of the town read https://example.org/a", None),
        ('They said: "It rains." - The people of that town', None),
    ],
)
def test_how_answers_end(end: str, whole: bool | None) -> None:
    assert ends_whole(SENTENCE * 3 + end) is whole
    assert ends_whole(end) is None


def test_answers_that_stop_in_a_sentence_stand_out_where_the_others_end_one() -> None:
    whole, cut = chat("hi", SENTENCE * 4), chat("hi", SENTENCE * 4 + "Then the people of the town came")
    [found] = run(Case([*[whole] * 60, cut, cut])).of(CON022.code)
    assert found.rows == (60, 61) and found.sentence.startswith("2 of 62 longer answers")
    assert CON022.code not in codes(*[whole] * 40, cut) | codes(*[whole] * 60, *[cut] * 4)
