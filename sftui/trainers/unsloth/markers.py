"""train_on_responses_only: which ids a marker is searched as, and which tokens its spans train.

Source: unsloth_zoo 2026.10.7 and 2026.8.13, unsloth_zoo/dataset_utils.py `_find_common_token_ids`,
`_stable_marker_edges`, `train_on_responses_only`.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from sftui.errors import RecipeError
from sftui.model import common_prefix
from sftui.runs import places_of
from sftui.tokens import LoadedTokenizer

Ids = tuple[int, ...]
Spans = tuple[tuple[int, int], ...]

EDGE_PROBES = ("\\", "{", "a", "A", "1", "(", ".", "<", "}", ">")
"""Characters that are put beside a marker to see which of its edge tokens merge with a neighbour."""


@dataclass(frozen=True, slots=True)
class Marker:
    """The ids that must be there, and those that belong to the marker where they stand beside it."""

    core: Ids
    left: Ids = ()
    right: Ids = ()

    def at(self, ids: Sequence[int], place: int) -> bool:
        return ids[place] == self.core[0] and tuple(ids[place : place + len(self.core)]) == self.core


@dataclass(frozen=True, slots=True)
class Markers:
    """Both markers of a run, as text and as ids, and what else ends a span."""

    instruction_text: str
    response_text: str
    instruction: Marker
    response: Marker
    opener: Ids = ()
    """Special tokens with which both markers begin: they open every role's turn."""
    bos: int | None = None
    eos: int | None = None
    hidden: tuple[Ids, ...] = ()
    """mask_out_tokens as ids."""
    eager: bool = True
    """The rules since 2026.10: a span ends at EOS, BOS, any turn's opener or the next response."""


def find_marker(text: str, tokenizer: LoadedTokenizer, *, force: bool, edges: bool) -> Marker:
    """The ids that `text` is searched as; an empty core where none could be found.

    With `force` the marker's own tokenization. Without, the longest run of ids shared by all
    variants with 0 to 2 new lines (or the marker's own blanks) at each side. `edges` is the rule
    since 2026.10: tokens at the edge that merge with their neighbour are optional.
    """

    def ids_of(one: str) -> list[int]:
        return list(tokenizer.encode(one).ids)

    own = ids_of(text)
    variants = [own] if force else _variants(text, ids_of)
    core = _longest_shared([[*ids, 0] for ids in variants])
    if core == [0] and len(variants[0]) == 1 and all(variants[0][0] in ids for ids in variants):
        core = [variants[0][0]]
    if all(ids == variants[0] for ids in variants) and core == [*variants[0], 0]:
        core = variants[0]
    where = next((at for at in range(len(own)) if own[at : at + len(core)] == core), -1)
    if where < 0:
        return Marker(())
    first, last = where, where + len(core)
    if edges:
        start, end = _stable_edges(text, own, ids_of)
        start, end = max(first, start), min(last, end)
        added = tokenizer.engine.added()
        if any(added.get(i, ("", False))[0].strip() for i in own[start:end]):
            first, last = start, end
    return Marker(tuple(own[first:last]), tuple(own[:first]), tuple(own[last:]))


def resolve(
    instruction: str, response: str, tokenizer: LoadedTokenizer, *, force: bool, hidden: Sequence[str], eager: bool
) -> Markers:
    """Both markers as ids; RecipeError where Unsloth refuses them."""
    asked = find_marker(instruction, tokenizer, force=force, edges=eager)
    answer = find_marker(response, tokenizer, force=force, edges=eager)
    for name, marker in (("instruction_part", asked), ("response_part", answer)):
        if not marker.core:
            why = "it has no stable token ids to search for"
            fix = "give other markers, or none, so Unsloth finds both" + ", or set force_match to true" * (not force)
            raise RecipeError(f"Unsloth rejects the {name}", why=why, fix=fix)
    facts = tokenizer.facts
    if not eager:
        return Markers(instruction, response, asked, answer, eager=False)
    if answer.core == asked.core[: len(answer.core)] and answer.right:
        answer = Marker(answer.core + answer.right, answer.left)
    if asked.core == answer.core[: len(asked.core)] and asked.right:
        asked = Marker(asked.core + asked.right, asked.left)
    opener, masked = _opener(asked.core, answer.core, tokenizer), _hidden(hidden, tokenizer)
    return Markers(instruction, response, asked, answer, opener, facts.bos_id, facts.eos_id, masked)


def hidden_places(ids: Sequence[int], markers: Markers) -> frozenset[int]:
    """The positions that mask_out_tokens masks, inside spans and out."""
    found: set[int] = set()
    for wanted in markers.hidden:
        for at in places_of(ids, wanted[:1]):
            if tuple(ids[at : at + len(wanted)]) == wanted:
                found.update(range(at, at + len(wanted)))
    return frozenset(found)


def spans_of(ids: Sequence[int], markers: Markers) -> Spans:
    """The half-open ranges after each response marker, in order, before `last_response_only`.

    Before 2026.10 a span runs to the next instruction marker or the end, whatever lies between, and optional ids to the
    right are compared one place too far, as in the source.
    """
    asked, answer, eager, n = markers.instruction, markers.response, markers.eager, len(ids)
    bos, eos, opener = (markers.bos, markers.eos, markers.opener) if eager else (None, None, ())
    late, after = (0, -1) if eager else (1, 0)
    begins = places_of(ids, answer.core[:1])
    may_end = {bos, eos, *opener[:1], asked.core[0]} - {None, *(answer.core[:1] if eager else ())}
    ends = sorted([*(begins if eager else ()), *places_of(ids, may_end), n - 1])
    spans: list[tuple[int, int]] = []
    at = _next(begins, 0)
    while at < n:
        if answer.at(ids, at):
            start = _over(ids, at + len(answer.core), answer.right, late)
            at = _next(ends, start)
            while at < n:
                token = ids[at]
                if token == eos:
                    spans.append((start, at + 1))
                    break
                opens = bool(opener) and token == opener[0] and tuple(ids[at : at + len(opener)]) == opener
                if token == bos or opens or (eager and answer.at(ids, at)):
                    spans.append((start, at))
                    at -= 1  # looked at again: it may be the next response's marker
                    break
                if at == n - 1 or asked.at(ids, at):
                    end, at = _to_instruction(ids, at, asked, late, after)
                    spans.append((start, end))
                    break
                at = _next(ends, at + 1)
        at = _next(begins, at + 1)
    return tuple(spans)


def _next(places: Sequence[int], at: int) -> int:
    """The first of some places in order from `at` on; a place behind every text where there is none."""
    number = bisect_left(places, at)
    return places[number] if number < len(places) else sys.maxsize


def _to_instruction(ids: Sequence[int], at: int, asked: Marker, late: int, after: int) -> tuple[int, int]:
    """Where a span ends that reaches an instruction marker or the last token, and where the search goes on."""
    beyond, n = at + len(asked.core) if asked.at(ids, at) else None, len(ids)
    for wanted in reversed(asked.left):
        if at < 1 or ids[at - 1] != wanted:
            break
        at -= 1
    if at == n - 1:
        return n, n - 1
    if beyond is None:  # the last token, and the marker's optional left ids stand before it
        return at, n - 1
    return at, _over(ids, beyond, asked.right, late) + after


def _over(ids: Sequence[int], at: int, wanted: Ids, late: int) -> int:
    for token in wanted:
        if at + late >= len(ids) or ids[at + late] != token:
            break
        at += 1
    return at


def _opener(asked: Ids, answer: Ids, tokenizer: LoadedTokenizer) -> Ids:
    shared = asked[: common_prefix(asked, answer)]
    added = tokenizer.engine.added()
    attributes = {tokenizer.token_id(token) for token in named_specials(tokenizer)}
    special = {i for i, (_, is_special) in added.items() if is_special} | attributes
    if not all(i in special for i in shared) or not any(added.get(i, ("", False))[0].strip() for i in shared):
        return ()
    return shared


def named_specials(tokenizer: LoadedTokenizer) -> tuple[str, ...]:
    """The texts of the tokenizer's special tokens (bos, eos, pad, unk and the additional ones)."""
    values = tokenizer.facts.special_tokens.values()
    return tuple(token for value in values for token in ([value] if isinstance(value, str) else value) if token)


def _hidden(texts: Sequence[str], tokenizer: LoadedTokenizer) -> tuple[Ids, ...]:
    found: list[Ids] = []
    for text in texts:
        bare, spaced = tokenizer.ids(text), tokenizer.ids(" " + text)
        inside = any(spaced[i : i + len(bare)] == bare for i in range(len(spaced) - len(bare) + 1))
        for ids in (bare,) if inside else (bare, spaced):
            if ids and ids not in found:
                found.append(ids)
    return tuple(found)


def _variants(text: str, ids_of: Callable[[str], list[int]]) -> list[list[int]]:
    lead = text[0] if text[:1] in (" ", "\n") else ""
    tail = text[-1] if text[-1:] in (" ", "\n") else ""
    middle = text.strip()
    blanks = [(lead * left, tail * right, "\n" * left, "\n" * right) for left in range(3) for right in range(3)]
    return [ids_of(a + middle + b) for lead, tail, *lines in blanks for a, b in ((lead, tail), lines)]


def _longest_shared(lists: Sequence[list[int]]) -> list[int]:
    """The longest run of ids that all lists have, found by halving; of several the one that a set of them gives up
    first."""
    low, high = 1, min(len(one) for one in lists)
    best: list[int] = []
    while low <= high:
        size = (low + high) // 2
        shared = set(_runs(lists[0], size))
        for other in lists[1:]:
            shared = {run for run in _runs(other, size) if run in shared}
        if shared:
            best, low = list(shared.pop()), size + 1
        else:
            high = size - 1
    return best


def _runs(ids: list[int], size: int) -> Iterator[Ids]:
    """Every run of so many ids, in order."""
    return (tuple(ids[at : at + size]) for at in range(len(ids) - size + 1))


def _stable_edges(text: str, own: list[int], ids_of: Callable[[str], list[int]]) -> tuple[int, int]:
    """The range of the marker's ids that stays as it is whatever character touches it."""
    start, end = 0, len(own)
    for char in EDGE_PROBES if own else ():
        end = min(end, common_prefix(ids_of(text + char), own))
        start = max(start, len(own) - common_prefix(ids_of(char + text)[::-1], own[::-1]))
    return start, end
