"""The HTML report: one page that needs nothing from elsewhere, to attach to a pull request."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from sftui import __version__
from sftui.audit.bars import length_bars, share_bars
from sftui.audit.figures import Figures, GroupFigure, LimitFigure, WeightFigures
from sftui.exports.report_markup import page, parts, style, token_boxes
from sftui.exports.report_model import MARKS, SHOWN, AuditReport, counted
from sftui.findings import CODES, Finding
from sftui.text import many, share

LISTED = 12
"""Groups, roles and tokens that are listed; more are counted together."""


def report_html(checked: AuditReport) -> str:
    """The page as text; everything that comes from the data is escaped."""
    codes = sorted(checked.audit.found.ordered(), key=lambda one: one.severity.rank)
    link, severity = parts().link, parts().severity
    return page(
        "report.html.jinja",
        checked=checked,
        style=style(),
        facts=_facts(checked),
        notes=list(dict.fromkeys(checked.notes)),
        sections=[
            *([("verdict", "Verdict", "")] if checked.verdict else []),
            ("findings", "Findings", ""),
            *figure_sections(checked.audit.figures()),
        ],
        codes=codes,
        overview=[
            (link(code.code), severity(code.severity, code.severity.value), CODES[code.code].title, f"{code.count:,}")
            for code in codes
        ],
        catalogue=CODES,
        marks=MARKS,
        looks={_place(found.finding): inspection for found, inspection in checked.looks},
        place=_place,
        token_boxes=token_boxes,
        ignore=checked.recipe.mask.ignore_index,
        shown=SHOWN,
        version=__version__,
    )


def _place(finding: Finding) -> tuple[object, ...]:
    return finding.code, finding.row, finding.message, finding.tokens


def _weights(weights: WeightFigures) -> str:
    total = "not all numeric" if weights.total is None else f"{weights.total:,.6g} in total"
    return f"{total}, {many(weights.tokens, 'token')} with a weight other than 1"


def _facts(checked: AuditReport) -> list[tuple[str, str]]:
    figures, weights = checked.audit, checked.audit.weights.figures()
    part = f" ({share(figures.trained, figures.tokens, 1)})" if figures.tokens else ""
    reach = figures.checks.totals
    received = f"{figures.received_tokens:,} tokens, {reach.trained:,} trained"
    evaluation = f"{figures.evaluation_rows:,}, {figures.evaluation_tokens:,} tokens"
    facts = [
        ("Rows", f"{figures.rows:,}" + ("" if checked.complete else " checked")),
        ("Trainer", checked.recipe.preset),
        ("Tokenizer", checked.tokenizer.name),
        ("Template", checked.template or "none"),
        ("Sides", "chosen and rejected, counted as a sequence each" if checked.recipe.paired else None),
        ("Tokens", f"{figures.tokens:,}, {figures.trained:,} trained{part}"),
        ("Rows the trainer gets", f"{many(reach.kept, 'row')}, {received}"),
        ("Weights in the loss", _weights(weights) if weights is not None else None),
        ("Of these for evaluation", evaluation if figures.evaluation_rows else None),
        ("Findings", counted(checked)),
    ]
    return [(name, text) for name, text in facts if text is not None]


def figure_sections(figures: Figures) -> Iterator[tuple[str, str, Any]]:
    """(id, heading, markup) of each section that has something to show."""
    table, columns = parts().table, parts().columns
    head: tuple[str, ...]
    if figures.tokenized:
        counted = figures.unit.capitalize()
        plot = columns("lengths-plot", f"{counted} by length in tokens", length_bars(figures.lengths))
        lengths = ((_quantile(part), f"{length:,}") for part, length in figures.quantiles.items())
        caption, head = "Lengths in tokens, before truncation", (f"Share of {figures.unit}", "At most")
        yield "lengths", "Lengths", plot + table(caption, head, lengths)
        caption = f"{counted} by percentage of trained tokens"
        yield "shares", "Trained share", columns("shares-plot", caption, share_bars(figures.shares))
    if figures.by_role:
        yield "budget", "Where the loss goes", _budget(figures)
    if figures.loss is not None:
        head = ("Of", "Trained tokens", "Averaged per step", "Per batch", "Per row")
        listed = ((name, count, *shares) for name, count, shares in figures.loss.compared(2 * LISTED))
        caption = ". ".join(figures.loss.sentences)
        yield "loss", "Share of the loss", table(caption, head, listed)
    if figures.tokenized:
        yield "limits", "Effect of a length limit", _limits(figures)
    repeats = (figures.repeated, figures.answered_again, figures.leaked)
    rows = ((repeat.name, f"{repeat.count:,}", _first(repeat)) for repeat in repeats)
    head = ("Rows that are", "How many", "First rows")
    yield "repeats", "Duplicates and overlap", table("Compared ignoring whitespace", head, rows)
    for name, heading, caption, groups in (
        ("drops", "Dropped by the trainer", "Reason", figures.drops),
        ("stops", "Rows that could not be prepared", "Stopped at", figures.stops),
    ):
        if groups:
            yield name, heading, _groups(caption, groups)
    if len(figures.sources) > 1:
        sources = (
            (source.name, f"{source.rows:,}", f"{source.tokens:,}", f"{source.trained:,}", f"{source.dropped:,}")
            for source in figures.sources
        )
        head = ("File", "Rows", "Tokens", "Trained", "Dropped")
        yield "sources", "Sources", table("One line per file", head, sources)
    kinds = (
        ("Roles in order", figures.signatures),
        ("Template branches", figures.branches),
        ("Findings together", figures.finding_sets),
    )
    yield "groups", "Groups", _joined(_groups(caption, groups) for caption, groups in kinds if groups)


def _budget(figures: Figures) -> Any:
    messages = {
        f"message {index}" if index >= 0 else "no message": count for index, count in figures.by_message.items()
    }
    roles = {name or "no message": count for name, count in figures.by_role.items()}
    counts = [("part of a message", "Part", figures.by_part), ("message", "Message", messages)]
    if figures.weights is not None and figures.weights.tokens:
        counts.append(("weight in the loss", "Weight", figures.weights.by_weight))
    body = [parts().lines("roles-plot", "Trained tokens by role", _top(roles))]
    body += [_counts(f"Trained tokens by {by}", head, numbers) for by, head, numbers in counts]
    if figures.by_special:
        body.insert(3, _counts("Trained special tokens", "Token", figures.by_special))
    return _joined(body)


def _counts(caption: str, head: str, counts: Mapping[str, int]) -> Any:
    total = sum(counts.values()) or 1
    return parts().table(
        caption,
        (head, "Tokens", "Share"),
        ((name, f"{count:,}", share(count, total, 1)) for name, count in _top(counts)),
    )


def _joined(markup: Iterable[Any]) -> Any:
    from markupsafe import Markup

    return Markup("").join(markup)


def _top(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    items = list(counts.items())
    rest = sum(count for _, count in items[LISTED:])
    return items[:LISTED] + ([("all others", rest)] if rest else [])


def _limits(figures: Figures) -> Any:
    table = parts().table

    def per(part: int, whole: int) -> str:
        return f"{part:,} ({share(part, whole, 1)})" if whole and part else f"{part:,}"

    def limits(caption: str, head: tuple[str, ...], *figure_of: Callable[[LimitFigure], str]) -> Any:
        rows = ((f"{limit.limit:,}", *(of(limit) for of in figure_of)) for limit in figures.limits)
        return table(caption, ("Limit", *head), rows)

    cut = limits(
        f"Cutting longer {figures.unit} on the right",
        (f"{figures.unit.capitalize()} cut", "Trained tokens lost", "Left without a label"),
        lambda one: per(one.over, figures.tokenized),
        lambda one: per(one.trained_cut, figures.trained),
        lambda one: f"{one.unlabelled:,}",
    )
    drop = limits(
        f"Dropping longer {figures.unit}",
        (f"{figures.unit.capitalize()} dropped", "Tokens lost", "Trained tokens lost"),
        lambda one: per(one.over, figures.tokenized),
        lambda one: per(one.tokens_dropped, figures.tokens),
        lambda one: per(one.trained_dropped, figures.trained),
    )
    pack = table(
        f"Packing {figures.unit}, cut at the limit, best-fit decreasing",
        ("Limit", "Sequences", "Padding tokens"),
        (
            (f"{figure.limit:,}", f"{figure.packs:,}", per(figure.waste or 0, figure.packs * figure.limit))
            for figure in figures.limits
            if figure.packs is not None
        ),
    )
    return cut + drop + pack


def _groups(caption: str, groups: tuple[GroupFigure, ...]) -> Any:
    left = groups[LISTED:]
    more = f"and {sum(figure.count for figure in left):,} rows in {len(left):,} more groups" if left else ""
    rows = ((group.name, f"{group.count:,}", _first(group)) for group in groups[:LISTED])
    return _joined((parts().table(caption, (caption, "Rows", "First rows"), rows), parts().paragraph(more)))


def _first(group: GroupFigure) -> str:
    return ", ".join(map(str, group.rows[:5])) + (", …" if group.count > 5 else "")


def _quantile(part: float) -> str:
    return {0.0: "shortest", 0.5: "half", 1.0: "all (longest)"}.get(part, f"{100 * part:.0f} %")
