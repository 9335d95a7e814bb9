"""Loss scales: which weight each part of a text has.

Source: ms-swift 4.6.0, loss_scale/base.py, agent.py, utils.py (calculate_loss_scale) and template/utils.py
(split_str_parts_by). A base strategy says which texts have any; behind it stand names whose weights are recorded
(registry.SCALES): of words, each with what stands behind it, or of expressions. Several are multiplied.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from sftui.trainers.ms_swift.registry import SCALES

Parts = list[tuple[str, float]]
"""A text in parts, each with its weight."""


def weighed(text: str, names: Sequence[str], query: str | None) -> Parts:
    """A text that has a weight, in the parts that the named scales make of it."""
    parts: Parts = [(text, 1.0)]
    for name in names:
        if name != "base":
            parts = [(inner, weight * own) for part, weight in parts for inner, own in _of(part, name, query)]
    return parts


def binary(names: Sequence[str]) -> bool:
    """Whether the scales have no weight but 0 and 1, so that labels alone say it."""
    return all(name == "base" or (name != "agentflan" and _is_binary(SCALES[name])) for name in names)


def _is_binary(weights: Mapping[str, Sequence[float]]) -> bool:
    return all(weight in (0.0, 1.0) for several in weights.values() for weight in several)


def _of(text: str, name: str, query: str | None) -> Parts:
    weights: Mapping[str, Any] = SCALES[name]
    if name == "agentflan":
        if query is not None:
            for words, one in weights["query"].items():
                if words in query:
                    return [(text, float(one[0]))]
        weights = weights["response"]
    words = [word for word, several in weights.items() if len(several) == 2]
    return _by_words(text, words, weights) if words else _by_expressions(text, list(weights), weights)


def _by_words(text: str, words: Sequence[str], weights: Mapping[str, Sequence[float]]) -> Parts:
    """The words, and what stands behind each up to the next."""
    pieces = [
        piece for piece in re.split("|".join(f"({re.escape(word)})" for word in words), text) if piece is not None
    ]
    found: Parts = [(pieces[0], 1.0)] if pieces[0] else []
    for word, behind in zip(pieces[1::2], pieces[2::2]):
        own = weights[word]
        found += [(word, own[0]), (behind, own[1])]
    return found


def _by_expressions(text: str, expressions: Sequence[str], weights: Mapping[str, Sequence[float]]) -> Parts:
    """What the expressions fit, and what stands between: of that, too, what begins as one of them weighs so."""
    together = "|".join(f"({one})" for one in expressions)
    found: Parts = []
    for piece in re.split(together, text, flags=re.DOTALL):
        if piece:
            own = next((one for one in expressions if re.match(one, piece, re.DOTALL)), None)
            found.append((piece, 1.0 if own is None else weights[own][0]))
    return found
