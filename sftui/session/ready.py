"""From open data to rows with tokens and labels: how a recipe's reading of the data, its tokenizer and its templates
come together, in commands, the worker and tests alike.

    Opened → Untokenized (it cannot be loaded), or Tokenized: Untemplated (its template fails), or Ready
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

from sftui.conversations import Detection
from sftui.errors import RecipeError, SftuiError
from sftui.model import Batch, Inspection, Pack, Problem, Row, Stage
from sftui.pipeline import (
    as_problem,
    collate_packs,
    detect,
    feed_packs,
    inspect,
    inspect_all,
    inspect_early,
    make_batch,
    make_packs,
    make_toolbox,
    pack_rows,
    survey,
)
from sftui.recipe import Recipe
from sftui.session.opened import OpenData, StoredData, open_stored, settle_split
from sftui.session.options import OpenOptions
from sftui.session.versions import load, proven_on, tokenizer_key
from sftui.trainers import Toolbox, trainer_of
from sftui.trainers.held_out import unpaired
from sftui.trainers.pairs import PartnerTrainer

if TYPE_CHECKING:
    from sftui.exports.prepared import ExportInput
    from sftui.findings import Context, Finding, Waiver
    from sftui.serving import ServedTemplate
    from sftui.templates import ChatTemplate
    from sftui.tokens import LoadedTokenizer
    from sftui.tokens.shortcuts.bulk import Bulk
TEXT_ROWS = 8
TEXT_BYTES = 64 << 10
TEXT_CHARACTERS = 20_000
"""Of how many rows, how large each, and how much text in all a tokenizer is proven on besides its probe strings."""


# — the stages —


class UntokenizedData(OpenData):
    """Data whose tokenizer cannot be loaded, and why."""

    stops_at = Stage.TOKENS


@dataclass(frozen=True, eq=False)
class TokenizedData(OpenData):
    """Data with the tokenizer of its recipe."""

    tokenizer: LoadedTokenizer

    def prepared(self) -> ExportInput:
        return replace(super().prepared(), tokenizer=self.tokenizer.facts)


class UntemplatedData(TokenizedData):
    """Data whose template or special tokens do not fit, and why."""

    stops_at = Stage.RENDERED


@dataclass(frozen=True, eq=False)
class Ready(TokenizedData):
    """Data of which rows, batches and packs can be made: `tools` hold the recipe's templates and special tokens, and
    what its trainer decided once for the whole set."""

    tools: Toolbox

    def ready(self, where: str = "") -> Ready:
        return self

    def stops(self, most: int | None = None) -> tuple[str, ...]:
        """Why the run stops before its first step, by its files and its set-up; `most` as in `load_stop`."""
        stop = self.load_stop(most)
        return (*((stop.sentence(),) if stop is not None else ()), *self.tools.stops)

    # --- rows, batches, packs ---------------------------------------------------------------

    def inspect_row(self, row: Row, spans: bool = True, text: bool | None = None) -> Inspection:
        wanted = spans if text is None else text
        found = inspect(row, self.detected, self.recipe, self.tools, spans=spans, text=wanted)
        return self.placed(found)

    def inspect_many(
        self, rows: Iterable[Row], spans: bool = True, text: bool = False, *, engine: Bulk | None = None
    ) -> Iterator[Inspection]:
        """Rows in order, each as `inspect_row` shows it, many prepared at once; `engine` None: by the one that all rows
        have."""
        bulk = self.bulk if engine is None else engine
        made = inspect_all(rows, self.detected, self.recipe, self.tools, bulk, spans=spans, text=text)
        return map(self.placed, made)

    def all_rows(self, spans: bool = False) -> Iterator[Inspection]:
        """Every row in order, inspected; `spans=False` leaves out what no rule needs, and how tokens are written."""
        return self.inspect_many(self.rows(), spans, text=spans)

    def rows_that(self, evaluate: bool, spans: bool = False) -> Iterator[Inspection]:
        """The rows that evaluate, or those that train, in the trainer's order where it has another than the dataset's;
        the split must be settled."""
        split = settle_split(self)
        order: Iterable[int] | None = split.evaluating if evaluate else split.training
        if order is None and evaluate:
            order = sorted(split.evaluation)
        if order is not None:
            return self.inspect_many(map(self.row, order), spans, text=spans)
        training = (row for row in self.rows() if row.index not in split.evaluation)
        return self.inspect_many(training, spans, text=spans)

    @cached_property
    def bulk(self) -> Bulk:
        """Which engine encodes all rows."""
        from sftui.tokens.shortcuts.bulk import Bulk

        return Bulk()

    @property
    def engine_note(self) -> str | None:
        """Where a shortcut for all rows was found wrong, and is not taken any more: the faster engine, or skeletons."""
        found = (self.bulk.mismatch, *(template.skeletons.mismatch for template in self.tools.templates.values()))
        return "; ".join(one for one in found if one is not None) or None

    def batch(self, start: int, rows: int) -> Batch:
        """The padded batch of the next `rows` rows; SftuiError where there is none."""
        count = self.source.count()
        stop = min(start + rows, count.rows) if count.exact else start + rows
        made = [self.inspect_row(self.row(index), spans=False) for index in range(start, stop)]
        return self._with_partners(make_batch(made, self.recipe, self.tools))

    def _with_partners(self, batch: Batch) -> Batch:
        """A batch of KTO with its partners, where those are of rows outside of it; not known of rows that are drawn."""
        trainer, recipe = trainer_of(self.recipe), self.recipe
        if not isinstance(trainer, PartnerTrainer) or trainer.held_out(recipe) is not None:
            return batch
        others = [self._partner(trainer.partner(row, recipe)) for row in batch.rows]
        rows = zip(map(self.row, batch.rows), others)
        read = [[inspect_early(one, self.detected, recipe).conversation for one in pair] for pair in rows]
        made = [trainer.partnered(one, other, recipe, self.tools) for one, other in read if one and other]
        if len(made) < len(others):
            raise RecipeError("a row of the batch stops the run", why="the row before it has no answer to give it")
        numbers = [row.index for row in others]
        return replace(batch, partners=trainer.collate(made, numbers, recipe, self.tools))

    def _partner(self, index: int) -> Row:
        found, last = self.row(index), self.source.count().rows - 1  # all rows are known once one behind them is read
        return found if index <= last else self.row(last)

    def batches(self, size: int) -> Iterator[Batch]:
        """What trains, so many rows or packs at a time, each time padded as the collator does; the dataset's order
        stands for the sampler's. RecipeError where rows cannot be padded."""
        training = stood_in(self.rows_that(evaluate=False), self.recipe)
        if self.recipe.pack.strategy != "none":
            packs = pack_rows(training, self.recipe, self.tools)
            while some := tuple(islice(packs, size)):
                yield collate_packs(some, self.recipe, self.tools)
            return
        sides = unpaired(training) if self.recipe.loss.objective == "kto" else training
        examples = ((found.row.index, example) for found in sides for example in found.examples)
        while batch := tuple(islice(examples, size * (1 + self.recipe.paired))):
            rows = [row for row, _ in batch]
            made = [example for _, example in batch]
            yield self._with_partners(trainer_of(self.recipe).collate(made, rows, self.recipe, self.tools))

    def packs(self, inspections: Sequence[Inspection], size: int | None = None) -> tuple[tuple[Pack, ...], Batch]:
        """Inspected rows packed, and the first `size` packs (None: all) collated; SftuiError where they cannot be."""
        return make_packs(inspections, self.recipe, self.tools, size)

    def feed_packs(self, inspections: Iterable[Inspection]) -> Iterator[Pack]:
        """Inspected rows in order as the packs that reach the model; SftuiError where they cannot be packed."""
        return feed_packs(inspections, self.recipe, self.tools)

    def prepared(self) -> ExportInput:
        made, source = super().prepared(), None
        if self.recipe.render.template != "tokenizer":
            template = self.tools.templates.get("default")
            source = template.source if template is not None else None
        return replace(made, template_source=source)

    # --- findings ---------------------------------------------------------------------------

    @cached_property
    def _checking(self) -> tuple[Context, tuple[Waiver, ...]]:
        from sftui.findings import Context, read_waivers

        context = Context.of(self.recipe, self.detected, self.tools)
        if self.options.config is not None:
            from sftui.trainers.training import rows_of_step

            context = replace(context, step_rows=rows_of_step(self.recipe, self.options.config))
        return context, read_waivers(self.recipe.waivers)

    def checks(self) -> Context:
        """What the checks of rows and of the set-up need; RecipeError for a waiver that makes no sense."""
        return self._checking[0]

    @property
    def waivers(self) -> tuple[Waiver, ...]:
        """The waivers of the recipe; RecipeError as `checks`."""
        return self._checking[1]

    def found(self, inspection: Inspection) -> tuple[Finding, ...]:
        """What is wrong with an inspected row, but for what the recipe waives; RecipeError as `checks`."""
        return self.sifted(inspection)[0]

    def sifted(self, inspection: Inspection) -> tuple[tuple[Finding, ...], int]:
        """What is wrong with an inspected row, and how much more of it the recipe waives; RecipeError as `checks`."""
        from sftui.findings import check_row

        context = self.checks()
        return self.sift(check_row(inspection, context)) if inspection.row.left_out is None else ((), 0)

    def sift(self, findings: Iterable[Finding]) -> tuple[tuple[Finding, ...], int]:
        """The findings that no waiver of the recipe covers, and how many others there are."""
        from sftui.findings import apply_waivers

        stand, waived = apply_waivers(findings, self.waivers)
        return stand, len(waived)


def stood_in(rows: Iterable[Inspection], recipe: Recipe) -> Iterator[Inspection]:
    """Rows in order, and before a row that is kept the same once more for each that the trainer replaces by it; behind
    the last one the first that is kept."""
    trainer, waiting = trainer_of(recipe), 0
    first: Inspection | None = None
    for row in rows:
        if row.example is not None:
            first = first or row
            while waiting:
                yield row
                waiting -= 1
        waiting += trainer.takes_next(row)
        yield row
    if first is not None:
        yield from (first for _ in range(waiting))


# — from one to the next —


def open_data(
    options: OpenOptions,
    recipe: Recipe | None = None,
    repairs: tuple[str, ...] | None = None,
    seconds: float | None = None,
) -> OpenData:
    """Open the source and find out how its rows are read under a recipe and repairs (None: those of the options), from
    the whole or from what is read in `seconds`; SourceError, RecipeError for a repair that is none."""
    return opened_from(open_stored(options, seconds), recipe, repairs)


def opened_from(stored: StoredData, recipe: Recipe | None = None, repairs: tuple[str, ...] | None = None) -> OpenData:
    """The same of a source that is open already; RecipeError for a repair that is none."""
    options = stored.options
    repairs = options.repairs if repairs is None else repairs
    return _staged(stored, options.recipe if recipe is None else recipe, repairs, None)


def with_tokenizer(opened: OpenData, tokenizer: LoadedTokenizer | Problem) -> OpenData:
    """The same data with a tokenizer, or with why there is none."""
    return _staged(opened.stored, opened.requested, opened.repairs, tokenizer, opened)


def under(
    opened: OpenData, recipe: Recipe, repairs: tuple[str, ...] | None = None, stored: StoredData | None = None
) -> OpenData:
    """The same data under another recipe, and other repairs where they are given, or as far as it is known now
    (`stored`); the tokenizer too, where it is the same one."""
    tokenizer: LoadedTokenizer | Problem | None = None
    if tokenizer_key(recipe) == tokenizer_key(opened.recipe):
        if isinstance(opened, TokenizedData):
            tokenizer = opened.tokenizer
        elif isinstance(opened, UntokenizedData):
            tokenizer = opened.problem
    repairs = opened.repairs if repairs is None else repairs
    return _staged(stored or opened.stored, recipe, repairs, tokenizer, opened)


def tokenizer_of(opened: OpenData) -> LoadedTokenizer | None:
    """The tokenizer of open data; None where there is none, or none yet."""
    return opened.tokenizer if isinstance(opened, TokenizedData) else None


def waits(opened: OpenData) -> bool:
    """Whether nobody knows yet whether its tokenizer can be loaded."""
    return not isinstance(opened, TokenizedData | UntokenizedData)


def tokenized(opened: OpenData, mode: str = "proven") -> OpenData:
    """Load the recipe's tokenizer here and now; TokenizerError."""
    return with_tokenizer(opened, load(opened.recipe, opened.options, mode))


def ready_under(opened: OpenData, recipe: Recipe, repairs: tuple[str, ...] | None = None) -> Ready:
    """The same data ready under another recipe, as by `under`, its tokenizer loaded where it is another one;
    SftuiError."""
    other = under(opened, recipe, repairs)
    return (tokenized(other, "provisional") if waits(other) else other).ready()


def prove_rows(opened: OpenData, texts: Sequence[str] | None = None) -> OpenData:
    """The tokenizer compared with AutoTokenizer on texts of the user's rows (None: `row_texts`); the very same where
    it stands. SftuiError where `--env` names nothing that can be used."""
    if not isinstance(opened, TokenizedData) or not opened.tokenizer.facts.backend:
        return opened
    samples = row_texts(opened) if texts is None else texts
    proven = proven_on(opened.recipe, opened.options, opened.tokenizer, samples)
    return opened if proven is opened.tokenizer else with_tokenizer(opened, proven)


def row_texts(opened: OpenData) -> tuple[str, ...]:
    """What the first rows give the tokenizer to encode: few texts, and none where they cannot be prepared."""
    found: list[str] = []
    left = TEXT_CHARACTERS
    for row in opened.sample[:TEXT_ROWS] if isinstance(opened, Ready) else ():
        if row.data is None or row.size > TEXT_BYTES:
            continue
        made = opened.inspect_row(row, spans=False)
        if made.rendered is None or made.tokens is None:
            continue
        pieces = made.rendered.pieces
        texts = [made.rendered.text] if pieces is None else [piece.text for piece in pieces if piece.ids is None]
        if sum(map(len, texts)) <= left:
            left -= sum(map(len, texts))
            found += texts
    return tuple(text for text in dict.fromkeys(found) if text)


def _staged(
    stored: StoredData,
    recipe: Recipe,
    repairs: tuple[str, ...],
    tokenizer: LoadedTokenizer | Problem | None,
    like: OpenData | None = None,
) -> OpenData:
    """All stages of some data under a recipe, as far as they go. `like` is the same data, whose reading stands where it
    is the same."""
    if not repairs:
        alike = like is not None and like.stored.sample is stored.sample and _read_alike(like, recipe)
        detected = like.detected if like is not None and alike else _detected(stored, recipe)
        return _tokenized(OpenData(stored, recipe, repairs, stored.sample, detected), tokenizer, like)
    from sftui.repairs.run import Overlay
    from sftui.session.repairing import codes_of, lay_over

    plain = None if tokenizer is None or isinstance(tokenizer, Problem) else tokenizer
    plan, layout, sample, read = lay_over(stored, repairs, recipe, detect(stored.sample, recipe), plain)
    given = recipe if read is not recipe else None
    staged = _tokenized(OpenData(stored, read, repairs, sample, detect(sample, read), given=given), tokenizer, like)
    return replace(staged, overlay=Overlay(stored.source, plan, layout, codes_of(staged, plan)))


def _detected(stored: StoredData, recipe: Recipe) -> Detection:
    """How the rows are read; whether texts that look like times are times, the loader knows."""
    from sftui.trainers.reading import dated

    found = stored.loaded(recipe, first=True) if dated(stored.sample, recipe.preset) else None
    return detect(stored.sample, recipe, found.schema if found is not None else None)


def _read_alike(like: OpenData, recipe: Recipe) -> bool:
    one, other = ((each.data, each.own, each.preset, each.loss.objective) for each in (like.recipe, recipe))
    return not like.repairs and one == other


def _tokenized(opened: OpenData, tokenizer: LoadedTokenizer | Problem | None, like: OpenData | None) -> OpenData:
    """The template and special tokens of the recipe around the tokenizer, what the trainer decides once for the whole
    set, from its first row, and what the model will be served with; failures are kept as data."""
    if tokenizer is None:
        return opened
    same: dict[str, Any] = {field.name: getattr(opened, field.name) for field in fields(OpenData)}
    if isinstance(tokenizer, Problem):
        return UntokenizedData(**{**same, "problem": tokenizer})
    first = opened.sample[0] if opened.sample else None
    try:
        made = make_toolbox(opened.recipe, tokenizer)
        if isinstance(like, Ready) and like.recipe.render == opened.recipe.render:
            made = replace(made, templates={name: _as_known(one, like) for name, one in made.templates.items()})
        tools = survey(first, opened.detected, opened.recipe, made)
        config = opened.options.config
        stops = () if config is None else config.stops(opened.recipe)
        tools = replace(tools, served=_served(opened, tokenizer, like), stops=(*tools.stops, *stops))
    except SftuiError as error:
        return UntemplatedData(**{**same, "problem": as_problem(error)}, tokenizer=tokenizer)
    return Ready(**same, tokenizer=tokenizer, tools=tools)


def _as_known(template: ChatTemplate, like: Ready) -> ChatTemplate:
    """The same template of the same data under another recipe, with the shapes of rows that it has learned; this one
    where there is none."""
    known = like.tools.templates.values()
    return next((one for one in known if one.clock is template.clock is None and one.alike(template)), template)


def _served(opened: OpenData, tokenizer: LoadedTokenizer, like: OpenData | None) -> ServedTemplate | None:
    """What the options name to serve with, held against this tokenizer; that of `like` where it is the same."""
    if opened.options.serve is None:
        return None
    if isinstance(like, Ready) and like.tokenizer is tokenizer and like.tools.served is not None:
        return like.tools.served
    from sftui.serving import load_served

    return load_served(opened.options.serve, tokenizer, opened.recipe.tokenizer.name)
