"""Unsloth on the rounds of tokenizers and datasets of our own making (see `rounds` beside `case`)."""

from __future__ import annotations

from collections.abc import Iterator

import new_material
from case import Case
from rounds import LLAMA, MINI, NEW, PHI, QWEN, THREE, TOKENIZED, TWO, Setting, five_each, two_each
from trainers.unsloth.cases import CHATML, LLAMA3

PACKING = {"packing": True, "max_length": 150}
MARKERS = {
    "bytes": ("<|im_start|>user\n", "<|im_start|>assistant\n"),
    "split": ("<|im_start|>user\n", "<|im_start|>assistant\n"),
    "headers": (
        "<|start_header_id|>user<|end_header_id|>\n\n",
        "<|start_header_id|>assistant<|end_header_id|>\n\n",
    ),
    "turns": ("<start_of_turn>user\n", "<start_of_turn>model\n"),
}


def new() -> Iterator[Case]:
    packing = {"packing": True, "max_length": 96}
    text = {"text_from": "messages"}
    settings: tuple[Setting, ...] = (
        ("edges", "edges", {"max_length": 512}, {}),
        ("systems", "systems", {"max_length": 64}, {}),
        ("text", "chats", {"max_length": 100}, text),
        ("strings", "strings", {"max_length": 100}, {}),
        ("texts", "texts", {"max_length": 200}, {}),
        ("ready", "ready", {"max_length": 4096}, {}),
        ("bfd", "tiny", packing, {}),
        ("bfd", "equal", packing, text),
        ("bfd", "strings", packing, {}),
        ("bfd_split", "texts", {**packing, "packing_strategy": "bfd_split"}, {}),
        ("wrapped", "tiny", {**packing, "packing_strategy": "wrapped"}, text),
    )
    yield from NEW.each(settings, new_material.TOKENIZERS, 3)
    for name, (ask, reply) in MARKERS.items():
        responses = {**text, "responses": {"instruction_part": ask, "response_part": reply}}
        for data in ("chats", "edges"):
            yield NEW.case("responses", data, name, {"max_length": 128}, responses)


def two() -> Iterator[Case]:
    text = {"text_from": "messages"}
    settings: tuple[Setting, ...] = (
        *((name, name, {"max_length": 128}, {}) for name in ("long", "empty", "oddities", "roles", "calls", "parts")),
        *((f"{name}_text", name, {"max_length": 300}, text) for name in ("roles", "reasoning", "parts", "oddities")),
        ("strings", "strings", {"max_length": 200}, {}),
        ("texts", "texts", {"max_length": 500}, {}),
        ("bfd", "oddities", PACKING, text),
        ("bfd", "reasoning", PACKING, {}),
        ("wrapped", "strings", {**PACKING, "packing_strategy": "wrapped"}, {}),
    )
    yield from two_each(settings, 2)
    ask, reply = "<|im_start|>user\n", "<|im_start|>assistant\n"
    responses = {**text, "responses": {"instruction_part": ask, "response_part": reply}}
    for data in ("long", "empty", "oddities"):
        yield TWO.case("responses", data, "bytes_two", {"max_length": 128}, responses)


def three() -> Iterator[Case]:
    text = {"text_from": "messages"}
    long = {"max_length": 2048}
    last = {"last_response_only": True}
    for tokenizer, marks in ((QWEN, CHATML), (LLAMA, LLAMA3), (MINI, CHATML)):
        yield THREE.case("responses", "chat", tokenizer, long, {**text, "responses": marks})
    yield THREE.case("responses_cut", "blanks", QWEN, {"max_length": 90}, {**text, "responses": CHATML})
    yield THREE.case("responses_last", "blanks", LLAMA, long, {**text, "responses": {**LLAMA3, **last}})
    yield THREE.case("responses_systems", "systems", QWEN, long, {**text, "responses": CHATML})
    yield THREE.case("responses_think", "reasoning", QWEN, long, {**text, "responses": CHATML}, "trl_qwen3")
    yield THREE.case("responses_messages", "calls", QWEN, long, {"responses": CHATML}, "trl_qwen3")
    yield THREE.case("text", "chat", PHI, long, text)
    yield THREE.case("messages", "blanks", QWEN, long, {})
    yield THREE.case("pairs", "pairs", LLAMA, {"max_length": 300}, {})
    yield THREE.case("strings", "strings", MINI, {"max_length": 256}, {})
    yield THREE.case("strings", "strings", PHI, long, {})
    yield THREE.case("texts", "texts", LLAMA, {"max_length": 700}, {})
    yield THREE.case("bfd", "chat", QWEN, {"packing": True, "max_length": 512}, {**text, "responses": CHATML})
    yield THREE.case(
        "wrapped", "strings", LLAMA, {"packing": True, "packing_strategy": "wrapped", "max_length": 300}, {}
    )


def five() -> Iterator[Case]:
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
    yield from five_each(settings, 1)
