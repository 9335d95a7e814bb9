"""Which further keys of a message Axolotl hands to the chat template: those it sees the template read.

Source: axolotl 0.19.0, prompt_strategies/jinja_template_analyzer.py. The analysis is by names: what
counts is whatever is read from a variable that is called `message`, at any depth (`message.a.b`
gives a and b). Templates that call their loop variable `m` therefore get role and content only.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from sftui.errors import TemplateError


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
        tree = Environment(autoescape=True, extensions=[Ignored, "jinja2.ext.loopcontrols"]).parse(source)
    except TemplateSyntaxError as error:
        raise TemplateError("Axolotl cannot analyse the chat template", why=str(error)) from error
    read: dict[str, set[str]] = {}
    indexed: set[str] = set()
    assigned: dict[str, str] = {}
    for node in _walk(tree):
        if isinstance(node, nodes.Getattr):
            base = _base(node.node)
            if base:
                read.setdefault(base, set()).add(node.attr)
        elif isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const):
            base = _base(node.node)
            if base and isinstance(node.arg.value, (int, float)):
                indexed.add(base)
            elif base and isinstance(node.arg.value, str):
                read.setdefault(base, set()).add(node.arg.value)
        elif isinstance(node, nodes.Assign) and isinstance(node.target, nodes.Name):
            base = _base(node.node)
            if base:
                assigned[node.target.name] = base
    found = set(read.get("message", ()))
    # A variable with this very name is taken for a slice of the messages, and what is made of it followed.
    todo, seen = (
        ([f"{field_messages}_slice"] if field_messages in indexed and f"{field_messages}_slice" in read else []),
        set(),
    )
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            found |= read.get(name, set())
            todo += [target for target, source_name in assigned.items() if source_name == name]
    return frozenset(found)


def _walk(node: Any) -> Iterator[Any]:
    stack = [node]
    while stack:
        one = stack.pop()
        yield one
        stack.extend(one.iter_child_nodes())


def _base(node: Any) -> str | None:
    """The variable at the root of `a.b['c'][0]`."""
    from jinja2 import nodes

    while isinstance(node, (nodes.Getattr, nodes.Getitem)):
        node = node.node
    return node.name if isinstance(node, nodes.Name) else None
