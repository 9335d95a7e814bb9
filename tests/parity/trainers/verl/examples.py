"""Where the example configs of its repository are."""

from __future__ import annotations

from example_repository import Repository

REPOSITORY = Repository(
    "verl-project+verl/repo", "1dda039b9c6311889a9c9a26040677e1254814f9", r"examples/sft/(gsm8k|multiturn)/.*\.sh"
)
