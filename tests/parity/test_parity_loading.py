"""Tokenizers under other versions of transformers: theirs with their environment, and the warning without it.

By default a sample of tokenizers and versions, in about a minute; `SFTUI_PARITY_ALL=1` takes every tokenizer, made and
shared, under each, and holds the counts against versions.tsv (`versions_matrix.py` prints and writes them).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import environments
import pytest
import record_versions
import versions_matrix

from sftui.recipe import changed
from sftui.session.options import OpenOptions
from sftui.session.versions import load
from sftui.tokens import load_tokenizer
from sftui.tokens.loading import four
from sftui.tokens.loading.environments import environment_at
from sftui.tokens.loading.locate import locate
from sftui.tokens.loading.releases import loaded_otherwise, may_differ
from sftui.trainers import preset
from sftui.trainers.versions import running_version

ALL = bool(os.environ.get("SFTUI_PARITY_ALL"))
SAMPLE = (
    "llama-class-over-bytes",
    "gpt2-class-over-split",
    "second-qwen2-own-ids",
    "xlnet-model",
    "flags-over-word-pieces",
    "second-gemma-mask",
    "additional-special",
    "empty-token",
    "templates-in-both-folders",
)
VERSIONS = environments.TRANSFORMERS if ALL else ("4.57.6", "5.6.0")
NEWEST = environments.TRANSFORMERS[-1]
pytestmark = pytest.mark.parity
whole = pytest.mark.skipif(not ALL, reason="minutes: on request, with SFTUI_PARITY_ALL=1")


def names() -> list[str]:
    return list(record_versions.folders()) if ALL else list(SAMPLE)


def need(*versions: str) -> None:
    for version in versions:
        if not versions_matrix.ready(version, "--env"):
            pytest.skip(f"there is no transformers {version}: python tests/parity/environments.py transformers")


def test_a_python_named_by_the_user_gives_its_own_ids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As users do it: each proof in a process, each Python started anew."""
    need("5.6.0", NEWEST)
    monkeypatch.setenv("SFTUI_CACHE", str(tmp_path))
    name = "gpt2-class-over-split"
    recipe = changed(preset("hf-trainer"), "tokenizer.name", str(record_versions.folders()[name]))
    recipe = changed(recipe, "tokenizer.transformers", "5.6.0")
    env = str(record_versions.python_of("5.6.0").parent.parent)
    loaded = load(recipe, OpenOptions(paths=(), env=env))
    recorded = record_versions.recorded_tokenizers("5.6.0", () if ALL else SAMPLE)[name]["texts"]
    ours = [versions_matrix.spelled(loaded, text) for text in record_versions.texts()]
    assert [one["ids"] for one in ours] == [one["ids"] for one in recorded]


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of the proofs, while the Pythons that load are shared."""
    folder = tmp_path_factory.mktemp("proofs")
    with versions_matrix.pooled(folder):
        yield folder


@pytest.mark.parametrize("route", versions_matrix.ROUTES)
@pytest.mark.parametrize("version", VERSIONS)
def test_ids_and_rows_are_the_versions_own_or_it_is_said(version: str, route: str, pool: Path) -> None:
    need(version, NEWEST)
    if not versions_matrix.ready(version, route):
        pytest.skip(f"no environment of --transformers {version}: python tests/parity/versions_matrix.py --make NAME")
    found = versions_matrix.compare(version, route, names(), pool)
    print(f"transformers {version}, {route}: {dict(found.counts)}")
    assert not found.wrong, "\n".join(one[:500] for one in found.wrong[:40])
    if ALL:
        assert versions_matrix.lines({(version, route): found})[1] in versions_matrix.TABLE.read_text().splitlines()
    else:
        assert sum(found.counts.values()) >= len(SAMPLE)


def test_transformers_4_is_redone_as_it_is() -> None:
    """Whatever `four` redoes has the ids of 4.57 itself, and of what that refuses it redoes nothing."""
    need(four.version())
    counts, wrong = Counter[str](), []
    recorded = record_versions.recorded_tokenizers(four.version(), () if ALL else SAMPLE)
    for name in names():
        redone, theirs = four.redone(locate(str(record_versions.folders()[name]))), recorded[name]
        if redone is None or "error" in theirs:
            counts["refused there" if "error" in theirs else "not known"] += 1
            wrong += [f"{name} is refused there"] if redone is not None else []
            continue
        same = all(
            _ids(redone.backend, text) == _own(one) for text, one in zip(record_versions.texts(), theirs["texts"])
        )
        counts["equal" if same else "different"] += 1
        wrong += [] if same else [name]
    print(f"transformers {four.version()} redone: {dict(counts)}")
    assert not wrong and counts["equal"] >= len(names()) * 0.8


def _ids(backend: Any, text: str) -> Any:
    try:
        return [backend.encode(text, add_special_tokens=special).ids for special in (False, True)]
    except Exception:  # tokenizers raises nothing narrower
        return None


def _own(one: Any) -> Any:
    return None if "error" in one else [one["ids"], one["with_special"]]


@pytest.mark.parametrize("version", ("4.57.6", "5.6.0"))
def test_a_template_reads_the_lists_of_tokens_that_its_version_hands_over(version: str, tmp_path: Path) -> None:
    """transformers 4 hands `additional_special_tokens` to templates, as a list; 5 does not."""
    need(version)
    folder = tmp_path / "t"
    shutil.copytree(record_versions.folders()["additional-special"], folder)
    config = json.loads((folder / "tokenizer_config.json").read_text())
    reads = "{{ additional_special_tokens is defined }}{{ (additional_special_tokens or []) | join }}"
    (folder / "tokenizer_config.json").write_text(
        json.dumps({**config, "chat_template": reads + "{{ messages[0].content }}"})
    )
    asked, told = tmp_path / "asked.json", tmp_path / "told.jsonl"
    chats = [[{"role": "user", "content": "x"}]]
    asked.write_text(json.dumps({"tokenizers": [{"name": "t", "folder": str(folder), "texts": [], "chats": chats}]}))
    python = record_versions.python_of(version)
    subprocess.run(
        [str(python), "-I", str(record_versions.ASKS), str(asked), str(told)], check=True, capture_output=True
    )
    (theirs,) = json.loads(told.read_text().splitlines()[1])["chats"]
    env = environment_at(python.parent.parent, "--env")
    mine = versions_matrix.row(load_tokenizer(str(folder), environment=env), chats[0], version)
    assert mine == theirs and theirs["text"] == ("True<|turn|>x" if version.startswith("4.") else "Falsex")


@whole
def test_no_two_versions_of_transformers_5_differ_unsaid() -> None:
    """The rule from the files alone, between all that trainers bring: what it tells too much, a proof measures."""
    need(*environments.TRANSFORMERS)
    counts, wrong = Counter[str](), []
    newer = environments.TRANSFORMERS[1:]
    for a, b in [*pairwise(newer), *((one, NEWEST) for one in newer[:-2])]:
        first, second = record_versions.recorded_tokenizers(a), record_versions.recorded_tokenizers(b)
        for name, path in record_versions.folders().items():
            one, other = first[name], second[name]
            if "error" in one or "error" in other:
                continue
            differ = one["added"] != other["added"] or [*map(_own, one["texts"])] != [*map(_own, other["texts"])]
            told = may_differ(locate(str(path)), a, b)
            measured = not differ and told and a in loaded_otherwise(locate(str(path)), b)
            how = "left to the proof" if measured else "told" if told else "silent"
            counts[f"{'differ' if differ else 'same'}, {how}"] += 1
            if differ is not (told is not None) and not measured:
                wrong.append((a, b, name, told))
    print(dict(counts))
    assert not wrong


def test_the_running_version_is_the_newest_that_is_compared() -> None:
    assert running_version() == NEWEST
