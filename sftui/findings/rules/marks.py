"""Marks in messages: tags of reasoning, whether it survives the template, control tokens and media placeholders."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence

from sftui.findings.checks import CONVERSATION, LABELLED, Fault, row_check
from sftui.findings.context import Context
from sftui.findings.look import SIGNS, TAG, WIDE, RowLook, shown
from sftui.findings.model import Consequence
from sftui.findings.rule import DROP, ROUNDS_OF, case, chat, chatml, fatal, major
from sftui.findings.rules.roles import raw_message
from sftui.findings.words import (
    REASONING,
    THOUGHT_TAGS,
    WANTED,
    TextIndex,
    TextMarks,
    marks_of,
    said,
    spoken_of,
    text_of,
    thought_in,
    without_code,
    words,
)
from sftui.model import Kind, Part

_TAG = re.compile("|".join(re.escape(tag) for tags in THOUGHT_TAGS for tag in tags))
_MARKS = TextMarks(tag for tags in THOUGHT_TAGS for tag in tags)


_THINKING = "{% set last = messages | length - 1 %}" + chatml(
    "{% if '</think>' in m.content and loop.index0 < last %}{{ m.content.split('</think>')[1] }}{% else %}{{ m.content"
    " }}{% endif %}<|im_end|>"
)

THK001 = major(
    "history-reasoning-stripped",
    "reasoning of earlier turns is stripped",
    "The template removes it from all but the last turn, so it is never trained, and a served prompt differs"
    " from the trained text.",
    data="make one row per turn",
    pairs="remove the reasoning from the prompt's answers, as the template does",
    bad=case(chat("hi", "<think>They greet me.</think>Hello.", "Bye.", "Bye!"), template=_THINKING),
    good=case(chat("hi", "<think>They greet me.</think>Hello."), template=_THINKING),
)


THK003 = fatal(
    "reasoning-ignored",
    "reasoning_content never reaches the rendered text",
    "The template does not read the key, so the reasoning of the whole dataset is lost.",
    data="move the reasoning into the content, or use a template that reads it",
    leads_to=Consequence.LOST,
    bad=case(chat("hi", {"role": "assistant", "content": "Hello.", "reasoning_content": "They greet me."})),
)


THK004 = major(
    "last-reasoning-stripped",
    "the template removes the reasoning of the last turn too",
    "DeepSeek-V3's does: nothing before </think> is trained.",
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
    of=lambda shape: shape.rendered,
    signs=lambda shape, context: "" if shape.manner.reasoned or not context.traits.renders_templates else TAG,
    row=lambda look: (
        "</think>" in look.spoken or not look.context.traits.renders_templates or look.read.manner.reasoned
    ),
)
def lost(look: RowLook) -> Iterator[Fault]:
    """THK001, THK003 and THK004: reasoning whose text is nowhere in the rendering."""
    last = max(look.shape.order.answers, default=-1)
    stripped: list[int] = []
    standing = TextIndex(look.rendered.text)
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
                what = f"the `{key}` of message {number} is missing from the rendered text"
                yield Fault(what, shown(held[key]), message=number, rule=THK003)
            stripped.append(number)
        said = (thought_in(text_of(message)) or "").strip()
        if said and said not in standing:
            stripped.append(number)
    if last in stripped:
        what = f"the template removes the reasoning of message {last}, the last answer"
        yield Fault(what, _reason(look, last), message=last, rule=THK004)
    elif stripped:
        number = stripped[0]
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
    "A lone </think> comes from text whose opening tag was in the prompt; templates then add an empty block"
    " before it. A lone <think> teaches reasoning that never ends.",
    data="add the missing tag",
    repair=(DROP,),
    bad=case(chat("hi", "They greet me.</think>\nHello.")),
    good=case(chat("hi", "<think>They greet me.</think>\nHello.")),
)


@row_check(CONVERSATION, THK005, signs=lambda *_: TAG, row=lambda look: _MARKS.in_(look.spoken))
def unbalanced(look: RowLook) -> Iterator[Fault]:
    """THK005: the tags of one answer do not open and close in turn; a mention in prose or code is none."""
    for number, text in look.written:
        if ("<" not in text and "[" not in text) or not _TAG.search(text):
            continue
        plain = without_code(text)
        for names in THOUGHT_TAGS:
            what, at = _fault(plain, *names)
            # Backticks may be single ones that enclose a tag by chance: with the code in place it must be wrong too.
            if what and _fault(text, *names)[0] and not _balanced(look, number, names):
                yield Fault(f"{look.name(number)} {what}", shown(text[max(0, at - 20) : at + 40]), message=number)


def _balanced(look: RowLook, number: int, names: tuple[str, str]) -> bool:
    """Whether the template writes the tags in turn all the same: Qwen3's opens what an answer only closes, and leaves
    out the thoughts of earlier ones."""
    if (rendered := look.inspection.rendered) is None:
        return False
    spans = [span for span in rendered.spans if span.message == number]
    return bool(spans) and not _fault(rendered.text[spans[0].start : spans[-1].end], *names)[0]


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


MEDIA = (
    "<image>",
    "<|image|>",
    "<|image_pad|>",
    "<|video_pad|>",
    "<|audio_pad|>",
    "<image_soft_token>",
    "<audio_soft_token>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<video>",
    "<audio>",
    "[IMG]",
    "<|AUDIO|>",
    "<fake_token_around_image>",
    "<start_of_image>",
)
_MEDIA_COLUMNS = ("images", "image", "videos", "video", "audios", "audio")


def media_ids(context: Context) -> frozenset[int]:
    """The ids of media placeholders that this tokenizer has."""
    token_id = context.tools.tokenizer.token_id
    return context.once("media", lambda: frozenset(i for name in MEDIA if (i := token_id(name)) is not None))


INJ001 = major(
    "control-token-in-content",
    "a control token is written out in a message",
    "Text from the data becomes a real control id: a user can open an assistant turn, or an answer can end early.",
    data="remove or break up the token in the data",
    repair=("strip-tokens", DROP),
    bad=case(chat("hi<|im_end|>\n<|im_start|>assistant", "Hello.")),
    more=(case(chat(*ROUNDS_OF, "Hi<|im_end|> you", "Rome", *ROUNDS_OF), preset="trl@1.16"),),
)


INJ002 = fatal(
    "media-token-in-content",
    "a media placeholder is written out in a message",
    "It becomes an image or audio token without features; the counts no longer match and the job crashes.",
    data="remove or break up the placeholder in the data",
    repair=("strip-tokens", DROP),
    leads_to=Consequence.GARBLED,
    bad=case(chat("what is <image>?", "A cat."), tokenizer="media"),
)


@row_check(
    LABELLED,
    INJ001,
    INJ002,
    signs=lambda shape, context: (
        "" if shape.manner.other or shape.tools else context.once("signs", lambda: _signs(context))
    ),
    row=lambda look: _may_be_typed(look),
    kinds=(Kind.CHAT, Kind.STRINGS),
    several=True,
)
def typed(look: RowLook) -> Iterator[Fault]:
    """INJ001 and INJ002: the first place of each; the token's text must stand in the row's own data."""
    if look.known and look.conversation.kind is Kind.STRINGS:
        yield from _in_completion(look)
    if not look.chat or not look.known:
        return
    media = media_ids(look.context)
    if media and not media.isdisjoint(look.tokens.input_ids) and not _has_media(look):
        where = [i for i, one in enumerate(look.tokens.input_ids) if one in media]
        for i, place, message in _in_data(look, where):
            what = f"{look.spelling.token(i)} is written out in {place}, but the row has no media"
            yield Fault(what, message=message, tokens=(i - 2, i + 3), rule=INJ002)
            break
    where = [i for i in look.spelling.special if look.tokens.input_ids[i] not in media]
    piece = look.spelling.piece
    found = [place for place in _in_data(look, where) if not any(word in piece(place[0]).lower() for word in WANTED)]
    if not found:
        return
    i, place, message = found[0]
    count = sum(1 for _, other, _ in found if other == place)
    who = f" of the {look.roles[message]}" if message is not None else ""
    more = f" ({count} control tokens in {'this message' if message is not None else 'them'})" if count > 1 else ""
    what = f"{look.spelling.token(i)} is written out in {place}{who} and becomes a control token{more}"
    yield Fault(what, message=message, tokens=(i - 2, i + 4), rule=INJ001)


def _may_be_typed(look: RowLook) -> bool:
    """Whether a control token or media placeholder that the row has may be of its data."""
    if look.read.manner.other:
        return True  # parts may hold texts that are no content
    tokenizer, media = look.context.tools.tokenizer, media_ids(look.context)
    for text in (look.spoken, look.tools.text if look.conversation.tools else ""):
        if any([sign in text and mark in text for sign, mark in _control_marks(look.context)]):
            found = look.spelling.special_ids | media.intersection(look.tokens.ids)
            if any(tokenizer.piece(token) in text for token in found):
                return True
    return False


def _control_marks(context: Context) -> list[tuple[str, str]]:
    """Of which one stands in every text that holds a control token or a media placeholder (see `marks_of`)."""
    special, piece = context.tools.tokenizer.special_ids, context.tools.tokenizer.piece
    return context.once("marks", lambda: marks_of(map(piece, special | media_ids(context))))


def _signs(context: Context) -> str:
    """The signs of these; "" where some is none of `SIGNS`."""
    found = "".join([sign if sign.isascii() else WIDE for sign, _ in _control_marks(context)])
    return found if SIGNS.issuperset(found) else ""


def _in_completion(look: RowLook) -> Iterator[Fault]:
    """INJ001 without messages: a control token inside a completion that goes on behind it; a prompt with some was
    rendered beforehand."""
    owners, parts = tuple(look.tokens.messages), tuple(look.tokens.parts)
    text = look.conversation.completion or ""
    special = [i for i in look.spelling.special if parts[i] is Part.CONTENT]
    if any(owners[i] == 0 for i in special):
        return
    mine = [i for i in special if owners[i] == 1]
    others = (i for i in reversed(range(len(parts))) if parts[i] is Part.CONTENT and owners[i] == 1)
    spelling = look.spelling
    last = next((i for i in others if not spelling.is_special(i) and not spelling.blank(i)), -1) if mine else -1
    for i in mine:
        piece = look.spelling.piece(i)
        if i < last and piece in text and not any(word in piece.lower() for word in WANTED):
            what = f"{look.spelling.token(i)} is written out in the completion and becomes a control token"
            yield Fault(what, message=1, tokens=(i - 2, i + 4), rule=INJ001)
            return


def _in_data(look: RowLook, where: list[int]) -> Iterator[tuple[int, str, int | None]]:
    """Those of the tokens that the data brings: in a message, or in what its tools say of themselves."""
    parts, owners = look.tokens.parts, look.tokens.messages
    tools = list(words(look.conversation.tools))
    typed: dict[tuple[int, str], bool] = {}
    described: dict[str, list[tuple[int, int]]] = {}
    for i in where:
        piece = look.spelling.piece(i)
        if parts[i] is Part.CONTENT and owners[i] >= 0:
            key = owners[i], piece
            if key not in typed:
                typed[key] = any(piece in text for text in said(look.messages[owners[i]]))
            if typed[key]:
                yield i, f"message {owners[i]}", owners[i]
        elif tools:
            if piece not in described:
                described[piece] = _stretches(look, [text for text in tools if piece in text])
            at = bisect_right(described[piece], (look.tokens.starts[i], len(look.rendered.text))) - 1
            if at >= 0 and look.tokens.starts[i] < described[piece][at][1]:
                yield i, "the tools", None


def _stretches(look: RowLook, texts: Sequence[str]) -> list[tuple[int, int]]:
    """Where the rendering holds one of the texts, plainly or as JSON, in order; what overlaps is one."""
    rendered, found = look.rendered.text, []
    for text in dict.fromkeys(texts):
        for form in {text, json.dumps(text, ensure_ascii=False)[1:-1], json.dumps(text)[1:-1]}:
            found += [match.span() for match in re.finditer(re.escape(form), rendered)]
    joined: list[tuple[int, int]] = []
    for start, end in sorted(found):
        if joined and start < joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return joined


def _has_media(look: RowLook) -> bool:
    data = look.inspection.row.data
    if data is not None and any(data.get(column) for column in _MEDIA_COLUMNS):
        return True
    return any(
        isinstance(part, Mapping) and part.get("type") not in (None, "text")
        for message in look.messages
        if isinstance(message.content, (list, tuple))
        for part in message.content
    )
