"""What a template writes between two contents: terminator, separator, header, or text of its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any

from sftui.model import NOWHERE, Part, Span, common_prefix
from sftui.templates.rendering.marks import make_mark

# Special tokens by their looks, for tokenizers whose list of them is short: <|…|>, <｜…｜>, <|… and …|> (Gemma 4),
# gemma's turns, [INST].
_LOOKS_SPECIAL = (
    r"<\|(?=[^|]*\w)[^|<>\s]{1,60}\|>|<｜[^｜<>\s]{1,60}｜>|<\|\w{1,60}>|<\w{1,60}\|>"
    r"|<(?:start|end)_of_turn>|</?s>|<eos>|<bos>|\[/?(?:INST|SYSTEM_PROMPT)\]"
)
# Tags of tools and thoughts are tokens of some vocabularies, but no turn ends with one.
_TAG = re.compile(r"</?\w*(?:think|tool)\w*>")
# What opens a result is the next turn's, even where a template writes it behind the call that waits for it (Gemma 4).
_RESULT = re.compile(r"<\|tool\w*>")
_THINK = re.compile(r"<think>|\[THINK\]|<seed:think>|◁think▷")
_THOUGHT = re.compile(r"</think>|\[/THINK\]|</seed:think>|◁/think▷")
_WHITE = re.compile(r"\s*")
_BLANK = re.compile(r"\s")


@lru_cache(maxsize=16)
def special_pattern(literals: tuple[str, ...]) -> re.Pattern[str]:
    """What ends a turn: the special tokens of a tokenizer, and what looks like one."""
    # One without a letter quotes (Gemma 4's <|"|>): it ends no turn either.
    ends = (one for one in literals if any(letter.isalnum() for letter in one) and not _TAG.fullmatch(one))
    known = sorted(ends, key=len, reverse=True)
    return re.compile("|".join([*map(re.escape, known), _LOOKS_SPECIAL]))


def opener_of(text: str, special: re.Pattern[str], bos: str) -> str:
    """The first special token of a text behind its BOS, which opens turns."""
    first = special.search(text, len(bos) if text.startswith(bos) else 0)
    return first.group() if first else ""


def writes_thoughts(text: str) -> bool:
    """Whether the template writes a tag that opens a thought."""
    return _THINK.search(text) is not None


class GapComparison:
    """How a text is held against what other renders gave."""

    def starts(self, text: str, with_: str) -> bool:
        return text.startswith(with_)

    def ends(self, text: str, with_: str) -> bool:
        return text.endswith(with_)

    def trimmed(self, text: str) -> str:
        return text.rstrip()

    def between(self, gap: str) -> None:
        """Told each stretch between contents."""

    def behind(self, tail: str) -> None:
        """Told what another render wrote behind the same beginning."""


@dataclass(eq=False)
class GapReader:
    """Splits the stretches between contents; renders leading messages alone, each kind of gap once."""

    text: str
    messages: Sequence[Mapping[str, Any]]
    draw: Callable[[Sequence[Mapping[str, Any]]], str | None]
    literals: Sequence[str]
    bos: str
    probes: int
    comparing: GapComparison

    def __post_init__(self) -> None:
        self._special = special_pattern(tuple(self.literals))
        self._opener = opener_of(self.text, self._special, self.bos)
        self._borders: dict[tuple[str, str], int | None] = {}
        self._terminators: set[str] = set()

    def between(self, start: int, end: int, before: int | None, after: int | None) -> list[Span]:
        """Spans of `text[start:end]`, which follows message `before` and leads to message `after`."""
        spans: list[Span] = []
        self.comparing.between(self.text[start:end])
        if before is None:
            bos = (
                len(self.bos)
                if self.bos and self.text.startswith(self.bos, start) and start + len(self.bos) <= end
                else 0
            )
            spans.append(Span(start, start + bos, NOWHERE, Part.BOS))
            start += bos
        else:
            said, stop, border = self._end_of_turn(start, end, before, after)
            spans.append(Span(start, said, before, Part.CONTENT))
            start = said
            spans.append(Span(start, stop, before, Part.TERMINATOR))
            spans.append(Span(stop, border, before, Part.SEPARATOR))
            if stop > start:
                self._terminators.add(self.text[start:stop])
            start = border
        return spans + (
            self._closing(start, end, before) if after is None else self._opening(start, end, before, after)
        )

    def _end_of_turn(self, start: int, end: int, before: int, after: int | None) -> tuple[int, int, int]:
        """Where the terminator begins, where it ends, and where the white space after it does."""
        gap = self.text[start:end]
        # Messages behind the last one shown may have left their headers.
        last = before == len(self.messages) - 1
        border = self._last_border(gap, start) if last else self._border(gap, start, before)
        sure = border is not None
        if last and border is None:
            border = len(gap)
        limit = len(gap) if border is None else border
        literal = self._special.search(gap, 0, limit)
        said = 0
        if literal is not None and self.messages[before].get("tool_calls"):
            # What closes the call after its last argument was said by the assistant too.
            literal = literal if border is None else self._behind_calls(gap, limit, sure) or literal
            said = literal.start()
        if literal is not None:
            stop = literal.end() if border is None else self._whole_end(gap, literal.end(), limit, sure)
        elif border is None and any(gap.startswith(known) for known in self._terminators):
            stop = max(len(known) for known in self._terminators if gap.startswith(known))
        elif border is not None and after is not None:
            stop = len(gap[:limit].rstrip())
        else:
            stop = 0 if after is not None or not gap.strip() else len(gap.rstrip())
        white = _WHITE.match(gap, stop, limit if border is not None else len(gap))
        return start + said, start + stop, start + (white.end() if white else stop)

    def _opens(self, literal: re.Match[str], sure: bool = False) -> bool:
        """Whether a special token opens a turn, inside what is surely this one or not.

        A template may write the next header without being asked (Command R7B), or open its arguments alike (Kimi K3).
        """
        return (not sure and literal.group() == self._opener) or _RESULT.fullmatch(literal.group()) is not None

    def _whole_end(self, gap: str, stop: int, limit: int, sure: bool) -> int:
        """The end of the special tokens that go on without a blank, text between them or not (Cohere, Kimi K3), before
        a new turn's."""
        for literal in self._special.finditer(gap, stop, limit):
            if _BLANK.search(gap, stop, literal.start()) or self._opens(literal, sure):
                break
            stop = literal.end()
        return stop

    def _behind_calls(self, gap: str, limit: int, sure: bool) -> re.Match[str] | None:
        """The last of the special tokens that stand side by side behind the last text: those before it close calls
        (DeepSeek)."""
        run: list[re.Match[str]] = []
        at = 0
        for literal in self._special.finditer(gap, 0, limit):
            if run and self._opens(literal, sure):
                return run[-1]
            if gap[at : literal.start()].strip():
                run = []
            if not run or run[-1].end() == literal.start():
                run.append(literal)
            at = literal.end()
        return run[-1] if run and not gap[at:limit].strip() else None

    def _last_border(self, gap: str, start: int) -> int | None:
        """How much of the last gap stays when a question follows; None where that says nothing, or one token ends it
        anyway."""
        if self.probes <= 0 or len(list(islice(self._special.finditer(gap), 2))) < 2:
            return None
        self.probes -= 1
        followed = self.draw([*self.messages, {"role": "user", "content": make_mark(self.text, "n")}])
        tail = self._tail(followed, start)
        return None if tail is None else self._common(gap, tail) or None

    def _tail(self, drawn: str | None, start: int) -> str | None:
        """What another render wrote behind the same beginning; None where it began otherwise."""
        if drawn is None or not self.comparing.starts(drawn, self.text[:start]):
            return None
        tail = drawn[start:]
        self.comparing.behind(tail)
        return tail

    def _border(self, gap: str, start: int, before: int) -> int | None:
        """How much of a gap the leading messages alone write too: there the next message begins."""
        key = (gap, str(self.messages[before].get("role")))
        if key not in self._borders:
            self._borders[key] = self._measure(gap, start, before)
        return self._borders[key]

    def _measure(self, gap: str, start: int, before: int) -> int | None:
        if self.probes <= 0:
            return None
        self.probes -= 1
        tail = self._tail(self.draw(self.messages[: before + 1]), start)
        if tail is None:
            return None
        common = self._common(gap, tail)
        # A last message may end otherwise than an earlier one (gpt-oss: <|return|>, <|end|>): then this says nothing.
        return None if common == 0 and tail.strip() else common

    def _common(self, gap: str, tail: str) -> int:
        """The length of what both begin with, no special token cut in two and none at its end that opens a turn."""
        common = common_prefix(gap, tail)
        for string in (gap, tail):
            for literal in self._special.finditer(string):
                if literal.start() < common < literal.end():
                    common = literal.start()
        opened = self._opener and gap.endswith(self._opener, 0, common) and common < len(gap)
        return common - len(self._opener) if opened else common

    def _opening(self, start: int, end: int, before: int | None, after: int) -> list[Span]:
        """Header of the next message, and before or after it what the template says by itself."""
        head = self.text[start:end]
        own = 0
        for terminator in self._ends():
            at = head.rfind(terminator)
            if at >= 0:
                white = _WHITE.match(head, at + len(terminator))
                own = max(own, white.end() if white else 0)
        literal = max(self._special.finditer(head, own), key=lambda match: match.start(), default=None)
        stop = len(head)
        if literal is not None:
            white = _WHITE.match(head, literal.end())
            stop = white.end() if white else literal.end()
            if stop == literal.end():
                line = head.find("\n", stop)
                stop = len(head) if line < 0 else line + 1
        think = _THINK.search(head, own)
        if think is not None:
            stop = min(stop, think.start())
        elif self.messages[after].get("role") not in ("system", "developer") or not head[stop:].strip():
            stop = len(head)
        message = self.messages[after]
        thinks = any(message.get(key) for key in ("reasoning_content", "thinking", "reasoning")) or "</think>" in str(
            message.get("content")
        )
        # An opening tag before a thought of the message is its own; a block already closed again is the template's.
        if think is not None and thinks and not _THOUGHT.search(head, stop):
            rest = Span(start + stop, end, after, Part.CONTENT)
        else:
            rest = Span(start + stop, end, NOWHERE, Part.INJECTED)
        return [
            Span(start, start + own, NOWHERE, Part.INJECTED),
            Span(start + own, start + stop, after, Part.HEADER),
            rest,
        ]

    def _ends(self) -> set[str]:
        """Terminators that are one special token, seen so far or ending the first message."""
        return {stripped for t in self._terminators if (stripped := t.strip()) and self._special.fullmatch(stripped)}

    def _closing(self, start: int, end: int, before: int | None) -> list[Span]:
        """What follows the last message: an EOS of the template still ends its turn."""
        rest = self.text[start:end]
        literal = self._special.match(rest)
        if literal is None or before != len(self.messages) - 1 or self._opens(literal):
            return [Span(start, end, NOWHERE, Part.INJECTED)]
        stop = start + literal.end()
        white = _WHITE.match(self.text, stop, end)
        border = white.end() if white else stop
        return [
            Span(start, stop, before, Part.TERMINATOR),
            Span(stop, border, before, Part.SEPARATOR),
            Span(border, end, NOWHERE, Part.INJECTED),
        ]
