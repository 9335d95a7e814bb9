"""Which keys Axolotl reads, asked in its own environment (see `record_keys`)."""

SCRIPT = r'''
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
