"""Which keys NeMo Automodel reads, asked in its own environment (see `record_keys`)."""

SCRIPT = r"""
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
