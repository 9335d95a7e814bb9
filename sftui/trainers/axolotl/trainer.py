"""Axolotl's SFT preparation, 0.18 to 0.21.

Source: axolotl 0.19.0 and 0.18.0, utils/data/sft.py and utils.py, utils/trainer.py, core/builders/causal.py; in 0.20.0
and 0.21.0 what they do by default is the same: `weight` (0.20) takes a part of the rows, balance_labels (0.21) orders
batches. The recipe stands for the config so: mask.rule `all` is train_on_inputs, mask.roles roles_to_train, length.over
`drop`, `cut_right` and `error` the three values of excess_length_strategy, batch.multiple null is pad_to_sequence_len:
false and batch.pad_to `max` is true; keys without an equal are in recipe.own under their own names (see `own`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from sftui import labels as label_rules
from sftui.conversations import Detection
from sftui.conversations.detected import MESSAGE_KEYS
from sftui.errors import RecipeError, TemplateError
from sftui.model import (
    NOWHERE,
    Batch,
    Conversation,
    Example,
    Kind,
    Labels,
    Message,
    Pack,
    Part,
    Piece,
    Reason,
    RenderedText,
    Row,
    Tokens,
)
from sftui.recipe import Batch as BatchOptions
from sftui.recipe import Data, Length, Mask, Recipe, Render, Tokenize
from sftui.recipe import Pack as PackOptions
from sftui.runs import Ranges, covered, first, moved, together
from sftui.templates import ChatTemplate
from sftui.tokens import LoadedTokenizer, ToEncode
from sftui.trainers import versions
from sftui.trainers.axolotl import TRAITS, AxolotlOptions, formats, mask, packing, parts
from sftui.trainers.axolotl.settings import CHAT, PRETRAIN, RECORD, ineffective, settings_of
from sftui.trainers.axolotl.templates import message_keys
from sftui.trainers.axolotl.turns import turns_of
from sftui.trainers.base import Examples, ShapedRow, Toolbox, Trainer, from_ids, pick_template, to_render
from sftui.trainers.held_out import HeldOut
from sftui.trainers.pieces import spanned, text_of
from sftui.trainers.versions import rendering_by

PACKS = "multipack"
SHUFFLED = "Axolotl shuffles the rows before training (shuffle_merged_datasets); they are shown in dataset order"
DEDUPLICATED = "dataset_exact_deduplication drops rows that become identical; sftui shows them all"
NOT_VARIABLES: tuple[str, ...] = tuple(RECORD["not variables"].split())
"""Arguments of apply_chat_template that chat_template_kwargs would set instead of variables of the template."""


_WHOLE, _BY_PART = (Tokenize(mode=mode, add_special_tokens=False) for mode in ("whole", "per_part"))


class Axolotl(Trainer):
    """The content of assistant turns and the EOS behind it; instruction types in two parts."""

    traits = TRAITS
    objectives = {
        "dpo": "sftui.trainers.axolotl.preference:AxolotlDpo",
        "kto": "sftui.trainers.axolotl.preference:AxolotlKto",
        "orpo": "sftui.trainers.axolotl.preference:AxolotlOrpo",
        "cpo": "sftui.trainers.axolotl.preference:AxolotlSimpo",
        "reward": "sftui.trainers.axolotl.preference:AxolotlReward",
    }
    usual = Recipe(
        TRAITS.name,
        own=AxolotlOptions(),
        data=Data(given_labels="unshifted"),
        tokenize=Tokenize(mode="whole", add_special_tokens=False),
        mask=Mask(rule="turn_content", trailing="mask"),
        length=Length(max=512, over="drop", min_tokens=2),
        pack=PackOptions(group=100_000),
        batch=BatchOptions(size=1, multiple=64, attention="doc_ids"),
    )

    def usual_in(self, number: versions.Version) -> Recipe:
        drops = versions.at_least(number, (0, 19))
        return replace(self.usual, length=replace(self.usual.length, drop_unlabelled=drops))

    def remarks(self, recipe: Recipe) -> tuple[str, ...]:
        own, held, packs = AxolotlOptions.of(recipe), self.held_out(recipe), recipe.pack.strategy == PACKS
        random = packs and not own.curriculum_sampling
        return (
            packing.RANDOM if random else SHUFFLED if own.shuffle_merged_datasets else "",
            held.sentence(self.title) if held is not None else "",
            DEDUPLICATED if own.dataset_exact_deduplication else "",
            _sampled(own) if own.weight is not None else "",
            packing.NUMBERED if packs and recipe.batch.attention == "doc_ids" else "",
            *ineffective(recipe),
        )

    def brings_template(self, recipe: Recipe) -> bool:
        from sftui.trainers.axolotl.templates import FALLBACK, REGISTRY

        owner, _, name = recipe.render.template.partition("/")  # `jinja` is the user's own, `tokenizer_default` its own
        return owner == self.name and name.removeprefix(FALLBACK) in REGISTRY

    def held_out(self, recipe: Recipe) -> HeldOut | None:
        own = AxolotlOptions.of(recipe)
        size = own.val_set_size
        if not size or size == 1:  # Axolotl takes 1 for a share of 1.0, and stops
            return None
        before = [key for key in ("weight", "dataset_exact_deduplication") if getattr(own, key)]
        unsure = f"{' and '.join(before)} drop{'' if before[1:] else 's'} rows before that" if before else ""
        packs = own.eval_sample_packing is not False
        shuffled = own.shuffle_merged_datasets and not own.curriculum_sampling
        return HeldOut("val_set_size", float(size), own.seed, False, shuffled, unsure=unsure, packs=packs)

    def trained_roles(self, recipe: Recipe) -> tuple[str, ...]:
        if recipe.mask.rule != "turn_content":
            return ()
        return tuple(recipe.data.role_map.get(role, role) for role in recipe.mask.roles)

    def tokenizer_of(self, tokenizer: LoadedTokenizer, recipe: Recipe) -> LoadedTokenizer:
        from sftui.trainers.axolotl.vocabulary import prepared

        return prepared(tokenizer, recipe)

    def own_template(self, name: str, tokenizer: LoadedTokenizer, recipe: Recipe) -> ChatTemplate:
        from sftui.trainers.axolotl.templates import template_named

        return template_named(name, tokenizer, recipe, rendering_by(recipe))

    def detect(self, rows: Sequence[Row], recipe: Recipe) -> Detection:
        return formats.detect(rows, recipe)

    def needs(self, recipe: Recipe) -> tuple[bool, bool]:
        return True, super().needs(recipe)[1]

    def loader_of(self, name: str, recipe: Recipe) -> str | None:
        from sftui.trainers.axolotl.table import loader_by_name

        return AxolotlOptions.of(recipe).ds_type or loader_by_name(name)

    def convert(self, row: Row, detected: Detection, recipe: Recipe) -> Conversation:
        conversation = formats.read_row(row, detected, recipe)
        if conversation.kind is Kind.CHAT:
            column, keys = detected.fields["messages"], detected.message_keys
            return replace(conversation, extra={**conversation.extra, "column": column, "keys": keys})
        return conversation

    def reading_messages(self, recipe: Recipe) -> Recipe:
        own, data = AxolotlOptions.of(recipe), recipe.data
        made = super().reading_messages(recipe)
        keys = made.data.message_keys
        if "reasoning" in data.message_keys and own.template_thinking_key not in (None, "reasoning_content"):
            keys = {**keys, "reasoning": "reasoning_content"}
        mappings = {name: key for name, key in own.message_property_mappings.items() if name not in MESSAGE_KEYS}
        kind = CHAT if own.type else None
        own = replace(own, type=kind, field=None, field_tools=None, message_property_mappings=mappings)
        trained = replace(made.mask, roles=tuple(data.role_map.get(role, role) for role in made.mask.roles))
        return replace(made, data=replace(made.data, message_keys=keys), mask=trained, own=own)

    def shape(self, conversation: Conversation, recipe: Recipe) -> ShapedRow:
        return ShapedRow(conversation)

    def render(self, shaped: ShapedRow, recipe: Recipe, tools: Toolbox, *, spans: bool = True) -> RenderedText:
        conversation = shaped.conversation
        if conversation.kind is Kind.TOKENS:
            return from_ids(conversation, tools)
        if conversation.kind is Kind.STRINGS:
            return spanned([*conversation.extra["runs"], (conversation.completion or "", 1, Part.CONTENT)])
        if "segments" in conversation.extra:
            return _segments(conversation.extra["segments"], recipe.mask.rule == "all")
        if conversation.kind is Kind.TEXT:
            return spanned([(conversation.text or "", NOWHERE, Part.CONTENT)])
        for name in NOT_VARIABLES:
            if name in recipe.render.kwargs:
                raise RecipeError(f"sftui does not model `{name}` in chat_template_kwargs", fix="leave it out")
        template = template_of(conversation, recipe, tools)
        turns = _turns(conversation, recipe, template)
        chat = replace(conversation, messages=tuple(Message(turn) for turn in turns), extra={})
        special, options = tools.special_tokens, _options(recipe)
        return to_render()(chat, template, special_tokens=special, options=options, prompt_messages=None, spans=spans)

    def tokenize_as(self, shaped: ShapedRow, recipe: Recipe, tools: Toolbox) -> tuple[Tokenize, str | None]:
        return _BY_PART if "segments" in shaped.conversation.extra else _WHOLE, None

    def texts(
        self, rendered: RenderedText, shaped: ShapedRow, recipe: Recipe, tools: Toolbox, *, places: bool = True
    ) -> Iterator[ToEncode]:
        conversation = shaped.conversation
        if conversation.kind is Kind.STRINGS:
            cut = len(conversation.prompt or "")
            return (ToEncode(text, True, True) for text in (rendered.text[:cut], rendered.text[cut:]))
        if _is_text(conversation):
            return iter([ToEncode(rendered.text, True, True)])
        return super().texts(rendered, shaped, recipe, tools)

    def tokenize(
        self, rendered: RenderedText, shaped: ShapedRow, recipe: Recipe, tools: Toolbox, *, places: bool = True
    ) -> Tokens:
        if shaped.conversation.kind is Kind.STRINGS:
            return self._two_parts(rendered, shaped, recipe, tools).tokens
        if not _is_text(shaped.conversation):
            return super().tokenize(rendered, shaped, recipe, tools)
        if _pretrains(recipe):
            return parts.whole(rendered, tools.tokenizer, eos=parts.has_eos(recipe))
        return parts.completion(rendered, tools.tokenizer, recipe.length.max).tokens

    def _two_parts(
        self, rendered: RenderedText, shaped: ShapedRow, recipe: Recipe, tools: Toolbox
    ) -> parts.EncodedPart:
        conversation = shaped.conversation
        return parts.prompt_and_response(
            rendered, len(conversation.prompt or ""), tools.tokenizer, recipe.length.max, conversation.extra["eos"]
        )

    def label(
        self, tokens: Tokens, rendered: RenderedText, shaped: ShapedRow, recipe: Recipe, tools: Toolbox
    ) -> tuple[Tokens, Labels]:
        conversation = shaped.conversation
        notes = rendered.estimated
        everything: Ranges = ((0, len(tokens)),) if len(tokens) else ()
        subject, stored = label_rules.Subject(tokens, rendered, conversation), None
        if conversation.kind is Kind.TOKENS:
            drawn, stored = label_rules.draw(subject, recipe.mask), conversation.labels or None
        elif conversation.kind is Kind.STRINGS:
            drawn = _response(tokens, recipe.mask.rule == "all")
            if recipe.length.max is not None and len(tokens) >= recipe.length.max:
                everything = self._two_parts(rendered, shaped, recipe, tools).kept
        elif rendered.pieces is not None:
            owned = [rendered.pieces[owner].trained for owner in tokens.messages]
            drawn = label_rules.by_flags(owned, Reason.GIVEN, Reason.GIVEN_MASKED)
        elif conversation.kind is Kind.TEXT:
            drawn = label_rules.whole(subject)
            if _pretrains(recipe):
                return tokens, _windowed(tokens, drawn, recipe, tools)
            return tokens, self._chunked(tokens, rendered, drawn, recipe, tools)
        else:
            template = template_of(conversation, recipe, tools)
            turns = _turns(conversation, recipe, template)
            settings, by_text = settings_of(recipe), versions.since(recipe, (0, 19))
            row = (turns, conversation.tools, template, tools.special_tokens, _options(recipe), tools.tokenizer)
            locator = mask.Locator(*row, rendered.text, tokens, settings, by_text, template.now())
            flags, reasons, more = mask.draw(locator)
            drawn, notes = (flags, reasons), (*notes, *more)
        return tokens, _kept(label_rules.on_ids(tokens, drawn, everything, notes=notes, stored=stored), recipe)

    def _chunked(
        self, tokens: Tokens, rendered: RenderedText, mask: label_rules.Drawn, recipe: Recipe, tools: Toolbox
    ) -> Labels:
        """A text of type completion: all of it trained, in chunks of sequence_len."""
        size = recipe.length.max
        kept: Ranges = ((0, len(tokens)),)
        if size is not None and len(tokens) >= size * parts.COMPLETION_LIMIT:
            kept = parts.completion(rendered, tools.tokenizer, size).kept
        least = recipe.length.min_tokens or 2
        runs = parts.chunks(kept, size, least)
        short = f"{len(tokens)} tokens: Axolotl drops texts with fewer than {least} (min_sample_len)"
        notes = (f"sequence_len {size} splits the text into {len(runs)} rows",) if len(runs) > 1 else ()
        ranges = tuple(one for run in runs for one in run)
        return label_rules.on_ids(tokens, mask, ranges, None if runs else short, notes)

    def examples(self, tokens: Tokens, labels: Labels, shaped: ShapedRow, recipe: Recipe, tools: Toolbox) -> Examples:
        if not _is_text(shaped.conversation):
            return super().examples(tokens, labels, shaped, recipe, tools)
        least, pretrains = recipe.length.min_tokens or 2, _pretrains(recipe)
        runs = (labels.kept,) if pretrains else parts.chunks(labels.kept, recipe.length.max, least)
        found = (label_rules.example(tokens, replace(labels, kept=run), recipe) for run in runs)
        return tuple(example for example in found if example is not None)

    def collate(self, examples: Sequence[Example], rows: Sequence[int], recipe: Recipe, tools: Toolbox) -> Batch:
        if recipe.batch.flatten:
            raise RecipeError("sftui does not model Axolotl's batch_flattening", fix="set batch.flatten to false")
        return super().collate(examples, rows, replace(recipe, batch=replace(recipe.batch, attention="ones")), tools)

    def pack(self, examples: Sequence[Example], recipe: Recipe, tools: Toolbox) -> Iterator[Pack]:
        capacity = packing.bin_size(recipe)
        if recipe.pack.strategy != PACKS:
            raise RecipeError(
                f"Axolotl has no packing `{recipe.pack.strategy}`", fix="set pack.strategy to multipack or none"
            )
        if (in_order := self.pack_in_order(examples, recipe, tools)) is not None:
            return in_order
        return packing.packs_of(examples, packing.bins_of(examples, capacity, recipe), recipe.batch.attention)

    def pack_in_order(self, examples: Iterable[Example], recipe: Recipe, tools: Toolbox) -> Iterator[Pack] | None:
        if not _sequentially(recipe) or recipe.length.max is None or recipe.pack.strategy != PACKS:
            return None
        return packing.next_fit(examples, packing.bin_size(recipe), recipe.batch.attention)

    def packs_in_a_batch(self, recipe: Recipe) -> int:
        return recipe.batch.size if packing.real_batches(recipe) else 1

    def packing_order(self, recipe: Recipe) -> str:
        if _sequentially(recipe):
            return "one after the other, in dataset order"
        return super().packing_order(recipe)  # that Axolotl takes a random one is among its notes

    def collate_packs(self, packs: Sequence[Pack], recipe: Recipe, tools: Toolbox) -> Batch:
        options = replace(recipe.batch, pad_to="longest")
        if options.multiple and recipe.length.max is not None:
            # pad_to_sequence_len is on with packing unless it is false: widths are multiples of the padded sequence_len
            options = replace(options, multiple=-(-recipe.length.max // options.multiple) * options.multiple)
        examples = [Example(pack.input_ids, pack.labels, pack.attention_mask or ()) for pack in packs]
        batch = super().collate(examples, range(len(packs)), replace(recipe, batch=options), tools)
        gaps = [range(len(ids) - length) for ids, length in zip(batch.input_ids, batch.lengths)]  # counted from 0 anew
        places = [pack.position_ids or () for pack in packs]
        sides = zip(gaps, places) if batch.pad_side == "left" else zip(places, gaps)
        random = () if AxolotlOptions.of(recipe).curriculum_sampling else (packing.RANDOM,)
        return replace(
            batch, position_ids=tuple((*before, *behind) for before, behind in sides), notes=(*batch.notes, *random)
        )


def _is_text(conversation: Conversation) -> bool:
    """Whether a row is one text, and no segments."""
    return conversation.kind is Kind.TEXT and "segments" not in conversation.extra


def _sequentially(recipe: Recipe) -> bool:
    """sample_packing_sequentially."""
    return AxolotlOptions.of(recipe).sample_packing_sequentially


def template_of(conversation: Conversation, recipe: Recipe, tools: Toolbox) -> ChatTemplate:
    """The template of the conversation, of the one that there may be."""
    if len(tools.templates) > 1 and recipe.render.template == "tokenizer":
        raise TemplateError(
            "Axolotl cannot use this tokenizer's chat template",
            why="it has several named templates",
            fix="set chat_template to one of Axolotl's own, or to jinja",
        )
    return pick_template(conversation, tools)


def _options(recipe: Recipe) -> Render:
    """How rows are rendered: Axolotl adds no system message."""
    return recipe.render if recipe.render.inject_system is None else replace(recipe.render, inject_system=None)


def _turns(conversation: Conversation, recipe: Recipe, template: ChatTemplate) -> tuple[Mapping[str, object], ...]:
    extra = conversation.extra
    settings = formats.with_fields(settings_of(recipe), extra["column"], extra["keys"])
    return turns_of(conversation, settings, message_keys(template.source, settings.field_messages))


def _segments(segments: Sequence[tuple[str, bool]], all_trained: bool) -> RenderedText:
    pieces = tuple(
        Piece(text, number, Part.CONTENT, trained=label or all_trained) for number, (text, label) in enumerate(segments)
    )
    return text_of(pieces)


def _response(tokens: Tokens, train_on_inputs: bool) -> label_rules.Drawn:
    before = (train_on_inputs, Reason.WHOLE if train_on_inputs else Reason.PROMPT)

    def verdict(start: int, owner: int, part: Part) -> tuple[bool, Reason]:
        put = part is Part.INJECTED and tokens.starts[start] == NOWHERE
        return (True, Reason.APPENDED if put else Reason.COMPLETION) if owner == 1 else before

    runs = together(tokens.messages, tokens.parts)
    return label_rules.drawn((end - start, verdict(start, owner, part)) for start, end, owner, part in runs)


def _kept(labels: Labels, recipe: Recipe) -> Labels:
    """What is left after min_sample_len, excess_length_strategy and, with packing, the drop of unlabelled rows."""
    length, kept, dropped = recipe.length, labels.kept, None
    count, least = covered(kept), length.min_tokens or 2
    if count < least:
        dropped = f"{count} tokens: Axolotl drops rows with fewer than {least} (min_sample_len)"
    elif length.max is not None and count > length.max:
        if length.over == "drop":
            over = f"{count} tokens, more than sequence_len {length.max}"
            dropped = f"{over}: Axolotl drops the row (excess_length_strategy: drop)"
        elif length.over == "cut_right":
            kept = first(kept, length.max)
        elif length.over == "error":
            raise RecipeError(
                "Axolotl stops the whole run at this row",
                why=f"it has {count} tokens, sequence_len is {length.max} and excess_length_strategy is raise",
                fix="raise sequence_len or set excess_length_strategy to drop or truncate",
            )
        else:
            raise RecipeError(f"Axolotl has no length.over `{length.over}`", fix="set it to drop, cut_right or error")
    packs = length.drop_unlabelled and recipe.pack.strategy == PACKS
    if dropped is None and packs and not moved(labels.ranges, kept):
        dropped = "no trained token is left: with sample_packing Axolotl drops the row"
    return replace(labels, kept=kept or ((0, 0),), dropped=dropped)


def _sampled(own: AxolotlOptions) -> str:
    """What `weight` does to the rows (axolotl 0.20.0, utils/data/sft.py _load_and_process_single_dataset).

    A config that names no seed leaves it None: schemas/validation.py set_default_seed runs where the key is written.
    """
    drawn = "without a seed, so it differs in each run" if own.seed is None else f"with seed {own.seed}"
    share = f"Axolotl takes {own.weight:.4g} of the rows (weight), rounded down, but at least one"
    return f"{share}, after a shuffle {drawn}; sftui shows all rows"


def _pretrains(recipe: Recipe) -> bool:
    """Whether the rows are those of a pretraining_dataset of type pretrain."""
    return AxolotlOptions.of(recipe).type == PRETRAIN


def _windowed(tokens: Tokens, mask: label_rules.Drawn, recipe: Recipe, tools: Toolbox) -> Labels:
    """A text of a pretraining_dataset, trained whole."""
    kept = parts.window(len(tokens), tools.tokenizer, recipe)
    dropped = None if kept else f"{len(tokens)} tokens: Axolotl drops texts with fewer than {parts.LEAST_WINDOW}"
    return label_rules.on_ids(tokens, mask, kept, dropped)
