"""torchtune's YAML: references, components, every key accounted for, one changed knob one changed line."""

from __future__ import annotations

import difflib
from typing import Any

import pytest

from sftui.errors import RecipeError
from sftui.recipe import changed, get
from sftui.trainers import preset, trainer_named
from sftui.trainers.config import Facts, KeyUse
from sftui.trainers.own_config import write_config

CONFIG = """\
# Single device recipe, our own words
output_dir: /tmp/torchtune/qwen2_5   # outputs
model_folder: /tmp/Qwen2_5

tokenizer:
  _component_: torchtune.models.qwen2_5.qwen2_5_tokenizer
  path: ${model_folder}/vocab.json
  merges_file: ${model_folder}/merges.txt
  max_seq_len: 2048   # longest row

dataset:
  _component_: torchtune.datasets.chat_dataset
  source: json
  data_files: data/chat.json
  conversation_column: messages
  conversation_style: openai
  packed: False  # True increases speed
seed: null
shuffle: True
batch_size: 4
epochs: 1
optimizer:
  _component_: torch.optim.AdamW
  lr: 2e-5
"""
CHAT = (
    "  _component_: torchtune.datasets.chat_dataset\n  source: a/b\n  conversation_column: c\n  conversation_style:"
    " sharegpt\n"
)


def read(text: str, version: str = "0.6.1") -> Any:
    return trainer_named("torchtune").read_config("t.yaml", text, version)


def small(tokenizer: str = "", dataset: str = CHAT, top: str = "") -> str:
    return f"tokenizer:\n  _component_: torchtune.models.llama3.llama3_tokenizer\n{tokenizer}dataset:\n{dataset}{top}"


def test_references_and_components() -> None:
    opened = read(CONFIG)
    recipe = opened.recipe
    assert recipe.tokenizer.name == "/tmp/Qwen2_5" and recipe.render.template == "torchtune/qwen2_5"
    assert (recipe.length.max, recipe.batch.size, recipe.data.format) == (2048, 4, "messages")
    assert opened.datasets[0].paths == ("data/chat.json",)
    uses = {note.path: note.use for note in opened.keys}
    assert (
        uses["optimizer"] is KeyUse.PASSED
        and uses["tokenizer.max_seq_len"] is KeyUse.USED
        and uses["model_folder"] is KeyUse.PASSED
    )
    assert not [path for path, use in uses.items() if use in (KeyUse.UNKNOWN, KeyUse.UNSUPPORTED)]


@pytest.mark.parametrize(
    ("text", "version", "path", "value"),
    [
        (small("  max_seq_len: 64\n"), "0.6.1", "length.max", 64),
        (small("  truncation_type: left\n"), "0.7", "length.over", "cut_left"),
        (
            small("  prompt_template: torchtune.data.SummarizeTemplate\n"),
            "0.7",
            "own.prompt_template",
            "torchtune.data.SummarizeTemplate",
        ),
        (
            small("  special_tokens_path: /m/tokenizer.json\n"),
            "0.6.1",
            "own.special_tokens_path",
            "/m/tokenizer.json",
        ),
        (small("  path: /m/original/tokenizer.model\n"), "0.7", "tokenizer.name", "/m"),
        (small(dataset=CHAT + "  train_on_input: true\n"), "0.6.1", "mask.rule", "all"),
        (small(dataset=CHAT + "  train_on_input: null\n"), "0.7", "mask.rule", "turn_full"),
        (
            small(dataset="  _component_: torchtune.datasets.alpaca_dataset\n  train_on_input: null\n"),
            "0.7",
            "mask.rule",
            "all",
        ),
        (small(dataset=CHAT + "  new_system_prompt: Be brief\n"), "0.7", "render.inject_system", "Be brief"),
        (small(dataset=CHAT + "  packed: true\n"), "0.7", "pack.strategy", "sequential"),
        (small(dataset="  _component_: torchtune.datasets.alpaca_cleaned_dataset\n"), "0.7", "data.format", "alpaca"),
        (small(dataset="  _component_: torchtune.datasets.alpaca_dataset\n"), "0.7", "mask.rule", "all"),
        (small(), "0.7", "mask.rule", "turn_full"),
        (
            small(dataset="  _component_: torchtune.datasets.samsum_dataset\n"),
            "0.7",
            "data.fields",
            {"input": "dialogue", "output": "summary"},
        ),
        (
            small(dataset="  _component_: torchtune.datasets.text_completion_dataset\n  source: x\n  add_eos: false\n"),
            "0.7",
            "tokenize.append_eos",
            "never",
        ),
    ],
)
def test_each_key_sets_its_knob(text: str, version: str, path: str, value: Any) -> None:
    assert get(read(text, version).recipe, path) == value


TEXT = "  _component_: torchtune.datasets.text_completion_dataset\n  source: json\n  data_files: a.json\n"


@pytest.mark.parametrize(
    ("text", "version", "path", "error"),
    [
        (small("  path: a\n  truncation_type: left\n"), "0.6.1", "tokenizer.truncation_type", "unexpected keyword"),
        (small("  path: a\n  merges_file: b\n"), "0.7", "tokenizer.merges_file", "unexpected keyword"),
        (small(), "0.7", "tokenizer.path", "llama3_tokenizer() missing the required argument `path`"),
        (
            small(dataset=CHAT + "  masking_strategy: train_on_last\n"),
            "0.6.1",
            "dataset.masking_strategy",
            "of any file",
        ),
        (small(dataset=CHAT + "  masking_strategy: train_on_last\n"), "0.7", "dataset.masking_strategy", "of any file"),
        (small(dataset=CHAT + "  subset: x\n"), "0.7", "dataset.subset", "load_dataset"),
        (small(dataset=CHAT + "  tokenizer: x\n"), "0.7", "dataset.tokenizer", "load_dataset"),
        (small(dataset=TEXT + "  train_on_input: true\n"), "0.7", "dataset.train_on_input", "load_dataset of json"),
        (small(dataset=TEXT + "  column_map: {text: a}\n"), "0.7", "dataset.column_map", "load_dataset of json"),
        (small(dataset=TEXT + "  sep: ','\n"), "0.7", "dataset.sep", "load_dataset of json"),  # csv takes it
        (
            small().replace("llama3_tokenizer", "llama3_tokeniser"),
            "0.7",
            "tokenizer._component_",
            "torchtune.models.llama3 has no attribute `llama3_tokeniser`",
        ),
    ],
)
def test_what_a_component_does_not_take_is_told_as_torchtune_raises_it(
    text: str, version: str, path: str, error: str
) -> None:
    opened = read(text, version)
    note = next(note for note in opened.keys if note.path == path)
    assert note.use is KeyUse.STOPS and error in note.note and note.note.startswith(f"torchtune {version}")
    assert (opened.recipe.mask.turns, opened.recipe.data.fields) != ("last", {"text": "a"})
    unstated = trainer_named("torchtune").read_config("t.yaml", text, None)
    if version == "0.7":
        assert next(note for note in unstated.keys if note.path == path).use is KeyUse.NEWEST_STOPS


@pytest.mark.parametrize(
    "text",
    [
        small("  path: a\n"),
        small("  path: a\n", CHAT + "  data_dir: d\n  trust_remote_code: true\n  num_proc: 2\n  delimiter: ','\n"),
        small("  path: a\n", TEXT + "  field: rows\n  add_eos: false\n  split_across_pack: false\n"),
        CONFIG,
        CONFIG.replace("  max_seq", "  bos_token: null\n  max_seq"),  # what the builder hands on to its class
    ],
)
def test_what_a_component_takes_stops_nothing(text: str) -> None:
    for version in ("0.6.1", "0.7"):
        assert not [note for note in read(text, version).keys if note.use in (KeyUse.STOPS, KeyUse.UNKNOWN)]


@pytest.mark.parametrize(
    "text",
    [
        "seed: 1\n",
        small(dataset="  _component_: my.own_dataset\n"),
        small(dataset=CHAT.replace("torchtune.datasets", "my")),
        small(dataset=CHAT.replace("sharegpt", "jsonl")),
        small(top="other: ${nothing.here}\n"),
        small(top="pad_to_multiple_of: 8\n"),
        small(dataset=CHAT + "  packed: ${loop}\n", top="loop: ${loop}\n"),
    ],
)
def test_what_cannot_be_is_refused(text: str) -> None:
    with pytest.raises(RecipeError):
        read(text)


@pytest.mark.parametrize("value", ["null", "''", "3", "[train]"])
@pytest.mark.parametrize("key", ["source", "split"])
@pytest.mark.parametrize("dataset", [CHAT, "  _component_: torchtune.datasets.alpaca_dataset\n"])
def test_what_load_dataset_stops_at_is_refused(dataset: str, key: str, value: str) -> None:
    """A null takes the place of the builder's default: torchtune calls load_dataset(None), or with no split."""
    kept = "".join(f"{line}\n" for line in dataset.splitlines() if not line.startswith(f"  {key}:"))
    with pytest.raises(RecipeError, match=f"dataset.{key}` cannot be"):
        read(small(dataset=f"{kept}  {key}: {value}\n"))
    assert read(small(dataset=dataset + "  split: train[:10%]\n")).datasets[0].split == "train[:10%]"


@pytest.mark.parametrize("version", ["0.6.1", "0.7"])
@pytest.mark.parametrize(
    ("length", "told"), [("", True), ("  max_seq_len: null\n", True), ("  max_seq_len: 64\n", False)]
)
def test_packing_without_a_length_is_told_as_torchtune_raises_it(length: str, told: bool, version: str) -> None:
    tokenizer = f"  path: a\n{length}"
    opened = read(small(tokenizer, CHAT + "  packed: true\n"), version)
    note = next(note for note in opened.keys if note.path == "dataset.packed")
    assert (note.use is KeyUse.STOPS and "requires a max_seq_len" in note.note) is told
    assert opened.recipe.pack.strategy == "sequential"
    unpacked = read(small(tokenizer, CHAT + "  packed: false\n"), version)
    assert not [note for note in unpacked.keys if note.use is KeyUse.STOPS]


def test_several_datasets_are_several_refs() -> None:
    text = (
        "tokenizer: {_component_: torchtune.models.qwen2.qwen2_tokenizer}\ndataset:\n  - {_component_:"
        " torchtune.datasets.alpaca_dataset}\n  - {_component_: torchtune.datasets.instruct_dataset, source: csv,"
        " data_files: x.csv}\n"
    )
    assert [ref.paths for ref in read(text).datasets] == [("tatsu-lab/alpaca",), ("x.csv",)]


@pytest.mark.parametrize(
    ("path", "value", "lines"),
    [
        ("length.max", 1024, ["-   max_seq_len: 2048   # longest row", "+   max_seq_len: 1024   # longest row"]),
        (
            "pack.strategy",
            "sequential",
            ["-   packed: False  # True increases speed", "+   packed: true  # True increases speed"],
        ),
        ("batch.size", 2, ["- batch_size: 4", "+ batch_size: 2"]),
    ],
)
def test_a_changed_knob_changes_one_line(path: str, value: Any, lines: list[str]) -> None:
    opened = read(CONFIG)
    written = write_config(changed(opened.recipe, path, value), opened)
    found = [
        line for line in difflib.ndiff(CONFIG.splitlines(), written.files[0].content.splitlines()) if line[0] in "+-"
    ]
    assert found == lines
    assert write_config(opened.recipe, opened).files[0].content == CONFIG


@pytest.mark.parametrize(
    "knobs",
    [
        {"mask.rule": "all", "length.max": 512},
        {"mask.rule": "turn_full", "length.over": "cut_left"},
        {
            "mask.rule": "turn_full",
            "render.inject_system": "Be brief",
            "pack.strategy": "sequential",
            "pack.isolate": True,
        },
    ],
)
def test_a_fresh_config_reads_back(knobs: dict[str, Any]) -> None:
    recipe = preset("torchtune@0.7")
    for path, value in {
        **knobs,
        "data.format": "messages",
        "data.fields": {"messages": "messages"},
        "render.template": "torchtune/qwen2_5",
    }.items():
        recipe = changed(recipe, path, value)
    written = write_config(recipe, None, Facts(tokenizer="/m", data="d.jsonl"))
    opened = read(written.files[0].content, "0.7")
    assert changed(opened.recipe, "tokenizer.name", None) == recipe and written.losses == ()
    assert opened.datasets[0].paths == ("d.jsonl",)


def test_what_torchtune_has_no_key_for_is_said() -> None:
    written = write_config(changed(preset("torchtune@0.6.1"), "mask.turns", "last"), None)
    assert written.losses == ("mask.turns = 'last' has no effect under mask.rule auto: set mask.rule to turn_full",)
    for version in ("0.6.1", "0.7"):
        recipe = changed(changed(preset(f"torchtune@{version}"), "mask.turns", "last"), "mask.rule", "turn_full")
        written = write_config(recipe, None)
        assert "no dataset builder passes on" in written.losses[0]
        assert "masking_strategy" not in written.files[0].content


SLIM = "  _component_: torchtune.datasets.slimorca_dataset\n"


def test_a_column_map_names_what_the_message_transform_asks_for() -> None:
    opened = read(small(dataset=SLIM + "  column_map: {conversations: turns}\n"))
    assert opened.recipe.data.fields == {"messages": "turns"}
    for dataset, column_map, asked in (
        (SLIM, "{input: a}", "conversations"),
        ("  _component_: torchtune.datasets.alpaca_dataset\n", "{instruction: a}", "output"),
        ("  _component_: torchtune.datasets.samsum_dataset\n", "{output: a}", "input"),
    ):
        with pytest.raises(RecipeError) as refused:
            read(small(dataset=dataset + f"  column_map: {column_map}\n"))
        assert f"Expected a key of '{asked}'" in str(refused.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (small(dataset="  _component_: torchtune.datasets.multimodal.the_cauldron_dataset\n"), "it contains images"),
        ("quantizer: {_component_: q}\n", "quantization recipe"),
        (small("  path: a\n  prompt_template: torchtune.data.NoSuchTemplate\n"), "prompt template"),
    ],
)
def test_what_it_is_for_is_named(text: str, said: str) -> None:
    with pytest.raises(RecipeError) as refused:
        read(text)
    assert said in str(refused.value)
