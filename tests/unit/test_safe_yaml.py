"""YAML that holds more than a config can, or no value at all: one sentence each, from the one reader."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import date
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from sftui import safe_yaml
from sftui.errors import RecipeError
from sftui.safe_yaml import DEEPEST, MOST_CHARACTERS, MOST_NODES, Dialect, YamlProblem, load_yaml
from sftui.settings import read_settings
from sftui.trainers import load_recipe, trainer_named

MANY = {
    "a list, by its name": ("a: &a [1, 2, 3, 4, 5, 6]\nb: [*a, *a]", "aliases expanded, it has more than 20 keys"),
    "a mapping, merged": (
        "a: &a {x: 1, y: 2, z: 3}\nb: {<<: *a, c: 1}\nd: {<<: [*a]}",
        "aliases expanded, it has more than 20 keys",
    ),
    "30 keys": ("".join(f"k{n}: 1\n" for n in range(30)), "more than 20 keys and values"),
    "12 datasets": ("datasets:\n" + "- {path: a}\n" * 12, "more than 20 keys and values"),
    "texts, by the name of their mapping": (
        "a: &a {x: " + "y" * 300 + "}\nb: [*a, *a, *a]",
        "aliases expanded, it has more than 1,024 characters",
    ),
    "a text, by its name": (
        "a: &a " + "x" * 400 + "\nb: [*a, *a]",
        "aliases expanded, it has more than 1,024 characters",
    ),
    "2 KB": ("a: " + "x" * 2000, "2,003 characters, and a config has at most 1,024"),
    "8 lists in one another": ("[" * 8 + "]" * 8, "nested more than 6 deep"),
    "8 mappings in one another": ("{a: " * 8 + "1" + "}" * 8, "nested more than 6 deep"),
}
"""Each a little beyond a bound that is lowered."""
NO_VALUE = {
    "an empty float": ('x: !!float ""', "does not match its YAML tag"),
    "a mapping as key": ("? {a: 1}\n: c", "unhashable"),
    "a number of 5,000 digits": ("x: " + "1" * 5000, "4300 digits"),
    "a month 13": ("x: 2024-13-45", "month"),
    "a tag that names an object": ("x: !!python/object:made_up.Thing {a: 1}", "could not determine a constructor"),
    "a tag of somebody": ("x: !made_up a", "could not determine a constructor"),
    "an unknown alias": ("x: *a", "undefined alias"),
    "NUL": ("x: \x00", "#x0000"),
}


@pytest.fixture
def lower(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bounds by a factor, so that a text that goes beyond them is within them again where one is raised."""
    for name, by in (("MOST_CHARACTERS", 1024), ("MOST_NODES", 1000), ("DEEPEST", 10)):
        monkeypatch.setattr(safe_yaml, name, getattr(safe_yaml, name) // by)


@pytest.mark.one_of(3)
@pytest.mark.parametrize("name", [*MANY, *NO_VALUE])
def test_what_is_too_much_or_no_value_is_one_sentence_wherever_it_is_read(
    name: str, request: pytest.FixtureRequest
) -> None:
    if name in MANY:
        request.getfixturevalue("lower")
    text, told = {**MANY, **NO_VALUE}[name]
    with pytest.raises(YamlProblem, match=told):
        load_yaml(text)
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


def test_each_bound_is_where_it_says(lower: None) -> None:
    """One key, one level, one character less is read."""
    assert len(load_yaml("".join(f"k{n}: 1\n" for n in range(9)))) == 9
    assert load_yaml("[" * 5 + "1" + "]" * 5) == [[[[[1]]]]]
    assert len(load_yaml("a: " + "x" * 1021)["a"]) == 1021
    assert load_yaml("a: &a [1, 2]\nb: [*a, *a]") == {"a": [1, 2], "b": [[1, 2], [1, 2]]}


def test_what_stands_inside_itself_is_refused_before_it_is_tied() -> None:
    """An alias of a node that is not complete yet, handed to the composer itself: no text is needed for it."""
    mark = SimpleNamespace(line=2, column=4)
    loader = SimpleNamespace(_parser=SimpleNamespace(peek_event=lambda: SimpleNamespace(start_mark=mark)))
    composer = safe_yaml._bounded_composer()(loader)
    with pytest.raises(YamlProblem, match=r"`\*a` refers to itself") as told:
        composer.return_alias(SimpleNamespace(anchor="a", value=[]))
    assert told.value.where("c.yaml") == "c.yaml line 3, column 5"


@pytest.mark.parametrize("name", ["a list, by its name", "a mapping, merged"])
def test_what_is_too_much_is_never_made(name: str, lower: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The count stops the tree while it is put together: no value is ever constructed of it."""
    from ruamel.yaml.constructor import SafeConstructor

    asked: list[object] = []
    monkeypatch.setattr(SafeConstructor, "get_single_data", lambda self: asked.append(self.composer.get_single_node()))
    with pytest.raises(YamlProblem):
        load_yaml(MANY[name][0])
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
