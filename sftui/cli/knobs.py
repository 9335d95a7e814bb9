"""`sftui knobs`: every setting of the recipe, what each choice does, and the trainers' own keys for it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import click

from sftui.cli.terminal import page_width
from sftui.errors import RecipeError
from sftui.nearest import did_you_mean
from sftui.recipe import KnobInfo, get, knobs_of
from sftui.recipe import knobs as shared_knobs
from sftui.text import visible
from sftui.trainers import preset, trainer_named, trainer_names
from sftui.trainers.own_config import choices_of, key_of
from sftui.views.knobs import value_text


@dataclass(frozen=True, slots=True)
class Knob:
    """A knob as trainers know it. `keys` are those of their configs, `defaults` what their newest preset begins with,
    `offers` the choices that each can express; `owner` is the one trainer that has it, empty for a knob of all."""

    info: KnobInfo
    owner: str = ""
    keys: dict[str, str] = field(default_factory=dict)
    defaults: dict[str, Any] = field(default_factory=dict)
    offers: dict[str, tuple[Any, ...]] = field(default_factory=dict)

    @property
    def searched(self) -> str:
        """All that a search looks through."""
        choices = [f"{choice} {self.info.meaning(choice)}" for choice in self.info.choices]
        return " ".join((self.info.path, self.info.doc, *choices, *self.keys.values())).casefold()

    @property
    def names(self) -> tuple[str, ...]:
        """What it may be called: by its path, its last word, or a trainer's key."""
        keys = [key for said in self.keys.values() for key in said.split(", ")]
        return (self.info.path, self.info.path.rpartition(".")[2], *keys, *(key.rpartition(".")[2] for key in keys))


def described_knobs(trainer: str | None) -> tuple[Knob, ...]:
    """Every knob of a preset such as `trl@1.16`, or without one those of all trainers."""
    recipes = {name: preset(name) for name in ([trainer] if trainer else trainer_names())}
    shared = {info.path: Knob(info) for info in shared_knobs()}
    own: list[Knob] = []
    for name, recipe in recipes.items():
        for info in knobs_of(recipe):
            knob = shared.get(info.path)
            if knob is None:
                own.append(knob := Knob(info, name))
            if key := key_of(name, info.path):
                knob.keys[name] = key
            knob.defaults[name] = get(recipe, info.path)
            if knob.info.choices:
                knob.offers[name] = choices_of(recipe, knob.info)
    return (*shared.values(), *own)


def found(described: Sequence[Knob], word: str) -> tuple[tuple[Knob, ...], tuple[Knob, ...]]:
    """The knobs that a word names (by path, last word or a trainer's key), and the others that contain it; RecipeError
    with the nearest name where there is none."""
    wanted = word.strip().casefold()
    exact = tuple(knob for knob in described if wanted == knob.info.path.casefold())
    if exact:
        return exact, ()
    holding = [knob for knob in described if wanted in knob.searched]
    if not wanted or not holding:
        names = dict.fromkeys(name for knob in described for name in knob.names)
        raise RecipeError(f"no knob contains `{word}`", fix=did_you_mean(word, names, "`sftui knobs` lists them"))
    named = tuple(knob for knob in holding if wanted in map(str.casefold, knob.names))
    return named, tuple(knob for knob in holding if not any(knob is other for other in named))


def knobs(name: str | None, trainer: str | None, form: str) -> int:
    """Print one knob whole where the word names it, else each in a line; 2 where there is none."""
    described = described_knobs(trainer)
    named, others = found(described, name) if name is not None else ((), described)
    if not named and len(others) == 1:
        named, others = others, ()
    if form == "json":
        click.echo(json.dumps([_as_json(knob) for knob in (*named, *others)], ensure_ascii=False, indent=2))
        return 0
    width = page_width()
    parts = [one_knob(knob, trainer, width) for knob in named]
    if others and named:
        more = ", ".join(dict.fromkeys(knob.info.path for knob in others))
        parts.append(_wrapped(f"`{visible(name or '')}` also occurs in: {more}", width))
    elif others:
        adds = "" if trainer else "; --trainer NAME adds that trainer's keys, defaults and own options"
        more = f"`sftui knobs NAME` explains a knob and its choices; --set NAME=VALUE sets it{adds}."
        parts += [listed(others, trainer, width, name), _wrapped(more, width)]
    click.echo("\n".join(parts), nl=False)
    return 0


def one_knob(knob: Knob, trainer: str | None, width: int) -> str:
    """All of a knob: meaning, type, default, every choice with what it does, and its key in each trainer's config."""
    info = knob.info
    formatter = click.HelpFormatter(width=width)
    owner = f" ({knob.owner}'s own)" if knob.owner else ""
    formatter.write(f"{info.path}{owner}\n")
    with formatter.indentation():
        formatter.write_text(visible(info.doc))
        formatter.write_paragraph()
        kind = "one of these choices" if info.choices else KINDS.get(info.type.removesuffix("?"), info.type)
        facts = [("type", kind + ", or null" * info.type.endswith("?"))]
        if info.minimum is not None:
            facts.append(("at least", str(info.minimum)))
        facts.append(("default", _defaults(knob)))
        facts.append(("set it", f"--set {info.path}=VALUE"))
        formatter.write_dl(facts)
    if info.choices:
        with formatter.section("Choices"):
            formatter.write_dl([(choice, _choice(knob, choice, trainer)) for choice in info.choices])
    if knob.keys:
        with formatter.section("In the trainers' configs" if trainer is None else "In its config"):
            formatter.write_dl([(name, visible(key)) for name, key in knob.keys.items()])
    elif trainer is not None:
        formatter.write_paragraph()
        with formatter.indentation():
            traits = trainer_named(trainer).traits
            none = "is a hand-written training loop: see its code" if traits.by_hand else "has no key for it"
            formatter.write_text(f"{visible(traits.title)} {none}")
    return formatter.getvalue()


KINDS = {
    "bool": "true or false",
    "int": "a whole number",
    "number": "a number",
    "str": "text",
    "names": "a mapping of names to names, e.g. {human: user}",
    "ids": "a mapping of ids to text",
    "mapping": "a mapping",
    "list": "a list of strings",
    "str|mapping": "text or a mapping",
}
"""The types of knobs (`recipe.KINDS`) in words."""


def _defaults(knob: Knob) -> str:
    """One default, or which presets begin with which."""
    by_value = _names_by({name: value_text(value) for name, value in knob.defaults.items()})
    if len(by_value) == 1:
        return next(iter(by_value))
    return "; ".join(f"{value} ({', '.join(names)})" for value, names in by_value.items())


def _choice(knob: Knob, choice: str, trainer: str | None) -> str:
    """What a choice does, and which trainers cannot express it."""
    meaning = visible(knob.info.meaning(choice))
    without = [name for name, offered in knob.offers.items() if choice not in offered]
    if not without:
        return meaning
    if trainer is not None:
        return f"{meaning} (not in {trainer})"
    able = [name for name in knob.offers if name not in without]
    return f"{meaning} ({', '.join(able)})" if able else meaning


def listed(described: Iterable[Knob], trainer: str | None, width: int, word: str | None) -> str:
    """Each knob in a line: what it means, its default, its key; without a trainer the keys that hold the word."""
    formatter = click.HelpFormatter(width=width)
    for section, some in groupby(described, lambda knob: (knob.info.path.partition(".")[0], knob.owner)):
        with formatter.section(section[0] + f" ({section[1]})" * bool(section[1] and trainer is None)):
            formatter.write_dl([(knob.info.path, _line(knob, trainer, word)) for knob in some], col_max=34)
    return formatter.getvalue().lstrip("\n")


def _line(knob: Knob, trainer: str | None, word: str | None) -> str:
    default = value_text(knob.defaults.get(trainer or "", knob.info.default))
    keys = {
        name: key
        for name, key in knob.keys.items()
        if trainer is not None or (word is not None and word.casefold() in key.casefold())
    }
    named = "".join(f" · {', '.join(names)}: {visible(key)}" for key, names in _names_by(keys).items())
    return f"{visible(knob.info.doc)} [{default}]{named}"


def _names_by(texts: Mapping[str, str]) -> Mapping[str, list[str]]:
    """The trainers that say the same, by what they say."""
    return {text: [name for name, other in texts.items() if other == text] for text in texts.values()}


def _wrapped(text: str, width: int) -> str:
    return click.wrap_text(text, width) + "\n"


def _as_json(knob: Knob) -> dict[str, Any]:
    return {
        "knob": knob.info.path,
        "trainer": knob.owner or None,
        "type": knob.info.type,
        "doc": knob.info.doc,
        "minimum": knob.info.minimum,
        "defaults": knob.defaults,
        "choices": [
            {
                "value": choice,
                "meaning": knob.info.meaning(choice),
                "trainers": [name for name, offered in knob.offers.items() if choice in offered],
            }
            for choice in knob.info.choices
        ],
        "keys": {name: key.split(", ") for name, key in knob.keys.items()},
    }
