"""An export of an opened config changes the keys that it means to, and keeps every comment."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from sftui.errors import SftuiError
from sftui.recipe import Recipe, changed, get, knobs
from sftui.trainers import trainer_named
from sftui.trainers.own_config import write_config

CONFIGS: Mapping[str, str] = {
    "trl@1.16": """\
# c0
model_name_or_path: builtin:chatml  # c1
datasets:  # c2
  # c3
  - path: json  # c4
    data_files: rows.jsonl  # c5
max_length: 512  # c6
packing: false  # c7
# c8
""",
    "axolotl@0.19": """\
# c0
base_model: builtin:chatml  # c1
sequence_len: 512  # c2
datasets:  # c3
  - path: rows.jsonl  # c4
    type: chat_template  # c5
    # c6
    roles_to_train:  # c7
      - assistant  # c8
    roles:  # c9
      assistant:  # c10
        - gpt  # c11
        - model  # c12
      user:
        - human  # c13
    message_property_mappings:  # c14
      role: from  # c15
      content: value  # c16
special_tokens:  # c17
  # c18
  pad_token: <|endoftext|>  # c19
chat_template_kwargs:  # c20
  enable_thinking: true  # c21
# c22
""",
    "unsloth@2026.10": """\
# c0
tokenizer: builtin:chatml  # c1
data: rows.jsonl  # c2
max_length: 512  # c3
responses:  # c4
  # c5
  instruction_part: "<|im_start|>user\\n"  # c6
  response_part: "<|im_start|>assistant\\n"  # c7
# c8
""",
    "torchtune@0.6.1": """\
# c0
tokenizer:  # c1
  _component_: torchtune.models.qwen2_5.qwen2_5_tokenizer  # c2
  path: /m/vocab.json  # c3
  max_seq_len: 512  # c4
  prompt_template:  # c5
    user:  # c6
      - "Q: "  # c7
      - "\\n"  # c8
dataset:  # c9
  # c10
  _component_: torchtune.datasets.instruct_dataset  # c11
  source: json
  data_files: rows.jsonl  # c12
  column_map:  # c13
    input: question  # c14
    output: answer  # c15
batch_size: 2  # c16
""",
    "llamafactory@0.9": """\
# c0
model_name_or_path: builtin:chatml  # c1
template: qwen  # c2
dataset: rows  # c3
dataset_dir: .  # c4
cutoff_len: 512  # c5
# c6
""",
}
VALUES: Mapping[str, tuple[Any, ...]] = {
    "mask.roles": (("assistant", "user"), ("user",), ()),
    "data.role_map": ({"gpt": "assistant", "human": "user", "bot": "assistant"}, {"gpt": "assistant"}),
    "data.message_keys": ({"role": "from", "content": "text"}, {"role": "who", "content": "value"}),
    "data.fields": ({"messages": "chat"}, {"input": "q", "output": "answer"}),
    "render.kwargs": ({"enable_thinking": False}, {"enable_thinking": True, "a": 1}),
    "mask.response_marker": ("<|x|>",),
    "mask.instruction_marker": ("<|y|>",),
    "tokenizer.eos_token": ("<|im_end|>",),
    "tokenizer.pad_token": ("<|im_end|>",),
}  # fmt: skip


def values(path: str, type_: str, choices: tuple[str, ...]) -> tuple[Any, ...]:
    if path in VALUES:
        return VALUES[path]
    return choices or {"bool": (False, True), "int": (7,), "int?": (7,)}.get(type_, ())


def leaves(value: Any, path: tuple[Any, ...] = ()) -> dict[tuple[Any, ...], Any]:
    held = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if held is None or not value:
        return {path: value}
    return {inner: leaf for key, one in held for inner, leaf in leaves(one, (*path, key)).items()}


def lost(before: str, after: str) -> list[str]:
    """The comments that went though the key that they stand at, or in, is still there."""
    comments = {line.partition("# ")[2] for line in after.splitlines()}
    kept = leaves(yaml.safe_load(after))
    there = {str(step) for path in kept for step in path} | {str(leaf) for leaf in kept.values()}
    found, above = [], ["" for _ in range(20)]
    for line in before.splitlines():
        indent = len(line) - len(line.lstrip(" -"))
        key = line.partition("#")[0].strip(" -").partition(":")[0].strip(' "')
        if key:
            above[indent:] = [key] * (20 - indent)
        owner = key or (above[indent - 1] if indent else "")
        if "# " in line and line.partition("# ")[2] not in comments and (not owner or owner in there):
            found.append(line)
    return found


@pytest.mark.parametrize("preset", CONFIGS)
def test_every_comment_survives_every_knob(preset: str, tmp_path: Path) -> None:
    (tmp_path / "dataset_info.json").write_text(json.dumps({"rows": {"file_name": "rows.jsonl"}}))
    _, _, version = preset.partition("@")
    trainer, text = trainer_named(preset), CONFIGS[preset].replace("dataset_dir: .", f"dataset_dir: {tmp_path}")
    opened = trainer.read_config(str(tmp_path / "config.yml"), text, version)
    recipe: Recipe = opened.recipe
    done = 0
    for info in knobs():
        for value in values(info.path, info.type, info.choices):
            if get(recipe, info.path) == value:
                continue
            try:
                written = write_config(changed(recipe, info.path, value), opened)
            except SftuiError:
                continue
            after = next(file.content for file in written.files if file.name == "config.yml")
            assert not lost(text, after), (info.path, value, after)
            done += 1
    assert done >= 20
