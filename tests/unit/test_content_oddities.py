"""The BOS/EOS and content oddities of real templates (reference: tokenizer-oddities 11 to 22), each as a row shows it.

Loading oddities (1 to 10) are tested in tests/unit/tokens. The templates here are small ones of
our own that do what the named real ones do; equality with the real ones is in tests/unit/templates.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sftui import pipeline
from sftui.model import Inspection, Part, Row, Stage
from sftui.recipe import Recipe, changed
from sftui.templates import compile_template
from sftui.tokens import load_tokenizer
from sftui.trainers import Toolbox, preset

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def look(
    messages: list[dict[str, Any]],
    template: str = CHATML,
    tokenizer: str = "builtin:chatml",
    recipe: Recipe | None = None,
    **columns: Any,
) -> Inspection:
    """One row of messages through the pipeline."""
    recipe = recipe or preset("hf-trainer")
    data = {"messages": messages, **columns}
    row = Row(0, data, json.dumps(data), "row 0")
    tools = Toolbox(load_tokenizer(tokenizer), {"default": compile_template(template, "test")}, "test")
    return pipeline.inspect(row, pipeline.detect([row], recipe), recipe, tools, text=True)


def said(*turns: str) -> list[dict[str, Any]]:
    return [{"role": role, "content": content} for role, _, content in (turn.partition(": ") for turn in turns)]


def text(one: Inspection) -> str:
    assert one.rendered is not None, one.problem
    return one.rendered.text


def notes(one: Inspection) -> str:
    return " ".join(one.notes)


def test_11_double_bos_shows_two_bos_tokens_and_can_be_dropped() -> None:
    template = "{{ '<bos>' }}" + CHATML.replace("<|im_start|>", "<start_of_turn>").replace(
        "<|im_end|>", "<end_of_turn>"
    )
    twice = changed(preset("hf-trainer"), "tokenize.add_special_tokens", True)
    one = look(said("user: hi", "assistant: yo"), template, "builtin:gemma", twice)
    bos = load_tokenizer("builtin:gemma").facts.bos_id
    assert one.tokens is not None and one.tokens.input_ids[:2] == (bos, bos)
    dropped = look(
        said("user: hi", "assistant: yo"), template, "builtin:gemma", changed(twice, "tokenize.bos", "drop_second")
    )
    assert dropped.tokens is not None and dropped.tokens.input_ids[:2].count(bos) == 1


def test_12_a_template_without_any_terminator_trains_none() -> None:
    one = look(
        said("user: hi", "assistant: yo"),
        "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}{% if add_generation_prompt"
        " %}assistant: {% endif %}",
    )
    assert one.tokens is not None and not any(one.token_text.special)
    assert Part.TERMINATOR not in one.tokens.parts


def test_13_an_end_that_comes_only_once_breaks_no_history() -> None:
    template = (
        "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}\n{% endfor %}{% if"
        " add_generation_prompt %}<|im_start|>assistant\n{% else %}<|im_end|>{% endif %}"
    )
    one = look(said("user: hi", "assistant: yo"), template)
    assert one.boundary is not None and one.boundary.clean and text(one).endswith("<|im_end|>")


VANISHING = (
    "{% for m in messages %}{% if m['role'] == 'user' %}[INST] {% if loop.last and messages[0]['role'] == 'system' %}{{"
    " messages[0]['content'] }}\n\n{% endif %}{{ m['content'] }} [/INST]{% elif m['role'] == 'assistant' %} {{"
    " m['content'] }}<|im_end|>{% endif %}{% endfor %}"
)


def test_14_a_system_message_that_vanishes_is_named_and_the_prompt_is_no_prefix() -> None:
    one = look(said("system: be brief", "user: hi", "assistant: yo"), VANISHING)
    assert "be brief" not in text(one)
    assert "message 0" in notes(one) and one.boundary is not None and not one.boundary.clean


def test_15_thinking_that_the_template_cuts_is_named() -> None:
    template = CHATML.replace("{{ m['content'] }}", "{{ m['content'].split('</think>')[-1] }}")
    one = look(said("user: hi", "assistant: <think>long thoughts</think>yo"), template)
    assert "long thoughts" not in text(one) and "message 1" in notes(one)


def test_16_content_parts_print_as_the_template_prints_them() -> None:
    parts: list[dict[str, Any]] = [
        {"role": "user", "content": [{"type": "text", "text": "hi"}]},
        {"role": "assistant", "content": "yo"},
    ]
    assert "[{'type': 'text', 'text': 'hi'}]" in text(look(parts))
    concat = look(parts, CHATML.replace("{{ m['content'] }}", "{{ '' + m['content'] }}"))
    assert concat.stopped_at is Stage.RENDERED and concat.problem is not None and concat.conversation is not None


def test_17_tool_calls_that_the_template_ignores_leave_an_empty_answer() -> None:
    call = {"type": "function", "function": {"name": "weather", "arguments": {"city": "Oslo"}}}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
    ]
    one = look(messages, tools=[{"type": "function", "function": {"name": "weather", "parameters": {}}}])
    assert "weather" not in text(one) and "message 1" in notes(one)


def test_18_null_content_beside_tool_calls_is_deleted_as_transformers_does() -> None:
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": None, "tool_calls": []},
    ]
    one = look(messages, CHATML.replace("{{ m['content'] }}", "{{ '' + m['content'] }}"))
    assert one.stopped_at is Stage.RENDERED and one.problem is not None and "content" in one.problem.sentence()


def test_19_injected_system_text_is_marked_as_injected() -> None:
    template = (
        "{% if messages[0]['role'] != 'system' %}<|im_start|>system\nToday is {{ strftime_now('%d %B %Y')"
        " }}.<|im_end|>\n{% endif %}" + CHATML
    )
    one = look(said("user: hi", "assistant: yo"), template)
    assert one.tokens is not None and one.rendered is not None
    injected = "".join(one.rendered.text[s.start : s.end] for s in one.rendered.spans if s.part is Part.INJECTED)
    assert "Today is" in injected


def test_20_trimmed_white_space_leaves_spans_on_what_is_left() -> None:
    template = CHATML.replace("m['content']", "m['content'] | trim")
    one = look(said("user:   hi  ", "assistant: \n yo \n"), template)
    assert one.rendered is not None and one.rendered.exact
    contents = [one.rendered.text[s.start : s.end] for s in one.rendered.spans if s.part is Part.CONTENT]
    assert contents == ["hi", "yo"]


def test_21_a_late_system_message_that_is_moved_or_refused_is_seen() -> None:
    refusing = (
        "{% if messages[1:] | selectattr('role', 'equalto', 'system') | list %}{{ raise_exception('System role must"
        " come first') }}{% endif %}" + CHATML
    )
    one = look(said("user: hi", "system: late", "assistant: yo"), refusing)
    assert (
        one.stopped_at is Stage.RENDERED
        and one.problem is not None
        and "System role must come first" in one.problem.sentence()
    )


def test_22_special_token_text_in_content_becomes_a_special_token() -> None:
    one = look(said("user: say <|im_end|> please", "assistant: no"))
    assert one.tokens is not None
    typed = [
        i
        for i, (special, part) in enumerate(zip(one.token_text.special, one.tokens.parts))
        if special and part is Part.CONTENT
    ]
    assert len(typed) == 1 and one.token_text.pieces[typed[0]] == "<|im_end|>"


@pytest.mark.shared
def test_24_a_newline_that_merges_into_the_answer_is_shown_where_it_parts(shared: Path) -> None:
    tokenizer = str(shared / "testdata" / "tokenizers" / "qwen2.5")
    one = look([*said("user: hi"), {"role": "assistant", "content": "\n\nThe answer"}], CHATML, tokenizer)
    assert one.boundary is not None and one.tokens is not None and one.tokens.prompt_ids is not None
    assert one.boundary.common == one.boundary.prompt_length - 1
    assert one.token_text.surfaces[one.boundary.common] == b"\n\n\n"
    assert one.labels is not None and one.labels.reasons[one.boundary.common].value == "boundary token"


def test_26_an_assistant_turn_first_is_refused_with_the_reason() -> None:
    one = look(said("assistant: I begin"))
    assert one.stopped_at is Stage.RENDERED and one.problem is not None and "empty" in one.problem.sentence()
