"""Rendered → Tokens: encode as the recipe asks, and keep for every token where it comes from."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import Any, TypeVar

from sftui.errors import TokenizerError
from sftui.model import NO_TEXT, NOWHERE, Cut, Part, Piece, RenderedText, Span, Tokens, TokenText
from sftui.recipe import Tokenize
from sftui.runs import Flat, Runs, Stretch, as_runs, flat, joined, sides
from sftui.tokens.loaded import LoadedTokenizer, TextEncoding, ToEncode
from sftui.tokens.surface import METASPACE

T = TypeVar("T")

UNPLACED: Runs[Any] = Runs()
"""Messages and parts where nobody requested places."""

Columns = tuple[Flat, tuple[int, ...], tuple[int, ...], Sequence[int], Sequence[Part]]
"""Ids, starts, ends, messages and parts, as `Tokens` has them."""


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
    eos_id, missing = tokenizer.facts.eos_id if options.append_eos == "never" else _eos(tokenizer), False
    if options.mode == "per_part" and rendered.pieces is not None:
        columns = (_encode_pieces if places else _joined_pieces)(rendered.pieces, tokenizer)
        missing = options.append_eos == "if_missing_text" and not rendered.text.endswith(
            tokenizer.facts.eos_token or ""
        )
    else:
        if options.mode == "per_part":
            notes.append("this row has no parts to encode separately, so it was tokenized as a whole")
        text = _ended(rendered.text, tokenizer, options, ending)
        if places:
            columns = _place(tokenizer.encode(text, options.add_special_tokens), rendered, tokenizer, len(text))
        else:
            columns = tokenizer.flat(text, options.add_special_tokens), (), (), UNPLACED, UNPLACED
    ids, append = columns[0], options.append_eos
    if missing or append == "always" or (append == "if_missing_ids" and (not ids or ids[-1] != eos_id)):
        columns = _appended(columns, _eos(tokenizer))
    if options.bos == "drop_second" and _doubled(columns[0], tokenizer):
        ids, starts, ends, messages, parts = columns
        columns = ids[1:], starts[1:], ends[1:], messages[1:], parts[1:]
        notes.append("a doubled BOS at the start was dropped")
    ids, starts, ends, messages, parts = columns
    return Tokens(ids, starts, ends, messages, parts, _prompt(rendered, tokenizer, options), tuple(notes))


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


def _appended(columns: Columns, eos: int) -> Columns:
    """The same with an EOS behind it, which stands for no text."""
    ids, starts, ends, messages, parts = columns
    placed, owned = len(starts) == len(ids), len(messages) == len(ids)
    return (
        ids + flat((eos,)),
        (*starts, NOWHERE) if placed else (),
        (*ends, NOWHERE) if placed else (),
        _followed(messages, NOWHERE) if owned else UNPLACED,
        _followed(parts, Part.INJECTED) if placed else UNPLACED,
    )


def _followed(values: Sequence[T], last: T) -> Runs[T]:
    return joined([*((end - start, value) for start, end, value in as_runs(values).runs()), (1, last)])


def _place(encoded: TextEncoding, rendered: RenderedText, tokenizer: LoadedTokenizer, length: int) -> Columns:
    """Each token of a text of this length with its message and part; O(spans) where they are in the text's order.

    What lies past the rendered text is the EOS text that was appended to it.
    """
    ids, starts, ends, own = encoded.ids, encoded.starts, encoded.ends, len(rendered.text)
    spans = rendered.spans or (Span(0, own, NOWHERE, Part.CONTENT),)
    front, past = 0, len(ids)  # behind what was put before the text, and where that begins which was put after it
    while front < past and starts[front] == NOWHERE:
        front += 1
    while past > front and (starts[past - 1] == NOWHERE or starts[past - 1] >= own):
        past -= 1
    found: list[Stretch] = []

    def follow(places: range) -> None:
        """Token by token: around the text, and where offsets go back (a normalizer moved characters)."""
        for i in places:
            start = starts[i]
            if start == NOWHERE or (start >= own and ends[i] > own):
                _follow(found, i, i + 1, NOWHERE, _put(ids[i], start, tokenizer))
            else:
                span = spans[min(bisect_right(spans, start, key=itemgetter(1)), len(spans) - 1)]
                _follow(found, i, i + 1, span.message, span.part)

    middle = starts[front:past]
    if type(ends) is not Cut and (NOWHERE in middle or list(middle) != sorted(middle)):
        follow(range(len(ids)))
    else:
        follow(range(front))
        begun, at, message, part = found.pop() if found else (front, front, NOWHERE, None)
        last = len(spans)
        for number, (_, end, owner, kind) in enumerate(spans, 1):
            after = bisect_left(starts, end, at, past) if number < last else past
            if after == at:
                continue
            if kind is not part or owner != message:  # else the stretch goes on
                if at > begun:
                    found.append((begun, at, message, part))
                begun, message, part = at, owner, kind
            at = after
        if at > begun:
            found.append((begun, at, message, part))
        follow(range(past, len(ids)))
    if length > own and type(ends) is Cut and (not past or ends[past - 1] <= own):
        behind = (NOWHERE,) * (len(ids) - past)
        starts, ends = (*starts[:past], *behind), Cut((*ends[:past], *behind))
    elif length > own:
        outside = [start >= own and end > own for start, end in zip(starts, ends)]
        starts = tuple([NOWHERE if out else start for out, start in zip(outside, starts)])
        ends = tuple([NOWHERE if out else min(end, own) for out, end in zip(outside, ends)])
    return ids, starts, ends, *sides(tuple(found))


def _follow(found: list[Stretch], start: int, end: int, message: int, part: Part) -> None:
    """One more stretch, or more of the last one."""
    if found and found[-1][2:] == (message, part):
        start = found.pop()[0]
    if end > start:
        found.append((start, end, message, part))


def _put(token: int, start: int, tokenizer: LoadedTokenizer) -> Part:
    """What a token is that stands for no text of the row."""
    return Part.BOS if start == NOWHERE and token == tokenizer.facts.bos_id else Part.INJECTED


def _encode_pieces(pieces: Sequence[Piece], tokenizer: LoadedTokenizer) -> Columns:
    """Encode each piece alone and join them, offsets moved to where the piece stands in the text."""
    ids, starts, ends = flat(()), list[int](), list[int]()
    found: list[Stretch] = []
    place = 0
    for piece, encoded in zip(pieces, _each(pieces, tokenizer.encode_batch)):
        after, at = place + len(piece.text), len(ids)
        if encoded is None:
            own = piece.ids or ()
            ids.extend(own)
            starts += [place if piece.text else NOWHERE] * len(own)
            ends += [after if piece.text else NOWHERE] * len(own)
        else:
            encoded = _behind(encoded, piece) if piece.before else encoded
            ids.extend(encoded.ids)
            starts += [start if start == NOWHERE else place + start for start in encoded.starts]
            ends += [end if end == NOWHERE else place + end for end in encoded.ends]
            if piece.add_special_tokens:  # without, the tokenizer cannot tell where in the piece they stand
                for i in [i for i in range(at, len(ids)) if starts[i] == NOWHERE]:
                    _follow(found, at, i, piece.message, piece.part)
                    _follow(found, i, i + 1, NOWHERE, _put(ids[i], NOWHERE, tokenizer))
                    at = i + 1
        _follow(found, at, len(ids), piece.message, piece.part)
        place = after
    return ids, tuple(starts), tuple(ends), *sides(tuple(found))


def _joined_pieces(pieces: Sequence[Piece], tokenizer: LoadedTokenizer) -> Columns:
    """The same without places: the ids of all pieces, and which message each of them is of."""
    ids = flat(())
    owners: list[tuple[int, int]] = []
    for piece, encoded in zip(pieces, _each(pieces, tokenizer.ids_batch)):
        own = flat(piece.ids or ()) if encoded is None else encoded[piece.cut :] if piece.cut else encoded
        ids.extend(own)
        owners.append((len(own), piece.message))
    return ids, (), (), joined(owners), UNPLACED


def _each(pieces: Sequence[Piece], encode: Callable[[list[str], bool], Sequence[T]]) -> Sequence[T | None]:
    """What each piece is encoded to; None for one whose ids are inserted as they are."""
    open_ = [piece for piece in pieces if piece.ids is None]
    made = {
        special: iter(encode([one.before + one.text for one in open_ if one.add_special_tokens is special], special))
        for special in {one.add_special_tokens for one in open_}  # nearly always one: a call for all of them
    }
    return [next(made[piece.add_special_tokens]) if piece.ids is None else None for piece in pieces]


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
