"""The commands, as click declares them; each imports what it needs when it runs."""

from __future__ import annotations

import os
import sys
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
    flag,
    number_option,
)
from sftui.cli.opening import TRAINERS_FROM, data_paths, opening_options, serving_option
from sftui.cli.terminal import narrate
from sftui.session.declared import FINDINGS, OTHER, USUAL
from sftui.starting import IdleWorker

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


def output_option(text: str, *names: str, group: str = WRITTEN, metavar: str = "FILE", **attributes: Any) -> Option:
    """An option that names what the command writes."""
    return Option(group, metavar, text, *names, type=OUTPUT, **attributes)


first_row = number_option(USUAL, "the row to show first, from 0", "--row", default=0, least=0)
theme_option = choice_option(OTHER, ["dark", "light", "ansi", "mono"], "colours; default: by the terminal", "--theme")
no_mouse = flag(OTHER, "leave the mouse to the terminal", "--no-mouse")
text_or_json = choice_option(
    WRITTEN, ["text", "json"], "text to read, or json for programs", "--format", "form", default="text"
)
width_option = number_option(WRITTEN, "columns of the output; default: the terminal, or 80", "--width", least=20)
force_option = flag(WRITTEN, "overwrite without asking", "--force")
first_rows = number_option(ROWS, "only the first N rows", "--max-rows")
sampled = number_option(ROWS, "only N rows, evenly spaced", "--sample")
select_option = Option(
    FINDINGS, "CODES", "only these codes or code prefixes, e.g. TRU,LAB001", "--select", multiple=True
)
ignore_option = Option(FINDINGS, "CODES", "all but these codes or code prefixes", "--ignore", multiple=True)
eval_option = Option(
    FINDINGS, "DATA", "the evaluation set, to find its prompts in the training data", "--eval", "evaluation"
)
jobs_option = number_option(
    WORK, "processes; default: one fewer than the machine has cores, or with ray all that the cluster has", "--jobs"
)
ENGINE = "where the work is done: here, or on a Ray cluster; default: local"
engine_option = choice_option(WORK, [LOCAL, RAY], ENGINE, "--engine", default=LOCAL)
address_option = Option(WORK, "ADDRESS", "the Ray cluster, e.g. auto; default: one of this machine", "--address")
new_file_option = output_option("OUT.jsonl or OUT.parquet, a new file", "-o", "--out")
log_option = output_option("LOG.jsonl: every change, row by row; default: OUT.log.jsonl", "--log")


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
    from sftui.cli.inspector import ScreenOptions, can_pick, open_inspector

    if not given["data"] and given["config"] is None and not can_pick():
        click.echo(WELCOME, nl=False)
        return 0

    return open_inspector(given, row, ScreenOptions(theme, not no_mouse, started), COMMANDS)


@command(
    LOOK,
    "open the inspector on bundled data, offline",
    ("sftui demo", "a tour in six steps"),
    ("sftui demo sharegpt", "other rows, without the tour"),
    module="inspector",
)
@click.argument("name", required=False)
@Option(USUAL, "NAME", "another tokenizer than the sample's own", "-t", "--tokenizer")
@theme_option
@no_mouse
@flag(OTHER, "show a full trace when something fails", "--debug")
def demo() -> None:
    """Open the inspector on bundled sample data, offline; without NAME with a tour through rows with defects."""


@data_command(
    LOOK,
    "the inspector in a browser, for this machine alone",
    ("sftui serve data.jsonl -t TOK", "prints the address to open"),
    ("sftui serve axolotl.yml --port 8080", "at a port of your choice"),
)
@serving_option
@first_row
@Option(USUAL, "N", "default: one that is free", "--port", type=click.IntRange(0, 65535), default=0)
@Option(USUAL, "ADDRESS", "default: 127.0.0.1, this machine alone", "--host", default="127.0.0.1")
@flag(USUAL, "also a --host that other machines reach; nothing is encrypted", "--public")
@choice_option(OTHER, ["dark", "light", "ansi", "mono"], "colours; default: dark", "--theme")
def serve() -> None:
    """Open the inspector on DATA in a browser: print an address that only who has it can open. Needs pip install
    'sftui[serve]'."""


@data_command(
    LOOK,
    "print one row: tokens, labels and why each is trained or masked",
    ("sftui show data.jsonl -t TOK --row 3", "row 3, from 0"),
    ("sftui show axolotl.yml --shift", "what is predicted from each token"),
    ("sftui show data.jsonl -t TOK --format json", "for programs"),
)
@number_option(USUAL, "the row to print, from 0", "--row", default=0, least=0)
@flag(WRITTEN, "the input token at each position, and the token to predict from it", "--shift")
@choice_option(WRITTEN, ["text", "columns", "rows"], "how the tokens are laid out", "--view", default="rows")
@text_or_json
@flag(WRITTEN, "json: add tokens, reasons and spans", "--explain")
@width_option
def show() -> None:
    """Print one row: its tokens, labels and why each is trained or masked."""


@data_command(
    LOOK,
    "where trainers, recipes, templates or tokenizers differ",
    ("sftui compare axolotl.yml --with trl@1.16", "the same rows under another trainer"),
    ("sftui compare data.jsonl -t TOK --trainer trl@1.16 --with trl@1.14", "two releases"),
    ("sftui compare data.jsonl -t TOK --with mask.rule=assistant", "one knob"),
    ("sftui compare batches.parquet --against axolotl.yml", "what a real run had, beside what sftui says"),
)
@Option(
    USUAL,
    "OTHER",
    (
        "a recipe, a trainer's config, a preset (trl@1.14), tokenizer=NAME, template=NAME or KNOB=VALUE; "
        "several changes in quotes; may be repeated"
    ),
    "--with",
    "others",
    multiple=True,
)
@Option(
    USUAL,
    "CONFIG|DATA",
    (
        "look for each sequence of captured batches, or of stored ids, in this dataset, prepared by a config or by the"
        " other options (--recipe, --trainer, …); what they leave open is as in the run"
    ),
    "--against",
)
@first_rows
@sampled
@number_option(ROWS, "differing rows to print; default: 3", "--show", "shown", default=3, least=0)
@number_option(
    ROWS,
    "differing rows, evenly spaced, of which is found out why they differ; default: 200",
    "--causes",
    default=200,
    least=0,
)
@text_or_json
@width_option
def compare() -> None:
    """Show where two or more recipes, trainers, templates or tokenizers differ, or a real run from sftui, and why; exit
    1 if any row differs, 2 if none could be compared."""


@data_command(
    CHECK,
    "what is wrong in the set-up and in every row, and the fix",
    ("sftui check axolotl.yml", "what is wrong in a config and its data"),
    ("sftui check data.jsonl -t TOK --format json -o found.json", "for programs"),
    ("sftui check data.jsonl -t TOK --select TRU,LAB --fail-on warning", "some codes, for CI"),
    ("sftui check axolotl.yml --fix fixed", "what helps, as new data and a new config, checked again"),
)
@serving_option
@choice_option(WRITTEN, FORMATS, "text to read, or a format for programs", "--format", "form", default="text")
@Option(
    WRITTEN,
    "FORMAT FILE",
    "write another format to FILE, of the same run; may be repeated",
    "--also",
    multiple=True,
    type=(click.Choice(FORMATS), OUTPUT),
)
@choice_option(
    FINDINGS,
    ["error", "warning", "never"],
    "exit 1 from this severity on; default: error",
    "--fail-on",
    default="error",
)
@Option(
    FINDINGS,
    "CODE=RATE",
    (
        "exit 1 where more than this share of rows has the code, e.g. TRU=0.5%, and not below it, whatever --fail-on"
        " says; CODE=baseline: the share recorded in the --baseline file; may be repeated"
    ),
    "--max-rate",
    multiple=True,
)
@select_option
@ignore_option
@first_rows
@sampled
@output_option("ignore the findings recorded in FILE", "--baseline", group=FINDINGS)
@flag(FINDINGS, "write the current findings to the --baseline file", "--write-baseline")
@eval_option
@output_option(
    "put what was tried and helps in force: new data and a new config in this folder, checked again",
    "--fix",
    group=FINDINGS,
    metavar="DIR",
)
@Option(
    FINDINGS,
    "WHAT",
    "with --fix: leave out rows, as in sftui repair: unreadable, empty, no-answer, or codes of findings",
    "--drop",
    multiple=True,
)
@output_option("write there instead of to stdout", "-o", "--out")
@force_option
@jobs_option
@engine_option
@address_option
def check() -> None:
    """Find what is wrong in the set-up and in every row, and the key that fixes it; exit 1 if problems are found, with
    --fix if any are left."""


@data_command(
    CHECK,
    "figures, plots and findings as one HTML page",
    ("sftui report axolotl.yml -o report.html", "of the whole dataset"),
    module="check",
)
@serving_option
@output_option("the page to write, e.g. report.html", "-o", "--out", required=True)
@select_option
@ignore_option
@first_rows
@sampled
@eval_option
@force_option
@jobs_option
@engine_option
@address_option
def report() -> None:
    """Write the figures, plots and findings of the whole dataset as one self-contained HTML page."""


@data_command(
    CHECK,
    "run your installed trainer and print where sftui differs",
    ("sftui verify axolotl.yml --python ~/train/bin/python", "50 rows through the Axolotl of that environment"),
)
@Option(USUAL, "PATH", "the python of an environment that has the trainer installed", "--python", required=True)
@number_option(ROWS, "number of rows, evenly spaced; default: 50", "--rows", default=50)
def verify() -> None:
    """Run the real, installed trainer on some rows and print where sftui's labels differ; exit 1 if any do."""


@command(
    CHECK,
    "run your training up to its first step, keep its batches",
    ("sftui capture -o batches.parquet -- python train.py", "the first 8 batches, as the model receives them"),
    ("sftui capture -o batches.parquet --batches 2 -- axolotl train axolotl.yml", "of any trainer"),
    ("sftui batches.parquet", "look at them"),
)
@click.argument("command", nargs=-1, required=True, metavar="-- COMMAND…", type=click.UNPROCESSED)
@output_option("OUT.parquet, which only you may read", "-o", "--out", required=True)
@number_option(
    USUAL,
    "so many; what the first optimizer step leaves over comes from the data loader; default: 8",
    "--batches",
    default=8,
)
@flag(
    USUAL,
    "take them from the data loader, without running or loading a model: transformers' models get no weights",
    "--no-model",
)
@number_option(WRITTEN, "keep N tokens of each sequence", "--clip")
@force_option
def capture() -> None:
    """Run COMMAND, your own training command, in your environment, keep its first batches as the model receives them,
    and end it before its first optimizer step. This runs your code; nothing is installed, no optimizer makes a step.
    """


@data_command(
    CHECK,
    "print, tag or probe the chat template in use",
    ("sftui template -t TOK --probe", "what goes wrong with it, without data"),
    ("sftui template data.jsonl -t TOK --add-generation-tags -o tagged.jinja", "a copy with generation tags"),
)
@flag(
    USUAL,
    "put {% generation %} tags around the assistant's answers, with proof over DATA",
    "--add-generation-tags",
    "tags",
)
@flag(USUAL, "try it on shapes of conversation that no data need hold; without DATA", "--probe")
@Option(USUAL, "SHAPE", "print one of these conversations, its text, what is wrong", "--probe-show", "shown")
@choice_option(WRITTEN, ["text", "json"], "of --probe: text, or json for programs", "--format", "form", default="text")
@width_option
@output_option("write it, e.g. to chat_template.jinja", "-o", "--out")
@force_option
@number_option(ROWS, "prove over the first N rows only", "--max-rows")
def template() -> None:
    """Print the chat template in use, what generation tags change in it, or what goes wrong with it; exit 1 where
    tags cannot be proven or the probe finds errors."""


@data_command(
    WRITE,
    "what reaches the model: ids, labels and masks as JSONL or Parquet",
    ("sftui encode axolotl.yml -o encoded.parquet", "every row, or every pack"),
    ("sftui encode data.jsonl -t TOK -o - --explain", "JSON lines with tokens and reasons"),
)
@output_option("OUT.jsonl or OUT.parquet; - writes JSON lines to stdout", "-o", "--out", required=True)
@flag(WRITTEN, "add tokens, reasons and spans of every row", "--explain")
@flag(WRITTEN, "one record per row, even if the recipe packs", "--unpacked")
@force_option
@number_option(WORK, "with ray: its workers; default: all that the cluster has", "--jobs")
@engine_option
@address_option
def encode() -> None:
    """Write what the trainer would train on: one record per row, or per pack if the recipe packs."""


@data_command(
    WRITE,
    "the recipe, a script, or a trainer's config with what you changed",
    ("sftui export data.jsonl -t TOK --trainer trl --to trl -o config", "a config for TRL"),
    ("sftui export axolotl.yml --to preprocess -o script", "a script that prepares the data alike"),
)
@Option(USUAL, "WHAT", "recipe, preprocess, or a trainer's name", "--to", required=True)
@output_option("the folder to write into", "-o", "--out", "folder", required=True, metavar="DIR")
@force_option
@number_option(
    ROWS, "for another trainer than the recipe's: count changed labels over the first N rows only", "--max-rows"
)
def export() -> None:
    """Write the recipe, a stand-alone script that prepares the data the same way, or a trainer's config; exit 1 and
    nothing written, but with --force, where no answer of the data reaches the model."""


@data_command(
    WRITE,
    "a repaired copy of the data, never in place",
    ("sftui repair --list", "the repairs"),
    ("sftui repair data.jsonl --apply map-roles,trim -o repaired.jsonl", "two of them"),
)
@Option(USUAL, "NAMES", "repairs to make, e.g. map-roles,trim,deduplicate; see --list", "--apply", multiple=True)
@Option(USUAL, "WHAT", "leave out rows: unreadable, empty, no-answer, or codes of findings", "--drop", multiple=True)
@Option(ROWS, "FILE", "MARKS.jsonl of the inspector: leave out the rows marked drop", "--marks")
@new_file_option
@log_option
@flag(WRITTEN, "count what would change, write no data", "--dry-run")
@flag(OTHER, "list the repairs", "--list", "listing")
@force_option
def repair() -> None:
    """Write DATA with repairs to a new file, never in place; rows that need none keep every byte."""


@data_command(
    WRITE,
    "rows of another shape as messages, and the config for them",
    ("sftui convert sharegpt.json --for trl -o messages.jsonl", "for TRL, with its config"),
    ("sftui convert alpaca.json --for trl -o messages.jsonl --dry-run", "only count what would change"),
)
@Option(USUAL, "TRAINER", "the trainer that is to read them; default: the one named", "--for", "reader")
@Option(ROWS, "NAMES", "repairs to make as well, see sftui repair --list", "--apply", multiple=True)
@Option(ROWS, "WHAT", "leave out rows, as in sftui repair: unreadable, empty, …", "--drop", multiple=True)
@Option(ROWS, "COLUMNS", "leave out columns that would be read instead", "--without", multiple=True)
@new_file_option
@output_option("folder of the config that reads it; default: OUT-config", "--config-dir", metavar="DIR")
@log_option
@flag(WRITTEN, "count what would change, write nothing", "--dry-run")
@force_option
def convert() -> None:
    """Write DATA of another shape as messages, with tool_calls and tools, to a new file; beside it the config that
    reads it. Shapes: ShareGPT, Alpaca, question and answer, prompt and completion, function_call turns, calls as text.
    """


@command(
    LEARN,
    "the trainers and their releases",
    ("sftui trainers", "what each is, finds and packs"),
    ("sftui trainers --format json", "for programs"),
)
@TRAINERS_FROM
@text_or_json
def trainers() -> None:
    """List the trainers: what each is, its releases, how it finds answers, packs, and which transformers it brings."""


@command(
    LEARN,
    "every setting of the recipe, its choices, its keys",
    ("sftui knobs", "all of them"),
    ("sftui knobs mask.rule --trainer trl", "one, as TRL knows it"),
    ("sftui knobs loss", "those that contain a word"),
    ("sftui knobs assistant_only_loss", "what a trainer's key is here"),
)
@click.argument("name", required=False)
@Option(USUAL, "NAME[@VERSION]", "its options too, with its defaults and its config's keys", "--trainer")
@TRAINERS_FROM
@text_or_json
def knobs() -> None:
    """Explain a knob of the recipe, a setting that decides labels: NAME is its name, a word in it, or a trainer's own
    key; without NAME, the list of all."""


@command(
    LEARN,
    "what the code of a finding means",
    ("sftui explain TRU001", "one code"),
    ("sftui explain", "all of them"),
    module="help",
)
@click.argument("code", required=False)
def explain() -> None:
    """What CODE means, when it is harmless and what repairs it; without CODE, the list of all."""


@command(
    LEARN,
    "the pages of help, offline",
    ("sftui help labels", "a page"),
    ("sftui help check", "the options of a command"),
    module="help",
)
@click.argument("topic", nargs=-1)
def help_() -> None:
    """The pages of help, offline: TOPIC is a page, a command or the code of a finding; without it, the list."""


@command(
    LEARN,
    "what a coding agent needs to know, as a SKILL.md",
    ("sftui skill", "for .claude/skills/sftui/SKILL.md, or where your agent looks"),
    module="help",
)
def skill() -> None:
    """Print a SKILL.md for coding agents: when to ask sftui, which commands, and how to read what they print."""


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
    "what a bug report needs, as Markdown to paste",
    ("sftui bug-report axolotl.yml", "of the command that went wrong"),
)
def bug_report() -> None:
    """Print what a bug report needs, as Markdown to paste: versions, engine, recipe; no data, paths or secrets.

    Name DATA or CONFIG and the options as in the command that went wrong; the data is not read."""


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
            narrate(f"`{words[0]}` is the command; to open the file say ./{words[0]}")
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
        narrate("stopped, nothing was written")
        return 2
    except click.ClickException as error:
        error.show(sys.stderr)
        return 2
    return code if isinstance(code, int) else 0
