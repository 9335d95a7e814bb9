"""TRL's SFTTrainer, 1.0 to 1.16.

Source: trl 1.16.0, 1.14.0 and 1.8.0, trl/trainer/sft_trainer.py `_prepare_dataset` and DataCollatorForLanguageModeling.
The recipe stands for the config so: mask.rule `auto` is completion_only_loss=None, `completion` True, `all` False,
`generation_tag` assistant_only_loss; own.completion_only_loss may stand beside the last (see `own`).

The template that it swaps in for assistant_only_loss when the tokenizer's has no generation tag: trl 1.16.0,
trl/chat_template_utils.py `get_training_chat_template`, exact string equality with one of its stored templates, else
the run is refused. `training_edits.json` holds the hash of each stored template and the edits that lead to its twin
(recorded by tests/parity/record_trl_templates.py); the twin is rebuilt from the user's own text and checked against its
hash.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import lru_cache, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sftui import labels as label_rules
from sftui.conversations import Detection
from sftui.conversations.tokenized import EMPTY
from sftui.errors import RecipeError, TemplateError
from sftui.model import Conversation, Kind, Labels, Reason, RenderedText, Row, Tokens
from sftui.recipe import Batch as BatchOptions
from sftui.recipe import Data, Length, Mask, Recipe, Tokenize
from sftui.runs import labelled, moved
from sftui.side_files import object_of
from sftui.trainers import versions
from sftui.trainers.base import ShapedRow, Toolbox
from sftui.trainers.held_out import HeldOut, ShuffledRows, in_order
from sftui.trainers.own_config import require
from sftui.trainers.remembering import endless, last_asked, of_chat
from sftui.trainers.trl import OBJECTIVES, TRAITS, SftOptions, TrlOptions, formats
from sftui.trainers.trl.formats import refuse_arguments, refuse_empty_tools
from sftui.trainers.trl.packing import CollatorTrainer

if TYPE_CHECKING:
    from sftui.templates import Rendering

STOPS, UNKNOWN = "TRL stops at this row", "sftui does not model this row"
REPEATS = (
    "before 1.14 TRL's wrapped packing repeats, for ready-made ids that were never in a file (Dataset.from_list),"
    " the ids of the first 1,000 rows in each later group; sftui shows what it does with a file"
)
"""trl 1.13.0, data_utils.py `_pack_wrapped`: `values` of a slice are those of the whole table."""
TEXT_BESIDE = "text_beside"
"""Where a prompt and a completion keep what the text column of their row holds."""


class Trl(CollatorTrainer):
    """Prompt and completion by common prefix, messages as a whole or by `{% generation %}` tags."""

    traits = TRAITS
    objectives = OBJECTIVES
    usual = Recipe(
        TRAITS.name,
        own=TrlOptions(),
        data=Data(role_map={}, strings="plain", given_labels="unshifted"),
        tokenize=Tokenize(add_special_tokens=True, append_eos="if_missing_text"),
        mask=Mask(rule="auto", prompt="column", trailing="train"),
        length=Length(max=1024),
        batch=BatchOptions(pad_side="right"),
    )

    def usual_in(self, number: versions.Version) -> Recipe:
        boundary = "common_prefix" if versions.at_least(number, (1, 15)) else "prompt_length"
        length = replace(self.usual.length, drop_unlabelled=versions.at_least(number, (1, 9)))
        return replace(self.usual, mask=replace(self.usual.mask, boundary=boundary), length=length)

    def remarks(self, recipe: Recipe) -> tuple[str, ...]:
        repeats = recipe.pack.strategy == "wrapped" and not versions.since(recipe, (1, 14))
        held = self.held_out(recipe)
        return (REPEATS if repeats else "", held.sentence(self.title) if held is not None else "")

    def held_out(self, recipe: Recipe) -> HeldOut | None:
        own = TrlOptions.of(recipe)
        if not own.shuffle_dataset or recipe.pack.strategy == "none":
            return None
        return ShuffledRows("shuffle_dataset", 0, own.seed, drawn=True)

    def packing_order(self, recipe: Recipe) -> str:
        """Base.packing_order, of what is shuffled before."""
        return in_order(super().packing_order(recipe), self.held_out(recipe))

    def detect(self, rows: Sequence[Row], recipe: Recipe) -> Detection:
        if recipe.data.format != "auto" or recipe.data.fields:
            return super().detect(rows, recipe)
        return formats.detect(
            rows, text_field(recipe), assistant_only=assistant_only(recipe), completion_only=completion_only(recipe)
        )

    def convert(self, row: Row, detected: Detection, recipe: Recipe) -> Conversation:
        if formats.holds_no_ids(row, detected, recipe, takes_null="labels" in detected.fields):
            return EMPTY  # without labels TRL makes them of the ids, and stops at null
        conversation = super().convert(row, detected, recipe)
        refuse_empty_tools(row, detected, conversation, self.title)
        self._refuse_roleless(row, conversation, recipe)
        data = row.data or {}
        if conversation.kind is not Kind.STRINGS or (column := self._text_column(recipe)) not in data:
            return conversation
        return replace(conversation, extra={**conversation.extra, TEXT_BESIDE: data[column]})

    def _refuse_roleless(self, row: Row, conversation: Conversation, recipe: Recipe) -> None:
        """A row of messages whose first one has no role is text to TRL (data_utils.py, is_conversational)."""
        if conversation.kind is not Kind.CHAT or conversation.prompt_messages is not None or _has_role(conversation, 0):
            return
        column, fix = text_field(recipe), "add a role to the message"
        why = "its first message has no `role`, so TRL"
        if column in (row.data or ()):
            raise RecipeError(UNKNOWN, why=f"{why} reads `{column}` instead", fix=fix)
        raise RecipeError(STOPS, why=f"{why} treats the row as text and finds no `{column}`", fix=fix)

    def unended_column(self, recipe: Recipe) -> str | None:
        column = text_field(recipe)
        return column if column != self._text_column(recipe) else None

    def survey(self, first: Conversation | None, recipe: Recipe, tools: Toolbox) -> bool | None:
        """Whether the first row is a conversation: then no row gets an EOS token, otherwise every row is asked for
        one."""
        if first is None or first.kind is Kind.TOKENS:
            return None
        return first.kind is Kind.CHAT and _has_role(first, 0)

    def shape(self, conversation: Conversation, recipe: Recipe) -> ShapedRow:
        prompt = 1 if conversation.kind is Kind.STRINGS else conversation.prompt_messages
        if assistant_only(recipe) and conversation.kind in (Kind.STRINGS, Kind.TEXT):
            why, fix = "the dataset is not conversational", "set mask.rule to auto, or use messages"
            raise RecipeError("TRL rejects assistant_only_loss here", why=why, fix=fix)
        if recipe.batch.flatten and recipe.pack.strategy == "none" and recipe.length.max is not None:
            why, fix = "max_length is set and would not be enforced", "set length.max to null, or pack.strategy to bfd"
            raise RecipeError("TRL rejects padding_free without packing", why=why, fix=fix)
        refuse_arguments(conversation, "TRL")
        return ShapedRow(conversation, None, prompt)

    def render(self, shaped: ShapedRow, recipe: Recipe, tools: Toolbox, *, spans: bool = True) -> RenderedText:
        if assistant_only(recipe) and shaped.conversation.kind is Kind.CHAT:
            tools = training_toolbox(tools)
        return super().render(shaped, recipe, tools, spans=spans)

    def tokenize_as(self, shaped: ShapedRow, recipe: Recipe, tools: Toolbox) -> tuple[Tokenize, str | None]:
        conversation = shaped.conversation
        if conversation.kind is Kind.CHAT:
            _refuse_messages(conversation, tools.survey)
            # apply_chat_template tokenizes without special tokens and nothing is appended
            return of_chat(recipe.tokenize), None
        if recipe.tokenize.append_eos == "if_missing_text" and not self._appends_eos(conversation, recipe, tools):
            return endless(recipe.tokenize), None
        return recipe.tokenize, conversation.completion

    def _appends_eos(self, conversation: Conversation, recipe: Recipe, tools: Toolbox) -> bool:
        """Whether the EOS goes to the text that is trained: a text column that lacks one gets it before a completion
        does."""
        eos, column = tools.tokenizer.facts.eos_token, self._text_column(recipe)
        if tools.survey is True:
            return False
        if conversation.kind is Kind.TEXT and column != text_field(recipe):
            return False
        if eos is None:
            why = "it appends the EOS token to text, but the tokenizer has none"
            raise RecipeError(STOPS, why=why, fix="set tokenizer.eos_token")
        if conversation.kind is Kind.TEXT or TEXT_BESIDE not in conversation.extra or column == "completion":
            return True
        beside = conversation.extra[TEXT_BESIDE]
        if not isinstance(beside, str):
            raise RecipeError(
                f"{STOPS}: its `{column}` is not text",
                why=f"with a completion, the EOS token is added to the column `{column}`",
                fix="remove the column",
            )
        if column == "prompt" and not beside.endswith(eos):
            raise RecipeError(
                "TRL appends the EOS token to the prompt",
                why="dataset_text_field names the column `prompt`, which sftui does not model",
                fix="name another column",
            )
        return beside.endswith(eos)

    def _text_column(self, recipe: Recipe) -> str:
        """The column that the EOS step looks for: TRL < 1.15 has the literal `text`, whatever dataset_text_field
        says."""
        return text_field(recipe) if versions.since(recipe, (1, 15)) else "text"

    def label(
        self, tokens: Tokens, rendered: RenderedText, shaped: ShapedRow, recipe: Recipe, tools: Toolbox
    ) -> tuple[Tokens, Labels]:
        require(recipe, "mask.rule", "length.over")
        refuse_unpadded(tools)
        conversation = shaped.conversation
        subject = label_rules.Subject(tokens, rendered, conversation)
        stored = conversation.labels if conversation.kind is Kind.TOKENS else None
        drawn = self._draw(subject, recipe) if stored is None else label_rules.draw(subject, recipe.mask)
        packing = recipe.pack.strategy != "none"
        length = recipe.length
        if packing:  # truncation_mode is not asked: bfd keeps the start, the others cut nothing
            length = replace(length, over="cut_right", max=length.max if recipe.pack.strategy == "bfd" else None)
        kept, dropped = label_rules.keep(len(tokens), length)
        if packing and not len(tokens):
            dropped = "it has no tokens: packing drops it"
        # The drop step runs right after truncation and is skipped with it (no max_length, or packing).
        drops = length.drop_unlabelled and length.max is not None and not packing
        values, ranges = (tokens.ids, label_rules.trained(drawn[0])) if stored is None else (stored, labelled(stored))
        if drops and not moved(ranges, kept):
            dropped = _left_out(bool(ranges), length)
        return tokens, Labels(values, ranges, drawn[1], kept, dropped, rendered.estimated)

    def _draw(self, subject: label_rules.Subject, recipe: Recipe) -> label_rules.Drawn:
        """A token is trained iff every mask that applies says so (`build_labels`)."""
        conversation, n = subject.conversation, len(subject.tokens)
        masks = stored_masks(conversation, n, recipe) if conversation.kind is Kind.TOKENS else []
        if conversation.kind is not Kind.TOKENS:
            if subject.tokens.prompt_ids is not None and completion_only(recipe) is not False:
                masks.append(label_rules.completion(subject, recipe.mask))
            if assistant_only(recipe):
                drawn = label_rules.generation_tag(subject)
                if True not in drawn[0]:
                    why = "assistant_only_loss finds no assistant token in the row"
                    fix = "remove the row or change the template"
                    raise RecipeError("TRL stops the whole run at this row", why=why, fix=fix)
                masks.append(drawn)
        return reduce(label_rules.both, masks) if masks else label_rules.whole(subject)


def refuse_unpadded(tools: Toolbox) -> None:
    """RecipeError where nothing can pad."""
    facts = tools.tokenizer.facts
    if facts.pad_token is None and facts.eos_token is None:
        raise RecipeError(
            "TRL stops before it reads a row",
            why="the tokenizer has neither a pad token nor an EOS token to pad with",
            fix="set tokenizer.pad_token",
        )


def _left_out(trained: bool, length: Length) -> str:
    """Why a row is dropped: something of it is trained, but nothing that is left of it, or nothing at all."""
    left = f"that is trained is left within max_length {length.max}" if trained else "is trained"
    return f"no token {left}: TRL silently drops the row"


def _has_role(conversation: Conversation, number: int) -> bool:
    return number < len(conversation.messages) and "role" in conversation.messages[number].data


def _refuse_messages(conversation: Conversation, first_is_chat: bool | None) -> None:
    """A prompt and a completion of messages where TRL takes them, or all rows, for text."""
    prompt = conversation.prompt_messages
    if prompt is None:
        return
    if first_is_chat is False:
        raise RecipeError(
            STOPS,
            why="its first row is text, or messages without a role, so TRL appends an EOS token to every completion"
            " as it does for text, but this one has messages",
            fix="use the same shape in every row, and add a role to every message",
        )
    messages = conversation.messages
    if not all(["role" in message.data for message in (*messages[:1], *messages[prompt : prompt + 1])]):
        why = "the first message of its prompt or completion has no `role`, so TRL may take it for text"
        raise RecipeError(UNKNOWN, why=why, fix="add a role to the message")


def text_field(recipe: Recipe) -> str:
    """The column of plain text."""
    return SftOptions.of(recipe).dataset_text_field or recipe.data.fields.get("text") or "text"


def assistant_only(recipe: Recipe) -> bool:
    """assistant_only_loss."""
    return recipe.mask.rule == "generation_tag"


def completion_only(recipe: Recipe) -> bool | None:
    """completion_only_loss; None leaves it to the columns."""
    stated = SftOptions.of(recipe).completion_only_loss
    if stated is not None:
        return stated
    return {"completion": True, "all": False}.get(recipe.mask.rule)


def stored_masks(conversation: Conversation, count: int, recipe: Recipe) -> list[label_rules.Drawn]:
    """Mask columns beside input_ids: assistant_masks always, completion_mask only if asked for by name."""
    found: list[label_rules.Drawn] = []
    for name in (*(("completion_mask",) if completion_only(recipe) is True else ()), "assistant_masks"):
        mask, fix = conversation.extra.get(name), "fix the column"
        if mask is None:
            continue
        if not isinstance(mask, Collection):
            raise RecipeError(f"{STOPS}: its `{name}` is not a list", why=f"it is {type(mask).__name__}", fix=fix)
        if len(mask) != count:
            what = f"`{name}` has {len(mask)} entries for {count} ids"
            raise RecipeError(what, why="TRL zips them and drops the rest", fix=fix)
        found.append(label_rules.by_flags([bool(bit) for bit in mask], Reason.GIVEN, Reason.GIVEN_MASKED))
    return found


_MARKERS = re.compile(r"\{%-?\s*generation\s*-?%\}")


@last_asked
def training_toolbox(tools: Toolbox) -> Toolbox:
    """The toolbox with the template that draws the mask; TemplateError where TRL refuses to train."""
    default = tools.default_template
    if default is None or _MARKERS.search(default.source):
        return tools
    twin = training_twin(default.source)
    if twin is None:
        raise TemplateError(
            "TRL rejects assistant_only_loss with this chat template",
            why="it has no {% generation %} tag and is not, to the letter, one of the templates TRL can patch",
            fix="add the tag, or train prompt/completion rows",
        )
    name, source = twin
    twin_template = _compiled(source, name, default.rendering).on(default.clock)
    return replace(tools, templates={"default": twin_template}, template_name=f"TRL's training copy of {name}")


def finds_answers(source: str) -> bool:
    """Whether TRL can train the answers alone with this chat template: it has tags, or a stored twin that has."""
    return _MARKERS.search(source) is not None or training_twin(source) is not None


def training_twin(source: str) -> tuple[str, str] | None:
    """(name, text) of the training template of a stored template, or None where TRL has none."""
    entry = _table().get(hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest())
    if entry is None:
        return None
    from sftui.templates.tags.surgery_tree import applied

    made = applied(source, entry["edits"])
    assert hashlib.sha256(made.encode()).hexdigest() == entry["result"], entry["name"]
    return entry["name"], made


@lru_cache(maxsize=1)
def _table() -> dict[str, Any]:
    return dict(object_of(Path(__file__).with_name("training_edits.json"))["templates"])


@lru_cache(maxsize=8)
def _compiled(source: str, name: str, rendering: Rendering) -> Any:
    from sftui.templates import compile_template

    return compile_template(source, f"trl training {name}", rendering=rendering)
