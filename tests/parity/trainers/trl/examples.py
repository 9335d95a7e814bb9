"""Where the example configs of its repository are."""

from __future__ import annotations

from example_repository import Repository

REPOSITORY = Repository(
    "huggingface+trl/repo", "f2cd57710ae345ea6428ae95363267fcf38a3dc8", r"examples/cli_configs/.*\.ya?ml"
)
