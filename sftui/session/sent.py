"""An open session on its way to another process, or another machine: there it inspects the rows that it is handed, as
here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sftui.session.opened import Opened, Stored
from sftui.session.options import OpenOptions
from sftui.session.ready import Ready, with_tokenizer
from sftui.session.splitting import Split
from sftui.sources import Count, Source

if TYPE_CHECKING:
    from sftui.conversations import Detected
    from sftui.model import Row
    from sftui.recipe import Recipe
    from sftui.tokens.environments import Environment


@dataclass(frozen=True, slots=True)
class Sent:
    """What another process needs to be as ready as this one; `first` is the row from which the trainer decides for the
    whole set (none where there is no row), `environment` the one whose transformers loads the tokenizer, by the class
    `loader` where one is named."""

    options: OpenOptions
    recipe: Recipe
    detected: Detected
    first: tuple[Row, ...]
    split: Split
    environment: Environment | None
    loader: str

    def open(self) -> Ready:
        """The same session, without the data; TokenizerError, TemplateError."""
        from sftui.tokens import load_tokenizer

        named = self.recipe.tokenizer
        tokenizer = load_tokenizer(
            named.name or "",
            revision=named.revision,
            cache_dir=self.options.cache_dir,
            environment=self.environment,
            loader=self.loader,
        )
        stored = Stored(self.options, Handed(), self.first, self.detected)
        opened = Opened(stored, self.recipe, (), stored.source, self.first, self.detected)
        ready = with_tokenizer(opened, tokenizer).ready()
        ready.known.split = self.split
        return ready


def sent(session: Ready) -> Sent:
    """A session to be opened in another process; which rows evaluate is found out before, where it can be."""
    from sftui.session.versions import loaded_by, wanted_version

    return Sent(
        session.options,
        session.recipe,
        session.detected,
        session.sample[:1],
        Split(evaluation=session.settle_split().evaluation),
        wanted_version(session.recipe, session.options).environment,
        loaded_by(session.recipe, session.tokenizer.facts),
    )


class Handed(Source):
    """No rows of its own: whoever has the data hands them over."""

    title = kind = ""

    def row(self, index: int) -> Row:
        raise IndexError(index)

    def count(self) -> Count:
        return Count(0, True, 1.0)

    def close(self) -> None:
        """There is nothing to give back."""
