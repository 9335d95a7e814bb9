"""Roles: aliases, misspellings, unknown ones, orders that a template refuses, and those that no row has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sftui.conversations.messages import KNOWN_ROLES, ROLE_ALIASES
from sftui.findings.checks import CHATS, CONVERSATION, LABELLED, STOPPED, Fault, chats, row_check, setup_check
from sftui.findings.context import Context
from sftui.findings.look import RowLook, shown
from sftui.findings.model import Consequence, Severity
from sftui.findings.rule import DROP, GOOD, ROUNDS_OF, SYSTEM, TO_MESSAGES, case, chat, chatml, fatal, loud, major
from sftui.findings.shapes import clipped
from sftui.findings.words import TextIndex, text_of
from sftui.model import NOWHERE, Conversation, Inspection, Part, Stage
from sftui.nearest import nearest
from sftui.places import value_at
from sftui.recipe import Recipe, get
from sftui.trainers import trainer_of
from sftui.trainers.traits import Effect, MessageKind

_ALIASES = {name: role for name, role in ROLE_ALIASES.items() if name not in KNOWN_ROLES}
_TURNS = ("user", "assistant")
_ORDERS = ("system", "developer")


ROL001 = fatal(
    "sharegpt-role-alias",
    "a role name is not mapped for the template",
    "Chat templates do not know ShareGPT names (human, gpt, bot, model …) as roles. Strict templates raise an error;"
    " permissive ones print the name in the header, and no assistant turn is found, so the mask is empty.",
    repair=("map-roles", TO_MESSAGES, DROP),
    leads_to=Consequence.GARBLED,
    moves=("message",),
    bad=case(chat(("user", "hi"), ("bot", "Hello there."))),
    more=(case(chat("hi", "Hello.", ("human", "and?"), ("gpt", "Rome"), *ROUNDS_OF), preset="trl@1.16"),),
)


ROL002 = fatal(
    "role-misspelt",
    "a role is misspelt",
    "The role differs from a known one only in case, spaces or a letter or two. Templates compare roles"
    " exactly, so the turn gets a strange header and its text is not trained.",
    data="correct the role in the data",
    repair=("map-roles", DROP),
    leads_to=Consequence.GARBLED,
    moves=("message",),
    bad=case(chat(("user", "hi"), ("asistant", "Hello there."))),
)


TPL010 = fatal(
    "unknown-role",
    "a role that the template does not know",
    "Permissive templates print any role name in a header; others print nothing. No rule trains such a turn.",
    data="map the role to system, user, assistant or tool",
    repair=(DROP,),
    leads_to=Consequence.GARBLED,
    bad=case(chat(("user", "hi"), ("narrator", "It rains."), ("assistant", "Hello."))),
)


@row_check(CONVERSATION, ROL001, ROL002, TPL010, shape=lambda shape, _: not shape.order.known, several=True)
def strange_roles(look: RowLook) -> Iterator[Fault]:
    """ROL001, ROL002 and TPL010, one finding for each strange role of the row."""
    for role, count in Counter(look.roles).items():
        if role in KNOWN_ROLES or role in look.context.traits.own_roles:
            continue
        number = look.roles.index(role)
        alias, near = _ALIASES.get(role), nearest_role(role)
        if alias:
            rule, what = ROL001, f" ({count} in this row), which templates know as `{alias}`"
        elif near:
            rule, what = ROL002, f", which is nearly `{near}`"
        elif not _template_names(look, role):
            rule, what = TPL010, ", which the chat template does not know"
        else:
            continue
        known = alias or near
        yield Fault(
            f"message {number} has the role `{shown(role, 40)}`{what}",
            shown(role, 40),
            message=number,
            tokens=_header(look, number),
            changes=[("data.role_map", {**look.recipe.data.role_map, role: known})] if known else (),
            rule=rule,
        )


def _header(look: RowLook, number: int) -> tuple[int, int] | None:
    """The tokens of a message's header, where the row got that far."""
    turn = look.turn_of.get(number)
    return turn.header if turn is not None and turn.header[1] else None


def nearest_role(role: str) -> str:
    """The known role that this one is a misspelling of, or nothing."""
    plain = role.strip().casefold()
    if plain in KNOWN_ROLES or plain in ROLE_ALIASES:
        return ROLE_ALIASES.get(plain, plain)
    if len(plain) < 4 or len(plain) > 14:
        return ""
    allowed = 1 if len(plain) < 7 else 2
    return next((known for known in ("system", "user", "assistant", "tool") if _distance(plain, known) <= allowed), "")


def _distance(a: str, b: str) -> int:
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))
    return row[-1]


def _template_names(look: RowLook, role: str) -> bool:
    """Whether the template compares with this role: then it is wanted."""
    template = look.context.template
    return template is not None and (f"'{role}'" in template.source or f'"{role}"' in template.source)


ROL003 = loud(
    "message-without-role",
    "a message has no role or isn't an object",
    "Every message needs a role and content. Axolotl reports an undefined attribute; others raise KeyError.",
    data="give every message a `role` and `content`",
    repair=(DROP,),
    bad=case(GOOD, GOOD, {"messages": [{"content": "hi"}]}),
)


@row_check(STOPPED, ROL003, of=lambda shape: shape.stopped is Stage.CONVERSATION and shape.kind is None)
def roleless(look: RowLook) -> Iterator[Fault]:
    """ROL003, decided on the row's own data: conversion stops at the first such message."""
    key = look.context.detected.message_keys.get("role", "role")
    for number, item in enumerate(look.raw_messages or ()):
        if not isinstance(item, Mapping):
            yield Fault(f"message {number} is not an object", shown(repr(item)), message=number)
        if not isinstance(item.get(key), str):
            yield Fault(f"message {number} has no `{key}`", shown(", ".join(map(str, item))), message=number)


def raw_message(look: RowLook, number: int) -> Mapping[str, Any]:
    """A message as the row holds it, with the keys that the trainer leaves behind; empty where it stands elsewhere."""
    items, at = look.raw_messages, look.messages[number].place[-1:]
    try:
        item = value_at(items, at) if at else None
    except (LookupError, TypeError):
        return {}
    return item if isinstance(item, Mapping) else {}


ROL004 = major(
    "system-not-first",
    "there are several system messages, or one that is not first",
    "Templates raise an error, drop the message or print it where a server never would.",
    data="fold it into the first system message or the next user message",
    repair=("fold-system", DROP),
    bad=case(chat("hi", "Hello.", ("system", "Be kind."), "Bye.", "Bye!")),
    good=case(chat(("system", "Be kind."), ("user", "hi"), ("assistant", "Hello."))),
    more=(case(chat("hi", "Hello.", ("system", "Be kind."), ("user", "Bye."), ("assistant", "Bye!"))),),
)


@row_check(CONVERSATION, ROL004, of=lambda shape: shape.order.system not in ((), (0,)))
def system_place(look: RowLook) -> Iterator[Fault]:
    places = look.shape.order.system
    number = next(place for place in places if place > 0)
    what = f"the system message is message {number}, not the first one"
    if len(places) > 1:
        what = f"there are {len(places)} system messages"
    yield Fault(what, shown(text_of(look.messages[number])), message=number)


TPL002 = loud(
    "system-role-raises",
    "the template rejects system messages",
    "Gemma 1 and 2 raise an error on a system role, so every row with one fails.",
    repair=("fold-system", DROP),
    bad=case(chat(("system", "Be kind."), ("user", "hi"), ("assistant", "Hello.")), tokenizer="gemma"),
    good=case(GOOD, tokenizer="gemma"),
)


TPL006 = loud(
    "roles-do-not-alternate",
    "templates reject this order of roles, or no server sends it",
    "Some templates reject such a row: LLaMA-Factory then skips it and logs a line; others stop. If it is accepted,"
    " the model is trained on an order that a server never sends.",
    data="merge consecutive messages with the same role and drop a leading assistant turn, or use a tolerant template",
    repair=("merge-neighbours", "fold-system", DROP),
    bad=case(chat(("user", "hi"), ("user", "again"), ("assistant", "Hello.")), tokenizer="gemma"),
    good=case(GOOD, tokenizer="gemma"),
    more=(
        case(chat(("user", "hi"), ("assistant", "Hello."), ("assistant", "Again."))),
        case(
            chat("hi", "Hello.", ("system", "Be kind."), ("user", "Bye."), ("assistant", "Bye!")),
            template=chatml(
                before="{% for m in messages[1:] if m.role == 'system' %}{{ raise_exception('First.') }}{% endfor %}"
            ),
        ),
    ),
)


@row_check(
    STOPPED,
    TPL002,
    TPL006,
    of=lambda shape: shape.stopped is Stage.RENDERED,
    recipe=lambda context: context.template is not None,
    kinds=CHATS,
)
def refused_roles(look: RowLook) -> Iterator[Fault]:
    """TPL002 and TPL006: the template raised, and it is the roles: it takes the same row with other roles."""
    # With tool calls and other keys the template reads more than roles; those rows are judged by their own data.
    cause = look.context.once(("refused", look.roles[:200]), lambda: _cause(look))
    if cause == "system":
        place, what = look.roles.index("system"), "the chat template rejects this row's system message"
        yield Fault(what, shown(str(look.messages[place].content)), message=place, rule=TPL002)
    elif cause == "order":
        number = _out_of_turn(look.roles)
        if number is None:
            number = next((at for at, role in enumerate(look.roles) if role not in _TURNS), None)
        words = look.refusal.partition("rejects this conversation: ")[2].partition(", because its roles are")[0]
        why = f" ({shown(words, 120)})" if words else ""
        what = f"the chat template rejects this order of roles{why}: {shown(' '.join(look.roles), 100)}"
        yield Fault(what, clipped(look.signature), message=number, rule=TPL006)


def _cause(look: RowLook) -> str:
    """`system`, `order` or `names` where a plain conversation with these roles is refused too and without them is
    not."""
    draw = look.context.render
    plain = [{"role": role, "content": f"text {number}"} for number, role in enumerate(look.roles[:200])]
    if draw(plain) is not None or look.context.plain is None:
        return ""  # it is not the roles, or the template refuses everything
    if "system" in look.roles and draw([one for one in plain if one["role"] != "system"]) is not None:
        first = [one for one in plain if one["role"] == "system"][:1]
        # A system message that is welcome at the start is only out of place here.
        return "order" if draw([*first, {"role": "user", "content": "text"}]) is not None else "system"
    return "order" if KNOWN_ROLES.issuperset(look.roles) else "names"


def refused_names(look: RowLook) -> bool:
    """Whether the template refuses the row for a role it does not know: the finding on that role says so."""
    cause = look.context.memo.get(("refused", look.roles[:200]))
    return look.chat and look.context.template is not None and cause == "names"


def _out_of_turn(roles: Sequence[str]) -> int | None:
    """The first message that breaks user, assistant, user …, tool turns aside."""
    expected = "user"
    for number, role in enumerate(roles):
        if role not in _TURNS:
            if role == "system" and number > 0:
                return number
            if role == "tool":
                expected = "assistant"
            continue
        if role != expected:
            return number
        expected = "assistant" if role == "user" else "user"
    return None


LAB012 = fatal(
    "last-message-not-assistant",
    "the last message is not from the assistant",
    "There is no answer to learn, or the user's turn ends the sample. LLaMA-Factory drops such rows.",
    data="trim the row to its last answer",
    repair=(DROP,),
    bad=case(chat("hi", "Hello.", "Bye.")),
)


@row_check(CONVERSATION, LAB012, shape=lambda shape, _: shape.roles and shape.roles[-1] != "assistant", kinds=CHATS)
def ends_elsewhere(look: RowLook) -> Iterator[Fault]:
    """LAB012: nothing to learn at the end of the row."""
    last = look.roles[-1]
    if last in look.context.traits.answering or "assistant" in (nearest_role(last), _ALIASES.get(last)):
        return
    what = f"the last message is from `{shown(last, 40)}`, not from the assistant"
    yield Fault(what, shown(text_of(look.messages[-1])), message=len(look.roles) - 1)


@row_check(
    CONVERSATION,
    TPL006,
    of=lambda shape: shape.stopped is None,
    shape=lambda shape, _: _out_of_turn(shape.roles) is not None,
    kinds=CHATS,
)
def out_of_order(look: RowLook) -> Iterator[Fault]:
    """TPL006 as a warning: the template takes an order of roles that a server never sees.

    Without headers there are no turns: ms-swift's rows for pretraining are answers alone.
    """
    number = _out_of_turn(look.roles)
    if number is None or look.roles[number] == "system" or not KNOWN_ROLES.issuperset(look.roles):
        return
    if not any(span.part is Part.HEADER for span in look.rendered.spans):
        return
    kinds = map(look.context.traits.kind_of, look.roles[: number + 1])
    if MessageKind.CALL in kinds or any(message.data.get("tool_calls") for message in look.messages[: number + 1]):
        return
    if number == 0:
        what = f"the row begins with the {shown(look.roles[0], 40)}"
    elif look.roles[number - 1] == look.roles[number]:
        what = f"messages {number - 1} and {number} are both from the {shown(look.roles[number], 40)}"
    else:
        expected = "assistant" if look.roles[number] == "user" else "user"
        what = (
            f"message {number} of the {look.roles[number]} follows the {shown(look.roles[number - 1], 40)}, where the"
            f" {expected}'s turn is expected"
        )
    yield Fault(what, shown(text_of(look.messages[number])), message=number, severity=Severity.WARNING)


TPL003 = major(
    "system-dropped",
    "the system message is missing from the rendered text, or moved into the user turn",
    "The template or trainer discards it. If it is merged into the user turn on purpose, this is only a notice.",
    data="move the system text into the first user message",
    repair=("fold-system", DROP),
    leads_to=Consequence.LOST,
    bad=case(
        SYSTEM,
        template=(
            "{% for m in messages if m.role != 'system' %}{{ '<|im_start|>' + m.role + '\\n' + m.content"
            " }}<|im_end|>{% endfor %}"
        ),
    ),
    good=case(SYSTEM),
)


@row_check(LABELLED, TPL003, shape=lambda shape, _: not shape.order.instructions <= shape.placed)
def system_lost(look: RowLook) -> Iterator[Fault]:
    """TPL003: a proven absence, once per row; a merge into the user's turn is the set-up's to tell."""
    drops = look.context.traits.options.get(Effect.DROPS_SYSTEM)
    if not any(role in _ORDERS for role in look.roles) or not look.known or (drops and get(look.recipe, drops)):
        return
    standing = TextIndex(look.rendered.text)
    for number, role in enumerate(look.roles):
        said = text_of(look.messages[number]).strip() if role in _ORDERS else ""
        # Text without an owner may be this one, where it stands first.
        if said and number not in look.placed and said not in standing and not (number == 0 and NOWHERE in look.placed):
            yield Fault(f"the {role} message is missing from the rendered text", shown(said), message=number)


@dataclass(frozen=True, slots=True)
class AbsentRole:
    """A role to be trained that none of some conversations has; `repaired` is mask.roles with the nearest that they
    have in its place, empty where none is near."""

    role: str
    sentence: str
    repaired: tuple[str, ...]


def absent_role(recipe: Recipe, conversations: Sequence[Conversation]) -> AbsentRole | None:
    """The first role of the mask that these conversations should have and do not.

    One that templates know (tool, say) may be there for other rows, so that it is reported only where no trained role
    is in these at all.
    """
    wanted = trainer_of(recipe).trained_roles(recipe)
    seen = tuple(dict.fromkeys(message.role for conversation in conversations for message in conversation.messages))
    missing = [role for role in wanted if role not in seen]
    unnamed = missing if len(missing) == len(wanted) else [role for role in missing if role not in KNOWN_ROLES]
    if not seen or not unnamed:
        return None
    role = unnamed[0]
    plain = role.strip().casefold()
    alias = next((one for one in (ROLE_ALIASES.get(plain),) if one in seen), None)
    meant = nearest(plain, seen) or alias
    single = len(conversations) == 1
    rows = "which the row does not have" if single else f"which none of the {len(conversations)} rows has"
    names = ", ".join(f"`{shown(name, 40)}`" for name in seen[:6])
    sentence = f"mask.roles names the role `{shown(role, 40)}`, {rows}; the roles are {names}"
    if meant is None or role in KNOWN_ROLES:  # then it is the data that is misspelt: ROL001 and ROL002
        return AbsentRole(role, sentence, ())
    repaired = dict.fromkeys(meant if one == role else one for one in wanted)
    return AbsentRole(role, f"{sentence}: did you mean `{shown(meant, 40)}`?", tuple(repaired))


ROL005 = fatal(
    "trained-role-in-no-row",
    "no row has a role that should be trained",
    "The mask selects messages by role, using the names that the template sees. A name that no message has trains"
    " nothing, and no error is raised.",
    moves=("answers", "behind stops"),
    bad=case(GOOD, changes={"mask.rule": "assistant", "mask.roles": ("asistant", "user")}),
    good=case(GOOD, changes={"mask.rule": "assistant", "mask.roles": ("assistant", "tool")}),
)


@setup_check(ROL005)
def in_no_row(context: Context, sample: Sequence[Inspection]) -> Iterator[Fault]:
    """ROL005."""
    found = chats(sample)
    unnamed = absent_role(context.recipe, [one.conversation for one in found if one.conversation is not None])
    if unnamed is not None:
        yield Fault(
            unnamed.sentence,
            shown(unnamed.role, 40),
            changes=[("mask.roles", unnamed.repaired)] if unnamed.repaired else (),
            count=len(found),
        )
