"""Values that are made for every row: frozen to the type checker, and as cheap to make as Python allows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from operator import attrgetter
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
    ten times as long, and a row of a dataset is made of a hundred fields (8 % of what encode takes). For what is made
    once in a run, a frozen dataclass is right. One with `lazy` properties or `late` fields has no slots: what they give
    is kept in it. One with slots is pickled as its fields in order.
    """
    own = "__eq__" in vars(kind)
    later: dict[str, lazy[Any]] = vars(kind).get(_LATE, {})
    slots = not later and not any(isinstance(var, lazy) for var in vars(kind).values())
    made: Any = dataclass(slots=slots, eq=not own, unsafe_hash=not own)(kind)
    for name, one in later.items():
        setattr(made, name, one)
    if slots and "__reduce__" not in vars(kind):
        made.__reduce__ = _by_fields([one.name for one in fields(made)])
    return cast("type[T]", made)


def _by_fields(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """`__reduce__` by the fields alone, in a third of the time that their names and values take."""
    get = attrgetter(*names)
    if len(names) == 1:
        return lambda value: (type(value), (get(value),))
    return lambda value: (type(value), get(value))


def with_field(value: T, name: str, field_value: Any) -> T:
    """A `value_class` with slots, with one other field."""
    kind, rest = cast("tuple[type[T], tuple[Any, ...]]", value.__reduce__())
    made = kind(*rest)
    setattr(made, name, field_value)
    return made


def late(**work: Callable[[Any], Any]) -> Callable[[type[T]], type[T]]:
    """Fields of the `value_class` above it that may be deleted from a value that was just made, as `model.flat_example`
    does: each is worked out from the rest of it when it is first requested."""

    def marked(kind: type[T]) -> type[T]:
        setattr(kind, _LATE, {name: lazy(how, name) for name, how in work.items()})
        return kind

    return marked
