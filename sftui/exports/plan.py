"""What an export would write: file by file with its diff, before anything is written."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from sftui.conversations import detect
from sftui.errors import ExportError
from sftui.exports.conversion import convert, rebased, refuse_stopped, reread, unread
from sftui.exports.files import write_atomically
from sftui.exports.pinned import version_notes
from sftui.exports.prepared import ExportInput, correction_line
from sftui.exports.redacted import without_secrets
from sftui.findings.rule import TO_MESSAGES
from sftui.nearest import did_you_mean
from sftui.recipe import Data, Preset, Recipe, changed, diff
from sftui.recipe_io import parse_yaml
from sftui.side_files import read_side_bytes, reason
from sftui.sources.files import format_of
from sftui.sources.source import LINES, PARQUET, Loading
from sftui.trainers import dump_recipe, hand_written, preset, trainer_named, trainer_names, trainer_of
from sftui.trainers.config import Facts, OpenedConfig, Training, TrainingSetting, WrittenConfig
from sftui.trainers.own_config import knobs_said, naming, write_config
from sftui.trainers.yaml_edit import edit, scalar

RECIPE_FILE = "recipe.yaml"
SCRIPT_FILE = "preprocess.py"
TEMPLATE_FILE = "chat_template.jinja"
TARGETS = ("recipe", "preprocess")
READING = ("format", "fields", "message_keys", "role_map")
"""What of `conversations.Detection` a written config says."""


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """`diff` is a unified diff against the file that is there now; empty where it would not change."""

    path: Path
    content: str
    diff: str
    exists: bool


@dataclass(frozen=True, slots=True)
class ExportPlan:
    """`first_line` says what was corrected against the starting recipe, `notes` what the files cannot say.

    `converted` is the recipe that another trainer follows with these files, where they are for
    another one than the recipe's: its labels may differ.
    """

    files: tuple[PlannedFile, ...]
    first_line: str
    notes: tuple[str, ...] = ()
    converted: Recipe | None = None

    @property
    def overwrites(self) -> tuple[Path, ...]:
        """Files that are there already and would change."""
        return tuple(f.path for f in self.files if f.exists and f.diff)

    def write(self, overwrite: bool = False) -> tuple[Path, ...]:
        """Write every file that differs, each whole or not at all, and return their paths.

        ExportError before the first one where any would be overwritten unasked.
        """
        if self.overwrites and not overwrite:
            raise ExportError(f"{self.overwrites[0]} already exists", fix="confirm that it may be overwritten")
        changed = [f for f in self.files if f.diff or not f.exists]
        contents = [(file.path, encoded(file.path, file.content)) for file in changed]
        for path, content in contents:
            write_atomically(path, content)
        return tuple(f.path for f in changed)


def encoded(path: Path, content: str) -> bytes:
    """The bytes of a file to write; ExportError where it names a file whose name is no UTF-8."""
    try:
        return content.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ExportError(
            f"{path} could not be written",
            why="it names a file whose name is not UTF-8, which a config cannot contain",
            fix="rename that file",
        ) from error


def check_target(to: str) -> None:
    """ExportError, with the nearest that there is, for something that cannot be exported to."""
    if to in TARGETS or Preset.of(to).trainer in trainer_names():
        return
    known = (*TARGETS, *trainer_names())
    raise ExportError(f"there is no export target `{to}`", fix=did_you_mean(to, known))


def plan_export(to: str, folder: str, recipe: Recipe, base: Recipe, prepared: ExportInput) -> ExportPlan:
    """Plan what `to` would write into `folder`; ExportError where it cannot be expressed.

    `recipe` is recipe.yaml alone; `preprocess`, and the two presets that are prepared by hand
    (hf-trainer, manual-shift), add the stand-alone script; another trainer's name adds its config:
    where that trainer's own was opened, the user's file with the changed keys only.
    """
    check_target(to)
    recipe, prepared, unwritten = _over_repaired(recipe, prepared)
    chosen = prepared.chosen | {change.path for change in diff(base, recipe)}
    if prepared.config is not None and prepared.config.trainer != Preset.of(to).trainer:
        chosen |= knobs_said(prepared.config)
    prepared = replace(prepared, chosen=chosen)
    line = correction_line(recipe, base)
    contents = {RECIPE_FILE: recipe_text(recipe, base)}
    scripted = to == "preprocess" or to in hand_written()
    if scripted:
        if to != "preprocess" and to != recipe.preset:
            raise ExportError(f"the recipe is for {recipe.preset}, not for {to}", fix=f"open it with --trainer {to}")
        from sftui.exports.preprocess import script

        contents = {SCRIPT_FILE: script(recipe, base, prepared), **contents}
    if to == "recipe" or scripted:
        notes = unwritten if to == "recipe" else (*unwritten, *version_notes(recipe, prepared.tokenizer))
        return ExportPlan(tuple(plan_file(Path(folder) / name, text) for name, text in contents.items()), line, notes)
    config, meant, converted = _config_of(to, recipe, prepared, Path(folder).absolute())
    opened, wanted = prepared.config, Preset.of(to).trainer
    before = {Path(opened.path).name: opened.text} if opened is not None and opened.trainer == wanted else {}
    if converted is not None:
        line = f"{line}; converted from {recipe.preset} to {meant.preset}"
        contents = {RECIPE_FILE: recipe_text(converted, converted)}
    written = {file.name: file.content for file in config.files}
    contents = {**_commented(_placed(written, Path(folder).absolute()), line), **contents}
    files = tuple(plan_file(Path(folder) / name, text, before.get(name)) for name, text in contents.items())
    left = () if before else tuple(left_out(prepared))
    versions = version_notes(converted or meant, prepared.tokenizer)
    notes = (*unwritten, *config.losses, *config.notes, *left, *versions)
    here = [str(Path(folder).absolute()), *(_absolute(path) for path in prepared.paths[:1])]
    if not before and any(Path(one).is_absolute() and one in text for one in here for text in contents.values()):
        notes = (*notes, ABSOLUTE)
    notes = tuple(map(without_secrets, notes))
    return ExportPlan(files, line, tuple(dict.fromkeys(notes)), converted)


def left_out(prepared: ExportInput) -> Iterator[str]:
    """What a new config does not say of the data."""
    config = prepared.config
    if len(prepared.paths) > 1:
        yield f"the config lists only {prepared.paths[0]}; add the other data files to it by hand"
    if config is not None and len(config.datasets) > 1:
        yield f"not exported: the other datasets in {config.path}; export each with `--dataset N`"
    for what, name in (("subset", prepared.subset), ("revision", prepared.data_revision)):
        if name:
            yield f"not exported: the data's {what} {name}; add it to the config by hand"
    for name, value in prepared.loading.arguments.items():
        yield f"not exported: the data is loaded with {name}={value!r}; add that to the config by hand"
    if prepared.loading.kind and prepared.loading.loader == "":
        yield (
            f"`datasets` has no loader for {prepared.loading.kind} data: write the rows with `sftui encode DATA -o"
            " OUT.parquet`, and use that file"
        )


ABSOLUTE = "paths are absolute, because trainers resolve relative ones from the folder they are started in"


def recipe_text(recipe: Recipe, base: Recipe) -> str:
    """recipe.yaml: the corrections as its first line, then what differs from the preset; it can be opened from
    anywhere."""
    return dump_recipe(located(recipe), comment=correction_line(recipe, base))


def plan_file(path: Path, content: str, opened: str | None = None) -> PlannedFile:
    """One file with its diff against what is there, or against the file that was opened."""
    try:
        before = read_side_bytes(path).decode("utf-8", "backslashreplace")
    except FileNotFoundError:
        diff = "" if opened is None else _diff(opened, content, f"{path.name} (opened)", f"{path} (new)")
        return PlannedFile(path, content, diff, False)
    except OSError as error:
        raise ExportError(f"{path} cannot be compared with the existing file", why=reason(error)) from error
    return PlannedFile(path, content, _diff(before, content, f"{path} (now)", f"{path} (new)"), True)


def _diff(before: str, after: str, old: str, new: str) -> str:
    lines = difflib.unified_diff(before.splitlines(True), after.splitlines(True), old, new)
    return "".join(without_secrets(line if line.endswith("\n") else f"{line}\n") for line in lines)


def _config_of(
    to: str, recipe: Recipe, prepared: ExportInput, folder: Path
) -> tuple[WrittenConfig, Recipe, Recipe | None]:
    """The trainer's own config with all that is lost, the recipe it was written for, and for another trainer what that
    makes of it; RecipeError where sftui writes none for it."""
    trainer = trainer_named(to)
    wanted = Preset.of(to)
    if recipe.trainer == wanted.trainer:
        opened = prepared.config if prepared.config is not None and prepared.config.trainer == wanted.trainer else None
        other = rebased(recipe, to) if wanted.version else recipe
        written = write_config(
            other if opened is not None else located(other), opened, facts_of(recipe, prepared, opened, folder)
        )
        if opened is not None and prepared.repaired is not None and not trainer.traits.data_file:
            written = _pointed_at(written, opened, prepared.repaired)
        stops = refuse_stopped(other, prepared.sample, trainer.title)
        return _losing(written, stops), other, other if other != recipe else None
    read = prepared.detected
    if prepared.plainly is not None and prepared.plainly.refused is None:
        prepared = replace(prepared, detected=prepared.plainly)
    form = prepared.detected.format if prepared.detected is not None else None
    target, losses = convert(recipe, preset(to).preset, form, prepared.detected)
    written = write_config(located(target), None, facts_of(recipe, prepared, folder=folder))
    for file in written.files:
        encoded(folder / file.name, file.content)
    converted = reread(target, written)
    stops = refuse_stopped(converted, prepared.sample, trainer.title)
    roles = unread(converted, prepared.sample, trainer.title, recipe, read)
    return _losing(written, (*losses, *stops, *roles)), target, converted


def _losing(written: WrittenConfig, losses: tuple[str, ...]) -> WrittenConfig:
    return replace(written, losses=(*losses, *written.losses))


def located(recipe: Recipe) -> Recipe:
    """The recipe with a tokenizer and a template that lie here named by their absolute paths, and no tokenizer whose
    name is a variable of the run."""
    name, (kind, _, file) = recipe.tokenizer.name, recipe.render.template.partition(":")
    if name is not None:
        recipe = changed(recipe, "tokenizer.name", None if _absolute(name).startswith("$") else _absolute(name))
    return changed(recipe, "render.template", f"file:{_absolute(file)}") if kind == "file" and file else recipe


def _absolute(name: str) -> str:
    """An absolute path for what lies here; a name of the Hub as it is."""
    return str(Path(name).absolute()) if Path(name).exists() else name


def facts_of(
    recipe: Recipe, prepared: ExportInput, opened: OpenedConfig | None = None, folder: Path | None = None
) -> Facts:
    """What a config says beside the recipe; `opened` names its own template file."""
    found, data = prepared.detected, recipe.data
    if found is not None:
        kept = found.fields if data.format in ("auto", found.format) else {}
        found = replace(
            found, fields={**kept, **data.fields}, format=found.format if data.format == "auto" else data.format
        )
    named_there = opened is not None and opened.recipe.render.template == recipe.render.template
    source, given = training_of(recipe, prepared) if opened is None else (None, None)
    rows = {} if found is None else {name: getattr(found, name) for name in READING}
    return Facts(
        data=_absolute(prepared.paths[0]) if prepared.paths else "",
        loading=_loading(prepared),
        tokenizer=located(recipe).tokenizer.name,
        folder=str(folder) if folder is not None else None,
        template_source=None if named_there else prepared.template_source,
        chat_template=_chat_template(prepared),
        split=prepared.split,
        source=source,
        given=given,
        chosen=prepared.chosen,
        **rows,
    )


def _loading(prepared: ExportInput) -> Loading | None:
    """How the data that a config names is loaded, a folder as it is; None while it is not open."""
    if any(Path(path).is_dir() for path in prepared.paths[:1]):
        return replace(prepared.loading, loader=None)
    return prepared.loading if prepared.loading.kind else None


def training_of(recipe: Recipe, prepared: ExportInput) -> tuple[Training | None, Mapping[str, TrainingSetting]]:
    """What is known of training: what the open config says, and what the recipe says beside it."""
    from sftui.trainers.training import read_training

    config = prepared.config
    source = read_training(config) if config is not None else None
    named = located(recipe).tokenizer.name
    given = {"tokenizer": TrainingSetting(named, "tokenizer.name")} if named else {}
    before = preset(recipe.preset) if config is None else config.recipe
    if recipe.batch.size != before.batch.size:
        given["batch_size"] = TrainingSetting(recipe.batch.size, "batch.size")
    model = source.settings.get("model") if source is not None else None
    if model is not None and model.value is not None:
        given["model"] = replace(model, value=_absolute(str(model.value)))
    return source, given


def _chat_template(prepared: ExportInput) -> str | None:
    """The template that renders, as text; None where it is not known."""
    if prepared.template_source is not None or prepared.tokenizer is None:
        return prepared.template_source
    own = prepared.tokenizer.chat_templates
    return own.get("default") or next(iter(own.values()), None)


def _placed(contents: dict[str, str], folder: Path) -> dict[str, str]:
    """The files with the template's own path in them: trainers take it from where they are started, not from the
    config."""
    if TEMPLATE_FILE not in contents:
        return contents
    path = str(folder / TEMPLATE_FILE)
    forms = {".yaml": scalar(path), ".yml": scalar(path), ".py": path.replace("\\", "\\\\").replace('"', '\\"')}
    forms = {name: forms.get(Path(name).suffix, TEMPLATE_FILE) for name in contents if name != TEMPLATE_FILE}
    return {name: text.replace(TEMPLATE_FILE, forms.get(name, TEMPLATE_FILE)) for name, text in contents.items()}


def _commented(contents: dict[str, str], line: str) -> dict[str, str]:
    """The files, YAML ones with the corrections as their first line, in place of an older such line."""
    made = {}
    for name, text in contents.items():
        first, _, rest = text.partition("\n")
        older = first.startswith("# sftui: ")
        made[name] = f"# {line}\n{rest if older else text}" if name.endswith((".yaml", ".yml")) else text
    return made


def _over_repaired(recipe: Recipe, prepared: ExportInput) -> tuple[Recipe, ExportInput, tuple[str, ...]]:
    """What is exported with the repaired file as its data, the recipe that reads it (rows that were converted are
    messages in it), and what there is to say where there is none."""
    if prepared.repaired is None and not prepared.repairs:
        return recipe, prepared, ()
    if prepared.repaired is None:
        count = len(prepared.repairs)
        number, which = ("s to the data are", "them") if count > 1 else (" to the data is", "it")
        note = (
            f"{count} repair{number} not saved yet, and this export uses the data without {which}: export `data` first"
        )
        return recipe, prepared, (note,)
    written = PARQUET if format_of(prepared.repaired) == "parquet" else LINES
    made = replace(prepared, paths=(prepared.repaired,), split=None, subset=None, data_revision=None, loading=written)
    if TO_MESSAGES in made.repairs:
        recipe = trainer_of(recipe).reading_messages(recipe)
        made = replace(made, plainly=detect(made.sample, Data()) if recipe.supervised else made.detected)
    return recipe, made, ()


def _pointed_at(made: WrittenConfig, opened: OpenedConfig, data: str) -> WrittenConfig:
    """The user's own config with its dataset named `data`; a note where sftui cannot write that key."""
    first = made.files[0]
    changes = naming(opened.trainer, parse_yaml(first.content, first.name), data, opened.chosen)
    if not changes:
        return replace(made, notes=(*made.notes, f"set its data path to the repaired file by hand: {data}"))
    return replace(made, files=(replace(first, content=edit(first.content, changes, first.name)), *made.files[1:]))
