"""LLaMA-Factory's v1 engine: its own arguments, `DataEngine`, `Renderer` and batches, as `run_sft` puts them together.

Run with the python of an environment that has `llamafactory` of at least 0.9.6.dev0; see `exchange` for requests and
results. `config` holds keys of its YAML, `dataset` the entry of its dataset file without a path. A row gives a record
for each of its samples, cut as its batches are; a row at which the engine stops gives one of kind `refused` with the
error, and the head has the first of them, at which a run would end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import exchange

Made = list[tuple[int, dict[str, Any]]]
"""The rows' numbers and what the renderer made of their samples, in order."""


def prepare(request: Mapping[str, Any], work: Path) -> Iterator[dict[str, Any]]:
    from llamafactory.v1.config import get_args
    from llamafactory.v1.core.data_engine import DataEngine
    from llamafactory.v1.core.model_engine import ModelEngine
    from llamafactory.v1.core.rendering import Renderer

    yield {"kind": "head", "rows_in": len(exchange.read_rows(request)) if exchange.brings_rows(request) else None}
    exchange.enter_folder(request)
    model_args, data_args, training_args, _ = get_args(configuration(request, work))
    loading = SimpleNamespace(args=model_args)
    loading.processor = ModelEngine._init_processor(loading)
    ModelEngine._sync_chat_template(loading)
    renderer = Renderer(loading.processor)

    refused: dict[int, Exception] = {}
    try:
        engine = DataEngine(data_args.train_dataset)
        entries = list(engine.data_index)
    except Exception:
        engine = _without_index(DataEngine, data_args.train_dataset)
        entries = list(_indexed(engine, refused))
        if not refused:
            raise
    made: Made = []
    for name, row, cut in entries:
        try:
            made += [(row, one) for one in renderer.process_samples([engine._get(name, row, cut)])]
        except Exception as error:
            refused.setdefault(row, error)
    made = list(_dropped([one for one in made if one[0] not in refused], training_args))
    yield {"kind": "head", "kept": len(made), "columns": sorted(made[0][1]) if made else []}
    yield from exchange.refusals(refused)
    for row, one in made:
        cut = _cut(one, training_args)
        yield exchange.row_record(
            row, cut["input_ids"], cut["labels"], loss_weights=[float(w) for w in cut["loss_weights"]]
        )
    yield from batches(made, training_args, renderer, (request.get("batch") or {}).get("count", 0))


def _without_index(kind: Any, path: str) -> Any:
    """A DataEngine without its index, to ask it row by row where building that fails."""
    bare = type(kind.__name__, (kind,), {"_build_data_index": lambda engine: None})
    return bare(path)


def _indexed(engine: Any, refused: dict[int, Exception]) -> Iterator[tuple[str, int, int | None]]:
    """The entries of the index, row by row, and the rows at which building it fails."""
    for name, dataset in engine.datasets.items():
        for row in range(len(dataset)):
            try:
                sample = engine._convert_data_sample(dataset[row], name)
                yield from [(name, row, cut) for cut in engine._prefix_cuts(sample)]
            except Exception as error:
                refused[row] = error


def _dropped(made: Made, training_args: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    """The samples that batches are filled with: the strategy `normal` leaves some out."""
    from llamafactory.v1.core.utils.batching import BatchGenerator

    if str(training_args.batching_strategy) != "normal":
        yield from made
        return
    batching = SimpleNamespace(cutoff_len=training_args.cutoff_len, _warned_truncation=True)
    for row, one in made:
        for kept in BatchGenerator._drop_unsupervised(batching, [one]):
            yield row, kept


def _cut(one: Mapping[str, Any], training_args: Any) -> dict[str, Any]:
    """A sample as it stands in a batch, alone."""
    from llamafactory.v1.core.utils.collation import pad_and_truncate

    cut = pad_and_truncate([dict(one)], training_args.cutoff_len)[0]
    return {key: cut[key].tolist() for key in ("input_ids", "labels", "loss_weights")}


def batches(made: Made, training_args: Any, renderer: Any, count: int) -> Iterator[dict[str, Any]]:
    """The first micro batches of the samples in order; a sampler would draw them at random."""
    from llamafactory.v1.core.utils.batching import default_collate_fn
    from llamafactory.v1.plugins.trainer_plugins.batching import BatchingPlugin
    from llamafactory.v1.utils.objects import StatefulBuffer

    buffer = StatefulBuffer()
    buffer.put([{key: value for key, value in one.items() if not isinstance(value, str)} for _, one in made])
    rows, strategy = [row for row, _ in made], str(training_args.batching_strategy)
    info = {
        "micro_batch_size": training_args.micro_batch_size,
        "num_micro_batch": 1,
        "cutoff_len": training_args.cutoff_len,
    }
    for _ in range(count):
        before = len(buffer)
        if strategy == "normal":
            found = default_collate_fn(buffer, info, renderer)
        else:
            found = BatchingPlugin(strategy).generate_batch(buffer, info)
        if not found:
            return
        taken = before - len(buffer)
        yield exchange.batch_record(rows[:taken], {key: value for key, value in found[0].items() if value is not None})
        rows = rows[taken:]


def configuration(request: Mapping[str, Any], work: Path) -> dict[str, Any]:
    """The arguments of `llamafactory-cli sft`: the user's file, the request's keys, and what this machine needs."""
    import yaml
    from omegaconf import OmegaConf

    file = request.get("config_file")
    given = OmegaConf.to_container(OmegaConf.load(file)) if file else {}
    assert isinstance(given, dict)
    folder = exchange.tokenizer_folder(request, work)
    exchange.put_config(folder)
    data: dict[str, Any] = {}
    if exchange.brings_rows(request):
        path = exchange.data_file(request, work)
        entry = {"path": str(path), "source": "local", **(request.get("dataset") or {})}
        listed = work / "dataset_info.yaml"
        listed.write_text(yaml.safe_dump({"rows": entry}), encoding="utf-8")
        data = {"train_dataset": str(listed)}
    return {
        **given,
        **request.get("config", {}),
        "model": str(folder),
        **data,
        "output_dir": str(work / "out"),
        "bf16": False,
    }


if __name__ == "__main__":
    exchange.quiet_environment(DISABLE_VERSION_CHECK="1", LLAMAFACTORY_VERBOSITY="ERROR", USE_V1="1")
    exchange.serve("llamafactory-v1", prepare, ("llamafactory", "transformers", "datasets", "tokenizers", "torch"))
