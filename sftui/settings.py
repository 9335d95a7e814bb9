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

from collections.abc import Callable, Mapping
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import Any

from sftui.errors import SftuiError
from sftui.nearest import hint
from sftui.safe_yaml import YamlProblem, load_yaml
from sftui.side_files import read_side_file
from sftui.values import value_class

THEMES = ("dark", "light", "contrast", "ansi", "mono")
ZOOMS = ("text", "columns", "rows")
GLYPHS = ("ascii", "unicode")


@value_class
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
    zoom: str = "text"


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
    if data is not None and not isinstance(data, Mapping):
        return UserSettings(problems=(f"{where}: must be a mapping such as `theme: ansi`",), file=where)
    problems: list[str] = []
    values: dict[str, Any] = {}
    for key, value in (data or {}).items():
        name = str(key)
        reader = _READERS.get(name)
        if reader is None:
            problems.append(f"{where}: there is no setting `{name}`{hint(name, _READERS)}")
            continue
        try:
            values[name] = reader(value)
        except ValueError as error:
            problems.append(f"{where}: {name} {error}")
    return UserSettings(**values, problems=tuple(problems), file=where)


def _word_of(known: tuple[str, ...], value: Any) -> str:
    if value not in known:
        raise ValueError(f"cannot be {value!r}{hint(str(value), known) or ': choose one of ' + ', '.join(known)}")
    return str(value)


def _mouse(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"cannot be {value!r}: use true or false")
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
    "zoom": partial(_word_of, ZOOMS),
    "mouse": _mouse,
    "glyphs": partial(_word_of, GLYPHS),
    "keymap": _keymap,
    "environment": _environment,
    "trainers_from": _trainers_from,
}
