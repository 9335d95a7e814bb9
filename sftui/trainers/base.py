"""What a trainer is to sftui: presets, and the few steps between a row and its labels.

The default steps follow the recipe alone; a trainer overrides a step only where its own code does
something that no knob says. A step gets plain data and gives plain data.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from sftui.errors import RecipeError, TemplateError
from sftui.model import NOWHERE, Batch, Conversation, Example, Inspection, Kind, Labels, Pack, RenderedText, Row, Tokens
from sftui.model import Part as PartOf
from sftui.recipe import Recipe, Render, Tokenize
from sftui.trainers.traits import Quirk, Traits
from sftui.values import value_class

if TYPE_CHECKING:
    from sftui.conversations import Detection
    from sftui.serving import ServedTemplate
    from sftui.sources.records import AsStored
    from sftui.templates import ChatTemplate
    from sftui.tokens import LoadedTokenizer, ToEncode
    from sftui.trainers.config import OpenedConfig
    from sftui.trainers.held_out import HeldOut
    from sftui.trainers.versions import Version


# The functions that every row goes through are imported for the first one, since a first row is to be shown early; and
# to say `import` again for each row takes 1 to 2 µs, a tenth of what encoding it costs in all.
def _deferred(module: str, name: str) -> Callable[[], Any]:
    return cache(lambda: getattr(import_module(f"sftui.{module}"), name))


to_convert: Callable[[], Callable[..., Conversation]] = _deferred("conversations.convert", "convert")
to_chat: Callable[[], Callable[[Conversation], Conversation]] = _deferred("conversations.convert", "as_chat")
to_render: Callable[[], Callable[..., RenderedText]] = _deferred("templates.rendering.render", "render")
to_strip_bos: Callable[[], Callable[[RenderedText, str], RenderedText]] = _deferred(
    "templates.rendering.render", "without_bos"
)
to_encode: Callable[[], Callable[..., Iterator[ToEncode]]] = _deferred("tokens.encode", "texts_of")
to_tokenize: Callable[[], Callable[..., Tokens]] = _deferred("tokens.encode", "tokenize")
to_label: Callable[[], Callable[..., Labels]] = _deferred("labels", "label")
to_example: Callable[[], Callable[..., Example | None]] = _deferred("labels", "example")


Examples = tuple[Example, ...]
"""What the trainer stores of a row: none where it is dropped, several where it splits rows."""
ReadChat = tuple[Sequence[Mapping[str, Any]], Any, str]
"""Messages and tools as transformers' chat templates take them, and what stands in where an answer has no thought ("":
what the template writes)."""


@value_class
class Toolbox:
    """The loaded things a recipe names: the tokenizer, and the chat templates by name."""

    tokenizer: LoadedTokenizer
    templates: Mapping[str, ChatTemplate] = field(default_factory=dict)
    template_name: str = ""
    survey: Any = None
    """What the trainer decided once for the whole dataset (see `Trainer.survey`)."""
    given: LoadedTokenizer | None = None
    """The tokenizer before the recipe and the trainer changed it; None: as it is."""
    notes: tuple[str, ...] | None = None
    """What the trainer says of the recipe (see `own_config.notes_of`); None: nobody asked it yet."""
    stops: tuple[str, ...] = ()
    """Why the run stops before its first step, regardless of the rows: a sentence each."""
    served: ServedTemplate | None = None
    """What the model will be served with, where the user says so."""

    @property
    def untouched(self) -> LoadedTokenizer:
        """The tokenizer as it was given."""
        return self.tokenizer if self.given is None else self.given

    @property
    def reader(self) -> LoadedTokenizer:
        """What reads a whole prompt, as a server does: the tokenizer, or as it was given where the trainer's own takes
        special tokens in texts for plain text."""
        return self.tokenizer if self.tokenizer.reads_special else self.untouched

    @property
    def default_template(self) -> ChatTemplate | None:
        """The template called `default`, or the first of several; None where there is none."""
        return self.templates.get("default") or next(iter(self.templates.values()), None)

    @property
    def special_tokens(self) -> Mapping[str, str | list[str]]:
        """What transformers hands to a chat template: names → tokens."""
        return self.tokenizer.facts.template_tokens


@value_class
class ShapedRow:
    """A conversation as the trainer sees it, and why it drops the row, if it does."""

    conversation: Conversation
    dropped: str | None = None
    prompt_messages: int | None = None


class TaggedIds(tuple[int, ...]):
    """Ids or labels of an example, with what its trainer still needs of the row when it makes batches (`tag`)."""

    tag: Any

    @classmethod
    def of(cls, ids: Sequence[int], tag: Any) -> TaggedIds:
        made = cls(ids)
        made.tag = tag
        return made


@dataclass(slots=True)
class Totals:
    """The rows that no evaluation sets aside and their tokens, of kept ones those of their first example, or of both
    sides; the rows that are kept, those of them that have no token there (`empty`), and the tokens that they train."""

    rows: int = 0
    tokens: int = 0
    kept: int = 0
    empty: int = 0
    trained: int = 0

    def add(self, inspection: Inspection) -> None:
        """One more row."""
        self.rows += 1
        if inspection.example is not None:
            size = sum([one.example.size for one in inspection.sides if one.example is not None])
            self.kept += 1
            self.empty += not size
            self.tokens += size
        elif inspection.tokens is not None and inspection.labels is not None:
            self.tokens += sum([len(one.tokens) for one in inspection.sides if one.tokens is not None])
        self.trained += inspection.trained

    def __add__(self, other: Totals) -> Totals:
        return Totals(*map(sum, zip(astuple(self), astuple(other))))


@value_class
class MessagesTarget:
    """What a trainer makes of rows that are written for it in OpenAI's shape: `loses_calls` is why `tool_calls` do not
    reach its text, and `other` why messages in that shape are none that it reads, a clause each, "" where they do and
    are. `tools_as_text`: of a tool list it takes JSON text alone, `arguments_as_text`: so it parses arguments; with
    `tools_in_each_row` a set that has tool lists has one in each row, be it an empty one, or it stops; with
    `names_calls` each result names its call, and a call without an id is `call_` and its number in its message."""

    title: str
    loses_calls: str = ""
    other: str = ""
    tools_as_text: bool = False
    arguments_as_text: bool = False
    tools_in_each_row: bool = False
    names_calls: bool = False
    between: str = ""
    """What it, or the template, puts between the text parts of a content."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """Of preferences the columns of their parts: prompt (none where each answer is behind it), chosen (of KTO the one
    answer), rejected, label."""
    single: bool = False
    """Whether each answer of a pair is one message, no list."""


class Trainer:
    """A trainer that does what the recipe says and nothing else."""

    traits: ClassVar[Traits]
    """What it declares of itself; a subclass names its own."""
    name: ClassVar[str]
    title: ClassVar[str]
    versions: ClassVar[tuple[str, ...]]
    usual: ClassVar[Recipe]
    """What the trainer does where nothing else is said, whatever its release."""
    objectives: ClassVar[Mapping[str, str]] = {}
    """The classes that prepare rows for what else than SFT it trains, as `Traits.home`, by loss.objective."""

    def __init_subclass__(cls) -> None:
        if "traits" in cls.__dict__:
            cls.name, cls.title, cls.versions = cls.traits.name, cls.traits.title, cls.traits.versions

    def preset(self, version: str | None = None) -> Recipe:
        """Every field filled as the trainer fills it; RecipeError for a version it never had."""
        if not self.versions:
            if version is not None:
                raise RecipeError(f"{self.name} has no versions", fix=f"use `{self.name}` without @{version}")
            return self.usual
        from sftui.trainers import versions

        said = version or self.versions[0]  # the newest where none is named
        number = versions.parse(said, self.name)
        if not versions.at_least(number, self.traits.first):
            *newer, oldest = (f"{self.name}@{known}" for known in self.versions)
            fix = f"use {' or '.join(filter(None, (', '.join(newer), oldest)))}"
            raise RecipeError(f"sftui has no rules for {self.title} {version}", fix=fix)
        return replace(self.usual_in(number), version=said)

    def usual_in(self, number: Version) -> Recipe:
        """`usual` as it is in a release; RecipeError for one that it does not hold for."""
        return self.usual

    def remarks(self, recipe: Recipe) -> tuple[str, ...]:
        """What the trainer does by itself, e.g. shuffles; an empty one says nothing."""
        return ()

    def stops(self, recipe: Recipe) -> tuple[str, ...]:
        """Why a run by this recipe stops whatever the rows are, a sentence each."""
        return ()

    def held_out(self, recipe: Recipe) -> HeldOut | None:
        """The split of the training data that the recipe asks for; None: every row is trained, or it is not known."""
        return None

    def detect(self, rows: Sequence[Row], recipe: Recipe) -> Detection:
        """How rows are read; a trainer with rules of its own for columns overrides this."""
        from sftui.conversations.detect import detect

        return detect(rows, recipe.data)

    def reads_json(self, recipe: Recipe) -> bool:
        """Whether the trainer parses JSON files by itself, although its other data comes through `datasets`."""
        return False

    def passes_over(self, row: Row, recipe: Recipe) -> Conversation | None:
        """A row that is no JSON, for a trainer that leaves it out; None where that stops it."""
        return None

    def loader_of(self, name: str, recipe: Recipe) -> str | None:
        """The loader of `datasets` by which a file of this name is read: "" where the trainer stops at the name, None
        where the user says which."""
        endings = self.traits.endings
        return endings.get(os.path.splitext(name)[1][1:], "") if endings else None

    def unread_layout(self, stored: AsStored, recipe: Recipe) -> str | None:
        """Why the rows of a file that holds them so are not read, in a clause; "" where they are, None where
        `datasets` reads the file."""
        return None

    def convert(self, row: Row, detected: Detection, recipe: Recipe) -> Conversation:
        """One row as a conversation, of a set that is not refused; a trainer with row types of its own overrides
        this."""
        return to_convert()(row, detected, recipe.data)

    def after_script(self, recipe: Recipe, detected: Detection) -> Recipe:
        """The recipe of another trainer with what a user's script does to rows read so, which this one alone would not
        read."""
        return recipe

    def reading_messages(self, recipe: Recipe) -> Recipe:
        """The recipe with which rows in OpenAI's shape are read from the column `messages`: what it says of columns,
        keys and roles of other rows is taken out, all else stays."""
        data, usual = recipe.data, self.preset(recipe.version or None).data
        keys = {ours: key for ours, key in data.message_keys.items() if ours not in ("role", "content", "reasoning")}
        fields = {ours: column for ours, column in data.fields.items() if ours == "template_kwargs"}
        plain = replace(data, format="auto", fields=fields, message_keys=keys, role_map=usual.role_map)
        return replace(recipe, data=plain)

    def messages_target(self, recipe: Recipe) -> MessagesTarget:
        """What it makes of messages in OpenAI's shape."""
        parses = Quirk.PARSES_JSON_TEXT in self.traits.quirks
        return MessagesTarget(self.title, tools_as_text=parses, arguments_as_text=parses)

    def masks_system(self, recipe: Recipe) -> bool:
        """Whether system messages are masked even where mask.rule is `all`."""
        return False

    def trained_roles(self, recipe: Recipe) -> tuple[str, ...]:
        """The roles whose messages are trained, as the template sees them; none where the mask goes by no roles."""
        return ()

    def unended_column(self, recipe: Recipe) -> str | None:
        """The column of texts that get no EOS, where the trainer looks for the column by a name of its own."""
        return None

    def tokenizer_of(self, tokenizer: LoadedTokenizer, recipe: Recipe) -> LoadedTokenizer:
        """The tokenizer with the special tokens of the recipe; trainers that add tokens override this."""
        wanted = recipe.tokenizer
        return tokenizer.overriding(bos=wanted.bos_token, eos=wanted.eos_token, pad=wanted.pad_token)

    def own_template(self, name: str, tokenizer: LoadedTokenizer, recipe: Recipe) -> ChatTemplate:
        """The template that the trainer's own registry has under `name` (render.template `TRAINER/NAME`)."""
        raise TemplateError(
            f"{self.name} has no template `{name}` that sftui knows",
            fix="set render.template to tokenizer, file:PATH or builtin:NAME",
        )

    def survey(self, first: Conversation | None, recipe: Recipe, tools: Toolbox) -> Any:
        """What the trainer decides once, from the first row, for every row; goes to `Toolbox.survey`."""
        return None

    def shape(self, conversation: Conversation, recipe: Recipe) -> ShapedRow:
        """Which messages there are, which of them are the prompt, and whether the row is dropped."""
        if conversation.kind is Kind.STRINGS and recipe.data.strings == "chat":
            conversation = to_chat()(conversation)
        prompt, dropped = None, None
        if recipe.mask.rule == "completion":
            prompt, dropped = prompt_of(conversation, recipe.mask.prompt)
        elif recipe.mask.rule == "assistant" and conversation.kind is Kind.CHAT:
            dropped = _no_role(conversation, recipe.mask.roles)
        return ShapedRow(conversation, dropped, prompt)

    def render_options(self, recipe: Recipe, tokenizer: LoadedTokenizer) -> Render:
        """How chats are rendered, with what the trainer itself hands to every template."""
        return recipe.render

    def render(self, shaped: ShapedRow, recipe: Recipe, tools: Toolbox, *, spans: bool = True) -> RenderedText:
        """The rendered text of a shaped conversation."""
        conversation = shaped.conversation
        if conversation.kind is Kind.TOKENS:
            return from_ids(conversation, tools)
        template = pick_template(conversation, tools) if conversation.kind is Kind.CHAT else None
        special, options = tools.special_tokens, self.render_options(recipe, tools.tokenizer)
        prompt = None if shaped.dropped else shaped.prompt_messages
        rendered = to_render()(
            conversation, template, special_tokens=special, options=options, prompt_messages=prompt, spans=spans
        )
        bos = tools.tokenizer.facts.bos_token
        return to_strip_bos()(rendered, bos) if recipe.tokenize.bos == "strip_text" and bos else rendered

    def brings_template(self, recipe: Recipe) -> bool:
        """Whether chats are rendered by a template, or code, that the trainer itself brings."""
        return not self.traits.renders_templates or recipe.render.template.startswith(f"{self.name}/")

    def as_chat(self, conversation: Conversation, recipe: Recipe, tools: Toolbox) -> ReadChat | None:
        """The messages and tools as transformers' chat templates take them, and what stands in where an answer has no
        thought ("": what the template writes); None where they cannot be told so."""
        return [message.data for message in conversation.messages], conversation.tools, ""

    def fitting(
        self, conversation: Conversation, text: str, recipe: Recipe, tools: Toolbox, before: Sequence[str] = ()
    ) -> str | None:
        """The value of render.template with which the conversation is rendered to this text, of the templates that the
        trainer brings, one of `before` if it can be; None where it has none."""
        return None

    def needs(self, recipe: Recipe) -> tuple[bool, bool]:
        """Whether labels depend on where tokens stand in the text, and whether a mask rule, or a message's weight, asks
        who wrote which; where rows are encoded piece by piece the pieces say it."""
        mask = recipe.mask
        written = not self.traits.finds.piecewise and (
            mask.rule in ("assistant", "turn_full")
            or (mask.rule in ("auto", "completion") and (mask.terminator == "mask" or mask.trailing == "mask"))
            or recipe.loss.weights == "float"
        )
        return written or mask.rule == "generation_tag", written

    def tokenize_as(self, shaped: ShapedRow, recipe: Recipe, tools: Toolbox) -> tuple[Tokenize, str | None]:
        """How the rendered text is encoded, and the part of it in whose end an EOS is looked for (None: all)."""
        return recipe.tokenize, None

    def texts(
        self, rendered: RenderedText, shaped: ShapedRow, recipe: Recipe, tools: Toolbox, *, places: bool = True
    ) -> Iterator[ToEncode]:
        """What `tokenize` will encode, so that many rows can be encoded at once."""
        if shaped.conversation.kind is Kind.TOKENS:
            return iter(())
        options, ending = self.tokenize_as(shaped, recipe, tools)
        return to_encode()(rendered, tools.tokenizer, options, ending=ending, places=places)

    def tokenize(
        self, rendered: RenderedText, shaped: ShapedRow, recipe: Recipe, tools: Toolbox, *, places: bool = True
    ) -> Tokens:
        """The tokens of the rendered text, and of the prompt alone where one was rendered.

        `places=False`: nobody asks where they stand (see `needs`).
        """
        if shaped.conversation.kind is Kind.TOKENS:
            return stored_tokens(shaped.conversation, rendered, tools)
        options, ending = self.tokenize_as(shaped, recipe, tools)
        return to_tokenize()(rendered, tools.tokenizer, options, ending=ending, places=places)

    def label(
        self, tokens: Tokens, rendered: RenderedText, shaped: ShapedRow, recipe: Recipe, tools: Toolbox
    ) -> tuple[Tokens, Labels]:
        """Labels with a reason each, of a row that is not dropped; tokens come back changed only where the trainer
        changes ids.

        A trainer whose loss has a weight for each token gives `Labels.weights`, too, for every row that it does not
        drop, and its preset says loss.weights `float`.
        """
        return tokens, to_label()(tokens, rendered, shaped.conversation, recipe)

    def examples(self, tokens: Tokens, labels: Labels, shaped: ShapedRow, recipe: Recipe, tools: Toolbox) -> Examples:
        """What the trainer stores for the row: none where it is dropped, several where it splits rows."""
        made = to_example()(tokens, labels, recipe, stored_attention(shaped.conversation, len(tokens)))
        return (made,) if made is not None else ()

    def takes_next(self, found: Inspection) -> bool:
        """Whether it trains the next row that it keeps once more, in the place of this one."""
        return False

    def padded(self, example: Example, recipe: Recipe, tools: Toolbox) -> Example:
        """A row as the dataset hands it out, where that pads by itself; before any batch is made."""
        return example

    def collate(self, examples: Sequence[Example], rows: Sequence[int], recipe: Recipe, tools: Toolbox) -> Batch:
        """The rectangle the trainer's collator makes of examples; RecipeError where it cannot be padded."""
        import sftui.labels as label_rules

        pad_id, note = pad_token_id(recipe, tools)
        side, most, notes = tools.tokenizer.facts.padding_side, recipe.length.max, (note,) if note else ()
        return label_rules.collate(
            examples, rows, recipe.batch, pad_id=pad_id, padding_side=side, max_length=most, notes=notes
        )

    def pack(self, examples: Sequence[Example], recipe: Recipe, tools: Toolbox) -> Iterator[Pack]:
        """The packed sequences of one packing group of examples, in the trainer's order, each made when it is asked
        for."""
        raise RecipeError(f"{self.name} does not pack", fix="set pack.strategy to none")

    def pack_in_order(self, examples: Iterable[Example], recipe: Recipe, tools: Toolbox) -> Iterator[Pack] | None:
        """The packs of a whole dataset where the trainer fills one after the other, a pack's rows held at a time; None
        where it packs groups."""
        return None

    def fed(self, pack: Pack, recipe: Recipe) -> Pack:
        """A pack with the labels that reach the loss, un-shifted: some collators mask more than the packer."""
        return pack

    def packs_in_a_batch(self, recipe: Recipe) -> int:
        """How many packs fill a batch, where a last one that is not full is left out; else 1."""
        return 1

    def packing_order(self, recipe: Recipe) -> str:
        """What is assumed of the order and the groups in which rows are packed, in one clause."""
        return f"in groups of {recipe.pack.group:,} rows, in dataset order"

    def collate_packs(self, packs: Sequence[Pack], recipe: Recipe, tools: Toolbox) -> Batch:
        """The rectangle the trainer's collator makes of packed sequences."""
        masks = (pack.attention_mask or (1,) * len(pack.input_ids) for pack in packs)
        examples = [Example(p.input_ids, p.labels, mask, weights=p.weights) for p, mask in zip(packs, masks)]
        return self.collate(examples, range(len(packs)), recipe, tools)

    def read_config(self, path: str, text: str, version: str | None = None) -> OpenedConfig:
        """The trainer's own config file as recipes; RecipeError with the line of what is wrong."""
        if not self.traits.config:
            raise RecipeError(f"{self.name} has no config file", where=path, fix="give the options on the command line")
        from sftui.trainers.table import known_keys

        known = known_keys(self.name, self.title, version)
        opened: OpenedConfig = import_module(self.traits.config).read(path, text, self.preset(version), known)
        return opened

    def stop_of(self, recipe: Recipe, totals: Totals) -> str | None:
        """Why a run over whole data, no row of it refused, trains nothing, in a sentence; None where it trains
        something."""
        packs, rows = recipe.pack.strategy != "none", totals.rows
        kept = totals.kept - totals.empty * packs  # a pack holds no empty row
        if not rows or totals.trained:
            return None
        if not kept:
            every = "the only row is" if rows == 1 else f"all {rows:,} rows are"
            # What packs no tokens stops there, with another error.
            stop = "" if packs and not totals.tokens else self.traits.empty_stop
            return f"{self.title} stops: {every} dropped" + f", and it raises {stop}" * bool(stop)
        left = "the row that is left" if kept == 1 else f"all {kept:,} rows that are left"
        return f"nothing is trained: every label in {left} is masked, but {self.title} does not stop"

    def keys_of(self, recipe: Recipe) -> tuple[dict[str, Any], tuple[str, ...]]:
        """What the trainer's own config says of a recipe beyond its defaults (keys, by their places with dots between
        the steps → values), and a sentence on each knob that it cannot say; nothing for a loop written by hand."""
        if not self.traits.config:
            return {}, ()
        *said, losses = import_module(self.traits.config).keys_of(recipe, self.preset(recipe.version or None))
        return {".".join(map(str, place)): value for keys in said for place, value in keys.items()}, tuple(losses)


class InlineTemplateTrainer(Trainer):
    """A trainer whose config holds a chat template as text: the one template of its own, and none that it brings."""

    inline: ClassVar[tuple[str, str]]
    """What render.template calls it, and the option that has its text."""

    def own_template(self, name: str, tokenizer: LoadedTokenizer, recipe: Recipe) -> ChatTemplate:
        inline, option = self.inline
        source: str | None = getattr(recipe.own, option)
        if name != inline or source is None:
            return super().own_template(name, tokenizer, recipe)
        from sftui.templates import compile_template
        from sftui.trainers.versions import rendering_by

        return compile_template(source, option, rendering=rendering_by(recipe))

    def brings_template(self, recipe: Recipe) -> bool:
        return False


def prompt_of(conversation: Conversation, rule: str) -> tuple[int | None, str | None]:
    """How many messages are the prompt, or why the row cannot be trained.

    `last_assistant`: every message before the last one, which must be the assistant's.
    `column`: the messages of the `prompt` column; a row without one has no prompt.
    """
    if conversation.kind is not Kind.CHAT:
        return (1, None) if conversation.kind is Kind.STRINGS else (None, None)
    if rule == "column":
        return conversation.prompt_messages, None
    if not conversation.messages:
        return None, "there are no messages"
    last = conversation.messages[-1].role
    if last != "assistant":
        return None, f"the last message is from `{last}`, not from the assistant"
    return len(conversation.messages) - 1, None


def pick_template(conversation: Conversation, tools: Toolbox) -> ChatTemplate:
    """The template for a row: with several named ones transformers picks by the row's tools."""
    if not tools.templates:
        raise TemplateError(
            "there is no chat template",
            why="neither the tokenizer nor the recipe has one",
            fix="give one with --template NAME or --template FILE",
        )
    if len(tools.templates) == 1 and "default" in tools.templates:
        return tools.templates["default"]
    from sftui.templates.rendering.template import choose_template

    name = choose_template({key: template.source for key, template in tools.templates.items()}, conversation.tools)[0]
    return tools.templates[name]


def from_ids(conversation: Conversation, tools: Toolbox) -> RenderedText:
    """Stored ids as text: their surfaces joined, so that the views have something to stand on."""
    from sftui.trainers.pieces import spanned

    text = b"".join(_surfaces(conversation, tools)).decode("utf-8", "replace")
    notes = ("the row contains ids; sftui decodes the text from them",)
    return replace(spanned([(text, 0, PartOf.CONTENT)]), notes=notes)


def _surfaces(conversation: Conversation, tools: Toolbox) -> list[bytes]:
    tokenizer = tools.tokenizer
    return [tokenizer.surface(i) or tokenizer.piece(i).encode("utf-8", "replace") for i in conversation.input_ids]


def stored_tokens(conversation: Conversation, rendered: RenderedText, tools: Toolbox) -> Tokens:
    """Stored ids as Tokens, which share a character's place where they stand inside of one; RecipeError where an id is
    not in the vocabulary."""
    from sftui.runs import flat
    from sftui.tokens.surface import spell

    size = tools.tokenizer.facts.vocab_size
    for position, token_id in enumerate(conversation.input_ids):
        if not 0 <= token_id < size:
            raise RecipeError(
                f"id {token_id} at position {position} is not in this tokenizer",
                why=f"it has {size} tokens",
                fix="open the row with the tokenizer that produced the ids",
            )
    spelt = _surfaces(conversation, tools)
    columns = spell(b"".join(spelt).decode("utf-8", "replace"), spelt)
    starts, ends = (tuple(at if text else NOWHERE for text, at in zip(spelt, column)) for column in columns)
    n = len(spelt)
    return Tokens(flat(conversation.input_ids), starts, ends, messages=(0,) * n, parts=(PartOf.CONTENT,) * n)


def stored_attention(conversation: Conversation, count: int) -> tuple[int, ...] | None:
    """The attention mask that stored rows bring, where it fits."""
    mask = conversation.attention_mask
    return mask if conversation.kind is Kind.TOKENS and mask is not None and len(mask) == count else None


def pad_token_id(recipe: Recipe, tools: Toolbox) -> tuple[int | None, str]:
    """The id that pads, and a note where it is not the tokenizer's own pad token."""
    facts = tools.tokenizer.facts
    named = recipe.batch.pad_token
    if named != "auto":
        token_id = tools.tokenizer.token_id(named)
        if token_id is None:
            what = f"batch.pad_token `{named}` is not in the vocabulary"
            raise RecipeError(what, fix="name a token the tokenizer has")
        return token_id, ""
    if facts.pad_id is not None:
        return facts.pad_id, ""
    if facts.eos_id is not None:
        return facts.eos_id, f"the tokenizer has no pad token: EOS {facts.eos_token} pads, as in the tutorials"
    return None, ""


def _no_role(conversation: Conversation, roles: tuple[str, ...]) -> str | None:
    if any(message.role in roles for message in conversation.messages):
        return None
    return f"no message is from {' or '.join(f'`{role}`' for role in roles)}"
