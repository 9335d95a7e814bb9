"""`sftui verify` against the real, installed trainers (marker parity).

The config that sftui writes is what the trainer is given, so an equal row also proves the round trip:
recipe → config → the trainer's own parser → the ids and labels shown.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from case import python_of
from staying_runner import runner_stays  # noqa: F401 — of every test here

from sftui.cli import main
from sftui.runs import labelled

pytestmark = pytest.mark.parity
TRL = python_of("trl", "1.16.0")
TURNS = [("user", "What is 2+2?"), ("assistant", "The answer is 4."), ("user", "Add 3"), ("assistant", "seven")]
PLAIN: tuple[str, ...] = ()

SETTINGS: dict[str, tuple[str, list[tuple[str, ...]]]] = {
    "trl": (
        "1.16.0",
        [
            PLAIN,
            ("--max-length", "12", "--set", "length.over=cut_left"),
            ("--set", "pack.strategy=bfd", "--max-length", "40"),
        ],
    ),
    "axolotl": (
        "0.19.0",
        [PLAIN, ("--set", "own.train_on_eos=all", "--set", "length.max=20", "--set", "length.over=cut_right")],
    ),
    "llamafactory": (
        "0.9.5",
        [("--set", "render.template=llamafactory/qwen"), ("--set", "mask.turns=last", "--max-length", "64")],
    ),
    "unsloth": (
        "2026.10.9",
        [("--set", "mask.rule=markers"), ("--set", "mask.rule=markers", "--set", "mask.turns=last")],
    ),
    "torchtune": ("0.6.1", [("--set", "length.max=32")]),
}


@pytest.fixture
def chats(tmp_path: Path) -> Path:
    path = tmp_path / "chats.jsonl"
    rows = [
        {"messages": [{"role": role, "content": f"{text} {n}"} for role, text in TURNS[:size]]}
        for n in range(6)
        for size in (2, 4)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def verify(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as done:
        main(["verify", *map(str, words)])
    out, err = capsys.readouterr()
    return int(done.value.code or 0), out, err


@pytest.mark.parametrize(
    ("trainer", "number"), [(name, i) for name, (_, settings) in SETTINGS.items() for i in range(len(settings))]
)
def test_the_written_config_gives_what_is_shown(
    chats: Path, capsys: pytest.CaptureFixture[str], trainer: str, number: int
) -> None:
    version, settings = SETTINGS[trainer]
    python = python_of(trainer, version)
    if not python.exists():
        pytest.skip(f"{trainer}@{version} has no environment: run tests/parity/environments.py {trainer}")
    code, out, err = verify(
        capsys, chats, "-t", "builtin:chatml", "--trainer", trainer, "--python", python, *settings[number]
    )
    assert code == 0, out + err
    units = out.splitlines()[-1]
    assert "equal to" in units and not units.startswith("0 ")


@pytest.mark.parametrize("trainer", SETTINGS)
def test_a_weight_is_no_more_than_on_or_off(tmp_path: Path, capsys: pytest.CaptureFixture[str], trainer: str) -> None:
    """What LAB016 says of weights, and of the one trainer that reads them at all, is what the trainers do."""
    python = python_of(trainer, SETTINGS[trainer][0])
    if not python.exists():
        pytest.skip(f"{trainer} has no environment: run tests/parity/environments.py {trainer}")
    data = tmp_path / "weights.jsonl"
    first, answer, *rest = ({"role": role, "content": text} for role, text in TURNS)
    rows = [{"messages": [first, {**answer, "weight": weight}, *rest]} for weight in (0.5, -1.0, 2.0, 0.0)]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = [data, "-t", "builtin:chatml", "--trainer", trainer]
    if trainer == "axolotl":
        words += ["--set", "data.message_keys={train_flag: weight}"]
    code, out, err = verify(capsys, *words, "--python", python)
    assert code == 0 and out.startswith("4 of 4 rows equal"), out + err
    with pytest.raises(SystemExit):
        main([*map(str, ("check", *words)), "--select", "LAB016", "--format", "json"])
    [found] = json.loads(capsys.readouterr().out)["codes"]
    assert (found["code"], found["rows"]) == ("LAB016", [0, 1, 2])


@pytest.mark.skipif(not TRL.exists(), reason="trl@1.16.0 has no environment: run tests/parity/environments.py trl")
def test_a_broken_rule_is_found_by_row_and_token(
    chats: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from sftui.trainers.trl.trainer import Trl

    right = Trl.label

    def broken(self: Any, *given: Any) -> Any:
        tokens, labels = right(self, *given)
        values = (*labels.labels[:5], -100, *labels.labels[6:])
        return tokens, replace(labels, values=values, ranges=labelled(values))

    monkeypatch.setattr(Trl, "label", broken)
    code, out, err = verify(capsys, chats, "-t", "builtin:chatml", "--trainer", "trl", "--python", TRL, "--rows", "3")
    assert code == 1, out + err
    assert out.startswith("row 0, token 5 ") and "sftui masks it (-100)" in out and "0 of 3 rows equal" in out
