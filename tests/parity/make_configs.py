"""Configs of our own from a seed: keys of each trainer's real schema with right and wrong values.

A config begins with what every run needs, takes some of the keys that decide rows, ids or labels (`DECIDING`, with
values that are right, odd and wrong), and some keys of the release's own record (known_keys.json) with any value.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml
from trainers import module_of

ANY: tuple[Any, ...] = (True, False, None, 0, 1, 3, 0.5, "1", "true", "x", [], ["a"], {}, {"a": 1})
FLAG: tuple[Any, ...] = (True, False, "true", "no", 1, 0, None, "maybe", 2, [])
COUNT: tuple[Any, ...] = (1, 64, 2048, "128", 16.0, None, 1.5, "many", True, [8], 0, -1)
NAME: tuple[Any, ...] = ("m/one", "two", None, 3, ["a"])

PLAIN: Mapping[str, Sequence[str]] = {
    "'no'": ("no", "off", "No", "n"),
    "'true'": ("yes", "on", "YES", "y"),
    "true": ("yes", "true", "On"),
    "false": ("no", "false", "OFF"),
    "2048": ("2048", "2_048", "04000", "34:08", "2048.", "2.048e3", "2.048e+3", "0x800"),
    "64": ("64", "0100", "1:04"),
    "0.05": ("0.05", "5e-2", "5.0e-2", ".05"),
    "20": ("20", "024", "0_20"),
}
"""What `_plain` writes in the place of a value."""

Draw = random.Random
Deciding = Mapping[str, Sequence[Any]]


def some(draw: Draw, pool: Deciding, low: int, high: int) -> dict[str, Any]:
    """Keys of a pool, each with one of its values."""
    names = draw.sample(sorted(pool), min(draw.randint(low, high), len(pool)))
    return {name: draw.choice(list(pool[name])) for name in names}


def strange(draw: Draw, names: Sequence[str], config: Mapping[str, Any], count: int) -> dict[str, Any]:
    """Keys of the schema, outside of what is there, with any value."""
    left = [name for name in names if name not in config]
    return {name: draw.choice(ANY) for name in draw.sample(left, count)}


def configs(trainer: str, seed: int, count: int) -> Iterator[tuple[str, str]]:
    """`count` configs as (path, text), the same for the same seed."""
    from sftui.trainers.table import known_keys

    names = sorted(known_keys(trainer, trainer, None).config)
    for number in range(count):
        draw = random.Random(f"{trainer} {seed} {number}")
        text = yaml.safe_dump(module_of(trainer, "configs").make(draw, names), sort_keys=False)
        yield f"made-{seed}-{number}.yaml", text if number % 3 else _plain(draw, text)


def _plain(draw: Draw, text: str) -> str:
    """The text with values written as people write them, which YAML 1.1 and 1.2 do not read alike."""
    return "".join(f"{draw.choice(PLAIN.get(part, (part,)))}" for part in re.split(r"(?<=: )(\S+)(?=\n)", text))
