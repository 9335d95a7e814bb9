"""Records by hand: the shapes that no small file brings about."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from sftui.exports.records import as_json, as_line, pack_record, record, records, shift_record
from sftui.model import Example, Inspection, Labels, Pack, Part, Problem, Reason, Row, Tokens, TokenText, flat_example
from sftui.runs import flat, joined
from sftui.trainers.base import TaggedIds


def inspection(more: tuple[Example, ...] = ()) -> Inspection:
    tokens = Tokens(
        flat((7, 8)),
        (0, -1),
        (1, -1),
        (0, -1),
        (Part.CONTENT, Part.INJECTED),
    )
    labels = Labels((-100, 8), ((1, 2),), (Reason.PROMPT, Reason.APPENDED), ((0, 2),))
    return Inspection(
        Row(3, {}, "", ""),
        tokens=tokens,
        token_text=TokenText(("a", "\x1b\ud800"), (b"a", b""), (False, True)),
        labels=labels,
        example=Example((7, 8), (-100, 8), (1, 1)),
        more=more,
    )


def test_a_token_without_text_has_no_span() -> None:
    made = record(inspection(), explain=True)
    assert made["spans"] == [[0, 1, 0, "content"], None]
    assert made["reasons"] == ["prompt", "appended EOS"]
    assert as_json(made).isascii()


def test_a_row_that_the_trainer_splits_has_a_record_for_each_part() -> None:
    first, second = records(inspection((Example((9,), (9,), (1,)),)))
    assert (first["row"], first["part"], first["input_ids"]) == (3, 0, (7, 8))
    assert second == {"row": 3, "part": 1, "input_ids": (9,), "labels": (9,), "attention_mask": (1,)}
    assert "part" not in records(inspection())[0]


def test_a_problem_wins_and_is_not_shifted() -> None:
    failed = record(Inspection(Row(1, None, "", ""), problem=Problem("it broke", "of x")))
    assert failed == {"row": 1, "error": "it broke, because of x"} == shift_record(failed)


def test_weights_stand_along_the_labels() -> None:
    made = inspection()
    assert made.example is not None
    weighted = replace(made, example=replace(made.example, weights=joined([(1, 0.0), (1, 0.1)])))
    told = record(weighted)
    assert [*told] == ["row", "input_ids", "labels", "attention_mask", "loss_weights"]
    assert told["loss_weights"] == (0.0, 0.1)
    assert shift_record(told)["loss_weights"] == (0.1,) and shift_record(told)["labels"] == (8,)
    assert "loss_weights" not in record(made)


def test_json_has_null_for_a_weight_that_is_no_number() -> None:
    line = as_json({"loss_weights": (0.30000000000000004, float("nan"), float("-inf"))})
    assert json.loads(line) == {"loss_weights": [0.30000000000000004, None, None]}


@pytest.mark.parametrize("as_arrays", [False, True])
def test_a_line_is_the_same_without_orjson(as_arrays: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    one = replace(inspection(), example=flat_example(flat((7, 8)), ((1, 2),)))
    kto = replace(one, example=Example(TaggedIds.of((7, 8), ((7,), (8,))), (-100, 8), (1, 1)))
    failed = Inspection(Row(1, None, "", ""), problem=Problem("it broke: a, b", "of x"))
    made = [
        *records(replace(one, rejected=one), as_arrays=as_arrays),
        *records(kto, as_arrays=as_arrays),
        record(failed),
    ]
    lines = [as_line(each) for each in made]
    assert lines[0].startswith(b'{"row": 3, "input_ids": [7, 8], "labels": [-100, 8], "attention_mask": [1, 1], "side"')
    monkeypatch.setattr("sftui.exports.records.orjson", None)
    assert lines == [as_line(each) for each in made]


def test_a_pack_has_the_weights_of_its_documents() -> None:
    pack = Pack(((0, 0, 2),), (7, 8, 0), (-100, 8, -100), parts=(0,), weights=joined([(1, 0.0), (1, 0.3), (1, 0.0)]))
    assert pack_record(pack, 0)["loss_weights"] == (0.0, 0.3, 0.0)
    assert pack.counted(-100) == (-100, 8, -100)
