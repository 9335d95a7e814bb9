"""Tokenizers made for parity between versions of transformers: `python made_tokenizers.py [FOLDER]` writes them all.

Each is a folder as a model repository has it, over a small vocabulary learnt here from the corpus of sftui's built-in
tokenizers: what differs from one to the next is what loaders go by, the class that is named, the model type of
config.json, which files there are and the flags of the tokens. They stand under `$SFTUI_PARITY_HOME/tokenizers`,
are written once, and again where this file changes.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from case import home
from places import made_once

WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
    r"\s+(?!\S)|\s+"
)
"""The split of GPT-4, which phi-4 keeps in its tokenizer.json under the class GPT2Tokenizer."""
CASED = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|"
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""A split at changes of case, as tekken has it."""
CHINESE = "[一-龥぀-ゟ゠-ヿ]+"

TEMPLATE = (
    "{{ bos_token or '' }}{% for message in messages %}[{{ message.role }}] {{ message.content }}"
    "{{ eos_token or '' }}\n{% endfor %}{% if add_generation_prompt %}[assistant] {% endif %}"
)
MARKS = ("<|begin|>", "<|end|>", "<|pad|>", "<|turn|>")
PIECES = ("<unk>", "<s>", "</s>", "<pad>", "<sep>", "<cls>", "<mask>", "<eod>", "<eop>")


@dataclass(frozen=True)
class Made:
    """One tokenizer: its backend (a function of this module), what its configs say, and which files it has.

    `config` goes into tokenizer_config.json over the tokens that the backend has (a key that is None is left out), and
    None is a folder without that file; `model_type` into config.json, which is absent without it. `files` of
    `tokenizer.json`, `tokenizer.model`, `spiece.model`, `vocab.json` (with merges.txt) and `vocab.txt` says which are
    written. `added` are further added tokens of tokenizer.json, with their flags.
    """

    name: str
    backend: str
    config: Mapping[str, Any] | None = field(default_factory=dict)
    model_type: str | None = None
    files: tuple[str, ...] = ("tokenizer.json",)
    added: tuple[Mapping[str, Any], ...] = ()
    more: Mapping[str, str] = field(default_factory=dict)


def _flagged(text: str, **flags: bool) -> dict[str, Any]:
    return {"content": text, "lstrip": False, "rstrip": False, "normalized": False, "single_word": False, **flags}


FLAGS = (
    _flagged("<left>", lstrip=True),
    _flagged("<right>", rstrip=True),
    _flagged("<Both>", lstrip=True, rstrip=True, normalized=True),
    _flagged("café", normalized=True),
    _flagged("word", single_word=True),
    _flagged("<tool>", special=True, lstrip=True),
)
"""Added tokens of each flag; all but the last are no special tokens."""
DECODER = {
    "added_tokens_decoder": {str(900_000 + number): {"special": False, **token} for number, token in enumerate(FLAGS)}
}
NAMED = {"tokenizer_class": "LlamaTokenizerFast"}
OWN_IDS = {
    str(1500 + number): {**_flagged(token), "special": number != 3}
    for number, token in enumerate(("<|begin|>", "<|end|>", "<|pad|>", "<|turn|>"))
}
"""The added tokens as tokenizer.json has them, but for one that is no special token here."""


def _class(name: str, **more: Any) -> dict[str, Any]:
    return {"tokenizer_class": name, **more}


MADE = (
    # LlamaTokenizerFast over a byte-level tokenizer.json, as DeepSeek-V3 is published
    Made("llama-class-over-bytes", "deepseek", NAMED),
    Made("llama-class-over-bytes-deepseek", "deepseek", NAMED, "deepseek_v3"),
    Made("llama-class-over-bytes-llama", "deepseek", {**NAMED, "legacy": True}, "llama"),
    Made("llama-class-over-bytes-legacy", "deepseek", {**NAMED, "legacy": False, "add_bos_token": True}),
    Made("llama-class-over-words", "worded", {**NAMED, "add_bos_token": True, "add_eos_token": False}, "qwen2"),
    # GPT-2's class with a split of its own, as phi-4 is published
    Made("gpt2-class-over-split", "worded", _class("GPT2Tokenizer")),
    Made("gpt2-class-over-split-phi3", "worded", _class("GPT2Tokenizer"), "phi3"),
    Made("gpt2-class-over-split-gpt2", "worded", _class("GPT2TokenizerFast"), "gpt2"),
    Made("gpt2-class-prefix-space", "byte_level", _class("GPT2Tokenizer", add_prefix_space=True)),
    Made("gpt2-class-prefix-space-gpt2", "byte_level", _class("GPT2TokenizerFast", add_prefix_space=True), "gpt2"),
    Made("gpt2-files-only", "byte_level", _class("GPT2Tokenizer"), "gpt2", ("vocab.json",)),
    Made("gpt2-both", "worded", _class("GPT2Tokenizer", add_bos_token=True), "gpt2", ("tokenizer.json", "vocab.json")),
    Made("roberta", "byte_level", _class("RobertaTokenizerFast", add_prefix_space=True), "roberta"),
    Made("qwen2", "qwen", _class("Qwen2Tokenizer"), "qwen2"),
    Made("qwen2-files-only", "qwen", _class("Qwen2Tokenizer"), "qwen2", ("vocab.json",)),
    Made("qwen2-class-over-case", "cased", _class("Qwen2TokenizerFast"), "qwen3"),
    Made("cohere", "cohere", _class("CohereTokenizerFast", add_bos_token=True, add_eos_token=False), "cohere"),
    Made("cohere-over-split", "worded", _class("CohereTokenizer")),
    Made("cohere-prefix-space", "cohere", _class("CohereTokenizerFast", add_prefix_space=True), "cohere2"),
    Made("bloom", "worded", _class("BloomTokenizerFast", add_prefix_space=False), "bloom"),
    Made("neox", "byte_level", _class("GPTNeoXTokenizerFast", add_prefix_space=False), "gpt_neox"),
    # the classes that take tokenizer.json as it is
    Made("plain-fast", "worded", _class("PreTrainedTokenizerFast")),
    Made("plain-fast-llama", "llama3", _class("PreTrainedTokenizerFast"), "llama"),
    Made("plain-fast-deepseek", "deepseek", _class("PreTrainedTokenizerFast"), "deepseek_v3"),
    Made("tokenizers-backend", "cased", _class("TokenizersBackend")),
    Made("tokenizers-backend-mistral", "cased", _class("TokenizersBackend"), "mistral"),
    Made("unknown-class", "worded", _class("MyOwnTokenizer"), "llama"),
    Made("no-class", "worded", {}, "qwen2"),
    Made("no-class-over-bytes", "deepseek", {}, "llama"),
    Made("no-tokenizer-config", "worded", None, "qwen2"),
    Made("words", "word_level", _class("PreTrainedTokenizerFast")),
    # sentencepiece, as tokenizer.json, as its model alone, and as both
    Made("llama-json", "prepended", _class("LlamaTokenizerFast", legacy=True), "llama"),
    Made("llama-json-slow-class", "prepended", _class("LlamaTokenizer"), "llama"),
    Made("llama-json-new", "metaspace", _class("LlamaTokenizerFast", legacy=False), "llama"),
    Made("llama-json-no-space", "metaspace", _class("LlamaTokenizerFast", legacy=False, add_prefix_space=False)),
    Made("llama-json-eos", "prepended", _class("LlamaTokenizerFast", add_bos_token=False, add_eos_token=True)),
    Made("llama-model-legacy", "pieces", _class("LlamaTokenizer", legacy=True), "llama", ("tokenizer.model",)),
    Made("llama-model-new", "pieces", _class("LlamaTokenizer", legacy=False), "llama", ("tokenizer.model",)),
    Made("llama-model-alone", "pieces", _class("LlamaTokenizer"), None, ("tokenizer.model",)),
    Made("llama-model-fast-class", "pieces", _class("LlamaTokenizerFast"), "mistral", ("tokenizer.model",)),
    Made("codellama", "prepended", _class("CodeLlamaTokenizer"), "llama"),
    Made("gemma", "gemma", _class("GemmaTokenizerFast", add_bos_token=True), "gemma"),
    Made("gemma-class-alone", "gemma", _class("GemmaTokenizer")),
    Made("gemma-model", "pieces", _class("GemmaTokenizer", add_bos_token=True), "gemma2", ("tokenizer.model",)),
    Made("t5", "unigram", _class("T5TokenizerFast", extra_ids=0), "t5"),
    Made("t5-extra", "unigram", _class("T5Tokenizer", extra_ids=4), "t5"),
    Made("t5-model", "unigram_pieces", _class("T5Tokenizer", extra_ids=0, legacy=False), "t5", ("spiece.model",)),
    Made("t5-model-legacy", "unigram_pieces", _class("T5Tokenizer", extra_ids=0), "t5", ("spiece.model",)),
    Made("xlnet", "unigram", _class("XLNetTokenizerFast"), "xlnet"),
    Made("xlnet-class-alone", "unigram", _class("XLNetTokenizer", do_lower_case=True)),
    Made("xlnet-model", "unigram_pieces", _class("XLNetTokenizer"), "xlnet", ("spiece.model",)),
    Made("albert", "unigram", _class("AlbertTokenizerFast"), "albert"),
    Made("xlm-roberta", "unigram", _class("XLMRobertaTokenizerFast"), "xlm-roberta"),
    # word pieces
    Made("bert", "word_piece", _class("BertTokenizerFast", do_lower_case=True), "bert"),
    Made("bert-cased-flag", "word_piece", _class("BertTokenizer", do_lower_case=False), "bert"),
    Made("bert-vocabulary", "word_piece", _class("BertTokenizer", do_lower_case=False), "bert", ("vocab.txt",)),
    Made("distilbert", "word_piece", _class("DistilBertTokenizerFast", strip_accents=False), "distilbert"),
    # added tokens of each flag, in either file, and special tokens of other names
    Made("flags-over-split", "worded", _class("PreTrainedTokenizerFast"), None, added=FLAGS),
    Made("flags-over-gpt2", "worded", _class("GPT2Tokenizer"), "gpt2", added=FLAGS),
    Made("flags-over-pieces", "prepended", _class("LlamaTokenizerFast", legacy=True), "llama", added=FLAGS),
    Made("flags-over-word-pieces", "word_piece", _class("BertTokenizerFast", do_lower_case=True), "bert", added=FLAGS),
    Made("flags-in-config", "worded", _class("PreTrainedTokenizerFast", **DECODER)),
    Made("flags-in-config-qwen", "qwen", _class("Qwen2Tokenizer", **DECODER), "qwen2"),
    Made("additional-special", "worded", _class("PreTrainedTokenizerFast", additional_special_tokens=["<|turn|>"])),
    Made("extra-special", "worded", _class("PreTrainedTokenizerFast", extra_special_tokens={"turn_token": "<|turn|>"})),
    Made("extra-special-list", "worded", _class("PreTrainedTokenizerFast", extra_special_tokens=["<|turn|>"])),
    Made("named-token", "worded", _class("Qwen2Tokenizer", image_token="<|turn|>"), "qwen2"),
    Made("empty-token", "worded", _class("PreTrainedTokenizerFast", bos_token="", unk_token=None)),
    Made("split-special", "worded", _class("PreTrainedTokenizerFast", split_special_tokens=True)),
    Made("clean-up", "worded", _class("PreTrainedTokenizerFast", clean_up_tokenization_spaces=True)),
    # where the chat template stands
    Made(
        "template-in-both",
        "worded",
        _class("PreTrainedTokenizerFast"),
        more={"chat_template.jinja": "file {{ messages }}"},
    ),
    Made(
        "templates-named",
        "worded",
        _class(
            "PreTrainedTokenizerFast",
            chat_template=[{"name": "default", "template": TEMPLATE}, {"name": "tool_use", "template": "t" + TEMPLATE}],
        ),
    ),
    Made(
        "templates-in-folder",
        "worded",
        _class("PreTrainedTokenizerFast"),
        more={"additional_chat_templates/tool_use.jinja": "folder {{ messages }}"},
    ),
    Made(
        "templates-in-both-folders",
        "worded",
        _class("PreTrainedTokenizerFast"),
        more={
            "chat_template.jinja": "file {{ messages }}",
            "additional_chat_templates/tool_use.jinja": "folder {{ messages }}",
        },
    ),
    # a second round, made after the rule for transformers 4: other vocabularies, classes and oddities
    Made("second-llama-over-bytes", "other_bytes", {**NAMED, "add_bos_token": False}, "deepseek_v2"),
    Made("second-llama-over-split", "other_split", {**NAMED, "add_bos_token": False, "add_eos_token": True}),
    Made("second-llama-no-bos", "prepended", _class("LlamaTokenizerFast", legacy=True, add_bos_token=False), "llama"),
    Made("second-llama-first", "metaspace", _class("LlamaTokenizerFast", legacy=False, add_bos_token=True), "llama"),
    Made("second-llama-none", "metaspace", _class("LlamaTokenizer", legacy=False, add_bos_token=False), "mistral"),
    Made(
        "second-llama-model-bare", "pieces", _class("LlamaTokenizer", add_bos_token=False), None, ("tokenizer.model",)
    ),
    Made(
        "second-llama-both",
        "prepended_pieces",
        _class("LlamaTokenizer", legacy=False, add_prefix_space=False),
        "llama",
        ("tokenizer.json", "tokenizer.model"),
    ),
    Made("second-gpt2", "other_bytes", _class("GPT2TokenizerFast"), "gpt2"),
    Made("second-gpt2-alone", "byte_level", _class("GPT2Tokenizer")),
    Made("second-gpt2-bos", "byte_level", _class("GPT2Tokenizer", add_bos_token=True), "gpt2"),
    Made("second-gpt2-files-bos", "byte_level", _class("GPT2Tokenizer", add_bos_token=True), "gpt2", ("vocab.json",)),
    Made(
        "second-gpt2-files-space", "other_bytes", _class("GPT2Tokenizer", add_prefix_space=True), None, ("vocab.json",)
    ),
    Made("second-gpt2-new-tokens", "byte_level", _class("GPT2Tokenizer", pad_token="<new>", mask_token="<gap>")),
    Made("second-gpt2-over-other-split", "other_split", _class("GPT2TokenizerFast", add_prefix_space=True), "olmo"),
    Made("second-gpt2-empty-token", "byte_level", _class("GPT2Tokenizer", bos_token="", pad_token=None)),
    Made("second-empty-mask", "cased", _class("PreTrainedTokenizerFast", mask_token="", cls_token="")),
    Made("second-qwen2-alone", "qwen", _class("Qwen2Tokenizer")),
    Made("second-qwen2-as-llama", "qwen", _class("Qwen2TokenizerFast"), "llama"),
    Made("second-qwen2-more", "qwen", _class("Qwen2Tokenizer", additional_special_tokens=["<one>", MARKS[3]]), "qwen2"),
    Made("second-qwen2-own-ids", "qwen", _class("Qwen2Tokenizer", added_tokens_decoder=OWN_IDS), "qwen2"),
    Made("second-qwen2-space", "qwen", _class("Qwen2Tokenizer", add_prefix_space=True), "qwen2", ("vocab.json",)),
    Made("second-cohere-bare", "cohere", _class("CohereTokenizer", add_bos_token=False), "cohere"),
    Made("second-cohere-alone", "cohere", _class("CohereTokenizerFast", add_eos_token=True)),
    Made("second-neox-space", "byte_level", _class("GPTNeoXTokenizerFast", add_prefix_space=True), "gpt_neox"),
    Made("second-neox-bos", "other_bytes", _class("GPTNeoXTokenizer", add_bos_token=True)),
    Made("second-neox-around", "llama3", _class("GPTNeoXTokenizerFast"), "gpt_neox"),
    Made("second-bloom-alone", "worded", _class("BloomTokenizerFast", add_prefix_space=True)),
    Made("second-codegen", "byte_level", _class("CodeGenTokenizerFast"), "phi"),
    Made("second-roberta", "roberta", _class("RobertaTokenizerFast"), "roberta"),
    Made("second-roberta-space", "roberta", _class("RobertaTokenizer", add_prefix_space=True, trim_offsets=False)),
    Made("second-bart", "roberta", _class("BartTokenizerFast"), "bart"),
    Made("second-gemma-mask", "gemma_mask", _class("GemmaTokenizerFast", add_bos_token=True), "gemma2"),
    Made("second-gemma-bare", "gemma_mask", _class("GemmaTokenizer", add_bos_token=False, add_eos_token=True)),
    Made("second-t5", "converted_t5", _class("T5TokenizerFast", extra_ids=0), "t5"),
    Made("second-t5-hundred", "converted_t5", _class("T5Tokenizer"), "t5"),
    Made("second-t5-mt5", "converted_t5", _class("MT5Tokenizer", extra_ids=0), "mt5"),
    Made("second-xlnet", "converted_xlnet", _class("XLNetTokenizerFast"), "xlnet"),
    Made("second-xlnet-lower", "converted_xlnet", _class("XLNetTokenizer", do_lower_case=True, keep_accents=True)),
    Made("second-xlm-roberta", "converted_roberta", _class("XLMRobertaTokenizer"), "xlm-roberta"),
    Made("second-camembert", "converted_roberta", _class("CamembertTokenizerFast"), "camembert"),
    Made(
        "second-albert", "converted_xlnet", _class("AlbertTokenizer", do_lower_case=False, keep_accents=True), "albert"
    ),
    Made("second-deberta", "converted_roberta", _class("DebertaV2TokenizerFast"), "deberta-v2"),
    Made("second-unigram-plain", "converted_t5", _class("PreTrainedTokenizerFast"), "t5"),
    Made("second-bert-lower", "cased_word_piece", _class("BertTokenizer", do_lower_case=True), "bert"),
    Made("second-bert-accents", "word_piece", _class("BertTokenizerFast", strip_accents=False)),
    Made("second-bert-chinese", "word_piece", _class("BertTokenizer", tokenize_chinese_chars=False), "bert"),
    Made("second-bert-no-class", "word_piece", {}, "distilbert"),
    Made("second-electra", "cased_word_piece", _class("ElectraTokenizerFast", do_lower_case=False), "electra"),
    Made("second-electra-vocabulary", "word_piece", _class("ElectraTokenizer"), "electra", ("vocab.txt",)),
    Made("second-mpnet", "word_piece", _class("MPNetTokenizerFast"), "mpnet"),
    Made(
        "second-bert-legacy",
        "word_piece",
        _class("BertTokenizer"),
        "bert",
        more={
            "special_tokens_map.json": '{"additional_special_tokens": ["[NEW]"], "mask_token": {"content": "[MASK]", '
            '"lstrip": true, "rstrip": false, "normalized": false, "single_word": false}}',
            "added_tokens.json": '{"[NEW]": 1500, "extra": 1501}',
        },
    ),
    Made(
        "second-typed-tokens",
        "other_split",
        _class("PreTrainedTokenizerFast", bos_token={"__type": "AddedToken", **_flagged("<|begin|>", rstrip=True)}),
    ),
    Made("second-flags-qwen", "qwen", _class("Qwen2Tokenizer"), "qwen2", added=FLAGS),
    Made("second-flags-bert", "cased_word_piece", _class("BertTokenizer", do_lower_case=False), added=FLAGS),
    Made("second-flags-gemma", "gemma_mask", _class("GemmaTokenizerFast"), "gemma3_text", added=FLAGS),
)


def named(name: str) -> Made:
    """One of them by its name; KeyError."""
    return {made.name: made for made in MADE}[name]


def folder(name: str) -> Path:
    """The folder of a made tokenizer, written if it is absent or older than what this file says."""
    made = named(name)
    stamp = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:12]

    def put(path: Path) -> None:
        path.mkdir(parents=True)
        write(made, path)

    return made_once(home() / "tokenizers" / stamp / name, put)


def write(made: Made, path: Path) -> None:
    """The files of one tokenizer into a folder that is there."""
    backend = BACKENDS[made.backend]()
    tokens = dict(backend.tokens)
    if made.added and backend.tokenizer is not None:
        from tokenizers import AddedToken

        for token in made.added:
            one = AddedToken(**{"special": False, **token})
            (backend.tokenizer.add_special_tokens if one.special else backend.tokenizer.add_tokens)([one])
    for file in made.files:
        if file == "tokenizer.json":
            (path / file).write_text(backend.tokenizer.to_str(), encoding="utf-8")
        elif file == "vocab.json":
            backend.tokenizer.model.save(str(path))
        elif file == "vocab.txt":
            vocabulary = backend.tokenizer.get_vocab(with_added_tokens=False)
            (path / file).write_text("\n".join(sorted(vocabulary, key=vocabulary.__getitem__)) + "\n", encoding="utf-8")
        else:
            (path / file).write_bytes(backend.pieces)
    if made.config is not None:
        config = {**tokens, "model_max_length": 4096, "chat_template": TEMPLATE, **made.config}
        _put(path / "tokenizer_config.json", {key: value for key, value in config.items() if value is not None})
    if made.model_type is not None:
        _put(path / "config.json", {"model_type": made.model_type})
    for name, text in made.more.items():
        (path / name).parent.mkdir(exist_ok=True)
        (path / name).write_text(text, encoding="utf-8")


@dataclass(frozen=True)
class Backend:
    """What a tokenizer is made of: a `tokenizers.Tokenizer`, or a sentencepiece model, and its special tokens."""

    tokens: Mapping[str, str]
    tokenizer: Any = None
    pieces: bytes = b""


BYTE_TOKENS = {"bos_token": MARKS[0], "eos_token": MARKS[1], "pad_token": MARKS[2]}
PIECE_TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
UNIGRAM_TOKENS = {**PIECE_TOKENS, "sep_token": "<sep>", "cls_token": "<cls>", "mask_token": "<mask>"}


@cache
def _lines() -> tuple[str, ...]:
    sys.path.append(str(Path(__file__).parents[1] / "unit" / "tokens"))
    import builtin_corpus as corpus

    return tuple(corpus.lines())


def _byte_level(
    splits: tuple[tuple[str, str], ...],
    *,
    use_regex: bool = False,
    prefix: bool = False,
    size: int = 1500,
    lines: tuple[str, ...] | None = None,
) -> Any:
    """Byte-level BPE behind splits (regex, behaviour), learnt with these splits."""
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [
            *(pre_tokenizers.Split(Regex(regex), behaviour) for regex, behaviour in splits),
            pre_tokenizers.ByteLevel(add_prefix_space=prefix, use_regex=use_regex),
        ]
    )
    made.decoder = decoders.ByteLevel()
    made.post_processor = processors.ByteLevel(trim_offsets=False)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(vocab_size=size, initial_alphabet=alphabet, min_frequency=2, show_progress=False)
    made.train_from_iterator(_lines() if lines is None else lines, trainer)
    made.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in MARKS])
    return made


def byte_level() -> Backend:
    from tokenizers import pre_tokenizers

    made = _byte_level((), use_regex=True)
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return Backend({**BYTE_TOKENS, "unk_token": MARKS[1]}, made)


def other_bytes() -> Backend:
    """Another vocabulary over the same alphabet, with a normalizer."""
    from tokenizers import normalizers, pre_tokenizers

    made = _byte_level((), use_regex=True, size=900, lines=_lines()[::-2])
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.normalizer = normalizers.NFKC()
    return Backend({**BYTE_TOKENS, "unk_token": MARKS[1]}, made)


def other_split() -> Backend:
    """Digits one by one, then GPT-2's own words, which differ in contractions and spaces from GPT-4's."""
    return Backend(BYTE_TOKENS, _byte_level(((r"\p{N}", "isolated"),), use_regex=True, size=700, lines=_lines()[::3]))


def roberta() -> Backend:
    from tokenizers import AddedToken, pre_tokenizers, processors

    made = _byte_level((), use_regex=True, size=1100)
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in PIECES[:4]])
    made.add_special_tokens([AddedToken("<mask>", special=True, normalized=False, lstrip=True)])
    ends = {name: (token, made.token_to_id(token)) for name, token in (("sep", "</s>"), ("cls", "<s>"))}
    made.post_processor = processors.RobertaProcessing(ends["sep"], ends["cls"], add_prefix_space=False)
    return Backend({**PIECE_TOKENS, "sep_token": "</s>", "cls_token": "<s>", "mask_token": "<mask>"}, made)


def worded() -> Backend:
    return Backend(BYTE_TOKENS, _byte_level(((WORDS, "isolated"),)))


def cased() -> Backend:
    return Backend(BYTE_TOKENS, _byte_level(((CASED, "isolated"),)))


def qwen() -> Backend:
    from tokenizers import normalizers

    made = _byte_level(((WORDS.replace("{1,3}", ""), "isolated"),))
    made.normalizer = normalizers.NFC()
    return Backend({"eos_token": MARKS[1], "pad_token": MARKS[2]}, made)


def deepseek() -> Backend:
    """Digits by three, Chinese apart, then words: three splits before the bytes."""
    splits = ((r"\p{N}{1,3}", "isolated"), (CHINESE, "isolated"), (WORDS.replace(r"|\p{N}{1,3}", ""), "isolated"))
    return Backend(BYTE_TOKENS, _byte_level(splits))


def cohere() -> Backend:
    from tokenizers import normalizers, pre_tokenizers

    made = _byte_level(((r"\p{N}", "isolated"),), use_regex=True)
    made.normalizer = normalizers.NFC()
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    return Backend({**BYTE_TOKENS, "unk_token": MARKS[1]}, made)


def llama3() -> Backend:
    from tokenizers import processors

    made = _byte_level(((WORDS, "isolated"),))
    bos = MARKS[0]
    made.post_processor = processors.Sequence(
        [
            processors.ByteLevel(trim_offsets=False),
            processors.TemplateProcessing(
                single=f"{bos} $A", pair=f"{bos} $A {bos}:1 $B:1", special_tokens=[(bos, made.token_to_id(bos))]
            ),
        ]
    )
    return Backend(BYTE_TOKENS, made)


def word_level() -> Backend:
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    made = Tokenizer(models.WordLevel(unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    specials = list(PIECES[:4])
    made.train_from_iterator(
        _lines(),
        trainers.WordLevelTrainer(vocab_size=800, min_frequency=2, special_tokens=specials, show_progress=False),
    )
    return Backend(PIECE_TOKENS, made)


def cased_word_piece() -> Backend:
    return word_piece(lowercase=False)


def word_piece(lowercase: bool = True) -> Backend:
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

    names = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece()
    made.train_from_iterator(
        _lines(), trainers.WordPieceTrainer(vocab_size=1500, special_tokens=list(names), show_progress=False)
    )
    made.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    keys = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
    return Backend(dict(zip(keys, names, strict=True)), made)


def _pieced() -> tuple[Any, Any]:
    """BPE over `▁` with byte fallback from the sentencepiece model below, and that model."""
    from tokenizers import AddedToken, Tokenizer, decoders, models

    pieces = _sentencepiece("bpe")
    vocabulary = {pieces.id_to_piece(i): i for i in range(pieces.get_piece_size())}
    scores = {piece: pieces.get_score(i) for piece, i in vocabulary.items()}
    merges = [
        (piece[:cut], piece[cut:])
        for piece in sorted(vocabulary, key=lambda one: -scores[one])
        if not pieces.is_control(vocabulary[piece]) and not pieces.is_byte(vocabulary[piece])
        for cut in range(1, len(piece))
        if piece[:cut] in vocabulary and piece[cut:] in vocabulary
    ]
    made = Tokenizer(models.BPE(vocabulary, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    made.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    made.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in PIECES[:4]])
    return made, pieces


def prepended() -> Backend:
    from tokenizers import normalizers, processors

    made, _ = _pieced()
    made.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", made.token_to_id("<s>"))]
    )
    return Backend(PIECE_TOKENS, made)


def prepended_pieces() -> Backend:
    return Backend(PIECE_TOKENS, prepended().tokenizer, pieces().pieces)


def gemma_mask() -> Backend:
    """As Gemma is published: `<mask>` stands in the file."""
    from tokenizers import AddedToken

    made = gemma()
    made.tokenizer.add_special_tokens([AddedToken("<mask>", special=True, normalized=False)])
    return Backend({**PIECE_TOKENS, "mask_token": "<mask>"}, made.tokenizer)


def metaspace() -> Backend:
    from tokenizers import pre_tokenizers

    made, _ = _pieced()
    made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    return Backend(PIECE_TOKENS, made)


def gemma() -> Backend:
    from tokenizers import normalizers, pre_tokenizers, processors

    made, _ = _pieced()
    made.normalizer = normalizers.Replace(" ", "▁")
    made.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", made.token_to_id("<s>"))]
    )
    return Backend(PIECE_TOKENS, made)


def unigram() -> Backend:
    from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

    pieces = _sentencepiece("unigram")
    scored = [(pieces.id_to_piece(i), pieces.get_score(i)) for i in range(pieces.get_piece_size())]
    made = Tokenizer(models.Unigram(scored, unk_id=0))
    made.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace("  ", " ")])
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.decoder = decoders.Metaspace()
    made.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", made.token_to_id("</s>"))]
    )
    made.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in PIECES])
    return Backend(UNIGRAM_TOKENS, made)


def _converted(single: str) -> Backend:
    """As transformers 4 converts a sentencepiece model: its character map, then Metaspace."""
    from sentencepiece import sentencepiece_model_pb2
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

    proto = sentencepiece_model_pb2.ModelProto.FromString(_sentencepiece("unigram").serialized_model_proto())
    made = Tokenizer(models.Unigram([(one.piece, one.score) for one in proto.pieces], unk_id=0))
    made.normalizer = normalizers.Sequence(
        [
            normalizers.Precompiled(proto.normalizer_spec.precompiled_charsmap),
            normalizers.Strip(left=False, right=True),
            normalizers.Replace(Regex(" {2,}"), "▁"),
        ]
    )
    made.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    made.decoder = decoders.Metaspace(replacement="▁", prepend_scheme="always")
    put = [token for token in single.split() if token != "$A"]
    made.post_processor = processors.TemplateProcessing(
        single=single, pair=f"{single} $B", special_tokens=[(token, made.token_to_id(token)) for token in put]
    )
    made.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in PIECES])
    return Backend(UNIGRAM_TOKENS, made)


def converted_t5() -> Backend:
    return _converted("$A </s>")


def converted_xlnet() -> Backend:
    return _converted("$A <sep> <cls>")


def converted_roberta() -> Backend:
    return _converted("<s> $A </s>")


def pieces() -> Backend:
    return Backend(PIECE_TOKENS, pieces=_sentencepiece("bpe").serialized_model_proto())


def unigram_pieces() -> Backend:
    return Backend(UNIGRAM_TOKENS, pieces=_sentencepiece("unigram").serialized_model_proto())


BACKENDS: Mapping[str, Callable[[], Backend]] = {
    made.__name__: made
    for made in (
        byte_level,
        worded,
        cased,
        qwen,
        deepseek,
        cohere,
        llama3,
        word_level,
        word_piece,
        prepended,
        metaspace,
        gemma,
        unigram,
        pieces,
        unigram_pieces,
        other_bytes,
        other_split,
        roberta,
        cased_word_piece,
        prepended_pieces,
        gemma_mask,
        converted_t5,
        converted_xlnet,
        converted_roberta,
    )
}


@cache
def _sentencepiece(kind: str) -> Any:
    """A sentencepiece model over the corpus, with the pieces of Llama (`bpe`) or of T5 and XLNet (`unigram`)."""
    import sentencepiece

    bpe = kind == "bpe"
    with tempfile.TemporaryDirectory() as place:
        prefix = str(Path(place) / kind)
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter([line for text in _lines() for line in text.split("\n") if line]),
            model_prefix=prefix,
            model_type=kind,
            vocab_size=2000,
            byte_fallback=bpe,
            character_coverage=0.999 if bpe else 1.0,
            normalization_rule_name="identity" if bpe else "nmt_nfkc",
            remove_extra_whitespaces=not bpe,
            split_digits=bpe,
            allow_whitespace_only_pieces=bpe,
            unk_id=0,
            bos_id=1,
            eos_id=2,
            pad_id=3,
            control_symbols=[] if bpe else list(PIECES[4:]),
            num_threads=1,
            minloglevel=2,
        )
        return sentencepiece.SentencePieceProcessor(model_file=f"{prefix}.model")


def _put(path: Path, data: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def main() -> int:
    if len(sys.argv) > 1:
        for made in MADE:
            place = Path(sys.argv[1]) / made.name
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir(parents=True)
            write(made, place)
    else:
        print(*(folder(made.name) for made in MADE), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
