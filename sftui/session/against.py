"""Stored or captured sequences, each looked for in a dataset as sftui prepares it: equal, or where they part and why.

Nothing is decided by rules: a cause is a change of the recipe under which the row comes out as the run had it.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

from sftui.conversations.detected import Detection
from sftui.conversations.tensors import as_labels, is_tensors
from sftui.conversations.tokenized import are_targets, documents_of, read_tokenized
from sftui.errors import SftuiError
from sftui.model import IGNORE_INDEX, Conversation, Example, Inspection, Kind, Pack, RecipeChange, Row, common_prefix
from sftui.recipe import TODAY, Recipe, changed, diff, knobs_of, with_changes
from sftui.session.candidates import toggled
from sftui.session.ready import Ready, ready_under
from sftui.session.versions import wanted_version
from sftui.trainers import trainer_of, traits_of
from sftui.trainers.own_config import other_choices
from sftui.trainers.versions import RUNNING, reference_version

SHIFTED, UNSHIFTED = "shifted", "unshifted"
SURE = 0.9
"""Of so many labels each is an id at one distance, where they are moved: a pack has others between its documents."""
Labels: TypeAlias = "tuple[int | None, ...]"
GRAM = 5
"""Ids in a row that two texts must share to be thought of as the same."""
SHARED = 10
"""A document is like a row that has one in so many of its runs, of those that are not in most rows."""
MOST_TRIED = 12
"""Of so many sequences that differ it is found out why; the others are tried with what was found."""
MOST_BETTER = 6
"""Changes that each bring a row nearer, of which pairs are tried."""


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a sequence: `place` is where it begins there. `labels` are what the run's loss takes for each
    token, at the position before it; None where none were seen, each None where it is not known. `clipped`: its end was
    cut when it was captured. `meant`: the same with each label at the token that it is, where the loss takes it for one
    that is `moved` places before that."""

    row: int
    number: int
    place: int
    input_ids: tuple[int, ...]
    labels: Labels | None
    clipped: bool = False
    moved: int = 0
    meant: Document | None = None


@dataclass(frozen=True, slots=True)
class Divergence:
    """Where a document and a row part first: `what` is `ids` or `labels`, `position` counts tokens of the document;
    `theirs` and `ours` are the id or label there, None behind the end."""

    what: str
    position: int
    theirs: int | None
    ours: int | None


@dataclass(frozen=True, slots=True)
class Match:
    """A document with its row of the dataset (None: none is like it), and where they part (None: they are equal). `why`
    are the changes of the recipe without which they are not equal; none where no change makes them so, or none was
    looked for. `explained`: it is equal with these, once each label is at the token that it is (`Document.meant`)."""

    document: Document
    row: int | None = None
    parting: Divergence | None = None
    why: tuple[RecipeChange, ...] = ()
    explained: bool = False

    @property
    def equal(self) -> bool:
        return self.row is not None and self.parting is None


@dataclass(frozen=True, slots=True)
class DocumentMatches:
    """The documents with what was found of each, in order; `untried` is what could not be tried, in sentences."""

    matches: tuple[Match, ...]
    untried: tuple[str, ...] = ()

    @property
    def differing(self) -> tuple[Match, ...]:
        return tuple(one for one in self.matches if not one.equal)


def documents_in(session: Ready, run: Mapping[str, Any] | None, recipe: Recipe) -> list[Document]:
    """The documents of all rows of ids, padding left out; SftuiError where a row is none.

    `recipe` is that of the dataset: whether its loss shifts decides where the run did not show it.
    """
    rows: list[tuple[Row, _ScoredRow]] = []
    for row in session.rows():
        early = session.early(row)
        if early.conversation is None or early.conversation.kind is not Kind.TOKENS:
            why = early.problem.sentence() if early.problem is not None else "it has no input_ids"
            raise SftuiError(f"row {row.index} cannot be looked up", why=why, fix="name captured batches or stored ids")
        rows.append((row, _scored(row, session.detected, recipe)))
    pads = {((run or {}).get("tokenizer") or {}).get("pad_id"), _fills([one for _, one in rows])}
    found: list[Document] = []
    for row, (conversation, labels, meant, moved) in rows:
        ids = conversation.input_ids
        ranges = documents_of(conversation)
        for number, (start, end) in enumerate(ranges):
            if conversation.attention_mask is None and end == len(ids):
                while end > start + 1 and ids[end - 1] in pads and (meant is None or meant[end - 1] == IGNORE_INDEX):
                    end -= 1  # padding, which nothing trains
            last = number == len(ranges) - 1
            clipped = last and (row.data or {}).get("length") is not None
            own = labels[start:end] if labels is not None else None
            one = Document(row.index, number, start, ids[start:end], own, clipped)
            if moved and labels is not None and meant is not None:
                behind = labels[end - 1 : end] if last and moved == 1 else ()
                cut = [label for label in behind if label is not None and label not in (IGNORE_INDEX, ids[start])]
                whole = replace(one, input_ids=(*one.input_ids, *cut), labels=(*meant[start:end], *cut))
                one = replace(one, moved=moved, meant=whole)
            found.append(one)
    return found


class _ScoredRow(NamedTuple):
    """A stored row with the label that its loss takes for each token, at the position before it, and the labels at the
    tokens that they are, `moved` places behind those; None for one that is not known."""

    stored: Conversation
    labels: Labels | None
    meant: Labels | None
    moved: int


def _scored(row: Row, detected: Detection, recipe: Recipe) -> _ScoredRow:
    data: Mapping[str, Any] = row.data or {}
    if tensors := is_tensors(detected):
        data = as_labels(data, row.where, detected)
    plain = replace(detected, given_labels=UNSHIFTED, fields={} if tensors else detected.fields)
    stored = read_tokenized({**data, "labels_from": None}, row.where, plain)
    if stored.labels is None:
        return _ScoredRow(stored, None, None, 0)
    labels: Labels = _carrying(stored)
    shifts = recipe.loss.shift == "internal" and recipe.data.given_labels != SHIFTED
    if are_targets(data) or data.get("loss_takes") is not None:
        shifts = not are_targets(data)
    elif tensors and "labels" not in detected.fields:  # a mask of the tokens, or of their predictions
        shifts = shifts or detected.given_labels != SHIFTED
    if not shifts:
        if _fit(stored.input_ids, labels, 0) and not _fit(stored.input_ids, labels, 1):
            return _ScoredRow(stored, (None, *labels[:-1]), labels, -1)
        stored = read_tokenized(data, row.where, replace(plain, given_labels=SHIFTED))
        labels = (None, *_carrying(stored)[1:])
    moved = next((one for one in (0, 1, -1) if _fit(stored.input_ids, labels, one)), 0)
    end = None if labels[-1] != IGNORE_INDEX else IGNORE_INDEX
    return _ScoredRow(stored, labels, {1: (None, *labels[:-1]), -1: (*labels[1:], end)}.get(moved, labels), moved)


def _carrying(stored: Conversation) -> tuple[int, ...]:
    """The labels of a stored row that carry loss, the others masked."""
    labels, weights = stored.labels or (), stored.extra.get("loss_weights", ())
    return tuple(one if weight else IGNORE_INDEX for one, weight in zip(labels, weights)) if weights else labels


def _fit(ids: Sequence[int], labels: Labels, moved: int) -> bool:
    """Whether labels are the ids so many places behind their own."""
    some = [(i + moved, one) for i, one in enumerate(labels) if one not in (None, IGNORE_INDEX)]
    told = [ids[i] == one for i, one in some if 0 <= i < len(ids)]
    return bool(told) and sum(told) >= SURE * len(told)


def _fills(rows: Sequence[_ScoredRow]) -> int | None:
    """The id that a collator of one's own fills batches with: the only one that ends sequences several times over,
    masked, where others end otherwise; None where that is not sure."""
    ends: set[int] = set()
    longest = False
    for one, _, labels, _ in rows:
        if one.attention_mask is not None or labels is None or len(one.input_ids) < 2:
            return None
        filled = len({*one.input_ids[-2:]}) == 1 and {*labels[-2:]} == {IGNORE_INDEX}
        ends |= {one.input_ids[-1]} if filled else set()
        longest = longest or labels[-1] != IGNORE_INDEX
    return ends.pop() if len(ends) == 1 and longest else None


def against(documents: Sequence[Document], data: Ready, run: Mapping[str, Any] | None) -> DocumentMatches:
    """Every document next to its row of the dataset, and why those differ that do."""
    matched = _nearest(documents, data)
    ways = _RecipeTrials(data, run)
    made: list[Match] = []
    tried = 0
    for one in matched:
        if one.row is None or one.parting is None:
            made.append(one)
            continue
        search = tried < MOST_TRIED
        tried += search
        meant = ways.meant(one)
        why = ways.why(meant, search) if meant.parting is not None else ()
        made.append(replace(one, why=why, explained=bool(why) or meant.parting is None))
    return DocumentMatches(tuple(made), tuple(ways.untried))


# --- which row ---------------------------------------------------------------------------------


def _nearest(documents: Sequence[Document], data: Ready) -> list[Match]:
    """Each document with the row that is equal to it, else with the row that shares most of its ids."""
    found: dict[int, Match] = {}
    wanted: dict[int, list[int]] = {}
    for number, document in enumerate(documents):
        wanted.setdefault(document.input_ids[0] if document.input_ids else -1, []).append(number)
    for made in data.inspect_many(data.rows(), spans=False):
        if len(found) == len(documents) and all(match.equal for match in found.values()):
            break
        for example in made.examples:
            ids = _ids(example)
            for number in wanted.get(ids[0] if ids else -1, ()):
                if number in found and found[number].equal:
                    continue
                parting = parts(documents[number], example, data.recipe)
                if parting is None or parting.what == "labels":
                    found[number] = Match(documents[number], made.row.index, parting)
    left = [number for number in range(len(documents)) if number not in found]
    if left:
        found.update(_by_grams({number: documents[number] for number in left}, data))
    return [found[number] for number in range(len(documents))]


def _by_grams(left: Mapping[int, Document], data: Ready) -> dict[int, Match]:
    """Documents whose ids no row has, each with the row that it shares most runs of ids with; with none where it shares
    only what most rows have, as one system prompt."""
    grams: dict[tuple[int, ...], list[int]] = {}
    for number, document in left.items():
        for gram in set(_grams(document.input_ids)):
            grams.setdefault(gram, []).append(number)
    best: dict[int, tuple[float, Inspection, frozenset[tuple[int, ...]]]] = {}
    holding: Counter[tuple[int, ...]] = Counter()
    examples = 0
    for made in data.inspect_many(data.rows(), spans=False):
        for example in made.examples:
            own = set(_grams(_ids(example)))
            examples += 1
            holding.update(known := frozenset(own & grams.keys()))
            shared = Counter(number for gram in known for number in grams[gram])
            for number, count in shared.items():
                # Of rows that begin alike, as by one system prompt, the one with least besides it.
                score = count - len(own) / 1_000_000
                if number not in best or score > best[number][0]:
                    best[number] = (score, made, known)
    common = {gram for gram, count in holding.items() if count > max(1, examples / 2)}
    found: dict[int, Match] = {}
    for number, document in left.items():
        if number not in best:
            found[number] = Match(document)
            continue
        _, made, known = best[number]
        own = {gram for gram in _grams(document.input_ids) if gram not in common}
        like = not own or len(own & known) * SHARED >= len(own)
        found[number] = _best_match(document, made, data.recipe) if like else Match(document)
    return found


def _best_match(document: Document, made: Inspection, recipe: Recipe) -> Match:
    partings = [parts(document, example, recipe) for example in made.examples]
    furthest = max((one for one in partings if one is not None), key=lambda one: one.position, default=None)
    return Match(document, made.row.index, furthest)


def _grams(ids: Sequence[int]) -> Iterator[tuple[int, ...]]:
    return (tuple(ids[i : i + GRAM]) for i in range(len(ids) - GRAM + 1))


# --- where they part ---------------------------------------------------------------------------


def parts(document: Document, example: Example, recipe: Recipe) -> Divergence | None:
    """Where a document and what the trainer would receive part first; None where they are equal.

    Where the recipe packs, a document may be a part of its row, and its labels are those that the collator leaves.
    """
    ids, labels = _ids(example), _labels(example, recipe, document)
    theirs = document.input_ids
    packs = recipe.pack.strategy != "none"
    start = _part(theirs, ids) if packs else 0
    ids, labels = ids[start:], labels[start:]
    elsewhere = packs and len(theirs) < len(ids) and ids[: len(theirs)] == theirs  # the packer may have put the rest
    if document.clipped or elsewhere:
        ids, labels = ids[: len(theirs)], labels[: len(theirs)]
    at = common_prefix(theirs, ids)
    if at < max(len(theirs), len(ids)):
        return Divergence("ids", at, *(side[at] if at < len(side) else None for side in (theirs, ids)))
    if document.labels is None:
        return None
    for place in range(1 if example.shifted else 0, len(theirs)):
        if document.labels[place] not in (None, labels[place]):
            return Divergence("labels", place, document.labels[place], labels[place])
    return None


def _part(part: Sequence[int], whole: Sequence[int]) -> int:
    """Where a part of a row begins in it; 0 where it is none."""
    if len(part) >= len(whole):
        return 0
    starts = (i for i in range(len(whole) - len(part) + 1) if whole[i] == part[0])
    return next((i for i in starts if whole[i : i + len(part)] == part), 0)


def _ids(example: Example) -> tuple[int, ...]:
    """The ids of an example, with the last one where the trainer's shift takes it off."""
    if example.shifted and example.labels and example.labels[-1] != example.ignore_index:
        return (*example.input_ids, example.labels[-1])
    return example.input_ids


def _labels(example: Example, recipe: Recipe, document: Document) -> tuple[int, ...]:
    """The labels as they reach the loss, un-shifted, -100 where they are masked; padding-free collators mask the first
    one of each document."""
    labels = example.counted
    if recipe.pack.strategy != "none" or recipe.batch.flatten:
        trainer, count = trainer_of(recipe), len(example.input_ids)
        positions = (*range(count), *range(count))
        twice = Pack(((0, 0, count), (1, count, 2 * count)), example.input_ids * 2, labels * 2, positions)
        fed = trainer.fed(twice, recipe).labels
        labels = fed[count:] if document.place else fed[:count]
    if example.ignore_index != IGNORE_INDEX:
        labels = tuple(IGNORE_INDEX if label == example.ignore_index else label for label in labels)
    if not example.shifted:
        return labels
    return (IGNORE_INDEX, *labels) if len(_ids(example)) > len(example.input_ids) else (IGNORE_INDEX, *labels[:-1])


# --- why ---------------------------------------------------------------------------------------


@dataclass
class _RecipeTrials:
    """The recipes that are tried, each opened once. `known` are the changes that made a document equal."""

    data: Ready
    run: Mapping[str, Any] | None
    known: list[tuple[RecipeChange, ...]] = field(default_factory=list)
    untried: dict[str, None] = field(default_factory=dict)
    opened: dict[str, Ready | None] = field(default_factory=dict)
    template: str | None = None

    def meant(self, match: Match) -> Match:
        """A match with each label of its document at the token that it is."""
        document = match.document.meant
        if document is None or match.row is None:
            return match
        made = self.data.inspect_row(self.data.row(match.row), spans=False)
        equal = any(parts(document, example, self.data.recipe) is None for example in made.examples)
        return Match(document, match.row) if equal else _best_match(document, made, self.data.recipe)

    def why(self, match: Match, search: bool) -> tuple[RecipeChange, ...]:
        """The fewest changes under which a row is as its document; what helped others is tried first."""
        row = self.data.row(match.row if match.row is not None else 0)
        recipe = self.data.recipe
        for changes in self.known:
            if self._nearer(match, row, with_changes(recipe, changes)) is True:
                return changes
        if not search:
            return ()
        better: list[tuple[int, Recipe]] = []
        for other in self._singles(match):
            nearer = self._nearer(match, row, other)
            if nearer is True:
                return self._found(recipe, other)
            if nearer is not False:
                better.append((nearer, other))
        better.sort(key=lambda one: -one[0])
        tops = [other for _, other in better[:MOST_BETTER]]
        for first in tops:
            for second in self._singles(match):
                other = with_changes(first, diff(recipe, second))
                if other not in (first, second) and self._nearer(match, row, other) is True:
                    return self._found(recipe, other)
        return ()

    def _found(self, recipe: Recipe, other: Recipe) -> tuple[RecipeChange, ...]:
        changes = tuple(diff(recipe, other))
        self.known.append(changes)
        return changes

    def _nearer(self, match: Match, row: Row, recipe: Recipe) -> bool | int:
        """True where the row is then as the document; else how much further they go together, False for no further."""
        way = self._ready(recipe)
        if way is None or match.parting is None:
            return False
        partings = [parts(match.document, example, recipe) for example in way.inspect_row(row, spans=False).examples]
        if any(divergence is None for divergence in partings):
            return True
        furthest = max((_reach(one) for one in partings if one is not None), default=(0, 0))
        before = _reach(match.parting)
        return furthest[0] * 1_000_000 + furthest[1] if furthest > before else False

    def _ready(self, recipe: Recipe) -> Ready | None:
        key = repr(recipe)
        if key not in self.opened:
            self.opened[key] = None
            try:
                self.opened[key] = ready_under(self.data, recipe)
            except SftuiError as error:
                if recipe.tokenizer.transformers != self.data.recipe.tokenizer.transformers:
                    self.untried[f"transformers {recipe.tokenizer.transformers} was not tried: {error}"] = None
        return self.opened[key]

    def _singles(self, match: Match) -> Iterator[Recipe]:
        """The recipe with one thing changed: first what is known of the run, then every knob's other choices."""
        recipe = self.data.recipe
        yield from self._of_run(recipe)
        if recipe.render.date != TODAY:
            yield changed(recipe, "render.date", TODAY)
        yield from self._lengths(recipe, match)
        for path, value in _choices(recipe):
            yield changed(recipe, path, value)
        for role in ("system", "user", "assistant", "tool"):
            yield changed(recipe, "mask.roles", toggled(recipe.mask.roles, role))

    def _of_run(self, recipe: Recipe) -> Iterator[Recipe]:
        """The recipe with the release of its trainer, the transformers, the template of the run."""
        versions = (self.run or {}).get("versions", {})
        release = versions.get(traits_of(recipe.trainer).package or recipe.trainer)
        if release is not None and recipe.version and not release.startswith(recipe.version):
            yield replace(recipe, version=release)
        theirs = versions.get("transformers")
        if theirs is not None and theirs != reference_version(recipe) and self._has(theirs):
            yield changed(recipe, "tokenizer.transformers", theirs)
        template = ((self.run or {}).get("tokenizer") or {}).get("chat_template")
        if isinstance(template, str) and not trainer_of(recipe).brings_template(recipe):
            current = self.data.tools.templates.get("default")
            if current is None or current.source != template:
                yield changed(recipe, "render.template", f"file:{self._file(template)}")

    def _has(self, version: str) -> bool:
        """Whether the ids of a version of transformers can be had here."""
        recipe = changed(self.data.recipe, "tokenizer.transformers", version)
        try:
            there = wanted_version(recipe, self.data.options).environment is not None
        except SftuiError:
            there = False
        if not there and version not in (RUNNING, self.data.tokenizer.facts.transformers):
            why = f"transformers {version}, which the run used, was not tried: --transformers {version} installs it"
            self.untried[why] = None
        return there

    def _file(self, template: str) -> str:
        """The run's own template as a file that goes with this process."""
        if self.template is None:
            import atexit
            import shutil
            import tempfile

            folder = tempfile.mkdtemp(prefix="sftui-against-")
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
            self.template = os.path.join(folder, "chat_template.jinja")
            with open(self.template, "w", encoding="utf-8") as file:
                file.write(template)
        return self.template

    def _lengths(self, recipe: Recipe, match: Match) -> Iterator[Recipe]:
        """The recipe with the length at which the run cut: that of the document, or of its sequence, or none."""
        whole = len(match.document.input_ids)
        shapes = [one["shapes"]["input_ids"][1] for one in (self.run or {}).get("batches", ())]
        for length in dict.fromkeys((*([max(shapes)] if shapes else []), whole, None)):
            if length != recipe.length.max:
                yield changed(recipe, "length.max", length)


def _reach(parting: Divergence) -> tuple[int, int]:
    """How far two go together: equal ids are further than any that are not."""
    return (1 if parting.what == "labels" else 0), parting.position


FIRST = ("mask", "own", "length", "tokenize", "render")
"""The sections of a recipe whose knobs are tried before others: they are what people set."""


def _choices(recipe: Recipe) -> Iterable[tuple[str, Any]]:
    sections = {name: number for number, name in enumerate(FIRST)}
    for info in sorted(knobs_of(recipe), key=lambda info: sections.get(info.path.partition(".")[0], len(FIRST))):
        yield from ((info.path, value) for value in other_choices(recipe, info))
