"""Inspections built by hand: a test says only what differs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sftui.labels import weights_within
from sftui.model import (
    IGNORE_INDEX,
    Batch,
    Boundary,
    Conversation,
    Example,
    Inspection,
    Kind,
    Labels,
    Message,
    Pack,
    Part,
    Problem,
    Reason,
    RenderedText,
    Row,
    Span,
    Stage,
    Tokens,
    TokenText,
    common_prefix,
)
from sftui.runs import flat, joined, labelled

H, C, T, S, B = Part.HEADER, Part.CONTENT, Part.TERMINATOR, Part.SEPARATOR, Part.BOS

CHAT = [
    ("<bos>", -1, B, 0),
    ("<start_of_turn>", 0, H, 0),
    ("user", 0, H, 0),
    ("\n", 0, H, 0),
    ("What", 0, C, 0),
    (" colour", 0, C, 0),
    (" is", 0, C, 0),
    (" the", 0, C, 0),
    (" sky", 0, C, 0),
    ("?", 0, C, 0),
    ("<end_of_turn>", 0, T, 0),
    ("\n", 0, S, 0),
    ("<start_of_turn>", 1, H, 0),
    ("model", 1, H, 0),
    ("\n", 1, H, 0),
    ("Blue", 1, C, 1),
    (",", 1, C, 1),
    (" most", 1, C, 1),
    (" days", 1, C, 1),
    (".", 1, C, 1),
    ("<end_of_turn>", 1, T, 1),
    ("\n", 1, S, 1),
]
REASONS = {H: Reason.PROMPT, C: Reason.PROMPT, T: Reason.PROMPT, S: Reason.PROMPT, B: Reason.PROMPT}


def tokens_of(texts: Sequence[tuple[str, int, Part, int]]) -> tuple[Tokens, str]:
    text = "".join(t for t, *_ in texts)
    starts, ends, at = [], [], 0
    for t, *_ in texts:
        starts.append(at)
        at += len(t)
        ends.append(at)
    ids: dict[str, int] = {}
    for t, *_ in texts:
        ids.setdefault(t, 100 + 37 * len(ids))
    tokens = Tokens(
        ids=flat([ids[t] for t, *_ in texts]),
        starts=tuple(starts),
        ends=tuple(ends),
        messages=tuple(m for _, m, *_ in texts),
        parts=tuple(p for _, _, p, _ in texts),
    )
    return tokens, text


def inspection(
    texts: Sequence[tuple[str, int, Part, int]] = CHAT,
    *,
    kept: tuple[tuple[int, int], ...] | None = None,
    shifted: bool = False,
    dropped: str | None = None,
    provisional: bool = False,
    prompt: Sequence[str] | None = None,
) -> Inspection:
    """A row of (text, message, part, trained) tokens, inspected."""
    tokens, text = tokens_of(texts)
    count = len(texts)
    kept = ((0, count),) if kept is None else kept
    labels = tuple(i if t[3] else IGNORE_INDEX for i, t in zip(tokens.input_ids, texts))
    inside = [any(a <= i < b for a, b in kept) for i in range(count)]
    reasons = tuple(
        Reason.TRUNCATED if not keep else Reason.COMPLETION if t[3] else REASONS[t[2]] for keep, t in zip(inside, texts)
    )
    ids = tuple(i for i, keep in zip(tokens.input_ids, inside) if keep)
    kept_labels = tuple(i for i, keep in zip(labels, inside) if keep)
    if shifted:
        ids, kept_labels = ids[:-1], kept_labels[1:]
    boundary = None
    if prompt is not None:
        known = dict(zip((t for t, *_ in texts), tokens.input_ids))
        prompt_ids = tuple(known.get(p, 9000 + k) for k, p in enumerate(prompt))
        tokens = replace(tokens, prompt=flat(prompt_ids))
        boundary = Boundary(len(prompt_ids), common_prefix(prompt_ids, tokens.input_ids))
    return Inspection(
        row=Row(17, {"messages": []}, '{"messages": []}', "train.jsonl:18", 16),
        conversation=chat(),
        rendered=RenderedText(text, (Span(0, len(text), 0, Part.CONTENT),)),
        tokens=tokens,
        token_text=TokenText(
            tuple(t.replace(" ", "▁") for t, *_ in texts),
            tuple(t.encode("utf-8", "surrogatepass") for t, *_ in texts),
            tuple(t.startswith("<") and t.endswith(">") for t, *_ in texts),
        ),
        prompt_text=TokenText(tuple(prompt or ()), tuple(p.encode() for p in prompt or ())),
        labels=Labels(labels, labelled(labels), reasons, kept, dropped),
        example=None if dropped else Example(ids, kept_labels, (1,) * len(ids), shifted),
        boundary=boundary,
        provisional=provisional,
    )


def chat() -> Conversation:
    return Conversation(
        Kind.CHAT,
        "messages",
        (
            Message({"role": "user", "content": "What colour is the sky?"}, "messages[0]"),
            Message({"role": "assistant", "content": "Blue, most days."}, "messages[1]"),
        ),
    )


def stopped(stage: Stage) -> Inspection:
    """A row that stopped at `stage`, with the stages before it."""
    whole = inspection()
    order = list(Stage)
    reached = order.index(stage)
    fields = {"conversation": 1, "rendered": 2, "tokens": 3, "labels": 4, "token_text": 3, "prompt_text": 3}
    row = whole.row if reached else Row(17, None, "{broken", "train.jsonl:18", 7, "not valid JSON")
    return Inspection(
        row=row,
        stopped_at=stage,
        problem=Problem("the row cannot be used", "it is broken", "mend it"),
        **{name: getattr(whole, name) for name, rank in fields.items() if rank < reached},
    )


def weighted(weight: float = 0.3, second: float = -1.5, kept: tuple[tuple[int, int], ...] | None = None) -> Inspection:
    """The row with weights: of its seven trained tokens two weigh 1, three the one and two the other."""
    made = inspection(kept=kept)
    assert made.labels is not None and made.example is not None
    count = len(made.labels.labels)
    weights = joined([(15, 0.0), (2, 1.0), (3, weight), (count - 20, second)])
    return replace(
        made,
        labels=replace(made.labels, weights=weights),
        example=replace(made.example, weights=weights_within(made.labels.kept, weights)),
    )


def long_row(count: int) -> Inspection:
    words = (" the", " cat", "s", " sat", ",", " unbelievably", "\n", " 42", "中", "<end_of_turn>")
    texts = [(words[i * 7 % 10], 0 if i < count // 3 else 1, C, int(i > count // 3)) for i in range(count)]
    return inspection(texts)


HOSTILE = [
    ("<bos>", -1, B, 0),
    ("\x1b[0mpwned\x07", 0, C, 0),
    (" \u202edesrever", 0, C, 0),
    ("中文", 0, C, 0),
    ("\t", 0, C, 0),
    ("[/INST]", 0, C, 0),
    ("👨\u200d👩", 1, C, 1),
    (" ❤\ufe0f", 1, C, 1),
    ("क्षि", 1, C, 1),
    ("\ud800", 1, C, 1),
    (" averyveryverylongtokenthatgoeson", 1, C, 1),
    ("\n\n", 1, S, 1),
]


def hostile_chat() -> Inspection:
    return inspection(HOSTILE)


def tool_chat() -> Inspection:
    """A row with tools, tool calls, content parts, a flag and an escape sequence."""
    call = {"type": "function", "function": {"name": "weather", "arguments": {"city": "İzmir"}}}
    messages = (
        Message(
            {"role": "user", "content": "Weather?\nIn \x1b[31mİzmir, please: " + "a long line " * 12}, "messages[0]"
        ),
        Message({"role": "assistant", "content": None, "tool_calls": [call]}, "messages[1]", trained=True),
        Message(
            {"role": "tool", "content": [{"type": "text", "text": "21°"}], "name": "weather"}, "messages[2]", weight=0.5
        ),
    )
    data = {"messages": [dict(m.data) for m in messages]}
    return Inspection(
        row=Row(3, data, "", "tools.jsonl:4", 900),
        conversation=Conversation(
            Kind.CHAT, "messages", messages, tools=[{"name": "weather"}], notes=("one tool is not declared",)
        ),
        stopped_at=Stage.RENDERED,
        problem=Problem("the chat template raised", "it knows no tool role", "choose another template"),
    )


def padded(side: str = "right") -> Batch:
    """Three rows of 22, 10 and 150 tokens."""
    lengths = (22, 10, 150)
    width = 152
    ids, labels, masks = [], [], []
    for size in lengths:
        real = (IGNORE_INDEX,) * (size * 2 // 3) + (5,) * (size - size * 2 // 3)
        pad = width - size
        parts = (((0,) * pad, (1,) * size), ((IGNORE_INDEX,) * pad, real))
        if side == "right":
            parts = (((1,) * size, (0,) * pad), (real, (IGNORE_INDEX,) * pad))
        masks.append(sum(parts[0], ()))
        labels.append(sum(parts[1], ()))
        ids.append((7,) * width)
    return Batch((17, 18, 1900), lengths, tuple(ids), tuple(labels), tuple(masks), None, side)


def weighted_batch() -> Batch:
    """The batch with a weight for the trained end of the second row and zeros for that of the third."""
    made = padded()
    rows = [[(22, 1.0), (130, 0.0)], [(6, 0.0), (2, 0.5), (2, 1.0), (142, 0.0)], [(100, 0.0), (20, 2.0), (32, 0.0)]]
    return replace(made, weights=tuple(joined(row) for row in rows))


def packed() -> Pack:
    masked, trained = (IGNORE_INDEX,), (5,)
    labels = masked * 15 + trained * 7 + masked * 20 + trained * 18 + masked * 68
    positions = (*range(22), *range(38), *range(39), *range(29))
    return Pack(((0, 0, 22), (3, 22, 60), (1, 60, 99)), (1,) * 128, labels, positions)
