"""ms-swift's `swift rlhf` with rlhf_type dpo, orpo, cpo, simpo and rm: a chosen and a rejected side of each row.

Source: ms-swift 4.6.0, template/base.py (_rlhf_encode, _rlhf_data_collator), template/template_inputs.py
(TemplateInputs) and arguments/rlhf_args.py. Each side is encoded, labelled and cut by itself as in supervised
fine-tuning; a row of which one side is left out is left out. Where a reward model's score is read: transformers 5.19.0,
modeling_layers.py GenericForSequenceClassification.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sftui.errors import RecipeError
from sftui.model import Conversation, Labels, Tokens
from sftui.recipe import Recipe
from sftui.trainers.base import ShapedRow, Toolbox, dropped_labels
from sftui.trainers.ms_swift import MsSwiftOptions
from sftui.trainers.ms_swift.registry import TITLE
from sftui.trainers.ms_swift.trainer import MsSwift
from sftui.trainers.pairs import PairTrainer, Side, scored

WEIGHTS = "the loss of preferences ignores weights: own.loss_scale only decides which tokens it compares"
UNLIKE = "this recipe trains every answer of a chat; without loss_scale, `swift rlhf` compares only the last round"


class MsSwiftPairs(PairTrainer, MsSwift):
    """Pairs of answers."""

    def remarks(self, recipe: Recipe) -> tuple[str, ...]:
        whole = recipe.loss.objective in ("dpo", "cpo") and recipe.mask.rule == "parts" and recipe.mask.turns == "all"
        weighed = MsSwiftOptions.of(recipe).loss_scale is not None  # rlhf_trainers/ read no loss_scale
        return (*super().remarks(recipe), UNLIKE if whole else "", WEIGHTS if weighed else "")

    def shape(self, conversation: Conversation, recipe: Recipe) -> ShapedRow:
        if recipe.pack.strategy != "none" or recipe.batch.flatten:
            fix = "set pack.strategy to none and batch.flatten to false"
            raise RecipeError("sftui does not model packs and padding-free batches of preferences", fix=fix)
        if recipe.length.over == "split":
            what = f"{TITLE} stops: `--truncation_strategy split` is currently only supported for pre-training"
            raise RecipeError(what, fix="set length.over to drop")
        return super().shape(conversation, recipe)

    def label_sides(self, sides: Sequence[Side], recipe: Recipe, tools: Toolbox) -> Iterator[tuple[Tokens, Labels]]:
        both = list(super().label_sides(sides, recipe, tools))
        why = next((labels.dropped for _, labels in both if labels.dropped is not None), None)
        for tokens, labels in both:
            yield tokens, labels if why is None else dropped_labels(tokens, why)


class MsSwiftReward(MsSwiftPairs):
    """Both sides whole; the score is read at the last token that is not the pad token."""

    def label_sides(self, sides: Sequence[Side], recipe: Recipe, tools: Toolbox) -> Iterator[tuple[Tokens, Labels]]:
        pad = tools.tokenizer.facts.pad_id
        for tokens, labels in super().label_sides(sides, recipe, tools):
            yield tokens, labels if labels.dropped is not None else scored(tokens, labels.kept, pad)
