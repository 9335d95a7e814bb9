"""Draw the README's picture anew: `python tests/tui/screenshot.py [OUT.svg] [KEYS…]`.

The real app on the bundled data at 150×32; KEYS are pressed first (as Textual names them), else those that ask why a
token of an earlier answer is masked.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from sftui.cli.demo import demo_options
from sftui.settings import Settings
from sftui.tui.app import SftuiApp
from sftui.workspace import Workspace

KEYS = ["right_square_bracket", "8", "0", "h", "enter"]
OUT = Path(__file__).resolve().parents[2] / ".github" / "screenshot.svg"


async def draw(out: Path, keys: list[str]) -> None:
    workspace = Workspace(demo_options("chat_messages", None))
    workspace.start()
    app = SftuiApp(workspace, Settings(), theme="dark")
    try:
        async with app.run_test(size=(150, 32)) as pilot:
            for _ in range(200):
                await pilot.pause(0.05)
                if (
                    workspace.tokenizer is not None
                    and workspace.tokenizer.state == "proven"
                    and workspace.cached(0) is not None
                ):
                    break
            await pilot.pause(0.5)
            await pilot.press(*keys)
            await pilot.pause(3)  # the rows that would change are counted
            out.write_text(app.export_screenshot(title="sftui"), encoding="utf-8")
    finally:
        workspace.close()


if __name__ == "__main__":
    asyncio.run(draw(Path(sys.argv[1]) if len(sys.argv) > 1 else OUT, sys.argv[2:] or KEYS))
