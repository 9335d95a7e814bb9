"""Changes of a recipe that may remove a fault or turn a label over, which its trainer can be told: the likely first.

Nothing here is known to help; `trial` finds that out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

from sftui.conversations import Detection
from sftui.conversations.detect import SYSTEM_COLUMNS
from sftui.conversations.messages import CONTENT_KEYS, FLAG_KEYS, KNOWN_ROLES, ROLE_ALIASES, ROLE_KEYS, WEIGHT_KEYS
from sftui.errors import SftuiError
from sftui.findings.rules.truncation import round_up
from sftui.findings.rules.unread import ANSWERS
from sftui.model import NOWHERE, Inspection, Row
from sftui.pipeline import objective_of
from sftui.recipe import Recipe, changed, knobs_of
from sftui.recipe_io import knob_at
from sftui.templates import ChatTemplate, variables_of
from sftui.trainers import traits_of
from sftui.trainers.own_config import choices_of, other_choices
from sftui.trainers.remembering import last_asked

DECIDING = ("mask", "own", "length", "loss")
"""The sections of a recipe in which a knob may decide a label and leave the ids as they are."""
ALL = (*DECIDING, "render", "tokenize", "pack", "batch", "data")
"""Those in which a knob may remove a fault."""
FACTS = ("data.format", "data.given_labels", "loss.objective")
"""Knobs that say what the data is and what it teaches: another value would hide a fault, where the rows can be read."""
KNOWN_NAMES = {"messages", "tools", "documents", "add_generation_prompt", "raise_exception", "strftime_now"}
"""What transformers gives a template, beside the special tokens."""
DATA_FLAGS = ("train_flag", "train_detail", "weight")
"""Keys of a message by which the data decides; they may be left unread."""
_TEXTS: Mapping[str, tuple[str, ...]] = {
    "text": ("text", "content", "body", "document"),
    "prompt": ("prompt", "question", "query", "problem", "instruction", "input"),
    "completion": ANSWERS,
    "instruction": ("instruction", "prompt", "question", "query", "problem", "text"),
    "output": ANSWERS,
    "system": SYSTEM_COLUMNS,
}
"""Names under which a column of text is read as a field of ours."""
_KEYS: Mapping[str, tuple[str, ...]] = {
    "role": (*ROLE_KEYS, "author"),
    "content": (*CONTENT_KEYS, "message"),
    "train_flag": FLAG_KEYS,
    "weight": WEIGHT_KEYS,
}
"""Names under which a key of messages is read as one of ours."""
_SAID = re.compile(
    r"""([\w.\[\]]+): ((?:true|false|null)(?= |,|$)|(?:"[^"]*"|\[[^\]]*\]|\{[^}]*\}|[^\s,{}\[\]"]+)(?=,|$))"""
)
"""A key of a config and its value in a sentence of advice; words may follow a switch."""


def advised(recipe: Recipe, advice: str) -> Iterator[Recipe]:
    """The recipe with what an advice says in keys of its trainer's config; none where it names no key, or one that
    takes another value."""
    import yaml

    trainer = traits_of(recipe.preset)
    table = getattr(import_module(trainer.config), "TABLE", ()) if trainer.config else ()
    for key, text in _SAID.findall(advice):
        if "..." in text or "<" in text:  # a place for what the user must fill in
            continue
        name = key.rpartition("]")[2].strip(".")
        for entry in table:
            place = next((one for one in entry.keys if one == name or one.endswith(f".{name}")), None)
            if place is None:
                continue
            try:
                config: Any = yaml.safe_load(text)
                for step in reversed(place.split(".")):
                    config = {step: config}
                said = entry.read(config, recipe, "the advice")
            except (SftuiError, yaml.YAMLError):
                continue
            other = recipe
            for path, value in said.items():
                other = changed(other, path, value)
            yield other


def single_knobs(
    recipe: Recipe, rows: Sequence[Inspection], sections: tuple[str, ...] = DECIDING
) -> Iterator[tuple[str, Any]]:
    """What one knob may be set to: the length that the rows need, and `settings`."""
    longest = max([len(row.tokens) for row in rows if row.tokens is not None], default=0)
    if recipe.length.max is not None and longest > recipe.length.max:
        yield "length.max", round_up(longest)
    yield from settings(recipe, sections)


@last_asked
def settings(recipe: Recipe, sections: tuple[str, ...]) -> tuple[tuple[str, Any], ...]:
    """What one knob of some sections may be set to whatever the rows are: a choice, a flag of the data that is not
    read."""
    ranked = sorted(knobs_of(recipe), key=lambda info: info.path.partition(".")[0] not in DECIDING)
    deciding = [info for info in ranked if info.path.partition(".")[0] in sections and info.path not in FACTS]
    found = [(info.path, choice) for info in deciding for choice in other_choices(recipe, info)]
    keys: Mapping[str, str] = recipe.data.message_keys
    read = [flag for flag in DATA_FLAGS if flag in keys]
    return (*found, *(("data.message_keys", {name: keys[name] for name in keys if name != flag}) for flag in read))


def renderings(recipe: Recipe, template: ChatTemplate | None) -> Iterator[Recipe]:
    """The recipe with the tokenizer's own template, and with each flag of its template on and off."""
    if recipe.render.template != "tokenizer":
        yield changed(recipe, "render.template", "tokenizer")
    names = variables_of(template) - KNOWN_NAMES if template is not None else ()
    for name in sorted(one for one in names if not one.endswith("_token")):
        for value in (True, False):
            yield changed(recipe, "render.kwargs", {**recipe.render.kwargs, name: value})


def with_role(recipe: Recipe, now: Inspection, token: int) -> Iterator[tuple[str, Any]]:
    """The roles that are trained with that of a token's message, or without it."""
    if now.tokens is None or now.conversation is None:
        return
    message, messages = now.tokens.messages[token], now.conversation.messages
    if NOWHERE < message < len(messages):
        yield "mask.roles", toggled(recipe.mask.roles, messages[message].role)


def toggled(roles: tuple[str, ...], role: str) -> tuple[str, ...]:
    """The roles without one of them, or with one more."""
    return tuple(one for one in roles if one != role) if role in roles else (*roles, role)


@last_asked
def pairs(recipe: Recipe) -> tuple[Recipe, ...]:
    """The recipe without markers of its own, where its trainer finds them in the template, and with another mask rule
    and one more knob of the mask changed."""
    rules = next(info for info in knobs_of(recipe) if info.path == "mask.rule")
    bare = changed(changed(recipe, "mask.instruction_marker", None), "mask.response_marker", None)
    found = [bare] if bare != recipe else []
    for rule in other_choices(recipe, rules):
        first = changed(recipe, rules.path, rule)
        more = [info for info in knobs_of(first) if info.path.startswith("mask.") and info.path != rules.path]
        found += [changed(first, info.path, choice) for info in more for choice in other_choices(first, info)]
    return tuple(found)


def mappings(recipe: Recipe, detected: Detection, rows: Sequence[Row], *, lost: bool) -> Iterator[Recipe]:
    """The recipe that reads a column, or a key of messages, that nobody reads, as what its values look like; where rows
    are lost, one that reads them in another format."""
    data = [row.data for row in rows if isinstance(row.data, Mapping)]
    if not data:
        return
    objective = objective_of(rows, recipe) if lost and recipe.supervised else None
    if objective:
        other = changed(recipe, "loss.objective", objective)
        yield from (other, *mappings(other, detected, rows, lost=lost))
    if objective is not None:  # to train on one side alone would hide what the rows are
        return
    formats = [one for one in other_choices(recipe, knob_at("data.format", recipe)) if one != "auto"]
    others = [recipe, *(changed(recipe, "data.format", one) for one in formats if lost)]
    columns = {name: value for row in data for name, value in row.items() if value not in (None, "", [])}
    read = set(detected.fields.values())
    for other in others:
        if other is not recipe:
            yield other
        if lost:
            yield from _whole(other, detected, columns)
        for name, value in columns.items():
            if name not in read:
                for field in _fields_for(name, value):
                    yield changed(other, "data.fields", {**other.data.fields, field: name})
        for turns in columns.values():
            if keys := _message_keys(turns, detected.message_keys):
                named = changed(other, "data.message_keys", {**detected.message_keys, **keys})
                yield named
                role = keys.get("role") or detected.message_keys.get("role", "role")
                yield from _renamed(named, turns, role, detected)
    for turns in columns.values():
        yield from _renamed(recipe, turns, detected.message_keys.get("role", "role"), detected)


def _whole(recipe: Recipe, detected: Detection, columns: Mapping[str, Any]) -> Iterator[Recipe]:
    """The recipe that reads a list of turns with its own keys and roles, or two columns of text as question and
    answer."""
    for name, turns in columns.items():
        keys = _keys_by_values(turns)
        if keys:
            made = changed(recipe, "data.fields", {**recipe.data.fields, "messages": name})
            yield made
            made = changed(made, "data.message_keys", keys)
            yield made
            yield from _renamed(made, turns, keys["role"], detected)
    texts = [name for name, value in columns.items() if isinstance(value, str)]
    asked, said = ([name for name in texts if name.lower() in _TEXTS[field]] for field in ("prompt", "completion"))
    for first, second in (("prompt", "completion"), ("instruction", "output")):
        for question in asked:
            for answer in said:
                yield changed(recipe, "data.fields", {**recipe.data.fields, first: question, second: answer})


def _keys_by_values(turns: Any) -> dict[str, str]:
    """Which key of some turns says whose turn it is and which what is said; empty where none does."""
    if not _is_turns(turns):
        return {}
    texts = [key for key in turns[0] if all(isinstance(turn.get(key), str) for turn in turns)]
    speakers = {*KNOWN_ROLES, *ROLE_ALIASES}
    role = next((key for key in texts if all(turn[key].lower() in speakers for turn in turns)), None)
    said = [key for key in texts if key != role]
    content = next((key for key in said if key in _KEYS["content"]), said[0] if len(said) == 1 else None)
    return {} if role is None or content is None else {"role": role, "content": content}


def _fields_for(name: str, value: Any) -> Iterator[str]:
    """What a column may be read as, by its values and its name."""
    if _is_turns(value):
        yield "messages"
    elif isinstance(value, str):
        yield from (field for field, names in _TEXTS.items() if name.lower() in names)
    if "tool" in name.lower() or "function" in name.lower():
        yield "tools"


def _message_keys(turns: Any, known: Mapping[str, str]) -> dict[str, str]:
    """Keys of messages that stand in place of those that are read and are not there, and flags that are not read."""
    if not _is_turns(turns):
        return {}
    first = {key: value for turn in turns for key, value in turn.items() if value is not None}
    found: dict[str, str] = {}
    for ours, names in _KEYS.items():
        if known.get(ours, ours) not in first:
            name = next((name for name in names if name in first and name not in known.values()), None)
            if name is not None:
                found[ours] = name
    return found


def _renamed(recipe: Recipe, turns: Any, key: str, detected: Detection) -> Iterator[Recipe]:
    """The recipe with the roles of some turns that no template knows as those that they are elsewhere, beside the names
    that it has, or in their place: some trainers take one each, and can be told where they are told the format."""
    if not _is_turns(turns):
        return
    known: Mapping[str, str] = recipe.data.role_map
    said = {str(turn.get(key)) for turn in turns}
    meant = {role: ROLE_ALIASES.get(role.lower(), role.lower()) for role in sorted(said)}
    roles = {role: ours for role, ours in meant.items() if ours in KNOWN_ROLES}
    named = {role: ours for role, ours in roles.items() if role not in (ours, *known)}
    if not named:
        return
    formats = choices_of(recipe, knob_at("data.format", recipe))
    if recipe.data.format == "auto" and detected.format in formats:
        recipe = changed(recipe, "data.format", detected.format)
    yield changed(recipe, "data.role_map", {**known, **named})
    others = {name: role for name, role in known.items() if role not in roles.values()}
    yield changed(recipe, "data.role_map", {**others, **roles})


def _is_turns(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and bool(value) and all(isinstance(turn, Mapping) for turn in value)
