"""What a trainer declares of itself, so that nobody else has to know its name.

Values that hold whatever the recipe says; what hangs on the recipe is a method of `Trainer`. They are read without
loading the trainer's code: each trainer's package has them as `TRAITS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, Literal

from sftui.side_files import object_of

Changes = tuple[tuple[str, Any], ...]
"""Knobs and the values they take, as a finding's fix offers them."""


class Finds(str, Enum):
    """How a trainer finds which tokens are an answer's."""

    SPANS = "which message each character of the rendered text comes from"
    TAGS = "the {% generation %} tags of the chat template"
    """Behind the prompt alone: a token is trained where both masks say so."""
    DUMMY = "a rendering with a dummy in the answer's place"
    MARKERS = "the markers before questions and answers"
    SLOTS = "the slots in its own templates"
    MESSAGES = "the messages, each encoded separately"
    PROMPTS = "the ids of each prompt alone, compared with those of the whole row"

    @property
    def piecewise(self) -> bool:
        """Rows are encoded piece by piece: whoever asks where tokens stand gets the spans of the text, too."""
        return self in (Finds.SLOTS, Finds.MESSAGES)


class Quirk(str, Enum):
    """What a trainer does otherwise than the others, whatever the recipe says; findings and conversions heed it."""

    PARSES_JSON_TEXT = "messages or tool arguments that are JSON text are parsed"
    NAMED_KEYS_ONLY = "it reads only the message keys that the config names or that it knows"
    FLAG_BY_KEY = "you can choose which message key says whether a message is trained (data.message_keys, `train_flag`)"
    READS_MASK_COLUMNS = "stored ids without labels may have their own mask (completion_mask, assistant_masks)"
    REPEATS_CONTENT = "OpenAI messages whose content is null get the previous message's content"
    REPLACES_WORDS = "a message's `tool_calls` replace its content"
    DROPS_TOOL_CALLS = "a message's `tool_calls` do not reach it"
    RENDERS_WITHOUT_TEMPLATE = "chats are rendered even if neither tokenizer nor recipe has a template"
    THINKING_OPTION = "`enable_thinking` is its own option, which keeps empty thoughts out, not a template variable"
    BOS_BY_FIRST_ROW = "whether text rows get a BOS is decided once, from the first row"
    ENDS_TEXTS_ALONE = "`tokenize.append_eos` applies only to text rows, not to rendered chats"
    AUTO_TRAINS_ANSWERS = "mask.rule `auto` trains the answers in chats, and everything in other rows"
    MASKS_END = "the last token of a chat is masked as soon as length.max is set, even if nothing is cut"
    PARQUET_ALONE = (
        "it reads only Parquet: rows from a JSON file are shown as pandas stores them there, with one type per field"
    )
    KEEPS_BLANK_CELLS = "empty cells in a CSV file, and words such as NA, stay text (pandas' na_filter=False)"
    TEMPLATE_BY_SCRIPT = "its config does not name the chat template: the user's script, or the model's folder, sets it"


class Effect(str, Enum):
    """What an option of one trainer does."""

    MASKS_OPENED = "masks what the template's generation prompt supplies at the start of an answer"
    TRAINS_END = "trains the special tokens after answers that it names"
    DROPS_SYSTEM = "omits the system message"
    DROPS_COPIES = "drops rows that become identical"


class MessageKind(str, Enum):
    """What a message is to a trainer."""

    PROMPT = "what the model is asked, or told in advance"
    ANSWER = "what the model says"
    CALL = "a tool call in its own message, also written by the model"
    RESULT = "what a tool returned"


_KINDS: Mapping[str, MessageKind] = {
    **dict.fromkeys(("system", "developer", "user"), MessageKind.PROMPT),
    "assistant": MessageKind.ANSWER,
    **dict.fromkeys(("tool", "function", "ipython", "environment"), MessageKind.RESULT),
}
"""The roles that chat templates know."""


def claims_nothing(config: Mapping[str, Any]) -> tuple[str, ...]:
    """No config is known by its keys."""
    return ()


def keys_among(own: frozenset[str], config: Iterable[str]) -> tuple[str, ...]:
    """The keys of a config that are among `own`, in its order."""
    return tuple(key for key in config if key in own)


def own_keys(file: str, config: Iterable[str], part: str = "own") -> tuple[str, ...]:
    """The keys of a config that a part of `own_keys.json`, beside the trainer's `file`, names as its own, and where
    there is one those of the part `beside`."""
    parts, none = _own_keys(file), frozenset[str]()
    found = keys_among(parts[part], config)
    return (*found, *keys_among(parts.get("beside", none), config)) if found else ()


@cache
def _own_keys(file: str) -> Mapping[str, frozenset[str]]:
    parts: Mapping[str, list[str]] = object_of(Path(file).with_name("own_keys.json"))
    return {part: frozenset(name for line in lines for name in line.split()) for part, lines in parts.items()}


def places_named(config: Any, key: str, package: str, path: str = "", depth: int = 0) -> tuple[str, ...]:
    """The paths in a parsed config of the keys `key` that name something of a package."""
    if depth == 4 or not isinstance(config, (Mapping, list)):
        return ()
    if isinstance(config, list):
        inner = [(f"{path}[{number}]", None, value) for number, value in enumerate(config[:10])]
    else:
        inner = [(f"{path}.{name}" if path else str(name), name, value) for name, value in config.items()]
    found: list[str] = []
    for here, name, value in inner:
        if name == key and str(value).startswith(package):
            found.append(here)
        else:
            found += places_named(value, key, package, here, depth + 1)
    return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Packing:
    """How a trainer packs, in values of pack.strategy."""

    usual: str = "none"
    """The one that its key for packing means where nothing else is said."""
    separates: tuple[str, ...] = ()
    """Those whose documents may be kept apart."""
    separates_by: Literal["", "positions", "numbers"] = ""
    """What keeps documents apart: position ids, which only FlashAttention heeds, or their numbers in the attention mask
    (batch.attention `doc_ids`)."""
    separate: Changes = ()
    """The packing that keeps documents apart, in all the knobs that reading the trainer's own key for it sets."""
    whole: Changes = ()
    """The packing that splits no row, where there is one beside others that do."""
    groups_hold_dropped: bool = False
    """The rows that it drops count where it packs so many rows (`pack.group`) together."""
    places: str = ""
    """Where `places(examples, recipe)` is, `package.module:function`: which tokens of examples that are packed together
    each pack holds, as `trainers.packing.Documents`, of which it asks the lengths alone (`packing.blank`); RecipeError
    where these do not tell. Empty: it does not pack, or that is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """A trainer's declaration; each default is what the plain steps of `Trainer` do."""

    name: str
    """As in presets: `trl` of `trl@1.16`."""
    title: str
    """As its makers write it."""
    about: str = ""
    """What it is, in a few words."""
    home: str
    """Where its class is: `package.module:Class`."""
    versions: tuple[str, ...] = ()
    """The releases whose rules are known, the newest first; none for a loop written by hand."""
    first: tuple[int, ...] = (0,)
    """The oldest release whose rules are known."""
    by_hand: bool = False
    """A loop that the user writes: no config limits what it can be told."""
    package: str = ""
    """What is installed of it where that has another name; its version is the trainer's."""

    # what it reads of a row
    own_roles: Mapping[str, MessageKind] = field(default_factory=dict)
    """Roles that it alone has, or takes for something else than chat templates do."""
    answering: frozenset[str] = field(init=False)
    """The roles of what the model is to say: answers, and calls in messages of their own."""

    endings: Mapping[str, str] = field(default_factory=dict)
    """The loader of `datasets` by which it reads a local file, by the ending of its name; it stops at any other. None:
    the user says how files are read."""

    # what it renders and encodes
    renders_templates: bool = True
    """Chats are rendered by transformers' `apply_chat_template`, not by the trainer's own code."""

    # which tokens it trains
    finds: Finds = Finds.SPANS
    """How answers are found where only they are trained."""
    rules: Mapping[str, str] = field(default_factory=lambda: {"assistant": "assistant"})
    """The mask.rule that trains every answer of a chat (`assistant`), or the `last` message alone where no rule trains
    each answer, and that for prompt and completion (`completion`) where it is another."""
    options: Mapping[Effect, str] = field(default_factory=dict)
    """Its own knobs that have an effect which no knob of all trainers has."""

    averages: Literal["", "batch", "step"] = ""
    """Its loss is the mean over the trained tokens of a batch on one device, or of all batches of a step; empty: that
    is not known."""

    moves_labels: tuple[int, ...] = ()
    """Since this release its datasets move labels, so that its loss shifts nothing; empty: they do not."""

    packing: Packing = Packing()

    quirks: tuple[Quirk, ...] = ()

    fixes: Mapping[str, str] = field(default_factory=dict)
    """What to do in it against a finding, by the finding's code, where no rule of sftui names its key."""

    # its config
    config: str = ""
    """The module whose `read(path, text, preset, known_keys)` gives an `OpenedConfig`, whose `write(recipe, preset,
    opened, facts)` gives a `WrittenConfig`, and whose `keys_of(recipe, preset)` ends with the sentences on what its
    config cannot say; its `TABLE` says which keys are which knobs (see `table`), its `naming(config, data, number)`,
    if it has one, gives what `own_config.naming` does."""
    script: str = ""
    """What stands in a shell script that runs it, where such a script is its config."""
    claims: Callable[[Mapping[str, Any]], tuple[str, ...]] = claims_nothing
    """The keys of a parsed config that it reads and no other trainer does, by which a config is recognised."""
    training_arguments: tuple[int, ...] | None = None
    """Its arguments are transformers' TrainingArguments, of the versions below this one; None: they are not."""
    data_name: str = ""
    """What the file of the rows must be called, of a folder that its config names; it reads it line by line itself,
    and stops at a blank line."""
    data_file: str = ""
    """The file beside its config that says how rows are read."""
    empty_stop: str = "ValueError: num_samples should be a positive integer value, but got num_samples=0"
    """What stops it where no row is left: torch's RandomSampler, where it asks nothing itself; empty: not known in
    words."""

    def __post_init__(self) -> None:
        calling = [role for role, kind in self.own_roles.items() if kind is MessageKind.CALL]
        object.__setattr__(self, "answering", frozenset(["assistant", *calling]))

    def kind_of(self, role: str) -> MessageKind | None:
        """What a message of this role, as the trainer has it, is; None where neither it nor templates know the role."""
        return self.own_roles.get(role) or _KINDS.get(role)
