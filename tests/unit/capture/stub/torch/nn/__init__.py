from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch import Given, Parameter
from torch.nn import functional as functional


class Module:
    training = True

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.forward(*args, **kwargs)  # type: ignore[attr-defined]

    def children(self) -> Iterator[Module]:
        return (one for one in vars(self).values() if isinstance(one, Module))

    def parameters(self) -> Iterator[Any]:
        for one in vars(self).values():
            if isinstance(one, Parameter):
                yield one
            elif isinstance(one, Module):
                yield from one.parameters()


class Embedding(Module):
    def __init__(self) -> None:
        self.weight = Parameter()

    def forward(self, ids: Any) -> Any:
        return Given()
