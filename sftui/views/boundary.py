"""The prompt boundary: the prompt tokenized alone against the whole, aligned where they part.

Masking the first len(prompt) labels is right only if the whole text begins with those very
tokens. Where a token straddles the end of the prompt, it is not.
"""

from __future__ import annotations

from sftui.model import NOWHERE, Inspection, common_prefix
from sftui.text import cell_width, fit, visible_token
from sftui.views.cells import Line, LineBuilder, Role, crop, line, wrap
from sftui.views.layout import MAX_COLUMN
from sftui.views.table import LOSS_ROLES, TokenTable, make_table

SAME, DIFFERENT, ABSENT = "=", "≠", "–"
BEFORE = 3
"""Agreeing tokens shown before the place where the two part."""
NAME_WIDTH = 8


def boundary_words(inspection: Inspection) -> str:
    """The boundary in one sentence."""
    tokens, boundary = inspection.tokens, inspection.boundary
    if tokens is None:
        return "no tokens, so no boundary to compare"
    if boundary is None or tokens.prompt_ids is None:
        return "this recipe does not tokenize the prompt alone, so there is no boundary to compare"
    common, length = boundary.common, boundary.prompt_length
    if boundary.clean:
        return f"both agree on all {length:,} prompt tokens: the completion begins at token {length:,}"
    head = f"both agree on {common:,} of {length:,} prompt tokens and differ from token {common:,} on"
    alone = visible_token(inspection.prompt_text.surfaces[common], inspection.prompt_text.pieces[common])
    if common >= len(tokens):
        return f"{head}, where the whole text ends and the prompt alone continues with {alone}"
    whole = visible_token(inspection.token_text.surfaces[common], inspection.token_text.pieces[common])
    return f"{head}: {alone} in the prompt alone, {whole} in the whole text"


def straddler(inspection: Inspection) -> int | None:
    """The token of the whole text that holds the end of the prompt inside it, if one does."""
    tokens, rendered = inspection.tokens, inspection.rendered
    if tokens is None or rendered is None or rendered.prompt is None or not rendered.text.startswith(rendered.prompt):
        return None
    at, places = len(rendered.prompt), enumerate(zip(tokens.starts, tokens.ends))
    return next((i for i, (start, end) in places if start != NOWHERE and start < at < end), None)


def boundary_lines(inspection: Inspection, width: int) -> tuple[Line, ...]:
    """The boundary in words, then both tokenizations side by side from just before they part."""
    boundary = inspection.boundary
    clean = boundary is None or boundary.clean
    lines = list(wrap(line((boundary_words(inspection), Role.PLAIN if clean else Role.WARNING)), width))
    for sentence in _more_words(inspection):
        lines += wrap(line((sentence, Role.WARNING)), width)
    table = make_table(inspection)
    if table is not None and boundary is not None:
        lines.append(())
        lines += _aligned(inspection, table, width)
    return tuple(lines)


def _more_words(inspection: Inspection) -> list[str]:
    found: list[str] = []
    rendered, tokens = inspection.rendered, inspection.tokens
    if rendered is None or tokens is None or rendered.prompt is None:
        return found
    if not rendered.text.startswith(rendered.prompt):
        words = "the text itself differs: the prompt alone is not the beginning of the whole"
        found.append(f"{words}, from character {common_prefix(rendered.prompt, rendered.text):,} on")
    token = straddler(inspection)
    if token is not None:
        inside = len(rendered.prompt) - tokens.starts[token]
        size = tokens.ends[token] - tokens.starts[token]
        cell = visible_token(inspection.token_text.surfaces[token], inspection.token_text.pieces[token])
        found.append(
            f"token {token:,} {cell} straddles the end of the prompt: {inside} of its {size} characters are prompt"
        )
    return found


def _aligned(inspection: Inspection, table: TokenTable, width: int) -> tuple[Line, ...]:
    """Columns of both sides by position, as many as fit: prompt alone above, whole below."""
    tokens, boundary = inspection.tokens, inspection.boundary
    if tokens is None or boundary is None or tokens.prompt_ids is None:
        return ()
    written = inspection.prompt_text
    alone = [visible_token(s, p) for s, p in zip(written.surfaces, written.pieces)]
    names = ("pos", "prompt", "id", "whole", "id", "same", "loss")
    builders = [LineBuilder().add(fit(name, NAME_WIDTH), Role.LABEL) for name in names]
    count = max(len(alone), len(table))
    for i in range(max(boundary.common - BEFORE, 0), count):
        cells = _column(tokens.prompt_ids, alone, table, i)
        column = min(max(cell_width(text) for text, _ in cells), MAX_COLUMN, max(width - NAME_WIDTH, 1))
        if builders[0].width + column > width and builders[0].width > NAME_WIDTH:
            break
        for builder, (text, role) in zip(builders, cells):
            builder.add(fit(text, column), role)
            ends = i + 1 == boundary.prompt_length
            builder.add("│" if ends else " ", Role.BORDER if ends else Role.PLAIN)
    lines = [builder.line() for builder in builders]
    lines.append(line(("│", Role.BORDER), (" the prompt tokenized alone ends here", Role.DIM)))
    return tuple(crop(cells, width) for cells in lines)


def _column(prompt_ids: tuple[int, ...], alone: list[str], table: TokenTable, i: int) -> tuple[tuple[str, Role], ...]:
    in_prompt, in_whole = i < len(prompt_ids), i < len(table)
    same = in_prompt and in_whole and prompt_ids[i] == table.ids[i]
    glyph = table.loss[i] if in_whole else " "
    mark = SAME if same else DIFFERENT if in_prompt else " "
    role = Role.PLAIN if same or not in_prompt else Role.CHANGED
    return (
        (str(i), Role.POSITION),
        (alone[i], role) if in_prompt else (ABSENT, Role.DIM),
        (str(prompt_ids[i]), Role.NUMBER) if in_prompt else (ABSENT, Role.DIM),
        (table.cells[i], role) if in_whole else (ABSENT, Role.DIM),
        (str(table.ids[i]), Role.NUMBER) if in_whole else (ABSENT, Role.DIM),
        (mark, Role.DIM if same else Role.WARNING),
        (glyph, LOSS_ROLES.get(glyph, Role.DIM)),
    )
