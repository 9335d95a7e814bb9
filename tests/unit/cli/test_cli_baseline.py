"""A baseline: what it knows stays known while rows come and go, and nothing new hides behind it."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest

from sftui.tokens import builtin
from sftui.trainers.versions import running_version

Sftui = Callable[..., Any]


def talk(question: str, answer: str = "Yes.", **more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": question}, {"role": "assistant", "content": answer}], **more}


def lines(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def codes(done: Any) -> set[str]:
    return {one["code"] for one in json.loads(done.out)["codes"]}


DEFECTS = Path(__file__).resolve().parents[3] / "sample_data" / "defects.jsonl"
PACKED = ("--trainer", "trl", "--set", "pack.strategy=wrapped", "--max-length", "40")
FIRST = [talk(f"{word}?" * 3, word * 9) for word in ("one", "two", "three", "four", "five", "six")]
LATER = [
    talk("An entirely new question is this?", "nine ten eleven"),
    talk("And one more?", "The end of it all, for good. " * 4),
]


@pytest.mark.parametrize(
    ("words", "needed"),
    [
        ((), {"EOS008"}),
        (PACKED, {"PAC003"}),
        ((*PACKED, "--set", "mask.rule=all"), {"PAC003"}),
        (
            ("--trainer", "trl", "--set", "pack.strategy=wrapped", "--max-length", "60", "--template", "bare.jinja"),
            {"PAC006", "PAC003"},
        ),
    ],
)
def test_the_set_up_stays_known_when_rows_come_and_move(
    sftui: Sftui,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    needed: set[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bare.jinja").write_text("{% for m in messages %}{{ m.role }}: {{ m.content }} {% endfor %}")
    path = lines(tmp_path / "rows.jsonl", *FIRST)
    given = (
        "check",
        path,
        "-t",
        "builtin:chatml",
        "--baseline",
        tmp_path / "known.json",
        *words,
        "--select",
        "EOS,PAC,TOO,TPL,PAD,GEN,BND",
    )
    assert needed <= codes(sftui(*given[:4], *words, "--format", "json"))
    assert sftui(*given, "--write-baseline").code == 0
    for rows in (FIRST + LATER, LATER + FIRST, FIRST[3:]):
        lines(path, *rows)
        done = sftui(*given, "--format", "json", "--fail-on", "warning")
        found = [one["sentence"] for one in json.loads(done.out)["findings"] if one["row"] is None]
        assert found == [], rows


def test_another_leak_is_not_hidden_by_a_known_one(sftui: Sftui, tmp_path: Path) -> None:
    path, held = (
        lines(tmp_path / "rows.jsonl", FIRST[0], FIRST[1]),
        lines(tmp_path / "held.jsonl", FIRST[1], FIRST[2], FIRST[3]),
    )
    given = (
        "check",
        path,
        "-t",
        "builtin:chatml",
        "--eval",
        held,
        "--baseline",
        tmp_path / "known.json",
        "--fail-on",
        "warning",
        "--select",
        "DUP",
    )
    assert sftui(*given, "--write-baseline").code == 0
    for rows in ([FIRST[0], FIRST[1]], [FIRST[1], FIRST[0], FIRST[4]], [FIRST[4]]):
        lines(path, *rows)
        assert sftui(*given).code == 0
    lines(path, *FIRST[:3])
    done = sftui(*given, "--format", "json")
    assert done.code == 1 and codes(done) == {"DUP002"}
    assert json.loads(done.out)["findings"][0]["sentence"].endswith("; the baseline has 1 of 2")


def test_every_repeated_conversation_answer_and_column_has_its_own_mark(sftui: Sftui, tmp_path: Path) -> None:
    fine = [talk(f"Question {i}?", f"Answer {i}.") for i in range(60)]
    known = [*fine, FIRST[0], FIRST[0], talk("Why?", "A."), talk("Why?", "B."), talk("Rare?", "C.", rare=1)]
    path = lines(tmp_path / "rows.jsonl", *known)
    given = (
        "check",
        path,
        "-t",
        "builtin:chatml",
        "--baseline",
        tmp_path / "known.json",
        "--format",
        "json",
        "--select",
        "DUP,CON013",
    )
    assert codes(sftui(*given[:4], "--format", "json")) >= {"DUP001", "DUP003", "CON013"}
    assert sftui(*given, "--write-baseline").code == 0
    assert codes(sftui(*given)) == set()
    for more, code in (
        ([FIRST[1], FIRST[1]], "DUP001"),
        ([talk("Why?", "D.")], "DUP003"),
        ([talk("Rarer?", "E.", rarer=2)], "CON013"),
    ):
        lines(path, *known, *more)
        assert codes(sftui(*given)) == {code}, code
    lines(path, *known, *fine[:0], FIRST[0], talk("Another?", "F.", rare=3))
    assert codes(sftui(*given)) == set(), "more of the same is known"


def test_several_processes_write_the_same_baseline(
    sftui: Sftui, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sftui.session.checking.SPAWNED", 1)
    rows = [talk(f"{i % 170}?", f"{i % 170}. ") for i in range(400)]
    path, held = lines(tmp_path / "rows.jsonl", *rows), lines(tmp_path / "held.jsonl", *rows[:9])
    given = ("check", path, "-t", "builtin:chatml", "--eval", held, "--write-baseline")
    for jobs in ("1", "2"):
        assert sftui(*given, "--jobs", jobs, "--baseline", tmp_path / f"known{jobs}.json").code == 0
    one, two = (json.loads((tmp_path / f"known{jobs}.json").read_text()) for jobs in ("1", "2"))
    assert one == two and (len(one["findings"]["DUP001"]), len(one["findings"]["DUP002"])) == (170, 9)


def test_an_older_baseline_is_read_and_what_it_no_longer_knows_is_told(sftui: Sftui, tmp_path: Path) -> None:
    """Version 1: rows as now, the set-up by its whole sentence, the dataset by its code."""
    path = lines(tmp_path / "rows.jsonl", talk("One?", "yes "), talk("One?", "yes "))
    given = ("check", path, "-t", "builtin:chatml", "--baseline", tmp_path / "known.json", "--format", "json")
    assert sftui(*given, "--write-baseline").code == 0
    made = json.loads((tmp_path / "known.json").read_text())
    assert made["version"] == 2

    def old(*parts: str) -> str:
        return blake2b("\0".join(parts).encode(), digest_size=8).hexdigest()

    made["version"] = 1
    made["findings"]["DUP001"] = [old("DUP001")]
    made["findings"]["EOS008"] = [old("EOS008", "in 2 of 2 sampled rows …")]
    (tmp_path / "known.json").write_text(json.dumps(made))
    done = sftui(*given)
    assert codes(done) == {"DUP001", "EOS008"} and done.err.count("\n") == 1
    assert "no longer recognises DUP001, EOS008" in done.err and "--write-baseline" in done.err
    made["version"] = 3
    (tmp_path / "known.json").write_text(json.dumps(made))
    assert "an unsupported version" in sftui(*given).err


def test_a_baseline_says_whose_ids_it_knows(sftui: Sftui, tmp_path: Path) -> None:
    folder = tmp_path / "tokenizer"
    shutil.copytree(builtin.folder("chatml"), folder)
    known = tmp_path / "known.json"
    given = ("check", lines(tmp_path / "rows.jsonl", *FIRST), "-t", folder, "--baseline", known)
    assert sftui(*given, "--write-baseline").code == 0
    made = json.loads(known.read_text())
    assert made["tokenizer"]["transformers"] == running_version() and len(made["tokenizer"]["backend"]) == 64
    assert "rewrite it with --write-baseline" not in sftui(*given).err
    for changes, told in (
        ({"tokenizer": None}, "does not record which version's ids it was written with"),
        (
            {"tokenizer": {**made["tokenizer"], "transformers": "5.6.0"}},
            "token ids from transformers 5.6.0; these are from",
        ),
        ({"tokenizer": {**made["tokenizer"], "backend": "0" * 64}}, "was written with a different tokenizer"),
    ):
        changed = {key: value for key, value in {**made, **changes}.items() if value is not None}
        known.write_text(json.dumps(changed))
        done = sftui(*given)
        assert told in done.err and "rewrite it with --write-baseline" in done.err
        assert done.code == 0, "what is known stays known"


OFTEN = [talk(f"Why {n}?", " Yes.") for n in range(3)] + [talk(f"Why {n}?") for n in range(3, 40)]
CODE = ("--select", "CON004", "-t", "builtin:chatml", "--fail-on", "warning")


@pytest.mark.parametrize(
    ("rate", "fails"),
    [
        ("CON004=7.5%", False),
        ("CON004=0.075", False),
        ("CON004=100%", False),
        ("CON004=7.4%", True),
        ("CON=0", True),
        ("TRU=100%", True),
    ],
)
def test_a_code_fails_by_its_share_of_rows(sftui: Sftui, tmp_path: Path, rate: str, fails: bool) -> None:
    data = lines(tmp_path / "rows.jsonl", *OFTEN)
    done = sftui("check", data, *CODE, "--max-rate", rate)
    assert done.code == int(fails)
    assert ("CON004 is in 7.500% of rows, and --max-rate allows" in done.err) == (fails and rate[:3] == "CON")
    assert sftui("check", data, *CODE, "--fail-on", "never", "--max-rate", rate).code == int(
        fails and rate[:3] == "CON"
    )


@pytest.mark.parametrize("rate", ["CON004", "CON004=", "CON004=much", "CON004=-1%", "CON004=101%", "XYZ=1%", "=1%"])
def test_a_rate_that_is_none_is_refused(sftui: Sftui, tmp_path: Path, rate: str) -> None:
    done = sftui("check", lines(tmp_path / "rows.jsonl", *OFTEN), *CODE, "--max-rate", rate)
    assert done.code == 2 and "--max-rate" in done.err


def test_a_rate_is_held_against_the_baseline_whatever_the_rows(sftui: Sftui, tmp_path: Path) -> None:
    """Rows that are all new have the code as often as those of the baseline, and then more often."""
    data, baseline = lines(tmp_path / "rows.jsonl", *OFTEN), tmp_path / "known.json"
    by_rate = ("--baseline", baseline, "--max-rate", "CON=baseline")
    assert sftui("check", data, *CODE, "--baseline", baseline, "--write-baseline").code == 0
    assert json.loads(baseline.read_text())["rates"] == {"CON004": 0.075}
    lines(data, *[talk(f"How {n}?", "  No.") for n in range(3)], *[talk(f"How {n}?") for n in range(3, 40)])
    assert sftui("check", data, *CODE, "--baseline", baseline).code == 1
    assert sftui("check", data, *CODE, *by_rate).code == 0
    lines(data, *OFTEN, talk("And?", " So."))
    assert sftui("check", data, *CODE, *by_rate).code == 1
    baseline.write_text(json.dumps({"version": 2, "findings": {}}))
    refused = sftui("check", data, *CODE, *by_rate)
    assert refused.code == 2 and "no rates" in refused.err
    refused = sftui("check", data, *CODE, "--max-rate", "CON=baseline")
    assert refused.code == 2 and "needs a baseline" in refused.err


def test_as_many_are_recorded_as_are_known_then(sftui: Sftui, tmp_path: Path) -> None:
    given = ("check", DEFECTS, "-t", "builtin:chatml", "--trainer", "axolotl", "--baseline", tmp_path / "known.json")
    recorded, known = sftui(*given, "--write-baseline"), sftui(*given)
    number = re.search(r"([\d,]+) findings are recorded", recorded.err)
    assert number is not None and f" {number[1]} known from the baseline" in known.out
