"""`check` on Ray finds what it finds here, whatever becomes of a worker."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import cluster_data as data
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sftui.audit.found import Filter
from sftui.engines import checking as engine
from sftui.engines import pool
from sftui.engines.checking import RayChecking
from sftui.engines.cluster import Cluster
from sftui.errors import SftuiError
from sftui.session.ready import Ready

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("small_pieces")]


def on_ray(session: Ready, wanted: Filter | None = None, **more: Any) -> dict[str, Any]:
    checking = RayChecking(session, wanted or Filter(), **more)
    for _ in checking.steps():
        pass
    return data.said(checking)


def workers(*, begun: bool = False) -> list[psutil.Process]:
    """The actors of this Ray that are up, or those whose work has `begun`: it is done in a process below each."""
    up = []
    for one in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):  # Ray ends a worker whenever it likes
            if one.name().startswith("ray::ActorWork") and (not begun or one.children()):
                up.append(one)
    return up


def test_json_lines_and_parquet(ray: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "SHARE", 700)  # repeated rows are found in several shares
    for name, seed in (("a", 1), ("b", 2)):
        data.write(tmp_path / f"{name}.jsonl", 1000, seed)
    session = data.opened(tmp_path)
    assert on_ray(session) == data.locally(session)
    table = pa.table({"messages": [row.data["messages"] for row in session.rows() if row.data is not None]})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=900)
    session = data.opened(tmp_path / "t.parquet")
    assert on_ray(session) == data.locally(session)


def test_data_behind_a_url(ray: Cluster, tmp_path: Path) -> None:
    session = data.opened(f"file://{data.write(tmp_path / 't.jsonl', 300)}")
    assert on_ray(session) == data.locally(session)


def test_some_rows_and_a_baseline(ray: Cluster, tmp_path: Path) -> None:
    session = data.opened(data.write(tmp_path / "t.jsonl", 900))
    assert on_ray(session, max_rows=333) == data.locally(session, max_rows=333)
    assert on_ray(session, sample=50) == data.locally(session, sample=50)
    remembering = Filter(remember=True)
    first = on_ray(session, remembering)
    assert first == data.locally(session, remembering) and first["marks"]
    known = Filter(known=frozenset(mark for marks in first["marks"].values() for mark in list(marks)[::2]))
    assert on_ray(session, known) == data.locally(session, known)


def test_a_worker_that_is_killed_costs_no_row(ray: Cluster, tmp_path: Path) -> None:
    session = data.opened(data.write(tmp_path / "t.jsonl", 3000))
    told: list[str] = []
    checking = RayChecking(session, Filter(), notify=told.append)
    killed: set[int] = set()
    for progress in checking.steps():
        # one actor by its number, and then the process in which another does its work
        for rows, kill in ((300, workers), (1500, workers)):
            if progress.rows >= rows and len(killed) < 1 + (rows == 1500):
                process = next(one for one in kill() if one.pid not in killed)
                process.kill()
                killed.add(process.pid)
    assert len(killed) == 2 and len(told) == 2 and all("a worker was lost" in one for one in told)
    assert data.said(checking) == data.locally(session)


def test_a_piece_that_ends_every_worker_is_named(ray: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "MOST_TRIES", 2)
    checking = RayChecking(data.opened(data.write(tmp_path / "t.jsonl", 600)), Filter())
    with pytest.raises(SftuiError, match=r"^t.jsonl rows [\d,]+ to [\d,]+ failed: sftui tried 2 times") as told:
        for _ in checking.steps():
            for one in workers(begun=True):
                with contextlib.suppress(psutil.NoSuchProcess):
                    one.kill()
    assert "Ray's logs" in told.value.fix
    assert not psutil.wait_procs(workers(), timeout=20)[1]


def test_a_row_that_costs_too_much_is_a_finding_as_here(ray: Cluster, tmp_path: Path) -> None:
    made = data.rows(600)
    made[401] = made[401].replace('"content": "', '"content": "boom ', 1)
    (tmp_path / "t.jsonl").write_text("\n".join(made))
    template = tmp_path / "t.jinja"
    template.write_text(
        "{% if 'boom' in messages[0].content %}{{ spin() }}{% endif %}{% for m in messages %}"
        "<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    )
    session = data.opened(tmp_path / "t.jsonl", render__template=f"file:{template}")
    checking = RayChecking(session, Filter(("ROW007",)))
    for _ in checking.steps():
        pass
    (found,) = checking.audit.found.ordered()
    assert found.count == 1 and "the chat template needs more than 0.4" in found.kept[0].finding.sentence
    assert checking.audit.rows == session.source.count().rows


def test_who_stops_asking_lets_the_workers_go(ray: Cluster, tmp_path: Path) -> None:
    steps = RayChecking(data.opened(data.write(tmp_path / "t.jsonl", 3000)), Filter()).steps()
    assert next(one for one in steps if one.rows).rows < 3000
    assert workers()
    del steps
    assert not psutil.wait_procs(workers(), timeout=20)[1]
