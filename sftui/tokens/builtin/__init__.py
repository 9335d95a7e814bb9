"""The tokenizers that come with sftui: small, offline, with the special tokens of their families."""

from __future__ import annotations

from pathlib import Path

PREFIX = "builtin:"
NAMES = ("chatml", "gemma", "llama3")


def folder(name: str) -> Path:
    """The folder of a built-in tokenizer's files, one of `NAMES`."""
    return Path(__file__).parent / name
