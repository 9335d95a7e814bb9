"""Loss weights along the tokens: from messages, through the cut, the shift, padding and packing."""

from __future__ import annotations

import pickle

import pytest

from sftui.labels import by_message, collate, end_to_end, label, weights_joined, weights_within
from sftui.labels import example as made_of
from sftui.model import Batch, Conversation, Example, Kind, Labels, Message, Part, Reason, RenderedText, Tokens
from sftui.recipe import Batch as BatchOptions
from sftui.recipe import Length, Loss, Mask, Recipe
from sftui.runs import Runs, as_runs, flat, joined
from sftui.trainers.packing import PickledStore

WHOLE = Length()
IDS = (10, 11, 12, 13, 14, 15, 16, 17)
OWNERS = (0, 0, 1, 1, 2, 2, 3, 3)
TOKENS = Tokens(flat(IDS), tuple(range(8)), tuple(range(1, 9)), as_runs(OWNERS), as_runs((Part.CONTENT,) * 8))


def conversation(*weights: float | None) -> Conversation:
    """Questions and answers in turn, each answer of this weight."""
    found: list[Message] = []
    for weight in weights:
        found.append(Message({"role": "user", "content": "a"}))
        found.append(Message({"role": "assistant", "content": "b"}, weight=weight))
    return Conversation(Kind.CHAT, "messages", messages=tuple(found))


def labelled(*weights: float | None, length: Length = WHOLE, shift: str = "internal") -> tuple[Labels, Example | None]:
    recipe = Recipe("acme", mask=Mask(rule="assistant"), length=length, loss=Loss(shift=shift, weights="float"))
    made = label(TOKENS, RenderedText("abcdefgh"), conversation(*weights), recipe)
    return made, made_of(TOKENS, made, recipe)


def test_a_message_weighs_what_it_says() -> None:
    made, example = labelled(0.3, None)
    assert made.weights == joined([(2, 0.0), (2, 0.3), (2, 0.0), (2, 1.0)])
    assert made.labels == (-100, -100, 12, 13, -100, -100, 16, 17)
    assert example is not None and example.weights == made.weights
    assert example.trained == 4


@pytest.mark.parametrize(("weight", "trained"), [(2.5, 4), (-0.5, 4), (0.0, 2), (float("nan"), 4), (float("inf"), 4)])
def test_only_a_weight_of_zero_takes_a_token_out_of_the_loss(weight: float, trained: int) -> None:
    made, example = labelled(weight, 1.0)
    assert example is not None and example.trained == trained
    assert example.labels == (-100, -100, 12, 13, -100, -100, 16, 17)  # labels stay as they are
    assert made.reasons[2] is (Reason.WEIGHT if weight == 0 else Reason.ASSISTANT)
    assert made.counted[2:4] == ((-100, -100) if weight == 0 else (12, 13))


def test_a_row_whose_weights_are_all_zero_is_dropped_as_one_without_labels() -> None:
    assert labelled(0, 0, length=Length(drop_unlabelled=True))[0].dropped == "no trained token is left"
    assert labelled(0, 0.5, length=Length(drop_unlabelled=True))[0].dropped is None


@pytest.mark.parametrize(
    ("over", "weights"),
    [("cut_right", [(2, 0.0), (2, 0.3), (1, 0.0)]), ("cut_left", [(1, 0.3), (2, 0.0), (2, 2.0)])],
)
def test_weights_are_cut_with_the_tokens(over: str, weights: list[tuple[int, float]]) -> None:
    _, example = labelled(0.3, 2.0, length=Length(max=5, over=over))
    assert example is not None and example.weights == joined(weights)


def test_weights_are_shifted_with_the_labels() -> None:
    _, example = labelled(0.3, 2.0, shift="preshifted")
    assert example is not None and example.weights is not None
    assert list(zip(example.labels, example.weights))[:3] == [(-100, 0.0), (12, 0.3), (13, 0.3)]
    assert len(example.weights) == len(example.labels) == len(example.input_ids) == 7


def test_without_the_knob_there_are_none() -> None:
    recipe = Recipe("acme", mask=Mask(rule="assistant"))
    made = label(TOKENS, RenderedText("abcdefgh"), conversation(0.3, 0.0), recipe)
    assert made.weights is None and made.counted is made.labels and made.carrying is made.ranges
    example = made_of(TOKENS, made, recipe)
    assert example is not None and example.weights is None and example.trained == 4


def test_weights_inside_several_kept_ranges() -> None:
    weights = joined([(3, 0.0), (3, 0.5), (2, 1.0)])
    assert weights_within(((0, 8),), weights) is weights
    assert weights_within(((0, 1), (4, 7)), weights) == joined([(1, 0.0), (2, 0.5), (1, 1.0)])
    assert weights_within(((0, 3),), None) is None


def test_what_is_of_no_message_weighs_one() -> None:
    flags = as_runs((False, True, True))
    weights = joined([(1, 0.0), (1, 0.5), (1, 1.0)])
    assert by_message(flags, as_runs((0, 0, -1)), [Message({}, weight=0.5)]) == weights
    assert by_message(flags, as_runs((0, 0, 1)), [Message({}, weight=0.5)]) == weights


def example(weights: Runs[float] | None, size: int = 3) -> Example:
    return Example((7,) * size, (7,) * size, (1,) * size, weights=weights)


def test_stretches_of_rows_with_and_without_weights_are_joined() -> None:
    weighed, plain = example(joined([(1, 0.0), (2, 0.5)])), example(None)
    assert weights_joined([(plain, 1, 3), (weighed, 1, 3)], 2) == joined([(2, 1.0), (2, 0.5), (2, 0.0)])
    assert end_to_end([weighed, plain], (0, 1), "").weights == (joined([(1, 0.0), (2, 0.5), (3, 1.0)]),)


@pytest.mark.parametrize(("side", "second"), [("right", [0.5, 1.0, 0.0]), ("left", [0.0, 0.5, 1.0])])
def test_padding_weighs_nothing(side: str, second: list[float]) -> None:
    rows = [example(joined([(3, 0.3)])), example(joined([(1, 0.5), (1, 1.0)]), 2)]
    batch = collate(rows, (0, 1), BatchOptions(), pad_id=0, padding_side=side)
    assert batch.weights is not None
    assert [list(row) for row in batch.weights] == [[0.3] * 3, second]
    plain: Batch = collate([example(None)], (0,), BatchOptions(), pad_id=0, padding_side=side)
    assert plain.weights is None


def test_packs_hold_the_weights_of_their_rows() -> None:
    one, other = example(joined([(1, 0.0), (2, 0.3)])), example(None)
    assert weights_joined([(one, 1, 3), (one, 0, 2), (other, 0, 1)], padding=2) == joined(
        [(2, 0.3), (1, 0.0), (1, 0.3), (1, 1.0), (2, 0.0)]
    )
    assert weights_joined([(other, 0, 3)]) is None


def test_weights_survive_being_held_and_sent() -> None:
    held = PickledStore[Example](1)
    held.append(example(joined([(3, 0.1)])))
    held.append(example(None))
    assert [one.weights for one in held] == [joined([(3, 0.1)]), None]
    assert pickle.loads(pickle.dumps(held[0])) == held[0]
    held.close()
