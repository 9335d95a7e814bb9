"""Axolotl's YAML: every key is accounted for, and writing changes only what changed."""

from __future__ import annotations

import difflib
from dataclasses import replace
from typing import Any

import pytest
import yaml

from sftui.errors import RecipeError
from sftui.recipe import Recipe, changed, get
from sftui.trainers import preset, trainer_named
from sftui.trainers.axolotl import AxolotlOptions
from sftui.trainers.config import Facts, KeyUse
from sftui.trainers.own_config import notes_of, write_config

# The shape of a published LoRA example, with our own values.
CONFIG = """\
base_model: some/model-8b
model_type: LlamaForCausalLM  # spelt as the examples do
load_in_8bit: true

chat_template: llama3
datasets:
  - path: data/chat.jsonl
    type: chat_template
    field_messages: messages
    message_property_mappings:
      role: role
      content: content
    roles_to_train: ["assistant"]   # the default
    train_on_eos: turn
  - path: org/alpaca-like
    type: alpaca
dataset_prepared_path: &prepared last_run_prepared
val_set_size: 0.05
output_dir: ./outputs/out

adapter: lora
sequence_len: 4096
sample_packing: true
lora_r: 32

learning_rate: 0.0002
flash_attention: true
special_tokens:
  pad_token: <|end_of_text|>
"""


def read(text: str, version: str | None = None) -> Any:
    return trainer_named("axolotl").read_config("axolotl.yml", text, version)


def one(lines: str = "", dataset: str = "type: chat_template") -> Recipe:
    """The recipe of a config with one dataset, `dataset` being keys of its entry on one line each."""
    entry = "\n".join(f"    {line}" for line in dataset.splitlines())
    recipe: Recipe = read(f"base_model: m\ndatasets:\n  - path: x.jsonl\n{entry}\n{lines}\n").recipe
    return recipe


@pytest.mark.parametrize(
    ("line", "path", "value"),
    [
        ("sequence_len: 2048", "length.max", 2048),
        ("excess_length_strategy: truncate", "length.over", "cut_right"),
        ("excess_length_strategy: raise", "length.over", "error"),
        ("excess_length_strategy: null", "length.over", "drop"),
        ("min_sample_len: 9", "length.min_tokens", 9),
        ("train_on_inputs: true", "mask.rule", "all"),
        ("micro_batch_size: 3", "batch.size", 3),
        ("sample_packing: true", "pack.strategy", "multipack"),
        ("sample_packing: true", "batch.attention", "doc_ids"),
        ("sample_packing: true\nflash_attention: true", "batch.attention", "none"),
        ("sample_packing: true\nattn_implementation: kernels-community/flash-attn2@v1", "pack.isolate", True),
        ("sample_packing: true\nattn_implementation: fp8", "pack.isolate", False),
        ("pad_to_sequence_len: true", "batch.pad_to", "max"),
        ("pad_to_sequence_len: false", "batch.multiple", None),
        ("pad_to_multiple_of: 8", "batch.multiple", 8),
        ("tokenizer_config: t", "tokenizer.name", "t"),
        ("special_tokens:\n  eos_token: <|im_end|>", "tokenizer.eos_token", "<|im_end|>"),
        ("chat_template: chatml", "render.template", "axolotl/chatml"),
        ("chat_template: tokenizer_default", "render.template", "tokenizer"),
        ("chat_template: jinja\nchat_template_jinja: t.jinja", "render.template", "file:t.jinja"),
        ("chat_template_jinja: '{{ messages }}'", "render.template", "axolotl/jinja"),
        ("chat_template_kwargs: {enable_thinking: no}", "render.kwargs", {"enable_thinking": False}),  # YAML 1.1
        ("chat_template_kwargs: {enable_thinking: false}", "render.kwargs", {"enable_thinking": False}),
    ],
)
def test_each_top_level_key_sets_its_knob(line: str, path: str, value: Any) -> None:
    assert get(one(line), path) == value


@pytest.mark.parametrize(
    ("line", "path", "value"),
    [
        ("roles_to_train: [user, assistant]", "mask.roles", ("user", "assistant")),
        ("roles_to_train: []", "mask.roles", ()),
        (
            "roles: {assistant: [bot], user: [me, you]}",
            "data.role_map",
            {"bot": "assistant", "me": "user", "you": "user"},
        ),
        ("field_messages: turns", "data.fields", {"messages": "turns"}),
        (
            "message_property_mappings: {role: from, content: value}",
            "data.message_keys",
            {"role": "from", "content": "value"},
        ),
        ("message_field_role: from", "data.message_keys", {"role": "from"}),
        ("message_field_training: train", "data.message_keys", {"train_flag": "train"}),
        ("chat_template: qwen3", "render.template", "axolotl/qwen3"),
    ],
)
def test_each_key_of_a_dataset_sets_its_knob(line: str, path: str, value: Any) -> None:
    assert get(one(dataset=f"type: chat_template\n{line}"), path) == value


@pytest.mark.parametrize(
    "line",
    [
        "excess_length_strategy: RAISE",
        "eot_tokens: <|im_end|>",
        "sample_packing: auto",
        "sequence_len: long",
        "sequence_len: 0",
        "sequence_len: -1",
        "chat_template_kwargs: []",
    ],
)
def test_a_value_that_the_schema_refuses_is_refused(line: str) -> None:
    with pytest.raises(RecipeError, match=line.partition(":")[0]):
        one(line)


@pytest.mark.parametrize(
    "line", ["train_on_eos: no", "roles_to_train: assistant", "roles: {assistant: gpt}", "split_thinking: 3"]
)
def test_a_value_of_a_dataset_that_the_schema_refuses_is_refused(line: str) -> None:
    with pytest.raises(RecipeError, match=line.partition(":")[0]):
        one(dataset=f"type: chat_template\n{line}")


def test_values_as_text_are_converted_and_other_special_tokens_passed_over() -> None:
    recipe = one("sequence_len: '64'\nsample_packing: 'false'\nspecial_tokens: {sep_token: x, unk_token: y}")
    assert (recipe.length.max, recipe.pack.strategy, AxolotlOptions.of(recipe).special_tokens) == (
        64,
        "none",
        {"unk_token": "y"},
    )


@pytest.mark.parametrize(
    ("lines", "pad_to"),
    [
        ("sample_packing: 'no'", "max"),  # Axolotl's own validator sees a text, which is true
        ("sample_packing: no", "longest"),
        ("sample_packing: 0", "longest"),
        ("sample_packing: 'no'\npad_to_sequence_len: false", "longest"),
        ("sample_packing: 'no'\npad_to_sequence_len: 'off'", "longest"),
        ("sample_packing: true", "longest"),  # its packs have a width of their own
    ],
)
def test_no_packing_as_text_pads_to_sequence_len(lines: str, pad_to: str) -> None:
    recipe = one(f"sequence_len: 64\n{lines}")
    assert recipe.batch.pad_to == pad_to


def test_an_inline_template_of_a_dataset_needs_the_choice_beside_it() -> None:
    inline = "type: chat_template\nchat_template_jinja: '{{ messages }}'"
    assert one(dataset=inline).render.template == "tokenizer"
    assert one(dataset=f"{inline}\nchat_template: jinja").render.template == "axolotl/jinja"


def test_a_dataset_that_wants_the_tokenizers_template_gets_the_top_level_one() -> None:
    assert (
        one("chat_template: chatml", "type: chat_template\nchat_template: tokenizer_default").render.template
        == "axolotl/chatml"
    )
    assert one("chat_template: chatml", "type: chat_template\nchat_template: gemma").render.template == "axolotl/gemma"


def test_every_key_gets_a_note() -> None:
    opened = read(CONFIG + "no_such_key: 1\nuse_pose: true\ndefault_system_message: hi\n")
    uses = {note.path: note.use for note in opened.keys}
    assert uses["learning_rate"] is KeyUse.PASSED and uses["sequence_len"] is KeyUse.USED
    assert uses["no_such_key"] is KeyUse.UNSURE and uses["use_pose"] is KeyUse.UNSUPPORTED
    assert uses["val_set_size"] is KeyUse.USED and uses["default_system_message"] is KeyUse.PASSED
    assert uses["datasets[1].type"] is KeyUse.USED
    assert {path for path in uses if not path.startswith("datasets")} == (
        set(yaml.safe_load(CONFIG)) - {"datasets"}
    ) | {"no_such_key", "use_pose", "default_system_message"}


def test_several_datasets_have_a_recipe_each() -> None:
    opened = read(CONFIG)
    assert [ref.paths for ref in opened.datasets] == [("data/chat.jsonl",), ("org/alpaca-like",)]
    assert [ref.split for ref in opened.datasets] == [None, "train"]
    assert [AxolotlOptions.of(ref.recipe).type for ref in opened.datasets] == ["chat_template", "alpaca"]
    assert opened.datasets[0].recipe.length.max == opened.datasets[1].recipe.length.max == 4096


def test_names_and_files_of_a_dataset() -> None:
    opened = read(
        "datasets:\n  - {path: org/set, name: [a, b], type: alpaca, split: 'train[:5]'}\n"
        "  - {path: json, data_files: [a.jsonl, b.jsonl], type: completion}\n"
    )
    assert [(ref.paths, ref.subset, ref.split) for ref in opened.datasets] == [
        (("org/set",), "a", "train[:5]"),
        (("org/set",), "b", "train[:5]"),
        (("a.jsonl", "b.jsonl"), None, None),
    ]


@pytest.mark.parametrize(
    ("path", "value", "before", "after"),
    [
        ("length.max", 2048, "sequence_len: 4096", "sequence_len: 2048"),
        (
            "mask.roles",
            ("user", "assistant"),
            '    roles_to_train: ["assistant"]   # the default',
            "    roles_to_train: [user, assistant]   # the default",
        ),
        ("render.template", "axolotl/chatml", "chat_template: llama3", "chat_template: chatml"),
        ("tokenizer.pad_token", "<pad>", "  pad_token: <|end_of_text|>", "  pad_token: <pad>"),
    ],
)
def test_a_changed_knob_changes_one_line(path: str, value: Any, before: str, after: str) -> None:
    opened = read(CONFIG)
    written = write_config(changed(opened.recipe, path, value), opened)
    lines = [
        line for line in difflib.ndiff(CONFIG.splitlines(), written.files[0].content.splitlines()) if line[0] in "+-"
    ]
    assert lines == [f"- {before}", f"+ {after}"]


def test_an_unchanged_recipe_leaves_the_file_as_it_is() -> None:
    opened = read(CONFIG)
    for number, ref in enumerate(opened.datasets):
        written = write_config(ref.recipe, replace(opened, chosen=number))
        assert written.files[0].content == CONFIG and not written.losses


def test_the_second_dataset_is_changed_in_its_own_entry() -> None:
    opened = read(CONFIG)
    recipe = opened.datasets[1].recipe
    recipe = changed(recipe, "own.type", "alpaca:chat")
    text = write_config(recipe, replace(opened, chosen=1)).files[0].content
    assert (
        yaml.safe_load(text)["datasets"][1]["type"] == "alpaca:chat"
        and yaml.safe_load(text)["datasets"][0]["type"] == "chat_template"
    )


def test_a_fresh_config_reads_back_as_the_recipe() -> None:
    recipe = preset("axolotl")
    for path, value in (
        ("length.max", 2048),
        ("length.over", "cut_right"),
        ("length.min_tokens", 5),
        ("mask.rule", "all"),
        ("mask.roles", ("user", "assistant")),
        ("pack.strategy", "multipack"),
        ("batch.size", 4),
        ("batch.pad_to", "max"),
        ("render.template", "axolotl/chatml"),
        ("render.kwargs", {"x": 1}),
        ("data.message_keys", {"role": "from", "content": "value", "train_flag": "t"}),
        ("data.fields", {"messages": "conversations"}),
        ("data.role_map", {"bot": "assistant"}),
        ("tokenizer.eos_token", "<|im_end|>"),
        ("own.type", "chat_template"),
        ("own.eot_tokens", ("<|im_end|>",)),
        ("own.train_on_eot", "all"),
        ("own.special_tokens", {"unk_token": "<unk>"}),
        ("own.message_property_mappings", {"name": "who"}),
        ("own.split_thinking", True),
        ("own.weight", 0.5),
    ):
        recipe = changed(recipe, path, value)
    written = write_config(recipe, None, Facts(tokenizer="a/b", data="d.jsonl", format="messages"))
    assert not written.losses
    opened = read(written.files[0].content)
    assert changed(opened.recipe, "tokenizer.name", None) == recipe
    assert opened.datasets[0].paths == ("d.jsonl",)
    other = {note.path for note in opened.keys if note.use not in (KeyUse.USED, KeyUse.PASSED)}
    assert other == {"datasets[0].weight"}, "all rows are shown, which is told"


@pytest.mark.parametrize(
    "wanted",
    [
        {
            "type": {
                "field_instruction": "q",
                "field_output": "a",
                "format": "Q: {instruction}\nA:",
                "no_input_format": "Q: {instruction}\nA:",
            }
        },
        {"type": "completion", "field": "body"},
    ],
)
def test_other_types_are_written_and_read_back(wanted: dict[str, Any]) -> None:
    recipe = replace(preset("axolotl@0.18"), own=AxolotlOptions(**wanted))
    written = write_config(recipe, None, Facts(tokenizer="a/b", data="d.jsonl"))
    assert changed(read(written.files[0].content, "0.18").recipe, "tokenizer.name", None) == recipe


def test_a_template_file_travels_with_the_config() -> None:
    recipe = changed(preset("axolotl@0.19"), "render.template", "builtin:chatml")
    written = write_config(recipe, None, Facts(template_source="{{ messages }}", data="d.jsonl"))
    assert [file.name for file in written.files] == ["axolotl.yml", "chat_template.jinja"]
    assert "start Axolotl in the folder" in written.notes[0]
    assert read(written.files[0].content).recipe.render.template == "file:chat_template.jinja"


def test_what_axolotl_has_no_key_for_is_said() -> None:
    recipe = changed(changed(preset("axolotl@0.19"), "mask.turns", "last"), "mask.rule", "completion")
    losses = write_config(recipe, None).losses
    assert any("mask.turns" in loss for loss in losses) and any("mask.rule" in loss for loss in losses)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("base_model: m\n", "names no dataset"),
        ("datasets: []\n", "names no dataset"),
        ("datasets:\n  - type: alpaca\n", "no `path`"),
        (
            "datasets:\n  - path: x\n    message_field_role: a\n    message_property_mappings: {role: b}\n",
            "different values",
        ),
        ("special_tokens: [a]\ndatasets:\n  - path: x\n", "special_tokens"),
        ("a: [\n", "not valid YAML"),
    ],
)
def test_what_cannot_be_read_is_said(text: str, match: str) -> None:
    with pytest.raises(RecipeError, match=match):
        read(text)


def test_a_newer_version_uses_the_newest_rules_and_says_so() -> None:
    recipe = read(CONFIG, "0.42").recipe
    assert any("newer than the rules" in note for note in notes_of(recipe))
    with pytest.raises(RecipeError):
        preset("axolotl@0.9")


def test_options_survive_a_saved_recipe() -> None:
    from sftui.trainers import dump_recipe, load_recipe

    options: dict[str, Any] = {
        "type": {"field_instruction": "q", "format": "{instruction}\n"},
        "added_tokens_overrides": {128011: "<|im_start|>"},
        "eot_tokens": ("<|im_end|>",),
        "tokens": ("a b",),
        "special_tokens": {"unk_token": "<unk>"},
    }
    recipe = replace(preset("axolotl@0.18"), own=AxolotlOptions(**options))
    assert load_recipe(dump_recipe(recipe), "saved") == recipe


def test_a_prompt_and_a_completion_become_a_user_defined_type() -> None:
    facts = Facts(data="d.jsonl", format="prompt_completion", fields={"prompt": "ask", "completion": "reply"})
    written = write_config(preset("axolotl@0.19"), None, facts)
    assert AxolotlOptions.of(read(written.files[0].content).recipe).type == {
        "field_instruction": "ask",
        "field_output": "reply",
        "format": "{instruction}",
        "no_input_format": "{instruction}",
    }


@pytest.mark.parametrize(
    ("more", "entry", "path", "error"),
    [
        ("warmup_steps: 0.1", "", "warmup_steps", "Input should be a valid integer"),
        ("output_dir: null", "", "output_dir", "Input should be a valid string"),
        ("output_dir: [a]", "", "output_dir", "Input should be a valid string"),
        ("group_by_length: maybe", "", "group_by_length", "Input should be a valid boolean"),
        ("optimizer: {a: b}", "", "optimizer", "Input should be"),
        ("flash_attn_rms_norm: true", "", "flash_attn_rms_norm", "is no longer supported"),
        ("model_type: [a]", "", "model_type", "Input should be a valid string"),
        ("chat_template: no_such", "", "chat_template", "Input should be one of its choices"),
        ("tokens: ['<a>', 1]", "", "tokens", "Input should be a valid list of valid strings"),
        ("eot_tokens: [null]", "", "eot_tokens", "Input should be a valid list of valid strings"),
        ("micro_batch_size: null", "", "micro_batch_size", "unsupported operand"),
        ("val_set_size: null", "", "val_set_size", "'>' not supported"),
        ("special_tokens: {bos_token: 3}", "", "special_tokens", "bos_token: Input should be a valid string"),
        ("special_tokens: {additional_special_tokens: [3]}", "", "special_tokens", "a valid list of valid strings"),
        ("", ", roles_to_train: [1]", "datasets[0].roles_to_train", "Input should be a valid list of valid strings"),
        ("", ", name: [a, b]", "datasets[0].name", "Input should be a valid string"),
        ("", ", shards: x", "datasets[0].shards", "Input should be a valid integer"),
    ],
)
def test_a_value_that_the_schema_refuses_is_told_as_it_is_raised(more: str, entry: str, path: str, error: str) -> None:
    text = f"base_model: m\noutput_dir: o\ndatasets:\n  - {{path: d.jsonl, type: alpaca{entry}}}\n"
    text = text.replace("output_dir: o\n", "") + more if "output_dir" in more else text + more
    note = next(one for one in read(text, version="0.19").keys if one.path == path)
    assert note.use is KeyUse.STOPS and error in note.note
    unstated = next(one for one in read(text, version=None).keys if one.path == path)
    assert unstated.use is KeyUse.NEWEST_STOPS and error in unstated.note


def test_a_value_that_the_schema_converts_is_not_told() -> None:
    text = "base_model: m\noutput_dir: o\nwarmup_steps: '10'\nlearning_rate: 1e-4\ngroup_by_length: 'no'\nbf16: auto\n"
    text += "special_tokens: {pad_token: null, additional_special_tokens: ['<a>'], strange: 3}\n"
    text += "micro_batch_size: null\nbatch_size: 4\ngradient_accumulation_steps: 2\n"
    text += "chat_template: tokenizer_default_fallback_chatml\ntokens: []\neot_tokens: ['<a>']\ncapabilities: '1'\n"
    text += "save_steps: 0.5\nflash_attn_rms_norm: false\ngradient_checkpointing: offload\noptimizer: adamw_torch\n"
    text += "datasets:\n  - {path: d.jsonl, type: alpaca, shards: 2.0, split: null}\n"
    assert not [one for one in read(text, version="0.19").keys if one.use is KeyUse.STOPS]


@pytest.mark.parametrize(
    ("lines", "use"),
    [
        ("tokenizer_config: null", KeyUse.STOPS),  # Axolotl asks whether it is a Magistral before it looks at the type
        ("tokenizer_config: 5", KeyUse.STOPS),
        ("tokenizer_config: null\ntokenizer_use_mistral_common: false", KeyUse.USED),
        ("tokenizer_config: org/Magistral-Small", KeyUse.UNSUPPORTED),
        ("tokenizer_config: org/Mistral-Small", KeyUse.USED),
    ],
)
def test_a_name_is_looked_into_for_mistral_common(lines: str, use: KeyUse) -> None:
    text = f"base_model: m\noutput_dir: o\n{lines}\ndatasets:\n  - {{path: d.jsonl, type: alpaca}}\n"
    note = next(one for one in read(text, version="0.19").keys if one.path == "tokenizer_config")
    assert note.use is use


def test_the_first_of_the_names_decides() -> None:
    text = "base_model: Magistral\ntokenizer_config: null\ndatasets:\n  - {path: d.jsonl, type: alpaca}\n"
    uses = {one.path: one.use for one in read(text, version="0.19").keys}
    assert (uses["base_model"], uses["tokenizer_config"]) == (KeyUse.UNSUPPORTED, KeyUse.USED)


def test_the_plain_names_of_keys_conflict_with_the_mapping_where_they_are_null() -> None:
    entry = "datasets: [{path: d, type: chat_template, message_property_mappings: {role: from}, %s}]"
    with pytest.raises(RecipeError, match="have different values"):
        read(entry % "message_field_role: null", "0.19")
    assert read(entry % "message_field_role: from", "0.19").recipe.data.message_keys["role"] == "from"
    assert read(entry % "message_field_content: null", "0.19").recipe.data.message_keys["role"] == "from"


def test_a_type_that_sftui_does_not_model_is_told() -> None:
    for name, use in (("no_such", KeyUse.UNSUPPORTED), ("alpaca", KeyUse.USED), ("completion", KeyUse.USED)):
        note = next(one for one in read(f"datasets: [{{path: d, type: {name}}}]", "0.19").keys if "type" in one.path)
        assert note.use is use


@pytest.mark.parametrize("name", ["sharegpt", "sharegpt.load_role"])
def test_a_type_that_axolotl_took_out_stops_it(name: str) -> None:
    note = next(one for one in read(f"datasets: [{{path: d, type: {name}}}]", "0.19").keys if "type" in one.path)
    assert note.use is KeyUse.STOPS and "deprecated" in note.note


@pytest.mark.parametrize(
    ("entry", "after"),
    [
        ("[{path: d}]", "pretraining_dataset: [{path: d, text_column: body}]"),
        ("{path: d}", "pretraining_dataset: {path: d, text_column: body}"),
        ("d", "pretraining_dataset:\n  path: d\n  text_column: body"),
    ],
)
def test_a_pretraining_dataset_is_changed_in_its_own_entry(entry: str, after: str) -> None:
    text = f"base_model: m\nsequence_len: 64\nsample_packing: true\npretraining_dataset: {entry}\n"
    opened = read(text)
    written = write_config(changed(changed(opened.recipe, "length.max", 128), "own.field", "body"), opened)
    assert written.files[0].content.splitlines()[1] == "sequence_len: 128" and after in written.files[0].content
    typed = write_config(changed(opened.recipe, "own.type", "completion"), opened)
    assert {*typed.losses} - {*written.losses} == {"type is not supported in pretraining_dataset"}
