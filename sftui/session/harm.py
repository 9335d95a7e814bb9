"""What a change must not do to a row: that it is lost, that less of an answer is trained, or more of what is none.

Repairs that would do harm are refused, tried on the first rows together as they are chosen: one that does harm alone
may do none with another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence

from sftui.conversations.messages import KNOWN_ROLES, switches
from sftui.errors import RecipeError, SftuiError
from sftui.findings.rule import TO_MESSAGES
from sftui.model import Inspection, Kind, Message, Part, Reason
from sftui.places import value_at
from sftui.repairs.run import DROPPING, REPAIRS
from sftui.runs import overlap
from sftui.session.opened import HEAVY, OpenData
from sftui.session.ready import under
from sftui.text import clip
from sftui.trainers import trainer_of, traits_of

KINDS = (Kind.TOKENS, Kind.CHAT, Kind.STRINGS, Kind.TEXT)
"""Kinds of conversations, those first of which most is known."""
SAYING = ("content", "tool_calls", "function_call", "reasoning_content", "thinking")
"""Keys of a message that hold what it says or calls."""
JOINING = "merge-neighbours"
"""The repair that makes one message of several, so that there are fewer."""


def refuse_harm(session: OpenData, chosen: Sequence[str]) -> None:
    """RecipeError where repairs would do harm to one of the first rows: which of them does, to which row, and what to
    add or to leave out."""
    made = [name for name in chosen if not name.startswith(DROPPING)]
    if not made:
        return
    light = (row for row in session.stored.sample if row.size <= HEAVY and row.data is not None)
    before = [session.inspect_row(row, spans=False) for row in light]
    harm = _harm(session, before, made)
    if not harm:
        return
    guilty = next((name for name in made if not _harm(session, before, [one for one in made if one != name])), made[0])
    others = (name for name in (TO_MESSAGES, *REPAIRS) if name not in made)
    other = next((name for name in others if not _harm(session, before, [*made, name], whole=True)), None)
    added = f"add {other}, which prevents this (--apply {','.join([*made, other])}), or " if other else ""
    raise RecipeError(
        f"{guilty} would do harm under {trainer_of(session.requested).title}", why=harm, fix=f"{added}omit it"
    )


def _harm(session: OpenData, before: Sequence[Inspection], repairs: Sequence[str], *, whole: bool = False) -> str:
    """What repairs would do to one of the first rows, which were so `before`, as a clause; "" where they do no harm.
    `whole`: nor may they be impossible on one, which stays as it is then."""
    if not repairs:
        return ""
    try:
        after = under(session, session.requested, tuple(repairs))
    except SftuiError as error:
        return str(error)
    answering = traits_of(session.requested.preset).answering
    for was in before:
        now = after.inspect_row(after.over(was.row), spans=False)
        if whole and now.row.skipped is not None:
            return now.row.skipped
        if was.problem is not None or was.dropped is not None or now.row.left_out is not None:
            continue
        if lost := lost_of(was, now):
            return lost
        had, has = (_answers(found, answering) for found in (was, now))
        if JOINING not in repairs and has < had:
            return f"row {was.row.index} would have {has} answers instead of {had}"
    return ""


def lost_of(was: Inspection, now: Inspection) -> str:
    """That a row which the trainer took is one that it takes no more, as a clause; "" where it is not."""
    if now.problem is not None and was.problem is None:
        return f"row {was.row.index} could no longer be prepared: {now.problem.sentence()}"
    if now.dropped is not None and was.dropped is None:
        return f"row {was.row.index} would be dropped: {now.dropped}"
    return ""


def harm_of(was: Inspection, now: Inspection, answering: Container[str], *, asks: bool = True) -> str:
    """What a change does to a row that no cure may do, as a clause: the row is lost, cut or read as less than it is,
    less of an answer that its data asks for is trained, or more of what is no answer; "" where it does none of it, or
    the row was to be left out. `asks`: the recipe still asks for the same mask, so that a row which had none gets what
    all others have."""
    if now.row.left_out is not None:
        return ""
    if lost := lost_of(was, now) or _less_read(was, now, answering):
        return lost
    if was.labels is None and asks:
        return ""
    if now.cut and not was.cut:
        return f"row {was.row.index} would be cut"
    if was.dropped is not None and asks:  # so that it gets what those have that are kept
        return ""
    before, after = _learned(was), _learned(now)
    whole_before, whole_after = _learned(was, whole=True), _learned(now, whole=True)
    same = was.tokens is not None and now.tokens is not None and was.tokens.ids == now.tokens.ids
    seen = sorted({*whole_before, *whole_after})
    messages = [(one, answer) for one in seen if (answer := _is_answer(was, now, one, answering)) is not None]
    for message, answer in messages:
        had, has = before[message], after[message]
        if answer and had and has < (had if same else 1):
            return f"row {was.row.index} would no longer train {'all of ' * (has > 0)}message {message}"
    others = [message for message, answer in messages if not answer]
    said, cut = was.conversation.messages if was.conversation is not None else (), set(seen)
    if was.tokens is not None and was.labels is not None:
        cut -= {message for start, end in was.labels.kept for message in was.tokens.messages[start:end]}
    roles = {said[message].role for message in others if before[message]}
    for message in others:
        # the same mask trains what it trains where the row goes on, too
        if after[message] and not (before[message] or (asks and message in cut and said[message].role in roles)):
            return f"row {was.row.index} would train message {message}, which is not an answer"
    if not any(whole_before[message] for message in others):
        for message in others:
            if whole_after[message]:
                return f"row {was.row.index} would train tokens around message {message}, which is not an answer"
    return ""


def _less_read(was: Inspection, now: Inspection, answering: Container[str]) -> str:
    """That a row is read as less than it is: a chat as plain text, or a message without what it says or calls."""
    before, after = was.conversation, now.conversation
    if after is not None and after.kind is Kind.TEXT and (before is None or before.kind is not Kind.TEXT):
        columns = was.row.data.values() if isinstance(was.row.data, Mapping) else ()
        if any(isinstance(value, (list, tuple)) and value and isinstance(value[0], Mapping) for value in columns):
            return f"row {was.row.index}has messages, but would be read as {after.kind.value}"
    if before is None or after is None:
        return ""
    answers = (one for one in before.messages if one.role in answering)
    answered = before.completion or any(one.data.get(key) for one in answers for key in SAYING)
    if answered and KINDS.index(after.kind) > KINDS.index(before.kind):
        return f"row {was.row.index} would be read as {after.kind.value} instead of {before.kind.value}"
    same = was.row.data == now.row.data and before.kind is after.kind  # other keys are read
    for number, (old, new) in enumerate(zip(before.messages, after.messages)):
        name = f"message {number} of row {was.row.index}"
        if same and old.role != new.role and old.role in KNOWN_ROLES:
            return f"{name} would have the role {new.role}, not {old.role}"
        if old.role != new.role:
            continue
        lost = next((key for key in SAYING if old.data.get(key) and not new.data.get(key)), None)
        if lost is not None:
            return f"{name} would lose its {lost}"
        had, has = old.data.get("content"), new.data.get("content")
        if same and isinstance(had, str) and isinstance(has, str) and had not in has and has not in had:
            return f"{name} would read {clip(has, 40)!r}"
    return ""


def _learned(found: Inspection, *, whole: bool = False) -> Counter[int]:
    """How many tokens of what each message says carry loss in what the trainer receives; `whole`: of its header and
    end, too."""
    tokens, labels = found.tokens, found.labels
    counts: Counter[int] = Counter()
    if tokens is None or labels is None or labels.dropped is not None or not tokens.placed:
        return counts
    whole = whole or Reason.SCORED in labels.reasons  # behind what an answer says
    for start, end in overlap(labels.carrying, labels.kept):
        said = zip(tokens.messages[start:end], tokens.parts[start:end])
        counts.update(message for message, part in said if whole or part is Part.CONTENT)
    return counts


def _is_answer(was: Inspection, now: Inspection, message: int, answering: Container[str]) -> bool | None:
    """Whether the data asks for a message to be trained; None where it is no message of a chat, or both sides have
    other ones there."""
    sides = [made.conversation.messages if made.conversation is not None else () for made in (was, now)]
    if any(not 0 <= message < len(messages) for messages in sides):
        return None
    before, after = (messages[message] for messages in sides)
    if before.role != after.role:
        return None
    # torchtune marks each message by itself, so that a yes which becomes a no is the trainer's
    asked = after.trained if before.trained is None else before.trained
    if asked is False or 0 in (before.weight, after.weight) or _is_left_out(was, before):
        return False
    return before.role in answering


def _is_left_out(found: Inspection, message: Message) -> bool:
    """Whether a row asks that a message is not trained, also under a key that its trainer does not read."""
    try:
        turn = value_at(found.row.data, message.place)
    except (LookupError, TypeError):
        return False
    return isinstance(turn, Mapping) and any(not on for on, _, _ in switches(turn))


def _answers(found: Inspection, answering: Container[str]) -> int:
    """How many messages of a row are the assistant's, or call its tools."""
    messages = found.conversation.messages if found.conversation is not None else ()
    return sum(message.role in answering for message in messages)
