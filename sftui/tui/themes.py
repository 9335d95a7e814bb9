"""The themes: surfaces of neutral grey, accents on the xterm colour cube, one style per role.

SSH seldom forwards COLORTERM, so colours fall to 256; saturated dark surfaces then collapse into
black or navy (trap T7). Greys of the 24-step ramp and points of the 6×6×6 cube come out as they
are. Trained and masked are a blue/orange pair and never shown by colour alone: a glyph row, bold,
underline and reverse say the same, for NO_COLOR and the mono theme (T6).
"""

from __future__ import annotations

from typing import Any

from rich.color import Color
from rich.style import Style
from textual.theme import BUILTIN_THEMES, Theme

from sftui.views.cells import Over, Role

DEFAULT = "dark"
TITLES = {
    "dark": "dark",
    "light": "light",
    "contrast": "high contrast, on black",
    "ansi": "ansi: your terminal's own colours",
    "mono": "mono: no colours",
}


_COLOURS = {
    "back": ("#121212", "#ffffff", "#000000", "default"),
    "bar": ("#303030", "#e4e4e4", "#444444", "default"),
    "learnt": ("#10284a", "#d7ebff", "#0000af", "default"),
    "text": ("#e4e4e4", "#1c1c1c", "#ffffff", "default"),
    "muted": ("#a8a8a8", "#585858", "#d0d0d0", "default"),
    "faint": ("#6c6c6c", "#949494", "#a8a8a8", "bright_black"),
    "trained": ("#5fafff", "#005faf", "#5fd7ff", "blue"),
    "special": ("#ffaf5f", "#875f00", "#ffaf00", "yellow"),
    "accent": ("#afd7ff", "#005f87", "#ffff00", "cyan"),
    "warning": ("#ffd75f", "#87005f", "#ffff5f", "magenta"),
    "error": ("#ff8787", "#af0000", "#ff8787", "red"),
    "system": ("#af87d7", "#5f00af", "#d7afff", "bright_magenta"),
    "user": ("#87af5f", "#005f00", "#87ff87", "green"),
    "assistant": ("#5fafaf", "#005f5f", "#5fffff", "cyan"),
    "tool": ("#d7afaf", "#875f5f", "#ffd7d7", "bright_yellow"),
}
"""Each colour in the first four themes, as Rich reads it; `default` leaves the terminal's own, as mono always does."""
PALETTES = {
    **{
        theme: {name: each[n] for name, each in _COLOURS.items()}
        for n, theme in enumerate(("dark", "light", "contrast", "ansi"))
    },
    "mono": dict.fromkeys(_COLOURS, "default"),
}


_LOOKS: dict[Role, tuple[str, dict[str, Any]]] = {
    role: (colour, dict.fromkeys(attributes.split(), True))
    for colour, attributes, roles in (
        ("text", "", (Role.PLAIN, Role.LABEL, Role.VALUE, Role.LEARNT)),
        ("text", "bold", (Role.TITLE,)),
        ("muted", "dim", (Role.MASKED, Role.HEADER, Role.POSITION, Role.NUMBER, Role.DIM)),
        ("faint", "dim", (Role.PAD, Role.BORDER)),
        ("faint", "strike dim", (Role.CUT,)),
        ("faint", "italic dim", (Role.GHOST,)),
        ("trained", "bold", (Role.TRAINED,)),
        ("trained", "", (Role.GOOD, Role.ADDED)),
        ("special", "bold", (Role.CHANGED,)),
        ("special", "", (Role.SPECIAL, Role.REMOVED)),
        ("accent", "bold", (Role.WEIGHTED, Role.FOCUS)),
        ("accent", "", (Role.KEY,)),
        ("warning", "bold", (Role.WARNING,)),
        ("error", "bold", (Role.ERROR,)),
        *((role.value, "", (role,)) for role in (Role.SYSTEM, Role.USER, Role.ASSISTANT, Role.TOOL)),
    )
    for role in roles
}
"""Palette colour and attributes of each role; `dim` only where the theme has no greys of its own."""

_SEEN_UNDER_CURSOR = (Role.TRAINED, Role.LEARNT, Role.WEIGHTED, Role.SPECIAL, Role.CUT, Role.ERROR, Role.WARNING)
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
        if (over is Over.CURSOR and role not in _SEEN_UNDER_CURSOR) or (over is Over.BAR and self._flat):
            colour = "text"
        if not self._flat:
            attributes = {name: on for name, on in attributes.items() if name != "dim"}
        if self.name == "mono" and role is Role.SPECIAL:
            attributes = {**attributes, "underline": True}
        if role is Role.LEARNT and self._flat:
            colour, attributes = "trained", {"bold": True}
        elif role is Role.LEARNT:
            ground = "learnt"
        front, back = Color.parse(self.palette[colour]), Color.parse(self.palette[ground])
        style = Style(color=front, bgcolor=back, reverse=over is Over.CURSOR, **attributes)
        if over is Over.CURSOR:
            return style + Style(bold=True, dim=False)
        if over is Over.BAR:
            return style + (Style(reverse=True) if self._flat else Style(bgcolor=Color.parse(self.palette["bar"])))
        if over is Over.HIT:
            return style + Style(color=Color.parse(self.palette["warning"]), underline=True, bold=True, dim=False)
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
        primary=prefix + p["trained"],
        foreground=prefix + p["text"],
        background=prefix + p["back"],
        **flatly,
    )
