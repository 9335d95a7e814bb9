"""What a user asks to open, in the words of a command line or of a Python call, and what it comes to."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from sftui.errors import RecipeError
from sftui.nearest import did_you_mean
from sftui.recipe import Recipe, changed, get
from sftui.recipe_io import knob_at, parse_mapping, parse_value, parse_yaml, quoted, set_knob_to, today, unquoted
from sftui.session.declared import OptionDeclaration
from sftui.session.options import OpenOptions
from sftui.trainers import load_recipe, preset
from sftui.trainers.declared import packages, traits_of
from sftui.values import value_class

MEGABYTE = 1 << 20
PARQUET = ".parquet"
CONFIGS = (".yaml", ".yml", ".sh", ".json")
"""Endings of what may be a trainer's config; the code that tells is loaded for these alone."""


@value_class
class Arguments(OptionDeclaration):
    """The options, and `data`, the words that name it: files, folders, a Hub dataset, or one trainer's config. `recipe`
    stands for `recipe_file` where it is read already; `waivers` take the place of its waivers."""

    data: tuple[str, ...] = ()
    recipe: Recipe | None = None
    waivers: tuple[Mapping[str, Any], ...] | None = None

    def config_file(self) -> str | None:
        """The trainer's config that is named, by `config` or as the data; None where none is."""
        if self.config is not None:
            if self.data:
                raise RecipeError(
                    "DATA and --config both name the data", fix="omit DATA: sftui takes the data from the config"
                )
            return self.config
        if len(self.data) != 1 or not self.data[0].lower().endswith(CONFIGS):
            return None
        from sftui.trainers.recognise import is_config

        return self.data[0] if is_config(self.data[0], self.trainer) else None

    def options(self, row: int = 0, make: Callable[[str], object] | None = None) -> tuple[OpenOptions, tuple[str, ...]]:
        """The same as OpenOptions, and the sentences to print about the config; RecipeError and SourceError say what
        does not fit.

        What names the data, the tokenizer and the template sets the starting recipe up; `max_length` and `knobs`
        correct it, and exports say so. `make` makes an environment with a version of transformers where none is at
        hand, see `tokens.loading.made.make`.
        """
        path = self.config_file()
        if path is not None:
            return self._from_config(path, row, make)
        if self.dataset is not None:
            raise RecipeError(
                "--dataset chooses among the datasets of a config, but no config is open",
                fix="give the trainer's YAML as DATA or with --config",
            )
        captured = self.captured_run()
        base = self._set_up(self._starting(), make) if captured is None else self._of_run(captured, make)
        recipe = self._corrected(base)
        about = self._taken(recipe)
        if captured is not None:  # what is known of the run, and what is not
            from sftui.capture.stored import about_run

            about = (*about_run(captured, tokenizer_named=self.tokenizer is not None), *about)
        made = OpenOptions(paths=self.data, recipe=recipe, base=base, row=row, notes=about, **self._carried())
        return made, about

    def captured_run(self) -> Mapping[str, Any] | None:
        """The run, where the data are its captured batches; None else."""
        if len(self.data) != 1 or not self.data[0].endswith(PARQUET):
            return None
        from sftui.sources.captured import run_of

        return run_of(self.data)

    def _of_run(self, captured: Mapping[str, Any], make: Callable[[str], object] | None) -> Recipe:
        """The recipe under which captured batches are shown as they are: nothing is cut, and the tokenizer is that of
        the run, unless another one is named."""
        from sftui.capture.stored import WEIGHTS

        named = self.recipe_file is not None or self.recipe is not None or self.trainer is not None
        recipe = self._starting()
        name = (captured.get("tokenizer") or {}).get("name")
        if name and recipe.tokenizer.name is None:
            recipe = changed(recipe, "tokenizer.name", name)
        if not named:
            recipe = changed(recipe, "batch.size", captured["batches"][0]["shapes"]["input_ids"][0])
            recipe = changed(recipe, "mask.rule", "given")
            if any(name in one["shapes"] for one in captured["batches"] for name in WEIGHTS):
                recipe = changed(recipe, "loss.weights", "float")
            if _moves_labels(captured) and all(one.get("loss_takes") is None for one in captured["batches"]):
                recipe = changed(recipe, "loss.shift", "preshifted")
        return self._set_up(recipe, make)

    def _from_config(
        self, path: str, row: int, make: Callable[[str], object] | None
    ) -> tuple[OpenOptions, tuple[str, ...]]:
        """What a trainer's own config opens; the other options come on top."""
        if self.recipe_file is not None or self.recipe is not None:
            raise RecipeError("--recipe and a trainer's config both set the starting recipe", fix="use one of them")
        from sftui.session.configs import open_config

        chosen = open_config(path, self.trainer, self.dataset)
        reference = chosen.reference
        recipe = self._corrected(self._set_up(reference.recipe, make))
        taken = self._taken(recipe)
        named = {"split": reference.split, "subset": reference.subset, "data_revision": reference.revision}
        carried = self._carried()
        carried.update((name, carried[name] or value) for name, value in named.items())
        made = OpenOptions(
            paths=reference.paths,
            recipe=recipe,
            base=reference.recipe,
            row=row,
            config=chosen.opened,
            notes=(*chosen.notes, *taken),
            **carried,
        )
        return made, (*chosen.messages, *taken)

    def _carried(self) -> dict[str, Any]:
        """What open data has of the options as they are (`declared.option`), and the row limit in bytes; SftuiError
        where nothing that is named to serve with is there."""
        if self.serve is not None:
            from sftui.serving import kind_of

            kind_of(self.serve)
        limit = self.row_limit
        carried = {field.name: getattr(self, field.name) for field in fields(self) if field.metadata.get("opens")}
        chosen = [*(["length.max"] if self.max_length is not None else []), *(today(path) for path, _ in self.knobs)]
        carried |= {"row_limit": limit * MEGABYTE if limit is not None else None, "chosen": tuple(chosen)}
        return {**carried, "repairs": self._repairs()}

    def _repairs(self) -> tuple[str, ...]:
        """The repairs that `apply` and `edits` name."""
        if not self.apply and self.edits is None:
            return ()
        from sftui.repairs.run import make_plan
        from sftui.session.marks import load_marks

        edits = () if self.edits is None else load_marks(self.edits).edits()
        words = (self.apply,) if isinstance(self.apply, str) else self.apply
        named = (*words_of(words, "--apply", "repair", "`sftui repair --list` lists them"), *edits)
        make_plan(named)  # which refuses what is none
        return named

    def _starting(self) -> Recipe:
        if self.recipe is None:
            return starting_recipe(self.recipe_file, self.trainer)
        if self.trainer is not None:
            raise RecipeError("--recipe and --trainer both set the starting recipe", fix="use one of them")
        return self.recipe

    def _set_up(self, recipe: Recipe, make: Callable[[str], object] | None) -> Recipe:
        if self.tokenizer is not None:
            recipe = changed(recipe, "tokenizer.name", self.tokenizer)
        if self.tokenizer_revision is not None:
            recipe = changed(recipe, "tokenizer.revision", self.tokenizer_revision)
        recipe = self._of_version(recipe, make)
        if self.template is not None:
            recipe = changed(recipe, "render.template", template_of(self.template))
        if self.data_format is not None:
            recipe = changed(recipe, "data.format", parse_value("data.format", self.data_format, recipe))
        if self.fields:
            recipe = changed(recipe, "data.fields", {**recipe.data.fields, **self.fields})
        return recipe

    def _of_version(self, recipe: Recipe, make: Callable[[str], object] | None) -> Recipe:
        """The recipe with the version of transformers that `env` or `transformers` names; the latter makes an
        environment where there is none."""
        if self.env is None and self.transformers is None:
            return recipe
        if self.env is not None and self.transformers is not None:
            raise RecipeError("--env and --transformers both choose the transformers version", fix="use one of them")
        if self.env is not None:
            from sftui.tokens.loading.environments import environment_at

            return changed(recipe, "tokenizer.transformers", environment_at(self.env, "--env").transformers)
        from sftui.trainers.versions import RUNNING, check_version, running_version

        recipe = changed(recipe, "tokenizer.transformers", self.transformers)
        check_version(recipe)
        if make is not None and self.transformers not in (None, RUNNING, running_version()):
            from sftui.tokens.loading.made import made_environment

            if made_environment(self.transformers) is None:
                make(self.transformers)
        return recipe

    def _corrected(self, recipe: Recipe) -> Recipe:
        if self.waivers is not None:
            recipe = changed(recipe, "waivers", self.waivers)
        if self.max_length is not None:
            recipe = set_knob_to(recipe, "length.max", self.max_length)
        for path, value in self.knobs:
            recipe = set_knob(recipe, path, value) if isinstance(value, str) else set_knob_to(recipe, path, value)
        return recipe

    def _taken(self, recipe: Recipe) -> tuple[str, ...]:
        """What was taken of a knob's text, where white space, quotes or backslashes leave that open, and that the rows
        are not as the file has them."""
        over = [*self.apply] + ([f"the edits of {self.edits}"] if self.edits is not None else [])
        found = [f"the rows are read with {', '.join(over)}; the file stays unchanged"] if over else []
        for path, text in self.knobs:
            if not isinstance(text, str) or (quoted(text) == text and "\\" not in text):
                continue
            holder, _, entry = today(path).rpartition(".")
            held = get(recipe, holder)[entry] if "." in holder else get(recipe, today(path))
            if isinstance(held, str):
                escapes = "\\" in text and held == text
                more = "; a backslash outside quotes is literal" if escapes else ""
                found.append(f"{path} is {quoted(held, always=True)}{more}")
        return tuple(found)


def _moves_labels(captured: Mapping[str, Any]) -> bool:
    """Whether a trainer of the run moves labels before training (`Traits.moves_labels`)."""
    from sftui.trainers.versions import at_least, parse

    versions = captured.get("versions") or {}
    since = {package: traits_of(name).moves_labels for name, package in packages().items()}
    return any(since.get(one) and at_least(parse(version, one), since[one]) for one, version in versions.items())


def starting_recipe(file: str | None, trainer: str | None) -> Recipe:
    """The recipe of a file, of a trainer's preset, or the default one."""
    if file is not None and trainer is not None:
        raise RecipeError("--recipe and --trainer both set the starting recipe", fix="use one of them")
    if file is not None:
        from sftui.side_files import read_side_file

        return load_recipe(read_side_file(file, "the recipe", RecipeError), file)
    return preset(trainer) if trainer else preset()


def set_knob(recipe: Recipe, path: str, text: str) -> Recipe:
    """The recipe with one knob as typed; a third part of the path is one entry of a knob that holds several, and `own`
    takes several options of the trainer at once."""
    path = today(path)
    if path == "own":
        for name, value in parse_mapping(text, path).items():
            recipe = set_knob_to(recipe, f"own.{name}", value)
        return recipe
    holder, _, entry = path.rpartition(".")
    if "." in holder and (kind := knob_at(holder, recipe).type) in ("mapping", "names"):
        said = unquoted(text)
        entered: Any = text if said is None else said
        if kind == "mapping" and said is None and (text.strip() or not text):
            found = parse_yaml(f"value: {text}", path).get("value")
            entered = text if isinstance(found, str) else found
        return set_knob_to(recipe, holder, {**get(recipe, holder), entry: entered}, path)
    return changed(recipe, path, parse_value(path, text, recipe))


def template_of(text: str) -> str:
    """What a template is named by in a recipe: a file that is there, else a built-in name."""
    if text.startswith(("file:", "builtin:")) or text == "tokenizer":
        return text
    if os.path.exists(text) or text.endswith((".jinja", ".j2", ".txt", ".json")) or os.sep in text:
        return f"file:{text}"
    from sftui.templates import builtin_names

    names = builtin_names()
    if text not in names:
        fix = did_you_mean(text, names, f"the built-in ones are {', '.join(names)}; a file needs its path")
        raise RecipeError(f"there is no template `{text}`", fix=fix)
    return f"builtin:{text}"


def words_of(values: Sequence[str], option: str, what: str, fix: str) -> tuple[str, ...]:
    """The words of an option that takes several, repeated or with commas; RecipeError where a value holds none."""
    for value in values:
        if not any(word.strip() for word in value.split(",")):
            raise RecipeError(f"{option} names no {what}", fix=fix)
    return tuple(word.strip() for value in values for word in value.split(",") if word.strip())


def codes_of(values: Sequence[str], option: str) -> tuple[str, ...]:
    """Codes and beginnings of codes (`TRU`), repeated or with commas; RecipeError for one that no code begins with, or
    for none."""
    from sftui.findings import CODES

    words = words_of(values, option, "code", "omit it for all codes; `sftui explain` lists them")
    codes = tuple(map(str.upper, words))
    for code in codes:
        if not any(known.startswith(code) for known in CODES):
            raise RecipeError(
                f"{option}: there is no code `{code}`", fix=did_you_mean(code, CODES, "`sftui explain` lists them")
            )
    return codes


def rates_of(values: Iterable[str], option: str) -> dict[str, float | None]:
    """The codes that `CODE=RATE` names, each with the share of rows that may have it, None for that of the baseline;
    RecipeError."""
    from sftui.findings import CODES

    found: dict[str, float | None] = {}
    for text in values:
        name, _, rate = text.partition("=")
        number = rate.removesuffix("%")
        try:
            most = None if rate == "baseline" else float(number) / (1 if number == rate else 100)
        except ValueError:
            most = -1.0
        if most is not None and not 0 <= most <= 1:
            raise RecipeError(f"{option} {text} is not understood", fix="write CODE=0.5%, CODE=0.005 or CODE=baseline")
        prefixes = codes_of((name,), option)
        found |= {code: most for code in CODES if code.startswith(prefixes)}
    return found
