"""Edit the row on screen in the editor: previewed in tokens and labels, kept as a repair of that row.

Edits are kept with the review marks, so that no end of the program loses one; the data stays as it is, `x` exports it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from sftui.errors import SftuiError
from sftui.model import Row
from sftui.session.marks import EDITED
from sftui.text import many
from sftui.tui.commands import marks
from sftui.tui.commands.command import Command
from sftui.tui.commands.compare import start
from sftui.tui.commands.copying import in_editor
from sftui.tui.inspector import Inspector
from sftui.views.cells import Role
from sftui.views.words import message_of

if TYPE_CHECKING:
    from sftui.places import Place
    from sftui.repairs.model import Data


@Command("edit.row", ("e e",), "edit the row", "Review")
def edit_row(here: Inspector, count: int | None) -> None:
    """Edit the row's record as JSON in $VISUAL or $EDITOR; a keeps the edit, the file stays as it is."""
    from sftui.repairs.edits import read_record

    stored, record = _stored(here)
    draft = here.state.kept.draft
    if draft[0] == stored.index:
        text = draft[1]
    elif record is None:
        text = stored.raw
    else:
        text = _as_json(record)
    here.put(here.state.kept._replace(draft=(None, "")))
    written = in_editor(here, text, f"row{stored.index}.json")
    if written is None or written == text != draft[1]:
        return
    try:
        now = read_record(written)
    except SftuiError as error:
        here.put(here.state.kept._replace(draft=(stored.index, written)))
        raise SftuiError(error.what, where=error.where, why=error.why, fix="press ee to keep editing") from None
    _preview(here, stored, record, now)


@Command("edit.message", ("e m",), "edit the message", "Review")
def edit_message(here: Inspector, count: int | None) -> None:
    """Edit the text of the message under the cursor in $VISUAL or $EDITOR; a keeps the edit."""
    from sftui.places import value_at, with_texts

    stored, record = _stored(here)
    inspection = here.panes.tokens.inspection
    message = message_of(inspection, here.panes.tokens.state.cursor) if inspection is not None else None
    whole = "ee edits the whole row"
    if message is None or record is None:
        raise SftuiError("the cursor is not on a message", fix=whole)
    try:
        place = _text_place(record, message.place, message.data.get("content"))
    except (LookupError, TypeError):
        raise SftuiError("this message's content is not a single string", fix=whole) from None
    text: str = value_at(record, place)
    written = in_editor(here, text, f"row{stored.index}-{message.role}.txt")
    if written is not None:
        if written.endswith("\n") and not text.endswith("\n"):
            written = written[:-1]  # which editors put at the end of a file
        _preview(here, stored, record, with_texts(record, {place: written}))


def _as_json(record: Data) -> str:
    try:
        return json.dumps(record, ensure_ascii=False, indent=2) + "\n"
    except TypeError as error:
        raise SftuiError("the row cannot be edited", why=f"JSON cannot hold it: {error}") from None


def _stored(here: Inspector) -> tuple[Row, Data | None]:
    """The row as the file has it, and its record as edited; SftuiError while it is on its way."""
    from sftui.repairs.edits import edits_of, read_edit

    inspection = here.panes.tokens.inspection
    if inspection is None or inspection.row.index != here.state.row:
        raise SftuiError(f"row {here.state.row:,} is still loading", fix="try again in a moment")
    row = inspection.row.stored or inspection.row
    name = edits_of(here.workspace.repairs).get(row.index)
    return row, read_edit(name).record if name is not None else row.data


def _text_place(record: Data, place: Place, content: object) -> Place:
    """Where the text of a message is: at its place, or the one of the values there that is that text."""
    from sftui.places import value_at

    item = value_at(record, place) if place else None
    if isinstance(item, str):
        return place
    values = item.items() if isinstance(item, Mapping) else enumerate(item or ())
    keys = [key for key, value in values if isinstance(value, str) and value == content]
    if len(keys) > 1 and "content" not in keys:
        raise LookupError
    return (*place, "content" if "content" in keys else keys[0])


def _preview(here: Inspector, stored: Row, record: Data | None, now: Data) -> None:
    """The row as it is and as edited, next to each other; `a` keeps it, Esc goes back."""
    from sftui.repairs.edits import edit_name, edits_of, repair_title, same

    repairs = here.workspace.repairs
    before = edits_of(repairs).get(stored.index)
    others = tuple(name for name in repairs if name != before)
    if same(now, record):
        here.say("nothing changed", Role.DIM)
    elif same(now, stored.data):
        here.workspace.set_repairs(others)
        here.say(f"row {stored.index:,} is restored from the file · u undoes that")
    else:
        name = edit_name(stored, now)
        start(here, here.workspace.recipe, repair_title(name), (*others, name))
        here.say("B is the edited row: a keeps the edit, Esc drops it")


# — kept with the marks —


def on_recipe(here: Inspector) -> None:
    """Keep the edits in force, forget those taken back."""
    from sftui.repairs.edits import edits_of

    kept, now = here.state.kept.marks, edits_of(here.workspace.repairs)
    for row in sorted({*now, *kept.rows_with(EDITED)}):
        if kept.get(row).edit != now.get(row, ""):
            kept = kept.edited(row, now.get(row, ""))
            marks.put_mark(here, kept, row, at_once=True)


def load(here: Inspector) -> None:
    """What was marked in earlier sessions, with the edits put in force."""
    marks.load(here)
    names = here.state.kept.marks.edits()
    if names and (opened := here.workspace.options.repairs):
        from sftui.repairs.edits import edits_of

        names = tuple(name for row, name in edits_of(names).items() if row not in edits_of(opened))
    if here.workspace.set_repairs((*here.workspace.repairs, *names)) and not here.marks_file.stale:
        here.say(f"{many(len(names), 'row')} edited in an earlier session · R lists the edits, x exports the data")


def kept(here: Inspector) -> tuple[str, ...]:
    """The edits in force that quitting does not lose."""
    from sftui.repairs.edits import edits_of

    return () if here.marks_file.path is None else tuple(edits_of(here.workspace.repairs).values())
