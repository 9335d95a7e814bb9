"""Unsloth's arguments as a file of options, and the Python that says the same.

Unsloth has no config file: it is called from a script. sftui reads the arguments of such a script as YAML: `tokenizer`,
`data` (with `split`, `revision`), `objective` where it is not SFT, the keys of that trainer's config (SFTConfig …), the
arguments of train_on_responses_only under `responses` ({} to have the markers found), and what the script does before:
`standardize`, `text_from`, `formatting`, and the arguments of `from_pretrained` and `get_peft_model`. What is written
back is a piece of Python.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sftui.errors import RecipeError
from sftui.recipe import Recipe
from sftui.recipe_io import parse_yaml
from sftui.trainers import table
from sftui.trainers.config import DatasetRef, Facts, OpenedConfig, WrittenConfig, WrittenFile, plain
from sftui.trainers.table import Draft, Form, KeyRules, KnownKeys
from sftui.trainers.training import write_training
from sftui.trainers.trl.config import OBJECTIVE_KEYS, objective_told, sft_entries, template_entry
from sftui.trainers.trl.formats import PAIR
from sftui.trainers.versions import at_least, parse, pins_of

IN_RESPONSES = ("force_match", "mask_out_tokens")
"""Options of its own that stand among the arguments of train_on_responses_only."""
RESPONSES = ("instruction_part", "response_part", "force_match", "last_response_only", "mask_out_tokens")
NOT_DATA = ("num_proc", "tokenizer", "return_function")
DATA = ("data", "split", "data_subset")
"""Options that name the data."""
CALLS = ("from_pretrained", "get_peft_model")
"""Arguments of these calls, which decide nothing of rows."""
SAID = (
    *("packing", "packing_strategy", "padding_free", "pad_to_multiple_of", "completion_only_loss"),
    *("assistant_only_loss", "truncation_mode", "dataset_text_field", "loss_type"),
)
"""Arguments of the trainer's config that say what the recipe says."""


def _length(config: table.Config, recipe: Recipe, where: str) -> table.Said:
    """The model's max_seq_length and SFTConfig's max_length: what stands last counts."""
    said = [value for key, value in config.items() if key in ("max_length", "max_seq_length")]
    return {"length.max": said[-1]} if said else {}


def _formatting(config: table.Config, recipe: Recipe, where: str) -> table.Said:
    return {"own.formatting_func": True} if config.get("formatting") or config.get("formatting_func") else {}


def _responses(config: table.Config, recipe: Recipe, where: str) -> table.Said:
    """The arguments of train_on_responses_only; RecipeError for others, and beside assistant_only_loss."""
    responses = config.get("responses")
    if responses is None:
        return {}
    if config.get("assistant_only_loss"):
        raise RecipeError(
            "assistant_only_loss and train_on_responses_only cannot be modelled together",
            where=where,
            fix="keep one of them",
        )
    if not isinstance(responses, Mapping) or (unknown := sorted(set(responses) - {*RESPONSES, *NOT_DATA})):
        wrong = "it is not a mapping" if not isinstance(responses, Mapping) else f"it has no argument `{unknown[0]}`"
        raise RecipeError("`responses` must contain the arguments for train_on_responses_only", where=where, why=wrong)
    return {
        "mask.rule": "markers",
        "mask.instruction_marker": responses.get("instruction_part"),
        "mask.response_marker": responses.get("response_part"),
        "mask.turns": "last" if responses.get("last_response_only") else "all",
        **{f"own.{name}": responses[name] for name in IN_RESPONSES if responses.get(name) is not None},
    }


def _said_in_responses(recipe: Recipe, path: str, value: Any) -> table.Keys | None:
    """Under the rule markers `responses` says all of it, which is written as a whole."""
    return {} if recipe.mask.rule == "markers" or path.startswith("own.") else None


def _splitting(recipe: Recipe, path: str, value: Any) -> table.Noted | None:
    if value != "bfd_split" or splits(recipe.preset):
        return None
    return {}, ("pack.strategy = 'bfd_split' was added in TRL 1.0, but this Unsloth uses an older TRL",)


TABLE = (
    table.same("tokenizer", "tokenizer.name"),
    table.same("revision", "tokenizer.revision"),
    table.rule("max_length max_seq_length", "length.max", _length, table.as_is("max_length")),
    table.same("pad_to_multiple_of", "batch.multiple"),
    table.rule("", "pack.strategy", table.nothing, _splitting),
    *sft_entries(
        flat=table.same("padding_free", "batch.flatten"), beside=lambda config: config.get("responses") is not None
    ),
    table.same("standardize", "own.standardize", null=False),
    table.same("text_from", "own.text_from", null=False),
    table.rule("formatting formatting_func", "own.formatting_func", _formatting, lambda *_: {("formatting",): True}),
    table.same("trl_version", "own.trl_version", null=False),
    table.rule("loss_type", "own.loss_type", objective_told, table.as_is("loss_type")),
    table.same("objective", "loss.objective", null=False),
    table.rule(
        "responses responses.force_match responses.mask_out_tokens",
        "mask.rule mask.turns mask.instruction_marker mask.response_marker own.force_match own.mask_out_tokens",
        _responses,
        _said_in_responses,
    ),
    template_entry("chat_template", bool),
    table.silent("data.format", "data.fields", "pack.group", "tokenizer.transformers"),
)
KEYS = table.keys_read(TABLE)
OTHERS = frozenset[str]().union(*OBJECTIVE_KEYS.values())
"""Arguments of the configs of TRL's other trainers."""
RULES = KeyRules(
    KEYS.union(DATA), passed=OTHERS.union(CALLS), unread="has no such SFTConfig argument; sftui ignores it"
)


def read(path: str, text: str, preset: Recipe, known: KnownKeys) -> OpenedConfig:
    """A file of options as a recipe; RecipeError where it names no data or contradicts itself."""
    config = dict(parse_yaml(text, path))
    notes = [RULES.note(str(key), value, known, known.config) for key, value in config.items()]
    recipe = table.read_into(preset, TABLE, config, path)
    data = config.get("data")
    if not data:
        raise RecipeError("the options name no data", where=path, fix="set data to a file or a Hub name")
    paths = tuple(map(str, data)) if isinstance(data, list) else (str(data),)
    split, subset = (str(config[key]) if config.get(key) else None for key in ("split", "data_subset"))
    reference = DatasetRef(", ".join(paths), paths, recipe, split, subset)
    return OpenedConfig(preset.trainer, path, text, (reference,), tuple(notes), config=config)


def _corrected(recipe: Recipe, keys: table.Keys, losses: list[str]) -> table.Keys:
    """With all that train_on_responses_only is told."""
    mask, said = recipe.mask, recipe.own.said()
    if mask.rule != "markers":
        return keys
    arguments = {
        "instruction_part": mask.instruction_marker,
        "response_part": mask.response_marker,
        "last_response_only": True if mask.turns == "last" else None,
        **{name: plain(said[name]) for name in IN_RESPONSES if name in said},
    }
    return {**keys, ("responses",): {name: value for name, value in arguments.items() if value is not None}}


def _more(draft: Draft) -> None:
    if draft.recipe.render.template != "tokenizer":
        draft.template_file("chat_template")


def _changes(draft: Draft, opened: OpenedConfig, changes: table.Keys) -> table.Keys:
    length = "max_seq_length" if "max_seq_length" in parse_yaml(opened.text, opened.path) else "max_length"
    return {(length,) if place == ("max_length",) else place: value for place, value in changes.items()}


FORM = Form("Unsloth", "", TABLE, lambda draft: {}, corrected=_corrected, more=_more, changes=_changes, kind="argument")
keys_of = FORM.keys_of


def write(recipe: Recipe, preset: Recipe, opened: OpenedConfig | None, facts: Facts) -> WrittenConfig:
    """A Python snippet with the arguments; and, where a file of options was opened, that file changed."""
    made = FORM.write(recipe, preset, opened, facts)
    main, *others = made.files
    arguments = {str(place[0]): value for place, value in keys_of(recipe, preset)[0].items()}
    snippet = _snippet(recipe, arguments, facts, bool(others))
    notes = ("Unsloth has no config file: the Python goes into your script", *snippet.notes)
    return WrittenConfig((*([main] if opened is not None else []), *snippet.files, *others), made.losses, notes)


def splits(preset: str) -> bool:
    """Whether the TRL that an Unsloth brings has `bfd_split`; trl 0.24 has not (data_utils.py `pack_dataset`)."""
    pins = pins_of(preset)
    return pins is None or at_least(parse(pins.newest.get("trl", "1.0"), "TRL"), (1, 0))


def _snippet(recipe: Recipe, keys: Mapping[str, Any], facts: Facts, template: bool) -> WrittenConfig:
    """A script that trains with these arguments and what is known of training, and notes on the rest."""
    said = {key: value for key, value in keys.items() if key in SAID}
    objective = recipe.loss.objective
    kind = "Reward" if objective == "reward" else objective.upper()
    home = f"trl.experimental.{objective}" if objective in ("orpo", "cpo") else "trl"
    split = json.dumps(facts.split or "train")
    load = f"{facts.loader!r}, data_files={facts.data!r}" if facts.loader else f"{facts.data or 'DATASET'!r}"
    made = write_training(recipe.preset, {}, facts)
    calls: dict[str, dict[str, tuple[Any, str]]] = {
        "from_pretrained": {"max_seq_length": (recipe.length.max, "")},
        "get_peft_model": {},
        "SFTConfig": {key: (value, "") for key, value in {"max_length": recipe.length.max, **said}.items()},
    }
    for place, value in made.keys.items():
        call, name = ("SFTConfig", place[0]) if len(place) == 1 or place[0] not in calls else (place[0], place[1])
        if call == "SFTConfig" and len(place) > 1:  # a mapping among its arguments
            value = {**calls[call].get(str(name), ({}, ""))[0], str(place[1]): value}
        calls[str(call)][str(name)] = (value, made.comments.get(place, ""))
    if calls["from_pretrained"].get("full_finetuning", (False, ""))[0] or "r" not in calls["get_peft_model"]:
        calls["get_peft_model"] = {}
    lines = [
        *(f"# {note}" for note in made.notes),
        "from unsloth import FastLanguageModel",
        "from unsloth.chat_templates import standardize_data_formats, train_on_responses_only",
        "from datasets import load_dataset",
        f"from {home} import {kind}Config, {kind}Trainer",
        "",
        *_call("model, tokenizer = FastLanguageModel.from_pretrained(", calls["from_pretrained"]),
    ]
    if calls["get_peft_model"]:
        lines += _call("model = FastLanguageModel.get_peft_model(\n    model,", calls["get_peft_model"])
    for attribute in ("eos_token", "pad_token", "bos_token"):
        value = getattr(recipe.tokenizer, attribute)
        if value is not None:
            lines.append(f"tokenizer.{attribute} = {value!r}")
    if template:
        lines.append('tokenizer.chat_template = open("chat_template.jinja", encoding="utf-8").read()')
    lines += ["", f"dataset = load_dataset({load}, split={split})"]
    renamed = {theirs: ours for ours, theirs in recipe.data.fields.items() if ours in PAIR and ours != theirs}
    if renamed:
        lines.append(f"dataset = dataset.rename_columns({renamed!r})")
    if keys.get("standardize"):
        lines.append("dataset = standardize_data_formats(dataset)")
    column = keys.get("text_from")
    if column:
        texts = f"[tokenizer.apply_chat_template(one, tokenize=False) for one in rows[{str(column)!r}]]"
        lines += ["dataset = dataset.map(", f'    lambda rows: {{"text": {texts}}},', "    batched=True,", ")"]
    lines += ["", *_call(f"arguments = {kind}Config(", calls["SFTConfig"])]
    given = "model=model, processing_class=tokenizer, train_dataset=dataset, args=arguments"
    lines.append(f"trainer = {kind}Trainer({given})")
    if "responses" in keys:
        arguments = "".join(f", {key}={value!r}" for key, value in keys["responses"].items())
        lines.append(f"trainer = train_on_responses_only(trainer{arguments})")
    script = WrittenFile("train_unsloth.py", "\n".join([*lines, "trainer.train()", ""]))
    return WrittenConfig((script,), notes=tuple(made.notes))


def _call(begin: str, arguments: Mapping[str, tuple[Any, str]]) -> list[str]:
    """A call with a line for each argument, and the comment behind it."""
    lines = (
        f"    {key}={value!r},{f'  # {comment}' if comment else ''}" for key, (value, comment) in arguments.items()
    )
    return [begin, *lines, ")"]


SCRIPT_STEPS = ("standardize", "text_from", "formatting", "responses")
"""Of Unsloth's options those that the user's own script does, the rest are SFTConfig's."""

NOT_SFT_CONFIG = ("objective", "tokenizer", "revision", "chat_template", "trl_version", "eos_token", "pad_token")


def runner_request(recipe: Recipe, usual: Recipe) -> dict[str, Any]:
    """What the runner is asked, in place of a script for it to read."""
    keys = {str(place[0]): value for place, value in keys_of(recipe, usual)[0].items()}
    steps = {key: value for key, value in keys.items() if key in SCRIPT_STEPS}
    config = {key: value for key, value in keys.items() if key not in (*SCRIPT_STEPS, *NOT_SFT_CONFIG)}
    config.setdefault("max_length", recipe.length.max)
    tokens = {key: keys[key] for key in ("eos_token", "pad_token") if key in keys}
    return {"config": config, "dataset": steps, **({"tokens": tokens} if tokens else {})}
