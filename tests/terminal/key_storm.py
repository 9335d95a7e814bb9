"""Random keys by a seed at the inspector on a real pseudo-terminal, and what must hold after each gust of them.

    .venv/bin/python tests/terminal/key_storm.py --seeds 1-10 --keys 3000      # the long run, on request

Keys come at speed, while things load, audit, search and compare; the terminal changes its size, and sftui is quit and
opened again in between. After each gust: sftui is alive or ended as it should, the terminal is left as it was found,
nothing waits for ever, and header, row list and raw row show the same row with the same figures.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import random
import re
import signal
import struct
import sys
import tempfile
import termios
import time
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path

from pty_session import REPO, Terminal

TOKENIZERS = ("builtin:gemma", "builtin:chatml")
PATIENCE = 150.0
"""Seconds after which what still waits waits for ever; a whole audit fits in a fraction of them."""
SPECIAL = (
    *("\x1b", "\r", "\t", "\x1b[Z", "\x7f", " ", "\x04", "\x15", "\x06", "\x12", "\x10"),
    *("\x1b[A", "\x1b[B", "\x1b[C", "\x1b[D", "\x1b[5~", "\x1b[6~", "\x1b[H", "\x1b[F", "\x1bOP", "\x1b[15~"),
)
LETTERS = "hjklzZvsLoBPfAXFC=a-cuUTKRx:?tgG[]<>nN(){}^$dDiIW" + "0123456789" + "yrwO"
PHRASES = (
    *("/R1\r", "/re:R[0-9]+\r", "/token:a\r", "/id:5\r", "/finding:any\r", "/nowhere to be found\r", "/re:(((\r"),
    *("g5\r", "g+3\r", ":7\r", "12G", "gg", "G", "c", "cjjjjll", "cjjjhh", "jjll", "C\r", "Cj\r", "=jj\r", "v", "a"),
    *("K\x15builtin:gemma\r", "K\x15builtin:chatml\r", "K\x15builtin:none\r", "T\r", "Tj\r", "Tjj\r"),
    *(
        "f",
        "fa",
        "fd",
        "f\r",
        "fjja",
        "fI",
        "fIwhy\r",
        "i",
        "\rt",
        "hh\rt\x1b",
        "A",
        "X",
        "AX",
        "F\r",
        "Fj\r",
        "Fjjj\r",
        "R\r",
        "Rj \r",
        "D",
    ),
    *("Oc", "Ot", "Or", "rk", "rd", "rf", "rnnote\r", "r]", "yy", "yi", "4B", "P", "x\x1b", "x\r\x1b", "x\r\ra", "Oe"),
    *("i", "\rt", "hh\rt\x1b", "?mask\x1b", ">", "<"),
    *("]]]]]]]]]]]]", "[[[[[[", "uuu", "UUU", "\x1b[200~pasted\x1b[201~", "\x1b[<0;10;5M\x1b[<0;10;5m"),
    *("\x1b[<65;50;10M", "\x1b[<64;50;10M", "\x1b[<0;3;12M\x1b[<0;3;12m", "\x1b\x1b\x1b"),
)
QUITS = ("q", "\x03", "TERM", "HUP", "INT")
BUSY = re.compile(
    r"searching …|loading tokenizer|auditing|tokenizer …|≈ provisional|tokenizing a long row|not here yet|counting"
)
HEADER = re.compile(r"^ .*?row ([\d,]+) of (≥?[\d,]+)")
FIGURES = re.compile(r"([\d,]+)/([\d,]+) trained")
ALLOWED = (0, 129, 130, 143, -signal.SIGINT)
"""A second ctrl+c may come when the terminal is already as it was, and no longer be ours."""


@dataclass
class Outcome:
    """What one seed came to; `wrong` is empty where all held."""

    seed: int
    keys: int = 0
    gusts: int = 0
    checks: int = 0
    quits: int = 0
    wrong: list[str] = field(default_factory=list)


def datasets(folder: Path) -> list[Path]:
    """Sets whose rows name themselves (`R17.`), and the samples."""
    rng = random.Random(7)

    def chat(i: int, text: str, answer: str = "Sure.") -> str:
        return json.dumps(
            {"messages": [{"role": "user", "content": f"R{i}. {text}"}, {"role": "assistant", "content": answer}]}
        )

    words = ["alpha", "beta", "<|im_end|>", "[/INST]", "你好", "שלום", "\x1b[31m", "é" * 3, "\u200b", "👍🏽", "tool"]

    def text(n: int) -> str:
        return " ".join(rng.choice(words) for _ in range(n))

    plain = [chat(i, text(i % 30), text(i % 11)) for i in range(3000)]
    odd = []
    for i in range(300):
        kind = i % 12
        if kind == 3:
            odd.append(f'{{"messages": [{{"role": "user", "content": "R{i}. broken')
        elif kind == 5:
            odd.append(f'{{"messages": [], "note": "R{i}."}}')
        elif kind == 7:
            odd.append(chat(i, "\ud800 alone", text(5)))
        elif kind == 9:
            odd.append(chat(i, text(4000), text(3000)))
        elif kind == 11:
            odd.append(f'{{"messages": [{{"role": "critic", "content": "R{i}. who?"}}], "messages": []}}')
        else:
            odd.append(chat(i, text(8), ""))
    huge = [chat(i, "x" * 3_000_000 if i == 4 else text(6), text(6)) for i in range(12)]
    alpaca = [json.dumps({"instruction": f"R{i}. {text(5)}", "input": "", "output": text(7)}) for i in range(150)]
    made = {
        "plain.jsonl": plain,
        "odd.jsonl": odd,
        "huge.jsonl": huge,
        "alpaca.jsonl": alpaca,
        "one.jsonl": [chat(0, "only")],
        "none.jsonl": ['{"a": 1}', '{"b": 2}'],
    }
    for name, lines in made.items():
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return [*(folder / name for name in made), *(REPO / "sample_data" / n for n in ("defects.jsonl", "sharegpt.json"))]


class Storm:
    """One seed: a terminal that is opened anew whenever it was quit."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.rng = random.Random(seed)
        self.folder = folder
        self.files = datasets(folder)
        self.outcome = Outcome(seed)
        self.terminal: Terminal | None = None
        self.sent: list[str] = []
        self.idle = cycle("QSWJ")

    # — the weather —

    def open(self) -> Terminal:
        data = (
            self.files[self.outcome.seed % len(self.files)] if not self.outcome.quits else self.rng.choice(self.files)
        )
        columns, lines = self.rng.choice(((80, 24), (120, 36), (200, 50), (60, 20)))
        arguments = ["-m", "sftui", str(data), "-t", self.rng.choice(TOKENIZERS)]
        if self.rng.random() < 0.4:
            arguments += ["--trainer", self.rng.choice(("trl", "axolotl", "llamafactory", "unsloth", "torchtune"))]
        own = {"HOME": str(self.folder), "XDG_CACHE_HOME": str(self.folder / "cache"), "EDITOR": "true", "VISUAL": ""}
        self.sent = [" ".join(arguments[2:])]
        return Terminal(arguments, columns=columns, lines=lines, cwd=self.folder, environment=own)

    def gust(self) -> None:
        """Up to forty keys at once, then hardly a moment to answer them."""
        assert self.terminal is not None
        keys = ""
        for _ in range(self.rng.randint(1, 40)):
            roll = self.rng.random()
            keys += (
                self.rng.choice(PHRASES)
                if roll < 0.35
                else self.rng.choice(SPECIAL)
                if roll < 0.55
                else self.rng.choice(LETTERS)
            )
        self.send(keys)
        self.outcome.gusts += 1
        if self.rng.random() < 0.15:
            self.resize(*self.rng.choice(((80, 24), (120, 36), (200, 50), (40, 12), (161, 20), (100, 60))))
        self.drain(self.rng.choice((0.0, 0.02, 0.1, 0.5)))

    def send(self, keys: str) -> None:
        """Keys as fast as the terminal takes them."""
        assert self.terminal is not None
        self.sent.append(keys)
        self.outcome.keys += len(re.sub(r"\x1b(\[[\d;<~]*[A-Za-z~]|O.)", "k", keys))
        data = keys.encode()
        while data:
            try:
                data = data[os.write(self.terminal.parent, data[:512]) :]
            except OSError:
                return
            self.terminal.read(0)

    def drain(self, seconds: float) -> None:
        assert self.terminal is not None
        end = time.monotonic() + seconds
        while self.terminal.read(0.01) or time.monotonic() < end:
            pass

    def resize(self, columns: int, lines: int) -> None:
        terminal = self.terminal
        assert terminal is not None
        self.sent.append(f"<{columns}x{lines}>")
        terminal.screen.resize(lines, columns)
        fcntl.ioctl(terminal.parent, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        if self.alive():
            terminal.kill(signal.SIGWINCH)

    # — what must hold —

    def alive(self) -> bool:
        assert self.terminal is not None
        if self.terminal.code is None:
            pid, status = os.waitpid(self.terminal.pid, os.WNOHANG)
            if pid:
                self.terminal.code = os.waitstatus_to_exitcode(status)
        return self.terminal.code is None

    def wrong(self, what: str) -> None:
        assert self.terminal is not None
        tail = " ".join(repr(one) for one in self.sent[1:])
        self.outcome.wrong.append(f"{what}\nopened: {self.sent[0]}\nkeys: {tail}\n{self.terminal.text}")

    def ended(self) -> None:
        """It was quit: the way it ends, and what it leaves."""
        terminal = self.terminal
        assert terminal is not None
        while terminal.read(0.05):
            pass
        self.outcome.quits += 1
        if terminal.code not in ALLOWED and not (terminal.code == 2 and b"\x1b[?1049h" not in terminal.raw):
            self.wrong(f"ended with {terminal.code}")
        if left := terminal.restored():
            self.wrong(f"not restored: {', '.join(left)}")
        self.look_for_traces()
        terminal.close()

    def look_for_traces(self) -> None:
        assert self.terminal is not None
        for mark in (b"Traceback", b"this is a bug", b"was started again"):
            if mark in self.terminal.raw:
                at = self.terminal.raw.index(mark)
                self.wrong(f"{mark!r} was shown: {self.terminal.raw[at - 300 : at + 1500]!r}")
        self.terminal.raw = self.terminal.raw[-20_000:] if self.terminal.code is None else self.terminal.raw

    def answered(self) -> bool:
        """Whether all keys so far were read: one that does nothing is told to do so."""
        assert self.terminal is not None
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            key = next(self.idle)
            self.send(key)
            again = time.monotonic() + 3  # what is told of something else may have taken its place
            while time.monotonic() < again:
                if f"{key} does nothing here" in self.terminal.text:
                    return True
                if not self.alive():
                    return False
                self.terminal.read(0.05)
        self.wrong("no key is answered any more")
        return False

    def steady(self) -> str:
        """The screen once nothing comes any more and nothing is under way; "" where it never is, which is wrong."""
        terminal = self.terminal
        assert terminal is not None
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            self.drain(0.4)
            if not self.alive():
                return ""
            if HEADER.search(terminal.text) and not BUSY.search(terminal.text) and not self.listed_empty():
                return terminal.text
        self.wrong(f"still busy: {BUSY.search(terminal.text)} {self.listed_empty()}")
        return ""

    def listed_empty(self) -> list[str]:
        """Lines of the row list that wait for their figures."""
        assert self.terminal is not None
        return [
            text for text in self.terminal.text.splitlines()[1:-2] if re.match(r"^│?[▸ ][A-Z ]?[* ]? *\d+ +… *│", text)
        ]

    def marked(self) -> list[str]:
        """The lines of the row list that are the current row's."""
        assert self.terminal is not None
        return [one for one in self.terminal.text.splitlines()[1:-2] if re.match(r"│?[▸B][A-Z ]?[* ]? *\d", one)]

    def check(self) -> None:
        """Back to the plain view at a good size, the raw row beside it: all must speak of the same row."""
        terminal = self.terminal
        assert terminal is not None
        self.resize(170, 44 + self.outcome.gusts % 3)
        for _ in range(6):
            self.send("\x1b")
            self.drain(0.25)
        if not self.answered():
            return
        self.send("Or")
        if not self.answered():
            return
        for _ in range(2):
            self.drain(0.5)
            if self.marked():
                break
            self.send("L")
            if not self.answered():
                return
        if not (text := self.steady()):
            return
        lines = text.splitlines()
        head = HEADER.search(lines[0])
        if head is None:
            self.wrong("no row in the header")
            return
        row = int(head[1].replace(",", ""))
        marked = self.marked()
        if len(marked) != 1 and " (" not in lines[0].split(" of ")[1][:30]:
            self.wrong(f"{len(marked)} rows are marked in the list")
        for one in marked:
            listed = re.match(r"^│?[▸B][A-Z ]?[* ]? *(\d+) +([\d,]+)? *", one)
            if listed is None or int(listed[1]) != row:
                self.wrong(f"header says row {row}, the list {one[:30]!r}")
            figures = FIGURES.search(lines[0])
            if figures and listed and listed[2] and listed[2] != figures[2]:
                self.wrong(f"header says {figures[0]}, the list {one[:30]!r}")
        if re.search(r"\bR\d+\.", text):
            named = re.search(r'": "R(\d+)\. ', text)
            if named and int(named[1]) != row:
                self.wrong(f"header says row {row}, the raw row {named[0]!r}")
        self.look_for_traces()
        self.outcome.checks += 1

    # — the whole —

    def run(self, keys: int) -> Outcome:
        while self.outcome.keys < keys and not self.outcome.wrong:
            self.terminal = self.open()
            if self.rng.random() < 0.7:
                self.drain(self.rng.choice((0.5, 2.0, 5.0)))
            for number in range(self.rng.randint(4, 14)):
                self.gust()
                if not self.alive():
                    break
                if number % 3 == 2:
                    self.check()
                if self.outcome.wrong or not self.alive():
                    break
            if self.alive() and not self.outcome.wrong:
                self.leave()
            if self.alive():
                self.terminal.close()
            else:
                self.ended()
        return self.outcome

    def leave(self) -> None:
        """Quit, whatever is open: by key, by signal."""
        terminal = self.terminal
        assert terminal is not None
        way = self.rng.choice(QUITS)
        self.sent.append(f"<{way}>")
        end = time.monotonic() + PATIENCE
        if way in ("TERM", "HUP", "INT"):
            terminal.kill(getattr(signal, f"SIG{way}"))
        while self.alive() and time.monotonic() < end:
            if way == "q":
                self.send("\x1b")
                self.drain(0.2)
                self.send("q")
                self.drain(0.3)
                if self.alive():
                    self.send("a")
            elif way == "\x03":
                self.send("\x03")
            self.drain(0.3)
        if self.alive():
            self.wrong(f"{way!r} does not end it")


def storm(seed: int, keys: int) -> Outcome:
    """One seed over so many keys, in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="sftui-storm-") as folder:
        return Storm(seed, Path(folder)).run(keys)


def main() -> int:
    parser = argparse.ArgumentParser(description="random keys at the inspector")
    parser.add_argument("--seeds", default="1-10", help="N or FROM-TO")
    parser.add_argument("--keys", type=int, default=3000, help="keys a seed")
    options = parser.parse_args()
    first, _, last = options.seeds.partition("-")
    failed = 0
    for seed in range(int(first), int(last or first) + 1):
        start = time.monotonic()
        got = storm(seed, options.keys)
        failed += bool(got.wrong)
        took = time.monotonic() - start
        print(
            f"seed {seed}: {got.keys} keys, {got.gusts} gusts, {got.quits} quits, {took:.0f} s: {len(got.wrong)} wrong"
        )
        for one in got.wrong:
            print(one)
        sys.stdout.flush()
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
