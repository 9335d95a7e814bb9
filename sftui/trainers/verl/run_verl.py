"""verl's own SFT code: Hydra composes the config as `python -m verl.trainer.sft_trainer` does, and the real
`HFModelConfig`, `create_sft_dataset` and `SFTTensorCollator` make the tokenizer, the rows and the batches.

Run with the python of an environment that has `verl`, `transformers`, `tensordict`, `hydra-core`, `pandas` and
`datasets`; see `exchange` for requests and results. `config` holds overrides by their dotted keys (`data.max_length`),
`flags` the words of a command line, over which they are laid; `config_file` is a YAML over the trainer's own
(`--config-path`, `--config-name`). verl reads Parquet alone: rows of another file are written by pandas. No model is
loaded: one without weights stands for it, and what only trains (`engine_workers`, Ray where it is missing) is left out.

A row at which the dataset stops gives a record of kind `refused` with the error, and the head has the first of them, at
which a run would end. Batches are the first ones in the order of the file; the trainer's sampler draws others.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import exchange

MODULE, NAME = "verl.trainer.config", "sft_trainer_engine"
TRAINS = ("verl.workers.engine_workers",)
"""What `sft_trainer` imports only to train."""


class _Absent(ModuleType):
    """A module that is not needed for rows: each name in it is an empty class."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


def setup() -> None:
    for name in (*TRAINS, *(one for one in ("ray",) if importlib.util.find_spec(one) is None)):
        sys.modules[name] = _Absent(name)


def prepare(request: Mapping[str, Any], work: Path) -> Iterator[dict[str, Any]]:
    rows = exchange.read_rows(request) if exchange.brings_rows(request) else None
    yield {"kind": "head", "rows_in": len(rows) if rows is not None else None}
    folder = exchange.tokenizer_folder(request, work)
    exchange.enter_folder(request)
    overrides = [
        f"model.path={_text(str(_model(work)))}",
        f"model.tokenizer_path={_text(str(folder))}",
        *request.get("flags", ()),
    ]
    if rows is not None:
        overrides.append(f"data.train_files={_text(str(_stored(request, rows, work)))}")
    config = composed(request.get("config_file"), overrides)
    from omegaconf import OmegaConf

    for key, value in request.get("config", {}).items():
        OmegaConf.update(config, key, value, force_add=True)
    from verl.trainer.sft_trainer import create_sft_dataset
    from verl.utils.config import omega_conf_to_dataclass

    model = omega_conf_to_dataclass(config.model)
    dataset = create_sft_dataset(
        config.data.train_files,
        config.data,
        model.tokenizer,
        model.processor,
        max_samples=config.data.get("train_max_samples", -1),
    )
    whole = len(dataset) if rows is None else len(rows)
    yield {"kind": "head", "rows_in": whole, "columns": list(dataset.dataframe.columns)}
    numbers = dataset.dataframe.index.tolist() if rows is not None else list(range(len(dataset)))
    made: dict[int, Any] = {}
    refused: dict[int, Exception] = {}
    for place, row in enumerate(numbers):
        try:
            made[row] = dataset[place]
        except Exception as error:
            refused[row] = error
    yield {"kind": "head", "kept": len(made)}
    yield from exchange.refusals(refused)
    for row, one in sorted(made.items()):
        yield exchange.row_record(row, *_labelled(one))
    batch = request.get("batch") or {}
    if batch.get("count") and made and not refused:
        yield from batches(made, config.data.pad_mode, batch)


def composed(file: str | None, overrides: list[str]) -> Any:
    """The config that `main` is given: the trainer's own, or a user's file that stands over it."""
    import verl.trainer.config as own
    from hydra import compose, initialize_config_dir

    home = str(Path(own.__file__ or "").parent)
    place = Path(file).resolve() if file else None
    if place is None:
        with initialize_config_dir(home, version_base=None):
            return compose(NAME, overrides=overrides)
    with initialize_config_dir(str(place.parent), version_base=None):
        search = [] if "searchpath" in place.read_text(encoding="utf-8") else [f"hydra.searchpath=[file://{home}]"]
        return compose(place.name, overrides=[*search, *overrides])


def _text(value: str) -> str:
    """A text as the value of an override: a backslash stands for itself but before a quote."""
    return "'" + value.replace("\\'", "\\\\'").replace("'", "\\'") + "'"


def _model(work: Path) -> Path:
    """A folder of a model that has no weights: of the trainer's steps those before training read its config alone."""
    folder = work / "model"
    folder.mkdir()
    exchange.put_config(folder)
    return folder


def _stored(request: Mapping[str, Any], rows: list[dict[str, Any]], work: Path) -> Path:
    """The rows as Parquet: the file itself, or what pandas writes of them."""
    data = request.get("data") or {}
    if str(data.get("path", "")).endswith(".parquet") and not data.get("columns") and not data.get("limit"):
        return Path(data["path"])
    import pandas

    path = work / "train.parquet"
    pandas.DataFrame(rows).to_parquet(path)
    return path


def _labelled(one: Mapping[str, Any]) -> tuple[list[int], list[int]]:
    """The ids of a row and a label of each, without the padding that `pad_mode: right` puts behind them."""
    ids, mask = one["input_ids"].tolist(), one["loss_mask"].tolist()
    if "attention_mask" in one:
        ids, mask = ([v for v, on in zip(values, one["attention_mask"].tolist()) if on] for values in (ids, mask))
    return ids, [token if on else -100 for token, on in zip(ids, mask)]


def batches(made: Mapping[int, Any], pad_mode: str, batch: Mapping[str, int]) -> Iterator[dict[str, Any]]:
    """Rows through the trainer's collator, so many at a time."""
    from verl.utils.dataset.dataset_utils import SFTTensorCollator

    collate, rows = SFTTensorCollator(pad_mode), sorted(made)
    for part in exchange.windows(len(rows), batch):
        some = [rows[i] for i in part]
        found = collate([made[row] for row in some])
        nested = found["input_ids"].is_nested
        flat = {key: value.values()[None] if nested else value for key, value in found.items()}
        labels = flat["input_ids"].where(flat.pop("loss_mask").bool(), -100)
        yield exchange.batch_record(some, {**flat, "labels": labels})


if __name__ == "__main__":
    exchange.quiet_environment(HYDRA_FULL_ERROR="1")
    exchange.serve("verl", prepare, ("verl", "transformers", "tokenizers", "datasets", "pandas", "torch"), setup)
