"""The figures against a plain loop over the same rows, written without the audit's own code."""

from __future__ import annotations

import pickle
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from audit_rows import Opened, chat, pair, rows_of, talk

from sftui.audit.audit import Audit
from sftui.audit.figures import Figures, GroupFigure
from sftui.audit.lengths import best_fit, quantiles
from sftui.findings import check_row
from sftui.findings.look import RowLook
from sftui.model import IGNORE_INDEX

DATASETS = {
    "derived_dirty_messages.jsonl": ("hf-trainer", {"length.max": 64}),
    "turkish_daily_test.jsonl": ("trl", {"length.max": 512}),
    "alpaca_en_demo.json": ("axolotl", {"length.max": 128}),
}


def plain_loop(opened: Opened) -> dict[str, Any]:
    """Every figure again, one row after another."""
    sums: Counter[str] = Counter()
    lengths: list[int] = []
    shares, roles, messages, parts, special, drops, stops = (Counter[Any]() for _ in range(7))
    limits: dict[int, Counter[str]] = {
        limit: Counter() for limit in (512, 1024, 2048, 4096, 8192, 16384, 32768, opened.recipe.length.max or 512)
    }
    for row in opened.rows:
        found = opened.inspect(row)
        sums["rows"] += 1
        if found.stopped_at is not None:
            stops[found.stopped_at.value] += 1
        if found.tokens is None or found.labels is None:
            continue
        labels = found.labels.labels
        on = [label != IGNORE_INDEX for label in labels]
        lengths.append(len(labels))
        sums["tokens"] += len(labels)
        sums["trained"] += sum(on)
        if labels:
            shares[int(100 * sum(on) / len(labels))] += 1
        for limit, counts in limits.items():
            if len(labels) > limit:
                counts["over"] += 1
                counts["tokens_cut"] += len(labels[limit:])
                counts["trained_cut"] += sum(on[limit:])
                counts["tokens_dropped"] += len(labels)
                counts["trained_dropped"] += sum(on)
                counts["unlabelled"] += any(on) and not any(on[:limit])
        if found.labels.dropped is not None:
            drops[found.labels.dropped] += 1
        for example in filter(None, (found.example, *found.more)):
            sums["received_tokens"] += len(example.input_ids)
            sums["received_trained"] += sum(label != IGNORE_INDEX for label in example.labels)
        sums["received_rows"] += found.example is not None
        for start, end in found.labels.kept if found.labels.dropped is None else ():
            for i in range(start, end):
                if on[i]:
                    message = found.tokens.messages[i]
                    messages[message] += 1
                    parts[found.tokens.parts[i].value] += 1
                    said = found.conversation.messages if found.conversation is not None else ()
                    roles[said[message].role if message >= 0 and said else ""] += 1
                    if found.token_text.special[i]:
                        special[found.token_text.pieces[i]] += 1
    return {
        **sums,
        "lengths": Counter(lengths),
        "shares": shares,
        "by_role": roles,
        "by_message": messages,
        "by_part": parts,
        "by_special": special,
        "drops": drops,
        "stops": stops,
        "limits": limits,
    }


def compare(figures: Figures, plain: dict[str, Any]) -> None:
    for name in ("rows", "tokens", "trained", "received_rows", "received_tokens", "received_trained"):
        assert getattr(figures, name) == plain.get(name, 0), name
    for name in ("lengths", "shares", "by_role", "by_message", "by_part", "by_special"):
        assert dict(getattr(figures, name)) == dict(plain[name]), name
    for name in ("drops", "stops"):
        assert {one.name: one.count for one in getattr(figures, name)} == dict(plain[name]), name
    assert [one.limit for one in figures.limits] == sorted(plain["limits"]), "the recipe's own one is among them"
    for one in figures.limits:
        for name in ("over", "tokens_cut", "trained_cut", "unlabelled", "tokens_dropped", "trained_dropped"):
            assert getattr(one, name) == plain["limits"][one.limit][name], (one.limit, name)


@pytest.mark.one_of(3)
@pytest.mark.shared
@pytest.mark.parametrize("name", DATASETS)
def test_figures_equal_a_plain_loop_over_real_rows(shared: Path, name: str) -> None:
    preset, changes = DATASETS[name]
    rows = rows_of(shared / "testdata" / "datasets" / name)[:300]
    opened = Opened(rows, preset, changes)
    audit = opened.audit()
    plain = plain_loop(opened)
    assert plain["rows"] == len(rows) and plain["tokens"] > 1000
    compare(audit.figures(), plain)


def test_figures_of_long_rows_and_dropped_ones() -> None:
    rows = [talk(i, words) for i, words in enumerate((1, 5, 300, 900, 20_000))]
    rows += [
        chat(5, ("user", "Hello?")),
        chat(6, ("system", "Be brief. " * 500), ("user", "Hi " * 3000), ("assistant", "Yes.")),
    ]
    opened = Opened(rows, changes={"length.max": 2048})
    figures = opened.audit().figures()
    compare(figures, plain_loop(opened))
    assert figures.limits[0].unlabelled == 1 and figures.limits[-1].over == 1


def test_a_row_without_its_look_is_counted_alike() -> None:
    """Others hand in rows that they have checked themselves."""
    rows = [talk(i, words) for i, words in enumerate((1, 5, 300, 900))] + [
        chat(4, ("user", "a"), ("assistant", "b"), ("user", "c"), ("assistant", "d")),
        chat(5, ("user", "Hello?")),
    ]
    opened = Opened(rows, changes={"length.max": 64})
    audit = Audit(opened.context)
    for row in rows:
        inspection = opened.inspect(row)
        audit.add(RowLook(inspection, opened.context), check_row(inspection, opened.context))
    assert audit.figures() == opened.audit().figures()
    assert audit.checks.many_turns == opened.audit().checks.many_turns == 1


@pytest.mark.parametrize("objective", ["dpo", "sft"])
def test_each_side_of_a_pair_counts(objective: str) -> None:
    rows = [pair(i) if objective == "dpo" else talk(i) for i in range(5)]
    opened = Opened(rows, "trl", {"loss.objective": objective})
    made = opened.audit().figures()
    sides = 10 if objective == "dpo" else 5
    assert (made.rows, made.tokenized, made.paired, made.unit) == (
        5,
        sides,
        sides - 5,
        "sides" if sides > 5 else "rows",
    )
    assert sum(made.lengths.values()) == sum(made.shares.values()) == sides
    halves = [Audit(opened.context) for _ in range(2)]
    for row in rows:
        halves[row.index % 2].check(opened.inspect(row), opened.context)
    halves[0].merge(halves[1])
    assert halves[0].figures().paired == made.paired


@pytest.mark.parametrize("parts", [2, 7])
def test_merged_parts_equal_the_whole(parts: int) -> None:
    rows = [talk(i % 23, i % 40 % 7, where=f"part-{i % 3}.jsonl") for i in range(120)]
    rows = [type(row)(i, row.data, row.raw, f"part-{i % 3}.jsonl line {i}") for i, row in enumerate(rows)]
    opened = Opened(rows)
    whole = opened.audit()
    context = opened.context
    from sftui.audit.audit import Audit

    pieces = []
    for part in range(parts):
        piece = Audit(context)
        for row in rows[part::parts]:
            piece.check(opened.inspect(row), context)
        pieces.append(pickle.loads(pickle.dumps(piece)))
    joined = pieces.pop()
    for piece in pieces:
        joined.merge(piece)
    joined.finish()
    a, b = whole.figures(), joined.figures()
    for name in Figures.__slots__:
        mine, theirs = getattr(a, name), getattr(b, name)
        if name == "repeated":  # taken in out of order, another of two equal rows is the earlier one
            mine, theirs = mine.count, theirs.count
        assert (sorted(mine, key=str) if name == "sources" else mine) == (
            sorted(theirs, key=str) if name == "sources" else theirs
        ), name
    assert {one.name: one.rows for one in a.sources} == {f"part-{i}.jsonl": 40 for i in range(3)}
    rowwise = [(one.code, one.count, sorted(one.rows)) for one in whole.found.ordered() if one.rows]
    assert rowwise == [(one.code, one.count, sorted(one.rows)) for one in joined.found.ordered() if one.rows]


def test_groups_name_rows_that_take_another_way() -> None:
    rows = [talk(i) for i in range(5)] + [
        chat(5, ("system", "Be kind."), ("user", "Hi"), ("assistant", "Hello.")),
        chat(6, ("user", "Hi"), ("assistant", " Hello. ")),
    ]
    figures = Opened(rows).audit().figures()
    assert figures.signatures == (
        GroupFigure("user assistant", 6, (0, 1, 2, 3, 4, 6)),
        GroupFigure("system user assistant", 1, (5,)),
    )
    assert [one.count for one in figures.branches] == [6, 1]
    assert {one.name: one.rows for one in figures.finding_sets if "CON004" in one.name} == {"CON004": (6,)}


def test_duplicates_and_prompts_of_the_evaluation_set_are_counted() -> None:
    opened = Opened([talk(1), talk(2), talk(3)])
    from sftui.audit.audit import Audit

    held = opened.audit([talk(2)])
    rows = [talk(1), talk(2), talk(3), talk(1), chat(4, ("user", "What is 3 plus one?"), ("assistant", "Who knows?"))]
    rows = [type(row)(i, row.data, row.raw, row.where) for i, row in enumerate(rows)]
    audit = Audit(opened.context, None, held.checks.prompts)
    for row in rows:
        audit.check(opened.inspect(row), opened.context)
    figures = audit.figures()
    assert (figures.repeated.count, figures.repeated.rows) == (1, (3,))
    assert (figures.answered_again.count, figures.answered_again.rows) == (1, (4,))
    assert (figures.leaked.count, figures.leaked.rows) == (1, (1,))


@pytest.mark.parametrize("size", [1, 7, 50])
def test_chunks_in_order_equal_the_whole_row_for_row(size: int) -> None:
    """What worker processes do; every row number is that of one process."""
    rows = [talk(i * i % 23, i * 7 % 5) for i in range(120)]
    rows = [type(row)(i, row.data, row.raw, row.where) for i, row in enumerate(rows)]
    opened = Opened(rows)
    from sftui.audit.audit import Audit

    context = opened.context
    joined = Audit(context)
    for start in range(0, len(rows), size):
        piece = Audit(context)
        for row in rows[start : start + size]:
            piece.check(opened.inspect(row), context)
        piece.lighten()
        joined.merge(piece)
    figures = joined.figures()
    assert figures == opened.audit().figures()
    prompts: dict[str, set[str]] = {}
    for row in rows:
        prompts.setdefault(row.data["messages"][0]["content"], set()).add(row.raw)  # type: ignore[index]
    assert figures.repeated.count == 120 - len({row.raw for row in rows})
    assert figures.answered_again.count == sum(len(answers) - 1 for answers in prompts.values()) > 0


def test_quantiles_are_lengths_that_occur() -> None:
    lengths = Counter([5] * 50 + [7] * 45 + [100] * 5)
    assert quantiles(lengths, (0.0, 0.5, 0.51, 0.95, 0.951, 1.0)) == {
        0.0: 5,
        0.5: 5,
        0.51: 7,
        0.95: 7,
        0.951: 100,
        1.0: 100,
    }
    assert quantiles({}, (0.5,)) == {}


def naive_best_fit(lengths: list[int], limit: int) -> tuple[int, int]:
    """Row after row, the longest first, into the fullest pack that still has room."""
    free: list[int] = []
    for length in sorted((min(one, limit) for one in lengths if one), reverse=True):
        fitting = [room for room in free if room >= length]
        if fitting:
            free.remove(min(fitting))
            free.append(min(fitting) - length)
        else:
            free.append(limit - length)
    return len(free), sum(free)


@pytest.mark.parametrize("seed", range(40))
def test_packing_by_histogram_equals_packing_row_by_row(seed: int) -> None:
    import random

    dice = random.Random(seed)
    limit = dice.choice((8, 50, 512))
    lengths = [int(dice.paretovariate(1.2) * dice.choice((1, 3, 9))) for _ in range(dice.choice((0, 1, 30, 400)))]
    assert best_fit(Counter(lengths), limit) == naive_best_fit(lengths, limit)
