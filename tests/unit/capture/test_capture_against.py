"""`sftui compare BATCHES --against DATA`: captured sequences beside the dataset as sftui prepares it, and causes."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from test_capture_opened import ABOUT, batch, written

from sftui.cli import main
from sftui.model import Batch
from sftui.session.arguments import Arguments
from sftui.session.ready import open_data, tokenized

ROWS = [
    {
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": f"What is {number} plus {number + 1}, and why is that so?"},
            {"role": "assistant", "content": f"It is {2 * number + 1}, since sums are so."},
            {"role": "user", "content": f"And {number} times two?"},
            {"role": "assistant", "content": f"That is {2 * number}."},
        ]
    }
    for number in range(3, 15)
]

Compare = Callable[..., tuple[int, str]]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


@pytest.fixture
def compare(tmp_path: Path, data: Path, capsys: pytest.CaptureFixture[str]) -> Compare:
    """`compare(path, *options)` → exit code and stdout, against the rows."""

    def run(path: Path, *options: str) -> tuple[int, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(["compare", str(path), "--against", str(data), *options])
        out = capsys.readouterr()
        return int(str(ended.value.code)), out.out or out.err

    return run


@contextlib.contextmanager
def prepared(data: Path, **asked: Any) -> Any:
    options, _ = Arguments(data=(str(data),), tokenizer="builtin:chatml", **asked).options()
    with contextlib.closing(open_data(options)) as opened:
        yield tokenized(opened).ready()


def as_batch(made: Batch) -> dict[str, Any]:
    tensors: dict[str, Any] = {
        "input_ids": [list(row) for row in made.input_ids],
        "labels": [list(row) for row in made.labels],
    }
    for name in ("attention_mask", "position_ids"):
        values = getattr(made, name)
        if values is not None:
            tensors[name] = [list(row) for row in values]
    return batch(tensors)


def run_of(
    tmp_path: Path, data: Path, starts: Sequence[int] = (4, 0), about: dict[str, Any] = ABOUT, **asked: Any
) -> Path:
    """What a run would have had that prepares the rows so: batches of three, from these rows on."""
    with prepared(data, **asked) as session:
        return written(tmp_path / "b.parquet", *(as_batch(session.batch(start, 3)) for start in starts), about=about)


def test_what_a_run_had_is_found_row_by_row(tmp_path: Path, data: Path, compare: Compare) -> None:
    code, out = compare(run_of(tmp_path, data))
    assert (code, out) == (0, "6 of 6 sequences identical to what hf-trainer makes from the dataset\n")


def test_the_release_and_the_tokenizer_are_those_of_the_run(tmp_path: Path, data: Path, compare: Compare) -> None:
    about = {**ABOUT, "trainer": "trl.trainer.SFTTrainer", "versions": {"trl": "1.14.0"}}
    code, out = compare(run_of(tmp_path, data, about=about, trainer="trl@1.14"))
    assert (code, out) == (0, "6 of 6 sequences identical to what trl@1.14.0 makes from the dataset\n")


@pytest.mark.parametrize(
    "asked, why",
    [
        ({"knobs": (("mask.rule", "assistant"),)}, "mask.rule assistant (not completion)"),
        ({"max_length": 40}, "length.max 40 (not null)"),
        (
            {"knobs": (("mask.rule", "all"),), "max_length": 50},
            "mask.rule all (not completion), length.max 50 (not null)",
        ),
        ({"knobs": (("mask.terminator", "mask"),)}, "mask.terminator mask (not train)"),
    ],
)
def test_the_change_that_makes_them_equal(
    tmp_path: Path, data: Path, compare: Compare, asked: dict[str, Any], why: str
) -> None:
    code, out = compare(run_of(tmp_path, data, **asked))
    assert code == 1
    assert out.splitlines()[-1] == f"6 sequences equal with {why}"
    assert "0 of 6 sequences identical" in out


def test_another_template_in_the_run(tmp_path: Path, data: Path, compare: Compare) -> None:
    template = (
        "{% for m in messages %}<|im_start|>{{ m.role }}: {{ m.content }}<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant: {% endif %}"
    )
    file = tmp_path / "t.jinja"
    file.write_text(template)
    about = {**ABOUT, "tokenizer": {**ABOUT["tokenizer"], "chat_template": template}}
    code, out = compare(run_of(tmp_path, data, about=about, template=str(file)))
    assert code == 1
    assert out.splitlines()[-1] == "6 sequences equal with the chat template of the run's tokenizer"


def test_labels_of_a_collator_of_ones_own_have_no_setting(tmp_path: Path, data: Path, compare: Compare) -> None:
    with prepared(data) as session:
        made = as_batch(session.batch(0, 3))
    for ids, labels in zip(made["tensors"]["input_ids"], made["tensors"]["labels"]):
        labels[::7] = ids[::7]
    path = written(tmp_path / "b.parquet", made, about={**ABOUT, "collator": "mine.collate"})
    code, out = compare(path, "--show", "1")
    assert code == 1
    assert out.splitlines() == [
        "0 of 3 sequences identical to what hf-trainer makes from the dataset",
        "row 0 is row 0 of the dataset; token 0 <|im_start|> (3001): the run trains it (label 3001), sftui masks it",
        "… and 2 more (--show N prints more)",
        "3 sequences: no change to one or two settings, and no version that was tried, makes them equal; the run's"
        " collator is"
        " mine.collate",
    ]


def test_a_formatting_function_is_named_with_the_cut_and_what_is_trained(
    tmp_path: Path, data: Path, compare: Compare
) -> None:
    """Its texts are others than those of the rows: an answer of another end, cut at 24, and all of it trained."""
    with prepared(data) as session:
        made = as_batch(session.batch(0, 3))
    ids = [[*row[:3], 999, *row[3:23]] for row in made["tensors"]["input_ids"]]
    ids[2][-1] = 998
    cut = batch({"input_ids": ids, "labels": [list(row) for row in ids]})
    about = {**ABOUT, "collator": "mine.collate", "formatting": "mine.as_text"}
    code, out = compare(written(tmp_path / "b.parquet", cut, about=about), "--show", "0")
    assert code == 1 and "collator" not in out
    assert out.splitlines()[-3:] == [
        "the run builds its text with the formatting function mine.as_text; sftui uses the rows as stored",
        "3 of 3 sequences have 24 tokens: the run truncates there",
        "every token is trained in 3 of 3 sequences, including questions",
    ]


def test_a_sequence_of_no_row(tmp_path: Path, data: Path, compare: Compare) -> None:
    path = written(tmp_path / "b.parquet", batch({"input_ids": [[300, 7, 301, 9, 302, 11, 303, 13]]}, labels_from=None))
    code, out = compare(path)
    assert code == 1
    assert out.splitlines()[1] == "row 0: no row of the dataset resembles it"


def test_a_row_that_the_dataset_lacks_is_told_as_such(tmp_path: Path, data: Path, compare: Compare) -> None:
    """It begins as all rows do, by one system prompt, and no setting makes it equal to any of them."""
    texts = ("user", "Where do swallows go in winter?"), ("assistant", "Most of them fly south, across a whole sea.")
    row = {"messages": [ROWS[0]["messages"][0], *({"role": role, "content": text} for role, text in texts)]}
    other = tmp_path / "other.jsonl"
    other.write_text(json.dumps(row) + "\n")
    with prepared(other, trainer="trl@1.16.0") as ready:
        (made,) = ready.inspect_many(ready.rows())
        example = made.examples[0]
        ids = [[*example.input_ids]]
    path = written(tmp_path / "b.parquet", batch({"input_ids": ids, "labels": ids}))
    code, out = compare(path, "--trainer", "trl")
    assert code == 1
    assert out.splitlines()[1:] == [
        "row 0: no row of the dataset resembles it",
        "1 sequence match no row: they come from different rows or a different tokenizer",
    ]


@pytest.mark.parametrize("trainer", ["trl@1.16", "axolotl@0.21"])
def test_the_documents_of_packs(tmp_path: Path, data: Path, compare: Compare, trainer: str) -> None:
    strategy = {"trl@1.16": "bfd", "axolotl@0.21": "multipack"}[trainer]
    knobs = (("pack.strategy", strategy), ("length.max", 400))
    with prepared(data, trainer=trainer, knobs=knobs) as session:
        packs, made = session.packs([session.inspect(number) for number in range(len(ROWS))])
        path = written(tmp_path / "b.parquet", as_batch(made))
    words = ("--trainer", trainer, "--set", f"pack.strategy={strategy}", "--max-length", "400")
    code, out = compare(path, *words)
    same = f"{len(ROWS)} of {len(ROWS)} sequences identical to what {trainer} makes from the dataset\n"
    assert (code, out) == (0, same)
    assert sum(len(pack.documents) for pack in packs) == len(ROWS) > len(packs)


def test_clipped_sequences_are_compared_as_far_as_they_go(tmp_path: Path, data: Path, compare: Compare) -> None:
    with prepared(data) as session:
        made = as_batch(session.batch(0, 3))
    made["tensors"] = {name: [row[:20] for row in rows] for name, rows in made["tensors"].items()}
    code, out = compare(written(tmp_path / "b.parquet", made, about={**ABOUT, "clip": 20}))
    assert (code, out) == (0, "3 of 3 sequences identical to what hf-trainer makes from the dataset\n")


def test_the_same_as_one_record(tmp_path: Path, data: Path, compare: Compare) -> None:
    code, out = compare(run_of(tmp_path, data, starts=(2,), max_length=40), "--format", "json")
    record = json.loads(out)
    assert (code, record["sequences"], record["equal"], len(record["differing"])) == (1, 3, 0, 3)
    assert record["differing"][0] == {
        "row": 0,
        "document": 0,
        "dataset_row": 2,
        "what": "ids",
        "token": 40,
        "run": None,
        "sftui": record["differing"][0]["sftui"],
        "why": [{"knob": "length.max", "from": None, "to": 40}],
    }


def test_rows_that_are_no_ids_are_refused(data: Path, compare: Compare) -> None:
    code, out = compare(data, "-t", "builtin:chatml")
    assert code == 2
    assert "row 0 cannot be looked up, because it has no input_ids; name captured batches or stored ids" in out


def test_other_options_of_compare_do_not_go_with_it(tmp_path: Path, data: Path, compare: Compare) -> None:
    code, out = compare(run_of(tmp_path, data), "--with", "mask.rule=all")
    assert code == 2 and "--against compares every sequence" in out


@pytest.mark.parametrize(("fill", "equal"), [(0, 3), (None, 1)])
def test_padding_of_a_collator_of_ones_own_is_known_by_what_it_does(
    tmp_path: Path, data: Path, compare: Compare, fill: int | None, equal: int
) -> None:
    """Filled with any id, without an attention mask. Where each sequence ends with another masked id, nobody can say
    that it is padding."""
    with prepared(data) as session:
        examples = [session.inspect(row).examples[0] for row in range(3)]
    padding = [((), ()), *(((fill if fill is not None else row,) * 4, (-100,) * 4) for row in (7, 8))]
    rows = [
        ((*one.input_ids, *ids), (*one.labels, *labels)) for one, (ids, labels) in zip(examples, padding, strict=True)
    ]
    stored = batch({"input_ids": [list(ids) for ids, _ in rows], "labels": [list(labels) for _, labels in rows]})
    _, out = compare(written(tmp_path / "b.parquet", stored))
    assert out.startswith(f"{equal} of 3 sequences identical to what hf-trainer makes from the dataset\n"), out


def _ahead(labels: list[int], places: int = 1) -> list[int]:
    return [*labels[places:], *[-100] * places] if places >= 0 else [*[-100] * -places, *labels[:places]]


TWICE = (
    "3 sequences equal with labels shifted twice: they are stored shifted, and the loss shifts them again, so"
    " each position learns the token after the next (LAB003)"
)
NEVER = (
    "3 sequences equal with unshifted labels: neither the data nor the loss shifts them, so each position"
    " learns its own token"
)


@pytest.mark.parametrize(
    ("places", "takes", "shift", "last"),
    [
        (0, None, "internal", None),
        (0, "next", "internal", None),
        (0, "same", "internal", NEVER),
        (0, None, "preshifted", NEVER),
        (0, "next", "preshifted", None),
        (1, None, "internal", TWICE),
        (1, "next", "internal", TWICE),
        (1, "next", "preshifted", TWICE),
        (1, "same", "internal", None),
        (1, None, "preshifted", None),
        (2, "same", "internal", TWICE),
        (2, None, "preshifted", TWICE),
        (-1, "next", "internal", NEVER),
    ],
)
@pytest.mark.parametrize("masks", [False, True])
def test_what_the_model_is_scored_on_is_compared_at_its_place(
    tmp_path: Path,
    data: Path,
    compare: Compare,
    places: int,
    takes: str | None,
    shift: str,
    last: str | None,
    masks: bool,
) -> None:
    """Labels are moved `places` to the left, and the loss takes the `next` one, or the `same`, or nobody saw which."""
    with prepared(data) as session:
        made = as_batch(session.batch(0, 3))
    made["tensors"]["labels"] = [_ahead(row, places) for row in made["tensors"]["labels"]]
    if not masks:
        del made["tensors"]["attention_mask"]
    about = {**ABOUT, "tokenizer": {**ABOUT["tokenizer"], "pad_id": 3000}}
    path = written(tmp_path / "b.parquet", {**made, "loss_takes": takes}, about=about)
    code, out = compare(path, "--set", f"loss.shift={shift}")
    assert code == (last is not None), out
    assert out.startswith(f"{0 if last else 3} of 3 sequences identical to what "), out
    assert last is None or out.splitlines()[-1] == last


@pytest.mark.parametrize("cut", [False, True])
def test_stored_ids_that_are_shifted_twice(tmp_path: Path, data: Path, compare: Compare, cut: bool) -> None:
    """Without a run: a column of labels moved by one, of which the last token may be cut from the ids."""
    with prepared(data) as session:
        rows = [session.inspect(number).examples[0] for number in range(3)]
    path = tmp_path / "ids.jsonl"
    stored = [
        {"input_ids": [*one.input_ids[:-1]], "labels": [*one.labels[1:]]}
        if cut
        else {"input_ids": [*one.input_ids], "labels": _ahead([*one.labels])}
        for one in rows
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in stored))
    code, out = compare(path, "-t", "builtin:chatml")
    assert code == 1 and out.startswith("0 of 3 sequences identical"), out
    assert out.splitlines()[-1] == TWICE
    code, out = compare(path, "-t", "builtin:chatml", "--set", "loss.shift=preshifted")
    assert code == 0 and out.startswith("3 of 3 sequences identical"), out


def test_a_second_shift_and_a_setting_are_told_together(tmp_path: Path, data: Path, compare: Compare) -> None:
    with prepared(data, knobs=(("mask.rule", "assistant"),)) as session:
        made = as_batch(session.batch(0, 3))
    made["tensors"]["labels"] = [_ahead(row) for row in made["tensors"]["labels"]]
    path = written(tmp_path / "b.parquet", made)
    code, out = compare(path)
    assert code == 1
    assert out.splitlines()[-1] == TWICE.replace("with labels", "with mask.rule assistant (not completion), and labels")
    _, out = compare(path, "--format", "json")
    assert {one["labels_moved"] for one in json.loads(out)["differing"]} == {1}


def test_a_run_of_which_some_batches_showed_their_loss(tmp_path: Path, data: Path, compare: Compare) -> None:
    """Of each sequence by itself it is known how its labels are taken."""
    with prepared(data) as session:
        first, second = (as_batch(session.batch(start, 3)) for start in (0, 3))
    targets = [_ahead(row) for row in second["tensors"]["labels"]]
    second["tensors"]["labels"] = targets
    path = written(tmp_path / "b.parquet", first, {**second, "loss_takes": "same"})
    code, out = compare(path)
    assert (code, out) == (0, "6 of 6 sequences identical to what hf-trainer makes from the dataset\n")


def test_a_label_of_the_weight_0_is_no_label(tmp_path: Path, data: Path, compare: Compare) -> None:
    with prepared(data) as session:
        made = as_batch(session.batch(0, 3))
    labels = made["tensors"]["labels"]
    made["tensors"]["loss_weights"] = [[float(one != -100) for one in row] for row in labels]
    made["tensors"]["labels"] = [[*row] for row in made["tensors"]["input_ids"]]
    made["shapes"]["loss_weights"] = made["shapes"]["input_ids"]
    code, out = compare(written(tmp_path / "b.parquet", made))
    assert (code, out) == (0, "3 of 3 sequences identical to what hf-trainer makes from the dataset\n")
