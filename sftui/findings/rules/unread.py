"""What the data says and nobody reads: columns that look like a part of the conversation, messages that no text has."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sftui.conversations.messages import parse_json, part_kind
from sftui.conversations.refusals import MEDIA_COLUMNS
from sftui.findings.checks import Fault, chats, setup_check
from sftui.findings.context import FIRST_ANSWER, Context
from sftui.findings.look import shown
from sftui.findings.model import Consequence
from sftui.findings.rule import GOOD, TOOL, case, chat, chatml, major
from sftui.findings.words import REASONING, text_of
from sftui.model import Conversation, Inspection
from sftui.text import many
from sftui.trainers.traits import MessageKind

ANSWERS = (
    *("answer", "answers", "response", "output", "completion", "solution", "target", "generation", "reply"),
    *("positive", "positives", "chosen"),
)
"""Words in the names of columns that hold an answer, or those of a reranker and of preference pairs."""
THOUGHTS = (*REASONING, "thought", "thoughts", "rationale", "cot", "chain_of_thought")
"""Those of columns that hold its reasoning."""
INSTRUCTING = ("system", "developer")
PICTURES = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff")

ASKED = ({"role": "user", "content": "What?"}, {"role": "assistant", "content": "Wait."})
OBSERVED = chat("hi", "Wait.", ("environment", "4 °C"), ("assistant", "It is cold."))

CON015 = major(
    "column-unread",
    "a column that the trainer does not read looks like part of the conversation",
    "The answer, its reasoning, the system prompt, the tools or the images are in a column that the trainer"
    " does not read, so the model never sees them.",
    data="move it into the messages, or rename the column to one that the trainer reads",
    leads_to=Consequence.LOST,
    bad=case({**chat("What is the capital of France?"), "answer": "Paris.", "reasoning": "It is in Europe."}),
    more=(
        case({**GOOD, "tool_defs": [TOOL]}),
        case({**GOOD, "functions": json.dumps([TOOL])}),
        case({**chat("<image>What is it?", "A cat."), "imgs": ["cat.png"]}),
    ),
)


@setup_check(CON015)
def unread_columns(context: Context, sample: Sequence[Inspection]) -> Iterator[Fault]:
    """CON015: columns of answers where no message is one, of system texts, reasoning and tools where there are none, of
    images that are named."""
    title, read, answering = context.traits.title, set(context.detected.fields.values()), context.traits.answering
    silent = [row for row in chats(sample) if answering.isdisjoint(_roles(row))]
    for some, looks, what in (
        (silent, _is_answer, "no message is an answer, and {title} does not read {names}, which may contain one"),
        (
            chats(sample, lambda said: not any(message.role in INSTRUCTING for message in said.messages)),
            _is_system,
            "{title} does not read the system prompt in {names}",
        ),
        (chats(sample, _thinks_nowhere), _is_thought, "{title} does not read the reasoning in {names}"),
        (
            chats(sample, lambda said: not said.tools),
            _is_tools,
            "{title} does not read the tool definitions in {names}",
        ),
        (
            chats(sample, _names_images),
            _is_pictures,
            "messages refer to images, but {title} does not read those in {names}",
        ),
    ):
        columns = [
            (row, name) for row in some for name, value in _columns(row) if name not in read and looks(name, value)
        ]
        if columns:
            names = " and ".join(f"`{shown(name, 30)}`" for name in dict.fromkeys(name for _, name in columns))
            found = list({id(row): row for row, _ in columns}.values())
            of = "" if len(found) == len(sample) else f" ({many(len(found), 'row')} of {len(sample)} checked)"
            named = f"convert the rows to messages with `sftui convert --field system={shown(columns[0][1], 30)}`"
            advice = named if looks is _is_system else ""
            yield Fault(what.format(names=names, title=title) + of, names, of=found, title=advice)


def _roles(row: Inspection) -> Sequence[str]:
    return [message.role for message in row.conversation.messages] if row.conversation is not None else ()


def _columns(row: Inspection) -> Iterator[tuple[str, Any]]:
    data = row.row.data or {}
    return ((str(name), value) for name, value in data.items() if value not in (None, "", [], {}))


def _is_answer(name: str, value: Any) -> bool:
    first = value[0] if isinstance(value, (list, tuple)) and value else value
    return isinstance(first, str) and not {name.lower(), *name.lower().split("_")}.isdisjoint((*ANSWERS, *THOUGHTS))


def _is_system(name: str, value: Any) -> bool:
    return isinstance(value, str) and name.lower() in ("system", "system_prompt", "system_message")


def _is_thought(name: str, value: Any) -> bool:
    """More than a word: one may say how hard a model was to think."""
    return isinstance(value, str) and name.lower() in THOUGHTS and " " in value.strip()


def _thinks_nowhere(conversation: Conversation) -> bool:
    answers = [message for message in conversation.messages if message.role == "assistant"]
    kept = (not answer.data.keys().isdisjoint(REASONING) or "</think>" in text_of(answer) for answer in answers)
    return bool(answers) and not any(kept)


def _is_tools(name: str, value: Any) -> bool:
    if isinstance(value, str) and value.lstrip().startswith("[") and '"parameters"' in value:
        value = parse_json(value)
    entries = value if isinstance(value, (list, tuple)) else ()
    return bool(entries) and all(
        isinstance(entry, Mapping) and isinstance(one := entry.get("function", entry), Mapping) and "parameters" in one
        for entry in entries
    )


def _is_pictures(name: str, value: Any) -> bool:
    if name in MEDIA_COLUMNS:
        return False
    first = value[0] if isinstance(value, (list, tuple)) and value else value
    if isinstance(first, Mapping):
        return bool({"bytes", "path"} & set(first))
    return isinstance(first, str) and first.lower().endswith(PICTURES)


def _names_images(conversation: Conversation) -> bool:
    contents = [message.content for message in conversation.messages]
    parts = [part for content in contents if isinstance(content, (list, tuple)) for part in content]
    typed = (part_kind(part) in ("image", "image_url") for part in parts)
    return any(typed) or any("<image>" in content for content in contents if isinstance(content, str))


_DEAF = "{% set messages = messages | rejectattr('role', 'eq', 'environment') | list %}"

TPL022 = major(
    "role-unwritten",
    "the template leaves out the messages of one role",
    "The template has no branch for the role, so the model is trained on a conversation with a gap.",
    data="use a template that renders the role, or rename the role in the data",
    leads_to=Consequence.LOST,
    bad=case(OBSERVED, template=chatml(before=_DEAF)),
    good=case(OBSERVED, template=chatml()),
)


@setup_check(TPL022)
def unwritten_roles(context: Context, sample: Sequence[Inspection]) -> Iterator[Fault]:
    """TPL022: roles of tool results (TOO002 in each row) of which the template writes no message, tried on one."""
    rows, kind_of = chats(sample), context.traits.kind_of
    for role in dict.fromkeys(role for row in rows for role in _roles(row) if kind_of(role) is MessageKind.RESULT):
        text = context.render([*ASKED, {"role": role, "content": FIRST_ANSWER}, ASKED[1]])
        if text is not None and FIRST_ANSWER not in text:
            found = [row for row in rows if role in _roles(row)]
            yield Fault(
                f"the template does not render messages with the role `{shown(role, 30)}`", shown(role, 30), of=found
            )
