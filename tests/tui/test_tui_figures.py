"""The audit in the inspector: figures, stopping, and the row list filtered and sorted by what it found."""

from __future__ import annotations

from array import array
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rows_worker import RowsWorker, write_chats
from tui_driver import SIZES, check_golden, running

from sftui.audit.figures import GroupFigure
from sftui.recipe import changed
from sftui.trainers import preset
from sftui.tui.commands import figures
from sftui.tui.commands.batch import BATCH_HINT, PACKS_HINT
from sftui.tui.commands.compare import HINT, REPAIR_HINT
from sftui.tui.commands.figures import worst_first
from sftui.tui.contexts import FIGURES
from sftui.tui.panes.document_pane import FiguresPane
from sftui.workspace import OpenOptions, auditing
from sftui.workspace import requests as rq
from sftui.workspace.events import AuditReady, CodeCount, OrderReady


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_figures_screens(size: tuple[int, int]) -> None:
    async with running(size) as driven:
        for name, keys in (
            ("figures", ("A",)),
            ("figures-lengths", ("space",)),
            ("orders", ("F",)),
            ("order", (*"jjj", "enter")),
        ):
            text = await driven.press(*keys)
            assert all(len(line) <= size[0] for line in text.splitlines())
            check_golden(f"{size[0]}x{size[1]}-{name}", text)


async def test_the_audit_goes_on_while_its_view_is_closed() -> None:
    async with running((140, 45)) as driven:
        driven.worker.hold = True
        await driven.press("A", "A")
        driven.worker.release()
        await driven.settle()
        assert "audit done: the model sees different text from your data in 14 of 41 rows" in driven.said
        assert "EOS012" in await driven.press("A")
        assert len(driven.worker.asked(rq.AuditRequest)) == 1


async def test_the_audit_is_stopped_and_keeps_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auditing, "REPORT_EVERY", -1.0)
    worker = RowsWorker()
    async with running((140, 45), worker) as driven:
        worker.hold = True
        await driven.press("A")
        assert "auditing" in driven.text
        (part,) = (event for event in worker.held if isinstance(event, AuditReady) and event.rows == 20)
        late, worker.held = worker.held[-1], [part]
        worker.release()
        await driven.settle()
        assert "auditing 20 of 41 rows" in driven.text and "X stops" in driven.text
        await driven.press("X")
        assert (
            "stopped at 20 of 41 rows" in driven.text
            and "X resumes" in driven.text
            and isinstance(worker.sent[-1], rq.Cancel)
        )
        worker.emit(late)
        await driven.settle()
        assert "stopped at 20 of 41 rows" in driven.text
        assert "20 rows" not in await driven.press("X")


async def test_ctrl_c_stops_the_audit_before_it_quits() -> None:
    async with running() as driven:
        driven.worker.hold = True
        await driven.press("A", "ctrl+c")
        assert driven.app.is_running and "audit stopped" in driven.said


async def test_figures_of_another_recipe_are_not_shown() -> None:
    async with running((140, 45), recipe=changed(preset(), "mask.rule", "all")) as driven:
        await driven.press("A")
        driven.workspace.change("mask.rule", "completion")
        await driven.settle()
        assert "not audited under this recipe" in driven.text


async def test_rows_of_a_code_are_gone_through() -> None:
    async with running((140, 45)) as driven:
        await driven.press("A")
        await driven.press("F", *"8j", "enter")
        rows = driven.main.panes.rows
        assert driven.main.state.status.row == 1 and rows.rows == 14 and "(EOS012)" in driven.text
        await driven.press("]")
        assert driven.main.state.status.row == 4
        await driven.press("5", "]")
        assert driven.main.state.status.row == 19
        await driven.press("1", "0", "G")
        assert driven.main.state.status.row == 10 and rows.line_of(10) == 3
        await driven.press("1", "2", "G", "]")
        assert driven.main.state.status.row == 1, "a row that is not listed leads to the first that is"
        await driven.press("F", "enter")
        assert rows.order is None and rows.rows == 41 and "(EOS012)" not in driven.lines[0]


async def test_a_row_that_is_not_listed_is_shown_and_said_to_be_none_of_them() -> None:
    async with running((80, 24)) as driven:
        await driven.press("A")
        await driven.press("F", *"8j", "enter", "5", "G")
        assert driven.main.state.status.row == 5 and driven.said.startswith("row 5 is not in the list (EOS012)")
        await driven.press("]")
        assert driven.main.state.status.row == 1 and not driven.said


def test_errors_come_first() -> None:
    codes = [
        CodeCount(name, severity, 1, 0, "x")
        for name, severity in (("A", "info"), ("B", "warning"), ("C", "error"), ("D", "error"))
    ]
    assert [one.code for one in worst_first(codes)] == ["C", "D", "B", "A"]


async def test_what_was_found_is_counted_as_check_counts_it() -> None:
    async with running((80, 24)) as driven:
        driven.main.put(driven.main.state.audited._replace(ticket=7))
        codes = (CodeCount("TRU005", "warning", 44, 0, "44 of 50 rows are longer than 1,024"),)
        figures.on_audit(driven.main, AuditReady(7, 1, None, 50, 50, done=True, codes=codes, found=(0, 1)))
        assert driven.said.startswith("audit done: 1 warning ·"), "one finding, whatever its rows are"


async def test_what_the_keys_do_fits_beside_the_row_list() -> None:
    async with running((80, 24)) as driven:
        await driven.press("A")
        told = f"X resumes · {figures.hint(driven.main)}"
        for title, hint in (
            ("figures", told),
            ("compare", HINT),
            ("compare", REPAIR_HINT),
            ("batch", BATCH_HINT),
            ("packs", PACKS_HINT),
        ):
            assert len(f" {title}   {hint}") <= 53, hint


async def test_rows_are_sorted_and_summaries_asked_by_name() -> None:
    async with running((80, 24)) as driven:
        await driven.press("A", "A")
        await driven.press("F", *"jjj", "enter")
        assert driven.main.state.status.row % 5 == 3
        await driven.press("tab", "tab")
        assert driven.main.panes.rows.figures(driven.main.state.row).tokens == 431  # type: ignore[union-attr]
        assert "96 %" in driven.lines[3]
        await driven.press("end")
        assert driven.main.state.status.row in driven.main.panes.rows.summaries


async def test_without_an_audit_it_is_begun() -> None:
    async with running() as driven:
        driven.worker.hold = True
        await driven.press("F")
        assert driven.main.state.audited.running and "the audit is running; press F again" in driven.said


async def test_after_another_recipe_all_rows_can_be_had_again() -> None:
    """The rows listed are those of the audit before; the way back waits for no other one."""
    async with running((140, 45)) as driven:
        await driven.press("A")
        await driven.press("F", *"8j", "enter")
        driven.workspace.change("length.max", 64)
        await driven.settle()
        driven.worker.hold = True
        assert driven.main.panes.rows.order is not None
        await driven.press("F", "enter")
        assert driven.main.panes.rows.order is None


async def test_nothing_found_says_so_and_changes_nothing(tmp_path: Path) -> None:
    data = write_chats(tmp_path / "train.jsonl", [("Where?", "Here."), ("When?", "Now.")])
    async with running(options=OpenOptions((data,))) as driven:
        await driven.press("A")
        await driven.press("F", "j", "j", "enter")
        assert driven.said == "no rows with a warning" and driven.main.panes.rows.order is None


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_rows_of_a_group_are_gone_through(size: tuple[int, int]) -> None:
    async with running(size) as driven:
        await driven.press("A")
        text = await driven.press("F", *(12 * "j"))
        assert "roles     " in text and "41 × user assistant" in text
        assert all(len(line) <= size[0] for line in text.splitlines())
        check_golden(f"{size[0]}x{size[1]}-orders-groups", text)
        text = await driven.press("enter")
        assert driven.worker.asked(rq.OrderRequest)[-1].by == "roles: user assistant"
        assert (
            driven.main.panes.rows.rows == 41
            and "(roles: user ass…)" in driven.lines[0]
            and ("verified" in driven.lines[1] or size[0] < 80)
        )
        assert driven.said.startswith("roles: user assistant: 41 rows")
        check_golden(f"{size[0]}x{size[1]}-order-group", text)
        await driven.press("F", "end", "enter")
        assert driven.worker.asked(rq.OrderRequest)[-1].by == "findings: CON008 TOK001"


GROUPS = tuple(GroupFigure("user assistant " * 10 + f"{i}\x1b[31m", 90 - i, (i,)) for i in range(80))


class Grouping(RowsWorker):
    """Rows in many groups with long names."""

    def altered(self, event: Any) -> Any:
        if isinstance(event, AuditReady) and event.figures is not None:
            return replace(event, figures=replace(event.figures, signatures=GROUPS))
        if isinstance(event, OrderReady):
            rows = next(one.rows for one in GROUPS if event.by == f"roles: {one.name}")
            return replace(event, rows=array("L", rows), total=len(rows))
        return event


async def test_of_many_groups_the_largest_are_offered_and_long_names_stay_short() -> None:
    worker = Grouping()
    async with running((80, 24), worker) as driven:
        await driven.press("A")
        text = await driven.press("F")
        assert "30 of 80 roles groups, the largest" in text and "\x1b" not in text
        await driven.press(*(15 * "j"), "enter")
        assert worker.asked(rq.OrderRequest)[-1].by == f"roles: {GROUPS[3].name}"
        assert driven.main.state.status.row == 3 and driven.main.panes.rows.rows == 1
        assert driven.main.state.status.order == "roles: user ass…" and "\x1b" not in driven.said


async def test_a_finding_of_the_audit_leads_to_its_rows_and_their_tokens() -> None:
    async with running((80, 24)) as driven:
        text = await driven.press("A")
        assert driven.main.state.open.context == "figures" and "▸✗ EOS012" in text and "Enter goes to row 1" in text
        await driven.press("enter")
        tokens = driven.main.panes.tokens
        assert driven.main.state.open.context == "tokens" and tokens.display and driven.main.state.status.row == 1
        assert driven.main.panes.rows.rows == 14 and driven.said.startswith("EOS012: 14 rows")
        assert tokens.state.hits == (59, 60, 61, 62, 63, 64, 65) and tokens.state.cursor == 59
        await driven.press("]")
        assert driven.main.state.status.row == 4 and tokens.state.hits == (38, 39, 40, 41, 42, 43, 44)
        assert tokens.state.cursor == 38
        await driven.press("A", "enter")
        assert driven.main.state.status.row == 7, "again goes on to the next row"


async def test_the_mark_moves_over_findings_and_scrolls_past_them() -> None:
    async with running((80, 24)) as driven:
        text = await driven.press("A", "j", "j")
        assert "▸i EOS003" in text and "▸✗" not in text
        assert driven.lines[-2].startswith(" EOS003 is about the setup") and "Enter" not in driven.lines[-1]
        await driven.press("enter")
        assert driven.main.state.status.row == 0 and driven.main.panes.rows.order is None and "setup" in driven.said
        await driven.press("9", "j")
        assert ": " in figures.marked(driven.main), "past the findings the numbers follow"
        assert "▸i EOS003" in await driven.press("9", "k")
        assert "▸! CON008" in await driven.press("up")
        await driven.press("end")
        assert figures.marked(driven.main).startswith("findings: ")
        assert "▸✗ EOS012" in await driven.press("home", "j"), "the verdict stands before it"


async def test_each_number_of_rows_leads_to_them() -> None:
    """Over every line that has rows, from above: as many are listed as it says."""
    async with running((140, 45)) as driven:
        await driven.press("A")
        seen, pane = [], driven.main.panes.figures
        while (by := figures.marked(driven.main)) not in seen:
            seen.append(by)
            if ": " in by and not by.startswith("source"):
                shown = next(cells for cells in driven.lines[3:] if "▸" in cells[60:] and "╭▸" not in cells)[
                    60:
                ].partition("▸")[2]
                assert by.partition(": ")[2].partition(" ")[0][:12] in shown, by
                await driven.press("enter")
                rows = driven.main.panes.rows.order
                assert rows is not None and driven.main.state.row == rows[0]
                assert f" {len(rows)} " in f" {shown} " or by.startswith(("role:", "part:", "message:", "special:"))
                await driven.press("A") if driven.main.state.open.view is None else driven.main.hold_keys(FIGURES)
            await driven.press("j")
        kinds = {by.partition(": ")[0] for by in seen}
        assert kinds >= {"CON008", "length", "longest", "trained share", "role", "part", "special", "roles", "findings"}
        assert not pane.hint.startswith("X")


async def test_a_sentence_of_the_verdict_leads_to_its_rows() -> None:
    async with running((80, 24)) as driven:
        await driven.press("A", "home", "enter")
        assert driven.main.panes.rows.order is not None and list(driven.main.panes.rows.order) == [*range(1, 41, 3)]
        assert driven.main.state.row == 1


async def test_the_finding_that_was_chosen_stays_marked_while_the_audit_goes_on() -> None:
    async with running((80, 24)) as driven:
        await driven.press("A", "j", "A", "A")
        assert "▸! CON008" in driven.text
        assert driven.main.state.audited.answer is not None
        codes = driven.main.state.audited.answer.codes
        worse = (CodeCount("ROW002", "error", 3, 0, "x"), *codes)
        answer = replace(driven.main.state.audited.answer, codes=worse)
        driven.main.put(driven.main.state.audited._replace(answer=answer))
        driven.main.paint_view(FIGURES)
        await driven.settle()
        assert "▸! CON008" in driven.text and " ✗ ROW002" in driven.text


async def test_a_finding_that_names_examples_does_not_promise_all_its_rows() -> None:
    async with running((80, 24)) as driven:
        assert "lists all rows with EOS012" in await driven.press("A")
        audited = driven.main.state.audited
        assert audited.answer is not None
        codes = (CodeCount("DUP001", "error", 35, 6, "35 rows are the same as an earlier one", examples=True),)
        driven.main.put(audited._replace(answer=replace(audited.answer, codes=codes)))
        driven.main.paint_view(FIGURES)
        driven.main.draw()
        await driven.settle()
        assert "goes to row 6 and lists some rows with DUP001" in driven.text


async def test_why_a_finding_of_the_audit_matters_is_explained() -> None:
    async with running((80, 24)) as driven:
        text = await driven.press("A", "W")
        assert "│ EOS012 " in text and "Esc closes" in text
        await driven.press("escape")
        assert driven.main.state.open.context == "figures"


async def test_the_mouse_marks_a_finding_of_the_audit() -> None:
    async with running((80, 24)) as driven:
        await driven.press("A", "tab")
        assert driven.main.state.open.context != "figures"
        line = next(i for i, cells in enumerate(driven.lines) if "EOS008" in cells)
        await driven.pilot.click(FiguresPane, offset=(5, line - 3))
        await driven.settle()
        assert driven.main.state.open.context == "figures" and "▸i EOS008" in driven.text


async def test_a_cursor_that_was_moved_meanwhile_stays() -> None:
    async with running((80, 24)) as driven:
        await driven.press("A")
        driven.worker.lost = (rq.FindingsRequest,)
        await driven.press("enter", "home", "l")
        cursor = driven.main.panes.tokens.state.cursor
        driven.worker.lost = ()
        driven.worker.send(driven.worker.asked(rq.FindingsRequest)[-1])
        await driven.settle()
        assert (
            driven.main.panes.tokens.state.hits == (59, 60, 61, 62, 63, 64, 65)
            and driven.main.panes.tokens.state.cursor == cursor
        )


async def test_a_followed_file_shows_its_newest_row_and_moves_the_figures(tmp_path: Path) -> None:
    rows = [("What?", f"Answer {number}.") for number in range(80)]
    path = Path(write_chats(tmp_path / "rows.jsonl", rows[:40]))
    lines = Path(write_chats(tmp_path / "all.jsonl", rows)).read_text().splitlines(keepends=True)
    recipe = changed(preset(), "tokenizer.name", "builtin:chatml")
    async with running((140, 45), options=OpenOptions((str(path),), recipe=recipe), follows=True) as driven:
        assert "row 39 of 40" in driven.lines[0] and "audit done" in driven.said
        assert "40 rows · " in await driven.press("A")
        path.write_text("".join(lines[:60]) + lines[60][:20])
        driven.worker.grow()
        await driven.settle()
        assert "row 59 of 60" in driven.lines[0] and "60 rows · " in driven.text
        await driven.press("A", "[")
        path.write_text("".join(lines))
        driven.worker.grow()
        await driven.settle()
        assert "row 58 of 80" in driven.lines[0] and "80 rows · " in await driven.press("A")
        assert len(driven.worker.asked(rq.AuditRequest)) == 3
        await driven.press("X")
        assert len(driven.worker.asked(rq.AuditRequest)) == 4, "and a finished one is begun anew by its key"


async def test_without_follow_the_place_and_the_figures_stay(tmp_path: Path) -> None:
    path = Path(write_chats(tmp_path / "rows.jsonl", [("What?", f"Answer {number}.") for number in range(40)]))
    recipe = changed(preset(), "tokenizer.name", "builtin:chatml")
    async with running((140, 45), options=OpenOptions((str(path),), recipe=recipe)) as driven:
        await driven.press("A")
        path.write_text(path.read_text() * 2)
        driven.worker.grow()
        await driven.settle()
        assert "row 0 of 80" in driven.lines[0] and "40 rows · " in driven.text
