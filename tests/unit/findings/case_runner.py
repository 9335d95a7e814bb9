"""A findings case: a recipe, a tokenizer and hand-written rows, and everything that is found in them."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sftui import pipeline, trainers
from sftui.findings import (
    Context,
    DatasetChecks,
    Finding,
    check_dataset,
    check_row,
    check_setup,
    damaged_files,
    refused_files,
)
from sftui.findings.hashes import Hashes
from sftui.findings.look import RowLook
from sftui.findings.near import near_copies, runs_of
from sftui.findings.rule import Case
from sftui.findings.rules.near import near_finding
from sftui.model import IGNORE_INDEX, Inspection, Row
from sftui.recipe import Recipe, changed
from sftui.runs import labelled
from sftui.serving import load_served, stops_of
from sftui.sources import Damage, DataFile
from sftui.templates import builtin_template, compile_template
from sftui.tokens import LoadedTokenizer, load_tokenizer
from sftui.tokens.builtin import folder
from sftui.trainers.loading import load
from sftui.trainers.reading import brought
from sftui.trainers.versions import rendering_by


@dataclass(frozen=True)
class Outcome:
    findings: tuple[Finding, ...]
    inspections: tuple[Inspection, ...]
    context: Context

    @property
    def codes(self) -> set[str]:
        return {finding.code for finding in self.findings}

    def of(self, code: str) -> list[Finding]:
        return [finding for finding in self.findings if finding.code == code]


def offsets_lost(inspection: Inspection) -> Inspection:
    assert inspection.tokens is not None
    n = len(inspection.tokens)
    return replace(inspection, tokens=replace(inspection.tokens, starts=(0,) * n, ends=(0,) * n))


def without_spaces(inspection: Inspection) -> Inspection:
    """Labels as transformers makes them by a tokenizer without tokens for spaces: a span that begins with one is lost,
    with all later ones."""
    assert inspection.rendered is not None
    rendered = inspection.rendered
    return masked(inspection) if any(rendered.text[start].isspace() for start, _ in rendered.generation) else inspection


def to_the_end(inspection: Inspection) -> Inspection:
    """Labels as transformers makes them where a span ends in a space that has no token: everything behind is
    trained."""
    assert inspection.rendered is not None and inspection.tokens is not None and inspection.labels is not None
    text, tokens, labels = inspection.rendered.text, inspection.tokens, inspection.labels
    begins = next((start for start, end in inspection.rendered.generation if text[end - 1].isspace()), None)
    if begins is None:
        return inspection
    made = tuple(
        one if start >= begins else label for one, start, label in zip(tokens.input_ids, tokens.starts, labels.labels)
    )
    return replace(inspection, labels=replace(labels, values=made, ranges=labelled(made)))


def masked(inspection: Inspection) -> Inspection:
    assert inspection.labels is not None and inspection.example is not None
    n = len(inspection.labels.labels)
    labels = (IGNORE_INDEX,) * n
    return replace(
        inspection,
        labels=replace(inspection.labels, ranges=()),
        example=replace(inspection.example, labels=labels[: len(inspection.example.labels)]),
    )


def backwards(inspection: Inspection) -> Inspection:
    """Each second pair of tokens in the wrong order."""
    assert inspection.tokens is not None
    starts = list(inspection.tokens.starts)
    starts[1::2], starts[2::2] = starts[2::2] + starts[1::2][len(starts[2::2]) :], starts[1::2][: len(starts[2::2])]
    return replace(inspection, tokens=replace(inspection.tokens, starts=tuple(starts)))


EDITS: Mapping[str, Callable[[Inspection], Inspection]] = {
    one.__name__: one for one in (offsets_lost, without_spaces, to_the_end, masked, backwards)
}
"""What `Case.edit` names."""


ODD_TOKENIZERS = ("media", "adds-eos", "as-llama", "cleans", "swallows")


@cache
def tokenizer_of(name: str) -> LoadedTokenizer:
    """A bundled tokenizer, one in a folder (a path), or the bundled ChatML one with a token for images (`media`), one
    that adds EOS (`adds-eos`), one that was built as Llama's class (`as-llama`), which has no piece for a space, one
    that cleans the text as BERT's does (`cleans`), or one whose end of a turn takes white space along (`swallows`)."""
    if name not in ODD_TOKENIZERS:
        return load_tokenizer(name if "/" in name else f"builtin:{name}")
    with TemporaryDirectory() as made:
        place = Path(made)
        for file in folder("chatml").glob("*.json"):
            (place / file.name).write_bytes(file.read_bytes())
        backend = json.loads((place / "tokenizer.json").read_text(encoding="utf-8"))
        if name == "swallows":
            end = next(token for token in backend["added_tokens"] if token["content"] == "<|im_end|>")
            end.update(lstrip=True, rstrip=True)
            (place / "tokenizer.json").write_text(json.dumps(backend), encoding="utf-8")
            return load_tokenizer(made, mode="provisional")
        if name == "adds-eos":
            eos = next(token for token in backend["added_tokens"] if token["content"] == "<|im_end|>")
            special = {"SpecialToken": {"id": eos["content"], "type_id": 0}}
            backend["post_processor"] = {
                "type": "TemplateProcessing",
                "single": [{"Sequence": {"id": "A", "type_id": 0}}, special],
                "pair": [
                    {"Sequence": {"id": "A", "type_id": 0}},
                    special,
                    {"Sequence": {"id": "B", "type_id": 1}},
                    special,
                ],
                "special_tokens": {
                    eos["content"]: {"id": eos["content"], "ids": [eos["id"]], "tokens": [eos["content"]]}
                },
            }
            (place / "tokenizer.json").write_text(json.dumps(backend), encoding="utf-8")
            return load_tokenizer(made, mode="provisional")
        if name == "cleans":
            backend["normalizer"] = {
                "type": "BertNormalizer",
                "clean_text": True,
                "handle_chinese_chars": False,
                "strip_accents": False,
                "lowercase": False,
            }
            (place / "tokenizer.json").write_text(json.dumps(backend), encoding="utf-8")
            return load_tokenizer(made, mode="provisional")
        if name == "as-llama":
            backend["pre_tokenizer"] = {
                "type": "Metaspace",
                "replacement": "▁",
                "prepend_scheme": "never",
                "split": False,
            }
            backend["decoder"] = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
            (place / "tokenizer.json").write_text(json.dumps(backend), encoding="utf-8")
            return load_tokenizer(made, mode="provisional")
        last = max(token["id"] for token in backend["added_tokens"])
        size = max(last, max(backend["model"]["vocab"].values())) + 1
        backend["added_tokens"].append({**backend["added_tokens"][-1], "id": size, "content": "<image>"})
        (place / "tokenizer.json").write_text(json.dumps(backend), encoding="utf-8")
        return load_tokenizer(made, mode="provisional")


def row(index: int, data: Any, line: bool = False) -> Row:
    where = f"data.jsonl line {index + 1}" if line else f"row {index}"
    if isinstance(data, str):
        return Row(index, None, data, where, problem=data)
    return Row(index, data, repr(data), where)


def lines_of(title: str, rows: Sequence[Any]) -> DataFile:
    """Rows as a JSON Lines file."""
    held = b"".join(json.dumps(one).encode() + b"\n" for one in rows)
    return DataFile(title, "json", lambda: io.BytesIO(held), len(held))


def recipe_of(case: Case) -> Recipe:
    """The preset with the case's knobs."""
    recipe = trainers.preset(case.preset)
    for path, value in case.changes.items():
        recipe = changed(recipe, path, value)
    return recipe


def open_case(case: Case, data: Sequence[Any], recipe: Recipe | None = None) -> tuple[Context, tuple[Inspection, ...]]:
    """The case under its own recipe, or under another; a template that the other one names is used."""
    own = recipe_of(case)
    recipe = recipe or own
    tools = pipeline.make_toolbox(recipe, tokenizer_of(case.tokenizer))
    facts = replace(tools.tokenizer.facts, **case.facts)
    tools = replace(tools, tokenizer=LoadedTokenizer(facts, tools.tokenizer.engine))
    if case.template is not None and recipe.render.template == own.render.template:
        rendering = rendering_by(recipe)
        made = (
            None
            if not case.template
            else (
                builtin_template(case.template, rendering)
                if " " not in case.template
                else compile_template(case.template, "the case's own", rendering=rendering)
            )
        )
        tools = trainers.Toolbox(tools.tokenizer, {"default": made} if made else {}, made.name if made else "")
    made_rows = (row(index, one, case.looked_at is not None) for index, one in enumerate(data))
    rows = [replace(one, cells=tuple(case.cells)) for one in made_rows]
    reader = brought(recipe.preset) if case.looked_at is not None else None
    schema = load(lambda: iter([lines_of("data.jsonl", data)]), reader, "").schema if reader is not None else None
    detected = pipeline.detect(rows[: case.looked_at], recipe, schema)
    tools = pipeline.survey(rows[0] if rows else None, detected, recipe, tools)
    if case.serve is not None:
        served = load_served(case.serve, tools.tokenizer, None)
        if case.generation_config is not None and served.tokenizer is not None:
            served = replace(served, stops=stops_of(served.tokenizer, case.generation_config))
        tools = replace(tools, served=served)
    context = Context(
        recipe,
        facts,
        tools.templates.get("default"),
        detected,
        tools,
        case.generation_config,
        case.model_config,
    )
    found = tuple(pipeline.inspect(one, detected, recipe, tools) for one in rows)
    return context, tuple(map(EDITS[case.edit], found)) if case.edit else found


def run(case: Case, recipe: Recipe | None = None) -> Outcome:
    """Every finding of the case: by row, of the set-up and of the dataset."""
    context, inspections = open_case(case, case.rows, recipe)
    evaluation: Hashes | None = None
    held_out: tuple[Inspection, ...] = ()
    if case.evaluation:
        other, held_out = open_case(case, case.evaluation, recipe)
        seen = DatasetChecks(other)
        for inspection in held_out:
            seen.add(RowLook(inspection, other))
        evaluation = seen.prompts
    checks = DatasetChecks(context, evaluation)
    found: list[Finding] = []
    for inspection in inspections:
        found.extend(check_row(inspection, context))
        checks.add(RowLook(inspection, context))
    found.extend(check_setup(context, inspections))
    found.extend(check_dataset(checks))
    if case.near is not None:
        found.extend(near(case.near, [RowLook(one, context) for one in inspections], held_out))
    found.extend(damaged_files(Damage(*one) for one in case.damage))
    if case.second:
        reader = brought(case.preset)
        assert reader is not None
        files = [lines_of(f"{place}.jsonl", rows) for place, rows in enumerate((case.rows, case.second))]
        found.extend(
            refused_files(load(lambda: iter(files), reader, trainers.trainer_named(case.preset).title).problem)
        )
    return Outcome(tuple(found), inspections, context)


def near(least: float, looks: Sequence[RowLook], held_out: Sequence[Inspection]) -> list[Finding]:
    """The near copies among rows, and of rows of the evaluation set, which count downwards from -1."""
    context = looks[0].context
    every = {look.inspection.row.index: look for look in looks}
    every |= {-1 - one.row.index: RowLook(one, context) for one in held_out}
    copies = near_copies(
        combinations(every, 2),
        least,
        lambda number: (runs_of(every[number]), bytes([number % 256])),
        lambda number: number < 0,
    )
    return [near_finding(copy, context, "") for copy in copies]


def outcome_of(case: Case) -> Outcome:
    """What `run` makes of a rule's example, once in a process: many tests look at the same one, and change nothing."""
    outcomes = _outcomes()
    if id(case) not in outcomes:
        outcomes[id(case)] = case, run(case)
    return outcomes[id(case)][1]


@cache
def _outcomes() -> dict[int, tuple[Case, Outcome]]:
    """By a case's id; kept by a function, for tests/mutation to empty."""
    return {}
