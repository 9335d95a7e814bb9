"""What a model will be served with: the chat template and special tokens that a server renders prompts with, and the
tokens on which it ends generation.

What servers do is taken from their sources. vLLM (ChatCompletionRequest.add_special_tokens, SamplingParams
.update_from_generation_config, as of 0.11) encodes the rendered prompt as it is, and ends generation on the tokenizer's
EOS and on all of generation_config.json. llama.cpp (see `tokens.loading.gguf_chat`) takes a BOS that the template wrote
away where it adds one itself, and ends generation on what the file names and on tokens that it knows by their text.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from sftui.errors import SftuiError, TemplateError, TokenizerError
from sftui.side_files import reason
from sftui.templates import builtin_names, builtin_template, load_template_file
from sftui.tokens import LoadedTokenizer, builtin, load_tokenizer
from sftui.tokens.facts import PROVISIONAL
from sftui.tokens.loading.gguf_chat import read_gguf_chat
from sftui.tokens.loading.locate import locate, read_json

_ENGINES = Path(__file__).parent / "templates" / "other_engines.json"
TEMPLATE, TOKENIZER, GGUF = "template", "tokenizer", "gguf"
_TEMPLATES = (".jinja", ".jinja2", ".j2", ".txt")
_CONFIGS = ("tokenizer_config.json", "chat_template.json")
FIX = "give a .jinja file, a tokenizer's folder or name, a bundled name, or a .gguf file that contains one"


@dataclass(frozen=True, slots=True)
class ServedTemplate:
    """One template to be served with, loaded.

    `name` is what the user said. `templates` are by name, as a tokenizer holds them; `special_tokens` is what they
    are given. `tokenizer` makes the ids; None where that is the one that trains (a template alone, a GGUF file).
    `adds_bos`: the server puts BOS before each prompt and takes the template's own away; None: that is not known.
    `stops` are the texts of tokens that end generation, None where nobody says so. `pieces` are what a GGUF's
    vocabulary has at the ids of the special tokens of the tokenizer that trains.
    """

    name: str
    kind: str
    templates: Mapping[str, str]
    special_tokens: Mapping[str, Any]
    tokenizer: LoadedTokenizer | None = None
    adds_bos: bool | None = False
    stops: frozenset[str] | None = None
    pieces: Mapping[int, str] | None = None

    @property
    def decided(self) -> tuple[object, ...]:
        """All that decides what is found with it, as plain data."""
        facts = self.tokenizer.facts if self.tokenizer is not None else None
        return (facts, *(getattr(self, field.name) for field in fields(self) if field.name != "tokenizer"))


def other_engines(sources: Iterable[str]) -> Iterator[str]:
    """What engines that are not Jinja are known to do otherwise with some templates, a clause for each engine; tried
    with the versions that it names (templates/other_engines.json)."""
    facts = json.loads(_ENGINES.read_text(encoding="utf-8"))
    whole, found = "\n".join(sources), dict[str, list[str]]()
    for fact in facts:
        if re.search(fact["pattern"], whole):
            found.setdefault(fact["engine"], []).append(fact["does"])
    yield from (f"{engine} {' and '.join(does)}" for engine, does in found.items())


def kind_of(name: str) -> str:
    """Whether a template, a tokenizer or a GGUF file is named; SftuiError where nothing of that name can be meant."""
    if name.startswith(builtin.PREFIX):
        short = name.removeprefix(builtin.PREFIX)
        if short in builtin.NAMES:
            return TOKENIZER
        if short in builtin_names():
            return TEMPLATE
    path = Path(os.path.expanduser(name))
    try:
        there = path.exists()
    except (OSError, ValueError):
        there = False
    if not there and name in builtin_names():
        return TEMPLATE
    if not there and path.suffix.lower() in (*_TEMPLATES, ".gguf"):
        raise TemplateError("there is no such file", where=name, fix=FIX)
    if path.suffix.lower() == ".gguf" and not path.is_dir():
        return GGUF
    if there and not path.is_dir() and (path.suffix.lower() != ".json" or path.name in _CONFIGS):
        return TEMPLATE
    locate(name)
    return TOKENIZER


def load_served(name: str, trained: LoadedTokenizer, own: str | None) -> ServedTemplate:
    """What `name` means, with the tokenizer that trains and `own`, its name; SftuiError where it holds no template,
    or cannot be read."""
    kind = kind_of(name)
    if kind == TEMPLATE:
        return _template(name, trained)
    if kind == GGUF:
        return _gguf(name, trained)
    same = own is not None and os.path.expanduser(name) == os.path.expanduser(own)
    mode = "provisional" if trained.facts.state == PROVISIONAL else "proven"
    loaded = trained if same else load_tokenizer(name, mode=mode)
    facts = loaded.facts
    if not facts.chat_templates:
        raise _no_template(name, "the tokenizer has none")
    return ServedTemplate(
        name, TOKENIZER, facts.chat_templates, facts.template_tokens, loaded, stops=_stops(name, loaded)
    )


def _no_template(name: str, why: str) -> TemplateError:
    return TemplateError("there is no chat template to serve with", where=name, why=why, fix=FIX)


def _template(name: str, trained: LoadedTokenizer) -> ServedTemplate:
    short = name.removeprefix(builtin.PREFIX)
    if not os.path.exists(os.path.expanduser(name)) and short in builtin_names():
        made = builtin_template(short)
    else:
        made = load_template_file(os.path.expanduser(name))
    if "{{" not in made.source and "{%" not in made.source:
        raise _no_template(name, "it renders the same text for any messages")
    return ServedTemplate(name, TEMPLATE, {"default": made.source}, trained.facts.template_tokens)


def _gguf(name: str, trained: LoadedTokenizer) -> ServedTemplate:
    try:
        found = read_gguf_chat(Path(os.path.expanduser(name)), sorted(trained.special_ids))
    except (OSError, ValueError) as error:
        why = reason(error) if isinstance(error, OSError) else str(error)
        raise TokenizerError("the GGUF file cannot be read", where=name, why=why) from error
    if not found.templates:
        raise _no_template(name, "its metadata has no tokenizer.chat_template")
    return ServedTemplate(
        name,
        GGUF,
        found.templates,
        {"bos_token": "", "eos_token": "", **found.special_tokens},  # llama.cpp gives what is missing so
        adds_bos=found.adds_bos,
        stops=found.stops,
        pieces=found.pieces if found.size else None,
    )


def stops_of(loaded: LoadedTokenizer, config: Mapping[str, Any]) -> frozenset[str]:
    """The texts of the tokens on which a tokenizer with this generation_config ends generation."""
    value = config.get("eos_token_id")
    ids = {loaded.facts.eos_id, *(value if isinstance(value, list) else [value])}
    return frozenset(loaded.piece(one) for one in ids if type(one) is int)


def _stops(name: str, loaded: LoadedTokenizer) -> frozenset[str] | None:
    """What ends generation with a tokenizer's folder, given by its generation_config.json, or without that file by
    config.json; None where it has neither: those of the model, which stand elsewhere, may name more."""
    folder = locate(name).folder
    if folder is None:
        return None
    for file in ("generation_config.json", "config.json"):
        with suppress(OSError, ValueError, SftuiError):
            config = read_json(folder / file)
            if isinstance(config, Mapping) and (config.get("eos_token_id") is not None or file != "config.json"):
                return stops_of(loaded, config)
    return None
