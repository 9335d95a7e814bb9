"""The row list: what a line says, and that heavy rows wait for the others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sftui.recipe import changed
from sftui.session.opened import HEAVY
from sftui.session.ready import open_data, tokenized
from sftui.trainers import preset
from sftui.workspace import OpenOptions
from sftui.workspace.requests import SummariesRequest, answering
from sftui.workspace.summaries import PREVIEW, TOO_HEAVY, summaries

ASKED = SummariesRequest(1, 0, 100)


def chat(text: str, answer: str = "yes") -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}, {"role": "assistant", "content": answer}]}


def lines_of(path: Path, rows: list[Any], **knobs: Any) -> list[Any]:
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    recipe = changed(preset(), "tokenizer.name", "builtin:chatml")
    for name, value in knobs.items():
        recipe = changed(recipe, name.replace("__", "."), value)
    session = tokenized(open_data(OpenOptions((str(path),)), recipe))
    return [
        row
        for part in summaries(session, ASKED, answering(ASKED, 1))
        if part is not None
        for row in part.rows
        if row.errors is None
    ]


def test_a_line_says_what_happens_to_the_row(tmp_path: Path) -> None:
    user_last = {"messages": [{"role": "user", "content": "no answer"}]}
    fine, dropped, broken, long = lines_of(
        tmp_path / "a.jsonl",
        [
            chat("  two \n words "),
            user_last,
            "{",
            chat("x", "many words " * 60),
        ],
        length__max=20,
    )
    assert (fine.preview, fine.dropped, fine.problem, fine.cut) == ("two words", None, None, 0)
    assert fine.tokens and 0 < fine.trained < fine.tokens
    assert dropped.dropped is not None and dropped.trained == 0
    assert broken.problem is not None and broken.tokens is None and broken.preview == "{"
    assert long.tokens == 20 and long.cut > 0 and long.trained <= 20


def test_a_heavy_row_is_checked_after_the_light_ones(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    rows = [chat("x " * HEAVY, ""), chat("a", ""), chat("x " * TOO_HEAVY, "")]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    session = tokenized(open_data(OpenOptions((str(path),)), changed(preset(), "tokenizer.name", "builtin:chatml")))
    parts = [part.rows for part in summaries(session, ASKED, answering(ASKED, 1)) if part is not None]
    assert [row.index for rows in parts for row in rows if row.warnings] == [1, 0]


def test_a_line_that_was_checked_says_what_its_findings_come_to(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    wrong = {"messages": [{"role": "user", "content": "a"}, {"role": "bot", "content": "b"}]}
    path.write_text("".join(json.dumps(row) + "\n" for row in (chat("fine"), wrong, chat("", ""))))
    strict = tmp_path / "strict.jinja"
    strict.write_text("{% for m in messages if m.role in ['user', 'assistant'] %}{{ m.content }}<|im_end|>{% endfor %}")
    recipe = changed(preset("trl@1.16"), "tokenizer.name", "builtin:chatml")
    session = tokenized(open_data(OpenOptions((str(path),)), changed(recipe, "render.template", f"file:{strict}")))
    parts = summaries(session, ASKED, answering(ASKED, 1))
    checked = {row.index: row for part in parts if part is not None for row in part.rows if row.errors is not None}
    assert [row.verdict for _, row in sorted(checked.items())] == [
        ("warning", "prompts are trained too"),
        ("error", "no answer reaches the model"),
        None,
    ]


def test_heavy_rows_are_named_first_and_counted_last(tmp_path: Path) -> None:
    rows = [chat("h" * (HEAVY + 10)), chat("light"), chat("t " * TOO_HEAVY)]
    seen = lines_of(tmp_path / "a.jsonl", rows)
    assert [(row.index, row.tokens is not None) for row in seen] == [(0, False), (1, True), (2, False), (0, True)]
    assert all(len(row.preview) <= PREVIEW for row in seen)


def test_parts_and_texts_have_previews(tmp_path: Path) -> None:
    parts = {
        "messages": [
            {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "look"}]},
            {"role": "assistant", "content": "a cat"},
        ]
    }
    assert lines_of(tmp_path / "a.jsonl", [parts])[0].preview == "look"
    assert lines_of(tmp_path / "b.jsonl", [{"text": "some text"}])[0].preview == "some text"
    assert lines_of(tmp_path / "c.jsonl", [{"input_ids": [5, 6], "labels": [5, 6]}])[0].preview.startswith(
        '{"input_ids"'
    )
