"""The tokens of one row as parallel columns, ready to be drawn: what each cell says and means.

Built once per inspection (about 0.4 µs a token); every zoom reads from it. Where the trainer's
example differs from the labels before cutting (a forced last EOS, say), the example is shown,
because it is what is trained on.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from sftui.model import IGNORE_INDEX, NOWHERE, Inspection, Part, Reason, Tokens
from sftui.text import visible, visible_token
from sftui.views.cells import Role

TRAINED = "█"
MASKED = "░"
CUT = "✂"
UNKNOWN = "?"
END = "┊"
"""Loss glyphs. END: the last input, which has nothing left to predict."""

MASKED_LABEL = "·"


@dataclass(frozen=True, slots=True)
class TokenTable:
    """One entry per token of `Tokens`, cut ones included.

    `cells` are visible; `flow` is the same for the text zoom, where a token's stretch of rendered
    text may be longer than its surface. `labels` and `reasons` are None where the row stopped
    before them. `loss` and `loss_shifted` hold one glyph per token: does a label at this token
    count, and does the prediction made at this token count. `kept` are the ranges that reach the
    trainer; empty where the row is dropped or nothing is known.
    """

    ids: tuple[int, ...]
    cells: tuple[str, ...]
    flow: tuple[str, ...]
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

    def __len__(self) -> int:
        return len(self.ids)

    def is_kept(self, i: int) -> bool:
        return any(start <= i < end for start, end in self.kept)

    def follower(self, i: int) -> int | None:
        """The token that is predicted at kept token `i`; None at the last one."""
        for k, (start, end) in enumerate(self.kept):
            if start <= i < end:
                if i + 1 < end:
                    return i + 1
                return self.kept[k + 1][0] if k + 1 < len(self.kept) else None
        return None

    @property
    def first(self) -> int | None:
        """The first token that reaches the trainer."""
        return self.kept[0][0] if self.kept else None

    @property
    def last(self) -> int | None:
        """The last token that reaches the trainer."""
        return self.kept[-1][1] - 1 if self.kept else None

    def label_cell(self, i: int) -> str:
        """The label of token `i` as shown: an id, · where masked, ✂ where cut, ? where unknown."""
        glyph = self.loss[i]
        if glyph == TRAINED and self.labels is not None:
            return str(self.labels[i])
        return MASKED_LABEL if glyph == MASKED else glyph


def make_table(inspection: Inspection, *, ignore_index: int = IGNORE_INDEX) -> TokenTable | None:
    """The token table of an inspection; None where it has no tokens."""
    tokens = inspection.tokens
    if tokens is None:
        return None
    count = len(tokens)
    ids, labels, kept = _effective(inspection, count)
    loss = _loss(labels, kept, count, ignore_index)
    cells = _cells(tokens)
    return TokenTable(
        ids=ids,
        cells=cells,
        flow=_flow(inspection, cells),
        pieces=tokens.pieces,
        labels=labels,
        reasons=inspection.labels.reasons if inspection.labels is not None else None,
        parts=_part_names(inspection),
        messages=tokens.messages,
        roles=_roles(tokens, loss),
        loss=loss,
        loss_shifted=_shifted(loss, kept, known=labels is not None),
        kept=kept,
        ignore_index=ignore_index,
    )


def _effective(
    inspection: Inspection, count: int
) -> tuple[tuple[int, ...], tuple[int, ...] | None, tuple[tuple[int, int], ...]]:
    assert inspection.tokens is not None
    ids = inspection.tokens.input_ids
    if inspection.labels is None:
        return ids, None, ((0, count),) if count else ()
    labels = inspection.labels.labels
    kept = tuple((a, b) for a, b in inspection.labels.kept if a < b)
    example = inspection.example
    if example is None:
        return ids, labels, kept
    where = [i for a, b in kept for i in range(a, b)]
    drop = 1 if example.shifted else 0
    inputs, targets = where[: len(where) - drop], where[drop:]
    if len(example.input_ids) != len(inputs) or len(example.labels) != len(targets):
        return ids, labels, kept
    if tuple(map(ids.__getitem__, inputs)) != example.input_ids:
        changed = list(ids)
        for i, value in zip(inputs, example.input_ids):
            changed[i] = value
        ids = tuple(changed)
    if tuple(map(labels.__getitem__, targets)) != example.labels:
        changed = list(labels)
        for i, value in zip(targets, example.labels):
            changed[i] = value
        labels = tuple(changed)
    return ids, labels, kept


def _loss(
    labels: tuple[int, ...] | None, kept: tuple[tuple[int, int], ...], count: int, ignore: int
) -> str:
    if labels is None:
        return UNKNOWN * count
    inside: list[str] = []
    at = 0
    for start, end in kept:
        inside.append(CUT * (start - at))
        inside.extend(MASKED if label == ignore or label < 0 else TRAINED for label in labels[start:end])
        at = end
    inside.append(CUT * (count - at))
    return "".join(inside)


def _shifted(loss: str, kept: tuple[tuple[int, int], ...], *, known: bool) -> str:
    if not known:
        return loss
    out = list(loss)
    order = [i for start, end in kept for i in range(start, end)]
    for here, after in pairwise(order):
        out[here] = loss[after]
    if order:
        out[order[-1]] = END
    return "".join(out)


def _cells(tokens: Tokens) -> tuple[str, ...]:
    seen: dict[tuple[bytes, str], str] = {}
    cells = []
    for key in zip(tokens.surfaces, tokens.pieces):
        cell = seen.get(key)
        if cell is None:
            cell = seen[key] = visible_token(*key)
        cells.append(cell)
    return tuple(cells)


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
    count = len(cells)
    flow = list(cells)
    reached = 0
    for i, (start, end, surface) in enumerate(zip(starts, ends, tokens.surfaces)):
        if start == NOWHERE:
            continue
        stretch = text[start:end]
        shared = start < reached or (i + 1 < count and NOWHERE != starts[i + 1] < end)
        if not shared and not _is_surface(stretch, surface):
            flow[i] = visible_token(stretch.encode("utf-8", "surrogatepass"), tokens.pieces[i])
        if start > reached:
            flow[i] = visible(text[reached:start]) + flow[i]
        reached = max(reached, end)
    return tuple(flow)


def _is_surface(stretch: str, surface: bytes) -> bool:
    return stretch.encode("utf-8", "surrogatepass") == surface


def _part_names(inspection: Inspection) -> tuple[str, ...]:
    assert inspection.tokens is not None
    tokens = inspection.tokens
    messages = inspection.conversation.messages if inspection.conversation is not None else ()
    seen: dict[tuple[int, Part], str] = {}
    names = []
    for key in zip(tokens.messages, tokens.parts):
        name = seen.get(key)
        if name is None:
            message, part = key
            role = visible(messages[message].role) if 0 <= message < len(messages) else ""
            name = seen[key] = f"{role} {part.value}" if role else part.value
        names.append(name)
    return tuple(names)


_PART_ROLES = {Part.CONTENT: Role.MASKED}


def _roles(tokens: Tokens, loss: str) -> tuple[Role, ...]:
    roles = []
    for glyph, special, part in zip(loss, tokens.special, tokens.parts):
        if glyph == TRAINED:
            roles.append(Role.TRAINED)
        elif glyph == CUT:
            roles.append(Role.CUT)
        elif special:
            roles.append(Role.SPECIAL)
        else:
            roles.append(_PART_ROLES.get(part, Role.HEADER))
    return tuple(roles)


def message_starts(table: TokenTable) -> tuple[int, ...]:
    """The first token of each message, in order."""
    return tuple(
        i for i, (m, before) in enumerate(zip(table.messages, (NOWHERE, *table.messages)))
        if m != NOWHERE and m != before
    )


def loss_changes(loss: str) -> tuple[int, ...]:
    """The tokens at which the loss glyph differs from that of the token before."""
    return tuple(i for i in range(1, len(loss)) if loss[i] != loss[i - 1])


def runs(values: str, start: int, stop: int) -> Iterator[tuple[int, int, str]]:
    """Runs of one value in `values[start:stop]` as (from, to, value)."""
    at = start
    while at < stop:
        end = at + 1
        while end < stop and values[end] == values[at]:
            end += 1
        yield at, end, values[at]
        at = end


def before_or_at(positions: tuple[int, ...], token: int) -> int:
    """Index of the last of the sorted `positions` that is ≤ token; −1 where there is none."""
    return bisect_right(positions, token) - 1
