"""The ids of a text that begins as another one does, whose ids are known: a prompt next to the whole row.

`tokenizers` (0.23, tokenizer/added_vocabulary.rs) first cuts a text at its added tokens, from left to right, and then
normalizes, splits and encodes each stretch between them by itself. Up to an added token that stands in both texts, so
in the part which they share, both have the same ids; what is left is the short tail from that token on, which is
encoded by itself and is mostly the same for all rows.

This holds of an added token that is found wherever its text stands (`_Anchors`): it is looked for in the text as it is
and not as a whole word, and no other one can reach into it. Its id comes from nowhere else where the model's own
vocabulary has none of that number; where it has, that the ids hold it as often as the text does says so. So it is known
which of the ids stands where.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from sftui.model import common_prefix
from sftui.runs import Flat, flat
from sftui.tokens.loaded import FastEngine, LoadedTokenizer, PrefixedText, is_panic
from sftui.tokens.surface import steps_around

Own = tuple[int, ...]

_MODELS = frozenset({"BPE", "Unigram", "WordLevel", "WordPiece"})
_NORMALIZERS = frozenset(
    {"BertNormalizer", "ByteLevel", "Lowercase", "NFC", "NFD", "NFKC", "NFKD", "Nmt", "Precompiled", "Prepend"}
    | {"Replace", "Strip", "StripAccents"}
)
_SPLITTERS = frozenset(
    {"BertPreTokenizer", "ByteLevel", "CharDelimiterSplit", "Digits", "Metaspace", "Punctuation", "Split"}
    | {"UnicodeScripts", "Whitespace", "WhitespaceSplit"}
)
"""What looks at one stretch at a time; of its place in the text at most whether it is the first one (Metaspace)."""
AROUND = frozenset({"BertProcessing", "ByteLevel", "RobertaProcessing", "TemplateProcessing"})
"""What puts the same ids around every text."""
SHORT, KEPT = 200, 1_000
"""Of how many characters tails are remembered, and how many."""
_PROBE = "x y"


class Beginnings:
    """The ids of texts from those of others under one tokenizer; make it with `beginnings`."""

    def __init__(self, anchors: Mapping[int, str], shared: Collection[int], front: Own, back: Own) -> None:
        """`shared` are the anchors whose ids the model gives for other texts, too; `front` and `back` are put around
        a text."""
        self._anchors, self._shared = anchors, frozenset(shared)
        ids = frozenset(anchors)
        self._usable = {False: ids, True: ids.difference(front, back)}
        self._back = {False: flat(()), True: flat(back)}
        self._tails: dict[str, Flat] = {}
        self._last = -1, ""

    def of(
        self, begun: Sequence[PrefixedText], special: bool, encode: Callable[[Sequence[str]], Sequence[Flat]]
    ) -> list[Flat | None]:
        """The ids of texts, encoded with special tokens or without; None where a text shares no added token with the
        other one. `encode` is given the tails that are not known yet, to be encoded without special tokens."""
        cuts = [self._cut(*text, special) for text in begun]
        tails = [one.text[cut[0] :] if cut is not None else "" for one, cut in zip(begun, cuts)]
        known = self._tails
        unknown = [tail for tail in dict.fromkeys(tails) if tail and tail not in known]
        if unknown:
            found = dict(zip(unknown, encode(unknown)))
            known = {**known, **found}
            short = {tail: ids for tail, ids in found.items() if len(tail) <= SHORT}
            self._tails = {**self._tails, **short} if len(self._tails) < KEPT else short
        back = self._back[special]
        return [
            one.ids[: cut[1]] + known[tail] + back if cut is not None else None
            for one, cut, tail in zip(begun, cuts, tails)
        ]

    def _cut(self, text: str, other: str, ids: Flat, special: bool) -> tuple[int, int] | None:
        """Where an added token that both texts share stands in the text, and in the ids of the other one: that which
        the last tail began with, where the text ends so, or the last one."""
        usable, (anchor, tail) = self._usable[special], self._last
        begins = other.startswith(text)
        if begins and anchor in usable and text.endswith(tail):
            at = len(text) - len(tail)
        else:
            shared = len(text) if begins else common_prefix(text, other)
            at = -1
            for one in usable.intersection(ids):
                place = other.rfind(self._anchors[one], 0, shared)
                if place > at:
                    at, anchor = place, one
            if at < 0:
                return None
            self._last = anchor, text[at:]
        content = self._anchors[anchor]
        if anchor in self._shared and ids.count(anchor) != other.count(content):
            return None
        backwards, found = ids[::-1], -1
        for _ in range(other.count(content, at)):
            found = backwards.index(anchor, found + 1)
        return at, len(ids) - 1 - found


def beginnings(backend: Any) -> Beginnings | None:
    """What a `tokenizers.Tokenizer` tells of texts that begin alike; None where it cuts at no added token, or has a
    part of which it is not known to look at one stretch between them at a time."""
    around = put_around(backend) if _by_stretches(backend) else None
    anchors = _anchors(backend.get_added_tokens_decoder())
    if around is None or not anchors:
        return None
    shared = [anchor for anchor in anchors if backend.model.id_to_token(anchor) is not None]
    return Beginnings(anchors, shared, *around)


def put_around(backend: Any) -> tuple[Own, Own] | None:
    """The ids that a `tokenizers.Tokenizer` puts before and behind a text; None where it changes those of the text,
    too, or cannot encode one."""
    try:
        bare, whole = (backend.encode(_PROBE, add_special_tokens=special) for special in (False, True))
    except BaseException as error:  # a text that it cannot encode
        if not isinstance(error, Exception) and not is_panic(error):
            raise
        return None
    put = whole.special_tokens_mask
    front = next((i for i, one in enumerate(put) if not one), 0)
    end = len(put) - next((i for i, one in enumerate(reversed(put)) if not one), 0)
    return (tuple(whole.ids[:front]), tuple(whole.ids[end:])) if whole.ids[front:end] == bare.ids else None


def joints(tokenizer: LoadedTokenizer) -> frozenset[str]:
    """The added tokens where a text may be cut: what stands before one has the ids that it has alone, and so has what
    begins with it. None where that is not known of the tokenizer."""
    engine = tokenizer.engine
    if not isinstance(engine, FastEngine) or not _by_stretches(engine.backend):
        return frozenset()
    added = engine.backend.get_added_tokens_decoder()
    return frozenset(content for number, content in _anchors(added).items() if not added[number].lstrip)


def _by_stretches(backend: Any) -> bool:
    """Whether each stretch of a text between two added tokens is encoded by itself, and always alike."""
    model = backend.model
    drawn = any(getattr(model, name, None) for name in ("dropout", "alpha", "nbest_size"))  # by chance
    if type(model).__name__ not in _MODELS or drawn or backend.encode_special_tokens:
        return False
    around = steps_around(backend)
    return around is not None and all(
        step.get("type") in known for steps, known in zip(around, (_NORMALIZERS, _SPLITTERS, AROUND)) for step in steps
    )


def _anchors(added: Mapping[int, Any]) -> dict[int, str]:
    """The added tokens that are found wherever their text stands."""
    raw = [token.content for token in added.values() if not token.normalized]
    every = "\0".join(("", *raw, ""))
    inner = {char for content in raw for char in content[1:]}
    found = {}
    for number, token in added.items():
        content = token.content
        if token.normalized or token.single_word or "\0" in content or content.strip() != content:
            continue
        if every.count(content) == 1 and not (content[0] in inner and _reached(content, raw)):
            found[number] = content
    return found


def _reached(content: str, raw: Sequence[str]) -> bool:
    """Whether one of the added tokens, itself included, can begin before another's text and end in it."""
    begun = tuple(content[:end] for end in range(1, len(content)))
    return any(one[1:].endswith(begun) for one in raw)
