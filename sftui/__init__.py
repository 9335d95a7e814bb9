"""sftui: see exactly what the trainer trains on, before you spend a GPU hour.

    with sftui.open("train.jsonl", tokenizer="Qwen/Qwen3-0.6B", trainer="trl@1.16") as data:
        row = data[17]                 # row.input_ids, row.labels, row.tokens, row.reasons, row.findings
        data.check().raise_on("error")
        data.encode().to_parquet("encoded.parquet")

`sftui help python-api` has the rest. Nothing is loaded before it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sftui.api.dataset import OpenDataset
    from sftui.api.opening import check, encode, open  # noqa: A004 - it is sftui.open
    from sftui.api.report import CodeFound, FindingsError, Report
    from sftui.api.row import PreparedRow
    from sftui.api.table import EncodedTable
    from sftui.errors import SftuiError

__version__: str
"""As the installed package says, from pyproject.toml alone; `0+unknown` where sftui runs without being installed."""

__all__ = [
    "CodeFound",
    "EncodedTable",
    "FindingsError",
    "OpenDataset",
    "PreparedRow",
    "Report",
    "SftuiError",
    "check",
    "encode",
    "open",
]

if not TYPE_CHECKING:
    _WHERE = {
        "open": "api.opening",
        "encode": "api.opening",
        "check": "api.opening",
        "OpenDataset": "api.dataset",
        "PreparedRow": "api.row",
        "EncodedTable": "api.table",
        "Report": "api.report",
        "CodeFound": "api.report",
        "FindingsError": "api.report",
        "SftuiError": "errors",
    }

    def __getattr__(name: str) -> object:
        if name in _WHERE:
            from importlib import import_module

            return getattr(import_module(f"sftui.{_WHERE[name]}"), name)
        if name != "__version__":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib.metadata import PackageNotFoundError, version  # 30 ms that nobody else needs at once

        try:
            return version("sftui")
        except PackageNotFoundError:
            return "0+unknown"

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__, "__version__"})
