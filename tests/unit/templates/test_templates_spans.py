"""Provenance: every character has its message and part, on real templates and wild conversations."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from template_cases import CONVERSATIONS, TOOLS, all_templates, sampled_rows

from sftui.errors import TemplateError
from sftui.model import Conversation, Kind, Message, Part, RenderedText
from sftui.recipe import Render
from sftui.templates import ChatTemplate, builtin_names, builtin_template, compile_template, render
from sftui.templates.rendering.marks import forms

SPECIAL = {"bos_token": "<s>", "eos_token": "</s>"}
NOW = datetime(2026, 2, 3)


def chat(messages: Any, tools: Any = None) -> Conversation:
    return Conversation(Kind.CHAT, "messages", tuple(Message(message) for message in messages), tools=tools)


def spans_of(messages: Any, template: ChatTemplate, tools: Any = None, **options: Any) -> RenderedText:
    return render(
        chat(messages, tools),
        template,
        special_tokens=SPECIAL,
        options=Render(**options),
        prompt_messages=None,
        now=NOW,
    )


def told(rendered: RenderedText) -> list[tuple[int, str, str]]:
    return [(span.message, span.part.value, rendered.text[span.start : span.end]) for span in rendered.spans]


def covers(rendered: RenderedText) -> None:
    at = 0
    for span in rendered.spans:
        assert span.start == at and span.end > span.start
        at = span.end
    assert at == len(rendered.text)


SYSTEM_TURN = [
    {"role": "system", "content": "Be nice."},
    {"role": "user", "content": "Hi "},
    {"role": "assistant", "content": " Hello\n"},
]


def test_chatml_in_words() -> None:
    rendered = spans_of(SYSTEM_TURN, builtin_template("chatml"))
    assert rendered.exact and not rendered.notes
    assert told(rendered) == [
        (0, "header", "<|im_start|>system\n"),
        (0, "content", "Be nice."),
        (0, "terminator", "<|im_end|>"),
        (0, "separator", "\n"),
        (1, "header", "<|im_start|>user\n"),
        (1, "content", "Hi "),
        (1, "terminator", "<|im_end|>"),
        (1, "separator", "\n"),
        (2, "header", "<|im_start|>assistant\n"),
        (2, "content", " Hello\n"),
        (2, "terminator", "<|im_end|>"),
        (2, "separator", "\n"),
    ]


def test_bos_and_trimmed_content_of_llama3() -> None:
    assert told(spans_of(SYSTEM_TURN[1:], builtin_template("llama3"))) == [
        (-1, "bos", "<s>"),
        (0, "header", "<|start_header_id|>user<|end_header_id|>\n\n"),
        (0, "content", "Hi"),
        (0, "terminator", "<|eot_id|>"),
        (1, "header", "<|start_header_id|>assistant<|end_header_id|>\n\n"),
        (1, "content", "Hello"),
        (1, "terminator", "<|eot_id|>"),
    ]


def test_a_default_system_text_is_injected() -> None:
    rendered = spans_of(SYSTEM_TURN[1:], builtin_template("qwen2.5"))
    assert told(rendered)[0] == (
        -1,
        "injected",
        "<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_end|>\n",
    )
    assert told(rendered)[1] == (0, "header", "<|im_start|>user\n")


def test_an_eos_of_the_template_ends_the_last_turn() -> None:
    assert told(spans_of(SYSTEM_TURN[1:], builtin_template("phi3")))[-3:] == [
        (1, "terminator", "<|end|>"),
        (1, "separator", "\n"),
        (1, "terminator", "</s>"),
    ]


def test_mistral_folds_the_system_text_into_the_user_turn() -> None:
    rendered = spans_of(SYSTEM_TURN, builtin_template("mistral"))
    assert rendered.exact
    assert [(m, t) for m, p, t in told(rendered) if p == "content"] == [(0, "Be nice."), (1, "Hi "), (2, " Hello\n")]
    assert told(rendered)[-1] == (2, "terminator", "</s>")


def test_a_system_message_of_the_recipe_is_injected_and_the_others_keep_their_numbers() -> None:
    rendered = spans_of(SYSTEM_TURN[1:], builtin_template("chatml"), inject_system="Be brief.")
    assert told(rendered)[:2] == [
        (-1, "injected", "<|im_start|>system\nBe brief.<|im_end|>\n"),
        (0, "header", "<|im_start|>user\n"),
    ]
    assert rendered.exact


def test_a_row_with_a_system_message_gets_no_second_one() -> None:
    assert "brief" not in spans_of(SYSTEM_TURN, builtin_template("chatml"), inject_system="Be brief.").text


def test_tool_calls_are_content_to_the_closing_tag() -> None:
    rendered = spans_of(CONVERSATIONS["tool_dict"], builtin_template("qwen2.5"))
    call = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Zür\\"ich <&>", "days": 2}}\n</tool_call>'
    assert (1, "content", call) in told(rendered)
    assert (1, "terminator", "<|im_end|>") in told(rendered)
    assert rendered.exact


def test_a_message_that_the_template_drops_is_named() -> None:
    rendered = spans_of([*SYSTEM_TURN, {"role": "critic", "content": "Meh."}], builtin_template("zephyr"))
    assert rendered.notes == ("message 3 (critic) is missing from the rendered text",)
    assert rendered.exact


def test_a_message_that_cannot_be_placed_is_named_and_the_spans_are_not_exact() -> None:
    template = compile_template(
        "{% for m in messages %}{{ m.content | length }}:{{ m.content | reverse }};{% endfor %}", "backwards"
    )
    rendered = spans_of(SYSTEM_TURN, template)
    assert not rendered.exact
    assert "message 0 (system)" in rendered.notes[0]
    covers(rendered)


def test_equal_messages_are_told_apart() -> None:
    messages = [{"role": role, "content": "same"} for role in ("user", "assistant", "user", "assistant")]
    rendered = spans_of(messages, builtin_template("chatml"))
    assert [message for message, part, _ in told(rendered) if part == "content"] == [0, 1, 2, 3]


def test_content_that_looks_like_the_template_stays_content() -> None:
    rendered = spans_of(CONVERSATIONS["special_in_user"], builtin_template("chatml"))
    assert [(m, t) for m, p, t in told(rendered) if p == "content"] == [
        (0, "<|im_end|></s><|eot_id|>"),
        (1, "<|im_start|>user\nno"),
    ]


def test_parts_that_a_template_prints_as_a_python_list_are_found_in_it() -> None:
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": [{"type": "text", "text": 'It\'s\n"here"'}]},
        {"role": "assistant", "content": "ok"},
    ]
    rendered = spans_of(messages, builtin_template("llama3"))
    assert rendered.exact
    assert (0, "content", str(messages[0]["content"])) in told(rendered)


def test_tags_of_tools_among_the_added_tokens_end_no_turn() -> None:
    marks = ["<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>"]
    rendered = render(
        chat(CONVERSATIONS["tool_dict"]),
        builtin_template("qwen2.5"),
        special_tokens={**SPECIAL, "additional_special_tokens": [*marks, "</tool_response>", "</think>"]},
        options=Render(),
        prompt_messages=None,
    )
    assert (2, "terminator", "\n</tool_response><|im_end|>") in told(rendered)


def test_a_header_that_is_always_written_ends_no_turn() -> None:
    source = (
        "{% for m in messages %}<|head|>{{ m.role }}<|body|>{{ m.content }}<|end|>{% endfor %}<|head|>assistant<|body|>"
    )
    spans = told(spans_of(CONVERSATIONS["single"], compile_template(source, "always")))
    assert spans[-2:] == [(1, "terminator", "<|end|>"), (-1, "injected", "<|head|>assistant<|body|>")]


def test_tokens_that_close_a_turn_step_by_step_are_one_terminator() -> None:
    source = (
        "{% for m in messages %}<|open|>{{ m.role }}<|sep|>{{ m.content }}<|close|>message<|sep|><|end|>{% endfor %}"
    )
    spans = told(spans_of(CONVERSATIONS["single"], compile_template(source, "steps")))
    assert [text for _, part, text in spans if part == "terminator"] == ["<|close|>message<|sep|><|end|>"] * 2


@pytest.mark.parametrize("count", [2, 4])
def test_arguments_that_open_as_turns_do_are_the_calls(count: int) -> None:
    source = (
        "{% for m in messages %}<|open|>{{ m.role }}<|sep|>{{ m.content }}{% for call in m.tool_calls or [] %}{% for"
        " key, value in call.function.arguments | items %}<|open|>{{ key }}<|sep|>{{ value }}<|close|>{% endfor"
        " %}<|close|>call{% endfor %}<|end|>{% endfor %}"
    )
    spans = told(spans_of(CONVERSATIONS["tool_dict"][:count], compile_template(source, "opens")))
    said = "".join(text for message, part, text in spans if (message, part) == (1, "content"))
    assert said.endswith("<|open|>days<|sep|>2<|close|><|close|>call")
    assert [text for message, part, text in spans if (message, part) == (1, "terminator")] == ["<|end|>"]


def test_a_turn_before_a_thought_that_history_drops_ends_as_the_last_one_does() -> None:
    source = (
        "{% for m in messages %}]b[{{ m.role }}\n{% if m.reasoning_content and loop.last %}({{ m.reasoning_content"
        " }})\n{% endif %}{{ m.content }}[e~[\n{% endfor %}"
    )
    messages = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b", "reasoning_content": "hm"},
        {"role": "user", "content": "c"},
        {"role": "assistant", "content": "d", "reasoning_content": "hm"},
    ]
    spans = told(spans_of(messages, compile_template(source, "MiniMax")))
    assert [(message, text) for message, part, text in spans if part == "terminator" and message % 2] == [
        (1, "[e~["),
        (3, "[e~["),
    ]


def test_a_thought_of_the_message_is_content_and_an_empty_one_of_the_template_is_not() -> None:
    source = (
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.role == 'assistant' %}<think>\n{{ m.reasoning_content"
        " }}\n</think>\n\n{% endif %}{{ m.content }}<|im_end|>\n{% endfor %}"
    )
    messages = [
        {"role": "user", "content": "2+2"},
        {"role": "assistant", "content": "4", "reasoning_content": "two"},
        {"role": "user", "content": "3+3"},
        {"role": "assistant", "content": "6"},
    ]
    rendered = spans_of(messages, compile_template(source, "thinks"))
    assert (1, "content", "<think>\ntwo\n</think>\n\n4") in told(rendered)
    assert told(rendered)[-5:-2] == [
        (3, "header", "<|im_start|>assistant\n"),
        (-1, "injected", "<think>\n\n</think>\n\n"),
        (3, "content", "6"),
    ]


def test_an_empty_message_keeps_its_header_and_terminator() -> None:
    rendered = spans_of(CONVERSATIONS["empty_middle"], builtin_template("chatml"))
    assert rendered.exact
    assert [(p, t) for m, p, t in told(rendered) if m == 1] == [
        ("header", "<|im_start|>assistant\n"),
        ("terminator", "<|im_end|>"),
        ("separator", "\n"),
    ]


def test_long_conversations_take_few_renders() -> None:
    template = builtin_template("chatml")
    messages = [{"role": "assistant" if i % 2 else "user", "content": f"turn {i % 7}"} for i in range(500)]
    calls = 0
    original = ChatTemplate.text

    def counted(self: ChatTemplate, *args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        return original(self, *args, **kwargs)

    patch = pytest.MonkeyPatch()
    patch.setattr(ChatTemplate, "text", counted)
    try:
        rendered = spans_of(messages, template)
    finally:
        patch.undo()
    assert rendered.exact and calls < 12
    assert [m for m, p, _ in told(rendered) if p == "content"] == list(range(500))


def test_renders_stay_within_three_per_message() -> None:
    calls = 0
    original = ChatTemplate.text

    def counted(self: ChatTemplate, *args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        return original(self, *args, **kwargs)

    patch = pytest.MonkeyPatch()
    patch.setattr(ChatTemplate, "text", counted)
    template = compile_template("{% for m in messages %}[{{ m.role }}]{{ m.content | upper }}{% endfor %}", "shout")
    try:
        rendered = spans_of(CONVERSATIONS["multi"], template)
    finally:
        patch.undo()
    assert calls <= 3 * len(CONVERSATIONS["multi"]) + 2
    covers(rendered)


@pytest.mark.shared
@pytest.mark.one_of(4)
@pytest.mark.parametrize("part", range(4))
def test_spans_hold_on_every_real_template(shared: Path, part: int) -> None:
    """Gapless; content spans show the content; what `{% generation %}` encloses holds the assistant's content and
    terminator."""
    table = [(messages, tools) for messages in CONVERSATIONS.values() for tools in (None, TOOLS)]
    table += [(row["messages"], row.get("tools")) for row in sampled_rows(shared, per_file=3)]
    seen = exact = shown = tagged = 0
    for name, source in list(all_templates(shared).items())[part::4]:
        template = compile_template(source, name)
        for messages, tools in table:
            try:
                rendered = spans_of(messages, template, tools)
            except TemplateError:
                continue
            covers(rendered)
            seen += 1
            exact += rendered.exact
            for index, message in enumerate(messages):
                content = message.get("content")
                if not rendered.exact or not isinstance(content, str) or not content.strip() or "<think>" in content:
                    continue
                if any(note.startswith(f"message {index} ") for note in rendered.notes):
                    continue
                said = "".join(text for m, part, text in told(rendered) if m == index and part == "content")
                assert any(form in said for form in forms(content)), (name, messages, said)
                shown += 1
            if rendered.generation:
                inside = {i for start, end in rendered.generation for i in range(start, end)}
                for span in rendered.spans:
                    if (
                        span.message >= 0
                        and messages[span.message].get("role") == "assistant"
                        and span.part in (Part.CONTENT, Part.TERMINATOR)
                    ):
                        assert inside.issuperset(range(span.start, span.end)), (name, messages, told(rendered))
                        tagged += 1
    print(
        f"\n{seen:,} renders with spans, {exact:,} proven exact; {shown:,} contents found in place; {tagged:,} spans"
        " inside generation tags"
    )
    assert exact / seen > 0.98


_TEXT = st.text(max_size=12) | st.sampled_from(
    ["", " ", "\n\n", "<|im_end|>", "</s>", "<think>\nx\n</think>\ny", "{{ x }}", "a", "aa", "[INST]", "Qa0Zq"]
)
_MESSAGE = st.fixed_dictionaries(
    {
        "role": st.sampled_from(["system", "user", "assistant", "tool", "critic"]),
        "content": (
            st.none() | _TEXT | st.lists(st.fixed_dictionaries({"type": st.just("text"), "text": _TEXT}), max_size=2)
        ),
    },
    optional={
        "reasoning_content": _TEXT,
        "tool_calls": st.lists(
            st.fixed_dictionaries(
                {
                    "function": st.fixed_dictionaries(
                        {"name": _TEXT, "arguments": _TEXT | st.dictionaries(_TEXT, _TEXT | st.integers(), max_size=2)}
                    )
                }
            ),
            max_size=2,
        ),
    },
)
_TEMPLATES = [builtin_template(name) for name in builtin_names()] + [
    compile_template(source, name)
    for name, source in {
        "repeats": "{% for m in messages %}{{ m.content }}|{{ m.content }}{% endfor %}",
        "moves": "{% for m in messages | reverse %}{{ m.role }}{{ m.content }}{% endfor %}",
        "drops": "{% for m in messages if m.role != 'user' %}{{ m.content }}\n{% endfor %}{{ eos_token }}",
        "changes": "{% for m in messages %}{{ m.content | string | upper }}{% endfor %}",
        "counts": "{{ messages | length }}{{ messages | tojson }}",
        "nothing": "",
        "silent": "constant text <s> that says nothing",
        "generation": (
            "{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %}{{ eos_token }}{% endfor %}"
        ),
    }.items()
]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    messages=st.lists(_MESSAGE, min_size=1, max_size=5), template=st.sampled_from(_TEMPLATES), system=st.none() | _TEXT
)
def test_spans_cover_any_text_in_order_without_gaps(messages: Any, template: ChatTemplate, system: str | None) -> None:
    try:
        rendered = spans_of(messages, template, inject_system=system)
    except TemplateError:
        return
    covers(rendered)
    assert "".join(text for _, _, text in told(rendered)) == rendered.text
    assert all(-1 <= span.message < len(messages) for span in rendered.spans)
