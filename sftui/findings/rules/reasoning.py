"""Reasoning: whether it survives the template, and whether its tags are whole."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sftui.findings.checks import CONVERSATION, Fault, row_check
from sftui.findings.look import RowLook, shown
from sftui.findings.model import Consequence
from sftui.findings.rule import DROP, case, chat, chatml, fatal, major
from sftui.findings.rules.roles import raw_message
from sftui.findings.words import REASONING, TextIndex, TextMarks, spoken_of, text_of, thought_in, without_code

_NAMES = ("think", "thinking", "thought", "reasoning", "seed:think")
_TAGS = (
    *((f"<{name}>", f"</{name}>") for name in _NAMES),
    ("[THINK]", "[/THINK]"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
)
_TAG = re.compile("|".join(re.escape(tag) for tags in _TAGS for tag in tags))
_MARKS = TextMarks(tag for tags in _TAGS for tag in tags)


_THINKING = "{% set last = messages | length - 1 %}" + chatml(
    "{% if '</think>' in m.content and loop.index0 < last %}{{ m.content.split('</think>')[1] }}{% else %}{{ m.content"
    " }}{% endif %}<|im_end|>"
)

THK001 = major(
    "history-reasoning-stripped",
    "reasoning of earlier turns is stripped",
    "The template drops it from all but the last turn, so it is never trained, and a served prompt differs from the"
    " trained text.",
    data="make one row per turn",
    bad=case(chat("hi", "<think>They greet me.</think>Hello.", "Bye.", "Bye!"), template=_THINKING),
    good=case(chat("hi", "<think>They greet me.</think>Hello."), template=_THINKING),
)


THK003 = fatal(
    "reasoning-ignored",
    "reasoning_content never reaches the rendered text",
    "The template does not read the key, so the reasoning of the whole set is lost.",
    data="move the reasoning into the content, or use a template that reads it",
    leads_to=Consequence.LOST,
    bad=case(chat("hi", {"role": "assistant", "content": "Hello.", "reasoning_content": "They greet me."})),
)


THK004 = major(
    "last-reasoning-stripped",
    "the template removes the reasoning of the last turn too",
    "DeepSeek-V3 does: nothing of what stands before </think> is trained.",
    data="use another template for reasoning data",
    leads_to=Consequence.LOST,
    bad=case(
        chat("hi", "<think>They greet me.</think>Hello."),
        template=chatml("{{ m.content.split('</think>')[-1] }}<|im_end|>"),
    ),
    good=case(chat("hi", "<think>They greet me.</think>Hello.")),
)


@row_check(
    CONVERSATION,
    THK001,
    THK003,
    THK004,
    row=lambda look: (
        "</think>" in look.spoken or not look.context.traits.renders_templates or look.read.manner.reasoned
    ),
)
def lost(look: RowLook) -> Iterator[Fault]:
    """THK001, THK003 and THK004: reasoning whose text is nowhere in the rendering."""
    rendered = look.inspection.rendered
    if rendered is None:
        return
    last = max(look.order.answers, default=-1)
    stripped: list[int] = []
    standing = TextIndex(rendered.text)
    for number, message in enumerate(look.messages):
        if message.role != "assistant":
            continue
        # what renders in code of its own leaves the keys behind that it does not read
        by_template = look.context.traits.renders_templates
        held = message.data if by_template else {**raw_message(look, number), **message.data}
        key = next((key for key in REASONING if isinstance(held.get(key), str) and held[key].strip()), None)
        if key is not None and held[key].strip() not in standing:
            source = look.context.template.source if look.context.template is not None and by_template else ""
            if not re.search(rf"\b{key}\b", source):
                yield Fault(
                    f"the `{key}` of message {number} does not appear in the rendered text",
                    shown(held[key]),
                    message=number,
                    rule=THK003,
                )
            stripped.append(number)
        said = (thought_in(text_of(message)) or "").strip()
        if said and said not in standing:
            stripped.append(number)
    if not stripped:
        return
    number = stripped[0]
    if last in stripped:
        yield Fault(
            f"the template removes the reasoning of message {last}, the last answer",
            _reason(look, last),
            message=last,
            rule=THK004,
        )
    elif stripped:
        some = f"{len(stripped)} earlier answers" if len(stripped) > 1 else f"message {number}"
        yield Fault(f"the template strips the reasoning of {some}", _reason(look, number), message=number, rule=THK001)


def _reason(look: RowLook, number: int) -> str:
    message = look.messages[number]
    said = thought_in(text_of(message))
    if said is None:
        said = next((str(message.data[key]) for key in REASONING if message.data.get(key)), "")
    return shown(said.strip())


THK005 = major(
    "think-tags-unbalanced",
    "opening and closing think tags do not match",
    "A lone </think> comes from text whose opening tag stood in the prompt; templates then add an empty block"
    " before it. A lone <think> teaches reasoning that never ends.",
    data="add the missing tag, or drop the row",
    repair=(DROP,),
    bad=case(chat("hi", "They greet me.</think>\nHello.")),
    good=case(chat("hi", "<think>They greet me.</think>\nHello.")),
)


@row_check(CONVERSATION, THK005, row=lambda look: _MARKS.in_(look.spoken))
def unbalanced(look: RowLook) -> Iterator[Fault]:
    """THK005: the tags of one answer do not open and close in turn; a mention in prose or code is none."""
    completion = look.conversation.completion
    answers = [
        (number, text_of(message)) for number, message in enumerate(look.messages) if message.role == "assistant"
    ]
    for number, text in answers if completion is None else [(1, completion)]:
        if ("<" not in text and "[" not in text) or not _TAG.search(text):
            continue
        plain = without_code(text)
        for names in _TAGS:
            what, at = _fault(plain, *names)
            # Backticks may be single ones that enclose a tag by chance: with the code in place it must be wrong too.
            if what and _fault(text, *names)[0]:
                yield Fault(
                    f"{f'message {number}' if look.messages else 'the completion'} {what}",
                    shown(text[max(0, at - 20) : at + 40]),
                    message=number,
                )


def _fault(text: str, opening: str, closing: str) -> tuple[str, int]:
    """What is wrong with the tags of one kind, and where; nothing where they match or are only talked about."""
    opened, closed = text.count(opening), text.count(closing)
    if opened == closed:
        crossed = 0 <= text.find(closing) < text.find(opening)
        # A block that is whole in itself, behind a text about tags, is recognised by its edges alone.
        meant = crossed and _closes(text, text.find(closing), closing) and _begins(text, text.rfind(opening))
        return (f"has {closing} before {opening}", text.find(closing)) if meant and opened == 1 else ("", -1)
    # A tag in the middle of a sentence is talked about; one at an edge of the text, a line or a sentence is meant.
    places = [match.start() for match in re.finditer(re.escape(closing), text)]
    if closed > opened and sum(_closes(text, at, closing) for at in places) > opened:
        return "closes a think block that it never opened", places[0]
    if opened > closed and any(_begins(text, match.start()) for match in re.finditer(re.escape(opening), text)):
        return "opens a think block and never closes it", text.find(opening)
    return "", -1


def _begins(text: str, at: int) -> bool:
    """Whether an opening tag begins a line."""
    return not text[:at].rpartition("\n")[2].strip()


def _closes(text: str, at: int, tag: str) -> bool:
    """Whether a closing tag ends a thought; one that is quoted, or a word among the words of a sentence, is a
    mention."""
    return not spoken_of(text, at, at + len(tag))
