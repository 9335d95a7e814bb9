"""The four themes: surfaces of neutral grey, accents on the xterm colour cube, one style per role.

SSH seldom forwards COLORTERM, so colours fall to 256; saturated dark surfaces then collapse into
black or navy (trap T7). Greys of the 24-step ramp and points of the 6×6×6 cube come out as they
are. Trained and masked are a blue/orange pair and never shown by colour alone: a glyph row, bold,
underline and reverse say the same, for NO_COLOR and the mono theme (T6).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rich.color import Color
from rich.style import Style
from textual.theme import BUILTIN_THEMES, Theme

from sftui.views.cells import Over, Role

DEFAULT = "dark"
TITLES = {
    "dark": "neutral dark",
    "light": "neutral light",
    "ansi": "ansi: your terminal's own colours",
    "mono": "mono: no colours",
}


@dataclass(frozen=True, slots=True)
class ThemeColours:
    """The colours of one theme, as Rich reads them; `default`, where nothing is said, leaves the terminal's own."""

    back: str = "default"
    bar: str = "default"
    text: str = "default"
    muted: str = "default"
    faint: str = "default"
    trained: str = "default"
    special: str = "default"
    accent: str = "default"
    warning: str = "default"
    error: str = "default"
    system: str = "default"
    user: str = "default"
    assistant: str = "default"
    tool: str = "default"


PALETTES = {
    "dark": ThemeColours(
        back="#121212",
        bar="#262626",
        text="#d0d0d0",
        muted="#949494",
        faint="#626262",
        trained="#5fafff",
        special="#ffaf5f",
        accent="#afd7ff",
        warning="#ffd75f",
        error="#ff8787",
        system="#af87d7",
        user="#87af5f",
        assistant="#5fafaf",
        tool="#d7afaf",
    ),
    "light": ThemeColours(
        back="#eeeeee",
        bar="#dadada",
        text="#262626",
        muted="#626262",
        faint="#9e9e9e",
        trained="#005faf",
        special="#875f00",
        accent="#005f87",
        warning="#87005f",
        error="#af0000",
        system="#5f00af",
        user="#005f00",
        assistant="#005f5f",
        tool="#875f5f",
    ),
    "ansi": ThemeColours(
        faint="bright_black",
        trained="blue",
        special="yellow",
        accent="cyan",
        warning="magenta",
        error="red",
        system="bright_magenta",
        user="green",
        assistant="cyan",
        tool="bright_yellow",
    ),
    "mono": ThemeColours(),
}


_LOOKS: dict[Role, tuple[str, dict[str, Any]]] = {
    Role.PLAIN: ("text", {}),
    Role.TRAINED: ("trained", {"bold": True}),
    Role.WEIGHTED: ("accent", {"bold": True}),
    Role.MASKED: ("muted", {"dim": True}),
    Role.SPECIAL: ("special", {}),
    Role.HEADER: ("muted", {"dim": True}),
    Role.CUT: ("faint", {"strike": True, "dim": True}),
    Role.GHOST: ("faint", {"italic": True, "dim": True}),
    Role.PAD: ("faint", {"dim": True}),
    Role.BORDER: ("faint", {"dim": True}),
    Role.LABEL: ("text", {}),
    Role.POSITION: ("muted", {"dim": True}),
    Role.NUMBER: ("muted", {"dim": True}),
    Role.TITLE: ("text", {"bold": True}),
    Role.DIM: ("muted", {"dim": True}),
    Role.KEY: ("accent", {}),
    Role.VALUE: ("text", {}),
    Role.CHANGED: ("special", {"bold": True}),
    Role.WARNING: ("warning", {"bold": True}),
    Role.ERROR: ("error", {"bold": True}),
    Role.GOOD: ("trained", {}),
    Role.ADDED: ("trained", {}),
    Role.REMOVED: ("special", {}),
    Role.FOCUS: ("accent", {"bold": True}),
    Role.SYSTEM: ("system", {}),
    Role.USER: ("user", {}),
    Role.ASSISTANT: ("assistant", {}),
    Role.TOOL: ("tool", {}),
}
"""Palette colour and attributes of each role; `dim` only where the theme has no greys of its own."""

_SEEN_UNDER_CURSOR = (Role.TRAINED, Role.WEIGHTED, Role.SPECIAL, Role.CUT, Role.ERROR, Role.WARNING)
"""Roles whose colour the cursor keeps; all others are one colour, so that a marked line is one block."""


class Styles:
    """The Rich style of each role under one theme, on the pane's ground or on a bar's."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.palette = PALETTES[name]
        self._flat = name in ("ansi", "mono")
        self._styles: dict[tuple[Role, Over, str], Style] = {}

    def of(self, role: Role, over: Over = Over.NONE, ground: str = "back") -> Style:
        key = (role, over, ground)
        style = self._styles.get(key)
        if style is None:
            style = self._styles[key] = self._make(role, over, ground)
        return style

    def _make(self, role: Role, over: Over, ground: str) -> Style:
        colour, attributes = _LOOKS[role]
        if over is Over.CURSOR and role not in _SEEN_UNDER_CURSOR:
            colour = "text"
        if not self._flat:
            attributes = {name: on for name, on in attributes.items() if name != "dim"}
        if self.name == "mono" and role is Role.SPECIAL:
            attributes = {**attributes, "underline": True}
        back = getattr(self.palette, ground)
        style = Style(
            color=Color.parse(getattr(self.palette, colour)),
            bgcolor=Color.parse(back),
            reverse=over is Over.CURSOR,
            **attributes,
        )
        if over is Over.CURSOR:
            return style + Style(bold=True, dim=False)
        if over is Over.HIT:
            return style + Style(color=Color.parse(self.palette.warning), underline=True, bold=True, dim=False)
        if over is Over.MARK:
            return style + Style(underline=True)
        return style


def textual_theme(name: str) -> Theme:
    """The Textual theme, for the grounds and the borders that Textual draws."""
    p, flat = PALETTES[name], name in ("ansi", "mono")
    prefix = "ansi_" if flat else ""
    # older releases of Textual do not take `ansi`
    flatly: dict[str, Any] = {"ansi": True, "variables": BUILTIN_THEMES["ansi-dark"].variables} if flat else {}
    return Theme(
        name=f"sftui-{name}",
        dark=name != "light",
        primary=prefix + p.trained,
        foreground=prefix + p.text,
        background=prefix + p.back,
        **flatly,
    )
