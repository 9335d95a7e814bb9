"""An open dataset with its tokenizer and recipe: what turns a row number into an Inspection.

Used by the worker process, and directly by the commands that need no screen. Single-threaded, but
for `source.index_more`, which the worker calls from a thread of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sftui.errors import SftuiError
from sftui.model import Batch, Inspection, Pack, Problem, Row, Stage
from sftui.recipe import Data, Mask, Recipe
from sftui.session.options import OpenOptions
from sftui.session.versions import tokenizer_key

if TYPE_CHECKING:
    from sftui.conversations import Detected
    from sftui.exports.prepared import Prepared
    from sftui.findings import Context, Finding, Waiver
    from sftui.pipeline import Toolbox
    from sftui.session.overlay import Overlay
    from sftui.session.splitting import Split
    from sftui.sources import Source
    from sftui.tokens import LoadedTokenizer
    from sftui.tokens.bulk import Bulk

SAMPLE_ROWS = 32
SAMPLE_BYTES = 4 << 20
HEAVY = 16 << 10
"""Bytes above which a row waits until others are done: its some 4,000 tokens take about 20 ms."""
TEXT_ROWS = 8
TEXT_BYTES = 64 << 10
TEXT_CHARACTERS = 20_000
"""Of how many rows, how large each, and how much text in all a tokenizer is proven on beside its probe strings."""


class Session:
    """Source, detection, tokenizer and templates of one recipe; each part may still be missing."""

    def __init__(self, options: OpenOptions, recipe: Recipe) -> None:
        self.options = options
        self.recipe = recipe
        self.repairs: tuple[str, ...] = ()
        self.stored: Source | None = None
        self.source: Source | None = None
        self.detected: Detected | None = None
        self.tokenizer: LoadedTokenizer | None = None
        self.tokenizer_problem: Problem | None = None
        self.tools: Toolbox | None = None
        self.tools_problem: Problem | None = None
        self.split: Split | None = None
        self.bulk: Bulk | None = None
        """Which engine encodes all rows, once some were asked for."""
        self._sample: tuple[Row, ...] = ()
        self._stored_sample: tuple[Row, ...] = ()
        self._plainly: Detected | None = None
        self._context: Context | None = None
        self._waivers: tuple[Waiver, ...] = ()

    def open(self) -> None:
        """Open the source and find out how its rows are read; SourceError, ConversationError."""
        from sftui.conversations import detect
        from sftui.sources import SourceSpec, open_source

        options = self.options
        spec = SourceSpec(
            paths=options.paths,
            split=options.split,
            revision=options.data_revision,
            subset=options.subset,
            field=options.rows_in,
        )
        self.stored = self.source = open_source(
            spec if options.row_limit is None else replace(spec, row_limit=options.row_limit)
        )
        self._sample = self._stored_sample = tuple(self._sample_rows())
        self._plainly = _with_roles_seen(detect(self._sample, Data()), self._sample)
        self.detect()

    def detect(self) -> None:
        """Find out anew how rows are read, after the recipe's data part or the repairs changed."""
        from sftui.pipeline import detect

        self.split = None
        self.source, self._sample = self.stored, self._stored_sample
        if self.repairs:
            from sftui.session.repairing import lay_over

            self.source, self._sample = lay_over(
                self, self.repairs, detect(self._stored_sample, self.recipe), self._stored_sample
            )
        self.detected = detect(self._sample, self.recipe)

    def set_repairs(self, repairs: tuple[str, ...]) -> None:
        """Lay other repairs over the rows, by their names as in `repairs.plan_of`; RecipeError for an unknown one."""
        self.repairs = repairs
        if self.stored is not None:
            self.detect()
            self._survey()

    @property
    def overlay(self) -> Overlay | None:
        """The repairs that lie over the rows; None where there are none."""
        from sftui.session.overlay import Overlay

        return self.source if isinstance(self.source, Overlay) else None

    @property
    def refused(self) -> Problem | None:
        """Why this dataset is no SFT set, or None."""
        return self.detected.refused if self.detected is not None else None

    def load_tokenizer(self, mode: str = "proven") -> None:
        """Load the recipe's tokenizer here and now; TokenizerError."""
        from sftui.session.versions import load

        if self.recipe.tokenizer.name is None:
            raise no_tokenizer()
        self.set_tokenizer(load(self.recipe, self.options, mode))

    def row_texts(self) -> tuple[str, ...]:
        """What the first rows give the tokenizer to encode: few texts, and none where they cannot be prepared."""
        found: list[str] = []
        left = TEXT_CHARACTERS
        for row in self._sample[:TEXT_ROWS] if self.tools is not None else ():
            if row.data is None or row.size > TEXT_BYTES:
                continue
            made = self.inspect_row(row, spans=False)
            if made.rendered is None or made.tokens is None:
                continue
            pieces = made.rendered.pieces
            texts = [made.rendered.text] if pieces is None else [piece.text for piece in pieces if piece.ids is None]
            if sum(map(len, texts)) <= left:
                left -= sum(map(len, texts))
                found += texts
        return tuple(text for text in dict.fromkeys(found) if text)

    def prove_rows(self, texts: Sequence[str] | None = None) -> bool:
        """Compare the tokenizer with AutoTokenizer on texts of the user's rows (None: `row_texts`); True where another
        one had to take its place. SftuiError where `--env` names nothing that can be used."""
        from sftui.session.versions import proven_on

        if self.tokenizer is None or not self.tokenizer.facts.backend:
            return False
        proven = proven_on(self.recipe, self.options, self.tokenizer, self.row_texts() if texts is None else texts)
        if proven is self.tokenizer:
            return False
        self.set_tokenizer(proven)
        return True

    def set_tokenizer(self, tokenizer: LoadedTokenizer | None, problem: Problem | None = None) -> None:
        """Use a loaded tokenizer, or know why there is none."""
        self.tokenizer = tokenizer
        self.tokenizer_problem = problem
        if self.repairs and self.stored is not None:
            self.detect()  # the tokenizer says what its control tokens are, and what is found in a row
        self.make_tools()

    def make_tools(self) -> None:
        """The template and special tokens of the recipe around the tokenizer; failures are kept as data."""
        from sftui.pipeline import as_problem, make_toolbox

        self.tools, self.tools_problem, self.split = None, None, None
        if self.tokenizer is None:
            return
        try:
            self.tools = make_toolbox(self.recipe, self.tokenizer)
        except SftuiError as error:
            self.tools_problem = as_problem(error)
        self._survey()

    def _survey(self) -> None:
        """What a trainer decides once for the whole set, from its first row."""
        from sftui.pipeline import as_problem, survey

        if self.tools is None or self.detected is None:
            return
        try:
            self.tools = survey(self._sample[0] if self._sample else None, self.detected, self.recipe, self.tools)
        except SftuiError as error:
            self.tools, self.tools_problem = None, as_problem(error)

    def set_recipe(self, recipe: Recipe) -> bool:
        """Put a recipe in force; True where its tokenizer is another one and must be loaded."""
        before, self.recipe, self.split = self.recipe, recipe, None
        if ((recipe.data, recipe.preset) != (before.data, before.preset) or self.repairs) and self.stored is not None:
            self.detect()
        other = tokenizer_key(recipe) != tokenizer_key(before)
        if other:
            self.set_tokenizer(None)
        elif self.tools is None or (recipe.tokenizer, recipe.render) != (before.tokenizer, before.render):
            self.make_tools()
        else:
            self._survey()
        return other

    def beside(self, recipe: Recipe, repairs: tuple[str, ...] | None = None) -> Session:
        """The same data under another recipe, and other repairs where they are given; the tokenizer too, where it is
        the same one."""
        other = Session(self.options, recipe)
        other.repairs = self.repairs if repairs is None else repairs
        other.stored, other._stored_sample, other._plainly = self.stored, self._stored_sample, self._plainly
        other.detect()
        if tokenizer_key(recipe) == tokenizer_key(self.recipe):
            other.set_tokenizer(self.tokenizer, self.tokenizer_problem)
        return other

    @property
    def notes(self) -> tuple[str, ...]:
        """What the recipe asks of the rows that the first of them do not have, a sentence each."""
        if self.detected is None or self.recipe.mask.roles == Mask().roles:
            return ()
        from sftui.findings import absent_role
        from sftui.pipeline import inspect_early

        early = (inspect_early(row, self.detected, self.recipe) for row in self._sample)
        told = absent_role(self.recipe, [one.conversation for one in early if one.conversation is not None])
        return (told.sentence,) if told is not None else ()

    @property
    def stored_sample(self) -> tuple[Row, ...]:
        """The first rows as they are stored, whatever is repaired."""
        return self._stored_sample

    @property
    def sample(self) -> tuple[Row, ...]:
        """The first rows, few and not large."""
        return self._sample

    def checks(self) -> Context:
        """What the checks of rows and of the set-up need; SftuiError while there is no tokenizer or template."""
        tools = self._tools_or_fail()
        assert self.detected is not None
        now = self._context
        if now is None or now.tools is not tools or now.recipe is not self.recipe or now.detected is not self.detected:
            from sftui.audit import audit_context

            self._context = audit_context(self.recipe, self.detected, tools)
            from sftui.findings import read_waivers

            self._waivers = read_waivers(self.recipe.waivers)
        assert self._context is not None
        return self._context

    def found(self, inspection: Inspection) -> tuple[Finding, ...]:
        """What is wrong with an inspected row, but for what the recipe waives; SftuiError as `checks`."""
        return self.sifted(inspection)[0]

    def sifted(self, inspection: Inspection) -> tuple[tuple[Finding, ...], int]:
        """What is wrong with an inspected row, and how much more of it the recipe waives; SftuiError as `checks`."""
        from sftui.findings import check_row

        context = self.checks()
        return self.sift(check_row(inspection, context)) if inspection.row.left_out is None else ((), 0)

    def sift(self, findings: Iterable[Finding]) -> tuple[tuple[Finding, ...], int]:
        """The findings that no waiver of the recipe covers, and how many others there are."""
        from sftui.findings import apply_waivers

        stand, waived = apply_waivers(findings, self._waivers)
        return stand, len(waived)

    @property
    def waivers(self) -> tuple[Waiver, ...]:
        """The waivers of the recipe, once `checks` has read them."""
        return self._waivers

    def _tools_or_fail(self) -> Toolbox:
        if self.tools is None:
            problem = self.tools_problem or self.tokenizer_problem or Problem("the tokenizer is not loaded yet")
            raise SftuiError(problem.what, why=problem.why, fix=problem.fix)
        return self.tools

    def row(self, index: int) -> Row:
        """A row of the source; one past the end is a row with its problem."""
        assert self.source is not None
        try:
            return self.source.row(index)
        except IndexError:
            rows = self.source.count().rows
            there = f"the last one is {rows - 1}" if rows else "the data is empty"
            return Row(index, None, "", f"row {index}", problem=f"there is no row {index}: {there}")

    def over(self, row: Row) -> Row:
        """A stored row with the repairs over it; the very same where none touches it."""
        from sftui.repairs import row_of

        overlay = self.overlay
        return row if overlay is None else row_of(overlay.mend(row))

    def inspect(self, index: int) -> Inspection:
        """Everything about a row that can be known now; never raises for what the row holds."""
        return self.inspect_row(self.row(index))

    def inspect_row(self, row: Row, spans: bool = True, text: bool | None = None) -> Inspection:
        """The stages that the loaded parts allow; `provisional` while the tokenizer is on its way.

        `spans=False` saves most of the time where nobody asks who wrote which token. `text`: whether anybody looks at
        how they are written; None: as `spans` says.
        """
        from sftui.pipeline import inspect, inspect_early

        assert self.detected is not None
        if self.tools is not None:
            wanted = spans if text is None else text
            found = inspect(row, self.detected, self.recipe, self.tools, spans=spans, text=wanted)
            return self.placed(found) if row.left_out is None else _left_out(found)
        early = inspect_early(row, self.detected, self.recipe)
        if early.problem is not None:
            return early
        if self.tokenizer is not None:
            return replace(early, stopped_at=Stage.RENDERED, problem=self.tools_problem)
        if self.tokenizer_problem is not None:
            return replace(early, stopped_at=Stage.TOKENS, problem=self.tokenizer_problem)
        return replace(early, provisional=True)

    def placed(self, found: Inspection) -> Inspection:
        """The same, told apart where it evaluates."""
        aside = self.split is not None and found.row.index in self.split.evaluation
        return found if found.evaluates == aside else replace(found, evaluates=aside)

    def settle_split(self, most: int | None = None) -> Split:
        """Find out which rows evaluate, where it is not known yet; with some trainers every row is prepared for it,
        which with `most` is done for no more than so many bytes of rows."""
        from sftui.session.splitting import split_now

        split = split_now(self, most)
        if not split.later:
            self.split = split
        return split

    def past_end(self, index: int) -> bool:
        """Whether there is no such row."""
        assert self.source is not None
        try:
            self.source.row(index)
        except IndexError:
            return True
        return False

    def count_now(self) -> int | None:
        """How many rows there are, where that is known without reading on."""
        assert self.source is not None
        count = self.source.count()
        return count.rows if count.exact else None

    def all_rows(self, spans: bool = False) -> Iterator[Inspection]:
        """Every row in order, inspected; `spans=False` leaves out what no rule needs, and how tokens are written."""
        from sftui.pipeline import inspect_all

        assert self.source is not None and self.detected is not None and self.tools is not None
        made = inspect_all(
            self.source.rows(), self.detected, self.recipe, self.tools, spans=spans, text=spans, bulk=self._bulk()
        )
        return map(self.placed, made)

    def rows_that(self, evaluate: bool, spans: bool = False) -> Iterator[Inspection]:
        """The rows that evaluate, or those that train, in the trainer's order where it has another than the dataset's;
        the split must be settled."""
        from sftui.pipeline import inspect_all

        assert self.source is not None and self.detected is not None and self.tools is not None
        split = self.settle_split()
        order: Iterable[int] | None = split.evaluating if evaluate else split.training
        if order is None and evaluate:
            order = sorted(split.evaluation)
        rows = (
            (row for row in self.source.rows() if row.index not in split.evaluation)
            if order is None
            else map(self.row, order)
        )
        made = inspect_all(rows, self.detected, self.recipe, self.tools, spans=spans, text=spans, bulk=self._bulk())
        return map(self.placed, made)

    def _bulk(self) -> Bulk:
        from sftui.tokens.bulk import Bulk

        if self.bulk is None:
            self.bulk = Bulk()
        return self.bulk

    def batch(self, start: int, rows: int) -> Batch:
        """The padded batch of the next `rows` rows; SftuiError where there is none."""
        from sftui.pipeline import make_batch

        tools = self._tools_or_fail()
        assert self.source is not None
        stop = min(start + rows, self.source.count().rows) if self.source.count().exact else start + rows
        return make_batch(
            [self.inspect_row(self.row(index), spans=False) for index in range(start, stop)], self.recipe, tools
        )

    def packs(self, inspections: Sequence[Inspection]) -> tuple[tuple[Pack, ...], Batch]:
        """Inspected rows packed and collated; SftuiError where they cannot be."""
        from sftui.pipeline import make_packs

        return make_packs(inspections, self.recipe, self._tools_or_fail())

    def feed_packs(self, inspections: Iterable[Inspection]) -> Iterator[Pack]:
        """Inspected rows in order as the packs that reach the model; SftuiError where they cannot be packed."""
        from sftui.pipeline import feed_packs

        return feed_packs(inspections, self.recipe, self._tools_or_fail())

    def prepared(self) -> Prepared:
        """What exports need to know."""
        from sftui.exports.prepared import Prepared
        from sftui.sources.slices import SlicedSource

        options = self.options
        source = None
        if self.tools is not None and self.recipe.render.template != "tokenizer":
            template = self.tools.templates.get("default")
            source = template.source if template is not None else None
        return Prepared(
            paths=options.paths,
            split=options.split,
            ranges=self.stored.ranges if isinstance(self.stored, SlicedSource) else (),
            subset=options.subset,
            data_revision=options.data_revision,
            kind=self.source.kind if self.source is not None else "",
            detected=self.detected,
            tokenizer=self.tokenizer.facts if self.tokenizer is not None else None,
            template_source=source,
            config=options.config,
            dataset=options.dataset,
            plainly=self._plainly,
            sample=self._sample[:8],
        )

    def close(self) -> None:
        if self.source is not None:
            self.source.close()

    def _sample_rows(self) -> Iterator[Row]:
        """The first rows, few and not large: enough to see what columns mean."""
        assert self.source is not None
        size = 0
        for index in range(SAMPLE_ROWS):
            if index and not self.source.near(index):
                return  # nobody waits for the end of what is too long to be a row
            try:
                row = self.source.row(index)
            except IndexError:
                return
            yield row
            size += row.size
            if size > SAMPLE_BYTES:
                return


def _with_roles_seen(found: Detected, rows: Sequence[Row]) -> Detected:
    """The same without the mapping of roles that do not occur: a config that names them would mean other rows."""
    column, key = found.fields.get("messages"), found.message_keys.get("role", "role")
    seen = {
        message.get(key)
        for row in rows
        if row.data is not None and isinstance(row.data.get(column or ""), list)
        for message in row.data[column or ""]
        if isinstance(message, Mapping) and isinstance(message.get(key), str)
    }
    return (
        replace(found, role_map={name: role for name, role in found.role_map.items() if name in seen})
        if seen
        else found
    )


def _left_out(found: Inspection) -> Inspection:
    """A row that a repair leaves out: its tokens still show, but nothing of it would be written or trained."""
    if found.labels is None:
        return found
    labels = replace(found.labels, dropped=f"a repair leaves the row out, because {found.row.left_out}")
    return replace(found, labels=labels, example=None, more=())


def no_tokenizer() -> Any:
    """The error of a recipe that names no tokenizer."""
    from sftui.errors import TokenizerError

    return TokenizerError(
        "no tokenizer was named", fix="give one with -t NAME (a Hub name, a folder or builtin:chatml)"
    )
