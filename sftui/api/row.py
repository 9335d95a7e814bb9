"""One row, prepared: what its trainer receives, and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sftui.exports.records import explained
from sftui.model import SIDES, Example, Inspection
from sftui.text import many, visible

if TYPE_CHECKING:
    from sftui.findings import Finding


Span = tuple[int, int, int, str]
"""Start, end, message and part: characters of the rendered text, half open; the message is -1 where it is of none."""


class PreparedPart:
    """What the trainer receives of a row at once, and what explains it; see `PreparedRow`."""

    def __init__(self, example: Example | None, explained: Mapping[str, Any]) -> None:
        self._example, self._explained = example, explained

    def __repr__(self) -> str:
        trained = self._example.trained if self._example is not None else 0
        return f"<{len(self.input_ids)} tokens, {trained} trained>"

    def _why(self) -> Mapping[str, Any]:
        return self._explained

    @property
    def input_ids(self) -> tuple[int, ...]:
        return self._example.input_ids if self._example is not None else ()

    @property
    def labels(self) -> tuple[int, ...]:
        """Along `input_ids`, as the trainer stores them (shifted only where it stores them so: `shifted`)."""
        return self._example.labels if self._example is not None else ()

    @property
    def attention_mask(self) -> tuple[int, ...]:
        return self._example.attention_mask if self._example is not None else ()

    @property
    def loss_weights(self) -> tuple[float, ...] | None:
        """The weight of each of `labels` in the loss; None where the trainer's loss has none."""
        example = self._example
        return None if example is None or example.weights is None else tuple(example.weights)

    @property
    def shifted(self) -> bool:
        """Whether `labels[i]` is what `input_ids[i]` must predict, and not its own label."""
        return self._example is not None and self._example.shifted

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        """The vocabulary string of each of `input_ids`."""
        return tuple(self._why().get("tokens", ()))

    @cached_property
    def reasons(self) -> tuple[str, ...]:
        """Why each label is trained or masked, in a few words."""
        return tuple(self._why().get("reasons", ()))

    @cached_property
    def spans(self) -> tuple[Span | None, ...]:
        """Where each token stands in `text`, of which message and part; None for one that stands for no text."""
        return tuple(None if span is None else tuple(span) for span in self._why().get("spans", ()))

    def __len__(self) -> int:
        """The number of tokens that the trainer receives."""
        return len(self.input_ids)


class PreparedRow(PreparedPart):
    """A row as the trainer receives it; does not change, and outlives the data that it came from.

    All sequences along the tokens are tuples of one length, and empty where the trainer receives nothing of the row:
    `dropped` or `error` then says why. Of a row that the trainer splits they are those of the first part; `parts` has
    them all.
    """

    def __init__(
        self, inspection: Inspection, preset: str, ignore_index: int, look: Callable[[Inspection], tuple[Finding, ...]]
    ) -> None:
        super().__init__(inspection.example, {})
        self._inspection, self._preset, self._look = inspection, preset, look
        self.ignore_index = ignore_index
        """The label of positions without loss."""

    @property
    def index(self) -> int:
        """Its number in the dataset, from 0."""
        return self._inspection.row.index

    @property
    def data(self) -> Mapping[str, Any] | None:
        """The row as it is stored; None where it could not be read."""
        return self._inspection.row.data

    @property
    def text(self) -> str | None:
        """The rendered text that the tokens are made of; None where there is none."""
        rendered = self._inspection.rendered
        return rendered.text if rendered is not None else None

    @cached_property
    def parts(self) -> tuple[PreparedPart, ...]:
        """What the trainer receives of the row: one, several where it splits rows, none where it is dropped."""
        found = self._inspection
        return tuple(PreparedPart(*one) for one in zip(found.examples, explained(found)))

    @cached_property
    def rejected(self) -> PreparedRow | None:
        """The rejected side of a preference, with the findings of it alone; None where there is none."""
        other = self._inspection.rejected
        if other is None:
            return None

        def look(_: Inspection) -> tuple[Finding, ...]:
            return tuple(finding for finding in self.findings if finding.side == SIDES[1])

        return PreparedRow(other, self._preset, self.ignore_index, look)

    def _why(self) -> Mapping[str, Any]:
        return self.parts[0]._explained if self.parts else {}

    @property
    def trained(self) -> int:
        """How many positions of `labels` carry loss."""
        return self._inspection.alone[0].trained

    @property
    def dropped(self) -> str | None:
        """Why the trainer leaves the row out; None where it does not."""
        return self._inspection.dropped

    @property
    def error(self) -> str | None:
        """Why the row could not be prepared, and what to do; None where it could."""
        problem = self._inspection.problem
        return problem.sentence() if problem is not None else None

    @property
    def evaluates(self) -> bool:
        """Whether the trainer sets the row aside for evaluation."""
        return self._inspection.evaluates

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be known of how the row was prepared."""
        return self._inspection.notes

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What is wrong with the row; of the whole dataset only `check` knows."""
        return self._look(self._inspection)

    def __repr__(self) -> str:
        if self.error is not None:
            return f"<row {self.index}: {visible(self.error)[:200]}>"
        if self.dropped is not None:
            return f"<row {self.index}: dropped, because {visible(self.dropped)[:200]}>"
        return f"<row {self.index}: {many(len(self), 'token')}, {self.trained:,} trained>"

    def _repr_html_(self) -> str:
        from sftui.exports.notebook import row_box

        return row_box(self._inspection, self.findings, self._preset, self.ignore_index)
