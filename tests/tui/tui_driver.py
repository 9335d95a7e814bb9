"""Running the app in a test, and its screen as text."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from rows_worker import RowsWorker, over
from textual import _wait
from textual.pilot import Pilot

from sftui.findings import Finding
from sftui.recipe import Recipe
from sftui.settings import UserSettings
from sftui.tui.app import SftuiApp
from sftui.tui.commands.table import COMMANDS
from sftui.tui.contexts import keys_of
from sftui.tui.state import FilterState
from sftui.workspace import OpenOptions, Workspace

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "tui"
SIZES = ((60, 20), (80, 24), (140, 45))

# Textual sleeps two times 20 ms a key to see whether the process is idle, which is most of what these tests take; a
# fifth tells as well, and `settle` looks again. Idle stays a twentieth of it.
_wait.SLEEP_GRANULARITY = 1 / 250
_wait.SLEEP_IDLE = _wait.SLEEP_GRANULARITY / 20


class Driven:
    """The app under test: `press` takes keys as a user names them."""

    def __init__(self, app: SftuiApp, pilot: Pilot[None], workspace: Workspace, worker: RowsWorker) -> None:
        self.app, self.pilot, self.workspace, self.worker = app, pilot, workspace, worker
        self.main = app.main

    async def press(self, *keys: str) -> str:
        for key in keys:
            await self.pilot.press(key)
            if key == "f":  # what its findings offer is tried first: a key that asks for it sooner says so, and no more
                await self.settle()
        await self.settle()
        return self.text

    async def every_key(self, context: str, untried: Collection[str]) -> None:
        """Each key of a pane and of anywhere, one after the other, with Esc in between."""
        for command in COMMANDS:
            if command.context in (keys_of(context), "anywhere") and command.id not in untried:
                self.main.hold_keys(context)
                if command.keys:
                    await self.press(*command.keys[0].split(" "), "escape", "escape")
                else:
                    self.main.run_command(command)
                    await self.press("escape", "escape")
        assert self.app.is_running

    async def settle(self) -> None:
        """Until nothing is left to do. Textual takes a process for idle that has used no processor time of late; beside
        others it may have been given none. So it must also have been woken in time, and nothing be left to lay out."""
        for _ in range(200):
            while self.workspace._events.unfinished_tasks:
                await asyncio.sleep(0)
            await self.pilot.pause()
            asked, used = time.monotonic(), time.process_time()
            await asyncio.sleep(0.005)
            still = time.monotonic() - asked < 0.015 and time.process_time() - used < 0.002
            if still and self.drawn and not self.workspace._events.unfinished_tasks:
                return

    @property
    def drawn(self) -> bool:
        """Whether everything that changed is on screen: a dialog is laid out twice, before and after its lines are."""
        screen = self.app.screen
        return not (screen._layout_required or screen._repaint_required or screen._dirty_widgets or screen._callbacks)

    @property
    def trained(self) -> int:
        """How many tokens of the row on screen are trained."""
        found = self.main.state.status.trained
        assert found is not None
        return found

    @property
    def finding(self) -> Finding:
        """The finding that is marked."""
        found = self.main.panes.findings.finding
        assert found is not None
        return found

    @property
    def text(self) -> str:
        # Here and in `drawn` private attributes of Textual are used, nowhere else.
        strips = self.app.screen._compositor.render_strips()
        return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips) + "\n"

    @property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    @property
    def said(self) -> str:
        return self.main.state.said.text


@asynccontextmanager
async def running(
    size: tuple[int, int] = (80, 24),
    worker: RowsWorker | None = None,
    settings: UserSettings | None = None,
    theme: str | None = "dark",
    *,
    recipe: Recipe | None = None,
    options: OpenOptions | None = None,
    kind: type[Workspace] = Workspace,
    in_ascii: bool = False,
    where: str = "",
    follows: bool = False,
) -> AsyncIterator[Driven]:
    """The app over a real workspace whose worker works in this process; without options on `train.jsonl`."""
    worker = worker or RowsWorker()
    made = over(worker, recipe, options, kind)
    made.start()
    chosen = settings or UserSettings()
    glyphs = "ascii" if in_ascii else "unicode"
    app = SftuiApp(made, replace(chosen, theme=theme or chosen.theme, glyphs=glyphs))
    app.main.put(FilterState(where), app.main.state.reading._replace(follows=follows))
    async with app.run_test(size=size) as pilot:
        driven = Driven(app, pilot, made, worker)
        await driven.settle()
        try:
            yield driven
        finally:
            made.close()


def check_golden(name: str, text: str) -> None:
    """Compares with tests/golden/tui/NAME.txt; SFTUI_GOLDEN=write writes it."""
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("SFTUI_GOLDEN") == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.exists(), f"there is no golden {path}: run with SFTUI_GOLDEN=write"
    assert text == path.read_text(encoding="utf-8")
