"""Axolotl's `rl: dpo`: every recorded case of ../shared, and what stops it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from golden_records import inspect, with_knobs

from sftui import pipeline
from sftui.errors import RecipeError
from sftui.model import IGNORE_INDEX, Inspection, Row
from sftui.recipe import Recipe
from sftui.tokens import LoadedTokenizer, load_tokenizer
from sftui.trainers import Toolbox, preset, trainer_named, trainer_of
from sftui.trainers.config import KeyUse

OWN = {
    "user_defined.default": {
        "prompt_format": "Q: {prompt}\nA:",
        "chosen_format": " {chosen}",
        "rejected_format": " {rejected}",
    },
    "user_defined, prompt_format ends with a space": {"prompt_format": "Q: {prompt}\nA: "},
}
"""The types of recorded cases that describe themselves, which the records leave out."""
TRL_ALONE = "TRL's max_length"
"""Cases of TRL's own step: Axolotl drops these rows before it."""


SCORED = "bradley_terry.chat_template"
ASKED = {"system": "", "input": "Hi", "chosen": "good", "rejected": "bad"}


def prepared(
    rows: Sequence[Any], tokenizer: LoadedTokenizer, kind: object = "chat_template.default", **knobs: Any
) -> tuple[list[Inspection], Recipe, Toolbox]:
    """Rows under `rl: dpo` and a type, with `__` for the dots of knobs."""
    named = {key.replace("__", "."): value for key, value in knobs.items()}
    recipe = with_knobs(preset("axolotl@0.21"), {"loss.objective": "dpo", "own.type": kind, **named})
    tools = pipeline.make_toolbox(recipe, tokenizer)
    return inspect(rows, recipe, tools), recipe, tools


def sequences(found: Sequence[Inspection]) -> list[tuple[list[int], list[int]]]:
    sides = [side for one in found for side in one.sides]
    return [(list(side.tokens.ids), list(side.labels.labels)) for side in sides if side.tokens and side.labels]


@pytest.mark.shared
def test_every_recorded_case(shared: Path) -> None:
    path = shared / "probes" / "axolotl_pairs.jsonl"
    if not path.exists():
        pytest.skip(f"{path} is not here")
    cases = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    cases = [case for case in cases if case["trainer"] == "Axolotl rl: dpo"]
    tokenizers = {
        name: load_tokenizer(str(shared / "testdata" / "tokenizers" / name), mode="provisional")
        for name in ("qwen2.5", "llama-3-8b-instruct")
    }
    wrong, compared = [], 0
    for case in cases:
        tokenizer, kind, name = tokenizers[case["tokenizer"]], case["strategy"], case["case"]
        kind = OWN.get(name, kind)
        found, *_ = prepared(case["rows"], tokenizer, kind)
        if name.startswith(TRL_ALONE):
            short, *_ = prepared(case["rows"], tokenizer, kind, length__max=case["setting"]["max_length"])
            if any(one.example is not None for one in short):
                wrong.append(f"{name}: Axolotl drops the row first")
        if case["error"]:
            wrong += [f"{name}: it stops with {case['error']}"] * (not all(one.problem for one in found))
            continue
        expected = [
            (row["prompt_ids"] + row[f"{side}_ids"], [IGNORE_INDEX] * len(row["prompt_ids"]) + row[f"{side}_ids"])
            for row in case["result"]
            for side in ("chosen", "rejected")
        ]
        compared += bool(expected)
        if expected and sequences(found) != expected:
            wrong.append(f"{name}: {expected} and {sequences(found)} {[one.problem for one in found]}")
    assert compared >= 20 and not wrong, "\n".join(wrong[:5])


@pytest.fixture(scope="module")
def chatml() -> LoadedTokenizer:
    return load_tokenizer("builtin:chatml")


def said(role: str, content: Any) -> dict[str, Any]:
    return {"role": role, "content": content}


PAIR: dict[str, Any] = {
    "messages": [said("user", "Hi")],
    "chosen": said("assistant", "good"),
    "rejected": said("assistant", "bad"),
}
ARGILLA = "chat_template.argilla_chat"
LISTS: dict[str, Any] = {
    "chosen": [said("user", "Hi"), said("assistant", "good")],
    "rejected": [said("assistant", "bad")],
}


@pytest.mark.parametrize(
    ("row", "knobs", "why"),
    [
        ({**PAIR, "messages": [said("human", "Hi")]}, {}, "no role is `human`"),
        ({**PAIR, "messages": [{"content": "Hi"}]}, {}, "the role of messages[0] is"),
        ({**PAIR, "messages": None}, {}, "its `messages` is null"),
        ({**PAIR, "chosen": []}, {}, "its `chosen` is an empty list"),
        ({**PAIR, "rejected": said("assistant", ["bad"])}, {}, "the content of rejected is"),
        ({**LISTS, "rejected": "bad"}, {"own__type": ARGILLA}, "its `rejected` is"),
        ({**LISTS, "chosen": LISTS["chosen"][1:]}, {"own__type": ARGILLA}, "empty conversation"),
        (PAIR, {"pack__strategy": "multipack"}, "does not work with RLHF"),
        (PAIR, {"length__max": 3, "length__over": "error"}, "more than sequence_len 3"),
        (
            {**PAIR, "chosen": ""},
            {"render__template": "axolotl/jinja", "own__chat_template_jinja": "{{ messages[-1].content }}"},
            "is empty: Axolotl requires it",
        ),
    ],
)
def test_what_stops_a_row(row: Mapping[str, Any], knobs: Mapping[str, Any], why: str, chatml: LoadedTokenizer) -> None:
    problem = prepared([row], chatml, **{"kind": knobs.get("own__type", "chat_template"), **knobs})[0][0].problem
    assert problem is not None and why in f"{problem.what} {problem.why}"


@pytest.mark.parametrize(
    ("rows", "version", "kind", "why"),
    [
        ([PAIR], "0.20", "chat_template", "before Axolotl 0.21"),
        ([PAIR], "0.21", "zephyr.nectar", "does not know the Axolotl type `zephyr.nectar`"),
        ([PAIR], "0.21", "chatml.intel", "no column `question`"),
        ([PAIR], "0.21", ARGILLA, None),
        ([LISTS], "0.21", "chat_template.default", "no column `messages`"),
        ([{**PAIR, "images": None}], "0.21", "chat_template", "images"),
    ],
)
def test_what_refuses_a_set(rows: Sequence[Any], version: str, kind: str, why: str | None) -> None:
    recipe = with_knobs(preset(f"axolotl@{version}"), {"loss.objective": "dpo", "own.type": kind})
    try:
        refused = pipeline.detect([Row(at, row, "", "") for at, row in enumerate(rows)], recipe).refused
    except RecipeError as error:
        refused = pipeline.as_problem(error)
    assert refused is None if why is None else refused is not None and why in refused.sentence()


def test_the_length_is_counted_without_special_tokens_and_cut_with_them(shared: Path) -> None:
    """A row of exactly sequence_len tokens loses its EOS to the second BOS; one of a token more is dropped."""
    llama = load_tokenizer(str(shared / "testdata" / "tokenizers" / "llama-3-8b-instruct"), mode="provisional")
    kept, *_ = prepared([PAIR], llama, length__max=13)  # 11 of the prompt, 2 of each answer
    chosen, rejected = kept[0].examples
    assert chosen.labels[-1] == 19045 and rejected.labels[-1] == 14176 and len(chosen.input_ids) == 13
    over, *_ = prepared([PAIR], llama, length__max=12)
    assert over[0].labels is not None and "13 tokens, more than sequence_len 12" in str(over[0].labels.dropped)


def test_what_a_message_loses(chatml: LoadedTokenizer) -> None:
    """Of an answer in several messages only the last is read, of a message only role and content."""
    call = {**said("assistant", ""), "tool_calls": [{"type": "function", "function": {"name": "f", "arguments": {}}}]}
    row = {**PAIR, "chosen": [said("assistant", "a"), said("user", "b"), call], "tools": [{"type": "function"}]}
    found, *_ = prepared([row], chatml)
    chosen, _ = found[0].sides
    assert chosen.rendered is not None and chosen.rendered.text.endswith("<|im_start|>assistant\n<|im_end|>")
    assert chosen.conversation is not None and "last message of `chosen`" in chosen.conversation.notes[0]
    template = "{% for m in messages %}<{{ m.role }}>{{ m.think }}|{{ m.content }};{% endfor %}"
    jinja = {"render__template": "axolotl/jinja", "own__chat_template_jinja": template}
    thought = {**PAIR, "chosen": {**said("assistant", "good"), "thought": "why"}}
    mapped, *_ = prepared([thought], chatml, own__message_property_mappings={"think": "thought"}, **jinja)
    texts = [side.rendered.text for side in mapped[0].sides if side.rendered]
    assert texts == ["<user>|Hi;<assistant>|good;", "<user>|Hi;<assistant>|bad;"]


def test_a_template_without_a_generation_prompt_is_cut_at_its_dummy(chatml: LoadedTokenizer) -> None:
    """Where the dummy's rendering does not begin the answer's, the answer begins where its content is first found."""
    template = "{{ messages | length }}:{% for m in messages %}{{ m.content }};{% endfor %}"
    jinja = {"render__template": "axolotl/jinja", "own__chat_template_jinja": template}
    found, *_ = prepared([PAIR], chatml, **jinja)
    assert [side.rendered.text for side in found[0].sides if side.rendered] == ["1:Hi;good;", "1:Hi;bad;"]


def test_batches_are_chosen_then_rejected_padded_to_the_longest(chatml: LoadedTokenizer) -> None:
    found, recipe, tools = prepared([PAIR, {**PAIR, "chosen": said("assistant", "a much longer answer")}], chatml)
    batch = pipeline.make_batch(found, recipe, tools)
    sizes = [len(side.tokens.ids) for at in (0, 1) for one in found for side in [one.sides[at]] if side.tokens]
    assert list(batch.lengths) == sizes and {len(ids) for ids in batch.input_ids} == {max(sizes)}


def test_a_config_says_what_axolotl_keeps_of_an_entry() -> None:
    """Its schema has no mappings, roles and template for an entry of pairs, and drops them."""
    entry = (
        "{path: d.jsonl, type: chat_template.default, field_chosen: good, chat_template: llama3, roles: {user: [human]}"
    )
    text = f"base_model: m\nrl: dpo\nchat_template: chatml\npad_to_multiple_of: 64\ndatasets:\n  - {entry}}}\n"
    opened = trainer_named("axolotl").read_config("config.yml", text)
    recipe, uses = opened.recipe, {note.path: note.use for note in opened.keys}
    assert recipe.render.template == "axolotl/chatml" and recipe.data.role_map == preset("axolotl").data.role_map
    assert recipe.data.fields == {"chosen": "good"} and uses["datasets[0].field_chosen"] is KeyUse.USED
    assert uses["datasets[0].roles"] is uses["datasets[0].chat_template"] is KeyUse.IDLE
    assert uses["pad_to_multiple_of"].stops
    said, lost = trainer_named("axolotl").keys_of(with_knobs(recipe, {"data.message_keys": {"role": "from"}}))
    assert said["chat_template"] == "chatml" and "drops this key" in lost[0]
    detected = pipeline.detect([Row(0, {"messages": [], "good": "a", "rejected": "b"}, "", "")], recipe)
    assert detected.fields == {"prompt": "messages", "chosen": "good", "rejected": "rejected"}


@pytest.mark.parametrize("rl", ["dpo", "ipo"])
def test_a_config_says_it_and_is_written(rl: str) -> None:
    text = f"base_model: m\nrl: {rl}\nchat_template: chatml\ndatasets:\n  - {{path: d.jsonl, type: {ARGILLA}}}\n"
    opened = trainer_named("axolotl").read_config("config.yml", text)
    recipe = opened.recipe
    assert (recipe.loss.objective, recipe.own.type) == ("dpo", ARGILLA)  # type: ignore[attr-defined]
    assert recipe.render.template == "axolotl/chatml"
    uses = {note.path: note.use for note in opened.keys}
    assert uses["rl"] is KeyUse.USED and uses["datasets[0].type"] is KeyUse.USED
    said, lost = trainer_named("axolotl").keys_of(recipe)
    assert said["rl"] == "dpo" and not lost


TEXT = {"prompt": "Hi", "chosen": "good", "rejected": "bad"}
LLAMA3 = "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"
SYSTEM = "<|im_start|>system\ns<|im_end|>\n"
CHATML = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"


@pytest.mark.parametrize(
    ("kind", "row", "texts"),
    [
        ("chatml", {"input": "Hi", "system": "s", "chosen_response": "good", "rejected": "bad"}, SYSTEM + CHATML),
        ("chatml.icr", {**TEXT, "input": "Hi", "prompt": "no", "system": None}, CHATML),
        ("chatml.prompt_pairs", {**TEXT, "system": "s"}, SYSTEM + CHATML),
        (
            "llama3.ultra",
            {**TEXT, **{side: [said("user", "x"), said("assistant", TEXT[side])] for side in ("chosen", "rejected")}},
            LLAMA3,
        ),
        (
            "llama3.argilla_chat",
            {
                "chosen": [said("user", "Hi"), said("assistant", "good")],
                "rejected": [said("user", "x"), said("assistant", "bad")],
                "system": "s",
            },
            LLAMA3,
        ),
        (
            {"prompt_format": "{system}|{prompt}{{}}", "field_prompt": "input"},
            {**TEXT, "input": "Hi", "system": "s"},
            "s|Hi{}",
        ),
    ],
)
def test_texts_of_types_that_write_them(kind: object, row: Any, texts: str, chatml: LoadedTokenizer) -> None:
    found, *_ = prepared([row], chatml, kind)
    end = "" if isinstance(kind, dict) else "<|eot_id|>" if str(kind).startswith("llama3") else "<|im_end|>"
    sides = [side.rendered.text for side in found[0].sides if side.rendered]
    assert sides == [f"{texts}good{end}", f"{texts}bad{end}"]


@pytest.mark.parametrize(
    ("kind", "row", "why"),
    [
        ({"prompt_format": "{prompt:9}"}, TEXT, "sftui models {prompt} alone"),
        ({"chosen_format": "{rejected}"}, TEXT, "sftui models {chosen} alone"),
        ("llama3.ultra", TEXT, "an answer is not text"),
        ("chatml.prompt_pairs", {**TEXT, "prompt": 3}, "is not text"),
    ],
)
def test_texts_that_are_not_modelled(kind: object, row: Any, why: str, chatml: LoadedTokenizer) -> None:
    problem = prepared([row], chatml, kind)[0][0].problem
    assert problem is not None and why in f"{problem.what} {problem.why}"


ROUND: dict[str, Any] = {
    "chosen": [said("user", "Hi"), said("assistant", "a"), said("user", "c"), said("assistant", "good")],
    "rejected": [said("assistant", "bad")],
}
TURNS = "chat_template.argilla"
ANSWER = {"prompt": "Hi", "question": "Hi", "instruction": "Hi", "completion": "good", "label": True}


@pytest.mark.parametrize(
    ("kind", "row", "texts"),
    [
        ("chatml.argilla", {**ANSWER, "system": "s"}, (SYSTEM + CHATML, "good<|im_end|>")),
        ("llama3.intel", ANSWER, (LLAMA3, "good<|eot_id|>")),
        ("chatml.ultra", {**ANSWER, "label": 0}, (CHATML, "good<|im_end|>")),
        (
            "chatml.argilla_chat",
            {"completion": [said("critic", "x"), said("assistant", "{y}")], "label": False},
            ("<|im_start|>critic\nx<|im_end|>\n<|im_start|>assistant\n", "{y}<|im_end|>"),
        ),
        (
            {"prompt_format": "{system}|{prompt}", "completion_format": "{completion}!", "field_label": "good"},
            {**ANSWER, "system": "s", "good": True, "label": None},
            ("s|Hi", "good!"),
        ),
        (None, ANSWER, ("Hi", "good")),
    ],
)
def test_answers_of_kto(kind: object, row: Any, texts: tuple[str, str], chatml: LoadedTokenizer) -> None:
    found, recipe, tools = prepared([row, row], chatml, kind, loss__objective="kto", batch__size=2)
    rendered, labels = found[0].rendered, found[0].labels
    assert rendered is not None and labels is not None and rendered.text == "".join(texts)
    assert rendered.prompt == texts[0]
    wanted = "desirable" if row.get("good", row["label"]) else "undesirable"
    assert labels.notes[-1] == f"the answer is {wanted}"
    batch = pipeline.make_batch(found, recipe, tools)
    assert batch.partners is not None and batch.partners.input_ids[0] == batch.input_ids[1]


@pytest.mark.parametrize(
    ("objective", "kind", "row", "why"),
    [
        ("kto", "chatml.ultra", {**ANSWER, "label": "yes"}, "its `label` is"),
        ("kto", "chatml.argilla_chat", {"completion": [], "label": True}, "not a list of messages"),
        ("kto", {"prompt_format": "{system}{prompt}"}, ANSWER, "no system prompt"),
        ("orpo", TURNS, {**ROUND, "chosen": ROUND["chosen"][1:]}, "questions and answers in turn"),
        ("orpo", TURNS, {**ROUND, "rejected": [said("assistant", None)]}, "the content of rejected[0]"),
        ("orpo", TURNS, {**ROUND, "prompt": None}, "the content of chosen[0]"),
        ("cpo", ARGILLA, {**LISTS, "rejected": "bad"}, "its `rejected` is"),
        ("reward", SCORED, {**ASKED, "system": None}, "its `system` is null"),
        ("reward", SCORED, {**ASKED, "chosen": ["good"]}, "its `chosen` is a list"),
    ],
)
def test_what_stops_other_objectives(objective: str, kind: object, row: Any, why: str, chatml: LoadedTokenizer) -> None:
    problem = prepared([row], chatml, kind, loss__objective=objective)[0][0].problem
    assert problem is not None and why in f"{problem.what} {problem.why}"


@pytest.mark.parametrize(
    ("objective", "kind", "row", "fix"),
    [
        ("dpo", "chat_template.default", {"messages": [], "chosen": {}}, "set field_rejected, rename the column, or"),
        (
            "dpo",
            "chat_template.default",
            {"prompt": [], "chosen": {}, "rejected": {}},
            "set field_messages, rename the column, or",
        ),
        ("dpo", "chatml.icr", {"input": "Hi", "chosen": "good"}, "rename the column, or choose another type"),
        ("orpo", TURNS, {"chosen": []}, "give each row the columns `chosen`, `rejected`"),
        ("reward", SCORED, TEXT, "give each row the columns `system`, `input`, `chosen`, `rejected`"),
    ],
)
def test_a_missing_column_names_what_its_type_can_be_told(objective: str, kind: object, row: Any, fix: str) -> None:
    recipe = with_knobs(preset("axolotl@0.21"), {"loss.objective": objective, "own.type": kind})
    refused = pipeline.detect([Row(0, row, "", "a")], recipe).refused
    assert refused is not None and refused.fix.startswith(fix)


def test_orpo_reads_the_questions_of_chosen(chatml: LoadedTokenizer) -> None:
    """The last answers alone are compared; a column `prompt` stands for each question."""
    found, *_ = prepared([ROUND, {**ROUND, "system": "s"}], chatml, TURNS, loss__objective="orpo")
    texts = [side.rendered.text for one in found for side in one.sides if side.rendered]
    asked = CHATML + "a<|im_end|>\n" + CHATML.replace("Hi", "c")
    assert texts[:2] == [f"{asked}good<|im_end|>\n", f"{asked}bad<|im_end|>\n"] and texts[2].startswith(SYSTEM)
    both, *_ = prepared([{**ROUND, "prompt": "P"}], chatml, TURNS, loss__objective="orpo")
    assert both[0].rendered is not None and both[0].rendered.text.count("user\nP") == 2


def test_orpo_cuts_both_answers_by_the_longer_one(chatml: LoadedTokenizer) -> None:
    """The EOS behind the template's line break is one too many: both are cut to what the longer one leaves."""
    row = {"chosen": [said("user", "Hi"), said("assistant", "good " * 8)], "rejected": [said("assistant", "good " * 6)]}
    whole = sequences(prepared([row], chatml, TURNS, loss__objective="orpo")[0])
    start, limit = len(chatml.ids(CHATML)), len(whole[0][0]) - 1
    found, *_ = prepared([row], chatml, TURNS, loss__objective="orpo", length__max=limit)
    left = limit - (len(whole[0][0]) - start)
    assert [one.input_ids for one in found[0].examples] == [tuple(ids[: start + left]) for ids, _ in whole]


def test_a_reward_model_reads_each_side_where_it_ends(chatml: LoadedTokenizer) -> None:
    """An empty system prompt is a turn; a side that is too long keeps its start, and is scored there."""
    found, *_ = prepared(
        [ASKED, {**ASKED, "chosen": "good " * 20}], chatml, SCORED, loss__objective="reward", length__max=30
    )
    texts = [side.rendered.text for side in found[0].sides if side.rendered]
    assert texts[0] == "<|im_start|>system\n<|im_end|>\n" + CHATML + "good<|im_end|>\n"
    assert all(one.trained == 1 and one.labels[-1] == one.input_ids[-1] for row in found for one in row.examples)
    assert len(found[1].examples[0].input_ids) == 30 and found[1].cut
    bare, *_ = prepared([ASKED], chatml, SCORED, loss__objective="reward", own__drop_system_message=True)
    assert bare[0].rendered is not None and bare[0].rendered.text == CHATML + "good<|im_end|>\n"


def test_a_config_of_a_reward_model() -> None:
    text = "base_model: m\nreward_model: true\nchat_template: qwen3\ndatasets:\n"
    text += f"  - {{path: d.jsonl, type: {SCORED}, field_chosen: good}}\n"
    opened = trainer_named("axolotl").read_config("config.yml", text)
    recipe, uses = opened.recipe, {note.path: note.use for note in opened.keys}
    assert (recipe.loss.objective, recipe.batch.pad_to, recipe.render.template) == ("reward", "max", "axolotl/qwen3")
    assert uses["reward_model"] is KeyUse.USED and uses["datasets[0].field_chosen"] is KeyUse.UNSUPPORTED
    said, lost = trainer_named("axolotl").keys_of(recipe)
    assert said["reward_model"] is True and not lost
    both = text.replace("reward_model: true", "reward_model: true\nrl: dpo")
    assert trainer_named("axolotl").read_config("config.yml", both).recipe.loss.objective == "dpo"


def test_a_cut_answer_is_decoded_to_text(chatml: LoadedTokenizer) -> None:
    """Half a character becomes a sign of its own, which is encoded anew."""
    knobs = {"length__over": "cut_right", "length__max": len(chatml.ids("Hi")) + 2}
    found, *_ = prepared([{**TEXT, "chosen": "a🙂", "rejected": "b"}], chatml, {"prompt_format": "{prompt}"}, **knobs)
    assert (
        found[0].rendered is not None
        and found[0].rendered.text.startswith("Hia")
        and "🙂" not in found[0].rendered.text
    )
    dropped, *_ = prepared([TEXT], chatml, {"prompt_format": "{prompt}"}, length__over="cut_right", length__max=1)
    assert dropped[0].labels is not None and dropped[0].labels.dropped


@pytest.mark.parametrize(
    ("rl", "objective", "kind"), [("kto", "kto", "chatml.ultra"), ("simpo", "cpo", ARGILLA), ("orpo", "orpo", TURNS)]
)
def test_configs_of_other_objectives(rl: str, objective: str, kind: str) -> None:
    text = f"base_model: m\nrl: {rl}\ndatasets:\n  - {{path: d.jsonl, type: {kind}}}\n"
    opened = trainer_named("axolotl").read_config("config.yml", text)
    assert opened.recipe.loss.objective == objective
    assert {note.path: note.use for note in opened.keys}["datasets[0].type"] is KeyUse.USED
    assert ["remove_unused_columns" in note.path for note in opened.keys if note.use.stops] == [True] * (rl == "kto")
    said, lost = trainer_named("axolotl").keys_of(opened.recipe)
    assert said["rl"] == rl and not lost and said.get("remove_unused_columns", True) is (rl != "kto")


def test_padding_stops_dpo_alone() -> None:
    for objective, stops in (("dpo", True), ("cpo", False), ("kto", False)):
        recipe = with_knobs(
            preset("axolotl@0.21"), {"loss.objective": objective, "batch.multiple": 16, "batch.size": 2}
        )
        assert bool(trainer_of(recipe).stops(recipe)) is stops
