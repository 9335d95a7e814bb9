"""The tokens around a finding, by label: marked by bold and underline, by strike-through and by words, never by
colour alone."""

from __future__ import annotations

from itertools import groupby

from sftui.exports.report_markup import safe
from sftui.findings import Finding
from sftui.model import IGNORE_INDEX, Inspection
from sftui.text import visible_token

AROUND, MOST = 10, 60
LEGEND = (
    '<p>Tokens: <span class="on">trained, bold and underlined</span>; <span class="off">masked, plain</span>; '
    '<span class="cut">cut or dropped, struck through</span>; <mark>⟦ the finding ⟧</mark> in brackets.</p>\n'
)
WORDS = {"on": "trained", "off": "masked", "cut": "cut"}


def token_box(inspection: Inspection, finding: Finding, ignore: int = IGNORE_INDEX) -> str:
    """The tokens of a finding with some before and behind; "" where it names none or the row has none."""
    tokens = inspection.tokens
    if tokens is None or inspection.labels is None or finding.tokens is None or not len(tokens):
        return ""
    first, last = max(0, finding.tokens[0]), min(len(tokens), finding.tokens[1])
    start, stop = max(0, first - AROUND), min(len(tokens), max(first + 1, last) + AROUND, max(0, first - AROUND) + MOST)
    return token_range(inspection, (start, stop), ignore, (first, last))


def token_range(
    inspection: Inspection, shown: tuple[int, int], ignore: int = IGNORE_INDEX, marked: tuple[int, int] = (0, 0)
) -> str:
    """The tokens of a half-open range, those of another one in brackets; "" where the row has no labels."""
    tokens, labels = inspection.tokens, inspection.labels
    if tokens is None or labels is None:
        return ""
    (start, stop), (first, last) = shown, marked
    kept = [labels.dropped is None and any(a <= i < b for a, b in labels.kept) for i in range(start, stop)]
    carried = labels.counted[start:stop]
    kinds = [
        "cut" if not on else "off" if label in (IGNORE_INDEX, ignore) else "on" for on, label in zip(kept, carried)
    ]
    weights = labels.weights[start:stop] if labels.weights is not None else (1.0,) * len(kinds)
    times = [f"×{weight:g}" if kind == "on" and weight != 1 else "" for kind, weight in zip(kinds, weights)]
    parts, written = ["… "] if start else [], inspection.token_text
    for (inside, kind, weight), group in groupby(
        range(start, stop), key=lambda i: (first <= i < last, kinds[i - start], times[i - start])
    ):
        numbers = list(group)
        run = "".join(
            f'<span class="t">{safe(visible_token(written.surfaces[i], written.pieces[i]))}</span>' for i in numbers
        )
        text = f'<span class="sr">{WORDS[kind]}: </span><span class="{kind}">{run}</span>{weight} '
        if inside:
            text = (
                ("<mark>⟦</mark>" if numbers[0] == first else "")
                + text
                + ("<mark>⟧</mark> " if numbers[-1] == last - 1 else "")
            )
        parts.append(text)
    if stop < len(tokens):
        parts.append("…")
    label = f"tokens {start} to {stop - 1} of row {inspection.row.index}"
    return f'<div class="tokens" tabindex="0" role="group" aria-label="{safe(label)}">{"".join(parts)}</div>\n'
