"""Bytes or hub → Row: `open_source(SourceSpec(("train.jsonl",)))`."""

from sftui.sources.opening import open_source
from sftui.sources.source import Change, Count, Damage, DataFile, Loading, Source, SourceSpec

__all__ = ["Change", "Count", "Damage", "DataFile", "Loading", "Source", "SourceSpec", "open_source"]
