"""The inspector on a real pseudo-terminal: what it shows, what it costs, how it leaves."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from pty_session import Terminal, write_sample

pytestmark = pytest.mark.terminal
TOKENIZER = "builtin:gemma"


@contextmanager
def opened(
    tmp_path: Path,
    *,
    columns: int = 80,
    lines: int = 24,
    rows: int = 60,
    environment: dict[str, str] | None = None,
    ready: str = "tokenizer verified",
    options: Sequence[str] = (),
) -> Iterator[Terminal]:
    data = write_sample(tmp_path, rows)
    terminal = Terminal(
        ["-m", "sftui", str(data), "-t", TOKENIZER, *options],
        columns=columns,
        lines=lines,
        cwd=tmp_path,
        environment=environment,
    )
    try:
        terminal.until(lambda text: ready in text and "pos" in text and "0" in text, 60)
        terminal.settle()
        yield terminal
    finally:
        terminal.close()


@pytest.mark.parametrize(("columns", "lines"), [(80, 24), (200, 50)])
def test_open_move_zoom_shift_edit_export_quit(tmp_path: Path, columns: int, lines: int) -> None:
    with opened(tmp_path, columns=columns, lines=lines) as terminal:
        assert "train.jsonl"[:6] in terminal.text and "row 0 of 60" in terminal.text and "label" in terminal.text
        terminal.send("]")
        terminal.until("row 1 of 60")
        terminal.send("l")
        terminal.send("zz")
        terminal.until("in words")
        terminal.send("\x1b[Hs")
        terminal.until("nothing precedes")
        terminal.send("szz")
        terminal.until("part")
        terminal.send("c")
        terminal.until("hf-trainer")
        for _ in range(60):
            if "mask.rule" in terminal.text:
                break
            terminal.send("j")
            terminal.settle(0.1)
        terminal.send("h")
        terminal.until(lambda text: "was completion" in text)
        terminal.until("trains every token" if columns > 100 else "all")
        terminal.send("x")
        terminal.until("recipe.yaml")
        terminal.send("\r")
        terminal.until("folder for recipe.yaml")
        terminal.send("\r")
        terminal.until("nothing written yet")
        terminal.until("mask")
        assert not (tmp_path / "sftui-export").exists()
        terminal.send("a")
        terminal.until("wrote")
        written = list((tmp_path / "sftui-export").iterdir())
        assert written and any("all" in path.read_text() for path in written)
        terminal.send("q")
        assert terminal.wait() == 0
        assert terminal.restored() == []


OWN = re.compile(rb"\x1b\]22;[a-z-]*\x07")
"""The shape of the mouse pointer, which Textual sets."""

LEAVES = {
    "q": lambda t: t.send("q"),
    "ctrl+c": lambda t: t.send("\x03"),
    "SIGTERM": lambda t: t.kill(signal.SIGTERM),
    "SIGHUP": lambda t: t.kill(signal.SIGHUP),
    "SIGINT": lambda t: t.kill(signal.SIGINT),
}
CODES = {"q": 0, "ctrl+c": 0, "SIGTERM": 143, "SIGHUP": 129, "SIGINT": 130}


@pytest.mark.parametrize("way", LEAVES)
def test_the_terminal_is_left_as_it_was_found(tmp_path: Path, way: str) -> None:
    with opened(tmp_path) as terminal:
        LEAVES[way](terminal)
        assert terminal.wait() == CODES[way]
        assert terminal.restored() == []


@pytest.mark.parametrize("way", ["ctrl+c", "SIGTERM", "SIGHUP", "SIGINT"])
def test_what_was_exported_nowhere_is_told_afterwards(tmp_path: Path, way: str) -> None:
    with opened(tmp_path) as terminal:
        terminal.send("c")
        terminal.until("preset")
        terminal.send("jjjjjjll")
        terminal.settle()
        LEAVES[way](terminal)
        assert terminal.wait() == CODES[way] and terminal.restored() == []
        assert b"1 unsaved recipe change: " in terminal.raw.rpartition(b"\x1b[?1049l")[2]


def test_it_ends_when_the_terminal_is_gone(tmp_path: Path) -> None:
    """The connection drops: the terminal closes, writing fails, and nothing may stay behind."""
    psutil = pytest.importorskip("psutil")
    with opened(tmp_path) as terminal:
        children = psutil.Process(terminal.pid).children(recursive=True)
        os.close(terminal.child)
        os.close(terminal.parent)
        end = time.monotonic() + 10
        while time.monotonic() < end:
            pid, _ = os.waitpid(terminal.pid, os.WNOHANG)
            if pid:
                break
            time.sleep(0.05)
        assert pid, "it is still there"
        terminal.code = 0
        _, alive = psutil.wait_procs(children, timeout=5)
        assert not alive


@pytest.mark.parametrize("way", LEAVES)
def test_it_also_leaves_cleanly_before_anything_is_loaded(tmp_path: Path, way: str) -> None:
    data = write_sample(tmp_path)
    terminal = Terminal(["-m", "sftui", str(data), "-t", TOKENIZER], cwd=tmp_path)
    try:
        terminal.until("help", 60)
        LEAVES[way](terminal)
        assert terminal.wait() == CODES[way]
        assert terminal.restored() == []
    finally:
        terminal.close()


def test_T4_quitting_while_the_worker_is_busy_is_immediate(tmp_path: Path) -> None:
    """The shell has its prompt back at once, however long the worker would still have been at it."""
    with opened(tmp_path, rows=200_000) as terminal:
        terminal.send("/re:no such text (at|in) all\r")
        terminal.until("searching")
        start = time.monotonic()
        terminal.send("q")
        terminal.wait()
        took = time.monotonic() - start
        print(f"q to prompt: {took:.2f} s")
        assert took < 0.5 * _slowness()
        assert terminal.restored() == []


def _slowness() -> float:
    """How much slower than alone this machine is just now: tests share their cores."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def test_no_process_is_left_behind(tmp_path: Path) -> None:
    psutil = pytest.importorskip("psutil")
    with opened(tmp_path) as terminal:
        children = psutil.Process(terminal.pid).children(recursive=True)
        assert children, "the worker is a process of its own"
        terminal.send("q")
        terminal.wait()
        _, alive = psutil.wait_procs(children, timeout=3)
        assert not alive


def test_T2_no_escape_sequence_of_the_data_reaches_the_terminal(tmp_path: Path) -> None:
    with opened(tmp_path) as terminal:
        for keys in ("z", "z", "z", "s", "o", "o", "o", "o", "Oe", "\x1b", "\r", "\x1b", "/owned\r", "]", "G"):
            terminal.send(keys)
            terminal.settle(0.15)
        assert b"\x1b]" not in OWN.sub(b"", terminal.raw), "an OSC sequence came through"
        assert b"owned\x07" not in terminal.raw and b"\x1b[31mred" not in terminal.raw
        assert "␛" in terminal.text or "␛".encode() in terminal.raw
        terminal.send("q")
        terminal.wait()


KNOWN_SEQUENCES = re.compile(rb"\x1b(\]22;[a-z-]*\x07|\[[0-9;?<>=$]*[A-Za-z]|\[[0-9;?]*\$p|[=>])")


@pytest.mark.parametrize("term", ["xterm", "xterm-256color", "screen-256color", "tmux-256color"])
def test_terminals_old_and_new(tmp_path: Path, term: str) -> None:
    """Columns stand where they should, and only plain CSI sequences are used, whatever TERM says."""
    with opened(tmp_path, environment={"TERM": term}) as terminal:
        lines = terminal.screen.display
        rules = {line.index("│") for line in lines[1:22] if "│" in line}
        assert len(rules) == 1, "the rule between the panes stands in one column"
        assert b"\x1b" not in KNOWN_SEQUENCES.sub(b"", terminal.raw)
        terminal.send("q")
        terminal.wait()


def test_T5_weights_show_without_colour(tmp_path: Path) -> None:
    data = tmp_path / "weights.jsonl"
    data.write_text(
        '{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello.", "weight": 0.3}]}\n'
    )
    knobs = ["--set", "mask.rule=assistant", "--set", "loss.weights=float"]
    environment = {"NO_COLOR": "1"}
    terminal = Terminal(["-m", "sftui", str(data), "-t", TOKENIZER, *knobs], cwd=tmp_path, environment=environment)
    try:
        terminal.until(lambda text: "▓" in text and "weight" in text and "trained with weight 0.3" in text, 60)
        terminal.send("zz")
        terminal.until("⟧×0.3")
    finally:
        terminal.close()


def test_T5_no_color_on_a_real_terminal(tmp_path: Path) -> None:
    with opened(tmp_path, environment={"NO_COLOR": "1", "COLORTERM": "truecolor"}) as terminal:
        cells = [cell for line in terminal.screen.buffer.values() for cell in line.values() if cell.data.strip()]
        assert cells and all(cell.fg == "default" and cell.bg == "default" for cell in cells)
        assert any(cell.reverse for cell in cells), "the cursor shows without colour"
        assert any(cell.bold for cell in cells), "what is trained shows without colour"
        terminal.send("q")
        terminal.wait()


@pytest.mark.parametrize(
    "environment", [{"LC_ALL": "C"}, {"LANG": "POSIX"}, {"LANG": "de_DE.ISO-8859-1"}, {"TERM": "linux"}], ids=str
)
def test_locales_and_terminals_without_the_glyphs_get_ascii(tmp_path: Path, environment: dict[str, str]) -> None:
    """No byte above ASCII leaves for the terminal, whatever is opened."""
    data = write_sample(tmp_path)
    terminal = Terminal(["-m", "sftui", str(data), "-t", TOKENIZER], cwd=tmp_path, environment=environment)
    try:
        terminal.until("tokenizer verified", 60)
        terminal.until(lambda text: "####" in text and "::::" in text and "|token" in text)
        for keys in ("z", "z", "s", "o", "f", "c", "\x1b", "?", "\x1b", "x", "\x1b"):
            terminal.send(keys)
            terminal.settle(0.15)
        assert terminal.raw.isascii()
    finally:
        terminal.close()


@pytest.mark.parametrize("environment", [{}, {"COLORTERM": "truecolor"}], ids=["256 colours", "true colour"])
def test_T7_no_cell_is_drawn_in_its_own_ground(tmp_path: Path, environment: dict[str, str]) -> None:
    with opened(tmp_path, environment=environment) as terminal:
        for line in terminal.screen.buffer.values():
            for cell in line.values():
                assert not cell.data.strip() or cell.fg != cell.bg
        terminal.send("q")
        terminal.wait()


MOST_BYTES = {
    "256 colours": {"cursor": 260, "text": 700, "line": 250, "page": 1_900, "pane": 1_600, "row": 300, "full": 3_000,
    "first": 9_000},
    "RGB colours": {"cursor": 330, "text": 850, "line": 320, "page": 2_300, "pane": 1_950, "row": 390, "full": 3_500,
    "first": 11_000},
}  # fmt: skip
"""Bytes of a key at 80×24, and of all until the first row is proven."""


@pytest.mark.parametrize("colours", MOST_BYTES)
def test_bytes_per_key(tmp_path: Path, colours: str) -> None:
    """Whatever moves the cursor stays below 1 KB, and a full screen below 5 KB (style-anchors 5.9)."""
    with opened(tmp_path, environment={"COLORTERM": "truecolor"} if colours == "RGB colours" else None) as terminal:
        costs = {"first": [len(terminal.raw)]}
        terminal.settle(1.0)  # what a busy machine is late with belongs to no key
        terminal.cost("\x1b[H")
        costs["cursor"] = [terminal.cost("l") for _ in range(4)]
        costs["text"] = [terminal.cost("j") for _ in range(3)]  # another line, and another page of the lens
        terminal.cost("\t")
        terminal.cost("j")
        costs["row"] = [terminal.cost("j") for _ in range(3)]
        costs["pane"] = [terminal.cost("\t") for _ in range(2)]
        costs["full"] = [terminal.cost("o")]
        terminal.until("conversation")
        for _ in range(3):
            terminal.cost("o")
        terminal.cost("z")
        terminal.cost("z")
        terminal.cost("\x1b[H")
        costs["line"] = [terminal.cost("j") for _ in range(4)]
        costs["page"] = [terminal.cost("\x1b[6~") for _ in range(2)]
        print(f"{colours}: {costs}")
        assert {name: max(cost) for name, cost in costs.items() if max(cost) > MOST_BYTES[colours][name]} == {}
        terminal.send("q")
        terminal.wait()


def test_nothing_is_written_while_nothing_happens(tmp_path: Path) -> None:
    with opened(tmp_path) as terminal:
        terminal.settle(1.5)
        assert terminal.settle(1.0) == b""
        terminal.send("q")
        terminal.wait()


def test_the_editor_gets_a_read_only_copy_and_the_screen_comes_back(tmp_path: Path) -> None:
    script = tmp_path / "editor.sh"
    script.write_text('#!/bin/sh\necho EDITOR $(ls -l "$1" | cut -c1-10); wc -c < "$1"; sleep 0.3\n')
    script.chmod(0o755)
    with opened(tmp_path, environment={"VISUAL": str(script)}) as terminal:
        terminal.send("et")
        terminal.until("back from the editor", 10)
        assert b"EDITOR -r--------" in terminal.raw
        assert "label" in terminal.text
        terminal.send("q")
        assert terminal.wait() == 0 and terminal.restored() == []


def test_a_row_is_edited_in_a_real_editor_and_a_kill_loses_no_edit(tmp_path: Path) -> None:
    script = tmp_path / "editor.sh"
    script.write_text('#!/bin/sh\nsed -i "s/Answer 0/Reply 0/" "$1"\n')
    script.chmod(0o755)
    with opened(tmp_path, environment={"VISUAL": str(script)}) as terminal:
        terminal.send("ee")
        terminal.until("a keeps the edit", 10)
        terminal.send("a")
        terminal.until("*repaired", 10)
        os.kill(terminal.pid, signal.SIGKILL)
    with opened(tmp_path) as terminal:
        terminal.until("Reply 0", 10)
        terminal.send("q")
        assert terminal.wait() == 0 and terminal.restored() == []


def test_print_on_exit_goes_to_the_shell_made_visible(tmp_path: Path) -> None:
    with opened(tmp_path) as terminal:
        terminal.send(":print the text\r")
        terminal.until("will be printed")
        terminal.send("q")
        assert terminal.wait() == 0
        tail = terminal.raw[terminal.raw.rfind(b"\x1b[?1049l") :]
        assert b"Question 0" in tail and b"\x1b]" not in tail and b"owned\x07" not in tail


def test_what_another_program_wrote_can_be_drawn_over(tmp_path: Path) -> None:
    with opened(tmp_path) as terminal:
        before = terminal.text
        terminal.stream.feed(b"\x1b[5;5Hwall: the system goes down")
        assert "wall" in terminal.text
        terminal.send("\x0c")
        terminal.until(lambda text: text == before, 5)


def test_suspending_gives_the_terminal_back(tmp_path: Path) -> None:
    with opened(tmp_path) as terminal:
        terminal.send("\x1a")
        end = time.monotonic() + 5
        while (
            time.monotonic() < end
            and Path(f"/proc/{terminal.pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "T"
        ):
            terminal.read(0.05)
        while time.monotonic() < end and terminal.raw.rfind(b"\x1b[?1049l") < terminal.raw.rfind(b"\x1b[?1049h"):
            terminal.read(0.05)  # what it wrote before it stopped may still be on the way
        assert terminal.raw.rfind(b"\x1b[?1049l") > terminal.raw.rfind(b"\x1b[?1049h")
        terminal.kill(signal.SIGCONT)
        terminal.until("label", 5)
        terminal.send("q")
        assert terminal.wait() == 0


def test_the_mouse_can_be_given_back(tmp_path: Path) -> None:
    with opened(tmp_path) as terminal:
        assert b"\x1b[?1000h" in terminal.raw
        terminal.send(":mouse\r")
        terminal.until("mouse off: select and copy")
        assert terminal.raw.rfind(b"\x1b[?1000l") > terminal.raw.rfind(b"\x1b[?1000h")
        terminal.send("q")
        terminal.wait()
    data = write_sample(tmp_path)
    terminal = Terminal(["-m", "sftui", str(data), "-t", TOKENIZER, "--no-mouse"], cwd=tmp_path)
    try:
        terminal.until("tokenizer verified", 60)
        assert b"\x1b[?1000h" not in terminal.raw
        terminal.send("q")
        terminal.wait()
    finally:
        terminal.close()


def test_a_window_can_change_its_size(tmp_path: Path) -> None:
    import fcntl
    import struct
    import termios

    with opened(tmp_path) as terminal:
        for columns, lines in ((60, 20), (200, 50), (30, 8)):
            terminal.screen.resize(lines, columns)
            fcntl.ioctl(terminal.child, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
            terminal.kill(signal.SIGWINCH)
            terminal.settle(0.4)
        terminal.send("q")
        assert terminal.wait() == 0 and terminal.restored() == []


@pytest.mark.parametrize("keys", [":17\r", "17G", "g17\r", "gg17]", "/Answer 17:\r"])
def test_keys_typed_at_once_arrive_in_order(tmp_path: Path, keys: str) -> None:
    """A quick hand, a paste or a slow line send several keys in one read; none may be lost."""
    with opened(tmp_path) as terminal:
        terminal.send(keys)
        terminal.until("row 17 of 60")
        terminal.send("xjqq")
        assert terminal.wait() == 0


def test_a_killed_worker_is_told_and_replaced(tmp_path: Path) -> None:
    psutil = pytest.importorskip("psutil")
    with opened(tmp_path) as terminal:
        for child in psutil.Process(terminal.pid).children(recursive=True):
            child.kill()
        terminal.until("ended", 10)
        terminal.send("]")
        terminal.until(lambda text: "row 1 of 60" in text and "label" in text, 20)
        terminal.send("q")
        assert terminal.wait() == 0 and terminal.restored() == []


def test_a_file_is_followed_while_it_is_written(tmp_path: Path) -> None:
    with opened(tmp_path, options=["-f"]) as terminal, (tmp_path / "train.jsonl").open("a") as file:
        terminal.until("row 59 of 60")
        row = (tmp_path / "train.jsonl").read_text().splitlines()[0]
        file.write(f"{row}\n{row[:50]}")
        file.flush()
        terminal.until("row 60 of 61")
        file.write(f"{row[50:]}\n")
        file.flush()
        terminal.until("row 61 of 62")
        terminal.send("A")
        terminal.until("62 rows")
