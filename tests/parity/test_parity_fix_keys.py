"""Every key that a fix of the catalogue names for a trainer stands in that trainer's own config classes, newest
version."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Mapping

import pytest
from case import home
from environments import PACKAGES, split

from sftui.findings.catalogue import CODES

pytestmark = pytest.mark.parity

FIELDS = "print(json.dumps(sorted({f.name for c in classes for f in dataclasses.fields(c)})))"
ASK: Mapping[str, str] = {
    "trl": (
        "import dataclasses, json\nfrom trl import ModelConfig, ScriptArguments, SFTConfig\nfrom trl.scripts.utils"
        " import DatasetMixtureConfig\nclasses = (SFTConfig, ScriptArguments, ModelConfig, DatasetMixtureConfig)\n"
        + FIELDS
    ),
    "axolotl": (
        "import json\nfrom axolotl.utils.schemas.config import AxolotlInputConfig as A\nfrom"
        " axolotl.utils.schemas.datasets import SFTDataset as D, UserDefinedPrompterType as U\nfrom"
        " axolotl.utils.schemas.model import SpecialTokensConfig as S\nprint(json.dumps(sorted({n for c in (A, D, U, S)"
        " for n in c.model_fields})))"
    ),
    # read from the source: importing it needs packages that are built for another torch
    "llamafactory": (
        "import ast, importlib.util, json, pathlib\nroot ="
        " pathlib.Path(importlib.util.find_spec('llamafactory').origin).parent\nfiles = [*(root /"
        " 'hparams').glob('*_args.py'), root / 'data' / 'parser.py', root / 'data' / 'template.py']\ntrees ="
        " [ast.parse(f.read_text()) for f in files]\nprint(json.dumps(sorted({n.target.id for t in trees for n in"
        " ast.walk(t) if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)})))"
    ),
    "torchtune": (
        "import inspect, json\nfrom torchtune import datasets as d\nfrom torchtune.models.llama3 import"
        " llama3_tokenizer as l\nfrom torchtune.models.qwen2_5 import qwen2_5_tokenizer as q\nmade = (d.chat_dataset,"
        " d.instruct_dataset, d.alpaca_dataset, d.text_completion_dataset, l, q)\nprint(json.dumps(sorted({n for f in"
        " made for n in inspect.signature(f).parameters})))"
    ),
    "unsloth": (
        "import inspect, json, os\nos.environ['UNSLOTH_ZOO_DISABLE_GPU_INIT'] = '1'\nfrom unsloth_zoo import"
        " dataset_utils as d\nprint(json.dumps(sorted({*inspect.signature(d.train_on_responses_only).parameters, *(n"
        " for n in dir(d) if n.islower())})))"
    ),
}
"""Python for the trainer's environment that prints the names of its keys."""

NO_KEYS: Mapping[str, frozenset[str]] = {
    "trl": frozenset(
        {
            "add_eos_token",
            "pad_token",  # of the tokenizer
            "clone_chat_template",
            "remove_columns",
            "trainable_token_indices",  # functions, and an argument of peft
            "chat_template_kwargs",
            "enable_thinking",
            "date_string",  # a column, and what it may hold
            "embed_tokens",
            "lm_head",
        }
    ),
    "axolotl": frozenset(
        {
            "padding_side",
            "tokenizer_config",  # of the tokenizer's own file
            "tokenizer_default",
            "tokenizer_default_fallback_chatml",
            "date_string",
            "embed_tokens",
            "lm_head",
        }
    ),
    "llamafactory": frozenset({"dataset_info", "embed_tokens", "lm_head"}),
    "torchtune": frozenset(),
    "unsloth": frozenset(
        {
            "max_seq_length",  # of FastLanguageModel.from_pretrained, in the package `unsloth`
            "eos_token",
            "eos_token_id",
            "generation_config",
            "chat_template",
            "get_chat_template",
            "embed_tokens",
            "lm_head",
        }
    ),
}
"""Words with an underscore in a fix that are no keys: functions, values, files, attributes."""


def named(trainer: str) -> Iterator[tuple[str, str, str]]:
    """Code, key and the whole fix, for every word that looks like a key in a fix for this trainer alone."""
    for code in CODES.values():
        fix = code.fixes.get(trainer, "")
        if list(code.fixes.values()).count(fix) > 2:  # what to do to the data, said for every trainer
            continue
        for word in dict.fromkeys(re.findall(r"\b[a-z]+(?:_[a-z]+)+\b", fix)):
            yield code.code, word, fix


@pytest.mark.parametrize("trainer", ASK)
def test_every_key_that_a_fix_names_exists_in_the_trainer(trainer: str) -> None:
    name = next(one for one in PACKAGES if split(one)[0] == trainer)
    python = home() / name.replace("@", "-") / "bin" / "python"
    if not python.exists():
        pytest.skip(f"{name} is not built: python tests/parity/environments.py {trainer}")
    asked = subprocess.run([str(python), "-c", ASK[trainer]], capture_output=True, text=True, cwd="/", check=False)
    assert asked.returncode == 0, asked.stderr[-2000:]
    keys = set(json.loads(asked.stdout.splitlines()[-1]))
    missing = [
        f"{code}: {word}"
        for code, word, fix in named(trainer)
        if word not in keys | NO_KEYS[trainer] and not (trainer == "torchtune" and "0.7" in fix)  # 0.7 is not on PyPI
    ]
    assert not missing


def test_no_word_is_left_over_that_no_fix_names() -> None:
    for trainer, words in NO_KEYS.items():
        assert words <= {word for _, word, _ in named(trainer)}, trainer
