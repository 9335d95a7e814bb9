"""The template TRL swaps in for assistant_only_loss when the tokenizer's has no generation tag.

Source: trl 1.16.0, trl/chat_template_utils.py `get_training_chat_template`: exact string equality with one of its
stored templates, else the run is refused. `training_edits.json` holds the hash of each stored template and the edits
that lead to its twin (recorded by tests/parity/record_trl_templates.py); the twin is rebuilt from the user's own text
and checked against its hash.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from sftui.errors import TemplateError
from sftui.side_files import object_of
from sftui.templates import Rendering, compile_template
from sftui.trainers.base import Toolbox

_MARKERS = re.compile(r"\{%-?\s*generation\s*-?%\}")


def training_toolbox(tools: Toolbox) -> Toolbox:
    """The toolbox with the template that draws the mask; TemplateError where TRL refuses to train."""
    if not tools.templates:
        return tools
    default = tools.templates.get("default") or next(iter(tools.templates.values()))
    if _MARKERS.search(default.source):
        return tools
    twin = training_twin(default.source)
    if twin is None:
        raise TemplateError(
            "TRL refuses assistant_only_loss with this chat template",
            why="it has no {% generation %} tag and is not, to the letter, one of the templates TRL can patch",
            fix="add the tag, or train prompt/completion rows",
        )
    name, source = twin
    twin_template = _compiled(source, name, default.rendering).on(default.clock)
    return replace(tools, templates={"default": twin_template}, template_name=f"TRL's training copy of {name}")


def finds_answers(source: str) -> bool:
    """Whether TRL can train the answers alone with this chat template: it has tags, or a stored twin that has."""
    return _MARKERS.search(source) is not None or training_twin(source) is not None


def training_twin(source: str) -> tuple[str, str] | None:
    """(name, text) of the training template of a stored template, or None where TRL has none."""
    entry = _table().get(hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest())
    if entry is None:
        return None
    pieces, at = [], 0
    for start, end, text in entry["edits"]:
        pieces += [source[at:start], text]
        at = end
    made = "".join([*pieces, source[at:]])
    assert hashlib.sha256(made.encode()).hexdigest() == entry["result"], entry["name"]
    return entry["name"], made


@lru_cache(maxsize=1)
def _table() -> dict[str, Any]:
    return dict(object_of(Path(__file__).with_name("training_edits.json"))["templates"])


@lru_cache(maxsize=8)
def _compiled(source: str, name: str, rendering: Rendering) -> Any:
    return compile_template(source, f"trl training {name}", rendering=rendering)
