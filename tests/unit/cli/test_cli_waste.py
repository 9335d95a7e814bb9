"""`sftui waste`: the same table as text, as JSON and in Python; what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import sftui as package

TOK = ("-t", "builtin:chatml", "--trainer", "trl@1.16")


def chats(folder: Path) -> Path:
    path = folder / "chats.jsonl"
    made = [
        {"messages": [{"role": "user", "content": "why? " * n}, {"role": "assistant", "content": "because " * (2 * n)}]}
        for n in (3, 40, 9, 120, 5, 60)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in made))
    return path


def test_text_json_and_python_say_the_same(sftui: Callable[..., Any], tmp_path: Path) -> None:
    data = chats(tmp_path)
    asked = ("--lengths", "64,256", "--strategy", "none", "--strategy", "bfd")
    made = json.loads(sftui("waste", data, *TOK, *asked, "--format", "json").out)
    with package.open(data, tokenizer="builtin:chatml", trainer="trl@1.16") as opened:
        table = opened.waste(lengths=(256, 64), strategies=("none", "bfd"))
    assert made == json.loads(json.dumps(asdict(table))) and table.done
    assert [(one["strategy"], one["limit"]) for one in made["lines"]] == [
        *(("none", limit) for limit in (64, 256)),
        *(("bfd", limit) for limit in (64, 256)),
    ]
    text = sftui("waste", data, *TOK, *asked, "--width", "80")
    assert text.code == 0 and all(len(line) <= 80 for line in text.out.splitlines())
    shown = [line.split() for line in text.out.splitlines() if line.split()[:1] in (["64"], ["256"])]
    for one, (limit, _, _, share, _, steps, cut, lost, *_) in zip(made["lines"], shown, strict=True):
        assert (limit, steps, cut, lost) == tuple(str(one[name]) for name in ("limit", "steps", "cut", "lost"))
        assert share == f"{100 * one['padding'] / (one['tokens'] + one['padding']):.1f}"


def test_without_lengths_the_recipes_own_is_among_them(sftui: Callable[..., Any], tmp_path: Path) -> None:
    done = sftui("waste", chats(tmp_path), *TOK, "--max-length", "100")
    assert "*    100" in done.out and "bfd_split" in done.out and "by length" in done.out


def test_what_it_cannot_do(sftui: Callable[..., Any], tmp_path: Path) -> None:
    data = chats(tmp_path)
    none = sftui("waste", data, *TOK, "--strategy", "multipack")
    assert none.code == 2 and "TRL has no strategy `multipack`; it has none, by length, bfd" in none.err
    words = sftui("waste", data, *TOK, "--lengths", "long")
    assert words.code == 2 and "--lengths long is not a list of numbers; give e.g. 1024,2048,4096" in words.err
    stops = sftui("waste", data, "-t", "builtin:chatml", "--trainer", "verl", "--lengths", "32")
    assert stops.code == 2 and "verl stops at the first of" in stops.out
    (tmp_path / "parts.jsonl").write_text(
        json.dumps({"messages": [{"role": role, "content": [{"value": "x"}]} for role in ("user", "assistant")]}) + "\n"
    )
    lost = sftui("waste", tmp_path / "parts.jsonl", *TOK)
    assert (
        lost.code == 2 and "no row reaches the trainer, so no limit costs anything; `sftui check` says why" in lost.err
    )
