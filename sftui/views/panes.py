"""Conversation, rendered text and raw row, as wrapped lines; each block is capped and says so."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from sftui.model import Conversation, Inspection, Kind, Message, Part, RenderedText, Row
from sftui.text import many, visible, visible_blanks
from sftui.views.cells import Line, LineBuilder, Role, line, text_lines, warned, wrap, writer
from sftui.views.status import stop_lines
from sftui.views.table import LEARNT, MASKED, TRAINED, TokenTable, make_table

BLOCK_LIMIT = 20_000
"""Characters shown of one block (a message, a column)."""
PANE_LIMIT = 60_000
"""Characters shown of the rendered text or of a raw row."""

PART_ROLES = {
    Part.BOS: Role.SPECIAL,
    Part.HEADER: Role.HEADER,
    Part.CONTENT: Role.PLAIN,
    Part.TERMINATOR: Role.SPECIAL,
    Part.SEPARATOR: Role.DIM,
    Part.INJECTED: Role.CHANGED,
    Part.PAD: Role.PAD,
}


def conversation_lines(inspection: Inspection, width: int) -> tuple[Line, ...]:
    """The messages (or prompt and completion, or text) with role, origin and what is trained."""
    lines = list(stop_lines(inspection, width))
    conversation = inspection.conversation
    if conversation is None:
        return tuple(lines) or wrap(line(("no conversation", Role.DIM)), width)
    for note in conversation.notes:
        lines += warned(note, width)
    lines += wrap(line((f"{visible(conversation.format)} · {_shape(conversation)}", Role.DIM)), width)
    trained = _trained_by_message(make_table(inspection))
    for i, message in enumerate(conversation.messages):
        lines.append(())
        lines += _message_lines(i, message, trained.get(i), width)
    blocks = [(title, _written(text, width)) for title, text in _plain_columns(conversation)]
    for title, value in (("tools", conversation.tools), ("template kwargs", dict(conversation.template_kwargs))):
        blocks += [(title, _block(_json(value), width, Role.VALUE))] if value else []
    for title, block in blocks:
        lines += [(), *wrap(line((title, Role.TITLE)), width), *block]
    return tuple(lines)


def rendered_lines(inspection: Inspection, width: int) -> tuple[Line, ...]:
    """The rendered text, every character visible, coloured by part, its own lines kept."""
    lines = list(stop_lines(inspection, width))
    rendered = inspection.rendered
    if rendered is None:
        return tuple(lines) or wrap(line(("not rendered", Role.DIM)), width)
    for note in rendered.notes if rendered.exact else (*rendered.notes, "message boundaries are approximate here"):
        lines += warned(note, width)
    builder = LineBuilder()
    for text, role in _stretches(rendered):
        shown = visible(text, newline="⏎\n").replace(" ", "␣")
        first, *rest = shown.split("\n")
        builder.add(first, role)
        for part in rest:
            lines += wrap(builder.line(), width)
            builder = LineBuilder().add(part, role)
    lines += wrap(builder.line(), width)
    return (*lines, *_more(len(rendered.text), PANE_LIMIT, width))


def raw_lines(row: Row, width: int) -> tuple[Line, ...]:
    """The row as stored: pretty JSON where it could be read, else its text as it is."""
    head = list(wrap(line((f"{visible(row.where)} · {row.size:,} bytes", Role.DIM)), width))
    if row.problem:
        head += wrap(line((f"✗ {visible(row.problem)}", Role.ERROR)), width)
    if row.left_out is not None:
        left = f"* a repair drops this row, because {visible(row.left_out)}; the file still has it"
        head += wrap(line((left, Role.CHANGED)), width)
    elif row.skipped is not None:
        head += warned(f"! not repaired: {row.skipped}", width)
    elif row.repairs:
        head += wrap(line(("* as repaired; the file still has the original", Role.CHANGED)), width)
        for text in row.repairs:
            head += wrap(line((f"  {visible(text)}", Role.DIM)), width, "    ")
    if row.data is not None and row.size <= PANE_LIMIT * 4:
        return (*head, *_block(_json(dict(row.data)), width, limit=PANE_LIMIT))
    return (*head, *_block(row.raw, width, limit=PANE_LIMIT, size=max(row.size, len(row.raw))))


def _shape(conversation: Conversation) -> str:
    if conversation.kind is Kind.CHAT:
        return many(len(conversation.messages), "message")
    if conversation.kind is Kind.TOKENS:
        return f"{len(conversation.input_ids):,} ids given in the data"
    return str(conversation.kind.value)


def _message_lines(i: int, message: Message, counts: tuple[int, int] | None, width: int) -> Iterator[Line]:
    role = visible(message.role) or "(no role)"
    facts = [""]
    if message.origin:
        facts.append(visible(message.origin))
    if counts is not None:
        trained, total = counts
        facts.append(f"{TRAINED} {trained} of {total} tokens trained" if trained else f"{MASKED} not trained")
    if message.trained is not None:
        facts.append(f"flagged {'trained' if message.trained else 'not trained'} in the data")
    if message.weight is not None:
        facts.append(f"weight {message.weight:g}")
    head = line((f"{i} {role}", writer(role, Role.TITLE)), (" · ".join(facts), Role.TITLE))
    yield from wrap(head, width)
    content = message.content
    if isinstance(content, str):
        yield from _written(content, width)
    elif content is not None:
        yield from _block(_json(content), width, Role.VALUE)
    for key, value in message.data.items():
        if key in ("role", "content") or value is None:
            continue
        yield from wrap(line((f"{visible(str(key))}:", Role.KEY)), width)
        written = isinstance(value, str)
        yield from _written(value, width, Role.VALUE) if written else _block(_json(value), width, Role.VALUE)


def _plain_columns(conversation: Conversation) -> Iterator[tuple[str, str]]:
    if conversation.kind is Kind.STRINGS:
        yield "prompt", conversation.prompt or ""
        yield "completion", conversation.completion or ""
    elif conversation.kind is Kind.TEXT:
        yield "text", conversation.text or ""
    elif conversation.kind is Kind.TOKENS:
        yield "input_ids", " ".join(map(str, conversation.input_ids))
        if conversation.labels is not None:
            yield "labels", " ".join(map(str, conversation.labels))


def _trained_by_message(table: TokenTable | None) -> dict[int, tuple[int, int]]:
    if table is None or table.labels is None:
        return {}
    trained = Counter(message for message, glyph in zip(table.messages, table.loss) if glyph in LEARNT)
    return {message: (trained[message], total) for message, total in Counter(table.messages).items()}


def _stretches(rendered: RenderedText) -> Iterator[tuple[str, Role]]:
    at = 0
    for span in rendered.spans:
        if at >= PANE_LIMIT:
            return
        if span.start > at:
            yield rendered.text[at : min(span.start, PANE_LIMIT)], Role.PLAIN
        yield rendered.text[max(span.start, at) : min(span.end, PANE_LIMIT)], PART_ROLES[span.part]
        at = max(span.end, at)
    yield rendered.text[at:PANE_LIMIT], Role.PLAIN


def _written(text: str, width: int, role: Role = Role.PLAIN) -> Iterator[Line]:
    """What somebody wrote, with the white space that is easily missed made visible."""
    yield from text_lines(visible_blanks(text[:BLOCK_LIMIT]), width, role)
    yield from _more(len(text), BLOCK_LIMIT, width)


def _block(
    text: str, width: int, role: Role = Role.PLAIN, *, limit: int = BLOCK_LIMIT, size: int | None = None
) -> Iterator[Line]:
    yield from text_lines(visible(text[:limit], newline="\n"), width, role)
    yield from _more(size if size is not None else len(text), limit, width)


def _more(size: int, limit: int, width: int) -> tuple[Line, ...]:
    return wrap(line((f"… {size - limit:,} more characters", Role.DIM)), width) if size > limit else ()


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)
