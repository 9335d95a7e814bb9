"""Another trainer's preset, for the data that is open."""

from __future__ import annotations

from dataclasses import replace

from sftui.recipe import Recipe


def preset_like(now: Recipe, name: str) -> Recipe:
    """A preset with the data, tokenizer and chat template of `now`.

    A template of one trainer's own registry is nothing to another one, which then keeps its own.
    """
    from sftui.trainers import preset

    filled = preset(name)
    template = now.render.template
    kind = template.partition(":")[0]
    own = "/" in kind and kind.partition("/")[0] != filled.trainer
    render = filled.render if own else replace(filled.render, template=template)
    return replace(filled, data=now.data, tokenizer=now.tokenizer, render=render)
