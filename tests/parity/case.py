"""A parity case: which rows, which tokenizer and which of the trainer's own keys; and its reference.

`SFTUI_PARITY_HOME` (default ~/.cache/sftui-parity) holds, made by `environments.py` and `record.py`:

    <trainer>-<version>/            the virtual environment
    data/<name>.jsonl               the rows of a case, as both the trainer and sftui read them
    results/<trainer>-<version>/<case>.jsonl   what the real trainer made of them (see `exchange`)
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import material

REPO = Path(__file__).resolve().parents[2]
VERIFY = REPO / "sftui" / "trainers" / "verify"


def home() -> Path:
    """Where environments, materialized rows and references live."""
    return Path(os.environ.get("SFTUI_PARITY_HOME") or Path.home() / ".cache" / "sftui-parity").expanduser()


def shared_folder() -> Path:
    """The folder of real tokenizers, templates and datasets."""
    return Path(os.environ.get("SFTUI_SHARED") or REPO.parent / "shared")


@dataclass(frozen=True)
class Case:
    """One setting of one trainer on one set of rows.

    `data` names a set of rows of `material`; `tokenizer` a folder under testdata/tokenizers;
    `template` a file of testdata/templates that replaces the tokenizer's own (or None);
    `tokens` replaces special tokens in the tokenizer's config. `config` holds the trainer's own
    keys, `dataset` its own description of the dataset. `only` names the trainer versions that
    have the setting (all, if empty). `default` marks the README's default settings.
    """

    name: str
    data: str
    tokenizer: str
    config: Mapping[str, Any] = field(default_factory=dict)
    template: str | None = None
    tokens: Mapping[str, Any] = field(default_factory=dict)
    dataset: Mapping[str, Any] = field(default_factory=dict)
    limit: int | None = None
    batch: Mapping[str, int] = field(default_factory=lambda: {"size": 4, "count": 2})
    default: bool = False
    only: tuple[str, ...] = ()

    def template_text(self) -> str | None:
        """The template that replaces the tokenizer's own."""
        if self.template is None:
            return None
        return (shared_folder() / "testdata" / "templates" / f"{self.template}.jinja").read_text(encoding="utf-8")

    def tokenizer_folder(self) -> Path:
        return shared_folder() / "testdata" / "tokenizers" / self.tokenizer

    def data_path(self) -> Path:
        """The rows as JSON lines, written on first use."""
        name = self.data if self.limit is None else f"{self.data}-{self.limit}"
        return material.write(name, home() / "data", shared_folder() / "testdata" / "datasets", self.data, self.limit)

    def request(self, output: Path) -> dict[str, Any]:
        """The request that a runner answers (see sftui/trainers/verify/exchange.py)."""
        return {
            "data": {"path": str(self.data_path())}, "tokenizer": str(self.tokenizer_folder()),
            "chat_template": self.template_text(), "tokens": dict(self.tokens), "config": dict(self.config),
            "dataset": dict(self.dataset), "batch": dict(self.batch), "output": str(output),
        }

    def fingerprint(self) -> str:
        """What a cached reference depends on, besides the trainer's version."""
        request = self.request(Path("/"))
        rows = self.data_path().read_bytes()
        text = json.dumps(request, sort_keys=True).encode() + hashlib.sha256(rows).digest()
        return hashlib.sha256(text).hexdigest()[:16]


def environment(trainer: str, version: str) -> Path:
    """The virtual environment of one trainer at one version."""
    return home() / f"{trainer}-{version}"


def python_of(trainer: str, version: str) -> Path:
    return environment(trainer, version) / "bin" / "python"


def result_path(trainer: str, version: str, case: Case) -> Path:
    return home() / "results" / f"{trainer}-{version}" / f"{case.name}.jsonl"


def cases_of(trainer: str) -> tuple[Case, ...]:
    """The case table of a trainer: module cases_<trainer> beside this one."""
    import importlib

    cases: tuple[Case, ...] = importlib.import_module(f"cases_{trainer}").CASES
    names = [case.name for case in cases]
    if len(names) != len(set(names)):
        sys.exit(f"two cases of {trainer} have one name")
    return cases


def read_result(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The head and the records of one result file."""
    with path.open(encoding="utf-8") as file:
        head, *records = (json.loads(line) for line in file)
    return head, records
