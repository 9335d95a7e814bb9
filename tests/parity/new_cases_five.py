"""A fifth round: Axolotl's instruction types and packs of several micro-batches, LLaMA-Factory's templates by name and
its stage pt, and rows of no ids or no text under every trainer, on the tokenizers of the first round.

Rows, packs and batches. The datasets are those of `new_material_five`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import cycle
from pathlib import Path
from typing import Any

import cases_axolotl
import cases_nemo_automodel as nemo
import cases_torchtune as tune
import new_cases
import new_material
import new_material_five as five
from case import REPO, Case

Keys = Mapping[str, Any]
Setting = tuple[str, str, Keys, Keys]
TOKENIZED = tuple(name for name in five.DATASETS if name.startswith(("ids_", "along_", "labels_", "first_", "mask")))
SHORT = ("split", "headers", "unigram")


def _case(name: str, data: str, tokenizer: str, config: Keys, dataset: Keys) -> Case:
    return Case(
        f"five_{name}_{data}_{tokenizer}",
        f"five:{data}",
        f"new:{tokenizer}",
        config,
        dataset=dataset,
        batch=new_cases.ALL,
    )


def _round(settings: Iterable[Setting], each: int, tokenizers: tuple[str, ...] = SHORT) -> Iterator[Case]:
    """Every setting on so many tokenizers, going on where the one before ended; those of one tokenizer together."""
    made = [*new_cases.round_robin(tuple(settings), tokenizers, each, _case)]
    yield from sorted(made, key=lambda case: case.tokenizer)


def trl() -> Iterator[Case]:
    packing = {"packing": True, "max_length": 32}
    settings: list[Setting] = [
        *(("ids", data, {}, {}) for data in TOKENIZED),
        *(("uncut", data, {"max_length": None}, {}) for data in TOKENIZED),
        *(("bfd", data, packing, {}) for data in TOKENIZED),
        *(("wrapped", data, {**packing, "packing_strategy": "wrapped"}, {}) for data in TOKENIZED),
        *(("split", data, {**packing, "packing_strategy": "bfd_split"}, {}) for data in ("ids_empty", "texts")),
        ("free", "ids_empty", {"padding_free": True, "max_length": None}, {}),
        ("completion", "masks_empty", {"completion_only_loss": True}, {}),
        *(("plain", data, {}, {}) for data in ("texts", "pairs", "blanks")),
        *(("bfd", data, packing, {}) for data in ("texts", "pairs", "blanks")),
    ]
    yield from _round(settings, 1)


def unsloth() -> Iterator[Case]:
    long = {"max_length": 512}
    packing = {"packing": True, "max_length": 32}
    settings: list[Setting] = [
        *(("ids", data, long, {}) for data in TOKENIZED),
        *(("cut", data, {"max_length": 8}, {}) for data in TOKENIZED),
        *(("bfd", data, packing, {}) for data in TOKENIZED),
        *(("plain", data, long, {}) for data in ("texts", "pairs", "blanks")),
        ("text", "blanks", long, {"text_from": "messages"}),
        *(("bfd", data, packing, {}) for data in ("texts", "pairs")),
    ]
    yield from _round(settings, 1)


def axolotl() -> Iterator[Case]:
    long = {"sequence_len": 2048}
    own = {
        "format": "Q: {instruction}\nC: {input}\nA:",
        "no_input_format": "{instruction} =>",
        "system_format": "{system} | ",
    }
    shaped = {"field_instruction": "question", "field_output": "answer", "field_system": "system_prompt", **own}
    names: list[Any] = [
        *(
            "alpaca",
            "alpaca_w_system.load_chat",
            "alpaca_chat.load",
            "gpteacher:chat",
            "oasst:chatml",
            "jeopardy:instruct",
        ),
        *(
            "jeopardy:phi",
            "explainchoice:chat",
            "alpaca:instruct",
            *cases_axolotl.INSTRUCT,
            shaped,
            {"field_output": "output"},
        ),
    ]

    def called(kind: Any) -> str:
        return str(kind).replace(":", "_as_").replace(".", "_") if isinstance(kind, str) else f"own_{len(kind)}"

    types: list[Setting] = [
        *((called(kind), "columns", long, {"type": kind}) for kind in names),
        *((called(kind), "filled", long, {"type": kind}) for kind in names),
        *((f"inputs_{called(k)}", "filled", {**long, "train_on_inputs": True}, {"type": k}) for k in names[::3]),
        *((f"cut_{called(kind)}", "filled", CUT, {"type": kind}) for kind in names[1::4]),
    ]
    tokenizers = ("split", "headers", "prefix", "turns", "unigram", "letters")
    yield from _round(types, 1, tokenizers)
    pack = {**CUT, "sample_packing": True, "curriculum_sampling": True}
    real, one = {"multipack_real_batches": True}, {"multipack_real_batches": False}
    flash, sdpa = {"attn_implementation": "flash_attention_2"}, {"attn_implementation": "sdpa"}
    ways: tuple[Keys, ...] = (
        {},
        real,
        one,
        flash,
        sdpa,
        {"sample_packing_sequentially": True},
        {"pad_to_sequence_len": False},
    )
    kinds: tuple[tuple[str, Keys], ...] = (
        ("blanks", {}),
        ("filled", {"type": "alpaca"}),
        ("texts", {"type": "completion"}),
        ("masked", {"type": None}),
    )
    packs = [
        (f"micro_{size}_{number}", data, {**pack, **way, "micro_batch_size": size}, dataset)
        for number, way in enumerate(ways)
        for at, (data, dataset) in enumerate(kinds)
        for size in ((2, 3, 5)[(at + number) % 3],)
    ]
    yield from _round(packs, 1, tokenizers)
    ids: list[Setting] = [("ids", data, {"sequence_len": 512}, {"type": None}) for data in TOKENIZED]
    ids += [("packed_ids", data, pack, {"type": None}) for data in TOKENIZED]
    ids += [("plain", data, long, {"type": "completion"} if data == "texts" else {}) for data in ("texts", "blanks")]
    yield from _round(ids, 1)


CUT = {"sequence_len": 64, "excess_length_strategy": "truncate"}


def llamafactory() -> Iterator[Case]:
    tools = {
        "formatting": "sharegpt",
        "columns": {"messages": "conversations", "system": "system", "tools": "tools"},
    }
    templates: dict[str, Any] = json.loads(
        Path(REPO / "sftui" / "trainers" / "llamafactory" / "templates.json").read_text(encoding="utf-8")
    )["templates"]
    yield from _round(
        (("by_" + name, "talks", {"template": name}, tools) for name in templates if "media" not in templates[name]),
        1,
        BOTH,
    )
    text = {"columns": {"prompt": "text"}}
    names = cycle(("default", "qwen", "llama3", "gemma"))
    ways: tuple[Keys, ...] = ({}, {"packing": True}, {"packing": False})
    stages: list[Setting] = [
        (
            f"pt_{template}_{cut}_{len(way) and way['packing']}",
            "texts",
            {"stage": "pt", "template": template, **way, "cutoff_len": cut},
            text,
        )
        for way in ways
        for cut in (16, 45, 512)
        for template in (next(names),)
    ]
    stages += [
        ("pt_talks", "talks", {"stage": "pt", "template": "qwen", "cutoff_len": 100, **way}, tools) for way in ways[1:]
    ]
    stages += [("pt_alpaca", "filled", {"stage": "pt", "template": "default", "cutoff_len": 64, **ways[2]}, {})]
    yield from _round(stages, 2, new_material.TOKENIZERS)
    neat = {"neat_packing": True, "template": "qwen"}
    more: list[Setting] = [
        *((f"neat_{size}", "talks", {**neat, "cutoff_len": size}, tools) for size in (64, 100, 256)),
        *(("alpaca", data, {"template": "llama3"}, {}) for data in ("filled", "columns")),
    ]
    yield from _round(more, 2)


BOTH = ("split", "headers")


def torchtune() -> Iterator[Case]:
    for data, dataset in (("texts", tune.TEXT), ("blanks", tune.CHAT), ("filled", tune.ALPACA)):
        for config in ({}, {"max_seq_len": 48}):
            for packed in ({}, {"packed": True}) if config else ({},):
                block = {"_component_": "torchtune.models.qwen2_5.qwen2_5_tokenizer", **config}
                name = f"{'packed' if packed else 'plain'}{'_cut' if config else ''}"
                yield _case(name, data, "split", {"tokenizer": block}, {**dataset, **packed})


def mlx_lm() -> Iterator[Case]:
    settings: list[Setting] = [
        *(
            (name, data, keys, {})
            for data in ("texts", "pairs", "blanks")
            for name, keys in (("plain", {}), ("masked", {"mask_prompt": True}))
        )
    ]
    yield from _round(settings, 2)


def ms_swift() -> Iterator[Case]:
    long: dict[str, Any] = {"max_length": 4096}
    settings: list[Setting] = [
        *(
            (f"batch_{size}", data, {"template": template, **long, "per_device_train_batch_size": size, **more}, {})
            for size, template, more in (
                (2, "chatml", {}),
                (3, "qwen3", {"loss_scale": "last_round"}),
                (7, "llama3", {"loss_scale": "all"}),
                (4, "qwen2_5", {"padding_free": True}),
                (5, "gemma", {"max_length": 24, "truncation_strategy": "left"}),
            )
            for data in ("blanks", "pairs", "filled")
        ),
        ("texts", "texts", {"template": "chatml", **long, "use_chat_template": False, "loss_scale": "all"}, {}),
        ("packs", "blanks", {"template": "qwen2_5", "max_length": 64, "packing": True, "dataset_shuffle": False}, {}),
    ]
    yield from _round(settings, 1)


def nemo_automodel() -> Iterator[Case]:
    pairs = {**nemo.PAIRS}
    settings: list[Setting] = [
        ("plain", "blanks", {}, {}),
        ("pairs", "pairs", {}, pairs),
        ("cut", "pairs", {}, {**pairs, **nemo.cut(12)}),
        ("neat", "pairs", nemo.packed(64, "neat"), pairs),
        ("thd", "pairs", nemo.packed(64, "thd"), pairs),
    ]
    yield from _round(settings, 2)


def verl() -> Iterator[Case]:
    yield from _round(
        (("plain", "blanks", {}, {}), ("cut", "blanks", {"data.max_length": 16, "data.truncation": "left"}, {})), 2
    )


CASES = {
    **{"trl": trl, "axolotl": axolotl, "llamafactory": llamafactory, "unsloth": unsloth, "torchtune": torchtune},
    **{"mlx-lm": mlx_lm, "ms-swift": ms_swift, "nemo-automodel": nemo_automodel, "verl": verl},
}


def cases(trainer: str) -> tuple[Case, ...]:
    """The cases of a trainer."""
    return tuple(CASES[trainer]())
