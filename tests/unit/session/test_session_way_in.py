"""Sets that are refused as they are: which other columns, keys or formats make their trainer read them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sftui.recipe import changed
from sftui.session.fixing import way_in
from sftui.session.ready import open_data
from sftui.trainers import preset
from sftui.workspace import OpenOptions

TURNS = ({"role": "user", "content": "So?"}, {"role": "assistant", "content": "So."})
SPEAKERS = ({"speaker": "human", "utterance": "So?"}, {"speaker": "bot", "utterance": "So."})


@pytest.mark.parametrize(
    ("trainer", "row", "settings", "way"),
    [
        ("llamafactory", {"query": "So?", "reply": "So."}, {}, "columns.prompt: query"),
        ("llamafactory", {"query": "So?", "reply": "So."}, {}, "columns.response: reply"),
        ("llamafactory", {"query": "So?", "reply": "So."}, {"data.format": "sharegpt"}, "remove dataset_info.json"),
        ("llamafactory", {"conv": TURNS}, {"data.format": "sharegpt"}, "columns.messages: conv"),
        ("llamafactory", {"conv": TURNS}, {"data.format": "sharegpt"}, "tags.user_tag: user"),
        (
            "hf-trainer",
            {"query": "So?", "reply": "So."},
            {},
            'data.fields to {"prompt": "query", "completion": "reply"}',
        ),
        ("llamafactory", {"query": "So?", "generation": "So."}, {}, "columns.response: generation"),
        ("hf-trainer", {"dialog": SPEAKERS}, {}, 'data.message_keys to {"role": "speaker", "content": "utterance"}'),
        ("hf-trainer", {"dialog": SPEAKERS}, {}, '"bot": "assistant"'),
        ("trl", {"query": "So?", "reply": "So."}, {}, ""),  # it reads columns by fixed names
        ("hf-trainer", {"chosen": "So.", "rejected": "No.", "score": 1}, {}, ""),
        ("hf-trainer", {"dialog": SPEAKERS[:1]}, {}, ""),  # nobody answers
    ],
)
def test_what_makes_a_refused_set_be_read(
    tmp_path: Path, trainer: str, row: Mapping[str, Any], settings: Mapping[str, Any], way: str
) -> None:
    path, recipe = tmp_path / "rows.jsonl", preset(trainer)
    path.write_text(f"{json.dumps(row)}\n" * 3)
    for knob, value in settings.items():
        recipe = changed(recipe, knob, value)
    opened = open_data(OpenOptions((str(path),), recipe=recipe))
    assert opened.refused is not None
    found = way_in(opened)
    assert way in found and bool(way) is bool(found), found
    assert not found.startswith("set remove "), found


SIDES = {
    "prompt": [TURNS[0]],
    "chosen": [TURNS[1]],
    "rejected": [{"role": "assistant", "content": "No."}],
}


@pytest.mark.parametrize(
    ("trainer", "does"),
    [
        ("trl", "set loss.objective to dpo"),
        ("unsloth", "set loss.objective to dpo"),
        ("axolotl", "set loss.objective to dpo"),
        ("verl", "use --trainer trl --set loss.objective=dpo"),
        ("mlx-lm", "use --trainer trl --set loss.objective=dpo"),
        ("hf-trainer", "use --trainer trl --set loss.objective=dpo; to train on the chosen ones alone"),
    ],
)
def test_a_set_of_pairs_is_for_an_objective_not_for_one_of_its_sides(tmp_path: Path, trainer: str, does: str) -> None:
    path, ways = tmp_path / "pairs.jsonl", {"trl": does, "unsloth": "set objective: dpo"}
    ways["axolotl"] = "set rl: dpo, field_messages: prompt"
    path.write_text(f"{json.dumps(SIDES)}\n" * 3)
    opened = open_data(OpenOptions((str(path),), recipe=preset(trainer)))
    assert opened.refused is not None and opened.refused.what == "this is a preference set, not an SFT set"
    assert does in opened.refused.fix
    assert way_in(opened) == ways.get(trainer, "")
    assert (trainer in opened.refused.why) is (trainer in ("verl", "mlx-lm"))


def test_answers_with_a_label_are_for_kto(tmp_path: Path) -> None:
    path = tmp_path / "kto.jsonl"
    path.write_text(json.dumps({"prompt": "So?", "completion": "So.", "label": True}) + "\n")
    opened = open_data(OpenOptions((str(path),), recipe=preset("axolotl")))
    assert opened.refused is not None and opened.refused.fix.startswith("set loss.objective to kto")
