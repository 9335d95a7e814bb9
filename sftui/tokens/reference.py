"""The reference: the tokenizer as `transformers.AutoTokenizer` loads it, and its facts.

What loads it is `autotokenizer`, a script that any Python can run; here is what its answer means to sftui.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sftui.tokens.facts import TokenizerFacts
from sftui.tokens.locate import Location

GGUF_READER = str(Path(__file__).with_name("gguf.py"))


def load_request(place: Location) -> dict[str, Any]:
    """What `autotokenizer` is asked to load."""
    return {
        "kind": place.kind,
        "argument": place.argument,
        "revision": place.revision,
        "gguf": GGUF_READER,
        "named": place.loader,
    }


def read_facts(reported: Mapping[str, Any], place: Location) -> TokenizerFacts:
    """The facts of what `autotokenizer.facts` reported of a tokenizer."""
    specials, named = dict(reported["special_tokens"]), reported["named_ids"]
    front, back = tuple(reported["front"]), tuple(reported["back"])
    return TokenizerFacts(
        name=place.name,
        class_name=reported["class_name"],
        is_fast=reported["is_fast"],
        vocab_size=reported["vocab_size"],
        special_tokens=specials,
        special_lists={name: tuple(tokens) for name, tokens in reported["special_lists"].items()},
        bos_token=specials.get("bos_token"),
        bos_id=named["bos"],
        eos_token=specials.get("eos_token"),
        eos_id=named["eos"],
        pad_token=specials.get("pad_token"),
        pad_id=named["pad"],
        unk_token=specials.get("unk_token"),
        unk_id=named["unk"],
        padding_side=reported["padding_side"],
        truncation_side=reported["truncation_side"],
        model_max_length=reported["model_max_length"],
        chat_templates=dict(reported["chat_templates"]),
        adds_bos=named["bos"] is not None and named["bos"] in front,
        adds_eos=named["eos"] is not None and named["eos"] in back,
        front=front,
        back=back,
        split_special_tokens=reported["split_special_tokens"],
        engine="tokenizers" if reported["is_fast"] else "transformers",
        commit=place.commit,
        transformers=reported["versions"].get("transformers", ""),
        random=reported["random"],
    )


def config_of(folder: Path | None) -> dict[str, Any]:
    """tokenizer_config.json of a folder, or {} where it is absent or broken (AutoTokenizer says so itself)."""
    from sftui.tokens.locate import read_json

    if folder is None or not (folder / "tokenizer_config.json").is_file():
        return {}
    try:
        found = read_json(folder / "tokenizer_config.json")
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
