"""Loading the tokenizer besides the worker's loop: provisional first, then proven or corrected."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING

from sftui.errors import SftuiError
from sftui.model import Problem
from sftui.recipe import Recipe
from sftui.session.options import OpenOptions
from sftui.values import value_class
from sftui.workspace import events as ev

if TYPE_CHECKING:
    from sftui.tokens import LoadedTokenizer

SHOWN = 2.0
"""Seconds that the rest of a vocabulary waits for the first row to be answered."""


@value_class
class LoaderReport:
    """What the loader has to say; `fresh`: the tokenizer with which rows must be inspected again, or why there is none;
    `by_rows`: it was compared on texts of the user's rows. `part`: it encodes by a part of its vocabulary; `whole`: it
    takes the place of such a one."""

    number: int
    event: ev.TokenizerChanged
    fresh: LoadedTokenizer | Problem | None = None
    by_rows: bool = False
    part: bool = False
    whole: bool = False


class Loader:
    """At most one load that counts; an older one that still runs is not listened to any more."""

    def __init__(self, post: Callable[[LoaderReport], None]) -> None:
        self._post = post
        self._number = 0
        self.settled = threading.Event()
        self.shown = threading.Event()
        """The row on screen was encoded by what was loaded last."""

    def wanted(self, loaded: LoaderReport) -> bool:
        return loaded.number == self._number

    def load(self, recipe: Recipe, options: OpenOptions, after: threading.Event | None = None) -> None:
        """Load in a thread; it waits shortly for `after`, so that the first row goes first.

        Loading from a local file holds the interpreter lock for half a second, opening a Hub
        dataset waits for the network: the first should not come before the row, nor wait for the
        second.
        """
        self._number += 1
        self.settled.clear()
        self.shown.clear()
        args = (self._number, recipe, options, after)
        threading.Thread(target=self._run, args=args, name="sftui-tokenizer", daemon=True).start()

    def _run(self, number: int, recipe: Recipe, options: OpenOptions, after: threading.Event | None) -> None:
        if after is not None:
            after.wait(0.4)
        try:
            self._load(number, recipe, options)
        except SftuiError as error:
            what = f"{error.where}: {error.what}" if error.where else error.what
            self._fail(number, Problem(what, error.why, error.fix))
        except BaseException as error:  # also what Rust raises where it gives up, which is no Exception
            traceback.print_exc()
            what = f"the tokenizer `{recipe.tokenizer.name}` could not be loaded"
            self._fail(number, Problem(what, f"{type(error).__name__}: {error}"))
        finally:
            self.settled.set()

    def prove(self, recipe: Recipe, options: OpenOptions, tokenizer: LoadedTokenizer, texts: Sequence[str]) -> None:
        """Compare the tokenizer in force with AutoTokenizer on texts of the user's rows, in a thread; it is heard of
        again only where another one has to take its place, or where something is to be reported of it."""
        args = (self._number, recipe, options, tokenizer, texts)
        threading.Thread(target=self._prove, args=args, name="sftui-tokenizer-rows", daemon=True).start()

    def _prove(
        self, number: int, recipe: Recipe, options: OpenOptions, tokenizer: LoadedTokenizer, texts: Sequence[str]
    ) -> None:
        from sftui.session.versions import proven_on

        try:
            proven = proven_on(recipe, options, tokenizer, texts)
        except BaseException:  # what is shown stands: the probe strings proved it
            traceback.print_exc()
            return
        if proven is not tokenizer:
            state = "proven" if proven.engine is tokenizer.engine else "corrected"
            self._post(LoaderReport(number, self._tokenizer_event(state, proven), proven, by_rows=True))

    def _fail(self, number: int, problem: Problem) -> None:
        self._post(LoaderReport(number, ev.TokenizerChanged("failed", None, problem.sentence(), problem), problem))

    def _load(self, number: int, recipe: Recipe, options: OpenOptions) -> None:
        from sftui.session.versions import load, named
        from sftui.tokens.shortcuts.early import whole_of
        from sftui.waiting import loading_words, watched

        def loading(text: str) -> None:
            self._post(LoaderReport(number, ev.TokenizerChanged("loading", None, text)))

        name = named(recipe)
        loading(f"loading tokenizer {name} …")
        with watched(name, "models", lambda seconds, came: loading(loading_words(name, "models", seconds, came))):
            tokenizer = load(recipe, options, "provisional")
        event = self._tokenizer_event(tokenizer.facts.state, tokenizer)
        whole = whole_of(tokenizer)
        self._post(LoaderReport(number, event, tokenizer, part=whole is not None))
        if whole is not None:
            self.shown.wait(SHOWN)
            self._post(LoaderReport(number, event, whole(), whole=True))
        self.settled.set()
        if tokenizer.facts.state != "provisional":
            return
        proven = load(recipe, options)
        state = "proven" if _alike(tokenizer, proven) else "corrected"
        self._post(LoaderReport(number, self._tokenizer_event(state, proven), proven))

    def _tokenizer_event(self, state: str, tokenizer: LoadedTokenizer) -> ev.TokenizerChanged:
        from sftui.session.versions import version_short, version_words
        from sftui.templates import families_for

        facts = tokenizer.facts
        state = "random" if facts.random and state != "provisional" else state
        templates = () if facts.chat_templates else families_for(facts.name, facts, tokenizer.token_id)
        message = {
            "provisional": "read from its files; sftui is still verifying that AutoTokenizer matches",
            "proven": "same as AutoTokenizer",
            "random": f"{facts.random}: it splits text differently each time",
            "corrected": "corrected: AutoTokenizer loads it differently",
        }.get(state, state)
        whose = version_words(facts)
        message = f"{whose}; {message}" if whose else message
        if not facts.chat_templates:
            message += "; it has no chat template"
        return ev.TokenizerChanged(state, facts, message, None, templates, version_short(whose))


def _alike(shown: LoadedTokenizer, proven: LoadedTokenizer) -> bool:
    """Whether what was shown stands: what templates and padding are given, and the ids of the probe strings."""
    from sftui.tokens.loading.probes import probe_strings

    given = attrgetter("special_tokens", "chat_templates", "padding_side", "vocab_size")
    if given(shown.facts) != given(proven.facts):
        return False
    probes = probe_strings(proven.facts.special_tokens.values())
    return all(
        a.ids == b.ids
        for special in (False, True)
        for a, b in zip(shown.encode_batch(probes, special), proven.encode_batch(probes, special))
    )
