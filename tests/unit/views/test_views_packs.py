"""The drawing of a pack: each document at its positions, padding where padding is and nowhere else."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest

from sftui.model import IGNORE_INDEX, Pack, RowSummary
from sftui.recipe import changed, knobs_of
from sftui.session.options import OpenOptions
from sftui.session.ready import open_data, tokenized
from sftui.trainers import preset
from sftui.trainers.own_config import choices_of
from sftui.views.batch import batch_lines, pack_lines, scaled
from sftui.views.cells import plain
from sftui.views.status import row_line
from sftui.views.table import BORDER, PAD

ROWS = [
    {"messages": [{"role": "user", "content": f"{'Why? ' * n}"}, {"role": "assistant", "content": "So. " * (3 * n)}]}
    for n in (2, 9, 4, 30, 1, 7, 3, 12, 5, 60)
]
PACKING = [
    (name, strategy)
    for name in ("trl", "axolotl", "llamafactory", "torchtune", "ms-swift", "nemo-automodel", "unsloth")
    for recipe in [preset(name)]
    for info in knobs_of(recipe)
    if info.path == "pack.strategy"
    for strategy in choices_of(recipe, info)
    if strategy != "none"
]


def drawn(pack: Pack, width: int) -> tuple[str, list[str]]:
    """The first line, and the glyphs of the strip without borders."""
    lines = plain(pack_lines(pack, width)).splitlines()
    at = next(k for k, text in enumerate(lines) if "padding ·" in text or text.startswith("█ trained"))
    strip = "".join(lines[at + 1 :])
    strip = strip[strip.index(next(c for c in strip if c in f"█▓░▒{PAD}{BORDER}")) :]
    return " ".join(lines[:3]), strip.split(BORDER)


def checked(pack: Pack, width: int) -> None:
    head, parts = drawn(pack, width)
    used = sum(end - start for _, start, end in pack.documents)
    padding = len(pack.input_ids) - used
    assert f"{padding:,} padding" in head
    assert len("".join(parts)) >= len(pack.documents)
    assert (PAD in "".join(parts)) == (padding > 0), head
    shown = [part.strip(PAD) for part in parts[: len(pack.documents)]]
    glyphs = ["".join("░" if one == IGNORE_INDEX else "█" for one in pack.labels[a:b]) for a, b in pack.places]
    step = max(-(-len(pack.labels) // max(width * 8 - len(pack.documents), 1)), 1)
    assert shown == [scaled(one, step) for one in glyphs]
    assert f"document {pack.documents[0][0]}" in plain(pack_lines(pack, width))


@pytest.mark.parametrize(("trainer", "strategy"), PACKING, ids=str)
@pytest.mark.parametrize("length", [64, 200, 512])
def test_padding_is_drawn_where_it_is(tmp_path: Path, trainer: str, strategy: str, length: int) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    recipe = changed(changed(preset(trainer), "tokenizer.name", "builtin:chatml"), "pack.strategy", strategy)
    recipe = changed(recipe, "length.max", length)
    if trainer == "ms-swift":
        recipe = changed(recipe, "render.template", "ms-swift/chatml")
    with contextlib.closing(open_data(OpenOptions((str(path),), recipe=recipe))) as data:
        packs, _ = tokenized(data, "provisional").ready().packs(list(tokenized(data, "provisional").ready().all_rows()))
    for pack in packs:
        for width in (60, 80, 200):
            checked(pack, width)


@pytest.mark.parametrize(
    ("trainer", "strategy", "padding"),
    [("llamafactory", "neat", 0), ("nemo-automodel", "neat", 0), ("torchtune", "sequential", None)],
)
def test_what_a_position_of_a_pack_sees_is_said(
    tmp_path: Path, trainer: str, strategy: str, padding: int | None
) -> None:
    """The collators of the three make a mask of every position against each other: padding sees nothing, in torchtune
    itself alone."""
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    recipe = changed(changed(preset(trainer), "tokenizer.name", "builtin:chatml"), "pack.strategy", strategy)
    recipe = changed(recipe, "length.max", 512)
    with contextlib.closing(open_data(OpenOptions((str(path),), recipe=recipe))) as data:
        ready = tokenized(data, "provisional").ready()
        batch = next(iter(ready.batches(2)))
        packs = list(ready.feed_packs(ready.all_rows()))[:2]
    assert batch.attention_mask is None and batch.documents is not None
    text = " ".join(plain(batch_lines(batch, 80)).split())
    assert "attention mask, 512 × 512 per row: each token sees its own document up to itself" in text
    assert ("padding sees nothing" in text) is (padding == 0) and "nothing hides padding" not in text
    assert any(len(pack.documents) > 1 and pack.places[-1][1] < 512 for pack in packs)
    for pack, numbers in zip(packs, batch.documents):
        own = [number for number, (a, b) in enumerate(pack.places, 1) for _ in range(a, b)]
        gap = len(numbers) - len(own)
        assert list(numbers) == own + [len(pack.documents) + 1 if padding is None else 0] * gap


@pytest.mark.parametrize(("left", "gap", "right"), [(0, 0, 0), (3, 0, 0), (0, 2, 5), (4, 3, 2)])
def test_stored_packs_are_drawn_with_their_padding_in_its_place(left: int, gap: int, right: int) -> None:
    ids = (*[0] * left, *range(5, 15), *[0] * gap, *range(20, 26), *[0] * right)
    where = ((left, left + 10), (left + 10 + gap, left + 16 + gap))
    pack = Pack(tuple((7, a, b) for a, b in where), ids, ids, where=where)
    _, parts = drawn(pack, 80)
    assert [len(part) - len(part.lstrip(PAD)) for part in parts[:2]] == [left, gap]
    assert parts[2] == PAD * right and [len(part.strip(PAD)) for part in parts[:2]] == [10, 6]


def test_a_part_of_a_row_is_drawn_at_its_place_in_the_pack() -> None:
    labels = (*range(4), *[IGNORE_INDEX] * 3, 9)
    pack = Pack(((3, 512, 516), (1, 0, 4)), tuple(range(8)), labels, position_ids=(*range(4), *range(4)))
    text = plain(pack_lines(pack, 80))
    assert "0 padding (0 % waste)" in text and "████│░░░█│" in text
    assert "document 3    0…3 4 tokens 4 trained  first █  positions 0…3" in text
    assert "document 1    4…7 4 tokens 1 trained  first ░  positions 0…3" in text
    assert "position ids restart at every document" in text


@pytest.mark.parametrize(
    ("errors", "warnings", "cut", "flags"),
    [
        (0, 2, 292, "!2 ✂ "),
        (1, 0, 292, "✗1 ✂ "),
        (1, 2, 292, "✗1!2✂"),
        (0, 2, 3, "!2 ✂3"),
        (0, 0, 292, "✂292 "),
        (0, 0, 29_200, "✂29k "),
        (12, 34, 5, "✗12✂ "),
        (1, 2, 0, "✗1 !2"),
    ],
)
def test_a_cut_row_keeps_its_severity(errors: int, warnings: int, cut: int, flags: str) -> None:
    summary = RowSummary(1, "", 100, 20, cut, errors=errors, warnings=warnings)
    made = row_line(summary, 60, False, True, 3, "", "▸", False)
    assert plain([made])[:-1].rstrip() == f"   1    100  20 % {flags}".rstrip()
    roles = {run.role.value for run in made if "✂" in run.text or "✗" in run.text or "!" in run.text}
    assert roles == {"error" if errors else "warning" if warnings else "cut"}
