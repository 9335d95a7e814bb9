"""Every fix text of every code, under every trainer: something to do, in words that this trainer knows.

A text names a key as `key: value`, `key=value` or a word with a point or an underscore. Such a word is a key of the
trainer's release (its known_keys.json), an entry of LLaMA-Factory's dataset_info.json, a knob that this trainer can be
told, or stands in ELSEWHERE with the place it is from; a value is one that the release takes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache

import pytest

from sftui import trainers
from sftui.cli.app import COMMANDS
from sftui.errors import SftuiError
from sftui.findings import CODES
from sftui.findings.rule import NAMED
from sftui.recipe import KnobInfo, get, knobs
from sftui.recipe_io import set_knob_to
from sftui.trainers.llamafactory.config import COLUMNS, ENTRY_KEYS, MESSAGE_TAGS, TAGS
from sftui.trainers.own_config import losses_of
from sftui.trainers.table import KnownKeys, known_keys

PRESETS = {trainers.preset(name).preset.partition("@")[0]: trainers.preset(name).preset for name in NAMED}
NAME = r"[A-Za-z]\w*(?:\[\])?"
PATH = rf"{NAME}(?:\.{NAME})+"
KEY = re.compile(
    rf"(?<![\w.\"`'/\-])(?:(?P<key>{PATH}|{NAME}): (?P<value>{{[^}}]*}}|[^\s,;)]+)|(?P<word>{PATH}|\w+_\w+))"
)
COMMAND = re.compile(r"\bsftui ([a-z-]+)")
DOING = re.compile(
    "(do not )?("
    "add|append|apply|begin|break|check|choose|close|compute|convert|copy|correct|cut|delete|derive|draw|drop|encode|end|"
    "fill|filter|find|fix|fold|generate|give|include|join|keep|leave|load|look|make|map|mask|match|mend|merge|move|name|"
    "normalise|pad|parse|pass|prefer|put|raise|regenerate|remove|rename|render|repair|replace|reset|resize|restart|"
    "rewrite|save|search|serve|set|split|start|store|strip|swap|tokenize|train|trim|upgrade|use|verify|wrap|write"
    r")\b"
)
"""What a text that does not begin with a key begins with."""

ELSEWHERE: Mapping[str, Mapping[str, str]] = {
    "": {
        "input_ids": "a column",
        "split_special_tokens": "transformers, PreTrainedTokenizerBase.__call__",
        "apply_chat_template": "transformers, PreTrainedTokenizerBase",
        "date_string": "a variable of the template",
        "enable_thinking": "a variable of the template",
        "json.loads": "Python",
        "embed_tokens": "a module of the model",
        "lm_head": "a module of the model",
        "generation_config.eos_token_id": "transformers, GenerationConfig",
        "dataset_info.json": "LLaMA-Factory's file of datasets",
        "enable_sampling": "sentencepiece, SentencePieceProcessor",
        "sp_model_kwargs": "transformers, slow tokenizers over SentencePiece",
        "tokenizer.json": "tokenizers",
        "tokenizer_config.json": "transformers",
    },
    "trl": {
        "tokenizer.pad_token": "transformers, PreTrainedTokenizerBase",
        "add_eos_token": "transformers, tokenizers that add EOS",
        "clone_chat_template": "trl.models.utils",
        "dataset.remove_columns": "datasets.Dataset",
        "trainable_token_indices": "peft.LoraConfig",
        "chat_template_kwargs": "trl, SFTTrainer: a column of the rows",
    },
    "axolotl": {
        "tokenizer_config.json": "the tokenizer's own file",
        "tokenizer_default_fallback_chatml": "axolotl.utils.schemas.enums.ChatTemplate, with a name behind fallback",
    },
    "llamafactory": {
        "efficient_eos": "llamafactory.data.template.Template",
        "replace_eos": "llamafactory.data.template.Template",
    },
    "unsloth": {
        "tokenizer.eos_token": "transformers, PreTrainedTokenizerBase",
        "get_chat_template": "unsloth.chat_templates",
        "chat_template": "unsloth.chat_templates.get_chat_template",
        "instruction_part": "train_on_responses_only",
        "response_part": "train_on_responses_only",
        "last_response_only": "train_on_responses_only",
        "mask_out_tokens": "train_on_responses_only",
    },
    "torchtune": {},
    "mlx-lm": {
        "chat_template.jinja": "the model's own file",
        "tokenizer_config.json": "the model's own file",
        "eos_token": "transformers, a key of tokenizer_config.json",
    },
    "verl": {
        "tokenizer_config.json": "the model's own file",
        "eos_token": "transformers, a key of tokenizer_config.json",
    },
    "ms-swift": {},
    "nemo-automodel": {
        "chat_template.jinja": "the model's own file",
        "tokenizer_config.json": "the model's own file",
        "eos_token": "transformers, a key of tokenizer_config.json",
    },
    "hf-trainer": {
        "load_dataset": "datasets",
        "data_files": "datasets, load_dataset",
        "keep_default_na": "datasets, CsvConfig",
        "tokenizer.backend_tokenizer.model.dropout": "tokenizers, models.BPE",
        "tokenizer.eos_token": "transformers, PreTrainedTokenizerBase",
        "tokenizer.chat_template": "transformers, PreTrainedTokenizerBase",
        "tokenizer.padding_side": "transformers, PreTrainedTokenizerBase",
        "truncation_side": "transformers, PreTrainedTokenizerBase",
        "add_special_tokens": "transformers, PreTrainedTokenizerBase.__call__",
        "return_dict": "transformers, apply_chat_template",
        "model.resize_token_embeddings": "transformers, PreTrainedModel",
        "attention_mask": "a column",
        "prompt_ids": "the reader's own",
    },
}
"""By trainer ("" for all): words that are no keys, with what they are of."""


@cache
def known(trainer: str) -> KnownKeys | None:
    return known_keys(trainer, trainer, None) if trainer not in ("hf-trainer",) else None


@cache
def tellable(trainer: str) -> frozenset[str]:
    """The knobs that can be set to something else without a loss in the trainer's own config."""
    recipe = trainers.preset(PRESETS[trainer])
    own = set(losses_of(recipe))
    found = set()
    for knob in knobs():
        for value in others(knob, get(recipe, knob.path)):
            try:
                losses = losses_of(set_knob_to(recipe, knob.path, value))
            except SftuiError:
                continue
            if set(losses) <= own:
                found.add(knob.path)
                break
    return frozenset(found)


def others(knob: KnobInfo, now: object) -> Iterator[object]:
    if isinstance(now, Mapping):
        yield from ({**now, "enable_thinking": False}, {**now, "x": "y"})
        return
    yield from (one for one in knob.choices or () if one != now)
    yield from (one for one in (64, "2024-05-13", "x", ["user"], True, False) if not knob.choices and one != now)


def unknown(trainer: str, text: str) -> list[str]:
    """The words of a text that this trainer cannot follow."""
    found = [f"sftui {one}" for one in COMMAND.findall(text) if one not in COMMANDS]
    for hit in KEY.finditer(re.sub(r"<[^>]*>", "…", text)):
        name, value = hit["key"] or hit["word"], hit["value"]
        own = is_key(trainer, name, value) or is_entry(trainer, name) or name in tellable(trainer)
        if not own and name not in ELSEWHERE[""] and name not in ELSEWHERE[trainer]:
            found.append(f"{name}: {value}" if value else name)
    return found


def is_key(trainer: str, name: str, value: str | None) -> bool:
    record = known(trainer)
    if record is None:
        return False
    name = name.removeprefix("datasets[].") if (in_dataset := name.startswith("datasets[].")) else name
    head = name.partition(".")[0]
    takes = record.dataset if in_dataset else record.config.union(*(one.takes for one in record.components.values()))
    choices = (record.dataset_choices if in_dataset else record.choices).get(name, frozenset())
    plain = (value or "").strip("\"'[]")
    free = (
        not value or not choices or plain in choices or plain in ("true", "false", "null") or not plain.isidentifier()
    )
    return (head in takes or name in takes) and free


def is_entry(trainer: str, name: str) -> bool:
    """Whether it is a place in LLaMA-Factory's dataset_info.json."""
    group, _, key = name.partition(".")
    places = {"columns": frozenset(COLUMNS), "tags": {*TAGS, *MESSAGE_TAGS}}
    return trainer == "llamafactory" and (key in places[group] if group in places else name in ENTRY_KEYS)


TEXTS = [(code, trainer, text) for code, one in CODES.items() for trainer, text in one.fixes.items()]
TEXTS += [(code, "trl", one.pairs) for code, one in CODES.items() if one.pairs]


def test_every_word_of_a_fix_is_one_that_the_trainer_knows(capsys: pytest.CaptureFixture[str]) -> None:
    false = [f"{code} {trainer}: {one}" for code, trainer, text in TEXTS for one in unknown(trainer, text)]
    assert not false, "\n".join(false)
    with capsys.disabled():
        named = sum(len(KEY.findall(text)) + len(COMMAND.findall(text)) for _, _, text in TEXTS)
        print(f"\nfix texts: {len(TEXTS)} of {len(CODES)} codes, {named} words looked up, {len(false)} false")


@pytest.mark.parametrize(
    ("trainer", "text"),
    [
        ("axolotl", "field_system"),
        ("axolotl", "excess_length_strategy: shorten"),
        ("trl", "train_on_input: false"),
        ("torchtune", "set mask.trailing: mask"),
        ("hf-trainer", "set mask.edge: x"),
        ("llamafactory", "set tags.person_tag in dataset_info.json"),
        ("unsloth", "convert it with `sftui transmute`"),
    ],
)
def test_a_word_that_leads_nowhere_is_noticed(trainer: str, text: str) -> None:
    assert unknown(trainer, text)


def test_every_fix_says_what_to_do() -> None:
    idle = [f"{code} {trainer}: {text}" for code, trainer, text in TEXTS if not does(text)]
    assert not idle, "\n".join(idle)


def does(text: str) -> bool:
    """Whether a text begins with something to do: a verb, a key with its value, an assignment, or a call."""
    return bool(DOING.match(text) or re.match(r"[\w.\[\]= ]+(: \S| = \S|=\S|\()", text))


@pytest.mark.parametrize("text", ["not affected", "no switch", "max_length", "rows that are too long are dropped"])
def test_what_is_nothing_to_do_is_noticed(text: str) -> None:
    assert not does(text)


def test_no_word_stands_elsewhere_in_vain() -> None:
    for trainer, words in ELSEWHERE.items():
        named = {
            hit["key"] or hit["word"] for _, one, text in TEXTS if trainer in ("", one) for hit in KEY.finditer(text)
        }
        assert set(words) <= named, (trainer, set(words) - named)
