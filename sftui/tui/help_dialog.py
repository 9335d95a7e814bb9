"""The help: keys, signs and concepts, filtered by what is typed; Enter goes on to the pages."""

from __future__ import annotations

from collections.abc import Sequence

from sftui.tui.filtering import Filtering
from sftui.tui.help_text import help_lines
from sftui.tui.keys import Keymap
from sftui.tui.themes import Styles
from sftui.views.cells import Line


class Help(Filtering):
    """As tall as all of it, so that nothing moves while one types."""

    sign = "?"
    hint = "a key, a sign, a word: tokens, mask, export, shift …"

    def __init__(self, context: str, keymap: Keymap, look: Styles) -> None:
        self.context, self.keymap = context, keymap
        super().__init__("help", self.made, keymap, look, onward="lists the pages of help")

    def made(self, width: int) -> Sequence[Line]:
        return help_lines(self.context, self.keymap, width, self.text)

    def filtered(self) -> None:
        self.lines.resized()

    def keys(self) -> str:
        return "type to filter · ↑ ↓ scroll · Enter pages · Esc closes"
