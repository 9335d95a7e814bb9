"""The frozen types of a finding: what is wrong, where exactly, how bad, and what repairs it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from sftui.model import RecipeChange
from sftui.values import value_class

GENERATION_TAGS = "generation_tags"
"""`Fix.template`: the chat template needs `{% generation %}` tags around what the assistant says."""


class Severity(str, Enum):
    """How bad a finding is: training is wrong, training is worse, or worth knowing."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    __hash__ = str.__hash__  # an enum's own is called in Python, for every finding

    @property
    def rank(self) -> int:
        """0 for an error, 2 for an information; sorts the worst first."""
        return ("error", "warning", "info").index(self)


@dataclass(frozen=True, slots=True)
class Grade:
    """What the catalogue says of a code, and the severity that follows from it."""

    name: str
    severity: Severity
    reason: str


GRADES: Mapping[str, Grade] = {
    "FATAL": Grade("FATAL", Severity.ERROR, "the row or the run silently teaches the wrong thing or nothing"),
    "LOUD": Grade("LOUD", Severity.ERROR, "the trainer stops here or loses the row"),
    "MAJOR": Grade("MAJOR", Severity.WARNING, "training runs but quality silently suffers"),
    "MINOR": Grade("MINOR", Severity.INFO, "a small or harmless loss, often intended"),
    "INFO": Grade("INFO", Severity.INFO, "good to know; nothing is wrong"),
}


@dataclass(frozen=True, slots=True)
class Fix:
    """What repairs a finding.

    `changes` are applied to the recipe. `template` names a template surgery (`generation_tags`), or is None;
    `repairs` are those of the data without which it would not help, by the names that `sftui repair` takes.
    `trainer_keys` gives, for each trainer, the key to set in words that can be pasted.
    """

    title: str
    changes: tuple[RecipeChange, ...] = ()
    template: str | None = None
    repairs: tuple[str, ...] = ()
    trainer_keys: Mapping[str, str] = field(default_factory=dict)

    @property
    def in_words(self) -> bool:
        """Whether it only says what to do, so that it can be neither tried nor put in force."""
        return not (self.changes or self.template or self.repairs)


@value_class
class Finding:
    """One thing that is wrong at one place.

    `row` is None for what concerns the set-up or the dataset; `rows` then names some rows that show it and
    `count` how many there are. `tokens` is a half-open token range of the row, `span` a character range of its
    rendered text. `sentence` and `evidence` are safe to draw. `repairs` are those that were tried and help (None: none
    was tried yet), `declined` says of the cures that are not offered why they do not. `side` is the side of a
    preference that it is of, and its places, too ("": both, or a row without sides; places are of the chosen one).
    """

    code: str
    severity: Severity
    sentence: str
    row: int | None = None
    message: int | None = None
    tokens: tuple[int, int] | None = None
    span: tuple[int, int] | None = None
    evidence: str = ""
    fix: Fix | None = None
    rows: tuple[int, ...] = ()
    count: int = 1
    signature: str = ""
    repairs: tuple[str, ...] | None = None
    declined: tuple[str, ...] = ()
    side: str = ""


class Consequence(Enum):
    """What becomes of the rows that have a finding, the worst first.

    `sentence` goes with a count of rows, as in "no answer reaches the model in 300 of 300 rows"; `short` is of one row.
    """

    STOPS = ("stops", "the trainer cannot use", "the trainer cannot use it")
    UNREAD = ("unread", "no answer reaches the model in", "no answer reaches the model")
    UNTRAINED = ("untrained", "no answer is trained in", "no answer is trained")
    MISALIGNED = ("misaligned", "the labels belong to different tokens in", "labels of other tokens")
    GARBLED = ("garbled", "the model sees different text from your data in", "text differs from your data")
    LOST = ("lost", "part of your data never reaches the model in", "part of the data is lost")
    UNSERVED = ("unserved", "serving renders text differently from training in", "serving differs from training")
    UNSTOPPED = ("unstopped", "the model won't learn to stop in", "no stop learned")
    DROPPED = ("dropped", "the trainer drops", "dropped")
    QUESTIONS = ("questions", "prompts are also trained in", "prompts are trained too")

    def __init__(self, label: str, sentence: str, short: str) -> None:
        self.label = label
        self.sentence = sentence
        self.short = short

    @property
    def lost(self) -> bool:
        """Whether the model then learns no answer of a row."""
        return self.name in ("STOPS", "UNREAD", "UNTRAINED", "DROPPED")

    @property
    def rank(self) -> int:
        """0 for the worst."""
        return tuple(Consequence).index(self)


LOST = tuple(consequence.short for consequence in Consequence if consequence.lost)
