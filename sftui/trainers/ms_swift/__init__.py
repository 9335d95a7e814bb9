"""ms-swift's supervised fine-tuning and pre-training (`swift sft`, `swift pt`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sftui.trainers.traits import Finds, Traits, own_keys


def claimed(config: Mapping[str, Any]) -> tuple[str, ...]:
    """The keys of a parsed config that are ms-swift's alone, and where there is one those that stand beside them; a
    model and datasets by name are enough, since it alone says both with these keys."""
    found = own_keys(__file__, config)
    if found:
        return (*found, *own_keys(__file__, config, "beside"))
    model, data = config.get("model"), config.get("dataset")
    named = isinstance(data, str) or (isinstance(data, list) and data and all(isinstance(one, str) for one in data))
    return ("model", "dataset") if isinstance(model, str) and named else ()


TRAITS = Traits(
    name="ms-swift",
    title="ms-swift",
    about="ModelScope's ms-swift (swift sft), as its YAML and flags say",
    home="sftui.trainers.ms_swift.trainer:MsSwift",
    versions=("4.6",),
    first=(4, 6),
    parses_json_text=True,
    own_roles=("tool_call", "tool_response"),
    call_roles=("tool_call",),
    renders_templates=False,
    piecewise=True,
    finds=Finds.SLOTS,
    assistant_rule="parts",
    packing="binpack",
    separates=("binpack", "sequential"),
    separates_by_positions=True,
    separate=(("pack.strategy", "binpack"), ("pack.isolate", True)),
    empty_stop="TypeError: 'NoneType' object is not iterable, or where it reads none of them ZeroDivisionError",
    endings={"arrow": "arrow", "csv": "csv", "json": "json", "jsonl": "json", "parquet": "parquet", "txt": "text"},
    reads="sftui.trainers.ms_swift.config",
    writes="sftui.trainers.ms_swift.config",
    claims=claimed,
)
