"""The frozen types that travel between stages: read this first.

    source → row → conversation → rendered text → tokens → labels → (truncate, pack, batch)

Every type is plain data and pickles, because the tokenizer lives in a worker process and rows travel
through a pipe. Ids are arrays, and a tuple for who reads them one by one. Offsets are character
offsets into the rendered text, half open. Labels are un-shifted: `labels[i]` belongs to `input_ids[i]`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from enum import Enum
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from sftui.values import late, lazy, value_class, with_fields

if TYPE_CHECKING:  # it is not needed before the first paint
    from sftui.places import Place
    from sftui.runs import Flat, Ranges, Runs

IGNORE_INDEX = -100
NOWHERE = -1
"""An offset or a message index for a token that stands for no text of the row."""
GONE = ...
"""What a key of a config says that goes, which null does not."""


class Part(str, Enum):
    """What a piece of the rendered text is, seen from the conversation."""

    BOS = "bos"
    HEADER = "header"
    CONTENT = "content"
    TERMINATOR = "terminator"
    SEPARATOR = "separator"
    INJECTED = "injected"
    PAD = "pad"

    __hash__ = str.__hash__  # an enum's own is called in Python, for every part of every row


class Reason(str, Enum):
    """Why a token is trained or masked; the value is what the screen shows."""

    COMPLETION = "completion"
    ASSISTANT = "assistant"
    WHOLE = "whole sequence"
    GIVEN = "given in data"
    TERMINATOR = "terminator"
    GENERATION = "generation tag"
    MARKER = "after response marker"
    FLAG = "message flag"
    APPENDED = "appended EOS"
    PROMPT = "prompt"
    ROLE = "role not trained"
    HEADER = "header"
    BOUNDARY = "boundary token"
    EARLIER = "earlier turn"
    NOT_GENERATION = "outside generation tag"
    NOT_MARKER = "before response marker"
    TRAILING = "after terminator"
    TERMINATOR_OFF = "terminator not trained"
    GIVEN_MASKED = "masked in data"
    FLAG_OFF = "message flag off"
    TRUNCATED = "truncated"
    FIRST_OF_DOCUMENT = "first of document"
    FORCED = "forced by the trainer"
    EFFICIENT_EOS = "EOS label of next turn"
    PAD = "pad"
    BOTH_MASKS = "other mask is off"
    WEIGHT = "message weight"
    SCORED = "score is read here"
    CONTEXT = "context"


class Stage(str, Enum):
    """The stages of a row, in order; a failed row says at which one it stopped."""

    ROW = "row"
    CONVERSATION = "conversation"
    RENDERED = "rendered"
    TOKENS = "tokens"
    LABELS = "labels"

    __hash__ = str.__hash__  # as that of Part, for every row


@value_class
class Row:
    """One record as it stands in the source.

    `index` is 0-based as in `dataset[i]`. `data` is None where the record could not be read;
    `problem` then says why in one sentence. `raw` is the text as stored (clipped at
    `RAW_LIMIT` characters, `size` is the whole in bytes); it is hostile until `text.visible`.
    `json_text` are columns that the file holds as JSON text, at least in part, and that `datasets` alone decodes.
    `cells` are columns of a CSV file whose text there is not what they are read as, with that text.
    `layout` names how the file holds its rows where that is no JSON Lines (see `trainers/reading.py`).
    Where repairs lie over the source, the row is as they would write it: `repairs` then says what
    they changed, `left_out` why the row would not be written, `skipped` why they could not be made on it, and the file
    still holds it as it was: `stored`, where they changed it.
    """

    index: int
    data: Mapping[str, Any] | None
    raw: str
    where: str
    size: int = 0
    problem: str | None = None
    repairs: tuple[str, ...] = ()
    left_out: str | None = None
    skipped: str | None = None
    json_text: tuple[str, ...] = ()
    cells: tuple[tuple[str, str], ...] = ()
    layout: str = ""
    stored: Row | None = None


RAW_LIMIT = 1_000_000


@value_class
class Message:
    """One message, as the chat template receives it.

    `data` holds at least `role`; every other key (content, tool_calls, name, reasoning_content …)
    is passed through untouched. `origin` is where it stands in the row, e.g. `conversations[2]`.
    `trained` carries a per-message flag of the data (None: the data does not say).
    """

    data: Mapping[str, Any]
    origin: str = ""
    trained: bool | None = None
    weight: float | None = None

    @property
    def place(self) -> Place:
        """`origin` as the steps to it."""
        from sftui.places import place_in  # which the first screen does not need

        return place_in(self.origin)

    @property
    def role(self) -> str:
        return str(self.data.get("role", ""))

    @property
    def content(self) -> Any:
        return self.data.get("content")


class Kind(str, Enum):
    """What a conversation is made of, which decides how it can be rendered."""

    CHAT = "chat"
    STRINGS = "strings"
    TEXT = "text"
    TOKENS = "tokens"

    __hash__ = str.__hash__  # as that of Part, for every row


@value_class
class Conversation:
    """One row as messages, as a prompt and a completion, as text, or as ready ids.

    kind CHAT: `messages`; `prompt_messages` is how many of them came from a `prompt` column
    (None: the row has no such column). STRINGS: `prompt` and `completion`. TEXT: `text`.
    TOKENS: `input_ids` and, where given, `labels` (un-shifted) and `attention_mask`. Of a preference it is the chosen
    side, with the `rejected` one, which has the same prompt.
    """

    kind: Kind
    format: str
    messages: tuple[Message, ...] = ()
    prompt_messages: int | None = None
    prompt: str | None = None
    completion: str | None = None
    text: str | None = None
    input_ids: tuple[int, ...] = ()
    labels: tuple[int, ...] | None = None
    attention_mask: tuple[int, ...] | None = None
    tools: Any = None
    template_kwargs: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    rejected: Conversation | None = None

    @property
    def sides(self) -> tuple[Conversation, ...]:
        """The row itself, or its chosen and its rejected side."""
        return (self,) if self.rejected is None else (self, self.rejected)

    def with_messages(self, messages: tuple[Message, ...]) -> Conversation:
        """The same with other messages: `dataclasses.replace` in a quarter of its time, as it may be for every row."""
        return with_fields(self, messages=messages)


class Span(NamedTuple):
    """A stretch of the rendered text that belongs to one message (or to none) and is one part."""

    start: int
    end: int
    message: int
    part: Part


@value_class
class Piece:
    """A stretch of text that a per-part trainer encodes alone, or ids that it inserts.

    `ids` given: these ids are inserted as they are and `text` is what they are shown as.
    `trained` is the trainer's own decision for the piece. `before` is a text that is encoded in front of it, of which
    the first `cut` ids are left out again.
    """

    text: str
    message: int
    part: Part
    trained: bool = False
    add_special_tokens: bool = False
    ids: tuple[int, ...] | None = None
    before: str = ""
    cut: int = 0


@value_class
class RenderedText:
    """The rendered text with who wrote what.

    `spans` cover `text` in order without gaps. `prompt` is the prompt rendered alone with the
    generation prompt, where the recipe asks for it. `generation` are the `{% generation %}`
    spans, in order; `overlapping` says that each token that overlaps one is of it, as since
    transformers 5.24, instead of those that its first and last character lead to. `pieces` is
    set for trainers that encode part by part; their texts concatenate to `text`. `exact` is False
    where spans could not be proven and are a best effort. `samples` is set where a trainer makes
    several texts of the row, each an example of its own: `text` is theirs end to end.
    """

    text: str
    spans: tuple[Span, ...] = ()
    prompt: str | None = None
    generation: tuple[tuple[int, int], ...] = ()
    has_generation_tag: bool = False
    pieces: tuple[Piece, ...] | None = None
    exact: bool = True
    notes: tuple[str, ...] = ()
    overlapping: bool = False
    samples: tuple[RenderedText, ...] = ()

    @property
    def estimated(self) -> tuple[str, ...]:
        """The note on a row whose spans are an estimate: its ids are the trainer's, whose they are is not certain."""
        return () if self.exact else ("which message each token comes from is a best-effort estimate here",)


class Cut(tuple[int, ...]):
    """`Tokens.ends` where the tokens are known to be the text that was encoded, cut: each byte of it is in one of them,
    in order, but for those that stand for no text. What is made of it is a plain tuple again."""


@value_class
class Boundary:
    """Where the prompt tokenized alone parts from the whole: both agree on the first `common`."""

    prompt_length: int
    common: int

    @property
    def clean(self) -> bool:
        return self.common == self.prompt_length


class Sample(NamedTuple):
    """One of the texts that a trainer makes of a row, in tokens (half open), and where its prompt ends in them."""

    start: int
    end: int
    boundary: Boundary


@value_class
class Tokens:
    """Tokens as parallel arrays, all of one length but `prompt`.

    `starts`/`ends` are character offsets into `RenderedText.text` (NOWHERE where the token stands for
    no text). These, `messages` and `parts` are all empty where nobody requested places (`placed`), but for `messages`
    of a row that was encoded piece by piece: there a token is its piece's. The latter change at few tokens, so that
    they are best read as runs (`sftui.runs`).
    `prompt` are the ids of `RenderedText.prompt`, tokenized alone. How ids are written is a `TokenText`. `samples` are
    those of `RenderedText.samples`, each encoded by itself. `shared` is how many of the prompt's ids the other side of
    a preference begins with, too, where the trainer gives both sides one prompt. Most rows of a dataset are written
    without a look at a single id; `input_ids` and `prompt_ids` are tuples of the same ids, for who looks at many.
    """

    ids: Flat
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    messages: Sequence[int]
    parts: Sequence[Part]
    prompt: Flat | None = None
    notes: tuple[str, ...] = ()
    samples: tuple[Sample, ...] = ()
    shared: int | None = None

    def __len__(self) -> int:
        return len(self.ids)

    @lazy
    def input_ids(self) -> tuple[int, ...]:
        """The ids, to be read one by one."""
        return tuple(self.ids)

    @lazy
    def prompt_ids(self) -> tuple[int, ...] | None:
        """The prompt's, in the same way."""
        return None if self.prompt is None else tuple(self.prompt)

    @property
    def placed(self) -> bool:
        """Whether it is known where the tokens stand in the text."""
        return len(self.starts) == len(self)

    @lazy
    def boundary(self) -> Boundary | None:
        """Where the prompt parts from the whole; None where it was not tokenized alone."""
        if self.prompt is None:
            return None
        common = common_prefix(self.prompt, self.ids)
        return Boundary(len(self.prompt), common if self.shared is None else min(common, self.shared))


@value_class
class TokenText:
    """How ids are written, along them: made for what is looked at, not for every row of a dataset.

    `pieces` are the vocabulary strings, `surfaces` the bytes each token stands for (empty where unknown). `special`
    marks added special tokens.
    """

    pieces: tuple[str, ...] = ()
    surfaces: tuple[bytes, ...] = ()
    special: tuple[bool, ...] = ()


NO_TEXT = TokenText()
"""Nobody asked, or there is nothing."""


@value_class
class Labels:
    """One label and one reason (best read as runs) per token of `Tokens`, un-shifted, before anything is cut;
    ValueError where there are more or fewer reasons.

    A label is what `values` has there inside of `ranges` (half open, in order, none empty), and else -100: these are
    the row's ids, or the labels that its data brings. `kept` are the token ranges that survive truncation; what lies
    outside is shown as cut and never reaches the trainer. `dropped` is why the trainer drops the whole row, or None.
    `weights` are the loss weights along the tokens, None for a trainer that has none.
    """

    values: Sequence[int]
    ranges: Ranges
    reasons: Sequence[Reason]
    kept: Ranges
    dropped: str | None = None
    notes: tuple[str, ...] = ()
    weights: Runs[float] | None = None

    def __post_init__(self) -> None:
        if len(self.reasons) != len(self.values):
            raise ValueError(f"{len(self.reasons)} reasons for {len(self.values)} labels")

    @lazy
    def labels(self) -> tuple[int, ...]:
        """One by one."""
        found = [IGNORE_INDEX] * len(self.values)
        for start, end in self.ranges:
            found[start:end] = self.values[start:end]
        return tuple(found)

    @property
    def counted(self) -> tuple[int, ...]:
        """The labels, -100 also where the weight is 0: what is not -100 carries loss."""
        return counted(self.labels, self.weights, IGNORE_INDEX)

    @lazy
    def carrying(self) -> Ranges:
        """Where tokens carry loss: where they have a label, and a weight that is not 0."""
        from sftui.runs import labelled

        return self.ranges if self.weights is None else labelled(self.counted)


def _labels(own: Example) -> tuple[int, ...]:
    from sftui.runs import masked

    if own.flat is None:
        raise AttributeError("labels")
    return tuple(masked(IGNORE_INDEX, own.ranges, own.flat))


@value_class
@late(input_ids=lambda own: tuple(own.flat), labels=_labels, attention_mask=lambda own: (1,) * len(own.flat))
class Example:
    """What the trainer receives for one row, shifted if the recipe stores labels shifted.

    `weights` are the loss weights along `labels` (shifted with them), None for a trainer that has none. A token with a
    weight of 0 carries no loss, whatever its label; one whose label is masked has none, whatever its weight.
    `flat` are the ids where labels are these inside of `ranges`, and nothing is padding (`flat_example`).
    """

    input_ids: tuple[int, ...]
    labels: tuple[int, ...]
    attention_mask: tuple[int, ...]
    shifted: bool = False
    ignore_index: int = IGNORE_INDEX
    weights: Runs[float] | None = None
    flat: Flat | None = field(default=None, init=False, compare=False, repr=False)
    ranges: Ranges = field(default=(), init=False, compare=False, repr=False)

    @property
    def size(self) -> int:
        """How many tokens there are."""
        return len(self.input_ids if self.flat is None else self.flat)

    @property
    def trained(self) -> int:
        """How many positions carry loss, with whatever weight."""
        if self.flat is not None:
            return sum([end - start for start, end in self.ranges])
        labels = self.counted
        return len(labels) - labels.count(self.ignore_index)

    @property
    def counted(self) -> tuple[int, ...]:
        """The labels, masked also where the weight is 0: what is not masked carries loss."""
        return counted(self.labels, self.weights, self.ignore_index)


def flat_example(ids: Flat, ranges: Ranges) -> Example:
    """All of `ids`, with labels that are these inside of `ranges`."""
    made: Any = Example((), (), ())
    del made.input_ids, made.labels, made.attention_mask
    made.flat, made.ranges = ids, ranges
    example: Example = made
    return example


@value_class
class Problem:
    """Why a stage could not do its work, as data: what, why, and what to do.

    `ours` is True where sftui stopped at a bound of its own, or does not know what the trainer does with the row.
    """

    what: str
    why: str = ""
    fix: str = ""
    ours: bool = False

    def sentence(self) -> str:
        head = f"{self.what}, because {self.why}" if self.why else self.what
        return f"{head}; {self.fix}" if self.fix else head


@value_class
class LateValue:
    """A value of another kind than the rows before it had there, and whether the trainer stops at it."""

    problem: Problem
    stops: bool


@value_class
class Inspection:
    """Everything sftui knows about one row under one recipe.

    A stage that failed leaves its field and all later ones None and sets `stopped_at` and
    `problem`; the earlier stages still show. `example` is None also where the row is dropped.
    `more` are further examples of the same row, for trainers that split long rows or make one of each answer.
    `token_text` and `prompt_text` are how `tokens` and their `prompt_ids` are written, where that was requested.
    `provisional` is True while the tokenizer is not yet proven to equal AutoTokenizer's. `evaluates`: the trainer
    sets the row aside for evaluation, prepared in the same way; nothing of it is trained. `late` is what the row does
    to the reading of the whole file. Of a preference the stages are those of its chosen side; `rejected` has the other.
    """

    row: Row
    conversation: Conversation | None = None
    rendered: RenderedText | None = None
    tokens: Tokens | None = None
    labels: Labels | None = None
    example: Example | None = None
    more: tuple[Example, ...] = ()
    boundary: Boundary | None = None
    token_text: TokenText = NO_TEXT
    prompt_text: TokenText = NO_TEXT
    stopped_at: Stage | None = None
    problem: Problem | None = None
    notes: tuple[str, ...] = ()
    provisional: bool = False
    evaluates: bool = False
    late: LateValue | None = None
    rejected: Inspection | None = None

    @property
    def sides(self) -> tuple[Inspection, ...]:
        """The row itself, or its chosen and its rejected side."""
        return (self,) if self.rejected is None else (self, self.rejected)

    @property
    def alone(self) -> tuple[Inspection, ...]:
        """The row, or each of its sides by itself; what is of the row is of the rejected side, too."""
        if self.rejected is None:
            return (self,)
        other = replace(self.rejected, stopped_at=self.stopped_at, problem=self.problem)
        return replace(self, rejected=None), replace(other, evaluates=self.evaluates, late=self.late)

    @property
    def dropped(self) -> str | None:
        return self.labels.dropped if self.labels is not None else None

    @property
    def examples(self) -> tuple[Example, ...]:
        """What the trainer receives for the row: none where it is dropped, several where it is split or has sides."""
        own = () if self.example is None else (self.example, *self.more)
        return own if self.rejected is None else (*own, *self.rejected.examples)

    @property
    def trained(self) -> int:
        """Positions that carry loss in what the trainer receives."""
        return sum([example.trained for example in self.examples])

    @property
    def cut(self) -> int:
        """How many tokens are cut off; none of a row that is dropped."""
        if self.tokens is None or self.labels is None or self.labels.dropped is not None:
            return 0
        own = len(self.tokens) - sum([end - start for start, end in self.labels.kept])
        return own if self.rejected is None else own + self.rejected.cut

    @property
    def received(self) -> int | None:
        """How many tokens the trainer receives of the row; None where it receives nothing."""
        return None if self.example is None else sum([example.size for example in self.examples])


@value_class
class Batch:
    """A padded rectangle as the collator returns it; every row of one length.

    `position_ids` is None where the collator does not make them. `rows` are the dataset row
    numbers, in order; `lengths` their lengths before padding. `weights` are the loss weights along `labels`, 0 at
    padding; None for a trainer that has none. `documents` are set where the collator makes, in place of an attention
    mask along the ids, one of every position against every other: the number of the document at each position, which
    sees what is before it of its number; 0 sees nothing. `partners` is set for KTO: each row's prompt with the
    completion of another one, from which the KL term is estimated.
    """

    rows: tuple[int, ...]
    lengths: tuple[int, ...]
    input_ids: tuple[tuple[int, ...], ...]
    labels: tuple[tuple[int, ...], ...]
    attention_mask: tuple[tuple[int, ...], ...] | None
    position_ids: tuple[tuple[int, ...], ...] | None = None
    pad_side: str = "right"
    notes: tuple[str, ...] = ()
    weights: tuple[Runs[float], ...] | None = None
    documents: tuple[tuple[int, ...], ...] | None = None
    partners: Batch | None = None


@value_class
class Pack:
    """One packed sequence: the documents in it, by position in the packer's input.

    `documents` are (index, start, end): the half-open range of that example's tokens. `parts` is set where documents
    are named by dataset row: which of its row's examples each is, 0 where the trainer does not split rows. `seq_lens`
    are the lengths that the trainer stores with the pack, padding included; empty: those of the documents. `weights`
    are the loss weights along `labels`, 0 at padding; None for a trainer that has none. `follows` is the label behind
    the last token, where the trainer shifts labels before it packs and a row goes on in the next pack. `where` is set
    where documents are not end to end from the first position on: the range of positions of each.
    """

    documents: tuple[tuple[int, int, int], ...]
    input_ids: tuple[int, ...]
    labels: tuple[int, ...]
    position_ids: tuple[int, ...] | None = None
    attention_mask: tuple[int, ...] | None = None
    seq_lens: tuple[int, ...] = ()
    parts: tuple[int, ...] = ()
    weights: Runs[float] | None = None
    follows: int = IGNORE_INDEX
    where: Ranges = ()

    @property
    def places(self) -> Ranges:
        """The positions of each document in the pack, half open."""
        ends = [0, *accumulate(end - start for _, start, end in self.documents)]
        return self.where or tuple(pairwise(ends))

    def counted(self, ignore_index: int) -> tuple[int, ...]:
        """The labels, masked also where the weight is 0: what is not masked carries loss."""
        return counted(self.labels, self.weights, ignore_index)


SIDES = ("chosen", "rejected")
"""The names of the sides of a preference, in their order."""


DESIRABLE = "desirable"
"""Where `Conversation.extra` keeps whether an answer is wanted (KTO)."""


class PairFigures(NamedTuple):
    """Of a preference: how many tokens each side has, how many of them are trained, how many both begin with, and the
    margin in the data ("": none). `scored`: nothing is trained but a score at one token."""

    lengths: tuple[int, int]
    trained: tuple[int, int]
    shared: int
    margin: str = ""
    scored: bool = False


@value_class
class RowSummary:
    """One line of the row list; figures are None while not known.

    `tokens` and `trained` are what the trainer receives (of a row that it never gets: what there
    is of it); `cut` tokens were there before. `errors` and `warnings` count findings.
    `repaired`: a repair changes the row or leaves it out. `evaluates`: the trainer sets it aside for evaluation.
    `verdict` is what its findings come to, as `error` or `warning` and a few words; `strip` what is trained, over a few
    cells; `ends` of how many answers that are trained the end token is, too, and how many there are (None: not known).
    `pair` are the figures of a preference.
    """

    index: int
    preview: str
    tokens: int | None = None
    trained: int | None = None
    cut: int = 0
    dropped: str | None = None
    problem: str | None = None
    errors: int | None = None
    warnings: int | None = None
    repaired: bool = False
    evaluates: bool = False
    verdict: tuple[str, str] | None = None
    strip: str = ""
    ends: tuple[int, int] | None = None
    pair: PairFigures | None = None


@value_class
class RecipeChange:
    """One field of the recipe that differs: dotted `path`, the value before, the value after."""

    path: str
    before: Any
    after: Any


def counted(labels: tuple[int, ...], weights: Runs[float] | None, ignore_index: int) -> tuple[int, ...]:
    """Labels along some weights, masked also where the weight is 0; as they are where there are no weights."""
    if weights is None or 0.0 not in weights.values:
        return labels
    made: list[int] = []
    for start, end, weight in weights.runs():
        made += (ignore_index,) * (end - start) if weight == 0 else labels[start:end]
    return tuple(made)


def common_prefix(a: Sequence[object], b: Sequence[object]) -> int:
    """How many leading ids, or characters, two sequences share."""
    if type(a) is not type(b):
        a, b = tuple(a), tuple(b)
    n = min(len(a), len(b))
    if (a if len(a) == n else a[:n]) == (b if len(b) == n else b[:n]):
        return n
    low = 0
    while low < n:  # by halving
        middle = (low + n + 1) // 2
        low, n = (middle, n) if a[low:middle] == b[low:middle] else (low, middle - 1)
    return low
