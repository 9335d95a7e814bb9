"""LLaMA-Factory 0.9.5, stages dpo, rm and kto: every recorded case of ../shared, ids and labels of each side."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from golden_records import inspect, with_knobs

import sftui
from sftui import pipeline
from sftui.model import DESIRABLE, IGNORE_INDEX, Inspection, Reason, Row
from sftui.recipe import Recipe
from sftui.tokens import LoadedTokenizer, load_tokenizer
from sftui.trainers import Toolbox, preset, trainer_named, trainer_of
from sftui.trainers.config import Facts
from sftui.trainers.own_config import write_config
from sftui.trainers.pairs import PartnerTrainer
from sftui.views.batch import batch_lines
from sftui.views.cells import plain

FOLDERS = {"qwen": "qwen2.5", "qwen3": "qwen2.5", "llama3": "llama-3-8b-instruct", "falcon": "qwen2.5"}
Sequences = list[tuple[list[int], list[int]]]


def recorded(shared: Path) -> list[Mapping[str, Any]]:
    """The cases of a probe that asked the real processors."""
    path = shared / "probes" / "llamafactory_pairs.jsonl"
    if not path.exists():
        pytest.skip(f"{path} is not here")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def opened(case: Mapping[str, Any], tokenizer: LoadedTokenizer, folder: Path) -> tuple[Recipe, Toolbox]:
    """The config that the probe of a case stands for, and its tools."""
    import yaml

    (folder / "dataset_info.json").write_text(json.dumps({"x": {"file_name": "x.json", **case["dataset_info"]}}))
    stage = case["trainer"].removeprefix("LLaMA-Factory ")
    config = {"model_name_or_path": "x", "stage": stage, "dataset": "x", "dataset_dir": str(folder)}
    config |= {"template": case["template"], "cutoff_len": 512, **case["setting"]}
    recipe = trainer_named("llamafactory").read_config("c.yaml", yaml.safe_dump(config), "0.9").recipe
    return recipe, pipeline.make_toolbox(recipe, tokenizer)


def inspected(case: Mapping[str, Any], recipe: Recipe, tools: Toolbox) -> list[Inspection]:
    """The rows of a case."""
    rows = [Row(index, data, "", f"row {index}") for index, data in enumerate(case["rows"])]
    detected = pipeline.detect(rows, recipe)
    assert detected.refused is None, (case["case"], detected.refused)
    tools = pipeline.survey(rows[0], detected, recipe, tools)
    return [pipeline.inspect(row, detected, recipe, tools) for row in rows]


def sequences(inspections: list[Inspection]) -> Sequences:
    return [(list(one.input_ids), list(one.labels)) for found in inspections for one in found.examples]


def partners(inspections: list[Inspection], recipe: Recipe, tools: Toolbox) -> Sequences:
    """What the KL term reads of each row that is kept."""
    trainer = trainer_of(recipe)
    assert isinstance(trainer, PartnerTrainer)
    made = []
    for found in inspections:
        other = inspections[min(trainer.partner(found.row.index, recipe), len(inspections) - 1)]
        if found.example and found.conversation and other.conversation:
            example = trainer.partnered(found.conversation, other.conversation, recipe, tools)
            made.append((list(example.input_ids), list(example.labels)))
    return made


@pytest.mark.shared
def test_every_recorded_pair(shared: Path, tmp_path: Path) -> None:
    tokenizers = {
        name: load_tokenizer(str(shared / "testdata" / "tokenizers" / folder), mode="provisional")
        for name, folder in FOLDERS.items()
    }
    cases, wrong = recorded(shared), []
    for case in cases:
        recipe, tools = opened(case, tokenizers[case["template"]], tmp_path)
        found = inspected(case, recipe, tools)
        if case["error"] is not None:
            if not any(one.problem for one in found):
                wrong.append(f"{case['case']}: LLaMA-Factory stops with {case['error']}")
            continue
        sides = ("completion",) if "kto" in case["trainer"] else ("chosen", "rejected")
        expected = [(one[f"{side}_ids"], one[f"{side}_labels"]) for one in case["result"] for side in sides]
        tags = [one.get("kto_tag") for one in case["result"]]
        kept = [one.conversation.extra.get(DESIRABLE) for one in found if one.examples and one.conversation]
        if sequences(found) != expected or tags != kept or any(one.problem for one in found):
            wrong.append(f"{case['case']} {case['setting']}: {expected} and {sequences(found)}")
        if "kto" in case["trainer"] and partners(found, recipe, tools) != [
            (one["KL_ids"], one["KL_labels"]) for one in case["result"]
        ]:
            wrong.append(f"{case['case']}: KL partners")
    assert cases and not wrong, "\n".join(wrong[:5])


TEXTS = {"instruction": "Hi", "input": "", "chosen": "good", "rejected": "bad"}
TURN: dict[str, Any] = {"conversations": [{"from": "human", "value": "Hi"}], "chosen": {"from": "gpt", "value": "good"}}


def seen(*rows: Mapping[str, Any], **knobs: Any) -> list[Inspection]:
    """Rows under stage dpo, with `__` for the dots of knobs."""
    named = {"loss.objective": "dpo", "render.template": "llamafactory/chatml"}
    recipe = with_knobs(
        preset("llamafactory@0.9"), {**named, **{key.replace("__", "."): value for key, value in knobs.items()}}
    )
    return inspect(rows, recipe, pipeline.make_toolbox(recipe, load_tokenizer("builtin:chatml")))


def said(inspection: Inspection) -> str:
    return (inspection.dropped or "") + (inspection.problem.sentence() if inspection.problem else "")


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({**TEXTS, "rejected": None}, "`rejected` is not text"),
        ({**TURN, "rejected": None}, "`rejected` is not a message"),
        ({**TURN, "rejected": {"from": "system", "value": "bad"}}, "Unexpected role: system"),
        ({**TURN, "rejected": {"from": "user", "value": "bad"}}, "KeyError: 'user'"),
        ({**TURN, "rejected": {"from": "gpt", "value": None}}, "is not text"),
        (
            {**TURN, "conversations": TURN["conversations"] * 2, "rejected": TURN["chosen"]},
            "Invalid role tag: `human` at conversations[1]",
        ),
        ({"conversations": [], "chosen": TURN["chosen"], "rejected": TURN["chosen"]}, "there are no messages"),
    ],
)
def test_rows_that_are_dropped_or_stop_it_say_why(row: Mapping[str, Any], why: str) -> None:
    good = TEXTS if "chosen" in row and isinstance(row["chosen"], str) else {**TURN, "rejected": TURN["chosen"]}
    first, found = seen(good, row)
    assert len(first.examples) == 2 and not first.problem
    assert why in said(found) and not found.examples


def test_a_side_in_the_role_of_the_user_is_trained_and_told() -> None:
    (found,) = seen({**TURN, "rejected": {"from": "human", "value": "bad"}})
    assert found.rejected is not None and found.rejected.trained
    assert any("`rejected` has the role `human`" in note for note in found.notes)


def test_both_sides_lose_the_end_of_one_prompt() -> None:
    row = {**TEXTS, "instruction": "why " * 30, "chosen": "one two three four"}
    whole, cut = (seen(row, length__max=most)[0] for most in (512, 30))
    longer, shorter = (example.trained for example in whole.examples)
    assert longer > shorter and [example.trained for example in cut.examples] == [longer, shorter]
    assert [len(example.input_ids) for example in cut.examples] == [30, 30 - longer + shorter]
    kept = [side.labels.kept[0] for side in cut.sides if side.labels]
    assert kept == [(0, 30 - longer)] * 2


def test_batches_are_all_chosen_and_then_all_rejected() -> None:
    recipe = with_knobs(preset("llamafactory@0.9"), {"loss.objective": "dpo", "render.template": "llamafactory/chatml"})
    tools = pipeline.make_toolbox(recipe, load_tokenizer("builtin:chatml"))
    rows: list[Mapping[str, Any]] = [TEXTS, {**TEXTS, "chosen": None}, {**TEXTS, "chosen": "better"}]
    batch = pipeline.make_batch(inspect(rows, recipe, tools), recipe, tools)
    trained = ["".join(tools.tokenizer.piece(token) for token in labels if token != -100) for labels in batch.labels]
    assert batch.rows == (0, 2, 0, 2)
    assert [text.partition("<|im_end|>")[0] for text in trained] == ["good", "better", "bad", "bad"]
    assert len(batch.input_ids[0]) % 8 == 0


def test_a_score_is_read_at_the_last_token_of_each_side() -> None:
    for most in (512, 16):
        (found,) = seen({**TEXTS, "chosen": "one two three four"}, loss__objective="reward", length__max=most)
        for side in found.sides:
            assert side.labels and side.example
            trained = [at for at, label in enumerate(side.example.labels) if label != IGNORE_INDEX]
            assert trained == [len(side.example.input_ids) - 1]
            assert [reason for reason in side.labels.reasons].count(Reason.SCORED) == 1


@pytest.mark.parametrize(
    ("rows", "knobs", "why"),
    [
        ([{**TEXTS, "chosen": [{"from": "gpt", "value": "a"}]}], {}, "reads no list of messages in `chosen`"),
        ([{"instruction": "Hi", "output": "good"}], {}, "there is no column `chosen`"),
        ([TEXTS], {"data.format": "alpaca", "data.fields": {"instruction": "instruction"}}, "names no chosen column"),
        (
            [{**TEXTS, "kto_tag": True}],
            {"data.format": "alpaca", "data.fields": {**{key: key for key in TEXTS}, "label": "kto_tag"}},
            "is ranking and names kto_tag",
        ),
    ],
)
def test_sets_that_are_no_preferences_are_refused(rows: Any, knobs: Mapping[str, Any], why: str) -> None:
    recipe = with_knobs(preset("llamafactory@0.9"), {"loss.objective": "dpo", **knobs})
    detected = pipeline.detect([Row(number, row, "", "") for number, row in enumerate(rows)], recipe)
    assert detected.refused is not None and why in detected.refused.sentence()


@pytest.mark.parametrize("knobs", [{"mask.rule": "all"}, {"mask.turns": "last"}, {"pack.strategy": "neat"}])
def test_what_it_has_for_supervised_rows_alone_is_refused(knobs: Mapping[str, Any]) -> None:
    (found,) = seen(TEXTS, **{key.replace(".", "__"): value for key, value in knobs.items()})
    assert found.problem is not None and not found.examples


def test_supervised_rows_with_a_tag_are_dropped() -> None:
    row = {"instruction": "Hi", "input": "", "output": "good", "label": True}
    fields = {"instruction": "instruction", "input": "input", "output": "output", "label": "label"}
    knobs = {"loss__objective": "sft", "data__format": "alpaca", "data__fields": fields}
    tagged, plain = seen(row, {**row, "label": None}, **knobs)
    assert "two responses" in said(tagged) and plain.examples


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"output": "c", "label": "true"}, "without a kto_tag of true or false it has one response"),
        ({"output": "", "label": None}, "at the next row that it keeps, with IndexError"),
        ({"output": None, "label": None}, "there is no response"),
        ({"output": None, "label": False}, "is not text"),
    ],
)
def test_kto_rows_without_two_responses_are_dropped_or_stop_the_next(row: Mapping[str, Any], why: str) -> None:
    good = {"instruction": "Hi", "input": "", "output": "good", "label": True}
    first, found = seen(good, {**good, **row}, loss__objective="kto")
    assert first.examples and first.conversation and first.conversation.extra[DESIRABLE] is True
    assert why in said(found) and not found.examples


def test_an_empty_desired_answer_is_told() -> None:
    (found,) = seen({"instruction": "Hi", "input": "", "output": "", "label": True}, loss__objective="kto")
    assert found.conversation and found.conversation.extra[DESIRABLE] is False and found.trained
    assert any("the desired answer is empty" in note for note in found.notes)


@pytest.mark.parametrize("objective", ["dpo", "reward", "kto"])
def test_a_written_config_reads_back(objective: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    recipe = with_knobs(
        preset("llamafactory@0.9"),
        {"loss.objective": objective, "render.template": "llamafactory/qwen", "own.packing": True},
    )
    row = {"instruction": "Hi", "output": "good", "kto_tag": True} if objective == "kto" else TEXTS
    found = pipeline.detect([Row(0, row, "", "")], recipe)
    facts = Facts(data="d.jsonl", tokenizer="a/b", format=found.format, fields=found.fields)
    written = write_config(recipe, None, facts)
    for file in written.files:
        (tmp_path / file.name).write_text(file.content)
    text = (tmp_path / f"llamafactory_{objective}.yaml").read_text()
    opened = trainer_named("llamafactory").read_config("llamafactory.yaml", text)
    assert not written.losses
    assert opened.recipe.loss.objective == objective and opened.recipe.own == recipe.own
    assert pipeline.detect([Row(0, row, "", "")], opened.recipe).fields == found.fields
    changed = write_config(with_knobs(opened.recipe, {"data.fields": {**found.fields, "system": "s"}}), opened)
    assert json.loads(changed.files[1].content)["d"].get("ranking", False) is (objective != "kto")


def test_batches_show_the_answers_of_the_rows_before_in_each_group() -> None:
    rows = [{"instruction": f"q{at}", "output": f"a{at}", "kto_tag": None if at == 2 else True} for at in range(5)]
    knobs = {"loss.objective": "kto", "render.template": "llamafactory/chatml", "pack.group": 2}
    with sftui.open(rows, tokenizer="builtin:chatml", trainer="llamafactory", set=knobs) as data:
        batches = list(data.batches(3))
    assert [batch.rows for batch in batches] == [(0, 1, 3), (4,)]
    partners = [batch.partners for batch in batches]
    assert [one and one.rows for one in partners] == [(1, 0, 2), (4,)]  # the dropped row 2 gives row 3 its answer
    assert partners[1] and partners[1].input_ids == batches[1].input_ids  # a group of one: its own
    text = plain(batch_lines(batches[0], 100))
    assert "KL partners" in text and "row 2" in text.split("KL partners")[1]
