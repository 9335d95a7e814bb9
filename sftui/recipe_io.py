"""Recipes as YAML: load with every problem named, save only what differs from the preset."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from sftui.errors import RecipeError
from sftui.nearest import did_you_mean
from sftui.recipe import TODAY, KnobInfo, Recipe, changed, diff, get, knobs, sections
from sftui.safe_yaml import Dialect, YamlProblem, load_yaml

PresetLookup = Callable[..., Recipe]
"""Name of a preset, or nothing for the usual one → its recipe; raises RecipeError for an unknown name."""

SCHEMA = 3
"""Written into every saved recipe as `schema`; up to 2 the number stood under `format`.

1 (no number): saved before `tokenizer.transformers` was known. 2: as 3, but for the name of the number.
"""
OPTION_KINDS: Mapping[str, Any] = {
    **dict.fromkeys(("special_tokens", "message_property_mappings", "added_tokens_overrides"), Mapping),
    **dict.fromkeys(("tokens", "eot_tokens", "mask_out_tokens"), (list, tuple)),
}
"""Entries of mask.options that hold several values, and as what; under these names every trainer has them so."""
LONGEST_SHOWN = 80
"""Characters of a value that a sentence quotes."""


@dataclass(frozen=True, slots=True)
class Misfit:
    """A value that a knob cannot take: why, and what to do."""

    why: str
    fix: str


def load(text: str, where: str, preset: PresetLookup) -> Recipe:
    """The recipe in a YAML text; RecipeError names the first problem and counts the others."""
    return from_mapping(parse_yaml(text, where), where, preset)


def parse_yaml(text: str, where: str, dialect: Dialect = "1.2") -> Mapping[str, Any]:
    """A YAML mapping, never running code; RecipeError with line and column."""
    try:
        value = load_yaml(text, dialect)
    except YamlProblem as error:
        raise RecipeError(f"the recipe {error.what}", where=error.where(where), why=error.why, fix=error.fix) from error
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise RecipeError(
            "a recipe is a mapping of sections",
            where=where,
            why=f"this is a {type(value).__name__}",
            fix="begin with `preset: hf-trainer`",
        )
    return value


def from_mapping(value: Mapping[str, Any], where: str, preset: PresetLookup) -> Recipe:
    """The recipe that a parsed mapping stands for; every field not named comes from its preset."""
    schema_of(value, where)
    name = value.get("preset")
    if "preset" in value and not isinstance(name, str):
        raise RecipeError("`preset` must be a name", where=where, why=f"it is {shown(name)}")
    recipe = preset(name) if name is not None else preset()
    problems: list[str] = []
    section_names = [*(section for section, _ in sections(recipe)), "waivers", "schema"]
    by_path = {info.path: info for info in knobs()}
    for section, group in value.items():
        if section in ("preset", "schema", "format"):
            continue
        if section == "waivers":
            if isinstance(group, list) and all(isinstance(item, Mapping) for item in group):
                recipe = changed(recipe, "waivers", tuple(dict(item) for item in group))
            else:
                problems.append("`waivers` must be a list of mappings, each with a `code` and a `reason`")
            continue
        if section not in section_names:
            problems.append(f"no section `{section}`{_did_you_mean(str(section), section_names)}")
            continue
        if group is None:
            continue
        if not isinstance(group, Mapping):
            problems.append(f"`{section}` must be a mapping of knobs, not {shown(group)}")
            continue
        for key, raw in group.items():
            path = f"{section}.{key}"
            info = by_path.get(path)
            if info is None:
                problems.append(unknown_knob(path))
                continue
            checked = check(info, raw)
            if isinstance(checked, Misfit):
                problems.append(f"`{path}` {checked.why}, {checked.fix}")
            else:
                recipe = changed(recipe, path, checked)
    if problems:
        more = f" (and {len(problems) - 1} more: {'; '.join(problems[1:4])})" if len(problems) > 1 else ""
        raise RecipeError(problems[0] + more, where=where)
    return recipe


def schema_of(value: Mapping[str, Any], where: str) -> int:
    """The schema that a parsed recipe says it has, 1 where it says none; RecipeError where this sftui does not read
    it."""
    key = "schema" if "schema" in value else "format"
    number = value.get(key, 1)
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise RecipeError(
            f"`{key}` cannot be {shown(number)}",
            where=where,
            why="it is the number of the schema that the recipe was saved in",
            fix=f"write `schema: {SCHEMA}`, or leave it as sftui saved it",
        )
    if number > SCHEMA:
        raise RecipeError(
            f"the recipe has schema {number}, and this sftui reads schemas up to {SCHEMA}",
            where=where,
            why="a newer sftui saved it, and its knobs may mean something else there",
            fix="open it with that sftui, or bring this one up to date",
        )
    return number


def dump(recipe: Recipe, preset: PresetLookup, *, comment: str = "") -> str:
    """The recipe as YAML: the preset and what differs from it; `comment` becomes the first lines."""
    from ruamel.yaml import YAML

    tree: dict[str, Any] = {"preset": recipe.preset, "schema": SCHEMA}
    for change in diff(preset(recipe.preset), recipe):
        if change.path == "preset":
            continue
        section, _, name = change.path.partition(".")
        tree.setdefault(section, {})[name] = _plain(change.after)
    if recipe.waivers:
        tree["waivers"] = [_plain(waiver) for waiver in recipe.waivers]
    stream = io.StringIO()
    for line in comment.splitlines():
        stream.write(f"# {line}\n")
    writer = YAML(typ="safe", pure=True)
    writer.default_flow_style = False
    writer.sort_base_mapping_type_on_output = False
    writer.allow_unicode = True
    writer.width = 100
    writer.dump(tree, stream)
    return stream.getvalue()


def parse_value(path: str, text: str) -> Any:
    """What a person typed for one knob, as its value; RecipeError says what it may be."""
    info = next((k for k in knobs() if k.path == path), None)
    if info is None:
        raise RecipeError(unknown_knob(path))
    raw: Any = text
    if info.type in ("str?", "int?", "int", "bool"):
        lowered = text.strip().lower()
        if info.type.endswith("?") and lowered in ("", "null", "none", "~", "off"):
            raw = None
        elif info.type == "bool" and lowered in ("true", "yes", "on", "1", "false", "no", "off", "0"):
            raw = lowered in ("true", "yes", "on", "1")
        elif info.type.startswith("int"):
            try:
                raw = int(lowered.replace("_", "").replace(",", ""))
            except ValueError:
                raw = text
    elif info.type in ("mapping", "names"):
        raw = _mapped(text, path)
    elif info.type == "list":
        raw = _listed(text)
    checked = check(info, raw)
    if isinstance(checked, Misfit):
        raise RecipeError(f"`{path}` {checked.why}", fix=checked.fix)
    return checked


def set_knob_to(recipe: Recipe, path: str, value: Any, key: str = "", where: str = "") -> Recipe:
    """The recipe with one knob set, as long as it can take the value; RecipeError that names `key`, the one it stands
    under in a config."""
    checked = check(next(info for info in knobs() if info.path == path), value)
    if isinstance(checked, Misfit):
        raise RecipeError(f"`{key or path}` {checked.why}", where=where, fix=checked.fix)
    return changed(recipe, path, checked)


def check(info: KnobInfo, raw: Any) -> Any:
    """The value as the knob stores it, or a Misfit."""
    if raw is None and info.type.endswith("?"):
        return None
    if _has_half_character(raw):
        return Misfit(f"cannot be {shown(raw)}", "take out the half character (a lone surrogate), which no text has")
    if info.choices:
        if isinstance(raw, bool):  # YAML reads a bare off/no/on/yes of version 1.1 as a boolean
            raw = {False: "off", True: "on"}[raw]
        if not isinstance(raw, str) or raw not in info.choices:
            close, choices = _did_you_mean(str(raw), info.choices).removeprefix(", "), ", ".join(info.choices)
            return Misfit(
                f"cannot be {shown(raw)}", f"{close} It can be {choices}" if close else f"choose one of {choices}"
            )
        return raw
    if info.type == "bool":
        return raw if isinstance(raw, bool) else Misfit(f"cannot be {shown(raw)}", "say true or false")
    if info.type.startswith("int"):
        if isinstance(raw, bool) or not isinstance(raw, int):
            return Misfit(f"cannot be {shown(raw)}", "give a whole number")
        if info.minimum is not None and raw < info.minimum:
            return Misfit(f"cannot be {raw}", f"give {info.minimum} or more")
        return raw
    if info.path == "tokenizer.type" and not (isinstance(raw, str) and raw.isascii() and raw.isidentifier()):
        return Misfit(f"cannot be {shown(raw)}", "name a class of transformers such as LlamaTokenizer")
    if info.path == "render.date":
        return _day(raw)
    if info.type.startswith("str"):
        return raw if isinstance(raw, str) else Misfit(f"cannot be {shown(raw)}", "give a text in quotes")
    if info.type == "list":
        if isinstance(raw, (list, tuple)) and all(isinstance(item, str) for item in raw):
            return tuple(raw)
        return Misfit(f"cannot be {shown(raw)}", "give a list of names, e.g. assistant, user or [assistant, user]")
    if info.path == "mask.options" and isinstance(raw, Mapping):
        for name, kind in OPTION_KINDS.items():
            if raw.get(name) is not None and not isinstance(raw[name], kind):
                wanted = "a mapping" if kind is Mapping else "a list"
                return Misfit(f"has {name} {shown(raw[name])}", f"give {wanted}")
    if not isinstance(raw, Mapping):
        example = "human: user" if info.type == "names" else "enable_thinking: false"
        return Misfit(f"cannot be {shown(raw)}", f"give a mapping, e.g. {{{example}}}")
    if info.type == "names" and (wrong := next((one for one in raw.items() if not _both_texts(*one)), None)):
        return Misfit(f"cannot map {shown(wrong[0])} to {shown(wrong[1])}", "give names as text, in quotes")
    if wrong := next(((key, value) for key, value in raw.items() if not isinstance(key, str)), None):
        return Misfit(f"cannot have the key {shown(wrong[0])}", "give names as text, in quotes")
    return dict(raw)


def _day(raw: Any) -> str | Misfit:
    """`today` or a day as text; YAML reads a bare 2026-11-22 as a day of its own type."""
    text = raw.isoformat() if type(raw) is date else raw
    if text == TODAY:
        return TODAY
    try:
        if isinstance(text, str) and len(text) == len("2026-11-22") and date.fromisoformat(text).isoformat() == text:
            return text
    except ValueError:
        pass
    return Misfit(f"cannot be {shown(raw)}", "say today, or a day as year-month-day, e.g. 2026-11-22")


def _both_texts(key: Any, value: Any) -> bool:
    return isinstance(key, str) and isinstance(value, str)


def _has_half_character(raw: Any) -> bool:
    """Whether a text in a value is no valid Unicode: no tokenizer, file name or file takes it."""
    if isinstance(raw, str):
        return not raw.isascii() and any("\ud800" <= char <= "\udfff" for char in raw)
    if isinstance(raw, Mapping):
        return any(map(_has_half_character, raw)) or any(map(_has_half_character, raw.values()))
    return isinstance(raw, (list, tuple)) and any(map(_has_half_character, raw))


def shown(raw: Any) -> str:
    """A value of a config in a sentence, cut to a bearable length."""
    told = repr(raw)
    return told if len(told) <= LONGEST_SHOWN else told[:LONGEST_SHOWN] + "…"


def unknown_knob(path: str) -> str:
    """One sentence for a knob that does not exist, with the nearest that do."""
    paths = [info.path for info in knobs()]
    section, _, name = path.partition(".")
    same_name = [p for p in paths if p.partition(".")[2] == (name or section)]
    if same_name:
        return f"no knob `{path}`, did you mean `{same_name[0]}`?"
    return f"no knob `{path}`{_did_you_mean(path, paths)}"


def cross_check(recipe: Recipe) -> tuple[str, ...]:
    """Sentences on knobs that contradict each other; empty when the recipe makes sense."""
    found = []
    if recipe.mask.rule == "markers" and not recipe.mask.response_marker:
        found.append("mask.rule markers needs mask.response_marker")
    if recipe.batch.pad_to == "max" and recipe.length.max is None:
        found.append("batch.pad_to max needs length.max")
    if recipe.length.over in ("proportional", "split") and recipe.length.max is None:
        found.append(f"length.over {recipe.length.over} needs length.max")
    if recipe.pack.strategy != "none" and recipe.length.max is None:
        found.append(f"pack.strategy {recipe.pack.strategy} needs length.max")
    return tuple(found)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return dict(value) if isinstance(value, Mapping) else value


def _mapped(text: str, path: str) -> Any:
    """A mapping as people type one, `{a: 1}` or `a=1, b=2`; the text itself where it is none, which `check` refuses."""
    stripped = text.strip()
    if not stripped:
        return {}
    if stripped.startswith("{"):
        return parse_yaml(stripped, path)
    if stripped.startswith(("[", "- ")) or not any(sign in stripped for sign in "=:"):
        return text
    return parse_yaml("{" + stripped.replace("=", ": ") + "}", path)


_NAME = re.compile(r"""\s*(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<bare>[^,"'][^,]*?))\s*(?:,|\Z)""")


def _listed(text: str) -> Any:
    """A list as people type one: YAML or JSON, or names with commas between them, quoted or not; the text itself where
    it is none of these, which `check` refuses."""
    stripped = text.strip()
    if stripped.startswith(("[", "- ")):
        try:
            return parse_yaml("list:\n" + "\n".join(f" {line}" for line in text.splitlines()), "list")["list"]
        except RecipeError:
            return text
    if stripped.startswith("{"):
        return text
    names, at = [], 0
    while at < len(stripped):
        found = _NAME.match(stripped, at)
        if found is None:
            return text
        names.append(found[found.lastgroup or 0])
        at = found.end()
    return names


def _did_you_mean(word: str, options: Any) -> str:
    told = did_you_mean(word, options, "")
    return f", {told}" if told else ""


__all__ = [
    "Misfit",
    "check",
    "cross_check",
    "dump",
    "from_mapping",
    "get",
    "load",
    "parse_value",
    "parse_yaml",
    "set_knob_to",
    "shown",
    "unknown_knob",
]
