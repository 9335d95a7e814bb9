"""An audit in slices: how it tells where it is, how it is stopped, kept and taken up again."""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from itertools import count, islice
from pathlib import Path

import pytest
from audit_rows import Opened, talk

from sftui.audit.audit import Audit
from sftui.audit.figures import Figures
from sftui.audit.found import KEPT, Filter, row_mark
from sftui.audit.processes import run_audit
from sftui.audit.state import load_state, save_state, state_key
from sftui.audit.tallies import FIRST_ROWS, MOST_NAMES, OTHERS, Tallies
from sftui.findings import Finding, Severity
from sftui.model import Row


def test_progress_tells_rate_and_time_left() -> None:
    opened = Opened([talk(i) for i in range(10)])
    seconds = count()
    told = list(
        run_audit(
            Audit(opened.context),
            opened.rows,
            opened.inspect_many,
            opened.context,
            total=lambda: 10,
            budget=0.0,
            clock=lambda: float(next(seconds)),
        )
    )
    assert [one.rows for one in told] == [*range(1, 11), 10]
    assert [one.done for one in told] == [False] * 10 + [True]
    assert told[3].rate == pytest.approx(1.0) and told[3].left == pytest.approx(6.0) and told[-1].left == 0.0


def test_a_slice_is_as_long_as_its_budget() -> None:
    opened = Opened([talk(i) for i in range(10)])
    seconds = count()
    told = list(
        run_audit(
            Audit(opened.context),
            opened.rows,
            opened.inspect_many,
            opened.context,
            budget=3.0,
            clock=lambda: float(next(seconds)),
        )
    )
    assert [one.rows for one in told] == [3, 6, 9, 10] and told[0].left is None


def test_what_was_stopped_and_kept_goes_on_to_the_same_figures(tmp_path: Path) -> None:
    opened = Opened([talk(i % 30, i % 9) for i in range(60)])
    opened.rows = [Row(i, row.data, row.raw, f"data.jsonl line {i + 1}") for i, row in enumerate(opened.rows)]
    whole = opened.audit()
    context = opened.context
    begun = Audit(context)
    for _ in islice(run_audit(begun, opened.rows, opened.inspect_many, context, head=opened.rows, budget=0.0), 32 + 17):
        pass
    key = state_key(context, ("data.jsonl",))
    save_state(begun, key, tmp_path / "audits")
    taken = load_state(key, tmp_path / "audits")
    assert taken is not None and taken.rows == 17
    opened.asked = 0
    for _ in run_audit(taken, opened.rows[taken.rows :], opened.inspect_many, context, head=opened.rows):
        pass
    assert opened.asked == 43
    assert taken.figures() == whole.figures()
    assert [(one.code, one.count) for one in taken.found.ordered()] == [
        (one.code, one.count) for one in whole.found.ordered()
    ]


def test_the_key_says_the_same_in_every_process() -> None:
    """Strings hash differently in each process, and a set follows its hashes."""
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\nfrom audit_rows import Opened, talk\nfrom sftui.audit.found"
        " import Filter\nfrom sftui.audit.state import state_key\nknown = frozenset(f'{i:016x}' for i in"
        " range(50))\nprint(state_key(Opened([talk(1)]).context, ('data.jsonl',), Filter(known=known), known, {'a': {1,"
        " 'b'}, 'c': None}))\n"
    )
    keys = {
        subprocess.run(
            [sys.executable, "-c", script, str(Path(__file__).parent)],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(keys) == 1 and len(keys.pop().strip()) == 32


def test_the_key_tells_apart_what_decides_findings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = tmp_path / "data.jsonl"
    data.write_text("{}\n")
    plain = Opened([talk(1)]).context
    files = (str(data),)
    keys = [
        state_key(plain, files),
        state_key(plain, files, Filter(known=frozenset("a"))),
        state_key(plain, files, Filter(known=frozenset("b"))),
        state_key(Opened([talk(1)], changes={"length.max": 5}).context, files),
        state_key(plain, (str(tmp_path / "none.jsonl"),)),
        state_key(replace(plain, generation_config={"eos_token_id": 1}), files),
        state_key(replace(plain, model_config={}), files),
        state_key(plain, files, frozenset({1})),
        state_key(plain, files, (1,)),
    ]
    assert state_key(Opened([talk(1)]).context, files) == keys[0]
    monkeypatch.setattr("sftui.audit.state.KEYS_BY", "another")
    keys.append(state_key(plain, files))
    data.write_text("{}\n{}\n")
    assert len({*keys, state_key(plain, files)}) == len(keys) + 1


def test_the_key_holds_the_day_where_rows_write_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "dated.jinja"
    file.write_text("{{ strftime_now('%d') }}{% for m in messages %}{{ m.content }}{% endfor %}")
    dated = {"render.template": f"file:{file}"}
    opened = [
        Opened([talk(1)]),
        Opened([talk(1)], changes=dated),
        Opened([talk(1)], changes={**dated, "render.date": "2026-11-01"}),
    ]

    class Tomorrow(date):
        @classmethod
        def today(cls) -> Tomorrow:
            return cls.fromordinal(date.today().toordinal() + 1)

    before = [state_key(one.context, ()) for one in opened]
    monkeypatch.setattr("sftui.audit.state.date", Tomorrow)
    after = [state_key(one.context, ()) for one in opened]
    assert [a == b for a, b in zip(before, after)] == [True, False, True]


@pytest.mark.parametrize("damage", [b"", b"no pickle", pickle.dumps((0, "another format")), pickle.dumps("text")])
def test_a_damaged_state_starts_anew(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / "key.audit").write_bytes(damage)
    assert load_state("key", tmp_path) is None


def test_a_cache_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    save_state(Opened([talk(1)]).audit(), "key", tmp_path / "file" / "audits")


def test_the_set_up_is_checked_once_with_the_head() -> None:
    opened = Opened([talk(i) for i in range(50)])
    audit = opened.audit()
    assert audit.setup_checked and opened.asked == 82
    assert audit.found.codes["EOS008"].count == 1


def test_rows_leave_no_cycles_behind() -> None:
    """Else memory would grow until they are looked for, which is seldom (`bound.collect_seldom`)."""
    opened = Opened([talk(number) for number in range(64)])
    context = opened.context
    audit = Audit(context)

    def taken(rows: Sequence[Row]) -> None:
        for row in rows:
            audit.check(opened.inspect(row), context)

    taken(opened.rows[:8])  # what the first rows make stays
    gc.collect()
    gc.disable()
    try:
        taken(opened.rows[8:])
        assert gc.collect() < 56  # a shape of rows is learnt once, in circles
    finally:
        gc.enable()


def test_only_the_first_findings_are_kept_and_all_are_counted() -> None:
    opened = Opened([])
    audit = Audit(opened.context, Filter(ignore=("CON",)))
    row = talk(3)
    for number in range(KEPT + 50):
        audit.found.add(
            [Finding("LAB001", Severity.ERROR, "x", row=number), Finding("CON001", Severity.ERROR, "y", row=number)],
            Row(number, {}, str(number), ""),
        )
    (found,) = audit.found.ordered()
    assert (found.code, found.count, len(found.rows), len(found.kept)) == ("LAB001", KEPT + 50, KEPT + 50, KEPT)
    assert audit.found.severities[Severity.ERROR] == KEPT + 50
    assert (
        row_mark(found.kept[0].finding, row)
        == row_mark(found.kept[3].finding, row)
        != row_mark(found.kept[0].finding, talk(4))
    )


def test_names_from_the_data_stay_bounded() -> None:
    tallies = Tallies()
    for number in range(3 * MOST_NAMES):
        tallies.add(f"name {number}", number)
    assert len(tallies.counts) == MOST_NAMES + 1 and tallies.counts[OTHERS] == 2 * MOST_NAMES
    assert sum(one.count for one in tallies.figures()) == 3 * MOST_NAMES
    assert len(tallies.rows[OTHERS]) == FIRST_ROWS


def test_figures_without_packing_are_the_same_otherwise() -> None:
    audit = Opened([talk(i) for i in range(5)]).audit()
    fast, whole = audit.figures(packing=False), audit.figures()
    assert all(one.packs is None for one in fast.limits) and all(one.packs == 1 for one in whole.limits)
    assert all(
        getattr(fast, name) == getattr(whole, name) for name in Figures.__slots__ if name not in ("limits", "loss")
    )
    assert fast.loss is None and whole.loss is not None


def test_the_figures_load_neither_checks_nor_trainers() -> None:
    """The process of the screen receives figures; what gathers them stays with the worker."""
    script = "import sys, sftui.audit, sftui.audit.figures, sftui.views.figures; print(' '.join(sys.modules))"
    loaded = set(
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    )
    assert not {"sftui.findings", "sftui.trainers", "sftui.tokens", "sftui.audit.audit", "numpy"} & loaded
