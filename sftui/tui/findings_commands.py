"""Findings: to their tokens, why they matter, what a fix changes, and applying it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sftui.errors import SftuiError
from sftui.text import visible
from sftui.tui.commands import TOKENS
from sftui.tui.copying import write_out
from sftui.tui.dialogs import Dialog
from sftui.views import Action, Line, Role, line, value_text, wrap
from sftui.workspace import SearchQuery
from sftui.workspace import events as ev
from sftui.workspace import requests as rq

if TYPE_CHECKING:
    from sftui.findings import Finding
    from sftui.recipe import Recipe
    from sftui.tui.main_screen import MainScreen

VIEW = "findings"
TAGS = "it also needs {% generation %} tags in the chat template"


class FindingsCommands:
    """The findings pane follows the row on screen; the worker checks only while it is open."""

    def __init__(self, screen: MainScreen) -> None:
        self.screen = screen
        self._waiting: Finding | None = None
        self._previewing = False
        self._tagging: Finding | None = None

    def handlers(self) -> dict[str, Callable[[int | None], None]]:
        pane = self.screen.findings
        return {
            "findings": lambda n: self.screen.look_commands.open(VIEW),
            "findings.down": lambda n: self.move(n or 1),
            "findings.up": lambda n: self.move(-(n or 1)),
            "findings.page_down": lambda n: pane.scroll_lines((n or 1) * pane.page),
            "findings.page_up": lambda n: pane.scroll_lines(-(n or 1) * pane.page),
            "findings.home": lambda n: self.move(-len(pane.findings)),
            "findings.end": lambda n: self.move(len(pane.findings)),
            "findings.tokens": lambda n: self.to_tokens(),
            "findings.explain": lambda n: self.explain(),
            "findings.preview": lambda n: self.preview(),
            "findings.apply": lambda n: self.apply(),
            "findings.waive": lambda n: self.waive(),
            "findings.next": lambda n: self.other_row(True),
            "findings.previous": lambda n: self.other_row(False),
        }

    # — what is shown —

    def show(self, keep: bool) -> None:
        """Ask for the row on screen, unless its findings are there."""
        pane, row = self.screen.findings, self.screen.status.row
        held = pane.answer if keep and pane.answer is not None and pane.answer.index == row else None
        pane.show(row, held, self._trainer)
        self.screen.workspace.ask(rq.FindingsRequest, row)

    def on_findings(self, event: ev.FindingsReady) -> None:
        if self.screen.look_commands.open_view == VIEW and event.index == self.screen.status.row:
            self.screen.findings.show(event.index, event, self._trainer)
            self.screen.update_detail()
        self.screen.figures_commands.on_findings(event)

    @property
    def _trainer(self) -> str:
        return self.screen.workspace.recipe.trainer

    def move(self, steps: int) -> None:
        self.screen.findings.move(steps)
        self.screen.update_detail()

    def _marked(self) -> Finding | None:
        finding, answer = self.screen.findings.finding, self.screen.findings.answer
        if finding is None:
            checking = answer is None or (answer.problem is None and answer.setup is None)
            self.screen.say(
                "still checking; try again in a moment" if checking else "no finding here",
                Role.DIM,
            )
        self.screen.findings.choose()
        return finding

    def _tried(self) -> bool:
        """Whether the cures of the findings on screen were tried; says so aloud where they were not yet."""
        answer = self.screen.findings.answer
        if answer is None or answer.tried or self.screen.findings.finding is None:
            return True
        self.screen.say("still testing fixes on some rows; try again in a moment", Role.DIM)
        return False

    def sentence(self) -> Line:
        """What `a` does with the marked finding; which keys there are is the footer's."""
        finding, answer = self.screen.findings.finding, self.screen.findings.answer
        if finding is None:
            return line((" no findings here; n goes to the next row with findings", Role.DIM))
        if answer is not None and not answer.tried:
            return line((f" {finding.code}: testing fixes …", Role.DIM))
        cures, own = self.screen.repair_commands.cures(finding), finding.fix
        told = [name for name, _ in cures]
        if own is not None and own.changes:
            told.insert(0, ", ".join(f"{change.path} → {value_text(change.after)}" for change in own.changes))
        elif own is not None and own.template:
            told.insert(0, "generation tags in the chat template")
        if not told:
            return line(
                (f" {finding.code}: no automatic fix; press", Role.DIM),
                (" ?", Role.KEY),
                (" for advice", Role.DIM),
            )
        return line((" a", Role.KEY), (" applies ", Role.DIM), (" or ".join(told), Role.PLAIN))

    def idle(self) -> frozenset[str]:
        """The commands that come to nothing with the marked finding."""
        finding = self.screen.findings.finding
        if finding is None:
            return frozenset(
                ("findings.tokens", "findings.preview", "findings.apply", "findings.explain", "findings.waive")
            )
        cures, own = self.screen.repair_commands.cures(finding), finding.fix
        works = bool(cures) or (own is not None and bool(own.changes or own.template))
        return frozenset() if works else frozenset(("findings.preview", "findings.apply"))

    # — to the tokens —

    def to_tokens(self) -> None:
        """The cursor on the first token, all of them marked; a finding of the set-up leads to a row that shows it."""
        finding = self._marked()
        if finding is None:
            return
        screen = self.screen
        if finding.row is None and finding.rows and screen.status.row not in finding.rows:
            self._waiting = finding
            screen.row_commands.go(finding.rows[0])
            screen.say(f"{finding.code}: row {finding.rows[0]:,} shows it")
        else:
            self._mark(finding)
        if not screen.tokens.display:
            screen.look_commands.close_view()
        screen.hold_keys(TOKENS)

    def on_row(self) -> None:
        """The row that a finding of the set-up led to is here."""
        finding, self._waiting = self._waiting, None
        if finding is not None:
            self._mark(finding)

    def _mark(self, finding: Finding) -> None:
        tokens = self.screen.tokens
        inspection, table = tokens.inspection, tokens.table
        if inspection is None or table is None:
            self.screen.say(f"{finding.code}: this row has no tokens to show", Role.DIM)
            return
        start, end = finding.tokens or (0, 0)
        if start == end and finding.message is not None and inspection.tokens is not None:
            owners = inspection.tokens.messages
            start = owners.index(finding.message) if finding.message in owners else 0
        if finding.tokens is None and finding.message is None:
            self.screen.say(f"{finding.code} is about the whole row, not single tokens", Role.DIM)
            return
        tokens.mark(tuple(range(start, end)))
        tokens.act(Action.GOTO, start)

    # — why —

    def explain(self) -> None:
        """The page of the marked finding's code."""
        finding = self._marked()
        if finding is not None:
            self.explain_code(finding.code)

    def explain_code(self, code: str) -> None:
        """The page of a code, with what repairs it in every trainer."""
        from sftui.findings import explain

        text = explain(code)
        title, _, rest = text.partition("\n")

        def page(width: int) -> list[Line]:
            return [
                cells
                for part in rest.strip("\n").split("\n")
                for cells in wrap(line((part, Role.PLAIN)), width, "    ")
            ]

        self.screen.app.push_screen(Dialog(title, page, self.screen.keymap, self.screen.look))

    # — fixes —

    def _fixed(self) -> Recipe | None:
        """The recipe with the marked finding's fix; None, said aloud, where no knob repairs it."""
        from sftui.recipe import changed

        finding = self._marked()
        if finding is None:
            return None
        fix = finding.fix
        if fix is None or not fix.changes:
            told = "" if fix is None else f": {fix.trainer_keys.get(self._trainer) or fix.title}"
            self.screen.say(f"no recipe knob fixes {finding.code}{told}", Role.WARNING)
            return None
        recipe = self.screen.workspace.recipe
        try:
            for change in fix.changes:
                recipe = changed(recipe, change.path, change.after)
        except SftuiError as error:
            self.screen.say(str(error), Role.ERROR)
            return None
        return recipe

    def preview(self) -> None:
        """What a cure of the finding changes, in the row and over the dataset."""
        if self._tried():
            self.screen.repair_commands.cure(self._marked(), "what it changes", self._preview_fix, self._preview_repair)

    def apply(self) -> None:
        """Put a cure of the finding in force."""
        if self._tried():
            apply = self.screen.repair_commands.apply
            self.screen.repair_commands.cure(self._marked(), "apply", self._apply_fix, apply)

    def _preview_repair(self, name: str) -> None:
        self.screen.repair_commands.preview(name)
        self._previewing = True

    def _preview_fix(self) -> None:
        """The row as it is and with the fix, aligned, and what changes over the dataset; of a template alone, its
        difference."""
        finding = self.screen.findings.finding
        if (
            finding is not None
            and finding.fix is not None
            and finding.fix.template is not None
            and not finding.fix.changes
        ):
            self._tag(finding)
            return
        recipe = self._fixed()
        if recipe is not None and finding is not None:
            changes = finding.fix.changes if finding.fix is not None else ()
            told = ", ".join(f"{change.path} → {value_text(change.after)}" for change in changes)
            self.screen.compare_commands.start(
                recipe, f"{finding.code}'s fix", told=f"the fix of {finding.code} ({told})"
            )
            self._previewing = True
            tags = f" · {TAGS}" if finding.fix is not None and finding.fix.template is not None else ""
            self.screen.say(f"{finding.code}: + applies this, Esc closes{tags}")

    def previewed(self) -> bool:
        """Whether the comparison that closes was a fix's, so that its finding is shown again."""
        was, self._previewing = self._previewing, False
        return was

    def _apply_fix(self) -> None:
        """Put the fix into the recipe; a template that needs generation tags is made first, and written where the user
        says."""
        finding = self.screen.findings.finding
        if finding is not None and finding.fix is not None and finding.fix.template is not None:
            self._tag(finding)
            return
        recipe = self._fixed()
        if recipe is None or finding is None or finding.fix is None:
            return
        if self.screen.workspace.set_recipe(recipe):
            told = ", ".join(f"{change.path} → {change.after}" for change in finding.fix.changes)
            self.screen.say(f"applied: {told} · u undoes it, x exports")
        else:
            self.screen.say("the recipe already says so", Role.DIM)

    def _tag(self, finding: Finding) -> None:
        """Ask for the template with its tags; nothing is written before it was shown."""
        self._tagging = finding
        self.screen.workspace.ask(rq.TagsRequest)
        self.screen.say("putting generation tags into the chat template …", Role.DIM)

    def on_tags(self, event: ev.TagsReady) -> None:
        """The tagged template is here: what changes in it is shown before it is written."""
        from sftui.views import diff_text_lines

        finding, self._tagging = self._tagging, None
        screen = self.screen
        if finding is None:
            return
        if event.problem is not None:
            screen.say(event.problem.sentence(), Role.ERROR)
            return
        told = f"same text and correct mask in {event.proven:,} conversations; sftui template proves it on every row"

        def page(width: int) -> list[Line]:
            return [*wrap(line((told, Role.GOOD)), width), (), *diff_text_lines(event.diff.rstrip("\n"), width)]

        dialog = Dialog(
            f"{visible(event.name)} with generation tags", page, screen.keymap, screen.look, offer="y writes it · "
        )
        screen.app.push_screen(
            dialog,
            lambda answer: (
                screen.say("nothing was written", Role.DIM)
                if answer is None
                else screen.prompt.ask(
                    "file for the chat template",
                    lambda text: self._write(finding, event.source, text),
                    value="chat_template.jinja",
                )
            ),
        )

    def _write(self, finding: Finding, source: str, text: str) -> str | None:
        """Write the template, and put it and the rest of the fix into the recipe."""
        from pathlib import Path

        from sftui.recipe import changed

        name = text.strip()
        if not name:
            return None
        try:
            told = write_out(source, name, self.screen.copy_commands.inputs())
            path = Path(name.removesuffix("!")).expanduser()
            recipe = changed(self.screen.workspace.recipe, "render.template", f"file:{path}")
            for change in finding.fix.changes if finding.fix is not None else ():
                recipe = changed(recipe, change.path, change.after)
        except (SftuiError, OSError) as error:
            return str(error)
        self.screen.workspace.set_recipe(recipe)
        self.screen.say(f"{told}; the recipe uses it now · u undoes that, x exports")
        return None

    def waive(self) -> None:
        """Accept the marked finding for this row, or one of the set-up altogether; the recipe keeps the reason."""
        finding = self._marked()
        if finding is not None:
            where = f" in row {finding.row:,}" if finding.row is not None else ""
            self.screen.prompt.ask(
                f"reason for ignoring {finding.code}{where} (Esc cancels)",
                lambda text: self._waive(finding, text.strip()),
            )

    def _waive(self, finding: Finding, reason: str) -> str | None:
        from sftui.recipe import changed

        if not reason:
            self.screen.say(f"{finding.code} is not ignored: a reason is needed", Role.DIM)
            return None
        workspace = self.screen.workspace
        waiver = {"code": finding.code, "reason": reason, **({"rows": finding.row} if finding.row is not None else {})}
        workspace.set_recipe(changed(workspace.recipe, "waivers", (*workspace.recipe.waivers, waiver)))
        self.screen.say(f"{finding.code} is ignored: {reason} · u undoes it, x exports the recipe")
        return None

    # — other rows —

    def other_row(self, forward: bool) -> None:
        """The next row with an error or a warning; the worker looks, Esc cancels."""
        self.screen.search_commands.start(SearchQuery("finding", "any"), forward)
