"""A parity case: which rows, which tokenizer and which of the trainer's own keys; and its reference.

`SFTUI_PARITY_HOME` (default ~/.cache/sftui-parity) holds, made by `environments.py` and `record.py`:

    <trainer>-<version>/            the virtual environment
    data/<name>.jsonl               the rows of a case, as both the trainer and sftui read them
    results/<trainer>-<version>/<case>.jsonl   what the real trainer made of them (see `exchange`)

`SFTUI_PARITY_EACH=8` takes every eighth row of cases that have many, as `.ci/run` does; without it every row counts.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import environments
import material
import new_material
import new_material_five
import new_material_four
import new_material_three
import new_material_two
import sentencepiece_models
import shared_rows
from places import made_once
from trainers import module_of

REPO = Path(__file__).resolve().parents[2]
KEPT = REPO / "tests" / "golden" / "trainers" / "pieces"
"""SentencePiece models that goldens were recorded with."""
FEW = 150
"""Rows of a file that is never thinned: odd rows are few, and each is there for something of its own."""
sys.path.insert(0, str(REPO))  # as a script, nothing here is beside sftui


def home() -> Path:
    """Where environments, materialized rows and references live."""
    return Path(os.environ.get("SFTUI_PARITY_HOME") or Path.home() / ".cache" / "sftui-parity").expanduser()


def shared_folder() -> Path:
    """The folder of real tokenizers, templates and datasets."""
    return Path(os.environ.get("SFTUI_SHARED") or REPO.parent / "shared")


def new_tokenizer(name: str, maker: Any = new_material) -> Path:
    """A tokenizer of `new_material`, trained on first use and again when that file changes."""
    return made_once(new_folder(maker) / "tokenizers" / name, lambda folder: maker.tokenizer(name, folder))


def new_rows(name: str, maker: Any = new_material) -> Path:
    """A dataset of `new_material` as JSON lines."""
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in maker.rows(name))
    path = new_folder(maker) / f"{name}.jsonl"
    return made_once(path, lambda part: part.write_text("".join(lines), encoding="utf-8"))


def whole_rows(name: str) -> Path:
    """A dataset of ../shared as `shared_rows` reads it, as JSON lines."""
    key = hashlib.sha256(Path(shared_rows.__file__).read_bytes()).hexdigest()[:12]
    found = shared_rows.rows(shared_folder() / "testdata" / "datasets" / name)
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in found)
    path = home() / "shared" / key / f"{name}.jsonl"
    return made_once(path, lambda part: part.write_text("".join(lines), encoding="utf-8"))


def new_folder(maker: Any) -> Path:
    source = Path(maker.__file__).read_bytes()
    return home() / "new" / hashlib.sha256(source).hexdigest()[:12]


@dataclass(frozen=True)
class Case:
    """One setting of one trainer on one set of rows.

    `data` names a set of rows of `material`; `tokenizer` a folder under testdata/tokenizers,
    `own:NAME` one of sftui's built-in ones, `made:NAME` (see `made_tokenizer`), `pieces:NAME` a
    SentencePiece model of `sentencepiece_models` or `kept:NAME` one beside the goldens; either may be
    `new:NAME` of `new_material`, `two:NAME` of `new_material_two` or `four:NAME` of `new_material_four`, data
    also `three:NAME` of `new_material_three`, `five:NAME` of `new_material_five` and `shared:FILE`, a whole file of
    testdata/datasets. `template` replaces the tokenizer's own: a file of testdata/templates, `own:NAME` one of sftui's
    built-in ones, or the text itself;
    `tokens` replaces special tokens in the tokenizer's config. `config` holds the trainer's own
    keys, `dataset` its own description of the dataset. `only` names the trainer versions that
    have the setting (all, if empty). `default` marks the README's default settings, `long` what
    the parity tests try with SFTUI_PARITY_ALL=1 alone. `objective` is loss.objective where the command, not the config,
    says it.
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
    long: bool = False
    objective: str = "sft"

    def asked_of(self, trainer: str, version: str) -> bool:
        """Whether a version has the setting. One that the rules do not know yet has what the newest known one has."""
        if not self.only or version in self.only:
            return True
        return f"{trainer}@{version}" not in environments.PACKAGES and environments.split(trainer)[1] in self.only

    def template_text(self) -> str | None:
        """The template that replaces the tokenizer's own."""
        if self.template is None or "{%" in self.template:
            return self.template
        if self.template.startswith("own:"):
            path = REPO / "sftui" / "templates" / "builtin" / f"{self.template[4:]}.jinja"
            return path.read_text(encoding="utf-8")
        return (shared_folder() / "testdata" / "templates" / f"{self.template}.jinja").read_text(encoding="utf-8")

    def tokenizer_folder(self) -> Path:
        if self.tokenizer.startswith("made:"):
            return made_tokenizer(self.tokenizer[5:])
        if self.tokenizer.startswith(("pieces:", "kept:")):
            return model_folder(self.tokenizer)
        if self.tokenizer.startswith("new:"):
            return new_tokenizer(self.tokenizer[4:])
        if self.tokenizer.startswith("two:"):
            return new_tokenizer(self.tokenizer[4:], new_material_two)
        if self.tokenizer.startswith("four:"):
            return new_tokenizer(self.tokenizer[5:], new_material_four)
        if self.tokenizer.startswith("own:"):
            return REPO / "sftui" / "tokens" / "builtin" / self.tokenizer[4:]
        return shared_folder() / "testdata" / "tokenizers" / self.tokenizer

    def data_path(self) -> Path:
        """The rows as JSON lines, written on first use; of many the share that `SFTUI_PARITY_EACH` asks for."""
        return thinned(self._whole(), int(os.environ.get("SFTUI_PARITY_EACH") or 1))

    def _whole(self) -> Path:
        if self.data.startswith("new:"):
            return new_rows(self.data[4:])
        if self.data.startswith("two:"):
            return new_rows(self.data[4:], new_material_two)
        if self.data.startswith("three:"):
            return new_rows(self.data[6:], new_material_three)
        if self.data.startswith("four:"):
            return new_rows(self.data[5:], new_material_four)
        if self.data.startswith("five:"):
            return new_rows(self.data[5:], new_material_five)
        if self.data.startswith("shared:"):
            return whole_rows(self.data[7:])
        name = self.data if self.limit is None else f"{self.data}-{self.limit}"
        return material.write(name, home() / "data", shared_folder() / "testdata" / "datasets", self.data, self.limit)

    def request(self, output: Path) -> dict[str, Any]:
        """The request that a runner answers (see sftui/trainers/verify/exchange.py)."""
        return {
            "data": {"path": str(self.data_path())},
            "tokenizer": str(self.tokenizer_folder()),
            "chat_template": self.template_text(),
            "tokens": dict(self.tokens),
            "config": dict(self.config),
            "dataset": dict(self.dataset),
            "batch": dict(self.batch),
            "output": str(output),
            **({"objective": self.objective} if self.objective != "sft" else {}),
        }

    def fingerprint(self) -> str:
        """What a cached reference depends on, besides the trainer's version."""
        request = self.request(Path("/"))
        rows = self.data_path().read_bytes()
        text = json.dumps(request, sort_keys=True).encode() + hashlib.sha256(rows).digest()
        return hashlib.sha256(text).hexdigest()[:16]


def thinned(path: Path, each: int) -> Path:
    """Every `each`th row of a file with more than `FEW` rows, in a file beside it."""
    lines = path.read_bytes().splitlines(keepends=True) if each > 1 else []  # text has other line ends, which rows hold
    if len(lines) <= FEW:
        return path
    kept = b"".join(lines[::each])
    return made_once(path.with_name(f"{path.stem}-each{each}{path.suffix}"), lambda part: part.write_bytes(kept))


def made_tokenizer(name: str) -> Path:
    """A tokenizer made of a real one: `qwen3` is Qwen2.5's with the four tokens that Qwen3 adds as no special ones,
    `no_model` Qwen2.5's beside the config of a model of an architecture that nobody knows."""
    assert name in ("qwen3", "no_model"), name

    def put(folder: Path) -> None:
        shutil.copytree(shared_folder() / "testdata" / "tokenizers" / "qwen2.5", folder)
        if name == "no_model":
            config = {"architectures": ["NoModelForCausalLM"], "model_type": "llama", "max_position_embeddings": 2048}
            (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
            return
        path = folder / "tokenizer.json"
        path.chmod(0o644)
        whole = json.loads(path.read_text(encoding="utf-8"))
        plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}
        for content in ("<tool_response>", "</tool_response>", "<think>", "</think>"):
            number = 1 + max(token["id"] for token in whole["added_tokens"])
            whole["added_tokens"].append({"id": number, "content": content, **plain})
        path.write_text(json.dumps(whole, ensure_ascii=False), encoding="utf-8")

    return made_once(home() / "tokenizers" / "made" / name, put)


def model_folder(name: str) -> Path:
    """The folder of a SentencePiece model, made or kept."""
    source = Path(sentencepiece_models.__file__).read_bytes()
    key = hashlib.sha256(source).hexdigest()[:12]
    chatml = REPO / "sftui" / "tokens" / "builtin" / "chatml"
    kind, _, short = name.partition(":")
    kept = KEPT / f"{short}.model"

    def put(folder: Path) -> None:
        model = kept.read_bytes() if kind == "kept" else sentencepiece_models.model(short, shared_folder())
        sentencepiece_models.folder(model, folder, chatml)

    return made_once(home() / "tokenizers" / kind / key / short, put)


def environment(trainer: str, version: str) -> Path:
    """The virtual environment of one trainer at one version."""
    return home() / f"{trainer}-{version}"


def python_of(trainer: str, version: str) -> Path:
    return environment(trainer, version) / "bin" / "python"


def result_path(trainer: str, version: str, case: Case) -> Path:
    return home() / "results" / f"{trainer}-{version}" / f"{case.name}.jsonl"


def cases_of(trainer: str) -> tuple[Case, ...]:
    """The case table of a trainer: `cases` of its folder."""
    from late_cases import late_cases

    cases: tuple[Case, ...] = (*module_of(trainer, "cases").CASES, *late_cases(trainer))
    names = [case.name for case in cases]
    if len(names) != len(set(names)):
        sys.exit(f"two cases of {trainer} have one name")
    return cases
