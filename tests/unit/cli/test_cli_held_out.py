"""Commands on a config that sets rows aside for evaluation."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest

from sftui.sources.jsonl import JsonlSource
from sftui.trainers.held_out import HeldOut, evaluation_rows

AXOLOTL = "base_model: builtin:chatml\nsequence_len: 99\ndatasets:\n  - {path: d.jsonl, type: chat_template}\n"


def test_encode_marks_the_rows_set_aside(
    sftui: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello?"}]}
    (tmp_path / "d.jsonl").write_text((json.dumps(row) + "\n") * 20)
    (tmp_path / "c.yml").write_text(
        AXOLOTL.replace("base_model: m", "base_model: builtin:chatml") + "val_set_size: 0.1\nseed: 42\n"
    )
    monkeypatch.chdir(tmp_path)
    done = sftui("encode", "c.yml", "--trainer", "axolotl", "-o", "-")
    marked = {one["row"] for one in done.records() if one.get("split") == "evaluation"}
    held = HeldOut("val_set_size", 0.1, 42, drawn=False)
    assert done.code == 0 and marked == evaluation_rows(held, [True] * 20), done.err
    assert "2 of them held out for evaluation" in done.err


def test_without_a_seed_no_row_is_marked_and_the_key_is_named(
    sftui: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in CHATS))
    (tmp_path / "c.yml").write_text(AXOLOTL + "val_set_size: 0.1\n")
    monkeypatch.chdir(tmp_path)
    for words in (("encode", "-o", "-"), ("check",), ("show", "--row", "3"), ("compare", "--with", "axolotl@0.19")):
        done = sftui(words[0], "c.yml", "--trainer", "axolotl", *words[1:])
        assert "without `seed`, each run draws different rows (set it)" in done.err + done.out, words
        assert "seed 42" not in done.err + done.out and '"split": "evaluation"' not in done.out


CHATS = [
    {"messages": [{"role": "user", "content": f"Hi {i}"}, {"role": "assistant", "content": "Yes " * (i % 9 + 1)}]}
    for i in range(40)
]
FACTORY = (
    "model_name_or_path: builtin:chatml\nstage: sft\ndataset_dir: .\ndataset: d\ntemplate: chatml\ncutoff_len: 96\n"
    "val_size: 0.25\nseed: 7\n"
)
CONFIGS = {
    "axolotl": AXOLOTL + "val_set_size: 0.1\nseed: 42\nsample_packing: true\n",
    "axolotl rows": AXOLOTL + "val_set_size: 0.1\nseed: 42\nsample_packing: true\neval_sample_packing: false\n",
    "llamafactory": FACTORY + "packing: true\n",
}


@pytest.fixture
def config(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """A config that holds rows out, and its trainer; the working folder is its own."""
    (tmp_path / "d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in CHATS))
    tags = {"role_tag": "role", "content_tag": "content", "user_tag": "user", "assistant_tag": "assistant"}
    entry = {"file_name": "d.jsonl", "formatting": "sharegpt", "columns": {"messages": "messages"}, "tags": tags}
    (tmp_path / "dataset_info.json").write_text(json.dumps({"d": entry}))
    (tmp_path / "c.yml").write_text(CONFIGS[request.param])
    monkeypatch.chdir(tmp_path)
    return "c.yml", request.param.partition(" ")[0]


@pytest.mark.parametrize("config", CONFIGS, indirect=True)
def test_no_pack_holds_rows_of_both_kinds(sftui: Callable[..., Any], config: tuple[str, str]) -> None:
    file, trainer = config
    plain = sftui("encode", file, "--trainer", trainer, "--unpacked", "-o", "-").records()
    aside = {one["row"] for one in plain if one.get("split") == "evaluation"}
    done = sftui("encode", file, "--trainer", trainer, "--explain", "-o", "-")
    assert done.code == 0 and len(aside) == (10 if trainer == "llamafactory" else 4)
    seen: dict[bool, list[int]] = {True: [], False: []}
    for one in done.records():
        held = one.get("split") == "evaluation"
        seen[held] += [d["row"] for d in one["documents"]] if "pack" in one else [one["row"]]
        assert len({len(one[name]) for name in ("input_ids", "tokens", "reasons", "spans")}) == 1
        along = zip(one["labels"], one["reasons"])
        assert {label == -100 for label, reason in along if reason in ("assistant", "terminator")} <= {False}
    assert sorted(seen[True]) == sorted(aside) and sorted(seen[False]) == sorted(set(range(40)) - aside)
    assert f"{len(aside)} of them held out for evaluation" in done.err
    packed = {one["split"] for one in done.records() if "pack" in one and "split" in one}
    assert packed == (set() if "eval_sample_packing: false" in Path(file).read_text() else {"evaluation"})


@pytest.mark.one_of(2)
@pytest.mark.parametrize("config", ["axolotl", "llamafactory"], indirect=True)
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_figures_are_of_the_rows_that_train(
    sftui: Callable[..., Any], config: tuple[str, str], jobs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, trainer = config
    monkeypatch.setattr("sftui.session.checking.SPAWNED", 1)
    plain = sftui("encode", file, "--trainer", trainer, "--unpacked", "-o", "-").records()
    trained = sum(len([i for i in one["labels"] if i != -100]) for one in plain if "split" not in one)
    aside = [one for one in plain if "split" in one]
    done = sftui("check", file, "--trainer", trainer, "--jobs", jobs)
    assert f"in 40 rows, {len(aside)} of them for evaluation" in done.out, done.err
    told = json.loads(sftui("check", file, "--trainer", trainer, "--format", "json").out)
    assert (told["rows"], told["evaluation_rows"]) == (40, len(aside))
    sftui("report", file, "--trainer", trainer, "-o", "r.html")
    report = Path("r.html").read_text()
    tokens = sum(len(one["input_ids"]) for one in aside)
    assert f"<dt>Of these for evaluation</dt><dd>{len(aside)}, {tokens} tokens</dd>" in report
    assert f"{40 - len(aside)} rows, " in report and f" tokens, {trained:,} trained" in report


SENTENCE = "evaluation row: the trainer holds it out and does not train on it"


def aside_of(sftui: Callable[..., Any], file: str, trainer: str) -> set[int]:
    """The rows that `encode` marks."""
    rows = sftui("encode", file, "--trainer", trainer, "--unpacked", "-o", "-").records()
    return {one["row"] for one in rows if "split" in one}


@pytest.mark.parametrize("config", ["axolotl", "llamafactory"], indirect=True)
def test_show_says_which_rows_evaluate(sftui: Callable[..., Any], config: tuple[str, str]) -> None:
    file, trainer = config
    aside = aside_of(sftui, file, trainer)
    rows = [min(aside), min(set(range(40)) - aside)]
    for row, held in zip(rows, (True, False)):
        head, second, *_ = sftui("show", file, "--trainer", trainer, "--row", row).out.splitlines()
        assert (head.endswith("· evaluation row"), second == SENTENCE) == (held, held), head
        assert (" trained (" in head) != held
        [made] = sftui("show", file, "--trainer", trainer, "--row", row, "--format", "json", "--explain").records()
        assert made.get("split") == ("evaluation" if held else None)


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ("axolotl", "every row must be prepared to know which; `sftui encode` marks them"),
        ("llamafactory", "every row must be counted to know which; `sftui encode` marks them"),
    ],
    indirect=["config"],
)
def test_show_does_not_go_through_large_data(
    sftui: Callable[..., Any], config: tuple[str, str], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if the 40 rows were large: too many to prepare, and their file too long to be looked through."""
    monkeypatch.setattr("sftui.cli.show.PREPARED", 400)
    monkeypatch.setattr("sftui.cli.show.PATIENCE", 0.0)
    monkeypatch.setattr("sftui.session.opened.AT_LEAST", 0)
    monkeypatch.setattr("sftui.cli.loading.LOOK_BYTES", 1)
    monkeypatch.setattr(JsonlSource, "index_more", lambda self, seconds: pytest.fail("the file is read through"))
    file, trainer = config
    key = "val_size" if trainer == "llamafactory" else "val_set_size"
    done = sftui("show", file, "--trainer", trainer, "--row", 3)
    assert done.code == 0 and "evaluation" not in done.out
    assert f"sftui: rows held out for evaluation ({key}) are not marked: {why}\n" in done.err


def test_show_of_a_config_that_holds_nothing_out_reads_no_other_row(
    sftui: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in CHATS))
    (tmp_path / "c.yml").write_text(AXOLOTL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sftui.session.opened.array", lambda *parts: pytest.fail("rows are gone through"))
    done = sftui("show", "c.yml", "--trainer", "axolotl", "--row", 3)
    assert done.code == 0 and "evaluation" not in done.out + done.err


def compared(sftui: Callable[..., Any], *words: str) -> tuple[dict[str, Any], Any]:
    [made] = sftui("compare", *words, "--format", "json", "--show", "99").records()
    return made, sftui("compare", *words, "--width", "200")


@pytest.mark.parametrize("config", ["axolotl", "llamafactory"], indirect=True)
def test_compare_says_where_the_sides_hold_out_other_rows(sftui: Callable[..., Any], config: tuple[str, str]) -> None:
    file, trainer = config
    aside = aside_of(sftui, file, trainer)
    options = {"axolotl": "{val_set_size: 0.1, seed: 43}", "llamafactory": "{val_size: 0.25, seed: 8}"}[trainer]
    plain = sftui("encode", file, "--trainer", trainer, "--unpacked", "-o", "-").records()
    tokens = {one["row"]: len(one["input_ids"]) for one in plain}
    made, done = compared(sftui, file, "--trainer", trainer, "--with", f"'own={options}'")
    rows = {row["row"] for row in made["first"]}
    ours, theirs = ({r["row"] for r in made["first"] if r["sides"][k].get("split") == "evaluation"} for k in (0, 1))
    assert ours and theirs and ours <= aside and rows == ours ^ theirs and not ours & theirs
    assert (made["differing_rows"], made["evaluation_differing_rows"], made["differing_tokens"]) == (len(rows),) * 2 + (
        0,
    )
    first, second = made["sides"]
    assert (first["evaluation_rows"], second["evaluation_rows"]) == (len(aside), len(aside))
    assert first["evaluation_tokens"] == sum(tokens[row] for row in aside)
    assert first["tokens"] == sum(count for row, count in tokens.items() if row not in aside)
    assert done.code == 1
    apart = f"{len(rows)} of them are held out for evaluation on only some sides"
    assert f"{len(rows)} of 40 rows differ; {apart}" in done.out
    assert (
        f"tokens trained ({100 * first['trained'] / first['tokens']:.1f} %), {len(aside)} rows for evaluation"
        in done.out
    )


@pytest.mark.parametrize("config", ["axolotl", "llamafactory"], indirect=True)
def test_compare_of_sides_that_hold_out_the_same_rows_finds_no_difference(
    sftui: Callable[..., Any], config: tuple[str, str]
) -> None:
    file, trainer = config
    made, done = compared(sftui, file, "--trainer", trainer, "--with", "pack.strategy=none")
    assert done.code == 0 and "nothing differs in 40 rows" in done.out
    assert made["evaluation_differing_rows"] == 0 and made["sides"][0]["evaluation_rows"] in (4, 10)


@pytest.mark.parametrize("config", ["axolotl", "llamafactory"], indirect=True)
def test_compare_of_some_rows_does_not_prepare_the_others(
    sftui: Callable[..., Any], config: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sftui.cli.compare.PREPARED", 400)
    file, trainer = config
    made, done = compared(sftui, file, "--trainer", trainer, "--with", "trl@1.16", "--max-rows", "12")
    unsure = trainer == "axolotl"
    told = "A axolotl@0.21: rows held out for evaluation (val_set_size) are not marked: every row must be prepared to"
    assert (told in done.err) == unsure
    aside = set() if unsure else aside_of(sftui, file, trainer) & set(range(12))
    assert made["evaluation_differing_rows"] == len(aside) and made["sides"][0]["evaluation_rows"] == len(aside)
    for words in (("--max-rows", "12"), ("--sample", "20")):
        made, done = compared(sftui, file, "--trainer", trainer, "--with", "pack.strategy=none", *words)
        assert done.code == 0 and ("B pack.strategy=none: rows held out" in done.err) == unsure
        assert len({side["evaluation_rows"] for side in made["sides"]}) == 1
        assert bool(made["sides"][0]["evaluation_rows"]) != unsure


def test_rows_of_a_side_whose_config_names_other_datasets_are_not_marked(
    sftui: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other datasets of that config count, too: its draw is not that of these rows alone."""
    (tmp_path / "d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in CHATS))
    one = "  - {path: d.jsonl, type: chat_template}\n"
    (tmp_path / "two.yml").write_text(AXOLOTL + one + "val_set_size: 0.1\nseed: 42\n")
    monkeypatch.chdir(tmp_path)
    base = ("d.jsonl", "-t", "builtin:chatml", "--trainer", "axolotl")
    made, done = compared(sftui, *base, "--set", "length.max=96", "--with", "two.yml")
    assert "B two.yml: rows held out for evaluation (val_set_size) are not marked: the rows of the config's" in done.err
    assert made["evaluation_differing_rows"] == 0 and not any(side["evaluation_rows"] for side in made["sides"])
    (tmp_path / "two.yml").write_text(AXOLOTL + "val_set_size: 0.1\nseed: 42\n")
    made, done = compared(sftui, *base, "--set", "length.max=96", "--with", "two.yml")
    assert "not marked" not in done.err and [side["evaluation_rows"] for side in made["sides"]] == [0, 4]


DATA = "datasets:\n  - {path: json, data_files: d.jsonl}\n"
TRL = "model_name_or_path: builtin:chatml\nmax_length: 64\npacking: true\n%s" + DATA


@pytest.mark.parametrize("strategy", ["bfd", "bfd_split", "wrapped"])
def test_packs_are_made_of_the_shuffled_rows(
    sftui: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, strategy: str
) -> None:
    """trl 1.16.0 shuffles the rows, packs them, and shuffles the packs; both with the seed of the run."""
    monkeypatch.chdir(tmp_path)
    order = [int(row) for row in numpy.random.default_rng(7).permutation(40)]
    for name, rows in (("c", CHATS), ("d", [CHATS[row] for row in order])):
        (tmp_path / "d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        more = f"packing_strategy: {strategy}\n" + ("shuffle_dataset: true\nseed: 7\n" if name == "c" else "")
        (tmp_path / f"{name}.yml").write_text(TRL % more)
        done = sftui("encode", f"{name}.yml", "--trainer", "trl", "-o", "-")
        assert done.code == 0 and ("as shuffled with seed 7" in done.err) == (name == "c")
        if name == "c":
            shuffled = done.records()
    plain = done.records()
    again = [int(pack) for pack in numpy.random.default_rng(7).permutation(len(plain))]
    assert [one["input_ids"] for one in shuffled] == [plain[pack]["input_ids"] for pack in again]
    assert [one["pack"] for one in shuffled] == list(range(len(plain)))


def test_verl_draws_the_rows_that_it_reads(
    sftui: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pyarrow
    import pyarrow.parquet

    monkeypatch.chdir(tmp_path)
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(CHATS), tmp_path / "d.parquet")
    text = "data: {train_files: d.parquet, train_max_samples: 9, shuffle: true%s}\nmodel: {path: 'builtin:chatml'}\n"
    chosen = {int(row) for row in numpy.random.default_rng(5).choice(40, size=9, replace=False)}
    (tmp_path / "c.yaml").write_text(text % ", seed: 5")
    done = sftui("encode", "c.yaml", "--trainer", "verl", "--set", "batch.size=2", "-o", "-")
    kept = {one["row"] for one in done.records() if one.get("input_ids") and "dropped" not in one}
    assert kept == chosen and done.code == 0 and "31 dropped by the trainer" in done.err, done.err
    assert "draws 9 rows with seed 5" in done.err
    checked = sftui("check", "c.yaml", "--trainer", "verl", "--set", "batch.size=2")
    assert "31 warnings" in checked.out and "raise data.train_max_samples" in checked.out, checked.out
    (tmp_path / "c.yaml").write_text(text % "")
    done = sftui("encode", "c.yaml", "--trainer", "verl", "--set", "batch.size=2", "-o", "-")
    assert (
        "cannot be distinguished from those that are not read: without `data.seed`, each run draws different rows (set"
        " it)" in done.err
    )
