"""mlx-lm's YAML, read and written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
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

BASE = "model: M\ntrain: true\ndata: here\n"
EXAMPLE = (
    "model: M\ntrain: true\nfine_tune_type: lora\noptimizer: adamw\ndata: here\nseed: 0\nnum_layers: 16\n"
    "batch_size: 4\niters: 1000\nval_batches: 25\nlearning_rate: 1e-5\nsteps_per_report: 10\nsteps_per_eval: 200\n"
    "grad_accumulation_steps: 1\nresume_adapter_file: null\nadapter_path: adapters\nsave_every: 100\ntest: false\n"
    "test_batches: 100\nmax_seq_length: 2048\ngrad_checkpoint: false\n"
    "lora_parameters:\n  keys: [self_attn.q_proj]\n  rank: 8\n  scale: 20.0\n  dropout: 0.0\n"
)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for folder, names in (("here", ("train", "valid")), ("bare", ("valid",))):
        Path(folder).mkdir()
        for name in names:
            Path(folder, f"{name}.jsonl").write_text(json.dumps({"text": name}) + "\n")


def read(more: str = "", base: str = BASE, version: str | None = None) -> OpenedConfig:
    return trainer_named("mlx-lm").read_config("lora.yaml", base + more, version)


@pytest.mark.parametrize(
    ("more", "path", "value"),
    [
        ("", "length.max", 2048),
        ("max_seq_length: 100", "length.max", 100),
        ("max_seq_length: null", "length.max", 2048),
        ("batch_size: 3", "batch.size", 3),
        ("", "tokenizer.name", "M"),
        ("", "mask.rule", "all"),
        ("mask_prompt: true", "mask.rule", "completion"),
        ("mask_prompt: false", "mask.rule", "all"),
        ("mask_prompt: null", "mask.rule", "all"),
        ("mask_prompt: 'false'", "mask.rule", "completion"),
        ("mask_prompt: 0", "mask.rule", "all"),
        ("text_feature: body", "data.fields", {"text": "body"}),
        ("chat_feature: chat\nprompt_feature: q", "data.fields", {"messages": "chat", "prompt": "q"}),
        ("chat_feature: messages", "data.fields", {}),
    ],
)
def test_keys_are_knobs(more: str, path: str, value: Any) -> None:
    assert get(read(more).recipe, path) == value


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (BASE + "max_seq_length: '100'", "max_seq_length is `100`"),
        (BASE + "max_seq_length: 2e3", "max_seq_length is `2e3`"),
        (BASE + "batch_size: true", "batch_size is `True`"),
        (BASE + "text_feature: [a]", "`text_feature` cannot be"),
        ("", "the config is empty"),
        ("model: M\ndata: bare\n", "Training set not found or empty"),
        ("model: M\ndata: here/train.jsonl\n", "Training set not found or empty"),
        ("model: M\nhf_dataset: {name: x}\n", "KeyError: 'path'"),
        ("model: M\nhf_dataset: [x]\n", "`hf_dataset` cannot be"),
    ],
)
def test_what_it_refuses(text: str, why: str) -> None:
    with pytest.raises(RecipeError) as told:
        read(base=text)
    assert why in str(told.value)


def test_the_rows_are_those_of_train_in_the_folder() -> None:
    [reference] = read().datasets
    assert reference.paths == ("here/train.jsonl",) and reference.split is None


@pytest.mark.parametrize(
    ("text", "paths", "split", "subset", "fields"),
    [
        ("data: someone/some\n", ("someone/some",), "train", None, {}),
        ("model: M\n", ("mlx-community/WikiSQL",), "train", None, {}),
        ("hf_dataset: {path: billsum}\n", ("billsum",), "train[:80%]", None, {}),
        (
            "data: here\nhf_dataset:\n  path: billsum\n  train_split: train[:1000]\n  prompt_feature: text\n"
            "  completion_feature: summary\n  config: {name: main}\n",
            ("billsum",),
            "train[:1000]",
            "main",
            {"prompt": "text", "completion": "summary"},
        ),
        (
            "hf_dataset:\n  path: json\n  train_split: train\n  config: {data_files: here/train.jsonl}\n",
            ("here/train.jsonl",),
            None,
            None,
            {},
        ),
    ],
)
def test_datasets(text: str, paths: tuple[str, ...], split: str | None, subset: str | None, fields: Any) -> None:
    [reference] = read(base=text).datasets
    assert (reference.paths, reference.split, reference.subset) == (paths, split, subset)
    assert reference.recipe.data.fields == fields


def test_what_datasets_does_to_files_is_told_as_not_known() -> None:
    files = "hf_dataset: {path: json, config: {data_files: here/train.jsonl}}\n"
    assert any("does not show what that does" in note for note in read(base=files).notes)
    assert not read().notes and not read(base="hf_dataset: {path: a/b}\n").notes


def test_a_list_of_datasets_gives_each_its_columns() -> None:
    opened = read(
        "hf_dataset:\n- {path: a/b, text_feature: body}\n- {path: c/d, mask_prompt: false}\nmask_prompt: true\n"
    )
    assert [one.name for one in opened.datasets] == ["a/b", "c/d"]
    assert [one.recipe.data.fields for one in opened.datasets] == [{"text": "body"}, {}]
    assert {one.recipe.mask.rule for one in opened.datasets} == {"completion"}
    uses = {note.path: note.use for note in opened.keys}
    assert uses["hf_dataset[1].mask_prompt"] is KeyUse.PASSED and uses["data"] is KeyUse.PASSED


def test_every_key_of_its_example_is_accounted_for() -> None:
    opened = read(base=EXAMPLE, version="0.32")
    uses = {note.path: note.use for note in opened.keys}
    assert set(uses.values()) == {KeyUse.USED, KeyUse.PASSED}
    assert uses["batch_size"] is KeyUse.USED and uses["lora_parameters"] is KeyUse.PASSED


@pytest.mark.parametrize("text", [EXAMPLE, BASE, BASE + "max_seq_length: 64\n", "model: M\nhf_dataset: {path: a/b}\n"])
def test_a_config_of_its_own_is_known(text: str) -> None:
    assert recognise(parse_yaml(text, "lora.yaml", "pyyaml")).trainer == "mlx-lm"


@pytest.mark.parametrize(
    ("more", "path", "use"),
    [
        ("lora_layers: 8", "lora_layers", KeyUse.UNKNOWN),
        ("trust_remote_code: true", "trust_remote_code", KeyUse.UNSUPPORTED),
        ("hf_dataset: {path: a/b, split: x}", "hf_dataset.split", KeyUse.UNKNOWN),
        ("hf_dataset: {path: a/b, config: {keep_in_memory: true}}", "hf_dataset.config", KeyUse.UNSUPPORTED),
        ("hf_dataset: {path: a/b}\ntext_feature: body", "text_feature", KeyUse.PASSED),
    ],
)
def test_what_is_said_of_a_key(more: str, path: str, use: KeyUse) -> None:
    assert {note.path: note.use for note in read(more, version="0.32").keys}[path] is use


KNOBS: Mapping[str, Any] = {
    "length.max": 512,
    "batch.size": 2,
    "mask.rule": "completion",
    "data.fields": {"messages": "chat"},
}


def test_a_new_config_comes_back_as_it_was_said() -> None:
    recipe = preset("mlx-lm")
    for path, value in KNOBS.items():
        recipe = changed(recipe, path, value)
    written = write_config(recipe, None, Facts(data="here/train.jsonl", tokenizer="M"))
    assert written.losses == () and [file.name for file in written.files] == ["mlx_lora.yaml"]
    opened = read(base=written.files[0].content)
    assert {path: get(opened.recipe, path) for path in KNOBS} == KNOBS
    assert opened.datasets[0].paths == (str(Path("here/train.jsonl").absolute()),)
    assert written.notes == (
        "as flags: mlx_lm.lora --mask-prompt --max-seq-length 512 --batch-size 2; chat_feature can only be set in a"
        " config",
    )


def test_a_file_of_another_name_is_told() -> None:
    written = write_config(preset("mlx-lm"), None, Facts(data="here/rows.jsonl"))
    assert any("train.jsonl in the folder" in note for note in written.notes)


def test_an_opened_config_keeps_all_that_did_not_change() -> None:
    text = EXAMPLE + "# ours\nmask_prompt: true   # the answers\n"
    opened = read(base=text)
    recipe = changed(changed(opened.recipe, "mask.rule", "all"), "length.max", 77)
    written = write_config(recipe, opened).files[0].content
    assert "# the answers" not in written or "mask_prompt: true" not in written
    assert "max_seq_length: 77\n" in written and "learning_rate: 1e-5\n" in written
    back = read(base=written)
    assert (back.recipe.mask.rule, back.recipe.length.max) == ("all", 77)


def test_columns_are_written_where_the_open_dataset_names_them() -> None:
    opened = read("hf_dataset:\n- {path: a/b}\n- {path: c/d, text_feature: body}\n")
    opened = replace(opened, chosen=1)
    recipe = changed(opened.recipe, "data.fields", {"text": "other"})
    written = write_config(recipe, opened).files[0].content
    assert [one.recipe.data.fields for one in read(base=written).datasets] == [{}, {"text": "other"}]


@pytest.mark.parametrize(
    ("path", "value", "why"),
    [
        ("render.template", "builtin:llama3", "put the template into the model's folder"),
        ("data.fields", {"system": "sys"}, "apart from these columns it reads only `tools`"),
        ("data.format", "alpaca", "it reads messages, prompt_completion, text"),
        ("length.max", None, "max_seq_length 1000000 means none"),
        ("mask.rule", "assistant", "mask.rule = 'assistant' has no key"),
        ("pack.strategy", "bfd", "pack.strategy = 'bfd' has no key"),
    ],
)
def test_what_it_cannot_be_told(path: str, value: Any, why: str) -> None:
    assert why in " ".join(losses_of(changed(preset("mlx-lm"), path, value)))


def test_repaired_rows_are_named_by_their_folder() -> None:
    config = parse_yaml(BASE + "hf_dataset: {path: a/b}\n", "lora.yaml", "pyyaml")
    assert naming("mlx-lm", config, "new/rows.jsonl", 0) == {}
    assert naming("mlx-lm", config, "new/train.jsonl", 0).keys() == {("data",), ("hf_dataset",)}
