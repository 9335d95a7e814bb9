"""Which keys mlx-lm reads, asked in its own environment (see `record_keys`)."""

SCRIPT = r"""
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
