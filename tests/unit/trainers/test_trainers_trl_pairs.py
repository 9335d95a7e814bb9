"""TRL's DPO, KTO, Reward, ORPO and CPO: every recorded case of ../shared, and what stops them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from golden_records import inspect, with_knobs

from sftui import pipeline
from sftui.model import IGNORE_INDEX, Inspection, Row
from sftui.recipe import Recipe
from sftui.tokens import LoadedTokenizer, load_tokenizer
from sftui.trainers import Toolbox, preset, trainer_named, trainer_of
from sftui.trainers.held_out import unpaired

RECORDED = {"1.16": "trl_pairs.jsonl", "1.14": "trl_pairs_1.14.1.jsonl"}
KNOBS = {"max_length": "length.max", "per_device_train_batch_size": "batch.size", "loss_type": "own.loss_type"}
FILLED = "tool calls with different arguments in two rows"
"""Made by Dataset.from_list, which fills the keys that a row lacks with null; of a file each row keeps its own."""
SIDES = ("chosen", "rejected")


def recorded(shared: Path, version: str, objective: str) -> list[Mapping[str, Any]]:
    path = shared / "probes" / RECORDED[version]
    if not path.exists():
        pytest.skip(f"{path} is not here")
    cases = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [one for one in cases if one["trainer"] == f"TRL {objective}" and one.get("rows") and one["case"] != FILLED]


def prepared(
    rows: Sequence[Mapping[str, Any]], objective: str, tokenizer: LoadedTokenizer, version: str = "1.16", **knobs: Any
) -> tuple[list[Inspection], Recipe, Toolbox]:
    """Rows under an objective, with `__` for the dots of knobs."""
    named = {key.replace("__", "."): value for key, value in knobs.items()}
    recipe = with_knobs(preset(f"trl@{version}"), {"loss.objective": objective, **named})
    tools = pipeline.make_toolbox(recipe, tokenizer)
    return inspect(rows, recipe, tools), recipe, tools


def masked(prompt: list[int], answer: list[int]) -> tuple[list[int], list[int]]:
    return prompt + answer, [IGNORE_INDEX] * len(prompt) + answer


def expected(case: Mapping[str, Any], objective: str) -> list[tuple[list[int], list[int]]]:
    """Ids and labels of each sequence before the collator cuts it, in the order of the trainer's rows."""
    rows = case["result"]
    if objective in ("orpo", "cpo"):
        return [(rows[side]["ids"], rows[side]["labels"]) for side in SIDES]
    if objective == "kto":
        return [masked(row["prompt_ids"], row["completion_ids"]) for row in rows]
    if objective == "reward":
        return [(row[f"{side}_ids"], []) for row in rows for side in SIDES]
    return [masked(row["prompt_ids"], row[f"{side}_ids"]) for row in rows for side in SIDES]


def sequences(found: Sequence[Inspection], objective: str) -> list[tuple[list[int], list[int]]]:
    kept = [one for one in found if one.example is not None]
    if objective in ("orpo", "cpo"):
        return [(list(made.input_ids), list(made.labels)) for one in kept for made in one.examples]
    sides = [side for one in kept for side in one.sides]
    if objective == "kto":  # all chosen answers, then all rejected ones
        sides = [one.sides[at] for at in (0, 1) for one in kept if at < len(one.sides)]
    pairs = [(side.tokens, side.labels) for side in sides if side.tokens and side.labels]
    if objective == "reward":
        return [(list(tokens.ids), []) for tokens, _ in pairs]
    return [(list(tokens.ids), list(labels.labels)) for tokens, labels in pairs]


@pytest.mark.shared
@pytest.mark.parametrize(
    ("version", "objective"),
    [
        *[("1.16", one) for one in ("dpo", "kto", "reward", "orpo", "cpo")],
        *[("1.14", one) for one in ("dpo", "kto", "reward")],
    ],
)
def test_every_recorded_case(shared: Path, version: str, objective: str) -> None:
    folder = shared / "testdata"
    tokenizers = {
        name: load_tokenizer(str(folder / "tokenizers" / name), mode="provisional")
        for name in ("qwen2.5", "llama-3-8b-instruct")
    }
    cases, wrong = recorded(shared, version, objective), []
    for case in cases:
        setting = dict(case["setting"])
        knobs = {"length__over": "cut_left"} if setting.pop("truncation_mode", "") == "keep_end" else {}
        knobs |= {KNOBS[name].replace(".", "__"): value for name, value in setting.items()}
        name = case["tokenizer"]
        if objective in ("orpo", "cpo"):  # its collator needs a pad token, which the probe did not ask
            knobs["tokenizer__pad_token"] = "<|eot_id|>" if name.startswith("llama") else "<|endoftext|>"
        if name == "qwen3":
            knobs["render__template"] = f"file:{folder / 'templates' / 'trl_qwen3.jinja'}"
        recipe = with_knobs(preset(f"trl@{version}"), {"loss.objective": objective})
        detected = pipeline.detect([Row(at, row, "", "") for at, row in enumerate(case["rows"])], recipe)
        if detected.refused is not None:
            if not case["error"]:
                wrong.append(f"{case['case']}: {detected.refused.sentence()}")
            continue
        found, recipe, tools = prepared(
            case["rows"], objective, tokenizers["qwen2.5" if name == "qwen3" else name], version, **knobs
        )
        if case["error"]:
            if not any(one.problem for one in found):
                wrong.append(f"{case['case']}: TRL stops with {case['error']}")
            continue
        if any(one.problem for one in found) or sequences(found, objective) != expected(case, objective):
            wrong.append(f"{case['case']}: {expected(case, objective)} and {sequences(found, objective)}")
        elif case.get("batch") and objective == "dpo":
            batch = pipeline.make_batch(found, recipe, tools)
            mask = [[int(label != IGNORE_INDEX) for label in row] for row in batch.labels]
            if ([list(row) for row in batch.input_ids], mask) != tuple(
                case["batch"][name] for name in ("input_ids", "completion_mask")
            ):
                wrong.append(f"{case['case']}: the batch differs")
    assert cases and not wrong, "\n".join(wrong[:5])


@pytest.fixture(scope="module")
def chatml() -> LoadedTokenizer:
    return load_tokenizer("builtin:chatml")


USER = {"role": "user", "content": "Hi"}


def said(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


PAIR = {"prompt": [USER], "chosen": [said("assistant", "good")], "rejected": [said("assistant", "bad")]}
TEXTS = {"prompt": "Q: Hi\nA:", "chosen": " good", "rejected": " bad"}


@pytest.mark.parametrize(
    ("objective", "rows", "why"),
    [
        ("dpo", [PAIR, {**PAIR, "chosen": []}], "its `chosen` is an empty list"),
        ("dpo", [{**PAIR, "rejected": None}], "its `rejected` is null"),
        ("dpo", [TEXTS, {**TEXTS, "chosen": [said("assistant", "good")]}], "TRL checks only one of them"),
        ("dpo", [TEXTS, PAIR], "its first row is text"),
        ("dpo", [{"chosen": [USER], "rejected": [said("assistant", "bad")]}], "share no message"),
        ("dpo", [{"chosen": "", "rejected": "bad"}], "one side is empty"),
        (
            "dpo",
            [{**PAIR, "chosen": [{"content": "a"}], "rejected": [{"content": "b"}], "prompt": [{"content": "c"}]}],
            "the first message of its lists has no `role`, so TRL reads them as text",
        ),
        ("kto", [{"prompt": "Q:", "completion": " good", "label": None}], "its `label` is null"),
        ("reward", [{"chosen_ids": ["a"], "rejected_ids": [1]}], "are not lists of ids"),
        ("orpo", [{**PAIR, "prompt": [said("system", "s")]}], "ends with a message from `system`"),
    ],
)
def test_rows_that_stop_it_say_why(
    chatml: LoadedTokenizer, objective: str, rows: Sequence[Mapping[str, Any]], why: str
) -> None:
    found, _, _ = prepared(rows, objective, chatml)
    problem = found[-1].problem
    assert problem is not None and why in problem.sentence() and not found[-1].examples


def test_orpo_ends_an_empty_answer_behind_a_prompt_that_ends(chatml: LoadedTokenizer) -> None:
    """add_eos_token_if_needed asks the answer's ids alone (trl 1.16.0, experimental/utils.py)."""
    (found,), _, tools = prepared([{**TEXTS, "prompt": "Q<|im_end|>", "chosen": ""}], "orpo", chatml)
    assert found.tokens is not None and found.labels is not None
    end = tools.tokenizer.facts.eos_id
    assert list(found.tokens.ids[-2:]) == [end, end] and found.labels.ranges == (
        (len(found.tokens) - 1, len(found.tokens)),
    )


@pytest.mark.parametrize(
    ("objective", "row", "missing"),
    [("dpo", {"prompt": "a", "chosen": "b"}, "rejected"), ("kto", {"prompt": "a", "completion": "b"}, "label")],
)
def test_sets_without_a_column_are_refused(objective: str, row: Mapping[str, Any], missing: str) -> None:
    recipe = with_knobs(preset("trl"), {"loss.objective": objective})
    detected = pipeline.detect([Row(0, row, "", "")], recipe)
    assert detected.refused is not None and f"KeyError: '{missing}'" in detected.refused.sentence()


@pytest.mark.parametrize("knobs", [{"mask__rule": "all"}, {"pack__strategy": "bfd"}, {"batch__flatten": True}])
def test_what_only_sft_has_is_refused(chatml: LoadedTokenizer, knobs: Mapping[str, Any]) -> None:
    (found,), _, _ = prepared([PAIR], "dpo", chatml, **knobs)
    assert found.problem is not None and not found.examples


def test_a_prompt_that_fills_the_length_drops_both_sides(chatml: LoadedTokenizer) -> None:
    (whole,), _, _ = prepared([PAIR], "dpo", chatml)
    assert whole.boundary is not None
    prompt = whole.boundary.common
    for most, kept in ((prompt, 0), (prompt + 1, 2)):
        (found,), _, _ = prepared([PAIR], "dpo", chatml, length__max=most)
        assert len(found.examples) == kept and (found.dropped is None) == bool(kept)
        assert found.rejected is not None and found.rejected.dropped == found.dropped


def test_a_batch_is_all_chosen_and_then_all_rejected(chatml: LoadedTokenizer) -> None:
    rows = [PAIR, {**PAIR, "prompt": [said("user", "Bye")]}]
    found, recipe, tools = prepared(rows, "dpo", chatml)
    batch = pipeline.make_batch(found, recipe, tools)
    assert batch.rows == (0, 1, 0, 1)
    heads = [next(at for at, label in enumerate(labels) if label != IGNORE_INDEX) for labels in batch.labels]
    pieces = [tools.tokenizer.piece(ids[at]) for ids, at in zip(batch.input_ids, heads)]
    assert pieces[0] == pieces[1] != pieces[2] == pieces[3]


def test_each_answer_is_the_partner_of_the_next_prompt(chatml: LoadedTokenizer) -> None:
    rows = [{"prompt": f"Q{at}:", "completion": f" answer {at}", "label": at % 2 == 0} for at in range(3)]
    found, recipe, tools = prepared(rows, "kto", chatml)
    batch = pipeline.make_batch(found, recipe, tools)
    partners = batch.partners
    assert partners is not None
    own, other = ([[one for one in row if one != IGNORE_INDEX] for row in made.labels] for made in (batch, partners))
    assert other == [own[-1], *own[:-1]]
    alone = pipeline.make_batch(found[:1], recipe, tools)
    assert any("its own" in note for note in alone.notes)
    assert trainer_of(with_knobs(recipe, {"batch.size": 1})).stops(with_knobs(recipe, {"batch.size": 1}))
    apo = with_knobs(recipe, {"own.loss_type": "apo_zero_unpaired", "batch.size": 1})
    assert not trainer_of(apo).stops(apo) and pipeline.make_batch(found, apo, tools).partners is None


def test_the_score_is_read_at_the_last_token_that_does_not_pad(chatml: LoadedTokenizer) -> None:
    """transformers takes the rightmost id that is not the pad token: where EOS pads, the one before it."""
    (found,), _, tools = prepared([TEXTS], "reward", chatml)
    labels, tokens = found.labels, found.tokens
    assert labels is not None and tokens is not None
    assert labels.ranges == ((len(tokens) - 1, len(tokens)),) and tokens.ids[-1] == tools.tokenizer.facts.eos_id
    (padded,), _, _ = prepared([TEXTS], "reward", chatml, batch__pad_token=tools.tokenizer.facts.eos_token)
    assert padded.labels is not None and padded.labels.ranges == ((len(tokens) - 2, len(tokens) - 1),)


def test_too_long_a_side_drops_a_scored_pair(chatml: LoadedTokenizer) -> None:
    row = {**TEXTS, "rejected": " bad" * 20}
    (found,), _, _ = prepared([row], "reward", chatml, length__max=20)
    assert found.dropped is not None and not found.examples


def test_pairs_are_taken_apart_a_thousand_at_a_time(chatml: LoadedTokenizer) -> None:
    pairs, _, _ = prepared([PAIR] * 3, "kto", chatml)
    found = list(unpaired(pairs[at % 3] for at in range(1_002)))
    wanted = [one.conversation.extra["desirable"] for one in found if one.conversation]
    assert wanted == [True] * 1_000 + [False] * 1_000 + [True] * 2 + [False] * 2


@pytest.mark.parametrize(
    ("keys", "objective"),
    [
        ({}, "sft"),
        ({"beta": 0.2}, "dpo"),
        ({"loss_type": ["sigmoid", "sft"]}, "dpo"),
        ({"beta": 0.1, "desirable_weight": 1.2}, "kto"),
        ({"loss_type": "apo_zero_unpaired"}, "kto"),
        ({"center_rewards_coefficient": 0.01}, "reward"),
        ({"beta": 2.0, "simpo_gamma": 0.5}, "cpo"),
        ({"loss_type": "dft"}, "sft"),
    ],
)
def test_a_config_tells_its_objective(keys: Mapping[str, Any], objective: str) -> None:
    text = json.dumps({"model_name_or_path": "m", "dataset_name": "d.jsonl", **keys})
    opened = trainer_named("trl").read_config("c.yaml", text)
    assert opened.recipe.loss.objective == objective
    assert [note.path for note in opened.keys if note.use.name in ("UNKNOWN", "UNSURE")] == []
