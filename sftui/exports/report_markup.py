"""The templates of the report, the one place where something of the data becomes markup, and the tokens that the report
and notebooks draw: runs of one label, those of a finding marked."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

from sftui.findings import Finding
from sftui.model import IGNORE_INDEX, SIDES, Inspection, common_prefix
from sftui.runs import flat
from sftui.text import share, visible, visible_token

HERE = Path(__file__).parent
AROUND, MOST = 10, 60
WORDS = {"on": "trained", "off": "masked", "cut": "cut"}


def page(template: str, **values: Any) -> str:
    """A template of this folder with these values; every text in them is made visible, then escaped."""
    return str(_environment().get_template(template).render(values))


@cache
def parts() -> Any:
    """The macros of report_parts.jinja, each a function that gives markup."""
    return _environment().get_template("report_parts.jinja").module


def style(*, scoped: bool = False) -> Any:
    """The style sheet of the report as markup; scoped for a box whose colours are its own whatever page it is on."""
    from markupsafe import Markup

    text = (HERE / "report.css").read_text(encoding="utf-8").replace("\n", "")
    if scoped:
        text = text.replace(":root", "&").replace(
            "body{margin:0 auto;max-width:62rem;padding:0 1rem;", "&{padding:.25rem 1rem;"
        )
        text = f".sftui{{{text}tbody th,td:nth-child(2){{white-space:nowrap}}}}"
    return Markup(text)


@cache
def _environment() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    from sftui.audit.bars import short

    made = Environment(
        loader=FileSystemLoader(HERE),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
        finalize=_shown,
    )
    made.filters.update(number="{:,}".format, share=share, short=short)
    return made


def _shown(value: object) -> object:
    """Text of its own made visible; markup that a macro gave stays."""
    return visible(value) if type(value) is str else value


@dataclass(frozen=True, slots=True)
class TokenRun:
    """Tokens that follow each other with one label: a kind of `WORDS`, the weight in the loss in words, and whether the
    brackets of a finding open before them or close behind them."""

    kind: str
    word: str
    tokens: tuple[str, ...]
    weight: str
    opens: bool
    closes: bool


@dataclass(frozen=True, slots=True)
class TokenRange:
    """The runs of tokens `start` to `stop` (half-open) of a row that has `length` of them."""

    row: int
    start: int
    stop: int
    length: int
    runs: tuple[TokenRun, ...]


def token_box(inspection: Inspection, finding: Finding, ignore: int = IGNORE_INDEX) -> TokenRange | None:
    """The tokens of a finding with some before and behind; None where it names none or the row has none."""
    inspection = inspection.alone[-1 if finding.side == SIDES[1] else 0]
    tokens = inspection.tokens
    if tokens is None or inspection.labels is None or finding.tokens is None or not len(tokens):
        return None
    first, last = max(0, finding.tokens[0]), min(len(tokens), finding.tokens[1])
    start, stop = max(0, first - AROUND), min(len(tokens), max(first + 1, last) + AROUND, max(0, first - AROUND) + MOST)
    return token_range(inspection, (start, stop), ignore, (first, last))


def token_boxes(
    inspection: Inspection, finding: Finding, ignore: int = IGNORE_INDEX
) -> tuple[tuple[str, TokenRange], ...]:
    """The box of a finding under no name; of a preference both sides there, by theirs, or where the sides part."""
    own, sides = token_box(inspection, finding, ignore), inspection.alone
    if len(sides) < 2:
        return (("", own),) if own is not None else ()
    ids = [side.tokens.ids if side.tokens is not None else flat(()) for side in sides]
    at = common_prefix(*ids)
    start, stop = (own.start, own.stop) if own is not None else (max(0, at - AROUND), at + 2 * AROUND)
    found = []
    for name, side, of in zip(SIDES, sides, ids):
        there = own if name == (finding.side or SIDES[0]) else None
        box = there or (token_range(side, (start, min(stop, len(of))), ignore) if start < len(of) else None)
        found += [(name, box)] if box is not None else []
    return tuple(found)


def token_range(
    inspection: Inspection, shown: tuple[int, int], ignore: int = IGNORE_INDEX, marked: tuple[int, int] = (0, 0)
) -> TokenRange | None:
    """The tokens of a half-open range, those of another one in brackets; None where the row has no labels."""
    tokens, labels = inspection.tokens, inspection.labels
    if tokens is None or labels is None:
        return None
    (start, stop), (first, last) = shown, marked
    kept = [labels.dropped is None and any(a <= i < b for a, b in labels.kept) for i in range(start, stop)]
    carried = labels.counted[start:stop]
    kinds = [
        "cut" if not on else "off" if label in (IGNORE_INDEX, ignore) else "on" for on, label in zip(kept, carried)
    ]
    weights = labels.weights[start:stop] if labels.weights is not None else (1.0,) * len(kinds)
    times = [f"×{weight:g}" if kind == "on" and weight != 1 else "" for kind, weight in zip(kinds, weights)]
    runs, written = [], inspection.token_text
    for (inside, kind, weight), group in groupby(
        range(start, stop), key=lambda i: (first <= i < last, kinds[i - start], times[i - start])
    ):
        numbers = list(group)
        texts = tuple(visible_token(written.surfaces[i], written.pieces[i]) for i in numbers)
        opens, closes = inside and numbers[0] == first, inside and numbers[-1] == last - 1
        runs.append(TokenRun(kind, WORDS[kind], texts, weight, opens, closes))
    return TokenRange(inspection.row.index, start, stop, len(tokens), tuple(runs))
