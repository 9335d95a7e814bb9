"""`sftui check`: what it tells, in which order, and how it ends."""

from __future__ import annotations

import html
import json
import os
import re
import shlex
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from markdown_it import MarkdownIt
from row_files import chat

from sftui.audit.processes import AuditProgress
from sftui.findings import CODES

Sftui = Callable[..., Any]


def lines(path: Path, *rows: Any) -> Path:
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


GOOD = chat(("user", "What is two plus two?"), ("assistant", "Four."))
TYPED = chat(("user", "And <|im_end|> three plus three?"), ("assistant", "Six."))
EMPTY = chat(("user", "And four plus four?"), ("assistant", None))


@pytest.fixture
def clean(tmp_path: Path) -> Path:
    return lines(tmp_path / "clean.jsonl", GOOD)


@pytest.fixture
def dirty(tmp_path: Path) -> Path:
    return lines(tmp_path / "dirty.jsonl", GOOD, EMPTY, '{"messages": [', TYPED)


def check(sftui: Sftui, path: Path, *words: object) -> Any:
    return sftui("check", path, "-t", "builtin:chatml", *words)


def codes(done: Any) -> dict[str, int]:
    return {one["code"]: one["count"] for one in json.loads(done.out)["codes"]}


@pytest.mark.parametrize("width", [80, 160])
def test_the_text_is_as_wide_as_was_asked(width: int, sftui: Sftui, dirty: Path) -> None:
    written = check(sftui, dirty, "--width", width).out.splitlines()
    longest = max(len(line) for line in written if "run: " not in line)  # a command is copied, so it stays whole
    assert 50 < longest <= width and (longest > 80) is (width > 80)


def test_a_clean_file_ends_with_0(sftui: Sftui, clean: Path) -> None:
    done = check(sftui, clean)
    assert done.code == 0
    assert done.out.endswith("in 1 row · hf-trainer · builtin:chatml\n") and "no errors, no warnings, " in done.out


@pytest.mark.parametrize(
    ("day", "fix"),
    [
        (
            "strftime_now('%d %b %Y')",
            "fix: remove chat_template, remove chat_template_jinja (the tokenizer's own template)",
        ),
        ("date_string or strftime_now('%d %b %Y')", 'fix: chat_template_kwargs: {"date_string": "01 Jan 2026"}'),
    ],
)
def test_a_fix_in_words_is_of_the_template_at_hand(
    sftui: Sftui, clean: Path, tmp_path: Path, day: str, fix: str
) -> None:
    """A template that asks for no date_string is not helped by one."""
    template = tmp_path / "dated.jinja"
    turn = "<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n"
    template.write_text(f"{{{{ {day} }}}}\n{{% for m in messages %}}{turn}{{% endfor %}}")
    done = check(sftui, clean, "--trainer", "axolotl", "--template", template, "--select", "TPL005")
    assert f"  {fix}\n" in done.out, done.out


def test_findings_name_file_line_row_and_key(sftui: Sftui, dirty: Path) -> None:
    done = check(sftui, dirty, "--format", "json", "--select", "CON,INJ001")
    assert done.code == 1
    found = {one["code"]: one for one in json.loads(done.out)["findings"]}
    con001, inj001 = found["CON001"], found["INJ001"]
    assert (con001["file"], con001["line"], con001["row"], con001["message"]) == (str(dirty), 2, 1, 1)
    assert con001["key"].startswith(f"{CODES['CON001'].fixes['hf-trainer']}; or drop its row")
    assert not con001["tried"]
    assert inj001["severity"] == "warning" and inj001["tokens"] is not None and inj001["row"] == 3
    assert set(found) == {"CON001", "INJ001"}


def test_text_groups_by_code_and_counts(sftui: Sftui, tmp_path: Path) -> None:
    path = lines(tmp_path / "many.jsonl", *(chat(("user", f"Question {i}"), ("assistant", "yes ")) for i in range(9)))
    done = check(sftui, path, "--select", "CON004")
    assert "CON004" in done.out and "9 times" in done.out and "and 6 more: rows 3, 4, 5, 6, 7, 8" in done.out
    assert done.out.count("fix: ") == 1
    assert done.code == 0


def test_the_command_under_a_finding_can_be_pasted(sftui: Sftui, tmp_path: Path) -> None:
    aliased = {"messages": [{"role": "user", "content": "And then?"}, {"role": "bot", "content": "No."}]}
    path = lines(tmp_path / "my rows.jsonl", GOOD, aliased, EMPTY)
    wanted = ("--set", "length.max=900", "--trainer", "trl", "--field", "messages=messages")
    done = check(sftui, path, *wanted, "--select", "ROL001,CON001")
    commands = {line.strip().removeprefix("run: ") for line in done.out.splitlines() if "run: " in line}
    made = {}
    for command in commands:
        *words, target = shlex.split(command)[1:]
        assert words[1:-1] == [str(path), "-t", "builtin:chatml", *sorted_words(wanted), *words[-3:-1]]
        made[target] = check_of(sftui(*words, tmp_path / target).code, sftui, tmp_path / target, wanted)
    assert made == {"my rows-map-roles.jsonl": {"CON001": 1}, "my rows-without-CON001.jsonl": {"ROL001": 1}}


def sorted_words(words: tuple[str, ...]) -> list[str]:
    """Options in the order of the help."""
    pairs = dict(zip(words[::2], words[1::2]))
    return [text for name in ("--trainer", "--set", "--field") for text in (name, pairs[name])]


def check_of(code: int, sftui: Sftui, path: Path, words: tuple[str, ...]) -> dict[str, int]:
    assert code == 0
    return codes(check(sftui, path, *words, "--select", "ROL001,CON001", "--format", "json"))


@pytest.mark.parametrize(
    ("select", "bar", "code"),
    [
        ("CON001", "error", 1),
        ("CON001", "warning", 1),
        ("CON001", "never", 0),
        ("INJ001", "error", 0),
        ("INJ001", "warning", 1),
        ("EOS008", "warning", 0),
    ],
)
def test_fail_on(sftui: Sftui, dirty: Path, select: str, bar: str, code: int) -> None:
    assert check(sftui, dirty, "--select", select, "--fail-on", bar).code == code


def test_select_and_ignore_take_beginnings_of_codes(sftui: Sftui, dirty: Path) -> None:
    assert set(codes(check(sftui, dirty, "--format", "json", "--select", "con,ROW001,inj001", "--ignore", "INJ"))) == {
        "CON001",
        "ROW001",
    }
    done = check(sftui, dirty, "--select", "CON999")
    assert done.code == 2 and "there is no code `CON999`" in done.err


@pytest.mark.parametrize("command", ["check", "report"])
@pytest.mark.parametrize("option", ["--select", "--ignore"])
@pytest.mark.parametrize("value", ["", ",", " , "])
def test_an_option_that_names_no_code_is_refused(
    sftui: Sftui, dirty: Path, tmp_path: Path, command: str, option: str, value: str
) -> None:
    out = tmp_path / "out.html"
    for more in ((), (option, "CON")):
        done = sftui(command, dirty, "-t", "builtin:chatml", "-o", out, option, value, *more)
        assert done.code == 2 and done.out == "" and not out.exists()
        assert done.err.count("\n") == 1 and done.err.startswith(f"sftui: {option} names no code")


def test_an_unknown_code_is_told_with_the_nearest(sftui: Sftui, dirty: Path) -> None:
    for words in (
        ("explain", "LAB0001"),
        ("explain", "lab0001"),
        ("check", dirty, "-t", "builtin:chatml", "--select", "CON,LAB0001"),
        ("check", dirty, "-t", "builtin:chatml", "--ignore", "lab0001"),
        ("report", dirty, "-t", "builtin:chatml", "-o", "x.html", "--select", "LAB0001"),
        ("repair", dirty, "-t", "builtin:chatml", "--drop", "LAB0001", "--dry-run"),
        ("repair", dirty, "--drop", "lab0001", "--dry-run"),
    ):
        done = sftui(*words)
        assert done.code == 2 and done.out == "" and done.err.count("\n") == 1 and done.err.startswith("sftui: "), words
        assert "LAB001" in done.err and "0001" in done.err, (words, done.err)
    for words in (
        ("explain", ""),
        ("explain", "zzzzzz"),
        ("check", dirty, "-t", "builtin:chatml", "--select", "zzzzzz"),
        ("repair", dirty, "--drop", "zzzzzz", "--dry-run"),
    ):
        done = sftui(*words)
        assert done.code == 2 and done.err.count("\n") == 1 and "(fix: )" not in done.err, words


def test_max_rows_and_sample(sftui: Sftui, dirty: Path) -> None:
    few = json.loads(check(sftui, dirty, "--format", "json", "--max-rows", 1).out)
    assert (few["rows"], few["complete"], few["counts"]["error"]) == (1, False, 0)
    some = json.loads(check(sftui, dirty, "--format", "json", "--sample", 2).out)
    assert some["rows"] == 2 and {row for one in some["codes"] for row in one["rows"]} <= {0, 2}


def test_a_baseline_keeps_known_findings_from_failing(sftui: Sftui, dirty: Path, tmp_path: Path) -> None:
    baseline = tmp_path / "known.json"
    assert check(sftui, dirty, "--baseline", baseline, "--write-baseline").code == 0
    done = check(sftui, dirty, "--baseline", baseline, "--format", "json")
    made = json.loads(done.out)
    assert done.code == 0 and made["findings"] == [] and made["counts"]["known"] > 2
    # The same rows at other places are known still; only what is new counts.
    lines(dirty, chat(("user", "New"), ("assistant", None)), GOOD, TYPED, '{"messages": [', EMPTY)
    done = check(sftui, dirty, "--baseline", baseline, "--format", "json")
    assert done.code == 1
    assert [(one["code"], one["row"]) for one in json.loads(done.out)["findings"] if one["row"] is not None] == [
        ("CON001", 0)
    ]


def test_a_file_that_is_no_baseline_is_refused(sftui: Sftui, dirty: Path, clean: Path) -> None:
    for name, words in ((clean, "not an sftui baseline"), (clean.with_name("none.json"), "cannot be read")):
        done = check(sftui, dirty, "--baseline", name)
        assert done.code == 2 and words in done.err
    assert check(sftui, dirty, "--write-baseline").code == 2


def test_prompts_of_the_evaluation_set_are_found(sftui: Sftui, dirty: Path, clean: Path) -> None:
    done = check(sftui, dirty, "--eval", clean, "--format", "json")
    assert codes(done)["DUP002"] == 1
    assert json.loads(done.out)["figures"]["leaked"]["rows"] == [0]


def test_output_is_the_same_each_time_and_in_several_processes(
    sftui: Sftui, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sftui.session.checking.SPAWNED", 1)
    path = lines(
        tmp_path / "rows.jsonl",
        *([GOOD, TYPED, EMPTY] * 60),
        *(chat(("user", f"{i}?"), ("assistant", f"{i}. ")) for i in range(100)),
    )
    first = check(sftui, path, "--format", "json", "--jobs", 1)
    assert check(sftui, path, "--format", "json", "--jobs", 1).out == first.out
    shared = check(sftui, path, "--format", "json", "--jobs", 2)
    a, b = json.loads(first.out), json.loads(shared.out)
    assert a == b
    assert (codes(first)["CON004"], codes(first)["INJ001"]) == (100, 60)


def test_an_interrupted_check_goes_on_where_it_was(
    sftui: Sftui, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SFTUI_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("sftui.cli.auditing.SAVE_EVERY", 0.0)
    monkeypatch.setattr("sftui.session.checking.LOOK", 0.0)
    path = lines(tmp_path / "rows.jsonl", *(chat(("user", f"{i}?"), ("assistant", f"{i}. ")) for i in range(40)))
    whole = check(sftui, path, "--format", "json")
    from sftui.findings import check_row

    seen: list[int] = []

    def stopped_in_row_20(inspection: Any, context: Any, **more: Any) -> Any:
        if inspection.row.index == 20 and seen == list(range(20)):
            os.kill(os.getpid(), signal.SIGINT)
        seen.append(inspection.row.index)
        return check_row(inspection, context, **more)

    monkeypatch.setattr("sftui.audit.audit.check_row", stopped_in_row_20)
    stopped = check(sftui, path, "--format", "json")
    assert stopped.code == 130 and "stopped at row 21; run the same command again to continue there" in stopped.err
    assert list((tmp_path / "cache" / "audits").glob("*.audit"))
    seen.clear()
    again = check(sftui, path, "--format", "json")
    assert "continuing at row 21" in again.err and seen == list(range(21, 40))
    assert json.loads(again.out) == json.loads(whole.out)
    assert not list((tmp_path / "cache" / "audits").glob("*.audit"))


def test_an_audit_that_is_made_elsewhere_is_neither_saved_nor_resumed(
    sftui: Sftui, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sftui.engines.checking import RayChecking, repeated_in

    def steps(self: RayChecking) -> Iterator[AuditProgress]:
        """As on Ray, with its parts made here."""
        work = self.task().open()
        made = [(piece, work.do(piece)) for piece in self.session.source.pieces(300)]
        parts = ((piece, done.damaged, done.made) for piece, done in made)
        yield from self.joined(parts, lambda shares: repeated_in(lambda: (done for _, done in made), shares, None))

    monkeypatch.setattr(RayChecking, "steps", steps)
    monkeypatch.setattr("sftui.cli.auditing.on_ray", lambda engine, address, given: engine == "ray")
    monkeypatch.setattr("sftui.cli.auditing.SAVE_EVERY", 0.0)
    for kept in ("load_state", "save_state"):
        monkeypatch.setattr(f"sftui.cli.auditing.{kept}", lambda *_: pytest.fail("an audit of Ray's was kept"))
    path = lines(tmp_path / "rows.jsonl", *(chat(("user", f"{i}?"), ("assistant", f"{i}. ")) for i in range(20)))
    checked = check(sftui, path, "--engine", "ray", "--format", "json")
    assert json.loads(checked.out)["rows"] == 20


RESUMED: dict[str, tuple[tuple[str, ...], str]] = {
    "a template that was edited": (("rows.jsonl", "--template", "t.jinja"), "t.jinja"),
    "a file that a glob matches": (("*.jsonl",), "rows.jsonl"),
    "a file of a folder": (("data",), "data/more.jsonl"),
    "the evaluation set": (("rows.jsonl", "--eval", "data"), "data/more.jsonl"),
    "the model's config": (("rows.jsonl", "-t", "tok"), "tok/generation_config.json"),
    "a file of the tokenizer": (("rows.jsonl", "-t", "tok"), "tok/tokenizer_config.json"),
    "the recipe": (("rows.jsonl", "--recipe", "r.yaml"), "r.yaml"),
    "the baseline": (("rows.jsonl", "--baseline", "b.json"), "b.json"),
}
ANEW = {
    "t.jinja": "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content | trim }}<|im_end|>\n{% endfor %}",
    "r.yaml": "preset: hf-trainer\nlength: {max: 99}\n",
    "tok/generation_config.json": '{"eos_token_id": 3}',
    "b.json": '{"version": 1, "findings": {"CON004": ["0123456789abcdef"]}}',
}


@pytest.mark.one_of(3)
@pytest.mark.parametrize("changed", [False, True], ids=["goes on", "begins anew"])
@pytest.mark.parametrize(("words", "file"), RESUMED.values(), ids=RESUMED)
def test_an_audit_goes_on_only_over_what_decided_it(
    sftui: Sftui,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    file: str,
    changed: bool,
) -> None:
    """Stopped, then one thing changed that it had read: it begins anew. Something else changed: it goes on."""
    from sftui.tokens import builtin

    monkeypatch.setenv("SFTUI_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("sftui.cli.auditing.SAVE_EVERY", 0.0)
    monkeypatch.setattr("sftui.session.checking.LOOK", 0.0)
    here = tmp_path / "here"
    (here / "data").mkdir(parents=True)
    (here / "tok").mkdir()
    monkeypatch.chdir(here)
    rows = [chat(("user", f"{i}?"), ("assistant", f"{i}. ")) for i in range(40)]
    lines(here / "rows.jsonl", *rows)
    lines(here / "data" / "some.jsonl", *rows)
    lines(here / "data" / "more.jsonl", *rows[:7])
    for one in builtin.folder("chatml").iterdir():
        (here / "tok" / one.name).write_bytes(one.read_bytes())
    (here / "t.jinja").write_text(ANEW["t.jinja"].replace(" | trim", ""))
    (here / "tok" / "generation_config.json").write_text("{}")
    (here / "r.yaml").write_text("preset: hf-trainer\n")
    (here / "b.json").write_text('{"version": 1, "findings": {}}')
    given = ("check", *words, *(() if "-t" in words else ("-t", "builtin:chatml")), "--format", "json")
    from sftui.findings import check_row

    stopped: list[int] = []

    def stopping(inspection: Any, context: Any, **more: Any) -> Any:
        if inspection.row.index == 20 and not stopped:
            stopped.append(20)
            os.kill(os.getpid(), signal.SIGINT)
        return check_row(inspection, context, **more)

    monkeypatch.setattr("sftui.audit.audit.check_row", stopping)
    assert sftui(*given).code == 130
    (here / "other.json").write_text("{}")
    if changed:
        before = (here / file).read_text()
        (here / file).write_text(
            ANEW.get(file) or (before.replace("6?", "66?") if file.endswith(".jsonl") else before.replace("{", "{ ", 1))
        )
    done = sftui(*given)
    assert done.code in (0, 1) and ("continuing at row" in done.err) != changed, done.err


def test_sarif_holds_what_the_schema_asks_for(sftui: Sftui, dirty: Path) -> None:
    """The required properties and enumerations of SARIF 2.1.0, by hand; tests/report checks the whole structure."""
    log = json.loads(check(sftui, dirty, "--format", "sarif").out)
    assert log["version"] == "2.1.0" and log["$schema"].endswith("sarif-schema-2.1.0.json")
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert run["tool"]["driver"]["name"] == "sftui" and len({rule["id"] for rule in rules}) == len(rules)
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note", "none") and result["message"]["text"]
        for location in result["locations"]:
            place = location["physicalLocation"]
            assert place["artifactLocation"]["uri"].startswith("file:///")
            assert place.get("region", {"startLine": 1})["startLine"] >= 1
    row = next(one for one in run["results"] if one["ruleId"] == "CON001")
    assert row["locations"][0]["physicalLocation"]["region"] == {"startLine": 2}


def test_junit_fails_a_test_for_each_code(sftui: Sftui, dirty: Path, clean: Path) -> None:
    suites = ElementTree.fromstring(check(sftui, dirty, "--format", "junit").out)
    cases = list(suites.iter("testcase"))
    assert suites.get("tests") == str(len(cases))
    failed = {case.get("name", "").split()[0] for case in cases if case.find("failure") is not None}
    assert {"CON001", "INJ001", "ROW001"} <= failed and suites.get("failures") == str(len(failed))
    texts = {
        case.get("name", "").split()[0]: case.findtext("failure", "")
        for case in cases
        if case.find("failure") is not None
    }
    assert all("\nfix: " in text or "\nnot tried: " in text for text in texts.values()), "each says what repairs it"
    passed = ElementTree.fromstring(check(sftui, clean, "--format", "junit", "--select", "CON").out)
    assert [case.get("name") for case in passed.iter("testcase")] == ["no findings"]


def test_github_annotates_lines_and_escapes(sftui: Sftui, tmp_path: Path) -> None:
    path = lines(tmp_path / "a,b:c.jsonl", chat(("user", "::error::x\n::warning::y %"), ("assistant", None)))
    out = check(sftui, path, "--format", "github").out
    assert all(line.startswith(("::error ", "::warning ", "::notice ")) for line in out.splitlines())
    error = next(line for line in out.splitlines() if "CON001" in line)
    assert f"file={str(path).replace(',', '%2C').replace(':', '%3A')},line=1,title=CON001 " in error


def test_markdown_counts_in_a_table_and_folds_the_findings(sftui: Sftui, dirty: Path) -> None:
    out = check(sftui, dirty, "--format", "markdown").out
    assert out.startswith("### sftui check: dirty&#46;jsonl\n\n") and "in 4 rows" in out
    table = [line for line in out.splitlines() if line.startswith("| ✗ error | CON001 |")]
    assert len(table) == 1 and table[0].endswith("| 1 | 1 |")
    found = check(sftui, dirty, "--format", "json")
    counts = codes(found)
    assert out.count("<details>") == out.count("</details>") == len(counts)
    assert all(f"<b>{code}</b>" in out for code in counts)
    assert "<br>fix: <code>" in out


def test_markdown_names_a_row_once_in_the_table(sftui: Sftui, tmp_path: Path) -> None:
    path = lines(tmp_path / "rows.jsonl", chat(("human", "Hello?"), ("gpt", "Hi.")))
    told = check(sftui, path, "--trainer", "trl", "--format", "markdown").out
    (line,) = [one for one in told.splitlines() if "| ROL001 |" in one]
    assert line.endswith("| 2 | 0 |")


def test_nothing_in_the_data_is_read_as_markdown(sftui: Sftui, tmp_path: Path) -> None:
    hostile = "</details> <img src=x> [a](http://x.example) @everyone #1 **b** _c_ `d` | e"
    path = lines(tmp_path / "a_b_`c`|<b>.jsonl", chat(("user", "Hello?"), (hostile, "Hi."), ("assistant", None)), GOOD)
    out = check(sftui, path, "--format", "markdown").out
    page = MarkdownIt("commonmark").enable("table").render(out)
    known = {
        "h3",
        "p",
        "ul",
        "li",
        "br",
        "b",
        "code",
        "details",
        "summary",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
    }
    assert set(re.findall(r"<(\w+)", page)) <= known
    assert page.count("<details>") == page.count("</details>") > 0
    assert not re.search(r"@(?!<!-- -->)|(?<!&)#(?!<!-- -->)", page), "a mention, or the number of an issue"
    text = html.unescape(page.replace("<!-- -->", ""))
    assert hostile.lower() in text.lower() and path.name in text
    assert {row.count("<t") for row in page.split("<tr>")[1:]} <= {5, 6}, "no bar makes another column"


def test_one_run_writes_several_formats(sftui: Sftui, dirty: Path, tmp_path: Path) -> None:
    also = {form: tmp_path / f"out.{form}" for form in ("json", "markdown", "text")}
    words = [word for form, file in also.items() for word in ("--also", form, file)]
    done = check(sftui, dirty, "--format", "github", *words)
    assert done.code == 1 and done.out == check(sftui, dirty, "--format", "github").out
    for form, file in also.items():
        assert file.read_text() == check(sftui, dirty, "--format", form).out
    twice = check(sftui, dirty, "--also", "json", tmp_path / "x", "--also", "text", tmp_path / "x")
    assert twice.code == 2 and "two outputs are named" in twice.err and not (tmp_path / "x").exists()
    assert check(sftui, dirty, "--also", "json", "-").code == 2, "stdout is named for two outputs"


@pytest.mark.parametrize("form", ["text", "json", "sarif", "junit", "github", "markdown"])
def test_hostile_rows_reach_no_terminal_and_break_no_format(sftui: Sftui, tmp_path: Path, form: str) -> None:
    hostile = "\x1b[31m\x9b1m\u202e\ufffe\ud800\x00</failure>]]><script>"
    path = lines(
        tmp_path / "rows.jsonl",
        chat(("user", hostile), ("assistant", hostile + " ")),
        chat((hostile, "x"), ("assistant", "y")),
        {hostile: 1},
        GOOD,
        GOOD,
    )
    out = check(sftui, path, "--format", form).out
    assert not any(char in out for char in "\x1b\x9b\u202e\ufffe\x00")
    out.encode("utf-8")
    if form == "junit":
        ElementTree.fromstring(out)


def test_written_files_are_not_overwritten_unasked(sftui: Sftui, clean: Path, tmp_path: Path) -> None:
    out = tmp_path / "found.json"
    assert check(sftui, clean, "--format", "json", "-o", out).code == 0 and json.loads(out.read_text())["rows"] == 1
    assert check(sftui, clean, "-o", out).code == 2
    assert check(sftui, clean, "-o", out, "--force").code == 0


def test_explain_lists_and_explains(sftui: Sftui) -> None:
    listed = sftui("explain")
    assert listed.code == 0 and [line.split()[0] for line in listed.out.splitlines()] == list(CODES)
    one = sftui("explain", "lab001")
    assert one.code == 0 and one.out.startswith("LAB001") and "What may fix it:" in one.out
    wrong = sftui("explain", "LAB0001")
    assert wrong.code == 2 and "LAB001" in wrong.err


def test_waivers_of_the_recipe_take_findings_away(sftui: Sftui, dirty: Path, tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(
        "preset: hf-trainer\nwaivers:\n- {code: CON001, rows: 1, reason: looked at}\n- {code: INJ001, rows: [0, 1],"
        " reason: other rows}\n"
    )
    done = check(sftui, dirty, "--recipe", recipe, "--format", "json", "--select", "CON001,INJ001")
    assert set(codes(done)) == {"INJ001"} and json.loads(done.out)["counts"]["waived"] == 1


@pytest.mark.parametrize("turns", [3, 20, 21, 60])
def test_a_waiver_by_signature_holds_for_rows_of_any_length(sftui: Sftui, tmp_path: Path, turns: int) -> None:
    path = lines(
        tmp_path / "rows.jsonl",
        *(chat(*[("user", "Go on."), ("assistant", "yes ")] * number) for number in (turns, turns + 1)),
    )
    roles, recipe = ["user", "assistant"] * turns, tmp_path / "recipe.yaml"
    shown = " ".join(roles[:40]) + " …" if turns > 20 else " ".join(roles)
    for signature, standing in (
        (json.dumps(roles), 1),
        (json.dumps(" ".join(roles)), 1),
        (json.dumps(shown), 0 if turns > 20 else 1),
    ):
        recipe.write_text(
            f"preset: hf-trainer\nwaivers:\n- {{code: CON004, signature: {signature}, reason: looked at}}\n"
        )
        found = json.loads(check(sftui, path, "--recipe", recipe, "--format", "json", "--select", "CON004").out)[
            "findings"
        ]
        assert {one["row"] for one in found} == ({1} if standing else set()), signature


def test_a_report_is_one_page_with_every_finding_escaped(sftui: Sftui, tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script>\x1b[31m\u202e\ud800"
    path = lines(
        tmp_path / "rows.jsonl",
        chat(("user", hostile), ("assistant", " yes ")),
        chat((hostile, "x"), ("assistant", "y")),
        chat(("user", "</div><script>Hello"), ("assistant", " yes </div><script>")),
    )
    out = tmp_path / "report.html"
    done = sftui("report", path, "-t", "builtin:chatml", "-o", out)
    text = out.read_text(encoding="utf-8")
    assert done.code == 0 and text.startswith("<!DOCTYPE html>")
    assert "<script" not in text and "&lt;script&gt;" in text and not any(char in text for char in "\x1b\u202e")
    assert (
        'class="tokens"' in text
        and "CON004" in text
        and "http-equiv" in text
        and "http://" not in text
        and "https://" not in text
    )
    assert sftui("report", path, "-t", "builtin:chatml", "-o", out).code == 2
    told = re.findall(r'<td><span class="sev (error|warning|info)">', text)
    assert told and told == sorted(told, key=["error", "warning", "info"].index), "the worst first"


def test_a_report_counts_one_row_as_one(sftui: Sftui, tmp_path: Path) -> None:
    path, out = lines(tmp_path / "rows.jsonl", chat(("user", "Hi"), ("assistant", "Yes"))), tmp_path / "report.html"
    done = sftui("report", path, "-t", "builtin:chatml", "-o", out)
    assert f"sftui: 1 row written to {out}" in done.err and "<dd>1 row, " in out.read_text(encoding="utf-8")
    assert "1 rows" not in out.read_text(encoding="utf-8")


def test_findings_in_stdin_name_no_temporary_folder(sftui: Sftui, dirty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for form in ("text", "sarif", "github", "junit", "json"):
        with open(dirty, encoding="utf-8") as stdin:
            monkeypatch.setattr("sys.stdin", stdin)
            done = sftui("check", "-", "-t", "builtin:chatml", "--format", form)
        assert "sftui-stdin" not in done.out
    made = json.loads(done.out)
    made["findings"] = [one for one in made["findings"] if one["code"] == "CON001"]
    assert made["data"] == ["-"] and (made["findings"][0]["file"], made["findings"][0]["line"]) == ("stdin.jsonl", 2)


def test_a_trainers_config_is_checked_with_its_own_data(sftui: Sftui, dirty: Path, tmp_path: Path) -> None:
    config = tmp_path / "axolotl.yml"
    config.write_text(
        f"base_model: builtin:chatml\nchat_template: tokenizer_default\ndatasets:\n- path: {dirty}\n  type:"
        " chat_template\nsequence_len: 64\n"
    )
    made = json.loads(sftui("check", config, "--format", "json", "--select", "CON001,TRU").out)
    assert made["preset"].startswith("axolotl") and {one["code"] for one in made["findings"]} >= {"CON001"}
