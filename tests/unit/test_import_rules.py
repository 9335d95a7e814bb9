"""Layers twice guarded: import-linter draws them, this looks at what a clean interpreter loads."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sftui.workspace.worker import AHEAD

PACKAGE = Path(__file__).resolve().parents[2] / "sftui"
HEAVY = {
    "textual",
    "rich",
    "transformers",
    "datasets",
    "pyarrow",
    "huggingface_hub",
    "torch",
    "pandas",
    "tokenizers",
    "jinja2",
    "numpy",
    "ruamel",
}
LIGHT = (
    "sftui",
    "sftui.model",
    "sftui.recipe",
    "sftui.text",
    "sftui.errors",
    "sftui.settings",
    "sftui.recipe_io",
    "sftui.trainers",
    "sftui.sources",
    "sftui.conversations",
    "sftui.templates",
    "sftui.tokens",
    "sftui.labels",
    "sftui.pipeline",
    "sftui.views",
    "sftui.exports.plan",
    "sftui.exports.preprocess",
    "sftui.workspace",
    "sftui.session.opened",
    "sftui.workspace.worker",
    "sftui.cli",
    "sftui.cli.app",
)


def loaded_by(*modules: str) -> set[str]:
    """The top-level packages that a new interpreter holds after importing modules of sftui."""
    script = f"import sys, {', '.join(modules)}; print(' '.join({{name.partition('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_sftui_loads_nothing_heavy() -> None:
    assert loaded_by(*LIGHT) & HEAVY == set()


def test_t12_the_tui_loads_textual_and_none_of_the_others() -> None:
    """Trap T12: encoding and heavy imports stall the event loop, so they never happen in its process."""
    found = loaded_by("sftui.tui.app") & HEAVY
    assert "textual" in found
    assert found <= {"textual", "rich"}


FIRST_ROW = """
import asyncio, sys
import sftui.tui.app as tui
from sftui.cli.app import run

def until_first_row(workspace, settings, **given):
    app = tui.SftuiApp(workspace, settings)
    async def watch():
        async with app.run_test() as pilot:
            while app.main.panes.tokens.inspection is None:
                await pilot.pause(0.05)
    asyncio.run(watch())
    print(*sorted(name for name in sys.modules if name.startswith("sftui.")), file=sys.stderr)
    return 0

tui.run_app = until_first_row
sys.stdout.isatty = lambda: True
run([sys.argv[1]])
"""


def test_the_inspector_loads_what_the_first_screen_needs_and_no_more() -> None:
    """Each module delays the first paint; labels, checks and exports are the worker's, or wait until asked for."""
    data = PACKAGE.parent / "sample_data" / "chat_messages.jsonl"
    done = subprocess.run(
        [sys.executable, "-c", FIRST_ROW, data], capture_output=True, text=True, check=True, timeout=60
    )
    loaded = done.stderr.split()
    parts = {name.split(".")[1] for name in loaded}
    assert parts == {
        "bound",
        "cli",
        "errors",
        "model",
        "nearest",
        "recipe",
        "recipe_io",
        "safe_yaml",
        "session",
        "settings",
        "side_files",
        "starting",
        "text",
        "trainer_names",
        "trainers",
        "tui",
        "values",
        "views",
        "workspace",
    }
    assert {name for name in loaded if ".trainers." in name} == {
        "sftui.trainers.base",
        "sftui.trainers.declared",
        "sftui.trainers.hf_trainer",
        "sftui.trainers.hf_trainer.trainer",
        "sftui.trainers.traits",
    }
    assert {name.split(".")[2] for name in loaded if ".workspace." in name} == {
        "events",
        "link",
        "marks",
        "requests",
        "workspace",
    }
    assert {name for name in loaded if ".session." in name} == {
        "sftui.session.arguments",
        "sftui.session.declared",
        "sftui.session.marks",
        "sftui.session.options",
    }


def test_textual_is_imported_under_tui_alone() -> None:
    others = [path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).parts[0] != "tui"]
    assert len(others) > 100
    assert [p for p in others if re.search(r"\b(import|from) textual\b", p.read_text(encoding="utf-8"))] == []


def test_no_state_is_asserted() -> None:
    """Whoever needs something is handed it, or says in words that it is not there: nothing asserts that an Optional is
    set."""
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py"))}
    found = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for path, text in texts.items()
        if "assert" in text
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Assert) and "is not None" in ast.unparse(node.test)
    ]
    assert found == []


def test_help_loads_nothing_but_click() -> None:
    script = (
        "import sys\nfrom sftui.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    assert {name.partition(".")[0] for name in loaded} & (HEAVY | {"subprocess", "tempfile"}) == set()
    assert loaded & {"sftui.model", "sftui.recipe"} == set()  # their classes take a third of the start to make
    assert "--tokenizer" in done.stdout


SHOW = """
import sys
from sftui.sources.jsonl import JsonlSource
asked, whole = [], JsonlSource.row
JsonlSource.row = lambda self, index: asked.append(index) or whole(self, index)
from sftui.cli.app import run
assert run(["show", sys.argv[1], "-t", "builtin:chatml", "--row", sys.argv[2]]) == 0
loaded = sorted(name for name in sys.modules if name.startswith("sftui."))
print(asked.count(int(sys.argv[2])), *loaded, file=sys.stderr)
"""


@pytest.mark.parametrize("row", [0, 40])
def test_show_reads_its_row_once_and_loads_nothing_of_the_worker(row: int) -> None:
    data = PACKAGE.parent / "sample_data" / "chat_messages.jsonl"
    done = subprocess.run(
        [sys.executable, "-c", SHOW, data, str(row)], capture_output=True, text=True, check=True, timeout=60
    )
    read, *loaded = done.stderr.splitlines()[-1].split()
    assert read == "1"
    assert "sftui.session.ready" in loaded
    others = ("sftui.workspace", "sftui.tui", "sftui.findings", "sftui.repairs", "sftui.audit")
    assert [name for name in loaded if name.startswith(others)] == []


FIRST_TOKENS = """
import os, sys, threading
from sftui.recipe import changed
from sftui.session.options import OpenOptions
from sftui.trainers import preset
from sftui.workspace import events as ev
from sftui.workspace import requests as rq
from sftui.workspace.inbox import Inbox
from sftui.workspace.worker import Worker

class Screen:
    def write(self, payload): pass
    def flush(self): pass

class Seen(Worker):
    def send(self, event):
        if isinstance(event, ev.RowReady) and event.inspection.tokens is not None:
            print(*sys.modules)
            sys.stdout.flush()
            os._exit(0)

inbox, options = Inbox(), OpenOptions(paths=(sys.argv[1],), recipe=changed(preset(), "tokenizer.name", sys.argv[2]))
inbox.post(rq.OpenRequest(options, options.recipe, 1, 1, 0))
Seen(inbox, Screen()).run()
"""


def test_first_tokens_of_local_files_need_no_client_of_the_network() -> None:
    """Each module delays the first tokens; ssl and urllib took a tenth of the worker's imports."""
    data = PACKAGE.parent / "sample_data" / "chat_messages.jsonl"
    done = subprocess.run(
        [sys.executable, "-c", FIRST_TOKENS, data, "builtin:chatml"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    loaded = set(done.stdout.split())
    # what is imported while nothing is asked is what they need (platformdirs where $SFTUI_CACHE names no folder)
    assert set(AHEAD) - {"platformdirs"} <= loaded
    assert (
        loaded & (HEAVY - {"huggingface_hub", "jinja2", "tokenizers"} | {"ssl", "urllib.request", "sftui.hub"}) == set()
    )
