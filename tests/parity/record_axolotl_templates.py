"""Record what Axolotl makes of conversations with each template of its registry.

    PYTHON_OF_ITS_ENVIRONMENT tests/parity/record_axolotl_templates.py [FOLDER]

Writes tests/golden/trainers/axolotl_templates.json, into FOLDER where one is named: for every template, row of
axolotl_template_shapes.json, setting and bundled tokenizer how many ids and labels its `chat_template` strategy gives
and a hash of them, or the exception at which it stops; and which keys of a message its analyzer sees each template
read. The clock stands still for the templates that write today's date.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import logging
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

logging.disable(logging.CRITICAL)

import transformers.utils.chat_template_utils as rendering
from axolotl.prompt_strategies.chat_template import load
from axolotl.prompt_strategies.jinja_template_analyzer import JinjaTemplateAnalyzer
from axolotl.utils.chat_templates.base import _CHAT_TEMPLATES as TEMPLATES
from axolotl.utils.dict import DictDefault
from transformers import AutoTokenizer

REPO = Path(__file__).resolve().parents[2]
SHAPES = Path(__file__).resolve().parent / "axolotl_template_shapes.json"
GOLDEN = REPO / "tests" / "golden" / "trainers" / "axolotl_templates.json"
TOKENIZERS = ("chatml", "llama3")
SETTINGS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "inputs": {"train_on_inputs": True},
    "no thinking": {"chat_template_kwargs": {"enable_thinking": False}},
}
DAY = datetime(2026, 2, 3)


class Day(datetime):
    """The day that templates write."""

    @classmethod
    def now(cls, tz: Any = None) -> Any:
        return DAY


def digest(*lists: list[int]) -> str:
    return hashlib.blake2b(json.dumps(lists).encode(), digest_size=8).hexdigest()


def made(name: str, tokenizer: Any, row: dict[str, Any], setting: dict[str, Any]) -> Any:
    """How many ids, how many trained and their hash; the name of the exception where it stops."""
    cfg = DictDefault({"chat_template": name, "sequence_len": 100_000, "train_on_inputs": False, **setting})
    entry = {"type": "chat_template", "field_messages": "messages"}
    try:
        found = load(tokenizer, cfg, entry).tokenize_prompt(row)
        ids, labels = found["input_ids"], found["labels"]
        return [len(ids), sum(one != -100 for one in labels), digest(ids, labels)]
    except Exception as error:
        return type(error).__name__


def main(folder: str | None = None) -> None:
    version = importlib.metadata.version("axolotl")
    rendering.datetime = Day
    shapes = json.loads(SHAPES.read_text(encoding="utf-8"))
    golden: dict[str, Any] = {}
    for kind in TOKENIZERS:
        tokenizer = AutoTokenizer.from_pretrained(REPO / "sftui" / "tokens" / "builtin" / kind)
        for name in sorted(TEMPLATES):
            for shape, row in shapes.items():
                for setting, given in SETTINGS.items():
                    if given and kind != TOKENIZERS[0]:
                        continue  # what a setting does hangs on no tokenizer
                    golden[f"{kind}/{name}/{shape}/{setting}"] = made(name, tokenizer, row, given)
    keys = {name: sorted(JinjaTemplateAnalyzer(text).get_message_vars("messages")) for name, text in TEMPLATES.items()}
    path = GOLDEN if folder is None else Path(folder) / GOLDEN.name
    told = {"axolotl": version, "keys": dict(sorted(keys.items())), "made": golden}
    path.write_text(json.dumps(told, indent=0) + "\n", encoding="utf-8")
    stops = sum(isinstance(one, str) for one in golden.values())
    print(f"{len(TEMPLATES)} templates, {len(golden)} records, of which {stops} stop; axolotl {version}")


if __name__ == "__main__":
    main(*sys.argv[1:])
