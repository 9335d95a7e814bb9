"""What a call may say, what it raises, and how long what it opens can be used."""

from __future__ import annotations

import threading
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

import sftui

REPO = Path(__file__).resolve().parents[3]
CHAT = REPO / "sample_data" / "chat_messages.jsonl"
ROWS: list[dict[str, Any]] = [
    {"messages": [{"role": "user", "content": f"Question {n}?"}, {"role": "assistant", "content": f"Answer {n}."}]}
    for n in range(20)
]
GIVEN: dict[str, Any] = {"tokenizer": "builtin:chatml"}


@pytest.mark.parametrize(
    ("data", "opening", "told"),
    [
        (None, {}, "no data was given"),
        ("nowhere.jsonl", GIVEN, "nowhere.jsonl"),
        (ROWS[0], GIVEN, "a single dict is one row; put it into a list"),
        (17, GIVEN, "int is not data that sftui can open"),
        ([], GIVEN, "the list: has no rows"),
        (ROWS, {}, "no tokenizer was given"),
        (ROWS, {"tokenizer": 17}, "int is not a tokenizer"),
        (ROWS, {**GIVEN, "tokeniser": "x"}, "there is no option tokeniser="),
        (ROWS, {**GIVEN, "trainer": "trll"}, "trll"),
        (ROWS, {**GIVEN, "max_length": "long"}, "length.max"),
        (ROWS, {**GIVEN, "max_length": 0}, "length.max"),
        (ROWS, {**GIVEN, "set": {"mask.rul": "x"}}, "mask.rul"),
        (ROWS, {**GIVEN, "set": {"mask.rule": 17}}, "mask.rule"),
        (ROWS, {**GIVEN, "split": "test"}, "has no split test"),
        (ROWS, {**GIVEN, "config": "x.yml"}, "both config and rows name data"),
        (ROWS, {**GIVEN, "recipe": {"preset": "trl"}, "trainer": "trl"}, "both set the starting recipe"),
        (ROWS, {**GIVEN, "template": "nosuch"}, "there is no template `nosuch`"),
    ],
)
def test_what_cannot_be_opened_is_one_sentence(data: Any, opening: dict[str, Any], told: str) -> None:
    with pytest.raises(sftui.SftuiError, match=r".") as raised:
        sftui.open(data, **opening)
    assert told in str(raised.value) and "\n" not in str(raised.value)


def test_a_recipe_is_a_mapping_a_file_or_that_of_other_data(tmp_path: Path) -> None:
    mapping = {"preset": "trl", "tokenizer": {"name": "builtin:chatml"}, "length": {"max": 12}}
    file = tmp_path / "recipe.yaml"
    file.write_text("preset: trl\ntokenizer: {name: 'builtin:chatml', transformers: running}\nlength: {max: 12}\n")
    with sftui.open(ROWS, recipe=mapping) as first, sftui.open(ROWS, recipe=first.recipe) as again:
        assert first.recipe.length.max == 12 and len(first[0]) == 12
        assert again[3].input_ids == first[3].input_ids
    with sftui.open(ROWS, recipe=file) as third:
        assert third[3].input_ids == first[3].input_ids if not first.closed else True
        assert len(third[0]) == 12


def test_rows_are_a_sequence() -> None:
    with sftui.open(ROWS, **GIVEN) as data:
        assert len(data) == 20 == len(list(data))
        assert data[-1].index == 19 and [row.index for row in data[3:9:2]] == [3, 5, 7]
        row = data[4]
        assert row.data == ROWS[4] and row.text is not None and "Question 4?" in row.text
        assert len(row) == len(row.input_ids) == len(row.labels) == len(row.attention_mask) == len(row.tokens)
        assert len(row.reasons) == len(row.spans) == len(row) and not row.shifted
        assert row.trained == sum(label != row.ignore_index for label in row.labels) > 0
        for bad in (20, -21):
            with pytest.raises(IndexError, match=f"there is no row {bad}"):
                data[bad]


def test_a_row_that_reaches_no_trainer_says_why() -> None:
    unusable = {"messages": [{"role": "user", "content": "?"}]}
    with sftui.open([*ROWS, unusable, "no dict"], **GIVEN) as data:
        for number in (20, 21):
            row = data[number]
            assert row.input_ids == row.labels == () and not row.tokens and not row.parts
            assert (row.dropped or row.error) and str(number) in repr(row)
        assert "is not a dict but str" in str(data[21].error)


def test_batches_are_padded_and_hold_what_trains() -> None:
    with sftui.open(CHAT, **GIVEN) as data:
        rows = [row for row in data if row.input_ids]
        batches = list(data.batches(8))
        assert [length for batch in batches for length in batch.lengths] == [len(row) for row in rows]
        for batch in batches:
            assert {len(one) for one in batch.input_ids} == {max(batch.lengths)}
        with pytest.raises(sftui.SftuiError, match="a batch cannot have 0 rows"):
            data.batches(0)


def test_batches_of_packs_are_those_packs() -> None:
    with sftui.open(CHAT, **GIVEN, trainer="trl", set={"pack.strategy": "bfd", "length.max": 128}) as data:
        packed = [one["input_ids"] for one in data.encode().records() if "pack" in one]
        batched = [ids for batch in data.batches(3) for ids in batch.input_ids]
        # TRL's collator puts packs one behind the other, without padding
        assert len(batched) == -(-len(packed) // 3) and [*chain(*batched)] == [*chain(*packed)]


def test_after_close_each_use_is_an_error_and_rows_stay() -> None:
    data = sftui.open(ROWS, **GIVEN)
    row, rows, table = data[1], iter(data), data.encode()
    next(rows)
    data.close()
    data.close()
    assert data.closed and row.input_ids and row.findings == row.findings
    for use in (
        lambda: data[0],
        lambda: len(data),
        lambda: next(rows),
        lambda: list(data),
        lambda: data.encode(),
        lambda: table.to_arrow(),
        lambda: data.check(),
        lambda: list(data.batches(2)),
    ):
        with pytest.raises(sftui.SftuiError, match="the data is closed; open it again"):
            use()


def test_threads_get_the_rows_that_one_gets() -> None:
    with sftui.open(CHAT, **GIVEN) as data:
        alone = [row.input_ids for row in data]
        found: dict[int, list[tuple[int, ...]]] = {}

        def work(number: int) -> None:
            order = range(len(alone)) if number % 2 else reversed(range(len(alone)))
            made = (
                {at: data[at].input_ids for at in order} if number < 4 else dict(enumerate(r.input_ids for r in data))
            )
            found[number] = [made[at] for at in range(len(alone))]

        threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(found) == 6 and all(one == alone for one in found.values())


def test_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(str(REPO / "sftui" / "tokens" / "builtin" / "chatml"), model_max_length=5)
    capfd.readouterr()
    with sftui.open(CHAT, tokenizer=tokenizer) as data:
        list(data)
    with sftui.open(CHAT, **GIVEN, trainer="axolotl") as data:
        list(data)
        data.check()
        data.encode().to_arrow()
    assert capfd.readouterr() == ("", "")


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files are counted on Linux")
def test_what_nobody_closes_is_closed_with_its_last_table(tmp_path: Path) -> None:
    import gc
    import shutil

    data = tmp_path / CHAT.name  # the sample itself may be open in what other tests left behind
    shutil.copy(CHAT, data)

    def files() -> int:
        gc.collect()
        return sum(data.samefile(one) for one in Path("/proc/self/fd").iterdir() if one.exists())

    table = sftui.encode(data, **GIVEN)
    assert files() == 1 and table.to_arrow().num_rows == 43
    del table
    assert files() == 0


def test_data_that_its_trainer_does_not_read_opens_and_says_so() -> None:
    rows = [{"question": "1 + 1?", "answer": "2"}] * 3
    with sftui.open(rows, tokenizer="builtin:chatml", trainer="trl") as data:
        assert "KeyError: 'text'" in repr(data[0])
        report = data.check()
        assert [one.code for one in report.verdict] == ["ROW009"] and report.verdict[0].rows == 3
        assert [one.findings[0].count for one in report.findings if one.code == "ROW009"] == [1]
        assert [one.name for one in report.figures.finding_sets] == ["stopped without a finding"]
        with pytest.raises(sftui.SftuiError, match="KeyError: 'text'"):
            data.encode()


def test_a_preference_has_both_sides() -> None:
    rows = [{"prompt": "2+2 =", "chosen": " four", "rejected": " five<|im_end|>\n"}]
    data = sftui.open(rows, tokenizer="builtin:chatml", trainer="trl", set={"loss.objective": "dpo"})
    row = data[0]
    assert row.rejected is not None and row.rejected.rejected is None
    assert row.input_ids == row.parts[0].input_ids and row.rejected.input_ids == row.parts[1].input_ids
    assert row.trained == 2 and row.rejected.trained == 4 and row.rejected.text == "2+2 = five<|im_end|>\n"
    assert {one.code for one in row.rejected.findings} >= {"EOS007"}
    assert all(one.side == "rejected" for one in row.rejected.findings)
    assert len(row.rejected.tokens) == len(row.rejected.reasons) == len(row.rejected.labels)


def test_the_totals_of_pairs_are_those_of_both_sides() -> None:
    rows = [{"prompt": "2+2 =", "chosen": " four", "rejected": " five<|im_end|>\n"}]
    data = sftui.open(rows, tokenizer="builtin:chatml", trainer="trl", set={"loss.objective": "dpo"})
    written, row = data.encode(), data[0]
    assert len(list(written.records())) == 2 and written.written is not None
    totals = written.written.totals
    assert row.rejected is not None and totals.rows == totals.kept == 1
    assert totals.tokens == len(row.input_ids) + len(row.rejected.input_ids) and totals.trained == 6
    assert repr(row.parts[1]) == f"<{len(row.rejected.input_ids)} tokens, 4 trained>"
