"""Bytes or hub → Row: `open_source(SourceSpec(("train.jsonl",)))`."""

from sftui.sources.opening import open_source
from sftui.sources.source import Count, Source, SourceSpec

__all__ = ["Count", "Source", "SourceSpec", "open_source"]
