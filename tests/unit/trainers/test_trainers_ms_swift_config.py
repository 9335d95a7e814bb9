"""ms-swift's YAML, JSON and command lines, read and written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sftui.errors import RecipeError
from sftui.recipe import changed, get
from sftui.recipe_io import parse_yaml
from sftui.trainers import preset, trainer_named
from sftui.trainers.config import Facts, KeyUse, OpenedConfig
from sftui.trainers.own_config import losses_of, naming, write_config
from sftui.trainers.recognise import recognise

BASE = "model: Qwen/Qwen3-8B\ndataset: [rows.jsonl]\n"


def read(more: str = "", base: str = BASE, name: str = "sft.yaml") -> OpenedConfig:
    return trainer_named("ms-swift").read_config(name, base + more, None)


@pytest.mark.parametrize(
    ("line", "path", "value"),
    [
        ("template: qwen3\n", "render.template", "ms-swift/qwen3"),
        ("max_length: 512\n", "length.max", 512),
        ("max_length: '512'\n", "length.max", 512),
        ("truncation_strategy: left\n", "length.over", "cut_left"),
        ("loss_scale: last_round\n", "mask.turns", "last"),
        ("loss_scale: all+hermes\n", "mask.rule", "all"),
        ("loss_scale: hermes+ignore_empty_think\n", "own.loss_scale", "hermes+ignore_empty_think"),
        ("system: 'Be brief.\\nBe kind.'\n", "render.inject_system", "Be brief.\nBe kind."),
        ("system: ''\n", "render.inject_system", ""),
        ("packing: true\n", "pack.strategy", "binpack"),
        ("packing: yes\npacking_strategy: sequential\n", "pack.strategy", "sequential"),
        ("packing: false\n", "pack.strategy", "none"),
        ("per_device_train_batch_size: 2\n", "batch.size", 2),
        ("padding_side: left\n", "batch.pad_side", "left"),
        ("columns: {question: query}\n", "own.columns", '{"question": "query"}'),
        ("add_non_thinking_prefix: 0\n", "own.add_non_thinking_prefix", False),
        ("model_type: qwen3\n", "own.model_type", "qwen3"),
        ("split_dataset_ratio: 0.01\n", "own.split_dataset_ratio", 0.01),
        ("response_prefix: '<think>\\n'\n", "own.response_prefix", "<think>\n"),
    ],
)
def test_a_key_says_its_knob(line: str, path: str, value: object) -> None:
    assert get(read(line).recipe, path) == value


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("max_length: null\n", "null is read as the word None"),
        ("max_length: many\n", "write an integer"),
        ("truncation_strategy: middle\n", "delete or left or right or split"),
        ("packing: perhaps\n", "write true or false"),
        ("packing: true\npacking_strategy: best\n", "binpack or sequential"),
        ("max_length: [1, 2]\n", "one value"),
    ],
)
def test_a_value_that_stops_it_is_refused(line: str, why: str) -> None:
    with pytest.raises(RecipeError) as raised:
        read(line)
    assert why in str(raised.value)


@pytest.mark.parametrize(
    ("line", "use"),
    [
        ("template: qwen3\n", KeyUse.USED),
        ("learning_rate: 1e-4\n", KeyUse.PASSED),
        ("lora_rank: 8\n", KeyUse.PASSED),
        ("streaming: true\n", KeyUse.UNSUPPORTED),
        ("streaming: false\n", KeyUse.PASSED),
        ("external_plugins: [plugin.py]\n", KeyUse.UNSUPPORTED),
        ("task_type: seq_cls\n", KeyUse.UNSUPPORTED),
        ("task_type: causal_lm\n", KeyUse.PASSED),
        ("lora_rnk: 8\n", KeyUse.NEWEST_STOPS),
    ],
)
def test_every_key_is_accounted_for(line: str, use: KeyUse) -> None:
    key = line.partition(":")[0]
    assert [note.use for note in read(line).keys if note.path == key] == [use]


@pytest.mark.parametrize(
    ("named", "paths", "split", "subset", "use"),
    [
        ("rows.jsonl", ("rows.jsonl",), "train", None, KeyUse.USED),
        ("hf::x/y", ("x/y",), "train", None, KeyUse.USED),
        ("x/y", ("x/y",), "train", None, KeyUse.UNSUPPORTED),
        ("x/y:default#500", ("x/y",), "train", "default", KeyUse.UNSUPPORTED),
    ],
)
def test_a_dataset_is_read_by_its_syntax(
    named: str, paths: tuple[str, ...], split: str | None, subset: str | None, use: KeyUse
) -> None:
    opened = read(base=f"model: m\ndataset: {named}\n")
    [reference] = opened.datasets
    assert (reference.paths, reference.split, reference.subset) == (paths, split, subset)
    assert [note.use for note in opened.keys if note.path == "dataset"] == [use]


@pytest.mark.parametrize(
    ("named", "more", "told"),
    [
        ("hf::swift/self-cognition", "", "with its own code"),
        ("AI-ModelScope/alpaca-gpt4-data-zh", "", "sftui reads the Hugging Face copy"),
        ("x/OpenHermes-2.5", "", "ModelScope"),
        ("ms::x/y", "use_hf: true\n", ""),
        ("x/y", "use_hf: true\n", ""),
        ("x/y#5", "use_hf: true\n", ""),
    ],
)
def test_what_it_does_otherwise_with_a_dataset_by_name_is_told(named: str, more: str, told: str) -> None:
    [note] = [one for one in read(more, base=f"model: m\ndataset: ['{named}']\n").keys if one.path == "dataset"]
    assert told in note.note and bool(told) is (note.use is KeyUse.UNSUPPORTED)


def test_a_folder_is_prepared_as_the_dataset_that_it_is_called_like(tmp_path: Path) -> None:
    folder = tmp_path / "self-cognition"
    folder.mkdir()
    [note] = [one for one in read(base=f"model: m\ndataset: '{folder}'\n").keys if one.path == "dataset"]
    assert note.use is KeyUse.UNSUPPORTED and "with its own code" in note.note


@pytest.mark.parametrize(
    "line", ["custom_register_path: r.py\n", "external_plugins: p.py\n", "custom_dataset_info: [d.json]\n"]
)
def test_code_of_yours_is_told(line: str) -> None:
    key = line.partition(":")[0]
    [note] = [one for one in read(line).keys if one.path == key]
    assert note.use is KeyUse.UNSUPPORTED and "sftui does not know" in note.note


def test_a_file_that_lies_here_is_no_name_of_a_hub(tmp_path: Path) -> None:
    file = tmp_path / "a#5.jsonl"
    file.write_text("{}\n")
    [reference] = read(base=f"model: m\ndataset: '{file}'\n").datasets
    assert reference.paths == (str(file),) and reference.split is None


SCRIPT = """#!/bin/bash
# 24GB
CUDA_VISIBLE_DEVICES=0 \\
swift sft \\
    --model Qwen/Qwen3-8B \\
    --dataset 'rows.jsonl' more.jsonl#20 \\
    --template qwen3 --max-length 512 \\
    --loss_scale=last_round+hermes \\
    --packing \\
    --system 'You are kind.' 2>&1 | tee log.txt
echo done
"""


def test_a_command_line_is_read_from_its_script() -> None:
    opened = read(base=SCRIPT, name="run.sh")
    recipe = opened.recipe
    assert [reference.name for reference in opened.datasets] == ["rows.jsonl", "more.jsonl#20"]
    assert (recipe.render.template, recipe.length.max, recipe.pack.strategy) == ("ms-swift/qwen3", 512, "binpack")
    assert (recipe.mask.turns, get(recipe, "own.loss_scale")) == ("last", "hermes")
    assert recipe.render.inject_system == "You are kind."
    written = write_config(changed(recipe, "length.max", 1024), opened)
    [file] = written.files
    config = parse_yaml(file.content, file.name, "pyyaml")
    assert file.name == "ms_swift.yaml" and config["max_length"] == 1024 and config["packing"] is True


def test_pretraining_is_what_its_command_says() -> None:
    opened = read(base="swift pt --model m --dataset a.jsonl\n", name="pt.sh")
    assert opened.recipe.mask.rule == "all" and get(opened.recipe, "own.use_chat_template") is False
    assert "swift pt" in opened.notes[0]
    usual = read(base="swift pt --model m --dataset a.jsonl --loss_scale default\n", name="pt.sh")
    assert usual.recipe.mask.rule == "parts"


def test_json_is_read_as_yaml_is() -> None:
    opened = read(base=json.dumps({"model": "m", "dataset": "a.jsonl", "max_length": 7}), name="sft.json")
    assert opened.recipe.length.max == 7


@pytest.mark.parametrize("base", ["", "model: m\n", "model: m\ndataset: []\n"])
def test_a_config_without_rows_stops_it(base: str) -> None:
    with pytest.raises(RecipeError, match="ms-swift stops"):
        read(base=base)


def test_a_config_is_known_by_its_keys() -> None:
    text = "model: m\ndataset: [a.jsonl]\ntuner_type: lora\nloss_scale: hermes\ntruncation_strategy: delete\n"
    assert recognise(parse_yaml(text, "sft.yaml", "pyyaml")).trainer == "ms-swift"


@pytest.mark.parametrize(
    ("knobs", "expected"),
    [
        ({"mask.turns": "last", "own.loss_scale": "hermes"}, {"loss_scale": "last_round+hermes"}),
        ({"own.loss_scale": "hermes"}, {"loss_scale": "hermes"}),
        ({"mask.rule": "all"}, {"loss_scale": "all"}),
        ({"length.over": "cut_right"}, {"truncation_strategy": "right"}),
        ({"render.template": "ms-swift/qwen3"}, {"template": "qwen3"}),
        (
            {"pack.strategy": "sequential", "pack.isolate": True},
            {"packing": True, "packing_strategy": "sequential"},
        ),
        ({"data.fields": {"messages": "chat"}}, {"columns": '{"chat": "messages"}'}),
    ],
)
def test_a_recipe_is_written_as_its_keys(knobs: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    recipe = preset("ms-swift")
    for path, value in knobs.items():
        recipe = changed(recipe, path, value)
    written = write_config(recipe, None, Facts(data="a.jsonl", tokenizer="Qwen/Qwen3-8B"))
    config = parse_yaml(written.files[0].content, "x.yaml", "pyyaml")
    assert {key: config.get(key) for key in expected} == expected and not written.losses
    assert any(note.startswith("as flags: swift sft --") for note in written.notes)


@pytest.mark.parametrize(
    ("path", "value", "why"),
    [
        ("render.template", "builtin:chatml", "its own templates"),
        ("length.over", "proportional", "has no key"),
        ("mask.rule", "markers", "has no key"),
        ("pack.strategy", "bfd", "has no key"),
        ("pack.isolate", True, "does not pack rows"),
        ("data.format", "sharegpt", "by the column names"),
    ],
)
def test_what_it_cannot_say_is_told(path: str, value: Any, why: str) -> None:
    assert why in " ".join(losses_of(changed(preset("ms-swift"), path, value)))


def test_a_config_keeps_what_is_not_changed() -> None:
    text = f"# ours\n{BASE}max_length: 512  # long enough\nlearning_rate: 1e-4\n"
    opened = trainer_named("ms-swift").read_config("sft.yaml", text)
    recipe = changed(changed(opened.recipe, "length.max", 1024), "mask.turns", "last")
    written = write_config(recipe, opened).files[0].content
    assert written.startswith("# ours\n") and "max_length: 1024  # long enough" in written
    assert "loss_scale: last_round" in written and "learning_rate: 1e-4" in written


def test_a_model_that_is_not_known_is_told_beside_the_config() -> None:
    written = write_config(preset("ms-swift"), None, Facts(tokenizer="builtin:chatml"))
    assert any("set `template` to the model's template" in note for note in written.notes)


def test_repaired_rows_take_the_place_of_the_dataset() -> None:
    assert naming("ms-swift", {"dataset": ["a"]}, "b.jsonl", 0) == {("dataset",): ["b.jsonl"]}
