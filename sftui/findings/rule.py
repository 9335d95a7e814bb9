"""A finding in one place: what it is called, how bad it is, what it means and what repairs it, with two examples.

Rules stand beside the checks that report by them, in the files of `rules/`; `catalogue` finds them there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Case:
    """Rows, a tokenizer and a recipe that raise a finding, or do not: a description, which the tests carry out.

    `template` is a source, the name of a built-in one, or "" for none; `changes` are knobs by their dotted path.
    `facts` replaces facts of the tokenizer; `edit` names a change of each inspection (`EDITS` in the tests'
    case_runner), for what no bundled tokenizer does. `damage` are damaged files: title, rows read and why.
    `looked_at`: the rows are lines of a JSON file, of which so many tell how it is read.
    """

    rows: Sequence[Any]
    tokenizer: str = "chatml"
    preset: str = "hf-trainer"
    template: str | None = None
    changes: Mapping[str, Any] = field(default_factory=dict)
    generation_config: Mapping[str, Any] | None = None
    model_config: Mapping[str, Any] | None = None
    evaluation: Sequence[Any] = ()
    damage: Sequence[tuple[str, int, str]] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    edit: str = ""
    looked_at: int | None = None
