"""`sftui trainers`: what each trainer is, its releases, and what it does with answers, packs and versions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import click

from sftui.cli.terminal import page_width
from sftui.recipe import knobs_of
from sftui.text import visible
from sftui.trainers import preset, release_of, trainer_names, traits_of
from sftui.trainers.own_config import choices_of
from sftui.trainers.versions import loads_by_transformers, pins_of, reference_version


def describe(name: str) -> dict[str, Any]:
    """What there is to say of a trainer, all of it from its traits, presets, pins and table of keys; `package` brings
    it where it is none of sftui's own."""
    traits, recipe = traits_of(name), preset(name)
    packing = next(info for info in knobs_of(recipe) if info.path == "pack.strategy")
    return {
        "name": name,
        "title": traits.title,
        "about": traits.about,
        "finds_answers_by": traits.finds.value,
        "packs": {choice: packing.meaning(choice) for choice in choices_of(recipe, packing) if choice != "none"},
        "releases": [_release(f"{name}@{version}") for version in traits.versions] or [_release(name)],
        "oldest": ".".join(map(str, traits.first)) if any(traits.first) else "",
        "config": bool(traits.config),
        "package": release_of(name),
    }


def _release(name: str) -> dict[str, str]:
    """One preset. `read_from` is the release its rules were read from; `transformers` the version whose ids are shown,
    `admits` from which to which version the trainer itself asks for; empty where it asks nothing."""
    recipe, pins = preset(name), pins_of(name)
    admitted = pins.asks.get("transformers", {}).get(pins.package, "") if pins is not None else ""
    return {
        "preset": name,
        "mask_rule": recipe.mask.rule,
        "read_from": f"{pins.package} {pins.version}" if pins is not None else "",
        "transformers": reference_version(recipe) if pins is not None and loads_by_transformers(name) else "",
        "admits": ",".join(reversed([one for one in admitted.split(",") if one and not one.startswith("!=")])),
    }


def trainers(form: str) -> int:
    """Print every trainer, those of enabled packages too."""
    described = [describe(name) for name in trainer_names()]
    if form == "json":
        click.echo(json.dumps(described, ensure_ascii=False, indent=2))
        return 0
    width = page_width()
    click.echo("\n".join(drawn(description, width) for description in described))
    click.echo(
        click.wrap_text(
            "--trainer NAME[@VERSION] starts from that trainer; `sftui knobs --trainer NAME` lists its settings and"
            " config keys; `sftui help trainers` describes each one.",
            width,
        )
    )
    return 0


def drawn(trainer: Mapping[str, Any], width: int) -> str:
    """A trainer in some lines, none wider than `width` where words allow."""
    formatter = click.HelpFormatter(width=width)
    brought = f" ({trainer['package']})" if trainer["package"] else ""
    head = visible(f"{trainer['name']} – {trainer['about'] or trainer['title']}{brought}")
    formatter.write(click.wrap_text(head, width, subsequent_indent="  ") + "\n")
    lines = [("answers", f"found by {trainer['finds_answers_by']}")]
    packs = [f"{one}: {means}" if means else one for one, means in trainer["packs"].items()]
    lines += [("packs" if number == 0 else "", one) for number, one in enumerate(packs or ["never"])]
    for number, one in enumerate(trainer["releases"]):
        parts = [f"{one['preset']}: mask.rule {one['mask_rule']}"]
        if one["read_from"]:
            parts.append(f"read from {one['read_from']}")
        if one["transformers"]:
            parts.append(
                f"ids of transformers {one['transformers']}" + f" (asks {one['admits']})" * bool(one["admits"])
            )
        lines.append(("presets" if number == 0 else "", ", ".join(parts)))
    if trainer["oldest"]:
        lines.append(("", f"releases before {trainer['oldest']} are rejected"))
    lines.append(("config", "read and written" if trainer["config"] else "none: a hand-written loop"))
    with formatter.indentation():
        formatter.write_dl([(title, visible(text)) for title, text in lines])
    return formatter.getvalue()
