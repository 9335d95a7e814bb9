"""A row at a time, as a script of one's own would do it: the source of preprocess.py, and the only second form of the
rules.

Nothing of sftui runs it. `preprocess` copies out what a recipe needs (see `copying`), so it is written to be read
there: names in capitals stand at the top of the script with the recipe's values, `CONFIG.name` becomes its value, and
a branch that these rule out is left out with its comments. `tests/unit/exports/test_exports_plain.py` holds it equal to
`pipeline.inspect`.
"""

from __future__ import annotations

import argparse
import datetime
import difflib
import gzip
import itertools
import json
import sys
from collections.abc import Iterator
from typing import Any

import datasets
import transformers
from transformers import AutoTokenizer, PreTrainedTokenizerFast
from transformers.utils import chat_template_utils

from sftui.exports.preprocess import Config

Row = dict[str, Any]
Message = dict[str, Any]
Example = dict[str, list[int]]

CONFIG = Config("")

DATA: list[str] = []
PARTS: list[tuple[int, int | None]] = []  # first row, and one after the last
DATASET: dict[str, str] = {}  # what load_dataset takes besides the name
TOKENIZER = ""
TOKENIZER_CLASS = ""
REVISION = ""
DATE = ""
IGNORE = -100  # the label of a masked token: no loss there
MAX_LENGTH: int | None = None
KEYS: dict[str, str] = {}  # key in the data: key in the template
ROLES: dict[str, str] = {}  # role in the data: role in the template
TEMPLATE_VARIABLES: dict[str, Any] = {}
CHAT_TEMPLATE: str | None = None


class Day(datetime.datetime):
    """The day that the chat template writes, whenever this runs."""

    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> Day:
        return cls.fromisoformat(DATE)


if DATE:
    chat_template_utils.datetime = Day


def read_rows(paths: list[str]) -> Iterator[Any]:
    """Every row of the data, in order."""
    if CONFIG.rows == "lines":
        # None stands for a line that is not a JSON object.
        for path in paths:
            with gzip.open(path, "rb") if CONFIG.packed and path.endswith(".gz") else open(path, "rb") as file:
                for line in file:
                    if line.strip():
                        try:
                            row = json.loads(line.decode("utf-8-sig"))
                        except ValueError:
                            row = None
                        yield row if isinstance(row, dict) else None
    elif CONFIG.rows == "list":
        # None stands for an element that is not a JSON object.
        for path in paths:
            with gzip.open(path, "rb") if CONFIG.packed and path.endswith(".gz") else open(path, "rb") as file:
                rows = json.loads(file.read().decode("utf-8-sig"))
            for row in rows if isinstance(rows, list) else [rows]:
                yield row if isinstance(row, dict) else None
    else:
        yield from CONFIG.rows


def read_parts(paths: list[str]) -> Iterator[Any]:
    """The rows of those parts of the data that PARTS names."""
    for start, stop in PARTS:
        yield from itertools.islice(read_rows(paths), start, stop)


def load_tokenizer(name: str) -> Any:
    """The tokenizer, without running code from its repository."""
    if CONFIG.tokenizer_file:
        tokenizer = PreTrainedTokenizerFast(tokenizer_file=name)
    elif TOKENIZER_CLASS:
        loader = getattr(transformers, TOKENIZER_CLASS)
        if REVISION:
            tokenizer = loader.from_pretrained(name, trust_remote_code=False, revision=REVISION)
        else:
            tokenizer = loader.from_pretrained(name, trust_remote_code=False)
    elif REVISION:
        tokenizer = AutoTokenizer.from_pretrained(name, trust_remote_code=False, revision=REVISION)
    else:
        tokenizer = AutoTokenizer.from_pretrained(name, trust_remote_code=False)
    if CONFIG.tokenizer.bos_token is not None:
        tokenizer.bos_token = CONFIG.tokenizer.bos_token
    if CONFIG.tokenizer.eos_token is not None:
        tokenizer.eos_token = CONFIG.tokenizer.eos_token
    if CONFIG.tokenizer.pad_token is not None:
        tokenizer.pad_token = CONFIG.tokenizer.pad_token
    return tokenizer


def from_text(value: Any) -> Any:
    """A column that may be stored as JSON text."""
    if isinstance(value, str):
        return json.loads(value) if value.strip() else None
    return value


def text_of(row: Row, column: str) -> str:
    """A column that must hold text."""
    text = row[column]
    if not isinstance(text, str):
        raise ValueError(f"{column} is not text")
    return text


def text_if_any(row: Row, column: str) -> str:
    """A column that holds text or nothing."""
    return "" if row.get(column) is None else text_of(row, column)


def add_calls(message: Message) -> None:
    """A ShareGPT function_call holds JSON: it becomes the tool_calls of an assistant message."""
    try:
        calls = json.loads(message["content"]) if isinstance(message.get("content"), str) else message.get("content")
    except ValueError:
        return
    calls = calls if isinstance(calls, list) else [calls]
    if calls and all(isinstance(c, dict) and isinstance(c.get("name"), str) and "arguments" in c for c in calls):
        message["content"] = ""
        message["tool_calls"] = [
            {"type": "function", "function": {"name": c["name"], "arguments": c["arguments"]}} for c in calls
        ]


def read_turns(turns: Any) -> list[Message]:
    """Messages as the chat template takes them."""
    if isinstance(turns, str):
        turns = json.loads(turns)
    if not isinstance(turns, (list, tuple)) or not turns:
        raise ValueError("no messages")
    messages = []
    for turn in turns:
        if not isinstance(turn[CONFIG.role_key], str):
            raise ValueError("a message without a role")
        if CONFIG.content_key not in turn:
            if CONFIG.content_key != "content":
                raise ValueError("a message without its content")
            elif difflib.get_close_matches("content", turn, cutoff=0.75) or "value" in turn or "text" in turn:
                raise ValueError("a message without content")
        if KEYS:
            taken = {KEYS[key] for key in KEYS if key in turn}
            message = {KEYS.get(key, key): turn[key] for key in turn if key in KEYS or key not in taken}
        else:
            message = dict(turn)
        if ROLES:
            message["role"] = ROLES.get(turn[CONFIG.role_key], turn[CONFIG.role_key])
        if CONFIG.function_calls and turn[CONFIG.role_key] == "function_call":
            add_calls(message)
        messages.append(message)
    return messages


def add_system(messages: list[Message], row: Row) -> None:
    """The row's own system text goes first, unless the messages begin with one."""
    system = text_if_any(row, CONFIG.system)
    if system and messages[0]["role"] != "system":
        messages.insert(0, {"role": "system", "content": system})


def alpaca_messages(row: Row) -> list[Message]:
    """The Alpaca row as messages, with the prompt text around its instruction."""
    instruction, output = text_of(row, CONFIG.columns.instruction), text_of(row, CONFIG.columns.output)
    given = text_if_any(row, CONFIG.columns.input)
    messages: list[Message] = []
    for pair in row.get(CONFIG.columns.history) or []:
        if not isinstance(pair, (list, tuple)) or [type(turn) for turn in pair] != [str, str]:
            raise ValueError("the history is not a list of text pairs")
        messages.append({"role": "user", "content": pair[0]})
        messages.append({"role": "assistant", "content": pair[1]})
    if CONFIG.data.alpaca_prompt == "newline":
        prompt = f"{instruction}\n{given}" if given else instruction
    elif CONFIG.data.alpaca_prompt == "blank_line":
        prompt = f"{instruction}\n\n{given}" if given else instruction
    elif given:
        prompt = (
            "Below is an instruction that describes a task, paired with an input that provides further context. "
            "Write a response that appropriately completes the request.\n\n"
            f"### Instruction:\n{instruction}\n\n### Input:\n{given}\n\n### Response:"
        )
    else:
        prompt = (
            "Below is an instruction that describes a task. "
            "Write a response that appropriately completes the request.\n\n"
            f"### Instruction:\n{instruction}\n\n### Response:"
        )
    messages.append({"role": "user", "content": prompt})
    messages.append({"role": "assistant", "content": output})
    if CONFIG.system:
        add_system(messages, row)
    return messages


def pair_messages(row: Row) -> list[Message]:
    """The prompt and the completion as a user and an assistant message."""
    listed = isinstance(row[CONFIG.columns.prompt], (list, tuple))
    if listed != isinstance(row[CONFIG.columns.completion], (list, tuple)):
        raise ValueError("the prompt and the completion are not both text or both messages")
    if listed:
        return read_turns(row[CONFIG.columns.prompt]) + read_turns(row[CONFIG.columns.completion])
    messages = [
        {"role": "user", "content": text_of(row, CONFIG.columns.prompt)},
        {"role": "assistant", "content": text_of(row, CONFIG.columns.completion)},
    ]
    if CONFIG.system:
        add_system(messages, row)
    return messages


def template_options(row: Row) -> dict[str, Any]:
    """What goes to the chat template besides the messages; a row's own variables win."""
    options: dict[str, Any] = dict(TEMPLATE_VARIABLES) if TEMPLATE_VARIABLES else {}
    if CONFIG.variables:
        variables = from_text(row.get(CONFIG.variables))
        if not isinstance(variables, (dict, type(None))):
            raise ValueError("the template variables are not a mapping")
        options.update(variables or {})
    if CONFIG.tools:
        options["tools"] = from_text(row.get(CONFIG.tools))
        if not isinstance(options["tools"], (list, tuple, type(None))):
            raise ValueError("the tools are not a list")
    if CHAT_TEMPLATE is not None:
        options["chat_template"] = CHAT_TEMPLATE
    return options


def render(messages: list[Message], tokenizer: Any, options: dict[str, Any], prompt: bool = False) -> str:
    """The text of a conversation; `prompt`: with the header of the answer to come."""
    text: str = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=prompt, **options)
    if CONFIG.tokenize.bos == "strip_text":
        text = text.removeprefix(tokenizer.bos_token or "")
    return text


def answer_spans(messages: list[Message], text: str, tokenizer: Any, options: dict[str, Any]) -> list[tuple[int, int]]:
    """Where each answer that is trained stands in the text: from behind its header to its end.

    A row where that could only be guessed is refused.
    """
    turns = [i for i, message in enumerate(messages) if message["role"] == "assistant"]
    spans = []
    for i in turns[-1:] if CONFIG.mask.turns == "last" else turns:
        if isinstance(messages[i].get("content"), str) and messages[i]["content"].isspace():
            raise ValueError("the answer is only whitespace: its position in the text is uncertain")
        if i == 0:
            raise ValueError("the conversation begins with an answer: the end of its header is uncertain")
        before = render(messages[:i], tokenizer, options, prompt=True)
        after = render(messages[: i + 1], tokenizer, options)
        if not (text.startswith(after) and after.startswith(before)):
            raise ValueError("the chat template renders earlier turns differently")
        spans.append((len(before), len(after)))
    return spans


def whole_numbers(values: Any) -> list[int]:
    """A column that must hold whole numbers."""
    if not isinstance(values, (list, tuple)) or any(type(value) is not int for value in values):
        raise ValueError("not a list of integers")
    return list(values)


def stored(row: Row, tokenizer: Any) -> tuple[list[int], list[int], list[int]]:
    """The ids, labels and attention mask that a row brings."""
    input_ids = whole_numbers(row[CONFIG.columns.input_ids])
    if row.get(CONFIG.columns.labels) is not None:
        labels = whole_numbers(row[CONFIG.columns.labels])
    elif CONFIG.mask.rule == "all":
        labels = list(input_ids)
    else:
        raise ValueError("ids without labels")
    attention_mask = [1] * len(input_ids)
    if row.get(CONFIG.columns.attention_mask) is not None:
        attention_mask = whole_numbers(row[CONFIG.columns.attention_mask])
    if not len(labels) == len(attention_mask) == len(input_ids) > 0:
        raise ValueError("ids, labels and attention mask differ in length, or are empty")
    if CONFIG.shifted and (CONFIG.mask.rule != "all" or row.get(CONFIG.columns.labels) is not None):
        # The labels are stored shifted by one: put them back in line with their ids. Where the row is padded, the token
        # that was cut goes where the padding begins.
        end = len(input_ids) - next((n for n, on in enumerate(reversed(attention_mask)) if on), 0)
        if end < len(input_ids) and labels[end - 1] != -100:
            input_ids[end], attention_mask[end] = labels[end - 1], 1
        last = labels.pop()
        labels.insert(0, -100)
        if last != -100:
            labels.append(last)
            input_ids.append(last)
            attention_mask.append(1)
    if min(input_ids) < 0 or max(input_ids) >= len(tokenizer):
        raise ValueError("an id that is not in the vocabulary")
    return input_ids, labels, attention_mask


def prepare(row: Row | None, tokenizer: Any) -> Example | None:
    """input_ids, labels and attention_mask of one row; None where it is dropped."""
    if row is None:
        raise ValueError("not a JSON object")

    if CONFIG.format == "tokenized":
        input_ids, labels, attention_mask = stored(row, tokenizer)
        if IGNORE != -100:
            labels = [IGNORE if label == -100 else label for label in labels]
    else:
        if CONFIG.format == "text":
            text = text_of(row, CONFIG.columns.text)
            if CONFIG.tokenize.bos == "strip_text":
                text = text.removeprefix(tokenizer.bos_token or "")
        else:
            if CONFIG.format == "messages":
                messages = read_turns(row[CONFIG.columns.messages])
                if CONFIG.system:
                    add_system(messages, row)
            elif CONFIG.format == "alpaca":
                messages = alpaca_messages(row)
            else:
                messages = pair_messages(row)
            if CONFIG.render.inject_system is not None and all(message["role"] != "system" for message in messages):
                messages.insert(0, {"role": "system", "content": CONFIG.render.inject_system})
            options = {} if CONFIG.bare else template_options(row)
            if CONFIG.mask.rule != "generation_tag":
                text = render(messages, tokenizer, options)
            if CONFIG.format != "alpaca":
                if CONFIG.mask.rule == "completion" and messages[-1]["role"] != "assistant":
                    return None
                if CONFIG.mask.rule == "assistant" and all(message["role"] != "assistant" for message in messages):
                    return None

        if CONFIG.mask.rule == "generation_tag":
            encoded = tokenizer.apply_chat_template(
                messages, tokenize=True, return_dict=True, return_assistant_tokens_mask=True, **options
            )
            input_ids = list(encoded["input_ids"])
            labels = [token if on else IGNORE for token, on in zip(input_ids, encoded["assistant_masks"])]
        elif CONFIG.mask.rule == "assistant":
            encoded = tokenizer(
                text, add_special_tokens=CONFIG.tokenize.add_special_tokens, return_offsets_mapping=True
            )
            input_ids = encoded["input_ids"]
            spans = answer_spans(messages, text, tokenizer, options)
            labels = [
                token if any(start <= at < end for start, end in spans) else IGNORE
                for token, (at, _) in zip(input_ids, encoded["offset_mapping"])
            ]
        else:
            if CONFIG.tokenize.append_eos == "if_missing_text" and not text.endswith(tokenizer.eos_token):
                text += tokenizer.eos_token
            input_ids = tokenizer(text, add_special_tokens=CONFIG.tokenize.add_special_tokens)["input_ids"]
            if CONFIG.tokenize.append_eos == "always":
                input_ids.append(tokenizer.eos_token_id)
            if CONFIG.tokenize.append_eos == "if_missing_ids" and input_ids[-1:] != [tokenizer.eos_token_id]:
                input_ids.append(tokenizer.eos_token_id)
            if CONFIG.tokenize.bos == "drop_second" and input_ids[:2] == [tokenizer.bos_token_id] * 2:
                del input_ids[0]
            labels = list(input_ids)
            if CONFIG.prompt_alone:
                prompt = render(messages[:-1], tokenizer, options, prompt=True)
                prompt_ids = tokenizer(prompt, add_special_tokens=CONFIG.tokenize.add_special_tokens)["input_ids"]
                if CONFIG.tokenize.bos == "drop_second" and prompt_ids[:2] == [tokenizer.bos_token_id] * 2:
                    del prompt_ids[0]
                if CONFIG.mask.boundary == "prompt_length":
                    masked = min(len(prompt_ids), len(input_ids))
                else:
                    masked = 0  # only what both tokenizations share is the prompt
                    while masked < min(len(prompt_ids), len(input_ids)) and prompt_ids[masked] == input_ids[masked]:
                        masked += 1
                labels[:masked] = [IGNORE] * masked
        attention_mask = [1] * len(input_ids)

    if CONFIG.length.min_tokens and len(input_ids) < CONFIG.length.min_tokens:
        return None
    example = {"input_ids": input_ids, "labels": labels, "attention_mask": attention_mask}
    if MAX_LENGTH is not None:
        if CONFIG.length.over == "cut_right":
            example = {name: values[:MAX_LENGTH] for name, values in example.items()}
        elif CONFIG.length.over == "cut_left":
            example = {name: values[-MAX_LENGTH:] for name, values in example.items()}
        elif CONFIG.length.over == "drop":
            if len(input_ids) > MAX_LENGTH:
                return None
        elif len(input_ids) > MAX_LENGTH:
            raise ValueError("the row is longer than MAX_LENGTH")
    if CONFIG.length.drop_unlabelled and all(label == IGNORE for label in example["labels"]):
        return None
    if CONFIG.loss.shift == "preshifted":
        # The training loop does not shift: labels[i] is what follows input_ids[i].
        example = {name: values[1:] if name == "labels" else values[:-1] for name, values in example.items()}
    return example


def main() -> int:
    parser = argparse.ArgumentParser(description="Prepare the data for training.")
    parser.add_argument("--data", nargs="+", default=DATA)
    parser.add_argument("--tokenizer", default=TOKENIZER)
    parser.add_argument("--out", default="prepared")
    arguments = parser.parse_args()

    tokenizer = load_tokenizer(arguments.tokenizer)
    rows = read_parts(arguments.data) if PARTS else read_rows(arguments.data)
    records, dropped, failed = [], 0, []
    for number, row in enumerate(rows):
        try:
            example = prepare(row, tokenizer)
        except Exception as error:  # a row that the chat template refuses, say: the others still count
            failed.append(f"row {number}: {type(error).__name__}: {error}")
            continue
        if example is None:
            dropped += 1
            continue
        records.append({"row": number, **example})

    if arguments.out.endswith(".jsonl"):
        with open(arguments.out, "w", encoding="utf-8") as file:
            for record in records:
                file.write(json.dumps(record) + "\n")
    elif arguments.out.endswith(".parquet"):
        datasets.Dataset.from_list(records).to_parquet(arguments.out)
    else:
        datasets.Dataset.from_list(records).save_to_disk(arguments.out)

    print(f"{len(records)} rows prepared, {dropped} dropped, {len(failed)} failed", file=sys.stderr)
    for message in failed[:20]:
        print(ascii(message), file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
