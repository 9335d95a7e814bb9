"""The one error that sftui raises on purpose: what, where, why, and what to do."""

from __future__ import annotations

import re

_USER = re.compile(r"(?<=://)[^/\s'\"@]*@")
_QUERY = re.compile(r"(?<=://)([^\s?'\"]+)\?[^\s'\"]+")
_UNKNOWN = re.compile(r"\bsftui (?:does not|cannot|packs no|runs no|knows\b)|\bnot known\b")
"""The words with which an error says that it is sftui that goes no further, and not the trainer."""


class SftuiError(Exception):
    """A problem the user can act on, reported in one sentence.

    `what` went wrong, `where` (file, row, line), `why`, and `fix`: what to do about it. Each is a
    clause without a final full stop; empty ones are left out of the sentence.
    """

    def __init__(self, what: str, *, where: str = "", why: str = "", fix: str = "") -> None:
        self.what = what
        self.where = where
        self.why = why
        self.fix = fix
        super().__init__(what)

    @property
    def unknown(self) -> bool:
        """Whether it says that sftui does not know: what the trainer does is then not known, least of all that it
        stops."""
        return _UNKNOWN.search(f"{self.what}, {self.why}") is not None

    def __str__(self) -> str:
        head = f"{self.where}: {self.what}" if self.where else self.what
        if self.why:
            head = f"{head}, because {self.why}"
        return without_secrets(f"{head}; {self.fix}" if self.fix else head)

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.what, self.where, self.why, self.fix))


class SourceError(SftuiError):
    """The data cannot be opened or read."""


class ConversationError(SftuiError):
    """A row cannot be turned into a conversation, or the dataset is not an SFT set."""


class TemplateError(SftuiError):
    """A chat template is missing, cannot be parsed, raised, or went over its limits."""


class TokenizerError(SftuiError):
    """A tokenizer cannot be loaded, or cannot do what the recipe asks."""


class RecipeError(SftuiError):
    """A recipe or a trainer config says something that sftui cannot honour."""


class ExportError(SftuiError):
    """Something cannot be written where the user asked."""


def _rebuild(kind: type[SftuiError], what: str, where: str, why: str, fix: str) -> SftuiError:
    return kind(what, where=where, why=why, fix=fix)


def without_secrets(text: str) -> str:
    """A text whose URLs say neither user and password nor their query, which signs those of stores."""
    return _QUERY.sub(r"\1?…", _USER.sub("", text)) if "://" in text else text
