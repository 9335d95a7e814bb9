"""The built-in tokenizers: as AutoTokenizer loads them, small, and made again the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import builtin_corpus as corpus
import builtin_train as train
import pytest
from references import load_reference

from sftui.errors import TokenizerError
from sftui.tokens import builtin, load_tokenizer
from sftui.tokens.facts import from_json
from sftui.tokens.loaded import FastEngine
from sftui.tokens.loading.compare import count_differences, wanted
from sftui.tokens.loading.given import InProcessTokenizer
from sftui.tokens.loading.locate import Location
from sftui.tokens.loading.probes import probe_strings

MESSAGES = [
    {"role": "user", "content": "  What is 2+2?\n"},
    {"role": "assistant", "content": "\n4 ✂️ "},
    {"role": "user", "content": "Sure?"},
    {"role": "assistant", "content": "Yes."},
]


def reference(name: str) -> Any:
    folder = builtin.folder(name)
    return load_reference(Location(builtin.PREFIX + name, "folder", str(folder), folder))


@pytest.mark.parametrize("name", builtin.NAMES)
def test_facts_and_ids_are_those_of_autotokenizer(name: str) -> None:
    loaded = load_tokenizer("builtin:" + name)
    auto = reference(name)
    assert loaded.facts == train.facts_of(name, builtin.folder(name))
    assert loaded.facts.state == "proven"
    probes = probe_strings(loaded.facts.special_tokens.values())
    assert isinstance(loaded.engine, FastEngine)
    assert count_differences(wanted(InProcessTokenizer(auto), probes), loaded.engine.backend, probes) == 0


@pytest.mark.parametrize(
    ("name", "bos", "eos", "pad", "front"),
    [
        ("chatml", None, "<|im_end|>", "<|endoftext|>", 0),
        ("gemma", "<bos>", "<eos>", "<pad>", 1),
        ("llama3", "<|begin_of_text|>", "<|eot_id|>", None, 1),
    ],
)
def test_family_behaviour(name: str, bos: str | None, eos: str, pad: str | None, front: int) -> None:
    facts = load_tokenizer("builtin:" + name).facts
    assert (facts.bos_token, facts.eos_token, facts.pad_token) == (bos, eos, pad)
    assert (len(facts.front), facts.back, facts.adds_bos, facts.adds_eos) == (front, (), bool(front), False)
    assert 2000 <= facts.vocab_size <= 4000
    assert from_json(json.loads(json.dumps(facts.to_json()))) == facts


@pytest.mark.parametrize("name", builtin.NAMES)
def test_training_again_gives_the_same_files(name: str, tmp_path: Path) -> None:
    train.write(name, tmp_path / name)
    for path in sorted((tmp_path / name).iterdir()):
        shipped = builtin.folder(name) / path.name
        assert shipped.read_bytes() == path.read_bytes(), f"run python tests/unit/tokens/builtin_train.py ({path.name})"
        assert shipped.stat().st_size < 200_000


def test_corpus_is_what_it_was() -> None:
    text = "\n".join(corpus.lines())
    assert text == "\n".join(corpus.lines())
    assert 50_000 < len(text.encode()) < 200_000


@pytest.mark.shared
@pytest.mark.parametrize(("name", "published"), [("gemma", "trl_gemma.jinja"), ("llama3", "trl_llama3.jinja")])
def test_templates_render_what_the_family_publishes(name: str, published: str, shared: Path) -> None:
    auto = reference(name)
    theirs = (shared / "testdata" / "templates" / published).read_text()
    for upto in range(1, len(MESSAGES) + 1):
        for generation in (False, True):
            ours = auto.apply_chat_template(MESSAGES[:upto], tokenize=False, add_generation_prompt=generation)
            assert ours == auto.apply_chat_template(
                MESSAGES[:upto], chat_template=theirs, tokenize=False, add_generation_prompt=generation
            )
    system = [{"role": "system", "content": "Be brief."}, *MESSAGES]
    if name == "llama3":
        assert auto.apply_chat_template(system, tokenize=False) == auto.apply_chat_template(
            system, chat_template=theirs, tokenize=False
        )
    else:
        with pytest.raises(Exception, match="System role not supported"):
            auto.apply_chat_template(system, tokenize=False)


def test_chatml_renders_plain_chatml() -> None:
    text = reference("chatml").apply_chat_template(MESSAGES[:2], tokenize=False, add_generation_prompt=True)
    assert text == (
        "<|im_start|>user\n  What is 2+2?\n<|im_end|>\n<|im_start|>assistant\n\n4 ✂️ <|im_end|>\n<|im_start|>assistant\n"
    )


def test_unknown_builtin_names_the_known() -> None:
    with pytest.raises(TokenizerError, match="builtin:chatml, builtin:gemma, builtin:llama3"):
        load_tokenizer("builtin:gpt5")
