"""Finding tokens: across token borders, by pattern, by id; and refusing politely."""

from __future__ import annotations

import pytest
from inspections_by_hand import hostile_chat, inspection, stopped

from sftui.errors import SftuiError
from sftui.model import Inspection, Stage
from sftui.session.opened import OpenData
from sftui.session.options import SearchQuery
from sftui.views.search import check_query
from sftui.workspace import search
from sftui.workspace.requests import SearchRequest
from sftui.workspace.search import Positions, matcher


def find(shown: Inspection, kind: str, query: str) -> Positions | None:
    """The tokens that the worker finds in a row; None where it goes on to the next one."""

    def now() -> OpenData:
        raise AssertionError("neither text nor ids need the data")

    return matcher(now, SearchRequest(1, SearchQuery(kind, query), 0))(shown)


@pytest.mark.parametrize(
    ("kind", "query", "found"),
    [
        ("text", "the sky", (7, 8)),
        ("text", " the", (7,)),
        ("text", "e sk", (7, 8)),
        ("text", "BLUE", None),
        ("text", "blue", (15,)),
        ("text", "e, most d", (15, 16, 17, 18)),
        ("text", "turn>", (1, 10, 12, 20)),
        ("text", "nowhere", None),
        ("regex", r"\bm\w+", (13, 17)),
        ("regex", "[.?]", (9, 19)),
        ("id", "211", (3, 11, 14, 21)),
        ("id", "999", None),
    ],
)
def test_find(kind: str, query: str, found: Positions | None) -> None:
    assert find(inspection(), kind, query) == found


def test_hostile_text_can_be_found() -> None:
    assert find(hostile_chat(), "text", "\x1b") == (1,)
    assert find(hostile_chat(), "text", "[/INST]") == (5,)


@pytest.mark.parametrize(
    ("kind", "query", "why"),
    [
        ("regex", "(", "not a valid regular expression"),
        ("regex", "(a+b)+", "repeats a repetition"),
        ("regex", "(a*b){2,}", "repeats a repetition"),
        ("regex", "(a{1,2}b)*", "repeats a repetition"),
        ("regex", "a" * 501, "longer than"),
        ("id", "x", "not a token id"),
        ("id", "-1", "not a token id"),
        ("text", "", "nothing to search"),
        ("colour", "x", "unknown kind"),
    ],
)
def test_bad_queries_say_what_and_what_to_do(kind: str, query: str, why: str) -> None:
    with pytest.raises(SftuiError, match=why) as caught:
        check_query(kind, query)
    assert caught.value.fix


@pytest.mark.parametrize("stage", Stage)
def test_nothing_is_found_where_there_are_no_tokens(stage: Stage) -> None:
    assert find(stopped(stage), "text", "never there") is None


def test_no_more_of_a_row_is_searched_than_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    found = find(hostile_chat(), "text", "[/INST]")
    assert found == (5,)
    monkeypatch.setattr(search, "REGEX_LIMIT", search.REGEX_LIMIT // 50_000)
    assert find(hostile_chat(), "text", "[/INST]") is None
    assert find(hostile_chat(), "text", "\x1b") == (1,)
