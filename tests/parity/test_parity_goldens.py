"""sftui against what the real trainers made of our own rows, recorded by `goldens.py`: needs no trainer."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from case import Case
from compare import judge
from emulate import emulate
from goldens import FOLDER

from sftui.tokens.loaded import FastEngine, ToEncode
from sftui.tokens.shortcuts import bulk
from sftui.trainers import TRAINERS, trainer_named
from sftui.trainers.llamafactory.trainer import LlamaFactory
from sftui.trainers.ms_swift.trainer import MsSwift


@dataclass(frozen=True)
class Recorded(Case):
    """A case whose rows stand in the repository."""

    def data_path(self) -> Path:
        return FOLDER / "rows" / f"{self.data}.jsonl"


def recorded() -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Every golden case of the trainers that sftui has."""
    known = set(TRAINERS)
    for path in sorted(FOLDER.glob("*.jsonl")):
        trainer, _, version = path.stem.rpartition("-")
        if trainer in known:
            for line in path.read_text(encoding="utf-8").splitlines():
                yield trainer, version, json.loads(line)


def expanded(record: Mapping[str, Any]) -> dict[str, Any]:
    """A compact record as the runner gave it."""
    labels = [-100] * len(record["ids"])
    for start, end in record["trained"]:
        labels[start:end] = record["ids"][start:end]
    for at, label in record.get("other", ()):
        labels[at] = label
    kind = "pack" if record["row"] is None else "row"
    made = {"kind": kind, "row": record["row"], "input_ids": record["ids"], "labels": labels, **record.get("more", {})}
    if "weights" in record:
        made["loss_weights"] = [weight for count, weight in record["weights"] for _ in range(count)]
    return made


@pytest.fixture(scope="module", autouse=True)
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Folders of tokenizers, and gigatoken over each of their backends: a few dozen share what 232 cases need. Whatever
    gigatoken gives is compared with the trainer's ids."""
    proven, made = bulk._proven, dict[str, Any]()

    def once(plain: FastEngine, probes: Sequence[str], texts: Sequence[ToEncode]) -> Any:
        key = plain.backend.to_str()
        if key not in made:
            made[key] = proven(plain, probes, texts)
        return made[key]

    with pytest.MonkeyPatch.context() as here:
        here.setenv("SFTUI_PARITY_HOME", str(tmp_path_factory.mktemp("parity")))
        here.setattr(bulk, "_proven", once)
        yield


@pytest.mark.one_of(2)
@pytest.mark.parametrize(
    ("trainer", "version", "golden"),
    [pytest.param(*one, id=f"{one[0]}-{one[1]}-{one[2]['case']}") for one in recorded()],
)
def test_golden(trainer: str, version: str, golden: Mapping[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    if golden["tokenizer"].startswith("kept:"):
        pytest.importorskip("sentencepiece")
    behind = trainer_named(trainer)
    if isinstance(behind, (LlamaFactory, MsSwift)):
        monkeypatch.setattr(behind, "today", lambda: date.fromisoformat(golden["day"]))
    case = Recorded(
        golden["case"],
        golden["rows"][len("rows/") : -len(".jsonl")],
        golden["tokenizer"] if ":" in golden["tokenizer"] else f"own:{golden['tokenizer']}",
        golden["config"],
        golden["template"],
        golden["tokens"],
        golden["dataset"],
        objective=golden.get("objective", "sft"),
    )
    records = [expanded(record) for record in golden["records"]]
    records += [{"kind": "refused", **refused} for refused in golden.get("refused", ())]
    records += [{"kind": "batch", **batch} for batch in golden["batches"]]
    found = judge(trainer, case, golden["head"], records, emulate(trainer, version, case, mode="provisional"))
    # They were recorded before what a position sees was.
    differences = [one for one in found.differences if not one.endswith("what a position sees differs")]
    assert not differences, "\n".join(differences[:10])
