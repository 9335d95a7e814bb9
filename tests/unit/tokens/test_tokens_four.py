"""What transformers 4 makes of a folder, redone without it, and what a proof tells of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sftui.tokens import builtin, load_tokenizer
from sftui.tokens.loading import four
from sftui.tokens.loading.locate import locate
from sftui.tokens.loading.releases import is_redone, may_differ

OLD = "4.57.6"


def folder(path: Path, kind: str | None = None, of: str = "llama3", **more: Any) -> Path:
    """A built-in tokenizer's files under another class, with other keys in the config (None takes one away)."""
    path.mkdir()
    (path / "tokenizer.json").write_bytes((builtin.folder(of) / "tokenizer.json").read_bytes())
    config = json.loads((builtin.folder(of) / "tokenizer_config.json").read_text()) | {"tokenizer_class": kind, **more}
    kept = {key: value for key, value in config.items() if value is not None}
    (path / "tokenizer_config.json").write_text(json.dumps(kept))
    return path


def redone(path: Path) -> dict[str, Any] | None:
    found = four.redone(locate(str(path)))
    return None if found is None else json.loads(found.backend.to_str())


def test_a_class_that_does_nothing_takes_the_file_as_it_is(tmp_path: Path) -> None:
    path = folder(tmp_path / "t", "PreTrainedTokenizerFast")
    found, file = redone(path), json.loads((path / "tokenizer.json").read_text())
    assert found is not None
    assert {key: found[key] for key in ("model", "pre_tokenizer")} == {
        key: file[key] for key in ("model", "pre_tokenizer")
    }


def test_llama_sets_what_is_put_around_a_text(tmp_path: Path) -> None:
    bare = redone(folder(tmp_path / "a", "LlamaTokenizer", add_bos_token=False))
    ends = redone(folder(tmp_path / "b", "LlamaTokenizerFast", add_bos_token=True, add_eos_token=True))
    assert bare is not None and ends is not None
    assert bare["post_processor"]["special_tokens"] == {} and len(ends["post_processor"]["special_tokens"]) == 2


def test_added_tokens_of_the_config_have_its_flags(tmp_path: Path) -> None:
    flags = {"lstrip": True, "rstrip": True, "normalized": False, "single_word": False, "special": False}
    decoder = {"900": {"content": "<new>", **flags}}
    found = redone(folder(tmp_path / "t", "PreTrainedTokenizerFast", added_tokens_decoder=decoder))
    assert found is not None
    (new,) = [one for one in found["added_tokens"] if one["content"] == "<new>"]
    assert {key: new[key] for key in flags} == flags


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("NobodysTokenizer", {}),
        ("LlamaTokenizerFast", {"add_prefix_space": False}),  # it would convert a model that is not there
        ("PreTrainedTokenizerFast", {"extra_special_tokens": ["<a>"]}),  # a list is refused by transformers 4
        ("PreTrainedTokenizerFast", {"auto_map": {"AutoTokenizer": ["a.B", None]}}),
    ],
)
def test_what_transformers_4_refuses_or_nobody_read_is_not_known(
    tmp_path: Path, kind: str, more: dict[str, Any]
) -> None:
    assert redone(folder(tmp_path / "t", kind, **more)) is None


def test_a_default_token_that_the_vocabulary_lacks_is_added(tmp_path: Path) -> None:
    found = redone(folder(tmp_path / "t", "LlamaTokenizerFast", bos_token=None))
    assert found is not None and "<s>" in {one["content"] for one in found["added_tokens"]}


def test_a_proof_tells_whether_transformers_4_makes_other_ids(tmp_path: Path) -> None:
    same = folder(tmp_path / "same", "PreTrainedTokenizerFast")
    other = folder(tmp_path / "other", "GPT2Tokenizer")  # 5 rebuilds it with GPT-2's split, 4 keeps the file's
    for path, differ in ((same, False), (other, True)):
        facts = load_tokenizer(str(path)).facts
        told = may_differ(locate(str(path)), OLD, facts.transformers, facts.elsewhere)
        assert (told is not None) is differ, (path.name, facts.elsewhere)
        assert bool(facts.elsewhere[OLD]) is differ
    assert told is not None and told.startswith(f"{OLD} gives different ids for ")


def test_only_the_minor_version_that_was_read_counts() -> None:
    assert is_redone("4.57.1") and not is_redone("4.50.0") and not is_redone("5.6.0")
