"""What reaches a terminal, a pipe, a full disk or a closed stream, for every command and names with control characters.

The commands run in a child on a raw pty: what comes out of its other end is what a terminal would act on.
"""

from __future__ import annotations

import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from sftui.cli import main
from sftui.text import visible

PAYLOADS = (
    "\x1b[0mowned\x07",
    "\x1b[31mred",
    "\x1b[2J",
    "\x1b[4m",
    "\x1b\\",
    "\x1bx",
    "\x9b31m",
    "a\x9cb",
    "\x85x",
    "\x07bell",
    "\x08\x08back",
    "a\rb",
    "a\nb",
    "a\n::error::c",
    "a\tb",
    "\x0b\x0c",
    "\x7f",
    "\x01\x02",
    "\x1f",
    "\u202eevil",
    "\u2066x\u2069",
    "\u200bzero",
    "\u200d",
    "\ufeffbom",
    "\u2028line",
    "e\u0301\u0301\u0301\u0301",
    "\U000e0041tag",
    "\udcff\udcfe",
    "\udc80x",
    "-rf",
    "$(touch x)",
    "`touch x`",
    "a b 'c' \"d\"",
    "%s{0}",
    "[red]x[-red]",
    "x" * 180,
)
ROW = {"messages": [{"role": "user", "content": "Hi?"}, {"role": "assistant", "content": "Ho."}]}
HARM = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]|\U000e0041")


OWN = re.compile(r"\r[\d,]+ rows [^\r\n]*|\r {79}\r")
"""The line of progress, and how it is taken away."""


def commands(name: str) -> dict[str, list[str]]:
    """Every command with hostile names for all that it reads and writes; the file itself is there."""
    data, tok = f"{name}.jsonl", ["-t", "builtin:chatml"]
    return {
        "show": ["show", f"./{data}", *tok],
        "show absent": ["show", f"./no{name}", *tok],
        "show debug": ["show", f"./no{name}", *tok, "--debug"],
        "show tokenizer": ["show", "./good.jsonl", "-t", f"./{name}"],
        "show template": ["show", "./good.jsonl", *tok, "--template", f"./{name}.jinja"],
        "show recipe": ["show", "./good.jsonl", *tok, "--recipe", f"./no{name}.yaml"],
        "show config": ["show", "--config", f"./{name}.yml"],
        "encode": ["encode", f"./{data}", *tok, "-o", f"./out{name}.jsonl"],
        "encode stdout": ["encode", f"./{data}", *tok, "-o", "-"],
        "export": ["export", f"./{data}", *tok, "--to", "trl", "-o", f"./dir{name}"],
        "export llamafactory": ["export", f"./{data}", *tok, "--to", "llamafactory", "-o", f"./dir2{name}"],
        "compare": ["compare", f"./{data}", *tok, "--with", "trl"],
        "compare with": ["compare", f"./{data}", *tok, "--with", f"./no{name}.yaml"],
        "verify": ["verify", f"./{data}", *tok, "--trainer", "trl", "--python", f"./no{name}"],
        "check": ["check", f"./{data}", *tok, "--jobs", "1", "--fail-on", "never"],
        "report": ["report", f"./{data}", *tok, "--jobs", "1", "-o", f"./page{name}.html"],
        "repair": [
            "repair",
            f"./{data}",
            *tok,
            "--apply",
            "trim",
            "-o",
            f"./mended{name}.jsonl",
            "--log",
            f"./l{name}",
        ],
        "repair stdout": ["repair", f"./{data}", *tok, "--apply", "trim", "-o", "-"],
        "template": ["template", f"./{data}", *tok, "--template", f"./{name}.jinja"],
    }


def lay_out(folder: Path, name: str) -> None:
    """A data file, a template that holds the payload, and a broken config under the hostile name."""
    content = (json.dumps(ROW) + "\n") * 2
    for file in ("good.jsonl", f"{name}.jsonl"):
        (folder / file).write_text(content)
    harmful = name.encode("utf-8", "surrogateescape") + b"{% for m in messages %}{{ m.content }}{% endfor %}"
    (folder / f"{name}.jinja").write_bytes(harmful)
    (folder / f"{name}.yml").write_text("max_length: [\n")


def on_a_terminal(folder: Path, runs: list[list[str]]) -> tuple[bytes, list[int]]:
    """What several commands, one after another in one child, wrote to a raw pty, and their exit codes."""
    codes = folder / "codes"
    child, end = pty.fork()
    if child == 0:
        try:
            os.chdir(folder / "work")
            # pytest has put objects of its own in their place
            sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w")
            with codes.open("w") as file:
                for words in runs:
                    try:
                        main(words)
                    except SystemExit as done:
                        file.write(f"{done.code}\n")
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(0)
    pieces = []
    while True:
        if not select.select([end], [], [], 240)[0]:
            os.kill(child, 9)
            break
        try:
            piece = os.read(end, 1 << 16)
        except OSError:
            break
        if not piece:
            break
        pieces.append(piece)
    os.waitpid(child, 0)
    os.close(end)
    return b"".join(pieces), [int(line) for line in codes.read_text().split()]


def harm_in(written: bytes) -> str:
    """The first thing in it that a terminal would act on, with what stands around it; line ends are the pty's own."""
    text = OWN.sub("", written.decode("utf-8", "surrogateescape").replace("\r\n", "\n"))
    found = HARM.search(text)
    return "" if found is None else repr(text[max(0, found.start() - 80) : found.end() + 40])


SOME, OTHERS = PAYLOADS[::3], [payload for at, payload in enumerate(PAYLOADS) if at % 3]


@pytest.mark.one_of(3)
@pytest.mark.parametrize("payloads", [SOME, pytest.param(OTHERS, marks=pytest.mark.long)], ids=["some", "others"])
@pytest.mark.parametrize("command", commands(""))
def test_no_hostile_name_reaches_the_terminal(command: str, payloads: Sequence[str], tmp_path: Path) -> None:
    """36 names for each of 19 commands."""
    (tmp_path / "work").mkdir()
    for payload in payloads:
        lay_out(tmp_path / "work", payload)
    runs = [commands(payload)[command] for payload in payloads]
    written, codes = on_a_terminal(tmp_path, runs)
    assert len(codes) == len(payloads), written[-2000:].decode("utf-8", "backslashreplace")
    assert set(codes) <= ({0, 1, 2} if command == "compare" else {0, 2}), codes
    assert harm_in(written) == ""
    assert b"this is a bug" not in written, written[max(0, written.find(b"this is a bug") - 200) :][:600]
    assert command.endswith("debug") or b"Traceback" not in written
    for made in (tmp_path / "work").iterdir():
        shutil.rmtree(made) if made.is_dir() else made.unlink()


def test_harm_would_be_seen() -> None:
    assert harm_in(b"fine \xe2\x8f\x8e\r\n") == ""
    for payload in PAYLOADS[:29]:
        raw = payload.encode("utf-8", "surrogateescape")
        assert harm_in(raw) or payload in ("a\nb", "a\n::error::c", "a\tb") or "\u0301" in payload, payload
        assert harm_in(visible(payload).encode("utf-8", "surrogatepass")) == "", payload


SFTUI = [sys.executable, "-m", "sftui"]


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    path.write_text((json.dumps(ROW) + "\n") * 3)
    return path


def run(words: str, rows: Path) -> subprocess.CompletedProcess[str]:
    line = " ".join([*SFTUI, words.replace("ROWS", str(rows))])
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=120, cwd=rows.parent)


@pytest.mark.parametrize(
    "words",
    [
        "show ROWS -t builtin:chatml >/dev/full",
        "encode ROWS -t builtin:chatml -o - >/dev/full",
        "check ROWS -t builtin:chatml --jobs 1 >/dev/full",
        "explain >/dev/full",
        "show ROWS -t builtin:chatml >&-",
        "encode ROWS -t builtin:chatml -o - >&-",
        "explain LAB001 >&-",
        "--help >/dev/full",
    ],
)
def test_output_that_cannot_be_written_is_one_sentence_and_exit_2(words: str, rows: Path) -> None:
    done = run(words, rows)
    assert done.returncode == 2, (done.returncode, done.stderr)
    assert "could not be written" in done.stderr and "bug" not in done.stderr and "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


@pytest.mark.parametrize("closed", ["2>&-", "<&-", "<&- 2>&-"])
def test_other_streams_may_be_closed(closed: str, rows: Path) -> None:
    done = run(f"show ROWS -t builtin:chatml {closed}", rows)
    assert done.returncode == 0 and "trained" in done.stdout


def test_a_terminal_that_is_not_there_is_one_sentence(rows: Path) -> None:
    done = subprocess.run(
        [*SFTUI, "show", "/dev/tty", "-t", "builtin:chatml"], capture_output=True, text=True, start_new_session=True
    )
    assert done.returncode == 2 and "bug" not in done.stderr and "/dev/tty" in done.stderr


def test_a_pipe_gets_the_bytes_as_they_are(tmp_path: Path) -> None:
    source = "{{ messages[0].content }}\x1b[31m\u202e\t\x07{# c #}"
    (tmp_path / "evil.jinja").write_bytes(source.encode())
    row = {"messages": [{"role": "user", "content": " \x1b[31m\u202e "}, {"role": "assistant", "content": "x "}]}
    (tmp_path / "d.jsonl").write_text(json.dumps(row, ensure_ascii=False) + "\n")
    words = ["template", "d.jsonl", "-t", "builtin:chatml", "--template", "evil.jinja"]
    done = subprocess.run([*SFTUI, *words], capture_output=True, cwd=tmp_path, timeout=120)
    assert done.stdout == source.encode() + b"\n"
    words = ["repair", "d.jsonl", "-t", "builtin:chatml", "--apply", "map-roles", "-o", "-"]
    done = subprocess.run([*SFTUI, *words], capture_output=True, cwd=tmp_path, timeout=120)
    assert done.stdout == (tmp_path / "d.jsonl").read_bytes()


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("kind", ["ValueError", "RecursionError", "KeyError", "Panic", "OSError"])
def test_exit_1_is_for_findings_alone(
    kind: str, debug: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a command raises, with and without --debug: 2, and a sentence."""
    import sftui.cli.app as app

    class Panic(BaseException):
        pass

    errors: dict[str, BaseException] = {
        "ValueError": ValueError("\x1b[31mx"),
        "RecursionError": RecursionError("deep"),
        "KeyError": KeyError("k"),
        "Panic": Panic("rust"),
        "OSError": OSError(28, "No space left on device", "\x1b[31m/x"),
    }

    def fail(*words: object, **more: object) -> int:
        raise errors[kind]

    monkeypatch.setattr(app, "run", fail)
    with pytest.raises(SystemExit) as ended:
        main(["show", *(["--debug"] if debug else [])])
    told = capsys.readouterr().err
    assert ended.value.code == 2
    assert "\x1b" not in told and ("Traceback" in told) == debug
    assert told.splitlines()[-1].startswith("sftui: ")


@pytest.mark.parametrize("interrupt", [os.kill, os.killpg], ids=["a supervisor", "a terminal"])
def test_a_pipe_that_nobody_writes_to_is_told_and_an_interrupt_ends_it(
    interrupt: Callable[[int, int], None], tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe")
    process = subprocess.Popen(
        [*SFTUI, "show", "pipe", "-t", "builtin:chatml"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # A test run in a shell's background ignores Ctrl-C, and so would what it starts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        assert process.stderr is not None
        assert "waiting for rows from the pipe pipe" in process.stderr.readline()
        interrupt(process.pid, signal.SIGINT)  # a supervisor's reaches the first process alone, Ctrl-C all of them
        assert process.wait(timeout=60) == 130
    finally:
        process.kill()


@pytest.mark.parametrize("after", [0.0, 0.3, 0.8])
def test_ctrl_c_while_processes_start_is_no_lack_of_memory(rows: Path, after: float) -> None:
    rows.write_text(rows.read_text() * 10_000)
    command = [*SFTUI, "check", str(rows), "-t", "builtin:chatml", "--jobs", "2"]
    shown = ["ps", "-ww", "-o", "args=", "-g"]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        # itself, what supervises it, and one of two more at least
        while subprocess.run([*shown, str(process.pid)], capture_output=True).stdout.count(b"sftui check") < 3:
            assert process.poll() is None
            time.sleep(0.05)
        time.sleep(after)
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 130 and "ended" not in err and "Traceback" not in err
    finally:
        process.kill()


def test_a_pipe_with_a_writer_is_read(rows: Path) -> None:
    os.mkfifo(rows.parent / "pipe")
    done = run(f"show pipe -t builtin:chatml & cat {rows} > pipe; wait $!", rows)
    assert done.returncode == 0 and "trained" in done.stdout
