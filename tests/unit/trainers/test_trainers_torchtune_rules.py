"""torchtune's tricky rules: packing, truncation, Llama's plain special tokens, what its messages refuse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sftui import pipeline
from sftui.errors import RecipeError
from sftui.model import Example, Inspection, Reason, Row
from sftui.recipe import changed
from sftui.tokens import load_tokenizer
from sftui.trainers import preset, trainer_named
from sftui.trainers.torchtune.models import LONGEST_RUN, _short_runs
from sftui.trainers.torchtune.special import special_tokens
from sftui.trainers.torchtune.trainer import pack_sequential

LENGTHS = st.lists(st.integers(1, 9), min_size=1, max_size=12)
CHAT = {"messages": [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Say <|eot_id|> now"}]}


def examples(lengths: list[int]) -> list[Example]:
    return [
        Example(tuple(range(10 * i, 10 * i + n)), tuple(range(10 * i, 10 * i + n)), (1,) * n)
        for i, n in enumerate(lengths)
    ]


@given(LENGTHS, st.booleans(), st.booleans())
@settings(max_examples=200, deadline=None)
def test_packs_hold_every_token_once_in_order(lengths: list[int], split: bool, shifted: bool) -> None:
    rows = examples(lengths)
    packs = tuple(pack_sequential(rows, 10, split=split, shifted=shifted))
    inside = [i for pack in packs for i in pack.input_ids[: sum(end - start for _, start, end in pack.documents)]]
    assert inside == [i for row in rows for i in row.input_ids]
    assert all(len(pack.input_ids) == len(pack.labels) == len(pack.position_ids or ()) == 10 for pack in packs)
    if split:
        assert all(sum(end - start for _, start, end in pack.documents) == 10 for pack in packs[:-1])
    else:
        assert all(start == 0 for pack in packs for _, start, _ in pack.documents)


def test_a_row_longer_than_a_pack_stops_torchtune_unless_it_is_split() -> None:
    with pytest.raises(RecipeError, match="torchtune stops"):
        tuple(pack_sequential(examples([9, 4]), 5, split=False, shifted=False))
    assert [pack.documents for pack in pack_sequential(examples([9, 4]), 5, split=True, shifted=False)] == [
        ((0, 0, 5),),
        ((0, 5, 9), (1, 0, 1)),
        ((1, 1, 4),),
    ]


@given(LENGTHS)
@settings(max_examples=200, deadline=None)
def test_a_token_learns_the_next_of_its_row_also_across_packs_where_labels_are_shifted_first(
    lengths: list[int],
) -> None:
    rows = examples(lengths)
    learnt = [(*row.labels[1:], -100) for row in rows]
    for pack in pack_sequential(rows, 10, split=True, shifted=True):
        stored = (*pack.labels[1:], pack.follows)
        at = 0
        for number, start, end in pack.documents:
            own = list(stored[at : at + end - start])
            if end == lengths[number]:  # what the packer itself does not separate: the next row's first token
                own[-1] = -100
            assert own == list(learnt[number][start:end])
            at += end - start
        assert pack.documents[0][1] == 0 or pack.labels[0] == -100


@pytest.mark.parametrize(
    ("lengths", "split", "documents", "positions", "seq_lens"),
    [
        ([5], False, [((0, 0, 5),)], [(0, 1, 2, 3, 4)], [(5,)]),
        ([2, 3], False, [((0, 0, 2), (1, 0, 3))], [(0, 1, 0, 1, 2)], [(2, 3)]),
        ([2, 4], False, [((0, 0, 2),), ((1, 0, 4),)], [(0, 1, 2, 3, 4), (0, 1, 2, 3, 4)], [(2, 3), (4, 1)]),
        ([0, 2], False, [((0, 0, 0), (1, 0, 2))], [(0, 1, 2, 3, 4)], [(0, 2, 3)]),
        ([5, 2], True, [((0, 0, 5),), ((1, 0, 2),)], [(0, 1, 2, 3, 4), (0, 1, 2, 3, 4)], [(5,), (2, 3)]),
        ([3, 4], True, [((0, 0, 3), (1, 0, 2)), ((1, 2, 4),)], [(0, 1, 2, 0, 1), (2, 3, 4, 4, 4)], [(3, 2), (2, 3)]),
    ],
)
def test_what_packs_hold(
    lengths: list[int],
    split: bool,
    documents: list[tuple[tuple[int, int, int], ...]],
    positions: list[tuple[int, ...]],
    seq_lens: list[tuple[int, ...]],
) -> None:
    """torchtune 0.6.1, datasets/_packed.py: positions go on through the padding, at most to the last of a pack."""
    packs = list(pack_sequential(examples(lengths), 5, split=split, shifted=False))
    assert [pack.documents for pack in packs] == documents
    assert [pack.position_ids for pack in packs] == positions and [pack.seq_lens for pack in packs] == seq_lens


@pytest.mark.parametrize(("longest", "multiple", "width"), [(5, 4, 8), (4, 4, 8), (3, 4, 4), (3, 1, 3)])
def test_a_width_that_fits_a_multiple_gets_a_block_more(longest: int, multiple: int, width: int) -> None:
    """torchtune 0.7, data/_collate.py (padded_collate_sft): pad_size = multiple - width % multiple."""
    recipe = changed(preset("torchtune@0.7"), "batch.multiple", multiple)
    tools = pipeline.make_toolbox(recipe, load_tokenizer("builtin:llama3", mode="provisional"))
    batch = trainer_named("torchtune").collate(examples([2, longest]), (0, 1), recipe, tools)
    assert {len(row) for row in (*batch.input_ids, *batch.labels)} == {width}


@pytest.mark.parametrize(
    ("format_", "row", "found"),
    [
        ("alpaca", {"instruction": "a", "output": "b"}, "alpaca_dataset"),  # input may be missing
        ("alpaca", {"instruction": "a", "input": "c"}, "there is no column `output`"),
        ("columns", {"output": "b"}, "there is no column `input`"),
        ("columns", {"input": "a", "output": "b"}, "instruct"),
        ("messages", {"conversations": []}, "there is no column `messages`"),
        ("messages", CHAT, "chat"),
        ("auto", CHAT, "torchtune itself follows its config"),
        ("auto", {"zzz": 1}, "zzz"),
        ("sharegpt", {"conversations": []}, "chat"),
        ("text", {"text": "a"}, "text_completion"),
        ("text", {"body": "a"}, "there is no column `text`"),
    ],
)
def test_which_columns_a_builder_asks_for(format_: str, row: dict[str, Any], found: str) -> None:
    recipe = changed(preset("torchtune@0.7"), "data.format", format_)
    detected = pipeline.detect([Row(0, row, "", "row 0")], recipe)
    assert found in (detected.refused.sentence() if detected.refused is not None else detected.reason)
    if detected.refused is None:
        keys = {"role": "from", "content": "value"} if format_ == "sharegpt" else {}
        assert detected.reason.startswith("torchtune: ") and detected.message_keys == keys


@pytest.mark.parametrize(
    ("row", "read"),
    [
        ({"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}]}, CHAT["messages"][1]]}, True),
        ({"messages": [{"role": "user", "content": [{"type": "text"}]}, CHAT["messages"][1]]}, False),
        ({"conversations": [{"from": "human", "value": [{"type": "text", "text": "a"}]}]}, False),
    ],
)
def test_parts_are_read_of_messages_alone(row: dict[str, Any], read: bool) -> None:
    one = inspected(row)
    assert (one.problem is None) is read


def test_a_file_of_special_tokens_may_lie_beside_the_tokenizer(tmp_path: Path) -> None:
    (tmp_path / "special.json").write_text('{"added_tokens": [{"content": "<|endoftext|>", "id": 7}]}')
    tokenizer = load_tokenizer("builtin:chatml", mode="provisional")
    for path in ("special.json", "/elsewhere/special.json", str(tmp_path / "special.json")):
        assert special_tokens("phi3_mini", tokenizer, path, tmp_path) == {"<|endoftext|>": 7}


@pytest.mark.parametrize("turns", [[5], {}, "x", None])
def test_a_column_that_is_no_list_of_messages_stops_torchtune(turns: Any) -> None:
    recipe = preset("torchtune@0.6.1")
    tools = pipeline.make_toolbox(recipe, load_tokenizer("builtin:llama3", mode="provisional"))
    rows = [Row(i, row, "", f"row {i}") for i, row in enumerate((CHAT, {"messages": turns}))]
    one = pipeline.inspect(rows[1], pipeline.detect(rows, recipe), recipe, tools)
    assert one.problem is not None and "`messages` is not a list of messages" in one.problem.sentence()


def inspected(
    row: dict[str, Any], version: str = "0.6.1", tokenizer: str = "builtin:llama3", **knobs: Any
) -> Inspection:
    recipe = preset(f"torchtune@{version}")
    for path, value in knobs.items():
        recipe = changed(recipe, path.replace("__", "."), value)
    tools = pipeline.make_toolbox(recipe, load_tokenizer(tokenizer, mode="provisional"))
    rows = [Row(0, row, "", "row 0")]
    detected = pipeline.detect(rows, recipe)
    return pipeline.inspect(rows[0], detected, recipe, tools, text=True)


def test_llama_takes_special_tokens_in_texts_as_plain_text() -> None:
    one = inspected(CHAT)
    assert one.tokens is not None and one.problem is None, one.problem
    assert one.token_text.pieces.count("<|eot_id|>") == 2  # the two that end the messages
    assert one.rendered is not None and "Say <|eot_id|> now" in one.rendered.text


def test_bos_and_eos_of_llama_are_never_trained() -> None:
    one = inspected(CHAT, mask__rule="all")
    assert one.labels is not None
    assert one.labels.reasons[0] is Reason.FORCED and one.labels.reasons[-1] is Reason.FORCED
    assert all(label != -100 for label in one.labels.labels[1:-1])


@pytest.mark.parametrize("version", ["0.6.1", "0.7"])
def test_a_set_length_masks_the_last_token_though_nothing_is_cut(version: str) -> None:
    free, bound = (
        inspected(CHAT, version, "builtin:chatml"),
        inspected(CHAT, version, "builtin:chatml", length__max=4096),
    )
    assert free.example is not None and bound.example is not None
    assert bound.example.input_ids == free.example.input_ids
    assert (free.example.labels[-1] != -100, bound.example.labels[-1]) == (True, -100)


def test_cut_left_needs_0_7() -> None:
    refused = inspected(CHAT, length__over="cut_left", length__max=5)
    assert refused.problem is not None and "0.6.1" in refused.problem.what
    whole = inspected(CHAT, "0.7").tokens
    assert whole is not None
    for size in range(1, len(whole) + 1):
        cut = inspected(CHAT, "0.7", length__over="cut_left", length__max=size).example
        assert cut is not None and len(cut.input_ids) == size
    last = inspected(CHAT, "0.7", length__over="cut_left", length__max=len(whole) - 1).example
    assert last is not None and last.input_ids == whole.input_ids[1:]


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([{"role": "user", "content": "a"}], "at least two"),
        ([{"role": "assistant", "content": "a"}, {"role": "user", "content": "b"}], "no user message"),
        ([{"role": "user", "content": "a"}, {"role": "system", "content": "b"}], "must come first"),
        ([{"role": "user", "content": "a"}, {"role": "user", "content": "b"}], "both the user's"),
        ([{"role": "user", "content": None}, {"role": "assistant", "content": "a"}], "neither text"),
    ],
)
def test_what_stops_torchtune(messages: list[dict[str, Any]], words: str) -> None:
    one = inspected({"messages": messages})
    assert one.example is None and one.problem is not None and words in one.problem.sentence()


@pytest.mark.parametrize("content", [None, 0, False, {"a": 1}])
def test_a_content_that_is_no_text_repeats_the_one_before(content: Any) -> None:
    """torchtune 0.6.1, OpenAIToMessages: the name keeps what the message before was converted to."""
    rows = [
        {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": answer}]}
        for answer in (content, "a")
    ]
    odd, plain = map(inspected, rows)
    assert odd.example is not None and odd.example == plain.example
    assert any("repeats the previous message's content" in note for note in odd.notes) and not plain.notes


@pytest.mark.parametrize("answer", [["a", "b"], ["a"]])
def test_what_cannot_be_tokenized_stops_torchtune_where_it_is_reached(answer: list[str]) -> None:
    """Within max_seq_len torchtune comes to the answer; it leaves off after the message that reaches it."""
    row = {"instruction": "Say it.", "input": "", "output": answer}
    for limit, stops in ((None, True), (500, True), (10, False)):
        knobs: dict[str, Any] = {"length.max": limit, "data.format": "alpaca"}
        one = inspected(row, tokenizer="builtin:chatml", **knobs)
        assert (one.example is None) == stops, one.problem
        assert not stops or (one.problem is not None and "`output` is not text" in one.problem.sentence())


def test_a_tokenizer_that_is_not_modelled_is_said() -> None:
    with pytest.raises(RecipeError, match="gemma"):
        inspected(CHAT, render__template="torchtune/gemma")
    with pytest.raises(RecipeError, match="not with a chat template"):
        inspected(CHAT, render__template="builtin:chatml")


def test_a_system_message_is_trained_by_0_6_and_not_by_0_7() -> None:
    row = {"messages": [{"role": "system", "content": "Be brief"}, *CHAT["messages"]]}
    trained = [inspected(row, version, mask__rule="all").trained for version in ("0.6.1", "0.7")]
    assert trained[0] > trained[1]


@given(st.text(alphabet="ab \n", max_size=60))
def test_long_runs_are_cut_and_nothing_is_lost(text: str) -> None:
    whole = text + "x" * (LONGEST_RUN + 10) + text
    parts = _short_runs(whole)
    assert "".join(parts) == whole and len(parts) == 2


SPECIALS = {"messages": [{"role": "user", "content": "<a>x</a> <|fim_pad|>"}, {"role": "assistant", "content": "y"}]}


def test_special_tokens_are_torchtunes_own_unless_a_file_is_named(tmp_path: Path) -> None:
    def ids(**own: Any) -> tuple[int, ...]:
        one = inspected(SPECIALS, "0.6.1", "builtin:chatml", render__template="torchtune/qwen2_5", **own)
        assert one.tokens is not None, one.problem
        return one.tokens.input_ids

    own = ids()
    assert own[0] == 151644 and own.count(151645) == 2 and own.count(151662) == 1
    table = {"<|im_start|>": 7, "<|im_end|>": 8, "<|endoftext|>": 9, "<tool_call>": 3, "</tool_call>": 4, "<a>": 5}
    path = tmp_path / "special.json"
    path.write_text(json.dumps({"added_tokens": [{"content": text, "id": i} for text, i in table.items()]}))
    named = ids(own__special_tokens_path=str(path))
    assert named[0] == 7 and named.count(5) == 1 and 151662 not in named
    path.write_text('{"added_tokens": []}')
    with pytest.raises(RecipeError, match=r"looks for .*endoftext"):
        ids(own__special_tokens_path=str(path))


@pytest.mark.parametrize("content", ["not json", '{"added_tokens": [1]}', '{"added_tokens": {"a": 1}}', "[]"])
def test_a_special_tokens_path_that_is_none_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "special.json"
    path.write_text(content)
    with pytest.raises(RecipeError, match="special_tokens_path cannot be read"):
        inspected(CHAT, own__special_tokens_path=str(path))


def test_what_a_tokenizer_adds_beside_torchtunes_own_is_told() -> None:
    recipe = changed(preset("torchtune@0.6.1"), "render.template", "torchtune/qwen2")
    tokenizer = trainer_named("torchtune").tokenizer_of(load_tokenizer("builtin:llama3", mode="provisional"), recipe)
    added = [name for name, _ in load_tokenizer("builtin:llama3", mode="provisional").engine.added().values()]
    others = [name for name in added if name not in ("<|im_start|>", "<|im_end|>", "<|endoftext|>")]
    assert others and any(others[0] in note and "plain text" in note for note in tokenizer.facts.notes), (
        tokenizer.facts.notes
    )
    # Offsets are those of the text, special tokens and all.
    text = "é<|im_start|>a <|im_end|>"
    made = tokenizer.encode(text)
    assert [text[a:b] for a, b in zip(made.starts, made.ends)][-1] == "<|im_end|>"
    assert made.ids[-1] == 151645 and tokenizer.surface(151645) == b"<|im_end|>" and tokenizer.is_special(151645)


@pytest.mark.parametrize(
    ("instruction", "written"), [(None, "None"), (True, "True"), (2.5, "2.5"), (["a", "b"], "['a', 'b']"), ([], "[]")]
)
def test_an_alpaca_instruction_is_written_whatever_it_is(instruction: Any, written: str) -> None:
    row = {"instruction": instruction, "input": "", "output": "Yes."}
    one = inspected(row, "0.6.1", "builtin:chatml", data__format="alpaca")
    assert one.problem is None and one.rendered is not None
    assert f"### Instruction:\n{written}\n\n### Response:\n" in one.rendered.text


@pytest.mark.parametrize("role", ["assistant", "user", "bot"])
def test_sharegpt_knows_human_and_gpt_alone(role: str) -> None:
    turns = [{"from": "human", "value": "a"}, {"from": role, "value": "b"}, {"from": "gpt", "value": []}]
    one = inspected({"conversations": turns}, "0.6.1", "builtin:chatml")
    assert one.problem is not None and "does not support the role" in one.problem.what
    one = inspected({"conversations": [turns[0], turns[2]]}, "0.6.1", "builtin:chatml")
    assert one.problem is None and one.example is not None
