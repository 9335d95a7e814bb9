"""What a tokenizer leaves out of a text is looked for in letters, numbers, punctuation and symbols alone."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from sftui.findings.rules.tokenizer import _written


@given(st.text(st.characters() | st.sampled_from("aé\u0301\ufffd\u200d\x00 \n\u3000ﬁ北🙂")))
def test_only_what_normalizers_keep_counts(text: str) -> None:
    plain = unicodedata.normalize("NFKD", text).casefold()
    kept = [char for char in plain if unicodedata.category(char)[0] in ("L", "N", "P", "S") and char != "\ufffd"]
    assert _written(text) == "".join(kept)


def test_white_space_and_marks_are_left_out() -> None:
    assert _written("E\u0301t\u00e9, ﬁn\ufffd 1\n\x00") == "ete,fin1"
