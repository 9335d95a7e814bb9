"""The work that a row takes grows with the row, not with its square: counted in lines of our code that run."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from sftui.cli.loading import loaded_session
from sftui.findings import calls
from sftui.findings.rule import CALLING
from sftui.findings.words import TextIndex, thought_in, without_thoughts
from sftui.recipe import changed
from sftui.session.options import OpenOptions
from sftui.session.ready import Ready
from sftui.templates.rendering.marks import slots_of
from sftui.trainers import preset

SMALL, TIMES, SLACK = 60, 4, 1.35
"""Rows are made SMALL and TIMES as large; what is done only once makes the growth smaller, never larger."""


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def answer(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def call(number: int) -> dict[str, Any]:
    arguments = {"city": f"Town {number}"}
    return {"id": f"c{number}", "type": "function", "function": {"name": "weather", "arguments": arguments}}


def result(number: int) -> dict[str, Any]:
    return {"role": "tool", "content": f"Rain {number}", "tool_call_id": f"c{number}"}


def tool(number: int) -> dict[str, Any]:
    return {"type": "function", "function": {"name": f"f{number}", "description": "d", "parameters": {}}}


def turns(n: int, asked: Callable[[int], str], said: Callable[[int], str]) -> dict[str, Any]:
    return {"messages": [user(asked(i)) if i % 2 == 0 else answer(said(i)) for i in range(2 * n)]}


SHAPES: dict[str, Callable[[int], dict[str, Any]]] = {
    "turns": lambda n: turns(n, lambda i: f"Question {i}?", lambda i: f"Answer {i}."),
    "equal turns": lambda n: turns(n, lambda i: "same", lambda i: "same"),
    "empty turns": lambda n: turns(n, lambda i: "", lambda i: ""),
    "thoughts": lambda n: turns(n, lambda i: f"Q {i}", lambda i: f"<think>hm {i}</think>Yes {i}."),
    "control tokens": lambda n: turns(n, lambda i: f"q <|im_start|> {i}", lambda i: f"a <|im_end|> {i}"),
    "questions without answers": lambda n: {"messages": [*(user(f"Q {i}") for i in range(n)), answer("x")]},
    "roles": lambda n: {"messages": [*({"role": f"r{i:03}", "content": "x"} for i in range(n)), answer("x")]},
    "tags": lambda n: {"messages": [user("q"), answer("<think>a</think> b " * n)]},
    "calls": lambda n: {
        "messages": [user("q"), {**answer(""), "tool_calls": [call(i) for i in range(n)]}, answer("done")],
        "tools": [tool(0)],
    },
    "results": lambda n: {
        "messages": [
            user("q"),
            {**answer(""), "tool_calls": [call(i) for i in range(n)]},
            *(result(i) for i in range(n)),
            answer("done"),
        ]
    },
    "turns that call": lambda n: {
        "messages": [
            user("q"),
            *(one for i in range(n) for one in ({**answer(""), "tool_calls": [call(i)]}, result(i))),
            answer("done"),
        ]
    },
    "tools": lambda n: {"messages": [user("q"), answer("a")], "tools": [tool(i) for i in range(n)]},
    "columns": lambda n: {**{f"k{i}": i for i in range(n)}, "messages": [user("q"), answer("a")]},
    "keys": lambda n: {"messages": [{**user("q"), **{f"k{i}": i for i in range(n)}}, answer("a")]},
    "parts": lambda n: {
        "messages": [{"role": "user", "content": [{"type": "text", "text": f"p {i}"} for i in range(n)]}, answer("a")]
    },
    "words": lambda n: {"messages": [user("q"), answer("Some words of text. " * n)]},
    "columns of text": lambda n: {"prompt": "Some words. " * n, "completion": "More words. " * n},
    "history": lambda n: {
        "instruction": "a",
        "input": "",
        "output": "b",
        "history": [[f"q{i}", f"a{i}"] for i in range(n)],
    },
    "ids": lambda n: {"input_ids": list(range(1, n + 1)), "labels": list(range(1, n + 1))},
}


def session_of(folder: Path, row: dict[str, Any], trainer: str) -> Ready:
    path = folder / "row.jsonl"
    path.write_text(json.dumps(row) + "\n")
    recipe = preset(trainer)
    if trainer == "hf-trainer" and any("tool_calls" in one for one in row.get("messages", ())):
        template = folder / "calling.jinja"  # the bundled ones write no calls: who is looked for is found at once
        template.write_text(CALLING)
        recipe = changed(recipe, "render.template", f"file:{template}")
    return loaded_session(OpenOptions((str(path),), recipe=changed(recipe, "tokenizer.name", "builtin:chatml")))


def lines_run(work: Callable[[], object]) -> int:
    """How many lines of sftui run in `work`; a comprehension's turns count each."""
    count = 0

    def line(frame: FrameType, event: str, _: object) -> Any:
        nonlocal count
        count += event == "line"
        return line

    def called(frame: FrameType, event: str, _: object) -> Any:
        return line if "/sftui/" in frame.f_code.co_filename else None

    before = sys.gettrace()
    sys.settrace(called)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


BY_TURNS = ("turns", "equal turns", "empty turns", "thoughts", "control tokens")
UNREAD = {
    "hf-trainer": (),
    "trl@1.16": ("history",),
    # Axolotl renders the conversation again for each of its turns, and so does what shows it: these are not linear.
    "axolotl@0.19": (*BY_TURNS, "turns that call", "columns of text", "history", "ids"),
    "llamafactory@0.9.5": ("ids", "parts"),
}
"""Shapes that a trainer does not read, or where it is no better than the square itself."""
CASES = [(trainer, shape) for trainer, unread in UNREAD.items() for shape in SHAPES if shape not in unread]


@pytest.mark.one_of(6)
@pytest.mark.parametrize(("trainer", "shape"), CASES)
def test_the_lines_that_run_grow_no_faster_than_the_row(shape: str, trainer: str, tmp_path: Path) -> None:
    counts = []
    for size in (SMALL, SMALL * TIMES):
        session = session_of(tmp_path, SHAPES[shape](size), trainer)
        session.found(session.inspect(0))  # what is found out once a session
        calls.REPEATED.forget()  # lists of tools that are not too long are remembered from row to row
        session = session_of(tmp_path, SHAPES[shape](size), trainer)
        counts.append(lines_run(lambda session=session: session.found(session.inspect(0))))  # type: ignore[misc]
        session.close()
    assert counts[1] <= counts[0] * TIMES * SLACK, counts


def test_where_each_message_stands_is_found_in_one_go(tmp_path: Path) -> None:
    """The findings alone: rendering such a row takes so many lines that they would hide it."""
    counts = []
    for size in (SMALL, SMALL * TIMES):
        session = session_of(tmp_path, SHAPES["turns that call"](size), "hf-trainer")
        inspected = session.inspect(0)
        session.found(inspected)
        counts.append(lines_run(partial(session.found, inspected)))
        session.close()
    assert counts[1] <= counts[0] * TIMES * SLACK, counts


@pytest.fixture
def patience() -> Iterator[None]:
    """Ends a test that would hang; nothing here takes a second."""

    def give_up(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("text", ["<think>" + " " * 40_000, "<think>" * 40_000, " " * 40_000 + "<think>x</think>"])
def test_a_long_blank_stretch_or_an_open_tag_is_read_once(text: str, patience: None) -> None:
    slots = slots_of(answer(text)).slots
    assert "".join(slot.before + slot.text for slot in slots) == text
    assert thought_in(text) == ("x" if "</think>" in text else None)
    assert without_thoughts(text) == text.replace("<think>x</think>", "")


def test_texts_are_found_in_any_order() -> None:
    standing = TextIndex("one two three two")
    assert [said in standing for said in ("two", "three", "two", "one", "four", "three two", "")] == [
        True, True, True, True, False, True, True,
    ]  # fmt: skip
