"""A stand-in: LLaMA-Factory imports it for sound, and its environment has none that fits its torch."""
