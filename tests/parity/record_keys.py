"""What each trainer reads of a config: the names of its keys, written to sftui/trainers/TRAINER/known_keys.json.

`python tests/parity/record_keys.py TRAINER[@VERSION]…` asks the packages of the trainer's own environment (see
environments.py): pydantic models, dataclasses, signatures. `--files FOLDER` reads another release of the trainer,
unpacked from its wheel, with the dependencies of the default environment. Names only; what a key decides is told in the
trainer's own `keys` or `config` beside the record, and everything that is recorded and not named there decides
neither rows nor ids nor labels. So read what is new in a record before it is checked in (`git diff`).
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

PACKAGE = HERE.parent.parent / "sftui" / "trainers"
WIDTH = 116

STUB = r'''
import ast

def asked_of(holder, node, kind=ast.Constant):
    """Whether a node is `holder.get("name", …)` or `holder.pop("name", …)`."""
    called = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("get", "pop")
    return called and ast.unparse(node.func.value) == holder and node.args and isinstance(node.args[0], kind)

def stub(*names):
    """Packages that are not installed and that no key depends on."""
    import sys
    from importlib.machinery import ModuleSpec
    from unittest.mock import MagicMock
    for name in names:
        sys.modules[name] = MagicMock(__spec__=ModuleSpec(name, None), __path__=[])
'''

AXOLOTL = r'''
import importlib, inspect, pkgutil, types, typing
from enum import Enum
from pydantic import BaseModel
from pathlib import Path
stub("llmcompressor", *(f"llmcompressor.{one}" for one in ("core", "core.session_functions", "recipe", "transformers")))
stub(*(f"llmcompressor.{one}" for one in ("modifiers", "transformers.sparsification")))
stub("llmcompressor.transformers.sparsification.compressed_tensors_utils")
stub("ringmaster")
import axolotl.integrations as integrations
import axolotl.integrations.base as base
from axolotl.integrations.base import BasePlugin
from axolotl.utils.schemas import config as schemas
from axolotl.utils.schemas.datasets import SFTDataset

HOOKS = ("load_datasets", "get_collator_cls_and_kwargs", "get_trainer_cls")

def names(model):
    found = set()
    for name, field in model.model_fields.items():
        found.add(name)
        for alias in (field.alias, field.validation_alias):
            choices = (alias,) if isinstance(alias, str) else getattr(alias, "choices", ())
            found |= {one for one in choices if isinstance(one, str)}
    return found

def read_before(folder):
    """Keys that validators ask the plain mapping for, whether the model has such a field or not."""
    found = set()
    for file in sorted(Path(folder).glob("*.py")):
        for function in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            decorators = getattr(function, "decorator_list", ())
            if not any("mode='before'" in ast.unparse(one) for one in decorators):
                continue
            for node in ast.walk(function):
                name = None
                if asked_of("data", node):
                    name = node.args[0]
                elif isinstance(node, ast.Subscript) and ast.unparse(node.value) == "data":
                    name = node.slice
                elif isinstance(node, ast.Compare) and ast.unparse(node.comparators[0]) == "data":
                    name = node.left
                found |= {getattr(name, "value", None)}
    return {one for one in found if isinstance(one, str)}

def kinds(annotation):
    # what a field takes, as words: bool int float str list dict null choice; any: anything else
    if annotation is type(None):
        return {"null"}
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return kinds(inner[0])
    if origin in (typing.Union, types.UnionType):
        return set().union(*map(kinds, inner))
    if origin is typing.Literal:
        return {"choice"}
    bare = origin or annotation
    if not isinstance(bare, type):
        return {"any"}
    if issubclass(bare, Enum):
        return {"choice"}
    if issubclass(bare, (BaseModel, dict)):
        return {"dict"}
    if issubclass(bare, (list, tuple)) or bare.__name__ in ("Sequence", "MinLenList"):
        return {"list"}
    return {bare.__name__} if bare in (bool, int, float, str) else {"any"}

def values(annotation):
    # the values of a field's Literal or Enum parts
    if typing.get_origin(annotation) is typing.Literal:
        return set(map(str, typing.get_args(annotation)))
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return {str(one.value) for one in annotation}
    return set().union(*map(values, typing.get_args(annotation)))

def typed(model):
    found, chosen = {}, {}
    for name, field in model.model_fields.items():
        takes = kinds(field.annotation)
        if "any" in takes:
            continue
        found.setdefault(" ".join(sorted(takes)).replace(" ", "|"), set()).add(name)
        if "choice" in takes:
            chosen[name] = values(field.annotation)
    return found, chosen

def removed():
    # what the models of old keys raise for, whatever it is set to
    from axolotl.utils.schemas.deprecated import DeprecatedParameters
    found = set()
    for name in DeprecatedParameters.model_fields:
        for value in (True, 1, "x", ["x"]):
            try:
                DeprecatedParameters(**{name: value})
            except DeprecationWarning:
                found.add(name)
            except Exception:
                pass
    return found

model = schemas.AxolotlConfigWCapabilities
own = names(model)
known = {"config": own, "asked before": read_before(Path(schemas.__file__).parent) - own}
known |= {"dataset": names(SFTDataset), "plugins": {}, "removed": removed()}
known["types"], known["choices"] = typed(model)
known["dataset types"], known["dataset choices"] = typed(SFTDataset)
for found in pkgutil.walk_packages(integrations.__path__, "axolotl.integrations."):
    if found.name.count(".") > 3:
        continue
    module = importlib.import_module(found.name)
    for name, plugin in inspect.getmembers(module, inspect.isclass):
        if not issubclass(plugin, BasePlugin) or plugin is BasePlugin:
            continue
        where = plugin().get_input_args()
        keys = set()
        if where:
            home, _, cls = where.rpartition(".")
            keys = names(getattr(importlib.import_module(home), cls))
        hooks = {one for one in HOOKS if getattr(plugin, one) is not getattr(BasePlugin, one)}
        known["plugins"][name] = {"keys": keys, "hooks": hooks}
        # from 0.20 on it has plugins that work unlisted, so their keys are the config's own
        if any(one.rpartition(".")[2] == name for one in getattr(base, "BUILTIN_PLUGINS", ())):
            known["config"] |= keys
'''

DATACLASSES = r"""
import dataclasses
def names(*classes):
    return {one.name for cls in classes for one in dataclasses.fields(cls) if one.init}
"""

LLAMAFACTORY = (
    DATACLASSES
    + r"""
from llamafactory.hparams import parser
known = {"config": names(*parser._TRAIN_ARGS)}
"""
)

LLAMAFACTORY_V1 = (
    DATACLASSES
    + r"""
from llamafactory.v1.config import DataArguments, ModelArguments, SampleArguments, TrainingArguments
known = {"config": names(ModelArguments, DataArguments, TrainingArguments, SampleArguments)}
"""
)

TRL = (
    DATACLASSES
    + r"""
from trl import SFTConfig, ModelConfig, ScriptArguments
from trl.scripts import utils
from accelerate.commands.launch import launch_command_parser
# what SFTConfig and its like do not hold goes to `accelerate launch` (trl/cli/commands/training.py)
launch = {action.dest for action in launch_command_parser()._actions}
launch -= {"help", "training_script", "training_script_args"}
config = names(ScriptArguments, SFTConfig, ModelConfig, utils.DatasetMixtureConfig)
known = {"config": config | {"env"}, "launch": (launch | {"accelerate_config"}) - config}
known["dataset"] = names(utils.DatasetConfig)
# argparse puts a default that is text through the type of its argument, and a config's values are defaults
from trl.scripts import sft
known["types"] = {}
for action in sft.make_parser()._actions:
    kind = getattr(action.type, "__name__", "str")
    kind = "none_or_" + kind if "_accept_none" in getattr(action.type, "__qualname__", "") else kind
    if kind.removeprefix("none_or_") in ("int", "float", "loads", "string_to_bool"):
        known["types"].setdefault(kind, set()).add(action.dest)
known["choices"] = {one.dest: set(map(str, one.choices)) for one in launch_command_parser()._actions if one.choices}
"""
)

UNSLOTH = (
    DATACLASSES
    + r"""
import importlib.util, re, sys
from pathlib import Path
from trl import SFTConfig
# unsloth itself cannot be imported without a GPU: the fields that it adds to SFTConfig stand in the text of rl.py
files = (Path(root or ".") / "unsloth" / "models" / "rl.py" for root in sys.path)
source = next(file for file in files if file.is_file()).read_text(encoding="utf-8")
template = source[source.index("class Unsloth{RLConfig_name}"):]
added = set(re.findall(r"^    (\w+) *: .*= field\($", template[:template.index("def __init__")], re.M))
known = {"config": names(SFTConfig) | added | {"max_seq_length"}}
"""
)

TORCHTUNE = (
    DATACLASSES
    + r"""
import importlib, inspect, pkgutil, textwrap
from pathlib import Path
stub(*(f"torchvision{one}" for one in ("", ".transforms", ".transforms.v2", ".transforms.v2.functional")))
import torchao.dtypes, torchao.quantization as quantization
flows = ("", ".workflows", ".workflows.nf4", ".workflows.nf4.nf4_tensor")
stub(*(f"torchao.quantization.quantize_{one}" for one in flows))
quantization.__getattr__ = lambda name: getattr(torchao.dtypes, name, quantization)
import torchtune, torchtune.training

known = {"config": set(), "components": {}}
for file in sorted((Path(torchtune.__file__).parent.parent / "recipes").rglob("*.py")):
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        for holder in ("cfg", "self._cfg", "self.cfg"):
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) == holder:
                known["config"].add(node.attr)
            if asked_of(holder, node):
                known["config"].add(node.args[0].value)
            elif asked_of(holder, node, ast.Name):  # a constant of torchtune.training
                known["config"].add(getattr(torchtune.training, node.args[0].id, "dataset"))
known["config"] -= {"get", "pop", "keys", "items", "update"}

def built_by(one):
    tree = ast.parse(textwrap.dedent(inspect.getsource(one)))
    return next(node.value.func.id for node in ast.walk(tree) if isinstance(node, ast.Return))

def signature(one, given):
    # `!`: it has no default, `**`: any other keyword; the recipe gives the first `given`
    found = set()
    for p in list(inspect.signature(one).parameters.values())[given:]:
        if p.kind is p.VAR_KEYWORD and p.name == "kwargs":  # a tokenizer's builder hands them to its class
            found |= {name.strip("!") for name in signature(inspect.getmodule(one).__dict__[built_by(one)], 0)}
        elif p.kind is p.VAR_KEYWORD:
            found.add(f"**{p.name}")
        elif p.kind is not p.VAR_POSITIONAL:
            found.add(p.name + ("!" if p.default is p.empty else ""))
    return found

def components(home, wanted, given=0):
    module = importlib.import_module(home)
    for name in dir(module):
        one = getattr(module, name)
        if wanted(name, getattr(one, "func", one)):
            known["components"][f"{home}.{name}"] = signature(one, given)

def builder(*ends):
    return lambda name, one: inspect.isfunction(one) and name.endswith(ends)

components("torchtune.datasets", builder("_dataset"), 1)  # the recipes give the tokenizer
components("torchtune.datasets.multimodal", builder("_dataset"), 1)
if (Path(torchtune.__file__).parent / "dev" / "grpo" / "gsm8k.py").exists():
    components("torchtune.dev.grpo.gsm8k", builder("_dataset", "_sft"), 1)
for found in pkgutil.iter_modules(importlib.import_module("torchtune.models").__path__, "torchtune.models."):
    components(found.name, builder("_tokenizer", "_transform"))
components("torchtune.modules.transforms.tokenizers", lambda name, one: name == "HuggingFaceModelTokenizer")

# what `load_dataset` takes: its own parameters, and those of the kind of file ("any": of whichever kind)
import dataclasses, datasets
from datasets.packaged_modules import _PACKAGED_DATASETS_MODULES
own = set(inspect.signature(datasets.load_dataset).parameters) - {"path", "config_kwargs"}
known["load_dataset"] = {"any": set(own)}
for name, (home, _) in _PACKAGED_DATASETS_MODULES.items():
    for _, kind in inspect.getmembers(importlib.import_module(home), inspect.isclass):
        if issubclass(kind, datasets.BuilderConfig) and kind.__module__ == home:
            takes = own | names(kind)
            known["load_dataset"]["any"] |= takes
            if name in ("json", "csv", "parquet", "arrow", "text"):
                known["load_dataset"][name] = takes
"""
)

MLX_LM = r"""
from pathlib import Path
from mlx_lm import lora
from mlx_lm.tuner import datasets
def read_of(*holders):
    # what getattr(holder, "name"), holder.get("name") and holder["name"] ask for
    found = set()
    for node in ast.walk(ast.parse(Path(datasets.__file__).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Subscript) and ast.unparse(node.value) in holders:
            found.add(getattr(node.slice, "value", None))
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "getattr" and node.args[0].id in holders:
            found.add(node.args[1].value)
        else:
            found |= {node.args[0].value for holder in holders if asked_of(holder, node)}
    return {one for one in found if isinstance(one, str)}
# an entry of hf_dataset is made the config of its datasets
known = {"config": set(lora.CONFIG_DEFAULTS) | read_of("args", "config"), "dataset": read_of("ds", "config")}
"""

VERL = r"""
from pathlib import Path
stub("verl.workers.engine_workers", "ray")
import verl.trainer.config as own
import verl.trainer.sft_trainer as trainer
import verl.utils.dataset.multiturn_sft_dataset as rows
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf
def leaves(value, under=""):
    for key, one in value.items():
        if isinstance(one, dict) and one:
            yield from leaves(one, f"{under}{key}.")
        else:
            yield f"{under}{key}"
with initialize_config_dir(str(Path(own.__file__).parent), version_base=None):
    config = OmegaConf.to_container(compose("sft_trainer_engine"))
asked = {
    f"data.{node.args[0].value}"
    for module, holder in ((rows, "config"), (trainer, "config.data"))
    for node in ast.walk(ast.parse(Path(module.__file__).read_text(encoding="utf-8")))
    if asked_of(holder, node)
}
known = {"config": set(leaves(config)) | asked}
"""

MS_SWIFT = r"""
from dataclasses import fields
from swift.arguments import PretrainArguments, SftArguments
known = {"config": {one.name for kind in (SftArguments, PretrainArguments) for one in fields(kind) if one.init}}
known["types"] = {"list": {one.name for one in fields(SftArguments) if str(one.type).startswith("typing.List")}}
"""

NEMO_AUTOMODEL = r"""
from dataclasses import MISSING, fields
from importlib import import_module
from pathlib import Path
import nemo_automodel
from nemo_automodel.components.datasets import loader
from nemo_automodel.recipes import _typed_config
ROOT = Path(nemo_automodel.__file__).parent / "recipes"
def tops(*files):
    # the first steps of what self.cfg and self._raw are asked for
    found = set()
    for file in files:
        for node in ast.walk(ast.parse((ROOT / file).read_text(encoding="utf-8"))):
            for holder in ("self.cfg", "cfg", "self._raw", "self.cfg.raw_config"):
                if asked_of(holder, node):
                    found.add(str(node.args[0].value).split(".")[0])
                elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == holder:
                    found.add(node.attr)
    return {one for one in found if not one.startswith("_")}
def takes(path):
    module, _, name = path.rpartition(".")
    return {
        one.name + ("!" if one.default is MISSING and one.default_factory is MISSING else "")
        for one in fields(getattr(import_module(module), name))
    }
LLM = f"{loader._DATASETS}.llm."
KINDS = ("squad", "chat_dataset", "column_mapped_text_instruction", "agent_chat", "xlam")
components = {
    path: takes(config)
    for path, config in loader._DATASET_CONFIGS.items()
    if path.startswith(tuple(LLM + kind for kind in KINDS))
}
packing = {field.name for kind in loader._PACKING_CONFIGS.values() for field in fields(kind)}
components["packed_sequence"] = packing | loader._LEGACY_PACKING_FIELDS | {"packing_strategy"}
asks = [
    node for node in ast.walk(ast.parse(Path(_typed_config.__file__).read_text(encoding="utf-8")))
    if isinstance(node, ast.FunctionDef) and node.name == "_resolve_dataloader"
]
listed = next(node.value for node in ast.walk(asks[0])
              if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "config_fields")
components["dataloader"] = set(ast.literal_eval(listed)) | {"_target_", "collate_fn", "dataloader_type", "dataset"}
sections = {name for name in vars(_typed_config.RecipeConfig) if not name.startswith("_")}
methods = {"get", "to_dict", "to_yaml_dict", "raw_config", "get_as_string", "instantiate_path", "instantiate"}
known = {
    "config": (tops("llm/train_ft.py", "_typed_config.py", "base_recipe.py", "_dist_utils.py") | sections) - methods
    | {"slurm", "skypilot", "nemo_run", "cli_args"},
    "components": components,
}
"""

TAIL = r"""
import json
def plain(value):
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    return {key: plain(one) for key, one in sorted(value.items())}
print("RECORDED " + json.dumps(plain(known)))
"""

SCRIPTS = {
    "axolotl": AXOLOTL,
    "llamafactory": LLAMAFACTORY,
    "llamafactory-v1": LLAMAFACTORY_V1,
    "trl": TRL,
    "unsloth": UNSLOTH,
    "torchtune": TORCHTUNE,
    "mlx-lm": MLX_LM,
    "verl": VERL,
    "ms-swift": MS_SWIFT,
    "nemo-automodel": NEMO_AUTOMODEL,
}


def ask(trainer: str, version: str, files: str | None) -> dict[str, object]:
    """The names that the trainer's environment gives; `files`: those of this folder, in the default environment."""
    from case import home
    from environments import split

    python = home() / f"{trainer}-{split(trainer)[1] if files else version}" / "bin" / "python"
    done = subprocess.run(
        [str(python), "-c", STUB + SCRIPTS[trainer] + TAIL],
        capture_output=True,
        text=True,
        cwd=home(),
        check=False,
        env={**os.environ, **({"PYTHONPATH": files} if files else {})},
    )
    for line in done.stdout.splitlines():
        if line.startswith("RECORDED "):
            return dict(json.loads(line.removeprefix("RECORDED ")))
    sys.exit(f"{trainer}@{version}: {done.stderr[-3000:]}")


def record_arguments(wheels: list[str]) -> None:
    """TrainingArguments of the transformers releases in these wheels, read as text: only the fields' names count."""
    recorded = {}
    for wheel in sorted(wheels):
        with zipfile.ZipFile(wheel) as archive:
            tree = ast.parse(archive.read("transformers/training_args.py"))
        cls = next(one for one in tree.body if isinstance(one, ast.ClassDef) and one.name == "TrainingArguments")
        fields = [
            one.target.id for one in cls.body if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
        ]
        recorded[Path(wheel).name.split("-")[1]] = compact(sorted(name for name in fields if not name.startswith("_")))
    (PACKAGE / "known_keys.json").write_text(
        json.dumps({"TrainingArguments": recorded}, indent=1) + "\n", encoding="utf-8"
    )


def compact(value: object) -> object:
    """Lists of names as lines of names, so that a record is short and its differences can be read."""
    if isinstance(value, dict):
        return {key: compact(one) for key, one in value.items()}
    assert isinstance(value, list)
    return textwrap.wrap(" ".join(value), WIDTH, break_long_words=False, break_on_hyphens=False)


def record(trainer: str, version: str, files: str | None) -> None:
    """Put one version into the trainer's record, newest first."""
    file = PACKAGE / trainer.replace("-", "_") / "known_keys.json"
    known = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    known[version] = compact(ask(trainer, version, files))
    newest_first = sorted(known, key=lambda name: [int(part) for part in name.split(".")], reverse=True)
    file.write_text(json.dumps({name: known[name] for name in newest_first}, indent=1) + "\n", encoding="utf-8")
    print(f"{trainer}@{version}: written to {file}")


def main() -> int:
    from environments import split

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="trainer, or trainer@version")
    parser.add_argument("--files", help="folder of an unpacked release (a wheel) that has no environment of its own")
    parser.add_argument("--transformers", nargs="+", default=[], help="wheels of transformers, for TrainingArguments")
    given = parser.parse_args()
    if given.transformers:
        record_arguments(given.transformers)
        return 0
    for name in given.names or list(SCRIPTS):
        trainer, version = name.split("@") if given.files else split(name)
        record(trainer, version, given.files)
    return 0


if __name__ == "__main__":
    sys.exit(main())
