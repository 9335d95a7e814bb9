"""What a way takes of the processor for each of what it is given, told as the last line that it prints."""

import json
import os
from collections.abc import Callable, Iterable


def say_each(prepare: Callable[[str], object], given: Iterable[str]) -> None:
    """Prepare one after the other, and print the processor seconds of each, its processes' included, as JSON."""
    spent: list[float] = []
    for one in given:
        begun = sum(os.times()[:4])
        prepare(one)
        spent.append(sum(os.times()[:4]) - begun)
    print(json.dumps(spent))
