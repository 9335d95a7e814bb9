"""Train the built-in tokenizers and write their files: `python tests/unit/tokens/builtin_train.py [FOLDER]`.

Two of them are byte-level BPE (chatml with the pre-tokenizer of Qwen2.5, llama3 with that of
Llama 3), gemma is BPE on `▁` with byte fallback. The result depends only on the corpus.
Their chat templates are our own text: chatml writes plain ChatML as Qwen2.5 does without its default system text and
tools; gemma and llama3 render byte for byte what the templates of Gemma (1 and 2) and Llama 3 Instruct render.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import builtin_corpus as corpus

from sftui.tokens import builtin
from sftui.tokens.facts import TokenizerFacts

WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}%s| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""How Llama 3 (three digits together) and Qwen2.5 (each digit alone) split text before BPE."""

CHATML = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
LLAMA3 = (
    "<|begin_of_text|>",
    "<|end_of_text|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|python_tag|>",
    "<|finetune_right_pad_id|>",
)
GEMMA = ("<pad>", "<eos>", "<bos>", "<unk>")
GEMMA_TURNS = ("<start_of_turn>", "<end_of_turn>")
GEMMA_SPACES = ("\n", "\n\n", "\t", "▁▁", "▁▁▁▁")

CHATML_TEMPLATE = """\
{%- for message in messages %}
    {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
"""

GEMMA_TEMPLATE = """\
{{- bos_token }}
{%- if messages[0].role == 'system' %}
    {{- raise_exception('System role not supported') }}
{%- endif %}
{%- for message in messages %}
    {%- if (message.role == 'user') != (loop.index0 % 2 == 0) %}
        {{- raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}
    {%- endif %}
    {%- set role = 'model' if message.role == 'assistant' else message.role %}
    {{- '<start_of_turn>' + role + '\\n' + message.content | trim + '<end_of_turn>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<start_of_turn>model\\n' }}
{%- endif %}
"""

LLAMA3_TEMPLATE = """\
{%- for message in messages %}
    {%- if loop.first %}
        {{- bos_token }}
    {%- endif %}
    {{- '<|start_header_id|>' + message.role + '<|end_header_id|>\\n\\n' + message.content | trim + '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}
"""


def chatml() -> tuple[Any, dict[str, Any]]:
    """The tokenizer in the manner of Qwen2.5, and its tokenizer_config.json."""
    from tokenizers import AddedToken, normalizers

    backend = _byte_level(3000, digits="")
    backend.normalizer = normalizers.NFC()
    backend.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in CHATML])
    return backend, {
        "bos_token": None,
        "eos_token": "<|im_end|>",
        "pad_token": "<|endoftext|>",
        "unk_token": None,
        "model_max_length": 32768,
        "chat_template": CHATML_TEMPLATE,
    }


def llama3() -> tuple[Any, dict[str, Any]]:
    """The tokenizer in the manner of Llama 3 Instruct, and its tokenizer_config.json."""
    from tokenizers import AddedToken, processors

    backend = _byte_level(3000, digits="{1,3}")
    backend.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in LLAMA3])
    bos = LLAMA3[0]
    backend.post_processor = processors.Sequence(
        [
            processors.ByteLevel(add_prefix_space=True, trim_offsets=False),
            processors.TemplateProcessing(
                single=f"{bos} $A", pair=f"{bos} $A {bos}:1 $B:1", special_tokens=[(bos, backend.token_to_id(bos))]
            ),
        ]
    )
    return backend, {
        "bos_token": bos,
        "eos_token": "<|eot_id|>",
        "model_max_length": 8192,
        "chat_template": LLAMA3_TEMPLATE,
    }


def gemma() -> tuple[Any, dict[str, Any]]:
    """The tokenizer in the manner of Gemma, and its tokenizer_config.json."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

    trial = Tokenizer(models.BPE())
    trial.normalizer = normalizers.Replace(" ", "▁")
    trial.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split("▁", "merged_with_next"),
            pre_tokenizers.Split("\n", "isolated"),
            pre_tokenizers.Digits(True),
            pre_tokenizers.Punctuation("isolated"),
        ]
    )
    kept, text = _common_characters(200)
    trial.train_from_iterator(
        text, trainers.BpeTrainer(vocab_size=2700, initial_alphabet=kept, min_frequency=2, show_progress=False)
    )
    model = json.loads(trial.to_str())["model"]
    learnt = [piece for piece, _ in sorted(model["vocab"].items(), key=lambda item: item[1])]
    pieces = [*GEMMA, *(f"<0x{byte:02X}>" for byte in range(256)), *GEMMA_TURNS, *GEMMA_SPACES]
    pieces += [piece for piece in learnt if piece not in pieces]
    merges = [("\n", "\n"), ("▁", "▁"), ("▁▁", "▁▁"), *(tuple(pair) for pair in model["merges"])]
    backend = Tokenizer(
        models.BPE(
            vocab={piece: i for i, piece in enumerate(pieces)},
            merges=list(dict.fromkeys(merges)),
            unk_token="<unk>",
            fuse_unk=True,
            byte_fallback=True,
        )
    )
    backend.normalizer = normalizers.Replace(" ", "▁")
    backend.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    backend.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    backend.post_processor = processors.TemplateProcessing(
        single="<bos> $A", pair="<bos> $A <bos>:1 $B:1", special_tokens=[("<bos>", 2)]
    )
    backend.add_special_tokens([AddedToken(t, special=True, normalized=False) for t in (*GEMMA, *GEMMA_TURNS)])
    return backend, {
        "bos_token": "<bos>",
        "eos_token": "<eos>",
        "pad_token": "<pad>",
        "unk_token": "<unk>",
        "model_max_length": 8192,
        "chat_template": GEMMA_TEMPLATE,
    }


MAKERS = {"chatml": chatml, "gemma": gemma, "llama3": llama3}


def write(name: str, folder: Path) -> None:
    """Train one tokenizer and write tokenizer.json, tokenizer_config.json and facts.json into `folder`."""
    backend, config = MAKERS[name]()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tokenizer.json").write_text(backend.to_str(), encoding="utf-8")
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False, **config}
    _write_json(folder / "tokenizer_config.json", config)
    _write_json(folder / "facts.json", facts_of(name, folder).to_json())


def facts_of(name: str, folder: Path) -> TokenizerFacts:
    """The facts of a built-in tokenizer as AutoTokenizer loads its folder, which is what makes it proven."""
    from references import load_reference

    from sftui.tokens.loading.compare import count_differences, read_json_backend, wanted
    from sftui.tokens.loading.given import InProcessTokenizer
    from sftui.tokens.loading.locate import Location
    from sftui.tokens.loading.observe import observations
    from sftui.tokens.loading.probes import probe_strings
    from sftui.tokens.loading.reference import doubled, read_facts

    place = Location(builtin.PREFIX + name, "folder", str(folder), folder)
    reference = load_reference(place)
    asked = InProcessTokenizer(reference)
    reported = asked.load()
    shared = doubled(reported, place, asked.ask)
    facts = replace(read_facts(reported, place), transformers="", doubled=shared)
    probes = probe_strings(facts.special_tokens.values())
    answers = wanted(asked, probes)
    ours = read_json_backend(reported["backend"], facts.split_special_tokens).backend
    differ = count_differences(answers, ours, probes)
    if differ:
        raise ValueError(f"{name}: {differ} of {len(probes)} probe strings differ from AutoTokenizer")
    return replace(facts, probes=len(probes)).noting(*observations(reported, facts, place, probes, answers))


def _byte_level(size: int, *, digits: str) -> Any:
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(WORDS % digits), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    backend.decoder = decoders.ByteLevel()
    backend.post_processor = processors.ByteLevel(trim_offsets=False)
    backend.train_from_iterator(
        corpus.lines(),
        trainers.BpeTrainer(
            vocab_size=size,
            initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
            min_frequency=2,
            show_progress=False,
        ),
    )
    return backend


def _common_characters(count: int) -> tuple[list[str], list[str]]:
    """The commonest characters of the corpus, and the corpus without the others (they fall back to bytes).

    Chosen here because the trainer's own `limit_alphabet` breaks ties by chance.
    """
    text = list(corpus.lines())
    counts = Counter("".join(text).replace(" ", "▁"))
    kept = sorted(sorted(counts, key=lambda char: (-counts[char], char))[:count])
    others = {ord(char): " " for char in counts if char not in kept}
    return kept, [line.translate(others) for line in text]


def _write_json(path: Path, data: dict[str, Any]) -> None:
    path.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def main(arguments: list[str]) -> None:
    """Write all built-in tokenizers, into the package or under the folder given."""
    for name in builtin.NAMES:
        write(name, Path(arguments[0]) / name if arguments else builtin.folder(name))


if __name__ == "__main__":
    main(sys.argv[1:])
