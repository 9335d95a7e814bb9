"""LLaMA-Factory's YAML and dataset_info.json: every key is accounted for, writing changes only what changed."""

from __future__ import annotations

import difflib
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from sftui.errors import RecipeError
from sftui.recipe import changed, get
from sftui.trainers import preset, trainer_named
from sftui.trainers.config import Facts, KeyUse, OpenedConfig
from sftui.trainers.own_config import write_config

CONFIG = """\
### model
model_name_or_path: some/model
trust_remote_code: true

### method
stage: sft
do_train: true
finetuning_type: lora
lora_rank: 8
lora_target: all

### dataset
dataset: chats, plain   # ours
template: llama3
cutoff_len: 1024
max_samples: 1000
preprocessing_num_workers: 16

### output
output_dir: out
plot_loss: true

### train
per_device_train_batch_size: 2
learning_rate: 1.0e-4
bf16: true
"""
TAGS = {"role_tag": "role", "content_tag": "content", "user_tag": "user", "assistant_tag": "assistant"}
INFO = {
    "chats": {"file_name": "chats.jsonl", "formatting": "sharegpt", "columns": {"messages": "messages"}, "tags": TAGS},
    "plain": {"file_name": "plain.json"},
    "hub": {"hf_hub_url": "org/set", "split": "test", "subset": "en", "columns": {"prompt": "q", "response": "a"}},
    "calls": {"file_name": "calls.jsonl", "formatting": "openai"},
    "pairs": {"file_name": "pairs.jsonl", "ranking": True},
    "scope": {"ms_hub_url": "a/b"},
    "pictures": {
        "file_name": "p.json",
        "formatting": "sharegpt",
        "columns": {"messages": "conversations", "images": "images"},
        "num_samples": 5,
    },
}


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with data/dataset_info.json, where LLaMA-Factory looks by default."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "dataset_info.json").write_text(json.dumps(INFO))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(text: str) -> OpenedConfig:
    return trainer_named("llamafactory").read_config("examples/sft.yaml", text)


@pytest.mark.parametrize(
    ("line", "path", "value"),
    [
        ("cutoff_len: 512", "length.max", 512),
        ("template: qwen", "render.template", "llamafactory/qwen"),
        ("template: null", "render.template", "tokenizer"),
        ("train_on_prompt: true", "mask.rule", "all"),
        ("train_on_prompt: no", "mask.rule", "parts"),  # OmegaConf reads YAML 1.1
        ("neat_packing: off", "pack.strategy", "none"),
        ("mask_history: true", "mask.turns", "last"),
        ("packing: true", "pack.strategy", "knapsack"),
        ("neat_packing: true", "pack.strategy", "neat"),
        ("packing: true\nneat_packing: true", "pack.strategy", "neat"),
        ("preprocessing_batch_size: 50", "pack.group", 50),
        ("default_system: Be brief.", "render.inject_system", "Be brief."),
        ("enable_thinking: false", "render.kwargs", {"enable_thinking": False}),
        ("preserve_thinking: true", "render.kwargs", {"preserve_thinking": True}),
        ("tool_format: qwen", "own.tool_format", "qwen"),
        ("max_samples: 3", "own.max_samples", 3),
        ("ignore_pad_token_for_loss: false", "own.ignore_pad_token_for_loss", False),
        ("ignore_pad_token_for_loss: true", "own.ignore_pad_token_for_loss", True),
        ("model_name_or_path: a/b", "tokenizer.name", "a/b"),
        ("model_revision: v2", "tokenizer.revision", "v2"),
        ("per_device_train_batch_size: 1", "batch.size", 1),
    ],
)
def test_each_key_sets_its_knob(work: Path, line: str, path: str, value: Any) -> None:
    assert get(read(f"dataset: plain\n{line}\n").recipe, path) == value


def test_every_key_gets_a_note(work: Path) -> None:
    more = "no_such_key: 1\nval_size: 0.1\nstreaming: false\ntokenized_path: cache\ntool_format: glm9\n"
    opened = read(CONFIG + more)
    uses = {note.path: note.use for note in opened.keys}
    assert uses["learning_rate"] is uses["lora_rank"] is uses["streaming"] is KeyUse.PASSED
    assert uses["cutoff_len"] is uses["template"] is uses["dataset"] is uses["dataset_info.chats.tags"] is KeyUse.USED
    assert uses["no_such_key"] is KeyUse.UNSURE
    assert uses["val_size"] is KeyUse.USED
    assert uses["tokenized_path"] is uses["tool_format"] is KeyUse.UNSUPPORTED
    assert set(uses) >= set(yaml.safe_load(CONFIG + more))


def test_datasets_are_read_from_dataset_info(work: Path) -> None:
    chats, plain = read(CONFIG).datasets
    assert (chats.name, chats.paths, plain.paths) == ("chats", ("data/chats.jsonl",), ("data/plain.json",))
    assert chats.recipe.data.format == "sharegpt" and chats.recipe.data.message_keys == {
        "role": "role",
        "content": "content",
    }
    assert chats.recipe.data.role_map == {"user": "user", "assistant": "assistant"}, (
        "tags that are not named have no value"
    )
    assert plain.recipe.data.format == "alpaca" and plain.recipe.data.fields == {}
    hub, calls = read("dataset: hub,calls\n").datasets
    assert (hub.paths, hub.split, hub.subset) == (("org/set",), "test", "en")
    assert hub.recipe.data.fields == {"instruction": "q", "output": "a"}
    assert calls.recipe.data.format == "messages" and calls.recipe.own.said() == {"formatting": "openai"}


def test_media_and_samples_are_said_not_to_be_modelled(work: Path) -> None:
    uses = {note.path: note.use for note in read("dataset: pictures\n").keys}
    assert uses["dataset_info.pictures.columns"] is uses["dataset_info.pictures.num_samples"] is KeyUse.UNSUPPORTED


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("cutoff_len: 5\n", "names no dataset"),
        ("dataset: absent\n", "Undefined dataset absent"),
        ("dataset: plain\ndataset_dir: elsewhere\n", "relative to the working folder"),
        ("dataset: pairs\n", "not applicable in the current training stage"),
        ("dataset: scope\n", "ModelScope"),
        ("dataset: plain\nstage: ppo\n", "does not model stage `ppo`"),
        ("dataset: plain\nstage: dpo\n", "not applicable in the current training stage"),
        ("dataset: pairs\nstage: rm\ntrain_on_prompt: true\n", "cannot be set as True except SFT"),
        ("dataset: plain\nmask_history: true\ntrain_on_prompt: true\n", "incompatible with `train_on_prompt`"),
        ("dataset: plain\ncutoff_len: '512'\n", "cutoff_len is `512`"),
        ("dataset: plain\ndefault_system: 5\n", "default_system is `5`"),
        ("dataset: plain\nstage: pt\ntrain_on_prompt: true\n", "cannot be set as True except SFT"),
        ("dataset: plain\nstage: pt\nmask_history: true\n", "cannot be set as True except SFT"),
        ("dataset: plain\nquantization_bit: 4\nresize_vocab: true\n", "Cannot resize embedding layers"),
        ("dataset: plain\nquantization_bit: 4\nfinetuning_type: full\n", "only compatible with the LoRA or OFT"),
        ("dataset: plain\nquantization_bit: 4\npissa_init: true\n", "initialize PiSSA"),
        ("dataset: plain\nquantization_bit: 4\nadapter_name_or_path: a,b\n", "a single adapter"),
        ("dataset: plain\nadapter_name_or_path: a\nfinetuning_type: full\n", "only valid for the LoRA"),
        ("dataset: plain\ntemplate: breeze\ntrain_on_prompt: true\n", "does not support `train_on_prompt`"),
    ],
)
def test_what_llamafactory_refuses_is_refused(work: Path, text: str, match: str) -> None:
    with pytest.raises(RecipeError) as caught:
        read(text)
    assert match in str(caught.value)


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("length.max", 4096, ["- cutoff_len: 1024", "+ cutoff_len: 4096"]),
        ("render.template", "llamafactory/qwen", ["- template: llama3", "+ template: qwen"]),
        ("render.template", "tokenizer", ["- template: llama3"]),
        ("mask.rule", "all", ["+ train_on_prompt: true"]),
        ("mask.turns", "last", ["+ mask_history: true"]),
        ("render.inject_system", "Be brief.", ["+ default_system: Be brief."]),
        ("own.max_samples", None, ["- max_samples: 1000"]),
        ("pack.strategy", "neat", ["+ neat_packing: true"]),
    ],
)
def test_a_changed_knob_changes_one_line(work: Path, path: str, value: Any, expected: list[str]) -> None:
    opened = read(CONFIG)
    written = write_config(changed(opened.recipe, path, value), opened)
    lines = [
        line for line in difflib.ndiff(CONFIG.splitlines(), written.files[0].content.splitlines()) if line[0] in "+-"
    ]
    assert lines == expected
    assert len(written.files) == 1
    same = write_config(opened.recipe, opened)
    assert same.files[0].content == CONFIG and not same.losses


def test_packing_can_be_switched_off(work: Path) -> None:
    opened = read("dataset: plain\npacking: true\nneat_packing: true\n")
    recipe = changed(changed(opened.recipe, "pack.strategy", "none"), "pack.isolate", False)
    again = read(write_config(recipe, opened).files[0].content)
    assert again.recipe == recipe


def test_formatting_openai_is_written_back(work: Path) -> None:
    opened = read("dataset: calls\n")
    recipe = changed(opened.recipe, "data.fields", {"messages": "turns"})
    written = write_config(recipe, opened)
    assert json.loads(written.files[1].content)["calls"] == {
        "file_name": "calls.jsonl",
        "formatting": "openai",
        "columns": {"messages": "turns"},
    }
    assert not written.losses


def test_changed_roles_change_the_entry_alone(work: Path) -> None:
    opened = read(CONFIG)
    recipe = changed(opened.recipe, "data.role_map", {"user": "user", "assistant": "assistant", "system": "system"})
    written = write_config(recipe, opened)
    assert written.files[0].content == CONFIG
    assert written.files[1].name == "dataset_info.json"
    info = json.loads(written.files[1].content)
    assert info["chats"]["tags"] == {**TAGS, "system_tag": "system"}
    assert {name: entry for name, entry in info.items() if name != "chats"} == {
        k: v for k, v in INFO.items() if k != "chats"
    }


def test_a_fresh_config_reads_back_as_the_recipe(work: Path) -> None:
    recipe = preset("llamafactory@0.9")
    for path, value in (
        ("length.max", 512),
        ("render.template", "llamafactory/qwen3"),
        ("mask.turns", "last"),
        ("pack.strategy", "neat"),
        ("pack.isolate", True),
        ("render.kwargs", {"enable_thinking": False}),
        ("data.format", "sharegpt"),
        ("data.message_keys", {"role": "role", "content": "content"}),
        ("data.role_map", {"user": "user", "assistant": "assistant", "system": "system"}),
        ("data.fields", {"messages": "messages"}),
    ):
        recipe = changed(recipe, path, value)
    written = write_config(recipe, None, Facts(tokenizer="a/b", data="d.jsonl", format="sharegpt"))
    for file in written.files:
        (work / file.name).write_text(file.content)
    opened = read((work / "llamafactory_sft.yaml").read_text())
    assert changed(opened.recipe, "tokenizer.name", None) == recipe
    assert opened.datasets[0].paths == (str(work / "d.jsonl"),)
    assert not written.losses


@pytest.mark.parametrize(
    ("found", "entry"),
    [
        ({"format": "alpaca", "fields": {"instruction": "instruction", "input": "input", "output": "output"}}, {}),
        (
            {"format": "alpaca", "fields": {"instruction": "q", "output": "a"}},
            {"columns": {"prompt": "q", "response": "a"}},
        ),
        ({"format": "sharegpt"}, {"formatting": "sharegpt"}),
        ({"format": "sharegpt", "role_map": {"human": "user", "gpt": "assistant"}}, {"formatting": "sharegpt"}),
        (
            {
                "format": "sharegpt",
                "role_map": {
                    "human": "user",
                    "user": "user",
                    "gpt": "assistant",
                    "function_call": "assistant",
                    "system": "system",
                    "observation": "tool",
                },
            },
            {"formatting": "sharegpt"},
        ),
        (
            {"format": "sharegpt", "role_map": {"q": "user", "a": "assistant", "t": "tool"}},
            {
                "formatting": "sharegpt",
                "tags": {
                    "role_tag": "from",
                    "content_tag": "value",
                    "user_tag": "q",
                    "assistant_tag": "a",
                    "observation_tag": "t",
                },
            },
        ),
        (
            {"format": "prompt_completion", "fields": {"prompt": "p", "completion": "c"}},
            {"columns": {"prompt": "p", "response": "c"}},
        ),
        (
            {"format": "messages"},
            {
                "formatting": "sharegpt",
                "columns": {"messages": "messages"},
                "tags": {**TAGS, "observation_tag": "tool", "function_tag": "function_call", "system_tag": "system"},
            },
        ),
    ],
)
def test_the_entry_says_how_rows_were_found(found: dict[str, Any], entry: dict[str, Any]) -> None:
    written = write_config(preset("llamafactory@0.9"), None, Facts(data="org/set", **found))
    assert json.loads(written.files[1].content) == {"set": {"hf_hub_url": "org/set", **entry}}


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("mask.terminator", "mask", "has no key"),
        ("length.max", None, "always has a limit"),
        ("length.over", "drop", "has no key"),
        ("render.template", "file:x.jinja", "does not read file:x.jinja"),
        ("mask.rule", "completion", "has no key"),
        ("data.role_map", {"a": "user", "b": "user"}, "one tag per role"),
        ("data.format", "text", "no formatting"),
    ],
)
def test_what_llamafactory_has_no_key_for_is_said(path: str, value: Any, said: str) -> None:
    written = write_config(changed(preset("llamafactory@0.9"), path, value), None)
    assert len(written.losses) == 1 and said in written.losses[0]


@pytest.mark.parametrize(
    ("line", "key", "error"),
    [
        ("finetuning_type: no_such", "finetuning_type", "Invalid fine-tuning method"),
        ("add_tokens: [a]", "add_tokens", "'list' object has no attribute 'split'"),
    ],
)
def test_what_its_arguments_assert_is_told(line: str, key: str, error: str) -> None:
    text = f"model_name_or_path: m\ndataset_dir: ONLINE\ndataset: d\n{line}\n"
    opened = trainer_named("llamafactory").read_config("c.yaml", text, "0.9.5")
    note = next(one for one in opened.keys if one.path == key)
    assert note.use is KeyUse.STOPS and error in note.note


def test_a_config_without_a_batch_size_stands_for_that_of_transformers() -> None:
    text = "model_name_or_path: m\ndataset_dir: ONLINE\ndataset: d\n"
    assert trainer_named("llamafactory").read_config("c.yaml", text, None).recipe.batch.size == 8
