"""Characters that are broken, invisible, or the two signs of an escape where a line break was meant."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sftui.findings.checks import Fault, RowCondition, row_check
from sftui.findings.examples import case, chat
from sftui.findings.look import RowLook, shown
from sftui.findings.model import Severity
from sftui.findings.rule import DROP, minor

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
_CONTROL = bytes(code for code in (*range(0x20), 0x7F) if code not in b"\t\n\r")
# LaTeX begins many commands with the two characters \n.
_LATEX = re.compile(
    r"\\n(?=(?:abla|e|eq|eg|u|i|ot|otin|mid|atural|orm|onumber|oindent|ewline|ewcommand|ewpage|olimits|parallel|prec|succ|sim|cong|exists"
    r"|[lg]eq|[lg]tr|less|sub|sup|subseteq|supseteq|earrow|warrow|(?:left)?(?:right)?arrow|ormalsize|vdash|vDash)(?![A-Za-z]))"
)
_ESCAPED = "\\n"


CON008 = minor(
    "CON008",
    "broken-characters",
    "broken or invisible characters in the text",
    "U+FFFD, lone surrogates, NUL, control characters, bidi overrides, zero-width characters or mojibake: usually"
    " an accident of an earlier conversion, and the model learns it.",
    data="repair the encoding, or strip the characters",
    repair=(DROP,),
    bad=case(chat("hi", "Hel\u202elo\x1b[31m")),
    good=case(chat("hi", "Grüße, şu çay çok güzel – “ja”.")),
)


CON012 = minor(
    "CON012",
    "escaped-line-breaks",
    "the text has the two characters \\n where a line break was meant",
    "An escape that was escaped twice: the model learns to print a backslash and an n.",
    data="replace the two characters with a line break",
    bad=case(chat("hi", "one\\ntwo\\nthree")),
    good=case(chat("hi", "one\ntwo\nthree")),
)


@row_check(RowCondition.CONVERSATION, CON008, CON012, row=lambda look: _may_be_broken(look.spoken), several=True)
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
                    f"{_name(look, number)} holds {_what(match)} at character {match.start()}",
                    message=number,
                    evidence=shown(around),
                    severity=Severity.WARNING if serious or match.group() in "\u202e\u202d" else None,
                    rule=CON008,
                )
        # JSON text of a call rightly writes its line breaks so.
        if (
            content
            and not escaped
            and _ESCAPED in text
            and "\n" not in text
            and "\\\\" not in text
            and "\\t" not in text
            and "`" not in text
        ):
            bare = _LATEX.sub("", text)
            if bare.count(_ESCAPED) > 1:
                escaped = True
                at = bare.index(_ESCAPED)
                yield Fault(
                    f"{_name(look, number)} holds the characters \\n {bare.count(_ESCAPED)} times and no line break",
                    message=number,
                    evidence=shown(bare[max(0, at - 20) : at + 30]),
                    rule=CON012,
                )


def _may_be_broken(text: str) -> bool:
    if "\\" in text and _ESCAPED in text:
        return True
    if text.isascii():
        return len(text.encode().translate(None, _CONTROL)) != len(text)
    return _ANY.search(text) is not None


def _mojibake(text: str) -> re.Match[str] | None:
    """A match only where most of the text's letters outside ASCII belong to such pairs: real words have few."""
    if (found := _GBK.search(text)) is not None:
        return found
    if (found := _CYRILLIC.search(text)) is not None and _read_as(text, "cp1251"):
        return found
    found = _MOJIBAKE.search(text)
    if found is None:
        return None
    if _read_as(text, "cp1252") or _read_as(text, "latin-1"):
        return found
    pairs = sum(len(one) for one in _MOJIBAKE.findall(text))
    return found if pairs >= 4 and pairs * 2 > sum(not char.isascii() for char in text) else None


def _read_as(text: str, encoding: str) -> bool:
    """Whether the text is UTF-8 that was read in this encoding: no other text stays whole on the way back."""
    try:
        return text.encode(encoding).decode("utf-8") != text
    except UnicodeError:
        return False


def _what(match: re.Match[str]) -> str:
    if match.re in (_MOJIBAKE, _GBK, _CYRILLIC):
        return f"what looks like UTF-8 read as another encoding ({shown(match.group(), 20)})"
    code = ord(match.group())
    kind = {0xFFFD: "the replacement character", 0xFEFF: "a byte order mark", 0: "a NUL"}.get(code)
    if kind is None:
        if 0xF020 <= code <= 0xF0FF:
            kind = "a character of a symbol font"
        else:
            kind = (
                "a lone surrogate"
                if 0xD800 <= code <= 0xDFFF
                else "an invisible character"
                if code > 0x9F
                else "a control character"
            )
    return f"{kind} U+{code:04X}"


def _name(look: RowLook, number: int | None) -> str:
    if number is None:
        return "the text"
    return f"message {number}" if look.messages else ("the prompt", "the completion")[number]
