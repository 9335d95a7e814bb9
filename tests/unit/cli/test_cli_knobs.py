"""`sftui trainers` and `sftui knobs`: everything comes from traits, presets, the schema and the tables of keys."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from sftui.recipe import get, knobs, knobs_of
from sftui.trainers import TRAINERS, preset, preset_names, trainer_named, traits_of
from sftui.trainers.own_config import key_of

Sftui = Callable[..., Any]


def words(text: str) -> str:
    return re.sub(r"\s+", " ", text)


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_every_trainer_is_listed_with_its_releases(columns: int, sftui: Sftui, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    done = sftui("trainers")
    assert (done.code, done.err) == (0, "") and max(map(len, done.out.splitlines())) <= columns
    told = words(done.out)
    for name in TRAINERS:
        traits = traits_of(name)
        assert traits.about and f"{name} – {traits.about} answers found by {traits.finds.value}" in told
    for name in preset_names():
        assert f"{name}: mask.rule {preset(name).mask.rule}" in told


def test_trainers_for_programs(sftui: Sftui) -> None:
    told = {one["name"]: one for one in json.loads(sftui("trainers", "--format", "json").out)}
    assert list(told) == list(TRAINERS)
    assert [one["preset"] for name in told for one in told[name]["releases"]] == list(preset_names())
    assert list(told["trl"]["packs"]) == ["bfd", "bfd_split", "wrapped"] and told["hf-trainer"]["packs"] == {}
    assert told["trl"]["config"] and not told["manual-shift"]["config"]
    newest = told["axolotl"]["releases"][0]
    assert newest["transformers"] in newest["admits"], "Axolotl pins one version"


@pytest.mark.parametrize("name", preset_names())
def test_a_preset_has_every_knob_with_its_default_and_key(name: str, sftui: Sftui) -> None:
    recipe, trainer = preset(name), trainer_named(name)
    told = json.loads(sftui("knobs", "--trainer", name, "--format", "json").out)
    assert sorted(one["knob"] for one in told) == sorted(info.path for info in knobs_of(recipe))
    for one in told:
        assert one["defaults"] == {name: json.loads(json.dumps(get(recipe, one["knob"])))}
        assert ", ".join(one["keys"].get(name, ())) == key_of(trainer.name, one["knob"])
        assert all(choice["meaning"] for choice in one["choices"])


def test_without_a_trainer_all_are_told(sftui: Sftui) -> None:
    told = json.loads(sftui("knobs", "--format", "json").out)
    shared = [one["knob"] for one in told if one["trainer"] is None]
    assert shared == [info.path for info in knobs()]
    owners = {one["trainer"] for one in told} - {None}
    assert owners == {name for name in TRAINERS if len(knobs_of(preset(name))) > len(shared)}
    text = words(sftui("knobs").out)
    assert [one["knob"] for one in told if f" {one['knob']} " not in text] == []


def test_one_knob_explains_every_choice_and_names_the_key(sftui: Sftui) -> None:
    told = words(sftui("knobs", "mask.rule", "--trainer", "trl").out)
    info = next(one for one in knobs() if one.path == "mask.rule")
    assert all(f" {choice} {info.meaning(choice)}" in told for choice in info.choices)
    assert "In its config: trl completion_only_loss, assistant_only_loss" in told and "default auto" in told
    assert f"{info.meaning('parts')} (not in trl)" in told and f"{info.meaning('completion')} (not in trl)" not in told
    everywhere = words(sftui("knobs", "mask.rule").out).replace("- ", "-")  # click breaks lines at hyphens, too
    assert (
        "llamafactory train_on_prompt" in everywhere
        and f"{info.meaning('parts')} (llamafactory, ms-swift)" in everywhere
    )
    assert "default completion (hf-trainer, manual-shift, llamafactory-v1); auto (trl" in everywhere


@pytest.mark.parametrize(
    ("word", "first"),
    [
        ("mask.rule", "mask.rule"),
        ("MASK.RULE", "mask.rule"),
        ("rule", "mask.rule"),
        ("assistant_only_loss", "mask.rule"),
        ("sample_packing", "pack.strategy"),
        ("train_on_prompt", "mask.rule"),
        ("cutoff_len", "length.max"),
        ("own.eot_tokens", "own.eot_tokens (axolotl's own)"),
    ],
)
def test_a_knob_is_found_by_its_name_or_a_trainers_key(word: str, first: str, sftui: Sftui) -> None:
    done = sftui("knobs", word)
    assert done.code == 0 and done.out.splitlines()[0] == first


def test_a_word_lists_what_contains_it(sftui: Sftui) -> None:
    told = json.loads(sftui("knobs", "loss", "--format", "json").out)
    paths = {one["knob"] for one in told}
    assert {
        "loss.shift",
        "loss.weights",
        "own.completion_only_loss",
        "mask.rule",
    } <= paths and "length.max" not in paths
    told = json.loads(sftui("knobs", "alpaca", "--format", "json").out)
    assert {"data.format", "data.alpaca_prompt"} <= {one["knob"] for one in told}
    only = sftui("knobs", "curriculum").out
    assert only.startswith("own.curriculum_sampling (axolotl's own)\n"), "a single one is told whole"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("mask.rlue",), "no knob contains `mask.rlue`; did you mean `mask.rule`?"),
        (("train_on_inptus",), "no knob contains `train_on_inptus`; did you mean `train_on_inputs`?"),
        (("cutoff_len", "--trainer", "trl"), "no knob contains `cutoff_len`; `sftui knobs` lists them"),
        (("qqq\x1b[31m",), "no knob contains `qqq␛[31m`; `sftui knobs` lists them"),
        (("rule", "--trainer", "trlx"), "no trainer `trlx`; did you mean `trl`?"),
    ],
)
def test_what_is_not_there_leads_to_the_nearest(given: tuple[str, ...], told: str, sftui: Sftui) -> None:
    done = sftui("knobs", *given)
    assert (done.code, done.out, done.err) == (2, "", f"sftui: {told}\n")


def test_nothing_heavy_is_imported() -> None:
    code = (
        "import sys\nfrom sftui.cli.app import run\nassert run(['trainers']) == 0 and run(['knobs', 'loss']) == 0\n"
        "print(*{'textual', 'rich', 'transformers', 'datasets', 'pyarrow', 'tokenizers', 'torch'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == ""
