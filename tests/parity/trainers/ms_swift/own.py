"""ms-swift: the cases whose references are kept in the repository (see `own`)."""

from __future__ import annotations

from typing import Any

from case import Case
from own import CHATML, GEMMA, LLAMA3, TRICKY


def case(name: str, data: str, template: str = "chatml", tokenizer: str = CHATML, **config: Any) -> Case:
    return Case(name, data, tokenizer, {"template": template, "max_length": 4096, **config})


OWN = (
    case("chatml", "sample_chat"),
    case("qwen3", TRICKY, "qwen3"),
    case("llama3", TRICKY, "llama3", LLAMA3, per_device_train_batch_size=4),
    case("gemma", "sample_completion.messages_of", "gemma", GEMMA),
    case("default", "sample_sharegpt.bare", "default"),
    case("phi4", TRICKY, "phi4", LLAMA3),
    case("odd_chats", "swift_chats"),
    case("odd_qwen3", "swift_chats", "qwen3", loss_scale="last_round"),
    case("odd_tools", "swift_tools", "qwen2_5", loss_scale="hermes"),
    case("odd_tools_glm", "swift_tools", "glm4_5"),
    case("odd_tools_react", "swift_tools", "chatml", agent_template="react_en"),
    case("odd_broken", "swift_broken"),
    case("odd_pairs", "swift_pairs"),
    case("edges", "swift_edges", loss_scale="agentflan"),
    case("edges_begun", "swift_edges", tokenizer=LLAMA3, loss_scale="default+alpha_umi"),
    case("edges_forgetful", "swift_edges", "deepseek_v3_1", preserve_thinking=False),
    case("edges_hunyuan", "swift_edges", "hunyuan", preserve_thinking=False),
    case("edges_gemma3", "swift_edges", "gemma3_text", GEMMA),
    case("edges_glm4", "swift_edges", "glm4", padding_side="left", per_device_train_batch_size=4),
    case("edges_mistral", "swift_edges", "mistral_nemo", agent_template="mistral"),
    case("edges_react", "swift_edges", agent_template="react_en", loss_scale="all+react"),
    case("edges_llama3", "swift_edges", "llama3", LLAMA3),
    case("edges_dummy", "swift_edges", "dummy", agent_template="hermes"),
    case("rejected", "rejected_chat"),
    case("rejected_pairs", "rejected_query"),
    case("preferred", "swift_prefers_text.first_prefers", "qwen3", rlhf_type="dpo"),
    case(
        "preferred_cut",
        "swift_prefers_list.first_prefers",
        "qwen2_5",
        rlhf_type="dpo",
        max_length=96,
        truncation_strategy="right",
    ),
    case("preferred_whole", "swift_prefers_messages.first_prefers", "llama3", LLAMA3, rlhf_type="orpo"),
    case("preferred_odd", "swift_prefers_odd", "qwen3", rlhf_type="rm"),
    case("judged", "swift_judged_chats.first_prefers", "qwen3", rlhf_type="kto"),
    case("alpaca", "sample_alpaca", "llama3", LLAMA3),
    case("strings", "sample_strings"),
    case("questions", "sample_questions"),
    case("texts", "sample_text", use_chat_template=False, loss_scale="all"),
    case("all", TRICKY, loss_scale="all"),
    case("left", TRICKY, max_length=24, truncation_strategy="left"),
    case("right", TRICKY, max_length=24, truncation_strategy="right"),
    case("delete", TRICKY, max_length=60),
    case(
        "split",
        "sample_text",
        max_length=16,
        truncation_strategy="split",
        use_chat_template=False,
        loss_scale="all",
        dataset_shuffle=False,
    ),
    case("packed", TRICKY, max_length=256, packing=True, dataset_shuffle=False),
    case(
        "packed_in_order",
        TRICKY,
        max_length=256,
        packing=True,
        packing_strategy="sequential",
        dataset_shuffle=False,
    ),
    case("no_system", TRICKY, "gemma3_text", GEMMA, system="Be brief."),
)
