"""A transformers tokenizer that a Python program has loaded already, taken as it is and proven like any other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from sftui.errors import TokenizerError
from sftui.tokens.facts import TokenizerFacts
from sftui.tokens.loaded import FastEngine, LoadedTokenizer
from sftui.tokens.loading import autotokenizer, compare
from sftui.tokens.loading.locate import Location
from sftui.tokens.loading.probes import probe_strings
from sftui.tokens.loading.process import PipedEngine, RemoteTokenizer, refused_text
from sftui.tokens.loading.reference import doubled, read_facts

UNNAMED = "the tokenizer given"
NEEDED = ("is_fast", "special_tokens_map", "added_tokens_decoder", "convert_tokens_to_ids")
STATE = ("chat_template", "padding_side", "truncation_side", "model_max_length", "split_special_tokens")
PARTS = ("normalizer", "pre_tokenizer", "post_processor", "decoder")


class LocalTokenizer:
    """A tokenizer of this process; TokenizerError for what is none."""

    def __init__(self, tokenizer: Any) -> None:
        if not callable(tokenizer) or not all(hasattr(tokenizer, name) for name in NEEDED):
            what, fix = _no_tokenizer(tokenizer)
            raise TokenizerError(what, fix=fix)
        self.tokenizer = tokenizer
        self._seen = state_of(tokenizer)

    def load(self) -> GivenTokenizer:
        """The same as sftui's: its ids by a copy of its backend where that gives the same for the probe strings, else
        by itself. TokenizerError."""
        asked, name = InProcessTokenizer(self.tokenizer), str(getattr(self.tokenizer, "name_or_path", "") or UNNAMED)
        try:
            reported = asked.load()
        except Exception as error:
            raise TokenizerError(
                "the tokenizer cannot be used", where=name, why=str(error).splitlines()[0][:300]
            ) from error
        from sftui.tokens.loading.observe import observations

        place = Location(name, "given", "")
        facts = read_facts(reported, place)
        probes = tuple(
            dict.fromkeys(probe_strings([*facts.special_tokens.values(), *compare.added_contents(reported)]))
        )
        answers = compare.wanted(asked, probes)
        facts = facts.noting(*observations(reported, facts, place, probes, answers))
        facts = replace(facts, doubled=doubled(reported, place, asked.ask))
        if not facts.is_fast:
            return self._encoding_itself(facts)
        if facts.random:
            return self._encoding_itself(facts, f"{facts.random}{compare.DRAWN} the tokenizer itself does the encoding")
        if differ := compare.backend_differences(reported, answers, probes):
            return self._encoding_itself(facts, _differing(differ, f"{len(probes)} probe strings"))
        return TokenizerState(replace(facts, probes=len(probes)), reported["backend"], None).load()

    def _encoding_itself(self, facts: TokenizerFacts, *notes: str) -> GivenTokenizer:
        facts = replace(facts, engine="transformers", probes=0).noting(*notes)
        return TokenizerState(facts, None, self.tokenizer).load()

    def proven_on(self, loaded: GivenTokenizer, texts: Sequence[str]) -> GivenTokenizer:
        """What `load` gave where the tokenizer gives the same ids and offsets for the texts, else the tokenizer
        itself."""
        if not isinstance(loaded.engine, FastEngine) or not texts:
            return loaded
        answers = compare.wanted(InProcessTokenizer(self.tokenizer), texts)
        differ = compare.count_differences(answers, loaded.engine.backend, texts)
        if not differ:
            return loaded
        return self._encoding_itself(loaded.facts, _differing(differ, f"{len(texts)} texts of the first rows"))

    def changed(self) -> str:
        """What of it is another than when it was given, as a list of names; empty where nothing is."""
        now = state_of(self.tokenizer)
        return ", ".join(name for name, value in now.items() if value != self._seen[name])


@dataclass(frozen=True, slots=True)
class TokenizerState:
    """What makes it again, in another process too: its backend as JSON, or the tokenizer itself."""

    facts: TokenizerFacts
    backend: str | None
    tokenizer: Any

    def load(self) -> GivenTokenizer:
        if self.backend is None:
            return GivenTokenizer(self.facts, PipedEngine(InProcessTokenizer(self.tokenizer)), self)
        engine = compare.read_json_backend(self.backend, self.facts.split_special_tokens)
        return GivenTokenizer(self.facts, engine, self)


class GivenTokenizer(LoadedTokenizer):
    """A loaded tokenizer that no file stands for."""

    def __init__(self, facts: TokenizerFacts, engine: FastEngine | PipedEngine, carried: TokenizerState) -> None:
        super().__init__(facts, engine)
        self.carried = carried


class InProcessTokenizer(RemoteTokenizer):
    """A tokenizer of this process, asked as one in a process of its own is."""

    def __init__(self, tokenizer: Any) -> None:
        self._held = {"tokenizer": tokenizer}

    def load(self) -> dict[str, Any]:
        with _quiet():
            return autotokenizer.facts(self._held["tokenizer"])

    def ask(self, request: Mapping[str, Any], limit: float | None = None) -> dict[str, Any]:
        try:
            with _quiet():
                return autotokenizer.answer(dict(request), self._held)
        except Exception as error:
            raise refused_text(autotokenizer.faults(error)) from error


def state_of(tokenizer: Any) -> dict[str, Any]:
    """What decides ids and texts and can be changed on a loaded tokenizer, by name; cheap next to one row."""
    found: dict[str, Any] = {name: str(getattr(tokenizer, name, None)) for name in STATE}
    found["vocabulary"] = len(tokenizer)
    found["special tokens"] = str(tokenizer.special_tokens_map)
    found["added tokens"] = str(tokenizer.added_tokens_decoder)
    backend = getattr(tokenizer, "backend_tokenizer", None) if tokenizer.is_fast else None
    for name in PARTS if backend is not None else ():
        part = getattr(backend, name)
        found[name] = None if part is None else part.__getstate__()
    return found


@contextmanager
def _quiet() -> Iterator[None]:
    """Transformers warns of texts that are longer than the model takes, which rows may be before they are cut."""
    from transformers.utils import logging

    before = logging.get_verbosity()
    logging.set_verbosity(logging.CRITICAL)
    try:
        yield
    finally:
        logging.set_verbosity(before)


def _differing(differ: int, of: str) -> str:
    return f"its serialised backend differs from it on {differ} of {of}, so the tokenizer itself does the encoding"


def _no_tokenizer(value: Any) -> tuple[str, str]:
    """What it is instead, and what to give."""
    kind = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
    if hasattr(value, "tokenizer"):
        return f"{kind} is not a tokenizer", "give its .tokenizer"
    if kind.startswith("tokenizers."):
        return f"{kind} has no special tokens and no chat template", (
            "give transformers.PreTrainedTokenizerFast(tokenizer_object=…)"
        )
    return f"{kind} is not a tokenizer", "give its name, a folder, or a transformers tokenizer"
