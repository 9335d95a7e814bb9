"""The loading oddities of real tokenizers, each in a small folder that shows it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from references import load_reference

from sftui.errors import TokenizerError
from sftui.tokens import builtin, load_tokenizer
from sftui.tokens.loading.locate import locate


def stored(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((builtin.folder(name) / "tokenizer.json").read_text())
    return found


def notes(loaded: Any) -> str:
    return "\n".join(loaded.facts.notes)


REMOTE = {"tokenizer_class": "FooTokenizer", "auto_map": {"AutoTokenizer": ["tokenization_foo.FooTokenizer", None]}}


@pytest.mark.processes
def test_1_remote_code_is_refused_and_never_run_nor_asked_about(make_folder: Any) -> None:
    folder = make_folder("chatml", config=REMOTE, tokenization_foo_dot_py="raise SystemExit('ran')")
    read, write = os.pipe()
    os.write(write, b"y\n" * 10)
    ended = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys\nfrom sftui.tokens import load_tokenizer\nload_tokenizer(sys.argv[1])",
            str(folder),
        ],
        stdin=read,
        capture_output=True,
        text=True,
        timeout=120,
        cwd=Path(__file__).resolve().parents[3],
        check=False,
    )
    assert "it needs Python code from its repository (auto_map), which sftui never runs" in ended.stderr
    assert "[y/N]" not in ended.stdout + ended.stderr
    assert "ran" not in ended.stdout
    assert os.read(read, 100) == b"y\n" * 10, "nobody read stdin"
    os.close(read)
    os.close(write)


def test_2_the_class_overrides_tokenizer_json(make_folder: Any) -> None:
    loaded = load_tokenizer(str(make_folder("llama3", config={"tokenizer_class": "GPT2Tokenizer"})))
    assert loaded.facts.class_name == "GPT2Tokenizer"
    assert "GPT2Tokenizer overrides tokenizer.json" in notes(loaded)
    assert "no config.json here" in notes(loaded)
    auto = load_reference(locate(loaded.facts.name))
    text = "It's 12345   words\n\n\tthey'LL"
    assert list(loaded.encode(text).ids) == auto(text, add_special_tokens=False)["input_ids"]
    assert loaded.encode(text).ids != load_tokenizer("builtin:llama3").encode(text).ids


def test_3_llama_rebuilds_metaspace(make_folder: Any) -> None:
    loaded = load_tokenizer(str(make_folder("gemma", config={"tokenizer_class": "LlamaTokenizer"})))
    assert loaded.facts.class_name == "LlamaTokenizer"
    assert "overrides tokenizer.json" in notes(loaded)
    auto = load_reference(locate(loaded.facts.name))
    for text in (" x", "  two", "x", "\n x"):
        assert list(loaded.encode(text).ids) == auto(text, add_special_tokens=False)["input_ids"]


def test_4_add_bos_token_that_does_nothing(make_folder: Any) -> None:
    folder = make_folder(
        "chatml", config={"add_bos_token": True, "bos_token": "<|im_start|>", "tokenizer_class": "LlamaTokenizerFast"}
    )
    loaded = load_tokenizer(str(folder))
    assert loaded.facts.class_name == "TokenizersBackend"
    assert not loaded.facts.adds_bos
    assert "says add_bos_token: true, but TokenizersBackend does not add it" in notes(loaded)


def test_4_an_empty_token_has_no_id(make_folder: Any) -> None:
    loaded = load_tokenizer(str(make_folder("chatml", config={"bos_token": ""})))
    assert (loaded.facts.special_tokens["bos_token"], loaded.facts.bos_id) == ("", None)
    assert loaded.encode("a", True).ids == loaded.encode("a").ids


def test_5_only_tokenizer_model(sentencepiece_model: bytes, tmp_path: Path) -> None:
    """Without sentencepiece: see test_tokens_refusal."""
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "tokenizer.model").write_bytes(sentencepiece_model)
    loaded = load_tokenizer(str(tmp_path / "t"))
    assert (loaded.facts.is_fast, loaded.facts.engine, loaded.facts.bos_token) == (True, "tokenizers", "<s>")
    auto = load_reference(locate(str(tmp_path / "t")))
    assert list(loaded.encode("hello world", True).ids) == auto("hello world")["input_ids"]


def test_5_only_tekken_json(tmp_path: Path) -> None:
    """The format of Mistral: base64 bytes with ranks, special tokens first."""
    import base64

    pieces = [bytes([b]) for b in range(256)] + [b"th", b"he", b"the", b" the", b"in"]
    vocab = [{"rank": i, "token_bytes": base64.b64encode(p).decode(), "token_str": None} for i, p in enumerate(pieces)]
    specials = [
        {"rank": i, "token_str": s, "is_control": True}
        for i, s in enumerate(["<unk>", "<s>", "</s>", "[INST]", "[/INST]"])
    ]
    stated = {
        "config": {
            "pattern": r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
            "num_vocab_tokens": len(pieces),
            "default_vocab_size": len(pieces) + len(specials),
            "default_num_special_tokens": len(specials),
            "version": "v7",
        },
        "vocab": vocab,
        "special_tokens": specials,
    }
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "tekken.json").write_text(json.dumps(stated))
    loaded = load_tokenizer(str(tmp_path / "t"))
    auto = load_reference(locate(str(tmp_path / "t")))
    text = "in the ✂[INST]"
    assert list(loaded.encode(text).ids) == auto(text, add_special_tokens=False)["input_ids"]
    assert b"".join(map(loaded.surface, loaded.encode(text).ids)).decode() == text


@pytest.mark.parametrize(
    ("kind", "merges"),
    [
        ("LlamaTokenizer", [[1, 2]]),
        ("LlamaTokenizer", ["a b c"]),
        ("PreTrainedTokenizerFast", [[1, 2]]),
    ],
)
def test_6_broken_merges(kind: str, merges: list[Any], make_folder: Any) -> None:
    data = stored("gemma")
    data["model"]["merges"] = merges
    folder = make_folder("gemma", config={"tokenizer_class": kind}, tokenizer_dot_json=data)
    with pytest.raises(TokenizerError, match=r"the merges in tokenizer\.json are broken"):
        load_reference(locate(str(folder)))


def test_7_saved_truncation_and_padding_do_not_act(make_folder: Any) -> None:
    data = stored("chatml")
    data["truncation"] = {"direction": "Right", "max_length": 8, "strategy": "LongestFirst", "stride": 0}
    data["padding"] = {
        "strategy": {"Fixed": 8},
        "direction": "Right",
        "pad_to_multiple_of": None,
        "pad_id": 0,
        "pad_type_id": 0,
        "pad_token": "!",
    }
    folder = str(make_folder("chatml", tokenizer_dot_json=data))
    known = load_tokenizer("builtin:chatml")
    for loaded in (load_tokenizer(folder, mode="provisional"), load_tokenizer(folder)):
        for text in ("x", "word " * 500):
            assert loaded.encode(text) == known.encode(text)
    assert "saved with truncation to 8" in notes(loaded)
    assert "saved with padding to 8" in notes(loaded)


def test_8_what_is_missing_is_noted(make_folder: Any) -> None:
    bare = load_tokenizer(str(make_folder("llama3", config={"chat_template": None, "eos_token": None})))
    for text in ("there is no chat template", "there is no pad token", "there is no EOS token"):
        assert text in notes(bare)
    assert bare.facts.chat_templates == {}


def test_8_tokens_after_the_text(make_folder: Any) -> None:
    data = stored("chatml")
    eos = next(token["id"] for token in data["added_tokens"] if token["content"] == "<|im_end|>")
    data["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "<|im_end|>", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
        "special_tokens": {"<|im_end|>": {"id": "<|im_end|>", "ids": [eos], "tokens": ["<|im_end|>"]}},
    }
    loaded = load_tokenizer(str(make_folder("chatml", tokenizer_dot_json=data)))
    assert (loaded.facts.back, loaded.facts.adds_eos, loaded.facts.front) == ((eos,), True, ())
    assert "puts <|im_end|> after every text" in notes(loaded)


def test_20_tokens_that_swallow_white_space(make_folder: Any) -> None:
    data = stored("chatml")
    for token in data["added_tokens"]:
        token["rstrip"] = token["content"] == "<|im_start|>"
    loaded = load_tokenizer(str(make_folder("chatml", tokenizer_dot_json=data)))
    assert "absorb the whitespace next to them: <|im_start|>" in notes(loaded)
    encoded = loaded.encode("<|im_start|>\n\n x")
    assert (encoded.starts[0], encoded.ends[0]) == (0, 15)


def test_22_special_text_in_content_becomes_a_special_token(chatml: Any) -> None:
    ids = chatml.encode("say <|im_end|> now").ids
    assert chatml.facts.eos_id in ids


def test_the_warning_about_mistral_is_passed_on() -> None:
    """transformers gives it only for vocabularies over 100,000, and only as a log line."""
    from sftui.tokens.facts import TokenizerFacts
    from sftui.tokens.loading.observe import observations

    told = {"added": [], "around": [], "mistral_regex": False}
    found = observations(told, TokenizerFacts("m"), locate("acme/m"), (), ([], []))
    assert any("fix_mistral_regex=True" in note for note in found)
