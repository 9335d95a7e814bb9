"""Every repair by name, and a plan of some, applied row by row, or laid over the rows of a source."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sftui.conversations import Detection
from sftui.errors import RecipeError, SftuiError
from sftui.findings.catalogue import CODES, IN_ROWS, REPAIR_OF, SCOPE_OF
from sftui.findings.rule import DROP, TO_MESSAGES
from sftui.model import Row
from sftui.nearest import did_you_mean
from sftui.repairs.edits import Edit, is_edit, read_edit
from sftui.repairs.lines import TOO_DEEP, RepairedRow, row_of
from sftui.repairs.model import Data, Regrouping, Repair, RepairLayout, RowChange
from sftui.repairs.rows import BY_MARK, DROP_REASONS, MARKED, OTHERS, drop_reason, fingerprint
from sftui.repairs.texts import fill_content, join_parts, looks_like_control, parse_json, strip_tokens, trim, wrap_calls
from sftui.repairs.to_messages import TITLE, each_alone
from sftui.repairs.turns import fold_system, join_prompt, map_roles, merge_neighbours, split_prompt
from sftui.sources import Source
from sftui.sources.records import remade

DEDUPLICATE = "deduplicate"
REPAIRS: Mapping[str, Repair] = {
    repair.name: repair
    for repair in (
        # In the order in which they are applied, whatever order they are named in: each works on what the earlier left.
        Repair("parse-json", "parse messages, tools and arguments stored as JSON text", parse_json),
        Repair("map-roles", "map role aliases and fix misspelt roles", map_roles),
        Repair("join-parts", "join text parts into one string", join_parts),
        Repair("fill-content", "turn null, missing or numeric content into text", fill_content),
        strip_tokens(looks_like_control),
        Repair("split-prompt", "move what both sides begin with into `prompt`", split_prompt),
        Repair("join-prompt", "move `prompt` to the front of both sides", join_prompt),
        Repair("trim", "trim leading and trailing whitespace", trim),
        Repair("fold-system", "move system messages into the next user message", fold_system),
        Repair("merge-neighbours", "join consecutive messages with the same role", merge_neighbours),
        Repair("wrap-calls", "put name and arguments of tool calls under `function`", wrap_calls),
    )
}

CONVERSION = Repair(TO_MESSAGES, TITLE, each_alone)
"""Goes before all others, which find messages where it puts them (see `run.layout_after`)."""

TITLES: Mapping[str, str] = {
    **{name: one.title for name, one in REPAIRS.items()},
    TO_MESSAGES: TITLE,
    DEDUPLICATE: "drop rows whose conversation appeared in an earlier one",
    DROP: "drop the rows with this finding",
}


Codes = Callable[[Row], Collection[str]]
"""The findings of a row; SftuiError where they are not known."""
NOT_LOOKED_AT = "not looked at"
"""The name under which rows are counted that stay because their findings are not known."""
MOST_NAMED = 8
"""Rows that a count names one by one, of those on which repairs could not be made."""
_AROUND = ("tools", "template_kwargs", "labels", "attention_mask")
_NAMED = (TO_MESSAGES, *REPAIRS, DEDUPLICATE)
DROPPING = "drop "
"""Before a reason or a code in a list of repairs: rows that are left out."""


@dataclass(frozen=True, slots=True)
class RepairPlan:
    """Which repairs, which reasons and codes to drop rows for (beginnings of codes count), and whether to deduplicate.

    `marked` are rows that are left out because someone says so; of `only`, where it is given, no other row stays.
    `edits` are what someone wrote in place of rows, on which the repairs then work.
    """

    repairs: tuple[Repair, ...] = ()
    reasons: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()
    deduplicate: bool = False
    marked: frozenset[int] = frozenset()
    only: frozenset[int] | None = None
    edits: Mapping[int, Edit] = field(default_factory=dict)

    @property
    def converts(self) -> bool:
        """Whether rows become messages, so that a row that cannot is like no other one in the file."""
        return any(repair.name == TO_MESSAGES for repair in self.repairs)

    @property
    def regroup(self) -> Callable[[], Regrouping] | None:
        """What makes other rows of the repaired ones; None: each stays one."""
        return next((repair.regroup for repair in self.repairs if repair.regroup is not None), None)


@dataclass(slots=True)
class RunCounts:
    """How many rows a run kept, changed and left out; `by_repair` counts rows, those `NOT_LOOKED_AT` too.

    `skipped` rows stay as they were because a repair could not be made on them; `named` are the first of them, each
    with its number, where it stands and why.
    """

    rows: int = 0
    changed: int = 0
    dropped: int = 0
    by_repair: Counter[str] = field(default_factory=Counter)
    skipped: int = 0
    named: list[tuple[int, str, str]] = field(default_factory=list)

    def add(self, done: RepairedRow) -> None:
        """Take one row in."""
        self.rows += 1
        self.changed += done.dropped is None and bool(done.changes)
        self.dropped += done.dropped is not None
        self.by_repair.update(
            {change.repair for change in done.changes} if done.dropped is None else {done.changes[-1].repair}
        )
        if done.unchecked:
            self.by_repair[NOT_LOOKED_AT] += 1
        if done.skipped and done.dropped is None:
            self.skipped += 1
            if len(self.named) < MOST_NAMED:
                self.named.append((done.row.index, done.row.where, done.skipped))


def make_plan(
    names: Iterable[str],
    drop: Iterable[str] = (),
    *,
    instead: Mapping[str, Repair] | None = None,
    marked: Iterable[int] = (),
    only: Iterable[int] | None = None,
) -> RepairPlan:
    """A plan from the names of repairs and what to drop; RecipeError with the nearest name for an unknown one.

    A name `drop WHAT` leaves rows out as one in `drop` does: a reason, or the beginning of codes of which some must be
    found row by row; so do the numbers in `marked` and `only`. `instead` are repairs to use in place of those of
    `REPAIRS`. The conversion comes first, repairs run in the order of `REPAIRS`, duplicates are looked for last.
    """
    edits = {edit.row: edit for edit in map(read_edit, filter(is_edit, names))}
    listed = [name for name in dict.fromkeys(names) if not is_edit(name)]
    wanted = [name for name in listed if not name.startswith(DROPPING)]
    leave = [*drop, *[name.removeprefix(DROPPING) for name in listed if name.startswith(DROPPING)]]
    for name in wanted:
        if name not in _NAMED:
            raise RecipeError(f"there is no repair `{name}`", fix=did_you_mean(name, _NAMED))
    reasons = tuple(one for one in leave if one in DROP_REASONS)
    begins = tuple(one.upper() for one in leave if one not in DROP_REASONS)
    for begin in begins:
        meant = [code for code in CODES if code.startswith(begin)]
        if not meant:
            what = f"`{begin.lower()}` is neither a reason to drop a row nor a code"
            raise RecipeError(what, fix=did_you_mean(begin, [*DROP_REASONS, *CODES]))
        _must_be_of_rows(begin, meant)
    ordered = {TO_MESSAGES: CONVERSION, **REPAIRS}
    chosen = tuple((instead or {}).get(name, one) for name, one in ordered.items() if name in wanted)
    some = None if only is None else frozenset(only)
    return RepairPlan(chosen, reasons, begins, DEDUPLICATE in wanted, frozenset(marked), some, edits)


def _must_be_of_rows(begin: str, meant: Sequence[str]) -> None:
    """RecipeError where no row can have one of the codes: they are reported of the set-up or of the whole dataset."""
    if not IN_ROWS.isdisjoint(meant):
        return
    repair = next((name for code in meant for name in REPAIR_OF.get(code, ())), None)
    code = meant[0] if len(meant) == 1 else begin
    whole = "the setup" if any(SCOPE_OF[one] == "setup" for one in meant) else "the whole dataset"
    raise RecipeError(
        f"`{code}` does not drop rows",
        why=f"it is found in {whole}, not in a row",
        fix=f"use --apply {repair}" if repair else f"`sftui explain {meant[0]}` says what helps",
    )


def layout_of(detected: Detection) -> RepairLayout:
    """Where a detected set keeps its messages, its texts and its tools."""
    fields = detected.fields

    def columns(*names: str) -> tuple[str, ...]:
        return tuple(fields[name] for name in names if name in fields)

    sides, asked = columns("chosen", "rejected"), columns("system", "instruction", "input", "output")
    chats = columns("messages", "prompt", "completion") + sides
    texts = columns("prompt", "completion", "text") + sides + asked
    if detected.format == "columns":  # an instruction set of a trainer's own: every column that it reads is text
        texts = tuple(dict.fromkeys((*texts, *(column for name, column in fields.items() if name not in _AROUND))))
    body = tuple(column for name, column in fields.items() if name not in _AROUND)
    return RepairLayout(
        chats or ("messages",),
        texts,
        fields.get("tools", "tools"),
        detected.message_keys.get("role", "role"),
        detected.message_keys.get("content", "content"),
        dict(detected.role_map),
        decisive=tuple(dict.fromkeys(fields.values())),
        body=body,
        said=asked if detected.format == "alpaca" else (),
        answer=fields.get("output") or fields.get("completion"),
        history=fields.get("history"),
        prompt=fields.get("prompt"),
        sides=sides,
    )


def layout_after(plan: RepairPlan, detected: Detection) -> RepairLayout:
    """Where the repairs of a plan find what they touch in a set that is detected so: converted rows are all alike."""
    return next((repair.layout for repair in plan.repairs if repair.layout is not None), layout_of(detected))


def repair_row(data: Data, repairs: Sequence[Repair], layout: RepairLayout) -> tuple[Data, tuple[RowChange, ...]]:
    """The data after every repair in turn, and all changes; the same object where nothing changed."""
    changes: tuple[RowChange, ...] = ()
    for repair in repairs:
        data, some = repair.apply(data, layout)
        changes += some
    return data, changes


def repaired(
    rows: Iterable[Row], plan: RepairPlan, layout: RepairLayout, codes: Codes | None = None
) -> Iterator[RepairedRow]:
    """Every row after the plan, in order. `codes` gives the findings of a row as it will be written."""
    seen: dict[bytes, int] = {}
    for row in rows:
        done = apply_plan(row, plan, layout, codes)
        first = row.index
        if plan.deduplicate and done.dropped is None and done.data is not None:
            first = seen.setdefault(fingerprint(done.data, layout), row.index)
        yield done if first == row.index else double_of(done, first)


def apply_plan(row: Row, plan: RepairPlan, layout: RepairLayout, codes: Codes | None = None) -> RepairedRow:
    """One row after all of the plan but for duplicates, which only the rows before it tell.

    A row on which one of the repairs cannot be made stays as it was, whole, and says why.
    """
    if row.index in plan.marked:
        return RepairedRow(row, None, (_left_out(MARKED),), MARKED)
    if plan.only is not None and row.index not in plan.only:
        return RepairedRow(row, None, (_left_out(OTHERS),), OTHERS)
    data: Data | None = row.data
    changes: tuple[RowChange, ...] = ()
    skipped = ""
    try:
        if (edit := plan.edits.get(row.index)) is not None:
            data, changes = edit.over(row)
        if data is not None:
            data, more = repair_row(data, plan.repairs, layout)
            changes += more
            if plan.converts and not changes and remade(row.layout):
                changes = (RowChange(TO_MESSAGES, "", "the row became a JSON object on one line"),)
        elif plan.converts:
            skipped = row.problem or "it is not a JSON object"
    except (SftuiError, RecursionError) as error:
        data, changes, skipped = row.data, (), TOO_DEEP if isinstance(error, RecursionError) else str(error)
    hit, unchecked = drop_reason(data, layout, plan.reasons, bool(skipped)), ""
    if hit is None and plan.codes:
        try:
            hit = _condemned(row if data is row.data else row_of(RepairedRow(row, data, changes)), plan, codes)
        except SftuiError as error:
            unchecked = str(error)
    if hit is not None:
        return RepairedRow(row, None, (*changes, _left_out(hit)), hit)
    return RepairedRow(row, data, changes, unchecked=unchecked, skipped=skipped)


def rows_after(rows: Iterable[Row], plan: RepairPlan, layout: RepairLayout) -> tuple[Row, ...]:
    """Rows as they would be written, without those that are left out or that a conversion cannot be made on."""
    done = [apply_plan(row, plan, layout) for row in rows]
    kept = [one for one in done if one.dropped is None and not one.skipped]
    if plan.regroup is None:
        return tuple(map(row_of, kept))
    regroup = plan.regroup()
    return tuple(
        row_of(regrouped(one, data)) for one in kept if one.data is not None for data, _ in regroup.rows(one.data, None)
    )


def regrouped(done: RepairedRow, data: Data) -> RepairedRow:
    """A row that was made of this one and maybe another."""
    changes = done.changes or (RowChange(TO_MESSAGES, "", "answers were put together or taken apart"),)
    return replace(done, data=data, changes=changes)


def double_of(done: RepairedRow, first: int) -> RepairedRow:
    """The row left out because row `first` has its conversation already."""
    why = f"the same conversation as row {first}"
    return RepairedRow(done.row, None, (*done.changes, RowChange(DEDUPLICATE, "", why)), why)


def _left_out(hit: str) -> RowChange:
    why = BY_MARK.get(hit) or DROP_REASONS.get(hit, f"it has the finding {hit}")
    return RowChange(f"{DROPPING}{hit}", "", why)


def _condemned(row: Row, plan: RepairPlan, codes: Codes | None) -> str | None:
    if codes is None or not plan.codes:
        return None
    return next((code for code in sorted(codes(row)) if code.startswith(plan.codes)), None)


class Overlay:
    """The rows of a source as a plan of repairs would write them, under their old numbers.

    `over` gives a row that would be left out too, and says so (`Row.left_out`); `rows` gives only those that stay.
    Whoever reads the rows in order counts them on the way: `counts` and the row numbers in `changed` and `dropped`
    are of the first `upto` rows. Duplicates are known among those only.
    """

    def __init__(self, stored: Source, plan: RepairPlan, layout: RepairLayout, codes: Codes | None = None) -> None:
        self.stored = stored
        self.plan = plan
        self.counts = RunCounts()
        self.changed, self.dropped = array("L"), array("L")
        self.upto = 0
        self._layout = layout
        self._codes = codes
        self._first: dict[bytes, int] = {}
        self._doubles: dict[int, int] = {}

    def repair(self, row: Row) -> RepairedRow:
        """What becomes of a row of the source."""
        done = apply_plan(row, self.plan, self._layout, self._codes)
        if row.index == self.upto:
            return self._next(done)
        first = self._doubles.get(row.index)
        return done if first is None else double_of(done, first)

    def _next(self, done: RepairedRow) -> RepairedRow:
        """Take in the row that follows those that were seen."""
        index = done.row.index
        if self.plan.deduplicate and done.dropped is None and done.data is not None:
            first = self._first.setdefault(fingerprint(done.data, self._layout), index)
            if first != index:
                self._doubles[index] = first
                done = double_of(done, first)
        self.upto = index + 1
        self.counts.add(done)
        if done.dropped is not None:
            self.dropped.append(index)
        elif done.changes:
            self.changed.append(index)
        return done

    def over(self, row: Row) -> Row:
        """A row of the source with the repairs."""
        return row_of(self.repair(row))

    def rows(self, start: int = 0) -> Iterator[Row]:
        """Every row from `start` on that stays, in order."""
        if self.plan.deduplicate:  # what stands before decides on what comes
            for row in self.stored.rows(self.upto) if self.upto < start else ():
                if row.index >= start:
                    break
                self.repair(row)
        for row in self.stored.rows(start):
            done = self.repair(row)
            if done.dropped is None:
                yield row_of(done)
