"""Editing one key changes one line, whatever the file looks like."""

from __future__ import annotations

import difflib
from typing import Any, get_args

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from sftui.errors import RecipeError
from sftui.safe_yaml import Dialect, load_yaml
from sftui.trainers.yaml_edit import REMOVE, edit, scalar

CONFIG = """\
# my run
base_model: "google/gemma-2b"   # the base
defaults: &defaults
    lr: 1e-5
    eps:   0.1

datasets:
  - path: data.jsonl   # mine
    type: chat_template
    roles_to_train: ["assistant"]
  - path: other.jsonl
    type: alpaca

sequence_len: 2048
long: "a very long line that a round-trip dump would fold, because it is wider than eighty characters, as nobody wants"
special_tokens: {pad_token: <pad>}
inherit:
  <<: *defaults
  lr: &rate 0.1
again: *rate
empty:
block: |
  one
  two
# the end
"""


def changed_lines(before: str, after: str) -> list[str]:
    return [line for line in difflib.ndiff(before.splitlines(), after.splitlines()) if line[0] in "+-"]


@pytest.mark.parametrize(
    ("path", "value", "plus"),
    [
        (("sequence_len",), 4096, "+ sequence_len: 4096"),
        (("base_model",), "x/y", "+ base_model: x/y   # the base"),
        (("datasets", 0, "type"), "alpaca", "+     type: alpaca"),
        (("datasets", 0, "path"), "new.jsonl", "+   - path: new.jsonl   # mine"),
        (("datasets", 0, "roles_to_train"), ["assistant", "tool"], "+     roles_to_train: [assistant, tool]"),
        (("datasets", 0, "train_on_eos"), "last", "+     train_on_eos: last"),
        (("special_tokens", "eos_token"), "<|im_end|>", "+ special_tokens: {pad_token: <pad>, eos_token: <|im_end|>}"),
        (("inherit", "lr"), 0.5, "+   lr: &rate 0.5"),
        (("inherit", "eps"), 0.5, "+   eps: 0.5"),
        (("again",), 3, "+ again: 3"),
        (("empty",), True, "+ empty: true"),
        (("new_key",), "off", '+ new_key: "off"'),
        (("train_on_inputs",), False, "+ train_on_inputs: false"),
    ],
)
def test_one_key_one_line(path: tuple[Any, ...], value: Any, plus: str) -> None:
    after = edit(CONFIG, {path: value})
    lines = changed_lines(CONFIG, after)
    assert [line.rstrip() for line in lines if line[0] == "+"] == [plus], lines
    assert sum(line[0] == "-" for line in lines) <= 1
    found: Any = yaml.safe_load(after)
    for step in path:
        found = found[step]
    assert found == value


def test_a_key_goes_with_its_line_and_nothing_else() -> None:
    assert changed_lines(CONFIG, edit(CONFIG, {("sequence_len",): REMOVE})) == ["- sequence_len: 2048"]
    assert changed_lines(CONFIG, edit(CONFIG, {("block",): REMOVE})) == ["- block: |", "-   one", "-   two"]
    assert edit(CONFIG, {("absent",): REMOVE}) == CONFIG


def test_parents_are_made() -> None:
    after = edit(CONFIG, {("eval", "data"): "x.jsonl"})
    assert yaml.safe_load(after)["eval"] == {"data": "x.jsonl"}
    assert yaml.safe_load(edit("", {("a", "b"): 1})) == {"a": {"b": 1}}
    assert yaml.safe_load(edit("# only a comment\n", {("a",): 1})) == {"a": 1}


@pytest.mark.parametrize(
    "value",
    [
        "on",
        "1e-5",
        "a: b",
        "#x",
        "[/INST]",
        "x\ny",
        "",
        "null",
        " lead",
        "'q\"",
        "<|im_end|>",
        "@a",
        "é⏎",
        3,
        1.5,
        None,
        True,
        [1, "a"],
    ],
)
def test_scalars_read_back_as_they_were(value: Any) -> None:
    assert yaml.safe_load(f"k: {scalar(value)}") == {"k": value} or value == "1e-5"


@pytest.mark.parametrize("text", ["", "# alone\n", CONFIG, "a: 1", "{a: 1}", "eval: {x: 1}\n"])
def test_keys_set_at_once_stand_as_those_set_one_by_one(text: str) -> None:
    changes: dict[tuple[str | int, ...], Any] = {
        ("eval", "data"): "x",
        ("eval", "on", "y"): [1, {"b": 2}],
        ("new",): None,
        ("sequence_len",): 3,
    }
    changes |= {("opt",): {"lr": 1e-5}, ("opt", "eps"): 1e-8, ("eval", "n"): "off", ("gone",): REMOVE}
    one_by_one = text
    for path, value in changes.items():
        one_by_one = edit(one_by_one, {path: value})
    at_once = edit(text, changes)
    assert yaml.safe_load(at_once) == yaml.safe_load(one_by_one)
    assert sorted(at_once.split("\n")) == sorted(one_by_one.split("\n")) or text == "{a: 1}"


WORDS = (
    "no",
    "On",
    "y",
    "1:30",
    "190:20:30.15",
    "0b11",
    "010",
    "1_000",
    "1e4",
    "2024-01-01",
    "=",
    "<<",
    "~",
    "null",
    "",
)
READ_OTHERWISE = st.one_of(
    st.sampled_from(WORDS),
    st.text("0123456789:._+-eExobTZ ", max_size=12),
    st.text("ab0 :?-,[]{}#&*!|>'\"%@`\\\n\t\x85\u2028\ufeff\x7f😀", max_size=4),
    st.text(st.characters(codec="utf-8"), max_size=8),
)


@example(":0", "a:?")
@example("?0", "\x85")
@example("no", "0?")
@example("a?b", "x")
@given(READ_OTHERWISE, READ_OTHERWISE)
def test_a_text_stays_a_text_for_every_reader(text: str, other: str) -> None:
    """A sexagesimal `1:30`, and any word in a list, were written as YAML 1.2 alone leaves them texts."""
    for value in (text, [text, other], {text: other}, {"key": [text, 1, None, True]}):
        written = f"k: {scalar(value)}\n"
        for dialect in get_args(Dialect):
            assert load_yaml(written, dialect) == {"k": value}, written
        for loader in (yaml.SafeLoader, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            assert yaml.load(written, loader) == {"k": value}, written


@pytest.mark.parametrize("bad", ["a: [", "- a\n- b\n", "just text"])
def test_no_mapping_is_refused(bad: str) -> None:
    with pytest.raises(RecipeError):
        edit(bad, {("a",): 1})


BLOCK = """\
responses:   # what is trained
  # the question
  instruction_part: "<|user|>\\n"   # as in the template
  response_part: "<|assistant|>\\n"
  last_response_only: false  # all of them
roles:
  # who
  - user       # asks
  - assistant  # answers
flow: {a: 1, b: 2}   # here
"""


@pytest.mark.parametrize(
    ("path", "value", "lines"),
    [
        (
            ("responses",),
            {"instruction_part": "<|user|>\n", "response_part": "<|x|>", "last_response_only": False},
            ['-   response_part: "<|assistant|>\\n"', "+   response_part: <|x|>"],
        ),
        (
            ("responses",),
            {"instruction_part": "<|user|>\n", "response_part": "<|assistant|>\n", "force_match": True},
            ["-   last_response_only: false  # all of them", "+   force_match: true"],
        ),
        (("roles",), ["user", "tool", "gpt"], ["-   - assistant  # answers", "+   - tool  # answers", "+   - gpt"]),
        (("roles",), ("user",), ["-   - assistant  # answers"]),
        (("flow",), {"a": 1, "b": 3, "c": 4}, ["- flow: {a: 1, b: 2}   # here", "+ flow: {a: 1, b: 3, c: 4}   # here"]),
        (
            ("responses",),
            {"instruction_part": "<|user|>\n", "response_part": "<|assistant|>\n", "last_response_only": 0},
            ["-   last_response_only: false  # all of them", "+   last_response_only: 0  # all of them"],
        ),
    ],
)
def test_of_a_block_only_what_is_another_is_changed(path: tuple[Any, ...], value: Any, lines: list[str]) -> None:
    after = edit(BLOCK, {path: value})
    assert sorted(changed_lines(BLOCK, after)) == sorted(lines)
    assert yaml.safe_load(after) == {
        **yaml.safe_load(BLOCK),
        path[0]: list(value) if isinstance(value, tuple) else value,
    }


@pytest.mark.parametrize(
    ("last", "change", "line"),
    [
        ("d:\n  z: 1\n  <<: *a\n", {("d", "k"): 2}, "  k: 2\n"),
        ("d:\n  z: 1\n  y: *a  # shared\n", {("d", "k"): 2}, "  k: 2\n"),
        ("d:\n  - z: 1\n  - *a\n", {("d", 2): {"k": 2}}, "  - k: 2\n"),
    ],
)
@pytest.mark.parametrize("rest", ["", "e: 3\n", "  # of *e*\n\n# and of e\ne: 3\n"])
def test_what_comes_behind_an_alias_stands_behind_it(last: str, change: dict[Any, Any], line: str, rest: str) -> None:
    """And not behind what it stands for, which is another block's."""
    before = f"a: &a\n  x: 1\n{last}"
    assert edit(before + rest, change) == before + line + rest


def test_a_block_that_others_share_is_not_changed_through_an_alias() -> None:
    text = "one: &it\n  a: 1  # here\n  b: 2\ntwo: *it\n"
    assert edit(text, {("two",): {"a": 1, "b": 3}}) == "one: &it\n  a: 1  # here\n  b: 2\ntwo:\n  a: 1\n  b: 3\n"


NESTED = (
    {"a": {"b": [1, {"c": [], "d": {}}], "yes": None}},
    [{"path": "x.jsonl", "roles": ["user", "assistant"]}, {"path": "y", "map": {"from": "role"}}],
    [[{"a": 1}], [2, [3, {"b": "two\nlines"}]]],
    ["a list whose strings are so long", "that nobody would write it", "on a single line of a file"],
    {"key: odd": {"- a": "# no comment"}, "": {"x": "'"}},
)


PLACES = (
    ("", ("new",)),
    ("before: 1\n", ("in", "deep", "new")),
    ("new: old # told\n", ("new",)),
    ("in:\n  it: x\n", ("in", "deep", "new")),
    ("in:\n  it: x\n  # kept\nafter: 2\n", ("in", "it")),
    ("l:\n- 1\n", ("l", 1)),
    ("l:\n  - a: 1\nafter: 2\n", ("l", 1)),
    ("l:\n  - a: 1\nafter: 2\n", ("l", 1, "deep")),
)


@pytest.mark.parametrize(("text", "path"), PLACES)
@pytest.mark.parametrize("value", NESTED)
def test_what_is_nested_is_written_as_a_block_and_read_back_alike(text: str, path: Any, value: Any) -> None:
    made = edit(text, {path: value})
    read = yaml.safe_load(made)
    for step in path:
        read = read[step]
    assert read == value and "{" not in made.replace("{}", ""), made
    assert ("after: 2" in made, "# kept" in made) == ("after" in text, "kept" in text)
