"""`load_tokenizer`: a name → a LoadedTokenizer, proven where that is possible."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path

from sftui.errors import TokenizerError
from sftui.tokens.facts import from_json
from sftui.tokens.loaded import FastEngine, LoadedTokenizer
from sftui.tokens.loading import cache
from sftui.tokens.loading.environments import Environment, own_environment
from sftui.tokens.loading.locate import Location, locate, read_json
from sftui.tokens.release import read_backend
from sftui.tokens.shortcuts.early import early_engine
from sftui.tokens.shortcuts.quick import read_form, read_quick


def load_tokenizer(
    name: str,
    *,
    revision: str | None = None,
    mode: str = "proven",
    environment: Environment | None = None,
    loader: str = "",
) -> LoadedTokenizer:
    """Load a tokenizer by Hub name, folder, tokenizer.json, .gguf or builtin:NAME; TokenizerError.

    mode `proven`: from its proof in the cache (transformers is not imported), which is made first in a subprocess where
    there is none yet. mode `provisional`: the proof if there is one, by a part of a large vocabulary at first (see
    `tokens.shortcuts.early`), else tokenizer.json as it stands, with `facts.state` saying so; where there is none that
    can be read (not downloaded yet, sentencepiece only, .gguf), the proof is made after all: it knows the reason.

    `environment` is whose transformers loads it (None: our own). `loader` is the class that loads it (empty:
    AutoTokenizer's choice), which only a proof can tell of.
    """
    if mode not in ("proven", "provisional"):
        raise ValueError(f"mode is 'proven' or 'provisional', not {mode!r}")
    place = locate(name, revision, loader)
    if place.kind == "builtin" and place.path is not None:
        return _builtin(place.name, place.path)
    proof = cache.find(place, cache.cache_root(), environment)
    if proof is None:
        if mode == "provisional" and not loader:
            from sftui.tokens.loading.raw import load_raw

            with suppress(TokenizerError):
                return load_raw(place)
        from sftui.tokens.loading.prove import prove

        with hub_answering(place):
            proof = prove(place, environment)
    return _proven(proof, place, environment, early=mode == "provisional")


def hub_answering(place: Location) -> AbstractContextManager[None]:
    """Takes the local cache's where the Hub does not answer; TokenizerError within seconds where that has nothing."""
    if place.kind != "hub":
        return nullcontext()
    from sftui import hub

    found = hub.trouble(place.argument, place.revision)
    if found is None:
        return nullcontext()
    if place.path is None:
        raise TokenizerError("the tokenizer cannot be loaded", where=place.name, why=found.why, fix=found.fix)
    return hub.without_hub() if found.silent else nullcontext()


def _builtin(name: str, folder: Path) -> LoadedTokenizer:
    """A tokenizer of the package: its facts were read from AutoTokenizer when it was made."""
    facts = from_json(read_json(folder / "facts.json"))
    return LoadedTokenizer(facts, FastEngine(read_backend(folder / "tokenizer.json", name)))


def _proven(proof: cache.Proof, place: Location, environment: Environment | None, early: bool) -> LoadedTokenizer:
    facts = replace(proof.facts, name=place.name)
    if proof.backend is not None:
        at, split = proof.backend, facts.split_special_tokens
        engine: FastEngine | None = None
        if early and proof.quick is not None:
            form = read_form(proof.quick)
            engine = early_engine(form, lambda: read_backend(at, place.name), split) if form is not None else None
        if engine is None:
            backend = read_quick(proof.quick) if proof.quick is not None else None
            engine = FastEngine(backend or read_backend(at, place.name), split_special_tokens=split)
        return LoadedTokenizer(facts, engine)
    from sftui.tokens.loading.process import PipedEngine, TokenizerProcess

    return LoadedTokenizer(facts, PipedEngine(TokenizerProcess(environment or own_environment(), place)))
