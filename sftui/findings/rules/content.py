"""Content: empty, of the wrong type, in the wrong place, or with characters that are broken or invisible."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sftui.conversations.messages import DETAIL_KEYS, FLAG_KEYS, UNPACKED, WEIGHT_KEYS, part_kind, printed_list
from sftui.findings.checks import CHATS, CONVERSATION, DATA, Fault, row_check, setup_check
from sftui.findings.context import Context
from sftui.findings.look import CONTROL, WIDE, RowLook, shown
from sftui.findings.model import Consequence, Severity
from sftui.findings.rule import DROP, GOOD, ROUNDS_OF, Rule, case, chat, fatal, loud, major, minor
from sftui.findings.rules.roles import refused_roles
from sftui.findings.rules.tools import unread_calls
from sftui.findings.words import REASONING, part_texts
from sftui.model import Inspection, Kind, Message, Stage
from sftui.trainers.traits import Quirk

_FORMATS = {
    "messages": "messages",
    "conversations": "messages",
    "prompt": "prompt_completion",
    "text": "text",
    "instruction": "alpaca",
    "input_ids": "tokenized",
}


_NULL = {"messages": [{"role": "user", "content": None}, {"role": "assistant", "content": "Hello."}]}

CON001 = major(
    "content-none",
    "a message has no content",
    "transformers 5 removes keys that are None; templates then raise an error or print nothing, while older versions"
    " print the word None. Content may be missing only next to tool calls.",
    data='set the content to text, or to ""',
    repair=("fill-content", DROP),
    bad=case(chat("hi", ("assistant", None))),
    more=(case(GOOD, _NULL),),
)


CON002 = fatal(
    "content-is-a-list",
    "content parts are printed as Python literals, or not at all",
    "The content is a list of parts but the template prints it as it is, so the training text contains"
    " [{'type': 'text', …}]; templates that print only strings leave it out.",
    data="join the text parts",
    repair=("join-parts", DROP),
    leads_to=Consequence.GARBLED,
    bad=case(GOOD, chat("hi", ("assistant", [{"type": "text", "text": "Hello."}])), tokenizer="llama3"),
    good=case(GOOD, tokenizer="llama3"),
)


CON003 = major(
    "answer-empty",
    "an answer or a text is empty",
    "It has no text, no tool call and no reasoning: the model learns to end its turn immediately.",
    data="drop the message",
    pairs="generate the answer",
    repair=(DROP,),
    bad=case(chat("hi", "")),
)


CON004 = major(
    "edge-white-space",
    "an answer begins or ends with whitespace, or is only whitespace",
    "Leading or trailing whitespace merges with the header's tokens (BND001), is stripped by some templates (TPL009)"
    " and breaks generation-tag masks before transformers 5.24 (GEN004, GEN005).",
    data="strip the content",
    repair=("trim", DROP),
    bad=case(chat("hi", "  Hello.\n\n")),
    more=(case(chat("hi", " \n", "and?", "Rome")), case(chat("hi", " Well.\n", "and?", "Rome"), preset="trl@1.16")),
)


CON005 = major(
    "content-not-text",
    "content is a number or another non-text value",
    "Lenient templates print it; others raise an error.",
    data="store the content as text",
    repair=("fill-content", DROP),
    bad=case(chat("hi", ("assistant", 42)), tokenizer="llama3"),
    more=(case(chat(*ROUNDS_OF, "and?", ("assistant", 42), *ROUNDS_OF), tokenizer="llama3"),),
)


@row_check(
    CONVERSATION,
    CON001,
    CON002,
    CON003,
    CON004,
    CON005,
    shape=lambda shape, _: shape.manner.silent or shape.manner.unsaid,
    several=True,
)
def nothing_said(look: RowLook) -> Iterator[Fault]:
    """CON001, CON002, CON003, CON004 and CON005, message by message."""
    for number, (role, message) in enumerate(zip(look.roles, look.messages)):
        content = message.data.get("content")
        if type(content) is str:
            if role == "assistant" and (not content or content[0].isspace() or content[-1].isspace()):
                yield from _edges(look, number, message, content)
        else:
            yield from _no_text(look, number, message, content)


@row_check(CONVERSATION, CON003, CON004, kinds=(Kind.STRINGS, Kind.TEXT))
def nothing_written(look: RowLook) -> Iterator[Fault]:
    """CON003 and CON004 for rows without messages: a completion, or a text, that says nothing at all."""
    conversation = look.conversation
    strings = conversation.kind is Kind.STRINGS
    text = conversation.completion if strings else conversation.text
    if text is None or text.strip() or "segments" in conversation.extra:
        return
    what, number = ("the completion", 1) if strings else ("the text", None)
    if text:
        yield Fault(f"{what} is whitespace only", shown(text), message=number, rule=CON004)
    else:
        yield Fault(f"{what} is empty", "", message=number, rule=CON003)


def _no_text(look: RowLook, number: int, message: Message, content: Any) -> Iterator[Fault]:
    role = shown(message.role, 40)
    if content is None:
        if _speaks(message):
            return
        what = "has no `content` key" if "content" not in message.data else "has null content"
        yield _about(look, CON001, number, f"({role}) {what}", severity=_worse(look))
    elif isinstance(content, (list, tuple)):
        yield from _parts(look, number, content)
    else:
        what = f"({role}) has {type(content).__name__} {shown(str(content), 30)} as content, which is not text"
        yield _about(look, CON005, number, what, str(content), _worse(look))


CON010 = fatal(
    "torchtune-stale-content",
    "torchtune trains the previous message's text here",
    "OpenAIToMessages keeps the previous message's text when content is None, so the answer is trained on the"
    " user's words.",
    repair=("fill-content", DROP),
    leads_to=Consequence.GARBLED,
    bad=case(chat("hi", ("assistant", None)), tokenizer="llama3", preset="torchtune@0.6"),
    more=(case(GOOD, _NULL, tokenizer="llama3", preset="torchtune@0.6"),),
)


@row_check(
    DATA,
    CON010,
    recipe=lambda context: Quirk.REPEATS_CONTENT in context.traits.quirks and context.detected.format == "messages",
)
def stale_content(look: RowLook) -> Iterator[Fault]:
    """CON010: null as content goes on with that of the message before."""
    title = look.context.traits.title
    for number, item in enumerate(look.raw_messages or ()):
        if isinstance(item, Mapping) and item.get("content", "") is None:
            what = f"message {number} has no content: {title} trains the previous message's text instead"
            yield Fault(what, "", message=number)


def _worse(look: RowLook) -> Severity | None:
    """An error where the template stops at it."""
    return Severity.ERROR if _stopped_here(look) else None


def _stopped_here(look: RowLook) -> bool:
    """Whether the rendering stopped, and neither the roles nor a missing template are to blame."""
    if look.inspection.stopped_at is not Stage.RENDERED or refused_roles.holds(look):
        return False
    return look.context.template is not None or Quirk.RENDERS_WITHOUT_TEMPLATE in look.context.traits.quirks


def no_plain_text(look: RowLook) -> bool:
    """Whether some message has content that many templates cannot print."""
    return any(
        isinstance(content, (list, tuple, int, float)) or (content is None and not message.data.get("tool_calls"))
        for message in look.messages
        for content in [message.data.get("content")]
    )


def _parts(look: RowLook, number: int, content: Sequence[Any]) -> Iterator[Fault]:
    """A list of parts is meant for vision models; it is wrong where its Python text reaches the rendering."""
    rendered, message = look.inspection.rendered, look.messages[number]
    texts = [text for part in content for text in part_texts(part)]
    others = [part for part in content if not isinstance(part, str)]
    mute = all(isinstance(part, Mapping) and part.get("type") in (None, "text") for part in others)
    if message.role == "assistant" and mute and not _speaks(message) and not any(map(str.strip, texts)):
        yield _about(look, CON003, number, "of the assistant is empty")
    kinds = " and ".join(dict.fromkeys(f"`{kind}`" for part in content if (kind := part_kind(part)) != "text"))
    beside = f"; its parts ({kinds}) are not text" if kinds else ""
    if content and _stopped_here(look):
        what = f"message {number} has a list of parts as content, and the template fails on it{beside}"
        yield Fault(what, shown(str(content)), message=number, rule=CON002)
    if rendered is None or not content:
        return
    for printed in (repr(list(content)), str(content)):
        at = rendered.text.find(printed)
        if at >= 0:
            what = f"the template prints the content parts of message {number} as Python literals{beside}"
            yield Fault(what, shown(printed), message=number, span=(at, at + len(printed)), rule=CON002)
            return
    # Messages of other roles go missing whole where the template does not know the role: TPL003 and TOO002 say that.
    lines = [line.strip() for text in texts for line in text.splitlines() if line.strip()]
    if lines and message.role in ("user", "assistant") and not any(line in rendered.text for line in lines):
        what = f"the template prints none of the content parts of message {number}{beside}"
        yield Fault(what, shown(str(content)), message=number, tokens=_place(look, number), rule=CON002)


def _edges(look: RowLook, number: int, message: Message, content: str) -> Iterator[Fault]:
    if not content.strip():
        if not _speaks(message) and (content or not unread_calls(look, number)):  # else it is TOO002's
            rule, what = (CON004, "whitespace only") if content else (CON003, "empty")
            yield _about(look, rule, number, f"of the assistant is {what}", content)
        return
    head, tail = len(content) - len(content.lstrip()), len(content) - len(content.rstrip())
    where = " and ".join([*([f"begins with {head}"] if head else []), *([f"ends with {tail}"] if tail else [])])
    # One blank or line break at the end harms nothing by itself; the checks of its consequences tell where it does.
    severity = None if head or tail > 1 else Severity.INFO
    middle = " … " if len(content) > head + tail + 24 else ""
    edge = content[: head + 12] + middle + content[-tail - 12 :] if tail else content[: head + 24]
    what = f"of the assistant {where} whitespace character{'s' if head + tail > 1 else ''}"
    yield _about(look, CON004, number, what, edge, severity)


def _about(
    look: RowLook, rule: Rule, number: int, what: str, content: str = "", severity: Severity | None = None
) -> Fault:
    """What a message has as its content: a finding at its tokens."""
    place, evidence = _place(look, number), shown(content)
    return Fault(f"message {number} {what}", evidence, message=number, tokens=place, severity=severity, rule=rule)


def _speaks(message: Message) -> bool:
    """Whether a message says something besides its content: calls or reasoning."""
    return any(message.data.get(key) for key in ("tool_calls", *REASONING))


def _place(look: RowLook, number: int) -> tuple[int, int] | None:
    """The tokens of a message from its header to its end, where the row got that far."""
    turn = look.turn_of.get(number)
    if turn is None or not turn.end + turn.header[1]:
        return None
    return turn.content if turn.content[1] else turn.header


CON007 = loud(
    "messages-as-json-text",
    "the messages are stored as JSON text",
    "Axolotl parses them; TRL and others do not, and fail or train on the JSON.",
    data="parse the column into a list",
    repair=("parse-json", DROP),
    bad=case(GOOD, {"messages": '[{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Hello."}]'}),
)


@row_check(
    CONVERSATION,
    CON007,
    of=lambda shape: str in shape.types,
    recipe=lambda context: (
        Quirk.PARSES_JSON_TEXT not in context.traits.quirks and context.detected.format in ("messages", "sharegpt")
    ),
    kinds=CHATS,
)
def json_text(look: RowLook) -> Iterator[Fault]:
    """CON007: the column held JSON text, which few trainers parse."""
    data, column = look.inspection.row.data or {}, look.context.detected.fields.get("messages", "messages")
    if isinstance(data.get(column), str):
        form = "JSON text" if printed_list(data[column]) is None else "a Python list literal stored as text"
        yield Fault(f"`{shown(column, 40)}` is {form}, which this trainer does not parse", shown(data[column]))


CON006 = major(
    "ambiguous-columns",
    "the dataset has columns for two formats",
    "With both `prompt` and `messages`, trainers pick one; TRL picks the first item of a Python set, which depends on"
    " the hash seed.",
    data="remove the column that should not be trained",
    bad=case(*[{"prompt": "hi", **GOOD}] * 3),
)


@setup_check(CON006)
def two_formats(context: Context, sample: Sequence[Inspection]) -> Iterator[Fault]:
    """CON006: columns that each make a format of their own, in most rows, where none of them is named."""
    if context.recipe.data.format != "auto":
        return
    read = [inspection.row.data for inspection in sample if inspection.row.data is not None]
    cells = (cell for data in read for cell in data.items() if cell[1] not in (None, "", []))
    counts = Counter(column for column, value in cells if column in _FORMATS and _fits(column, value))
    common = [column for column, count in counts.items() if count * 2 > len(read)]
    kinds = {_FORMATS[column] for column in common}
    if len(kinds) < 2:
        return
    used = set(context.detected.fields.values())
    names = ", ".join(f"`{column}`" for column in common)
    others = [column for column in common if column not in used]
    what = f"the rows have {names}, each a separate format; sftui reads {context.detected.format}"
    yield Fault(what, names, title=f"remove {', '.join(f'`{other}`' for other in others)}", count=len(read))


def _fits(column: str, value: Any) -> bool:
    if column in ("messages", "conversations", "input_ids"):
        return isinstance(value, (list, tuple))
    # A prompt alone is a format only for trainers that find its answer elsewhere: TRL picks it before `messages`.
    return isinstance(value, (str, list, tuple))


CON011 = minor(
    "unknown-keys",
    "messages have keys that the template never reads",
    "Harmless in TRL, rejected by some services; Axolotl passes them on only if the template mentions them.",
    data="use a template that reads the key, if it should have an effect",
    bad=case(chat({"role": "user", "content": "hi", "mood": "glad"}, {"role": "assistant", "content": "Hello."})),
)


@setup_check(CON011)
def unread_keys(context: Context, sample: Sequence[Inspection]) -> Iterator[Fault]:
    """CON011: keys of messages that the template's source never names as one."""
    if context.template is None:
        return
    source = context.template.source
    known = {"role", "content", *FLAG_KEYS, *WEIGHT_KEYS, *REASONING, "tool_calls", *DETAIL_KEYS}
    known.update(context.recipe.data.message_keys.values())  # the trainer reads these itself
    messages = (message for row in sample if row.conversation is not None for message in row.conversation.messages)
    keys = {key for message in messages for key, value in message.data.items() if value is not None}
    names = sorted(key for key in keys if key not in known and not re.search(rf"""[.'"]{re.escape(key)}\b""", source))
    if names:
        names_shown = ", ".join(f"`{shown(key, 30)}`" for key in names[:6])
        yield Fault(f"messages have {names_shown}, which the chat template never reads", names_shown)


_ALPACA = {"instruction": "Capital of France?", "input": "", "output": "Paris."}
_SLOTS = {"render.template": "llamafactory/qwen"}

CON014 = fatal(
    "history-unpacked",
    "LLaMA-Factory trains on a history's keys instead of its text",
    "Each entry of `history` is unpacked into a question and an answer. A mapping with two keys yields the key names,"
    " a two-character string yields its characters, and nothing is rejected.",
    leads_to=Consequence.GARBLED,
    bad=case(
        {**_ALPACA, "history": [{"question": "Who?", "answer": "Me."}]}, preset="llamafactory@0.9", changes=_SLOTS
    ),
    good=case({**_ALPACA, "history": [["Who?", "Me."]]}, preset="llamafactory@0.9", changes=_SLOTS),
)


@row_check(
    CONVERSATION, CON014, shape=lambda shape, _: shape.extra, row=lambda look: UNPACKED in look.conversation.extra
)
def history_of_keys(look: RowLook) -> Iterator[Fault]:
    """CON014: the trainer unpacks each pair of the history, and a mapping gives the names of its keys."""
    unpacked: Mapping[int, str] = look.conversation.extra.get(UNPACKED, {})
    for number, what in unpacked.items():
        at = next((i for i, one in enumerate(look.messages) if one.place[-1:] == (number,)), None)
        if at is None or at + 1 >= len(look.messages):
            continue
        pair = " and ".join(f"`{shown(str(look.messages[i].content), 40)}`" for i in (at, at + 1))
        more = f" ({len(unpacked)} in this row)" if len(unpacked) > 1 else ""
        yield Fault(
            f"{look.messages[at].origin} is not a pair of texts: {look.context.traits.title} takes its {what}"
            f" {pair} as question and answer and trains on them{more}",
            pair,
            message=at,
            tokens=_place(look, at + 1),
        )


# Control characters but tab, line feed and carriage return; NUL; U+FFFD; lone surrogates; BOM; characters that are
# none.
_BROKEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffd-\uffff\ud800-\udfff\ufeff]")
# Bidi overrides and isolates, zero-width characters (the joiners of scripts and emoji aside), line separators, bullets
# of symbol fonts as PDFs leave them, and tag characters, which hide text, where no flag begins them.
_INVISIBLE = re.compile(
    "[\u202a-\u202e\u2066-\u2069\u200b\u2060-\u2064\u2028\u2029\u00ad\u3164\uf020-\uf0ff]"
    "|(?<![\U0001f3f4\U000e0020-\U000e007f])[\U000e0000-\U000e007f]"
)
# UTF-8 read as Latin-1 or cp1252: a lead byte's letter, then the letters of continuation bytes; the last are emoji.
_REST = (
    "\u0080-\u00bf\u0152\u0153\u0160\u0161\u0178\u017d\u017e\u0192\u02c6\u02dc\u2013\u2014"
    "\u2018-\u201e\u2020-\u2022\u2026\u2030\u2039\u203a\u20ac\u2122"
)
_MOJIBAKE = re.compile(
    f"[\u00c2-\u00c5\u00d0\u00d1][{_REST}]|\u00e2[\u0080\u20ac][\u0080-\u00bf\u2010-\u203a\u0152\u0153\u02dc\u2122]|\u00f0[\u009f\u0178][{_REST}]{{1,2}}"
)
# U+FFFD in UTF-8 read as GBK, and UTF-8 of Cyrillic read as cp1251.
_GBK, _CYRILLIC = re.compile("\u951f\u65a4\u62f7"), re.compile("(?:[\u0420\u0421][\u0080-\uffff]){3,}")
# A character with which one of all these begins.
_ANY = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffd-\uffff\ud800-\udfff\ufeff"
    "\u202a-\u202e\u2066-\u2069\u200b\u2060-\u2064\u2028\u2029\u00ad\u3164\uf020-\uf0ff\U000e0000-\U000e007f"
    "\u00c2-\u00c5\u00d0\u00d1\u00e2\u00f0\u951f\u0420\u0421]"
)
# LaTeX begins many commands with the two characters \n.
_LATEX = re.compile(
    r"\\n(?=(?:abla|e|eq|eg|u|i|ot|otin|mid|atural|orm|onumber|oindent|ewline|ewcommand|ewpage|olimits|parallel|prec|succ|sim|cong|exists"
    r"|[lg]eq|[lg]tr|less|sub|sup|subseteq|supseteq|earrow|warrow|(?:left)?(?:right)?arrow|ormalsize|vdash|vDash)(?![A-Za-z]))"
)
_ESCAPED, _NOT_ESCAPED = "\\n", ("\n", "\\\\", "\\t", "`")


CON008 = minor(
    "broken-characters",
    "broken or invisible characters in the text",
    "U+FFFD, lone surrogates, NUL, control characters, bidi overrides, zero-width characters or mojibake: usually left"
    " over from an earlier conversion, and the model learns them.",
    data="repair the encoding, or strip the characters",
    repair=(DROP,),
    bad=case(chat("hi", "Hel\u202elo\x1b[31m")),
    good=case(chat("hi", "Grüße, şu çay çok güzel – “ja”.")),
)


CON012 = minor(
    "escaped-line-breaks",
    "the text contains a literal \\n instead of a line break",
    "An escape was escaped twice: the model learns to print a backslash and an n.",
    data="replace the two characters with a line break",
    bad=case(chat("hi", "one\\ntwo\\nthree")),
    good=case(chat("hi", "one\ntwo\nthree")),
)


@row_check(
    CONVERSATION,
    CON008,
    CON012,
    signs=lambda *_: "\\" + CONTROL + WIDE,
    row=lambda look: _ESCAPED in look.spoken or _ANY.search(look.odd.decode("utf-8", "surrogatepass")),
    several=True,
)
def broken_characters(look: RowLook) -> Iterator[Fault]:
    """CON008 and CON012, one finding each a row."""
    broken = escaped = False
    for number, text, content in look.texts:
        if not broken and (not text.isascii() or _BROKEN.search(text)):
            match = _mojibake(text) or _BROKEN.search(text) or _INVISIBLE.search(text)
            if match:
                broken = True
                serious = match.re is not _INVISIBLE
                around = text[max(0, match.start() - 20) : match.end() + 20]
                yield Fault(
                    f"{look.name(number)} contains {_what(match)} at character {match.start()}",
                    shown(around),
                    message=number,
                    severity=Severity.WARNING if serious or match.group() in "\u202e\u202d" else None,
                    rule=CON008,
                )
        # JSON text of a call rightly writes its line breaks so.
        if content and not escaped and _ESCAPED in text and not any(sign in text for sign in _NOT_ESCAPED):
            bare = _LATEX.sub("", text)
            if bare.count(_ESCAPED) > 1:
                escaped = True
                at = bare.index(_ESCAPED)
                what = f"{look.name(number)} contains the characters \\n {bare.count(_ESCAPED)} times and no line break"
                yield Fault(what, shown(bare[max(0, at - 20) : at + 30]), message=number, rule=CON012)


def _mojibake(text: str) -> re.Match[str] | None:
    """A match only where most of the text's letters outside ASCII belong to such pairs: real words have few."""
    if (found := _GBK.search(text)) is not None:
        return found
    if (found := _CYRILLIC.search(text)) is not None and _read_as(text, "cp1251"):
        return found
    found = _MOJIBAKE.search(text)
    if found is None or _read_as(text, "cp1252") or _read_as(text, "latin-1"):
        return found
    pairs = sum(len(one) for one in _MOJIBAKE.findall(text))
    return found if pairs >= 4 and pairs * 2 > sum(not char.isascii() for char in text) else None


def _read_as(text: str, encoding: str) -> bool:
    """Whether the text is UTF-8 that was read in this encoding: no other text stays whole on the way back."""
    try:
        return text.encode(encoding).decode("utf-8") != text
    except UnicodeError:
        return False


_KINDS = (
    (0xFFFD, 0xFFFD, "the replacement character"),
    (0xFEFF, 0xFEFF, "a byte order mark"),
    (0, 0, "a NUL"),
    (0xF020, 0xF0FF, "a character of a symbol font"),
    (0xD800, 0xDFFF, "a lone surrogate"),
    (0, 0x9F, "a control character"),
    (0xA0, 0x10FFFF, "an invisible character"),
)
"""What characters are, from the first to the last of each kind."""


def _what(match: re.Match[str]) -> str:
    if match.re in (_MOJIBAKE, _GBK, _CYRILLIC):
        return f"what looks like UTF-8 decoded with the wrong encoding ({shown(match.group(), 20)})"
    code = ord(match.group())
    return f"{next(what for first, last, what in _KINDS if first <= code <= last)} U+{code:04X}"
