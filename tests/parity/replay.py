"""Replay the recorded goldens of ../shared through our runners: `python replay.py TRAINER[@VERSION]`.

The goldens came from the probes, our references come from the runners: both must call the real
trainer alike. A golden record is one row of a case; a case is replayed as one request.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import environments
from case import home, shared_folder
from places import made_once
from record import ask

from sftui.trainers.verify.session import read_result

NAMES = {"trl": "trl", "axolotl": "axolotl", "llamafactory": "llamafactory", "unsloth": "unsloth_zoo"}
LLAMAFACTORY_EOS = "<|endoftext|>"
"""The probe's tokenizer before LLaMA-Factory replaced its EOS; the records hold the EOS afterwards."""


def recorded(trainer: str, version: str) -> dict[str, list[dict[str, Any]]]:
    """The golden records of one trainer by case, in order."""
    cases: dict[str, list[dict[str, Any]]] = {}
    with (shared_folder() / "golden" / "golden.jsonl").open(encoding="utf-8") as file:
        for line in file:
            record = json.loads(line)
            if record["trainer"] == f"{NAMES[trainer]} {version}":
                cases.setdefault(record["case"], []).append(record)
    return cases


def tokenizer(bos: bool) -> Path:
    """The goldens' tokenizer, or the one that adds a BOS, as a folder."""
    source = shared_folder() / "golden"
    if not bos:
        return source / "hf_tokenizer"

    def put(folder: Path) -> None:
        folder.mkdir()
        config = json.loads((source / "hf_tokenizer" / "tokenizer_config.json").read_text())
        (folder / "tokenizer_config.json").write_text(json.dumps({**config, "bos_token": "<s>"}))
        (folder / "tokenizer.json").write_bytes((source / "tokenizer_bos.json").read_bytes())

    return made_once(home() / "data" / "golden_tokenizer_bos", put)


def request(trainer: str, record: Mapping[str, Any], output: Path) -> dict[str, Any] | None:
    """A golden case as a request; None where it used a function of the probe."""
    config = record["config"]
    if isinstance(config, str):
        return None
    bos = record["case"].startswith(("B7", "D3"))
    eos = LLAMAFACTORY_EOS if trainer == "llamafactory" else record["eos"]
    if trainer == "trl" and "eos_token" in config.get("cfg", {}):
        eos = "<|endoftext|>" if record["case"].startswith("A10") else "<|im_end|>"
    if record["case"].startswith("X10"):
        eos = "<|endoftext|>"
    made = {
        "rows": record["rows"],
        "tokenizer": str(tokenizer(bos)),
        "chat_template": record["chat_template"],
        "tokens": {"eos_token": eos, "pad_token": record["pad"]},
        "output": str(output),
    }
    if trainer == "trl":
        return {**made, "loader": "list", "config": config.get("cfg", {}), "batch": {"size": 2, "count": 1}}
    if trainer == "axolotl":
        own = {k: v for k, v in config.get("cfg", {}).items() if k not in ("flash_attention", "sdp_attention")}
        return {
            **made,
            "config": {"sequence_len": 256, "shuffle_merged_datasets": False, **own},
            "dataset": record["dataset"] or {},
        }
    if trainer == "llamafactory":
        return {**made, "config": config["da"], "dataset": config.get("info", {})}
    return unsloth_request(record, made)


def unsloth_request(record: Mapping[str, Any], made: dict[str, Any]) -> dict[str, Any]:
    """Unsloth's masking cases (U…) are one conversation or text, its preparation cases (P…) are rows."""
    keywords = record["config"].get("kw", {})
    if record["case"].startswith("P"):
        return {**made, "config": {"max_length": 64, **keywords}, "dataset": {}}
    rows = record["rows"]
    rows = [{"text": rows}] if isinstance(rows, str) else [{"messages": rows}]
    script = {"responses": keywords}
    if "messages" in rows[0]:
        script["text_from"] = "messages"
    return {**made, "rows": rows, "config": {"max_length": 512}, "dataset": script}


def differences(trainer: str, version: str) -> Iterator[tuple[str, str]]:
    """(case, what differs) over every golden record; what is '' where all of a case's records are equal."""
    cases = recorded(trainer, version)
    folder = home() / "results" / f"{trainer}-{version}" / "goldens"
    requests = {}
    for number, (name, records) in enumerate(cases.items()):
        made = request(trainer, records[0], folder / f"{number}.jsonl")
        if made is None:
            continue
        requests[name] = made
    for name, answer in zip(requests, ask(trainer, version, list(requests.values()))):
        if answer["error"]:
            yield name, f"raised {answer['error']}"
            continue
        _, results = read_result(Path(requests[name]["output"]))
        rows = [r for r in results if r["kind"] in ("row", "pack")]
        batch = [r for r in results if r["kind"] == "batch"]
        for record in cases[name]:
            if record["from_batch"]:
                got: dict[str, Any] = (
                    {"input_ids": batch[0]["input_ids"][0], "labels": batch[0]["labels"][0]} if batch else {}
                )
            else:
                wanted = record["row_index"] or 0
                got = rows[wanted] if wanted < len(rows) else {}
            if got.get("input_ids") != record["input_ids"] or got.get("labels") != record["labels"]:
                yield name, f"row {record['row_index']}: {got.get('labels')} instead of {record['labels']}"
                break
        else:
            yield name, ""


if __name__ == "__main__":
    for name, difference in differences(*environments.split(sys.argv[1])):
        print("equal " if not difference else "DIFFER", name, difference[:400])
