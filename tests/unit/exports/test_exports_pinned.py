"""Which version of transformers an export asks for, and that it asks for none where all do."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from sftui.exports.pinned import needed_version, version_notes
from sftui.exports.plan import plan_export
from sftui.exports.prepared import ExportInput
from sftui.recipe import changed
from sftui.sources.source import LINES
from sftui.tokens import TokenizerFacts, builtin
from sftui.tokens.facts import PROVISIONAL
from sftui.tokens.loading import four
from sftui.tokens.loading.load import load_tokenizer
from sftui.trainers import preset, preset_names
from sftui.trainers.versions import running_version

PRESETS = ("llamafactory@0.9", "axolotl@0.19", "unsloth@2026.10", "trl@1.16", "hf-trainer", "manual-shift", "torchtune")


def tokenizer(folder: Path, kind: str) -> str:
    """A byte-level tokenizer.json under a class."""
    folder.mkdir()
    shutil.copy(builtin.folder("llama3") / "tokenizer.json", folder)
    config = json.loads((builtin.folder("llama3") / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps({**config, "tokenizer_class": kind}))
    return str(folder)


def shown(name: str, elsewhere: dict[str, int], version: str = "") -> TokenizerFacts:
    """Facts as a proof under a version leaves them."""
    facts = load_tokenizer(name, mode="provisional").facts
    return replace(facts, state="proven", transformers=version or running_version(), elsewhere=elsewhere)


@pytest.mark.parametrize(
    ("name", "version", "others"),
    [
        ("trl@1.16", "5.24.0", "5.20.1, 5.17.0, 5.16.1, 5.6.0, 5.5.0 and 4.57.6"),
        ("hf-trainer", running_version(), "5.20.1, 5.17.0, 5.16.1, 5.6.0, 5.5.0 and 4.57.6"),
        ("unsloth@2026.10", "5.17.0", None),
        ("axolotl@0.19", "5.16.1", None),  # admits this one only
        ("torchtune", "", None),  # has tokenizers of its own
    ],
)
def test_versions_that_load_it_otherwise_are_told(name: str, version: str, others: str | None, tmp_path: Path) -> None:
    odd = changed(preset(name), "tokenizer.name", tokenizer(tmp_path / "odd", "LlamaTokenizerFast"))
    measured = {four.version(): 9, "5.5.0": 9, "5.6.0": 9, "5.16.1": 9, "5.17.0": 9, "5.20.1": 9}
    found = needed_version(odd, shown(str(tmp_path / "odd"), measured))
    if name.startswith("unsloth"):  # of 5.17.0 and 5.16.1 the source is the same, of 4.57.6 nothing is known
        assert found is not None and "also runs with 4.57.6, where" in found[1]
    elif others is None:
        assert found is None
    else:
        assert found is not None and found[0] == version
        assert found[1].startswith(f"install transformers=={version}, which produces these ids: {name} also runs with")
        assert f"also runs with {others}, where this tokenizer may produce different ids" in found[1]
        assert "gives different ids for 9 probe strings" in found[1]


def test_what_was_measured_of_the_shown_version_tells_of_two_others(tmp_path: Path) -> None:
    """5.6.0 is meant and 5.23.0 shown: that 4.57.6 is as 5.23.0 and 5.6.0 is not says that the two differ."""
    recipe = changed(preset("llamafactory@0.9"), "tokenizer.name", tokenizer(tmp_path / "odd", "LlamaTokenizerFast"))
    one = shown(str(tmp_path / "odd"), {"4.57.6": 0, "5.6.0": 9})
    (note,) = version_notes(recipe, one)
    assert note.startswith("install transformers==5.6.0") and "also runs with 4.57.6" in note
    assert version_notes(recipe, replace(one, elsewhere={"4.57.6": 0, "5.6.0": 0})) == ()
    assert version_notes(recipe, replace(one, elsewhere={"4.57.6": 0}, transformers="5.6.0")) == ()


@pytest.mark.parametrize("name", sorted({*PRESETS, *preset_names()}))
def test_nothing_is_told_where_all_that_are_admitted_do_the_same(name: str, tmp_path: Path) -> None:
    plain = tokenizer(tmp_path / "plain", "PreTrainedTokenizerFast")
    recipe = changed(preset(name), "tokenizer.name", plain)
    assert version_notes(recipe, shown(plain, {four.version(): 0})) == ()
    facts = load_tokenizer(plain, mode="provisional").facts
    assert facts.state == PROVISIONAL
    own = changed(recipe, "tokenizer.name", "builtin:chatml")
    assert version_notes(own, load_tokenizer("builtin:chatml").facts) == ()


def test_a_version_that_the_trainer_refuses_is_not_one_to_install(tmp_path: Path) -> None:
    recipe = changed(preset("axolotl@0.19"), "tokenizer.name", tokenizer(tmp_path / "odd", "LlamaTokenizerFast"))
    recipe = changed(recipe, "tokenizer.transformers", "5.6.0")
    assert version_notes(recipe, shown(str(tmp_path / "odd"), {}, "5.6.0")) == ()


@pytest.mark.parametrize(("name", "to"), [("trl@1.16", "trl"), ("hf-trainer", "preprocess"), ("trl@1.16", "recipe")])
@pytest.mark.parametrize("differ", [9, 0])
def test_an_export_says_it_once(name: str, to: str, differ: int, tmp_path: Path) -> None:
    from sftui.conversations import Detection

    odd = tokenizer(tmp_path / "odd", "Qwen2Tokenizer")
    recipe = changed(preset(name), "tokenizer.name", odd)
    facts = shown(odd, {four.version(): differ})
    (tmp_path / "d.jsonl").write_text('{"messages": [{"role": "user", "content": "a"}]}\n')
    prepared = ExportInput((str(tmp_path / "d.jsonl"),), detected=Detection("messages"), tokenizer=facts, loading=LINES)
    plan = plan_export(to, str(tmp_path / "out"), recipe, recipe, prepared)
    told = [note for note in plan.notes if "install transformers" in note]
    assert len(told) == (1 if differ and to != "recipe" else 0)
    if to == "preprocess":
        script = plan.files[0].content
        wanted = f"transformers=={running_version()}" if differ else "transformers"
        assert f"Needs: pip install {wanted} datasets\n" in script
