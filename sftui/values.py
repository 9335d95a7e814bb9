"""Values that are made for every row: frozen to the type checker, and as cheap to make as Python allows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
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
    a third of the time of a frozen dataclass, whose methods are compiled one by one (0.4 ms: a tenth of the first
    screen). One with `lazy` properties or `late` fields has no slots: what they give is kept in it. One with slots is
    pickled as its fields in order.
    """
    own = "__eq__" in vars(kind)
    later: dict[str, lazy[Any]] = vars(kind).get(_LATE, {})
    slots = not later and not any(isinstance(var, lazy) for var in vars(kind).values())
    written = "__repr__" in vars(kind)
    made: Any = dataclass(slots=slots, eq=False, repr=False)(kind)
    for name, one in later.items():
        setattr(made, name, one)
    if not own:
        key = _values([one.name for one in fields(made) if one.compare])
        made.__eq__ = lambda value, other: key(value) == key(other) if type(other) is type(value) else NotImplemented
        made.__hash__ = lambda value: hash(key(value))
    if not written:
        made.__repr__ = _repr
    if slots and "__reduce__" not in vars(kind):
        values = _values([one.name for one in fields(made)])
        made.__reduce__ = lambda value: (type(value), values(value))
    return cast("type[T]", made)


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
