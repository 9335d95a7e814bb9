"""What TRL's argument parser makes of the values of a config, and at which it stops.

Source: trl 1.16.0, scripts/utils.py (TrlParser.set_defaults_with_config) and scripts/_hf_argparser.py: a config's
values become the defaults of argparse, which puts a default that is text through the type of its argument, and leaves
any other as it is. What belongs to `accelerate launch` goes there as words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sftui.errors import RecipeError
from sftui.recipe_io import shown
from sftui.trainers.known import Known

YES, NO = ("yes", "true", "t", "y", "1"), ("no", "false", "f", "n", "0")
NONE = "none_or_"


def given(config: Mapping[str, Any], known: Known, where: str) -> dict[str, Any]:
    """The config as the parser gives it to SFTConfig; RecipeError for what it stops at."""
    kinds = {key: kind for kind, keys in known.types.items() for key in keys}
    if not isinstance(config.get("env", {}), Mapping):
        raise RecipeError("`env` is no mapping", where=where, why="TRL sets its names as environment variables")
    for key, value in config.items():
        if key in known.choices and str(value) not in known.choices[key]:
            listed = ", ".join(sorted(known.choices[key]))
            raise _stopped(key, value, f"`accelerate launch` knows {listed}", where)
    return {key: _converted(key, value, kinds.get(key, ""), where) for key, value in config.items()}


def _converted(key: str, value: Any, kind: str, where: str) -> Any:
    inner = kind.removeprefix(NONE)
    if isinstance(value, bool) and inner == "int":
        return int(value)  # what python counts it as
    if not isinstance(value, str) or inner not in CONVERT:
        return value
    if kind != inner and value.lower() in ("none", "null"):
        return None
    try:
        return CONVERT[inner](value)
    except ValueError:
        raise _stopped(key, value, f"argparse finds no {inner.replace('string_to_', '')} in it", where) from None


def _truth(text: str) -> bool:
    if text.lower() in YES + NO:
        return text.lower() in YES
    raise ValueError(text)


def _stopped(key: str, value: Any, why: str, where: str) -> RecipeError:
    return RecipeError(f"`{key}` cannot be {shown(value)}", where=where, why=f"TRL stops at it: {why}")


CONVERT: Mapping[str, Callable[[str], Any]] = {"int": int, "float": float, "string_to_bool": _truth}
