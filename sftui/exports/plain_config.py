"""What decides the form of preprocess.py: every choice that `plain` branches on, and the names that it writes out."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Config:
    """One recipe and one dataset, as far as they choose between the lines of `plain`.

    In an exported script each `CONFIG.name` stands as its value and each branch that it rules out is left out. Choices
    are the recipe's own words; names of columns and keys are the data's, empty where there is no such thing.
    """

    rows: str = "lines"
    """What reads the files: lines, list, or an expression (see `sources.Loading`)."""
    packed: bool = False
    """Some of the files end in .gz."""

    tokenizer_file: bool = False
    bos_token: str | None = None
    eos_token: str | None = None
    pad_token: str | None = None

    format: str = "messages"
    """messages, alpaca, pair, text or tokenized."""
    messages: str = "messages"
    prompt: str = "prompt"
    completion: str = "completion"
    instruction: str = "instruction"
    given: str = "input"
    output: str = "output"
    history: str = "history"
    system: str = ""
    text: str = "text"
    input_ids: str = "input_ids"
    labels: str = "labels"
    attention_mask: str = "attention_mask"
    tools: str = ""
    variables: str = ""
    """The column of a row's own template variables."""
    role_key: str = "role"
    content_key: str = "content"
    function_calls: bool = False
    """A function_call turn becomes tool calls."""
    alpaca_prompt: str = "stanford"
    shifted: bool = False
    """The stored labels are."""

    bare: bool = True
    """Nothing goes to the chat template besides the messages."""
    system_text: str | None = None
    """The system message of a row that has none."""
    add_special_tokens: bool = False
    bos: str = "keep"
    append_eos: str = "never"
    prompt_alone: bool = True
    """The prompt is rendered and tokenized alone, to find where the completion begins."""

    rule: str = "completion"
    boundary: str = "prompt_length"
    last_turn: bool = False
    """Only the last answer is trained."""
    over: str = "cut_right"
    min_tokens: int = 0
    drop_unlabelled: bool = False
    preshifted: bool = False
