"""The user's preferences for the screen: theme, mouse, keymap. They never decide a label (see `recipe`).

    <config folder>/sftui/settings.yaml        theme: ansi
                                               mouse: false
                                               glyphs: ascii
                                               keymap: {row.next: "J", app.quit: "q,Q"}
                                               environment: ~/venvs/train
                                               trainers_from: [acme-sftui]

`environment` is the Python that you train in: its transformers is asked for ids where a recipe means that version.
`trainers_from` are installed packages whose trainers are loaded besides sftui's own, which runs their code.
YAML, because recipes are YAML already and TOML has no reader in Python 3.10. Problems are collected,
not raised: a wrong line must not keep anyone from their data.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from sftui.errors import SftuiError
from sftui.nearest import did_you_mean
from sftui.safe_yaml import YamlProblem, load_yaml
from sftui.side_files import read_side_file

THEMES = ("dark", "light", "ansi", "mono")
GLYPHS = ("ascii", "unicode")


class BoundCommand(Protocol):
    """What a keymap needs to know of a command; `sftui.tui.commands.Command` is one."""

    @property
    def id(self) -> str: ...
    @property
    def keys(self) -> Sequence[str]: ...
    @property
    def context(self) -> str: ...
    @property
    def was(self) -> Sequence[str] | None: ...


@dataclass(frozen=True, slots=True)
class UserSettings:
    """`theme`, `glyphs` None: chosen by the terminal. `keymap`: command id → its keys, replacing the default ones.
    `environment`: the Python environment you train in. `trainers_from`: packages that bring trainers of their own."""

    theme: str | None = None
    mouse: bool = True
    keymap: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    file: str = ""
    environment: str | None = None
    trainers_from: tuple[str, ...] = ()
    glyphs: str | None = None


def settings_file() -> Path:
    """Where the settings are read from; it need not exist."""
    from platformdirs import user_config_dir

    return Path(user_config_dir("sftui")) / "settings.yaml"


def load_settings(file: Path | None = None) -> UserSettings:
    """The settings of the user's file; its problems are in `problems`, whatever is fine is used."""
    path = file if file is not None else settings_file()
    if not path.exists():
        return UserSettings(file=str(path))
    try:
        text = read_side_file(path, "the settings", SftuiError)
    except SftuiError as error:
        return UserSettings(problems=(f"{path}: cannot be read: {error.why}",), file=str(path))
    return read_settings(text, str(path))


def read_settings(text: str, where: str) -> UserSettings:
    """Settings from YAML text; pure."""
    try:
        data = load_yaml(text)
    except YamlProblem as error:
        place = f"{where}: line {error.line}" if error.line else f"{where}:"
        return UserSettings(problems=(f"{place} {error.what}: {error.why}",), file=where)
    if data is None:
        return UserSettings(file=where)
    if not isinstance(data, Mapping):
        return UserSettings(problems=(f"{where}: must be a mapping such as `theme: ansi`",), file=where)
    problems: list[str] = []
    values: dict[str, Any] = {}
    for key, value in data.items():
        name = str(key)
        reader = _READERS.get(name)
        if reader is None:
            problems.append(f"{where}: there is no setting `{name}`{_close(name, _READERS)}")
            continue
        try:
            values[name] = reader(value)
        except ValueError as error:
            problems.append(f"{where}: {name} {error}")
    return UserSettings(**values, problems=tuple(problems), file=where)


def check_keymap(
    keymap: Mapping[str, Sequence[str]],
    commands: Iterable[BoundCommand],
    everywhere: str = "anywhere",
    apart: Collection[str] = (),
) -> tuple[str, ...]:
    """What is wrong with a keymap, one sentence each; empty where it is fine.

    Textual's `set_keymap` ignores an unknown id, and lets a clash take the other command's key away
    without a word (style-anchors trap T9). Here a clash is two commands that answer to one key in the
    same context or where one of them works `everywhere` (contexts `apart` know their own keys alone), or a key that
    begins another's sequence. Clashes among the default keys are the table's own business: a pane's command may win
    over one that works everywhere. So only pairs that the keymap touches are reported, and of these none where a user
    gave a command a key that the other one did not have in the release before: it is not the other's then.
    """
    if not keymap:
        return ()
    table = list(commands)
    ids = [command.id for command in table]
    problems = [f"there is no command `{name}`{_close(name, ids)}" for name in keymap if name not in ids]
    for name, keys in keymap.items():
        if name in ids and not keys:
            problems.append(f"`{name}` has no key left; leave it out to keep its own")
        problems.extend(f"`{name}`: `{key}` is no key" for key in keys if not _is_key(key))
    bound = [(c, tuple(keymap.get(c.id, c.keys))) for c in table]
    for number, (one, keys) in enumerate(bound):
        for other, others in bound[number + 1 :]:
            touched = one.id in keymap or other.id in keymap
            contexts = (one.context, other.context)
            together = one.context == other.context or (everywhere in contexts and not set(apart) & {*contexts})
            if not (touched and together):
                continue
            for a in keys:
                for b in others:
                    if _given(one, other, b, keymap) or _given(other, one, a, keymap):
                        continue
                    if clash(a, b) and not (_was(one, a) and _was(other, b)):
                        problems.append(
                            f"`{a}` is the key of both `{one.id}` and `{other.id}`"
                            if a == b
                            else f"`{a}` of `{one.id}` and `{b}` of `{other.id}` begin the same"
                        )
    return tuple(problems)


def _was(command: BoundCommand, key: str) -> bool:
    return key in command.keys or key in (command.was or ())


def _given(one: BoundCommand, other: BoundCommand, key: str, keymap: Mapping[str, Sequence[str]]) -> bool:
    """Whether a user gave `one` a key that `other` did not have before, which is then not the other's."""
    return one.id in keymap and other.id not in keymap and other.was is not None and key not in other.was


def clash(a: str, b: str) -> bool:
    """Equal, or one is the beginning of the other's sequence of keys."""
    first, second = a.split(), b.split()
    shorter = min(len(first), len(second))
    return first[:shorter] == second[:shorter]


_NAMED_KEYS = frozenset(
    (
        "up",
        "down",
        "left",
        "right",
        "home",
        "end",
        "pageup",
        "pagedown",
        "enter",
        "escape",
        "tab",
        "space",
        "backspace",
        "delete",
        "insert",
        *(f"f{n}" for n in range(1, 25)),
    )
)
_MODIFIERS = frozenset(("ctrl", "shift", "alt", "super", "hyper", "meta"))


def _is_key(key: str) -> bool:
    """A printable character, a named key, or either with modifiers; several make a sequence."""
    steps = key.split()
    return bool(steps) and all(_is_step(step) for step in steps)


def _is_step(step: str) -> bool:
    if len(step) == 1:
        return step.isprintable()
    *modifiers, last = step.split("+")
    if not all(m in _MODIFIERS for m in modifiers):
        return False
    return last in _NAMED_KEYS or (len(last) == 1 and last.isprintable() and bool(modifiers))


def _word_of(known: tuple[str, ...], value: Any) -> str:
    if value not in known:
        raise ValueError(f"cannot be {value!r}{_close(str(value), known) or ': choose one of ' + ', '.join(known)}")
    return str(value)


def _mouse(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"cannot be {value!r}: say true or false")
    return value


def _keymap(value: Any) -> dict[str, tuple[str, ...]]:
    if not isinstance(value, Mapping):
        raise ValueError('must be a mapping such as {app.quit: "q,Q"}')
    found = {}
    for name, keys in value.items():
        parts = keys if isinstance(keys, list) else str(keys).split(",") if keys != "," else [","]
        found[str(name)] = tuple(" ".join(str(key).split()) for key in parts if str(key).strip())
    return found


def _environment(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"must be the folder of a Python environment, not {value!r}")
    return value


def _trainers_from(value: Any) -> tuple[str, ...]:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not all(isinstance(name, str) and name.strip() for name in names):
        raise ValueError(f"must be the names of installed packages, not {value!r}")
    return tuple(name.strip() for name in names)


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "theme": partial(_word_of, THEMES),
    "mouse": _mouse,
    "glyphs": partial(_word_of, GLYPHS),
    "keymap": _keymap,
    "environment": _environment,
    "trainers_from": _trainers_from,
}


def _close(word: str, known: Iterable[str]) -> str:
    hint = did_you_mean(word, known, "")
    return f", {hint}" if hint else ""
