"""What findings say of preferences, and that what they advise helps, by TRL's own DPOTrainer (marker parity).

Each case is a row that has the finding and the same one fixed: sftui and the trainer make the same ids of both, the
finding is there and gone, and `shows` says what the trainer did to the first and does not to the second.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from ask_pairs import MARK
from case import python_of

sys.path.append(str(Path(__file__).parents[1] / "unit" / "findings"))
from case_runner import Outcome, run
from right_pairs import answer, user

from sftui.findings import CODES
from sftui.findings.rule import Case
from sftui.findings.rules.preference import pair, pairs, strings
from sftui.tokens.builtin import folder

pytestmark = pytest.mark.parity
Made = Sequence[Sequence[Mapping[str, Any]]]
"""By row and side what the trainer made of it."""
SCRIPT = Path(__file__).with_name("ask_pairs.py")
ASKED = [user("What is the capital of France?")]
LONG = "The port of the town is open on all days but one. " * 16
EMPTY_THOUGHT = (
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' }}{% if m.role == 'assistant' and '<think>' not in"
    " m.content %}{{ '<think>\n\n</think>\n\n' }}{% endif %}{{ m.content }}<|im_end|>{{ '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% if enable_thinking is defined and not"
    " enable_thinking %}{{ '<think>\n\n</think>\n\n' }}{% endif %}{% endif %}"
)


@dataclass(frozen=True)
class Fixed:
    code: str
    bad: Case
    good: Case
    shows: Callable[[Made], bool]
    name: str = field(default="")

    def __str__(self) -> str:
        return f"{self.code} {self.name}".strip()


def answers(made: Made) -> list[str]:
    return [side["answer"] for sides in made for side in sides]


def same(made: Made) -> bool:
    return bool(made[0][0]["ids"] == made[0][1]["ids"])


def says(text: str) -> Callable[[Made], bool]:
    return lambda made: any(text in one for one in answers(made))


def ends(made: Made) -> list[int]:
    return [one.rstrip().count("<|im_end|>") for one in answers(made)]


def turns(*said: str) -> list[dict[str, Any]]:
    return [(answer, user)[at % 2](text) for at, text in enumerate(said)]


def implicit(chosen: list[dict[str, Any]], rejected: list[dict[str, Any]]) -> dict[str, Any]:
    return {"chosen": [*ASKED, *chosen], "rejected": [*ASKED, *rejected]}


def cut(case: Case, most: int) -> Case:
    return replace(case, changes={**case.changes, "length.max": most})


RIGHT = pairs(pair())
REPEATED = pairs(pair([*ASKED, answer("Paris.")], [*ASKED, answer("Lyon.")]))
FIXED = [
    Fixed("PRF001", pairs(pair("Paris.", "Paris.")), RIGHT, same),
    Fixed("PRF002", REPEATED, pairs(implicit([answer("Paris.")], [answer("Lyon.")])), says("capital"), "no prompt"),
    Fixed("PRF002", REPEATED, pairs(pair("Paris.", "Lyon.")), says("capital"), "answers alone"),
    Fixed("PRF002", pairs(pair(rejected=[*ASKED, answer("Lyon.")])), RIGHT, says("What is"), "one side"),
    Fixed(
        "PRF002",
        pairs(strings("Where is Paris?", "Where is Paris? In France.", "Where is Paris? In Rome.")),
        pairs(strings("Where is Paris?", " In France.", " In Rome.")),
        says("Where"),
        "texts",
    ),
    Fixed(
        "PRF003",
        pairs(pair(turns("Paris.", "Sure?", "Yes, it is."), "Lyon.")),
        pairs(pair("Yes, it is.", "No.", prompt=[*ASKED, *turns("Paris.", "Sure?")])),
        says("Sure?"),
    ),
    Fixed(
        "PRF003",
        pairs(implicit(turns("Hm.", "Well?", "Paris."), turns("Eh.", "Well?", "Lyon."))),
        pairs(implicit(turns("Hm.", "Well?", "Paris."), turns("Hm.", "Well?", "Lyon."))),
        says("Well?"),
        "histories",
    ),
    Fixed(
        "PRF005",
        pairs(strings("Q: Where?\nA:", " Here.<|im_end|>\n", " There.<|im_end|>")),
        pairs(strings("Q: Where?\nA:", " Here.", " There.")),
        lambda made: ends(made) == [2, 1],
    ),
    Fixed("PRF006", cut(pairs(pair(LONG)), 100), cut(pairs(pair(LONG)), 512), lambda made: ends(made) == [0, 1]),
    Fixed(
        "PRF006",
        cut(pairs(pair(f"{LONG}Yes.", f"{LONG}No.")), 100),
        cut(pairs(pair(f"{LONG}Yes.", f"{LONG}No.")), 512),
        same,
        "equal",
    ),
    Fixed(
        "PRF007",
        pairs(pair("<think>\nA city.\n</think>\n\nParis.", "Lyon.")),
        pairs(pair("Paris.", "Lyon.")),
        lambda made: ["<think>" in one for one in answers(made)] == [True, False],
    ),
    Fixed(
        "PRF008",
        pairs(pair("Paris.", "Paris. ")),
        RIGHT,
        lambda made: not same(made) and len({one.replace(" ", "") for one in answers(made)}) == 1,
    ),
    Fixed(
        "PRF009",
        pairs(pair("Lyon.", "Paris.", score_chosen=1.0, score_rejected=9.0)),
        pairs(pair("Paris.", "Lyon.", score_chosen=9.0, score_rejected=1.0)),
        lambda made: "Lyon" in answers(made)[0],
    ),
    Fixed(
        "PRF010",
        pairs(pair("Paris.", "Lyon."), pair("Lyon.", "Paris.")),
        pairs(pair("Paris.", "Lyon.")),
        lambda made: len(made) == 2 and made[0][0] == made[1][1] and made[0][1] == made[1][0],
    ),
    Fixed(
        "PRF011",
        pairs(pair("Paris.", "Lyon."), pair("Lyon.", "Nice.")),
        pairs(pair("Paris.", "Lyon."), pair("Paris.", "Nice.")),
        lambda made: made[0][1] == made[1][0],
    ),
    Fixed(
        "PRF012",
        CODES["PRF012"].bad,
        CODES["PRF012"].good,
        lambda made: sum(len(one["ids"]) > len(other["ids"]) for one, other in made) > 0.6 * len(made),
    ),
    Fixed(
        "BND001",
        pairs(pair("\nParis.", "Lyon.")),
        pairs(pair("Paris.", "Lyon.")),
        lambda made: not any(side["prompt"].endswith("\n") for sides in made for side in sides),
    ),
    Fixed("CON003", pairs(pair("Paris.", "")), RIGHT, lambda made: answers(made)[1].strip() == "<|im_end|>"),
    Fixed("TRU006", cut(RIGHT, 10), RIGHT, lambda made: not made),
    Fixed(
        "BOS001",
        replace(
            pairs(strings("<bos><start_of_turn>user\nhi<end_of_turn>\n<start_of_turn>model\n", "a", "b")),
            tokenizer="gemma",
        ),
        replace(pairs(pair("a", "b")), tokenizer="gemma"),
        lambda made: all(side["ids"][0] == side["ids"][1] for sides in made for side in sides),
    ),
    Fixed(
        "GEN011",
        replace(RIGHT, template=EMPTY_THOUGHT),
        replace(pairs(pair(chat_template_kwargs={"enable_thinking": False})), template=EMPTY_THOUGHT),
        lambda made: all("<think>" in one for one in answers(made)),
    ),
]


def trained(cases: Sequence[Case], version: str = "1.16.0") -> list[Made]:
    """What the trainer makes of cases of one tokenizer."""
    python = python_of("trl", version)
    if not python.exists():
        pytest.skip(f"trl@{version} has no environment: run tests/parity/environments.py trl@{version}")
    asked = [
        {"rows": case.rows, "max_length": case.changes.get("length.max", 1024), "template": case.template or ""}
        for case in cases
    ]
    said = subprocess.run(
        [str(python), str(SCRIPT), str(folder(cases[0].tokenizer))],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        timeout=600,
    )
    found = [json.loads(line.removeprefix(MARK)) for line in said.stdout.splitlines() if line.startswith(MARK)]
    assert len(found) == len(cases), said.stderr[-3000:]
    return found


def same_ids(outcome: Outcome, made: Made) -> None:
    ours = [[list(side.example.input_ids) for side in row.sides if side.example] for row in outcome.inspections]
    assert [sides for sides in ours if sides] == [[side["ids"] for side in sides] for sides in made]


@pytest.fixture(scope="module")
def answered() -> dict[int, tuple[Made, Made]]:
    """What the trainer makes of the bad and of the good rows of each case."""
    found: dict[int, tuple[Made, Made]] = {}
    for name in dict.fromkeys(one.bad.tokenizer for one in FIXED):
        numbers = [number for number, one in enumerate(FIXED) if one.bad.tokenizer == name]
        made = iter(trained([case for number in numbers for case in (FIXED[number].bad, FIXED[number].good)]))
        found |= {number: (next(made), next(made)) for number in numbers}
    return found


@pytest.mark.parametrize("number", range(len(FIXED)), ids=[str(one) for one in FIXED])
def test_a_finding_is_what_the_trainer_does_and_goes_with_it(
    number: int, answered: dict[int, tuple[Made, Made]]
) -> None:
    one = FIXED[number]
    before, after = run(one.bad), run(one.good)
    for outcome, made in zip((before, after), answered[number]):
        same_ids(outcome, made)
    bad, good = answered[number]
    assert one.code in before.codes and one.shows(bad)
    assert one.code not in after.codes and not one.shows(good)


SEAMS = [
    (strings("2+2 = ", "four", "five"), strings("2+2 =", " four", " five")),
    (pair("\nParis.", "Lyon."), pair("Paris.", "Lyon.")),
]


def test_the_seam_loses_text_before_1_15_and_not_since() -> None:
    """PRF004: by the release, and by the data."""
    old = [pairs(row, preset="trl@1.14") for rows in SEAMS for row in rows]
    new = [replace(case, preset="trl@1.16") for case in old]
    for loses, cases, version in ((True, old, "1.14.0"), (False, new, "1.16.0")):
        for number, (case, made) in enumerate(zip(cases, trained(cases, version))):
            outcome = run(case)
            same_ids(outcome, made)
            lost = loses and number % 2 == 0
            assert ("PRF004" in outcome.codes) is lost
            rendered, whole = outcome.inspections[0].rendered, made[0][0]["prompt"] + made[0][0]["answer"]
            assert rendered is not None and whole.startswith(rendered.text) is not lost


def test_every_code_of_preferences_has_its_proof() -> None:
    proven = {one.code for one in FIXED} | {"PRF004", "PRF013"}  # which is KTO's own warning, by the same numbers
    proven |= {"PRF014", "PRF015"}  # rows of docs/pair_faults.py, which the real trainer is asked of
    assert {code for code in CODES if code.startswith("PRF")} <= proven
