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
