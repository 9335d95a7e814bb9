"""Near duplicates: which rows count as alike, that no pair is missed, and what is said of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

import pytest
from case_runner import open_case, run

import sftui
from sftui.cli import main
from sftui.errors import SftuiError
from sftui.findings.look import RowLook
from sftui.findings.near import LEAST, NearRows, common_runs, near_copies, runs_of
from sftui.findings.rule import Case, chat

Row = dict[str, Any]
SAID = "The town lies on a river, has an old bridge of nine arches and a market on two days of the week."
OTHER = "Bees keep their brood at thirty-five degrees, whatever the weather, by fanning or by shivering."
ORDER = "Read the letter below and say in one word whether whoever wrote it is content with what was bought. " * 2


def looks(*rows: Row, **more: Any) -> list[RowLook]:
    context, found = open_case(Case(list(rows), **more), rows)
    return [RowLook(one, context) for one in found]


def near(*rows: Row, evaluation: tuple[Row, ...] = (), least: float = 0.8) -> dict[int, tuple[str, str]]:
    found = run(Case(list(rows), near=least, evaluation=evaluation)).findings
    return {
        one.row: (one.code, one.sentence) for one in found if one.code in ("DUP004", "DUP005") and one.row is not None
    }


def test_a_changed_word_is_near_and_its_share_is_exact() -> None:
    changed = SAID.replace("old", "ancient")
    found = near(chat("What of it?", SAID), chat("What of it?", OTHER), chat("What of it?", changed), least=0.7)
    one, two = (runs_of(look) for look in looks(chat("What of it?", SAID), chat("What of it?", changed)))
    share = len(one & two) / len(one | two)
    assert 0.7 < share < 0.8
    sentence = f"it and row 0 have {int(100 * share)} % of their three-word sequences in common"
    assert found == {2: ("DUP004", sentence)}
    assert near(chat("What of it?", SAID), chat("What of it?", changed), least=share) != {}
    assert near(chat("What of it?", SAID), chat("What of it?", changed), least=share + 1e-9) == {}


def test_case_signs_at_the_end_and_white_space_are_no_other_text() -> None:
    one, two = (runs_of(look) for look in looks(chat("Why so?", SAID), chat("why  SO?", SAID.upper())))
    assert one == two and {"lies on a", "the week ."} <= one
    assert near(chat("Why?", SAID), chat("why?", f"{SAID.upper()}\n")) == {
        1: ("DUP004", "it and row 0 have all of their three-word sequences in common")
    }


def test_the_rows_of_a_group_are_named() -> None:
    rows = [chat("What of it?", f"{SAID} {end}") for end in ("Yes.", "No.", "Why?", "So.", "On.", "Off.")]
    found = near(*rows)
    assert sorted(found) == [1, 2, 3, 4, 5]
    assert all(said.endswith("; 6 rows are alike: 0, 1, 2, 3, 4, …") for _, said in found.values())


def test_short_rows_are_not_compared() -> None:
    pytest.importorskip("rensa")
    rows = NearRows(0.8)
    for number, runs in enumerate((LEAST - 1, LEAST - 1, LEAST, LEAST)):
        rows.add(number, frozenset(map(str, range(runs))))
    assert rows.short == 2 and [sorted(pair) for pair in rows.pairs()] == [[2, 3]]


def test_what_many_prompts_say_makes_no_rows_alike() -> None:
    """A long instruction or system prompt, before questions that differ: of these alone is asked whether they are."""
    said = [f"{ORDER}Letter {n}: " + " ".join(Random(n).choices(OTHER.split(), k=14)) for n in range(40)]
    rows = looks(*[chat(text, "content") for text in said])
    common = common_runs(rows)
    one, two = runs_of(rows[0]), runs_of(rows[1])
    assert len(one & two) / len(one | two) > 0.4
    one, two = runs_of(rows[0], common), runs_of(rows[1], common)
    assert len(one & two) / len(one | two) < 0.1 and len(one) > LEAST
    answers = common_runs(looks(*[chat(f"Number {n}?", SAID) for n in range(40)]))
    assert not any(run in SAID.casefold() for run in answers)


def test_what_two_rows_say_is_common_to_none() -> None:
    assert common_runs(looks(chat(SAID, "a"), chat(SAID, "b"))) == frozenset()
    assert "on a river" in common_runs(looks(*[chat(SAID, "a")] * 3))


def test_rows_with_other_images_are_not_alike() -> None:
    def row(image: str | None, part: Mapping[str, Any] | None = None) -> Row:
        content: Any = "Describe it." if part is None else [{"type": "text", "text": "Describe it."}, part]
        return {**chat(("user", content), SAID), **({"images": [image]} if image else {})}

    a, b, c, d, e = (runs_of(look) for look in looks(row("a.png"), row("b.png"), row("a.png"), row(None), row(None)))
    assert a == c and d == e and a.isdisjoint(b) and a.isdisjoint(d)
    one, two, three = (
        runs_of(look) for look in looks(*[row(None, {"type": "image", "image": name}) for name in ("a", "b", "a")])
    )
    assert one == three and one.isdisjoint(two) and any("lies on a" in run for run in one)


def test_reasoning_and_calls_are_said_and_text_of_no_unicode_is() -> None:
    call = {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"function": {"name": "f", "arguments": {"city": "Bern"}}}],
    }
    (row,) = looks(chat("Go \ud83d now?", {**call, "reasoning_content": SAID}))
    runs = runs_of(row)
    assert any("bern" in run for run in runs) and any("on a river" in run for run in runs)
    rows = NearRows(0.8) if pytest.importorskip("rensa") else None
    assert rows is not None
    rows.add(0, runs)
    assert list(rows.numbers) == [0]


def test_scripts_without_spaces_have_words_of_one_letter() -> None:
    (row,) = looks(chat("你是谁", "我是助手"))
    assert runs_of(row) == {"你 是 谁", "我 是 助", "是 助 手"}


def test_rows_that_evaluate_are_leaks_and_no_copies_of_one_another() -> None:
    copy = chat("What of it?", f"{SAID} Yes.")
    found = near(chat("What of it?", SAID), chat("Bees?", OTHER), evaluation=(copy, copy))
    assert [code for code, _ in found.values()] == ["DUP005"] and list(found) == [0]
    runs = {n: frozenset(str(i) for i in range(20)) for n in (-2, -1, 0, 1)}
    made = near_copies(combinations(runs, 2), 0.8, lambda n: (runs[n], b""), lambda n: n < 0)
    assert [(one.row, one.other, one.evaluates) for one in made] == [(0, -2, True), (1, -2, True)]


def test_the_very_same_row_is_another_finding() -> None:
    runs = frozenset(map(str, range(20)))
    told = {0: b"a", 1: b"a", 2: b"b"}
    made = near_copies(combinations(told, 2), 0.8, lambda n: (runs, told[n]), lambda n: False)
    assert [(one.row, one.other, one.share, one.alike) for one in made] == [(2, 0, 1.0, (0, 2))]


@pytest.mark.parametrize("least", [0.5, 0.65, 0.8, 0.95])
def test_no_pair_that_is_alike_is_missed(least: float) -> None:
    """Against every pair, of rows whose shares lie on both sides of the one asked for."""
    pytest.importorskip("rensa")
    random, runs, rows = Random(7), dict[int, frozenset[str]](), NearRows(least)
    for number in range(600):
        base = {f"{number // 3} {i}" for i in range(120)}
        lost = random.randrange(1, int(120 * (1 - least)) + 2) if number % 3 else 0
        runs[number] = frozenset(random.sample(sorted(base), 120 - lost))
        rows.add(number, runs[number])
    near_ones = {
        (one, two)
        for one, two in combinations(runs, 2)
        if one // 3 == two // 3 and len(runs[one] & runs[two]) >= least * len(runs[one] | runs[two])
    }
    met = {tuple(sorted(pair)) for pair in rows.pairs()}
    assert len(near_ones) > 200 and len(near_ones - met) <= 0.01 * len(near_ones)
    assert len(met) < 20 * len(runs)
    copies = near_copies(rows.pairs(), least, lambda n: (runs[n], str(n).encode()), lambda n: False)
    assert {one.row // 3 for one in copies} >= {two // 3 for one, two in near_ones & met}
    for one in copies:
        assert one.share == len(runs[one.row] & runs[one.other]) / len(runs[one.row] | runs[one.other]) >= least


def test_copies_among_many_rows_alike_are_found() -> None:
    """Where all rows share most of their runs, a copy still stands beside its original."""
    pytest.importorskip("rensa")
    shared, rows = [f"all {i}" for i in range(70)], NearRows(0.8)
    runs = {n: frozenset([*shared, *[f"{n} {i}" for i in range(30)]]) for n in range(1000)}
    for n in range(0, 1000, 20):
        runs[1000 + n] = frozenset([*sorted(runs[n])[:-4], *[f"new {n} {i}" for i in range(4)]])
    for n, one in runs.items():
        rows.add(n, one)
    copies = near_copies(rows.pairs(), 0.8, lambda n: (runs[n], str(n).encode()), lambda n: False)
    found = {(one.other, one.row) for one in copies}
    assert len(found & {(n, 1000 + n) for n in range(0, 1000, 20)}) >= 49 and len(copies) <= 52


def written(path: Path, *rows: Row) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def checked(*words: str) -> int | str | None:
    with pytest.raises(SystemExit) as ended:
        main([*words])
    return ended.value.code


def test_check_finds_them_on_request(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("rensa")
    rows = [chat("What of it?", SAID), chat("Bees?", OTHER), chat("Well, what of it?", SAID)]
    data = written(tmp_path / "rows.jsonl", *rows, rows[0])
    held = written(tmp_path / "held.jsonl", chat("Bees now?", OTHER))
    given = ("check", data, "-t", "builtin:chatml", "--select", "DUP004,DUP005", "--fail-on", "warning", "--jobs", "1")
    assert checked(*given) == 0 and "DUP004" not in capsys.readouterr().out
    assert checked(*given, "--near-duplicates", "0.8", "--eval", held) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert "DUP004 rows are nearly the same" in out and "row 2: it and row 0 have 91 % of their three-word" in out
    assert "row 1: it and held.jsonl line 1 have 90 % of their three-word sequences in common" in out
    report = sftui.check(data, tokenizer="builtin:chatml", select=["DUP004"], near_duplicates=0.8)
    assert [(one.code, one.rows) for one in report.findings] == [("DUP004", (2,))]
    assert sftui.check(data, tokenizer="builtin:chatml", select=["DUP004"], near_duplicates=0.95).findings == ()
    with pytest.raises(SftuiError, match="near_duplicates=2 is not a share"):
        sftui.check(data, tokenizer="builtin:chatml", near_duplicates=2)


def test_rows_that_the_trainer_sets_aside_are_an_evaluation_set(tmp_path: Path) -> None:
    pytest.importorskip("rensa")
    rows = [chat(f"What of it, {n}?", f"{SAID} {' '.join(Random(n).sample(OTHER.split(), 9))}") for n in range(6)]
    data = written(tmp_path / "rows.jsonl", *[one for row in rows for one in (row, {**row, "id": 1})])
    given: dict[str, Any] = {"tokenizer": "builtin:chatml", "trainer": "llamafactory", "set": {"own.val_size": 3}}
    with sftui.open(data, **given) as opened:
        aside = [number for number, row in enumerate(opened) if row.evaluates]
        report = opened.check(select=["DUP004", "DUP005"], near_duplicates=0.8)
    found = {one.code: set(one.rows) for one in report.findings}
    assert len(aside) == 3 and found["DUP005"] and not found["DUP005"] & {*aside}
    assert not found.get("DUP004", set()) & {*aside}


def test_without_rensa_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "rensa", None)
    with pytest.raises(SftuiError, match="rensa, which is not installed") as raised:
        NearRows(0.8)
    assert raised.value.fix == "pip install 'sftui[near]'"
