"""The weights of trained tokens over a dataset: exact, the same in any order, and absent where there are none."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import pytest
from audit_rows import Opened

from sftui.audit.audit import Audit
from sftui.audit.figures import Figures
from sftui.audit.tallies import Weights, name_of
from sftui.exports.formats_json import figures_record
from sftui.model import Example, Row
from sftui.runs import joined
from sftui.views.cells import Line, plain
from sftui.views.figures import figure_lines

WEIGHED = {"loss.weights": "float", "mask.rule": "assistant"}


def drawn(figures: Figures, width: int) -> tuple[Line, ...]:
    return tuple(cells for cells, _ in figure_lines(figures, width))


def row(index: int, *weights: Any) -> Row:
    messages: list[dict[str, Any]] = []
    for weight in weights:
        messages.append({"role": "user", "content": "Hi"})
        said = {} if weight is None else {"weight": weight}
        messages.append({"role": "assistant", "content": "Hello.", **said})
    return Row(index, {"messages": messages}, "{}", f"line {index + 1}", 10)


def audited(rows: list[Row], changes: dict[str, Any]) -> Audit:
    return Opened(rows, changes=changes).audit()


def test_weights_are_counted_and_added_up() -> None:
    rows = [row(0, 0.3, None), row(1, 0, 0.3), row(2, -1.5), row(3, 0.0)]
    figures = audited(rows, WEIGHED).figures()
    assert figures.weights is not None
    each = figures.trained // 4  # four answers of equal length weigh something
    assert figures.weights.by_weight == {"0.3": 2 * each, "-1.5": each, "1": each}
    assert figures.weights.tokens == 3 * each
    assert figures.weights.total == float((2 * Fraction(0.3) + 1 - Fraction(1.5)) * each)
    assert figures.received_trained == figures.trained == 4 * each
    shown = plain(drawn(figures, 100))
    assert (
        f"weights in the loss: {figures.weights.total:g} altogether; {3 * each} trained tokens with a weight other"
        in shown
    )
    assert "Trained tokens by weight in the loss\nweight 0.3" in shown
    assert figures_record(figures)["weights"]["by_weight"]["0.3"] == 2 * each


def test_where_no_trainer_has_weights_nothing_is_said() -> None:
    figures = audited([row(0, 0.3), row(1, None)], {"mask.rule": "assistant"}).figures()
    assert figures.weights is None and figures_record(figures)["weights"] is None
    assert "weight" not in plain(drawn(figures, 100))


def test_weights_of_one_are_said_in_a_line() -> None:
    shown = plain(drawn(audited([row(0, 1), row(1, None)], WEIGHED).figures(), 100))
    assert "each trained token weighs 1 in the loss" in shown and "by weight" not in shown


def test_a_weight_that_is_no_number_leaves_the_sum_open() -> None:
    figures = audited([row(0, float("nan"), 0.5), row(1, float("inf"))], WEIGHED).figures()
    assert figures.weights is not None and figures.weights.total is None
    assert {"nan", "inf", "0.5"} == set(figures.weights.by_weight)
    assert "not all of them are numbers" in plain(drawn(figures, 100))


def test_the_order_of_rows_decides_nothing() -> None:
    dice = random.Random(3)
    examples = [
        Example((1,) * 4, (1, 1, 1, -100), (1,) * 4, weights=joined([(2, dice.uniform(-3, 3)), (2, dice.random())]))
        for _ in range(300)
    ]

    def counted(parts: list[list[Example]]) -> Any:
        whole = Weights()
        for part in parts:
            one = Weights()
            for example in part:
                one.add((example,))
            whole.merge(one)
        return whole.figures()

    mixed = dice.sample(examples, len(examples))
    assert counted([examples]) == counted([mixed[:100], mixed[100:250], mixed[250:]])


@pytest.mark.parametrize(
    ("weight", "name"),
    [
        (0.3, "0.3"),
        (1.0, "1"),
        (1 / 3, "0.333"),
        (-0.125, "-0.125"),
        (1e-9, "above 0, below 1e-06"),
        (-5e300, "-1e+06 or less"),
        (float("inf"), "inf"),
    ],
)
def test_weights_have_names_of_which_there_are_not_too_many(weight: float, name: str) -> None:
    assert name_of(weight) == name
