"""torchtune's prompt templates: texts that it puts around the contents of a role's messages, encoded apart from them.

Source: torchtune 0.6.1 and main (0.7), data/_prompt_templates.py, models/mistral/_prompt_template.py and
models/llama2/_prompt_template.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sftui.errors import RecipeError
from sftui.model import Message, Part

CHATML = "ChatMLTemplate"
TEMPLATES: Mapping[str, Mapping[str, Sequence[str]]] = {
    CHATML: {role: (f"<|im_start|>{role}\n", "<|im_end|>\n") for role in ("system", "user", "assistant")},
    "GrammarErrorCorrectionTemplate": {"user": ("Correct this to standard English: ", "\n---\nCorrected: ")},
    "SummarizeTemplate": {"user": ("Summarize this dialogue:\n", "\n---\nSummary:\n")},
    "QuestionAnswerTemplate": {"user": ("Question: ", "\n\nAnswer: ")},
}
MISTRAL, LLAMA2 = "torchtune.models.mistral.MistralChatTemplate", "torchtune.models.llama2.Llama2ChatTemplate"
MODEL_TEMPLATES = tuple(one.rpartition(".")[2] for one in (MISTRAL, LLAMA2))
"""Those of a model, which sftui knows with SentencePiece tokenizers."""
_INSTRUCTION, _SYSTEM = ("[INST] ", " [/INST] "), ("<<SYS>>\n", "\n<</SYS>>\n\n")
_PLAIN = ("assistant", "ipython")
"""The roles that MistralChatTemplate puts nothing but empty texts around."""


Items = tuple[tuple[str, Part], ...]
"""Texts that are encoded one by one, and what part of a message each is."""


@dataclass(frozen=True, slots=True)
class TemplateTurn:
    """A message as a template leaves it: the texts that are encoded one by one, and what part of it each is."""

    number: int
    role: str
    items: Items


def short_name(template: Any) -> str:
    """A template's name without its module; empty where it has none."""
    return template.rpartition(".")[2] if isinstance(template, str) else ""


def unknown_template(template: str, choices: Iterable[str], where: str = "") -> RecipeError:
    """The error for a template of torchtune's that is none of those that sftui knows with a tokenizer."""
    what = f"sftui does not know torchtune's prompt template {template}"
    what += " with this tokenizer" * (short_name(template) in MODEL_TEMPLATES)
    return RecipeError(what, where=where, fix=f"choose one of {', '.join(choices)}, or write it as a mapping")


def around(template: Any, role: str) -> tuple[str, str]:
    """What stands before and behind the contents of a role's messages; RecipeError for what is no template."""
    if template is None:
        return "", ""
    name = short_name(template)
    known = TEMPLATES.get(name) if isinstance(template, str) else template
    if known is None:
        raise unknown_template(template, TEMPLATES)
    if not isinstance(known, Mapping):
        what = "prompt_template is neither a name nor a mapping of roles"
        raise RecipeError(what, fix="write {role: [before, after]}")
    if name == CHATML and role not in (*known, "ipython"):
        raise RecipeError(f"torchtune's ChatMLTemplate does not support the role {role!r}", fix="rename the role")
    pair = known.get(role) or ("", "")
    if isinstance(pair, str) or len(pair) != 2:
        raise RecipeError(f"prompt_template of `{role}` is not a pair of strings", fix="write [before, after]")
    return str(pair[0] or ""), str(pair[1] or "")


def turns(messages: Sequence[Message], template: Any) -> Iterator[TemplateTurn]:
    """The messages under any template; RecipeError where it stops."""
    name = short_name(template)
    if name == short_name(MISTRAL):
        yield from _mistral(messages)
    elif name == short_name(LLAMA2):
        yield from _llama2(messages)
    else:
        last = len(messages) - 1
        for number, message in enumerate(messages):
            before, behind = around(template, message.role)
            items = _contents(message)
            if name == CHATML and number == last and message.role == "assistant" and not any(text for text, _ in items):
                behind = ""
            begin, end = ((before, Part.HEADER),) if before else (), ((behind, Part.SEPARATOR),) if behind else ()
            yield TemplateTurn(number, message.role, (*begin, *items, *end))


def _mistral(messages: Sequence[Message]) -> Iterator[TemplateTurn]:
    stops = "torchtune stops at this row: its MistralChatTemplate"
    for number, message in enumerate(messages):
        if message.role == "system":
            raise RecipeError(f"{stops} has no system message", fix="remove it, or set prompt_template")
        if message.role != "user" and message.role not in _PLAIN:
            raise RecipeError(f"{stops} does not support the role {message.role!r}", fix="rename the role")
        before, behind = _INSTRUCTION if message.role == "user" else ("", "")
        yield TemplateTurn(number, message.role, ((before, Part.HEADER), *_contents(message), (behind, Part.SEPARATOR)))


def _llama2(messages: Sequence[Message]) -> Iterator[TemplateTurn]:
    """The system message goes into every question; a role that the template does not know repeats what came before."""
    system: Items = ()
    items: Items | None = None
    for number, message in enumerate(messages):
        if message.role == "system":
            system = ((_SYSTEM[0], Part.HEADER), *_contents(message), (_SYSTEM[1], Part.HEADER))
            continue
        if message.role == "user":
            before, behind = _INSTRUCTION
            items = ((before, Part.HEADER), *system, *_contents(message), (behind, Part.SEPARATOR))
        elif message.role == "assistant":
            items = _contents(message)
        elif items is None:
            what = f"torchtune stops at this row: its Llama2ChatTemplate does not support the role {message.role!r}"
            raise RecipeError(what, fix="rename the role")
        yield TemplateTurn(number, message.role, items)


def message_texts(message: Message) -> Sequence[str]:
    """The texts of a message, each of which is encoded alone."""
    content = message.content
    return (content,) if isinstance(content, str) else [part["text"] for part in content]


def _contents(message: Message) -> Items:
    return tuple((text, Part.CONTENT) for text in message_texts(message))
