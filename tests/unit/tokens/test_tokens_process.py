"""AutoTokenizer in another Python: the engine over a pipe, and what becomes of its process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from sftui.errors import TokenizerError
from sftui.tokens import load_tokenizer, process
from sftui.tokens.environments import Environment, own_environment
from sftui.tokens.locate import locate
from sftui.tokens.process import AskedProcess, PipedEngine

TEXTS = ["Hello ✂️\n<|eot_id|>", "", " 好 ", "x" * 300]
TOLD: dict[str, Any] = {"is_fast": True, "special_ids": [], "added": [], "backend": "{}"}
ANSWERS = """
import json, os, sys, time
for line in sys.stdin:
    asked = json.loads(line)
    if "load" in asked:
        told = {"versions": {}, "backend": "{}", "is_fast": True}
    elif asked.get("encode") == ["sleep"]:
        time.sleep(600)
    elif asked.get("encode") == ["die"]:
        os._exit(3)
    else:
        told = {"rows": [[[os.getpid()], [[0, 1]], [0]] for _ in asked["encode"]]}
    print(json.dumps(told), flush=True)
"""


def fake(tmp_path: Path, source: str = ANSWERS) -> Environment:
    """An environment whose python runs `source` whatever script it is given."""
    (tmp_path / "fake.py").write_text(source)
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -u {tmp_path / "fake.py"} "$@"\n')
    python.chmod(0o755)
    return Environment(python, {"transformers": "0.1"}, "test")


def gone(pid: int) -> bool:
    for _ in range(600):
        try:
            os.kill(pid, 0)
            state = Path(f"/proc/{pid}/stat")
            if state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.1)
    return False


def test_the_piped_engine_is_the_tokenizer(make_folder: Any) -> None:
    asked = AskedProcess(own_environment(), locate(str(make_folder("llama3"))))
    engine, known = PipedEngine(asked), load_tokenizer("builtin:llama3").engine
    try:
        for special in (False, True):
            assert engine.encode_batch(TEXTS, special) == known.encode_batch(TEXTS, special)
        assert engine.decoding == known.decoding
        assert engine.added() == known.added()
        assert [engine.piece(i) for i in (0, 700, 10**6)] == [known.piece(i) for i in (0, 700, 10**6)]
        assert engine.token_id("<|eot_id|>") == known.token_id("<|eot_id|>") and engine.token_id("nothing") is None
    finally:
        asked.close()


def test_a_process_that_ends_is_told_and_started_again(tmp_path: Path) -> None:
    asked = AskedProcess(fake(tmp_path), locate("builtin:chatml"))
    first = asked.encode(["x"], False)[0][0]
    with pytest.raises(TokenizerError, match="ended with"):
        asked.encode(["die"], False)
    assert asked.encode(["x"], False)[0][0] != first
    asked.close()
    assert gone(first[0])


def test_one_that_never_answers_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = AskedProcess(fake(tmp_path), locate("builtin:chatml"))
    pid = asked.encode(["x"], False)[0][0][0]
    with pytest.raises(TokenizerError, match="took longer than 1 seconds, and was ended"):
        asked.encode(["sleep"], False, 1.0)
    assert gone(pid)
    asked.close()


def test_a_proof_that_hangs_says_so(make_folder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sftui.tokens.prove.LIMIT", 0.2)
    with pytest.raises(TokenizerError, match=r"took longer than 0 seconds, and was ended.*normalizer"):
        load_tokenizer(str(make_folder("chatml")))


CALLER = """
import sys
from pathlib import Path
from sftui.tokens.environments import own_environment
from sftui.tokens.locate import locate
from sftui.tokens import process
process.SCRIPT = Path(sys.argv[1])
asked = process.AskedProcess(own_environment(), locate("builtin:chatml"))
print(asked.ask({"encode": ["x"], "special": False})["rows"][0][0][0], flush=True)
asked.ask({"encode": ["sleep"], "special": False})
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the process watches by forking")
def test_what_hangs_does_not_outlive_a_killed_caller(tmp_path: Path) -> None:
    """`stay_with_caller` of the script, over a child that does not look at its stdin."""
    script = tmp_path / "script.py"
    home = str(Path(process.__file__).parent)
    script.write_text(
        f"import sys\nsys.path.insert(0, {home!r})\nimport autotokenizer\nautotokenizer.stay_with_caller()\n" + ANSWERS
    )
    for _ in range(5):
        with subprocess.Popen(
            [sys.executable, "-c", CALLER, str(script)], stdout=subprocess.PIPE, text=True, start_new_session=True
        ) as caller:
            assert caller.stdout is not None
            pid = int(caller.stdout.readline())
            caller.send_signal(signal.SIGKILL)
        assert gone(pid)


def test_what_a_tokenizer_prints_or_asks_reaches_nobody(make_folder: Any) -> None:
    """A folder that asks to run its own code gets no answer, and the protocol stays clean."""
    folder = make_folder("chatml", config={"auto_map": {"AutoTokenizer": ["x.Y", None]}, "tokenizer_class": "Y"})
    asked = AskedProcess(own_environment(), locate(str(folder)))
    try:
        told = asked.load()
        assert told["backend"] and json.loads(told["backend"])
    except TokenizerError as error:
        assert "never runs" in str(error)
    finally:
        asked.close()
