"""Which keys count as the trainer's own: what was recorded of its release, and what may be said of any other."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sftui.errors import RecipeError
from sftui.recipe import changed
from sftui.trainers import trainer_named
from sftui.trainers.axolotl import AxolotlOptions
from sftui.trainers.config import KeyNote, KeyUse
from sftui.trainers.declared import folder_of
from sftui.trainers.own_config import losses_of, write_config
from sftui.trainers.table import known_keys

AXOLOTL = "base_model: m\ndatasets:\n  - {path: d.jsonl, type: chat_template%s}\n%s"
LIGER = "axolotl.integrations.liger.LigerPlugin"
SMALL = {
    "axolotl": AXOLOTL % ("", ""),
    "llamafactory": "model_name_or_path: m\nstage: sft\ndataset_dir: ONLINE\ndataset: d\n",
    "trl": "model_name_or_path: m\ndataset_name: d\n",
    "unsloth": "tokenizer: t\ndata: d.jsonl\n",
    "torchtune": "tokenizer: {_component_: torchtune.models.llama3.llama3_tokenizer, path: t}\n"
    "dataset: {_component_: torchtune.datasets.alpaca_dataset}\n",
}
RELEASES = {"axolotl": "0.19", "llamafactory": "0.9.5", "trl": "1.16", "unsloth": "2026.10", "torchtune": "0.6.1"}


def note(trainer: str, text: str, path: str, version: str | None = None) -> KeyNote:
    opened = trainer_named(trainer).read_config("config.yaml", text, version)
    return next(one for one in opened.keys if one.path == path)


@pytest.mark.parametrize("trainer", SMALL)
def test_a_strange_key_is_the_trainers_fault_only_where_its_release_was_named_and_read(trainer: str) -> None:
    text = SMALL[trainer] + "no_such_key: 1\n"
    unasked = note(trainer, text, "no_such_key")
    named = note(trainer, text, "no_such_key", RELEASES[trainer])
    assert unasked.use is KeyUse.UNSURE and "sftui supports" in unasked.note
    assert named.use is KeyUse.UNKNOWN and RELEASES[trainer] in named.note


@pytest.mark.parametrize(("trainer", "version"), [("axolotl", "0.23"), ("trl", "1.99"), ("llamafactory", "0.9.4")])
def test_of_a_release_that_was_not_read_nothing_is_claimed(trainer: str, version: str) -> None:
    told = note(trainer, SMALL[trainer] + "no_such_key: 1\n", "no_such_key", version)
    assert told.use is KeyUse.UNSURE


@pytest.mark.parametrize(
    ("entry", "more", "path", "near"),
    [
        ("", "sequence_lem: 3", "sequence_lem", ", did you mean `sequence_len`?"),
        (", sequence_lem: 3", "", "datasets[0].sequence_lem", ""),  # which no entry has
        (", roles_to_trian: [user]", "", "datasets[0].roles_to_trian", ", did you mean `roles_to_train`?"),
        ("", "roles_to_trian: [user]", "roles_to_trian", ""),
    ],
)
def test_a_key_that_is_near_is_named_where_it_is_read(entry: str, more: str, path: str, near: str) -> None:
    told = note("axolotl", AXOLOTL % (entry, more), path, RELEASES["axolotl"])
    assert told.use is KeyUse.UNKNOWN and told.note.partition(", did")[1:] == near.partition(", did")[1:]


def test_a_key_of_a_newer_release_in_a_dataset_is_not_called_unknown() -> None:
    told = note("axolotl", AXOLOTL % (", share: 2", ""), "datasets[0].share")
    assert told.use is KeyUse.UNSURE and told.note == "sftui supports Axolotl up to 0.21.0"


@pytest.mark.parametrize(
    ("more", "key", "use"),
    [
        (f"plugins: [{LIGER}]\nliger_rope: true\n", "liger_rope", KeyUse.PASSED),
        (f"plugins: [{LIGER}]\nliger_rope: true\n", "plugins", KeyUse.PASSED),
        ("liger_rope: true\n", "liger_rope", KeyUse.UNKNOWN),
        ("plugins: [my.own.Plugin]\n", "plugins", KeyUse.UNSUPPORTED),
        ("plugins: [my.own.Plugin]\nstrange: 1\n", "strange", KeyUse.UNSURE),
        ("plugins: [axolotl.integrations.kd.KDPlugin]\n", "plugins", KeyUse.UNSUPPORTED),
        ("tokenizer_type: AutoTokenizer\n", "tokenizer_type", KeyUse.USED),
        ("tokenizer_type: LlamaTokenizer\n", "tokenizer_type", KeyUse.USED),
        ("tokenizer_use_fast: true\n", "tokenizer_use_fast", KeyUse.PASSED),
        ("tokenizer_use_fast: false\n", "tokenizer_use_fast", KeyUse.UNSUPPORTED),
        ("model_type: AutoModelForCausalLM\n", "model_type", KeyUse.PASSED),
        ("model_type: MistralForCausalLM\n", "model_type", KeyUse.UNSUPPORTED),
    ],
)
def test_plugins_bring_keys_of_their_own(more: str, key: str, use: KeyUse) -> None:
    assert note("axolotl", AXOLOTL % ("", more), key).use is use


@pytest.mark.parametrize(
    ("said", "kept"),
    [("AutoTokenizer", None), ("null", None), ("''", None), ("GPT2TokenizerFast", "GPT2TokenizerFast")],
)
def test_the_class_that_loads_the_tokenizer_is_read_and_written(said: str, kept: str | None) -> None:
    trainer = trainer_named("axolotl")
    opened = trainer.read_config("c.yaml", AXOLOTL % ("", f"tokenizer_type: {said}\n"), None)
    assert opened.recipe.tokenizer.type == kept and losses_of(opened.recipe) == ()
    written = write_config(opened.recipe, None).files[0].content
    assert ("tokenizer_type: GPT2TokenizerFast" in written) == (kept is not None)
    changed_back = write_config(changed(opened.recipe, "tokenizer.type", None), opened).files[0].content
    assert ("GPT2TokenizerFast" in changed_back) is False
    with pytest.raises(RecipeError, match="name a transformers class such as LlamaTokenizer"):
        trainer.read_config("c.yaml", AXOLOTL % ("", "tokenizer_type: a-b\n"), None)


def test_axolotls_old_names_mean_the_new_ones() -> None:
    opened = trainer_named("axolotl").read_config("c.yaml", AXOLOTL % ("", "model_revision: abc\n"), None)
    assert opened.recipe.tokenizer.revision == "abc"


@pytest.mark.parametrize(("key", "value"), [("warmup_ratio", 0.1), ("group_by_length", True), ("num_processes", 2)])
def test_what_another_transformers_or_accelerate_reads_is_no_stranger_to_trl(key: str, value: Any) -> None:
    assert note("trl", SMALL["trl"] + f"{key}: {value}\n", key, "1.16").use is not KeyUse.UNKNOWN


@pytest.mark.parametrize("trainer", SMALL)
def test_every_preset_has_a_record(trainer: str) -> None:
    for version in trainer_named(trainer).versions:
        known = known_keys(trainer, trainer, version)
        assert known.stated and len(known.config) > 50, version


def test_plugins_with_a_hook_for_data_collator_or_trainer_are_told() -> None:
    from sftui.trainers.axolotl.config import PLUGINS

    record = json.loads((folder_of("axolotl") / "known_keys.json").read_text(encoding="utf-8"))
    for version in trainer_named("axolotl").versions:
        plugins = record[known_keys("axolotl", "Axolotl", version).version]["plugins"]
        hooked = {name for name, plugin in plugins.items() if plugin["hooks"]}
        assert hooked == set(PLUGINS) & set(plugins), version


@pytest.mark.parametrize(
    ("more", "in_dataset", "path", "version", "use"),
    [
        ("balance_labels: true\n", "", "balance_labels", "0.21", KeyUse.UNSUPPORTED),
        ("balance_labels: false\n", "", "balance_labels", "0.21", KeyUse.PASSED),
        ("balance_labels: true\n", "", "balance_labels", "0.20", KeyUse.UNKNOWN),
        ("diffusion_lm: {mode: native}\n", "", "diffusion_lm", "0.21", KeyUse.UNSUPPORTED),
        ("", ", weight: 0.5", "datasets[0].weight", "0.21", KeyUse.UNSUPPORTED),
        ("", ", weight: 0.5", "datasets[0].weight", "0.20", KeyUse.UNSUPPORTED),
        ("", ", weight: 1.0", "datasets[0].weight", "0.20", KeyUse.PASSED),
        ("", ", weight: 0.5", "datasets[0].weight", "0.19", KeyUse.UNKNOWN),
    ],
)
def test_what_axolotl_reads_since_0_20_is_read_from_there_on(
    more: str, in_dataset: str, path: str, version: str, use: KeyUse
) -> None:
    assert note("axolotl", AXOLOTL % (in_dataset, more), path, version).use is use


@pytest.mark.parametrize(("version", "weight"), [("0.21", 0.25), ("0.20", 0.25), ("0.19", None)])
def test_the_share_that_weight_takes_is_told(version: str, weight: float | None) -> None:
    trainer = trainer_named("axolotl")
    text = AXOLOTL % (", weight: 0.25", "val_set_size: 0.1\nseed: 7\n")
    recipe = trainer.read_config("c.yaml", text, version).recipe
    assert AxolotlOptions.of(recipe).weight == weight
    told = [one for one in trainer.remarks(recipe) if "takes 0.25 of the rows" in one]
    held = trainer.held_out(recipe)
    assert held is not None
    if weight is None:
        assert not told and not held.unsure
    else:
        assert "seed 7; sftui shows all rows" in told[0] and held.unsure == "weight drops rows before that"


@pytest.mark.parametrize("weight", ["0", "2", "-1", ".nan"])
def test_a_weight_that_axolotl_refuses_is_refused(weight: str) -> None:
    with pytest.raises(RecipeError, match="weight is"):
        trainer_named("axolotl").read_config("c.yaml", AXOLOTL % (f", weight: {weight}", ""), "0.21")


@pytest.mark.parametrize(
    ("trainer", "text", "what"),
    [
        ("axolotl", AXOLOTL % ("", "rl: grpo\n"), "`rl: grpo` is not supervised"),
        ("axolotl", AXOLOTL % ("", "process_reward_model: true\n"), "`process_reward_model` is not supervised"),
        ("llamafactory", "compute_environment: LOCAL_MACHINE\n", "a config for `accelerate launch`"),
        ("llamafactory", "model: m\ntrain_dataset: d.yaml\n", "LLaMA-Factory's v1 engine"),
        ("llamafactory", "model_name_or_path: m\nexport_dir: out\n", "names no dataset and trains on nothing"),
        ("llamafactory", "'<|a|>': text\n", "none of its keys belongs to LLaMA-Factory"),
        ("llamafactory", "stage: ppo\ndataset: d\n", "does not model stage `ppo`"),
        ("torchtune", SMALL["torchtune"] + "policy_model: {}\n", "torchtune's PPO recipe"),
        ("torchtune", "tokenizer: {_component_: t}\ntasks: [a]\n", "torchtune's evaluation recipe"),
        (
            "torchtune",
            SMALL["torchtune"].replace("alpaca_dataset", "preference_dataset"),
            "`preference_dataset` is not supervised",
        ),
    ],
)
def test_what_is_no_fine_tuning_is_refused_by_what_it_is(trainer: str, text: str, what: str) -> None:
    with pytest.raises(RecipeError) as caught:
        trainer_named(trainer).read_config("config.yaml", text, None)
    assert what in str(caught.value)


@pytest.mark.parametrize("more", ["rl: null\n", "reward_model: false\n", "pretraining_dataset: null\n"])
def test_what_is_switched_off_is_no_reason_to_refuse(more: str) -> None:
    assert trainer_named("axolotl").read_config("c.yaml", AXOLOTL % ("", more), None).datasets


def test_a_torchtune_config_may_name_a_prompt_beside_its_dataset() -> None:
    assert trainer_named("torchtune").read_config("c.yaml", SMALL["torchtune"] + "prompt: hi\n", None).datasets
