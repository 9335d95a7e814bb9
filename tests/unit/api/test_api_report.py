"""The report of a check, and what notebooks show."""

from __future__ import annotations

import html
import json
import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import sftui

REPO = Path(__file__).resolve().parents[3]
DEFECTS = REPO / "sample_data" / "defects.jsonl"
CHATS = DEFECTS.with_name("chat_messages.jsonl")
"""Errors, warnings and information, in a quarter of the time."""
GIVEN: dict[str, Any] = {"tokenizer": "builtin:chatml", "trainer": "unsloth"}
HOSTILE = '<script>alert(1)</script><img src=x onerror=alert(2)>\x1b[2J"&\u202e</div></style>'


class Tags(HTMLParser):
    """The tags and attributes of some markup, and whether each is closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self._open: list[str] = []
        self.feed(text)
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def report() -> sftui.Report:
    return sftui.check(DEFECTS, **GIVEN)


def test_findings_come_worst_first_with_their_rows(report: sftui.Report) -> None:
    ranks = [("error", "warning", "info").index(one.severity) for one in report.findings]
    assert ranks == sorted(ranks) and report.complete and report.figures.rows > 0
    assert sum(report.counts.values()) == sum(one.count for one in report.findings)
    for one in report.findings:
        assert one.title and one.count >= len(one.findings) > 0
        assert not one.rows or len(one.rows) <= one.count
    assert "1 row" not in repr(report) and str(report).splitlines()[-1].startswith(f"{report.counts['error']} errors")


def test_the_verdict_is_told_everywhere_alike(report: sftui.Report) -> None:
    sentences = [one.sentence for one in report.verdict]
    assert sentences[0] == "the trainer cannot use 9 of 67 rows: the row has no conversation"
    assert [one["sentence"] for one in report.as_dict()["verdict"]] == sentences
    flat = " ".join(str(report).split())
    assert all(" ".join(one.split()) in flat for one in sentences)
    page = unescape(report._repr_html_())
    assert all(one in page for one in sentences)


def test_raise_on_names_what_was_found(report: sftui.Report) -> None:
    with pytest.raises(sftui.FindingsError) as raised:
        report.raise_on("error")
    assert raised.value.report is report and report.findings[0].code in str(raised.value)
    with pytest.raises(sftui.SftuiError, match="there is no severity bad; say error, warning, info, never"):
        report.raise_on("bad")
    errors = [one.code for one in sftui.check(CHATS, **GIVEN).findings if one.severity == "error"]
    chosen = sftui.check(CHATS, **GIVEN, ignore=errors)
    assert errors and chosen.raise_on("error") is chosen
    assert {one.severity for one in chosen.findings} == {"warning", "info"}


@pytest.mark.parametrize(
    ("rate", "fails"), [({"CON004": 1.0}, False), ({"CON004": "100%"}, False), ({"CON004": 0.0}, True), ({}, True)]
)
def test_a_code_fails_by_its_share_of_rows(rate: dict[str, float | str], fails: bool) -> None:
    chosen = sftui.check(CHATS, **GIVEN, select=["CON004"], max_rate=rate)
    assert chosen.findings[0].severity == "warning" and bool(chosen.over) == (fails and bool(rate))
    if not fails:
        assert chosen.raise_on("warning") is chosen
        return
    with pytest.raises(sftui.FindingsError, match="max_rate allows 0.000%" if rate else "CON004") as raised:
        chosen.raise_on("never" if rate else "warning")
    assert raised.value.report is chosen


@pytest.mark.parametrize(
    ("rate", "said"),
    [
        ({"CON004": 1.5}, "max_rate CON004=1.5 is not understood"),
        ({"XYZ": 0.5}, "max_rate: there is no code `XYZ`"),
        ({"CON004": "baseline"}, "max_rate has no baseline to read"),
    ],
)
def test_a_rate_that_is_none_is_refused(rate: dict[str, float | str], said: str) -> None:
    with pytest.raises(sftui.SftuiError, match=said):
        sftui.check(CHATS, **GIVEN, max_rate=rate)


def test_codes_are_chosen_as_on_the_command_line(report: sftui.Report) -> None:
    code = report.findings[0].code
    assert [one.code for one in sftui.check(DEFECTS, **GIVEN, select=[code]).findings] == [code]
    with pytest.raises(sftui.SftuiError, match="select: there is no code `XYZ999`"):
        sftui.check(DEFECTS, **GIVEN, select=["XYZ999"])


def test_some_rows_an_evaluation_set_and_progress() -> None:
    with sftui.open(CHATS, **GIVEN) as data:
        told: list[tuple[int, int | None]] = []
        some = data.check(max_rows=3, progress=lambda done, all_rows: told.append((done, all_rows)))
        assert some.figures.rows == 3 and not some.complete and told[-1] == (3, 3)
        leaked = data.check(evaluation=CHATS)
        group = (
            next(one for one in leaked.figures.groups if "evaluation" in one.name)
            if hasattr(leaked.figures, "groups")
            else leaked.figures.leaked
        )
        assert group.count > 0


def test_processes_find_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    from transformers import AutoTokenizer

    monkeypatch.setattr("sftui.session.checking.SPAWNED", 1)
    tokenizer = AutoTokenizer.from_pretrained(str(REPO / "sftui" / "tokens" / "builtin" / "chatml"))
    lines = (REPO / "sample_data" / "chat_messages.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    with sftui.open(rows, tokenizer=tokenizer, trainer="trl") as data:
        assert data.check(jobs=2).as_dict() == data.check().as_dict()


def test_the_page_is_written_whole(report: sftui.Report, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    report.to_html(page)
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    with pytest.raises(sftui.SftuiError, match="already exists"):
        report.to_html(page)


def test_a_notebook_shows_rows_and_reports_safely() -> None:
    said = {"messages": [{"role": "user", "content": HOSTILE}, {"role": "assistant", "content": HOSTILE * 3}]}
    with sftui.open([said, {"messages": HOSTILE}], **GIVEN) as data:
        shown = [data[0]._repr_html_(), data[1]._repr_html_(), data.check()._repr_html_()]
    for markup in shown:
        tags = Tags(markup)
        assert tags.seen <= {
            "div",
            "style",
            "p",
            "strong",
            "span",
            "mark",
            *(["table", "caption", "thead", "tbody", "tr", "th", "td"]),
        }
        assert tags.attributes <= {"class", "tabindex", "role", "aria-label", "scope"}
        assert "\x1b" not in markup and "\u202e" not in markup
        assert "This output holds text of the data" in markup
    assert "trained: " in Tags(shown[0]).text and "masked" not in re.sub("<[^>]*>", "", html.unescape(""))


def test_a_long_row_is_clipped() -> None:
    long = {"messages": [{"role": "user", "content": "word " * 3000}, {"role": "assistant", "content": "done " * 3000}]}
    with sftui.open([long], **GIVEN) as data:
        markup = data[0]._repr_html_()
    assert "the first 400 of" in markup and len(markup) < 60_000


def test_the_box_keeps_its_style_to_itself() -> None:
    from sftui.exports.report_markup import style

    scoped = str(style(scoped=True))
    assert scoped.startswith(".sftui{&{--bg") and "body{" not in scoped and ":root" not in scoped
    assert scoped.count("{") == scoped.count("}")


def test_a_notebook_shows_both_sides_of_a_preference() -> None:
    said = [{"role": "assistant", "content": "It is Lima."}], [{"role": "assistant", "content": "It is Cusco."}]
    row = {"prompt": [{"role": "user", "content": "Peru?"}], "chosen": said[0], "rejected": said[1]}
    with sftui.open([row], tokenizer="builtin:chatml", trainer="trl", set={"loss.objective": "dpo"}) as data:
        text = Tags(data[0]._repr_html_()).text
    chosen, rejected = text.index("chosen: "), text.index("rejected: ")
    assert "Lima" in text[chosen:rejected] and "Cusco" in text[rejected:] and "Cusco" not in text[:rejected]
    assert text.count("trained: ") == 2
