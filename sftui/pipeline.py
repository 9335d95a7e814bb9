"""Recipe + Row → Inspection: the only place that knows the order of the stages.

A stage that fails leaves its problem as data and the earlier stages in place; nothing here raises
for what a row contains.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from sftui import bound
from sftui.conversations import Detection
from sftui.conversations.reading import FileReading, other_kind
from sftui.conversations.refusals import OBJECTIVES, preference_set
from sftui.conversations.tokenized import documents_of
from sftui.errors import ConversationError, RecipeError, SftuiError, TemplateError
from sftui.labels import dropped_labels
from sftui.model import Batch, Example, Inspection, Kind, LateValue, Pack, Problem, Row, Stage
from sftui.recipe import Recipe, changed, day_of
from sftui.sources.source import chunks
from sftui.trainers import Toolbox, Trainer, trainer_of
from sftui.trainers.base import ShapedRow
from sftui.trainers.held_out import permuted
from sftui.trainers.own_config import notes_of
from sftui.trainers.packing import PickledStore, reordered
from sftui.trainers.versions import rendering_by
from sftui.values import value_class

if TYPE_CHECKING:
    import pyarrow as pa

    from sftui.tokens import LoadedTokenizer, ToEncode
    from sftui.tokens.shortcuts.bulk import Bulk


def make_toolbox(recipe: Recipe, tokenizer: object) -> Toolbox:
    """The tokenizer with the recipe's special tokens, and the templates that the recipe names.

    TokenizerError for a token that is not in the vocabulary, TemplateError for a template that
    is missing or does not parse. No template at all is no error here: rows will say so.
    """
    from sftui.tokens import LoadedTokenizer

    assert isinstance(tokenizer, LoadedTokenizer)
    trainer = trainer_of(recipe)
    own = trainer.tokenizer_of(tokenizer, recipe)
    changes = (note for note in own.facts.notes if note not in tokenizer.facts.notes)
    tools, day = _templates(recipe, own, trainer), day_of(recipe)
    if day is not None:
        clock = partial(datetime, day.year, day.month, day.day)  # unlike a lambda it can be pickled
        tools = replace(tools, templates={name: one.on(clock) for name, one in tools.templates.items()})
    return replace(tools, notes=(*notes_of(recipe), *changes), given=tokenizer)


def _templates(recipe: Recipe, tokenizer: LoadedTokenizer, trainer: Trainer) -> Toolbox:
    from sftui.templates import builtin_template, compile_template, load_template_file

    kind, _, name = recipe.render.template.partition(":")
    rendering = rendering_by(recipe)
    if kind == "file":
        return Toolbox(tokenizer, {"default": load_template_file(name, rendering)}, name)
    if kind == "builtin":
        return Toolbox(tokenizer, {"default": builtin_template(name, rendering)}, f"builtin:{name}")
    if kind.startswith(f"{trainer.name}/"):
        own = recipe.render.template.partition("/")[2]
        return Toolbox(tokenizer, {"default": trainer.own_template(own, tokenizer, recipe)}, f"{trainer.name}'s {own}")
    if kind != "tokenizer":
        raise TemplateError(
            f"render.template `{recipe.render.template}` is not known", fix="use tokenizer, file:PATH or builtin:NAME"
        )
    templates = {
        key: compile_template(source, f"{tokenizer.facts.name} ({key})", rendering=rendering)
        for key, source in tokenizer.facts.chat_templates.items()
    }
    return Toolbox(tokenizer, templates, "tokenizer's own" if templates else "")


def detect(rows: Sequence[Row], recipe: Recipe, schema: pa.Schema | None = None) -> Detection:
    """How the rows of a dataset are read, by the trainer's own rules where it has some; `schema` is that which a loader
    gives their files, where it tells more than the rows."""
    from sftui.trainers.reading import refused_as_stored

    trainer = trainer_of(recipe)
    found = _detect(rows, recipe, schema, trainer)
    refused = refused_as_stored(rows, recipe, trainer) or found.refused
    if refused is not None and recipe.supervised and recipe.data == trainer.preset(recipe.version or None).data:
        refused = _objective_missing(rows, recipe, trainer) or refused
    return replace(found, refused=refused)


def objective_of(rows: Sequence[Row], recipe: Recipe) -> str | None:
    """The objective under which the trainer of a recipe trains on rows that are preferences, "" where it has none; None
    where they are none."""
    problem = _preferences(rows)
    return None if problem is None else _objective(problem, rows, recipe)


def _objective(problem: Problem, rows: Sequence[Row], recipe: Recipe) -> str:
    for name in OBJECTIVES.get(problem.what, ()):
        other = changed(recipe, "loss.objective", name)
        with suppress(RecipeError):
            trainer_of(other).detect(rows, other)  # which an old release may not be known to do
            return name
    return ""


def _preferences(rows: Sequence[Row]) -> Problem | None:
    samples = [row.data for row in rows if isinstance(row.data, Mapping)]
    return preference_set(samples, [*dict.fromkeys(str(name) for row in samples for name in row)])


def _objective_missing(rows: Sequence[Row], recipe: Recipe, trainer: Trainer) -> Problem | None:
    """That rows are preferences, and what their trainer could do with them; None where they are none."""
    problem = _preferences(rows)
    if problem is None or trainer.traits.by_hand:
        return problem
    objective = _objective(problem, rows, recipe)
    but, fix = "loss.objective is sft", f"set loss.objective to {objective}"
    if not objective:
        but, fix = f"sftui does not model preferences under {trainer.title}", problem.fix.partition(";")[0]
    return Problem(problem.what, f"{problem.why}, and {but}", fix)


def _detect(rows: Sequence[Row], recipe: Recipe, schema: pa.Schema | None, trainer: Trainer) -> Detection:
    from sftui.trainers.reading import keyless, notes_on, places_of, reading_of, refused_file, time_notes, with_times

    if trainer.reads_json(recipe):
        return trainer.detect(rows, recipe)
    typed = reading_of(rows, recipe.preset)
    reading = typed if schema is None else with_times(typed, schema)
    # where keys are evened out, the trainer's rules say of rows as they stand that they are uneven
    seen = rows if reading is None or reading.typed else [_as_read(row, reading) for row in rows]
    found = trainer.detect(seen, recipe)
    refused = refused_file(rows, recipe.preset, trainer.title) if found.refused is None else None
    notes = notes_on(rows, typed, recipe.preset, trainer.title) if typed is not None else ()
    times = reading.times(tuple(dict.fromkeys(found.fields.values()))) if reading is not None else ()
    notes = (*notes, *time_notes(times, recipe.preset, trainer.title), *keyless(rows, recipe.preset))
    return replace(
        found,
        refused=found.refused or refused,
        reading=reading,
        notes=(*found.notes, *notes),
        places=places_of(rows, recipe.preset, found.fields.values()),
    )


def _as_read(row: Row, reading: FileReading | None) -> Row:
    """A row as the trainer's own `datasets` gives it to the trainer."""
    return row if reading is None or row.data is None else replace(row, data=reading.row(row.data))


def late_in(row: Row, detected: Detection, recipe: Recipe) -> LateValue | None:
    """What a row does to the reading of the whole file by a value of another kind than the first rows have there."""
    if detected.places is None or row.data is None or detected.refused is not None:
        return None
    if other_kind(row.data, detected.places) is None:
        return None
    from sftui.trainers.reading import late_kind

    return late_kind(row, detected.places, recipe.preset, trainer_of(recipe).title)


def survey(first: Row | None, detected: Detection, recipe: Recipe, tools: Toolbox) -> Toolbox:
    """The toolbox with what the trainer decides once for the whole dataset, from its first row."""
    conversation = inspect_early(first, detected, recipe).conversation if first is not None else None
    trainer = trainer_of(recipe)
    return replace(tools, survey=trainer.survey(conversation, recipe, tools), stops=trainer.stops(recipe))


def inspect_early(row: Row, detected: Detection, recipe: Recipe) -> Inspection:
    """The stages that need no tokenizer: what can be shown while one is loading."""
    found: Any = Inspection(row)
    _read(found, detected, recipe, trainer_of(recipe))
    inspection: Inspection = found
    return inspection


def _read(found: Any, detected: Detection, recipe: Recipe, trainer: Trainer) -> None:
    """Write into an Inspection its row as a conversation, or where and why it is none."""
    row = found.row
    if row.data is None:
        found.conversation = trainer.passes_over(row, recipe)
        if found.conversation is None:
            found.stopped_at, found.problem = Stage.ROW, Problem(row.problem or "the row could not be read")
        return
    found.late = late = late_in(row, detected, recipe)
    if late is not None and late.stops:
        found.stopped_at, found.problem = Stage.CONVERSATION, late.problem
        return
    try:
        if detected.refused is not None:
            raise ConversationError(detected.refused.what, why=detected.refused.why, fix=detected.refused.fix)
        found.conversation = trainer.convert(_as_read(row, detected.reading), detected, recipe)
    except SftuiError as error:
        found.stopped_at, found.problem = Stage.CONVERSATION, as_problem(error)


def inspect(
    row: Row, detected: Detection, recipe: Recipe, tools: Toolbox, *, spans: bool = True, text: bool = False
) -> Inspection:
    """Everything about one row under one recipe.

    `spans=False` leaves out who wrote which token where no rule needs it. `text` says how tokens are written, too: for
    what is shown.
    """
    way = _Way(row, _stages(detected, recipe, tools, spans=spans, places=True))
    way.go()
    if text:
        way.write()
    found: Inspection = way.found
    return found


@value_class
class _Stages:
    """What all rows of one pass share: the stages of one trainer, and what is wanted of them."""

    detected: Detection
    recipe: Recipe
    tools: Toolbox
    trainer: Trainer
    spans: bool
    places: bool


def _stages(detected: Detection, recipe: Recipe, tools: Toolbox, *, spans: bool, places: bool) -> _Stages:
    trainer = trainer_of(recipe)
    placed, written = trainer.needs(recipe)
    places = places or placed
    spans = spans or written or (places and trainer.traits.finds.piecewise)
    return _Stages(detected, recipe, tools, trainer, spans, places)


class _Way:
    """One row on its way through the stages: `found`, an Inspection, is what is known of it so far; they alone write
    it."""

    __slots__ = ("_at", "_shaped", "_stages", "found", "row")

    _shaped: tuple[ShapedRow, ...]
    """The row, or the sides of a preference, as its trainer sees them: in the order of `Inspection.sides`."""

    def __init__(self, row: Row, stages: _Stages) -> None:
        self.row, self._stages = row, stages
        self._at = Stage.CONVERSATION
        self._shaped = ()
        self.found: Any = Inspection(row, provisional=stages.tools.tokenizer.facts.state == "provisional")

    def go(self) -> None:
        """All stages, as far as they go."""
        self._bounded(self._render, self._label)

    def render(self) -> None:
        """The stages up to the rendered text."""
        self._bounded(self._render)

    def label(self) -> None:
        """The stages behind that."""
        if self._shaped:
            self._bounded(self._label)

    def texts(self) -> list[ToEncode]:
        """What will be encoded; nothing that is not known yet."""
        of, sides = self._stages, zip(self.found.sides, self._shaped)
        try:
            return [
                text
                for side, shaped in sides
                for text in of.trainer.texts(side.rendered, shaped, of.recipe, of.tools, places=of.places)
            ]
        except SftuiError:
            return []  # reported where the row is tokenized

    def write(self) -> None:
        """Say how the row's tokens are written, too."""
        self._bounded(self._write)

    def _bounded(self, *stages: Callable[[bound.Work], None]) -> None:
        """Go through stages, bounded; what they raise for what the row holds becomes its problem."""
        row = self.row
        try:
            with bound.row_work(self._stages.recipe, row.index, row.size) as work:
                for stage in stages:
                    stage(work)
            return
        except SftuiError as error:
            problem = as_problem(error)
        except MemoryError:
            problem = Problem(f"{bound.SUBJECTS[self._at.value]} {bound.out_of_memory(row.size)}", ours=True)
        except RecursionError:
            problem = Problem(f"{bound.SUBJECTS[self._at.value]} loops or recurses too deeply", ours=True)
        if self.found.problem is None:
            self.found.stopped_at, self.found.problem = self._at, problem

    def _begin(self, work: bound.Work, stage: Stage) -> None:
        self._at = stage
        work.at(stage)

    def _render(self, work: bound.Work) -> None:
        of, recipe, trainer, found = self._stages, self._stages.recipe, self._stages.trainer, self.found
        _read(found, of.detected, recipe, trainer)
        if found.conversation is None:
            return
        shaped = [trainer.shape(one, recipe) for one in found.conversation.sides]
        found.conversation = shaped[0].conversation
        if len(shaped) > 1:
            found.rejected = Inspection(self.row, shaped[1].conversation, provisional=found.provisional)
        self._begin(work, Stage.RENDERED)
        for side, one in zip(found.sides, shaped):
            side.rendered = trainer.render(one, recipe, of.tools, spans=of.spans)
        self._shaped = tuple(shaped)

    def _label(self, work: bound.Work) -> None:
        if not self._shaped:
            return
        of, sides, whole = self._stages, self.found.sides, self._shaped
        recipe, tools, trainer = of.recipe, of.tools, of.trainer
        self._begin(work, Stage.TOKENS)
        for side, shaped in zip(sides, whole):
            side.tokens = trainer.tokenize(side.rendered, shaped, recipe, tools, places=of.places)
        if len(sides) == 1:
            self.found.boundary = self.found.tokens.boundary
        self._begin(work, Stage.LABELS)
        why = next((shaped.dropped for shaped in whole if shaped.dropped is not None), None)
        if why is not None:
            labelled = [(side.tokens, dropped_labels(side.tokens, why)) for side in sides]
        elif len(sides) == 1:
            labelled = [trainer.label(self.found.tokens, self.found.rendered, whole[0], recipe, tools)]
        else:
            from sftui.trainers.pairs import PairTrainer

            assert isinstance(trainer, PairTrainer)
            both = [(side.tokens, side.rendered, shaped) for side, shaped in zip(sides, whole)]
            labelled = list(trainer.label_sides(both, recipe, tools))
        for side, shaped, (tokens, labels) in zip(sides, whole, labelled):
            examples = trainer.examples(tokens, labels, shaped, recipe, tools)
            side.example, side.more = examples[0] if examples else None, examples[1:]
            side.tokens, side.labels = tokens, labels
            side.boundary = tokens.boundary
            side.notes = (
                *(notes_of(recipe) if tools.notes is None else tools.notes),
                *shaped.conversation.notes,
                *side.rendered.notes,
                *tokens.notes,
                *labels.notes,
            )

    def _write(self, work: bound.Work) -> None:
        from sftui.tokens import prompt_text, token_text

        of = self._stages
        tokenizer = of.tools.tokenizer
        for side in self.found.sides:
            if side.tokens is not None and side.rendered is not None:
                whole = token_text(side.tokens, side.rendered, tokenizer)
                prompt = prompt_text(side.tokens, side.rendered, tokenizer, of.recipe.tokenize)
                side.token_text, side.prompt_text = whole, prompt


CHUNK_CHARACTERS = 500_000
"""Of how much rendered text rows are encoded in one call at most."""


def inspect_all(
    rows: Iterable[Row],
    detected: Detection,
    recipe: Recipe,
    tools: Toolbox,
    bulk: Bulk,
    *,
    spans: bool = False,
    text: bool = False,
) -> Iterator[Inspection]:
    """Rows in order, each as `inspect` shows it, many encoded at once by the engine that `bulk` holds.

    `spans=False` leaves out who wrote which token, and where they stand, where no rule needs it.
    """
    plain = tools.tokenizer
    stages = _stages(detected, recipe, replace(tools, tokenizer=bulk.of(plain)), spans=spans, places=spans)
    for some in chunks(rows, bulk.at_once, CHUNK_CHARACTERS + 1):
        at = 0
        while at < len(some):
            ways, texts = _rendered(_Way(row, stages) for row in some[at:])
            at += len(ways)
            yield from _encoded(ways, texts, stages.tools, text)
            if bulk.due(len(ways), texts):
                faster = replace(stages.tools, tokenizer=_faster(plain, ways, texts, bulk))
                stages = replace(stages, tools=faster)


def _rendered(ways: Iterable[_Way]) -> tuple[list[_Way], list[ToEncode]]:
    """The first rows, rendered, and their texts: as many as are encoded in one call."""
    taken: list[_Way] = []
    texts: list[ToEncode] = []
    characters = 0
    with bound.series():
        for way in ways:
            way.render()
            taken.append(way)
            own = way.texts()
            texts += own
            characters += sum([len(encode.text) for encode in own])
            if characters > CHUNK_CHARACTERS or not own:
                break
    return taken, texts


def _faster(plain: LoadedTokenizer, ways: Sequence[_Way], texts: Sequence[ToEncode], bulk: Bulk) -> LoadedTokenizer:
    """The tokenizer with the faster engine, where it is proven on the texts of these rows; as it is where that goes
    over a bound."""
    key = bound.item_key(f"{plain.facts.name} in bulk", 0)
    with suppress(SftuiError, MemoryError), bound.Work(key, _size(ways) + 20 * plain.facts.vocab_size, "tokens"):
        return bulk.faster(plain, texts)
    return bulk.of(plain)


def _size(ways: Sequence[_Way]) -> int:
    """What rows may cost together goes by this: as they are stored, since a template makes any length of them."""
    return sum(way.row.size for way in ways)


def _encoded(ways: Sequence[_Way], texts: Sequence[ToEncode], tools: Toolbox, text: bool) -> Iterator[Inspection]:
    """The rest of the way of rows whose texts are encoded at once; where that fails or is refused, one by one."""
    if len(ways) > 1 and texts:
        key = bound.item_key(f"{tools.tokenizer.facts.name} ahead", ways[0].row.index)
        with suppress(SftuiError, MemoryError), bound.Work(key, _size(ways), "tokens"):
            tools.tokenizer.ahead(texts)
    with bound.series():
        for way in ways:
            way.label()
            if text:
                way.write()
    yield from [way.found for way in ways]


def make_batch(inspections: Sequence[Inspection], recipe: Recipe, tools: Toolbox) -> Batch:
    """The padded rectangle of the rows that reach the trainer; RecipeError where it cannot be padded.

    Rows that train and rows that evaluate never meet in one: it is of those that are as the first one.
    """
    examples: list[Example] = []
    rows: list[int] = []
    left_out = apart = 0
    for inspection in inspections:
        if inspection.evaluates != inspections[0].evaluates:
            apart += 1
        elif inspection.example is None:
            left_out += 1
        else:  # of a row that gives several, so many as fill a batch of as many as there are rows
            given = inspection.examples[: max(len(inspections) * (1 + recipe.paired) - len(examples), 0)]
            examples += given
            rows += [inspection.row.index] * len(given)
    if not examples:
        raise RecipeError("there are no rows for a batch", why="no row reaches the trainer")
    batch = trainer_of(recipe).collate(examples, rows, recipe, tools)
    notes = list(batch.notes)
    if left_out:
        notes.append(f"{left_out} of {len(inspections)} rows are dropped before training")
    if apart:
        others = "train" if inspections[0].evaluates else "evaluate"
        notes.append(f"{apart} of {len(inspections)} rows {others} and are therefore in separate batches")
    positions = _stored_positions(inspections, batch) or batch.position_ids
    return replace(batch, position_ids=positions, notes=tuple(notes))


def _stored_positions(inspections: Sequence[Inspection], batch: Batch) -> tuple[tuple[int, ...], ...]:
    """The position ids that are stored with each row of a batch, where it holds the rows as they are."""
    found = []
    for inspection in inspections:
        stored = inspection.conversation.extra.get("position_ids") if inspection.conversation is not None else None
        if not isinstance(stored, (list, tuple)) or len(stored) != len(batch.input_ids[0]):
            return ()
        found.append(tuple(stored))
    return tuple(found) if len(found) == len(batch.input_ids) else ()


def pack_rows(inspections: Iterable[Inspection], recipe: Recipe, tools: Toolbox) -> Iterator[Pack]:
    """Every packed sequence of a dataset's rows, in the trainer's groups and order, as its packer stores them.

    Documents are named by row and part. Rows are taken as they are needed: a packing group is held, on disk once it is
    large, or no more than a pack where the trainer has no groups. RecipeError where the recipe does not pack.
    """
    if recipe.pack.strategy == "none":
        raise RecipeError("the recipe does not pack", fix="set pack.strategy")
    trainer = trainer_of(recipe)
    names = _ExampleRows()
    in_order = trainer.pack_in_order(names.of(inspections), recipe, tools)
    if in_order is not None:
        yield from map(names.on, in_order)
        return
    size = max(recipe.pack.group, 1)
    held = PickledStore[Example]()
    try:
        for place, inspection in enumerate(inspections):
            for part, example in enumerate(inspection.examples):
                if len(held) == size and not trainer.traits.packing.groups_hold_dropped:
                    yield from map(names.on, trainer.pack(held, recipe, tools))
                    held, names = held.emptied(), _ExampleRows()
                held.append(example)
                names.add(inspection.row.index, part)
            if trainer.traits.packing.groups_hold_dropped and (place + 1) % size == 0:
                yield from map(names.on, trainer.pack(held, recipe, tools))
                held, names = held.emptied(), _ExampleRows()
        if len(held):
            yield from map(names.on, trainer.pack(held, recipe, tools))
    finally:
        held.close()


def feed_packs(inspections: Iterable[Inspection], recipe: Recipe, tools: Toolbox) -> Iterator[Pack]:
    """`pack_rows` as the packs reach the model: with the collator's labels, without a last batch that is not full."""
    trainer = trainer_of(recipe)
    size, held = trainer.packs_in_a_batch(recipe), trainer.held_out(recipe)
    batch: list[Pack] = []
    packs = pack_rows(inspections, recipe, tools)
    if held is not None and held.packs_again and not held.doubt:
        packs = reordered(packs, partial(permuted, held.seed))
    for pack in packs:
        batch.append(trainer.fed(pack, recipe))
        if len(batch) == size:
            yield from batch
            batch = []


class _ExampleRows:
    """Which row, and which part of it, each example of the packer's input is."""

    def __init__(self) -> None:
        self._rows, self._parts = array("q"), array("q")

    def add(self, row: int, part: int) -> None:
        self._rows.append(row)
        self._parts.append(part)

    def of(self, inspections: Iterable[Inspection]) -> Iterator[Example]:
        """The examples of rows, each named as it goes by."""
        for inspection in inspections:
            for part, example in enumerate(inspection.examples):
                self.add(inspection.row.index, part)
                yield example

    def on(self, pack: Pack) -> Pack:
        return replace(
            pack,
            documents=tuple((self._rows[i], start, end) for i, start, end in pack.documents),
            parts=tuple(self._parts[i] for i, _, _ in pack.documents),
        )


def make_packs(
    inspections: Sequence[Inspection], recipe: Recipe, tools: Toolbox, size: int | None = None
) -> tuple[tuple[Pack, ...], Batch]:
    """Rows as `pack_rows` packs them, with the collator's labels, and the rectangle made of the first `size` packs
    (None: of all); where the recipe does not pack, those that are stored so (see `stored_packs`).

    RecipeError where there is nothing packed, or no row reaches the trainer.
    """
    if recipe.pack.strategy == "none" and (stored := stored_packs(inspections)):
        return stored, make_batch(inspections, recipe, tools)
    packs = tuple(pack_rows(inspections, recipe, tools))
    if not packs:
        raise RecipeError("there are no rows to pack", why="no row reaches the trainer")
    trainer = trainer_of(recipe)
    return tuple(trainer.fed(pack, recipe) for pack in packs), collate_packs(packs[:size], recipe, tools)


def stored_packs(inspections: Sequence[Inspection]) -> tuple[Pack, ...]:
    """Rows of ids with what tells their documents apart, a pack each; nothing where no row holds more than one."""
    made: list[Pack] = []
    several = False
    for inspection in inspections:
        conversation, example = inspection.conversation, inspection.example
        if conversation is None or conversation.kind is not Kind.TOKENS or example is None or inspection.more:
            continue
        ranges = documents_of(conversation)
        count = len(example.input_ids)
        if example.shifted or count != len(conversation.input_ids):
            continue  # cut or moved under this recipe: it is not the pack that is stored
        several = several or len(ranges) > 1
        positions = conversation.extra.get("position_ids")
        made.append(
            Pack(
                documents=tuple((inspection.row.index, start, end) for start, end in ranges),
                input_ids=example.input_ids,
                labels=example.labels,
                position_ids=tuple(positions) if positions is not None and len(positions) == count else None,
                attention_mask=conversation.attention_mask,
                parts=(0,) * len(ranges),
                weights=example.weights,
                where=ranges,
            )
        )
    return tuple(made) if several else ()


def collate_packs(packs: Sequence[Pack], recipe: Recipe, tools: Toolbox) -> Batch:
    """The rectangle made of packs, as `pack_rows` gives them."""
    batch = trainer_of(recipe).collate_packs(packs, recipe, tools)
    if len(batch.lengths) == len(packs) == len(batch.input_ids):
        # A packer may pad to its size itself; what no document holds is padding all the same.
        batch = replace(batch, lengths=tuple(sum(end - start for _, start, end in pack.documents) for pack in packs))
    return batch


def as_problem(error: SftuiError) -> Problem:
    """An error as data."""
    ours = isinstance(error, bound.OverBound) or error.unknown
    return Problem(f"{error.where}: {error.what}" if error.where else error.what, error.why, error.fix, ours)
