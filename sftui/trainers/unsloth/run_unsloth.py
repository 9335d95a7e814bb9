"""Unsloth's own dataset preparation and response masking, on TRL's SFTTrainer, without unsloth and without a GPU.

Run with the python of an environment that has `unsloth_zoo`; see `exchange` for requests and
results. `unsloth` itself needs a GPU to import; what it does to data is in `unsloth_zoo`:
its `sft_prepare_dataset` takes the place of SFTTrainer's method, as unsloth's compiled trainer
does it, and `train_on_responses_only(trainer, …)` follows. `config` holds SFTConfig keys.
`dataset` holds the steps of the user's own script:

    standardize     True: `standardize_data_formats` first (from/value → role/content)
    text_from       a column of messages that the tokenizer's template renders to a `text` column
    formatting      True: the same as a `formatting_func` instead
    responses       the arguments of `train_on_responses_only`; {} finds the markers itself; absent: not called

With an `objective` TRL's own trainer prepares, as `run_trl` has it: of text Unsloth changes nothing there.
Rows are told apart by an extra column (see `exchange.carry_rows`). A dataset that has no labels
column when it reaches the collator gets its labels from the collator, row by row.
"""

from __future__ import annotations

import copy
import inspect
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import exchange

FALLBACK = "_unsloth_assistant_mask_fallback"
COLLATED = ("input_ids", "attention_mask", "labels", "seq_lengths", "completion_mask", "assistant_masks")


def prepare(request: Mapping[str, Any], work: Path) -> Iterator[dict[str, Any]]:
    if "objective" in request:
        yield from by_trl(request, work)
        return
    from datasets import load_dataset
    from transformers import AutoTokenizer
    from trl import SFTConfig, SFTTrainer
    from unsloth_zoo import dataset_utils

    tokenizer = AutoTokenizer.from_pretrained(exchange.tokenizer_folder(request, work))
    tokenizer.padding_side = "right"  # as unsloth's compiled trainer sets it (unsloth, models/rl.py)
    dataset = load_dataset("json", data_files=str(exchange.data_file(request, work, numbered=True)), split="train")
    yield {"kind": "head", "rows_in": len(dataset)}
    script = request.get("dataset") or {}
    dataset, formatting = by_script(dataset, tokenizer, script)
    setattr(SFTTrainer, FALLBACK, False)
    SFTTrainer._prepare_dataset = dataset_utils.sft_prepare_dataset
    trainer = SFTTrainer(
        model=exchange.tiny_model(len(tokenizer)),
        processing_class=tokenizer,
        train_dataset=dataset,
        formatting_func=formatting,
        args=SFTConfig(
            **{
                "output_dir": str(work / "out"),
                "report_to": "none",
                "bf16": False,
                "use_cpu": True,
                "dataset_num_proc": 1,
                **request.get("config", {}),
            }
        ),
    )
    parts: Any = None
    if script.get("responses") is not None:
        if not script["responses"]:
            parts = list(dataset_utils.get_chat_template_parts(tokenizer))
        trainer = dataset_utils.train_on_responses_only(trainer, **{"num_proc": 1, **script["responses"]})
    done = trainer.train_dataset
    columns = [name for name in COLLATED if name in done.column_names]
    numbered = exchange.ROW in done.column_names
    yield {
        "kind": "head",
        "kept": len(done),
        "columns": done.column_names,
        "markers": parts,
        "collator": type(trainer.data_collator).__name__,
    }
    for record in done:
        feature = {name: record[name] for name in columns}
        alone = one_by_one(trainer.data_collator) if numbered else trainer.data_collator
        labels = feature["labels"] if numbered and "labels" in feature else collated_labels(alone, feature)
        made = exchange.row_record(
            record[exchange.ROW] if numbered else None,
            record["input_ids"],
            labels,
            **({"seq_lengths": record["seq_lengths"]} if "seq_lengths" in record else {}),
        )
        yield made if numbered else {**made, "kind": "pack"}
    yield from batches(request.get("batch") or {}, trainer, columns)


def by_trl(request: Mapping[str, Any], work: Path) -> Iterator[dict[str, Any]]:
    """As TRL's own trainer prepares, which carries the numbers of rows itself."""
    from datasets import Dataset

    sys.path.append(str(Path(__file__).parents[1] / "trl"))
    import run_trl

    carrying, Dataset.map = Dataset.map, PLAIN_MAP[0]
    try:
        yield from run_trl.prepare(request, work)
    finally:
        Dataset.map = carrying


PLAIN_MAP: list[Any] = []
"""`Dataset.map` as it is without `carry_rows`."""


def fall_back_to_markers() -> None:
    """Where TRL has no training template, mask by markers, as unsloth's compiled trainer has it.

    Source: unsloth 2026.10.9, models/rl_replacements.py, sft_trainer_assistant_mask_fallback. Not done
    here: unsloth first looks for a template that TRL knows and that renders the same text.
    """
    from trl.trainer import sft_trainer
    from unsloth_zoo.dataset_utils import sft_prepare_dataset

    if FALLBACK not in inspect.getsource(sft_prepare_dataset):
        return
    find, check = sft_trainer.get_training_chat_template, sft_trainer.is_chat_template_stop_token_trained

    def found(*args: Any, **kwargs: Any) -> Any:
        try:
            return find(*args, **kwargs)
        except ValueError:
            setattr(sft_trainer.SFTTrainer, FALLBACK, True)
            return None

    def checked(*args: Any, **kwargs: Any) -> Any:
        return getattr(sft_trainer.SFTTrainer, FALLBACK, False) or check(*args, **kwargs)

    sft_trainer.get_training_chat_template, sft_trainer.is_chat_template_stop_token_trained = found, checked


def without_gpu_modules() -> None:
    """Let 2026.8 import its check for a zero loss, which asks for a GPU and looks at labels only to warn."""
    try:
        import unsloth_zoo.training_utils  # noqa: F401
    except NotImplementedError:
        stub = types.ModuleType("unsloth_zoo.training_utils")
        stub.fix_zero_training_loss = lambda *args, **kwargs: None  # type: ignore[attr-defined]
        sys.modules["unsloth_zoo.training_utils"] = stub


def by_script(dataset: Any, tokenizer: Any, script: Mapping[str, Any]) -> tuple[Any, Callable[..., Any] | None]:
    """What the notebooks do before the trainer: standardize, and render messages to text."""
    from unsloth_zoo.dataset_utils import standardize_data_formats

    if script.get("standardize"):
        numbers = list(dataset[exchange.ROW])
        dataset = standardize_data_formats(exchange.bare(dataset)).add_column(exchange.ROW, numbers)
    column = script.get("text_from")

    def render(messages: Any) -> str:
        return str(tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=False))

    if not column:
        return dataset, None
    if script.get("formatting"):

        def formatting(examples: Mapping[str, Any]) -> list[str]:
            values = examples[column]
            several = bool(values) and isinstance(values[0], list)
            return [render(value) for value in (values if several else [values])]

        return dataset, formatting
    return dataset.map(lambda examples: {"text": [render(value) for value in examples[column]]}, batched=True), None


def one_by_one(collator: Any) -> Any:
    """The collator without padding_free: that masks where a document begins in a joined batch, not in the row."""
    if not getattr(collator, "padding_free", False):
        return collator
    alone = copy.copy(collator)
    alone.padding_free = False
    return alone


def collated_labels(collator: Any, feature: Mapping[str, Any]) -> list[int]:
    """The labels that the collator makes of one row alone, without padding."""
    labels: list[int] = collator([dict(feature)])["labels"][0].tolist()
    return labels[: len(feature["input_ids"])]


def batches(wanted: Mapping[str, int], trainer: Any, columns: list[str]) -> Iterator[dict[str, Any]]:
    dataset = trainer.train_dataset
    for part in exchange.windows(len(dataset), wanted):
        rows = [dataset[i].get(exchange.ROW) for i in part]
        yield exchange.batch_record(rows, trainer.data_collator([{k: dataset[i][k] for k in columns} for i in part]))


def setup() -> None:
    """Number rows, and bring into scope what the compiled trainer has in scope."""
    import trl.data_utils
    import unsloth_zoo.dataset_utils
    from datasets import Dataset

    PLAIN_MAP[:] = [Dataset.map]
    unsloth_zoo.dataset_utils.pack_dataset = trl.data_utils.pack_dataset
    without_gpu_modules()
    fall_back_to_markers()
    exchange.carry_rows()


if __name__ == "__main__":
    exchange.quiet_environment(UNSLOTH_ZOO_DISABLE_GPU_INIT="1", UNSLOTH_ALLOW_CPU="1")
    exchange.serve("unsloth", prepare, ("unsloth_zoo", "trl", "transformers", "datasets", "tokenizers", "torch"), setup)
