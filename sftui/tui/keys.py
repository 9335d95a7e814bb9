"""Keys to commands: counts, prefix keys and the user's keymap, checked before anything runs.

Pure. Textual's own keymaps silently drop a binding that clashes and ignore an unknown id
(trap T9), so keys are resolved here and every mistake in a user's keymap is reported at once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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
    with a key) that means nothing here, `sequence` the keys of either.
    """

    command: Command | None = None
    count: int | None = None
    pending: str = ""
    unknown: str = ""
    sequence: str = ""


@dataclass(frozen=True, eq=False)
class Keymap:
    """Command by (context, key sequence); `prefixes` are first keys that await a second one, `moved` the commands by
    the pane and the keys they had in the last release."""

    commands: Mapping[tuple[str, str], Command]
    prefixes: frozenset[tuple[str, str]]
    moved: Mapping[tuple[str, str], Command] = field(default_factory=dict)

    def find(self, context: str, sequence: str) -> Command | None:
        own = self.commands.get((context, sequence))
        return own if own is not None or context == DIALOG else self.commands.get((ANY, sequence))

    def awaits(self, context: str, key: str) -> bool:
        anywhere = context != DIALOG and (context, key) not in self.commands and (ANY, key) in self.prefixes
        return (context, key) in self.prefixes or anywhere

    def went(self, context: str, sequence: str, now: Command | None = None) -> str:
        """Where what some keys did in a pane went; empty where they did nothing else there, or still do. `now`: the
        command that they are now."""
        was = self.moved.get((context, sequence))
        if was is None and context != DIALOG and (now is None or now.context == ANY):
            was = self.moved.get((ANY, sequence))
        if was is None or was is now or sequence in self.keys_of(was.id):
            return ""
        keys = " ".join(show_key(one) for one in self.keys_of(was.id))
        return f"{show_key(sequence)} was {was.title}: that is {keys or f'in the palette (: {was.title})'} now"

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
            return Stroke(unknown=show_key(sequence), sequence=sequence)
        return Stroke(command, count, sequence=sequence)


def build_keymap(table: Sequence[Command], overrides: Mapping[str, Sequence[str]] | None = None) -> Keymap:
    """The keymap of a table of commands with the user's `{command id: keys}`; KeymapError names every mistake."""
    chosen = overrides or {}
    problems = keymap_problems(table, chosen)
    if problems:
        raise KeymapError("the keymap cannot be used", why="; ".join(problems), fix="correct it in the settings file")
    taken = [(c, key) for c in table if c.id in chosen for key in chosen[c.id]]
    own = ((c, key) for c in table if c.id not in chosen for key in c.keys)
    found = {(c.context, key): c for c, key in own if not _given_away(c, key, taken)}
    found |= {(c.context, key): c for c, key in taken}
    prefixes = frozenset((context, seq.split(" ")[0]) for context, seq in found if " " in seq)
    return Keymap(found, prefixes, _moved(table, {prefix for _, prefix in prefixes}))


def _moved(table: Sequence[Command], prefixes: Collection[str]) -> dict[tuple[str, str], Command]:
    """Commands by the pane and the keys they had; of a prefix that is none any more by itself."""
    found: dict[tuple[str, str], Command] = {}
    for command in table:
        for key in command.was or ():
            first = key.split(" ")[0]
            if key not in command.keys:
                found.setdefault((command.was_in or command.context, key if first in prefixes else first), command)
    return found


def _given_away(command: Command, key: str, taken: Sequence[tuple[Command, str]]) -> bool:
    """Whether a user gave a key that a command did not have in the last release to another command."""
    return key not in (command.keys if command.was is None else command.was) and any(
        clash(key, other) and (command.context == one.context or ANY in (command.context, one.context))
        for one, other in taken
    )


def keymap_problems(table: Sequence[Command], keymap: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """What is wrong with a user's keymap, a clause each: unknown ids, clashes, and keys that can never arrive.

    A clash is two commands that answer to one key in the same context or where one of them works everywhere (a dialog
    knows its own keys alone), or a key that begins another's sequence. Clashes among the default keys are the table's
    own business: a pane's command may win over one that works everywhere. So only pairs that the keymap touches are
    reported, and of these none where a user gave a command a key that the other one did not have in the release
    before: it is not the other's then.
    """
    if not keymap:
        return ()
    ids = [command.id for command in table]
    problems = [f"there is no command `{name}`{hint(name, ids)}" for name in keymap if name not in ids]
    for name, keys in keymap.items():
        if name in ids and not keys:
            problems.append(f"`{name}` has no key left; leave it out to keep its own")
        problems.extend(f"`{name}`: `{key}` is no key" for key in keys if not _is_key(key))
    for one, other in combinations(table, 2):
        contexts = {one.context, other.context}
        together = len(contexts) == 1 or (ANY in contexts and DIALOG not in contexts)
        if not together or not (one.id in keymap or other.id in keymap):
            continue
        for a, b in product(keymap.get(one.id, one.keys), keymap.get(other.id, other.keys)):
            if _given(one, other, b, keymap) or _given(other, one, a, keymap):
                continue
            if clash(a, b) and not (_was(one, a) and _was(other, b)):
                problems.append(
                    f"`{a}` is the key of both `{one.id}` and `{other.id}`"
                    if a == b
                    else f"`{a}` of `{one.id}` and `{b}` of `{other.id}` begin the same"
                )
    return (*problems, *(p for name, keys in keymap.items() for key in keys for p in _unreachable(name, key)))


def _was(command: Command, key: str) -> bool:
    return key in command.keys or key in (command.was or ())


def _given(one: Command, other: Command, key: str, keymap: Mapping[str, Sequence[str]]) -> bool:
    """Whether a user gave `one` a key that `other` did not have before, which is then not the other's."""
    return one.id in keymap and other.id not in keymap and other.was is not None and key not in other.was


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
            yield f"`{name}`: `{step}` never arrives inside tmux or screen"
        elif step.isdecimal():
            yield f"`{name}`: digits are counts"
