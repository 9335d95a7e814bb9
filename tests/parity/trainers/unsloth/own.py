"""Unsloth: the cases whose references are kept in the repository (see `own`)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from case import Case
from own import CHATML, GEMMA, LLAMA3, TAGGED, TRICKY
from trainers.trl.own import OWN as PAIRS
from trainers.unsloth.cases import CHATML as MARKERS
from trainers.unsloth.cases import LLAMA3 as LLAMA_MARKERS

NEW = ("2026.10.9", "2026.10.7")


def case(
    name: str,
    data: str,
    tokenizer: str = CHATML,
    dataset: Any = None,
    template: str | None = None,
    only: tuple[str, ...] = (),
    **config: Any,
) -> Case:
    tokens = (
        {"pad_token": "<|end_of_text|>"} if tokenizer == LLAMA3 else {}
    )  # unsloth gives a tokenizer without one its own
    return Case(name, data, tokenizer, {"max_length": 1024, **config}, template, tokens, dataset or {}, only=only)


def masked(responses: Any = None, **more: Any) -> dict[str, Any]:
    return {"text_from": "messages", "responses": MARKERS if responses is None else responses, **more}


OWN = (
    case("responses", "sample_chat.plain", dataset=masked()),
    case("responses_tricky", TRICKY, dataset=masked()),
    case("responses_llama3", TRICKY, LLAMA3, masked(LLAMA_MARKERS)),
    case("responses_found", TRICKY, dataset=masked({})),
    case("responses_found_gemma", "sample_completion.messages_of", GEMMA, masked({})),
    case("last_only", TRICKY, dataset=masked({**MARKERS, "last_response_only": True})),
    case("force_match_off", TRICKY, dataset=masked({**MARKERS, "force_match": False})),
    case("text_only", "sample_text"),
    case("text_gemma", "sample_text", GEMMA),
    case("messages", "sample_chat", only=NEW),
    case("strings", "sample_strings"),
    case("strings_llama3", "sample_strings", LLAMA3),
    case("conversational_completion", "sample_completion"),
    case("boundary_spaced", "sample_questions.strings.spaced"),
    case(
        "instruct_text",
        "sample_alpaca.instruct_text",
        dataset={"responses": {"instruction_part": "### Instruction:\n", "response_part": "### Response:\n"}},
    ),
    case("assistant_only_marker", TRICKY, only=NEW, assistant_only_loss=True),
    case("assistant_only_tag", TRICKY, template=TAGGED, only=NEW, assistant_only_loss=True),
    case("broken_turns", "tricky.broken", dataset=masked()),
    case("cut", "sample_sharegpt.openai", dataset=masked(), max_length=32),
    case("packing", "sample_text", packing=True, max_length=64),
    *(replace(one, only=NEW[:1], config={"max_length": 1024, **one.config}) for one in PAIRS if one.objective != "sft"),
)
