"""A pass of the audit over real datasets, and the list of its errors in real_errors.md.

The list has a section for each code and recipe: why the errors are real, by hand, and under it, written by the
pass, each dataset with how many of its rows have the error, for the tokenizers that agree in all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from trainers import having, module_of

from sftui import trainers
from sftui.audit.audit import Audit
from sftui.audit.found import FindingCounts
from sftui.audit.processes import run_audit
from sftui.findings import Context, Severity
from sftui.recipe import changed
from sftui.session.options import OpenOptions
from sftui.session.ready import Ready, open_data, with_tokenizer
from sftui.tokens import LoadedTokenizer, load_tokenizer

TOKENIZERS = (
    "builtin:chatml",
    "builtin:gemma",
    "builtin:llama3",
    "qwen2.5",
    "phi-3-mini",
    "minimind",
    "llama-3-8b-instruct",
    "bert-base-cased",
    "t5-small",
)
RECIPES = ("hf-trainer", *filter(None, (module_of(trainer, "facts").FACTS.audited for trainer in having("facts"))))
TEMPLATES = {
    **{"builtin:chatml": "chatml", "builtin:gemma": "gemma", "builtin:llama3": "llama3", "qwen2.5": "qwen2_5"},
    **{"phi-3-mini": "phi3", "minimind": "minimind", "llama-3-8b-instruct": "llama3", "bert-base-cased": "default"},
    "t5-small": "default",
}
"""Of a trainer that goes by the name of the model: the template that its own would have."""
LIST = Path(__file__).with_name("real_errors.md")
REFUSED = "refused"
SET_UP = "set-up"

Section = tuple[str, str]
"""A code, or `refused` where the set is not read at all, and a recipe."""
Cells = dict[Section, dict[str, str]]
"""Of one tokenizer: the section → the dataset → `3 of 50`, `set-up`, or `refused`."""


def clean_sets(shared: Path) -> list[Path]:
    return [
        file for file in sorted((shared / "testdata" / "datasets").iterdir()) if not file.name.startswith("derived")
    ]


@cache
def loaded(name: str, shared: Path) -> LoadedTokenizer:
    return load_tokenizer(place(name, shared), mode="provisional")


def place(name: str, shared: Path) -> str:
    return name if name.startswith("builtin:") else str(shared / "testdata" / "tokenizers" / name)


def errors(name: str, preset: str, files: Iterable[Path], shared: Path) -> Cells:
    """Every error of the audit over all rows of the files, as `sftui check` runs it in one process."""
    found: Cells = {}
    recipe = changed(trainers.preset(preset), "tokenizer.name", place(name, shared))
    if preset.startswith("ms-swift"):
        recipe = changed(recipe, "render.template", f"ms-swift/{TEMPLATES[name]}")
    for file in files:
        session = open_data(OpenOptions((str(file),), recipe=recipe))
        if session.refused is None:
            session = with_tokenizer(session, loaded(name, shared))
        if not isinstance(session, Ready):
            found.setdefault((REFUSED, preset), {})[file.name] = REFUSED
            session.close()
            continue
        context = Context.of(recipe, session.detected, session.tools)
        audit = Audit(context)
        audit.found = FindingCounts(kept=1 << 40)
        for _ in run_audit(audit, session.rows(), session.inspect_many, context, head=session.rows()):
            pass
        session.close()
        for one in audit.found.codes.values():
            rows = {kept.finding.row for kept in one.kept if kept.finding.severity is Severity.ERROR}
            if rows:
                found.setdefault((one.code, preset), {})[file.name] = (
                    SET_UP if None in rows else f"{len(rows)} of {audit.rows}"
                )
    return found


class Listed:
    """The list as it is read and written: reasons and cells by section."""

    def __init__(self, head: str, reasons: dict[Section, str], cells: dict[Section, dict[str, dict[str, str]]]) -> None:
        self.head, self.reasons, self.cells = head, reasons, cells

    @classmethod
    def read(cls) -> Listed:
        head, *sections = re.split(r"^### ", LIST.read_text(encoding="utf-8"), flags=re.MULTILINE)
        reasons: dict[Section, str] = {}
        cells: dict[Section, dict[str, dict[str, str]]] = {}
        for text in sections:
            title, *lines = text.strip().splitlines()
            code, _, preset = title.partition(" · ")
            reasons[code, preset] = "\n".join(line for line in lines if not line.startswith("- ")).strip()
            at = cells.setdefault((code, preset), {})
            for line in lines:
                if line.startswith("- "):
                    names, _, sets = line[2:].partition(" — ")
                    for name in names.split(", "):
                        at[name] = (
                            dict(one.rsplit(": ", 1) for one in sets.split("; "))
                            if ": " in sets
                            else dict.fromkeys(sets.split("; "), REFUSED)
                        )
        return cls(head, reasons, cells)

    def of(self, name: str, presets: Iterable[str], files: Iterable[str]) -> Cells:
        """What is listed for a tokenizer under the presets, of these datasets only."""
        presets, files = set(presets), set(files)
        found: Cells = {}
        for (code, preset), by_name in self.cells.items():
            some = {file: told for file, told in by_name.get(name, {}).items() if file in files}
            if preset in presets and some:
                found[code, preset] = some
        return found

    def put(self, name: str, presets: Iterable[str], cells: Cells) -> None:
        """Take in what a whole pass found for a tokenizer under the presets."""
        for (_, preset), by_name in self.cells.items():
            if preset in presets:
                by_name.pop(name, None)
        for section, sets in cells.items():
            self.cells.setdefault(section, {})[name] = sets

    def text(self) -> str:
        return self.head + "".join(self._sections()).rstrip("\n") + "\n"

    def _sections(self) -> Iterator[str]:
        for section in sorted(
            (one for one, by_name in self.cells.items() if by_name), key=lambda one: (one[0] == REFUSED, one)
        ):
            yield f"### {section[0]} · {section[1]}\n\n{self.reasons.get(section) or 'WHY?'}\n\n"
            alike: dict[str, list[str]] = {}
            by_name = self.cells[section]
            for name in sorted(by_name, key=TOKENIZERS.index):
                alike.setdefault(_sets(by_name[name]), []).append(name)
            yield "".join(f"- {', '.join(names)} — {sets}\n" for sets, names in alike.items()) + "\n"


def _sets(sets: Mapping[str, str]) -> str:
    return "; ".join(file if told == REFUSED else f"{file}: {told}" for file, told in sorted(sets.items()))
