"""LLaMA-Factory's supervised stage, 0.9.5 (the v0 engine)."""

from sftui.trainers.llamafactory.trainer import LlamaFactory

__all__ = ["LlamaFactory"]
