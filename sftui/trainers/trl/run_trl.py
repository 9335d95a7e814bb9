"""TRL's own dataset preparation and collator: `SFTTrainer(...)`, then its train_dataset and data_collator.

Run with the python of an environment that has `trl`; see `exchange` for requests and results.
`config` holds SFTConfig keys. Rows are told apart by an extra column, which TRL carries through
every step but packing; packs are therefore recorded as packs, in order, without row numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from exchange import (
    ROW,
    Warnings,
    batch_record,
    brings_rows,
    data_file,
    enter_folder,
    file_keys,
    numbered,
    quiet_environment,
    row_record,
    serve,
    tiny_model,
    tokenizer_folder,
    windows,
)

COLLATED = ("input_ids", "labels", "seq_lengths")


def prepare(request: Mapping[str, Any], work: Path) -> Iterator[dict[str, Any]]:
    from transformers import AutoTokenizer
    from trl import SFTTrainer

    folder = tokenizer_folder(request, work)
    enter_folder(request)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    arguments, dataset = by_config(request, work) if request.get("config_file") else by_keys(request, work)
    yield {"kind": "head", "rows_in": len(dataset)}
    warnings = Warnings()
    tell_warnings_again()
    warnings.attach("trl")
    trainer = SFTTrainer(
        model=tiny_model(len(tokenizer)), processing_class=tokenizer, train_dataset=numbered(dataset), args=arguments
    )
    warnings.detach()
    done = trainer.train_dataset
    known = ROW in done.column_names
    yield {"kind": "head", "kept": len(done), "columns": done.column_names, "warnings": warnings.texts}
    for record in done:
        if known:
            yield row_record(record[ROW], record["input_ids"], record["labels"])
        else:
            yield {
                **row_record(None, record["input_ids"], record["labels"]),
                "kind": "pack",
                **({"seq_lengths": record["seq_lengths"]} if "seq_lengths" in record else {}),
            }
    keep = [c for c in COLLATED if c in done.column_names]
    for part in windows(len(done), request.get("batch") or {}):
        rows = [done[i][ROW] if known else None for i in part]
        yield batch_record(rows, trainer.data_collator([{k: done[i][k] for k in keep} for i in part]))


def by_keys(request: Mapping[str, Any], work: Path) -> tuple[Any, Any]:
    """The SFTConfig and the dataset of a request without a config file."""
    from trl import SFTConfig

    return SFTConfig(**{**here(work), **request.get("config", {})}), own_rows(request, work)


def by_config(request: Mapping[str, Any], work: Path) -> tuple[Any, Any]:
    """The same from a config file, parsed and loaded as trl/scripts/sft.py does it."""
    import yaml
    from datasets import load_dataset
    from trl import DatasetMixtureConfig, ModelConfig, ScriptArguments, SFTConfig, TrlParser, get_dataset

    path = work / "config.yaml"
    path.write_text(yaml.safe_dump({**file_keys(request), **here(work), **request.get("config", {})}), encoding="utf-8")
    parser = TrlParser((ScriptArguments, SFTConfig, ModelConfig, DatasetMixtureConfig))
    script, arguments, _, mixture = parser.parse_args_and_config(["--config", str(path)], fail_with_unknown_args=True)
    arguments.model_init_kwargs = None
    if brings_rows(request):
        return arguments, own_rows(request, work)
    if mixture.datasets:
        return arguments, get_dataset(mixture)[script.dataset_train_split]
    return arguments, load_dataset(script.dataset_name, name=script.dataset_config)[script.dataset_train_split]


def here(work: Path) -> dict[str, Any]:
    """What keeps a run on this machine; none of it is about data."""
    return {"output_dir": str(work / "out"), "report_to": "none", "bf16": False, "use_cpu": True}


def own_rows(request: Mapping[str, Any], work: Path) -> Any:
    from datasets import Dataset, load_dataset

    if request.get("loader") == "list":
        return Dataset.from_list(request["rows"])
    return load_dataset("json", data_files=str(data_file(request, work)), split="train")


def tell_warnings_again() -> None:
    """Warnings are shown once a process; each request shows its own."""
    try:
        from accelerate.logging import MultiProcessAdapter

        MultiProcessAdapter.warning_once.cache_clear()
    except (ImportError, AttributeError):
        pass


if __name__ == "__main__":
    quiet_environment()
    serve("trl", prepare, ("trl", "transformers", "datasets", "tokenizers", "torch"))
