"""An open session on its way to another process, or another machine: there it inspects the rows that it is handed, as
here."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sftui.conversations import Detection
from sftui.model import Row
from sftui.recipe import Recipe
from sftui.session.opened import OpenData, Split, StoredData, settle_split
from sftui.session.options import OpenOptions
from sftui.session.ready import Ready, with_tokenizer
from sftui.session.versions import loaded_by, wanted_version
from sftui.sources import Source
from sftui.sources.source import UNKNOWN, CountedSource
from sftui.tokens import LoadedTokenizer, load_tokenizer
from sftui.tokens.loading.environments import Environment
from sftui.tokens.loading.given import GivenTokenizer, TokenizerState
from sftui.trainers.outside import enable, enabled


@dataclass(frozen=True, slots=True)
class SessionParcel:
    """What another process needs to be as ready as this one; `first` is the row from which the trainer decides for the
    whole set (none where there is no row), `environment` the one whose transformers loads the tokenizer, by the class
    `loader` where one is named; `given` stands for it where a Python program brought it. `trainers` are the packages
    whose trainers the user enabled."""

    options: OpenOptions
    recipe: Recipe
    detected: Detection
    first: tuple[Row, ...]
    split: Split
    environment: Environment | None
    loader: str
    given: TokenizerState | None = None
    trainers: tuple[str, ...] = ()

    def open(self, source: Source | None = None, sample: tuple[Row, ...] = ()) -> Ready:
        """The same session over some rows of the data, by default over none; TokenizerError, TemplateError."""
        if self.trainers:  # another machine has settings of its own
            enable(self.trainers)
        tokenizer = self._tokenizer() if self.given is None else self.given.load()
        stored = StoredData(self.options, source or HandedSource(), sample or self.first, self.detected)
        opened = OpenData(stored, self.recipe, (), stored.sample, self.detected)
        ready = with_tokenizer(opened, tokenizer).ready()
        ready.known.split = self.split
        return ready

    def _tokenizer(self) -> LoadedTokenizer:
        named = self.recipe.tokenizer
        return load_tokenizer(
            named.name or "", revision=named.revision, environment=self.environment, loader=self.loader
        )


class InheritedSession:
    """A session in a process that goes on from this one: nothing is sent, nothing loaded again. `share` are the rows
    that it will have, where that is known."""

    def __init__(self, session: Ready, share: int | None) -> None:
        settle_split(session)
        self._session, self._share = session, share

    def open(self) -> Ready:
        self._session.bulk.expected = lambda: self._share
        return self._session


def sent(session: Ready) -> SessionParcel:
    """A session to be opened in another process; which rows evaluate is found out before, where it can be."""
    loaded = session.tokenizer
    return SessionParcel(
        session.options,
        session.recipe,
        session.detected,
        session.sample[:1],
        replace(settle_split(session), training=None, evaluating=None),
        wanted_version(session.recipe, session.options).environment,
        loaded_by(session.recipe, loaded.facts),
        loaded.carried if isinstance(loaded, GivenTokenizer) else None,
        enabled(),
    )


class HandedSource(CountedSource):
    """No rows of its own: whoever has the data hands them over."""

    title, loading, _count = "", UNKNOWN, 0

    def _read(self, index: int, where: str) -> Row:
        raise IndexError(index)
