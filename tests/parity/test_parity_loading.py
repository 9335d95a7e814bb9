"""Ids of tokenizers under other versions of transformers: ours with their environment, and the warning without it.

Needs the `transformers-VERSION` environments of `environments.py`. All made and shared tokenizers are held against the
rule (`sftui/tokens/loading.py`); those of `LOADED` are also loaded as sftui loads them, which starts three Pythons
each. `SFTUI_PARITY_ALL=1` loads every one.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from case import home, shared_folder
from made_tokenizers import MADE, folder

from sftui.errors import TokenizerError
from sftui.tokens import load_tokenizer
from sftui.tokens.environments import environment_at
from sftui.tokens.loading import may_differ
from sftui.tokens.locate import locate
from sftui.tokens.probes import probe_strings
from sftui.tokens.process import SCRIPT

VERSIONS = ("4.57.6", "5.6.0", "5.16.1", "5.17.0", "5.20.1", "5.23.0")
LOADED = (
    "llama-class-over-bytes",
    "llama-class-over-bytes-deepseek",
    "gpt2-class-over-split-phi3",
    "gpt2-class-prefix-space",
    "xlnet-model",
    "t5",
    "cohere",
    "llama-model-legacy",
    "qwen2",
)
pytestmark = pytest.mark.parity
Ids = tuple[list[list[int]], list[list[int]]]


class Asked:
    """The script under one version, asked for one tokenizer after the other."""

    def __init__(self, version: str) -> None:
        self.process = subprocess.Popen(
            [str(environment(version) / "bin" / "python"), str(SCRIPT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "HF_HUB_OFFLINE": "1"},
        )

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        found: dict[str, Any] = json.loads(self.process.stdout.readline())
        return found

    def ids(self, path: Path) -> Ids | None:
        """The ids of the probes, both ways; None where this version does not load it."""
        if "error" in self.ask({"load": {"kind": "folder", "argument": str(path)}}):
            return None
        found = [self.ask({"encode": probes(path), "special": special}) for special in (False, True)]
        return ([row[0] for row in found[0]["rows"]], [row[0] for row in found[1]["rows"]])


def environment(version: str) -> Path:
    found = home() / f"transformers-{version}"
    if not (found / "bin" / "python").exists():
        pytest.skip(f"there is no {found}: python tests/parity/environments.py transformers@{version}")
    return found


def probes(path: Path) -> list[str]:
    """The probe strings, with the tokens that tokenizer.json adds."""
    file = path / "tokenizer.json"
    added = json.loads(file.read_text())["added_tokens"] if file.exists() else []
    return list(probe_strings([one["content"] for one in added]))


def tokenizers() -> Iterator[Path]:
    yield from (folder(made.name) for made in MADE)
    yield from sorted(path for path in (shared_folder() / "testdata" / "tokenizers").glob("*") if path.is_dir())


@pytest.fixture(scope="module")
def ids() -> dict[tuple[str, Path], Ids | None]:
    found: dict[tuple[str, Path], Ids | None] = {}
    for version in VERSIONS:
        asked = Asked(version)
        found.update({(version, path): asked.ids(path) for path in tokenizers()})
        assert asked.process.stdin
        asked.process.stdin.close()
        asked.process.wait()
    return found


def test_the_warning_comes_where_ids_differ(ids: dict[tuple[str, Path], Ids | None]) -> None:
    counts: Counter[tuple[str, str]] = Counter()
    wrong = []
    for a, b in [(one, VERSIONS[-1]) for one in VERSIONS[:-1]] + list(pairwise(VERSIONS[1:-1])):
        for path in tokenizers():
            first, second = ids[a, path], ids[b, path]
            if first is None or second is None:
                counts[f"{a}/{b}", "not loaded"] += 1
                continue
            told = may_differ(locate(str(path)), a, b) is not None
            what = ("told" if told else "MISSED") if first != second else ("false alarm" if told else "silent")
            counts[f"{a}/{b}", what] += 1
            if what == "MISSED" or (what == "false alarm" and not a.startswith("4.")):
                wrong.append((a, b, path.name, what))
    for (pair, what), count in sorted(counts.items()):
        print(f"{pair:>14} {what:<12} {count}")
    assert wrong == []


def test_ids_with_an_environment_are_its_own(ids: dict[tuple[str, Path], Ids | None], tmp_path: Path) -> None:
    wanted = None if os.environ.get("SFTUI_PARITY_ALL") else LOADED
    equal, refused, different = 0, 0, []
    for version in VERSIONS:
        named = environment_at(environment(version), "--env")
        for path in tokenizers():
            if wanted is not None and _name(path) not in wanted and path.parent.name != "tokenizers":
                continue
            theirs = ids[version, path]
            try:
                loaded = load_tokenizer(str(path), environment=named, cache_dir=tmp_path)
            except TokenizerError:
                assert theirs is None, path
                refused += 1
                continue
            ours = _encoded(loaded, probes(path))
            equal += ours == theirs
            if ours != theirs:
                different.append((version, path.name))
    print(f"{equal} equal, {refused} that neither loads, {len(different)} different")
    assert different == [] and equal


def _name(path: Path) -> str:
    return next((made.name for made in MADE if folder(made.name) == path), path.name)


def _encoded(loaded: Any, texts: Sequence[str]) -> Ids:
    found = [[list(one.ids) for one in loaded.encode_batch(texts, special)] for special in (False, True)]
    return found[0], found[1]
