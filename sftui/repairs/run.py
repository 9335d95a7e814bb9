"""A plan of repairs, applied row by row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

from sftui.conversations import Detected
from sftui.errors import RecipeError
from sftui.model import Row
from sftui.repairs.catalogue import DEDUPLICATE, REPAIRS
from sftui.repairs.model import Change, Data, Layout, Repair
from sftui.repairs.rows import DROP_REASONS, drop_reason, fingerprint, unseen

Codes = Callable[[Row], Collection[str]]


@dataclass(frozen=True, slots=True)
class Repaired:
    """What became of one row: its new data (None: left out, `dropped` says why) and every change."""

    row: Row
    data: Data | None
    changes: tuple[Change, ...] = ()
    dropped: str | None = None

    @property
    def untouched(self) -> bool:
        return self.dropped is None and not self.changes


@dataclass(frozen=True, slots=True)
class Plan:
    """Which repairs, which reasons and codes to drop rows for (beginnings of codes count), and whether to deduplicate."""

    repairs: tuple[Repair, ...] = ()
    reasons: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()
    deduplicate: bool = False


@dataclass(slots=True)
class Counts:
    """How many rows a run kept, changed and left out; `by_repair` counts rows."""

    rows: int = 0
    changed: int = 0
    dropped: int = 0
    by_repair: Counter[str] = field(default_factory=Counter)

    def add(self, done: Repaired) -> None:
        """Take one row in."""
        self.rows += 1
        self.changed += done.dropped is None and bool(done.changes)
        self.dropped += done.dropped is not None
        self.by_repair.update({change.repair for change in done.changes} if done.dropped is None else {done.changes[-1].repair})


def make_plan(names: Iterable[str], drop: Iterable[str] = (), *, codes: Collection[str] = (), instead: Mapping[str, Repair] | None = None) -> Plan:
    """A plan from the names of repairs and what to drop; RecipeError with the nearest name for an unknown one.

    `drop` are reasons or beginnings of the known `codes`; `instead` are repairs to use in place of those of `REPAIRS`.
    Repairs run in the order of `REPAIRS`, duplicates are looked for last.
    """
    wanted = list(dict.fromkeys(names))
    for name in wanted:
        if name not in REPAIRS and name != DEDUPLICATE:
            raise RecipeError(f"there is no repair `{name}`", fix=_meant(name, [*REPAIRS, DEDUPLICATE]))
    reasons = tuple(one for one in drop if one in DROP_REASONS)
    begins = tuple(one.upper() for one in drop if one not in DROP_REASONS)
    for begin in begins:
        if not any(code.startswith(begin) for code in codes):
            raise RecipeError(f"`{begin.lower()}` is no reason to drop a row and no code", fix=_meant(begin, [*DROP_REASONS, *codes]))
    chosen = tuple((instead or {}).get(name, one) for name, one in REPAIRS.items() if name in wanted)
    return Plan(chosen, reasons, begins, DEDUPLICATE in wanted)


def layout_of(detected: Detected) -> Layout:
    """Where a detected set keeps its messages, its texts and its tools."""
    fields = detected.fields
    chats = tuple(fields[name] for name in ("messages", "prompt", "completion") if name in fields)
    texts = tuple(fields[name] for name in ("prompt", "completion", "text", "system", "instruction", "input", "output") if name in fields)
    return Layout(
        chats or ("messages",), texts, fields.get("tools", "tools"), detected.message_keys.get("role", "role"),
        detected.message_keys.get("content", "content"), dict(detected.role_map),
    )


def repair_row(data: Data, repairs: Sequence[Repair], layout: Layout) -> tuple[Data, tuple[Change, ...]]:
    """The data after every repair in turn, and all changes; the same object where nothing changed."""
    changes: tuple[Change, ...] = ()
    for repair in repairs:
        data, some = repair.apply(data, layout)
        changes += some
    return data, changes


def repaired(rows: Iterable[Row], plan: Plan, layout: Layout, codes: Codes | None = None) -> Iterator[Repaired]:
    """Every row after the plan, in order. `codes` gives the findings of a row as it will be written."""
    seen = unseen()
    for row in rows:
        reason = drop_reason(row.data, layout, plan.reasons) if row.data is None else None
        if row.data is None:
            hit = reason or _condemned(row, plan, codes)
            yield Repaired(row, None, (_left_out(hit),) if hit else (), hit)
            continue
        data, changes = repair_row(row.data, plan.repairs, layout)
        hit = drop_reason(data, layout, plan.reasons)
        if hit is None and plan.codes:
            hit = _condemned(Row(row.index, data, row.raw, row.where, row.size), plan, codes)
        if hit is not None:
            yield Repaired(row, None, (*changes, _left_out(hit)), hit)
            continue
        if plan.deduplicate:
            before = seen(fingerprint(data, layout), row.index)
            if before is not None:
                why = f"the same conversation as row {before}"
                yield Repaired(row, None, (*changes, Change(DEDUPLICATE, "", why)), why)
                continue
        yield Repaired(row, data, changes)


def _left_out(hit: str) -> Change:
    return Change(f"drop {hit}", "", DROP_REASONS.get(hit, f"it has the finding {hit}"))


def _condemned(row: Row, plan: Plan, codes: Codes | None) -> str | None:
    if codes is None or not plan.codes:
        return None
    return next((code for code in sorted(codes(row)) if code.startswith(plan.codes)), None)


def _meant(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name, known, n=1, cutoff=0.5)
    return f"did you mean {near[0]}?" if near else f"there are {', '.join(known[:12])}"
