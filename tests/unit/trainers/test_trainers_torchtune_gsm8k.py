"""torchtune's gsm8k_sft: what its config says, its texts, its mask and its partition.

Held against torchtune 0.7.0 itself (1,224 rows with three tokenizers, four partitions, two lengths): 0 differing.
"""

from __future__ import annotations

from typing import Any

import pytest

from sftui import pipeline
from sftui.errors import RecipeError
from sftui.model import Inspection, Reason, Row
from sftui.recipe import Recipe, changed
from sftui.tokens import load_tokenizer
from sftui.trainers import preset, trainer_named
from sftui.trainers.config import Facts, KeyUse
from sftui.trainers.own_config import losses_of, write_config

ROWS = [{"question": f"What is {n} {{+}} 1?", "answer": f"It is {n + 1}.\n#### {n + 1}"} for n in range(23)]


def config(more: str = "", tokenizer: str = "") -> str:
    return (
        "tokenizer:\n  _component_: torchtune.models.llama3.llama3_tokenizer\n  path: a/original/tokenizer.model\n"
        f"{tokenizer}dataset:\n  _component_: torchtune.dev.grpo.gsm8k.gsm8k_sft\n{more}"
    )


def read(text: str, version: str = "0.7") -> Any:
    return trainer_named("torchtune").read_config("t.yaml", text, version)


def inspected(rows: list[dict[str, Any]], recipe: Recipe) -> list[Inspection]:
    tools = pipeline.make_toolbox(recipe, load_tokenizer("builtin:llama3", mode="provisional"))
    source = [Row(i, row, "", f"row {i}") for i, row in enumerate(rows)]
    detected = pipeline.detect(source, recipe)
    return [pipeline.inspect(row, detected, recipe, tools) for row in source]


def test_the_question_is_masked_and_the_whole_answer_is_trained() -> None:
    (one,) = inspected(ROWS[:1], read(config()).recipe)
    assert one.problem is None and one.rendered is not None and one.tokens is not None and one.labels is not None
    text = one.rendered.text
    assert text.startswith("<|begin_of_text|>A conversation between User and Assistant. ")
    prompt, answer = text.split("Assistant: ")
    assert prompt.endswith("User: What is 0 {+} 1? ")
    assert answer == "<think>It is 1.\n</think> <answer>1</answer><|end_of_text|>"
    trained = [i for i, label in enumerate(one.labels.labels) if label != -100]
    assert trained == list(range(trained[0], len(one.tokens))) and len(trained) > 1
    assert text[one.tokens.starts[trained[0]] :] == answer
    assert set(one.labels.reasons) == {Reason.PROMPT, Reason.COMPLETION}


def test_no_length_cuts_a_row_or_masks_its_end() -> None:
    free, bound = (inspected(ROWS[:1], read(config(tokenizer=more)).recipe)[0] for more in ("", "  max_seq_len: 8\n"))
    assert free.example is not None and bound.example == free.example
    notes = trainer_named("torchtune").remarks(read(config(tokenizer="  max_seq_len: 8\n")).recipe)
    assert any("does not truncate rows" in note for note in notes) and not any(
        "masks the last token" in note for note in notes
    )


@pytest.mark.parametrize(
    ("partition", "left"),
    [("0-0/10", [0, 10, 20]), ("3-4/9", [3, 4, 12, 13, 21, 22]), ("5-2/7", []), (None, list(range(23)))],
)
def test_rows_outside_of_the_partition_are_left_out(partition: str | None, left: list[int]) -> None:
    rows = [row if i in left else {"question": "no answer", "answer": None} for i, row in enumerate(ROWS)]
    found = inspected(rows, read(config(f"  partition: {partition or 'null'}\n")).recipe)
    assert [one.row.index for one in found if one.example is not None] == left
    dropped = [one.dropped for one in found if one.row.index not in left]
    assert all(why is not None and str(partition) in why for why in dropped) and not any(one.problem for one in found)


@pytest.mark.parametrize("answer", ["no mark", "a #### b #### c", None, 5])
def test_an_answer_without_one_mark_stops_torchtune(answer: Any) -> None:
    (one,) = inspected([{"question": "q", "answer": answer}], read(config()).recipe)
    assert one.problem is not None and "does not contain `#### ` exactly once" in one.problem.what


@pytest.mark.parametrize(
    ("partition", "error"), [("1-2", "Invalid partition format"), ("0-0/0", "ZeroDivision"), ("3", "TypeError")]
)
def test_a_partition_at_which_torchtune_raises_is_told(partition: str, error: str) -> None:
    opened = read(config(f"  partition: {partition}\n"))
    (note,) = [note for note in opened.keys if note.use is KeyUse.STOPS]
    assert note.path == "dataset.partition" and error in note.note
    recipe = changed(read(config()).recipe, "own.partition", partition)
    assert "partition" not in opened.recipe.own.said()
    if not partition.isdigit():
        assert all(one.problem is not None and error in one.problem.what for one in inspected(ROWS[:2], recipe))


def test_the_config_names_its_set_as_the_builder_does() -> None:
    opened = read(config("  partition: 0-0/10\n"))
    (ref,) = opened.datasets
    assert (ref.paths, ref.subset, ref.split) == (("openai/gsm8k",), "main", "train")
    assert {note.use for note in opened.keys} == {KeyUse.USED}
    assert read(config("  name: socratic\n")).datasets[0].subset == "socratic"
    packed = next(note for note in read(config("  packed: true\n")).keys if note.path == "dataset.packed")
    assert packed.use is KeyUse.STOPS
    with pytest.raises(RecipeError, match="does not model"):
        read(config(), "0.6.1")


def test_a_recipe_of_it_is_written_and_read_back() -> None:
    recipe = read(config("  partition: 0-0/10\n", "  max_seq_len: 64\n")).recipe
    assert losses_of(recipe) == ()
    (written,) = write_config(recipe, None, Facts(data="rows.jsonl", tokenizer="a")).files
    again = read(written.content).recipe
    assert (again.own, again.data, again.length) == (recipe.own, recipe.data, recipe.length)
    for path, value in (("mask.rule", "all"), ("pack.strategy", "sequential"), ("render.inject_system", "x")):
        assert any(path in loss for loss in losses_of(changed(recipe, path, value))), path
    other = changed(preset("torchtune@0.7"), "data.format", "columns")
    assert losses_of(changed(other, "own.partition", "0-0/10"))
