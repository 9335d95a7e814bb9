"""Values that are made for every row: frozen to the type checker, and as cheap to make as Python allows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

T = TypeVar("T")

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_: object):
        return lambda decorator: decorator


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def value_class(kind: type[T]) -> type[T]:
    """A dataclass with slots, equal and hashed by its fields unless it says otherwise, that mypy holds to be frozen.

    At run time nothing keeps it from being changed: `frozen=True` sets each field by `object.__setattr__`, which takes
    ten times as long, and a row of a dataset is made of a hundred fields (8 % of what encode takes). For what is made
    once in a run, a frozen dataclass is right.
    """
    own = "__eq__" in vars(kind)
    return dataclass(slots=True, eq=not own, unsafe_hash=not own)(kind)
