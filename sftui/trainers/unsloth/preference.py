"""Unsloth's DPO, KTO, reward, ORPO and CPO: TRL's trainers, whose preparation of texts it leaves as it is.

Source: unsloth 2026.10, models/rl_replacements.py (what it changes in these trainers is for images, for rows of ids and
in the loss) and models/rl.py (max_length stays what the config says); trl 1.15.0, its newest, prepares as 1.16.0 does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sftui.conversations import Detection
from sftui.errors import RecipeError
from sftui.model import Labels, RenderedText, Row, Tokens
from sftui.recipe import Recipe, changed
from sftui.trainers.base import ShapedRow, Toolbox, Trainer
from sftui.trainers.pairs import PairTrainer, Side
from sftui.trainers.remembering import last_asked
from sftui.trainers.trl.odds import TrlOdds
from sftui.trainers.trl.preference import TrlDpo, TrlKto, TrlReward
from sftui.trainers.unsloth import TRAITS, UnslothOptions
from sftui.trainers.unsloth.trainer import Unsloth, newest


class _OfTrl(PairTrainer):
    """What all of them have in common."""

    traits, usual = TRAITS, Unsloth.usual
    held_out = Trainer.held_out

    def remarks(self, recipe: Recipe) -> tuple[str, ...]:
        length = "length.max is max_length of the config, 1024 where a script does not set it"
        return length, "Unsloth's models also cut what is longer than their max_seq_length"

    def detect(self, rows: Sequence[Row], recipe: Recipe) -> Detection:
        if not newest(recipe):
            what = f"sftui does not model {recipe.loss.objective.upper()} before Unsloth 2026.10"
            raise RecipeError(what, why="it depends on the installed TRL", fix="set the version to 2026.10")
        own = UnslothOptions.of(recipe)
        if recipe.mask.rule == "markers" or own.standardize or own.text_from or own.formatting_func:
            why = "sftui shows the trainer of a script that gives it the rows as they are"
            raise RecipeError(f"{recipe.loss.objective.upper()} has no steps of its own", why=why, fix="remove them")
        return super().detect(rows, recipe)

    def label_sides(self, sides: Sequence[Side], recipe: Recipe, tools: Toolbox) -> Iterator[tuple[Tokens, Labels]]:
        return super().label_sides(sides, _joined(recipe), tools)

    def label(
        self, tokens: Tokens, rendered: RenderedText, shaped: ShapedRow, recipe: Recipe, tools: Toolbox
    ) -> tuple[Tokens, Labels]:
        return super().label(tokens, rendered, shaped, _joined(recipe), tools)


@last_asked
def _joined(recipe: Recipe) -> Recipe:
    """With the boundary of TRL 1.15; that of its own preparation is another."""
    return changed(recipe, "mask.boundary", "common_prefix")


class UnslothDpo(_OfTrl, TrlDpo):
    """Pairs of answers."""


class UnslothKto(_OfTrl, TrlKto):
    """Single answers, or those of pairs."""


class UnslothReward(_OfTrl, TrlReward):
    """Pairs, scored where they end."""


class UnslothOdds(_OfTrl, TrlOdds):
    """Pairs of ORPO and CPO."""

    needs_pad = False  # Unsloth gives a tokenizer one
