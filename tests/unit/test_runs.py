"""Values along tokens as runs: a sequence like any other."""

from __future__ import annotations

import pickle

from hypothesis import given
from hypothesis import strategies as st

from sftui.labels import applied, both, drawn, outside
from sftui.model import IGNORE_INDEX, Reason
from sftui.runs import Runs, RunWriter, as_runs, clipped, joined, places_of, sides, together

VALUES = st.lists(st.sampled_from("ab"), max_size=12)
PAIRS = st.lists(st.tuples(st.integers(-1, 3), st.sampled_from("abc")), max_size=8)
FLAGS = st.lists(st.booleans(), min_size=0, max_size=12)


@given(VALUES, st.integers(-14, 14), st.integers(-14, 14))
def test_runs_read_as_the_tuple_of_their_values(values: list[str], start: int, stop: int) -> None:
    runs, plain = as_runs(values), tuple(values)
    assert runs == plain and tuple(runs) == plain and len(runs) == len(plain)
    assert [runs[i] for i in range(-len(plain), len(plain))] == [*plain, *plain]
    assert runs[start:stop] == plain[start:stop] and runs[::-1] == plain[::-1]
    assert runs.count("a") == plain.count("a") and ("b" in runs) == ("b" in plain)
    assert pickle.loads(pickle.dumps(runs)) == runs and hash(as_runs(plain)) == hash(runs)


@given(PAIRS)
def test_no_run_is_empty_and_neighbours_differ(pairs: list[tuple[int, str]]) -> None:
    runs = joined(pairs)
    assert runs == tuple(value for length, value in pairs for _ in range(length))
    assert all(start < end for start, end, _ in runs.runs())
    assert all(a != b for a, b in zip(runs.values, runs.values[1:]))


@given(VALUES, st.randoms(use_true_random=False))
def test_two_sequences_change_where_either_does(values: list[str], random: st.randoms) -> None:  # type: ignore[valid-type]
    other = [random.randrange(2) for _ in values]  # type: ignore[attr-defined]
    found = [(a, b) for start, end, a, b in together(values, as_runs(other)) for _ in range(start, end)]
    assert found == list(zip(values, other))


@given(FLAGS, FLAGS, st.integers(0, 12), st.integers(0, 12))
def test_masks_by_runs_are_those_token_by_token(mine: list[bool], more: list[bool], a: int, b: int) -> None:
    n = min(len(mine), len(more))
    first = drawn((1, (on, Reason.ASSISTANT if on else Reason.ROLE)) for on in mine[:n])
    second = drawn((1, (on, Reason.MARKER if on else Reason.HEADER)) for on in more[:n])
    flags, reasons = both(first, second)
    assert flags == tuple(one and other for one, other in zip(mine, more))
    assert reasons == tuple(
        Reason.ROLE if not one else Reason.MARKER if other else Reason.HEADER for one, other in zip(mine, more)
    )
    start, end = sorted((min(a, n), min(b, n)))
    cut = outside(first, [(start, end)])
    assert cut[0] == tuple(on and start <= i < end for i, on in enumerate(mine[:n]))
    assert [why is Reason.TRUNCATED for why in cut[1]] == [not start <= i < end for i in range(n)]
    ids = tuple(range(n))
    assert applied(flags, ids) == tuple(i if on else IGNORE_INDEX for i, on in zip(ids, flags))


def test_what_is_empty_has_no_runs() -> None:
    assert Runs[int]() == () and list(Runs[int]().runs()) == [] and as_runs(()) == ()


WRITES = st.lists(st.tuples(st.integers(0, 14), st.integers(0, 16), st.sampled_from("abc")), max_size=8)


@given(st.integers(0, 12), WRITES)
def test_marks_hold_what_was_written_last(size: int, writes: list[tuple[int, int, str]]) -> None:
    marks, plain = RunWriter(size, "-"), ["-"] * size
    for start, end, value in writes:
        marks.put(start, end, value)
        plain[start:end] = [value] * max(min(end, size) - start, 0)
    assert marks.runs() == as_runs(plain)
    assert [marks.at(place) for place in range(len(marks))] == plain


@given(st.lists(st.sampled_from("abc"), max_size=12), st.integers(0, 13), st.integers(0, 13))
def test_places_and_clipped_runs_are_those_of_the_values(values: list[str], start: int, end: int) -> None:
    assert places_of(values, "ca") == [place for place, value in enumerate(values) if value in "ca"]
    some = [value for first, behind, value in clipped(as_runs(values), start, end) for _ in range(first, behind)]
    assert some == values[start:end]


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(-1, 1), st.sampled_from("ab")), max_size=8))
def test_sides_of_stretches_read_as_runs(parts: list[tuple[int, int, str]]) -> None:
    """Who wrote tokens, and which part they are, told by the stretches that have both in common."""
    messages, kinds = joined((n, one) for n, one, _ in parts), joined((n, one) for n, _, one in parts)
    stretches = tuple(together(messages, kinds))
    mine, theirs = sides(stretches)
    assert len(mine) == len(messages) and tuple(together(mine, theirs)) == stretches
    assert mine == messages and theirs == kinds and messages == mine and hash(mine) == hash(messages)
    assert pickle.loads(pickle.dumps(mine)) == messages and type(pickle.loads(pickle.dumps(theirs))) is Runs
    fresh = sides(stretches)[1]
    assert [fresh[i] for i in range(len(fresh))] == list(kinds) and fresh[1:] == kinds[1:]
