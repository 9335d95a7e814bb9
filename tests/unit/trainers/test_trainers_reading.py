"""What a trainer's own datasets does with a JSON file: refused where Arrow would, silent elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sftui import pipeline
from sftui.model import Row
from sftui.sources import SourceSpec, open_source
from sftui.trainers import preset
from sftui.trainers.reading import mixed

SAMPLES = Path(__file__).resolve().parents[3] / "sample_data"
OLD, NEW = "llamafactory@0.9", ("trl@1.16", "axolotl@0.19", "unsloth@2026.10", "hf-trainer")


def rows_of(*values: Any) -> list[Row]:
    return [Row(i, value, "", f"data.jsonl line {i + 1}") for i, value in enumerate(values)]


def chat(content: Any, **more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": content}], **more}


MIXED: dict[str, tuple[list[Any], str, str, str]] = {
    "text and number": ([chat("a", x="1"), chat("b", x=1)], "/x", "string", "number"),
    "truth and number": ([chat("a", x=1), chat("b", x=True)], "/x", "number", "boolean"),
    "text and parts": ([chat("a"), chat([{"type": "text"}])], "/messages/[]/content", "string", "array"),
    "object and text": ([chat("a", tools={}), chat("b", tools="[]")], "/tools", "object", "string"),
    "inside one list": ([chat("a", x=[1, "b"])], "/x/[]", "number", "string"),
}
ALIKE: list[list[Any]] = [
    [chat("a", x=1), chat("b", x=2.5), chat("c", x=2**63)],
    [chat("a", x=None), chat(None, x="1")],
    [chat("a", x=[]), chat("b", x=[1]), chat("c")],
    [chat("a", x={}), chat("b", x={"y": 1}), chat("c", x={"z": "1"})],
    [chat("a", x="2024-01-01"), chat("b", x="soon")],
]


@pytest.mark.parametrize("name", MIXED)
def test_a_column_of_two_kinds_ends_the_run_where_datasets_is_older_than_4_7(name: str) -> None:
    values, path, before, kind = MIXED[name]
    found = mixed(rows_of(*values))
    assert found is not None and found[:3] == (path, before, kind)
    refused = pipeline.detect(rows_of(*values), preset(OLD)).refused
    assert refused is not None and path in refused.what and "datasets 4.0.0" in refused.why
    assert f"line {found[3].index + 1}" in refused.what
    for other in NEW:
        told = pipeline.detect(rows_of(*values), preset(other)).refused
        assert told is None or "datasets" not in told.why, other


@pytest.mark.parametrize("values", ALIKE)
def test_values_that_arrow_has_one_type_for_are_no_finding(values: list[Any]) -> None:
    assert mixed(rows_of(*values)) is None


def test_right_files_are_not_refused() -> None:
    """0 of the bundled ones but the one made of defects, at which LLaMA-Factory's datasets stops as well."""
    refused = []
    for path in sorted(SAMPLES.glob("*.json*")):
        source = open_source(SourceSpec((str(path),)))
        if mixed([row for row in source.rows() if row.data is not None]) is not None:
            refused.append(path.name)
        source.close()
    assert refused == ["defects.jsonl"]


@pytest.mark.parametrize(("where", "told"), [("data.jsonl line {}", True), ("data.json record {}", False)])
def test_dates_in_a_list_of_rows_stay_text(where: str, told: bool) -> None:
    rows = [
        Row(i, {"instruction": "When?", "input": "", "output": f"2024-01-0{i + 1}"}, "", where.format(i))
        for i in range(3)
    ]
    notes = pipeline.detect(rows, preset(OLD)).notes
    assert any("timestamps" in note for note in notes) == told


def test_an_unsloth_that_brings_trl_before_1_0_has_no_bfd_split() -> None:
    """TRL 0.24 knows bfd and wrapped."""
    from sftui.recipe import knobs
    from sftui.trainers import trainer_named

    (strategy,) = (one for one in knobs() if one.path == "pack.strategy")
    offered = {
        name: trainer_named(name).choices(preset(name), strategy) for name in ("unsloth@2026.10", "unsloth@2026.8")
    }
    assert set(offered["unsloth@2026.10"]) - set(offered["unsloth@2026.8"]) == {"bfd_split"}
    assert {"bfd", "wrapped"} <= set(offered["unsloth@2026.8"])


def test_the_older_wrapped_is_told_where_it_is_meant() -> None:
    from sftui.recipe import changed
    from sftui.trainers import trainer_named

    told = {
        (name, strategy): any(
            "from_list" in note for note in trainer_named("trl").notes(changed(preset(name), "pack.strategy", strategy))
        )
        for name in ("trl@1.8", "trl@1.14", "trl@1.16")
        for strategy in ("none", "bfd", "wrapped")
    }
    assert {key for key, value in told.items() if value} == {("trl@1.8", "wrapped")}
