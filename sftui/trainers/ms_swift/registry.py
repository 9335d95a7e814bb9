"""ms-swift's own chat templates as data, what it has beside them, agent templates and loss scales, and which template a
model gets, and how long its rows may be, where the config does not say.

Source: ms-swift 4.6.0, template/template_meta.py (TemplateMeta) and template/templates/; recorded from the installed
package (templates.json, written by tests/parity/record_swift_templates.py). A slot is a text, in which {{SYSTEM}},
{{QUERY}}, {{ROUND0}} and {{ROUND1}} are filled in, or ids, each a number or the name of the tokenizer's attribute.
{{DAY:FORMAT}} stands where ms-swift writes the day on which it runs.

Source of the models: model/model_meta.py (get_model_name, get_matched_model_meta, _get_model_info,
get_model_info_meta), template/register.py (get_template_meta), utils/hf_config.py (get_max_model_len); the names are
recorded (models.json, by the same script). A model is known by the last part of its name, or else by the first
architecture of its config.json.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import date
from enum import Enum
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sftui.errors import RecipeError, TemplateError
from sftui.model import Problem
from sftui.nearest import did_you_mean
from sftui.side_files import object_of
from sftui.trainers.processors import tokenizer_folder

TITLE = "ms-swift"
Slot = str | tuple[int | str, ...]
Slots = tuple[Slot, ...]
EMPTY = "dummy"
"""The template of a model that ms-swift does not know."""


class TemplateClass(str, Enum):
    """What a template's class does beside joining its slots (see `prepare` and `contexts`)."""

    PLAIN = "plain"
    GEMMA3 = "gemma3"
    GLM4 = "glm4"
    DEEPSEEK_V3_1 = "deepseek_v3_1"
    HUNYUAN = "hunyuan"


@dataclass(frozen=True, slots=True)
class Template:
    """One template: its slots, and how it treats the system text, thoughts and tools.

    `chat_sep` None: of a conversation of several rounds the last alone is taken. `system_prompt` is the slots of the
    last round where the system text stands in that one. `preserve_thinking` None: it goes by the loss scale.
    """

    name: str
    prefix: Slots
    prompt: Slots
    chat_sep: Slots | None = None
    suffix: Slots = (("eos_token_id",),)
    system_prefix: Slots | None = None
    system_prompt: Slots | None = None
    default_system: str | None = None
    auto_add_bos: bool = False
    stop_words: tuple[str, ...] = ()
    agent_template: str | None = None
    is_thinking: bool = False
    thinking_prefix: str = ""
    non_thinking_prefix: str = ""
    preserve_thinking: bool | None = None
    history_thinking_prefix: str = ""
    kind: TemplateClass = TemplateClass.PLAIN

    @property
    def takes_system(self) -> bool:
        """Whether a system text may be given."""
        return self.system_prefix is not None or self.system_prompt is not None

    @property
    def hybrid(self) -> bool:
        """Whether it is of models that think or do not: an empty thought is put in, and by default not trained."""
        return self.is_thinking and bool(self.non_thinking_prefix)

    def bare(self) -> Template:
        """What is left of it without its chat template (`use_chat_template: false`)."""
        return Template(self.name, (), ("{{QUERY}}",), stop_words=self.stop_words, auto_add_bos=True, kind=self.kind)


def _made(name: str, facts: Mapping[str, Any]) -> Template:
    said = {key: _frozen(value) for key, value in facts.items() if key in _FIELDS}
    return Template(name, **{**said, "kind": TemplateClass(facts["kind"])})


def _frozen(value: Any) -> Any:
    """A recorded value with tuples for lists."""
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


_FIELDS = frozenset(field.name for field in fields(Template))
_RECORDED = object_of(Path(__file__).with_name("templates.json"))

RELEASE: str = _RECORDED["ms-swift"]
"""The release that they are recorded from."""
TEMPLATES: Mapping[str, Template] = MappingProxyType(
    {name: _made(name, facts) for name, facts in _RECORDED["templates"].items()}
)
"""The templates by ms-swift's own names."""
OTHERS = frozenset(_RECORDED["others"].split())
"""The templates whose code does more, or that are of models for images and sounds: sftui has none of their rules."""
AGENTS: Mapping[str, Mapping[str, str]] = MappingProxyType(_RECORDED["agents"])
"""What each agent template writes around a list of tools."""
OTHER_AGENTS = frozenset(_RECORDED["other_agents"].split())
SCALES: Mapping[str, Mapping[str, Any]] = MappingProxyType(_RECORDED["scales"])
"""The weights of each loss scale, by the texts or expressions that they hold for."""

_DAY = re.compile(r"\{\{DAY:(.*?)\}\}")


def template(name: str) -> Template:
    """A template by its name; TemplateError for one that ms-swift does not have, or whose rules sftui does not have."""
    if name in TEMPLATES:
        return TEMPLATES[name]
    if name in OTHERS:
        raise TemplateError(
            f"sftui does not model the template `{name}` of {TITLE} {RELEASE}",
            why="its code does more than join its parts, or it is for an image, audio or reward model",
            fix=f"name another with `template`; sftui has the rules for {len(TEMPLATES)}, such as qwen3, llama3 and"
            " chatml",
        )
    raise TemplateError(
        f"{TITLE} {RELEASE} has no template `{name}`", fix=did_you_mean(name, sorted({*TEMPLATES, *OTHERS}))
    )


def on_day(template: Template, day: date) -> Template:
    """A template with the day filled in, the same where it writes none."""

    def dated(said: Any) -> Any:
        if isinstance(said, str):
            return _DAY.sub(lambda found: day.strftime(found[1]), said)
        return tuple(map(dated, said)) if isinstance(said, tuple) else said

    changes = {name: dated(getattr(template, name)) for name in ("prefix", "system_prefix", "default_system")}
    return replace(template, **changes)


def writes_day(template: Template) -> bool:
    """Whether a template writes the day."""
    return on_day(template, date(2000, 1, 1)) != template


SCALE_NAMES = ("base", *SCALES)
"""The loss scales that may follow a base strategy."""


def check_scale(said: str) -> tuple[str, tuple[str, ...]]:
    """The base strategy of a loss scale, and the names behind it; RecipeError for one that ms-swift does not have."""
    first, *rest = said.split("+")
    if first in STRATEGIES:
        strategy, names = first, tuple(rest) or ("base",)
    else:
        strategy, names = "default", (first, *rest)
    for name in names:
        if name not in SCALE_NAMES:
            raise RecipeError(
                f"{TITLE} has no loss_scale `{name}`",
                why=f"it stops (KeyError: '{name}') unless a plug-in provides one",
                fix=f"use {', '.join(SCALE_NAMES[1:])}, after {', '.join(STRATEGIES)} or alone",
            )
    return strategy, names


STRATEGIES = ("default", "last_round", "all")


LENGTHS = (
    *("seq_length", "max_position_embeddings", "n_positions", "model_max_length"),
    *("seq_len", "max_seq_len", "max_sequence_length", "max_seq_length"),
)
NAMING = "name one with render.template (ms-swift/NAME, `template` in its config), or the model_type"


@dataclass(frozen=True, slots=True)
class Model:
    """What is known of a model: its template (None: not known), why, and the longest row that it takes. `stops`: where
    none is named, ms-swift stops (get_template_meta)."""

    template: str | None
    why: str
    longest: int | None = None
    stops: Problem | None = None


def model_of(name: str | None, revision: str | None, kind: str | None) -> Model:
    """The model of a name or folder; `kind` is model_type. RecipeError where ms-swift stops over it."""
    folder = tokenizer_folder(name, revision)
    config, arguments = ({} if folder is None else object_of(folder / f"{one}.json") for one in ("config", "args"))
    longest = min((value for key in LENGTHS if type(value := config.get(key)) is int), default=None)
    types: Mapping[str, Mapping[str, Any]] = _recorded()["types"]
    if kind is not None and kind not in types:
        raise RecipeError(f"{TITLE} {RELEASE} has no model_type `{kind}`", fix=did_you_mean(kind, sorted(types)))
    found = _names().get(last_name(name or "").lower())
    model_type = kind or (found[0] if found else None) or _text(arguments, "model_type")
    why = f"the model_type {kind}" if kind else f"the model's name implies model_type {model_type}"
    if model_type is None:
        architectures = config.get("architectures")
        architecture = architectures[0] if isinstance(architectures, list) and architectures else None
        if not isinstance(architecture, str):
            shown = f"`{name}`" if name else "no name"
            why = "the folder has no config.json that names an architecture" if name else "there is no model"
            return Model(None, f"{TITLE} does not know the model by {shown}, and {why}", longest)
        kinds = _recorded()["architectures"].get(architecture, "").split()
        if len(kinds) > 1:
            raise RecipeError(
                f"{TITLE} stops: it cannot determine the model_type of `{name}`",
                why=f"models with the architecture {architecture} have several types, {_some(kinds)}",
                fix="name one with own.model_type (`model_type` in its config)",
            )
        if not kinds:
            return Model(EMPTY, f"{TITLE} does not know the architecture {architecture}", longest)
        model_type, why = kinds[0], f"models with the architecture {architecture} are {kinds[0]}"
    said = _text(arguments, "template")
    if said is not None:
        return Model(said, "args.json next to the model names it", longest)
    facts = types.get(model_type, {})
    candidates = facts.get("candidates") or []
    template = found[1] if found and found[0] == model_type and found[1] else facts.get("template")
    if template or len(candidates) == 1:
        return Model(template or candidates[0], why, longest)
    why = f"models with the model_type {model_type} have several templates, {_some(candidates) or 'or none'}"
    fix = "name one with render.template (ms-swift/NAME, `template` in its config)"
    return Model(None, why, longest, Problem(f"{TITLE} stops: it cannot determine the template for `{name}`", why, fix))


def last_name(model: str) -> str:
    """The part of a model's name or path that ms-swift knows it by."""
    model = model.rstrip("/")
    for pattern in (r"/models--(?:.+?--)?(.+?)/snapshots/", r"/models/(?:.+?--)?(.+?)/snapshots/"):
        found = re.search(pattern, model)
        if found is not None:
            return found[1]
    return model.rsplit("/", 1)[-1].replace("___", ".")


def prepares(dataset: str) -> bool:
    """Whether ms-swift knows a dataset by the last part of its name, and does more with it than with any other: columns
    and preprocessors of its own, subsets or splits (dataset/dataset_syntax.py, _get_matched_dataset_meta)."""
    dataset = dataset.rstrip("/")
    found = re.search(r"/datasets--.+?--(.+?)/snapshots/", dataset)
    return (found[1] if found is not None else dataset.rsplit("/", 1)[-1]) in _recorded()["datasets"].split()


def _some(names: list[str]) -> str:
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")


def _text(config: Mapping[str, Any], key: str) -> str | None:
    value = config.get(key)
    return value if isinstance(value, str) else None


@cache
def _recorded() -> Mapping[str, Any]:
    return object_of(Path(__file__).with_name("models.json"))


@cache
def _names() -> Mapping[str, tuple[str, str]]:
    """Each known name → its model_type and template."""
    return {
        name: (kind, template)
        for kind, facts in _recorded()["types"].items()
        for template, names in facts.get("names", {}).items()
        for name in names.split()
    }
