from __future__ import annotations

from typing import Any


class Optimizer:
    def __init__(self, params: Any = ()) -> None:
        self.param_groups = [*params]

    def step(self) -> None:
        raise NotImplementedError
