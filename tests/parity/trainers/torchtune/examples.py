"""Where the example configs of its repository are."""

from __future__ import annotations

from example_repository import Repository

REPOSITORY = Repository("pytorch+torchtune/repo", "bd2a0fc7c31430972728494fa01aaeeb0ebf1ba1", r"recipes/.*\.ya?ml")
