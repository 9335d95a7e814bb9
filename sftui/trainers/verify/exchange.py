"""What a runner and its caller say to each other, and the plumbing that every runner needs.

A runner (`run_trl.py` …) is started with the python of a trainer's own environment, as a script, so
nothing here or there imports sftui. It reads requests from stdin, one JSON object a line:

    rows           the rows as a list, or
    data           {path, limit, columns}: a .json/.jsonl/.parquet file, read with `datasets.load_dataset`
                   (`columns`: new name → old name, the rest dropped; `limit`: first rows only)
    tokenizer      folder of the tokenizer, always given: a config's own model is never loaded
    chat_template  replaces the tokenizer's template, if given
    tokens         {eos_token: …, pad_token: …, …}: replaced in a copy of the tokenizer's config, if given
    config         the trainer's own keys, by their own names
    config_file    a config file of the trainer; `config` then overrides it. Without `rows` and `data`, the
                   trainer also loads the dataset that the file names
    folder         the working folder for a config file's relative paths (default: the file's own)
    dataset        the trainer's own description of the dataset, where it has one (see each runner)
    batch          {size, count}: how many rows go through the real collator, and how often
    output         the file that receives the result

and writes JSON lines to `output`: a head (versions, columns, counts, error), then rows, packs and
batches. `row` is the position in the request's rows; a row that is absent was dropped. On stdout it
says one line a request; whatever the trainer prints goes to stderr.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import logging
import os
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROW = "sftui_row"
"""The extra column that carries a row's position through the trainer's own preparation."""
IGNORED = -100

Record = dict[str, Any]
Prepare = Callable[[Mapping[str, Any], Path], Iterator[Record]]


def quiet_environment(**more: str) -> None:
    """Offline, single-threaded, without progress bars or telemetry; before the trainer is imported."""
    os.environ.update(
        {
            "HF_HUB_OFFLINE": "1",
            "HF_DATASETS_OFFLINE": "1",
            "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
            "TRANSFORMERS_VERBOSITY": "error",
            "TOKENIZERS_PARALLELISM": "false",
            "DO_NOT_TRACK": "1",
            "WANDB_DISABLED": "true",
            "CUDA_VISIBLE_DEVICES": "",
            "TQDM_DISABLE": "1",
            **more,
        }
    )


def serve(trainer: str, prepare: Prepare, packages: Sequence[str], setup: Callable[[], None] = lambda: None) -> None:
    """Answer every request on stdin; an exception of the trainer, or of `setup`, becomes the head's `error`.

    `setup` is called once, before the first request; `packages` are those whose versions are told.
    """
    say = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    with tempfile.TemporaryDirectory(prefix="sftui-verify-") as home:
        ready: list[bool] = []

        def prepared(request: Mapping[str, Any], work: Path) -> Iterator[Record]:
            if not ready:
                import datasets

                datasets.config.HF_DATASETS_CACHE = Path(home, "datasets")
                datasets.disable_progress_bars()
                datasets.disable_caching()
                # What a cache would be named by: to pickle the tokenizer for it takes most of a small run.
                name = datasets.fingerprint.generate_random_fingerprint
                for module in (datasets.fingerprint, datasets.arrow_dataset):
                    module.update_fingerprint = lambda *_: name()
                setup()
                ready.append(True)
            yield from prepare(request, work)

        for number, line in enumerate(sys.stdin):
            if not line.strip():
                continue
            request = json.loads(line)
            work = Path(home, f"request{number}")
            work.mkdir()
            started = time.perf_counter()
            head, records = _answer(prepared, request, work)
            head.update(trainer=trainer, versions=versions(packages), seconds=round(time.perf_counter() - started, 2))
            _write(Path(request["output"]), head, records)
            print(json.dumps({k: head[k] for k in ("rows_in", "kept", "error", "seconds")}), file=say, flush=True)
            shutil.rmtree(work, ignore_errors=True)


def versions(packages: Sequence[str]) -> dict[str, str]:
    """The installed versions of those packages that are installed."""
    found = {}
    for name in packages:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def _answer(prepare: Prepare, request: Mapping[str, Any], work: Path) -> tuple[Record, list[Record]]:
    head: Record = {"kind": "head", "rows_in": None, "kept": None, "error": None}
    records: list[Record] = []
    try:
        for record in prepare(request, work):
            if record["kind"] == "head":
                head.update(record)
            else:
                records.append(record)
    except (Exception, SystemExit) as error:
        traceback.print_exc()
        head["error"] = {"type": type(error).__name__, "message": str(error)[:2000]}
    return head, records


def _write(path: Path, head: Record, records: Iterable[Record]) -> None:
    """Write beside and rename, so that a killed runner leaves no half result."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    with part.open("w", encoding="utf-8") as file:
        for record in (head, *records):
            file.write(json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n")
    part.replace(path)


def integers(values: Any) -> list[int]:
    """A list, tensor or array of ids as plain numbers."""
    return [int(v) for v in (values.tolist() if hasattr(values, "tolist") else values)]


def row_record(row: int | None, input_ids: Any, labels: Any, **more: Any) -> Record:
    """One kept row as the trainer hands it to its collator; `loss_weights` is one more, a list of floats, where the
    trainer has weights for each token."""
    return {"kind": "row", "row": row, "input_ids": integers(input_ids), "labels": integers(labels), **more}


def scored(ids: list[int], pad: int) -> list[int]:
    """A label where GenericForSequenceClassification reads the score of a side, which has no others."""
    at = max((place for place, token in enumerate(ids) if token != pad), default=0)
    return [token if place == at else IGNORED for place, token in enumerate(ids)]


def batch_record(rows: list[int | None], batch: Mapping[str, Any]) -> Record:
    """One batch as the trainer's collator returns it; of tensors with more than two axes only the shape, and of a mask
    of every position against every other what each sees, as `[first, last, count]`."""
    arrays = {k: v for k, v in batch.items() if hasattr(v, "tolist") and k != ROW}
    flat = {k: v.tolist() for k, v in arrays.items() if v.ndim <= 2}
    shapes = {f"{k}_shape": list(v.shape) for k, v in arrays.items() if v.ndim > 2}
    masks = [v for k, v in arrays.items() if "mask" in k and v.ndim > 2 and v.shape[-1] == v.shape[-2]]
    return {"kind": "batch", "rows": rows, **flat, **shapes, **({"seen": _seen(masks[0])} if masks else {})}


def _seen(mask: Any) -> list[list[list[int]]]:
    """Of each position of each row the first and the last one that it sees, and how many; none where it sees none."""
    shown = mask == 0 if mask.is_floating_point() else mask.bool()
    found = []
    for row in shown.reshape(-1, shown.shape[-2], shown.shape[-1]):
        seen = [position.nonzero().flatten().tolist() for position in row]
        found.append([[places[0], places[-1], len(places)] if places else [] for places in seen])
    return found


def refusals(refused: Mapping[int, Exception]) -> Iterator[Record]:
    """A record of each row at which the dataset stops; the head has the first of them, at which a run would end."""
    if refused:
        first = refused[min(refused)]
        yield {"kind": "head", "error": {"type": type(first).__name__, "message": str(first)[:2000]}}
    for row, error in sorted(refused.items()):
        yield {"kind": "refused", "row": row, "error": f"{type(error).__name__}: {error}"[:500]}


def windows(rows: int, batch: Mapping[str, int]) -> list[range]:
    """The numbers of the rows in each batch that a request asks for, in order."""
    size = batch.get("size", 4)
    return [range(start, min(start + size, rows)) for start in range(0, min(rows, size * batch.get("count", 0)), size)]


class Warnings(logging.Handler):
    """What loggers of some names warn of during one request, each text once."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []
        self.loggers: list[logging.Logger] = []

    def attach(self, prefix: str) -> None:
        names = [name for name in logging.root.manager.loggerDict if name.startswith(prefix)]
        self.loggers = [logging.getLogger(name) for name in names]
        for logger in self.loggers:
            logger.addHandler(self)

    def detach(self) -> None:
        for logger in self.loggers:
            logger.removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        if record.getMessage() not in self.texts:
            self.texts.append(record.getMessage())


def carry_rows() -> None:
    """Number rows as they are loaded, and make `Dataset.map` keep the numbers, which trainers drop.

    Before the trainer is imported, because it imports `load_dataset` by name. Of several datasets
    of one config each is numbered from 0. A batched function may return more or fewer rows than it got. So each row of
    the batch is also given to it alone; where what it makes of them one by one is not what it made of the batch
    (packing), the new rows get no number (None).
    """
    import datasets
    from datasets import Dataset

    original, remove, load = Dataset.map, Dataset.remove_columns, datasets.load_dataset

    def loaded(*args: Any, **options: Any) -> Any:
        found = load(*args, **options)
        if isinstance(found, datasets.DatasetDict):
            return datasets.DatasetDict({name: numbered(part) for name, part in found.items()})
        return numbered(found) if isinstance(found, Dataset) else found

    def mapped(self: Any, function: Any = None, *args: Any, **options: Any) -> Any:
        removed = options.get("remove_columns")
        removed = [removed] if isinstance(removed, str) else list(removed or ())
        inner = options.get("features") is not None  # `filter` is a map to indices
        if inner or ROW not in removed or ROW not in self.column_names:
            return original(self, function, *args, **options)
        if options.get("batched"):
            return original(self, _tracing(function), *args, **options)
        options["remove_columns"] = [name for name in removed if name != ROW]
        return original(self, function, *args, **options)

    def without(self: Any, column_names: Any, *args: Any, **options: Any) -> Any:
        names = [column_names] if isinstance(column_names, str) else list(column_names)
        return remove(self, [name for name in names if name != ROW], *args, **options)

    Dataset.map, Dataset.remove_columns = mapped, without
    datasets.load_dataset = loaded


def numbered(dataset: Any) -> Any:
    """A dataset with the ROW column, unless it has one."""
    return dataset if ROW in dataset.column_names else dataset.add_column(ROW, list(range(len(dataset))))


def bare(dataset: Any) -> Any:
    """A dataset without the ROW column."""
    return dataset.select_columns([name for name in dataset.column_names if name != ROW])


def brings_rows(request: Mapping[str, Any]) -> bool:
    """Whether the rows stand in the request rather than in its config file."""
    return request.get("rows") is not None or request.get("data") is not None


def file_keys(request: Mapping[str, Any]) -> dict[str, Any]:
    """What the request's config file says; nothing where there is none."""
    import yaml

    file = request.get("config_file")
    return dict(yaml.safe_load(Path(file).read_text(encoding="utf-8"))) if file else {}


def enter_folder(request: Mapping[str, Any]) -> None:
    """Work where a config file's relative paths begin."""
    if request.get("config_file"):
        os.chdir(request.get("folder") or Path(request["config_file"]).parent)


def _tracing(function: Callable[..., Any]) -> Callable[..., dict[str, Any]]:
    """A batched map function that also says from which row each of its rows comes."""

    def traced(batch: Mapping[str, list[Any]], *args: Any, **kwargs: Any) -> dict[str, Any]:
        made = dict(function(batch, *args, **kwargs))
        size, rows = len(next(iter(made.values()), ())), list(batch[ROW])
        sources, together = [], []
        for i, row in enumerate(rows):
            alone = dict(function({k: v[i : i + 1] for k, v in dict(batch).items()}, *args, **kwargs))
            ids = list(alone.get("input_ids", next(iter(alone.values()), ())))
            sources += [row] * len(ids)
            together += ids
        same = len(together) == size and ("input_ids" not in made or together == list(made["input_ids"]))
        return {**made, ROW: sources if same else [None] * size}

    return traced


def tokenizer_folder(request: Mapping[str, Any], work: Path) -> Path:
    """The request's tokenizer, in a copy of our own where its template or tokens are replaced."""
    folder = Path(request["tokenizer"])
    template, tokens = request.get("chat_template"), request.get("tokens") or {}
    copy = work / "tokenizer"
    shutil.copytree(folder, copy)
    for path in (copy, *copy.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    if template is None and not tokens:
        return copy
    path = copy / "tokenizer_config.json"
    config = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    config.update(tokens)
    if template is not None:
        config.pop("chat_template", None)
        (copy / "chat_template.jinja").write_text(template, encoding="utf-8")
    path.write_text(json.dumps(config, ensure_ascii=False), encoding="utf-8")
    return copy


def tiny_model(vocabulary: int, **config: Any) -> Any:
    """The smallest Llama that a trainer's constructor accepts: one layer, hidden size 8."""
    from transformers import LlamaConfig, LlamaForCausalLM

    return LlamaForCausalLM(LlamaConfig(**tiny_config(vocabulary, **config)))


def tiny_config(vocabulary: int, **more: Any) -> dict[str, Any]:
    """The keys of that model's config."""
    return {
        "vocab_size": vocabulary,
        "hidden_size": 8,
        "intermediate_size": 8,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "max_position_embeddings": 131072,
        **more,
    }


def put_config(folder: Path, kind: str = "LlamaForCausalLM") -> None:
    """That config as a file in the folder of a model or tokenizer."""
    config = {"architectures": [kind], "model_type": "llama", **tiny_config(1000)}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")


def data_file(request: Mapping[str, Any], work: Path, *, numbered: bool = False) -> Path:
    """The request's rows as a file of our own (JSON lines), with the ROW column if `numbered`."""
    path = work / "data.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for index, row in enumerate(read_rows(request)):
            row = {**row, ROW: index} if numbered else row
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    return path


def read_rows(request: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The request's rows as plain objects, as they stand in the file."""
    if request.get("rows") is not None:
        return list(request["rows"])
    data = request["data"]
    path = Path(data["path"])
    if path.suffix == ".parquet":
        import pyarrow.parquet

        rows = pyarrow.parquet.read_table(path).to_pylist()
    else:
        text = path.read_text(encoding="utf-8")
        rows = json.loads(text) if text.lstrip()[:1] == "[" else [json.loads(x) for x in text.split("\n") if x.strip()]
    columns = data.get("columns")
    if columns:
        rows = [{new: row[old] for new, old in columns.items() if old in row} for row in rows]
    return list(rows[: data.get("limit")])
