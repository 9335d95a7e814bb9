"""Where the example configs of its repository are."""

from __future__ import annotations

from example_repository import Repository

REPOSITORY = Repository(
    "modelscope+ms-swift/repo", "3602360a562313afbf2ef6065fdf61f271a2c5b9", r"examples/.*\.(sh|ya?ml)"
)
