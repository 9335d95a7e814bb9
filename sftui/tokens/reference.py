"""The reference: the tokenizer as `transformers.AutoTokenizer` loads it, and its facts.

Importing transformers costs a second and 60–250 MB, so only the proving subprocess does this, and
the worker only for tokenizers that have no backend that could be proven.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sftui.tokens.facts import TokenizerFacts
from sftui.tokens.locate import Location
from sftui.tokens.refusal import explain

UNLIMITED = 10**12
"""A model_max_length from here on means none (transformers writes 1e30)."""


def load_reference(place: Location) -> Any:
    """The tokenizer object of transformers; TokenizerError with a sentence of its own for each cause.

    `trust_remote_code` is False in every call: None would ask on stdin for a repo with `auto_map`.
    """
    # transformers looks at this once, when it is imported; its advice about torch is not for us.
    os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")
    try:
        from transformers import AutoTokenizer, TokenizersBackend
        from transformers.utils import logging

        logging.set_verbosity(logging.CRITICAL)  # what goes wrong is raised; the worker's stderr stays clean
        if place.kind == "file":
            return TokenizersBackend(tokenizer_file=str(place.path))
        if place.kind == "gguf":
            return _from_gguf(place)
        return AutoTokenizer.from_pretrained(place.argument, revision=place.revision, trust_remote_code=False)
    except Exception as error:
        raise explain(error, place) from error


def _from_gguf(place: Location) -> Any:
    """A .gguf through AutoTokenizer, or where torch or gguf is missing through the class under it.

    AutoTokenizer reads the model's config out of the file first, and needs torch and gguf for most
    architectures. The vocabulary is converted in the same place for every class
    (TokenizersBackend.__init__, convert_gguf_tokenizer), so only class defaults may differ.
    """
    from transformers import AutoTokenizer, TokenizersBackend

    from sftui.tokens.gguf import stand_in

    assert place.path is not None
    folder, name = str(place.path.parent), place.path.name
    stand_in()
    try:
        return AutoTokenizer.from_pretrained(folder, gguf_file=name, trust_remote_code=False)
    except ImportError:
        return TokenizersBackend.from_pretrained(folder, gguf_file=name)


def read_facts(tokenizer: Any, place: Location) -> TokenizerFacts:
    """The facts of a loaded transformers tokenizer; what it puts around a text is seen by encoding."""
    specials = dict(tokenizer.special_tokens_map)
    front, back = _around(tokenizer)
    limit = getattr(tokenizer, "model_max_length", None)
    facts = TokenizerFacts(
        name=place.name,
        class_name=type(tokenizer).__name__,
        is_fast=bool(tokenizer.is_fast),
        vocab_size=len(tokenizer),
        special_tokens=specials,
        padding_side=tokenizer.padding_side,
        truncation_side=tokenizer.truncation_side,
        model_max_length=int(limit) if limit is not None and limit < UNLIMITED else None,
        chat_templates=_templates(tokenizer.chat_template),
        front=front,
        back=back,
        split_special_tokens=bool(getattr(tokenizer, "split_special_tokens", False)),
        engine="tokenizers" if tokenizer.is_fast else "transformers",
        commit=place.commit,
    )
    ids: dict[str, Any] = {}
    for key in ("bos", "eos", "pad", "unk"):
        token = specials.get(f"{key}_token")
        ids[f"{key}_token"] = token
        ids[f"{key}_id"] = None if token is None else tokenizer.convert_tokens_to_ids(token)
    facts = replace(facts, **ids)
    return replace(
        facts,
        adds_bos=facts.bos_id is not None and facts.bos_id in front,
        adds_eos=facts.eos_id is not None and facts.eos_id in back,
    )


def _around(tokenizer: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The ids that add_special_tokens=True puts before and after a text."""
    inner: Sequence[int] = tokenizer("x", add_special_tokens=False)["input_ids"]
    whole: Sequence[int] = tokenizer("x", add_special_tokens=True)["input_ids"]
    for start in range(len(whole) - len(inner) + 1):
        if list(whole[start : start + len(inner)]) == list(inner):
            return tuple(whole[:start]), tuple(whole[start + len(inner) :])
    return (), ()


def _templates(template: Any) -> dict[str, str]:
    if template is None:
        return {}
    if isinstance(template, dict):
        return {str(name): str(source) for name, source in template.items()}
    return {"default": str(template)}


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
