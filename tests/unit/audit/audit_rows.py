"""Rows under a recipe, ready for an audit."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from sftui import pipeline, trainers
from sftui.audit.audit import Audit
from sftui.audit.found import Filter
from sftui.audit.processes import run_audit
from sftui.audit.tallies import Listing
from sftui.findings import Context
from sftui.model import Inspection, Row
from sftui.recipe import changed
from sftui.tokens import LoadedTokenizer, load_tokenizer


@cache
def tokenizer(name: str = "builtin:chatml") -> LoadedTokenizer:
    return load_tokenizer(name)


class Opened:
    """Rows with everything that inspects them; `inspect` counts how often it was asked."""

    def __init__(
        self, rows: Sequence[Row], preset: str = "hf-trainer", changes: Mapping[str, Any] | None = None
    ) -> None:
        recipe = changed(trainers.preset(preset), "tokenizer.name", "builtin:chatml")
        for path, value in (changes or {}).items():
            recipe = changed(recipe, path, value)
        self.rows = list(rows)
        self.recipe = recipe
        self.detected = pipeline.detect(self.rows[:32], recipe)
        tools = pipeline.make_toolbox(recipe, tokenizer())
        self.tools = pipeline.survey(self.rows[0] if self.rows else None, self.detected, recipe, tools)
        self.asked = 0

    @property
    def context(self) -> Context:
        return Context.of(self.recipe, self.detected, self.tools)

    def inspect(self, row: Row) -> Inspection:
        self.asked += 1
        return pipeline.inspect(row, self.detected, self.recipe, self.tools, text=True)

    def inspect_many(self, rows: Iterable[Row]) -> Iterator[Inspection]:
        return map(self.inspect, rows)

    def audit(
        self, rows: Sequence[Row] | None = None, wanted: Filter | None = None, listing: Listing | None = None
    ) -> Audit:
        context = self.context
        audit = Audit(context, wanted, listing=listing)
        for _ in run_audit(audit, self.rows if rows is None else rows, self.inspect_many, context, head=self.rows):
            pass
        return audit


def rows_of(file: Path) -> list[Row]:
    """The rows of a JSON or JSONL file, as sources give them."""
    from sftui.sources import SourceSpec, open_source

    source = open_source(SourceSpec((str(file),)))
    try:
        return list(source.rows())
    finally:
        source.close()


def chat(index: int, *turns: tuple[str, Any], where: str = "data.jsonl", **more: Any) -> Row:
    data = {"messages": [{"role": role, "content": text} for role, text in turns], **more}
    raw = json.dumps(data)
    return Row(index, data, raw, f"{where} line {index + 1}", len(raw))


def talk(index: int, words: int = 8, where: str = "data.jsonl") -> Row:
    return chat(
        index,
        ("user", f"What is {index} plus one?"),
        ("assistant", f"It is {index + 1}." + " So it is." * words),
        where=where,
    )


def pair(index: int) -> Row:
    asked, *answers = (
        [{"role": role, "content": f"{text} {index}"}]
        for role, text in (("user", "What?"), ("assistant", "This is"), ("assistant", "No"))
    )
    data = {"prompt": asked, "chosen": answers[0], "rejected": answers[1]}
    return Row(index, data, json.dumps(data), f"data.jsonl line {index + 1}")
