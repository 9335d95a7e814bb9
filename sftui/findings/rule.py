"""A finding in one place: what it is called, how bad it is, what it means and what repairs it, with two
examples, and what examples are made of.

Rules stand next to the checks that report by them, in the files of `rules/`; `catalogue` finds them there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from sftui.findings.model import GRADES, Consequence, Severity
from sftui.trainers import TRAINERS, traits_of
from sftui.trainers.declared import fixes_of

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
    `near`: rows that share such a part are looked for.
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
    near: float | None = None


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
    """All that is said of one code, which is the name that a file of `rules/` gives it (see `catalogue.listed`).

    `grade` is one of `GRADES`; `fatal`, `loud` and so on make rules of theirs. `scope` is `row`, `setup` or `dataset`,
    where the checks that name the rule do not tell it (see `catalogue.SCOPE_OF`). `data` is what to do to the data,
    which holds for every trainer whose `fixes.json` does not name a key of its own against it, or nothing. `repair` are
    what `sftui repair` can do to the data against it, by the names that it takes, the gentlest first; a gentler one may
    have nothing to do in a row, e.g. no text can be put in place of an answer that is null. `tags`: some of its
    findings are repaired by generation tags in the chat template. `share`: which part of the rows has it is reported
    with its count. `moves` names where a fix of the recipe or the template may move labels, as the tests'
    `fix_proof.place_of` draws it. `aliases` are codes of the project's reference that are reported under this one.
    `inherent`: it is in what the data says, and no setting helps, so that none is tried.
    `pairs` is what to do under every trainer that prepares preferences, where that is something else.
    `leads_to`: what its errors and warnings mean for what the model learns, of rules of rows and of the set-up. `bad`
    raises it and `good` does not; `more` raise it where another fix is offered, or where a repair has something to do.
    """

    grade: str
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
    inherent: bool = False
    pairs: str = ""
    leads_to: Consequence | None = None
    bad: Case = field(kw_only=True)
    good: Case = FINE
    more: tuple[Case, ...] = ()
    code: str = field(init=False)

    @property
    def severity(self) -> Severity:
        return GRADES[self.grade].severity

    @cached_property
    def fixes(self) -> Mapping[str, str]:
        """The exact key or step for each trainer; one that is not in it has nothing to be reported."""
        return {one: text for one in NAMED if (text := self.fix_text(one))}

    def fix_text(self, trainer: str, prefers: bool = False) -> str:
        """What to do against it under a trainer; hand-written loops all do the same. "" where there is nothing that
        this trainer could be given: what another one reads would lead nowhere."""
        if prefers and self.pairs:
            return self.pairs
        name = BY_HAND if traits_of(trainer).by_hand else trainer
        return fixes_of(name).get(self.code, self.data)


fatal, major = partial(Rule, "FATAL"), partial(Rule, "MAJOR")
minor, info = partial(Rule, "MINOR"), partial(Rule, "INFO")
loud = partial(Rule, "LOUD", leads_to=Consequence.STOPS)
"""It makes a rule of what stops the trainer, where it does not say otherwise."""


def case(*data: Any, **more: Any) -> Case:
    """Rows with what is not as usual of a Case."""
    return Case(list(data), **more)


def stored_case(row: dict[str, Any], **more: Any) -> Case:
    """A row that brings its ids and labels, which are taken as they are."""
    return Case(
        [row], changes={"data.given_labels": "unshifted", "mask.rule": "given", **more.pop("changes", {})}, **more
    )


def chat(*turns: Any, **columns: Any) -> dict[str, Any]:
    """A row of messages: texts alternate user and assistant, pairs and mappings say their own role."""
    messages = []
    for number, turn in enumerate(turns):
        if isinstance(turn, str):
            messages.append({"role": ("user", "assistant")[number % 2], "content": turn})
        elif isinstance(turn, tuple):
            messages.append({"role": turn[0], "content": turn[1]})
        else:
            messages.append(dict(turn))
    return {"messages": messages, **columns}


def chatml(answer: str = "{{ m.content }}<|im_end|>", prompt: str = "", before: str = "") -> str:
    """ChatML with something else for the answer, behind the generation prompt or before everything."""
    return (
        before
        + "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' }}{% if m.role == 'assistant' %}"
        + answer
        + "{% else %}{{ m.content }}<|im_end|>{% endif %}{{ '\n' }}{% endfor %}{% if add_generation_prompt %}{{"
        " '<|im_start|>assistant\n' }}" + prompt + "{% endif %}"
    )


def tagged(end: str = "<|im_end|>", inside: bool = True, lead: str = "") -> str:
    """ChatML with generation tags around the answer, its turn end inside them or not."""
    tail = "{{ '" + end + "' }}"
    return (
        "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' }}{% if m.role == 'assistant' %}{% generation %}"
        + lead
        + "{{ m.content }}"
        + (tail + "{% endgeneration %}" if inside else "{% endgeneration %}" + tail)
        + "{% else %}{{ m.content }}"
        + tail
        + "{% endif %}{{ '\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
    )


SHAREGPT = {"conversations": [{"from": "human", "value": "hi"}, {"from": "gpt", "value": "Hello."}]}
TEXT = {"text": "Paris is the capital of France."}
SYSTEM = chat(("system", "Be kind."), ("user", "hi"), ("assistant", "Hello."))
ROUNDS_OF = ("hi", "Hello.", "Bye.", "Bye!")
ROUNDS = chat(*ROUNDS_OF)
LONG = chat("Say it. " * 30, "It is said. " * 30)
IDS = [*range(300, 339), 3002]
"""39 plain tokens of the bundled ChatML tokenizer and its EOS."""
STORED = {"input_ids": IDS, "labels": [-100] * 4 + IDS[4:]}
SAMPLED = [
    *(3001, 1500, 198, 361, 273, 259, 1449, 343, 1089, 30, 3002, 198, 3001, 1492, 198),
    *(47, 64, 81, 72, 82, 273, 259, 1449, 343, 1089, 13, 3002, 198),
]
"""GOOD as the bundled ChatML tokenizer writes it; its answer begins with `P`, `a`, `r`, `i`, `s` instead of `Paris`."""
CALL: dict[str, Any] = {
    "role": "assistant",
    "content": "",
    "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'}}
    ],
}
CALLING = chatml(
    "{% for c in m.tool_calls %}{{ {'name': c.function.name, 'arguments': c.function.arguments} | tojson }}{% endfor"
    " %}{{ m.content }}<|im_end|>",
    before="{% if tools %}{{ tools | tojson }}{% endif %}",
)
TOOL = {"type": "function", "function": {"name": "get_weather", "description": "The weather.", "parameters": {}}}
TAGS = {"mask.rule": "generation_tag"}
