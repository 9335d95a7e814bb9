"""A 2 GB JSONL and a 1 GB parquet: `python tests/benchmarks/large_files.py [FOLDER] [--gb 2] [--datasets]`.

Prints the time to the first row against a file of ten rows, the time to the complete index beside
`wc -l` (and `datasets.load_dataset`, which writes a cache as large as the file), the jump to the
last row, and the resident memory of all processes with a 128k-vocabulary tokenizer.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measure import REPO, memory, until

TOKENIZER = REPO.parent / "shared" / "testdata" / "tokenizers" / "llama-3-8b-instruct"


def make_jsonl(path: Path, size: int) -> int:
    """Replicated rows of the sample data, `size` bytes of them; the number of rows."""
    block = (
        b"".join(
            json.dumps(
                {
                    "messages": [
                        {k: m[k] for k in ("role", "content")}
                        for m in json.loads(line)["messages"]
                        if isinstance(m.get("content"), str)
                    ]
                },
                ensure_ascii=False,
            ).encode()
            + b"\n"
            for line in (REPO / "sample_data" / "chat_messages.jsonl").read_bytes().splitlines()
            if json.loads(line)["messages"][-1]["role"] == "assistant"
        )
        * 50
    )
    rows, written = 0, 0
    with path.open("wb") as file:
        while written < size:
            written += file.write(block)
            rows += block.count(b"\n")
    return rows


def make_parquet(path: Path, size: int) -> int:
    """The same rows as parquet, uncompressed and without dictionaries, so that it really is that large."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    lines = [json.loads(line) for line in (REPO / "sample_data" / "gsm8k_like.jsonl").read_bytes().splitlines()]
    table = pa.Table.from_pylist(lines * 500)
    rows = 0
    with pq.ParquetWriter(path, table.schema, compression="none", use_dictionary=False) as writer:
        while not path.exists() or path.stat().st_size < size:
            writer.write_table(table, row_group_size=10_000)
            rows += table.num_rows
    return rows


def watch(path: Path, rows: int, tokenizer: str) -> None:
    arguments = ["-m", "sftui", str(path), "-t", tokenizer]
    name = path.name[:6]
    first, terminal = until(arguments, lambda text: name in text and "▸" in text)
    try:
        start = time.perf_counter()
        terminal.until(f"of {rows:,}", 300)
        indexed = time.perf_counter() - start + first
        terminal.until("proven", 60)
        terminal.settle(0.5)
        start = time.perf_counter()
        terminal.send("G")
        terminal.until(lambda text: f"row {rows - 1:,} of" in text, 60)
        jump = time.perf_counter() - start
        terminal.settle(0.5)
        total, lines = memory(terminal.pid)
        print(
            f"{path.name}: first row {first * 1000:.0f} ms, count known {indexed * 1000:.0f} ms, jump to the last row"
            f" {jump * 1000:.0f} ms, {total:.0f} MB resident"
        )
        print("\n".join("    " + line for line in lines))
    finally:
        terminal.close()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", default=tempfile.gettempdir())
    parser.add_argument("--gb", type=float, default=2.0)
    parser.add_argument("--tokenizer", default=str(TOKENIZER))
    parser.add_argument("--datasets", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        small, jsonl, parquet = folder / "ten.jsonl", folder / "large.jsonl", folder / "large.parquet"
        rows = make_jsonl(jsonl, int(options.gb * 2**30))
        small.write_bytes(b"".join(jsonl.open("rb").readline() for _ in range(10)))
        watch(small, 10, options.tokenizer)
        start = time.perf_counter()
        subprocess.run(["wc", "-l", str(jsonl)], check=True, capture_output=True)
        print(f"wc -l on {options.gb:g} GB ({rows:,} rows): {(time.perf_counter() - start) * 1000:.0f} ms")
        watch(jsonl, rows, options.tokenizer)
        if options.datasets:
            code = (
                f"import datasets; print(len(datasets.load_dataset('json', data_files={str(jsonl)!r}, split='train',"
                f" cache_dir={str(folder / 'c')!r})))"
            )
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
            print(f"datasets.load_dataset, first time: {(time.perf_counter() - start) * 1000:.0f} ms")
        watch(parquet, make_parquet(parquet, int(options.gb / 2 * 2**30)), options.tokenizer)


if __name__ == "__main__":
    main()
