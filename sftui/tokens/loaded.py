"""A loaded tokenizer: text → ids with character offsets, id → piece and bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from operator import itemgetter
from typing import Any, NamedTuple, Protocol, TypeVar, cast

from sftui.errors import TokenizerError
from sftui.model import NOWHERE
from sftui.runs import Flat, flat
from sftui.tokens.facts import ROLES, TokenizerFacts, named_roles
from sftui.tokens.surface import Decoding, read_decoding, surfacer
from sftui.values import value_class

T = TypeVar("T")
LONG = 1 << 20
"""Characters of a text beyond which what was made of the last one is kept: a row of it is asked for some ten times."""
KEPT = 20_000
"""How many ids' pieces and bytes are remembered at most; a full vocabulary would cost 25 MB."""


@value_class
class TextEncoding:
    """Ids with half-open character offsets into the encoded text; NOWHERE for ids put around it."""

    ids: Flat
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.ids)


class ToEncode(NamedTuple):
    """A text that will be encoded: with special tokens around it or without, with offsets or for its ids alone.

    `other` is a text next to it, encoded in the same way, that begins as it does: its ids may tell those of this one.
    """

    text: str
    special: bool = False
    placed: bool = False
    other: str | None = None


class PrefixedText(NamedTuple):
    """A text whose ids are requested, and a text with its ids that begins as it does, encoded in the same way."""

    text: str
    other: str
    ids: Flat


ByBeginning = Callable[[Sequence[PrefixedText], bool], list[Flat]]
"""The ids of texts."""
Ahead = tuple[dict[str, T], dict[str, T]]
"""What was made of texts before they are requested: encoded without special tokens around them, and with those."""


class Engine(Protocol):
    """What encodes: the `tokenizers` backend, or a slow transformers tokenizer."""

    decoding: Decoding
    begun: ByBeginning | None = None
    """The ids of texts next to which others are known, where there is a quicker way to them than encoding the texts."""
    reads_special: bool = True
    """Whether a special token in a text becomes its id, where nothing says otherwise."""

    def encode_batch(self, texts: Sequence[str], add_special_tokens: bool) -> list[TextEncoding]: ...
    def ids_batch(self, texts: Sequence[str], add_special_tokens: bool) -> list[Flat]: ...
    def piece(self, token: int) -> str | None: ...
    def token_id(self, piece: str) -> int | None: ...
    def added(self) -> Mapping[int, tuple[str, bool]]: ...

    def encode_many(self, texts: Sequence[str], add_special_tokens: bool) -> list[TextEncoding]:
        """As `encode_batch` for many texts, by whatever is quickest."""
        return self.encode_batch(texts, add_special_tokens)


class FastEngine(Engine):
    """The `tokenizers` backend, with saved truncation and padding switched off.

    AutoTokenizer sets both anew in every call (transformers 5.23, `set_truncation_and_padding`)
    and by default to neither, so a backend without them gives the same ids.
    """

    def __init__(self, backend: Any, *, split_special_tokens: bool = False) -> None:
        backend.no_truncation()
        backend.no_padding()
        # Not part of the serialised backend; AutoTokenizer sets it per call as well.
        backend.encode_special_tokens = split_special_tokens
        self.backend = backend
        self.decoding = read_decoding(backend)

    def encode_batch(self, texts: Sequence[str], add_special_tokens: bool) -> list[TextEncoding]:
        # A batch of one goes through encode_batch too: it releases the interpreter lock, encode does not.
        found = self.backend.encode_batch(list(texts), add_special_tokens=add_special_tokens)
        return [placed(encoding.ids, encoding.offsets, encoding.special_tokens_mask) for encoding in found]

    def ids_batch(self, texts: Sequence[str], add_special_tokens: bool) -> list[Flat]:
        found = self.backend.encode_batch_fast(list(texts), add_special_tokens=add_special_tokens)
        return [flat(encoding.ids) for encoding in found]

    def piece(self, token: int) -> str | None:
        try:
            found = self.backend.id_to_token(token)
        except OverflowError:
            return None
        return found if isinstance(found, str) else None

    def token_id(self, piece: str) -> int | None:
        try:
            found = self.backend.token_to_id(piece)
        except UnicodeEncodeError:  # half a character is in no vocabulary
            return None
        return found if isinstance(found, int) else None

    def added(self) -> Mapping[int, tuple[str, bool]]:
        return {i: (token.content, token.special) for i, token in self.backend.get_added_tokens_decoder().items()}


class LayeredEngine(FastEngine):
    """Rules of its own over an engine that encodes what they leave of a text."""

    def __init__(self, inner: FastEngine) -> None:
        super().__init__(inner.backend, split_special_tokens=inner.backend.encode_special_tokens)
        self.inner = inner

    def over(self, inner: FastEngine) -> LayeredEngine:
        """The same rules over another engine of the same backend."""
        raise NotImplementedError


class LoadedTokenizer:
    """A tokenizer with its facts; make one with `load_tokenizer`."""

    def __init__(self, facts: TokenizerFacts, engine: Engine) -> None:
        self.facts = facts
        self.engine = engine
        self._added = engine.added()
        self.special_ids = frozenset(i for i, (_, special) in self._added.items() if special)
        """The ids of added tokens marked special."""
        self.reads_special = engine.reads_special
        """Whether a special token in a text becomes its id."""
        self._ahead: Ahead[TextEncoding] = ({}, {})
        self._ids_ahead: Ahead[Flat] = ({}, {})
        self._long: dict[tuple[str, bool], TextEncoding] = {}
        self._keeps = False
        self._described: dict[int, tuple[str, bytes, bool]] = {}
        self._bytes = lru_cache(KEPT)(surfacer(engine.decoding, engine.piece, self._literal))

    def encode(self, text: str, add_special_tokens: bool = False) -> TextEncoding:
        """One text → ids and offsets; TokenizerError where the text is no valid Unicode."""
        known = self._ahead[add_special_tokens].get(text)
        if known is not None:
            return known
        long = self._long if len(text) > LONG else {}
        if (text, add_special_tokens) not in long:
            long = {(text, add_special_tokens): self._guarded(self.engine.encode_batch, [text], add_special_tokens)[0]}
            if len(text) > LONG:
                self._long = long
            if self._keeps:
                self._ahead[add_special_tokens][text] = long[text, add_special_tokens]
        return long[text, add_special_tokens]

    def encode_batch(self, texts: Sequence[str], add_special_tokens: bool = False) -> list[TextEncoding]:
        """Several texts at once, each as `encode` would; nothing is truncated or padded."""
        return self._batch(self._ahead, self.engine.encode_batch, texts, add_special_tokens)

    def ids(self, text: str, add_special_tokens: bool = False) -> tuple[int, ...]:
        """The ids of one text without offsets, which take as long again; TokenizerError as `encode`."""
        return tuple(self.flat(text, add_special_tokens))

    def flat(self, text: str, add_special_tokens: bool = False) -> Flat:
        """The same as an array."""
        return self.ids_batch([text], add_special_tokens)[0]

    def ids_batch(self, texts: Sequence[str], add_special_tokens: bool = False) -> list[Flat]:
        """The ids of several texts, each as `flat` gives them."""
        return self._batch(self._ids_ahead, self.engine.ids_batch, texts, add_special_tokens)

    def _batch(
        self, ahead: Ahead[T], encode: Callable[[Sequence[str], bool], list[T]], texts: Sequence[str], special: bool
    ) -> list[T]:
        if known := ahead[special]:
            try:
                return [known[text] for text in texts]
            except KeyError:  # not all of them
                pass
        made = self._guarded(encode, texts, special)
        if self._keeps:
            known.update(zip(texts, made))
        return made

    @contextmanager
    def remembering(self) -> Iterator[None]:
        """Keep what is encoded meanwhile, for one row that is prepared again and again."""
        self._keeps = True
        try:
            yield
        finally:
            self._keeps, self._ahead, self._ids_ahead = False, ({}, {}), ({}, {})

    def ahead(self, texts: Sequence[ToEncode]) -> None:
        """Encode texts at once that will be requested soon; those of before are forgotten.

        TokenizerError as `encode`, where nothing is kept.
        """
        self._ahead, self._ids_ahead = ({}, {}), ({}, {})
        encoded: Ahead[TextEncoding] = ({}, {})
        ids: Ahead[Flat] = ({}, {})
        begun, different = self.engine.begun, dict.fromkeys(texts)
        for special in (False, True):
            own = [wanted for wanted in different if wanted.special is special]
            others = [] if begun is None else [one for one in own if not one.placed and one.other is not None]
            bare = [one.text for one in own if not one.placed and (begun is None or one.other is None)]
            if some := list(dict.fromkeys([one.text for one in own if one.placed])):
                encoded[special].update(zip(some, self._guarded(self.engine.encode_many, some, special)))
            if some := list(dict.fromkeys(bare)):
                ids[special].update(zip(some, self._guarded(self.engine.ids_batch, some, special)))
            prefixed: list[PrefixedText] = []
            for text, _, _, other in others:
                whole = encoded[special].get(other or "")
                known = ids[special].get(other or "") if whole is None else whole.ids
                if known is not None:
                    prefixed.append(PrefixedText(text, other or "", known))
            if begun is not None and prefixed:
                some = [text for text, *_ in prefixed]
                ids[special].update(zip(some, self._guarded(partial(_of_begun, begun, prefixed), some, special)))
        self._ahead, self._ids_ahead = encoded, ids

    def _guarded(
        self, encode: Callable[[Sequence[str], bool], list[T]], texts: Sequence[str], special: bool
    ) -> list[T]:
        try:
            return encode(texts, special)
        except Exception as error:  # tokenizers raises bare Exception, e.g. where the unknown token is missing
            raise _unencodable(texts, error) from error
        except BaseException as error:
            if not is_panic(error):
                raise
            raise TokenizerError(
                "the tokenizer crashes on the text", where=self.facts.name, why=panic_text(error)
            ) from error

    def piece(self, token: int) -> str:
        """The vocabulary string of an id; empty for an id outside the vocabulary."""
        return self.engine.piece(token) or ""

    def surface(self, token: int) -> bytes:
        """The bytes an id stands for; empty where that is not known."""
        return self._bytes(token)

    def is_special(self, token: int) -> bool:
        """Whether an id is an added token marked special."""
        return token in self.special_ids

    @cached_property
    def special_pieces(self) -> Mapping[int, str]:
        """Those with their vocabulary strings."""
        return {token: self.piece(token) for token in self.special_ids}

    def describe(self, ids: Sequence[int]) -> tuple[tuple[str, ...], tuple[bytes, ...], tuple[bool, ...]]:
        """Pieces, bytes and special marks of many ids at once; what was requested before is remembered."""
        if len(self._described) > KEPT:
            self._described = {}  # a new one: another thread may be reading the old
        known = self._described
        for token in set(ids).difference(known):
            known[token] = (self.piece(token), self._bytes(token), token in self.special_ids)
        found = [known[token] for token in ids]
        return tuple([one[0] for one in found]), tuple([one[1] for one in found]), tuple([one[2] for one in found])

    def spelling(self, ids: Sequence[int]) -> bytes:
        """The bytes of many ids, one behind the other; nothing for those whose bytes are not known."""
        return b"".join(self.surfaces(ids))

    def surfaces(self, ids: Sequence[int]) -> tuple[bytes, ...]:
        """The bytes of each of many ids; empty where they are not known."""
        known = self._spelt
        if len(ids) > 1 and min(ids) >= 0 and max(ids) < len(known):
            found = itemgetter(*ids)(known)
            if None in found:
                for token in {one for one in ids if known[one] is None}:
                    known[token] = self._bytes(token)
                found = itemgetter(*ids)(known)
            return cast("tuple[bytes, ...]", found)
        return tuple(map(self._bytes, ids))

    @cached_property
    def _spelt(self) -> list[bytes | None]:
        """The bytes of every id by its number, None for what was not requested: a look-up takes a third of a dict's."""
        return [None] * max(self.facts.vocab_size, max(self._added, default=0) + 1)

    def token_id(self, token: str) -> int | None:
        """The id of a vocabulary string, or None."""
        return self.engine.token_id(token)

    def overriding(self, **tokens: str | None) -> LoadedTokenizer:
        """The same tokenizer with other tokens for `bos`, `eos`, `pad` or `unk` (None keeps one); shares the backend.

        TokenizerError where a token is not in the vocabulary: transformers would add it, and the
        model has no embedding for it. What add_special_tokens puts around a text does not change,
        as in transformers, where setting the attribute leaves the post-processor alone.
        """
        if all(token is None for token in tokens.values()):
            return self
        facts, specials = self.facts, dict(self.facts.special_tokens)
        ids = {role: getattr(facts, f"{role}_id") for role in ROLES}
        for name, token in tokens.items():
            if token is None:
                continue
            ids[name], specials[f"{name}_token"] = self.token_id(token), token
            if ids[name] is None:
                raise TokenizerError(
                    f"the {name} token {token!r} cannot be set",
                    where=facts.name,
                    why="it is not in the vocabulary",
                    fix="name a token in the vocabulary",
                )
        return LoadedTokenizer(replace(facts, **named_roles(specials, ids, facts.front, facts.back)), self.engine)

    def _literal(self, token: int) -> str | None:
        found = self._added.get(token)
        return found[0] if found is not None else None


class RefusedText(TokenizerError):
    """A text that the tokenizer cannot encode; others it may."""


def is_panic(error: BaseException) -> bool:
    """Whether Rust gave up: pyo3's PanicException, which is no Exception, so that nothing catches it by accident."""
    return type(error).__name__ == "PanicException" and type(error).__module__.startswith("pyo3")


def panic_text(error: BaseException) -> str:
    """The first line of what Rust said."""
    text = str(error).strip()
    return text.splitlines()[0][:300] if text else "it panicked without a message"


def _of_begun(encode: ByBeginning, begun: Sequence[PrefixedText], _: Sequence[str], special: bool) -> list[Flat]:
    return encode(begun, special)


def placed(ids: Sequence[int], offsets: Sequence[Sequence[int]], mask: Sequence[int]) -> TextEncoding:
    """The encoding of ids; `mask` is set only for what was put around the text: special tokens in the text have 0."""
    if any(mask):
        offsets = [(NOWHERE, NOWHERE) if put else place for put, place in zip(mask, offsets)]
    starts, ends = zip(*offsets) if offsets else ((), ())
    return TextEncoding(flat(ids), starts, ends)


def _unencodable(texts: Sequence[str], error: Exception) -> TokenizerError:
    for text in texts:
        at = next((i for i, char in enumerate(text) if "\ud800" <= char <= "\udfff"), None)
        if at is not None:
            return TokenizerError(
                "the text cannot be tokenized",
                why=f"character {at} is the lone surrogate U+{ord(text[at]):04X}, which is not valid Unicode",
                fix="replace it in the data",
            )
    return TokenizerError("the text cannot be tokenized", why=str(error) or type(error).__name__)
