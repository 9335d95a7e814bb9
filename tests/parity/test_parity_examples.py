"""Every example config of the trainers' own repositories: opened, or refused for a reason; counted and checked in."""

from __future__ import annotations

import json
import subprocess

import pytest
from case import home
from record_examples import REPOSITORIES, counts, files, missing, outcomes, recorded

from sftui.trainers.held_out import HeldOut, evaluation_rows

pytestmark = [
    pytest.mark.parity,
    pytest.mark.skipif(bool(missing()), reason=missing() or "the repositories are here"),
]

READ = r"""
import json, sys
from importlib.machinery import ModuleSpec
from unittest.mock import MagicMock
part = "llmcompressor.transformers.sparsification"
for name in ("", ".core", ".core.session_functions", ".recipe", ".transformers", ".modifiers"):
    sys.modules["llmcompressor" + name] = MagicMock(__spec__=ModuleSpec("llmcompressor" + name, None), __path__=[])
for name in (part, part + ".compressed_tensors_utils"):
    sys.modules[name] = MagicMock(__spec__=ModuleSpec(name, None), __path__=[])
import yaml
from axolotl.integrations.base import PluginManager
from axolotl.integrations.config import merge_input_args
from axolotl.utils.config import prepare_plugins
from axolotl.utils.dict import DictDefault
known = {}
for line in sys.stdin:
    path, text = json.loads(line)
    config = DictDefault(yaml.safe_load(text))
    plugins = tuple(config.plugins or ())
    if plugins not in known:
        PluginManager._instance = None
        prepare_plugins(config)
        fields = merge_input_args()[1].model_fields
        known[plugins] = set(fields) | {one.alias for one in fields.values() if one.alias}
    print("READ " + json.dumps([path, sorted(set(config) & known[plugins])]), flush=True)
"""


SPLIT = r"""
import json, random
from datasets import Dataset
from axolotl.utils.data.sft import _handle_train_dataset_split
from axolotl.utils.data.shared import merge_datasets
from axolotl.utils.data.utils import handle_long_seq_in_dataset
from axolotl.utils.dict import DictDefault
random.seed(1)
fixed = {"sequence_len": 100, "min_sample_len": 2, "excess_length_strategy": "drop", "dataset_num_proc": 1}
for count in (37, 200, 1001):
    lengths = [random.choice([1, 5, 50, 150]) for _ in range(count)]
    for size in (0.05, 0.3, 12):
        for seed in (42, 7):
            for shuffled in (True, False):
                asked = {"val_set_size": size, "seed": seed, "shuffle_merged_datasets": shuffled, "is_preprocess": True}
                config = DictDefault({**fixed, **asked})
                ids = [[1] * length for length in lengths]
                columns = {"input_ids": ids, "labels": ids, "attention_mask": ids, "row": list(range(count))}
                data = merge_datasets([Dataset.from_dict(columns)], config)
                data = handle_long_seq_in_dataset(data, 100, config)
                made = _handle_train_dataset_split(data, config)[1]["row"]
                print("SPLIT " + json.dumps([lengths, size, seed, shuffled, sorted(made)]), flush=True)
"""


def test_axolotl_sets_the_same_rows_aside() -> None:
    python = home() / "axolotl-0.19.0" / "bin" / "python"
    if not python.exists():
        pytest.skip(f"{python} is not here: tests/parity/environments.py axolotl")
    done = subprocess.run([python, "-c", SPLIT], capture_output=True, text=True, cwd=home(), check=False)
    real = [json.loads(line[6:]) for line in done.stdout.splitlines() if line.startswith("SPLIT ")]
    assert len(real) == 36, done.stderr[-2000:]
    for lengths, size, seed, shuffled, rows in real:
        held = HeldOut("val_set_size", size, seed, drawn=False, shuffled=shuffled)
        assert evaluation_rows(held, [2 <= length <= 100 for length in lengths]) == set(rows)
    print(f"{len(real)} splits of {sum(len(one[0]) for one in real):,} rows: none differs")


def test_the_table_of_outcomes_is_what_sftui_does() -> None:
    found = list(outcomes())
    print(*counts(found), sep="\n")
    assert {(one.trainer, one.path): one.line().rstrip("\t") for one in found} == {
        key: line.rstrip("\t") for key, line in recorded().items()
    }


def test_no_key_that_axolotl_reads_is_told_as_not_known() -> None:
    python = home() / "axolotl-0.19.0" / "bin" / "python"
    if not python.exists():
        pytest.skip(f"{python} is not here: tests/parity/environments.py axolotl")
    asked = "".join(json.dumps(one) + "\n" for one in files(REPOSITORIES["axolotl"]))
    done = subprocess.run([python, "-c", READ], input=asked, capture_output=True, text=True, cwd=home(), check=False)
    read = dict(json.loads(line[5:]) for line in done.stdout.splitlines() if line.startswith("READ "))
    assert len(read) == sum(1 for _ in files(REPOSITORIES["axolotl"])), done.stderr[-2000:]
    wrong = {
        one.path: both
        for one in outcomes()
        if one.trainer == "axolotl" and (both := set(one.strange) & set(read[one.path]))
    }
    print(f"axolotl 0.19.0 reads {sum(map(len, read.values()))} keys of {len(read)} configs")
    assert not wrong
