"""Copy, write, print on exit, open in the editor: the row, its ids, labels, text, template.

One text per subject; four ways out. Nobody can know whether a clipboard took what was sent, so the answer says what
was tried. Inside tmux with its default `set-clipboard external` a bare OSC 52 never arrives, but `tmux load-buffer
-w -` does (trap T8).
"""

from __future__ import annotations

import base64
import json
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from sftui.errors import ExportError, SftuiError, TemplateError
from sftui.text import many
from sftui.tui.commands.command import Command
from sftui.tui.inspector import Inspector
from sftui.views.cells import Role

if TYPE_CHECKING:
    from sftui.session.inputs import Inputs

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
        here.say(f"this row has no {what}", Role.WARNING)
    return text


def _caveat(here: Inspector, what: str) -> str:
    """Said with whatever leaves the program otherwise than the file has it."""
    inspection = here.panes.tokens.inspection
    row = inspection.row if inspection is not None and what != "template" else None
    repaired = row is not None and row.repairs and row.left_out is None
    return " · as repaired; the file still has the original" if repaired else ""


def _template(here: Inspector) -> str | None:
    workspace = here.workspace
    kind, _, name = workspace.recipe.render.template.partition(":")
    try:
        if kind == "builtin":
            from sftui.templates import builtin_template

            return builtin_template(name).source
        if kind == "file":
            from sftui.side_files import read_side_file

            return read_side_file(os.path.expanduser(name), "the chat template", TemplateError)
    except SftuiError:
        return None
    templates = getattr(workspace.tokenizer.facts if workspace.tokenizer else None, "chat_templates", None) or {}
    return templates.get("default") or next(iter(templates.values()), None)


def _file_name(here: Inspector, what: str) -> str:
    side = here.panes.tokens.side if what in ("ids", "labels", "text") else ""
    return f"row{here.state.row}-{side}{side and '-'}{what}.{ENDINGS[what]}"


# — the ways out —


def inputs(here: Inspector, recipes: bool = True) -> Inputs:
    """The files that whoever opened this, the recipe in force or a comparison reads, which are never written over.

    `recipes=False` leaves out the recipe and the config that were opened, which an export writes back.
    """
    from sftui.session.inputs import inputs_of

    workspace, compared = here.workspace, here.state.compared
    used = [workspace.base_recipe, workspace.recipe, *([compared.other] if compared.other is not None else [])]
    return inputs_of(workspace.options, compared.file, recipes=recipes, used=used)


def write(here: Inspector, text: str, name: str) -> str:
    """Writes a file and says so; SftuiError or OSError where that cannot be."""
    return write_out(text, name, inputs(here))


def _copy(here: Inspector, what: str, text: str) -> None:
    here.say(copy_out(text, here.terminal.write_to_terminal, os.environ) + _caveat(here, what))


def _write(here: Inspector, what: str, text: str) -> None:
    here.ask(
        f"file for the {what}{_caveat(here, what)}",
        lambda name: here.say(write(here, text, name) + _caveat(here, what)),
        value=_file_name(here, what),
    )


def _print_on_exit(here: Inspector, what: str, text: str) -> None:
    here.put(here.state.kept._replace(to_print=(*here.state.kept.to_print, text)))
    here.say(f"the {what} of row {here.state.row:,} will be printed when sftui quits{_caveat(here, what)}")


def _read(here: Inspector, what: str, text: str) -> None:
    """A read-only copy in the editor."""
    if in_editor(here, text, _file_name(here, what), written=False) is not None:
        here.say("back from the editor (it had a read-only copy; nothing changed)", Role.DIM)


def in_editor(here: Inspector, text: str, name: str, *, written: bool = True) -> str | None:
    """What the editor makes of a file with `text`, read-only where nothing is to be `written`; None, said why, where it
    made nothing. sftui waits and comes back as it was."""
    from textual.app import SuspendNotSupported

    try:
        words = editor(os.environ)
        with copy_for_editor(text, name, written) as path:
            with here.terminal.suspend():
                code = subprocess.run([*words, str(path)], check=False).returncode
            if code == 0:
                return path.read_bytes().decode()
    except SuspendNotSupported:
        here.say("this terminal cannot run an editor; press w to write a file", Role.WARNING)
    except UnicodeDecodeError:
        raise SftuiError("the edited file is not UTF-8 text, so nothing changed") from None
    else:
        here.say(f"the editor exited with code {code}", Role.DIM)
    finally:
        here.redraw()
    return None


Out = Callable[[Inspector, str, str], None]


def _take(out: Out, what: str, here: Inspector, count: int | None) -> None:
    text = text_of(here, what)
    if text is not None:
        out(here, what, text)


WHAT = {"row": "the row as JSON", "ids": "input_ids", "labels": "labels", "text": "the rendered text"}


def _taking(verb: str, what: str, key: str, out: Out, title: str, words: str, shown: bool = True) -> Command:
    """One way out for a subject; not `shown`: in the palette alone."""
    keys = (key,) if shown else ()
    return Command(f"{verb}.{what}", keys, title, "Copy", help=words, run=partial(_take, out, what))


def _way(verb: str, key: str, out: Out, after: str, help_text: str, shown: bool = True) -> tuple[Command, ...]:
    """One way out for every subject: `y` and the letter of the subject."""
    made = []
    for (what, words), letter in zip(WHAT.items(), (key, "i", "l", "t")):
        help_of = help_text.format(words, " as the trainer receives them" if what in ("ids", "labels") else "")
        made.append(_taking(verb, what, f"{key} {letter}", out, f"{verb} the {what}{after}", help_of, shown))
    return tuple(made)


COPY = _way("copy", "y", _copy, "", "Copies {}{}.")
WRITE = _way("write", "w", _write, "", "Write {} to a file you name.")
PRINT = _way("print", "p", _print_on_exit, " on exit", "Print {} when sftui quits.", shown=False)
EDIT = tuple(
    _taking("edit", what, f"e {letter}", _read, f"{what} in the editor", f"Open a read-only copy of the {words}.")
    for what, letter, words in (("text", "t", "rendered text"), ("template", "c", "chat template"))
)


# — the clipboard, files and the editor —

OSC52_LIMIT = 74_994
"""Bytes of text beyond which xterm and others drop the sequence without a word."""


def copy_out(text: str, write: Callable[[str], None], environment: Mapping[str, str]) -> str:
    """Sends `text` to the clipboard and says what was tried."""
    data = text.encode("utf-8", "backslashreplace")
    size = many(len(text), "character")
    if environment.get("TMUX") and shutil.which("tmux"):
        try:
            to_tmux = ["tmux", "load-buffer", "-w", "-"]
            done = subprocess.run(to_tmux, input=data, timeout=2, check=False, capture_output=True)
            if done.returncode == 0:
                return f"sent {size} to tmux (prefix ] pastes) and the system clipboard"
        except (OSError, subprocess.SubprocessError):
            pass
    if len(data) > OSC52_LIMIT:
        return f"{size} is too large for the clipboard; press w to write a file"
    write(f"\x1b]52;c;{base64.b64encode(data).decode('ascii')}\x07")
    return f"sent {size} to the terminal's clipboard (OSC 52); if nothing arrives, press w to write a file"


def write_out(text: str, named: str, inputs: Inputs) -> str:
    """Writes atomically; a name that ends with `!` may be there already. ExportError where it may not, or is an
    input."""
    from sftui.exports.files import write_atomically

    target = Path(os.path.expanduser(named.removesuffix("!")))
    inputs.refuse(target)
    if target.exists() and not named.endswith("!"):
        raise ExportError(f"{target} already exists", fix="end the name with ! to overwrite it")
    write_atomically(target, text.encode("utf-8", "backslashreplace"))
    return f"wrote {target}"


def editor(environment: Mapping[str, str]) -> list[str]:
    """$VISUAL, else $EDITOR, else the first of a few that is there; SftuiError where there is none."""
    for name in ("VISUAL", "EDITOR"):
        try:
            words = shlex.split(environment.get(name, ""))
        except ValueError as error:
            raise SftuiError(f"${name} cannot be read", why=str(error), fix="fix its quoting") from error
        if words:
            if shutil.which(words[0]) is None:
                raise SftuiError(
                    f"${name} is set to {words[0]}, which does not exist", fix="set it to an installed editor"
                )
            return words
    for fallback in ("nano", "vim", "vi"):
        if shutil.which(fallback):
            return [fallback]
    raise SftuiError("no editor is set", fix="set $VISUAL or $EDITOR")


@contextmanager
def copy_for_editor(text: str, name: str, written: bool) -> Iterator[Path]:
    """A file with `text`, read-only unless it is to be `written`, gone afterwards whatever happens."""
    with tempfile.TemporaryDirectory(prefix="sftui-", ignore_cleanup_errors=True) as folder:
        path = Path(folder) / name
        path.write_bytes(text.encode("utf-8", "backslashreplace"))
        os.chmod(path, 0o600 if written else 0o400)
        yield path
