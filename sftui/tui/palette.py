"""The palette: Textual's own, fed from the table of commands; a number goes to that row."""

from __future__ import annotations

from collections.abc import Callable

from textual.command import DiscoveryHit, Hit, Hits, Provider

from sftui.tui.commands import Command, available, show_key
from sftui.tui.main_screen import MainScreen


class CommandProvider(Provider):
    """Commands that work from where the keys are, each with its key."""

    @property
    def main(self) -> MainScreen:
        screen = self.screen
        assert isinstance(screen, MainScreen)
        return screen

    def _commands(self) -> tuple[Command, ...]:
        return tuple(c for c in available(self.main.context) if c.id not in ("palette", "close", "interrupt"))

    def _run(self, command_id: str) -> Callable[[], None]:
        return lambda: self.main.run_command(command_id)

    def _title(self, command: Command) -> str:
        keys = " ".join(show_key(key) for key in self.main.keymap.keys_of(command.id))
        return f"{command.title}   {keys}"

    async def discover(self) -> Hits:
        for command in self._commands():
            yield DiscoveryHit(self._title(command), self._run(command.id), command.title, command.help)

    async def search(self, query: str) -> Hits:
        number = query.strip().replace(",", "")
        if number.isdecimal():
            yield Hit(1.0, f"go to row {int(number):,}", lambda: self.main.row_commands.go(int(number)), f"row {number}")
        matcher = self.matcher(query)
        for command in self._commands():
            title = self._title(command)
            score = max(matcher.match(title), 0.5 * matcher.match(command.help))
            if score > 0:
                yield Hit(score, matcher.highlight(title), self._run(command.id), command.title, command.help)
