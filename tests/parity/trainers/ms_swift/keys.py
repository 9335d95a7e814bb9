"""Which keys ms-swift reads, asked in its own environment (see `record_keys`)."""

SCRIPT = r"""
from dataclasses import fields
from swift.arguments import PretrainArguments, RLHFArguments, SftArguments
known = {"config": {one.name for kind in (SftArguments, PretrainArguments) for one in fields(kind) if one.init}}
known["plugins"] = {"rlhf": {"keys": {one.name for one in fields(RLHFArguments) if one.init} - known["config"]}}
known["types"] = {"list": {one.name for one in fields(SftArguments) if str(one.type).startswith("typing.List")}}
"""
