"""TRL's DPOTrainer: a chosen and a rejected answer to one prompt.

Source: trl 1.16.0 and 1.14.1, trl/trainer/dpo_trainer.py `_prepare_dataset` and DataCollatorForPreference, and
trl/data_utils.py `extract_prompt`. The answers begin where the ids of the prompt alone part from those of either whole
side; before 1.15 at as many ids as the prompt alone has, whatever those are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sftui import labels as label_rules
from sftui.conversations import Detection
from sftui.conversations.detected import refusal, type_word
from sftui.errors import RecipeError
from sftui.model import NOWHERE, SIDES, Conversation, Kind, Labels, Part, RenderedText, Row, Tokens, common_prefix
from sftui.recipe import Recipe
from sftui.runs import Runs, as_runs, clipped, covered, flat, joined
from sftui.trainers.base import MessagesTarget, ShapedRow, Toolbox, pad_token_id, to_convert
from sftui.trainers.own_config import require
from sftui.trainers.pairs import BatchPartnerTrainer, PairTrainer, Side, scored, with_desirability, with_verdict
from sftui.trainers.trl import SftOptions, formats
from sftui.trainers.trl.formats import is_messages, refuse_arguments, refuse_empty_tools
from sftui.trainers.trl.trainer import STOPS, UNKNOWN, Trl, refuse_unpadded

READY = ("chosen_ids", "rejected_ids")
"""Prepared sides, which a reward model takes as they are."""


class TrlDpo(PairTrainer, Trl):
    """Pairs of answers; each is trained up to its end, the prompt is not."""

    implicit = "the prompt is what both sides begin with"
    """What rows without a column `prompt` are."""

    def detect(self, rows: Sequence[Row], recipe: Recipe) -> Detection:
        head = formats.head_of(rows)
        if isinstance(head, Detection):
            return head
        first, columns = head
        refused = formats.by_chance(first) or formats.unread_variables(rows, columns)
        if refused is not None:
            return Detection("auto", refused=refused)
        needed = self.columns_needed(columns)
        if missing := [name for name in needed if name not in columns]:
            names = " and ".join(f"`{name}`" for name in needed)
            what = f"{recipe.loss.objective.upper()} needs the columns {names}: TRL raises KeyError: '{missing[0]}'"
            return refusal(what, fix="rename the columns, or set loss.objective to sft")
        asked = [*["prompt"] * ("prompt" in columns and "prompt" not in needed), *needed]
        begin = "" if "prompt" in asked else f"; {self.implicit}"
        reason = f"TRL: columns {', '.join(f'`{name}`' for name in asked)}{begin}"
        shape = "preference" if "chosen" in needed else "unpaired"
        return formats.as_it_stands(shape, {name: name for name in asked}, columns, reason)

    def messages_target(self, recipe: Recipe) -> MessagesTarget:
        return replace(super().messages_target(recipe), columns={name: name for name in ("prompt", *SIDES)})

    def columns_needed(self, columns: Collection[str]) -> tuple[str, ...]:
        """Those without which TRL stops."""
        return SIDES

    def convert(self, row: Row, detected: Detection, recipe: Recipe) -> Conversation:
        data: Mapping[str, Any] = row.data or {}
        asked = [name for name in detected.fields if name in ("prompt", "completion", *SIDES)]
        kinds = {is_messages(data.get(name)) for name in asked}
        for name in asked:
            value = data.get(name)
            if value == [] or not isinstance(value, (str, list)):
                word = "an empty list" if value == [] else type_word(value)
                raise RecipeError(f"{STOPS}: its `{name}` is {word}", fix="drop the row")
        if len(kinds) > 1:
            why = "some of its columns contain messages with a role and some do not, and TRL checks only one of them"
            raise RecipeError(UNKNOWN, why=why, fix="store all of them as text, or all as messages")
        if True not in kinds and not all(isinstance(data[name], str) for name in asked):
            why = "the first message of its lists has no `role`, so TRL reads them as text"
            raise RecipeError(STOPS, why=why, fix="add a role to the message")
        at = None if "prompt" in asked else self.parting(data["chosen"], data["rejected"])
        conversation = to_convert()(row, detected, recipe.data, at)
        refuse_empty_tools(row, detected, conversation, self.title)
        return conversation

    def parting(self, chosen: Sequence[Any], rejected: Sequence[Any]) -> int:
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

    def shape(self, conversation: Conversation, recipe: Recipe) -> ShapedRow:
        require(recipe, "mask.rule")
        name = recipe.loss.objective.upper()
        if recipe.mask.rule not in ("auto", "completion"):
            raise RecipeError(f"{name} has no mask.rule {recipe.mask.rule}", fix="set mask.rule to auto")
        if recipe.pack.strategy != "none" or recipe.batch.flatten:
            fix = "set pack.strategy to none and batch.flatten to false"
            raise RecipeError(f"{name} neither packs rows nor flattens batches", fix=fix)
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
            own: Any = tokens if prefix else behind_prompt(tokens)
            own.shared = common_prefix(prompt, other.ids) if prefix else None
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
            return tokens, label_rules.dropped_labels(tokens, why)
        kept, _ = label_rules.keep(len(tokens), length)
        return tokens, label_rules.on_ids(tokens, drawn, kept, notes=rendered.estimated)


class TrlKto(BatchPartnerTrainer, TrlDpo):
    """Single answers, each with whether it is desirable, or those of pairs.

    Source: trl 1.16.0, trl/trainer/kto_trainer.py `_prepare_dataset` and DataCollatorForUnpairedPreference, and
    trl/data_utils.py `unpair_preference_dataset`: of 1,000 pairs first all chosen answers, then all rejected ones.
    """

    def together(self, recipe: Recipe) -> int:
        return recipe.batch.size if estimates_kl(recipe) else 0

    def messages_target(self, recipe: Recipe) -> MessagesTarget:
        columns = {"prompt": "prompt", "chosen": "completion", "label": "label"}
        return replace(super().messages_target(recipe), columns=columns)

    def columns_needed(self, columns: Collection[str]) -> tuple[str, ...]:
        return SIDES if {*SIDES} <= {*columns} else ("prompt", "completion", "label")

    def convert(self, row: Row, detected: Detection, recipe: Recipe) -> Conversation:
        conversation = super().convert(row, detected, recipe)
        if conversation.rejected is not None:
            rejected = with_desirability(conversation.rejected, False, STOPS)
            return with_desirability(replace(conversation, rejected=rejected), True, STOPS)
        return with_desirability(conversation, (row.data or {}).get("label"), STOPS)

    def shape(self, conversation: Conversation, recipe: Recipe) -> ShapedRow:
        if recipe.length.over != "cut_right":
            raise RecipeError("KTO keeps the start of a long row", fix="set length.over to cut_right")
        return super().shape(conversation, recipe)

    label_sides = PairTrainer.label_sides  # two rows by now: each has its own end of the prompt

    def label(
        self, tokens: Tokens, rendered: RenderedText, shaped: ShapedRow, recipe: Recipe, tools: Toolbox
    ) -> tuple[Tokens, Labels]:
        tokens = tokens if recipe.mask.boundary == "common_prefix" else behind_prompt(tokens)
        tokens, labels = super().label(tokens, rendered, shaped, recipe, tools)
        return tokens, with_verdict(labels, shaped.conversation)


def estimates_kl(recipe: Recipe) -> bool:
    """Whether KTO's loss needs the KL partners."""
    return SftOptions.of(recipe).loss_type != "apo_zero_unpaired"


class TrlReward(TrlDpo):
    """Both sides whole; the score is read at the last token that is not the pad token.

    Source: trl 1.16.0, trl/trainer/reward_trainer.py `_prepare_dataset`, which drops a row where either side is too
    long, and transformers 5.24.0, modeling_layers.py GenericForSequenceClassification.
    """

    implicit = "each side is a whole conversation or text"

    def columns_needed(self, columns: Collection[str]) -> tuple[str, ...]:
        return READY if {*READY} <= {*columns} else SIDES

    def convert(self, row: Row, detected: Detection, recipe: Recipe) -> Conversation:
        if READY[0] not in detected.fields:
            return super().convert(row, detected, recipe)
        sides = [(row.data or {}).get(name) for name in READY]
        if not all(isinstance(ids, list) and all(type(one) is int for one in ids) for ids in sides):
            raise RecipeError(f"{STOPS}: its {' and '.join(READY)} are not lists of ids", fix="drop the row")
        chosen, rejected = (Conversation(Kind.TOKENS, "tokenized", input_ids=tuple(ids or ())) for ids in sides)
        return replace(chosen, rejected=rejected)

    def parting(self, chosen: Sequence[Any], rejected: Sequence[Any]) -> int:
        return 0

    def shape(self, conversation: Conversation, recipe: Recipe) -> ShapedRow:
        return replace(super().shape(conversation, recipe), prompt_messages=None)

    def label_sides(self, sides: Sequence[Side], recipe: Recipe, tools: Toolbox) -> Iterator[tuple[Tokens, Labels]]:
        refuse_unpadded(tools)
        longest, most = max(len(tokens) for tokens, _, _ in sides), recipe.length.max
        pad, _ = pad_token_id(recipe, tools)
        for tokens, rendered, _ in sides:
            if most is not None and longest > most:
                why = f"a side of {longest} tokens is longer than max_length {most}: TRL silently drops the row"
                yield tokens, label_rules.dropped_labels(tokens, why)
                continue
            yield tokens, scored(tokens, ((0, len(tokens)),), pad, rendered.estimated)


def behind_prompt(tokens: Tokens) -> Tokens:
    """The ids of the prompt alone, and behind as many those of the whole side: what TRL joined before 1.15."""
    boundary, prompt = tokens.boundary, tokens.prompt
    if boundary is None or prompt is None or boundary.clean:
        return tokens
    return with_ids(tokens, boundary.common, boundary.prompt_length, prompt[boundary.common :])


def with_ids(tokens: Tokens, start: int, end: int, ids: Sequence[int]) -> Tokens:
    """The tokens with other ids in the place of some, which stand for no text of the row."""

    def spliced(values: Sequence[Any], blank: Any) -> Runs[Any]:
        runs = as_runs(values)
        first, last = clipped(runs, 0, start), clipped(runs, end, len(tokens))
        return joined((until - at, value) for at, until, value in (*first, (0, len(ids), blank), *last))

    made = replace(tokens, ids=flat([*tokens.ids[:start], *ids, *tokens.ids[end:]]))
    if not tokens.placed:
        return made
    starts, ends = ((*one[:start], *[NOWHERE] * len(ids), *one[end:]) for one in (tokens.starts, tokens.ends))
    messages, parts = spliced(tokens.messages, NOWHERE), spliced(tokens.parts, Part.INJECTED)
    return replace(made, starts=starts, ends=ends, messages=messages, parts=parts)
