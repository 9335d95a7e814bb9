"""Public reports of trouble with fine-tuning data, rebuilt as small inputs of our own (`*.yaml`), and what is said of
them.

A case names its `source` and the `trainer` it is of (none: a loop of one's own), says `what` the input is and what
`right` output says, holds the input as `files`, and lists `runs`: the words of a command, the exit codes that are right
(any where there are none), and patterns that its output must and must not have. They are searched in standard error and
then standard output, in upper or lower case alike, with every run of white space, seen or drawn, as one blank.
`{testdata}` is that of ../shared, `{qwen}` and `{templates}` are parts of it. What the real trainers do of them:
`parity/test_parity_cases.py`.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from sftui.cli import main
from sftui.safe_yaml import load_yaml

HERE = Path(__file__).parent
CASES = sorted(path.stem for path in HERE.glob("*.yaml"))
PARTS = {"{testdata}": "", "{qwen}": "tokenizers/qwen2.5", "{templates}": "templates"}


def read(name: str) -> dict[str, Any]:
    case = load_yaml((HERE / f"{name}.yaml").read_text(encoding="utf-8"))
    assert isinstance(case, dict) and set(case) == {"source", "trainer", "what", "right", "files", "runs"}
    return case


def words_of(run: dict[str, Any]) -> list[str]:
    args = run["args"]
    return shlex.split(args) if isinstance(args, str) else [str(word) for word in args]


def placed(word: str, testdata: Path) -> str:
    for name, part in PARTS.items():
        word = word.replace(name, str(testdata / part))
    return word


def wrong(run: dict[str, Any], code: int, text: str) -> list[str]:
    """What is wrong with the output of a run, in words."""
    flat = re.sub(r"(?:[\s␣⏎⟦⟧]|(?<=\n)[░▒█✂?] )+", " ", text)
    found = [] if code in run.get("exit", [code]) else [f"exit {code}"]
    found += [f"missing /{pattern}/" for pattern in run.get("must", []) if not re.search(pattern, flat, re.I)]
    for pattern in [*run.get("must_not", []), "this is a bug"]:
        if hit := re.search(pattern, flat, re.I):
            found.append(f"has {hit.group(0)[:80]!r} of /{pattern}/")
    return found


@pytest.mark.one_of(2)
@pytest.mark.parametrize("name", CASES)
def test_what_a_report_describes_is_said(
    name: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    case = read(name)
    needs = any(part in word for run in case["runs"] for word in words_of(run) for part in PARTS)
    testdata = request.getfixturevalue("shared") / "testdata" if needs else tmp_path
    for file, text in case["files"].items():
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    faults = []
    for run in case["runs"]:
        words = [placed(word, testdata) for word in words_of(run)]
        with pytest.raises(SystemExit) as ended:
            main(words)
        out, err = capsys.readouterr()
        faults += [
            f"{shlex.join(words)}: {fault}\n{err}{out}" for fault in wrong(run, int(ended.value.code or 0), err + out)
        ]
    assert not faults, f"{case['right']}\n" + "\n".join(faults)
