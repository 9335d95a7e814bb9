"""ChatTemplate.text against transformers' own apply_chat_template: equal text, equal spans, or the same refusal."""

from __future__ import annotations

import importlib
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from template_cases import CONVERSATIONS, TOOLS, all_templates, sampled_rows

from sftui.errors import TemplateError
from sftui.templates import compile_template

NOW = datetime(2026, 2, 3, 4, 5, 6)
SPECIAL = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}


class _Clock(datetime):
    @classmethod
    def now(cls, tz: Any = None) -> Any:
        return NOW


@pytest.fixture(scope="module")
def reference() -> Any:
    module = importlib.import_module("transformers.utils.chat_template_utils")
    base: Any = importlib.import_module("transformers.tokenization_utils_base")
    patch = pytest.MonkeyPatch()
    patch.setattr(module, "datetime", _Clock)

    class Bare(base.PreTrainedTokenizerBase):  # type: ignore[misc]  # apply_chat_template itself, without a vocabulary
        def __init__(self) -> None:
            self.chat_template = None

        @property
        def special_tokens_map(self) -> dict[str, str]:
            return SPECIAL

    bare = Bare.__new__(Bare)
    object.__setattr__(bare, "chat_template", None)

    def text_and_spans(
        messages: Any, source: str, tools: Any, prompt: bool, kwargs: Any
    ) -> tuple[str, tuple[Any, ...]]:
        text = base.PreTrainedTokenizerBase.apply_chat_template(
            bare,
            messages,
            tools=tools,
            chat_template=source,
            add_generation_prompt=prompt,
            tokenize=False,
            **kwargs,
        )
        dropped = [{k: v for k, v in message.items() if v is not None} for message in messages]
        traced, spans = module.render_jinja_template(
            conversations=[dropped],
            tools=tools,
            chat_template=source,
            add_generation_prompt=prompt,
            return_assistant_tokens_mask=True,
            **SPECIAL,
            **kwargs,
        )
        assert traced[0] == text
        return text, tuple(tuple(span) for span in spans[0])

    yield text_and_spans
    patch.undo()


def _outcome(call: Any) -> tuple[str, Any]:
    try:
        return "text", call()
    except TemplateError as error:
        return "error", str(error)
    except Exception as error:
        return "refused", error


def _same(ours: tuple[str, Any], theirs: tuple[str, Any]) -> bool:
    if theirs[0] == "text":
        return ours == theirs
    first = (str(theirs[1]).strip().splitlines() or [""])[0][:400].rstrip(".")
    return ours[0] == "error" and first in ours[1]


@pytest.mark.shared
@pytest.mark.one_of(4)
@pytest.mark.parametrize("part", range(4))
def test_every_template_renders_every_conversation_as_transformers_does(
    shared: Path, reference: Any, part: int
) -> None:
    compared = refused = 0
    rows = sampled_rows(shared, per_file=4)
    for name, source in list(all_templates(shared).items())[part::4]:
        template = compile_template(source, name)
        table = [
            (messages, tools, kwargs)
            for messages in CONVERSATIONS.values()
            for tools in (None, TOOLS)
            for kwargs in ({}, {"enable_thinking": False})
        ]
        table += [(row["messages"], row.get("tools"), {}) for row in rows]
        for messages, tools, kwargs in table:
            for prompt in (False, True):
                ours = _outcome(
                    lambda: template.text(
                        messages, tools=tools, add_generation_prompt=prompt, variables={**SPECIAL, **kwargs}, now=NOW
                    )
                )
                theirs = _outcome(lambda: reference(messages, source, tools, prompt, kwargs))
                assert _same(ours, theirs), (
                    f"{name}: {json.dumps(messages, default=str)[:500]}\nours   {ours}\ntheirs {theirs}"
                )
                compared += 1
                refused += theirs[0] != "text"
    print(f"\n{compared:,} renders compared with apply_chat_template, {refused:,} of them refusals, 0 differ")
    assert compared > 1250


def test_documents_reach_the_template_also_as_a_variable() -> None:
    template = compile_template("{{ documents[0].title }}", "t")
    assert template.text([{"role": "user"}], variables={"documents": [{"title": "D"}]})[0] == "D"


def test_a_none_valued_key_is_dropped_before_the_template_sees_it() -> None:
    template = compile_template("{{ messages[0].content is defined }}", "t")
    assert template.text([{"role": "user", "content": None}], variables={})[0] == "False"


def test_the_clock_can_be_given() -> None:
    template = compile_template("{{ strftime_now('%Y-%m-%d') }}", "t", clock=lambda: NOW)
    assert template.text([{"role": "user"}], variables={})[0] == "2026-02-03"


def test_an_empty_conversation_is_refused_in_transformers_words() -> None:
    with pytest.raises(TemplateError, match="Cannot apply chat template to an empty conversation"):
        compile_template("x", "t").text([], variables={})


def test_what_the_template_says_reaches_the_user_with_the_roles() -> None:
    template = compile_template("{{ raise_exception('No system, please.') }}", "t")
    with pytest.raises(
        TemplateError, match=r"rejects this conversation: No system, please, because its roles are system, user"
    ):
        template.text([{"role": "system"}, {"role": "user"}], variables={})


def test_a_syntax_error_names_its_line() -> None:
    with pytest.raises(TemplateError, match="broken, line 2"):
        compile_template("a\n{% if %}", "broken")
