"""Every change of a recipe or of its data, tried one by one against a finding: which of them work.

Nothing here knows what helps against what, nor what `session.candidates` proposes: each knob gets every value that it
can have, texts and mappings those that the rows, the template and the tokenizer hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Any, NamedTuple

from sftui.conversations.messages import KNOWN_ROLES, ROLE_ALIASES
from sftui.errors import SftuiError
from sftui.findings import Finding, Fix
from sftui.findings.rule import TO_MESSAGES
from sftui.model import Inspection, Kind
from sftui.recipe import KnobInfo, changed, get, knobs_of
from sftui.repairs.run import REPAIRS
from sftui.session.checking import result_of
from sftui.session.ready import Ready, ready_under
from sftui.session.trial import can_be_told, changed_by, judged
from sftui.templates.rendering.sandbox import free_variables
from sftui.trainers import traits_of
from sftui.trainers.own_config import losses_of

FIELDS = ("messages", "text", "prompt", "completion", "instruction", "input", "output", "system", "tools", "images")
KEYS = ("role", "content", "train_flag", "train_detail", "weight", "tool_calls", "name", "reasoning_content")
LENGTHS = (None, 32, 64, 128, 256, 4096)
FACTS = ("data.format", "data.given_labels")
"""Knobs that say what the data is, and change nothing that is wrong with it."""


class Change(NamedTuple):
    """One knob with a value, a repair, or tags in the template."""

    name: str
    value: Any = None

    def __str__(self) -> str:
        return self.name if self.value is None else f"{self.name}={str(self.value)[:60]}"


TAGS = Change("tags")


def singles(session: Ready, rows: list[Inspection]) -> Iterator[Change]:
    """Every single change that can be tried on some rows."""
    rendered = any(row.conversation is not None and row.conversation.kind is Kind.TEXT for row in rows)
    for name in (TO_MESSAGES, *REPAIRS):
        if not (rendered and name == "strip-tokens"):  # it would take away what makes turns of a text
            yield Change(f"repair {name}")
    yield TAGS
    traits = traits_of(session.requested.preset)
    yield from (Change("preset", f"{traits.name}@{version}") for version in traits.versions)
    for info in knobs_of(session.requested):
        if info.path in FACTS:
            continue
        now = get(session.requested, info.path)
        yield from (Change(info.path, value) for value in _values(session, rows, info) if value != now)


def _values(session: Ready, rows: list[Inspection], info: KnobInfo) -> Iterator[Any]:
    """The values of a knob."""
    now, kind = get(session.requested, info.path), info.type.removesuffix("?")
    data = [row.row.data for row in rows if isinstance(row.row.data, Mapping)]
    columns = list(dict.fromkeys(name for row in data for name in row))
    turns = [turn for row in data for value in row.values() if isinstance(value, list) for turn in value]
    keys = list(dict.fromkeys(key for turn in turns if isinstance(turn, Mapping) for key in turn))
    facts = session.tokenizer.facts
    if info.type.endswith("?"):
        yield None
    if kind == "bool" or info.choices:
        yield from info.choices or (False, True)
    elif info.path == "data.fields":
        read = set(session.detected.fields.values())
        yield from ({**now, field: name} for field in FIELDS for name in columns if name not in read)
    elif info.path == "data.message_keys":
        yield from ({**session.detected.message_keys, ours: key} for ours in KEYS for key in keys)
        yield from ({one: now[one] for one in now if one != gone} for gone in now)
    elif info.path == "data.role_map":
        said = {str(value) for turn in turns if isinstance(turn, Mapping) for value in list(turn.values())[:1]}
        known = {one: ROLE_ALIASES[one.lower()] for one in sorted(said) if one.lower() in ROLE_ALIASES}
        yield from ({**now, one: ours} for one, ours in known.items())
    elif info.path == "mask.roles":
        yield from (tuple(one for one in now if one != role) for role in now)
        yield from ((*now, role) for role in KNOWN_ROLES if role not in now)
    elif info.path == "render.kwargs":
        template = session.tools.default_template
        for name in sorted(free_variables(template.source)) if template is not None else ():
            yield from ({**now, name: value} for value in (False, True))
    elif info.path == "render.template":
        yield "tokenizer"
    elif info.path == "length.max":
        yield from LENGTHS
    elif info.path.endswith("_token"):
        yield from (*facts.special_tokens.values(), "auto", "<|endoftext|>", "<|pad|>", "<|im_end|>")
    elif kind == "names":
        yield from ({**now, key: key} for key in keys)
    elif kind == "str":
        yield from dict.fromkeys(("", *columns, *keys))


def works(session: Ready, finding: Finding, change: Change) -> bool:
    """Whether a change helps against a finding, can be told to the trainer, and does no harm."""
    cure, recipe = list[Fix | str](), session.requested
    try:
        if change.name.startswith("repair "):
            cure.append(change.name.removeprefix("repair "))
        elif change == TAGS:
            cure.append(Fix("", template="generation_tags"))
        else:
            recipe = changed(recipe, change.name, change.value)
            lost = set(losses_of(recipe)) - set(losses_of(session.recipe))
            if lost or not can_be_told(session.requested, recipe):
                return False
        with ExitStack() as files:
            tagged, repairs = changed_by(session, cure, files)
            other = ready_under(session, recipe if recipe != session.requested else tagged, repairs)
            return result_of(judged(session, other, finding, own=False)) == ""
    except (SftuiError, ValueError, TypeError, AttributeError):  # a value that the knob does not take
        return False


def known_changes(session: Ready, finding: Finding, rows: list[Inspection]) -> list[str]:
    """The changes that work against a finding."""
    return list(dict.fromkeys(str(one) for one in singles(session, rows) if works(session, finding, one)))
