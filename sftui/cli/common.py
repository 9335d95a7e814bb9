"""Options that several commands have in the same words."""

from __future__ import annotations

import click

from sftui.cli.grouped import FINDINGS, ROWS, USUAL, WORK, WRITTEN, number_option, option

first_row = number_option("--row", group=USUAL, default=0, least=0, help="the row to show first, from 0")
theme_option = option(
    "--theme", type=click.Choice(["dark", "light", "ansi", "mono"]), help="colours; default: by the terminal"
)
no_mouse = option("--no-mouse", is_flag=True, help="leave the mouse to the terminal")
text_or_json = option(
    "--format",
    "form",
    group=WRITTEN,
    type=click.Choice(["text", "json"]),
    default="text",
    help="text to read, or json for programs",
)
width_option = number_option(
    "--width", group=WRITTEN, least=20, help="columns of the output; default: the terminal, or 80"
)
force_option = option("--force", group=WRITTEN, is_flag=True, help="overwrite without asking")
first_rows = number_option("--max-rows", group=ROWS, help="only the first N rows")
sampled = number_option("--sample", group=ROWS, help="only N rows, evenly spaced")
select_option = option(
    "--select",
    group=FINDINGS,
    multiple=True,
    metavar="CODES",
    help="only these codes or code prefixes, e.g. TRU,LAB001",
)
ignore_option = option(
    "--ignore", group=FINDINGS, multiple=True, metavar="CODES", help="all but these codes or code prefixes"
)
eval_option = option(
    "--eval",
    "evaluation",
    group=FINDINGS,
    metavar="DATA",
    help="the evaluation set, to find its prompts in the training data",
)
jobs_option = number_option(
    "--jobs",
    group=WORK,
    help="processes; default: one fewer than the machine has cores, or with ray all that the cluster has",
)
