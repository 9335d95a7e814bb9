"""`sftui bug-report`: what it tells, what it never does, and that it comes when things are broken."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sftui.exports.redacted import PATH, TEXT, redacted_sentence, redacted_value

Sftui = Callable[..., Any]
SECTIONS = ["Versions", "Terminal and environment", "Settings", "Recipe", "Tokenizer and engine"]
PRIVATE = "The patient is Ms Winterbottom"


def sections(done: Any) -> dict[str, str]:
    """The report's parts by title; each report has all of them."""
    assert done.code == 0 and not done.err
    parts = done.out.split("\n### ")
    found = {title: text.strip() for title, _, text in (part.partition("\n") for part in parts[1:])}
    assert list(found) == SECTIONS
    return found


def test_versions_recipe_and_engine_are_told(sftui: Sftui, data: Path) -> None:
    found = sections(sftui("bug-report", data, "-t", "builtin:chatml", "--trainer", "trl@1.16", "--max-length", "99"))
    assert "- sftui " in found["Versions"] and ", transformers 5." in found["Versions"]
    assert "preset trl@1.16" in found["Recipe"] and "\nlength.max: 99\n" in found["Recipe"]
    assert "- data: 1 given (.jsonl), not read" in found["Recipe"]
    assert "builtin:chatml: " in found["Tokenizer and engine"]
    assert "gigatoken for whole datasets" in found["Tokenizer and engine"], "what the tests need is installed"


def test_no_row_no_path_no_secret_and_no_text_is_told(
    sftui: Sftui, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    token = "hf_" + "a1B2c3D4" * 4
    monkeypatch.setenv("HF_TOKEN", token)
    row = {"messages": [{"role": "user", "content": PRIVATE}, {"role": "assistant", "content": "Yes."}]}
    (tmp_path / "winterbottom.jsonl").write_text(json.dumps(row) + "\n")
    (tmp_path / "winterbottom.yml").write_text(
        f"base_model: {tmp_path}/winterbottom-model\ndatasets:\n- path: winterbottom.jsonl\n  type: chat_template\n"
        f"hub_token: {token}\ndefault_system_message: {PRIVATE}\nchat_template_jinja: '{PRIVATE}'\nsequence_len: 99\n"
    )
    for words in (
        ("winterbottom.jsonl", "-t", "builtin:chatml", "--set", f"render.inject_system={PRIVATE}"),
        ("winterbottom.jsonl", "-t", "builtin:chatml", "--field", f"prompt={PRIVATE}"),
        ("winterbottom.jsonl", "-t", "winterbottom/tokenizer.json", "--template", "winterbottom.jinja"),
        ("winterbottom.jsonl", "-t", "builtin:chatml", "--set", f"mask.rule={PRIVATE}"),
        ("winterbottom.yml",),
        ("winterbottom.yml", "--trainer", "axolotl", "-t", "builtin:chatml"),
        ("--recipe", "winterbottom.yml"),
    ):
        told = sftui("bug-report", *words)
        sections(told)
        for private in ("interbottom", "patient", token, str(tmp_path), str(Path.home())):
            assert private not in told.out, (words, private, told.out)
    assert "\nlength.max: 99\n" not in told.out
    assert "HF_TOKEN" in told.out, "that it is set"


@pytest.mark.parametrize(
    ("words", "section", "said"),
    [
        (("rows.jsonl", "-t", "/no/such/folder"), "Tokenizer and engine", "fails with TokenizerError: ‹path›: there"),
        (("gone.jsonl", "-t", "builtin:no-such"), "Tokenizer and engine", "fails with TokenizerError"),
        (("broken.yml",), "Recipe", "fails with RecipeError: ‹path› line 2, column 1"),
        (("gone.yml",), "Recipe", "fails with "),
        (("rows.jsonl", "--set", "mask.rle=all"), "Recipe", "fails with RecipeError"),
        (("rows.jsonl", "--trainer", "trll"), "Recipe", "fails with "),
        ((), "Recipe", "data: none given"),
    ],
)
def test_it_comes_when_things_are_broken(
    sftui: Sftui,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    section: str,
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.yml").write_text("datasets: [\n")
    assert said in sections(sftui("bug-report", *words))[section]


def test_a_failure_of_sftui_itself_is_told_by_its_place(
    sftui: Sftui, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*words: object, **named: object) -> None:
        raise ZeroDivisionError(PRIVATE)

    monkeypatch.setattr("sftui.session.versions.load", broken)
    monkeypatch.setattr("sftui.settings.load_settings", broken)
    monkeypatch.setattr("sftui.settings.settings_file", lambda: data)
    told = sftui("bug-report", data, "-t", "builtin:chatml")
    found = sections(told)
    assert "fails with ZeroDivisionError at test_cli_bug_report.py:" in found["Tokenizer and engine"]
    assert " ← sftui/cli/bug_report.py:" in found["Settings"] and PRIVATE not in told.out


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (True, "true"),
        (-100, "-100"),
        (None, "null"),
        ("Qwen/Qwen3-0.6B", "Qwen/Qwen3-0.6B"),
        ("builtin:chatml", "builtin:chatml"),
        ("<|im_end|>", "<|im_end|>"),
        ("file:chat.jinja", PATH),
        ("~/models/x", PATH),
        ("../x", PATH),
        ("C:\\models", PATH),
        ("a/b/c", PATH),
        ("tokenizer.json", PATH),
        ("two words", "‹9 characters›"),
        ("a\x1b[31m", "‹6 characters›"),
        ({"enable_thinking": False, "note": "be kind"}, "{enable_thinking: false, note: ‹7 characters›}"),
        (("assistant", "tool"), "[assistant, tool]"),
    ],
)
def test_values_are_told_without_paths_and_texts(value: Any, shown: str) -> None:
    assert redacted_value(value) == shown


@pytest.mark.parametrize(
    ("sentence", "shown"),
    [
        ("/home/me/x.yml line 3: the key is unknown", f"{PATH} line 3: the key is unknown"),
        ("it is 'my own text', not a number", f"it is {TEXT}, not a number"),
        ("no such file: data/my rows.jsonl here", f"no such file: {PATH} here"),
        ("give a Hub name such as Qwen/Qwen3-0.6B", "give a Hub name such as Qwen/Qwen3-0.6B"),
        ("set `tokenizer.name`; it doesn't load", "set `tokenizer.name`; it doesn't load"),
        ("hub_token: abcdef", "hub_token: ‹hidden›"),
    ],
)
def test_sentences_are_told_without_paths_and_quotations(sentence: str, shown: str) -> None:
    assert redacted_sentence(sentence, ("data/my rows.jsonl", "Qwen/Qwen3-0.6B")) == shown
