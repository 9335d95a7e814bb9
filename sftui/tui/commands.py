"""The one table of commands: keys, palette, help, footer and the tables of docs/keys.md come from it.

Pure data, no Textual.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

ANY = "anywhere"
TOKENS = "tokens"
LIST = "row list"
RECIPE = "recipe"
FINDINGS = "findings"
FIGURES = "figures"
DOCUMENT = "other panes"
DIALOG = "dialog"
CONTEXTS = (ANY, TOKENS, LIST, RECIPE, FINDINGS, FIGURES, DOCUMENT, DIALOG)
"""Where a command's keys work. A pane's own commands win over those that work anywhere; a dialog knows only its own."""


@dataclass(frozen=True, slots=True)
class Command:
    """One thing the user can do.

    `keys` are alternatives; a key that follows a prefix is written with a space (`y i`). `help` is
    one sentence. `counted` says that a count typed before the key means something.
    """

    id: str
    keys: tuple[str, ...]
    title: str
    help: str
    group: str
    context: str = ANY
    counted: bool = False

    def shown_keys(self) -> str:
        """The keys as the user reads them: `y i` is `yi`, `left_arrow` is `←`."""
        return " ".join(show_key(key) for key in self.keys)


_KEY_NAMES = {
    "left": "←",
    "right": "→",
    "up": "↑",
    "down": "↓",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "home": "Home",
    "end": "End",
    "enter": "Enter",
    "escape": "Esc",
    "tab": "Tab",
    "space": "Space",
    "shift+tab": "⇧Tab",
    "f1": "F1",
    "f5": "F5",
    "backspace": "⌫",
}


def show_key(key: str) -> str:
    return "".join(_KEY_NAMES.get(part, part.replace("ctrl+", "^")) for part in key.split(" "))


def _moves(context: str, what: str) -> tuple[Command, ...]:
    """The movement keys of a pane that shows lines; in a dialog also those that go to the ends in `less`."""
    name = "document" if context == DOCUMENT else context.replace(" ", "_")
    first, last = (("home", "g"), ("end", "G")) if context == DIALOG else (("home",), ("end",))
    return (
        Command(
            f"{name}.down", ("j", "down"), f"{what} down", f"Moves one {what} down.", "Move", context, counted=True
        ),
        Command(f"{name}.up", ("k", "up"), f"{what} up", f"Moves one {what} up.", "Move", context, counted=True),
        Command(
            f"{name}.page_down",
            ("pagedown", "space", "ctrl+f"),
            "page down",
            "Moves one page down.",
            "Move",
            context,
            counted=True,
        ),
        Command(f"{name}.page_up", ("pageup",), "page up", "Moves one page up.", "Move", context, counted=True),
        Command(f"{name}.home", first, "to the start", "Goes to the first one.", "Move", context),
        Command(f"{name}.end", last, "to the end", "Goes to the last one.", "Move", context),
    )


COMMANDS: tuple[Command, ...] = (
    # — the row and where the cursor is —
    Command("tokens.right", ("l", "right"), "next token", "Moves to the next token.", "Move", TOKENS, counted=True),
    Command(
        "tokens.left", ("h", "left"), "previous token", "Moves to the previous token.", "Move", TOKENS, counted=True
    ),
    *_moves(TOKENS, "line"),
    Command(
        "tokens.half_down", ("ctrl+d",), "half a page down", "Moves half a page down.", "Move", TOKENS, counted=True
    ),
    Command("tokens.half_up", ("ctrl+u",), "half a page up", "Moves half a page up.", "Move", TOKENS, counted=True),
    Command("tokens.line_home", ("^",), "start of the line", "Goes to the first token of the line.", "Move", TOKENS),
    Command("tokens.line_end", ("$",), "end of the line", "Goes to the last token of the line.", "Move", TOKENS),
    Command(
        "tokens.next_change",
        ("}",),
        "next change of mask",
        "Goes to where training starts or stops next.",
        "Move",
        TOKENS,
        counted=True,
    ),
    Command(
        "tokens.previous_change",
        ("{",),
        "previous change of mask",
        "Goes back to where training started or stopped.",
        "Move",
        TOKENS,
        counted=True,
    ),
    Command(
        "tokens.next_message",
        (")",),
        "next message",
        "Goes to the start of the next message.",
        "Move",
        TOKENS,
        counted=True,
    ),
    Command(
        "tokens.previous_message",
        ("(",),
        "previous message",
        "Goes to the start of this message, or of the one before.",
        "Move",
        TOKENS,
        counted=True,
    ),
    Command(
        "tokens.explain",
        ("enter",),
        "explain this token",
        "Shows everything known about the token under the cursor.",
        "Look",
        TOKENS,
    ),
    *_moves(LIST, "row"),
    Command(
        "row_list.enter",
        ("enter", "l", "right"),
        "to the tokens",
        "Goes from the list to the tokens of the row.",
        "Move",
        LIST,
    ),
    *_moves(DOCUMENT, "line"),
    Command(
        "document.right",
        ("l", "right"),
        "scroll right",
        "Scrolls a wide pane to the right.",
        "Move",
        DOCUMENT,
        counted=True,
    ),
    Command(
        "document.left",
        ("h", "left"),
        "scroll left",
        "Scrolls a wide pane back to the left.",
        "Move",
        DOCUMENT,
        counted=True,
    ),
    *_moves(RECIPE, "knob"),
    Command("recipe.next", ("l", "right"), "next choice", "Changes the knob to its next choice.", "Recipe", RECIPE),
    Command(
        "recipe.previous",
        ("h", "left"),
        "previous choice",
        "Changes the knob to its previous choice.",
        "Recipe",
        RECIPE,
    ),
    Command(
        "recipe.edit",
        ("enter",),
        "edit the knob",
        "Types a value, or picks the next choice.",
        "Recipe",
        RECIPE,
    ),
    Command(
        "recipe.reset",
        ("backspace", "d"),
        "reset the knob",
        "Resets the knob to its value when opened.",
        "Recipe",
        RECIPE,
    ),
    Command(
        "recipe.find",
        ("/",),
        "find a knob",
        "Finds knobs by name, meaning or value.",
        "Recipe",
        RECIPE,
    ),
    Command("recipe.find_next", ("n",), "next match", "Goes to the next match.", "Recipe", RECIPE),
    Command(
        "recipe.find_previous",
        ("N",),
        "previous match",
        "Goes to the previous match.",
        "Recipe",
        RECIPE,
    ),
    *_moves(FINDINGS, "finding"),
    Command(
        "findings.tokens",
        ("enter", "l", "right"),
        "to its tokens",
        "Goes to the tokens of the finding.",
        "Findings",
        FINDINGS,
    ),
    Command(
        "findings.explain",
        ("?",),
        "why it matters",
        "Explains the finding and its fix in every trainer (F1 opens the help).",
        "Findings",
        FINDINGS,
    ),
    Command(
        "findings.preview",
        ("d",),
        "what the fix changes",
        "Shows the row and its labels before and after the fix or repair, and counts rows that change.",
        "Findings",
        FINDINGS,
    ),
    Command(
        "findings.apply",
        ("a",),
        "apply the fix",
        "Applies the fix to the recipe, or the repair to the data; u undoes it, x exports it.",
        "Findings",
        FINDINGS,
    ),
    Command(
        "findings.waive",
        ("i",),
        "waive it",
        "Ignores the finding, with a reason that the recipe keeps; u undoes it.",
        "Findings",
        FINDINGS,
    ),
    Command(
        "findings.next",
        ("n",),
        "next row with findings",
        "Goes to the next row with an error or a warning.",
        "Findings",
        FINDINGS,
    ),
    Command(
        "findings.previous",
        ("N",),
        "previous row with findings",
        "Goes to the previous row with an error or a warning.",
        "Findings",
        FINDINGS,
    ),
    *_moves(FIGURES, "finding"),
    Command(
        "figures.rows",
        ("enter", "l", "right"),
        "rows of the finding",
        "Goes to the first row of the finding and lists the others; again goes to the next.",
        "Findings",
        FIGURES,
    ),
    Command(
        "figures.explain", ("?",), "why it matters", "Explains the finding (F1 opens the help).", "Findings", FIGURES
    ),
    *_moves(DIALOG, "line"),
    Command("dialog.accept", ("enter",), "accept", "Accepts the selected line.", "Move", DIALOG),
    Command("dialog.yes", ("y",), "yes", "Confirms what the dialog offers.", "Move", DIALOG),
    Command(
        "dialog.export", ("x",), "export instead", "Goes to the export, where the dialog offers that.", "Move", DIALOG
    ),
    Command(
        "dialog.close", ("escape", "q"), "close the dialog", "Closes the dialog and changes nothing.", "Move", DIALOG
    ),
    Command("row.next", ("]",), "next row", "Shows the next row.", "Rows", counted=True),
    Command("row.previous", ("[",), "previous row", "Shows the previous row.", "Rows", counted=True),
    Command(
        "row.last", ("G",), "last row", "Shows the last row, or with a count that row (12G).", "Rows", counted=True
    ),
    Command(
        "row.goto",
        ("g",),
        "go to row",
        "Asks for a row number; 12g and :12 go at once, gg is the first row.",
        "Rows",
        counted=True,
    ),
    Command(
        "reopen",
        ("D", "f5"),
        "reload the data",
        "Reloads the data from disk; keeps recipe, repairs, marks and place.",
        "Rows",
    ),
    Command("pane.next", ("tab",), "next pane", "Focuses the next pane.", "Move"),
    Command("pane.previous", ("shift+tab",), "previous pane", "Focuses the previous pane.", "Move"),
    Command("close", ("escape",), "close or cancel", "Cancels input or a search, else closes the side pane.", "Move"),
    # — search —
    Command(
        "search",
        ("/",),
        "search",
        "Searches text, or re:PATTERN, token:TEXT, id:NUMBER, finding:CODE; Esc cancels.",
        "Search",
    ),
    Command("search.next", ("n",), "next hit", "Goes to the next hit, across rows.", "Search", counted=True),
    Command(
        "search.previous", ("N",), "previous hit", "Goes to the previous hit, across rows.", "Search", counted=True
    ),
    # — what is shown —
    Command("zoom", ("z", "v"), "zoom", "Zooms in: text, columns, rows.", "Look"),
    Command("zoom.back", ("Z", "V"), "zoom back", "Zooms out.", "Look"),
    Command(
        "shift",
        ("s",),
        "shift view",
        "Shows the input token at each position, and the token to predict from it.",
        "Look",
    ),
    Command("list.toggle", ("L",), "row list", "Hides or shows the list of rows.", "Look"),
    Command(
        "pane.cycle",
        ("o",),
        "other panes",
        "Cycles through conversation, rendered text and raw row.",
        "Look",
    ),
    Command(
        "pane.conversation", ("O c",), "conversation", "Shows the messages as the chat template receives them.", "Look"
    ),
    Command("pane.rendered", ("O t",), "rendered text", "Shows the text the chat template made.", "Look"),
    Command("pane.raw", ("O r",), "raw row", "Shows the row as it is stored.", "Look"),
    Command(
        "boundary", ("b",), "prompt boundary", "Shows where the prompt tokenized alone differs from the whole.", "Look"
    ),
    Command(
        "batch", ("B",), "batch", "Shows the next rows as the collator pads them; 8B for eight.", "Look", counted=True
    ),
    Command(
        "packs",
        ("P",),
        "packs",
        "Shows the rows from here on as the trainer packs them: documents, boundaries, waste.",
        "Look",
    ),
    Command("findings", ("f",), "findings", "Shows what is wrong with this row and with the set-up.", "Look"),
    Command(
        "figures",
        ("A",),
        "figures",
        "Audits the whole dataset in the background: figures and findings by code.",
        "Look",
    ),
    Command("audit.stop", ("X",), "stop the audit", "Stops the audit, or resumes it.", "Look"),
    Command(
        "order",
        ("F",),
        "filter or sort rows",
        "Filters or sorts the row list by finding, group, length, … (after the audit).",
        "Rows",
    ),
    Command(
        "compare",
        ("C",),
        "compare",
        "Compares the row under a second recipe, preset or template, and counts differences over the dataset.",
        "Look",
    ),
    Command("compare.pick", ("=",), "compare with another", "Picks another recipe to compare with.", "Look"),
    Command("compare.toggle", ("a",), "A/B", "Switches between the tokens under A and under B.", "Look"),
    Command(
        "compare.differing",
        ("-",),
        "only what differs",
        "Hides what is equal in the comparison.",
        "Look",
    ),
    Command(
        "compare.take",
        ("+",),
        "use recipe B",
        "Makes recipe B the current one; u undoes it.",
        "Recipe",
    ),
    # — review —
    Command("marks.keep", ("r k",), "mark keep", "Marks the row as keep; again removes the mark.", "Review"),
    Command("marks.drop", ("r d",), "mark drop", "Marks the row as drop: exports of the data leave it out.", "Review"),
    Command("marks.flag", ("r f",), "mark flag", "Flags the row for another look.", "Review"),
    Command("marks.note", ("r n",), "note on the row", "Adds a note to the row; an empty one removes it.", "Review"),
    Command("marks.next", ("r ]",), "next marked row", "Goes to the next row with a mark or a note.", "Review"),
    Command(
        "marks.previous", ("r [",), "previous marked row", "Goes to the previous row with a mark or a note.", "Review"
    ),
    # — the recipe —
    Command("recipe", ("c",), "recipe", "Opens the recipe: every knob that decides labels, edited live.", "Recipe"),
    Command("undo", ("u",), "undo", "Undoes the last change of the recipe or of the repairs.", "Recipe", counted=True),
    Command("redo", ("U", "ctrl+r"), "redo", "Redoes the change.", "Recipe", counted=True),
    Command(
        "template", ("T",), "chat template", "Picks a chat template: the family's, a built-in, or a file.", "Recipe"
    ),
    Command(
        "tokenizer",
        ("K",),
        "tokenizer",
        "Loads another tokenizer; Enter on the same name retries.",
        "Recipe",
    ),
    Command(
        "repairs",
        ("R",),
        "repairs of the data",
        "Picks repairs to apply to the rows; the file is not changed, export writes a new one.",
        "Recipe",
    ),
    Command(
        "export",
        ("x",),
        "export",
        "Writes the recipe, a config, or the repaired data; shows the difference first.",
        "Recipe",
    ),
    # — taking things out —
    Command("copy.row", ("y y",), "copy the row", "Copies the row as JSON.", "Copy"),
    Command("copy.ids", ("y i",), "copy the ids", "Copies input_ids as the trainer receives them.", "Copy"),
    Command("copy.labels", ("y l",), "copy the labels", "Copies labels as the trainer receives them.", "Copy"),
    Command("copy.text", ("y t",), "copy the text", "Copies the rendered text.", "Copy"),
    Command("write.row", ("w w",), "write the row", "Writes the row as JSON to a file you name.", "Copy"),
    Command("write.ids", ("w i",), "write the ids", "Writes input_ids to a file you name.", "Copy"),
    Command("write.labels", ("w l",), "write the labels", "Writes labels to a file you name.", "Copy"),
    Command("write.text", ("w t",), "write the text", "Writes the rendered text to a file you name.", "Copy"),
    Command("print.row", ("p p",), "print the row on exit", "Prints the row as JSON once sftui has quit.", "Copy"),
    Command("print.ids", ("p i",), "print the ids on exit", "Prints input_ids once sftui has quit.", "Copy"),
    Command("print.labels", ("p l",), "print the labels on exit", "Prints labels once sftui has quit.", "Copy"),
    Command("print.text", ("p t",), "print the text on exit", "Prints the rendered text once sftui has quit.", "Copy"),
    Command(
        "edit.row", ("e e",), "row in the editor", "Opens a read-only copy of the row in $VISUAL or $EDITOR.", "Copy"
    ),
    Command("edit.text", ("e t",), "text in the editor", "Opens a read-only copy of the rendered text.", "Copy"),
    Command(
        "edit.template", ("e c",), "template in the editor", "Opens a read-only copy of the chat template.", "Copy"
    ),
    # — sftui itself —
    Command("palette", (":", "ctrl+p"), "palette", "Finds any command by name; a number goes to that row.", "Help"),
    Command(
        "help", ("?", "f1"), "help", "Shows the keys, those of this pane first; Enter lists the pages of help.", "Help"
    ),
    Command("help.pages", ("H",), "pages of help", "Lists the pages of help: labels, templates, trainers, …", "Help"),
    Command("theme", ("t",), "theme", "Neutral dark, neutral light, ansi (your palette), mono.", "Help"),
    Command("mouse", ("m",), "mouse", "Turns sftui's use of the mouse on or off.", "Help"),
    Command("suspend", ("ctrl+z",), "suspend", "Goes back to the shell; fg returns.", "Help"),
    Command("quit", ("q",), "quit", "Quits; asks once if there are unsaved changes.", "Help"),
    Command("interrupt", ("ctrl+c",), "interrupt", "Cancels a running search or audit, else quits at once.", "Help"),
)

BY_ID = {command.id: command for command in COMMANDS}


def available(context: str) -> tuple[Command, ...]:
    """The commands whose keys work while `context` holds the keys, its own first."""
    own = tuple(c for c in COMMANDS if c.context == context and context != ANY)
    if context == DIALOG:
        return own
    return own + tuple(c for c in COMMANDS if c.context == ANY)


_FOOTERS: dict[str, tuple[tuple[tuple[str, ...], str], ...]] = {
    RECIPE: (
        (("recipe.previous", "recipe.next"), "change"),
        (("recipe.edit",), "edit"),
        (("recipe.reset",), "reset"),
        (("undo", "redo"), "undo/redo"),
        (("recipe",), "close"),
        (("help",), "help"),
    ),
    FINDINGS: (
        (("findings.tokens",), "tokens"),
        (("findings.preview",), "diff"),
        (("findings.apply",), "apply"),
        (("findings.explain",), "why"),
        (("findings.waive",), "waive"),
        (("findings.next",), "next row"),
        (("close",), "close"),
    ),
    FIGURES: (
        (("figures.down", "figures.up"), "finding"),
        (("figures.rows",), "rows"),
        (("figures.explain",), "why"),
        (("order",), "filter"),
        (("repairs",), "repairs"),
        (("figures",), "close"),
    ),
    DOCUMENT: (
        (("document.down", "document.up"), "scroll"),
        (("pane.cycle",), "next pane"),
        (("close",), "close"),
        (("row.previous", "row.next"), "row"),
        (("help",), "help"),
    ),
    ANY: (
        (("row.previous", "row.next"), "row"),
        (("zoom",), "zoom"),
        (("shift",), "shift"),
        (("search",), "search"),
        (("recipe",), "recipe"),
        (("help",), "help"),
    ),
}


def footer(context: str) -> tuple[tuple[tuple[str, ...], str], ...]:
    """The at most seven entries of the footer: the commands whose keys are shown, and a word."""
    return _FOOTERS.get(context, _FOOTERS[ANY])


def groups(commands: Iterable[Command]) -> dict[str, list[Command]]:
    """Commands by group, groups in the order of the table."""
    found: dict[str, list[Command]] = {}
    for command in commands:
        found.setdefault(command.group, []).append(command)
    return found
