"""The baseline: findings that are known already, so that only new ones fail a check."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from sftui.audit.found import FindingCounts, mark
from sftui.errors import ExportError, RecipeError
from sftui.findings import SCOPE_OF
from sftui.side_files import parse_json, read_side_bytes, reason
from sftui.tokens.facts import TokenizerFacts

VERSION = 2
"""2: findings of the set-up are recognised without their counts, those of the dataset part by part. Rows as in 1."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """What a baseline knows, and the codes of what it holds in an older form that is recognised no more.

    `tokenizer` says whose ids it was written with (see `_whose`); None where it is older than that.
    `rates`: the share of rows that had each code; None where it is older than that, too.
    """

    known: frozenset[str]
    outdated: tuple[str, ...] = ()
    tokenizer: Mapping[str, str] | None = None
    rates: Mapping[str, float] | None = None

    def other_ids(self, facts: TokenizerFacts) -> str:
        """What is to be said of a baseline whose ids are not known to be those of `facts`; empty where they are."""
        now = _whose(facts)
        if self.tokenizer is None:
            return "does not record which version's ids it was written with" if facts.transformers else ""
        if self.tokenizer == now:
            return ""
        then = self.tokenizer.get("transformers")
        if then != facts.transformers:
            those, these = then or "no version", facts.transformers or "no version"
            return f"was written with token ids from transformers {those}; these are from {these}"
        return "was written with a different tokenizer"


def read_baseline(path: Path, but: Collection[str] = ()) -> Baseline:
    """A baseline file, with what it knows of other codes than some; RecipeError where it is none, or of a later
    version."""
    try:
        read = parse_json(read_side_bytes(path))
        codes, version = read["findings"], read["version"]
        if version not in range(1, VERSION + 1):
            raise RecipeError(
                "the baseline has an unsupported version", where=str(path), fix="rewrite it with --write-baseline"
            )
        outdated = tuple(sorted(code for code, marks in codes.items() if version == 1 and _outdated(code, marks)))
        whose = read.get("tokenizer")
        whose = {str(key): str(value) for key, value in whose.items()} if whose is not None else None
        rates = read.get("rates")
        rates = {str(code): float(rate) for code, rate in rates.items()} if rates is not None else None
        known = frozenset(str(mark) for code, marks in codes.items() if code not in but for mark in marks)
        return Baseline(known, outdated, whose, rates)
    except OSError as error:
        raise RecipeError(
            "the baseline cannot be read", where=str(path), why=reason(error), fix="write it with --write-baseline"
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RecipeError(
            "this is not an sftui baseline", where=str(path), fix="rewrite it with --write-baseline"
        ) from error


def _outdated(code: str, marks: Collection[str]) -> bool:
    """Whether version 1 knew something else than rows by this code: also a code of rows may be reported of the
    set-up."""
    return SCOPE_OF.get(code, "row") != "row" or mark(code) in marks


def may_replace(path: Path) -> None:
    """ExportError where something else than a baseline is at `path`; one of another version may go too."""
    if not os.path.exists(path):
        return
    try:
        read = parse_json(read_side_bytes(path))
        known = isinstance(read["version"], int) and isinstance(read["findings"], dict)
    except (OSError, ValueError, KeyError, TypeError):
        known = False
    if not known:
        raise ExportError(
            f"{path} is not an sftui baseline",
            why="--write-baseline overwrites only an sftui baseline",
            fix="name another file with --baseline",
        )


def baseline_text(found: FindingCounts, facts: TokenizerFacts, rows: int) -> str:
    """Every finding that stands in so many rows, by code, as plain ASCII."""
    codes = {code: sorted(marks) for code, marks in sorted(found.fingerprints.items())}
    rates = {code: one.rate(rows) for code, one in sorted(found.codes.items())}
    contents = {"version": VERSION, "tokenizer": _whose(facts), "rates": rates, "findings": codes}
    return json.dumps(contents, indent=1) + "\n"


def _whose(facts: TokenizerFacts) -> dict[str, str]:
    """Whose ids: the version of transformers that loaded the tokenizer, and the sha256 of the proven backend."""
    return {"transformers": facts.transformers, "backend": facts.backend}
