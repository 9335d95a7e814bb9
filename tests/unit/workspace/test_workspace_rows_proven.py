"""The tokenizer proven on the user's own rows: in commands before they answer, in the inspector behind the screen."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sftui.recipe import changed
from sftui.session.options import OpenOptions
from sftui.session.ready import (
    TEXT_CHARACTERS,
    TEXT_ROWS,
    Ready,
    open_data,
    prove_rows,
    row_texts,
    tokenized,
)
from sftui.tokens import builtin, load_tokenizer
from sftui.tokens.loading import cache
from sftui.trainers import preset
from sftui.workspace import events as ev

ODD = "zebrafish"
Row = dict[str, Any]


@pytest.fixture(autouse=True)
def proofs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFTUI_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "tokenizer"
    made.mkdir()
    for path in builtin.folder("chatml").glob("tokenizer*.json"):
        shutil.copyfile(path, made / path.name)
    return made


def talk(answer: str) -> Row:
    return {"messages": [{"role": "user", "content": "Which?"}, {"role": "assistant", "content": answer}]}


def session(path: Path, rows: list[Row], tokenizer: str, mode: str = "proven", name: str = "trl@1.16") -> Ready:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    recipe = changed(preset(name), "tokenizer.name", tokenizer)
    return tokenized(open_data(OpenOptions((str(path),), recipe=recipe)), mode).ready()


def test_what_is_compared_is_little_and_what_cannot_be_prepared_is_left_out(tmp_path: Path) -> None:
    rows = [talk("one"), talk("x" * (TEXT_CHARACTERS + 1)), {"messages": "none"}, talk("two")]
    texts = row_texts(session(tmp_path / "d.jsonl", rows, "builtin:chatml"))
    assert [any(word in text for word in ("one", "two")) for text in texts] == [True, True]
    many = session(tmp_path / "m.jsonl", [talk(f"{i} " + "word " * 700) for i in range(40)], "builtin:chatml")
    assert 0 < sum(map(len, row_texts(many))) <= TEXT_CHARACTERS and len(row_texts(many)) <= TEXT_ROWS


@pytest.mark.one_of(3)
@pytest.mark.parametrize("name", ["trl@1.16", "axolotl@0.19", "llamafactory@0.9"])
def test_a_row_that_differs_is_found_before_a_command_answers(
    name: str, tmp_path: Path, folder: Path, differing: Callable[..., Any]
) -> None:
    differing(folder, ODD)
    made = session(tmp_path / "d.jsonl", [talk("plain"), talk(f"A {ODD}.")], str(folder), name=name)
    wrong = made.inspect(1).tokens
    proven = prove_rows(made).ready()
    assert proven is not made
    right = session(tmp_path / "r.jsonl", [talk("plain"), talk(f"A {ODD}.")], "builtin:chatml", name=name)
    tokens, known = proven.inspect(1).tokens, right.inspect(1).tokens
    assert wrong is not None and tokens is not None and known is not None
    assert wrong.input_ids != tokens.input_ids == known.input_ids
    assert proven.tokenizer.facts.engine == "transformers" and prove_rows(proven) is proven


def test_a_trainer_with_tokenizers_of_its_own_is_not_held_against_autotokenizer(
    tmp_path: Path, folder: Path, differing: Callable[..., Any]
) -> None:
    differing(folder, ODD)
    for name in ("torchtune@0.6", "torchtune@0.7"):
        made = session(tmp_path / "d.jsonl", [talk(f"A {ODD}.")], str(folder), name=name)
        assert row_texts(made) and prove_rows(made) is made


@pytest.mark.long
def test_right_set_ups_keep_their_engine(tmp_path: Path, folder: Path) -> None:
    rows = [talk("plain"), talk("naïve\n\n  <|im_end|> 三百 \u200b"), talk(" "), talk(f"{ODD} " * 40)]
    for name in ("trl@1.16", "hf-trainer"):
        made = session(tmp_path / "d.jsonl", rows, str(folder), name=name)
        assert prove_rows(made) is made and row_texts(made)
        assert not any("rows" in note for note in made.tokenizer.facts.notes)


@pytest.mark.long
def test_the_commands_show_the_right_ids(
    tmp_path: Path, folder: Path, differing: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    from sftui.cli import main

    differing(folder, ODD)
    (tmp_path / "d.jsonl").write_text(json.dumps(talk(f"A {ODD}.")) + "\n")
    found = []
    for name in (str(folder), "builtin:chatml"):
        with pytest.raises(SystemExit):
            main(["encode", str(tmp_path / "d.jsonl"), "-t", name, "--trainer", "trl", "-o", "-"])
        found.append([json.loads(line)["input_ids"] for line in capsys.readouterr().out.splitlines()])
    assert found[0] == found[1] != []


def test_the_inspector_shows_first_and_corrects_then(
    data: Path, folder: Path, differing: Callable[..., Any], open_workspace: Callable[..., Any]
) -> None:
    loaded = differing(folder, ODD)
    data.write_text(json.dumps(talk(f"A {ODD}.")) + "\n")
    _, heard = open_workspace(tokenizer=str(folder))
    odd = loaded.encode(ODD).ids[0]
    shown = heard.wait(ev.RowReady, lambda event: event.inspection.tokens is not None)
    assert odd in shown.inspection.tokens.input_ids, "what was proven on probe strings comes first"
    told = heard.wait(ev.TokenizerChanged, lambda event: event.state == "corrected")
    assert any("texts of the rows" in note for note in told.facts.notes)
    row = heard.wait(ev.RowReady, lambda event: event.inspection.tokens is not None)
    assert odd not in row.inspection.tokens.input_ids
    assert not [one for one in heard.rest(1.0) if isinstance(one, ev.TokenizerChanged)], "and is not asked again"


@pytest.mark.long
def test_the_inspector_says_nothing_where_the_rows_agree(
    data: Path, folder: Path, open_workspace: Callable[..., Any]
) -> None:
    load_tokenizer(str(folder))
    _, heard = open_workspace(tokenizer=str(folder))
    heard.wait(ev.TokenizerChanged, lambda event: event.state == "proven")
    (proof,) = cache.cache_root().iterdir()
    for _ in range(120):
        told = [one for one in heard.rest(0.25) if isinstance(one, ev.TokenizerChanged)]
        assert told == []
        if list(proof.glob("texts-*.json")):
            break
    else:
        pytest.fail("the rows were not compared")
    assert not [one for one in heard.rest(0.3) if isinstance(one, ev.TokenizerChanged)]
