"""The Jinja environment of transformers, with limits. The only module that imports jinja2.

Text for text what `transformers.utils.chat_template_utils._compile_jinja_template` gives: the immutable
sandbox, `trim_blocks`, `lstrip_blocks`, loop controls, the `generation` tag, `tojson`, `raise_exception`,
`strftime_now`, `dict` and `namespace`, each as in the version asked for. There is no loader, so a template reaches no
file.
"""

from __future__ import annotations

import json
import time
import types
from collections.abc import Callable, ItemsView, Iterator, KeysView, Mapping, Sequence, ValuesView
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import jinja2
import jinja2.ext
import jinja2.meta
import jinja2.nodes
import jinja2.runtime
from jinja2 import filters
from jinja2.compiler import CodeGenerator, Frame
from jinja2.exceptions import SecurityError
from jinja2.exceptions import TemplateError as JinjaError
from jinja2.sandbox import ImmutableSandboxedEnvironment, SandboxedEscapeFormatter, SandboxedFormatter
from jinja2.utils import Namespace
from markupsafe import Markup

from sftui.templates import limits
from sftui.templates.behaviour import NEWEST, Rendering
from sftui.templates.limits import LimitExceeded

Forbidden = SecurityError
"""What the sandbox raises where a template reaches for something."""


_OWN_VARIABLES = ("_loop_vars", "_block_vars")
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
        if environment.rendering.tracks_first or environment.blocks or environment.generation:
            environment.generation.append((environment.written, environment.written + len(text)))
        return text


class _TemplateDict:
    """`dict` as templates see it: callable, with `fromkeys`, and nothing of the type to reach for."""

    def __call__(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        made: dict[Any, Any] = limits.checked(dict(*args, **kwargs))
        return made

    def fromkeys(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        made: dict[Any, Any] = limits.checked(dict.fromkeys(*args, **kwargs))
        return made


class _DictType(_TemplateDict):
    """`dict` as templates see it where it is Python's own type: its methods take the mapping that they read.

    Those that change a mapping in place are refused: what they make is measured nowhere.
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
        made: dict[Any, Any] = limits.checked(dict.copy(mapping))
        return made

    @staticmethod
    def update(*args: Any, **kwargs: Any) -> None:
        raise SecurityError("sftui does not follow methods of dict that change a mapping in place")

    pop = popitem = setdefault = clear = update


class _AnyNamespace(limits.Holder, Namespace):
    """`namespace` as Jinja has it: it stores any name."""

    def __init__(*args: Any, **kwargs: Any) -> None:  # the signature of Jinja's own, so that a key may be `self`
        self, rest = args[0], args[1:]
        attrs = dict(*rest, **kwargs)
        for value in attrs.values():
            limits.checked(value)
        Namespace.__init__(self, attrs)

    def __held__(self) -> list[Any]:
        return list(object.__getattribute__(self, "_Namespace__attrs").values())

    def __repr__(self) -> str:
        # Namespaces can be changed after they were put into a list, so only now is it known what printing comes to.
        limits.weight(self)
        return Namespace.__repr__(self)


class _TemplateNamespace(_AnyNamespace):
    """`namespace` that stores no underscore names, as in transformers from 5.22.2 on."""

    def __init__(*args: Any, **kwargs: Any) -> None:
        self, rest = args[0], args[1:]
        attrs = dict(*rest, **kwargs)
        for name in attrs:
            _check_name(name)
        _AnyNamespace.__init__(self, attrs)

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


class _Generator(CodeGenerator):
    """Emits measured containers and measured `~`, and folds no operator whose result is not measured."""

    def visit_Concat(self, node: jinja2.nodes.Concat, frame: Frame) -> None:
        if frame.eval_ctx.volatile:
            function = "(markup_join if context.eval_ctx.volatile else str_join)"
        else:
            function = "markup_join" if frame.eval_ctx.autoescape else "str_join"
        self.write(f"environment.measured_concat({function}, (")
        for argument in node.nodes:
            self.visit(argument, frame)
            self.write(", ")
        self.write("))")

    def visit_List(self, node: jinja2.nodes.List, frame: Frame) -> None:
        self._measured(super().visit_List, node, frame)

    def visit_Dict(self, node: jinja2.nodes.Dict, frame: Frame) -> None:
        self._measured(super().visit_Dict, node, frame)

    def visit_Tuple(self, node: jinja2.nodes.Tuple, frame: Frame) -> None:
        if node.ctx == "load":
            self._measured(super().visit_Tuple, node, frame)
        else:
            super().visit_Tuple(node, frame)

    def _measured(self, emit: Callable[[Any, Frame], None], node: Any, frame: Frame) -> None:
        plain = all(isinstance(child, jinja2.nodes.Const) for child in node.iter_child_nodes())
        self.write("" if plain else "environment.checked(")
        emit(node, frame)
        self.write("" if plain else ")")


class ChatEnvironment(ImmutableSandboxedEnvironment):
    """One environment per template, as in transformers. Not for two renders at once."""

    code_generator_class = _Generator
    intercepted_binops = frozenset(("+", "*", "**", "%"))

    def __init__(self, clock: Callable[[], datetime], rendering: Rendering = NEWEST) -> None:
        super().__init__(trim_blocks=True, lstrip_blocks=True, extensions=[GenerationTag, jinja2.ext.loopcontrols])
        self.clock = clock
        self.generation: list[tuple[int, int]] = []
        self.written = 0
        self.blocks = 0
        self.rendering = rendering
        self.checked = limits.checked
        self.concat = _concat  # type: ignore[method-assign]
        self.binop_table.update({"+": limits.add, "*": limits.multiply, "**": limits.power, "%": limits.remainder})
        self.filters.update(_measured_filters())
        self.filters["tojson"] = _tojson
        self.globals["raise_exception"] = _raise_exception
        self.globals["strftime_now"] = self._strftime_now
        self.globals["dict"] = _TemplateDict() if rendering.guards_globals else _DictType()
        self.globals["namespace"] = _TemplateNamespace if rendering.guards_globals else _AnyNamespace
        self.globals["lipsum"] = _lipsum

    @property
    def tick(self) -> None:
        """LimitExceeded once the time is up. Read at the head of every loop body, and at every call."""
        limits.too_late()

    def _parse(self, source: str, name: str | None, filename: str | None) -> jinja2.nodes.Template:
        tree = super()._parse(source, name, filename)
        for loop in tree.find_all(jinja2.nodes.For):
            tick = jinja2.nodes.ExprStmt(jinja2.nodes.EnvironmentAttribute("tick"), lineno=loop.lineno)
            loop.body.insert(0, tick)
        return tree

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        if operator == "+" and type(left) is str and type(right) is str and len(left) + len(right) < limits.ITEM_LIMIT:
            return left + right
        return self.binop_table[operator](left, right)

    def call(__self, __context: Any, __obj: Any, *args: Any, **kwargs: Any) -> Any:
        # The double underscores are Jinja's own guard against keyword arguments named `self` or `context`.
        limits.too_late()
        if isinstance(__obj, (types.BuiltinMethodType, types.MethodType)):
            given = tuple(value for name, value in kwargs.items() if name not in _OWN_VARIABLES)
            limits.method(__obj.__self__, __obj.__name__, args + given)
        elif isinstance(__obj, jinja2.runtime.Macro) and (args or kwargs):
            limits.weight((args, kwargs))  # a macro finds them again as `varargs` and `kwargs`
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
            limits.too_big(len(pattern) + pattern.count("{") * (limits.weight(positional) + limits.weight(named)))
            formatter = (
                _EscapeFormatter(self, escape=pattern.escape) if isinstance(pattern, Markup) else _Formatter(self)
            )
            return type(pattern)(formatter.vformat(pattern, positional, named))

        return formatted

    @staticmethod
    def measured_concat(join: Callable[[tuple[Any, ...]], str], parts: tuple[Any, ...]) -> str:
        limits.join(parts)
        return join(parts)

    def _strftime_now(self, format: str) -> str:  # noqa: A002 (templates may name the argument)
        limits.too_big(len(format) * 1024)
        return self.clock().strftime(format)


def compile_source(
    source: str, clock: Callable[[], datetime], rendering: Rendering = NEWEST
) -> tuple[ChatEnvironment, jinja2.Template]:
    """A template ready to render, in an environment of its own; jinja2's own errors, RecursionError, LimitExceeded."""
    environment = ChatEnvironment(clock, rendering)
    with _deadline():
        return environment, environment.from_string(source)


def run(
    environment: ChatEnvironment, template: jinja2.Template, variables: Mapping[str, Any]
) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The text of a template and its generation spans; whatever the template or Jinja raises, and LimitExceeded."""
    blocks: list[str] = []
    environment.generation = []
    environment.written = environment.blocks = 0
    with _deadline():
        for block in template.generate(**variables):
            blocks.append(block)
            environment.written += len(block)
            environment.blocks += 1
            if environment.written > limits.OUTPUT_LIMIT:
                raise LimitExceeded(f"it writes more than {limits.OUTPUT_LIMIT >> 20} Mi characters")
    return "".join(blocks), tuple(environment.generation)


@contextmanager
def _deadline() -> Iterator[None]:
    token = limits.DEADLINE.set(time.monotonic() + limits.SECONDS)
    try:
        yield
    finally:
        limits.DEADLINE.reset(token)


def free_variables(source: str) -> frozenset[str]:
    """The names a template reads but does not set, our own functions too; jinja2's errors for what cannot be parsed."""
    tree = ChatEnvironment(datetime.now).parse(source)
    named = {name.name for name in tree.find_all(jinja2.nodes.Name) if name.ctx == "load"}
    return frozenset(jinja2.meta.find_undeclared_variables(tree) | (named & {"raise_exception", "strftime_now"}))


def _raise_exception(message: Any) -> None:
    raise RaisedByTemplate(message)


def _tojson(
    x: Any, ensure_ascii: bool = False, indent: Any = None, separators: Any = None, sort_keys: bool = False
) -> str:
    size = limits.weight(x)
    step = indent if isinstance(indent, int) else len(indent) if isinstance(indent, str) else 0
    limits.too_big(size * (1 + max(step, 0)))
    if separators is not None:
        limits.too_big(size * (1 + limits.weight(separators)))
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _concat(parts: Any) -> str:
    texts = list(parts)
    limits.too_big(sum(map(len, texts)))
    return "".join(texts)


def _lipsum(n: int = 5, html: bool = True, min: int = 20, max: int = 100) -> str:  # noqa: A002
    limits.too_big(1000 * n * max)
    return jinja2.utils.generate_lorem_ipsum(n, html, min, max)


def _measured_filters() -> dict[str, Callable[..., Any]]:
    """Jinja's filters that can make much out of little, each behind its check."""

    def size_of(value: Any, *args: Any, **kwargs: Any) -> int:
        return limits.weight(value) if isinstance(value, (str, list, tuple, Mapping)) else 1

    def numbers(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[int]:
        return [v for v in (*args, *kwargs.values()) if isinstance(v, int)]

    def texts(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> int:
        return sum(len(v) for v in (*args, *kwargs.values()) if isinstance(v, str))

    def widened(inner: Callable[..., Any]) -> Callable[..., Any]:
        def wide(value: Any, *args: Any, **kwargs: Any) -> Any:
            lines = 1 + str(value).count("\n") if inner is filters.do_indent else 1
            limits.too_big(size_of(value) + lines * (sum(map(abs, numbers(args, kwargs))) + texts(args, kwargs)))
            return inner(value, *args, **kwargs)

        return wide

    def per_character(inner: Callable[..., Any]) -> Callable[..., Any]:
        def many(first: Any, *args: Any, **kwargs: Any) -> Any:
            # With @pass_eval_context or @pass_environment the value comes second.
            value, rest = (args[0], args[1:]) if hasattr(inner, "jinja_pass_arg") and args else (first, args)
            limits.too_big(size_of(value) * (1 + texts(rest, kwargs)))
            return inner(first, *args, **kwargs)

        return _same_signature(many, inner)

    def slow(inner: Callable[..., Any]) -> Callable[..., Any]:
        def bounded(first: Any, *args: Any, **kwargs: Any) -> Any:
            for value in (first, *args):
                limits.slow(value)
                if isinstance(value, (list, tuple, Mapping)) and limits.weight(value) > limits.SLOW_LIMIT:
                    raise LimitExceeded("it writes out a large value one by one")
            return inner(first, *args, **kwargs)

        return _same_signature(bounded, inner)

    def int_(value: Any, default: Any = 0, base: int = 10) -> Any:
        if isinstance(value, str) and len(value) > limits.DIGIT_BITS:
            raise LimitExceeded("it reads an integer of thousands of digits")
        return filters.do_int(value, default, base)

    def listed(inner: Callable[..., Any]) -> Callable[..., Any]:
        def few(first: Any, *args: Any, **kwargs: Any) -> Any:
            for value in (first, *args, *kwargs.values()):
                if isinstance(value, int):
                    limits.too_many(value)
                elif isinstance(value, (str, list, tuple, Mapping)):
                    limits.too_many(len(value))
            made = inner(first, *args, **kwargs)
            return map(limits.checked, made) if isinstance(made, types.GeneratorType) else limits.checked(made)

        return _same_signature(few, inner)

    def sum_(environment: Any, iterable: Any, attribute: str | int | None = None, start: Any = 0) -> Any:
        return filters.sync_do_sum(environment, limits.checked(list(iterable)), attribute, limits.checked(start))

    def replace_(context: Any, s: Any, old: str, new: str, count: int | None = None) -> str:
        limits.replaced(str(s), (str(old), str(new)))
        return filters.do_replace(context, s, old, new, count)

    def format_(value: Any, *args: Any, **kwargs: Any) -> str:
        limits.percent_format(str(value), kwargs or args)
        return filters.do_format(value, *args, **kwargs)

    def join_(context: Any, value: Any, d: str = "", attribute: str | int | None = None) -> str:
        items = list(value)
        limits.join(items, str(d))
        return filters.sync_do_join(context, items, d, attribute)

    def round_(value: Any, precision: int = 0, method: Any = "common") -> Any:
        limits.power(10, abs(precision))
        return filters.do_round(value, precision, method)

    made: dict[str, Callable[..., Any]] = {
        "center": widened(filters.do_center),
        "indent": widened(filters.do_indent),
        "int": int_,
        "round": round_,
        "format": format_,
        "sum": _same_signature(sum_, filters.sync_do_sum),
        "replace": _same_signature(replace_, filters.do_replace),
        "join": _same_signature(join_, filters.sync_do_join),
    }
    for name in ("wordwrap", "urlize", "xmlattr", "pprint"):
        made[name] = slow(per_character(filters.FILTERS[name]))
    for name in ("title", "striptags", "wordcount", "urlencode"):
        made[name] = slow(filters.FILTERS[name])
    for name in ("list", "sort", "unique", "batch", "slice", "groupby", "dictsort", "reverse"):
        made[name] = listed(filters.FILTERS[name])
    return made


def _same_signature(wrapper: Callable[..., Any], inner: Callable[..., Any]) -> Callable[..., Any]:
    """Carry over which extra argument Jinja must pass to the filter."""
    wants = getattr(inner, "jinja_pass_arg", None)
    if wants is not None:
        wrapper.jinja_pass_arg = wants  # type: ignore[attr-defined]
    return wrapper
