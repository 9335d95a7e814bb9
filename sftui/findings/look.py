"""One row as the checks see it: what several of them need is worked out once."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import compress
from typing import Any, NamedTuple, TypeVar

from sftui.conversations.messages import parse_json
from sftui.findings.calls import Call, Tools, calls_of, declared, spoken_calls
from sftui.findings.context import Context
from sftui.findings.shapes import PARTS, Mask, MessageSummary, RowShape, read, signature_of, stretches
from sftui.findings.words import cover, texts
from sftui.model import NOWHERE, Conversation, Cut, Inspection, Kind, Labels, Message, Part, RenderedText, Tokens
from sftui.runs import Stretch, covered, joined, together
from sftui.text import visible, visible_token
from sftui.tokens import LoadedTokenizer, TextEncoding, surface, surfaces
from sftui.trainers.traits import MessageKind
from sftui.values import lazy

SHOWN_TOKENS = 24
MOST_STRETCHES = 400
"""Of how many stretches, messages and columns a shape may be, so that what is tried on its rows is remembered."""
MOST_SHAPES = 2_000
"""How many are remembered at a time: a hostile set has a new one in every row."""


class Spelling:
    """The tokens of a row with what is asked of how each is written."""

    def __init__(self, tokens: Tokens, rendered: RenderedText, context: Context) -> None:
        self._tokens, self._text, self._context = tokens, rendered.text, context
        self._tokenizer = context.tools.tokenizer

    def piece(self, i: int) -> str:
        """The vocabulary string of one token."""
        return self._tokenizer.piece(self._tokens.ids[i])

    def surface(self, i: int) -> bytes:
        """The bytes one token stands for; empty where unknown."""
        return surface(self._tokens, i, self._text, self._tokenizer)

    @lazy
    def surfaces(self) -> tuple[bytes, ...]:
        """The same of all of them."""
        return surfaces(self._tokens, self._text, self._tokenizer)

    def token(self, i: int) -> str:
        """One token as a cell shows it."""
        return visible_token(self.surface(i), self.piece(i))

    def quote(self, start: int, end: int) -> str:
        """A range of tokens, each in its own brackets, long ones cut in the middle."""
        where = list(range(max(0, start), min(end, len(self._tokens))))
        if len(where) > SHOWN_TOKENS:
            half = SHOWN_TOKENS // 2
            return self.quote(where[0], where[half]) + " … " + self.quote(where[-half], where[-1] + 1)
        return "".join(f"[{self.token(i)}]" for i in where)

    def blank(self, i: int) -> bool:
        """Whether a token stands for white space only."""
        surface = self.surface(i)
        return bool(surface) and not self.is_special(i) and not surface.strip()

    @lazy
    def cut_out(self) -> bool:
        """Whether the tokens are known to be the rendered text, cut, whatever was put around it (see `model.Cut`)."""
        ends, size = self._tokens.ends, len(self._text)
        if type(ends) is not Cut or (ends and ends[-1] == size):
            return type(ends) is Cut
        return next((end for end in reversed(ends) if end != NOWHERE), 0) == size

    # --- added tokens that are marked special -----------------------------------------------------

    def is_special(self, i: int) -> bool:
        """Whether one token is one."""
        return self._tokenizer.is_special(self._tokens.ids[i])

    @lazy
    def special_ids(self) -> frozenset[int]:
        """Those that the row has."""
        return self._tokenizer.special_ids.intersection(self._tokens.ids)

    @lazy
    def special(self) -> tuple[int, ...]:
        """Their places, in order."""
        return tuple(self.special_in(0, len(self._tokens)))

    def special_in(self, start: int, end: int) -> Iterable[int]:
        """The same among some tokens. Where these are the text, cut, its marks stand there in writing, and to look for
        them takes a third of the time of looking at every id."""
        ids, starts, special = self._tokens.ids, self._tokens.starts, self._tokenizer.special_ids
        if not (special and self.cut_out):
            return compress(range(start, end), map(special.__contains__, ids[start:end]))
        marks = self._tokenizer.special_pieces.values()
        find = self._context.once("special marks", lambda: re.compile("|".join(map(re.escape, cover(marks)))).finditer)
        front, past = start, end
        while front < past and starts[front] == NOWHERE:
            front += 1
        while front < past and starts[past - 1] == NOWHERE:
            past -= 1
        found = find(self._text, starts[front], self._tokens.ends[past - 1]) if front < past else ()
        inside = dict.fromkeys([bisect_right(starts, match.start(), front, past) - 1 for match in found])
        return [at for at in (*range(start, front), *inside, *range(past, end)) if ids[at] in special]


T = TypeVar("T")
SHOWN_TEXT, SHOWN_IDS = 80, 12
CONTROL, WIDE = "\0", "\x80"
"""What stands for any control character, and for any that is not ASCII."""
TAG, HUMAN, JSON = "\x01\x02\x03"
"""What stands for a `<` or `[` that a mark may begin with, since none is followed by a digit or a space, and for
words."""
SIGNS = frozenset(("<", ">", "[", "]", "|", "\\", "`", "{", "(", "#", CONTROL, WIDE, TAG, HUMAN, JSON))
"""What a check may say that it looks for in the texts of a row (see `RowCheck`)."""
_BRACKETS = (("<", re.compile(r"<[^\s\d<>]").search), ("[", re.compile(r"\[[^\s\d\[\]]").search))
_WORDS = (("Human", HUMAN), ("JSON", JSON))
_PLAIN = bytes(code for code in (*b"\t\n\r", *range(0x20, 0x7F)) if chr(code) not in SIGNS)
_SIGN_OF = bytes(ord(CONTROL) if code < 0x20 or code == 0x7F else min(code, ord(WIDE)) for code in range(256))


class MessageTokens(NamedTuple):
    """One message in tokens: half-open ranges of its parts, empty where it has none."""

    message: int
    role: str
    header: tuple[int, int]
    content: tuple[int, int]
    terminator: tuple[int, int]
    separator: tuple[int, int]

    @property
    def has_content(self) -> bool:
        return self.content[1] > self.content[0]

    @property
    def end(self) -> int:
        """Behind the last token of content and terminator."""
        return max(self.content[1], self.terminator[1])


def _made(found: T | None, what: str) -> T:
    """What a stage made of the row; ValueError for a check that asks for what its row did not reach."""
    if found is None:
        raise ValueError(f"the row failed before it had a {what}")
    return found


class RowLook:
    """An inspection with what checks ask of it; every property is computed at most once.

    Findings of the codes `counted` need no words: whoever asks counts them alone.
    """

    def __init__(self, inspection: Inspection, context: Context, *, counted: Collection[str] = ()) -> None:
        self.inspection = inspection
        self.context = context
        self.recipe = context.recipe
        self.facts = context.facts
        self.counted = counted

    @lazy
    def conversation(self) -> Conversation:
        return _made(self.inspection.conversation, "conversation")

    @property
    def sides(self) -> tuple[RowLook, ...]:
        """The row, or the chosen and the rejected side of a preference, each as a row by itself."""
        return (self,) if self.inspection.rejected is None else self._sides

    @lazy
    def _sides(self) -> tuple[RowLook, ...]:
        return tuple([RowLook(one, self.context) for one in self.inspection.alone])

    @lazy
    def refusal(self) -> str:
        """Why it stopped, in words."""
        return _made(self.inspection.problem, "problem").sentence()

    @property
    def messages(self) -> tuple[Message, ...]:
        found = self.inspection.conversation
        return found.messages if found is not None else ()

    @lazy
    def read(self) -> MessageSummary:
        """What one go through the messages tells."""
        return read(self.messages)

    @property
    def roles(self) -> tuple[str, ...]:
        return self.read.roles

    @lazy
    def shape(self) -> RowShape:
        """What the row has in common with others that have the same order of roles and the same mask."""
        known: dict[RowShape, RowShape] = self.context.once("shapes", dict)
        shape = self._shape()
        if max(len(shape.parts), len(shape.roles), len(shape.columns)) > MOST_STRETCHES:
            return shape
        if len(known) > MOST_SHAPES:
            known.clear()
        return known.setdefault(shape, shape)

    def _shape(self) -> RowShape:
        inspection = self.inspection
        conversation, stopped, data = inspection.conversation, inspection.stopped_at, inspection.row.data or {}
        ids = "input_ids" in data or self.context.detected.fields.get("input_ids") in data
        columns, types = tuple(data), tuple(map(type, data.values()))
        if conversation is None:
            return RowShape(None, stopped, ids, columns, types)
        labels, rendered, boundary = inspection.labels, inspection.rendered, inspection.boundary
        kind, (roles, _, manner) = conversation.kind, self.read
        offered, more = bool(conversation.tools), bool(conversation.extra)
        early = (kind, stopped, ids, columns, types, rendered is not None, roles, manner, offered, more)
        if labels is None or rendered is None or inspection.tokens is None:
            return RowShape(*early)
        kept, n, mask = labels.kept, len(self.tokens), self.mask
        whole = kept == ((0, n),) or (len(kept) > 1 and covered(kept) == n)
        _, _, messages, parts = tuple(zip(*self.stretches)) or ((), (), (), ())
        return RowShape(
            *early,
            True,
            self.known,
            whole,
            labels.dropped is not None,
            rendered.pieces is not None,
            boundary is not None and not boundary.clean,
            rendered.text.isascii(),
            self.spelling.cut_out,
            mask.trained > 0,
            messages,
            parts,
            mask.extents,
        )

    @lazy
    def texts(self) -> Sequence[tuple[int | None, str, bool]]:
        """Every text of the conversation (see `words.texts`)."""
        return texts(self.conversation)

    @lazy
    def spoken(self) -> str:
        """All of them, one under the other: what is not in it stands in none of them."""
        found = self.conversation
        return "\n".join(
            [*self.read.said, *[one for one in (found.prompt, found.completion, found.text) if one is not None]]
        )

    @lazy
    def written(self) -> Sequence[tuple[int, str]]:
        """What the model says as content, with its message: of each answer of a chat, or of the completion."""
        completion = self.conversation.completion
        if completion is not None:
            return ((1, completion),)
        contents = [(number, self.messages[number].data.get("content")) for number in self.shape.order.answers]
        return [(number, said) for number, said in contents if isinstance(said, str)]

    def name(self, number: int | None) -> str:
        """A message in words, or a text of a row without any."""
        if number is None:
            return "the text"
        return f"message {number}" if self.messages else ("the prompt", "the completion")[number]

    @lazy
    def odd(self) -> bytes:
        """What of these texts is no plain character: signs of which marks are made, control characters, and all that is
        not ASCII."""
        return self.spoken.encode("utf-8", "surrogatepass").translate(None, _PLAIN)

    @lazy
    def signs(self) -> frozenset[str]:
        """The signs of `SIGNS` among it: a check that looks for others finds nothing (see `RowCheck`)."""
        if self.inspection.conversation is None:
            return frozenset()
        spoken = self.spoken
        found = {*self.odd.translate(_SIGN_OF).decode("latin-1")}
        found.update([sign for word, sign in _WORDS if word in spoken])
        if any([sign in found and search(spoken) for sign, search in _BRACKETS]):
            found.add(TAG)
        return frozenset(found)

    @lazy
    def calls(self) -> Mapping[int, Sequence[Call]]:
        """The tool calls of the messages that make some."""
        kind_of = self.context.traits.kind_of
        reads = [spoken_calls if kind_of(role) is MessageKind.CALL else calls_of for role in self.roles]
        found = zip(self.messages, reads) if self.read.manner.called or spoken_calls in reads else ()
        return {number: calls for number, (message, read) in enumerate(found) if (calls := read(message))}

    @lazy
    def tools(self) -> Tools:
        """What several checks ask of the row's list of tools, once for all rows that have the same."""
        return declared(self.conversation.tools)

    @lazy
    def signature(self) -> str:
        """The roles in order, as waivers are held against."""
        return _signature_of(self.roles)

    @lazy
    def placed(self) -> frozenset[int]:
        """The messages whose content has a place in the rendering; NOWHERE for content of no message."""
        content = Part.CONTENT
        return frozenset([span.message for span in self.rendered.spans if span.part is content])

    @lazy
    def raw_messages(self) -> Sequence[Any] | None:
        """The list of messages as the row holds it, or None."""
        data, detected = self.inspection.row.data, self.context.detected
        if data is None or detected.format not in ("messages", "sharegpt"):
            return None
        value = data.get(detected.fields.get("messages", "messages"))
        value = parse_json(value) if isinstance(value, str) else value
        return value if isinstance(value, (list, tuple)) else None

    @lazy
    def messages_beside(self) -> Sequence[Mapping[str, Any]]:
        """The messages that a row of text or of ids holds besides; empty where some are none."""
        data = self.inspection.row.data or {}
        found = next((data[name] for name in ("messages", "conversations") if isinstance(data.get(name), list)), ())
        sound = all(isinstance(one, Mapping) and isinstance(one.get("role"), str) for one in found)
        return found if sound else ()

    @property
    def chat(self) -> bool:
        found = self.inspection.conversation
        return found is not None and found.kind is Kind.CHAT

    @property
    def stored(self) -> bool:
        found = self.inspection.conversation
        return found is not None and found.kind is Kind.TOKENS

    @lazy
    def rendered(self) -> RenderedText:
        return said_once(_made(self.inspection.rendered, "rendered text"))

    @lazy
    def tokens(self) -> Tokens:
        return tokens_once(_made(self.inspection.tokens, "tokenization"))

    @lazy
    def seam(self) -> tuple[int, int] | None:
        """The tokens at the end of a preference's prompt that are put in place of what the whole has there, as TRL did
        before 1.15; None where they are the whole's."""
        prompt, starts = self.tokens.prompt, self.tokens.starts
        if prompt is None or self.recipe.supervised or self.recipe.mask.boundary != "prompt_length":
            return None
        at = min(len(prompt), len(starts))
        while at and starts[at - 1] == NOWHERE:
            at -= 1
        return None if at == len(prompt) else (at, len(prompt))

    @lazy
    def encoded_again(self) -> TextEncoding:
        """What the tokenizer makes of the row's text by itself, beside the ids that the row holds."""
        return self.context.tools.tokenizer.encode(self.rendered.text)

    @lazy
    def labels(self) -> Labels:
        return _made(self.inspection.labels, "labelling")

    @property
    def known(self) -> bool:
        """Whether it is proven who wrote which character; checks by message abstain where not."""
        rendered = self.inspection.rendered
        return rendered is not None and rendered.exact and bool(rendered.spans)

    @lazy
    def message_spans(self) -> Mapping[int, tuple[int, int]]:
        """The characters of the text from the first to the last that are proven to be of each message."""
        found: dict[int, tuple[int, int]] = {}
        for start, end, message, _ in self.rendered.spans if self.known else ():
            found[message] = found.get(message, (start,))[0], end  # spans are in order
        return found

    @property
    def cut(self) -> bool:
        """Whether the trainer receives fewer tokens than there are."""
        return self.inspection.cut > 0

    @lazy
    def padding(self) -> int:
        """Where the padding that a stored row brings at its end begins: attention 0, or pad tokens; else behind the
        last token."""
        ids = self.tokens.ids
        n = len(ids)
        if not self.stored:
            return n
        attention, pad = self.conversation.attention_mask, self.facts.pad_id
        if attention is not None and len(attention) == n:
            while n and not attention[n - 1]:
                n -= 1
        end = n
        while end and ids[end - 1] == pad:
            end -= 1
        # Where the pad token is a stop as well, the first of the run ends the row; two may be one stop too many
        # (EOS007).
        if pad in self.context.stops:
            return end + 1 if n - end > 2 else n
        return end

    @lazy
    def turns(self) -> tuple[MessageTokens, ...]:
        """The messages that stand in the text, in order; empty where who wrote what is not known, or where the row did
        not get to labels."""
        if not self.known or not self.chat or self.inspection.tokens is None or self.inspection.labels is None:
            return ()
        placed, firsts, lasts = self.shape.placed_parts
        starts, ends = [0, *[one[0] for one in self.stretches]], [0, *[one[1] for one in self.stretches]]
        ranges = zip(map(starts.__getitem__, firsts), map(ends.__getitem__, lasts))
        return tuple([MessageTokens(n, self.roles[n], *four) for n, four in zip(placed, zip(*[ranges] * len(PARTS)))])

    def tokens_over(self, start: int, end: int) -> list[int]:
        """The tokens that write some characters of the text."""
        places = zip(self.tokens.starts, self.tokens.ends)
        return [i for i, (begin, until) in enumerate(places) if begin < end and until > start]

    @lazy
    def stretches(self) -> Sequence[Stretch]:
        """The tokens that follow each other and are of one message and one part."""
        return stretches(self.tokens)

    @lazy
    def mask(self) -> Mask:
        """What the mask trains, before anything is cut."""
        return Mask(self.labels, self.stretches)

    def inside_character(self, i: int) -> bool:
        """Whether a token goes on with the character of the one before, each of some of its bytes."""
        starts, ends = self.tokens.starts, self.tokens.ends
        return starts[i] == starts[i - 1] != NOWHERE and ends[i] == ends[i - 1] == starts[i] + 1

    def trains(self, place: tuple[int, int]) -> bool:
        """Whether some token of a range is trained."""
        return True in self.mask.drawn[slice(*place)]

    @lazy
    def spelling(self) -> Spelling:
        """How the tokens are written."""
        return Spelling(self.tokens, self.rendered, self.context)

    @lazy
    def special_trained(self) -> Sequence[int]:
        """The places of special tokens that the mask trains."""
        if self.mask.trained == self.mask.size:
            return self.spelling.special
        return [at for start, end in self.mask.runs for at in self.spelling.special_in(start, end)]

    @lazy
    def turn_of(self) -> Mapping[int, MessageTokens]:
        """The turns by the number of their message."""
        return {turn.message: turn for turn in self.turns}

    @lazy
    def answers(self) -> tuple[MessageTokens, ...]:
        """The turns of what the model says."""
        return tuple(turn for turn in self.turns if turn.role in self.context.traits.answering)

    @lazy
    def row_stops(self) -> frozenset[int]:
        """The stop set, with the special tokens that end the assistant's turns in this row; one that begins the next
        turn is none."""
        ids, special = self.tokens.ids, self.context.tools.tokenizer.special_ids
        own = set().union(*[ids[turn.terminator[0] : turn.terminator[1]] for turn in self.answers])
        return self.context.stops | (own & special - self.context.opening)


_signature_of = lru_cache(maxsize=1000)(signature_of)


def sign_of_special(shape: RowShape, context: Context) -> str:
    """The sign without which the texts of a row bring no special token; "" where that tells nothing."""
    by_text = shape.kind in (Kind.CHAT, Kind.STRINGS) and shape.known and shape.cut_out and not shape.manner.other
    return TAG if by_text and context.once("special are tags", lambda: _are_tags(context)) else ""


def _are_tags(context: Context) -> bool:
    pieces = context.tools.tokenizer.special_pieces.values()
    return all(any(search(piece[:2]) for _, search in _BRACKETS) for piece in pieces)


def shown(text: str, width: int = SHOWN_TEXT) -> str:
    """Text of the data, safe and of bearable length."""
    return visible(text if len(text) <= width else text[: width - 1] + "…")


def said_once(rendered: RenderedText) -> RenderedText:
    """The text with the spans of messages that an earlier sample holds marked as nobody's."""
    if not rendered.samples:
        return rendered
    seen: set[int] = set()
    spans, at, left = [], 0, list(rendered.spans)
    for sample in rendered.samples:
        at += len(sample.text)
        own = [span for span in left if span.end <= at]
        left = left[len(own) :]
        spans += [span._replace(message=NOWHERE, part=Part.INJECTED) if span.message in seen else span for span in own]
        seen |= {span.message for span in own} - {NOWHERE}
    return replace(rendered, spans=(*spans, *left))


def tokens_once(tokens: Tokens) -> Tokens:
    """The same of tokens."""
    if not tokens.samples or not tokens.placed:
        return tokens
    owners: list[tuple[int, int, Part]] = []
    seen: set[int] = set()
    for sample in tokens.samples:
        messages = tokens.messages[sample.start : sample.end]
        own = list(together(messages, tokens.parts[sample.start : sample.end]))
        for start, end, message, part in own:
            again = message in seen
            owners.append((end - start, NOWHERE if again else message, Part.INJECTED if again else part))
        seen |= {message for _, _, message, _ in own} - {NOWHERE}
    return replace(
        tokens,
        messages=joined((length, message) for length, message, _ in owners),
        parts=joined((length, part) for length, _, part in owners),
    )


def quoted(ids: Sequence[int], tokenizer: LoadedTokenizer) -> str:
    """The first of some ids, each in its own brackets, as a cell shows it."""
    return "".join([f"[{visible_token(tokenizer.surface(i), tokenizer.piece(i))}]" for i in ids[:SHOWN_IDS]])


def pieces_of(ids: Sequence[int], tokenizer: LoadedTokenizer) -> str:
    """The same by their pieces in the vocabulary."""
    return "".join([f"[{shown(tokenizer.piece(i), 20)}]" for i in ids[:SHOWN_IDS]])
