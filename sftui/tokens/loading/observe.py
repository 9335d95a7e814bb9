"""What a user should know about a tokenizer that its ids do not show: one note, one sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import util
from typing import Any

from sftui.tokens.facts import TokenizerFacts
from sftui.tokens.loaded import FastEngine
from sftui.tokens.loading.compare import Wanted, count_differences
from sftui.tokens.loading.gguf import unknown_split
from sftui.tokens.loading.locate import Location
from sftui.tokens.loading.reference import config_of


def observations(
    reported: Mapping[str, Any], facts: TokenizerFacts, place: Location, probes: tuple[str, ...], answers: Wanted
) -> tuple[str, ...]:
    """The notes on a tokenizer of which `autotokenizer.facts` told; `answers` are its ids of the `probes`, which
    tokenizer.json as it stands is compared with."""
    notes: list[str] = []
    config = config_of(place.folder)
    if place.kind == "file":
        notes.append(
            "there is only a tokenizer.json: the roles of its special tokens (BOS, EOS, pad) and its chat template are"
            " not known, and AutoTokenizer may choose a different class once there is a tokenizer_config.json"
        )
    if place.kind == "gguf" and (util.find_spec("torch") is None or util.find_spec("gguf") is None):
        notes.append(
            "AutoTokenizer needs torch and gguf to read most .gguf files: sftui loaded this one with the"
            " underlying class, with the same vocabulary and merges; class defaults such as the padding side"
            " may differ"
        )
    if place.kind == "gguf" and place.path is not None and (split := unknown_split(str(place.path))) is not None:
        notes.append(
            f"the file {split}: transformers then splits text as GPT-2 does, and ids may differ from those of the"
            " model's own tokenizer; use its tokenizer.json to be sure"
        )
    if (
        place.kind in ("folder", "hub")
        and place.folder is not None
        and not (place.folder / "tokenizer_config.json").is_file()
    ):
        notes.append(
            "there is no tokenizer_config.json: the roles of special tokens and the chat template may be missing"
        )
    notes += _saved_settings(facts, place, probes, reported, answers)
    for key, acts in (("add_bos_token", facts.adds_bos), ("add_eos_token", facts.adds_eos)):
        if config.get(key) is True and not acts:
            notes.append(f"tokenizer_config.json says {key}: true, but {facts.class_name} does not add it")
    if place.kind != "file":
        notes += _missing(facts)
    if facts.back:
        notes.append(f"add_special_tokens puts {_names(reported, facts.back)} after every text")
    if facts.front and not facts.adds_bos:
        notes.append(f"add_special_tokens puts {_names(reported, facts.front)} before every text")
    notes += _swallowing(reported)
    if reported["mistral_regex"] is False:
        notes.append(
            "transformers warns that this Mistral tokenizer splits text incorrectly unless it is loaded with"
            " fix_mistral_regex=True"
        )
    if not facts.is_fast:
        notes.append(
            f"{facts.class_name} is a slow tokenizer: it returns no offsets, so return_assistant_tokens_mask and "
            "char_to_token fail; spans are shown only where the pieces spell the text"
        )
    if place.commit:
        notes.append(f"from the local Hub cache, commit {place.commit[:8]}; a newer one on the Hub is not checked")
    return tuple(notes)


def _saved_settings(
    facts: TokenizerFacts, place: Location, probes: tuple[str, ...], reported: Mapping[str, Any], answers: Wanted
) -> list[str]:
    """Truncation, padding and pre-tokenization that tokenizer.json holds and AutoTokenizer does not use."""
    from tokenizers import Tokenizer

    if place.json is None or not facts.is_fast:
        return []
    try:
        raw = Tokenizer.from_file(str(place.json))
    except Exception:
        # The class built its backend without this file; what the file would do has no meaning.
        return []
    notes = []
    if raw.truncation is not None:
        notes.append(
            f"tokenizer.json was saved with truncation to {raw.truncation['max_length']}: AutoTokenizer ignores that,"
            " the tokenizers library does not"
        )
    if raw.padding is not None:
        notes.append(
            f"tokenizer.json was saved with padding to {raw.padding['length'] or 'the longest'}: AutoTokenizer ignores"
            " that, the tokenizers library does not"
        )
    new = [(i, content) for i, content, *_ in reported["added"] if raw.token_to_id(content) is None]
    if new:
        notes.append(
            "AutoTokenizer adds tokens that tokenizer.json does not have:"
            f" {_some([f'{content} (id {i})' for i, content in new])}; the model may have no embedding for them"
        )
    own = FastEngine(raw, split_special_tokens=facts.split_special_tokens).backend
    differ = count_differences(answers, own, probes)
    if differ:
        note = (
            f"{facts.class_name} overrides tokenizer.json: {differ} of {len(probes)} probe strings tokenize differently"
            " from the file alone"
        )
        if place.folder is not None and not (place.folder / "config.json").is_file():
            note += "; there is no config.json here, and with the model's own, AutoTokenizer may choose another class"
        notes.append(note)
    return notes


def _missing(facts: TokenizerFacts) -> list[str]:
    notes = []
    if facts.pad_token is None:
        notes.append("there is no pad token")
    if facts.eos_token is None:
        notes.append("there is no EOS token")
    if not facts.chat_templates:
        notes.append("there is no chat template: apply_chat_template raises ValueError")
    elif len(facts.chat_templates) > 1:
        notes.append("there are several chat templates: " + ", ".join(sorted(facts.chat_templates)))
    return notes


def _names(reported: Mapping[str, Any], ids: tuple[int, ...]) -> str:
    named = {**{i: content for i, content, *_ in reported["added"]}, **{i: piece for i, piece in reported["around"]}}
    return " ".join(str(named.get(i, i)) for i in ids)


def _swallowing(reported: Mapping[str, Any]) -> list[str]:
    """Added tokens with lstrip/rstrip take white space of the content into themselves."""
    found = [content for _, content, _, left, right in reported["added"] if left or right]
    return [f"these tokens absorb the whitespace next to them: {_some(found)}"] if found else []


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
