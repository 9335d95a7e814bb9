"""The commands, as click declares them; each imports what it needs when it runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from sftui.cli.engines import engine_options
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
    number_option,
    option,
)
from sftui.cli.opening import TRAINERS_FROM, opening_options, serving_option
from sftui.session.declared import FINDINGS, USUAL
from sftui.starting import IdleWorker

F = TypeVar("F", bound=Callable[..., Any])

WELCOME = """\
sftui shows exactly what your trainer trains on, token for token.

  sftui demo                                try it now: bundled data and tokenizers, offline
  sftui data.jsonl -t Qwen/Qwen2.5-0.5B     open your own data with a tokenizer of the Hub
  sftui axolotl.yml                         open a trainer's own config: data, tokenizer and all
  sftui show data.jsonl -t TOK --row 3      print one row instead of opening it
  sftui help                                the pages of help: labels, templates, trainers, findings, …
  sftui --help                              every command and option
"""

EPILOG = """\
`sftui COMMAND --help` lists the options of a command, `sftui help` the pages of help. Data whose name is that of a
command is opened with its path, as in `sftui ./show`.
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


def output_option(*names: str, group: str = WRITTEN, metavar: str = "FILE", **attributes: Any) -> Callable[[F], F]:
    """An option that names what the command writes."""
    return option(*names, group=group, type=OUTPUT, metavar=metavar, **attributes)


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
new_file_option = output_option("-o", "--out", help="OUT.jsonl or OUT.parquet, a new file")
log_option = output_option("--log", help="LOG.jsonl: every change, row by row; default: OUT.log.jsonl")


def command(
    name: str,
    listed: str,
    short_help: str,
    *examples: tuple[str, str],
    cls: type[HelpCommand] = HelpCommand,
    **more: Any,
) -> Callable[[Callable[..., Any]], Any]:
    """Makes a function the command `sftui NAME`, in one of the groups LISTED, with examples of what to type."""

    def declared(function: Callable[..., Any]) -> HelpCommand:
        attributes = {"listed": listed, "short_help": short_help, "examples": examples, **more}
        COMMANDS[name] = click.command(f"sftui {name}", cls=cls, **attributes)(function)
        return COMMANDS[name]

    return declared


@click.command(
    "sftui",
    cls=Front,
    epilog=EPILOG,
    examples=(
        ("sftui demo", "a tour over bundled data, offline"),
        ("sftui data.jsonl -t Qwen/Qwen2.5-0.5B --trainer trl", "your data, as TRL takes it"),
        ("sftui axolotl.yml", "a trainer's own config"),
        ("sftui check axolotl.yml", "everything that is wrong with it"),
    ),
)
@opening_options
@serving_option
@first_row
@theme_option
@no_mouse
@click.version_option(None, "--version", package_name="sftui", message="sftui %(version)s")
@click.pass_obj
def inspect(started: IdleWorker | None, /, row: int, theme: str | None, no_mouse: bool, **given: Any) -> int:
    """Open the inspector on DATA: .jsonl .json .csv .parquet (also .gz .zst), a saved folder, a folder
    or glob of shards, a Hub dataset name, or - for stdin; or on CONFIG, a trainer's own .yaml, .yml or .json."""
    from sftui.cli.inspector import can_pick, open_inspector

    if not given["data"] and given["config"] is None and not can_pick():
        click.echo(WELCOME, nl=False)
        return 0

    return open_inspector(given, row, theme, not no_mouse, COMMANDS, started)


@command(
    "demo",
    LOOK,
    "open the inspector on bundled data, offline",
    ("sftui demo", "a tour in six steps"),
    ("sftui demo sharegpt", "other rows, without the tour"),
)
@click.argument("name", required=False)
@option("-t", "--tokenizer", group=USUAL, metavar="NAME", help="another tokenizer than the sample's own")
@theme_option
@no_mouse
@option("--debug", is_flag=True, help="show a full trace when something fails")
@click.pass_obj
def demo(
    started: IdleWorker | None,
    /,
    name: str | None,
    tokenizer: str | None,
    theme: str | None,
    no_mouse: bool,
    debug: bool,
) -> int:
    """Open the inspector on bundled sample data, offline; without NAME with a tour through rows with defects."""
    from sftui.cli.inspector import open_demo

    return open_demo(name, tokenizer, theme, not no_mouse, debug, started)


@command(
    "serve",
    LOOK,
    "the inspector in a browser, for this machine alone",
    ("sftui serve data.jsonl -t TOK", "prints the address to open"),
    ("sftui serve axolotl.yml --port 8080", "at a port of your choice"),
)
@opening_options
@serving_option
@first_row
@option("--port", group=USUAL, type=click.IntRange(0, 65535), default=0, metavar="N", help="default: one that is free")
@option("--host", group=USUAL, default="127.0.0.1", metavar="ADDRESS", help="default: 127.0.0.1, this machine alone")
@option("--public", group=USUAL, is_flag=True, help="also a --host that other machines reach; nothing is encrypted")
@option("--theme", type=click.Choice(["dark", "light", "ansi", "mono"]), help="colours; default: dark")
def serve(port: int, host: str, public: bool, **given: Any) -> int:
    """Open the inspector on DATA in a browser: print an address that only who has it can open. Needs pip install
    'sftui[serve]'."""
    from sftui.cli.serve import serve as serve_pages
    from sftui.cli.serve import words_of

    return serve_pages(given, words_of(inspect, given), host, port, public)


@command(
    "show",
    LOOK,
    "print one row: tokens, labels and why each is trained or masked",
    ("sftui show data.jsonl -t TOK --row 3", "row 3, from 0"),
    ("sftui show axolotl.yml --shift", "what is predicted from each token"),
    ("sftui show data.jsonl -t TOK --format json", "for programs"),
)
@opening_options
@number_option("--row", group=USUAL, default=0, least=0, help="the row to print, from 0")
@option(
    "--shift", group=WRITTEN, is_flag=True, help="the input token at each position, and the token to predict from it"
)
@option(
    "--view",
    group=WRITTEN,
    type=click.Choice(["text", "columns", "rows"]),
    default="rows",
    help="how the tokens are laid out",
)
@text_or_json
@option("--explain", group=WRITTEN, is_flag=True, help="json: add tokens, reasons and spans")
@width_option
def show(**given: Any) -> int:
    """Print one row: its tokens, labels and why each is trained or masked."""
    from sftui.cli.show import show_row

    return show_row(**given)


@command(
    "compare",
    LOOK,
    "where trainers, recipes, templates or tokenizers differ",
    ("sftui compare axolotl.yml --with trl@1.16", "the same rows under another trainer"),
    ("sftui compare data.jsonl -t TOK --trainer trl@1.16 --with trl@1.14", "two releases"),
    ("sftui compare data.jsonl -t TOK --with mask.rule=assistant", "one knob"),
    ("sftui compare batches.parquet --against axolotl.yml", "what a real run had, beside what sftui says"),
)
@opening_options
@option(
    "--with",
    "others",
    group=USUAL,
    multiple=True,
    metavar="OTHER",
    help=(
        "a recipe, a trainer's config, a preset (trl@1.14), tokenizer=NAME, template=NAME or KNOB=VALUE; "
        "several changes in quotes; may be repeated"
    ),
)
@option(
    "--against",
    group=USUAL,
    metavar="CONFIG|DATA",
    help=(
        "look for each sequence of captured batches, or of stored ids, in this dataset, prepared by a config or by the"
        " other options (--recipe, --trainer, …); what they leave open is as in the run"
    ),
)
@first_rows
@sampled
@number_option("--show", "shown", group=ROWS, default=3, least=0, help="differing rows to print; default: 3")
@number_option(
    "--causes",
    group=ROWS,
    default=200,
    least=0,
    help="differing rows, evenly spaced, of which is found out why they differ; default: 200",
)
@text_or_json
@width_option
def compare(against: str | None, **given: Any) -> int:
    """Show where two or more recipes, trainers, templates or tokenizers differ, or a real run from sftui, and why; exit
    1 if any row differs, 2 if none could be compared."""
    if against is not None:
        if given["others"] or given["max_rows"] is not None or given["sample"] is not None:
            raise click.UsageError("--against takes every sequence: leave out --with, --max-rows and --sample")
        from sftui.cli.against import compare_against

        return compare_against(against, **given)
    from sftui.cli.compare import compare_recipes

    return compare_recipes(**given)


@command(
    "check",
    CHECK,
    "what is wrong in the set-up and in every row, and the fix",
    ("sftui check axolotl.yml", "what is wrong in a config and its data"),
    ("sftui check data.jsonl -t TOK --format json -o found.json", "for programs"),
    ("sftui check data.jsonl -t TOK --select TRU,LAB --fail-on warning", "some codes, for CI"),
)
@opening_options
@serving_option
@option(
    "--format",
    "form",
    group=WRITTEN,
    type=click.Choice(FORMATS),
    default="text",
    help="text to read, or a format for programs",
)
@option(
    "--also",
    group=WRITTEN,
    multiple=True,
    type=(click.Choice(FORMATS), OUTPUT),
    metavar="FORMAT FILE",
    help="write another format to FILE, of the same run; may be repeated",
)
@option(
    "--fail-on",
    group=FINDINGS,
    type=click.Choice(["error", "warning", "never"]),
    default="error",
    help="exit 1 from this severity on; default: error",
)
@select_option
@ignore_option
@first_rows
@sampled
@output_option("--baseline", group=FINDINGS, help="ignore the findings recorded in FILE")
@option("--write-baseline", group=FINDINGS, is_flag=True, help="write the current findings to the --baseline file")
@eval_option
@output_option("-o", "--out", help="write there instead of to stdout")
@force_option
@jobs_option
@engine_options
def check(**given: Any) -> int:
    """Find what is wrong in the set-up and in every row, and the key that fixes it; exit 1 if problems are found."""
    from sftui.cli.check import check_data

    return check_data(**given)


@command(
    "report",
    CHECK,
    "figures, plots and findings as one HTML page",
    ("sftui report axolotl.yml -o report.html", "of the whole dataset"),
)
@opening_options
@serving_option
@output_option("-o", "--out", required=True, help="the page to write, e.g. report.html")
@select_option
@ignore_option
@first_rows
@sampled
@eval_option
@force_option
@jobs_option
@engine_options
def report(**given: Any) -> int:
    """Write the figures, plots and findings of the whole dataset as one self-contained HTML page."""
    from sftui.cli.report import write_report

    return write_report(**given)


@command(
    "verify",
    CHECK,
    "run your installed trainer and print where sftui differs",
    ("sftui verify axolotl.yml --python ~/train/bin/python", "50 rows through the Axolotl of that environment"),
)
@opening_options
@option(
    "--python",
    group=USUAL,
    required=True,
    metavar="PATH",
    help="the python of an environment that has the trainer installed",
)
@number_option("--rows", group=ROWS, default=50, help="number of rows, evenly spaced; default: 50")
def verify(**given: Any) -> int:
    """Run the real, installed trainer on some rows and print where sftui's labels differ; exit 1 if any do."""
    from sftui.cli.verify import verify_rows

    return verify_rows(**given)


@command(
    "capture",
    CHECK,
    "run your training up to its first step, keep its batches",
    ("sftui capture -o batches.parquet -- python train.py", "the first 8 batches, as the model receives them"),
    ("sftui capture -o batches.parquet --batches 2 -- axolotl train axolotl.yml", "of any trainer"),
    ("sftui batches.parquet", "look at them"),
)
@click.argument("command", nargs=-1, required=True, metavar="-- COMMAND…", type=click.UNPROCESSED)
@output_option("-o", "--out", required=True, help="OUT.parquet, which only you may read")
@number_option(
    "--batches",
    group=USUAL,
    default=8,
    help="so many; what the first optimizer step leaves over comes from the data loader; default: 8",
)
@option(
    "--no-model",
    group=USUAL,
    is_flag=True,
    help="take them from the data loader, without running or loading a model: transformers' models get no weights",
)
@number_option("--clip", group=WRITTEN, help="keep N tokens of each sequence")
@force_option
def capture(**given: Any) -> int:
    """Run COMMAND, your own training command, in your environment, keep its first batches as the model receives them,
    and end it before its first optimizer step. This runs your code; nothing is installed, no optimizer makes a step.
    """
    from sftui.cli.capture import capture_batches

    return capture_batches(**given)


@command(
    "template",
    CHECK,
    "print, tag or probe the chat template in use",
    ("sftui template -t TOK --probe", "what goes wrong with it, without data"),
    ("sftui template data.jsonl -t TOK --add-generation-tags -o tagged.jinja", "a copy with generation tags"),
)
@opening_options
@option(
    "--add-generation-tags",
    "tags",
    group=USUAL,
    is_flag=True,
    help="put {% generation %} tags around the assistant's answers, with proof over DATA",
)
@option(
    "--probe", group=USUAL, is_flag=True, help="try it on shapes of conversation that no data need hold; without DATA"
)
@option(
    "--probe-show",
    "shown",
    group=USUAL,
    metavar="SHAPE",
    help="print one of these conversations, its text, what is wrong",
)
@option(
    "--format",
    "form",
    group=WRITTEN,
    type=click.Choice(["text", "json"]),
    default="text",
    help="of --probe: text, or json for programs",
)
@width_option
@output_option("-o", "--out", help="write it, e.g. to chat_template.jinja")
@force_option
@number_option("--max-rows", group=ROWS, help="prove over the first N rows only")
def template(tags: bool, probe: bool, shown: str | None, out: str | None, **given: Any) -> int:
    """Print the chat template in use, what generation tags change in it, or what goes wrong with it; exit 1 where
    tags cannot be proven or the probe finds errors."""
    if probe or shown is not None:
        if tags or out is not None:
            raise click.UsageError("--probe writes no template: leave out --add-generation-tags and -o")
        from sftui.cli.probing import probe_template

        return probe_template(shown, **given)
    from sftui.cli.template import write_template

    return write_template(tags, out, **given)


@command(
    "encode",
    WRITE,
    "what reaches the model: ids, labels and masks as JSONL or Parquet",
    ("sftui encode axolotl.yml -o encoded.parquet", "every row, or every pack"),
    ("sftui encode data.jsonl -t TOK -o - --explain", "JSON lines with tokens and reasons"),
)
@opening_options
@output_option("-o", "--out", required=True, help="OUT.jsonl or OUT.parquet; - writes JSON lines to stdout")
@option("--explain", group=WRITTEN, is_flag=True, help="add tokens, reasons and spans of every row")
@option("--unpacked", group=WRITTEN, is_flag=True, help="one record per row, even if the recipe packs")
@force_option
@number_option("--jobs", group=WORK, help="with ray: its workers; default: all that the cluster has")
@engine_options
def encode(**given: Any) -> int:
    """Write what the trainer would train on: one record per row, or per pack if the recipe packs."""
    from sftui.cli.encode import encode_rows

    return encode_rows(**given)


@command(
    "export",
    WRITE,
    "the recipe, a script, or a trainer's config with what you changed",
    ("sftui export data.jsonl -t TOK --trainer trl --to trl -o config", "a config for TRL"),
    ("sftui export axolotl.yml --to preprocess -o script", "a script that prepares the data alike"),
)
@opening_options
@option("--to", group=USUAL, required=True, metavar="WHAT", help="recipe, preprocess, or a trainer's name")
@output_option("-o", "--out", "folder", required=True, metavar="DIR", help="the folder to write into")
@force_option
@number_option(
    "--max-rows",
    group=ROWS,
    help="for another trainer than the recipe's: count changed labels over the first N rows only",
)
def export(**given: Any) -> int:
    """Write the recipe, a stand-alone script that prepares the data the same way, or a trainer's config; exit 1 and
    nothing written, but with --force, where no answer of the data reaches the model."""
    from sftui.cli.export import export_files

    return export_files(**given)


@command(
    "repair",
    WRITE,
    "a repaired copy of the data, never in place",
    ("sftui repair --list", "the repairs"),
    ("sftui repair data.jsonl --apply map-roles,trim -o repaired.jsonl", "two of them"),
)
@opening_options
@option(
    "--apply",
    group=USUAL,
    multiple=True,
    metavar="NAMES",
    help="repairs to make, e.g. map-roles,trim,deduplicate; see --list",
)
@option(
    "--drop",
    group=USUAL,
    multiple=True,
    metavar="WHAT",
    help="leave out rows: unreadable, empty, no-answer, or codes of findings",
)
@option("--marks", group=ROWS, metavar="FILE", help="MARKS.jsonl of the inspector: leave out the rows marked drop")
@new_file_option
@log_option
@option("--dry-run", group=WRITTEN, is_flag=True, help="count what would change, write no data")
@option("--list", "listing", is_flag=True, help="list the repairs")
@force_option
def repair(listing: bool, **given: Any) -> int:
    """Write DATA with repairs to a new file, never in place; rows that need none keep every byte."""
    from sftui.cli.repair import list_repairs, repair_data

    return list_repairs() if listing else repair_data(**given)


@command(
    "convert",
    WRITE,
    "rows of another shape as messages, and the config for them",
    ("sftui convert sharegpt.json --for trl -o messages.jsonl", "for TRL, with its config"),
    ("sftui convert alpaca.json --for trl -o messages.jsonl --dry-run", "only count what would change"),
)
@opening_options
@option(
    "--for", "reader", group=USUAL, metavar="TRAINER", help="the trainer that is to read them; default: the one named"
)
@option("--apply", group=ROWS, multiple=True, metavar="NAMES", help="repairs to make as well, see sftui repair --list")
@option(
    "--drop", group=ROWS, multiple=True, metavar="WHAT", help="leave out rows, as in sftui repair: unreadable, empty, …"
)
@option("--without", group=ROWS, multiple=True, metavar="COLUMNS", help="leave out columns that would be read instead")
@new_file_option
@output_option("--config-dir", metavar="DIR", help="folder of the config that reads it; default: OUT-config")
@log_option
@option("--dry-run", group=WRITTEN, is_flag=True, help="count what would change, write nothing")
@force_option
def convert(**given: Any) -> int:
    """Write DATA of another shape as messages, with tool_calls and tools, to a new file; beside it the config that
    reads it. Shapes: ShareGPT, Alpaca, question and answer, prompt and completion, function_call turns, calls as text.
    """
    from sftui.cli.convert import convert_data

    return convert_data(**given)


@command(
    "trainers",
    LEARN,
    "the trainers and their releases",
    ("sftui trainers", "what each is, finds and packs"),
    ("sftui trainers --format json", "for programs"),
)
@TRAINERS_FROM
@text_or_json
def trainers(form: str) -> int:
    """List the trainers: what each is, its releases, how it finds answers, packs, and which transformers it brings."""
    from sftui.cli.trainers import list_trainers

    return list_trainers(form)


@command(
    "knobs",
    LEARN,
    "every setting of the recipe, its choices, its keys",
    ("sftui knobs", "all of them"),
    ("sftui knobs mask.rule --trainer trl", "one, as TRL knows it"),
    ("sftui knobs loss", "those that contain a word"),
    ("sftui knobs assistant_only_loss", "what a trainer's key is here"),
)
@click.argument("name", required=False)
@option(
    "--trainer", group=USUAL, metavar="NAME[@VERSION]", help="its options too, with its defaults and its config's keys"
)
@TRAINERS_FROM
@text_or_json
def knobs(name: str | None, trainer: str | None, form: str) -> int:
    """Explain a knob of the recipe, a setting that decides labels: NAME is its name, a word in it, or a trainer's own
    key; without NAME, the list of all."""
    from sftui.cli.knobs import show_knobs

    return show_knobs(name, trainer, form)


@command(
    "explain",
    LEARN,
    "what the code of a finding means",
    ("sftui explain TRU001", "one code"),
    ("sftui explain", "all of them"),
)
@click.argument("code", required=False)
def explain(code: str | None) -> int:
    """What CODE means, when it is harmless and what repairs it; without CODE, the list of all."""
    from sftui.cli.explain import explain_code

    return explain_code(code)


@command(
    "help",
    LEARN,
    "the pages of help, offline",
    ("sftui help labels", "a page"),
    ("sftui help check", "the options of a command"),
)
@click.argument("topic", nargs=-1)
def help_(topic: tuple[str, ...]) -> int:
    """The pages of help, offline: TOPIC is a page, a command or the code of a finding; without it, the list."""
    from sftui.cli.help import show_help

    return show_help(topic, COMMANDS)


@command(
    "skill",
    LEARN,
    "what a coding agent needs to know, as a SKILL.md",
    ("sftui skill", "for .claude/skills/sftui/SKILL.md, or where your agent looks"),
)
def skill() -> int:
    """Print a SKILL.md for coding agents: when to ask sftui, which commands, and how to read what they print."""
    from sftui.cli.skill import print_skill

    return print_skill()


@click.command("remove", cls=HelpCommand)
@click.argument("versions", nargs=-1, metavar="VERSION…")
@option("--all", "everything", is_flag=True, help="remove all")
def remove_envs(versions: tuple[str, ...], everything: bool) -> int:
    """Remove the environments of VERSIONS."""
    from sftui.cli.envs import remove_environments

    return remove_environments(versions, everything)


@command(
    "envs",
    LEARN,
    "the environments that --transformers made",
    ("sftui envs remove 4.55.0", "remove one"),
    cls=CommandGroup,
    invoke_without_command=True,
    commands=[remove_envs],
)
@click.pass_context
def envs(context: click.Context) -> int:
    """List the environments that --transformers made: version, size, last use and folder."""
    if context.invoked_subcommand is not None:
        return 0
    from sftui.cli.envs import list_environments

    return list_environments()


@command(
    "bug-report",
    LEARN,
    "what a bug report needs, as Markdown to paste",
    ("sftui bug-report axolotl.yml", "of the command that went wrong"),
)
@opening_options
def bug_report(**given: Any) -> int:
    """Print what a bug report needs, as Markdown to paste: versions, engine, recipe; no data, paths or secrets.

    Name DATA or CONFIG and the options as in the command that went wrong; the data is not read."""
    from sftui.cli.bug_report import report_bug

    return report_bug(given)


inspect.commands = COMMANDS
UNWATCHED = (inspect, demo, serve, capture, trainers, knobs, explain, envs, help_, skill, bug_report)
"""What runs in this very process: the inspector has a worker, no row comes into an explanation, and what the user's own
command costs is not ours to bound, nor may it be started again."""


def run(words: list[str], *, watched: bool = False, debug: bool = False, started: IdleWorker | None = None) -> int:
    """Run the command that `words` name, else the inspector; its exit code. `watched`: see `cli.supervising`;
    `started` is the worker that the inspector may take."""
    command: HelpCommand = inspect
    rest = words
    if words and words[0] in COMMANDS:
        command, rest = COMMANDS[words[0]], words[1:]
        if os.path.exists(words[0]):
            click.echo(f"sftui: `{words[0]}` is the command; to open the file say ./{words[0]}", err=True)
    if started is not None and command not in (inspect, demo):
        started.end()
    try:
        # Not command.main: it answers a closed pipe with exit code 1 before we could.
        with command.make_context(command.name, list(rest), obj=started) as context:
            if watched and command not in UNWATCHED:
                from sftui.cli.opening import data_paths
                from sftui.cli.supervising import supervised

                if "-" in context.params.get("data", ()):
                    context.params["data"] = data_paths(context.params["data"])  # a pipe can be read but once
                return supervised(lambda: _ended(command, context), debug)
            return _ended(command, context)
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.ClickException as error:
        error.show(sys.stderr)
        return 2


def _ended(command: click.Command, context: click.Context) -> int:
    """Run a command whose words are understood; its exit code."""
    try:
        code = command.invoke(context)
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.Abort:
        click.echo("sftui: stopped, nothing was written", err=True)
        return 2
    except click.ClickException as error:
        error.show(sys.stderr)
        return 2
    return code if isinstance(code, int) else 0
