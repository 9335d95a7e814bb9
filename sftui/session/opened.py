"""Open data and how its rows are read under a recipe: all that can be known of rows without a tokenizer.

    StoredData (as it lies there) → OpenData (a recipe's way of reading it, repairs over it) → Ready (see `ready`)

Which rows train and which only evaluate, as the trainer splits them, is found out at the end (`settle_split`).

Frozen: another recipe, other repairs and a tokenizer each make another object of the same `StoredData`.
Single-threaded, but for `source.index_more`, which the worker calls from a thread of its own.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, ClassVar

from sftui import bound
from sftui.conversations import Detection, detect
from sftui.conversations.reading import brings, joined, place_of
from sftui.conversations.refusals import OBJECTIVES
from sftui.errors import ConversationError, SftuiError, SourceError
from sftui.model import Inspection, Problem, Row, Stage
from sftui.pipeline import inspect_early
from sftui.recipe import Data, Mask, Recipe
from sftui.session.options import OpenOptions
from sftui.sources import Source, SourceSpec, open_source
from sftui.sources.slices import SlicedSource
from sftui.text import visible
from sftui.trainers import trainer_named, trainer_of, traits_of
from sftui.trainers.held_out import HeldOut, evaluation_rows
from sftui.trainers.traits import Quirk
from sftui.values import value_class

if TYPE_CHECKING:
    from sftui.exports.prepared import ExportInput
    from sftui.repairs.run import Overlay
    from sftui.session.ready import Ready
    from sftui.trainers.loading import LoadResult
    from sftui.where import FilterCount


SAMPLE_ROWS = 32
SAMPLE_BYTES = 4 << 20
AT_ONCE = 4 << 20
"""Bytes of files that are loaded as the trainer does it where not all is read anyway."""
AT_LEAST = 300
"""Rows of small files that are looked through whatever time it takes: they are read the same on a busy machine."""
FEW = 8
MOST_LATE = 256
"""Rows with a column, a key or a kind of value that no earlier one has: more of them are not looked for."""
HEAVY = 16 << 10
"""Bytes above which a row waits until others are done: its some 4,000 tokens take about 20 ms."""


@dataclass(frozen=True, eq=False)
class StoredData:
    """The data as it lies there, whatever the recipe. `sample` are its first rows, few and not large, and each later
    one that brings a column, a key or a kind of value that none before it has, as far as is known: `whole` where all
    rows were looked through for it. `plainly` is how they are read by no trainer's rules, `loads` what is known of how
    trainers load its files (see `loading`)."""

    options: OpenOptions
    source: Source
    sample: tuple[Row, ...]
    plainly: Detection
    whole: bool = False
    loads: dict[object, LoadResult] = field(default_factory=dict)

    @property
    def first(self) -> int:
        """How many of the sample are the first rows."""
        return next((place for place, row in enumerate(self.sample) if row.index != place), len(self.sample))

    def loaded(self, recipe: Recipe, most: int | None = None, *, first: bool = False) -> LoadResult | None:
        """What the loader of a recipe's trainer makes of the files, or of the `first` of them; None where it has none
        that is known, or where they are more bytes than `most`."""
        from sftui.trainers.reading import blank_line, brought

        trainer, reader = trainer_of(recipe), brought(recipe.preset)
        if trainer.traits.data_name:
            few = most is None or sum(file.size for file in self.source.files()) <= most
            problem = blank_line(self.source.files(), trainer.title) if few else None
            if problem is None:
                return None
            from sftui.trainers.loading import LoadResult  # which needs pyarrow

            return LoadResult(None, problem)
        if reader is None or reader.library != "datasets" or trainer.reads_json(recipe):
            return None
        key = (reader, trainer.title, first)
        if key not in self.loads:
            size = sum(file.size for file in self.source.files())
            if most is not None and size > most:
                return None
            from sftui.trainers.loading import load

            try:
                with bound.Work(bound.item_key("loading", int(first)), size, stage="row"):
                    self.loads[key] = load(self.source.files, reader, trainer.title, first=first)
            except bound.OverBound:
                return None
        return self.loads[key]

    def close(self) -> None:
        self.source.close()


def open_stored(options: OpenOptions, seconds: float | None = None) -> StoredData:
    """Open the source, and read what decides how its rows are read: for so long, or from the whole; SourceError."""
    return stored(options, open_source(source_spec(options)), seconds)


def source_spec(options: OpenOptions) -> SourceSpec:
    """What of the options says which rows there are."""
    spec = SourceSpec(
        options.paths,
        options.split,
        options.data_revision,
        options.subset,
        field=options.rows_in,
        na_filter=Quirk.KEEPS_BLANK_CELLS not in traits_of(options.recipe.preset).quirks,
    )
    return spec if options.row_limit is None else replace(spec, row_limit=options.row_limit)


def stored(options: OpenOptions, source: Source, seconds: float | None = None) -> StoredData:
    """An open source with the rows that decide how all are read, looked for as in `open_stored`."""
    made = _of_sample(options, source, tuple(_first_rows(source)))
    until = None if seconds is None else time.monotonic() + seconds
    late = []
    small = cache(lambda: sum(file.size for file in source.files()) <= AT_ONCE)  # some files end in an endless line
    for number, row in enumerate(late_rows(made, made.first)):
        if row is not None:
            late.append(row)
        elif until is not None and time.monotonic() > until and (number >= AT_LEAST or not small()):
            return made
    return looked_through(made, late)


def late_rows(found: StoredData, start: int) -> Iterator[Row | None]:
    """The rows from `start` on that bring a column, a key or a kind of value that none before them has; None after each
    one that was looked at."""
    place, left = place_of([row.data for row in found.sample]), MOST_LATE
    for row in found.source.unlike(start):
        if row is not None and row.data is not None and left and brings(row.data, place):
            place, left = joined(place, place_of([row.data])), left - 1
            yield row
        yield None


def looked_through(found: StoredData, late: Sequence[Row]) -> StoredData:
    """The same with the `late_rows` of all of its rows."""
    made = _of_sample(found.options, found.source, (*found.sample, *late)) if late else found
    return replace(made, whole=True, loads=found.loads)


def read_anew(before: StoredData, now: StoredData) -> str:
    """What a late row brought, in a sentence; "" where there was none."""
    late = next(iter(now.sample[len(before.sample) :]), None)
    if late is None or late.data is None:
        return ""
    known = {key for row in before.sample if row.data is not None for key in row.data}
    new = ", ".join(f"`{visible(str(key))}`" for key in late.data if key not in known) or "a key or a value type"
    return f"all rows are read again: {late.where} has {new}, which no earlier row has"


def _of_sample(options: OpenOptions, source: Source, sample: tuple[Row, ...]) -> StoredData:
    return StoredData(options, source, sample, _with_roles_seen(detect(sample, Data()), sample))


@value_class
class Split:
    """The numbers of the rows that evaluate; `key` is what of the config asks for it, empty where nothing does.

    `training` and `evaluating` are all rows in the trainer's own order, where that is another than the dataset's.
    `packs`: rows that evaluate are packed where the recipe packs. `unsure` is why it is not known which rows, where it
    is not, and `later`: it could be known, by going through all of them. `unread` are the numbers of the rows that the
    trainer does not draw, and `unmarked` says what is not told apart where it is not known.
    """

    key: str = ""
    evaluation: frozenset[int] = frozenset()
    training: array[int] | None = None
    evaluating: array[int] | None = None
    packs: bool = True
    unsure: str = ""
    later: bool = False
    unread: frozenset[int] = frozenset()
    unmarked: str = ""

    @property
    def note(self) -> str:
        """A line on rows that are not distinguished; empty where they are."""
        return f"{self.unmarked}: {self.unsure}" if self.unsure and self.unmarked else ""


UNSETTLED = Split(unsure="nobody asked yet", later=True)
"""Before anybody asked."""


class RowSplit:
    """What is found out of open data by going through it, once: which rows evaluate."""

    split = UNSETTLED


@dataclass(frozen=True, eq=False)
class OpenData:
    """Data under a recipe, its tokenizer still on its way: its rows have the `repairs` (named as in
    `repairs.make_plan`) over them, `sample` are the first of these, and `detected` says how they are read. `given` is
    the recipe that was requested, where a repair converts the rows and `recipe` reads them as converted."""

    stored: StoredData
    recipe: Recipe
    repairs: tuple[str, ...]
    sample: tuple[Row, ...]
    detected: Detection
    overlay: Overlay | None = field(default=None, kw_only=True)
    """The repairs that lie over the rows; None where there are none."""
    only: FilterCount | None = field(default=None, kw_only=True)
    """What says which rows are read in order, and counts them (`session.matching`); None for all."""
    known: RowSplit = field(default_factory=RowSplit, kw_only=True)
    given: Recipe | None = field(default=None, kw_only=True)
    problem: Problem = field(default=Problem("the tokenizer is not loaded yet"), kw_only=True)
    """Why there are no tokens, or none yet."""

    stops_at: ClassVar[Stage | None] = None
    """The stage that rows do not come to; None where they come to all, or are on their way."""

    @property
    def requested(self) -> Recipe:
        """The recipe that was requested, by which the rows as stored are read."""
        return self.recipe if self.given is None else self.given

    @property
    def options(self) -> OpenOptions:
        return self.stored.options

    @property
    def source(self) -> Source:
        """The data as it lies there: `rows` and `row` are those with the repairs."""
        return self.stored.source

    @property
    def refused(self) -> Problem | None:
        """Why this dataset is no SFT set, or None."""
        return self.detected.refused

    @property
    def unread(self) -> bool:
        """Whether it is a set that its trainer alone does not read, whatever columns are named, or not under this
        objective: its rows show, and say so."""
        data = self.requested.data
        named = data.format != "auto" or bool(data.fields) or traits_of(self.recipe.preset).by_hand
        other = self.requested.loss.objective != "sft"  # what such rows are is not asked of SFT's rules
        plain, refused = self.stored.plainly.refused, self.refused
        pairs = plain is not None and plain.what in OBJECTIVES and trainer_named(self.recipe.preset).objectives
        return refused is not None and not named and (other or bool(pairs) or plain is None)

    def accepted(self, where: str = "", *, unread: bool = False) -> None:
        """ConversationError where this dataset is no SFT set, or none of its trainer's but where that may be
        (`unread`); `where` says for whom."""
        problem = self.refused
        if problem is None or (unread and self.unread):
            return
        plain, stop = self.stored.plainly.refused, self.load_stop(AT_ONCE)
        if stop is not None:
            raise ConversationError(stop.what, where=where, why=stop.why, fix=stop.fix)
        told = plain is None or plain.what == problem.what or self.requested.loss.objective != "sft"
        fix = problem.fix if plain is None or told else plain.sentence()  # what it is tells what to do
        raise ConversationError(problem.what, where=where, why=problem.why, fix=fix)

    def load_stop(self, most: int | None = None) -> Problem | None:
        """Why the trainer's loader stops at the files before the trainer sees a row; None where it does not, where
        repairs lie over the rows, and where nothing is known. `most`: only files that are no more bytes in all."""
        found = None if self.repairs else self.stored.loaded(self.recipe, most)
        return found.problem if found is not None else None

    @property
    def notes(self) -> tuple[str, ...]:
        """What the recipe asks of the rows that the first of them do not have, a sentence each."""
        if self.recipe.mask.roles == Mask().roles:
            return ()
        from sftui.findings import absent_role

        early = (self.early(row) for row in self.sample)
        missing = absent_role(self.recipe, [one.conversation for one in early if one.conversation is not None])
        return (missing.sentence,) if missing is not None else ()

    # --- how far it is ----------------------------------------------------------------------

    def ready(self, where: str = "") -> Ready:
        """The same, ready to make tokens; SftuiError that says what is missing, and `where`."""
        raise SftuiError(self.problem.what, where=where, why=self.problem.why, fix=self.problem.fix)

    # --- rows -------------------------------------------------------------------------------

    def rows(self, start: int = 0) -> Iterator[Row]:
        """Every row from `start` on that a repair does not leave out, and that is wanted, in order."""
        rows = self.source.rows(start) if self.overlay is None else self.overlay.rows(start)
        return rows if self.only is None else filter(self.only.add, rows)

    def row(self, index: int) -> Row:
        """A row of the source; one past the end is a row with its problem."""
        try:
            return self.over(self.source.row(index))
        except IndexError:
            return Row(index, None, "", f"row {index}", problem=self._past_end(index))

    def one_row(self, index: int) -> Row:
        """The same for a command that shows one row: the first rows are those that were read when the data was opened.
        SourceError where there is no such row."""
        try:
            if self.overlay is not None and self.overlay.plan.deduplicate:
                next(self.overlay.rows(index), None)  # what stands before decides
            found = next((row for row in self.stored.sample if row.index == index), None)
            return self.over(self.source.row(index) if found is None else found)
        except IndexError:
            raise SourceError(self._past_end(index)) from None

    def _past_end(self, index: int) -> str:
        rows = self.source.count().rows
        there = f"the last one is {rows - 1}" if rows else "the data is empty"
        return f"there is no row {index}: {there}"

    def over(self, row: Row) -> Row:
        """A stored row with the repairs over it; the very same where none touches it."""
        return row if self.overlay is None else self.overlay.over(row)

    def past_end(self, index: int) -> bool:
        """Whether there is no such row."""
        try:
            self.source.row(index)
        except IndexError:
            return True
        return False

    def count_now(self) -> int | None:
        """How many rows there are, where that is known without reading on."""
        count = self.source.count()
        return count.rows if count.exact and self.only is None else None

    def count_expected(self) -> int | None:
        """How many rows there are, or will be if all are as long as those that are read; None before any is."""
        count = self.source.count()
        return int(count.rows / count.fraction) if count.fraction else None

    # --- inspected --------------------------------------------------------------------------

    def inspect(self, index: int) -> Inspection:
        """Everything about a row that can be known now; never raises for what the row holds."""
        return self.inspect_row(self.row(index))

    def inspect_row(self, row: Row, spans: bool = True, text: bool | None = None) -> Inspection:
        """The stages as far as they go; `provisional` while the tokenizer is on its way.

        `spans=False` saves most of the time where nobody asks who wrote which token. `text`: whether anybody looks at
        how they are written; None: as `spans` says.
        """
        early = self.early(row)
        if early.problem is not None:
            return early
        if self.stops_at is None:
            return replace(early, provisional=True)
        return replace(early, stopped_at=self.stops_at, problem=self.problem)

    def early(self, row: Row) -> Inspection:
        """The stages that need no tokenizer."""
        return inspect_early(row, self.detected, self.recipe)

    # --- which rows evaluate ----------------------------------------------------------------

    @property
    def split(self) -> Split:
        """Which rows evaluate, as far as that is known."""
        return self.known.split

    def placed(self, found: Inspection) -> Inspection:
        """The same, distinguished where it evaluates, and dropped where a repair leaves it out or the trainer does not
        draw it."""
        if found.row.left_out is not None:
            return undrawn(found, f"a repair drops the row, because {found.row.left_out}")
        split = self.known.split
        if found.row.index in split.unread:
            return undrawn(found, f"{split.key} selects other rows: the trainer does not read this one")
        aside = found.row.index in split.evaluation
        return found if found.evaluates == aside else replace(found, evaluates=aside)

    # --- for others -------------------------------------------------------------------------

    def prepared(self) -> ExportInput:
        """What exports need to know."""
        from sftui.exports.prepared import ExportInput

        options, stored = self.options, self.stored.source
        return ExportInput(
            paths=options.paths,
            split=options.split,
            ranges=stored.ranges if isinstance(stored, SlicedSource) else (),
            subset=options.subset,
            data_revision=options.data_revision,
            loading=self.source.loading,
            detected=self.detected,
            config=options.config,
            plainly=self.stored.plainly,
            sample=few(self.sample),
            chosen=frozenset(options.chosen),
        )

    def close(self) -> None:
        self.stored.close()


def undrawn(found: Inspection, why: str) -> Inspection:
    """A row of which nothing is trained: its tokens still show."""
    if found.labels is None:
        return found
    return replace(found, labels=replace(found.labels, dropped=why), example=None, more=())


def few(sample: tuple[Row, ...]) -> tuple[Row, ...]:
    """The first of the rows that decide how all are read, and those that are unlike the first."""
    return tuple(row for place, row in enumerate(sample) if place < FEW or row.index != place)


def _first_rows(source: Source) -> Iterator[Row]:
    """The first rows, few and not large: enough to see what columns mean."""
    size = 0
    for index in range(SAMPLE_ROWS):
        if index and not source.near(index):
            return  # nobody waits for the end of what is too long to be a row
        try:
            row = source.row(index)
        except IndexError:
            return
        yield row
        size += row.size
        if size > SAMPLE_BYTES:
            return


def _with_roles_seen(found: Detection, rows: tuple[Row, ...]) -> Detection:
    """The same without the mapping of roles that do not occur: a config that names them would mean other rows."""
    column, key = found.fields.get("messages"), found.message_keys.get("role", "role")
    seen = {
        message.get(key)
        for row in rows
        if row.data is not None and isinstance(row.data.get(column or ""), list)
        for message in row.data[column or ""]
        if isinstance(message, Mapping) and isinstance(message.get(key), str)
    }
    role_map = {name: role for name, role in found.role_map.items() if name in seen}
    return replace(found, role_map=role_map) if seen else found


PREPARED = 1 << 18
"""Bytes of rows that are prepared to tell which of them evaluate, where not all rows are wanted anyway."""


def held_out_by(recipe: Recipe) -> HeldOut | None:
    """What the recipe's trainer sets aside for evaluation; None where it is nothing."""
    return trainer_of(recipe).held_out(recipe)


def split_of(session: OpenData, most: int | None = None) -> Iterator[Split | None]:
    """The split of an open session's rows last; before it None, so that others may work meanwhile.

    Where it depends on which rows the trainer drops, every row is prepared for that alone; where on their number, and
    that is not known, every row is read. With `most` only where their number is known and they are no more than so many
    bytes; else it is not known.
    """
    held = held_out_by(session.recipe)
    if held is None:
        yield Split()
        return
    unsure, config = held.doubt, session.options.config
    if config is not None and len(config.datasets) > 1:
        unsure = "the rows of the config's other datasets count too"
    repaired = session.overlay is not None or session.only is not None  # rows may be left out, and the others move up
    total = session.count_now()
    if not unsure and not held.drawn and not _tokenizes(session):
        unsure = "it depends on which rows the trainer drops, and there is no tokenizer"
    if unsure:
        yield Split(held.key, unsure=unsure, unmarked=held.unmarked)
        return
    known = total if held.drawn and not repaired and not held.sifted else None
    sizes = accumulate(row.size for row in session.rows())  # hardly more than `most` of them are read
    if most is not None and known is None and (total is None or any(size > most for size in sizes)):
        told = f"every row must be {'counted' if held.drawn else 'prepared'} to know which"
        yield Split(held.key, unsure=told, later=True, unmarked=held.unmarked)
        return
    numbers, kept = array("q", range(known or 0)), bytearray(b"\1") * (known or 0)
    for row in session.rows() if known is None else ():
        if row.left_out is not None or (held.sifted and held.unreadable(session.early(row))):
            continue
        numbers.append(row.index)
        if held.drawn:
            kept.append(1)
        else:
            found = session.inspect_row(row, spans=False)
            kept.append(found.dropped is None)
            if found.more:
                yield Split(held.key, unsure="the trainer makes several rows from one", unmarked=held.unmarked)
                return
        yield None
    if not held.drawn:
        yield Split(held.key, frozenset(numbers[place] for place in evaluation_rows(held, kept)), packs=held.packs)
        return
    training, evaluating = (array("q", (numbers[place] for place in part)) for part in held.order(len(kept)))
    unread = frozenset(numbers).difference(training, evaluating)
    yield Split(held.key, frozenset(evaluating), training, evaluating, held.packs, unread=unread)


def _tokenizes(session: OpenData) -> bool:
    """Whether rows can be prepared."""
    try:
        session.ready()
    except SftuiError:
        return False
    return True


def settle_split(session: OpenData, most: int | None = None) -> Split:
    """Find out which rows evaluate, where it is not known yet; with some trainers every row is prepared for it, which
    with `most` is done for no more than so many bytes of rows."""
    found = session.split
    for step in split_of(session, most) if found.later else ():
        found = step or found
    if not found.later:
        session.known.split = found
    return found


def settling(session: OpenData) -> Iterator[None]:
    """The same for a session that others use meanwhile, where it is not known yet."""
    if not session.split.later:
        return
    for step in split_of(session):
        if step is not None:
            session.known.split = step
        yield None


def unsure_of(splits: Iterable[Split]) -> tuple[int, ...]:
    """The sides of which it is not known which rows evaluate, by number."""
    return tuple(number for number, split in enumerate(splits) if split.note)
