"""The request that lets a real trainer prepare rows under a recipe (see `exchange`)."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sftui.errors import RecipeError, TokenizerError
from sftui.recipe import Recipe
from sftui.recipe_io import parse_yaml
from sftui.tokens.loading.locate import LARGEST_FILE, WEIGHTS, locate
from sftui.trainers.config import WrittenConfig
from sftui.trainers.declared import traits_of
from sftui.trainers.own_config import runner_request

TEMPLATE = "chat_template.jinja"
WHERE_ROWS_ARE = (
    *("file_name", "hf_hub_url", "folder", "subset", "split", "num_samples"),
    *("path", "source", "size", "weight", "streaming"),
)
"""Keys of a file that lists datasets which say where rows are, and which of them are taken."""


def make_request(
    recipe: Recipe,
    written: WrittenConfig,
    rows: Sequence[Mapping[str, Any]],
    work: Path,
    *,
    template: str | None,
    dataset: int = 0,
    here: Path,
) -> dict[str, Any]:
    """What to ask of the trainer of `recipe`, with its files laid out in `work`.

    `written` is the config that says what the recipe says; `template` the chat template as text
    where the tokenizer's own is not used; `dataset` the entry of the config that the rows are of;
    `here` the folder where relative paths of the config begin. RecipeError for rows that are no JSON.
    """
    asked = runner_request(recipe)
    try:
        json.dumps(list(rows))
    except (TypeError, ValueError) as error:
        raise RecipeError(
            "the rows cannot be passed to the trainer", why=str(error).lower(), fix="verify with JSON data"
        ) from error
    request: dict[str, Any] = {
        "rows": list(rows),
        "tokenizer": str(tokenizer_files(recipe, work / "tokenizer")),
        "output": str(work / "result.jsonl"),
        "folder": str(here),
    }
    contents = {file.name: file.content for file in written.files}
    for file in written.files:
        (work / file.name).write_text(file.content, encoding="utf-8")
    main = next((file for file in contents if file.endswith((".yaml", ".yml"))), None)
    if main is not None and not asked:
        text = contents[main]
        if TEMPLATE in contents:
            text = text.replace(TEMPLATE, str(work / TEMPLATE))
        request["config_file"] = str(work / main)
        (work / main).write_text(_one_dataset(text, main, dataset), encoding="utf-8")
    if (template is not None and TEMPLATE not in contents) or asked:
        request["chat_template"] = template
    beside = traits_of(recipe.trainer).data_file
    if beside in contents:
        entry: Mapping[str, Any] = next(iter(parse_yaml(contents[beside], beside).values()))
        request["dataset"] = {key: value for key, value in entry.items() if key not in WHERE_ROWS_ARE}
    if recipe.loss.objective != "sft":
        request["objective"] = recipe.loss.objective
    return {**request, **asked}


def _one_dataset(text: str, where: str, number: int) -> str:
    """The config with the entry of `datasets` that is meant alone, because the rows are of that one."""
    config = dict(parse_yaml(text, where, "pyyaml"))
    entries = config.get("datasets")
    if not isinstance(entries, list) or len(entries) < 2:
        return text
    import io

    from ruamel.yaml import YAML

    config["datasets"] = [entries[min(number, len(entries) - 1)]]
    stream = io.StringIO()
    writer = YAML(typ="safe", pure=True)
    writer.version = (1, 1)  # as it was read: a text `no` stays a text
    writer.dump(config, stream)
    return stream.getvalue()


def tokenizer_files(recipe: Recipe, folder: Path) -> Path:
    """The files of the recipe's tokenizer, without weights, in a folder of their own; TokenizerError."""
    name = recipe.tokenizer.name
    if name is None:
        raise TokenizerError("no tokenizer was named", fix="give one with -t NAME")
    place = locate(name, recipe.tokenizer.revision)
    folder.mkdir(parents=True)
    if place.kind == "file" and place.path is not None:
        shutil.copy(place.path, folder / "tokenizer.json")
        (folder / "tokenizer_config.json").write_text(
            '{"tokenizer_class": "PreTrainedTokenizerFast"}', encoding="utf-8"
        )
        return folder
    if place.folder is None:
        fix = "name its folder" if place.kind == "hub" else "name the folder of the model it was converted from"
        raise TokenizerError(
            f"the trainer cannot find the files for {name}", why="trainers read a folder of tokenizer files", fix=fix
        )
    for path in sorted(place.folder.rglob("*")):
        part = path.relative_to(place.folder)
        if (
            path.is_file()
            and len(part.parts) <= 2
            and path.suffix not in (*WEIGHTS, ".py")
            and path.stat().st_size <= LARGEST_FILE
        ):
            (folder / part).parent.mkdir(exist_ok=True)
            shutil.copy(path, folder / part)
    return folder
