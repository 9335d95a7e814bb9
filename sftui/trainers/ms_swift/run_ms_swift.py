"""ms-swift's own arguments, `load_dataset`, template and collator, as `swift sft` and `swift pt` put them together.

Run with the python of an environment that has `ms-swift`; see `exchange` for requests and results. `config` holds keys
of its YAML (or of a command line), `command` the word behind `swift` (`sft` where none is given, `rlhf` where they name
an rlhf_type): then each row is recorded twice, its chosen side and its rejected one. The model's folder
gets the name that the config has for it, since ms-swift goes by it; where it brings no config.json it gets one of an
architecture that ms-swift does not know. Rows are told apart by an extra column of the data; packs are recorded in
order without row numbers. `loss_weights` are 1 and 0 where the loss scale is binary, of which ms-swift keeps no list.
Nothing of the model is loaded, and flash attention, which packing asks for, is only named.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import exchange


def prepare(request: Mapping[str, Any], work: Path) -> Iterator[dict[str, Any]]:
    yield {"kind": "head", "rows_in": len(exchange.read_rows(request)) if exchange.brings_rows(request) else None}
    exchange.enter_folder(request)
    pipeline = pipeline_of(request, work)
    template, args = pipeline.template, pipeline.args
    undo = _numbering()
    try:
        train, _ = pipeline._encode_dataset(*pipeline._get_dataset())
    finally:
        undo()
    if train is None:
        raise TypeError("'NoneType' object is not iterable")
    rows = list(train[exchange.ROW]) if exchange.ROW in train.column_names else [None] * len(train)
    split = args.truncation_strategy == "split"
    made = [train[i] if split else template.encode(dict(train[i]), return_length=True) for i in range(len(train))]
    yield {"kind": "head", "kept": len(made), "columns": train.column_names, "template": args.template}
    if args.packing:
        yield from _packs(pipeline, train, template)
        return
    for row, one in zip(rows, made):
        for side in sides_of(one):
            if "labels" not in side:
                ids = side["input_ids"]
                yield exchange.row_record(row, ids, exchange.scored(ids, pipeline.processor.pad_token_id))
                continue
            yield exchange.row_record(row, side["input_ids"], side["labels"], loss_weights=weights_of(side))
    for part in exchange.windows(len(made), request.get("batch") or {}):
        yield exchange.batch_record(
            [rows[i] for i in part], weighed(template.data_collator([dict(made[i]) for i in part]))
        )


def pipeline_of(request: Mapping[str, Any], work: Path) -> Any:
    """The pipeline of the command with its arguments and its template, without a model."""
    from swift.pipelines.train import rlhf
    from swift.pipelines.train.pretrain import SwiftPretrain
    from swift.pipelines.train.rlhf import SwiftRLHF
    from swift.pipelines.train.sft import SwiftSft
    from swift.template import Template
    from swift.utils import seed_everything

    Template.placeholder_tokens.clear()  # one list for all templates of a process
    words = arguments(request, work)
    kind = SwiftPretrain if request.get("command", "sft") == "pt" else SwiftSft
    kind = SwiftRLHF if "rlhf_type" in {**exchange.file_keys(request), **request.get("config", {})} else kind
    pipeline = kind.__new__(kind)
    pipeline.train_msg = {}
    pipeline.args = pipeline._parse_args(words)
    seed_everything(pipeline.args.seed)
    _, pipeline.processor = pipeline.args.get_model_processor(load_model=False)
    pipeline._prepare_template()
    pipeline._save_val_dataset = lambda *_: None
    pairing = rlhf.prepare_kto_dataset

    def unpaired(args: Any, train: Any, val: Any) -> Any:
        """What KTO stops at, without the answers that it draws as KL partners: they take rows with them."""
        pairing(args, train, val)
        return train, val

    if pairing.__name__ != "unpaired":  # one process may be asked several times
        rlhf.prepare_kto_dataset = unpaired
    return pipeline


def arguments(request: Mapping[str, Any], work: Path) -> list[str]:
    """The words behind `swift sft`: the user's file as `swift` makes words of it, the request's keys over it."""
    import yaml
    from swift.cli.main import parse_yaml_args
    from swift.model.model_meta import get_model_name

    given = {**exchange.file_keys(request), **request.get("config", {})}
    folder = exchange.tokenizer_folder(request, work)
    name = get_model_name(str(given.get("model") or request["tokenizer"])) or folder.name
    (work / "models").mkdir()
    folder = folder.rename(work / "models" / name)
    if not (folder / "config.json").exists():
        exchange.put_config(folder, "NoModelForCausalLM")
    if exchange.brings_rows(request):
        given = {name: value for name, value in given.items() if name not in ("val_dataset", "dataset")}
        given["dataset"] = [str(exchange.data_file(request, work))]
    here = {"output_dir": str(work / "out"), "report_to": "none", "add_version": False, "use_cpu": True}
    precision = {"torch_dtype": "float32", "fp16": False, "bf16": False}
    packs = {"attn_impl": "flash_attn"} if given.get("packing") or given.get("padding_free") else {}
    path = work / "config.yaml"
    # without which ms-swift 4.6 stops (TypeError): sftui says so
    steps = {"gradient_accumulation_steps": 16} if given.get("rlhf_type") == "kto" else {}
    whole = {**steps, **given, "model": str(folder), **here, **precision, **packs, "load_from_cache_file": False}
    path.write_text(yaml.safe_dump(whole, allow_unicode=True, sort_keys=False), encoding="utf-8")
    words = [str(path)]
    parse_yaml_args(words)
    return words


def _numbering() -> Any:
    """Let the number of a row through ms-swift's own preparation; the result undoes it."""
    from swift.dataset.preprocessor import RowPreprocessor
    from swift.dataset.utils import EncodePreprocessor

    keys, encode = RowPreprocessor.standard_keys, EncodePreprocessor.preprocess
    RowPreprocessor.standard_keys = [*keys, exchange.ROW]

    def preprocess(self: Any, row: Any) -> Any:
        made = encode(self, row)
        for one in made if isinstance(made, list) else [made]:
            if one is not None and exchange.ROW in row:
                one[exchange.ROW] = row[exchange.ROW]
        return made

    EncodePreprocessor.preprocess = preprocess

    def undo() -> None:
        RowPreprocessor.standard_keys, EncodePreprocessor.preprocess = keys, encode

    return undo


def _packs(pipeline: Any, train: Any, template: Any) -> Iterator[dict[str, Any]]:
    """Every pack in order, as the collator makes one row of it."""
    packed = pipeline._post_process_datasets([train])[0]
    for number in range(len(packed)):
        rows = [dict(one) for one in packed[number]]
        lengths = [len(one["input_ids"]) for one in rows]
        batch = {name: value[0] for name, value in template.data_collator([rows]).items() if hasattr(value, "tolist")}
        weights = weights_of({name: value.tolist() for name, value in batch.items()})
        made = exchange.row_record(None, batch["input_ids"], batch["labels"], loss_weights=weights, seq_lengths=lengths)
        yield {**made, "kind": "pack", "position_ids": batch["position_ids"].tolist()}


def sides_of(one: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """A row, or the sides of a preference; of KTO its answer alone."""
    if "chosen_input_ids" not in one:
        return [one]
    return [
        {name.removeprefix(prefix): value for name, value in one.items() if name.startswith(prefix)}
        for prefix in ("chosen_", "rejected_")
        if "label" not in one or prefix == "chosen_"
    ]


def weights_of(one: Mapping[str, Any]) -> list[float]:
    """The loss scale of a row; of a binary one 1 where it is trained."""
    scale = one.get("loss_scale")
    return [float(label != -100) for label in one["labels"]] if scale is None else [float(weight) for weight in scale]


def weighed(batch: Mapping[str, Any]) -> dict[str, Any]:
    """A batch with its weights under the name that all runners have."""
    batch = {name.removeprefix("completion_"): value for name, value in batch.items() if not name.startswith("KL_")}
    made = {name: value for name, value in batch.items() if name not in ("loss_scale", "label")}
    scale = batch.get("loss_scale")
    if "labels" not in batch:
        return made
    return {**made, "loss_weights": (batch["labels"] != -100).float() if scale is None else scale}


def setup() -> None:
    """Leave out what costs seconds and decides no row: hashes of the template for caches that are not kept, and a
    process of its own for one worker. Rows are numbered as they are loaded."""
    import logging

    import datasets
    from datasets import arrow_dataset, fingerprint

    logging.getLogger("swift").setLevel(logging.ERROR)
    for module in (arrow_dataset, fingerprint):
        module.update_fingerprint = lambda *_: fingerprint.generate_random_fingerprint()
    mapped, load = datasets.Dataset.map, datasets.load_dataset

    def here(self: Any, *args: Any, **options: Any) -> Any:
        return mapped(self, *args, **{**options, "num_proc": None})

    def loaded(*args: Any, **options: Any) -> Any:
        found = load(*args, **options)
        return exchange.numbered(found) if isinstance(found, datasets.Dataset) else found

    datasets.Dataset.map, datasets.load_dataset = here, loaded


if __name__ == "__main__":
    exchange.quiet_environment(LOG_LEVEL="ERROR", MODELSCOPE_OFFLINE="1")
    import tempfile

    with tempfile.TemporaryDirectory(prefix="sftui-modelscope-") as cache:
        os.environ["MODELSCOPE_CACHE"] = cache
        sys.argv[1:] = []
        exchange.serve("ms-swift", prepare, ("ms-swift", "transformers", "datasets", "tokenizers", "torch"), setup)
