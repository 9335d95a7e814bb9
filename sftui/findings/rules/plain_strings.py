"""Strings that a trainer takes as they are, past the chat template of the tokenizer, or behind it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sftui.findings.checks import Fault, of_kind, setup_check
from sftui.findings.context import Context
from sftui.findings.look import shown
from sftui.findings.model import Consequence
from sftui.findings.rule import case, major, minor
from sftui.model import Conversation, Inspection, Kind

_PAIR = {"prompt": "What is 0 + 3?", "completion": "It is 3."}

TPL023 = minor(
    "strings-bypass-template",
    "prompt and completion are joined without the chat template",
    "The trainer concatenates the strings with nothing between them. A chat model is prompted through its template, so"
    " it is served a different format from its training text; for a base model that completes text, this is right.",
    data="store prompt and completion as lists of messages, which the trainer renders with the template",
    bad=case(_PAIR, preset="trl@1.16"),
    good=case(
        {"prompt": "<|im_start|>user\nWhat is 0 + 3?<|im_end|>\n<|im_start|>assistant\n", "completion": "3<|im_end|>"},
        preset="trl@1.16",
    ),
)


@setup_check(TPL023)
def bypassed(context: Context, sample: Sequence[Inspection]) -> Iterator[Fault]:
    """TPL023: no control token of the template but those that begin and end any text stands in the strings."""
    rows = [row for row in of_kind(sample, Kind.STRINGS) if _as_they_are(row)]
    if not rows or context.plain is None or not context.facts.chat_templates:
        return
    tokenizer, facts = context.tools.tokenizer, context.facts
    around = {facts.bos_id, facts.eos_id}
    used = {one for one in tokenizer.encode(context.plain).ids if tokenizer.is_special(one)} - around
    pieces = [tokenizer.piece(one) for one in used]
    pairs = [row.conversation for row in rows if row.conversation is not None]
    if pieces and not any(piece in text for pair in pairs for text in _strings(pair) for piece in pieces):
        prompt, completion = _strings(pairs[0])
        title = context.traits.title
        what = f"{title} joins prompt and completion as they are, without the tokenizer's chat template"
        yield Fault(what, shown(prompt[-30:] + completion[:30]), of=rows)


def _strings(pair: Conversation) -> tuple[str, str]:
    return pair.prompt or "", pair.completion or ""


def _as_they_are(row: Inspection) -> bool:
    """Whether the row holds what is asked so, without a format of the trainer's around it (Alpaca's)."""
    return row.conversation is not None and row.conversation.prompt in (row.row.data or {}).values()


_HEADED = "<|im_start|>user\nWhere?<|im_end|>\n<|im_start|>assistant\n"

TPL025 = major(
    "answer-header-left-over",
    "a text ends with an answer header, or an answer begins with a second one",
    "Text rendered with add_generation_prompt=True ends with the header of an answer that never comes, or a"
    " completion repeats the header that its prompt ends with. The model learns to say nothing, or to write the"
    " header.",
    data="render training texts without the generation prompt, and completions without the header",
    leads_to=Consequence.GARBLED,
    bad=case({"text": f"{_HEADED}Here.<|im_end|>\n<|im_start|>assistant\n"}, preset="trl@1.16"),
    good=case({"text": f"{_HEADED}Here.<|im_end|>\n"}, preset="trl@1.16"),
    more=(case({"prompt": _HEADED, "completion": "<|im_start|>assistant\nHere.<|im_end|>"}, preset="trl@1.16"),),
)


@setup_check(TPL025)
def headers_left(context: Context, sample: Sequence[Inspection]) -> Iterator[Fault]:
    """TPL025: texts that end with what the template opens an answer with, and completions that begin with it anew."""
    head = context.header
    texts = of_kind(sample, Kind.TEXT, lambda said: head and (said.text or "").rstrip().endswith(head))
    pairs = of_kind(sample, Kind.STRINGS, lambda said: head and _opened_twice(*_strings(said), head))
    for rows, what in (
        (texts, "in {} of {} rows checked, the text ends with {}, the header of an answer that never comes"),
        (pairs, "in {} of {} rows checked, the completion begins with {}, but its prompt already ends with it"),
    ):
        if rows:
            yield Fault(what.format(len(rows), len(sample), shown(head)), shown(head), of=rows)


def _opened_twice(prompt: str, completion: str, head: str) -> bool:
    return prompt.rstrip().endswith(head) and completion.lstrip().startswith(head)
