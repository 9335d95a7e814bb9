"""The bars: a line each, or a few; the status line never loses its essential part."""

from __future__ import annotations

from functools import lru_cache

from sftui.model import PairFigures
from sftui.text import cell_width, clip, many, visible
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


@lru_cache(4)
def status_cells(status: Status, width: int, findings: str, notes: str) -> tuple[Line, Line]:
    """The two lines at the top in `width` cells: what is trained of the row and what there is to look at; and whose
    rules hold. `findings` and `notes` are the keys that show these.

    Always on the first are the side of a comparison that is shown, the star that says that what is shown is in no file
    yet, the letter of a review mark, the sign of data that is damaged or changed on disk, and a tokenizer that is not
    verified. What is good stands on the second, and is quiet.
    """
    return _verdict_cells(status, width, findings), _rules_cells(status, width, notes)


def _verdict_cells(status: Status, width: int, key: str) -> Line:
    count = f"{status.rows:,}" if status.exact else f"≥{status.rows:,}"
    if not status.exact and 0 < status.indexing < 1:
        count += f" ({min(99, int(100 * status.indexing))} %)"
    order = f" ({status.order})" if status.order else ""
    state, state_role = _STATES.get(status.state, (status.state, Role.DIM))
    signs = ((status.data, Role.ERROR), (status.mark, Role.KEY), (status.repaired, Role.CHANGED))
    found = sum(status.found or ())
    looks = Role.ERROR if status.found and status.found[0] else Role.WARNING
    long, short = f"{many(found, 'thing')} to look at ({key})", f"! {found} ({key})"
    short_state = status.version or state  # whose ids is more than how far the proof is
    ways = (
        (f"row {status.row:,} of {count}{order}", 0, long, state, 99),
        (f"row {status.row:,} of {count}{order}", 0, short, state, 99),
        (f"row {status.row:,} of {count}{order}", 1, short, state, 99),
        (f"{status.row:,}/{count}{order}", 1, short, short_state, 99),
        (f"{status.row:,}/{count}{order}", 2, short, short_state, 99),
        (f"{status.row:,}/{count}", 2, short, short_state, 1),
        (f"{status.row:,}/{count}", 3, short, short_state, 1),
        (f"{status.row:,}/{count}", 4, short, short_state, 1),
    )
    for place, brief, things, shown, letters in ways:
        left = LineBuilder().add(" ").add(f"{status.side}  " if status.side else "", Role.CHANGED)
        left.add(f"{place}  ", Role.TITLE)
        for text, role in signs:
            left.add(f"{text[:letters]}  " if text else "", role)
        for text, role in _sentence(status, brief):
            left.add(text, role)
        right = LineBuilder()
        quiet = status.state == "proven" and not (status.version and brief)
        right.add("" if quiet else f"  {shown}", state_role)
        right.add(f"  {things}" if found else "", looks)
        right.add(f" {status.pending}" if status.pending else "", Role.WARNING)
        if left.width + right.width < width:
            break
    return crop((*left.pad_to(max(left.width, width - right.width - 1)).line(), *right.line()), width)


def _sentence(status: Status, brief: int) -> tuple[tuple[str, Role], ...]:
    """What becomes of the row, with its number; `brief` says how short."""
    if status.stopped:
        return ((f"✗ {status.stopped}", Role.ERROR),)
    if status.total is None or status.trained is None:
        return (("…", Role.DIM),)
    if status.evaluates:
        return ((f"{EVALUATES}: nothing in it is trained", Role.PLAIN),)
    tokens = " tokens" if brief < 2 else ""
    counted = f"{status.trained:,} of {status.total:,}{tokens} trained"
    if brief > 2:
        counted = f"{status.trained:,}/{status.total:,}"
    if status.pair is not None:
        counted = _pair(status.pair, brief)
    if status.verdict is not None:
        sign, role = ("✗", Role.ERROR) if status.verdict[0] == "error" else ("!", Role.WARNING)
        return ((f"{sign} {status.verdict[1]}", role), (f": {counted}" if brief < 4 else "", Role.PLAIN))
    sign = "✓ " if status.found is not None and not any(status.found) and status.trained else ""
    told = status.pair is None or (status.ends is not None and status.ends[0] < status.ends[1])
    ends = _ends(status.ends) if not brief and told else ""
    return ((sign, Role.GOOD), (counted, Role.TRAINED if status.trained else Role.WARNING), (ends, Role.PLAIN))


def _pair(pair: PairFigures, brief: int) -> str:
    """What each side of a preference trains, and what they share."""
    (chosen, rejected), (first, second) = pair.lengths, pair.trained
    if not brief:
        trains = ["" if pair.scored else f" · trains {trained:,}" for trained in pair.trained]
        return f"chosen {chosen:,}{trains[0]}  rejected {rejected:,}{trains[1]}  {pair.shared:,} shared"
    if pair.scored:
        return f"{chosen:,} | {rejected:,} tokens, {pair.shared:,} shared"
    return f"{first:,}/{chosen:,} | {second:,}/{rejected:,}" + (f" trained, {pair.shared:,} shared" * (brief < 3))


def _ends(ends: tuple[int, int] | None) -> str:
    if ends is None:
        return ""
    ended, answers = ends
    if ended == answers:
        return f", end token{'s' if answers > 1 else ''} included"
    return f", end token of {ended} of {answers} answers" if ended else ", end token not trained"


def _rules_cells(status: Status, width: int, key: str) -> Line:
    state = "tokenizer verified" if status.state == "proven" else ""
    right = ", ".join(filter(None, (state, status.version)))
    notes = f"{many(status.notes, 'note')} ({key})" if status.notes else ""
    marks = ", ".join(f"{count:,} {mark}" for mark, count in status.marks)
    letters = " ".join(f"{count}{mark[0].upper()}" for mark, count in status.marks)
    ways = (
        ((visible(status.source), status.rule, marks, notes), right),
        ((status.rule, marks, notes), right),
        ((status.rule, letters, notes), right),
        ((status.rule, letters, notes), status.version),
        ((letters, notes or status.rule), status.version),
    )
    for named, shown in ways:
        left = " · ".join(filter(None, named))
        if cell_width(left) + cell_width(shown) + 3 <= width:
            break
    builder = LineBuilder().add(f" {clip(left, max(width - 3 - cell_width(shown), 0))}", Role.DIM)
    return builder.pad_to(width - cell_width(shown) - 1).add(shown, Role.DIM).line()


_STATES = {
    "loading": ("tokenizer …", Role.WARNING),
    "provisional": ("≈ provisional", Role.WARNING),
    "proven": ("tokenizer verified", Role.DIM),
    "random": ("≈ drawn anew", Role.WARNING),
    "corrected": ("✓ corrected", Role.WARNING),
    "failed": ("✗ tokenizer", Role.ERROR),
    "none": ("no tokenizer", Role.ERROR),
}


Entry = tuple[tuple[str, ...], str]
HELP: Entry = (("help",), "help")
_ROWS: tuple[Entry, ...] = (
    (("row.previous", "row.next"), "row"),
    (("findings",), "findings"),
    (("figures",), "audit"),
    (("export",), "export"),
    (("side",), "other side"),
    (("search",), "search"),
    (("recipe",), "recipe"),
)
"""What the two panes share stands where it stood when the focus goes from one to the other."""
_FOOTERS: dict[str, tuple[Entry, ...]] = {
    RECIPE: (
        (("recipe.previous", "recipe.next"), "change"),
        (("recipe.edit",), "edit"),
        (("recipe.find",), "filter"),
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
        (("findings.find",), "filter"),
        (("close",), "close"),
        (("findings.next",), "next row"),
    ),
    FIGURES: (
        (("figures.down", "figures.up"), "move"),
        (("figures.rows",), "rows"),
        (("figures.explain",), "why"),
        (("figures.find",), "filter"),
        (("repairs",), "repairs"),
        (("order",), "list rows"),
        (("figures",), "close"),
    ),
    DOCUMENT: (
        (("document.down", "document.up"), "scroll"),
        (("why.turn",), "train/mask"),
        (("compare.take",), "apply"),
        (("waste.apply",), "apply"),
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
