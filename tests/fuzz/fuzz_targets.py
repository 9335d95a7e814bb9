"""What the commands and the inspector call, as functions of one input: whatever it is, they return or raise SftuiError.

Each target takes the JSON data that its generator in `fuzz_inputs` made. Two things are asked besides that nothing is
raised: what is told is safe to draw, and what is printed as a record is JSON.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import fuzz_inputs
from trainers import having, module_of

from sftui import pipeline, trainers
from sftui.errors import SftuiError
from sftui.model import Inspection, Row
from sftui.recipe import KnobInfo, Recipe, changed, knobs
from sftui.text import visible
from sftui.trainers.own_config import notes_of, write_config

TOKENIZERS = ("builtin:chatml", "builtin:llama3", "builtin:gemma")
PRESETS = {
    "hf-trainer": {},
    "manual-shift": {},
    **{
        preset: getattr(held, "KNOBS", {})
        for held in (module_of(trainer, "fuzz") for trainer in having("fuzz"))
        for preset in held.PRESETS
    },
}
"""Presets that rows go through, each with the knobs that are set for it."""
NAMES = tuple(PRESETS)


class Untrue(AssertionError):
    """Something came back that must not."""


@dataclass(frozen=True)
class Target:
    """A generator with what it makes inputs for, and how many of a hundred inputs are its own."""

    make: Callable[[Random], Any]
    run: Callable[[Any, Path], None]
    share: int


@cache
def _tokenizer(name: str) -> Any:
    from sftui.tokens import load_tokenizer

    return load_tokenizer(name)


@cache
def _preset(number: int) -> Recipe:
    name = NAMES[number % len(NAMES)]
    recipe = changed(trainers.preset(name), "tokenizer.name", TOKENIZERS[number // len(NAMES) % len(TOKENIZERS)])
    for path, value in PRESETS[name].items():
        recipe = changed(recipe, path, value)
    return recipe


@cache
def _tools(recipe_key: int) -> Any:
    recipe = _preset(recipe_key)
    return pipeline.make_toolbox(recipe, _tokenizer(recipe.tokenizer.name or ""))


def _row(data: Any, index: int = 0) -> Row:
    raw = json.dumps(data, ensure_ascii=False)
    if not isinstance(data, Mapping):
        return Row(index, None, raw, f"row {index}", len(raw), f"row {index} is no object")
    return Row(index, data, raw, f"row {index}", len(raw))


def _drawable(text: str) -> None:
    if visible(text, newline="\n") != text:
        raise Untrue(f"not safe to draw: {text[:200]!r}")


def run_rows(given: Any, folder: Path) -> None:
    """Rows under a preset with some knobs changed: everything that is shown, found, packed and repaired of them."""
    number = given["preset"] % (len(NAMES) * len(TOKENIZERS))
    recipe, table = _preset(number), knobs()
    for which, value in given["knobs"]:
        info = table[which % len(table)]
        if info.path.startswith("tokenizer.name"):
            continue
        recipe = changed(recipe, info.path, _fitting(info, Random(str(value))))
    tools = (
        _tools(number) if not given["knobs"] else pipeline.make_toolbox(recipe, _tokenizer(recipe.tokenizer.name or ""))
    )
    rows = [_row(one, at) for at, one in enumerate(given["rows"])]
    _inspect(rows, recipe, tools, given["more"])


def _fitting(info: KnobInfo, pick: Random) -> Any:
    """A value that the validator lets through, else the knob's default."""
    from sftui.recipe_io import Misfit, check

    made = check(info, _any_value(info, pick))
    return info.default if isinstance(made, Misfit) else made


def _any_value(info: KnobInfo, pick: Random) -> Any:
    """A value of about the right kind."""
    if info.choices:
        return pick.choice(info.choices)
    if info.type.endswith("?") and pick.random() < 0.2:
        return None
    if info.type == "bool":
        return pick.random() < 0.5
    if info.type.startswith("int"):
        return max(info.minimum if info.minimum is not None else -100, pick.choice((-100, 0, 1, 2, 7, 64, 2**40)))
    if info.type.startswith("str"):
        return fuzz_inputs.text(pick)
    if info.type == "list":
        return [fuzz_inputs.text(pick) for _ in range(pick.randint(0, 2))]
    names = (*fuzz_inputs.ROW_KEYS, *_OPTION_NAMES)
    if info.type == "names":
        return {pick.choice(names): pick.choice((*names, fuzz_inputs.text(pick))) for _ in range(pick.randint(0, 3))}
    return {pick.choice(names): fuzz_inputs.value(pick) for _ in range(pick.randint(0, 3))}


_OPTION_NAMES = (
    "type",
    "field",
    "train_on_eos",
    "eot_tokens",
    "tokens",
    "special_tokens",
    "message_property_mappings",
    "chat_template_jinja",
    "split_thinking",
    "drop_system_message",
    "sample_packing_bin_size",
    "dataset_text_field",
    "completion_only_loss",
    "tool_format",
    "stage",
    "packing",
    "formatting",
    "standardize",
    "text_from",
    "formatting_func",
    "prompt_template",
    "split_across_pack",
    "trl_version",
    "force_match",
)


def _inspect(rows: list[Row], recipe: Recipe, tools: Any, more: float) -> None:
    from sftui.audit.audit import Audit
    from sftui.cli.show import text_lines
    from sftui.exports.records import as_json, records
    from sftui.findings import Context, check_row

    detected = pipeline.detect(rows, recipe)
    tools = pipeline.survey(rows[0], detected, recipe, tools)
    context = Context.of(recipe, detected, tools)
    seen: list[Inspection] = []
    for row in rows:
        inspection = pipeline.inspect(row, detected, recipe, tools, text=True)
        seen.append(inspection)
        for record in records(inspection, explain=True):
            json.loads(as_json(record))
        for finding in check_row(inspection, context):
            _drawable(finding.sentence + finding.evidence)
    if more < 0.25:
        for inspection in seen:
            for view in ("text", "columns", "rows"):
                for line in text_lines(inspection, recipe, view, more < 0.1, True, 60):
                    _drawable(line)
    elif more < 0.4:
        audit = Audit(context)
        for inspection in seen:
            audit.check(inspection, context)
        audit.finish()
        audit.figures()
    elif more < 0.55:
        _repair(rows, detected)
    elif more < 0.7:
        _together(seen, recipe, tools)
    elif more < 0.8:
        from sftui.comparison import compare_row
        from sftui.views.cells import plain
        from sftui.views.compare import compare_lines

        other = changed(_preset(0), "mask.rule", "all")
        over = pipeline.detect(rows, other)
        for inspection in seen:
            against = pipeline.inspect(inspection.row, over, other, _tools(0), text=True)
            comparison = compare_row([inspection, against])
            _drawable(plain(compare_lines(comparison, ("one", "other"), 60)))
    elif more < 0.88:
        from sftui.views.boundary import boundary_lines
        from sftui.views.cells import plain
        from sftui.views.panes import conversation_lines, raw_lines, rendered_lines

        for inspection in seen:
            for lines in (conversation_lines, rendered_lines, boundary_lines):
                _drawable(plain(lines(inspection, 60)))
            _drawable(plain(raw_lines(inspection.row, 60)))
    elif more < 0.93:
        _export(rows, detected, recipe)


def _repair(rows: list[Row], detected: Any) -> None:
    from sftui.repairs.lines import line_of
    from sftui.repairs.rows import DROP_REASONS
    from sftui.repairs.run import REPAIRS, layout_after, make_plan, repaired

    for conversion in ((), ("to-messages",)):
        plan = make_plan([*conversion, *REPAIRS, "deduplicate"], DROP_REASONS)
        for done in repaired(iter(rows), plan, layout_after(plan, detected)):
            line = line_of(done, done.row.raw.encode("utf-8", "surrogatepass"))
            if line is not None:
                json.loads(line)


def _together(seen: list[Inspection], recipe: Recipe, tools: Any) -> None:
    from sftui.views.batch import batch_lines, pack_lines
    from sftui.views.cells import plain

    batch = pipeline.make_batch(seen, recipe, tools)
    _drawable(plain(batch_lines(batch, 60)))
    packs, _ = pipeline.make_packs(seen, recipe, tools)
    for pack in packs:
        _drawable(plain(pack_lines(pack, 60)))


def _export(rows: list[Row], detected: Any, recipe: Recipe) -> None:
    from sftui.exports.plan import plan_export
    from sftui.exports.prepared import ExportInput
    from sftui.sources.source import LINES

    base = trainers.preset(recipe.preset)
    prepared = ExportInput(("data.jsonl",), loading=LINES, detected=detected, plainly=detected, sample=tuple(rows))
    for to in ("recipe", "preprocess", recipe.preset.partition("@")[0], "trl", "axolotl"):
        try:
            plan = plan_export(to, "out", recipe, base, prepared)
        except SftuiError:
            continue
        for file in plan.files:
            if file.path.suffix == ".py":
                compile(file.content, "exported.py", "exec")


def run_config(given: Any, folder: Path) -> None:
    """A recipe or a trainer's config: opened, a row under it, and written back with a knob changed."""
    from sftui.recipe_io import parse_yaml
    from sftui.trainers.config import Facts
    from sftui.trainers.recognise import recognise

    kind, text = given["kind"], given["text"]
    if kind == "recipe":
        recipe = trainers.load_recipe(text, "recipe.yaml")
        trainers.load_recipe(trainers.dump_recipe(recipe), "again.yaml")
        _with_row(recipe, given)
        return
    if given["as"] < 0.1:
        told = recognise(parse_yaml(text, "config.yaml"))
        kind = told.trainer or kind
    trainer = trainers.trainer_named(kind)
    opened = trainer.read_config("config.yaml", text, None)
    for note in opened.keys:
        visible(f"{note.use.value}: {note.path} {note.note}")
    for reference in opened.datasets[:2]:
        notes_of(reference.recipe)
        _with_row(reference.recipe, given)
    pick = Random(str(given["knob"]))
    info = pick.choice(knobs())
    recipe = changed(opened.recipe, info.path, _fitting(info, pick))
    facts = Facts(data="data.jsonl", tokenizer="builtin:chatml", format="messages")
    written = write_config(recipe, opened, facts)
    write_config(recipe, None, facts)
    trainers.dump_recipe(opened.recipe)
    for file in written.files:
        if file.name.endswith((".yml", ".yaml")):
            trainer.read_config(file.name, file.content, None)


def _with_row(recipe: Recipe, given: Any) -> None:
    """One right row under a recipe, with a built-in tokenizer whatever it names."""
    if given["as"] > 0.5:
        return
    recipe = changed(recipe, "tokenizer.name", "builtin:chatml")
    tools = pipeline.make_toolbox(recipe, _tokenizer("builtin:chatml"))
    _inspect([_row(given["row"])], recipe, tools, given["as"] * 2)


def run_settings(given: Any, folder: Path) -> None:
    from sftui.settings import read_settings
    from sftui.tui.keys import keymap_problems

    found = read_settings(given["text"], "settings.yaml")
    keymap_problems((), found.keymap)
    for problem in found.problems:
        visible(problem)


def run_template(given: Any, folder: Path) -> None:
    """A template: compiled, looked at, a row rendered, and seldom generation tags put in."""
    from sftui.templates import compile_template
    from sftui.templates.rendering.template import variables_of

    template = compile_template(given["source"], "evil.jinja")
    variables_of(template)
    path = folder / "evil.jinja"
    path.write_bytes(given["source"].encode("utf-8", "surrogatepass"))
    recipe = changed(_preset(2), "render.template", f"file:{path}")
    tools = pipeline.make_toolbox(recipe, _tokenizer(recipe.tokenizer.name or ""))
    rows = [_row(given["row"])]
    _inspect(rows, recipe, tools, 0.99)
    if given["tags"]:
        from sftui.templates.tags.surgery import add_generation_tags

        detected = pipeline.detect(rows, recipe)
        conversation = pipeline.inspect_early(rows[0], detected, recipe).conversation
        add_generation_tags(
            given["source"],
            "evil",
            {"bos_token": "<s>"},
            [conversation] if conversation is not None else [],
            options=recipe.render,
        )


def run_tokenizer(given: Any, folder: Path) -> None:
    """A folder with a tokenizer: read as it stands, and a row with it."""
    from sftui.tokens.loading.locate import fingerprint, locate
    from sftui.tokens.loading.raw import load_raw

    place = folder / "tokenizer"
    place.mkdir(exist_ok=True)
    for old in place.iterdir():
        old.unlink()
    for name, text in given["files"].items():
        (place / name).write_bytes(text.encode("utf-8", "surrogatepass"))
    found = locate(str(place))
    fingerprint(found)
    tokenizer = load_raw(found)
    recipe = changed(_preset(0), "tokenizer.name", str(place))
    tools = pipeline.make_toolbox(recipe, tokenizer)
    _inspect([_row(given["row"])], recipe, tools, 0.1)


def run_options(given: Any, folder: Path) -> None:
    """A command line whose values do not fit, up to what it would open."""
    import click

    from sftui.cli.app import COMMANDS
    from sftui.cli.opening import open_options

    command = COMMANDS[given["command"]]
    words = ["data.jsonl", *given["words"]] if given["command"] != "explain" else given["words"][:1]
    if given["command"] in ("encode", "export"):
        words += ["-o", "out.jsonl"]
    try:
        with command.make_context(given["command"], list(words)) as context:
            parsed = context.params
    except click.exceptions.Exit:
        return
    except click.ClickException as error:
        visible(error.format_message())
        return
    if given["command"] == "explain":
        return
    options = open_options(parsed)
    if parsed.get("others"):
        from sftui.cli.compare import other_side

        for other in parsed["others"]:
            other_side(other, options.recipe)


def run_data(given: Any, folder: Path) -> None:
    """A data file: opened, its rows, its lines, its damage; and how the rows are read."""
    from sftui.sources import SourceSpec, open_source

    path = folder / given["name"]
    path.write_bytes(given["bytes"].encode("latin-1"))
    source = open_source(SourceSpec((str(path),), field=given["field"]))
    try:
        rows = list(islice(source.rows(), 20))
        source.columns()
        source.read_through()
        list(islice(source.lines(), 20))
        for note in (*source.notes, *(one.sentence() for one in source.damage)):
            visible(note)
        source.change()
        for row in rows:
            visible(row.problem or "")
        if rows:
            recipe = _preset(0)
            detected = pipeline.detect(rows, recipe)
            for row in rows[:3]:
                pipeline.inspect_early(row, detected, recipe)
    finally:
        source.close()


def run_side_file(given: Any, folder: Path) -> None:
    """A file beside the data, as it may have been left or handed over."""
    kind, text = given["kind"], given["text"]
    path = folder / "side"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    if kind == "marks":
        from sftui.session.marks import read_marks

        read_marks(text, "marks.jsonl").to_text()
    elif kind == "baseline":
        from sftui.exports.baseline import may_replace, read_baseline

        try:
            read_baseline(path)
        finally:
            may_replace(path)
    elif kind == "waivers":
        from sftui.findings import read_waivers

        try:
            read_waivers(json.loads(text))
        except (ValueError, RecursionError):
            return
    elif kind == "dataset_info":
        (folder / "dataset_info.json").write_bytes(path.read_bytes())
        config = json.dumps({"dataset": "one", "dataset_dir": str(folder), "template": "qwen"})
        trainers.trainer_named("llamafactory").read_config("c.yaml", config, None)
    else:
        from sftui.sources import SourceSpec, open_source

        place = folder / "saved"
        place.mkdir(exist_ok=True)
        for old in place.iterdir():
            old.unlink()
        (place / ("dataset_dict.json" if kind == "splits" else "state.json")).write_bytes(path.read_bytes())
        open_source(SourceSpec((str(place),))).close()


def run_text(given: Any, folder: Path) -> None:
    """The choke point itself: what it lets through is safe, and comes out of it a second time unchanged."""
    from sftui.text import cell_width, clip, visible_blanks, visible_token

    shown = visible(given["text"])
    _drawable(shown)
    if any(ord(char) < 32 or 0x7F <= ord(char) < 0xA0 for char in shown):
        raise Untrue(f"a control character came through: {shown!r}")
    if cell_width(clip(shown, given["width"])) > given["width"]:
        raise Untrue("clipped text is wider than it may be")
    shown.encode("utf-8")
    visible_blanks(given["text"])
    visible_token(given["text"].encode("utf-8", "surrogatepass"), given["text"])


def run_folder(given: Any, folder: Path) -> None:
    """A folder of data as somebody hands it over: what is found in it, its rows, what is told of them."""
    from sftui.session.inputs import data_files
    from sftui.session.options import OpenOptions
    from sftui.session.ready import open_data

    place = folder / "handed over"
    shutil.rmtree(place, ignore_errors=True)
    (place / "sub").mkdir(parents=True)
    for name, made in given["files"].items():
        (place / name).write_bytes(made.encode("latin-1"))
    for name, aim in given["links"].items():
        (place / name).symlink_to(aim)
    path = os.path.join(place, given["asked"])
    options = OpenOptions(paths=(path,), split=given["split"])
    session = open_data(options, _preset(0))
    try:
        data_files(options.paths, options.split)
        rows = list(islice(session.rows(), 20))
        session.source.read_through()
        session.source.change()
        for note in (*session.source.notes, *(one.sentence() for one in session.source.damage)):
            visible(note)
        for one in rows[:3]:
            session.inspect_row(one)
    finally:
        session.close()


def run_command(given: Any, folder: Path) -> None:
    """A command from its words to what it prints: nothing raw, JSON where that is asked for, and an exit code it may
    have."""
    from sftui.cli.app import run

    (folder / "data.jsonl").write_bytes(
        b"".join(json.dumps(one).encode("utf-8", "surrogatepass") + b"\n" for one in given["rows"])
    )
    preset = NAMES[given["preset"] % len(NAMES)]
    tokenizer = TOKENIZERS[given["preset"] // len(NAMES) % len(TOKENIZERS)]
    words = [given["command"], "data.jsonl", "-t", tokenizer, "--trainer", preset, *given["words"]]
    if given["command"] == "check":
        words += ["--jobs", "1"]
    if given["command"] == "report":
        words += ["-o", "report.html"]
    kept = io.BytesIO(), io.BytesIO()
    out, told = (io.TextIOWrapper(one, encoding="utf-8", write_through=True) for one in kept)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(told):
        code = run(words)
    if code not in (0, 1, 2):
        raise Untrue(f"exit code {code}")
    printed, narrated = (one.getvalue().decode("utf-8") for one in kept)
    for said in (printed, narrated):
        if any(char < " " and char not in "\n\t" for char in said) or "this is a bug" in said:
            raise Untrue(f"not safe to print: {said[:300]!r}")
    if printed and given["command"] in ("encode", "repair", "convert") and "-" in given["words"]:
        for line in printed.splitlines():
            json.loads(line)
    elif printed and ("json" in given["words"] or "sarif" in given["words"]):
        json.loads(printed)


TARGETS: Mapping[str, Target] = {
    "rows": Target(fuzz_inputs.rows, run_rows, 46),
    "config": Target(fuzz_inputs.config, run_config, 14),
    "template": Target(fuzz_inputs.template, run_template, 8),
    "tokenizer": Target(fuzz_inputs.tokenizer, run_tokenizer, 5),
    "options": Target(fuzz_inputs.options, run_options, 6),
    "data": Target(fuzz_inputs.data_bytes, run_data, 8),
    "side_file": Target(fuzz_inputs.side_file, run_side_file, 4),
    "settings": Target(fuzz_inputs.settings, run_settings, 2),
    "text": Target(fuzz_inputs.shown_text, run_text, 7),
    "folder": Target(fuzz_inputs.data_folder, run_folder, 4),
    "command": Target(fuzz_inputs.command, run_command, 1),
}
_DRAWN = [name for name, target in TARGETS.items() for _ in range(target.share)]


def made(seed: int, number: int) -> tuple[str, Any]:
    """The name of the target and the input that stand under a seed and a number."""
    pick = Random(f"{seed}:{number}")
    name = pick.choice(_DRAWN)
    return name, TARGETS[name].make(pick)


def in_folder(folder: Path) -> None:
    """Work in an empty folder of one's own, with nothing of the user's around."""
    os.chdir(folder)
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        os.environ[name] = str(folder / name)
    os.environ["HF_HUB_OFFLINE"] = "1"
