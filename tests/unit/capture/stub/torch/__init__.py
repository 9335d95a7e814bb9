"""As much of torch as the recorder of `sftui capture` touches: whole numbers in lists, modules, optimizers, loaders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

int64, int32, float32 = "int64", "int32", "float32"


class Tensor:
    """Numbers in nested lists."""

    def __init__(self, values: Any, dtype: str = int64) -> None:
        self.values = values
        self.dtype = dtype

    @property
    def shape(self) -> tuple[int, ...]:
        found, one = [], self.values
        while isinstance(one, list):
            found.append(len(one))
            one = one[0] if one else None
        return tuple(found)

    def dim(self) -> int:
        return len(self.shape)

    def numel(self) -> int:
        total = 1
        for size in self.shape:
            total *= size
        return total

    def detach(self) -> Tensor:
        return self

    def to(self, where: str) -> Tensor:
        return self

    def tolist(self) -> Any:
        return self.values

    def reshape(self, *sizes: int) -> Tensor:
        flat = self.values if self.dim() == 1 else [one for row in self.values for one in row]
        if len(sizes) == 1:
            return Tensor(flat, self.dtype)
        return Tensor([flat[i * sizes[1] : (i + 1) * sizes[1]] for i in range(sizes[0])], self.dtype)

    def float(self) -> Tensor:
        return self

    def is_floating_point(self) -> bool:
        return self.dtype == float32

    def diagonal(self, offset: int, *axes: int) -> Tensor:
        return Tensor([[row[i][i + offset] for i in range(-offset, len(row))] for row in self.values])

    def sum(self, axes: tuple[int, ...]) -> Tensor:
        return Tensor([sum(map(sum, row)) for row in self.values])

    def __getitem__(self, place: Any) -> Tensor:
        if place == (0,) or place == (slice(None), 0):
            return Tensor(self.values[0] if place == (0,) else [row[0] for row in self.values], self.dtype)
        return Tensor([row[place[1]] for row in self.values], self.dtype)


class Given(Tensor):
    """What a model gave: a backward pass through it runs its hooks."""

    requires_grad = True

    def __init__(self) -> None:
        super().__init__([0], float32)
        self.hooks: list[Callable[[Any], None]] = []

    def register_hook(self, hook: Callable[[Any], None]) -> None:
        self.hooks.append(hook)

    def backward(self) -> None:
        for hook in self.hooks:
            hook(None)


class Parameter(Tensor):
    """A weight that counts how often it was written to, as torch's tensors do; by way of its data nobody counts."""

    is_meta = False
    device = "cpu"

    def __init__(self) -> None:
        super().__init__([0.0], float32)
        self._version = 0

    def write(self) -> None:
        self._version += 1

    def is_floating_point(self) -> bool:
        return True


def tensor(values: Any) -> Tensor:
    return Tensor(values)


def _each(values: Any, holds: Callable[[Any], bool]) -> Any:
    return [_each(one, holds) for one in values] if isinstance(values, list) else holds(values)


def eq(one: Tensor, number: int) -> Tensor:
    return Tensor(_each(one.values, lambda value: value == number))


def ne(one: Tensor, number: int) -> Tensor:
    return Tensor(_each(one.values, lambda value: value != number))


def stack(some: Sequence[Tensor]) -> Tensor:
    return Tensor([one.values for one in some])


def equal(one: Tensor, other: Tensor) -> bool:
    return bool(one.values == other.values)


_grad = [True]


def is_grad_enabled() -> bool:
    return _grad[0]


def enable_grad() -> Any:
    return nullcontext()


def compile(model: Any = None, *, backend: str = "inductor") -> Any:  # noqa: A001
    """What is compiled calls nothing that Python sees."""
    if model is None:
        return lambda one: compile(one, backend=backend)
    return lambda *args, **kwargs: None


_traced = [False]


class compiler:
    """Whether torch.compile traces what runs."""

    @staticmethod
    def is_compiling() -> bool:
        return _traced[0]


from torch import nn, optim, utils  # noqa: E402, F401
