"""What an export to another trainer carries of training: each ordered pair, by the tables alone.

That the tables say what the trainers do is held by the real loaders (tests/parity/test_parity_exports.py).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from trainers import having, module_of

from sftui.exports.conversion import convert
from sftui.exports.plan import ExportPlan, plan_export
from sftui.exports.prepared import ExportInput
from sftui.recipe import changed
from sftui.recipe_io import parse_yaml
from sftui.trainers import TRAINERS, preset, trainer_named, traits_of
from sftui.trainers.config import DatasetRef, Facts, OpenedConfig, Training, TrainingSetting
from sftui.trainers.own_config import write_config
from sftui.trainers.table import at, place_of
from sftui.trainers.training import read_training, settings, table_of

FULL = {trainer: module_of(trainer, "training").FULL for trainer in having("training")}
"""Configs that set everything."""
BARE = {trainer: module_of(trainer, "training").BARE for trainer in having("training")}
"""Configs that set nothing that need not be set."""
NAMES = tuple(FULL)
PAIRS = [(one, other) for one in NAMES for other in NAMES if one != other]
KNOWN_UNTOLD = {"axolotl": {"warmup", "bf16", "fp16", "tf32", "logging_steps"}}
"""What the settings of a bare config hang on data or machine for."""


@cache
def opened(trainer: str, text: str) -> OpenedConfig:
    return trainer_named(trainer).read_config("run.sh" if text.startswith("swift ") else "config.yaml", text)


def exported(source: str, text: str, to: str) -> tuple[Training, Training, str, tuple[str, ...]]:
    """What a config says of training, what the one written for another trainer does, its text, and the notes."""
    config = opened(source, text)
    said = read_training(config)
    recipe, _ = convert(config.recipe, to, "messages")
    facts = Facts(data="org/rows", format="messages", source=said, given={})
    written = write_config(recipe, None, facts)
    main = written.files[0].content
    made = arguments_of(main) if to == "unsloth" else dict(parse_yaml(main, "written"))
    reference = DatasetRef("d", ("d",), preset(to))
    return said, read_training(OpenedConfig(to, "", "", (reference,), config=made)), main, written.notes


def arguments_of(script: str) -> dict[str, Any]:
    """The arguments of the calls in a script for Unsloth, as its options hold them."""
    calls: dict[str, Any] = {}
    names: dict[str, Any] = {"__builtins__": {"open": open}}

    def call(name: str) -> Callable[..., Any]:
        def take(*given: Any, **named: Any) -> Any:
            calls[name] = named
            return (None, None) if name == "from_pretrained" else None

        return take

    lines = [line for line in script.split("\n") if not line.startswith(("from ", "dataset", "trainer", "#"))]
    model = type(
        "FastLanguageModel", (), {name: staticmethod(call(name)) for name in ("from_pretrained", "get_peft_model")}
    )
    exec("\n".join(lines), {**names, "FastLanguageModel": model, "SFTConfig": call("SFTConfig")})
    return {**calls.pop("SFTConfig"), **calls}


def in_effect(name: str, said: Training) -> bool:
    when = settings()[name].get("when", {})
    values = {key: one.value for key, one in said.settings.items() if not one.unknown}
    return all(
        key not in values
        or (
            allowed.get("has", "") in str(values[key]) and values[key] != allowed.get("not", "?")
            if isinstance(allowed, dict)
            else values[key] is not None
            if allowed == "set"
            else values[key] in allowed
        )
        for key, allowed in when.items()
    )


def alike(value: Any) -> Any:
    """A value as it acts: the fused AdamW computes what AdamW does, and Llama's linear layers are these seven."""
    if isinstance(value, list) and len(value) == 7 and "gate_proj" in value:
        return "all-linear"
    return value.removesuffix("_fused") if isinstance(value, str) else value


@pytest.mark.parametrize("texts", [FULL, BARE], ids=["everything", "nothing"])
@pytest.mark.parametrize(("source", "to"), PAIRS)
def test_each_setting_is_in_effect_there_or_listed(source: str, to: str, texts: dict[str, str]) -> None:
    said, made, _, notes = exported(source, texts[source], to)
    listed = {note.split(": ")[1].split(" (")[0] for note in notes if note.startswith("not exported: ")}
    wrong: dict[str, Any] = {}
    for name, one in said.settings.items():
        there = made.settings.get(name)
        value = there.value if there is not None and not there.unknown else settings()[name].get("off")
        if name == "tokenizer" and one.value == said.settings["model"].value:
            continue  # the model's own
        if (
            in_effect(name, said)
            and (one.unknown or alike(one.value) != alike(value))
            and one.key not in listed
            and name not in listed
        ):
            wrong[name] = (one.value, value)
    assert not wrong
    told = sum(one.key in listed for one in said.settings.values())
    assert told < len(said.settings) / 2  # a list of everything would hold, too


@pytest.mark.parametrize("source", NAMES)
def test_what_hangs_on_data_or_machine_is_said_to(source: str) -> None:
    said = read_training(opened(source, BARE[source])).settings
    if source in KNOWN_UNTOLD:
        assert {name for name, one in said.items() if one.unknown} >= KNOWN_UNTOLD[source]


def test_the_learning_rate_of_trl_is_axolotls() -> None:
    text = (
        "model_name_or_path: org/model\ndataset_name: org/rows\nlearning_rate: 2.0e-5\ngradient_checkpointing: true\n"
    )
    _, _, main, notes = exported("trl", text, "axolotl")
    config = parse_yaml(main, "axolotl.yml", "pyyaml")
    assert config["learning_rate"] == 2e-5 and config["gradient_checkpointing"] is True
    assert config["num_epochs"] == 3 and "num_epochs: 3  # default of TRL 1.16 with transformers" in main
    assert config["base_model"] == "org/model" and config["micro_batch_size"] == 8
    assert not any("passed through" in note for note in notes)


@pytest.mark.parametrize("to", ["axolotl", "llamafactory", "unsloth", "llamafactory-v1"])
def test_keys_of_no_table_are_listed_in_the_file_too(to: str) -> None:
    *_, main, notes = exported("trl", FULL["trl"], to)
    assert "not exported: push_to_hub: true" in notes and "\n# not exported: push_to_hub: true\n" in f"\n{main}"


MUST = {
    "trl": {"model_name_or_path"},
    "axolotl": {"base_model", "learning_rate"},
    "llamafactory": {"model_name_or_path"},
    "llamafactory-v1": {"model"},
}


@pytest.mark.parametrize("to", MUST)
def test_nothing_is_made_up_where_no_config_is_known(
    to: str, tmp_path: Path, plan_for: Callable[..., ExportPlan]
) -> None:
    path = tmp_path / "chats.jsonl"
    pair = {"from": "human", "value": "Hello?"}, {"from": "gpt", "value": "Hi."}
    said = {"role": "user", "content": "Hello?"}, {"role": "assistant", "content": "Hi."}
    path.write_text(json.dumps({"conversations": pair} if to == "llamafactory-v1" else {"messages": said}) + "\n")
    start = "torchtune@0.7" if to == "llamafactory-v1" else "hf-trainer"
    recipe = changed(preset(start), "tokenizer.name", "builtin:chatml")
    plan = plan_for(path, recipe, to=to)
    main = plan.files[0].content
    config = parse_yaml(main, "written")
    placeholders = {key for key, value in config.items() if str(value).startswith("FILL_IN_")}
    assert placeholders == MUST[to]
    assert all(f"{key}: {config[key]}  # fill in " in main for key in placeholders)
    for name, entry in table_of(to)["settings"].items():
        keys = [entry["key"]] if isinstance(entry.get("key"), str) else entry.get("key", ())
        assert name == "tokenizer" or not any(at(config, place_of(key))[0] for key in keys if key not in MUST[to]), name
    assert any("the training settings are not known" in note for note in plan.notes)
    assert "builtin:chatml" not in str(config.get("model_name_or_path", config.get("base_model")))


def test_a_model_that_is_not_the_tokenizer_stays_the_model() -> None:
    config = opened("trl", BARE["trl"])
    recipe, _ = convert(changed(config.recipe, "tokenizer.name", "other/tokenizer"), "axolotl", "messages")
    tokenizer = TrainingSetting("other/tokenizer", "tokenizer.name")
    facts = Facts(data="org/rows", source=read_training(config), given={"tokenizer": tokenizer})
    written = write_config(recipe, None, facts)
    made = parse_yaml(written.files[0].content, "written")
    assert (made["base_model"], made["tokenizer_config"]) == ("org/model", "other/tokenizer")
    there = write_config(convert(recipe, "trl", "messages")[0], None, facts)
    assert parse_yaml(there.files[0].content, "written")["model_name_or_path"] == "org/model"
    assert any(note.startswith("not exported: tokenizer.name: other/tokenizer") for note in there.notes)


@pytest.mark.parametrize("name", [name for name in TRAINERS if table_of(name)["settings"]])
def test_a_table_speaks_of_settings_and_says_each(name: str) -> None:
    table = table_of(name)
    assert table["of"].startswith(traits_of(name).title) and table["source"]
    assert set(table["settings"]) <= set(settings())
    for setting, entry in table["settings"].items():
        assert {"key", "cases", "fixed"} & set(entry), setting
        assert "fixed" in entry or "default" in entry or entry.get("required"), setting


def test_what_a_new_config_does_not_say_of_the_data_is_listed(tmp_path: Path) -> None:
    entries = "[{path: a/b, name: main, type: alpaca}, {path: c/d, type: alpaca}]"
    config = opened("axolotl", f"base_model: m\nlearning_rate: 1\ndatasets: {entries}\n")
    prepared = ExportInput(("a/b",), split="train", subset="main", data_revision="v1", config=config)
    notes = plan_export("trl", str(tmp_path), config.recipe, config.recipe, prepared).notes
    assert [note.split(":")[1].split(";")[0] for note in notes if note.startswith(("not exported: the ",))] == [
        " the other datasets in config.yaml",
        " the data's subset main",
        " the data's revision v1",
    ]


def test_defaults_are_those_of_the_stated_version() -> None:
    text = (
        "base_model: m\nlearning_rate: 1\nval_set_size: 0.1\neval_steps: 5\neval_on_start: false\ndatasets: [{path: d}]"
    )
    older, newer = (trainer_named("axolotl").read_config("a.yml", text, version) for version in ("0.19", "0.21"))
    assert read_training(newer).settings["eval_on_start"].value is False  # the key came with 0.21
    assert read_training(older).settings["eval_on_start"].value is True and "eval_on_start" in read_training(older).left
    assert read_training(older).settings["epochs"].default == "default of Axolotl 0.19"


@pytest.mark.parametrize(
    "wrong", ["warmup_ratio: soon", "saves_per_epoch: 0", "num_epochs: many\nsaves_per_epoch: 2", "lora_r: [1]"]
)
@pytest.mark.parametrize("to", ["trl", "llamafactory", "torchtune", "mlx-lm"])
def test_a_value_that_is_no_number_stops_no_export(wrong: str, to: str) -> None:
    text = f"base_model: m\nlearning_rate: 1\nadapter: lora\ndatasets: [{{path: d}}]\n{wrong}\n"
    assert "m" in exported("axolotl", text, to)[2]


def test_a_rank_that_is_no_number_scales_nothing() -> None:
    config = "model: m\ndata: d\nfine_tune_type: lora\nlora_parameters: {rank: {1: 2}, scale: 10.0}\n"
    assert "m" in exported("mlx-lm", config, "trl")[2]


def test_a_placeholder_brings_the_keys_that_go_with_it() -> None:
    """verl's output_dir is an argument of the script: torchtune's recipes ask for device and log_level all the same."""
    text = "python -m verl.trainer.sft_trainer data.train_files=a.parquet model.path=m trainer.default_local_dir=$1\n"
    config = parse_yaml(exported("verl", text, "torchtune")[2], "written")
    assert str(config["output_dir"]).startswith("FILL_IN_") and config["device"] and config["log_level"]


def test_what_needs_a_setting_that_is_not_known_is_listed() -> None:
    """Megatron's keys name another optimizer: its betas would be those of no optimizer in mlx-lm's file."""
    text = (
        "python -m verl.trainer.sft_trainer data.train_files=a.parquet model.path=m optim=megatron"
        " optim.weight_decay=0.1\n"
    )
    *_, main, notes = exported("verl", text, "mlx-lm")
    assert "optimizer_config" not in parse_yaml(main, "written")
    assert any("optim.weight_decay: 0.1" in note for note in notes)


@pytest.mark.parametrize("to", ["axolotl", "ms-swift"])
def test_an_adapter_that_the_target_has_not_is_listed(to: str) -> None:
    text = FULL["llamafactory-v1"].replace("name: lora", "name: freeze")
    *_, main, notes = exported("llamafactory-v1", text, to)
    assert "freeze" not in "".join(line for line in main.split("\n") if not line.startswith("#"))
    assert any("peft_config.name: freeze" in note for note in notes)


def test_rows_of_a_step_decide_nothing_for_axolotl() -> None:
    """Its schema makes gradient_accumulation_steps 1, which normalize_config takes before batch_size."""
    text = (
        "base_model: m\nlearning_rate: 1\nmicro_batch_size: 1\nbatch_size: 2\nlogging_steps: 1\ndatasets: [{path: d}]\n"
    )
    said, *_, main, _ = exported("axolotl", text, "mlx-lm")
    assert said.settings["accumulation"].value == 1 and "grad_accumulation_steps: 2" not in main


@pytest.mark.parametrize("to", ["llamafactory", "llamafactory-v1", "ms-swift", "nemo-automodel"])
def test_no_layers_are_no_layer_without_a_name(to: str) -> None:
    text = "base_model: m\nlearning_rate: 1\nadapter: lora\nlora_target_parameters: [a]\ndatasets: [{path: d}]\n"
    *_, main, notes = exported("axolotl", text, to)
    assert "lora_target: " not in main and any(note.startswith("not exported: lora_target_modules") for note in notes)


def test_offloading_of_axolotl_is_what_its_loader_makes_of_it() -> None:
    """With an adapter it takes the place of recomputation; TRL knows it on and off alone."""
    head = "base_model: m\nlearning_rate: 1\ndatasets: [{path: d}]\n"
    for text, told in (
        ("gradient_checkpointing: offload\n", (True, True)),
        ("gradient_checkpointing: offload\nadapter: lora\nlora_r: 8\nlora_alpha: 8\n", (False, True)),
        ("gradient_checkpointing: true\nactivation_offloading: true\nadapter: lora\n", (False, True)),
        ("gradient_checkpointing: true\nadapter: lora\n", (True, False)),
    ):
        made = exported("axolotl", head + text, "trl")[1].settings
        assert (made["gradient_checkpointing"].value, made["activation_offloading"].value) == told, text
    source = "model_name_or_path: m\ndataset_name: d\nactivation_offloading: true\ngradient_checkpointing: {}\n{}"
    wanted: dict[tuple[bool, bool], Any] = {
        (False, True): (True, True),
        (True, False): (True, True),
        (True, True): (None, None),
    }
    for (given, lora), told in wanted.items():
        more = "use_peft: true\nlora_target_modules: [a, b]\n" if lora else ""
        config = parse_yaml(exported("trl", source.format(str(given).lower(), more), "axolotl")[2], "written")
        assert (config.get("gradient_checkpointing"), config.get("activation_offloading")) == told, (given, lora)


def test_a_name_that_only_the_run_knows_is_no_tokenizer(tmp_path: Path) -> None:
    config = opened("ms-swift", "swift sft --model ${MODEL} --dataset org/rows --attn_impl flash_attn\n")
    plan = plan_export(
        "torchtune", str(tmp_path), config.recipe, config.recipe, ExportInput(("d",), "train", config=config)
    )
    assert "${MODEL}" not in str(parse_yaml(plan.files[0].content, "written"))
    assert "attn_implementation: flash_attention_2" in exported("ms-swift", config.text, "axolotl")[2]


def test_lora_on_the_output_layer_is_said() -> None:
    text = FULL["torchtune"].replace("apply_lora_to_output: false", "apply_lora_to_output: true")
    assert "lm_head" in parse_yaml(exported("torchtune", text, "trl")[2], "written")["lora_target_modules"]


@pytest.mark.parametrize("name", ["galore", "apollo", "badam", "adam_mini", "muon"])
def test_an_optimizer_of_llamafactory_alone_is_listed(name: str) -> None:
    *_, main, notes = exported("llamafactory", f"{BARE['llamafactory']}use_{name}: true\n", "trl")
    assert any(note.startswith(f"not exported: use_{name}") for note in notes) and "\noptim: " not in main
    for said in (f"{BARE['ms-swift']}optimizer: muon\n", "swift sft --model m --dataset d --use_galore true\n"):
        notes = exported("ms-swift", said, "trl")[3]
        assert any(note.startswith(("not exported: optimizer", "not exported: use_galore")) for note in notes)


def test_no_limit_of_checkpoints_is_none() -> None:
    """transformers keeps all at 0 and below; NeMo Automodel stops at such a number."""
    *_, main, notes = exported("trl", f"{BARE['trl']}save_total_limit: 0\n", "nemo-automodel")
    assert "max_recent_checkpoints" not in main and not any("save_total_limit" in note for note in notes)
