"""Axolotl's own config loading, dataset preparation and collator, as `axolotl preprocess` and `train` call them.

Run with the python of an environment that has `axolotl`; see `exchange` for requests and results. `config` holds
top-level keys of its YAML, `dataset` one entry of `datasets:` without its path. The tokenizer comes from `base_model`,
a folder with the tokenizer and a tiny Llama's config. Rows are told apart by an extra column of the data (see
`exchange.carry_rows`), so shuffling does no harm. Two things differ from a real run, neither touches data: maps run in
this process instead of spawned ones, and the prepared dataset is not saved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import exchange

ELSEWHERE = ("data_files", "split", "name", "revision", "trust_remote_code", "shards", "preprocess_shards")
"""Keys of a dataset entry that say where the rows are; of no use where the request brings them."""
OPTIONAL = ("attention_mask", "position_ids")


def prepare(request: Mapping[str, Any], work: Path) -> Iterator[dict[str, Any]]:
    import yaml
    from axolotl.cli.args import PreprocessCliArgs
    from axolotl.cli.config import load_cfg
    from axolotl.common.datasets import load_datasets
    from axolotl.loaders import load_tokenizer

    model_folder = exchange.tokenizer_folder(request, work)
    exchange.enter_folder(request)
    config = configuration(request, work, model_folder)
    yield {"kind": "head", "rows_in": len(exchange.read_rows(request)) if exchange.brings_rows(request) else None}
    path = work / "config.yml"
    path.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
    exchange.put_config(model_folder)
    warnings = exchange.Warnings()
    cfg = load_cfg(str(path), is_preprocess=True)
    cfg.is_preprocess, cfg.dataset_num_proc = True, None
    warnings.attach("axolotl")
    if cfg.rl:
        yield from preferences(cfg, warnings, request.get("batch") or {})
        return
    done = load_datasets(cfg=cfg, cli_args=PreprocessCliArgs(debug_num_examples=0)).train_dataset
    if cfg.reward_model:
        yield from scores(cfg, load_tokenizer(cfg), done, warnings, request.get("batch") or {})
        return
    warnings.detach()
    yield {"kind": "head", "kept": len(done), "columns": done.column_names, "warnings": warnings.texts}
    numbered = exchange.ROW in done.column_names
    for record in done:
        more = {name: record[name] for name in OPTIONAL if name in done.column_names}
        yield exchange.row_record(
            record[exchange.ROW] if numbered else None, record["input_ids"], record["labels"], **more
        )
    wanted = request.get("batch") or {}
    if wanted.get("count") and len(done):
        yield from batches(cfg, load_tokenizer(cfg), done, wanted)


def configuration(request: Mapping[str, Any], work: Path, model_folder: Path) -> dict[str, Any]:
    """The whole YAML: what a run on this machine needs, the user's file, then the request's keys."""
    named = ("tokenizer_config", "base_model_config")  # the tokenizer comes with the request
    given = {key: value for key, value in exchange.file_keys(request).items() if key not in named}
    entries = given.get("datasets") or [{}]
    if exchange.brings_rows(request):
        dataset = {"type": "chat_template", **entries[0], **(request.get("dataset") or {})}
        path = str(exchange.data_file(request, work, numbered=True))
        entries = [{**{k: v for k, v in dataset.items() if k not in ELSEWHERE}, "path": path, "ds_type": "json"}]
    batch = request.get("batch") or {}
    return {
        "gradient_accumulation_steps": 1,
        "num_epochs": 1,
        "learning_rate": 1e-4,
        "optimizer": "adamw_torch",
        **given,
        "val_set_size": 0.0,
        "bf16": False,
        "fp16": False,
        "tf32": False,
        "micro_batch_size": batch.get("size", given.get("micro_batch_size", 1) if given.get("rl") == "kto" else 1),
        **request.get("config", {}),
        "base_model": str(model_folder),
        "dataset_num_proc": 1,
        "datasets": entries,
        "dataset_prepared_path": str(work / "prepared"),
        "output_dir": str(work / "out"),
    }


def without_row_numbers(deduplicate: Callable[..., Any]) -> Callable[..., Any]:
    """Axolotl's exact deduplication, which compares whole rows, on rows without their numbers."""

    def deduplicated(*, dataset: Any, **others: Any) -> Any:
        if exchange.ROW not in dataset.column_names:
            return deduplicate(dataset=dataset, **others)
        plain = exchange.bare(dataset)
        first: dict[str, int] = {}
        for number, record in zip(dataset[exchange.ROW], plain):
            first.setdefault(str(record), number)
        kept, other = deduplicate(dataset=plain, **others)
        return kept.add_column(exchange.ROW, [first[str(record)] for record in kept]), other

    return deduplicated


def batches(cfg: Any, tokenizer: Any, dataset: Any, wanted: Mapping[str, int]) -> Iterator[dict[str, Any]]:
    """Batches of axolotl's own trainer: its sampler where it packs, else rows in order; its collator."""
    from axolotl.core.builders import HFCausalTrainerBuilder
    from torch.utils.data import SequentialSampler

    cfg.use_cpu = True
    builder = HFCausalTrainerBuilder(cfg, exchange.tiny_model(len(tokenizer)), tokenizer)
    builder.train_dataset = exchange.bare(dataset)
    trainer = builder.build(10)
    groups: list[list[list[int]]]
    if cfg.sample_packing:
        sampler = trainer._create_multipack_sampler(SequentialSampler(dataset), dataset)
        groups = [[[int(i) for i in bin_] for bin_ in batch] for batch in sampler][: wanted["count"]]
    else:
        groups = [[[i] for i in part] for part in exchange.windows(len(dataset), wanted)]
    keep = [name for name in ("input_ids", "labels", *OPTIONAL) if name in dataset.column_names]
    if cfg.sample_packing and trainer.args.sample_packing_drop_attention_mask and "attention_mask" in keep:
        keep.remove("attention_mask")  # as its _get_dataloader does
    for group in groups:
        bins = [[{k: dataset[i][k] for k in keep} for i in bin_] for bin_ in group]
        rows = [dataset[i].get(exchange.ROW) for bin_ in group for i in bin_]
        features = bins if cfg.sample_packing else [feature for bin_ in bins for feature in bin_]
        yield {**exchange.batch_record(rows, trainer.data_collator(features)), "bins": [len(bin_) for bin_ in group]}


def scores(
    cfg: Any, tokenizer: Any, dataset: Any, warnings: exchange.Warnings, wanted: Mapping[str, int]
) -> Iterator[dict[str, Any]]:
    """Rows and batches of axolotl's own reward trainer; each side is labelled where transformers reads its score."""
    from axolotl.core.builders import HFCausalTrainerBuilder

    cfg.use_cpu = True
    builder = HFCausalTrainerBuilder(cfg, exchange.tiny_model(len(tokenizer)), tokenizer)
    builder.train_dataset = dataset
    trainer = builder.build(10)
    warnings.detach()
    done, pad = trainer.train_dataset, tokenizer.pad_token_id
    yield {"kind": "head", "kept": len(done), "warnings": warnings.texts}
    for record in done:
        for ids in (record["chosen_ids"], record["rejected_ids"]):
            yield exchange.row_record(record[exchange.ROW], ids, exchange.scored(ids, pad))
    for part in exchange.windows(len(done), wanted):
        yield exchange.batch_record(
            [done[i][exchange.ROW] for i in part], trainer.data_collator([done[i] for i in part])
        )


SIDES = ("chosen_input_ids", "rejected_input_ids")


def preferences(cfg: Any, warnings: exchange.Warnings, wanted: Mapping[str, int]) -> Iterator[dict[str, Any]]:
    """Rows and batches of axolotl's own trainer of preferences, which prepares them once more by TRL; each row is what
    its collator makes of it alone."""
    from axolotl.cli.args import PreprocessCliArgs
    from axolotl.common.datasets import load_preference_datasets
    from axolotl.core.builders import HFRLTrainerBuilder
    from axolotl.loaders import load_tokenizer

    tokenizer = load_tokenizer(cfg)
    made = load_preference_datasets(cfg=cfg, cli_args=PreprocessCliArgs(debug_num_examples=0)).train_dataset
    cfg.use_cpu = True
    model = exchange.tiny_model(len(tokenizer))
    for name in ("dpo", "kto"):  # which load a reference model by the name of the model
        vars(import_module(f"trl.trainer.{name}_trainer"))["create_model_from_path"] = lambda *args, **options: model
    builder = HFRLTrainerBuilder(cfg, model, tokenizer)
    builder.train_dataset = made
    trainer = builder.build(10)
    warnings.detach()
    done = trainer.train_dataset
    yield {"kind": "head", "kept": len(done), "warnings": warnings.texts}

    def collated(rows: list[dict[str, Any]]) -> dict[str, Any]:
        batch = dict(trainer.data_collator(rows))
        if SIDES[0] in batch:  # ORPO and CPO put the sides together where they ask the model
            both = trainer.concatenated_inputs(batch, padding_value=tokenizer.pad_token_id)
            return {name: both[f"concatenated_{name}"] for name in ("input_ids", "attention_mask", "labels")}
        for begin in ("", "KL_"):
            mask = batch.pop(f"{begin}completion_mask", None)
            if mask is not None:
                batch[f"{begin}labels"] = batch[f"{begin}input_ids"].where(mask.bool(), exchange.IGNORED)
        return batch

    for record in done:
        batch = collated([record])
        for at, ids in enumerate(batch["input_ids"]):
            here = batch["attention_mask"][at].bool()
            yield exchange.row_record(record[exchange.ROW], ids[here], batch["labels"][at][here])
    for part in exchange.windows(len(done), wanted):
        yield exchange.batch_record([done[i][exchange.ROW] for i in part], collated([done[i] for i in part]))


def setup() -> None:
    """Number rows, keep maps in this process, and do not save what was prepared (it starts a manager process)."""
    exchange.carry_rows()
    import axolotl.utils.data.sft as sft

    sft.save_preprocessed_dataset = lambda *args, **kwargs: None
    sft.deduplicate_and_log_datasets = without_row_numbers(sft.deduplicate_and_log_datasets)
    import axolotl.utils.data.rl as rl

    rl.save_preprocessed_dataset = sft.save_preprocessed_dataset
    rl.deduplicate_and_log_datasets = without_row_numbers(rl.deduplicate_and_log_datasets)
    transform = rl._map_dataset

    def mapped(*args: Any, **options: Any) -> Any:
        removed = options.get("remove_columns")
        more = {"remove_columns": [name for name in removed if name != exchange.ROW]} if removed else {}
        return transform(*args, **{**options, **more})

    rl._map_dataset = mapped


if __name__ == "__main__":
    exchange.quiet_environment(
        AXOLOTL_DO_NOT_TRACK="1",
        AXOLOTL_IS_PREPROCESS="1",
        AXOLOTL_LOG_LEVEL="WARNING",
        LOG_LEVEL="ERROR",
        TRL_EXPERIMENTAL_SILENCE="1",
        ACCELERATE_USE_CPU="1",
    )
    exchange.serve("axolotl", prepare, ("axolotl", "transformers", "datasets", "tokenizers", "torch"), setup)
