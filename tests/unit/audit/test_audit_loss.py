"""Share of the loss, against the mean over every batch that a few rows can make, and against a plain loop over rows."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest
from audit_rows import Opened, chat, talk

from sftui.audit.figures import LossFigures
from sftui.audit.loss import Averaging, LossTally, token_weights, unlabelled_batch
from sftui.audit.tallies import MOST_NAMES, OTHERS
from sftui.exports.formats_json import figures_record
from sftui.exports.report import figure_sections
from sftui.model import Row
from sftui.trainers import trainer_named
from sftui.trainers.training import rows_of_step
from sftui.views.cells import plain
from sftui.views.figures import figure_lines

CONFIG = "model_name_or_path: m\ndataset_name: d\nassistant_only_loss: true\nper_device_train_batch_size: 4\n"


def in_every_batch(trained: Sequence[int], among: int) -> dict[int, float]:
    """What a token of each row weighs in the mean over all batches of `among` rows, by the row's trained tokens."""
    weights, rows = Counter[int](), Counter(trained)
    for batch in combinations(range(len(trained)), among):
        tokens = sum(trained[row] for row in batch)
        for row in batch:
            weights[trained[row]] += 1 / tokens if trained[row] else 0  # type: ignore[assignment]
    return {count: weight / rows[count] for count, weight in weights.items() if count}


def parts(weights: dict[int, float], rows: Counter[int]) -> dict[int, float]:
    total = sum(count * weights[count] * times for count, times in rows.items() if count)
    return {count: count * weight / total for count, weight in weights.items()}


@pytest.mark.parametrize(("rows", "among"), [(6, 1), (6, 2), (6, 4), (6, 6), (9, 5), (12, 11), (14, 3)])
def test_shares_are_those_of_all_batches(rows: int, among: int) -> None:
    dice = random.Random(rows + among)
    trained = [dice.choice((0, 1, 3, 17, 250, 9000)) for _ in range(rows - 2)] + [5, 40]
    wanted = parts(in_every_batch(trained, among), Counter(trained))
    assert parts(token_weights(Counter(trained), among), Counter(trained)) == pytest.approx(wanted, abs=1e-8)


def test_shares_of_many_rows_are_those_of_shuffled_ones() -> None:
    dice = random.Random(5)
    trained = [int(dice.lognormvariate(4, 1.2)) for _ in range(3000)]
    weights, rows = Counter[int](), Counter(trained)
    for _ in range(40):
        dice.shuffle(trained)
        for at in range(0, 3000, 4):
            for count in trained[at : at + 4]:
                weights[count] += 1 / sum(trained[at : at + 4]) if count else 0  # type: ignore[assignment]
    seen = parts({count: weight / rows[count] for count, weight in weights.items() if count}, rows)
    found = parts(token_weights(rows, 4), rows)
    halves = [sum(one[count] * rows[count] for count in one if count > 55) for one in (seen, found)]
    assert halves[1] == pytest.approx(halves[0], abs=0.002) and 0.6 < halves[1] < 0.9
    assert parts(token_weights(rows, None), rows)[100] == pytest.approx(100 / sum(trained))


def test_how_likely_a_batch_has_nothing_to_learn() -> None:
    batches = list(combinations(range(10), 2))
    assert unlabelled_batch(10, 4, 2) == pytest.approx(sum(max(batch) < 4 for batch in batches) / len(batches))
    assert unlabelled_batch(300, 30, 3) == pytest.approx(30 * 29 * 28 / (300 * 299 * 298))
    assert unlabelled_batch(10, 3, 4) == unlabelled_batch(10, 0, 1) == 0


def loss_of(rows: list[Row], changes: dict[str, Any], preset: str = "hf-trainer") -> tuple[Opened, LossFigures]:
    opened = Opened(rows, preset, changes)
    loss = opened.audit().figures().loss
    assert loss is not None
    return opened, loss


@pytest.mark.parametrize(
    "changes", [{"mask.rule": "assistant"}, {"mask.rule": "all"}, {"mask.rule": "all", "length.max": 24}]
)
def test_the_audit_equals_a_plain_loop(changes: dict[str, Any]) -> None:
    rows = [talk(i, words) for i, words in enumerate((1, 5, 300, 40))] + [chat(4, ("user", "Hello?"))]
    rows = [
        Row(row.index, {**row.data, "source": "ab"[row.index % 2]}, "{}", row.where, 10) for row in rows if row.data
    ]
    opened, loss = loss_of(rows, {**changes, "batch.size": 2})
    by, trained = defaultdict[tuple[str, str], Counter[int]](Counter), list[int]()
    for row in rows:
        found = opened.inspect(row)
        if found.example is None or found.conversation is None or found.tokens is None or found.labels is None:
            continue
        learnt = [i for i in range(1, found.example.size) if found.example.labels[i] != -100]
        trained.append(len(learnt))
        for i in learnt:
            message = found.tokens.messages[i]
            by["role", found.conversation.messages[message].role if message >= 0 else ""][len(learnt)] += 1
            by["source", "ab"[row.index % 2]][len(learnt)] += 1
    assert (loss.rows, loss.unlabelled) == (len(trained), trained.count(0))
    shares = {(one.kind, one.name): one for one in loss.shares if one.kind in ("role", "source")}
    assert set(shares) == {key for key, counts in by.items() if counts} | {("source", "a"), ("source", "b")}
    ways = {"step": None, "batch": 2, "sample": 1}
    for key, one in shares.items():
        assert one.tokens == sum(by[key].values())
        for name, among in ways.items():
            per = in_every_batch(trained, among or len(trained))
            total = sum(count * per[count] for count in trained if count)
            wanted = sum(times * per[count] for count, times in by[key].items() if count) / total
            assert getattr(one, name) == pytest.approx(wanted, abs=1e-8), (key, name)
    for kind in ("source", "length", "role"):
        assert sum(one.sample for one in loss.shares if one.kind == kind) == pytest.approx(1)


def test_names_are_bounded_for_each_kind_by_itself() -> None:
    """A set of many sources still has the roles and lengths of its last rows."""
    tally, halves = LossTally(), (LossTally(), LossTally())
    for number in range(MOST_NAMES + 10):
        counts = {("file", ""): 5, ("source", f"s{number}"): 5, ("length", "<16"): 5}
        if number >= MOST_NAMES:
            counts = {**counts, ("role", "tool"): 5, ("length", "<32"): 5}
        for one in (tally, halves[number % 2]):
            one.add(5, counts)
    halves[0].merge(halves[1])
    for one in (tally, halves[0]):
        loss = one.figures(Averaging("step", 2), {20: MOST_NAMES + 10})
        assert loss is not None
        names = {kind: {one.name for one in loss.shares if one.kind == kind} for kind in ("source", "role", "length")}
        assert len(names["source"]) == MOST_NAMES + 1 and OTHERS in names["source"]
        assert (names["role"], names["length"]) == ({"tool"}, {"<16", "<32"})


def weighted(*weights: float) -> Opened:
    """A row of each weight, alike otherwise."""
    said: list[dict[str, Any]] = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}]
    rows = [
        Row(i, {"messages": [said[0], {**said[1], "weight": w}], "source": f"w{w}"}, "{}", f"line {i}", 10)
        for i, w in enumerate(weights)
    ]
    return Opened(rows, changes={"mask.rule": "assistant", "loss.weights": "float"})


def test_weights_count() -> None:
    loss = weighted(0.25, 1.75).audit().figures().loss
    assert loss is not None
    found = {one.name: (one.step, one.batch, one.sample) for one in loss.shares if one.kind == "source"}
    assert found == {"w0.25": pytest.approx((0.125,) * 3), "w1.75": pytest.approx((0.875,) * 3)}


def test_the_part_of_a_row_is_that_without_weights() -> None:
    loss = weighted(0.5, 0.5, 0.25).audit().figures().loss
    assert loss is not None and loss.heaviest == pytest.approx((1 / 3,) * 3)
    assert [*loss.of_row.values()] == [pytest.approx((1 / 3,) * 3)]
    assert sum(one.step for one in loss.shares if one.kind == "source") == pytest.approx(1)


@pytest.mark.parametrize("weights", [(1.7e308, 1.0), (1e308, -1e308, 1e-300), (1e90, -1e90, 1e-300)])
def test_of_weights_beyond_all_use_nothing_is_said(weights: tuple[float, ...]) -> None:
    assert weighted(*weights).audit().figures().loss is None


def test_what_is_said_of_it() -> None:
    rows = [talk(i, words) for i, words in enumerate((1, 5, 300))] + [
        chat(i, ("user", "a " * 2000), ("assistant", "b")) for i in (3, 4)
    ]
    opened, loss = loss_of(rows, {"mask.rule": "assistant", "batch.size": 2, "length.max": 1024})
    assert (loss.over, loss.step, loss.rows, loss.unlabelled) == ("step", None, 5, 2)
    figures = replace(opened.audit().figures(), loss=replace(loss, over="batch"))
    shown = plain([cells for cells, _ in figure_lines(figures, 100)])
    assert "Share of the loss" in shown and " batch* " in shown and "step* " not in shown
    assert "2 of 5 rows have no trained token; 10 % of the batches are without one, and their loss is NaN" in shown
    assert figures_record(figures)["loss"]["without_label"] == pytest.approx(0.1)
    rarely = replace(loss, without_label=4.5e-25).sentences
    assert rarely[-1] == "2 of 5 rows have no trained token; <0.001 % of the batches are without one"
    packed = loss_of(rows[:2], {"mask.rule": "assistant", "pack.strategy": "bfd", "length.max": 1024})[1]
    assert packed.in_pack == 2 and packed.shares[0].batch == pytest.approx(packed.shares[0].step)
    assert "about 2.0 rows per pack" in packed.sentences[1] and packed.sentences[2] == "every row has a trained token"


def test_of_many_files_the_first_are_shown_and_what_comes_after_them() -> None:
    one = loss_of([talk(i, 3) for i in range(3)], {"mask.rule": "assistant"})[1].shares[0]
    shares = [replace(one, kind=kind, name=f"{kind}{i}") for kind in ("file", "source") for i in range(100)]
    figures = loss_of([talk(0, 3)], {"mask.rule": "assistant"})[0].audit().figures()
    assert figures.loss is not None
    figures = replace(figures, loss=replace(figures.loss, shares=tuple(shares)))
    page = next(str(markup) for name, _, markup in figure_sections(figures) if name == "loss")
    shown = plain([cells for cells, _ in figure_lines(figures, 100)])
    for text, most in ((page, 24), (shown, 8)):
        assert all(f"{kind} {kind}{most - 1}" in text for kind in ("file", "source")), text
        assert f"file{most}" not in text and "1 % of rows with most" in text


def test_the_rows_of_a_step_are_those_of_the_config() -> None:
    trl, verl = trainer_named("trl"), trainer_named("verl")
    opened = trl.read_config("c.yaml", CONFIG + "gradient_accumulation_steps: 3\n")
    assert rows_of_step(opened.recipe, opened) == 12
    opened = trl.read_config("c.yaml", CONFIG)
    assert rows_of_step(opened.recipe, opened) == 4
    opened = verl.read_config("c.yaml", "data: {train_files: t.parquet, val_files: v.parquet, train_batch_size: 64}\n")
    assert rows_of_step(opened.recipe, opened) == 64
