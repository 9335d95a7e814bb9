"""Commands as a user starts them: a row that costs too much is that row's problem, the others are prepared."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

SFTUI = Path(sys.executable).parent / "sftui"
CHATML = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
TIME = "{{ range(99999) | map('center', 30000000) | map('length') | max }}"
MEMORY = "{{ (range(99999) | map('center', 30000000) | list) | length }}"


def chat(question: str) -> str:
    return json.dumps({"messages": [{"role": "user", "content": question}, {"role": "assistant", "content": "ab"}]})


def sftui(*words: object, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(SFTUI), *map(str, words)], capture_output=True, text=True, timeout=120, **more)


def impatient(*words: object, **more: Any) -> subprocess.CompletedProcess[str]:
    """The same with a fifth of the processor time for a row."""
    slow = "import sftui.bound as b; b.SECONDS = 0.4; from sftui.cli import main; main()"
    command = [sys.executable, "-c", slow, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **more)


@pytest.fixture(scope="module")
def panicking(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tokenizer whose split regex gives up in Rust on `ZQaaaa…`."""
    folder = tmp_path_factory.mktemp("panicking")
    backend = {
        "version": "1.0",
        "added_tokens": [
            {
                "id": 2,
                "content": "</s>",
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": True,
            }
        ],
        "pre_tokenizer": {
            "type": "Split",
            "pattern": {"Regex": "ZQ(([a-z])+.)+[A-Z]([a-z])+$"},
            "behavior": "Isolated",
            "invert": False,
        },
        "model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []},
    }
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": "</s>",
        "chat_template": "{% for m in messages %}{{ m.content }}{% endfor %}</s>",
    }
    (folder / "tokenizer.json").write_text(json.dumps(backend))
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return folder


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """Five rows, of which number 2 says boom, and would make the tokenizer panic."""
    path = tmp_path / "rows.jsonl"
    texts = ["ab", "ba", "boom ZQ" + "a" * 60, "aab", "b"]
    path.write_text("".join(chat(text) + "\n" for text in texts))
    return path


@pytest.mark.one_of(3)
@pytest.mark.parametrize("command", ["show", "encode", "check"])
def test_a_regex_that_gives_up_in_rust_is_a_problem_of_its_row(panicking: Path, rows: Path, command: str) -> None:
    options: dict[str, list[object]] = {"show": ["--row", 2], "encode": ["-o", "-"], "check": ["--format", "json"]}
    more = options[command]
    done = sftui(command, rows, "-t", panicking, *more)
    assert done.returncode == (1 if command == "check" else 2)
    assert "Traceback" not in done.stderr and "panicked" not in done.stderr and "\x1b" not in done.stderr
    assert "retry-limit-in-match" in " ".join(done.stdout.split())
    if command == "encode":
        made = [json.loads(line) for line in done.stdout.splitlines()]
        assert ["error" in one for one in made] == [False, False, True, False, False]


@pytest.mark.parametrize(
    ("bomb", "told"), [(TIME, "needs more than 2 seconds of processor time"), (MEMORY, "needs more than 400 MB")]
)
@pytest.mark.parametrize(
    "out", [pytest.param("-", marks=pytest.mark.long), pytest.param("out.jsonl", marks=pytest.mark.long), "out.parquet"]
)
def test_a_row_that_costs_too_much_is_left_and_the_others_are_written_once(
    rows: Path, tmp_path: Path, bomb: str, told: str, out: str
) -> None:
    template = tmp_path / "t.jinja"
    template.write_text("{% if 'boom' in messages[0].content %}" + bomb + "{% endif %}" + CHATML)
    done = sftui("encode", rows, "-t", "builtin:chatml", "--template", template, "-o", out, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("1 could not be prepared") == 1 and "Traceback" not in done.stderr
    if out.endswith(".parquet"):
        import pyarrow.parquet

        made = pyarrow.parquet.read_table(tmp_path / out).to_pylist()
    else:
        text = done.stdout if out == "-" else (tmp_path / out).read_text()
        made = [json.loads(line) for line in text.splitlines()]
    assert [one["row"] for one in made] == [0, 1, 2, 3, 4]
    assert [bool(one.get("input_ids")) for one in made] == [True, True, False, True, True]
    assert told in made[2]["error"]
    assert not list(tmp_path.glob(".*part"))


def test_a_finding_says_that_sftui_does_not_know_the_row(rows: Path, tmp_path: Path) -> None:
    template = tmp_path / "t.jinja"
    template.write_text("{% if 'boom' in messages[0].content %}" + TIME + "{% endif %}" + CHATML)
    done = impatient(
        "check", rows, "-t", "builtin:chatml", "--template", template, "--format", "json", "--select", "ROW"
    )
    assert done.returncode == 1, done.stderr
    (found,) = json.loads(done.stdout)["findings"]
    assert found["code"] == "ROW007"


@pytest.mark.long
def test_of_what_overruns_on_every_row_nothing_is_written(rows: Path, tmp_path: Path) -> None:
    template = tmp_path / "t.jinja"
    template.write_text(TIME)
    done = impatient("encode", rows, "-t", "builtin:chatml", "--template", template, "-o", tmp_path / "out.jsonl")
    assert done.returncode == 2
    assert "none of the rows could be prepared, because sftui stopped at row 0: " in done.stderr
    assert "the chat template needs more than 0.4 seconds of processor time" in done.stderr
    assert not list(tmp_path.glob("*out.jsonl*"))


@pytest.mark.one_of(2)
@pytest.mark.parametrize("command", ["encode", "check"])
def test_rows_before_those_that_are_given_up_are_not_lost(tmp_path: Path, command: str) -> None:
    """Rows 1 and 3 overrun alone and are left alone; after 5, 6 and 7 no more is tried, and all before them stands."""
    data, template = tmp_path / "rows.jsonl", tmp_path / "t.jinja"
    data.write_text("".join(chat("boom" if n in (1, 3, 5, 6, 7) else f"row {n}") + "\n" for n in range(10)))
    template.write_text("{% if 'boom' in messages[0].content %}" + TIME + "{% endif %}" + CHATML)
    more = ["-o", tmp_path / "out.jsonl"] if command == "encode" else ["--format", "json", "--select", "ROW007"]
    done = impatient(command, data, "-t", "builtin:chatml", "--template", template, *more)
    if command == "check":
        assert done.returncode == 1, done.stderr
        told = json.loads(done.stdout)["findings"]
        assert [one["row"] for one in told] == [1, 3, 5, 6, 7, 8, 9]
        return
    assert done.returncode == 2
    assert "what hf-trainer" in done.stderr and "row 1: " in done.stderr and "stops the whole run" not in done.stderr
    made = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [one["row"] for one in made if one.get("input_ids")] == [0, 2, 4]
    assert ["no more is tried" in one.get("error", "") for one in made] == [False] * 8 + [True] * 2
    assert not list(tmp_path.glob(".*part"))


@pytest.mark.long
def test_a_template_that_cannot_be_compiled_within_the_bound_is_told(rows: Path, tmp_path: Path) -> None:
    template = tmp_path / "t.jinja"
    template.write_text("{{ [" + ",".join(["'a' | center(60000000)"] * 300) + "] | length }}" + CHATML)
    for command in (["show"], ["template"], ["check"]):
        done = sftui(*command, rows, "-t", "builtin:chatml", "--template", template)
        assert done.returncode == 2
        assert "cannot be compiled, because it needs more than 400 MB of memory" in done.stderr


def test_a_pipe_is_read_once_however_often_the_command_is_started(rows: Path, tmp_path: Path) -> None:
    template = tmp_path / "t.jinja"
    template.write_text("{% if 'boom' in messages[0].content %}" + TIME + "{% endif %}" + CHATML)
    done = impatient(
        "encode",
        "-",
        "-t",
        "builtin:chatml",
        "--template",
        template,
        "-o",
        "-",
        input=rows.read_text(),
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert [json.loads(line)["row"] for line in done.stdout.splitlines()] == [0, 1, 2, 3, 4]
    assert not list(tmp_path.glob("sftui-*"))


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Enough rows that `--jobs 2` starts two processes; number 700 says boom."""
    path = tmp_path_factory.mktemp("many") / "many.jsonl"
    path.write_text("".join(chat("boom" if number == 700 else f"row {number}") + "\n" for number in range(1500)))
    return path


@pytest.mark.long
def test_a_row_that_ends_one_of_several_processes_is_left_and_all_others_are_checked(
    many: Path, tmp_path: Path
) -> None:
    template = tmp_path / "t.jinja"
    template.write_text("{% if 'boom' in messages[0].content %}" + TIME + "{% endif %}" + CHATML)
    done = sftui("check", many, "-t", "builtin:chatml", "--template", template, "--jobs", 2, "--format", "json")
    assert done.returncode == 1, done.stderr
    told = json.loads(done.stdout)
    assert [(one["code"], one["row"]) for one in told["findings"] if one["code"] == "ROW007"] == [("ROW007", 700)]
    assert told["rows"] == 1500


@pytest.mark.parametrize(
    "number",
    [pytest.param(n, marks=[pytest.mark.long] * (n > 1)) for n in range(int(os.environ.get("SFTUI_KILLS", "4")))],
)
def test_no_process_outlives_a_command_that_was_killed(many: Path, tmp_path: Path, number: int) -> None:
    """At some moment between the start and the end; `SFTUI_KILLS` says how often."""
    template = tmp_path / "t.jinja"
    template.write_text("{% for m in messages %}{% for i in range(20000) %}{% endfor %}{% endfor %}" + CHATML)
    words = ("check", many, "-t", "builtin:chatml", "--template", template, "--jobs", 2)
    command = subprocess.Popen(
        [str(SFTUI), *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=tmp_path
    )
    whole = psutil.Process(command.pid)
    until = time.monotonic() + 60
    while len(whole.children(recursive=True)) < 3 and time.monotonic() < until:
        time.sleep(0.01)
    time.sleep(0.05 * (number % 20))
    below = whole.children(recursive=True)
    assert len(below) >= 3
    command.kill()
    command.wait()
    left = psutil.wait_procs(below, timeout=15)[1]
    for one in left:
        one.kill()
    assert left == []
