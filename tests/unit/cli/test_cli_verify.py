"""`sftui verify` with stub runners: what it asks, what it prints, and what it says where it cannot.

The stub answers with what sftui itself would say, so that a fault put into a rule shows; the real
trainers are asked in tests/parity.
"""

from __future__ import annotations

import json
import stat
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from sftui.cli import verify
from sftui.cli.loading import loaded_session
from sftui.recipe import changed
from sftui.runs import labelled
from sftui.session.options import OpenOptions
from sftui.session.verifying import through
from sftui.trainers import preset

TURNS = [("user", "Hello?"), ("assistant", "Hi."), ("user", "And?"), ("assistant", "Well.")]
GOOD = [{"messages": [{"role": role, "content": text} for role, text in TURNS[:n]]} for n in (2, 4, 2)]


class Stub:
    """A trainer that does what sftui's rules say at the time it is made."""

    def __init__(
        self, path: Path, monkeypatch: pytest.MonkeyPatch, version: str = "0.19.0", template: str = "tokenizer"
    ) -> None:
        recipe = changed(preset("axolotl@0.19"), "tokenizer.name", "builtin:chatml")
        recipe = changed(recipe, "render.template", template)
        opened = loaded_session(OpenOptions((str(path),), recipe=recipe))
        self.rows = [(one.row.index, one.example) for one in opened.all_rows()]
        opened.close()
        self.asked: list[dict[str, Any]] = []
        self.error: dict[str, str] | None = None
        monkeypatch.setattr(verify, "installed_version", lambda python, trainer: version)
        monkeypatch.setattr(verify, "ask", self.answer)

    def answer(self, python: Path, trainer: str, requests: list[Mapping[str, Any]], errors: Any) -> Any:
        [request] = requests
        held = {
            **request,
            "files": {p.name: p.read_text() for p in Path(request["output"]).parent.glob("*.yml")},
            "tokenizer_files": sorted(p.name for p in Path(request["tokenizer"]).iterdir()),
        }
        self.asked.append(held)
        records: list[dict[str, Any]] = [
            {"kind": "head", "rows_in": len(request["rows"]), "error": self.error, "trainer": trainer}
        ]
        for row, example in self.rows if self.error is None else []:
            if example is not None:
                records.append(
                    {"kind": "row", "row": row, "input_ids": list(example.input_ids), "labels": list(example.labels)}
                )
        Path(request["output"]).write_text("".join(json.dumps(record) + "\n" for record in records))
        yield {"error": self.error}


@pytest.fixture
def chats(tmp_path: Path) -> Path:
    path = tmp_path / "chats.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in GOOD))
    return path


@pytest.fixture
def stub(chats: Path, monkeypatch: pytest.MonkeyPatch) -> Stub:
    return Stub(chats, monkeypatch)


WORDS = ("-t", "builtin:chatml", "--trainer", "axolotl", "--python", sys.executable)


def test_equal_rows_are_told(sftui: Callable[..., Any], chats: Path, stub: Stub) -> None:
    done = sftui("verify", chats, *WORDS)
    assert (done.code, done.out) == (0, "3 of 3 rows equal to axolotl 0.19.0\n")


def test_the_trainer_is_asked_with_the_recipes_own_keys(sftui: Callable[..., Any], chats: Path, stub: Stub) -> None:
    sftui("verify", chats, *WORDS, "--set", "own.train_on_eos=last", "--max-length", "64")
    [asked] = stub.asked
    assert asked["rows"] == GOOD and "tokenizer.json" in asked["tokenizer_files"]
    config = asked["files"][Path(asked["config_file"]).name]
    assert "sequence_len: 64" in config and "train_on_eos: last" in config


def test_a_fault_in_a_rule_is_found_and_named_by_row_and_token(
    sftui: Callable[..., Any], chats: Path, stub: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A deliberately broken rule: the last trained token of every row loses its label."""
    from dataclasses import replace

    from sftui.trainers.axolotl.trainer import Axolotl

    right = Axolotl.label

    def broken(self: Any, *given: Any) -> Any:
        tokens, labels = right(self, *given)
        values = list(labels.labels)
        values[max(i for i, v in enumerate(values) if v != -100)] = -100
        return tokens, replace(labels, values=values, ranges=labelled(values))

    monkeypatch.setattr(Axolotl, "label", broken)
    done = sftui("verify", chats, *WORDS)
    assert done.code == 1 and "0 of 3 rows equal" in done.out
    first = done.out.splitlines()[0]
    assert (
        first.startswith("row 0, token ")
        and "`<|im_end|>`: the trainer trains it (label " in first
        and first.endswith("sftui masks it (-100)")
    )
    assert len(done.out.splitlines()) == 4


def test_the_first_rows_number_is_the_datasets_own(
    sftui: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sample leaves rows out, and a row that cannot be read is left out: numbers stay those of the data."""
    path = tmp_path / "gaps.jsonl"
    path.write_text("".join(f"{line}\n" for line in (json.dumps(GOOD[0]), '{"messages": [', json.dumps(GOOD[1]))))
    stub = Stub(path, monkeypatch)
    stub.rows = [(0, stub.rows[0][1]), (1, stub.rows[0][1])]
    done = sftui("verify", path, *WORDS)
    assert done.code == 1 and done.out.startswith("row 2, token ") and "1 of 2 rows equal" in done.out
    assert "1 row cannot be read and is left out" in done.err


def test_a_row_that_the_trainer_drops_is_told(sftui: Callable[..., Any], chats: Path, stub: Stub) -> None:
    del stub.rows[1]
    done = sftui("verify", chats, *WORDS)
    assert done.code == 1 and done.out.startswith("row 1: dropped by the trainer, kept by sftui")


@pytest.mark.parametrize(("made", "equal"), [(0, 0), (1, 1), (9, 2)])
def test_packs_that_only_one_side_makes_are_not_equal(
    sftui: Callable[..., Any], chats: Path, monkeypatch: pytest.MonkeyPatch, made: int, equal: int
) -> None:
    """A trainer that makes another number of packs: the first ones are sftui's own, what goes beyond is not."""
    recipe = changed(changed(preset("trl@1.16"), "tokenizer.name", "builtin:chatml"), "pack.strategy", "wrapped")
    opened = loaded_session(OpenOptions((str(chats),), recipe=changed(recipe, "length.max", 40)))
    assert opened.tools is not None
    packs = through([one for one in opened.all_rows()], opened.recipe, opened.tools).packs
    opened.close()
    assert len(packs) == 2
    records = [
        {"kind": "pack", "input_ids": list(one.input_ids), "labels": list(one.labels)}
        for one in [*packs, *packs, *packs, *packs, *packs][:made]
    ]

    def answer(python: Path, trainer: str, requests: list[Mapping[str, Any]], errors: Any) -> Any:
        head = {"kind": "head", "rows_in": 3, "error": None, "trainer": trainer}
        Path(requests[0]["output"]).write_text("".join(json.dumps(one) + "\n" for one in [head, *records]))
        yield {"error": None}

    monkeypatch.setattr(verify, "installed_version", lambda python, trainer: "1.16.0")
    monkeypatch.setattr(verify, "ask", answer)
    words = ("-t", "builtin:chatml", "--trainer", "trl", "--python", sys.executable)
    done = sftui("verify", chats, *words, "--set", "pack.strategy=wrapped", "--set", "length.max=40")
    told = f"{equal} of {max(made, 2)} packs equal to trl 1.16.0: it makes {made}, sftui 2\n"
    assert (done.code, done.out.splitlines(keepends=True)[-1]) == (1, told)


def test_the_rules_of_the_installed_version_are_taken(
    sftui: Callable[..., Any], chats: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Stub(chats, monkeypatch, "0.18.0")
    done = sftui("verify", chats, *WORDS)
    assert "axolotl 0.18.0" in done.out and "so rows may differ" not in done.err
    done = sftui("verify", chats, *WORDS[:2], "--trainer", "axolotl@0.19", *WORDS[4:])
    assert "axolotl 0.18.0 is installed in that environment, but sftui applies the rules of 0.19" in done.err


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            {"type": "ValueError", "message": "too\nlong"},
            "fails with ValueError: too long, because the run raised an error that sftui did not expect",
        ),
        (
            {"type": "ModuleNotFoundError", "message": "No module named 'torch'"},
            "No module named 'torch', because its environment is not complete",
        ),
    ],
)
def test_a_run_that_raises_is_told(
    sftui: Callable[..., Any], chats: Path, stub: Stub, error: dict[str, str], told: str
) -> None:
    stub.error = error
    done = sftui("verify", chats, *WORDS)
    assert (done.code, done.out) == (2, "") and told in done.err


def test_both_stopping_is_agreement(sftui: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(json.dumps(GOOD[0]) + "\n" + json.dumps({"messages": "nothing"}) + "\n")
    stub = Stub(path, monkeypatch)
    stub.error = {"type": "ValueError", "message": "no list"}
    done = sftui("verify", path, *WORDS)
    assert done.code == 0 and done.out.startswith(
        "both fail: axolotl fails with ValueError: no list; sftui says of row 1"
    )


def test_a_run_that_stops_since_every_row_is_dropped_is_agreement(
    sftui: Callable[..., Any], chats: Path, stub: Stub
) -> None:
    stub.error = {"type": "TypeError", "message": "no rows"}
    done = sftui("verify", chats, *WORDS, "--max-length", 3)
    told = "both fail: axolotl fails with TypeError: no rows; sftui says: Axolotl stops: all 3 rows are dropped"
    assert (done.code, done.err.count("did not expect")) == (0, 0) and done.out.startswith(told)


def test_what_cannot_be_run_is_told(sftui: Callable[..., Any], chats: Path, tmp_path: Path) -> None:
    silent = tmp_path / "python"
    silent.write_text("#!/bin/sh\necho broken >&2\nexit 1\n")
    silent.chmod(silent.stat().st_mode | stat.S_IEXEC)
    base = ("verify", chats, "-t", "builtin:chatml")
    for words, told in (
        (("--trainer", "axolotl", "--python", tmp_path / "none"), "cannot be run, because no such file"),
        (("--trainer", "axolotl", "--python", sys.executable), f"axolotl is not installed for {sys.executable}"),
        (("--trainer", "unsloth", "--python", sys.executable), "unsloth_zoo is not installed"),
        (("--trainer", "axolotl", "--python", silent), "because broken"),
        (("--trainer", "hf-trainer", "--python", sys.executable), "hf-trainer cannot be verified"),
        (("--python", sys.executable), "--trainer trl"),
    ):
        done = sftui(*base, *words)
        assert (done.code, done.out) == (2, "") and told in done.err


def test_the_day_is_named_where_it_is_the_difference(
    sftui: Callable[..., Any], chats: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    template = tmp_path / "dated.jinja"
    template.write_text(
        "{{ strftime_now('%Y') }}{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n"
        "{% endfor %}"
    )
    Stub(chats, monkeypatch, template=f"file:{template}")
    words = (*WORDS, "--template", template)
    assert sftui("verify", chats, *words).code == 0
    done = sftui("verify", chats, *words, "--set", "render.date=2001-02-03")
    assert done.code == 1 and "0 of 3 rows equal" in done.out
    assert done.out.endswith(
        "They differ because the template writes the date: the trainer writes the date of its run, and sftui writes"
        " render.date, 2001-02-03\n"
    )
    assert "Axolotl inserts the date of its run" in done.err
