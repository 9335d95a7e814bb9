"""ms-swift's supervised fine-tuning and pre-training (`swift sft`, `swift pt`)."""

from sftui.trainers.ms_swift.own_keys import claimed
from sftui.trainers.traits import Finds, Traits

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
    reads="sftui.trainers.ms_swift.config",
    writes="sftui.trainers.ms_swift.config",
    claims=claimed,
)
