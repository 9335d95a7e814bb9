"""`sftui compare BATCHES --against DATA|CONFIG`: captured or stored sequences held against a dataset as sftui prepares
it."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import click

from sftui.cli.loading import DataNotes, load_tokenizer, loaded_session, open_data
from sftui.cli.opening import arguments, open_options
from sftui.cli.terminal import narrate
from sftui.errors import RecipeError
from sftui.exports.records import as_json
from sftui.model import IGNORE_INDEX
from sftui.recipe import changed
from sftui.session.against import DocumentMatches, Match, documents_in
from sftui.session.against import against as look
from sftui.session.arguments import Arguments
from sftui.session.configs import recognised
from sftui.session.ready import Ready, under
from sftui.text import many, visible, visible_token
from sftui.trainers import packages, traits_of
from sftui.trainers.own_config import key_of
from sftui.views.knobs import value_text


def compare_against(against: str, shown: int, form: str, **given: Any) -> int:
    """Print which sequences are not as sftui prepares the dataset, and why; 0 where all are equal, 1 where one is not.

    The options say how the dataset is prepared; what they leave open is taken from the run.
    """
    if arguments(given).config_file() is not None:
        raise RecipeError("--against looks up stored sequences", fix="name captured batches, or a file of ids, as DATA")
    stored = Arguments(data=tuple(given["data"]), tokenizer=given["tokenizer"])
    run = stored.captured_run()
    options, notes = stored.options()
    narrate(*notes)
    with contextlib.closing(open_data(options)) as sequences:
        data = loaded_session(open_options(_of_run(given, against, run)))
        with contextlib.closing(data):
            if options.recipe.tokenizer.name is None:
                sequences = under(
                    sequences, changed(sequences.recipe, "tokenizer.name", data.recipe.tokenizer.name)
                )  # read by the dataset's
            documents = documents_in(load_tokenizer(sequences).ready(), run, data.recipe)
            DataNotes(data).look()
            found = look(documents, data, run)
            narrate(*found.untried)
            if form == "json":
                click.echo(as_json(as_record(found, data)))
            else:
                for line in lines(found, data, shown, run or {}):
                    click.echo(visible(line))
    return 1 if found.differing else 0


def _of_run(given: Mapping[str, Any], against: str, run: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """The options that say how the dataset is prepared: as given, else as the run was."""
    made = {**given, "data": (against,)}
    if run is None:
        return made
    named = arguments(made)
    trainer = _trainer(run)
    if named.trainer is None and named.recipe_file is None and trainer is not None:
        config = named.config_file()
        if config is None or recognised(config) == trainer.partition("@")[0]:
            narrate(f"prepared the way {trainer} does, as the run did; --trainer overrides it")
            made["trainer"] = trainer
    if named.tokenizer is None and named.recipe_file is None and named.config_file() is None:
        made["tokenizer"] = (run.get("tokenizer") or {}).get("name") or None
    return made


def _trainer(run: Mapping[str, Any]) -> str | None:
    """The trainer of the run with its release, where sftui knows it; None for a loop of one's own, or by transformers'
    Trainer itself."""
    versions, known = run.get("versions", {}), packages()
    by = (run.get("trainer") or "").partition(".")[0]
    if by == "transformers":
        return None
    # Of two that were imported, the later one in the list builds on the other. A loop without transformers' Trainer is
    # of none that is one.
    there = [
        name
        for name, package in reversed(known.items())
        if package in versions and (by or traits_of(name).training_arguments is None)
    ]
    if not there:
        return None
    version = versions[known[there[0]]]
    engines = [name for name in there if known[name] == known[there[0]]]
    fits = (name for name in engines if version.startswith(traits_of(name).versions))
    return f"{next(fits, engines[0])}@{version}"


def lines(found: DocumentMatches, data: Ready, shown: int, run: Mapping[str, Any]) -> Iterator[str]:
    """What is printed: the count, the first that differ, and what explains them."""
    total, equal = len(found.matches), len(found.matches) - len(found.differing)
    yield f"{equal} of {many(total, 'sequence')} identical to what {data.recipe.preset} makes from the dataset"
    yield from (one_line(match, data) for match in found.differing[:shown])
    left = len(found.differing) - shown
    if left > 0:
        yield f"… and {left:,} more (--show N prints more)"
    yield from _causes(found, data, run)


def one_line(match: Match, data: Ready) -> str:
    """A sequence that differs, in one line."""
    document = match.document
    where = f"row {document.row}" + (f", document {document.number}" if document.number or document.place else "")
    parting = match.parting
    if match.row is None or parting is None:
        return f"{where}: no row of the dataset resembles it"
    tokenizer = data.tokenizer

    def token(one: int | None) -> str:
        if one is None:
            return "no more tokens"
        known = 0 <= one < tokenizer.facts.vocab_size
        return f"{visible_token(tokenizer.surface(one), tokenizer.piece(one)) if known else '?'} ({one})"

    found = f"{where} is row {match.row} of the dataset"
    if parting.what == "ids":
        here, there = token(parting.theirs), token(parting.ours)
        return f"{found}; from token {parting.position} on, the run has {here} and sftui has {there}"
    here = token(document.input_ids[parting.position])
    return f"{found}; token {parting.position} {here}: the run {_label(parting.theirs)}, sftui {_label(parting.ours)}"


def _label(label: int | None) -> str:
    return "masks it" if label is None or label < 0 else f"trains it (label {label})"


def _causes(found: DocumentMatches, data: Ready, run: Mapping[str, Any]) -> Iterator[str]:
    """How many of those that differ each change explains."""
    formatting, collator = run.get("formatting"), run.get("collator")
    counted = Counter((one.why, one.document.moved, one.explained) for one in found.differing if one.row is not None)
    for (changes, moved, explained), count in counted.most_common():
        named = ", ".join(_change(change, data) for change in changes)
        if explained and not moved:
            yield f"{many(count, 'sequence')} equal with {named}"
        elif explained:
            yield f"{many(count, 'sequence')} equal with {f'{named}, and ' * bool(named)}{MOVED[moved]}"
        else:
            own = f"; the run's collator is {collator}" if collator is not None and formatting is None else ""
            none = "no change to one or two settings, and no version that was tried, makes them equal"
            yield f"{many(count, 'sequence')}: {none}{own}"
    alone = sum(match.row is None for match in found.differing)
    if alone:
        yield f"{many(alone, 'sequence')} match no row: they come from different rows or a different tokenizer"
    if formatting is not None and found.differing:
        yield f"the run builds its text with the formatting function {formatting}; sftui uses the rows as stored"
        documents = [one.document for one in found.matches]
        longest = max(len(document.input_ids) for document in documents)
        ends = [one.input_ids[-1] for one in documents if len(one.input_ids) == longest and not one.clipped]
        if len({*ends}) > 1:  # what ends by itself ends alike
            yield f"{len(ends)} of {many(len(documents), 'sequence')} have {longest} tokens: the run truncates there"
        whole = sum(one.labels is not None and IGNORE_INDEX not in one.labels[1:] for one in documents)
        if whole:
            yield f"every token is trained in {whole} of {many(len(documents), 'sequence')}, including questions"


MOVED = {
    1: "labels shifted twice: they are stored shifted, and the loss shifts them again, so each position learns the"
    " token after the next (LAB003)",
    -1: "unshifted labels: neither the data nor the loss shifts them, so each position learns its own token",
}
"""What makes sequences equal whose labels stand so many places before the tokens that they are."""


def _change(change: Any, data: Ready) -> str:
    if change.path == "preset":
        return f"{change.after} (not {change.before})"
    if change.path == "render.template" and str(change.after).startswith("file:"):
        return "the chat template of the run's tokenizer"
    key = key_of(data.recipe.preset, change.path)
    return f"{change.path} {value_text(change.after)} (not {value_text(change.before)}" + (f"; {key})" if key else ")")


def as_record(found: DocumentMatches, data: Ready) -> dict[str, Any]:
    """The same as one record."""
    return {
        "sequences": len(found.matches),
        "equal": len(found.matches) - len(found.differing),
        "preset": data.recipe.preset,
        "untried": list(found.untried),
        "differing": [_record(match) for match in found.differing],
    }


def _record(match: Match) -> dict[str, Any]:
    document, parting = match.document, match.parting
    return {
        "row": document.row,
        "document": document.number,
        "dataset_row": match.row,
        "what": parting.what if parting is not None else None,
        "token": parting.position if parting is not None else None,
        "run": parting.theirs if parting is not None else None,
        "sftui": parting.ours if parting is not None else None,
        "why": [{"knob": change.path, "from": change.before, "to": change.after} for change in match.why],
        **({"labels_moved": document.moved} if document.moved else {}),
    }
