"""The bound of a process that prepares rows: memory and processor time, told from outside, never tried twice."""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import mmap
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from sftui import bound
from sftui.tokens.release import give_back

KEY = b"k" * 16
OTHER = b"o" * 16
BLOCK = 40 << 20
"""Bytes that no test needs more of: more than glibc takes of what it has, so that the system is asked for them."""


def loop_in_c() -> int:
    """A second and more without the interpreter."""
    return sum(range(80_000_000))


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A piece of work may take 8 MB."""
    monkeypatch.setattr(bound, "MEMORY", bound.MEMORY // 50)


def taken() -> list[bytes]:
    """What the allocator has free in large blocks, since a piece of work that is given it asks the system for none."""
    blocks: list[bytes] = []
    while sys.platform == "linux" and len(blocks) < 500:
        before = Path("/proc/self/statm").read_text().split()[5]
        blocks.append(bytes(4 << 20))
        if Path("/proc/self/statm").read_text().split()[5] != before:
            break
    return blocks


def ended(work: Callable[[], object], overran: tuple[bound.Overrun, ...] = ()) -> tuple[int, bound.Overrun | None]:
    """Do the work in a child under a guard, watched; its exit code or the negative signal, and what overran."""
    page = bound.anonymous_page()
    gc.collect()  # as in a command, whatever the tests before have left and freed
    give_back()
    child = os.fork()
    if child == 0:
        try:
            gc.set_threshold(700, 10, 10)
            _kept = taken()
            bound.enter(page, overran)
            work()
            os._exit(0)
        except bound.OverBound:
            os._exit(3)
        except MemoryError:
            os._exit(4)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(5)
    watch, until = bound.Watch(page, child), time.monotonic() + 60
    while time.monotonic() < until:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            code = os.waitstatus_to_exitcode(status)
            return code, watch.overrun(-code if code < 0 else 0)
        if watch.look():
            os.kill(child, signal.SIGKILL)
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)
    raise AssertionError("nothing ended it")


def test_a_loop_in_c_ends_when_its_processor_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bound, "SECONDS", bound.SECONDS / 20)

    def work() -> None:
        with bound.Work(KEY) as row:
            row.at("rendered")
            loop_in_c()

    code, overrun = ended(work)
    assert code == -signal.SIGPROF
    assert overrun == bound.Overrun(KEY, "rendered", "the chat template needs more than 0.1 seconds of CPU time")


@pytest.mark.long
def test_each_overrun_halves_what_the_next_piece_may_take(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bound, "SECONDS", bound.SECONDS / 10)
    monkeypatch.setattr(bound, "LEAST_SECONDS", bound.LEAST_SECONDS / 8)

    def work() -> None:
        with bound.Work(KEY) as row:
            row.at("tokens")
            loop_in_c()

    before = tuple(bound.Overrun(b"another-" + bytes([n]) * 8, "tokens", "why") for n in range(3))
    told = [overrun.why for count in range(4) if (overrun := ended(work, before[:count])[1]) is not None]
    assert [why.split()[5] for why in told] == ["0.2", "0.1", "0.06", "0.06"]


@pytest.mark.long
def test_renders_outside_of_rows_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bound, "SECONDS", bound.SECONDS / 2.5)
    monkeypatch.setattr(bound, "UNCOUNTED", bound.UNCOUNTED * 5)

    def renders(stage: str, seconds: float, slow: float = 0.0, adds_up: bool = True) -> Callable[[], None]:
        def work() -> None:
            for number in range(20):
                with bound.Work(b"template" + bytes([number]) * 8, 0, stage, adds_up):
                    until = time.process_time() + (slow if slow and number % 12 == 0 else seconds)
                    while time.process_time() < until:
                        pass

        return work

    assert ended(renders("template", 0.15)) == (3, None)
    assert ended(renders("template", 0.001)) == (0, None)
    assert ended(renders("template", 0.001, slow=0.3)) == (0, None)  # the others make up for one
    assert ended(renders("template", 0.15, adds_up=False)) == (0, None)


@pytest.mark.long
def test_slow_rows_of_a_recipe_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bound, "SECONDS", bound.SECONDS / 5)
    monkeypatch.setattr(bound, "UNCOUNTED_ROW", bound.UNCOUNTED_ROW / 2)

    def rows(recipe: bytes, seconds: float, size: int = 0) -> Callable[[], None]:
        def work() -> None:
            for number in range(20):
                with bound.Work((recipe if number else b"another-") + bytes([number]) * 8, size) as row:
                    row.at("rendered")
                    until = time.process_time() + seconds
                    while time.process_time() < until:
                        pass

        return work

    assert ended(rows(b"recipe--", 0.1)) == (3, None)
    assert ended(rows(b"recipe--", 0.001)) == (0, None)
    assert ended(rows(b"recipe--", 0.1, 10_000)) == (0, None)  # long enough to take so long
    assert ended(rows(b"recipe--", 0.1, 1_000)) == (3, None)


def test_a_refused_row_makes_up_for_none() -> None:
    """Each gave half a second back, so that `sftui check` tried a slow template eight times over."""

    def rows() -> None:
        refused = []
        for number in range(40):
            with contextlib.suppress(bound.OverBound), bound.Work(b"recipe--" + number.to_bytes(8, "little")) as row:
                refused.append(number)
                row.at("rendered")
                refused.pop()
                until = time.process_time() + 0.4
                while time.process_time() < until:
                    pass
        assert refused == list(range(refused[0], 40))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bound, "SECONDS", bound.SECONDS / 2.5)
        patch.setattr(bound, "UNCOUNTED_ROW", bound.UNCOUNTED_ROW * 2)
        assert ended(rows) == (0, None)


def test_what_overran_is_refused_at_its_stage_and_all_else_is_done() -> None:
    before = (bound.Overrun(KEY, "tokens", "the tokenizer needs more than 3 seconds of CPU time"),)

    def other() -> None:
        with bound.Work(OTHER) as row:
            row.at("tokens")

    def same() -> None:
        with bound.Work(KEY) as row:
            row.at("rendered")
            row.at("tokens")

    assert ended(other, before) == (0, None)
    assert ended(same, before) == (3, None)


def test_a_recipe_of_which_many_rows_overran_is_given_up() -> None:
    rows = tuple(bound.Overrun(b"recipe--" + n.to_bytes(8, "little"), "rendered", "why") for n in range(3))

    def fresh() -> None:
        with bound.Work(b"recipe--" + (99).to_bytes(8, "little")) as row:
            row.at("rendered")

    def earlier() -> None:
        with bound.Work(b"recipe--" + bytes(8)) as row:
            row.at("rendered")

    apart = tuple(bound.Overrun(b"recipe--" + (2 * n).to_bytes(8, "little"), "rendered", "why") for n in range(11))
    assert ended(fresh, rows[1:]) == (0, None)
    assert ended(fresh, rows) == (3, None)
    later = tuple(replace(one, key=one.key[:8] + (one.number + 5).to_bytes(8, "little")) for one in rows)
    assert ended(earlier, later) == (0, None)
    assert ended(fresh, apart) == (0, None)
    twelfth = replace(apart[0], key=b"recipe--" + (40).to_bytes(8, "little"))
    assert ended(fresh, (*apart, twelfth)) == (3, None)  # so many in all


@pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_DATA counts mapped memory on Linux alone")
def test_memory_beyond_the_allowance_is_refused_and_given_back_after(little_memory: None) -> None:
    def work() -> None:
        with bound.Work(KEY):
            bytes(BLOCK)

    def after() -> None:
        with bound.Work(KEY):
            pass
        bytes(BLOCK)

    def of_some_bytes() -> None:
        with bound.Work(KEY, 10_000):  # which allow 2 MB more
            bytes(BLOCK)

    assert ended(work) == (4, None)
    assert ended(of_some_bytes) == (4, None)
    assert ended(after) == (0, None)


def test_a_row_of_a_series_is_bounded_and_told_as_by_itself(
    little_memory: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bound, "SECONDS", bound.SECONDS / 20)
    monkeypatch.setattr(bound, "WALL", bound.WALL * 10)  # processor time ends it, however busy the machine is

    def rows(costs: Callable[[], object]) -> Callable[[], None]:
        def work() -> None:
            with bound.series():
                for number in range(20):
                    with bound.Work(b"recipe--" + bytes([number]) * 8, 100) as row:
                        row.at("rendered")
                        if number == 9:
                            costs()
            bytes(BLOCK)  # after the series nothing is bounded

        return work

    code, overrun = ended(rows(lambda: loop_in_c()))
    assert code == -signal.SIGPROF and overrun is not None
    assert overrun.number == int.from_bytes(bytes([9]) * 8, "little")
    assert overrun.why == "the chat template needs more than 0.1 seconds of CPU time"
    assert ended(rows(lambda: bytes(BLOCK))) == (4, None)
    assert ended(rows(lambda: None)) == (0, None)


def test_slow_rows_of_a_series_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bound, "SECONDS", bound.SECONDS / 5)
    monkeypatch.setattr(bound, "UNCOUNTED_ROW", bound.UNCOUNTED_ROW / 2)

    def work() -> None:
        with bound.series():
            for number in range(20):
                with bound.Work(b"recipe--" + bytes([number]) * 8) as row:
                    row.at("rendered")
                    until = time.process_time() + 0.15
                    while time.process_time() < until:
                        pass

    assert ended(work) == (3, None)


@pytest.mark.parametrize("linux", [True, False])
def test_where_no_limit_holds_the_watch_ends_what_grows(
    little_memory: None, monkeypatch: pytest.MonkeyPatch, linux: bool
) -> None:
    """Without RLIMIT_DATA, as on macOS, the parent measures; there with `ps`."""
    monkeypatch.setattr(bound.Guard, "_limit_memory", lambda self, most: None)
    monkeypatch.setattr(bound, "_LINUX", linux)

    def work() -> None:
        # Reserved and not used, as Arrow does: it must not count as held.
        reserved = mmap.mmap(-1, 2 * BLOCK, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        with bound.Work(KEY):
            time.sleep(0.5)
        with bound.Work(KEY) as row:
            row.at("labels")
            held = [b"x" * BLOCK]
            time.sleep(3)
            assert held and reserved

    code, overrun = ended(work)
    assert code == -signal.SIGKILL
    assert overrun == bound.Overrun(KEY, "labels", "making its labels needs more than 8 MB of memory")


def test_what_waits_instead_of_working_ends_by_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bound, "SECONDS", bound.SECONDS / 200)

    def work() -> None:
        with bound.Work(KEY):
            time.sleep(3)

    code, overrun = ended(work)
    assert code == -signal.SIGKILL and overrun is not None and "seconds" in overrun.why


def test_standing_work_is_not_bounded_and_its_death_is_no_rows() -> None:
    def work() -> None:
        with bound.Work(KEY):
            pass
        os.kill(os.getpid(), signal.SIGKILL)

    assert ended(work) == (-signal.SIGKILL, None)


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux alone")
def test_renders_that_ran_out_of_memory_keep_none_of_it_and_are_given_up(little_memory: None) -> None:
    """Their errors were kept with all that the template had built, and `sftui template` keeps many."""
    from sftui.errors import TemplateError
    from sftui.templates import compile_template

    def work() -> None:
        template = compile_template("{% set a = 'a' * 6000000 %}{% set b = 'a' * 40000000 %}", "t")
        kept: list[TemplateError] = []
        held = bound.resident(os.getpid()) or 0
        for number in range(12):
            try:
                template.text([{"role": "user", "content": str(number)}], variables={})
            except TemplateError as error:
                kept.append(error)
        assert len(kept) == 12 and "needs more than 8 MB" in str(kept[0])
        assert "sftui is giving up" in str(kept[-1])
        assert (bound.resident(os.getpid()) or 0) - held < 24 << 20

    assert ended(work) == (0, None)


HOLDS = "".join(f"{{% set a{n} = 'a' * 3000000 %}}" for n in range(10))
"""30 MB in the variables of a template; where it fails they are part of a cycle, until the garbage collector comes."""


RENDERED_AGAIN = """
import contextlib, os, sys
from sftui import bound
from sftui.errors import TemplateError
from sftui.templates import compile_template
bound.MEMORY //= 10
bound.LEFT_BEHIND //= 10
bound.enter(bound.anonymous_page())
template = compile_template(sys.argv[1], "t")
held = bound.resident(os.getpid())
for number in range(4):
    with contextlib.suppress(TemplateError), bound.Work(b"recipe--" + (2 * number).to_bytes(8, "little")):
        template.text([{"role": "user", "content": str(number)}], variables={})
    print((bound.resident(os.getpid()) - held) >> 20)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux alone")
@pytest.mark.parametrize("ending", ["{{ messages[0].none.at_all }}", HOLDS.replace("set a", "set b")])
def test_what_a_render_left_behind_is_not_allowed_on_top_of_the_next(ending: str) -> None:
    """`sftui check` held what six renders had made, for all that each of them was kept within the bound.

    In a process of its own: a fork holds, and frees, what the tests before it did.
    """
    words = [sys.executable, "-c", RENDERED_AGAIN, HOLDS + ending]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    grown = [int(line) for line in done.stdout.split()]
    assert len(grown) == 4 and max(grown) < 48


def test_a_process_that_works_on_rows_looks_for_cycles_seldom() -> None:
    def work() -> None:
        assert gc.get_threshold()[0] == bound.SELDOM

    assert ended(work) == (0, None)


def test_an_abort_of_rust_for_want_of_memory_is_told_as_that() -> None:
    page = bound.anonymous_page()
    page.write(KEY, bound.STAGES.index("tokens"), time.monotonic(), 0, 3.0, 1000 << 20)
    watch = bound.Watch(page, os.getpid())
    refused = watch.overrun(signal.SIGABRT, "memory allocation of 1212416 bytes failed\n")
    other = watch.overrun(signal.SIGABRT, "free(): invalid pointer\n")
    assert refused is not None and refused.why == "the tokenizer needs more than 1,000 MB of memory"
    assert other is not None and other.why == "the tokenizer ended the process that prepares rows (SIGABRT)"


def test_work_inside_work_is_part_of_it_and_without_a_guard_nothing_happens() -> None:
    with bound.Work(KEY) as row:
        row.at("tokens")

    def work() -> None:
        with bound.Work(KEY) as row:
            row.at("tokens")
            with bound.Work(OTHER, stage="template"):
                pass
            faulthandler.disable()
            os.abort()

    code, overrun = ended(work)
    assert code == -signal.SIGABRT and overrun is not None
    assert (overrun.key, overrun.stage) == (KEY, "tokens")
    assert overrun.why == "the tokenizer ended the process that prepares rows (SIGABRT)"
