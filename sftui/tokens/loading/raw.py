"""A provisional tokenizer: the files read directly, before AutoTokenizer has had its say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sftui.errors import TokenizerError
from sftui.side_files import read_side_file
from sftui.tokens.facts import PROVISIONAL, ROLES, TokenizerFacts, named_roles
from sftui.tokens.loaded import FastEngine, LoadedTokenizer, is_panic, panic_text
from sftui.tokens.loading.autotokenizer import randomness
from sftui.tokens.loading.four import MORE, NAMED, Redone
from sftui.tokens.loading.given import GivenTokenizer, TokenizerState
from sftui.tokens.loading.locate import Location, object_in
from sftui.tokens.release import read_backend


def load_raw(place: Location) -> LoadedTokenizer:
    """The tokenizer.json of a place with the facts its neighbours state; TokenizerError without one."""
    if place.json is None:
        raise TokenizerError(
            "the tokenizer cannot be shown yet", where=place.name, why="it has no tokenizer.json on disk"
        )
    backend = read_backend(place.json, place.name)
    try:
        config = object_in(place.folder, "tokenizer_config.json")
        legacy = object_in(place.folder, "special_tokens_map.json")
        templates = _templates(place.folder, config)
    except (OSError, ValueError) as error:
        raise TokenizerError("the tokenizer cannot be shown yet", where=place.name, why=str(error)) from error
    engine = FastEngine(backend, split_special_tokens=config.get("split_special_tokens") is True)
    specials = _specials(config, legacy)
    limit = config.get("model_max_length")
    facts = TokenizerFacts(
        name=place.name,
        class_name=str(config.get("tokenizer_class") or ""),
        vocab_size=backend.get_vocab_size(with_added_tokens=True),
        **_roles(engine, place.name, specials),
        random=randomness(backend.model),
        padding_side=str(config.get("padding_side") or "right"),
        truncation_side=str(config.get("truncation_side") or "right"),
        model_max_length=int(limit) if isinstance(limit, (int, float)) and limit < 10**12 else None,
        chat_templates=templates,
        split_special_tokens=config.get("split_special_tokens") is True,
        state=PROVISIONAL,
        commit=place.commit,
        notes=("read directly from tokenizer.json; not yet compared with AutoTokenizer",),
    )
    return LoadedTokenizer(facts, engine)


def as_redone(facts: TokenizerFacts, place: Location, four: Redone) -> GivenTokenizer:
    """A tokenizer as transformers 4 makes it, with the facts that the running release told of its files; TokenizerError
    where it cannot encode."""
    split = four.backend.encode_special_tokens
    engine = FastEngine(four.backend, split_special_tokens=split)
    told = replace(
        facts,
        vocab_size=four.backend.get_vocab_size(with_added_tokens=True),
        **_roles(engine, place.name, four.special),
        special_lists={MORE: four.more} if four.more else {},
        split_special_tokens=split,
        engine="tokenizers",
        random=randomness(four.backend.model),
        probes=0,
        backend="",
        elsewhere={},
    )
    return GivenTokenizer(told, engine, TokenizerState(told, four.backend.to_str(), None))


def _roles(engine: FastEngine, name: str, specials: Mapping[str, str]) -> dict[str, Any]:
    """Of facts what follows from the named special tokens, and what the backend puts around a text."""
    inner, whole = _probed(engine, name, False), _probed(engine, name, True)
    at = next((i for i in range(len(whole)) if whole[i : i + len(inner)] == inner), 0)
    front, back = whole[:at], whole[at + len(inner) :]
    tokens = {role: specials.get(f"{role}_token") for role in ROLES}
    ids = {role: None if token is None else engine.token_id(token) for role, token in tokens.items()}
    return named_roles(specials, ids, front, back)


def _probed(engine: FastEngine, name: str, special: bool) -> tuple[int, ...]:
    """The ids of "x"; TokenizerError where not even that can be encoded, e.g. without an unknown token."""
    try:
        return tuple(engine.ids_batch(["x"], special)[0])
    except BaseException as error:
        if not isinstance(error, Exception) and not is_panic(error):
            raise
        raise TokenizerError("the tokenizer cannot be shown yet", where=name, why=panic_text(error)) from error


def _specials(config: Mapping[str, Any], legacy: Mapping[str, Any]) -> dict[str, str]:
    """Named special tokens as transformers 5 merges them: the legacy map counts only in folders

    without `added_tokens_decoder`, and every other `*_token` of the config is model specific.
    """
    stated = {key: _content(config.get(key)) for key in NAMED}
    stated.update(
        {key: _content(value) for key, value in config.items() if key.endswith("_token") and key not in NAMED}
    )
    extra = config.get("extra_special_tokens")
    if isinstance(extra, dict):
        stated.update({str(key): _content(value) for key, value in extra.items()})
    if "added_tokens_decoder" not in config:
        stated.update({key: _content(value) for key, value in legacy.items() if key.endswith("_token")})
    return {key: value for key, value in stated.items() if value is not None}


def _content(value: Any) -> str | None:
    if isinstance(value, dict):
        value = value.get("content")
    return value if isinstance(value, str) else None


def _templates(folder: Path | None, config: Mapping[str, Any]) -> dict[str, str]:
    """Chat templates by name; the .jinja files win over the config, as in transformers 5."""
    if folder is None:
        return {}
    files = {path.stem: path for path in sorted(folder.glob("additional_chat_templates/*.jinja"))}
    if (folder / "chat_template.jinja").is_file():
        files = {"default": folder / "chat_template.jinja", **files}
    if files:
        return {name: read_side_file(path, "the chat template", TokenizerError) for name, path in files.items()}
    stated = config.get("chat_template")
    if isinstance(stated, str):
        return {"default": stated}
    if isinstance(stated, list):
        return {
            str(one["name"]): str(one["template"])
            for one in stated
            if isinstance(one, dict) and "name" in one and "template" in one
        }
    return {}
