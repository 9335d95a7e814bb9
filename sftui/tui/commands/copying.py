"""Copy, write, print on exit, open in the editor: the row, its ids, labels, text, template.

One text per subject; four ways out.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import partial

from sftui.errors import SftuiError
from sftui.tui.commands.command import Command
from sftui.tui.commands.inputs import inputs
from sftui.tui.copying import copy_out, editor, read_only_copy, write_out
from sftui.tui.inspector import Inspector
from sftui.views.cells import Role

ENDINGS = {"row": "json", "ids": "json", "labels": "json", "text": "txt", "template": "jinja"}


def text_of(here: Inspector, what: str) -> str | None:
    """The subject as text; None where the row has none, which is then said."""
    tokens, row_shown = here.panes.tokens, here.state.row
    inspection = tokens.inspection
    arrived = inspection.row.index == row_shown if inspection is not None else tokens.waiting_for != row_shown
    text: str | None = None
    if what != "template" and not arrived:
        here.say(f"row {row_shown:,} is still loading; try again in a moment", Role.WARNING)
        return None
    if inspection is not None:
        if what == "row":
            row = inspection.row
            text = row.raw if row.data is None else json.dumps(row.data, ensure_ascii=False, indent=2, default=str)
        elif what == "text" and inspection.rendered is not None:
            text = inspection.rendered.text
        elif what in ("ids", "labels") and inspection.example is not None:
            example = inspection.example
            text = json.dumps(list(example.input_ids if what == "ids" else example.labels))
        elif what == "template":
            text = _template(here)
    if text is None:
        here.say(f"this row has no {what}: there is nothing to take", Role.WARNING)
    return text


def _caveat(here: Inspector, what: str) -> str:
    """Said with whatever leaves the program otherwise than the file has it."""
    inspection = here.panes.tokens.inspection
    repaired = (
        inspection is not None and inspection.row.repairs and inspection.row.left_out is None and what != "template"
    )
    return " · as repaired, not as the file has it" if repaired else ""


def _template(here: Inspector) -> str | None:
    workspace = here.workspace
    kind, _, name = workspace.recipe.render.template.partition(":")
    try:
        if kind == "builtin":
            from sftui.templates import builtin_template

            return builtin_template(name).source
        if kind == "file":
            from sftui.errors import TemplateError
            from sftui.side_files import read_side_file

            return read_side_file(os.path.expanduser(name), "the chat template", TemplateError)
    except SftuiError:
        return None
    templates = getattr(workspace.tokenizer.facts if workspace.tokenizer else None, "chat_templates", None) or {}
    return templates.get("default") or next(iter(templates.values()), None)


def _file_name(here: Inspector, what: str) -> str:
    return f"row{here.state.row}-{what}.{ENDINGS[what]}"


# — the ways out —


def _copy(here: Inspector, what: str, text: str) -> None:
    here.say(copy_out(text, here.terminal.write_to_terminal, os.environ) + _caveat(here, what))


def _write(here: Inspector, what: str, text: str) -> None:
    def done(path: str) -> str | None:
        name = path.strip()
        if not name:
            return None
        try:
            said = write_out(text, name, inputs(here))
        except (SftuiError, OSError) as error:
            return str(error)
        here.say(said + _caveat(here, what))
        return None

    here.ask(f"file for the {what}{_caveat(here, what)}", done, value=_file_name(here, what))


def _print_on_exit(here: Inspector, what: str, text: str) -> None:
    here.put(here.state.kept._replace(to_print=(*here.state.kept.to_print, text)))
    here.say(f"the {what} of row {here.state.row:,} will be printed once sftui has quit{_caveat(here, what)}")


def _edit(here: Inspector, what: str, text: str) -> None:
    """A read-only copy in the editor; sftui waits and comes back as it was."""
    import subprocess

    from textual.app import SuspendNotSupported

    try:
        words = editor(os.environ)
        with read_only_copy(text, _file_name(here, what)) as path, here.terminal.suspend():
            code = subprocess.run([*words, str(path)], check=False).returncode
    except SuspendNotSupported:
        here.say("no editor can run in this terminal; press w to write a file", Role.WARNING)
    except (SftuiError, OSError) as error:
        here.say(str(error), Role.ERROR)
    else:
        said = "back from the editor (read-only copy, nothing changed here)"
        here.say(said if code == 0 else f"the editor ended with code {code}", Role.DIM)
    here.redraw()


Out = Callable[[Inspector, str, str], None]


def _take(out: Out, what: str, here: Inspector, count: int | None) -> None:
    text = text_of(here, what)
    if text is not None:
        out(here, what, text)


WHAT = {"row": "the row as JSON", "ids": "input_ids", "labels": "labels", "text": "the rendered text"}


def _way(verb: str, key: str, out: Out, after: str, help_text: str, *, shown: bool = True) -> tuple[Command, ...]:
    """One way out for every subject: `y` and the letter of the subject; not `shown`: in the palette alone."""
    return tuple(
        Command(
            f"{verb}.{what}",
            (f"{key} {letter}",) if shown else (),
            f"{verb} the {what}{after}",
            help_text.format(words, " as the trainer receives them" if what in ("ids", "labels") else ""),
            "Copy",
            run=partial(_take, out, what),
            was=None if shown else (f"{key} {letter}",),
        )
        for (what, words), letter in zip(WHAT.items(), (key, "i", "l", "t"))
    )


COPY = _way("copy", "y", _copy, "", "Copies {}{}.")
WRITE = _way("write", "w", _write, "", "Writes {} to a file you name.")
PRINT = _way("print", "p", _print_on_exit, " on exit", "Prints {} once sftui has quit.", shown=False)
EDIT = tuple(
    Command(
        f"edit.{what}", (f"e {letter}",), f"{what} in the editor", help_text, "Copy", run=partial(_take, _edit, what)
    )
    for what, letter, help_text in (
        ("row", "e", "Opens a read-only copy of the row in $VISUAL or $EDITOR."),
        ("text", "t", "Opens a read-only copy of the rendered text."),
        ("template", "c", "Opens a read-only copy of the chat template."),
    )
)
