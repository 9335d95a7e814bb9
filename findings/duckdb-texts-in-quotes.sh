#!/usr/bin/env bash
# duckdb 2.0.1: where one row's `content` is a list of parts, the whole column is read as JSON, and then the texts of all other
# rows are JSON, too: they come with quotation marks around them and line feeds as \n, and so they are written to Parquet.
set -euo pipefail
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT && cd "$folder"
python3 -m venv env
env/bin/pip install -q duckdb==2.0.1 pyarrow==26.0.1
env/bin/python - <<'PY'
import json
import duckdb
import pyarrow.parquet

print("duckdb", duckdb.__version__)
TEXT = {"messages": [{"role": "user", "content": "One\ntwo"}]}
PARTS = {"messages": [{"role": "user", "content": [{"type": "text", "text": "Three"}]}]}


def through_parquet(name, *rows):
    with open(f"{name}.jsonl", "w") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    duckdb.sql(f"COPY (SELECT * FROM '{name}.jsonl') TO '{name}.parquet'")
    contents = [row["messages"][0]["content"] for row in pyarrow.parquet.read_table(f"{name}.parquet").to_pylist()]
    print(f"  {name}: {contents}")
    return contents


assert through_parquet("texts", TEXT, TEXT) == ["One\ntwo", "One\ntwo"]
assert through_parquet("texts_and_parts", TEXT, PARTS)[0] == '"One\\ntwo"'
PY
