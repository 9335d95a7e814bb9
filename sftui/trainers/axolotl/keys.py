"""The keys of Axolotl's config that decide rows, ids or labels, and what becomes of every other.

Source: axolotl 0.18.0 to 0.21.0, utils/schemas/config.py AxolotlInputConfig and datasets.py SFTDataset, of which
known_keys.json holds the names, and integrations/*, whose plugins bring keys of their own: Axolotl merges the
models of the plugins that `plugins` lists and drops every key that is in none (integrations/config.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sftui.trainers.axolotl.settings import RECORD
from sftui.trainers.config import KeyNote, KeyUse
from sftui.trainers.known import KnownKeys

# What a key that is about data is not modelled for; shown only where it is switched on.
UNSUPPORTED: Mapping[str, str] = RECORD["unsupported"]
LATER = frozenset(("balance_labels", "diffusion_lm"))
"""Those of them that only newer releases read (axolotl 0.21.0, utils/schemas/config.py)."""
NO_EFFECT = {"default_system_message": "it changes no text: Axolotl's chatml template has none to replace"}

USED: frozenset[str] = frozenset(RECORD["used"].split())
# One entry of `datasets:`.
DATASET_USED: frozenset[str] = frozenset(RECORD["dataset used"].split())
DATASET_UNSUPPORTED: Mapping[str, str] = RECORD["dataset unsupported"]
DATASET_LATER = frozenset(("weight",))
"""Those of them that only newer releases read (axolotl 0.20.0, utils/schemas/datasets.py SFTDataset)."""
DATASET_LEFT = frozenset(("trust_remote_code",))
"""Keys of an entry that decide nothing and are not in the record of every release."""

OVERTAKEN: Mapping[str, str] = RECORD["overtaken"]
"""Old names that Axolotl takes for the new ones (utils/schemas/deprecated.py RemappedParameters)."""

PLUGINS: Mapping[str, str] = RECORD["plugins"]
"""Plugins of Axolotl's own that change rows, labels or batches: those with a hook for data, collator or trainer."""
OWN = "axolotl.integrations."
IDLE: tuple[object, ...] = (None, False, 0, 0.0, [], {})


@dataclass(frozen=True, slots=True)
class PluginList:
    """The plugins of a config: `own` are Axolotl's by their class name, `other` are someone else's by their path."""

    own: tuple[str, ...]
    other: tuple[str, ...]


def listed(value: object) -> PluginList:
    """What a config's `plugins` names."""
    paths = [str(one) for one in value] if isinstance(value, list) else []
    return PluginList(
        tuple(path.rpartition(".")[2] for path in paths if path.startswith(OWN)),
        tuple(path for path in paths if not path.startswith(OWN)),
    )


def note_of(key: str, value: object, plugins: PluginList, known: KnownKeys) -> KeyNote:
    """What becomes of a top-level key, and a word on it."""
    name = OVERTAKEN.get(key, key)
    if name in USED:
        return KeyNote(key, value, KeyUse.USED)
    if name == "plugins":
        return _plugins(value, plugins, known)
    if name == "type_of_model":  # which picks the model's class, and by its name the side that a Mistral is padded on
        return _unless("mistral" not in str(value).lower(), key, value, UNSUPPORTED["is_mistral_derived_model"])
    if name in UNSUPPORTED and (name not in LATER or name in known.config):
        return _unless(value in ((None, True) if name == "tokenizer_use_fast" else IDLE), key, value, UNSUPPORTED[name])
    if name in NO_EFFECT:
        return KeyNote(key, value, KeyUse.PASSED, NO_EFFECT[name])
    if name in known.config or any(key in known.plugins[one].keys for one in plugins.own if one in known.plugins):
        return KeyNote(key, value, KeyUse.PASSED)
    for plugin, record in known.plugins.items():
        if key in record.keys:
            return KeyNote(
                key, value, KeyUse.UNKNOWN, f"the plugin {plugin} reads it, but `plugins` does not list {plugin}"
            )
    if plugins.other:
        return KeyNote(key, value, KeyUse.UNSURE, f"the plugin {plugins.other[0]} may read it")
    return known.unknown(key, value, "passes over it")


def _plugins(value: object, plugins: PluginList, known: KnownKeys) -> KeyNote:
    """What the plugins do to the data; a plugin that is in no record may do anything."""
    notes = [f"{name}: {PLUGINS[name]}" for name in plugins.own if name in PLUGINS]
    strange = [*(name for name in plugins.own if name not in known.plugins), *plugins.other]
    notes += [f"{name} is not known to sftui and may change data or batches" for name in strange]
    return KeyNote("plugins", value, KeyUse.UNSUPPORTED if notes else KeyUse.PASSED, "; ".join(notes))


def _unless(idle: bool, path: str, value: object, why: str) -> KeyNote:
    """The note of a key that sftui does not model, and why, unless it says nothing."""
    return KeyNote(path, value, KeyUse.PASSED) if idle else KeyNote(path, value, KeyUse.UNSUPPORTED, why)


def note_in_dataset(path: str, key: str, value: object, known: KnownKeys) -> KeyNote:
    """What becomes of a key of a dataset entry; `path` is where it stands in the config."""
    if key in DATASET_USED:
        return KeyNote(path, value, KeyUse.USED)
    if key in DATASET_UNSUPPORTED and (key not in DATASET_LATER or key in known.dataset):
        idle = value in (None, False) or (key in DATASET_LATER and value == 1)
        return _unless(idle, path, value, DATASET_UNSUPPORTED[key])
    if key in DATASET_LEFT or key in known.dataset:
        return KeyNote(path, value, KeyUse.PASSED)
    return known.unknown(path, value, "passes over it: an SFT dataset has no such key")
