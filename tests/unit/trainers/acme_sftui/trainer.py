"""Acme trains what the assistant says, with the weights that messages bring where it is told to (loss.weights), and
nothing of a row that a person ends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sftui.labels import weights_joined
from sftui.model import Conversation, Example, Pack
from sftui.recipe import Mask, Own, Recipe, changed, knob
from sftui.recipe_io import parse_yaml
from sftui.trainers import ShapedRow, Toolbox, Trainer
from sftui.trainers.config import DatasetRef, OpenedConfig

from . import TRAITS


@dataclass(frozen=True, slots=True)
class AcmeOptions(Own):
    """Keys of Acme's config without an equal elsewhere."""

    keep_asked: bool = knob(False, "rows that a person ends are kept")


class Acme(Trainer):
    """Every answer, headers left out."""

    traits = TRAITS
    usual = Recipe(TRAITS.name, own=AcmeOptions(), mask=Mask(rule="assistant"))

    def shape(self, conversation: Conversation, recipe: Recipe) -> ShapedRow:
        shaped = super().shape(conversation, recipe)
        asked = bool(conversation.messages) and conversation.messages[-1].role == "user"
        if asked and not AcmeOptions.of(recipe).keep_asked:
            return replace(shaped, dropped="a person has the last word: Acme drops the row")
        return shaped

    def pack(self, examples: Sequence[Example], recipe: Recipe, tools: Toolbox) -> Iterator[Pack]:
        """Two rows in each pack, end to end."""
        for first in range(0, len(examples), 2):
            held = [(index, 0, len(examples[index].input_ids)) for index in range(first, min(first + 2, len(examples)))]
            yield Pack(
                tuple(held),
                tuple(token for index, _, _ in held for token in examples[index].input_ids),
                tuple(label for index, _, _ in held for label in examples[index].labels),
                weights=weights_joined((examples[index], start, end) for index, start, end in held),
            )

    def read_config(self, path: str, text: str, version: str | None = None) -> OpenedConfig:
        config = parse_yaml(text, path)
        recipe = changed(self.preset(version), "tokenizer.name", config["acme_tokenizer"])
        return OpenedConfig(recipe.preset, path, text, (DatasetRef("data", (config["acme_data"],), recipe),))
