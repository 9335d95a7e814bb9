"""NeMo Automodel's own data code: its config loader makes the dataset, its packing and its collator.

Run with the python of an environment that has `nemo_automodel`; see `exchange` for requests and results. `dataset`
holds keys of the config's `dataset` block, `config` whole blocks beside it, `flags` the words of a command line
(`--dataset.seq_length 512`), which win over them as in `automodel`. Of a config file the blocks that data comes
through are loaded; no model is. Labels are as the dataset hands them out: shifted by one, with the last token of each
row gone. A row that was padded to seq_length is given without its padding, which its batch shows. A row at which the
dataset stops gives a record of kind `refused`, and the head has the first of them. Where a dataset gives another row in
the place of one, as that of columns does for a row without labels, the row counts as dropped.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import exchange

CHAT = "nemo_automodel.components.datasets.llm.chat_dataset.ChatDataset"
BLOCKS = ("seed", "step_scheduler", "dataset", "dataloader", "packed_sequence", "distributed")
"""What of a config decides data, beside the tokenizer's part of `model`."""
BY_PATH, BY_NAME = ("ChatDataset", "ColumnMappedText"), ("squad", "Squad", "xlam", "Xlam")
"""Which datasets name their data by `path_or_dataset_id`, and which by `dataset_name`; make_agent_chat_dataset by
`path`."""


def prepare(request: Mapping[str, Any], work: Path) -> Iterator[dict[str, Any]]:
    yield {"kind": "head", "rows_in": len(exchange.read_rows(request)) if exchange.brings_rows(request) else None}
    folder = exchange.tokenizer_folder(request, work)
    exchange.enter_folder(request)
    raw = config_of(request, work)
    tokenizer = tokenizer_of(raw, folder)
    loader = loader_of(raw)
    dataset = loader.dataset_config.build(tokenizer=tokenizer)
    seen = Seen(dataset)
    items: dict[int, Any] = {}
    refused: dict[int, Exception] = {}
    for place in range(len(seen)):
        try:
            item = seen.item(place)
        except Exception as error:
            refused[seen.row(place)] = error
            continue
        if item is not None:
            items[seen.row(place)] = item
    yield {"kind": "head", "rows_in": len(exchange.read_rows(request)) if exchange.brings_rows(request) else len(seen)}
    yield {"kind": "head", "kept": len(items), "columns": sorted(next(iter(items.values()), {})), "shifted": True}
    yield from exchange.refusals(refused)
    bare = unpadded(loader.dataset_config, tokenizer, items)
    for row, item in sorted(items.items()):
        start, end = bare(row, item)
        yield exchange.row_record(row, item["input_ids"][start:end], item["labels"][start:end])
    if not refused:
        yield from batches(request, loader, dataset, tokenizer, items)


def config_of(request: Mapping[str, Any], work: Path) -> Any:
    """The config as `automodel` reads it: the file, the request's keys, the words of the command line."""
    import yaml
    from nemo_automodel.components.config._arg_parser import parse_args_and_load_config

    given = exchange.file_keys(request)
    model = given.get("model") or {}
    kept = {name: given[name] for name in BLOCKS if name in given}
    kept["model"] = {name: model[name] for name in ("trust_remote_code",) if name in model}
    kept.update(request.get("config") or {})
    block = {"_target_": CHAT, **(kept.get("dataset") or {}), **(request.get("dataset") or {})}
    words = list(request.get("flags") or ())
    if exchange.brings_rows(request):
        target = block["_target_"]
        block = {name: value for name, value in block.items() if name not in ("split", "name", "limit_dataset_samples")}
        block |= place_of(target, rows_file(request, work), work)
        if "path" in block:
            block.pop("dataset_name", None)
    path = work / "automodel.yaml"
    path.write_text(yaml.safe_dump({**kept, "dataset": block}, allow_unicode=True), encoding="utf-8")
    return parse_args_and_load_config(argv=["--config", str(path), *words])


def rows_file(request: Mapping[str, Any], work: Path) -> Path:
    """The rows as JSON lines: as they stand where they are a file's, else in ASCII, since ChatDataset cuts lines at
    more characters than line feeds."""
    path: Path = work / "data.jsonl"
    if request.get("rows") is None:
        path = exchange.data_file(request, work)
        return path
    path.write_text("".join(json.dumps(row) + "\n" for row in request["rows"]), encoding="utf-8")
    return path


def place_of(target: str, data: Path, work: Path) -> dict[str, str]:
    """The keys by which a dataset is told its data."""
    name = target.rpartition(".")[2]
    if name.startswith(BY_PATH):
        return {"path_or_dataset_id": str(data)}
    if any(one in name for one in BY_NAME):
        folder = work / "data"
        folder.mkdir()
        shutil.copy(data, folder / "train.jsonl")
        return {"dataset_name": str(folder)}
    return {"path": str(data)}


def tokenizer_of(raw: Any, folder: Path) -> Any:
    """The tokenizer as the fine-tuning recipe builds it (recipes/llm/train_ft.py, _build_tokenizer), of our folder."""
    from nemo_automodel._transformers.auto_tokenizer import NeMoAutoTokenizer

    block = raw.dataset.get("tokenizer", None)
    if block is None:
        return NeMoAutoTokenizer.from_pretrained(str(folder))
    if "_target_" in block:
        return block.instantiate(pretrained_model_name_or_path=str(folder))
    given = {**block.to_dict(), "pretrained_model_name_or_path": str(folder)}
    return NeMoAutoTokenizer.from_pretrained(**given)


def loader_of(raw: Any) -> Any:
    """The typed config of dataset, packing and collator."""
    from nemo_automodel.recipes._typed_config import RecipeConfig

    return RecipeConfig(raw).dataloader


class Seen:
    """A dataset's items by their places, and of which row each is."""

    def __init__(self, dataset: Any) -> None:
        self._dataset, self._asked = dataset, list[int]()
        held = getattr(dataset, "_dataset", None)
        indices = getattr(held, "_indices", None)
        self._rows: Sequence[int] | None = indices.column(0).to_pylist() if indices is not None else None
        if hasattr(dataset, "column_mapping"):
            dataset.dataset = Noting(dataset.dataset, self._asked)

    def __len__(self) -> int:
        return len(self._dataset)

    def row(self, place: int) -> int:
        return place if self._rows is None else self._rows[place]

    def item(self, place: int) -> Any:
        """What the dataset gives there; None where that is another row's."""
        self._asked.clear()
        item = self._dataset[place]
        return item if not self._asked or self._asked[-1] == place else None


class Noting:
    """Rows that note which of them were asked for."""

    def __init__(self, rows: Any, asked: list[int]) -> None:
        self._rows, self._asked = rows, asked

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, place: int) -> Any:
        self._asked.append(place)
        return self._rows[place]

    def select(self, places: Any) -> Any:
        return self._rows.select(places)


def unpadded(config: Any, tokenizer: Any, items: Mapping[int, Any]) -> Any:
    """Where in an item its row stands, by the same dataset without padding, asked for the rows of these items alone."""
    from dataclasses import fields, replace

    if getattr(config, "padding", None) != "max_length":
        return lambda row, item: (0, len(item["input_ids"]))
    plain = Seen(replace(config, padding="do_not_pad").build(tokenizer=tokenizer))
    places = [place for place in range(len(plain)) if plain.row(place) in items]
    lengths = {plain.row(place): len(item["input_ids"]) for place in places if (item := plain.item(place))}
    chat = "column_mapping" not in {one.name for one in fields(config)} or config.use_hf_chat_template
    left = chat and tokenizer.padding_side == "left"

    def found(row: int, item: Any) -> tuple[int, int]:
        length, whole = lengths[row], len(item["input_ids"])
        if whole <= length or not left:
            return 0, length
        return whole - 1 - length, whole - 1

    return found


def batches(
    request: Mapping[str, Any], loader: Any, dataset: Any, tokenizer: Any, items: Mapping[int, Any]
) -> Iterator[dict[str, Any]]:
    """The packs and the first batches, in the order of the dataset: the sampler draws another."""
    from nemo_automodel.components.datasets.utils import default_collater

    asked = request.get("batch") or {}
    size, count = asked.get("size", 0), asked.get("count", 0)
    size = loader.batch_size if request.get("config_file") or not size else size
    collate, made, rows = loader.collate_fn or default_collater, list(items.values()), list(items)
    if loader.packing is not None:
        packed, collate = loader.packing.build(
            dataset,
            split=getattr(loader.dataset_config, "split", None),
            seed=loader.seed,
            pad_token_id=getattr(tokenizer, "pad_token_id", 0),
        )
        made = [packed[place] for place in range(len(packed))]
        for item in made:
            yield pack_record(item)
    for start in range(0, min(len(made), size * count), max(size, 1)):
        chosen = [dict(item) for item in made[start : start + size]]
        numbers = [None if loader.packing is not None else rows[start + i] for i in range(len(chosen))]
        yield exchange.batch_record(numbers, collate(chosen))


def pack_record(item: Mapping[str, Any]) -> dict[str, Any]:
    found = {"kind": "pack", "row": None}
    found |= {name: exchange.integers(item[name]) for name in ("input_ids", "labels", "position_ids")}
    if "attention_mask" in item:
        found["attention_mask"] = exchange.integers(item["attention_mask"])
    if "seq_lens_padded" in item:
        found["seq_lengths"] = exchange.integers(item["seq_lens_padded"])
    return found


if __name__ == "__main__":
    exchange.quiet_environment()
    exchange.serve("nemo-automodel", prepare, ("nemo-automodel", "transformers", "datasets", "tokenizers", "torch"))
