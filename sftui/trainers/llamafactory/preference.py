"""LLaMA-Factory's stages `dpo`, `rm` and `kto`: a chosen and a rejected answer to one prompt, or one with a tag.

Source: llamafactory 0.9.5, data/processor/pairwise.py and feedback.py, data/collator.py and train/rm/trainer.py. Both
sides have the prompt that is written for the chosen one, and one cut: by the longer answer. The score of a reward model
is read at the last token of each. For KTO's KL term each prompt also gets the answer of the row before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sftui import labels as label_rules
from sftui.errors import RecipeError
from sftui.model import SIDES, Conversation, Example, Labels, RenderedText, Tokens
from sftui.recipe import Recipe
from sftui.runs import Stretch, merged
from sftui.trainers.base import MessagesTarget, ShapedRow, Toolbox
from sftui.trainers.llamafactory import LlamaFactoryOptions, encode, pretrain
from sftui.trainers.llamafactory.trainer import LlamaFactory, drawn_of, starts_of
from sftui.trainers.pairs import PairTrainer, PartnerTrainer, Side, scored


class _Answers(LlamaFactory):
    """Sequences of a prompt and one answer, which is trained up to its end."""

    def shape(self, conversation: Conversation, recipe: Recipe) -> ShapedRow:
        refuse_supervised(recipe)
        return super().shape(conversation, recipe)

    def labelled(self, sides: Sequence[Side], recipe: Recipe, tools: Toolbox) -> Iterator[tuple[Tokens, Labels]]:
        """Sequences with their labels, of which the longest answer decides how all are cut."""
        appended = int(self._survey(recipe, tools).template.efficient_eos)
        parted = [_parted(tokens, shaped, appended) for tokens, _, shaped in sides]
        longest = max(len(tokens) - prompt for (tokens, _, _), (_, prompt) in zip(sides, parted))
        for (tokens, _, shaped), (stretches, prompt) in zip(sides, parted):
            yield tokens, _labels(tokens, shaped, stretches, (prompt, longest), recipe, appended)


class LlamaFactoryPairs(PairTrainer, _Answers):
    """Pairs of answers."""

    def messages_target(self, recipe: Recipe) -> MessagesTarget:
        columns = {"prompt": "messages", **{name: name for name in SIDES}}
        return replace(super().messages_target(recipe), columns=columns, single=True)

    def label_sides(self, sides: Sequence[Side], recipe: Recipe, tools: Toolbox) -> Iterator[tuple[Tokens, Labels]]:
        for tokens, labels in self.labelled(sides, recipe, tools):
            yield tokens, labels if recipe.loss.objective == "dpo" else scored(tokens, labels.kept)


class LlamaFactoryKto(PartnerTrainer, _Answers):
    """Answers that are desired or not."""

    def messages_target(self, recipe: Recipe) -> MessagesTarget:
        return replace(super().messages_target(recipe), columns={"chosen": "messages", "label": "kto_tag"})

    def remarks(self, recipe: Recipe) -> tuple[str, ...]:
        drawn = "the KL partners of KTO are not shown, because val_size draws the rows"
        return (*super().remarks(recipe), drawn if self.held_out(recipe) is not None else "")

    def label(
        self, tokens: Tokens, rendered: RenderedText, shaped: ShapedRow, recipe: Recipe, tools: Toolbox
    ) -> tuple[Tokens, Labels]:
        return next(self.labelled([(tokens, rendered, shaped)], recipe, tools))

    def partner(self, row: int, recipe: Recipe) -> int:
        group, most = recipe.pack.group, LlamaFactoryOptions.of(recipe).max_samples
        found = row - 1 if row % group else row + group - 1
        return found if most is None else min(found, most - 1)

    def partnered(self, row: Conversation, other: Conversation, recipe: Recipe, tools: Toolbox) -> Example:
        shaped = ShapedRow(row.with_messages((*row.messages[:-1], other.messages[-1])))
        rendered = self.render(shaped, recipe, tools, spans=False)
        tokens = self.tokenize(rendered, shaped, recipe, tools, places=False)
        tokens, labels = self.label(tokens, rendered, shaped, recipe, tools)
        return self.examples(tokens, labels, shaped, recipe, tools)[0]


def refuse_supervised(recipe: Recipe) -> None:
    """RecipeError for what LLaMA-Factory has under supervised fine-tuning alone (hparams/parser.py)."""
    if pretrain.is_pretraining(recipe):
        raise RecipeError("LLaMA-Factory has one stage, and the recipe two", fix="set own.stage to sft")
    if recipe.mask.rule == "all" or recipe.mask.turns == "last":
        what = "`train_on_prompt` or `mask_history` cannot be set as True except SFT"
        raise RecipeError(what, fix="set mask.rule to parts and mask.turns to all")
    if recipe.pack.strategy != "none":
        raise RecipeError("LLaMA-Factory packs no preferences", fix="set pack.strategy to none")


def _parted(tokens: Tokens, shaped: ShapedRow, appended: int) -> tuple[list[Stretch], int]:
    """The tokens by turn, and how many of them are the prompt."""
    messages = shaped.conversation.messages
    stretches = encode.stretches(tokens, messages)
    return stretches, starts_of(stretches, len(tokens) - appended, encode.turn_count(messages))[-2]


def _labels(
    tokens: Tokens,
    shaped: ShapedRow,
    stretches: Sequence[Stretch],
    lengths: label_rules.Pair,
    recipe: Recipe,
    appended: int,
) -> Labels:
    """The labels of a sequence of a prompt and an answer, cut as these lengths are: the prompt loses its end."""
    prompt, most = lengths[0], recipe.length.max
    if most is not None:
        lengths = label_rules.shares(*lengths, most - bool(LlamaFactoryOptions.of(recipe).packing))
    source, target = lengths
    kept = merged([(0, source), (prompt, min(prompt + target, len(tokens)))])
    last = encode.turn_count(shaped.conversation.messages) - 1
    mask = drawn_of(stretches, len(tokens) - appended, last, replace(recipe.mask, turns="last"), appended)
    return label_rules.on_ids(tokens, mask, kept)
