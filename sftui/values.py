"""Values that are made for every row: frozen to the type checker, and as cheap to make as Python allows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast, overload

T = TypeVar("T")
_LATE = "_late"

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_: object):
        return lambda decorator: decorator


class lazy(Generic[T]):
    """A property that is worked out when it is first requested: `functools.cached_property` without its lock, since
    only one thread works on a row."""

    def __init__(self, work: Callable[[Any], T], name: str = "") -> None:
        self._work, self._name, self.__doc__ = work, name or work.__name__, work.__doc__

    @overload
    def __get__(self, value: None, owner: object) -> lazy[T]: ...
    @overload
    def __get__(self, value: object, owner: object) -> T: ...
    def __get__(self, value: object, owner: object) -> T | lazy[T]:
        if value is None:
            return self
        found = self._work(value)
        setattr(value, self._name, found)
        return found


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def value_class(kind: type[T]) -> type[T]:
    """A dataclass with slots, equal and hashed by its fields unless it says otherwise, that mypy holds to be frozen.

    At run time nothing keeps it from being changed: `frozen=True` sets each field by `object.__setattr__`, which takes
    ten times as long, and a row of a dataset is made of a hundred fields (8 % of what encode takes). Such a class takes
    a twelfth of the time of a frozen dataclass, whose methods are compiled one by one (0.4 ms: a tenth of the first
    screen). One with `lazy` properties or `late` fields has no slots: what they give is kept in it. One with slots is
    pickled as its fields in order.
    """
    own, written = "__eq__" in vars(kind), "__repr__" in vars(kind)
    later: dict[str, lazy[Any]] = vars(kind).get(_LATE, {})
    slots = not later and not any(isinstance(var, lazy) for var in vars(kind).values())
    kind.__doc__ = kind.__doc__ or kind.__name__  # else a signature is made to stand there
    made: Any = dataclass(slots=slots, init=False, eq=False, repr=False)(kind)
    made.__init__ = _late_init(made)
    for name, one in later.items():
        setattr(made, name, one)
    if not own:
        made.__eq__ = lambda value, other: (
            _key(made)(value) == _key(made)(other) if type(other) is type(value) else NotImplemented
        )
        made.__hash__ = lambda value: hash(_key(made)(value))
    if not written:
        made.__repr__ = _repr
    if slots and "__reduce__" not in vars(kind):
        made.__reduce__ = lambda value: (type(value), _every(made)(value))
    return cast("type[T]", made)


def _late_init(kind: Any) -> Callable[..., None]:
    """An `__init__` that is compiled when the first value is made: that is most of what a class takes, and when the
    first screen is there most classes have no value."""

    def __init__(self: Any, *given: Any, **named: Any) -> None:
        known: dict[str, Any] = {}
        parameters, body = ["self"], []
        for one in [one for one in fields(kind) if one.init]:
            name, default = one.name, f"default_{one.name}"
            parameters.append(name)
            body.append(f"self.{name} = {name}")
            if one.default is not MISSING or one.default_factory is not MISSING:
                parameters[-1] += f"={default}"
                known[default] = one.default
            if one.default_factory is not MISSING:
                known[default] = one.default_factory
                body[-1] = f"self.{name} = {default}() if {name} is {default} else {name}"
        if hasattr(kind, "__post_init__"):
            body.append("self.__post_init__()")
        exec(f"def __init__({', '.join(parameters)}):\n " + "\n ".join(body or ["pass"]), known)
        kind.__init__ = known["__init__"]
        kind.__init__(self, *given, **named)

    return __init__


@cache
def _key(kind: Any) -> Callable[[Any], tuple[Any, ...]]:
    """What values of a class are equal by."""
    return _values([one.name for one in fields(kind) if one.compare])


@cache
def _every(kind: Any) -> Callable[[Any], tuple[Any, ...]]:
    return _values([one.name for one in fields(kind)])


def _values(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """The values of these fields, in a third of the time that their names and values take."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: tuple([getattr(value, name) for name in names])


@recursive_repr()
def _repr(value: Any) -> str:
    shown = [f"{one.name}={getattr(value, one.name)!r}" for one in fields(value) if one.repr]
    return f"{type(value).__qualname__}({', '.join(shown)})"


def with_fields(value: T, **others: Any) -> T:
    """A `value_class` with slots, with some other fields: `dataclasses.replace` in a fraction of its time."""
    kind, rest = cast("tuple[type[T], tuple[Any, ...]]", value.__reduce__())
    made = kind(*rest)
    for name, other in others.items():
        setattr(made, name, other)
    return made


def late(**work: Callable[[Any], Any]) -> Callable[[type[T]], type[T]]:
    """Fields of the `value_class` above it that may be deleted from a value that was just made, as `model.flat_example`
    does: each is worked out from the rest of it when it is first requested."""

    def marked(kind: type[T]) -> type[T]:
        setattr(kind, _LATE, {name: lazy(how, name) for name, how in work.items()})
        return kind

    return marked
