"""Record the goldens of the repository: `python goldens.py TRAINER[@VERSION]…` (all that have an environment).

Writes tests/golden/trainers/<trainer>-<version>.jsonl, one line a case, the rows they are of as
tests/golden/trainers/rows/<name>.jsonl, and the SentencePiece models of some beside them. A case's line holds what a
test needs to ask sftui the same (data, tokenizer, template text, config, dataset) and `records`, compact:

    row        position in the rows, or null for a pack        ids       input_ids
    trained    [start, end) ranges where label == id           other     [position, label] where it is neither -100 nor
    the id more       position_ids, attention_mask, seq_lengths, where the trainer gives them (a mask of ones is left
    out)

`batches` are the collator's, with every tensor as it is; `error` is what the trainer raised, `refused` the rows at
which one stops that says so of each; `day` is the day of the recording, which some templates write.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from datetime import date
from itertools import groupby
from typing import Any

import environments
import material
import sentencepiece_models
from case import KEPT, REPO, Case, environment, home, shared_folder
from record import ask
from trainers import module_of

from sftui.trainers.verify.session import read_result

FOLDER = REPO / "tests" / "golden" / "trainers"
MORE = ("position_ids", "attention_mask", "seq_lengths")
SOFT = ("kind", "trainer", "versions", "seconds", "columns")


def compact(record: Mapping[str, Any]) -> dict[str, Any]:
    """One row or pack, its labels as ranges and its loss weights as runs of (how many, weight)."""
    ids, labels = record["input_ids"], record["labels"]
    trained: list[list[int]] = []
    other: list[list[int]] = []
    for at, (token, label) in enumerate(zip(ids, labels)):
        if label == token:
            if trained and trained[-1][1] == at:
                trained[-1][1] = at + 1
            else:
                trained.append([at, at + 1])
        elif label != -100:
            other.append([at, label])
    more = {k: record[k] for k in MORE if k in record and not (k == "attention_mask" and set(record[k]) == {1})}
    made = {"row": record["row"], "ids": ids, "trained": trained}
    if "loss_weights" in record:
        made["weights"] = [[len(list(some)), weight] for weight, some in groupby(record["loss_weights"])]
    return {**made, **({"other": other} if other else {}), **({"more": more} if more else {})}


def golden(case: Case, head: Mapping[str, Any], records: list[dict[str, Any]]) -> dict[str, Any]:
    """One case with everything the trainer made of it."""
    refused = [{"row": r["row"], "error": r["error"]} for r in records if r["kind"] == "refused"]
    return {
        "case": case.name,
        "versions": head["versions"],
        "day": date.today().isoformat(),
        "rows": f"rows/{case.data}.jsonl",
        "tokenizer": case.tokenizer.removeprefix("own:"),
        "tokens": dict(case.tokens),
        "template": case.template_text(),
        "config": dict(case.config),
        "dataset": dict(case.dataset),
        **({"objective": case.objective} if case.objective != "sft" else {}),
        "head": {k: v for k, v in head.items() if k not in SOFT},
        "records": [compact(r) for r in records if r["kind"] in ("row", "pack")],
        **({"refused": refused} if refused else {}),
        "batch": dict(case.batch),
        "batches": [{k: v for k, v in r.items() if k != "kind"} for r in records if r["kind"] == "batch"],
    }


def keep_models() -> None:
    """Write the SentencePiece models that are not there."""
    for name in sentencepiece_models.KEPT:
        path = KEPT / f"{name}.model"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(sentencepiece_models.model(name, shared_folder()))


def record(trainer: str, version: str) -> int:
    """Record every case of one trainer; how many there are."""
    keep_models()
    cases = [case for case in module_of(trainer, "own").OWN if case.asked_of(trainer, version)]
    folder = home() / "results" / f"{trainer}-{version}" / "own"
    requests = [case.request(folder / f"{case.name}.jsonl") for case in cases]
    lines = []
    for case, answer in zip(cases, ask(trainer, version, requests)):
        material.write(case.data, FOLDER / "rows", shared_folder(), case.data, None)
        head, records = read_result(folder / f"{case.name}.jsonl")
        lines.append(json.dumps(golden(case, head, records), ensure_ascii=False, separators=(",", ":")))
        error = answer["error"]
        print(f"{case.name:32} {error['type'] + ': ' + error['message'][:80] if error else len(records)}", flush=True)
    path = FOLDER / f"{trainer}-{version}.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{path.relative_to(REPO)}: {len(lines)} cases, {path.stat().st_size // 1024} KiB")
    return len(lines)


def main() -> int:
    names = sys.argv[1:] or [name for name in environments.PACKAGES if environment(*environments.split(name)).exists()]
    for name in names:
        record(*environments.split(name))
    return 0


if __name__ == "__main__":
    sys.exit(main())
