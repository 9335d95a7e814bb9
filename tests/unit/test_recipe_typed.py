"""A text comes through every way in and out as it is, whatever white space, quotes or line feeds it has."""

from __future__ import annotations

import random
from typing import Any

import pytest

import sftui
from sftui.cli.opening import arguments
from sftui.recipe import changed, get, knobs_of
from sftui.recipe_io import NOTHING, dump, parse_value, quoted, unquoted
from sftui.session.arguments import Arguments
from sftui.trainers import load_recipe, preset, preset_names

TEXTS = (
    *(
        "<|im_start|>assistant\n",
        " a",
        "a ",
        "\n",
        "\t",
        " ",
        "  \n\t",
        "a\\n",
        '"a"',
        "'a'",
        "'a' or 'b'",
        "none",
        "off",
    ),
    *(
        "",
        "a\x85",
        "\u2028b",
        "\ufeffc",
        "ü ",
        "a: b ",
        "# x",
        "- x\n",
        "{a}",
        "[a]",
        "\r\n",
        "a\rb",
        "\x1b[31m",
        "\\",
        '"',
    ),
    *("a" * 300 + " ", " ".join(["word"] * 60) + "\n", "x\n\n y", "!a", "%", "&a *a", "12", "true", "😀 "),
)


def made(chance: random.Random) -> str:
    return "".join(chance.choices(" \n\t\r\\\"'ab:#-{}[],\x85\u2028\x00é😀~", k=chance.randint(0, 12)))


def texts() -> list[str]:
    chance = random.Random(3)
    return [*TEXTS, *(made(chance) for _ in range(300))]


def knobs(name: str) -> list[str]:
    """The knobs of a recipe that take any text."""
    free = [info.path for info in knobs_of(preset(name)) if info.type.removesuffix("?") == "str" and not info.choices]
    return [path for path in free if path not in ("tokenizer.type", "render.date")]


@pytest.mark.parametrize("name", preset_names())
def test_a_text_in_quotes_is_read_back(name: str) -> None:
    recipe = preset(name)
    for path in knobs(name):
        for text in TEXTS:
            assert parse_value(path, quoted(text), recipe) == text, (path, text)


def test_quotes_are_those_of_yaml() -> None:
    for text in texts():
        assert unquoted(quoted(text, always=True)) == text, text
    assert unquoted(r'"<|im_start|>assistant\n"') == "<|im_start|>assistant\n"
    assert unquoted("'it''s'") == "it's" and unquoted("'a' or 'b'") is None and unquoted('"a') is None


@pytest.mark.parametrize("path", ["mask.response_marker", "own.eos_token"])
def test_a_text_without_quotes_is_taken_as_it_is(path: str) -> None:
    recipe = preset("unsloth" if path.startswith("mask") else "trl")
    path = path if path in knobs(recipe.preset) else knobs(recipe.preset)[0]
    for text in texts():
        if (text.strip().lower() in (*NOTHING, "off") and text.strip()) or not text or unquoted(text) is not None:
            continue
        assert parse_value(path, text, recipe) == text, text


def test_a_saved_recipe_has_every_text_as_it_is() -> None:
    for text in texts():
        if "\x00" in text:
            continue
        recipe = changed(preset("unsloth"), "mask.response_marker", text)
        recipe = changed(recipe, "data.fields", {"text": text or "x"})
        assert load_recipe(dump(recipe, preset), "recipe.yaml") == recipe, text


def test_the_command_line_takes_a_text_as_it_is_and_says_what_it_took(tmp_path: Any) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"text": "a"}\n')
    given = dict.fromkeys(("fields", "knobs"), ()) | {"data": (str(path),)}

    def taken(*knobs: str) -> tuple[Any, tuple[str, ...]]:
        options, notes = Arguments(data=(str(path),), trainer="unsloth", knobs=_pairs(knobs)).options()
        return options.recipe, notes

    def _pairs(knobs: tuple[str, ...]) -> tuple[tuple[str, Any], ...]:
        return arguments({**given, "knobs": knobs}).knobs

    marker = "<|im_start|>assistant\n"
    for typed in (marker, r'"<|im_start|>assistant\n"', " " + r'"<|im_start|>assistant\n"'):
        recipe, notes = taken(f"mask.response_marker={typed}")
        assert recipe.mask.response_marker == marker
        assert notes == (r'mask.response_marker is "<|im_start|>assistant\n"',)
    recipe, notes = taken(r"mask.response_marker=a\n")
    assert recipe.mask.response_marker == r"a\n" and "a backslash outside quotes is literal" in notes[0]
    recipe, notes = taken("mask.rule = all", "length.max= 12 ", "own.standardize=\ttrue")
    assert (recipe.mask.rule, recipe.length.max, recipe.own.standardize) == ("all", 12, True)
    recipe, notes = taken("render.kwargs.name= a ", 'render.kwargs.more=" b\\n"', "render.kwargs.on=true")
    assert recipe.render.kwargs == {"name": " a ", "more": " b\n", "on": True}
    assert taken("mask.response_marker=abc")[1] == ()


def test_python_hands_a_text_over_as_it_is() -> None:
    for text in (" a\n", '"a"', "'a' ", "a\\n", "\t"):
        asked: dict[str, Any] = {"mask.response_marker": text}
        with sftui.open([{"text": "a"}], tokenizer="builtin:chatml", trainer="unsloth", set=asked) as opened:
            assert get(opened.recipe, "mask.response_marker") == text
