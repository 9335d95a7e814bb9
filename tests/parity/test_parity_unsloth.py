"""The Python that sftui writes for Unsloth, run: it must make the ids and labels that sftui showed (marker parity).

`unsloth` itself needs a GPU to import, so the names a script takes from it are put in place over
unsloth_zoo, whose preparation and masking do the work. Rows and settings are compared in
test_parity_trainers.py, as every trainer's are.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from case import REPO, environment, python_of, shared_folder
from emulate import through

from sftui import pipeline
from sftui.recipe import changed
from sftui.sources import SourceSpec, open_source
from sftui.tokens import load_tokenizer
from sftui.trainers import preset
from sftui.trainers.config import Facts
from sftui.trainers.own_config import write_config
from sftui.trainers.training import stand_ins

pytestmark = [pytest.mark.parity, pytest.mark.shared]
VERSION = "2026.10.9"
TURNS = [
    {"role": "user", "content": "What is 2+2?"},
    {"role": "assistant", "content": "The answer is 4."},
    {"role": "user", "content": "Add 3, please."},
    {"role": "assistant", "content": "Seven 🙂."},
]
SHAREGPT = [{"from": {"user": "human", "assistant": "gpt"}[turn["role"]], "value": turn["content"]} for turn in TURNS]
ROWS: Mapping[str, list[dict[str, Any]]] = {
    "chat": [
        {"messages": TURNS},
        {"messages": [{"role": "system", "content": "Be brief."}, *TURNS]},
        {"messages": TURNS[:3]},
    ],
    "sharegpt": [{"conversations": SHAREGPT}, {"conversations": SHAREGPT[:2]}],
    "strings": [{"prompt": "Say ", "completion": "hello"}, {"prompt": "Kaç?", "completion": " Üç."}],
    "text": [{"body": "Once upon a time " * n} for n in (1, 3, 9)],
}
MARKERS = {
    "mask.rule": "markers",
    "mask.instruction_marker": "<|im_start|>user\n",
    "mask.response_marker": "<|im_start|>assistant\n",
}
SCRIPTS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "messages": ("chat", {}),
    "markers_found": ("chat", {"mask.rule": "markers", "mask.turns": "last"}),
    "rendered": (
        "chat",
        {**MARKERS, "own.text_from": "messages", "own.mask_out_tokens": ("4",), "length.max": 40},
    ),
    "standardized": ("sharegpt", {**MARKERS, "own.standardize": True, "own.text_from": "conversations"}),
    "everything": ("strings", {"mask.rule": "all"}),
    "completion": ("strings", {}),
    "assistants": ("chat", {"mask.rule": "generation_tag"}),
    "text": ("text", {"own.dataset_text_field": "body", "length.max": 12}),
    "packed": (
        "chat",
        {**MARKERS, "length.max": 96, "pack.strategy": "bfd", "pack.isolate": True, "batch.flatten": True},
    ),
}
RUNNER = """
import functools, json, os, runpy, sys, types
sys.path.insert(0, sys.argv[1])
sys.path.append(os.path.join(sys.argv[1], "..", "unsloth"))
from exchange import quiet_environment, tiny_model
quiet_environment(UNSLOTH_ZOO_DISABLE_GPU_INIT="1", UNSLOTH_ALLOW_CPU="1")
import run_unsloth, trl
run_unsloth.setup()
from transformers import AutoTokenizer
from unsloth_zoo import dataset_utils

class FastLanguageModel:
    @staticmethod
    def from_pretrained(model_name, max_seq_length):
        tokenizer = AutoTokenizer.from_pretrained(model_name)
        return tiny_model(len(tokenizer)), tokenizer

def train(self):
    with open("made.jsonl", "w") as out:
        for record in self.train_dataset:
            feature = {k: record[k] for k in run_unsloth.COLLATED if k in record}
            labels = feature.get("labels")
            if labels is None:
                labels = run_unsloth.collated_labels(self.data_collator, feature)
            out.write(json.dumps([record["input_ids"], labels]) + "\\n")

unsloth, templates = types.ModuleType("unsloth"), types.ModuleType("unsloth.chat_templates")
unsloth.FastLanguageModel, unsloth.chat_templates = FastLanguageModel, templates
templates.standardize_data_formats = dataset_utils.standardize_data_formats
templates.train_on_responses_only = dataset_utils.train_on_responses_only
sys.modules.update({"unsloth": unsloth, "unsloth.chat_templates": templates})
trl.SFTTrainer._prepare_dataset, trl.SFTTrainer.train = dataset_utils.sft_prepare_dataset, train
trl.SFTConfig = functools.partial(trl.SFTConfig, report_to="none", bf16=False, use_cpu=True, dataset_num_proc=1)
for folder in sys.argv[2:]:
    os.chdir(folder)
    runpy.run_path("train_unsloth.py", run_name="__main__")
"""


def test_written_scripts_do_what_was_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if not environment("unsloth", VERSION).exists():
        pytest.skip(f"unsloth_zoo {VERSION} has no environment: run tests/parity/environments.py unsloth@{VERSION}")
    tokenizer = shared_folder() / "testdata" / "tokenizers" / "qwen2.5"
    if not tokenizer.is_dir():
        pytest.skip(f"the shared test data is not at {shared_folder()}")
    expected = {}
    for name, (kind, knobs) in SCRIPTS.items():
        folder = tmp_path / name
        folder.mkdir()
        data = folder / f"{kind}.jsonl"
        data.write_text("".join(json.dumps(row) + "\n" for row in ROWS[kind]), encoding="utf-8")
        recipe = preset("unsloth@2026.10")
        for path, value in knobs.items():
            recipe = changed(recipe, path, value)
        facts = Facts(data=str(data), given=stand_ins(changed(recipe, "tokenizer.name", str(tokenizer))))
        written = write_config(recipe, None, facts)
        assert not written.losses
        for file in written.files:
            (folder / file.name).write_text(file.content, encoding="utf-8")
        source = open_source(SourceSpec((str(data),)))
        rows = list(source.rows())
        source.close()
        detected = pipeline.detect(rows, recipe)
        tools = pipeline.survey(
            rows[0], detected, recipe, pipeline.make_toolbox(recipe, load_tokenizer(str(tokenizer)))
        )
        ours = through("unsloth", rows, detected, recipe, tools)
        assert not ours.problems, ours.problems
        made = ours.packs or [example for row in ours.rows.values() for example in row]
        expected[name] = [[list(one.input_ids), list(one.labels)] for one in made]
    runner = tmp_path / "runner.py"
    runner.write_text(RUNNER, encoding="utf-8")
    command = [
        str(python_of("unsloth", VERSION)),
        str(runner),
        str(REPO / "sftui" / "trainers" / "verify"),
        *(str(tmp_path / name) for name in SCRIPTS),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    for name, ours_made in expected.items():
        theirs = [
            json.loads(line) for line in (tmp_path / name / "made.jsonl").read_text(encoding="utf-8").splitlines()
        ]
        assert theirs and theirs == ours_made, name
    with capsys.disabled():
        print(
            f"\n{len(expected)} written scripts give Unsloth {sum(map(len, expected.values()))} rows and packs, all as"
            " shown"
        )
