"""What is known of captured batches and of their run, and what is not, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any


def about_run(about: Mapping[str, Any], *, tokenizer_named: bool = False) -> Iterator[str]:
    """Sentences on a run as `CapturedRun.about` describes it; `tokenizer_named`: that of the run is not needed."""
    batches: Sequence[Mapping[str, Any]] = about["batches"]
    versions = ", ".join(f"{name} {version}" for name, version in about.get("versions", {}).items())
    trainer = about.get("trainer") or "a loop without a trainer's class"
    of = f"{counted(len(batches))} captured of {trainer} ({versions or 'no versions known'})"
    shapes = list(dict.fromkeys(" × ".join(map(str, one["shapes"]["input_ids"])) for one in batches))
    yield f"{of}: ids of {', '.join(shapes[:6])}" + (" …" if len(shapes) > 6 else "")
    drawn = sum(one["from"] == "loader" for one in batches)
    if drawn == len(batches):
        yield "they are what the data loader gave; what the training step does to them is not known"
    elif drawn:
        yield (
            f"{counted(len(batches) - drawn)} as the model received them, then {drawn} as the same"
            " data loader gave them, since the first optimizer step was due"
        )
    yield from _labels(batches)
    tokenizer = about.get("tokenizer")
    if not tokenizer_named and (tokenizer is None or not tokenizer["name"]):
        yield "the tokenizer of the run is not known: name it with -t"


def _labels(batches: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for source, sentence in (
        ("loss", "the model got no labels: they are the targets of the loss"),
        ("loader", "the model got no labels: they are those of the data loader's batch"),
        (
            None,
            "no labels were seen, neither at the model nor in a loss or the data loader: what is trained is not known",
        ),
    ):
        some = [one for one in batches if one["labels_from"] == source and (one["from"] == "model" or source is None)]
        if some:
            yield sentence + (f" (in {len(some)} of {counted(len(batches))})" * (len(some) < len(batches)))
    for one in batches:
        if one.get("loss_takes") == "same":
            yield "the loss compares each position with its own label: nothing shifts the labels"
            return
    cut = next((name for one in batches for name in one["shapes"] if name == "model_input_ids"), None)
    if cut is not None:
        yield "the model got the ids without the last one of each sequence, as loops do that shift by hand"


def counted(number: int) -> str:
    """So many batches."""
    return f"{number:,} batch{'es' if number != 1 else ''}"
