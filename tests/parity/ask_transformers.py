"""What one version of transformers makes of tokenizers and templates: `python ask_transformers.py REQUEST RESULTS`.

Run by the Python of that version's environment, so nothing but transformers and the standard library is imported here.
REQUEST is JSON: `tokenizers` (name, folder, texts, chats) and `renders` (name, folder of any tokenizer, template,
messages, tools, kwargs, prompt). RESULTS gets one JSON object a line, in that order: what came of it, or `error` with
its type and message. Values that JSON has not stand as `{"$": TYPE, "value": TEXT}` in the request.
"""

from __future__ import annotations

import datetime
import decimal
import json
import os
import sys
import uuid
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

NOW = datetime.datetime(2026, 11, 20, 12, 30)
READERS: dict[str, object] = {
    "datetime": datetime.datetime.fromisoformat,
    "date": datetime.date.fromisoformat,
    "time": datetime.time.fromisoformat,
    "timedelta": lambda text: datetime.timedelta(seconds=float(text)),
    "Decimal": decimal.Decimal,
    "bytes": bytes.fromhex,
    "UUID": uuid.UUID,
    "tuple": tuple,
    "pairs": dict,
}


def read(value: Any) -> Any:
    """The request's value with what JSON has not put back."""
    if isinstance(value, dict):
        if set(value) == {"$", "value"}:
            made = READERS[value["$"]]
            assert callable(made)
            return made(read(value["value"]))
        return {key: read(one) for key, one in value.items()}
    return [read(one) for one in value] if isinstance(value, list) else value


def tokenizer_of(folder: Any, loaded: Any = {}) -> Any:  # noqa: B006 (one process, one cache)
    from transformers import AutoTokenizer

    if folder not in loaded:
        loaded[folder] = AutoTokenizer.from_pretrained(folder)
    return loaded[folder]


def attempt(make: Any) -> Any:
    """What `make` gives, or the error it ends with."""
    try:
        return make()
    except BaseException as error:  # whatever it is, tokenizers' panics too, it is what that version does
        if isinstance(error, KeyboardInterrupt):
            raise
        return {"error": type(error).__name__, "message": str(error)[:300]}


def encoded(tokenizer: Any, text: Any) -> Any:
    """Ids with and without special tokens, and the offsets where the backend has them."""
    made = {
        "ids": tokenizer(text, add_special_tokens=False)["input_ids"],
        "with_special": tokenizer(text)["input_ids"],
    }
    if tokenizer.is_fast:
        made["offsets"] = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
    return made


def asked_of_tokenizer(one: Any) -> Any:
    tokenizer = tokenizer_of(one["folder"])

    def chat(messages: Any) -> Any:
        text = tokenizer.apply_chat_template(messages, tokenize=False)
        return {"text": text, "ids": tokenizer.apply_chat_template(messages, tokenize=True, return_dict=False)}

    return {
        "class": type(tokenizer).__name__,
        "fast": bool(tokenizer.is_fast),
        "special_tokens": {key: str(value) for key, value in tokenizer.special_tokens_map.items()},
        "chat_template": tokenizer.chat_template,
        "length": len(tokenizer),
        "added": [token.content for _, token in sorted(tokenizer.added_tokens_decoder.items())],
        "texts": [attempt(lambda text=text: encoded(tokenizer, text)) for text in one["texts"]],
        "chats": [attempt(lambda messages=messages: chat(read(messages))) for messages in one["chats"]],
    }


def asked_to_render(one: Any) -> Any:
    """The rendered text, with and without the generation prompt, the generation spans in characters, and which tokens
    the mask that is drawn of them trains."""
    from transformers import tokenization_utils_base

    tokenizer = tokenizer_of(one["folder"])
    given = dict(tools=read(one.get("tools")), chat_template=one["template"])
    kwargs = {key: read(value) for key, value in (one.get("kwargs") or {}).items()}
    seen = []
    inner = tokenization_utils_base.render_jinja_template

    def watched(*args: Any, **named: Any) -> Any:
        seen.append(inner(*args, **named))
        return seen[-1]

    def text(prompt: Any) -> Any:
        return tokenizer.apply_chat_template(
            read(one["messages"]), add_generation_prompt=prompt, tokenize=False, **given, **kwargs
        )

    def mask() -> Any:
        tokenization_utils_base.render_jinja_template = watched
        try:
            return tokenizer.apply_chat_template(
                read(one["messages"]), return_dict=True, return_assistant_tokens_mask=True, **given, **kwargs
            )["assistant_masks"]
        finally:
            tokenization_utils_base.render_jinja_template = inner

    made = {"text": attempt(lambda: text(False)), "prompt": attempt(lambda: text(True))}
    if "{% generation %}" in one["template"]:
        made["mask"] = attempt(mask)
        made["spans"] = seen[-1][1][0] if seen else made["mask"]
    return made


def main() -> None:
    import transformers
    from transformers.utils import chat_template_utils

    class Fixed(datetime.datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return NOW

    chat_template_utils.datetime = Fixed
    transformers.logging.set_verbosity_error()
    with open(sys.argv[1], encoding="utf-8") as file:
        request = json.load(file)
    with open(sys.argv[2], "w", encoding="utf-8") as out:
        out.write(json.dumps({"transformers": transformers.__version__}) + "\n")
        for kind, ask in (("tokenizers", asked_of_tokenizer), ("renders", asked_to_render)):
            for one in request.get(kind, ()):
                made = attempt(lambda ask=ask, one=one: ask(one))
                out.write(json.dumps({"kind": kind, "name": one["name"], **made}, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
