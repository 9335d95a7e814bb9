"""Recipe: every knob that decides labels, with its type, its choices and its one-line meaning.

The fields are those of section 9 of the design's reference on trainers. A preset fills every
field (see `trainers`); whatever differs from the preset is what a saved recipe shows. Nothing
here reads files or knows a trainer: `recipe_io` loads and saves, `trainers` holds the presets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from datetime import date
from functools import cache
from operator import attrgetter
from types import NoneType, UnionType
from typing import Any, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

from sftui.model import IGNORE_INDEX, RecipeChange
from sftui.values import value_class


def knob(
    default: Any, doc: str, *, choices: Mapping[str, str] | tuple[str, ...] = (), minimum: int | None = None
) -> Any:
    """A recipe field: its default, its one-line meaning, and what it may be; `choices` with what each of them does."""
    meanings = tuple(choices.values()) if isinstance(choices, Mapping) else ()
    meta = {"doc": doc, "choices": tuple(choices), "meanings": meanings, "minimum": minimum}
    if isinstance(default, dict):
        return field(default_factory=lambda: dict(default), metadata=meta)
    return field(default=default, metadata=meta)


READ_AS = {
    "auto": "detected from the rows' columns",
    "messages": "a list of messages with role and content",
    "sharegpt": "a list of turns with from and value",
    "alpaca": "instruction, input and output",
    "prompt_completion": "prompt and completion, as text or messages",
    "columns": "columns that data.fields names",
    "text": "one column of text",
    "segments": "pieces of text, each trained or not",
    "tokenized": "input_ids, optionally with labels",
}
"""How rows may be read, and what each means."""
FORMATS = tuple(READ_AS)


TODAY = "today"
"""render.date where templates follow the clock."""


@value_class
class Data:
    """How a row of the dataset becomes a conversation."""

    format: str = knob("auto", "how a row is read", choices=READ_AS)
    fields: Mapping[str, str] = knob(
        {},
        "sftui field → dataset column (messages, prompt, completion, text, instruction, input, output, history,"
        " system, tools, template_kwargs, input_ids, labels)",
    )
    message_keys: Mapping[str, str] = knob(
        {}, "sftui field → message key (role, content, reasoning, train_flag, train_detail, weight)"
    )
    role_map: Mapping[str, str] = knob({"human": "user", "gpt": "assistant"}, "role in the data → role in the template")
    strings: str = knob(
        "chat",
        "what a prompt/completion pair of strings becomes",
        choices={
            "chat": "a user/assistant conversation, rendered with the chat template",
            "plain": "the two strings concatenated, without a template",
        },
    )
    alpaca_prompt: str = knob(
        "stanford",
        "how instruction and input become the user message",
        choices={
            "stanford": "the Stanford Alpaca prompt: Below is an instruction …",
            "newline": "instruction and input joined by a newline",
            "blank_line": "instruction and input joined by an empty line",
        },
    )
    function_calls: str = knob(
        "text",
        "what a ShareGPT function_call turn becomes",
        choices={
            "text": "an assistant message with the call as text",
            "tool_calls": "an assistant message with tool_calls",
        },
    )
    strict_turns: str = knob(
        "off",
        "what happens to rows whose turns do not alternate",
        choices={
            "off": "they are kept as they are",
            "drop": "they are dropped",
            "error": "they are rejected with an error",
        },
    )
    given_labels: str = knob(
        "auto",
        "how stored labels are aligned",
        choices={
            "auto": "detected from the ids and labels in the first rows",
            "unshifted": "labels[i] belongs to input_ids[i]",
            "shifted": "labels[i] belongs to input_ids[i + 1]",
        },
    )


@value_class
class Tokenizer:
    """Which tokenizer, and the special tokens set on it."""

    name: str | None = knob(None, "Hub name, folder, tokenizer.json, .gguf or builtin:NAME")
    revision: str | None = knob(None, "branch, tag or commit of a Hub tokenizer")
    eos_token: str | None = knob(None, "replaces the tokenizer's EOS token")
    pad_token: str | None = knob(None, "replaces the tokenizer's pad token")
    bos_token: str | None = knob(None, "replaces the tokenizer's BOS token")
    type: str | None = knob(None, "transformers class that loads it; null: the one AutoTokenizer chooses")
    transformers: str | None = knob(
        None, "the transformers version whose tokenization is shown, or running; null: the preset's own"
    )


@value_class
class Render:
    """How a conversation becomes text."""

    template: str = knob(
        "tokenizer", "tokenizer, file:PATH, builtin:NAME, or a trainer's own template as NAME/TEMPLATE"
    )
    kwargs: Mapping[str, Any] = knob({}, "extra variables for the chat template, e.g. enable_thinking")
    inject_system: str | None = knob(None, "system prompt added to rows that have none")
    date: str = knob(TODAY, "the date that templates insert: today, or one such as 2026-11-22 (at 00:00)")


@value_class
class Tokenize:
    """How the text becomes ids, and where BOS and EOS come from."""

    mode: str = knob(
        "prompt_and_full",
        "what is tokenized in one call",
        choices={
            "whole": "the whole text, once",
            "prompt_and_full": "the whole text, and the prompt alone to find where it ends",
            "per_part": "each part separately, then concatenated: ids at the joins may differ",
        },
    )
    add_special_tokens: bool = knob(False, "the tokenizer adds its own BOS/EOS to the rendered text")
    bos: str = knob(
        "keep",
        "what happens to the BOS text that the template writes",
        choices={
            "keep": "it stays in the text",
            "strip_text": "it is removed from the text before tokenization",
            "drop_second": "if the sequence starts with two BOS tokens, one is dropped",
        },
    )
    append_eos: str = knob(
        "never",
        "when EOS is appended",
        choices={
            "never": "never",
            "if_missing_text": "if the text does not end with it",
            "if_missing_ids": "if the last id is not EOS",
            "always": "always, even if one is already there",
        },
    )


@value_class
class Mask:
    """Which tokens are trained."""

    rule: str = knob(
        "completion",
        "which tokens are trained",
        choices={
            "auto": "the trainer decides from the data",
            "all": "every token, including the prompt",
            "completion": "everything after the prompt: the last answer, or the completion column",
            "assistant": "the content of messages with a role in mask.roles",
            "generation_tag": "everything between {% generation %} tags of the chat template",
            "turn_content": "turns with a role in mask.roles, as Axolotl finds them in the rendered text",
            "turn_full": "whole messages with a role in mask.roles, headers too",
            "parts": "the answers, each turn encoded separately",
            "markers": "everything from mask.response_marker up to the next instruction",
            "segments": "the segments that the data marks as trained",
            "given": "the labels stored in the data",
        },
    )
    boundary: str = knob(
        "prompt_length",
        "how the start of a completion is found",
        choices={
            "prompt_length": "at the token count of the prompt alone",
            "common_prefix": "at the first id where the prompt alone and the whole row differ",
        },
    )
    prompt: str = knob(
        "last_assistant",
        "what counts as the prompt in a conversation",
        choices={"last_assistant": "everything before the last answer", "column": "the row's prompt column"},
    )
    roles: tuple[str, ...] = knob(("assistant",), "roles whose messages are trained")
    turns: str = knob(
        "all", "which of those messages are trained", choices={"all": "all of them", "last": "only the last"}
    )
    terminator: str = knob(
        "train",
        "what happens to the end-of-turn token of a trained message",
        choices={"train": "trained: the model learns to stop", "mask": "masked: the model does not learn it"},
    )
    trailing: str = knob(
        "train",
        "what happens to whitespace after the terminator",
        choices={"train": "trained with it", "mask": "masked"},
    )
    instruction_marker: str | None = knob(None, "text that opens an instruction (rule markers)")
    response_marker: str | None = knob(None, "text that opens a response (rule markers)")
    ignore_index: int = knob(IGNORE_INDEX, "the label for masked tokens")


OwnT = TypeVar("OwnT", bound="Own")


@dataclass(frozen=True, slots=True)
class Own:
    """The options that one trainer alone has, by its own key names; this one has none.

    A trainer's own are a frozen dataclass in its folder, each field a `knob`, and its presets bring it.
    """

    @classmethod
    def of(cls: type[OwnT], recipe: Recipe) -> OwnT:
        """What a recipe of this trainer says of its own options; TypeError for a recipe of another."""
        if not isinstance(recipe.own, cls):
            raise TypeError(f"a {recipe.preset} recipe has no {cls.__name__}")
        return recipe.own

    def said(self) -> dict[str, Any]:
        """The options that are not at their defaults, by name, in their order."""
        own, usual = ({f.name: getattr(side, f.name) for f in fields(self)} for side in (self, type(self)()))
        return {name: value for name, value in own.items() if value != usual[name]}


@value_class
class Length:
    """What happens to long, short and unlabelled rows."""

    max: int | None = knob(None, "length limit in tokens; null: no limit", minimum=1)
    over: str = knob(
        "cut_right",
        "what happens to a longer row",
        choices={
            "cut_right": "it is cut at the end",
            "cut_left": "it is cut at the start",
            "drop": "it is dropped",
            "split": "it is split into several rows",
            "proportional": "prompt and answer are both cut, in proportion to their lengths (LLaMA-Factory)",
            "error": "it is rejected with an error",
        },
    )
    drop_unlabelled: bool = knob(False, "drop rows without trained tokens")
    min_tokens: int = knob(0, "drop rows shorter than this", minimum=0)


@value_class
class Pack:
    """How rows are joined into one sequence."""

    strategy: str = knob(
        "none",
        "how rows are packed into sequences",
        choices={
            "none": "one row, one sequence",
            "bfd": "best fit decreasing: rows stay whole where they fit, longer ones are cut (TRL)",
            "bfd_split": "best fit decreasing, longer rows are split instead of cut (TRL)",
            "wrapped": "one stream of tokens, cut into equal lengths regardless of rows (TRL)",
            "multipack": "first fit decreasing within groups of rows, as batches are drawn (Axolotl)",
            "knapsack": "greedy knapsack within groups of rows (LLaMA-Factory packing)",
            "neat": "greedy knapsack, rows separated in attention (LLaMA-Factory neat_packing)",
            "sequential": "rows in order until a sequence is full (torchtune, ms-swift)",
            "binpack": "longest first, each into the emptiest sequence with room for it (ms-swift)",
        },
    )
    isolate: bool = knob(False, "documents in a pack do not attend to each other")
    group: int = knob(1000, "number of rows packed together", minimum=1)


@value_class
class Batch:
    """How rows become a rectangle."""

    size: int = knob(4, "rows per batch", minimum=1)
    pad_side: str = knob(
        "tokenizer",
        "padding side",
        choices={"tokenizer": "the tokenizer's side", "right": "right, after the row", "left": "left, before the row"},
    )
    pad_token: str = knob("auto", "auto: the tokenizer's pad token, or EOS as in the tutorials; or a token")
    pad_to: str = knob(
        "longest", "padded length", choices={"longest": "the longest row in the batch", "max": "length.max"}
    )
    multiple: int | None = knob(None, "pad to a multiple of this", minimum=1)
    attention: str = knob(
        "ones",
        "the attention mask that the model receives",
        choices={
            "ones": "1 for every token, 0 for padding",
            "doc_ids": "the document's number within its pack, 0 for padding",
            "none": "none",
        },
    )
    flatten: bool = knob(False, "rows are concatenated without padding, with position ids (padding-free)")
    labels_pad: int = knob(IGNORE_INDEX, "the label for padding")


@value_class
class Loss:
    """What is learned from a row, and what the loss gets besides the labels."""

    objective: str = knob(
        "sft",
        "what the trainer learns from a row",
        choices={
            "sft": "the trained tokens",
            "dpo": "to prefer the chosen answer to the rejected one (DPO)",
            "kto": "which answers are desirable (KTO)",
            "reward": "to score the chosen answer above the rejected one (reward model)",
            "orpo": "the chosen answer, and to prefer it to the rejected one (ORPO)",
            "cpo": "as orpo, with the loss of CPO or SimPO",
        },
    )
    shift: str = knob(
        "internal",
        "where labels are shifted by one: in the model, or in the stored data",
        choices={
            "internal": "the model shifts: labels are stored unshifted",
            "preshifted": "the data is stored shifted: labels[i] is the token after input_ids[i]",
        },
    )
    weights: str = knob(
        "none",
        "loss weight per token",
        choices={"none": "every trained token counts the same", "float": "each message's weight applies to its tokens"},
    )


class Preset(NamedTuple):
    """The name of a preset in its parts: the trainer, and its version, empty where the name says none."""

    trainer: str
    version: str = ""

    @classmethod
    def of(cls, name: str) -> Preset:
        """`trl@1.16` as its parts; the only place that knows how such a name is written."""
        trainer, _, version = name.partition("@")
        return cls(trainer, version)

    def __str__(self) -> str:
        return f"{self.trainer}@{self.version}" if self.version else self.trainer


@value_class
class Recipe:
    """The only state that decides labels; compare two with `diff`, change one with `changed`."""

    trainer: str
    version: str = ""
    """The release of the trainer whose rules hold, as `1.16`; empty for a loop written by hand, which has none."""
    data: Data = field(default_factory=Data)
    tokenizer: Tokenizer = field(default_factory=Tokenizer)
    render: Render = field(default_factory=Render)
    tokenize: Tokenize = field(default_factory=Tokenize)
    mask: Mask = field(default_factory=Mask)
    own: Own = field(default_factory=Own)
    length: Length = field(default_factory=Length)
    pack: Pack = field(default_factory=Pack)
    batch: Batch = field(default_factory=Batch)
    loss: Loss = field(default_factory=Loss)
    waivers: tuple[Mapping[str, Any], ...] = ()
    """Findings that someone accepts, each with a code and a reason (see `findings.waivers`); they change no label."""

    @property
    def preset(self) -> str:
        """Trainer and version as people write them: `trl@1.16`."""
        return str(Preset(self.trainer, self.version))

    @property
    def supervised(self) -> bool:
        """Whether a row teaches its trained tokens, and no preference."""
        return self.loss.objective == "sft"

    @property
    def paired(self) -> bool:
        """Whether a row is a chosen and a rejected side, which stay together in a batch."""
        return self.loss.objective in ("dpo", "reward", "orpo", "cpo")


@value_class
class KnobInfo:
    """One knob as the recipe pane, the help and the validator see it."""

    path: str
    type: str
    doc: str
    choices: tuple[str, ...]
    minimum: int | None
    default: Any
    meanings: tuple[str, ...] = ()
    """What each of `choices` does, in a few words; none where the knob does not say."""

    def meaning(self, choice: Any) -> str:
        """What a choice does; "" for one that says it itself, as true or a trainer's name does."""
        return dict(zip(self.choices, self.meanings)).get(choice, "") if isinstance(choice, str) else ""


def sections(recipe: Recipe) -> Iterator[tuple[str, Any]]:
    """The named groups of a recipe, in order."""
    for f in fields(recipe):
        value = getattr(recipe, f.name)
        if is_dataclass(value):
            yield f.name, value


def knobs(own: type[Own] = Own) -> tuple[KnobInfo, ...]:
    """Every knob of a recipe in the order of the schema; without a trainer's own options those that all have."""
    kind: Any = own  # a class of dataclasses is no Hashable to mypy
    return tuple(_knobs(kind).values())


@cache
def _knobs(own: Any) -> Mapping[str, KnobInfo]:
    """The same by their paths."""
    found: dict[str, KnobInfo] = {}
    for section, group in sections(Recipe("", own=own())):
        hints = get_type_hints(type(group))
        for f in fields(group):
            path = f"{section}.{f.name}"
            found[path] = KnobInfo(path, _type_name(hints[f.name]), default=getattr(group, f.name), **f.metadata)
    return found


def knobs_of(recipe: Recipe) -> tuple[KnobInfo, ...]:
    """Every knob of a recipe, the options of its own trainer with them."""
    return knobs(type(recipe.own))


def knob_named(recipe: Recipe, path: str) -> KnobInfo | None:
    """The knob of a recipe with a path; None where it has none."""
    kind: Any = type(recipe.own)
    return _knobs(kind).get(path)


def value_of(recipe: Recipe, info: KnobInfo) -> Any:
    """The value of a knob, its default where it is an option of another trainer."""
    return get(recipe, info.path) if knob_named(recipe, info.path) == info else info.default


def get(recipe: Recipe, path: str) -> Any:
    """The value of one knob by its dotted path; AttributeError for an unknown one."""
    return attrgetter(path)(recipe)


def changed(recipe: Recipe, path: str, value: Any) -> Recipe:
    """The same recipe with one knob set; the value is not validated here (see `recipe_io`)."""
    if path == "preset":
        return replace(recipe, **Preset.of(value)._asdict())
    section, _, name = path.partition(".")
    if not name:
        return replace(recipe, **{section: value})
    return replace(recipe, **{section: replace(getattr(recipe, section), **{name: value})})


def with_changes(recipe: Recipe, changes: Iterable[RecipeChange]) -> Recipe:
    """The same recipe with each knob set to what a change makes of it."""
    for change in changes:
        recipe = changed(recipe, change.path, change.after)
    return recipe


def day_of(recipe: Recipe) -> date | None:
    """The day that the recipe pins; None where templates follow the clock."""
    return None if recipe.render.date == TODAY else date.fromisoformat(recipe.render.date)


def diff(before: Recipe, after: Recipe) -> tuple[RecipeChange, ...]:
    """The knobs in which two recipes differ, in the order of the schema, preset first."""
    changes = []
    if before.preset != after.preset:
        changes.append(RecipeChange("preset", before.preset, after.preset))
    differing = tuple(f"{name}." for name, group in sections(after) if group != getattr(before, name))
    infos = [info for info in knobs_of(after) if info.path.startswith(differing)]
    if type(before.own) is type(after.own):
        values = [(info.path, get(before, info.path), get(after, info.path)) for info in infos]
    else:
        infos += [info for info in knobs_of(before) if knob_named(after, info.path) != info]
        values = [(info.path, value_of(before, info), value_of(after, info)) for info in infos]
    return (*changes, *(RecipeChange(path, a, b) for path, a, b in values if a != b))


KINDS: Mapping[Any, str] = {
    bool: "bool",
    int: "int",
    float: "number",
    str: "str",
    Mapping[str, str]: "names",
    Mapping[int, str]: "ids",
    Mapping[str, Any]: "mapping",
    tuple[str, ...]: "list",
}
"""What a knob may be annotated with, and how its type is called."""


def _type_name(hint: Any) -> str:
    """`int`, with `?` behind it where null is a value too, and `str|mapping` where it may be either."""
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    names = "|".join(KINDS[part] for part in parts if part is not NoneType)
    return f"{names}?" if NoneType in parts else names
