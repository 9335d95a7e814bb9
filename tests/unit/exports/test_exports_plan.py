"""Plans: what would be written, its diff, and the first line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sftui.errors import ExportError
from sftui.exports.plan import ExportPlan, check_target, plan_export
from sftui.exports.prepared import ExportInput
from sftui.recipe import Recipe, changed, knobs_of
from sftui.session.configs import open_config
from sftui.trainers import load_recipe, preset
from sftui.trainers.config import Facts
from sftui.trainers.own_config import write_config

BASE = changed(preset("hf-trainer"), "tokenizer.name", "builtin:chatml")


def test_a_recipe_holds_what_differs_and_reads_back(tmp_path: Path) -> None:
    recipe = changed(changed(BASE, "length.max", 7), "render.inject_system", "a\nb \x1b[31m")
    plan = plan_export("recipe", str(tmp_path), recipe, BASE, ExportInput(("data.jsonl",)))
    assert (
        plan.first_line
        == "sftui: changes to the starting recipe: render.inject_system null -> a b [31m, length.max null -> 7"
    )
    assert [path.name for path in plan.write()] == ["recipe.yaml"]
    text = (tmp_path / "recipe.yaml").read_text()
    assert text.splitlines()[0] == f"# {plan.first_line}" and "batch" not in text
    assert load_recipe(text, "recipe.yaml") == recipe


def test_nothing_corrected_is_said_too(tmp_path: Path) -> None:
    assert plan_export("recipe", str(tmp_path), BASE, BASE, ExportInput(())).first_line.endswith(
        "no changes to the starting recipe"
    )


def test_a_plan_shows_the_difference_and_asks_before_overwriting(tmp_path: Path) -> None:
    def plan(longest: int) -> ExportPlan:
        return plan_export("recipe", str(tmp_path), changed(BASE, "length.max", longest), BASE, ExportInput(()))

    first = plan(5)
    assert first.overwrites == () and first.files[0].diff == "" and not first.files[0].exists
    first.write()
    assert plan(5).write() == (), "what already exists is not written again"
    second = plan(6)
    assert "-  max: 5" in second.files[0].diff and "+  max: 6" in second.files[0].diff
    with pytest.raises(ExportError, match="already exists"):
        second.write()
    assert "max: 5" in second.files[0].path.read_text()
    second.write(overwrite=True)
    assert "max: 6" in second.files[0].path.read_text()


def test_targets_are_checked_with_the_nearest() -> None:
    check_target("recipe")
    check_target("hf-trainer")
    with pytest.raises(ExportError, match="did you mean `preprocess`"):
        check_target("preproces")


def test_a_script_is_refused_before_anything_is_loaded(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="not open yet"):
        plan_export("preprocess", str(tmp_path), BASE, BASE, ExportInput(("x",)))
    with pytest.raises(ExportError, match="needs a tokenizer"):
        plan_export("preprocess", str(tmp_path), preset("hf-trainer"), BASE, ExportInput(("x",)))


def test_the_command_writes_and_says_what(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from sftui.cli import main

    data = tmp_path / "data.jsonl"
    data.write_text(json.dumps({"prompt": "a", "completion": "b"}) + "\n")

    def export(*words: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as done:
            main(["export", str(data), "-t", "builtin:chatml", "-o", str(tmp_path / "out"), *words])
        out, err = capsys.readouterr()
        return int(done.value.code or 0), out, err

    code, out, err = export("--to", "preprocess", "--max-length", "99")
    assert code == 0 and [Path(line).name for line in out.splitlines()] == ["preprocess.py", "recipe.yaml"]
    assert "length.max null -> 99" in err
    code, out, err = export("--to", "preprocess", "--max-length", "98")
    assert code == 2 and out == "" and "+MAX_LENGTH = 98" in err and "--force" in err
    assert export("--to", "preprocess", "--max-length", "98", "--force")[0] == 0
    assert export("--to", "manual-shift")[0] == 2
    assert export("--to", "hf-trainer", "--force")[0] == 0


def test_a_recipe_can_be_opened_from_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tagged.jinja").write_text("x")
    (tmp_path / "tokens").mkdir()
    recipe = changed(changed(BASE, "render.template", "file:tagged.jinja"), "tokenizer.name", "tokens")
    text = plan_export("recipe", "out", recipe, BASE, ExportInput(())).files[0].content
    read = load_recipe(text, "recipe.yaml")
    assert (read.render.template, read.tokenizer.name) == (
        f"file:{tmp_path / 'tagged.jinja'}",
        str(tmp_path / "tokens"),
    )
    assert "builtin:chatml" in plan_export("recipe", "out", BASE, BASE, ExportInput(())).files[0].content


def test_what_the_user_set_is_written_also_where_the_trainer_does_it_anyway(tmp_path: Path) -> None:
    recipe = preset("axolotl")
    assert recipe.length.max == 512

    def main_file(recipe: Recipe, base: Recipe, to: str, given: ExportInput) -> str:
        return plan_export(to, str(tmp_path), recipe, base, given).files[0].content

    assert "sequence_len" not in main_file(recipe, recipe, "axolotl", ExportInput(("x.jsonl",)))
    by_name = ExportInput(("x.jsonl",), chosen=frozenset(("length.max", "pack.strategy", "tokenizer.name")))
    assert "sequence_len: 512" in main_file(recipe, recipe, "axolotl", by_name)
    changed_back = main_file(recipe, changed(recipe, "length.max", 1024), "axolotl", ExportInput(("x.jsonl",)))
    assert "sequence_len: 512" in changed_back
    (tmp_path / "x.jsonl").write_text("{}\n")
    config = tmp_path / "trl.yaml"
    config.write_text(f"model_name_or_path: m\ndataset_name: {tmp_path / 'x.jsonl'}\nmax_length: 2048\nseed: 42\n")
    opened = open_config(str(config), "trl", None).opened
    said = main_file(
        opened.datasets[0].recipe, opened.datasets[0].recipe, "llamafactory", ExportInput(("x.jsonl",), config=opened)
    )
    assert "cutoff_len: 2048" in said and "seed: null" not in said


@pytest.mark.parametrize("trainer", ["trl", "axolotl", "verl", "ms-swift"])
def test_knobs_that_are_written_as_they_are_anyway_change_nothing(trainer: str, tmp_path: Path) -> None:
    recipe, read = changed(preset(trainer), "tokenizer.name", "MODEL"), []
    (tmp_path / "x.jsonl").write_text("{}\n")
    for chosen in (frozenset[str](), frozenset(info.path for info in knobs_of(recipe))):
        written = write_config(recipe, None, Facts(data=str(tmp_path / "x.jsonl"), tokenizer="MODEL", chosen=chosen))
        file = tmp_path / written.files[0].name
        file.write_text(written.files[0].content)
        read.append((open_config(str(file), trainer, None).reference.recipe, written.losses, written.files[0].content))
    assert read[0][:2] == read[1][:2] and len(read[0][2]) < len(read[1][2])
