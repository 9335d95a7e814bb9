"""Findings of preferences: of each side, once where both have it, of the pair and of the set; none on right ones."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from case_runner import Outcome, open_case, run
from right_pairs import SHAPES, Row, answer, right_pairs, user

from sftui.audit.audit import Audit
from sftui.cli import main
from sftui.findings import CODES, DatasetChecks, Severity, check_dataset
from sftui.findings.look import RowLook
from sftui.findings.rule import Case
from sftui.findings.rules.preference import pair, pairs, side, strings

TOKENIZERS = ("chatml", "llama3", "gemma")
PADDED = ("chatml", "gemma")
"""Those with a pad token, without which ORPO and CPO stop."""
SHARED = ("qwen2.5", "llama-3-8b-instruct", "minimind", "phi-3-mini")
NO_TOOLS = ("chatml", "llama3", "gemma", "llama-3-8b-instruct", "phi-3-mini")
"""Templates that print no calls and no tools: findings of these rows are true."""
OF_SETS = ("PRF012", "PRF013", "PRF014", "PRF015")
"""Of the whole set or its tokenizer, so that right rows show it as well."""
EACH = 20


@cache
def of_right(tokenizer: str, preset: str = "trl@1.16", objective: str = "dpo") -> dict[str, Outcome]:
    left_out = {"tools", "results"} if tokenizer.rpartition("/")[2] in NO_TOOLS else set()
    left_out |= {"system"} if tokenizer == "gemma" else set()
    shapes = [shape for shape in SHAPES if shape not in left_out]
    return {
        shape: run(Case(right_pairs(shape, EACH), tokenizer, preset, changes={"loss.objective": objective}))
        for shape in shapes
    }


@pytest.mark.one_of(3)
@pytest.mark.parametrize(
    ("tokenizer", "preset", "objective"),
    [
        *[(tokenizer, "trl@1.14", "dpo") for tokenizer in TOKENIZERS],
        *[(tokenizer, "trl@1.16", one) for tokenizer in TOKENIZERS for one in ("dpo", "kto", "reward")],
        *[(tokenizer, "trl@1.16", one) for tokenizer in PADDED for one in ("orpo", "cpo")],
        *[("chatml", "unsloth@2026.10", one) for one in ("dpo", "kto", "reward", "orpo", "cpo")],
    ],
)
def test_right_pairs_have_no_error_and_no_warning(tokenizer: str, preset: str, objective: str) -> None:
    for shape, outcome in of_right(tokenizer, preset, objective).items():
        grave = [(one.code, one.sentence) for one in outcome.findings if one.severity is not Severity.INFO]
        assert not grave, (shape, grave[:3])
        assert all(one.rejected is not None and one.rejected.example is not None for one in outcome.inspections)


@pytest.mark.one_of(2)
@pytest.mark.parametrize("tokenizer", SHARED)
def test_nor_have_they_under_tokenizers_of_models(
    tokenizer: str, shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outcomes = of_right(str(shared / "testdata/tokenizers" / tokenizer))
    grave = {
        (shape, one.code)
        for shape, made in outcomes.items()
        for one in made.findings
        if one.severity is not Severity.INFO
    }
    assert not grave
    with capsys.disabled():
        print(f"\n{tokenizer}: {sum(len(one.inspections) for one in outcomes.values()):,} right pairs")


@pytest.mark.parametrize("objective", ["dpo", "reward"])
def test_nor_have_they_under_llamafactory(shared: Path, objective: str) -> None:
    changes = {"loss.objective": objective, "render.template": "llamafactory/qwen"}
    for shape in sorted({*SHAPES} - {"tools", "results", "strings", "implicit strings"}):
        rows = [
            {
                "messages": row.get("prompt") or row["chosen"][:-1],
                **{name: row[name][-1] for name in ("chosen", "rejected")},
            }
            for row in right_pairs(shape, EACH)
        ]
        case = Case(rows, str(shared / "testdata/tokenizers/qwen2.5"), "llamafactory@0.9", changes=changes)
        grave = [(one.code, one.sentence) for one in run(case).findings if one.severity is not Severity.INFO]
        assert not grave, (shape, grave[:3])


def test_no_code_of_pairs_is_raised_on_a_thousand_right_ones() -> None:
    rows, raised = 0, set[str]()
    for tokenizer in TOKENIZERS:
        for preset in ("trl@1.16", "trl@1.14"):
            for outcome in of_right(tokenizer, preset).values():
                rows += len(outcome.inspections)
                raised |= {code for code in outcome.codes if code.startswith("PRF")}
    assert rows >= 1_000 and not raised


@pytest.mark.parametrize("code", sorted(code for code in CODES if code.startswith("PRF") and code not in OF_SETS))
def test_among_right_ones_it_is_raised_on_its_rows_alone(code: str) -> None:
    for bad in (CODES[code].bad, *CODES[code].more):
        kind = "strings" if isinstance(bad.rows[0]["chosen"], str) else "explicit"
        kind = kind if "prompt" in bad.rows[0] else f"implicit {kind}".replace(" explicit", "")
        among = right_pairs(kind, 40)
        found = run(Case([*among, *bad.rows], bad.tokenizer, bad.preset, changes=bad.changes)).of(code)
        named = {row for one in found for row in (one.rows or (one.row,)) if row is not None}
        assert named and min(named) >= len(among), found[0].sentence


def messages(chosen: str, rejected: str) -> Outcome:
    return run(pairs(pair(chosen, rejected)))


def test_what_one_side_has_names_it_and_its_tokens() -> None:
    made = messages("Paris it is.", "")
    (found,) = made.of("CON003")
    assert (found.side, found.sentence) == ("rejected", "rejected: message 1 of the assistant is empty")
    rejected = made.inspections[0].rejected
    assert rejected is not None and rejected.tokens is not None and found.tokens is not None
    assert found.tokens[1] <= len(rejected.tokens)
    assert messages("", "Lyon.").of("CON003")[0].side == "chosen"


def test_what_both_sides_have_is_said_once() -> None:
    made = run(pairs(pair("", "", prompt=[user("")])))
    assert [(one.message, one.side) for one in made.of("CON020")] == [(0, "")]
    assert [(one.message, one.side) for one in made.of("CON003")] == [(1, "")]
    assert [one.side for one in messages("Paris [a", "Lyon ").of("CON004")] == ["rejected"]


def test_a_row_that_stops_is_said_once_and_of_no_side() -> None:
    stopped = run(
        Case(
            [pair(prompt=[{"role": "system", "content": "Be kind."}, user("hi")])],
            "gemma",
            "trl@1.16",
            changes={"loss.objective": "dpo"},
        )
    )
    (found,) = stopped.of("TPL002")
    assert not found.side and not found.sentence.startswith(("chosen", "rejected"))


def test_the_prompt_that_fills_the_length_is_one_finding() -> None:
    made = run(pairs(pair(), length_max=10))
    assert [one.side for one in made.of("TRU006")] == [""]
    assert not [code for code in made.codes if code.startswith("PRF")]


def test_texts_that_are_rendered_already_have_two_bos() -> None:
    row = strings("<bos><start_of_turn>user\nhi<end_of_turn>\n<start_of_turn>model\n", "Hello.<eos>", "No.<eos>")
    made = run(Case([row], "gemma", "trl@1.16", changes={"loss.objective": "dpo"}))
    assert [one.side for one in made.of("BOS001")] == [""]


def test_an_answer_that_begins_with_a_line_feed_moves_the_seam() -> None:
    made = messages("\nParis.", "Lyon.")
    (found,) = made.of("BND001")
    assert (found.severity, found.side) == (Severity.WARNING, "chosen")


def test_a_question_that_a_side_repeats_merges_with_nothing() -> None:
    made = run(pairs(pair(rejected=[user("Where?"), *side("Lyon.")], prompt=[user("Where?")])))
    assert made.of("PRF002") and not made.of("BND001")


def figures_of(case: Case) -> Any:
    context, inspections = open_case(case, case.rows)
    audit = Audit(context)
    for one in inspections:
        audit.check(one, context)
    audit.finish()
    return audit.figures(), inspections


def test_the_audit_counts_both_sides() -> None:
    figures, inspections = figures_of(pairs(*right_pairs("explicit", 30)))
    sides = [one for whole in inspections for one in whole.sides]
    assert figures.rows == 30 and figures.tokenized == 60
    assert figures.tokens == sum(len(one.tokens) for one in sides)
    assert figures.trained == sum(one.example.trained for one in sides)
    assert sum(figures.lengths.values()) == 60 and figures.loss is None


def test_the_order_in_which_parts_are_gathered_tells_nothing() -> None:
    case = pairs(
        *right_pairs("explicit", 10), *CODES["PRF010"].bad.rows, *CODES["PRF011"].bad.rows, *CODES["PRF012"].bad.rows
    )
    context, inspections = open_case(case, case.rows)
    looks = [RowLook(one, context) for one in inspections]
    told = []
    for parts in ((looks,), (looks[:12], looks[12:]), (looks[31:], looks[11:31], looks[:11])):
        whole = DatasetChecks(context)
        for part in parts:
            one = DatasetChecks(context)
            for look in part:
                one.add(look)
            whole.merge(one)
        told.append(sorted((one.code, one.sentence, one.rows) for one in check_dataset(whole)))
    assert told[0] == told[1] == told[2]
    assert {"PRF010", "PRF011", "PRF012"} <= {code for code, _, _ in told[0]}


def rows_of(longer: int, of: int) -> list[Row]:
    sides = (answer("It is so, and all of us know it."), answer("No."))
    made = []
    for number in range(of):
        chosen, rejected = sides if number < longer else sides[::-1]
        made.append({"prompt": [user(f"Is it {number}?")], "chosen": [chosen], "rejected": [rejected]})
    return made


@pytest.mark.parametrize(
    ("longer", "of", "severity"),
    [
        (55, 100, None),
        (60, 100, None),
        (68, 100, Severity.INFO),
        (80, 100, Severity.WARNING),
        (20, 100, Severity.WARNING),
        (40, 49, None),
    ],
)
def test_length_bias_is_tested(longer: int, of: int, severity: Severity | None) -> None:
    found = run(pairs(*rows_of(longer, of))).of("PRF012")
    assert [one.severity for one in found] == ([severity] if severity else [])
    if found:
        assert found[0].sentence.startswith("the chosen side" if longer * 2 > of else "the rejected side")


COMPLETIONS = {"prompt": "Q:", "completion": " A."}
KTO_TAGS = {"instruction": "Q", "input": "", "output": "A."}


@pytest.mark.parametrize(
    ("preset", "rows", "row", "changes", "alone"),
    [
        ("trl@1.16", 5, COMPLETIONS, {"batch.size": 2}, True),
        ("trl@1.16", 5, COMPLETIONS, {"batch.size": 4}, True),
        ("trl@1.16", 5, COMPLETIONS, {"batch.size": 3}, False),
        ("trl@1.16", 5, COMPLETIONS, {"batch.size": 4, "own.loss_type": "apo_zero_unpaired"}, False),
        ("trl@1.16", 5, COMPLETIONS, {"batch.size": 1, "own.loss_type": "apo_zero_unpaired"}, False),
        ("axolotl@0.21", 5, COMPLETIONS, {"batch.size": 2, "own.type": {"field_prompt": "prompt"}}, True),
        ("llamafactory@0.9", 5, KTO_TAGS, {"pack.group": 4}, True),
        ("llamafactory@0.9", 5, KTO_TAGS, {"pack.group": 5}, False),
        ("llamafactory@0.9", 5, KTO_TAGS, {"pack.group": 4, "own.val_size": 0.2}, False),
    ],
)
def test_an_answer_without_another_is_its_own_partner(
    preset: str, rows: int, row: Row, changes: dict[str, Any], alone: bool
) -> None:
    changes = {"loss.objective": "kto", **changes}
    if row is KTO_TAGS:
        fields = {**{key: key for key in KTO_TAGS}, "label": "label"}
        changes |= {"render.template": "llamafactory/chatml", "data.format": "alpaca", "data.fields": fields}
    case = Case([{**row, "label": number % 2 == 0} for number in range(rows)], preset=preset, changes=changes)
    found = run(case)
    assert not [one.problem for one in found.inspections if one.problem is not None]
    assert bool(found.of("PRF015")) is alone


@pytest.mark.parametrize(("objective", "found"), [("kto", False), ("sft", True)])
def test_two_answers_to_a_prompt_are_what_kto_has(objective: str, found: bool) -> None:
    rows = [{**COMPLETIONS, "completion": text, "label": text == " Yes."} for text in (" Yes.", " No.")]
    assert ("DUP003" in run(Case(rows, preset="trl@1.16", changes={"loss.objective": objective})).codes) is found


def test_a_repeated_preference_contradicts_nothing() -> None:
    assert "PRF010" not in run(pairs(*[pair("Paris.", "Lyon.")] * 3)).codes


def test_a_side_that_ends_with_a_call_has_no_turn_of_others() -> None:
    assert "PRF003" not in run(pairs(pair(side("It is."), side("No.")))).codes


def test_a_fix_of_pairs_is_written_and_checked_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [*right_pairs("explicit", 3), *CODES["PRF006"].bad.rows, *CODES["PRF001"].bad.rows]
    data = tmp_path / "rows.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ["--trainer", "trl", "--set", "loss.objective=dpo", "--set", "length.max=200", "-t", "builtin:chatml"]
    fixing = ["--fix", str(tmp_path / "fixed"), "--drop", "PRF001"]
    with pytest.raises(SystemExit) as ended:
        main(["check", str(data), *words, *fixing])
    said = capsys.readouterr()
    assert ended.value.code in (0, 1), said.err
    gone = [line.split()[1] for line in said.out.splitlines() if line.strip().startswith("gone")]
    assert {"PRF001", "PRF006"} <= {*gone}


ODD = (
    "",
    "a",
    " x",
    "x ",
    "\n\nx",
    "ok<|im_end|>\n",
    "<think>\n\n</think>\n\nA",
    "None",
    "2+2 = ",
    "🦊" * 3,
    "The port. " * 40,
)


def odd_row(draw: Random) -> Row:
    """A preference of which nothing need be right but that it has two sides."""
    if draw.random() < 0.4:
        return strings(draw.choice(ODD), draw.choice(ODD), draw.choice(ODD))
    said = [
        {
            "role": draw.choice(("user", "assistant", "assistant", "tool", "bot")),
            "content": draw.choice((*ODD, None, 5)),
        }
        for _ in range(draw.randint(2, 6))
    ]
    at = draw.randint(1, len(said) - 1)
    return pair(
        said[:at],
        said[at:],
        prompt=said[:1] if draw.random() < 0.5 else [user("hi")],
        margin=draw.choice((-1, 10**400, True)),
    )


def test_findings_of_odd_pairs_are_on_the_side_that_they_name() -> None:
    draw, found = Random(7), 0
    for _ in range(60):
        rows = [odd_row(draw) for _ in range(5)]
        kind = type(rows[0]["chosen"])
        changes = {"loss.objective": draw.choice(("dpo", "reward", "kto")), "length.max": draw.choice((16, 40, 1024))}
        case = Case([row for row in rows if type(row["chosen"]) is kind], changes=changes, preset="trl@1.16")
        made = run(case)
        assert "ROW007" not in made.codes
        for one in made.findings:
            if one.row is not None and one.tokens is not None:
                whole = made.inspections[one.row]
                tokens = whole.sides[-1 if one.side == "rejected" else 0].tokens
                assert tokens is not None and 0 <= one.tokens[0] <= one.tokens[1] <= len(tokens)
                found += 1
    assert found > 100
