"""Recipes as YAML: every problem is named, and only what differs is saved."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sftui import recipe_io
from sftui.errors import RecipeError
from sftui.recipe import KnobInfo, Preset, changed, diff, get, knobs, knobs_of
from sftui.trainers import dump_recipe, load_recipe, preset, preset_names
from sftui.trainers.axolotl import AxolotlOptions


@pytest.mark.parametrize("name", preset_names())
def test_a_preset_saves_as_its_name_alone(name: str) -> None:
    assert dump_recipe(preset(name)).strip() == f"preset: {name}\nschema: 3"
    assert load_recipe(f"preset: {name}\nschema: 3", "r.yaml") == preset(name)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("preset: hf-trianer", "did you mean `hf-trainer`"),
        ("mask: {rulle: all}", "did you mean `mask.rule`"),
        ("maks: {rule: all}", "did you mean `mask`"),
        (
            "mask: {rule: complesion}",
            "`mask.rule` cannot be 'complesion', did you mean `completion`? It can be auto, all",
        ),
        ("length: {max: 0}", "give 1 or more"),
        ("length: {max: '12'}", "use an integer"),
        ("length: {max: true}", "use an integer"),
        ("tokenize: {add_special_tokens: 1}", "use true or false"),
        ("mask: {roles: assistant}", "give a list of names"),
        ("render: {kwargs: [a]}", "give a mapping"),
        ("- a", "mapping of sections"),
        ("a: [", "line 1"),
        ("tokenizer: {type: a.b}", "name a transformers class such as LlamaTokenizer"),
        ("tokenizer: {type: 5}", "`tokenizer.type` cannot be 5"),
        ("render: {date: tomorrow}", "use today or a date, e.g. 2026-11-22"),
        ("render: {date: '2026-02-30'}", "`render.date` cannot be '2026-02-30'"),
        ("render: {date: 20261122}", "`render.date` cannot be 20261122"),
        ("render: {date: '20261122'}", "`render.date` cannot be"),
        ("render: {date: 2026-11-22 10:00:00}", "`render.date` cannot be"),
        ("mask: all", "must be a mapping of knobs"),
        ("mask: {rule: x, boundary: y}", "1 more"),
        ("preset: [1]", "must be a name"),
        ("schema: true", "`schema` cannot be True"),
        ("schema: 0", "`schema` cannot be 0"),
        ("format: x", "`format` cannot be 'x'"),
    ],
)
def test_bad_recipes_say_what_is_wrong(text: str, says: str) -> None:
    with pytest.raises(RecipeError) as error:
        load_recipe(text, "r.yaml")
    assert (says in str(error.value) and "r.yaml" in str(error.value)) or "hf-trainer" in says
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "kept"),
    [("hf-trainer", None), ("manual-shift", None), ("axolotl@0.19", "running"), ("llamafactory@0.9", "running")],
)
def test_a_recipe_of_before_keeps_the_ids_it_had(name: str, kept: str | None) -> None:
    assert load_recipe(f"preset: {name}", "r.yaml").tokenizer.transformers == kept
    named = load_recipe(f"preset: {name}\ntokenizer: {{transformers: 5.6.0}}", "r.yaml")
    assert named.tokenizer.transformers == "5.6.0"


@pytest.mark.parametrize("day", ["2026-11-22", "'2026-11-22'", "0987-01-02"])
def test_a_day_is_read_and_saved_as_itself(day: str) -> None:
    recipe = load_recipe(f"preset: hf-trainer\nschema: 3\nrender: {{date: {day}}}", "r.yaml")
    assert recipe.render.date == day.strip("'")
    assert load_recipe(dump_recipe(recipe), "r.yaml") == recipe
    assert load_recipe("preset: hf-trainer\nrender: {date: today}", "r.yaml").render.date == "today"


def test_waivers_are_kept_with_the_recipe() -> None:
    text = "preset: hf-trainer\nwaivers:\n- code: EOS001\n  reason: pre-training text\n  rows: [0, 9]\n"
    recipe = load_recipe(text, "r.yaml")
    assert recipe.waivers == ({"code": "EOS001", "reason": "pre-training text", "rows": [0, 9]},)
    assert load_recipe(dump_recipe(recipe), "r.yaml") == recipe
    with pytest.raises(RecipeError, match="list of mappings"):
        load_recipe("waivers: EOS001", "r.yaml")


def values(info: KnobInfo) -> st.SearchStrategy[Any]:
    text = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), max_size=12)
    if info.choices:
        return st.sampled_from(info.choices)
    if info.path == "tokenizer.type":
        return st.none() | st.sampled_from(["LlamaTokenizer", "GPT2TokenizerFast"])
    if info.path == "render.date":
        return st.just("today") | st.dates().map(date.isoformat)
    base: dict[str, st.SearchStrategy[Any]] = {
        "bool": st.booleans(),
        "int": st.integers(info.minimum if info.minimum is not None else -200, 9999),
        "str": text,
        "mapping": st.dictionaries(text.filter(bool), text | st.booleans() | st.integers(-5, 5), max_size=3),
        "names": st.dictionaries(text.filter(bool), text, max_size=3),
        "list": st.lists(text, max_size=3).map(tuple),
    }
    kind = info.type.rstrip("?")
    return base[kind] | st.none() if info.type.endswith("?") else base[kind]


@settings(max_examples=80, deadline=None)
@given(
    st.sampled_from(preset_names()),
    st.lists(st.sampled_from(knobs()), max_size=6, unique_by=lambda k: k.path),
    st.data(),
)
def test_what_is_saved_loads_as_it_was(name: str, picked: list[KnobInfo], data: st.DataObject) -> None:
    recipe = preset(name)
    for info in picked:
        recipe = changed(recipe, info.path, data.draw(values(info)))
    saved = dump_recipe(recipe, comment="corrected: mask.rule")
    assert load_recipe(saved, "r.yaml") == recipe
    assert saved.startswith("# corrected: mask.rule\n")


def test_diff_names_every_knob_that_differs() -> None:
    after = changed(changed(preset(), "length.max", 5), "mask.rule", "all")
    assert [(c.path, c.before, c.after) for c in diff(preset(), after)] == [
        ("mask.rule", "completion", "all"),
        ("length.max", None, 5),
    ]


@pytest.mark.parametrize(
    ("path", "typed", "value"),
    [
        ("length.max", "2048", 2048),
        ("length.max", "2,048", 2048),
        ("length.max", "null", None),
        ("length.max", "", None),
        ("tokenize.add_special_tokens", "yes", True),
        ("mask.roles", "assistant, tool", ("assistant", "tool")),
        ("mask.roles", "[assistant, tool]", ("assistant", "tool")),
        ("mask.roles", '["assistant","user"]', ("assistant", "user")),
        ("mask.roles", "['assistant', \"user\"]", ("assistant", "user")),
        ("mask.roles", "\"assistant\", 'tool'", ("assistant", "tool")),
        ("mask.roles", "- assistant\n- user\n", ("assistant", "user")),
        ("mask.roles", '"a, b"', ("a, b",)),
        ("mask.roles", "ns:role, [x", ("ns:role", "[x")),
        ("mask.roles", "[]", ()),
        ("mask.roles", "", ()),
        ("render.kwargs", "enable_thinking=false", {"enable_thinking": False}),
        ("render.kwargs", "{a: 1}", {"a": 1}),
        ("mask.rule", "all", "all"),
        ("pack.strategy", "bfd", "bfd"),
        ("tokenizer.eos_token", "<eos>", "<eos>"),
        ("data.fields", "prompt=question", {"prompt": "question"}),
    ],
)
def test_typed_values(path: str, typed: str, value: Any) -> None:
    assert recipe_io.parse_value(path, typed, preset("hf-trainer")) == value


def test_typed_values_that_do_not_fit_say_so() -> None:
    for path, typed in (("length.max", "many"), ("mask.rule", "al"), ("mask.nope", "1"), ("render.kwargs", "{a")):
        with pytest.raises(RecipeError):
            recipe_io.parse_value(path, typed, preset("hf-trainer"))


@pytest.mark.parametrize(
    "typed", ["[assistant", "[1, 2]", "[[assistant]]", "[assistant, null]", "{assistant: 1}", '"assistant', '"a"b']
)
def test_a_list_that_is_none_is_refused_in_one_sentence(typed: str) -> None:
    with pytest.raises(RecipeError) as refused:
        recipe_io.parse_value("mask.roles", typed, preset("hf-trainer"))
    assert (
        "\n" not in str(refused.value)
        and "mask.roles" in str(refused.value)
        and "assistant, user" in str(refused.value)
    )


@pytest.mark.parametrize("typed", ["[a]", '["enable_thinking"]', "enable_thinking", "- a"])
def test_a_mapping_that_is_none_is_refused(typed: str) -> None:
    with pytest.raises(RecipeError, match=r"render\.kwargs"):
        recipe_io.parse_value("render.kwargs", typed, preset("hf-trainer"))


def test_every_knob_has_a_meaning_and_a_default_it_accepts() -> None:
    for info in knobs():
        assert info.doc and not info.doc.endswith(".")
        assert not isinstance(recipe_io.check(info, get(preset(), info.path)), recipe_io.Misfit), info.path


def test_a_newer_schema_is_refused_before_its_knobs_are_read() -> None:
    with pytest.raises(RecipeError) as told:
        load_recipe("preset: trl@1.16\nschema: 99\nunheard: {of: 1}\n", "team.yaml")
    error = told.value
    assert (error.what, error.where) == ("the recipe has schema 99, but this sftui reads schemas up to 3", "team.yaml")
    assert error.why and error.fix


@pytest.mark.parametrize(
    ("head", "meant"), [("", "running"), ("format: 1\n", "running"), ("format: 2\n", None), ("schema: 3\n", None)]
)
def test_older_schemas_keep_their_meaning(head: str, meant: str | None) -> None:
    recipe = load_recipe(f"preset: trl@1.16\n{head}length: {{max: 9}}\n", "r.yaml")
    assert (recipe.trainer, recipe.version, recipe.length.max) == ("trl", "1.16", 9)
    assert recipe.tokenizer.transformers == meant


@pytest.mark.parametrize(
    ("name", "parts"), [("trl@1.16", ("trl", "1.16")), ("trl", ("trl", "")), ("hf-trainer", ("hf-trainer", ""))]
)
def test_a_preset_is_a_trainer_and_its_version(name: str, parts: tuple[str, str]) -> None:
    assert Preset.of(name) == parts and str(Preset.of(name)) == name


OPTIONS = "{train_on_eos: all, tokens: [<a>], added_tokens_overrides: {128041: x}, type: {a: b}}"


@pytest.mark.parametrize("text", [f"schema: 3\nown: {OPTIONS}", f"format: 2\nmask: {{options: {OPTIONS}}}"])
def test_a_trainers_own_options_are_read_wherever_they_stood(text: str) -> None:
    recipe = load_recipe(f"preset: axolotl@0.19\n{text}\n", "r.yaml")
    assert recipe.own == AxolotlOptions(
        train_on_eos="all",
        tokens=("<a>",),
        added_tokens_overrides={128041: "x"},
        type={"a": "b"},
    )
    assert load_recipe(dump_recipe(recipe), "again") == recipe


@pytest.mark.parametrize(
    ("name", "own", "says"),
    [
        ("axolotl@0.19", "{train_on_eoz: all}", "no knob `own.train_on_eoz`, did you mean `train_on_eos`?"),
        ("axolotl@0.19", "{train_on_eos: al}", "`own.train_on_eos` cannot be 'al', did you mean `all`?"),
        ("axolotl@0.19", "{tokens: a}", "`own.tokens` cannot be 'a', give a list"),
        ("axolotl@0.19", "{val_set_size: '0.1'}", "`own.val_set_size` cannot be '0.1', give a number"),
        ("axolotl@0.19", "{type: [a]}", "`own.type` cannot be ['a']"),
        ("axolotl@0.19", "{added_tokens_overrides: {a: b}}", "give ids and their text"),
        ("llamafactory@0.9", "{max_samples: 0.5}", "`own.max_samples` cannot be 0.5, use an integer"),
        ("unsloth@2026.10", "{standardize: 1}", "`own.standardize` cannot be 1, use true or false"),
        ("trl@1.16", "{train_on_eos: all}", "trl has completion_only_loss, dataset_text_field"),
        ("hf-trainer", "{train_on_eos: all}", "hf-trainer has no options of its own"),
    ],
)
@pytest.mark.parametrize("form", ["own: {}", "mask: {{options: {}}}"])
def test_an_option_that_a_trainer_does_not_have_is_told(form: str, name: str, own: str, says: str) -> None:
    with pytest.raises(RecipeError) as told:
        load_recipe(f"preset: {name}\n{form.format(own)}\n", "r.yaml")
    assert says in str(told.value) and told.value.where == "r.yaml"


@pytest.mark.parametrize("name", preset_names())
def test_every_option_of_a_trainer_is_typed_said_and_saved(name: str) -> None:
    recipe = preset(name)
    for info in knobs_of(recipe):
        assert info.doc and info.type and (info in knobs() or info.path.startswith("own."))
        assert recipe_io.check(info, info.default) == info.default
    assert not diff(recipe, preset(name)) and not recipe.own.said()


def test_recipes_of_two_trainers_differ_in_the_options_that_are_set() -> None:
    one, other = preset("trl@1.16"), changed(preset("axolotl@0.19"), "own.val_set_size", 0.1)
    found = {change.path: (change.before, change.after) for change in diff(one, other) if change.path[:3] == "own"}
    assert found == {"own.val_set_size": (None, 0.1)}
    back = {change.path: (change.before, change.after) for change in diff(other, one) if change.path[:3] == "own"}
    assert back == {"own.val_set_size": (0.1, None)}


@pytest.mark.parametrize(
    ("path", "typed", "value"),
    [
        ("own.val_set_size", "0.1", 0.1),
        ("own.val_set_size", "20", 20),
        ("own.val_set_size", "null", None),
        ("own.multipack_real_batches", "off", False),
        ("own.eot_tokens", "<a>, <b>", ("<a>", "<b>")),
        ("own.eot_tokens", "", None),
        ("own.type", "alpaca", "alpaca"),
        ("own.type", "{a: b}", {"a": "b"}),
        ("own.added_tokens_overrides", "{7: x}", {7: "x"}),
    ],
)
def test_typed_options(path: str, typed: str, value: Any) -> None:
    assert recipe_io.parse_value(path, typed, preset("axolotl@0.19")) == value
