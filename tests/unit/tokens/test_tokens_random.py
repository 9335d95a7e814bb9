"""Tokenizers that cut the same text otherwise each time, and files that give one id to several tokens."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, models

from sftui.cli import main
from sftui.findings import Finding, check_row, check_setup
from sftui.recipe import changed
from sftui.session.options import OpenOptions
from sftui.session.ready import Ready, open_data, tokenized
from sftui.tokens import builtin, load_tokenizer
from sftui.tokens.loading.autotokenizer import randomness
from sftui.tokens.loading.process import PipedEngine
from sftui.tokens.shortcuts.bulk import fast_engine
from sftui.trainers import preset

TEXT = "The quick brown fox jumps over the lazy dog, and the dog sleeps on."


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFTUI_CACHE", str(tmp_path / "cache"))


def folder(path: Path, change: Callable[[dict[str, Any]], None], **config: Any) -> str:
    """The bundled ChatML tokenizer with something else in tokenizer.json."""
    path.mkdir()
    backend = json.loads((builtin.folder("chatml") / "tokenizer.json").read_text(encoding="utf-8"))
    change(backend)
    (path / "tokenizer.json").write_text(json.dumps(backend))
    named = json.loads((builtin.folder("chatml") / "tokenizer_config.json").read_text(encoding="utf-8"))
    (path / "tokenizer_config.json").write_text(json.dumps(named | config))
    return str(path)


def dropout(value: float | None) -> Callable[[dict[str, Any]], None]:
    return lambda backend: backend["model"].update(dropout=value)


def opened(data: Path, name: str, trainer: str = "trl@1.16") -> Ready:
    recipe = changed(preset(trainer), "tokenizer.name", name)
    return tokenized(open_data(OpenOptions(paths=(str(data),)), recipe)).ready()


def of_setup(session: Ready, code: str) -> list[Finding]:
    made = session.inspect_row(session.row(0))
    return [one for one in check_setup(session.checks(), [made]) if one.code == code]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "d.jsonl"
    rows = [{"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": TEXT}]}] * 3
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("value", [0.1, 0.5, 0.001])
def test_nothing_is_proven_of_what_is_drawn(value: float, tmp_path: Path) -> None:
    """However small: the probe strings of a proof may be cut alike twice, and texts later not."""
    loaded = load_tokenizer(folder(tmp_path / "t", dropout(value)))
    assert loaded.facts.random == f"BPE dropout of {value}" and isinstance(loaded.engine, PipedEngine)
    assert (loaded.facts.probes, loaded.facts.backend, dict(loaded.facts.elsewhere)) == (0, "", {})
    assert any("nothing can be verified" in note for note in loaded.facts.notes)
    assert not any("serialised backend differs" in note for note in loaded.facts.notes)
    if value > 0.01:
        assert len({loaded.ids(TEXT * 3) for _ in range(20)}) > 1
    shown = load_tokenizer(str(tmp_path / "t"), mode="provisional")
    assert fast_engine(shown) is None, "no engine can be held against a draw"


@pytest.mark.parametrize("value", [None, 0.0, 1.0])
def test_what_is_always_cut_alike_is_proven(value: float | None, tmp_path: Path) -> None:
    loaded = load_tokenizer(folder(tmp_path / "t", dropout(value)))
    assert loaded.facts.random == "" and loaded.facts.probes > 0 and loaded.facts.backend
    assert len({loaded.ids(TEXT) for _ in range(20)}) == 1


@pytest.mark.parametrize("kind", ["Qwen2Tokenizer", "GPT2Tokenizer"])
def test_a_class_that_builds_its_own_backend_keeps_no_dropout(kind: str, tmp_path: Path) -> None:
    loaded = load_tokenizer(folder(tmp_path / "t", dropout(0.5), tokenizer_class=kind))
    assert (loaded.facts.random == "") == (len({loaded.ids(TEXT) for _ in range(20)}) == 1)


@pytest.mark.parametrize(
    ("alpha", "nbest", "random"),
    [(None, None, False), (0.1, None, True), (0.1, 4, True), (0.1, 0, True), (0.1, 1, False), (None, 4, False)],
)
def test_unigram_samples_where_its_settings_say_so(alpha: float | None, nbest: int | None, random: bool) -> None:
    pieces = [("a", -1.0), ("b", -1.0), ("ab", -1.5), ("aa", -1.2), ("bb", -1.3)]
    model = models.Unigram(pieces, 0, False)
    model.alpha, model.nbest_size = alpha, nbest
    drawn = {tuple(Tokenizer(model).encode("aabbaabbab").ids) for _ in range(50)}
    assert (len(drawn) > 1) is random is bool(randomness(model))


def test_a_slow_sentencepiece_tokenizer_that_samples_is_told() -> None:
    class Slow:
        sp_model_kwargs: dict[str, Any] = {"enable_sampling": True, "alpha": 0.1}

    assert "SentencePiece sampling" in randomness(Slow)
    Slow.sp_model_kwargs = {"enable_sampling": True, "nbest_size": 1}
    assert randomness(Slow) == ""


def test_the_set_up_says_so_and_what_to_do(data: Path, tmp_path: Path) -> None:
    name = folder(tmp_path / "t", dropout(0.1))
    session = opened(data, name)
    (found,) = (
        one for one in check_setup(session.checks(), [session.inspect_row(session.row(0))]) if one.code == "TOK007"
    )
    assert found.sentence == "BPE dropout of 0.1: the same text gets different ids each time it is encoded"
    assert found.fix is not None and '"dropout": null' in found.fix.trainer_keys["trl"]
    folder(tmp_path / "mended", dropout(None))
    session = opened(data, str(tmp_path / "mended"))
    assert not of_setup(session, "TOK007")


def test_compare_of_a_recipe_with_itself_says_why_it_differs(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = folder(tmp_path / "t", dropout(0.5))
    with pytest.raises(SystemExit) as ended:
        main(["compare", str(data), "-t", name, "--trainer", "trl", "--with", "trl"])
    out = capsys.readouterr().out
    assert ended.value.code == 1 and "why B differs from A" in out
    cause = "the tokenizer splits the same text differently each time A BPE dropout of 0.5 · B BPE dropout of 0.5"
    assert cause in " ".join(out.split()) and "none of their settings explains it" not in out


def doubled_word(backend: dict[str, Any]) -> None:
    vocabulary = backend["model"]["vocab"]
    words = [word for word in vocabulary if word in ("Ġfox", "Ġdog", "Ġthe", "Ġand")]
    vocabulary[words[0]] = vocabulary[words[1]]


def doubled_added(backend: dict[str, Any]) -> None:
    backend["added_tokens"].append({**backend["added_tokens"][-1], "content": "<other>"})


def over_a_word(backend: dict[str, Any]) -> None:
    backend["added_tokens"].append({**backend["added_tokens"][-1], "content": "<other>", "id": 300})


def test_two_words_of_one_id_are_told_and_no_normalizer_is_blamed(data: Path, tmp_path: Path) -> None:
    name = folder(tmp_path / "t", doubled_word)
    facts = load_tokenizer(name).facts
    ((token, words),) = facts.doubled
    session = opened(data, name)
    made = session.inspect_row(session.row(0))
    (found,) = of_setup(session, "TOK008")
    assert found.sentence == f"the tokenizer's files give id {token} to {' and '.join(words)}" and found.rows == (0,)
    # Which of both an id is read as is chance, anew in each process; the row holds one or both.
    for one in check_row(made, session.checks()):
        if one.code == "TOK002":
            assert one.sentence == f"the tokens do not spell the text: id {token} belongs to {' and '.join(words)}"


@pytest.mark.parametrize(("change", "taken", "by"), [(doubled_added, 3002, "<|im_end|>"), (over_a_word, 300, "Ġre")])
def test_an_added_token_whose_id_is_taken_gets_another(
    change: Callable[[dict[str, Any]], None], taken: int, by: str, data: Path, tmp_path: Path
) -> None:
    name = folder(tmp_path / "t", change)
    loaded = load_tokenizer(name)
    assert loaded.facts.doubled == ((taken, (by, "<other>")),) and loaded.token_id("<other>") == 3003
    session = opened(data, name)
    (found,) = (
        one for one in check_setup(session.checks(), [session.inspect_row(session.row(0))]) if one.code == "TOK008"
    )
    assert found.sentence.endswith(f"give id {taken} to {by} and <other>; <other> is loaded as id 3003")


def nfkc(backend: dict[str, Any]) -> None:
    backend["normalizer"] = {"type": "NFKC"}


@pytest.mark.parametrize(
    ("change", "text", "why"),
    [(nfkc, "ﬁne ½", "a normalizer changed it"), (doubled_added, "ﬁne ½", None)],
)
def test_a_normalizer_is_blamed_where_it_acts(
    change: Callable[[dict[str, Any]], None], text: str, why: str | None, tmp_path: Path
) -> None:
    data = tmp_path / "d.jsonl"
    row = {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": text}]}
    data.write_text(json.dumps(row) + "\n")
    session = opened(data, folder(tmp_path / "t", change))
    found = [
        one.sentence for one in check_row(session.inspect_row(session.row(0)), session.checks()) if one.code == "TOK002"
    ]
    assert found == ([f"the tokens do not spell the text: {why}"] if why else [])


def test_torchtunes_own_tokenizers_read_no_dropout(data: Path, tmp_path: Path) -> None:
    """They cut by merges of their own: one with dropout is read as one without, and nothing is said."""
    plain, drawn = folder(tmp_path / "plain", dropout(None)), folder(tmp_path / "drawn", dropout(0.5))
    made = []
    for name in (plain, drawn):
        recipe = changed(changed(preset("torchtune"), "tokenizer.name", name), "render.template", "torchtune/qwen2_5")
        session = tokenized(open_data(OpenOptions(paths=(str(data),)), recipe)).ready()
        assert not of_setup(session, "TOK007") and not session.tools.tokenizer.facts.random
        made.append(session.inspect_row(session.row(0)).example)
    assert made[0] is not None and made[0] == made[1]
