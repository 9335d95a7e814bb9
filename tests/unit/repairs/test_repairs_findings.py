"""After a repair its finding is gone, none came, and what stands elsewhere in the row is trained as before."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from sftui import pipeline, trainers
from sftui.conversations import Detection
from sftui.findings import CODES, SCOPE_OF, Context, DatasetChecks, check_dataset, check_row
from sftui.findings.look import RowLook
from sftui.model import Inspection, Part, Row
from sftui.repairs.run import REPAIRS, layout_of, make_plan, repair_row, repaired
from sftui.sources import SourceSpec, open_source
from sftui.templates import builtin_template
from sftui.tokens import LoadedTokenizer, load_tokenizer

U, A = {"role": "user", "content": "How are you?"}, {"role": "assistant", "content": "Very well."}


@dataclass(frozen=True)
class Bench:
    context: Context
    detected: Detection

    def look(self, data: Mapping[str, Any]) -> Inspection:
        return pipeline.inspect(
            Row(0, data, json.dumps(data), "row 0"), self.detected, self.context.recipe, self.context.tools
        )

    def codes(self, inspection: Inspection) -> set[str]:
        return {one.code for one in check_row(inspection, self.context)}


@cache
def tokenizer_of(name: str) -> LoadedTokenizer:
    return load_tokenizer(f"builtin:{name}")


def bench(rows: list[Row], template: str | None = None, tokenizer: str = "chatml", preset: str = "hf-trainer") -> Bench:
    recipe = trainers.preset(preset)
    tools = pipeline.make_toolbox(recipe, tokenizer_of(tokenizer))
    if template is not None:
        from sftui.templates import compile_template

        made = compile_template(template, "own") if "{%" in template else builtin_template(template)
        tools = trainers.Toolbox(tools.tokenizer, {"default": made}, made.name)
    detected = pipeline.detect(rows, recipe)
    return Bench(Context(recipe, tools.tokenizer.facts, tools.templates.get("default"), detected, tools), detected)


def same_elsewhere(before: Inspection, after: Inspection) -> None:
    """Ids and labels of the content of every message that both have, in order from each end."""
    if before.tokens is None or after.tokens is None or before.labels is None or after.labels is None:
        return
    told = [contents(one) for one in (before, after)]
    kept = [[text for text, _ in some] for some in told]
    for text, labels in told[0]:
        if kept[0].count(text) == 1 and kept[1].count(text) == 1:
            assert labels == dict(told[1])[text], text


def contents(inspection: Inspection) -> list[tuple[str, tuple[int, ...]]]:
    assert inspection.conversation is not None and inspection.tokens is not None and inspection.labels is not None
    tokens, labels = inspection.tokens, inspection.labels.labels
    return [
        (
            repr(message.data),
            tuple(
                label
                for label, owner, part in zip(labels, tokens.messages, tokens.parts)
                if owner == number and part is Part.CONTENT
            ),
        )
        for number, message in enumerate(inspection.conversation.messages)
    ]


@pytest.mark.one_of(2)
@pytest.mark.shared
@pytest.mark.parametrize("tokenizer", ["chatml", "llama3"])
def test_the_dirty_set_repair_by_repair(shared: Path, tokenizer: str) -> None:
    rows = list(open_source(SourceSpec((str(shared / "testdata/datasets/derived_dirty_messages.jsonl"),))).rows())
    one = bench(rows, tokenizer=tokenizer)
    layout = layout_of(one.detected)
    gone: dict[str, int] = {}
    for row in rows:
        if row.data is None:
            continue
        before = one.look(row.data)
        codes = one.codes(before)
        for name, repair in REPAIRS.items():
            after, changes = repair_row(row.data, (repair,), layout)
            if not changes:
                continue
            then = one.look(after)
            new = one.codes(then) - codes
            assert not new, (row.where, name, new)
            cured = codes - one.codes(then)
            gone[name] = gone.get(name, 0) + bool(cured)
            same_elsewhere(before, then)
    print(f"\n{tokenizer}: rows with a finding less, by repair: {gone}")
    assert set(gone) >= {"parse-json", "map-roles", "fill-content", "strip-tokens", "trim", "fold-system"}


@pytest.mark.long
@pytest.mark.shared
def test_the_dirty_set_all_at_once(shared: Path) -> None:
    """All repairs, and rows dropped by the codes that are left: no error or duplicate remains, clean rows are as they
    were."""
    folder = shared / "testdata/datasets"
    rows = list(open_source(SourceSpec((str(folder / "derived_dirty_messages.jsonl"),))).rows())
    expected = {
        one["line"]: one["defect"]
        for one in json.loads((folder / "derived_dirty_messages.expected.json").read_text("utf-8"))
    }
    one = bench(rows)
    errors = {code for code, entry in CODES.items() if entry.severity.value == "error" and SCOPE_OF[code] == "row"}
    plan = make_plan([*REPAIRS, "deduplicate"], ["unreadable", *errors])
    done = list(
        repaired(
            rows,
            plan,
            layout_of(one.detected),
            lambda row: one.codes(one.look(row.data)) if row.data is not None else {"ROW001"},
        )
    )
    left = [result for result in done if result.data is not None]
    checks = DatasetChecks(one.context)
    for result in left:
        assert result.data is not None
        inspection = one.look(result.data)
        assert not one.codes(inspection) & errors
        checks.add(RowLook(inspection, one.context))
        if expected[int(result.row.where.rpartition(" ")[2])] == "clean":
            assert result.untouched
    assert not {finding.code for finding in check_dataset(checks)} & {"DUP001"}
    print(f"\n{len(left)} of {len(done)} rows kept, {sum(not one.untouched for one in left)} of them mended")
    assert len(left) > 25


@pytest.mark.parametrize("name", ["chatml", "llama3", "gemma"])
def test_generation_tags_take_away_gen001_and_bring_nothing(name: str) -> None:
    """The fix that is no repair of the data: the tagged template, under a recipe that masks by tags."""
    from sftui.findings import check_setup
    from sftui.recipe import changed
    from sftui.templates import compile_template
    from sftui.templates.tags.surgery import add_generation_tags

    recipe = changed(trainers.preset("trl"), "mask.rule", "generation_tag")
    tools = pipeline.make_toolbox(recipe, tokenizer_of(name))
    template = builtin_template(name)
    rows = [Row(k, {"messages": [U, A] * (k + 1)}, "", f"row {k}") for k in range(3)]
    detected = pipeline.detect(rows, recipe)
    found = []
    for source in (template.source, add_generation_tags(template.source, name, dict(tools.special_tokens), []).source):
        made = compile_template(source, name)
        now = trainers.Toolbox(tools.tokenizer, {"default": made}, name)
        context = Context(recipe, tools.tokenizer.facts, made, detected, now)
        looked = [pipeline.inspect(row, detected, recipe, now) for row in rows]
        codes = {one.code for one in check_setup(context, looked)}
        found.append(codes | {one.code for inspection in looked for one in check_row(inspection, context)})
    before, after = found
    assert "GEN001" in before and CODES["GEN001"].tags
    assert "GEN001" not in after
    assert after <= before | {"TPL011"}, after - before  # another template than the tokenizer's own is worth knowing
    assert not {"LAB001", "GEN000", "GEN002", "GEN003", "EOS004", "EOS008"} & after
    assert all(one.trained for one in looked)
