"""The golden records of the real trainers, and what sftui makes of the same rows."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sftui import pipeline
from sftui.model import IGNORE_INDEX, Inspection, Row
from sftui.recipe import Recipe, changed
from sftui.templates import compile_template, rendering_of
from sftui.tokens import LoadedTokenizer, TokenizerFacts
from sftui.tokens.loaded import FastEngine
from sftui.trainers import Toolbox

Pair = tuple[tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True)
class Case:
    """All records of one case of one trainer: same rows, config and tokenizer."""

    trainer: str
    name: str
    rows: tuple[Mapping[str, Any], ...]
    config: Mapping[str, Any]
    dataset: Any
    eos: str
    pad: str
    template: str
    expected: tuple[Pair, ...]


def digest(input_ids: Sequence[int], labels: Sequence[int]) -> list[Any]:
    """How the recorders of templates keep a row: how many ids, how many trained, and a hash of both."""
    written = json.dumps([list(input_ids), list(labels)]).encode()
    trained = sum(label != IGNORE_INDEX for label in labels)
    return [len(input_ids), trained, hashlib.blake2b(written, digest_size=8).hexdigest()]


def cases(shared: Path, trainer: str) -> list[Case]:
    """The cases of one trainer (`trl 1.16.0`), in the order they were recorded."""
    grouped: dict[tuple[str, str, str], list[dict[str, Any]]] = defaultdict(list)
    for line in (shared / "golden" / "golden.jsonl").read_text().splitlines():
        record = json.loads(line)
        if record["trainer"].startswith(trainer):
            key = (str(record["case"]), json.dumps(record["rows"]), json.dumps(record["config"]))
            grouped[key].append(record)
    return [
        Case(
            r[0]["trainer"],
            str(r[0]["case"]),
            tuple(x for x in r[0]["rows"] or () if isinstance(x, dict)),
            r[0]["config"] if isinstance(r[0]["config"], dict) else {},
            r[0]["dataset"],
            r[0]["eos"],
            r[0]["pad"],
            r[0]["chat_template"] or "",
            tuple((tuple(x["input_ids"]), tuple(x["labels"])) for x in r),
        )
        for r in grouped.values()
    ]


def tokenizer(shared: Path, *, eos: str, pad: str, bos: bool = False) -> LoadedTokenizer:
    """The tokenizer of the goldens, with its special tokens."""
    from tokenizers import Tokenizer

    backend = Tokenizer.from_file(str(shared / "golden" / ("tokenizer_bos.json" if bos else "tokenizer.json")))
    specials = {"eos_token": eos, "pad_token": pad, **({"bos_token": "<s>"} if bos else {})}
    facts = TokenizerFacts(
        name="golden",
        vocab_size=backend.get_vocab_size(),
        special_tokens=specials,
        eos_token=eos,
        eos_id=backend.token_to_id(eos),
        pad_token=pad,
        pad_id=backend.token_to_id(pad),
        bos_token="<s>" if bos else None,
        bos_id=backend.token_to_id("<s>") if bos else None,
        adds_bos=bos,
        front=tuple(found for found in [backend.token_to_id("<s>")] if bos and found is not None),
    )
    return LoadedTokenizer(facts, FastEngine(backend))


RECORDED_UNDER = "5.23.0"
"""The transformers of the records, whose masks by generation tags lose the last bytes of an answer."""


def toolbox(shared: Path, case: Case, *, bos: bool = False) -> Toolbox:
    """Tokenizer and template of a case, which is rendered as by the transformers of the records."""
    rendering = rendering_of(RECORDED_UNDER)
    templates = {"default": compile_template(case.template, "golden", rendering=rendering)} if case.template else {}
    return Toolbox(tokenizer(shared, eos=case.eos, pad=case.pad, bos=bos), templates, "golden")


def rows_of(data: Sequence[Mapping[str, Any]]) -> list[Row]:
    return [Row(i, row, json.dumps(row), f"row {i}") for i, row in enumerate(data)]


def inspect(data: Sequence[Mapping[str, Any]], recipe: Recipe, tools: Toolbox) -> list[Inspection]:
    """Every row through the pipeline; each of its tokens has one label and one reason."""
    rows = rows_of(data)
    detected = pipeline.detect(rows, recipe)
    tools = pipeline.survey(rows[0] if rows else None, detected, recipe, tools)
    found = [pipeline.inspect(row, detected, recipe, tools) for row in rows]
    for tokens, labels in ((one.tokens, one.labels) for one in found):
        if tokens is not None and labels is not None:
            assert len(tokens) == len(labels.labels) == len(labels.reasons)
    return found


def kept(inspections: Sequence[Inspection]) -> list[Pair]:
    """Ids and labels of what reaches the trainer, in order."""
    found: list[Pair] = []
    for one in inspections:
        for example in ((one.example,) if one.example else ()) + one.more:
            found.append((example.input_ids, example.labels))
    return found


def with_knobs(recipe: Recipe, knobs: Mapping[str, Any]) -> Recipe:
    for path, value in knobs.items():
        recipe = changed(recipe, path, value)
    return recipe


__all__ = [
    "Callable",
    "Case",
    "Iterator",
    "Pair",
    "cases",
    "inspect",
    "kept",
    "replace",
    "rows_of",
    "tokenizer",
    "toolbox",
    "with_knobs",
]
