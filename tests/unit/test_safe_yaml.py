"""YAML that is made to cost more than its size, or to be no value at all: one sentence each, from the one reader."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import date
from typing import Any

import pytest
import yaml

from sftui.errors import RecipeError
from sftui.safe_yaml import DEEPEST, MOST_CHARACTERS, MOST_NODES, Dialect, YamlProblem, load_yaml
from sftui.settings import read_settings
from sftui.trainers import load_recipe, trainer_named

NAMES = "abcdefghi"
PAIRS = [(NAMES[n], NAMES[n + 1]) for n in range(len(NAMES) - 1)]
LAUGHS = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(f"{b}: &{b} [{','.join([f'*{a}'] * 9)}]\n" for a, b in PAIRS)
MERGES = "a: &a {x: 1}\n" + "".join(f"{b}: &{b} {{<<: [{','.join([f'*{a}'] * 9)}]}}\n" for a, b in PAIRS)
BOMBS = {
    "laughs": (LAUGHS, "aliases written out"),
    "merges": (MERGES, "aliases written out"),
    "a list in itself": ("mask: &a [*a]", "stands inside what it stands for"),
    "a mapping in itself": ("mask: &a {b: {c: *a}}", "stands inside what it stands for"),
    "one long text, many times": ("a: &a " + "x" * 10_000 + "\nb: [[*a]]\nc: &c [*a" + ", *a" * 200 + "]\nd: [*c]", ""),
    "one mapping of texts, many times": (
        "a: &a {x: " + "y" * 10_000 + "}\nb: [" + ", ".join(["*a"] * 200) + "]",
        "more than 1,048,576 characters",
    ),
    "20 MB": ("a: " + "x" * 20_000_000, "20,000,003 characters"),
    "60,000 keys": ("".join(f"k{n}: 1\n" for n in range(60_000)), "20,000 keys and values"),
    "20,000 datasets": ("datasets:\n" + "- {path: a}\n" * 20_000, "20,000 keys and values"),
    "deep lists": ("[" * 1000 + "]" * 1000, f"more than {DEEPEST} lists"),
    "deep mappings": ("{a: " * 1000, f"more than {DEEPEST} lists"),
    "deep blocks": ("".join(" " * n + "- \n" for n in range(500)), ""),
    "an empty float": ('x: !!float ""', "does not fit its tag"),
    "a list as key": ("? {a: 1}\n: c", "unhashable"),
    "a number of 5,000 digits": ("x: " + "1" * 5000, "4300 digits"),
    "a month 13": ("x: 2024-13-45", "month"),
    "code": ("x: !!python/object:os.system a", "could not determine a constructor"),
    "an unknown alias": ("x: *a", "undefined alias"),
    "NUL": ("x: \x00", "#x0000"),
}
FINE = {"one long text, many times", "deep blocks"}
"""A text is one object however often it is named; and ruamel refuses the blocks for their indentation."""


@pytest.mark.one_of(3)
@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_one_sentence_wherever_it_is_read(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text, told = BOMBS[name]
    if name in FINE:
        assert len(text) <= MOST_CHARACTERS
        return
    with pytest.raises(YamlProblem, match=told):
        load_yaml(text)
    if told == f"{MOST_NODES:,} keys and values":
        # To count so far takes a second, and was seen: that each of the others counts too is seen with 200.
        monkeypatch.setattr("sftui.safe_yaml.MOST_NODES", 200)
        told = "more than 200 keys and values"
    with pytest.raises(RecipeError, match=told) as recipe:
        load_recipe(text, "r.yaml")
    assert str(recipe.value).startswith("r.yaml") and "\n" not in str(recipe.value)
    for trainer in ("trl", "axolotl", "llamafactory", "unsloth", "torchtune"):
        if name == "a month 13" and trainer in ("llamafactory", "torchtune"):
            continue  # OmegaConf takes every date for text
        with pytest.raises(RecipeError, match=told):
            trainer_named(trainer).read_config("c.yaml", text, None)
    settings = read_settings(text, "s.yaml")
    assert len(settings.problems) == 1 and settings.theme is None


def test_what_a_bomb_would_cost_is_never_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """The count stops the tree while it is put together: no value is ever constructed of it."""
    from ruamel.yaml.constructor import SafeConstructor

    asked: list[object] = []
    monkeypatch.setattr(SafeConstructor, "get_single_data", lambda self: asked.append(self.composer.get_single_node()))
    for name in ("laughs", "merges"):
        with pytest.raises(YamlProblem):
            load_yaml(BOMBS[name][0])
    assert asked == []


def test_aliases_and_merges_of_an_honest_config_are_read() -> None:
    text = "base: &base {path: a.jsonl, type: chat_template}\ndatasets:\n- *base\n- {<<: *base, path: b.jsonl}\n"
    assert load_yaml(text)["datasets"] == [
        {"path": "a.jsonl", "type": "chat_template"},
        {"path": "b.jsonl", "type": "chat_template"},
    ]
    assert load_yaml("a: &x 1\nb: &x 2\nc: *x") == {"a": 1, "b": 2, "c": 2}


def test_a_config_just_below_the_limits_is_read() -> None:
    keys = MOST_NODES // 2 - 1
    assert len(load_yaml("".join(f"k{n}: 1\n" for n in range(keys)))) == keys
    deep = load_yaml("[" * (DEEPEST - 1) + "1" + "]" * (DEEPEST - 1))
    for _ in range(DEEPEST - 1):
        (deep,) = deep
    assert deep == 1
    assert len(load_yaml("a: '" + "x" * (MOST_CHARACTERS - 5) + "'")["a"]) == MOST_CHARACTERS - 5


@pytest.mark.parametrize(
    ("dialect", "text", "value"),
    [
        ("1.2", "no", "no"),
        ("pyyaml", "no", False),
        ("omegaconf", "no", False),
        ("pyyaml", "Off", False),
        ("pyyaml", "'no'", "no"),
        ("pyyaml", "y", "y"),
        ("1.2", "010", 10),
        ("pyyaml", "010", 8),
        ("omegaconf", "1:30", 90),
        ("1.2", "1e-4", 0.0001),
        ("pyyaml", "1e-4", "1e-4"),
        ("omegaconf", "1e-4", 0.0001),
        ("pyyaml", "2024-01-02", date(2024, 1, 2)),
        ("omegaconf", "2024-01-02", "2024-01-02"),
    ],
)
def test_plain_words_are_read_as_the_trainers_reader_does(dialect: Dialect, text: str, value: Any) -> None:
    """Measured with PyYAML 6.0.3 and OmegaConf 2.4.0."""
    found = load_yaml(f"a: {text}", dialect)["a"]
    assert (type(found), found) == (type(value), value)
    assert load_yaml(f"%YAML 1.1\n---\na: {text}", dialect)["a"] == value or dialect == "1.2"


def test_any_short_word_is_read_as_pyyaml_does() -> None:
    draw = random.Random(3)
    letters = ("0123456789_.:eE+-xobfnyatTZ~", "01_.:eE+-")
    words = ["".join(draw.choices(letters[n % 2], k=draw.randint(1, 5))) for n in range(500)]
    pairs = [(_value(yaml.safe_load, word), _value(_as_pyyaml, word)) for word in words]
    assert [ours for _, ours in pairs] == [theirs for theirs, _ in pairs]
    assert sum(isinstance(value, (int, float)) for value, _ in pairs) > 40


def _value(load: Callable[[str], Any], word: str) -> Any:
    try:
        value = load(f"a: {word}")["a"]
    except (yaml.YAMLError, YamlProblem, ValueError):
        return "no value"
    return value if value == value else "not a number"


def _as_pyyaml(text: str) -> Any:
    return load_yaml(text, "pyyaml")
