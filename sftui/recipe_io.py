"""Recipes as YAML: load with every problem named, save only what differs from the preset."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from typing import Any, NamedTuple

from sftui.errors import RecipeError
from sftui.nearest import hint
from sftui.recipe import TODAY, KnobInfo, Recipe, changed, diff, knob_named, knobs_of, sections
from sftui.safe_yaml import Dialect, YamlProblem, load_yaml
from sftui.values import value_class

PresetLookup = Callable[..., Recipe]
"""Name of a preset, or nothing for the usual one → its recipe; raises RecipeError for an unknown name."""

SCHEMA = 3
"""Written into every saved recipe as `schema`; up to 2 the number stood under `format`.

1 (no number): saved before `tokenizer.transformers` was known. 2: a trainer's own options stood in `mask.options`.
"""
RENAMED = {"mask.options": "own"}
"""Old places of knobs and where they stand now."""
EXAMPLES = {
    "names": "human: user",
    "mapping": "enable_thinking: false",
    "str|mapping": "enable_thinking: false",
    "ids": "128041: <|new|>",
}
"""A mapping of each kind, to show how one is written."""
LONGEST_ID = 18
"""Digits; longer numbers are no ids, and Python does not read those of thousands of digits."""
NOTHING = ("", "null", "none", "~")
LONGEST_SHOWN = 80
"""Characters of a value that a sentence quotes."""


@value_class
class Misfit:
    """A value that a knob cannot take: why, and what to do."""

    why: str
    fix: str


class SimpleKind(NamedTuple):
    """What a knob takes that holds one thing, and what to do where it is given another."""

    types: tuple[type, ...]
    fix: str


TEXT = SimpleKind((str,), "put the text in quotes")
SIMPLE = {
    "bool": SimpleKind((bool,), "use true or false"),
    "number": SimpleKind((int, float), "give a number"),
    "int": SimpleKind((int,), "use an integer"),
    **dict.fromkeys(("str", "str|number", "str|mapping"), TEXT),
}


def parse_yaml(text: str, where: str, dialect: Dialect = "1.2") -> Mapping[str, Any]:
    """A YAML mapping, never running code; RecipeError with line and column."""
    try:
        value = json.loads(text) if where.lower().endswith(".json") else load_yaml(text, dialect)
    except YamlProblem as error:
        raise RecipeError(f"the recipe {error.what}", where=error.where(where), why=error.why, fix=error.fix) from error
    except (ValueError, RecursionError) as error:
        raise RecipeError("the config is not JSON", where=where, why=str(error)) from error
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
            problems.append(f"no section `{section}`{hint(str(section), section_names)}")
            continue
        if group is None:
            continue
        if not isinstance(group, Mapping):
            problems.append(f"`{section}` must be a mapping of knobs, not {shown(group)}")
            continue
        for path, raw in _placed(str(section), group):
            info = knob_named(recipe, path)
            if info is None:
                problems.append(unknown_knob(path, recipe))
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


def _placed(section: str, group: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The knobs of a section by their paths of today."""
    for key, raw in group.items():
        path = f"{section}.{key}"
        if path in RENAMED and isinstance(raw, Mapping):
            yield from ((f"{RENAMED[path]}.{name}", value) for name, value in raw.items())
        elif path not in RENAMED or raw is not None:
            yield path, raw


def schema_of(value: Mapping[str, Any], where: str) -> int:
    """The schema that a parsed recipe says it has, 1 where it says none; RecipeError where this sftui does not read
    it."""
    key = "schema" if "schema" in value else "format"
    number = value.get(key, 1)
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise RecipeError(
            f"`{key}` cannot be {shown(number)}",
            where=where,
            why="it is the schema number that the recipe was saved with",
            fix=f"write `schema: {SCHEMA}`, or leave it as sftui saved it",
        )
    if number > SCHEMA:
        raise RecipeError(
            f"the recipe has schema {number}, but this sftui reads schemas up to {SCHEMA}",
            where=where,
            why="it was saved by a newer sftui, where its knobs may have a different meaning",
            fix="open it with that version, or update sftui",
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
    writer.allow_unicode = _BREAKS.isdisjoint(json.dumps(tree, ensure_ascii=False, default=str))
    writer.width = 100
    writer.dump(tree, stream)
    return stream.getvalue()


_BREAKS = frozenset("\x85\u2028\u2029\ufeff")
"""Ends of lines to YAML, which a text keeps where they are escaped."""


def parse_value(path: str, text: str, recipe: Recipe) -> Any:
    """What a person typed for one knob of a recipe, as its value; RecipeError says what it may be. A text is taken as
    it is, white space and all, or as YAML reads it where it stands in quotes."""
    info, quotes = knob_at(path, recipe), unquoted(text)
    said = text if quotes is None else quotes
    raw: Any = said.strip() if info.choices else said
    kind, lowered = info.type.removesuffix("?"), text.strip().lower() or text
    if info.type.endswith("?") and (lowered in NOTHING or (lowered == "off" and kind != "bool")):
        raw = None
    elif kind == "bool" and lowered in ("true", "yes", "on", "1", "false", "no", "off", "0"):
        raw = lowered in ("true", "yes", "on", "1")
    elif kind in ("int", "number"):
        raw = _number(said.strip().lower().replace("_", "").replace(",", ""), text)
    elif kind in ("mapping", "names", "ids") or (kind == "str|mapping" and lowered.startswith("{")):
        raw = _mapped(said, path)
    elif kind == "list":
        raw = _listed(text)
    checked = check(info, raw)
    if isinstance(checked, Misfit):
        raise RecipeError(f"`{path}` {checked.why}", fix=checked.fix)
    return checked


def unquoted(text: str) -> str | None:
    """What a text in quotes says as YAML; None for any other text."""
    bare = text.strip()
    if len(bare) < 2 or bare[0] not in "\"'" or bare[0] != bare[-1]:
        return None
    try:
        found = parse_yaml(f"value: {bare}", "value").get("value")
    except RecipeError:
        return None
    return found if isinstance(found, str) else None


def quoted(text: str, always: bool = False) -> str:
    """A text as `parse_value` reads it back: in quotes where it would not be taken as it is, or not be seen."""
    plain = text.isprintable() and text == text.strip() and text.lower() not in (*NOTHING, "off")
    if plain and unquoted(text) is None and not always:
        return text
    escaped = (_ESCAPES.get(char) or (char if char.isprintable() else f"\\U{ord(char):08x}") for char in text)
    return f'"{"".join(escaped)}"'


_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\"}


def set_knob_to(recipe: Recipe, path: str, value: Any, key: str = "", where: str = "") -> Recipe:
    """The recipe with one knob set, as long as it can take the value; RecipeError that names `key`, the one it stands
    under in a config."""
    checked = check(knob_at(path, recipe), value)
    if isinstance(checked, Misfit):
        raise RecipeError(f"`{key or path}` {checked.why}", where=where, fix=checked.fix)
    return changed(recipe, path, checked)


def check(info: KnobInfo, raw: Any) -> Any:
    """The value as the knob stores it, or a Misfit."""
    if raw is None and info.type.endswith("?"):
        return None
    if has_half_character(raw):
        return Misfit(
            f"cannot be {shown(raw)}", "remove the half character (a lone surrogate), which is not valid text"
        )
    if info.choices:
        if isinstance(raw, bool):  # YAML reads a bare off/no/on/yes of version 1.1 as a boolean
            raw = {False: "off", True: "on"}[raw]
        if not isinstance(raw, str) or raw not in info.choices:
            close, choices = hint(str(raw), info.choices).removeprefix(", "), ", ".join(info.choices)
            fix = f"{close} It can be {choices}" if close else f"choose one of {choices}"
            return Misfit(f"cannot be {shown(raw)}", fix)
        return raw
    kind = info.type.removesuffix("?")
    if info.path == "tokenizer.type" and not (isinstance(raw, str) and raw.isascii() and raw.isidentifier()):
        return Misfit(f"cannot be {shown(raw)}", "name a transformers class such as LlamaTokenizer")
    if info.path == "render.date":
        return _day(raw)
    if kind == "str|number" and isinstance(raw, (int, float)) and not isinstance(raw, bool):
        return str(raw)  # a version such as 0.24, written without quotes
    simple = SIMPLE.get(kind) if kind != "str|mapping" or not isinstance(raw, Mapping) else None
    if simple is not None:
        if not isinstance(raw, simple.types) or (isinstance(raw, bool) and kind != "bool"):
            return Misfit(f"cannot be {shown(raw)}", simple.fix)
        if info.minimum is not None and isinstance(raw, int) and raw < info.minimum:
            return Misfit(f"cannot be {raw}", f"give {info.minimum} or more")
        return raw
    if kind == "list":
        if isinstance(raw, (list, tuple)) and all(isinstance(item, str) for item in raw):
            return tuple(raw)
        return Misfit(f"cannot be {shown(raw)}", "give a list of names, e.g. assistant, user or [assistant, user]")
    if not isinstance(raw, Mapping):
        example = EXAMPLES[kind]
        return Misfit(f"cannot be {shown(raw)}", f"give a mapping, e.g. {{{example}}}")
    odd = [entry for entry in raw.items() if not all(isinstance(text, str) for text in entry)]
    if kind == "names" and odd:
        return Misfit(f"cannot map {shown(odd[0][0])} to {shown(odd[0][1])}", "give names as text, in quotes")
    if kind == "ids":
        if all(_is_id(key) and isinstance(value, str) for key, value in raw.items()):
            return {int(key): value for key, value in raw.items()}
        return Misfit(f"cannot be {shown(raw)}", f"give ids and their text, e.g. {{{EXAMPLES[kind]}}}")
    if wrong := next(((key, value) for key, value in raw.items() if not isinstance(key, str)), None):
        return Misfit(f"cannot have the key {shown(wrong[0])}", "give names as text, in quotes")
    return dict(raw)


def _number(text: str, typed: str) -> Any:
    """What a person typed, as a number; the text itself where it is none, which `check` refuses."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return typed


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
    return Misfit(f"cannot be {shown(raw)}", "use today or a date, e.g. 2026-11-22")


def _is_id(key: Any) -> bool:
    """Whether a key is a token's id; JSON has such keys as text."""
    return type(key) is int or (isinstance(key, str) and key.isdecimal() and len(key) <= LONGEST_ID)


def has_half_character(raw: Any) -> bool:
    """Whether a text in a value is no valid Unicode: no tokenizer, file name or file takes it."""
    if isinstance(raw, str):
        return not raw.isascii() and any("\ud800" <= char <= "\udfff" for char in raw)
    if isinstance(raw, Mapping):
        return any(map(has_half_character, raw)) or any(map(has_half_character, raw.values()))
    return isinstance(raw, (list, tuple)) and any(map(has_half_character, raw))


def shown(raw: Any) -> str:
    """A value of a config in a sentence, cut to a bearable length."""
    text = repr(raw)
    return text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "…"


def knob_at(path: str, recipe: Recipe) -> KnobInfo:
    """What is known of one knob of a recipe; RecipeError with the nearest that there is."""
    found = knob_named(recipe, path)
    if found is None:
        raise RecipeError(unknown_knob(path, recipe))
    return found


def unknown_knob(path: str, recipe: Recipe) -> str:
    """One sentence for a knob that does not exist, with the nearest that do."""
    paths = [info.path for info in knobs_of(recipe)]
    section, _, name = path.partition(".")
    if section == "own":
        own = [one.partition(".")[2] for one in paths if one.startswith("own.")]
        if not own:
            return f"no knob `{path}`: {recipe.trainer} has no options of its own"
        return f"no knob `{path}`{hint(name, own) or f', {recipe.trainer} has ' + ', '.join(own)}"
    same_name = [p for p in paths if p.partition(".")[2] == (name or section)]
    if same_name:
        return f"no knob `{path}`, did you mean `{same_name[0]}`?"
    return f"no knob `{path}`{hint(path, paths)}"


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return dict(value) if isinstance(value, Mapping) else value


def today(path: str) -> str:
    """The path under which a knob stands today: `mask.options.seed` is `own.seed`."""
    for old, new in RENAMED.items():
        if path == old or path.startswith(f"{old}."):
            return new + path.removeprefix(old)
    return path


def parse_mapping(text: str, path: str) -> Mapping[str, Any]:
    """A mapping as a person types one; RecipeError where it is none."""
    found = _mapped(text, path)
    if isinstance(found, Mapping):
        return found
    raise RecipeError(f"`{path}` cannot be {shown(text)}", fix=f"give a mapping, e.g. {{{EXAMPLES['mapping']}}}")


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
            return parse_yaml("list:\n" + "\n".join(f" {line}" for line in text.split("\n")), "list")["list"]
        except RecipeError:
            return text
    if stripped.startswith("{"):
        return text
    names, at = [], 0
    while at < len(stripped):
        found = _NAME.match(stripped, at)
        if found is None:
            return text
        word, name = found[0].strip().removesuffix(",").strip(), found[found.lastgroup or 0]
        names.append(name if found.lastgroup == "bare" else unquoted(word) or name)
        at = found.end()
    return names
