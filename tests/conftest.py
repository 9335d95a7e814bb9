"""What every test may use: the shared folder, and a clean home."""

from __future__ import annotations

import gc
import hashlib
import json
import math
import os
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from fnmatch import fnmatch
from functools import lru_cache
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from hypothesis import HealthCheck, settings

# Machines are shared and noisy: how long an example takes to draw or to run decides nothing.
settings.register_profile("shared machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("shared machine")

REPO = Path(__file__).resolve().parent.parent

os.environ["TOKENIZERS_PARALLELISM"] = "false"
"""As in `.ci/run`: threads of a pool that wait for the few texts of a test take a tenth of the processor time."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """What `-n auto` means: a process for each core; at most five, since each holds up to 900 MB."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, 5)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A file that is marked for a lane which `-m` leaves out is not imported, unless an argument names it."""
    if not fnmatch(collection_path.name, "test_*.py"):
        return None
    if collection_path in {Path(argument.partition("::")[0]).resolve() for argument in config.args}:
        return None
    parts = config.getoption("markexpr").split(" and ")
    if not all(re.fullmatch(r"not \w+", part) for part in parts):
        return None
    marks = [line for line in collection_path.read_text().splitlines() if line.startswith("pytestmark = ")]
    return True if any(re.search(rf"mark\.{part[4:]}\b", line) for line in marks for part in parts) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of a test that is marked `one_of(n)`, one case in n is for the test command, at least one, the others for the
    lane `long`. Of the cases of one test in that lane one in SFTUI_LONG_EACH is tried, at least one: one in three in
    `.ci/run`, each night all."""
    for (_, of), cases in _by_test(items, _sampled).items():
        for item in cases[math.ceil(len(cases) / of) :]:
            item.add_marker(pytest.mark.long)
    each = int(os.environ.get("SFTUI_LONG_EACH", "1"))
    left = [item for cases in _by_test(items, _long).values() for item in cases[math.ceil(len(cases) / each) :]]
    if left:
        config.hook.pytest_deselected(items=left)
        gone = set(left)
        items[:] = [item for item in items if item not in gone]


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """While modules are rewritten and collected next to nothing is garbage, and what they leave stays until the end:
    not to look through it again and again spares a third of the processor time."""
    gc.disable()
    try:
        _import_share(session.config)
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def _import_share(config: pytest.Config) -> None:
    """Each process of xdist begins with test modules of its own, so that those of a fresh clone are rewritten once, and
    not by each. One that needs its conftest.py or fails is left to the collection."""
    if (worker := getattr(config, "workerinput", None)) is None:
        return
    found = [path for folder in config.args for path in sorted(Path(folder).resolve().rglob("test_*.py"))]
    modules = [path for path in found if not pytest_ignore_collect(path, config)]
    for path in modules[int(worker["workerid"].removeprefix("gw")) :: worker["workercount"]]:
        if str(path.parent) not in sys.path:
            sys.path.insert(0, str(path.parent))
        with suppress(Exception, pytest.skip.Exception):
            import_module(path.stem)


def _sampled(item: pytest.Item) -> int | None:
    marker = item.get_closest_marker("one_of")
    return None if marker is None else int(marker.args[0])


def _long(item: pytest.Item) -> int | None:
    return None if item.get_closest_marker("long") is None else 1


def _by_test(
    items: Sequence[pytest.Item], number: Callable[[pytest.Item], int | None]
) -> dict[tuple[str, int], list[pytest.Item]]:
    """The cases that have a number, by their test and it, in the order of a checksum of their names: every n-th would
    leave out a parameter that has n values, and others would take their places where one is added."""
    cases = defaultdict[tuple[str, int], list[pytest.Item]](list)
    for item in items:
        if (of := number(item)) is not None:
            cases[item.nodeid.partition("[")[0], of].append(item)
    return {test: sorted(some, key=lambda item: crc32(item.nodeid.encode())) for test, some in cases.items()}


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real tokenizers, templates, datasets and goldens; skips where it is absent."""
    folder = Path(os.environ.get("SFTUI_SHARED", REPO.parent / "shared"))
    if not folder.is_dir():
        pytest.skip(f"the shared test data is not at {folder} (set SFTUI_SHARED)")
    return folder


@pytest.fixture(autouse=True, scope="session")
def kept() -> Iterator[None]:
    """What the same templates are compiled to and read, of more of them than a command sees; and what is read of the
    bundled tokenizers, which nothing changes."""
    from sftui.templates.rendering import sandbox
    from sftui.tokens.loaded import LoadedTokenizer
    from sftui.tokens.loading import load

    read = lru_cache(load._builtin)

    def builtin(name: str, folder: Path) -> LoadedTokenizer:
        one = read(name, folder)
        return LoadedTokenizer(one.facts, one.engine)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sandbox, "_code", lru_cache(1000)(sandbox._code.__wrapped__))
        patch.setattr(sandbox, "free_variables", lru_cache(1000)(sandbox.free_variables))
        patch.setattr(load, "_builtin", builtin)
        yield


@pytest.fixture(autouse=True, scope="session")
def cured_once() -> Iterator[None]:
    """The search for cures, most of what a check of a few rows takes, is made once of the same findings in the same
    rows under the same recipe, template and configs: a test checks in each format, by the command and from Python."""
    from sftui.session import checking

    search, known = checking._cured, dict[str, dict[tuple[object, ...], Any]]()

    def cured(audit: Any, session: Any, seconds: float) -> dict[tuple[object, ...], Any]:
        found = [kept.finding for code in audit.found.ordered() for kept in code.kept]
        rows = [session.stored.source.row(row) for row in sorted({one.row for one in found} - {None})]
        context, tools = session.checks(), session.tools
        templates = {name: template.source for name, template in tools.templates.items()}
        folders = context.generation_config, context.model_config, context.step_rows, tools.tokenizer.facts
        under = session.options, session.requested, session.recipe, session.repairs, session.detected
        key = repr((found, rows, session.stored.sample, templates, folders, under))
        if key not in known:
            known[key] = search(audit, session, seconds)
        return dict(known[key])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checking, "_cured", cured)
        yield


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Folders of which none is there."""
    folder = tmp_path_factory.mktemp("homes")
    return (folder / str(number) for number in count())


@pytest.fixture(autouse=True)
def clean_home(homes: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads the developer's own settings, caches or tokens."""
    home = next(homes)
    for name, folder in (("XDG_CONFIG_HOME", "config"), ("XDG_STATE_HOME", "state")):
        monkeypatch.setenv(name, str(home / folder))
    for name in ("NO_COLOR", "HF_TOKEN", "SFTUI_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.fixture
def costly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes that the test starts work under lower bounds, and rows of theirs can go beyond these at will: see
    `unit/costly/sitecustomize.py`."""
    monkeypatch.setenv("PYTHONPATH", str(REPO / "tests/unit/costly"), prepend=os.pathsep)


class Answering:
    """What `TokenizerProcess` starts, in this process: `autotokenizer` answers each line that is written to it."""

    def __init__(self) -> None:
        self.stdin = self.stdout = self
        self.held: dict[str, Any] = {}

    def write(self, line: str) -> None:
        from sftui.tokens.loading import autotokenizer

        try:
            answer = autotokenizer.answer(json.loads(line), self.held)
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:  # as `autotokenizer.serve` has it
            answer = {"error": autotokenizer.faults(error), "missing": autotokenizer.missing_modules()}
        self.line = json.dumps(answer) + "\n"

    def readline(self) -> str:
        return self.line

    def flush(self) -> None:
        pass

    def close(self) -> None:
        self.held.clear()

    def poll(self) -> None:
        return None

    def wait(self, timeout: float | None = None) -> int:
        return 0


_APART = pytest.StashKey[bool]()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    item.session.stash[_APART] = item.get_closest_marker("processes") is not None


@pytest.fixture(autouse=True, scope="session")
def proofs_here(request: pytest.FixtureRequest) -> Iterator[None]:
    """Tokenizers are proven, and encode where they are not, by the transformers of this process, which spares a start
    of it each. Other environments and names of the Hub have processes, and all where a test is marked `processes`."""
    from sftui.tokens.loading import locate, process, prove

    start, run, stash = process.TokenizerProcess._start, prove._run, request.session.stash

    def start_here(self: process.TokenizerProcess) -> Any:
        if stash[_APART] or not self.environment.own or self.place.kind == "hub" or self.script != process.SCRIPT:
            return start(self)
        self._process = Answering()  # type: ignore[assignment]
        return self._process

    def run_here(request: Path, name: str) -> tuple[int, list[str]]:
        if stash[_APART] or locate.locate(name).kind == "hub":
            return run(request, name)
        prove.main([str(request)])
        return 0, []

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(process.TokenizerProcess, "_start", start_here)
        patch.setattr(prove, "_run", run_here)
        yield


@pytest.fixture
def differing() -> Callable[[Path, str], Any]:
    """`differing(folder, token)`: a proven tokenizer whose backend in the cache, which must be empty, has a token that
    AutoTokenizer does not have: no probe string tells."""

    def make(folder: Path, token: str) -> Any:
        from sftui.tokens import load_tokenizer
        from sftui.tokens.loading import cache

        load_tokenizer(str(folder))
        (proof,) = cache.cache_root().iterdir()
        backend = json.loads((proof / "tokenizer.json").read_text())
        flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}
        last = max([one["id"] for one in backend["added_tokens"]] + list(backend["model"]["vocab"].values()))
        backend["added_tokens"].append({"id": last + 1, "content": token, **flags})
        data = json.dumps(backend).encode()
        (proof / "tokenizer.json").write_bytes(data)
        record = json.loads((proof / "proof.json").read_text())
        (proof / "proof.json").write_text(json.dumps({**record, "backend": hashlib.sha256(data).hexdigest()}))
        return load_tokenizer(str(folder))

    return make
