"""Where the example configs of its repository are."""

from __future__ import annotations

from example_repository import Repository

REPOSITORY = Repository(
    "hiyouga+LLaMA-Factory/repo", "ff6d4d12eeb035d6ce06805a5733dd7b29f2ac30", r"examples/v1/train_.*\.ya?ml"
)
