"""Every bomb ends in a sentence, or renders within the bound; on request each one through the commands as well.

The test command throws a share of them; all go off in the lane `long` of `.ci/run`.

`SFTUI_BOMBS=all` runs every bomb in `show`, `check`, `report` and `template`, and a share of them in `encode`, with the
bound that users have: about an hour.
"""

from __future__ import annotations

import json
import os
import pickle
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest
from bombs import BOMBS, FAMILIES

from sftui import bound
from sftui.errors import TemplateError
from sftui.templates import compile_template

MESSAGES = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}]
SFTUI = Path(sys.executable).parent / "sftui"
CHATML = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
GIGABYTE = 1 << 30
SUPERVISOR = 60 << 20
"""Bytes that the process above the one that works holds at most."""
ALL = os.environ.get("SFTUI_BOMBS") == "all"


def told_by(source: str) -> tuple[str, int]:
    """What a bounded child says of rendering the template, empty where it renders; the most bytes it held."""
    page = bound.anonymous_page()
    read, write = os.pipe()
    own = bound.resident(os.getpid()) or 0
    child = os.fork()
    if child == 0:
        said = ""
        try:
            bound.enter(page)
            compile_template(source, "bomb").text(MESSAGES, variables={"bos_token": "<s>"})
        except TemplateError as error:
            said = str(error)
            assert pickle.loads(pickle.dumps(error)).what == error.what
        except BaseException as error:
            said = f"not told: {error!r}"
        finally:
            os.write(write, said.encode("utf-8", "replace")[:60_000])
            os._exit(0)
    os.close(write)
    watch = bound.Watch(page, child)
    until = time.monotonic() + 120
    while True:
        pid, status, usage = os.wait4(child, os.WNOHANG)
        if pid:
            break
        if watch.look() or time.monotonic() > until:
            os.kill(child, 9)
        time.sleep(0.01)
    with os.fdopen(read, encoding="utf-8") as pipe:
        said = pipe.read()
    code = os.waitstatus_to_exitcode(status)
    if code != 0:
        overrun = watch.overrun(-code)
        assert overrun is not None, f"it ended with {code}"
        said = overrun.why
    return said, usage.ru_maxrss * 1024 - own  # a fork begins with all that this process holds


def test_there_are_as_many_bombs_as_were_thrown() -> None:
    assert len(BOMBS) == sum(map(len, FAMILIES.values())) >= 193
    assert len(set(BOMBS.values())) == len(BOMBS)


def one_of(number: int) -> pytest.MarkDecorator:
    """The mark of that name; with `SFTUI_BOMBS=all` every case is for the test command."""
    return pytest.mark.one_of(1 if ALL else number)


@one_of(48)
@pytest.mark.parametrize("name", sorted(BOMBS))
def test_a_bomb_ends_in_a_sentence_or_within_the_bound(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bound, "SECONDS", 0.5)
    said, most = told_by(BOMBS[name])
    assert most < GIGABYTE
    assert len(said) < 1500 and "\x1b" not in said and not said.startswith("not told")


def most_allowed() -> int:
    """A gigabyte, or what this process has ever held: Linux counts that for what it starts as well."""
    return max(GIGABYTE, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 + SUPERVISOR + 1)


def _show(words: list[str], folder: Path) -> tuple[int, str, int, float]:
    """Exit code, output, the most memory of the whole tree and its processor seconds."""
    out = folder / "out.txt"
    with out.open("wb") as file:
        process = subprocess.Popen(
            [str(SFTUI), *words], stdout=file, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    text = out.read_bytes().decode("utf-8", "replace")
    return process.returncode, text, usage.ru_maxrss * 1024 + SUPERVISOR, usage.ru_utime + usage.ru_stime


def _check(code: int, text: str, memory: int, seconds: float) -> None:
    assert code in (0, 1, 2), text
    assert memory < most_allowed()
    assert seconds < 10
    assert "Traceback" not in text and "this is a bug" not in text and "ended by SIG" not in text, text[-2000:]
    assert not any(char < " " and char not in "\n" for char in text)


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    texts = ["one", "boom", "three"]
    path.write_text(
        "".join(json.dumps({"messages": [{**MESSAGES[0], "content": text}, MESSAGES[1]]}) + "\n" for text in texts)
    )
    return path


@one_of(3)
@pytest.mark.parametrize("name", sorted(BOMBS)[:: 1 if ALL else 84])
def test_a_bomb_in_show(name: str, rows: Path, tmp_path: Path) -> None:
    template = tmp_path / "bomb.jinja"
    template.write_text(BOMBS[name], encoding="utf-8")
    words = ["show", str(rows), "-t", "builtin:chatml", "--template", str(template), "--row", "1"]
    begun = time.monotonic()
    code, text, memory, seconds = _show(words, tmp_path)
    with open(os.environ.get("SFTUI_BOMBS_LOG", os.devnull), "a", encoding="utf-8") as log:
        log.write(f"{name}\t{code}\t{memory >> 20}\t{seconds:.1f}\t{time.monotonic() - begun:.1f}\t{text[:300]!r}\n")
    _check(code, text, memory, seconds)
    assert text.strip()


LONG_TEXT = "operations/long_text"
"""What a template makes of a row is no reason to allow more memory for it: many rows are encoded together."""


def of_one_row(name: str) -> bool:
    """Whether it goes off in the row that it is asked of, not for every row alike."""
    return not name.startswith("compiling/") and "{% block" not in BOMBS[name] and "{% import" not in BOMBS[name]


OTHERS = [name for name in sorted(BOMBS)[3 :: 12 if ALL else 84] if of_one_row(name)]


@pytest.mark.parametrize("name", [LONG_TEXT, *(pytest.param(name, marks=one_of(4)) for name in OTHERS)])
def test_the_other_rows_of_a_bombed_file_are_written(name: str, rows: Path, tmp_path: Path) -> None:
    bomb = BOMBS[name]
    template = tmp_path / "bomb.jinja"
    template.write_text("{% if 'boom' in messages[0].content %}" + bomb + "{% endif %}" + CHATML, encoding="utf-8")
    words = ["encode", str(rows), "-t", "builtin:chatml", "--template", str(template), "-o", "-"]
    code, text, memory, seconds = _show(words, tmp_path)
    _check(code, text, memory, seconds)
    made = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    assert [one["row"] for one in made] == [0, 1, 2]
    assert made[0]["input_ids"] and made[2]["input_ids"]


@one_of(6)
@pytest.mark.parametrize("command", ["check", "report", "template"])
@pytest.mark.parametrize("name", sorted(BOMBS)[:: 1 if ALL else 126])
def test_a_bomb_in_other_commands(name: str, command: str, rows: Path, tmp_path: Path) -> None:
    template = tmp_path / "bomb.jinja"
    template.write_text(BOMBS[name], encoding="utf-8")
    words = [command, str(rows), "-t", "builtin:chatml", "--template", str(template)]
    more = {"template": ["--add-generation-tags"], "report": ["-o", str(tmp_path / "report.html")]}
    code, text, memory, seconds = _show([*words, *more.get(command, [])], tmp_path)
    assert code in (0, 1, 2) and memory < most_allowed() and seconds < 10, text
    assert "Traceback" not in text and "this is a bug" not in text and "\x1b" not in text


@pytest.mark.long
@pytest.mark.parametrize("where", ["tokenizer", "row"])
def test_a_bomb_in_a_tokenizer_or_in_the_data(where: str, rows: Path, tmp_path: Path) -> None:
    bomb = BOMBS["no_tick/select_in"]
    words = ["show", str(rows), "-t", "builtin:chatml"]
    if where == "row":
        row = {"messages": MESSAGES, "chat_template_kwargs": {"width": 10**10}}
        rows = tmp_path / "rows.jsonl"
        rows.write_text(json.dumps(row) + "\n")
        template = tmp_path / "t.jinja"
        template.write_text("{{ 'a' * (width or 1) }}{{ range(width or 1) | list | length }}" + CHATML)
        words = ["show", str(rows), "-t", "builtin:chatml", "--template", str(template)]
    else:
        from sftui.tokens import locate

        folder = tmp_path / "tokenizer"
        folder.mkdir()
        builtin = locate.locate("builtin:chatml", None).path
        assert builtin is not None
        (folder / "tokenizer.json").write_bytes((builtin / "tokenizer.json").read_bytes())
        config = {"tokenizer_class": "PreTrainedTokenizerFast", "chat_template": bomb, "eos_token": "<|im_end|>"}
        (folder / "tokenizer_config.json").write_text(json.dumps(config))
        words = ["show", str(rows), "-t", str(folder)]
    code, text, memory, _ = _show(words, tmp_path)
    assert code == 2 and memory < most_allowed(), text
    assert "Traceback" not in text and ("needs more than" in text or "builds a value" in text)
