"""The tokens of one row as parallel columns, ready to be drawn: what each cell says and means.

Built once per inspection (about 0.4 µs a token); every zoom reads from it. Where the trainer's
example differs from the labels before cutting (a forced last EOS, say), the example is shown,
because it is what is trained on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import accumulate, chain, islice, pairwise
from typing import TYPE_CHECKING, Any, TypeVar

from sftui.model import IGNORE_INDEX, NOWHERE, Example, Inspection, Part, Reason, Tokens
from sftui.text import EMPTY, SPACE, visible, visible_token
from sftui.values import value_class
from sftui.views.cells import Role

if TYPE_CHECKING:
    from sftui.runs import Runs

    Effective = tuple[tuple[int, ...], tuple[int, ...] | None, Runs[float] | None, "Ranges", bool]

TRAINED = "█"
WEIGHTED = "▓"
MASKED = "░"
CUT = "✂"
UNKNOWN = "?"
END = "┊"
MIXED = "▒"
PAD = "╌"
BORDER = "│"
"""Loss glyphs. END: the last input, which has nothing left to predict. WEIGHTED: trained, with another weight than 1.
MIXED: trained tokens and others. PAD: padding. BORDER: a document of a pack ends."""
T = TypeVar("T")

LEARNT = TRAINED + WEIGHTED
"""The glyphs of what carries loss."""

MASKED_LABEL = "·"
LOSS_ROLES = {
    TRAINED: Role.TRAINED,
    WEIGHTED: Role.WEIGHTED,
    MIXED: Role.TRAINED,
    MASKED: Role.MASKED,
    CUT: Role.CUT,
    END: Role.GHOST,
    UNKNOWN: Role.DIM,
    PAD: Role.PAD,
    BORDER: Role.BORDER,
    " ": Role.PLAIN,
}


@value_class
class TokenTable:
    """One entry per token of `Tokens`, cut ones included.

    `cells` are visible; `tagged` is the same for the text zoom, where a token's stretch of rendered
    text may be longer than its surface, with control tokens as tags. `labels`
    and `reasons` are None where the row stopped
    before them. `loss` and `loss_shifted` hold one glyph per token: does a label at this token
    count, and does the prediction made at this token count. `kept` are the ranges that reach the
    trainer; empty where all is cut. `joined`: the ranges are one sequence to the trainer; where a
    trainer splits a long row (`Inspection.more`), each range is an example of its own. `dropped`:
    the trainer drops the whole row, and labels are what they would have been. `weights` are those in the loss, None
    where the trainer has none. `writers` are the roles of the messages that `messages` number.
    """

    ids: tuple[int, ...]
    cells: tuple[str, ...]
    pieces: tuple[str, ...]
    labels: tuple[int, ...] | None
    reasons: tuple[Reason, ...] | None
    parts: tuple[str, ...]
    messages: tuple[int, ...]
    roles: tuple[Role, ...]
    loss: str
    loss_shifted: str
    kept: tuple[tuple[int, int], ...]
    ignore_index: int = IGNORE_INDEX
    joined: bool = True
    dropped: bool = False
    weights: tuple[float, ...] | None = None
    writers: tuple[str, ...] = ()
    tagged: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.ids)

    def follower(self, i: int) -> int | None:
        """The token that is predicted at kept token `i`; None where nothing follows."""
        for k, (start, end) in enumerate(self.kept):
            if start <= i < end:
                if i + 1 < end:
                    return i + 1
                return self.kept[k + 1][0] if self.joined and k + 1 < len(self.kept) else None
        return None

    def predecessor(self, i: int) -> int | None:
        """The token at which kept token `i` is predicted; None where nothing precedes."""
        for k, (start, end) in enumerate(self.kept):
            if start <= i < end:
                if i > start:
                    return i - 1
                return self.kept[k - 1][1] - 1 if self.joined and k else None
        return None

    @property
    def first(self) -> int | None:
        """The first token that reaches the trainer."""
        return self.kept[0][0] if self.kept else None

    def writer(self, i: int) -> str:
        """The role of the message that token `i` belongs to; "" where it belongs to none."""
        message = self.messages[i] if i < len(self.messages) else NOWHERE
        return self.writers[message] if 0 <= message < len(self.writers) else ""

    def target_cell(self, i: int) -> str:
        """What the label of token `i` stands for: its own cell, unless the label is another id."""
        label = self.labels[i] if self.labels is not None else self.ids[i]
        if label == self.ids[i]:
            return self.cells[i]
        return self.cells[self.ids.index(label)] if label in self.ids else f"id {label}"

    def label_cell(self, i: int) -> str:
        """The label of token `i` as shown: an id, · where masked, ✂ where cut, ? where unknown.

        A weight of 0 leaves the label as it is.
        """
        glyph = self.loss[i]
        if self.labels is None or glyph not in (*LEARNT, MASKED):
            return glyph
        label = self.labels[i]
        return MASKED_LABEL if _masked(label, self.ignore_index) else str(label)

    def weight(self, i: int, shift: bool = False) -> float | None:
        """The weight of the label of token `i`, or (`shift`) of the one that is predicted at it; None where there is
        none."""
        at = self.follower(i) if shift and self.loss[i] != CUT else i
        return None if self.weights is None or at is None or self.loss[at] == CUT else self.weights[at]


def make_table(inspection: Inspection, *, ignore_index: int = IGNORE_INDEX, tags: bool = True) -> TokenTable | None:
    """The token table of an inspection; None where it has no tokens. Without `tags` running text has control tokens as
    the tokenizer writes them."""
    tokens = inspection.tokens
    if tokens is None:
        return None
    count = len(tokens)
    ids, labels, weights, kept, joined = _effective(inspection, tokens)
    loss = _loss(labels, kept, count, ignore_index)
    if weights is not None:
        loss = weighed(loss, weights)
    messages = inspection.conversation.messages if inspection.conversation is not None else ()
    writers = tuple(visible(message.role) for message in messages)
    cells = _of_each(zip(inspection.token_text.surfaces, inspection.token_text.pieces), visible_token)
    flow = _flow(inspection, cells)
    return TokenTable(
        ids=ids,
        cells=cells,
        tagged=tuple(map(_tagged, flow, inspection.token_text.special)) if tags else flow,
        pieces=inspection.token_text.pieces,
        labels=labels,
        reasons=tuple(inspection.labels.reasons) if inspection.labels is not None else None,
        parts=_of_each(zip(tokens.messages, tokens.parts), partial(_part_name, writers)),
        messages=tuple(tokens.messages),
        roles=_of_each(zip(loss, inspection.token_text.special, tokens.parts), _role),
        loss=loss,
        loss_shifted=_shifted(loss, kept, joined) if labels is not None else loss,
        kept=kept,
        ignore_index=ignore_index,
        joined=joined,
        dropped=inspection.dropped is not None,
        weights=tuple(weights) if weights is not None else None,
        writers=writers,
    )


Ranges = tuple[tuple[int, int], ...]


def _effective(inspection: Inspection, tokens: Tokens) -> Effective:
    """Ids, labels and weights as the trainer's examples have them, the kept ranges, and whether they join."""
    ids, count = tokens.input_ids, len(tokens)
    if inspection.labels is None:
        return ids, None, None, ((0, count),) if count else (), True
    from sftui.runs import as_runs

    labels, weights = inspection.labels.labels, inspection.labels.weights
    kept = tuple((a, b) for a, b in inspection.labels.kept if a < b)
    examples = inspection.examples
    split = _split(kept, examples) if len(examples) > 1 else None
    whole = [kept] if len(examples) == 1 else []
    for ranges, example in zip(whole if split is None else [(span,) for span in split], examples):
        drop = 1 if example.shifted else 0
        size = sum(b - a for a, b in ranges) - drop
        if len(example.input_ids) == size == len(example.labels):
            ids = _corrected(ids, ranges, example.input_ids, 0)
            labels = _corrected(labels, ranges, example.labels, drop)
        if weights is not None and example.weights is not None and len(example.weights) == size:
            weights = as_runs(_corrected(tuple(weights), ranges, tuple(example.weights), drop))
    return ids, labels, weights, kept if split is None else split, split is None


def _split(kept: Ranges, examples: tuple[Example, ...]) -> Ranges | None:
    """One range per example where they cut the kept tokens up in order, or each is one of them; else None."""
    sizes = [len(example.input_ids) + (1 if example.shifted else 0) for example in examples]
    if len(kept) != 1:
        return kept if kept and sizes == [end - start for start, end in kept] else None
    ends = tuple(accumulate(sizes, initial=kept[0][0]))
    return tuple(pairwise(ends)) if ends[-1] <= kept[0][1] else None


def _corrected(values: tuple[T, ...], kept: Ranges, given: tuple[T, ...], skip: int) -> tuple[T, ...]:
    """`values` with the kept ones, from the `skip`-th on, as the trainer's example gives them."""
    joined = tuple(chain.from_iterable(values[a:b] for a, b in kept))
    if joined[skip : skip + len(given)] == given:
        return values
    changed = list(values)
    where = [i for a, b in kept for i in range(a, b)]
    for i, value in zip(where[skip:], given):
        changed[i] = value
    return tuple(changed)


def _loss(labels: tuple[int, ...] | None, kept: Ranges, count: int, ignore: int) -> str:
    if labels is None:
        return UNKNOWN * count
    glyphs = [CUT] * count
    for start, end in kept:
        glyphs[start:end] = loss_glyphs(labels[start:end], ignore)
    return "".join(glyphs)


def loss_glyphs(labels: Sequence[int], ignore: int) -> str:
    """A glyph for each label, whether it is trained."""
    return "".join([MASKED if _masked(label, ignore) else TRAINED for label in labels])


def _masked(label: int, ignore: int) -> bool:
    return label < 0 or label == ignore


def weighed(loss: str, weights: Runs[float]) -> str:
    """The glyphs of labels with what weighs 0 masked, and what weighs neither 0 nor 1 distinguished."""
    others = {0.0: MASKED, 1.0: TRAINED}
    runs = [loss[a:b].replace(TRAINED, others.get(weight, WEIGHTED)) for a, b, weight in weights.runs()]
    return "".join(runs)


def _shifted(loss: str, kept: Ranges, joined: bool) -> str:
    """The loss glyph of the label that each token must predict; ┊ at a last input."""
    if joined:
        moved = "".join([loss[a:b] for a, b in kept])[1:] + END
    else:
        moved = "".join([loss[a + 1 : b] + END for a, b in kept])
    glyphs, rest = list(loss), iter(moved)
    for start, end in kept:
        glyphs[start:end] = islice(rest, end - start)
    return "".join(glyphs)


def _of_each(keys: Iterable[tuple[Any, ...]], make: Callable[..., T]) -> tuple[T, ...]:
    """What is made of each key, once for all that are alike."""
    seen: dict[tuple[Any, ...], T] = {}
    return tuple([seen[key] if key in seen else seen.setdefault(key, make(*key)) for key in keys])


_BLANKS = (EMPTY, SPACE, "▁")
"""Cells of a lone metaspace: T5's stands for the space before its neighbour, whose offsets it has."""


def _flow(inspection: Inspection, cells: tuple[str, ...]) -> tuple[str, ...]:
    """What the text zoom shows per token: its stretch of the rendered text, read by offsets.

    A special token may swallow the white space after it, and a normalizing tokenizer may stand
    for other text than its surface, so the rendered text is shown, never a decode. Tokens that
    share one character (byte tokens) show their bytes.
    """
    tokens, rendered = inspection.tokens, inspection.rendered
    if tokens is None or rendered is None:
        return cells
    text = rendered.text
    starts, ends = tokens.starts, tokens.ends
    surfaces, pieces = inspection.token_text.surfaces, inspection.token_text.pieces
    flow = list(cells)
    reached = 0
    for i, (start, end, surface, after) in enumerate(zip(starts, ends, surfaces, (*starts[1:], NOWHERE))):
        if start == NOWHERE:
            continue
        stretch = text[start:end].encode("utf-8", "surrogatepass")
        if stretch != surface and start >= reached and not start <= after < end:
            flow[i] = visible_token(stretch, pieces[i])
        if start > reached:
            gap = visible(text[reached:start]).replace(" ", SPACE)
            flow[i] = gap if start == after and flow[i] in _BLANKS else gap + flow[i]
        if end > reached:
            reached = end
    return tuple(flow)


TAG = "⟨⟩"
"""Stand around the name of a control token in running text; the same characters in a text stand as they are."""
_CONTROL = re.compile(r"(?P<before>␣*)[<\[](?P<bar>[|\uff5c]?)(?P<name>[^<>\[\]]+?)(?P=bar)[>\]](?P<after>[␣⏎⇥]*)")


def _tagged(cell: str, special: bool) -> str:
    """A control token as a small tag."""
    found = _CONTROL.fullmatch(cell) if special else None
    if found is None:
        return f"{TAG[0]}{cell}{TAG[1]}" if special and cell.strip("␣⏎⇥") else cell
    return f"{found['before']}{TAG[0]}{found['name']}{TAG[1]}{found['after']}"


def _part_name(writers: tuple[str, ...], message: int, part: Part) -> str:
    role = writers[message] if 0 <= message < len(writers) else ""
    return f"{role} {part.value}" if role else part.value


def _role(glyph: str, special: bool, part: Part) -> Role:
    if glyph in (TRAINED, WEIGHTED, CUT):
        return LOSS_ROLES[glyph]
    if special:
        return Role.SPECIAL
    return Role.PLAIN if part is Part.CONTENT else Role.HEADER


def message_starts(table: TokenTable) -> tuple[int, ...]:
    """The first token of each message, in order."""
    return tuple(
        i
        for i, (m, before) in enumerate(zip(table.messages, (NOWHERE, *table.messages)))
        if m != NOWHERE and m != before
    )


_RUN = re.compile(r"(.)\1*")


def loss_changes(table: TokenTable, shift: bool) -> tuple[int, ...]:
    """The tokens at which the loss glyph, or the weight, differs from that of the token before."""
    loss, weights = table.loss_shifted if shift else table.loss, table.weights
    found = [run.start() for run in _RUN.finditer(loss)][1:]
    if weights is None or WEIGHTED not in loss:
        return tuple(found)
    step = 1 if shift else 0
    borders = [i - step for i, (one, other) in enumerate(pairwise(weights), 1) if one != other]
    borders += [end - 1 for _, end in table.kept]  # what is predicted there may stand behind a gap
    return tuple(sorted({*found, *(i for i in borders if i > 0 and other_weight(table, i, loss, shift))}))


def other_weight(table: TokenTable, i: int, loss: str, shift: bool) -> bool:
    """Whether token `i` and the one before it are both trained, with weights that are not the same."""
    return loss[i] == loss[i - 1] == WEIGHTED and weight_cell(table, i, shift) != weight_cell(table, i - 1, shift)


def weight_cell(table: TokenTable, i: int, shift: bool) -> str:
    """The weight of a token as shown: nothing where it has none, or its label is masked and weighs nothing."""
    weight = table.weight(i, shift)
    at = table.follower(i) if shift else i
    masked = at is None or table.labels is None or _masked(table.labels[at], table.ignore_index)
    return "" if weight is None or (weight == 0 and masked) else f"{weight:g}"


def weighted_tokens(example: Example) -> int:
    """How many tokens are trained with another weight than 1."""
    if example.weights is None:
        return 0
    runs = [(start, end) for start, end, weight in example.weights.runs() if weight not in (0, 1)]
    return sum(end - start - example.labels[start:end].count(example.ignore_index) for start, end in runs)
