"""Tokenizers and datasets that nobody has seen before: made from seeds, so that both sides read the same files.

`tokenizer(name, folder)` trains one and writes it with its chat template; `rows(name)` makes the rows of a dataset.
What they are after is wild lengths (packs), every kind of tokenizer model, and text that normalizers and pre-tokenizers
treat differently.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Rows = list[dict[str, Any]]

CHATML = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] + '<|im_end|>\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
GENERATION = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' }}{% if m['role'] == 'assistant' %}"
    "{% generation %}{{ m['content'] + '<|im_end|>' }}{% endgeneration %}{% else %}{{ m['content'] + '<|im_end|>' }}"
    "{% endif %}{{ '\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
HEADERS = (
    "{{ bos_token }}{% for m in messages %}{{ '<|start_header_id|>' + m['role'] + '<|end_header_id|>\\n\\n' }}"
    "{{ m['content'] | trim }}{{ '<|eot_id|>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}"
)
BRACKETS = (
    "{{ bos_token }}{% for m in messages %}{% if m['role'] == 'assistant' %}{{ ' ' + m['content'] + eos_token }}"
    "{% elif m['role'] == 'system' %}{{ '[SYS] ' + m['content'] + ' [/SYS]' }}"
    "{% else %}{{ '[INST] ' + m['content'] + ' [/INST]' }}{% endif %}{% endfor %}"
)
TURNS = (
    "{{ bos_token }}{% for m in messages %}{{ '<start_of_turn>' + ('model' if m['role'] == 'assistant' else m['role'])"
    " + '\\n' + m['content'] | trim + '<end_of_turn>\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<start_of_turn>model\\n' }}{% endif %}"
)
PLAIN = (
    "{% for m in messages %}{{ m['role'] | capitalize + ': ' + m['content'] }}"
    "{% if m['role'] == 'assistant' %}{{ eos_token }}{% endif %}{{ '\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ 'Assistant: ' }}{% endif %}"
)

WORDS = "time year people way day man thing woman life child world school state family student group country problem"
SCRIPTS = (
    WORDS.split(),
    ["günü", "değil", "şöyle", "çünkü", "Işık", "İstanbul", "öğretmen", "çalışıyoruz", "kağıt", "üzüm"],
    ["今天", "天气", "学习", "模型", "数据", "训练", "问题", "答案", "。", ","],
    ["привет", "мир", "данные", "модель", "ёжик", "объём", "ничего", "всегда"],
    ["مرحبا", "عالم", "بيانات", "سؤال", "جواب", "\u200fنص"],
    ["🙂", "👩‍👩‍👧", "🇹🇷", "e\u0301", "ﬁ", "Ａ", "\u00a0", "①", "½"],
    [
        "def",
        "f(x):",
        "return",
        "x**2",
        "0x1F",
        "3.14159",
        "12345678",
        "a_b-c/d\\e",
        "{}",
        "[]",
        "<b>",
        "&amp;",
        "https://a.b/c?d=e#f",
    ],
)


def text(random_: random.Random, words: int) -> str:
    """So many words of one or two scripts, with the spaces and line ends that people write."""
    chosen = random_.choices(SCRIPTS, weights=(9, 3, 2, 2, 1, 1, 3), k=2)
    made = [random_.choice(random_.choice(chosen)) for _ in range(words)]
    joints = random_.choices((" ", "  ", "\n", ", ", ". ", "\t", ""), weights=(30, 1, 2, 3, 3, 1, 1), k=words)
    return "".join(word + joint for word, joint in zip(made, joints)).rstrip(" ") if words else ""


def wild(random_: random.Random, middle: float, most: int) -> int:
    """A length with a long tail, at least 1."""
    return max(1, min(most, round(middle * math.exp(random_.gauss(0, 0.9)))))


def answer(random_: random.Random, middle: float = 12, most: int = 220) -> str:
    return text(random_, wild(random_, middle, most)).strip() or "Yes."


def turns(random_: random.Random, pairs: int, system: bool) -> list[dict[str, str]]:
    made = [{"role": "system", "content": answer(random_, 6, 20)}] if system else []
    for _ in range(pairs):
        made += [{"role": "user", "content": answer(random_, 8)}, {"role": "assistant", "content": answer(random_)}]
    return made


def chats(count: int) -> Callable[[random.Random], Rows]:
    def make(random_: random.Random) -> Rows:
        return [{"messages": turns(random_, 1 + (i % 5 == 0) * random_.randint(0, 3), False)} for i in range(count)]

    return make


def systems(random_: random.Random) -> Rows:
    return [{"messages": turns(random_, random_.randint(1, 3), i % 2 == 0)} for i in range(120)]


def tiny(random_: random.Random) -> Rows:
    """More rows than a packing group, most of a few tokens."""
    return [
        {"messages": [{"role": "user", "content": f"{i}?"}, {"role": "assistant", "content": answer(random_, 2, 30)}]}
        for i in range(2300)
    ]


def equal(random_: random.Random) -> Rows:
    """Ties: rows of only three lengths."""
    return [
        {"messages": [{"role": "user", "content": "go"}, {"role": "assistant", "content": "time " * (1 + i % 3) + "x"}]}
        for i in range(160)
    ]


def sharegpt(random_: random.Random) -> Rows:
    names = {"user": "human", "assistant": "gpt", "system": "system"}
    return [
        {"conversations": [{"from": names[m["role"]], "value": m["content"]} for m in row["messages"]]}
        for row in systems(random_)
    ]


def alpaca(random_: random.Random) -> Rows:
    return [
        {
            "instruction": answer(random_, 7, 40),
            "input": answer(random_, 5, 30) if i % 3 else "",
            "output": answer(random_),
        }
        for i in range(200)
    ]


def strings(random_: random.Random) -> Rows:
    ends = ("", " ", "\n", ": ")
    return [
        {"prompt": answer(random_, 8, 60) + ends[i % 4], "completion": ("", " ")[i % 2] + answer(random_)}
        for i in range(300)
    ]


def pairs(random_: random.Random) -> Rows:
    found = []
    for i in range(120):
        messages = turns(random_, 1 + i % 2, i % 3 == 0)
        found.append({"prompt": messages[:-1], "completion": messages[-1:]})
    return found


def texts(random_: random.Random) -> Rows:
    return [{"text": answer(random_, 30, 600)} for _ in range(300)]


def ready(random_: random.Random) -> Rows:
    """Ids and labels as they are, some rows without a trained token."""
    found = []
    for i in range(300):
        ids = [random_.randrange(3, 250) for _ in range(wild(random_, 20, 300))]
        labels = [-100 if i % 9 == 0 or random_.random() < 0.4 else one for one in ids]
        found.append({"input_ids": ids, "labels": labels, "attention_mask": [1] * len(ids)})
    return found


def edges(random_: random.Random) -> Rows:
    """Contents at whose borders white space, combining signs and special tokens' look-alikes stand."""
    odd = (" x", "x ", "\nx", "x\n", "\u0301x", "x\u200d", "▁x", "x▁", "Ġx", "[INST]", "<|im_end", "</s", "\u3000", "0")
    return [
        {
            "messages": [
                {"role": "user", "content": random_.choice(odd) + random_.choice(odd)},
                {"role": "assistant", "content": random_.choice(odd) + answer(random_, 3, 9) + random_.choice(odd)},
            ]
        }
        for _ in range(150)
    ]


DATASETS: dict[str, Callable[[random.Random], Rows]] = {
    "chats": chats(260),
    "systems": systems,
    "tiny": tiny,
    "equal": equal,
    "sharegpt": sharegpt,
    "alpaca": alpaca,
    "strings": strings,
    "pairs": pairs,
    "texts": texts,
    "ready": ready,
    "edges": edges,
}


def rows(name: str) -> Rows:
    """The rows of a dataset, the same each time."""
    return DATASETS[name](random.Random(f"sftui {name}"))


def corpus() -> Iterator[str]:
    random_ = random.Random("sftui corpus")
    for _ in range(1500):
        yield text(random_, random_.randint(3, 30))


def _bpe(
    size: int, pre: Any, decoder: Any, *, normalizer: Any = None, fallback: bool = False, letters: Any = ()
) -> Any:
    from tokenizers import Tokenizer, models, trainers

    backend = Tokenizer(models.BPE(byte_fallback=fallback, unk_token="<unk>" if fallback else None))
    backend.pre_tokenizer, backend.decoder = pre, decoder
    if normalizer is not None:
        backend.normalizer = normalizer
    first = ["<unk>", *(f"<0x{i:02X}>" for i in range(256))] if fallback else []
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=first, initial_alphabet=list(letters), show_progress=False
    )
    backend.train_from_iterator(corpus(), trainer)
    if fallback:  # the bytes are ordinary pieces, not special tokens
        whole = json.loads(backend.to_str())
        whole["added_tokens"] = [token for token in whole["added_tokens"] if token["content"] == "<unk>"]
        backend = Tokenizer.from_str(json.dumps(whole))
    return backend


def _bytes(size: int, *, prefix: bool = False, split: str = "", normalizer: Any = None, digits: bool = False) -> Any:
    from tokenizers import Regex, decoders, pre_tokenizers

    steps: list[Any] = [pre_tokenizers.Digits(individual_digits=True)] if digits else []
    if split:
        steps.append(pre_tokenizers.Split(Regex(split), "isolated"))
    steps.append(pre_tokenizers.ByteLevel(add_prefix_space=prefix, use_regex=not split))
    pre = pre_tokenizers.Sequence(steps) if len(steps) > 1 else steps[0]
    return _bpe(size, pre, decoders.ByteLevel(), normalizer=normalizer, letters=pre_tokenizers.ByteLevel.alphabet())


def _around(backend: Any, before: str | None, after: str | None) -> None:
    from tokenizers import processors

    parts = [part for part in (before, "$A", after) if part]
    backend.post_processor = processors.TemplateProcessing(
        single=" ".join(parts),
        special_tokens=[(one, backend.token_to_id(one)) for one in (before, after) if one],
    )


def _special(backend: Any, *names: str) -> Any:
    from tokenizers import AddedToken

    backend.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in names])
    return backend


QWEN = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
IM = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
IM_CONFIG = {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>", "chat_template": CHATML}


def _made(name: str) -> tuple[Any, dict[str, Any]]:
    """The backend of a tokenizer, and its tokenizer_config.json."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

    if name == "bytes":
        return _special(_bytes(700), *IM), IM_CONFIG
    if name == "split":
        return _special(_bytes(1200, split=QWEN, normalizer=normalizers.NFC()), *IM), IM_CONFIG
    if name == "generation":
        return _special(_bytes(900, split=QWEN), *IM), {**IM_CONFIG, "chat_template": GENERATION}
    if name == "digits":
        backend = _special(_bytes(800, digits=True, normalizer=normalizers.NFKC()), *IM)
        return backend, {**IM_CONFIG, "padding_side": "left", "truncation_side": "left"}
    if name == "headers":
        own = ("<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>")
        backend = _special(_bytes(1000, split=QWEN.replace(r"\p{N}|", r"\p{N}{1,3}|", 1)), *own)
        _around(backend, own[0], None)
        return backend, {"bos_token": own[0], "eos_token": own[4], "pad_token": own[1], "chat_template": HEADERS}
    if name == "prefix":
        backend = _special(_bytes(700, prefix=True), "<s>", "</s>", "<pad>")
        return backend, {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "chat_template": PLAIN}
    if name in ("metaspace", "lower"):
        normalizer = normalizers.Sequence([normalizers.Lowercase(), normalizers.NFD(), normalizers.StripAccents()])
        backend = _bpe(
            1100,
            pre_tokenizers.Metaspace(prepend_scheme="first" if name == "metaspace" else "always"),
            decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]),
            normalizer=None if name == "metaspace" else normalizer,
            fallback=True,
        )
        _special(backend, "<s>", "</s>")
        _around(backend, "<s>", None)
        return backend, {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "chat_template": BRACKETS}
    if name == "turns":
        backend = _bpe(
            1100,
            pre_tokenizers.Split(" ", "merged_with_previous"),
            decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]),
            normalizer=normalizers.Replace(" ", "▁"),
            fallback=True,
        )
        _special(backend, "<bos>", "<eos>", "<pad>", "<start_of_turn>", "<end_of_turn>")
        _around(backend, "<bos>", None)
        return backend, {"bos_token": "<bos>", "eos_token": "<eos>", "pad_token": "<pad>", "chat_template": TURNS}
    if name == "unigram":
        backend = Tokenizer(models.Unigram())
        backend.normalizer = normalizers.NFKC()
        backend.pre_tokenizer, backend.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
        backend.train_from_iterator(
            corpus(),
            trainers.UnigramTrainer(
                vocab_size=900, special_tokens=["<pad>", "</s>", "<unk>"], unk_token="<unk>", show_progress=False
            ),
        )
        _around(backend, None, "</s>")
        return backend, {"eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>", "chat_template": PLAIN}
    if name == "wordpiece":
        backend = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        backend.normalizer = normalizers.BertNormalizer(lowercase=True)
        backend.pre_tokenizer, backend.decoder = pre_tokenizers.BertPreTokenizer(), decoders.WordPiece()
        backend.train_from_iterator(
            corpus(),
            trainers.WordPieceTrainer(
                vocab_size=900, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]"], show_progress=False
            ),
        )
        _around(backend, "[CLS]", "[SEP]")
        config = {"bos_token": "[CLS]", "eos_token": "[SEP]", "pad_token": "[PAD]", "unk_token": "[UNK]"}
        return backend, {**config, "chat_template": PLAIN}
    if name == "words":
        backend = Tokenizer(models.WordLevel(unk_token="<unk>"))
        steps = [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation()]
        backend.pre_tokenizer = pre_tokenizers.Sequence(steps)
        backend.train_from_iterator(
            corpus(),
            trainers.WordLevelTrainer(vocab_size=400, special_tokens=["<unk>", "</s>", "<pad>"], show_progress=False),
        )
        return backend, {"eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>", "chat_template": PLAIN}
    assert name == "letters", name
    backend = _bpe(330, pre_tokenizers.Split("\n", "isolated"), decoders.Fuse(), fallback=True)
    _special(backend, "<s>", "</s>", "<pad>")
    return backend, {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "chat_template": BRACKETS}


TOKENIZERS = (
    "bytes",
    "split",
    "generation",
    "digits",
    "headers",
    "prefix",
    "metaspace",
    "lower",
    "turns",
    "unigram",
    "wordpiece",
    "words",
    "letters",
)
BYTE_LEVEL = ("bytes", "split", "headers")
"""Those that torchtune's own tokenizers can be given."""


def tokenizer(name: str, folder: Path) -> None:
    """Train a tokenizer and write its files."""
    backend, config = _made(name)
    folder.mkdir(parents=True, exist_ok=True)
    backend.save(str(folder / "tokenizer.json"))
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 8192, **config}
    (folder / "tokenizer_config.json").write_text(json.dumps(config, ensure_ascii=False, indent=1), encoding="utf-8")
    model = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))["model"]
    if name in BYTE_LEVEL:
        (folder / "vocab.json").write_text(json.dumps(model["vocab"], ensure_ascii=False), encoding="utf-8")
        pairs_ = "\n".join(" ".join(pair) for pair in model["merges"])
        (folder / "merges.txt").write_text(f"#version: 0.2\n{pairs_}\n", encoding="utf-8")
