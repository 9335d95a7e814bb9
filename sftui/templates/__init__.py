"""Conversation → Rendered: chat templates as transformers runs them, and whose text each character is.

jinja2 is loaded when the first template is compiled, not by importing this package.
"""

from sftui.templates.families import builtin_names, builtin_template, families_for, family_of
from sftui.templates.rendering.behaviour import Rendering, rendering_of
from sftui.templates.rendering.render import render, without_bos
from sftui.templates.rendering.template import (
    ChatTemplate,
    choose_template,
    compile_template,
    load_template_file,
    variables_of,
)

__all__ = [
    "ChatTemplate",
    "Rendering",
    "builtin_names",
    "builtin_template",
    "choose_template",
    "compile_template",
    "families_for",
    "family_of",
    "load_template_file",
    "render",
    "rendering_of",
    "variables_of",
    "without_bos",
]
