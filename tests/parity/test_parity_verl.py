"""Configs that sftui writes, and scripts that it reads and edits, given to the real verl: Hydra composes them, and
verl's dataset makes the rows that sftui showed (marker parity).

Rows and settings are compared in test_parity_trainers.py, as every trainer's are.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import record as recorder
from case import REPO, environment, home
from emulate import of_config, rows_of
from trainers.verl import rows as verl_rows

from sftui import pipeline
from sftui.recipe import changed
from sftui.session.verifying import piece
from sftui.sources import SourceSpec, open_source
from sftui.trainers import preset, trainer_named
from sftui.trainers.config import DatasetRef, Facts
from sftui.trainers.own_config import write_config
from sftui.trainers.verify.session import read_result

pytestmark = pytest.mark.parity
TRAINER, VERSION = "verl", "0.9.1"
TOKENIZER = REPO / "sftui" / "tokens" / "builtin" / "chatml"
IGNORE = {"own.ignore_input_ids_mismatch": True}
CUT = {"length.max": 24, "length.over": "cut_right"}
THINKS = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ enable_thinking }}'{{ m.content }}'<|im_end|>\n{% endfor %}"
)
ROWS: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "chats": verl_rows.chats(),
    "tools": verl_rows.tools(),
    "thinking": verl_rows.thinking(),
    "named": [{"my chat": row["messages"], "functions": row["tools"]} for row in verl_rows.tools()],
}
FRESH: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "plain": ("chats", {}),
    "ignored": ("chats", IGNORE),
    "cut": ("chats", {**CUT, "batch.size": 3}),
    "columns": ("named", {"data.fields": {"messages": "my chat", "tools": "functions"}, **IGNORE}),
    "tools": ("tools", IGNORE),
    "template": ("thinking", {"render.template": "verl/custom", "own.custom_chat_template": THINKS}),
    "no_thinking": ("thinking", {"own.enable_thinking_key": "other", "own.enable_thinking_default": None}),
    "kwargs": ("chats", {"render.kwargs": {"note": "it's {a: b}, c", "flag": True, "none": None, "list": [1, "2"]}}),
    "first": ("chats", {"own.train_max_samples": 7, "length.max": 5000}),
    "padded": ("chats", {"batch.flatten": False, "batch.pad_to": "max", "length.over": "cut_left", "length.max": 30}),
    "no_limit": ("chats", {"length.max": 500_000}),
}
OPENED: Mapping[str, tuple[str, str, Mapping[str, Any]]] = {
    "edited": (
        "chats",
        "data:\n  max_length: 512  # ours\n  truncation: left\noptim:\n  lr: 1e-5\n",
        {"length.max": 31},
    ),
    "referred": ("chats", "most: 40\ndata: {max_length: '${most}', truncation: right}\n", {}),
    "a_text_is_true": ("chats", "data: {ignore_input_ids_mismatch: 'False', enable_thinking_default: none}\n", {}),
    "named_anew": ("named", "data:\n  messages_key: my chat\n  tools_key: x\n", {"length.max": 90}),
}
SCRIPTS: Mapping[str, tuple[str, str, Mapping[str, Any]]] = {
    "script": ("chats", "data.max_length=$LONG data.truncation=right", {}),
    "script_edited": ("chats", "data.max_length=64 'data.truncation=left'", {"length.max": 31, **IGNORE}),
    "script_columns": ("named", "data.messages_key='my chat' data.tools_key=functions", IGNORE),
    "script_kwargs": (
        "thinking",
        "+data.apply_chat_template_kwargs='{note: \"a b\", x: [1,2]}' +data.image_key=pics",
        {"own.custom_chat_template": THINKS, "render.template": "verl/custom"},
    ),
    "script_inside": ("chats", "+data.apply_chat_template_kwargs.note=a ++data.max_length=40 data.truncation=left", {}),
    "script_filled": ("chats", "data.apply_chat_template_kwargs={}", {"render.kwargs": {"note": "a b", "x": [1]}}),
    "script_thinks": ("thinking", "data.enable_thinking_default=null ++data.enable_thinking_key=none_such", {}),
}


def stored(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    names = dict.fromkeys(name for row in rows for name in row)
    table = pyarrow.table({name: pyarrow.array([row.get(name) for row in rows]) for name in names})
    pyarrow.parquet.write_table(table, path)


def words_of(file: Path) -> list[str]:
    """What a shell hands to the module that a script runs."""
    told = 'python() { printf "%s\\0" "$@"; }; source "$0"'
    done = subprocess.run(["bash", "-c", told, str(file)], capture_output=True, text=True, check=True, cwd=file.parent)
    words = done.stdout.split("\0")[:-1]
    return words[words.index("verl.trainer.sft_trainer") + 1 :]


def prepared(name: str, folder: Path) -> tuple[DatasetRef, dict[str, Any]]:
    """What sftui reads of the config of one round trip, and the request that hands the same to verl."""
    trainer = trainer_named(TRAINER)
    data, file = folder / "rows.parquet", folder / ("run.sh" if name in SCRIPTS else "verl.yaml")
    text: str | None = None
    if name in FRESH:
        rows, knobs = FRESH[name]
    elif name in OPENED:
        rows, said, knobs = OPENED[name]
        opening = f"data:\n  train_files: {data}\n"
        said = (
            said.replace("data:\n", opening)
            if "data:\n" in said
            else said.replace("data: {", f"data: {{train_files: {data}, ")
        )
        text = f"defaults:\n- sft_trainer_engine\n- _self_\nmodel: {{path: M}}\n{said}"
    else:
        rows, said, knobs = SCRIPTS[name]
        text = f"LONG=31\nHERE={folder}\npython -m verl.trainer.sft_trainer \\\n"
        text += f"  data.train_files=$HERE/rows.parquet {said}\n"
    stored(ROWS[rows], data)
    opened, recipe = None, preset(TRAINER)
    if text is not None:
        opened = trainer.read_config(str(file), text)
        recipe = opened.recipe
    for knob, value in knobs.items():
        recipe = changed(recipe, knob, value)
    source = open_source(SourceSpec((str(data),)))
    found = pipeline.detect(list(source.rows()), recipe)
    source.close()
    facts = Facts(data=str(data), tokenizer="M", format=found.format)
    written = write_config(recipe, opened, facts)
    assert not [loss for loss in written.losses if "means none" not in loss], written.losses
    file.write_text(written.files[0].content)
    request: dict[str, Any] = {"tokenizer": str(TOKENIZER), "output": str(folder / "out.jsonl"), "folder": str(folder)}
    request |= {"flags": words_of(file)} if name in SCRIPTS else {"config_file": str(file)}
    return trainer.read_config(str(file), file.read_text()).datasets[0], request


def test_written_configs_and_scripts_do_what_was_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if not environment(TRAINER, VERSION).exists():
        pytest.skip(f"verl {VERSION} has no environment: run tests/parity/environments.py verl")
    home().mkdir(parents=True, exist_ok=True)
    expected, stops, requests = {}, {}, []
    for name in (*FRESH, *OPENED, *SCRIPTS):
        folder = tmp_path / name
        folder.mkdir()
        monkeypatch.chdir(folder)
        reference, request = prepared(name, folder)
        rows = rows_of(reference)
        ours = of_config(TRAINER, rows, reference, TOKENIZER)
        assert ours.refused is None, (name, ours.refused)
        expected[name] = {row: piece(made[0]) for row, made in ours.rows.items() if made}
        stops[name] = sorted(ours.problems)
        requests.append(request)
    for name, request, answer in zip(expected, requests, recorder.ask(TRAINER, VERSION, requests)):
        _, records = read_result(Path(request["output"]))
        assert [one["row"] for one in records if one["kind"] == "refused"] == stops[name], (name, answer["error"])
        theirs = {one["row"]: (one["input_ids"], one["labels"]) for one in records if one["kind"] == "row"}
        assert theirs, (name, answer["error"])
        assert theirs == {row: (ids, labels) for row, (ids, labels, _) in expected[name].items()}, name
    with capsys.disabled():
        made, stopped = (sum(map(len, some.values())) for some in (expected, stops))
        print(f"\n{len(expected)} configs and scripts give verl {made} rows, all as shown, and stop it at {stopped}")
