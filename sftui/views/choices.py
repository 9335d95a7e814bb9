"""What each choice of a knob does, in a few words: shown where it is chosen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MEANINGS: Mapping[str, Mapping[str, str]] = {
    "data.format": {
        "auto": "found from the columns of the first rows",
        "messages": "a list of messages with role and content",
        "sharegpt": "a list of turns with from and value",
        "alpaca": "instruction, input and output",
        "prompt_completion": "prompt and completion, texts or messages",
        "columns": "columns that data.fields names",
        "text": "one column of text",
        "segments": "pieces of text, each trained or not",
        "tokenized": "input_ids, perhaps with labels",
    },
    "data.strings": {
        "chat": "a conversation of user and assistant, through the chat template",
        "plain": "the two texts one after the other, without a template",
    },
    "data.alpaca_prompt": {
        "stanford": "Stanford Alpaca's text: Below is an instruction …",
        "newline": "instruction and input with a line break between them",
        "blank_line": "instruction and input with an empty line between them",
    },
    "data.function_calls": {
        "text": "an assistant message whose content is the call as text",
        "tool_calls": "an assistant message with tool_calls",
    },
    "data.strict_turns": {
        "off": "they are kept as they are",
        "drop": "they are dropped",
        "error": "the row stops with an error",
    },
    "data.given_labels": {
        "auto": "found from the ids and labels of the first rows",
        "unshifted": "labels[i] belongs to input_ids[i]",
        "shifted": "labels[i] belongs to input_ids[i + 1]",
    },
    "tokenize.mode": {
        "whole": "the whole text, once",
        "prompt_and_full": "the whole text, and the prompt alone to find where it ends",
        "per_part": "each part alone, then joined: ids at the joints may differ",
    },
    "tokenize.bos": {
        "keep": "it stays in the text",
        "strip_text": "it is cut from the text before tokenizing",
        "drop_second": "of two BOS tokens at the start one is dropped",
    },
    "tokenize.append_eos": {
        "never": "no EOS is added",
        "if_missing_text": "where the text does not end with it",
        "if_missing_ids": "where the last id is not EOS",
        "always": "also where one already exists",
    },
    "mask.rule": {
        "auto": "as the trainer decides from the data",
        "all": "every token, the prompt too",
        "completion": "what comes after the prompt: the last answer, or the completion column",
        "assistant": "the content of every message of mask.roles",
        "generation_tag": "what stands between {% generation %} tags of the chat template",
        "turn_content": "the turns of mask.roles, as Axolotl finds them in the template's text",
        "turn_full": "whole messages of mask.roles, their headers included",
        "parts": "the answers, encoded turn by turn as LLaMA-Factory does",
        "markers": "what stands after mask.response_marker, up to the next instruction",
        "segments": "the segments that the data marks as trained",
        "given": "the labels that stand in the data",
    },
    "mask.boundary": {
        "prompt_length": "after as many tokens as the prompt alone has",
        "common_prefix": "where the ids of the prompt alone and of the whole part",
    },
    "mask.prompt": {
        "last_assistant": "everything before the last answer",
        "column": "the prompt column of the row",
    },
    "mask.turns": {"all": "every one of them", "last": "the last one only"},
    "mask.terminator": {"train": "is trained: the model learns to stop", "mask": "is masked: the model never sees it"},
    "mask.trailing": {"train": "is trained with it", "mask": "is masked"},
    "length.over": {
        "cut_right": "its end is cut off",
        "cut_left": "its start is cut off",
        "drop": "it is dropped",
        "split": "it becomes several rows",
        "proportional": "prompt and answer are cut in proportion to their lengths (LLaMA-Factory)",
        "error": "it stops with an error",
    },
    "pack.strategy": {
        "none": "one row, one sequence",
        "bfd": "best fit decreasing: whole rows where they fit, the overlong cut (TRL)",
        "bfd_split": "best fit decreasing, the overlong split instead of cut (TRL)",
        "wrapped": "one stream of tokens, cut into equal lengths wherever that falls (TRL)",
        "multipack": "first fit decreasing within groups of rows, while batches are drawn (Axolotl)",
        "knapsack": "greedy knapsack within groups of rows (LLaMA-Factory packing)",
        "neat": "greedy knapsack, rows kept apart in attention (LLaMA-Factory neat_packing)",
        "sequential": "rows in order until a sequence is full (torchtune)",
    },
    "batch.pad_side": {
        "tokenizer": "where the tokenizer pads",
        "right": "after the row",
        "left": "before the row",
    },
    "batch.pad_to": {"longest": "the longest row of the batch", "max": "length.max"},
    "batch.attention": {
        "ones": "1 for every token, 0 for padding",
        "doc_ids": "the number of the document in its pack, 0 for padding",
        "none": "none is handed over",
    },
    "loss.shift": {
        "internal": "the model shifts: labels are stored as they stand",
        "preshifted": "the data is stored shifted: labels[i] is the token after input_ids[i]",
    },
    "loss.weights": {"none": "every trained token counts alike", "float": "each message's weight counts"},
}


def meaning(path: str, choice: Any) -> str:
    """What a choice of a knob does; "" for one that says it itself, as a trainer's name does."""
    return MEANINGS.get(path, {}).get(choice, "") if isinstance(choice, str) else ""
