"""Where the example configs of its repository are."""

from __future__ import annotations

from example_repository import Repository

REPOSITORY = Repository(
    "ml-explore+mlx-lm/repo", "d78bf58e217c904ec282ed8da9b947491f78c022", r"mlx_lm/examples/lora_config\.yaml"
)
