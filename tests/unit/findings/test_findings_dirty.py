"""The derived dirty set: every injected defect is found at its row, and the clean control rows have nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from case_runner import tokenizer_of

from sftui import pipeline, trainers
from sftui.findings import Context, DatasetChecks, Finding, Severity, check_dataset, check_row
from sftui.findings.look import RowLook
from sftui.sources import SourceSpec, open_source

# Which codes tell of a defect; a blank line is no row at all and needs none.
TELLS = {
    "truncated JSON": "ROW001",
    "trailing comma": "ROW001",
    "row is a string": "ROW001",
    "row is an array": "ROW001",
    "row is null": "ROW001",
    "duplicate key: second one empties the conversation": "ROW002",
    "conversation key missing": "ROW002",
    "no turns": "ROW002",
    "conversation is null": "ROW002",
    "conversation is a JSON-encoded string": "CON007",
    "role missing in turn 0": "ROL003",
    "unknown role bot": "ROL001",
    "role capitalised": "ROL002",
    "assistant content null, no tool_calls": "CON001",
    "assistant content is a number": "CON005",
    "assistant content is list of parts": "CON002",
    "content missing": "CON001",
    "assistant content empty": "CON003",
    "assistant content whitespace only": "CON004",
    "only a user turn": "LAB012",
    "ends with user": "LAB012",
    "starts with assistant": "TPL006",
    "two user turns in a row": "TPL006",
    "system turn in the middle": "ROL004",
    "special-token text in user content": "INJ001",
    "terminal control characters in assistant content": "CON008",
    "bidi override, zero width, line separators": "CON008",
    "lone surrogate escape \\ud83d": "CON008",
    "invalid UTF-8 bytes": "ROW001",
    "mojibake": "CON008",
    "NaN literal (not JSON, Python accepts)": "ROW005",
    "very long assistant turn": "TRU009",
    "400 turns": "TRU009 LAB013",
    "exact duplicate of previous line": "DUP001",
    "near duplicate (trailing space)": "DUP001",
    "leading/trailing whitespace in assistant": "CON004",
    "literal backslash-n in content": "CON012",
    "tool_calls with malformed JSON arguments": "TOO006",
    "tool turn with no preceding tool call": "TOO006",
    "unclosed <think>": "THK005",
    "extra nested columns of mixed type": "CON013",
    "per-message weight keys": "LAB010",
}


@pytest.mark.shared
@pytest.mark.parametrize("tokenizer", ["chatml", "llama3"])
def test_every_injected_defect_is_found(shared: Path, tokenizer: str) -> None:
    folder = shared / "testdata" / "datasets"
    expected = {
        item["line"]: item["defect"]
        for item in json.loads((folder / "derived_dirty_messages.expected.json").read_text("utf-8"))
    }
    source = open_source(SourceSpec((str(folder / "derived_dirty_messages.jsonl"),)))
    rows = list(source.rows())
    source.close()
    line_of = {row.index: int(row.where.rpartition(" ")[2]) for row in rows}
    recipe = trainers.preset("hf-trainer")
    tools = pipeline.make_toolbox(recipe, tokenizer_of(tokenizer))
    detected = pipeline.detect(rows, recipe)
    context = Context(recipe, tools.tokenizer.facts, tools.templates.get("default"), detected, tools)
    checks = DatasetChecks(context)
    found: dict[int, list[Finding]] = {line: [] for line in expected}
    for row in rows:
        inspection = pipeline.inspect(row, detected, recipe, tools)
        checks.add(RowLook(inspection, context))
        found[line_of[row.index]].extend(check_row(inspection, context))
    for finding in check_dataset(checks):
        for index in finding.rows:
            found[line_of[index]].append(finding)

    dirty = {
        line: defect for line, defect in expected.items() if not defect.startswith("clean") and defect != "blank line"
    }
    told = {line for line, defect in dirty.items() if {one.code for one in found[line]} & set(TELLS[defect].split())}
    loud = {
        line
        for line, some in found.items()
        if any(one.severity is not Severity.INFO and one.row is not None for one in some)
    }
    precision = len(loud & set(dirty)) / len(loud)
    print(
        f"\n{tokenizer}: {len(told)} of {len(dirty)} injected defects found at their row (recall"
        f" {len(told) / len(dirty):.2f}), {len(loud)} rows with an error or a warning (precision {precision:.2f})"
    )
    assert told == set(dirty), {line: (dirty[line], [one.code for one in found[line]]) for line in set(dirty) - told}
    assert precision == 1.0, [(line, expected[line], [one.code for one in found[line]]) for line in loud - set(dirty)]
