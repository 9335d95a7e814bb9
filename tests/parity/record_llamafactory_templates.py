"""Record what LLaMA-Factory's registered templates hold, and what they make of conversations.

    PYTHON_OF_ITS_ENVIRONMENT tests/parity/record_llamafactory_templates.py [FOLDER]

Writes two files, into FOLDER where one is named: sftui/trainers/llamafactory/templates.json, the slots and settings of
every template by its name (what is as `register_template` has it by default is left out) and the wordings of its tool
formats; and tests/golden/trainers/llamafactory_templates.json, for every template, conversation of template_shapes.json
and bundled tokenizer how many ids and labels `SupervisedDatasetProcessor` gives and a hash of them, or why it stops.
Templates of models that see or hear are asked with a processor in place, as those models have one, and with none.
"""

from __future__ import annotations

import copy
import hashlib
import importlib.metadata
import json
import logging
import sys
from datetime import datetime
from functools import lru_cache
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

sys.modules["torchaudio"] = MagicMock(__spec__=ModuleSpec("torchaudio", None))
logging.disable(logging.CRITICAL)

import llamafactory.data.tool_utils as tool_utils
from llamafactory.data import template as templates
from llamafactory.data.processor import SupervisedDatasetProcessor
from llamafactory.hparams import DataArguments
from transformers import AutoTokenizer

REPO = Path(__file__).resolve().parents[2]
FACTS = REPO / "sftui" / "trainers" / "llamafactory" / "templates.json"
SHAPES = Path(__file__).resolve().parent / "template_shapes.json"
GOLDEN = REPO / "tests" / "golden" / "trainers" / "llamafactory_templates.json"
TOKENIZERS = ("chatml", "llama3")
ADDED = ("<|user|>", "<|assistant|>", "<|system|>", "<|observation|>", "[gMASK]", "sop", "<sep>")
"""Tokens that templates insert by their name: they are asked with a tokenizer that has them, too."""
KINDS = {
    "Template": "plain",
    "Llama2Template": "llama2",
    "ReasoningTemplate": "reasoning",
    "Glm47ReasoningTemplate": "reasoning_closing",
}
ROLES = {"human": "user", "gpt": "assistant", "function_call": "function", "observation": "observation"}
DAY = datetime(2026, 2, 3)
UNTOUCHED = copy.deepcopy(templates.TEMPLATES)


class Seeing(int):
    """A processor, as the models for images and sounds have one: there is something of every name."""

    def __getattr__(self, name: str) -> Any:
        return f"<{name}>" if name.endswith(("token", "sequence")) else Seeing(2)

    def __iter__(self) -> Any:
        return iter((2, 2))


class Day(datetime):
    """The day that the tool format llama3 writes."""

    @classmethod
    def now(cls, tz: Any = None) -> Any:
        return DAY


def slots_of(formatter: Any) -> list[Any]:
    """Slots as JSON: text, or what stands for a token of the tokenizer."""
    found: list[Any] = []
    for slot in formatter.slots:
        if isinstance(slot, str):
            found.append(slot)
        elif isinstance(slot, dict):
            found.append({"token": slot["token"]})
        elif "bos_token" in slot or "eos_token" in slot:  # any other name in a set stands for nothing
            found.append({"special": "bos" if "bos_token" in slot else "eos"})
    return found


def facts_of(one: Any) -> dict[str, Any]:
    """A template without what it has by default."""
    answer = ["{{content}}"] if one.efficient_eos else ["{{content}}", {"special": "eos"}]
    user, assistant = slots_of(one.format_user), slots_of(one.format_assistant)
    tools = one.format_tools
    plugin = one.mm_plugin
    media = [name for name in ("image", "video", "audio") if getattr(plugin, f"{name}_token", None) is not None]
    given = {
        "user": (user, ["{{content}}"]),
        "assistant": (assistant, answer),
        "system": (slots_of(one.format_system), ["{{content}}"]),
        "function": (slots_of(one.format_function), assistant),
        "observation": (slots_of(one.format_observation), user),
        "prefix": (slots_of(one.format_prefix), []),
        "function_format": (one.format_function.tool_format, "default"),
        "tools_format": (tools.tool_format, "default"),
        "tools_slots": (slots_of(tools) if tools.tool_format is None else [], []),
        "default_system": (one.default_system, ""),
        "stop_words": (list(one.stop_words), []),
        "thought": (list(one.thought_words), ["<think>\n", "\n</think>\n\n"]),
        "tool_call": (list(one.tool_call_words), ["<tool_call>", "</tool_call>"]),
        "efficient_eos": (one.efficient_eos, False),
        "replace_eos": (one.replace_eos, False),
        "kind": (KINDS[type(one).__name__], "plain"),
        "media": (media, []),
    }
    return {name: value for name, (value, usual) in given.items() if value != usual}


def inserted(facts: dict[str, Any]) -> list[list[dict[str, str]]]:
    """What the slots of a template hold that is no text."""
    found = [value for value in facts.values() if isinstance(value, list)]
    return [[slot for slot in value if isinstance(slot, dict)] for value in found]


def digest(*lists: list[int]) -> str:
    return hashlib.blake2b(json.dumps(lists).encode(), digest_size=8).hexdigest()


@lru_cache(maxsize=4)
def dataset_processor(name: str, folder: Path, processor: Any, added: tuple[str, ...]) -> SupervisedDatasetProcessor:
    """What encodes rows by a template, which changes with the tokenizer that it is used with."""
    data = DataArguments(template=name, cutoff_len=100_000)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    if added:  # as `add_special_tokens` of a config does
        tokenizer.add_special_tokens({"additional_special_tokens": list(added)})
    templates.TEMPLATES[name] = copy.deepcopy(UNTOUCHED[name])
    template = templates.get_template_and_fix_tokenizer(tokenizer, data)
    return SupervisedDatasetProcessor(template=template, tokenizer=tokenizer, processor=processor, data_args=data)


def made(name: str, folder: Path, shape: dict[str, Any], processor: Any, added: tuple[str, ...] = ()) -> Any:
    """How many ids, how many trained and their hash; a sentence where it stops."""
    try:
        own = dataset_processor(name, folder, processor, added)
        messages = [{"role": ROLES[one["from"]], "content": one["value"]} for one in shape["conversations"]]
        ids, labels = own._encode_data_example(
            messages[:-1], messages[-1:], shape.get("system"), shape.get("tools"), [], [], []
        )
        if None in ids:
            return "TypeError: None among the ids"
        return [len(ids), sum(label != -100 for label in labels), digest(ids, labels)]
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:120]


def placed(path: Path, folder: str | None) -> Path:
    return path if folder is None else Path(folder) / path.name


def main(folder: str | None = None) -> None:
    version = importlib.metadata.version("llamafactory")
    facts = {name: facts_of(one) for name, one in templates.TEMPLATES.items()}
    prompts = {
        name.removesuffix("_TOOL_PROMPT").lower(): value
        for name, value in vars(tool_utils).items()
        if name.endswith("_TOOL_PROMPT")
    }
    told = {"llamafactory": version, "prompts": prompts, "templates": facts}
    placed(FACTS, folder).write_text(
        json.dumps(told, ensure_ascii=False, indent=1, sort_keys=True) + "\n", encoding="utf-8"
    )
    tool_utils.datetime = Day
    shapes = json.loads(SHAPES.read_text(encoding="utf-8"))
    golden: dict[str, Any] = {}
    for tokenizer in TOKENIZERS:
        loaded = REPO / "sftui" / "tokens" / "builtin" / tokenizer
        for name in facts:
            for shape, row in shapes.items():
                for processor in (
                    (Seeing(2), None) if facts[name].get("media") and shape == "multi-turn" else (Seeing(2),)
                ):
                    place = f"{tokenizer} {name} {shape}" + ("" if processor else ", no processor")
                    golden[place] = made(name, loaded, row, processor)
                if any("token" in slot for slots in inserted(facts[name]) for slot in slots):
                    golden[f"{tokenizer}+ {name} {shape}"] = made(name, loaded, row, Seeing(2), ADDED)
    placed(GOLDEN, folder).write_text(
        json.dumps({"llamafactory": version, "made": golden}, indent=0) + "\n", encoding="utf-8"
    )
    stops = sum(isinstance(one, str) for one in golden.values())
    print(f"{len(facts)} templates, {len(golden)} records, of which {stops} stop; llamafactory {version}")


if __name__ == "__main__":
    main(*sys.argv[1:])
