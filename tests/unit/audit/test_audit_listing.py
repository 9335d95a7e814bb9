"""The rows behind each number of the figures: as many as it says, and those that have what it counts."""

from __future__ import annotations

import random
import re

import pytest
from audit_rows import Opened, chat, talk

from sftui.audit.audit import Audit
from sftui.audit.figures import Figures
from sftui.audit.tallies import KINDS, MOST_NAMES, OTHERS, Listing, listed_by
from sftui.model import Row
from sftui.views.cells import plain
from sftui.views.figures import figure_lines

OF_TOKENS = ("role", "part", "message", "special", "weight")
"""Numbers of tokens: rows that have some of them are behind each."""
CHANGES = {"loss.weights": "float", "mask.rule": "assistant", "length.max": 40}


def rows(seed: int) -> list[Row]:
    dice = random.Random(seed)
    made: list[Row] = []
    for index in range(120):
        kind = dice.randrange(6)
        where = f"part-{index // 60}.jsonl"
        if kind == 0:
            made.append(chat(index, ("system", "Be brief."), ("user", "Hi"), where=where))
        elif kind == 1:
            made.append(
                chat(index, *[("user", "Hi"), ("assistant", f"Hello {index}.")] * dice.randrange(1, 6), where=where)
            )
        elif kind == 2 and made:
            made.append(Row(index, made[-1].data, made[-1].raw, f"{where} line {index + 1}", made[-1].size))
        elif kind == 3 and index % 2:
            made.append(chat(index, ("user", "Go on. " * 60), ("assistant", "No."), where=where))
        elif kind == 3:
            made.append(Row(index, {"messages": "none"}, "", f"{where} line {index + 1}", 9))
        else:
            made.append(talk(index, dice.randrange(0, 300), where))
    return made


@pytest.fixture(scope="module")
def audited() -> tuple[Audit, Listing, Figures, list[tuple[str, str]]]:
    listing = Listing()
    audit = Opened(rows(3), changes=CHANGES).audit(listing=listing)
    figures = audit.figures()
    lines = [(plain((cells,)).strip(), by) for cells, by in figure_lines(figures, 120)]
    return audit, listing, figures, lines


def test_a_number_of_rows_is_as_many_as_are_listed(
    audited: tuple[Audit, Listing, Figures, list[tuple[str, str]]],
) -> None:
    _, listing, _, lines = audited
    checked = set()
    for text, by in lines:
        kind, _, name = by.partition(": ")
        if kind not in KINDS or kind in OF_TOKENS:
            continue
        listed = listing.rows(by)
        number = text.removeprefix(name).strip().split()[0].replace(",", "")
        assert listed is not None and str(len(listed)) == number, (text, by)
        assert list(listed) == sorted(set(listed))
        checked.add(kind)
    assert checked >= {
        "length", "trained share", "over", "no label under", "repeats", "stopped at", "roles", "template", "findings",
        "source",
    }  # fmt: skip


def test_behind_tokens_are_the_rows_that_have_them(
    audited: tuple[Audit, Listing, Figures, list[tuple[str, str]]],
) -> None:
    _, listing, figures, lines = audited
    kinds = {by.partition(": ")[0] for _, by in lines}
    assert kinds >= {"role", "part", "message", "special"}
    for kind in ("role", "part", "message", "special"):
        assert all(listing.rows(by) for _, by in lines if by.startswith(f"{kind}: "))
    assert set(listing.rows("message: 3") or ()) < set(listing.rows("role: assistant") or ())
    assert figures.by_message.keys() >= {1, 3}


def test_each_sentence_of_the_verdict_has_its_rows(
    audited: tuple[Audit, Listing, Figures, list[tuple[str, str]]],
) -> None:
    audit, listing, _, _ = audited
    told = [one for one in audit.verdict() if one.rows < one.of]
    assert told
    for one in told:
        listed = listing.rows(listed_by("verdict", one.consequence))
        assert listed is not None and len(listed) == one.rows and tuple(listed)[: len(one.first)] == one.first


def test_a_number_of_none_leads_nowhere(audited: tuple[Audit, Listing, Figures, list[tuple[str, str]]]) -> None:
    lines = audited[3]
    none = [(text, by) for text, by in lines if re.search(r"(^|  )0 +(0\.0 %$|[a-z])", text)]
    assert len(none) > 3 and not [one for one in none if one[1]]
    assert [text for text, by in lines if text.startswith("0 prompts from the evaluation set") and not by]


def test_names_from_the_data_stay_bounded_and_every_row_is_listed() -> None:
    listing = Listing()
    for number in range(3 * MOST_NAMES):
        listing.add("roles", f"name {number}" if number % 2 else "even", number)
        listing.add("template", "all", number)
    assert list(listing.rows("roles: even") or ()) == list(range(0, 3 * MOST_NAMES, 2))
    assert len(listing.rows(f"roles: {OTHERS}") or ()) == 3 * MOST_NAMES // 2 - (MOST_NAMES - 1)
    assert len(listing.rows("template: all") or ()) == 3 * MOST_NAMES
    assert listing.rows("CON004") is None and list(listing.rows("roles: no such") or ()) == []


def test_an_audit_that_nobody_asks_lists_nothing() -> None:
    audit = Opened(rows(3), changes=CHANGES).audit()
    assert audit.listing is None
