"""The examples of README and docs: what a page shows in fences, run in order in a folder of its own.

    ```sh        commands; `sftui …` runs in this process, other lines in a shell
    ```python    runs in a Python of its own that all blocks of a page share
    ```text      behind one of these two: exactly what it prints, stdout and stderr; a line `…` stands for any lines

A line just above a fence says what else it is:

    `train.jsonl`:                  its text is a file of that name, for the examples below it
    <!-- exits: 2 -->               the last command ends so; without it 0 and 1 are fine
    <!-- not run: needs the Hub --> why it cannot run here
    <!-- command:open -->           one of the two commands that `.ci/run` runs

Commands that open the inspector have no output: their data is opened, and the row they name is prepared.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
DOCS = REPO / "sftui" / "docs"
PAGES = {
    **{path.stem: path for path in sorted(DOCS.glob("*.md"))},
    **{path.parent.name.replace("_", "-"): path for path in sorted(REPO.glob("sftui/trainers/*/page.md"))},
    "README": REPO / "README.md",
    "sample_data/README": REPO / "sample_data" / "README.md",
}
COLUMNS = "78"
"""So wide that an output fits a dialog in a terminal of 80."""
HOME, CACHE = "/home/you/project", "/home/you/.cache"
"""What the folder of a page and that of caches are called in outputs."""
ANY = "…"
_FENCE = re.compile(r"^```(\w*)$")
_COMMENT = re.compile(r"^<!-- (exits|not run|command):? ?(.*?) -->$")
_NAME = re.compile(r"^`([\w./-]+)`:$")
FILE = "file"
_SHELL = re.compile(r"[|<>;&$*`]")


@dataclass(frozen=True)
class Block:
    """A fence of a page: its language, its text, the line it begins on, and what the line above it says."""

    language: str
    text: str
    line: int
    mark: str = ""
    value: str = ""
    follows: bool = False
    """It stands right behind another fence."""

    @property
    def runs(self) -> bool:
        return self.language in ("sh", "python") and self.mark not in ("not run", "command", FILE)


def blocks(markdown: str) -> Iterator[Block]:
    """The fences of a page in order."""
    language, text, begun, above, follows = None, [""], 0, ("", ""), False
    for number, line in enumerate(markdown.splitlines(), 1):
        fence = _FENCE.match(line)
        if language is not None:
            if line == "```":
                yield Block(language, "\n".join(text), begun, *above, follows)
                language, above, follows = None, ("", ""), True
            else:
                text.append(line)
        elif fence is not None:
            language, text, begun = fence[1], [], number
        elif (comment := _COMMENT.match(line)) is not None:
            above = (comment[1], comment[2])
        elif (name := _NAME.match(line)) is not None:
            above, follows = (FILE, name[1]), False
        elif line.strip():
            above, follows = ("", ""), False


@dataclass
class Run:
    """What a page's examples print, beside what the page says they print."""

    block: Block
    printed: str
    expected: Block | None


class Folder:
    """Where the examples of one page run: sample_data, the page's own files, and what the examples write."""

    def __init__(self, path: Path) -> None:
        self.path = path
        (path / "sample_data").symlink_to(REPO / "sample_data")
        self._python: subprocess.Popen[str] | None = None

    def run(self, block: Block) -> str:
        """What a block prints; AssertionError where it ends as it should not."""
        before = os.getcwd()
        os.chdir(self.path)
        try:
            printed = self._run_python(block) if block.language == "python" else self._run_shell(block)
        finally:
            os.chdir(before)
        told = printed.replace(str(self.path), HOME).replace(str(REPO), HOME)
        told = told.replace(os.environ["XDG_CACHE_HOME"], CACHE)
        return "\n".join(line.rstrip() for line in told.strip("\n").splitlines())

    def write(self, block: Block) -> None:
        target = self.path / block.value
        assert target.resolve().is_relative_to(self.path), block.value
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(block.text + "\n", encoding="utf-8")

    def close(self) -> None:
        if self._python is not None:
            self._python.kill()
            self._python.communicate()

    def _run_shell(self, block: Block) -> str:
        printed, code = "", 0
        for command in _commands(block.text):
            told, code = _in_process(command) if not _SHELL.search(command) else _in_shell(command)
            printed += told
            assert code in (0, 1) or block.mark == "exits", f"exit {code} of `{command}`:\n{told}"
        if block.mark == "exits":
            assert code == int(block.value), f"exit {code} of:\n{block.text}\n{printed}"
        return printed

    def _run_python(self, block: Block) -> str:
        if self._python is None:
            self._python = subprocess.Popen(
                [sys.executable, str(Path(__file__).with_name("run_blocks.py"))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                env={**os.environ, "COLUMNS": COLUMNS},
            )
        child = self._python
        assert child.stdin is not None and child.stdout is not None
        child.stdin.write(json.dumps({"code": block.text, "line": block.line}) + "\n")
        child.stdin.flush()
        answer = child.stdout.readline()
        assert answer, f"Python ended at line {block.line}"
        done = json.loads(answer)
        assert not done["failed"], f"line {block.line}:\n{done['printed']}"
        return str(done["printed"])


def _commands(text: str) -> Iterator[str]:
    """The commands of a block, lines that go on joined, without comments."""
    for line in text.replace("\\\n", " ").splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            yield line.strip()


def _in_process(command: str) -> tuple[str, int]:
    """Output and exit code of one `sftui …`, run as the program runs it but for the process that watches over it."""
    from sftui.cli.app import COMMANDS, run
    from sftui.cli.ending import exit_code

    words = shlex.split(command, comments=True)
    assert words[0] == "sftui", f"`{command}` is no command of sftui: say why it cannot run"
    told = io.BytesIO()
    out, err = _Terminal(told, "utf-8", write_through=True), io.TextIOWrapper(told, "utf-8", write_through=True)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        opens = len(words) > 1 and not words[1].startswith("-") and words[1] not in COMMANDS
        if opens or words[1:2] == ["demo"]:
            code = exit_code(lambda: _open(words[1:]), False)
            return ("" if code == 0 else told.getvalue().decode()), code
        code = exit_code(lambda: run(words[1:]), False)
    return told.getvalue().decode(), code


class _Terminal(io.TextIOWrapper):
    """What a command prints to a terminal, as wide as COLUMNS says."""

    def isatty(self) -> bool:
        return True


def _open(words: list[str]) -> int:
    """Open what the inspector would open, and prepare the row that it would show first."""
    from sftui.cli import app, inspector
    from sftui.cli.opening import open_options
    from sftui.session.ready import open_data, tokenized

    if words[0] == "demo":
        given = app.demo.make_context("sftui demo", words[1:]).params
        options = inspector.demo_options(given["name"], given["tokenizer"])
    else:
        given = app.inspect.make_context("sftui", words).params
        options = open_options(given, given["row"])
    ready = tokenized(open_data(options)).ready()
    assert ready.inspect(options.row) is not None
    return 0


def _in_shell(command: str) -> tuple[str, int]:
    """The same of a line for a shell, with this Python's sftui first."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
        env={**os.environ, "COLUMNS": COLUMNS, "PATH": path},
        timeout=120,
    )
    return done.stdout, done.returncode


def runs_of(markdown: str, folder: Folder) -> Iterator[Run]:
    """Run every example of a page in its order."""
    found = [*blocks(markdown)]
    for number, block in enumerate(found):
        if block.mark == FILE:
            folder.write(block)
        if not block.runs:
            continue
        after = found[number + 1] if number + 1 < len(found) else None
        expected = after if after is not None and after.language == "text" and after.follows else None
        yield Run(block, folder.run(block), expected)


def fits(expected: str, printed: str) -> bool:
    """Whether an output is what the page shows, `…` lines standing for any lines."""
    parts = [re.escape(part) for part in re.split(rf"^{ANY}$\n?", expected + "\n", flags=re.MULTILINE)]
    return re.fullmatch("(?:.*\n)*?".join(parts), printed + "\n") is not None


def shortened(expected: str, printed: str) -> str:
    """The output as the page would show it: as many lines before and behind `…` as it shows now."""
    shown, lines = expected.splitlines(), printed.splitlines()
    if ANY not in shown:
        return printed
    head, tail = shown.index(ANY), len(shown) - shown.index(ANY) - 1
    return "\n".join([*lines[:head], ANY, *lines[len(lines) - tail :]])
