"""Where the trainer stops a run whatever the rows are, every command says so, by one rule."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sftui as package
from sftui.errors import SftuiError

CHAT = {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}]}
AXOLOTL = "base_model: 'builtin:chatml'\nsequence_len: 999\ndatasets:\n  - {path: d.jsonl, type: chat_template}\n"
TRL = "model_name_or_path: 'builtin:chatml'\ndataset_name: d.jsonl\n"
NEMO = (
    "model: {pretrained_model_name_or_path: 'builtin:chatml'}\ndataset:\n  path_or_dataset_id: d.jsonl\n"
    "  _target_: nemo_automodel.components.datasets.llm.chat_dataset.ChatDataset\n"
)
VERL = "data: {train_files: d.parquet, train_batch_size: 1%s}\nmodel: {path: 'builtin:chatml'}\n"
FACTORY = (
    "{model_name_or_path: 'builtin:chatml', stage: sft, do_train: true, dataset: rows, dataset_dir: ., template: qwen,"
    " output_dir: o, %s}\n"
)
STOPPED = (
    ("llamafactory", FACTORY % "packing: true, cutoff_len: 300", "packs of cutoff_len 300 are padded to 304 tokens"),
    ("llamafactory@0.9", FACTORY % "neat_packing: true, flash_attn: fa2", "flash_attn: fa2"),
    ("axolotl", AXOLOTL + "chat_template: phi_4\n", "Axolotl stops at `chat_template`"),
    ("axolotl@0.19", AXOLOTL + "chat_template: phi_4\n", "Axolotl stops at `chat_template`"),
    ("trl@1.16", TRL + "no_such_key: 1\n", "TRL stops at `no_such_key`"),
    ("nemo-automodel", NEMO + "  no_such_key: 1\n", "NeMo Automodel stops at `dataset.no_such_key`"),
    ("verl", VERL % ", pad_mode: right", "they stop at the first batch"),
)
FINE = (
    ("llamafactory", FACTORY % "packing: true, cutoff_len: 304"),
    ("llamafactory@0.9", FACTORY % "neat_packing: true, flash_attn: sdpa"),
    ("llamafactory", FACTORY % "neat_packing: true, flash_attn: fa2, per_device_train_batch_size: 1"),
    ("llamafactory", FACTORY % "cutoff_len: 300"),
    ("axolotl", AXOLOTL + "chat_template: tokenizer_default\n"),
    ("axolotl@0.23", AXOLOTL + "chat_template: phi_4\n"),  # whose keys nobody read
    ("trl", TRL + "no_such_key: 1\n"),  # which a newer release may read
    ("verl", VERL % ""),
)


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    import pyarrow
    import pyarrow.parquet

    (tmp_path / "d.jsonl").write_text((json.dumps(CHAT) + "\n") * 4)
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist([CHAT] * 4), tmp_path / "d.parquet")
    tags = {"role_tag": "role", "content_tag": "content", "user_tag": "user", "assistant_tag": "assistant"}
    entry = {"file_name": "d.jsonl", "formatting": "sharegpt", "columns": {"messages": "messages"}, "tags": tags}
    (tmp_path / "dataset_info.json").write_text(json.dumps({"rows": entry}))
    monkeypatch.chdir(tmp_path)

    def put(text: str) -> str:
        (tmp_path / "c.yaml").write_text(text)
        return "c.yaml"

    return put


COMMANDS = (
    ("encode", "-o", "-"),
    ("show", "--row", "1"),
    ("compare", "--with", "length.max=80"),
    ("check",),
    ("report", "-o", "r.html"),
)


@pytest.mark.parametrize(("trainer", "text", "told"), STOPPED, ids=[one[0] for one in STOPPED])
def test_every_command_says_it_by_one_rule(
    sftui: Callable[..., Any], config: Callable[[str], str], trainer: str, text: str, told: str
) -> None:
    file = config(text)
    for command, *words in COMMANDS:
        done = sftui(command, file, "--trainer", trainer, *words)
        report = Path("r.html").read_text() if command == "report" else ""
        assert done.code == (1 if command == "check" else 0 if command == "report" else 2), (command, done.err)
        shown = done.out + done.err + report.replace("&#39;", "'")
        assert told in shown, (command, done.err)
        if command == "check":
            assert "RUN002" in done.out
        elif command != "report":
            assert "nothing can be trained until that is fixed" in done.err
        if command == "encode":
            written = sum(len(one.get("documents", "1")) for one in done.records())
            assert written == 4, "what the rows would be is written all the same"
    name = trainer.partition("@")[0]
    done = sftui("export", file, "--trainer", trainer, "--to", name, "-o", "out")
    assert done.code == 2 and told in done.err
    with package.open(file, trainer=trainer) as opened, pytest.raises(SftuiError, match="stop"):
        opened.encode().to_dataset()


@pytest.mark.parametrize(("trainer", "text"), FINE)
def test_nothing_is_claimed_where_it_does_not_stop(
    sftui: Callable[..., Any], config: Callable[[str], str], trainer: str, text: str
) -> None:
    file = config(text)
    for command, *words in COMMANDS[:4]:
        done = sftui(command, file, "--trainer", trainer, *words)
        assert done.code != 2 and "RUN002" not in done.out and "nothing is trained" not in done.err, done.err


def test_what_is_not_modelled_is_not_told_as_a_stop(sftui: Callable[..., Any], config: Callable[[str], str]) -> None:
    """ms-swift's agent_template `kimi_k3` trains: sftui does not know its rows, and says no more."""
    tools = [{"type": "function", "function": {"name": "f", "description": "d", "parameters": {}}}]
    rows = [CHAT, {**CHAT, "tools": json.dumps(tools)}]
    file = config("model: 'builtin:chatml'\ntemplate: qwen2_5\nagent_template: kimi_k3\ndataset: [d.jsonl]\n")
    Path("d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = sftui("encode", file, "--trainer", "ms-swift", "-o", "-")
    assert done.code == 2 and "stops the whole run" not in done.err
    assert "what ms-swift makes of row 1: sftui does not model the agent_template `kimi_k3`" in done.err
    assert "sftui does not know" in done.err and len(done.records()) == 2
    checked = sftui("check", file, "--trainer", "ms-swift")
    assert "ROW007" in checked.out and "cannot take" not in checked.out


@pytest.mark.parametrize("nothing", [{}, ""])
def test_mlx_lm_goes_on_at_messages_that_are_nothing(
    nothing: object, sftui: Callable[..., Any], config: Callable[[str], str]
) -> None:
    """transformers refuses an empty list alone; with mask_prompt mlx-lm asks for the last message, and stops."""
    file = config("model: 'builtin:chatml'\ndata: .\ntrain: true\n")
    Path("train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in [*[CHAT] * 4, {"messages": nothing}]))
    done = sftui("encode", file, "--trainer", "mlx-lm", "-o", "-")
    assert done.code == 0 and done.records()[4]["input_ids"] == [], done.err
    for words in (("--set", "mask.rule=completion"),):
        assert sftui("encode", file, "--trainer", "mlx-lm", *words, "-o", "-").code == 2
    Path("train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in [*[CHAT] * 4, {"messages": []}]))
    assert sftui("encode", file, "--trainer", "mlx-lm", "-o", "-").code == 2


@pytest.mark.parametrize(
    ("text", "line"),
    [("%s\n\n%s\n", 2), ("%s\n%s\n\n", 3), ("%s\n%s\n  \n", 3), ("%s\n%s\n", None), ("%s\n%s", None)],
)
def test_a_blank_line_stops_mlx_lm(
    sftui: Callable[..., Any], config: Callable[[str], str], text: str, line: int | None
) -> None:
    """mlx-lm 0.32.2, load_local_dataset: json.loads of each line of the file."""
    file = config("model: 'builtin:chatml'\ndata: .\ntrain: true\nbatch_size: 1\n")
    Path("train.jsonl").write_text(text % ((json.dumps(CHAT),) * 2))
    done = sftui("check", file, "--trainer", "mlx-lm")
    assert ("ROW010" in done.out) is (line is not None)
    assert line is None or (f"line {line} is blank" in done.out and done.code == 1)
    assert sftui("encode", file, "--trainer", "mlx-lm", "-o", "-").code == (0 if line is None else 2)
    assert "ROW010" not in sftui("check", "train.jsonl", "-t", "builtin:chatml", "--trainer", "trl").out
