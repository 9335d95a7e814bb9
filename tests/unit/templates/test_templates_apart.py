"""Two renderings beside each other: how far apart they are, and where."""

from __future__ import annotations

from dataclasses import replace

import pytest
from template_cases import chat

from sftui.model import NOWHERE
from sftui.recipe import Render
from sftui.templates import compile_template, render
from sftui.templates.apart import Distance, RenderDifference, parted

CHATML = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
LLAMA = (
    "{% for m in messages %}<|start_header_id|>{{ m.role }}<|end_header_id|>\n\n{{ m.content }}<|eot_id|>{% endfor %}"
)
INST = (
    "{% for m in messages %}{% if m.role == 'user' %}[INST] {{ m.content }} [/INST]"
    "{% else %} {{ m.content }}</s>{% endif %}{% endfor %}"
)
PHI = "{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}<|end|>\n{% endfor %}"
GLM = "{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}{% endfor %}"
DEFAULT = "<|im_start|>system\n{}<|im_end|>\n"
THOUGHT = "<think>\n\n</think>\n\n"
FINAL = "<|channel|>thinks<|end|><|start|>says"
TURNS = [
    {"role": "user", "content": "What?"},
    {"role": "assistant", "content": "That."},
    {"role": "user", "content": "Why?"},
    {"role": "assistant", "content": "So."},
]


def thinking(template: str, thought: str) -> str:
    return template.replace(
        "{{ m.content }}", "{% if m.role == 'assistant' %}" + thought + "{% endif %}{{ m.content }}"
    )


def beside(
    ours: str, theirs: str, count: int = 4, thought: str = "", turns: list[dict[str, str]] = TURNS
) -> RenderDifference | None:
    conversation = chat(turns[:count])
    one, other = (
        render(
            conversation,
            compile_template(source, "t"),
            special_tokens={},
            options=Render(),
            prompt_messages=None,
        )
        for source in (ours, theirs)
    )
    roles = [message["role"] for message in TURNS[:count]]
    return parted(one, other, roles, unsaid=("<s>", "</s>"), thought=thought)


@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize(
    ("ours", "theirs", "apart", "place"),
    [
        (CHATML, CHATML, None, None),
        (CHATML, LLAMA, Distance.FAMILY, (0, 1)),
        (LLAMA, CHATML, Distance.FAMILY, (0, 1)),
        (CHATML, INST, Distance.FAMILY, (0, 1)),
        (CHATML, PHI, Distance.FAMILY, (0, 1)),
        (GLM, PHI, Distance.FAMILY, (0, 1)),
        ("{% for m in messages %}{{ m.content }}{% endfor %}", CHATML, Distance.FAMILY, (0, 1)),
        (CHATML, DEFAULT.format("Be good.") + CHATML, Distance.OPENING, (NOWHERE, 0)),
        (DEFAULT.format("Sei gut.") + CHATML, DEFAULT.format("Be good.") + CHATML, Distance.OPENING, (NOWHERE, 0)),
        (CHATML, "<s>" + CHATML, Distance.OPENING, (NOWHERE, 0)),
        (CHATML, CHATML.replace("\n{{", " {{"), Distance.FRAME, (0, 1)),
        (INST, INST.replace(" [/INST]", "[/INST]"), Distance.FRAME, (0, 1)),
        (thinking(CHATML, THOUGHT), CHATML, Distance.THOUGHT, (0, 1)),
        (CHATML, thinking(CHATML, "<think></think>"), Distance.THOUGHT, (0, 1)),
        (thinking(CHATML, THOUGHT), LLAMA, Distance.FAMILY, (0, 1)),
    ],
)
def test_how_far_two_templates_are_apart(
    ours: str, theirs: str, apart: Distance | None, place: tuple[int, int] | None, count: int
) -> None:
    found = beside(ours, theirs, count)
    assert (found and found.apart, found and (found.before, found.after)) == (apart, place)


def test_an_end_of_text_is_no_other_family() -> None:
    found = beside(PHI, PHI + "</s>")
    assert found is not None and (found.apart, found.before, found.after) == (Distance.OPENING, 3, NOWHERE)
    assert (found.ours, found.theirs) == ("<|end|>\n", "<|end|>\n</s>")


def test_an_answer_that_is_never_ended_is_a_frame() -> None:
    ours = PHI.replace("<|end|>\n", "{% if m.role == 'user' %}<|end|>\n{% endif %}")
    found = beside(ours, PHI)
    assert found is not None and (found.apart, found.before, found.after) == (Distance.FRAME, 1, 2)
    found = beside(ours, PHI, 2)
    assert found is not None and (found.apart, found.before, found.after) == (Distance.FRAME, 1, NOWHERE)


def test_a_thought_that_ends_in_the_words_of_an_answer() -> None:
    """As gpt-oss writes it: without a thought the answer stands in its final channel all the same."""
    ours = thinking(CHATML, FINAL)
    theirs = thinking(CHATML, "<|start|>says")
    found = beside(ours, theirs, thought=FINAL)
    assert found is not None and found.apart is Distance.THOUGHT
    unknown = beside(ours, theirs)
    assert unknown is not None and unknown.apart is Distance.FAMILY


@pytest.mark.parametrize("thought", [THOUGHT, "<think></think>", "[THINK][/THINK]", "◁think▷ ◁/think▷\n"])
def test_an_empty_thought_of_the_data_is_one_on_both_sides(thought: str) -> None:
    turns = [{**one, "content": one["content"].replace("That.", f"{thought}That.")} for one in TURNS]
    parts = CHATML.replace("{{ m.content }}", "{{ m.content | replace('" + thought.strip() + "', '') | trim }}")
    assert beside(CHATML, CHATML, turns=turns) is None
    rendered = [
        render(chat(turns), compile_template(CHATML, "t"), special_tokens={}, options=Render(), prompt_messages=None)
    ]
    start = rendered[0].text.index("That.")
    spans = tuple([span._replace(start=start) if span.start < start < span.end else span for span in rendered[0].spans])
    rendered.append(replace(rendered[0], spans=spans))
    for one, other in (rendered, rendered[::-1]):
        assert parted(one, other, [turn["role"] for turn in turns]) is None
    lost = beside(CHATML, parts, turns=turns)
    assert lost is not None and (lost.apart, lost.before, lost.after) == (Distance.THOUGHT, 0, 1)


def test_contents_that_are_written_otherwise() -> None:
    spaced = [{**message, "content": f" {message['content']}\n"} for message in TURNS]
    found = beside(CHATML, CHATML.replace("m.content", "m.content | trim"), turns=spaced)
    assert found is not None and found.apart is Distance.CONTENT
    assert found.before == found.after == NOWHERE


def test_it_is_not_known_where_contents_stand_that_a_template_rewrites() -> None:
    assert beside(CHATML, CHATML.replace("m.content", "m.content | upper")) is None
