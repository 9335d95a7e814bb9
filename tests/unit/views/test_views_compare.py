"""The comparison on screen: the five masks of one ChatML row, and what holds for any rows.

`SFTUI_GOLDEN=write pytest tests/unit/views/test_views_compare.py` writes the goldens anew; read the diff.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from role_letters import role_map

from sftui.comparison import ComparisonCount, RowComparison, compare_row
from sftui.model import Inspection, Problem, Row, Stage
from sftui.recipe import Recipe, changed
from sftui.session.comparing import open_sides
from sftui.session.options import OpenOptions
from sftui.text import cell_width
from sftui.trainers import preset
from sftui.views.cells import plain
from sftui.views.compare import compare_lines, count_lines, difference_words

FOLDER = Path(__file__).parents[2] / "golden" / "compare"
CHAT = [
    {"role": "system", "content": "Hi"},
    {"role": "user", "content": "What is 2+2?"},
    {"role": "assistant", "content": "The answer is 4."},
]
MESSAGES: dict[str, Any] = {"messages": CHAT}
PAIR: dict[str, Any] = {"prompt": CHAT[:2], "completion": CHAT[2:]}
SIDES: tuple[tuple[str, str, dict[str, Any], dict[str, Any]], ...] = (
    ("axolotl@0.19", "axolotl@0.19", {}, MESSAGES),
    ("llamafactory@0.9.5", "llamafactory@0.9.5", {}, MESSAGES),
    ("trl@1.16 assistant_only_loss", "trl@1.16", {"mask.rule": "generation_tag"}, MESSAGES),
    ("torchtune@0.7", "torchtune@0.7", {}, MESSAGES),
    ("trl@1.16", "trl@1.16", {}, MESSAGES),
    ("trl@1.16 prompt/completion", "trl@1.16", {}, PAIR),
    ("unsloth@2026.10", "unsloth@2026.10", {"mask.rule": "markers"}, MESSAGES),
)
NAMES = [name for name, *_ in SIDES]


@pytest.fixture(scope="module")
def five_masks(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> RowComparison:
    """The row of trainers.md's first fact under seven settings, which give five masks."""
    folder = tmp_path_factory.mktemp("masks")
    inspections = []
    for number, (_, name, knobs, row) in enumerate(SIDES):
        path = folder / f"{number}.jsonl"
        path.write_text(json.dumps(row) + "\n")
        recipe: Recipe = changed(preset(name), "tokenizer.name", str(shared / "testdata" / "tokenizers" / "qwen2.5"))
        for knob, value in knobs.items():
            recipe = changed(recipe, knob, value)
        comparing = open_sides(OpenOptions((str(path),)), [recipe])
        inspections.append(comparing.sessions[0].inspect(0))
        comparing.close()
    return compare_row(inspections)


@pytest.mark.shared
@pytest.mark.parametrize(("width", "height"), [(80, 24), (200, 50)])
def test_five_masks_fit_on_one_screen(five_masks: RowComparison, width: int, height: int) -> None:
    lines = compare_lines(five_masks, NAMES, width)
    assert len(lines) <= height - 1, "one line is the status bar's"
    assert max(cell_width("".join(s.text for s in cells)) for cells in lines) <= width
    text = f"{plain(lines)}{'=' * width}\n{role_map(lines)}"
    file = FOLDER / f"five_masks.{width}x{height}.txt"
    if os.environ.get("SFTUI_GOLDEN") == "write":
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8"), f"{file.name} differs"


@pytest.mark.shared
def test_the_five_masks_are_those_of_the_reference(five_masks: RowComparison) -> None:
    """trainers.md, first fact: what each trainer trains of the assistant turn."""
    trained = {}
    for name, side in zip(NAMES, five_masks.sides):
        assert side.tokens is not None
        trained[name] = "".join(
            side.text.surfaces[i].decode() for i, label in enumerate(side.labels) if label not in (None, -100)
        )
    answer = "The answer is 4.<|im_end|>"
    assert trained["axolotl@0.19"] == trained["unsloth@2026.10"] == answer
    assert trained["llamafactory@0.9.5"] == trained["trl@1.16 prompt/completion"] == f"{answer}\n"
    assert trained["trl@1.16 assistant_only_loss"] == f"\n{answer}\n"
    assert trained["torchtune@0.7"] == f"<|im_start|>assistant\n{answer}"
    assert trained["trl@1.16"].startswith("<|im_start|>system") and trained["trl@1.16"].endswith(f"{answer}\n")


@pytest.mark.shared
@pytest.mark.parametrize("width", [20, 41, 79, 133])
def test_no_line_is_wider_than_the_screen(five_masks: RowComparison, width: int) -> None:
    count = ComparisonCount().plus(five_masks)
    for cells in (*compare_lines(five_masks, NAMES, width), *count_lines(count, NAMES, width)):
        assert cell_width("".join(s.text for s in cells)) <= width


@pytest.mark.shared
def test_bands_where_nothing_differs_can_be_left_out(five_masks: RowComparison) -> None:
    two = RowComparison(
        0,
        (five_masks.sides[0], five_masks.sides[1]),
        tuple(
            type(c)((c.cells[0], c.cells[1]), False, number == len(five_masks.columns) - 1)
            for number, c in enumerate(five_masks.columns)
        ),
    )
    assert len(compare_lines(two, NAMES[:2], 80, differing=True)) < len(compare_lines(two, NAMES[:2], 80))


def test_no_golden_of_a_comparison_is_left_over() -> None:
    assert {file.name for file in FOLDER.glob("*")} == {"five_masks.80x24.txt", "five_masks.200x50.txt"}


def test_a_row_that_no_side_gets_is_not_called_equal() -> None:
    failed = Inspection(Row(4, {}, "", ""), stopped_at=Stage.RENDERED, problem=Problem("the template fails"))
    made = compare_row([failed, failed])
    assert difference_words(made) == "nothing to compare: this row fails on every side"
    assert "nothing differs" not in plain(compare_lines(made, ("trl", "axolotl"), 80))
    count = ComparisonCount().plus(made)
    assert plain(count_lines(count, ("trl", "axolotl"), 80)).splitlines() == [
        "nothing could be compared: 1 row fails on every side",
        "A trl      0 of 0 tokens trained, 1 row failed",
        "B axolotl  0 of 0 tokens trained, 1 row failed",
        "row 4 cannot be compared: the template fails",
    ]
    other = compare_row([failed, replace(failed, problem=Problem("it is too long"))])
    last = plain(count_lines(ComparisonCount().plus(other), ("trl", "axolotl"), 80)).splitlines()[-1]
    assert last == "row 4 cannot be compared: A the template fails · B it is too long"
