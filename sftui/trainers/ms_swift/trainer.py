"""ms-swift's supervised fine-tuning, 4.6: its own templates, every piece of equal weight encoded by itself.

Source: ms-swift 4.6.0, template/base.py (_encode, _add_dynamic_eos, _truncate, _encode_truncated, packing_row,
_data_collator), pipelines/train/sft.py, dataset/utils.py (AddLengthPreprocessor), arguments/. The recipe stands for the
config so: mask.rule `parts` and `all`, and mask.turns `last`, are the base strategies of loss_scale, own.loss_scale
what stands behind them; render.template `ms-swift/NAME` is template, `tokenizer` the template of the model;
render.inject_system is system; length.over is truncation_strategy, `drop` its delete. Weights are 0 and 1 where the
loss scale is binary, of which ms-swift keeps no list: the labels say them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, Any

from sftui import labels as label_rules
from sftui.conversations import Detection
from sftui.errors import RecipeError, SftuiError, TemplateError
from sftui.model import Batch, Conversation, Example, Labels, Pack, Part, Piece, Reason, RenderedText, Row, Span, Tokens
from sftui.recipe import Batch as BatchOptions
from sftui.recipe import Data, Length, Loss, Mask, Recipe, Render, Tokenize, changed, day_of
from sftui.runs import Ranges, Runs, joined, merged, together
from sftui.text import clip
from sftui.tokens import LoadedTokenizer, ToEncode, texts_of, tokenize
from sftui.trainers.base import Examples, ReadChat, ShapedRow, Toolbox, Trainer
from sftui.trainers.held_out import IN_ORDER, HeldOut, in_order
from sftui.trainers.ms_swift import TRAITS, MsSwiftOptions, contexts, packing, registry, rows
from sftui.trainers.ms_swift.config import COLUMNS, OBJECTIVES, OWN, strategy_of
from sftui.trainers.ms_swift.contexts import TemplateSurvey
from sftui.trainers.ms_swift.prepare import PREPARED, RowOptions, RowRounds, prepared
from sftui.trainers.ms_swift.registry import NAMING, TITLE, Model, Template, model_of
from sftui.trainers.own_config import require
from sftui.trainers.pieces import InsertedIds, PieceTokens, numbered, owned, said, unrendered
from sftui.trainers.remembering import last_asked
from sftui.values import value_class

if TYPE_CHECKING:
    from sftui.templates import ChatTemplate

FLAT = "padding-free: one row, no attention mask; it needs attn_impl: flash_attn"
UNREAD_LENGTH = "the limit in the model's config.json, which is not available"
BY_PIECE = Tokenize(mode="per_part", add_special_tokens=False)
IGNORED_SCALE = (
    "a message's loss_scale has no effect here: with a loss scale of only 0 and 1, ms-swift keeps just the labels (set"
    " own.is_binary_loss_scale to false)"
)


@value_class
class WeighedPiece(Piece):
    """A piece with its loss weight, and why it has it; `masked` as in `contexts.WeighedContext`."""

    weight: float = 0.0
    reason: Reason = Reason.PROMPT
    masked: tuple[tuple[int, Reason], ...] = ()


_SHAPES = {"reward": "Reward", "kto": "Kto"}


class MsSwift(Trainer):
    """Its own templates; answers and their ends trained, by the weights of its loss scale."""

    traits = TRAITS
    objectives = {
        objective: f"sftui.trainers.ms_swift.preference:MsSwift{_SHAPES.get(objective, 'Pairs')}"
        for objective in OBJECTIVES.values()
    }
    usual = Recipe(
        TRAITS.name,
        own=MsSwiftOptions(),
        data=Data(role_map={}, strings="plain", alpaca_prompt="newline"),
        render=Render(template="tokenizer"),
        tokenize=BY_PIECE,
        mask=Mask(rule="parts"),
        length=Length(max=None, over="drop"),
        batch=BatchOptions(size=1, pad_side="right"),
        loss=Loss(weights="float"),
    )

    def __init__(self, today: Callable[[], date] = date.today) -> None:
        self.today = today  # some templates write the day

    def remarks(self, recipe: Recipe) -> tuple[str, ...]:
        found: list[str] = []
        own = MsSwiftOptions.of(recipe)
        try:
            name, model = template_name(recipe), _model(recipe)
        except RecipeError:
            return ()  # told where the rows are rendered
        if name is not None and not recipe.render.template.startswith(OWN) and model is not None:
            found.append(f"template is not set: ms-swift uses `{name}`, since {model.why}")
        if recipe.length.max is None:
            longest = model.longest if model is not None else None
            what = f"the model's {longest:,} tokens" if longest else UNREAD_LENGTH
            found.append(f"max_length is not set: ms-swift uses {what}")
        one = registry.TEMPLATES.get(name or "")
        if one is not None and registry.writes_day(one):
            found.append(f"the template {one.name} inserts the date of ms-swift's run")
        if one is not None and one.hybrid and own.use_chat_template and not own.disable_ignore_empty_think:
            found.append("an empty thought is not trained: for hybrid models ms-swift adds ignore_empty_think")
        held = self.held_out(recipe)
        return (*found, held.sentence(self.title) if held is not None else "")

    def detect(self, rows_: Sequence[Row], recipe: Recipe) -> Detection:
        own = MsSwiftOptions.of(recipe)
        named = {column: COLUMNS[ours] for ours, column in recipe.data.fields.items() if ours in COLUMNS}
        mapping = {**mapping_of(own.columns), **named}
        by_itself = not own.disable_auto_column_mapping
        return rows.detect(rows_, recipe.data, mapping, by_itself, paired=recipe.paired)

    def convert(self, row: Row, detected: Detection, recipe: Recipe) -> Conversation:
        writes = 1 if recipe.length.over == "split" else 2  # those of `split` are encoded before the second
        strict = MsSwiftOptions.of(recipe).strict
        return rows.convert(row, detected, strict=strict, writes=writes, paired=recipe.paired)

    def own_template(self, name: str, tokenizer: LoadedTokenizer, recipe: Recipe) -> ChatTemplate:
        """A stand-in: rows are rendered from the template's slots."""
        from sftui.templates import ChatTemplate

        registry.template(name)
        return ChatTemplate("", f"{OWN}{name}")

    def tokenizer_of(self, tokenizer: LoadedTokenizer, recipe: Recipe) -> LoadedTokenizer:
        tokenizer = super().tokenizer_of(tokenizer, recipe)
        facts = tokenizer.facts
        if facts.eos_id is None and facts.pad_token is not None:
            return tokenizer.overriding(eos=facts.pad_token)
        if facts.pad_id is None and facts.eos_token is not None:
            return tokenizer.overriding(pad=facts.eos_token)
        return tokenizer

    def survey(self, first: Conversation | None, recipe: Recipe, tools: Toolbox) -> TemplateSurvey:
        return _survey(recipe, tools.tokenizer, day_of(recipe) or self.today())

    def _survey(self, recipe: Recipe, tools: Toolbox) -> TemplateSurvey:
        return tools.survey if isinstance(tools.survey, TemplateSurvey) else self.survey(None, recipe, tools)

    def as_chat(self, conversation: Conversation, recipe: Recipe, tools: Toolbox) -> ReadChat | None:
        if any(message.role not in ("system", "user", "assistant") for message in conversation.messages):
            return None  # calls and results are ms-swift's own
        own = MsSwiftOptions.of(recipe)
        adds = own.use_chat_template and own.add_non_thinking_prefix
        thought = self._survey(recipe, tools).options.template.non_thinking_prefix if adds else ""
        messages = [{"role": one.role, "content": one.content} for one in conversation.messages]
        return messages, conversation.tools, thought

    def fitting(
        self, conversation: Conversation, text: str, recipe: Recipe, tools: Toolbox, before: Sequence[str] = ()
    ) -> str | None:
        given = conversation.extra.get(rows.GIVEN)
        if not isinstance(given, rows.RowInput):
            return None
        day = day_of(recipe) or self.today()
        for name in sorted(registry.TEMPLATES, key=lambda one: (OWN + one not in before, len(one), one)):
            try:
                survey = _survey(changed(recipe, "render.template", OWN + name), tools.tokenizer, day)
                found = contexts.pieces(prepared(given, survey.options), survey)
            except (SftuiError, rows.DroppedRow):
                continue
            if _rendered(found, False).text == text:
                return OWN + name
        return None

    def shape(self, conversation: Conversation, recipe: Recipe) -> ShapedRow:
        dropped = conversation.extra.get(rows.DROPPED)
        given = conversation.extra.get(rows.GIVEN)
        if dropped is not None or given is None:
            return ShapedRow(conversation, dropped)
        try:
            options = _options(recipe, day_of(recipe) or self.today())
        except TemplateError:
            return ShapedRow(conversation)  # told where it is rendered
        try:
            made = prepared(given, options)
        except rows.DroppedRow as left:
            return ShapedRow(conversation, self._left(str(left), recipe))
        notes = (*conversation.notes, *made.notes)
        scales = (scale for _, answer in made.rounds if answer is not None for scale in answer.scale or ())
        if options.binary and any(scale is not None for scale in scales):
            notes = (*notes, IGNORED_SCALE)
        return ShapedRow(replace(conversation, extra={**conversation.extra, PREPARED: made}, notes=notes))

    def _left(self, why: str, recipe: Recipe) -> str:
        """Why a row is left out; ConversationError where that stops the run."""
        rows.refuse(why, MsSwiftOptions.of(recipe).strict)
        return f"{TITLE} drops the row: {why}"

    def render(self, shaped: ShapedRow, recipe: Recipe, tools: Toolbox, *, spans: bool = True) -> RenderedText:
        if shaped.dropped is not None:
            return _unrendered(shaped.conversation)
        survey, made = self._survey(recipe, tools), shaped.conversation.extra.get(PREPARED)
        if not isinstance(made, RowRounds):
            return _unrendered(shaped.conversation)
        try:
            found = contexts.pieces(made, survey)
            why = "" if found else "nothing in it is encoded (IndexError)"
        except rows.DroppedRow as left:
            why = str(left)
        if why:
            return replace(_unrendered(shaped.conversation), pieces=(), notes=(self._left(why, recipe),))
        return _rendered(found, spans)

    def texts(
        self, rendered: RenderedText, shaped: ShapedRow, recipe: Recipe, tools: Toolbox, *, places: bool = True
    ) -> Iterator[ToEncode]:
        if rendered.pieces is None:
            return iter(())
        return texts_of(rendered, tools.tokenizer, BY_PIECE, places=places)

    def tokenize(
        self, rendered: RenderedText, shaped: ShapedRow, recipe: Recipe, tools: Toolbox, *, places: bool = True
    ) -> Tokens:
        if not rendered.pieces:
            return tokenize(rendered, tools.tokenizer, replace(BY_PIECE, mode="whole"), places=places)
        tokens = tokenize(numbered(rendered), tools.tokenizer, BY_PIECE, places=places)
        pieces = tokens.messages
        assert isinstance(pieces, Runs)
        if not places:
            messages = joined((end - start, rendered.pieces[number].message) for start, end, number in pieces.runs())
            return replace(tokens, messages=PieceTokens.of(messages, pieces))
        messages, parts = owned(tokens, rendered)
        return replace(tokens, messages=PieceTokens.of(messages, pieces), parts=parts)

    def label(
        self, tokens: Tokens, rendered: RenderedText, shaped: ShapedRow, recipe: Recipe, tools: Toolbox
    ) -> tuple[Tokens, Labels]:
        if not rendered.pieces:
            return tokens, label_rules.dropped_labels(tokens, rendered.notes[0])
        require(recipe, "length.over")
        if not len(tokens):
            return tokens, label_rules.dropped_labels(tokens, self._left("it has no tokens (IndexError)", recipe))
        survey = self._survey(recipe, tools)
        if None in tokens.input_ids:
            raise TemplateError(
                f"the template {survey.options.template.name} inserts a token that the tokenizer does not have",
                why="ms-swift puts None among the ids, and stops when it builds a batch",
                fix="choose another with render.template",
            )
        stretches = _stretches(tokens, rendered, tools)
        ranges, why = _kept(tokens.input_ids, recipe, _longest(recipe), survey.protected)
        if why is not None:
            return tokens, label_rules.dropped_labels(tokens, self._left(why, recipe))
        found = _with_ends(stretches, tokens.input_ids, survey.suffix, survey.options.binary)
        firsts = {0, *(start for start, _ in (ranges if recipe.length.over == "split" else ranges[:1]))}
        ranges_of_firsts = [(first, first + 1) for first in sorted(firsts)]  # of the row, and of each part that is left
        found = _changed(found, ranges_of_firsts, lambda on, _, reason: (False, 0.0, Reason.FORCED if on else reason))
        pieces: Sequence[Any] = rendered.pieces
        masked = dict(one for piece in pieces for one in piece.masked)
        flags, reasons = label_rules.drawn(_verdicts(found, tokens, masked))
        weights = joined((end - start, weight) for start, end, _, weight, _ in found)
        return tokens, label_rules.on_ids(tokens, (flags, reasons), ranges, weights=weights)

    def examples(self, tokens: Tokens, labels: Labels, shaped: ShapedRow, recipe: Recipe, tools: Toolbox) -> Examples:
        if len(labels.kept) < 2 or recipe.length.over != "split":
            return super().examples(tokens, labels, shaped, recipe, tools)
        return label_rules.examples_of(tokens, labels, recipe)

    def collate(self, examples: Sequence[Example], rows_: Sequence[int], recipe: Recipe, tools: Toolbox) -> Batch:
        if recipe.batch.flatten:
            return label_rules.end_to_end(examples, rows_, FLAT)
        batch = super().collate(examples, rows_, recipe, tools)
        if recipe.batch.pad_side != "left":
            return batch
        width = len(batch.input_ids[0]) if batch.input_ids else 0
        positions = tuple((*(0,) * (width - length), *range(length)) for length in batch.lengths)
        return replace(batch, position_ids=positions)

    def pack_in_order(self, examples: Iterable[Example], recipe: Recipe, tools: Toolbox) -> Iterator[Pack] | None:
        require(recipe, "pack.strategy")
        size = packing.size_of(recipe, _longest(recipe))
        return packing.packs(examples, size, recipe.pack.strategy == "sequential")

    def held_out(self, recipe: Recipe) -> HeldOut | None:
        own = MsSwiftOptions.of(recipe)
        ratio = own.split_dataset_ratio if 0 < own.split_dataset_ratio < 1 else 0
        mixes = own.dataset_shuffle and recipe.pack.strategy != "none"
        if not ratio and own.dataset_sample is None and not mixes:
            return None
        key = "split_dataset_ratio" if ratio else "#N after the dataset" if own.dataset_sample else "dataset_shuffle"
        return packing.RowDraw(key, ratio, own.data_seed, True, own.dataset_shuffle, own.dataset_sample)

    def packing_order(self, recipe: Recipe) -> str:
        said = f"{IN_ORDER}, {packing.GROUP:,} rows at a time (packing_num_proc 1)"
        return in_order(said, self.held_out(recipe))

    def collate_packs(self, packs: Sequence[Pack], recipe: Recipe, tools: Toolbox) -> Batch:
        examples = [Example(one.input_ids, one.labels, (1,) * len(one.input_ids), weights=one.weights) for one in packs]
        batch = label_rules.end_to_end(examples, range(len(packs)), FLAT)
        positions = tuple(place for pack in packs for place in pack.position_ids or range(len(pack.input_ids)))
        return replace(batch, position_ids=(positions,))


def template_name(recipe: Recipe) -> str | None:
    """The template that a recipe means; None where it is not known. RecipeError where ms-swift stops."""
    model = _model(recipe)
    if recipe.render.template.startswith(OWN):
        return recipe.render.template.removeprefix(OWN)
    if model is not None and model.stops is not None:
        raise RecipeError(model.stops.what, why=model.stops.why, fix=model.stops.fix)
    return model.template if model is not None else None


@last_asked
def _model(recipe: Recipe) -> Model | None:
    """The model of a recipe; None where it names none."""
    own = MsSwiftOptions.of(recipe)
    named = recipe.tokenizer.name
    if named is None and own.model_type is None:
        return None
    return model_of(named, recipe.tokenizer.revision, own.model_type)


@last_asked
def _options(recipe: Recipe, day: date) -> RowOptions:
    """What a recipe asks; RecipeError or TemplateError where ms-swift stops, or sftui does not know."""
    own = MsSwiftOptions.of(recipe)
    if recipe.mask.rule not in ("parts", "all"):
        raise RecipeError(f"{TITLE} has no mask.rule `{recipe.mask.rule}`", fix="set it to parts or all")
    name = template_name(recipe)
    if name is None:
        model = _model(recipe)
        why = model.why if model is not None else "the recipe names no model"
        raise TemplateError("sftui does not know which template ms-swift uses", why=why, fix=NAMING)
    template = registry.template(name)
    hybrid = template.hybrid
    if not own.use_chat_template:
        template = template.bare()
    default = recipe.render.inject_system
    if default is not None and not template.takes_system and own.use_chat_template:
        what = f"the template {name} has no system text"
        raise RecipeError(what, why="ms-swift stops (AssertionError)", fix="remove the system text")
    system = template.default_system if default is None else default
    template = registry.on_day(replace(template, default_system=system), day)
    strategy = strategy_of(recipe.mask)
    said_ = strategy + (f"+{own.loss_scale}" if own.loss_scale else "")
    if hybrid and not own.disable_ignore_empty_think and "ignore_empty_think" not in said_:
        said_ += "+ignore_empty_think"
    _, names = registry.check_scale(said_)
    binary = contexts.binary(names) if own.is_binary_loss_scale is None else own.is_binary_loss_scale
    if recipe.length.over == "split" and own.use_chat_template:
        raise RecipeError(
            "ms-swift stops: `--truncation_strategy split` is currently only supported for pre-training",
            fix="set length.over to drop, or own.use_chat_template to false",
        )
    return RowOptions(template, own, strategy, names, binary)


def _survey(recipe: Recipe, tokenizer: LoadedTokenizer, day: date) -> TemplateSurvey:
    options = _options(recipe, day)
    template, facts = options.template, tokenizer.facts
    if facts.eos_id is None or facts.eos_token is None:
        raise RecipeError(
            "ms-swift stops: the tokenizer has neither an EOS nor a pad token (AssertionError)",
            fix="set tokenizer.eos_token in its files",
        )
    resolve = partial(_ids, tokenizer, template.name)
    stops = [*template.stop_words]
    stop = template.suffix[-1] if template.suffix else ""
    ending = stop.strip() if isinstance(stop, str) else ""
    stops += [word for word in (ending, facts.eos_token) if word and word not in stops]
    front, back = _around(tokenizer, template) if template.auto_add_bos else ((), ())
    shown = partial(_shown, tokenizer)
    suffix = tuple(
        token for slot in template.suffix for token in (tokenizer.ids(slot) if isinstance(slot, str) else resolve(slot))
    )
    media = (facts.special_tokens.get(f"{kind}_token") for kind in ("image", "video", "audio"))
    found = (tokenizer.token_id(token) for token in media if isinstance(token, str))
    protected = frozenset(token for token in found if token is not None)
    return TemplateSurvey(options, front, back, tuple(stops), resolve, shown, ending, suffix, protected)


def _ids(tokenizer: LoadedTokenizer, name: str, slot: tuple[int | str, ...]) -> tuple[int, ...]:
    """A slot of ids; TemplateError for one that the tokenizer does not have."""
    facts = tokenizer.facts
    found: list[int] = []
    for one in slot:
        if isinstance(one, int):
            found.append(one)
            continue
        token = {"eos_token_id": facts.eos_id, "bos_token_id": facts.bos_id, "pad_token_id": facts.pad_id}.get(one)
        if token is None:
            raise TemplateError(
                f"the template {name} inserts `{one}`, which the tokenizer does not have",
                why="ms-swift stops",
                fix="choose another with render.template",
            )
        found.append(token)
    return tuple(found)


def _shown(tokenizer: LoadedTokenizer, ids: Sequence[int]) -> str:
    size = tokenizer.facts.vocab_size
    return "".join(tokenizer.piece(one) if 0 <= one < size else f"<{one}>" for one in ids)


def _around(tokenizer: LoadedTokenizer, template: Template) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """What the tokenizer puts around the text `a`, which a template with auto_add_bos asks it."""
    alone, whole = tokenizer.ids("a", False), tokenizer.ids("a", True)
    if len(alone) != 1:
        raise TemplateError(
            f"the template {template.name} does not fit this tokenizer",
            why="ms-swift checks what it adds around the text `a`, which must be one token (AssertionError), and drops"
            " every row",
            fix="choose another with render.template",
        )
    at = whole.index(alone[0])
    return whole[:at], whole[at + 1 :]


def _longest(recipe: Recipe) -> int | None:
    """max_length, which is the model's own where it is not set; None where that is not known."""
    model = _model(recipe) if recipe.length.max is None else None
    return model.longest if model is not None else recipe.length.max


def mapping_of(columns: str | None) -> Mapping[str, str]:
    """`columns` of the config."""
    if not columns:
        return {}
    try:
        value: Any = json.loads(columns)
    except ValueError:
        value = None
    if not isinstance(value, dict) or not all(isinstance(one, str) for one in value.values()):
        raise RecipeError("`columns` is not a JSON object of column names", fix='write it as {"old": "new"}')
    return value


def _rendered(found: Sequence[contexts.WeighedContext], spans: bool) -> RenderedText:
    """Pieces as text, with who wrote what in them."""
    pieces: list[Piece] = []
    placed: list[Span] = []
    at = 0
    for context, weight, reason, masked in found:
        if isinstance(context, InsertedIds):
            text, message, part, ids = context.text, context.message, context.part, context.ids
            runs: Sequence[Any] = (context[1:],)
        else:
            text, message, part, ids, runs = said(context), context[0].message, context[0].part, None, context
        pieces.append(
            WeighedPiece(text, message, part, weight > 0, False, ids, weight=weight, reason=reason, masked=masked)
        )
        if spans:
            for one, owner, own in runs:
                if one:
                    if placed and placed[-1][2:] == (owner, own):
                        placed[-1] = Span(placed[-1].start, at + len(one), owner, own)
                    else:
                        placed.append(Span(at, at + len(one), owner, own))
                    at += len(one)
    return RenderedText("".join([piece.text for piece in pieces]), tuple(placed), pieces=tuple(pieces))


Stretch = tuple[int, int, bool, float, Reason]
"""Tokens of one weight: from, to, whether they are trained, the weight, and why."""


def _stretches(tokens: Tokens, rendered: RenderedText, tools: Toolbox) -> list[Stretch]:
    """The tokens by piece."""
    pieces: Sequence[Any] = rendered.pieces or ()
    if isinstance(tokens.messages, PieceTokens):
        found = tokens.messages.pieces.runs()
    else:
        lengths = [len(one.ids) if one.ids is not None else len(tools.tokenizer.ids(one.text)) for one in pieces]
        found = joined((length, number) for number, length in enumerate(lengths)).runs()
    return [(start, end, pieces[n].weight > 0, pieces[n].weight, pieces[n].reason) for start, end, n in found]


def _with_ends(found: Sequence[Stretch], ids: Sequence[int], suffix: Sequence[int], binary: bool) -> list[Stretch]:
    """What is masked behind a trained token begins trained where it begins with the suffix (_add_dynamic_eos); of a
    binary scale weights are 0 and 1."""
    size, ends = len(suffix), list[tuple[int, int]]()
    begun, before = 0, False
    for start, _, on, _, _ in (*found, (len(ids), len(ids), True, 0.0, Reason.PROMPT)):
        if before and not on:
            begun = start
        elif on and not before and begun and start - begun >= size > 0 and tuple(ids[begun : begun + size]) == suffix:
            ends.append((begun, begun + size))
        before = on
    weighed = [(start, end, on, float(on) if binary else weight, reason) for start, end, on, weight, reason in found]
    return _changed(weighed, ends, lambda on, weight, reason: (True, weight or 1.0, Reason.TERMINATOR))


def _changed(
    found: Sequence[Stretch],
    ranges: Sequence[tuple[int, int]],
    change: Callable[[bool, float, Reason], tuple[bool, float, Reason]],
) -> list[Stretch]:
    """The stretches, changed in some ranges that are in order."""
    made: list[Stretch] = []
    for start, end, on, weight, reason in found:
        for first, past in (one for one in ranges if one[0] < end and one[1] > start):
            first, past = max(first, start), min(past, end)
            made += [(start, first, on, weight, reason), (first, past, *change(on, weight, reason))]
            start = past
        made.append((start, end, on, weight, reason))
    return [stretch for stretch in made if stretch[1] > stretch[0]]


def _verdicts(
    found: Sequence[Stretch], tokens: Tokens, masked: Mapping[int, Reason]
) -> Iterator[tuple[int, tuple[bool, Reason]]]:
    """The mask, with the parts of tokens told where they are known, and why messages are masked by themselves."""
    if not tokens.placed:
        yield from ((end - start, (on, reason)) for start, end, on, _, reason in found)
        return
    verdicts = joined((end - start, (on, reason)) for start, end, on, _, reason in found)
    stretches = together(verdicts, tokens.parts)
    if masked:
        parted = joined((end - start, (verdict, part)) for start, end, verdict, part in stretches)
        for start, end, ((on, reason), part), message in together(parted, tokens.messages):
            own = not on and reason in contexts.UNANSWERED and part in (Part.CONTENT, Part.TERMINATOR)
            yield end - start, (on, masked[message]) if own and message in masked else _verdict(on, reason, part)
        return
    for start, end, (on, reason), part in stretches:
        yield end - start, _verdict(on, reason, part)


def _verdict(on: bool, reason: Reason, part: Part) -> tuple[bool, Reason]:
    """Whether a part of a message is trained, and why."""
    if on and part is Part.TERMINATOR:
        reason = Reason.TERMINATOR
    elif not on and reason in contexts.UNANSWERED:
        reason = Reason.HEADER if part in (Part.HEADER, Part.BOS, Part.TERMINATOR) else Reason.PROMPT
    return on, reason


def _kept(ids: Sequence[int], recipe: Recipe, most: int | None, protected: frozenset[int]) -> tuple[Ranges, str | None]:
    """The ranges that are left of a row, or why nothing is; a cut leaves the protected ids where they are."""
    count = len(ids)
    if most is None or count <= most:
        return ((0, count),), None
    over = recipe.length.over
    if over == "drop":
        return (), f"its {count:,} tokens exceed max_length {most:,} (truncation_strategy delete)"
    if over == "split":
        return tuple((start, min(start + most, count)) for start in range(0, count, most)), None
    kept = [place for place, token in enumerate(ids) if token in protected] if protected else []
    if not kept:
        return ((count - most, count),) if over == "cut_left" else ((0, most),), None
    held = set(kept)
    others = [place for place in range(count) if place not in held]
    left = max(most - len(kept), 0)
    held.update((others[-left:] if left else []) if over == "cut_left" else others[:left])
    return merged((place, place + 1) for place in sorted(held)), None


def _unrendered(conversation: Conversation) -> RenderedText:
    """The contents of a row that is left out: ms-swift never renders it."""
    contents = (message.content for message in conversation.messages)
    texts = (content if isinstance(content, str) else clip(str(content), 2000) for content in contents)
    return unrendered(texts, "ms-swift")
