"""The commands, as click declares them; each imports what it needs when it runs."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any

import click

from sftui.cli.engines import LOCAL, RAY
from sftui.cli.grouped import (
    CHECK,
    LEARN,
    LOOK,
    ROWS,
    WORK,
    WRITE,
    WRITTEN,
    CommandGroup,
    Front,
    HelpCommand,
    Option,
    choice_option,
    completes,
    flag,
    number_option,
    usage_sentence,
    with_parameters,
)
from sftui.cli.opening import (
    TRAINERS_FROM,
    F,
    data_paths,
    opening_options,
    row_options,
    serving_option,
    where_option,
)
from sftui.cli.terminal import narrate
from sftui.session.declared import FINDINGS, OTHER, USUAL
from sftui.starting import IdleWorker

WELCOME = """\
sftui shows exactly what your trainer trains on, token for token.

  sftui demo                                try it now: bundled data and tokenizers, offline
  sftui data.jsonl -t Qwen/Qwen2.5-0.5B     open your own data with a Hub tokenizer
  sftui axolotl.yml                         open a trainer's config: its data, tokenizer and settings
  sftui show data.jsonl -t TOK --row 3      print one row instead of opening the inspector
  sftui help                                list the help pages: labels, templates, trainers, findings, …
  sftui --help                              list every command and option
"""

EPILOG = """\
`sftui COMMAND --help` lists the options of a command, `sftui help` the help pages. To open data that has the
same name as a command, give its path, as in `sftui ./show`.
"""


class Output(click.types.StringParamType):
    """The type of every option that names what a command writes: it must go through `writing.targets` or `may_write`.

    tests/unit/cli/test_cli_outputs.py holds each one against every input of its command.
    """

    name = "output"


OUTPUT = Output()
COMMANDS: dict[str, HelpCommand] = {}
"""In the order in which help lists them."""
FORMATS = ("text", "json", "sarif", "junit", "github", "markdown")
"""What `sftui check` writes."""


def output_option(text: str, *names: str, group: str = WRITTEN, metavar: str = "FILE", **attributes: Any) -> Option:
    """An option that names what the command writes."""
    return Option(group, metavar, text, *names, type=OUTPUT, **attributes)


first_row = number_option(USUAL, "the row to show first, from 0", "--row", default=0, least=0)
COLOURS = ["dark", "light", "contrast", "ansi", "mono"]
theme_option = choice_option(OTHER, COLOURS, "colour theme; default: chosen from the terminal", "--theme")
follow_option = flag(USUAL, "show new rows and figures while another program writes the file", "-f", "--follow")
no_mouse = flag(OTHER, "do not capture the mouse", "--no-mouse")
text_or_json = choice_option(
    WRITTEN, ["text", "json"], "human-readable text, or json for programs", "--format", "form", default="text"
)
width_option = number_option(
    WRITTEN, "width of the output in columns; default: the terminal's, or 80", "--width", least=20
)
force_option = flag(WRITTEN, "overwrite without asking", "--force")
first_rows = number_option(ROWS, "read only the first N rows", "--max-rows")
sampled = number_option(ROWS, "read only N rows, evenly spaced", "--sample")
select_option = Option(
    FINDINGS, "CODES", "report only these codes or code prefixes, e.g. TRU,LAB001", "--select", multiple=True
)
ignore_option = Option(FINDINGS, "CODES", "skip these codes or code prefixes", "--ignore", multiple=True)
eval_option = Option(
    FINDINGS,
    "DATA",
    "the evaluation set: report its prompts that also appear in the training data",
    "--eval",
    "evaluation",
)
near_option = Option(
    FINDINGS,
    "SHARE",
    (
        "also find rows that share this fraction of their three-word sequences, e.g. 0.8, with another row or the"
        " evaluation set; needs sftui[near]"
    ),
    "--near-duplicates",
    "near",
    type=click.FloatRange(0.5, 1),
)
jobs_option = number_option(
    WORK,
    "number of processes; default: one fewer than the machine has cores, or with ray one per CPU in the cluster",
    "--jobs",
)
ENGINE = "where to run: on this machine, or on a Ray cluster; default: local"
engine_option = choice_option(WORK, [LOCAL, RAY], ENGINE, "--engine", default=LOCAL)
address_option = Option(
    WORK, "ADDRESS", "address of the Ray cluster, e.g. auto; default: RAY_ADDRESS, or start one here", "--address"
)


def sifting_options(command: F) -> F:
    """Decorate a command that looks for findings with which of them, and in which rows."""
    return with_parameters(command, select_option, ignore_option, first_rows, sampled)


def working_options(command: F) -> F:
    """Decorate a command that goes through all rows with how it works."""
    return with_parameters(command, jobs_option, engine_option, address_option)


new_file_option = output_option("the new file, OUT.jsonl or OUT.parquet", "-o", "--out")
log_option = output_option("log of every change, row by row; default: OUT.log.jsonl", "--log")


def command(
    listed: str,
    short_help: str,
    *examples: tuple[str, str],
    module: str = "",
    cls: type[HelpCommand] = HelpCommand,
    **more: Any,
) -> Callable[[Callable[[], None]], HelpCommand]:
    """Makes a function the declaration of the command of its name, in one of the groups LISTED, with examples of what
    to type: what runs is the function of that name in `sftui.cli.MODULE` (else the module of that name), loaded then.
    """

    def declared(function: Callable[[], None]) -> HelpCommand:
        @wraps(function)
        def run(**given: Any) -> Any:
            home = import_module(f"sftui.cli.{module or function.__name__}")
            return getattr(home, function.__name__)(**given)

        name = function.__name__.strip("_").replace("_", "-")
        attributes = {"listed": listed, "short_help": short_help, "examples": examples, **more}
        COMMANDS[name] = click.command(f"sftui {name}", cls=cls, **attributes)(run)
        return COMMANDS[name]

    return declared


def data_command(*words: Any, **more: Any) -> Callable[[Callable[[], None]], HelpCommand]:
    """`command`, with everything that says what to open."""
    return lambda function: command(*words, **more)(opening_options(function))


@click.command(
    "sftui",
    cls=Front,
    epilog=EPILOG,
    examples=(
        ("sftui demo", "a tour of bundled data, offline"),
        ("sftui data.jsonl -t Qwen/Qwen2.5-0.5B --trainer trl", "your data, as TRL prepares it"),
        ("sftui axolotl.yml", "a trainer's config"),
        ("sftui check axolotl.yml", "everything wrong with a config and its data"),
    ),
)
@opening_options
@row_options
@serving_option
@first_row
@follow_option
@theme_option
@no_mouse
@click.version_option(None, "--version", package_name="sftui", message="sftui %(version)s")
@click.pass_obj
def inspect(
    started: IdleWorker | None, /, row: int, follow: bool, theme: str | None, no_mouse: bool, **given: Any
) -> int:
    """Open the inspector on DATA: .jsonl .json .csv .parquet (also .gz .zst), a saved folder, a folder
    or glob of shards, a Hub dataset name, or - for stdin; or on CONFIG, a trainer's .yaml, .yml or .json."""
    from sftui.cli.inspector import ScreenOptions, can_pick, open_inspector

    if not given["data"] and given["config"] is None and not can_pick():
        click.echo(WELCOME, nl=False)
        return 0

    return open_inspector(given, row, ScreenOptions(theme, not no_mouse, started, follow), COMMANDS)


def samples_named(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """What a shell may complete for the name of a bundled sample."""
    from sftui.cli.inspector import samples

    return [name for name in samples() if name.startswith(incomplete)]


@command(
    LOOK,
    "open the inspector on bundled data, offline",
    ("sftui demo", "a six-step tour"),
    ("sftui demo sharegpt", "different rows, without the tour"),
    module="inspector",
)
@click.argument("name", required=False, shell_complete=samples_named)
@Option(USUAL, "NAME", "use this tokenizer instead of the sample's own", "-t", "--tokenizer")
@theme_option
@no_mouse
@flag(OTHER, "show the full traceback when something fails", "--debug")
def demo() -> None:
    """Open the inspector on bundled sample data, offline; without NAME, start a tour of rows with defects."""


@data_command(
    LOOK,
    "open the inspector in a browser, on this machine only",
    ("sftui serve data.jsonl -t TOK", "prints the address to open"),
    ("sftui serve axolotl.yml --port 8080", "on a port you choose"),
)
@row_options
@serving_option
@first_row
@Option(USUAL, "N", "port to listen on; default: a free one", "--port", type=click.IntRange(0, 65535), default=0)
@Option(USUAL, "ADDRESS", "address to listen on; default: 127.0.0.1, this machine only", "--host", default="127.0.0.1")
@flag(USUAL, "allow a --host that other machines can reach; the connection is not encrypted", "--public")
@choice_option(OTHER, COLOURS, "colour theme; default: dark", "--theme")
def serve() -> None:
    """Open the inspector on DATA in a browser. Prints a secret address: only those who have it can open the inspector.
    Needs pip install 'sftui[serve]'."""


@data_command(
    LOOK,
    "print one row: tokens, labels and why each is trained or masked",
    ("sftui show data.jsonl -t TOK --row 3", "row 3, from 0"),
    ("sftui show axolotl.yml --shift", "what each token has to predict"),
    ("sftui show data.jsonl -t TOK --format json", "for programs"),
)
@row_options
@number_option(
    USUAL, "the row to print, from 0; with --where, the first match from there on", "--row", default=0, least=0
)
@flag(WRITTEN, "show the input token at each position and the token to predict from it", "--shift")
@choice_option(WRITTEN, ["text", "columns", "rows"], "how the tokens are laid out", "--view", default="rows")
@text_or_json
@flag(WRITTEN, "json: add tokens, reasons and spans", "--explain")
@width_option
def show() -> None:
    """Print one row: its tokens, labels and why each is trained or masked."""


@data_command(
    LOOK,
    "count the values of a column, a role sequence, findings, …",
    ("sftui facets data.jsonl --of source", "the values of a key, with bars"),
    ("sftui facets data.jsonl --of roles", "which sequences of roles there are"),
    ("sftui facets data.jsonl -t TOK --of codes --format json", "rows by their findings"),
)
@row_options
@Option(
    USUAL,
    "EXPR",
    "what to count: a key of the rows, or any expression, e.g. roles, outcome, codes, marked, len(messages)",
    "--of",
    required=True,
)
@number_option(WRITTEN, "number of values to print; default: 20", "--top", default=20, least=1)
@text_or_json
def facets() -> None:
    """Count how many rows have each value of a column or of an expression; see `sftui help where`."""


@data_command(
    LOOK,
    "show where trainers, recipes, templates or tokenizers differ",
    ("sftui compare axolotl.yml --with trl@1.16", "the same rows under another trainer"),
    ("sftui compare data.jsonl -t TOK --trainer trl@1.16 --with trl@1.14", "two releases"),
    ("sftui compare data.jsonl -t TOK --with mask.rule=assistant", "one knob"),
    ("sftui compare batches.parquet --against axolotl.yml", "what a real run received, next to what sftui computes"),
)
@where_option
@Option(
    USUAL,
    "OTHER",
    (
        "what to compare with: a recipe, a trainer's config, a preset (trl@1.14), tokenizer=NAME, template=NAME"
        " or KNOB=VALUE; quote several changes together; may be repeated"
    ),
    "--with",
    "others",
    multiple=True,
)
@Option(
    USUAL,
    "CONFIG|DATA",
    (
        "look up each captured sequence, or each row of stored ids, in this dataset, prepared by a config or by"
        " the other options (--recipe, --trainer, …); settings they omit are taken from the run"
    ),
    "--against",
)
@first_rows
@sampled
@number_option(ROWS, "number of differing rows to print; default: 3", "--show", "shown", default=3, least=0)
@number_option(
    ROWS,
    "number of differing rows, evenly spaced, to find the cause for; default: 200",
    "--causes",
    default=200,
    least=0,
)
@text_or_json
@width_option
def compare() -> None:
    """Show where two or more recipes, trainers, templates or tokenizers differ, or where a real run differs from sftui,
    and why; exit 1 if any row differs, 2 if none could be compared."""


@data_command(
    CHECK,
    "find what is wrong with the setup and the rows, with fixes",
    ("sftui check axolotl.yml", "what is wrong with a config and its data"),
    ("sftui check data.jsonl -t TOK --format json -o found.json", "for programs"),
    ("sftui check data.jsonl -t TOK --select TRU,LAB --fail-on warning", "selected codes, for CI"),
    ("sftui check axolotl.yml --fix fixed", "write fixed data and a fixed config, and check again"),
)
@row_options
@serving_option
@choice_option(WRITTEN, FORMATS, "human-readable text, or a format for programs", "--format", "form", default="text")
@Option(
    WRITTEN,
    "FORMAT FILE",
    "also write this format to FILE; may be repeated",
    "--also",
    multiple=True,
    type=(click.Choice(FORMATS), OUTPUT),
)
@choice_option(
    FINDINGS,
    ["error", "warning", "never"],
    "exit 1 for findings of this severity or higher; default: error",
    "--fail-on",
    default="error",
)
@Option(
    FINDINGS,
    "CODE=RATE",
    (
        "exit 1 if more than this share of rows has findings with the code, e.g. TRU=0.5%, whatever --fail-on says;"
        " below it, the code never fails; CODE=baseline uses the share recorded in the --baseline file; may be repeated"
    ),
    "--max-rate",
    multiple=True,
)
@sifting_options
@output_option("ignore the findings recorded in FILE", "--baseline", group=FINDINGS)
@flag(FINDINGS, "write the current findings to the --baseline file", "--write-baseline")
@eval_option
@near_option
@output_option(
    "write new data and a new config to this folder (default: DATA-fixed), with every fix that helped when tried, and"
    " check them again",
    "--fix",
    group=FINDINGS,
    metavar="[DIR]",
    is_flag=False,
    flag_value="",
)
@Option(
    FINDINGS,
    "WHAT",
    "with --fix: drop rows, as in sftui repair: unreadable, empty, no-answer, or finding codes",
    "--drop",
    multiple=True,
)
@output_option("write to this file instead of stdout", "-o", "--out")
@number_option(WRITTEN, "width of text in columns; default: the terminal's, or 100", "--width", least=20)
@force_option
@working_options
def check() -> None:
    """Find what is wrong with the setup and every row, and the key that fixes it; exit 1 if there are problems, with
    --fix if any remain."""


@data_command(
    CHECK,
    "write figures, plots and findings as one HTML page",
    ("sftui report axolotl.yml -o report.html", "of the whole dataset"),
    module="check",
)
@row_options
@serving_option
@output_option("the page to write, e.g. report.html", "-o", "--out", required=True)
@sifting_options
@eval_option
@near_option
@force_option
@working_options
def report() -> None:
    """Write the figures, plots and findings of the whole dataset as one self-contained HTML page."""


@data_command(
    CHECK,
    "show what length limits and packing cost: padding, steps, cuts",
    ("sftui waste axolotl.yml", "each packing the trainer has, at limits near the rows' lengths"),
    (
        "sftui waste data.jsonl -t TOK --trainer trl --lengths 1024,2048 --strategy bfd",
        "two limits, one packing strategy",
    ),
    ("sftui waste axolotl.yml --format json", "for programs"),
)
@row_options
@Option(
    USUAL,
    "LENGTHS",
    "length limits to try, in tokens, e.g. 1024,2048; default: some near the rows' lengths",
    "--lengths",
)
@Option(
    USUAL,
    "NAME",
    "try only this packing strategy: none, bfd, …, or 'by length'; may be repeated",
    "--strategy",
    "strategies",
    multiple=True,
)
@text_or_json
@width_option
def waste() -> None:
    """Show, for length limits and the trainer's packing strategies, the tokens, the padding and the steps of an epoch,
    the answers that are cut, and the rows that are lost, over the whole dataset."""


@data_command(
    CHECK,
    "run your installed trainer and show where sftui differs",
    ("sftui verify axolotl.yml --python ~/train/bin/python", "50 rows through that environment's Axolotl"),
)
@Option(USUAL, "PATH", "the Python of an environment with the trainer installed", "--python", required=True)
@number_option(ROWS, "number of rows to compare, evenly spaced; default: 50", "--rows", default=50)
def verify() -> None:
    """Run the installed trainer on some rows and show where sftui's labels differ; exit 1 if any do."""


@command(
    CHECK,
    "run your training up to its first step and keep the batches",
    ("sftui capture -o batches.parquet -- python train.py", "the first 8 batches, as the model receives them"),
    ("sftui capture -o batches.parquet --batches 2 -- axolotl train axolotl.yml", "works with any trainer"),
    ("sftui batches.parquet", "look at them"),
)
@click.argument("command", nargs=-1, required=True, metavar="-- COMMAND…", type=click.UNPROCESSED)
@output_option("the file to write, OUT.parquet; only you can read it", "-o", "--out", required=True)
@number_option(
    USUAL,
    "number of batches; those the first optimizer step does not use come from the data loader; default: 8",
    "--batches",
    default=8,
)
@flag(
    USUAL,
    "take the batches from the data loader without running or loading a model: transformers models get no weights",
    "--no-model",
)
@number_option(WRITTEN, "keep only N tokens of each sequence", "--clip")
@force_option
def capture() -> None:
    """Run COMMAND, your training command, in your environment, keep its first batches as the model receives them, and
    stop it before its first optimizer step. This runs your code; nothing is installed, and no weights are updated.
    """


@data_command(
    CHECK,
    "print, tag or probe the chat template in use",
    ("sftui template -t TOK --probe", "problems with the template, found without data"),
    ("sftui template data.jsonl -t TOK --add-generation-tags -o tagged.jinja", "a copy with generation tags"),
)
@flag(
    USUAL,
    "put {% generation %} tags around the assistant's answers, and prove the result on DATA",
    "--add-generation-tags",
    "tags",
)
@flag(USUAL, "try the template on typical conversations, without DATA", "--probe")
@Option(
    USUAL,
    "SHAPE",
    "print one of these conversations, its rendered text and what is wrong with it",
    "--probe-show",
    "shown",
)
@choice_option(
    WRITTEN,
    ["text", "json"],
    "with --probe: human-readable text, or json for programs",
    "--format",
    "form",
    default="text",
)
@width_option
@output_option("write the template, e.g. to chat_template.jinja", "-o", "--out")
@force_option
@number_option(ROWS, "prove it on the first N rows only", "--max-rows")
def template() -> None:
    """Print the chat template in use, what generation tags change in it, or what is wrong with it; exit 1 if the tags
    cannot be proven or the probe finds errors."""


@data_command(
    WRITE,
    "write ids, labels and masks as JSONL or Parquet",
    ("sftui encode axolotl.yml -o encoded.parquet", "every row, or every pack"),
    ("sftui encode data.jsonl -t TOK -o - --explain", "JSON lines with tokens and reasons"),
)
@row_options
@output_option(
    "the file to write, OUT.jsonl or OUT.parquet; - writes JSON lines to stdout", "-o", "--out", required=True
)
@flag(WRITTEN, "add the tokens, reasons and spans of every row", "--explain")
@flag(WRITTEN, "write one record per row, even if the recipe packs", "--unpacked")
@force_option
@number_option(WORK, "with ray: number of workers; default: one per CPU in the cluster", "--jobs")
@engine_option
@address_option
def encode() -> None:
    """Write what the trainer would train on: one record per row, or one per pack if the recipe packs."""


@data_command(
    WRITE,
    "write a recipe, a script or a trainer's config with your changes",
    ("sftui export data.jsonl -t TOK --trainer trl --to trl -o config", "a config for TRL"),
    ("sftui export axolotl.yml --to preprocess -o script", "a script that prepares the data the same way"),
)
@where_option
@Option(USUAL, "WHAT", "what to export: recipe, preprocess, or a trainer's name", "--to", required=True)
@output_option("the folder to write to", "-o", "--out", "folder", required=True, metavar="DIR")
@force_option
@number_option(ROWS, "for another trainer: count changed labels in the first N rows only", "--max-rows")
def export() -> None:
    """Write the recipe, a stand-alone script that prepares the data the same way, or a trainer's config. If no answer
    in the data reaches the model, exit 1 and write nothing, unless --force is given."""


@data_command(
    WRITE,
    "write a repaired copy of the data, never in place",
    ("sftui repair --list", "list the repairs"),
    ("sftui repair data.jsonl --apply map-roles,trim -o repaired.jsonl", "apply two of them"),
)
@where_option
@Option(USUAL, "NAMES", "repairs to apply, e.g. map-roles,trim,deduplicate; see --list", "--apply", multiple=True)
@Option(USUAL, "WHAT", "drop rows: unreadable, empty, no-answer, or finding codes", "--drop", multiple=True)
@Option(ROWS, "FILE", "MARKS.jsonl from the inspector: apply its edits and drop the rows marked drop", "--marks")
@choice_option(ROWS, ("keep", "drop", "flag"), "write only the rows with this mark in --marks", "--only")
@new_file_option
@log_option
@flag(WRITTEN, "count what would change without writing data", "--dry-run")
@flag(OTHER, "list the repairs", "--list", "listing")
@force_option
def repair() -> None:
    """Write a repaired copy of DATA to a new file, never in place; rows that need no repair keep every byte."""


@data_command(
    WRITE,
    "write rows in other formats as messages, with a config for them",
    ("sftui convert sharegpt.json --for trl -o messages.jsonl", "for TRL, with its config"),
    ("sftui convert alpaca.json --for trl -o messages.jsonl --dry-run", "only count what would change"),
    module="repair",
)
@where_option
@Option(
    USUAL, "TRAINER", "the trainer that will read the rows; default: the one given with --trainer", "--for", "reader"
)
@Option(ROWS, "NAMES", "repairs to apply as well; see sftui repair --list", "--apply", multiple=True)
@Option(ROWS, "WHAT", "drop rows, as in sftui repair: unreadable, empty, …", "--drop", multiple=True)
@Option(ROWS, "COLUMNS", "drop columns that the trainer would read instead of the messages", "--without", multiple=True)
@new_file_option
@output_option("folder for the config that reads the new file; default: OUT-config", "--config-dir", metavar="DIR")
@log_option
@flag(WRITTEN, "count what would change without writing anything", "--dry-run")
@force_option
def convert() -> None:
    """Write DATA in another format as messages, with tool_calls and tools, to a new file, with the config that
    reads it. Formats: ShareGPT, Alpaca, question and answer, prompt and completion, function_call turns, calls as text;
    with loss.objective pairs and labelled answers.
    """


@command(
    LEARN,
    "list the trainers and their releases",
    ("sftui trainers", "what each one is, and how it finds answers and packs"),
    ("sftui trainers --format json", "for programs"),
)
@TRAINERS_FROM
@text_or_json
def trainers() -> None:
    """List the trainers: what each is, its releases, how it finds answers and packs, and its transformers version."""


@command(
    LEARN,
    "explain recipe settings, their choices and config keys",
    ("sftui knobs", "all of them"),
    ("sftui knobs mask.rule --trainer trl", "one knob, as TRL uses it"),
    ("sftui knobs loss", "the knobs that contain a word"),
    ("sftui knobs assistant_only_loss", "the knob behind a trainer's key"),
)
@click.argument("name", required=False, shell_complete=completes)
@Option(USUAL, "NAME[@VERSION]", "include this trainer's options, defaults and config keys", "--trainer")
@TRAINERS_FROM
@text_or_json
def knobs() -> None:
    """Explain a knob: a setting of the recipe that decides labels. NAME is its name, a word in it, or a trainer's
    config key; without NAME, list all knobs."""


@command(
    LEARN,
    "explain a finding code",
    ("sftui explain TRU001", "one code"),
    ("sftui explain", "all of them"),
    module="help",
)
@click.argument("code", required=False, shell_complete=completes)
def explain() -> None:
    """Explain what CODE means, when it is harmless and what fixes it; without CODE, list all codes."""


@command(
    LEARN,
    "read the help pages, offline",
    ("sftui help labels", "a page"),
    ("sftui help check", "the options of a command"),
    module="help",
)
@click.argument("topic", nargs=-1, shell_complete=completes)
def help_() -> None:
    """Read a help page, offline. TOPIC is a page, a command or a finding code; without it, list the pages."""


@command(
    LEARN,
    "print the shell completion script for sftui",
    ("sftui completion bash", 'what `eval "$(sftui completion bash)"` in ~/.bashrc runs; zsh likewise'),
    ("sftui completion fish", "for ~/.config/fish/completions/sftui.fish"),
)
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
def completion() -> None:
    """Print the completion script for SHELL: commands, options, trainers, knobs and finding codes."""


@command(
    LEARN,
    "print the manual page, for man",
    ("sftui man | man -l -", "read it"),
    ("sftui man > ~/.local/share/man/man1/sftui.1", "where pipx or pip did not put it: uv tool, an editable install"),
)
def man() -> None:
    """Print the manual page that `man sftui` shows: every command, its options and examples."""


@command(
    LEARN,
    "print a SKILL.md for coding agents",
    ("sftui skill", "for .claude/skills/sftui/SKILL.md, or wherever your agent looks"),
    module="help",
)
def skill() -> None:
    """Print a SKILL.md for coding agents: when to ask sftui, which commands to run, and how to read their output."""


@click.command("remove", cls=HelpCommand)
@click.argument("versions", nargs=-1, metavar="VERSION…")
@flag(OTHER, "remove all", "--all", "everything")
def remove_envs(versions: tuple[str, ...], everything: bool) -> int:
    """Remove the environments of VERSIONS."""
    from sftui.cli.envs import remove_environments

    return remove_environments(versions, everything)


@command(
    LEARN,
    "the environments that --transformers made",
    ("sftui envs remove 4.55.0", "remove one"),
    cls=CommandGroup,
    invoke_without_command=True,
    commands=[remove_envs],
)
def envs() -> None:
    """List the environments that --transformers made: version, size, last use and folder."""


@data_command(
    LEARN,
    "print what a bug report needs, as Markdown you can paste",
    ("sftui bug-report axolotl.yml", "for the command that failed"),
)
def bug_report() -> None:
    """Print what a bug report needs, as Markdown you can paste: versions, engine, recipe; no data, paths or secrets.

    Use the same DATA or CONFIG and options as the command that failed; the data is not read."""


inspect.commands = COMMANDS
UNWATCHED = (inspect, demo, serve, capture, trainers, knobs, explain, envs, help_, man, skill, bug_report)
"""What runs in this very process: the inspector has a worker, no row comes into an explanation, and what the user's own
command costs is not ours to bound, nor may it be started again."""


def run(words: list[str], *, watched: bool = False, debug: bool = False, started: IdleWorker | None = None) -> int:
    """Run the command that `words` name, else the inspector; its exit code. `watched`: see `cli.supervising`;
    `started` is the worker that the inspector may take."""
    if not words and (asked := os.environ.get("_SFTUI_COMPLETE")):
        from sftui.cli.completion import complete

        return complete(asked, COMMANDS, inspect)
    command: HelpCommand = inspect
    rest = words
    if words and words[0] in COMMANDS:
        command, rest = COMMANDS[words[0]], words[1:]
        if os.path.exists(words[0]):
            narrate(f"`{words[0]}` is a command; to open the file, use ./{words[0]}")
    if started is not None and command not in (inspect, demo):
        started.end()

    def work() -> object:
        # Not command.main: it answers a closed pipe with exit code 1 before we could.
        with command.make_context(command.name, list(rest), obj=started) as context:
            if not watched or command in UNWATCHED:
                return command.invoke(context)
            from sftui.cli.supervising import supervised

            if "-" in context.params.get("data", ()):
                context.params["data"] = data_paths(context.params["data"])  # a pipe can be read but once
            return supervised(lambda: _ended(lambda: command.invoke(context)), debug)

    return _ended(work)


def _ended(work: Callable[[], object]) -> int:
    """Read the words of a command, or run it; its exit code."""
    try:
        code = work()
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.Abort:
        narrate("stopped; nothing was written")
        return 2
    except click.ClickException as error:
        narrate(usage_sentence(error))
        return 2
    return code if isinstance(code, int) else 0
