"""A row that is put together from a skeleton is the row as it is rendered: the same text, prompt, spans and notes."""

from __future__ import annotations

import os
import pickle
import random
from collections import Counter
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from template_cases import CONVERSATIONS, TOOLS, all_templates, chat, sampled_rows

from sftui.errors import TemplateError
from sftui.model import Conversation, RenderedText
from sftui.recipe import Render
from sftui.templates import ChatTemplate, builtin_names, builtin_template, compile_template, render
from sftui.templates.shortcuts import skeletons
from sftui.templates.shortcuts.skeletons import CHECK_EVERY, MOST_SHAPES, Skeletons

SPECIAL: dict[str, str | list[str]] = {"bos_token": "<s>", "eos_token": "</s>"}
NOW = datetime(2026, 2, 3)
LEARN_AFTER = 2
TURNS = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
PIECES = [
    "", " ", "\n", " a ", "x\n", "<|im_end|>", "<|im_start|>user\n", "</think>", "<think>\nhm\n</think>\n\nso", "</s>",
    "<tool_response>", "[INST]", "Qa0Zq", "Qn0Zq", "}", "a\\", '"', "é\u202e", "assistant", "<|eot_id|>", "x" * 300,
    "\ud800", "<tool_call>", "Zw0w", "Zw0w0b", "{{x}}", "<|channel|>", "<", "|>", "\\n", "0", "\x1c", "user", "\u3000z",
]  # fmt: skip


def drawn(
    conversation: Conversation,
    template: ChatTemplate,
    prompt: int | None = None,
    now: datetime = NOW,
    spans: bool = True,
    **options: Any,
) -> RenderedText | str:
    """What is rendered of a conversation, or why it is refused."""
    try:
        return render(
            conversation,
            template,
            special_tokens=SPECIAL,
            options=Render(**options),
            prompt_messages=prompt,
            now=now,
            spans=spans,
        )
    except TemplateError as error:
        return str(error)


@pytest.fixture(autouse=True)
def learned_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rows make a shape known."""
    monkeypatch.setattr(skeletons, "LEARN_AFTER", LEARN_AFTER)


class Held:
    """One template with its skeletons, and the same without any; every row goes both ways."""

    def __init__(self, source: str, name: str = "held") -> None:
        self.quick, self.source, self.name = compile_template(source, name), source, name
        self.plain = compile_template(source, name)
        self.plain.skeletons.mismatch = "switched off"
        self.rows = 0

    def differs(self, conversation: Conversation, **how: Any) -> str:
        """What differs in a row, nothing where it does not."""
        self.rows += 1
        one, other = drawn(conversation, self.quick, **how), drawn(conversation, self.plain, **how)
        told = self.quick.skeletons.mismatch
        return "" if one == other and told is None else f"{self.name}: {told}\n{conversation}\n{one}\n{other}"

    @property
    def put_together(self) -> int:
        return self.quick.skeletons.put_together


def bent(conversation: Conversation, texts: list[str], chance: random.Random) -> Conversation:
    """The same with some texts replaced, or made longer, by what templates and marks are made of, or by others'."""
    made = []
    for message in conversation.messages:
        data = dict(message.data)
        said = data.get("content")
        if isinstance(said, str) and chance.random() < 0.4:
            piece, other = chance.choice(PIECES), chance.choice(texts)
            data["content"] = chance.choice((piece, other, piece + said, said + piece, said + other))
        made.append(replace(message, data=data))
    return replace(conversation, messages=tuple(made))


def held_rows(held: Held, rows: list[Conversation]) -> None:
    for number, one in enumerate(rows):
        prompt = None if number % 3 == 0 else max(1, len(one.messages) - 1)
        assert held.differs(one, prompt=prompt) == ""


def our_rows(count: int) -> list[Conversation]:
    """Our own conversations as they are and bent, in any order."""
    chance = random.Random(3)
    own = [chat(messages, tools) for messages in CONVERSATIONS.values() for tools in (None, TOOLS)]
    texts = [str(one.data.get("content")) for each in own for one in each.messages]
    rows = own * (LEARN_AFTER + 2) + [bent(one, texts, chance) for one in own for _ in range(count)]
    chance.shuffle(rows)
    return rows


@pytest.mark.parametrize("name", builtin_names())
def test_rows_of_every_builtin_are_as_rendered(name: str) -> None:
    held = Held(builtin_template(name).source, name)
    held_rows(held, our_rows(1)[:150])
    assert held.put_together > 15


def test_rows_of_every_shared_template_are_as_rendered(shared: Path) -> None:
    """Some of them in the ordinary run; `SFTUI_SKELETONS=all` in the environment takes all."""
    chance = random.Random(7)
    every = os.environ.get("SFTUI_SKELETONS") == "all"
    real = [chat(one["messages"], one.get("tools")) for one in sampled_rows(shared, 60 if every else 3)]
    texts = [str(one.data.get("content")) for each in real for one in each.messages]
    rows = [*real, *our_rows(1), *(bent(one, texts, chance) for one in real * 2)]
    chance.shuffle(rows)
    templates = all_templates(shared)
    counted: Counter[str] = Counter()
    for name in templates if every else chance.sample(sorted(templates), 12):
        held = Held(templates[name], name)
        some = chance.sample(rows, 12)
        held_rows(held, rows if every else [*some * 3, *(bent(one, texts, chance) for one in some)])
        counted["rows"] += held.rows
        counted["put together"] += held.put_together
    print(f"{len(templates)} templates, {dict(counted)}, 0 differing")
    assert counted["put together"] > counted["rows"] // 10


CONTENT = (
    "{{ m.content }}",
    "{{ m['content'] | trim }}",
    "{{ m.content.strip() }}\n",
    "{{- ' ' + m.content -}}",
    "{% if '</think>' in m.content %}{{ m.content.split('</think>')[-1].lstrip('\\n') }}{% else %}{{ m.content }}"
    "{% endif %}",
    "{% if m.content is string %}{{ m.content }}{% endif %}",
    "{% if loop.last %}{{ m.content.rstrip() }}{% else %}{{ m.content }}{% endif %}",
    "{% if m.content.startswith('x') %}X{% endif %}{{ m.content }}",
    "{{ m | tojson }}",
    "{{ m.content | tojson }}",
    "{% if m.content | length > 5 %}long {% endif %}{{ m.content }}",
    "{% set t = m.content %}{{ t ~ '!' }}",
    "{% set t %}[{{ m.content }}]{% endset %}{{ t | trim }}",
    "{{ m.content | upper }}",
    "{{ m.content | replace('a', 'b') }}",
    "{{ m.content[:3] }}",
    "{{ m.content[m.content.find(' ') :] }}",
    "{{ m.content }}{{ m.content }}",
    "{% if m.content == messages[0].content %}same{% endif %}{{ m.content }}",
    "{% generation %}{{ m.content }}{% endgeneration %}",
    "{{ show(m.content) }}",
)
AROUND = (
    ("<|im_start|>{{ m.role }}\n", "<|im_end|>\n"),
    ("", "\n"),
    ("{% if loop.first %}{{ bos_token }}{% endif %}[{{ m.role }}] ", "{{ eos_token }}"),
    ("{{ '### ' + m.role | upper }}:\n", "\n\n"),
    ("{% if m.role == 'user' %}Q: {% else %}A: {% endif %}", "{% if not loop.last %} {% endif %}"),
    ("<start_of_turn>{{ m.role }}\n", "<end_of_turn>\n"),
)
TAIL = ("", "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}", "{{ strftime_now('%d') }}")
TEXTS = st.one_of(
    st.sampled_from(PIECES),
    st.text(max_size=12),
    st.lists(st.sampled_from(PIECES), max_size=3).map("".join),
    st.sampled_from(["Hello", "Hi there", "2 + 2", "So: 4."]),
)
ROLES = (("user", "assistant"), ("system", "user", "assistant"), ("user", "assistant", "user", "assistant"))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from(AROUND),
    st.sampled_from(CONTENT),
    st.sampled_from(TAIL),
    st.sampled_from(ROLES),
    st.lists(st.lists(TEXTS, min_size=4, max_size=4), min_size=1, max_size=6),
)
def test_made_templates_and_wild_texts(
    around: tuple[str, str], content: str, tail: str, roles: tuple[str, ...], rows: list[list[str]]
) -> None:
    macro = "{% macro show(t) %}<{{ t }}>{% endmacro %}"
    held = Held(f"{macro}{{% for m in messages %}}{around[0]}{content}{around[1]}{{% endfor %}}{tail}")
    easy = [["Good day", "Yes", "Why?", "So."], ["Hi", "x", "No", "Hm"], ["One two", "b", "c d", "e"]]
    for texts in [*easy, ["again", "and", "once", "more"], *rows]:
        messages = [{"role": role, "content": text} for role, text in zip(roles, texts)]
        assert held.differs(chat(messages), prompt=len(roles) - 1) == ""


def plain_rows(count: int, *said: str) -> list[Conversation]:
    return [
        chat([{"role": "user", "content": f"Number {n}"}, {"role": "assistant", "content": text or f"It is {n}."}])
        for n in range(count)
        for text in (said or ("",))
    ]


def test_rows_of_one_shape_are_put_together_from_the_third_on() -> None:
    held = Held(TURNS)
    held_rows(held, [replace(one) for one in plain_rows(20)])
    assert held.put_together > 0
    template = compile_template(TURNS, "t")
    for one in plain_rows(20):
        drawn(one, template)
    assert template.skeletons.put_together == 20 - LEARN_AFTER - 1


def test_white_space_at_the_ends_needs_no_shape_of_its_own() -> None:
    for content in ("{{ m.content }}", "{{ m.content | trim }}"):
        held = Held(TURNS.replace("{{ m.content }}", content))
        for one in plain_rows(6) + plain_rows(1, " a", "b ", "\nc\n\n", "\td", "e \n"):
            assert held.differs(one) == ""
        assert held.put_together == 11 - LEARN_AFTER - 1, content


def test_each_answer_to_a_condition_is_a_way_of_its_own() -> None:
    held = Held(TURNS.replace("{{ m.content }}", "{% if 'x' in m.content %}!{% endif %}{{ m.content }}"))
    held_rows(held, [one for pair in zip(plain_rows(8, "a"), plain_rows(8, "x")) for one in pair])
    (shape, *_) = held.quick.skeletons._shapes.values()
    assert len(shape.ways) == 2


def test_a_template_that_writes_the_time_is_put_together_for_that_time_alone() -> None:
    held = Held("{{ strftime_now('%Y') }}" + TURNS)
    for number, one in enumerate(plain_rows(12)):
        assert held.differs(one, now=datetime(2026 + number // 6, 1, 1)) == ""
    assert held.put_together == 12 - LEARN_AFTER - 2


@pytest.mark.parametrize(
    "content",
    [
        "{% for letter in m.content %}{{ letter }}.{% endfor %}",
        "{{ {m.content: 1} | dictsort }}",
        "{{ m.content | urlize }}",
        "{{ '%s' % m.content }}",
        "{{ '{}'.format(m.content) }}",
        "{{ [m.content, 'b'] | sort | join }}",
        "{{ m.content | e }}",
        "{{ [1, 2, 3] | random }}",
        "{{ m }}",
    ],
)
def test_what_is_not_followed_is_rendered(content: str) -> None:
    template = compile_template(TURNS.replace("{{ m.content }}", content), "t")
    for one in plain_rows(8):
        drawn(one, template)
    assert template.skeletons.put_together == 0


def test_what_a_text_could_be_taken_for_is_rendered() -> None:
    held = Held(TURNS)
    for one in plain_rows(5) + plain_rows(1, "a Qa0Zq b", "Qn0Zq", "Qa0Zq0x0y"):
        assert held.differs(one) == ""
    (shape, *_) = held.quick.skeletons._shapes.values()
    assert [way.plan is not None for way in shape.ways] == [True, False]


def test_a_text_that_begins_with_what_the_template_may_write_there_is_rendered() -> None:
    held = Held(TURNS.replace("{{ m.content }}", "{% if loop.last %}<think>\n{% endif %}{{ m.content }}"))

    def row(*said: str) -> Conversation:
        return chat([{"role": role, "content": text} for role, text in zip(("user", "assistant") * 2, said)])

    for number in range(LEARN_AFTER + 1):
        assert held.differs(row("a", f"b{number}", "c", "d")) == ""
    (shape, *_) = held.quick.skeletons._shapes.values()
    assert shape.ways[0].plan is not None and shape.ways[0].plan.unlike
    for said in (("a", "b", "c", "d"), ("a", "<b", "c", "d"), ("a", "<think>\nb", "c", "d"), ("<", "b", "<", "<")):
        assert held.differs(row(*said)) == ""
        assert (shape.ways[0].rendered(list(said), (), NOW) is None) == ("<" in (said[0][0], said[1][0]))


def test_thoughts_inside_a_text_are_left_to_the_proof() -> None:
    held = Held(TURNS)
    for one in plain_rows(6, "<think>\nhm\n</think>\n\nso"):
        assert held.differs(one) == ""
    (shape, *_) = held.quick.skeletons._shapes.values()
    assert [way.plan for way in shape.ways] == [None]


@pytest.mark.parametrize("says", ["", "So: {}.", "Is it {} or\nnot?"])
def test_calls_that_a_template_drops_are_noted_where_nothing_else_says_the_same(says: str) -> None:
    held = Held(TURNS)

    def row(city: str, said: str, more: str = "Paris") -> Conversation:
        asked = [{"type": "function", "function": {"name": "at", "arguments": {"city": city, "or": more}}}]
        answer = {"role": "assistant", "content": said, "tool_calls": asked}
        return chat([{"role": "user", "content": "Where?"}, answer, {"role": "assistant", "content": "There."}])

    for number in range(LEARN_AFTER + 4):
        assert held.differs(row(f"Rome {number}", says.format("Berlin"))) == ""
    known = held.put_together
    assert known == 3
    # the name of the function stands in both: what decides are the cities
    for city, said in (("at", "at"), ("Rome", says.format("Rome at Paris")), ("Rome ", says.format("Rome Paris at"))):
        noted = drawn(row(city, said), held.plain)
        assert isinstance(noted, RenderedText)
        assert held.differs(row(city, said)) == ""
    assert held.differs(row("Ulm", says.format("Rome"))) == ""
    assert held.put_together > known


def test_one_and_true_are_two_variables() -> None:
    held = Held("{{ flag }}" + TURNS)
    for flag in (True, 1, 1.0, "1", True, 1) * 6:
        for one in plain_rows(2):
            assert held.differs(one, kwargs={"flag": flag}) == ""
    for flag in (True, 1, 1.0, True, 1) * 6:
        (one,) = plain_rows(1)
        assert held.differs(replace(one, template_kwargs={"flag": flag})) == ""
        assert held.differs(chat([{**message.data, "n": flag} for message in one.messages])) == ""


def test_a_skeleton_that_is_wrong_is_found_told_once_and_not_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    template = compile_template(TURNS, "wrong")
    rows = plain_rows(3 * CHECK_EVERY)
    learned = skeletons._Skeleton.rendered

    def wrong(self: Any, *args: Any) -> RenderedText | None:
        known = learned(self, *args)
        return None if known is None else replace(known, text=known.text + "?")

    for one in rows[: LEARN_AFTER + 1]:
        drawn(one, template)
    monkeypatch.setattr(skeletons._Skeleton, "rendered", wrong)
    found = [drawn(one, template) for one in rows[LEARN_AFTER + 1 :]]
    plain = compile_template(TURNS, "wrong")
    plain.skeletons.mismatch = "switched off"
    right = [drawn(one, plain) for one in rows[LEARN_AFTER + 1 :]]
    told = template.skeletons.mismatch
    assert told is not None and told.startswith("wrong: a row was assembled differently from what the chat template")
    checked = CHECK_EVERY - 1
    assert [one == other for one, other in zip(found, right)] == [number > checked for number in range(len(found))]
    last, same = found[checked], right[checked]
    assert isinstance(last, RenderedText) and isinstance(same, RenderedText)
    assert (last.text, last.notes) == (same.text, (told,))


def test_a_shape_of_which_many_rows_agreed_is_rendered_as_well_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(skeletons, "CHECK_EVERY", 4)
    monkeypatch.setattr(skeletons, "SURE_AFTER", 12)
    monkeypatch.setattr(skeletons, "CHECK_LATER", 16)
    template, due = compile_template(TURNS, "sure"), []
    settle = Skeletons.settle

    def noted(self: Skeletons, sighting: Any, *args: Any) -> str | None:
        due.extend([sighting.shape.used] if sighting.due else [])
        return settle(self, sighting, *args)

    monkeypatch.setattr(Skeletons, "settle", noted)
    for one in plain_rows(64):
        drawn(one, template)
    assert due == [4, 8, 12, 16, 32, 48]


def test_what_was_followed_in_vain_is_followed_less_and_less(monkeypatch: pytest.MonkeyPatch) -> None:
    template, followed = compile_template(TURNS.replace("{{ m.content }}", "{{ m.content | urlize }}"), "t"), []
    follow = skeletons._followed

    def counted(sighting: Any, *args: Any) -> Any:
        followed.append(sighting.shape.seen)
        return follow(sighting, *args)

    monkeypatch.setattr(skeletons, "_followed", counted)
    for one in plain_rows(60):
        drawn(one, template, spans=False)
    assert followed == [3, 9, 33]


def test_a_template_that_is_slow_to_compile_stays_so_when_it_was_kept() -> None:
    source = TURNS + "{# this one alone #}"
    first, again = compile_template(source, "t"), compile_template(source, "t")
    assert again.compiled_in == first.compiled_in > 0


def test_no_more_shapes_are_kept_than_that() -> None:
    template = compile_template(TURNS, "t")
    for number in range(MOST_SHAPES + 40):
        drawn(chat([{"role": f"role {number}", "content": "a"}]), template)
    assert len(template.skeletons._shapes) == MOST_SHAPES


def test_a_template_pickles_without_its_skeletons() -> None:
    template = compile_template(TURNS, "t")
    for one in plain_rows(9):
        drawn(one, template)
    again = pickle.loads(pickle.dumps(template))
    assert template.skeletons.put_together and not again.skeletons.put_together and not again.skeletons._shapes


def test_a_text_that_grows_by_doubling_is_not_followed_for_long() -> None:
    doubling = "{% set ns = namespace(t=m.content) %}{% for i in range(16) %}{% set ns.t = ns.t + ns.t %}{% endfor %}"
    template = compile_template(TURNS.replace("{{ m.content }}", doubling + "{{ ns.t }}"), "t")
    for one in plain_rows(5, "a"):
        drawn(one, template, spans=False)
    assert template.skeletons.put_together == 0


def test_forty_turns_are_put_together_from_as_many_pieces() -> None:
    held = Held(TURNS)
    for number in range(6):
        messages = [
            {"role": role, "content": f"{number} {role} {turn}"} for turn in range(20) for role in ("user", "assistant")
        ]
        assert held.differs(chat(messages), prompt=39) == ""
    assert held.put_together == 6 - LEARN_AFTER - 1
