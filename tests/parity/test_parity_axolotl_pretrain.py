"""Texts of a pretraining_dataset: Axolotl's own strategy and its streaming encoder, text by text, against sftui."""

from __future__ import annotations

import json
import os
import random
import subprocess
from itertools import product
from typing import Any

import pytest
import yaml
from case import home, shared_folder

from sftui import pipeline
from sftui.model import Row
from sftui.tokens import load_tokenizer
from sftui.trainers import trainer_named

PYTHON = home() / "axolotl-0.19.0" / "bin" / "python"
FOLDER = shared_folder() / "testdata" / "tokenizers"
pytestmark = [
    pytest.mark.parity,
    pytest.mark.skipif(not PYTHON.exists() or not FOLDER.is_dir(), reason=f"{PYTHON} or {FOLDER} is not here"),
]
ASK = r"""
import json, sys
from axolotl.prompt_strategies.pretrain import load
from axolotl.utils.data.streaming import encode_streaming
from axolotl.utils.dict import DictDefault
from transformers import AutoTokenizer
told = []
for folder, size, texts in json.loads(sys.stdin.read()):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    sets = [{"text_column": "text"}]
    config = DictDefault({"sequence_len": size, "pretraining_dataset": sets, "train_on_inputs": False})
    strategy = load(tokenizer, config)
    windows = [strategy.tokenize_prompt({"text": [text]})["input_ids"] for text in texts]
    told.append([windows, encode_streaming({"text": texts}, tokenizer, size, concatenate=False)["input_ids"]])
print("TOLD " + json.dumps(told))
"""
NAMES, SIZES = ("qwen2.5", "llama-3-8b-instruct", "phi-3-mini"), (24, 100, 700)


def texts_of(name: str, size: int) -> list[str]:
    draw = random.Random(f"{name} {size}")
    words = ["the", "of", "and", "wünschen", "你好", "42", "<|im_end|>", "</s>", "zebra\n"]
    return ["", "one", *(" ".join(draw.choices(words, k=draw.choice((3, 20, 90, 900)))) for _ in range(30))]


@pytest.fixture(scope="module")
def theirs() -> dict[tuple[str, int], list[Any]]:
    """What Axolotl makes of every text, packed and plain; asked in one process, since importing it takes longest."""
    pairs = list(product(NAMES, SIZES))
    asked = json.dumps([(str(FOLDER / name), size, texts_of(name, size)) for name, size in pairs])
    quiet = {**os.environ, "HF_HUB_OFFLINE": "1", "DO_NOT_TRACK": "1", "AXOLOTL_DO_NOT_TRACK": "1"}
    done = subprocess.run([PYTHON, "-c", ASK], input=asked, capture_output=True, text=True, cwd=home(), env=quiet)
    line = next((one for one in done.stdout.splitlines() if one.startswith("TOLD ")), None)
    assert line is not None, done.stderr[-2000:]
    return dict(zip(pairs, json.loads(line[5:])))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", SIZES)
def test_every_text_of_one_window_is_axolotls(name: str, size: int, theirs: dict[tuple[str, int], list[Any]]) -> None:
    texts = texts_of(name, size)
    windows, plain = theirs[name, size]
    differ = left = 0
    for packs, told in ((True, windows), (False, [[one] for one in plain])):
        config = {
            "base_model": str(FOLDER / name),
            "sequence_len": size,
            "sample_packing": packs,
            "pretraining_dataset": [{"path": "org/set", "type": "pretrain"}],
        }
        recipe = trainer_named("axolotl").read_config("c.yaml", yaml.safe_dump(config), None).recipe
        tools = pipeline.make_toolbox(recipe, load_tokenizer(str(FOLDER / name)))
        rows = [Row(number, {"text": text}, "", f"row {number}") for number, text in enumerate(texts)]
        detected = pipeline.detect(rows, recipe)
        for row, real in zip(rows, told):
            found = pipeline.inspect(row, detected, recipe, tools)
            if found.problem is not None and "several windows" in found.problem.what:
                left += 1
                assert packs and len(real[0]) >= size - 1
                continue
            assert found.problem is None, found.problem
            ours = [list(found.example.input_ids)] if found.example is not None else []
            differ += ours != [one for one in real if (2 if packs else 1) <= len(one) <= size]
    print(f"{name}, sequence_len {size}: {2 * len(texts)} texts, {left} of several windows, {differ} differ")
    assert differ == 0
