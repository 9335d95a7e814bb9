"""Quicker ways to the very ids and offsets of a tokenizer, each held against it."""
