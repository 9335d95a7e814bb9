"""Every finding of severity error on the clean real datasets is listed, with why it is real, in real_errors.md."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest
from case_runner import tokenizer_of

from sftui import pipeline, trainers
from sftui.errors import SftuiError
from sftui.findings import Context, Severity, check_row, check_setup
from sftui.sources import SourceSpec, open_source
from sftui.tokens import LoadedTokenizer, load_tokenizer

ROWS = 12
TOKENIZERS = ("builtin:chatml", "builtin:gemma", "builtin:llama3", "qwen2.5", "phi-3-mini")
RECIPES = ("hf-trainer", "trl@1.16", "axolotl@0.19", "llamafactory@0.9")
_LINE = re.compile(r"\| (\S+) \| ([^|]+) \| ([^|]+) \| (\w+) \| ([^|]+) \| ([^|]+) \|")


def loaded(name: str, shared: Path) -> LoadedTokenizer:
    if name.startswith("builtin:"):
        return tokenizer_of(name.removeprefix("builtin:"))
    return load_tokenizer(str(shared / "testdata" / "tokenizers" / name), mode="provisional")


def errors(shared: Path) -> dict[tuple[str, str, str, str], list[int]]:
    """Dataset, recipe, tokenizer and code → the rows among the first `ROWS` (−1: the set-up)."""
    found: dict[tuple[str, str, str, str], list[int]] = defaultdict(list)
    for name in TOKENIZERS:
        tokenizer = loaded(name, shared)
        for preset in RECIPES:
            recipe = trainers.preset(preset)
            tools = pipeline.make_toolbox(recipe, tokenizer)
            for file in sorted((shared / "testdata" / "datasets").iterdir()):
                if file.name.startswith("derived"):
                    continue
                source = open_source(SourceSpec((str(file),)))
                rows = [row for _, row in zip(range(ROWS), source.rows())]
                source.close()
                detected = pipeline.detect(rows, recipe)
                if detected.refused is not None:
                    continue
                try:
                    surveyed = pipeline.survey(rows[0], detected, recipe, tools)
                except SftuiError:
                    continue  # the trainer refuses this template as a whole
                context = Context(recipe, tokenizer.facts, surveyed.templates.get("default"), detected, surveyed)
                inspections = [pipeline.inspect(row, detected, recipe, surveyed) for row in rows]
                some = [finding for one in inspections for finding in check_row(one, context)]
                for finding in (*some, *check_setup(context, inspections)):
                    if finding.severity is Severity.ERROR:
                        place = -1 if finding.row is None else finding.row
                        key = (file.name, preset, name, finding.code)
                        if place not in found[key]:
                            found[key].append(place)
    return dict(found)


@pytest.mark.shared
def test_errors_on_clean_sets_are_the_listed_ones(shared: Path) -> None:
    listed: set[tuple[str, str, str, str, str]] = set()
    for line in Path(__file__).with_name("real_errors.md").read_text(encoding="utf-8").splitlines():
        match = _LINE.fullmatch(line.strip())
        if match and match.group(4) != "code":
            dataset, recipes, tokenizers, code, rows, _ = (part.strip() for part in match.groups())
            listed |= {(dataset, recipe, tokenizer, code, rows) for recipe in recipes.split(", ") for tokenizer in tokenizers.split(", ")}
    seen = {(*key, told(rows)) for key, rows in errors(shared).items()}
    assert seen == listed, {"not listed": sorted(seen - listed), "not found": sorted(listed - seen)}


def told(rows: list[int]) -> str:
    """The rows as the table writes them: `set-up`, a few by number, many by count."""
    if rows == [-1]:
        return "set-up"
    return ", ".join(map(str, rows)) if len(rows) <= 4 else f"{len(rows)} rows"
