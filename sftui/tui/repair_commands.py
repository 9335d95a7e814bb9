"""Repairs of the data: previewed, put over the rows on screen, taken back, counted; the file stays until they are
exported."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sftui.text import many, visible
from sftui.tui.dialogs import Dialog, Options
from sftui.views import Line, Role, line
from sftui.workspace import events as ev
from sftui.workspace import requests as rq

if TYPE_CHECKING:
    from sftui.findings import Finding
    from sftui.tui.main_screen import MainScreen

HINT = "+ applies it, Esc goes back"


class RepairCommands:
    """The session's repairs stand in the workspace's history, beside the recipe: `u` takes back either."""

    def __init__(self, screen: MainScreen) -> None:
        self.screen = screen
        self.counted: ev.RepairsCounted | None = None
        self._seen: tuple[str, ...] = ()
        self._ticket: int | None = None
        self._telling = ""

    def handlers(self) -> dict[str, Callable[[int | None], None]]:
        return {"repairs": lambda n: self.pick()}

    # — of a finding —

    def cures(self, finding: Finding, in_force: bool = False) -> list[tuple[str, str]]:
        """The repairs that cure a finding and are not in force (or are), each with what it does."""
        from sftui.repairs import DROP, DROPPING, TITLES, fixes_for

        code = finding.code
        named = [
            (f"{DROPPING}{code}", f"leave out the rows that have {code}") if name == DROP else (name, TITLES[name])
            for name in (fixes_for(code).repairs if finding.repairs is None else finding.repairs)
        ]
        return [(name, title) for name, title in named if (name in self.screen.workspace.repairs) == in_force]

    def cure(self, finding: Finding | None, verb: str, fix: Callable[[], None], repair: Callable[[str], None]) -> None:
        """The one cure that a finding has, or the one picked of several: the fix of its recipe or template, or a
        repair."""
        if finding is None:
            return
        repairs = self.cures(finding)
        own = finding.fix if finding.fix is not None and (finding.fix.changes or finding.fix.template) else None
        if not repairs:
            code, chosen = finding.code, [name for name, _ in self.cures(finding, in_force=True)]
            if own is None and chosen:
                self.screen.say(
                    f"{' and '.join(chosen)} {'are' if len(chosen) > 1 else 'is'} applied already and cannot fix {code}"
                    " here",
                    Role.WARNING,
                )
            else:
                fix()  # which says so where there is none
            return
        entries = [*([("recipe" if own.changes else "template", own.title)] if own is not None else []), *repairs]
        if len(entries) == 1:
            repair(entries[0][0])
            return

        def picked(number: int | None) -> None:
            if number is not None and own is not None and number == 0:
                fix()
            elif number is not None:
                repair(entries[number][0])

        dialog = Dialog(f"{finding.code}: {verb}", Options(entries), self.screen.keymap, self.screen.look, picking=True)
        self.screen.app.push_screen(dialog, picked)

    def preview(self, name: str) -> None:
        """The row as it stands and as repaired, and the count over the dataset; `+` applies it, Esc goes back."""
        workspace = self.screen.workspace
        self.screen.compare_commands.start(workspace.recipe, name, (*workspace.repairs, name))
        self.screen.say(f"{name}: {HINT}; nothing is written")

    def apply(self, name: str) -> None:
        """Lay the repair over the rows."""
        workspace = self.screen.workspace
        if workspace.set_repairs((*workspace.repairs, name)):
            self.tell(name)

    def tell(self, name: str) -> None:
        """Say what was put in force, and its count as soon as that is known."""
        self._telling = name
        self.screen.say(f"applied: {name} · counting … · u undoes it, x exports it")

    # — all of them —

    def pick(self) -> None:
        """Every repair: Enter puts one in force, or takes it out again."""
        from sftui.repairs import DROP, DROP_REASONS, DROPPING, TITLES, fixes_for

        screen = self.screen
        now = screen.workspace.repairs
        known = {name: title for name, title in TITLES.items() if name != DROP}
        known |= {f"{DROPPING}{name}": f"leave out: {title}" for name, title in DROP_REASONS.items()}
        audited = self.screen.figures_commands.answer
        for one in audited.codes if audited is not None else ():
            if DROP in fixes_for(one.code).repairs:
                known[f"{DROPPING}{one.code}"] = f"leave out {one.count:,} × {one.sentence}"
        names = [*known, *(name for name in now if name not in known)]
        entries = [
            (f"{'[x]' if name in now else '[ ]'} {name}", known.get(name, "leave out the rows that have this finding"))
            for name in names
        ]
        counted = self.counted
        told = f" · {self.words(counted)}" if counted is not None and now else ""
        dialog = Dialog(f"repairs of the data{told}", Options(entries), screen.keymap, screen.look, picking=True)
        screen.app.push_screen(dialog, lambda number: None if number is None else self.toggle(names[number]))

    def toggle(self, name: str) -> None:
        """Put a repair in force, or take it out."""
        now = self.screen.workspace.repairs
        if name not in now:
            self.apply(name)
        elif self.screen.workspace.set_repairs(tuple(one for one in now if one != name)):
            self.screen.say(f"{name} is no longer applied · u undoes that")

    # — what is in force —

    def on_changed(self) -> None:
        """Another choice is in force: the list shows what is repaired, and the count begins anew by itself."""
        now = self.screen.workspace.repairs
        if now == self._seen:
            self.counted = None
            return
        self._seen, self.counted = now, None
        if now:
            self._ticket = self.screen.workspace.ask(rq.RepairsRequest)
        elif self._ticket is not None:
            self.screen.workspace.cancel(self._ticket)
            self._ticket = None
        self.screen.set_signs()
        inspection = self.screen.tokens.inspection
        if inspection is not None:
            self.screen.row_commands.update_status(inspection)

    def on_counted(self, event: ev.RepairsCounted) -> None:
        self.counted = event
        self.screen.figures_commands.repaint()
        if event.done and self._telling and self._seen:
            name, self._telling = self._telling, ""
            if name in self._seen and not dict(event.counted.by_repair).get(name):
                self._without_effect(name, event.counted)
                return
            self.screen.say(
                f"{self.words(event)}; {self.where()} · u undoes it, x exports it",
                Role.WARNING if event.counted.skipped else Role.PLAIN,
            )

    def _without_effect(self, name: str, counted: ev.RepairCount) -> None:
        """Take a repair out of force that did nothing to any row: what is in force is what was repaired."""
        from sftui.views.repairs import skipped_words

        self.screen.workspace.set_repairs(tuple(one for one in self.screen.workspace.repairs if one != name))
        told = f"{name} changes none of {many(counted.rows, 'row')}, so it is not applied"
        why = f"; {visible(skipped_words(counted)[0])}" if counted.skipped else ""
        self.screen.say(told + why, Role.WARNING)

    def where(self) -> str:
        """Where the repairs in force are: over the rows on screen alone, or in a file that was written."""
        written = self.screen.workspace.written
        return (
            f"in {visible(written[1].target)}"
            if written is not None and written[0] == self.screen.workspace.repairs
            else "not saved yet"
        )

    def words(self, event: ev.RepairsCounted) -> str:
        """The count in one clause."""
        from sftui.views.repairs import repair_words

        return repair_words(event.counted) + ("" if event.done else " so far")

    def orders(self) -> list[tuple[str, str]]:
        """What the row list may be filtered by because of repairs."""
        counted = self.counted.counted if self.counted is not None else ev.RepairCount()
        listed = (
            ("repaired", counted.changed, "rows that a repair changes"),
            ("left out", counted.dropped, "rows that a repair leaves out"),
        )
        return [(by, f"{count:,} × {told}") for by, count, told in listed if count]

    def lines(self, width: int) -> tuple[Line, ...]:
        """What the repairs in force do, for the figures; none where there are none."""
        from sftui.views.repairs import repair_count_lines

        if not self.screen.workspace.repairs:
            return ()
        counted = self.counted
        head = line((f"Repairs, {self.where()}", Role.TITLE), ("  R picks them, x exports", Role.DIM))
        if counted is None:
            return (head, *repair_count_lines(None, None, False, width), ())
        return (head, *repair_count_lines(counted.counted, counted.total, counted.done, width), ())
