"""Prove a tokenizer on texts of the user's own, besides the probe strings that its proof compared.

What was compared is kept next to the proof, by the texts' hash; one text that differs anywhere makes the proof one of a
backend that is not AutoTokenizer's, for every dataset.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sftui.errors import TokenizerError
from sftui.tokens.facts import PROVEN
from sftui.tokens.loaded import FastEngine, LoadedTokenizer, RefusedText, is_panic
from sftui.tokens.loading import cache
from sftui.tokens.loading.compare import same
from sftui.tokens.loading.environments import Environment, own_environment
from sftui.tokens.loading.load import hub_answering
from sftui.tokens.loading.locate import Location, fingerprint

if TYPE_CHECKING:
    from sftui.tokens.loading.process import TokenizerProcess

PATIENCE = 20.0
"""Seconds after which AutoTokenizer's answer on the texts is not waited for any more."""


def prove_on(
    loaded: LoadedTokenizer, place: Location, texts: Sequence[str], environment: Environment | None = None
) -> LoadedTokenizer:
    """The same tokenizer where AutoTokenizer gives the same ids and offsets for the texts, else one that it encodes.

    The very same object where nothing is to be reported. What is no proven backend (AutoTokenizer encodes already, or
    it is a built-in one) is not compared again. Texts that AutoTokenizer does not answer in time are left out, with a
    note. `place` and `environment` are those that it was loaded of.
    """
    engine = loaded.engine
    if not texts or not isinstance(engine, FastEngine) or loaded.facts.state != PROVEN or not loaded.facts.backend:
        return loaded
    root = cache.cache_root()
    try:
        key = cache.proof_key(place, fingerprint(place), environment)
    except OSError:
        return loaded  # its files are gone: whatever is loaded next says so
    left_out = cache.compared(root, key, texts)
    if left_out is None:
        from sftui.tokens.loading.process import PipedEngine, TokenizerProcess

        process = TokenizerProcess(environment or own_environment(), place)
        try:
            with hub_answering(place):
                reported = process.load()
        except TokenizerError as error:
            process.close()
            return _noting(loaded, f"{NOT_COMPARED}: {error.why or error.what}")
        found = [_differs(engine, text, rows) for text, rows in _answered(process, texts)]
        if any(found):
            note = cache.write_unequal(root, key, sum(found), len(found))
            facts = replace(loaded.facts, engine="transformers", probes=0, backend="").noting(note)
            return LoadedTokenizer(facts, PipedEngine(process, reported))
        process.close()
        left_out = len(texts) - len(found)
        cache.write_compared(root, key, texts, left_out)
    if not left_out:
        return loaded
    return _noting(loaded, f"{left_out} of {len(texts)} texts of the first rows {LEFT_OUT}")


NOT_COMPARED = "the first rows could not be compared with AutoTokenizer"
LEFT_OUT = "were not compared with AutoTokenizer, which did not answer in time"


def _answered(process: TokenizerProcess, texts: Sequence[str]) -> Iterator[tuple[str, list[list[Any]]]]:
    """Each text with what AutoTokenizer makes of it, without and with special tokens (three times None: refused); ends
    at the first that it does not answer in time."""
    for text in texts:
        rows = []
        try:
            for special in (False, True):
                try:
                    rows += process.encode([text], special, PATIENCE)
                except RefusedText:
                    rows.append([None, None, None])
        except TokenizerError:
            return
        yield text, rows


def _differs(engine: FastEngine, text: str, rows: Sequence[Sequence[Any]]) -> bool:
    try:
        return not all(same(row, engine.backend, text, special) for row, special in zip(rows, (False, True)))
    except BaseException as error:
        if not is_panic(error):
            raise
        return True


def _noting(loaded: LoadedTokenizer, note: str) -> LoadedTokenizer:
    return LoadedTokenizer(loaded.facts.noting(note), loaded.engine)
