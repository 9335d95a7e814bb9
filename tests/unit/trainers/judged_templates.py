"""What judging the templates of trainers needs: tokenizers with published chat templates, and the verdict of TPL016.

Families were judged by hand: templates that write the same words around turns are of one, whatever they are called.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any
from zlib import crc32

from golden_records import with_knobs

from sftui import pipeline
from sftui.findings import Context, Finding, check_row
from sftui.model import Inspection, Row
from sftui.tokens import LoadedTokenizer, load_tokenizer
from sftui.trainers import preset
from sftui.trainers.llamafactory.trainer import with_tokens

ALL = os.environ.get("SFTUI_JUDGED") == "all"
OWN: Mapping[str, tuple[str, str, str]] = {
    "qwen2_5": ("chatml", "", "<|im_end|>"),
    "qwen2_5_vl": ("chatml", "", "<|im_end|>"),
    "qwen3": ("chatml", "", "<|im_end|>"),
    "qwen3_vl": ("chatml", "", "<|im_end|>"),
    "qwen3_5_think": ("chatml", "", "<|im_end|>"),
    "qwen3_5_nothink": ("chatml", "", "<|im_end|>"),
    "qwen3_6": ("chatml", "", "<|im_end|>"),
    "qwen3_instruct_2507": ("chatml", "", "<|im_end|>"),
    "lfm2": ("chatml", "<|startoftext|>", "<|im_end|>"),
    "lfm2_2_5": ("chatml", "<|startoftext|>", "<|im_end|>"),
    "llama3": ("llama3", "<|begin_of_text|>", "<|eot_id|>"),
    "llama3_1": ("llama3", "<|begin_of_text|>", "<|eot_id|>"),
    "llama3_2": ("llama3", "<|begin_of_text|>", "<|eot_id|>"),
    "gemma": ("gemma", "<bos>", "<eos>"),
    "gemma3": ("gemma", "<bos>", "<eos>"),
    "phi3": ("phi", "<s>", "<|endoftext|>"),
    "phi3_5": ("phi", "<s>", "<|endoftext|>"),
    "deepseekv3": ("deepseek3", "<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>"),
    "glm4moe": ("glm", "", "<|endoftext|>"),
    "cohere": ("cohere", "<BOS_TOKEN>", "<|END_OF_TURN_TOKEN|>"),
    "gptoss": ("gpt_oss", "<|startoftext|>", "<|return|>"),
}
"""Of the templates in ../shared: family, BOS and EOS of their models."""
SHARED: Mapping[str, str] = {
    "qwen2.5": "chatml",
    "llama-3-8b-instruct": "llama3",
    "phi-3-mini": "phi",
    "minimind": "chatml",
}
"""Families of the shared tokenizers that bring a chat template."""
BUNDLED = ("chatml", "llama3", "gemma")
"""The tokenizers of sftui itself, by their families."""


@cache
def bundled(name: str) -> LoadedTokenizer:
    return load_tokenizer(f"builtin:{name}")


def with_template(source: str, bos: str, eos: str) -> LoadedTokenizer:
    """A small tokenizer that brings this chat template, and begins and ends texts so."""
    plain = bundled("chatml")
    made = with_tokens(plain, [one for one in (bos, eos) if one])
    made = made.overriding(bos=bos or None, eos=eos)
    return LoadedTokenizer(replace(made.facts, chat_templates={"default": source}), made.engine)


def published(name: str, shared: Path) -> LoadedTokenizer:
    """A small tokenizer that brings the chat template of a published model, one of OWN."""
    _, bos, eos = OWN[name]
    source = (shared / "testdata" / "templates" / f"trl_{name}.jinja").read_text(encoding="utf-8")
    return with_template(source, bos, eos)


def of_shared(name: str, shared: Path) -> LoadedTokenizer:
    """A small tokenizer with the chat template of a shared one, one of SHARED."""
    facts = load_tokenizer(str(shared / "testdata" / "tokenizers" / name)).facts
    return with_template(facts.chat_templates["default"], facts.bos_token or "", facts.eos_token or "")


NO_BOS = "a tokenizer without BOS"
"""In `Judged.refuses`: every row of one."""


@dataclass(frozen=True)
class Judged:
    """What was judged of the templates of one trainer.

    preset: the trainer. templates: all of its. rows: one of each kind. families: name → the templates that are of it;
    one that is of none is wrong beside every tokenizer. knobs: what else is set for a template. ambiguous: tokenizer or
    family → template → why nobody can tell. right: tokenizer → templates that are neither an error nor a warning beside
    it. refuses: a template → kind of row, or NO_BOS → why the trainer itself stops at it.
    """

    preset: str
    templates: Collection[str]
    rows: Mapping[str, Mapping[str, Any]]
    families: Mapping[str, frozenset[str]]
    knobs: Callable[[str], Mapping[str, Any]]
    ambiguous: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    right: Mapping[str, Sequence[str]] = field(default_factory=dict)
    refuses: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def tried(self, name: str, family: str) -> list[str]:
        """The templates that are tried beside a tokenizer: those of its family, and one in three of the others, which
        are others beside each tokenizer; `SFTUI_JUDGED=all`: every one."""
        sure = {*self.families.get(family, ()), *self.right.get(name, ())}
        turn = crc32(name.encode()) % 3
        return [one for i, one in enumerate(sorted(self.templates)) if ALL or one in sure or i % 3 == turn]

    def opened(self, template: str, tokenizer: LoadedTokenizer, row: Mapping[str, Any]) -> tuple[Context, Inspection]:
        """A row under a template of the trainer, and what its checks know."""
        recipe = with_knobs(preset(self.preset), self.knobs(template))
        tools = pipeline.make_toolbox(recipe, tokenizer)
        one = Row(0, dict(row), repr(row), "row 0")
        detected = pipeline.detect([one], recipe)
        tools = pipeline.survey(one, detected, recipe, tools)
        context = Context(recipe, tools.tokenizer.facts, tools.templates.get("default"), detected, tools)
        return context, pipeline.inspect(one, detected, recipe, tools)

    def found(self, template: str, tokenizer: LoadedTokenizer, row: Mapping[str, Any]) -> Finding | None:
        """What TPL016 or TPL027 reports for a row."""
        context, inspection = self.opened(template, tokenizer, row)
        assert inspection.labels is not None, inspection.problem
        return next((each for each in check_row(inspection, context) if each.code in ("TPL016", "TPL027")), None)

    def hold(self, template: str, name: str, family: str, tokenizer: LoadedTokenizer) -> Counter[str]:
        """The verdicts on every kind of row, each held against the judgement."""
        told: Counter[str] = Counter()
        for shape, row in self.rows.items():
            refused = self.refuses.get(template, {})
            if shape in refused or (NO_BOS in refused and tokenizer.facts.bos_token is None):
                assert self.opened(template, tokenizer, row)[1].problem is not None, (template, name, shape)
                told["refused"] += 1
                continue
            one = self.found(template, tokenizer, row)
            verdict = one.severity.value if one is not None else "the same"
            told[verdict] += 1
            if template in self.ambiguous.get(name, {}) or template in self.ambiguous.get(family, {}):
                continue
            wrong = template not in self.families.get(family, ())
            assert (verdict == "error") is wrong, (template, name, shape, one)
            if one is not None and wrong:
                assert one.tokens is not None and one.message is not None and " ≠ " in one.evidence
            if template in self.right.get(name, ()):
                assert verdict in ("the same", "info"), (template, name, shape, one)
        return told
