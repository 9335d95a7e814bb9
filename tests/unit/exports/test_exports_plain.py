"""The plain preparation of a row, as it is exported, and the core make the same of any row under any recipe that can be
exported: the same ids, labels and attention mask, or drop it both, or refuse it both."""

from __future__ import annotations

import ast
import builtins
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sftui import pipeline
from sftui.errors import ExportError
from sftui.exports import plain
from sftui.exports.copying import Code, copied
from sftui.exports.expressible import check_expressible
from sftui.exports.prepared import ExportInput
from sftui.exports.preprocess import Config, config_of, constants_of, plain_source
from sftui.model import Row
from sftui.recipe import Recipe, changed
from sftui.sources.formats.csv_file import CsvSource
from sftui.sources.formats.saved import SavedSource
from sftui.sources.hub import HubSource
from sftui.sources.source import LINES
from sftui.tokens import LoadedTokenizer, builtin, load_tokenizer
from sftui.trainers import preset

MORE = int(os.environ.get("SFTUI_PLAIN", "0"))
"""Sets of rows to try for each shape, other ones in each run; 0: a few, and always the same."""
TAGGED = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.role == 'assistant' %}{% generation %}{{ m.content }}"
    "<|im_end|>{% endgeneration %}{% else %}{{ m.content }}<|im_end|>{% endif %}\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}{{ note }}"
)
GUESSED = (
    "the answer is only whitespace",
    "the chat template renders earlier turns differently",
    "begins with an answer",
)
"""Why the plain preparation leaves out a row where the core tells whose text each token is by marking messages."""

TEXTS = st.text("ab \n\t<|>é你👍🏽{'\"", max_size=12) | st.sampled_from(
    ["", " ", "a<|im_end|>", "<|im_start|>assistant\n", "a<|eot_id|>", "a<eos>", "2 + 2 = 4", "a<|end_of_text|>"]
)
CALL = '{"name": "f", "arguments": {"x": 1}}'
JUNK = st.sampled_from([None, 3, True, "", " ", "x", [], {}, [1], ["ab"], {"a": 1}, "[]", "{}", "null", [["q", "a"]]])
ROLES = ["user", "assistant", "system", "tool", "function_call", "human", "gpt", "critic"]


def mostly(right: st.SearchStrategy[Any], wrong: st.SearchStrategy[Any] = JUNK) -> st.SearchStrategy[Any]:
    return st.integers(0, 7).flatmap(lambda dice: right if dice else wrong | JUNK)


def messages(role: str, content: str) -> st.SearchStrategy[Any]:
    """Turns, most of them right: they end with an answer."""
    names = {"user": "human", "assistant": "gpt"} if role == "from" else {}

    def turn(*roles: str) -> st.SearchStrategy[Any]:
        told = st.sampled_from([names.get(one, one) for one in roles])
        bystanders = {"text": TEXTS} if role == "role" else {"text": TEXTS, "role": told, "content": TEXTS}
        return st.fixed_dictionaries({role: told, content: TEXTS}, optional=bystanders)

    pair = st.tuples(turn("user"), turn("assistant"))
    head = st.lists(turn("system"), max_size=1)
    call = st.just([{role: "function_call", content: CALL}]) | st.lists(turn(*ROLES), max_size=2)
    right = st.tuples(head, call, st.lists(pair, min_size=1, max_size=2)).map(
        lambda parts: [*parts[0], *parts[1], *(one for both in parts[2] for one in both)]
    )
    keys = st.sampled_from([role, content, "contnet", "role"])
    broken = st.lists(turn(*ROLES) | st.dictionaries(keys, TEXTS | JUNK, max_size=3), max_size=3)
    return mostly(right | right | right.map(json.dumps), broken)


AROUND: dict[str, st.SearchStrategy[Any]] = {
    "tools": mostly(st.sampled_from([[{"type": "function", "function": {"name": "f"}}], "[]", " "])),
    "chat_template_kwargs": mostly(st.sampled_from([{"note": "!"}, '{"note": "?"}'])),
}


def ids() -> st.SearchStrategy[int]:
    return st.sampled_from([*range(40), *range(40), -1, *edges()])


def edges() -> list[int]:
    """The last id that each tokenizer has, and the one after."""
    sizes = [core_tokenizer(name).facts.vocab_size for name in EOS]
    return [*sizes, *(size - 1 for size in sizes)]


SHAPES: Mapping[str, tuple[Mapping[str, Any], Mapping[str, st.SearchStrategy[Any]]]] = {
    "messages": (
        {"messages": [{"role": "user", "content": "Q"}, {"role": "assistant", "content": "A"}]},
        {"messages": messages("role", "content"), **AROUND},
    ),
    "sharegpt": (
        {
            "conversations": [
                {"from": "human", "value": "Q"},
                {"from": "function_call", "value": CALL},
                {"from": "gpt", "value": "A"},
            ],
            "system": "S",
        },
        {"conversations": messages("from", "value"), "system": mostly(TEXTS), **AROUND},
    ),
    "alpaca": (
        {"instruction": "Do", "input": "x", "output": "y"},
        {
            "instruction": TEXTS,
            "input": mostly(TEXTS),
            "output": mostly(TEXTS),
            "system": mostly(TEXTS),
            "history": mostly(st.lists(st.lists(TEXTS, min_size=2, max_size=2), max_size=2), st.just(["ab"])),
            **AROUND,
        },
    ),
    "pair": (
        {"prompt": "Q", "completion": " A"},
        {"prompt": TEXTS | messages("role", "content"), "completion": messages("role", "content"), **AROUND},
    ),
    "columns": (
        {"question": "Q", "answer": "A", "system": "S"},
        {"question": TEXTS, "answer": mostly(TEXTS), "system": mostly(TEXTS)},
    ),
    "text": ({"text": "T"}, {"text": mostly(TEXTS)}),
    "tokenized": (
        {"input_ids": [1, 2, 3], "labels": [-100, 2, 3]},
        {
            "input_ids": mostly(st.deferred(lambda: st.lists(ids(), max_size=5))),
            "labels": mostly(st.lists(st.sampled_from([-100, -1, 7]), max_size=5)),
            "attention_mask": mostly(st.lists(st.integers(0, 1), max_size=5)),
        },
    ),
}
"""A right row of each shape, by which the data is recognised, and what its other rows may hold."""


TURNS = [
    {"role": "system", "content": "S"},
    {"role": "user", "content": "Q"},
    {"role": "assistant", "content": "A"},
    {"role": "user", "content": "R"},
    {"role": "assistant", "content": "B"},
]
CORNERS: Mapping[str, list[Mapping[str, Any]]] = {
    "messages": [{"messages": TURNS}, {"messages": [*TURNS, {"role": "assistant"}]}, {"tools": "{}"}, {"tools": "[]"}],
    "sharegpt": [
        {"conversations": [{"from": turn["role"], "value": turn["content"]} for turn in TURNS], "system": "T"},
        {"conversations": [{"from": "human", "value": "Q"}, {"from": "gpt", "value": "A", "content": "B"}]},
    ],
    "alpaca": [{"system": "S", "history": [["a", "b"]]}, {"history": ["ab"]}, {"history": [[1, 2]]}],
    "pair": [{"prompt": TURNS[:2], "completion": TURNS[2:]}, {"prompt": TURNS, "completion": json.dumps(TURNS)}],
    "columns": [{"system": ""}],
    "text": [{"text": f"a{end}"} for end in ("<|endoftext|>", "<|im_end|>", "<|end_of_text|>", "<|eot_id|>")],
    "tokenized": [],
}
"""Rows of each shape that are in every set, whatever is drawn."""


@st.composite
def datasets(draw: st.DrawFn, shape: str) -> list[Row]:
    """The rows that are always there, and others that change some columns of the right one."""
    right, columns = SHAPES[shape]
    rows = always(shape)
    for changed_columns in draw(st.lists(st.fixed_dictionaries({}, optional=dict(columns)), min_size=3, max_size=6)):
        row = {**right, **changed_columns}
        if shape == "tokenized" and draw(st.booleans()):  # of one length
            size = max(1, len(row["input_ids"]) if isinstance(row["input_ids"], list) else 0)
            row = {name: (value * 5)[:size] if isinstance(value, list) else value for name, value in row.items()}
        if draw(st.integers(0, 9)) == 0:
            row = {name: row[name] for name in list(row)[1:]}
        rows.append(row)
    return as_rows(rows)


def always(shape: str) -> list[Any]:
    """The right row, those at the corners of the rules, and one that is no JSON object."""
    right = SHAPES[shape][0]
    rows = [right, *({**right, **corner} for corner in CORNERS[shape]), None]
    if shape == "tokenized":
        rows += [{"input_ids": [1, 2, last], "labels": [-100, 2, last]} for last in edges()]
    return rows


def as_rows(rows: list[Any]) -> list[Row]:
    return [Row(i, row, json.dumps(row), f"rows.jsonl line {i + 1}") for i, row in enumerate(rows)]


TURNED: Mapping[str, tuple[Mapping[str, Any], ...]] = {
    "data": (
        {"alpaca_prompt": "newline", "given_labels": "shifted"},
        {"alpaca_prompt": "blank_line", "function_calls": "tool_calls"},
        {"function_calls": "tool_calls", "given_labels": "unshifted", "fields": {"system": "system"}},
        {"fields": {"system": "system"}},
    ),
    "render": ({"inject_system": "S <|im_end|>"}, {"kwargs": {"note": "-"}}, {"template": "file:TAGGED"}),
    "tokenizer": ({"eos_token": "EOS"},),
    "tokenize": (
        {"mode": "whole"},
        {"add_special_tokens": True},
        {"add_special_tokens": True, "bos": "drop_second"},
        {"add_special_tokens": True, "bos": "drop_second", "append_eos": "always"},
        {"bos": "strip_text"},
        {"bos": "strip_text", "append_eos": "if_missing_text"},
        {"append_eos": "if_missing_text"},
        {"append_eos": "if_missing_ids"},
        {"append_eos": "if_missing_ids", "add_special_tokens": True},
    ),
    "mask": ({"boundary": "common_prefix", "turns": "last"}, {"ignore_index": -1, "turns": "last"}),
    "length": (
        {"max": 10},
        {"max": 3, "over": "cut_left"},
        {"max": 10, "over": "drop"},
        {"max": 3, "over": "error"},
        {"min_tokens": 3},
        {"max": 24, "drop_unlabelled": True},
    ),
}
"""Knobs that are turned together, one set of a group at a time."""
RULES = ("completion", "all", "assistant", "generation_tag")
EOS = {"builtin:chatml": "<|endoftext|>", "builtin:llama3": "<|end_of_text|>", "builtin:gemma": "<eos>"}


def recipe_of(name: str, tokenizer: str, rule: str, ways: Mapping[str, Mapping[str, Any]]) -> Recipe:
    """A preset with these knobs turned, but those that its rule could not be exported with."""
    recipe = changed(changed(preset(name), "tokenizer.name", tokenizer), "mask.rule", rule)
    if rule == "generation_tag":
        recipe = changed(changed(recipe, "render.template", "file:TAGGED"), "tokenize.bos", "keep")
    for group, way in ways.items():
        for knob, value in way.items():
            exact = knob == "append_eos" or value == "drop_second"
            if not ((rule == "generation_tag" and group == "tokenize") or (rule == "assistant" and exact)):
                recipe = changed(recipe, f"{group}.{knob}", EOS[tokenizer] if value == "EOS" else value)
    return recipe


def recipes() -> st.SearchStrategy[Recipe]:
    """Recipes that can be exported for some shape of rows: a preset with knobs of each group turned."""
    ways = {group: st.sampled_from([{}, *choices]) for group, choices in TURNED.items()}
    names = st.sampled_from(["hf-trainer", "hf-trainer", "manual-shift"])
    rules = st.sampled_from(["completion", *RULES])
    return st.builds(recipe_of, names, st.sampled_from(sorted(EOS)), rules, st.fixed_dictionaries(ways))


def each_knob() -> Iterator[Recipe]:
    """Every rule by itself, and each set of knobs by itself with two of them."""
    for rule in RULES:
        yield recipe_of("manual-shift", "builtin:llama3", rule, {})
    for group, choices in TURNED.items():
        for way in choices:
            yield recipe_of("hf-trainer", "builtin:llama3", "completion", {group: way})
            if group in ("mask", "length"):
                yield recipe_of("hf-trainer", "builtin:chatml", "assistant", {group: way})


@cache
def core_tokenizer(name: str) -> LoadedTokenizer:
    return load_tokenizer(name)


@cache
def plain_tokenizer(name: str, eos: str | None) -> Any:
    """As the script loads it."""
    load = running(config_with({"tokenizer.eos_token": eos}), {})["load_tokenizer"]
    return load(str(builtin.folder(name.removeprefix("builtin:"))))


def config_with(values: Mapping[str, Any]) -> Config:
    """What says nothing but these: knobs of the recipe by their paths, choices of the data by their names."""
    config = Config("hf-trainer", **{name: value for name, value in values.items() if "." not in name})
    for path, value in values.items():
        config = cast(Config, changed(config, path, value)) if "." in path else config
    return config


def running(config: Config, constants: Mapping[str, Any]) -> dict[str, Any]:
    """The names of the plain module with its functions running under another CONFIG and other constants."""
    names = {**vars(plain), "CONFIG": config, **constants}
    for name, value in vars(plain).items():
        if isinstance(value, FunctionType) and value.__module__ == plain.__name__:
            names[name] = FunctionType(value.__code__, names, name, value.__defaults__)
    return names


def exported(config: Config, constants: Mapping[str, Any]) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "preprocess"}
    exec(compile(copied(plain_source(), config, constants), "preprocess.py", "exec"), names)
    return names


def of_core(row: Row, detected: Any, recipe: Recipe, tools: Any) -> Any:
    found = pipeline.inspect(row, detected, recipe, tools)
    if found.problem is not None:
        return f"refused: {found.problem.sentence()}"
    one = found.example
    return one and {
        "input_ids": list(one.input_ids),
        "labels": list(one.labels),
        "attention_mask": list(one.attention_mask),
    }


def of_plain(prepare: Callable[..., Any], row: Row, tokenizer: Any) -> Any:
    data = json.loads(row.raw)  # its own copy
    try:
        return prepare(data, tokenizer)
    except Exception as error:
        return f"refused: {error}"


class Comparison:
    """What became of the rows that both ways prepared."""

    def __init__(self, folder: Path) -> None:
        self.template = folder / "tagged.jinja"
        self.template.write_text(TAGGED)
        self.counts: Counter[str] = Counter()

    def compare(self, rows: list[Row], recipe: Recipe) -> None:
        """AssertionError for the first row of which the two make something else."""
        source = TAGGED if recipe.render.template == "file:TAGGED" else None
        if source is not None:
            recipe = changed(recipe, "render.template", f"file:{self.template}")
        tools = pipeline.make_toolbox(recipe, core_tokenizer(recipe.tokenizer.name or ""))
        detected = pipeline.detect(rows[:1], recipe)
        facts = core_tokenizer(recipe.tokenizer.name or "").facts
        prepared = ExportInput(
            ("rows.jsonl",), loading=LINES, detected=detected, tokenizer=facts, template_source=source
        )
        try:
            check_expressible(recipe, prepared)
        except ExportError as error:
            self.counts[f"not exported: {error.what}"] += 1
            return
        config, constants = config_of(recipe, prepared), constants_of(recipe, prepared)
        tokenizer = plain_tokenizer(recipe.tokenizer.name or "", recipe.tokenizer.eos_token)
        ways = [running(config, constants)["prepare"], exported(config, constants)["prepare"]]
        for row in rows:
            made, copy = (of_plain(way, row, tokenizer) for way in ways)
            assert made == copy, "copying changes what it does"
            self._count(of_core(row, detected, recipe, tools), made, row.raw)

    def _count(self, wanted: Any, made: Any, row: str) -> None:
        if isinstance(made, str) and any(why in made for why in GUESSED):
            self.counts["guessed"] += 1
        elif isinstance(wanted, str) or isinstance(made, str):
            assert isinstance(wanted, str) and isinstance(made, str), (wanted, made, row)
            self.counts["refused"] += 1
        else:
            assert made == wanted, (made, wanted, row)
            self.counts["dropped" if wanted is None else "prepared"] += 1


@pytest.mark.one_of(3)
@pytest.mark.parametrize("shape", SHAPES)
def test_each_knob_does_in_the_plain_preparation_what_it_does_in_the_core(shape: str, tmp_path: Path) -> None:
    comparison = Comparison(tmp_path)
    for recipe in each_knob():
        comparison.compare(as_rows(always(shape)), recipe)
    assert comparison.counts["prepared"] > 25, comparison.counts


@pytest.mark.parametrize("shape", SHAPES)
def test_the_plain_preparation_is_the_cores(shape: str, tmp_path: Path) -> None:
    comparison = Comparison(tmp_path)

    @settings(max_examples=MORE or 15, deadline=None, derandomize=not MORE)
    @given(datasets(shape), recipes())
    def compare(rows: list[Row], recipe: Recipe) -> None:
        comparison.compare(rows, recipe)

    compare()
    print(shape, dict(comparison.counts))
    assert comparison.counts["prepared"] > 2 * comparison.counts["guessed"], comparison.counts


ALTERNATIVES: Mapping[str, tuple[Any, ...]] = {
    "rows": ("list", *(Code(source.loading.script) for source in (CsvSource, HubSource, SavedSource))),
    "format": ("alpaca", "pair", "text", "tokenized"),
    "data.alpaca_prompt": ("newline", "blank_line"),
    "render.inject_system": ("be kind",),
    "tokenizer.bos_token": ("<s>",),
    "tokenizer.eos_token": ("</s>",),
    "tokenizer.pad_token": ("<pad>",),
    "tokenize.bos": ("strip_text", "drop_second"),
    "tokenize.append_eos": ("if_missing_text", "if_missing_ids", "always"),
    "mask.rule": ("all", "assistant", "generation_tag"),
    "mask.boundary": ("common_prefix",),
    "mask.turns": ("last",),
    "length.over": ("cut_left", "drop", "error"),
    "length.min_tokens": (3,),
    "length.drop_unlabelled": (True,),
    "loss.shift": ("preshifted",),
}
"""Words that the plain preparation knows beside those of a `Config` that says nothing."""
SET: Mapping[str, Any] = {
    "PARTS": [(1, None)],
    "REVISION": "abc",
    "TOKENIZER_CLASS": "LlamaTokenizer",
    "DATE": "2026-11-22",
    "MAX_LENGTH": 9,
    "KEYS": {"from": "role"},
    "ROLES": {"gpt": "assistant"},
    "TEMPLATE_VARIABLES": {"a": 1},
    "CHAT_TEMPLATE": "a\nb",
    "IGNORE": -1,
}


def ways() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """What to copy for: each choice by itself, and each constant; (config, constants)."""
    found: list[tuple[dict[str, Any], dict[str, Any]]] = [({}, {name: value}) for name, value in SET.items()]
    found += [({field.name: not field.default}, {}) for field in fields(Config) if field.type == "bool"]
    for name, values in ALTERNATIVES.items():
        for value in values:
            alone = name == "mask.rule" or value in ("text", "tokenized")
            found.append(({name: value, "prompt_alone": False} if alone else {name: value}, {}))
    system: dict[str, Any] = {"system": "system", "tools": "tools", "variables": "kwargs", "bare": False}
    return [*found, ({}, {}), (system, dict(SET)), ({"format": "alpaca", **system}, {}), ({"content_key": "value"}, {})]


def test_a_script_has_all_that_it_names_and_nothing_more() -> None:
    for config, constants in ways():
        text = copied(plain_source(), config_with(config), constants)
        assert names_missing(text) == set() and names_unused(text) == set(), (config, constants, text)


def names_missing(text: str) -> set[str]:
    tree = list(ast.walk(ast.parse(text)))
    known = {one.id for one in tree if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load)}
    known |= {one.arg for one in tree if isinstance(one, ast.arg)} | made_by(tree)
    known |= {one.name for one in tree if isinstance(one, ast.ExceptHandler) and one.name}
    return {one.id for one in tree if isinstance(one, ast.Name)} - known - set(dir(builtins)) - {"__name__"}


def names_unused(text: str) -> set[str]:
    tree = list(ast.walk(ast.parse(text)))
    top = {
        one.targets[0].id
        for one in ast.parse(text).body
        if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name)
    }
    return (
        (made_by(tree) | top)
        - {"now"}
        - {one.id for one in tree if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)}
    )


def made_by(tree: list[ast.AST]) -> set[str]:
    """The functions, classes and imports of a script."""
    found = {one.name for one in tree if isinstance(one, (ast.FunctionDef, ast.ClassDef))}
    return found | {one.name for node in tree if isinstance(node, (ast.Import, ast.ImportFrom)) for one in node.names}
