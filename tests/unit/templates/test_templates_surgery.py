"""Generation tags put into templates: what is tagged, what is cut, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from template_cases import CONVERSATIONS, chat, sampled_rows

from sftui.errors import TemplateError
from sftui.model import Conversation, Kind
from sftui.templates import builtin_names, builtin_template, compile_template
from sftui.templates.rendering import limits
from sftui.templates.rendering.template import ChatTemplate
from sftui.templates.tags.surgery import Surgery, add_generation_tags
from sftui.templates.tags.surgery_target import joined
from sftui.templates.tags.surgery_tree import read_tree, walk

SPECIAL: dict[str, str | list[str]] = {"bos_token": "<s>", "eos_token": "</s>"}

CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n'"
    " }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)


def operate(source: str, rows: list[Conversation] | None = None) -> Surgery:
    return add_generation_tags(source, "case", SPECIAL, rows or [])


def trained(source: str, messages: list[dict[str, Any]]) -> list[str]:
    text, spans = compile_template(source, "tagged").text(messages, variables=SPECIAL)
    return [text[start:end] for start, end in joined(spans)]


MULTI = CONVERSATIONS["multi_system"]


@pytest.mark.parametrize("name", builtin_names())
def test_every_builtin_template_can_be_tagged(name: str) -> None:
    template = builtin_template(name)
    if template.has_generation_tag:
        pytest.skip("it has tags already")
    done = add_generation_tags(template.source, name, SPECIAL, [chat(one) for one in CONVERSATIONS.values()])
    assert done.refused is None
    assert done.proven > 10


def test_an_expression_for_all_roles_is_split_tight() -> None:
    done = operate(CHATML)
    assert done.refused is None
    assert trained(done.source, MULTI) == ["B<|im_end|>", "D<|im_end|>"]
    assert "{% generation %}{{ message['content'] + '<|im_end|>' }}{% endgeneration %}" in done.source


def test_a_variable_that_holds_the_whole_turn_is_split_where_it_is_set() -> None:
    source = (
        "{% for m in messages %}{% set turn = '[' + m.role + ']' + m.content + '<|end|>\\n' %}"
        "{% if loop.first %}{% set turn = bos_token + turn %}{% endif %}{{ turn }}{% endfor %}"
    )
    done = operate(source)
    assert done.refused is None, done.refused
    assert trained(done.source, MULTI) == ["B<|end|>", "D<|end|>"]


@pytest.mark.parametrize(
    "body",
    [
        "<|{{ m.role }}|>\n{{ m.content }}<|end|>\n",
        "  <|{{ m.role }}|>\n  {{ m.content }}\n<|end|>\n\n",
        "<|{{ m.role }}|>\n{%- if m.content %}\n  {{- m.content -}}\n{% endif %}\n<|end|>\n",
        (
            "{% if m.role == 'assistant' %}\n<|a|>{{ m.content }}<|end|>\n{% else %}\n<|u|>{{ m.content }}<|end|>\n{%"
            " endif %}\n"
        ),
        "<|{{ m.role }}|>{# the text #}{{ m.content }}{% raw %}<|end|>{{ no }}{% endraw %}\n",
    ],
)
def test_white_space_around_tags_stays(body: str) -> None:
    tagged_tight("{% for m in messages %}\n" + body + "{% endfor %}\n")


def tagged_tight(source: str) -> None:
    """The same text for every conversation, and a mask of exactly the answers and their ends."""
    done = operate(source)
    assert done.refused is None, done.refused
    before, after = compile_template(source, "a"), compile_template(done.source, "b")
    for messages in CONVERSATIONS.values():
        assert said(before, messages) == said(after, messages)
    answers = trained(done.source, MULTI)
    assert [one[0] for one in answers] == ["B", "D"]
    assert all(one.endswith("<|end|>") for one in answers)


def said(template: ChatTemplate, messages: list[dict[str, Any]]) -> str:
    try:
        return template.text(messages, variables=SPECIAL)[0]
    except TemplateError:
        return "raises"


def test_what_the_original_refuses_is_still_refused() -> None:
    done = operate(CHATML)
    for content in (None, 3, ["x"]):
        messages: list[dict[str, Any]] = [
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": content},
        ]
        for source in (CHATML, done.source):
            with pytest.raises(TemplateError):
                compile_template(source, "either").text(messages, variables=SPECIAL)


def test_an_empty_think_block_of_the_template_is_not_trained() -> None:
    source = CHATML.replace(
        "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}",
        "{% if message.role == 'assistant' %}{{ '<|im_start|>assistant\\n<think>\\n' + (message.reasoning_content or"
        " '') + '\\n</think>\\n\\n' + message.content + '<|im_end|>\\n' }}{% else %}{{ '<|im_start|>' + message.role +"
        " '\\n' + message.content + '<|im_end|>\\n' }}{% endif %}",
    )
    done = operate(source)
    assert done.refused is None, done.refused
    plain = [{"role": "user", "content": "u"}, {"role": "assistant", "content": "x"}]
    assert trained(done.source, plain) == ["x<|im_end|>"]
    assert trained(done.source, [plain[0], {**plain[1], "reasoning_content": "hm"}]) == [
        "<think>\nhm\n</think>\n\nx<|im_end|>"
    ]


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (
            (
                "{% for m in messages %}<|{{ m.role }}|>{% if m.role == 'assistant' %}{% generation %}{{ m.content"
                " }}<|end|>{% endgeneration %}{% else %}{{ m.content }}<|end|>{% endif %}\n{% endfor %}"
            ),
            "already",
        ),
        ("nothing of the conversation", "no answer"),
        (
            (
                "{% for m in messages %}{{ m.content }}{% for i in range(100) %}{% for j in range(100) %}{%"
                " endfor %}{% endfor %}{% endfor %}"
            ),
            "limits",
        ),
        (
            (
                "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}{% if messages | length == 1"
                " %}{{ 'x' * 1100000 }}{% endif %}"
            ),
            "exceeds its limits, because it builds a value of more than 1 Mi characters",
        ),
        (
            "{% for m in messages %}{{ m.content }}{% endfor %}{#" + "x" * 2100 + "#}",
            "longer than 2 Ki characters",
        ),
        (
            (
                "{% macro turn(m) %}{{ m.content }}{{ m.content | length }}{% endmacro %}{% for m in messages %}<|{{"
                " m.role }}|>{{ turn(m) }}{% endfor %}"
            ),
            "no answer",
        ),
    ],
)
def test_what_cannot_be_proven_is_refused_and_nothing_is_produced(
    source: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, by in (("STEPS", 1000), ("STEPS_PER_MESSAGE", 1000), ("VALUE_LIMIT", 64), ("TAGS_LIMIT", 32)):
        monkeypatch.setattr(limits, name, getattr(limits, name) // by)
    done = operate(source)
    assert done.refused is not None and why in done.refused
    assert (done.source, done.proven, done.diff) == (source, 0, "")


WHOLE = (
    "{% macro turn(m) %}<|{{ m.role }}|>{{ m.content }}<|end|>\n{% endmacro %}{% for m in messages %}{{ turn(m) }}{%"
    " endfor %}"
)
FILTERED = "{% for m in messages %}{{ ('  <|' + m.role + '|>' + m.content + '<|end|>') | trim }}\n{% endfor %}"
CAPTURED = (
    "{% for m in messages %}{% set turn %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endset %}{{ turn }}\n{% endfor %}"
)


@pytest.mark.parametrize("source", [WHOLE, FILTERED, CAPTURED])
def test_a_turn_that_one_expression_writes_whole_is_cut_by_its_constant_ends(source: str) -> None:
    done = operate(source)
    assert done.refused is None, done.refused
    assert done.proven > 20
    assert trained(done.source, MULTI) == ["B<|end|>", "D<|end|>"]


def test_an_empty_thought_is_cut_off_only_where_the_template_put_it() -> None:
    source = (
        "{% for m in messages %}{% set said = m.content %}{% if m.role == 'assistant' and '<think>' not in said %}{%"
        " set said = '<think></think>' ~ said %}{% endif %}{{ '<|' ~ m.role ~ '|>' ~ (said | trim) ~ '<|end|>' }}{%"
        " endfor %}"
    )
    done = operate(source)
    assert done.refused is None, done.refused
    asked = MULTI[0]
    assert trained(done.source, [asked, {"role": "assistant", "content": "x"}]) == ["x<|end|>"]
    assert trained(done.source, [asked, {"role": "assistant", "content": "<think>\nhm\n</think>\n\nx"}]) == [
        "<think>\nhm\n</think>\n\nx<|end|>"
    ]
    assert trained(done.source, [asked, {"role": "assistant", "content": "<think></think>x"}]) == [
        "<think></think>x<|end|>"
    ]


def test_a_header_beyond_the_generation_prompt_is_for_the_model_to_say() -> None:
    source = (
        "{% for m in messages %}{{ '<|start|>' + m.role + ('<|channel|>final' if m.role == 'assistant' else '') +"
        " '<|message|>' + m.content + '<|end|>' }}{% endfor %}{% if add_generation_prompt %}<|start|>assistant{%"
        " endif %}"
    )
    done = operate(source)
    assert done.refused is None, done.refused
    assert trained(done.source, MULTI) == ["<|channel|>final<|message|>B<|end|>", "<|channel|>final<|message|>D<|end|>"]


@pytest.mark.parametrize(
    "body",
    [
        "<|{{ m.role }}|>\n{%- generation -%}\n{{ m.content }}<|end|>{% endgeneration %}\n",
        "{% generation %}<|{{ m.role }}|>{{ m.content }}<|end|>\n{% endgeneration %}\n",
        "<|{{ m.role }}|>{{ m.content }}{%- generation %}\n<|end|>\n{%- endgeneration %}\n",
    ],
)
def test_tags_in_the_wrong_place_are_put_anew(body: str) -> None:
    tagged_tight("{% for m in messages %}\n" + body + "{% endfor %}\n")


def test_a_row_that_breaks_the_proof_is_told() -> None:
    source = (
        "{% for m in messages %}{% if m.odd %}{{ ('<|' + m.role + m.odd + '|>' + m.content + '<|end|>') | trim }}"
        "{% else %}{{ '<|' + m.role + '|>' + m.content + '<|end|>' }}{% endif %}{% endfor %}"
    )
    odd = [
        chat([{"role": "user", "content": "a"}, {"role": "assistant", "content": f"b{n}", "odd": f"{n:02}"}])
        for n in range(12)
    ]
    assert operate(source).refused is None
    done = operate(source, odd)
    assert done.refused is not None and done.source == source


def test_an_iterator_of_rows_is_enough_and_other_rows_do_not_matter() -> None:
    rows = iter([Conversation(Kind.TEXT, "text", text="no chat"), chat(MULTI)])
    done = add_generation_tags(CHATML, "case", SPECIAL, rows)
    assert done.refused is None and done.proven > 20


def test_the_tree_follows_the_source() -> None:
    source = (
        "a{%- if x -%} b {% else %}{{ 'c' + d ~ e }}{% endif %}\n{# f #}{% for m in ms %}{{ m | trim }}{% endfor %}{%"
        " raw %}{{ g }}{% endraw %}"
    )
    tree = read_tree(source)
    # The line break behind `endif` is Jinja's to swallow.
    assert [[one.source for one in leaf.operands] for leaf in tree.leaves] == [
        ["'a'"],
        ["'b '"],
        ["'c'", "d", "e"],
        ["m | trim"],
        ["'{{ g }}'"],
    ]
    assert all(source[node.start : node.end] for node in walk(tree.body))


@pytest.mark.one_of(4)
@pytest.mark.shared
@pytest.mark.parametrize("name", ["qwen2.5", "minimind", "phi-3-mini", "llama-3-8b-instruct"])
def test_transformers_draws_the_same_mask(shared: Path, name: str) -> None:
    """`return_assistant_tokens_mask` of transformers itself, on the tokenizer that the template came with."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(shared / "testdata/tokenizers" / name)
    special = dict(tokenizer.special_tokens_map)
    done = add_generation_tags(tokenizer.chat_template, name, special, [])
    assert done.refused is None
    template = compile_template(done.source, name)
    seen = 0
    for row in [*sampled_rows(shared, 3), *({"messages": one} for one in CONVERSATIONS.values())]:
        try:
            text, spans = template.text(row["messages"], tools=row.get("tools"), variables=special)
        except TemplateError:
            continue
        if any("\ud800" <= letter <= "\udfff" for letter in text):
            continue
        drawn = tokenizer.apply_chat_template(
            row["messages"],
            tools=row.get("tools"),
            chat_template=done.source,
            return_dict=True,
            return_assistant_tokens_mask=True,
        )
        encoded = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        assert encoded["input_ids"] == drawn["input_ids"]
        wanted = [int(any(a < end and start < b for a, b in spans)) for start, end in encoded["offset_mapping"]]
        assert drawn["assistant_masks"] == wanted, row["messages"]
        seen += 1
    assert seen > 40
