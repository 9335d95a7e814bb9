"""Where the example configs of its repository are."""

from __future__ import annotations

from example_repository import Repository

REPOSITORY = Repository(
    "NVIDIA-NeMo+Automodel/repo", "36044ad3d139363fb6c73c24af2e7c6b65ec52f6", r"examples/llm_finetune/.*\.ya?ml"
)
