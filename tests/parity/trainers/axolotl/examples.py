"""Where the example configs of its repository are."""

from __future__ import annotations

from example_repository import Repository

REPOSITORY = Repository(
    "axolotl-ai-cloud+axolotl/repo", "067b021c8b87a9e5e380b9173c704cf7340e30f5", r"examples/.*\.ya?ml"
)
