"""The sentence that every exported file begins with."""

from __future__ import annotations

from typing import Any

from sftui.recipe import Recipe, diff

LONGEST = 60


def correction_line(recipe: Recipe, base: Recipe) -> str:
    """One line of plain ASCII-safe text: what was corrected against the starting recipe."""
    changes = diff(base, recipe)
    if not changes:
        return "sftui: nothing was corrected against the starting recipe"
    listed = ", ".join(f"{c.path} {_short(c.before)} -> {_short(c.after)}" for c in changes)
    return f"sftui: corrected against the starting recipe: {listed}"


def _short(value: Any) -> str:
    """A value on one line, whatever it holds: it ends up in a comment of a script."""
    text = "null" if value is None else value if isinstance(value, str) else repr(value)
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
