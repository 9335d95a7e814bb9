"""Trainers that prepare a chosen and a rejected side of each row, or give it the answer of another one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sftui import labels as label_rules
from sftui.conversations.detected import type_word
from sftui.errors import RecipeError
from sftui.model import DESIRABLE, IGNORE_INDEX, Batch, Conversation, Example, Labels, Reason, RenderedText, Tokens
from sftui.recipe import Recipe
from sftui.runs import Ranges, covered
from sftui.trainers.base import Examples, ShapedRow, TaggedIds, Toolbox, Trainer

Side = tuple[Tokens, RenderedText, ShapedRow]


def scored(tokens: Tokens, kept: Ranges, pad: int | None = None, notes: tuple[str, ...] = ()) -> Labels:
    """The one place where a reward model's score is read: the last token that is kept and does not pad (None: whatever
    it is)."""
    places = [at for start, end in kept for at in range(start, end)]
    at = next((at for at in reversed(places) if tokens.ids[at] != pad), places[0] if places else 0)
    before, behind = ((count, (False, Reason.CONTEXT)) for count in (at, len(tokens) - at - 1))
    mask = label_rules.drawn([before, (min(len(tokens), 1), (True, Reason.SCORED)), behind])
    return label_rules.on_ids(tokens, mask, kept, notes=notes)


def with_desirability(conversation: Conversation, label: object, stops: str) -> Conversation:
    """A row with whether its answer is wanted; RecipeError, which begins with `stops`, where its label is no number."""
    if not isinstance(label, (bool, int, float)):
        what = f"{stops}: its `label` is {type_word(label)}"
        raise RecipeError(what, why="it adds up the labels", fix="store true or false")
    return replace(conversation, extra={**conversation.extra, DESIRABLE: bool(label)})


def with_verdict(labels: Labels, conversation: Conversation) -> Labels:
    """The labels of an answer of KTO, with a note whether it is desirable."""
    wanted = "desirable" if conversation.extra[DESIRABLE] else "undesirable"
    return replace(labels, notes=(*labels.notes, f"the answer is {wanted}"))


class PairTrainer(Trainer):
    """The stages of `Trainer`, each of one side, but for those that see both."""

    def label_sides(self, sides: Sequence[Side], recipe: Recipe, tools: Toolbox) -> Iterator[tuple[Tokens, Labels]]:
        """`label` of the chosen and of the rejected side, each with a look at the other."""
        for tokens, rendered, shaped in sides:
            yield self.label(tokens, rendered, shaped, recipe, tools)

    def collate(self, examples: Sequence[Example], rows: Sequence[int], recipe: Recipe, tools: Toolbox) -> Batch:
        """The chosen sides of all rows, then the rejected ones; single answers as they come."""
        if not recipe.paired:
            return super().collate(examples, rows, recipe, tools)
        order = [*range(0, len(examples), 2), *range(1, len(examples), 2)]
        batch = super().collate([examples[at] for at in order], [rows[at] for at in order], recipe, tools)
        return replace(batch, notes=(*batch.notes, "the first half are the chosen sides, the second half the rejected"))


class BatchPartnerTrainer(Trainer):
    """A trainer whose KL partners are in the batch."""

    def together(self, recipe: Recipe) -> int:
        """How many answers in a row are each other's partners; 0 if the loss needs none."""
        return recipe.batch.size

    def stops(self, recipe: Recipe) -> tuple[str, ...]:
        return (NO_PARTNER,) if self.together(recipe) == 1 else ()

    def examples(self, tokens: Tokens, labels: Labels, shaped: ShapedRow, recipe: Recipe, tools: Toolbox) -> Examples:
        """Examples that hold prompt and answer, too, before any cut."""
        start, made = len(tokens) - covered(labels.ranges), super().examples(tokens, labels, shaped, recipe, tools)
        tag = (tokens.input_ids[:start], tokens.input_ids[start:])
        return tuple(replace(one, input_ids=TaggedIds.of(one.input_ids, tag), labels=one.labels) for one in made)

    def collate(self, examples: Sequence[Example], rows: Sequence[int], recipe: Recipe, tools: Toolbox) -> Batch:
        """A batch, and one of each row's prompt with the answer of the row before it (trl 1.16.0, kto_trainer.py)."""
        batch = super().collate(examples, rows, recipe, tools)
        if not self.together(recipe):
            return batch
        partners, most = list[Example](), recipe.length.max
        halves = [one.input_ids.tag for one in examples if isinstance(one.input_ids, TaggedIds)]
        for at, (prompt, _) in enumerate(halves):
            ids, masked = (*prompt, *halves[at - 1][1])[:most], (IGNORE_INDEX,) * len(prompt)
            partners.append(Example(ids, (*masked, *halves[at - 1][1])[:most], (1,) * len(ids)))
        beside = super().collate(partners, [rows[at - 1] for at in range(len(rows))], recipe, tools)
        note = "each row's KL partner is the answer of the row before it; the first row's is that of the last"
        alone = " (its own: a batch of one)" * (len(partners) == 1)
        return replace(batch, partners=beside, notes=(*batch.notes, note + alone))


NO_PARTNER = "KTO needs batches of at least two rows: its KL term comes from the other answers of the batch"


class PartnerTrainer(Trainer):
    """A trainer whose KL partners come of rows that need not be in the batch."""

    def together(self, recipe: Recipe) -> int:
        """How many stored rows in a row are each other's partners."""
        return recipe.pack.group

    def partner(self, row: int, recipe: Recipe) -> int:
        """The row whose answer a row also gets; one behind the last stands for the last."""
        raise NotImplementedError

    def partnered(self, row: Conversation, other: Conversation, recipe: Recipe, tools: Toolbox) -> Example:
        """The prompt of a row with the answer of the other."""
        raise NotImplementedError
