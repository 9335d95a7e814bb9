"""Waivers: findings that someone has looked at and accepts, with the reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sftui.errors import RecipeError
from sftui.findings.catalogue import CODES
from sftui.findings.model import Finding
from sftui.findings.shapes import MORE, clipped, signature_of
from sftui.nearest import did_you_mean

_KEYS = ("code", "rows", "signature", "reason")


@dataclass(frozen=True, slots=True)
class Waiver:
    """Accepts findings of one code: everywhere, in a half-open range of rows, or for one role signature.

    A signature is all roles of a row joined by spaces, or the beginning of a very long one as it is shown (`clipped`).
    """

    code: str
    reason: str
    rows: tuple[int, int] | None = None
    signature: str = ""

    def covers(self, finding: Finding) -> bool:
        """Whether the finding is accepted; one without a row is only covered by a waiver without rows."""
        if finding.code != self.code:
            return False
        if self.rows is not None and (finding.row is None or not self.rows[0] <= finding.row < self.rows[1]):
            return False
        if self.signature.endswith(MORE):  # as it is shown
            return clipped(finding.signature) == self.signature
        return not self.signature or finding.signature == self.signature


def read_waiver(value: Any, where: str) -> Waiver:
    """A waiver from a mapping with `code`, `reason` and perhaps `rows` and `signature`; RecipeError.

    `rows` is one row number, or `[first, last]` with both ends included, as people count.
    """
    if not isinstance(value, Mapping):
        raise RecipeError("a waiver is not a mapping", where=where, fix="give it a code and a reason")
    unknown = [str(key) for key in value if key not in _KEYS]
    if unknown:
        raise RecipeError(f"a waiver has no key `{unknown[0]}`", where=where, fix=f"its keys are {', '.join(_KEYS)}")
    code = str(value.get("code", ""))
    if code not in CODES:
        raise RecipeError(
            f"there is no code `{code}`", where=where, fix=did_you_mean(code, CODES, "`sftui explain` lists them")
        )
    reason = value.get("reason")
    if not isinstance(reason, str) or not reason.strip():
        raise RecipeError(
            f"the waiver of {code} has no reason", where=where, fix="write in `reason` why it is accepted"
        )
    signature = value.get("signature") or ""
    if isinstance(signature, (list, tuple)):
        signature = " ".join(map(str, signature))
    return Waiver(code, reason, _range(value.get("rows"), code, where), signature_of([signature]))


def read_waivers(values: Any) -> tuple[Waiver, ...]:
    """Every waiver of a list; RecipeError with the place of the first that is wrong."""
    if values is None:
        return ()
    if not isinstance(values, (list, tuple)):
        raise RecipeError("waivers are not a list", where="waivers", fix="start each one with a dash")
    return tuple(read_waiver(value, f"waivers[{number}]") for number, value in enumerate(values))


def apply_waivers(
    findings: Iterable[Finding], waivers: Sequence[Waiver]
) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """The findings that stand, and those that a waiver covers, each in their order."""
    stand: list[Finding] = []
    waived: list[Finding] = []
    for finding in findings:
        (waived if any(waiver.covers(finding) for waiver in waivers) else stand).append(finding)
    return tuple(stand), tuple(waived)


def _range(value: Any, code: str, where: str) -> tuple[int, int] | None:
    if value is None:
        return None
    ends = value if isinstance(value, (list, tuple)) else (value, value)
    if len(ends) != 2 or not all(type(end) is int for end in ends) or not 0 <= ends[0] <= ends[1]:
        raise RecipeError(
            f"the rows of the waiver of {code} cannot be parsed", where=where, fix="give one number or [first, last]"
        )
    return ends[0], ends[1] + 1
