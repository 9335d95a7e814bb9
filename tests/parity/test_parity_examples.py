"""Every example config of the trainers' own repositories: opened, or refused for a reason; counted and checked in."""

from __future__ import annotations

import json
import subprocess

import pytest
from case import home
from record_examples import REPOSITORIES, counts, files, missing, outcomes, recorded

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
for line in sys.stdin:
    path, text = json.loads(line)
    PluginManager._instance = None
    config = DictDefault(yaml.safe_load(text))
    prepare_plugins(config)
    fields = merge_input_args()[1].model_fields
    names = set(fields) | {one.alias for one in fields.values() if one.alias}
    print("READ " + json.dumps([path, sorted(set(config) & names)]), flush=True)
"""


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
