"""verl's YAML and run scripts, read and written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sftui.errors import RecipeError
from sftui.recipe import changed, get
from sftui.recipe_io import parse_yaml
from sftui.session.configs import recognised
from sftui.trainers import preset, trainer_named
from sftui.trainers.config import Facts, KeyUse, OpenedConfig
from sftui.trainers.own_config import losses_of, write_config
from sftui.trainers.recognise import recognise
from sftui.trainers.verl import script

BASE = "data:\n  train_files: a.parquet\nmodel:\n  path: M\n"
SCRIPT = """#!/bin/bash
# trains Qwen, with data.max_length=7 in a comment
set -x
nproc_per_node=$1
MODEL=${MODEL:-Qwen/Qwen2.5-0.5B}
HERE="/data/my rows"
shift 1
torchrun --standalone --nproc_per_node=$nproc_per_node \\
    -m verl.trainer.sft_trainer \\
    data.train_files="$HERE/train.parquet" \\
    data.max_length=2048 \\
    data.truncation=right \\
    data.messages_key='conversations' \\
    +data.shuffle=true \\
    +data.apply_chat_template_kwargs="{enable_thinking:false,note:'a b'}" \\
    model.path=${HOME_MODEL:-$MODEL} \\
    optim.lr=1e-4 \\
    'trainer.logger=[console,wandb]' \\
    trainer.project_name=x $@
echo done data.max_length=9
"""


def read(more: str = "", base: str = BASE, version: str | None = None, path: str = "verl.yaml") -> OpenedConfig:
    return trainer_named("verl").read_config(path, base + more, version)


def of_data(**keys: str) -> str:
    return "data:\n  train_files: a.parquet\n" + "".join(f"  {key}: {value}\n" for key, value in keys.items())


@pytest.mark.parametrize(
    ("text", "path", "value"),
    [
        (of_data(), "length.max", 1024),
        (of_data(), "length.over", "error"),
        (of_data(max_length="100"), "length.max", 100),
        (of_data(truncation="right"), "length.over", "cut_right"),
        (of_data(truncation="left"), "length.over", "cut_right"),
        (of_data(truncation="left", pad_mode="right"), "length.over", "cut_left"),
        (of_data(pad_mode="right"), "batch.flatten", False),
        (of_data(pad_mode="right"), "batch.pad_to", "max"),
        (of_data(), "batch.flatten", True),
        (of_data(), "batch.size", 256),
        (of_data(train_batch_size="8"), "batch.size", 8),
        (
            of_data(messages_key="chat", tools_key="functions"),
            "data.fields",
            {"messages": "chat", "tools": "functions"},
        ),
        (of_data(messages_key="messages"), "data.fields", {}),
        (of_data(ignore_input_ids_mismatch="true"), "own.ignore_input_ids_mismatch", True),
        (of_data(ignore_input_ids_mismatch="'False'"), "own.ignore_input_ids_mismatch", True),
        (of_data(), "own.enable_thinking_default", True),
        (of_data(enable_thinking_default="none"), "own.enable_thinking_default", True),
        (of_data(enable_thinking_default="null"), "own.enable_thinking_default", None),
        (of_data(enable_thinking_default="false"), "own.enable_thinking_default", False),
        (of_data(apply_chat_template_kwargs="{a: 1}"), "render.kwargs", {"a": 1}),
        (of_data(train_max_samples="-1"), "own.train_max_samples", None),
        (of_data(train_max_samples="10"), "own.train_max_samples", 10),
        (of_data() + "model: {path: M, tokenizer_path: T}\n", "tokenizer.name", "T"),
        (of_data() + "model: {path: M, tokenizer_path: null}\n", "tokenizer.name", "M"),
        (of_data() + "model: {custom_chat_template: '{{ 1 }}'}\n", "render.template", "verl/custom"),
        ("m: 33\ndata: {train_files: a.parquet, max_length: '${m}'}\n", "length.max", 33),
        ("data: {train_files: a.parquet}\nmodel: {path: '${other.key}'}\n", "tokenizer.name", "${other.key}"),
    ],
)
def test_keys_are_knobs(text: str, path: str, value: Any) -> None:
    assert get(read(base=text).recipe, path) == value


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (of_data(max_length="'100'"), "data.max_length is `100`"),
        (of_data(truncation="middle"), "data.truncation is `middle`"),
        (of_data(truncation="{a: 1}"), "data.truncation is `{'a': 1}`"),
        (of_data(pad_mode="left_right"), "data.pad_mode is `left_right`"),
        (of_data(apply_chat_template_kwargs="null"), "TypeError"),
        (of_data(messages_key="null"), "data.messages_key is `None`"),
        (of_data(train_max_samples="x"), "data.train_max_samples is `x`"),
        ("data: {train_files: {a: b}}\n", "`data.train_files` cannot be"),
        ("data: {train_files: hdfs://x/a.parquet}\n", "does not fetch hdfs://x/a.parquet"),
        ("data: [a]\n", "`data` cannot be"),
    ],
)
def test_what_it_refuses(text: str, why: str) -> None:
    with pytest.raises(RecipeError) as told:
        read(base=text)
    assert why in str(told.value)


@pytest.mark.parametrize(
    ("given", "paths"),
    [("a.parquet", ("a.parquet",)), ("[a.parquet, b/c.parquet]", ("a.parquet", "b/c.parquet"))],
)
def test_the_rows_are_those_of_the_files(given: str, paths: tuple[str, ...]) -> None:
    [reference] = read(base=f"data:\n  train_files: {given}\n").datasets
    assert reference.paths == paths


def test_a_file_of_another_kind_stops_it() -> None:
    """pandas.read_parquet, whatever the name says; sftui knows only the kind by the name."""
    for given, stops in (
        ("[a.parquet, b.jsonl]", True),
        ("a.parquet", False),
        ("b.jsonl, custom_cls: {path: mine.py}", False),
    ):
        notes = [note for note in read(base=f"data: {{train_files: {given}}}\n").keys if note.use.stops]
        assert [note.path for note in notes] == ["data.train_files"] * stops
        assert all("Parquet magic bytes not found" in note.note for note in notes)


def test_without_files_those_of_its_own_config_are_meant() -> None:
    [reference] = read(base="data:\n  max_length: 5\n").datasets
    assert reference.paths == (str(Path("~/data/gsm8k/train.parquet").expanduser()),)


@pytest.mark.parametrize(
    ("more", "path", "use"),
    [
        ("  seq_len: 8\n", "data.seq_len", KeyUse.UNKNOWN),
        ("  num_workers: 8\n", "data.num_workers", KeyUse.PASSED),
        ("  custom_cls: {path: a.py, name: A}\n", "data.custom_cls.path", KeyUse.UNSUPPORTED),
        ("  apply_chat_template_kwargs: {tools: []}\n", "data.apply_chat_template_kwargs.tools", KeyUse.STOPS),
        ("  apply_chat_template_kwargs: {padding: true}\n", "data.apply_chat_template_kwargs", KeyUse.UNSUPPORTED),
        ("  truncation: left\n", "data.truncation", KeyUse.USED),
        ("model: {trust_remote_code: true}\n", "model.trust_remote_code", KeyUse.UNSUPPORTED),
        ("model: {override_config: {x: 1}}\n", "model.override_config.x", KeyUse.PASSED),
        ("optim: {lr: 1}\n", "optim.lr", KeyUse.PASSED),
    ],
)
def test_what_is_said_of_a_key(more: str, path: str, use: KeyUse) -> None:
    opened = read(base="data:\n  train_files: a.parquet\n" + more, version="0.9")
    assert {note.path: note.use for note in opened.keys}[path] is use


@pytest.mark.parametrize("text", [BASE, of_data(truncation="left"), "defaults: [sft_trainer_engine, _self_]\n" + BASE])
def test_a_config_of_its_own_is_known(text: str) -> None:
    assert recognise(parse_yaml(text, "c.yaml")).trainer == "verl"


@pytest.mark.parametrize(
    ("listed", "told"),
    [
        ("[sft_trainer_engine, _self_]", []),
        ("[sft_trainer_engine, {override engine@engine: megatron}, {'/model@model': hf_model}, _self_]", []),
        ("[my_base, _self_]", ["my_base"]),
        ("[sft_trainer_engine, {model@model: mine}, {optional /data: x}, _self_]", ["mine", "x"]),
        ("my_base", ["my_base"]),
        ("[[mine]]", ["['mine']"]),
    ],
)
def test_a_config_under_it_that_is_not_read_is_told(listed: str, told: list[str]) -> None:
    notes = [note for note in read(base=f"defaults: {listed}\n{BASE}").keys if note.path == "defaults"]
    assert [note.note.split("`")[1] for note in notes] == told
    assert all(note.use is KeyUse.UNSUPPORTED for note in notes)


@pytest.mark.parametrize("word", ["data.custom_cls.path=a.py", "data.custom_cls={path:a.py}", "model.external_lib=x"])
def test_code_of_yours_in_a_script_is_told(word: str) -> None:
    text = f"python -m verl.trainer.sft_trainer data.train_files=a.parquet {word}\n"
    [note] = [one for one in read(base=text).keys if one.path.startswith(word.split("=")[0])]
    assert note.use is KeyUse.UNSUPPORTED and "does not run your code" in note.note


def test_a_script_is_known_and_read(tmp_path: Path) -> None:
    file = tmp_path / "run.sh"
    file.write_text(SCRIPT)
    assert recognised(str(file)) == "verl"
    opened = read(base=SCRIPT, version="0.9", path=str(file))
    recipe = opened.recipe
    assert opened.datasets[0].paths == ("/data/my rows/train.parquet",)
    assert (recipe.length.max, recipe.length.over, recipe.tokenizer.name) == (2048, "cut_right", "Qwen/Qwen2.5-0.5B")
    assert recipe.data.fields == {"messages": "conversations"}
    assert recipe.render.kwargs == {"enable_thinking": False, "note": "a b"}
    assert get(recipe, "own.shuffle") is True
    uses = {note.path: note.use for note in opened.keys}
    assert uses["optim.lr"] is KeyUse.PASSED and uses["$@"] is KeyUse.UNSUPPORTED


ARRAYS = """DATA=(
    data.train_files=a.parquet  # the rows
    "optim.betas=[0.9,0.95]"
)
PEFT=${PEFT:-1}
EXTRA=()
if [ "${PEFT}" = "1" ]; then
    EXTRA+=("model.lora_rank=8")
fi
if [ "${PEFT}" = "0" ]; then
    EXTRA+=("model.lora_rank=9")
fi
MORE
python -m verl.trainer.sft_trainer "${DATA[@]}" optim.lr=1e-5 ${EXTRA[@]} "${@:3}"
"""


def test_arrays_of_a_script_are_its_words() -> None:
    config = read(base=ARRAYS.replace("MORE", "")).config
    assert config["data"] == {"train_files": "a.parquet"} and config["model"] == {"lora_rank": 8}
    assert config["optim"] == {"betas": [0.9, 0.95], "lr": 1e-5} and "?" not in config
    changed_text = script.edited(ARRAYS, {"model.lora_rank": 16, "optim.betas": [0, 1]}, frozenset(), "run.sh")
    assert "EXTRA+=(model.lora_rank=16)" in changed_text and "\n    'optim.betas=[0,1]'\n)" in changed_text


@pytest.mark.parametrize(
    "more",
    [
        'if [ "$1" = "x" ]; then\n    EXTRA+=(a=1)\nfi',
        "for one in 1 2; do\n    EXTRA+=(a=1)\ndone",
        "EXTRA+=($SOME)",
    ],
)
def test_words_that_hang_on_a_run_are_not_known(more: str) -> None:
    assert read(base=ARRAYS.replace("MORE", more)).config["?"]


@pytest.mark.parametrize(
    ("words", "path", "why"),
    [
        ("data.seq_len=8", "data.seq_len", "Could not override 'data.seq_len'"),
        ("+data.max_length=8", "data.max_length", "An item is already at 'data.max_length'"),
        ("data.shuffle=true", "data.shuffle", "Could not override 'data.shuffle'"),
        ("data.apply_chat_template_kwargs={a:1}", "data.apply_chat_template_kwargs", "Could not override"),
        ("data.apply_chat_template_kwargs.a=1", "data.apply_chat_template_kwargs.a", "Could not override"),
    ],
)
def test_an_override_that_hydra_refuses_is_told(words: str, path: str, why: str) -> None:
    text = f"python -m verl.trainer.sft_trainer data.train_files=a.parquet {words}\n"
    [note] = [one for one in read(base=text, version="0.9").keys if one.path == path]
    assert note.use is KeyUse.STOPS and why in note.note


def test_a_script_given_its_file_when_it_is_run_is_told() -> None:
    with pytest.raises(RecipeError) as told:
        read(base="python3 -m verl.trainer.sft_trainer data.train_files=$1\n")
    assert "which file `$1` is" in str(told.value)


def test_an_older_module_is_told() -> None:
    opened = read(base="torchrun verl/trainer/fsdp_sft_trainer.py data.train_files=a.parquet\n")
    assert "no fsdp_sft_trainer" in opened.notes[0]


def test_an_opened_script_keeps_all_that_did_not_change() -> None:
    opened = read(base=SCRIPT)
    recipe = opened.recipe
    for path, value in {
        "length.max": 77,
        "own.ignore_input_ids_mismatch": True,
        "own.image_key": "pics",
        "render.kwargs": {},
        "data.fields": {"messages": "my chat"},
    }.items():
        recipe = changed(recipe, path, value)
    text = write_config(recipe, opened).files[0].content
    before, after = SCRIPT.split("\n"), text.split("\n")
    assert "    data.max_length=77 \\" in after and "data.max_length=9" in after[-2]
    assert [line for line in before if line not in after] == [
        "    data.max_length=2048 \\",
        "    data.messages_key='conversations' \\",
        "    +data.apply_chat_template_kwargs=\"{enable_thinking:false,note:'a b'}\" \\",
        "    trainer.project_name=x $@",
    ] or "trainer.project_name=x $@" in text
    back = read(base=text).recipe
    for path in ("length.max", "own.ignore_input_ids_mismatch", "own.image_key", "render.kwargs", "data.fields"):
        assert get(back, path) == get(recipe, path), path


KNOBS: Mapping[str, Any] = {
    "length.max": 512,
    "length.over": "cut_right",
    "batch.size": 2,
    "data.fields": {"messages": "chat", "tools": "functions"},
    "render.kwargs": {"a": "it's", "b": [1, None, True]},
    "own.ignore_input_ids_mismatch": True,
    "own.enable_thinking_default": None,
    "own.train_max_samples": 9,
    "own.shuffle": True,
}


def test_a_new_config_comes_back_as_it_was_said() -> None:
    recipe = preset("verl")
    for path, value in KNOBS.items():
        recipe = changed(recipe, path, value)
    written = write_config(recipe, None, Facts(data="rows.parquet", tokenizer="M"))
    assert written.losses == () and [file.name for file in written.files] == ["verl_sft.yaml"]
    opened = read(base=written.files[0].content)
    assert {path: get(opened.recipe, path) for path in KNOBS} == KNOBS
    assert opened.datasets[0].paths == (str(Path("rows.parquet").absolute()),)
    words = written.notes[1].removeprefix("as overrides: ")
    said = read(base=f"python -m verl.trainer.sft_trainer data.train_files=a.parquet {words}\n", version="0.9")
    assert {path: get(said.recipe, path) for path in KNOBS} == KNOBS
    assert {note.use for note in said.keys} == {KeyUse.USED}


def test_a_template_is_written_as_its_text() -> None:
    recipe = changed(preset("verl"), "render.template", "file:t.jinja")
    text = write_config(recipe, None, Facts(template_source="{% if a %}\n'x' {{ b }}\n{% endif %}"))
    opened = read(base=text.files[0].content)
    assert opened.recipe.render.template == "verl/custom"
    assert get(opened.recipe, "own.custom_chat_template") == "{% if a %}\n'x' {{ b }}\n{% endif %}"


def test_rows_of_another_kind_are_told() -> None:
    written = write_config(preset("verl"), None, Facts(data="rows.jsonl"))
    assert any("sftui convert DATA -o OUT.parquet" in note for note in written.notes)


@pytest.mark.parametrize(
    ("path", "value", "why"),
    [
        ("length.over", "cut_left", "with pad_mode no_padding it cuts the end"),
        ("batch.flatten", False, "go together"),
        ("data.fields", {"system": "sys"}, "data.fields system = 'sys' has no key"),
        ("data.format", "alpaca", "it reads only messages"),
        ("length.max", None, "data.max_length 1000000 means none"),
        ("mask.rule", "all", "mask.rule = 'all' has no key"),
    ],
)
def test_what_it_cannot_be_told(path: str, value: Any, why: str) -> None:
    assert why in " ".join(losses_of(changed(preset("verl"), path, value)))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("1_000", 1000),
        ("-1", -1),
        ("1.5", 1.5),
        ("1e-4", 1e-4),
        ("True", True),
        ("null", None),
        ("none", "none"),
        ("a b", "a b"),
        ("'1'", "1"),
        ('"a\'b"', "a'b"),
        ("'a\\'b'", "a'b"),
        ("'a\\\\'", "a\\"),
        ("'a\\nb'", "a\\nb"),
        ("[]", []),
        ("[a,1,[b]]", ["a", 1, ["b"]]),
        ("{}", {}),
        ("{a:1,b:{c:x}}", {"a": 1, "b": {"c": "x"}}),
        ("", ""),
        ("/a/b-c_d.parquet", "/a/b-c_d.parquet"),
    ],
)
def test_values_of_overrides(text: str, value: Any) -> None:
    assert script.parsed(text, "here") == value
    assert script.parsed(script.written(value), "here") == value


@pytest.mark.parametrize("text", ["[a", "{a", "'a", "[a]b", "{a:1}}"])
def test_values_that_hydra_refuses(text: str) -> None:
    with pytest.raises(RecipeError):
        script.parsed(text, "here")


def test_only_a_command_counts() -> None:
    assert not script.is_script("# python -m verl.trainer.sft_trainer a=1\necho 'x'\n")
    assert not script.is_script(BASE)
    assert script.is_script("NCCL=1 python -m verl.trainer.sft_trainer\n")
