"""Chat templates as sftui holds them: compiled on first use, errors reported in one sentence."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from sftui import bound
from sftui.errors import TemplateError
from sftui.side_files import parse_json, read_side_file
from sftui.templates.rendering import limits
from sftui.templates.rendering.behaviour import NEWEST, REASONING_KEYS, Rendering
from sftui.templates.shortcuts.skeletons import RenderRequest, Skeletons

if TYPE_CHECKING:
    from sftui.templates.shortcuts.tracing import Recording, TracedText, Tracer

_GENERATION_TAG = re.compile(r"\{%-?\s*generation\s*-?%\}")
EMPTY_CONVERSATION = "Cannot apply chat template to an empty conversation. Provide at least one message."
EMPTY_BEFORE = "transformers before 5.13 stops there with IndexError: list index out of range"
_KEPT = (date, time, timedelta, Decimal, UUID, bytes)
"""What rows of Parquet and Arrow and values of YAML hold besides JSON's types."""

Spans = tuple[tuple[int, int], ...]


class ChatTemplate:
    """A compiled chat template: `text` renders messages as `apply_chat_template(tokenize=False)` does.

    Pickles by its source, without the `skeletons` of rows that it has learned. Renders of one template in two threads
    take turns. `rendering` says which version of transformers it is rendered as, `made_of` the source whose bound it
    shares; `compiled_in` are the processor seconds that it takes to compile, whoever did.
    """

    def __init__(
        self,
        source: str,
        name: str,
        clock: Callable[[], datetime] | None = None,
        rendering: Rendering = NEWEST,
        made_of: str | None = None,
    ) -> None:
        from sftui.templates.rendering import sandbox

        self.source = source
        self.name = name
        self.has_generation_tag = _GENERATION_TAG.search(source) is not None
        self.rendering = rendering
        self.clock = clock
        self.made_of = source if made_of is None else made_of
        self._lock = threading.Lock()
        self._tracer: Tracer | None = None
        self.skeletons = Skeletons()
        if len(source) > limits.SOURCE_LIMIT:
            raise TemplateError(f"the chat template {name} is longer than {limits.SOURCE_LIMIT >> 10} Ki characters")
        try:
            with bound.template_work(self.made_of, ("compile", source)):
                self._environment, self._template = sandbox.compile_source(source, clock or datetime.now, rendering)
        except Exception as error:
            raise _compile_error(error, name) from error
        self.compiled_in = self._environment.compiled_in

    def __reduce__(self) -> tuple[object, ...]:
        return ChatTemplate, (self.source, self.name, self.clock, self.rendering, self.made_of)

    def on(self, clock: Callable[[], datetime] | None) -> ChatTemplate:
        """The same template by another clock; None: the one of the system, or its own."""
        return self if clock is None else ChatTemplate(self.source, self.name, clock, self.rendering, self.made_of)

    def remade(self, source: str) -> ChatTemplate:
        """Another template made of this one, which shares its bound; TemplateError."""
        return ChatTemplate(source, self.name, self.clock, self.rendering, self.made_of)

    def alike(self, other: ChatTemplate) -> bool:
        """Whether another one is of the same source, name and version of transformers, whatever its clock is."""
        mine, its = ((one.source, one.name, one.rendering, one.made_of) for one in (self, other))
        return mine == its

    def now(self) -> datetime:
        """What time it is for the template."""
        return (self.clock or datetime.now)()

    @property
    def steps(self) -> int:
        """How many rounds of loops and calls the last render took."""
        return self._environment.steps

    def __repr__(self) -> str:
        return f"ChatTemplate({self.name!r}, {len(self.source)} characters)"

    def text(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Any = None,
        add_generation_prompt: bool = False,
        variables: Mapping[str, Any],
        now: datetime | None = None,
        prepared: bool = False,
    ) -> tuple[str, Spans]:
        """The rendered text and the `{% generation %}` spans in it, in characters.

        `prepared` messages are as `prepare_messages` gives them, which templates cannot change: whoever renders the
        same ones often makes them once.

        `variables` are the special tokens and the template's own keyword arguments, merged. `now` stands for the time
        of day for templates that write a date. TemplateError for whatever goes wrong.
        """
        from sftui.templates.rendering import sandbox

        rendering = self.rendering
        if not messages and isinstance(messages, (list, tuple)):  # transformers asks no other type how long it is
            why = EMPTY_CONVERSATION.rstrip(".") if rendering.refuses_empty else EMPTY_BEFORE
            raise TemplateError("a chat template cannot render an empty conversation", where=self.name, why=why)
        ready: Any = messages if prepared else prepare_messages(messages, rendering)
        values = self._values(ready, tools, add_generation_prompt, variables)
        with self._lock:
            environment = self._environment
            environment.clock = (lambda: now) if now is not None else self.now
            try:
                with bound.template_work(self.made_of, (self.source, values), adds_up=True):
                    return sandbox.run(environment, self._template, values)
            except MemoryError as error:
                # Its frames hold all that was built, for as long as somebody keeps the error.
                error.__traceback__ = None
                raise _render_error(error, self.name, ready) from None
            except Exception as error:
                raise _render_error(error, self.name, ready) from error

    def _values(
        self, ready: Any, tools: Any, add_generation_prompt: bool, variables: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The variables of the template."""
        documents = variables.get("documents")
        if documents is not None and not _mappings(documents):
            raise TemplateError("documents must be a list of mappings with title and text", where=self.name)
        data = plain_data if self.rendering.plain_types else kept_data
        return {
            **data(dict(variables)),
            "messages": ready,
            "tools": _tool_schemas(tools, data),
            "documents": data(documents),
            "add_generation_prompt": add_generation_prompt,
        }

    def follow(
        self, request: RenderRequest, messages: Sequence[Mapping[str, Any]], recording: Recording, prompt: bool = False
    ) -> TracedText:
        """What `text` gives as parts, and where generation blocks stand in it (see `tracing.Tracer.follow`).

        `messages` are those of the request with texts of the recording in them; all else in them is of JSON's types.
        Whatever `Tracer.follow` raises.
        """
        from sftui.templates.shortcuts.tracing import Tracer

        ready = prepare_messages(messages, self.rendering, _copied)
        values = self._values(ready, request.tools, prompt, request.variables)
        with self._lock, bound.template_work(self.made_of, ("follow", self.source), adds_up=True):
            if self._tracer is None:
                self._tracer = Tracer(self.source, self.rendering)
            return self._tracer.follow(values, recording)

    @property
    def traced_steps(self) -> int:
        """The same as `steps` of what was followed last."""
        return self._tracer.steps if self._tracer is not None else 0


def compile_template(
    source: str, name: str, *, clock: Callable[[], datetime] | None = None, rendering: Rendering = NEWEST
) -> ChatTemplate:
    """A template from its source, to be rendered as one version of transformers does; TemplateError where it cannot be
    parsed."""
    return ChatTemplate(source, name, clock, rendering)


def load_template_file(path: str | Path, rendering: Rendering = NEWEST) -> ChatTemplate:
    """The template of a `.jinja` file, or the one in a `tokenizer_config.json`; TemplateError."""
    file = Path(path)
    if os.path.isdir(file):
        file = next(
            (file / name for name in ("chat_template.jinja", "tokenizer_config.json") if (file / name).is_file()), file
        )
    source = read_side_file(file, "the chat template file", TemplateError)
    if file.suffix == ".json":
        source = _template_in_json(source, str(file))
    return compile_template(source, str(file), rendering=rendering)


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


def variables_of(template: ChatTemplate) -> frozenset[str]:
    """The names that a template expects from outside, functions too, from its source alone: nothing is rendered."""
    from sftui.templates.rendering import sandbox

    try:
        with bound.template_work(template.made_of, ("parse", template.source)):
            return sandbox.free_variables(template.source)
    except Exception as error:
        raise _compile_error(error, template.name) from error


def prepare_messages(
    messages: Sequence[Mapping[str, Any]], rendering: Rendering = NEWEST, data: Callable[[Any], Any] | None = None
) -> list[dict[Any, Any]]:
    """Messages as a template sees them under one version of transformers, always a copy; `data` is how values are
    copied where not as that version does."""
    data = data or (plain_data if rendering.plain_types else kept_data)
    prepared = []
    for message in messages:
        if not isinstance(message, Mapping):
            raise TemplateError("a message is not a mapping with a role", why=f"it is a {type(message).__name__}")
        if rendering.drops_null_keys:
            made = {data(key): data(value) for key, value in message.items() if value is not None}
        else:
            made = {data(key): data(value) for key, value in message.items()}
        if rendering.aliases_reasoning:
            reasoning = next((made[key] for key in REASONING_KEYS if made.get(key) is not None), None)
            if reasoning is not None:
                made = {"thinking": reasoning, **made, "reasoning_content": reasoning}
        prepared.append(made)
    return prepared


def plain_data(value: Any) -> Any:
    """The value rebuilt out of plain JSON types; anything else becomes `<TypeName>`, as in transformers."""
    kind = type(value)
    if value is None or kind in (str, int, float, bool):
        return value
    if kind is dict:  # what JSON holds comes first: a list of tools is a hundred values, and copied for every render
        return {plain_data(key): plain_data(item) for key, item in value.items()}
    if kind is list:
        return [plain_data(item) for item in value]
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


def kept_data(value: Any) -> Any:
    """The value with its lists and mappings copied and what they hold left as it is, dates and bytes too.

    What no data and no config can hold becomes `<TypeName>`, as in `plain_data`: it has methods that a template could
    reach.
    """
    if value is None or isinstance(value, (str, int, float)):
        return plain_data(value)
    if isinstance(value, Mapping):
        return {kept_data(key): kept_data(item) for key, item in value.items()}
    if isinstance(value, list):
        return [kept_data(item) for item in value]
    if isinstance(value, tuple):
        return tuple(kept_data(item) for item in value)
    return value if isinstance(value, _KEPT) else plain_data(value)


def _copied(value: Any) -> Any:
    """The value with its lists and mappings copied and all else as it is."""
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value


def _tool_schemas(tools: Any, data: Callable[[Any], Any]) -> Any:
    """As `render_jinja_template` takes them: whatever can be gone through, each one a mapping."""
    if tools is None:
        return None
    if not _mappings(tools):
        raise TemplateError("tools must be a list of JSON schemas")
    return [data(tool) for tool in tools]


def _mappings(some: Any) -> bool:
    return isinstance(some, Iterable) and all(isinstance(one, Mapping) for one in some)


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
            "the file contains no chat template",
            where=where,
            fix="give a .jinja file, or a tokenizer_config.json that has one",
        )
    return found


def _compile_error(error: Exception, name: str) -> TemplateError:
    if isinstance(error, bound.OverBound):
        return bound.OverBound(error.what, where=name)
    line = getattr(error, "lineno", None)
    where = f"{name}, line {line}" if line else name
    if isinstance(error, limits.LimitExceeded):
        return bound.OverBound("the chat template exceeds its limits", where=where, why=str(error))
    if isinstance(error, RecursionError):
        return TemplateError("the chat template cannot be compiled", where=where, why="it is nested too deeply")
    if isinstance(error, MemoryError):
        return bound.OverBound("the chat template cannot be compiled", where=where, why=f"it {bound.out_of_memory()}")
    return TemplateError("the chat template cannot be parsed", where=where, why=_first_line(error))


def _render_error(error: Exception, name: str, messages: Sequence[Mapping[str, Any]]) -> TemplateError:
    from sftui.templates.rendering import sandbox

    if isinstance(error, bound.OverBound):
        return bound.OverBound(error.what, where=name)
    if isinstance(error, limits.LimitExceeded):
        return bound.OverBound("the chat template exceeds its limits", where=name, why=str(error))
    if isinstance(error, sandbox.RaisedByTemplate):
        roles = ", ".join(str(message.get("role", "?")) for message in messages[:8])
        more = ", …" if len(messages) > 8 else ""
        return TemplateError(
            f"the chat template rejects this conversation: {_first_line(error).rstrip('.')}",
            where=name,
            why=f"its roles are {roles}{more}",
        )
    if isinstance(error, sandbox.Forbidden):
        return TemplateError("the chat template does something that is not allowed", where=name, why=_first_line(error))
    if isinstance(error, RecursionError):
        return bound.OverBound("the chat template exceeds its limits", where=name, why="it recurses too deeply")
    if isinstance(error, MemoryError):
        return bound.OverBound("the chat template exceeds its limits", where=name, why=f"it {bound.out_of_memory()}")
    return TemplateError(
        "the chat template fails on this conversation", where=name, why=f"{type(error).__name__}: {_first_line(error)}"
    )


def _first_line(error: Exception) -> str:
    text = str(error).strip()
    return text.splitlines()[0][:500] if text else type(error).__name__
