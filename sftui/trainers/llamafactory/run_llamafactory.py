"""LLaMA-Factory's own argument parser, tokenizer loading, `get_dataset` and collator, as `run_sft` and `run_pt` call
them.

Run with the python of an environment that has `llamafactory`; see `exchange` for requests and results. `config` holds
keys of its YAML, `dataset` the entry of dataset_info.json without file_name. Rows are told apart by an extra column of
the data (see `exchange.carry_rows`); packs are recorded in order without row numbers, also where each holds one row.
"""

from __future__ import annotations

import copy
import importlib.machinery
import json
import sys
import types
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import exchange

OPTIONAL = ("attention_mask", "position_ids")
SIDES = ("chosen", "rejected")


def prepare(request: Mapping[str, Any], work: Path) -> Iterator[dict[str, Any]]:
    from llamafactory.data import get_dataset, get_template_and_fix_tokenizer
    from llamafactory.data.template import TEMPLATES
    from llamafactory.hparams import get_train_args
    from llamafactory.model import load_tokenizer

    untouched = copy.deepcopy(TEMPLATES)  # get_template_and_fix_tokenizer changes the registered template
    yield {"kind": "head", "rows_in": len(exchange.read_rows(request)) if exchange.brings_rows(request) else None}
    exchange.enter_folder(request)
    model_args, data_args, training_args, finetuning_args, _ = get_train_args(configuration(request, work))
    module = load_tokenizer(model_args)
    tokenizer = module["tokenizer"]
    try:
        template = get_template_and_fix_tokenizer(tokenizer, data_args)
        stage = "rm" if finetuning_args.stage == "dpo" else finetuning_args.stage  # as run_dpo says it
        done = get_dataset(template, model_args, data_args, training_args, stage=stage, **module)["train_dataset"]
    finally:
        TEMPLATES.clear()
        TEMPLATES.update(untouched)
    yield {
        "kind": "head",
        "kept": len(done),
        "columns": done.column_names,
        "eos_token": tokenizer.eos_token,
        "pad_token": tokenizer.pad_token,
    }
    collator = collator_of(finetuning_args.stage, template, module, model_args, data_args)
    for record in done:
        if stage == "kto":
            more = {name: record[name] for name in ("kl_input_ids", "kl_labels", "kto_tags")}
            yield exchange.row_record(record.get(exchange.ROW), record["input_ids"], record["labels"], **more)
            continue
        if stage == "rm":
            for side in SIDES:
                ids, labels = record[f"{side}_input_ids"], record[f"{side}_labels"]
                scored = [exchange.IGNORED] * (len(ids) - 1) + ids[-1:]  # where PairwiseTrainer reads the score
                yield exchange.row_record(
                    record.get(exchange.ROW), ids, scored if finetuning_args.stage == "rm" else labels
                )
            continue
        if "labels" not in record:  # stage pt leaves them to its collator
            record = {**record, "labels": collator([{"input_ids": record["input_ids"]}])["labels"][0]}
        more = {name: record[name] for name in OPTIONAL if name in done.column_names}
        row = None if data_args.packing else record.get(exchange.ROW)
        made = exchange.row_record(row, record["input_ids"], record["labels"], **more)
        yield made if row is not None else {**made, "kind": "pack"}
    yield from batches(request.get("batch") or {}, done, collator)


def configuration(request: Mapping[str, Any], work: Path) -> dict[str, Any]:
    """The arguments of `llamafactory-cli train`: what this machine needs, the user's file, the request's keys."""
    given = exchange.file_keys(request)
    folder = exchange.tokenizer_folder(request, work)
    exchange.put_config(folder)
    dataset = {}
    if exchange.brings_rows(request):
        path = exchange.data_file(request, work, numbered=True)
        entry = {"file_name": path.name, **(request.get("dataset") or {})}
        (work / "dataset_info.json").write_text(json.dumps({"rows": entry}))
        dataset = {"dataset": "rows", "dataset_dir": str(work)}
    return {
        "stage": "sft",
        "do_train": True,
        "finetuning_type": "full",
        "overwrite_cache": True,
        **given,
        **request.get("config", {}),
        "model_name_or_path": str(folder),
        **dataset,
        "output_dir": str(work / "out"),
        "report_to": "none",
        "use_cpu": True,
        "bf16": False,
        "fp16": False,
        "preprocessing_num_workers": None,
    }


def collator_of(stage: str, template: Any, module: Mapping[str, Any], model_args: Any, data_args: Any) -> Any:
    """The collator of a stage, built as `run_sft` and its likes build it for training."""
    import torch
    from llamafactory.data import collator
    from llamafactory.extras.constants import IGNORE_INDEX
    from transformers import DataCollatorForLanguageModeling

    if stage == "pt":
        return DataCollatorForLanguageModeling(tokenizer=module["tokenizer"], mlm=False)
    pad = IGNORE_INDEX if data_args.ignore_pad_token_for_loss else module["tokenizer"].pad_token_id
    if stage in ("dpo", "rm", "kto"):
        kind = collator.KTODataCollatorWithPadding if stage == "kto" else collator.PairwiseDataCollatorWithPadding
        own = {} if stage == "rm" else {"label_pad_token_id": pad}
        made = kind(template=template, model=None, pad_to_multiple_of=8, **own, **module)
        return made if stage != "rm" else lambda rows: {k: v for k, v in made(rows).items() if k != "labels"}  # unused
    return collator.SFTDataCollatorWith4DAttentionMask(
        template=template,
        model=None,
        pad_to_multiple_of=8,
        label_pad_token_id=pad,
        block_diag_attn=model_args.block_diag_attn,
        neat_packing=data_args.neat_packing,
        attn_implementation="flash_attention_2" if model_args.flash_attn == "fa2" else "sdpa",
        compute_dtype=model_args.compute_dtype or torch.float32,
        **module,
    )


def batches(wanted: Mapping[str, int], dataset: Any, collator: Any) -> Iterator[dict[str, Any]]:
    """Rows in order through the collator."""
    for part in exchange.windows(len(dataset), wanted):
        chosen = [dict(dataset[i]) for i in part]
        rows = [feature.pop(exchange.ROW, None) for feature in chosen]
        yield exchange.batch_record(rows, collator(chosen))


def setup() -> None:
    """Number rows, and stand in for torchaudio: it is only for sound, and rarely built for the torch at hand."""
    try:
        import torchaudio  # noqa: F401
    except (ImportError, OSError):
        stub = types.ModuleType("torchaudio")
        stub.__spec__ = importlib.machinery.ModuleSpec("torchaudio", None)
        sys.modules["torchaudio"] = stub
    exchange.carry_rows()


if __name__ == "__main__":
    exchange.quiet_environment(DISABLE_VERSION_CHECK="1", LLAMAFACTORY_VERBOSITY="ERROR", USE_V1="0")
    exchange.serve("llamafactory", prepare, ("llamafactory", "transformers", "datasets", "tokenizers", "torch"), setup)
