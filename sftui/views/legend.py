"""What the signs on screen mean: for the help, and the table of the docs."""

from __future__ import annotations

SIGNS: tuple[tuple[str, str], ...] = (
    ("█  ░  ▒", "trained, not trained, both on one line"),
    ("▓  ×0.3", "trained with a loss weight other than 1; that weight"),
    ("·", "a label of -100: masked"),
    ("✂  ✂12", "cut, never reaches the trainer; how many of the row's tokens are"),
    ("✗  ✗2", "an error, or a row that is dropped or could not be prepared; how many errors"),
    ("!  !1  i", "a warning, how many; a notice"),
    ("✓  ≈", "nothing is wrong with the row; the tokenizer is not verified yet"),
    ("▁▄█", "in the title of the list: the trained share of its rows, and their length (logarithmic)"),
    ("s  u  a  t", "in the whole-row strip: a system, user, assistant or tool message begins"),
    ("─▸2", "the focused pane and its number: `2Tab` goes there"),
    ("▸  B", "the row on screen; it is shown under the second recipe of a comparison"),
    ("*", "a row changed by repairs, not yet written to a file"),
    ("●", "a knob changed since the recipe was opened"),
    ("K  D  F  N", "marked keep, drop or flag; your own note"),
    ("eval", "held out by the trainer for evaluation"),
    ("␣  ⏎  ⇥", "a space, a line feed, a tab"),
    ("‹E2 9C›  ‹200B›", "bytes that are not a whole character; a character that cannot be shown"),
    ("⟦ ⟧  ⟨eos⟩", "what is trained, in running text; a control token"),
    ("┊", "cut off by the shift: nothing left to predict, or never predicted"),
    ("# % + : x", "█ ▓ ▒ ░ ✂ where the terminal has no such glyphs, with ? for any other character"),
    ("≥ n", "at least this many rows: the file's index is not complete yet"),
)
"""Signs and what they mean; several in one entry have two spaces between them, and the order of their meanings."""
