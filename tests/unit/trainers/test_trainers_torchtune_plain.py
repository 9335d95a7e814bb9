"""Texts of torchtune's rows that hold no special token, and messages that are plain text, take a short way: what comes
out is what the long one gives."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

from sftui.conversations import Detection
from sftui.errors import ConversationError
from sftui.model import Message, Part, Piece, Row
from sftui.runs import Flat, flat
from sftui.tokens.encode import _each, _joined_pieces
from sftui.tokens.loaded import FastEngine
from sftui.trainers.torchtune import messages as message_rules
from sftui.trainers.torchtune.special import BUILT_IN, OwnSpecials

TABLES: Sequence[Mapping[str, int]] = (BUILT_IN["llama3"], BUILT_IN["qwen2_5"], {"<a>": 1, "b": 2}, {"<a>": 1}, {})
PARTS = st.sampled_from(
    ["<|", "|>", "<|eot_id|>", "<|im_end|>", "<tool_call>", "<a>", "b", "<", " ", "eot_id", "x\n", ""]
)
TEXTS = st.lists(PARTS, max_size=6).map("".join)


def bytes_engine() -> FastEngine:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = Tokenizer(models.BPE({char: number for number, char in enumerate(alphabet)}, []))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.decoder = decoders.ByteLevel()
    made.post_processor = processors.TemplateProcessing(single="! $A", special_tokens=[("!", 0)])  # asked for by none
    return FastEngine(made)


ENGINE = bytes_engine()


def ids_by_the_pattern(text: str, table: Mapping[str, int]) -> Flat:
    longest_first = sorted(table, key=len, reverse=True)
    parts = re.split("(" + "|".join(map(re.escape, longest_first)) + ")", text) if table else [text]
    found: list[int] = []
    for at, part in enumerate(parts):
        found += (table[part],) if at % 2 else ENGINE.ids_batch([part], False)[0]
    return flat(found)


@pytest.mark.parametrize("table", TABLES, ids=len)
@given(texts=st.lists(TEXTS, max_size=4))
def test_special_tokens_are_found_as_by_their_pattern(table: Mapping[str, int], texts: list[str]) -> None:
    own = OwnSpecials(ENGINE, table)
    assert own.ids_batch(texts, False) == [ids_by_the_pattern(text, table) for text in texts]
    placed = own.encode_many(texts, False)
    assert [one.ids for one in placed] == own.ids_batch(texts, False)
    for text, one in zip(texts, placed):
        assert "".join(text[start:end] for start, end in zip(one.starts, one.ends)) == text
        assert own.may_hold(text) or not any(name in text for name in table)
        assert own.plain(text) == (tuple(ENGINE.ids_batch([text], False)[0]) if any(map(text.count, table)) else None)


VALUES: st.SearchStrategy[Any] = TEXTS | st.none() | st.integers() | st.just([{"type": "text", "text": "a"}])
TURNS = st.lists(
    st.dictionaries(st.sampled_from(["role", "content", "name"]), VALUES, max_size=3)
    | st.tuples(st.sampled_from(["user", "assistant", "system"]), VALUES).map(
        lambda two: dict(zip(("role", "content"), two))
    ),
    max_size=4,
)


@given(turns=TURNS)
def test_messages_are_those_of_the_long_way(turns: list[Any]) -> None:
    def said(roles: Mapping[str, str]) -> Any:
        detected = Detection("messages", {"messages": "messages"}, {}, roles)
        try:
            return message_rules.convert(Row(0, {"messages": turns}, "", "row 0"), detected, None)
        except ConversationError as error:
            return str(error)

    assert said({}) == said({"nobody": "nobody"})  # a map of roles, whatever it says, is asked for each message


class Spelling:
    """A tokenizer of which a text's ids are its characters, behind a 0 where special tokens are put around it."""

    def ids_batch(self, texts: Sequence[str], special: bool = False) -> list[Flat]:
        return [flat((*(0,) * special, *map(ord, text))) for text in texts]


PIECES = st.lists(
    st.builds(
        Piece,
        st.text("ab", max_size=2),
        st.integers(-1, 2),
        st.just(Part.CONTENT),
        add_special_tokens=st.booleans(),
        ids=st.none() | st.lists(st.integers(1, 9), max_size=2).map(tuple),
        before=st.sampled_from(["", "ab"]),
        cut=st.integers(0, 3),
    ),
    max_size=6,
)


@given(pieces=PIECES)
def test_pieces_are_joined_as_they_are_encoded_one_by_one(pieces: list[Piece]) -> None:
    tokenizer: Any = Spelling()
    each = [
        None if one.ids is not None else tokenizer.ids_batch([one.before + one.text], one.add_special_tokens)[0]
        for one in pieces
    ]
    assert _each(pieces, tokenizer.ids_batch) == each
    parts = [(one.ids or ()) if made is None else made[one.cut :] for one, made in zip(pieces, each)]
    ids, _, _, messages, _ = _joined_pieces(pieces, tokenizer)
    assert tuple(ids) == tuple(token for part in parts for token in part)
    assert tuple(messages) == tuple(one.message for one, part in zip(pieces, parts) for _ in part)


def test_a_message_is_marked_by_its_role() -> None:
    roles = ["system", "user", "assistant"]
    messages = [Message({"role": role, "content": "a"}) for role in roles]
    found = message_rules.flagged(messages, roles, "assistant", mask_system=True)
    assert [one.trained for one in found] == [False, False, True]
