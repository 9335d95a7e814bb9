"""A version newer than the rules known follows the newest of them, and every row says so."""

from __future__ import annotations

import pytest
from golden_records import inspect

from sftui import pipeline
from sftui.tokens import load_tokenizer
from sftui.trainers import preset


@pytest.mark.parametrize("name", ["trl@1.30", "axolotl@0.25", "unsloth@2027.1", "torchtune@0.9"])
def test_an_unknown_newer_version_says_so(name: str) -> None:
    recipe = preset(name)
    rows = [{"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yo"}]}]
    (one,) = inspect(rows, recipe, pipeline.make_toolbox(recipe, load_tokenizer("builtin:chatml")))
    assert one.problem is None and any("is newer than the rules that sftui has" in note for note in one.notes)
