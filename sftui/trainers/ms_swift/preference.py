"""ms-swift's `swift rlhf` with rlhf_type dpo, orpo, cpo, simpo and rm: a chosen and a rejected side of each row; with
kto: an answer and its label.

Source: ms-swift 4.6.0, template/base.py (_rlhf_encode, _rlhf_data_collator), template/template_inputs.py
(TemplateInputs) and arguments/rlhf_args.py. Each side is encoded, labelled and cut by itself as in supervised
fine-tuning; a row of which one side is left out is left out. Where a reward model's score is read: transformers 5.19.0,
modeling_layers.py GenericForSequenceClassification.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sftui.conversations import Detection
from sftui.conversations.detected import refusal
from sftui.errors import RecipeError
from sftui.labels import dropped_labels
from sftui.model import Conversation, Labels, RenderedText, Row, Tokens
from sftui.recipe import Recipe
from sftui.trainers.base import MessagesTarget, ShapedRow, Toolbox
from sftui.trainers.ms_swift import MsSwiftOptions
from sftui.trainers.ms_swift.registry import TITLE
from sftui.trainers.ms_swift.rows import DROPPED
from sftui.trainers.ms_swift.trainer import MsSwift, mapping_of
from sftui.trainers.pairs import PairTrainer, Side, scored, with_desirability, with_verdict

WEIGHTS = "the loss of preferences ignores weights: own.loss_scale only decides which tokens it compares"
DRAWN = (
    "the KL partners of KTO are not shown, because ms-swift draws them; it also drops a row whose partner has the same"
    " answer or does not fit max_length"
)
STEPS = "KTO needs gradient_accumulation_steps in the config: without it ms-swift 4.6 stops with TypeError"
LABEL = "label"
UNLIKE = "this recipe trains every answer of a chat; without loss_scale, `swift rlhf` compares only the last round"


class _Rlhf(MsSwift):
    """Sequences of `swift rlhf`."""

    def remarks(self, recipe: Recipe) -> tuple[str, ...]:
        every = recipe.mask.rule == "parts" and recipe.mask.turns == "all"
        whole = every and recipe.loss.objective in ("dpo", "cpo", "kto")
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


class MsSwiftPairs(PairTrainer, _Rlhf):
    """Pairs of answers."""

    def messages_target(self, recipe: Recipe) -> MessagesTarget:
        columns = {"chosen": "messages", "rejected": "rejected_messages"}
        return replace(super().messages_target(recipe), columns=columns)

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


class MsSwiftKto(_Rlhf):
    """Single answers, each with whether it is desirable; its KL partner comes of rows in a drawn order.

    Source: ms-swift 4.6.0, pipelines/train/kto.py and template/base.py (_kto_encode).
    """

    def messages_target(self, recipe: Recipe) -> MessagesTarget:
        return replace(super().messages_target(recipe), columns={"chosen": "messages", "label": LABEL})

    def remarks(self, recipe: Recipe) -> tuple[str, ...]:
        return (*super().remarks(recipe), STEPS, DRAWN)

    def detect(self, rows: Sequence[Row], recipe: Recipe) -> Detection:
        found = super().detect(rows, recipe)
        named = mapping_of(MsSwiftOptions.of(recipe).columns).items()
        column = next((theirs for theirs, ours in named if ours == LABEL), LABEL)
        if found.refused is None and not any(column in (row.data or {}) for row in rows):
            what = f"there is no column `{column}`: {TITLE} raises KeyError: 'label'"
            return refusal(what, fix="add it: true for an answer that is wanted, else false")
        return replace(found, fields={**found.fields, LABEL: column})

    def convert(self, row: Row, detected: Detection, recipe: Recipe) -> Conversation:
        made = super().convert(row, detected, recipe)
        if DROPPED in made.extra:
            return made
        if (role := made.messages[-1].role) != "assistant":
            what = f"{TITLE} stops: the last message has the role {role} (AssertionError)"
            why = "the last message of each row is the KL partner of another one"
            raise RecipeError(what, why=why, fix="drop the row")
        return with_desirability(made, (row.data or {}).get(detected.fields[LABEL]), f"{TITLE} stops")

    def label(
        self, tokens: Tokens, rendered: RenderedText, shaped: ShapedRow, recipe: Recipe, tools: Toolbox
    ) -> tuple[Tokens, Labels]:
        tokens, labels = super().label(tokens, rendered, shaped, recipe, tools)
        return tokens, with_verdict(labels, shaped.conversation)
