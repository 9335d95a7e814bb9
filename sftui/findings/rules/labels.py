"""The mask as a whole: nothing trained, too much trained, flags that nobody reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import Any

from sftui.conversations.messages import FLAG_KEYS, MASKED_KEY, ROLE_ALIASES, WEIGHT_KEYS, switches
from sftui.findings.checks import CHATS, LABELLED, Fault, row_check
from sftui.findings.look import MessageTokens, RowLook, shown
from sftui.findings.model import GENERATION_TAGS, Consequence, Severity
from sftui.findings.rule import (
    DROP,
    GOOD,
    ROUNDS,
    SAMPLED,
    SYSTEM,
    TAGS,
    TO_MESSAGES,
    Case,
    case,
    chat,
    fatal,
    major,
    minor,
    stored_case,
    tagged,
)
from sftui.findings.rules.roles import raw_message
from sftui.findings.rules.truncation import answer_cut
from sftui.findings.words import TextIndex, text_of, without_thoughts
from sftui.model import Part, Reason
from sftui.runs import as_runs
from sftui.trainers.traits import Finds, Quirk

_OTHERS = ("user", "system", "tool", "developer")
_FLAG_NAMES = frozenset((*FLAG_KEYS, *WEIGHT_KEYS, MASKED_KEY))


LAB001 = fatal(
    "nothing-trained",
    "no token of the row is trained",
    "All labels are -100: the loss is NaN or zero, or the row is dropped without being counted. The finding"
    " names the cause.",
    data="repair the cause",
    repair=(DROP,),
    leads_to=Consequence.UNTRAINED,
    bad=case({"input_ids": [300, 301, 302], "labels": [-100] * 3}, changes={"mask.rule": "given"}),
)


@row_check(LABELLED, LAB001, of=lambda shape: not shape.trains)
def nothing_trained(look: RowLook) -> Iterator[Fault]:
    """LAB001, with the cause named; rows that are cut are TRU001's."""
    dropped = look.labels.dropped
    # A row that is dropped before any mask is drawn is TRU006's; one dropped for its empty mask is reported here too.
    if not len(look.tokens) or (dropped is not None and "trained" not in dropped):
        return
    if look.cut and answer_cut(look) is not None:
        return
    # Stored chunks of long texts may rightly hold no label; elsewhere a row without any is an accident.
    yield Fault(f"no token of this row is trained: {_cause(look)}", tokens=(0, len(look.tokens)))


def _cause(look: RowLook) -> str:
    rule = look.recipe.mask.rule
    if look.stored:
        return "all stored labels are masked"
    if look.labels.weights is not None and look.labels.ranges:
        return "every trainable message has weight 0"
    if rule == "generation_tag" and not look.rendered.has_generation_tag:
        return "the chat template has no generation tags (GEN001)"
    if rule == "markers":
        return "the response marker is not found (BND004)"
    if look.chat and look.context.traits.answering.isdisjoint(look.roles):
        return "no message is from the assistant (ROL001, ROL002)"
    if look.chat and all(not text_of(message).strip() for message in look.messages if message.role == "assistant"):
        return "the assistant's message is empty (CON003)"
    if look.inspection.boundary is not None and look.inspection.boundary.prompt_length >= len(look.tokens):
        return "the prompt is as long as the whole row"
    counts = Counter[Reason]()
    for start, end, reason in as_runs(look.labels.reasons).runs():
        counts[reason] += end - start
    return f"every token is masked as `{counts.most_common(1)[0][0].value}`"


_STRICT = (
    "{% for m in messages if m.role in ('user', 'assistant') %}"
    "<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>{% endfor %}"
)
"""A template that knows two roles and writes nothing of others."""

LAB015 = fatal(
    "no-answer-rendered",
    "no answer of the row reaches the model",
    "None of the assistant's text is in the rendered text: the template does not know the role, or leaves out its"
    " messages. Only what the template itself writes is trained.",
    data="give the assistant's messages the role and position that the template expects",
    repair=("map-roles", TO_MESSAGES, DROP),
    leads_to=Consequence.UNREAD,
    bad=case(chat(("user", "hi"), ("bot", "Hello.")), preset="trl@1.16", template=_STRICT),
    good=case(chat("hi", "Hello."), preset="trl@1.16", template=_STRICT),
)


def _answers(roles: tuple[str, ...]) -> list[int]:
    """The messages whose role means the assistant's, whatever it is called."""
    return [number for number, role in enumerate(roles) if ROLE_ALIASES.get(role, role) == "assistant"]


@row_check(
    LABELLED,
    LAB015,
    of=lambda shape: shape.known and not shape.dropped,
    shape=lambda shape, _: shape.placed.isdisjoint(_answers(shape.roles)),
    kinds=CHATS,
)
def answers_unread(look: RowLook) -> Iterator[Fault]:
    """LAB015: whatever its answers say, none of it stands anywhere in the rendering."""
    text = TextIndex(look.rendered.text)
    answers = [number for number in _answers(look.roles) if text_of(look.messages[number]).strip()]
    if not answers or not look.placed.isdisjoint(answers):
        return
    if any(text.any_line(without_thoughts(text_of(look.messages[number]))) for number in answers):
        return
    roles = ", ".join(dict.fromkeys(f"`{shown(look.roles[number], 40)}`" for number in answers))
    which = f"none of the {len(answers)} answers ({roles}) is" if len(answers) > 1 else f"the answer ({roles}) is not"
    yield Fault(f"{which} in the rendered text", shown(text_of(look.messages[answers[0]])), message=answers[0])


LAB002 = major(
    "prompt-trained",
    "text of the user, the system or a tool is trained",
    "The trainer computes the loss on everything, which is rarely intended for chat data.",
    tags=True,
    leads_to=Consequence.QUESTIONS,
    moves=("others",),
    bad=case(GOOD, preset="trl@1.16"),
    more=(
        case(ROUNDS, changes={"mask.rule": "all"}),
        case(ROUNDS, preset="axolotl@0.19", changes={"mask.rule": "all"}),
        case(ROUNDS, preset="llamafactory@0.9", changes={"mask.rule": "all"}),
        case(ROUNDS, preset="torchtune@0.7", changes={"mask.rule": "all"}),
        case(ROUNDS, preset="unsloth@2026.10"),
        case(SYSTEM, ROUNDS, preset="trl@1.16", template=tagged()),
        stored_case({"input_ids": SAMPLED, "labels": SAMPLED}),
        stored_case({"input_ids": SAMPLED, "labels": [-100] * 5 + SAMPLED[5:7] + [-100] * 21}),
    ),
)


@row_check(
    LABELLED,
    LAB002,
    shape=lambda shape, _: shape.trained(Part.CONTENT, *_OTHERS),
    recipe=lambda context: context.recipe.mask.rule != "generation_tag" and context.recipe.supervised,
    kinds=CHATS,
)
def others_trained(look: RowLook) -> Iterator[Fault]:
    """LAB002: content of other roles that carries loss, as a share of what is trained; in pairs it is PRF003's."""
    mask, stands, touched, count = look.recipe.mask, look.shape.stands, list[tuple[int, int, int]](), 0
    wanted = mask.roles if mask.rule in ("assistant", "turn_content", "turn_full") else ("assistant",)
    for number, role in enumerate(look.roles):
        if role in _OTHERS and role not in wanted and (number, Part.CONTENT) in stands:
            first, behind = stands[number, Part.CONTENT]
            some = sum(look.mask.trained_in[first:behind])
            if some and not (some == 1 and _at_border(look, look.turn_of[number])):
                if LAB002.code in look.counted:
                    yield Fault("")
                touched.append((number, first, behind))
                count += some
    if not touched:
        return
    roles = ", ".join(dict.fromkeys(look.roles[number] for number, _, _ in touched))
    number, first, behind = touched[0]
    rules = look.context.traits.rules
    rule = rules.get("assistant") or rules["last"]
    changes = [("mask.rule", rule)] if mask.rule in ("auto", "all") else []
    surgery = GENERATION_TAGS if rule == "generation_tag" and changes and not look.rendered.has_generation_tag else None
    title = "train only the assistant's text: set mask.rule to generation_tag, with generation tags in the template"
    yield Fault(
        f"{count} of {look.mask.trained} trained tokens are {roles} text",
        message=number,
        tokens=(look.stretches[first][0], look.stretches[behind - 1][1]),
        changes=changes,
        title=title if surgery else "",
        template=surgery,
    )


def _at_border(look: RowLook, turn: MessageTokens) -> bool:
    """Whether training begins with the last token of a question: one that merges into the answer is BND001's."""
    start, end = turn.content
    return look.mask.drawn[end - 1] and (start == 0 or not look.mask.drawn[start - 1])


LAB010 = major(
    "message-flags-ignored",
    "per-message training flags are ignored",
    "Keys such as weight, train or loss_mask have no common meaning; this trainer does not read them.",
    data="apply the flags yourself",
    moves=("message",),
    bad=case(chat("hi", {"role": "assistant", "content": "Hello.", "weight": 0})),
    good=case(chat("hi", {"role": "assistant", "content": "Hello.", "weight": 1})),
    more=(
        case(
            chat("hi", {"role": "assistant", "content": "Hello.", "training": False}, "Bye.", "Bye!"),
            preset="axolotl@0.19",
        ),
    ),
)


@row_check(
    LABELLED,
    LAB010,
    shape=lambda shape, context: Quirk.NAMED_KEYS_ONLY in context.traits.quirks or not shape.manner.plain,
    row=lambda look: look.read.manner.flagged or _may_flag(look),
    kinds=CHATS,
)
def flags_ignored(look: RowLook) -> Iterator[Fault]:
    """LAB010: a message is trained, or not, against what its own flag says; or its end is, as ms-swift has it."""
    for turn in look.turns:
        number = turn.message
        flag = _flag(look, number) if turn.has_content else None
        if flag is None:
            continue
        trained, key, value = flag
        heard = look.trains(turn.content) is trained
        ends = turn.terminator[0] == turn.content[1] and look.trains(turn.terminator)
        if heard and (trained or not ends):
            continue
        named = not heard and Quirk.FLAG_BY_KEY in look.context.traits.quirks
        outcome = "is not trained" if trained else f"{'its end ' if heard else ''}is trained anyway"
        yield Fault(
            f"message {number} says `{key}: {value}`, and {outcome}",
            severity=Severity.INFO if heard else None,
            message=number,
            tokens=turn.terminator if heard else turn.content,
            changes=[("data.message_keys", {**look.recipe.data.message_keys, "train_flag": key})] if named else (),
            title="drop the row if the end of this answer should not be learned either" if heard else "",
        )


def _may_flag(look: RowLook) -> bool:
    """Whether some message, as the row holds it, has the key of a flag."""
    try:
        return not _FLAG_NAMES.isdisjoint(chain(*(look.raw_messages or ()), *(one.data for one in look.messages)))
    except TypeError:  # some are none
        return True


def _flag(look: RowLook, number: int) -> tuple[bool, str, Any] | None:
    """What a message says of its own training, under which key, with which value; None where it says nothing, or
    its trainer alone does. Trainers leave behind keys that are not named to them."""
    message, named = look.messages[number], look.recipe.data.message_keys.get("train_flag")
    held = {**raw_message(look, number), **message.data}
    said = switches(held, named)  # what becomes of other weights tells LAB016
    if message.trained is not None:
        return min(said, key=lambda one: one[0] is not message.trained, default=None)
    # A yes to an answer is what these trainers do in any case; what is left out is what they do not hear of.
    return next((one for one in said if not one[0] and named not in held), None)


def _prompted(*before: dict[str, str]) -> Case:
    """A row of a prompt and a completion, with messages before the question."""
    asked, said = [*before, {"role": "user", "content": "So?"}], [{"role": "assistant", "content": "So."}]
    return case({"prompt": asked, "completion": said}, preset="trl@1.16", template=tagged(), changes=TAGS)


LAB014 = minor(
    "both-masks",
    "answers inside the prompt are not trained",
    "TRL trains a token only if both the completion mask and the assistant mask allow it.",
    bad=_prompted(*ROUNDS["messages"]),
    good=_prompted(),
)


@row_check(
    LABELLED, LAB014, recipe=lambda context: context.traits.finds is Finds.TAGS, masks=("generation_tag",), kinds=CHATS
)
def both_masks(look: RowLook) -> Iterator[Fault]:
    """LAB014: answers of the prompt column that the other mask would train."""
    prompt = look.conversation.prompt_messages
    if look.tokens.prompt_ids is None or not prompt or "assistant" not in look.roles[:prompt]:
        return
    number = look.roles.index("assistant")
    turn = look.turn_of.get(number)
    if turn is not None and not look.trains(turn.content):
        yield Fault(
            f"message {number} is an answer inside the prompt and is not trained", message=number, tokens=turn.content
        )


GEN006 = minor(
    "character-half-trained",
    "the trained span ends inside a character",
    "The last character spans several tokens, but only the first is in the mask: transformers before 5.24 built"
    " generation-tag masks this way.",
    tags=True,
    moves=("answers",),
    bad=case(
        chat("hi", "Hello \U0001f98a"),
        template=tagged(inside=False),
        changes={**TAGS, "tokenizer.transformers": "5.23.0"},
    ),
    good=case(chat("hi", "Hello \U0001f98a"), template=tagged(), changes=TAGS),
)


@row_check(LABELLED, GEN006, shape=lambda shape, _: shape.trains and not (shape.cut_out and shape.ascii))
def half_characters(look: RowLook) -> Iterator[Fault]:
    """GEN006: a trained run ends inside a character, or begins inside one."""
    for first, last in look.mask.runs:
        if last < len(look.tokens) and look.inside_character(last):
            severity = Severity.WARNING if look.labels.reasons[last] is Reason.BOUNDARY else None
            what = "the trained span ends inside a multi-token character"
            yield Fault(what, tokens=(max(first, last - 2), last + 1), severity=severity, tags=True)
