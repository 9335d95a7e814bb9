"""Whose loss it is, by the trainers' own collators and losses: what each token weighs in the gradient of random logits
is its part as sftui tells it (marker parity)."""

from __future__ import annotations

import json
import random
import subprocess
from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from case import python_of

import sftui
from sftui import pipeline
from sftui.audit.loss import token_weights
from sftui.model import Pack, Row
from sftui.recipe import Recipe, changed
from sftui.tokens import load_tokenizer
from sftui.trainers import preset

pytestmark = pytest.mark.parity
SCRIPT = Path(__file__).with_name("loss_weights.py")
TRL, MLX = ("trl", "1.16.0"), ("mlx-lm", "0.32.2")
Steps = Sequence[Sequence[Sequence[int]]]


def weights_of(
    trainer: tuple[str, str], rows: Sequence[Any], steps: Steps, **asked: Any
) -> list[list[list[list[float]]]]:
    python = python_of(*trainer)
    if not python.exists():
        pytest.skip(f"{trainer[0]}@{trainer[1]} has no environment: run tests/parity/environments.py")
    request = {"trainer": trainer[0], "rows": rows, "steps": steps, "free": False, "counted": True, **asked}
    ended = subprocess.run([python, SCRIPT], input=json.dumps(request), capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    found: list[list[list[list[float]]]] = json.loads(ended.stdout)
    return found


def talks(count: int, rule: str, seed: int = 3) -> list[dict[str, Any]]:
    """Pairs of prompt and completion for a rule that masks prompts, else chats."""
    dice, made = random.Random(seed), []
    for number in range(count):
        asked, said = "Why? " * dice.randint(1, 9), " Well." * dice.choice((1, 2, 9, 40))
        chat = [{"role": "user", "content": asked}, {"role": "assistant", "content": said}]
        pair = {"prompt": asked, "completion": said} if rule == "completion" else {"messages": chat}
        made.append({**pair, "source": "ab"[number % 2]})
    return made


def examples(rows: Sequence[dict[str, Any]], **changes: Any) -> tuple[list[list[list[int]]], sftui.Report]:
    """Ids, below 64, and labels of rows as sftui prepares them, and its report."""
    with sftui.open(rows, tokenizer="builtin:chatml", trainer="trl", set=changes) as data:
        pairs = [([i % 64 for i in row.input_ids], [i if i < 0 else i % 64 for i in row.labels]) for row in data]
        return [list(map(list, pair)) for pair in pairs], data.check()


def summed(rows: Sequence[Any], steps: Steps, weights: Any) -> list[float]:
    """The part of the loss that each row has over all steps."""
    found = [0.0] * len(rows)
    for step, made in zip(steps, weights):
        for batch, lines in zip(step, made):
            for row, line in zip(batch, lines):
                found[row] += sum(line)
    total = sum(found)
    return [one / total for one in found]


@pytest.mark.parametrize("rule", ["all", "completion"])
@pytest.mark.parametrize(("among", "counted", "way"), [(4, True, 0), (2, False, 1), (1, False, 2)])
def test_the_shares_of_all_batches_are_those_of_trl(rule: str, among: int, counted: bool, way: int) -> None:
    """Steps of two batches of two rows by num_items_in_batch, batches of two and of one row by their own mean."""
    rows, report = examples(talks(7, rule), **{"mask.rule": rule, "batch.size": 2})
    size = min(among, 2)
    steps = [[one[at : at + size] for at in range(0, among, size)] for one in combinations(range(len(rows)), among)]
    found = summed(rows, steps, weights_of(TRL, rows, steps, counted=counted))
    loss = report.figures.loss
    assert loss is not None and loss.rows == len(rows) and loss.over == "step"
    trained = [sum(label >= 0 for label in labels[1:]) for _, labels in rows]
    if way:
        assert [loss.of_row[count][way] for count in trained] == pytest.approx(found, abs=1e-6)
        parts = {one.name: (one.step, one.batch, one.sample)[way] for one in loss.shares if one.kind == "source"}
        assert parts == {name: pytest.approx(sum(found[i::2]), abs=1e-6) for i, name in enumerate("ab")}
    else:  # in memory there is no config that says how many batches make a step
        weighed = token_weights(Counter(trained), among)
        total = sum(count * weighed[count] for count in trained)
        assert [count * weighed[count] / total for count in trained] == pytest.approx(found, abs=1e-6)


def test_the_shares_of_one_large_step_are_those_of_trl() -> None:
    rows, report = examples(talks(7, "completion"), **{"mask.rule": "completion"})
    steps = [[[0, 1], [2, 3], [4, 5, 6]]]
    found, loss = summed(rows, steps, weights_of(TRL, rows, steps)), report.figures.loss
    trained = [sum(label >= 0 for label in labels[1:]) for _, labels in rows]
    assert loss is not None and [loss.of_row[count][0] for count in trained] == pytest.approx(found, abs=1e-6)


def packed(told: Sequence[dict[str, Any]], recipe: Recipe) -> list[Pack]:
    rows = [Row(i, row, "{}", f"line {i + 1}", 10) for i, row in enumerate(told)]
    tools = pipeline.make_toolbox(recipe, load_tokenizer("builtin:chatml"))
    detected = pipeline.detect(rows, recipe)
    return list(pipeline.pack_rows([pipeline.inspect(row, detected, recipe, tools) for row in rows], recipe, tools))


def test_packs_weigh_as_in_trl() -> None:
    """Packs as sftui makes them: of these the parts are exact (an audit takes rows to meet in a pack by chance)."""
    told = talks(40, "completion")
    changes = {"mask.rule": "completion", "pack.strategy": "bfd", "pack.isolate": True, "batch.flatten": True}
    changes |= {"length.max": 256, "batch.size": 2}
    recipe = changed(preset("trl"), "tokenizer.name", "builtin:chatml")
    for knob, value in changes.items():
        recipe = changed(recipe, knob, value)
    packs = packed(told, recipe)
    rows = [
        (
            [i % 64 for i in pack.input_ids],
            [i if i < 0 else i % 64 for i in pack.labels],
            {"seq_lengths": [end - start for _, start, end in pack.documents]},
        )
        for pack in packs
    ]
    steps = [[pair] for pair in combinations(range(len(rows)), 2)]
    made = weights_of(TRL, rows, steps, free=True, counted=False)
    found = summed(rows, steps, made)
    trained = [sum(label >= 0 for label in labels[1:]) for _, labels, _ in rows]
    assert len(packs) > 5 and all(trained) and max(len(pack.documents) for pack in packs) > 3
    weighed = token_weights(Counter(trained), 2)
    total = sum(count * weighed[count] for count in trained)
    assert [count * weighed[count] / total for count in trained] == pytest.approx(found, abs=1e-6)


def test_batches_weigh_as_in_mlx_lm() -> None:
    """Its loss asks each row for one token of padding as well, which is of no row."""
    rows = [[[7] * size, [-100] * asked + [7] * (size - asked)] for size, asked in ((9, 5), (40, 3), (12, 2), (30, 29))]
    steps = [[pair] for pair in combinations(range(len(rows)), 2)]
    found = summed(rows, steps, weights_of(MLX, rows, steps))
    trained = [sum(label >= 0 for label in labels) for _, labels in rows]
    weighed = token_weights(Counter(count + 1 for count in trained), 2)
    total = sum(count * weighed[count + 1] for count in trained)
    assert [count * weighed[count + 1] / total for count in trained] == pytest.approx(found, abs=1e-6)
