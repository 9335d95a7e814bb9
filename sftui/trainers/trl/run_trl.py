"""TRL's own dataset preparation and collator: `SFTTrainer(...)`, then its train_dataset and data_collator.

Run with the python of an environment that has `trl`; see `exchange` for requests and results. `objective` in a request
(dpo, kto, reward, orpo, cpo) asks for that trainer's own preparation, which needs no model.
`config` holds the keys of its config. Rows are told apart by an extra column, which TRL carries through
every step but packing; packs are therefore recorded as packs, in order, without row numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from types import MethodType, SimpleNamespace
from typing import Any

import exchange

COLLATED = ("input_ids", "labels", "seq_lengths")


def prepare(request: Mapping[str, Any], work: Path) -> Iterator[dict[str, Any]]:
    from transformers import AutoTokenizer
    from trl import SFTTrainer

    folder = exchange.tokenizer_folder(request, work)
    exchange.enter_folder(request)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    arguments, dataset = by_config(request, work) if request.get("config_file") else by_keys(request, work)
    yield {"kind": "head", "rows_in": len(dataset)}
    warnings = exchange.Warnings()
    tell_warnings_again()
    warnings.attach("trl")
    if "objective" in request:
        build = texts if (objective := request["objective"]) in ("orpo", "cpo") else sequences
        done, examples, collate = build(tokenizer, exchange.numbered(dataset), arguments, objective)
        warnings.detach()
        yield {"kind": "head", "kept": len(done), "warnings": warnings.texts}
        for record in done:
            for ids, labels in examples(record):
                yield exchange.row_record(record[exchange.ROW], ids, labels)
        for part in exchange.windows(len(done), request.get("batch") or {}):
            yield exchange.batch_record([done[i][exchange.ROW] for i in part], collate([dict(done[i]) for i in part]))
        return
    trainer = SFTTrainer(
        model=exchange.tiny_model(len(tokenizer)),
        processing_class=tokenizer,
        train_dataset=exchange.numbered(dataset),
        args=arguments,
    )
    warnings.detach()
    done = trainer.train_dataset
    known = exchange.ROW in done.column_names
    yield {"kind": "head", "kept": len(done), "columns": done.column_names, "warnings": warnings.texts}
    for record in done:
        if known:
            yield exchange.row_record(record[exchange.ROW], record["input_ids"], record["labels"])
        else:
            yield {
                **exchange.row_record(None, record["input_ids"], record["labels"]),
                "kind": "pack",
                **({"seq_lengths": record["seq_lengths"]} if "seq_lengths" in record else {}),
            }
    keep = [c for c in COLLATED if c in done.column_names]
    for part in exchange.windows(len(done), request.get("batch") or {}):
        rows = [done[i][exchange.ROW] if known else None for i in part]
        yield exchange.batch_record(rows, trainer.data_collator([{k: done[i][k] for k in keep} for i in part]))


Prepared = tuple[Any, Callable[[Mapping[str, Any]], Iterator[tuple[list[int], list[int]]]], Callable[[Any], Any]]
"""Rows, what reaches the loss of one (ids and labels), and the collator."""


def sequences(tokenizer: Any, dataset: Any, arguments: Any, objective: str) -> Prepared:
    """DPO, KTO and reward models: each answer behind its prompt, cut as the collator does; or each side whole, labelled
    where transformers reads the score."""
    module = import_module(f"trl.trainer.{objective}_trainer")
    kind = "Reward" if objective == "reward" else objective.upper()
    weights = {name: getattr(arguments, name, 1) for name in ("desirable_weight", "undesirable_weight")}
    estimates = getattr(arguments, "loss_type", "") != "apo_zero_unpaired"
    me = SimpleNamespace(_tokenizer=tokenizer, calculate_KL=estimates, **weights)
    done = getattr(module, f"{kind}Trainer")._prepare_dataset(me, dataset, tokenizer, arguments, "train")
    token = getattr(arguments, "pad_token", None) or tokenizer.pad_token or tokenizer.eos_token
    pad, most, mode = (
        tokenizer.convert_tokens_to_ids(token),
        arguments.max_length,
        getattr(arguments, "truncation_mode", ""),
    )
    multiple = arguments.pad_to_multiple_of if isinstance(arguments.pad_to_multiple_of, int) else None
    cut = slice(most and -most, None) if mode == "keep_end" else slice(None, most)

    def examples(record: Mapping[str, Any]) -> Iterator[tuple[list[int], list[int]]]:
        for answer in (record[name] for name in ("chosen_ids", "rejected_ids", "completion_ids") if name in record):
            prompt = record.get("prompt_ids")
            if prompt is None:
                yield answer, exchange.scored(answer, pad)
            else:
                yield (prompt + answer)[cut], ([exchange.IGNORED] * len(prompt) + answer)[cut]

    if objective == "kto":
        own = module.DataCollatorForUnpairedPreference(pad, most, multiple)
    else:
        own = module.DataCollatorForPreference(pad, *([most, mode] if objective == "dpo" else []), multiple)
    return done, examples, lambda rows: labelled(own(rows))


def texts(tokenizer: Any, dataset: Any, arguments: Any, objective: str) -> Prepared:
    """ORPO and CPO: rows one by one, as texts."""
    from trl.data_utils import maybe_apply_chat_template, maybe_extract_prompt
    from trl.experimental.utils import DPODataCollatorWithPadding

    trainer = getattr(import_module(f"trl.experimental.{objective}"), f"{objective.upper()}Trainer")
    me = SimpleNamespace(processing_class=tokenizer, is_encoder_decoder=False, max_length=arguments.max_length or 512)
    me.build_tokenized_answer = MethodType(trainer.build_tokenized_answer, me)
    own = {"processing_class": tokenizer}
    written = dataset.map(maybe_extract_prompt).map(maybe_apply_chat_template, fn_kwargs=own)

    def examples(record: Mapping[str, Any]) -> Iterator[tuple[list[int], list[int]]]:
        for side in ("chosen", "rejected"):
            yield record[f"{side}_input_ids"], record[f"{side}_labels"]

    def collate(rows: Any) -> Any:
        batch = DPODataCollatorWithPadding(pad_token_id=tokenizer.pad_token_id)(rows)
        both = trainer.concatenated_inputs(batch, padding_value=tokenizer.pad_token_id)
        return {name: both[f"concatenated_{name}"] for name in ("input_ids", "attention_mask", "labels")}

    return written.map(MethodType(trainer.tokenize_row, me)), examples, collate


def labelled(batch: Mapping[str, Any]) -> dict[str, Any]:
    """A batch with its completion masks as labels."""
    made = dict(batch)
    for begin in ("", "KL_"):
        if f"{begin}completion_mask" in made:
            mask = made.pop(f"{begin}completion_mask")
            made[f"{begin}labels"] = made[f"{begin}input_ids"].where(mask.bool(), exchange.IGNORED)
    return made


def config_of(request: Mapping[str, Any]) -> Any:
    """The class of a request's config."""
    objective = request.get("objective", "sft")
    name = "RewardConfig" if objective == "reward" else f"{objective.upper()}Config"
    home = f"trl.experimental.{objective}" if objective in ("orpo", "cpo") else "trl"
    return getattr(import_module(home), name)


def by_keys(request: Mapping[str, Any], work: Path) -> tuple[Any, Any]:
    """The config and the dataset of a request without a config file."""
    return config_of(request)(**{**here(work), **request.get("config", {})}), own_rows(request, work)


def by_config(request: Mapping[str, Any], work: Path) -> tuple[Any, Any]:
    """The same from a config file, parsed and loaded as trl/scripts/sft.py does it."""
    import yaml
    from datasets import load_dataset
    from trl import DatasetMixtureConfig, ModelConfig, ScriptArguments, TrlParser, get_dataset

    path = work / "config.yaml"
    path.write_text(
        yaml.safe_dump({**exchange.file_keys(request), **here(work), **request.get("config", {})}), encoding="utf-8"
    )
    parser = TrlParser((ScriptArguments, config_of(request), ModelConfig, DatasetMixtureConfig))
    script, arguments, _, mixture = parser.parse_args_and_config(["--config", str(path)], fail_with_unknown_args=True)
    arguments.model_init_kwargs = None
    if exchange.brings_rows(request):
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
    return load_dataset("json", data_files=str(exchange.data_file(request, work)), split="train")


def tell_warnings_again() -> None:
    """Warnings are shown once a process; each request shows its own."""
    try:
        from accelerate.logging import MultiProcessAdapter

        MultiProcessAdapter.warning_once.cache_clear()
    except (ImportError, AttributeError):
        pass


if __name__ == "__main__":
    exchange.quiet_environment()
    exchange.serve("trl", prepare, ("trl", "transformers", "datasets", "tokenizers", "torch"))
