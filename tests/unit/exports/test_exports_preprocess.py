"""preprocess.py, run alone, gives the ids and labels of the screen."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from exported_scripts import run_alone, run_script, shown

from sftui.cli.loading import loaded_session
from sftui.errors import ExportError
from sftui.exports.copying import literal
from sftui.exports.plan import plan_export
from sftui.exports.records import record
from sftui.recipe import Recipe, changed
from sftui.session.options import OpenOptions
from sftui.trainers import preset


def with_(recipe: Recipe, **knobs: Any) -> Recipe:
    for path, value in knobs.items():
        recipe = changed(recipe, path.replace("__", "."), value)
    return recipe


def chatml(name: str = "hf-trainer", **knobs: Any) -> Recipe:
    return with_(preset(name), tokenizer__name="builtin:chatml", **knobs)


def write(path: Path, rows: list[Any]) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(
        "".join((row if isinstance(row, str) else json.dumps(row, ensure_ascii=False)) + "\n" for row in rows)
    )
    return path


ROWS: dict[str, list[Any]] = {
    "messages": [
        {
            "messages": [
                {"role": "user", "content": "Hi \u202e\x1b[1m 你好 👍🏽"},
                {"role": "assistant", "content": " yes\n"},
            ]
        },
        {
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "One"},
                {"role": "assistant", "content": "1"},
                {"role": "user", "content": "Two"},
                {"role": "assistant", "content": "2 and more " * 20},
            ]
        },
        {"messages": [{"role": "user", "content": "no answer"}]},
        {"messages": []},
        "{broken",
        "",
        "[1]",
        {
            "messages": [{"role": "user", "content": "with tools"}, {"role": "assistant", "content": "done"}],
            "tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}],
        },
        {"messages": json.dumps([{"role": "user", "content": "as text"}, {"role": "assistant", "content": "read"}])},
        {"messages": [{"role": "user", "contnet": "misspelt"}, {"role": "assistant", "content": "x"}]},
    ],
    "sharegpt": [
        {"conversations": [{"from": "human", "value": "Q"}, {"from": "gpt", "value": "A"}], "system": "S"},
        {
            "conversations": [
                {"from": "human", "value": "Q"},
                {"from": "function_call", "value": '{"name": "f", "arguments": {"a": 1}}'},
                {"from": "observation", "value": "7"},
                {"from": "gpt", "value": "It is 7."},
            ]
        },
        {"conversations": [{"from": "human", "role": "x", "value": "Q"}, {"from": "gpt", "value": "A"}]},
    ],
    "alpaca": [
        {"instruction": "Do {it}", "input": "", "output": "done"},
        {"instruction": "Do", "input": 'with "this"', "output": "done", "system": "S", "history": [["a", "b"]]},
        {"instruction": "Do", "input": None, "output": "done"},
    ],
    "pair": [{"prompt": "2+2", "completion": "4"}, {"prompt": "", "completion": ""}, {"prompt": 3, "completion": "x"}],
    "qa": [{"question": "2+2", "answer": "4"}],
    "chat-pair": [
        {"prompt": [{"role": "user", "content": "Hi"}], "completion": [{"role": "assistant", "content": "Yes"}]}
    ],
    "text": [{"text": "Plain text\n with lines"}, {"text": ""}, {"text": None}],
    "tokenized": [
        {"input_ids": list(range(5, 45)), "labels": [-100] * 10 + list(range(15, 45))},
        {"input_ids": [1, 2], "labels": [1]},
    ],
    "shifted": [{"input_ids": list(range(5, 45)), "labels": [-100] * 9 + list(range(15, 45)) + [-100]}] * 2,
}
VARIANTS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "cut": {"length__max": 12, "length__drop_unlabelled": True, "mask__ignore_index": -1},
    "cut left": {"length__max": 12, "length__over": "cut_left", "mask__boundary": "common_prefix"},
    "dropped": {"length__max": 30, "length__over": "drop", "length__min_tokens": 8},
    "specials": {
        "tokenize__add_special_tokens": True,
        "tokenize__append_eos": "always",
        "tokenize__bos": "drop_second",
    },
    "eos by text": {"tokenize__append_eos": "if_missing_text", "mask__rule": "all"},
    "eos by ids": {
        "tokenize__append_eos": "if_missing_ids",
        "render__inject_system": 'Hi "you"',
        "tokenizer__eos_token": "<|endoftext|>",
    },
}


@pytest.mark.parametrize("name", ["hf-trainer", "manual-shift"])
@pytest.mark.parametrize("kind", list(ROWS))
def test_the_script_equals_the_screen(kind: str, name: str, tmp_path: Path, plan_for: Callable[..., Any]) -> None:
    path = write(tmp_path / "data.jsonl", ROWS[kind])
    recipe = chatml(name)
    if kind == "shifted":
        recipe = with_(recipe, data__given_labels="shifted")
    wanted = shown(path, recipe)
    assert wanted and run_script(plan_for(path, recipe), tmp_path) == wanted


@pytest.mark.parametrize("variant", list(VARIANTS))
def test_a_corrected_recipe_is_followed(variant: str, tmp_path: Path, plan_for: Callable[..., Any]) -> None:
    path = write(tmp_path / "data.jsonl", ROWS["messages"])
    base = chatml()
    recipe = with_(base, **VARIANTS[variant])
    plan = plan_for(path, recipe, base)
    assert run_script(plan, tmp_path) == shown(path, recipe)
    first = plan.files[0].content.splitlines()[0]
    assert first == f"# {plan.first_line}"
    assert all(key.replace("__", ".") in first for key in VARIANTS[variant])


@pytest.mark.parametrize("turns", ["all", "last"])
def test_all_assistant_turns_can_be_trained(turns: str, tmp_path: Path, plan_for: Callable[..., Any]) -> None:
    path = write(tmp_path / "data.jsonl", ROWS["messages"][:2] + ROWS["messages"][7:9])
    recipe = chatml(mask__rule="assistant", mask__turns=turns)
    assert run_script(plan_for(path, recipe), tmp_path) == shown(path, recipe)


def test_a_row_whose_places_could_only_be_guessed_is_left_out_and_told(
    tmp_path: Path, plan_for: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    blank = {"messages": [{"role": "user", "content": "Q"}, {"role": "assistant", "content": " \n\t "}]}
    path = write(tmp_path / "data.jsonl", [ROWS["messages"][0], blank])
    recipe = chatml(mask__rule="assistant")
    assert list(run_script(plan_for(path, recipe), tmp_path)) == [0]
    assert "only whitespace" in capsys.readouterr().err


def test_generation_tags_can_draw_the_mask(tmp_path: Path, plan_for: Callable[..., Any]) -> None:
    template = tmp_path / "tagged.jinja"
    template.write_text(
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.role == 'assistant' %}{% generation %}{{ m.content }}"
        "<|im_end|>{% endgeneration %}{% else %}{{ m.content }}<|im_end|>{% endif %}\n{% endfor %}"
    )
    path = write(tmp_path / "data.jsonl", ROWS["messages"][:2] + ROWS["messages"][7:9])
    recipe = chatml(mask__rule="generation_tag", render__template=f"file:{template}")
    wanted = shown(path, recipe)
    assert len(wanted) == 4 and run_script(plan_for(path, recipe), tmp_path) == wanted
    with pytest.raises(ExportError, match="has no"):
        plan_for(path, chatml(mask__rule="generation_tag"))


@pytest.mark.parametrize("style", ["newline", "blank_line"])
def test_other_alpaca_prompts(style: str, tmp_path: Path, plan_for: Callable[..., Any]) -> None:
    path = write(tmp_path / "data.jsonl", ROWS["alpaca"])
    recipe = chatml(data__alpaca_prompt=style)
    assert run_script(plan_for(path, recipe), tmp_path) == shown(path, recipe)


def test_tool_calls_of_sharegpt(tmp_path: Path, plan_for: Callable[..., Any]) -> None:
    path = write(tmp_path / "data.jsonl", ROWS["sharegpt"])
    recipe = chatml(data__function_calls="tool_calls")
    plan = plan_for(path, recipe)
    assert "add_calls" in plan.files[0].content
    assert run_script(plan, tmp_path) == shown(path, recipe)


def test_another_template_is_carried_in_the_script(tmp_path: Path, plan_for: Callable[..., Any]) -> None:
    template = tmp_path / "own.jinja"
    template.write_text(
        '{{ bos_token }}""" \\ \u202e\n{% for m in messages %}<{{ m.role }}>\n{{ m.content }}{% endfor %}'
        "{% if add_generation_prompt %}<assistant>\n{% endif %}"
    )
    path = write(tmp_path / "data.jsonl", ROWS["messages"])
    recipe = chatml(render__template=f"file:{template}", render__kwargs={"a": [1, None, "x"]})
    plan = plan_for(path, recipe)
    wanted = shown(path, recipe)
    template.unlink()
    assert run_script(plan, tmp_path) == wanted and plan.files[0].content.isascii()


def test_other_kinds_of_files(tmp_path: Path, plan_for: Callable[..., Any]) -> None:
    import gzip

    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [ROWS["messages"][0], ROWS["messages"][1]]
    array = tmp_path / "a.json"
    array.write_text(json.dumps(rows))
    packed = tmp_path / "a.jsonl.gz"
    packed.write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))
    table = tmp_path / "a.parquet"
    pq.write_table(pa.Table.from_pylist(rows), table)
    lines = tmp_path / "a.csv"
    lines.write_text('question,answer\n"a, b",c\n1,2\n')
    for path in (array, packed, table, lines):
        assert run_script(plan_for(path, chatml()), tmp_path) == shown(path, chatml()), path.name


def test_only_what_is_needed_is_written(tmp_path: Path, plan_for: Callable[..., Any]) -> None:
    path = write(tmp_path / "data.jsonl", ROWS["text"])
    text = plan_for(path, chatml()).files[0].content
    for word in ("to_messages", "ROLES", "bos", "MAX_LENGTH", "gzip", "sftui.", "import sftui"):
        assert word not in text
    ast.parse(text)


@pytest.mark.parametrize(
    ("knobs", "told"),
    [
        ({"mask__terminator": "mask"}, "mask.terminator"),
        ({"mask__rule": "turn_full"}, "turn_full"),
        ({"pack__strategy": "bfd"}, "pack.strategy"),
        ({"data__strict_turns": "error"}, "strict_turns"),
    ],
)
def test_what_cannot_be_expressed_is_refused(
    knobs: dict[str, Any], told: str, tmp_path: Path, plan_for: Callable[..., Any]
) -> None:
    path = write(tmp_path / "data.jsonl", ROWS["messages"])
    with pytest.raises(ExportError, match=told):
        plan_for(path, chatml(**knobs))


def test_an_eos_that_the_tokenizer_does_not_have_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "data.jsonl", ROWS["messages"])
    recipe = chatml(tokenize__append_eos="always")
    session = loaded_session(OpenOptions((str(path),), recipe=recipe))
    prepared = session.prepared()
    session.close()
    assert prepared.tokenizer is not None
    without = replace(prepared, tokenizer=replace(prepared.tokenizer, eos_token=None, eos_id=None))
    with pytest.raises(ExportError, match="cannot append an EOS"):
        plan_export("preprocess", str(tmp_path), recipe, recipe, without)
    named = with_(recipe, tokenizer__eos_token="<|endoftext|>")
    assert plan_export("preprocess", str(tmp_path), named, named, without).files


def test_names_of_the_data_cannot_become_code(tmp_path: Path, plan_for: Callable[..., Any]) -> None:
    column = "a\"]); open('pwned', 'w') #\n\u2028"
    path = write(tmp_path / "data.jsonl", [{column: "Q", "b": "A"}])
    recipe = chatml(data__fields={"prompt": column, "completion": "b"}, render__inject_system='"""\\')
    assert run_script(plan_for(path, recipe), tmp_path) == shown(path, recipe)
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize("value", ["", "\"'\\\n\r\t\x00\x1b\u202e\ud800é👍", {"a": [1, -2.5, True, None, ("x",)]}])
def test_literals_read_back(value: Any) -> None:
    text = literal(value)
    assert text.isascii() and "\n" not in text
    assert (
        ast.literal_eval(text) == json.loads(json.dumps(value))
        if not isinstance(value, str)
        else ast.literal_eval(text) == value
    )


@pytest.mark.one_of(3)
@pytest.mark.parametrize(
    "recipe",
    [chatml(), chatml("manual-shift"), chatml(length__max=20, mask__boundary="common_prefix")],
    ids=["hf-trainer", "manual-shift", "corrected"],
)
def test_the_script_stands_alone(recipe: Recipe, tmp_path: Path, plan_for: Callable[..., Any]) -> None:
    path = write(tmp_path / "data.jsonl", ROWS["messages"])
    assert run_alone(plan_for(path, recipe), tmp_path) == shown(path, recipe)


def test_a_pinned_day_is_pinned_in_the_script(tmp_path: Path, plan_for: Callable[..., Any]) -> None:
    template = tmp_path / "dated.jinja"
    template.write_text(
        "{{ strftime_now('%d %b %Y') }}{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n"
        "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    )
    path = write(tmp_path / "data.jsonl", ROWS["messages"])
    pinned, free = (
        chatml(render__template=f"file:{template}", **more) for more in ({"render__date": "2001-02-03"}, {})
    )
    made = run_alone(plan_for(path, pinned), tmp_path)
    assert made == shown(path, pinned) != shown(path, free)
    assert "Day" not in plan_for(path, free).files[0].content


CHAT = [
    {"messages": [{"role": "user", "content": f"Q{i}"}, {"role": "assistant", "content": f"A{i}"}]} for i in range(9)
]


@pytest.mark.parametrize("split", ["train[2:5]", "train[-30%:]", "train[:1]+train[7:]"])
def test_the_script_reads_the_part_of_the_split(split: str, tmp_path: Path) -> None:
    path = write(tmp_path / "data.jsonl", CHAT)
    made, screen = of_split(path, split, tmp_path)
    assert made == screen and 0 < len(made) < 9


def test_the_script_reads_the_split_of_a_saved_folder(tmp_path: Path) -> None:
    from datasets import Dataset, DatasetDict

    parts = {"train": Dataset.from_list(CHAT[:5]), "test": Dataset.from_list(CHAT[5:])}
    DatasetDict(parts).save_to_disk(str(tmp_path / "saved"))
    for split, rows in ((None, 5), ("train", 5), ("test", 4)):
        made, screen = of_split(tmp_path / "saved", split, tmp_path)
        assert made == screen and len(made) == rows
    (tmp_path / "saved" / "dataset_dict.json").unlink()  # saved one by one
    made, screen = of_split(tmp_path / "saved", "test", tmp_path)
    assert made == screen and len(made) == 4


def test_weights_are_refused_with_what_writes_them(tmp_path: Path) -> None:
    recipe = changed(chatml(), "loss.weights", "float")
    session = loaded_session(OpenOptions((str(write(tmp_path / "data.jsonl", CHAT)),), recipe=recipe))
    with pytest.raises(ExportError) as error:
        plan_export("preprocess", str(tmp_path / "export"), recipe, recipe, session.prepared())
    session.close()
    assert str(error.value) == (
        "preprocess.py cannot express loss.weights float: no collator pads loss weights; write the rows with their"
        " loss_weights: sftui encode -o OUT.parquet"
    )


def test_parts_of_two_splits_are_refused_by_the_script(tmp_path: Path) -> None:
    for name in ("train", "test"):
        write(tmp_path / "data" / f"{name}.jsonl", CHAT)
    with pytest.raises(ExportError, match="cannot express the split"):
        of_split(tmp_path / "data", "train[:1]+test[:1]", tmp_path)


@pytest.mark.parametrize("to", ["trl", "axolotl", "llamafactory", "torchtune", "unsloth"])
def test_the_trainers_config_has_the_part_of_the_split(to: str, tmp_path: Path) -> None:
    path = write(tmp_path / "data.jsonl", CHAT)
    recipe = chatml()
    session = loaded_session(OpenOptions((str(path),), recipe=recipe, split="train[:5]"))
    plan = plan_export(to, str(tmp_path / "export"), recipe, recipe, session.prepared())
    session.close()
    assert any("train[:5]" in file.content for file in plan.files)


def of_split(path: Path, split: str | None, tmp_path: Path) -> tuple[Any, Any]:
    """What the script makes of a split, and what the screen shows."""
    session = loaded_session(OpenOptions((str(path),), recipe=chatml(), split=split))
    records = [record(one) for one in session.all_rows()]
    plan = plan_export("preprocess", str(tmp_path / "export"), chatml(), chatml(), session.prepared())
    session.close()
    return run_script(plan, tmp_path), {one["row"]: (list(one["input_ids"]), list(one["labels"])) for one in records}
