"""Bytes or hub → Row: `open_source(SourceSpec(("train.jsonl",)))`."""

from sftui.sources.opening import open_source
from sftui.sources.source import Damage, DataChange, DataFile, Loading, RowCount, Source, SourceSpec

__all__ = ["Damage", "DataChange", "DataFile", "Loading", "RowCount", "Source", "SourceSpec", "open_source"]
