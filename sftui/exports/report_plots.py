"""Plots as inline SVG: bars with their numbers next to them, so that nothing hangs on a length or a colour."""

from __future__ import annotations

from collections.abc import Sequence

from sftui.audit.bars import short
from sftui.exports.report_markup import safe
from sftui.text import share

WIDTH = 360
"""Units of the drawing; at phone width one is about a pixel."""
HEIGHT, FOOT, TOP = 170, 18, 14


def columns_svg(name: str, title: str, bars: Sequence[tuple[str, int]]) -> str:
    """Upright bars: what each stands for below it, how many above it; the title says it all in words."""
    most = max((count for _, count in bars), default=0) or 1
    step = WIDTH / max(1, len(bars))
    room = HEIGHT - FOOT - TOP
    parts = []
    for i, (label, count) in enumerate(bars):
        height = room * count / most
        x, y = i * step, TOP + room - height
        parts.append(f'<rect class="bar" x="{x + 1:.1f}" y="{y:.1f}" width="{step - 2:.1f}" height="{height:.1f}"/>')
        if count:
            parts.append(
                f'<text x="{x + step / 2:.1f}" y="{y - 3:.1f}" text-anchor="middle"'
                f' style="font-size:{_size(step)}px">{short(count)}</text>'
            )
        parts.append(
            f'<text x="{x + step / 2:.1f}" y="{HEIGHT - 5}" text-anchor="middle"'
            f' style="font-size:{_size(step)}px">{safe(label)}</text>'
        )
    parts.append(f'<line class="axis" x1="0" x2="{WIDTH}" y1="{TOP + room}" y2="{TOP + room}"/>')
    return _svg(name, title, "; ".join(f"{label}: {count:,}" for label, count in bars), HEIGHT, "".join(parts))


def rows_svg(name: str, title: str, bars: Sequence[tuple[str, int]]) -> str:
    """Lying bars, one line each: the name, the bar, its part of the whole."""
    total = sum(count for _, count in bars) or 1
    most = max((count for _, count in bars), default=0) or 1
    parts = []
    for i, (label, count) in enumerate(bars):
        y = i * 34
        parts.append(f'<text x="0" y="{y + 12}">{safe(_clip(label))}</text>')
        parts.append(f'<rect class="bar" x="0" y="{y + 16}" width="{max(1.0, 230 * count / most):.1f}" height="12"/>')
        parts.append(
            f'<text x="{max(1.0, 230 * count / most) + 6:.1f}" y="{y + 26}">{count:,} ({share(count, total, 1)})</text>'
        )
    return _svg(
        name,
        title,
        "; ".join(f"{label}: {count:,}" for label, count in bars),
        34 * max(1, len(bars)) + 4,
        "".join(parts),
    )


def _size(step: float) -> int:
    return 11 if step >= 30 else 9


def _clip(text: str) -> str:
    return text if len(text) <= 48 else text[:47] + "…"


def _svg(name: str, title: str, description: str, height: int, body: str) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-labelledby="{name}-t {name}-d">'
        f'<title id="{name}-t">{safe(title)}</title><desc id="{name}-d">{safe(description)}</desc>{body}</svg>\n'
    )
