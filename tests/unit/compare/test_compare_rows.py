"""Alignment of tokenizations of one row, and what is counted as a difference."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sftui.comparison import ComparisonCount, compare_row
from sftui.comparison.alignment import AlignedSide, align
from sftui.model import (
    IGNORE_INDEX,
    Example,
    Inspection,
    Labels,
    Part,
    Problem,
    Reason,
    RenderedText,
    Row,
    Span,
    Stage,
    Tokens,
    TokenText,
)
from sftui.recipe import changed
from sftui.runs import as_runs, flat, labelled
from sftui.session.arguments import Arguments
from sftui.session.comparing import open_sides


def placed(
    pieces: list[str], contents: tuple[tuple[int, int], ...] = (), ids: dict[str, int] | None = None
) -> AlignedSide:
    """A side whose tokens are `pieces`; a piece beginning with ^ stands for no text."""
    starts, ends, at = [], [], 0
    for piece in pieces:
        if piece.startswith("^"):
            starts.append(-1)
            ends.append(-1)
            continue
        starts.append(at)
        at += len(piece)
        ends.append(at)
    known = ids if ids is not None else {}
    text = "".join(piece for piece in pieces if not piece.startswith("^"))
    return AlignedSide(
        text, contents, tuple(known.get(p, crc32(p.encode())) for p in pieces), tuple(starts), tuple(ends)
    )


def words(sides: list[list[str]], columns: tuple[tuple[tuple[int, int], ...], ...]) -> list[tuple[str, ...]]:
    return [tuple("|".join(side[a:b]) for side, (a, b) in zip(sides, column)) for column in columns]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (["a", " b", "c"], ["a", " b", "c"], [("a", "a"), (" b", " b"), ("c", "c")]),
        (["an", "swer", "!"], ["answer", "!"], [("an|swer", "answer"), ("!", "!")]),
        (["a", "\n"], ["a"], [("a", "a"), ("\n", "")]),
        (["^bos", "a", "b"], ["a", "b"], [("^bos", ""), ("a", "a"), ("b", "b")]),
        (["a", "^eos"], ["a", "^eos"], [("a", "a"), ("^eos", "^eos")]),
        (
            ["<|x|>", "hi", "<|y|>"],
            ["[A]", "hi", "[B]"],
            [("", "[A]"), ("<|x|>", ""), ("hi", "hi"), ("", "[B]"), ("<|y|>", "")],
        ),
    ],
)
def test_tokens_stand_beside_what_they_share(one: list[str], other: list[str], expected: list[tuple[str, str]]) -> None:
    assert words([one, other], align([placed(one), placed(other)])) == expected


def test_equal_contents_are_matched_before_the_words_around_them() -> None:
    """`the` stands in both headers too; only the content may be matched with the content."""
    one, other = ["the ", "user: ", "the ", "end"], ["user ", "the ", "stop"]
    columns = align([placed(one, ((10, 14),)), placed(other, ((5, 9),))])
    assert ("the ", "the ") in words([one, other], columns)
    assert words([one, other], columns).index(("the ", "the ")) > 0


@st.composite
def tokenizations(draw: st.DrawFn) -> list[AlignedSide]:
    """Two to four sides: texts that are variations of one text, each cut anywhere."""
    base = draw(st.text("ab <|>\n", min_size=0, max_size=30))
    sides = []
    for _ in range(draw(st.integers(2, 4))):
        at = draw(st.integers(0, len(base)))
        text = base[:at] + draw(st.text("abx ", max_size=5)) + base[draw(st.integers(at, len(base))) :]
        cuts = sorted({0, len(text), *draw(st.lists(st.integers(0, len(text)), max_size=8))})
        pieces = [text[a:b] for a, b in pairwise(cuts)]
        if draw(st.booleans()):
            pieces.insert(draw(st.integers(0, len(pieces))), "^none")
        start = draw(st.integers(0, len(text)))
        sides.append(placed(pieces, ((start, draw(st.integers(start, len(text)))),)))
    return sides


@given(tokenizations())
def test_every_token_stands_in_one_column_in_its_order(sides: list[AlignedSide]) -> None:
    columns = align(sides)
    for k, side in enumerate(sides):
        assert [i for column in columns for i in range(*column[k])] == list(range(len(side.ids)))
    assert all(any(a < b for a, b in column) for column in columns)


def row(
    pieces: list[str],
    trained: list[int],
    *,
    index: int = 0,
    kept: tuple[int, int] | None = None,
    dropped: str | None = None,
) -> Inspection:
    """A row of tokens of which those numbered are trained."""
    side = placed(pieces, ids={p: 10 + i for i, p in enumerate("abcdefgh")})
    count = len(pieces)
    ranges = (kept or (0, count),)
    labels = tuple(i if k in trained else IGNORE_INDEX for k, i in enumerate(side.ids))
    tokens = Tokens(
        flat(side.ids),
        side.starts,
        side.ends,
        (0,) * count,
        (Part.CONTENT,) * count,
    )
    a, b = ranges[0]
    example = None if dropped else Example(side.ids[a:b], labels[a:b], (1,) * (b - a))
    return Inspection(
        Row(index, {}, "", ""),
        token_text=TokenText(tuple(pieces), tuple(p.encode() for p in pieces), (False,) * count),
        rendered=RenderedText(side.text, (Span(0, len(side.text), 0, Part.CONTENT),)),
        tokens=tokens,
        labels=Labels(labels, labelled(labels), (Reason.COMPLETION,) * count, ranges, dropped),
        example=example,
    )


def test_a_label_that_differs_is_marked_at_its_token() -> None:
    found = compare_row([row(list("abc"), [1, 2]), row(list("abc"), [2])])
    assert [column.labels_differ for column in found.columns] == [False, True, False]
    assert (found.labels_differing, found.ids_differing, found.differs) == (1, 0, True)
    assert [side.trained for side in found.sides] == [2, 1]


def test_a_token_that_one_side_cuts_differs() -> None:
    found = compare_row([row(list("abc"), [1, 2]), row(list("abc"), [1, 2], kept=(0, 2))])
    assert [column.ids_differ for column in found.columns] == [False, False, True] and found.labels_differing == 1
    assert found.sides[1].labels == (IGNORE_INDEX, 11, None) and found.sides[1].received == 2


def test_what_the_example_holds_counts_more_than_the_labels_before_it() -> None:
    forced = row(list("abc"), [2])
    assert forced.example is not None
    forced = replace(forced, example=replace(forced.example, input_ids=(10, 11, 99), labels=(-100, -100, 99)))
    found = compare_row([row(list("abc"), [2]), forced])
    assert found.columns[2].ids_differ and found.sides[1].ids == (10, 11, 99)


def test_preshifted_labels_stand_at_the_token_they_are_of() -> None:
    plain = row(list("abc"), [1, 2])
    assert plain.example is not None
    shifted = replace(
        plain, example=replace(plain.example, input_ids=(10, 11), labels=(11, 12), attention_mask=(1, 1), shifted=True)
    )
    assert not compare_row([plain, shifted]).differs


def test_a_row_that_only_one_side_keeps_differs_as_a_whole() -> None:
    found = compare_row([row(list("abc"), [1]), row(list("abc"), [1], dropped="too long")])
    assert found.one_sided and found.differs and found.differing_tokens == 0
    assert not compare_row([row(list("ab"), [1], dropped="x"), row(list("ab"), [1], dropped="y")]).differs


def test_a_side_that_stops_is_told_apart_from_one_that_drops() -> None:
    stopped = Inspection(Row(0, None, "", ""), stopped_at=Stage.ROW, problem=Problem("it cannot be read"))
    found = compare_row([row(list("abc"), [1]), stopped])
    assert found.one_sided and found.sides[1].stopped and "cannot be read" in str(found.sides[1].gone)
    assert not compare_row([stopped, stopped]).differs


def aside(inspection: Inspection) -> Inspection:
    return replace(inspection, evaluates=True)


def test_a_row_that_trains_on_one_side_and_evaluates_on_the_other_differs() -> None:
    same = row(list("abc"), [1, 2])
    for align_equal in (True, False):
        found = compare_row([same, aside(same)], align_equal=align_equal)
        assert found.evaluation_differs and found.differs and not found.one_sided and found.differing_tokens == 0
        assert [side.trained for side in found.sides] == [2, 0] and found.sides[1].with_loss == 2
    assert not compare_row([aside(same), aside(same)]).differs
    assert compare_row([same, aside(same), row(list("abc"), [1], dropped="too long")]).evaluation_differs
    alone = compare_row([row(list("abc"), [1], dropped="too long"), aside(same)])
    assert alone.one_sided and not alone.evaluation_differs, "nobody trains it"


def test_where_it_is_not_known_which_rows_evaluate_none_differs_by_it() -> None:
    same = row(list("abc"), [1, 2])
    assert not compare_row([same, aside(same)], unsure=(0,)).differs
    assert compare_row([same, aside(same), same], unsure=(0,)).evaluation_differs
    assert [side.trained for side in compare_row([same, same], unsure=(0,)).sides] == [2, 2]


def test_rows_that_evaluate_are_counted_apart_from_what_is_trained() -> None:
    same = row(list("abc"), [1, 2])
    count = ComparisonCount()
    for made in ([same, same], [same, aside(same)], [aside(same), aside(same)]):
        count = count.plus(compare_row(made, align_equal=False))
    assert (count.rows, count.differing_rows, count.evaluation_differing) == (3, 1, 1)
    assert (count.trained, count.received) == ((4, 2), (6, 3))
    assert (count.evaluation_rows, count.evaluation_tokens) == ((1, 2), (3, 6))


def test_equal_rows_need_no_columns() -> None:
    same = [row(list("abc"), [1]), row(list("abc"), [1])]
    assert compare_row(same, align_equal=False).columns == () and len(compare_row(same).columns) == 3


@given(st.lists(st.lists(st.integers(0, 3), max_size=3), max_size=12), st.integers(0, 12))
def test_counts_of_parts_merge_to_the_count_of_all(masks: list[list[int]], at: int) -> None:
    rows = [
        compare_row([row(list("abcd"), [1], index=i), row(list("abcd"), mask, index=i)], align_equal=False)
        for i, mask in enumerate(masks)
    ]
    counts = []
    for part in (rows, rows[:at], rows[at:]):
        count = ComparisonCount(keep=3)
        for one in part:
            count = count.plus(one)
        counts.append(count)
    assert counts[1].merged(counts[2]) == counts[0]
    assert counts[0].rows == len(rows) and counts[0].differing_rows == sum(one.differs for one in rows)
    assert [one.row for one in counts[0].first] == [one.row for one in rows if one.differs][:3]


def test_long_rows_are_aligned_in_no_time_and_lose_little() -> None:
    """Diffs of every word with every word would take minutes here."""
    import random
    import time

    chance = random.Random(1)
    words = [f"w{chance.randrange(300)} " for _ in range(20_000)]
    other = [word for word in words if word != "w7 "]
    started = time.process_time()
    columns = align([placed(words), placed(other)])
    assert time.process_time() - started < 5
    assert sum(a < b and c < d for (a, b), (c, d) in columns) > 0.99 * len(other)


def weighing(weights: list[float], trained: list[int], shifted: bool = False) -> Inspection:
    """The row `abc` with weights, of which those numbered are trained."""
    made = row(list("abc"), trained)
    assert made.labels is not None and made.example is not None
    runs = as_runs(tuple(weights))
    example = replace(made.example, weights=runs)
    if shifted:
        example = replace(
            example, input_ids=example.input_ids[:-1], labels=example.labels[1:], weights=runs[1:], shifted=True
        )
    return replace(made, labels=replace(made.labels, weights=runs), example=example)


def test_a_weight_that_differs_is_a_difference_of_its_own() -> None:
    found = compare_row([weighing([0.0, 0.3, 1.0], [1, 2]), row(list("abc"), [1, 2])])
    assert [column.weights_differ for column in found.columns] == [False, True, False]
    assert (found.weights_differing, found.labels_differing, found.differing_tokens) == (1, 0, 1)
    assert found.differs and found.sides[0].weights == (1.0, 0.3, 1.0) and found.sides[1].weights == ()
    count = ComparisonCount().plus(found).plus(found)
    assert (count.weights_differing, count.differing_tokens, count.differing_rows) == (2, 2, 2)


@pytest.mark.parametrize(
    ("weights", "plain"),
    [([0.0, 1.0, 1.0], [1, 2]), ([5.0, 1.0, 1.0], [1, 2]), ([0.0, 0.0, 1.0], [2])],
    ids=["ones", "of what is masked", "zero masks"],
)
def test_weights_that_say_what_labels_say_differ_nowhere(weights: list[float], plain: list[int]) -> None:
    for align_equal in (True, False):
        sides = [weighing(weights, [1, 2]), row(list("abc"), plain)]
        assert not compare_row(sides, align_equal=align_equal).differs


def test_weights_are_compared_where_labels_are_stored_shifted() -> None:
    sides = [weighing([9.0, 0.3, 1.0], [1, 2], shifted=True), weighing([0.0, 0.3, 1.0], [1, 2])]
    assert not compare_row(sides).differs
    found = compare_row([sides[0], weighing([0.0, 0.4, 1.0], [1, 2])])
    assert [column.weights_differ for column in found.columns] == [False, True, False]


def test_no_number_is_the_same_as_no_number() -> None:
    assert not compare_row([weighing([0.0, float("nan"), 1.0], [1, 2]) for _ in range(2)]).differs


@pytest.mark.parametrize(
    ("stored", "first", "second", "differs"),
    [
        ("shifted", {}, {"loss.shift": "preshifted"}, True),
        ("shifted", {"data.given_labels": "shifted"}, {"loss.shift": "preshifted"}, False),
        ("shifted", {}, {"data.given_labels": "shifted"}, True),
        ("shifted", {}, {"mask.ignore_index": -7}, False),
        ("unshifted", {}, {"data.given_labels": "unshifted"}, False),
    ],
)
def test_stored_labels_are_compared_where_the_loss_takes_them(
    tmp_path: Path, stored: str, first: dict[str, Any], second: dict[str, Any], differs: bool
) -> None:
    """A model that shifts labels again that are stored shifted learns other tokens than one that does not."""
    ids = [*range(300, 340)]
    labels = [-100] * 8 + ids[8:]
    path = tmp_path / "ids.jsonl"
    row = {"input_ids": ids, "labels": labels if stored == "unshifted" else [*labels[1:], -100]}
    path.write_text((json.dumps(row) + "\n") * 3)
    options, _ = Arguments(data=(str(path),), tokenizer="builtin:chatml").options()
    recipes = []
    for changes in (first, second):
        recipe = changed(options.recipe, "mask.rule", "given")
        for path_, value in changes.items():
            recipe = changed(recipe, path_, value)
        recipes.append(recipe)
    with contextlib.closing(open_sides(options, recipes)) as comparing:
        *_, count = comparing.count(comparing.rows())
    assert (count.rows, count.differing_rows, count.ids_differing) == (3, 3 * differs, 0)
