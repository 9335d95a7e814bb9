"""Stage `pt`: the first message of every row and EOS, trained as a whole, usually cut into blocks.

Source: llamafactory 0.9.5, data/processor/pretrain.py and train/pt/workflow.py; transformers 5.6,
DataCollatorForLanguageModeling: labels are the ids, and whatever is the pad token is masked, so an
EOS that is also the pad token is not trained.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sftui.errors import ConversationError, RecipeError, SftuiError
from sftui.model import IGNORE_INDEX, NOWHERE, Conversation, Example, Kind, Pack, Part, RenderedText
from sftui.recipe import Recipe
from sftui.tokens import LoadedTokenizer
from sftui.trainers.llamafactory import LlamaFactoryOptions
from sftui.trainers.llamafactory.formats import DROPPED
from sftui.trainers.llamafactory.registry import stop
from sftui.trainers.packing import pack_wrapped
from sftui.trainers.pieces import spanned

STAGE = "pt"
LLAMA3_EOS = "<|end_of_text|>"
"""What ends a text under the template llama3, whatever the tokenizer's EOS is."""

ADD_BOS = "add_bos_token"


def is_pretraining(recipe: Recipe) -> bool:
    """Whether the recipe is of stage pt."""
    return LlamaFactoryOptions.of(recipe).stage == STAGE


def begins_with_bos(recipe: Recipe, tokenizer: LoadedTokenizer) -> bool:
    """Whether the tokenizer's attribute `add_bos_token` is set, which is not whether it adds BOS.

    RecipeError where neither its files nor the recipe tell (see `bos_setting`).
    """
    said = LlamaFactoryOptions.of(recipe).add_bos_token
    if said is not None:
        return said
    if tokenizer.facts.adds_bos:
        raise RecipeError(
            "sftui cannot tell whether LLaMA-Factory adds BOS to text",
            why=f"it reads the tokenizer's attribute {ADD_BOS}, but the tokenizer's files are not available",
            fix=f"set own.{ADD_BOS}to false if the tokenizer has a tokenizer.json, otherwise to the value in its"
            " config",
        )
    return False


def bos_setting(name: str | None, revision: str | None) -> bool | None:
    """`add_bos_token` of a local or cached tokenizer as transformers 5 sets it; None where its files are not at hand.

    Beside a tokenizer.json the key of tokenizer_config.json is ignored and the attribute is false
    (tokenization_utils_base.py, `_from_pretrained`), also where the post-processor adds BOS.
    """
    from sftui.tokens.loading.locate import locate
    from sftui.tokens.loading.reference import config_of

    try:
        place = locate(name or "", revision)
    except SftuiError:
        return None
    if place.json is not None:
        return False
    return config_of(place.folder).get(ADD_BOS) is True if place.folder is not None else None


def as_text(conversation: Conversation) -> Conversation:
    """The row as its first message's text; answers are not read."""
    first = next((message for message in conversation.messages if message.role != "system"), None)
    broken = conversation.format != "alpaca" and DROPPED in conversation.extra  # its list of prompts is empty then
    if broken or first is None or not isinstance(first.content, str):
        raise stop(ConversationError, "the row has no text")
    return Conversation(Kind.TEXT, "text", text=first.content, extra={})


def render(text: str, recipe: Recipe, tokenizer: LoadedTokenizer) -> RenderedText:
    """BOS (where `add_bos_token` is set and rows are not packed), the text, EOS."""
    facts = tokenizer.facts
    end = LLAMA3_EOS if recipe.render.template == "llamafactory/llama3" else facts.eos_token or ""
    begin = facts.bos_token or "" if begins_with_bos(recipe, tokenizer) and recipe.pack.strategy == "none" else ""
    return spanned([(begin, NOWHERE, Part.BOS), (text, 0, Part.CONTENT), (end, 0, Part.TERMINATOR)])


def pack(examples: Sequence[Example], size: int | None, recipe: Recipe, tokenizer: LoadedTokenizer) -> Iterator[Pack]:
    """The rows end to end in blocks of `size`; what is left over goes, and a block's first token becomes BOS where
    `add_bos_token` is set."""
    if not size:
        raise RecipeError("LLaMA-Factory packs texts into blocks of cutoff_len", fix="set length.max")
    bos = tokenizer.facts.bos_id if begins_with_bos(recipe, tokenizer) else None
    for made in pack_wrapped(examples, size):
        if len(made.input_ids) < size:
            return
        if bos is not None:
            label = IGNORE_INDEX if bos == tokenizer.facts.pad_id else bos
            made = replace(made, input_ids=(bos, *made.input_ids[1:]), labels=(label, *made.labels[1:]))
        yield made
