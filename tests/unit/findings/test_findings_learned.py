"""What the full pass over the real datasets taught: what looks wrong and is not, and what is; most of it
torchtune's."""

from __future__ import annotations

from typing import Any

from case_runner import run

from sftui.findings.rule import Case, chat

TALK = {"conversations": [{"from": "human", "value": "hi"}, {"from": "gpt", "value": "Hello."}]}
LONG = "Below is an instruction that describes a task. " * 12


def codes(*rows: Any) -> dict[str, str]:
    return {finding.code: finding.sentence for finding in run(Case(rows, preset="torchtune@0.7")).findings}


def test_sharegpt_turns_have_content_and_roles() -> None:
    assert not {"CON010", "ROL003"} & codes(TALK).keys()


def test_an_unknown_sharegpt_role_is_named() -> None:
    turns = [*TALK["conversations"], {"from": "function_call", "value": "{}"}]
    found = codes(TALK, {"conversations": turns})
    assert "does not support the role 'function_call'" in found["ROW002"] and "ROL003" not in found


def test_only_null_as_content_is_stale() -> None:
    assert "CON010" in codes(chat("hi", ("assistant", None)))
    missing = {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant"}]}
    assert (
        "CON010" not in codes(chat("hi", "Hello."), missing)
        and "KeyError" in codes(chat("hi", "Hello."), missing)["ROW002"]
    )


def test_a_text_part_without_text_stops_it() -> None:
    parts = chat(("user", [{"type": "text", "value": "hi"}]), ("assistant", "Hello."))
    assert "KeyError 'text'" in codes(chat("hi", "Hello."), parts)["ROW002"]


def test_a_row_trained_as_a_whole_has_no_prompt_to_miss() -> None:
    assert "BND007" not in codes(*[{"text": LONG + str(i)} for i in range(30)])
    assert "BND007" not in codes(*[{"instruction": LONG + str(i), "input": "", "output": "Yes."} for i in range(30)])


def test_the_trainers_own_end_of_text_is_a_stop() -> None:
    found = run(Case([{"text": "It goes on and on."}], tokenizer="llama3", preset="torchtune@0.7")).findings
    assert "EOS001" not in {finding.code for finding in found}


ONLY_STRINGS = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content if m.content is string else '' }}<|im_end|>\n{%"
    " endfor %}"
)


def test_content_parts_that_the_template_leaves_out() -> None:
    parts = chat(("user", "hi"), ("assistant", [{"type": "text", "value": "Hello."}]))
    [found] = run(Case([parts], template=ONLY_STRINGS)).of("CON002")
    assert "prints none" in found.sentence and found.message == 1
    assert not run(Case([chat("hi", "Hello.")], template=ONLY_STRINGS)).of("CON002")


def test_llamafactory_needs_no_chat_template() -> None:
    # Lists alone: its datasets refuses a file in which the content is a list here and a text there.
    parts = chat(("user", [{"type": "text", "value": "hi"}]), ("assistant", [{"type": "text", "value": "Hello."}]))
    found = {
        one.code
        for one in run(Case([parts], preset="llamafactory@0.9", facts={"chat_templates": {}}, template="")).findings
    }
    assert "CON002" in found and "TPL001" not in found


def test_content_parts_are_not_blamed_for_what_roles_or_a_missing_template_stop() -> None:
    parts = chat(("system", "Be kind."), ("user", [{"type": "text", "value": "hi"}]), ("assistant", "Hello."))
    refused = {one.code for one in run(Case([parts], tokenizer="gemma")).findings}
    assert "TPL002" in refused and "CON002" not in refused
    missing = {one.code for one in run(Case([parts], facts={"chat_templates": {}}, template="")).findings}
    assert "TPL001" in missing and "CON002" not in missing
