"""The figures of a dataset as plots in the terminal, compared exactly, without colour.

`SFTUI_GOLDEN=write pytest tests/unit/views/test_views_figures.py` writes the goldens anew; read the diff.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from sftui.audit.figures import Figures, GroupFigure, LimitFigure, LossFigures, LossShare, SourceFigure
from sftui.text import cell_width
from sftui.views.cells import Line, plain
from sftui.views.figures import apart, figure_lines, group_names

FOLDER = Path(__file__).parents[2] / "golden" / "figures"


def figures() -> Figures:
    dice = random.Random(4)
    lengths = Counter(int(dice.lognormvariate(5.5, 1.1)) + 3 for _ in range(4000))
    shares = Counter(min(100, max(0, int(dice.gauss(31, 14)))) for _ in range(4000))
    none = GroupFigure("prompts from the evaluation set", 0, ())
    return Figures(
        4012,
        4000,
        1_612_044,
        493_120,
        3970,
        1_400_211,
        480_900,
        lengths,
        {0.0: 4, 0.5: 245, 0.95: 1490, 1.0: 11_733},
        shares,
        tuple(
            LimitFigure(
                limit, 4000 >> i, 300_000 >> i, 90_000 >> i, 60 >> i, 500_000 >> i, 120_000 >> i, 4000 >> i, 9_000
            )
            for i, limit in enumerate((512, 1024, 2048, 4096, 8192, 16384, 32768))
        ),
        {"assistant": 470_000, "": 8_000, "tool\x1b[31m": 2_900},
        {1: 400_000, 3: 80_900},
        {"<|im_end|>": 7_970},
        {"content": 465_000, "terminator": 7_970, "separator": 7_930},
        (GroupFigure("no assistant message to train on", 30, (4, 17, 1022, 3000)),),
        (GroupFigure("row", 12, (9,)),),
        GroupFigure("duplicates of an earlier row", 17, (88, 90, 91, 400, 401)),
        GroupFigure("an earlier prompt, answered differently", 3, (5, 6, 7)),
        none,
        (
            SourceFigure("part-0.jsonl", 2000, 800_000, 240_000, 10),
            SourceFigure("part-1.jsonl", 2012, 812_044, 253_120, 20),
        ),
        (GroupFigure("user assistant", 3900, (0, 1, 2, 3, 4)), GroupFigure("system user assistant", 112, (40,))),
        tuple(GroupFigure(f"branch {i}", 400 - i, (i,)) for i in range(11)),
        (GroupFigure("no findings", 3990, (0, 1)), GroupFigure("CON004", 22, (3,))),
        loss=LossFigures(
            *("batch", 4, 32, 3.25, 3970, 30, 1.25e-9, {}, (0.21, 0.11, 0.01)),
            (
                LossShare("role", "assistant", 470_000, 0.98, 0.97, 0.999_999),
                LossShare("role", "", 8_000, 0.019, 0.03, 0.000_001),
                LossShare("file", "part-0.jsonl", 480_900, 1, 1, 1),
                *(LossShare("source", f"set\x1b {i}", 40_000, 1 / 12, 1 / 12, 1 / 12) for i in range(12)),
            ),
        ),
    )


def drawn(figures: Figures, width: int) -> tuple[Line, ...]:
    return tuple(cells for cells, _ in figure_lines(figures, width))


@pytest.mark.parametrize("width", [40, 80, 200])
def test_figures_look_as_before(width: int) -> None:
    lines = drawn(figures(), width)
    assert max(cell_width("".join(s.text for s in cells)) for cells in lines) <= width
    text = plain(lines)
    assert "\x1b" not in text
    file = FOLDER / f"figures.{width}.txt"
    if os.environ.get("SFTUI_GOLDEN") == "write":
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8"), f"{file.name} differs"


def test_no_figures_and_small_counts_are_drawn() -> None:
    empty = Figures(
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        {},
        {},
        {},
        (),
        {},
        {},
        {},
        {},
        (),
        (),
        GroupFigure("a", 0, ()),
        GroupFigure("b", 0, ()),
        GroupFigure("c", 0, ()),
        (),
        (),
        (),
        (),
    )
    assert plain(drawn(empty, 80)).startswith("0 rows")
    assert "▌" in plain(drawn(replace(empty, by_role={"much": 10_000, "little": 1}), 80))


def test_figures_of_pairs_say_that_sides_are_counted() -> None:
    text = plain(drawn(replace(figures(), rows=30, paired=30), 120))
    assert "Sides by length in tokens" in text and "Sides by percentage of trained tokens" in text
    assert "  limit sides over   cut: trained lost" in text and "Rows by" not in text
    (bar,) = (line for line in text.splitlines() if line.split()[:2] == ["512", "60"])
    assert "100.0 %" in bar, "of 60 sides, not of 30 rows"


def test_what_tells_long_names_apart_is_seen() -> None:
    names = [
        "<|im_start|>system<|im_end|><|im_start|>user",
        "<|im_start|>system<|im_end|><|im_start|>user<|im_start|>tool",
    ]
    assert apart(names, 30) == ["…<|im_start|>user", "…<|im_start|>user<|im_start|>tool"]
    third = "<|im_start|>user<|im_end|>"
    assert apart([*names, third], 30) == ["…<|im_start|>user", "…<|im_start|>user<|im_start|>tool", third], (
        "two of three look the same"
    )
    assert (
        apart(names, 80) == names and apart(names[:1], 10) == names[:1] and apart(["a b", "c d"], 1) == ["a b", "c d"]
    )


def test_beside_the_row_list_nothing_that_counts_is_cut() -> None:
    made = plain(drawn(figures(), 53)).splitlines()
    assert "  limit     over     cut  dropped   packs" in made and all(
        name in made for name in ("part-0.jsonl", "part-1.jsonl")
    )
    table = made[made.index("Effect of a length limit") : made.index("Trained tokens by role")]
    assert not any(text.endswith("…") for text in (*table, *made[made.index("Sources") :]))


def test_turns_that_repeat_are_counted_in_the_names_of_groups() -> None:
    groups = [GroupFigure("system" + " user assistant" * turns, 1, ()) for turns in (1, 2, 6)]
    assert group_names("roles", groups, 40) == [
        "system user assistant",
        "system (user assistant) ×2",
        "system (user assistant) ×6",
    ]
