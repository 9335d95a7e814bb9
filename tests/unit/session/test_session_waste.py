"""The waste table is what comes of counting in the batches and packs that the trainer makes of the rows themselves."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from sftui.audit.waste import GROUPED, RowSizes, WasteLine
from sftui.errors import RecipeError
from sftui.model import Inspection
from sftui.pipeline import collate_packs, feed_packs
from sftui.recipe import changed
from sftui.runs import Ranges, overlap
from sftui.session.options import OpenOptions
from sftui.session.ready import Ready, open_data, ready_under, stood_in, tokenized
from sftui.session.waste import packing_changes, sizes_of, waste_lines, waste_table
from sftui.trainers import preset, trainer_named

WORDS = "the a river stone runs under old quiet light because nobody asked whether it would stop".split()  # noqa: SIM905


def rows(count: int, seed: int = 7) -> list[dict[str, Any]]:
    """Chats of one to five turns, some answers empty, some very long."""
    draw = random.Random(seed)

    def text(most: int) -> str:
        return " ".join(draw.choices(WORDS, k=draw.randint(1, most)))

    made = []
    for _ in range(count):
        turns = [{"role": "system", "content": text(12)}] if draw.random() < 0.3 else []
        for _ in range(draw.choice((1, 1, 1, 2, 3, 5))):
            turns.append({"role": "user", "content": text(draw.choice((10, 40, 120)))})
            turns.append({"role": "assistant", "content": text(draw.choice((5, 30, 200)))})
        made.append({"messages": turns})
    return made


def opened(folder: Path, name: str, records: list[dict[str, Any]], **knobs: Any) -> Ready:
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    recipe = changed(preset(name), "tokenizer.name", "builtin:chatml")
    for knob, value in knobs.items():
        recipe = changed(recipe, knob.replace("__", "."), value)
    return tokenized(open_data(OpenOptions((str(path),), recipe=recipe)), "provisional").ready()


def sizes(ready: Ready) -> RowSizes:
    *_, last = sizes_of(ready)
    return last


def counted(ready: Ready, whole: list[Inspection], line: WasteLine) -> WasteLine:
    """The same line, counted in the trainer's own examples, packs and batches, made of ids."""
    recipe = ready.recipe
    for path, value in (*packing_changes(recipe, line.strategy), ("length.max", line.limit)):
        recipe = changed(recipe, path, value)
    other = ready_under(ready, recipe)
    found = list(stood_in(other.rows_that(evaluate=False), recipe))
    trainer, size = trainer_named(recipe.preset), recipe.batch.size
    reached: dict[tuple[int, int], set[tuple[int, int]]] = {}
    if recipe.pack.strategy == "none":
        batches = list(other.batches(size))
        for one in found:
            for part, example in enumerate(one.examples):
                reached[one.row.index, part] = {(0, example.size)}
    else:
        packs = list(feed_packs(found, recipe, other.tools))
        size = trainer.packs_in_a_batch(recipe) if recipe.pack.strategy == "multipack" else size
        batches = [collate_packs(packs[at : at + size], recipe, other.tools) for at in range(0, len(packs), size)]
        for pack in packs:
            for (row, start, end), part in zip(pack.documents, pack.parts):
                if end > start:
                    reached.setdefault((row, part), set()).add((start, end))
    positions = sum(len(ids) for batch in batches for ids in batch.input_ids)
    tokens = sum(sum(batch.lengths) for batch in batches)
    cut = lost = split = gone = 0
    known = {one.row.index: one for one in whole}
    for before, after in ((known[one.row.index], one) for one in found):
        there = _tokens_of(after, reached)
        gone += not any(there)
        assert before.labels is not None or before.problem is not None
        kept = before.labels.kept if before.labels is not None and before.example is not None else ()
        carrying = before.labels.carrying if before.labels is not None else ()
        parts: list[Ranges] = [(one,) for one in kept] if before.more else [kept]
        for ranges in parts:
            for start, end in overlap(carrying, ranges):
                shares = [len([at for at in piece if start <= at < end]) for piece in there]
                lost += not sum(shares)
                cut += 0 < sum(shares) < end - start
                split += sum(map(bool, shares)) > 1
    return WasteLine(
        line.strategy, line.limit, line.changes, tokens, positions - tokens, len(batches), cut, lost, split, gone
    )


def _tokens_of(found: Inspection, reached: dict[tuple[int, int], set[tuple[int, int]]]) -> list[list[int]]:
    """The tokens of a row that reach the model, a list for each example or document of it."""
    if found.labels is None or found.example is None:
        return []
    kept = [(one,) for one in found.labels.kept] if found.more else [found.labels.kept]
    made = []
    for part, (ranges, example) in enumerate(zip(kept, found.examples)):
        places = [at for start, end in ranges for at in range(start, end)]
        for start, end in sorted(reached.get((found.row.index, part), ())):
            made.append(places[start : len(places) if end == example.size else end])
    return made


CASES: dict[str, dict[str, Any]] = {
    "trl": {"batch__size": 3},
    "trl left": {"length__over": "cut_left"},
    "unsloth": {"mask__rule": "auto"},
    "axolotl": {"batch__size": 2},
    "axolotl cut": {"length__over": "cut_right", "batch__size": 2, "pack__group": 20},
    "llamafactory": {"render__template": "llamafactory/qwen", "batch__size": 3, "pack__group": 16},
    "llamafactory-v1": {},
    "torchtune": {"render__template": "torchtune/qwen2_5"},
    "mlx-lm": {},
    "verl cut": {"length__over": "cut_right", "batch__size": 4},
    "ms-swift": {"render__template": "ms-swift/qwen", "batch__size": 2},
    "ms-swift split": {
        "render__template": "ms-swift/qwen",
        "length__over": "split",
        "own__use_chat_template": False,
        "batch__size": 2,
    },
    "nemo-automodel": {},
    "hf-trainer": {},
    "manual-shift": {},
}


def _weighted(row: dict[str, Any]) -> dict[str, Any]:
    """A row as LLaMA-Factory v1 stores it."""
    return {
        "messages": [
            {
                "role": turn["role"],
                "content": [{"type": "text", "value": turn["content"]}],
                "loss_weight": float(turn["role"] == "assistant"),
            }
            for turn in row["messages"]
        ]
    }


@pytest.mark.parametrize("case", CASES)
def test_every_line_is_what_the_packs_and_batches_come_to(case: str, tmp_path: Path) -> None:
    made = [_weighted(row) for row in rows(60)] if case == "llamafactory-v1" else rows(60)
    ready = opened(tmp_path, case.split()[0], made, **CASES[case])
    known = sizes(ready)
    plain = changed(ready.recipe, "length.max", 1 << 20) if ready.recipe.length.max is not None else ready.recipe
    whole = list(ready_under(ready, plain).all_rows())
    lines = [line() for line in waste_lines(ready, known, waste_table(ready, known))]
    assert not [line for line in lines if line.unknown]
    assert any(line.cut + line.lost + line.split for line in lines)
    for line in lines:
        if line.strategy != GROUPED:
            assert line == counted(ready, whole, line), (line.strategy, line.limit)


def test_rows_of_about_one_length_pad_less_and_are_the_same_rows(tmp_path: Path) -> None:
    ready = opened(tmp_path, "trl", rows(80))
    known = sizes(ready)
    table = waste_table(ready, known, (256,), ("none", GROUPED))
    plain, grouped = (line() for line in waste_lines(ready, known, table))
    assert grouped.padding < plain.padding
    same = ("tokens", "steps", "cut", "lost", "split", "rows_lost", "changes")
    assert [getattr(grouped, name) for name in same] == [getattr(plain, name) for name in same]


def test_what_lengths_do_not_tell_is_said(tmp_path: Path) -> None:
    stops = opened(tmp_path, "verl", rows(20))
    known = sizes(stops)
    low, high = (line() for line in waste_lines(stops, known, waste_table(stops, known, (100, 4000))))
    assert "verl stops at the first of" in low.unknown and not low.tokens
    assert not high.unknown and high.tokens == sum(known.tokens)
    texts = opened(tmp_path, "axolotl", [{"text": "word " * 300}], data__format="text", own__type="completion")
    known = sizes(texts)
    (line,) = (line() for line in waste_lines(texts, known, waste_table(texts, known, (64,), ("none",))))
    assert line.unknown.startswith("Axolotl cuts these rows by more than their lengths")
    markers = opened(tmp_path, "unsloth", rows(10), mask__rule="markers", pack__strategy="none")
    known = sizes(markers)
    (line,) = (line() for line in waste_lines(markers, known, waste_table(markers, known, (512,), ("bfd",))))
    assert line.unknown.startswith("lengths do not tell which packs Unsloth keeps")


def test_a_strategy_or_limit_that_is_none_is_refused(tmp_path: Path) -> None:
    ready = opened(tmp_path, "torchtune", rows(3), render__template="torchtune/qwen2_5")
    known = sizes(ready)
    with pytest.raises(RecipeError, match="torchtune has no strategy `bfd`"):
        waste_table(ready, known, (), ("bfd",))
    for limit in (0, 1 << 40):
        with pytest.raises(RecipeError, match="from 1 to 4,194,304 tokens"):
            waste_table(ready, known, (limit,))


def test_rows_that_evaluate_are_in_no_line(tmp_path: Path) -> None:
    made = rows(60)
    for name, knobs in (
        ("llamafactory", {"render__template": "llamafactory/qwen", "own__val_size": 0.2}),
        ("axolotl", {"own__val_set_size": 0.2, "own__seed": 7, "length__max": 4000}),
    ):
        ready = opened(tmp_path, name, made, **knobs)
        known = sizes(ready)
        lines = [line() for line in waste_lines(ready, known, waste_table(ready, known, (4000,)))]
        trained = sum(found.received or 0 for found in ready.rows_that(evaluate=False))
        assert 0 < trained < sum(known.tokens)
        assert not [line for line in lines if line.unknown] and {line.tokens for line in lines} == {trained}


def test_a_row_that_stands_in_for_others_is_counted_as_often_as_it_is_trained(tmp_path: Path) -> None:
    made = rows(12)
    made[3:6] = [{"question": "why?", "answer": ""}] * 3
    pairs = [
        row
        if "question" in row
        else {"question": row["messages"][-2]["content"], "answer": row["messages"][-1]["content"]}
        for row in made
    ]
    knobs = {"own__dataset": "columns", "data__fields": {"question": "question", "answer": "answer"}}
    ready = opened(tmp_path, "nemo-automodel", pairs, **knobs)
    known = sizes(ready)
    for line in (line() for line in waste_lines(ready, known, waste_table(ready, known, (64, 4096)))):
        assert not line.unknown and line == counted(ready, list(ready.all_rows()), line)
