"""NeMo Automodel: the cases whose references are kept in the repository (see `own`)."""

from __future__ import annotations

from typing import Any

from case import Case
from own import CHATML, GEMMA, LLAMA3, TRICKY
from trainers.nemo_automodel.cases import AGENT, COLUMNS, ODD, PAIRS, SQUAD, TAGS, XLAM, cut, packed

LINES = f"{TRICKY}.one_line"
FEW = f"{LINES}.one_of_three"
THINKING = TAGS.replace("%}{{ m.content }}<", "%}<think>{{ m.reasoning_content }}</think>{{ m.content }}<", 1)


ASKS = (
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}"
    "{% if enable_thinking %}{{ '<think>\n' }}{% endif %}{% endif %}"
)


def case(name: str, data: str, tokenizer: str = CHATML, config: Any = None, **dataset: Any) -> Case:
    return Case(name, data, tokenizer, config or {}, dataset=dataset, batch={"size": 4, "count": 3})


OWN = (
    case("messages", "sample_chat"),
    case("lines_cut", TRICKY),
    case("messages_llama3", LINES, LLAMA3),
    case("messages_gemma", FEW, GEMMA),
    case("sharegpt", "sample_sharegpt.bare"),
    case("tags", FEW, chat_template=TAGS),
    case("last", FEW, LLAMA3, mask_history=True),
    case("opened", FEW, mask_generation_prompt=True),
    case("thoughts", "nemo_chats", chat_template=THINKING, mask_reasoning_content=True, mask_generation_prompt=True),
    case("thoughts_trained", "nemo_edges", chat_template=THINKING),
    case("opened_by_thoughts", "nemo_edges", chat_template=ASKS, mask_generation_prompt=True),
    case("cut", FEW, LLAMA3, **cut(24)),
    case("cut_and_padded", "nemo_edges", LLAMA3, **cut(36, padding="max_length")),
    case("padded_columns", "sample_strings", LLAMA3, **PAIRS, **cut(16, padding="max_length")),
    case("padded_columns_chatml", "sample_strings", **PAIRS, **cut(16, padding="max_length")),
    case("padded", FEW, LLAMA3, **cut(48, padding="max_length")),
    case("odd_chats", "nemo_chats"),
    case("odd_chats_gemma", "nemo_chats", GEMMA),
    case("agents", "nemo_agents", **AGENT),
    case("agents_openai", "nemo_agents_openai", LLAMA3, **AGENT, train_on_last_turn_only=True),
    case(
        "agents_trimmed",
        "nemo_agent_edges",
        **AGENT,
        filter_no_assistant=True,
        trim_incomplete_last_turn=True,
        drop_history_reasoning_content=True,
        chat_template=THINKING,
    ),
    case("agents_fit", "nemo_agents", **AGENT, truncate_history=True, **cut(60)),
    case("columns", "sample_strings", **PAIRS),
    case("columns_llama3", "sample_strings", LLAMA3, **PAIRS),
    case("columns_chat", "nemo_columns", **COLUMNS, column_mapping=ODD, use_hf_chat_template=True),
    case("odd_columns", "nemo_columns", LLAMA3, **COLUMNS, column_mapping=ODD, **cut(30)),
    case("squad", "nemo_squad", **SQUAD),
    case("xlam", "nemo_xlam", **XLAM),
    case("packed", "sample_sharegpt.bare", config=packed(256, "thd")),
    case("packed_neat", "sample_sharegpt.bare", LLAMA3, config=packed(200, "neat")),
    case("unread", "sample_text"),
)
