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

from sftui.tokens import builtin

SFTUI = Path(sys.executable).parent / "sftui"
CHATML = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
TIME, MEMORY = "{{ spin() }}", "{{ hold() }}"
"""Of the stand-ins in `../costly`."""

pytestmark = pytest.mark.usefixtures("costly")


def chat(question: str) -> str:
    return json.dumps({"messages": [{"role": "user", "content": question}, {"role": "assistant", "content": "ab"}]})


def sftui(*words: object, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(SFTUI), *map(str, words)], capture_output=True, text=True, timeout=120, **more)


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """Five rows, of which number 2 says boom."""
    path = tmp_path / "rows.jsonl"
    texts = ["ab", "ba", "boom", "aab", "b"]
    path.write_text("".join(chat(text) + "\n" for text in texts))
    return path


@pytest.mark.one_of(3)
@pytest.mark.parametrize("command", ["show", "encode", "check"])
def test_a_text_on_which_rust_gives_up_is_a_problem_of_its_row(tmp_path: Path, command: str) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(chat(text) + "\n" for text in ("ab", "ba", "GIVE UP", "aab", "b")))
    options: dict[str, list[object]] = {"show": ["--row", 2], "encode": ["-o", "-"], "check": ["--format", "json"]}
    done = sftui(command, rows, "-t", "builtin:chatml", *options[command])
    assert done.returncode == (1 if command == "check" else 2)
    assert "Traceback" not in done.stderr and "bug" not in done.stderr
    assert "it gave up, as the test asked it to" in " ".join(done.stdout.split())
    if command == "encode":
        made = [json.loads(line) for line in done.stdout.splitlines()]
        assert ["error" in one for one in made] == [False, False, True, False, False]


@pytest.mark.parametrize(
    ("cost", "told"), [(TIME, "needs more than 0.4 seconds of CPU time"), (MEMORY, "needs more than 100 MB")]
)
@pytest.mark.parametrize(
    "out", [pytest.param("-", marks=pytest.mark.long), pytest.param("out.jsonl", marks=pytest.mark.long), "out.parquet"]
)
def test_a_row_that_costs_too_much_is_left_and_the_others_are_written_once(
    rows: Path, tmp_path: Path, cost: str, told: str, out: str
) -> None:
    template = tmp_path / "t.jinja"
    template.write_text("{% if 'boom' in messages[0].content %}" + cost + "{% endif %}" + CHATML)
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
    done = sftui("check", rows, "-t", "builtin:chatml", "--template", template, "--format", "json", "--select", "ROW")
    assert done.returncode == 1, done.stderr
    (found,) = json.loads(done.stdout)["findings"]
    assert found["code"] == "ROW007"


@pytest.mark.long
def test_of_what_overruns_on_every_row_nothing_is_written(rows: Path, tmp_path: Path) -> None:
    template = tmp_path / "t.jinja"
    template.write_text(TIME)
    done = sftui("encode", rows, "-t", "builtin:chatml", "--template", template, "-o", tmp_path / "out.jsonl")
    assert done.returncode == 2
    assert "none of the rows could be prepared, because sftui stopped at row 0: " in done.stderr
    assert "the chat template needs more than 0.4 seconds of CPU time" in done.stderr
    assert not list(tmp_path.glob("*out.jsonl*"))


@pytest.mark.one_of(2)
@pytest.mark.parametrize("command", ["encode", "check"])
def test_rows_before_those_that_are_given_up_are_not_lost(tmp_path: Path, command: str) -> None:
    """Rows 1 and 3 overrun alone and are left alone; after 5, 6 and 7 sftui tries no more, all before them stands."""
    data, template = tmp_path / "rows.jsonl", tmp_path / "t.jinja"
    data.write_text("".join(chat("boom" if n in (1, 3, 5, 6, 7) else f"row {n}") + "\n" for n in range(10)))
    template.write_text("{% if 'boom' in messages[0].content %}" + TIME + "{% endif %}" + CHATML)
    more = ["-o", tmp_path / "out.jsonl"] if command == "encode" else ["--format", "json", "--select", "ROW007"]
    done = sftui(command, data, "-t", "builtin:chatml", "--template", template, *more)
    if command == "check":
        assert done.returncode == 1, done.stderr
        told = json.loads(done.stdout)["findings"]
        assert [one["row"] for one in told] == [1, 3, 5, 6, 7, 8, 9]
        return
    assert done.returncode == 2
    assert "what hf-trainer" in done.stderr and "row 1: " in done.stderr and "stops the whole run" not in done.stderr
    made = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [one["row"] for one in made if one.get("input_ids")] == [0, 2, 4]
    assert ["sftui is giving up" in one.get("error", "") for one in made] == [False] * 8 + [True] * 2
    assert not list(tmp_path.glob(".*part"))


@pytest.mark.one_of(3)
@pytest.mark.parametrize(("cost", "told"), [(TIME, "0.4"), (MEMORY, "100 MB")])
@pytest.mark.parametrize("command", ["show", "report", "template", "compare"])
def test_what_costs_too_much_ends_in_a_sentence_in_other_commands(
    rows: Path, tmp_path: Path, command: str, cost: str, told: str
) -> None:
    template = tmp_path / "t.jinja"
    template.write_text("{% if 'boom' in messages[0].content %}" + cost + "{% endif %}" + CHATML)
    more: dict[str, list[object]] = {
        "show": ["--row", 2],
        "report": ["-o", tmp_path / "r.html"],
        "template": ["--add-generation-tags"],
        "compare": ["--with", "manual-shift"],
    }
    done = sftui(command, rows, "-t", "builtin:chatml", "--template", template, *more[command])
    assert done.returncode in (0, 1, 2) and "Traceback" not in done.stderr and "bug" not in done.stderr
    page = (tmp_path / "r.html").read_text() if command == "report" else ""
    assert f"needs more than {told}" in " ".join((done.stdout + done.stderr + page).split())


@pytest.mark.parametrize("where", ["tokenizer", "row"])
def test_what_a_tokenizer_or_a_row_asks_for_is_bounded_as_well(where: str, rows: Path, tmp_path: Path) -> None:
    words: list[object] = ["show", rows, "-t", "builtin:chatml"]
    if where == "row":
        row = {**json.loads(chat("ab")), "chat_template_kwargs": {"width": 1_100_000}}
        rows.write_text(json.dumps(row) + "\n")
        template = tmp_path / "t.jinja"
        template.write_text("{{ 'a' * (width or 1) }}" + CHATML)
        words += ["--template", template]
    else:
        folder = tmp_path / "tokenizer"
        folder.mkdir()
        (folder / "tokenizer.json").write_bytes((builtin.folder("chatml") / "tokenizer.json").read_bytes())
        config = {"tokenizer_class": "PreTrainedTokenizerFast", "chat_template": TIME, "eos_token": "<|im_end|>"}
        (folder / "tokenizer_config.json").write_text(json.dumps(config))
        words[-1] = folder
    done = sftui(*words)
    assert done.returncode == 2 and "Traceback" not in done.stderr, done.stderr
    told = "builds a value of more than 1 Mi characters" if where == "row" else "needs more than 0.4"
    assert told in " ".join((done.stdout + done.stderr).split())


@pytest.mark.long
def test_a_template_that_cannot_be_compiled_within_the_bound_is_told(rows: Path, tmp_path: Path) -> None:
    template = tmp_path / "t.jinja"
    template.write_text("{# hold #}" + CHATML)
    for command in (["show"], ["template"], ["check"]):
        done = sftui(*command, rows, "-t", "builtin:chatml", "--template", template)
        assert done.returncode == 2
        assert "cannot be compiled, because it needs more than 100 MB of memory" in done.stderr


def test_a_pipe_is_read_once_however_often_the_command_is_started(rows: Path, tmp_path: Path) -> None:
    template = tmp_path / "t.jinja"
    template.write_text("{% if 'boom' in messages[0].content %}" + TIME + "{% endif %}" + CHATML)
    done = sftui(
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
    template.write_text("{% for m in messages %}{% for i in range(2000) %}{% endfor %}{% endfor %}" + CHATML)
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
