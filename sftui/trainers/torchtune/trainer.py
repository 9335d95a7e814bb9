"""torchtune 0.6.1 and 0.7: per-message tokenization and a mask by message, header included.

Source: torchtune 0.6.1 (torchtune/models/*/_tokenizer.py, data/_messages.py, datasets/_sft.py, _text_completion.py,
data/_collate.py) and 0.7.0 as recorded in the goldens (masking strategies, truncation_type, labels stored shifted). The
recipe stands for the config so: data.format the dataset builder (see `messages`), render.template `torchtune/MODEL` the
model tokenizer (`tokenizer`: by its special tokens), length.max max_seq_len, length.over truncation_type, mask.rule
`all` and `turn_full` with mask.turns the masking strategy (`auto`: the builder's own), render.inject_system
new_system_prompt, tokenize.append_eos add_eos of text, own `prompt_template`, `split_across_pack`,
`special_tokens_path` and `tokenizer_path`, and `builder` and `partition` of gsm8k_sft (see `gsm8k`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from sftui import labels as label_rules
from sftui.conversations import Detection
from sftui.errors import RecipeError
from sftui.labels import Drawn, Kept, drawn, on_ids, outside, unshifted
from sftui.model import (
    IGNORE_INDEX,
    Batch,
    Conversation,
    Example,
    Kind,
    Labels,
    Message,
    Pack,
    Part,
    Reason,
    RenderedText,
    Row,
    Tokens,
)
from sftui.recipe import Batch as BatchOptions
from sftui.recipe import Data, Loss, Mask, Recipe, Tokenize
from sftui.recipe import Pack as PackOptions
from sftui.runs import as_runs, flat, joined, together
from sftui.templates import ChatTemplate, choose_template, compile_template
from sftui.tokens import LoadedTokenizer
from sftui.trainers import versions
from sftui.trainers.base import Examples, MessagesTarget, ShapedRow, Toolbox, Trainer, pick_template
from sftui.trainers.own_config import require
from sftui.trainers.packing import Documents
from sftui.trainers.pieces import text_of
from sftui.trainers.processors import tokenizer_folder
from sftui.trainers.torchtune import TRAITS, TorchtuneOptions, gsm8k, sentencepieces
from sftui.trainers.torchtune import messages as message_rules
from sftui.trainers.torchtune.models import JINJA, Frames, jinja_pieces, model_of, pad_id, reading_files, undrawn
from sftui.trainers.torchtune.sentencepieces import PieceFrames

PADDING = 0
"""The builders leave padding_idx at its default, whatever the tokenizer's pad token is."""
WHOLE_DATASET = 1_000_000_000
"""torchtune packs all rows together, in order."""
MASK_RULES = ("auto", "all", "turn_full", "assistant")


SHIFTED = (
    "torchtune 0.7 stores each label one place earlier, with -100 at the end; labels are shown unshifted here,"
    " and shifted in a batch"
)
CUTS_NONE = f"torchtune's {gsm8k.NAME} does not truncate rows, whatever max_seq_len is"
MASKS_LAST = "with max_seq_len set torchtune masks the last token of every row, even if nothing is cut"
UNCALLED = (
    "no dataset in torchtune 0.7.0 can call HuggingFaceModelTokenizer; sftui shows what its tokenize_messages returns"
)
_BY_PIECE = Tokenize(mode="per_part")


class Torchtune(Trainer):
    """Chat, instruct, Alpaca and text datasets with the tokenizers of `models`."""

    traits = TRAITS
    usual = Recipe(
        TRAITS.name,
        own=TorchtuneOptions(),
        data=Data(role_map={}, strict_turns="error"),
        tokenize=Tokenize(mode="per_part", append_eos="always"),
        mask=Mask(rule="auto"),
        pack=PackOptions(group=WHOLE_DATASET),
        batch=BatchOptions(size=2, pad_side="right", attention="none"),
    )

    def usual_in(self, number: versions.Version) -> Recipe:
        shift = "preshifted" if versions.at_least(number, (0, 7)) else "internal"
        return replace(self.usual, loss=Loss(shift=shift))

    def remarks(self, recipe: Recipe) -> tuple[str, ...]:
        cut = CUTS_NONE if gsm8k.chosen(recipe) else MASKS_LAST if recipe.length.max is not None else ""
        jinja = UNCALLED if recipe.render.template == f"torchtune/{JINJA}" else ""
        return tuple(filter(None, (SHIFTED if newest(recipe) else "", cut, jinja)))

    def detect(self, rows: Sequence[Row], recipe: Recipe) -> Detection:
        return gsm8k.detect(rows) if gsm8k.chosen(recipe) else message_rules.detect_builder(rows, recipe.data)

    def convert(self, row: Row, detected: Detection, recipe: Recipe) -> Conversation:
        if gsm8k.chosen(recipe):
            require_newest(recipe, f"has no {gsm8k.NAME}")
            return gsm8k.convert(row, detected, TorchtuneOptions.of(recipe).partition)
        return message_rules.convert(row, detected, recipe.render.inject_system)

    def reading_messages(self, recipe: Recipe) -> Recipe:
        made = super().reading_messages(recipe)
        own = replace(TorchtuneOptions.of(recipe), builder=None, partition=None)
        whole = recipe.data.format == "alpaca" and recipe.mask.rule == "auto"  # which trains the prompt as well
        mask = replace(made.mask, rule="all") if whole else made.mask
        return replace(made, own=own, mask=mask, data=replace(made.data, format="messages"))

    def messages_target(self, recipe: Recipe) -> MessagesTarget:
        return MessagesTarget(self.title, "its OpenAIToMessages reads only role and content")

    def tokenizer_of(self, tokenizer: LoadedTokenizer, recipe: Recipe) -> LoadedTokenizer:
        """torchtune cuts text by the model's own rule and has its own special tokens; the recipe's do not reach it."""
        tokenizer = super().tokenizer_of(tokenizer, recipe)
        model, own, named = model_of(recipe.render.template, tokenizer), TorchtuneOptions.of(recipe), recipe.tokenizer
        path = own.special_tokens_path
        if tokenizer.facts.random and model != JINJA:
            tokenizer = undrawn(tokenizer, tokenizer_folder(named.name, named.revision))
        asks = path is not None or model in sentencepieces.MODELS
        folder = tokenizer_folder(named.name, named.revision) if asks else None
        return reading_files(model, tokenizer, path, folder, own.tokenizer_path)

    def masks_system(self, recipe: Recipe) -> bool:
        return newest(recipe)

    def own_template(self, name: str, tokenizer: LoadedTokenizer, recipe: Recipe) -> ChatTemplate:
        """The tokenizer's own for the jinja tokenizer; else a stand-in, as rows are rendered from pieces."""
        if model_of(f"torchtune/{name}", tokenizer) == JINJA:
            source = choose_template(tokenizer.facts.chat_templates)[1]
            return compile_template(source, f"{tokenizer.facts.name} (torchtune/{name})")
        source = "{# torchtune renders messages in its own code, not with a chat template #}"
        return compile_template(source, f"torchtune/{name}")

    def survey(self, first: Conversation | None, recipe: Recipe, tools: Toolbox) -> Frames | PieceFrames:
        name, template = recipe.render.template, TorchtuneOptions.of(recipe).prompt_template
        model = name.removeprefix("torchtune/")
        if model in sentencepieces.MODELS:
            return PieceFrames(model, template, tools.tokenizer, newest(recipe))
        return Frames(name, template, tools.tokenizer)

    def _frames(self, recipe: Recipe, tools: Toolbox) -> Frames | PieceFrames:
        return tools.survey if isinstance(tools.survey, (Frames, PieceFrames)) else self.survey(None, recipe, tools)

    def shape(self, conversation: Conversation, recipe: Recipe) -> ShapedRow:
        if gsm8k.chosen(recipe) and recipe.mask.rule not in ("auto", "turn_full", "assistant"):
            raise RecipeError(f"torchtune's {gsm8k.NAME} has no mask.rule {recipe.mask.rule}", fix="set it to auto")
        if conversation.kind is not Kind.CHAT:
            return ShapedRow(conversation, conversation.extra.get(gsm8k.DROPPED))
        roles = [message.role for message in conversation.messages]
        wrong = message_rules.invalid(roles)
        if wrong is not None:
            what = f"torchtune stops the run at this row: {wrong}"
            raise RecipeError(what, fix="remove the row or fix its turns")
        # With max_seq_len set, it stops at a later message only where it comes as far, which takes the tokens.
        whole = recipe.length.max is None or recipe.render.template == f"torchtune/{JINJA}"
        for message in conversation.messages if whole else conversation.messages[:1]:
            refuse_untokenized(message)
        chosen, mask_system = strategy(conversation, recipe), newest(recipe)
        marked = message_rules.flagged(conversation.messages, roles, chosen, mask_system=mask_system)
        return ShapedRow(conversation.with_messages(marked))

    def render(self, shaped: ShapedRow, recipe: Recipe, tools: Toolbox, *, spans: bool = True) -> RenderedText:
        conversation, frames = shaped.conversation, self._frames(recipe, tools)
        if conversation.kind is Kind.TEXT:
            pieces = frames.text(conversation.text or "", add_eos=recipe.tokenize.append_eos != "never")
        elif conversation.kind is Kind.STRINGS:
            prompt, trained = conversation.prompt or "", conversation.completion or ""
            pieces = (
                *frames.text(prompt, add_eos=False, message=0),
                *frames.text(trained, add_eos=True, add_bos=False, message=1),
            )
        elif frames.model == JINJA:
            require_newest(recipe, "has no HuggingFaceModelTokenizer", fix="choose another with render.template")
            pieces = jinja_pieces(conversation.messages, tools.tokenizer, pick_template(conversation, tools))
        else:
            pieces = frames.chat(conversation.messages, joined=not spans)
        return text_of(pieces, spans=spans)

    def needs(self, recipe: Recipe) -> tuple[bool, bool]:
        return False, False

    def tokenize_as(self, shaped: ShapedRow, recipe: Recipe, tools: Toolbox) -> tuple[Tokenize, str | None]:
        return _BY_PIECE, None

    def label(
        self, tokens: Tokens, rendered: RenderedText, shaped: ShapedRow, recipe: Recipe, tools: Toolbox
    ) -> tuple[Tokens, Labels]:
        conversation, n = shaped.conversation, len(tokens)
        if conversation.kind is Kind.STRINGS:
            verdicts = {1: (True, Reason.COMPLETION)}
            owners = as_runs(tokens.messages).runs()
            mask = drawn((end - start, verdicts.get(owner, (False, Reason.PROMPT))) for start, end, owner in owners)
            kept: Kept = ((0, n),)
        elif conversation.kind is Kind.TEXT:
            mask = drawn([(n, (True, Reason.WHOLE))])
            # The text's own cut leaves room for one token that never comes, and puts no EOS there.
            limit = recipe.length.max
            kept = ((0, n if limit is None else max(min(n, limit - 1), 0)),)
        elif isinstance(frames := self._frames(recipe, tools), PieceFrames):
            tokens, mask, kept = self._cut_pieces(frames, tokens, conversation, recipe)
        else:
            mask = message_mask(tokens, conversation, strategy(conversation, recipe))
            kept = self._kept(tokens, conversation, recipe)
            if (recipe.length.max is not None or frames.model == JINJA) and kept[-1][1]:
                last = kept[-1][1] - 1
                tokens = with_id(tokens, last, frames.eos_id)
                mask = forced(mask, last, Reason.FORCED)
        mask = outside(mask, kept)
        first = kept[0][0]
        if first < kept[0][1] and mask[0][first] and newest(recipe):
            mask = forced(mask, first, Reason.FIRST_OF_DOCUMENT)
        return tokens, on_ids(tokens, mask, kept)

    def _kept(self, tokens: Tokens, conversation: Conversation, recipe: Recipe) -> Kept:
        """The positions that stay: no message is added after the one that reaches max_seq_len, EOS always is, then the
        cut."""
        n, limit = len(tokens), recipe.length.max
        if limit is None or not n:
            return ((0, n),)
        left = cuts_left(recipe)
        upto = {owner: min(end, n - 1) for start, end, owner in as_runs(tokens.messages).runs() if start < n - 1}
        end = n - 1
        stops = recipe.render.template != f"torchtune/{JINJA}"
        for number in range(len(conversation.messages) if stops else 0):
            refuse_untokenized(conversation.messages[number])
            if upto.get(number, 0) >= limit:
                end = upto[number]
                break
        if not left:
            return ((0, min(n, limit)),)
        first = max(end + 1 - limit, 0)
        if end == n - 1:
            return ((first, n),)
        return ((first, end), (n - 1, n)) if first < end else ((n - 1, n),)

    def _cut_pieces(
        self, frames: PieceFrames, tokens: Tokens, conversation: Conversation, recipe: Recipe
    ) -> tuple[Tokens, Drawn, Kept]:
        """The tokens, mask and kept positions of a SentencePiece tokenizer, which forces EOS onto the last place: with
        the last message's mask, or masked by Phi-3's, and by that only where something may be cut (none before 0.7)."""
        limit, left = recipe.length.max, recipe.length.max is not None and cuts_left(recipe)
        ends = {owner: end for _, end, owner in as_runs(tokens.messages).runs()}
        reached, last = 0, -1
        for number in frames.numbers(conversation.messages):
            message = conversation.messages[number]
            refuse_untokenized(message)
            stop = frames.stops(message)
            if stop is not None:
                raise RecipeError(f"torchtune stops at this row: {stop}", fix="rename the role")
            reached, last = ends.get(number, reached), number
            if limit is not None and reached >= limit:
                break
        chosen = strategy(conversation, recipe)
        mask = message_mask(tokens, conversation, chosen)
        if limit is None or not reached:
            return tokens, mask, ((0, reached),)
        kept = (max(reached - limit, 0), reached) if left else (0, min(limit, reached))
        place, phi3 = kept[1] - 1, frames.model == sentencepieces.PHI3
        if not phi3 or (frames.ends_turns and reached >= limit):
            tokens = with_id(tokens, place, frames.eos_id)
            if phi3:
                mask = forced(mask, place, Reason.FORCED)
            elif as_runs(tokens.messages)[place] != last:  # the last message came to no ids
                owners = as_runs(_put(tokens.messages, place, last))
                mask = message_mask(replace(tokens, messages=owners), conversation, chosen)
        return tokens, mask, (kept,)

    def examples(self, tokens: Tokens, labels: Labels, shaped: ShapedRow, recipe: Recipe, tools: Toolbox) -> Examples:
        """The row un-shifted: since 0.7 it is stored with as many ids, each label one place earlier (see `stored`)."""
        return (unshifted(tokens, labels),) if labels.dropped is None else ()

    def collate(self, examples: Sequence[Example], rows: Sequence[int], recipe: Recipe, tools: Toolbox) -> Batch:
        """padded_collate_sft: to the right, no attention mask; 0.7 pads a full block more where the width fits
        already."""
        pad = pad_id(model_of(recipe.render.template, tools.tokenizer), tools.tokenizer)
        width, multiple = max(len(example.input_ids) for example in examples), recipe.batch.multiple or 1
        if multiple > 1:
            fix = "set batch.multiple to null"
            require_newest(recipe, "cannot pad to a multiple", "pad_to_multiple_of was added in 0.7", fix)
            width += multiple - width % multiple
        options = replace(recipe.batch, pad_side="right", attention="none")
        made = label_rules.collate(examples, rows, options, pad_id=pad, padding_side="right", width=width)
        return replace(made, labels=tuple(stored(labels, recipe) for labels in made.labels))

    def pack(self, examples: Sequence[Example], recipe: Recipe, tools: Toolbox) -> Iterator[Pack]:
        return self.pack_in_order(examples, recipe, tools)

    def pack_in_order(self, examples: Iterable[Example], recipe: Recipe, tools: Toolbox) -> Iterator[Pack]:
        require(recipe, "pack.strategy")
        if gsm8k.chosen(recipe):
            raise RecipeError(f"torchtune's {gsm8k.NAME} does not pack", fix="set pack.strategy to none")
        if recipe.length.max is None:
            raise RecipeError("torchtune cannot pack without max_seq_len", fix="set length.max")
        split = TorchtuneOptions.of(recipe).split_across_pack
        return pack_sequential(examples, recipe.length.max, split=split, shifted=newest(recipe))

    def packing_order(self, recipe: Recipe) -> str:
        return "one after the other, in dataset order"

    def collate_packs(self, packs: Sequence[Pack], recipe: Recipe, tools: Toolbox) -> Batch:
        """padded_collate_packed: the packs stacked; documents are kept apart by a block-causal mask that is made on the
        way."""
        labels = tuple(stored(pack.labels, recipe, pack.follows) for pack in packs)
        documents = tuple(
            tuple(number for number, length in enumerate(pack.seq_lens, 1) for _ in range(length)) for pack in packs
        )
        return replace(label_rules.stacked(packs), labels=labels, documents=documents)


def refuse_untokenized(message: Message) -> None:
    """RecipeError at a message that torchtune's tokenizer cannot read."""
    stop = message.data.get(message_rules.STOPS)
    if stop is not None:
        raise RecipeError(f"torchtune stops at this row: {stop}", why="it cannot tokenize it", fix="fix the row")


def cuts_left(recipe: Recipe) -> bool:
    """Whether rows are cut on the left; RecipeError for what torchtune cannot do to long ones."""
    left = recipe.length.over == "cut_left"
    if left:
        fix = "set length.over to cut_right"
        require_newest(recipe, "can only cut on the right", "truncation_type was added in 0.7", fix)
    if recipe.length.over not in ("cut_right", "cut_left"):
        raise RecipeError(f"torchtune has no length.over {recipe.length.over}", fix="set it to cut_right or cut_left")
    return left


def newest(recipe: Recipe) -> bool:
    """Whether the rules of 0.7 hold: labels stored shifted, system always masked, truncation_type."""
    return versions.since(recipe, (0, 7))


def require_newest(recipe: Recipe, what: str, why: str = "it was added in 0.7", fix: str = "", where: str = "") -> None:
    """RecipeError before 0.7."""
    if not newest(recipe):
        raise RecipeError(f"torchtune 0.6.1 {what}", where=where, why=why, fix=fix)


def strategy(conversation: Conversation, recipe: Recipe) -> str:
    """all, assistant or last; RecipeError for a mask rule that torchtune does not have."""
    rule, last = recipe.mask.rule, recipe.mask.turns == "last"
    if rule not in MASK_RULES:
        fix = "set it to auto, all or turn_full"
        raise RecipeError(f"torchtune has no mask.rule {rule}", why="it trains whole messages", fix=fix)
    if rule == "all" or (rule == "auto" and conversation.format == "alpaca"):
        return "all"
    return "last" if last and rule != "auto" else "assistant"


def message_mask(tokens: Tokens, conversation: Conversation, chosen: str) -> Drawn:
    """Trained by message, header and footer included; what belongs to no message (BOS, Llama's EOS) is masked."""

    messages = conversation.messages

    def verdict(owner: int, part: Part) -> tuple[bool, Reason]:
        if owner < 0:
            return False, Reason.FORCED
        message = messages[owner]
        if not message.trained:
            return False, Reason.EARLIER if chosen == "last" and message.role == "assistant" else Reason.ROLE
        if chosen == "all":
            return True, Reason.WHOLE
        return True, Reason.TERMINATOR if part is Part.TERMINATOR else Reason.ASSISTANT

    # without places the parts of a message are not known, and decide nothing
    parts = tokens.parts if tokens.placed else joined([(len(tokens), Part.CONTENT)])
    placed = together(tokens.messages, parts)
    return drawn([(end - start, verdict(owner, part)) for start, end, owner, part in placed])


def forced(mask: Drawn, place: int, reason: Reason) -> Drawn:
    """The same mask with one token masked."""
    return outside(mask, [(0, place), (place + 1, len(mask[0]))], reason)


def with_id(tokens: Tokens, place: int, token: int) -> Tokens:
    """The tokens with another id at one place: EOS takes the place of the last token of a cut row."""
    if tokens.ids[place] == token:
        return tokens
    parts = as_runs(_put(tokens.parts, place, Part.INJECTED)) if tokens.placed else tokens.parts
    return replace(tokens, ids=flat(_put(tokens.ids, place, token)), parts=parts)


def _put(values: Sequence[Any], place: int, value: Any) -> tuple[Any, ...]:
    """The values with another one at one place."""
    return (*values[:place], value, *values[place + 1 :])


def stored(labels: tuple[int, ...], recipe: Recipe, follows: int = IGNORE_INDEX) -> tuple[int, ...]:
    """Labels as the trainer's batch holds them: one place earlier since 0.7, and behind them the one that follows."""
    return (*labels[1:], follows) if newest(recipe) else labels


def pack_sequential(examples: Iterable[Example], size: int, *, split: bool, shifted: bool) -> Iterator[Pack]:
    """Packs of `size` tokens; a row that does not fit opens the next pack, or is split over both.

    RecipeError where a row is longer than a pack and rows are not split. Position ids restart with
    each row and go on through the padding. No more than one pack's rows are held. `shifted`: the labels are shifted
    before rows are packed (0.7), so that the last token of a pack learns the one that its row goes on with in the next.
    """
    kept: dict[int, Example] = {}

    def noted() -> Iterator[Example]:
        for index, example in enumerate(examples):
            kept[index] = example
            yield example

    for documents in in_order(noted(), size, split=split):
        yield _padded_pack([(index, start, end, kept[index]) for index, start, end in documents], size, shifted)
        for index in [index for index in kept if index < documents[-1][0]]:
            del kept[index]


def places(examples: Sequence[Example], recipe: Recipe) -> Iterator[Documents]:
    """The packs of all rows (see `Packing.places`)."""
    if recipe.length.max is None:
        raise RecipeError("torchtune cannot pack without max_seq_len", fix="set length.max")
    return in_order(examples, recipe.length.max, split=TorchtuneOptions.of(recipe).split_across_pack)


def in_order(examples: Iterable[Example], size: int, *, split: bool) -> Iterator[Documents]:
    """The rows of each pack; RecipeError as of `pack_sequential`."""
    held: Documents = []
    room = size
    for index, example in enumerate(examples):
        n = len(example.input_ids)
        if n > size and not split:
            raise RecipeError(f"a row has {n} tokens but a pack holds {size}: torchtune stops", fix="raise length.max")
        start = 0
        if n > room and not split:
            yield held
            held, room = [], size
        while n - start > room:
            if room:
                held.append((index, start, start + room))
            start += room
            yield held
            held, room = [], size
        if n > start or not n:
            held.append((index, start, n))
            room -= n - start
    if any(end > start for _, start, end in held):
        yield held


def _padded_pack(held: Sequence[tuple[int, int, int, Example]], size: int, shifted: bool) -> Pack:
    ids = [token for _, start, end, example in held for token in example.input_ids[start:end]]
    labels = [label for _, start, end, example in held for label in example.labels[start:end]]
    if shifted and held[0][1]:
        labels[0] = IGNORE_INDEX
    last, end = held[-1][3].labels, held[-1][2]
    positions = [place % size for _, start, end, _ in held for place in range(start, end)]
    gap = size - len(ids)
    after = positions[-1] + 1
    return Pack(
        tuple((index, start, end) for index, start, end, _ in held),
        (*ids, *[PADDING] * gap),
        (*labels, *[IGNORE_INDEX] * gap),
        (*positions, *(min(after + step, size - 1) for step in range(gap))),
        follows=last[end] if shifted and end < len(last) else IGNORE_INDEX,
        seq_lens=(*(end - start for _, start, end, _ in held), *([gap] if gap else [])),
    )
