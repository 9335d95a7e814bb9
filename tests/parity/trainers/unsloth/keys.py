"""Which keys Unsloth reads, asked in its own environment (see `record_keys`)."""

from record_keys import DATACLASSES

SCRIPT = (
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
