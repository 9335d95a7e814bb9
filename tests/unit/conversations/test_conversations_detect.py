"""detect: what each shape of row is read as, and the sentence that says why."""

from __future__ import annotations

from typing import Any

import pytest

from sftui.conversations import detect
from sftui.model import Row
from sftui.recipe import Data


def rows(*records: Any) -> list[Row]:
    return [Row(i, record, "", f"line {i + 1}") for i, record in enumerate(records)]


USER, ANSWER = {"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}
CHAT = [USER, ANSWER]


@pytest.mark.parametrize(
    ("record", "format_name", "fields"),
    [
        ({"messages": CHAT}, "messages", {"messages": "messages"}),
        ({"conversation": CHAT}, "messages", {"messages": "conversation"}),
        ({"my_log": CHAT, "id": 3}, "messages", {"messages": "my_log"}),
        ({"conversations": [{"from": "human", "value": "q"}]}, "sharegpt", {"messages": "conversations"}),
        ({"my_log": CHAT, "question": "q", "answer": "a"}, "columns", {"prompt": "question", "completion": "answer"}),
        ({"messages": '[{"role": "user", "content": "q"}]'}, "messages", {"messages": "messages"}),
        (
            {"instruction": "i", "input": "", "output": "o"},
            "alpaca",
            {"instruction": "instruction", "input": "input", "output": "output"},
        ),
        ({"instruction": "i", "output": "o"}, "alpaca", {"instruction": "instruction", "output": "output"}),
        (
            {"instruction": "i", "input": "x", "response": "o"},
            "alpaca",
            {"instruction": "instruction", "input": "input", "output": "response"},
        ),
        ({"prompt": "p", "completion": "c"}, "prompt_completion", {"prompt": "prompt", "completion": "completion"}),
        (
            {"prompt": [USER], "completion": [ANSWER]},
            "prompt_completion",
            {"prompt": "prompt", "completion": "completion"},
        ),
        ({"question": "q", "answer": "a"}, "columns", {"prompt": "question", "completion": "answer"}),
        ({"Question": "q", "Answer": "a"}, "columns", {"prompt": "Question", "completion": "Answer"}),
        ({"instruction": "q", "response": "a"}, "columns", {"prompt": "instruction", "completion": "response"}),
        ({"prompt": "q", "response": "a"}, "columns", {"prompt": "prompt", "completion": "response"}),
        ({"text": "t", "label": 0}, "text", {"text": "text"}),
        ({"segments": [{"text": "t", "label": True}]}, "segments", {"segments": "segments"}),
        (
            {"input_ids": [1, 2], "attention_mask": [1, 1]},
            "tokenized",
            {"input_ids": "input_ids", "attention_mask": "attention_mask"},
        ),
    ],
)
def test_shapes(record: dict[str, Any], format_name: str, fields: dict[str, str]) -> None:
    detected = detect(rows(record), Data())
    assert detected.refused is None
    assert (detected.format, dict(detected.fields)) == (format_name, fields)
    assert detected.reason.startswith(f"{format_name}: every sampled row has")


def test_the_reason_names_the_column_and_the_keys() -> None:
    assert detect(rows({"messages": CHAT}), Data()).reason == (
        "messages: every sampled row has a list `messages` whose items have role and content"
    )


def test_the_reason_counts_the_rows_that_fit() -> None:
    detected = detect(rows(*[{"messages": CHAT}] * 3, {"messages": []}), Data())
    assert "3 of 4 sampled rows have" in detected.reason
    assert "1 of 4 sampled rows do not match the format; open one to see why" in detected.notes


def test_rows_that_could_not_be_read_do_not_count() -> None:
    detected = detect([Row(0, None, "{", "line 1", problem="not JSON"), *rows({"text": "t"})], Data())
    assert detected.format == "text"


def test_fields_decide_over_what_would_be_guessed() -> None:
    record = {"messages": CHAT, "question": "q", "long_answer": "a", "answer": "b"}
    detected = detect(rows(record), Data(fields={"prompt": "question", "completion": "long_answer"}))
    assert detected.format == "columns"
    assert dict(detected.fields) == {"prompt": "question", "completion": "long_answer"}


def test_one_field_is_enough() -> None:
    assert detect(rows({"q": CHAT, "messages": CHAT}), Data(fields={"messages": "q"})).fields["messages"] == "q"
    detected = detect(rows({"question": "q", "best": "a", "answer": "b"}), Data(fields={"completion": "best"}))
    assert dict(detected.fields) == {"prompt": "question", "completion": "best"}


def test_a_misspelt_field_is_refused_with_the_close_match() -> None:
    refused = detect(rows({"messages": CHAT}), Data(fields={"messages": "mesages"})).refused
    assert refused is not None
    assert refused.sentence() == (
        "no column `mesages`, because data.fields maps messages to it; did you mean `messages`?"
    )


def test_a_set_format_is_not_guessed_over() -> None:
    detected = detect(rows({"messages": CHAT, "text": "t"}), Data(format="text"))
    assert (detected.format, detected.reason) == (
        "text",
        "text: set by data.format; every sampled row has text in `text`",
    )
    assert detect([], Data(format="text")).format == "text"


def test_a_set_format_without_its_column_is_refused() -> None:
    assert detect(rows({"text": "t"}), Data(format="messages")).refused is not None


def test_an_unknown_format_is_refused_with_the_close_match() -> None:
    refused = detect(rows({"text": "t"}), Data(format="mesages")).refused
    assert refused is not None and "did you mean `messages`" in refused.sentence()


def test_message_keys_are_found_and_can_be_given() -> None:
    record = {"messages": [{"speaker": "user", "text": "q", "mood": "calm"}]}
    assert dict(detect(rows(record), Data()).message_keys) == {"role": "speaker", "content": "text"}
    keys = detect(rows(record), Data(message_keys={"content": "mood"})).message_keys
    assert dict(keys) == {"role": "speaker", "content": "mood"}


def test_sharegpt_aliases_join_the_role_map_unless_it_is_empty() -> None:
    record = {"conversations": [{"from": "human", "value": "q"}, {"from": "observation", "value": "o"}]}
    assert detect(rows(record), Data()).role_map["observation"] == "tool"
    assert detect(rows(record), Data(role_map={"observation": "user"})).role_map["observation"] == "user"
    assert detect(rows(record), Data(role_map={})).role_map == {}


def test_messages_use_the_recipe_s_role_map_only() -> None:
    detected = detect(rows({"messages": [{"role": "bot", "content": "x"}, {"role": "gpt", "content": "x"}]}), Data())
    assert "bot" not in detected.role_map
    assert "roles are mapped: gpt → assistant" in detected.notes
    assert "roles that most templates do not handle: bot" in detected.notes


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ({"chosen": CHAT, "rejected": CHAT}, "preference set, not an SFT set"),
        ({"prompt": "p", "chosen": "a", "rejected": "b"}, "--field prompt=prompt --field completion=chosen"),
        ({"prompt": "p", "response_chosen": "a", "response_rejected": "b"}, "preference set"),
        ({"prompt": "p", "completion": "c", "label": True}, "KTO"),
        ({"prompt": "p", "responses": ["a", "b"], "scores": [1, 2]}, "ranking or reward set"),
        ({"prompt": "p", "completions": ["a", "b"], "labels": [True, False]}, "ranking or reward set"),
        ({"question": "q", "responses": ["a", "b"]}, "a list of answers"),
        ({"image": "x.png", "label": 3}, "no text to train on"),
        ({"prompt": "p", "id": 1}, "a prompt but no answer"),
        ({"instruction": "i", "instances": [{"input": "", "output": "o"}]}, "nested in `instances`"),
        ({"train": [{"messages": []}], "test": [{"messages": []}]}, "--rows-in train or --rows-in test"),
        (
            {"prompt;completion": "a;b"},
            "only one column, `prompt;completion`, because its fields appear to be separated by `;`",
        ),
        ({"a": 1, "b": [1]}, "its columns are `a` (a number), `b` (a list)"),
        ({"question": "q", "answer": 42}, "`answer` is a number, not text; store the answers as text"),
    ],
)
def test_what_is_not_sft_is_refused_in_one_sentence(record: dict[str, Any], words: str) -> None:
    refused = detect(rows(record), Data()).refused
    assert refused is not None
    assert words in refused.sentence()
    assert "\n" not in refused.sentence()


def test_nothing_readable_is_refused() -> None:
    assert detect([], Data()).refused is not None
    assert detect(rows("text", [1], None), Data()).refused is not None


def test_messages_beside_preferences_load_with_a_note() -> None:
    detected = detect(rows({"messages": CHAT, "chosen": CHAT, "rejected": CHAT}), Data())
    assert detected.format == "messages"
    assert "the columns `chosen` and `rejected` are not used" in detected.notes


@pytest.mark.parametrize(
    ("record", "note"),
    [
        ({"messages": CHAT, "prompt": "p"}, "there is also `prompt`"),
        ({"messages": CHAT, "prompt": "p", "completion": "c"}, "also match prompt_completion"),
        ({"messages": CHAT, "system": "s"}, "--field system=system puts it first"),
        ({"instruction": "i", "context": "c", "response": "r"}, "`context` is not part of the prompt"),
        ({"messages": CHAT, "images": ["a.png"]}, "`images`: sftui does not know"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "sftui does not know"),
    ],
)
def test_notes(record: dict[str, Any], note: str) -> None:
    assert any(note in one for one in detect(rows(record), Data()).notes)


def test_an_alpaca_row_is_not_said_to_fit_its_own_columns_too() -> None:
    assert detect(rows({"instruction": "i", "input": "", "output": "o"}), Data()).notes == ()


def test_tools_and_template_variables_are_found() -> None:
    fields = detect(rows({"messages": CHAT, "tools": [], "chat_template_kwargs": {}}), Data()).fields
    assert (fields["tools"], fields["template_kwargs"]) == ("tools", "chat_template_kwargs")


def test_columns_are_looked_through_once_however_many() -> None:
    """A CSV may have 300,000; dozens of names are looked for, and each went through all of them."""
    from sftui.conversations import detected

    wide = {**{f"c{number}": "x" for number in range(2_000)}, "Prompt": "a", "completion": "b"}
    rows = [Row(index, wide, "", f"row {index}") for index in range(3)]
    detected._spellings.cache_clear()
    found = detect(rows, Data())
    assert found.fields["prompt"] == "Prompt" and found.fields["completion"] == "completion"
    assert detected._spellings.cache_info().misses <= 3
