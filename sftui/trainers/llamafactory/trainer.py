"""LLaMA-Factory's supervised fine-tuning, 0.9.5 (v0 engine).

Source: llamafactory 0.9.5, data/ (cuts and knapsacks: data/processor/processor_utils.py, infer_seqlen
(labels.proportional) and greedy_knapsack) and train/sft/workflow.py. The recipe stands for the config so: mask.rule
`parts` trains the answers, `all` is train_on_prompt; mask.turns `last` is mask_history; length.over `proportional` is
its only cut; pack.strategy `knapsack` is packing, `neat` neat_packing; render.template `llamafactory/NAME` is
template, `tokenizer` template: null; render.inject_system is default_system; render.kwargs hold enable_thinking and
preserve_thinking. own holds formatting where it is openai, tool_format, max_samples, ignore_pad_token_for_loss,
add_tokens, add_special_tokens and stage where it is pt (then pack.strategy is `wrapped`, see `pretrain`).
What a template does to the tokenizer: data/template.py `fix_special_tokens`; transformers 5, tokenization_utils_base.py
`add_special_tokens`: also a known token is added anew, as special and without the stripping it may have had.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date
from itertools import accumulate
from typing import TYPE_CHECKING

from sftui import labels as label_rules
from sftui.conversations import Detection
from sftui.errors import ConversationError, RecipeError, SftuiError, TemplateError, TokenizerError
from sftui.model import Batch, Conversation, Example, Labels, Pack, Part, Reason, RenderedText, Row, Tokens
from sftui.nearest import did_you_mean
from sftui.recipe import Batch as BatchOptions
from sftui.recipe import Data, Length, Mask, Recipe, Render, Tokenize, day_of
from sftui.runs import Stretch, as_runs, labelled, merged
from sftui.tokens import LoadedTokenizer, ToEncode, texts_of, tokenize
from sftui.tokens.loaded import FastEngine
from sftui.trainers import versions
from sftui.trainers.base import MessagesTarget, ReadChat, ShapedRow, Toolbox, Trainer, pad_token_id
from sftui.trainers.held_out import HeldOut
from sftui.trainers.llamafactory import TRAITS, LlamaFactoryOptions, encode, formats, pretrain
from sftui.trainers.llamafactory.registry import PLACEHOLDER, RELEASE, TEMPLATES, Slots, SlotTemplate, Special, source
from sftui.trainers.llamafactory.tools import FORMATS, no_json
from sftui.trainers.own_config import require
from sftui.trainers.packing import Documents
from sftui.trainers.pieces import numbered, owned, unrendered

if TYPE_CHECKING:
    from sftui.templates import ChatTemplate

OWN = "llamafactory/"
USUAL = frozenset(("chatml", "qwen", "llama3", "gemma", "mistral", "phi"))
"""Templates that are named first where several write the same."""

ONE_PACK = (
    "LLaMA-Factory stops at its first batch: with FlashAttention 2 (flash_attn: fa2) neat_packing takes one"
    " pack per batch (AssertionError: bsz should be 1 for neat packing); set per_device_train_batch_size to 1"
)
UNEVEN_PACKS = (
    "LLaMA-Factory stops at its first batch: packs of cutoff_len {:,} are padded to {:,} tokens, their position ids are"
    " not (RuntimeError: The size of tensor a must match the size of tensor b); set cutoff_len to a multiple of 8"
)


class LlamaFactory(Trainer):
    """Its own templates, every slot tokenized alone, answers and their ends trained."""

    traits = TRAITS
    objectives = {
        **dict.fromkeys(("dpo", "reward"), "sftui.trainers.llamafactory.preference:LlamaFactoryPairs"),
        "kto": "sftui.trainers.llamafactory.preference:LlamaFactoryKto",
    }
    usual = Recipe(
        TRAITS.name,
        own=LlamaFactoryOptions(),
        data=Data(role_map=formats.ROLES, strings="plain", alpaca_prompt="newline", strict_turns="drop"),
        render=Render(template="tokenizer"),
        tokenize=Tokenize(mode="per_part"),
        mask=Mask(rule="parts"),
        length=Length(max=2048, over="proportional"),
        batch=BatchOptions(pad_side="right", multiple=8),
    )

    def __init__(self, today: Callable[[], date] = date.today) -> None:
        self.today = today  # the tool format llama3 writes the date of the preparation

    def preset(self, version: str | None = None) -> Recipe:
        recipe = super().preset(version)
        if versions.since(recipe, (1,)):
            fix = "use llamafactory-v1 for its v1 engine (USE_V1=1)"
            what = f"{self.title} {version} is not yet released"
            raise RecipeError(what, fix=fix)
        return recipe

    def remarks(self, recipe: Recipe) -> tuple[str, ...]:
        found: list[str] = []
        named = _named(recipe)
        if named is None:
            found.append(
                "template is not set: LLaMA-Factory guesses slots from the tokenizer's chat template, which may"
                " render differently; without one, or with several, it uses its template `empty`"
            )
        elif named.media:
            media = " and ".join(word if word == "audio" else f"{word}s" for word in named.media)
            found.append(
                f"the template {named.name} is for a model that takes {media}: if its folder has no processor,"
                " LLaMA-Factory stops at the first row; what is shown applies to text-only rows"
            )
        held = self.held_out(recipe)
        return (*found, held.sentence(self.title) if held is not None else "")

    def stops(self, recipe: Recipe) -> tuple[str, ...]:
        if recipe.pack.strategy not in ("knapsack", "neat"):
            return ()
        found = [ONE_PACK] if recipe.batch.attention == "none" and recipe.batch.size > 1 else []
        size, multiple, named = recipe.length.max or 0, recipe.batch.multiple or 1, _named(recipe)
        if size % multiple and (named is None or not named.media):  # else position ids are made anew
            found.append(UNEVEN_PACKS.format(size, size + -size % multiple))
        return tuple(found)

    def held_out(self, recipe: Recipe) -> HeldOut | None:
        own = LlamaFactoryOptions.of(recipe)
        size = own.val_size
        if not size or size == 1:  # LLaMA-Factory takes 1 for a share of 1.0, and stops
            return None
        return HeldOut("val_size", float(size), 42 if own.seed is None else own.seed, drawn=True, most=own.max_samples)

    def detect(self, rows: Sequence[Row], recipe: Recipe) -> Detection:
        own, objective = LlamaFactoryOptions.of(recipe), recipe.loss.objective
        found = formats.detect(rows, recipe.data, openai=_openai(recipe), objective=objective)
        if found.refused is None and (own.preprocessing_num_workers or 1) == 1:
            found = formats.unless_late(rows, found, own.max_samples)
        if found.refused is None and rows and all(self._skipped(row, found, recipe) for row in rows):
            note = f"all {len(rows)} sampled rows are dropped; if none is left, LLaMA-Factory stops: "
            found = replace(found, notes=(*found.notes, f"{note}Cannot find valid samples"))
        return found

    def _skipped(self, row: Row, detected: Detection, recipe: Recipe) -> bool:
        with suppress(ConversationError):
            return row.data is not None and formats.DROPPED in self.convert(row, detected, recipe).extra
        return False

    def convert(self, row: Row, detected: Detection, recipe: Recipe) -> Conversation:
        conversation = formats.convert(row, detected, openai=_openai(recipe), objective=recipe.loss.objective)
        most = LlamaFactoryOptions.of(recipe).max_samples
        if pretrain.is_pretraining(recipe):
            conversation = pretrain.as_text(conversation)
        if most is not None and row.index >= most:
            why = f"max_samples {most}: LLaMA-Factory reads no further rows"
            return replace(conversation, extra={formats.DROPPED: why})
        return conversation

    def messages_target(self, recipe: Recipe) -> MessagesTarget:
        lost = "" if _openai(recipe) else "it reads `tool_calls` only with `formatting: openai`"
        return MessagesTarget(self.title, lost, tools_as_text=not _openai(recipe))

    def as_chat(self, conversation: Conversation, recipe: Recipe, tools: Toolbox) -> ReadChat | None:
        chat, template = formats.as_chat(conversation), self._survey(recipe, tools).template
        return None if chat is None else (*chat, template.empty_thought if template.reasons else "")

    def fitting(
        self, conversation: Conversation, text: str, recipe: Recipe, tools: Toolbox, before: Sequence[str] = ()
    ) -> str | None:
        facts, day = tools.untouched.facts, day_of(recipe)
        for name in sorted(TEMPLATES, key=lambda one: (OWN + one not in before, one not in USUAL, len(one), one)):
            template = TEMPLATES[name]
            # Texts alone are compared, so that no tokenizer is made anew for each of them: ids stand for nothing here.
            eos = eos_under(template, facts.eos_token)
            special = encode.Specials(_token(facts.bos_token, 0), (eos, 0), dict.fromkeys(template.inserted, 0))
            try:
                made = encode.Writer(template, special, recipe).render(
                    conversation.messages, conversation.tools, lambda: day or self.today(), spans=False
                )
            except SftuiError:
                continue
            if made.text == text:
                return OWN + name
        return None

    def needs(self, recipe: Recipe) -> tuple[bool, bool]:
        # Else all tokens of a turn are trained or none is, and a piece is of one turn.
        return recipe.mask.terminator == "mask" or recipe.mask.trailing == "mask", False

    def tokenizer_of(self, tokenizer: LoadedTokenizer, recipe: Recipe) -> LoadedTokenizer:
        tokenizer = super().tokenizer_of(tokenizer, recipe)
        own = LlamaFactoryOptions.of(recipe)
        for added, special in ((own.add_tokens, False), (own.add_special_tokens, True)):
            if added is not None:
                tokenizer = with_tokens(tokenizer, [word.strip() for word in added.split(",")], special=special)
        return fix_special_tokens(tokenizer, _named(recipe) or TEMPLATES["empty"])

    def own_template(self, name: str, tokenizer: LoadedTokenizer, recipe: Recipe) -> ChatTemplate:
        """The template as the jinja that LLaMA-Factory would save; rows are rendered from its slots."""
        from sftui.templates import ChatTemplate

        return ChatTemplate(source(_registered(name), tokenizer), f"{OWN}{name}")

    def survey(self, first: Conversation | None, recipe: Recipe, tools: Toolbox) -> encode.Writer:
        template, facts = template_of(recipe, tools), tools.tokenizer.facts
        special = encode.Specials(
            _token(facts.bos_token, facts.bos_id),
            _token(facts.eos_token, facts.eos_id),
            {name: found for name in template.inserted if (found := _id_of(tools.tokenizer, name)) is not None},
        )
        return encode.Writer(template, special, recipe)

    def _survey(self, recipe: Recipe, tools: Toolbox) -> encode.Writer:
        return tools.survey if isinstance(tools.survey, encode.Writer) else self.survey(None, recipe, tools)

    def shape(self, conversation: Conversation, recipe: Recipe) -> ShapedRow:
        return ShapedRow(conversation, conversation.extra.get(formats.DROPPED))

    def render(self, shaped: ShapedRow, recipe: Recipe, tools: Toolbox, *, spans: bool = True) -> RenderedText:
        conversation = shaped.conversation
        if pretrain.is_pretraining(recipe):
            return pretrain.render(conversation.text or "", recipe, tools.tokenizer)
        if shaped.dropped is not None:
            contents = (message.content for message in conversation.messages)
            return unrendered((text if isinstance(text, str) else "" for text in contents), "LLaMA-Factory")
        if conversation.tools is not None and not isinstance(conversation.tools, str):
            raise no_json()
        writer = self._survey(recipe, tools)
        rendered = writer.render(
            conversation.messages,
            conversation.tools,
            lambda: day_of(recipe) or self.today(),
            spans=spans,
            prompted=conversation.extra.get(formats.PROMPTED),
        )
        if conversation.tools and writer.template.tools_format == "llama3":
            return replace(rendered, notes=("the tool format llama3 inserts the preparation date",))
        return rendered

    def texts(
        self, rendered: RenderedText, shaped: ShapedRow, recipe: Recipe, tools: Toolbox, *, places: bool = True
    ) -> Iterator[ToEncode]:
        return texts_of(rendered, tools.tokenizer, self._survey(recipe, tools).options(rendered), places=places)

    def tokenize(
        self, rendered: RenderedText, shaped: ShapedRow, recipe: Recipe, tools: Toolbox, *, places: bool = True
    ) -> Tokens:
        options = self._survey(recipe, tools).options(rendered)
        if rendered.pieces is None or not places:
            return tokenize(rendered, tools.tokenizer, options, places=places)
        tokens = tokenize(numbered(rendered), tools.tokenizer, options)
        messages, parts = owned(tokens, rendered)
        return replace(tokens, messages=messages, parts=parts)

    def label(
        self, tokens: Tokens, rendered: RenderedText, shaped: ShapedRow, recipe: Recipe, tools: Toolbox
    ) -> tuple[Tokens, Labels]:
        if pretrain.is_pretraining(recipe):
            most = None if recipe.pack.strategy != "none" else recipe.length.max
            return tokens, _but_padding(tokens, most, pad_token_id(recipe, tools)[0])
        require(recipe, "mask.rule", "length.over")
        template = self._survey(recipe, tools).template
        history, prompt = recipe.mask.turns == "last", recipe.mask.rule == "all"
        if history and prompt:
            fix = "set mask.turns to all or mask.rule to parts"
            raise RecipeError("`mask_history` is incompatible with `train_on_prompt`", fix=fix)
        if prompt and template.efficient_eos:
            what = f"the template {template.name} does not support `train_on_prompt`"
            raise RecipeError(what, fix="set mask.rule to parts")
        stretches = encode.stretches(tokens, shaped.conversation.messages)
        appended = int(template.efficient_eos)
        count = len(tokens) - appended
        turns = encode.turn_count(shaped.conversation.messages)
        starts = starts_of(stretches, count, turns)
        pairs = [(starts[k + 1] - starts[k], starts[k + 2] - starts[k + 1]) for k in range(0, len(starts) - 2, 2)]
        most = recipe.length.max  # packing leaves one place free
        cutoff = most - 1 if most is not None and recipe.pack.strategy != "none" else most
        kept = label_rules.proportional(pairs, cutoff, reserved=appended, last_first=history)
        lengths = (length for pair in kept for length in pair)
        places = [(start, start + length) for start, length in zip(starts, lengths)]
        ranges = merged([*places, (count, count + appended)])  # the appended EOS is always kept
        flags, reasons = drawn_of(stretches, count, turns - 1, recipe.mask, appended)
        if not template.efficient_eos:
            return tokens, label_rules.on_ids(tokens, (flags, reasons), ranges)
        moved, why = list(label_rules.applied(flags, tokens.input_ids)), list(reasons)
        served_first = (len(pairs) - 1 if history else 0) * 2
        for turn in range(0, 2 * len(pairs), 2):
            if turn != served_first and starts[turn + 1] > starts[turn]:
                moved[starts[turn]], why[starts[turn]] = tokens.input_ids[-1], Reason.EFFICIENT_EOS
        return tokens, Labels(moved, labelled(moved), as_runs(why), ranges)

    def collate(self, examples: Sequence[Example], rows: Sequence[int], recipe: Recipe, tools: Toolbox) -> Batch:
        if not LlamaFactoryOptions.of(recipe).ignore_pad_token_for_loss:
            pad_id, _ = pad_token_id(recipe, tools)
            if pad_id is not None:
                recipe = replace(recipe, batch=replace(recipe.batch, labels_pad=pad_id))
        return super().collate(examples, rows, recipe, tools)

    def pack(self, examples: Sequence[Example], recipe: Recipe, tools: Toolbox) -> Iterator[Pack]:
        size = recipe.length.max
        if pretrain.is_pretraining(recipe):
            # `packing: true` takes one off cutoff_len; left to its default in this stage it does not
            less = size - 1 if size and LlamaFactoryOptions.of(recipe).packing else size
            return pretrain.pack(examples, less, recipe, tools.tokenizer)
        if size is None or recipe.pack.strategy not in ("knapsack", "neat"):
            raise RecipeError(
                "LLaMA-Factory packs rows by knapsack into sequences of cutoff_len tokens",
                fix="set length.max, and pack.strategy to knapsack or neat",
            )
        pad_id, _ = pad_token_id(recipe, tools)
        return knapsack_packs(examples, size, pad_id or 0, neat=recipe.pack.strategy == "neat")

    def packing_order(self, recipe: Recipe) -> str:
        return f"{super().packing_order(recipe)} (one process, preprocessing_num_workers unset)"

    def collate_packs(self, packs: Sequence[Pack], recipe: Recipe, tools: Toolbox) -> Batch:
        """SFTDataCollatorWith4DAttentionMask (data/collator.py): position ids are not padded; documents of neat packs
        are told by the mask, or under FlashAttention 2 by position ids, of one pack without its padding."""
        batch = super().collate_packs(packs, recipe, tools)
        if pretrain.is_pretraining(recipe):
            return batch
        positions = tuple(pack.position_ids or () for pack in packs)
        batch = replace(batch, position_ids=positions)
        if recipe.pack.strategy != "neat":
            return batch
        if recipe.batch.attention != "none":
            return replace(batch, documents=batch.attention_mask, attention_mask=None)
        if len(packs) > 1:
            raise RecipeError(ONE_PACK)
        used = slice(0, sum(end - start for _, start, end in packs[0].documents))
        return replace(
            batch,
            input_ids=(batch.input_ids[0][used],),
            labels=(batch.labels[0][used],),
            position_ids=(positions[0][used],),
            notes=("flash_attn: fa2: padding is removed; documents are kept apart by position ids",),
        )


def _but_padding(tokens: Tokens, cutoff: int | None, pad_id: int | None) -> Labels:
    """Everything is trained but the pad token; `cutoff` None (packing) cuts nothing."""
    n = len(tokens)
    flags, reasons = label_rules.by_flags([token != pad_id for token in tokens.input_ids], Reason.WHOLE, Reason.PAD)
    notes = ("a token that is also the pad token is not trained: the collator masks it",) if False in flags else ()
    return label_rules.on_ids(tokens, (flags, reasons), ((0, n if cutoff is None else min(n, cutoff)),), notes=notes)


def template_of(recipe: Recipe, tools: Toolbox) -> SlotTemplate:
    """The slots that the recipe asks for: of the registry, or parsed from the tokenizer's template."""
    found = _named(recipe)
    if found is None:
        from sftui.trainers.llamafactory.registry import parse

        facts = tools.tokenizer.facts
        prefix = "".join(tools.tokenizer.piece(i) for i in (*facts.front, *facts.back))
        found = parse(tools.templates, tools.special_tokens, prefix)
    wanted = LlamaFactoryOptions.of(recipe).tool_format
    if wanted is None:
        return found
    if wanted not in FORMATS:
        raise TemplateError(
            f"LLaMA-Factory {RELEASE} has no tool_format `{wanted}`", fix=f"it has {', '.join(FORMATS)}"
        )
    function: Slots = (PLACEHOLDER,) if found.efficient_eos else (PLACEHOLDER, Special.EOS)
    return replace(found, function=function, function_format=wanted, tools_format=wanted, tools_slots=())


def _named(recipe: Recipe) -> SlotTemplate | None:
    """The registry's template, or None where the tokenizer's own is to be parsed."""
    own = recipe.render.template.startswith(OWN)
    return _registered(recipe.render.template.removeprefix(OWN)) if own else None


def _registered(name: str) -> SlotTemplate:
    """A template of the registry; TemplateError where it has none of that name."""
    if name not in TEMPLATES:
        raise TemplateError(
            f"LLaMA-Factory {RELEASE} has no template `{name}`", fix=did_you_mean(name, sorted(TEMPLATES))
        )
    return TEMPLATES[name]


def _openai(recipe: Recipe) -> bool:
    return LlamaFactoryOptions.of(recipe).formatting == "openai"


def _token(text: str | None, token_id: int | None) -> tuple[str, int] | None:
    return (text, token_id) if text is not None and token_id is not None else None


def _id_of(tokenizer: LoadedTokenizer, token: str) -> int | None:
    """The id of a token as `convert_tokens_to_ids` gives it: of an unknown one that of the unknown token."""
    found = tokenizer.token_id(token)
    unknown = tokenizer.facts.special_tokens.get("unk_token")
    return tokenizer.token_id(unknown) if found is None and isinstance(unknown, str) else found


def _reason(turn: int, part: Part, last: int, mask: Mask) -> tuple[bool, Reason]:
    """Whether a token is trained, and why, before any EOS label is moved."""
    if turn % 2 == 0:
        if mask.rule == "all":
            return True, Reason.WHOLE
        return False, Reason.HEADER if part in (Part.HEADER, Part.BOS) else Reason.PROMPT
    if mask.turns == "last" and turn != last:
        return False, Reason.EARLIER
    if part is Part.TERMINATOR:
        return (True, Reason.TERMINATOR) if mask.terminator == "train" else (False, Reason.TERMINATOR_OFF)
    if part is Part.SEPARATOR and mask.trailing == "mask":
        return False, Reason.TRAILING
    return True, Reason.WHOLE if mask.rule == "all" else Reason.ASSISTANT


def drawn_of(stretches: Sequence[Stretch], count: int, last: int, mask: Mask, appended: int) -> label_rules.Drawn:
    """The mask of `count` tokens and the EOS that may be appended to them; `last` is the last turn."""
    found = [(min(end, count) - start, _reason(turn, part, last, mask)) for start, end, turn, part in stretches]
    return label_rules.drawn([*found, (appended, (True, Reason.APPENDED))])


def starts_of(stretches: Sequence[Stretch], count: int, turns: int) -> list[int]:
    """Where each turn begins, in the first `count` tokens; the last entry is the end. A turn without tokens begins
    where the next does."""
    lengths = [0] * turns
    for start, end, turn, _ in stretches:
        lengths[turn] += max(min(end, count) - start, 0)
    return [*accumulate(lengths, initial=0)]


FALLBACK_EOS = "<|endoftext|>"


def fix_special_tokens(tokenizer: LoadedTokenizer, template: SlotTemplate) -> LoadedTokenizer:
    """The tokenizer as the template leaves it; new tokens get new ids and a note."""
    facts, words = tokenizer.facts, template.stop_words
    eos = eos_under(template, facts.eos_token)
    added = list(words[1:] if template.replace_eos else words)
    if eos != facts.eos_token:
        added.insert(0, eos)
    tokenizer = with_tokens(tokenizer, added)
    pad = eos if facts.pad_id is None else None
    return tokenizer.overriding(eos=eos if eos != facts.eos_token else None, pad=pad)


def eos_under(template: SlotTemplate, own: str | None) -> str:
    """The EOS of a tokenizer that has this one of its own, or none, under a template."""
    if template.replace_eos:
        return template.stop_words[0]
    return FALLBACK_EOS if own is None else own


def with_tokens(tokenizer: LoadedTokenizer, words: Sequence[str], *, special: bool = True) -> LoadedTokenizer:
    """The tokenizer with tokens added, special or not; the same one where nothing would change."""
    engine = tokenizer.engine
    missing = [word for word in words if tokenizer.token_id(word) is None]
    if not isinstance(engine, FastEngine):
        if missing:
            raise TokenizerError(
                f"`{missing[0]}` cannot be added to this tokenizer",
                where=tokenizer.facts.name,
                why="it has no fast version",
                fix="choose a template whose stop words are in its vocabulary",
            )
        return tokenizer
    known = {token.content: token for token in engine.backend.get_added_tokens_decoder().values()}
    plain = {
        word
        for word, token in known.items()
        if token.special and not (token.lstrip or token.rstrip or token.normalized or token.single_word)
    }
    if special and plain.issuperset(words):
        return tokenizer
    from tokenizers import AddedToken, Tokenizer

    backend = Tokenizer.from_str(engine.backend.to_str())
    if special:
        backend.add_special_tokens(
            [AddedToken(word, lstrip=False, rstrip=False, normalized=False, special=True) for word in words]
        )
    else:
        backend.add_tokens(list(words))
    facts = replace(tokenizer.facts, vocab_size=backend.get_vocab_size())
    if missing:
        facts = facts.noting(
            f"LLaMA-Factory adds {', '.join(missing)} to the tokenizer: the model needs resize_vocab: true"
        )
    return LoadedTokenizer(facts, FastEngine(backend, split_special_tokens=facts.split_special_tokens))


def knapsacks(lengths: Sequence[int], capacity: int) -> list[list[int]]:
    """Lengths in packs: the longest that still fits goes in, until none does."""
    left = sorted(lengths)
    packs = []
    while left:
        pack: list[int] = []
        room = capacity
        while (at := bisect_right(left, room)) > 0:
            pack.append(left.pop(at - 1))
            room -= pack[-1]
        if not pack:  # longer than the capacity: LLaMA-Factory drops such rows before
            break
        packs.append(pack)
    return packs


def knapsack_packs(examples: Sequence[Example], size: int, pad_id: int, *, neat: bool) -> Iterator[Pack]:
    """Packs of `size` tokens, one of which stays free; of equal lengths the later row goes first.

    The attention mask is all ones, padding included; with `neat` it numbers the documents and
    padding is 0. Position ids start anew with every document.
    """
    for documents in _in_knapsacks(examples, size):
        made = label_rules.pack_of(((row, examples[row]) for row, _, _ in documents), size, pad_id)
        yield made if neat else replace(made, attention_mask=(1,) * size)


def _in_knapsacks(examples: Sequence[Example], size: int) -> Iterator[Documents]:
    by_length: defaultdict[int, list[int]] = defaultdict(list)
    for index, example in enumerate(examples):
        if len(example.input_ids) < size:
            by_length[len(example.input_ids)].append(index)
    lengths = [length for length, found in by_length.items() for _ in found]
    for chosen in knapsacks(lengths, size - 1):
        yield [(by_length[length].pop(), 0, length) for length in chosen]


def places(examples: Sequence[Example], recipe: Recipe) -> Iterator[Documents]:
    """The packs of a group (see `Packing.places`)."""
    size = recipe.length.max
    if pretrain.is_pretraining(recipe) or size is None:
        raise RecipeError(
            "blocks of text cannot be computed from lengths alone", fix="open P in the inspector, which shows the packs"
        )
    return _in_knapsacks(examples, size)
