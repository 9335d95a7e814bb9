"""TRL's DPOTrainer: a chosen and a rejected answer to one prompt.

Source: trl 1.16.0 and 1.14.1, trl/trainer/dpo_trainer.py `_prepare_dataset` and DataCollatorForPreference, and
trl/data_utils.py `extract_prompt`. The answers begin where the ids of the prompt alone part from those of either whole
side; before 1.15 at as many ids as the prompt alone has, whatever those are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sftui import labels as label_rules
from sftui.conversations import Detection
from sftui.conversations.convert import to_sides
from sftui.conversations.detected import NO_ROW, refusal, type_word
from sftui.errors import RecipeError
from sftui.flat import covered, flat
from sftui.model import (
    NOWHERE,
    Conversation,
    Kind,
    Labels,
    Part,
    RenderedText,
    Row,
    Tokens,
    common_prefix,
)
from sftui.recipe import Recipe
from sftui.runs import Runs, as_runs, clipped, joined
from sftui.trainers.base import ESTIMATED, ShapedRow, Toolbox, dropped_labels
from sftui.trainers.own_config import require
from sftui.trainers.pairs import PairTrainer, Side
from sftui.trainers.trl import formats
from sftui.trainers.trl.formats import is_messages, refuse_arguments, refuse_empty_tools
from sftui.trainers.trl.trainer import STOPS, UNKNOWN, Trl, refuse_unpadded

SIDES = ("chosen", "rejected")


class TrlDpo(PairTrainer, Trl):
    """Pairs of answers; each is trained up to its end, the prompt is not."""

    def detect(self, rows: Sequence[Row], recipe: Recipe) -> Detection:
        first = next((row.data for row in rows if isinstance(row.data, Mapping)), None)
        if first is None:
            return NO_ROW
        columns = dict.fromkeys(key for row in rows if isinstance(row.data, Mapping) for key in row.data)
        if "image" in columns or "images" in columns:
            why = "TRL prepares vision rows in its collator with a processor, which sftui does not model"
            return refusal("the dataset has images", why)
        missing = [name for name in SIDES if name not in columns]
        if missing:
            what = f"DPO needs the columns `chosen` and `rejected`: TRL raises KeyError: '{missing[0]}'"
            return refusal(what, fix="rename the columns, or set loss.objective to sft")
        refused = formats.by_chance(first) or formats.unread_variables(rows, columns)
        if refused is not None:
            return Detection("auto", refused=refused)
        explicit = "prompt" in columns
        fields = {name: name for name in (*["prompt"] * explicit, *SIDES)}
        where = "columns `prompt`, `chosen` and `rejected`" if explicit else "columns `chosen` and `rejected`"
        begin = "" if explicit else "; the prompt is what both begin with"
        return formats.as_it_stands("preference", fields, columns, f"TRL: {where}{begin}")

    def convert(self, row: Row, detected: Detection, recipe: Recipe) -> Conversation:
        data: Mapping[str, Any] = row.data or {}
        explicit = "prompt" in detected.fields
        asked = ["prompt", *SIDES] if explicit else [*SIDES]
        for name in asked:
            if not isinstance(data.get(name), (str, list)) or (not data[name] and isinstance(data[name], list)):
                value = "an empty list" if data.get(name) == [] else type_word(data.get(name))
                raise RecipeError(f"{STOPS}: its `{name}` is {value}", fix="drop the row")
        if len({is_messages(data[name]) for name in asked}) > 1:
            why = "some of its columns contain messages with a role and some do not, and TRL checks only one of them"
            raise RecipeError(UNKNOWN, why=why, fix="store all of them as text, or all as messages")
        if not is_messages(data["chosen"]) and not all(isinstance(data[name], str) for name in asked):
            raise RecipeError(
                f"{STOPS}: it takes its lists for text", fix="add a role to the first message of each list"
            )
        at = None if explicit else _parting(data["chosen"], data["rejected"])
        conversation = to_sides(row, detected, recipe.data, at)
        for side in conversation.sides:
            refuse_empty_tools(row, detected, side, self.title)
        return conversation

    def shape(self, conversation: Conversation, recipe: Recipe) -> ShapedRow:
        require(recipe, "mask.rule")
        if recipe.mask.rule not in ("auto", "completion"):
            why = f"DPO trains the answers whatever mask.rule says, and it says {recipe.mask.rule}"
            raise RecipeError("sftui does not model this recipe under DPO", why=why, fix="set mask.rule to auto")
        if recipe.pack.strategy != "none" or recipe.batch.flatten:
            fix = "set pack.strategy to none and batch.flatten to false"
            raise RecipeError("DPO neither packs rows nor flattens batches", fix=fix)
        refuse_arguments(conversation, self.title)
        return ShapedRow(conversation, None, 1 if conversation.kind is Kind.STRINGS else conversation.prompt_messages)

    def _appends_eos(self, conversation: Conversation, recipe: Recipe, tools: Toolbox) -> bool:
        if tools.survey is True:
            return False
        if tools.tokenizer.facts.eos_token is None:
            why = "it appends the EOS token to each answer, but the tokenizer has none"
            raise RecipeError(STOPS, why=why, fix="set tokenizer.eos_token")
        return True

    def label_sides(self, sides: Sequence[Side], recipe: Recipe, tools: Toolbox) -> Iterator[tuple[Tokens, Labels]]:
        both = [tokens for tokens, _, _ in sides]
        prefix = recipe.mask.boundary == "common_prefix"
        for (tokens, rendered, shaped), other in zip(sides, reversed(both)):
            prompt = tokens.prompt if tokens.prompt is not None else flat(())
            own = replace(tokens, shared=common_prefix(prompt, other.ids)) if prefix else _behind_prompt(tokens)
            yield self.label(own, rendered, shaped, recipe, tools)

    def label(
        self, tokens: Tokens, rendered: RenderedText, shaped: ShapedRow, recipe: Recipe, tools: Toolbox
    ) -> tuple[Tokens, Labels]:
        require(recipe, "length.over")
        refuse_unpadded(tools)
        subject, length = label_rules.Subject(tokens, rendered, shaped.conversation), recipe.length
        drawn = label_rules.completion(subject, recipe.mask)
        prompt = len(tokens) - covered(label_rules.trained(drawn[0]))
        if length.max is not None and length.over == "cut_right" and prompt >= length.max:
            why = f"its prompt of {prompt} tokens fills max_length {length.max}: TRL silently drops the row"
            return tokens, dropped_labels(tokens, why)
        kept, _ = label_rules.keep(len(tokens), length)
        notes = () if rendered.exact else (ESTIMATED,)
        return tokens, label_rules.on_ids(tokens, drawn, kept, notes=notes)


def _parting(chosen: Sequence[Any], rejected: Sequence[Any]) -> int:
    """Where the prompt ends in what both sides begin with (`extract_prompt`); RecipeError where TRL stops."""
    at, least = 0, min(len(chosen), len(rejected))
    if not least:
        raise RecipeError(f"{STOPS}: one side is empty", why="it looks for the prompt in both", fix="drop the row")
    for at in range(least):
        if chosen[at] != rejected[at]:
            at -= chosen[at - 1] == " "
            break
    if not at and not isinstance(chosen, str):
        why = "its sides share no message, so that the prompt is an empty conversation"
        raise RecipeError(STOPS, why=why, fix="add a column `prompt`, or begin both sides with the same question")
    return at


def _behind_prompt(tokens: Tokens) -> Tokens:
    """The ids of the prompt alone, and behind as many those of the whole side: what TRL joined before 1.15."""
    boundary, prompt = tokens.boundary, tokens.prompt
    if boundary is None or prompt is None or boundary.clean:
        return tokens
    common, n = boundary.common, boundary.prompt_length
    unplaced = n - common

    def spliced(values: Sequence[Any], blank: Any) -> Runs[Any]:
        runs = as_runs(values)
        first, last = clipped(runs, 0, common), clipped(runs, n, len(tokens))
        return joined((end - start, value) for start, end, value in (*first, (0, unplaced, blank), *last))

    made = replace(tokens, ids=flat([*prompt, *tokens.ids[n:]]))
    if not tokens.placed:
        return made
    starts, ends = ((*one[:common], *[NOWHERE] * unplaced, *one[n:]) for one in (tokens.starts, tokens.ends))
    messages, parts = spliced(tokens.messages, NOWHERE), spliced(tokens.parts, Part.INJECTED)
    return replace(made, starts=starts, ends=ends, messages=messages, parts=parts)
