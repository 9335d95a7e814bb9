"""Axolotl's choices of chat_template: its own registry by name, an inline jinja text, and fallbacks.

Source: axolotl 0.19.0, utils/chat_templates/base.py (get_chat_template). The templates of the registry are written anew
here, and each is held against what the trainer makes of conversations with its own
(tests/parity/record_axolotl_templates.py).

Of a message a template gets, beside role and content, what Axolotl sees it read (prompt_strategies/
jinja_template_analyzer.py). The analysis is by names: what counts is whatever is read from a variable that is called
`message`, at any depth (`message.a.b` gives a and b). Templates that call their loop variable `m` therefore get role
and content only.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Any

from sftui.errors import TemplateError
from sftui.recipe import Recipe
from sftui.templates import ChatTemplate, Rendering, choose_template, compile_template, load_template_file
from sftui.tokens import LoadedTokenizer
from sftui.trainers.axolotl import AxolotlOptions
from sftui.trainers.axolotl.settings import RECORD

FALLBACK = "tokenizer_default_fallback_"
TOKENIZER = "tokenizer_default"
JINJA = "jinja"
# Recorded from axolotl 0.19.0, utils/chat_templates/templates.
REGISTRY: tuple[str, ...] = tuple(RECORD["templates"].split())


_ALIKE: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "aya": ("cohere", {}),
    "command_a": ("command_a", {"kind": "'plain'"}),
    "command_a_rag": ("command_a", {"kind": "'rag'"}),
    "command_a_tool_use": ("command_a", {"kind": "'tools'"}),
    "gemma3": ("gemma3", {"marks": "{'image': '<start_of_image>'}"}),
    "gemma3n": ("gemma3", {"marks": "{'image': '<image_soft_token>', 'audio': '<audio_soft_token>'}"}),
    "gemma4_unified": ("gemma4", {}),
    "llama3_2_vision": ("llama3_2_vision", {"four": "false and message.function"}),
    "llama4": ("llama3_2_vision", {"four": "true"}),
    "mistral_v2v3": ("mistral_v2v3", {"space": "' '"}),
    "mistral_v3_tekken": ("mistral_v2v3", {"space": "''"}),
}
"""Templates that are one but for what is set in front of it: the file, and the names with jinja's expressions.

Axolotl hands a template what it sees read of a `message`: what is read of it in vain matters, and
how else a variable is called."""


def source_of(name: str) -> str:
    """The text of a template of the registry, as sftui writes it."""
    file, given = _ALIKE.get(name, (name, {}))
    text = (files("sftui.trainers.axolotl") / "templates_own" / f"{file}.jinja").read_text(encoding="utf-8")
    return "".join(f"{{%- set {key} = {value} -%}}\n" for key, value in given.items()) + text


def template_named(name: str, tokenizer: LoadedTokenizer, recipe: Recipe, rendering: Rendering) -> ChatTemplate:
    """The template of a choice such as `chatml` or `jinja`; TemplateError where Axolotl or sftui has none."""
    if name == JINJA:
        source = AxolotlOptions.of(recipe).chat_template_jinja
        if not source:
            what = "chat_template is jinja but there is no chat_template_jinja"
            raise TemplateError(what, fix="set own.chat_template_jinja")
        if os.path.isfile(source):  # unlike Path's it takes a template, which is longer than any file name
            return load_template_file(source, rendering)
        return compile_template(source, "chat_template_jinja", rendering=rendering)
    own = tokenizer.facts.chat_templates
    if name == TOKENIZER or (name.startswith(FALLBACK) and own):
        return compile_template(choose_template(own)[1], f"{tokenizer.facts.name}", rendering=rendering)
    name = name.removeprefix(FALLBACK)
    if name not in REGISTRY:
        raise TemplateError(f"Axolotl has no chat template `{name}`", fix=f"use one of {', '.join(REGISTRY)}")
    return compile_template(source_of(name), f"axolotl {name}", rendering=rendering)


@lru_cache(maxsize=32)
def message_keys(source: str, field_messages: str) -> frozenset[str]:
    """Keys that the template is seen to read from a message; TemplateError where it does not parse."""
    from jinja2 import Environment, TemplateSyntaxError, nodes
    from jinja2.ext import Extension

    class Ignored(Extension):
        tags = {"generation", "endgeneration"}

        def parse(self, parser: Any) -> Any:
            parser.stream.skip(1)
            return nodes.Const("")

    try:
        tree: Any = Environment(autoescape=True, extensions=[Ignored, "jinja2.ext.loopcontrols"]).parse(source)
    except TemplateSyntaxError as error:
        raise TemplateError("Axolotl cannot analyse the chat template", why=str(error)) from error
    read: defaultdict[str, set[str]] = defaultdict(set)
    indexed: set[str] = set()
    assigned: dict[str, str] = {}
    for node in reversed([*tree.find_all((nodes.Getattr, nodes.Getitem, nodes.Assign))]):
        base = _base(node.node)
        if base is None:
            continue
        if isinstance(node, nodes.Getattr):
            read[base].add(node.attr)
        elif isinstance(node, nodes.Assign):
            assigned.update({node.target.name: base} if isinstance(node.target, nodes.Name) else {})
        elif isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, (int, float)):
            indexed.add(base)
        elif isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, str):
            read[base].add(node.arg.value)
    found = set(read["message"])
    # A variable with this very name is taken for a slice of the messages, and what is made of it followed.
    part = f"{field_messages}_slice"
    todo, seen = [part] if field_messages in indexed and part in read else [], set[str]()
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            found |= read[name]
            todo += [target for target, source_name in assigned.items() if source_name == name]
    return frozenset(found)


def _base(node: Any) -> str | None:
    """The variable at the root of `a.b['c'][0]`."""
    from jinja2 import nodes

    while isinstance(node, (nodes.Getattr, nodes.Getitem)):
        node = node.node
    return node.name if isinstance(node, nodes.Name) else None
