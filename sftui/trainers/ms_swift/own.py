"""The options that ms-swift alone has."""

from __future__ import annotations

from dataclasses import dataclass

from sftui.recipe import Own, knob


@dataclass(frozen=True, slots=True)
class MsSwiftOptions(Own):
    """Arguments of `swift sft` without an equal elsewhere (ms-swift 4.6.0, arguments/)."""

    loss_scale: str | None = knob(
        None, "weights by the text of an answer, such as hermes or hermes+ignore_empty_think; null: none"
    )
    is_binary_loss_scale: bool | None = knob(
        None, "whether weights are kept as labels alone; null: where the loss scale has none but 0 and 1"
    )
    disable_ignore_empty_think: bool = knob(
        False, "an empty thought is trained, which templates of hybrid models else leave out"
    )
    add_non_thinking_prefix: bool = knob(True, "an answer without a thought gets an empty one, under those templates")
    enable_thinking: bool | None = knob(
        None, "which prefix an answer that is still to come gets; null: as the template"
    )
    preserve_thinking: bool | None = knob(None, "thoughts of earlier answers stay; null: as the template says")
    response_prefix: str | None = knob(
        None, "what stands before an answer that is still to come; null: as the template"
    )
    agent_template: str | None = knob(None, "how tools and calls are written; null: as the template says")
    model_type: str | None = knob(None, "the kind of model, which brings a template; null: by its name or architecture")
    use_chat_template: bool = knob(True, "chats are put into the template; `swift pt` takes their texts alone")
    columns: str | None = knob(None, "columns that are renamed, as JSON: the dataset's → ms-swift's")
    disable_auto_column_mapping: bool = knob(False, "columns are not renamed by themselves")
    strict: bool = knob(False, "the run stops at a row that cannot be prepared, instead of leaving it out")
    split_dataset_ratio: float = knob(0.0, "the share of the rows that is set aside for evaluation")
    data_seed: int = knob(42, "the seed by which rows are mixed and drawn")
    dataset_shuffle: bool = knob(True, "rows are mixed before they are packed")
    dataset_sample: int | None = knob(None, "rows drawn of the dataset, #N behind its name; null: all", minimum=1)
    packing_length: int | None = knob(None, "the tokens of a pack; null: max_length")
