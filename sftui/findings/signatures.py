"""The roles of a row in order, by which rows are distinguished and waivers are held against them."""

from __future__ import annotations

from collections.abc import Iterable

from sftui.text import visible

SHOWN_ROLES = 40
MORE = " …"
"""Behind a signature that is shown in part."""


def signature_of(roles: Iterable[object]) -> str:
    """The roles of a row in order, joined by spaces and safe to draw."""
    return visible(" ".join(map(str, roles)))


def clipped(signature: str) -> str:
    """A signature for display: the first roles of a very long one."""
    roles = signature.split(" ", SHOWN_ROLES)
    return signature if len(roles) <= SHOWN_ROLES else " ".join(roles[:SHOWN_ROLES]) + MORE
