"""`continue_final_message`: a conversation whose last message stays open, as each transformers renders it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sftui.errors import TemplateError
from sftui.templates.behaviour import REASONING_KEYS, Rendering

_TAG = "CONTINUE_FINAL_MESSAGE_TAG "


def tag_last(
    messages: Sequence[dict[Any, Any]], field: bool | str, source: str, rendering: Rendering
) -> tuple[list[dict[Any, Any]], str]:
    """The messages with a tag after the last one's text, and that text; TemplateError where it cannot be continued.

    `field` names the key to continue, True means `content`; `source` is the template's own, which must read it.
    Before 4.57 no tag is put: the text itself is looked for.
    """
    by_key = rendering.continues in ("key", "reasoning")
    key = field if isinstance(field, str) and by_key else "content"
    last = dict(messages[-1])
    text = last.get(key)
    if text is None:
        raise TemplateError("the last message cannot be continued", why=f'it has no "{key}"')
    keys = [key]
    if rendering.continues == "reasoning" and key in REASONING_KEYS:
        keys = [name for name in REASONING_KEYS if last.get(name) == text]
    if by_key and not any(name in source for name in keys):
        raise TemplateError("the last message cannot be continued", why=f'the chat template does not read "{key}"')
    tag = "" if rendering.continues == "text" else _TAG
    if isinstance(text, (list, tuple)):
        parts = list(text)
        for number in range(len(parts) - 1, -1, -1):
            if "text" in parts[number]:
                text = parts[number]["text"]
                parts[number] = {**parts[number], "text": text + tag}
                break
        else:
            raise TemplateError("the last message cannot be continued", why="none of its parts is text")
        last[key] = parts
    elif isinstance(text, str):
        last.update({name: text + tag for name in keys})
    else:
        raise TemplateError("the last message cannot be continued", why=f'its "{key}" is not text')
    return [*messages[:-1], last], str(text)


def cut(rendered: str, text: str, rendering: Rendering) -> str:
    """The rendered text up to where the last message's own text ends; TemplateError where the template lost it."""
    tag = "" if rendering.continues == "text" else _TAG
    if text.strip() not in rendered or tag.strip() not in rendered:
        raise TemplateError(
            "the last message cannot be continued", why="it does not appear in the rendered text as it is"
        )
    if not tag:
        at = rendered.rindex(text.strip())
        whole = rendered[at : at + len(text.lstrip())] == text
        return rendered[: at + len(text.lstrip() if whole else text.strip())]
    at = rendered.rindex(tag.strip())
    return rendered[:at] if rendered[at : at + len(tag)] == tag else rendered[:at].rstrip()
