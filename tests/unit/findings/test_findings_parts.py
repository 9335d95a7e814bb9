"""Waivers, merging, independent span methods, pickling and safety of findings."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from time import process_time
from typing import Any

import pytest
from case_runner import open_case, outcome_of, run

from sftui import bound
from sftui.errors import RecipeError
from sftui.findings import (
    CODES,
    DatasetChecks,
    Waiver,
    apply_waivers,
    check_dataset,
    check_row,
    explain,
    read_waivers,
)
from sftui.findings.catalogue import REPAIR_OF
from sftui.findings.checks import Fault, RowCheck, RowCondition
from sftui.findings.look import RowLook
from sftui.findings.rule import FINE, GOOD, ROUNDS, Case, chat, chatml, tagged
from sftui.findings.rules.generation import by_prefix, by_sentinels, by_tags, disagreement
from sftui.findings.run import _BY_MOMENT
from sftui.recipe import changed
from sftui.repairs.run import TITLES
from sftui.templates import compile_template
from sftui.text import visible
from sftui.trainers import dump_recipe, load_recipe


def test_waivers_by_code_rows_and_signature() -> None:
    found = run(
        Case(
            [
                chat("hi", "  Hello.  "),
                chat("hi", "  Bye.  "),
                chat(("system", "Be kind."), ("user", "hi"), ("assistant", "  Yes.  ")),
            ]
        )
    ).of("CON004")
    assert [one.row for one in found] == [0, 1, 2]
    stand, waived = apply_waivers(found, read_waivers([{"code": "CON004", "rows": [1, 2], "reason": "seen"}]))
    assert [one.row for one in stand] == [0] and [one.row for one in waived] == [1, 2]
    stand, _ = apply_waivers(found, [Waiver("CON004", "a poem", signature="system user assistant")])
    assert [one.row for one in stand] == [0, 1]
    stand, _ = apply_waivers(
        found, read_waivers([{"code": "CON004", "signature": ["user", "assistant"], "reason": "seen"}])
    )
    assert [one.row for one in stand] == [2]
    assert apply_waivers(found, read_waivers([{"code": "EOS001", "reason": "seen"}]))[0] == tuple(found)


@pytest.mark.parametrize(
    "value",
    [
        {"code": "EOS0001", "reason": "x"},
        {"code": "EOS001"},
        {"code": "EOS001", "reason": " "},
        {"code": "EOS001", "reason": "x", "rows": [3, 1]},
        {"code": "EOS001", "reason": "x", "row": 3},
        "EOS001",
    ],
)
def test_waivers_that_are_wrong_are_refused(value: Any) -> None:
    with pytest.raises(RecipeError):
        read_waivers([value])


def test_unknown_code_names_the_nearest() -> None:
    with pytest.raises(RecipeError, match="THK003"):
        explain("THK03")


def test_merged_checks_equal_checks_in_one_go() -> None:
    rows = [
        GOOD,
        ROUNDS,
        GOOD,
        chat("hi", "Hello."),
        chat("hi", "Good day."),
        ROUNDS,
        *[chat(f"q{i}", f"a{i}", "and?", "so") for i in range(30)],
        {**GOOD, "odd": 1},
    ]
    context, inspections = open_case(Case(rows, changes={"length.max": 30}), rows)
    whole = DatasetChecks(context)
    for one in inspections:
        whole.add(RowLook(one, context))
    parts = []
    for start in range(0, len(rows), 7):
        part = DatasetChecks(context)
        for one in inspections[start : start + 7]:
            part.add(RowLook(one, context))
        parts.append(pickle.loads(pickle.dumps(part)))
    merged = parts[-1]
    for part in reversed(parts[:-1]):
        merged.merge(part)
    told, expected = check_dataset(merged), check_dataset(whole)
    assert {(one.code, one.count) for one in told} == {(one.code, one.count) for one in expected}
    assert (merged.totals, merged.trained) == (whole.totals, whole.trained)


def test_memory_of_duplicates_is_bounded() -> None:
    rows = [chat(f"q{i}", f"a{i}") for i in range(50)]
    context, inspections = open_case(Case(rows), rows)
    checks = DatasetChecks(context, remembered=10)
    for one in (*inspections, inspections[0]):
        checks.add(RowLook(one, context))
    assert len(checks.seen) == 10 and checks.unremembered == 40
    assert next(one for one in check_dataset(checks) if one.code == "DUP001").count == 1


@pytest.mark.one_of(2)
@pytest.mark.parametrize("code", sorted(CODES))
def test_findings_are_plain_and_safe_to_draw(code: str) -> None:
    for finding in outcome_of(CODES[code].bad).findings:
        assert pickle.loads(pickle.dumps(finding)) == finding
        assert visible(finding.sentence) == finding.sentence
        assert visible(finding.evidence) == finding.evidence
        assert finding.code in CODES


def test_checks_abstain_where_spans_are_not_proven() -> None:
    """A row of which nobody knows who wrote what has no finding that names a message's tokens."""
    context, inspections = open_case(
        Case([chat("hi<|im_end|>", "Hello.", "Bye.", "Bye!")], preset="trl@1.16"),
        [chat("hi<|im_end|>", "Hello.", "Bye.", "Bye!")],
    )
    before = {one.code for one in check_row(inspections[0], context)}
    assert {"INJ001", "LAB002"} <= before
    rendered = inspections[0].rendered
    assert rendered is not None
    after = {one.code for one in check_row(replace(inspections[0], rendered=replace(rendered, exact=False)), context)}
    assert not {"INJ001", "LAB002", "EOS001"} & after


def test_repairs_are_named_for_codes_that_exist() -> None:
    assert set(REPAIR_OF) <= set(CODES) and {name for names in REPAIR_OF.values() for name in names} == {*TITLES} - {
        "join-prompt"
    }


def test_missing_tags_are_told_once_also_where_the_trainer_refuses() -> None:
    outcome = run(Case([GOOD, ROUNDS], preset="trl@1.16", changes={"mask.rule": "generation_tag"}))
    assert [one.code for one in outcome.findings if one.severity.value == "error"] == ["GEN001"]
    fix = outcome.of("GEN001")[0].fix
    assert fix is not None and fix.template == "generation_tags"


def test_code_under_another_name_is_explained() -> None:
    assert explain("thk002") == explain("GEN011")


MESSAGES = ROUNDS["messages"]


def draw_with(source: str) -> Any:
    template = compile_template(source, "test")

    def draw(messages: Sequence[Mapping[str, Any]], prompt: bool) -> str | None:
        return template.text(messages, add_generation_prompt=prompt, variables={})[0]

    return template, draw


def test_three_methods_agree_on_a_tight_template() -> None:
    template, draw = draw_with(tagged())
    text, generation = template.text(MESSAGES, variables={})
    methods = [
        by_tags(generation, [1, 3], {}),
        by_prefix(text, MESSAGES, [1, 3], draw),
        by_sentinels(text, MESSAGES, [1, 3], draw),
    ]
    assert [text[slice(*methods[0].found[1])], text[slice(*methods[2].found[1])]] == ["Hello.<|im_end|>", "Hello."]
    assert text[slice(*methods[1].found[3])] == "Bye!<|im_end|>\n"
    assert disagreement(methods, text) is None


def test_methods_disagree_where_the_tag_leaves_out_the_turn_end() -> None:
    template, draw = draw_with(tagged(inside=False))
    text, generation = template.text(MESSAGES, variables={})
    found = disagreement(
        [
            by_tags(generation, [1, 3], {}),
            by_prefix(text, MESSAGES, [1, 3], draw),
            by_sentinels(text, MESSAGES, [1, 3], draw),
        ],
        text,
    )
    assert found is not None and found[0] == 1


def test_a_thought_that_the_prompt_opens_is_no_disagreement() -> None:
    _, draw = draw_with(chatml(prompt="<think>\n"))
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "<think>\nhm\n</think>\n\nHello."}]
    text = draw(messages, False)
    assert text is not None
    methods = [by_prefix(text, messages, [1], draw), by_sentinels(text, messages, [1], draw)]
    assert methods[0].found[1][0] > methods[1].found[1][0]
    assert disagreement(methods, text) is None


def test_a_method_that_cannot_tell_says_nothing() -> None:
    _, draw = draw_with(chatml("{{ m.content | upper }}<|im_end|>", prompt="<think>"))
    text = draw(MESSAGES, False)
    assert text is not None
    assert by_prefix(text, MESSAGES, [1, 3], draw).found == {}
    assert by_tags((), [1, 3], {}).found == {}
    assert by_sentinels(text, MESSAGES, [1, 3], draw).found == {}


def test_tags_around_a_gap_are_one_answer_where_another_method_holds_them() -> None:
    assert by_tags(((3, 5), (6, 9), (12, 14)), [1, 3], {1: (2, 10), 3: (11, 15)}).found == {1: (3, 9), 3: (12, 14)}
    assert by_tags(((3, 5), (6, 9), (12, 14)), [1, 3], {1: (2, 10)}).found == {}


@pytest.mark.one_of(2)
@pytest.mark.parametrize("code", sorted(CODES))
def test_changes_are_values_that_the_recipe_takes(code: str) -> None:
    """A fix applied to the recipe can be saved and opened again."""
    outcome = outcome_of(CODES[code].bad)
    for finding in outcome.findings:
        recipe = outcome.context.recipe
        for change in finding.fix.changes if finding.fix is not None else ():
            if change.path != "preset":
                recipe = changed(recipe, change.path, change.after)
        if finding.fix is not None and finding.fix.changes:
            assert load_recipe(dump_recipe(recipe), finding.code) == recipe


def test_checks_are_pure_and_fast_enough(capsys: pytest.CaptureFixture[str]) -> None:
    """The same row gives the same findings in any order; the time is printed, and bounded far above what it takes."""
    words = "the answer to the question of the day is that it goes on "
    rows = [chat(f"Question {i}? " + words * 3, words * 4, "And then?", words * 4) for i in range(100)]
    context, inspections = open_case(Case(rows), rows)
    first = [check_row(one, context) for one in inspections]
    begun = process_time()
    again = [check_row(one, context) for one in reversed(inspections)]
    each = (process_time() - begun) / len(rows)
    assert again[::-1] == first
    tokens = sum(len(one.tokens) for one in inspections if one.tokens is not None) / len(rows)
    with capsys.disabled():
        print(f"\ncheck_row: {each * 1e6:.0f} µs for a row of {tokens:.0f} tokens")
    assert each < 0.003


@pytest.mark.parametrize(
    ("raised", "told"),
    [(MemoryError, "checking it for findings needs too much memory"), (RecursionError, "loops or recurses")],
)
def test_a_row_that_costs_the_checks_too_much_has_that_finding_alone(
    raised: type[Exception], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The checks come after the row is prepared, and were not bounded: one of them ended the command."""
    made = run(FINE)

    def greedy(look: object) -> Iterator[Fault]:
        raise raised
        yield

    monkeypatch.setitem(_BY_MOMENT, RowCondition.CONVERSATION, (RowCheck(RowCondition.CONVERSATION, (), greedy),))
    (found,) = check_row(made.inspections[0], replace(made.context, memo={}))
    assert found.code == "ROW007" and told in found.sentence


def test_checks_that_once_overran_on_a_row_are_not_made_on_it_again() -> None:
    made = run(FINE)
    recipe, row = made.context.recipe, made.inspections[0].row
    guard = bound.Guard(bound.anonymous_page())
    token = bound._GUARD.set(guard)
    try:
        key = bound.row_key(recipe, row.index)
        assert check_row(made.inspections[0], made.context) == ()
        guard.refuse((bound.Overrun(key, "findings", "it needs more than 3 seconds of CPU time"),))
        (found,) = check_row(made.inspections[0], made.context)
        guard.refuse((bound.Overrun(key, "tokens", "the tokenizer needs more than 3 seconds"),))
        assert check_row(made.inspections[0], made.context) == ()
    finally:
        bound._GUARD.reset(token)
    assert found.code == "ROW007" and "3 seconds of CPU time" in found.sentence
