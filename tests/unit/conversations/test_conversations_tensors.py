"""The same rows in every dialect that pipelines store ids in open to the same; wrong shifts are found."""

from __future__ import annotations

import contextlib
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sftui.conversations.tensors import detect_tensors, mask_convention, stretches
from sftui.conversations.tokenized import documents_of
from sftui.model import IGNORE_INDEX, Row
from sftui.recipe import Data
from sftui.session.arguments import Arguments
from sftui.session.ready import Ready, open_data, tokenized

HEADER, END = [5, 6], 2
COUNT = 200


def made() -> list[tuple[list[int], int]]:
    """Rows of ids, and where the answer begins in each: a prompt, a header, an answer, its end."""
    draw = random.Random(7)
    rows = []
    for _ in range(COUNT):
        prompt = [draw.randrange(300, 3000) for _ in range(draw.randint(3, 12))]
        answer = [draw.randrange(300, 3000) for _ in range(draw.randint(3, 20))]
        rows.append(([*prompt, *HEADER, *answer, END], len(prompt) + len(HEADER)))
    return rows


ROWS = made()


def labels(ids: list[int], start: int) -> list[int]:
    return [IGNORE_INDEX] * start + ids[start:]


def weighted(ids: list[int], start: int) -> list[float]:
    """A quarter for the first two tokens of the answer, 1 for the rest."""
    return [0.0] * start + [0.25] * 2 + [1.0] * (len(ids) - start - 2)


def mask(ids: list[int], start: int) -> list[int]:
    return [0] * start + [1] * (len(ids) - start)


Dialect = Callable[[list[int], int], dict[str, Any]]
DIALECTS: dict[str, Dialect] = {
    "labels": lambda ids, start: {"input_ids": ids, "labels": labels(ids, start)},
    "labels, shifted": lambda ids, start: {"input_ids": ids[:-1], "labels": labels(ids, start)[1:]},
    "loss_mask": lambda ids, start: {"input_ids": ids, "loss_mask": mask(ids, start)},
    "loss_mask, true or false": lambda ids, start: {"tokens": ids, "loss_mask": [x > 0 for x in mask(ids, start)]},
    "loss_mask, shifted": lambda ids, start: {"input_ids": ids, "loss_mask": [*mask(ids, start)[1:], 0]},
    "target_tokens and weights, shifted": lambda ids, start: {
        "tokens": ids[:-1],
        "target_tokens": ids[1:],
        "weights": [float(x) for x in mask(ids, start)[1:]],
    },
    "target_ids and loss_mask": lambda ids, start: {
        "token_ids": ids,
        "target_ids": ids,
        "loss_mask": mask(ids, start),
    },
    "target_ids": lambda ids, start: {"input_ids": ids[:-1], "target_ids": labels(ids, start)[1:]},
    "prompt_ids and completion_ids": lambda ids, start: {"prompt_ids": ids[:start], "completion_ids": ids[start:]},
    "positions of a pack": lambda ids, start: {
        "input_ids": ids,
        "labels": labels(ids, start),
        "position_ids": [*range(start), *range(len(ids) - start)],
    },
}
SHIFTED = [name for name in DIALECTS if "shifted" in name or name == "target_ids"]


def padded(records: list[dict[str, Any]]) -> dict[str, Any]:
    """Records as arrays of one length, with a mask of what is no padding."""
    longest = max(len(next(iter(record.values()))) for record in records)
    fill = {"labels": IGNORE_INDEX, "target_ids": IGNORE_INDEX}

    def array(name: str) -> Any:
        return np.array([[*record[name], *[fill.get(name, 0)] * (longest - len(record[name]))] for record in records])

    arrays = {name: array(name) for name in records[0]}
    lengths = [len(next(iter(record.values()))) for record in records]
    arrays["attention_mask"] = np.array([[1] * length + [0] * (longest - length) for length in lengths])
    return arrays


def write(path: Path, records: list[dict[str, Any]]) -> Path:
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
    elif path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(records), path)
    elif path.suffix == ".arrow":
        import datasets

        datasets.Dataset.from_list(records).save_to_disk(path)
    elif path.suffix == ".npz":
        np.savez(path, **padded(records))
    else:
        header, data = {}, b""
        for name, values in padded(records).items():
            kind = {"f": "F64", "b": "BOOL"}.get(values.dtype.kind, "I64")
            content = values.tobytes()
            header[name] = {"dtype": kind, "shape": values.shape, "data_offsets": [len(data), len(data) + len(content)]}
            data += content
        text = json.dumps(header).encode()
        path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path


@contextlib.contextmanager
def opened(path: Path, **asked: Any) -> Iterator[Ready]:
    options, _ = Arguments(data=(str(path),), tokenizer="builtin:chatml", **asked).options()
    with contextlib.closing(open_data(options)) as data:
        yield tokenized(data).ready()


@pytest.mark.parametrize("ending", [".jsonl", ".parquet", ".arrow", ".npz", ".safetensors"])
@pytest.mark.parametrize("name", DIALECTS)
def test_every_dialect_opens_to_the_same(tmp_path: Path, name: str, ending: str) -> None:
    if name == "prompt_ids and completion_ids" and ending in (".npz", ".safetensors"):
        pytest.skip("two parts that are padded apart are no row of ids")
    path = write(tmp_path / f"rows{ending}", [DIALECTS[name](ids, start) for ids, start in ROWS])
    with opened(path) as session:
        assert session.detected.given_labels == ("shifted" if name in SHIFTED else "unshifted")
        for (ids, start), found in zip(ROWS, session.all_rows(), strict=True):
            assert found.problem is None and found.conversation is not None and found.labels is not None
            ranges = documents_of(found.conversation)
            begin, end = ranges[0][0], ranges[-1][1]
            if name == "loss_mask, shifted" and ending == ".jsonl":
                assert found.tokens is not None and list(found.tokens.input_ids) == ids
            kept = [*found.conversation.input_ids[begin:end], *([END] if end - begin < len(ids) else [])]
            assert kept == ids
            own = [*found.labels.labels[begin:end], *([END] if end - begin < len(ids) else [])]
            assert own == labels(ids, start)


def test_weights_of_the_loss(tmp_path: Path) -> None:
    records = [
        {"tokens": ids[:-1], "target_tokens": ids[1:], "weights": weighted(ids, start)[1:]} for ids, start in ROWS
    ]
    with opened(write(tmp_path / "rows.jsonl", records), knobs=(("loss.weights", "float"),)) as session:
        for (ids, start), found in zip(ROWS, session.all_rows(), strict=True):
            assert found.example is not None and found.example.weights is not None
            assert [*found.example.weights] == weighted(ids, start)
            assert [*found.example.labels] == labels(ids, start)


@pytest.mark.parametrize("name", SHIFTED)
def test_what_is_shifted_for_a_model_that_shifts_is_found(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / "rows.jsonl", [DIALECTS[name](ids, start) for ids, start in ROWS])
    with opened(path) as session:
        found = [{one.code for one in session.found(session.inspect(number))} for number in range(20)]
        assert all("LAB003" in codes for codes in found)
    with opened(path, trainer="manual-shift") as session:
        assert not any("LAB003" in {one.code for one in session.found(session.inspect(n))} for n in range(20))


@pytest.mark.parametrize("name", ["labels", "target_ids and loss_mask", "positions of a pack"])
def test_what_is_moved_to_the_right_is_found(tmp_path: Path, name: str) -> None:
    """Rows long enough to tell by themselves."""
    long = [([*ids[:start], *ids[start:-1] * 4, END], start) for ids, start in ROWS]
    records = []
    for ids, start in long:
        record = DIALECTS[name](ids, start)
        column = "labels" if "labels" in record else "target_ids"
        record[column] = [IGNORE_INDEX, *record[column][:-1]]
        records.append(record)
    with opened(write(tmp_path / "rows.jsonl", records)) as session:
        found = [{one.code for one in session.found(session.inspect(number))} for number in range(40)]
        assert sum("LAB008" in codes for codes in found) >= 30


MASKED = {
    "loss_mask": "loss_mask",
    "loss_mask, true or false": "loss_mask",
    "target_ids and loss_mask": "loss_mask",
    "target_tokens and weights": "weights",
    "weights": "weights",
}


@pytest.mark.parametrize("ending", [".jsonl", ".npz"])
@pytest.mark.parametrize("name", MASKED)
def test_a_mask_that_is_moved_to_the_right_is_found(tmp_path: Path, name: str, ending: str) -> None:
    """The labels beside it may be right: the mask alone decides what is trained."""
    more: dict[str, Dialect] = {
        "weights": lambda ids, start: {"input_ids": ids, "weights": [float(x) for x in mask(ids, start)]},
        "target_tokens and weights": lambda ids, start: {
            "input_ids": ids,
            "target_tokens": ids,
            "weights": [float(x) for x in mask(ids, start)],
        },
    }
    dialect, column = {**DIALECTS, **more}[name], MASKED[name]
    right = [dialect(ids, start) for ids, start in ROWS]
    wrong = [{**record, column: [type(record[column][0])(0), *record[column][:-1]]} for record in right]
    codes = {}
    for kind, records in (("right", right), ("wrong", wrong)):
        with opened(write(tmp_path / f"{kind}{ending}", records)) as session:
            codes[kind] = [{one.code for one in session.found(session.inspect(number))} for number in range(40)]
    assert not any({"LAB003", "LAB008"} & found for found in codes["right"])
    assert all("LAB008" in found for found in codes["wrong"])


def test_a_moved_mask_that_somebody_means_is_not_reported(tmp_path: Path) -> None:
    records = [{"input_ids": ids, "loss_mask": [0, *mask(ids, start)[:-1]]} for ids, start in ROWS]
    with opened(write(tmp_path / "rows.jsonl", records), knobs=(("data.given_labels", "unshifted"),)) as session:
        assert not any("LAB008" in {one.code for one in session.found(session.inspect(n))} for n in range(20))


def test_the_ends_inside_a_row_decide_where_there_are_any() -> None:
    """Turns with a line break behind each end: moved to the right they end with it, as trained ones may."""
    newline, role = 3, 4
    turns = [
        ([*ids, newline, *ids, newline], [*bits, 0, *bits, 0])
        for ids, bits in ((ids, mask(ids, start)) for ids, start in ROWS)
    ]
    assert mask_convention(stretches(turns)) == "unshifted"
    assert mask_convention(stretches([(ids, [0, *bits[:-1]]) for ids, bits in turns])) == "late"
    assert mask_convention(stretches([(ids, [*bits[1:], 0]) for ids, bits in turns])) == "shifted"
    # A number between the header and the answer is no answer, as long as the end says so.
    numbered = [
        (
            [*ids[:start], 300 + n % 64, *ids[start:], newline, role],
            [0] * (start + 1) + [1] * (len(ids) - start) + [0, 0],
        )
        for n, (ids, start) in enumerate(ROWS)
    ]
    assert mask_convention(stretches(numbered)) == "unknown"


def test_what_tells_the_convention_is_shown_and_can_be_overridden(tmp_path: Path) -> None:
    name = "target_tokens and weights, shifted"
    path = write(tmp_path / "rows.jsonl", [DIALECTS[name](ids, start) for ids, start in ROWS])
    with opened(path) as session:
        assert session.detected.reason.startswith(
            "tokenized: ids in `tokens`, labels in `target_tokens`, `weights` are their weights, 0 masks; shifted, "
        )
    with opened(path, knobs=(("data.given_labels", "unshifted"),)) as session:
        assert session.detected.reason.endswith("; unshifted, set by data.given_labels")
        assert session.inspect(0).conversation is not None
    with opened(path, knobs=(("data.fields", {"labels": "tokens"}),)) as session:
        assert "labels in `tokens`" in session.detected.reason


def test_a_mask_of_few_rows_tells_nothing() -> None:
    rows = [(ids, mask(ids, start)) for ids, start in ROWS]
    assert mask_convention(stretches(rows[:3])) == "unknown"
    assert mask_convention(stretches(rows)) == "unshifted"
    assert mask_convention(stretches([(ids, [1] * len(ids)) for ids, _ in rows])) == "unshifted"
    assert mask_convention(stretches([(ids[:-1], bits[:-1]) for ids, bits in rows])) == "unknown"
    assert mask_convention(stretches([(ids, [0, *bits[:-1]]) for ids, bits in rows])) == "late"


def test_labels_alone_and_other_rows_are_read_as_ever() -> None:
    def row(**data: Any) -> list[Row]:
        return [Row(0, data, "", "row 0")]

    assert detect_tensors(row(input_ids=[1, 2], labels=[1, 2]), Data()) is None
    assert detect_tensors(row(input_ids=[1, 2], completion_mask=[0, 1]), Data()) is None
    assert detect_tensors(row(messages=[], weights=[1]), Data()) is None
    assert detect_tensors(row(tokens=["a", "b"], loss_mask=[0, 1]), Data()) is None
    assert detect_tensors(row(prompt="a", completion="b"), Data()) is None
    assert detect_tensors([], Data()) is None


@pytest.mark.parametrize(
    ("record", "why"),
    [
        ({"loss_mask": [0, 1]}, "`loss_mask` has 2 entries, the ids have 4"),
        ({"loss_mask": None}, "`loss_mask` is null, not a list of numbers"),
        ({"loss_mask": [0, 1, "x", 1]}, "`loss_mask` is a list, not a list of numbers"),
    ],
)
def test_a_row_that_does_not_fit_says_so(tmp_path: Path, record: dict[str, Any], why: str) -> None:
    good = [DIALECTS["loss_mask"](ids, start) for ids, start in ROWS[:80]]
    path = write(tmp_path / "rows.jsonl", [*good, {"input_ids": [300, 301, 302, 303], **record}])
    with opened(path) as session:
        problem = session.inspect(80).problem
        assert problem is not None and why in problem.sentence()


def test_a_script_that_prepares_the_rows_is_refused(tmp_path: Path) -> None:
    from sftui.errors import ExportError
    from sftui.exports.preprocess import script

    path = write(tmp_path / "rows.jsonl", [DIALECTS["loss_mask"](ids, start) for ids, start in ROWS])
    with opened(path) as session, pytest.raises(ExportError, match="stored ids with a mask, weights or parts"):
        script(session.recipe, session.recipe, session.prepared())
