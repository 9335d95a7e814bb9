"""Expressions that choose rows: what they mean, what is refused, and what bounds them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import pytest

from sftui import where
from sftui.errors import RecipeError
from sftui.findings import CODES, Finding
from sftui.model import Inspection, Row
from sftui.repairs.model import RepairLayout
from sftui.where import FUNCTIONS, NAMES, Filter, FilterCount, Need, NotKnown, RowValues

CHAT: Mapping[str, Any] = {
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Hello?"}, {"type": "image"}]},
        {"role": "assistant", "content": "Hi there."},
        {"role": "tool", "content": None},
    ],
    "source": "web",
    "score": 3,
    "text": "the column",
    "tokens": 7,
    "empty": [],
}


def values(
    data: Mapping[str, Any] | None, index: int = 0, layout: RepairLayout | None = None, codes: tuple[str, ...] = ()
) -> RowValues:
    row = Row(index, data, "", f"row {index}")

    def check(made: Inspection) -> list[Finding]:
        return [Finding(code, CODES[code].severity, "", row=index) for code in codes]

    made = RowValues(layout or RepairLayout(texts=("text",)), Inspection, check)
    made.at(row)
    return made


@pytest.mark.parametrize(
    ("text", "true"),
    [
        ("len(messages) > 3", True),
        ("len(messages) > 4", False),
        ("3 <= len(messages) < 5", True),
        ('source == "web" and score >= 3', True),
        ('source in ["web", "book"]', True),
        ('source not in ("web", "book")', False),
        ('"tool" in roles and not "function" in roles', True),
        ('roles == ["system", "user", "assistant", "tool"]', True),
        ('texts == ["Be brief.", "Hello?", "Hi there.", "the column"]', True),
        ('"Hello?" in text and "hello" in lower(text)', True),
        ("turns == 4 and length == 34", True),
        ('data["text"] == "the column" and data["tokens"] == 7', True),
        ('"answer" in data or score > 2', True),
        ('messages[-1]["role"] == "tool" and messages[0]["role"] == "system"', True),
        ("row == 0", True),
        ('any(m["content"] is None for m in messages)', True),
        ('all([m["content"] is not None for m in messages if m["role"] != "tool"])', True),
        ("max(len(t) for t in texts) == 10 and min(1, 2) == 1 and sum([1, score]) == 4", True),
        ('count(roles, "user") == 1 and startswith(source, "w") and endswith(source, "b")', True),
        ("score % 2 == 1 and score * 2 + 1 == 7 and score // 2 == 1 and score / 2 == 1.5 and -score == 0 - 3", True),
        ("len(empty)", False),
        ('finding("TRU") and finding("tru001") and finding() and not finding("ROL")', True),
        (f'finding("{CODES["TRU001"].severity.value}")', True),
        ("  (score\n > 2) ", True),
    ],
)
def test_what_an_expression_means(text: str, true: bool) -> None:
    assert Filter(text).on(values(CHAT, codes=("TRU001",)))() is true


@pytest.mark.parametrize(
    ("text", "need", "keys"),
    [
        ("row > 3 or len(messages) > 4", Need.RECORD, ("messages",)),
        ('"tool" in roles and score > 1 and source == "a" and score < 9', Need.RECORD, ("score", "source")),
        ("trained < 0.2", Need.PREPARED, ()),
        ('tokens > 5 and finding("EOS001")', Need.CHECKED, ()),
        ('any(m["role"] == "x" for m in messages)', Need.RECORD, ("messages",)),
    ],
)
def test_what_has_to_be_known_of_a_row(text: str, need: Need, keys: tuple[str, ...]) -> None:
    found = Filter(text)
    assert (found.need, tuple(sorted(found.keys))) == (need, keys)


def test_a_backslash_in_a_text_warns_nobody() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Filter(r'"\d" in text').on(values(CHAT))() is False


def test_only_what_the_expression_names_is_made() -> None:
    def never(given: Any) -> Any:
        raise AssertionError("nobody asked")

    of = RowValues(RepairLayout(), never, never)
    of.at(Row(0, CHAT, "", ""))
    assert Filter('score > 5 and trained < 0.2 and finding("EOS001")').on(of)() is False
    with pytest.raises(AssertionError):
        Filter("score > 2 and trained < 0.2").on(of)()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "the expression is empty"),
        ("score >", "it is not an expression"),
        ("score > 1; row", "it is not an expression at character 10"),
        ("score = 1", "it is not an expression"),
        ("\0", "it is not an expression"),
        ("messages.clear()", "called by name"),
        ("score.real > 1", "may not contain a `.` after a value"),
        ('"{0.__class__}".format(row)', "called by name"),
        ("9**9 > 1", "may not contain `**`"),
        ("1 << 9 > 1", "may not contain `lshift`"),
        ("text[1:] == text", "may not contain a slice"),
        ("(lambda: 1)()", "called by name"),
        ("[x for x in texts for y in texts]", "no loop inside another"),
        ("any(any(x == y for y in texts) for x in texts)", "no loop inside another"),
        ("any(text in x for x in texts)", "inside the loop it may only use `x`, not `text`"),
        ("any(finding() for x in texts)", "`finding()` must be outside the loop"),
        ("{x: 1 for x in texts}", "may not contain `dictcomp`"),
        ('f"{row}" == text', "may not contain an f-string"),
        ("(x := 3) > 1", "may not contain `:=`"),
        ("eval('1')", "there is no function `eval`"),
        ("leng(messages)", "did you mean `len`?"),
        ("len(messages, 3)", "`len` takes 1 values"),
        ("max(texts, key=len)", "called by name"),
        ("max(*texts)", "may not contain a `*` before a value"),
        ("finding(source)", "`finding` takes a code in quotes"),
        ('finding("EOS999")', "there is no code `EOS999`"),
        ('b"a" == text', "its values are strings and numbers"),
        ("1j == score", "its values are strings and numbers"),
    ],
)
def test_what_is_refused_in_one_sentence(text: str, why: str) -> None:
    with pytest.raises(RecipeError) as error:
        Filter(text)
    assert why in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "most", "text"),
    [("LONGEST", 20, "score > 1 and score > 2"), ("MOST_PARTS", 5, "[1, 2, 3, 4, 5]"), ("DEEPEST", 4, "[[[[[1]]]]]")],
)
def test_a_long_expression_is_refused(monkeypatch: pytest.MonkeyPatch, name: str, most: int, text: str) -> None:
    Filter(text)
    monkeypatch.setattr(where, name, most)
    with pytest.raises(RecipeError, match="more than"):
        Filter(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("source * 3 == source", "arithmetic takes numbers only"),
        ("source + source == source", "arithmetic takes numbers only"),
        ('"%9d" % score == source', "arithmetic takes numbers only"),
        ("empty + empty == empty", "arithmetic takes numbers only"),
        ("score < source", "not supported between"),
        ("messages[9] == 1", "out of range"),
        ('data["other"] > 1', "no key `other`"),
        ("other > 1", "no key `other`"),
        ("score / 0 > 1", "division by zero"),
        ("lower(score) == 1", "str"),
        ("count(score, 1) == 1", "count"),
        ("max(empty) > 1", "empty"),
    ],
)
def test_what_makes_no_sense_in_a_row_is_no_match(text: str, why: str) -> None:
    with pytest.raises(NotKnown, match=why):
        Filter(text).on(values(CHAT))()


def test_a_defect_of_sftui_does_not_look_like_a_row_that_makes_no_sense() -> None:
    def broken(given: Any) -> Any:
        raise TypeError("a defect")

    of = RowValues(RepairLayout(), broken, broken)
    for text in ("tokens > 1", "finding()"):
        with pytest.raises(RuntimeError, match="a defect"):
            Filter(text).on(of)()


def test_a_loop_over_a_longer_list_than_the_library_takes_is_no_match(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("simpleeval.MAX_COMPREHENSION_LENGTH", 3)
    with pytest.raises(NotKnown, match="too long for a loop"):
        Filter("any(len(t) > 99 for t in texts)").on(values(CHAT))()


def test_rows_are_counted_and_those_that_could_not_match_with_the_reason() -> None:
    of = values(CHAT)
    count = FilterCount(Filter("score > 2"), of)
    rows: list[Mapping[str, Any] | None] = [CHAT, {"score": 1}, {}, None, {"score": "a"}, {}]
    assert [count.add(Row(n, data, "", "")) for n, data in enumerate(rows)] == [True, *[False] * 5]
    [sentence] = count.sentences()
    assert sentence.startswith("1 of 6 rows match; no match in 2 rows: no key `score`; no match in 1 row: the row")


def test_reasons_that_differ_in_each_row_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(where, "MOST_REASONS", 2)
    count = FilterCount(Filter("data[source] > 1"), values(CHAT))
    for number in range(5):
        count.add(Row(number, {"source": f"key {number}"}, "", ""))
    assert count.unknown == {"no key `key 0`": 1, "no key `key 1`": 1, "other reasons": 3}


def test_a_name_that_no_row_has_is_refused_with_the_nearest() -> None:
    Filter("score > 1").refuse_unknown(CHAT)
    with pytest.raises(RecipeError, match="there is no `mesages`; did you mean `messages`"):
        Filter("len(mesages) > 1").refuse_unknown(CHAT)
    with pytest.raises(RecipeError, match=r"the data has `messages`.*there are also `row`"):
        Filter("zzz > 1").refuse_unknown(CHAT)


def test_nothing_is_called_but_functions_by_their_names() -> None:
    called: list[int] = []
    data = {"trap": lambda: called.append(1), "messages": [lambda: called.append(2)]}
    of = values(data)
    for text in ("trap == 1", "messages[0] == 1", "any(m == 1 for m in messages)"):
        assert Filter(text).on(of)() is False
    for text in ("trap()", "messages[0]()", "[m() for m in messages]"):
        with pytest.raises(RecipeError):
            Filter(text)
    assert called == []


def test_names_and_functions_do_not_collide() -> None:
    assert NAMES.keys().isdisjoint(FUNCTIONS)
