"""LLaMA-Factory's supervised fine-tuning with its v1 engine, 0.9.6.dev0.

Source: llamafactory 0.9.6.dev0 (github.com/hiyouga/LLaMA-Factory, ff6d4d1), src/llamafactory/v1: core/data_engine.py,
core/rendering/, core/utils/batching.py and collation.py, plugins/trainer_plugins/batching.py, trainers/sft_trainer.py.
Of a row it makes a sample for each answer that is trained, rendered up to it by the tokenizer's own template; trained
is what stands behind the prompt, with the answer's loss_weight. The recipe stands for the config so: length.max is
cutoff_len, batch.size micro_batch_size; batch.flatten and own.dynamic together are batching_strategy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sftui import labels as label_rules
from sftui.conversations import Detection
from sftui.errors import TemplateError
from sftui.model import (
    IGNORE_INDEX,
    NOWHERE,
    Batch,
    Boundary,
    Conversation,
    Example,
    Labels,
    Reason,
    RenderedText,
    Row,
    Sample,
    Tokens,
)
from sftui.recipe import Batch as BatchOptions
from sftui.recipe import Data, Length, Loss, Mask, Recipe, Render, Tokenize
from sftui.runs import flat, joined, together
from sftui.templates import ChatTemplate
from sftui.tokens import ToEncode, texts_of, tokenize
from sftui.trainers.base import InlineTemplateTrainer, MessagesTarget, ShapedRow, Toolbox, pick_template
from sftui.trainers.llamafactory_v1 import TRAITS, LlamaFactoryV1Options, formats, samples
from sftui.trainers.own_config import require
from sftui.trainers.processors import brings_processor
from sftui.trainers.versions import rendering_by

PROCESSOR = (
    "the tokenizer's folder has a processor: LLaMA-Factory v1 renders with it, passes content as lists of"
    " parts, and may use another template; what is shown uses the tokenizer alone"
)
ENCODED = Tokenize(mode="prompt_and_full", add_special_tokens=False)


class LlamaFactoryV1(InlineTemplateTrainer):
    """A sample for each answer, what stands behind its prompt trained with its weight."""

    traits = TRAITS
    usual = Recipe(
        TRAITS.name,
        own=LlamaFactoryV1Options(),
        data=Data(role_map=formats.ROLES, strings="plain", alpaca_prompt="newline", function_calls="tool_calls"),
        render=Render(template="tokenizer"),
        tokenize=ENCODED,
        mask=Mask(rule="completion"),
        length=Length(max=2048, over="cut_right"),
        batch=BatchOptions(size=1, pad_side="right"),
        loss=Loss(weights="float"),
    )
    inline = "custom", "custom_chat_template"

    def remarks(self, recipe: Recipe) -> tuple[str, ...]:
        found: list[str] = []
        if LlamaFactoryV1Options.of(recipe).dynamic:
            found.append(
                "a micro batch holds as many samples as fit into cutoff_len times micro_batch_size tokens;"
                " the last one is filled from the next epoch"
            )
        if not dropping(recipe):
            found.append("with this batching_strategy samples whose answer is beyond cutoff_len are cut, not dropped")
        if brings_processor(recipe):
            found.append(PROCESSOR)
        return tuple(found)

    def detect(self, rows: Sequence[Row], recipe: Recipe) -> Detection:
        return formats.detect(rows, recipe.data)

    def convert(self, row: Row, detected: Detection, recipe: Recipe) -> Conversation:
        return formats.convert(row, detected)

    def shape(self, conversation: Conversation, recipe: Recipe) -> ShapedRow:
        return ShapedRow(conversation)

    def needs(self, recipe: Recipe) -> tuple[bool, bool]:
        return recipe.mask.rule == "generation_tag", False

    def messages_target(self, recipe: Recipe) -> MessagesTarget:
        other = "it expects `messages` in its native format, where content is a list of parts with `type` and `value`"
        return MessagesTarget(self.title, other=other)

    def render(self, shaped: ShapedRow, recipe: Recipe, tools: Toolbox, *, spans: bool = True) -> RenderedText:
        template = self._template(shaped.conversation, recipe, tools)
        return samples.rendered(shaped.conversation, template, recipe, tools, spans=spans)

    def _template(self, conversation: Conversation, recipe: Recipe, tools: Toolbox) -> ChatTemplate:
        if any(template.source for template in tools.templates.values()):
            return pick_template(conversation, tools)
        from sftui.templates import builtin_template

        return builtin_template("chatml", rendering_by(recipe))

    def texts(
        self, rendered: RenderedText, shaped: ShapedRow, recipe: Recipe, tools: Toolbox, *, places: bool = True
    ) -> Iterator[ToEncode]:
        for sample in rendered.samples or (rendered,):
            yield from texts_of(sample, tools.tokenizer, ENCODED, places=places)

    def tokenize(
        self, rendered: RenderedText, shaped: ShapedRow, recipe: Recipe, tools: Toolbox, *, places: bool = True
    ) -> Tokens:
        if not rendered.samples:
            return tokenize(rendered, tools.tokenizer, ENCODED, places=places)
        made = [tokenize(sample, tools.tokenizer, ENCODED, places=places) for sample in rendered.samples]
        starts, ends = list[int](), list[int]()
        found: list[Sample] = []
        at, place = 0, 0
        for one, text in zip(made, rendered.samples):
            starts += [start if start == NOWHERE else start + place for start in one.starts]
            ends += [end if end == NOWHERE else end + place for end in one.ends]
            found.append(Sample(at, at + len(one), _boundary(one)))
            at, place = at + len(one), place + len(text.text)
        placed = (stretch for tokens in made if tokens.placed for stretch in together(tokens.messages, tokens.parts))
        owners = [(end - start, message, part) for start, end, message, part in placed]
        return Tokens(
            flat([token for one in made for token in one.ids]),
            tuple(starts),
            tuple(ends),
            joined((length, message) for length, message, _ in owners),
            joined((length, part) for length, _, part in owners),
            notes=tuple(dict.fromkeys(note for one in made for note in one.notes)),
            samples=tuple(found),
        )

    def label(
        self, tokens: Tokens, rendered: RenderedText, shaped: ShapedRow, recipe: Recipe, tools: Toolbox
    ) -> tuple[Tokens, Labels]:
        require(recipe, "mask.rule", "length.over")
        sample = samples.sample_of(shaped.conversation)
        held = tokens.samples or (Sample(0, len(tokens), _boundary(tokens)),)
        verdicts: list[label_rules.Verdict] = []
        weights: list[tuple[int, float]] = []
        kept: list[tuple[int, int]] = []
        for number, (one, length, weight) in enumerate(zip(held, sample.lengths, sample.weights)):
            if not one.boundary.clean:
                raise _unstable(number, len(held), length)
            begins, trains = one.start + one.boundary.prompt_length, weight > formats.LEAST
            verdicts.append((begins - one.start, (False, Reason.PROMPT)))
            weights += [(begins - one.start, 0.0), (one.end - begins, float(weight))]
            if trains:
                verdicts += label_rules.answered(tokens, begins, one.end, Reason.COMPLETION)
            else:
                verdicts.append((one.end - begins, (False, Reason.WEIGHT)))
            most = recipe.length.max
            end = one.end if most is None else min(one.end, one.start + most)
            if end == one.end or not dropping(recipe) or (end > begins and trains):
                kept.append((one.start, end))
        notes = [*rendered.estimated]
        if len(held) > 1:
            notes.append(f"{self.title} builds {len(held)} samples from this row, one for each trained answer")
        gone = len(held) - len(kept)
        if not kept:
            return tokens, label_rules.dropped_labels(tokens, f"no answer begins within cutoff_len {recipe.length.max}")
        if gone:
            notes.append(f"{gone} of {len(held)} samples are dropped: their answer begins beyond cutoff_len")
        mask = label_rules.drawn(verdicts)
        return tokens, label_rules.on_ids(tokens, mask, tuple(kept), notes=tuple(notes), weights=joined(weights))

    def examples(
        self, tokens: Tokens, labels: Labels, shaped: ShapedRow, recipe: Recipe, tools: Toolbox
    ) -> tuple[Example, ...]:
        return label_rules.examples_of(tokens, labels, recipe)

    def collate(self, examples: Sequence[Example], rows: Sequence[int], recipe: Recipe, tools: Toolbox) -> Batch:
        if recipe.batch.flatten:
            return _flat(examples, rows)
        batch = label_rules.collate(
            examples, rows, recipe.batch, pad_id=0, padding_side="right", notes=("input_ids are padded with the id 0",)
        )
        width = len(batch.input_ids[0]) if batch.input_ids else 0
        positions = (range(1, len(example.input_ids) + 1) for example in examples)
        return replace(batch, position_ids=tuple((*one, *(0,) * (width - len(one))) for one in positions))


def dropping(recipe: Recipe) -> bool:
    """Whether a sample whose answer lies beyond cutoff_len is dropped: by the strategy `normal` alone."""
    return not recipe.batch.flatten and not LlamaFactoryV1Options.of(recipe).dynamic


def _boundary(tokens: Tokens) -> Boundary:
    """Where the prompt of a sample ends; ValueError for tokens without one."""
    if tokens.boundary is None:
        raise ValueError("a sample is encoded next to its prompt")
    return tokens.boundary


def _unstable(number: int, count: int, length: int) -> TemplateError:
    which = f" of sample {number + 1} of {count} (up to messages[{length - 1}])" if count > 1 else ""
    return TemplateError(
        f"the prompt's ids{which} do not match the start of the whole row's ids",
        why=f"LLaMA-Factory v1 stops there: {REFUSED}",
        fix="choose a template that renders earlier turns the same with and without the answer, or set one as"
        " custom_chat_template",
    )


REFUSED = "prompt is not a token-prefix of the full sequence"


def _flat(examples: Sequence[Example], rows: Sequence[int]) -> Batch:
    """padding_free: one row, position ids from 0 in each sample, and no loss at the first token of all but the
    first."""
    made = []
    for number, one in enumerate(examples):
        labels, weights = one.labels, one.weights or joined([(len(one.labels), 1.0)])
        if number and labels:
            labels = (IGNORE_INDEX, *labels[1:])
            weights = joined([(1, 0.0), *((end - start, weight) for start, end, weight in weights[1:].runs())])
        made.append(replace(one, labels=labels, weights=weights))
    note = "padding-free: one row, no attention mask; it needs flash_attn: flash_attention_2"
    return label_rules.end_to_end(made, rows, note)
