"""What the tokenizer makes of the text, and whether the model has rows for its ids."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

from sftui.findings.checks import LABELLED, WRITTEN, Fault, row_check, setup_check
from sftui.findings.context import Context
from sftui.findings.look import RowLook, shown
from sftui.findings.model import Consequence
from sftui.findings.rule import DROP, GOOD, case, chat, fatal, loud, major, minor
from sftui.model import NOWHERE, Inspection, Part, common_prefix
from sftui.text import many, visible
from sftui.tokens import token_text
from sftui.tokens.loaded import FastEngine

_BYTE = re.compile(r"<0x[0-9A-F]{2}>\Z")
_MUCH, _ENOUGH = 0.3, 40


TOK001 = minor(
    "unknown-or-byte-tokens",
    "much of the row is unknown or single-byte tokens",
    "The tokenizer does not know this language, or the encoding is broken: training is slow at best.",
    data="check the encoding, or choose a tokenizer that knows the language",
    bad=case(chat("hi", "ﷺ 𓂀𓃀𓄿𓅓𓆑𓇋𓈖𓉔" * 3)),
)


@row_check(LABELLED, TOK001, shape=lambda shape, context: context.facts.unk_id is not None or not shape.ascii)
def unknown(look: RowLook) -> Iterator[Fault]:
    """TOK001: unknown tokens, or a large share of single bytes."""
    ids, unk = look.tokens.ids, look.facts.unk_id
    if unk is not None and unk in look.tokens.input_ids and unk not in look.context.stops:
        at = ids.index(unk)
        start, end = look.tokens.starts[at], look.tokens.ends[at]
        if start != NOWHERE:
            count, text = ids.count(unk), "" if look.stored else look.rendered.text[start:end]
            what = f"{count} token{'s are' if count > 1 else ' is'} unknown to the tokenizer"
            yield Fault(what, shown(text) or None, tokens=(at - 2, at + 3))
            return
    if len(ids) < _ENOUGH or look.rendered.text.isascii() or not _may_be_bytes(look):
        return
    pieces = token_text(look.tokens, look.rendered, look.context.tools.tokenizer).pieces
    single = [i for i, piece in enumerate(pieces) if piece[:3] == "<0x" and _BYTE.match(piece)]
    if not single:  # byte-level vocabularies: tokens that end inside a character
        single = [i for i in range(1, len(ids)) if look.inside_character(i)]
    if len(single) > _MUCH * len(ids):
        yield Fault(f"{len(single)} of {len(ids)} tokens are single bytes", tokens=(single[0], single[0] + 6))


TOK002 = minor(
    "lossy-tokenizer",
    "the text changes when it is tokenized",
    "A normalizer rewrites characters before tokenization, a pre-tokenizer drops whitespace or an added token absorbs"
    " it, or two tokens share an id: the ids do not spell the original text.",
    data="normalise the data yourself, or choose a tokenizer that keeps it",
    bad=case(chat("hi", "e\u0301te\u0301")),
    good=case(chat("hi", "\u00e9t\u00e9")),
)


TOK005 = fatal(
    "dropped-characters",
    "the tokenizer drops characters",
    "The loaded tokenizer does not match its own vocabulary: for example a Llama class over byte-level files, as"
    " some versions of transformers build it. Spaces or whole scripts vanish, and the model learns text without"
    " them.",
    data="train with a version of transformers that loads the tokenizer correctly; --transformers VERSION shows the"
    " result of each one",
    leads_to=Consequence.GARBLED,
    bad=case(chat("hi you two", "Hello, 北京."), tokenizer="as-llama"),
    good=case(chat("hi you two", "Hello, 北京.")),
)


def _may_be_bytes(look: RowLook) -> bool:
    """Whether so many tokens are of bytes, by their pieces, or begin where another one does."""
    ids, much, text = look.tokens.ids, _MUCH * len(look.tokens), look.rendered.text
    # Of the bytes of a text that is cut, only those beyond one for each character are inside of one.
    inside = not look.spelling.cut_out or len(text.encode("utf-8", "surrogatepass")) - len(text) > much
    if inside and len(ids) - len(set(look.tokens.starts)) > much:
        return True
    tokenizer = look.context.tools.tokenizer
    bytes_here = look.context.once(
        "bytes", lambda: frozenset(map(tokenizer.token_id, map("<0x{:02X}>".format, range(256))))
    )
    return bytes_here != {None} and sum(map(bytes_here.__contains__, ids)) > much


@row_check(
    LABELLED,
    TOK002,
    TOK005,
    of=lambda shape: not shape.pieces,
    shape=lambda shape, _: not shape.cut_out,
    row=lambda look: not _spelt(look),
    kinds=WRITTEN,
)
def lossy(look: RowLook) -> Iterator[Fault]:
    """TOK002, TOK005: the bytes of the tokens are not the text; reported where they part, and what has no token at
    all. A seam that TRL makes is PRF004's."""
    surfaces = [surface for surface, start in zip(look.spelling.surfaces, look.tokens.starts) if start != NOWHERE]
    if not surfaces or not all(surfaces) or look.seam is not None:
        return
    text, joined = _kept(look), b"".join(surfaces)
    if joined == text or (look.facts.unk_id is not None and look.facts.unk_id in look.tokens.input_ids):
        return
    at = common_prefix(joined, text)
    mine, theirs = (some[max(0, at - 6) : at + 10].decode("utf-8", "ignore") for some in (text, joined))
    evidence = f"{shown(mine, 30)} → {shown(theirs, 30)}"
    dropped = _dropped(look, joined)
    if dropped:
        version = f" under transformers {look.facts.transformers}" if look.facts.transformers else ""
        yield Fault(f"{dropped}{version}", evidence, rule=TOK005)
        return
    yield Fault(f"the tokens do not spell the text: {_changed_by(look, joined)}", evidence, rule=TOK002)


def _changed_by(look: RowLook, joined: bytes) -> str:
    """What made another text of it, where the tokenizer tells."""
    ids, tokenizer = {*look.tokens.input_ids}, look.context.tools.tokenizer
    both = next((one for one in look.facts.doubled if one[0] in ids), None)
    if both is not None:
        return f"id {both[0]} belongs to {' and '.join(map(visible, both[1]))}"
    text, engine = look.rendered.text, tokenizer.engine
    normalizes = engine.decoding.normalizes
    if normalizes and isinstance(engine, FastEngine) and engine.backend.normalizer is not None:
        normalizes = engine.backend.normalizer.normalize_str(text) != text
    if normalizes:
        return "a normalizer changed it"
    if "".join(joined.decode("utf-8", "ignore").split()) == "".join(text.split()):
        return "some of its whitespace is not covered by any token"
    return "its vocabulary's pieces stand for different text"


def _spelt(look: RowLook) -> bool:
    """Whether the bytes of the tokens are the text."""
    tokenizer, ids, starts = look.context.tools.tokenizer, look.tokens.input_ids, look.tokens.starts
    if tokenizer.engine.decoding.dummy_prefix:
        return False  # shown by what each token is in its place
    if NOWHERE in starts:
        ids = tuple([token for token, start in zip(ids, starts) if start != NOWHERE])
    return tokenizer.spelling(ids) == _kept(look)


def _swallowing(context: Context) -> frozenset[int]:
    """The added tokens that take the white space beside them along."""

    def found() -> frozenset[int]:
        engine = context.tools.tokenizer.engine
        added = engine.backend.get_added_tokens_decoder() if isinstance(engine, FastEngine) else {}
        return frozenset([token for token, one in added.items() if one.lstrip or one.rstrip])

    return context.once("swallowing", found)


def _kept(look: RowLook) -> bytes:
    """The text without the white space that added tokens take along."""
    text, kept, at = look.rendered.text, list[bytes](), 0
    for i, start, end in _swallowed(look):
        kept += text[at:start].encode("utf-8", "surrogatepass"), look.spelling.surface(i)
        at = end
    return b"".join([*kept, text[at:].encode("utf-8", "surrogatepass")])


def _swallowed(look: RowLook) -> Iterator[tuple[int, int, int]]:
    """The tokens of a row that take white space along, each with the characters that it lies on."""
    taking, starts, ends = _swallowing(look.context), look.tokens.starts, look.tokens.ends
    if taking and not taking.isdisjoint(look.tokens.ids):
        for i, token in enumerate(look.tokens.ids):
            if token in taking and starts[i] != NOWHERE:
                yield i, starts[i], ends[i]


def _edged(look: RowLook) -> bool:
    """Whether a message begins or ends with white space in the text."""
    text = look.rendered.text
    said = [span for span in look.rendered.spans if span.part is Part.CONTENT and span.start < span.end]
    return any([text[span.start].isspace() or text[span.end - 1].isspace() for span in said])


@row_check(LABELLED, TOK002, recipe=_swallowing, row=_edged, kinds=WRITTEN)
def swallowed(look: RowLook) -> Iterator[Fault]:
    """TOK002: white space of a message has no token, since an added token beside it takes it along."""
    said = [span for span in look.rendered.spans if span.part is Part.CONTENT]
    for i, start, end in _swallowed(look):
        for span in said:
            lost = min(end, span.end) - max(start, span.start)
            if lost > 0:
                what = f"message {span.message} loses {many(lost, 'character')} of whitespace next to"
                sentence = f"{what} {look.spelling.token(i)}, which absorbs it"
                yield Fault(sentence, message=span.message, tokens=(i - 1, i + 3))


def _dropped(look: RowLook, joined: bytes) -> str:
    """What of the text has no token, in words; empty where a normalizer only rewrote it or left out white space, marks
    and control characters.

    Offsets do not tell: `tokenizers` counts on behind what it leaves out. Spaces count where all of them are lost and
    decoding brings none back, as the decoders of WordPiece and of word ends do.
    """
    text, kept = _written(look.rendered.text), _written(joined.decode("utf-8", "ignore"))
    lost = len(text) - len(kept)
    rest = iter(text)
    if kept != text and not all(char in rest for char in kept):
        return ""
    some = [many(lost, "character")] if lost else []
    decoding, spaces = look.context.tools.tokenizer.engine.decoding, look.rendered.text.strip().count(" ")
    if spaces and (decoding.byte_level or decoding.space) and b" " not in joined.strip():
        some.append(f"all {spaces:,} spaces" if spaces > 1 else "its only space")
    return f"of the text {' and '.join(some)} {'has' if lost + spaces == 1 else 'have'} no token" if some else ""


def _written(text: str) -> str:
    """The text without what normalizers change: case, compatibility forms, marks, white space, control characters, and
    U+FFFD, which BERT's clean_text takes for one (tokenizers, normalizers/bert.rs `do_clean_text`)."""
    if text.isascii() and (solid := "".join(text.split())).isprintable():
        return solid.lower()
    plain = unicodedata.normalize("NFKD", text).casefold()
    changed = [char for char in set(plain) if char == "\ufffd" or unicodedata.category(char)[0] not in "LNPS"]
    return plain.translate(dict.fromkeys(map(ord, changed)))


TOK003 = loud(
    "id-outside-embedding",
    "an id is outside the model's embedding",
    "Tokens were added without resizing the model: training stops with an index error or a CUDA assert.",
    data="resize the embeddings",
    pairs="resize the embeddings",
    repair=(DROP,),
    bad=case(GOOD, model_config={"vocab_size": 100}),
    good=case(GOOD, model_config={"vocab_size": 100_000}),
)


@row_check(LABELLED, TOK003, recipe=lambda context: context.model_rows is not None)
def outside_model(look: RowLook) -> Iterator[Fault]:
    rows, highest = look.context.model_rows, max(look.tokens.input_ids, default=0)
    if rows is not None and highest >= rows:
        at = look.tokens.input_ids.index(highest)
        what = f"id {highest} ({look.spelling.token(at)}) is outside the model's {rows} embedding rows"
        yield Fault(what, tokens=(at, at + 1))


TOK007 = major(
    "random-tokenizer",
    "the tokenizer splits the same text differently each time",
    "The dropout that its BPE was trained with is still in tokenizer.json, or SentencePiece is set to sample:"
    " each run trains on different ids, a prompt encoded alone may not match the start of the whole row, and serving"
    " splits text at random too. What you see is one sample.",
    data='set "dropout": null in the model of tokenizer.json, or remove enable_sampling from sp_model_kwargs in'
    " tokenizer_config.json",
    bad=case(GOOD, facts={"random": "BPE dropout of 0.1"}),
)


@setup_check(TOK007)
def random(context: Context, sample: Sequence[Inspection]) -> Iterator[Fault]:
    if context.facts.random:
        yield Fault(f"{context.facts.random}: the same text gets different ids each time it is encoded")


TOK008 = major(
    "doubled-id",
    "the tokenizer's files give several tokens the same id",
    "If two vocabulary entries share an id, the model learns one embedding row for both, and decoding returns either."
    " For an added token, tokenizers reads only the text: if its id is taken, it gets the next free"
    " one, which the model may not have.",
    data="give each token in tokenizer.json its own id, the one that the model was trained with",
    bad=case(GOOD, facts={"doubled": ((300, ("\u0120re", "<other>")),)}),
)


@setup_check(TOK008)
def doubled_ids(context: Context, sample: Sequence[Inspection]) -> Iterator[Fault]:
    found = context.facts.doubled
    if not found:
        return
    token, words = found[0]
    own = {word: context.tools.tokenizer.token_id(word) for word in words}
    moved = [f"{visible(word)} is loaded as id {one}" for word, one in own.items() if one not in (token, None)]
    more = [f"and so {len(found) - 1} more ids"] if len(found) > 1 else []
    what = f"the tokenizer's files give id {token} to {' and '.join(map(visible, words))}"
    ids = {token, *own.values()}
    rows = [row.row.index for row in sample if row.tokens is not None and ids & {*row.tokens.input_ids}]
    yield Fault("; ".join([what, *moved, *more]), rows=tuple(rows))
