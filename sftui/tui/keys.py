"""Keys to commands: counts, prefix keys and the user's keymap, checked before anything runs.

Pure. Textual's own keymaps silently drop a binding that clashes and ignore an unknown id
(trap T9), so keys are resolved here and every mistake in a user's keymap is reported at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations, product

from sftui.errors import SftuiError
from sftui.nearest import hint
from sftui.tui.commands.command import Command, show_key
from sftui.tui.contexts import ANY, DIALOG
from sftui.values import value_class

EATEN = frozenset(f"ctrl+{key}" for key in "absqojimh[")
"""Keys that tmux, screen, flow control or the terminal's own encoding take before we see them."""
MODIFIERS = frozenset(("ctrl", "shift", "alt", "super", "hyper", "meta"))

MOST = 1_000_000_000


class KeymapError(SftuiError):
    """The user's keymap cannot be honoured."""


@value_class
class Stroke:
    """What a key press came to: a command with its count, or what is still awaited.

    `pending` is what has been typed so far, for the status line; `unknown` is a key (or a prefix
    with a key) that means nothing here.
    """

    command: Command | None = None
    count: int | None = None
    pending: str = ""
    unknown: str = ""


@dataclass(frozen=True, eq=False)
class Keymap:
    """Command by (context, key sequence); `prefixes` are first keys that await a second one."""

    commands: Mapping[tuple[str, str], Command]
    prefixes: frozenset[tuple[str, str]]

    def find(self, context: str, sequence: str) -> Command | None:
        own = self.commands.get((context, sequence))
        return own if own is not None or context == DIALOG else self.commands.get((ANY, sequence))

    def awaits(self, context: str, key: str) -> bool:
        anywhere = context != DIALOG and (context, key) not in self.commands and (ANY, key) in self.prefixes
        return (context, key) in self.prefixes or anywhere

    def keys_of(self, command_id: str) -> tuple[str, ...]:
        return self._keys.get(command_id, ())

    @cached_property
    def _keys(self) -> dict[str, tuple[str, ...]]:
        """Looked up for each hint of the footer at each key, so not sought again."""
        found: dict[str, dict[str, None]] = {}
        for (_, sequence), command in self.commands.items():
            found.setdefault(command.id, {})[sequence] = None
        return {name: tuple(sequences) for name, sequences in found.items()}


class KeyReader:
    """Turns presses into strokes; holds the count and the prefix typed so far."""

    def __init__(self, keymap: Keymap) -> None:
        self.keymap = keymap
        self._digits = ""
        self._prefix = ""

    @property
    def pending(self) -> str:
        return self._digits + show_key(self._prefix)

    def awaited(self, context: str) -> str:
        """What may follow the prefix that was typed: `k mark keep  d mark drop`; "" where none was."""
        if not self._prefix:
            return ""
        found = {
            sequence.split(" ")[1]: command.title
            for (where, sequence), command in self.keymap.commands.items()
            if where in (context, ANY) and sequence.startswith(f"{self._prefix} ")
        }
        return "  ".join(f"{show_key(key)} {title}" for key, title in found.items())

    def clear(self) -> None:
        self._digits = self._prefix = ""

    def feed(self, key: str, context: str) -> Stroke:
        """One press in `context`; escape forgets what was pending and does nothing else."""
        if key == "escape" and self.pending:
            self.clear()
            return Stroke()
        if not self._prefix and key.isdecimal() and len(key) == 1 and (self._digits or key != "0"):
            self._digits = (self._digits + key)[:10]
            return Stroke(pending=self.pending)
        if not self._prefix and self.keymap.awaits(context, key):
            self._prefix = key
            return Stroke(pending=self.pending)
        sequence = f"{self._prefix} {key}".strip()
        command = self.keymap.find(context, sequence)
        count = min(int(self._digits), MOST) if self._digits else None
        self.clear()
        if command is None:
            return Stroke(unknown=show_key(sequence))
        return Stroke(command, count)


def build_keymap(table: Sequence[Command], overrides: Mapping[str, Sequence[str]] | None = None) -> Keymap:
    """The keymap of a table of commands with the user's `{command id: keys}`; KeymapError names every mistake."""
    chosen = overrides or {}
    problems = keymap_problems(table, chosen)
    if problems:
        raise KeymapError("the keymap cannot be used", why="; ".join(problems), fix="correct it in the settings file")
    found = {(c.context, key): c for c in table for key in chosen.get(c.id, c.keys)}
    prefixes = frozenset((context, seq.split(" ")[0]) for context, seq in found if " " in seq)
    return Keymap(found, prefixes)


def keymap_problems(table: Sequence[Command], keymap: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """What is wrong with a user's keymap, a clause each: unknown ids, clashes, and keys that can never arrive.

    A clash is two commands that answer to one key in the same context or where one of them works everywhere (a dialog
    knows its own keys alone), or a key that begins another's sequence. Clashes among the default keys are the table's
    own business: a pane's command may win over one that works everywhere. So only pairs that the keymap touches are
    reported.
    """
    if not keymap:
        return ()
    ids = [command.id for command in table]
    problems = [f"there is no command `{name}`{hint(name, ids)}" for name in keymap if name not in ids]
    for name, keys in keymap.items():
        if name in ids and not keys:
            problems.append(f"`{name}` has no key; omit it to keep the default")
        problems.extend(f"`{name}`: `{key}` is not a key" for key in keys if not _is_key(key))
    for one, other in combinations(table, 2):
        contexts = {one.context, other.context}
        together = len(contexts) == 1 or (ANY in contexts and DIALOG not in contexts)
        if not together or not (one.id in keymap or other.id in keymap):
            continue
        for a, b in product(keymap.get(one.id, one.keys), keymap.get(other.id, other.keys)):
            if clash(a, b) and not (a in one.keys and b in other.keys):
                problems.append(
                    f"`{a}` is the key of both `{one.id}` and `{other.id}`"
                    if a == b
                    else f"`{a}` of `{one.id}` and `{b}` of `{other.id}` begin with the same key"
                )
    return (*problems, *(p for name, keys in keymap.items() for key in keys for p in _unreachable(name, key)))


def clash(a: str, b: str) -> bool:
    """Equal, or one is the beginning of the other's sequence of keys."""
    return all(first == second for first, second in zip(a.split(), b.split()))


def _is_key(key: str) -> bool:
    """A printable character, a named key, or either with modifiers; several make a sequence."""
    steps = key.split()
    return bool(steps) and all(map(_is_step, steps))


@cache
def _named_keys() -> frozenset[str]:
    from textual.keys import Keys  # which the first paint does not wait for

    return frozenset(key.value for key in Keys if key.value.isalnum()) - {"return"}


def _is_step(step: str) -> bool:
    if len(step) == 1:
        return step.isprintable()
    *modifiers, last = step.split("+")
    return MODIFIERS.issuperset(modifiers) and (
        last in _named_keys() or (len(last) == 1 and last.isprintable() and bool(modifiers))
    )


def _unreachable(name: str, sequence: str) -> Iterator[str]:
    steps = sequence.split(" ")
    if len(steps) > 2:
        yield f"`{name}`: `{sequence}` is longer than two keys"
    for step in steps:
        if step in EATEN:
            yield f"`{name}`: `{step}` never reaches sftui inside tmux or screen"
        elif step.isdecimal():
            yield f"`{name}`: digits are counts"
