"""AutoTokenizer in another Python: the engine over a pipe, and what becomes of its process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from sftui.errors import TokenizerError
from sftui.tokens import load_tokenizer
from sftui.tokens.facts import TokenizerFacts, from_json
from sftui.tokens.loaded import RefusedText
from sftui.tokens.loading import process, prove
from sftui.tokens.loading.compare import wanted
from sftui.tokens.loading.environments import Environment, own_environment
from sftui.tokens.loading.four import MORE
from sftui.tokens.loading.locate import locate
from sftui.tokens.loading.process import PipedEngine, TokenizerProcess

pytestmark = pytest.mark.processes
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
    asked = TokenizerProcess(own_environment(), locate(str(make_folder("llama3"))))
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
    asked = TokenizerProcess(fake(tmp_path), locate("builtin:chatml"))
    first = asked.encode(["x"], False)[0][0]
    with pytest.raises(TokenizerError, match="ended with"):
        asked.encode(["die"], False)
    assert asked.encode(["x"], False)[0][0] != first
    asked.close()
    assert gone(first[0])


def test_one_that_never_answers_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = TokenizerProcess(fake(tmp_path), locate("builtin:chatml"))
    pid = asked.encode(["x"], False)[0][0][0]
    with pytest.raises(TokenizerError, match="took longer than 1 seconds and was stopped"):
        asked.encode(["sleep"], False, 1.0)
    assert gone(pid)
    asked.close()


def test_a_proof_that_hangs_says_so(make_folder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prove, "LIMIT", prove.LIMIT / 2100)
    with pytest.raises(TokenizerError, match=r"took longer than 0 seconds and was stopped.*normalizer"):
        load_tokenizer(str(make_folder("chatml")))


CALLER = """
import sys
from pathlib import Path
from sftui.tokens.loading.environments import own_environment
from sftui.tokens.loading.locate import locate
from sftui.tokens.loading import process
process.SCRIPT = Path(sys.argv[1])
asked = process.TokenizerProcess(own_environment(), locate("builtin:chatml"))
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


def test_the_code_of_a_folder_is_not_run_and_nothing_is_asked(make_folder: Any, tmp_path: Path) -> None:
    """transformers would ask on stdin whether to run it: the answer is no, whether it has the class or not."""
    ran = tmp_path / "ran"
    for kind in ("PreTrainedTokenizerFast", "Y"):
        mapped = {"auto_map": {"AutoTokenizer": ["x.Y", "x.Y"]}, "tokenizer_class": kind}
        folder = make_folder("chatml", f"asks-{kind}", mapped)
        (folder / "x.py").write_text(
            f"open({str(ran)!r}, 'w').close()\nfrom transformers import TokenizersBackend as Y\n"
        )
        asked = TokenizerProcess(own_environment(), locate(str(folder)))
        try:
            if kind == "Y":
                with pytest.raises(TokenizerError, match="never runs"):
                    asked.load()
            else:
                assert json.loads(asked.load()["backend"])["model"]
        finally:
            asked.close()
        assert not ran.exists()


def test_what_a_library_prints_does_not_reach_the_answers(make_folder: Any, tmp_path: Path) -> None:
    """A Python whose start prints, and whose libraries print while they load: each answer is still one line of JSON."""
    site = tmp_path / "site"
    (site / "transformers").mkdir(parents=True)
    (site / "transformers" / "__init__.py").write_text(
        "import os\nprint('noise on stdout')\nos.write(1, b'noise on the descriptor\\n')\n"
        "assert os.read(0, 1) == b''\n"
        "class AutoTokenizer:\n    @staticmethod\n    def from_pretrained(*a, **k):\n"
        "        print('more noise')\n        raise ValueError('as planned')\n"
    )
    (site / "transformers" / "utils.py").write_text(
        "class logging:\n    CRITICAL = 50\n    set_verbosity = staticmethod(print)\n"
    )
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={site} exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    asked = TokenizerProcess(Environment(python, {"transformers": "0"}, "--env"), locate(str(make_folder("chatml"))))
    try:
        with pytest.raises(TokenizerError, match="as planned"):
            asked.load()
    finally:
        asked.close()


def test_a_probe_that_the_tokenizer_refuses_does_not_refuse_the_tokenizer() -> None:
    """CodeLlama's refuses two `<FILL_ME>` in one text, and the probes have them."""

    class Choosy:
        def encode(self, texts: Sequence[str], special: bool) -> list[list[Any]]:
            if any(text.count("<FILL_ME>") > 1 for text in texts):
                raise RefusedText("the text cannot be tokenized", why="too many values to unpack (expected 2)")
            return [[[1], [[0, 1]], [0]] for _ in texts]

    assert wanted(Choosy(), ["a", "<FILL_ME><FILL_ME>"])[0] == [[[1], [[0, 1]], [0]], [None, None, None]]
    with pytest.raises(RefusedText):
        wanted(Choosy(), ["<FILL_ME><FILL_ME>"])


def test_lists_of_special_tokens_reach_templates() -> None:
    """transformers 4 hands them over (`special_tokens_map`), 5 does not."""
    facts = TokenizerFacts("t", special_tokens={"bos_token": "<s>"}, special_lists={MORE: ("<a>", "<b>")})
    again = from_json(json.loads(json.dumps(facts.to_json())))
    assert again == facts and again.template_tokens == {"bos_token": "<s>", MORE: ["<a>", "<b>"]}
