"""The one place that knows what a mistyped word may have meant."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

LEAST = 0.7
"""How alike two words must be, as difflib measures it; below it a guess is random more often than right."""
MOST_NAMED = 12
LONGEST, MOST_COMPARED = 200, 2_000
"""Characters of a word, and words, that are compared: names of columns come from data, which may have 100,000."""


def nearest(word: str, known: Iterable[str], least: float = LEAST) -> str | None:
    """The known word that was most likely meant, letter case and `-` for `_` aside; None where none is near.

    A word of the same letters comes first; of words that are equally near, the one that begins alike.
    """
    from difflib import SequenceMatcher

    wanted = _plain(word)
    matcher = SequenceMatcher(None, b=wanted)
    best: tuple[bool, float, bool] = (False, least, False)
    found = None
    for one in islice(known, MOST_COMPARED):
        name = _plain(str(one))
        if name == wanted:
            return str(one)
        matcher.set_seq1(name)
        if matcher.real_quick_ratio() < best[1] or matcher.quick_ratio() < best[1]:
            continue
        ratio = matcher.ratio()
        score = (ratio > least and sorted(name) == sorted(wanted), ratio, name[:1] == wanted[:1])
        if score > best:
            best, found = score, str(one)
    return found


def did_you_mean(word: str, known: Iterable[str], otherwise: str | None = None, least: float = LEAST) -> str:
    """'did you mean `messages`?', else `otherwise`, or without one the names that there are."""
    names = [str(one) for one in known]
    near = nearest(word, names, least)
    if near is not None:
        return f"did you mean `{near}`?"
    if otherwise is not None or not names:
        return otherwise or ""
    shown = ", ".join(f"`{name}`" for name in names[:MOST_NAMED])
    return f"there are {shown}" + (f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else "")


def hint(word: str, known: Iterable[str]) -> str:
    """', did you mean `messages`?' to stand behind a word; "" where none is near."""
    near = did_you_mean(word, known, "")
    return f", {near}" if near else ""


def _plain(word: str) -> str:
    return word.strip()[:LONGEST].lower().replace("-", "_")
