"""The keys of Axolotl's config that decide rows, ids or labels, and what becomes of every other.

Source: axolotl 0.18.0 to 0.21.0, utils/schemas/config.py AxolotlInputConfig and datasets.py SFTDataset, of which
known_keys.json holds the names, and integrations/*, whose plugins bring keys of their own: Axolotl merges the
models of the plugins that `plugins` lists and drops every key that is in none (integrations/config.py).
"""

from __future__ import annotations

from dataclasses import dataclass

from sftui.trainers.config import KeyNote, KeyUse
from sftui.trainers.known import Known

# What a key that is about data is not modelled for; shown only where it is switched on.
UNSUPPORTED = {
    "skip_prepare_dataset": "the data is left to other code",
    "tokenizer_use_mistral_common": "mistral-common tokenizes by rules of its own",
    "tokenizer_use_fast": "Axolotl asks for the slow tokenizer; the fast one is shown",
    "tokenizer_legacy": "the tokenizer is opened as AutoTokenizer opens it",
    "processor_type": "vision and audio rows are prepared with a processor",
    "rl": "preference data is no SFT data",
    "reward_model": "preference data is no SFT data",
    "process_reward_model": "stepwise rewards are no SFT data",
    "use_pose": "PoSE draws position ids at random",
    "batch_flattening": "batches are shown padded",
    "streaming": "a streamed set is filtered otherwise",
    "max_packed_sequence_len": "Axolotl refuses this key",
    "dataset_shard_num": "all rows are shown, not one shard",
    "dataset_shard_idx": "all rows are shown, not one shard",
    "dataset_exact_deduplication": "rows that become equal are left out by Axolotl; all are shown",
    "group_by_length": "rows are shown in the order of the dataset",
    "role_boundaries": "only for rows with images",
    "pretraining_sample_concatenation": "a streamed pre-training set is not shown",
    "preprocess_iterable": "a streamed set is filtered otherwise",
    "shuffle_before_merging_datasets": "rows are shown in the order of the dataset",
    "test_datasets": "evaluation sets are not shown",
    "is_mistral_derived_model": "with flash attention and no packing Axolotl pads such a model on the left",
    "is_qwen_derived_model": "Axolotl fills in special tokens of Qwen 1",
    "max_prompt_len": "only for preference data",
    "balance_labels": "batches and packs are put together so that they train alike many tokens; those shown are not",
    "diffusion_lm": "it masks tokens at random in each batch and trains on those",
}
LATER = frozenset(("balance_labels", "diffusion_lm"))
"""Those of them that only newer releases read (axolotl 0.21.0, utils/schemas/config.py)."""
NO_EFFECT = {"default_system_message": "it changes no text: Axolotl's chatml template has none to replace"}

USED = frozenset(
    [
        "val_set_size",
        "eval_sample_packing",
        "sequence_len",
        "excess_length_strategy",
        "min_sample_len",
        "train_on_inputs",
        "micro_batch_size",
        "sample_packing",
        "pad_to_sequence_len",
        "pad_to_multiple_of",
        "sample_packing_group_size",
        "sample_packing_bin_size",
        "sample_packing_sequentially",
        "multipack_real_batches",
        "curriculum_sampling",
        "tokenizer_config",
        "tokenizer_type",
        "base_model_config",
        "base_model",
        "revision_of_model",
        "special_tokens",
        "tokens",
        "added_tokens_overrides",
        "eot_tokens",
        "chat_template",
        "chat_template_jinja",
        "chat_template_kwargs",
        "datasets",
        "pretraining_dataset",
        "shuffle_merged_datasets",
        "attn_implementation",
        "flash_attention",
        "sdp_attention",
        "xformers_attention",
        "flex_attention",
        "sage_attention",
        "eager_attention",
        "s2_attention",
    ]
)
# One entry of `datasets:`.
DATASET_USED = frozenset(
    [
        "path",
        "name",
        "split",
        "data_files",
        "ds_type",
        "revision",
        "type",
        "chat_template",
        "chat_template_jinja",
        "field",
        "field_messages",
        "field_tools",
        "field_thinking",
        "template_thinking_key",
        "message_field_role",
        "message_field_content",
        "message_property_mappings",
        "message_field_training",
        "message_field_training_detail",
        "split_thinking",
        "roles_to_train",
        "train_on_eos",
        "train_on_eot",
        "roles",
        "drop_system_message",
    ]
)
DATASET_UNSUPPORTED = {
    "shards": "all rows are shown, not one shard of the shuffled set",
    "shards_idx": "all rows are shown, not one shard of the shuffled set",
    "preprocess_shards": "the set is read in one go; the order differs",
    "input_transform": "not modelled",
    "input_format": "not modelled",
    "conversation": "an old key: the prompt style of alpaca_chat",
    "field_human": "an old key without effect here",
    "field_model": "an old key without effect here",
    "logprobs_field": "only for distillation",
    "temperature": "only for distillation",
    "weight": "Axolotl takes this share of the rows, of a shuffle by `seed`, where there is one; all are shown",
}
DATASET_LATER = frozenset(("weight",))
"""Those of them that only newer releases read (axolotl 0.20.0, utils/schemas/datasets.py SFTDataset)."""
DATASET_LEFT = frozenset(("trust_remote_code",))
"""Keys of an entry that decide nothing and are not in the record of every release."""

OVERTAKEN = {
    "model_config": "overrides_of_model_config",
    "model_kwargs": "overrides_of_model_kwargs",
    "model_type": "type_of_model",
    "model_revision": "revision_of_model",
}
"""Old names that Axolotl takes for the new ones (utils/schemas/deprecated.py RemappedParameters)."""

PLUGINS = {
    "DiffusionDecisionPlugin": "it brings rows, labels and batches of its own",
    "DiffusionPlugin": "it masks tokens at random in each batch and trains on those",
    "HatcheryPlugin": "it sends the rows to a remote trainer, which trains by rules of its own",
    "MixLoraPlugin": "its trainer adds the loss of a router, which is not shown",
    "KDPlugin": "it adds a teacher's logprobs to each batch",
    "NemoGymPlugin": "it brings rows of its own",
}
"""Plugins of Axolotl's own that change rows, labels or batches: those with a hook for data, collator or trainer."""
OWN = "axolotl.integrations."
IDLE: tuple[object, ...] = (None, False, 0, 0.0, [], {})


@dataclass(frozen=True, slots=True)
class Listed:
    """The plugins of a config: `own` are Axolotl's by their class name, `other` are someone else's by their path."""

    own: tuple[str, ...]
    other: tuple[str, ...]


def listed(value: object) -> Listed:
    """What a config's `plugins` names."""
    paths = [str(one) for one in value] if isinstance(value, list) else []
    return Listed(
        tuple(path.rpartition(".")[2] for path in paths if path.startswith(OWN)),
        tuple(path for path in paths if not path.startswith(OWN)),
    )


def note_of(key: str, value: object, plugins: Listed, known: Known) -> KeyNote:
    """What becomes of a top-level key, and a word on it."""
    name = OVERTAKEN.get(key, key)
    if name in USED:
        return KeyNote(key, value, KeyUse.USED)
    if name == "plugins":
        return _plugins(value, plugins, known)
    if name == "type_of_model":
        return KeyNote(key, value, *_model(value))
    if name in UNSUPPORTED and (name not in LATER or name in known.config):
        idle = value in (None, True) if name == "tokenizer_use_fast" else value in IDLE
        return KeyNote(key, value, KeyUse.PASSED if idle else KeyUse.UNSUPPORTED, "" if idle else UNSUPPORTED[name])
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


def _plugins(value: object, plugins: Listed, known: Known) -> KeyNote:
    """What the plugins do to the data; a plugin that is in no record may do anything."""
    notes = [f"{name}: {PLUGINS[name]}" for name in plugins.own if name in PLUGINS]
    strange = [*(name for name in plugins.own if name not in known.plugins), *plugins.other]
    notes += [f"{name} is not known to sftui and may change data or batches" for name in strange]
    return KeyNote("plugins", value, KeyUse.UNSUPPORTED if notes else KeyUse.PASSED, "; ".join(notes))


def _model(value: object) -> tuple[KeyUse, str]:
    """type_of_model picks the model's class, and by its name the side that a Mistral is padded on."""
    if "mistral" in str(value).lower():
        return KeyUse.UNSUPPORTED, UNSUPPORTED["is_mistral_derived_model"]
    return KeyUse.PASSED, ""


def note_in_dataset(path: str, key: str, value: object, known: Known) -> KeyNote:
    """What becomes of a key of a dataset entry; `path` is where it stands in the config."""
    if key in DATASET_USED:
        return KeyNote(path, value, KeyUse.USED)
    if key in DATASET_UNSUPPORTED and (key not in DATASET_LATER or key in known.dataset):
        idle = value in (None, False) or (key in DATASET_LATER and value == 1)
        return KeyNote(
            path, value, KeyUse.PASSED if idle else KeyUse.UNSUPPORTED, "" if idle else DATASET_UNSUPPORTED[key]
        )
    if key in DATASET_LEFT or key in known.dataset:
        return KeyNote(path, value, KeyUse.PASSED)
    return known.unknown(path, value, "passes over it: an SFT dataset has no such key")
