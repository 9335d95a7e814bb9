"""A finding in one place: what it is called, how bad it is, what it means and what repairs it, with two examples.

Rules stand next to the checks that report by them, in the files of `rules/`; `catalogue` finds them there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from sftui.findings.consequences import Consequence
from sftui.findings.model import GRADES, Severity
from sftui.trainers import TRAINERS, fixes_of, traits_of

BY_HAND = next(name for name in TRAINERS if traits_of(name).by_hand)
"""The one that stands for every loop written by hand."""
NAMED = (*(name for name in TRAINERS if not traits_of(name).by_hand), BY_HAND)
"""The trainers whose keys a rule names, as they are listed; what others say of themselves is in `Traits.fixes`."""
TO_MESSAGES = "to-messages"
"""In `Rule.repair`: the rows become messages, as `sftui convert` makes them."""
DROP = "drop"
"""In `Rule.repair`: leave the rows out that have the finding, `--drop CODE`."""


@dataclass(frozen=True, slots=True)
class Case:
    """Rows, a tokenizer and a recipe that raise a finding, or do not: a description, which the tests carry out.

    `template` is a source, the name of a built-in one, or "" for none; `changes` are knobs by their dotted path.
    `facts` replaces facts of the tokenizer; `edit` names a change of each inspection (`EDITS` in the tests'
    case_runner), for what no bundled tokenizer does. `damage` are damaged files: title, rows read and why.
    `second`: the rows of another JSON file, which the trainer's loader reads after one with these. `looked_at`: the
    rows are lines of a JSON file, of which so many tell how it is read. `serve`: what the model will be served with, as
    the model of that generation_config. `cells` are those of the rows of a CSV file that are not read as they stand.
    """

    rows: Sequence[Any]
    tokenizer: str = "chatml"
    preset: str = BY_HAND
    template: str | None = None
    changes: Mapping[str, Any] = field(default_factory=dict)
    generation_config: Mapping[str, Any] | None = None
    model_config: Mapping[str, Any] | None = None
    evaluation: Sequence[Any] = ()
    damage: Sequence[tuple[str, int, str]] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    edit: str = ""
    looked_at: int | None = None
    second: Sequence[Any] = ()
    serve: str | None = None
    cells: Sequence[tuple[str, str]] = ()


GOOD = {
    "messages": [
        {"role": "user", "content": "What is the capital of France?"},
        {"role": "assistant", "content": "Paris is the capital of France."},
    ]
}
FINE = Case([GOOD])
"""What raises nothing: the good example of most rules."""


@dataclass(frozen=True, eq=False)
class Rule:
    """All that is said of one code.

    `grade` is one of `GRADES`; `fatal`, `loud` and so on make rules of theirs. `scope` is `row`, `setup` or `dataset`,
    where the checks that name the rule do not tell it (see `catalogue.SCOPE_OF`). `data` is what to do to the data,
    which holds for every trainer whose `fixes.json` does not name a key of its own against it, or nothing. `repair` are
    what `sftui repair` can do to the data against it, by the names that it takes, the gentlest first; a gentler one may
    have nothing to do in a row, e.g. no text can be put in place of an answer that is null. `tags`: some of its
    findings are repaired by generation tags in the chat template. `share`: which part of the rows has it is reported
    with its count. `moves` names where a fix of the recipe or the template may move labels, as the tests'
    `fix_proof.place_of` draws it. `aliases` are codes of the project's reference that are reported under this one.
    `leads_to`: what its errors and warnings mean for what the model learns, of rules of rows and of the set-up. `bad`
    raises it and `good` does not; `more` raise it where another fix is offered, or where a repair has something to do.
    """

    grade: str
    code: str
    name: str
    title: str
    explanation: str
    scope: str = ""
    data: str = ""
    repair: tuple[str, ...] = ()
    tags: bool = False
    share: bool = False
    moves: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    leads_to: Consequence | None = None
    bad: Case = field(kw_only=True)
    good: Case = FINE
    more: tuple[Case, ...] = ()

    @property
    def severity(self) -> Severity:
        return GRADES[self.grade].severity

    @cached_property
    def fixes(self) -> Mapping[str, str]:
        """The exact key or step for each trainer; one that is not in it has nothing to be reported."""
        return {one: text for one in NAMED if (text := self.fix_text(one))}

    def fix_text(self, trainer: str) -> str:
        """What to do against it under a trainer; hand-written loops all do the same. "" where there is nothing that
        this trainer could be given: what another one reads would lead nowhere."""
        name = BY_HAND if traits_of(trainer).by_hand else trainer
        return fixes_of(name).get(self.code, self.data)


fatal, major = partial(Rule, "FATAL"), partial(Rule, "MAJOR")
minor, info = partial(Rule, "MINOR"), partial(Rule, "INFO")
loud = partial(Rule, "LOUD", leads_to=Consequence.STOPS)
"""It makes a rule of what stops the trainer, where it does not say otherwise."""
