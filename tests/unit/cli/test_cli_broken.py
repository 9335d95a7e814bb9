"""Records that are no JSON, or hold a key twice: what is wrong, and where, with the bit of text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

GOOD = '{"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "x"}]}'


def test_a_key_that_stands_twice_is_named(sftui: Callable[..., Any], tmp_path: Path) -> None:
    data = tmp_path / "data.jsonl"
    data.write_text(f'{GOOD[:-1]}, "messages": []}}\n{GOOD}\n')
    done = sftui("check", data, "-t", "builtin:chatml")
    told = " ".join(done.out.split())
    assert "the key `messages` is duplicated in the record (columns 2 and 90), and the last one counts" in told
    data.write_text(f'{{"messages": []}}\n{GOOD}\n')
    assert "stands twice" not in sftui("check", data, "-t", "builtin:chatml").out


def test_a_file_of_which_nothing_can_be_read_says_where_it_is_broken(sftui: Callable[..., Any], tmp_path: Path) -> None:
    data = tmp_path / "data.json"
    data.write_text('[{"messages": [{"role": "user", "content": "hi"} {"role": "assistant"}]}]')
    done = sftui("show", data, "-t", "builtin:chatml")
    assert done.code == 2
    assert 'expected \',\' delimiter at column 49, before `{"role": "assis…`, after `content": "hi"} `' in done.err
