"""Captured batches, opened: the rows as the model received them, their packs and batches, and what is not known."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sftui.capture.stored import captured, write_captured
from sftui.conversations.tokenized import documents_of
from sftui.findings import check_row
from sftui.model import Conversation, Kind
from sftui.session.arguments import Arguments
from sftui.session.ready import Ready, open_data, tokenized
from sftui.sources.captured import run_of

IDS = [[300 + i for i in range(30)], [*range(400, 420), *[2] * 10]]
MASK = [[1] * 30, [1] * 20 + [0] * 10]
ABOUT: dict[str, Any] = {
    "versions": {"torch": "2.13.0", "transformers": "5.24.0"},
    "trainer": "mine.Trainer",
    "tokenizer": {"name": "builtin:chatml", "class": "Fast", "length": 512},
    "clip": None,
}


def batch(tensors: dict[str, Any], **more: Any) -> dict[str, Any]:
    ids = tensors["input_ids"]
    made: dict[str, Any] = {"from": "model", "module": "M", "names": {}, "labels_from": "model", "loss_takes": None}
    return {**made, "shapes": {"input_ids": [len(ids), len(ids[0])]}, "tensors": tensors, **more}


def masked(rows: list[list[int]], first: int = 8) -> list[list[int]]:
    return [[-100] * first + row[first:] for row in rows]


def written(path: Path, *batches: dict[str, Any], about: dict[str, Any] = ABOUT) -> Path:
    with path.open("wb") as file:
        write_captured(captured(batches, about), file)
    return path


@contextlib.contextmanager
def opened(path: Path, **asked: Any) -> Iterator[Ready]:
    options, _ = Arguments(data=(str(path),), **asked).options()
    with contextlib.closing(open_data(options)) as data:
        yield tokenized(data).ready()


def test_the_run_names_the_tokenizer_and_nothing_is_cut_or_padded_again(tmp_path: Path) -> None:
    labels = [masked(IDS)[0], [*masked(IDS)[1][:20], *[-100] * 10]]
    path = written(tmp_path / "b.parquet", batch({"input_ids": IDS, "labels": labels, "attention_mask": MASK}))
    with opened(path) as session:
        assert session.recipe.tokenizer.name == "builtin:chatml"
        assert session.recipe.batch.size == 2
        assert "1 batch captured from mine.Trainer (torch 2.13.0, transformers 5.24.0): ids of 2 × 30" in (
            session.options.notes
        )
        one = session.inspect(1)
        assert one.example is not None
        assert (list(one.example.input_ids), list(one.example.labels)) == (IDS[1], labels[1])
        made = session.batch(0, 2)
        assert [list(row) for row in made.input_ids] == IDS
        assert [list(row) for row in made.attention_mask or ()] == MASK


def test_another_tokenizer_may_be_named(tmp_path: Path) -> None:
    path = written(tmp_path / "b.parquet", batch({"input_ids": IDS, "labels": IDS}))
    with opened(path, tokenizer="builtin:gemma") as session:
        assert session.recipe.tokenizer.name == "builtin:gemma"


def test_a_captured_pack_is_shown_with_its_documents(tmp_path: Path) -> None:
    positions = [[*range(12), *range(18)], [*range(20), *[0] * 10]]
    path = written(
        tmp_path / "b.parquet",
        batch({"input_ids": IDS, "labels": IDS, "attention_mask": MASK, "position_ids": positions}),
    )
    with opened(path) as session:
        packs, made = session.packs([session.inspect(0), session.inspect(1)])
        assert [pack.documents for pack in packs] == [((0, 0, 12), (0, 12, 30)), ((1, 0, 20),)]
        assert made.position_ids is not None and [list(row) for row in made.position_ids] == positions


@pytest.mark.parametrize(
    "more, mask, ranges",
    [
        ({"seq_lengths": [2, 3]}, None, ((0, 2), (2, 5))),
        ({"seq_lengths": [2, 9]}, None, ((0, 6),)),
        ({}, (1, 1, 2, 2, 2, 0), ((0, 2), (2, 5))),
        ({}, (0, 0, 1, 1, 1, 1), ((2, 6),)),
        ({"position_ids": [0, 1, 0, 1, 2, 3]}, None, ((0, 2), (2, 6))),
        ({"position_ids": [0, 1, 0, 1, 0, 0]}, None, ((0, 2), (2, 4))),
        ({"position_ids": [5, 6, 7, 8, 9, 10]}, None, ((0, 6),)),
        ({"position_ids": "hostile"}, None, ((0, 6),)),
    ],
)
def test_documents_of_a_pack(more: dict[str, Any], mask: tuple[int, ...] | None, ranges: object) -> None:
    row = Conversation(
        Kind.TOKENS,
        "tokenized",
        input_ids=(7, 8, 9, 9, 2, 2),
        labels=(7, 8, 9, 9, -100, -100),
        attention_mask=mask,
        extra=more,
    )
    assert documents_of(row) == ranges


def test_the_targets_of_a_loss_stand_at_the_token_before(tmp_path: Path) -> None:
    targets = [row[1:] for row in masked(IDS)]
    path = written(
        tmp_path / "b.parquet",
        batch({"input_ids": IDS, "targets": targets}, labels_from="loss", ignore_index=-100),
    )
    with opened(path) as session:
        assert session.detected.given_labels == "shifted"
        example = session.inspect(0).example
        assert example is not None and list(example.labels) == masked(IDS)[0]


def test_a_loss_that_shifts_nothing_is_a_finding(tmp_path: Path) -> None:
    path = written(tmp_path / "b.parquet", batch({"input_ids": IDS, "labels": masked(IDS)}, loss_takes="same"))
    with opened(path) as session:
        assert "LAB008" in [found.code for found in session.found(session.inspect(0))]
        assert "the loss compares each position with its own label: nothing shifts the labels" in session.options.notes


def test_weights_that_the_model_got_count(tmp_path: Path) -> None:
    weights = [[0.0] * 8 + [0.5] * 22] * 2
    made = batch({"input_ids": IDS, "labels": masked(IDS), "loss_weight": weights})
    made["shapes"]["loss_weight"] = [2, 30]
    with opened(written(tmp_path / "b.parquet", made)) as session:
        example = session.inspect(0).example
        assert example is not None and example.weights is not None
        assert [*example.weights] == weights[0]
        assert session.recipe.mask.rule == "given"


def test_what_is_not_known_is_said(tmp_path: Path) -> None:
    drawn = batch({"input_ids": IDS}, labels_from=None, **{"from": "loader"})
    path = written(tmp_path / "b.parquet", drawn, about={**ABOUT, "tokenizer": None, "versions": {}, "trainer": None})
    options, told = Arguments(data=(str(path),)).options()
    assert options.recipe.tokenizer.name is None
    assert told == (
        "1 batch captured from a loop without a trainer's class (no versions known): ids of 2 × 30",
        "they come from the data loader; what the training step does with them is unknown",
        "no labels were seen in the model, a loss or the data loader: what is trained is unknown",
        "the run's tokenizer is not known: name it with -t",
    )


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"batches": []}', '{"batches": [{"shapes": {"input_ids": [1, "x"]}}]}', '{"batches": 3}']
)
def test_metadata_that_no_recorder_wrote_makes_it_plain_parquet(tmp_path: Path, text: str) -> None:
    table = pa.table({"input_ids": IDS}).replace_schema_metadata({"sftui_capture": text})
    pq.write_table(table, tmp_path / "b.parquet")
    assert run_of((str(tmp_path / "b.parquet"),)) is None


def test_other_files_are_no_captured_batches(tmp_path: Path) -> None:
    for name, content in (("a.parquet", b""), ("b.parquet", b"PAR1"), ("c.parquet", b"PAR1\xff\xff\xff\xffPAR1")):
        (tmp_path / name).write_bytes(content)
        assert run_of((str(tmp_path / name),)) is None
    assert run_of((str(tmp_path / "nowhere.parquet"),)) is None


@pytest.mark.parametrize(("version", "told"), [("0.7.0", False), ("0.6.1", True), (None, True)])
def test_labels_that_torchtune_moves_before_training_are_not_told_as_shifted_twice(
    tmp_path: Path, version: str | None, told: bool
) -> None:
    """A run of whose loss nothing was seen: since 0.7 torchtune's datasets move them, and its losses shift nothing."""
    about = {**ABOUT, "versions": {**ABOUT["versions"], **({"torchtune": version} if version else {})}}
    labels = [[*row[1:], -100] for row in IDS]
    path = written(
        tmp_path / "b.parquet", batch({"input_ids": IDS, "labels": labels}, labels_from="loader"), about=about
    )
    with opened(path) as ready:
        found = {one.code for one in check_row(ready.inspect_row(ready.row(0)), ready.checks())}
    assert ("LAB003" in found) is told
