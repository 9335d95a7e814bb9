"""Unsloth: SFTTrainer with its own dataset preparation, and train_on_responses_only.

Source: unsloth_zoo 2026.10.7 and 2026.8.13, unsloth_zoo/dataset_utils.py `sft_prepare_dataset`,
`train_on_responses_only`; unsloth/models/rl.py (padding side right, length from the model). The recipe stands for the
arguments so: mask.rule `auto`, `completion`, `all` and `generation_tag` as for TRL; `markers` is
train_on_responses_only, with instruction_marker and response_marker (both none: found in the template) and mask.turns
`last` for last_response_only. recipe.own holds the others by their own names (see `own`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from sftui import labels as label_rules
from sftui.conversations import Detection
from sftui.conversations.detected import refusal
from sftui.conversations.tokenized import EMPTY
from sftui.errors import ConversationError, RecipeError, SftuiError
from sftui.model import Batch, Conversation, Example, Kind, Labels, Message, Pack, RenderedText, Row, Tokens
from sftui.recipe import Batch as BatchOptions
from sftui.recipe import Data, Length, Mask, Recipe, Tokenize
from sftui.runs import Ranges
from sftui.trainers import versions
from sftui.trainers.base import ShapedRow, Toolbox, Totals
from sftui.trainers.own_config import require
from sftui.trainers.packing import Documents
from sftui.trainers.pieces import cut_by_tokenizer
from sftui.trainers.remembering import last_asked
from sftui.trainers.trl import packing
from sftui.trainers.trl.formats import holds_no_ids, refuse_arguments, refuse_empty_tools, stored_tools
from sftui.trainers.trl.packing import CollatorTrainer
from sftui.trainers.trl.trainer import assistant_only, completion_only
from sftui.trainers.unsloth import OBJECTIVES, TRAITS, UnslothOptions, formats, masks
from sftui.trainers.unsloth.markers import Markers, resolve

STOPS = "Unsloth stops at this row"


@dataclass(frozen=True, slots=True)
class MarkerSurvey:
    """What Unsloth decides once, from the first row and the template."""

    add_special_tokens: bool
    markers: Markers | None = None
    problem: SftuiError | None = None
    """Why there are no markers, to be said at every row."""
    labelled: bool = False
    """The rows bring labels or a completion mask, which the markers only narrow."""


class Unsloth(CollatorTrainer):
    """Text, messages, prompt and completion, ids; everything trained until responses only is asked for."""

    traits = TRAITS
    objectives = OBJECTIVES
    usual = Recipe(
        TRAITS.name,
        own=UnslothOptions(),
        data=Data(role_map={}, strings="plain", given_labels="unshifted"),
        tokenize=Tokenize(add_special_tokens=True, append_eos="if_missing_text"),
        mask=Mask(rule="auto", prompt="column", boundary="prompt_length"),
        length=Length(max=2048),
        batch=BatchOptions(pad_side="right"),
    )

    def stop_of(self, recipe: Recipe, totals: Totals) -> str | None:
        """Its masking asks by itself whether a row is left, before training does (unsloth_zoo, dataset_utils.py)."""
        stop = super().stop_of(recipe, totals)
        if stop is None or recipe.mask.rule != "markers":
            return stop
        return stop.replace(self.traits.empty_stop, "ValueError: train_on_responses_only masked every label to -100")

    def keys_of(self, recipe: Recipe) -> tuple[dict[str, Any], tuple[str, ...]]:
        """The arguments as a script has them: what stands under `responses` goes to a call of its own."""
        said, losses = super().keys_of(recipe)
        return {"train_on_responses_only" if key == "responses" else key: one for key, one in said.items()}, losses

    def remarks(self, recipe: Recipe) -> tuple[str, ...]:
        length = "length.max is the model's max_seq_length (2048 unless set in FastLanguageModel)"
        pad = "unsloth chooses a pad token if the tokenizer has none, and sftui does not know which"
        return length, f"{pad}; labels do not depend on it"

    def detect(self, rows: Sequence[Row], recipe: Recipe) -> Detection:
        if recipe.data.format != "auto" or recipe.data.fields:
            return super().detect(rows, recipe)
        own = UnslothOptions.of(recipe)
        if own.formatting_func and completion_only(recipe):
            what = "completion_only_loss and a formatting_func together are rejected"
            return refusal(what, "TRL's constructor stops at them", "drop one of them")
        found = formats.detect(rows, own, assistant_only=assistant_only(recipe), newest=newest(recipe))
        return replace(found, role_map=dict(recipe.data.role_map))

    def convert(self, row: Row, detected: Detection, recipe: Recipe) -> Conversation:
        column = detected.fields.get("text", "")
        if detected.format == "text" and isinstance((row.data or {}).get(column), (list, tuple)):
            why = "the tokenizer treats a list as a text pair or as words, which sftui does not model"
            raise ConversationError(f"`{column}` is a list, not text", where=row.where, why=why, fix="store one string")
        if holds_no_ids(row, detected, recipe, takes_null=True):
            return EMPTY
        conversation = super().convert(row, detected, recipe)
        if detected.verbatim and detected.format == "prompt_completion":
            _refuse_other_kind(conversation, detected)
        if conversation.kind is Kind.CHAT and not rendered_by_script(conversation, recipe):
            refuse_empty_tools(row, detected, conversation, "Unsloth")
            if conversation.prompt_messages is not None and isinstance(stored_tools(row, detected), str):
                why = "with a prompt and a completion it does not read them as JSON"
                raise ConversationError(f"{STOPS}: its tools are text", why=why, fix="store the tools as a list")
        if conversation.kind is not Kind.CHAT or not UnslothOptions.of(recipe).standardize:
            return conversation
        return conversation.with_messages(tuple([_standard(message, recipe) for message in conversation.messages]))

    def reading_messages(self, recipe: Recipe) -> Recipe:
        own = UnslothOptions.of(recipe)
        by_script = own.text_from is not None or own.formatting_func or not newest(recipe)
        script = replace(own, text_from="messages" if by_script else None, standardize=False, formatting_func=False)
        return replace(super().reading_messages(recipe), own=script)

    def survey(self, first: Conversation | None, recipe: Recipe, tools: Toolbox) -> MarkerSurvey:
        template = tools.default_template
        source = template.source if template is not None else ""
        bos = tools.tokenizer.facts.bos_token
        text = self._first_text(first, recipe, tools)
        special = not (bos and (bos in source or (text is not None and text.startswith(bos))))
        pair = first is not None and (first.prompt_messages is not None or first.kind is Kind.STRINGS)
        labelled = pair or (first is not None and first.labels is not None)
        if recipe.mask.rule != "markers" and not masks.falls_back(recipe, source):
            return MarkerSurvey(special, labelled=labelled)
        try:
            return MarkerSurvey(special, self._markers(recipe, tools, source), labelled=labelled)
        except SftuiError as error:
            return MarkerSurvey(special, None, error, labelled)

    def _first_text(self, first: Conversation | None, recipe: Recipe, tools: Toolbox) -> str | None:
        """The text of the first row that decides on the BOS; chats that Unsloth itself renders have none."""
        if first is None or first.kind is Kind.TOKENS:
            return None
        if first.kind is not Kind.CHAT:
            return first.prompt if first.kind is Kind.STRINGS else first.text
        with suppress(SftuiError):
            if rendered_by_script(first, recipe):
                return self.render(ShapedRow(first), recipe, tools, spans=False).text
        return None

    def _markers(self, recipe: Recipe, tools: Toolbox, source: str) -> Markers:
        from sftui.trainers.unsloth.template_parts import find_parts

        mask, own, eager = recipe.mask, UnslothOptions.of(recipe), newest(recipe)
        given = (mask.instruction_marker, mask.response_marker) if mask.rule == "markers" else (None, None)
        if mask.rule != "markers" and "<|channel|>" in source:
            given = ("<|start|>user<|message|>", "<|start|>assistant")
        fix = "set mask.instruction_marker and mask.response_marker"
        if (given[0] is None) != (given[1] is None):
            raise RecipeError("Unsloth needs both markers or neither", fix=f"{fix}, or none of them")
        if given[0] is None:
            template = tools.default_template
            if template is None:
                raise RecipeError("Unsloth finds no markers", why="the tokenizer has no chat template", fix=fix)
            given = find_parts(template, tools.tokenizer, newest=eager)
        hidden = own.mask_out_tokens
        if hidden and not eager:
            why = "it was added in 2026.10"
            raise RecipeError("this Unsloth has no mask_out_tokens", why=why, fix="remove the option")
        asked, answer = map(str, given)
        return resolve(asked, answer, tools.tokenizer, force=own.force_match, hidden=hidden, eager=eager)

    def after_script(self, recipe: Recipe, detected: Detection) -> Recipe:
        return formats.by_script(recipe, detected)

    def shape(self, conversation: Conversation, recipe: Recipe) -> ShapedRow:
        by_script = rendered_by_script(conversation, recipe)
        if assistant_only(recipe) and (not newest(recipe) or conversation.kind is not Kind.CHAT or by_script):
            raise RecipeError(
                "Unsloth does not build an assistant mask here",
                why="assistant_only_loss needs messages that Unsloth itself renders (2026.10)",
                fix="set mask.rule to markers, which is train_on_responses_only",
            )
        pair = conversation.kind is Kind.STRINGS or conversation.prompt_messages is not None
        if recipe.length.max is None and pair:
            what = "Unsloth stops at a prompt and a completion without max_length"
            raise RecipeError(what, why="it compares the length with 0", fix="set length.max")
        if by_script:
            bare = conversation.tools is None and not conversation.template_kwargs
            return ShapedRow(conversation if bare else replace(conversation, tools=None, template_kwargs={}))
        refuse_arguments(conversation, "Unsloth")
        prompt = 1 if conversation.kind is Kind.STRINGS else conversation.prompt_messages
        return ShapedRow(conversation, None, prompt)

    def render(self, shaped: ShapedRow, recipe: Recipe, tools: Toolbox, *, spans: bool = True) -> RenderedText:
        conversation = shaped.conversation
        if conversation.kind is Kind.CHAT:
            if assistant_only(recipe):
                tools = masks.training_tools(tools)
            # keys of `messages` that are null it drops itself
            if conversation.prompt_messages is None and not rendered_by_script(conversation, recipe):
                messages = tuple(map(_without_nulls, conversation.messages))
                shaped = replace(shaped, conversation=conversation.with_messages(messages))
        return super().render(shaped, recipe, tools, spans=spans)

    def tokenize_as(self, shaped: ShapedRow, recipe: Recipe, tools: Toolbox) -> tuple[Tokenize, str | None]:
        conversation = shaped.conversation
        special = recipe.tokenize.add_special_tokens and self._survey(conversation, recipe, tools).add_special_tokens
        if conversation.kind is Kind.CHAT and not rendered_by_script(conversation, recipe):
            special = False
        eos, ends = recipe.tokenize.append_eos, conversation.kind is Kind.STRINGS
        if eos == "if_missing_text" and not (ends and tools.tokenizer.facts.eos_token is not None):
            eos = "never"
        return _tokenize(recipe.tokenize, special, eos), conversation.completion

    def _survey(self, conversation: Conversation, recipe: Recipe, tools: Toolbox) -> MarkerSurvey:
        found = tools.survey
        return found if isinstance(found, MarkerSurvey) else self.survey(conversation, recipe, tools)

    def label(
        self, tokens: Tokens, rendered: RenderedText, shaped: ShapedRow, recipe: Recipe, tools: Toolbox
    ) -> tuple[Tokens, Labels]:
        require(recipe, "mask.rule", "length.over")
        conversation = shaped.conversation
        kept = self._kept(len(tokens), shaped, recipe, tools)
        survey = self._survey(conversation, recipe, tools)
        if survey.problem is not None:
            raise survey.problem
        subject = label_rules.Subject(tokens, rendered, conversation)
        drawn = masks.before_markers(subject, kept, recipe, survey.markers, newest(recipe))
        if recipe.mask.rule == "markers" and survey.markers is not None:
            drawn = masks.with_markers(tokens, drawn, kept, survey.markers, last_only=recipe.mask.turns == "last")
        dropped = None
        if True not in drawn[0]:
            if recipe.mask.rule == "markers" and recipe.pack.strategy == "none":
                dropped = "every label is -100: Unsloth removes the row (no response marker in it, usually cut off)"
                dropped += ", and stops if this happens to every row"
            elif assistant_only(recipe):  # before it packs
                dropped = "no assistant token is left within max_length: Unsloth removes the row"
        stored = conversation.labels if conversation.kind is Kind.TOKENS else None
        return tokens, label_rules.on_ids(tokens, drawn, kept, dropped, rendered.estimated, stored=stored)

    def _kept(self, n: int, shaped: ShapedRow, recipe: Recipe, tools: Toolbox) -> Ranges:
        """What truncation leaves. Text is cut by the tokenizer, which keeps the special tokens it put around."""
        length, conversation = recipe.length, shaped.conversation
        if conversation.kind is Kind.TOKENS:
            return ((0, n),)
        by_tokenizer = conversation.kind is Kind.TEXT or rendered_by_script(conversation, recipe)
        limit = length.max
        if limit is None and by_tokenizer:
            limit = tools.tokenizer.facts.model_max_length
        if limit is None or n <= limit:
            return ((0, n),)
        if by_tokenizer:
            special = self.tokenize_as(shaped, recipe, tools)[0].add_special_tokens
            return cut_by_tokenizer(n, tools.tokenizer, limit, special)
        chat = conversation.prompt_messages is None and conversation.kind is Kind.CHAT
        over = "cut_left" if chat and length.over == "cut_left" else "cut_right"
        return label_rules.keep(n, replace(length, max=limit, over=over))[0]

    def collate(self, examples: Sequence[Example], rows: Sequence[int], recipe: Recipe, tools: Toolbox) -> Batch:
        if not recipe.batch.flatten and recipe.mask.rule == "markers" and recipe.pack.strategy == "none":
            # train_on_responses_only puts a collator of its own in place, which knows nothing of pad_to_multiple_of
            recipe = replace(recipe, batch=replace(recipe.batch, multiple=None))
        return super().collate(examples, rows, recipe, tools)

    def pack(self, examples: Sequence[Example], recipe: Recipe, tools: Toolbox) -> Iterator[Pack]:
        """TRL's packing of the cut rows; train_on_responses_only then searches each pack from end to end."""
        packs = super().pack(examples, recipe, tools)
        if recipe.mask.rule == "markers":
            survey = tools.survey
            if not isinstance(survey, MarkerSurvey) or survey.markers is None:
                raise RecipeError("the packs cannot be labelled", why="the markers are not known")
            if survey.labelled and newest(recipe):
                raise RecipeError(
                    "sftui does not know the labels in these packs",
                    fix="set pack.strategy to none, or mask.rule to auto",
                    why="rows with their own labels are packed before the markers are searched",
                )
            packs = masks.relabelled(packs, survey.markers, last_only=recipe.mask.turns == "last")
        return (self.fed(pack, recipe) for pack in packs)


@last_asked
def _tokenize(options: Tokenize, special: bool, eos: str) -> Tokenize:
    return replace(options, add_special_tokens=special, append_eos=eos)


@last_asked
def newest(recipe: Recipe) -> bool:
    """Whether the rules since 2026.10 hold."""
    return versions.since(recipe, (2026, 10))


def rendered_by_script(conversation: Conversation, recipe: Recipe) -> bool:
    """Whether the chat reaches Unsloth as text: the user's script rendered it (always so before 2026.10)."""
    if conversation.kind is not Kind.CHAT or conversation.prompt_messages is not None:
        return False
    return _script_renders(recipe)


@last_asked
def _script_renders(recipe: Recipe) -> bool:
    own = UnslothOptions.of(recipe)
    if formats.goes_for_messages(own, assistant_only=assistant_only(recipe), newest=newest(recipe)):
        return False
    return own.text_from is not None or not newest(recipe)


def _refuse_other_kind(conversation: Conversation, detected: Detection) -> None:
    """ConversationError where a row holds messages and the first one texts, or the other way round."""
    texts = not detected.message_keys
    if texts == (conversation.kind is Kind.STRINGS):
        return
    held = "messages, but those of the first row are text" if texts else "text, but those of the first row are messages"
    what, why = f"{STOPS}: its prompt and completion are {held}", "it reads every row like the first"
    raise ConversationError(what, why=why, fix="store all as text or all as messages")


def _standard(message: Message, recipe: Recipe) -> Message:
    role = formats.standard_role(message.role, newest(recipe))
    if role is None:
        what, why = f"standardize_data_formats stops at the role {message.role!r}", "it is not one of its aliases"
        raise ConversationError(what, where=message.origin, why=why, fix="rename the role")
    return replace(message, data={"role": role, "content": message.content})


def _without_nulls(message: Message) -> Message:
    if all(value is not None for value in message.data.values()):
        return message
    return replace(message, data={key: value for key, value in message.data.items() if value is not None})


def places(examples: Sequence[Example], recipe: Recipe) -> Iterator[Documents]:
    """The packs of a group (see `Packing.places`)."""
    if recipe.mask.rule == "markers":
        why = "it drops each pack in which it finds no response marker"
        raise RecipeError("lengths do not tell which packs Unsloth keeps", why=why, fix="set pack.strategy to none")
    return packing.places(examples, recipe)
