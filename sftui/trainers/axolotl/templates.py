"""Axolotl's choices of chat_template: its own registry by name, an inline jinja text, and fallbacks.

Source: axolotl 0.19.0, utils/chat_templates/base.py (get_chat_template). Of the registry only the
templates that sftui writes itself and that were compared with the trainer's output are known
(tests/parity/cases_axolotl.py, template_*); the others are refused by name.
"""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path

from sftui.errors import TemplateError
from sftui.recipe import Recipe
from sftui.templates import ChatTemplate, Rendering, choose_template, compile_template, load_template_file
from sftui.tokens import LoadedTokenizer
from sftui.trainers.axolotl.own import AxolotlOptions

FALLBACK = "tokenizer_default_fallback_"
TOKENIZER = "tokenizer_default"
JINJA = "jinja"
# Recorded from axolotl 0.19.0, utils/chat_templates/templates.
REGISTRY = (
    "alpaca",
    "aya",
    "chatml",
    "cohere",
    "command_a",
    "command_a_rag",
    "command_a_tool_use",
    "deepseek_v2",
    "deepseek_v3",
    "exaone",
    "exaone4",
    "falcon_h1",
    "gemma",
    "gemma3",
    "gemma3n",
    "gemma4",
    "gemma4_unified",
    "jamba",
    "llama3",
    "llama3_2_vision",
    "llama4",
    "llava",
    "metharme",
    "mistral_v1",
    "mistral_v2v3",
    "mistral_v3_tekken",
    "mistral_v7_tekken",
    "nemotron_h",
    "phi_3",
    "phi_35",
    "phi_4",
    "pixtral",
    "qwen2_vl",
    "qwen3",
    "qwen3_5",
    "qwen_25",
)


def known() -> tuple[str, ...]:
    """The names of the registry that sftui can render."""
    return tuple(sorted(one.name.removesuffix(".jinja") for one in _folder().iterdir() if one.name.endswith(".jinja")))


def template_named(name: str, tokenizer: LoadedTokenizer, recipe: Recipe, rendering: Rendering) -> ChatTemplate:
    """The template of a choice such as `chatml` or `jinja`; TemplateError where Axolotl or sftui has none."""
    if name == JINJA:
        return _inline(recipe, rendering)
    own = tokenizer.facts.chat_templates
    if name == TOKENIZER or (name.startswith(FALLBACK) and own):
        return compile_template(choose_template(own)[1], f"{tokenizer.facts.name}", rendering=rendering)
    name = name.removeprefix(FALLBACK)
    if name not in REGISTRY:
        raise TemplateError(f"Axolotl has no chat template `{name}`", fix=f"its own are {', '.join(REGISTRY)}")
    if name not in known():
        raise TemplateError(
            f"sftui does not have Axolotl's chat template `{name}`",
            why="it has written and proven only some of them",
            fix="save that template to a file and set chat_template: jinja with chat_template_jinja: FILE",
        )
    source = (_folder() / f"{name}.jinja").read_text(encoding="utf-8")
    return compile_template(source, f"axolotl {name}", rendering=rendering)


def _inline(recipe: Recipe, rendering: Rendering) -> ChatTemplate:
    source = AxolotlOptions.of(recipe).chat_template_jinja
    if not source:
        raise TemplateError(
            "chat_template is jinja but there is no chat_template_jinja", fix="set own.chat_template_jinja"
        )
    if os.path.isfile(source):  # unlike Path's it takes a template, which is longer than any file name
        return load_template_file(source, rendering)
    return compile_template(source, "chat_template_jinja", rendering=rendering)


def _folder() -> Path:
    return Path(str(files("sftui.trainers.axolotl") / "templates_own"))
