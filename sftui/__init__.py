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
    from sftui.api.dataset import EncodedTable as EncodedTable
    from sftui.api.dataset import OpenDataset as OpenDataset
    from sftui.api.opening import check as check
    from sftui.api.opening import encode as encode
    from sftui.api.opening import open as open  # noqa: A004 - it is sftui.open
    from sftui.api.report import CodeFound as CodeFound
    from sftui.api.report import FindingsError as FindingsError
    from sftui.api.report import Report as Report
    from sftui.api.row import PreparedRow as PreparedRow
    from sftui.errors import SftuiError as SftuiError

__version__: str
"""As the installed package says, from pyproject.toml alone; `0+unknown` where sftui runs without being installed."""

if not TYPE_CHECKING:
    _WHERE = {
        **dict.fromkeys(("check", "encode", "open"), "api.opening"),
        **dict.fromkeys(("CodeFound", "FindingsError", "Report"), "api.report"),
        **dict.fromkeys(("EncodedTable", "OpenDataset"), "api.dataset"),
        "PreparedRow": "api.row",
        "SftuiError": "errors",
    }
    __all__ = [*_WHERE]

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
