"""NeMo Automodel's fine-tuning, 0.7: chats, agents' chats, questions and answers.

Source: nemo-automodel 0.7.0 (github.com/NVIDIA-NeMo/Automodel), components/datasets/llm (see `formats`, `renders`,
`masks`, `packing`), components/datasets/utils.py (default_collater and the packed ones), recipes/llm/train_ft.py. The
recipe stands for the config so: own.dataset is the class of `dataset`, length.max its seq_length with truncation;
mask.rule `auto` trains what stands between generation tags, or whole answers with their headers where the template has
none, `all` is answer_only_loss_mask false; mask.turns `last` is mask_history or train_on_last_turn_only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice

from sftui import labels as label_rules
from sftui.conversations import Detection
from sftui.errors import RecipeError
from sftui.model import Batch, Conversation, Example, Inspection, Labels, Pack, Part, Reason, RenderedText, Row, Tokens
from sftui.recipe import Batch as BatchOptions
from sftui.recipe import Data, Loss, Mask, Recipe, Tokenize, Tokenizer
from sftui.recipe import Pack as PackOptions
from sftui.runs import Ranges, covered, flat, together
from sftui.side_files import object_of
from sftui.sources.records import AsStored
from sftui.tokens import LoadedTokenizer, ToEncode
from sftui.trainers.base import Examples, InlineTemplateTrainer, MessagesTarget, ShapedRow, TaggedIds, Toolbox
from sftui.trainers.nemo_automodel import TRAITS, NemoOptions, formats, masks, packing, renders
from sftui.trainers.nemo_automodel.renders import Renders
from sftui.trainers.own_config import require
from sftui.trainers.packing import Documents, NumberedRow, documents_of
from sftui.trainers.pieces import cut_by_tokenizer, spanned
from sftui.trainers.processors import tokenizer_folder
from sftui.trainers.remembering import last_asked

WHOLE_DATASET = 1_000_000_000
"""All rows are packed together."""
OF_CHATS = Tokenize(mode="whole")
OF_TEXTS = Tokenize(mode="whole", add_special_tokens=True)
UNLABELLED = "it has no labels left: NeMo Automodel uses the next row that has labels instead"
UNCOUNTED = "the prompt's tokens are counted without the row's BOS, so the last one is trained"
OWN_CLASSES = {
    **dict.fromkeys(("mistral", "pixtral", "mistral3", "ministral3"), "MistralCommonBackend"),
    "kimi_k3": "TikTokenTokenizer",
}
"""model_type → the tokenizer class that NeMo's registry loads (_transformers/tokenization/registry.py)."""
SHIFTED = (
    "NeMo Automodel returns labels shifted by one and drops each row's last token; labels are shown unshifted"
    " here, and shifted in a batch"
)


class NemoAutomodel(InlineTemplateTrainer):
    """Answers with their headers, or what stands between generation tags."""

    traits = TRAITS
    usual = Recipe(
        TRAITS.name,
        own=NemoOptions(),
        data=Data(role_map={}),
        tokenize=OF_CHATS,
        mask=Mask(rule="auto"),
        pack=PackOptions(group=WHOLE_DATASET),
        batch=BatchOptions(size=1, pad_side="right"),
        loss=Loss(shift="preshifted"),
    )
    inline = "inline", "chat_template"

    def remarks(self, recipe: Recipe) -> tuple[str, ...]:
        asks = NemoOptions.of(recipe).tokenizer_backend == "nemo_auto"
        own = OWN_CLASSES.get(_named_class(recipe.tokenizer)[0], "") if asks else ""
        note = (
            f"the model's tokenizer class is NeMo's {own}, which sftui does not run: it shows what AutoTokenizer does,"
            " as with tokenizer_backend nemo_wrapped_auto"
        )
        return (SHIFTED, *((note,) if own else ()))

    def detect(self, rows: Sequence[Row], recipe: Recipe) -> Detection:
        return formats.detect(rows, recipe)

    def reads_json(self, recipe: Recipe) -> bool:
        return NemoOptions.of(recipe).dataset == "chat"

    def passes_over(self, row: Row, recipe: Recipe) -> Conversation | None:
        return formats.skipped(row, NemoOptions.of(recipe))

    def loader_of(self, name: str, recipe: Recipe) -> str | None:
        return "parquet" if self.reads_json(recipe) and name.lower().endswith(".parquet") else "json"

    def unread_layout(self, stored: AsStored, recipe: Recipe) -> str | None:
        return formats.unread_layout(stored) if self.reads_json(recipe) else None

    def convert(self, row: Row, detected: Detection, recipe: Recipe) -> Conversation:
        return formats.convert(row, detected, recipe)

    def messages_target(self, recipe: Recipe) -> MessagesTarget:
        """Calls by their names, parts as ChatDataset joins them (components/datasets/llm/chat_dataset.py)."""
        return replace(super().messages_target(recipe), names_calls=True, between=" ")

    def reading_messages(self, recipe: Recipe) -> Recipe:
        own = NemoOptions.of(recipe)
        if own.dataset not in ("chat", "agent"):
            own = replace(own, dataset="chat", use_hf_chat_template=False)
        return replace(super().reading_messages(recipe), own=own)

    def shape(self, conversation: Conversation, recipe: Recipe) -> ShapedRow:
        rule = recipe.mask.rule
        if rule not in ("auto", "all") or (rule == "all" and NemoOptions.of(recipe).dataset != "columns"):
            raise RecipeError(
                f"NeMo Automodel has no mask.rule {rule} here",
                why="its datasets train answers; only the columns dataset has answer_only_loss_mask",
                fix="set mask.rule to auto",
            )
        return ShapedRow(conversation, conversation.extra.get(formats.LEFT_OUT))

    def render(self, shaped: ShapedRow, recipe: Recipe, tools: Toolbox, *, spans: bool = True) -> RenderedText:
        conversation = shaped.conversation
        if shaped.dropped is not None:  # for a person to read
            lines = (f"{message.role}: {message.content}\n" for message in conversation.messages)
            return spanned((line, number, Part.CONTENT) for number, line in enumerate(lines))
        if renders.plainly(conversation, tools):
            return renders.plain(conversation)
        options = self.render_options(recipe, tools.tokenizer)
        return renders.chat(conversation, recipe, tools, options, spans=spans)

    def needs(self, recipe: Recipe) -> tuple[bool, bool]:
        return False, False  # but for generation tags, of which the template decides: see `texts`

    def tokenize_as(self, shaped: ShapedRow, recipe: Recipe, tools: Toolbox) -> tuple[Tokenize, str | None]:
        return (OF_TEXTS if renders.plainly(shaped.conversation, tools) else OF_CHATS), None

    def texts(
        self, rendered: RenderedText, shaped: ShapedRow, recipe: Recipe, tools: Toolbox, *, places: bool = True
    ) -> Iterator[ToEncode]:
        tagged = isinstance(rendered, Renders) and rendered.tagged
        yield from super().texts(rendered, shaped, recipe, tools, places=places or tagged)
        if isinstance(rendered, Renders):
            for text in rendered.beside:
                yield ToEncode(text, other=rendered.text)
        elif rendered.prompt is not None:
            yield ToEncode(rendered.prompt)

    def tokenize(
        self, rendered: RenderedText, shaped: ShapedRow, recipe: Recipe, tools: Toolbox, *, places: bool = True
    ) -> Tokens:
        tagged = isinstance(rendered, Renders) and rendered.tagged
        tokens = super().tokenize(rendered, shaped, recipe, tools, places=places or tagged)
        if isinstance(rendered, Renders) or rendered.prompt is None:
            return tokens
        prompt = tools.tokenizer.ids(rendered.prompt)
        return replace(tokens, prompt=flat((*tools.tokenizer.facts.front, *prompt)))

    def label(
        self, tokens: Tokens, rendered: RenderedText, shaped: ShapedRow, recipe: Recipe, tools: Toolbox
    ) -> tuple[Tokens, Labels]:
        require(recipe, "length.over")
        if isinstance(rendered, Renders):
            kept, marks = _chat_marks(tokens, rendered, shaped.conversation, recipe, tools)
        else:
            kept, marks = _plain_marks(tokens, rendered, recipe, tools)
        own = NemoOptions.of(recipe)
        if own.dataset == "columns" and not any(on and end > 1 for _, end, (on, _) in marks.runs().runs()):
            return tokens, replace(label_rules.dropped_labels(tokens, UNLABELLED), kept=kept)
        flags, reasons = masks.mask_of(marks, kept, len(tokens))
        notes = rendered.estimated
        plain, front = not isinstance(rendered, Renders), tools.tokenizer.facts.front
        if plain and recipe.mask.rule != "all" and len(front) > counts_bos(recipe, tools.tokenizer):
            notes = (*notes, UNCOUNTED)
        return tokens, label_rules.on_ids(tokens, (flags, reasons), kept, notes=notes)

    def examples(self, tokens: Tokens, labels: Labels, shaped: ShapedRow, recipe: Recipe, tools: Toolbox) -> Examples:
        """The attention mask ends where the row does, as far as the id of padding tells."""
        whole = label_rules.within(labels.kept, tokens.input_ids)
        count = content(whole, *pads(tools))
        made = super().examples(tokens, labels, shaped, recipe, tools)
        if count < len(whole) - 1:
            attention = (1,) * count + (0,) * (len(whole) - 1 - count)
            made = tuple(replace(example, attention_mask=attention) for example in made)
        if fills(recipe) and whole:
            first = label_rules.within(labels.kept, labels.labels)[0]
            made = tuple(replace(one, input_ids=TaggedIds.of(one.input_ids, (whole[-1], first))) for one in made)
        return made

    def takes_next(self, found: Inspection) -> bool:
        return found.dropped == UNLABELLED

    def padded(self, example: Example, recipe: Recipe, tools: Toolbox) -> Example:
        return _filled([example], recipe, tools)[0]

    def collate(self, examples: Sequence[Example], rows: Sequence[int], recipe: Recipe, tools: Toolbox) -> Batch:
        """default_collater: to the longest row, behind it, with the id that the dataset names."""
        filled = _filled(examples, recipe, tools)
        pad, _ = pads(tools)
        filler = pad if pad is not None else filled[0].input_ids[-1] if filled and filled[0].input_ids else 0
        options = replace(recipe.batch, pad_side="right", pad_to="longest")
        made = label_rules.collate(filled, rows, options, pad_id=filler, padding_side="right")
        if fills(recipe):
            side = "left" if pads_left(recipe, tools) else "right"
            made = replace(made, lengths=tuple(len(example.input_ids) for example in examples), pad_side=side)
        if recipe.batch.attention != "none":
            return made
        width = len(made.input_ids[0]) if made.input_ids else 0
        return replace(made, attention_mask=None, position_ids=tuple(tuple(range(width)) for _ in made.input_ids))

    def pack(self, examples: Sequence[Example], recipe: Recipe, tools: Toolbox) -> Iterator[Pack]:
        require(recipe, "pack.strategy")
        if fills(recipe):
            raise RecipeError(
                "sftui does not pack rows that the dataset has padded",
                why="each of them has seq_length tokens, including padding",
                fix="set batch.pad_to to longest",
            )
        if recipe.pack.strategy != "neat":
            return _in_order(examples, recipe, tools)
        made = packing.by_knapsack(examples, pack_size(recipe), tokenizer_pad(recipe, tools))
        return islice(made, NemoOptions.of(recipe).max_packs)

    def pack_in_order(self, examples: Iterable[Example], recipe: Recipe, tools: Toolbox) -> Iterator[Pack] | None:
        if recipe.pack.strategy != "sequential" or fills(recipe):
            return None
        return _in_order(examples, recipe, tools)

    def packing_order(self, recipe: Recipe) -> str:
        if recipe.pack.strategy == "neat":
            return "all rows together, longest first; rows longer than a pack are dropped"
        return "one after the other, in dataset order; rows longer than a pack are dropped"

    def collate_packs(self, packs: Sequence[Pack], recipe: Recipe, tools: Toolbox) -> Batch:
        """packed_sequence_thd_collater and neat_packed_collater: the packs stacked."""
        neat = recipe.pack.strategy == "neat"
        note = "models using FlashAttention receive lengths instead of the mask"
        note = note if neat else "THD: documents are kept apart by their lengths (seq_lens), without an attention mask"
        notes = (note, "labels are shifted: each is one position before its token")
        documents = tuple(pack.attention_mask or () for pack in packs) if neat else None
        return replace(label_rules.stacked(packs), documents=documents, notes=notes)


def _chat_marks(
    tokens: Tokens, rendered: Renders, conversation: Conversation, recipe: Recipe, tools: Toolbox
) -> tuple[Ranges, masks.Marks]:
    """What is left of a chat's tokens, and what its mask says of each of those."""
    whole, window = tokens.input_ids, masks.Window(recipe.length.max, tools.tokenizer.facts.truncation_side == "left")
    begin = window.start(len(whole))
    kept = window.of(whole)
    ranges = ((begin, begin + len(kept)),)
    own = NemoOptions.of(recipe)
    ids = dict(rendered.prefixes)

    def prefix(k: int) -> tuple[int, ...]:
        return tools.tokenizer.ids(ids[k])

    if rendered.tagged:
        marks = _tag_marks(tokens, ranges[0], rendered, conversation)
    elif recipe.mask.rule == "all":
        marks = masks.Marks(len(kept), (True, Reason.WHOLE))
    else:
        count, eos = len(rendered.sent), tools.tokenizer.facts.eos_id
        marks = masks.by_prefixes(whole, window, count, rendered.answers, prefix, eos)
    last = recipe.mask.turns == "last"
    if last and own.dataset == "agent":
        masks.keep_last(marks)
    for number, texts in rendered.opened:
        prompts = [tools.tokenizer.ids(text) for text in texts]
        masks.remove(marks, masks.opened(whole, prefix(number), prompts), begin, Reason.HEADER)
    for _, text in rendered.quiet:
        other = tools.tokenizer.ids(text)
        if window.most is not None and len(kept) < window.most:
            other = window.of(other)
        masks.remove(marks, masks.reasoning(whole, other), begin, Reason.BOTH_MASKS)
    if last and own.dataset == "chat":
        masks.keep_last(marks)
    for start, end, _, part in together(tokens.messages, tokens.parts) if tokens.placed else ():
        if part is Part.TERMINATOR:  # the ends of answers by their name
            masks.change(marks, start - begin, end - begin, Reason.ASSISTANT, (True, Reason.TERMINATOR))
    return ranges, marks


def _tag_marks(tokens: Tokens, kept: tuple[int, int], rendered: Renders, conversation: Conversation) -> masks.Marks:
    """The generation tags, searched as transformers does in what truncation left."""
    start, end = kept
    marks = masks.Marks(end - start, (False, Reason.NOT_GENERATION))
    if rendered.has_generation_tag:  # that of the tools has none: no token is trained
        part = Tokens(tokens.ids[start:end], tokens.starts[start:end], tokens.ends[start:end], (), ())
        flags, _ = label_rules.generation_tag(label_rules.Subject(part, rendered, conversation))
        for a, b in label_rules.trained(flags):
            marks.put(a, b, (True, Reason.GENERATION))
    return marks


def _plain_marks(tokens: Tokens, rendered: RenderedText, recipe: Recipe, tools: Toolbox) -> tuple[Ranges, masks.Marks]:
    """A prompt and an answer as texts: as many tokens are masked as the prompt alone has."""
    kept = cut_by_tokenizer(len(tokens), tools.tokenizer, recipe.length.max)
    if recipe.mask.rule == "all":
        return kept, masks.Marks(covered(kept), (True, Reason.WHOLE))
    marks = masks.Marks(covered(kept), (True, Reason.COMPLETION))
    length = len(tools.tokenizer.ids(rendered.prompt or "")) + counts_bos(recipe, tools.tokenizer)
    marks.put(0, length, (False, Reason.PROMPT))
    return kept, marks


def pads(tools: Toolbox) -> tuple[int | None, int | None]:
    """The id that a dataset pads with, and EOS: an id of 0 counts as none, and EOS takes its place."""
    facts = tools.tokenizer.facts
    return facts.pad_id or facts.eos_id, facts.eos_id


def tokenizer_pad(recipe: Recipe, tools: Toolbox) -> int:
    """The tokenizer's own id of padding: NeMo's wrapper makes it 0 where there is none, ChatDataset EOS."""
    facts = tools.tokenizer.facts
    usual = 0 if renders.wrapped(recipe) else facts.eos_id or 0
    return usual if facts.pad_id is None else facts.pad_id


def content(ids: Sequence[int], pad: int | None, eos: int | None) -> int:
    """How many inputs count as content (_package_tokenized_example): padding at the end is told by its id."""
    end = len(ids)
    if pad is not None:
        while end and ids[end - 1] == pad:
            end -= 1
        if pad == eos:
            end = min(end + 1, len(ids))
    return max(end - 1, 0)


def fills(recipe: Recipe) -> bool:
    """Whether the dataset itself pads each row to seq_length (padding: max_length)."""
    return recipe.batch.pad_to == "max" and filled_size(recipe) is not None


def filled_size(recipe: Recipe) -> int | None:
    """seq_length."""
    return recipe.length.max or NemoOptions.of(recipe).seq_length


def places(examples: Sequence[Example], recipe: Recipe) -> Iterator[Documents]:
    """The packs of all rows (see `Packing.places`)."""
    own, size = NemoOptions.of(recipe), pack_size(recipe)
    if fills(recipe):
        raise RecipeError("sftui packs no rows that the dataset has padded", fix="set batch.pad_to to longest")
    if recipe.pack.strategy == "neat":
        rows: Iterable[list[NumberedRow]] = packing.rows_by_knapsack(examples, size)
    else:
        rows = packing.rows_in_order(examples, size, own.pad_to_multiple_of)
    return map(documents_of, islice(rows, own.max_packs))


def _in_order(examples: Iterable[Example], recipe: Recipe, tools: Toolbox) -> Iterator[Pack]:
    own = NemoOptions.of(recipe)
    made = packing.in_order(examples, pack_size(recipe), tokenizer_pad(recipe, tools), own.pad_to_multiple_of)
    return islice(made, own.max_packs)


def _filled(examples: Sequence[Example], recipe: Recipe, tools: Toolbox) -> Sequence[Example]:
    """The rows as the dataset pads them itself."""
    size = filled_size(recipe)
    if not fills(recipe) or size is None:
        return examples
    pad, eos = pads(tools)
    own, left, count = tokenizer_pad(recipe, tools), pads_left(recipe, tools), partial(content, pad=pad, eos=eos)
    return [packing.filled(example, size, own, pad, left, count) for example in examples]


def pads_left(recipe: Recipe, tools: Toolbox) -> bool:
    """Whether it does so before the row: texts are padded behind it, chats where the tokenizer pads."""
    own = NemoOptions.of(recipe)
    texts = own.dataset == "columns" and not own.use_hf_chat_template
    texts = texts or (own.dataset in ("columns", "squad") and not tools.templates)
    return not texts and tools.tokenizer.facts.padding_side == "left"


def pack_size(recipe: Recipe) -> int:
    """packed_sequence_size."""
    size = NemoOptions.of(recipe).packed_sequence_size or recipe.length.max
    if size is None:
        raise RecipeError("NeMo Automodel cannot pack without a size", fix="set own.packed_sequence_size")
    return size


def counts_bos(recipe: Recipe, tokenizer: LoadedTokenizer) -> int:
    """Whether the length of a prompt counts a BOS: where the tokenizer has add_bos_token, which transformers leaves
    out where there is a tokenizer.json."""
    return int(tokenizer.facts.bos_id is not None and _named_class(recipe.tokenizer)[1])


@last_asked
def _named_class(named: Tokenizer) -> tuple[str, bool]:
    """The model_type of a folder, and whether its tokenizer has add_bos_token; nothing where it is not at hand."""
    folder = tokenizer_folder(named.name, named.revision)
    if folder is None:
        return "", False
    config = object_of(folder / "tokenizer_config.json")
    adds = not (folder / "tokenizer.json").is_file() and bool(config.get("add_bos_token"))
    return str(object_of(folder / "config.json").get("model_type") or ""), adds
