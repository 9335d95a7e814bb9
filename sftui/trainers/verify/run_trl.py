"""TRL's own dataset preparation and collator: `SFTTrainer(...)`, then its train_dataset and data_collator.

Run with the python of an environment that has `trl`; see `exchange` for requests and results.
`config` holds SFTConfig keys. Rows are told apart by an extra column, which TRL carries through
every step but packing; packs are therefore recorded as packs, in order, without row numbers.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from exchange import (
    ROW,
    batch_record,
    data_file,
    quiet_environment,
    row_record,
    serve,
    tiny_model,
    tokenizer_folder,
)

COLLATED = ("input_ids", "labels", "seq_lengths")


def prepare(request: Mapping[str, Any], work: Path) -> Iterator[dict[str, Any]]:
    from datasets import Dataset, load_dataset
    from transformers import AutoTokenizer
    from trl import SFTConfig, SFTTrainer

    folder = tokenizer_folder(request, work)
    config = {**from_file(request), **request.get("config", {})}
    tokenizer = AutoTokenizer.from_pretrained(folder)
    if request.get("loader") == "list":
        dataset = Dataset.from_list(request["rows"])
    else:
        dataset = load_dataset("json", data_files=str(data_file(request, work)), split="train")
    count = len(dataset)
    yield {"kind": "head", "rows_in": count}
    dataset = dataset.add_column(ROW, list(range(count)))
    warnings = Warnings()
    logging.getLogger("trl").addHandler(warnings)
    trainer = SFTTrainer(
        model=tiny_model(len(tokenizer)), processing_class=tokenizer, train_dataset=dataset,
        args=SFTConfig(**{
            "output_dir": str(work / "out"), "report_to": "none", "bf16": False, "use_cpu": True, **config,
        }),
    )
    done = trainer.train_dataset
    numbered = ROW in done.column_names
    yield {"kind": "head", "kept": len(done), "columns": done.column_names, "warnings": warnings.texts}
    for record in done:
        if numbered:
            yield row_record(record[ROW], record["input_ids"], record["labels"])
        else:
            yield {**row_record(None, record["input_ids"], record["labels"]), "kind": "pack",
                   **({"seq_lengths": record["seq_lengths"]} if "seq_lengths" in record else {})}
    batch = request.get("batch") or {}
    size, keep = batch.get("size", 4), [c for c in COLLATED if c in done.column_names]
    for start in range(0, min(len(done), size * batch.get("count", 0)), size):
        chosen = range(start, min(start + size, len(done)))
        rows = [done[i][ROW] if numbered else None for i in chosen]
        yield batch_record(rows, trainer.data_collator([{k: done[i][k] for k in keep} for i in chosen]))


def from_file(request: Mapping[str, Any]) -> dict[str, Any]:
    """The SFTConfig keys of a config file, as `trl sft --config FILE` parses them."""
    if not request.get("config_file"):
        return {}
    import dataclasses

    import yaml
    from trl import SFTConfig

    known = {f.name for f in dataclasses.fields(SFTConfig)}
    return {k: v for k, v in yaml.safe_load(Path(request["config_file"]).read_text()).items() if k in known}


class Warnings(logging.Handler):
    """What TRL warns of during one request."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []
        try:  # warnings are shown once a process; each request shows its own
            from accelerate.logging import MultiProcessAdapter

            MultiProcessAdapter.warning_once.cache_clear()
        except (ImportError, AttributeError):
            pass

    def emit(self, record: logging.LogRecord) -> None:
        if record.getMessage() not in self.texts:
            self.texts.append(record.getMessage())


def versions() -> dict[str, str]:
    from importlib.metadata import version

    return {name: version(name) for name in ("trl", "transformers", "datasets", "tokenizers", "torch")}


if __name__ == "__main__":
    quiet_environment()
    import datasets

    datasets.disable_caching()
    serve("trl", prepare, versions)
