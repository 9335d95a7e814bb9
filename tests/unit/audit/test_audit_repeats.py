"""Repeated rows found share by share are those that merging finds."""

from __future__ import annotations

import pickle
from random import Random

import pytest
from audit_rows import Opened

from sftui.audit.repeats import Repeats, add_repeated, repeated, take_repeats
from sftui.findings import Context, DatasetChecks
from sftui.findings.look import RowLook
from sftui.model import Row


def row(index: int, question: str, answer: str) -> Row:
    turns = [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
    return Row(index, {"messages": turns}, "", f"t.jsonl line {index + 1}")


@pytest.fixture(scope="module")
def context() -> Context:
    return Opened([row(0, "a", "b")]).context


@pytest.mark.one_of(3)
@pytest.mark.parametrize("seed", range(30))
def test_as_merging_finds_them(seed: int, context: Context) -> None:
    """Rows in parts of any size: few questions and answers, so that most come again, in their own part or another."""
    random = Random(seed)
    rows = [row(n, f"q{random.randrange(12)}", f"a{random.randrange(4)}") for n in range(120)]
    opened = Opened(rows)
    cuts = sorted(random.sample(range(1, 120), random.randrange(8)))
    evaluation = DatasetChecks(context)
    for one in (row(0, "q3", "x"), row(1, "q99", "x")):
        evaluation.add(RowLook(opened.inspect(one), context))

    def parts() -> list[DatasetChecks]:
        made = []
        for start, stop in zip((0, *cuts), (*cuts, 120)):
            checks = DatasetChecks(opened.context, evaluation.prompts)
            for one in rows[start:stop]:
                checks.add(RowLook(opened.inspect(one), context))
            made.append(checks)
        return made

    merged, *others = parts()
    for other in others:
        merged.merge(other)
    apart = parts()
    taken = [take_repeats(checks) for checks in apart]
    joined, *others = apart
    for other in others:
        joined.merge(other)
    assert joined.again.count == 0 and not len(joined.seen)
    taken = pickle.loads(pickle.dumps(taken))
    of = random.randrange(1, 5)
    for share in range(of):
        add_repeated(joined, repeated([one.share(share, of) for one in taken], evaluation.prompts))
    assert joined.same == merged.same and joined.again == merged.again
    assert sorted(joined.others) == sorted(merged.others)
    assert set(joined.by_prompt) == {prompt for prompt in merged.by_prompt if prompt in evaluation.prompts}


def test_what_is_too_much_to_name_is_counted() -> None:
    opened = Opened([row(n, "q", f"a{n}") for n in range(50)])
    checks = DatasetChecks(opened.context, remembered=30)
    whole = DatasetChecks(opened.context)
    for one in opened.rows:
        whole.add(RowLook(opened.inspect(one), opened.context))
    add_repeated(checks, repeated([take_repeats(whole).share(0, 1)], None, most=40))
    assert len(checks.others) == 30
    assert checks.again.count == 49 and checks.again.rows == [1, 2, 3, 4, 5]


def test_of_nothing_nothing_is_repeated() -> None:
    empty = Repeats((b"", b""), (b"", b""), (b"", b""))
    found = repeated([empty.share(0, 2), empty.share(0, 2)], None)
    assert (found.same.count, found.again, found.rows) == (0, 0, [])
