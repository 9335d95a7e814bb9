"""mlx-lm's own data code: `lora.main` reads the config, `load_dataset` the rows, and what is trained is what
`iterate_batches` and `default_loss` make of them.

Run with the python of an environment that has `mlx-lm` and `mlx` (on Linux `mlx[cpu]`: the arrays are real); see
`exchange` for requests and results. `config` holds keys of its YAML, `flags` the words of a command line, which win
over them as in `mlx_lm.lora`. No model is loaded: `lora.run` is left out, whose steps before training are done here,
and `default_loss` gets a model that gives nothing and a cross entropy that keeps the mask it is multiplied with. Each
row is made a batch of its own, so that its labels are what the loss asks for; a row at which mlx-lm stops gives a
record of kind `refused` with the error, and the head has the first of them, at which a run would end. The order of the
batches is drawn; shown are the first of them in that order, each with its rows.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import exchange


def prepare(request: Mapping[str, Any], work: Path) -> Iterator[dict[str, Any]]:
    import numpy as np
    from mlx_lm.tuner.datasets import CacheDataset, load_dataset
    from mlx_lm.utils import load_tokenizer

    yield {"kind": "head", "rows_in": len(exchange.read_rows(request)) if exchange.brings_rows(request) else None}
    folder = exchange.tokenizer_folder(request, work)
    exchange.enter_folder(request)
    args = arguments(request, work)
    np.random.seed(args.seed)
    tokenizer = load_tokenizer(str(folder), {"trust_remote_code": False})
    train, _, _ = load_dataset(args, tokenizer)
    yield {"kind": "head", "rows_in": len(train)}

    refused: dict[int, Exception] = {}
    made: dict[int, tuple[list[int], list[int]]] = {}
    for row in range(len(train)):
        try:
            made[row] = trained(train.process(train[row]), args.max_seq_length)
        except Exception as error:
            refused[row] = error
    yield {"kind": "head", "kept": len(made), "columns": sorted(train[0])}
    yield from exchange.refusals(refused)
    for row, (ids, labels) in sorted(made.items()):
        yield exchange.row_record(row, ids, labels)
    count = (request.get("batch") or {}).get("count", 0)
    if count and not refused:
        yield from batches(CacheDataset(train), args, count)


def arguments(request: Mapping[str, Any], work: Path) -> Any:
    """What `mlx_lm.lora` hands to `run`: the user's file, the request's keys and flags, its own defaults."""
    import yaml
    from mlx_lm import lora

    given = exchange.file_keys(request)
    if exchange.brings_rows(request):
        given = {name: value for name, value in given.items() if name != "hf_dataset"}
        path = work / "data"
        path.mkdir()
        exchange.data_file(request, work).rename(path / "train.jsonl")
        given |= {**entry_keys(request), "data": str(path)}
    config = work / "config.yaml"
    config.write_text(yaml.safe_dump({**given, **request.get("config", {}), "train": True}), encoding="utf-8")
    taken: list[Any] = []
    run, lora.run = lora.run, lambda args: taken.append(args)
    words, sys.argv = sys.argv, ["mlx_lm.lora", "-c", str(config), *request.get("flags", ())]
    try:
        lora.main()
    finally:
        lora.run, sys.argv = run, words
    return taken[0]


def entry_keys(request: Mapping[str, Any]) -> dict[str, Any]:
    """The names of columns that an `hf_dataset` of the config gives: those of the rows that stand for it."""
    entry = exchange.file_keys(request).get("hf_dataset")
    first = entry[0] if isinstance(entry, list) and entry else entry
    return {key: value for key, value in (first or {}).items() if key.endswith("_feature")}


def trained(row: tuple[list[int], int], length: int) -> tuple[list[int], list[int]]:
    """The ids and labels of a processed row's own tokens in a batch of it alone."""
    from mlx_lm.tuner.trainer import iterate_batches

    batch, lengths = next(iter(iterate_batches([row], 1, length)))
    [(_, end)] = lengths.tolist()
    return batch.tolist()[0][:end], labels_of(batch, lengths)[0][:end]


def labels_of(batch: Any, lengths: Any) -> list[list[int]]:
    """The label of every position, by the mask that `default_loss` lays over its cross entropy; -100 where none.

    Nothing predicts the first token: it counts as trained where the mask begins at or before it.
    """
    from mlx_lm.tuner import trainer

    kept: list[Any] = []

    class Entropy:
        def __mul__(self, mask: Any) -> Any:
            kept.append(mask)
            return mask

    losses, trainer.nn = trainer.nn, SimpleNamespace(losses=SimpleNamespace(cross_entropy=lambda *_: Entropy()))
    try:
        trainer.default_loss(lambda inputs: inputs, batch, lengths)
    finally:
        trainer.nn = losses
    found = []
    for ids, mask, (offset, _) in zip(batch.tolist(), kept[0].tolist(), lengths.tolist()):
        found.append([token if on else -100 for token, on in zip(ids, [offset <= 0, *mask])])
    return found


def batches(data: Any, args: Any, count: int) -> Iterator[dict[str, Any]]:
    """The first batches, in the order in which they are drawn."""
    from mlx_lm.tuner.trainer import iterate_batches

    asked: list[int] = []

    class Noting(type(data)):  # type: ignore[misc]
        def __getitem__(self, row: int) -> Any:
            asked.append(row)
            return super().__getitem__(row)

    noting = Noting(data._data)
    for number, (batch, lengths) in enumerate(iterate_batches(noting, args.batch_size, args.max_seq_length)):
        if number >= count:
            return
        yield exchange.batch_record(
            list(asked), {"input_ids": Ids(batch.tolist()), "labels": Ids(labels_of(batch, lengths))}
        )
        asked.clear()


class Ids(list):  # type: ignore[type-arg]
    """Rows of numbers as `batch_record` takes arrays."""

    ndim = 2

    def tolist(self) -> list[list[int]]:
        return list(self)


if __name__ == "__main__":
    exchange.quiet_environment()
    exchange.serve("mlx-lm", prepare, ("mlx-lm", "mlx", "transformers", "datasets", "tokenizers"))
