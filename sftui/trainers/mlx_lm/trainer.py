"""mlx-lm's fine-tuning, 0.32: chats, prompts and completions, texts.

Source: mlx-lm 0.32.2 (github.com/ml-explore/mlx-lm), tuner/datasets.py, tuner/trainer.py (iterate_batches,
default_loss), lora.py, tokenizer_utils.py (TokenizerWrapper.apply_chat_template). Everything is trained, or with
`mask_prompt` what stands behind as many tokens as the messages before the last one have, alone. The recipe stands for
the config so: mask.rule `all` is mask_prompt false, `completion` true; length.max is max_seq_length.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sftui import labels as label_rules
from sftui.conversations import Detection
from sftui.errors import RecipeError
from sftui.model import NOWHERE, Batch, Conversation, Example, Kind, Labels, Part, RenderedText, Row, Span, Tokens
from sftui.recipe import Batch as BatchOptions
from sftui.recipe import Data, Length, Mask, Recipe, Render, Tokenize
from sftui.side_files import object_of
from sftui.text import many
from sftui.trainers.base import Examples, ShapedRow, TaggedIds, Toolbox, Totals, Trainer, pick_template
from sftui.trainers.mlx_lm import TRAITS, formats
from sftui.trainers.own_config import require
from sftui.trainers.processors import tokenizer_folder
from sftui.trainers.reading import by_python
from sftui.trainers.remembering import endless, last_asked, of_chat

if TYPE_CHECKING:
    from sftui.sources.records import AsStored
    from sftui.tokens import LoadedTokenizer

NOTHING = "nothing"
"""In `extra`: messages that are an empty mapping or text, at which transformers does not stop."""
PAD_ID = 0
"""What fills a batch: numpy.zeros, whatever pad token there is."""
THOUGHTS = (
    ("<think>", "</think>"),
    ("<longcat_think>", "</longcat_think>"),
    ("<|think:start|>", "<|think:end|>"),
    ("<|channel>", "<channel|>"),
    ("<|open|>", "<|close|>", "<|sep|>", "<|end_of_msg|>"),
)
"""Vocabulary strings of which all must be there for a tokenizer that thinks (tokenizer_utils.py, _infer_thinking)."""
PAD_STEP = f"after each row shorter than max_seq_length mlx-lm trains one step of padding, the id {PAD_ID}"
"""default_loss counts the steps up to the row's length, of which the last one predicts what follows the row."""
PADDING = f"input_ids are padded with the id {PAD_ID}; {PAD_STEP}"
GROUPS = "mlx-lm batches rows with the same number of keys, in file order; an incomplete last batch is never trained"
"""CacheDataset.itemlen, by which rows are sorted, is the length of the row's mapping, not that of its tokens."""
OF_MODELS = {"muse_spark": "muse_spark"}
"""model_type → the chat_template_type that its code brings (models/*.py, TOKENIZER_DEFAULTS)."""
OF_DATASETS = ("one list", "objects over several lines", "a byte order mark")
BY_LINES = "it reads each line as one JSON value, and each value as one row (json.loads)"
PAST_THE_END = (
    "the prompt alone has more tokens than the whole row: nothing in the row is trained, not even the padding after"
    " it, and a batch of only such rows produces a NaN loss (mlx-lm#1355)"
)


def _stop(why: str, fix: str) -> RecipeError:
    return RecipeError("mlx-lm stops at this row", why=why, fix=fix)


class MlxLm(Trainer):
    """Whole chats and texts, or the last message alone."""

    traits = TRAITS
    usual = Recipe(
        TRAITS.name,
        data=Data(role_map={}),
        tokenize=Tokenize(add_special_tokens=True, append_eos="if_missing_ids"),
        mask=Mask(rule="all"),
        length=Length(max=2048),
        batch=BatchOptions(pad_side="right", multiple=32, attention="none"),
    )

    def remarks(self, recipe: Recipe) -> tuple[str, ...]:
        name = template_code(recipe)
        note = f"the model's chat_template_type is {name}: mlx-lm renders with its own code, which sftui does not run"
        return (PAD_STEP, GROUPS, *((note,) if name else ()))

    def stop_of(self, recipe: Recipe, totals: Totals) -> str | None:
        """It fills whole batches, and stops where there is none (tuner/trainer.py, iterate_batches)."""
        rows, size = totals.rows, recipe.batch.size
        if 0 < rows < size:
            error = f"ValueError: Dataset must have at least batch_size={size} examples but only has {rows}."
            return f"{self.title} stops: {many(rows, 'row')} do not fill a batch ({error})"
        return super().stop_of(recipe, totals)

    def detect(self, rows: Sequence[Row], recipe: Recipe) -> Detection:
        return formats.detect(rows, recipe.data)

    def unread_layout(self, stored: AsStored, recipe: Recipe) -> str | None:
        named = stored.name.endswith(".json") and stored.layout.startswith(OF_DATASETS)  # what an hf_dataset may name
        return BY_LINES if stored.layout and not named else ""

    def convert(self, row: Row, detected: Detection, recipe: Recipe) -> Conversation:
        if detected.verbatim and isinstance(row.data, Mapping):
            row = formats.with_tools(by_python(row))
            if detected.format == "prompt_completion":
                return formats.pair(row.data or {}, detected)
            column = detected.fields["messages"]
            value = (row.data or {}).get(column)
            if isinstance(value, (Mapping, str)) and not value:  # a template goes through nothing
                given = (row.data or {}).get("tools")
                return Conversation(Kind.CHAT, detected.format, (), tools=given, extra={NOTHING: value})
            formats.refuse_messages(value, column)
        return super().convert(row, detected, recipe)

    def shape(self, conversation: Conversation, recipe: Recipe) -> ShapedRow:
        if recipe.mask.rule != "completion":
            return ShapedRow(conversation)
        if conversation.kind is not Kind.CHAT:
            raise RecipeError(
                "mlx-lm refuses mask_prompt here",
                why="the rows are text (ValueError: Prompt masking not supported for text dataset.)",
                fix="set mask.rule to all, or use messages",
            )
        before = len(conversation.messages) - 1
        if before < 1:
            raise _stop(
                "mask_prompt renders the messages before the last one, but there are none",
                "drop the row, or set mask.rule to all",
            )
        return ShapedRow(conversation, None, before)

    def render_options(self, recipe: Recipe, tokenizer: LoadedTokenizer) -> Render:
        return _render_options(recipe.render, tokenizer)

    def render(self, shaped: ShapedRow, recipe: Recipe, tools: Toolbox, *, spans: bool = True) -> RenderedText:
        """The prompt is rendered with the header of an answer only where the last message is the assistant's."""
        before, messages = shaped.prompt_messages, shaped.conversation.messages
        if NOTHING in shaped.conversation.extra:
            variables = {**tools.special_tokens, **self.render_options(recipe, tools.tokenizer).kwargs}
            template, stored = pick_template(shaped.conversation, tools), shaped.conversation.extra[NOTHING]
            text = template.text(stored, tools=shaped.conversation.tools, variables=variables)[0]
            return RenderedText(text, (Span(0, len(text), NOWHERE, Part.INJECTED),) if text else ())
        if before is None or messages[-1].data.get("role") == "assistant":
            return super().render(shaped, recipe, tools, spans=spans)
        whole = super().render(replace(shaped, prompt_messages=None), recipe, tools, spans=spans)
        asked = ShapedRow(shaped.conversation.with_messages(messages[:before]))
        return replace(whole, prompt=super().render(asked, recipe, tools, spans=False).text)

    def tokenize_as(self, shaped: ShapedRow, recipe: Recipe, tools: Toolbox) -> tuple[Tokenize, str | None]:
        if shaped.conversation.kind is Kind.CHAT:
            return of_chat(recipe.tokenize), None
        return recipe.tokenize if tools.tokenizer.facts.eos_id is not None else endless(recipe.tokenize), None

    def tokenize(
        self, rendered: RenderedText, shaped: ShapedRow, recipe: Recipe, tools: Toolbox, *, places: bool = True
    ) -> Tokens:
        tokens = super().tokenize(rendered, shaped, recipe, tools, places=places)
        if shaped.conversation.kind is not Kind.TEXT:
            return tokens
        end, most = tools.tokenizer.facts.eos_id, recipe.length.max
        alone = tokens.input_ids in ((), (end,))
        if alone and not tools.tokenizer.ids(rendered.text, recipe.tokenize.add_special_tokens):
            raise _stop("its text has no tokens, but mlx-lm reads the last token", "drop the row")
        if end is None and recipe.tokenize.append_eos == "if_missing_ids" and (most is None or len(tokens) < most):
            raise _stop(
                "its tokenizer has no EOS: None is appended to the text and not cut off (TypeError)",
                "set an EOS token in the tokenizer's tokenizer_config.json",
            )
        return tokens

    def label(
        self, tokens: Tokens, rendered: RenderedText, shaped: ShapedRow, recipe: Recipe, tools: Toolbox
    ) -> tuple[Tokens, Labels]:
        require(recipe, "mask.rule", "length.over")
        tokens, labels = super().label(tokens, rendered, shaped, recipe, tools)
        if _past_the_end(tokens):
            labels = replace(labels, notes=(*labels.notes, PAST_THE_END))
        return tokens, labels

    def examples(self, tokens: Tokens, labels: Labels, shaped: ShapedRow, recipe: Recipe, tools: Toolbox) -> Examples:
        """Of a row of which the mask begins beyond its end the padding behind it is not trained."""
        made = super().examples(tokens, labels, shaped, recipe, tools)
        if not _past_the_end(tokens):
            return made
        return tuple(replace(example, labels=TaggedIds.of(example.labels, None)) for example in made)

    def collate(self, examples: Sequence[Example], rows: Sequence[int], recipe: Recipe, tools: Toolbox) -> Batch:
        """As iterate_batches pads: to one more than a multiple of 32, at most max_seq_length, with the id 0."""
        step, most = recipe.batch.multiple or 1, recipe.length.max
        width = 1 + -(-max((len(example.input_ids) for example in examples), default=0) // step) * step
        width = width if most is None else min(width, most)
        options, notes = replace(recipe.batch, pad_side="right", attention="none"), (PADDING,)
        made = label_rules.collate(
            examples, rows, options, pad_id=PAD_ID, padding_side="right", width=width, notes=notes
        )
        unlabelled = (recipe.batch.labels_pad,) * width
        behind = [unlabelled if isinstance(one.labels, TaggedIds) else (PAD_ID, *unlabelled) for one in examples]
        return replace(made, labels=tuple((*one.labels, *rest)[:width] for one, rest in zip(examples, behind)))


def template_code(recipe: Recipe) -> str:
    """The chat_template_type of the tokenizer's folder, where that is at hand and has one, else "".

    Source: mlx-lm 0.32.2, tokenizer_utils.py `load`; of the models whose code brings one (TOKENIZER_DEFAULTS) those
    whose tokenizer has no template itself.
    """
    folder = tokenizer_folder(recipe.tokenizer.name, recipe.tokenizer.revision)
    if folder is None:
        return ""
    tokenizer, model = (object_of(folder / name) for name in ("tokenizer_config.json", "config.json"))
    if tokenizer.get("chat_template_type"):
        return str(tokenizer["chat_template_type"])
    templated = tokenizer.get("chat_template") is not None or (folder / "chat_template.jinja").is_file()
    return "" if templated else OF_MODELS.get(str(model.get("model_type")), "")


def _past_the_end(tokens: Tokens) -> bool:
    """Whether the prompt alone is longer than the row, as where the header of an answer is no beginning of it."""
    boundary = tokens.boundary
    return boundary is not None and boundary.prompt_length > len(tokens)


@last_asked
def _render_options(options: Render, tokenizer: LoadedTokenizer) -> Render:
    """With enable_thinking, which mlx-lm sets for every template: true for a tokenizer that has tags of thoughts."""
    thinks = any(all(tokenizer.token_id(tag) is not None for tag in tags) for tags in THOUGHTS)
    return replace(options, kwargs={"enable_thinking": thinks, **options.kwargs})
