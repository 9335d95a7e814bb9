"""verl's supervised fine-tuning, 0.9: MultiTurnSFTDataset, the only dataset that its trainer has.

Source: verl 0.9.1 (github.com/volcengine/verl), trainer/sft_trainer.py, trainer/config/sft_trainer_engine.yaml,
utils/dataset/multiturn_sft_dataset.py, utils/dataset/dataset_utils.py (SFTTensorCollator), utils/tokenizer/,
workers/config/model.py and workers/utils/losses.py. Each message is rendered and encoded alone, the ids joined; of an
answer everything is trained but as many ids as a generation prompt has. Where the whole row, rendered at once, has
other ids the run stops. The recipe stands for the config so: mask.rule is `assistant`; length.over is data.truncation,
batch.flatten data.pad_mode `no_padding`, render.kwargs data.apply_chat_template_kwargs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sftui import labels as label_rules
from sftui.conversations import Detection
from sftui.errors import RecipeError, TemplateError
from sftui.labels import Verdict
from sftui.model import Batch, Conversation, Example, Labels, Reason, RenderedText, Row, Tokens, common_prefix
from sftui.recipe import Batch as BatchOptions
from sftui.recipe import Data, Length, Mask, Recipe, Render, Tokenize
from sftui.runs import as_runs, joined
from sftui.text import clip, many, visible
from sftui.tokens import LoadedTokenizer, ToEncode
from sftui.trainers.base import Examples, InlineTemplateTrainer, MessagesTarget, ShapedRow, TaggedIds, Toolbox, Totals
from sftui.trainers.held_out import HeldOut, SampledRows
from sftui.trainers.own_config import require
from sftui.trainers.processors import brings_processor
from sftui.trainers.remembering import last_asked
from sftui.trainers.verl import TRAITS, VerlOptions, formats
from sftui.trainers.verl.alone import MessagePieces, TemplateFrame, apart, frame_of, measured, token_parts

GEMMA2, GEMMA2_EOS = "gemma-2-2b-it", "<end_of_turn>"
"""The tokenizer whose EOS verl sets to another token (utils/tokenizer/tokenizer.py, hf_tokenizer)."""
FULL_BATCHES = "verl trains only full batches of data.train_batch_size: each epoch drops the remaining rows"
THINKS = (
    "verl passes enable_thinking = true to every template: data.enable_thinking_default is the text `none` in"
    " its own config, which Python treats as true"
)
OVERRULED = "data.enable_thinking_default overrides enable_thinking in data.apply_chat_template_kwargs"
PROCESSOR = (
    "the tokenizer's folder has a processor: if verl knows its class (Qwen-VL's, GLM-V's, Mllama's, Gemma 4's)"
    " it renders and encodes with it, with content as lists of parts; what is shown uses the tokenizer alone"
)
PADDED = "verl's engines support only pad_mode no_padding: with `right` they stop at the first batch (AssertionError)"
MISMATCH = "AssertionError: MultiTurnSFTDataset apply_chat_template to each turn separately and concat `input_ids`"


class Verl(InlineTemplateTrainer):
    """Messages one by one, answers trained behind as many ids as a generation prompt has."""

    traits = TRAITS
    usual = Recipe(
        TRAITS.name,
        own=VerlOptions(),
        data=Data(role_map={}),
        tokenize=Tokenize(mode="per_part"),
        mask=Mask(rule="assistant"),
        length=Length(max=1024, over="error"),
        batch=BatchOptions(size=256, pad_side="right", flatten=True),
    )
    inline = "custom", "custom_chat_template"

    def remarks(self, recipe: Recipe) -> tuple[str, ...]:
        own = VerlOptions.of(recipe)
        held = self.held_out(recipe)
        found = [FULL_BATCHES, *(() if held is None else (held.sentence(self.title),))]
        if own.enable_thinking_default is not None and "enable_thinking" in recipe.render.kwargs:
            found.append(OVERRULED)
        elif own.enable_thinking_default == VerlOptions().enable_thinking_default:
            found.append(THINKS)
        found += self.stops(recipe)
        if brings_processor(recipe):
            found.append(PROCESSOR)
        return tuple(found)

    def stops(self, recipe: Recipe) -> tuple[str, ...]:
        return () if recipe.batch.flatten else (PADDED,)

    def held_out(self, recipe: Recipe) -> HeldOut | None:
        own = VerlOptions.of(recipe)
        if own.train_max_samples is None or not own.shuffle:
            return None
        return SampledRows("data.train_max_samples", own.train_max_samples, own.seed, drawn=True)

    def stop_of(self, recipe: Recipe, totals: Totals) -> str | None:
        """It divides by the number of full batches (trainer/sft_trainer.py, fit)."""
        kept, size = totals.kept, recipe.batch.size
        if 0 < kept < size:
            error = "ZeroDivisionError: integer division or modulo by zero"
            return f"{self.title} stops: {many(kept, 'row')} do not fill a batch of {size} ({error})"
        return super().stop_of(recipe, totals)

    def detect(self, rows: Sequence[Row], recipe: Recipe) -> Detection:
        return formats.detect(rows, recipe)

    def convert(self, row: Row, detected: Detection, recipe: Recipe) -> Conversation:
        own = VerlOptions.of(recipe)
        most = None if own.shuffle else own.train_max_samples  # else any row may be drawn
        if most is not None and row.index >= most:
            return formats.unread(row, detected, most)
        return formats.convert(row, detected)

    def shape(self, conversation: Conversation, recipe: Recipe) -> ShapedRow:
        return ShapedRow(conversation, conversation.extra.get(formats.DROPPED))

    def tokenizer_of(self, tokenizer: LoadedTokenizer, recipe: Recipe) -> LoadedTokenizer:
        """With EOS as the pad token where there is none (set_pad_token_id)."""
        made = super().tokenizer_of(tokenizer, recipe)
        if GEMMA2 in (recipe.tokenizer.name or "") and recipe.tokenizer.eos_token is None:
            made = made.overriding(eos=GEMMA2_EOS)
        facts = made.facts
        return made if facts.pad_id is not None or facts.eos_id is None else made.overriding(pad=facts.eos_token)

    def messages_target(self, recipe: Recipe) -> MessagesTarget:
        return replace(super().messages_target(recipe), tools_in_each_row=True)

    def survey(self, first: Conversation | None, recipe: Recipe, tools: Toolbox) -> TemplateFrame:
        return measured(recipe, tools)

    def render_options(self, recipe: Recipe, tokenizer: LoadedTokenizer) -> Render:
        return _options(recipe)

    def render(self, shaped: ShapedRow, recipe: Recipe, tools: Toolbox, *, spans: bool = True) -> RenderedText:
        options = self.render_options(recipe, tools.tokenizer)
        if shaped.dropped is None:
            return apart(shaped.conversation, recipe, options, tools, spans=spans)
        try:
            return replace(apart(shaped.conversation, recipe, options, tools, spans=spans), whole=None)
        except TemplateError:
            return RenderedText("")

    def texts(
        self, rendered: RenderedText, shaped: ShapedRow, recipe: Recipe, tools: Toolbox, *, places: bool = True
    ) -> Iterator[ToEncode]:
        yield from super().texts(rendered, shaped, recipe, tools, places=places)
        if isinstance(rendered, MessagePieces) and rendered.whole is not None:
            yield ToEncode(rendered.whole, False)

    def tokenize(
        self, rendered: RenderedText, shaped: ShapedRow, recipe: Recipe, tools: Toolbox, *, places: bool = True
    ) -> Tokens:
        tokens = super().tokenize(rendered, shaped, recipe, tools, places=places)
        if isinstance(rendered, MessagePieces) and rendered.whole is not None:
            ids, whole = tokens.input_ids, tools.tokenizer.ids(rendered.whole, False)
            if ids != whole:
                tokens = _mismatched(tokens, common_prefix(ids, whole), shaped.conversation, recipe)
        if tokens.placed and rendered.spans:
            tokens = replace(tokens, parts=joined(token_parts(tokens.starts, rendered.spans)))
        return tokens

    def label(
        self, tokens: Tokens, rendered: RenderedText, shaped: ShapedRow, recipe: Recipe, tools: Toolbox
    ) -> tuple[Tokens, Labels]:
        cuts_left = recipe.length.over == "cut_left" and not recipe.batch.flatten  # which pad_mode right alone can do
        require(recipe, "mask.rule", *(() if cuts_left else ("length.over",)))
        mask = label_rules.drawn(_verdicts(tokens, shaped.conversation, frame_of(recipe, tools).header))
        size, most = len(tokens), recipe.length.max
        if recipe.length.over == "error" and most is not None and size > most:
            raise RecipeError(
                f"verl stops at this row: it has {size:,} tokens",
                why=f"ValueError: sequence_length={size} is larger than self.max_length={most}",
                fix="raise length.max (data.max_length), set length.over to cut_right (data.truncation right), or"
                " remove the row",
            )
        kept, dropped = label_rules.keep(size, recipe.length)
        return tokens, label_rules.on_ids(tokens, mask, kept, dropped, rendered.estimated)

    def examples(self, tokens: Tokens, labels: Labels, shaped: ShapedRow, recipe: Recipe, tools: Toolbox) -> Examples:
        """Of a row of which the beginning was cut off position ids begin behind that."""
        made = super().examples(tokens, labels, shaped, recipe, tools)
        start = labels.kept[0][0] if labels.kept else 0
        return made if not start else tuple(replace(one, input_ids=TaggedIds.of(one.input_ids, start)) for one in made)

    def collate(self, examples: Sequence[Example], rows: Sequence[int], recipe: Recipe, tools: Toolbox) -> Batch:
        """Rows end to end, each with its own position ids; with pad_mode `right` as the dataset pads them."""
        if not recipe.batch.flatten:
            padded = super().collate(examples, rows, recipe, tools)
            width = len(padded.input_ids[0]) if padded.input_ids else 0
            starts = (ids.tag if isinstance(ids := one.input_ids, TaggedIds) else 0 for one in examples)
            placed = (range(at, at + len(one.input_ids)) for at, one in zip(starts, examples))
            positions = tuple((*places, *(0,) * (width - len(places))) for places in placed)
            return replace(padded, position_ids=positions)
        return label_rules.end_to_end(examples, rows, "no_padding: rows as one nested tensor, shown end to end")


@last_asked
def _options(recipe: Recipe) -> Render:
    """With enable_thinking, which a column of the rows may say otherwise; no system text is put in."""
    default, options = VerlOptions.of(recipe).enable_thinking_default, recipe.render
    kwargs = options.kwargs if default is None else {**options.kwargs, "enable_thinking": default}
    return replace(options, kwargs=kwargs, inject_system=None)


def _mismatched(tokens: Tokens, at: int, conversation: Conversation, recipe: Recipe) -> Tokens:
    """The tokens with a note of where they part from the whole; RecipeError where verl stops at that."""
    owners = as_runs(tokens.messages)
    number = owners[min(at, len(owners) - 1)] if len(owners) else 0
    messages = conversation.messages
    where = messages[number].origin if 0 <= number < len(messages) else "the row"
    place = f"{where} (`{visible(clip(messages[number].role, 40))}`), token {at:,}"
    if VerlOptions.of(recipe).ignore_input_ids_mismatch:
        note = f"the messages one by one give different ids from the whole row, first in {place}; verl trains those"
        return replace(tokens, notes=(*tokens.notes, note))
    raise RecipeError(
        f"verl stops at this row: its messages one by one give different ids from the whole row, first in {place}",
        why=MISMATCH,
        fix="use a template that renders each message the same alone and in the row (model.custom_chat_template), or"
        " set own.ignore_input_ids_mismatch to true (data.ignore_input_ids_mismatch)",
    )


def _verdicts(tokens: Tokens, conversation: Conversation, header: int) -> Iterator[Verdict]:
    """What is trained of each message, and why."""
    for start, end, number in as_runs(tokens.messages).runs():
        if conversation.messages[number].data["role"] != "assistant":
            yield end - start, (False, Reason.ROLE)
            continue
        begins = min(start + header, end)
        yield begins - start, (False, Reason.HEADER)
        yield from label_rules.answered(tokens, begins, end, Reason.ASSISTANT)
