"""The Jinja environment of transformers, with limits. With `tracing` the only module that imports jinja2.

Text for text what `transformers.utils.chat_template_utils._compile_jinja_template` gives: the immutable sandbox,
`trim_blocks`, `lstrip_blocks`, loop controls, the `generation` tag, `tojson`, `raise_exception`, `strftime_now`, `dict`
and `namespace`, each as in the version requested. There is no loader, so a template reaches no file.
"""

from __future__ import annotations

import json
import time
import types
from collections.abc import Callable, ItemsView, KeysView, Mapping, Sequence, ValuesView
from datetime import datetime
from functools import lru_cache
from typing import Any

import jinja2
import jinja2.ext
import jinja2.meta
import jinja2.nodes
import jinja2.runtime
from jinja2 import filters
from jinja2.exceptions import SecurityError
from jinja2.exceptions import TemplateError as JinjaError
from jinja2.sandbox import ImmutableSandboxedEnvironment, SandboxedEscapeFormatter, SandboxedFormatter
from jinja2.utils import Namespace
from markupsafe import Markup

from sftui.templates.rendering import limits
from sftui.templates.rendering.behaviour import NEWEST, Rendering
from sftui.templates.rendering.limits import LimitExceeded

Forbidden = SecurityError
"""What the sandbox raises where a template reaches for something."""

KEPT_CHARACTERS = 1 << 16
"""Of how long a template what it is compiled to is kept."""
OWN_VARIABLES = ("_loop_vars", "_block_vars")
"""What Jinja passes with every call inside a loop or a block, and takes out again before it calls."""


class RaisedByTemplate(JinjaError):
    """The template called `raise_exception`: it refuses the conversation on purpose."""


class GenerationTag(jinja2.ext.Extension):
    """`{% generation %}…{% endgeneration %}`, recording what it encloses as character spans.

    A span starts where the output stood when the block was rendered, as transformers counts it; inside a
    macro or a `set` block that is not where the text ends up, and transformers has it wrong alike.
    """

    tags = {"generation"}

    def parse(self, parser: Any) -> jinja2.nodes.Node:
        lineno = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_record"), [], [], body).set_lineno(lineno)

    @jinja2.pass_eval_context
    def _record(self, context: Any, caller: Callable[[], str]) -> str:
        text = caller()
        environment = self.environment
        assert isinstance(environment, ChatEnvironment)
        environment.generated(text)
        return text


class TemplateDict:
    """`dict` as templates see it: callable, with `fromkeys`, and nothing of the type to reach for."""

    def __call__(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        return dict(*args, **kwargs)

    def fromkeys(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        return dict.fromkeys(*args, **kwargs)


class _DictType(TemplateDict):
    """`dict` as templates see it where it is Python's own type: its methods take the mapping that they read.

    Those that change a mapping in place are refused, as the sandbox refuses them on the mapping itself.
    """

    def __str__(self) -> str:
        return str(dict)

    __repr__ = __str__

    @staticmethod
    def items(mapping: dict[Any, Any]) -> ItemsView[Any, Any]:
        return dict.items(mapping)

    @staticmethod
    def keys(mapping: dict[Any, Any]) -> KeysView[Any]:
        return dict.keys(mapping)

    @staticmethod
    def values(mapping: dict[Any, Any]) -> ValuesView[Any]:
        return dict.values(mapping)

    @staticmethod
    def get(mapping: dict[Any, Any], key: Any, default: Any = None, /) -> Any:
        return dict.get(mapping, key, default)

    @staticmethod
    def copy(mapping: dict[Any, Any]) -> dict[Any, Any]:
        return dict.copy(mapping)

    @staticmethod
    def update(*args: Any, **kwargs: Any) -> None:
        raise SecurityError("sftui does not follow dict methods that change a mapping in place")

    pop = popitem = setdefault = clear = update


class _TemplateNamespace(Namespace):
    """`namespace` that stores no underscore names, as in transformers from 5.22.2 on."""

    def __init__(*args: Any, **kwargs: Any) -> None:  # the signature of Jinja's own, so that a key may be `self`
        self, rest = args[0], args[1:]
        attrs = dict(*rest, **kwargs)
        for name in attrs:
            _check_name(name)
        Namespace.__init__(self, attrs)

    def __setitem__(self, name: str, value: Any) -> None:
        _check_name(name)
        Namespace.__setitem__(self, name, value)


def _check_name(name: Any) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise SecurityError(
            f"Chat templates cannot store underscore-prefixed attributes on a namespace, but got {name!r}. "
            "Please rename the attribute."
        )


class _Formatter(SandboxedFormatter):
    def format_field(self, value: Any, format_spec: str) -> Any:
        limits.format_spec(format_spec)
        return super().format_field(value, format_spec)


class _EscapeFormatter(SandboxedEscapeFormatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        limits.format_spec(format_spec)
        return super().format_field(value, format_spec)


class ChatEnvironment(ImmutableSandboxedEnvironment):
    """One environment per template, as in transformers. Not for two renders at once."""

    intercepted_binops = frozenset(("*", "**", "%"))

    def __init__(self, clock: Callable[[], datetime], rendering: Rendering = NEWEST) -> None:
        super().__init__(trim_blocks=True, lstrip_blocks=True, extensions=[GenerationTag, jinja2.ext.loopcontrols])
        self.clock = clock
        self.generation: list[tuple[int, int]] = []
        self.written = 0
        self.blocks = 0
        self.rendering = rendering
        self.steps = 0
        self.allowed = 0
        self.compiled_in = 0.0
        self.binop_table.update({"*": limits.multiply, "**": limits.power, "%": limits.remainder})
        self.filters.update(_measured_filters())
        self.filters["tojson"] = tojson
        self.globals["raise_exception"] = _raise_exception
        self.globals["strftime_now"] = self._strftime_now
        self.globals["dict"] = TemplateDict() if rendering.guards_globals else _DictType()
        self.globals["namespace"] = _TemplateNamespace if rendering.guards_globals else Namespace
        self.globals["lipsum"] = _lipsum

    def generated(self, text: str) -> None:
        """Take down that a `{% generation %}` block gave this text."""
        if self.rendering.tracks_first or self.blocks or self.generation:
            self.generation.append((self.written, self.written + len(text)))

    @property
    def tick(self) -> None:
        """One step more; LimitExceeded where it is one too many. Read at the head of every loop body."""
        self.steps += 1
        if self.steps > self.allowed:
            raise LimitExceeded(limits.TOO_LONG)

    def _parse(self, source: str, name: str | None, filename: str | None) -> jinja2.nodes.Template:
        tree = super()._parse(source, name, filename)
        for loop in tree.find_all(jinja2.nodes.For):
            tick = jinja2.nodes.ExprStmt(jinja2.nodes.EnvironmentAttribute("tick"), lineno=loop.lineno)
            loop.body.insert(0, tick)
        return tree

    def call(__self, __context: Any, __obj: Any, *args: Any, **kwargs: Any) -> Any:
        # The double underscores are Jinja's own guard against keyword arguments named `self` or `context`.
        __self.steps += 1
        if __self.steps > __self.allowed:
            raise LimitExceeded(limits.TOO_LONG)
        if isinstance(__obj, types.BuiltinMethodType):
            check = limits.METHODS.get(__obj.__name__)
            if check is not None:
                given = (value for name, value in kwargs.items() if name not in OWN_VARIABLES)
                check(__obj.__self__, (*args, *given))
        return ImmutableSandboxedEnvironment.call(__self, __context, __obj, *args, **kwargs)

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        safe = super().wrap_str_format(value)
        if safe is None:
            return None
        pattern: str = value.__self__

        def formatted(*args: Any, **kwargs: Any) -> str:
            positional: Sequence[Any] = args
            named: Mapping[str, Any] = kwargs
            if value.__name__ == "format_map":
                if kwargs or len(args) != 1:
                    return safe(*args, **kwargs)
                positional, named = (), args[0]
            formatter = (
                _EscapeFormatter(self, escape=pattern.escape) if isinstance(pattern, Markup) else _Formatter(self)
            )
            return type(pattern)(formatter.vformat(pattern, positional, named))

        return formatted

    def _strftime_now(self, format: str) -> str:  # noqa: A002 (templates may name the argument)
        limits.too_big(len(format) * 1024)
        return self.clock().strftime(format)


def compile_source(
    source: str, clock: Callable[[], datetime], rendering: Rendering = NEWEST
) -> tuple[ChatEnvironment, jinja2.Template]:
    """A template ready to render, in an environment of its own; jinja2's own errors, RecursionError, LimitExceeded."""
    compiled = _code if len(source) <= KEPT_CHARACTERS else _code.__wrapped__
    environment = ChatEnvironment(clock, rendering)
    code, environment.compiled_in = compiled(source, rendering)
    return environment, environment.template_class.from_code(environment, code, environment.make_globals(None))


@lru_cache(maxsize=8)
def _code(source: str, rendering: Rendering) -> tuple[types.CodeType, float]:
    """What a template is compiled to, and the processor seconds that took, 0.01 mostly: every recipe that is tried on
    open data compiles it again."""
    begun = time.process_time()
    environment = ChatEnvironment(datetime.now, rendering)
    environment.allowed = limits.STEPS
    return environment.compile(source), time.process_time() - begun


def run(
    environment: ChatEnvironment, template: jinja2.Template, variables: Mapping[str, Any]
) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The text of a template and its generation spans; whatever the template or Jinja raises, and LimitExceeded."""
    blocks: list[str] = []
    environment.generation = []
    environment.written = environment.blocks = environment.steps = 0
    messages = variables.get("messages")
    environment.allowed = limits.STEPS + limits.STEPS_PER_MESSAGE * (len(messages) if isinstance(messages, list) else 0)
    for block in template.generate(**variables):
        blocks.append(block)
        environment.written += len(block)
        environment.blocks += 1
        if environment.written > limits.OUTPUT_LIMIT:
            raise LimitExceeded(f"it writes more than {limits.OUTPUT_LIMIT >> 20} Mi characters")
    return "".join(blocks), tuple(environment.generation)


@lru_cache(maxsize=8)
def free_variables(source: str) -> frozenset[str]:
    """The names a template reads but does not set, our own functions too; jinja2's errors for what cannot be parsed.

    Kept as `_code` is: it takes as long, and the set-up is checked again under each fix that is tried.
    """
    tree = ChatEnvironment(datetime.now).parse(source)
    named = {name.name for name in tree.find_all(jinja2.nodes.Name) if name.ctx == "load"}
    return frozenset(jinja2.meta.find_undeclared_variables(tree) | (named & {"raise_exception", "strftime_now"}))


def _raise_exception(message: Any) -> None:
    raise RaisedByTemplate(message)


def tojson(
    x: Any, ensure_ascii: bool = False, indent: Any = None, separators: Any = None, sort_keys: bool = False
) -> str:
    if isinstance(indent, int):
        limits.too_big(indent)
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _lipsum(n: int = 5, html: bool = True, min: int = 20, max: int = 100) -> str:  # noqa: A002
    limits.too_big(1000 * n * max)
    return jinja2.utils.generate_lorem_ipsum(n, html, min, max)


def _measured_filters() -> dict[str, Callable[..., Any]]:
    """Jinja's filters that make as much as a number says, each behind its check."""

    def padded(inner: Callable[..., Any]) -> Callable[..., Any]:
        def wide(value: Any, *args: Any, **kwargs: Any) -> Any:
            limits.widths((*args, *kwargs.values()))
            return inner(value, *args, **kwargs)

        return wide

    def int_(value: Any, default: Any = 0, base: int = 10) -> Any:
        limits.digits(value)
        return filters.do_int(value, default, base)

    def format_(value: Any, *args: Any, **kwargs: Any) -> str:
        limits.percent_format(str(value), kwargs or args)
        return filters.do_format(value, *args, **kwargs)

    def round_(value: Any, precision: int = 0, method: Any = "common") -> Any:
        limits.power(10, abs(precision))
        return filters.do_round(value, precision, method)

    few: dict[str, Callable[..., Any]] = {
        "center": filters.do_center,
        "indent": filters.do_indent,
        "batch": filters.do_batch,
    }
    return {**{name: padded(inner) for name, inner in few.items()}, "int": int_, "round": round_, "format": format_}
