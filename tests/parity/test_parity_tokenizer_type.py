"""Axolotl's `tokenizer_type`: ids as its own load_tokenizer makes them, on every made tokenizer by every class.

Needs the axolotl environment and those of transformers 5.16.1 and 5.23.0; minutes, and so on request, with
SFTUI_PARITY_ALL=1.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from case import home
from made_tokenizers import MADE, folder

from sftui.errors import TokenizerError
from sftui.tokens import load_tokenizer
from sftui.tokens.loading.environments import environment_at
from sftui.tokens.loading.locate import locate
from sftui.tokens.loading.process import SCRIPT
from sftui.tokens.loading.releases import may_differ

pytestmark = [
    pytest.mark.parity,
    pytest.mark.skipif(not os.environ.get("SFTUI_PARITY_ALL"), reason="minutes: on request, with SFTUI_PARITY_ALL=1"),
]
CLASSES = (
    "LlamaTokenizer",
    "LlamaTokenizerFast",
    "CodeLlamaTokenizer",
    "GPT2Tokenizer",
    "GPT2TokenizerFast",
    "Qwen2Tokenizer",
    "GemmaTokenizer",
    "GPTNeoXTokenizerFast",
    "PreTrainedTokenizerFast",
    "NoSuchTokenizer",
    "LlamaForCausalLM",
)
TEXTS = ("Hello  world, it's\n\n 12345 <s></s>!", " 你好 déjà-vu", "def f(x):\n    return x<|end|>", "", "▁a  b")
THROUGH = ("llama-class-over-bytes", "gpt2-both", "llama-model-new", "qwen2", "t5")


def python(name: str) -> Path:
    found = home() / name / "bin" / "python"
    if not found.exists():
        pytest.skip(f"no environment {name}: make it with tests/parity/environments.py")
    return found


class Asked:
    """The script under one Python, asked for one tokenizer after the other."""

    def __init__(self, path: Path) -> None:
        self.process = subprocess.Popen(
            [str(path), str(SCRIPT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "HF_HUB_OFFLINE": "1"},
        )

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        found: dict[str, Any] = json.loads(self.process.stdout.readline())
        return found

    def end(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait(30)


def answers(asked: Asked, path: Path, named: str) -> object:
    if "error" in asked.ask({"load": {"kind": "folder", "argument": str(path), "named": named}}):
        return None
    told = [asked.ask({"encode": list(TEXTS), "special": on}) for on in (False, True)]
    return None if any("error" in one for one in told) else [[row[0] for row in one["rows"]] for one in told]


def test_the_ids_are_those_of_axolotls_own_load(tmp_path: Path) -> None:
    theirs_by = python("axolotl-0.19.0")
    cases = [(folder(one.name), named) for one, named in product(MADE, CLASSES)]
    (tmp_path / "cases.json").write_text(json.dumps([[str(path), named, TEXTS] for path, named in cases]))
    script = Path(__file__).with_name("load_axolotl.py")
    command = [str(theirs_by), str(script), str(tmp_path / "cases.json"), str(tmp_path / "answers.json")]
    subprocess.run(command, check=True, capture_output=True, cwd=tmp_path)
    theirs = json.loads((tmp_path / "answers.json").read_text())
    asked = Asked(theirs_by)
    count = Counter[str]()
    for (path, named), real in zip(cases, theirs):
        mine = answers(asked, path, named)
        count["equal" if mine == real else "other"] += 1
        count["loaded"] += real is not None
        assert mine == real, (path, named)
    asked.end()
    print(f"{len(cases)} pairs of tokenizer and class: {dict(count)}")
    assert count["loaded"] > len(cases) // 2
    environment = environment_at(theirs_by, "--env")
    for (path, named), real in zip(cases, theirs):
        if path in [folder(name) for name in THROUGH] and named in ("LlamaTokenizer", "PreTrainedTokenizerFast"):
            try:
                loaded = load_tokenizer(str(path), environment=environment, loader=named)
            except TokenizerError:
                assert real is None
                continue
            ids = [[list(one.ids) for one in loaded.encode_batch(TEXTS, on)] for on in (False, True)]
            assert ids == real, (path, named)


def test_what_is_said_of_versions_holds_for_named_classes() -> None:
    a, b = "5.16.1", "5.23.0"
    old, new = (Asked(python(f"transformers-{version}")) for version in (a, b))
    count = Counter[str]()
    for one, named in product(MADE, CLASSES):
        path = folder(one.name)
        first, second = (answers(asked, path, named) for asked in (old, new))
        if first is None or second is None:
            continue
        said, differ = may_differ(locate(str(path), loader=named), a, b), first != second
        count["differ, said" if differ and said else "differ, not said" if differ else "false" if said else "same"] += 1
        assert said or not differ, (one.name, named)
    old.end()
    new.end()
    print(f"{a} and {b}: {dict(count)}")
    assert count["same"] > 100
