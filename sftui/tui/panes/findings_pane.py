"""The findings of the row and of the set-up, one of them marked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sftui.tui.line_view import WIDE, LineView
from sftui.values import value_class
from sftui.views.cells import Line, Role, line, plain
from sftui.views.status import problem_lines

if TYPE_CHECKING:
    from sftui.findings import Finding
    from sftui.workspace.events import FindingsReady


NONE = -1
"""The number of no finding: the marked one is on its way, or there is none."""


@value_class
class Identity:
    """What a finding is, wherever it stands: the `nth` of `among` of its code in its message."""

    finding: Finding
    nth: int
    among: int

    @classmethod
    def of(cls, findings: Sequence[Finding], number: int) -> Identity:
        """That of one of several findings."""
        alike = _alike(findings, findings[number])
        return cls(findings[number], alike.index(number), len(alike))

    def find(self, findings: Sequence[Finding]) -> int:
        """Where it stands among others, also where its tokens moved; NONE where it is gone."""
        alike = _alike(findings, self.finding)
        if not alike or len(alike) == self.among:
            return alike[self.nth] if alike else NONE
        here = [number for number in alike if findings[number].tokens == self.finding.tokens]
        return here[0] if here else alike[min(self.nth, len(alike) - 1)]


def _alike(findings: Sequence[Finding], like: Finding) -> list[int]:
    """The numbers of the findings of one code in one message."""
    code, row, message = like.code, like.row, like.message
    return [k for k, found in enumerate(findings) if (found.code, found.row, found.message) == (code, row, message)]


class FindingsPane(LineView):
    """Blocks of lines, a block a finding; moves go from finding to finding.

    The mark follows its finding through every answer of the row. While that one is on its way nothing is marked, so
    that no key means another; once it is gone its neighbour is marked, until it comes back or another is chosen.
    """

    name_of_pane = "findings"

    def __init__(self) -> None:
        super().__init__()
        self.answer: FindingsReady | None = None
        self.row = 0
        self.trainer = ""
        self.marked = NONE
        self._wanted: list[Identity] = []
        self._at = 0

    # — content —

    def show(self, row: int, answer: FindingsReady | None, trainer: str) -> None:
        """The findings of a row, or that they are on their way; the mark stays with its finding where the row is the
        same."""
        if row != self.row:
            self._wanted, self._at, self.top = [], 0, 0
        self.row, self.answer, self.trainer = row, answer, trainer
        self.marked = self._found()
        self.rebuild()

    def _found(self) -> int:
        """The number of the finding that was marked last of those that are still there; the one in its place where none
        is."""
        findings = self.findings
        for identity in self._wanted:
            number = identity.find(findings)
            if number != NONE:
                self._at = number
                return number
            if identity.finding.row is None and (self.answer is None or self.answer.setup is None):
                return NONE
        if not findings:
            return NONE
        self._at = min(self._at, len(findings) - 1)
        self._wanted.append(Identity.of(findings, self._at))
        return self._at

    def choose(self) -> None:
        """Something is done with the marked one: what was marked before it does not come back."""
        if self.marked != NONE:
            self._wanted, self._at = [Identity.of(self.findings, self.marked)], self.marked

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Those that are listed."""
        if self.answer is None:
            return ()
        return self.filtered((*self.answer.findings, *(self.answer.setup or ())), self._text)

    def _text(self, finding: Finding) -> str:
        from sftui.views.findings import finding_block

        return plain(finding_block(finding, WIDE, marked=True, trainer=self.trainer))

    def set_filter(self, text: str) -> None:
        self.filter = text
        self.show(self.row, self.answer, self.trainer)

    @property
    def finding(self) -> Finding | None:
        """The marked one."""
        found = self.findings
        return found[self.marked] if self.marked != NONE else None

    def resized(self) -> None:
        if not self.display or not self.size.width:
            return
        self.lines, self.owners = zip(*self._blocks(max(self.size.width, 20)))
        self.keep_owner_in_view(self.marked)
        super().resized()

    def _blocks(self, width: int) -> Iterator[tuple[Line, int | None]]:
        """Each line, with the number of its finding."""
        from sftui.views.findings import finding_block, finding_counts

        answer = self.answer
        if answer is None:
            yield line((f" row {self.row:,}", Role.TITLE), ("  checking …", Role.DIM)), None
            return
        if answer.problem is not None:
            yield from ((cells, None) for cells in problem_lines(answer.problem, width))
            return
        listed, number = self.findings, 0
        # an error of the set-up may be what stops the row
        none = "nothing in this row" if any(one.severity == "error" for one in answer.setup or ()) else "nothing found"
        for gap, title, group, waived in (
            ((), f"row {self.row:,}", answer.findings, answer.waived),
            (((),), "the setup", answer.setup, answer.setup_waived),
        ):
            counts = "checking …" if group is None else finding_counts(group, waived) or none
            yield from ((cells, None) for cells in (*gap, line((f" {title}  ", Role.TITLE), (counts, Role.DIM))))
            for finding in group or ():
                if number >= len(listed) or listed[number] is not finding:
                    continue  # the filter hides it
                marked = number == self.marked
                block = finding_block(finding, width, marked=marked, active=self.active, trainer=self.trainer)
                yield from [(cells, number) for cells in block]
                number += 1

    # — moving —

    def move(self, steps: int) -> None:
        if self.findings:
            self.marked = max(0, min(self.marked + steps, len(self.findings) - 1))
            self.choose()
        self.rebuild()

    def pick(self, number: int) -> None:
        """Marks the finding on a clicked line."""
        owner = self.owner(number)
        if owner is not None:
            self.move(owner - self.marked)
