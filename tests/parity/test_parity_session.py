"""The session with a runner, and how differences are told; needs no trainer."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from case import REPO

from sftui.trainers.verify.difference import DifferenceKind, Piece, first_difference, row_differences
from sftui.trainers.verify.session import ask, read_result


def test_a_python_without_the_trainer_is_an_answer(tmp_path: Path) -> None:
    request = {
        "rows": [{"text": "hello"}],
        "tokenizer": str(REPO / "sftui" / "tokens" / "builtin" / "chatml"),
        "output": str(tmp_path / "out.jsonl"),
    }
    with (tmp_path / "errors").open("w") as errors:
        (answer,) = ask(Path(sys.executable), "torchtune", [request], errors)
    assert answer["error"]["type"] == "ModuleNotFoundError"
    head, records = read_result(tmp_path / "out.jsonl")
    assert head["error"] == answer["error"] and records == []


def test_a_runner_that_dies_is_an_answer_for_each_request(tmp_path: Path) -> None:
    with (tmp_path / "errors").open("w") as errors:
        answers = list(ask(Path("/bin/false"), "trl", [{"output": "x"}, {"output": "y"}], errors))
    assert [answer["error"]["type"] for answer in answers] == ["RunnerDied", "RunnerDied"]


def test_differences_name_row_and_token() -> None:
    records = [
        {"kind": "row", "row": 0, "input_ids": [1, 2, 3], "labels": [-100, 2, 3]},
        {"kind": "row", "row": 2, "input_ids": [4], "labels": [4]},
        {"kind": "row", "row": 3, "input_ids": [5, 6], "labels": [5, 6]},
    ]
    ours: dict[int, list[Piece]] = {
        0: [([1, 2, 3], [-100, -100, 3], [])],
        1: [([9], [9], [])],
        3: [([5, 6], [5, 6], [])],
    }
    found = row_differences(5, records, ours, {4: "no template"})
    assert [(d.row, d.what) for d in found] == [
        (0, DifferenceKind.LABELS),
        (1, DifferenceKind.DROPPED_BY_TRAINER),
        (2, DifferenceKind.DROPPED_BY_SFTUI),
        (4, DifferenceKind.STOPPED),
    ]
    assert found[0].position == 1 and "row 0: labels differ from token 1 on" in found[0].sentence()
    assert found[3].sentence() == "row 4: sftui stops: no template"


def test_pieces_of_a_row_have_no_order() -> None:
    one: Piece = ([1], [1], [])
    two: Piece = ([2, 3], [2, 3], [])
    assert first_difference(0, [one, two], [two, one]) is None
    fewer = first_difference(0, [one, two], [one])
    assert fewer is not None and fewer.sentence() == "row 0: the trainer produces 2 pieces, sftui 1"
    longer = first_difference(0, [([1, 2], [1, 2], [])], [([1], [1], [])])
    assert longer is not None and longer.position == 1 and longer.ours == ()


def test_weights_are_compared_as_the_loss_has_them() -> None:
    nan = float("nan")
    one: Piece = ([1, 2, 3], [1, 2, 3], [0.0, 0.3, nan])
    same: Piece = ([1, 2, 3], [1, 2, 3], [0.0, 0.30000001192092896, nan])
    assert first_difference(0, [one], [same]) is None
    found = first_difference(0, [one], [([1, 2, 3], [1, 2, 3], [0.0, 0.5, nan])])
    assert found is not None and (found.what, found.position, found.ours[0]) == (DifferenceKind.WEIGHTS, 1, 0.5)
    assert found.sentence().startswith("row 0: loss weights differ from token 1 on: the trainer has [0.3, nan], sftui")
    unrecorded = row_differences(
        1, [{"kind": "row", "row": 0, "input_ids": [1], "labels": [1]}], {0: [([1], [1], [1.0])]}, {}
    )
    assert [(one.what, one.position) for one in unrecorded] == [(DifferenceKind.WEIGHTS, 0)]


def test_results_survive_json(tmp_path: Path) -> None:
    path = tmp_path / "result.jsonl"
    path.write_text('{"kind":"head","error":null}\n' + json.dumps({"kind": "row", "row": 0}) + "\n")
    assert read_result(path) == ({"kind": "head", "error": None}, [{"kind": "row", "row": 0}])
