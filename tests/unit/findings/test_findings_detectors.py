"""What answers, calls and questions are wrong in themselves: by hand, and put into rows of real sets."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest
from case_runner import run

from sftui.findings.rule import Case, chat
from sftui.findings.rules.answers import CON019, CON020, CON021
from sftui.findings.rules.cut import CON017, CON018

Row = dict[str, Any]
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
    ],
    ids=["few", "all alike", "short ones", "in the middle", "few lengths"],
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
        (chat("Who? Answer in JSON or as a text, not only JSON.", "It is Ann."), False),
        (chat("What is valid JSON?", "A text."), False),
        (chat("If you call a function, return only JSON. Who?", "It is Ann."), False),
        (chat(JSON_ONLY, '{"name": "Ann"}', "Thanks!", "You are welcome."), False),
    ],
)
def test_answers_that_must_be_json(row: Row, wrong: bool) -> None:
    assert (CON021.code in codes(row)) is wrong


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


def _no_question(question: str, answer: str, random: Random) -> Row:
    return chat(random.choice(["", " ", "\n\n"]), answer)


def _not_json(question: str, answer: str, random: Random) -> Row:
    asked = random.choice(["Reply only with JSON.", "Output a valid JSON object.", "Return JSON only."])
    held = {"answer": answer, "sure": random.choice([True, None])}
    return chat(f"{question}\n{asked}", random.choice([answer, str(held), json.dumps(held)[:-5], f"Sure! {held}"]))


PUT: Mapping[str, Callable[[str, str, Random], Row]] = {
    "CON017 fence": _fence,
    "CON017 json": _json,
    "CON017 bracket": _bracket,
    "CON019": _loop,
    "CON020": _no_question,
    "CON021": _not_json,
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
    before, after = ({one.row for one in run(Case(rows)).of(code)} for rows in (right, wrong))
    with capsys.disabled():
        print(f"\n{defect}: {len(after)} of {len(wrong)}, {len(before)} before")
    assert not before
    assert len(after) >= 48, [row["messages"][1] for number, row in enumerate(wrong) if number not in after]
