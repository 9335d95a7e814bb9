"""What `apply_chat_template` does that depends on the version of transformers: one frozen value per range of versions.

Read from the sources of every minor release from 4.55 to 5.24 (`utils/chat_template_utils.py` and
`tokenization_utils_base.py`) and held against seven of them by `tests/parity/test_parity_rendering.py`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache

OLDEST, LATEST = "4.55.0", "5.24.0"
"""The first and the last release whose sources were read."""
REASONING_KEYS = ("reasoning_content", "thinking", "reasoning")
"""The names that a message's reasoning comes under, the one that counts first."""


@dataclass(frozen=True, slots=True)
class Rendering:
    """How one version of transformers renders a chat template.

    `version` is the release in which this behaviour began. `drops_null_keys`: keys of a message whose value is None do
    not reach the template. `plain_types`: everything it sees is rebuilt of JSON's types, anything else is `<TypeName>`;
    without it dates, decimals and bytes reach it as they are. `guards_globals`: `dict` and `namespace` are those of
    transformers, which have no other methods and take no names with an underscore. `aliases_reasoning`: reasoning under
    one of its names is also there under `reasoning_content` and `thinking`. `refuses_empty`: a conversation without
    messages is refused in words; before, it ends in an IndexError. `tracks_first`: a `{% generation %}` block counts
    also where nothing was written before it. `masks_overlaps`: the assistant mask has each token that overlaps such a
    block; before, those from the token of its first character to that of its last (see `labels.generation_tag`).
    """

    version: str
    drops_null_keys: bool = False
    plain_types: bool = False
    guards_globals: bool = False
    aliases_reasoning: bool = False
    refuses_empty: bool = False
    tracks_first: bool = False
    masks_overlaps: bool = False


_CHANGES: tuple[tuple[str, dict[str, object]], ...] = (
    ("5.4.0", {"tracks_first": True}),  # AssistantTracker.is_active: `is not None` where lists were tested for truth
    ("5.13.0", {"refuses_empty": True}),  # apply_chat_template
    ("5.21.0", {"aliases_reasoning": True}),  # _alias_reasoning_fields
    ("5.22.2", {"plain_types": True, "guards_globals": True}),  # _plain_template_data, TemplateDict, TemplateNamespace
    ("5.23.0", {"drops_null_keys": True}),  # apply_chat_template: `if v is not None`
    ("5.24.0", {"masks_overlaps": True}),  # apply_chat_template: offsets of the encoding instead of char_to_token
)
"""Each release after 4.55 that changed what a template sees or gives, what it changed, and where."""


def _behaviours() -> tuple[Rendering, ...]:
    made = [Rendering(OLDEST)]
    for version, changes in _CHANGES:
        made.append(replace(made[-1], version=version, **changes))  # type: ignore[arg-type]
    return tuple(made)


BEHAVIOURS = _behaviours()
NEWEST = BEHAVIOURS[-1]


@cache
def rendering_of(version: str) -> Rendering:
    """The behaviour of a version such as `5.16.1`; the nearest known one before 4.55 and after 5.24, and of none given
    the newest."""
    wanted = release(version)
    if not wanted:
        return NEWEST
    return next((one for one in reversed(BEHAVIOURS) if release(one.version) <= wanted), BEHAVIOURS[0])


def release(version: str) -> tuple[int, ...]:
    """`5.20.1rc1` as (5, 20, 1); empty where it begins with no number."""
    found = re.match(r"\d{1,9}(?:\.\d{1,9})*", version)
    return tuple(int(part) for part in found.group().split(".")) if found else ()


def not_read(version: str) -> str | None:
    """A sentence where a version lies outside those that were read, else None."""
    wanted = release(version)
    if wanted and wanted[:2] > release(LATEST)[:2]:
        return f"chat templates are rendered as under transformers {LATEST}: {version} is newer than any sftui knows"
    if wanted and wanted < release(OLDEST):
        return f"chat templates are rendered as under transformers {OLDEST}: {version} is older than any sftui knows"
    return None
