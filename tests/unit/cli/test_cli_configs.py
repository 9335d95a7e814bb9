"""A trainer's own config as what to open, for every command."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sftui.errors import RecipeError
from sftui.session.arguments import set_knob
from sftui.session.configs import open_config
from sftui.trainers import preset, trainer_named
from sftui.trainers.recognise import recognise

ROW = {"messages": [{"role": "user", "content": "Hello?"}, {"role": "assistant", "content": "Hi."}]}
AXOLOTL = """\
base_model: builtin:chatml
sequence_len: 512  # room
datasets:
  - path: chats.jsonl
    type: chat_template
  - path: other.jsonl
    type: alpaca
learning_rate: 0.0002
flibber: 3
"""
TRL = """\
model_name_or_path: builtin:chatml
datasets:
  - path: json
    data_files: chats.jsonl
max_length: 9
completion_only_loss: false
learning_rate: 0.0001
"""


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to start in, with data and configs."""
    (tmp_path / "chats.jsonl").write_text(json.dumps(ROW) + "\n")
    (tmp_path / "other.jsonl").write_text(json.dumps({"instruction": "Say hi", "input": "", "output": "Hi."}) + "\n")
    (tmp_path / "axolotl.yml").write_text(AXOLOTL)
    (tmp_path / "trl.yaml").write_text(TRL)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_data_tokenizer_and_knobs_come_from_the_config(sftui: Callable[..., Any], work: Path) -> None:
    done = sftui("show", "trl.yaml", "--format", "json")
    [made] = done.records()
    assert done.code == 0 and len(made["input_ids"]) == 9 and made["labels"] == made["input_ids"]
    assert "trl.yaml is read as a config for trl, because it has" in done.err


def test_no_key_is_ignored_in_silence(sftui: Callable[..., Any], work: Path) -> None:
    done = sftui("encode", "axolotl.yml", "-o", "-")
    assert done.code == 0 and len(done.records()) == 1
    assert "key not known to sftui: flibber (sftui supports Axolotl up to 0.21.0)" in done.err
    named = sftui("encode", "axolotl.yml", "--trainer", "axolotl@0.19", "-o", "-").err
    assert "not a key of this trainer version: flibber (Axolotl 0.19.0 ignores it)" in named
    assert "keys are not about data: exports copy or list them" in done.err


def test_several_datasets_are_listed_and_chosen(sftui: Callable[..., Any], work: Path) -> None:
    done = sftui("show", "axolotl.yml", "--view", "text")
    assert "2 datasets; 0 is open" in done.err and "1  other.jsonl" in done.err and "Hello?" in done.out
    for name in ("1", "other.jsonl"):
        done = sftui("show", "axolotl.yml", "--view", "text", "--dataset", name)
        assert done.code == 0 and "Say" in done.out
    done = sftui("show", "axolotl.yml", "--dataset", "2")
    assert done.code == 2 and "it has 0 chats.jsonl, 1 other.jsonl" in done.err


def test_the_command_line_comes_on_top(sftui: Callable[..., Any], work: Path) -> None:
    [made] = sftui(
        "show", "--config", "trl.yaml", "--trainer", "trl@1.16", "--max-length", "4", "--format", "json"
    ).records()
    assert len(made["input_ids"]) == 4


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("chats.jsonl", "--config", "trl.yaml"), "both name the data"),
        (("trl.yaml", "--recipe", "x.yaml"), "both set the starting recipe"),
        (("chats.jsonl", "-t", "builtin:chatml", "--dataset", "1"), "no config is open"),
        (("none.yaml",), "none.yaml: the config cannot be read"),
        (("odd.yaml",), "say which trainer it is for: --trainer NAME"),
        (("recipe.yaml",), "this is an sftui recipe, not data or a trainer's config; open data with it"),
        (("recipe.yaml",), "`sftui check DATA --recipe recipe.yaml`"),
        (("broken.yaml",), "not valid YAML"),
        (("trl.yaml", "--trainer", "hf-trainer"), "hf-trainer has no config file"),
    ],
)
def test_mistakes_are_told(sftui: Callable[..., Any], work: Path, words: tuple[str, ...], told: str) -> None:
    (work / "odd.yaml").write_text("learning_rate: 1\nseed: 3\n")
    (work / "recipe.yaml").write_text("preset: hf-trainer\n")
    (work / "broken.yaml").write_text("a: [\n")
    done = sftui("show", *words)
    assert (done.code, done.out) == (2, "") and told in done.err


def test_a_config_of_another_folder_says_where_to_start(
    sftui: Callable[..., Any], work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (work / "elsewhere").mkdir()
    monkeypatch.chdir(work / "elsewhere")
    done = sftui("show", "../trl.yaml")
    assert done.code == 2 and "start sftui in .." in done.err and "the folder it is started in" in done.err


def test_what_does_not_count_goes_to_the_inspector_as_notes(work: Path) -> None:
    chosen = open_config("axolotl.yml", None, None)
    assert any("flibber" in note for note in chosen.notes) and not any("learning_rate" in note for note in chosen.notes)


def test_unsloth_takes_its_arguments_as_options(sftui: Callable[..., Any], work: Path) -> None:
    done = sftui(
        "show",
        "chats.jsonl",
        "-t",
        "builtin:chatml",
        "--trainer",
        "unsloth",
        "--set",
        "mask.rule=markers",
        "--set",
        "own.force_match=true",
    )
    assert done.code == 0 and "unsloth@" in done.out


@pytest.mark.parametrize(
    ("config", "trainer"),
    [
        ({"base_model": "x", "datasets": [{"path": "a", "type": "alpaca"}]}, "axolotl"),
        (
            {"model_name_or_path": "x", "stage": "sft", "dataset": "a,b", "template": "qwen", "cutoff_len": 9},
            "llamafactory",
        ),
        ({"model_name_or_path": "x", "dataset_name": "a", "learning_rate": 1, "packing": True}, "trl"),
        ({"model_name_or_path": "x", "datasets": [{"path": "a"}], "assistant_only_loss": True}, "trl"),
        (
            {
                "tokenizer": {"_component_": "torchtune.models.llama3.llama3_tokenizer"},
                "dataset": {"_component_": "torchtune.datasets.alpaca_dataset"},
            },
            "torchtune",
        ),
        ({"tokenizer": "x", "data": "a.jsonl", "responses": {}, "max_length": 9}, "unsloth"),
        ({"learning_rate": 1}, None),
        ({"preset": "trl@1.16"}, None),
        ({"base_model": "x", "stage": "sft"}, None),
    ],
)
def test_the_keys_tell_the_trainer(config: dict[str, object], trainer: str | None) -> None:
    found = recognise(config)
    assert found.trainer == trainer and found.reason


def test_export_changes_the_users_own_file_and_shows_the_diff_first(sftui: Callable[..., Any], work: Path) -> None:
    done = sftui("export", "axolotl.yml", "--to", "axolotl", "-o", "out", "--max-length", "128")
    assert done.code == 0 and "-sequence_len: 512  # room\n+sequence_len: 128  # room" in done.err
    first, *lines = (work / "out" / "axolotl.yml").read_text().splitlines()
    assert first == "# sftui: changes to the starting recipe: length.max 512 -> 128"
    assert lines == AXOLOTL.replace("512", "128").splitlines()
    again = sftui("export", "out/axolotl.yml", "--to", "axolotl", "-o", "out", "--max-length", "64", "--force")
    assert again.code == 0 and (work / "out" / "axolotl.yml").read_text().count("# sftui: ") == 1


def test_converting_says_what_is_lost_and_counts_the_labels(sftui: Callable[..., Any], work: Path) -> None:
    done = sftui("export", "axolotl.yml", "--to", "trl@1.16", "-o", "out")
    assert done.code == 2 and "nothing was written: TRL would stop on this data" in done.err, "it cannot patch chatml"
    assert "{% generation %} tag" in done.err and not (work / "out").exists()
    assert sftui("template", "axolotl.yml", "--add-generation-tags", "-o", "tagged.jinja").code == 0
    done = sftui("export", "axolotl.yml", "--to", "trl@1.16", "-o", "out", "--template", "tagged.jinja")
    assert done.code == 0 and "converted from axolotl@0.21 to trl@1.16" in done.err
    assert "length.over = 'drop' has no key in TRL's config" in done.err
    assert "1 of 1 row differs" in done.err or "nothing differs in 1 row" in done.err or "cannot be counted" in done.err
    assert "assistant_only_loss: true" in (work / "out" / "trl_sft.yaml").read_text()
    assert not (work / "out" / "axolotl.yml").exists()


@pytest.mark.parametrize(("name", "key"), [("axolotl.yml", "chat_template_jinja"), ("trl.yaml", "chat_template_path")])
def test_a_template_file_of_the_config_is_left_alone_and_a_new_one_is_found(
    sftui: Callable[..., Any], work: Path, name: str, key: str
) -> None:
    from sftui.templates import builtin_template

    trainer = name.partition(".")[0]
    extra = "chat_template: jinja\n" if trainer == "axolotl" else ""
    (work / "mine.jinja").write_text(builtin_template("chatml").source)
    (work / name).write_text((work / name).read_text() + f"{extra}{key}: mine.jinja\n")
    done = sftui("export", name, "--to", trainer, "-o", "out", "--max-length", "99")
    assert (
        done.code == 0
        and f"{key}: mine.jinja" in (work / "out" / name).read_text()
        and not (work / "out" / "chat_template.jinja").exists()
    )
    done = sftui("export", name, "--to", trainer, "-o", "two", "--template", "zephyr", "--max-length", "99")
    assert done.code == 0 and f"{key}: {work.resolve()}/two/chat_template.jinja" in (work / "two" / name).read_text()
    assert sftui("show", f"two/{name}", "--format", "json").code == 0


ASKED = {"from": "human", "value": "a"}
PAIR = {"prompt": [{"role": "user", "content": "a"}], "completion": [{"role": "assistant", "content": "b"}]}
REFUSED = {
    "trl": {"conversations": [ASKED, {"from": "gpt", "value": "b"}]},
    "unsloth": {"conversations": [ASKED, {"from": "function_call", "value": "{}"}, {"from": "gpt", "value": "b"}]},
    "axolotl": PAIR,
    "llamafactory": {"text": "abc"},
    "torchtune": {"conversations": [ASKED, {"from": "tool", "value": "b"}, {"from": "gpt", "value": "b"}]},
}


@pytest.mark.parametrize("to", REFUSED)
def test_an_export_that_its_trainer_would_refuse_is_not_written(
    sftui: Callable[..., Any], tmp_path: Path, to: str
) -> None:
    data = tmp_path / "rows.jsonl"
    data.write_text(json.dumps(REFUSED[to]) + "\n")
    given = ("export", data, "-t", "builtin:chatml", "--set", "mask.rule=assistant", "--to", to, "-o", tmp_path / "out")
    done = sftui(*given)
    assert done.code == 2 and f"nothing was written: {trainer_named(to).title} would stop on this data" in done.err
    assert ", because " in done.err and "; " in done.err and not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("path", "typed"),
    [
        ("own.seed", "3"),
        ("own", "{seed: 3}"),
        ("own", "seed=3"),
        ("mask.options.seed", "3"),  # where it stood before
        ("mask.options", "{seed: 3}"),
    ],
)
def test_a_trainers_own_option_is_set_by_its_path_or_with_others(path: str, typed: str) -> None:
    recipe = set_knob(preset("axolotl@0.19"), path, typed)
    assert recipe.own.said() == {"seed": 3}


@pytest.mark.parametrize(("path", "typed"), [("own", "3"), ("own.sed", "3"), ("own", "{sed: 3}"), ("own.seed", "x")])
def test_an_option_that_is_none_is_refused(path: str, typed: str) -> None:
    with pytest.raises(RecipeError, match="own"):
        set_knob(preset("axolotl@0.19"), path, typed)
