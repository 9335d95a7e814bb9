"""Whole rows of the made tokenizers under each version: its template, its text, its ids and its offsets.

Each is loaded by that version's own Python, as `--env` names it, and held against what the version gave when it was
asked directly (`record_versions.py`). Loading starts a Python or two, so only `LOADED` are by default;
`SFTUI_PARITY_ALL=1` takes every one.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import environments
import made_tokenizers
import pytest
import record_versions

from sftui.errors import TemplateError, TokenizerError
from sftui.templates import choose_template, compile_template, rendering_of
from sftui.tokens import LoadedTokenizer, load_tokenizer
from sftui.tokens.environments import environment_at

LOADED = (
    "llama-class-over-bytes-llama",
    "gpt2-class-over-split",
    "xlnet-class-alone",
    "bert-vocabulary",
    "flags-over-pieces",
    "flags-in-config",
    "additional-special",
    "extra-special",
    "named-token",
    "empty-token",
    "split-special",
    "template-in-both",
    "templates-named",
    "templates-in-both-folders",
)
pytestmark = pytest.mark.parity


def row(loaded: LoadedTokenizer, messages: list[dict[str, Any]], version: str) -> Any:
    """The rendered text of messages and its ids; None where the template refuses them."""
    try:
        name, source = choose_template(loaded.facts.chat_templates)
        template = compile_template(source, name, rendering=rendering_of(version))
        text = template.text(messages, variables=loaded.facts.special_tokens)[0]
    except TemplateError:
        return None
    return {"text": text, "ids": list(loaded.encode(text).ids)}


def spelled(loaded: LoadedTokenizer, text: str) -> Any:
    one, whole = loaded.encode(text), loaded.encode(text, True)
    return {
        "ids": list(one.ids),
        "with_special": list(whole.ids),
        "offsets": list(map(list, zip(one.starts, one.ends))),
    }


@pytest.mark.parametrize("version", environments.TRANSFORMERS)
def test_rows_with_an_environment_are_its_own(version: str, tmp_path: Path) -> None:
    python = record_versions.python_of(version)
    if not python.exists():
        pytest.skip(f"transformers {version} is not there: run tests/parity/environments.py transformers@{version}")
    named = environment_at(python.parent.parent, "--env")
    recorded = record_versions.recorded_tokenizers(version)
    asked = record_versions.texts()
    compared, refused, wrong = 0, 0, []
    for made in made_tokenizers.MADE:
        if made.name not in LOADED and not os.environ.get("SFTUI_PARITY_ALL"):
            continue
        theirs = recorded[made.name]
        try:
            loaded = load_tokenizer(str(made_tokenizers.folder(made.name)), environment=named, cache_dir=tmp_path)
        except TokenizerError as error:
            refused += 1
            if "error" not in theirs:
                wrong.append(f"{made.name} is loaded there, and here: {error}")
            continue
        if "error" in theirs:
            wrong.append(f"{made.name} is not loaded there: {theirs['error']} {theirs['message']}")
            continue
        for messages, one in zip(record_versions.CHATS, theirs["chats"], strict=True):
            compared += 1
            mine = row(loaded, messages, version)
            if mine != (None if "error" in one else one):
                wrong.append(f"{made.name}, {messages!r}: {one!r} there, {mine!r} here")
        for text, one in zip(asked, theirs["texts"], strict=True):
            compared += 1
            ours = spelled(loaded, text)
            if any(ours[key] != value for key, value in one.items()):
                wrong.append(f"{made.name}, {text!r}: {one!r} there, {ours!r} here")
    print(f"transformers {version}: {compared:,} texts and rows compared, {refused} refused, {len(wrong)} differing")
    assert compared and not wrong, "\n".join(wrong[:40])
