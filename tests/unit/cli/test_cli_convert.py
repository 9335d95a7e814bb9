"""`sftui convert`: a new file of messages, the config that reads it, and nothing where a row cannot be carried."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from row_files import put, rows_of

from sftui.trainer_names import TRAINERS

Sftui = Callable[..., Any]
TOK = ("-t", "builtin:chatml")
ALPACA = [{"instruction": f"Add {n}.", "input": "1, 2" * (n % 2), "output": str(3 + n), "id": n} for n in range(6)]
SHAREGPT = [
    {"conversations": [{"from": "human", "value": f"hi {n}"}, {"from": "gpt", "value": "Hello."}], "id": n}
    for n in range(6)
]
CALL = {"name": "weather", "arguments": {"city": "Paris"}}
CALLS = [
    {
        "conversations": [
            {"from": "human", "value": "Weather?"},
            {"from": "function_call", "value": json.dumps(CALL)},
            {"from": "observation", "value": "sunny"},
            {"from": "gpt", "value": "It is sunny."},
        ],
        "tools": json.dumps([{"name": "weather", "parameters": {}}]),
    }
]
PAIRS = [{"question": f"1 + {n}?", "answer": str(1 + n)} for n in range(6)]


def opening(done: Any) -> list[str]:
    """The words with which the command says that the new file is opened."""
    line = next(line for line in done.err.splitlines() if line.startswith("sftui: open it with `"))
    return shlex.split(line.removeprefix("sftui: open it with `").removesuffix("`"))[1:]


def prepared(sftui: Sftui, *words: object) -> list[tuple[list[int], list[int]]]:
    done = sftui("encode", *words, "-o", "-")
    assert done.code in (0, 1), done.err
    return [(one["input_ids"], one["labels"]) for one in done.records()]


def test_what_a_trainer_cannot_read_becomes_messages_and_its_config(sftui: Sftui, here: Path) -> None:
    data = put("alpaca.jsonl", ALPACA)
    before = Path(data).read_bytes()
    checked = sftui("check", data, "--trainer", "trl", *TOK)
    assert checked.code == 1 and "it raises KeyError: 'text', because" in " ".join(checked.out.split())
    assert "✗ the trainer cannot use all 6 rows: the trainer does not read rows of this shape (ROW009)" in checked.out
    assert "sftui convert alpaca.jsonl" in checked.out and "-o alpaca-messages.jsonl" in checked.out
    shown = sftui("show", data, "--trainer", "trl", *TOK, "--row", "1")
    assert shown.code == 2 and "KeyError: 'text'" in shown.out

    done = sftui("convert", data, "--trainer", "trl", "-t", "tok", "-o", "new.jsonl")
    assert done.code == 0 and Path(data).read_bytes() == before
    assert rows_of("new.jsonl")[1] == {
        "id": 1,
        "messages": [{"role": "user", "content": "Add 1.\n1, 2"}, {"role": "assistant", "content": "4"}],
    }
    assert "6 of 6 rows written to new.jsonl, 6 of them changed, 0 dropped" in done.err
    assert "to-messages" in done.err and "of the first rows 6 can be read only now" in done.err
    assert sorted(Path("new-config").iterdir()) == [Path("new-config/recipe.yaml"), Path("new-config/trl_sft.yaml")]
    assert [line["changes"][0]["repair"] for line in rows_of("new.log.jsonl")] == ["to-messages"] * 6
    assert opening(done) == ["new-config/trl_sft.yaml", "-t", "tok"]
    made = prepared(sftui, *opening(done))
    assert made == prepared(sftui, "new.jsonl", "--trainer", "trl", "-t", "tok") and len(made) == 6


KEPT: Mapping[str, tuple[str, list[Any]]] = {
    "hf-trainer, sharegpt": ("hf-trainer", SHAREGPT),
    "hf-trainer, alpaca": ("hf-trainer", ALPACA),
    "hf-trainer, pairs": ("hf-trainer", PAIRS),
    "axolotl, sharegpt": ("axolotl", SHAREGPT),
    "llamafactory, sharegpt": ("llamafactory", SHAREGPT),
    "llamafactory, alpaca": ("llamafactory", ALPACA),
    "llamafactory, pairs": ("llamafactory", PAIRS),
    "torchtune, sharegpt": ("torchtune", SHAREGPT),
    "torchtune, pairs": ("torchtune", PAIRS),
}


@pytest.mark.one_of(4)
@pytest.mark.parametrize("name", KEPT)
def test_what_a_trainer_reads_both_ways_keeps_its_ids_and_labels(sftui: Sftui, here: Path, name: str) -> None:
    trainer, rows = KEPT[name]
    data = put("rows.jsonl", rows)
    before = prepared(sftui, data, "--trainer", trainer, "-t", "tok")
    done = sftui("convert", data, "--trainer", trainer, "-t", "tok", "-o", "new.jsonl")
    assert done.code == 0, done.err
    assert "the first rows that could be prepared before (6) keep their ids and labels" in done.err
    assert prepared(sftui, *opening(done)) == before and len(before) == 6


def test_a_trainers_own_config_reads_the_new_file(sftui: Sftui, here: Path) -> None:
    put("rows.jsonl", SHAREGPT)
    Path("ax.yml").write_text(
        "base_model: tok\nsequence_len: 512\nlearning_rate: 0.1 # mine\ndatasets:\n"
        "  - path: rows.jsonl\n    type: chat_template\n    field_messages: conversations\n"
        "    message_property_mappings: {role: from, content: value}\n    roles_to_train: [gpt]\n"
    )
    before = prepared(sftui, "ax.yml")
    done = sftui("convert", "ax.yml", "-o", "new.jsonl", "--config-dir", "conf")
    assert done.code == 0 and opening(done) == ["conf/ax.yml"]
    text = Path("conf/ax.yml").read_text()
    assert "learning_rate: 0.1 # mine" in text and "field_messages" not in text and "new.jsonl" in text
    assert prepared(sftui, "conf/ax.yml") == before


def test_a_config_names_the_new_data_in_the_file_beside_it(sftui: Sftui, here: Path) -> None:
    put("rows.jsonl", SHAREGPT)
    Path("dataset_info.json").write_text(json.dumps({"mine": {"file_name": "rows.jsonl", "formatting": "sharegpt"}}))
    Path("lf.yaml").write_text(
        "model_name_or_path: tok\nstage: sft\ndataset: mine\ndataset_dir: .\ntemplate: qwen\ncutoff_len: 64\n"
    )
    before = prepared(sftui, "lf.yaml")
    done = sftui("convert", "lf.yaml", "-o", "new.jsonl")
    assert done.code == 0 and opening(done) == ["new-config/lf.yaml"]
    assert prepared(sftui, *opening(done)) == before
    assert "mine" in json.loads(Path("dataset_info.json").read_text())


def test_a_config_that_cannot_name_the_data_is_written_anew(sftui: Sftui, here: Path) -> None:
    put("rows.jsonl", SHAREGPT)
    Path("verl.yaml").write_text("data:\n  train_files: rows.jsonl\n  max_length: 64\nmodel:\n  path: tok\n")
    done = sftui("convert", "verl.yaml", "--trainer", "verl", "-o", "new.jsonl")  # which reads Parquet alone
    assert done.code == 0 and opening(done)[0] == "new-config/verl_sft.yaml", done.err


def test_calls_go_to_the_trainer_that_reads_them(sftui: Sftui, here: Path) -> None:
    data = put("calls.jsonl", CALLS)
    refused = sftui("convert", data, "--trainer", "llamafactory", "-t", "tok", "-o", "new.jsonl")
    assert refused.code == 2 and not Path("new.jsonl").exists() and not Path("new-config").exists()
    assert "line 1 has tool calls, which LLaMA-Factory would lose after conversion to messages" in refused.err
    done = sftui("convert", data, "--trainer", "llamafactory", "--for", "trl", "-t", "tok", "-o", "new.jsonl")
    assert done.code == 0 and opening(done)[0] == "new-config/trl_sft.yaml"
    assert rows_of("new.jsonl") == [
        {
            "messages": [
                {"role": "user", "content": "Weather?"},
                {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": CALL}]},
                {"role": "tool", "content": "sunny"},
                {"role": "assistant", "content": "It is sunny."},
            ],
            "tools": [{"type": "function", "function": {"name": "weather", "parameters": {}}}],
        }
    ]


def test_nothing_is_written_where_a_row_cannot_be_carried(sftui: Sftui, here: Path) -> None:
    data = put("rows.jsonl", [*SHAREGPT[:2], {"conversations": [{"value": "nobody's"}]}, "no row", *SHAREGPT[2:]])
    done = sftui("convert", data, "-o", "new.jsonl")
    assert done.code == 2 and "2 of 8 rows cannot become messages, because row 2 (rows.jsonl line 3)" in done.err
    assert sorted(path.name for path in here.iterdir()) == ["rows.jsonl", "tok"]
    done = sftui("convert", data, "-o", "new.jsonl", "--drop", "unreadable", "--apply", "trim,deduplicate")
    assert done.code == 0 and [row["id"] for row in rows_of("new.jsonl")] == list(range(6))
    assert "drop unreadable" in done.err and "6 of 8 rows written" in done.err


@pytest.mark.parametrize(
    ("trainer", "out"),
    [
        *((name, "new.jsonl") for name in TRAINERS if name not in ("llamafactory-v1", "verl")),
        *(("mlx-lm", "rows/train.jsonl"), ("verl", "new.parquet"), ("trl", "new.parquet")),
    ],
)
def test_what_is_said_to_open_the_rows_opens_them(sftui: Sftui, here: Path, trainer: str, out: str) -> None:
    data = put("old.jsonl", SHAREGPT)
    Path("rows").mkdir()
    named = ("--set", "render.template=ms-swift/chatml") if trainer == "ms-swift" else ()
    done = sftui("convert", data, "--trainer", trainer, "-t", "tok", *named, "-o", out)
    assert done.code == 0, done.err
    opened = sftui("check", *opening(done), "--format", "json")
    assert opened.code in (0, 1) and json.loads(opened.out)["rows"] == len(SHAREGPT), (opening(done), opened.err)


def test_rows_for_a_trainer_of_parquet_are_written_as_parquet(sftui: Sftui, here: Path) -> None:
    data = put("rows.jsonl", SHAREGPT)
    done = sftui("convert", data, "--trainer", "verl", "-t", "tok", "-o", "new.parquet")
    assert done.code == 0 and opening(done)[0] == "new-config/verl_sft.yaml" and "reads Parquet alone" not in done.err
    found = pq.read_table("new.parquet").to_pylist()
    assert [row["messages"] for row in found] == [row["messages"] for row in converted_as_lines(sftui, data)]
    checked = sftui("check", "new-config/verl_sft.yaml", "-t", "tok", "--format", "json")
    assert json.loads(checked.out)["rows"] == len(found) and "as pandas stores" not in checked.err
    assert sorted(path.name for path in here.iterdir() if "new" in path.name) == [
        "new-config",
        "new.log.jsonl",
        "new.parquet",
    ]


def converted_as_lines(sftui: Sftui, data: str) -> list[dict[str, Any]]:
    assert sftui("convert", data, "--trainer", "verl", "-t", "tok", "-o", "lines.jsonl").code == 0
    return rows_of("lines.jsonl")


def test_nothing_is_written_where_parquet_cannot_hold_a_row(sftui: Sftui, here: Path) -> None:
    data = put("rows.jsonl", [*SHAREGPT, {**SHAREGPT[0], "id": "the last"}])
    done = sftui("convert", data, "--trainer", "trl", "-t", "tok", "-o", "new.parquet")
    assert done.code == 2 and "/id is a string in row 6 but a number in earlier rows" in done.err
    data = put("rows.jsonl", [SHAREGPT[0], "no row", {**SHAREGPT[0], "id": "the last"}])
    done = sftui("convert", data, "--trainer", "trl", "-t", "tok", "-o", "new.parquet", "--drop", "unreadable")
    assert done.code == 2 and "in row 2 but a number" in done.err, "by its number in the data"
    assert sorted(path.name for path in here.iterdir()) == ["rows.jsonl", "tok"]


def test_counting_writes_nothing(sftui: Sftui, here: Path) -> None:
    data = put("rows.jsonl", PAIRS)
    done = sftui("convert", data, "--trainer", "axolotl", "--dry-run")
    assert done.code == 0 and "6 of 6 rows would be written" in done.err
    assert sorted(path.name for path in here.iterdir()) == ["rows.jsonl", "tok"]


@pytest.mark.parametrize(
    ("rows", "words", "told"),
    [
        ([{"text": "Once."}], ("-o", "new.jsonl"), "already text to train on"),
        ([{"prompt": "a", "chosen": "b", "rejected": "c"}], ("-o", "new.jsonl"), "a preference set"),
        (PAIRS, (), "the new data needs a file"),
        (PAIRS, ("-o", "new.csv"), "name it OUT.jsonl"),
        (PAIRS, ("-o", "rows.jsonl", "--force"), "the data itself"),
        (PAIRS, ("-o", "new.jsonl", "--for", "trll"), "did you mean `trl`?"),
        (PAIRS, ("-o", "new.jsonl", "--apply", "trimm"), "did you mean `trim`?"),
        (PAIRS, ("-o", "new.jsonl", "--without", ","), "--without names no column"),
        (
            [{**row, "text": "Once."} for row in PAIRS],
            ("--trainer", "unsloth", "-o", "new.jsonl"),
            "Unsloth would read `text` instead of `messages`",
        ),
        (
            SHAREGPT,
            ("--trainer", "llamafactory-v1", "-o", "new.jsonl"),
            "LLaMA-Factory v1 does not read messages in OpenAI's format, because it expects `messages` in",
        ),
        (
            [{**row, "image": "a.png"} for row in PAIRS],
            ("--trainer", "trl", "-o", "new.jsonl"),
            "TRL could not read the messages either: the dataset has images",
        ),
    ],
)
def test_what_cannot_be_done_is_told(
    sftui: Sftui, here: Path, rows: list[Any], words: tuple[str, ...], told: str
) -> None:
    data = put("rows.jsonl", rows)
    done = sftui("convert", data, *words)
    assert done.code == 2 and told in done.err and "Traceback" not in done.err
    assert sorted(path.name for path in here.iterdir()) == ["rows.jsonl", "tok"]


def test_a_column_that_would_be_read_instead_is_left_out(sftui: Sftui, here: Path) -> None:
    data = put("rows.jsonl", [{**row, "text": "Once."} for row in PAIRS])
    done = sftui("convert", data, "--trainer", "unsloth", "--without", "text", "-t", "tok", "-o", "new.jsonl")
    assert done.code == 0 and list(rows_of("new.jsonl")[0]) == ["messages"]


def test_configs_that_are_there_are_not_overwritten_unasked(sftui: Sftui, here: Path) -> None:
    data = put("rows.jsonl", PAIRS)
    Path("new-config").mkdir()
    Path("new-config/recipe.yaml").write_text("mine\n")
    done = sftui("convert", data, *TOK, "-o", "new.jsonl")
    assert done.code == 2 and "--force" in done.err and Path("new-config/recipe.yaml").read_text() == "mine\n"
    assert not Path("new.jsonl").exists()
    assert sftui("convert", data, *TOK, "-o", "new.jsonl", "--force").code == 0


def test_a_repair_may_convert_as_well(sftui: Sftui, here: Path) -> None:
    data = put("rows.jsonl", PAIRS)
    done = sftui("repair", data, "--trainer", "trl", "--apply", "to-messages,trim", "-o", "new.jsonl")
    assert done.code == 0 and rows_of("new.jsonl")[0]["messages"][0] == {"role": "user", "content": "1 + 0?"}
    assert not Path("new-config").exists()


def test_pairs_are_no_data_of_another_shape(sftui: Sftui, here: Path) -> None:
    pairs = [{"prompt": "a", "chosen": "b", "rejected": "c"}] * 3
    done = sftui("check", put("rows.jsonl", pairs), "--trainer", "trl", *TOK)
    assert done.code == 1 and "this is a preference set" in done.out
    assert "fix: set loss.objective to dpo" in done.out and "convert" not in done.out
    refused = sftui("check", "rows.jsonl", "--trainer", "verl", *TOK)
    assert refused.code == 2 and "sftui does not model preferences under verl" in refused.err
    roles = {"prompt": "user", "chosen": "assistant", "rejected": "assistant"}
    chats = [{name: [{"role": roles[name], "content": text}] for name, text in row.items()} for row in pairs]
    other = sftui("check", put("chats.jsonl", chats), "--trainer", "axolotl", *TOK)
    assert "fix: rl: dpo, field_messages: prompt" in other.out and "field_messages: chosen" not in other.out


PARTS = [
    {"messages": [{"role": role, "content": [{"type": "text", "text": text}]} for role, text in turns]}
    for turns in ([("user", "hi"), ("assistant", "Hello.")], [("user", "and?"), ("assistant", "Rome.")])
]


@pytest.mark.parametrize("command", [("convert",), ("convert", "--for", "trl"), ("repair", "--apply", "join-parts")])
def test_contents_that_are_lists_become_texts_that_can_be_rendered(
    command: tuple[str, ...], here: Path, sftui: Sftui
) -> None:
    data = put("parts.jsonl", PARTS)
    assert "CON002" in sftui("check", data, *TOK, "--select", "CON002").out
    done = sftui(*command, data, *TOK, "-o", "out.jsonl")
    assert done.code == 0 and "2 of 2 rows written" in done.err and "2 of them changed" in done.err
    assert [one["content"] for row in rows_of("out.jsonl") for one in row["messages"]] == [
        "hi",
        "Hello.",
        "and?",
        "Rome.",
    ]
    assert sftui("check", "out.jsonl", *TOK, "--select", "CON").code == 0


def test_a_conversion_that_changes_nothing_and_helps_nothing_is_none(here: Path, sftui: Sftui) -> None:
    """Blocks of a coding agent are messages already, and stay what no template prints."""
    call = {"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "a.py"}}
    said = [{"type": "thinking", "thinking": "Look."}, {"type": "text", "text": "I look."}, call]
    data = put(
        "blocks.jsonl", [{"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": said}]}]
    )
    done = sftui("convert", data, *TOK, "-o", "out.jsonl")
    assert done.code == 2 and not Path("out.jsonl").exists()
    assert "none of the first rows can be rendered" in done.err and "tool_use" in done.err
    done = sftui("convert", data, *TOK, "--for", "trl", "-o", "out.jsonl")
    assert done.code == 2 and not Path("out.jsonl").exists()
    done = sftui("repair", data, *TOK, "--apply", "join-parts", "-o", "out.jsonl")
    assert done.code == 1 and "`thinking` and `tool_use`, which is not text" in done.err


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("lists.jsonl", "\n".join(json.dumps(row["conversations"]) for row in SHAREGPT)),
        ("lists.json", json.dumps([row["conversations"] for row in SHAREGPT])),
        (
            "columns.json",
            json.dumps({key: {str(n): row[key] for n, row in enumerate(SHAREGPT)} for key in SHAREGPT[0]}),
        ),
        ("index.json", json.dumps({str(n): row for n, row in enumerate(SHAREGPT)})),
        ("pretty.jsonl", "\n".join(json.dumps(row, indent=2) for row in SHAREGPT)),
        (
            "printed.jsonl",
            "\n".join(json.dumps({**row, "conversations": str(row["conversations"])}) for row in SHAREGPT),
        ),
    ],
)
@pytest.mark.parametrize("trainer", ["trl", "mlx-lm"])
def test_rows_in_another_layout_become_lines_that_the_trainer_reads(
    name: str, text: str, trainer: str, here: Path, sftui: Sftui
) -> None:
    Path(name).write_text(text + "\n")
    done = sftui("convert", name, *TOK, "--trainer", trainer, "-o", "train.jsonl")
    assert done.code == 0 and "6 of 6 rows written" in done.err and "6 of them changed" in done.err
    read = [[one["content"] for one in row["messages"]] for row in rows_of("train.jsonl")]
    assert read == [[f"hi {n}", "Hello."] for n in range(6)]
    assert "ROW0" not in sftui("check", "train.jsonl", *TOK, "--trainer", trainer, "--select", "ROW").out


@pytest.mark.parametrize("trainer", ["nemo-automodel", "mlx-lm", "trl"])
def test_a_json_list_is_converted_for_trainers_that_read_lines(sftui: Any, tmp_path: Path, trainer: str) -> None:
    rows = [{"instruction": "Add.", "input": "1, 2", "output": "3"}] * 3
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    done = sftui(
        "convert", tmp_path / "rows.json", "-t", "builtin:chatml", "--trainer", trainer, "-o", tmp_path / "o.jsonl"
    )
    assert done.code == 0 and "3 of 3 rows written" in done.err, done.err
