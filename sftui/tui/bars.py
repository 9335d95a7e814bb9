"""The bars: a line each, or a few; the status line never loses its essential part."""

from __future__ import annotations

from functools import lru_cache

from sftui.text import cell_width, clip, share, visible
from sftui.tui.commands.command import show_key
from sftui.tui.contexts import ANY, DOCUMENT, FIGURES, FINDINGS, LIST, RECIPE
from sftui.tui.keys import Keymap
from sftui.tui.line_view import LineView
from sftui.tui.state import Status
from sftui.views.cells import Line, LineBuilder, Role, crop, line, wrap
from sftui.views.words import EVALUATES


class Bar(LineView):
    """One line of cells, or as many as it is shown, on a ground of its own."""

    DEFAULT_CSS = "Bar { height: 1; }"

    def __init__(self, ident: str, ground: str = "bar") -> None:
        super().__init__(ident)
        self.ground = ground
        self.lines: tuple[Line, ...] = ((),)

    def show(self, *lines: Line) -> None:
        if lines != self.lines:
            self.lines = lines
            self.repaint()

    def line_cells(self, line: int) -> Line:
        return crop(self.lines[line], self.size.width)


def status_cells(status: Status, width: int) -> Line:
    """The status line in `width` cells: what is left out first is the source, then the preset's name.

    Always there are the side of a comparison that is shown, which comes first, the star that says that what is shown is
    in no file yet, the letter of a review mark, how many notes there are to read, and the sign of data that is damaged
    or changed on disk.
    """
    count = f"{status.rows:,}" if status.exact else f"≥{status.rows:,}"
    if not status.exact and 0 < status.indexing < 1:
        count += f" ({min(99, int(100 * status.indexing))} %)"
    place = f"row {status.row:,} of {count}" + (f" ({status.order})" if status.order else "")
    state, state_role = _STATES.get(status.state, (status.state, Role.DIM))
    pending = f" {status.pending}" if status.pending else ""
    verdict, grave = _verdict(status)
    parts: dict[str, tuple[str, Role]] = {
        "side": (status.side, Role.CHANGED),
        "source": ("", Role.DIM),
        "place": (place, Role.TITLE),
        "data": (status.data, Role.ERROR),
        "mark": (status.mark, Role.KEY),
        "repaired": (status.repaired, Role.CHANGED),
        "rule": (status.rule, Role.PLAIN),
        "trained": (_trained(status), Role.ERROR if status.stopped else Role.TRAINED),
        "verdict": (verdict, grave or Role.PLAIN),
        "notes": (f"{NOTES} {status.notes:,}" if status.notes else "", Role.KEY),
        "state": (state + (f", {status.version}" if status.version else ""), state_role),
    }

    def put(**texts: str) -> int:
        """Other texts; how many cells all of them take."""
        parts.update({name: (text, parts[name][1]) for name, text in texts.items()})
        return sum(cell_width(text) + 3 for text, _ in parts.values() if text) - 1 + cell_width(pending)

    rule = status.rule.split(" ", 1)[-1]
    if verdict and put(rule=rule) > width:
        parts |= {"trained": parts["verdict"], "verdict": ("", Role.PLAIN)}  # how much is trained says less than this
    rest = put(rule=status.rule)
    if rest + 6 > width:
        rest = put(rule=rule)
    if rest > width:
        short = place.removeprefix("row ").replace(" of ", "/")
        rest = put(place=short, trained=parts["trained"][0].replace(" trained", ""))
    if rest > width and status.version:
        rest = put(state=status.version)  # whose ids is more than how far the proof is
    if rest > width:
        put(notes=parts["notes"][0].replace(" ", ""))
        rest = put(**{name: parts[name][0][:1] for name in ("repaired", "mark", "data")})
    room = width - rest - 3
    put(source=clip(visible(status.source), room) if room >= 4 else "")
    cells = LineBuilder().add(" ")
    for number, (text, role) in enumerate(part for part in parts.values() if part[0]):
        cells.add(" · " if number else "", Role.DIM).add(text, role)
    return cells.add(pending, Role.WARNING).line()


NOTES = "ⓘ"
"""Stands before the number of notes."""
_STATES = {
    "loading": ("tokenizer …", Role.WARNING),
    "provisional": ("≈ provisional", Role.WARNING),
    "proven": ("✓ proven", Role.GOOD),
    "random": ("≈ drawn anew", Role.WARNING),
    "corrected": ("✓ corrected", Role.WARNING),
    "failed": ("✗ tokenizer", Role.ERROR),
    "none": ("no tokenizer", Role.ERROR),
}


def _verdict(status: Status) -> tuple[str, Role | None]:
    """What the row's findings come to; nothing where a stage says already why it goes no further."""
    if status.verdict is None or status.stopped or status.trained is None:
        return "", None
    severity, words = status.verdict
    return (f"✗ {words}", Role.ERROR) if severity == "error" else (f"! {words}", Role.WARNING)


def _trained(status: Status) -> str:
    if status.stopped:
        return status.stopped
    if status.total is None or status.trained is None:
        return "…"
    if status.evaluates:
        return EVALUATES
    return f"{status.trained:,}/{status.total:,} trained {share(status.trained, status.total)}"


Entry = tuple[tuple[str, ...], str]
HELP: Entry = (("help",), "help")
_ROWS: tuple[Entry, ...] = (
    (("row.previous", "row.next"), "row"),
    (("findings",), "findings"),
    (("figures",), "audit"),
    (("export",), "export"),
    (("search",), "search"),
    (("recipe",), "recipe"),
)
"""What the two panes share stands where it stood when the focus goes from one to the other."""
_FOOTERS: dict[str, tuple[Entry, ...]] = {
    RECIPE: (
        (("recipe.previous", "recipe.next"), "change"),
        (("recipe.edit",), "edit"),
        (("recipe.find",), "find"),
        (("recipe.reset",), "reset"),
        (("undo", "redo"), "undo/redo"),
        (("export",), "export"),
        (("recipe",), "close"),
    ),
    FINDINGS: (
        (("findings.tokens",), "tokens"),
        (("findings.preview",), "diff"),
        (("findings.apply",), "apply"),
        (("findings.explain",), "why"),
        (("findings.waive",), "ignore"),
        (("findings.next",), "next row"),
        (("close",), "close"),
    ),
    FIGURES: (
        (("figures.down", "figures.up"), "move"),
        (("figures.rows",), "rows"),
        (("figures.explain",), "why"),
        (("order",), "filter"),
        (("repairs",), "repairs"),
        (("figures",), "close"),
    ),
    DOCUMENT: (
        (("document.down", "document.up"), "scroll"),
        (("why.turn",), "train/mask"),
        (("compare.take",), "apply"),
        (("pane.cycle",), "next pane"),
        (("row.previous", "row.next"), "row"),
        (("close",), "close"),
    ),
    LIST: (*_ROWS, (("row_list.enter",), "open"), (("order",), "filter")),
    ANY: (*_ROWS, (("tokens.explain",), "open"), (("zoom",), "zoom"), (("shift",), "shift"), (("compare",), "compare")),
}


def footer(context: str) -> tuple[Entry, ...]:
    """The entries of the footer, what matters most first: the commands whose keys are shown, and a word. Help is always
    the last one."""
    return (*_FOOTERS.get(context, _FOOTERS[ANY]), HELP)


@lru_cache(16)
def footer_cells(context: str, width: int, keymap: Keymap, idle: frozenset[str] = frozenset()) -> Line:
    """The keys worth knowing here but those of `idle` commands: as many as fit whole, and always the last one, help."""
    hints = [
        (" ".join(show_key(keymap.keys_of(name)[0]) for name in ids), word)
        for ids, word in footer(context)
        if all(keymap.keys_of(name) and name not in idle for name in ids)
    ]
    room = width - 1 - sum(cell_width(key) + len(word) + 1 for key, word in hints[-1:])
    cells = LineBuilder().add(" ")
    for key, word in hints[:-1]:
        room -= cell_width(key) + len(word) + 3
        if room < 0:
            break
        cells.add(key, Role.KEY).add(f" {word}  ", Role.DIM)
    for key, word in hints[-1:]:
        cells.add(key, Role.KEY).add(f" {word}", Role.DIM)
    return cells.line()


def message_lines(text: str, role: Role, width: int) -> tuple[Line, Line]:
    """An answer in one line and, where that is too short for it, what is left of it."""
    whole = " " + visible(text)
    first = wrap(line((whole, role)), width)[0]
    left = whole[len("".join(run.text for run in first)) :].strip()
    return first, line((" " + left, role)) if left else ()
