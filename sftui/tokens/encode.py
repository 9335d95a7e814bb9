"""Rendered → Tokens: encode as the recipe asks, and keep for every token where it comes from."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from sftui.errors import TokenizerError
from sftui.flat import Flat, flat
from sftui.model import NO_TEXT, NOWHERE, Cut, Part, Piece, RenderedText, Span, Tokens, TokenText
from sftui.recipe import Tokenize
from sftui.runs import Runs, Stretch, joined, sides
from sftui.tokens.loaded import LoadedTokenizer, TextEncoding, ToEncode
from sftui.tokens.surface import METASPACE

T = TypeVar("T")

UNPLACED: Runs[Any] = Runs()
"""Messages and parts where nobody requested places."""


class _Columns:
    """The parallel arrays while they are being filled; `owners` are (tokens, message, part) in order."""

    def __init__(self) -> None:
        self.ids: list[int] = []
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.owners: list[tuple[int, int, Part]] = []
        self.by_piece = False

    def add(self, token: int, start: int, end: int, message: int, part: Part) -> None:
        self.ids.append(token)
        self.starts.append(start)
        self.ends.append(end)
        self.owners.append((1, message, part))

    def tokens(self, first: int, prompt: Flat | None, notes: tuple[str, ...]) -> Tokens:
        """From the token `first` on."""
        whole = len(self.starts) == len(self.ids)
        owned = whole or self.by_piece
        messages = joined([(length, message) for length, message, _ in self.owners]) if owned else Runs[int]()
        parts = joined([(length, part) for length, _, part in self.owners]) if whole else Runs[Part]()
        ids, starts, ends = self.ids, *((self.starts, self.ends) if whole else (list[int](), list[int]()))
        if first:
            ids, starts, ends = ids[first:], starts[first:], ends[first:]
            messages, parts = messages[first:], parts[first:]
        return Tokens(flat(ids), tuple(starts), tuple(ends), messages, parts, prompt, notes)


def tokenize(
    rendered: RenderedText,
    tokenizer: LoadedTokenizer,
    options: Tokenize,
    *,
    ending: str | None = None,
    places: bool = True,
) -> Tokens:
    """Tokenize a rendered row; O(tokens + spans).

    `ending` is the part of the text in whose end an EOS is looked for before one is appended, e.g. the completion
    alone; None: all of it. `places=False` gives ids alone, and of a row encoded piece by piece the message of each.

    A token belongs to the span in which its first character lies, also where it reaches into the
    next. Ids that stand for no text (added BOS/EOS, appended EOS) have offsets NOWHERE and the
    part BOS or INJECTED. Several tokens of one character share its span. TokenizerError where the
    text cannot be encoded, or where an EOS is to be appended and the tokenizer has none.
    """
    notes: list[str] = []
    columns = _Columns()
    eos_id = tokenizer.facts.eos_id if options.append_eos == "never" else _eos(tokenizer)
    if options.mode == "per_part" and rendered.pieces is not None:
        if places:
            _encode_pieces(columns, rendered.pieces, tokenizer)
        else:
            joined_ids, messages = _joined_pieces(rendered.pieces, tokenizer)
            if options.append_eos == "never" and options.bos != "drop_second":
                return Tokens(joined_ids, (), (), messages, UNPLACED)
            columns.ids = [*joined_ids]
            columns.by_piece = True
            columns.owners = [(end - start, message, Part.CONTENT) for start, end, message in messages.runs()]
        if options.append_eos == "if_missing_text" and not rendered.text.endswith(tokenizer.facts.eos_token or ""):
            columns.add(_eos(tokenizer), NOWHERE, NOWHERE, NOWHERE, Part.INJECTED)
    else:
        if options.mode == "per_part":
            notes.append("this row has no parts to encode one by one: it was tokenized whole")
        text = _ended(rendered.text, tokenizer, options, ending)
        if places:
            encoded = tokenizer.encode(text, options.add_special_tokens)
            whole = len(text) == len(rendered.text) and not notes
            if whole and _as_encoded(encoded.ids, tokenizer, options, eos_id) and _in_order(encoded):
                owners = sides(_stretches(encoded, rendered, tokenizer))
                prompt = _prompt(rendered, tokenizer, options)
                return Tokens(encoded.ids, encoded.starts, encoded.ends, *owners, prompt)
            _place(columns, encoded, rendered, tokenizer)
        else:
            ids = tokenizer.flat(text, options.add_special_tokens)
            if _as_encoded(ids, tokenizer, options, eos_id):
                prompt = _prompt(rendered, tokenizer, options)
                return Tokens(ids, (), (), UNPLACED, UNPLACED, prompt, tuple(notes))
            columns.ids.extend(ids)
    if options.append_eos == "always" or (
        options.append_eos == "if_missing_ids" and (not columns.ids or columns.ids[-1] != eos_id)
    ):
        columns.add(_eos(tokenizer), NOWHERE, NOWHERE, NOWHERE, Part.INJECTED)
    doubled = options.bos == "drop_second" and _doubled(columns.ids, tokenizer)
    if doubled:
        notes.append("a doubled BOS at the start was dropped")
    return columns.tokens(int(doubled), _prompt(rendered, tokenizer, options), tuple(notes))


def texts_of(
    rendered: RenderedText,
    tokenizer: LoadedTokenizer,
    options: Tokenize,
    *,
    ending: str | None = None,
    places: bool = True,
) -> Iterator[ToEncode]:
    """What `tokenize` will encode."""
    if options.mode == "per_part" and rendered.pieces is not None:
        for piece in rendered.pieces:
            if piece.ids is None:
                yield ToEncode(piece.before + piece.text, piece.add_special_tokens, places)
        return
    text = _ended(rendered.text, tokenizer, options, ending)
    special = options.add_special_tokens
    yield ToEncode(text, special, places)
    if options.mode == "prompt_and_full" and rendered.prompt is not None:
        yield ToEncode(rendered.prompt, special, other=text)


def _ended(text: str, tokenizer: LoadedTokenizer, options: Tokenize, ending: str | None) -> str:
    """The text with the EOS text that it lacks, where one is to be appended."""
    eos = tokenizer.facts.eos_token or ""
    missing = options.append_eos == "if_missing_text" and not (text if ending is None else ending).endswith(eos)
    return text + eos if missing else text


def token_text(tokens: Tokens, rendered: RenderedText, tokenizer: LoadedTokenizer) -> TokenText:
    """How tokens are written, with the bytes that they stand for in this text; O(tokens)."""
    return _written(tokens.input_ids, tokens.starts, tokens.ends, rendered.text, tokenizer)


def surfaces(tokens: Tokens, text: str, tokenizer: LoadedTokenizer) -> tuple[bytes, ...]:
    """The bytes that each token stands for in this text, empty where unknown: `TokenText.surfaces` alone; O(tokens)."""
    found = tokenizer.surfaces(tokens.input_ids)
    if not tokenizer.engine.decoding.dummy_prefix:
        return found
    return _without_dummies(found, tokens.starts, tokens.ends, text)


def surface(tokens: Tokens, i: int, text: str, tokenizer: LoadedTokenizer) -> bytes:
    """The same of one token."""
    found = tokenizer.surface(tokens.ids[i])
    dummy = tokenizer.engine.decoding.dummy_prefix and found[:1] == b" "
    return found[1:] if dummy and _is_dummy(i, tokens.starts, tokens.ends, text) else found


def prompt_text(tokens: Tokens, rendered: RenderedText, tokenizer: LoadedTokenizer, options: Tokenize) -> TokenText:
    """The same of `prompt_ids`; empty where the prompt was not tokenized alone."""
    ids, prompt = tokens.prompt_ids, rendered.prompt or ""
    if ids is None:
        return NO_TEXT
    if not tokenizer.engine.decoding.dummy_prefix:
        return TokenText(*tokenizer.describe(ids))
    # Offsets of the prompt alone are kept nowhere: only a dummy prefix asks for them.
    whole = tokenizer.encode(prompt, options.add_special_tokens)
    cut = len(whole) - len(ids)  # a second BOS was dropped
    return _written(ids, whole.starts[cut:], whole.ends[cut:], prompt, tokenizer)


def _written(
    ids: Sequence[int], starts: Sequence[int], ends: Sequence[int], text: str, tokenizer: LoadedTokenizer
) -> TokenText:
    pieces, surfaces, special = tokenizer.describe(ids)
    if tokenizer.engine.decoding.dummy_prefix:
        surfaces = _without_dummies(surfaces, starts, ends, text)
    return TokenText(pieces, surfaces, special)


def _as_encoded(ids: Sequence[int], tokenizer: LoadedTokenizer, options: Tokenize, eos_id: int | None) -> bool:
    """Whether nothing is appended to what was encoded, and nothing dropped."""
    if options.append_eos == "always" or (options.append_eos == "if_missing_ids" and (not ids or ids[-1] != eos_id)):
        return False
    return options.bos != "drop_second" or not _doubled(ids, tokenizer)


def _placed(starts: Sequence[int]) -> tuple[int, int]:
    """The first token of a text, and that behind the last one, among what was put around it."""
    front, past = 0, len(starts)
    while front < past and starts[front] == NOWHERE:
        front += 1
    while past > front and starts[past - 1] == NOWHERE:
        past -= 1
    return front, past


def _in_order(encoded: TextEncoding) -> bool:
    """Whether each token of the text begins where the one before it does, or later."""
    starts = encoded.starts
    if type(encoded.ends) is Cut:
        return True
    own = starts[slice(*_placed(starts))] if NOWHERE in starts else starts
    return NOWHERE not in own and list(own) == sorted(own)


def _stretches(encoded: TextEncoding, rendered: RenderedText, tokenizer: LoadedTokenizer) -> tuple[Stretch, ...]:
    """Whose the tokens are, and which part, where they are in the order of the text: O(spans)."""
    ids, starts = encoded.ids, encoded.starts
    front, past = _placed(starts)
    found: list[Stretch] = []
    around = [(i, i + 1, NOWHERE, _put(ids[i], NOWHERE, tokenizer)) for i in (*range(front), *range(past, len(ids)))]
    for one in around[:front]:
        _follow(found, *one)
    spans = rendered.spans or (Span(0, len(rendered.text), NOWHERE, Part.CONTENT),)
    begun, at, message, part = found.pop() if found else (front, front, NOWHERE, None)
    last = len(spans)
    for number, (_, end, owner, own) in enumerate(spans, 1):
        after = bisect_left(starts, end, at, past) if number < last else past
        if after == at:
            continue
        if own is not part or owner != message:  # else the stretch goes on
            if at > begun:
                found.append((begun, at, message, part))
            begun, message, part = at, owner, own
        at = after
    if at > begun:
        found.append((begun, at, message, part))
    for one in around[front:]:
        _follow(found, *one)
    return tuple(found)


def _follow(found: list[Stretch], start: int, end: int, message: int, part: Part) -> None:
    """One more stretch, or more of the last one."""
    if found and found[-1][2:] == (message, part):
        start = found.pop()[0]
    found.append((start, end, message, part))


def _place(columns: _Columns, encoded: TextEncoding, rendered: RenderedText, tokenizer: LoadedTokenizer) -> None:
    """Give each token of the whole text its message and part.

    What lies past the rendered text is the EOS text that was appended to it.
    """
    length, count = len(rendered.text), len(encoded.ids)
    spans = rendered.spans or (Span(0, length, NOWHERE, Part.CONTENT),)
    starts, ends = encoded.starts, encoded.ends
    columns.ids.extend(encoded.ids)
    columns.starts.extend(starts)
    columns.ends.extend([min(end, length) for end in ends] if length < max(ends, default=0) else ends)
    front = next((i for i, start in enumerate(starts) if start != NOWHERE), count)
    past = count  # tokens put behind the text, and those that may lie past it
    while past > front and (starts[past - 1] == NOWHERE or starts[past - 1] >= length):
        past -= 1
    middle = starts[front:past]
    ordered = NOWHERE not in middle and list(middle) == sorted(middle)
    _place_singly(columns, encoded, range(front if ordered else count), length, spans, tokenizer)
    if not ordered:
        return
    at = 0
    for number, span in enumerate(spans, 1):
        after = bisect_left(middle, span.end, at) if number < len(spans) else len(middle)
        columns.owners.append((after - at, span.message, span.part))
        at = after
    _place_singly(columns, encoded, range(past, count), length, spans, tokenizer)


def _place_singly(
    columns: _Columns,
    encoded: TextEncoding,
    places: Sequence[int],
    length: int,
    spans: Sequence[Span],
    tokenizer: LoadedTokenizer,
) -> None:
    """The same token by token: around the text, and where offsets go back (a normalizer moved characters)."""
    borders = [span.end for span in spans]
    for i in places:
        start = encoded.starts[i]
        if start == NOWHERE or (start >= length and encoded.ends[i] > length):
            columns.starts[i] = columns.ends[i] = NOWHERE
            columns.owners.append((1, NOWHERE, _put(encoded.ids[i], start, tokenizer)))
        else:
            span = spans[min(bisect_right(borders, start), len(spans) - 1)]
            columns.owners.append((1, span.message, span.part))


def _put(token: int, start: int, tokenizer: LoadedTokenizer) -> Part:
    """What a token is that stands for no text of the row."""
    return Part.BOS if start == NOWHERE and token == tokenizer.facts.bos_id else Part.INJECTED


def _encode_pieces(columns: _Columns, pieces: Sequence[Piece], tokenizer: LoadedTokenizer) -> None:
    """Encode each piece alone and join them, offsets moved to where the piece stands in the text."""
    place = 0
    for piece, one in zip(pieces, _each(pieces, tokenizer.encode_batch)):
        after = place + len(piece.text)
        if one is None:
            shown = (place, after) if piece.text else (NOWHERE, NOWHERE)
            for token in piece.ids or ():
                columns.add(token, *shown, piece.message, piece.part)
        else:
            one = _behind(one, piece) if piece.before else one
            if NOWHERE in one.starts:
                for token, start, end in zip(one.ids, one.starts, one.ends):
                    if start == NOWHERE and piece.add_special_tokens:
                        columns.add(token, NOWHERE, NOWHERE, NOWHERE, _put(token, start, tokenizer))
                    elif start == NOWHERE:  # the tokenizer cannot tell where in the piece
                        columns.add(token, NOWHERE, NOWHERE, piece.message, piece.part)
                    else:
                        columns.add(token, place + start, place + end, piece.message, piece.part)
            else:
                columns.ids.extend(one.ids)
                columns.starts.extend([place + start for start in one.starts])
                columns.ends.extend([place + end for end in one.ends])
                columns.owners.append((len(one), piece.message, piece.part))
        place = after


def _joined_pieces(pieces: Sequence[Piece], tokenizer: LoadedTokenizer) -> tuple[Flat, Runs[int]]:
    """The same without places: the ids of all pieces, and which message each of them is of."""
    encoded = _each(pieces, tokenizer.ids_batch)
    ids = flat(())
    ends: list[int] = []
    messages: list[int] = []
    at = 0
    for piece, made in zip(pieces, encoded):
        own = flat(piece.ids or ()) if made is None else made[piece.cut :] if piece.cut else made
        if not own:
            continue
        ids.extend(own)
        at += len(own)
        if messages and messages[-1] == piece.message:
            ends[-1] = at
        else:
            ends.append(at)
            messages.append(piece.message)
    return ids, Runs(tuple(ends), tuple(messages))


def _each(pieces: Sequence[Piece], encode: Callable[[list[str], bool], Sequence[T]]) -> Sequence[T | None]:
    """What each piece is encoded to; None for one whose ids are inserted as they are."""
    open_ = [piece for piece in pieces if piece.ids is None]
    special = [piece.add_special_tokens for piece in open_]
    if True not in special or False not in special:  # as nearly always: one call for all of them
        made = iter(encode([piece.before + piece.text for piece in open_], special[0]) if open_ else ())
    else:
        sides = {
            wanted: iter(encode([one.before + one.text for one in open_ if one.add_special_tokens is wanted], wanted))
            for wanted in (False, True)
        }
        made = iter([next(sides[wanted]) for wanted in special])
    return [next(made) if piece.ids is None else None for piece in pieces]


def _behind(encoded: TextEncoding, piece: Piece) -> TextEncoding:
    """What is left of a piece that was encoded behind another text; an id that stands for both begins with its own."""
    length, cut = len(piece.before), piece.cut
    starts, ends = (
        tuple([place if place == NOWHERE else max(place - length, 0) for place in places[cut:]])
        for places in (encoded.starts, encoded.ends)
    )
    return TextEncoding(encoded.ids[cut:], starts, ends)


def _prompt(rendered: RenderedText, tokenizer: LoadedTokenizer, options: Tokenize) -> Flat | None:
    """The prompt tokenized alone, as the trainer does to find where the completion begins."""
    if options.mode != "prompt_and_full" or rendered.prompt is None:
        return None
    found = tokenizer.flat(rendered.prompt, options.add_special_tokens)
    return found[1:] if options.bos == "drop_second" and _doubled(found, tokenizer) else found


def _without_dummies(
    surfaces: Sequence[bytes], starts: Sequence[int], ends: Sequence[int], text: str
) -> tuple[bytes, ...]:
    """The bytes each token stands for here: a dummy prefix space that the text does not have is left out."""
    found = list(surfaces)
    spaced = [i for i, one in enumerate(surfaces) if one[:1] == b" " and text[starts[i] : ends[i]][:1] != " "]
    for i in spaced:
        if _is_dummy(i, starts, ends, text):
            found[i] = found[i][1:]
    return tuple(found)


def _is_dummy(i: int, starts: Sequence[int], ends: Sequence[int], text: str) -> bool:
    """Whether the text does not have the space with which a token begins.

    It is the text's own where the token's span begins with one, or where spans are trimmed and one lies between the
    token before and this one.
    """
    start, end = starts[i], ends[i]
    if start == NOWHERE or (start < end and (text[start].isspace() or text[start] == METASPACE)):
        return False
    before = next((ends[j] for j in range(i - 1, -1, -1) if starts[j] != NOWHERE), 0)
    return not (before < start and text[start - 1] == " ")


def _doubled(ids: Sequence[int], tokenizer: LoadedTokenizer) -> bool:
    bos = tokenizer.facts.bos_id
    return bos is not None and len(ids) > 1 and ids[0] == bos and ids[1] == bos


def _eos(tokenizer: LoadedTokenizer) -> int:
    """The id of an EOS that is appended; TokenizerError where the tokenizer has none."""
    facts = tokenizer.facts
    if facts.eos_token is None or facts.eos_id is None:
        raise TokenizerError(
            "no EOS can be appended",
            where=facts.name,
            why="the tokenizer has no EOS token",
            fix="set tokenizer.eos_token, or tokenize.append_eos to never",
        )
    return facts.eos_id
