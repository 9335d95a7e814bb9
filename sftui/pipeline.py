"""Recipe + Row → Inspection: the only place that knows the order of the stages.

A stage that fails leaves its problem as data and the earlier stages in place; nothing here raises
for what a row contains.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sftui.conversations import Detected
from sftui.errors import RecipeError, SftuiError, TemplateError
from sftui.model import (
    Batch,
    Boundary,
    Example,
    Inspection,
    Pack,
    Problem,
    Row,
    Stage,
    common_prefix,
)
from sftui.recipe import Recipe
from sftui.trainers import Toolbox, trainer_named

if TYPE_CHECKING:
    from sftui.tokens import LoadedTokenizer
    from sftui.trainers import Trainer

__all__ = [
    "Toolbox",
    "detect",
    "inspect",
    "inspect_all",
    "inspect_early",
    "make_batch",
    "make_packs",
    "make_toolbox",
    "survey",
]


def make_toolbox(recipe: Recipe, tokenizer: object) -> Toolbox:
    """The tokenizer with the recipe's special tokens, and the templates that the recipe names.

    TokenizerError for a token that is not in the vocabulary, TemplateError for a template that
    is missing or does not parse. No template at all is no error here: rows will say so.
    """
    from sftui.tokens import LoadedTokenizer

    assert isinstance(tokenizer, LoadedTokenizer)
    trainer = trainer_named(recipe.preset)
    tokenizer = trainer.tokenizer_of(tokenizer, recipe)
    return replace(_templates(recipe, tokenizer, trainer), notes=trainer.notes(recipe))


def _templates(recipe: Recipe, tokenizer: LoadedTokenizer, trainer: Trainer) -> Toolbox:
    from sftui.templates import builtin_template, compile_template, load_template_file

    kind, _, name = recipe.render.template.partition(":")
    if kind == "file":
        return Toolbox(tokenizer, {"default": load_template_file(name)}, name)
    if kind == "builtin":
        return Toolbox(tokenizer, {"default": builtin_template(name)}, f"builtin:{name}")
    if kind.startswith(f"{trainer.name}/"):
        own = recipe.render.template.partition("/")[2]
        return Toolbox(tokenizer, {"default": trainer.own_template(own, tokenizer, recipe)}, f"{trainer.name}'s {own}")
    if kind != "tokenizer":
        raise TemplateError(
            f"render.template `{recipe.render.template}` is not known", fix="say tokenizer, file:PATH or builtin:NAME"
        )
    templates = {
        key: compile_template(source, f"{tokenizer.facts.name} ({key})")
        for key, source in tokenizer.facts.chat_templates.items()
    }
    return Toolbox(tokenizer, templates, "tokenizer's own" if templates else "")


def detect(rows: Sequence[Row], recipe: Recipe) -> Detected:
    """How the rows of a dataset are read, by the trainer's own rules where it has some."""
    return trainer_named(recipe.preset).detect(rows, recipe)


def survey(first: Row | None, detected: Detected, recipe: Recipe, tools: Toolbox) -> Toolbox:
    """The toolbox with what the trainer decides once for the whole dataset, from its first row."""
    conversation = inspect_early(first, detected, recipe).conversation if first is not None else None
    return replace(tools, survey=trainer_named(recipe.preset).survey(conversation, recipe, tools))


def inspect_early(row: Row, detected: Detected, recipe: Recipe) -> Inspection:
    """The stages that need no tokenizer: what can be shown while one is loading."""
    result = Inspection(row)
    if row.data is None:
        return replace(result, stopped_at=Stage.ROW, problem=Problem(row.problem or "the row could not be read"))
    try:
        return replace(result, conversation=trainer_named(recipe.preset).convert(row, detected, recipe))
    except SftuiError as error:
        return replace(result, stopped_at=Stage.CONVERSATION, problem=as_problem(error))


def inspect(row: Row, detected: Detected, recipe: Recipe, tools: Toolbox, *, spans: bool = True) -> Inspection:
    """Everything about one row under one recipe.

    `spans=False` leaves out who wrote which token where no rule needs it: bulk encoding does not.
    """
    result = replace(inspect_early(row, detected, recipe), provisional=tools.tokenizer.facts.state == "provisional")
    if result.conversation is None:
        return result
    trainer = trainer_named(recipe.preset)
    stage = Stage.CONVERSATION
    try:
        shaped = trainer.shape(result.conversation, recipe)
        result = replace(result, conversation=shaped.conversation)
        stage = Stage.RENDERED
        rendered = trainer.render(shaped, recipe, tools, spans=spans or recipe_needs_spans(recipe))
        result = replace(result, rendered=rendered)
        stage = Stage.TOKENS
        tokens = trainer.tokenize(rendered, shaped, recipe, tools)
        result = replace(result, tokens=tokens)
        if tokens.prompt_ids is not None:
            shared = common_prefix(tokens.prompt_ids, tokens.input_ids)
            result = replace(result, boundary=Boundary(len(tokens.prompt_ids), shared))
        stage = Stage.LABELS
        tokens, labels = trainer.label(tokens, rendered, shaped, recipe, tools)
        examples = trainer.examples(tokens, labels, shaped, recipe, tools)
    except SftuiError as error:
        return replace(result, stopped_at=stage, problem=as_problem(error))
    notes = (
        *(trainer.notes(recipe) if tools.notes is None else tools.notes),
        *shaped.conversation.notes,
        *rendered.notes,
        *tokens.notes,
        *labels.notes,
    )
    return replace(
        result, tokens=tokens, labels=labels, example=examples[0] if examples else None, more=examples[1:], notes=notes
    )


def inspect_all(
    rows: Iterable[Row], detected: Detected, recipe: Recipe, tools: Toolbox, *, spans: bool = False
) -> Iterator[Inspection]:
    """Rows in order, each inspected."""
    for row in rows:
        yield inspect(row, detected, recipe, tools, spans=spans)


def recipe_needs_spans(recipe: Recipe) -> bool:
    """True where a mask rule reads who wrote which token."""
    mask = recipe.mask
    return mask.rule in ("assistant", "turn_full") or (
        mask.rule == "completion" and (mask.terminator == "mask" or mask.trailing == "mask")
    )


def make_batch(inspections: Sequence[Inspection], recipe: Recipe, tools: Toolbox) -> Batch:
    """The padded rectangle of the rows that reach the trainer; RecipeError where it cannot be padded."""
    examples: list[Example] = []
    rows: list[int] = []
    left_out = 0
    for inspection in inspections:
        if inspection.example is None:
            left_out += 1
        else:
            examples.append(inspection.example)
            rows.append(inspection.row.index)
    if not examples:
        raise RecipeError("there is no row to put into a batch", why="none of the rows reaches the trainer")
    batch = trainer_named(recipe.preset).collate(examples, rows, recipe, tools)
    if left_out:
        batch = replace(batch, notes=(*batch.notes, f"{left_out} of {len(inspections)} rows never reach the trainer"))
    return batch


def make_packs(inspections: Sequence[Inspection], recipe: Recipe, tools: Toolbox) -> tuple[tuple[Pack, ...], Batch]:
    """The packed sequences of one packing group, documents named by row, and the rectangle made of them.

    Where the collator lays packs end to end it may mask more (TRL: the first token of each document);
    their labels are then those that it gives. RecipeError where the recipe does not pack, or no row reaches the
    trainer.
    """
    examples = [
        (one, inspection.row.index)
        for inspection in inspections
        if inspection.example is not None
        for one in (inspection.example, *inspection.more)
    ]
    if recipe.pack.strategy == "none":
        raise RecipeError("the recipe does not pack", fix="set pack.strategy")
    if not examples:
        raise RecipeError("there is no row to pack", why="none of the rows reaches the trainer")
    trainer = trainer_named(recipe.preset)
    packs = trainer.pack([example for example, _ in examples], recipe, tools)
    batch = trainer.collate_packs(packs, recipe, tools)
    named: list[Pack] = []
    at = 0
    for pack in packs:
        documents = tuple((examples[i][1], a, b) for i, a, b in pack.documents)
        there = slice(at, at + len(pack.input_ids))
        flat = recipe.batch.flatten and len(batch.input_ids) == 1 and batch.input_ids[0][there] == pack.input_ids
        named.append(replace(pack, documents=documents, labels=batch.labels[0][there] if flat else pack.labels))
        at += len(pack.input_ids)
    if len(batch.lengths) == len(packs) == len(batch.input_ids):
        # A packer may pad to its size itself; what no document holds is padding all the same.
        batch = replace(batch, lengths=tuple(sum(end - start for _, start, end in pack.documents) for pack in packs))
    return tuple(named), batch


def as_problem(error: SftuiError) -> Problem:
    """An error as data."""
    return Problem(f"{error.where}: {error.what}" if error.where else error.what, error.why, error.fix)
