"""Which keys torchtune reads, asked in its own environment (see `record_keys`)."""

from record_keys import DATACLASSES

SCRIPT = (
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
