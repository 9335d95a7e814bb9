"""torchtune's own dataset builders, tokenizers and collator, as its recipes instantiate them.

Run with the python of an environment that has `torchtune`; see `exchange` for requests and results. `dataset` holds the
`dataset:` block of its YAML (`_component_`, with its arguments but without source and files; `packed` included),
`config` may hold `tokenizer` (the `tokenizer:` block: `_component_`, max_seq_len, prompt_template …), and
`pad_to_multiple_of`. torchtune's own tokenizer files are made from the request's tokenizer.json: vocab.json and
merges.txt for the Qwen family, a tiktoken file for Llama 3; a SentencePiece model is the one in the request's folder. A
`special_tokens_path` whose file lies in the request's folder is that one; without one torchtune takes the special
tokens that it has itself. Labels are given un-shifted: 0.7 stores them shifted by one, which `labels_shifted` in the
head says. torchtune drops a row only by a builder's own filter, whose rows are named.
"""

from __future__ import annotations

import base64
import importlib.util
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import exchange

OF_PIECES = tuple(f".{one}_tokenizer" for one in ("gemma", "llama2", "mistral", "phi3_mini"))
"""The builders that read a SentencePiece model."""


def prepare(request: Mapping[str, Any], work: Path) -> Iterator[dict[str, Any]]:
    from omegaconf import OmegaConf
    from torchtune import config as torchtune_config
    from torchtune.data import padded_collate_packed, padded_collate_sft

    given: dict[str, Any] = {}
    exchange.enter_folder(request)
    if request.get("config_file"):
        loaded = OmegaConf.to_container(OmegaConf.load(request["config_file"]))
        given = {str(k): v for k, v in loaded.items()} if isinstance(loaded, dict) else {}
    config = {**given, **request.get("config", {})}
    yield {"kind": "head", "rows_in": len(exchange.read_rows(request)) if exchange.brings_rows(request) else None}
    block = {"_component_": "torchtune.models.qwen2_5.qwen2_5_tokenizer", **(config.get("tokenizer") or {})}
    folder = exchange.tokenizer_folder(request, work)
    block.update(tokenizer_files(block["_component_"], folder, str(block.get("path") or "")))
    special = folder / Path(str(block.get("special_tokens_path") or "tokenizer.json")).name
    if block.get("special_tokens_path") and special.exists():
        block["special_tokens_path"] = str(special)
    tokenizer = torchtune_config.instantiate(OmegaConf.create(block))
    entry = {**(given.get("dataset") or {}), **(request.get("dataset") or {})}
    packed = bool(entry.get("packed"))
    if exchange.brings_rows(request):
        entry.update(source="json", data_files=str(exchange.data_file(request, work)), split="train")
    dataset = torchtune_config.instantiate(OmegaConf.create(entry), tokenizer)
    items = [dataset[i] for i in range(len(dataset))]
    rows = positions(dataset)
    shifted = any(is_shifted(item) for item in items) and not any(is_aligned(item) for item in items)
    yield {"kind": "head", "kept": len(items), "labels_shifted": shifted, "pad_id": tokenizer.pad_id}
    for index, item in enumerate(items):
        ids, labels = exchange.integers(item["tokens"]), exchange.integers(item["labels"])
        if shifted:
            labels = [-100, *labels[:-1]]
        if packed:
            more = {
                "seq_lengths": exchange.integers(item["seq_lens"]),
                "position_ids": exchange.integers(item["input_pos"]),
            }
            yield {**exchange.row_record(None, ids, labels, **more), "kind": "pack"}
        else:
            yield exchange.row_record(rows[index], ids, labels)
    for part in exchange.windows(len(items), request.get("batch") or {}):
        chosen = [dict(items[i]) for i in part]
        if packed:
            made = padded_collate_packed(chosen)
        else:
            multiple = {"pad_to_multiple_of": config["pad_to_multiple_of"]} if config.get("pad_to_multiple_of") else {}
            made = padded_collate_sft(chosen, padding_idx=tokenizer.pad_id, **multiple)
        made = {("input_ids" if name == "tokens" else name): value for name, value in made.items()}
        yield exchange.batch_record([None if packed else rows[i] for i in part], made)


def positions(dataset: Any) -> Sequence[int]:
    """The place of each item in the data: `Dataset.filter` keeps those of the rows that it leaves."""
    left = getattr(getattr(dataset, "_data", None), "_indices", None)
    return left.column(0).to_pylist() if left is not None else range(len(dataset))


def is_aligned(item: Mapping[str, Any]) -> bool:
    """Whether every label stands at its own token; false tells something only where a label is set."""
    ids, labels = exchange.integers(item["tokens"]), exchange.integers(item["labels"])
    return any(b != -100 for b in labels) and all(b in (-100, a) for a, b in zip(ids, labels))


def is_shifted(item: Mapping[str, Any]) -> bool:
    """Whether every label stands one place before its token."""
    ids, labels = exchange.integers(item["tokens"]), exchange.integers(item["labels"])
    return any(b != -100 for b in labels) and all(b in (-100, a) for a, b in zip(ids[1:], labels[:-1]))


def tokenizer_files(component: str, folder: Path, named: str = "") -> dict[str, Any]:
    """The files that a torchtune tokenizer reads, written from tokenizer.json, as its arguments; `named` is the path
    that a config gives."""
    if component.endswith(OF_PIECES):
        own = folder / Path(named or "tokenizer.model").name
        return {"path": str(own if own.exists() else folder / "tokenizer.model")}
    whole = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    vocabulary, merges = whole["model"]["vocab"], whole["model"]["merges"]
    if "llama3" in component:
        letters = byte_letters()
        lines = sorted((rank, bytes(letters[c] for c in piece)) for piece, rank in vocabulary.items())
        path = folder / "tokenizer.model"
        path.write_text("".join(f"{base64.b64encode(piece).decode()} {rank}\n" for rank, piece in lines))
        return {"path": str(path)}
    (folder / "vocab.json").write_text(json.dumps(vocabulary, ensure_ascii=False), encoding="utf-8")
    pairs = [pair if isinstance(pair, str) else " ".join(pair) for pair in merges]
    (folder / "merges.txt").write_text("#version: 0.2\n" + "\n".join(pairs) + "\n", encoding="utf-8")
    files = {"path": str(folder / "vocab.json"), "merges_file": str(folder / "merges.txt")}
    return files


def byte_letters() -> dict[str, int]:
    """The letter that stands for each byte in a byte-level vocabulary (GPT-2's table)."""
    own = [*range(33, 127), *range(161, 173), *range(174, 256)]
    table = {chr(b): b for b in own}
    rest = [b for b in range(256) if b not in own]
    return {**table, **{chr(256 + i): b for i, b in enumerate(rest)}}


def setup() -> None:
    """Stand in for torchvision where it is absent: 0.7 imports it for images alone, and asks for no release of it."""
    if importlib.util.find_spec("torchvision") is None:
        for name in ("torchvision", "torchvision.transforms", "torchvision.transforms.v2"):
            sys.modules[name] = MagicMock()


if __name__ == "__main__":
    exchange.quiet_environment()
    exchange.serve("torchtune", prepare, ("torchtune", "torchao", "datasets", "tokenizers", "torch"), setup)
