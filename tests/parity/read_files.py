"""Reads files with the `datasets` of whichever Python runs it: a script that imports nothing of sftui.

    PYTHON read_files.py LIST OUT

LIST names a file a line, or a folder whose files are loaded in the order of their names; OUT gets a JSON line for each:
`rows` (of a folder none) and `features`, or `error`. Values that JSON has not are marked:
{"$": "2024-01-01T00:00:00"} a timestamp, {"$": "nan"} no number.
"""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import logging
import math
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

KINDS = {".csv": "csv", ".parquet": "parquet"}


def plain(value: Any) -> Any:
    """A value as JSON holds it."""
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return {"$": value.isoformat()}
    if isinstance(value, float) and not math.isfinite(value):
        return {"$": str(value)}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return {"$": repr(value)}


def main(listed: str, out: str) -> None:
    import datasets

    datasets.disable_progress_bars()
    datasets.disable_caching()
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as cache, open(out, "w", encoding="utf-8") as results:
        packages = ("datasets", "pandas", "pyarrow")
        print(json.dumps({name: importlib.metadata.version(name) for name in packages}), file=results)
        for number, name in enumerate(Path(listed).read_text(encoding="utf-8").split()):
            whole = Path(name).is_dir()
            files = sorted(map(str, Path(name).iterdir())) if whole else [name]
            kind = KINDS.get(Path(files[0]).suffix, "json")
            try:
                found = datasets.load_dataset(kind, data_files=files, split="train", cache_dir=f"{cache}/{number}")
                rows = [] if whole else [plain(row) for row in found]
                made: dict[str, Any] = {"rows": rows, "features": str(found.features)[:400]}
            except Exception as error:
                cause = error.__cause__ or error
                made = {"error": f"{type(cause).__name__}: {' '.join(str(cause).split())[:200]}"}
            shutil.rmtree(f"{cache}/{number}", ignore_errors=True)
            print(json.dumps(made), file=results, flush=True)  # pyarrow may end the process at the next file


if __name__ == "__main__":
    main(*sys.argv[1:])
