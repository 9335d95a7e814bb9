"""Turns in stored ids: which ids begin them, by the template that the tokenizer brings."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from sftui.findings.context import Context
from sftui.findings.rules.turns import openings_of
from sftui.templates import compile_template
from sftui.tokens import load_tokenizer

QUESTIONED = "{% for m in messages %}{{ m.content + '\n' }}{% endfor %}"


def context_of(name: str, source: str | None = None) -> Context:
    tokenizer = load_tokenizer(name)
    template = compile_template(source or tokenizer.facts.chat_templates["default"], "test")
    facts = tokenizer.facts
    variables = {"bos_token": facts.bos_token, "eos_token": facts.eos_token}
    tools = SimpleNamespace(tokenizer=tokenizer)
    stops = frozenset([facts.eos_id])
    made: Any = SimpleNamespace(template=template, variables=variables, tools=tools, stops=stops)
    return cast(Context, made)


@pytest.mark.parametrize(
    ("name", "opening", "role"),
    [
        ("builtin:chatml", "<|im_start|>assistant", "assistant"),
        ("builtin:chatml", "<|im_start|>user", "user"),
        ("builtin:gemma", "<start_of_turn>model", "assistant"),
        ("builtin:llama3", "<|start_header_id|>user", "user"),
    ],
)
def test_a_role_is_begun_by_the_fewest_ids_that_no_other_has(name: str, opening: str, role: str) -> None:
    context = context_of(name)
    found = {role: ids for ids, role in openings_of(context).items()}
    wanted = tuple(context.tools.tokenizer.encode(opening).ids)
    assert found[role] == wanted[: len(found[role])]
    assert len(found[role]) > 1


def test_a_template_without_control_tokens_tells_no_turns() -> None:
    assert openings_of(context_of("builtin:chatml", QUESTIONED)) == {}
