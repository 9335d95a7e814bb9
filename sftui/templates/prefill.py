"""`continue_final_message`: a conversation whose last message stays open, as transformers 5.23 renders it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sftui.errors import TemplateError

_TAG = "CONTINUE_FINAL_MESSAGE_TAG "
_REASONING_KEYS = ("reasoning_content", "thinking", "reasoning")


def tag_last(messages: Sequence[dict[Any, Any]], field: bool | str, source: str) -> tuple[list[dict[Any, Any]], str]:
    """The messages with a tag after the last one's text, and that text; TemplateError where it cannot be continued.

    `field` names the key to continue, True means `content`; `source` is the template's own, which must read it.
    """
    key = field if isinstance(field, str) else "content"
    last = dict(messages[-1])
    text = last.get(key)
    if text is None:
        raise TemplateError("the last message cannot be continued", why=f'it has no "{key}"')
    keys = [name for name in _REASONING_KEYS if last.get(name) == text] if key in _REASONING_KEYS else [key]
    if not any(name in source for name in keys):
        raise TemplateError("the last message cannot be continued", why=f'the chat template does not read "{key}"')
    if isinstance(text, (list, tuple)):
        parts = list(text)
        for number in range(len(parts) - 1, -1, -1):
            if "text" in parts[number]:
                text = parts[number]["text"]
                parts[number] = {**parts[number], "text": text + _TAG}
                break
        else:
            raise TemplateError("the last message cannot be continued", why="none of its parts is text")
        last[key] = parts
    elif isinstance(text, str):
        last.update({name: text + _TAG for name in keys})
    else:
        raise TemplateError("the last message cannot be continued", why=f'its "{key}" is not text')
    return [*messages[:-1], last], str(text)


def cut_at_tag(rendered: str, text: str) -> str:
    """The rendered text up to where the last message's own text ends; TemplateError where the template lost it."""
    if text.strip() not in rendered or _TAG.strip() not in rendered:
        raise TemplateError(
            "the last message cannot be continued", why="it does not appear in the rendered text as it is"
        )
    at = rendered.rindex(_TAG.strip())
    whole = rendered[at : at + len(_TAG)] == _TAG
    return rendered[:at] if whole else rendered[:at].rstrip()
