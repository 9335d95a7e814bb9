"""Chat templates as sftui holds them: compiled on first use, errors told in one sentence."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from sftui import bound
from sftui.errors import TemplateError
from sftui.side_files import parse_json, read_side_file
from sftui.templates import limits

_GENERATION_TAG = re.compile(r"\{%-?\s*generation\s*-?%\}")
_REASONING_KEYS = ("reasoning_content", "thinking", "reasoning")
EMPTY_CONVERSATION = "Cannot apply chat template to an empty conversation. Provide at least one message."

Spans = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class TemplateFeatures:
    """What a template reads and offers; `variables` are the names it expects from outside."""

    generation_tag: bool
    generation_prompt: bool
    tools: bool
    documents: bool
    reasoning: bool
    date: bool
    raises: bool
    variables: frozenset[str]


class ChatTemplate:
    """A compiled chat template: `text` renders messages as `apply_chat_template(tokenize=False)` does.

    Pickles by its source. Renders of one template in two threads take turns. `normalizes` says
    whether messages are made regular before they are rendered (see `prepare_messages`).
    """

    __slots__ = ("_clock", "_environment", "_lock", "_template", "has_generation_tag", "name", "normalizes", "source")

    def __init__(self, source: str, name: str, clock: Callable[[], datetime] | None = None) -> None:
        from sftui.templates import sandbox

        self.source = source
        self.name = name
        self.has_generation_tag = _GENERATION_TAG.search(source) is not None
        self.normalizes = True
        self._clock = clock
        self._lock = threading.Lock()
        if len(source) > limits.SOURCE_LIMIT:
            raise TemplateError(f"the chat template {name} is longer than {limits.SOURCE_LIMIT >> 10} Ki characters")
        try:
            with bound.Work(bound.text_key("compile", source), stage="template"):
                self._environment, self._template = sandbox.compile_source(source, clock or datetime.now)
        except Exception as error:
            raise _compile_error(error, name) from error

    def __reduce__(self) -> tuple[object, ...]:
        made = (self.source, self.name, self._clock)
        return (ChatTemplate, made) if self.normalizes else (_taking_messages_as_they_are, made)

    def as_they_are(self) -> ChatTemplate:
        """This template as transformers up to 5.17 renders it: keys that are None stay, and reasoning under its one
        name."""
        if not self.normalizes:
            return self
        twin = ChatTemplate.__new__(ChatTemplate)
        for name in self.__slots__:
            setattr(twin, name, getattr(self, name))
        twin.normalizes = False
        return twin

    def __repr__(self) -> str:
        return f"ChatTemplate({self.name!r}, {len(self.source)} characters)"

    def text(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Any = None,
        add_generation_prompt: bool = False,
        variables: Mapping[str, Any],
        documents: Any = None,
        continue_final_message: bool | str = False,
        now: datetime | None = None,
    ) -> tuple[str, Spans]:
        """The rendered text and the `{% generation %}` spans in it, in characters.

        `variables` are the special tokens and the template's own keyword arguments, merged. With
        `continue_final_message` the last message stays open and there are no spans. `now` stands for the
        time of day for templates that write a date. TemplateError for whatever goes wrong.
        """
        from sftui.templates import prefill, sandbox

        if not messages:
            raise TemplateError(
                "a chat template cannot render an empty conversation",
                where=self.name,
                why=EMPTY_CONVERSATION.rstrip("."),
            )
        prepared = prepare_messages(messages, normalize=self.normalizes)
        last_text = ""
        if continue_final_message:
            if add_generation_prompt:
                raise TemplateError("a conversation is either continued or given a generation prompt", where=self.name)
            prepared, last_text = prefill.tag_last(prepared, continue_final_message, self.source)
        documents = variables.get("documents") if documents is None else documents
        values = {
            **plain_data(dict(variables)),
            "messages": prepared,
            "tools": _tool_schemas(tools),
            "documents": plain_data(documents),
            "add_generation_prompt": add_generation_prompt,
        }
        with self._lock:
            environment = self._environment
            environment.clock = (lambda: now) if now is not None else (self._clock or datetime.now)
            try:
                with bound.Work(bound.text_key(self.source, values), stage="template"):
                    text, spans = sandbox.run(environment, self._template, values)
            except Exception as error:
                raise _render_error(error, self.name, prepared) from error
        return (prefill.cut_at_tag(text, last_text), ()) if continue_final_message else (text, spans)


def compile_template(source: str, name: str, *, clock: Callable[[], datetime] | None = None) -> ChatTemplate:
    """A template from its source; TemplateError where it cannot be parsed."""
    return ChatTemplate(source, name, clock)


def _taking_messages_as_they_are(source: str, name: str, clock: Callable[[], datetime] | None) -> ChatTemplate:
    return ChatTemplate(source, name, clock).as_they_are()


def load_template_file(path: str | Path) -> ChatTemplate:
    """The template of a `.jinja` file, or the one in a `tokenizer_config.json`; TemplateError."""
    file = Path(path)
    if os.path.isdir(file):
        file = next(
            (file / name for name in ("chat_template.jinja", "tokenizer_config.json") if (file / name).is_file()), file
        )
    source = read_side_file(file, "the chat template file", TemplateError)
    if file.suffix == ".json":
        source = _template_in_json(source, str(file))
    return compile_template(source, str(file))


def choose_template(chat_templates: Mapping[str, str], tools: Any = None) -> tuple[str, str]:
    """Name and source of the template that transformers takes (`get_chat_template`); TemplateError if none.

    With several named ones `tool_use` is taken where tools are given (an empty list counts), else `default`.
    """
    if tools is not None and "tool_use" in chat_templates:
        return "tool_use", chat_templates["tool_use"]
    if "default" in chat_templates:
        return "default", chat_templates["default"]
    if not chat_templates:
        raise TemplateError(
            "the tokenizer has no chat template", fix="choose one with --template NAME or --template FILE"
        )
    names = ", ".join(sorted(chat_templates))
    raise TemplateError(
        "the tokenizer has several chat templates and none is the default", fix=f"choose one of {names}"
    )


def features(template: ChatTemplate) -> TemplateFeatures:
    """What a template reads, from its source alone: nothing is rendered."""
    from sftui.templates import sandbox

    try:
        with bound.Work(bound.text_key("parse", template.source), stage="template"):
            names = sandbox.free_variables(template.source)
    except Exception as error:
        raise _compile_error(error, template.name) from error
    return TemplateFeatures(
        generation_tag=template.has_generation_tag,
        generation_prompt="add_generation_prompt" in names,
        tools="tools" in names,
        documents="documents" in names,
        reasoning=any(key in template.source for key in ("reasoning_content", ".thinking", "'thinking'")),
        date="strftime_now" in names,
        raises="raise_exception" in names,
        variables=names,
    )


def prepare_messages(messages: Sequence[Mapping[str, Any]], *, normalize: bool = True) -> list[dict[Any, Any]]:
    """Messages as a template of transformers 5.23 sees them; without `normalize`, of 5.17 and before.

    Everything becomes plain JSON types. To normalize is to drop keys whose value is None and to give
    reasoning under both `reasoning_content` and `thinking`, whatever name it came under.
    """
    prepared = []
    for message in messages:
        if not isinstance(message, Mapping):
            raise TemplateError("a message is not a mapping with a role", why=f"it is a {type(message).__name__}")
        plain = {
            plain_data(key): plain_data(value) for key, value in message.items() if value is not None or not normalize
        }
        if not normalize:
            prepared.append(plain)
            continue
        reasoning = next((plain[key] for key in _REASONING_KEYS if plain.get(key) is not None), None)
        if reasoning is not None:
            plain = {"thinking": reasoning, **plain, "reasoning_content": reasoning}
        prepared.append(plain)
    return prepared


def plain_data(value: Any) -> Any:
    """The value rebuilt out of plain JSON types; anything else becomes `<TypeName>`, as in transformers."""
    kind = type(value)
    if value is None or kind in (str, int, float, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, Mapping):
        return {plain_data(key): plain_data(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain_data(item) for item in value]
    if isinstance(value, tuple):
        return tuple(plain_data(item) for item in value)
    if kind.__module__ == "numpy" and callable(getattr(value, "item", None)) and getattr(value, "shape", None) == ():
        return plain_data(value.item())
    if is_dataclass(value) and not isinstance(value, type):
        return plain_data(asdict(value))
    return f"<{kind.__name__}>"


def _tool_schemas(tools: Any) -> Any:
    if tools is None:
        return None
    if not isinstance(tools, (list, tuple)) or not all(isinstance(tool, Mapping) for tool in tools):
        raise TemplateError("tools must be a list of JSON schemas")
    return [plain_data(tool) for tool in tools]


def _template_in_json(text: str, where: str) -> str:
    try:
        config = parse_json(text)
    except ValueError as error:
        raise TemplateError("the file is not JSON", where=where, why=str(error)) from error
    found = config.get("chat_template") if isinstance(config, dict) else None
    if isinstance(found, list):
        named = {
            str(entry["name"]): str(entry["template"])
            for entry in found
            if isinstance(entry, dict) and {"name", "template"} <= set(entry)
        }
        return choose_template(named)[1]
    if not isinstance(found, str):
        raise TemplateError(
            "the file holds no chat template", where=where, fix="name a .jinja file or a tokenizer_config.json with one"
        )
    return found


def _compile_error(error: Exception, name: str) -> TemplateError:
    if isinstance(error, bound.OverBound):
        return bound.OverBound(error.what, where=name)
    line = getattr(error, "lineno", None)
    where = f"{name}, line {line}" if line else name
    if isinstance(error, limits.LimitExceeded):
        return bound.OverBound("the chat template goes over its limits", where=where, why=str(error))
    if isinstance(error, RecursionError):
        return TemplateError("the chat template cannot be compiled", where=where, why="it is nested too deeply")
    if isinstance(error, MemoryError):
        return bound.OverBound("the chat template cannot be compiled", where=where, why=f"it {bound.out_of_memory()}")
    return TemplateError("the chat template cannot be parsed", where=where, why=_first_line(error))


def _render_error(error: Exception, name: str, messages: Sequence[Mapping[str, Any]]) -> TemplateError:
    from sftui.templates import sandbox

    if isinstance(error, bound.OverBound):
        return bound.OverBound(error.what, where=name)
    if isinstance(error, limits.LimitExceeded):
        return bound.OverBound("the chat template goes over its limits", where=name, why=str(error))
    if isinstance(error, sandbox.RaisedByTemplate):
        roles = ", ".join(str(message.get("role", "?")) for message in messages[:8])
        more = ", …" if len(messages) > 8 else ""
        return TemplateError(
            f"the chat template refuses this conversation: {_first_line(error).rstrip('.')}",
            where=name,
            why=f"its roles are {roles}{more}",
        )
    if isinstance(error, sandbox.Forbidden):
        return TemplateError("the chat template does something that is not allowed", where=name, why=_first_line(error))
    if isinstance(error, RecursionError):
        return bound.OverBound("the chat template goes over its limits", where=name, why="it recurses too deeply")
    if isinstance(error, MemoryError):
        return bound.OverBound("the chat template goes over its limits", where=name, why=f"it {bound.out_of_memory()}")
    return TemplateError(
        "the chat template fails on this conversation", where=name, why=f"{type(error).__name__}: {_first_line(error)}"
    )


def _first_line(error: Exception) -> str:
    text = str(error).strip()
    return text.splitlines()[0][:500] if text else type(error).__name__
