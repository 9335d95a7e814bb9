"""Options that several commands have in the same words."""

from __future__ import annotations

import click

from sftui.cli.grouped import FINDINGS, ROWS, USUAL, WORK, WRITTEN, option

first_row = option(
    "--row", group=USUAL, type=click.IntRange(min=0), default=0, metavar="N", help="the row to show first, from 0"
)
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
width_option = option(
    "--width",
    group=WRITTEN,
    type=click.IntRange(min=20),
    metavar="N",
    help="columns of the output; default: the terminal, or 80",
)
force_option = option("--force", group=WRITTEN, is_flag=True, help="overwrite without asking")
first_rows = option("--max-rows", group=ROWS, type=click.IntRange(min=1), metavar="N", help="only the first N rows")
sampled = option("--sample", group=ROWS, type=click.IntRange(min=1), metavar="N", help="only N rows, evenly spaced")
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
jobs_option = option(
    "--jobs",
    group=WORK,
    type=click.IntRange(min=1),
    metavar="N",
    help="processes; default: one fewer than the machine has cores, or with ray all that the cluster has",
)
