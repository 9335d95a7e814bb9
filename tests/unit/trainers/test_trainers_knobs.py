"""No preset takes a knob and then ignores it: it acts on some row, or stops rows, or the trainer's notes say that it
cannot be told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from knob_probes import changes_something, outcome, under
from trainers import having, module_of

from sftui.errors import RecipeError
from sftui.recipe import KnobInfo, changed, get, knobs
from sftui.trainers import TRAINERS, load_recipe, preset, preset_names
from sftui.trainers.own_config import choices_of, losses_of, notes_of, require

NEWEST = {name.partition("@")[0]: name for name in reversed(preset_names())}
PRESETS = tuple(
    NEWEST[trainer]
    for trainer in TRAINERS
    if trainer not in having("facts") or module_of(trainer, "facts").FACTS.converted
)
"""The newest preset of each trainer that reads what the others read: the rows here are such."""
INFOS = {info.path: info for info in knobs()}
TAGGED = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{% if m['role'] == 'assistant' %}{% generation %}{{"
    " m['content'] }}<|im_end|>{% endgeneration %}{% else %}{{ m['content'] }}<|im_end|>{% endif %}\n{% endfor %}{% if"
    " add_generation_prompt %}<|im_start|>assistant\n{% endif %}{{ enable_thinking }}{{ strftime_now('%Y') }}"
)
TYPED: Mapping[str, Sequence[Any]] = {
    "data.fields": ({"messages": "chat"}, {"text": "prompt"}),
    "data.message_keys": ({"role": "who", "content": "say"},),
    "data.role_map": ({"gpt": "assistant", "human": "user"}, {"user": "assistant"}),
    "tokenizer.eos_token": ("<|im_start|>",),
    "tokenizer.pad_token": ("<|im_start|>",),
    "tokenizer.bos_token": ("<|eot_id|>",),
    "render.template": ("builtin:llama3", "TAGGED"),
    "render.kwargs": ({"enable_thinking": False},),
    "render.inject_system": ("Be kind.",),
    "render.date": ("2001-02-03",),
    "mask.roles": (("user",),),
    "mask.instruction_marker": ("<|im_start|>user\n",),
    "mask.response_marker": ("u",),
    "mask.ignore_index": (-1,),
    "length.max": (6,),
    "length.min_tokens": (5,),
    "batch.pad_token": ("<|im_start|>",),
    "batch.multiple": (16,),
    "batch.labels_pad": (7,),
}
"""What the knobs without choices are set to."""

ASKED_FOR = (
    "tokenizer.name",
    "tokenizer.revision",
    "tokenizer.type",
    "tokenizer.transformers",
    "batch.size",
    "pack.group",
)
"""Knobs that decide what is loaded and how many rows are asked for at a time."""

AS_USUAL = [("batch.pad_side", "right")]
"""What the tokenizers here do by themselves."""
ONLY_WAY = {"verl": [("data.format", "messages")]}
"""What a trainer does with `auto` too, since it knows nothing else."""


def chosen(trainer: str, path: str) -> tuple[Any, ...]:
    """What a trainer may be set to, but nothing at all."""
    return tuple(one for one in choices_of(preset(NEWEST[trainer]), INFOS[path]) if one not in (None, "none"))


def contexts(name: str, path: str, template: str) -> list[dict[str, Any]]:
    """What else a recipe says while one knob is tried: some act only together."""
    trainer = name.partition("@")[0]
    tagged = [] if trainer == "torchtune" else [{"render.template": template}]
    found: list[dict[str, Any]] = [{}, {"length.max": 12}, *tagged]
    if path.startswith(("pack", "batch", "length")):
        found += [{"pack.strategy": one, "length.max": 60} for one in chosen(trainer, "pack.strategy")] + [
            {"length.max": None, "batch.flatten": True}
        ]
    found += [{"mask.rule": rule, **more} for rule in chosen(trainer, "mask.rule") for more in ({}, *tagged)]
    if trainer == "unsloth":
        markers = {
            "mask.rule": "markers",
            "mask.instruction_marker": "<|im_start|>user\n",
            "mask.response_marker": "<|im_start|>assistant\n",
        }
        found += [markers, {"own.text_from": "messages"}]
    if trainer == "llamafactory":
        found += [{"render.template": "llamafactory/qwen3"}]
    if trainer == "ms-swift":
        chatml = {"render.template": "ms-swift/chatml"}
        bare = {"own.use_chat_template": False, "length.max": 6}
        found = [{**chatml, **one} for one in (*found, {"own.packing_length": 60, "pack.strategy": "binpack"}, bare)]
    if trainer == "verl":
        # A switch of its own is put over the kwargs, and the template here writes a message alone otherwise.
        found += [{"own.enable_thinking_default": None, "own.ignore_input_ids_mismatch": True, **tagged[0]}]
    if trainer in ("hf-trainer", "manual-shift"):
        found += [{"data.strings": "plain"}, {"mask.prompt": "column"}, {"tokenize.add_special_tokens": True}]
    return found


def values(info: KnobInfo, name: str, template: str) -> list[Any]:
    offered: Sequence[Any] = (False, True) if info.type == "bool" else info.choices or TYPED[info.path]
    if info.path == "loss.objective":  # any other is refused
        offered = choices_of(preset(name), info)
    usual = [*AS_USUAL, *ONLY_WAY.get(name.partition("@")[0], ())]
    return [
        template if one == "TAGGED" else one
        for one in offered
        if one != get(preset(name), info.path) and (info.path, one) not in usual
    ]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("templates") / "tagged.jinja"
    file.write_text(TAGGED)
    return f"file:{file}"


@pytest.mark.one_of(6)
@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("info", [info for info in knobs() if info.path not in ASKED_FOR], ids=lambda info: info.path)
def test_a_knob_acts_or_is_told_not_to(name: str, info: KnobInfo, template: str) -> None:
    for value in values(info, name, template):
        told = [note for note in notes_of(changed(preset(name), info.path, value)) if info.path in note]
        if not told:
            assert changes_something(name, info.path, value, contexts(name, info.path, template)), (
                f"{info.path} = {value!r} is ignored in silence"
            )


@pytest.mark.parametrize("name", PRESETS)
def test_the_pane_offers_no_rule_that_is_refused(name: str) -> None:
    """What is offered follows from the trainer's config, what is refused from the code that labels."""
    for rule in chosen(name.partition("@")[0], "mask.rule"):
        found = outcome(under(name, {"mask.rule": rule}), "plain", "builtin:chatml")
        refused = [one[1] for one in found if one[0] == "refused"]
        assert [said for said in refused if "has no mask.rule" in said or "own preset" in said] == [], rule


@pytest.mark.parametrize(
    ("name", "path", "offered"),
    [
        ("trl@1.16", "pack.strategy", ("none", "bfd", "bfd_split", "wrapped")),
        ("trl@1.16", "length.over", ("cut_right", "cut_left")),
        ("trl@1.16", "mask.turns", ("all",)),
        ("axolotl@0.19", "length.over", ("cut_right", "drop", "error")),
        ("llamafactory@0.9", "mask.turns", ("all", "last")),
        ("torchtune@0.7", "mask.turns", ("all",)),
        ("unsloth@2026.10", "mask.turns", ("all",)),
        ("hf-trainer", "pack.strategy", ("none",)),
        ("trl@1.16", "data.role_map", ()),
        ("trl@1.16", "batch.flatten", (False, True)),
    ],
)
def test_choices_are_what_the_trainer_can_be_told(name: str, path: str, offered: tuple[Any, ...]) -> None:
    info = next(info for info in knobs() if info.path == path)
    assert choices_of(preset(name), info) == offered


def test_choices_go_by_the_rest_of_the_recipe() -> None:
    info = next(info for info in knobs() if info.path == "mask.turns")
    recipe = under("unsloth@2026.10", {"mask.rule": "markers"})
    assert choices_of(recipe, info) == ("all", "last")
    recipe = under("torchtune@0.7", {"mask.rule": "turn_full"})
    assert choices_of(recipe, info) == ("all",)  # no key of its config says so


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize(
    "rule", ["auto", "assistant", "turn_content", "turn_full", "parts", "markers", "segments", "completion"]
)
def test_a_rule_of_another_trainer_is_refused_with_what_there_is(name: str, rule: str) -> None:
    trainer = name.partition("@")[0]
    if rule in chosen(trainer, "mask.rule") or (trainer, rule) == ("axolotl", "auto"):
        return
    found = outcome(under(name, {"mask.rule": rule}), "plain", "builtin:chatml")
    assert all(one[0] == "refused" and (rule in one[1] or "there are no rows for a batch" in one[1]) for one in found)


def test_a_saved_recipe_with_such_a_rule_opens_and_says_so() -> None:
    recipe = load_recipe("preset: trl@1.16\nmask: {rule: assistant, turns: last}\n", "saved.yaml")
    notes = notes_of(recipe)
    assert any("mask.rule = 'assistant' has no key in TRL's config" in note for note in notes)
    with pytest.raises(
        RecipeError, match=r"TRL has no mask\.rule `assistant`.*it has auto, all, completion, generation_tag"
    ):
        require(recipe, "mask.rule")


@pytest.mark.parametrize("name", preset_names())
def test_no_preset_has_anything_to_say_against_itself(name: str) -> None:
    assert losses_of(preset(name)) == ()
