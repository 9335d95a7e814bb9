"""ms-swift's own chat templates as data, and what it has beside them: agent templates and loss scales.

Source: ms-swift 4.6.0, template/template_meta.py (TemplateMeta) and template/templates/; recorded from the installed
package (templates.json, written by tests/parity/record_swift_templates.py). A slot is a text, in which {{SYSTEM}},
{{QUERY}}, {{ROUND0}} and {{ROUND1}} are filled in, or ids, each a number or the name of the tokenizer's attribute.
{{DAY:FORMAT}} stands where ms-swift writes the day on which it runs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date
from enum import Enum
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from sftui.errors import RecipeError, TemplateError
from sftui.nearest import did_you_mean

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


def _slots(recorded: Sequence[Any] | None) -> Slots | None:
    if recorded is None:
        return None
    return tuple(slot if isinstance(slot, str) else tuple(slot) for slot in recorded)


def _made(name: str, facts: Mapping[str, Any]) -> Template:
    slots = {key: _slots(facts[key]) for key in _SLOTS if key in facts}
    rest = {key: value for key, value in facts.items() if key not in _SLOTS and key in _FIELDS}
    rest |= {"kind": TemplateClass(facts["kind"]), "stop_words": tuple(facts.get("stop_words", ()))}
    return Template(name, **{**rest, **slots})


_SLOTS = ("prefix", "prompt", "chat_sep", "suffix", "system_prefix", "system_prompt")
_FIELDS = frozenset(field.name for field in fields(Template))
_RECORDED = json.loads((files(__package__) / "templates.json").read_text(encoding="utf-8"))

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
            why="its code does more than join its parts, or it is of a model for images, sounds or scores",
            fix=f"name another with `template`; sftui has the rules of {len(TEMPLATES)}, such as qwen3, llama3 and"
            " chatml",
        )
    raise TemplateError(
        f"{TITLE} {RELEASE} has no template `{name}`", fix=did_you_mean(name, sorted({*TEMPLATES, *OTHERS}))
    )


def on_day(text: str, day: date) -> str:
    """A text with the day filled in."""
    return _DAY.sub(lambda found: day.strftime(found[1]), text) if "{{DAY:" in text else text


def writes_day(one: Template) -> bool:
    """Whether a template writes the day."""
    texts = [slot for slots in (one.prefix, one.system_prefix or ()) for slot in slots if isinstance(slot, str)]
    return any("{{DAY:" in text for text in (*texts, one.default_system or ""))


@cache
def scale_names() -> tuple[str, ...]:
    """The loss scales that may follow a base strategy."""
    return ("base", *SCALES)


def check_scale(said: str) -> tuple[str, tuple[str, ...]]:
    """The base strategy of a loss scale, and the names behind it; RecipeError for one that ms-swift does not have."""
    first, *rest = said.split("+")
    if first in STRATEGIES:
        strategy, names = first, tuple(rest) or ("base",)
    else:
        strategy, names = "default", (first, *rest)
    for name in names:
        if name not in scale_names():
            raise RecipeError(
                f"{TITLE} has no loss_scale `{name}`",
                why=f"it stops (KeyError: '{name}') where no plug-in brings one",
                fix=f"it has {', '.join(scale_names()[1:])}, behind {', '.join(STRATEGIES)} or alone",
            )
    return strategy, names


STRATEGIES = ("default", "last_round", "all")
