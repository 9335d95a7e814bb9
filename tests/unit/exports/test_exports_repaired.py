"""A config for repaired data names the new file, or says that there is none yet."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sftui.exports.plan import ExportPlan, plan_export
from sftui.exports.prepared import ExportInput
from sftui.sources.source import LINES, PARQUET
from sftui.trainers import preset, trainer_named

AXOLOTL = """\
base_model: builtin:chatml
chat_template: chatml
datasets:
  - path: mine.jsonl  # keep me
    ds_type: json
    type: chat_template
    split: train
sequence_len: 512
"""
TRL = """\
model_name_or_path: builtin:chatml
dataset_name: mine.jsonl
max_length: 512
output_dir: out
"""
TRL_MIXTURE = TRL.replace("dataset_name: mine.jsonl", "datasets:\n  - path: json\n    data_files: mine.jsonl")
LLAMAFACTORY = (
    "model_name_or_path: builtin:chatml\nstage: sft\ndo_train: true\nfinetuning_type: lora\ndataset: mine\ndataset_dir:"
    " .\ntemplate: chatml\ncutoff_len: 512\n"
)


VERL = "data:\n  train_files: mine.jsonl\nmodel:\n  path: builtin:chatml\n"


def written(tmp_path: Path, trainer: str, text: str, *, repaired: str | None) -> tuple[str, tuple[str, ...]]:
    plan = plans(tmp_path, trainer, text, repaired=repaired)
    return plan.files[0].content, plan.notes


def plans(tmp_path: Path, trainer: str, text: str, *, repaired: str | None) -> ExportPlan:
    folder = tmp_path / "opened"
    folder.mkdir(exist_ok=True)
    (folder / "mine.jsonl").write_text(
        '{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}\n'
    )
    (folder / "dataset_info.json").write_text(
        '{"mine": {"file_name": "mine.jsonl", "formatting": "sharegpt", "columns": {"messages": "messages"}}}'
    )
    path = folder / "config.yml"
    path.write_text(
        text.replace("mine.jsonl", str(folder / "mine.jsonl")).replace("dataset_dir: .", f"dataset_dir: {folder}")
    )
    opened = trainer_named(trainer).read_config(str(path), path.read_text())
    recipe = opened.recipe
    prepared = ExportInput(
        paths=(str(folder / "mine.jsonl"),), loading=LINES, config=opened, repairs=("trim",), repaired=repaired
    )
    return plan_export(recipe.preset, str(tmp_path / "out"), recipe, recipe, prepared)


@pytest.mark.parametrize(("trainer", "text"), [("axolotl", AXOLOTL), ("trl", TRL), ("trl", TRL_MIXTURE)])
def test_the_opened_config_names_the_repaired_file(tmp_path: Path, trainer: str, text: str) -> None:
    new = tmp_path / "new.jsonl"
    new.write_text("")
    content, notes = written(tmp_path, trainer, text, repaired=str(new))
    assert "mine.jsonl" not in content and str(new) in content and notes == ()
    assert ("# keep me" in content) == (trainer == "axolotl") and "512" in content
    again = trainer_named(trainer).read_config(str(tmp_path / "config.yml"), content)
    assert again.datasets[0].paths == (str(new),) and again.datasets[0].split is None and len(again.datasets) == 1


def test_a_config_whose_data_cannot_be_written_says_so(tmp_path: Path) -> None:
    content, notes = written(tmp_path, "verl", VERL, repaired="new.jsonl")  # which reads Parquet alone
    assert "new.jsonl" not in content and any("by hand: new.jsonl" in note for note in notes)


def test_the_file_beside_a_config_names_the_repaired_one(tmp_path: Path) -> None:
    new = tmp_path / "new.jsonl"
    new.write_text("")
    content, notes = written(tmp_path, "llamafactory", LLAMAFACTORY, repaired=str(new))
    plan = plans(tmp_path, "llamafactory", LLAMAFACTORY, repaired=str(new))
    plan.write()
    assert notes == () and f"dataset_dir: {tmp_path / 'out'}" in content
    again = trainer_named("llamafactory").read_config(str(tmp_path / "out" / "config.yml"), content)
    opened = tmp_path / "opened" / "config.yml"
    before = trainer_named("llamafactory").read_config(str(opened), opened.read_text())
    assert again.datasets[0].paths == (str(new),) and again.recipe == before.recipe


def test_repairs_that_are_in_no_file_are_told(tmp_path: Path) -> None:
    content, notes = written(tmp_path, "axolotl", AXOLOTL, repaired=None)
    assert "mine.jsonl" in content and any("not saved yet" in note for note in notes)


def test_a_new_config_and_the_script_name_the_repaired_file(tmp_path: Path) -> None:
    recipe = preset("trl@1.16")
    prepared = ExportInput(
        paths=("mine.parquet",), split="train", loading=PARQUET, repairs=("trim",), repaired="new.jsonl"
    )
    plan = plan_export("trl", str(tmp_path), recipe, recipe, prepared)
    assert "data_files: new.jsonl" in plan.files[0].content
    assert [note[:20] for note in plan.notes] == ["no config was opened"]
    plain = plan_export("trl", str(tmp_path), recipe, recipe, replace(prepared, repairs=(), repaired=None))
    assert "mine.parquet" in plain.files[0].content
