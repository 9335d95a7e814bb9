"""`token:` takes what the screen shows of a token."""

from __future__ import annotations

import pytest

from sftui.tokens import load_tokenizer
from sftui.workspace.search import _token_id


def test_a_token_is_found_as_it_is_shown() -> None:
    tokenizer = load_tokenizer("builtin:chatml")
    (wanted,) = tokenizer.encode(" and").ids
    assert _token_id(tokenizer, "␣and") == _token_id(tokenizer, " and") == wanted
    assert _token_id(tokenizer, "⏎") == tokenizer.encode("\n").ids[0]
    assert _token_id(tokenizer, "<|im_end|>") == tokenizer.token_id("<|im_end|>")
    with pytest.raises(ValueError, match="not a single token"):
        _token_id(tokenizer, "␣no␣single token")
