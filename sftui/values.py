"""Values that are made for every row: frozen to the type checker, and as cheap to make as Python allows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

T = TypeVar("T")

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_: object):
        return lambda decorator: decorator


class lazy(Generic[T]):
    """A property that is worked out when it is first requested: `functools.cached_property` without its lock, since
    only one thread works on a row."""

    def __init__(self, work: Callable[[Any], T]) -> None:
        self._work, self._name, self.__doc__ = work, work.__name__, work.__doc__

    @overload
    def __get__(self, value: None, owner: object) -> lazy[T]: ...
    @overload
    def __get__(self, value: object, owner: object) -> T: ...
    def __get__(self, value: object, owner: object) -> T | lazy[T]:
        if value is None:
            return self
        found = value.__dict__[self._name] = self._work(value)
        return found


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def value_class(kind: type[T]) -> type[T]:
    """A dataclass with slots, equal and hashed by its fields unless it says otherwise, that mypy holds to be frozen.

    At run time nothing keeps it from being changed: `frozen=True` sets each field by `object.__setattr__`, which takes
    ten times as long, and a row of a dataset is made of a hundred fields (8 % of what encode takes). For what is made
    once in a run, a frozen dataclass is right. One with `lazy` properties has no slots: what they give is kept in it.
    """
    own = "__eq__" in vars(kind)
    slots = not any(isinstance(one, lazy) for one in vars(kind).values())
    return dataclass(slots=slots, eq=not own, unsafe_hash=not own)(kind)
