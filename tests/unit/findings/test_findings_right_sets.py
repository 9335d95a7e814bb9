"""Right set-ups, as trainers document them, on which no error and no warning stands, but for those that are so."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sftui.cli import main

Rows = list[dict[str, Any]]
PORTS = ("Brest", "Porto", "Bergen")
TIDE = {"name": "tide", "description": "High tide", "parameters": {"type": "object", "properties": {"port": {}}}}
CALL = {"function": {"name": "tide", "arguments": {"port": "Brest"}}}
AXOLOTL = """base_model: Qwen/Qwen2.5-0.5B
chat_template: chatml
sequence_len: 512
datasets:
- path: rows.jsonl
  ds_type: json
  type: chat_template
  roles_to_train: []
  train_on_eos: turn
  message_field_training: train
"""
LLAMAFACTORY = """stage: sft
do_train: true
model_name_or_path: Qwen/Qwen2.5-0.5B
dataset_dir: .
dataset: mine
template: qwen
cutoff_len: 512
"""
INFO = {
    "mine": {
        "file_name": "rows.jsonl",
        "formatting": "sharegpt",
        "columns": {"messages": "conversations", "tools": "tools"},
    }
}
SWIFT = "model: Qwen/Qwen2.5-0.5B\ntemplate: qwen2_5\ntuner_type: lora\nmax_length: 512\n"
TORCHTUNE = """tokenizer: {_component_: torchtune.models.qwen2_5.qwen2_5_tokenizer, path: v.json, merges_file: m.txt}
batch_size: 1
dataset: {_component_: torchtune.datasets.alpaca_dataset, source: json, data_files: rows.jsonl, train_on_input: false}
"""


@pytest.fixture(autouse=True)
def started_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def talk(*messages: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {"messages": [dict(one) for one in messages], **more}


def said(text: Any, role: str = "assistant", **more: Any) -> dict[str, Any]:
    return {"role": role, "content": text, **more}


def shared(port: str, *left_out: int) -> dict[str, Any]:
    told = [
        ("human", port),
        ("function_call", '{"name": "tide", "arguments": {}}'),
        ("observation", "2"),
        ("gpt", "Two."),
    ]
    kept = [{"from": role, "value": text} for number, (role, text) in enumerate(told) if number not in left_out]
    return {"conversations": kept, "tools": json.dumps([TIDE])}


def errors_and_warnings(folder: Path, opened: str, capsys: Any, *words: str) -> list[str]:
    return [code for code, severity in told(folder, opened, capsys, *words) if severity != "info"]


def told(folder: Path, opened: str, capsys: Any, *words: str) -> list[tuple[str, str]]:
    with pytest.raises(SystemExit) as ended:
        main(["check", str(folder / opened), "-t", "builtin:chatml", "--format", "json", *words])
    out = capsys.readouterr()
    assert ended.value.code in (0, 1), out.err
    return [(one["code"], one["severity"]) for one in json.loads(out.out)["findings"]]


@pytest.mark.parametrize(
    ("config", "rows", "stand"),
    [
        pytest.param(
            ("ax.yml", AXOLOTL),
            [talk(said(port, "user", train=False), said("At two.", train=True)) for port in PORTS],
            [],
            id="axolotl trains by the flags of messages, without roles",
        ),
        pytest.param(
            ("lf.yaml", LLAMAFACTORY),
            [shared("Brest"), shared("Porto", 2), shared("Bergen")],
            [*["TPL016"] * 2, "TRU006"],
            id="a row that LLaMA-Factory leaves out is not one whose tools are missing",
        ),
        pytest.param(
            ("pt.yaml", SWIFT + "dataset: [rows.jsonl]\nuse_chat_template: false\n"),
            [talk(said(f"The tide of {port}.")) for port in PORTS],
            [],
            id="ms-swift's rows for pretraining are answers alone",
        ),
        pytest.param(
            ("sft.yaml", SWIFT + "dataset: [rows.jsonl]\n"),
            [talk(said(f"The tide of {port}.")) for port in PORTS],
            ["TPL006"] * 3,
            id="under a chat template they begin with an empty question",
        ),
        pytest.param(
            ("tune.yaml", TORCHTUNE),
            [{"instruction": port, "input": "", "output": "Two.", "text": f"{port} Two."} for port in PORTS],
            [],
            id="the format is named, so a column of another is none of its own",
        ),
    ],
)
def test_what_a_trainer_documents_is_right(
    config: tuple[str, str], rows: Rows, stand: list[str], tmp_path: Path, capsys: Any
) -> None:
    name, text = config
    (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "dataset_info.json").write_text(json.dumps(INFO), encoding="utf-8")
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert errors_and_warnings(tmp_path, name, capsys) == stand


def test_a_thought_that_quotes_a_call_is_no_call_printed_by_python(tmp_path: Path, capsys: Any) -> None:
    template = (
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.reasoning_content or '' }}{{ m.content or '' }}"
        "{% for c in m.tool_calls or [] %}CALLS{% endfor %}<|im_end|>\n{% endfor %}"
    )
    thought = "The arguments are {'port': 'Brest'}, I think."
    row = talk(said("Brest?", "user"), said("", reasoning_content=thought, tool_calls=[CALL]))
    (tmp_path / "rows.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    for written, stands in (("{{ c.function | tojson }}", False), ("{{ c.function.arguments }}", True)):
        (tmp_path / "t.jinja").write_text(template.replace("CALLS", written), encoding="utf-8")
        row["messages"][1]["reasoning_content"] = "" if stands else thought
        (tmp_path / "rows.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
        found = errors_and_warnings(tmp_path, "rows.jsonl", capsys, "--template", str(tmp_path / "t.jinja"))
        assert ("TOO010" in found) is stands


def test_keys_that_the_trainer_reads_itself_are_not_told_as_unread(tmp_path: Path, capsys: Any) -> None:
    detail = [{"begin_offset": 0, "end_offset": 1, "train": True}]
    parts = [{"type": "text", "text": "Well.", "train": False}, {"type": "text", "text": " At two."}]
    row = talk(
        said("Brest?", "user", train=False), said("At two.", train_detail=detail), said("So?", "user"), said(parts)
    )
    (tmp_path / "ax.yml").write_text(AXOLOTL + "  message_field_training_detail: train_detail\n", encoding="utf-8")
    for mood, stands in ({}, False), ({"mood": "glad"}, True):
        row["messages"][0].update(mood)
        (tmp_path / "rows.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
        assert (("CON011", "info") in told(tmp_path, "ax.yml", capsys)) is stands


def test_empty_cells_of_a_csv_file_stay_texts_under_ms_swift(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "rows.csv").write_text("system,query,response\n007,Who?,NA\n,What?,Tea\n", encoding="utf-8")
    (tmp_path / "sft.yaml").write_text(SWIFT + "dataset: [rows.csv]\n", encoding="utf-8")
    with pytest.raises(SystemExit):
        main(["show", str(tmp_path / "sft.yaml"), "-t", "builtin:chatml", "--view", "text"])
    out = capsys.readouterr()
    assert "007<|im_end|>" in out.out and "NA<|im_end|>" in out.out, out.err
